/* SPDX-License-Identifier: Apache-2.0 */
/* An entry out of a folder. Nothing is trusted: the file is opened without following links, must be a plain file of
 * ours that only we may write, is read once into private memory, and only that copy is verified and used (never a
 * mapping: a mapped file changes under the reader). What is refused goes to quarantine, which keeps the last 16. */
#include "inside.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    TOUCH_SECONDS = 3600, /* an entry's mtime is its last use, kept to the hour */
    TRIES = 3,            /* of a stale handle (NFS): the name is looked up anew */
    INTERRUPTS = 100,     /* in a row, of one read */
    TREE_DEPTH = 8,
};

typedef struct image {
    uint8_t *data;
    size_t len;
    struct stat st;
    bool foreign; /* not a plain file of ours: st was never trusted */
    bool used;    /* it is wanted, and not only looked at */
} image;

bool sett__read_at(const sett__os *os, int fd, void *to, size_t len, uint64_t from)
{
    size_t at = 0;
    for (int breaks = 0; at < len;) {
        ssize_t n = os->pread(fd, (uint8_t *)to + at, len - at, (off_t)(from + at));
        if (n < 0 && errno == EINTR && ++breaks < INTERRUPTS)
            continue;
        if (n <= 0) {
            errno = n ? errno : ENODATA; /* it was cut while we read */
            return false;
        }
        at += (size_t)n;
        breaks = 0;
    }
    return true;
}

/* ---- one file -------------------------------------------------------------------------- */
/* A stamp of the future is one of a clock that was wrong: it too becomes now. */
static void touch(sett__disk *d, int fd, const struct stat *st)
{
    struct timespec now;
    if (d->read_only || d->sealed || d->os->clock_gettime(CLOCK_REALTIME, &now))
        return;
    if (now.tv_sec - st->st_mtim.tv_sec > TOUCH_SECONDS || st->st_mtim.tv_sec - now.tv_sec > TOUCH_SECONDS) {
        const struct timespec both[2] = {now, now};
        d->os->futimens(fd, both);
    }
}

/* SETT_E_IO: it could not be read; SETT_E_PARSE: it is not one that we use. */
static sett_status read_image(sett__disk *d, int fd, image *im, sett_error *err)
{
    if (d->os->fstat(fd, &im->st))
        return sett__error(err, SETT_E_IO, "fstat: %s", strerror(errno));
    im->foreign = !S_ISREG(im->st.st_mode) || !sett__disk_trusts(d, &im->st) ||
                  (d->trust == SETT_TRUST_PRIVATE && im->st.st_nlink > 1);
    if (im->foreign)
        return sett__error(err, SETT_E_PARSE, "it is not a plain file that only we may write");
    if (im->st.st_size <= 0 || im->st.st_size > SETT__ENTRY_MAX)
        return sett__error(err, SETT_E_PARSE, "an entry of %lld bytes", (long long)im->st.st_size);
    im->len = (size_t)im->st.st_size;
    im->data = malloc(im->len);
    if (!im->data)
        return sett__error(err, SETT_E_MEMORY, "no memory for an entry of %zu bytes", im->len);
    if (!sett__read_all(d->os, fd, im->data, im->len))
        return sett__error(err, SETT_E_IO, "read: %s", strerror(errno));
    if (im->used)
        touch(d, fd, &im->st);
    return SETT_OK;
}

static int open_entry(const sett__disk *d, const sett__entry_name *n)
{
    int dir = d->os->openat(d->v1, n->dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
    if (dir < 0)
        return -1;
    int fd = d->os->openat(dir, n->file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0), why = errno;
    d->os->close(dir);
    errno = why;
    return fd;
}

sett_status sett__entry_verify(const void *file, size_t len, const sett__digest *key, const sett__blob *material,
    const sett__auth *auth, sett__entry *e, sett_error *err)
{
    sett_status s = sett__entry_decode(file, len, key, auth, e, err);
    if (s)
        return s;
    if (material &&
        (e->key_material.len != material->len || memcmp(e->key_material.data, material->data, material->len)))
        return sett__error(err, SETT_E_PARSE, "it was made for other key material");
    return sett__elf_check(e->cubin.data, e->cubin.len, err);
}

/* *im may hold memory also on failure. */
static sett_status load_once(sett__disk *d, const sett__entry_name *n, image *im, sett_error *err)
{
    int fd = open_entry(d, n);
    if (fd < 0 && (errno == ELOOP || errno == ENXIO || errno == ENOTDIR)) {
        im->foreign = true;
        return sett__error(err, SETT_E_PARSE, "it is a link or no file");
    }
    if (fd < 0)
        return errno == ENOENT || d->v1 < 0 ? sett__error(err, SETT_E_NOT_CACHED, "it is not in the folder")
                                            : sett__error(err, SETT_E_IO, "its entry cannot be read: %s (v1/%s/%s)", strerror(errno), n->dir, n->file);
    sett_status s = read_image(d, fd, im, err);
    int why = errno;
    d->os->close(fd);
    errno = why;
    return s;
}

/* Reads and verifies. */
static sett_status load(
    sett__disk *d, const sett__digest *key, const sett__blob *material, image *im, sett__entry *e, sett_error *err)
{
    sett__entry_name n;
    sett_status s = SETT_E_IO;
    sett__entry_name_of(key, &n);
    for (int i = 0; i < TRIES && s == SETT_E_IO && (!i || errno == ESTALE); i++) {
        free(im->data);
        *im = (image){.used = im->used};
        s = load_once(d, &n, im, err);
    }
    return s ? s : sett__entry_verify(im->data, im->len, key, material, d->auth, e, err);
}

bool sett__disk_sound(sett__disk *d, const sett__digest *key)
{
    image im = {0};
    sett__entry e;
    bool sound = !load(d, key, NULL, &im, &e, NULL);
    free(im.data);
    return sound;
}

/* ---- quarantine ------------------------------------------------------------------------------ */
/* A free slot, else the oldest. */
static void quarantine_slot(const sett__disk *d, int dir, char name[16])
{
    int slot = 0;
    struct timespec oldest = {0};
    for (int i = 0; i < SETT__QUARANTINE_SLOTS; i++) {
        struct stat st;
        snprintf(name, 16, "%02d.bad", i);
        if (d->os->fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
            return;
        if (!i || st.st_ctim.tv_sec < oldest.tv_sec ||
            (st.st_ctim.tv_sec == oldest.tv_sec && st.st_ctim.tv_nsec < oldest.tv_nsec))
            slot = i, oldest = st.st_ctim;
    }
    snprintf(name, 16, "%02d.bad", slot);
}

/* Whatever lies there, with all below it: a folder that someone put in an entry's place may hold anything. Depth is
 * bounded, as what is deeper is no accident; links are removed and not followed. */
static bool remove_tree(const sett__os *os, int at, const char *name, int depth)
{
    if (!os->unlinkat(at, name, 0) || errno == ENOENT)
        return true;
    if (errno != EISDIR && errno != EPERM)
        return false;
    int fd = os->openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
    DIR *dir = fd < 0 ? NULL : os->fdopendir(fd);
    if (!dir) {
        if (fd >= 0)
            os->close(fd);
        return false;
    }
    bool gone = depth > 0;
    for (struct dirent *e; gone && (e = os->readdir(dir));)
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
            gone = remove_tree(os, fd, e->d_name, depth - 1);
    os->closedir(dir);
    return gone && !os->unlinkat(at, name, AT_REMOVEDIR);
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Out of the way with it: into quarantine, or where there is none, away. seen: unless another process has put
 * something else there. */
static bool move_out(sett__disk *d, int from, const char *file, const struct stat *seen)
{
    const sett__os *os = d->os;
    struct stat st;
    char name[16];
    if (os->fstatat(from, file, &st, AT_SYMLINK_NOFOLLOW) || (seen && !same_file(&st, seen)))
        return false;
    int to = sett__disk_subdir(d, d->root, "quarantine", true);
    if (to < 0)
        return remove_tree(os, from, file, TREE_DEPTH);
    quarantine_slot(d, to, name);
    bool moved = !os->renameat2(from, file, to, name, 0);
    /* A file does not replace a folder, nor a folder a file or a folder with something in it. */
    if (!moved && (errno == EISDIR || errno == ENOTDIR || errno == ENOTEMPTY || errno == EEXIST))
        moved = remove_tree(os, to, name, TREE_DEPTH) && !os->renameat2(from, file, to, name, 0);
    os->close(to);
    return moved || remove_tree(os, from, file, TREE_DEPTH);
}

static bool quarantine(sett__disk *d, const sett__digest *key, const struct stat *seen)
{
    sett__entry_name n;
    sett__entry_name_of(key, &n);
    if (d->read_only || d->sealed)
        return false;
    int from = d->os->openat(d->v1, n.dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
    /* The folder itself may be what is foreign. */
    if (from < 0 && errno != ENOTDIR && errno != ELOOP)
        return false;
    bool moved = from < 0 ? move_out(d, d->v1, n.dir, NULL) : move_out(d, from, n.file, seen);
    if (from >= 0)
        d->os->close(from);
    return moved;
}

/* ---- the layer --------------------------------------------------------------------------------- */
static bool refuse(sett__disk *d, const sett__digest *key, const struct stat *seen)
{
    bool moved = quarantine(d, key, seen);
    sett__count(&d->layer.refusals, 1);
    sett__count(&d->layer.heals, moved);
    return moved;
}

sett_status sett__disk_get(
    sett__disk *d, const sett__digest *key, const sett__blob *material, sett__entry *out, sett_error *err)
{
    image im = {.used = true};
    sett_error why = {0};
    int saved = errno;
    *out = (sett__entry){0};
    sett_status s = load(d, key, material, &im, out, &why);
    if (!s) {
        out->owned = im.data;
        sett__count(&d->layer.read_bytes, im.len);
    } else {
        free(im.data);
        *out = (sett__entry){0};
        sett__entry_name n;
        sett__entry_name_of(key, &n);
        bool moved = s == SETT_E_PARSE && refuse(d, key, im.foreign ? NULL : &im.st);
        s = s == SETT_E_IO ? SETT_E_NOT_CACHED : s;
        if (s == SETT_E_PARSE)
            sett__error(err, s, "its entry was refused%s: %s (v1/%s/%s)", moved ? " and moved to quarantine" : "", why.text, n.dir, n.file);
        else
            sett__error(err, s, "%s", why.text);
    }
    errno = saved;
    return s;
}

static sett_status disk_get(
    sett__layer *l, const sett__digest *key, const sett__blob *material, sett__entry *out, sett_error *err)
{
    return sett__disk_get((sett__disk *)l, key, material, out, err);
}

static bool disk_refuse(sett__layer *l, const sett__digest *key)
{
    int saved = errno;
    bool moved = refuse((sett__disk *)l, key, NULL);
    errno = saved;
    return moved;
}

typedef struct visit {
    sett__disk *d;
    sett__layer_visit *fn;
    void *user;
    sett_status status;
} visit;

static void visit_one(void *user, const sett__digest *key, const struct stat *st)
{
    visit *v = user;
    image im = {0};
    sett__entry e = {0};
    sett_error why = {0};
    if (v->status)
        return;
    sett_status s = load(v->d, key, NULL, &im, &e, &why);
    if (s != SETT_E_NOT_CACHED) { /* it may have gone since it was listed */
        const sett__layer_item item = {key, (uint64_t)st->st_size, st->st_mtim.tv_sec, s ? NULL : &e, why.text};
        v->status = s == SETT_E_MEMORY ? s : v->fn(v->user, &item);
    }
    free(im.data);
}

static sett_status disk_walk(sett__layer *l, sett__layer_visit *fn, void *user)
{
    visit v = {(sett__disk *)l, fn, user, SETT_OK};
    int saved = errno;
    bool whole = sett__disk_each(v.d, visit_one, &v);
    if (!whole && !v.status)
        v.status = errno == ENOMEM ? SETT_E_MEMORY : SETT_E_IO;
    errno = saved;
    return v.status;
}

static void disk_close(sett__layer *l)
{
    sett__disk_close((sett__disk *)l);
}

static bool disk_ask(sett__layer *l, const sett__digest *alias, sett__digest *key)
{
    return sett__disk_ask((sett__disk *)l, alias, key);
}

static sett_status disk_aliases(sett__layer *l, sett__alias_fn *fn, void *user)
{
    return sett__disk_aliases((sett__disk *)l, fn, user);
}

const sett__layer_ops sett__disk_ops = {disk_get, disk_refuse, disk_walk, disk_close, disk_ask, disk_aliases};
