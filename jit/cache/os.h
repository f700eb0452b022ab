/* SPDX-License-Identifier: Apache-2.0 */
/* Every call to the file system, which tests replace. */
#ifndef SETT_JIT_CACHE_OS_H
#define SETT_JIT_CACHE_OS_H
#include "cache.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <time.h>

/* ---- os.c: every call to the file system -------------------------------------------------- */
/* X(result, failure, name, parameters, arguments). One list, so that a test's table, which counts and fails them, has
 * every one. All set errno. */
#define SETT__OS_CALLS(X) \
    X(int, -1, openat, (int at, const char *path, int flags, mode_t mode), (at, path, flags, mode)) \
    X(int, -1, close, (int fd), (fd)) \
    X(int, -1, dup3, (int from, int to, int flags), (from, to, flags)) \
    X(int, -1, fstat, (int fd, struct stat *st), (fd, st)) \
    X(int, -1, fstatat, (int at, const char *path, struct stat *st, int flags), (at, path, st, flags)) \
    X(int, -1, fstatfs, (int fd, struct statfs *st), (fd, st)) \
    X(int, -1, faccessat, (int at, const char *path, int mode, int flags), (at, path, mode, flags)) \
    X(ssize_t, -1, readlinkat, (int at, const char *path, char *to, size_t size), (at, path, to, size)) \
    X(ssize_t, -1, pread, (int fd, void *to, size_t len, off_t at), (fd, to, len, at)) \
    X(ssize_t, -1, pwrite, (int fd, const void *from, size_t len, off_t at), (fd, from, len, at)) \
    X(int, -1, fdatasync, (int fd), (fd)) \
    X(int, -1, fchmod, (int fd, mode_t mode), (fd, mode)) \
    X(int, -1, fchmodat, (int at, const char *path, mode_t mode, int flags), (at, path, mode, flags)) \
    X(int, -1, futimens, (int fd, const struct timespec *times), (fd, times)) \
    X(int, -1, mkdirat, (int at, const char *path, mode_t mode), (at, path, mode)) \
    X(int, -1, unlinkat, (int at, const char *path, int flags), (at, path, flags)) \
    X(int, -1, renameat2, (int from_at, const char *from, int to_at, const char *to, unsigned flags), \
        (from_at, from, to_at, to, flags)) \
    X(int, -1, linkat, (int from_at, const char *from, int to_at, const char *to, int flags), \
        (from_at, from, to_at, to, flags)) \
    X(int, -1, setlk, (int fd, struct flock *lock), (fd, lock)) /* F_OFD_SETLK */ \
    X(DIR *, NULL, fdopendir, (int fd), (fd)) \
    X(struct dirent *, NULL, readdir, (DIR * dir), (dir)) \
    X(int, -1, closedir, (DIR * dir), (dir)) \
    X(int, -1, clock_gettime, (clockid_t clock, struct timespec *to), (clock, to))
struct sett__os {
#define X(result, failure, name, parameters, arguments) result(*name) parameters;
    SETT__OS_CALLS(X)
#undef X
};
extern const sett__os sett__os_libc;

#endif
