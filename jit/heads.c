/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels' handles: chunks of them that never move and stay until the engine's last kernel is gone, in huge pages where they
 * are large. A hit in memory is one line of them, wherever it lies. */
#include "jit.h"
#include <stdlib.h>
#include <string.h>

static size_t chunk_heads(size_t i)
{
    return i ? (size_t)SETT__HEADS_FIRST << (i - 1) : SETT__HEADS_FIRST;
}

static size_t chunk_of(uint32_t i)
{
    return 26u - (unsigned)__builtin_clz(i | (SETT__HEADS_FIRST - 1));
}

/* Under the lock. */
static sett_kernel *fresh_head(sett__heads *h)
{
    size_t c = chunk_of(h->used), bytes = chunk_heads(c < SETT__HEAD_CHUNKS ? c : 0) * sizeof(sett_kernel);
    if (c >= SETT__HEAD_CHUNKS)
        return NULL;
    if (!h->chunk[c])
        h->chunk[c] = sett__huge_pages(aligned_alloc(alignof(sett_kernel), bytes), bytes);
    return h->chunk[c] ? sett__head_at(h, h->used++) : NULL;
}

sett_kernel *sett__head_take(sett__heads *h)
{
    pthread_mutex_lock(&h->lock);
    sett_kernel *k = h->spare;
    if (k)
        memcpy(&h->spare, &k->rest, sizeof h->spare);
    else
        k = fresh_head(h);
    pthread_mutex_unlock(&h->lock);
    return k ? memset(k, 0, sizeof *k) : NULL;
}

void sett__head_give(sett__heads *h, sett_kernel *k)
{
    pthread_mutex_lock(&h->lock);
    memcpy(&k->rest, &h->spare, sizeof h->spare);
    h->spare = k;
    pthread_mutex_unlock(&h->lock);
}

uint32_t sett__head_index(sett__heads *h, const sett_kernel *k)
{
    uint32_t index = UINT32_MAX; /* no handle of this engine's */
    pthread_mutex_lock(&h->lock);
    for (size_t c = SETT__HEAD_CHUNKS; c-- && index == UINT32_MAX;) {
        uintptr_t at = (uintptr_t)k - (uintptr_t)h->chunk[c];
        if (h->chunk[c] && at < chunk_heads(c) * sizeof *k)
            index = (uint32_t)(at / sizeof *k + (c ? chunk_heads(c) : 0));
    }
    pthread_mutex_unlock(&h->lock);
    return index;
}

void sett__heads_free(sett__heads *h)
{
    for (size_t c = 0; c < SETT__HEAD_CHUNKS; c++)
        free(h->chunk[c]);
    pthread_mutex_destroy(&h->lock);
}
