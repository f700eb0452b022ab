/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of warp.h but the shuffles: votes and matches, named barriers, fences, ids and clocks. */
#include "tensor.h"

/* x as a scalar that is recorded; NULL: it is none, and the build has failed. */
static const sett_val *scalar(sett_site site, const char *func, sett_val *x, const char *what)
{
    if (!sett__use_val(NULL, site, func, x) || !sett__in_kernel(x->head.b, site, func))
        return NULL;
    sett_build *b = x->head.b;
    const sett_val *v = sett__materialise(site, x);
    SETT__FAIL_IF(b, site, func, !b->error.status && v->n != 1, NULL, SETT_E_SHAPE, "%s must be a scalar, not %s of shape %s", what,
        sett_dtype_name((sett_dtype)v->dtype), sett__arg_text(b, v->shape));
    return b->error.status ? NULL : v;
}

static sett_val *ask(sett_build *b, sett_site site, const sett__emit *e)
{
    return sett__scalar_val(b, sett__record(b, site, e));
}

/* ---- questions to a warp ------------------------------------------------------------------- */
sett_val *sett_vote_at(sett_site site, const char *func, sett_val *pred, sett_vote_op op)
{
    const sett_val *v = scalar(site, func, pred, "the operand");
    if (!v)
        return sett__poison_val_of(pred);
    sett_build *b = pred->head.b;
    SETT__FAIL_IF(b, site, func, op < SETT_VOTE_ALL || op > SETT_VOTE_BALLOT, sett__poison_val_of(pred), SETT_E_ARGUMENT, "%d is not a vote", (int)op);
    SETT__FAIL_IF(b, site, func, v->dtype != SETT_BOOL, sett__poison_val_of(pred), SETT_E_DTYPE, "lanes vote by a Boolean, not by %s",
        sett_dtype_name((sett_dtype)v->dtype));
    return ask(b, site, &(sett__emit){.code = SETT__VOTE, .dtype = op == SETT_VOTE_BALLOT ? SETT_U32 : SETT_BOOL, .sub = (uint8_t)op,
                            .n = 1, .n_args = 1, .args = &v->id});
}

/* Narrow types are compared as wider integers: of floats the bits count. */
sett_val *sett_match_at(sett_site site, const char *func, sett_val *x, sett_vote_op op)
{
    const sett_val *v = scalar(site, func, x, "the operand");
    if (!v)
        return sett__poison_val_of(x);
    sett_build *b = x->head.b;
    sett_dtype dtype = (sett_dtype)v->dtype;
    int bits = sett_dtype_bits(dtype);
    SETT__FAIL_IF(b, site, func, op != SETT_VOTE_ANY && op != SETT_VOTE_ALL, sett__poison_val_of(x), SETT_E_ARGUMENT, "%d is not a match", (int)op);
    SETT__FAIL_IF(b, site, func, (bits != 1 && bits < 8) || bits > 64, sett__poison_val_of(x), SETT_E_DTYPE, "lanes are not compared by %s",
        sett_dtype_name(dtype));
    if (bits == 64 && !sett__dtype_is_int(dtype))
        v = sett_bitcast_at(site, v, SETT_U64);
    else if (bits == 32 && !sett__dtype_is_int(dtype))
        v = sett_bitcast_at(site, v, SETT_U32);
    else if (bits < 32)
        v = sett_to_at(site, sett__dtype_is_int(dtype) || bits == 1 ? v : sett_bitcast_at(site, v, bits == 16 ? SETT_U16 : SETT_U8), SETT_I32);
    return ask(b, site, &(sett__emit){.code = SETT__MATCH, .dtype = SETT_U32, .sub = (uint8_t)op, .n = 1, .n_args = 1, .args = &v->id});
}

sett_val *sett_warp_redux_sync_at(sett_site site, sett_val *x, sett_binary_op op)
{
    static const struct { sett_binary_op op; sett__code code; } ops[] = {{SETT_ADD, SETT__ADD}, {SETT_MIN, SETT__MIN},
        {SETT_MAX, SETT__MAX}, {SETT_AND, SETT__AND}, {SETT_OR, SETT__OR}, {SETT_XOR, SETT__XOR}};
    const char *func = "sett_warp_redux_sync";
    const sett_val *v = scalar(site, func, x, "the operand");
    unsigned i = 0;
    if (!v)
        return sett__poison_val_of(x);
    while (i < SETT__COUNT(ops) && ops[i].op != op)
        i++;
    SETT__FAIL_IF(x->head.b, site, func, i == SETT__COUNT(ops), sett__poison_val_of(x), SETT_E_ARGUMENT, "the operation must be ADD, MIN, MAX, AND, OR or XOR");
    SETT__FAIL_IF(x->head.b, site, func, v->dtype != SETT_I32 && v->dtype != SETT_U32, sett__poison_val_of(x), SETT_E_DTYPE,
        "the instruction folds 32-bit integers: sett_warp_reduce folds %s", sett_dtype_name((sett_dtype)v->dtype));
    return ask(x->head.b, site, &(sett__emit){.code = SETT__REDUX, .dtype = (sett_dtype)v->dtype, .sub = (uint8_t)ops[i].code, .n = 1, .n_args = 1, .args = &v->id});
}

sett_val *sett_elect_one_at(sett_site site, sett_build *b)
{
    b = sett__given(b, site, "sett_elect_one");
    if (!sett__in_kernel(b, site, "sett_elect_one"))
        return b ? &b->poison->val : NULL;
    return ask(b, site, &(sett__emit){.code = SETT__ELECT, .dtype = SETT_BOOL, .n = 1});
}

static_assert((int)SETT_SREG_TOTAL_SMEM_SIZE == (int)SETT__SREG_TOTAL_SMEM && (int)SETT_SREG_CLOCK == (int)SETT__SREG_CLOCK,
    "the tape's numbers are the header's");
sett_val *sett_special_at(sett_site site, sett_build *b, sett_sreg which)
{
    b = sett__given(b, site, "sett_special");
    if (!sett__in_kernel(b, site, "sett_special"))
        return b ? &b->poison->val : NULL;
    SETT__FAIL_IF(b, site, "sett_special", (unsigned)which >= SETT__N_SREGS, &b->poison->val, SETT_E_ARGUMENT, "%d is not a register", (int)which);
    return ask(b, site, &(sett__emit){.code = SETT__SPECIAL, .dtype = sett__sreg_type((int)which), .sub = (uint8_t)which, .n = 1});
}

sett_val *sett_lanemask_at(sett_site site, sett_build *b, const char *func, sett_lanemask which)
{
    b = sett__given(b, site, func);
    if (!sett__in_kernel(b, site, func))
        return b ? &b->poison->val : NULL;
    SETT__FAIL_IF(b, site, func, (unsigned)which > SETT_LANEMASK_GE, &b->poison->val, SETT_E_ARGUMENT, "%d is not a mask", (int)which);
    sett_val *one = sett__const_bits(b, site, SETT_U32, 1), *all = sett__const_bits(b, site, SETT_U32, UINT32_MAX);
    sett_val *mask = sett__op2(b, site, SETT__SHL, 0, one, sett__to(b, site, sett__lane_idx(site, b, func), SETT_U32)); /* EQ */
    if (which == SETT_LANEMASK_LT || which == SETT_LANEMASK_GE)
        mask = sett__op2(b, site, SETT__SUB, 0, mask, one);
    if (which == SETT_LANEMASK_LE || which == SETT_LANEMASK_GT)
        mask = sett__op2(b, site, SETT__OR, 0, mask, sett__op2(b, site, SETT__SUB, 0, mask, one));
    return which >= SETT_LANEMASK_GT ? sett__op2(b, site, SETT__XOR, 0, mask, all) : mask;
}

/* ---- the block -------------------------------------------------------------------------------- */
bool sett__int_operand(const sett__ctx *c, sett_arg a, const char *what, uint32_t *id)
{
    sett_build *b = c->b;
    if (!sett__use_arg(b, c->site, c->func, a))
        return false;
    SETT__FAIL_IF(b, c->site, c->func, a.kind != SETT_INT && a.kind != SETT_VALUE && a.kind != SETT_POISON, false, SETT_E_ARGUMENT,
        "%s must be an integer, not %s%s", what, sett__arg_text(b, a), sett__of_tuple(a));
    const sett_val *v = a.kind == SETT_INT ? sett__arg_val(b, c->site, a) : sett__need_scalar(c, a.u.v, what, false);
    if (b->error.status)
        return false;
    *id = sett__to(b, c->site, (sett_val *)(uintptr_t)v, SETT_I32)->id;
    return !b->error.status;
}

void sett_barrier_at(sett_site site, sett_build *b, sett_arg id, sett_arg threads, bool wait)
{
    const char *func = wait ? "sett_barrier" : "sett_barrier_arrive";
    b = sett__given(b, site, func);
    const sett__ctx c = {b, site, func};
    uint32_t args[2];
    if (!sett__in_kernel(b, site, func))
        return;
    SETT__FAIL_IF(b, site, func, id.kind == SETT_INT && (id.u.i < 1 || id.u.i > 15), , SETT_E_RANGE, "the barrier is %lld, it may be 1 to 15",
        (long long)id.u.i);
    SETT__FAIL_IF(b, site, func, threads.kind == SETT_INT && (threads.u.i < 32 || threads.u.i > 1024 || threads.u.i % 32), , SETT_E_RANGE,
        "%lld threads: a multiple of 32 up to 1024 can meet", (long long)threads.u.i);
    if (sett__int_operand(&c, id, "the barrier", &args[0]) && sett__int_operand(&c, threads, "the number of threads", &args[1]))
        sett__record(b, site, &(sett__emit){.code = wait ? SETT__BARSYNC : SETT__BARARRIVE, .n_args = 2, .args = args});
}

void sett_fence_acq_rel_at(sett_site site, sett_build *b, sett_scope scope)
{
    b = sett__given(b, site, "sett_fence_acq_rel");
    if (!sett__in_kernel(b, site, "sett_fence_acq_rel"))
        return;
    SETT__FAIL_IF(b, site, "sett_fence_acq_rel", scope < SETT_SCOPE_CTA || scope > SETT_SCOPE_CLUSTER, , SETT_E_ARGUMENT, "%d is not a scope", (int)scope);
    sett__record(b, site, &(sett__emit){.code = SETT__FENCE, .n_attrs = 1, .attrs = &(const int32_t){(int32_t)scope}});
}

/* Butterflies in each warp, one element a warp in shared memory, and all of them folded by every thread. */
sett_val *sett_block_reduce_at(sett_site site, sett_val *x, sett_binary_op op)
{
    const char *func = "sett_block_reduce";
    if (!scalar(site, func, x, "the operand"))
        return sett__poison_val_of(x);
    sett_build *b = x->head.b;
    sett_dtype dtype = (sett_dtype)x->dtype;
    const int64_t *e = b->block_size;
    SETT__FAIL_IF(b, site, func, !e[0] || !e[1] || !e[2], sett__poison_val_of(x), SETT_E_STATIC, "the block must be static, and given before: sett_block");
    const int64_t threads = e[0] * e[1] * e[2], warps = threads / 32;
    SETT__FAIL_IF(b, site, func, warps * 32 != threads, sett__poison_val_of(x), SETT_E_DIVIDE,
        "the block (%lld,%lld,%lld) has %lld threads, which are no whole warps: it takes a multiple of 32", (long long)e[0], (long long)e[1], (long long)e[2], (long long)threads);
    sett_val *sum = sett__warp_reduce(site, func, x, op, 32);
    if (warps == 1 || b->error.status)
        return sum;
    const sett__ctx c = {b, site, func};
    sett_tensor *slot = sett_make_smem_tensor_at(site, b, dtype, sett_arg_i(warps),
        &(sett_smem_options){.size = sizeof(sett_smem_options), .align = 16, .name = "one a warp"});
    if (b->error.status)
        return sett__poison_val_of(x);
    sett_region r = sett_if_begin(site, b, sett_binary_at(site, func, SETT_EQ, sett_arg_v(sett_lane_idx_at(site, b)), sett_arg_i(0)));
    sett__set(&c, slot, sett_arg_v(sum), sett_arg_v(sett_warp_idx_at(site, b)));
    r.done = true;
    sett_region_end(&r);
    sett_sync_threads_at(site, b);
    sum = sett__get(&c, slot, sett_arg_i(0));
    for (int64_t i = 1; i < warps; i++)
        sum = sett_to_at(site, sett_binary_at(site, func, op, sett_arg_v(sum), sett_arg_v(sett__get(&c, slot, sett_arg_i(i)))), dtype);
    sett_sync_threads_at(site, b);
    return sum;
}
