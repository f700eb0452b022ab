/* SPDX-License-Identifier: Apache-2.0 */
/* LD_PRELOAD of the real command, for row L of the campaign: of the calls that libsett makes to the C library, one fails,
 * or all from one on, or are cut short. $SETT_SHIM: "CALL AT ERRNO FOR_EVER", AT counted from 1; errno 0: half of what was asked
 * for. The number of such calls is written to descriptor 3 in the end, where that is open. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static struct {
    char call[32];
    long at;
    int error, for_ever;
} plan;
static atomic_long count;

__attribute__((constructor)) static void begin(void)
{
    const char *text = getenv("SETT_SHIM");
    if (!text || sscanf(text, "%31s %ld %d %d", plan.call, &plan.at, &plan.error, &plan.for_ever) != 4)
        plan.call[0] = 0;
}

__attribute__((destructor)) static void end(void)
{
    char text[32];
    int n = snprintf(text, sizeof text, "%ld\n", (long)count);
    if (write(3, text, (size_t)n) != n)
        return;
}

/* Only what libsett asks for: LLVM, the assembler and the command itself are others' affair. */
static bool strikes(const char *call, const void *caller)
{
    Dl_info from;
    if (strcmp(call, plan.call) || !dladdr(caller, &from) || !from.dli_fname || !strstr(from.dli_fname, "libsett.so"))
        return false;
    long n = atomic_fetch_add(&count, 1) + 1;
    return plan.at && (plan.for_ever ? n >= plan.at : n == plan.at);
}

/* X(name, result, failure, parameters, arguments) */
#define CALLS(X) \
    X(close, int, -1, (int fd), (fd)) \
    X(fstat, int, -1, (int fd, struct stat *st), (fd, st)) \
    X(fstatat, int, -1, (int at, const char *path, struct stat *st, int flags), (at, path, st, flags)) \
    X(fdatasync, int, -1, (int fd), (fd)) \
    X(fchmod, int, -1, (int fd, mode_t mode), (fd, mode)) \
    X(fchmodat, int, -1, (int at, const char *path, mode_t mode, int flags), (at, path, mode, flags)) \
    X(mkdirat, int, -1, (int at, const char *path, mode_t mode), (at, path, mode)) \
    X(unlinkat, int, -1, (int at, const char *path, int flags), (at, path, flags)) \
    X(renameat2, int, -1, (int a, const char *from, int b, const char *to, unsigned flags), (a, from, b, to, flags)) \
    X(linkat, int, -1, (int a, const char *from, int b, const char *to, int flags), (a, from, b, to, flags)) \
    X(fdopendir, DIR *, NULL, (int fd), (fd)) \
    X(readdir, struct dirent *, NULL, (DIR * dir), (dir)) \
    X(mmap, void *, MAP_FAILED, (void *p, size_t len, int prot, int flags, int fd, off_t at), (p, len, prot, flags, fd, at))
#define X(name, result, failure, parameters, arguments) \
    __attribute__((visibility("default"))) result name parameters \
    { \
        static result(*real) parameters; \
        if (!real) { \
            void *f = dlsym(RTLD_NEXT, #name); \
            memcpy(&real, &f, sizeof f); \
        } \
        if (strikes(#name, __builtin_return_address(0)) && plan.error) { \
            errno = plan.error; \
            return failure; \
        } \
        return real arguments; \
    }
CALLS(X)
#undef X

#define TRANSFER(name, pointer) \
    __attribute__((visibility("default"))) ssize_t name(int fd, pointer p, size_t len, off_t at) \
    { \
        static ssize_t (*real)(int, pointer, size_t, off_t); \
        if (!real) { \
            void *f = dlsym(RTLD_NEXT, #name); \
            memcpy(&real, &f, sizeof f); \
        } \
        bool hit = strikes(#name, __builtin_return_address(0)); \
        if (hit && plan.error) { \
            errno = plan.error; \
            return -1; \
        } \
        return real(fd, p, hit && len > 1 ? len / 2 : len, at); \
    }
TRANSFER(pread, void *)
TRANSFER(pwrite, const void *)

/* The last argument of these is there or not. */
__attribute__((visibility("default"))) int openat(int at, const char *path, int flags, ...)
{
    static int (*real)(int, const char *, int, mode_t);
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(args, mode_t) : 0;
    va_end(args);
    if (!real) {
        void *p = dlsym(RTLD_NEXT, "openat");
        memcpy(&real, &p, sizeof p);
    }
    if (strikes("openat", __builtin_return_address(0)) && plan.error) {
        errno = plan.error;
        return -1;
    }
    return real(at, path, flags, mode);
}
__attribute__((visibility("default"))) int fcntl(int fd, int what, ...)
{
    static int (*real)(int, int, void *);
    va_list args;
    va_start(args, what);
    void *arg = va_arg(args, void *);
    va_end(args);
    if (!real) {
        void *p = dlsym(RTLD_NEXT, "fcntl");
        memcpy(&real, &p, sizeof p);
    }
    if (strikes("fcntl", __builtin_return_address(0)) && plan.error) {
        errno = plan.error;
        return -1;
    }
    return real(fd, what, arg);
}
