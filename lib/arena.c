/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that dies at once: a list of chunks, each given out from its start. */
#define _DEFAULT_SOURCE /* madvise */
#include "lib.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGN = 16, FIRST_CHUNK = 4096, HUGE_PAGE = 1 << 21, LARGEST_CHUNK = 4 * HUGE_PAGE };

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

/* A long kernel's memory is touched once and in order: with small pages, faults were half of the time that it
 * takes to record. */
void *sett__huge_pages(void *p, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    uintptr_t first = ((uintptr_t)p + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1);
    uintptr_t end = ((uintptr_t)p + bytes) & ~(uintptr_t)(HUGE_PAGE - 1);
    if (p && first < end)
        madvise((void *)first, end - first, MADV_HUGEPAGE);
#endif
    return p;
}

static void *alloc_large(const sett__allocator *mem, size_t bytes)
{
    return mem ? sett__mem_alloc(mem, bytes) : sett__huge_pages(malloc(bytes), bytes);
}

void *sett__mem_zeroed(const sett__allocator *mem, size_t bytes)
{
    void *p = mem ? sett__mem_alloc(mem, bytes) : sett__huge_pages(calloc(1, bytes), bytes);
    return p && mem ? memset(p, 0, bytes) : p;
}

/* Chunks grow so that a build of any size makes few calls, and in large steps: what is not touched costs nothing.
 * The size is that of the next one, unless one that was kept is large enough. */
static struct sett__chunk *new_chunk(sett__arena *a, size_t bytes)
{
    size_t size = a->head ? 16 * a->head->size : FIRST_CHUNK;
    for (struct sett__chunk **c = &a->kept; *c; c = &(*c)->next)
        if ((*c)->size >= bytes) {
            struct sett__chunk *found = *c;
            *c = found->next;
            return found;
        }
    if (size > LARGEST_CHUNK)
        size = LARGEST_CHUNK;
    if (bytes > size / 4)
        size = bytes;
    struct sett__chunk *c = alloc_large(a->mem, size);
    if (c)
        c->size = size;
    a->used += c ? size : 0;
    return c;
}

/* A large request does not end the current chunk, whose rest stays in use. */
static void *from_chunk(sett__arena *a, size_t bytes)
{
    struct sett__chunk *c = new_chunk(a, sizeof *c + bytes);
    if (!c)
        return NULL;
    if (bytes > c->size / 4 && a->head) {
        c->next = a->head->next;
        a->head->next = c;
        return c + 1;
    }
    c->next = a->head;
    a->head = c;
    a->at = (char *)(c + 1) + bytes;
    a->end = (char *)c + c->size;
    return c + 1;
}

void *sett__arena_room(sett__arena *a, size_t bytes)
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
        p = from_chunk(a, bytes);
    }
    return p;
}

void *sett__arena_alloc(sett__arena *a, size_t bytes)
{
    void *p = sett__arena_room(a, bytes);
    return p ? memset(p, 0, bytes) : NULL;
}

char *sett__arena_str(sett__arena *a, const char *s)
{
    size_t n = strlen(s) + 1;
    char *p = sett__arena_alloc(a, n);
    return p ? memcpy(p, s, n) : NULL;
}

bool sett__arena_holds(const sett__arena *a, const void *p)
{
    for (const struct sett__chunk *c = a->head; c; c = c->next)
        if ((uintptr_t)p - (uintptr_t)c < c->size) {
            sett__arena *known = (sett__arena *)a;
            known->found = (uintptr_t)c, known->found_size = c->size;
            return true;
        }
    return false;
}

static void free_chunks(const sett__arena *a, struct sett__chunk *c)
{
    for (struct sett__chunk *next; c; c = next) {
        next = c->next;
        sett__mem_free(a->mem, c);
    }
}

void sett__arena_free(sett__arena *a)
{
    free_chunks(a, a->head);
    free_chunks(a, a->kept);
    *a = (sett__arena){.mem = a->mem};
}

/* The oldest first: what asks for the same as before gets the same chunks. */
void sett__arena_reset(sett__arena *a)
{
    for (struct sett__chunk *c = a->head, *next; c; c = next) {
        next = c->next;
        c->next = a->kept;
        a->kept = c;
    }
    *a = (sett__arena){.mem = a->mem, .kept = a->kept, .used = a->used};
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
    void *p = mem ? sett__mem_alloc(mem, want * item) : sett__huge_pages(realloc(*data, want * item), want * item);
    if (!p)
        return false;
    if (mem && *data)
        memcpy(p, *data, *cap * item);
    if (mem)
        sett__mem_free(mem, *data);
    *data = p;
    *cap = (uint32_t)want;
    return true;
}
