/* SPDX-License-Identifier: Apache-2.0 */
/* One folder of entries: SETT1 (the marker: without it the folder is not ours, and nothing in it is touched),
 * v1/00..ff/<62 hex>.sett, tmp/, quarantine/. Folders 0700, files 0600, whatever the umask.
 *
 * Reading trusts nothing: the file is opened without following links, must be a plain file of ours that only we
 * may write, is read once into private memory, and only that copy is verified and used (never a mapping: a
 * mapped file changes under the reader). Writing is temp, fdatasync, rename: a reader sees all of an entry or none.
 * Every failure here is a miss or an entry not written; none is the caller's problem. */
#include "../jit.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    FILE_MAX = 1 << 28,
    TAIL = 4096, /* zeros behind what was read: the driver is given no length */
    QUARANTINE_SLOTS = 16,
    TOUCH_SECONDS = 3600, /* an entry's mtime is its last use, kept to the hour */
};
#define MARKER "SETT1"

struct sett__disk {
    int root, tmp;
    bool read_only;
    atomic_uint_fast64_t hits, misses, heals, refusals, writes, serial;
};

typedef struct entry_name {
    char dir[8], path[80]; /* "v1/ab", "v1/ab/cdef....sett" */
} entry_name;

static void name_entry(const sett__digest *key, entry_name *n)
{
    char hex[65];
    for (int i = 0; i < 32; i++)
        snprintf(hex + 2 * i, 3, "%02x", key->b[i]);
    snprintf(n->dir, sizeof n->dir, "v1/%.2s", hex);
    snprintf(n->path, sizeof n->path, "v1/%.2s/%s.sett", hex, hex + 2);
}

/* ---- opening ---------------------------------------------------------------------- */
static bool ours(const struct stat *st)
{
    return st->st_uid == 0 || st->st_uid == geteuid();
}

static bool shared_write(const struct stat *st)
{
    return st->st_mode & (S_IWGRP | S_IWOTH);
}

/* Whoever can rename a folder above the cache can put another in its place. A sticky one (/tmp) protects what
 * is ours below it. */
static sett_status check_ancestors(char *real, sett_error *err)
{
    for (char *slash = real; slash; slash = strchr(slash + 1, '/')) {
        char *cut = slash == real ? slash + 1 : slash, kept = *cut;
        struct stat st;
        *cut = 0;
        int failed = stat(real, &st);
        bool fine = !failed && ours(&st) && (!shared_write(&st) || (st.st_mode & S_ISVTX));
        if (!fine)
            return sett__error(err, SETT_E_IO, "the cache folder is not trusted: %s %s", real,
                failed      ? strerror(errno)
                : ours(&st) ? "may be written by others"
                            : "belongs to another user");
        *cut = kept;
    }
    return SETT_OK;
}

/* mkdir -p; folders that exist stay as they are. */
static sett_status make_path(const char *root, sett_error *err)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%s", root);
    if (root[0] != '/' || n < 0 || (size_t)n >= sizeof path)
        return sett__error(
            err, SETT_E_IO, "the cache folder needs an absolute path of at most %zu bytes", sizeof path - 1);
    for (char *slash = path + 1; slash;) {
        slash = strchr(slash, '/');
        if (slash)
            *slash = 0;
        if (mkdir(path, 0700) && errno != EEXIST && errno != EROFS && errno != EACCES && errno != EPERM)
            return sett__error(err, SETT_E_IO, "cannot make the cache folder: %s: %s", path, strerror(errno));
        if (slash)
            *slash++ = '/';
    }
    return SETT_OK;
}

static sett_status check_empty(int root, const char *path, sett_error *err)
{
    int fd = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        int why = errno;
        if (fd >= 0)
            close(fd);
        return sett__error(err, why == ENOMEM ? SETT_E_MEMORY : SETT_E_IO, "the cache folder cannot be read: %s: %s", path,
            strerror(why));
    }
    bool empty = true;
    for (struct dirent *d; empty && (d = readdir(dir));)
        empty = !strcmp(d->d_name, ".") || !strcmp(d->d_name, "..") || !strcmp(d->d_name, "lost+found");
    closedir(dir);
    return empty ? SETT_OK
                 : sett__error(err, SETT_E_IO, "%s holds other files and no " MARKER ": it is not a cache folder", path);
}

/* The marker is made before all else, so a folder that holds something else was never ours. */
static sett_status claim(sett__disk *d, const char *root, sett_error *err)
{
    struct stat st;
    if (!fstatat(d->root, MARKER, &st, AT_SYMLINK_NOFOLLOW))
        return S_ISREG(st.st_mode) && ours(&st)
                   ? SETT_OK
                   : sett__error(err, SETT_E_IO,
                         "the cache folder is not trusted: its " MARKER " is not a file of ours: %s", root);
    sett_status s = check_empty(d->root, root, err);
    if (s)
        return s;
    int fd = openat(d->root, MARKER, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return sett__error(err, SETT_E_IO, "the cache folder cannot be written: %s: %s", root, strerror(errno));
    fchmod(fd, 0600);
    close(fd);
    return SETT_OK;
}

/* A folder of ours below another; -1 with errno. */
static int open_dir(int at, const char *name, bool make)
{
    bool made = make && !mkdirat(at, name, 0700);
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    if (fd < 0)
        return -1;
    if (made)
        fchmod(fd, 0700);
    if (!fstat(fd, &st) && ours(&st) && !shared_write(&st))
        return fd;
    close(fd);
    errno = EPERM;
    return -1;
}

/* A warmed folder that we may only read still serves. */
static sett_status open_subdirs(sett__disk *d, const char *root, sett_error *err)
{
    static const char *const names[] = {"v1", "quarantine", "tmp"};
    for (size_t i = 0; i < SETT__COUNT(names); i++) {
        int fd = open_dir(d->root, names[i], true);
        if (fd < 0 && (errno == EROFS || errno == EACCES || errno == ENOENT))
            d->read_only = true;
        else if (fd < 0)
            return sett__error(
                err, SETT_E_IO, "the cache folder cannot be used: %s/%s: %s", root, names[i], strerror(errno));
        else if (i + 1 < SETT__COUNT(names))
            close(fd);
        else
            d->tmp = fd;
    }
    d->read_only |= faccessat(d->root, ".", W_OK, AT_EACCESS) != 0;
    return SETT_OK;
}

static sett_status open_root(sett__disk *d, const char *root, sett_error *err)
{
    struct stat st;
    sett_status s = make_path(root, err);
    if (s)
        return s;
    char real[PATH_MAX];
    if (!realpath(root, real))
        return sett__error(err, SETT_E_IO, "the cache folder cannot be opened: %s: %s", root, strerror(errno));
    s = check_ancestors(real, err);
    d->root = s ? -1 : open(real, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (s)
        return s;
    if (d->root < 0 || fstat(d->root, &st))
        return sett__error(err, SETT_E_IO, "the cache folder cannot be opened: %s: %s", root, strerror(errno));
    if (!ours(&st) || shared_write(&st))
        return sett__error(err, SETT_E_IO, "the cache folder is not trusted: %s %s", root,
            ours(&st) ? "may be written by others" : "belongs to another user");
    s = claim(d, root, err);
    return s ? s : open_subdirs(d, root, err);
}

sett_status sett__disk_open(sett__disk **out, const char *root, sett_error *err)
{
    sett__disk *d = calloc(1, sizeof *d);
    *out = NULL;
    if (!d)
        return sett__error(err, SETT_E_MEMORY, "no memory for the disk cache");
    d->root = d->tmp = -1;
    sett_status s = open_root(d, root, err);
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
    if (d->root >= 0)
        close(d->root);
    if (d->tmp >= 0)
        close(d->tmp);
    free(d);
}

bool sett__disk_read_only(const sett__disk *d)
{
    return d->read_only;
}

void sett__disk_stats_get(const sett__disk *d, sett__disk_stats *s)
{
    *s = (sett__disk_stats){d->hits, d->misses, d->heals, d->refusals, d->writes};
}

/* ---- reading ---------------------------------------------------------------------------- */
typedef struct image {
    uint8_t *data;
    size_t len;
    struct stat st;
    bool foreign; /* not a plain file of ours: st was never trusted */
} image;

static bool read_all(int fd, uint8_t *to, size_t len)
{
    size_t at = 0;
    while (at < len) {
        ssize_t n = pread(fd, to + at, len - at, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += (size_t)n;
    }
    return true;
}

/* Opens, checks and reads a file. SETT_E_NOT_CACHED: there is none; SETT_E_IO: it could not be read;
 * SETT_E_PARSE: it is not one that we use. */
static sett_status read_image(const sett__disk *d, int fd, image *im, sett_error *err)
{
    if (fstat(fd, &im->st))
        return sett__error(err, SETT_E_IO, "fstat: %s", strerror(errno));
    im->foreign = !S_ISREG(im->st.st_mode) || im->st.st_nlink != 1 || !ours(&im->st) || shared_write(&im->st);
    if (im->foreign)
        return sett__error(err, SETT_E_PARSE, "it is not a plain file that only we may write");
    if (im->st.st_size <= 0 || im->st.st_size > FILE_MAX)
        return sett__error(err, SETT_E_PARSE, "an entry of %lld bytes", (long long)im->st.st_size);
    im->len = (size_t)im->st.st_size;
    im->data = calloc(1, im->len + TAIL);
    if (!im->data)
        return sett__error(err, SETT_E_MEMORY, "no memory for an entry of %zu bytes", im->len);
    if (!read_all(fd, im->data, im->len))
        return sett__error(err, SETT_E_IO, "read: %s", strerror(errno));
    struct timespec now;
    if (!d->read_only && !clock_gettime(CLOCK_REALTIME, &now) && now.tv_sec - im->st.st_mtime > TOUCH_SECONDS)
        futimens(fd, NULL);
    return SETT_OK;
}

static int open_entry(const sett__disk *d, const char *path)
{
    int fd = -1;
    for (int i = 0; i < 3 && fd < 0 && (!i || errno == ESTALE); i++) /* NFS: the name is looked up anew */
        fd = openat(d->root, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    return fd;
}

/* A free slot, else the oldest. */
static int quarantine_slot(int root)
{
    int slot = 0;
    struct timespec oldest = {0};
    for (int i = 0; i < QUARANTINE_SLOTS; i++) {
        char name[32];
        struct stat st;
        snprintf(name, sizeof name, "quarantine/%02d.bad", i);
        if (fstatat(root, name, &st, AT_SYMLINK_NOFOLLOW))
            return i;
        if (!i || st.st_ctim.tv_sec < oldest.tv_sec ||
            (st.st_ctim.tv_sec == oldest.tv_sec && st.st_ctim.tv_nsec < oldest.tv_nsec))
            slot = i, oldest = st.st_ctim;
    }
    return slot;
}

/* Whatever lies there, with all below it: a folder that someone put in an entry's place may hold anything. Depth is
 * bounded, as what is deeper is no accident; links are removed and not followed. */
static bool remove_tree(int at, const char *name, int depth)
{
    if (!unlinkat(at, name, 0) || errno == ENOENT)
        return true;
    if (errno != EISDIR && errno != EPERM)
        return false;
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    bool gone = depth > 0;
    for (struct dirent *d; gone && (d = readdir(dir));)
        if (strcmp(d->d_name, ".") && strcmp(d->d_name, ".."))
            gone = remove_tree(fd, d->d_name, depth - 1);
    closedir(dir);
    return gone && !unlinkat(at, name, AT_REMOVEDIR);
}

/* Moves what was refused out of the way, unless another process has put something else there. */
static bool quarantine(const sett__disk *d, const char *path, const struct stat *seen)
{
    struct stat st;
    char name[32];
    if (d->read_only || fstatat(d->root, path, &st, AT_SYMLINK_NOFOLLOW))
        return false;
    if (seen && (st.st_dev != seen->st_dev || st.st_ino != seen->st_ino || st.st_size != seen->st_size ||
                    st.st_mtim.tv_sec != seen->st_mtim.tv_sec || st.st_mtim.tv_nsec != seen->st_mtim.tv_nsec))
        return false;
    snprintf(name, sizeof name, "quarantine/%02d.bad", quarantine_slot(d->root));
    if (!renameat(d->root, path, d->root, name))
        return true;
    /* A file does not replace a folder, nor a folder a file or a folder with something in it. */
    return (errno == EISDIR || errno == ENOTDIR || errno == ENOTEMPTY || errno == EEXIST) &&
           remove_tree(d->root, name, 8) && !renameat(d->root, path, d->root, name);
}

static sett_status refuse(sett__disk *d, const char *path, const struct stat *seen, const char *why, sett_error *err)
{
    atomic_fetch_add(&d->refusals, 1);
    bool moved = quarantine(d, path, seen);
    if (moved)
        atomic_fetch_add(&d->heals, 1);
    return sett__error(
        err, SETT_E_NOT_CACHED, "%s was refused%s: %s", path, moved ? " and moved to quarantine" : "", why);
}

static sett_status check_image(
    const image *im, const sett__digest *key, const sett__blob *material, sett__entry *e, sett_error *err)
{
    sett_status s = sett__entry_decode(im->data, im->len, key, e, err);
    if (s)
        return s;
    if (material &&
        (e->key_material.len != material->len || memcmp(e->key_material.data, material->data, material->len)))
        return sett__error(err, SETT_E_PARSE, "it was made for other key material");
    return sett__elf_check(e->cubin.data, e->cubin.len, err);
}

/* Reads and verifies; *im may hold memory also on failure. */
static sett_status load(const sett__disk *d, const char *path, const sett__digest *key, const sett__blob *material,
    image *im, sett__entry *e, sett_error *err)
{
    int fd = open_entry(d, path);
    if (fd < 0 && (errno == ELOOP || errno == ENXIO)) {
        im->foreign = true;
        return sett__error(err, SETT_E_PARSE, "it is a link or no file");
    }
    if (fd < 0)
        return sett__error(err, errno == ENOENT ? SETT_E_NOT_CACHED : SETT_E_IO, "%s: %s", path, strerror(errno));
    sett_status s = read_image(d, fd, im, err);
    close(fd);
    return s ? s : check_image(im, key, material, e, err);
}

sett_status sett__disk_get(
    sett__disk *d, const sett__digest *key, const sett__blob *material, sett__entry *out, sett_error *err)
{
    entry_name n;
    image im = {0};
    sett_error why = {0};
    int saved = errno;
    name_entry(key, &n);
    *out = (sett__entry){0};
    sett_status s = load(d, n.path, key, material, &im, out, &why);
    if (!s) {
        out->owned = im.data;
        atomic_fetch_add(&d->hits, 1);
    } else {
        free(im.data);
        *out = (sett__entry){0};
        atomic_fetch_add(&d->misses, 1);
        s = s == SETT_E_PARSE ? refuse(d, n.path, im.foreign ? NULL : &im.st, why.text, err)
                              : sett__error(err, s == SETT_E_MEMORY ? s : SETT_E_NOT_CACHED, "%s", why.text);
    }
    errno = saved;
    return s;
}

void sett__disk_refuse(sett__disk *d, const sett__digest *key)
{
    entry_name n;
    int saved = errno;
    name_entry(key, &n);
    refuse(d, n.path, NULL, "", NULL);
    errno = saved;
}

/* ---- writing ------------------------------------------------------------------------------ */
static bool write_all(int fd, const uint8_t *data, size_t len)
{
    while (len) {
        ssize_t n = write(fd, data, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        data += n;
        len -= (size_t)n;
    }
    return true;
}

static bool make_temp(sett__disk *d, const char *name, const uint8_t *data, size_t len)
{
    int fd = openat(d->tmp, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    bool ok = !fchmod(fd, 0600) && write_all(fd, data, len) && !fdatasync(fd);
    int why = errno;
    if (close(fd) && ok) /* a full disk behind NFS shows only here */
        ok = false, why = errno;
    if (!ok)
        unlinkat(d->tmp, name, 0);
    errno = why;
    return ok;
}

/* The first sound entry stays; what fails verification is replaced. */
static bool publish(sett__disk *d, const char *temp, const entry_name *n, const sett__digest *key)
{
    if (!renameat2(d->tmp, temp, d->root, n->path, RENAME_NOREPLACE))
        return true;
    if (errno == EEXIST) {
        image im = {0};
        sett__entry e;
        bool sound = !load(d, n->path, key, NULL, &im, &e, NULL);
        free(im.data);
        if (sound) {
            unlinkat(d->tmp, temp, 0);
            return true;
        }
    } else if (errno != EINVAL && errno != ENOSYS) {
        return false;
    }
    return !renameat(d->tmp, temp, d->root, n->path);
}

static sett_status write_entry(sett__disk *d, const sett__digest *key, const uint8_t *file, size_t len, sett_error *err)
{
    entry_name n;
    char temp[64];
    name_entry(key, &n);
    int dir = open_dir(d->root, n.dir, true);
    if (dir < 0)
        return sett__error(err, SETT_E_IO, "%s: %s", n.dir, strerror(errno));
    close(dir);
    /* The clock, as a process of another pid namespace may share the folder. */
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(temp, sizeof temp, "%ld-%llu-%lld.%09ld", (long)getpid(),
        (unsigned long long)atomic_fetch_add(&d->serial, 1), (long long)now.tv_sec, now.tv_nsec);
    if (!make_temp(d, temp, file, len))
        return sett__error(err, SETT_E_IO, "tmp/%s: %s", temp, strerror(errno));
    if (!publish(d, temp, &n, key)) {
        int why = errno;
        unlinkat(d->tmp, temp, 0);
        return sett__error(err, SETT_E_IO, "%s: %s", n.path, strerror(why));
    }
    atomic_fetch_add(&d->writes, 1);
    return SETT_OK;
}

sett_status sett__disk_put(sett__disk *d, const sett__digest *key, const sett__entry *e, sett_error *err)
{
    void *file;
    size_t len;
    int saved = errno;
    if (d->read_only)
        return sett__error(err, SETT_E_IO, "the cache folder can only be read");
    sett_status s = sett__entry_encode(key, e, &file, &len, err);
    if (s)
        return s;
    s = write_entry(d, key, file, len, err);
    free(file);
    errno = saved;
    return s;
}
