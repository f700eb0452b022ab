/* SPDX-License-Identifier: Apache-2.0 */
/* Aliases: by which what was recorded once is found without recording it again. An alias is the SHA-256 of what a caller asked
 * with, the build of its body among it (compile/alias.c), and names a key. Who finds none records the body, as without them.
 *
 * In a folder, `aliases` is a table of fixed size:
 *
 *     bucket[4096] of 512 bytes: row[7] of {alias[32], key[32], the first 8 bytes of SHA-256("sett-alias-row\0v1", alias, key)}
 *
 * An alias lies in the bucket of its first two bytes modulo 4096. A free row is zeros; where all are taken the new one replaces
 * another. Rows are written in place without a lock: one that was torn, damaged or lost is a miss, and the next
 * who records writes it again. An alias that was given two keys has a key of zeros from then on and is a miss: its body records
 * more than its user data says. A pack has its aliases sorted, below a digest of its own (pack.c). */
#include "inside.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 4096, BUCKET = 512, ROW = 72, ROWS = BUCKET / ROW, CHECKED = 64 };
static_assert(BUCKETS * BUCKET == SETT__ALIASES_BYTES, "the size by which a folder's file is known");
static const char domain[] = "sett-alias-row\0v1"; /* without the closing NUL */
enum { DOMAIN = sizeof domain - 1 };

/* ---- a row ----------------------------------------------------------------------------------------- */
static void row_write(uint8_t row[ROW], const sett__digest *alias, const sett__digest *key)
{
    uint8_t text[DOMAIN + CHECKED];
    sett__digest sum;
    memcpy(row, alias->b, 32), memcpy(row + 32, key->b, 32);
    memcpy(text, domain, DOMAIN), memcpy(text + DOMAIN, row, CHECKED);
    sett__sha256(text, sizeof text, &sum);
    memcpy(row + CHECKED, sum.b, ROW - CHECKED);
}

static bool row_read(const uint8_t row[ROW], sett__alias *a)
{
    uint8_t as_it_should[ROW];
    memcpy(a->alias.b, row, 32), memcpy(a->key.b, row + 32, 32);
    row_write(as_it_should, &a->alias, &a->key);
    return !memcmp(as_it_should, row, ROW);
}

static uint64_t bucket_of(const sett__digest *alias)
{
    return sett__get_le(alias->b, 2) % BUCKETS * BUCKET;
}

/* ---- the file -------------------------------------------------------------------------------------- */
static void tell(sett__disk *d, const char *what)
{
    if (!atomic_exchange(&d->aliases_told, true))
        sett__say(d->log, SETT_LOG_WARNING, "cache", "%s: " SETT__ALIASES " is not used as it is: %s", d->path, what);
}

/* Only its owner's word counts, and nobody's where several write: whoever can write a row decides which kernel is found. */
static bool may_hold(const sett__disk *d)
{
    return d->root >= 0 && !d->auth;
}

/* An interrupted call is a miss, or a row that is not written. */
static bool read_at(const sett__disk *d, int fd, void *to, size_t len, uint64_t from)
{
    return fd >= 0 && d->os->pread(fd, to, len, (off_t)from) == (ssize_t)len;
}

static bool write_at(const sett__disk *d, int fd, const void *from, size_t len, uint64_t to)
{
    return d->os->pwrite(fd, from, len, (off_t)to) == (ssize_t)len;
}

/* -1: there is none, or none of ours. */
static int open_file(sett__disk *d, bool write)
{
    struct stat st;
    const int how = write ? O_RDWR | O_CREAT : O_RDONLY;
    int fd = d->os->openat(d->root, SETT__ALIASES, how | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (fd < 0 && errno != ENOENT && errno != ENOMEM)
        tell(d, strerror(errno));
    if (fd < 0)
        return -1;
    bool ours = !d->os->fstat(fd, &st) && S_ISREG(st.st_mode) && sett__disk_trusts(d, &st) && st.st_size <= SETT__ALIASES_BYTES;
    if (!ours)
        tell(d, "it is not a file of ours");
    const uint8_t end = 0;
    if (ours && write && st.st_size < SETT__ALIASES_BYTES) /* a hole, of its whole size from the first on */
        ours = !d->os->fchmod(fd, d->mode & 0666) && write_at(d, fd, &end, 1, SETT__ALIASES_BYTES - 1);
    if (ours)
        return fd;
    d->os->close(fd);
    return -1;
}

/* The row of an alias, or -1. *room: one that may be written. */
static int find(sett__disk *d, const uint8_t bucket[BUCKET], const sett__digest *alias, sett__digest *key, int *room)
{
    sett__alias a;
    int at = -1;
    *room = -1;
    for (int i = 0; i < ROWS && at < 0; i++) {
        const uint8_t *row = bucket + i * ROW;
        const bool sound = row_read(row, &a);
        if (!sound && !sett__all_zero(row, ROW))
            tell(d, "a row of it is damaged");
        if (!sound && *room < 0)
            *room = i;
        if (sound && !memcmp(&a.alias, alias, sizeof *alias))
            *key = a.key, at = i;
    }
    return at;
}

bool sett__disk_ask(sett__disk *d, const sett__digest *alias, sett__digest *key)
{
    uint8_t bucket[BUCKET];
    int saved = errno, room, fd = may_hold(d) ? open_file(d, false) : -1;
    bool found = read_at(d, fd, bucket, sizeof bucket, bucket_of(alias)) && find(d, bucket, alias, key, &room) >= 0;
    if (fd >= 0)
        d->os->close(fd);
    errno = saved;
    return found && !sett__all_zero(key->b, sizeof key->b);
}

void sett__disk_alias(sett__disk *d, const sett__digest *alias, const sett__digest *key)
{
    static const sett__digest none;
    uint8_t bucket[BUCKET], row[ROW];
    sett__digest held;
    const uint64_t from = bucket_of(alias);
    int saved = errno, room = -1, fd = !may_hold(d) || d->read_only || d->sealed ? -1 : open_file(d, true);
    if (read_at(d, fd, bucket, sizeof bucket, from)) {
        int at = find(d, bucket, alias, &held, &room);
        const bool same = at >= 0 && !memcmp(&held, key, sizeof held);
        row_write(row, alias, at >= 0 ? &none : key);
        at = at >= 0 ? at : room >= 0 ? room : alias->b[31] % ROWS;
        if (!same)
            write_at(d, fd, row, ROW, from + (uint64_t)at * ROW); /* what is not written is recorded again */
    }
    if (fd >= 0)
        d->os->close(fd);
    errno = saved;
}

sett_status sett__disk_aliases(sett__disk *d, sett__alias_fn *fn, void *user)
{
    uint8_t *all;
    sett_status s = SETT_OK;
    int saved = errno, fd = may_hold(d) ? open_file(d, false) : -1;
    if (fd < 0) {
        errno = saved;
        return SETT_OK;
    }
    if (!(all = malloc(SETT__ALIASES_BYTES)))
        s = SETT_E_MEMORY;
    else if (read_at(d, fd, all, SETT__ALIASES_BYTES, 0))
        for (size_t i = 0; i < (size_t)BUCKETS * ROWS && !s; i++) {
            const uint8_t *row = all + i / ROWS * BUCKET + i % ROWS * ROW;
            sett__alias a;
            if (!sett__all_zero(row, ROW) && row_read(row, &a) && !sett__all_zero(a.key.b, sizeof a.key.b))
                s = fn(user, &a);
        }
    free(all);
    d->os->close(fd);
    errno = saved;
    return s;
}
