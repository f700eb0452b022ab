/* SPDX-License-Identifier: Apache-2.0 */
#include "cells.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { TILE_LG = 9, TILE = 1 << TILE_LG, PAGE_LG = 16, TILES = 1 << (PAGE_LG - TILE_LG), ROW_LG = 6, WORD_LG = 2, ROWS = TILE >> ROW_LG };
enum { NEAR = 8, LONGEST = 64 /* chain */ };
typedef struct tile {
    sett__stamp *stamp; /* of number 1 on; NULL: `first` */
    uint16_t *entry;    /* of each unit: who wrote it last; then of each: the chain of those who used it since. NULL: whole[] */
    uint16_t n, cap, whole[2];
    uint8_t unit;       /* log2 of the bytes of an entry */
    sett__stamp first;
} tile;
typedef struct page {
    uintptr_t number;
    struct page *next;
    tile tile[TILES];
} page;
typedef struct chunk {
    struct chunk *next;
    size_t used, size;
    _Alignas(16) unsigned char data[];
} chunk;
/* Tensors begin where a tile does, so that their rows do not straddle tiles: their bytes are looked up at addresses `shift` further. */
typedef struct region {
    uintptr_t lo, hi, shift;
} region;
struct sett__cells {
    page *near[NEAR], **bucket;
    region *region, *last;
    uint32_t n_region;
    size_t n_page, n_bucket;
    chunk *chunk;
};

static int by_address(const void *a, const void *b)
{
    const region *x = a, *y = b;
    return x->lo < y->lo ? -1 : x->lo > y->lo;
}

/* Tensors that overlap are one region. */
static void sort_regions(sett__cells *s)
{
    enum { ABOVE = 52 }; /* bits that no address has */
    uint32_t n = 0;
    qsort(s->region, s->n_region, sizeof *s->region, by_address);
    for (uint32_t i = 0; i < s->n_region; i++)
        if (n && s->region[i].lo < s->region[n - 1].hi)
            s->region[n - 1].hi = s->region[i].hi > s->region[n - 1].hi ? s->region[i].hi : s->region[n - 1].hi;
        else
            s->region[n++] = s->region[i];
    for (uint32_t i = 0; i < n; i++)
        s->region[i].shift = ((uintptr_t)(i + 1) << ABOVE) + (TILE - s->region[i].lo % TILE) % TILE;
    s->n_region = n;
    s->last = s->region;
}

sett__cells *sett__cells_make(const sett__extent *extent, uint32_t n)
{
    sett__cells *s = calloc(1, sizeof *s);
    if (!s || !(s->region = calloc((size_t)n + 1, sizeof *s->region))) {
        free(s);
        return NULL;
    }
    for (uint32_t i = 0; i < n; i++)
        if (extent[i].bytes)
            s->region[s->n_region++] = (region){.lo = (uintptr_t)extent[i].data, .hi = (uintptr_t)extent[i].data + extent[i].bytes};
    sort_regions(s);
    return s;
}

static uintptr_t shift_of(sett__cells *s, uintptr_t at)
{
    if (at - s->last->lo < s->last->hi - s->last->lo)
        return s->last->shift;
    for (uint32_t i = 0; i < s->n_region; i++)
        if (at - s->region[i].lo < s->region[i].hi - s->region[i].lo) {
            s->last = &s->region[i];
            return s->last->shift;
        }
    return 0;
}

/* Large chunks of launches that have ended, for the next ones: the system takes longer to give memory than the cells take to fill it. */
enum { FIRST = 64 << 10, GROWTH = 4, LARGE = 4 << 20, KEPT = 16 };
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
static chunk *spare;
static int n_kept;

static chunk *kept_chunk(void)
{
    pthread_mutex_lock(&kept_lock);
    chunk *c = spare;
    if (c)
        spare = c->next, n_kept--;
    pthread_mutex_unlock(&kept_lock);
    return c;
}

static void give_back(chunk *c)
{
    pthread_mutex_lock(&kept_lock);
    const bool keep = c->size == LARGE && n_kept < KEPT;
    if (keep)
        c->next = spare, spare = c, n_kept++;
    pthread_mutex_unlock(&kept_lock);
    if (!keep)
        munmap(c, c->size);
}

void sett__cells_free(sett__cells *s)
{
    for (chunk *c = s ? s->chunk : NULL, *next; c; c = next) {
        next = c->next;
        give_back(c);
    }
    if (s)
        free(s->bucket), free(s->region);
    free(s);
}

/* Until the cells are freed; not zeroed. Chunks grow. */
static void *take(sett__cells *s, size_t bytes)
{
    bytes = (bytes + 15) & ~(size_t)15;
    if (!s->chunk || s->chunk->used + bytes > s->chunk->size) {
        const size_t size = !s->chunk ? FIRST : s->chunk->size < LARGE ? s->chunk->size * GROWTH : LARGE;
        chunk *c = size == LARGE ? kept_chunk() : NULL;
        if (!c)
            c = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (c == MAP_FAILED)
            return NULL;
        c->next = s->chunk;
        c->used = sizeof *c;
        c->size = size;
        s->chunk = c;
    }
    void *p = (unsigned char *)s->chunk + s->chunk->used;
    s->chunk->used += bytes;
    return p;
}

static page **bucket(const sett__cells *s, uintptr_t number)
{
    return &s->bucket[number * UINT64_C(0x9e3779b97f4a7c15) >> 32 & (s->n_bucket - 1)];
}

static page *find_page(const sett__cells *s, uintptr_t number)
{
    page *p = s->n_bucket ? *bucket(s, number) : NULL;
    while (p && p->number != number)
        p = p->next;
    return p;
}

static bool more_buckets(sett__cells *s)
{
    const size_t had = s->n_bucket;
    page **old = s->bucket, **to = calloc(had ? 4 * had : 64, sizeof *to);
    if (!to)
        return had;
    s->bucket = to;
    s->n_bucket = had ? 4 * had : 64;
    for (size_t b = 0; b < had; b++)
        for (page *p = old[b], *next; p; p = next) {
            page **in = bucket(s, p->number);
            next = p->next;
            p->next = *in;
            *in = p;
        }
    free(old);
    return true;
}

static page *new_page(sett__cells *s, uintptr_t number)
{
    if (s->n_page >= s->n_bucket && !more_buckets(s))
        return NULL;
    page *p = take(s, sizeof *p);
    if (!p)
        return NULL;
    s->n_page++;
    p->number = number;
    for (int i = 0; i < TILES; i++)
        p->tile[i] = (tile){.unit = TILE_LG, .cap = 1};
    page **in = bucket(s, number);
    p->next = *in;
    return *in = p;
}

static page *page_at(sett__cells *s, uintptr_t number)
{
    page **near = &s->near[(number ^ number >> 10) % NEAR];
    if (*near && (*near)->number == number)
        return *near;
    page *p = find_page(s, number);
    if (!p)
        p = new_page(s, number);
    *near = p ? p : *near;
    return p;
}

/* ---- a tile ------------------------------------------------------------------------------------------------------ */
static uint16_t *entries(tile *t, int which)
{
    return t->entry ? t->entry + ((size_t)which << TILE_LG >> t->unit) : &t->whole[which];
}

static sett__stamp *stamps(tile *t)
{
    return t->stamp ? t->stamp : &t->first;
}

/* Entries of so many bytes from now on. */
static bool refine(sett__cells *s, tile *t, uint8_t unit)
{
    const uint32_t n = TILE >> unit, was = t->unit;
    uint16_t *to = take(s, 2 * n * sizeof *to);
    if (!to)
        return false;
    for (int k = 0; k < 2; k++)
        for (uint32_t i = 0; i < n; i++)
            to[(uint32_t)k * n + i] = entries(t, k)[i << unit >> was];
    t->entry = to;
    t->unit = unit;
    return true;
}

/* Stamps that no entry leads to go. Chains lead from newer to older ones, so a walk from the newest on finds all. */
static void sweep(tile *t)
{
    uint16_t *number = malloc(((size_t)t->n + 1) * sizeof *number), n = 0;
    if (!number)
        return;
    memset(number, 0, ((size_t)t->n + 1) * sizeof *number);
    for (int k = 0; k < 2; k++)
        for (uint32_t i = 0; i < (uint32_t)TILE >> t->unit; i++)
            number[entries(t, k)[i]] = 1;
    for (uint32_t i = t->n; i; i--)
        if (number[i])
            number[stamps(t)[i - 1].next] = 1;
    number[0] = 0;
    for (uint32_t i = 1; i <= t->n; i++) {
        if (!number[i])
            continue;
        stamps(t)[n] = stamps(t)[i - 1];
        stamps(t)[n].next = number[stamps(t)[n].next];
        number[i] = ++n;
    }
    for (int k = 0; k < 2; k++)
        for (uint32_t i = 0; i < (uint32_t)TILE >> t->unit; i++)
            entries(t, k)[i] = number[entries(t, k)[i]];
    t->n = n;
    free(number);
}

static bool make_room(sett__cells *s, tile *t)
{
    enum { FEW = 64, MOST = 1 << 12 };
    if (t->n < t->cap)
        return true;
    if (t->cap >= FEW)
        sweep(t);
    if (t->n <= t->cap / 2)
        return true;
    if (t->cap == MOST) { /* readers by the thousand: they are forgotten */
        memset(entries(t, 1), 0, (TILE >> t->unit) * sizeof(uint16_t));
        sweep(t);
        return t->n < t->cap;
    }
    const uint32_t cap = 2u * t->cap;
    sett__stamp *to = take(s, cap * sizeof *to);
    if (!to)
        return false;
    memcpy(to, stamps(t), t->n * sizeof *to);
    t->stamp = to;
    t->cap = (uint16_t)cap;
    return true;
}

/* Room was made. */
static uint16_t add(tile *t, const sett__stamp *now, uint16_t next)
{
    stamps(t)[t->n] = *now;
    stamps(t)[t->n].next = next;
    return ++t->n;
}

static inline const sett__stamp *stamp_of(const tile *t, uint16_t number)
{
    return (t->stamp ? t->stamp : &t->first) + (number - 1);
}

/* ---- meeting ----------------------------------------------------------------------------------------------------- */
static bool same_actor(const sett__stamp *a, const sett__stamp *b)
{
    return a->domain == b->domain && a->agent == b->agent && a->proxy == b->proxy && sett__same_lanes(a, b);
}

/* Nothing that it could add: who used the cells last used them so, and nothing came between. */
static bool is_known(const sett__stamp *old, const sett__stamp *now)
{
    return same_actor(old, now) && old->epoch == now->epoch && old->op == now->op && old->how == now->how && old->width == now->width && old->scope == now->scope;
}

static bool is_plain_write(const sett__stamp *s)
{
    return s->how & SETT__WRITE && !(s->how & SETT__STRONG);
}

static bool may_conflict(const sett__stamp *old, const sett__stamp *now)
{
    return (old->how | now->how) & SETT__WRITE;
}

/* A chain with `now` at its head. Who is ordered before it, and did no more, is left out. */
static uint16_t chain(tile *t, const sett__cells_use *use, const sett__stamp *now, uint16_t head)
{
    uint16_t kept[LONGEST], n = 0;
    uint32_t others = 0; /* clusters of which a plain read is kept */
    bool cut = false;
    for (uint16_t i = head; i && n < LONGEST; i = stamp_of(t, i)->next) {
        const sett__stamp *old = stamp_of(t, i);
        const bool covered = !(old->how & ~now->how) && old->proxy == now->proxy && old->width == now->width &&
            ((same_actor(old, now) && !(now->how & SETT__BY_ITSELF)) || (old->domain == now->domain && (old->agent != now->agent || now->how & SETT__BY_ITSELF) && use->before(use->with, old, now)));
        cut |= covered;
        if (covered)
            continue;
        others += use->alone && old->domain != now->domain && !(old->how & SETT__STRONG);
        kept[n++] = i;
    }
    if (n == LONGEST || (others > 1 && !(now->how & SETT__STRONG)))
        return head;
    if (!cut)
        return add(t, now, head);
    uint16_t next = 0;
    while (n && t->n + n + 1u <= t->cap) { /* else the covered ones stay, which harms nobody */
        const sett__stamp old = *stamp_of(t, kept[--n]);
        next = old.next == next ? kept[n] : add(t, &old, next);
    }
    return n ? add(t, now, head) : add(t, now, next);
}

static bool meet_all(const tile *t, const sett__cells_use *use, const sett__stamp *now, uint16_t write, uint16_t used, uintptr_t lo, uintptr_t hi)
{
    bool go_on = !write || use->meet(use->with, stamp_of(t, write), now, lo, hi);
    for (uint16_t i = used; i && go_on; i = stamp_of(t, i)->next)
        if (may_conflict(stamp_of(t, i), now))
            go_on = use->meet(use->with, stamp_of(t, i), now, lo, hi);
    return go_on;
}

static bool fill(sett__cells *s, tile *t, const sett__cells_use *use, const sett__stamp *now, uint32_t from, uint32_t to, bool *full)
{
    if (!make_room(s, t)) {
        *full = true;
        return false;
    }
    uint16_t *write = entries(t, 0), *used = entries(t, 1);
    const bool plain = is_plain_write(now);
    const uint16_t had = used[from], is = plain ? t->n && is_known(stamp_of(t, t->n), now) && !stamp_of(t, t->n)->next ? t->n : add(t, now, 0) : chain(t, use, now, had);
    for (uint32_t i = from; i < to; i++) {
        if (plain)
            write[i] = is;
        used[i] = plain ? 0 : is;
    }
    return true;
}

/* Bytes [from, to) of a tile that begins at `at`. */
static bool touch(sett__cells *s, tile *t, const sett__cells_use *use, const sett__stamp *now, uintptr_t at, uint32_t from, uint32_t to, bool *full)
{
    uint32_t unit = t->unit, end;
    if ((from | to) & ((1u << unit) - 1)) {
        unit = (from | to) & ((1u << WORD_LG) - 1) ? 0 : (from | to) & ((1u << ROW_LG) - 1) ? WORD_LG : ROW_LG;
        *full = !refine(s, t, (uint8_t)unit);
        if (*full)
            return false;
    }
    for (uint32_t i = from >> unit; i < to >> unit; i = end) {
        const uint16_t *write = entries(t, 0), *used = entries(t, 1);
        const uint16_t w = write[i], u = used[i];
        for (end = i + 1; end < to >> unit && write[end] == w && used[end] == u;)
            end++;
        if (u && is_known(stamp_of(t, u), now))
            continue;
        if (is_plain_write(now) && w && !u && is_known(stamp_of(t, w), now))
            continue;
        if (!meet_all(t, use, now, w, u, at + (i << unit), at + (end << unit)) || !fill(s, t, use, now, i, end, full))
            return false;
    }
    return true;
}

bool sett__cells_touch(sett__cells *s, const sett__cells_use *use, const sett__stamp *now, uintptr_t at, uint64_t bytes, bool *full)
{
    const uintptr_t shift = shift_of(s, at);
    for (at += shift; bytes;) {
        const uint32_t from = at & (TILE - 1), n = bytes < TILE - from ? (uint32_t)bytes : TILE - from;
        page *p = page_at(s, at >> PAGE_LG);
        *full = !p;
        if (!p || !touch(s, &p->tile[at >> TILE_LG & (TILES - 1)], use, now, at - from - shift, from, from + n, full))
            return false;
        at += n;
        bytes -= n;
    }
    return true;
}

/* ---- looking ------------------------------------------------------------------------------------------------------ */
static const tile *tile_at(const sett__cells *s, uintptr_t at)
{
    const page *p = find_page(s, at >> PAGE_LG);
    return p ? &p->tile[at >> TILE_LG & (TILES - 1)] : NULL;
}

static uint16_t entry_at(const tile *t, int which, uintptr_t at)
{
    const uint32_t i = (uint32_t)(at & (TILE - 1)) >> t->unit;
    return t->entry ? t->entry[((size_t)which << TILE_LG >> t->unit) + i] : t->whole[which];
}

static const sett__stamp *used_so(const tile *t, uintptr_t at, uint8_t how)
{
    for (int which = 0; which < 2; which++)
        for (uint16_t i = entry_at(t, which, at); i; i = stamp_of(t, i)->next)
            if (stamp_of(t, i)->how & how && !(how & SETT__BY_THREAD && stamp_of(t, i)->proxy != SETT__GENERIC_PROXY))
                return stamp_of(t, i);
    return NULL;
}

const sett__stamp *sett__cells_used(sett__cells *s, uintptr_t at, uint64_t bytes, uint8_t how, uintptr_t *where)
{
    const uintptr_t shift = shift_of(s, at), end = at + bytes;
    for (; at < end; at = (at | ((1u << WORD_LG) - 1)) + 1) {
        const tile *t = tile_at(s, at + shift);
        const sett__stamp *found = t ? used_so(t, at + shift, how) : NULL;
        *where = at;
        if (found)
            return found;
    }
    return NULL;
}
