/* SPDX-License-Identifier: Apache-2.0 */
/* The main loop of sett_gemm_wgmma with .promote: the tensor core keeps 13 bits of sums of fp8, so it sums one K tile, 128 of K, and threads
 * add these sums in Float32, with .block_scales times the scales of their blocks. */
#include "gemm_wgmma.h"

/* A thread's registers for sums. Three warps share 512 of a lane, two 1024. */
static int parts_of(const sett_gemm_wgmma_options *o)
{
    const int room = groups_of(o) == 1 ? 64 : o->block_scales ? 28 : 32; /* scales are registers too */
    return sums_of(o) <= room ? 2 : 1;
}

void sett__wgmma_begin_promoted(const wgmma_parts *t, wgmma_group *g)
{
    for (int i = 0; i < parts_of(t->o); i++)
        g->part[i] = sett__wgmma_sums(t, g);
}

/* ---- scales of B ---- */
/* Of the instructions of a warp group that lie below each other, or, of an upright one, of the halves of its columns: where their scales begin, (k), and
 * that of the next K tile, which is on its way a K tile long. Rows past N, which are not stored, have those of the last block. */
typedef struct scales {
    int n;
    sett_tensor *column[CHUNKS], *next[CHUNKS];
    sett_val *after; /* of A: sett__wgmma_scales_begin_after() */
} scales;

/* The 64 columns of C, of all, that number i is of. */
static sett_val *columns_of(const wgmma_parts *t, const wgmma_group *g, const wgmma_place *p, int i)
{
    const sett_gemm_wgmma_options *o = t->o;
    const int blocks = columns(o) / ROWS, mine = blocks / groups_of(o);
    sett_val *first = sett_value(t->product->b, sett_mul(sett_get(p->at, 1), blocks));
    return upright(o) ? first : sett_add(first, sett_add(g->number, i % mine * groups_of(o)));
}

static scales scales_of_b(sett_build *b, const wgmma_parts *t, const wgmma_group *g, const wgmma_place *p, sett_val *from)
{
    const sett_gemm_wgmma_options *o = t->o;
    scales x = {0};
    if (!t->sa)
        return x;
    x.n = upright(o) ? 1 + o->swiglu : high_of(o);
    x.after = sett__wgmma_scales_begin_after(p);
    sett_val *all = sett_floordiv(sett_add(t->N, SCALED - 1), SCALED);
    sett_tensor *SB = p->batch ? sett_slice(t->SB, ALL, ALL, p->batch) : t->SB;
    for (int i = 0; i < x.n; i++) {
        sett_val *block = sett_min(sett_floordiv(columns_of(t, g, p, i), SCALED / ROWS), sett_sub(all, 1));
        const bool up = o->swiglu && i >= x.n / 2;
        x.column[i] = sett_slice(SB, up ? sett_add(block, all) : block, ALL);
        x.next[i] = sett_var(b, SETT_F32, sett_at(x.column[i], from));
    }
    return x;
}

/* Registers (4,sums / 4): 2 x 2 sums of 8 columns of the instruction, then the next 8, then the next instruction. All are taken by such pieces, in which they leave
 * too: LLVM keeps what is accessed by pieces of one size in registers. */
static sett_tensor *pieces_of(sett_build *b, const sett_gemm_wgmma_options *o, sett_tensor *sums)
{
    return sett_composition(sums, sett_make_layout(b, T(4, sums_of(o) / 4)));
}

/* ---- scales of A ---- */
/* Of this thread's rows of A those of K tile k, counted from the first of this tile: (2,bm / 8), columns of the instruction, or, upright, (2,1). */
static sett_tensor *scales_of_a(sett_build *b, const wgmma_parts *t, const wgmma_group *g, const scales *s, sett_val *k)
{
    sett_tensor *column = sett_slice(t->sa, ALL, sett_mod(k, SCALES_K), sett_pipeline_stage(g->scales));
    if (s->after)
        column = sett_domain_offset(column, T1(s->after));
    sett_val *lane = sett_lane_idx(b), *warp = sett_mod(sett_warp_idx(b), GROUP / WARP);
    if (upright(t->o))
        return sett_composition(sett_domain_offset(column, T1(sett_add(sett_add(sett_mul(g->number, ROWS), sett_mul(warp, 16)), sett_floordiv(lane, 4)))), sett_make_layout(b, T(2, 1), T(8, 0)));
    return sett_composition(sett_domain_offset(column, T1(sett_mul(sett_mod(lane, 4), 2))), sett_make_layout(b, T(2, t->o->tuning.bm / 8), T(1, 8)));
}

/* What the sums of a K tile are multiplied by, of each piece of 2 x 2. */
typedef struct factors {
    sett_val *of[SUMS / 4]; /* NULL: nothing */
} factors;

/* Two numbers, of columns of the instruction, or of its rows, to 2 x 2 sums. */
static sett_val *spread(const sett_gemm_wgmma_options *o, sett_val *two)
{
    return sett_reshape(sett_broadcast_to(sett_reshape(two, upright(o) ? T(1, 2) : T(2, 1)), T(2, 2)), 4);
}

/* Those of K tile k of n. All this goes on while the tensor core is at work. A stage is released behind its last K tile: threads have read
 * it, so that this takes a fence. */
static void load_factors(sett_build *b, const wgmma_parts *t, const wgmma_group *g, const scales *s, sett_val *from, sett_val *k, sett_val *n, factors *x)
{
    const sett_gemm_wgmma_options *o = t->o;
    const int pairs = upright(o) ? 1 : o->tuning.bm / 8, each = sums_of(o) / 4 / (s->n ? s->n : 1);
    sett_val *of_b[CHUNKS];
    x->of[0] = NULL;
    if (!t->sa)
        return;
    for (int i = 0; i < s->n; i++) {
        of_b[i] = sett_at(s->next[i], 0);
        sett_set(s->next[i], sett_at(s->column[i], sett_add(from, sett_min(sett_add(k, 1), sett_sub(n, 1)))), 0);
    }
    sett_if (b, sett_eq(sett_mod(k, SCALES_K), 0))
        sett_consumer_wait(g->scales);
    sett_tensor *of_a = scales_of_a(b, t, g, s, k);
    for (int j = 0; j < pairs; j++) {
        sett_val *two = sett_load(sett_slice(of_a, ALL, j));
        for (int i = 0; i < s->n; i++) {
            sett_val *four = spread(o, sett_mul(two, of_b[i]));
            for (int at = j; at < each; at += pairs)
                x->of[i * each + at] = four;
        }
    }
    sett_if (b, sett_or(sett_eq(sett_mod(k, SCALES_K), SCALES_K - 1), sett_eq(k, sett_sub(n, 1)))) {
        sett_consumer_release(g->scales);
        sett_pipeline_advance(g->scales);
    }
}

/* ---- sums ---- */
/* acc += the sums of a K tile times its factors. */
static void add_part(sett_build *b, const wgmma_parts *t, const wgmma_group *g, sett_tensor *part, const factors *x)
{
    sett_tensor *acc = pieces_of(b, t->o, g->acc), *more = pieces_of(b, t->o, part);
    for (int i = 0; i < sums_of(t->o) / 4; i++) {
        sett_tensor *to = sett_slice(acc, ALL, i);
        sett_val *sums = sett_load(sett_slice(more, ALL, i)), *was = sett_load(to);
        sett_store(to, x->of[0] ? sett_fma(sums, x->of[i], was) : sett_add(was, sums));
    }
}

/* Adds a part whose products have come: its stage has been read. */
static void take(sett_build *b, const wgmma_parts *t, const wgmma_group *g, sett_pipeline_state *state, sett_tensor *part, const factors *x)
{
    sett_consumer_release(state);
    add_part(b, t, g, part, x);
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
        sett_consumer_wait(g->get);
        sett__wgmma_products(b, t, g, g->part[0], true);
        factors x;
        load_factors(b, t, g, s, from, k, n, &x);
        sett_mma_wait(b, 0);
        take(b, t, g, g->get, g->part[0], &x);
    }
}

/* The tensor core works on one part while the other one is added. ptxas would give up on a part that a round begins and the next one waits for
 * with another under way, so that wait is for all, and the next products begin right behind it. */
static void in_turn(sett_build *b, const wgmma_parts *t, const wgmma_group *g, const scales *s, sett_val *from, sett_val *n)
{
    sett_val *last = sett_sub(n, 1);
    factors x;
    sett_pipeline_state_copy(g->get, g->done);
    sett_consumer_wait(g->get);
    begin(b, t, g, g->part[0]);
    sett_for (b, i, 2, n, 2) {
        sett_val *k[] = {sett_sub(i, 2), sett_sub(i, 1)};
        sett_consumer_wait(g->get);
        load_factors(b, t, g, s, from, k[0], n, &x);
        sett_mma_wait(b, 0);
        begin(b, t, g, g->part[1]);
        take(b, t, g, g->done, g->part[0], &x);
        load_factors(b, t, g, s, from, k[1], n, &x);
        sett_consumer_wait(g->get);
        begin(b, t, g, g->part[0]);
        sett_mma_wait(b, 1);
        take(b, t, g, g->done, g->part[1], &x);
    }
    sett_mma_wait(b, 0);
    sett_if (b, sett_eq(sett_mod(n, 2), 0)) {
        load_factors(b, t, g, s, from, sett_sub(last, 1), n, &x);
        sett_consumer_wait(g->get);
        begin(b, t, g, g->part[1]);
        take(b, t, g, g->done, g->part[0], &x);
        load_factors(b, t, g, s, from, last, n, &x);
        sett_mma_wait(b, 0);
        take(b, t, g, g->done, g->part[1], &x);
    }
    sett_else (b) {
        load_factors(b, t, g, s, from, last, n, &x);
        take(b, t, g, g->done, g->part[0], &x);
    }
}

void sett__wgmma_promoted(sett_build *b, const wgmma_parts *t, const wgmma_group *g, const wgmma_place *p, sett_val *from, sett_val *n)
{
    const scales s = scales_of_b(b, t, g, p, from);
    for (int i = 0; i < sums_of(t->o) / 4; i++)
        sett_fill(sett_slice(pieces_of(b, t->o, g->acc), ALL, i), 0.0);
    (parts_of(t->o) == 2 ? in_turn : one_by_one)(b, t, g, &s, from, n);
}
