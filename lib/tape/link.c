/* SPDX-License-Identifier: Apache-2.0 */
/* Which ops of a tape open and close one region, what a target must have for all of them, what its assertions say. */
#include "ops.h"
#include <stdlib.h>
#include <string.h>

bool sett__opens(int code)
{
    return code == SETT__IF || code == SETT__ELSE || code == SETT__FOR || code == SETT__LOOP;
}

bool sett__closes(int code)
{
    return code == SETT__ELSE || code == SETT__END;
}

/* Only the top of the stack can be closed: by END, or, once and for an IF only, by an ELSE. */
static bool link_region(sett__tape *t, uint32_t i, uint32_t *stack, int *depth)
{
    sett__op *op = &t->op[i];
    bool closes = sett__closes(op->code), opens = sett__opens(op->code);
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

static bool wide_atom(const sett__op *op)
{
    return op->code == SETT__ATOM && sett__dtype_is_wide((sett_dtype)op->dtype);
}

/* NULL: there is no such row, which is the verifier's to say. */
static const sett__mma *mma_of(const sett__tape *t, const sett__op *op)
{
    bool group = op->code == SETT__WGMMA;
    int32_t row = group || op->code == SETT__MMA ? sett__attr(t->arg, op, group ? SETT__AT_WGMMA_ROW : SETT__AT_MMA_ROW) : -1;
    return row >= 0 && row < SETT__N_MMAS ? &sett__mmas[row] : NULL;
}

/* A count too came with clusters. */
static bool of_a_cluster(const sett__tape *t, const sett__op *op)
{
    switch (op->code) {
    case SETT__FENCE: return sett__attr(t->arg, op, SETT__AT_FENCE_SCOPE) == SETT_SCOPE_CLUSTER;
    case SETT__ATOM: return sett__attr(t->arg, op, SETT__AT_ATOM_SCOPE) == SETT_SCOPE_CLUSTER;
    case SETT__MBTRY:
    case SETT__MBTEST: return op->n_attrs;
    case SETT__MBARRIVE: return op->n_attrs || (op->n_args > 2 && t->arg[op->args + 2] != SETT__NONE);
    default: return false;
    }
}

int sett__least_sm(const sett__tape *t, const sett__op *op)
{
    const sett__mma *x = mma_of(t, op);
    if (wide_atom(op))
        return 90;
    if (x)
        return atoi(x->targets + strcspn(x->targets, SETT__DIGITS));
    if (of_a_cluster(t, op))
        return 90;
    return sett__ops[op->code].cls == SETT__C_INLINE ? sett__attr(t->arg, op, SETT__AT_INLINE_SM) : sett__ops[op->code].min_sm;
}

const char *sett__op_targets(const sett__tape *t, const sett__op *op)
{
    const sett__mma *x = mma_of(t, op);
    return sett__ops[op->code].flags & SETT__O ? "sm_90a" : x && *x->targets == '=' ? x->targets + 1 : NULL;
}

static int least_ptx(const sett__tape *t, const sett__op *op)
{
    const sett__op_info *info = &sett__ops[op->code];
    bool accesses = info->cls == SETT__C_LOAD || info->cls == SETT__C_STORE; /* L1's priorities came with PTX 7.4 */
    if (accesses && sett__attr(t->arg, op, SETT__AT_ACCESS_CACHE) >= SETT_CACHE_EVICT_FIRST)
        return 74;
    if (wide_atom(op) || (op->code == SETT__PROXY && sett__attr(t->arg, op, SETT__AT_PROXY_KIND) >= 3)) /* of tensor maps */
        return 83;
    if (op->code == SETT__MBARRIVE && sett__attr(t->arg, op, SETT__AT_ARRIVE_ORDER))
        return 86;
    if (mma_of(t, op))
        return mma_of(t, op)->min_ptx;
    return info->cls == SETT__C_INLINE ? sett__attr(t->arg, op, SETT__AT_INLINE_ISA) : info->min_ptx;
}

/* Has sm_90 an instruction for several elements at once? */
static bool vector_atom(const sett__op *op)
{
    return op->code == SETT__ATOM && op->n > 1 && op->sub == SETT__ADD && sett__dtype_is_float((sett_dtype)op->dtype) && op->dtype != SETT_F64;
}

bool sett__tape_link(sett__tape *t)
{
    uint32_t stack[SETT__MAX_DEPTH];
    int depth = 0;
    t->min_sm = t->min_ptx = t->min_ptx_90 = 0;
    t->sig.early = t->name_decides = false;
    for (uint32_t i = 0; i < t->n_op; i++) {
        sett__op *op = &t->op[i];
        if (op->code >= SETT__N_CODES)
            return false;
        op->depth = (uint16_t)depth;
        op->other = SETT__NONE;
        const sett__op_info *info = &sett__ops[op->code];
        if (info->cls < SETT__C_LOAD && !(info->min_sm | info->min_ptx)) /* most: they stand in line, on every target */
            continue;
        if (!sett__words_there(t, op))
            return false;
        int sm = sett__least_sm(t, op), ptx = least_ptx(t, op);
        t->min_sm = sm > t->min_sm ? (uint16_t)sm : t->min_sm;
        t->min_ptx = ptx > t->min_ptx ? (uint16_t)ptx : t->min_ptx;
        t->sig.early |= op->code == SETT__DEPWAIT;
        t->name_decides |= (info->flags & SETT__T) || sett__op_targets(t, op);
        t->min_ptx_90 = vector_atom(op) ? 81 : t->min_ptx_90;
        if ((sett__opens(op->code) || sett__closes(op->code)) && !link_region(t, i, stack, &depth))
            return false;
        if (op->code == SETT__WHILE && depth)
            op->other = stack[depth - 1];
    }
    return depth == 0;
}

/* ---- assertions -------------------------------------------------------------------- */
static bool claim_of(sett__tape *t, uint32_t i, sett__claim *k)
{
    const sett__op *op = &t->op[i];
    const sett__site_ref *at = op->site < t->n_site ? &t->site[op->site] : NULL;
    char *types = sett__arena_alloc(&t->arena, op->n_args);
    if (!types)
        return false;
    for (uint32_t j = 1; j < op->n_args; j++) /* 0 is the condition */
        types[j - 1] = (char)t->op[t->arg[op->args + j]].dtype;
    *k = (sett__claim){.text = t->string[op->imm], .types = types, .op = i};
    if (at && at->file < t->n_string)
        k->file = t->string[at->file], k->line = at->line;
    else if (t->line)
        k->line = t->line[i];
    return true;
}

bool sett__tape_claims(sett__tape *t)
{
    sett__sig *s = &t->sig;
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->n_op; i++)
        n += t->op[i].code == SETT__ASSERT;
    s->n_claim = 0;
    if (!n)
        return true;
    if (!(s->claim = sett__arena_alloc(&t->arena, n * sizeof *s->claim)))
        return false;
    for (uint32_t i = 0; i < t->n_op; i++)
        if (t->op[i].code == SETT__ASSERT && !claim_of(t, i, &s->claim[s->n_claim++]))
            return false;
    return true;
}
