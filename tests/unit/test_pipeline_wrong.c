/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong kernels with clusters, mbarriers and pipelines: refused while they are recorded, when they are whole or at a launch, or
 * reported by the CPU engine under some policy, with the line. */
#define SETT_SHORT
#include "tests/rig/policies.h"
#include "tests/rig/rig.h"
#include <sett/cluster.h>
#include <sett/pipeline.h>
#include <sett/scheduler.h>
#include <sett/tma.h>
#include <string.h>

/* ---- wrong: refused -------------------------------------------------------------------------------------------------- */
typedef struct bench {
    sett_build *b;
    sett_tensor *gmem, *smem, *bars, *bar, *ring;
    sett_pipeline *pipe, *store, *order;
    sett_pipeline_state *put, *get, *other, *stored;
} bench;
typedef struct mistake {
    sett_status status;
    const char *text, *file; /* text: `~` stands for anything */
    int line;
} mistake;

static bench set_up(void)
{
    bench w = {.b = kernel()};
    sett_grid(w.b, 2), sett_block(w.b, 64);
    sett_cluster(w.b, 2);
    w.gmem = sett_param(w.b, "X", SETT_F32, sett_row_major(w.b, 64));
    w.smem = sett_make_smem_tensor(w.b, SETT_F32, 64, 16, .name = "S");
    w.ring = sett_make_smem_tensor(w.b, SETT_F32, sett_make_layout(w.b, T(64, 2)), 16, .name = "ring");
    w.bars = sett_make_mbarriers(w.b, 2);
    w.bar = sett_slice(w.bars, 0);
    w.pipe = sett_pipeline_async(w.b, .stages = 3, .producers = SETT_WARPS(1), .consumers = SETT_WARPS(1));
    w.store = sett_pipeline_tma_store(w.b, .stages = 2);
    w.order = sett_pipeline_order(w.b, .stages = 1, .turns = 2, .producers = SETT_WARPS(1));
    w.put = sett_pipeline_producer_state(w.pipe);
    w.get = sett_pipeline_consumer_state(w.pipe);
    w.other = sett_pipeline_consumer_state(sett_pipeline_async(w.b, .stages = 3, .producers = SETT_WARPS(1), .consumers = SETT_WARPS(1)));
    w.stored = sett_pipeline_producer_state(w.store);
    ck_assert_msg(!w.b->error.status, "%s", w.b->error.text);
    return w;
}

#define MISTAKE(name, status, text, ...) \
    static mistake name(const bench *w) \
    { \
        (void)(__VA_ARGS__); \
        return (mistake){status, text, __FILE__, __LINE__}; \
    }
#include "tests/rig/mistakes_async.h"
#undef MISTAKE
#define MISTAKE(name, status, text, ...) name,
static mistake (*const mistakes[])(const bench *) = {
#include "tests/rig/mistakes_async.h"
};

/* Is text what the pattern says? */
static bool is_like(const char *text, const char *pattern)
{
    for (; *pattern && *pattern != '~'; pattern++, text++)
        if (*text != *pattern)
            return false;
    if (!*pattern)
        return !*text;
    for (; *text; text++)
        if (is_like(text, pattern + 1))
            return true;
    return !pattern[1];
}

START_TEST(refused)
{
    bench w = set_up();
    const mistake m = mistakes[_i](&w);
    char want[600];
    snprintf(want, sizeof want, "%s:%d: %s", m.file, m.line, m.text);
    ck_assert_msg(is_like(w.b->error.text, want), "%s\nis not\n%s", w.b->error.text, want);
    ck_assert_int_eq(w.b->error.status, m.status);
    ck_assert_int_eq(sett_build_end(w.b, NULL), m.status);
}
END_TEST

/* What is known when the body has returned, or when it is compiled. */
static void no_cluster(sett_build *b) { sett_cluster_sync(b); }
static void peer_of_an_arm(sett_build *b)
{
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, 4, 16), *peer = NULL;
    sett_cluster(b, 2);
    sett_if (b, sett_eq(sett_thread_idx(b, 0), 0))
        peer = sett_map_dsmem(s, 1);
    sett_set(peer, 1, 0);
}
static void no_tail(sett_build *b)
{
    sett_cluster(b, 2);
    sett_pipeline *p = sett_pipeline_tma_async(b, .stages = 2, .tx_bytes = 16, .multicast = 1, .consumers = SETT_WARPS(1));
    sett_producer_acquire(sett_pipeline_producer_state(p));
}
static void no_tail_of_participants(sett_build *b)
{
    sett_cluster(b, 2);
    sett_producer_acquire_and_advance(sett_make_participants(sett_pipeline_tma_async(b, .stages = 2, .tx_bytes = 16, .multicast = 1, .consumers = SETT_WARPS(1))).producer);
}
static void uneven_grid(sett_build *b)
{
    sett_cluster(b, 3);
}
static void uneven_plane(sett_build *b)
{
    sett_cluster(b, 1, 2);
}
static const struct { void (*body)(sett_build *); sett_status status; const char *why; } wrong[] = {
    {no_cluster, SETT_E_ARGUMENT, "sett_cluster_sync: the cluster was not said before: sett_cluster(b, ...), of 1 if there is none"},
    {peer_of_an_arm, SETT_E_REGION, "sett_set: smem@test_pipeline_wrong.c:~ of a peer was made in a region that has ended: call sett_map_dsmem here, or before it"},
    {no_tail, SETT_E_REGION, "sett_producer_acquire: neither sett_producer_tail nor sett_cluster_wait follows: the block could end while others still release stages to it"},
    {no_tail_of_participants, SETT_E_REGION, "sett_producer_acquire_and_advance: neither sett_producer_tail nor sett_cluster_wait follows: the block could end while others still release stages to it"},
    {uneven_grid, SETT_E_DIVIDE, "sett_cluster: extent 0 of the grid is 2, which is not a multiple of the cluster's, 3"},
    {uneven_plane, SETT_E_DIVIDE, "sett_cluster: extent 1 of the grid is 1, which is not a multiple of the cluster's, 2"},
};

static void wrong_body(sett_build *b, const void *user)
{
    sett_tensor *D = sett_param(b, "D", SETT_I32, sett_row_major(b, 64));
    sett_grid(b, 2), sett_block(b, 64);
    (*(void (*const *)(sett_build *))user)(b);
    sett_set(D, 1, sett_thread_idx(b, 0));
}

START_TEST(refused_as_a_whole)
{
    sett_engine *e = engine_of(0);
    sett_error err = {0};
    sett_kernel *k;
    sett_status s = sett_compile(e, wrong_body, &(sett_compile_options){.size = sizeof(sett_compile_options), .target = "cpu", .user = &wrong[_i].body}, &k, &err);
    const char *text = strstr(err.text, ": ");
    ck_assert_msg(s == wrong[_i].status, "%d: %s", (int)s, err.text);
    ck_assert_msg(is_like(strstr(err.text, "test_pipeline_wrong.c:") == err.text || strchr(err.text, '/') ? text + 2 : err.text, wrong[_i].why), "%s", err.text);
    sett_engine_close(e);
}
END_TEST

START_TEST(uneven_before_its_grid)
{
    sett_build *b = kernel();
    const char *text;
    sett_cluster(b, 2);
    sett_grid(b, sett_sym(b, "n"), 3), sett_block(b, 32); /* n: known at the launch */
    ck_assert_int_eq(sett_build_status(b, NULL), SETT_OK);
    sett_build_end(b, NULL);
    b = kernel();
    sett_cluster(b, 2, 2);
    sett_grid(b, sett_sym(b, "n"), 3);
    ck_assert_int_eq(sett_build_status(b, &text), SETT_E_DIVIDE);
    ck_assert_msg(is_like(text, "~test_pipeline_wrong.c:~: sett_grid: extent 1 of the grid is 3, which is not a multiple of the cluster's, 2"), "%s", text);
    sett_build_end(b, NULL);
}
END_TEST

/* More tiles than a block counts: the launch is refused, and the most of them begin. */
static void counts_body(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *D = sett_param(b, "D", SETT_I32, sett_row_major(b, 1));
    sett_scheduler *s = sett_tile_scheduler(b, .tiles = T(sett_sym(b, "M"), sett_sym(b, "N")), .clusters = SETT_A(4));
    sett_grid(b, sett_scheduler_grid(s)), sett_block(b, 1);
    sett_if (b, sett_is_valid_tile(sett_initial_work_tile(s)))
        sett_atomic_add(D, 1, 0);
}

START_TEST(too_many_tiles)
{
    sett_engine *e = engine_of(0);
    sett_error err = {0};
    sett_kernel *k;
    int began = 0;
    sett_buf D = sett_buf_1d(&began, SETT_I32, 1);
    const sett_stream cpu = sett_stream_of(SETT_CPU, NULL);
    ck_assert_msg(!sett_compile(e, counts_body, &(sett_compile_options){.size = sizeof(sett_compile_options), .target = "cpu"}, &k, &err), "%s", err.text);
    ck_assert_msg(!sett_launch(k, cpu, &err, &D, 65536, 32767), "%s", err.text);
    ck_assert_int_eq(began, 4);
    ck_assert_int_ne(sett_launch(k, cpu, &err, &D, 65536, 65536), SETT_OK);
    ck_assert_msg(strstr(err.text, "sett_tile_scheduler: .tiles (M,N) are at most 2147418112, counted in clusters, and M = 65536, N = 65536"), "%s", err.text);
    sett_kernel_release(k);
    sett_engine_close(e);
}
END_TEST

/* A grid that the launch makes. */
static void odd_body(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *D = sett_param(b, "D", SETT_I32, sett_row_major(b, sett_sym(b, "N")));
    sett_cluster(b, 2);
    sett_grid(b, sett_sym(b, "N")), sett_block(b, 32);
    sett_set(D, 1, sett_block_idx(b, 0));
}

START_TEST(refused_at_the_launch)
{
    static int d[8];
    sett_engine *e = engine_of(0);
    sett_error err = {0};
    sett_kernel *k;
    sett_buf three = sett_buf_1d(d, SETT_I32, 3), four = sett_buf_1d(d, SETT_I32, 4);
    ck_assert_msg(!sett_compile(e, odd_body, &(sett_compile_options){.size = sizeof(sett_compile_options), .target = "cpu", .name = "odd"}, &k, &err), "%s", err.text);
    REFUSED(sett_launch(k, sett_stream_of(SETT_CPU, NULL), &err, &three), SETT_E_DIVIDE, "odd: the grid's x is 3, which is not a multiple of the cluster's, 2");
    ck_assert_msg(!sett_launch(k, sett_stream_of(SETT_CPU, NULL), &err, &four), "%s", err.text);
    sett_kernel_release(k);
    sett_engine_close(e);
}
END_TEST

/* ---- wrong: reported by the CPU engine ------------------------------------------------------------------------------- */
static sett_tensor *line; /* (1,64) of floats in shared memory */
static sett_pipeline *ring_of(sett_build *b, int producers, int consumers)
{
    return sett_pipeline_async(b, .stages = 2, .producers = SETT_WARPS(producers), .consumers = SETT_WARPS(consumers));
}
static void go(sett_build *b, sett_pipeline *p, int writers)
{
    sett_if (b, sett_lt(sett_warp_idx(b), writers)) {
        sett_pipeline_state *put = sett_pipeline_producer_state(p);
        sett_for (b, k, 0, 4, 1)
            sett_producer_acquire(put), sett_producer_commit(put), sett_pipeline_advance(put);
    }
    sett_else (b) {
        sett_pipeline_state *get = sett_pipeline_consumer_state(p);
        sett_for (b, k, 0, 4, 1)
            sett_consumer_wait(get), sett_consumer_release(get), sett_pipeline_advance(get);
    }
}
static void many_release(sett_build *b) { go(b, ring_of(b, 1, 2), 1); }   /* three warps do */
static void three_release_for_one(sett_build *b) { go(b, ring_of(b, 1, 1), 1); }
static void warp_releases_for_a_thread(sett_build *b) { go(b, sett_pipeline_async(b, .stages = 2, .producers = SETT_WARPS(1), .consumers = SETT_THREADS(1)), 1); }
static void few_release(sett_build *b) { go(b, ring_of(b, 1, 4), 1); }
static void many_commit(sett_build *b) { go(b, ring_of(b, 1, 2), 2); }
static void bytes_of(sett_build *b, int expected, int warps)
{
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 4, 64), .align = 16);
    sett_tma *map = sett_make_tma(X, .smem = line, .tile = T(1, 64));
    sett_pipeline *p = sett_pipeline_tma_async(b, .stages = 2, .tx_bytes = expected, .consumers = SETT_WARPS(1));
    sett_tensor *from = sett_local_tile(sett_tma_tensor(map), T(1, 64), T(0, 0));
    sett_if (b, sett_lt(sett_warp_idx(b), warps)) {
        sett_pipeline_state *put = sett_pipeline_producer_state(p);
        sett_producer_acquire(put);
        sett_tma_load(map, from, line, sett_pipeline_barrier(put));
    }
    sett_if (b, sett_eq(sett_warp_idx(b), 3)) {
        sett_pipeline_state *get = sett_pipeline_consumer_state(p);
        sett_consumer_wait(get);
    }
}
static void bytes_too_few(sett_build *b) { bytes_of(b, 128, 1); }
static void bytes_too_many(sett_build *b) { bytes_of(b, 512, 1); }
static void four_warps_elect(sett_build *b) { bytes_of(b, 256, 4); }
static void elect_of_a_thread(sett_build *b)
{
    sett_pipeline *p = sett_pipeline_tma_async(b, .stages = 2, .tx_bytes = 16, .consumers = SETT_WARPS(1));
    sett_if (b, sett_eq(sett_thread_idx(b, 0), 0))
        sett_producer_acquire(sett_pipeline_producer_state(p));
}
static void not_initialised(sett_build *b) { sett_mbarrier_arrive(sett_slice(sett_make_mbarriers(b, 1), 0)); }
static void initialised_by_all(sett_build *b) { sett_mbarrier_init(sett_slice(sett_make_mbarriers(b, 1), 0), 1); }
static void wait_for_ever(sett_build *b)
{
    sett_tensor *bar = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_if (b, sett_eq(sett_thread_idx(b, 0), 0))
        sett_mbarrier_init(bar, 2);
    sett_sync_threads(b);
    sett_mbarrier_wait(bar, 0);
}
static void peer_is_gone(sett_build *b)
{
    sett_cluster(b, 2);
    sett_tensor *bar = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_if (b, sett_eq(sett_thread_idx(b, 0), 0)) {
        sett_mbarrier_init(bar, 1);
        sett_fence_mbarrier_init(b);
    }
    sett_cluster_sync(b);
    sett_if (b, sett_eq(sett_block_idx_in_cluster(b), 1)) {
        for (int i = 0; i < 3; i++)
            sett_sync_threads(b);
        sett_if (b, sett_eq(sett_thread_idx(b, 0), 0))
            sett_mbarrier_arrive(sett_map_dsmem(bar, 0));
    }
}
static void half_a_warp_group(sett_build *b)
{
    sett_min_blocks(b, 1);
    sett_if (b, sett_lt(sett_thread_idx(b, 0), 64))
        sett_setmaxregister_decrease(b, 24);
}
static void counts_differ(sett_build *b)
{
    sett_if (b, sett_lt(sett_thread_idx(b, 0), 64))
        sett_barrier(b, 1, 64);
    sett_else (b)
        sett_barrier(b, 1, 96);
}
static const struct { void (*body)(sett_build *); const char *why; } faults[] = {
    {many_release, "nobody has waited for phase"}, {three_release_for_one, "more arrive than its count of 1, from "},
    {warp_releases_for_a_thread, "more arrive than its count of 1, from "}, {few_release, "of 4 arrivals missing"}, {many_commit, "nobody has waited for phase"},
    {bytes_too_few, "bytes more than were announced"}, {bytes_too_many, "256 bytes missing"}, {four_warps_elect, "1 arrival too many: phase"},
    {elect_of_a_thread, "sett_elect_one"}, {not_initialised, "was not initialised"}, {initialised_by_all, "there is an mbarrier at byte"},
    {wait_for_ever, "2 of 2 arrivals missing"}, {peer_is_gone, "ended"}, {half_a_warp_group, "setmaxnreg"}, {counts_differ, "barrier"},
};

static void fault_body(sett_build *b, const void *user)
{
    sett_grid(b, 2), sett_block(b, 128);
    line = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(1, 64)), 128, .name = "line");
    (*(void (*const *)(sett_build *))user)(b);
}

START_TEST(reported)
{
    static float x[256];
    sett_buf X = sett_buf_2d(x, SETT_F32, 4, 64);
    int told = 0;
    char last[sizeof(sett_error)] = "";
    for (int n = 0; n < POLICIES; n++) {
        sett_engine *e = engine_of(n);
        sett_error err = {0};
        sett_kernel *k;
        ck_assert_msg(!sett_compile(e, fault_body, &(sett_compile_options){.size = sizeof(sett_compile_options), .target = "cpu", .user = &faults[_i].body}, &k, &err), "%s", err.text);
        const sett_launch_arg arg = {SETT_LAUNCH_ARG_BUF, .u = {.t = &X}};
        sett_status s = sett_launch_n(k, sett_stream_of(SETT_CPU, NULL), sett_kernel_params(k), &arg, &err);
        if (s) {
            ck_assert_msg(s == SETT_E_FAULT && strstr(err.text, "test_pipeline_wrong.c:"), "policy %d: %s", n, err.text);
            snprintf(last, sizeof last, "%s", err.text);
            told += strstr(err.text, faults[_i].why) != NULL;
        }
        sett_kernel_release(k);
        sett_engine_close(e);
    }
    ck_assert_msg(told, "%s is not in %s", faults[_i].why, last);
}
END_TEST

/* ---- wrong: seen where others get their turn behind an arrival ------------------------------------------------------- */
typedef enum late { IN_TIME, WRITTEN_TOO_LATE, READ_TOO_LATE, N_LATE } late;

/* Warp 0 fills stages with rows of X, and three warps of which one copies them to Y release them. */
static void late_body(sett_build *b, const void *user)
{
    const late l = *(const late *)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 8, 32)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 8, 32));
    sett_grid(b, 1), sett_block(b, 128);
    sett_tensor *ring = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(32, 2)), 128);
    sett_pipeline *p = ring_of(b, 1, 3);
    sett_val *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0)) {
        sett_pipeline_state *put = sett_pipeline_producer_state(p);
        sett_for (b, k, 0, 8, 1) {
            sett_producer_acquire(put);
            if (l == WRITTEN_TOO_LATE)
                sett_producer_commit(put);
            sett_set(ring, sett_at(X, k, lane), lane, sett_pipeline_stage(put));
            if (l != WRITTEN_TOO_LATE)
                sett_producer_commit(put);
            sett_pipeline_advance(put);
        }
    }
    sett_else (b) {
        sett_pipeline_state *get = sett_pipeline_consumer_state(p);
        sett_for (b, k, 0, 8, 1) {
            sett_consumer_wait(get);
            if (l == READ_TOO_LATE)
                sett_consumer_release(get);
            sett_if (b, sett_eq(sett_warp_idx(b), 3))
                sett_set(Y, sett_at(ring, lane, sett_pipeline_stage(get)), k, lane);
            if (l != READ_TOO_LATE)
                sett_consumer_release(get);
            sett_pipeline_advance(get);
        }
    }
}

START_TEST(seen_under_some_order)
{
    const late l = (late)_i;
    static float x[8 * 32], y[8 * 32];
    int wrong_ones = 0;
    for (int i = 0; i < 8 * 32; i++)
        x[i] = (float)(i + 1);
    sett_buf X = sett_buf_2d(x, SETT_F32, 8, 32), Y = sett_buf_2d(y, SETT_F32, 8, 32);
    for (int n = 0; n < POLICIES; n++) {
        sett_engine *e = engine_of(n);
        sett_kernel *k = kernel_of(e, late_body, &l, sizeof l);
        sett_error err = {0};
        memset(y, 0, sizeof y);
        ck_assert_msg(!sett_launch(k, sett_stream_of(SETT_CPU, NULL), &err, &X, &Y), "policy %d: %s", n, err.text);
        wrong_ones += memcmp(x, y, sizeof x) != 0;
        sett_kernel_release(k);
        sett_engine_close(e);
    }
    ck_assert_msg((wrong_ones > 0) == (l != IN_TIME), "%d: wrong under %d of %d policies", (int)l, wrong_ones, POLICIES);
}
END_TEST

Suite *pipeline_wrong_suite(void);
Suite *pipeline_wrong_suite(void)
{
    Suite *s = suite_create("pipeline_wrong");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, refused, 0, (int)(sizeof mistakes / sizeof *mistakes));
    tcase_add_loop_test(t, refused_as_a_whole, 0, (int)(sizeof wrong / sizeof *wrong));
    tcase_add_test(t, uneven_before_its_grid);
    tcase_add_test(t, too_many_tiles);
    tcase_add_test(t, refused_at_the_launch);
    tcase_add_loop_test(t, reported, 0, (int)(sizeof faults / sizeof *faults));
    tcase_add_loop_test(t, seen_under_some_order, 0, N_LATE);
    suite_add_tcase(s, t);
    return s;
}
