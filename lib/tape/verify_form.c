/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold of operations of class FORM: that they have the operands that ops.def says, and then a rule of their own. */
#include "verify.h"

uint32_t sett__root_kind(const sett__verifier *c, const sett__op *root)
{
    switch (root->code) {
    case SETT__PARAM: return c->t->sig.param[root->imm].scalar ? 0 : SETT__F_GMEM;
    case SETT__SMEM: return sett__attr(c->t->arg, root, SETT__AT_SMEM_MBARRIER) ? SETT__F_MBAR : SETT__F_SMEM | SETT__F_MATRIX;
    case SETT__RMEM: return SETT__F_RMEM;
    case SETT__GMEM: return SETT__F_GMEM;
    case SETT__PEER: return sett__root_kind(c, &c->t->op[c->t->arg[root->args]]) & SETT__F_MBAR ? SETT__F_PEER_MBAR : SETT__F_PEER;
    case SETT__TMAP: return SETT__F_MAP;
    default: return 0;
    }
}

bool sett__may_access(sett__verifier *c, const sett__op *root, int need)
{
    static const char *const words[] = {"", "read", "written", "read and written"};
    const sett__sig *s = &c->t->sig;
    if (root->code == SETT__GMEM)
        return (sett__attr(c->t->arg, root, SETT__AT_GMEM_ACCESS) & need) == need ||
               sett__refuse(c, SETT_E_VERIFY, "the root is not declared as %s", words[need]);
    if (root->code != SETT__PARAM && root->code != SETT__TMAP)
        return true;
    const sett__param *p = &s->param[root->code == SETT__TMAP ? s->map[root->imm].param : root->imm];
    if (p->scalar)
        return c->op->code == SETT__LOAD || sett__refuse(c, SETT_E_SPACE, "%s is passed by value: it is only read", p->name);
    return (p->access & need) == need || sett__refuse(c, SETT_E_VERIFY, "parameter %s is not declared as %s", p->name, words[need]);
}

static uint32_t kind(const sett__verifier *c, const sett__op *v)
{
    if (sett__ops[v->code].cls == SETT__C_ROOT)
        return sett__root_kind(c, v);
    uint32_t one = v->n != 1 ? 0 : v->dtype == SETT_I32 ? SETT__F_I32 : v->dtype == SETT_U64 ? SETT__F_U64 : v->dtype == SETT_BOOL ? SETT__F_BOOL : 0;
    return SETT__F_ANY | SETT__F_TYPED | one;
}

static bool refuse_kind(sett__verifier *c, const sett__form *f, uint32_t k, const sett__op *v)
{
    char words[120];
    sett__form_words(f->kinds, words, sizeof words);
    if (sett__ops[v->code].cls == SETT__C_ROOT || f->kinds & SETT__F_ROOT)
        return sett__refuse(c, SETT_E_SPACE, "operand %u is not %s", k, words);
    return sett__refuse(c, SETT_E_DTYPE, "operand %u is %u of %s: it must be %s", k, v->n, sett_dtype_name((sett_dtype)v->dtype), words);
}

static bool check_item(sett__verifier *c, const sett__form *f, uint32_t k)
{
    if (f->optional && !f->repeated && sett__verified_arg(c, k) == SETT__NONE) {
        bool rest = f->words > 1 && (sett__verified_arg(c, k + 1) != SETT__NONE || sett__form_offset(c->t->arg, c->op, f->place));
        return !rest || sett__refuse(c, SETT_E_VERIFY, "operand %u is missing", k);
    }
    const sett__op *v = sett__any_arg(c, k);
    if (!v)
        return false;
    if (!(kind(c, v) & f->kinds))
        return refuse_kind(c, f, k, v);
    sett__verified_place at = {v, k, sett__form_offset(c->t->arg, c->op, f->place), (uint64_t)sett__dtype_bytes((sett_dtype)v->dtype), 1};
    return !(f->kinds & SETT__F_PLACE) || f->kinds & SETT__F_MATRIX || sett__check_offset(c, &at, 1);
}

/* What an operation needs beside its form. */
static bool (*const own[SETT__N_CODES])(sett__verifier *) = {
    [SETT__MMA] = sett__check_mma,
    [SETT__LDMATRIX] = sett__check_matrix,
    [SETT__STMATRIX] = sett__check_matrix,
    [SETT__DP4A] = sett__check_dp4a,
    [SETT__MOVMATRIX] = sett__check_movmatrix,
    [SETT__DESC] = sett__check_desc,
    [SETT__WGMMA] = sett__check_wgmma,
    [SETT__WGFENCE] = sett__check_held,
    [SETT__WGCOMMIT] = sett__check_held,
    [SETT__WGWAIT] = sett__check_held,
    [SETT__MBINIT] = sett__check_mbarrier,
    [SETT__MBARRIVE] = sett__check_mbarrier,
    [SETT__MBEXPECT] = sett__check_mbarrier,
    [SETT__MBTRY] = sett__check_parity,
    [SETT__MBTEST] = sett__check_parity,
    [SETT__PROXY] = sett__check_proxy,
    [SETT__MAXNREG] = sett__check_maxnreg,
    [SETT__TMAPAT] = sett__check_map,
    [SETT__TMALOAD] = sett__check_tma,
    [SETT__TMASTORE] = sett__check_tma,
    [SETT__TMAREDUCE] = sett__check_tma,
    [SETT__TMAFETCH] = sett__check_tma,
    [SETT__BULKLOAD] = sett__check_bulk,
    [SETT__BULKPEER] = sett__check_bulk,
    [SETT__BULKSTORE] = sett__check_bulk,
    [SETT__BULKREDUCE] = sett__check_bulk,
    [SETT__STASYNC] = sett__check_store_async,
    [SETT__MAPREPLACE] = sett__check_map,
    [SETT__MAPCOPY] = sett__check_map,
};

static bool check_operands(sett__verifier *c)
{
    bool place = false, repeated = false;
    uint32_t n = 0, given = c->op->n_args;
    for (sett__form f = sett__form_of(c->op->code); sett__form_next(&f); n = f.k + (f.optional && f.repeated ? 0 : f.words))
        place |= (f.kinds & SETT__F_PLACE) != 0, repeated = f.repeated;
    if (repeated ? given < n : given != n)
        return sett__refuse(c, SETT_E_VERIFY, "it takes %u operands%s, not %u", n, repeated ? " or more" : "", given);
    if (c->op->imm && !place)
        return sett__refuse(c, SETT_E_VERIFY, "it has an attribute that it does not take");
    for (sett__form f = sett__form_of(c->op->code); sett__form_next(&f);)
        for (uint32_t k = f.k; k < (f.repeated ? given : f.k + f.words); k += f.words)
            if (!check_item(c, &f, k))
                return false;
    return true;
}

bool sett__check_form(sett__verifier *c)
{
    uint32_t result = sett__form_result(c->op->code);
    if (!check_operands(c) || (result == SETT__F_BOOL && !sett__result_is(c, SETT_BOOL, 1)) ||
        (result == SETT__F_U64 && !sett__result_is(c, SETT_U64, 1)) || (result == SETT__F_I32 && !sett__result_is(c, SETT_I32, 1)))
        return false;
    return !own[c->op->code] || own[c->op->code](c);
}
