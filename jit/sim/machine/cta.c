/* SPDX-License-Identifier: Apache-2.0 */
/* A block of threads: its memory, and its turns on a worker. In a turn its warps run one after another, each until it waits, again
 * and again. A turn ends when all have ended, or when the block can do nothing but wait for other blocks. */
#include "machine.h"
#include <stdlib.h>
#include <string.h>

#define AHEAD_LEAST (512u << 10)
#define STREAM_LEAST (32u << 20) /* a tensor that no cache would keep until it is read */
#define POISON 0xff /* of memory that a kernel has not written: NaN, -1, true */

/* ---- memory --------------------------------------------------------------------------------------- */
/* Of a block in memory, all in one piece. */
typedef struct extents {
    size_t warps, align, head, shared, uniform, frame, all;
} extents;

/* Frames of neighbouring warps start in other cache sets. */
static extents extents_of(const sett__program *p, const sett__sim_launch *l)
{
    const sett__sig *sig = &p->tape->sig;
    extents x = {.warps = (sett__threads(l) + WARP - 1) / WARP};
    x.align = sig->smem_align > 256 ? sig->smem_align : 256;
    x.head = sizeof(sett__cta) + x.warps * sizeof(sett__warp) + ((size_t)p->n_root + 1) * sizeof(sett__window) + x.align;
    x.shared = sett__round_up((size_t)sig->smem + l->smem_more + 64, 64);
    x.uniform = sett__round_up(p->uniform_bytes + 64, 64);
    x.frame = sett__round_up(p->warp_bytes + 64, 128) + 64;
    x.all = x.frame > SIZE_MAX / 2 / x.warps ? SIZE_MAX : x.head + x.shared + x.uniform + x.frame * x.warps;
    return x;
}

size_t sett__block_bytes(const sett__program *p, const sett__sim_launch *l)
{
    return extents_of(p, l).all;
}

static sett__window window_of(const sett__cta *b, const sett__root *r, const sett__sim_launch *l)
{
    sett__window w = {b->shared + r->offset, 0, (int64_t)r->bytes, false, false};
    if (r->space == SETT__SHARED && !r->bytes) /* what the launch adds */
        w.hi = l->smem_more;
    if (r->space == SETT__GLOBAL && r->bytes) { /* passed by value */
        w.p = (unsigned char *)(uintptr_t)l->params + r->offset;
    } else if (r->space == SETT__GLOBAL) {
        const sett__extent *e = &l->extent[r->param];
        memcpy(&w.p, (const char *)l->params + r->offset, sizeof w.p);
        w.lo = (int64_t)((uintptr_t)e->data - (uintptr_t)w.p);
        w.hi = w.lo + (int64_t)e->bytes;
        w.ahead = e->bytes >= AHEAD_LEAST;
        w.stream = e->bytes >= STREAM_LEAST && !b->program->atomics;
    }
    return w;
}

static void make_warp(sett__core *c, sett__warp *w, uint32_t index)
{
    const sett__program *p = c->program;
    uint32_t left = sett__threads(c->launch) - index * WARP;
    w->index = index;
    w->live = left >= WARP ? UINT32_MAX : (1u << left) - 1;
    if (left < WARP) /* lanes past the block compute too: on zeros, not on whatever lay there */
        memset(w->frame[0], 0, p->warp_bytes);
    sett__exec_section(c, w, SETT__PER_THREAD);
    for (uint32_t k = 0; k < p->n_order; k++) {
        const sett__order *o = &p->order[k];
        w->in_order |= (uint64_t)p->wide->affine[o->base64](sett__at(w, o->at), o->n) << k;
    }
}

sett__cta *sett__block_make(sett__core *c, const sett__program *p)
{
    extents x = extents_of(p, c->launch);
    sett__cta *b = x.all == SIZE_MAX ? NULL : malloc(x.all);
    if (!b)
        return NULL;
    memset(b, 0, x.head - x.align);
    b->program = p;
    b->n_warps = (uint32_t)x.warps;
    b->window = (sett__window *)(b->warp + x.warps);
    b->shared = (unsigned char *)sett__round_up((uintptr_t)(b->window + p->n_root + 1), x.align);
    for (uint32_t i = 0; i < p->n_root; i++)
        b->window[i] = window_of(b, &p->root[i], c->launch);
    unsigned char *uniform = b->shared + x.shared;
    for (uint32_t i = 0; i < b->n_warps; i++)
        b->warp[i].frame[0] = uniform + x.uniform + x.frame * i, b->warp[i].frame[1] = uniform;
    sett__cta_turn_to(c, b);
    sett__exec_section(c, b->warp, SETT__ONCE);
    for (uint32_t i = 0; i < b->n_warps; i++)
        make_warp(c, &b->warp[i], i);
    return b;
}

void sett__block_free(sett__cta *b)
{
    for (uint32_t i = 0; b && i < b->n_warps; i++)
        free(b->warp[i].pending);
    if (b)
        sett__shadow_free(b->shadow);
    free(b);
}

/* ---- its beginning ---------------------------------------------------------------------------------- */
void sett__block_place(sett__core *c, uint64_t number)
{
    const uint32_t *g = c->launch->grid;
    c->cta->number = number;
    c->cta->at[0] = (uint32_t)(number % g[0]);
    c->cta->at[1] = (uint32_t)(number / g[0] % g[1]);
    c->cta->at[2] = (uint32_t)(number / g[0] / g[1]);
}

void sett__block_begin(sett__core *c)
{
    sett__cta *b = c->cta;
    const sett__program *p = b->program;
    memset(b->shared, POISON, (size_t)p->tape->sig.smem + c->launch->smem_more);
    memset(b->barrier, 0, sizeof b->barrier);
    b->together = true;
    b->awaited = 0;
    sett__exec_section(c, b->warp, SETT__PER_BLOCK);
    for (uint32_t i = 0; i < b->n_warps && !sett__ended(c); i++) {
        sett__warp *w = &b->warp[i];
        w->active = w->live;
        w->pc = p->section[SETT__BODY];
        w->depth = 0;
        w->rounds = 0;
        w->state = SETT__RUNNING;
        sett__forget(c, w);
        if (p->local_bytes)
            memset(w->frame[0] + p->local_at, POISON, p->local_bytes);
    }
    if (p->follow)
        p->follow->begin(c);
}

/* ---- its turns ---------------------------------------------------------------------------------------- */
static bool may_go_on(const sett__warp *w)
{
    return w->state == SETT__RUNNING || w->state == SETT__PAUSED;
}

/* Every warp that may go on, once; all of them where they are together, as most are from one barrier to the next. */
static bool run_warps(sett__core *c, bool *ended)
{
    sett__cta *b = c->cta;
    const sett__warp *first = b->warp;
    bool all = b->together;
    b->together = *ended = true;
    for (uint32_t i = 0; i < b->n_warps; i++) {
        sett__warp *w = &b->warp[i];
        if ((all || may_go_on(w)) && sett__exec(c, w) == SETT__FAULTED)
            return false;
        *ended &= w->state == SETT__DONE;
        b->together &= w->state == SETT__WAITING && !w->wait.id && w->pc == first->pc;
    }
    return true;
}

/* Where no warp goes on by itself: all ended, or all are at the block's barrier, else they never go on. */
static bool release(sett__core *c, bool *ended)
{
    sett__cta *b = c->cta;
    uint32_t waiting = 0, first = 0;
    for (uint32_t i = b->n_warps; i-- > 0;)
        if (may_go_on(&b->warp[i])) /* a named barrier let it go */
            return true;
        else if (b->warp[i].state == SETT__WAITING)
            first = i, waiting++;
    *ended = !waiting;
    if (waiting)
        sett__deadlock(c, first);
    return !waiting;
}

/* Do all warps that have not ended wait, some of them for what other blocks write, or have they had more than their share? */
static sett__turn_end others_turn(const sett__cta *b)
{
    bool pauses = false, memory = true;
    if (!b->program->awaits)
        return SETT__ENDED;
    for (uint32_t i = 0; i < b->n_warps; i++) {
        const sett__warp *w = &b->warp[i];
        if (w->state == SETT__RUNNING)
            return SETT__ENDED;
        pauses |= w->state == SETT__PAUSED;
        memory &= w->state != SETT__PAUSED || w->wait.what == SETT__FOR_MEMORY;
    }
    return !pauses ? SETT__ENDED : memory ? SETT__AWAITS : SETT__LONG;
}

sett__turn_end sett__block_go_on(sett__core *c)
{
    bool ended = false;
    sett__turn_end next = SETT__ENDED;
    while (!next && !ended) {
        if (!run_warps(c, &ended) || (!c->cta->together && !release(c, &ended)))
            return SETT__FAULT;
        next = c->cta->together ? SETT__ENDED : others_turn(c->cta);
    }
    return next;
}
