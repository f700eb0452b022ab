/* SPDX-License-Identifier: Apache-2.0 */
/* C = epilogue(A B^T) on Hopper: warp groups multiply by wgmma what a warp loads by TMA through a pipeline; blocks stay and take tile after
 * tile; the result goes through shared memory and TMA while the next tile is loaded. The rows of an instruction are B's, 64 for each warp
 * group, and its columns are A's, as these are any multiple of 8: a server's products have many rows of B, and any number of A. Sums are the
 * same either way. */
#include "epilogue.h"
#include "product.h"
#include "stream_k.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { GROUP = 128, WARP = 32, LINE = 128, ROWS = 64 /* of B, of an instruction */, RASTER = 8, BARRIERS = 1024, CHUNKS = 8, BOXES = 32, SUMS = 128 /* most of a thread */ };

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

/* Blocks, beside each other, that share A. */
static int cluster_of(const sett_gemm_wgmma_options *o)
{
    return o->tuning.cluster;
}

/* Warp groups that multiply. */
static int groups_of(const sett_gemm_wgmma_options *o)
{
    return columns(o) > ROWS ? 2 : 1;
}

/* Instructions of a warp group that lie below each other, in M of the instruction. */
static int high_of(const sett_gemm_wgmma_options *o)
{
    return o->tuning.bn / ROWS / groups_of(o);
}

static int sums_of(const sett_gemm_wgmma_options *o)
{
    return high_of(o) * o->tuning.bm / 2;
}

/* Rows that one TMA box brings, of `rows` in all: as many as go into these, up to 64, and a multiple of the 8 rows of a swizzle. A box of more
 * than 64 rows that lies partly outside is slow where many blocks load it at once. */
static int box_of(int rows)
{
    int box = 64;
    while (rows % box)
        box -= 8;
    return box;
}

static int box_of_a(const sett_gemm_wgmma_options *o)
{
    return box_of(o->tuning.bm / cluster_of(o));
}

/* Columns of C that one TMA box stores: of 64, as many as have 128 bytes. */
static int panel_of(const sett_gemm_wgmma_options *o)
{
    return bytes_of(o->c) == 4 ? LINE / 4 : ROWS;
}

/* Sums that a thread converts and stores at a time: of 16 rows of A by stmatrix, which has elements of 16 bits, else of 8. */
static int each_of(const sett_gemm_wgmma_options *o)
{
    return o->tuning.bm % 16 || bytes_of(o->c) != 2 ? 4 : 8;
}

/* Number j of such parts of a partition of the copy to shared memory. */
static sett_tensor *part_of(const sett_gemm_wgmma_options *o, sett_tensor *t, int j)
{
    return bytes_of(o->c) == 2 ? sett_slice(t, T(ALL, j), 0, 0) : sett_slice(t, T(ALL, T(ALL, ALL, j)), 0, 0);
}

static int most_stages(const sett_gemm_wgmma_options *o)
{
    return (hopper()->shared_memory_bytes - BARRIERS - o->tuning.bm * columns(o) * bytes_of(o->c)) / ((o->tuning.bm + o->tuning.bn) * LINE);
}

/* Chooses what the caller left 0 of .bm, .bn and .clusters, by .m and .n, as a product of whole tiles and a usual K does. */
static void choose_tile(sett_gemm_wgmma_options *o)
{
    enum { USUAL_K_TILES = 64 };
    sett_gemm_wgmma_tuning *tune = &o->tuning;
    product_facts f = {.device = hopper(), .multiprocessors = hopper()->multiprocessors, .n = tune->n ? tune->n : INT_MAX, .k_tiles = USUAL_K_TILES};
    f.bytes_a = USUAL_K_TILES * LINE, f.bytes_b = (f.n << o->swiglu) * f.bytes_a, f.bytes_d = f.n * bytes_of(o->c);
    sett__product_tiles(&f, o->swiglu, SETT_PRODUCT_KERNELS);
    const int n = f.n_tiles;
    f.n_tiles = 0;
    for (int i = 0; i < n; i++)
        if ((!tune->bm || tune->bm == f.tile[i].bm) && (!tune->bn || tune->bn == f.tile[i].bn))
            f.tile[f.n_tiles++] = f.tile[i];
    if (tune->m && f.n_tiles) {
        const struct product_tile *t = &f.tile[sett__product_choose(&f, tune->m).kernel];
        tune->bm = t->bm, tune->bn = t->bn;
    }
    sett__either(&tune->bm, 128);
    sett__either(&tune->bn, o->swiglu && tune->bm <= 128 ? 256 : 128);
    sett__either(&tune->cluster, 1);
    sett__either(&tune->clusters, hopper()->multiprocessors / cluster_of(o));
}

static epilogue_options epilogue_of(const sett_gemm_wgmma_options *o)
{
    return (epilogue_options){.named = &o->terms, .scaled = o->scaled, .residual = o->residual, .swiglu = o->swiglu, .sums = o->dtype == SETT_I8 ? SETT_I32 : SETT_F32, .c = o->c};
}

static void settle(void *options, choice *c)
{
    sett_gemm_wgmma_options *o = options;
    sett_gemm_wgmma_tuning *tune = &o->tuning;
    const sett_dtype t = o->dtype;
    if (t != SETT_F16 && t != SETT_BF16 && t != SETT_F8E4M3FN && t != SETT_F8E5M2 && t != SETT_I8)
        REFUSE(c, ".dtype is %s: f16, bf16, f8E4M3FN, f8E5M2 or i8", t ? sett_dtype_name(t) : "not given");
    o->b = o->b ? o->b : t;
    if (o->b != t && (bytes_of(o->b) != 1 || o->b == SETT_I8 || bytes_of(t) != 1 || t == SETT_I8))
        REFUSE(c, ".b is %s: with .dtype %s it is the same, or both are f8E4M3FN or f8E5M2", sett_dtype_name(o->b), sett_dtype_name(t));
    o->c = o->c ? o->c : t == SETT_F16 ? t : SETT_BF16;
    if (!sett__is_small_float(o->c) && o->c != SETT_F8E4M3FN && o->c != SETT_F8E5M2 && !(o->c == SETT_I8 && o->terms.quantise))
        REFUSE(c, ".c is %s: f32, f16, bf16, f8E4M3FN or f8E5M2; i8 with .quantise", sett_dtype_name(o->c));
    const epilogue_options e = epilogue_of(o);
    sett__check_epilogue(&e, c);
    sett__is_zero(c, "reserved", o->reserved);
    sett__in_range(c, "m", tune->m, 0, INT_MAX);
    sett__in_range(c, "n", tune->n, 0, INT_MAX);
    sett__in_range(c, "clusters", tune->clusters, 0, 1 << 20);
    sett__in_range(c, "cluster", tune->cluster, 0, 2);
    sett__in_range(c, "stream_k", o->stream_k, 0, 1);
    if (*c->why)
        return;
    choose_tile(o);
    if (tune->bn != 256 && tune->bn != 128 && (tune->bn != 64 || o->swiglu))
        REFUSE(c, ".bn is %d: %s", tune->bn, o->swiglu ? "of .swiglu 256 or 128" : "256, 128 or 64");
    if (tune->bm < 8 * cluster_of(o) || tune->bm > 256 || tune->bm % (8 * cluster_of(o)))
        REFUSE(c, ".bm is %d: a multiple of %d, up to 256", tune->bm, 8 * cluster_of(o));
    if (*c->why)
        return;
    if (sums_of(o) > SUMS)
        REFUSE(c, ".bm is %d: of .bn %d%s it is at most %d", tune->bm, tune->bn, o->swiglu ? " and .swiglu" : "", 2 * SUMS / high_of(o));
    const int most = most_stages(o);
    sett__either(&tune->stages, most > CHUNKS ? CHUNKS : most);
    if (!*c->why)
        sett__in_range(c, "stages", tune->stages, 2, most);
    tune->m = tune->n = 0; /* the same tile is the same kernel */
}

/* A part of a tile: what its epilogue is given. Tensors are taken as (N,M) here. */
typedef struct place {
    sett_epilogue_tile base;
    const sett_gemm_wgmma_options *o;
    sett_thr_copy *thread; /* of the copy from registers to the tile */
    sett_arg tiler, tile;
    int part;
} place;

static sett_tensor *partition(sett_site site, const sett_epilogue_tile *base, sett_tensor *whole)
{
    const place *p = (const place *)base;
    (void)site;
    return part_of(p->o, sett_partition_S(p->thread, sett_local_tile(sett_select(whole, 1, 0), p->tiler, p->tile)), p->part);
}

typedef struct parts {
    const sett_gemm_wgmma_options *o;
    int bk;
    sett_tensor *a, *b, *c; /* shared memory: (bm,bk,stages), (bn,bk,stages), (bm,64,columns / 64) */
    sett_tma *ta, *tb, *tc;
    sett_pipeline *pipe;
    sett_scheduler *tiles;
    sett_val *ktiles, *M, *N;
    stream_k stream;
    terms *terms;
} parts;

/* K tiles of a work tile: from, to. */
static sett_arg k_range(sett_build *b, const parts *t, const sett_work_tile *w)
{
    return t->o->stream_k ? sett_tile_k_range(w) : sett_tuple(b, 0, t->ktiles);
}

/* Box number i of a tile's rows of A or B: of a matrix of so many boxes, and the last one of these where it lies outside, as a box
 * outside takes longer than one inside; what it brings is never stored. */
static sett_tensor *box_at(const parts *t, sett_tensor *rows, int box, sett_arg i, sett_val *extent)
{
    return sett_local_tile(rows, T(box, t->bk), T(sett_min(i, sett_sub(sett_ceil_div(extent, box), 1)), ALL));
}

/* A tile's loads: where in shared memory, (box,bk,stages), and from where, (box,bk,k). */
typedef struct loads {
    int n;
    sett_tensor *to[BOXES], *from[BOXES];
} loads;

/* In a cluster each block loads one half of A's boxes for both. */
static loads loads_of_a(sett_build *b, const parts *t, sett_arg m)
{
    const int box = box_of_a(t->o), boxes = t->o->tuning.bm / box;
    loads x = {.n = boxes / cluster_of(t->o)};
    sett_val *rank = cluster_of(t->o) == 2 ? sett_block_idx_in_cluster(b) : NULL;
    for (int i = 0; i < x.n; i++) {
        sett_arg at = rank ? SETT_A(sett_add(sett_mul(rank, x.n), i)) : sett_arg_i(i);
        x.from[i] = box_at(t, sett_tma_tensor(t->ta), box, sett_add(sett_mul(m, boxes), at), t->M);
        x.to[i] = sett_local_tile(t->a, T(box, t->bk), T(at, 0));
    }
    return x;
}

/* Of .swiglu the first half of B's boxes is the gate's rows, and the others are those of up, which lie N rows further on in B. */
static loads loads_of_b(const parts *t, sett_arg n)
{
    const int boxes = t->o->tuning.bn / ROWS, gate = columns(t->o) / ROWS;
    sett_tensor *rows = sett_tma_tensor(t->tb), *up = t->o->swiglu ? sett_domain_offset(rows, t->N, 0) : NULL;
    loads x = {.n = boxes};
    for (int i = 0; i < boxes; i++) {
        x.from[i] = box_at(t, i < gate ? rows : up, ROWS, sett_add(sett_mul(n, gate), i % gate), t->N);
        x.to[i] = sett_local_tile(t->b, T(ROWS, t->bk), T(i, 0));
    }
    return x;
}

static void produce(sett_build *b, const parts *t)
{
    sett_pipeline_state *put = sett_pipeline_producer_state(t->pipe);
    sett_work_tile *w = sett_initial_work_tile(t->tiles);
    sett_val *both = cluster_of(t->o) == 2 ? sett_const(b, SETT_I32, 3) : NULL;
    sett_while (b, sett_is_valid_tile(w)) {
        sett_arg at = sett_tile_coord(w), range = k_range(b, t, w);
        const loads x[] = {loads_of_a(b, t, sett_get(at, 0)), loads_of_b(t, sett_get(at, 1))};
        sett_for (b, k, sett_get(range, 0), sett_get(range, 1), 1) {
            sett_producer_acquire(put);
            sett_val *s = sett_pipeline_stage(put);
            for (int i = 0; i < x[0].n; i++)
                sett_tma_load(t->ta, sett_slice(x[0].from[i], ALL, ALL, k), sett_slice(x[0].to[i], ALL, ALL, s), sett_pipeline_barrier(put), .mask = both);
            for (int i = 0; i < x[1].n; i++)
                sett_tma_load(t->tb, sett_slice(x[1].from[i], ALL, ALL, k), sett_slice(x[1].to[i], ALL, ALL, s), sett_pipeline_barrier(put));
            sett_pipeline_advance(put);
        }
        sett_advance_to_next_work(w);
    }
}

static sett_tiled_mma *product_of(sett_build *b, const sett_gemm_wgmma_options *o, int groups)
{
    sett_mma_atom *atom = sett_wgmma(b, .a = o->b, .b = o->dtype, .acc = o->dtype == SETT_I8 ? SETT_I32 : SETT_F32, .n = o->tuning.bm);
    return sett_make_tiled_mma(atom, T(groups, 1, 1), ALL);
}

/* acc = or += the stage's product, in the background. */
static void k_block(sett_build *b, const parts *t, sett_tiled_mma *mma, sett_thr_mma *mine, sett_tensor *acc, sett_pipeline_state *get, bool first)
{
    sett_consumer_wait(get);
    sett_val *s = sett_pipeline_stage(get);
    sett_tensor *fA = sett_make_fragment_B(mma, sett_partition_B(mine, sett_slice(t->a, ALL, ALL, s))); /* descriptors */
    sett_tensor *fB = sett_make_fragment_A(mma, sett_partition_A(mine, sett_slice(t->b, ALL, ALL, s)));
    sett_gemm(mma, acc, fB, fA, acc, .overwrite = first);
    sett_mma_commit(b);
}

/* Number j of such sums, of registers as the copy to shared memory has them. */
static sett_val *sums_at(sett_build *b, const sett_gemm_wgmma_options *o, sett_tensor *acc, int j)
{
    return sett_load(bytes_of(o->c) == 2 ? part_of(o, acc, j) : sett_slice(sett_composition(acc, sett_make_layout(b, T(4, o->tuning.bm / 8))), ALL, j));
}

/* 64 columns of the tile: from[], sums of each thread and what they are multiplied by or NULL, to sC, (64,bm). */
static void fill_columns(sett_build *b, const parts *t, sett_tiled_copy *r2s, place *at, sett_tensor *const from[2], sett_tensor *sC)
{
    const sett_gemm_wgmma_options *o = t->o;
    const int each = each_of(o);
    sett_tensor *held = sett_make_rmem_tensor(b, o->c, each), *to = sett_partition_D(at->thread, sC), *shape = sett_partition_S(at->thread, sC);
    for (int j = 0; j < o->tuning.bm * ROWS / GROUP / each; j++) {
        at->part = j;
        at->base.same_columns = j > 0;
        sett_val *sums = sums_at(b, o, from[0], j);
        if (from[1])
            sums = sett_mul(sett__gate(t->terms, sums), sett__up(t->terms, sums_at(b, o, from[1], j)));
        sett_val *x = sett__epilogue(&at->base, sett_reshape(sums, sett_shape(part_of(o, shape, j))), t->terms); /* as sett_epilogue_partition gives it */
        sett_store(held, sett_reshape(sett__rounded(x, o->c), each));
        sett_copy(r2s, held, part_of(o, to, j));
    }
}

/* The sums of one instruction of those that lie below each other. */
static sett_tensor *rows_of(sett_build *b, const sett_gemm_wgmma_options *o, sett_thr_copy *to, sett_tensor *acc, int i)
{
    sett_tensor *rows = sett_composition(sett_slice(acc, ALL, i, 0), sett_make_layout(b, T(T(2, 2, o->tuning.bm / 8), 1, 1), T(T(1, 2, 4), 0, 0)));
    return bytes_of(o->c) == 2 ? sett_retile(to, rows) : rows;
}

/* What a warp group has of the tile, 64 columns at a time: threads write them, and one begins their copy, when the one of the last tile has
 * read the place. What lies past the edges is left out. */
static void store(sett_build *b, const parts *t, sett_tensor *acc, sett_val *group, sett_arg at)
{
    const sett_gemm_wgmma_options *o = t->o;
    const sett_dtype d = o->c;
    const int bm = o->tuning.bm, panel = panel_of(o), blocks = columns(o) / ROWS, mine = blocks / groups_of(o), each = each_of(o);
    sett_copy_atom *move = bytes_of(d) == 2 ? sett_stmatrix(b, d, each / 2, true) : sett_copy_universal(b, d, sett_dtype_bits(d));
    sett_tiled_copy *r2s = sett_make_tiled_copy_C(move, product_of(b, o, 1));
    sett_thr_copy *to = sett_get_slice(r2s, sett_mod(sett_thread_idx(b, 0), GROUP));
    sett_val *warp = sett_mod(sett_make_warp_uniform(sett_warp_idx(b)), 4);
    for (int i = 0; i < mine; i++) {
        sett_val *block = sett_add(group, i * groups_of(o)); /* of the tile, 64 columns */
        sett_tensor *part[] = {acc, NULL}, *sC = sett_slice(t->c, ALL, ALL, block);
        part[0] = rows_of(b, o, to, acc, i);
        if (o->swiglu)
            part[1] = rows_of(b, o, to, acc, i + mine);
        place here = {.base = {.b = b, .partition = partition, .same_rows = 28 /* lane / 4 is a column of C */}, .o = o, .thread = to, .tiler = sett_tuple(b, ROWS, bm), .tile = sett_tuple(b, sett_add(sett_mul(sett_get(at, 1), blocks), block), sett_get(at, 0))};
        sett_tma_store_wait_read(b, mine - 1);
        sett_barrier(b, sett_add(group, 1), GROUP);
        fill_columns(b, t, r2s, &here, part, sett_select(sC, 1, 0));
        sett_fence_view_async_shared(b);
        sett_barrier(b, sett_add(group, 1), GROUP);
        sett_tensor *gC = sett_local_tile(sett_tma_tensor(t->tc), T(bm, ROWS), T(sett_get(at, 0), sett_add(sett_mul(sett_get(at, 1), blocks), block)));
        sett_if (b, sett_eq(warp, 0))
            for (int j = 0; j < ROWS / panel; j++)
                sett_tma_store(t->tc, sett_local_tile(sC, T(bm, panel), T(0, j)), sett_local_tile(gC, T(bm, panel), T(0, j)));
        sett_tma_store_commit(b);
    }
}

/* acc = the product of a work tile's K tiles. `stages` counts those of the tiles before. */
static void multiply(sett_build *b, const parts *t, sett_tiled_mma *mma, sett_thr_mma *mine, sett_tensor *acc, sett_tensor *stages, sett_pipeline_state *get, sett_pipeline_state *done, sett_arg n)
{
    sett_pipeline_state_set(get, sett_at(stages, 0));
    sett_set(stages, sett_add(sett_at(stages, 0), n), 0);
    k_block(b, t, mma, mine, acc, get, true);
    sett_pipeline_state_copy(get, done), sett_pipeline_advance(get);
    sett_for (b, k, 1, n, 1) {
        k_block(b, t, mma, mine, acc, get, false);
        sett_mma_wait(b, 1); /* all but the newest: the stage before it has been read */
        sett_consumer_release(done);
        sett_pipeline_state_copy(get, done), sett_pipeline_advance(get);
    }
    sett_mma_wait(b, 0);
    sett_consumer_release(done);
}

/* Number of the first slot of a worker's group; each worker has one for each warp group of each of its blocks. */
static sett_val *slot_of(sett_build *b, const parts *t, sett_val *worker, sett_val *group)
{
    const int groups = groups_of(t->o), cluster = cluster_of(t->o);
    sett_val *slot = sett_add(sett_mul(worker, cluster * groups), group);
    return cluster == 2 ? sett_add(slot, sett_mul(sett_block_idx_in_cluster(b), groups)) : slot;
}

/* Of a tile that several workers compute: a later one leaves its sums, the first adds them to its own. True, of the kernel: it is to be
 * stored. */
static sett_val *meet(sett_build *b, const parts *t, sett_tensor *acc, sett_val *group, const sett_work_tile *w, sett_arg range)
{
    sett_val *from = sett_value(b, sett_get(range, 0)), *to = sett_value(b, sett_get(range, 1)), *thread = sett_mod(sett_thread_idx(b, 0), GROUP);
    sett_if (b, sett_or(sett_gt(from, 0), sett_lt(to, t->ktiles))) {
        sett_arg who = sett_tile_workers(w), barrier = SETT_A(sett_add(group, 1));
        sett_val *me = sett_value(b, sett_get(who, 0)), *last = sett_value(b, sett_get(who, 1)), *step = sett_value(b, sett_get(who, 2));
        sett_if (b, sett_gt(from, 0))
            sett__leave_sums(b, &t->stream, acc, slot_of(b, t, me, group), barrier, thread);
        sett_else (b)
            sett__take_sums(b, &t->stream, acc, slot_of(b, t, sett_add(me, step), group), sett_mul(step, cluster_of(t->o) * groups_of(t->o)),
                sett_floordiv(sett_sub(last, me), step), barrier, thread);
    }
    return sett_eq(from, 0);
}

static void consume(sett_build *b, const parts *t, sett_val *group)
{
    const sett_gemm_wgmma_options *o = t->o;
    sett_tiled_mma *mma = product_of(b, o, groups_of(o));
    sett_thr_mma *mine = sett_get_slice(mma, sett_mul(group, GROUP)); /* of A and B all threads of a group have the same */
    sett_tensor *acc = sett_make_fragment_C(mma, sett_partition_shape_C(mma, T(o->tuning.bn, o->tuning.bm))), *stages = sett_var(b, SETT_I32, 0);
    sett_pipeline_state *get = sett_pipeline_consumer_state(t->pipe), *done = sett_pipeline_consumer_state(t->pipe);
    sett_work_tile *w = sett_initial_work_tile(t->tiles);
    sett__epilogue_begin(t->terms);
    sett_while (b, sett_is_valid_tile(w)) {
        sett_arg range = k_range(b, t, w);
        multiply(b, t, mma, mine, acc, stages, get, done, sett_sub(sett_get(range, 1), sett_get(range, 0)));
        if (o->stream_k)
            sett_if (b, meet(b, t, acc, group, w, range))
                store(b, t, acc, group, sett_tile_coord(w));
        else
            store(b, t, acc, group, sett_tile_coord(w));
        sett_advance_to_next_work(w);
    }
    sett__epilogue_end(t->terms);
    sett_tma_store_wait_read(b, 0);
}

static void run(sett_build *b, parts *t, sett_tensor *A, sett_tensor *B, sett_tensor *C)
{
    const sett_gemm_wgmma_options *o = t->o;
    const int panel = panel_of(o), groups = groups_of(o), cluster = cluster_of(o), bm = o->tuning.bm, bn = o->tuning.bn, box = box_of_a(o);
    t->a = sett_make_smem_tensor(b, o->dtype, sett_smem_layout(b, o->dtype, SETT_K_MAJOR, bm, t->bk, o->tuning.stages), 1024);
    t->b = sett_make_smem_tensor(b, o->b, sett_smem_layout(b, o->b, SETT_K_MAJOR, bn, t->bk, o->tuning.stages), 1024);
    t->c = sett_make_smem_tensor(b, o->c, sett_smem_layout(b, o->c, SETT_K_MAJOR, bm, ROWS, columns(o) / ROWS), 1024);
    t->ta = sett_make_tma(A, .layout = sett_smem_layout(b, o->dtype, SETT_K_MAJOR, box, t->bk), .tile = T(box, t->bk));
    t->tb = sett_make_tma(B, .layout = sett_smem_layout(b, o->b, SETT_K_MAJOR, ROWS, t->bk), .tile = T(ROWS, t->bk));
    t->tc = sett_make_tma(C, .layout = sett_smem_layout(b, o->c, SETT_K_MAJOR, bm, panel), .tile = T(bm, panel));
    const int bytes = sett_tma_bytes(t->ta) * (bm / box) + sett_tma_bytes(t->tb) * (bn / ROWS);
    t->pipe = sett_pipeline_tma_async(b, .stages = o->tuning.stages, .tx_bytes = bytes, .consumers = SETT_WARP_GROUPS(groups),
        .multicast = cluster == 2 ? 1 << 1 : 0, .relaxed = true);
    sett__begin(b, o->no_pdl);
    sett_val *warp = sett_make_warp_uniform(sett_warp_idx(b)), *group = sett_floordiv(warp, 4);
    sett_if (b, sett_eq(group, groups))
        sett_if (b, sett_elect_one(b))
            produce(b, t);
    sett_else (b)
        consume(b, t, group);
    if (cluster == 2)
        sett_cluster_sync(b); /* no block ends while its peer may arrive at its barriers */
}

void sett_gemm_wgmma_with_at(sett_site site, sett_build *b, const sett_gemm_wgmma_options *user, sett_gemm_epilogue then, void *data)
{
    sett_gemm_wgmma_options o;
    if (!sett__kernel_options(b, &sett__gemm_wgmma, user, &o))
        return;
    product p = {.b = b, .M = sett_sym(b, "M"), .N = sett_sym(b, "N", .div = 16 / bytes_of(o.c)), .align_c = 16, .of = epilogue_of(&o)};
    sett_val *K = sett_sym(b, "K"), *M = p.M, *N = p.N;
    sett_tensor *A = sett__operand(&p, "A", o.dtype, 16, M, K, SETT_K_MAJOR), *B = sett__operand(&p, "B", o.b, 16, o.swiglu ? sett_mul(N, 2) : N, K, SETT_K_MAJOR);
    const outputs to = sett__outputs(&p);
    terms s = sett__terms(&p, &to, NULL);
    s.then = then, s.user = data, s.site = site, s.function = "sett_gemm_wgmma_with";
    parts t = {.o = &o, .bk = LINE / bytes_of(o.dtype), .terms = &s, .M = M, .N = N};
    t.ktiles = sett_floordiv(sett_add(K, t.bk - 1), t.bk);
    sett_arg clusters = sett_arg_i(o.tuning.clusters), k_tiles = sett_arg_i(0), streamed = k_tiles, together = k_tiles;
    if (o.stream_k) {
        t.stream = sett__stream_k(b, o.dtype == SETT_I8 ? SETT_I32 : SETT_F32, GROUP, sums_of(&o));
        clusters = SETT_A(sett_scalar(b, "workers", SETT_I32)), streamed = SETT_A(sett_scalar(b, "streamed", SETT_I32)), k_tiles = SETT_A(t.ktiles);
        together = sett_min(sett_ceil_div(M, o.tuning.bm), RASTER); /* tiles of the same rows of B */
    }
    sett_block(b, GROUP * groups_of(&o) + WARP);
    if (cluster_of(&o) == 2)
        sett_cluster(b, 1, 2);
    /* RASTER rows of clusters at a time, column by column: blocks that run at once read the same rows of A and B. */
    t.tiles = sett_tile_scheduler(b, .tiles = T(sett_ceil_div(M, o.tuning.bm), sett_ceil_div(N, columns(&o))), .clusters = clusters, .k_tiles = k_tiles, .streamed = streamed, .together = together, .swizzle = RASTER, .raster = SETT_RASTER_N);
    sett_grid(b, sett_scheduler_grid(t.tiles));
    run(b, &t, A, B, to.C);
}

void sett_gemm_wgmma(sett_build *b, const void *user)
{
    sett_gemm_wgmma_with(b, user, NULL, NULL);
}

#define P(member_) SETT_FAMILY_PARAM(sett_gemm_wgmma_options, member_)
#define TUNED(member_) TUNING_PARAM(sett_gemm_wgmma_options, member_)
static const sett_family_param params[] = {P(dtype), P(no_pdl), P(c), P(scaled), TUNED(bn), TUNED(stages), TUNED(clusters), P(swiglu), P(residual), TUNED(bm), TUNED(m), TUNED(n), P(stream_k), TUNED(cluster), P(b),
    TERM_PARAMS(sett_gemm_wgmma_options)};
FAMILY_OF(gemm_wgmma, params, .only = "sm_90a");
