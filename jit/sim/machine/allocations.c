/* SPDX-License-Identifier: Apache-2.0 */
/* What sett_alloc gave on the CPU and how large each block is, so that a launch whose buffer claims more, a copy past
 * the end and a second sett_free can be told. A balanced tree of libc's: two keys are equal where their bytes meet, so
 * that any address inside a block finds it. Other host memory is in no block and is taken at its word.
 *
 * What was freed stays in the tree, and its addresses out of use, until enough was freed after it: a kernel that is given it can
 * be told. Of large blocks only the addresses are kept, their pages go back to the system. */
#include "jit/sim/sim.h"
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { FREED_BLOCKS = 256, PAGE = 4096, LARGE = 16 * PAGE }; /* at most as many; and as many bytes: */
#define FREED_BYTES ((size_t)256 << 20)

typedef struct sett__allocation {
    uintptr_t at;
    size_t bytes; /* at least 1, so that every block has an address */
    bool freed;
    struct sett__allocation *next; /* of those, the one that was freed after it */
} block;

static int meets(const void *a, const void *b)
{
    const block *x = a, *y = b;
    if (x->at + x->bytes <= y->at)
        return -1;
    return y->at + y->bytes <= x->at;
}

bool sett__allocation_add(sett__allocations *all, const void *p, size_t bytes)
{
    block *b = malloc(sizeof *b);
    if (!b)
        return false;
    *b = (block){.at = (uintptr_t)p, .bytes = bytes ? bytes : 1};
    pthread_mutex_lock(&all->lock);
    void *node = tsearch(b, &all->tree, meets);
    pthread_mutex_unlock(&all->lock);
    if (!node)
        free(b);
    return node != NULL;
}

/* ---- freed ones ---------------------------------------------------------------------------------- */
static void forget(void *p)
{
    block *b = p;
    if (b->freed)
        free((void *)b->at);
    free(b);
}

/* The oldest ones until no more than so many are left: out of the tree, for free_list. */
static block *take_oldest(sett__allocations *all, size_t blocks, size_t bytes)
{
    block *first = all->oldest, **end = &first;
    for (; *end && (all->freed_blocks > blocks || all->freed_bytes > bytes); end = &(*end)->next) {
        tdelete(*end, &all->tree, meets);
        all->freed_blocks--;
        all->freed_bytes -= (*end)->bytes;
    }
    all->oldest = *end;
    *end = NULL;
    if (!all->oldest)
        all->newest = NULL;
    return first;
}

static void free_list(block *b)
{
    for (block *next; b; b = next) {
        next = b->next;
        forget(b);
    }
}

/* The pages that are a large block's alone. False: they stay. */
static bool give_pages(const block *b)
{
    uintptr_t from = (b->at + PAGE - 1) / PAGE * PAGE, to = (b->at + b->bytes) / PAGE * PAGE;
    return b->bytes < LARGE || !madvise((void *)from, to - from, MADV_DONTNEED);
}

bool sett__allocation_free(sett__allocations *all, const void *p)
{
    const block key = {.at = (uintptr_t)p, .bytes = 1};
    pthread_mutex_lock(&all->lock);
    block *const *node = tfind(&key, &all->tree, meets);
    block *b = node && (*node)->at == key.at && !(*node)->freed ? *node : NULL, *old = NULL;
    if (b) {
        size_t most = give_pages(b) ? FREED_BYTES : 0;
        block **link = all->newest ? &all->newest->next : &all->oldest;
        *link = all->newest = b;
        b->freed = true;
        all->freed_blocks++;
        all->freed_bytes += b->bytes;
        old = take_oldest(all, FREED_BLOCKS, most);
    }
    pthread_mutex_unlock(&all->lock);
    free_list(old);
    return b != NULL;
}

bool sett__allocations_drain(sett__allocations *all)
{
    pthread_mutex_lock(&all->lock);
    block *old = take_oldest(all, 0, 0);
    pthread_mutex_unlock(&all->lock);
    free_list(old);
    return old != NULL;
}

/* ---- looking ---------------------------------------------------------------------------------------- */
bool sett__allocations_around(sett__allocations *all, const void *p, sett__extent *out, bool *freed)
{
    const block key = {.at = (uintptr_t)p, .bytes = 1};
    pthread_mutex_lock(&all->lock);
    block *const *node = tfind(&key, &all->tree, meets);
    if (node) {
        *out = (sett__extent){(const void *)(*node)->at, (*node)->bytes};
        *freed = (*node)->freed;
    }
    pthread_mutex_unlock(&all->lock);
    return node != NULL;
}

/* ---- what nobody has written ------------------------------------------------------------------------------ */
enum { FEW = 64 << 10  };
/* A NaN as f32, f64, f16 and bf16, of the word's place: 12 bits are the same everywhere, and tell quickly. */
static uint32_t mark_at(size_t byte)
{
    const uint32_t x = (uint32_t)(byte / 4) * 0x9e3779b1u;
    return (uint32_t)SETT__MARK << SETT__MARK_LG | (x ^ x >> 15) >> (32 - SETT__MARK_LG);
}

void sett__allocation_mark(const sett__allocations *all, void *p, size_t bytes)
{
    for (size_t at = 0; all->marks && at + 4 <= bytes; at += 4) {
        const uint32_t x = mark_at(at);
        memcpy((unsigned char *)p + at, &x, sizeof x);
    }
}

static uint32_t word_at(const unsigned char *p)
{
    uint32_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

/* A value that somebody has written may be that of one word by chance, once in 2^32, and is not that of two beside each other. */
static bool is_marked(const sett__extent *in, size_t at)
{
    const unsigned char *base = in->data;
    const bool before = at >= 4 && word_at(base + at - 4) == mark_at(at - 4), behind = at + 8 <= in->bytes && word_at(base + at + 4) == mark_at(at + 4);
    return at + 4 <= in->bytes && word_at(base + at) == mark_at(at) && (before || behind || in->bytes <= FEW);
}

int64_t sett__unwritten(sett__allocations *all, const void *p, size_t bytes)
{
    const uintptr_t first = (uintptr_t)p & ~(uintptr_t)3, end = (uintptr_t)p + bytes;
    sett__extent in;
    bool freed, any = false, known = false;
    for (uintptr_t at = first; at + 4 <= end; at += 4)
        any |= word_at((const void *)at) >> SETT__MARK_LG == SETT__MARK;
    if (end & 3)
        any |= word_at((const void *)(end & ~(uintptr_t)3)) >> SETT__MARK_LG == SETT__MARK;
    for (uintptr_t at = first; any && at < end; at += 4) {
        if (word_at((const void *)at) >> SETT__MARK_LG != SETT__MARK)
            continue;
        if (!known && !sett__allocations_around(all, (const void *)at, &in, &freed))
            return -1;
        known = true;
        if (at >= (uintptr_t)in.data && is_marked(&in, at - (uintptr_t)in.data))
            return at < (uintptr_t)p ? 0 : (int64_t)(at - (uintptr_t)p);
    }
    return -1;
}

bool sett__allocations_hold(sett__allocations *all, const void *p, size_t bytes)
{
    sett__extent x;
    bool freed;
    return !sett__allocations_around(all, p, &x, &freed) || (!freed && bytes <= x.bytes - (size_t)((const char *)p - (const char *)x.data));
}

static sett_status was_freed(const char *kernel, const char *name, const void *p, const sett__extent *in, sett_error *err)
{
    return sett__error(err, SETT_E_RANGE, "%s: %s was freed: it starts at byte %zu of %zu that sett_free took back", kernel, name,
        (size_t)((const char *)p - (const char *)in->data), in->bytes);
}

sett_status sett__allocations_alive(sett__allocations *all, const sett__sig *sig, const char *kernel, const sett__extent *extent, sett_error *err)
{
    sett__extent x;
    bool freed;
    for (uint32_t i = 0; i < sig->n_param; i++)
        if (extent[i].bytes && sett__allocations_around(all, extent[i].data, &x, &freed) && freed)
            return was_freed(kernel, sig->param[i].name, extent[i].data, &x, err);
    return SETT_OK;
}

sett_status sett__allocations_check(
    sett__allocations *all, const sett__sig *sig, const char *kernel, const sett_launch_arg *arg, const sett__extent *extent, sett_error *err)
{
    for (uint32_t i = 0; i < sig->n_param; i++) {
        sett__extent x;
        bool freed;
        if (!extent[i].bytes || !sett__allocations_around(all, arg[i].u.t->data, &x, &freed))
            continue;
        if (freed)
            return was_freed(kernel, sig->param[i].name, arg[i].u.t->data, &x, err);
        const char *p = arg[i].u.t->data, *low = extent[i].data, *start = x.data, *end = start + x.bytes;
        if ((uintptr_t)low < (uintptr_t)start)
            return sett__error(err, SETT_E_RANGE, "%s: %s reaches %zu bytes below its address, its allocation %zu",
                kernel, sig->param[i].name, (size_t)(p - low), (size_t)(p - start));
        if (extent[i].bytes > (size_t)(end - low))
            return sett__error(err, SETT_E_RANGE, "%s: %s spans %zu bytes from its address, its allocation has %zu",
                kernel, sig->param[i].name, extent[i].bytes - (size_t)(p - low), (size_t)(end - p));
    }
    return SETT_OK;
}

void sett__allocations_clear(sett__allocations *all)
{
    tdestroy(all->tree, forget);
    all->tree = NULL;
}
