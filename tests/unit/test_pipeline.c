/* SPDX-License-Identifier: Apache-2.0 */
/* Clusters, mbarriers, pipelines and schedulers in the language: kernels that the CPU engine runs under each policy of what goes on
 * by itself, or GPU 0 with SETT_TEST_GPU=1, with the results that C computes; the same kernels as PTX. */
#define SETT_SHORT
#include "tests/rig/match.h"
#include "tests/rig/policies.h"
#include "tests/rig/rig.h"
#include <check.h>
#include <sett/cluster.h>
#include <sett/mma.h>
#include <sett/pipeline.h>
#include <sett/scheduler.h>
#include <sett/tma.h>
#include <string.h>

/* ---- running -------------------------------------------------------------------------------------- */
typedef struct program {
    sett_body body;
    const void *user;
    size_t user_size;
    int n;               /* arguments; the last buffer is the result */
    sett_launch_arg arg[6];
    int result;          /* the argument that is it */
    size_t bytes;
    void (*check)(const void *user, const void *result);
} program;

static bool early; /* a mistake: a stage is released before it is read, which a launch may report */
/* By each policy: what check wants, each time. */
static void run_all(const program *p)
{
    for (int n = 0; n < policies(POLICIES); n++) {
        sett_engine *e = engine_of(n);
        sett_kernel *k = kernel_of(e, p->body, p->user, p->user_size);
        sett_error err = {0};
        memset(p->arg[p->result].u.t->data, 0xff, p->bytes);
        sett_status s = launch_here(e, k, p->n, p->arg, &err);
        ck_assert_msg(!s || early, "policy %d: %s", n, err.text);
        if (!s)
            p->check(p->user, p->arg[p->result].u.t->data);
        sett_kernel_release(k);
        sett_engine_close(e);
    }
}

/* ---- rings that threads, or cp.async, fill ------------------------------------------------------------ */
enum { RING_TILE = 64, RING_SIZE = 11 * RING_TILE };
typedef struct ring {
    int kind, stages, producers, consumers; /* of 1, 32 or 128 threads each */
    bool tokens, copies; /* a token is asked for before each wait; an older state releases */
    bool participants;   /* steps that advance */
} ring;

/* The stage to fill, and to read; ahead: the state has gone on. */
static sett_pipeline_state *acquired(sett_pipeline_state *put, bool token, bool ahead)
{
    if (ahead)
        return token ? sett_producer_acquire_and_advance(put, sett_producer_try_acquire(put)) : sett_producer_acquire_and_advance(put);
    if (token)
        sett_producer_acquire(put, sett_producer_try_acquire(put));
    else
        sett_producer_acquire(put);
    return put;
}

static sett_pipeline_state *awaited(sett_pipeline_state *get, bool token, bool ahead)
{
    if (ahead)
        return token ? sett_consumer_wait_and_advance(get, sett_consumer_try_wait(get)) : sett_consumer_wait_and_advance(get);
    if (token)
        sett_consumer_wait(get, sett_consumer_try_wait(get));
    else
        sett_consumer_wait(get);
    return get;
}

/* A state of each side: NULL: the side makes it. */
static sett_participants states_of(const sett_pipeline *pipe, bool participants, bool at_the_top)
{
    if (participants)
        return sett_make_participants(pipe);
    return at_the_top ? (sett_participants){sett_pipeline_producer_state(pipe), sett_pipeline_consumer_state(pipe)} : (sett_participants){NULL, NULL};
}

static sett_group group_of(int threads, int unit)
{
    return (sett_group){threads / unit, unit};
}

static void fill_ring(sett_build *b, const ring *r, sett_pipeline_state *put, sett_tensor *tiles, sett_tensor *stages, sett_val *lane)
{
    sett_for (b, k, 0, RING_SIZE / RING_TILE, 1) {
        sett_pipeline_state *at = acquired(put, r->tokens, r->participants);
        sett_tensor *from = sett_local_tile(sett_slice(tiles, ALL, k), T1(2), T1(lane)), *to = sett_local_tile(sett_slice(stages, ALL, sett_pipeline_stage(at)), T1(2), T1(lane));
        if (r->kind == SETT_PIPELINE_CP_ASYNC)
            sett_cp_async(from, to);
        else
            sett_copy(from, to);
        sett_producer_commit(at);
        if (!r->participants)
            sett_pipeline_advance(put);
    }
    sett_producer_tail(put);
}

static void drain_ring(sett_build *b, const ring *r, sett_pipeline *pipe, sett_pipeline_state *get, sett_tensor *stages, sett_tensor *out, sett_val *mine)
{
    sett_pipeline_state *done = sett_pipeline_consumer_state(pipe);
    sett_for (b, k, 0, RING_SIZE / RING_TILE, 1) {
        sett_pipeline_state *at = awaited(get, r->tokens, r->participants);
        sett_tensor *stage = sett_slice(stages, ALL, sett_pipeline_stage(at));
        sett_if (b, sett_lt(mine, RING_TILE))
            sett_set(sett_slice(out, ALL, k), sett_mul(sett_at(stage, mine), 2.0), mine);
        if (r->copies)
            sett_pipeline_state_copy(at, done);
        if (!r->participants)
            sett_pipeline_advance(get);
        if (r->consumers == 128)
            sett_barrier(b, 1, 128); /* of a warp group one thread arrives */
        sett_consumer_release(r->participants && !r->copies ? at : done);
        if (!r->copies)
            sett_pipeline_advance(done);
    }
}

static void ring_body(sett_build *b, const void *user)
{
    const ring *r = user;
    const int readers = r->consumers == 128 ? 128 : 64;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, RING_SIZE), .align = 16), *D = sett_param(b, "D", SETT_F32, sett_row_major(b, RING_SIZE));
    sett_grid(b, 1), sett_block(b, 32 + readers);
    sett_tensor *stages = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(RING_TILE, r->stages)), 16);
    sett_group producers = group_of(32, r->producers), consumers = group_of(readers, r->consumers);
    sett_pipeline *pipe = r->kind == SETT_PIPELINE_ASYNC ? sett_pipeline_async(b, .stages = r->stages, .producers = producers, .consumers = consumers)
                                                         : sett_pipeline_cp_async(b, .stages = r->stages, .producers = producers, .consumers = consumers);
    sett_val *t = sett_thread_idx(b, 0);
    const sett_participants side = states_of(pipe, r->participants, false);
    sett_if (b, sett_lt(t, 32))
        fill_ring(b, r, side.producer ? side.producer : sett_pipeline_producer_state(pipe), sett_zipped_divide(X, RING_TILE), stages, t);
    sett_else (b)
        drain_ring(b, r, pipe, side.consumer ? side.consumer : sett_pipeline_consumer_state(pipe), stages, sett_zipped_divide(D, RING_TILE), sett_sub(t, 32));
}

static const ring rings[] = {{SETT_PIPELINE_ASYNC, 1, 32, 32, false, false, false}, {SETT_PIPELINE_ASYNC, 3, 32, 32, true, true, false}, {SETT_PIPELINE_ASYNC, 4, 1, 1, true, false, false},
    {SETT_PIPELINE_ASYNC, 5, 1, 128, false, true, false}, {SETT_PIPELINE_CP_ASYNC, 1, 1, 32, true, true, false}, {SETT_PIPELINE_CP_ASYNC, 3, 1, 1, false, false, false},
    {SETT_PIPELINE_CP_ASYNC, 16, 1, 128, true, false, false}, {SETT_PIPELINE_ASYNC, 1, 32, 32, false, false, true}, {SETT_PIPELINE_ASYNC, 3, 32, 32, true, true, true},
    {SETT_PIPELINE_CP_ASYNC, 4, 1, 128, true, false, true}};
static float ring_x[RING_SIZE];

static void check_ring(const void *user, const void *result)
{
    (void)user;
    for (int i = 0; i < RING_SIZE; i++)
        ck_assert_msg(((const float *)result)[i] == 2 * ring_x[i], "%d", i);
}

START_TEST(rings_turn)
{
    static float d[RING_SIZE];
    for (int i = 0; i < RING_SIZE; i++)
        ring_x[i] = (float)(i % 77);
    sett_buf X = sett_buf_1d(ring_x, SETT_F32, RING_SIZE), D = sett_buf_1d(d, SETT_F32, RING_SIZE);
    run_all(&(program){ring_body, &rings[_i], sizeof *rings, 2, {{SETT_LAUNCH_ARG_BUF, .u = {.t = &X}}, {SETT_LAUNCH_ARG_BUF, .u = {.t = &D}}}, 1, sizeof d, check_ring});
}
END_TEST

/* ---- rings that TMA fills, in clusters -------------------------------------------------------------------- */
enum { TM = 16, TK = 32, M = 70, N = 52, K = 200 };
typedef struct product {
    int x, y, stages, unit; /* the cluster; threads of a consumer that arrives */
    bool relaxed, turned, defer, wide; /* turned: the cluster's layout is given as (y,x). wide: consumers of two dimensions */
    bool participants, at_the_top;     /* steps that advance; states that all threads make */
} product;
typedef struct operand {
    sett_tma *map;
    sett_tensor *stages, *smem, *at; /* the ring; what its copies take */
    sett_val *mask;
} operand;

static sett_layout *ranks_of(sett_build *b, const product *p)
{
    return p->turned ? sett_make_layout(b, T(1, p->y, p->x, 1), T(0, p->x, 1, 0)) : sett_make_layout(b, T(1, p->x, p->y, 1), T(0, 1, p->x, 0));
}

/* Each of the blocks that have one tile, `shared` of them along mode `mode` of the ranks, copies a part to all. */
static operand operand_of(sett_build *b, const product *p, sett_tensor *X, sett_val *tile, int shared, sett_val *which, sett_val *bx, sett_val *by, int mode)
{
    operand o = {0};
    o.stages = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(TM, TK, p->stages), T(TK, 1, TM * TK)), 128);
    o.map = sett_make_tma(X, .smem = o.stages, .tile = T(TM, TK), .multicast = shared);
    sett_tensor *g = sett_local_tile(sett_tma_tensor(o.map), T(TM, TK), T(tile, ALL));
    sett_arg at = p->turned ? sett_tuple(b, 0, by, bx, 0) : sett_tuple(b, 0, bx, by, 0);
    sett_tma_partition(o.map, shared > 1 ? SETT_A(which) : SETT_A(0), shared > 1 ? sett_make_layout(b, shared) : NULL, sett_group_modes(o.stages, 0, 2), sett_group_modes(g, 0, 2), &o.smem, &o.at);
    o.mask = shared > 1 ? sett_create_tma_multicast_mask(b, ranks_of(b, p), at, p->turned ? 3 - mode : mode) : NULL;
    return o;
}

static void load_stages(sett_build *b, bool ahead, sett_pipeline_state *put, const operand *a, const operand *c)
{
    sett_for (b, k, 0, (K + TK - 1) / TK, 1) {
        sett_pipeline_state *at = acquired(put, false, ahead);
        sett_tma_load(a->map, sett_slice(a->at, ALL, k), sett_slice(a->smem, ALL, sett_pipeline_stage(at)), sett_pipeline_barrier(at), .mask = a->mask);
        sett_tma_load(c->map, sett_slice(c->at, ALL, k), sett_slice(c->smem, ALL, sett_pipeline_stage(at)), sett_pipeline_barrier(at), .mask = c->mask);
        sett_producer_commit(at);
        if (!ahead)
            sett_pipeline_advance(put);
    }
    sett_producer_tail(put);
}

static void multiply(sett_build *b, const product *p, sett_pipeline_state *get, const operand *a, const operand *c, sett_tensor *D, sett_val *thread)
{
    sett_tensor *acc = sett_make_rmem_tensor(b, SETT_F32, 2);
    sett_fill(acc, 0.0);
    sett_for (b, k, 0, (K + TK - 1) / TK, 1) {
        sett_pipeline_state *at = awaited(get, false, p->participants);
        if (early)
            sett_consumer_release(at);
        sett_tensor *x = sett_slice(a->stages, ALL, ALL, sett_pipeline_stage(at)), *y = sett_slice(c->stages, ALL, ALL, sett_pipeline_stage(at));
        for (int i = 0; i < 2; i++) {
            sett_val *e = sett_add(thread, 128 * i), *row = sett_mod(e, TM), *column = sett_floordiv(e, TM);
            sett_for (b, j, 0, TK, 1)
                sett_set(acc, sett_fma(sett_at(x, row, j), sett_at(y, column, j), sett_at(acc, i)), i);
        }
        if (p->unit == 128) { /* of a warp group one thread arrives, and nobody fences what the others loaded */
            sett_fence_view_async_shared(b);
            sett_barrier(b, 1, 128);
        }
        if (!early)
            sett_consumer_release(at);
        if (!p->participants)
            sett_pipeline_advance(get);
    }
    for (int i = 0; i < 2; i++) {
        sett_val *e = sett_add(thread, 128 * i), *row = sett_add(sett_mul(sett_block_idx(b, 0), TM), sett_mod(e, TM)), *column = sett_add(sett_mul(sett_block_idx(b, 1), TM), sett_floordiv(e, TM));
        sett_if (b, sett_and(sett_lt(row, M), sett_lt(column, N)))
            sett_set(D, sett_at(acc, i), row, column);
    }
}

static void product_body(sett_build *b, const void *user)
{
    const product *p = user;
    sett_tensor *A = sett_param(b, "A", SETT_F32, sett_row_major(b, M, K), .align = 16), *B = sett_param(b, "B", SETT_F32, sett_row_major(b, N, K), .align = 16);
    sett_tensor *D = sett_param(b, "D", SETT_F32, sett_row_major(b, M, N));
    sett_cluster(b, p->x, p->y);
    sett_grid(b, sett_round_up((M + TM - 1) / TM, p->x), sett_round_up((N + TM - 1) / TM, p->y));
    if (p->wide)
        sett_block(b, 32, 5);
    else
        sett_block(b, 160);
    sett_val *bx = sett_block_in_cluster_idx(b, 0), *by = sett_block_in_cluster_idx(b, 1);
    operand a = operand_of(b, p, A, sett_block_idx(b, 0), p->y, by, bx, by, 2), c = operand_of(b, p, B, sett_block_idx(b, 1), p->x, bx, bx, by, 1);
    unsigned modes = (p->x > 1 ? 1u << p->turned : 0) | (p->y > 1 ? 2u >> p->turned : 0);
    sett_pipeline *pipe = sett_pipeline_tma_async(b, .stages = p->stages, .consumers = group_of(128, p->unit), .tx_bytes = sett_tma_bytes(a.map) + sett_tma_bytes(c.map), .multicast = modes,
        .cluster_layout = p->turned ? sett_make_layout(b, T(p->y, p->x), T(p->x, 1)) : NULL, .relaxed = p->relaxed, .defer_sync = p->defer);
    if (p->defer) {
        sett_pipeline_init_arrive(b);
        sett_pipeline_init_wait(b);
    }
    sett_val *t = p->wide ? sett_add(sett_thread_idx(b, 0), sett_mul(sett_thread_idx(b, 1), 32)) : sett_thread_idx(b, 0);
    const sett_participants side = states_of(pipe, p->participants, p->at_the_top);
    sett_if (b, sett_eq(sett_warp_idx(b), 4))
        load_stages(b, p->participants, side.producer ? side.producer : sett_pipeline_producer_state(pipe), &a, &c);
    sett_else (b)
        multiply(b, p, side.consumer ? side.consumer : sett_pipeline_consumer_state(pipe), &a, &c, D, t);
}

static const product products[] = {{.x = 1, .y = 1, .stages = 3, .unit = 32}, {.x = 2, .y = 1, .stages = 3, .unit = 32, .wide = true},
    {.x = 1, .y = 2, .stages = 2, .unit = 128, .relaxed = true, .defer = true}, {.x = 2, .y = 2, .stages = 4, .unit = 32},
    {.x = 4, .y = 2, .stages = 3, .unit = 128, .relaxed = true}, {.x = 2, .y = 4, .stages = 2, .unit = 32, .turned = true, .defer = true},
    {.x = 4, .y = 1, .stages = 1, .unit = 1}, {.x = 2, .y = 2, .stages = 3, .unit = 128, .relaxed = true, .participants = true},
    {.x = 2, .y = 1, .stages = 1, .unit = 32, .participants = true}};
static float product_a[M * K], product_b[N * K], product_d[M * N];

static void check_product(const void *user, const void *result)
{
    (void)user;
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) {
            float sum = 0;
            for (int k = 0; k < K; k++)
                sum += product_a[m * K + k] * product_b[n * K + k];
            ck_assert_msg(((const float *)result)[m * N + n] == sum, "(%d,%d)", m, n);
        }
}

static void fill_products(void)
{
    for (int i = 0; i < M * K; i++)
        product_a[i] = (float)(i % 7 - 3);
    for (int i = 0; i < N * K; i++)
        product_b[i] = (float)(i % 5 - 2);
}

START_TEST(clusters_share_tiles)
{
    product p = products[_i];
    if (p.unit == 1)
        p.x = 1; /* each thread releases, to one block */
    fill_products();
    sett_buf A = sett_buf_2d(product_a, SETT_F32, M, K), B = sett_buf_2d(product_b, SETT_F32, N, K), D = sett_buf_2d(product_d, SETT_F32, M, N);
    run_all(&(program){product_body, &p, sizeof p, 3, {{SETT_LAUNCH_ARG_BUF, .u = {.t = &A}}, {SETT_LAUNCH_ARG_BUF, .u = {.t = &B}}, {SETT_LAUNCH_ARG_BUF, .u = {.t = &D}}}, 2, sizeof product_d, check_product});
}
END_TEST

/* A stage that is released too early is seen: a wait that never ends, or other sums, under some policy. */
static int wrong_sums;
static void count_wrong(const void *user, const void *result)
{
    (void)user;
    for (int i = 0; i < M * N; i++) {
        float sum = 0;
        for (int k = 0; k < K; k++)
            sum += product_a[i / N * K + k] * product_b[i % N * K + k];
        wrong_sums += ((const float *)result)[i] != sum;
    }
}

START_TEST(an_early_release_is_seen)
{
    const product p = {.x = 1, .y = 2, .stages = 2, .unit = 128};
    if (on_gpu()) /* it may wait for ever */
        return;
    fill_products();
    early = true;
    sett_buf A = sett_buf_2d(product_a, SETT_F32, M, K), B = sett_buf_2d(product_b, SETT_F32, N, K), D = sett_buf_2d(product_d, SETT_F32, M, N);
    run_all(&(program){product_body, &p, sizeof p, 3, {{SETT_LAUNCH_ARG_BUF, .u = {.t = &A}}, {SETT_LAUNCH_ARG_BUF, .u = {.t = &B}}, {SETT_LAUNCH_ARG_BUF, .u = {.t = &D}}}, 2, sizeof product_d, count_wrong});
    early = false; /* the tests behind it may run in this process */
    ck_assert_int_gt(wrong_sums, 0);
}
END_TEST

/* ---- from block to block ---------------------------------------------------------------------------------- */
/* Block 0 writes into a ring of block 1, which gives the stages back. */
static void across_body(sett_build *b, const void *user)
{
    const int stages = *(const int *)user;
    sett_tensor *D = sett_param(b, "D", SETT_I32, sett_row_major(b, 9, 32));
    sett_grid(b, 2), sett_block(b, 64);
    sett_cluster(b, 2);
    sett_tensor *slots = sett_make_smem_tensor(b, SETT_I32, sett_make_layout(b, T(32, stages)), 16);
    sett_pipeline *pipe = sett_pipeline_async(b, .stages = stages, .producers = SETT_WARPS(1), .consumers = SETT_WARPS(1), .commit_to = sett_const(b, SETT_I32, 1),
        .release_to = sett_const(b, SETT_I32, 0));
    sett_val *lane = sett_lane_idx(b), *rank = sett_block_idx_in_cluster(b), *first = sett_eq(sett_warp_idx(b), 0);
    sett_if (b, sett_and(first, sett_eq(rank, 0))) {
        sett_pipeline_state *put = sett_pipeline_producer_state(pipe);
        sett_tensor *there = sett_map_dsmem(slots, 1);
        sett_for (b, k, 0, 9, 1) {
            sett_producer_acquire(put);
            sett_set(sett_slice(there, ALL, sett_pipeline_stage(put)), sett_add(sett_mul(k, 100), lane), lane);
            sett_producer_commit(put);
            sett_pipeline_advance(put);
        }
        sett_producer_tail(put);
    }
    sett_if (b, sett_and(first, sett_eq(rank, 1))) {
        sett_pipeline_state *get = sett_pipeline_consumer_state(pipe);
        sett_for (b, k, 0, 9, 1) {
            sett_consumer_wait(get);
            sett_set(D, sett_at(sett_slice(slots, ALL, sett_pipeline_stage(get)), lane), k, lane);
            sett_consumer_release(get);
            sett_pipeline_advance(get);
        }
    }
}

static void check_across(const void *user, const void *result)
{
    (void)user;
    for (int i = 0; i < 9 * 32; i++)
        ck_assert_int_eq(((const int *)result)[i], i / 32 * 100 + i % 32);
}

START_TEST(a_block_fills_another)
{
    static int d[9 * 32];
    const int stages = _i + 1;
    sett_buf D = sett_buf_2d(d, SETT_I32, 9, 32);
    run_all(&(program){across_body, &stages, sizeof stages, 1, {{SETT_LAUNCH_ARG_BUF, .u = {.t = &D}}}, 0, sizeof d, check_across});
}
END_TEST

/* ---- what they compile to ------------------------------------------------------------------------------ */
static char *ptx_of(sett_engine *e, sett_body body, const void *user, size_t size, const char *target, sett_kernel **k)
{
    sett_compile_options o = {.size = sizeof o, .target = target, .user = user, .user_size = size, .ptx_only = true};
    sett_error err = {0};
    sett_kernel_info info = {.size = sizeof info};
    ck_assert_msg(!sett_compile(e, body, &o, k, &err), "%s", err.text);
    ck_assert_int_eq(sett_kernel_query(*k, &info), SETT_OK);
    return (char *)(uintptr_t)info.ptx;
}

/* A stage is a register and its parity another, which a select changes: no division, and a wait is one instruction in a loop. */
static const char producer_loop[] =
    "CHECK: elect.sync\nCHECK: mbarrier.try_wait.parity.shared.b64\nCHECK: bra\nCHECK: mbarrier.arrive.expect_tx.shared.b64\nNOT: elect.sync\n"
    "CHECK: cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster\nCHECK: selp.b32\nCHECK: xor.b32\n";

START_TEST(loops_have_no_division)
{
    if (!have_compiler())
        return;
    sett_engine *e = open_engine();
    sett_kernel *k;
    const product p = {.x = 2, .y = 2, .stages = 3, .unit = 128, .relaxed = true}, fenced = {.x = 2, .y = 1, .stages = 3, .unit = 32};
    char *ptx = ptx_of(e, product_body, &p, sizeof p, "sm_90a", &k), *bad = match(ptx, producer_loop);
    ck_assert_msg(!bad, "%s\n%s", bad, ptx);
    ck_assert_msg(!strstr(ptx, "div.") && !strstr(ptx, "rem.") && !strstr(ptx, ".local"), "%s", ptx);
    ck_assert_msg(strstr(ptx, "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _,") && !strstr(ptx, "mbarrier.arrive.release.cluster"), "%s", ptx);
    ck_assert_msg(!strstr(ptx, "acquire.cluster"), "%s", ptx);
    sett_kernel_release(k);
    ptx = ptx_of(e, product_body, &fenced, sizeof fenced, "sm_90a", &k);
    ck_assert_msg(strstr(ptx, "mbarrier.arrive.release.cluster.shared::cluster.b64 _,") && strstr(ptx, "try_wait.parity.acquire.cluster"), "%s", ptx);
    sett_kernel_release(k);
    ptx = ptx_of(e, ring_body, &rings[5], sizeof *rings, "sm_80", &k); /* cp.async, of threads alone */
    ck_assert_msg(strstr(ptx, "cp.async.mbarrier.arrive.noinc.shared.b64") && strstr(ptx, "mbarrier.test_wait.parity.shared.b64") && !strstr(ptx, "fence.mbarrier_init"), "%s", ptx);
    sett_kernel_release(k);
    sett_engine_close(e);
}
END_TEST

/* What loads have read is overwritten by copies of another proxy: each thread fences, then the warp meets, then one lane arrives. */
static void check_release(sett_engine *e, sett_body body, const void *user, size_t size, int fences, const char *tape_has, const char *ptx_has)
{
    const sett_compile_options o = {.size = sizeof o, .target = "sm_90a", .user = user, .user_size = size};
    sett_kernel *k;
    char *text = tape_of(body, &o), *bad = match(text, tape_has);
    ck_assert_msg(!bad, "%s", bad);
    ck_assert_int_eq(count_in(text, "fence.proxy kind=async.shared\n"), fences);
    sett_text_free(text);
    if (!e)
        return;
    text = ptx_of(e, body, user, size, "sm_90a", &k);
    ck_assert_msg(!(bad = match(text, ptx_has)), "%s", bad);
    ck_assert_int_eq(count_in(text, "fence.proxy.async.shared::cta;"), fences);
    sett_kernel_release(k);
}

#define TAPE(between) "CHECK: load %\nCHECK: fma\nCHECK: fence.proxy kind=async.shared\nNOT: mbarrier\n" between "CHECK: mbarrier.arrive\nNOT: mbarrier.arrive\n"
#define PTX(between) "CHECK: ld.shared\nCHECK: fma.rn.f32\nCHECK: fence.proxy.async.shared::cta;\nNOT: mbarrier\n" between "CHECK: mbarrier.arrive{{*}}shared\nNOT: ld.shared\n"
START_TEST(releases_of_loaded_stages_fence)
{
    static const char warps[] = TAPE("CHECK: syncwarp\n"), warps_ptx[] = PTX("CHECK: bar.warp.sync\n");
    const struct { product p; const char *tape, *ptx; } of[] = {{{.x = 1, .y = 1, .stages = 3, .unit = 32}, warps, warps_ptx},
        {{.x = 2, .y = 2, .stages = 2, .unit = 32, .relaxed = true, .participants = true}, warps, warps_ptx}, /* to peers, whose copies write the stage */
        {{.x = 1, .y = 1, .stages = 3, .unit = 1}, TAPE("NOT: syncwarp\n"), PTX("NOT: bar.warp.sync\n")},
        {{.x = 1, .y = 1, .stages = 3, .unit = 128}, TAPE("CHECK: barrier.sync\nNOT: syncwarp\n"), PTX("CHECK: bar{{*}}.sync\n")}}; /* the body's */
    sett_engine *e = have_compiler() ? open_engine() : NULL;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        check_release(e, product_body, &of[i].p, sizeof of[i].p, 1, of[i].tape, of[i].ptx);
    for (size_t i = 0; i < sizeof rings / sizeof *rings; i++) /* filled by stores, or cp.async, which are of the proxy of loads */
        check_release(e, ring_body, &rings[i], sizeof *rings, 0, "CHECK: mbarrier.arrive", "CHECK: mbarrier.arrive");
    sett_engine_close(e);
}
END_TEST

/* Lines of PTX that are no move between registers. */
static int working_lines(const char *ptx)
{
    int n = 0;
    for (const char *line = ptx; line; line = strchr(line, '\n'), line += line != NULL)
        n += strncmp(line, "\tmov.b32 ", 9) != 0;
    return n;
}

/* By participants the kernel is the one by states that all threads made, but for what keeps the stage's number while the state goes on. */
START_TEST(participants_cost_nothing)
{
    if (!have_compiler())
        return;
    sett_engine *e = open_engine();
    sett_kernel *k;
    int n[2];
    for (int i = 0; i < 2; i++) {
        const product p = {.x = 2, .y = 2, .stages = 3, .unit = 128, .relaxed = true, .participants = i == 1, .at_the_top = i == 0};
        const char *ptx = ptx_of(e, product_body, &p, sizeof p, "sm_90a", &k);
        n[i] = working_lines(ptx);
        ck_assert(!strstr(ptx, ".local"));
        sett_kernel_release(k);
    }
    ck_assert_int_gt(n[0], 100);
    ck_assert_int_eq(n[0], n[1]);
    sett_engine_close(e);
}
END_TEST

/* ---- stores by TMA ---------------------------------------------------------------------------------------- */
enum { STORE_ROWS = 8, STORE_COLUMNS = 32, STORES = 7 };
static void store_body(sett_build *b, const void *user)
{
    const int stages = *(const int *)user & 3;
    const bool ahead = *(const int *)user > 3;
    sett_tensor *D = sett_param(b, "D", SETT_F32, sett_row_major(b, STORES * STORE_ROWS, STORE_COLUMNS), .align = 16);
    sett_grid(b, 1), sett_block(b, 32);
    sett_tensor *stages_of = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(STORE_ROWS, STORE_COLUMNS, stages), T(STORE_COLUMNS, 1, STORE_ROWS * STORE_COLUMNS)), 128);
    sett_tma *map = sett_make_tma(D, .smem = stages_of, .tile = T(STORE_ROWS, STORE_COLUMNS));
    sett_tensor *at = sett_local_tile(sett_tma_tensor(map), T(STORE_ROWS, STORE_COLUMNS), T(ALL, 0));
    sett_pipeline_state *put = sett_pipeline_producer_state(sett_pipeline_tma_store(b, .stages = stages));
    sett_val *lane = sett_lane_idx(b);
    sett_for (b, k, 0, STORES, 1) {
        sett_pipeline_state *at_stage = acquired(put, false, ahead);
        sett_sync_warp(b);
        sett_tensor *stage = sett_slice(stages_of, ALL, ALL, sett_pipeline_stage(at_stage));
        for (int i = 0; i < STORE_ROWS; i++)
            sett_set(stage, sett_to(sett_add(sett_mul(sett_add(sett_mul(k, STORE_ROWS), i), STORE_COLUMNS), lane), SETT_F32), i, lane);
        sett_fence_view_async_shared(b);
        sett_sync_warp(b);
        sett_tma_store(map, stage, sett_slice(at, ALL, ALL, k));
        sett_producer_commit(at_stage);
        if (!ahead)
            sett_pipeline_advance(put);
    }
    sett_producer_tail(put);
}

static void check_stores(const void *user, const void *result)
{
    (void)user;
    for (int i = 0; i < STORES * STORE_ROWS * STORE_COLUMNS; i++)
        ck_assert_msg(((const float *)result)[i] == (float)i, "%d", i);
}

START_TEST(stores_go_through_a_ring)
{
    static float d[STORES * STORE_ROWS * STORE_COLUMNS];
    sett_buf D = sett_buf_2d(d, SETT_F32, STORES * STORE_ROWS, STORE_COLUMNS);
    const int stages = _i < 3 ? _i + 1 : 4 + 2; /* 4: by steps that advance */
    run_all(&(program){store_body, &stages, sizeof stages, 1, {{SETT_LAUNCH_ARG_BUF, .u = {.t = &D}}}, 0, sizeof d, check_stores});
}
END_TEST

/* ---- turns ------------------------------------------------------------------------------------------------ */
/* In each stage the groups write their number behind each other. */
enum { TURN_ROUNDS = 5, MOST_GROUPS = 4 };
typedef struct turns { int stages, groups, unit, each; bool counted; } turns;
static void turns_body(sett_build *b, const void *user)
{
    const turns *p = user;
    sett_tensor *D = sett_param(b, "D", SETT_I32, sett_row_major(b, p->stages, p->groups * TURN_ROUNDS));
    sett_grid(b, 1), sett_block(b, p->groups * p->unit);
    sett_tensor *next = sett_make_smem_tensor(b, SETT_I32, p->stages, 16);
    sett_val *t = sett_thread_idx(b, 0), *group = sett_floordiv(t, p->unit);
    sett_if (b, sett_eq(t, 0))
        sett_fill(next, 0);
    sett_sync_threads(b);
    sett_pipeline *order = sett_pipeline_order(b, .stages = p->stages, .turns = p->groups, .producers = group_of(p->unit, p->each));
    sett_pipeline_state *turn = sett_order_state(order, group);
    sett_for (b, k, 0, TURN_ROUNDS, 1) {
        if (p->counted)
            sett_pipeline_state_set(turn, sett_mul(k, p->stages));
        for (int i = 0; i < p->stages; i++) {
            sett_order_wait(turn);
            sett_if (b, sett_eq(sett_mod(t, p->unit), 0)) {
                sett_val *at = sett_at(next, i);
                sett_set(D, group, i, at);
                sett_set(next, sett_add(at, 1), i);
            }
            sett_order_arrive(turn);
        }
    }
}

static void check_turns(const void *user, const void *result)
{
    const turns *p = user;
    for (int i = 0; i < p->stages * p->groups * TURN_ROUNDS; i++)
        ck_assert_int_eq(((const int *)result)[i], i % p->groups);
}

START_TEST(groups_take_turns)
{
    static const turns p[] = {{1, 2, 128, 32, false}, {2, 2, 128, 1, true}, {3, 4, 32, 32, false}, {2, 3, 32, 1, true}};
    static int d[3 * MOST_GROUPS * TURN_ROUNDS];
    sett_buf D = sett_buf_2d(d, SETT_I32, p[_i].stages, p[_i].groups * TURN_ROUNDS);
    run_all(&(program){turns_body, &p[_i], sizeof *p, 1, {{SETT_LAUNCH_ARG_BUF, .u = {.t = &D}}}, 0, sizeof d, check_turns});
}
END_TEST

/* ---- tile after tile ---------------------------------------------------------------------------------------- */
typedef struct schedule { int m, n, l, x, y, swizzle, raster, clusters; bool fixed; } schedule;
/* At each tile, which of all clusters of tiles it was of. */
static void schedule_body(sett_build *b, const void *user)
{
    const schedule *p = user;
    sett_arg m = p->fixed ? SETT_A(p->m) : SETT_A(sett_sym(b, "m")), n = p->fixed ? SETT_A(p->n) : SETT_A(sett_sym(b, "n")), l = p->fixed ? SETT_A(p->l) : SETT_A(sett_sym(b, "l"));
    sett_tensor *D = sett_param(b, "D", SETT_I32, sett_row_major(b, m, n, l));
    sett_arg most = p->fixed ? SETT_A(p->clusters) : SETT_A(sett_sym(b, "clusters"));
    sett_cluster(b, p->x, p->y);
    sett_scheduler *s = sett_tile_scheduler(b, .tiles = T(m, n, l), .clusters = most, .swizzle = p->swizzle, .raster = (sett_raster)p->raster);
    sett_grid(b, sett_scheduler_grid(s)), sett_block(b, 1);
    sett_work_tile *w = sett_initial_work_tile(s);
    sett_tensor *number = sett_var(b, SETT_I32, sett_block_idx(b, 2));
    sett_while (b, sett_is_valid_tile(w)) {
        sett_arg at = sett_tile_coord(w);
        sett_val *inside[2] = {sett_binary_at(SETT_HERE, "sett_lt", SETT_LT, sett_get(at, 0), m), sett_binary_at(SETT_HERE, "sett_lt", SETT_LT, sett_get(at, 1), n)};
        sett_if (b, sett_and(inside[0], inside[1]))
            sett_set(D, sett_at(number, 0), at);
        sett_set(number, sett_add(sett_at(number, 0), sett_grid_dim(b, 2)), 0);
        sett_advance_to_next_work(w);
    }
}

/* Planes of clusters of tiles, each band after band, a band row after row: of raster M; of raster N with both exchanged. */
static void check_schedule(const void *user, const void *result)
{
    const schedule *p = user;
    const int cm = (p->m + p->x - 1) / p->x, cn = (p->n + p->y - 1) / p->y, major = p->raster ? cn : cm, minor = p->raster ? cm : cn, wide = p->swizzle ? p->swizzle : 1;
    int number = 0;
    for (int l = 0; l < p->l; l++)
        for (int band = 0; band < minor; band += wide)
            for (int along = 0; along < major; along++)
                for (int across = band; across < minor && across < band + wide; across++, number++)
                    for (int i = 0; i < p->x * p->y; i++) {
                        const int m = (p->raster ? across : along) * p->x + i % p->x, n = (p->raster ? along : across) * p->y + i / p->x;
                        ck_assert_msg(m >= p->m || n >= p->n || ((const int *)result)[(m * p->n + n) * p->l + l] == number, "(%d,%d,%d)", m, n, l);
                    }
}

static const schedule schedules[] = {{5, 7, 1, 1, 1, 0, 0, 3, false}, {5, 7, 2, 2, 1, 3, 0, 4, false}, {8, 6, 3, 2, 2, 2, 1, 100, false}, {1, 1, 1, 1, 1, 8, 1, 1, false},
    {13, 9, 1, 1, 4, 4, 0, 5, false}, {8, 12, 2, 2, 1, 4, 0, 7, true}, {9, 5, 1, 4, 2, 2, 1, 2, true}, {6, 16, 1, 1, 1, 8, 1, 16, true}};

START_TEST(tiles_are_taken_in_order)
{
    static int d[1024];
    const schedule *p = &schedules[_i];
    const int64_t shape[] = {p->m, p->n, p->l};
    sett_buf D = sett_buf_nd(d, SETT_I32, 3, shape);
    run_all(&(program){schedule_body, p, sizeof *p, p->fixed ? 1 : 5,
        {{SETT_LAUNCH_ARG_BUF, .u = {.t = &D}}, {SETT_LAUNCH_ARG_INT, .u = {.i = p->m}}, {SETT_LAUNCH_ARG_INT, .u = {.i = p->n}}, {SETT_LAUNCH_ARG_INT, .u = {.i = p->l}}, {SETT_LAUNCH_ARG_INT, .u = {.i = p->clusters}}}, 0, sizeof d, check_schedule});
}
END_TEST

/* ---- clusters ------------------------------------------------------------------------------------------------- */
enum { IDS = 10 };
static void ids_body(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *D = sett_param(b, "D", SETT_I32, sett_row_major(b, 24, IDS));
    sett_grid(b, 6, 4), sett_block(b, 32);
    sett_cluster(b, 3, 2);
    sett_val *rank = sett_block_idx_in_cluster(b), *t = sett_thread_idx(b, 0);
    sett_tensor *sum = sett_make_smem_tensor(b, SETT_I32, 1, 16), *row = sett_slice(D, sett_add(sett_block_idx(b, 0), sett_mul(sett_block_idx(b, 1), 6)), ALL);
    sett_fill(sum, 0);
    sett_cluster_sync(b);
    sett_if (b, sett_lt(t, sett_cluster_size(b))) /* at each block's */
        sett_atomic_ordered(sett_map_dsmem(sum, t), SETT_ATOMIC_ADD, SETT_SEM_RELAXED, SETT_SCOPE_CLUSTER, sett_add(rank, 1), 0);
    sett_cluster_arrive(b);
    sett_val *const id[IDS - 1] = {sett_cluster_idx(b, 0), sett_cluster_idx(b, 1), sett_cluster_dim(b, 0), sett_cluster_dim(b, 1), sett_block_in_cluster_idx(b, 0),
        sett_block_in_cluster_idx(b, 1), sett_block_in_cluster_dim(b, 0), sett_block_in_cluster_dim(b, 1), rank};
    sett_cluster_wait(b);
    for (int i = 0; i < IDS - 1; i++)
        sett_set(row, id[i], i);
    sett_set(row, sett_at(sum, 0), IDS - 1);
    sett_fence_acq_rel_cluster(b);
    sett_fence_proxy(b, SETT_PROXY_ASYNC);
}

static void check_ids(const void *user, const void *result)
{
    (void)user;
    for (int i = 0; i < 24; i++) {
        const int x = i % 6, y = i / 6, want[IDS] = {x / 3, y / 2, 2, 2, x % 3, y % 2, 3, 2, x % 3 + y % 2 * 3, 1 + 2 + 3 + 4 + 5 + 6};
        for (int k = 0; k < IDS; k++)
            ck_assert_msg(((const int *)result)[i * IDS + k] == want[k], "block %d, id %d is %d, not %d", i, k, ((const int *)result)[i * IDS + k], want[k]);
    }
}

START_TEST(blocks_know_their_cluster)
{
    static int d[24 * IDS];
    sett_buf D = sett_buf_2d(d, SETT_I32, 24, IDS);
    run_all(&(program){ids_body, NULL, 0, 1, {{SETT_LAUNCH_ARG_BUF, .u = {.t = &D}}}, 0, sizeof d, check_ids});
}
END_TEST

/* Of one block: no target is too old, and ids are constants. */
static void alone_body(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *D = sett_param(b, "D", SETT_I32, sett_row_major(b, 32));
    sett_grid(b, 1), sett_block(b, 32);
    sett_cluster(b, 1);
    sett_cluster_sync(b);
    sett_set(D, sett_add(sett_cluster_size(b), sett_block_idx_in_cluster(b)), sett_thread_idx(b, 0));
}

static void registers_body(sett_build *b, const void *user)
{
    sett_tensor *D = sett_param(b, "D", SETT_I32, sett_row_major(b, 256));
    sett_grid(b, 1), sett_block(b, 256);
    if (user)
        sett_max_registers(b, 128);
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_lt(t, 128))
        sett_setmaxregister_decrease(b, 40);
    sett_else (b)
        sett_setmaxregister_increase(b, 232);
    sett_set(D, t, t);
}

START_TEST(hints_and_one_block)
{
    static const int one = 1;
    const sett_compile_options o = {.size = sizeof o, .target = "sm_90a"}, more = {.size = sizeof more, .target = "sm_90a", .user = &one};
    char *text = tape_of(registers_body, &o);
    ck_assert_msg(strstr(text, "launch min_blocks 1\n") && strstr(text, "setmaxnreg way=dec count=40") && strstr(text, "setmaxnreg way=inc count=232"), "%s", text);
    sett_text_free(text);
    text = tape_of(registers_body, &more);
    ck_assert_msg(strstr(text, "launch max_registers 128\n"), "%s", text);
    sett_text_free(text);
    text = tape_of(alone_body, &(sett_compile_options){.size = sizeof o, .target = "sm_75"});
    ck_assert_msg(!strstr(text, "cluster_") && !strstr(text, "cluster."), "%s", text);
    sett_text_free(text);
}
END_TEST

/* ---- how many run at once ---------------------------------------------------------------------------------------- */
static void pair_body(sett_build *b, const void *user)
{
    sett_tensor *D = sett_param(b, "D", SETT_I32, sett_row_major(b, sett_sym(b, "N")));
    sett_grid(b, sett_mul(sett_sym(b, "N"), 2));
    sett_block(b, user ? SETT_A(sett_sym(b, "N")) : SETT_A(1024));
    sett_cluster(b, 2);
    sett_if (b, sett_eq(sett_block_idx_in_cluster(b), 0))
        sett_set(D, 1, sett_cluster_idx(b, 0));
}

START_TEST(clusters_at_once)
{
    sett_error err = {0};
    sett_kernel *k;
    int n = -1;
    if (on_gpu())
        return;
    sett_engine *e = engine_of(0);
    ck_assert_msg(!sett_compile(e, pair_body, &(sett_compile_options){.size = sizeof(sett_compile_options), .target = "cpu"}, &k, &err), "%s", err.text);
    ck_assert_int_eq(sett_max_active_clusters(k, SETT_CPU, &n, &err), SETT_OK);
    ck_assert_int_eq(n, 132); /* of 132 multiprocessors, two blocks of 1024 threads each */
    ck_assert_int_eq(sett_max_active_clusters(k, 0, &n, &err), SETT_E_NO_DEVICE);
    ck_assert_int_eq(n, 0);
    REFUSED(sett_max_active_clusters(NULL, 0, &n, &err), SETT_E_ARGUMENT, "sett_max_active_clusters: the kernel is NULL");
    REFUSED(sett_max_active_clusters(k, SETT_CPU, NULL, &err), SETT_E_ARGUMENT, "sett_max_active_clusters: the result is NULL");
    sett_kernel_release(k);
    ck_assert_msg(!sett_compile(e, pair_body, &(sett_compile_options){.size = sizeof(sett_compile_options), .target = "cpu", .user = "", .name = "pair"}, &k, &err), "%s", err.text);
    REFUSED(sett_max_active_clusters(k, SETT_CPU, &n, &err), SETT_E_ARGUMENT,
        "sett_max_active_clusters: pair has a block or shared memory that each launch makes, and no one number of clusters");
    sett_kernel_release(k);
    sett_engine_close(e);
}
END_TEST

START_TEST(clusters_at_once_by_the_driver)
{
    sett_error err = {0};
    sett_kernel *k;
    int n = -1;
    if (on_gpu() || !have_compiler() || !fake_driver())
        return;
    sett_engine_options o = options();
    o.no_gpu = false;
    sett_engine *e = open_with(&o);
    ck_assert_msg(!sett_compile(e, pair_body, &(sett_compile_options){.size = sizeof(sett_compile_options), .target = "sm_90a"}, &k, &err), "%s", err.text);
    ck_assert_msg(!sett_max_active_clusters(k, 0, &n, &err), "%s", err.text);
    ck_assert_int_eq(n, 132);
    sett_kernel_release(k);
    k = compile(e, &sm90); /* without clusters: blocks */
    ck_assert_msg(!sett_max_active_clusters(k, 0, &n, &err), "%s", err.text);
    ck_assert_int_gt(n, 0);
    ck_assert_int_eq(n % 2, 0);
    sett_kernel_release(k);
    sett_engine_close(e);
}
END_TEST

Suite *pipeline_suite(void);
Suite *pipeline_suite(void)
{
    Suite *s = suite_create("pipeline");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, make_root, drop_root);
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, rings_turn, 0, (int)(sizeof rings / sizeof *rings));
    tcase_add_loop_test(t, clusters_share_tiles, 0, (int)(sizeof products / sizeof *products));
    tcase_add_test(t, an_early_release_is_seen);
    tcase_add_loop_test(t, a_block_fills_another, 0, 3);
    tcase_add_test(t, loops_have_no_division);
    tcase_add_test(t, releases_of_loaded_stages_fence);
    tcase_add_test(t, participants_cost_nothing);
    tcase_add_loop_test(t, stores_go_through_a_ring, 0, 4);
    tcase_add_loop_test(t, groups_take_turns, 0, 4);
    tcase_add_loop_test(t, tiles_are_taken_in_order, 0, (int)(sizeof schedules / sizeof *schedules));
    tcase_add_test(t, blocks_know_their_cluster);
    tcase_add_test(t, hints_and_one_block);
    tcase_add_test(t, clusters_at_once);
    tcase_add_test(t, clusters_at_once_by_the_driver);
    suite_add_tcase(s, t);
    return s;
}
