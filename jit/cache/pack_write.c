/* SPDX-License-Identifier: Apache-2.0 */
/* A pack out of the layers of an engine, and the entries of its layers into the folder that it writes. What goes into a
 * pack is encoded anew, without what tells where it was made (reports name source files) and without a folder's message
 * authentication, so that equal kernels give equal packs. */

#include "inside.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LEFT_SECONDS = 3600 };

typedef struct item {
    sett__pack_row row;
    int layer;
} item;

typedef struct aliased {
    sett__digest alias;
    uint64_t entry; /* of the items, or DROPPED */
} aliased;

typedef struct packing {
    sett__cache *cache;
    const sett__os *os;
    item *at;
    size_t n, cap;
    aliased *alias;
    size_t n_alias, alias_cap;
    int layer; /* that is being walked */
    sett_error *err;
} packing;

/* ---- what goes in ------------------------------------------------------------------------------- */
static sett_status encode(const sett__digest *key, const sett__entry *e, void **file, size_t *len, sett_error *err)
{
    const sett__entry bare = {.key_material = e->key_material, .meta = e->meta, .cubin = e->cubin};
    return sett__entry_encode(key, &bare, NULL, file, len, err);
}

static const char *place_of(const packing *p, int layer)
{
    const char *path, *why;
    sett__cache_place(p->cache, layer, &path, &why);
    return path;
}

static sett_status add(packing *p, const sett__digest *key, const sett__entry *e, int layer)
{
    void *file;
    size_t len, cap = p->cap ? 2 * p->cap : 64;
    if (p->n == SETT__PACK_MAX)
        return sett__error(p->err, SETT_E_LIMIT, "a pack holds %d entries", SETT__PACK_MAX);
    item *more = p->n < p->cap ? p->at : realloc(p->at, cap * sizeof *more);
    if (!more)
        return sett__error(p->err, SETT_E_MEMORY, "no memory for a pack of %zu entries", p->n);
    p->cap = p->n < p->cap ? p->cap : cap;
    p->at = more;
    sett_status s = encode(key, e, &file, &len, p->err);
    if (s)
        return s;
    item *i = &p->at[p->n++];
    *i = (item){.row = {.key = *key, .len = len}, .layer = layer};
    memcpy(i->row.sum.b, (const uint8_t *)file + len - sizeof i->row.sum.b, sizeof i->row.sum.b);
    free(file);
    return SETT_OK;
}

static sett_status visit(void *user, const sett__layer_item *it)
{
    packing *p = user;
    char name[65];
    sett__hex_write(it->key->b, name);
    return it->entry
               ? add(p, it->key, it->entry, p->layer)
               : sett__error(p->err, SETT_E_PARSE, "%s: %.16s is damaged: %s", place_of(p, p->layer), name, it->why);
}

/* Every place must be readable: a merge that leaves one out is none. */
static sett_status gather_all(packing *p)
{
    sett_status s = SETT_OK;
    int n = sett__cache_local(p->cache);
    for (p->layer = 0; p->layer < n && !s; p->layer++) {
        const char *path, *why;
        sett__layer *l = sett__cache_place(p->cache, p->layer, &path, &why);
        if (!l)
            return sett__error(p->err, SETT_E_IO, "%s cannot be read: %s", path, why);
        sett_error before = p->err ? *p->err : (sett_error){0};
        s = l->ops->walk(l, visit, p);
        if (s && p->err && !memcmp(p->err, &before, sizeof before))
            sett__error(p->err, s, s == SETT_E_MEMORY ? "no memory to read %s" : "%s cannot be read", path);
    }
    return s;
}

/* As a launch would find it: the first layer that has it sound. */
static sett_status get_from(const packing *p, int first, int last, const sett__digest *key, sett__entry *e, int *layer)
{
    sett_status s = SETT_E_NOT_CACHED;
    for (int i = first; i < last && s && s != SETT_E_MEMORY; i++) {
        const char *path, *why;
        sett__layer *l = sett__cache_place(p->cache, i, &path, &why);
        s = l ? l->ops->get(l, key, NULL, e, NULL) : SETT_E_NOT_CACHED;
        *layer = i;
    }
    return s;
}

static sett_status gather_keys(packing *p, const uint8_t (*keys)[32], size_t n)
{
    sett_status s = SETT_OK;
    for (size_t i = 0; i < n && !s; i++) {
        sett__digest key;
        sett__entry e;
        int layer;
        char name[65];
        memcpy(key.b, keys[i], sizeof key.b);
        s = get_from(p, 0, sett__cache_local(p->cache), &key, &e, &layer);
        sett__hex_write(key.b, name);
        if (s) {
            s = s == SETT_E_MEMORY ? s : SETT_E_NOT_CACHED;
            return sett__error(
                p->err, s, s == SETT_E_MEMORY ? "no memory for a pack" : "%s is in no layer of the cache; a kernel of the CPU engine never is", name);
        }
        s = add(p, &key, &e, layer);
        sett__entry_free(&e);
    }
    return s;
}

static int by_key(const void *a, const void *b)
{
    const item *x = a, *y = b;
    int c = memcmp(x->row.key.b, y->row.key.b, sizeof x->row.key.b);
    return c ? c : (x->layer > y->layer) - (x->layer < y->layer);
}

/* One key, one entry, each in its place. */
static sett_status settle(packing *p, uint64_t *total)
{
    size_t n = 0;
    if (p->n)
        qsort(p->at, p->n, sizeof *p->at, by_key);
    for (size_t i = 0; i < p->n; i++) {
        const item *last = n ? &p->at[n - 1] : NULL, *it = &p->at[i];
        char name[65];
        if (!last || memcmp(last->row.key.b, it->row.key.b, sizeof it->row.key.b)) {
            p->at[n++] = *it;
            continue;
        }
        sett__hex_write(it->row.key.b, name);
        if (memcmp(last->row.sum.b, it->row.sum.b, sizeof it->row.sum.b))
            return sett__error(p->err, SETT_E_ARGUMENT, "%.16s is one kernel in %s and another in %s", name,
                place_of(p, last->layer), place_of(p, it->layer));
    }
    p->n = n;
    *total = sett__pack_align(SETT__PACK_HEAD + n * SETT__PACK_ROW);
    for (size_t i = 0; i < n; i++) {
        p->at[i].row.off = *total;
        *total = sett__pack_align(*total + p->at[i].row.len);
    }
    return SETT_OK;
}

/* ---- aliases ---------------------------------------------------------------------------------------- */
#define DROPPED UINT64_MAX

static sett_status add_alias(void *user, const sett__alias *a)
{
    packing *p = user;
    size_t from = 0, to = p->n, cap = p->alias_cap ? 2 * p->alias_cap : 64;
    while (from < to) { /* the first whose key is not below */
        const size_t mid = from + (to - from) / 2;
        if (memcmp(&p->at[mid].row.key, &a->key, sizeof a->key) < 0)
            from = mid + 1;
        else
            to = mid;
    }
    if (from == p->n || memcmp(&p->at[from].row.key, &a->key, sizeof a->key))
        return SETT_OK;
    aliased *more = p->n_alias < p->alias_cap ? p->alias : realloc(p->alias, cap * sizeof *more);
    if (!more)
        return sett__error(p->err, SETT_E_MEMORY, "no memory for a pack of %zu aliases", p->n_alias);
    p->alias_cap = p->n_alias < p->alias_cap ? p->alias_cap : cap;
    p->alias = more;
    more[p->n_alias++] = (aliased){a->alias, from};
    return SETT_OK;
}

static int by_alias(const void *a, const void *b)
{
    const aliased *x = a, *y = b;
    int c = memcmp(&x->alias, &y->alias, sizeof x->alias);
    return c ? c : (x->entry > y->entry) - (x->entry < y->entry);
}

/* Each once. One of two keys says nothing: its body records more than it is told. */
static void settle_aliases(packing *p)
{
    size_t n = 0, kept = 0;
    if (p->n_alias)
        qsort(p->alias, p->n_alias, sizeof *p->alias, by_alias);
    for (size_t i = 0; i < p->n_alias; i++) {
        aliased *last = n ? &p->alias[n - 1] : NULL;
        if (!last || memcmp(&last->alias, &p->alias[i].alias, sizeof last->alias))
            p->alias[n++] = p->alias[i];
        else if (last->entry != p->alias[i].entry)
            last->entry = DROPPED;
    }
    for (size_t i = 0; i < n; i++)
        if (p->alias[i].entry != DROPPED)
            p->alias[kept++] = p->alias[i];
    p->n_alias = kept < SETT__PACK_MAX ? kept : SETT__PACK_MAX;
}

/* given NULL: those of all layers. */
static sett_status gather_aliases(packing *p, const sett__alias *given, size_t n)
{
    sett_status s = SETT_OK;
    for (size_t i = 0; given && i < n && !s; i++)
        s = add_alias(p, &given[i]);
    for (int i = 0; !given && i < sett__cache_local(p->cache) && !s; i++) {
        const char *path, *why;
        sett__layer *l = sett__cache_place(p->cache, i, &path, &why);
        s = l ? l->ops->aliases(l, add_alias, p) : SETT_OK;
    }
    settle_aliases(p);
    return s == SETT_E_MEMORY ? sett__error(p->err, s, "no memory for aliases") : s;
}

/* ---- writing ---------------------------------------------------------------------------------------- */
static sett_status wrote(const packing *p, bool ok)
{
    return ok ? SETT_OK : sett__error(p->err, SETT_E_IO, "write: %s", strerror(errno));
}

static sett_status write_aliases(packing *p, int fd, uint64_t total, uint8_t sum[32])
{
    const size_t bytes = (size_t)sett__pack_aliases_bytes(p->n_alias);
    uint8_t *rows = calloc(1, bytes + 1);
    sett__digest digest;
    if (!rows)
        return sett__error(p->err, SETT_E_MEMORY, "no memory for aliases of %zu bytes", bytes);
    for (size_t i = 0; i < p->n_alias; i++) {
        memcpy(rows + i * SETT__PACK_ALIAS, p->alias[i].alias.b, 32);
        sett__put_le(rows + i * SETT__PACK_ALIAS + 32, p->alias[i].entry, 8);
    }
    sett__sha256(rows, p->n_alias * SETT__PACK_ALIAS, &digest);
    memcpy(sum, digest.b, sizeof digest.b);
    sett_status s = wrote(p, sett__write_at(p->os, fd, rows, bytes, total - bytes));
    free(rows);
    return s;
}

static sett_status write_head(packing *p, int fd, uint64_t total, const uint8_t aliases_sum[32], const sett__signer *sign)
{
    size_t bytes = p->n * SETT__PACK_ROW;
    uint8_t head[SETT__PACK_HEAD], *index = calloc(1, bytes + SETT__PACK_ALIGN);
    sett__pack_head h = {.file_len = total, .count = p->n, .aliases = p->n_alias};
    sett__digest sum;
    memcpy(h.aliases_sum, aliases_sum, sizeof h.aliases_sum);
    if (!index)
        return sett__error(p->err, SETT_E_MEMORY, "no memory for an index of %zu bytes", bytes);
    for (size_t i = 0; i < p->n; i++) {
        const sett__pack_row *r = &p->at[i].row;
        uint8_t *to = index + i * SETT__PACK_ROW;
        memcpy(to, r->key.b, 32);
        sett__put_le(to + 32, r->off, 8), sett__put_le(to + 40, r->len, 8);
        memcpy(to + 48, r->sum.b, 32);
    }
    sett__sha256(index, bytes, &sum);
    memcpy(h.index_sum, sum.b, sizeof h.index_sum);
    sett_status s = sett__pack_head_write(head, &h, sign, p->err);
    size_t padded = (size_t)sett__pack_align(SETT__PACK_HEAD + bytes) - SETT__PACK_HEAD;
    if (!s)
        s = wrote(p,
            sett__write_at(p->os, fd, index, padded, SETT__PACK_HEAD) && sett__write_all(p->os, fd, head, sizeof head));
    free(index);
    return s;
}

static sett_status write_entry(packing *p, int fd, const item *it)
{
    static const uint8_t zeros[SETT__PACK_ALIGN];
    const sett__pack_row *r = &it->row;
    sett__entry e;
    void *file;
    size_t len;
    int layer;
    sett_status s = get_from(p, it->layer, it->layer + 1, &r->key, &e, &layer);
    if (s == SETT_E_MEMORY)
        return sett__error(p->err, s, "no memory for an entry");
    if (s)
        return sett__error(p->err, SETT_E_IO, "an entry of %s went while it was packed", place_of(p, it->layer));
    s = encode(&r->key, &e, &file, &len, p->err);
    sett__entry_free(&e);
    if (s)
        return s;
    if (len != r->len || memcmp((const uint8_t *)file + len - 32, r->sum.b, 32))
        s = sett__error(p->err, SETT_E_IO, "an entry of %s changed while it was packed", place_of(p, it->layer));
    else
        s = wrote(p, sett__write_at(p->os, fd, file, len, r->off) &&
                         sett__write_at(p->os, fd, zeros, (size_t)(sett__pack_align(len) - len), r->off + len));
    free(file);
    return s;
}

/* Where a pack goes. While it is written it has no name, where the file system can do that; else, and for the moment in
 * which it replaces another, it has one of temporary form beside the old. */
typedef struct place {
    const char *path, *name; /* name: what follows the folder */
    char folder[PATH_MAX], temp[PATH_MAX];
    bool named; /* temp stands there */
} place;

static bool place_new(const sett__os *os, const char *path, place *to)
{
    const char *slash = strrchr(path, '/');
    struct timespec now = {0};
    os->clock_gettime(CLOCK_REALTIME, &now);
    *to = (place){.path = path, .name = slash ? slash + 1 : path};
    snprintf(to->folder, sizeof to->folder, "%.*s", slash ? (int)(slash - path + 1) : 1, slash ? path : ".");
    int n = snprintf(to->temp, sizeof to->temp, "%s.%ld-0-%lld.%09ld", path, (long)getpid(), (long long)now.tv_sec, now.tv_nsec);
    return n > 0 && (size_t)n < sizeof to->temp;
}

/* A rename would put a regular file where a device, a FIFO or a link was. */
static sett_status check_target(const sett__os *os, const char *path, sett_error *err)
{
    struct stat st;
    char to[160];
    if (os->fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW))
        return errno == ENOENT ? SETT_OK : sett__error(err, SETT_E_IO, "%.300s: it cannot be written: %s", path, strerror(errno));
    if (S_ISREG(st.st_mode))
        return SETT_OK;
    ssize_t n = S_ISLNK(st.st_mode) ? os->readlinkat(AT_FDCWD, path, to, sizeof to) : -1;
    if (n < 0)
        return sett__error(err, SETT_E_IO, "%.300s is %s, and stays: a pack replaces a regular file or makes a new one; name another path",
            path, sett__file_kind(st.st_mode));
    return sett__error(err, SETT_E_IO, "%.200s is a symbolic link to %.*s%s, and stays: a pack replaces the file at its path; "
        "name the file itself, or remove the link", path, (int)n, to, n == sizeof to ? "..." : "");
}

sett_status sett__pack_check(const sett__cache *c, const char *path, sett_error *err)
{
    const sett__os *os = sett__cache_os(c);
    place to;
    if (!place_new(os, path, &to))
        return sett__error(err, SETT_E_ARGUMENT, "the path of a pack is too long");
    sett_status s = check_target(os, path, err);
    if (!s && os->faccessat(AT_FDCWD, to.folder, W_OK | X_OK, 0))
        s = sett__error(err, SETT_E_IO, "%.200s: it cannot be written: %.200s: %s", path, to.folder, strerror(errno));
    return s;
}

/* A file without a name is given one through /proc. */
static int open_temp(const sett__os *os, place *to)
{
    int fd = os->faccessat(AT_FDCWD, "/proc/self/fd", X_OK, 0)
                 ? -1
                 : os->openat(AT_FDCWD, to->folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
    fd = os->openat(AT_FDCWD, to->temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    to->named = fd >= 0;
    return fd;
}

/* What stands there is looked at once more: hours may lie between the first look and this. */
static sett_status name_it(const sett__os *os, int fd, place *to, sett_error *err)
{
    char self[40];
    snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    if (!to->named && !os->linkat(AT_FDCWD, self, AT_FDCWD, to->path, AT_SYMLINK_FOLLOW))
        return SETT_OK; /* nothing stood there */
    sett_status s = check_target(os, to->path, err);
    if (s)
        return s;
    bool ok = to->named || !os->linkat(AT_FDCWD, self, AT_FDCWD, to->temp, AT_SYMLINK_FOLLOW);
    to->named |= ok;
    ok = ok && !os->renameat2(AT_FDCWD, to->temp, AT_FDCWD, to->path, 0);
    return ok ? SETT_OK : sett__error(err, SETT_E_IO, "%s: %s", to->path, strerror(errno));
}

static sett_status write_file(packing *p, place *to, uint64_t total, const sett__signer *sign)
{
    int fd = open_temp(p->os, to);
    if (fd < 0)
        return sett__error(p->err, SETT_E_IO, "%s: %s", to->temp, strerror(errno));
    uint8_t aliases_sum[32] = {0};
    sett_status s = SETT_OK;
    for (size_t i = 0; i < p->n && !s; i++)
        s = write_entry(p, fd, &p->at[i]);
    if (!s)
        s = write_aliases(p, fd, total, aliases_sum);
    if (!s)
        s = write_head(p, fd, total, aliases_sum, sign);
    if (!s)
        s = wrote(p, !p->os->fchmod(fd, 0644) && !p->os->fdatasync(fd)); /* whatever the umask: others read it */
    if (!s)
        s = name_it(p->os, fd, to, p->err);
    p->os->close(fd); /* after fdatasync it has nothing to tell */
    if (s && to->named)
        p->os->unlinkat(AT_FDCWD, to->temp, 0);
    return s;
}

/* What others were killed over, an hour ago or more: names that place_new gives for this pack. */
static void sweep(const sett__os *os, DIR *dir, int fd, const char *name)
{
    struct timespec now;
    size_t n = strlen(name);
    if (os->clock_gettime(CLOCK_REALTIME, &now))
        return;
    for (struct dirent *e; (e = os->readdir(dir));) {
        struct stat st;
        if (!strncmp(e->d_name, name, n) && e->d_name[n] == '.' && sett__temp_name_is(e->d_name + n + 1) &&
            !os->fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode) &&
            now.tv_sec - st.st_mtim.tv_sec > LEFT_SECONDS)
            os->unlinkat(fd, e->d_name, 0);
    }
}

/* The name, too, survives a power failure. Where a folder cannot be synced the file still stands. */
static void tidy_folder(const sett__os *os, const place *to)
{
    int fd = os->openat(AT_FDCWD, to->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0)
        return;
    os->fdatasync(fd);
    DIR *dir = os->fdopendir(fd);
    if (!dir) {
        os->close(fd);
        return;
    }
    sweep(os, dir, fd, to->name);
    os->closedir(dir);
}

static sett_status publish(packing *p, const char *path, const sett__alias *aliases, size_t n_aliases, const sett__signer *sign)
{
    place to;
    uint64_t total = 0;
    if (!place_new(p->os, path, &to))
        return sett__error(p->err, SETT_E_ARGUMENT, "the path of a pack is too long");
    sett_status s = settle(p, &total);
    if (!s)
        s = gather_aliases(p, aliases, n_aliases);
    total += s ? 0 : sett__pack_aliases_bytes(p->n_alias);
    if (!s)
        s = write_file(p, &to, total, sign);
    if (!s)
        tidy_folder(p->os, &to);
    return s;
}

sett_status sett__pack_write_with(sett__cache *c, const char *path, const sett_pack_options *o, const sett__alias *aliases, size_t n_aliases,
    uint64_t *entries, sett_error *err)
{
    packing p = {.cache = c, .os = sett__cache_os(c), .err = err};
    sett__signer sign;
    sett_status s = sett__pack_check(c, path, err);
    if (!s && o->secret_key)
        s = sett__signer_read(p.os, o->secret_key, &sign, err);
    if (!s)
        s = o->keys ? gather_keys(&p, o->keys, o->n_keys) : gather_all(&p);
    if (!s)
        s = publish(&p, path, aliases, n_aliases, o->secret_key ? &sign : NULL);
    if (!s)
        *entries = p.n;
    explicit_bzero(&sign, sizeof sign);
    free(p.alias);
    free(p.at);
    return s;
}

sett_status sett__pack_write(
    sett__cache *c, const char *path, const sett_pack_options *o, uint64_t *entries, sett_error *err)
{
    return sett__pack_write_with(c, path, o, NULL, 0, entries, err);
}

sett_status sett__public_key(const char *path, uint8_t key[32], sett_error *err)
{
    sett__signer sign;
    sett_status s = sett__signer_read(&sett__os_libc, path, &sign, err);
    if (!s)
        memcpy(key, sign.public_key, sizeof sign.public_key);
    explicit_bzero(&sign, sizeof sign);
    return s;
}

/* ---- and out again -------------------------------------------------------------------------------------- */
typedef struct unpacking {
    sett__disk *to;
    const char *from;
    uint64_t n;
    sett_error *err;
} unpacking;

static sett_status put(void *user, const sett__layer_item *it)
{
    unpacking *u = user;
    char name[65];
    sett__hex_write(it->key->b, name);
    if (!it->entry)
        return sett__error(u->err, SETT_E_PARSE, "%s: %.16s is damaged: %s", u->from, name, it->why);
    sett_status s = sett__disk_put(u->to, it->key, it->entry, false, u->err);
    u->n += !s;
    return s;
}

static sett_status put_alias(void *user, const sett__alias *a)
{
    const unpacking *u = user;
    sett__disk_alias(u->to, &a->alias, &a->key);
    return SETT_OK;
}

sett_status sett__unpack(sett__cache *c, uint64_t *entries, sett_error *err)
{
    unpacking u = {.to = sett__cache_folder(c), .err = err};
    sett_status s = SETT_OK;
    if (!u.to)
        return sett__error(err, SETT_E_IO, "there is no cache folder to write to");
    for (int i = 0; i + 1 < sett__cache_local(c) && !s; i++) {
        const char *why;
        sett__layer *l = sett__cache_place(c, i, &u.from, &why);
        s = l ? l->ops->walk(l, put, &u) : sett__error(err, SETT_E_IO, "%s cannot be read: %s", u.from, why);
        if (!s)
            s = l->ops->aliases(l, put_alias, &u);
    }
    *entries = u.n;
    return s;
}
