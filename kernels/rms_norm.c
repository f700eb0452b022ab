/* SPDX-License-Identifier: Apache-2.0 */
/* One block a row. Either the row waits in shared memory between its two uses: copies in the background take no registers, so
 * that many blocks, and many bytes, are under way at once. Or it waits in registers, wherever it begins between two multiples of 16 bytes. */
#include "rowwise.h"

/* KiB of a row that a block's shared memory has room for, beside what its sum takes. More than an sm_80 has is not used, so that
 * targets which differ in that alone have the same kernel. */
static int shared_most(int sm)
{
    enum { OF_THE_SUM = 3 };
    const int base = sett__device_of(80)->shared_memory_bytes, own = sett__device_of(sm < 80 ? 80 : sm)->shared_memory_bytes;
    return (own < base ? own : base) / 1024 - OF_THE_SUM;
}

/* Can a row wait in shared memory, copied there by cp.async (sm_80)? */
static bool can_share(const sett_rms_norm_options *o, const choice *c, int threads)
{
    const int vec = sett__vec(o->dtype);
    return !o->residual && (!c->sm || c->sm >= 80) && threads > 0 && o->cols % (threads * vec) == 0 && o->cols / vec * 16 <= shared_most(c->sm) << 10;
}

/* Where rows wait in shared memory two accesses a thread are the quickest, up to 512 threads. */
static int threads_of(const sett_rms_norm_options *o, const choice *c)
{
    const int two = o->cols / (2 * sett__vec(o->dtype)), threads = two < 512 ? two : 512;
    const bool share = o->tuning.registers != 1 && threads % 32 == 0 && can_share(o, c, threads);
    return share ? threads : sett__row_threads(o->dtype, o->cols);
}

static void settle(void *options, choice *c)
{
    sett_rms_norm_options *o = options;
    sett_rms_norm_tuning *tune = &o->tuning;
    if (!sett__norm_options(c, o->dtype, o->cols, 1 << 20, o->residual, o->reserved))
        return;
    sett__either(&tune->threads, threads_of(o, c));
    sett__whole_warps(c, tune->threads);
    if (*c->why)
        return;
    sett__either(&tune->registers, can_share(o, c, tune->threads) ? 2 : 1);
    sett__in_range(c, "registers", tune->registers, 1, 2);
    if (tune->registers == 2 && !can_share(o, c, tune->threads))
        REFUSE(c, ".registers is 2: a row waits in shared memory from sm_80 on, where nothing is added to it, %d threads x 16 bytes divide it, and it has at most %d KiB",
            tune->threads, shared_most(c->sm));
    sett__either(&tune->rows, tune->registers == 2 || o->residual || o->cols % sett__vec(o->dtype) ? 1 : 4); /* W is loaded once for all rows of a block */
    sett__in_range(c, "rows", tune->rows, 1, 1 << 10);
    sett__quantised_options(c, &QUANTISED(o), &o->out);
}

enum { X, R, W, H, Y, PARAMS };
typedef struct work {
    const sett_rms_norm_options *o;
    sett_val *M, *eps;
    sett_tensor *of[PARAMS]; /* NULL: there is none, or Y */
    quantised to;
    row_shape shape;
} work;

static work begin(sett_build *b, const sett_rms_norm_options *o)
{
    static const char *const names[PARAMS] = {"X", "R", "W", "H"};
    work w = {.o = o, .M = sett_sym(b, "M"), .shape = sett__row_shape(b, o->dtype, o->cols, o->tuning.threads, sett_thread_idx(b, 0))};
    for (int i = 0; i < Y; i++)
        if (o->residual || (i != R && i != H))
            w.of[i] = sett_param(b, names[i], o->dtype, i == W ? sett_make_layout(b, T1(o->cols)) : sett_row_major(b, w.M, o->cols), .align = 16);
    w.to = sett__quantised(&QUANTISED(o), b, w.M);
    w.eps = sett_scalar(b, "eps", SETT_F32);
    return w;
}

/* 1 / sqrt(mean(v v) + eps) of the row that the block's threads hold. */
static sett_val *scale_of(const work *w, sett_val *v)
{
    sett_val *squares = sett__over_row(&w->shape, sett_reduce(sett_mul(v, v), SETT_ADD, 0.0), SETT_ADD);
    return sett_rsqrt(sett_fma(squares, 1.0 / w->o->cols, w->eps));
}

static void put(const work *w, const row_place *p, sett_val *row, sett_val *v, sett_val *scale, sett_val *weight)
{
    sett__store_row(&w->to, &w->shape, p, row, sett_mul(sett_mul(v, scale), sett_to(weight, SETT_F32)));
}

static void in_shared_memory(sett_build *b, const work *w)
{
    const row_place p = {.skip = sett_arg_i(0)};
    sett_val *row = sett_block_idx(b, 0);
    sett_grid(b, w->M);
    sett_block(b, w->o->tuning.threads);
    sett__begin(b, w->o->no_pdl);
    /* Each thread uses what it copied itself, so no barrier stands between. */
    sett_tensor *s = sett__row_part(&w->shape, sett_make_smem_tensor(b, w->o->dtype, sett_make_layout(b, T1(w->o->cols)), 16));
    sett_cp_async(sett__row_part(&w->shape, sett_slice(w->of[X], row, ALL)), s);
    sett_cp_async_wait_all(b);
    sett_val *scale = scale_of(w, sett_to(sett_load(s), SETT_F32));
    put(w, &p, row, sett_to(sett_load(s), SETT_F32), scale, sett__row_beside(&w->shape, &p, w->of[W])); /* loaded again: kept, it would take registers across the barrier */
}

static void in_registers(sett_build *b, const work *w)
{
    const int rows = w->o->tuning.rows;
    sett_grid(b, sett_ceil_div(w->M, rows));
    sett_block(b, w->o->tuning.threads);
    sett__begin(b, w->o->no_pdl);
    sett_val *first = sett_mul(sett_block_idx(b, 0), rows), *weight = NULL;
    if (w->o->cols % w->shape.vec == 0) { /* all rows begin alike */
        const row_place p = sett__row_place(&w->shape, sett_slice(w->of[X], first, ALL));
        weight = sett__row_beside(&w->shape, &p, w->of[W]);
    }
    sett_for (b, row, first, sett_min(w->M, sett_add(first, rows)), 1) {
        const row_place p = sett__row_place(&w->shape, sett_slice(w->of[X], row, ALL));
        sett_val *v = sett__row_load(&w->shape, &p, w->of[X], w->of[R], w->of[H], row), *beside = weight ? weight : sett__row_beside(&w->shape, &p, w->of[W]);
        put(w, &p, row, v, scale_of(w, v), beside);
    }
}

void sett_rms_norm(sett_build *b, const void *user)
{
    sett_rms_norm_options o;
    if (!sett__kernel_options(b, &sett__rms_norm, user, &o))
        return;
    const work w = begin(b, &o);
    if (o.tuning.registers == 2)
        in_shared_memory(b, &w);
    else
        in_registers(b, &w);
}

#define P(member_) SETT_FAMILY_PARAM(sett_rms_norm_options, member_)
#define TUNED(member_) TUNING_PARAM(sett_rms_norm_options, member_)
static const sett_family_param params[] = {P(dtype), P(no_pdl), P(cols), P(residual), TUNED(threads), TUNED(rows), TUNED(registers), P(quantise), P(out)};
FAMILY(rms_norm, params);
