/* SPDX-License-Identifier: Apache-2.0 */
/* An entry into a folder: temp, fdatasync, rename, so that a reader sees all of an entry or none. */
#include "inside.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEMP_NAME = 64, INTERRUPTS = 100 /* in a row, of one write */ };

bool sett__write_at(const sett__os *os, int fd, const void *from, size_t len, uint64_t to)
{
    size_t at = 0;
    for (int breaks = 0; at < len;) {
        ssize_t n = os->pwrite(fd, (const uint8_t *)from + at, len - at, (off_t)(to + at));
        if (n < 0 && errno == EINTR && ++breaks < INTERRUPTS)
            continue;
        if (n <= 0) {
            errno = n ? errno : ENOSPC;
            return false;
        }
        at += (size_t)n;
        breaks = 0;
    }
    return true;
}

/* The clock is in the name as a process of another pid namespace may share the folder. */
static void temp_name(sett__disk *d, char name[TEMP_NAME])
{
    struct timespec now = {0};
    d->os->clock_gettime(CLOCK_REALTIME, &now);
    snprintf(name, TEMP_NAME, "%ld-%llu-%lld.%09ld", (long)getpid(),
        (unsigned long long)atomic_fetch_add(&d->serial, 1), (long long)now.tv_sec, now.tv_nsec);
}

/* Digits, each run ended by the next of these marks: what temp_name makes, and nothing else is ever removed from tmp/.
 */
bool sett__temp_name_is(const char *name)
{
    for (const char *mark = "--.";; mark++) {
        size_t digits = strspn(name, "0123456789");
        if (!digits || name[digits] != *mark)
            return false;
        if (!*mark)
            return true;
        name += digits + 1;
    }
}

static bool make_temp(sett__disk *d, const char *name, const void *data, size_t len)
{
    const sett__os *os = d->os;
    int fd = os->openat(d->tmp, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    bool ok = !os->fchmod(fd, d->mode & 0666) && sett__write_all(os, fd, data, len) && !os->fdatasync(fd);
    int why = errno;
    if (os->close(fd) && ok) /* a full disk behind NFS shows only here */
        ok = false, why = errno;
    if (!ok)
        os->unlinkat(d->tmp, name, 0);
    errno = why;
    return ok;
}

/* The first sound entry stays, unless the caller wants his own; what fails verification is replaced. */
static bool publish(sett__disk *d, const char *temp, int dir, const char *file, const sett__digest *key, bool replace)
{
    const sett__os *os = d->os;
    if (!replace && !os->renameat2(d->tmp, temp, dir, file, RENAME_NOREPLACE))
        return true;
    if (!replace && errno == EEXIST && sett__disk_sound(d, key)) {
        os->unlinkat(d->tmp, temp, 0);
        sett__count(&d->layer.duplicates, 1);
        return true;
    }
    if (!replace && errno != EEXIST && errno != EINVAL && errno != ENOSYS)
        return false;
    return !os->renameat2(d->tmp, temp, dir, file, 0);
}

static sett_status write_entry(
    sett__disk *d, const sett__digest *key, const void *file, size_t len, bool replace, sett_error *err)
{
    sett__entry_name n;
    char temp[TEMP_NAME];
    sett__entry_name_of(key, &n);
    int dir = sett__disk_subdir(d, d->v1, n.dir, true);
    if (dir < 0)
        return sett__error(err, SETT_E_IO, "v1/%s: %s", n.dir, strerror(errno));
    temp_name(d, temp);
    sett_status s = SETT_OK;
    int why = 0;
    if (!make_temp(d, temp, file, len)) {
        why = errno;
        s = sett__error(err, SETT_E_IO, "tmp/%s: %s", temp, strerror(why));
    } else if (!publish(d, temp, dir, n.file, key, replace)) {
        why = errno;
        d->os->unlinkat(d->tmp, temp, 0);
        s = sett__error(err, why == ENOMEM ? SETT_E_MEMORY : SETT_E_IO, "v1/%s/%s: %s", n.dir, n.file, strerror(why));
    }
    d->os->close(dir);
    errno = why;
    return s;
}

/* A folder that was removed while it was open is made again, once. */
static sett_status write_or_remake(
    sett__disk *d, const sett__digest *key, const void *file, size_t len, bool replace, sett_error *err)
{
    sett_error why = {0};
    sett_status s = write_entry(d, key, file, len, replace, &why);
    if (s && errno == ENOENT && sett__disk_remake(d))
        s = write_entry(d, key, file, len, replace, &why);
    if (s && errno == EROFS)
        d->read_only = true; /* it will not change while we run: nothing is tried again */
    if (s && err)
        *err = why;
    return s;
}

sett_status sett__disk_put(sett__disk *d, const sett__digest *key, const sett__entry *e, bool replace, sett_error *err)
{
    void *file;
    size_t len;
    int saved = errno;
    if (d->read_only)
        return sett__error(err, SETT_E_IO, "the cache folder can only be read");
    sett_status s = sett__entry_encode(key, e, d->auth, &file, &len, err);
    if (s)
        return s;
    if (d->cap && len > d->cap) {
        s = sett__error(err, SETT_E_LIMIT, "an entry of %zu bytes; the cache folder may hold %llu", len,
            (unsigned long long)d->cap);
    } else {
        bool counted = sett__trim_for(d, len);
        s = write_or_remake(d, key, file, len, replace, err);
        if (!counted && !s)
            sett__trim_later(d, len);
    }
    if (!s) {
        sett__count(&d->layer.writes, 1);
        sett__count(&d->layer.written_bytes, len);
    }
    free(file);
    errno = saved;
    return s;
}
