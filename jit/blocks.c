/* SPDX-License-Identifier: Apache-2.0 */
/* What sett_alloc gave on the CPU and how large each block is, so that a launch whose buffer claims more, a copy past
 * the end and a second sett_free can be told. A balanced tree of libc's: two keys are equal where their bytes meet, so
 * that any address inside a block finds it. Other host memory is in no block and is taken at its word. */
#include "jit.h"
#include <search.h>
#include <stdlib.h>

typedef struct block {
    uintptr_t at;
    size_t bytes; /* at least 1, so that every block has an address */
} block;

static int meets(const void *a, const void *b)
{
    const block *x = a, *y = b;
    if (x->at + x->bytes <= y->at)
        return -1;
    return y->at + y->bytes <= x->at;
}

bool sett__block_add(sett__blocks *all, const void *p, size_t bytes)
{
    block *b = malloc(sizeof *b);
    if (!b)
        return false;
    *b = (block){(uintptr_t)p, bytes ? bytes : 1};
    pthread_mutex_lock(&all->lock);
    void *node = tsearch(b, &all->tree, meets);
    pthread_mutex_unlock(&all->lock);
    if (!node)
        free(b);
    return node != NULL;
}

bool sett__block_remove(sett__blocks *all, const void *p)
{
    const block key = {(uintptr_t)p, 1};
    pthread_mutex_lock(&all->lock);
    block *const *node = tfind(&key, &all->tree, meets);
    block *b = node && (*node)->at == key.at ? *node : NULL;
    if (b)
        tdelete(b, &all->tree, meets);
    pthread_mutex_unlock(&all->lock);
    free(b);
    return b != NULL;
}

static bool block_of(sett__blocks *all, const void *p, sett__extent *out)
{
    const block key = {(uintptr_t)p, 1};
    pthread_mutex_lock(&all->lock);
    block *const *node = tfind(&key, &all->tree, meets);
    if (node)
        *out = (sett__extent){(const void *)(*node)->at, (*node)->bytes};
    pthread_mutex_unlock(&all->lock);
    return node != NULL;
}

bool sett__blocks_hold(sett__blocks *all, const void *p, size_t bytes)
{
    sett__extent x;
    return !block_of(all, p, &x) || bytes <= x.bytes - (size_t)((const char *)p - (const char *)x.data);
}

sett_status sett__blocks_check(
    sett__blocks *all, const sett__sig *sig, const char *kernel, const sett_bind *arg, const sett__extent *extent, sett_error *err)
{
    for (uint32_t i = 0; i < sig->n_param; i++) {
        sett__extent x;
        if (!extent[i].bytes || !block_of(all, arg[i].u.t->data, &x))
            continue;
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

void sett__blocks_clear(sett__blocks *all)
{
    tdestroy(all->tree, free);
    all->tree = NULL;
}
