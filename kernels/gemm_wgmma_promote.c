/* SPDX-License-Identifier: Apache-2.0 */
/* The main loop of sett_gemm_wgmma with .promote: the tensor core keeps 13 bits of sums of fp8, so it sums one K tile, 128 of K, and threads
 * add these sums in Float32, with .block_scales times the scales of their blocks. */
#include "gemm_wgmma.h"

/* A thread's registers for sums. Three warps share 512 of a lane, two 1024. */
static int parts_of(const sett_gemm_wgmma_options *o)
{
    return sums_of(o) <= (groups_of(o) == 2 ? 32 : 64) ? 2 : 1;
}

void sett__wgmma_begin_promoted(sett_build *b, const wgmma_parts *t, wgmma_group *g)
{
    (void)b;
    for (int i = 0; i < parts_of(t->o); i++)
        g->part[i] = sett_make_fragment_C(g->mma, sett_partition_shape_C(g->mma, T(t->o->tuning.bn, t->o->tuning.bm)));
}

/* Of K tile k, the scales of B for the instructions of a warp group that lie below each other. Rows past N, which are not stored, have those
 * of the last block. */
typedef struct scales {
    sett_tensor *column[CHUNKS]; /* (k) */
} scales;

static scales scales_of_b(const wgmma_parts *t, const wgmma_group *g, const wgmma_place *p)
{
    const sett_gemm_wgmma_options *o = t->o;
    const int blocks = columns(o) / ROWS, mine = blocks / groups_of(o);
    scales x = {{NULL}};
    if (!t->sa)
        return x;
    sett_val *all = sett_floordiv(sett_add(t->N, SCALED - 1), SCALED);
    sett_tensor *SB = p->batch ? sett_slice(t->SB, ALL, ALL, p->batch) : t->SB;
    for (int i = 0; i < high_of(o); i++) {
        sett_val *rows = sett_add(sett_mul(sett_get(p->at, 1), blocks), sett_add(g->number, i % mine * groups_of(o))); /* of the product, 64 columns */
        sett_val *block = sett_min(sett_floordiv(rows, SCALED / ROWS), sett_sub(all, 1));
        x.column[i] = sett_slice(SB, i < mine ? block : sett_add(block, all), ALL);
    }
    return x;
}

/* Registers (4,sums / 4): 2 x 2 sums of 8 rows of A, then the next 8, then the next instruction. All are taken by such pieces, in which they leave
 * too: LLVM keeps what is accessed by pieces of one size in registers. */
static sett_tensor *pieces_of(sett_build *b, const sett_gemm_wgmma_options *o, sett_tensor *sums)
{
    return sett_composition(sums, sett_make_layout(b, T(4, sums_of(o) / 4)));
}

/* (2,bm / 8): of a stage's scales those of this thread's rows of A, which are columns of the instruction. */
static sett_tensor *scales_of_a(sett_build *b, const wgmma_parts *t, sett_pipeline_state *state)
{
    sett_tensor *column = sett_slice(t->sa, ALL, 0, sett_pipeline_stage(state));
    sett_val *first = sett_mul(sett_mod(sett_lane_idx(b), 4), 2);
    return sett_composition(sett_domain_offset(column, T1(first)), sett_make_layout(b, T(2, t->o->tuning.bm / 8), T(1, 8)));
}

/* acc += the sums of a K tile, whose stage is that of `state`; of_b: its scales. */
static void add_part(sett_build *b, const wgmma_parts *t, const wgmma_group *g, sett_tensor *part, sett_pipeline_state *state, sett_val *const of_b[CHUNKS])
{
    const sett_gemm_wgmma_options *o = t->o;
    const int wide = o->tuning.bm / 8;
    sett_tensor *acc = pieces_of(b, o, g->acc), *more = pieces_of(b, o, part), *of_a = t->sa ? scales_of_a(b, t, state) : NULL;
    for (int j = 0; j < wide; j++) {
        sett_val *two = of_a ? sett_load(sett_slice(of_a, ALL, j)) : NULL;
        for (int i = 0; i < high_of(o); i++) {
            sett_tensor *to = sett_slice(acc, ALL, i * wide + j);
            sett_val *x = sett_load(sett_slice(more, ALL, i * wide + j)), *was = sett_load(to);
            if (two)
                x = sett_fma(x, sett_reshape(sett_broadcast_to(sett_reshape(sett_mul(two, of_b[i]), T(2, 1)), T(2, 2)), 4), was);
            else
                x = sett_add(was, x);
            sett_store(to, x);
        }
    }
}

/* Those of K tile k. They are on their way while the tensor core is at work. */
static void load_scales(const wgmma_parts *t, const scales *s, sett_val *k, sett_val *of_b[CHUNKS])
{
    for (int i = 0; t->sa && i < high_of(t->o); i++)
        of_b[i] = sett_at(s->column[i], k);
}

/* Adds a part whose products have come. Its stage is released when it has been read, and so have its scales. */
static void take(sett_build *b, const wgmma_parts *t, const wgmma_group *g, sett_pipeline_state *state, sett_tensor *part, sett_val *const of_b[CHUNKS])
{
    if (!t->sa)
        sett_consumer_release(state);
    add_part(b, t, g, part, state, of_b);
    if (t->sa)
        sett_consumer_release(state);
    sett_pipeline_advance(state);
}

static void begin(sett_build *b, const wgmma_parts *t, const wgmma_group *g, sett_tensor *part)
{
    sett__wgmma_products(b, t, g, part, true);
    sett_pipeline_advance(g->get);
}

/* One K tile after the other: the tensor core works for the other warp group while this one adds. */
static void one_by_one(sett_build *b, const wgmma_parts *t, const wgmma_group *g, const scales *s, sett_val *from, sett_val *n)
{
    sett_for (b, k, 0, n, 1) {
        sett_val *of_b[CHUNKS];
        sett_consumer_wait(g->get);
        sett__wgmma_products(b, t, g, g->part[0], true);
        load_scales(t, s, sett_add(from, k), of_b);
        sett_mma_wait(b, 0);
        take(b, t, g, g->get, g->part[0], of_b);
    }
}

/* The tensor core works on one part while the other one is added. ptxas would give up on a part that a round begins and the next one waits for
 * with another under way, so that wait is for all, and the next products begin right behind it. */
static void in_turn(sett_build *b, const wgmma_parts *t, const wgmma_group *g, const scales *s, sett_val *from, sett_val *n)
{
    sett_val *last = sett_sub(sett_add(from, n), 1), *of_b[2][CHUNKS];
    sett_pipeline_state_copy(g->get, g->done);
    sett_consumer_wait(g->get);
    begin(b, t, g, g->part[0]);
    sett_for (b, i, 2, n, 2) {
        load_scales(t, s, sett_add(from, sett_sub(i, 2)), of_b[0]), load_scales(t, s, sett_add(from, sett_sub(i, 1)), of_b[1]);
        sett_consumer_wait(g->get);
        sett_mma_wait(b, 0);
        begin(b, t, g, g->part[1]);
        take(b, t, g, g->done, g->part[0], of_b[0]);
        sett_consumer_wait(g->get);
        begin(b, t, g, g->part[0]);
        sett_mma_wait(b, 1);
        take(b, t, g, g->done, g->part[1], of_b[1]);
    }
    sett_mma_wait(b, 0);
    sett_if (b, sett_eq(sett_mod(n, 2), 0)) {
        load_scales(t, s, sett_sub(last, 1), of_b[0]);
        sett_consumer_wait(g->get);
        begin(b, t, g, g->part[1]);
        take(b, t, g, g->done, g->part[0], of_b[0]);
        load_scales(t, s, last, of_b[1]);
        sett_mma_wait(b, 0);
        take(b, t, g, g->done, g->part[1], of_b[1]);
    }
    sett_else (b) {
        load_scales(t, s, last, of_b[0]);
        take(b, t, g, g->done, g->part[0], of_b[0]);
    }
}

void sett__wgmma_promoted(sett_build *b, const wgmma_parts *t, const wgmma_group *g, const wgmma_place *p, sett_val *from, sett_val *n)
{
    const scales s = scales_of_b(t, g, p);
    for (int i = 0; i < sums_of(t->o) / 4; i++)
        sett_fill(sett_slice(pieces_of(b, t->o, g->acc), ALL, i), 0.0);
    (parts_of(t->o) == 2 ? in_turn : one_by_one)(b, t, g, &s, from, n);
}
