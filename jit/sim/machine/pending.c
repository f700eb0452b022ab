/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of cp.async: a warp keeps them until a wait says that their group has reached shared memory. */
#include "machine.h"
#include <stdlib.h>
#include <string.h>

uint64_t sett__random(uint64_t *state) /* splitmix64 */
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Eager: written at once. Lazy: read and written when a wait says that their group must have been. Random: each at any of the
 * warp's instructions that have to do with copies, between those. */
typedef struct copy {
    unsigned char *to;
    const unsigned char *from; /* NULL: read already */
    uint32_t group; /* of its lane */
    uint32_t number; /* of the warp's copies */
    uint8_t lane, bytes;
    unsigned char data[16];
} copy;
struct sett__pending {
    uint32_t groups[WARP], n, cap; /* groups: that each lane has committed */
    uint32_t seen;                 /* copies so far */
    uint64_t random, order;        /* order: a digest of which was written when */
    copy copy[];
};

/* Of the block's warps, whoever runs them. */
static uint64_t seed_of(const sett__core *c, const sett__warp *w)
{
    return c->launch->async.seed ^ c->cta->number << 32 ^ (uint64_t)w->index << 24;
}

static bool make_room(const sett__core *c, sett__warp *w, uint32_t n)
{
    struct sett__pending *p = w->pending;
    uint32_t cap = p ? p->cap : 0;
    if (p && n <= cap)
        return true;
    cap = n < 2 * cap ? 2 * cap : n < 2 * WARP ? 2 * WARP : n;
    struct sett__pending *q = realloc(p, sizeof *q + cap * sizeof *q->copy);
    if (!q)
        return false;
    if (!p) {
        memset(q, 0, sizeof *q);
        q->random = seed_of(c, w);
    }
    q->cap = cap;
    w->pending = q;
    return true;
}

static void read_copy(copy *x)
{
    if (x->from)
        memcpy(x->data, x->from, x->bytes);
    x->from = NULL;
}

static void end_copy(copy *x)
{
    read_copy(x);
    memcpy(x->to, x->data, x->bytes);
}

/* Who asks for the order is told that the copy was written now, after so many groups of its lane. */
static void note_order(const sett__core *c, struct sett__pending *p, const copy *x)
{
    uint64_t mix = p->order ^ (uint64_t)x->number << 32 ^ p->groups[x->lane];
    if (!c->launch->order)
        return;
    p->order = sett__random(&mix);
    atomic_fetch_add_explicit(c->launch->order, p->order * (c->cta->number + 1), memory_order_relaxed);
}

bool sett__pend(sett__core *c, sett__warp *w, int lane, void *to, const void *from, uint32_t bytes)
{
    copy now = {.to = to, .from = from, .lane = (uint8_t)lane, .bytes = (uint8_t)bytes};
    if (c->launch->async.policy == SETT__ASYNC_EAGER) {
        end_copy(&now);
        return true;
    }
    if (!make_room(c, w, w->pending ? w->pending->n + 1 : 1))
        return false;
    struct sett__pending *p = w->pending;
    now.group = p->groups[lane];
    now.number = p->seen++;
    p->copy[p->n++] = now;
    return true;
}

static void end_some(const sett__core *c, struct sett__pending *p, const uint32_t lanes, bool (*due)(const struct sett__pending *, const copy *, int64_t), int64_t than)
{
    uint32_t left = 0;
    for (uint32_t k = 0; p && k < p->n; k++) {
        copy *x = &p->copy[k];
        if (lanes >> x->lane & 1 && due(p, x, than))
            end_copy(x), note_order(c, p, x);
        else
            p->copy[left++] = *x;
    }
    if (p)
        p->n = left;
}

static bool is_older(const struct sett__pending *p, const copy *x, int64_t than)
{
    return p->seen - x->number > p->seen - (uint32_t)than;
}

static bool is_due(const struct sett__pending *p, const copy *x, int64_t pending)
{
    return pending < 0 || x->group + pending < p->groups[x->lane];
}

void sett__cp_flush(const sett__core *c, sett__warp *w, uint32_t lanes, uint32_t seen)
{
    end_some(c, w->pending, lanes, is_older, seen);
}

uint32_t sett__cp_seen(const sett__warp *w)
{
    return w->pending ? w->pending->seen : 0;
}

/* Random: some are read, some written. */
static void stir(const sett__core *c, struct sett__pending *p)
{
    uint32_t left = 0;
    for (uint32_t k = 0; p && c->launch->async.policy == SETT__ASYNC_RANDOM && k < p->n; k++) {
        copy *x = &p->copy[k];
        uint64_t r = sett__random(&p->random) % 4;
        if (r == 0)
            end_copy(x), note_order(c, p, x);
        else if (r == 1)
            read_copy(x);
        if (r)
            p->copy[left++] = *x;
    }
    if (p && c->launch->async.policy == SETT__ASYNC_RANDOM)
        p->n = left;
}

/* The active lanes' copies since their last one become a group. */
bool sett__cp_commit(sett__core *c, sett__warp *w, const sett__insn *i)
{
    if (!make_room(c, w, 0))
        return sett__fault_as(c, SETT_E_MEMORY, w, 0, i->op, "out of memory for copies in the background");
    stir(c, w->pending);
    for (int l = 0; l < WARP; l++)
        w->pending->groups[l] += w->active >> l & 1;
    return sett__tell_sync(c, (sett__sync){.what = SETT__CP_COMMIT, .warp = w, .lanes = w->active, .op = i->op});
}

/* All groups of the active lanes but the newest `pending` reach memory. */
bool sett__cp_wait(sett__core *c, sett__warp *w, const sett__insn *i)
{
    stir(c, w->pending);
    end_some(c, w->pending, w->active, is_due, i->pending);
    return sett__tell_sync(c, (sett__sync){.what = SETT__CP_WAITED, .warp = w, .lanes = w->active, .op = i->op, .n = i->pending});
}

void sett__forget(const sett__core *c, sett__warp *w)
{
    struct sett__pending *p = w->pending;
    if (!p)
        return;
    memset(p->groups, 0, sizeof p->groups);
    p->n = p->seen = 0;
    p->order = 0;
    p->random = seed_of(c, w);
}
