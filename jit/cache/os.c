/* SPDX-License-Identifier: Apache-2.0 */
/* The C library behind the cache's table of calls. */
#include "inside.h"
#include <stdio.h>
#include <unistd.h>

static int os_openat(int at, const char *path, int flags, mode_t mode)
{
    return openat(at, path, flags, mode);
}

static int os_setlk(int fd, struct flock *lock)
{
    return fcntl(fd, F_OFD_SETLK, lock);
}

const sett__os sett__os_libc = {.openat = os_openat,
    .close = close,
    .dup3 = dup3,
    .fstat = fstat,
    .fstatat = fstatat,
    .fstatfs = fstatfs,
    .faccessat = faccessat,
    .readlinkat = readlinkat,
    .pread = pread,
    .pwrite = pwrite,
    .fdatasync = fdatasync,
    .fchmod = fchmod,
    .fchmodat = fchmodat,
    .futimens = futimens,
    .mkdirat = mkdirat,
    .unlinkat = unlinkat,
    .renameat2 = renameat2,
    .linkat = linkat,
    .setlk = os_setlk,
    .fdopendir = fdopendir,
    .readdir = readdir,
    .closedir = closedir,
    .clock_gettime = clock_gettime};
