/* SPDX-License-Identifier: Apache-2.0 */
/* O = softmax(Q K^T / sqrt(d)) V on Hopper, for each head. Two warp groups have 64 queries each. While a group's S = Q K^T of the next
 * keys and its O += P V of these are under way, it computes the softmax of the S that has come first. P goes from the accumulator's
 * registers to A of the second product as they are. */
#include "kernels.h"
#include <float.h>
#include <math.h>

enum { ROWS = 128, KEYS = 128, STAGES = 2, GROUP = 128, PANEL = 64 };

static void settle(void *options, choice *c)
{
    sett_attention_options *o = options;
    if (o->dtype != SETT_F16 && o->dtype != SETT_BF16)
        REFUSE(c, ".dtype is %s: f16 or bf16", o->dtype ? sett_dtype_name(o->dtype) : "not given");
    sett__either(&o->d, 128);
    if (o->d != 64 && o->d != 128)
        REFUSE(c, ".d is %d: 64 or 128", o->d);
    sett__in_range(c, "exact", o->exact, 0, 1);
}

typedef struct parts parts;
typedef struct flash flash;

/* The keys of a block, by tiles of KEYS: from tile `first` on, `tiles` of them, and no key from `end` on. */
typedef struct bounds {
    sett_arg first;
    sett_val *tiles, *end;
} bounds;

/* A kind of attention. A mask is its bounds, outside which keys are not even loaded, and a score, which gives -INFINITY to a key that
 * its query does not see. */
typedef struct hooks {
    bounds (*bounds)(const parts *);
    sett_val *(*score)(const flash *, sett_val *s, sett_val *tile);            /* of S = Q K^T, before it is scaled */
    sett_tensor *(*source)(const parts *, sett_tensor *tiles, sett_val *tile); /* the box of a tile of K or V */
} hooks;

struct parts {
    const sett_attention_options *o;
    const hooks *by;
    sett_tensor *q, *k, *v; /* shared memory: (ROWS,d), (KEYS,d,STAGES), (d,KEYS,STAGES) */
    sett_tma *tq, *tk, *tv, *to;
    sett_pipeline *query, *keys, *values;
    sett_val *m, *head, *batch, *N;
    bounds seen;
    sett_arg group; /* heads of Q that share one of K and V */
};

/* The i-th tile of keys: the last one first, which alone may end in the middle. */
static sett_val *tile_at(const parts *t, sett_arg i)
{
    return sett_add(sett_sub(sett_sub(t->seen.tiles, i), 1), t->seen.first);
}

/* ---- hooks -------------------------------------------------------------------------------------------- */
static bounds all_keys(const parts *t)
{
    return (bounds){.first = SETT_A(0), .tiles = sett_floordiv(sett_add(t->N, KEYS - 1), KEYS), .end = t->N};
}

static sett_val *same_score(const flash *f, sett_val *s, sett_val *tile)
{
    (void)f, (void)tile;
    return s;
}

static sett_tensor *in_order(const parts *t, sett_tensor *tiles, sett_val *tile)
{
    (void)t;
    return sett_slice(tiles, ALL, ALL, tile);
}

static const hooks without_mask = {.bounds = all_keys, .score = same_score, .source = in_order};

/* ---- the warp that loads ------------------------------------------------------------------------------ */
static void load(const parts *t, sett_tma *tma, sett_tensor *tiles, sett_val *tile, sett_tensor *ring, sett_pipeline_state *put)
{
    sett_pipeline_state *stage = sett_producer_acquire_and_advance(put);
    sett_tma_load(tma, t->by->source(t, tiles, tile), sett_slice(ring, ALL, ALL, sett_pipeline_stage(stage)), sett_pipeline_barrier(stage));
}

static void produce(sett_build *b, const parts *t)
{
    sett_pipeline_state *query = sett_pipeline_producer_state(t->query), *keys = sett_pipeline_producer_state(t->keys), *values = sett_pipeline_producer_state(t->values);
    sett_producer_acquire(query);
    sett_tma_load(t->tq, sett_local_tile(sett_tma_tensor(t->tq), T(ROWS, t->o->d), T(t->m, 0, t->head, t->batch)), t->q, sett_pipeline_barrier(query));
    sett_arg shared = sett_divmod(t->head, sett_make_fast_divmod(b, t->group)).quotient;
    sett_tensor *gK = sett_local_tile(sett_tma_tensor(t->tk), T(KEYS, t->o->d), T(ALL, 0, shared, t->batch));
    sett_tensor *gV = sett_local_tile(sett_tma_tensor(t->tv), T(t->o->d, KEYS), T(0, ALL, shared, t->batch));
    sett_for (b, i, 0, t->seen.tiles, 1) {
        sett_val *tile = tile_at(t, SETT_A(i));
        load(t, t->tk, gK, tile, t->k, keys);
        load(t, t->tv, gV, tile, t->v, values);
    }
}

/* ---- the warp groups that multiply -------------------------------------------------------------------- */
struct flash {
    const parts *t;
    sett_tiled_mma *qk, *pv;
    sett_thr_mma *qk_mine, *pv_mine;
    sett_tensor *s[2], *p, *o, *max, *sum; /* registers: S of the first keys, and of the others */
    sett_tensor *crd; /* (query, key) of the elements of S, within the tile */
    sett_pipeline_state *keys, *values;
    double scale; /* log2(e) / sqrt(d) */
};

static void scores(sett_build *b, const flash *f, sett_tensor *s)
{
    sett_consumer_wait(f->keys);
    sett_tensor *fq = sett_make_fragment_A(f->qk, sett_partition_A(f->qk_mine, f->t->q));
    sett_tensor *fk = sett_make_fragment_B(f->qk, sett_partition_B(f->qk_mine, sett_slice(f->t->k, ALL, ALL, sett_pipeline_stage(f->keys))));
    sett_gemm(f->qk, s, fq, fk, s, .overwrite = true);
    sett_mma_commit(b);
}

static void update(sett_build *b, const flash *f)
{
    sett_consumer_wait(f->values);
    sett_tensor *fv = sett_make_fragment_B(f->pv, sett_partition_B(f->pv_mine, sett_slice(f->t->v, ALL, ALL, sett_pipeline_stage(f->values))));
    sett_gemm(f->pv, f->o, f->p, fv, f->o);
    sett_mma_commit(b);
}

/* Of what a thread has of an accumulator, ((2,2,n/8),1,1), mode (0,1) is the row: one number each, of this thread's columns. */
static sett_val *by_rows(sett_val *x, sett_binary_op op, double init)
{
    return sett_reshape(sett_reduce_by(x, op, init, T(T(1, ALL, 1), 1, 1)), T(T(1, 2, 1), 1, 1));
}

/* 2^x. */
static sett_val *power(const flash *f, sett_val *x)
{
    return f->t->o->exact ? sett_exp2(x) : sett_exp2_approx(x);
}

/* P = 2^(scale (S - max)), by rows. *fade: by what the sums so far, and O, are to be multiplied. */
static sett_val *softmax(const flash *f, sett_val *s, sett_val **fade)
{
    sett_val *was = sett_load(f->max), *now = sett_max(was, sett_warp_reduce(by_rows(s, SETT_MAX, -INFINITY), SETT_MAX, 4));
    sett_val *p = power(f, sett_sub(sett_mul(s, f->scale), sett_mul(now, f->scale)));
    *fade = power(f, sett_mul(sett_sub(was, now), f->scale));
    sett_store(f->sum, sett_fma(sett_load(f->sum), *fade, by_rows(p, SETT_ADD, 0.0)));
    sett_store(f->max, now);
    return p;
}

static void keep(const flash *f, sett_val *p) /* the same registers in half the bits, by their names in A */
{
    sett_store(f->p, sett_to(sett_reshape(p, sett_shape(sett_tensor_layout(f->p))), f->t->o->dtype));
}

static void loop(sett_build *b, flash *f)
{
    const parts *t = f->t;
    sett_val *fade, *last = tile_at(t, SETT_A(0)), *left = sett_sub(t->seen.end, sett_mul(last, KEYS));
    f->crd = sett_partition_C(sett_get_slice(f->qk, sett_thread_idx(b, 0)), sett_identity_tensor(b, ROWS, KEYS));
    scores(b, f, f->s[0]);
    sett_mma_wait(b, 0);
    sett_consumer_release(f->keys), sett_pipeline_advance(f->keys);
    sett_val *within = sett_where(sett_elem_less(f->crd, T(ALL, left)), t->by->score(f, sett_load(f->s[0]), last), -INFINITY);
    keep(f, softmax(f, within, &fade)); /* keys past the end weigh nothing */
    sett_for (b, i, 1, t->seen.tiles, 1) {
        scores(b, f, f->s[1]);           /* in flight: S of the next keys, */
        update(b, f);                    /* and O += P V of these */
        sett_mma_wait(b, 1);             /* S has come */
        sett_consumer_release(f->keys), sett_pipeline_advance(f->keys);
        sett_val *p = softmax(f, t->by->score(f, sett_load(f->s[1]), tile_at(t, SETT_A(i))), &fade);
        sett_mma_wait(b, 0);             /* O and P are free */
        sett_consumer_release(f->values), sett_pipeline_advance(f->values);
        sett_store(f->o, sett_mul(sett_load(f->o), fade));
        keep(f, p);
    }
    update(b, f);
    sett_mma_wait(b, 0);
}

/* O by its sums, through the shared memory that held the group's queries. */
static void store(sett_build *b, const flash *f, sett_val *warp, sett_val *group)
{
    const parts *t = f->t;
    sett_tensor *sO = sett_smem_alias(t->q, t->o->dtype, sett_smem_layout(b, t->o->dtype, SETT_K_MAJOR, ROWS, t->o->d));
    sett_tensor *gO = sett_local_tile(sett_tma_tensor(t->to), T(ROWS, t->o->d), T(t->m, 0, t->head, t->batch)), *out = sett_make_fragment_like(f->o, t->o->dtype);
    sett_tiled_copy *r2s = sett_make_tiled_copy_C(sett_stmatrix(b, t->o->dtype, 4, false), f->pv);
    sett_thr_copy *mine = sett_get_slice(r2s, sett_thread_idx(b, 0));
    sett_val *sum = sett_warp_reduce(sett_load(f->sum), SETT_ADD, 4);
    sett_store(out, sett_to(sett_mul(sett_load(f->o), t->o->exact ? sett_rcp(sum) : sett_rcp_approx(sum)), t->o->dtype));
    sett_barrier(b, sett_add(group, 1), GROUP); /* the group's products have read them */
    sett_copy(r2s, sett_retile(mine, out), sett_partition_D(mine, sO));
    sett_fence_view_async_shared(b);
    sett_barrier(b, sett_add(group, 1), GROUP);
    sett_if (b, sett_eq(sett_mod(warp, 4), 0)) {
        for (int i = 0; i < t->o->d / PANEL; i++)
            sett_tma_store(t->to, sett_local_tile(sO, T(64, PANEL), T(group, i)), sett_local_tile(gO, T(64, PANEL), T(group, i)));
        sett_tma_store_commit(b);
        sett_tma_store_wait_read(b, 0);
    }
}

static void consume(sett_build *b, const parts *t, sett_val *warp, sett_val *group)
{
    flash f = {.t = t, .scale = 1.4426950408889634 / sqrt(t->o->d), .keys = sett_pipeline_consumer_state(t->keys), .values = sett_pipeline_consumer_state(t->values)};
    f.qk = sett_make_tiled_mma(sett_wgmma(b, .a = t->o->dtype, .b = t->o->dtype, .acc = SETT_F32, .n = KEYS), T(ROWS / 64, 1, 1), ALL);
    f.pv = sett_make_tiled_mma(sett_wgmma(b, .a = t->o->dtype, .b = t->o->dtype, .acc = SETT_F32, .n = t->o->d, .a_from = SETT_RMEM, .b_major = SETT_MN_MAJOR), T(ROWS / 64, 1, 1), ALL);
    f.qk_mine = sett_get_slice(f.qk, sett_mul(group, GROUP));
    f.pv_mine = sett_get_slice(f.pv, sett_mul(group, GROUP));
    for (int i = 0; i < 2; i++)
        f.s[i] = sett_make_fragment_C(f.qk, sett_partition_shape_C(f.qk, T(ROWS, KEYS)));
    f.o = sett_make_fragment_C(f.pv, sett_partition_shape_C(f.pv, T(ROWS, t->o->d)));
    f.p = sett_make_fragment_A(f.pv, sett_partition_shape_A(f.pv, T(ROWS, KEYS)));
    f.max = sett_make_rmem_tensor(b, SETT_F32, T(1, 2, 1), 1, 1);
    f.sum = sett_make_rmem_tensor(b, SETT_F32, T(1, 2, 1), 1, 1);
    sett_fill(f.max, -FLT_MAX), sett_fill(f.sum, 0.0), sett_fill(f.o, 0.0);
    sett_consumer_wait(sett_pipeline_consumer_state(t->query));
    loop(b, &f);
    store(b, &f, warp, group);
}

/* (rows, d, heads, batch) of an argument (batch, heads, rows, d), whose rows, heads and batches lie anywhere: at multiples of symbols. */
static sett_tensor *param(sett_build *b, const char *name, const sett_attention_options *o, sett_val *batch, sett_arg heads, sett_val *rows)
{
    sett_val *apart[3];
    for (int i = 0; i < 3; i++)
        apart[i] = sett_sym(b, (const char[]){'L', *name, (char)('0' + i), 0}, .div = 16 / (sett_dtype_bits(o->dtype) / 8));
    sett_layout *l = sett_make_layout(b, T(batch, heads, rows, o->d), T(apart[0], apart[1], apart[2], 1));
    return sett_select(sett_param(b, name, o->dtype, l, .align = 16), 2, 3, 1, 0);
}

static void run(sett_build *b, const parts *t)
{
    sett_val *warp = sett_make_warp_uniform(sett_warp_idx(b)), *group = sett_floordiv(warp, 4);
    sett_if (b, sett_ge(group, ROWS / 64)) {
        sett_setmaxregister_decrease(b, 24);
        sett_if (b, sett_eq(warp, ROWS / 16))
            sett_if (b, sett_elect_one(b))
                produce(b, t);
    }
    sett_else (b) {
        sett_setmaxregister_increase(b, 240);
        consume(b, t, warp, group);
    }
}

void sett_attention(sett_build *b, const void *user)
{
    sett_attention_options o;
    if (!sett__kernel_options(b, &sett__attention, user, &o))
        return;
    sett_val *B = sett_sym(b, "B"), *H = sett_sym(b, "H"), *HK = sett_sym(b, "HK"), *M = sett_sym(b, "M"), *N = sett_sym(b, "N");
    const sett_arg group = SETT_A(sett_floordiv(H, HK));
    sett_tensor *Q = param(b, "Q", &o, B, SETT_A(H), M), *K = param(b, "K", &o, B, SETT_A(HK), N), *V = param(b, "V", &o, B, SETT_A(HK), N);
    sett_tensor *O = param(b, "O", &o, B, SETT_A(sett_mul(group, HK)), M); /* so launches check that HK divides H */
    sett_grid(b, sett_ceil_div(M, ROWS), H, B);
    sett_block(b, 2 * ROWS + GROUP);
    parts t = {.o = &o, .by = &without_mask, .m = sett_block_idx(b, 0), .head = sett_block_idx(b, 1), .batch = sett_block_idx(b, 2), .group = group, .N = N};
    t.seen = t.by->bounds(&t);
    t.q = sett_make_smem_tensor(b, o.dtype, sett_smem_layout(b, o.dtype, SETT_K_MAJOR, ROWS, o.d), 1024);
    t.k = sett_make_smem_tensor(b, o.dtype, sett_smem_layout(b, o.dtype, SETT_K_MAJOR, KEYS, o.d, STAGES), 1024);
    t.v = sett_make_smem_tensor(b, o.dtype, sett_smem_layout(b, o.dtype, SETT_MN_MAJOR, o.d, KEYS, STAGES), 1024);
    t.tq = sett_make_tma(Q, .smem = t.q, .tile = T(ROWS, o.d));
    t.tk = sett_make_tma(K, .smem = t.k, .tile = T(KEYS, o.d));
    t.tv = sett_make_tma(sett_select(V, 1, 0, 2, 3), .smem = t.v, .tile = T(o.d, KEYS));
    t.to = sett_make_tma(O, .layout = sett_smem_layout(b, o.dtype, SETT_K_MAJOR, 64, PANEL), .tile = T(64, PANEL));
    sett_pipeline **pipe[] = {&t.query, &t.keys, &t.values};
    sett_tma *const from[] = {t.tq, t.tk, t.tv};
    for (int i = 0; i < 3; i++)
        *pipe[i] = sett_pipeline_tma_async(b, .stages = i ? STAGES : 1, .tx_bytes = sett_tma_bytes(from[i]), .consumers = SETT_WARP_GROUPS(ROWS / 64), .defer_sync = true);
    sett_pipeline_init_arrive(b), sett_pipeline_init_wait(b);
    sett__begin(b, o.no_pdl);
    run(b, &t);
}

#define P(member_) SETT_FAMILY_PARAM(sett_attention_options, member_)
static const sett_family_param params[] = {P(dtype), P(no_pdl), P(d), P(exact)};
FAMILY_OF(attention, params, .only = "sm_90a");
