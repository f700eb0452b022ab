/* SPDX-License-Identifier: Apache-2.0 */
/* Which ops of a tape open and close one region, and what a target must have for all of them. */
#include "lib.h"

/* Only the top of the stack can be closed: by END, or, once and for an IF only, by an ELSE. */
static bool link_region(sett__tape *t, uint32_t i, uint32_t *stack, int *depth)
{
    sett__op *op = &t->op[i];
    bool closes = op->code == SETT__ELSE || op->code == SETT__END, opens = op->code != SETT__END;
    if (closes) {
        if (!*depth || (op->code == SETT__ELSE && t->op[stack[*depth - 1]].code != SETT__IF))
            return false;
        op->other = stack[--*depth];
        t->op[op->other].other = i;
    }
    op->depth = (uint16_t)*depth;
    if (opens && *depth == SETT__MAX_DEPTH)
        return false;
    if (opens)
        stack[(*depth)++] = i;
    return true;
}

bool sett__tape_link(sett__tape *t)
{
    uint32_t stack[SETT__MAX_DEPTH];
    int depth = 0;
    t->min_sm = t->min_ptx = 0;
    for (uint32_t i = 0; i < t->n_op; i++) {
        sett__op *op = &t->op[i];
        if (op->code >= SETT__N_CODES)
            return false;
        const sett__op_info *info = &sett__ops[op->code];
        if (info->min_sm > t->min_sm)
            t->min_sm = info->min_sm;
        if (info->min_ptx > t->min_ptx)
            t->min_ptx = info->min_ptx;
        op->depth = (uint16_t)depth;
        op->other = SETT__NONE;
        if (op->code >= SETT__IF && op->code <= SETT__END && !link_region(t, i, stack, &depth))
            return false;
    }
    return depth == 0;
}
