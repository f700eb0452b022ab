/* SPDX-License-Identifier: Apache-2.0 */
/* One folder of entries: SETT1 (the marker: without it the folder is not ours, and nothing in it is touched),
 * v1/00..ff/<62 hex>.sett, tmp/, quarantine/, locks, trim, behind, aliases. Folders 0700, files 0600, whatever the umask; where a folder
 * is meant to be shared they take the modes that its owner gave the root.
 *
 * Every failure here is a miss or an entry not written; none is the caller's problem. */
#include "inside.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- names ------------------------------------------------------------------------- */
void sett__entry_name_of(const sett__digest *key, sett__entry_name *n)
{
    char digits[65];
    sett__hex_write(key->b, digits);
    snprintf(n->dir, sizeof n->dir, "%.2s", digits);
    snprintf(n->file, sizeof n->file, "%s.sett", digits + 2);
}

bool sett__entry_name_read(const char *dir, const char *file, sett__digest *key)
{
    char digits[65];
    sett__entry_name n;
    if (strlen(dir) != 2 || strlen(file) != sizeof n.file - 1)
        return false;
    snprintf(digits, sizeof digits, "%s%.62s", dir, file);
    if (!sett__hex_read(digits, key->b))
        return false;
    sett__entry_name_of(key, &n);
    return !strcmp(dir, n.dir) && !strcmp(file, n.file);
}

/* ---- trust ------------------------------------------------------------------------------ */
static sett_status check_root(const sett__disk *d, const struct stat *st, sett_error *err)
{
    if (sett__disk_trusts(d, st))
        return SETT_OK;
    return sett__error(err, SETT_E_IO, "the cache folder is not trusted: %s %s", d->path,
        sett__disk_owner(st) ? "may be written by others" : "belongs to another user");
}

/* ---- opening ------------------------------------------------------------------------------ */
static sett_status io_error(const sett__disk *d, const char *what, sett_error *err)
{
    char hint[SETT__CHMOD_HINT];
    return sett__error(err, errno == ENOMEM ? SETT_E_MEMORY : SETT_E_IO, "%s: %s: %s%s", what, d->path, strerror(errno),
        sett__chmod_hint(d->os, d->root, d->path, (int)strlen(d->path), hint));
}

/* Does every name in a folder pass? A folder that is not there has none. */
static sett_status each(const sett__disk *d, const char *folder, bool (*pass)(const sett__disk *, const char *), bool *all, sett_error *err)
{
    int fd = d->os->openat(d->root, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
    DIR *dir = fd < 0 ? NULL : d->os->fdopendir(fd);
    if (!dir) {
        bool gone = fd < 0 && errno == ENOENT && strcmp(folder, ".") != 0;
        sett_status s = gone ? SETT_OK : io_error(d, "the cache folder cannot be read", err);
        if (fd >= 0)
            d->os->close(fd);
        return s;
    }
    for (struct dirent *e; *all && (e = d->os->readdir(dir));)
        *all = !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") || pass(d, e->d_name);
    d->os->closedir(dir);
    return SETT_OK;
}

static bool is_shard(const sett__disk *d, const char *name)
{
    (void)d;
    return strlen(name) == 2 && strspn(name, "0123456789abcdef") == 2;
}

static bool nothing(const sett__disk *d, const char *name)
{
    (void)d, (void)name;
    return false;
}

/* What we make beside the marker, and of which kind and size. */
static bool is_ours(const sett__disk *d, const char *name)
{
    static const struct { char name[12]; bool folder; off_t size; } made[] = {
        {"v1", true, 0}, {"tmp", true, 0}, {"quarantine", true, 0}, {"locks", false, 0}, {"trim", false, 16},
        {"behind", true, 0}, {SETT__ALIASES, false, SETT__ALIASES_BYTES}};
    struct stat st;
    for (size_t i = 0; i < SETT__COUNT(made); i++)
        if (!strcmp(name, made[i].name)) {
            if (d->os->fstatat(d->root, name, &st, AT_SYMLINK_NOFOLLOW))
                return errno == ENOENT;
            return sett__disk_trusts(d, &st) && (made[i].folder ? S_ISDIR(st.st_mode) : S_ISREG(st.st_mode) && (!st.st_size || st.st_size == made[i].size));
        }
    return !strcmp(name, "lost+found");
}

/* Who removes a folder of ours while one of us makes it anew can take the marker and fail at the rest: what is left is told by
 * its names, kinds and sizes. v1 holds shards, or there is none and no folder holds anything. */
static sett_status check_others(const sett__disk *d, sett_error *err)
{
    bool ours = true;
    struct stat st;
    sett_status s = each(d, ".", is_ours, &ours, err);
    if (!s && ours)
        s = each(d, "v1", is_shard, &ours, err);
    bool v1 = !d->os->fstatat(d->root, "v1", &st, AT_SYMLINK_NOFOLLOW);
    for (int i = 0; !s && ours && !v1 && i < 2; i++)
        s = each(d, i ? "tmp" : "quarantine", nothing, &ours, err);
    if (s || ours)
        return s;
    return sett__error(err, SETT_E_IO, "not a cache folder: %s: it holds other files and no " SETT__MARKER, d->path);
}

/* May anything be made in it, or the folder itself? */
static bool may_make(const sett__disk *d)
{
    return !d->layer_only && !d->sealed;
}

static bool marked(const sett__disk *d, struct stat *st)
{
    return !d->os->fstatat(d->root, SETT__MARKER, st, AT_SYMLINK_NOFOLLOW);
}

/* The marker is made before all else, so a folder without it that holds what we never make was never ours, unless another
 * process has marked it since we looked. */
static sett_status claim(const sett__disk *d, sett_error *err)
{
    struct stat st;
    bool ours = marked(d, &st);
    if (!ours && !may_make(d))
        return sett__error(err, SETT_E_IO, "not a cache folder: %s: it holds no " SETT__MARKER, d->path);
    sett_status s = ours ? SETT_OK : check_others(d, err);
    if (s && !marked(d, &st))
        return s;
    if (ours || s)
        return S_ISREG(st.st_mode) && (d->trust != SETT_TRUST_PRIVATE || sett__disk_owner(&st))
                   ? SETT_OK
                   : sett__error(err, SETT_E_IO,
                         "the cache folder is not trusted: its " SETT__MARKER " is not a file of ours: %s", d->path);
    int fd = d->os->openat(d->root, SETT__MARKER, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return io_error(d, "the cache folder cannot be written", err);
    d->os->fchmod(fd, d->mode & 0666);
    d->os->close(fd);
    return SETT_OK;
}

static bool lacks(const struct stat *st, mode_t rights)
{
    return st->st_uid == geteuid() && (st->st_mode & rights) != rights;
}

bool sett__disk_mend(const sett__disk *d, int at, const char *name)
{
    struct stat st, root;
    int why = errno;
    bool mended = !d->os->fstat(d->root, &root) && (root.st_mode & S_IRWXU) == S_IRWXU &&
                  !d->os->fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) &&
                  (S_ISDIR(st.st_mode) ? lacks(&st, S_IRWXU) : S_ISREG(st.st_mode) && lacks(&st, S_IRUSR | S_IWUSR)) &&
                  !d->os->fchmodat(at, name, d->mode & (S_ISDIR(st.st_mode) ? 07777 : 0666), AT_SYMLINK_NOFOLLOW);
    errno = why;
    return mended;
}

int sett__disk_subdir(sett__disk *d, int at, const char *name, bool make)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    bool made = make && !d->os->mkdirat(at, name, 0700);
    if (made)
        d->os->fchmodat(at, name, d->mode & 07777, AT_SYMLINK_NOFOLLOW);
    int fd = d->os->openat(at, name, flags, 0), why = EPERM;
    struct stat st;
    if (fd < 0 && make && errno == EACCES && sett__disk_mend(d, at, name))
        fd = d->os->openat(at, name, flags, 0);
    if (fd < 0)
        return -1;
    if (d->os->fstat(fd, &st))
        why = errno;
    else if (sett__disk_trusts(d, &st)) {
        if (made && (st.st_mode & 07777) != (d->mode & 07777)) /* no /proc, which fchmodat needs */
            d->os->fchmod(fd, d->mode & 07777);
        else if (make && lacks(&st, S_IRWXU))
            sett__disk_mend(d, at, name);
        return fd;
    }
    d->os->close(fd);
    errno = why;
    return -1;
}

/* A warmed folder that we may only read still serves; one whose entries may not be listed does not. *gone: what we made is not
 * there, and we may write. */
static sett_status open_subdirs(sett__disk *d, bool *gone, sett_error *err)
{
    bool missing = false, make = may_make(d);
    const struct {
        const char *name;
        atomic_int *fd;
    } sub[] = {{"v1", &d->v1}, {"quarantine", NULL}, {"tmp", &d->tmp}};
    for (size_t i = 0; i < SETT__COUNT(sub) && (!i || make); i++) {
        int fd = sett__disk_subdir(d, d->root, sub[i].name, make);
        missing |= fd < 0 && errno == ENOENT;
        if (fd < 0 && (errno == EROFS || errno == ENOENT || (i && errno == EACCES)))
            d->read_only |= make;
        else if (fd < 0)
            return sett__error(err, errno == ENOMEM ? SETT_E_MEMORY : SETT_E_IO,
                "the cache folder cannot be used: %s/%s: %s", d->path, sub[i].name, strerror(errno));
        else if (sub[i].fd)
            *sub[i].fd = fd;
        else
            d->os->close(fd);
    }
    bool denied = d->os->faccessat(d->root, ".", W_OK, AT_EACCESS);
    *gone = missing && (!denied || errno == ENOENT);
    d->read_only |= d->layer_only || denied;
    return SETT_OK;
}

static sett_status open_root(sett__disk *d, bool *gone, sett_error *err)
{
    struct stat st;
    int fd;
    sett_status s = sett__path_open(d->os, d->path, may_make(d), d->trust == SETT_TRUST_PRIVATE, &fd, err);
    if (s)
        return s;
    d->root = fd;
    if (d->os->fstat(fd, &st))
        return io_error(d, "the cache folder cannot be opened", err);
    d->mode = d->trust == SETT_TRUST_PRIVATE ? 0700 : st.st_mode & 07777;
    s = check_root(d, &st, err);
    if (!s)
        s = claim(d, err);
    return s ? s : open_subdirs(d, gone, err);
}

static void close_folders(sett__disk *d)
{
    atomic_int *fds[] = {&d->root, &d->v1, &d->tmp};
    for (size_t i = 0; i < SETT__COUNT(fds); i++) {
        int fd = atomic_exchange(fds[i], -1);
        if (fd >= 0)
            d->os->close(fd);
    }
}

/* Again where it was removed under us: what we have just made is not there. */
static sett_status open_folders(sett__disk *d, sett_error *err)
{
    enum { TURNS = 5 };
    for (int turn = 1;; turn++) {
        bool gone = false;
        errno = 0;
        sett_status s = open_root(d, &gone, err);
        if (s == SETT_E_IO)
            gone = errno == ENOENT;
        if (!gone || !may_make(d) || turn == TURNS)
            return s;
        close_folders(d);
        d->read_only = false;
    }
}

static void init(sett__disk *d, const sett__disk_options *o)
{
    *d = (sett__disk){.os = o->os ? o->os : &sett__os_libc,
        .trust = o->trust,
        .auth = o->auth,
        .cap = o->cap,
        .layer_only = o->layer_only,
        .log = o->log,
        .sealed = o->sealed,
        .root = -1,
        .v1 = -1,
        .tmp = -1,
        .locks = -1};
    d->layer.ops = &sett__disk_ops;
    snprintf(d->path, sizeof d->path, "%s", o->path);
}

sett_status sett__disk_open(sett__disk **out, const sett__disk_options *o, sett_error *err)
{
    sett__disk *d = malloc(sizeof *d);
    *out = NULL;
    if (!d)
        return sett__error(err, SETT_E_MEMORY, "no memory for the disk cache");
    init(d, o);
    pthread_mutex_init(&d->lock, NULL);
    pthread_mutex_init(&d->trimming, NULL);
    sett_status s =
        strlen(o->path) < sizeof d->path
            ? open_folders(d, err)
            : sett__error(err, SETT_E_IO, "the cache folder needs an absolute path of at most %d bytes", PATH_MAX - 1);
    if (!s && !d->layer_only && !d->cap)
        sett__disk_default_cap(d);
    if (s)
        sett__disk_close(d);
    else
        *out = d;
    return s;
}

void sett__disk_close(sett__disk *d)
{
    if (!d)
        return;
    sett__trim_settle(d);
    close_folders(d);
    sett__lock_close(d);
    pthread_mutex_destroy(&d->lock);
    pthread_mutex_destroy(&d->trimming);
    free(d);
}

/* Someone removed the folder, or one in it. The new ones take the old ones' numbers, which other threads may be
 * using at this moment. Locks held on the old lock file exclude nobody any more: at worst a kernel is compiled twice.
 */
bool sett__disk_remake(sett__disk *d)
{
    const sett__disk_options o = {.path = d->path, .trust = d->trust, .auth = d->auth, .cap = d->cap, .os = d->os, .log = d->log};
    sett__disk *fresh;
    if (!may_make(d) || sett__disk_open(&fresh, &o, NULL))
        return false;
    d->read_only |= fresh->read_only;
    pthread_mutex_lock(&d->lock);
    atomic_int *from[] = {&fresh->root, &fresh->v1, &fresh->tmp}, *to[] = {&d->root, &d->v1, &d->tmp};
    bool ok = true;
    for (size_t i = 0; i < SETT__COUNT(to); i++) {
        if (*to[i] < 0)
            *to[i] = atomic_exchange(from[i], -1);
        else
            ok &= *from[i] >= 0 && d->os->dup3(*from[i], *to[i], O_CLOEXEC) >= 0;
    }
    pthread_mutex_unlock(&d->lock);
    sett__lock_close(d);
    sett__disk_close(fresh);
    return ok;
}

void sett__disk_seal(sett__disk *d, bool sealed)
{
    bool was = atomic_exchange(&d->sealed, sealed);
    if (was && !sealed && !d->read_only && (d->tmp < 0 || d->v1 < 0))
        sett__disk_remake(d);
}

bool sett__disk_read_only(const sett__disk *d)
{
    return d->read_only;
}
