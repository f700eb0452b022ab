/* SPDX-License-Identifier: Apache-2.0 */
/* The heap that LLVM sees: libc's, and a reserve while it is opened.
 *
 * LLVM cannot return from a lack of memory. Where it compiles, its handlers (plugin.c) park the thread. Where it is opened,
 * by constructors on the thread that opens it, under the loader's lock, no thread may be parked: what libc denies then
 * comes of a reserve, which is enough for all of it (tests/oom/oom.c opens it with nothing else). The linker sends what
 * the plug-in's objects and its static libraries ask of libc here (--wrap). */
#include "ptx.h"
#include <malloc.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

enum { RESERVE = 1 << 20, ALIGN = 16 };

static alignas(ALIGN) char reserve[RESERVE]; /* no memory until it is touched; blocks behind their sizes; none is given again */
static size_t used;
static bool open; /* set by the thread that opens, before any other may come in */

#define WRAPPED(type, name, args) \
    type sett__real_##name args __asm__("__real_" #name); \
    type sett__wrap_##name args __asm__("__wrap_" #name)
WRAPPED(void *, malloc, (size_t));
WRAPPED(void *, calloc, (size_t, size_t));
WRAPPED(void *, realloc, (void *, size_t));
WRAPPED(void *, aligned_alloc, (size_t, size_t));
WRAPPED(void, free, (void *));
char *sett__wrap_strdup(const char *) __asm__("__wrap_strdup");

static bool reserved(const void *p)
{
    return (uintptr_t)p - (uintptr_t)reserve < RESERVE;
}

/* While LLVM is opened: zeroed memory. */
static void *take(size_t n, size_t align)
{
    size_t size = (n + ALIGN - 1) / ALIGN * ALIGN;
    if (open || align > ALIGN || n > RESERVE || ALIGN + size > RESERVE - used)
        return NULL;
    char *p = reserve + used + ALIGN;
    memcpy(reserve + used, &size, sizeof size);
    used += ALIGN + size;
    return p;
}

static size_t size_of(void *p)
{
    size_t size;
    if (!reserved(p))
        return malloc_usable_size(p);
    memcpy(&size, (char *)p - ALIGN, sizeof size);
    return size;
}

void *sett__wrap_malloc(size_t n)
{
    void *p = sett__real_malloc(n);
    return p ? p : take(n, 1);
}

void *sett__wrap_calloc(size_t n, size_t size)
{
    void *p = sett__real_calloc(n, size);
    return p || __builtin_mul_overflow(n, size, &n) ? p : take(n, 1);
}

void *sett__wrap_aligned_alloc(size_t align, size_t n)
{
    void *p = sett__real_aligned_alloc(align, n);
    return p ? p : take(n, align);
}

void *sett__wrap_realloc(void *p, size_t n)
{
    void *q = reserved(p) ? NULL : sett__real_realloc(p, n);
    if (q || !n || !(q = sett__wrap_malloc(n)) || !p)
        return q;
    size_t had = size_of(p);
    memcpy(q, p, had < n ? had : n);
    sett__wrap_free(p);
    return q;
}

/* LLVM's C functions return what this gives, unseen. */
char *sett__wrap_strdup(const char *s)
{
    size_t n = strlen(s) + 1;
    char *p = (char *)sett__wrap_malloc(n);
    if (!p)
        sett__out_of_memory();
    return memcpy(p, s, n);
}

void sett__wrap_free(void *p)
{
    if (!reserved(p))
        sett__real_free(p);
}

void sett__heap_opened(void)
{
    open = true;
}

bool sett__thread_locals(void)
{
    enum { STEP = 16, MOST = 256 }; /* all that LLVM and we have takes 64 */
    bool ok = true;
    for (size_t n = STEP; n <= MOST && ok; n += STEP) {
        void *volatile p = sett__real_malloc(n);
        ok = p != NULL;
        sett__real_free(p);
    }
    return ok;
}
