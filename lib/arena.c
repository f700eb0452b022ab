/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that dies at once: a list of chunks, each given out from its start. */
#define _DEFAULT_SOURCE /* madvise */
#include "lib.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGN = 16, FIRST_CHUNK = 4096, HUGE_PAGE = 1 << 21, LARGEST_CHUNK = HUGE_PAGE };

struct sett__chunk {
    struct sett__chunk *next;
    size_t size; /* of the whole chunk */
};
static_assert(sizeof(struct sett__chunk) % ALIGN == 0, "what follows the head must be aligned");

void *sett__mem_alloc(const sett__allocator *mem, size_t bytes)
{
    if (!bytes)
        bytes = 1;
    return mem ? mem->alloc(mem->user, bytes) : malloc(bytes);
}

void sett__mem_free(const sett__allocator *mem, void *p)
{
    if (!p)
        return;
    if (mem)
        mem->free(mem->user, p);
    else
        free(p);
}

/* A long kernel's memory is touched once and given back: with small pages, faults were half of the time that
 * it takes to record. */
static void *alloc_large(const sett__allocator *mem, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    if (!mem && bytes >= HUGE_PAGE) {
        size_t whole = (bytes + HUGE_PAGE - 1) & ~(size_t)(HUGE_PAGE - 1);
        void *p = aligned_alloc(HUGE_PAGE, whole);
        if (p)
            madvise(p, whole, MADV_HUGEPAGE);
        return p;
    }
#endif
    return sett__mem_alloc(mem, bytes);
}

/* Chunks grow so that a build of any size makes few calls, and in large steps (what is not touched costs
 * nothing) so that malloc, which adapts to what is given back, keeps them for the next build. A large request gets a chunk of its own behind the
 * current one, whose rest stays in use. */
static void *new_chunk(sett__arena *a, size_t bytes)
{
    size_t size = a->head ? 16 * a->head->size : FIRST_CHUNK;
    if (size > LARGEST_CHUNK)
        size = LARGEST_CHUNK;
    bool own = bytes > size / 4;
    if (own)
        size = sizeof(struct sett__chunk) + bytes;
    struct sett__chunk *c = alloc_large(a->mem, size);
    if (!c)
        return NULL;
    c->size = size;
    a->used += size;
    if (own && a->head) {
        c->next = a->head->next;
        a->head->next = c;
        return c + 1;
    }
    c->next = a->head;
    a->head = c;
    a->at = (char *)(c + 1) + bytes;
    a->end = (char *)c + size;
    return c + 1;
}

void *sett__arena_alloc(sett__arena *a, size_t bytes)
{
    if (bytes > SIZE_MAX / 2)
        return NULL;
    bytes = (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if (!bytes)
        bytes = ALIGN;
    void *p;
    if (a->at && bytes <= (size_t)(a->end - a->at)) {
        p = a->at;
        a->at += bytes;
    } else {
        p = new_chunk(a, bytes);
    }
    return p ? memset(p, 0, bytes) : NULL;
}

char *sett__arena_str(sett__arena *a, const char *s)
{
    size_t n = strlen(s) + 1;
    char *p = sett__arena_alloc(a, n);
    return p ? memcpy(p, s, n) : NULL;
}

void sett__arena_free(sett__arena *a)
{
    for (struct sett__chunk *c = a->head, *next; c; c = next) {
        next = c->next;
        sett__mem_free(a->mem, c);
    }
    *a = (sett__arena){.mem = a->mem};
}

bool sett__grow(const sett__allocator *mem, void **data, uint32_t *cap, uint32_t need, size_t item)
{
    if (need <= *cap)
        return true;
    uint64_t want = *cap < 16 ? 16 : 2ull * *cap;
    if (want < need)
        want = need;
    if (want > UINT32_MAX || want > SIZE_MAX / 2 / item)
        return false;
    void *p = alloc_large(mem, (size_t)want * item);
    if (!p)
        return false;
    if (*data)
        memcpy(p, *data, *cap * item);
    sett__mem_free(mem, *data);
    *data = p;
    *cap = (uint32_t)want;
    return true;
}
