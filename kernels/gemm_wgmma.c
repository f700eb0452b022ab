/* SPDX-License-Identifier: Apache-2.0 */
/* C = epilogue(A B^T) on Hopper: two warp groups multiply by wgmma what a third loads by multicast TMA through a pipeline; clusters of
 * two blocks share B; blocks stay and take tile after tile; the result goes through shared memory and TMA while the next tile is loaded.
 * For few rows of A one warp group multiplies, of a block by itself: 64 rows, of which those of the tile are loaded and stored. */
#include "epilogue.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { GROUP = 128, LINE = 128, RASTER = 8, BARRIERS = 1024, CHUNKS = 8 };

/* The one that has wgmma. */
static const device *hopper(void)
{
    return sett__device_of(90);
}

static int bytes_of(sett_dtype t)
{
    return sett_dtype_bits(t) / 8;
}

/* Of C, of a tile. */
static int columns(const sett_gemm_wgmma_options *o)
{
    return o->swiglu ? o->tuning.bn / 2 : o->tuning.bn;
}

/* Blocks that share B. */
static int cluster_of(const sett_gemm_wgmma_options *o)
{
    return o->tuning.bm == 128 ? 2 : 1;
}

/* Rows that a block multiplies: wgmma has 64 at least. */
static int rows_of(const sett_gemm_wgmma_options *o)
{
    return o->tuning.bm < 64 ? 64 : o->tuning.bm;
}

/* Warp groups that multiply, 64 rows each. */
static int groups_of(const sett_gemm_wgmma_options *o)
{
    return rows_of(o) / 64;
}

/* Rows of C that a warp group stores. */
static int stored_rows(const sett_gemm_wgmma_options *o)
{
    return o->tuning.bm / groups_of(o);
}

static int panel_of(const sett_gemm_wgmma_options *o)
{
    return LINE / bytes_of(o->c);
}

/* Sums that a thread converts and stores at a time. */
static int each_of(const sett_gemm_wgmma_options *o)
{
    return bytes_of(o->c) == 2 ? 8 : 2;
}

static bool has_columns(const sett_gemm_wgmma_options *o)
{
    return columns(o) % panel_of(o) == 0 && columns(o) % 64 == 0;
}

static int most_stages(const sett_gemm_wgmma_options *o)
{
    return (hopper()->shared_memory_bytes - BARRIERS - rows_of(o) * columns(o) * bytes_of(o->c)) / ((rows_of(o) + o->tuning.bn) * LINE);
}

/* What a product takes with this bn, in units of a row of B: the rounds of tiles that run at once, times the tile's rows of B and a constant
 * for what each tile takes besides. The constant fits the times of bench/RESULTS.md, "tiles of few rows". */
static int64_t cost(const sett_gemm_wgmma_options *o, int bn)
{
    enum { SHARE = 32 };
    const int64_t high = (int64_t)o->tuning.bm * cluster_of(o), wide = o->swiglu ? bn / 2 : bn;
    const int64_t tiles = ((o->tuning.m + high - 1) / high) * ((o->tuning.n + wide - 1) / wide);
    return (tiles + o->tuning.clusters - 1) / o->tuning.clusters * (bn + SHARE);
}

/* Chooses what the caller left 0 of .bm, .bn and .clusters, by .m and .n. */
static void choose_tile(sett_gemm_wgmma_options *o)
{
    sett_gemm_wgmma_tuning *tune = &o->tuning;
    sett__either(&tune->bm, !tune->m || tune->m > 128 ? 128 : tune->m > 32 ? 64 : tune->m > 16 ? 32 : 16);
    sett__either(&tune->clusters, hopper()->multiprocessors / cluster_of(o));
    if (tune->bn)
        return;
    int best = o->c == SETT_F32 && !o->swiglu ? 128 : 256;
    for (tune->bn = best; tune->m && tune->n && tune->bn >= 64; tune->bn -= 64)
        if (has_columns(o) && most_stages(o) >= 2 && cost(o, tune->bn) < cost(o, best))
            best = tune->bn;
    tune->bn = best;
}

static void settle(void *options, choice *c)
{
    sett_gemm_wgmma_options *o = options;
    sett_gemm_wgmma_tuning *tune = &o->tuning;
    const sett_dtype t = o->dtype;
    if (t != SETT_F16 && t != SETT_BF16 && t != SETT_F8E4M3FN && t != SETT_F8E5M2 && t != SETT_I8)
        REFUSE(c, ".dtype is %s: f16, bf16, f8E4M3FN, f8E5M2 or i8", t ? sett_dtype_name(t) : "not given");
    o->c = o->c ? o->c : t == SETT_F16 ? t : SETT_BF16;
    if (!sett__is_small_float(o->c) && o->c != SETT_F8E4M3FN && o->c != SETT_F8E5M2)
        REFUSE(c, ".c is %s: f32, f16, bf16, f8E4M3FN or f8E5M2", sett_dtype_name(o->c));
    sett__in_range(c, "scaled", o->scaled, 0, 1);
    sett__in_range(c, "swiglu", o->swiglu, 0, 1);
    sett__in_range(c, "residual", o->residual, 0, 1);
    sett__in_range(c, "m", tune->m, 0, INT_MAX);
    sett__in_range(c, "n", tune->n, 0, INT_MAX);
    sett__in_range(c, "clusters", tune->clusters, 0, 1 << 20);
    if (o->swiglu && (o->scaled || t == SETT_I8))
        REFUSE(c, ".swiglu is 1: %s", o->scaled ? "then .scaled is 0" : ".dtype is a float then");
    if (*c->why)
        return;
    choose_tile(o);
    if (tune->bm != 128 && tune->bm != 64 && tune->bm != 32 && tune->bm != 16)
        REFUSE(c, ".bm is %d: 128, 64, 32 or 16", tune->bm);
    sett__in_range(c, "bn", tune->bn, 64, 256);
    if (*c->why)
        return;
    if (!has_columns(o))
        REFUSE(c, ".bn is %d: %s a multiple of 64, and of the %d columns of %s in 128 bytes", tune->bn, o->swiglu ? "half of it is" : "it is", panel_of(o), sett_dtype_name(o->c));
    const int most = most_stages(o);
    if (most < 2)
        REFUSE(c, ".bn is %d: with C of %s two stages have no room", tune->bn, sett_dtype_name(o->c));
    sett__either(&tune->stages, most > CHUNKS ? CHUNKS : most);
    if (!*c->why)
        sett__in_range(c, "stages", tune->stages, 2, most);
    tune->m = tune->n = 0; /* the same tile is the same kernel */
}

/* A part of a tile: what its epilogue is given. */
typedef struct place {
    sett_epilogue_tile base;
    sett_thr_copy *thread; /* of the copy from registers to the tile */
    sett_arg row, tiler, tile; /* the tile's first row, and the tile from there on */
    int part;
} place;

static sett_tensor *partition(sett_site site, const sett_epilogue_tile *base, sett_tensor *whole)
{
    const place *p = (const place *)base;
    (void)site;
    return sett_slice(sett_partition_S(p->thread, sett_local_tile(sett_domain_offset(whole, p->row, 0), p->tiler, p->tile)), T(ALL, p->part), 0, 0);
}

typedef struct parts {
    const sett_gemm_wgmma_options *o;
    int bk;
    sett_tensor *a, *b, *c; /* shared memory: (rows,bk,stages), (bn,bk,stages), (rows,columns) */
    sett_tma *ta, *tb, *tc;
    sett_pipeline *pipe;
    sett_scheduler *tiles;
    sett_arg mtiles;
    sett_val *ktiles, *N;
    sett_gemm_epilogue then;
    void *user;
} parts;

/* One load of B's tile: its place in shared memory, (TMA,stages), and its coordinates, (TMA,k). In a cluster block `part` loads one half of
 * the rows for both blocks. Of .swiglu part 0 is the gate's rows, and part 1 those of up, which are N rows further on in B. In a block by
 * itself, without .swiglu, part 0 is the whole tile. */
static void part_of_b(sett_build *b, const parts *t, sett_arg n, sett_val *part, sett_tensor **sB, sett_tensor **gB)
{
    sett_tensor *rows = sett_tma_tensor(t->tb);
    if (t->o->swiglu) {
        rows = sett_local_tile(sett_domain_offset(rows, sett_mul(part, t->N), 0), T(columns(t->o), t->bk), T(n, ALL));
        sett_tma_partition(t->tb, 0, NULL, sett_local_tile(t->b, T(columns(t->o), t->bk), T(part, 0)), rows, sB, gB);
    } else {
        rows = sett_local_tile(rows, T(t->o->tuning.bn, t->bk), T(n, ALL));
        sett_tma_partition(t->tb, part, sett_make_layout(b, cluster_of(t->o)), t->b, rows, sB, gB);
    }
}

static void produce(sett_build *b, const parts *t)
{
    const int cluster = cluster_of(t->o), loads = t->o->swiglu && cluster == 1 ? 2 : 1;
    sett_pipeline_state *put = sett_pipeline_producer_state(t->pipe);
    sett_work_tile *w = sett_initial_work_tile(t->tiles);
    sett_val *both = cluster == 2 ? sett_const(b, SETT_I32, 3) : NULL;
    sett_while (b, sett_is_valid_tile(w)) {
        sett_arg at = sett_tile_coord(w);
        /* A box that lies outside takes longer than one inside: a block without a tile reads the last one. */
        sett_arg m = cluster == 2 ? sett_min(sett_get(at, 0), sett_sub(t->mtiles, 1)) : sett_get(at, 0);
        sett_tensor *gA = sett_local_tile(sett_tma_tensor(t->ta), T(t->o->tuning.bm, t->bk), T(m, ALL)), *sB[2], *gB[2];
        for (int i = 0; i < loads; i++)
            part_of_b(b, t, sett_get(at, 1), cluster == 2 ? sett_block_idx_in_cluster(b) : sett_const(b, SETT_I32, i), &sB[i], &gB[i]);
        sett_for (b, k, 0, t->ktiles, 1) {
            sett_producer_acquire(put);
            sett_val *s = sett_pipeline_stage(put);
            sett_tma_load(t->ta, sett_slice(gA, ALL, ALL, k), sett_local_tile(sett_slice(t->a, ALL, ALL, s), T(t->o->tuning.bm, t->bk), T(0, 0)), sett_pipeline_barrier(put));
            for (int i = 0; i < loads; i++)
                sett_tma_load(t->tb, sett_slice(gB[i], ALL, k), sett_slice(sB[i], ALL, s), sett_pipeline_barrier(put), .mask = both);
            sett_pipeline_advance(put);
        }
        sett_advance_to_next_work(w);
    }
}

/* A warp group has 64 rows, of n columns. */
static sett_tiled_mma *product_of(sett_build *b, const sett_gemm_wgmma_options *o, int n)
{
    sett_mma_atom *atom = sett_wgmma(b, .a = o->dtype, .b = o->dtype, .acc = o->dtype == SETT_I8 ? SETT_I32 : SETT_F32, .n = n);
    return sett_make_tiled_mma(atom, T(groups_of(o), 1, 1), ALL);
}

/* acc = or += the stage's product, in the background. */
static void k_block(sett_build *b, const parts *t, sett_tiled_mma *mma, sett_thr_mma *mine, sett_tensor *acc, sett_pipeline_state *get, bool first)
{
    sett_consumer_wait(get);
    sett_val *s = sett_pipeline_stage(get);
    sett_tensor *fA = sett_make_fragment_A(mma, sett_partition_A(mine, sett_slice(t->a, ALL, ALL, s))); /* descriptors */
    sett_tensor *fB = sett_make_fragment_B(mma, sett_partition_B(mine, sett_slice(t->b, ALL, ALL, s)));
    sett_gemm(mma, acc, fA, fB, acc, .overwrite = first);
    sett_mma_commit(b);
}

/* The sums of columns [0, columns), or behind them, of .swiglu: a fragment of a tile of so many. */
static sett_tensor *sums_of(sett_build *b, const parts *t, sett_tensor *acc, int half)
{
    const int n = columns(t->o);
    return sett_slice(sett_composition(acc, sett_make_layout(b, T(T(2, 2, n / 8), 1, 1, 2), T(T(1, 2, 4), 0, 0, n / 2))), ALL, ALL, ALL, half);
}

/* Panel i of the tile: from[], sums of each thread and what they are multiplied by or NULL, to sC. */
static void fill_panel(sett_build *b, const parts *t, int i, sett_tiled_copy *r2s, place *at, sett_tensor *const from[2], sett_tensor *sC)
{
    const int each = each_of(t->o), parts_of = panel_of(t->o) / 2 / each;
    sett_tensor *held = sett_make_rmem_tensor(b, t->o->c, each);
    for (int j = i * parts_of; j < (i + 1) * parts_of; j++) {
        at->part = j;
        sett_arg shape = sett_shape(sett_slice(sett_partition_S(at->thread, t->c), T(ALL, j), 0, 0)); /* as sett_epilogue_partition gives it */
        sett_val *sums = sett_load(sett_slice(from[0], T(ALL, j), 0, 0));
        if (from[1])
            sums = sett_mul(sett__silu(sums), sett_load(sett_slice(from[1], T(ALL, j), 0, 0)));
        sett_val *x = t->then(&at->base, sett_reshape(sums, shape), t->user);
        sett_store(held, sett_reshape(sett_to(x, t->o->c), each));
        sett_copy(r2s, held, sett_slice(sC, T(ALL, j), 0, 0));
    }
}

/* A warp group's 64 rows, a panel of 128 bytes at a time: threads write it, and one begins its copy when the one of the last tile has
 * read the panel. What lies past the edges is left out, and what lies past the tile. */
static void store(sett_build *b, const parts *t, sett_tensor *acc, sett_val *group, sett_arg at)
{
    const sett_dtype d = t->o->c;
    const int high = stored_rows(t->o), cols = columns(t->o), panel = panel_of(t->o), panels = cols / panel, each = each_of(t->o);
    sett_copy_atom *move = each == 8 ? sett_stmatrix(b, d, 4, false) : sett_copy_universal(b, d, each * sett_dtype_bits(d));
    sett_tiled_copy *r2s = sett_make_tiled_copy_C(move, product_of(b, t->o, cols));
    sett_thr_copy *to = sett_get_slice(r2s, sett_thread_idx(b, 0));
    sett_tensor *from[2] = {sett_retile(to, t->o->swiglu ? sums_of(b, t, acc, 0) : acc), t->o->swiglu ? sett_retile(to, sums_of(b, t, acc, 1)) : NULL};
    sett_tensor *sC = sett_partition_D(to, t->c);
    sett_val *warp = sett_mod(sett_make_warp_uniform(sett_warp_idx(b)), 4);
    sett_tensor *gC = sett_local_tile(sett_tma_tensor(t->tc), T(t->o->tuning.bm, cols), T(sett_get(at, 0), sett_get(at, 1)));
    place here = {.base = {.b = b, .partition = partition}, .thread = to, .row = sett_mul(sett_get(at, 0), t->o->tuning.bm), .tiler = sett_tuple(b, rows_of(t->o), cols), .tile = sett_tuple(b, 0, sett_get(at, 1))};
    for (int i = 0; i < panels; i++) {
        sett_tma_store_wait_read(b, panels - 1);
        sett_barrier(b, sett_add(group, 1), GROUP);
        if (high == 64)
            fill_panel(b, t, i, r2s, &here, from, sC);
        else
            sett_if (b, sett_lt(warp, high / 16)) /* a warp has 16 rows */
                fill_panel(b, t, i, r2s, &here, from, sC);
        sett_fence_view_async_shared(b);
        sett_barrier(b, sett_add(group, 1), GROUP);
        sett_if (b, sett_eq(warp, 0))
            sett_tma_store(t->tc, sett_local_tile(t->c, T(high, panel), T(group, i)), sett_local_tile(gC, T(high, panel), T(group, i)));
        sett_tma_store_commit(b);
    }
}

static void consume(sett_build *b, const parts *t, sett_val *group)
{
    const sett_gemm_wgmma_options *o = t->o;
    sett_tiled_mma *mma = product_of(b, o, o->tuning.bn);
    sett_thr_mma *mine = sett_get_slice(mma, sett_mul(group, GROUP)); /* of A and B all threads of a group have the same */
    sett_tensor *acc = sett_make_fragment_C(mma, sett_partition_shape_C(mma, T(rows_of(o), o->tuning.bn))), *stages = sett_var(b, SETT_I32, 0);
    sett_pipeline_state *get = sett_pipeline_consumer_state(t->pipe), *done = sett_pipeline_consumer_state(t->pipe);
    sett_work_tile *w = sett_initial_work_tile(t->tiles);
    sett_while (b, sett_is_valid_tile(w)) {
        sett_pipeline_state_set(get, sett_at(stages, 0));
        sett_set(stages, sett_add(sett_at(stages, 0), t->ktiles), 0);
        k_block(b, t, mma, mine, acc, get, true);
        sett_pipeline_state_copy(get, done), sett_pipeline_advance(get);
        sett_for (b, k, 1, t->ktiles, 1) {
            k_block(b, t, mma, mine, acc, get, false);
            sett_mma_wait(b, 1); /* all but the newest: the stage before it has been read */
            sett_consumer_release(done);
            sett_pipeline_state_copy(get, done), sett_pipeline_advance(get);
        }
        sett_mma_wait(b, 0);
        sett_consumer_release(done);
        store(b, t, acc, group, sett_tile_coord(w));
        sett_advance_to_next_work(w);
    }
    sett_tma_store_wait_read(b, 0);
}

static void run(sett_build *b, parts *t, sett_tensor *A, sett_tensor *B, sett_tensor *C)
{
    const sett_gemm_wgmma_options *o = t->o;
    const int panel = panel_of(o), groups = groups_of(o), cluster = cluster_of(o);
    t->a = sett_make_smem_tensor(b, o->dtype, sett_smem_layout(b, o->dtype, SETT_K_MAJOR, rows_of(o), t->bk, o->tuning.stages), 1024);
    t->b = sett_make_smem_tensor(b, o->dtype, sett_smem_layout(b, o->dtype, SETT_K_MAJOR, o->tuning.bn, t->bk, o->tuning.stages), 1024);
    t->c = sett_make_smem_tensor(b, o->c, sett_smem_layout(b, o->c, SETT_K_MAJOR, rows_of(o), columns(o)), 1024);
    t->ta = sett_make_tma(A, .layout = sett_smem_layout(b, o->dtype, SETT_K_MAJOR, o->tuning.bm, t->bk), .tile = T(o->tuning.bm, t->bk));
    t->tb = o->swiglu ? sett_make_tma(B, .layout = sett_smem_layout(b, o->dtype, SETT_K_MAJOR, columns(o), t->bk), .tile = T(columns(o), t->bk))
                     : sett_make_tma(B, .smem = t->b, .tile = T(o->tuning.bn, t->bk), .multicast = cluster);
    const int bytes = sett_tma_bytes(t->ta) + (1 + o->swiglu) * sett_tma_bytes(t->tb);
    const int high = stored_rows(o);
    t->tc = sett_make_tma(C, .layout = sett_smem_layout(b, o->c, SETT_K_MAJOR, high, panel), .tile = T(high, panel));
    t->pipe = sett_pipeline_tma_async(b, .stages = o->tuning.stages, .tx_bytes = bytes, .consumers = SETT_WARP_GROUPS(groups),
        .multicast = cluster == 2, .relaxed = true);
    sett__begin(b, o->no_pdl);
    sett_val *warp = sett_make_warp_uniform(sett_warp_idx(b)), *group = sett_floordiv(warp, 4);
    sett_if (b, sett_ge(group, groups)) {
        if (groups == 2) /* of 384 threads each has 168, of 256 what it needs */
            sett_setmaxregister_decrease(b, 24);
        sett_if (b, sett_eq(warp, 4 * groups))
            sett_if (b, sett_elect_one(b))
                produce(b, t);
    }
    sett_else (b) {
        if (groups == 2)
            sett_setmaxregister_increase(b, 240);
        consume(b, t, group);
    }
    if (cluster == 2)
        sett_cluster_sync(b); /* no block ends while its peer may arrive at its barriers */
}

void sett_gemm_wgmma_with_at(sett_site site, sett_build *b, const sett_gemm_wgmma_options *user, sett_gemm_epilogue then, void *data)
{
    sett_gemm_wgmma_options o;
    if (!sett__kernel_options(b, &sett__gemm_wgmma, user, &o))
        return;
    product p = {.b = b, .M = sett_sym(b, "M"), .N = sett_sym(b, "N", .div = 16 / bytes_of(o.c)), .c = o.c, .align_c = 16, .scaled = o.scaled, .residual = o.residual};
    sett_val *K = sett_sym(b, "K"), *M = p.M, *N = p.N;
    sett_tensor *A = sett__operand(&p, "A", o.dtype, 16, M, K, SETT_K_MAJOR), *B = sett__operand(&p, "B", o.dtype, 16, o.swiglu ? sett_mul(N, 2) : N, K, SETT_K_MAJOR);
    const outputs to = sett__outputs(&p);
    terms s = sett__terms(&p, &to, NULL);
    s.then = then, s.user = data, s.site = site, s.function = "sett_gemm_wgmma_with";
    parts t = {.o = &o, .bk = LINE / bytes_of(o.dtype), .then = sett__epilogue, .user = &s, .N = N};
    t.ktiles = sett_floordiv(sett_add(K, t.bk - 1), t.bk);
    t.mtiles = sett_ceil_div(M, o.tuning.bm);
    sett_block(b, GROUP * (groups_of(&o) + 1));
    if (cluster_of(&o) == 2)
        sett_cluster(b, 2);
    /* RASTER rows of clusters at a time, column by column: blocks that run at once read the same rows of A and B. */
    t.tiles = sett_tile_scheduler(b, .tiles = T(t.mtiles, sett_ceil_div(N, columns(&o))), .clusters = sett_arg_i(o.tuning.clusters), .swizzle = RASTER, .raster = SETT_RASTER_N);
    sett_grid(b, sett_scheduler_grid(t.tiles));
    run(b, &t, A, B, to.C);
}

void sett_gemm_wgmma(sett_build *b, const void *user)
{
    sett_gemm_wgmma_with(b, user, NULL, NULL);
}

#define P(member_) SETT_FAMILY_PARAM(sett_gemm_wgmma_options, member_)
#define TUNED(member_) TUNING_PARAM(sett_gemm_wgmma_options, member_)
static const sett_family_param params[] = {P(dtype), P(no_pdl), P(c), P(scaled), TUNED(bn), TUNED(stages), TUNED(clusters), P(swiglu), P(residual), TUNED(bm), TUNED(m), TUNED(n)};
FAMILY_OF(gemm_wgmma, params, .only = "sm_90a");
