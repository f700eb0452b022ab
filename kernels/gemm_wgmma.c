/* SPDX-License-Identifier: Apache-2.0 */
/* C = epilogue(A B^T) on Hopper: warp groups multiply by wgmma what a warp loads by TMA through a pipeline; blocks stay and take tile after
 * tile; the result goes through shared memory and TMA while the next tile is loaded. The rows of an instruction are B's, 64 for each warp
 * group, and its columns are A's, as these are any multiple of 8: a server's products have many rows of B, and any number of A. Sums are the
 * same either way. */
#include "gemm_wgmma.h"
#include "product.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* The one that has wgmma. */
static const device *hopper(void)
{
    return sett__device_of(90);
}

/* Of a stage of SA: a box begins at a multiple of 128 bytes. */
static int bytes_of_scales(const sett_gemm_wgmma_options *o)
{
    return sett__round_up(rows_of_sa(o) * SCALES_K * sett__bytes_of(SETT_F32), LINE);
}

/* Of .quantise 2. */
static int bytes_of_blocks(const sett_gemm_wgmma_options *o)
{
    return sett__round_up(sett__block_scaling_bytes(rows_of_group(o), columns(o), has_rows_alone(o) ? groups_of(o) : 1), LINE);
}

int sett__wgmma_most_stages(const sett_gemm_wgmma_options *o)
{
    const int scales = (o->block_scales ? SCALES_STAGES * bytes_of_scales(o) : 0) + (in_blocks(&o->terms) ? bytes_of_blocks(o) : 0), of_b = packed_bits(o) ? sett__wgmma_packed_bytes(o) : o->tuning.bn * LINE;
    return (hopper()->shared_memory_bytes - BARRIERS - scales - (1 + o->tuning.ping_pong) * o->tuning.bm * staged_blocks(o) * ROWS * sett__bytes_of(o->c)) / (o->tuning.bm * LINE + of_b);
}

/* Chooses what the caller left 0 of .bm, .bn and .clusters, by .m and .n, as a product of whole tiles and a usual K does. */
static void choose_tile(sett_gemm_wgmma_options *o)
{
    enum { USUAL_K_TILES = 64 };
    sett_gemm_wgmma_tuning *tune = &o->tuning;
    product_facts f = {.device = hopper(), .multiprocessors = hopper()->multiprocessors, .n = tune->n ? tune->n : INT_MAX, .batches = 1, .k_tiles = USUAL_K_TILES};
    f.packed_bits = packed_bits(o);
    if (o->grouped)
        f.n = INT_MAX; /* all groups together have many tiles */
    f.bytes_a = USUAL_K_TILES * LINE, f.bytes_b = (f.n << o->swiglu) * f.bytes_a, f.bytes_d = f.n * sett__bytes_of(o->c);
    sett__product_tiles(&f, o);
    const int n = f.n_tiles;
    f.n_tiles = 0;
    for (int i = 0; i < n; i++)
        if ((!tune->bm || tune->bm == f.tile[i].bm) && (!tune->bn || tune->bn == f.tile[i].bn) && (!tune->cluster || tune->cluster == f.tile[i].cluster))
            f.tile[f.n_tiles++] = f.tile[i];
    if (tune->m && f.n_tiles) {
        const struct product_tile *t = &f.tile[sett__product_choose(&f, tune->m).kernel];
        tune->bm = t->bm, tune->bn = t->bn, tune->cluster = t->cluster;
    }
    sett__either(&tune->bn, o->swiglu && (in_blocks(&o->terms) || (!o->block_scales && tune->bm <= 128)) ? 256 : 128);
    sett__either(&tune->bm, (o->promote || packed_bits(o)) && high_of(o) > 1 && !(o->block_scales && tune->bn == 2 * ROWS) ? most_sums(o) / 16 * 16 : 128);
    sett__either(&tune->cluster, 1);
    sett__either(&tune->clusters, hopper()->multiprocessors / cluster_of(o));
}

static epilogue_options epilogue_of(const sett_gemm_wgmma_options *o)
{
    return (epilogue_options){.named = &o->terms, .scaled = o->scaled, .block_scales = o->block_scales, .residual = o->residual, .swiglu = o->swiglu, .sums = o->dtype == SETT_I8 ? SETT_I32 : SETT_F32, .c = o->c};
}

static void check_promotion(sett_gemm_wgmma_options *o, choice *c)
{
    const sett_dtype t = o->dtype;
    sett__in_range(c, "promote", o->promote, 0, 1);
    sett__in_range(c, "block_scales", o->block_scales, 0, 1);
    if ((o->promote || o->block_scales) && !sett__is_f8(t))
        REFUSE(c, ".%s is 1: .dtype is f8E4M3FN or f8E5M2 then, and not %s", o->block_scales ? "block_scales" : "promote", sett_dtype_name(t));
    if (o->block_scales && o->scaled)
        REFUSE(c, ".block_scales is 1: then .scaled is 0");
    o->promote |= o->block_scales;
}

static void settle(void *options, choice *c)
{
    sett_gemm_wgmma_options *o = options;
    sett_gemm_wgmma_tuning *tune = &o->tuning;
    const sett_dtype t = o->dtype;
    if (!sett__is_small_float(t) && !sett__is_f8(t) && t != SETT_I8)
        REFUSE(c, ".dtype is %s: f16, bf16, f8E4M3FN, f8E5M2, i8, or f32 with .tf32", t ? sett_dtype_name(t) : "not given");
    sett__in_range(c, "tf32", o->tf32, 0, 1);
    if (o->tf32 != (t == SETT_F32))
        REFUSE(c, o->tf32 ? ".tf32 is 1: .dtype is f32 then, and not %s" : ".tf32 is 0: tensor cores have no products of %s but those of .tf32", sett_dtype_name(t));
    o->b = o->b ? o->b : t;
    if (packed_bits(o))
        sett__wgmma_check_packed(o, c);
    else if (o->b != t && !(sett__is_f8(o->b) && sett__is_f8(t)))
        REFUSE(c, ".b is %s: with .dtype %s it is the same, or both are f8E4M3FN or f8E5M2", sett_dtype_name(o->b), sett_dtype_name(t));
    else
        sett__no_weights(o->sw, o->group, o->zeros, c);
    o->c = o->c ? o->c : t == SETT_F16 || t == SETT_F32 ? t : SETT_BF16;
    if (!sett__is_small_float(o->c) && !sett__is_f8(o->c) && !(o->c == SETT_I8 && o->terms.quantise))
        REFUSE(c, ".c is %s: f32, f16, bf16, f8E4M3FN or f8E5M2; i8 with .quantise", sett_dtype_name(o->c));
    const epilogue_options e = epilogue_of(o);
    sett__check_epilogue(&e, c);
    sett__in_range(c, "grouped", (int)o->grouped, 0, SETT_GROUPED_MASKED);
    sett__in_range(c, "batched", o->batched, 0, 1);
    sett__in_range(c, "m", tune->m, 0, INT_MAX);
    sett__in_range(c, "n", tune->n, 0, INT_MAX);
    sett__in_range(c, "clusters", tune->clusters, 0, 65535); /* z of a grid */
    sett__in_range(c, "cluster", tune->cluster, 0, 2);
    sett__in_range(c, "stream_k", o->stream_k, 0, 1);
    sett__in_range(c, "ping_pong", tune->ping_pong, 0, 1);
    if (tune->ping_pong && (o->stream_k || o->promote || o->block_scales))
        REFUSE(c, ".ping_pong is 1: then .%s is 0", o->stream_k ? "stream_k" : o->promote ? "promote" : "block_scales");
    check_promotion(o, c);
    if (o->grouped && o->batched)
        REFUSE(c, ".batched is 1: with .grouped it is 0, as groups have rows of their own");
    if (o->grouped && o->stream_k)
        REFUSE(c, ".stream_k is 1: with .grouped it is 0, as a launch does not know the tiles");
    if (*c->why)
        return;
    choose_tile(o);
    if (tune->bn != 256 && tune->bn != 128 && (tune->bn != 64 || o->swiglu))
        REFUSE(c, ".bn is %d: %s", tune->bn, o->swiglu ? "of .swiglu 256 or 128" : "256, 128 or 64");
    if (in_blocks(&o->terms) && columns(o) % EPILOGUE_BLOCK)
        REFUSE(c, ".bn is %d: of .quantise 2 %s, as a tile has whole blocks of 128 columns of C", tune->bn, o->swiglu ? "and .swiglu 256" : "256 or 128");
    if (tune->bm < 8 * cluster_of(o) || tune->bm > 256 || tune->bm % (8 * cluster_of(o)))
        REFUSE(c, ".bm is %d: a multiple of %d%s, up to 256", tune->bm, 8 * cluster_of(o), cluster_of(o) > 1 ? ", as .cluster is 2" : "");
    if (t == SETT_I8 && tune->bm > 32 && tune->bm % 16)
        REFUSE(c, ".bm is %d: of i8 8, 24, or a multiple of 16", tune->bm);
    if (*c->why)
        return;
    if (sums_of(o) > most_sums(o))
        REFUSE(c, ".bm is %d: of .bn %d%s%s it is at most %d", tune->bm, tune->bn, o->swiglu ? " and .swiglu" : "", !o->promote ? "" : o->block_scales && !o->swiglu && tune->bn == 2 * ROWS ? " and .block_scales, other than 128," : o->block_scales ? " and .block_scales" : most_sums(o) == SHARED ? ", .promote and .stream_k" : " and .promote", 2 * most_sums(o) / high_of(o));
    const int most = sett__wgmma_most_stages(o);
    const int usual = packed_bits(o) ? PACKED_STAGES : CHUNKS;
    sett__either(&tune->stages, most > usual ? usual : most);
    if (!*c->why)
        sett__in_range(c, "stages", tune->stages, 2, most);
    tune->m = tune->n = 0; /* the same tile is the same kernel */
}

/* SA comes by stages of several K tiles, through a pipeline of its own. Threads read it, so that the release of a stage takes a fence of proxies;
 * this way one fence serves several K tiles. */
static void stage_scales(sett_build *b, wgmma_parts *t)
{
    const int rows = rows_of_sa(t->o);
    const sett_arg box = sett_tuple(b, rows, SCALES_K);
    t->sa = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(rows, SCALES_K, SCALES_STAGES), T(1, rows, bytes_of_scales(t->o) / sett__bytes_of(SETT_F32))), LINE);
    t->tsa = sett_make_tma(t->terms->to.SA, .layout = sett_make_layout(b, box), .tile = box);
    t->scales = sett_pipeline_tma_async(b, .stages = SCALES_STAGES, .tx_bytes = sett_tma_bytes(t->tsa), .consumers = SETT_WARPS(groups_of(t->o) * GROUP / WARP));
    t->SB = t->terms->to.SB;
}

static void stage_residual(sett_build *b, wgmma_parts *t)
{
    const sett_gemm_wgmma_options *o = t->o;
    const int rows = rows_of_group(o), panel = panel_of(o);
    t->tr = sett_make_tma(t->terms->to.R, .layout = sett_smem_layout(b, o->c, SETT_K_MAJOR, rows, panel), .tile = T(rows, panel));
    t->came = sett_make_mbarriers(b, 2);
    sett_if (b, sett_eq(sett_thread_idx(b, 0), 0)) /* which fences, and threads meet, where the pipeline is made */
        for (int i = 0; i < 2; i++)
            sett_mbarrier_init(sett_slice(t->came, i), 1);
}

/* Threads meet where the pipeline is made. */
static void stage_blocks(sett_build *b, const wgmma_parts *t)
{
    const sett_gemm_wgmma_options *o = t->o;
    t->terms->blocks = sett__block_scaling(b, rows_of_group(o), columns(o), has_rows_alone(o) ? groups_of(o) : 1);
    sett__block_scaling_begin(b, &t->terms->blocks, GROUP * groups_of(o) + WARP);
}

/* B as it is, by boxes of 64 rows. */
static void plain_places(sett_build *b, wgmma_parts *t, sett_tensor *B)
{
    const sett_gemm_wgmma_options *o = t->o;
    t->b = sett_make_smem_tensor(b, o->b, sett_smem_layout(b, o->b, SETT_K_MAJOR, o->tuning.bn, t->bk, o->tuning.stages), 1024);
    t->tb = sett_make_tma(B, .layout = sett_smem_layout(b, o->b, SETT_K_MAJOR, ROWS, t->bk), .tile = T(ROWS, t->bk));
}

/* Of all copies to a stage. */
static int stage_bytes(const wgmma_parts *t)
{
    const sett_gemm_wgmma_options *o = t->o;
    return sett_tma_bytes(t->ta) * (o->tuning.bm / box_of_a(o)) + (t->sw ? sett__wgmma_packed_tx(t) : sett_tma_bytes(t->tb) * (o->tuning.bn / ROWS));
}

static void run(sett_build *b, wgmma_parts *t, sett_tensor *A, sett_tensor *const B[2], sett_tensor *C)
{
    const sett_gemm_wgmma_options *o = t->o;
    const int panel = panel_of(o), groups = groups_of(o), cluster = cluster_of(o), bm = o->tuning.bm, box = box_of_a(o);
    t->a = sett_make_smem_tensor(b, o->dtype, sett_smem_layout(b, o->dtype, SETT_K_MAJOR, bm, t->bk, o->tuning.stages), 1024);
    if (packed_bits(o))
        sett__wgmma_packed_places(b, t, B);
    else
        plain_places(b, t, B[0]);
    t->c = sett_make_smem_tensor(b, o->c, sett_smem_layout(b, o->c, SETT_K_MAJOR, bm, ROWS, (1 + o->tuning.ping_pong) * staged_blocks(o)), 1024);
    t->ta = sett_make_tma(A, .layout = sett_smem_layout(b, o->dtype, SETT_K_MAJOR, box, t->bk), .tile = T(box, t->bk));
    t->tc = sett_make_tma(C, .layout = sett_smem_layout(b, o->c, SETT_K_MAJOR, rows_of_group(o), panel), .tile = T(rows_of_group(o), panel));
    const sett_group readers = t->sw ? SETT_WARPS(sharing(o) * GROUP / WARP) /* which load weights themselves */ : SETT_WARP_GROUPS(sharing(o));
    if (o->residual)
        stage_residual(b, t);
    if (in_blocks(&o->terms))
        stage_blocks(b, t);
    t->pipe = sett_pipeline_tma_async(b, .stages = o->tuning.stages, .tx_bytes = stage_bytes(t), .consumers = readers, .multicast = cluster == 2 ? 1 << 1 : 0, .relaxed = true);
    if (o->block_scales)
        stage_scales(b, t);
    t->turns = o->tuning.ping_pong ? sett_pipeline_order(b, .stages = 1, .turns = 2, .producers = SETT_WARPS(4)) : NULL;
    sett__begin_by_tma(b, o->no_pdl);
    sett_val *warp = sett_make_warp_uniform(sett_warp_idx(b)), *group = sett_floordiv(warp, 4);
    sett_if (b, sett_eq(group, groups))
        sett_if (b, sett_elect_one(b))
            sett__wgmma_produce(b, t);
    sett_else (b)
        sett__wgmma_consume(b, t, group);
    if (cluster == 2)
        sett_cluster_sync(b); /* no block ends while its peer may arrive at its barriers */
}

void sett_gemm_wgmma_with_at(sett_site site, sett_build *b, const sett_gemm_wgmma_options *user, sett_gemm_epilogue then, void *data)
{
    sett_gemm_wgmma_options o;
    if (!sett__kernel_options(b, &sett__gemm_wgmma, user, &o))
        return;
    sett_val *parts = o.batched ? sett_sym(b, "L") : o.grouped ? sett_sym(b, "G") : NULL;
    product p = {.b = b, .M = sett_sym(b, "M"), .N = sett_sym(b, "N", .div = 16 / sett__bytes_of(o.c)), .align_c = 16, .wide = parts != NULL, .of = epilogue_of(&o)};
    sett_val *K = sett_sym(b, "K"), *M = p.M, *N = p.N;
    product weights = p; /* as B has its modes */
    weights.L = parts;
    *(o.grouped == SETT_GROUPED_CONTIGUOUS ? &p.G : &p.L) = parts;
    sett_tensor *A = sett__operand(&p, "A", o.dtype, 16, M, K, SETT_K_MAJOR), *B[2] = {NULL, NULL};
    if (packed_bits(&o))
        sett__weights_params(b, &(weights_options){o.dtype, o.b, &o.sw, &o.group, o.zeros}, o.swiglu, N, K, parts, B);
    else
        B[0] = sett__operand(&weights, "B", o.b, 16, o.swiglu ? sett_mul(N, 2) : N, K, SETT_K_MAJOR);
    sett_tensor *offsets = NULL, *counts = NULL;
    if (o.grouped == SETT_GROUPED_CONTIGUOUS)
        offsets = sett_param(b, "OFFSETS", SETT_I32, sett_make_layout(b, T1(sett_add(parts, 1))));
    if (o.grouped == SETT_GROUPED_MASKED)
        counts = sett_param(b, "COUNTS", SETT_I32, sett_make_layout(b, T1(parts)));
    const outputs to = sett__outputs(&p);
    terms s = sett__terms(&p, &to, NULL);
    s.then = then, s.user = data, s.site = site, s.function = "sett_gemm_wgmma_with";
    wgmma_parts t = {.o = &o, .bk = LINE / sett__bytes_of(o.dtype), .product = &p, .terms = &s, .M = M, .N = N};
    t.K = K, t.ktiles = sett_floordiv(sett_add(K, t.bk - 1), t.bk);
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
    t.tiles = sett_tile_scheduler(b, .tiles = T(sett_ceil_div(M, o.tuning.bm), sett_ceil_div(N, columns(&o)), parts ? SETT_A(parts) : sett_arg_i(1)), .clusters = clusters, .k_tiles = k_tiles, .streamed = streamed, .together = together, .swizzle = RASTER, .raster = SETT_RASTER_N,
        .offsets = offsets, .counts = counts, .rows = o.grouped ? o.tuning.bm : 0);
    sett_grid(b, sett_scheduler_grid(t.tiles));
    run(b, &t, A, B, to.C);
}

void sett_gemm_wgmma(sett_build *b, const void *user)
{
    sett_gemm_wgmma_with(b, user, NULL, NULL);
}

#define P(member_) SETT_FAMILY_PARAM(sett_gemm_wgmma_options, member_)
#define TUNED(member_) TUNING_PARAM(sett_gemm_wgmma_options, member_)
static const sett_family_param params[] = {P(dtype), P(no_pdl), P(c), P(scaled), TUNED(bn), TUNED(stages), TUNED(clusters), P(swiglu), P(residual), TUNED(bm), TUNED(m), TUNED(n), P(stream_k), TUNED(cluster), P(b), TUNED(ping_pong), P(promote), P(block_scales), P(grouped), P(batched), P(tf32), P(group), P(zeros), P(sw),
    TERM_PARAMS(sett_gemm_wgmma_options)};
FAMILY_OF(gemm_wgmma, params, .only = "sm_90a");
