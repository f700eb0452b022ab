/* SPDX-License-Identifier: Apache-2.0 */
/* Strips: neighbouring blocks, or the warps of a block, run as one. Where a kernel only loads, computes element by element and
 * stores, and each access of a warp goes on in the next block (or warp) where it ends in this one, their accesses are one
 * long one, and each instruction is carried out once for all of them. Order and bounds are asked of the whole strip before
 * any of it runs; where the answer is no, its blocks run one by one. */
#include "holds.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_BLOCKS = 32, MOST_BYTES = 4096, MOST_FRAME = 256 << 10 }; /* of an access and of a frame: near caches hold them */

struct sett__strip {
    uint32_t blocks;      /* at most so many; 1: the warps of each */
    unsigned char *frame; /* as a warp's, everything as many times as large; only for what is computed from loads */
    unsigned char **place; /* by warp and access */
};

/* ---- which kernels: asked of the tape -------------------------------------------------------------- */
/* How a value changes from a block to the next one in x: not, by one and the same step in all of the launch, or else. */
enum { STAYS, STEPS, JUMPS };

static uint8_t sum_or_product(const sett__tape *t, const sett__slot *slot, const uint8_t *kind, const sett__op *o)
{
    uint32_t a = t->arg[o->args], b = t->arg[o->args + 1], factor = kind[a] == STAYS ? a : b;
    if (kind[a] == STAYS && kind[b] == STAYS)
        return STAYS;
    if (kind[a] == JUMPS || kind[b] == JUMPS || o->n != 1 || !sett__dtype_is_int(o->dtype))
        return JUMPS;
    return o->code != SETT__MUL || (kind[factor] == STAYS && slot[factor].section == SETT__ONCE) ? STEPS : JUMPS;
}

static uint8_t kind_of(const sett__tape *t, const sett__slot *slot, const uint8_t *kind, uint32_t v)
{
    const sett__op *o = &t->op[v];
    const uint32_t *arg = t->arg + o->args;
    if (slot[v].section == SETT__ONCE || slot[v].section == SETT__PER_THREAD)
        return STAYS;
    if (o->code == SETT__BID)
        return o->sub ? STAYS : STEPS;
    if (o->code == SETT__ADD || o->code == SETT__SUB || o->code == SETT__MUL)
        return sum_or_product(t, slot, kind, o);
    if (o->code == SETT__CONVERT && t->op[arg[0]].code == SETT__BID && sett__dtype_is_int(o->dtype) && slot[v].lg >= 2)
        return kind[arg[0]]; /* it has 31 bits, which fit */
    for (int k = 0; k < o->n_args; k++)
        if (arg[k] != SETT__NONE && kind[arg[k]] != STAYS)
            return JUMPS;
    return sett__ops[o->code].flags & SETT__P ? STAYS : JUMPS;
}

/* Made from what was loaded, an element for each of op's, or the same for all threads of the launch? */
static bool good_operand(const sett__slot *slot, const uint8_t *kind, const sett__op *op, uint32_t v)
{
    const sett__slot *s = &slot[v];
    return s->section == SETT__ONCE ? s->uniform && s->rows == 1 : s->section == SETT__BODY && kind[v] == JUMPS && (s->rows > 1 || op->n == 1);
}

static bool good_access(const sett__tape *t, const sett__slot *slot, const uint8_t *kind, const sett__op *o)
{
    const uint32_t *arg = t->arg + o->args;
    bool store = o->code == SETT__STORE;
    return t->op[arg[0]].code == SETT__PARAM && arg[1] != SETT__NONE && kind[arg[1]] != JUMPS && arg[2] == SETT__NONE &&
           (!store || (slot[arg[3]].section == SETT__BODY && good_operand(slot, kind, &t->op[arg[3]], arg[3])));
}

bool sett__find_strips(const sett__tape *t, const sett__slot *slot, uint8_t *kind)
{
    bool good = !t->sig.smem;
    for (uint32_t v = 0; v < t->n_op; v++)
        kind[v] = kind_of(t, slot, kind, v);
    for (uint32_t v = 0; v < t->n_op && good; v++) {
        const sett__op *o = &t->op[v];
        uint8_t cls = sett__ops[o->code].cls;
        if (cls == SETT__C_ROOT || slot[v].section != SETT__BODY)
            continue;
        if (cls == SETT__C_LOAD || cls == SETT__C_STORE)
            good = good_access(t, slot, kind, o);
        for (int k = 0; cls != SETT__C_LOAD && cls != SETT__C_STORE && k < o->n_args && good; k++)
            good = kind[v] != JUMPS || good_operand(slot, kind, o, t->arg[o->args + (uint32_t)k]);
    }
    return good;
}

/* Accesses that need not be copied into rows, and arithmetic. */
static bool good_insn(const sett__insn *i)
{
    if (i->step == SETT__S_POLL)
        return true;
    if (i->step == SETT__S_LOAD)
        return i->access.straight && i->access.pieces;
    if (i->step == SETT__S_STORE)
        return i->access.straight && !i->access.pieces && i->access.width == i->n;
    return i->step == SETT__S_ROW || i->step == SETT__S_PIECES;
}

uint32_t sett__strip_accesses(const sett__program *p)
{
    uint32_t n = 0;
    for (const sett__insn *i = p->code + p->section[SETT__BODY]; i->step != SETT__S_STOP; i++) {
        if (!good_insn(i))
            return 0;
        n += i->step == SETT__S_LOAD || i->step == SETT__S_STORE;
    }
    return n;
}

/* ---- where its accesses are ---------------------------------------------------------------------------- */
static const sett__insn *body(const sett__core *c)
{
    return c->program->code + c->program->section[SETT__BODY];
}

/* Of all warps, in the warps' own frames; false: not one after another, or not inside. An index is used where it stands in the code: what is computed
 * behind that may lie in its place. */
static bool find_places(sett__core *c, uint32_t blocks)
{
    unsigned char **place = c->strip->place;
    sett__exec_section(c, &c->cta->warp[0], SETT__PER_BLOCK);
    for (uint32_t k = 0; k < c->cta->n_warps; k++) {
        sett__warp *w = &c->cta->warp[k];
        w->active = w->live;
        for (const sett__insn *i = body(c); i->step != SETT__S_STOP; i++) {
            if (i->step == SETT__S_ROW && !i->math.data)
                i->run(c, w, i);
            if ((i->step == SETT__S_LOAD || i->step == SETT__S_STORE) && !(*place++ = sett__straight(c, w, i, blocks)))
                return false;
        }
    }
    return true;
}

static uint32_t most_blocks(const sett__program *p)
{
    uint32_t n = sett__least(MOST_BLOCKS, (uint32_t)(MOST_FRAME / (p->warp_bytes + 1)));
    for (const sett__insn *i = p->code + p->section[SETT__BODY]; i->step != SETT__S_STOP; i++)
        if (i->step == SETT__S_LOAD || i->step == SETT__S_STORE)
            n = sett__least(n, MOST_BYTES / i->access.bytes);
    return n;
}

/* Indices change by the same step from block to block: that of the first two is that of all. */
static bool goes_on(sett__core *c)
{
    const uint32_t n = c->program->n_access;
    unsigned char **place = c->strip->place;
    for (uint32_t x = 0; x < 2; x++) {
        c->cta->at[0] = x, c->cta->at[1] = c->cta->at[2] = 0;
        if (!find_places(c, 1))
            return false;
        memcpy(place + (c->cta->n_warps + x) * (size_t)n, place, n * sizeof *place);
    }
    const sett__insn *i = body(c);
    for (place += c->cta->n_warps * (size_t)n; i->step != SETT__S_STOP; i++)
        if (i->step == SETT__S_LOAD || i->step == SETT__S_STORE) {
            if (place[n] != place[0] + i->access.bytes)
                return false;
            place++;
        }
    return true;
}

/* Does each warp's access go on in the next warp? Of the places that were found last. */
static bool warps_follow(const sett__core *c)
{
    const uint32_t n = c->program->n_access;
    unsigned char *const *place = c->strip->place;
    for (const sett__insn *i = body(c); i->step != SETT__S_STOP; i++)
        if (i->step == SETT__S_LOAD || i->step == SETT__S_STORE) {
            for (uint32_t k = 1; k < c->cta->n_warps; k++)
                if (place[k * (size_t)n] != place[0] + (size_t)k * i->access.bytes)
                    return false;
            place++;
        }
    return true;
}

void sett__strip_make(sett__core *c)
{
    const sett__program *p = c->program;
    uint32_t blocks = p->n_access ? most_blocks(p) : 0, warps = c->cta->n_warps <= 2 * blocks ? c->cta->n_warps : 1;
    if (!blocks || sett__threads(c->launch) % WARP)
        return;
    size_t places = (c->cta->n_warps + 2) * (size_t)p->n_access * sizeof *c->strip->place;
    c->strip = malloc(sizeof *c->strip + places + 64 + p->warp_bytes * (blocks > warps ? blocks : warps));
    if (!c->strip)
        return;
    c->strip->place = (unsigned char **)(c->strip + 1);
    uintptr_t frame = (uintptr_t)c->strip->place + places + 63;
    c->strip->frame = (unsigned char *)(frame - frame % 64);
    c->strip->blocks = blocks > 1 && c->launch->grid[0] > 1 && goes_on(c) ? blocks : 1;
    memset(c->cta->at, 0, sizeof c->cta->at);
    if (c->strip->blocks == 1 && (warps < 2 || !find_places(c, 1) || !warps_follow(c))) {
        free(c->strip);
        c->strip = NULL;
    }
}

/* ---- running one ---------------------------------------------------------------------------------------------- */
static unsigned char *data(const sett__core *c, sett__ref r, uint32_t blocks)
{
    return r & SETT__REF_UNIFORM ? c->cta->warp->frame[1] + (r & ~(sett__ref)SETT__REF_FLAGS)
                                 : c->strip->frame + (size_t)(r & ~(sett__ref)SETT__REF_FLAGS) * blocks;
}

/* One row that is not the same in all threads is one for each block. */
static void compute(const sett__core *c, const sett__insn *i, uint32_t blocks)
{
    const sett__arithmetic *m = &i->math;
    uint32_t splat = m->splat;
    for (uint32_t k = 0; k < m->n_args; k++)
        splat &= m->arg[k] & SETT__REF_UNIFORM ? ~0u : ~(1u << k);
    unsigned char *d = data(c, i->d, blocks);
    for (uint32_t p = 0; p < m->pieces; p++, d += ((size_t)m->piece * WARP << i->lg) * blocks) {
        const unsigned char *x[3] = {NULL, NULL, NULL};
        for (uint32_t k = 0; k < m->n_args; k++)
            x[k] = m->lazy[k] != SETT__NONE ? c->lazy[m->lazy[k] + p]
                   : splat >> k & 1         ? data(c, m->arg[k], blocks)
                                            : data(c, m->arg[k], blocks) + ((size_t)p * m->piece * WARP << m->lg[k]) * blocks;
        m->fn(d, x[0], x[1], x[2], m->piece * blocks, splat);
    }
}

/* False: the launch is to end. */
static bool run_warp(sett__core *c, unsigned char *const *place, uint32_t blocks)
{
    for (const sett__insn *i = body(c); i->step != SETT__S_STOP; i++)
        if (i->step == SETT__S_LOAD) {
            for (uint32_t k = 0; k < i->access.pieces; k++)
                c->lazy[i->access.lazy + k] = *place + (size_t)k * i->access.piece * blocks;
            place++;
        } else if (i->step == SETT__S_STORE) {
            sett__store_whole(c, i, *place++, data(c, i->access.value, blocks), (size_t)i->access.bytes * blocks);
        } else if (i->step == SETT__S_POLL) {
            if (sett__ended(c))
                return false;
        } else if (i->math.data) {
            compute(c, i, blocks);
        }
    return true;
}

#ifdef SETT_HOLDS
/* Checks that the accesses of each block alone lie where the strip has them. Leaves strip->place as it was. */
static void holds_strip(sett__core *c, uint32_t blocks)
{
    const uint32_t first = c->cta->at[0], n = c->cta->n_warps * c->program->n_access;
    unsigned char **all = malloc((n + 1) * sizeof *all), **place = c->strip->place;
    for (uint32_t b = 0; b < blocks && all; b++) {
        if (!b)
            memcpy(all, place, n * sizeof *all);
        c->cta->at[0] = first + b;
        sett__holds(find_places(c, 1), "a block of a strip that is not straight", b);
        uint32_t k = 0;
        for (uint32_t w = 0; w < c->cta->n_warps; w++)
            for (const sett__insn *i = body(c); i->step != SETT__S_STOP; i++)
                if (i->step == SETT__S_LOAD || i->step == SETT__S_STORE) {
                    sett__holds(place[k] == all[k] + (size_t)b * i->access.bytes, "a block of a strip that is elsewhere", i->op);
                    k++;
                }
    }
    c->cta->at[0] = first;
    sett__holds(find_places(c, blocks), "a strip that is not straight", 0);
    free(all);
}
#endif

uint32_t sett__strip_run(sett__core *c, uint64_t most)
{
    uint32_t blocks = c->launch->grid[0] - c->cta->at[0];
    blocks = sett__least(blocks, c->strip->blocks);
    blocks = most < blocks ? (uint32_t)most : blocks;
    if ((blocks < 2 && c->strip->blocks > 1) || !find_places(c, blocks) || sett__ended(c))
        return 0;
    SETT__HOLDS(holds_strip(c, blocks));
    if (c->strip->blocks == 1 && warps_follow(c))
        return run_warp(c, c->strip->place, c->cta->n_warps);
    for (uint32_t k = 0; k < c->cta->n_warps; k++)
        if (!run_warp(c, c->strip->place + k * (size_t)c->program->n_access, blocks))
            return 0;
    return blocks;
}
