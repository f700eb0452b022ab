/* SPDX-License-Identifier: Apache-2.0 */
#include "cells.h"
#include <stdlib.h>
#include <string.h>

enum { TILE_LG = 9, TILE = 1 << TILE_LG, PAGE_LG = 16, TILES = 1 << (PAGE_LG - TILE_LG), ROW_LG = 6, WORD_LG = 2, ROWS = TILE >> ROW_LG };
enum { CHUNK = 1 << 18, BUCKETS = 1 << 12, NEAR = 8, LONGEST = 64 /* chain */ };
typedef struct tile {
    sett__stamp *stamp; /* of number 1 on */
    uint16_t n, cap;
    uint8_t unit;       /* log2 of the bytes of an entry */
    uint16_t *entry[2]; /* of each unit: who wrote it last; the chain of those who used it since. NULL: rows[] */
    uint16_t rows[2][ROWS];
} tile;
typedef struct page {
    uintptr_t number;
    struct page *next;
    tile tile[TILES];
} page;
typedef struct chunk {
    struct chunk *next;
    size_t used;
    _Alignas(16) unsigned char data[CHUNK];
} chunk;
struct sett__cells {
    page *near[NEAR], *bucket[BUCKETS];
    chunk *chunk;
};

sett__cells *sett__cells_make(void)
{
    return calloc(1, sizeof(sett__cells));
}

void sett__cells_free(sett__cells *s)
{
    for (size_t b = 0; s && b < BUCKETS; b++)
        for (page *p = s->bucket[b], *next; p; p = next) {
            next = p->next;
            free(p);
        }
    for (chunk *c = s ? s->chunk : NULL, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    free(s);
}

/* Until the cells are freed. */
static void *take(sett__cells *s, size_t bytes)
{
    bytes = (bytes + 15) & ~(size_t)15;
    if (!s->chunk || s->chunk->used + bytes > CHUNK) {
        chunk *c = bytes <= CHUNK ? malloc(sizeof *c) : NULL;
        if (!c)
            return NULL;
        c->next = s->chunk;
        c->used = 0;
        s->chunk = c;
    }
    void *p = s->chunk->data + s->chunk->used;
    s->chunk->used += bytes;
    return p;
}

static page *find_page(const sett__cells *s, uintptr_t number)
{
    page *p = s->bucket[number * 0x9e3779b1u % BUCKETS];
    while (p && p->number != number)
        p = p->next;
    return p;
}

static page *page_at(sett__cells *s, uintptr_t number)
{
    page **near = &s->near[number % NEAR];
    if (*near && (*near)->number == number)
        return *near;
    page *p = find_page(s, number);
    if (!p && (p = calloc(1, sizeof *p))) {
        page **b = &s->bucket[number * 0x9e3779b1u % BUCKETS];
        p->number = number;
        p->next = *b;
        *b = p;
    }
    *near = p ? p : *near;
    return p;
}

/* ---- a tile ------------------------------------------------------------------------------------------------------ */
static uint16_t *entries(tile *t, int which)
{
    return t->entry[0] ? t->entry[which] : t->rows[which];
}

static uint8_t unit_of(const tile *t)
{
    return t->entry[0] ? t->unit : ROW_LG;
}

/* Entries of so many bytes from now on. */
static bool refine(sett__cells *s, tile *t, uint8_t unit)
{
    const uint32_t n = TILE >> unit, was = unit_of(t);
    uint16_t *to = take(s, 2 * n * sizeof *to);
    if (!to)
        return false;
    for (int k = 0; k < 2; k++)
        for (uint32_t i = 0; i < n; i++)
            to[(uint32_t)k * n + i] = entries(t, k)[i << unit >> was];
    t->entry[0] = to;
    t->entry[1] = to + n;
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
        for (uint32_t i = 0; i < (uint32_t)TILE >> unit_of(t); i++)
            number[entries(t, k)[i]] = 1;
    for (uint32_t i = t->n; i; i--)
        if (number[i])
            number[t->stamp[i - 1].next] = 1;
    number[0] = 0;
    for (uint32_t i = 1; i <= t->n; i++) {
        if (!number[i])
            continue;
        t->stamp[n] = t->stamp[i - 1];
        t->stamp[n].next = number[t->stamp[n].next];
        number[i] = ++n;
    }
    for (int k = 0; k < 2; k++)
        for (uint32_t i = 0; i < (uint32_t)TILE >> unit_of(t); i++)
            entries(t, k)[i] = number[entries(t, k)[i]];
    t->n = n;
    free(number);
}

static bool make_room(sett__cells *s, tile *t)
{
    enum { FIRST = 2, FEW = 64, MOST = 1 << 12 };
    if (t->n < t->cap)
        return true;
    if (t->cap >= FEW)
        sweep(t);
    if (t->n <= t->cap / 2 && t->cap)
        return true;
    if (t->cap == MOST) { /* readers by the thousand: they are forgotten */
        memset(entries(t, 1), 0, (TILE >> unit_of(t)) * sizeof(uint16_t));
        sweep(t);
        return t->n < t->cap;
    }
    const uint32_t cap = t->cap ? 2u * t->cap : FIRST;
    sett__stamp *to = take(s, cap * sizeof *to);
    if (!to)
        return false;
    if (t->n)
        memcpy(to, t->stamp, t->n * sizeof *to);
    t->stamp = to;
    t->cap = (uint16_t)cap;
    return true;
}

/* Room was made. */
static uint16_t add(tile *t, const sett__stamp *now, uint16_t next)
{
    t->stamp[t->n] = *now;
    t->stamp[t->n].next = next;
    return ++t->n;
}

static const sett__stamp *stamp_of(const tile *t, uint16_t number)
{
    return &t->stamp[number - 1];
}

/* ---- meeting ----------------------------------------------------------------------------------------------------- */
static bool same_lanes(const sett__stamp *a, const sett__stamp *b)
{
    return a->each == b->each && (a->each ? a->base - a->lane * (uint32_t)a->each == b->base - b->lane * (uint32_t)b->each : a->lane == b->lane);
}

static bool same_actor(const sett__stamp *a, const sett__stamp *b)
{
    return a->domain == b->domain && a->agent == b->agent && a->proxy == b->proxy && same_lanes(a, b);
}

/* Nothing that it could add: who used the cells last used them so, and nothing came between. */
static bool is_known(const sett__stamp *old, const sett__stamp *now)
{
    return same_actor(old, now) && old->epoch == now->epoch && old->sync == now->sync && old->how == now->how && old->width == now->width && old->scope == now->scope;
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
    uint32_t unit = unit_of(t), end;
    if ((from | to) & ((1u << unit) - 1)) {
        unit = (from | to) & ((1u << WORD_LG) - 1) ? 0 : WORD_LG;
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
    while (bytes) {
        const uint32_t from = at & (TILE - 1), n = bytes < TILE - from ? (uint32_t)bytes : TILE - from;
        page *p = page_at(s, at >> PAGE_LG);
        *full = !p;
        if (!p || !touch(s, &p->tile[at >> TILE_LG & (TILES - 1)], use, now, at - from, from, from + n, full))
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
    const uint32_t i = (uint32_t)(at & (TILE - 1)) >> unit_of(t);
    return t->entry[0] ? t->entry[which][i] : t->rows[which][i];
}

static const sett__stamp *used_so(const tile *t, uintptr_t at, uint8_t how)
{
    for (int which = 0; which < 2; which++)
        for (uint16_t i = entry_at(t, which, at); i; i = stamp_of(t, i)->next)
            if (stamp_of(t, i)->how & how)
                return stamp_of(t, i);
    return NULL;
}

const sett__stamp *sett__cells_written(const sett__cells *s, uintptr_t at)
{
    const tile *t = tile_at(s, at);
    return t ? used_so(t, at, SETT__WRITE) : NULL;
}

const sett__stamp *sett__cells_used(const sett__cells *s, uintptr_t at, uint64_t bytes, uint8_t how, uintptr_t *where)
{
    for (const uintptr_t end = at + bytes; at < end; at = (at | ((1u << WORD_LG) - 1)) + 1) {
        const tile *t = tile_at(s, at);
        const sett__stamp *found = t ? used_so(t, at, how) : NULL;
        *where = at;
        if (found)
            return found;
    }
    return NULL;
}
