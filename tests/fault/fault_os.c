/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of calls that miscarry, each wrapper written by the list in jit/cache/os.h. */
#include "tests/fault/fault.h"
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

plan planned;
void (*removal_planned)(void);
atomic_long calls[N_CALLS], calls_in_all;
const char *const call_names[N_CALLS] = {
#define X(result, failure, name, parameters, arguments) #name,
    SETT__OS_CALLS(X)
#undef X
};

void plan_set(const plan *p)
{
    planned = p ? *p : (plan){0};
    calls_in_all = 0;
    for (int i = 0; i < N_CALLS; i++)
        calls[i] = 0;
}

long calls_that_write(void)
{
    static const int writing[] = {CALL_pwrite, CALL_fdatasync, CALL_fchmod, CALL_fchmodat, CALL_futimens, CALL_mkdirat, CALL_unlinkat,
        CALL_renameat2, CALL_linkat, CALL_setlk};
    long n = 0;
    for (size_t i = 0; i < SETT__COUNT(writing); i++)
        n += calls[writing[i]];
    return n;
}

static bool struck(int call)
{
    long of_this = atomic_fetch_add(&calls[call], 1) + 1, of_all = atomic_fetch_add(&calls_in_all, 1) + 1;
    long n = planned.call < 0 ? of_all : of_this;
    return planned.what && (planned.call < 0 || planned.call == call) && (n == planned.at || (planned.for_ever && n > planned.at));
}

#define X(result, failure, name, parameters, arguments) \
    static result faulty_##name parameters \
    { \
        bool hit = struck(CALL_##name); \
        if (hit && planned.what == MISHAP_KILL_BEFORE) \
            raise(SIGKILL); \
        if (hit && planned.what == MISHAP_REMOVAL) \
            removal_planned(); \
        if (hit && planned.what == MISHAP_ERROR) { \
            errno = planned.error; \
            return failure; \
        } \
        result r = sett__os_libc.name arguments; \
        if (hit && planned.what == MISHAP_KILL_AFTER) \
            raise(SIGKILL); \
        return r; \
    }
SETT__OS_CALLS(X)
#undef X

/* Half of what was asked for; of one byte all. */
static ssize_t short_pread(int fd, void *to, size_t len, off_t at)
{
    bool cut = planned.what == MISHAP_SHORT && len > 1;
    return faulty_pread(fd, to, cut ? len / 2 : len, at);
}

static ssize_t short_pwrite(int fd, const void *from, size_t len, off_t at)
{
    bool cut = planned.what == MISHAP_SHORT && len > 1;
    return faulty_pwrite(fd, from, cut ? len / 2 : len, at);
}

static int wrong_clock(clockid_t clock, struct timespec *to)
{
    int r = faulty_clock_gettime(clock, to);
    to->tv_sec += clock == CLOCK_REALTIME ? planned.clock : 0;
    return r;
}

/* These fail after they closed, as on Linux. */
static int closed_and_failed(int fd)
{
    if (planned.what != MISHAP_ERROR)
        return faulty_close(fd);
    sett__os_libc.close(fd);
    return struck(CALL_close) ? (errno = planned.error, -1) : 0;
}

static int listed_and_failed(DIR *dir)
{
    if (planned.what != MISHAP_ERROR)
        return faulty_closedir(dir);
    sett__os_libc.closedir(dir);
    return struck(CALL_closedir) ? (errno = planned.error, -1) : 0;
}

#pragma GCC diagnostic ignored "-Woverride-init" /* the list first, then what differs */
const sett__os os_faulty = {
#define X(result, failure, name, parameters, arguments) .name = faulty_##name,
    SETT__OS_CALLS(X)
#undef X
    .pread = short_pread,
    .pwrite = short_pwrite,
    .clock_gettime = wrong_clock,
    .close = closed_and_failed,
    .closedir = listed_and_failed,
};

/* ---- a file system that promises more than it keeps ----------------------------------------------- */
static bool strikes(void)
{
    static _Thread_local uint64_t seed;
    if (!seed)
        seed = (uint64_t)getpid() * 0x9E3779B97F4A7C15 + 1;
    return dice(&seed) % 1000 < (uint64_t)planned.chance;
}

#define LIE(condition, error) \
    if ((condition) && strikes()) { \
        errno = error; \
        return -1; \
    }
static int granted(int fd, struct flock *lock)
{
    (void)fd, (void)lock;
    return 0;
}
static int late_openat(int at, const char *path, int flags, mode_t mode)
{
    bool entry = strstr(path, ".sett") != NULL;
    LIE(entry, ENOENT)
    LIE(entry, ESTALE)
    return sett__os_libc.openat(at, path, flags, mode);
}
static ssize_t stale_pread(int fd, void *to, size_t len, off_t at)
{
    LIE(true, ESTALE)
    return sett__os_libc.pread(fd, to, len, at);
}
static int busy_unlinkat(int at, const char *path, int flags)
{
    LIE(true, EBUSY)
    return sett__os_libc.unlinkat(at, path, flags);
}
static int busy_renameat2(int from_at, const char *from, int to_at, const char *to, unsigned flags)
{
    LIE(true, EBUSY)
    LIE(flags, EINVAL)
    return sett__os_libc.renameat2(from_at, from, to_at, to, flags);
}

const sett__os os_dishonest = {
#define X(result, failure, name, parameters, arguments) .name = faulty_##name,
    SETT__OS_CALLS(X)
#undef X
    .setlk = granted,
    .openat = late_openat,
    .pread = stale_pread,
    .unlinkat = busy_unlinkat,
    .renameat2 = busy_renameat2,
};
