/* SPDX-License-Identifier: Apache-2.0 */
/* Roots of registers in the background: the states, and the events between them. */
#include "ops.h"

enum { MOST_AGE = 255 };

sett__root_state sett__flight_new(uint32_t root)
{
    return (sett__root_state){.touched = root, .by = SETT__NONE};
}

void sett__flight_begin(sett__root_state *s, uint32_t product, int as)
{
    *s = (sett__root_state){.touched = SETT__NONE, .by = product, .flags = (uint8_t)(SETT__FLIES | as)};
}

void sett__flight_commit(sett__root_state *s)
{
    s->age = (uint8_t)(s->age + (s->flags & SETT__FLIES && s->age < MOST_AGE));
}

void sett__flight_wait(sett__root_state *s)
{
    s->flags &= (uint8_t)~SETT__FLIES;
}

/* What is in flight goes on in its shape. */
void sett__flight_fence(sett__root_state *s)
{
    if (!(s->flags & SETT__FLIES))
        *s = (sett__root_state){.by = SETT__NONE};
    s->touched = SETT__NONE;
    s->flags |= SETT__FENCED;
}

void sett__flight_touch(sett__root_state *s, uint32_t op)
{
    s->touched = op;
    s->flags &= (uint8_t)~SETT__FENCED;
}

/* ---- products of one shape --------------------------------------------------------------------- */
/* Have both the same accumulator's shape, and the same elements of a root or none in common? */
static bool alike(sett__op_list l, uint32_t a, uint32_t b)
{
    const sett__op *x = &l.op[a], *y = &l.op[b];
    const sett__mma *p = &sett__mmas[sett__attr(l.arg, x, SETT__AT_WGMMA_ROW)], *q = &sett__mmas[sett__attr(l.arg, y, SETT__AT_WGMMA_ROW)];
    int32_t n = sett__attr(l.arg, x, SETT__AT_WGMMA_N), held = p->m * n / SETT__WARP_GROUP;
    int32_t far = sett__attr(l.arg, x, SETT__AT_WGMMA_ACC_AT) - sett__attr(l.arg, y, SETT__AT_WGMMA_ACC_AT);
    return p->k == q->k && n == sett__attr(l.arg, y, SETT__AT_WGMMA_N) && far % held == 0;
}

int sett__flight_may_begin(sett__op_list l, const sett__root_state *s, uint32_t product, int as)
{
    const bool flies = s->flags & SETT__FLIES, sum = s->flags & SETT__SUM;
    bool goes_on = as == SETT__SUM ? sum && !(s->flags & (SETT__MIXED | SETT__FACTOR)) && alike(l, s->by, product) : !sum;
    if (flies && !goes_on)
        return SETT__FLIGHT_NEEDS_WAIT;
    bool changes = as == SETT__SUM ? s->by != SETT__NONE && !goes_on : sum;
    return s->touched != SETT__NONE || changes ? SETT__FLIGHT_NEEDS_FENCE : SETT__FLIGHT_FINE;
}

bool sett__flight_join(sett__op_list l, sett__root_state *to, const sett__root_state *from)
{
    sett__root_state was = *to;
    if (to->touched == SETT__NONE)
        to->touched = from->touched;
    bool first = was.flags & SETT__FLIES, second = from->flags & SETT__FLIES;
    to->age = first && second ? (was.age < from->age ? was.age : from->age) : first ? was.age : from->age;
    if (was.by == SETT__NONE || (second && !first))
        to->by = from->by;
    bool mixed = was.by != SETT__NONE && from->by != SETT__NONE && !alike(l, was.by, from->by);
    to->flags = (uint8_t)((was.flags | from->flags | (mixed ? SETT__MIXED : 0)) & ~SETT__FENCED);
    return (to->flags ^ was.flags) & ~SETT__FENCED || (to->touched == SETT__NONE) != (was.touched == SETT__NONE) ||
           (to->by == SETT__NONE) != (was.by == SETT__NONE) || (to->flags & SETT__FLIES && to->age != was.age);
}
