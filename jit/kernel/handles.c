/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels' handles: chunks of them that never move and stay until the engine's last kernel is gone, in huge pages where they
 * are large. A hit in memory is one line of them, wherever it lies: it is asked for while the map is read that says which. */
#include "kernel.h"
#include <stdlib.h>
#include <string.h>

/* Under the lock. */
static bool add_chunk(sett__heads *h, unsigned c)
{
    size_t bytes = sett__heads_in(c) * sizeof(sett_kernel);
    if (c >= SETT__HEAD_CHUNKS || !(h->chunk[c] = sett__huge_pages(aligned_alloc(alignof(sett_kernel), bytes), bytes)))
        return false;
    memset(h->chunk[c], 0, bytes);
    atomic_store_explicit(&h->chunks, c + 1, memory_order_release);
    return true;
}

/* One of the first so many places from where the digest would have it: its neighbours, then theirs. */
static sett_kernel *free_in(sett__heads *h, unsigned c, const sett__digest *d, size_t near)
{
    size_t home = sett__head_home(c, d), i = 0;
    while (i < near && h->chunk[c][home ^ i].gate)
        i++;
    h->used[c] += i < near;
    return i < near ? &h->chunk[c][home ^ i] : NULL;
}

/* The newest chunk is three quarters full at most. What finds no place near in the newest ones lies elsewhere in it, or
 * anywhere where there is no memory for another. */
sett_kernel *sett__head_take(sett__heads *h, const sett__digest *d, const atomic_uint *gate)
{
    sett_kernel *k = NULL;
    pthread_mutex_lock(&h->lock);
    unsigned n = atomic_load_explicit(&h->chunks, memory_order_relaxed);
    if (!n || 4 * (size_t)h->used[n - 1] >= 3 * sett__heads_in(n - 1))
        n += add_chunk(h, n);
    for (unsigned c = n; !k && c-- && c + SETT__HEADS_AHEAD >= n;)
        k = free_in(h, c, d, SETT__HEADS_NEAR);
    for (unsigned c = n; !k && c--;)
        k = free_in(h, c, d, sett__heads_in(c));
    if (k) {
        memset(k, 0, sizeof *k);
        k->gate = gate;
    }
    pthread_mutex_unlock(&h->lock);
    return k;
}

/* Of a handle in it; n: in none of them. */
static unsigned chunk_with(const sett__heads *h, unsigned n, const sett_kernel *k, size_t *place)
{
    unsigned c = 0;
    while (c < n && (*place = ((uintptr_t)k - (uintptr_t)h->chunk[c]) / sizeof *k) >= sett__heads_in(c))
        c++;
    return c;
}

void sett__head_give(sett__heads *h, sett_kernel *k)
{
    size_t place;
    pthread_mutex_lock(&h->lock);
    h->used[chunk_with(h, atomic_load_explicit(&h->chunks, memory_order_relaxed), k, &place)]--;
    k->gate = NULL;
    pthread_mutex_unlock(&h->lock);
}

/* UINT32_MAX: no handle of this engine's. */
uint32_t sett__head_index(sett__heads *h, const sett_kernel *k)
{
    size_t place;
    unsigned n = atomic_load_explicit(&h->chunks, memory_order_acquire), c = chunk_with(h, n, k, &place);
    return c < n ? (uint32_t)(place + (c ? sett__heads_in(c) : 0)) : UINT32_MAX;
}

void sett__heads_free(sett__heads *h)
{
    for (size_t c = 0; c < SETT__HEAD_CHUNKS; c++)
        free(h->chunk[c]);
    pthread_mutex_destroy(&h->lock);
}
