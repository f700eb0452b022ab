/* SPDX-License-Identifier: Apache-2.0 */
/* The cap of a folder. `trim` holds what the entries take, as counted, and when they were last looked at: two numbers of 8 bytes,
 * little endian. Whoever writes an entry adds its size first, so that a crash counts too much and never too little; a sum past the
 * cap, or of yesterday, makes the writer look at every entry and remove those that were used longest ago, down to 80 %. One does
 * that at a time; readers are safe, as they hold the bytes or the open file.
 *
 * Who cannot count, as another has the turn for long (it may be stopped), leaves a mark in the folder, and the next who has the turn
 * takes it away and looks at every entry. So what is written is counted late, and never not. Who has written a fifth of the cap
 * so removes without the turn: two who do so at once remove the same entries.
 *
 * What is removed has a name that we make, is a plain file of ours, and lies in a folder with our marker. */
#include "inside.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    DAY = 86400,
    HOUR = 3600,      /* a temporary file this old was left by a crash */
    LOCK_TRIES = 100, /* 1 ms apart */
    LOOKS = 2,        /* of one turn, where something was marked meanwhile */
    BLOCK = 4096,
};

typedef struct found {
    sett__digest key;
    struct timespec used;
    uint64_t bytes;
    ino_t ino;
} found;

typedef struct listing {
    found *item;
    size_t n, cap;
    uint64_t bytes;
    bool partial; /* what is not listed is not removed, and not counted */
} listing;

static bool before(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

static int by_use(const void *x, const void *y)
{
    const found *a = x, *b = y;
    return before(&a->used, &b->used) ? -1 : before(&b->used, &a->used);
}

static void list_one(void *user, const sett__digest *key, const struct stat *st)
{
    listing *l = user;
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 256;
        found *more = realloc(l->item, cap * sizeof *more);
        l->partial |= !more;
        if (!more)
            return;
        l->item = more;
        l->cap = cap;
    }
    l->item[l->n] = (found){*key, st->st_mtim, (uint64_t)st->st_blocks * 512, st->st_ino};
    l->bytes += l->item[l->n++].bytes;
}

static DIR *open_listing(sett__disk *d, int at, const char *name)
{
    int fd = d->os->openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
    DIR *dir = fd < 0 ? NULL : d->os->fdopendir(fd);
    if (fd >= 0 && !dir)
        d->os->close(fd);
    return dir;
}

/* False with errno: not all was seen. */
static bool each_in(sett__disk *d, const char *name, sett__disk_seen *seen, void *user)
{
    DIR *dir = open_listing(d, d->v1, name);
    sett__digest key;
    struct stat st;
    if (!dir)
        return errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
    struct dirent *e;
    int unseen = 0;
    while ((errno = 0, e = d->os->readdir(dir))) {
        if (!sett__entry_name_read(name, e->d_name, &key))
            continue;
        if (d->os->fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW))
            unseen = errno == ENOENT ? unseen : errno; /* ENOENT: it went since it was listed */
        else if (S_ISREG(st.st_mode))
            seen(user, &key, &st);
    }
    int why = errno ? errno : unseen;
    d->os->closedir(dir);
    errno = why;
    return !why;
}

bool sett__disk_each(sett__disk *d, sett__disk_seen *seen, void *user)
{
    int why = 0;
    for (int i = 0; i < 256; i++) {
        char name[3];
        snprintf(name, sizeof name, "%02x", i);
        if (!each_in(d, name, seen, user))
            why = errno;
    }
    errno = why;
    return !why;
}

/* A stamp of the future, of a clock that was wrong, would keep its entry for ever: it becomes now. */
static void clamp(sett__disk *d, int dir, const char *file, found *f, const struct timespec *now)
{
    const struct timespec both[2] = {*now, *now};
    if (!before(now, &f->used))
        return;
    f->used = *now;
    int fd = d->os->openat(dir, file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0);
    if (fd < 0)
        return;
    d->os->futimens(fd, both);
    d->os->close(fd);
}

static int dir_of(sett__disk *d, const found *f, sett__entry_name *n)
{
    sett__entry_name_of(&f->key, n);
    return d->os->openat(d->v1, n->dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
}

static void clamp_all(sett__disk *d, listing *l, const struct timespec *now)
{
    for (size_t i = 0; i < l->n; i++) {
        sett__entry_name n;
        if (!before(now, &l->item[i].used))
            continue;
        int dir = dir_of(d, &l->item[i], &n);
        clamp(d, dir, n.file, &l->item[i], now);
        if (dir >= 0)
            d->os->close(dir);
    }
}

/* Unless it was used, or replaced, since it was listed. True: it takes no room any more, whoever removed it. */
static bool remove_one(sett__disk *d, const found *f)
{
    sett__entry_name n;
    struct stat st;
    int dir = dir_of(d, f, &n);
    bool there = dir >= 0 && !d->os->fstatat(dir, n.file, &st, AT_SYMLINK_NOFOLLOW);
    bool removed = there && st.st_ino == f->ino && !before(&f->used, &st.st_mtim) && !d->os->unlinkat(dir, n.file, 0);
    bool gone = removed || (!there && errno == ENOENT);
    if (dir >= 0)
        d->os->close(dir);
    sett__count(&d->layer.evictions, removed);
    return gone;
}

static void remove_temps(sett__disk *d, const struct timespec *now)
{
    DIR *dir = open_listing(d, d->root, "tmp");
    struct stat st;
    for (struct dirent *e; dir && (e = d->os->readdir(dir));)
        if (sett__temp_name_is(e->d_name) && !d->os->fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
            (now->tv_sec - st.st_mtim.tv_sec > HOUR || st.st_mtim.tv_sec - now->tv_sec > HOUR))
            d->os->unlinkat(dirfd(dir), e->d_name, 0);
    if (dir)
        d->os->closedir(dir);
}

/* What is left after removing down to `most`; *partial: at least. */
static uint64_t trim_to(sett__disk *d, uint64_t most, const struct timespec *now, bool *partial)
{
    listing l = {0};
    *partial = !sett__disk_each(d, list_one, &l) || l.partial;
    clamp_all(d, &l, now);
    if (l.n)
        qsort(l.item, l.n, sizeof *l.item, by_use);
    for (size_t i = 0; i < l.n && l.bytes > most; i++)
        if (remove_one(d, &l.item[i]))
            l.bytes -= l.item[i].bytes;
    remove_temps(d, now);
    free(l.item);
    return l.bytes;
}

/* ---- the sum ----------------------------------------------------------------------------------- */
static bool read_sum(sett__disk *d, int fd, uint64_t *bytes, int64_t *when)
{
    uint8_t raw[16];
    if (!sett__read_all(d->os, fd, raw, sizeof raw))
        return false;
    *bytes = sett__get_le(raw, 8);
    *when = (int64_t)sett__get_le(raw + 8, 8);
    return true;
}

static bool write_sum(sett__disk *d, int fd, uint64_t bytes, int64_t when)
{
    uint8_t raw[16];
    sett__put_le(raw, bytes, 8);
    sett__put_le(raw + 8, (uint64_t)when, 8);
    return sett__write_all(d->os, fd, raw, sizeof raw);
}

static int open_sum(sett__disk *d)
{
    struct stat st;
    const int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
    int fd = d->os->openat(d->root, "trim", flags, 0600);
    if (fd < 0 && errno == EACCES && sett__disk_mend(d, d->root, "trim"))
        fd = d->os->openat(d->root, "trim", flags, 0600);
    if (fd < 0)
        return -1;
    if (!d->os->fstat(fd, &st) && S_ISREG(st.st_mode) && sett__disk_trusts(d, &st)) {
        if (!st.st_size)
            d->os->fchmod(fd, d->mode & 0666);
        return fd;
    }
    d->os->close(fd);
    return -1;
}

static uint64_t share(uint64_t cap)
{
    return cap / 5 * 4;
}

/* ---- the mark of what is not counted -------------------------------------------------------------- */
static const char mark[] = "behind"; /* an empty folder, as that is made and removed by one call each, whoever owns it */

static void leave_mark(sett__disk *d)
{
    d->behind = true;
    d->os->mkdirat(d->root, mark, 0700);
}

/* Before what is marked is listed. One that cannot be taken away stays one. */
static bool take_mark(sett__disk *d)
{
    bool ours = atomic_exchange(&d->behind, false);
    return !d->os->unlinkat(d->root, mark, AT_REMOVEDIR) || errno != ENOENT || ours;
}

/* ---- counting --------------------------------------------------------------------------------------- */
/* False: it is not written down. */
static bool count(sett__disk *d, int fd, uint64_t bytes, const struct timespec *now)
{
    uint64_t sum;
    int64_t when;
    bool known = !take_mark(d) && read_sum(d, fd, &sum, &when) && when <= now->tv_sec && now->tv_sec - when < DAY && sum <= INT64_MAX;
    d->uncounted = 0;
    if (!known || sum + bytes > d->cap) {
        uint64_t most = known ? share(d->cap) : d->cap;
        bool partial;
        int looks = 0;
        do
            sum = trim_to(d, most > bytes ? most - bytes : 0, now, &partial);
        while (++looks < LOOKS && take_mark(d));
        when = partial ? 0 : now->tv_sec; /* 0: the next one looks again */
    }
    return write_sum(d, fd, sum + bytes, when);
}

/* The trimmer's turn, among processes by the lock file, among threads by the mutex; false: another has it for long. */
static bool take_turn(sett__disk *d, int tries, bool *locked)
{
    bool none = false;
    *locked = false;
    for (int i = 0; i < tries; i++) {
        if (!pthread_mutex_trylock(&d->trimming)) {
            if ((*locked = sett__lock_try(d, 0, &none)) || none)
                return true;
            pthread_mutex_unlock(&d->trimming);
        }
        if (i + 1 < tries)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return false;
}

static void end_turn(sett__disk *d, bool locked)
{
    if (locked)
        sett__lock_drop(d, 0);
    pthread_mutex_unlock(&d->trimming);
}

/* Who has found the turn taken for long does not wait for it again. */
static bool count_in_turn(sett__disk *d, uint64_t bytes)
{
    struct timespec now;
    bool locked;
    if (d->os->clock_gettime(CLOCK_REALTIME, &now) || !take_turn(d, d->behind ? 1 : LOCK_TRIES, &locked))
        return false;
    int fd = open_sum(d);
    bool counted = fd >= 0 && count(d, fd, bytes, &now);
    if (fd >= 0)
        d->os->close(fd);
    end_turn(d, locked);
    return counted;
}

static void trim_without_turn(sett__disk *d)
{
    struct timespec now;
    bool partial;
    if (d->os->clock_gettime(CLOCK_REALTIME, &now) || pthread_mutex_trylock(&d->trimming))
        return;
    d->uncounted = 0;
    trim_to(d, share(d->cap), &now, &partial);
    pthread_mutex_unlock(&d->trimming);
    sett__say(d->log, SETT_LOG_WARNING, "cache",
        "%s: entries were removed without the lock of who trims, which another process has for long (is it stopped?)", d->path);
}

static uint64_t taken_by(uint64_t bytes)
{
    return (bytes + BLOCK - 1) / BLOCK * BLOCK;
}

bool sett__trim_for(sett__disk *d, uint64_t bytes)
{
    if (!d->cap || count_in_turn(d, taken_by(bytes)))
        return true;
    leave_mark(d); /* a crash may follow the write */
    if (d->uncounted + taken_by(bytes) > d->cap - share(d->cap))
        trim_without_turn(d);
    return false;
}

void sett__trim_later(sett__disk *d, uint64_t bytes)
{
    d->uncounted += taken_by(bytes);
    leave_mark(d);
}

void sett__trim_settle(sett__disk *d)
{
    if (d->behind && d->root >= 0 && d->cap)
        count_in_turn(d, 0);
}

sett_status sett__disk_trim(sett__disk *d, uint64_t most, uint64_t *left, sett_error *err)
{
    struct timespec now;
    bool locked;
    int saved = errno;
    if (d->read_only)
        return sett__error(err, SETT_E_IO, "%s can only be read", d->path);
    if (d->os->clock_gettime(CLOCK_REALTIME, &now) || !take_turn(d, LOCK_TRIES, &locked))
        return sett__error(err, SETT_E_IO, "%s is being trimmed by another", d->path);
    int fd = open_sum(d);
    bool partial;
    take_mark(d);
    *left = trim_to(d, most, &now, &partial);
    if (fd >= 0) {
        write_sum(d, fd, *left, partial ? 0 : now.tv_sec);
        d->os->close(fd);
    }
    end_turn(d, locked);
    errno = saved;
    return partial ? sett__error(err, SETT_E_IO, "%s could not be looked at as a whole", d->path) : SETT_OK;
}

/* A tenth of the file system, 4 GiB at most. */
void sett__disk_default_cap(sett__disk *d)
{
    const uint64_t most = UINT64_C(4) << 30;
    struct statfs st;
    d->cap = most;
    if (!d->os->fstatfs(d->root, &st) && st.f_blocks && st.f_bsize > 0 &&
        (uint64_t)st.f_blocks / 10 < most / (uint64_t)st.f_bsize)
        d->cap = (uint64_t)st.f_blocks / 10 * (uint64_t)st.f_bsize;
}
