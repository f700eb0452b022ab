/* SPDX-License-Identifier: Apache-2.0 */
/* A block covers a tile by a TV layout. Coordinates travel with the data as a tensor of their own, and elem_less turns them into
 * predicates, so that any size goes: whole accesses of 16 bytes stay such wherever they lie inside. */
#include "kernels.h"

static bool is_integer(sett_dtype t)
{
    return t == SETT_I8 || t == SETT_U8 || t == SETT_I16 || t == SETT_U16 || t == SETT_I32 || t == SETT_U32 || t == SETT_I64 || t == SETT_U64;
}

static void settle(void *options, choice *c)
{
    sett_elementwise_options *o = options;
    sett_elementwise_tuning *tune = &o->tuning;
    const bool real = o->dtype == SETT_F64 || sett__is_small_float(o->dtype);
    if (!real && !is_integer(o->dtype))
        REFUSE(c, ".dtype is %s: f16, bf16, f32, f64 or an integer of 8 to 64 bits", o->dtype ? sett_dtype_name(o->dtype) : "not given");
    if (o->op < SETT_ADD || o->op > SETT_FMAX || (o->op >= SETT_LT && o->op <= SETT_NE))
        REFUSE(c, ".op is %d: an operation of two numbers that gives a number, SETT_ADD, SETT_MUL, SETT_MAX ...", (int)o->op);
    if (real ? o->op >= SETT_AND && o->op <= SETT_SHR : o->op == SETT_ATAN2 || o->op == SETT_COPYSIGN)
        REFUSE(c, ".op is %d: an operation of %s, and .dtype is %s", (int)o->op, real ? "integers" : "floats", sett_dtype_name(o->dtype));
    sett__in_range(c, "relu", o->relu, 0, 1);
    sett__in_range(c, "exact", o->exact, 0, 1);
    sett__either(&tune->thr_m, 8);
    sett__either(&tune->thr_n, 32);
    sett__either(&tune->val_m, 1);
    sett__in_range(c, "thr_m", tune->thr_m, 1, 1024);
    sett__in_range(c, "thr_n", tune->thr_n, 1, 1024);
    sett__in_range(c, "val_m", tune->val_m, 1, 64);
    if (*c->why)
        return;
    sett__in_range(c, "thr_m x thr_n", tune->thr_m * tune->thr_n, 1, 1024);
}

typedef struct tiles {
    sett_build *b;
    sett_tv tv;
    sett_val *t, *down, *along;
} tiles;

/* The part of x that this thread of this block works on. */
static sett_tensor *mine(const tiles *l, sett_tensor *x)
{
    sett_tensor *tile = sett_slice(sett_zipped_divide(x, l->tv.tiler), ALL, T(l->down, l->along));
    return sett_slice(sett_composition(tile, l->tv.tv), l->t, ALL);
}

static sett_val *result(const sett_elementwise_options *o, sett_val *x, sett_val *y)
{
    sett_val *v = sett_binary_at(SETT_HERE, "sett_elementwise", o->op, SETT_A(x), SETT_A(y));
    v = sett_to(v, o->dtype);
    return o->relu ? sett_max(v, 0) : v;
}

void sett_elementwise(sett_build *b, const void *user)
{
    sett_elementwise_options o;
    if (!sett__kernel_options(b, &sett__elementwise, user, &o))
        return;
    const int vec = sett__vec(o.dtype), m = o.tuning.thr_m * o.tuning.val_m, n = o.tuning.thr_n * vec;
    sett_val *M = sett_sym(b, "M", .div = o.exact ? m : 1), *N = sett_sym(b, "N", .div = o.exact ? n : 1);
    sett_tensor *A = sett_param(b, "A", o.dtype, sett_row_major(b, M, N), .align = 16);
    sett_tensor *B = sett_param(b, "B", o.dtype, sett_row_major(b, M, N), .align = 16);
    sett_tensor *C = sett_param(b, "C", o.dtype, sett_row_major(b, M, N), .align = 16);
    tiles l = {b, sett_make_layout_tv(sett_row_major(b, o.tuning.thr_m, o.tuning.thr_n), sett_row_major(b, o.tuning.val_m, vec)), sett_thread_idx(b, 0),
        sett_block_idx(b, 1), sett_block_idx(b, 0)};
    sett_grid(b, sett_ceil_div(N, n), sett_ceil_div(M, m));
    sett_block(b, o.tuning.thr_m * o.tuning.thr_n);
    sett__begin(b, o.no_pdl);
    if (o.exact) {
        sett_store(mine(&l, C), result(&o, sett_load(mine(&l, A)), sett_load(mine(&l, B))));
        return;
    }
    sett_val *in = sett_elem_less(mine(&l, sett_identity_tensor(b, M, N)), T(M, N));
    sett_val *x = sett_load(mine(&l, A), .pred = in), *y = sett_load(mine(&l, B), .pred = in);
    sett_store(mine(&l, C), result(&o, x, y), .pred = in);
}

#define P(member_) SETT_FAMILY_PARAM(sett_elementwise_options, member_)
#define TUNED(member_) TUNING_PARAM(sett_elementwise_options, member_)
static const sett_family_param params[] = {P(dtype), P(no_pdl), P(op), P(relu), TUNED(thr_m), TUNED(thr_n), TUNED(val_m), P(exact)};
FAMILY(elementwise, params);
