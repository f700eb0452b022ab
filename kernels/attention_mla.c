/* SPDX-License-Identifier: Apache-2.0 */
/* Multi-head latent attention, absorbed: K has 512 columns that are V too, and 64 more. Three warp groups multiply, each at its own pace: one
 * has S = Q K^T of 64 rows and their weights, which it hands on through shared memory; each of the others adds 256 columns of P V, whose V is
 * where K is. A tile of keys is loaded once, and its place is free when all three have read it. */
#include "attention_decode.h"
#include <math.h>
#include <string.h>

enum { COLUMNS = 512, MORE = 64, ROWS = 64, SUM_GROUPS = 2, SUM_COLUMNS = COLUMNS / SUM_GROUPS, SUM_N = 128 /* of an instruction: ptxas has no room for 256 where a block has 512 threads */, THREADS = (SUM_GROUPS + 2) * GROUP, QUERY_WARPS = GROUP / WARP - 1 };
enum { MOST_KEYS = 64, SPLIT = 1024, LONG_SPLIT = 4096 /* of full tiles: what a split ends with takes as long as many keys */ };

/* ---- rules ------------------------------------------------------------------------------------------------------ */
static sett_attention_decode_options decode_of(const sett_attention_mla_options *o)
{
    return (sett_attention_decode_options){.size = sizeof(sett_attention_decode_options), .dtype = o->dtype, .no_pdl = o->no_pdl, .d = COLUMNS, .exact = o->exact, .rows = o->rows, .kv = o->dtype, .lengths = o->lengths, .page = o->page, .causal = o->causal,
        .window = o->window, .sinks = o->sinks, .lse = o->lse, .scale = 1, .tuning = {.split = o->tuning.split, .keys = o->tuning.keys, .stages = o->tuning.stages, .warps = SUM_GROUPS * GROUP / WARP, .blocks = o->tuning.blocks}};
}

static void settle(void *options, choice *c)
{
    sett_attention_mla_options *o = options;
    const struct { const char *name; int is; } flags[] = {{"exact", o->exact}, {"lengths", o->lengths}, {"causal", o->causal}, {"window", o->window}, {"sinks", o->sinks}, {"lse", o->lse}};
    sett_attention_mla_tuning *tune = &o->tuning;
    if (o->dtype != SETT_F16 && o->dtype != SETT_BF16)
        REFUSE(c, ".dtype is %s: f16 or bf16", o->dtype ? sett_dtype_name(o->dtype) : "not given");
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        sett__in_range(c, flags[i].name, flags[i].is, 0, 1);
    sett__attention_check(c, o->page, false, false);
    o->lengths |= o->page != 0;
    sett__either(&o->rows, ROWS);
    if (o->rows != 16 && o->rows != 32 && o->rows != ROWS)
        REFUSE(c, ".rows is %d: 16, 32 or 64", o->rows);
    sett__either(&tune->keys, o->exact ? MOST_KEYS / 2 /* its exponents take registers */ : MOST_KEYS);
    sett__either(&tune->split, o->rows < ROWS ? SPLIT : LONG_SPLIT);
    sett__either(&tune->blocks, sett__device_of(90)->multiprocessors);
    if (tune->keys != MOST_KEYS && tune->keys != MOST_KEYS / 2)
        REFUSE(c, ".keys is %d: 32 or 64", tune->keys);
    if (*c->why)
        return;
    sett__either(&tune->stages, 2 * MOST_KEYS / tune->keys);
    sett__in_range(c, "stages", tune->stages, 2, 2 * MOST_KEYS / tune->keys); /* more shared memory than a block has */
    const sett_attention_decode_options decode = decode_of(o);
    sett__decode_check_split(c, &decode.tuning);
}

/* ---- parts of a block --------------------------------------------------------------------------------------------- */
static void places(sett_build *b, decode_parts *x, sett_tensor *const operand[3])
{
    const sett_attention_decode_options *o = x->o;
    attention_parts *t = &x->t;
    const int keys = o->tuning.keys;
    t->q = sett_make_smem_tensor(b, o->dtype, sett_smem_layout(b, o->dtype, SETT_K_MAJOR, ROWS, COLUMNS + MORE), 1024);
    x->part[2] = sett__attention_ring(b, &x->all, operand[1], MORE, false), x->part[2].first = COLUMNS / MORE;
    x->all.tuning.stages *= SUM_GROUPS;
    x->part[0] = x->part[1] = sett__attention_ring(b, &x->all, operand[1], SUM_COLUMNS, false), x->part[1].first = 1;
    x->p = sett_make_smem_tensor(b, o->dtype, sett_smem_layout(b, o->dtype, SETT_K_MAJOR, ROWS, keys, 1), 1024);
    x->told = sett_make_smem_tensor(b, SETT_F32, T(ROWS, 2), 16);
    const int boxes = keys / sett__attention_box(&x->all);
    x->keys = sett_pipeline_tma_async(b, .stages = SUM_GROUPS * o->tuning.stages, .tx_bytes = sett_tma_bytes(x->part[0].map) * boxes, .consumers = SETT_WARP_GROUPS(2) /* that has S, and one that sums */, .defer_sync = true);
    x->more = sett_pipeline_tma_async(b, .stages = o->tuning.stages, .tx_bytes = sett_tma_bytes(x->part[2].map) * boxes, .consumers = SETT_WARP_GROUPS(1), .defer_sync = true);
    x->weighed = sett_pipeline_async(b, .stages = 1, .producers = SETT_WARPS(GROUP / WARP), .consumers = SETT_WARPS(SUM_GROUPS * GROUP / WARP), .defer_sync = true);
    x->queries = sett_pipeline_async(b, .stages = 1, .producers = SETT_WARPS(QUERY_WARPS), .consumers = SETT_WARPS(GROUP / WARP) /* which no product brings together where there is no key */, .defer_sync = true);
    x->work = sett_pipeline_async(b, .stages = WORK_STAGES, .producers = SETT_THREADS(1), .consumers = SETT_WARPS(THREADS / WARP - 1)); /* the last one: here threads meet */
}

static void load(sett_build *b, const decode_parts *x, const attention_work *of, sett_val *tile, sett_pipeline_state *keys, sett_pipeline_state *more)
{
    for (int i = 0; i < 3; i++)
        sett__attention_load(b, &x->t, (const attention_operand *const[]){&x->part[i]}, 1, of, tile, i < 2 ? keys : more);
}

static void next(sett_pipeline_state *s)
{
    sett_consumer_release(s), sett_pipeline_advance(s);
}

/* Of what a thread has of an accumulator, its row number i, from 0 to 1, of a tile. */
static sett_val *row_of(sett_val *thread, int i)
{
    return sett_add(sett_add(sett_mul(sett_floordiv(thread, WARP), WARP_ROWS), sett_floordiv(sett_mod(thread, WARP), 4)), 8 * i);
}

/* ---- queries ------------------------------------------------------------------------------------------------------ */
/* By the warps beside the one that loads K. Rows behind the last one are left as they are, of the first unit zeros: no result is of them, but
 * whether sums are scaled depends on all rows. */
typedef struct query_loader {
    const decode_parts *x;
    decode_work w;
    sett_pipeline_state *put;
    sett_tensor *fresh; /* nothing was loaded yet */
} query_loader;

static void load_query(sett_build *b, void *user)
{
    enum { PART = 8, PARTS = (COLUMNS + MORE) / PART };
    query_loader *f = user;
    const decode_parts *x = f->x;
    sett_val *thread = sett_sub(sett_thread_idx(b, 0), THREADS - QUERY_WARPS * WARP), *end = sett_mul(sett_min(sett_sub(x->rows, f->w.row), x->o->rows), PARTS);
    sett_producer_acquire(f->put);
    sett_for (b, i, thread, end, QUERY_WARPS * WARP) {
        sett_val *row = sett_floordiv(i, PARTS), *part = sett_mod(i, PARTS);
        const sett_quot_rem at = sett_divmod(sett_add(f->w.row, row), x->group);
        sett_tensor *from = sett_slice(x->q, at.quotient, ALL, sett_add(sett_mul(f->w.head, x->group.divisor), at.remainder), f->w.request);
        sett_cp_async(sett_local_tile(from, T1(PART), T1(part)), sett_composition(sett_local_tile(x->t.q, T(1, PART), T(row, part)), sett_make_layout(b, PART)));
    }
    sett_if (b, sett_ne(sett_at(f->fresh, 0), 0)) { /* while those copies are under way */
        sett_for (b, i, sett_add(end, thread), ROWS * PARTS, QUERY_WARPS * WARP)
            sett_store(sett_composition(sett_local_tile(x->t.q, T(1, PART), T(sett_floordiv(i, PARTS), sett_mod(i, PARTS))), sett_make_layout(b, PART)), 0.0);
        sett_set(f->fresh, 0, 0);
    }
    sett_cp_async_wait_all(b);
    sett_fence_view_async_shared(b);
    sett_producer_commit(f->put);
    sett_pipeline_advance(f->put);
}

static void load_queries(sett_build *b, const decode_parts *x)
{
    const attention_units units = sett__decode_units(b, x);
    query_loader f = {.x = x, .put = sett_pipeline_producer_state(x->queries), .fresh = sett_var(b, SETT_I32, 1)};
    sett__decode_each(b, x, &units, &f.w, load_query, &f);
}

/* ---- weights ------------------------------------------------------------------------------------------------------ */
typedef struct weigh {
    const decode_parts *x;
    decode_work w;
    attention_work of; /* the same as masks ask */
    attention_scores scores;
    sett_val *thread;
    sett_tiled_mma *qk;
    sett_tensor *s[2], *max, *sum; /* registers; max in the unit of scores */
    sett_pipeline_state *keys, *more, *keys_read, *more_read, *query, *put; /* read: whose products have ended */
} weigh;

/* V, (columns,keys), of a half of K. */
static sett_tensor *across(const decode_parts *x, sett_pipeline_state *half)
{
    return sett_select(sett_slice(x->part[0].ring, ALL, ALL, sett_pipeline_stage(half)), 1, 0);
}

/* S of each part of K as it comes. */
static void begin(sett_build *b, const weigh *f, sett_tensor *s)
{
    const decode_parts *x = f->x;
    sett_thr_mma *mine = sett_get_slice(f->qk, f->thread);
    for (int i = 0; i < 3; i++) {
        sett_pipeline_state *get = i < 2 ? f->keys : f->more;
        sett_tensor *q = sett_local_tile(x->t.q, T(ROWS, x->part[i].columns), T(0, x->part[i].first));
        sett_tensor *fq = sett_make_fragment_A(f->qk, sett_partition_A(mine, q)), *fk = sett_make_fragment_B(f->qk, sett_partition_B(mine, sett_slice(x->part[i].ring, ALL, ALL, sett_pipeline_stage(get))));
        sett_consumer_wait(get);
        sett_gemm(f->qk, s, fq, fk, s, .overwrite = !i);
        sett_pipeline_advance(get);
    }
    sett_mma_commit(b);
}

/* It has come: nothing reads what lies behind the last key, until products with V do; of the last tile, the next rows of Q may come. */
static void end(sett_build *b, const weigh *f, sett_val *tile)
{
    const decode_parts *x = f->x;
    for (int i = 0; i < SUM_GROUPS; i++) {
        sett__attention_clear(b, &x->t, across(x, f->keys_read), SUM_COLUMNS, sett_sub(f->w.keys, sett_mul(tile, x->o->tuning.keys)), f->thread, GROUP, NULL);
        next(f->keys_read);
    }
    next(f->more_read);
    sett_if (b, sett_eq(tile, sett_sub(f->w.to, 1)))
        sett_consumer_release(f->query);
}

/* Two numbers of each row, for those that sum. */
static void tell(sett_build *b, const weigh *f, sett_val *const of_rows[2])
{
    sett_if (b, sett_eq(sett_mod(f->thread, 4), 0)) {
        for (int i = 0; i < 4; i++)
            if (of_rows[i / 2])
                sett_set(f->x->told, sett_element(of_rows[i / 2], i % 2), row_of(f->thread, i % 2), i / 2);
    }
}

static void softmax(sett_build *b, const weigh *f, const sett_tensor *from, sett_val *tile)
{
    const decode_parts *x = f->x;
    sett_val *fade, *p = sett__attention_softmax(&f->scores, f->max, f->sum, sett__attention_score(b, &f->scores, sett_load(from), tile, true), 0, &fade);
    sett_tensor *out = sett_make_fragment_like(from, x->o->dtype);
    sett_store(out, sett_to(p, x->o->dtype));
    sett_tiled_copy *r2s = sett_make_tiled_copy_C(sett_stmatrix(b, x->o->dtype, 4, false), f->qk);
    sett_thr_copy *mine = sett_get_slice(r2s, f->thread);
    sett_producer_acquire(f->put);
    sett_copy(r2s, sett_retile(mine, out), sett_partition_D(mine, sett_slice(x->p, ALL, ALL, 0)));
    sett_fence_view_async_shared(b);
    tell(b, f, (sett_val *const[]){fade, NULL});
    sett_producer_commit(f->put);
    sett_pipeline_advance(f->put);
}

static void weigh_tile(sett_build *b, const weigh *f, sett_val *tile)
{
    begin(b, f, f->s[0]);
    sett_mma_wait(b, 0);
    end(b, f, tile);
    softmax(b, f, f->s[0], tile);
}

/* The softmax of the first lies under the product of the second. */
static void weigh_two(sett_build *b, const weigh *f, sett_val *tile)
{
    for (int i = 0; i < 2; i++)
        begin(b, f, f->s[i]);
    for (int i = 0; i < 2; i++) {
        sett_mma_wait(b, 1 - i);
        end(b, f, sett_add(tile, i));
        softmax(b, f, f->s[i], sett_add(tile, i));
    }
}

static void weigh_split(sett_build *b, void *user)
{
    weigh *f = user;
    sett_val *from = f->w.from;
    f->of = (attention_work){.row = f->w.row, .head = sett_mul(f->w.head, f->x->group.divisor), .request = f->w.request, .rows = f->x->t.M, .keys = f->w.keys};
    sett_fill(f->sum, 0.0), sett_fill(f->max, -INFINITY);
    sett__attention_scores_begin(b, &f->scores);
    sett_consumer_wait(f->query);
    if (f->x->o->rows == ROWS && !f->x->o->causal && !f->x->o->window) { /* of fewer rows K is what is waited for, and each tile leaves as soon as it can; bounds of each row have no registers beside two tiles */
        from = sett_sub(f->w.to, sett_mod(sett_sub(f->w.to, from), 2));
        sett_for (b, tile, f->w.from, from, 2)
            weigh_two(b, f, tile);
    }
    sett_for (b, tile, from, f->w.to, 1)
        weigh_tile(b, f, tile);
    sett_if (b, sett_ge(f->w.from, f->w.to))
        sett_consumer_release(f->query);
    sett_pipeline_advance(f->query);
    sett_producer_acquire(f->put);
    tell(b, f, (sett_val *const[]){sett_load(f->max), sett_warp_reduce(sett_load(f->sum), SETT_ADD, 4)});
    sett_producer_commit(f->put);
    sett_pipeline_advance(f->put);
}

static void weigh_all(sett_build *b, const decode_parts *x)
{
    const int keys = x->o->tuning.keys;
    const sett_dtype t = x->o->dtype;
    weigh f = {.x = x, .thread = sett_sub(sett_thread_idx(b, 0), SUM_GROUPS * GROUP), .scores = {.b = b, .t = &x->scores, .heads = &x->group}};
    f.scores.w = &f.of;
    f.qk = sett_make_tiled_mma(sett_wgmma(b, .a = t, .b = t, .acc = SETT_F32, .n = keys), T(1, 1, 1), ALL);
    for (int i = 0; i < 2; i++)
        f.s[i] = sett_make_fragment_C(f.qk, sett_partition_shape_C(f.qk, T(ROWS, keys)));
    f.max = sett_make_rmem_tensor(b, SETT_F32, T(1, 2, 1), 1, 1), f.sum = sett_make_rmem_tensor(b, SETT_F32, T(1, 2, 1), 1, 1);
    f.scores.crd = sett_partition_C(sett_get_slice(f.qk, f.thread), sett_identity_tensor(b, ROWS, keys));
    f.scores.columns = sett_partition_C(sett_get_slice(f.qk, 0), sett_identity_tensor(b, ROWS, keys));
    f.keys = sett_pipeline_consumer_state(x->keys), f.keys_read = sett_pipeline_consumer_state(x->keys), f.more = sett_pipeline_consumer_state(x->more), f.more_read = sett_pipeline_consumer_state(x->more), f.query = sett_pipeline_consumer_state(x->queries), f.put = sett_pipeline_producer_state(x->weighed);
    const attention_units units = sett__decode_units(b, x);
    sett__decode_each(b, x, &units, &f.w, weigh_split, &f);
}

/* ---- sums --------------------------------------------------------------------------------------------------------- */
typedef struct sums {
    const decode_parts *x;
    decode_work w;
    sett_val *group, *thread; /* of the group */
    sett_tiled_mma *pv;
    sett_tensor *o, *fade; /* registers */
    sett_pipeline_state *keys, *get;
} sums;

static sett_val *told(const sums *f, int row, int which)
{
    return sett_at(f->x->told, row_of(f->thread, row), which);
}

static void add(sett_build *b, const sums *f)
{
    const decode_parts *x = f->x;
    sett_thr_mma *mine = sett_get_slice(f->pv, f->thread);
    sett_tensor *fp = sett_make_fragment_A(f->pv, sett_partition_A(mine, sett_slice(x->p, ALL, ALL, 0)));
    sett_tensor *fv = sett_make_fragment_B(f->pv, sett_partition_B(mine, across(x, f->keys)));
    sett_consumer_wait(f->get); /* who weighed has waited for the keys */
    for (int i = 0; i < 2; i++)
        sett_set(f->fade, told(f, i, 0), i);
    sett_if (b, sett_vote_any_sync(sett_or(sett_ne(sett_at(f->fade, 0), 1.0), sett_ne(sett_at(f->fade, 1), 1.0))))
        sett_store(f->o, sett_mul(sett_load(f->o), sett_load(f->fade)));
    sett_gemm(f->pv, f->o, fp, fv, f->o);
    sett_mma_commit(b);
    sett_mma_wait(b, 0);
    sett_consumer_release(f->keys);
    for (int i = 0; i < SUM_GROUPS; i++)
        sett_pipeline_advance(f->keys); /* the other half is the other group's */
    next(f->get);
}

static void finish(sett_build *b, const sums *f)
{
    decode_parts y = *f->x;
    const decode_parts *x = &y;
    sett_val *lane = sett_lane_idx(b), *thread = sett_mod(sett_shuffle_sync(sett_thread_idx(b, 0), lane, WARP), GROUP); /* the same, as the rows below: what follows from them takes no registers before */
    y.rows = sett_shuffle_sync(y.rows, lane, WARP);
    const bool direct = !x->o->sinks && !x->o->exact; /* which have no registers beside 128 sums: such go through PARTIAL in any case */
    sett_consumer_wait(f->get);
    for (int i = 0; i < 2; i++) {
        const decode_place at = {row_of(thread, i), sett_add(sett_mul(f->group, SUM_COLUMNS), sett_mul(sett_mod(thread, 4), 2)), sett_make_layout(b, T(T(2, SUM_N / 8), SUM_COLUMNS / SUM_N), T(T(1, 8), SUM_N)), NULL};
        const decode_part of = {sett_load(sett_slice(f->o, T(ALL, i, ALL), 0, ALL)), told(f, i, 0), told(f, i, 1)};
        sett_val *in = sett_lt(sett_add(f->w.row, at.row), x->rows);
        sett_if (b, x->o->rows < ROWS ? sett_and(in, sett_lt(at.row, x->o->rows)) : in)
            sett__decode_store(b, x, &f->w, &at, &of, direct);
    }
    next(f->get);
    sett_if (b, direct ? sett_gt(f->w.units, 1) : sett_const(b, SETT_BOOL, 1))
        sett__decode_combine(b, x, &f->w, &(decode_crew){sett_thread_idx(b, 0), SUM_GROUPS * GROUP});
}

static void sum_split(sett_build *b, void *user)
{
    sums *f = user;
    sett_fill(f->o, 0.0);
    sett_for (b, tile, f->w.from, f->w.to, 1)
        add(b, f);
    finish(b, f);
}

static void sum_all(sett_build *b, const decode_parts *x, sett_val *group)
{
    const sett_dtype t = x->o->dtype;
    sums f = {.x = x, .group = group, .thread = sett_mod(sett_thread_idx(b, 0), GROUP)};
    f.pv = sett_make_tiled_mma(sett_wgmma(b, .a = t, .b = t, .acc = SETT_F32, .n = SUM_N, .b_major = SETT_MN_MAJOR), T(1, 1, 1), ALL);
    f.o = sett_make_fragment_C(f.pv, sett_partition_shape_C(f.pv, T(ROWS, SUM_COLUMNS)));
    f.fade = sett_make_rmem_tensor(b, SETT_F32, T(1, 2, 1), 1, 1);
    f.keys = sett_pipeline_consumer_state(x->keys);
    sett_if (b, sett_eq(group, 1))
        sett_pipeline_advance(f.keys);
    f.get = sett_pipeline_consumer_state(x->weighed);
    const attention_units units = sett__decode_units(b, x);
    sett__decode_each(b, x, &units, &f.w, sum_split, &f);
}

static void run(sett_build *b, const decode_parts *x)
{
    enum { LOADS = 48, WEIGHS = 112, SUMS = 176 }; /* registers */
    sett_val *warp = sett_make_warp_uniform(sett_warp_idx(b)), *group = sett_floordiv(warp, GROUP / WARP);
    sett_if (b, sett_gt(group, SUM_GROUPS)) {
        sett_setmaxregister_decrease(b, LOADS);
        sett_if (b, sett_eq(warp, (SUM_GROUPS + 1) * GROUP / WARP))
            sett_if (b, sett_elect_one(b))
                sett__decode_produce(b, x);
        sett_if (b, sett_gt(warp, (SUM_GROUPS + 1) * GROUP / WARP))
            load_queries(b, x);
    }
    sett_else (b) {
        sett_if (b, sett_eq(group, SUM_GROUPS)) {
            sett_setmaxregister_decrease(b, WEIGHS);
            weigh_all(b, x);
        }
        sett_else (b) {
            sett_setmaxregister_increase(b, SUMS);
            sum_all(b, x, group);
        }
    }
}

void sett_attention_mla(sett_build *b, const void *user)
{
    static const decode_kind kind = {MORE, THREADS, places, load, run};
    sett_attention_mla_options o;
    if (!sett__kernel_options(b, &sett__attention_mla, user, &o))
        return;
    const sett_attention_decode_options decode = decode_of(&o);
    sett__decode_body(SETT_HERE, b, &decode, &kind, NULL);
}

sett_status sett_attention_mla_workspace(const sett_attention_mla_options *user, int requests, int heads, int heads_k, int queries, int keys, size_t *partial, size_t *left, sett_error *err)
{
    static const char call[] = "sett_attention_mla_workspace";
    sett_attention_mla_options o = {0};
    *partial = *left = 0;
    if (user && user->size <= sizeof o)
        memcpy(&o, user, user->size);
    const sett_status s = sett_kernels_choose(sett_attention_mla, user ? (void *)&o : NULL, NULL, err);
    const sett_attention_decode_options decode = decode_of(&o);
    return s ? sett__said_by(call, s, err) : sett__decode_workspace(&decode, call, (const int[]){requests, heads, heads_k, queries, keys}, partial, left, err);
}

#define P(member_) SETT_FAMILY_PARAM(sett_attention_mla_options, member_)
#define TUNED(member_) TUNING_PARAM(sett_attention_mla_options, member_)
static const sett_family_param params_of[] = {P(dtype), P(no_pdl), P(exact), P(rows), P(lengths), P(page), P(causal), P(window), P(sinks), P(lse), TUNED(split), TUNED(keys), TUNED(stages), TUNED(blocks)};
FAMILY_OF(attention_mla, params_of, .only = "sm_90a");
