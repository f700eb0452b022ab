/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that dies at once: a list of chunks, each given out from its start. */
#define _DEFAULT_SOURCE /* madvise */
#include "base.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGN = 16, FIRST_CHUNK = 4096, FIRST_IN_SPACE = 16384, HUGE_PAGE = 1 << 21, LARGEST_CHUNK = 4 * HUGE_PAGE };

struct sett__chunk {
    struct sett__chunk *next;
    size_t size;
    char *data; /* behind this head, or in the arena's space */
};

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

/* An arena with a space has its heads outside of it, so that they are not what its addresses are spent on. */
static struct sett__chunk *place(sett__arena *a, size_t size)
{
    enum { HEAD = (sizeof(struct sett__chunk) + ALIGN - 1) / ALIGN * ALIGN };
    struct sett__chunk *c = a->space ? sett__mem_alloc(a->mem, sizeof *c) : alloc_large(a->mem, HEAD + size);
    if (!c)
        return NULL;
    c->data = a->space ? sett__space_take(a->space, size, a->owner) : (char *)c + HEAD;
    if (!c->data) {
        sett__mem_free(a->mem, c);
        return NULL;
    }
    if (a->space && !a->owner)
        a->owner = (sett_build *)c->data;
    c->size = size;
    a->used += size;
    return c;
}

/* Chunks grow so that a build of any size makes few calls, and in large steps: what is not touched costs nothing. */
static struct sett__chunk *new_chunk(sett__arena *a, size_t bytes)
{
    size_t size = a->head ? 16 * a->head->size : a->space ? FIRST_IN_SPACE : FIRST_CHUNK;
    if (size > LARGEST_CHUNK)
        size = LARGEST_CHUNK;
    return place(a, bytes > size / 4 && a->head ? bytes : bytes > size ? bytes : size);
}

/* A large request does not end the current chunk, whose rest stays in use. */
static void *from_chunk(sett__arena *a, size_t bytes)
{
    struct sett__chunk *c = new_chunk(a, bytes);
    if (!c)
        return NULL;
    if (bytes == c->size && a->head) {
        c->next = a->head->next;
        a->head->next = c;
        return c->data;
    }
    c->next = a->head;
    a->head = c;
    a->at = c->data + bytes;
    a->end = c->data + c->size;
    return c->data;
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

char *sett__arena_chars(sett__arena *a, size_t bytes)
{
    enum { POCKET = 8 * ALIGN };
    if (bytes >= POCKET)
        return sett__arena_alloc(a, bytes);
    if (bytes > (size_t)(a->text_end - a->text)) {
        char *pocket = sett__arena_alloc(a, POCKET);
        if (!pocket)
            return NULL;
        a->text = pocket, a->text_end = pocket + POCKET;
    }
    a->text += bytes;
    return a->text - bytes;
}

char *sett__arena_str(sett__arena *a, const char *s)
{
    size_t n = strlen(s) + 1;
    char *p = sett__arena_chars(a, n);
    return p ? memcpy(p, s, n) : NULL;
}

void sett__arena_free(sett__arena *a)
{
    char *at = a->at;
    for (struct sett__chunk *c = a->head, *next; c; c = next) {
        next = c->next;
        if (a->space)
            sett__space_give(a->space, c->data, c->size, c == a->head ? (size_t)(at - c->data) : c->size);
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
