/* SPDX-License-Identifier: Apache-2.0 */
/* What sett allocates with in oom: the Makefile renames what its objects call to these. */
#include "tests/oom/oom_alloc.h"
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sett/base.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

atomic_long oom_count, oom_live, oom_fail_at;
atomic_bool oom_for_ever;

static bool denied(void)
{
    long at = oom_fail_at, n = atomic_fetch_add(&oom_count, 1) + 1;
    if (!at || (oom_for_ever ? n < at : n != at))
        return false;
    errno = ENOMEM;
    return true;
}

static void *given(void *p)
{
    oom_live += p != NULL;
    return p;
}

#define HOOK __attribute__((visibility("default")))
HOOK void *oom_malloc(size_t n);
HOOK void *oom_calloc(size_t n, size_t size);
HOOK void *oom_realloc(void *p, size_t n);
HOOK void *oom_aligned_alloc(size_t align, size_t n);
HOOK char *oom_strdup(const char *s);
HOOK char *oom_strndup(const char *s, size_t n);
HOOK int oom_asprintf(char **to, const char *format, ...) SETT_PRINTF(2, 3);
HOOK int oom___asprintf_chk(char **to, int flag, const char *format, ...) SETT_PRINTF(3, 4); /* what _FORTIFY_SOURCE calls */
HOOK DIR *oom_fdopendir(int fd);
HOOK void *oom_ffi_closure_alloc(size_t size, void **code);
HOOK int oom_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
HOOK void oom_free(void *p);
void *ffi_closure_alloc(size_t size, void **code);

void *oom_malloc(size_t n)
{
    return denied() ? NULL : given(malloc(n));
}
void *oom_calloc(size_t n, size_t size)
{
    return denied() ? NULL : given(calloc(n, size));
}
void *oom_realloc(void *p, size_t n)
{
    if (denied())
        return NULL;
    return p ? realloc(p, n) : given(malloc(n));
}
void *oom_aligned_alloc(size_t align, size_t n)
{
    return denied() ? NULL : given(aligned_alloc(align, n));
}
char *oom_strdup(const char *s)
{
    return denied() ? NULL : given(strdup(s));
}
char *oom_strndup(const char *s, size_t n)
{
    return denied() ? NULL : given(strndup(s, n));
}
DIR *oom_fdopendir(int fd)
{
    return denied() ? NULL : fdopendir(fd);
}
void *oom_ffi_closure_alloc(size_t size, void **code)
{
    return denied() ? NULL : ffi_closure_alloc(size, code);
}
static int print(char **to, const char *format, va_list args)
{
    int n = denied() ? -1 : vasprintf(to, format, args);
    oom_live += n >= 0;
    return n;
}
int oom_asprintf(char **to, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = print(to, format, args);
    va_end(args);
    return n;
}
int oom___asprintf_chk(char **to, int flag, const char *format, ...)
{
    va_list args;
    (void)flag;
    va_start(args, format);
    int n = print(to, format, args);
    va_end(args);
    return n;
}
int oom_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *user)
{
    return denied() ? EAGAIN : pthread_create(t, attr, fn, user);
}
void oom_free(void *p)
{
    oom_live -= p != NULL;
    free(p);
}

/* What the plug-in's heap.c takes of libc for LLVM. */
atomic_long oom_llvm_count, oom_llvm_fail_at;

static bool llvm_denied(void)
{
    long at = oom_llvm_fail_at, n = atomic_fetch_add(&oom_llvm_count, 1) + 1;
    return at && (oom_for_ever ? n >= at : n == at);
}

HOOK void *oom_llvm_malloc(size_t n);
HOOK void *oom_llvm_calloc(size_t n, size_t size);
HOOK void *oom_llvm_realloc(void *p, size_t n);
HOOK void *oom_llvm_aligned_alloc(size_t align, size_t n);
void *oom_llvm_malloc(size_t n)
{
    return llvm_denied() ? NULL : malloc(n);
}
void *oom_llvm_calloc(size_t n, size_t size)
{
    return llvm_denied() ? NULL : calloc(n, size);
}
void *oom_llvm_realloc(void *p, size_t n)
{
    return llvm_denied() ? NULL : realloc(p, n);
}
void *oom_llvm_aligned_alloc(size_t align, size_t n)
{
    return llvm_denied() ? NULL : aligned_alloc(align, n);
}
