/* SPDX-License-Identifier: Apache-2.0 */
/* How many registers a thread of a tape needs at least: the values that are live at the widest point. tests/unit/test_report.c holds it
 * against what the assembler says. */
#include "ops.h"
#include <stdlib.h>

/* Each quarter of a multiprocessor has as many, and the warps of all blocks that it must hold are dealt to the quarters in turn. */
uint32_t sett__sig_registers(const sett__sig *s, uint32_t threads)
{
    enum { QUARTER = 16384, QUARTERS = 4, WARP = 32, WARPS = 64, UNIT = 8, MOST = 255 };
    uint32_t warps = (threads + WARP - 1) / WARP, all = warps * s->min_blocks;
    warps = all && all <= WARPS ? all : warps; /* assemblers pass over more blocks than can be resident */
    uint32_t room = QUARTER / WARP / ((warps + QUARTERS - 1) / QUARTERS) / UNIT * UNIT;
    room = room < MOST ? room : MOST;
    return s->max_registers && s->max_registers < room ? s->max_registers : room;
}

/* The ops between which a value, or a root of registers, is live; first > last: nowhere. walls: how many ops up to the value's
 * own take all elements of their operands at once, and not one after another. */
typedef struct span {
    uint32_t first, last, walls;
    int64_t change; /* of the registers in use, where this op stands */
} span;

typedef struct live {
    const sett__tape *t;
    span *of;
    uint32_t loop[SETT__MAX_DEPTH + 1]; /* the loops that are open, from without */
    int n_loop;
} live;

/* Does it read or write registers? */
static bool of_registers(const sett__tape *t, const sett__op *op)
{
    sett__class cls = (sett__class)sett__ops[op->code].cls;
    return (cls == SETT__C_LOAD || cls == SETT__C_STORE) && t->op[t->arg[op->args]].code == SETT__RMEM;
}

/* Its result lies where its operands, or the root that it reads, lie. */
static bool shares(const sett__tape *t, const sett__op *op)
{
    return op->code == SETT__PICK || op->code == SETT__PACK || (op->code == SETT__LOAD && of_registers(t, op));
}

/* Registers of 32 bits. Those that are known, that others are made of, or that lie in memory take none. */
static uint32_t words(const sett__tape *t, const sett__op *op)
{
    sett__class cls = (sett__class)sett__ops[op->code].cls;
    bool none = cls == SETT__C_CONST || cls == SETT__C_SREG || cls == SETT__C_SYM || cls == SETT__C_SCALAR || shares(t, op) ||
                (cls == SETT__C_ROOT && op->code != SETT__RMEM) || op->dtype == SETT_BOOL;
    return none || !op->dtype ? 0 : (uint32_t)(((uint64_t)op->n * (uint64_t)sett_dtype_bits((sett_dtype)op->dtype) + 31) / 32);
}

/* A store to global memory comes after the loads before it: they may be of its elements. Others need not wait. */
static bool by_element(const sett__tape *t, const sett__op *op)
{
    sett__class cls = (sett__class)sett__ops[op->code].cls;
    bool near = cls == SETT__C_STORE && t->op[t->arg[op->args]].code != SETT__PARAM;
    return (cls <= SETT__C_LOAD && cls != SETT__C_ROOT && cls != SETT__C_REDUCE) || near;
}

static void widen(span *s, uint32_t first, uint32_t last)
{
    s->first = first < s->first ? first : s->first;
    s->last = last > s->last ? last : s->last;
}

/* Op i reads or writes x. What is older than a loop is live until the loop's end, for its next round. */
static void use(live *l, uint32_t i, uint32_t x, bool whole)
{
    const sett__tape *t = l->t;
    widen(&l->of[x], i, i);
    if (!whole)
        return;
    for (int k = 0; k < l->n_loop; k++) {
        uint32_t first = l->loop[k], last = t->op[first].other;
        if (t->op[x].code == SETT__RMEM ? l->of[x].first < first || l->of[x].last > last : x < first) {
            widen(&l->of[x], first, last);
            return;
        }
    }
}

/* Twice: which loops a root outlives is known when all of its accesses are. */
static void sweep(live *l, bool whole)
{
    const sett__tape *t = l->t;
    for (uint32_t i = 0; i < t->n_op; i++) {
        const sett__op *op = &t->op[i];
        sett__class cls = (sett__class)sett__ops[op->code].cls;
        if (cls == SETT__C_FOR || cls == SETT__C_LOOP)
            l->loop[l->n_loop++] = i;
        else if (cls == SETT__C_END && l->n_loop && t->op[l->loop[l->n_loop - 1]].other == i)
            l->n_loop--;
        if (cls != SETT__C_ROOT)
            widen(&l->of[i], i, i);
        for (uint32_t k = 0; k < op->n_args; k++)
            if (t->arg[op->args + k] != SETT__NONE)
                use(l, i, t->arg[op->args + k], whole);
    }
}

/* Parts and wholes share registers: what a value's parts outlive, it outlives. */
static void share(live *l)
{
    const sett__tape *t = l->t;
    for (uint32_t i = t->n_op; i-- > 0;)
        for (uint32_t k = 0; shares(t, &t->op[i]) && k < t->op[i].n_args; k++)
            if (t->arg[t->op[i].args + k] != SETT__NONE)
                widen(&l->of[t->arg[t->op[i].args + k]], i, l->of[i].last);
}

/* A root with an index that only a launch knows lies in local memory. */
static bool in_memory(const sett__tape *t, const sett__op *op)
{
    return of_registers(t, op) && t->arg[op->args + 1] != SETT__NONE;
}

static uint32_t widest(live *l, uint32_t *at)
{
    const sett__tape *t = l->t;
    int64_t now = 0, most = 0;
    for (uint32_t i = 0; i < t->n_op; i++)
        if (in_memory(t, &t->op[i]))
            l->of[t->arg[t->op[i].args]].last = 0;
    for (uint32_t i = 0; i < t->n_op; i++) {
        span s = l->of[i];
        if (s.first >= s.last)
            continue;
        /* Arithmetic on arithmetic goes through element by element: of what lies between there is one. What is printed
         * is stored as it is loaded or computed. */
        bool printed = sett__ops[t->op[s.last].code].cls == SETT__C_PRINTF;
        bool passing = by_element(t, &t->op[i]) && l->of[s.last].walls == s.walls;
        int64_t n = printed ? 0 : passing ? words(t, &t->op[i]) > 0 : words(t, &t->op[i]);
        l->of[s.first].change += n;
        l->of[s.last].change -= n;
    }
    for (uint32_t i = 0; i < t->n_op; i++) {
        now += l->of[i].change;
        if (now > most) {
            most = now;
            *at = i;
        }
    }
    return (uint32_t)most;
}

static bool may_exceed(const sett__tape *t, uint32_t enough)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < t->n_op && all <= enough; i++)
        all += words(t, &t->op[i]);
    return all > enough;
}

/* After op *at. Of an element narrower than 32 bits its part. 0: not more than enough, or no memory to count. */
uint32_t sett__tape_live(const sett__tape *t, uint32_t enough, uint32_t *at)
{
    if (!may_exceed(t, enough))
        return 0;
    live l = {.t = t, .of = malloc(t->n_op * sizeof *l.of)};
    uint32_t most = 0;
    if (!l.of)
        return 0;
    for (uint32_t i = 0, walls = 0; i < t->n_op; i++)
        l.of[i] = (span){UINT32_MAX, 0, walls += !by_element(t, &t->op[i]), 0};
    sweep(&l, false);
    sweep(&l, true);
    share(&l);
    most = widest(&l, at);
    free(l.of);
    return most > enough ? most : 0;
}
