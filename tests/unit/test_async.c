/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU engine: copies that go on by themselves, and boxes of tensors. */
#include "tests/rig/async_rig.h"
#include <sett/sett.h>

START_TEST(transpose)
{
    enum { M = 77, N = 100, LA = 104, LD = 80 };
    static float a[M * LA], d[N * LD], want[N * LD];
    task t = {.grid = {(N + 31) / 32, (M + 31) / 32}, .block = {256}, .data = {a, d}, .bytes = {sizeof a, sizeof d}, .sym = {M, N, LA, LD}, .threads = 2};
    char *text = read_text("tests/tape/transpose_tma.tape");
    t.text = text;
    memset(want, 0xff, sizeof want);
    for (int i = 0; i < M * LA; i++)
        a[i] = (float)i;
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++)
            want[n * LD + m] = a[m * LA + n];
    ck_assert_int_ge(orders_of(t, 1, want), 10);
    free(text);
}
END_TEST

/* ---- maps in memory, multicast, prefetch ----------------------------------------------------------------------- */
/* A map in global memory, of which each block of the cluster changes the box's place, and which then brings the tile to both. */
static const char changed[] = HEAD("param A f32 (4096):(1) align 16 read write\nparam M u8 (1024):(1) align 128 read write\nparam D f32 (4096):(1) align 16 read write\n")
    "map other A f32 (64,64) bytes (256) box (32,8)\ngrid 4\nblock 32\ncluster 2\nsmem 2304 align 1024\n"
    "%0 = tid.x i32\n%1 = param u8 M\n%2 = param f32 D\n%3 = smem f32x512 at 0\n%4 = smem u64x1 at 2048 mbarrier\n%5 = const i32 0\n%6 = const i32 1\n%7 = eq i1 %0, %5\n"
    "%8 = bid.x i32\n%9 = const i32 128\n%10 = mul i32 %8, %9\n%11 = const i32 32\n%12 = const i32 256\n%13 = const i32 512\n%14 = const i32 64\n%15 = addr u64 A\n"
    "%16 = cluster_ctarank i32\n%17 = const i32 3\n%18 = mul i32 %16, %12\n%19 = const i64 1024\n%20 = addr u64 M\n%21 = const i32 1024\n%22 = tmap f32 other\n"
    "%24 = const u64 512\n%30 = const i32 2\n%31 = const i32 8\n"
    "if %7 {\n  mbarrier.init %4[0] %6\n  mbarrier.expect_tx %4[0] %21 arrive\n"
    "  tensormap.replace %1[%10] with %15 field=address\n  tensormap.replace %1[%10] with %30 field=rank\n  tensormap.replace %1[%10] with %11 field=box\n"
    "  tensormap.replace %1[%10] with %31 field=box ordinal=1\n  tensormap.replace %1[%10] with %14 field=extent\n"
    "  tensormap.replace %1[%10] with %11 field=extent ordinal=1\n  tensormap.replace %1[%10] with %24 field=stride\n  tensormap.replace %1[%10] with %30 field=step ordinal=1\n"
    "  fence.proxy kind=tensormap.release\n  fence.mbarrier_init\n}\n"
    "cluster.arrive\ncluster.wait\n"
    "if %7 {\n  fence.proxy map %1[%10] kind=tensormap.acquire\n  %40 = tmap.at u64 %1[%10]\n  tma.prefetch_map %40\n  tma.prefetch %22 at %5, %5\n  tma.prefetch %40 at %5, %6\n"
    "  tma.load %3[%18] from %40 done %4[0] mask %17 at %11, %16\n}\n"
    "loop {\n  %50 = mbarrier.try_wait i1 %4[0] %5\n  %51 = not i1 %50\n  while %51\n}\n"
    "%60 = mul i32 %8, %13\nfor %61 = %0 to %13 step %11 {\n  %62 = load f32 %3[%61] align 4\n  %63 = add i32 %60, %61\n  store %2[%63] f32 %62 align 4\n}\ncluster.arrive\ncluster.wait\n";

START_TEST(maps_that_a_kernel_changes)
{
    static _Alignas(128) float a[4096], d[4096];
    static _Alignas(128) unsigned char maps[1024];
    const sett__map m = {.dtype = SETT_F32, .rank = 3, .box = {4, 1, 1}, .step = {1, 1, 1}};
    sett__tape tape;
    sett_error e = {0};
    sett_status parsed = sett__tape_parse(&tape, changed, &e);
    ck_assert_msg(!parsed, "%s", e.text);
    sett__tape_free(&tape);
    for (int i = 0; i < 4096; i++)
        a[i] = (float)i;
    for (int n = 0; n < 20; n++) {
        const task t = {.text = changed, .grid = {4}, .block = {32}, .cluster = {2}, .data = {a, maps, d}, .bytes = {sizeof a, sizeof maps, sizeof d}, .async = policy(n), .threads = 1};
        memset(d, 0xff, sizeof d);
        for (int k = 0; k < 4; k++) /* each with an address that is none */
            sett__sim_map(&m, maps, (const uint64_t[5]){1, 1, 1}, (const uint64_t[4]){16, 16}, maps + 128 * k);
        ck_assert_msg(!run_task(&t, &e), "policy %d: %s", n, e.text);
        /* 32 columns from 32 on; every second row of 128 floats, four of each block's, from its rank on. */
        for (int i = 0; i < 2048; i++) {
            int rank = i % 512 / 256, row = i % 256 / 32, from = (rank + 2 * row) * 128 + 32 + i % 32;
            ck_assert_msg(row < 4 ? d[i] == (float)from : d[i] != d[i], "policy %d: %d is %g", n, i, (double)d[i]);
        }
    }
}
END_TEST

START_TEST(coordinates_of_all_modes)
{
    static _Alignas(128) float a[4096], d[4096];
    static _Alignas(128) unsigned char maps[1024];
    static const char two[] = "tma.prefetch %40 at %5, %6", one[] = "tma.prefetch %40 at %5    ";
    const sett__map m = {.dtype = SETT_F32, .rank = 2, .box = {32, 8}, .step = {1, 2}};
    char text[sizeof changed];
    sett_error e = {0};
    memcpy(text, changed, sizeof text);
    memcpy(strstr(text, two), one, sizeof one - 1);
    for (int k = 0; k < 4; k++)
        sett__sim_map(&m, (const void *)a, (const uint64_t[5]){64, 32}, (const uint64_t[4]){512}, maps + 128 * k);
    const task t = {.text = text, .grid = {4}, .block = {32}, .cluster = {2}, .data = {a, maps, d}, .bytes = {sizeof a, sizeof maps, sizeof d}, .threads = 1};
    ck_assert_int_eq(run_task(&t, &e), SETT_E_FAULT);
    ck_assert_msg(strstr(e.text, "tma.prefetch: 1 coordinates of a tensor map of 2 modes"), "%s", e.text);
}
END_TEST

/* A fence that is missing in one block of the cluster is told, however often the other changed its own map since; and one that acquires
 * what was not released yet. */
START_TEST(maps_that_are_not_acquired)
{
    static _Alignas(128) float a[4096], d[4096];
    static _Alignas(128) unsigned char maps[1024];
    static const char acquire[] = "  fence.proxy map %1[%10] kind=tensormap.acquire\n", release[] = "  fence.proxy kind=tensormap.release\n";
    const sett__map m = {.dtype = SETT_F32, .rank = 2, .box = {32, 8}, .step = {1, 2}};
    char text[sizeof changed + 100];
    sett_error e = {0};
    const char *at = strstr(changed, acquire), *first = strstr(changed, release), *rest = at + sizeof acquire - 1;
    ck_assert(at && first && first < at);
    if (_i)
        snprintf(text, sizeof text, "%.*s%.*s%s%s%s", (int)(first - changed), changed, (int)(at - first - (int)sizeof release + 1), first + sizeof release - 1, acquire, release, rest);
    else
        snprintf(text, sizeof text, "%.*s  %%70 = eq i1 %%16, %%6\n  if %%70 {\n  %s  }\n%s", (int)(at - changed), changed, acquire, rest);
    for (int k = 0; k < 4; k++)
        sett__sim_map(&m, (const void *)a, (const uint64_t[5]){64, 32}, (const uint64_t[4]){512}, maps + 128 * k);
    const task t = {.text = text, .grid = {4}, .block = {32}, .cluster = {2}, .data = {a, maps, d}, .bytes = {sizeof a, sizeof maps, sizeof d}, .threads = 1};
    ck_assert_int_eq(run_task(&t, &e), SETT_E_FAULT);
    ck_assert_msg(strstr(e.text, "no fence.proxy kind=tensormap.acquire of it came since"), "%s", e.text);
}
END_TEST

/* ---- what the engine is told ------------------------------------------------------------------------------------- */
START_TEST(options)
{
    static const struct { const char *text; int policy; uint64_t seed; } good[] = {{"eager", SETT__ASYNC_EAGER, 0}, {"lazy", SETT__ASYNC_LAZY, 0},
        {"random:0", SETT__ASYNC_RANDOM, 0}, {"random:18446744073709551615", SETT__ASYNC_RANDOM, UINT64_MAX}};
    static const char *const bad[] = {"", "Lazy", "random", "random:", "random:x", "random:1x", "random:-1", "eager ", "random: 1", "random:18446744073709551616"};
    sett_error err = {0};
    sett_engine *e;
    for (size_t i = 0; i < SETT__COUNT(good); i++) {
        sett__async a;
        ck_assert(sett__async_parse(&a, good[i].text) && a.policy == good[i].policy && a.seed == good[i].seed);
    }
    for (size_t i = 0; i < SETT__COUNT(bad); i++) {
        const sett_engine_options o = {.size = sizeof o, .cache_dir = "", .no_gpu = true, .cpu_async = bad[i]};
        ck_assert_int_eq(sett_engine_open(&e, &o, &err), SETT_E_ARGUMENT);
        ck_assert_msg(strstr(err.text, "it is eager, lazy, systematic or random:SEED"), "%s", err.text);
    }
}
END_TEST

static void transpose_by(sett_engine *e, const char *how)
{
    enum { M = 40, N = 70 };
    static float a[M * 72], d[N * 40];
    char *text = read_text("tests/tape/transpose_tma.tape");
    sett_compile_options o = {.size = sizeof o, .target = "cpu"};
    sett_error err = {0};
    sett_kernel *k;
    sett_buf A = sett_buf_2d(a, SETT_F32, M, N), D = sett_buf_2d(d, SETT_F32, N, M);
    A.stride[0] = 72;
    for (int i = 0; i < M * 72; i++)
        a[i] = (float)i;
    memset(d, 0xff, sizeof d);
    ck_assert_msg(!sett_compile_tape(e, text, strlen(text), &o, &k, &err), "%s", err.text);
    const sett_launch_arg args[] = {{SETT_LAUNCH_ARG_BUF, .u = {.t = &A}}, {SETT_LAUNCH_ARG_BUF, .u = {.t = &D}}};
    ck_assert_msg(!sett_launch_n(k, (sett_stream){SETT_CPU, NULL}, 2, args, &err), "%s: %s", how, err.text);
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++)
            ck_assert_msg(d[n * M + m] == a[m * 72 + n], "%s", how);
    A.stride[0] = 71; /* refused as a GPU's launch is */
    ck_assert_int_eq(sett_launch_n(k, (sett_stream){SETT_CPU, NULL}, 2, args, &err), SETT_E_ALIGN);
    ck_assert_msg(strstr(err.text, "A: map from: stride 1, LA*4, is 284 bytes, which is not a multiple of 16"), "%s", err.text);
    sett_kernel_release(k);
    free(text);
}

START_TEST(by_the_engine)
{
    static const char *const how[] = {NULL, "eager", "lazy", "random:5"};
    sett_error err = {0};
    sett_engine *e;
    for (size_t i = 0; i < SETT__COUNT(how); i++) {
        const sett_engine_options o = {.size = sizeof o, .cache_dir = "", .no_gpu = true, .cpu_async = how[i]};
        ck_assert_msg(!sett_engine_open(&e, &o, &err), "%s", err.text);
        transpose_by(e, how[i]);
        sett_engine_close(e);
    }
    for (size_t i = 1; i < SETT__COUNT(how); i++) {
        const sett_engine_options o = {.size = sizeof o, .cache_dir = "", .no_gpu = true};
        setenv("SETT_CPU_ASYNC", how[i], 1);
        ck_assert_msg(!sett_engine_open(&e, &o, &err), "%s", err.text);
        transpose_by(e, "by the environment");
        sett_engine_close(e);
    }
    unsetenv("SETT_CPU_ASYNC");
}
END_TEST

/* A prepared call encodes its maps again when a tensor moves. */
START_TEST(prepared)
{
    enum { M = 32, N = 32 };
    static float a[2][M * N], d[2][N * M];
    char *text = read_text("tests/tape/transpose_tma.tape");
    const sett_engine_options eo = {.size = sizeof eo, .cache_dir = "", .no_gpu = true};
    sett_compile_options o = {.size = sizeof o, .target = "cpu"};
    sett_error err = {0};
    sett_engine *e;
    sett_kernel *k;
    sett_prepared *c;
    ck_assert(!sett_engine_open(&e, &eo, &err) && !sett_compile_tape(e, text, strlen(text), &o, &k, &err));
    ck_assert(!sett_prepared_make_n(k, SETT_CPU, 0, NULL, &c, &err));
    for (int i = 0; i < 2 * M * N; i++)
        a[i / (M * N)][i % (M * N)] = (float)i;
    for (int round = 0; round < 6; round++) {
        const int from = round % 2, to = round / 2 % 2;
        const sett_buf A = sett_buf_2d(a[from], SETT_F32, M, N), D = sett_buf_2d(d[to], SETT_F32, N, M);
        memset(d, 0xff, sizeof d);
        sett_prepared_buf(c, 0, &A), sett_prepared_buf(c, 1, &D);
        ck_assert_msg(!sett_prepared_commit(c, &err), "%s", err.text);
        ck_assert_int_eq(sett_prepared_run(c, (sett_stream){SETT_CPU, NULL}), SETT_OK);
        for (int i = 0; i < M * N; i++)
            ck_assert(d[to][i % N * M + i / N] == a[from][i] && d[!to][i] != d[!to][i]);
    }
    sett_prepared_free(c);
    sett_kernel_release(k);
    sett_engine_close(e);
    free(text);
}
END_TEST

/* All blocks of such a grid run at once: they may wait for each other, and too many are refused. */
START_TEST(cooperative)
{
    static int32_t flag[2];
    static const char text[] = HEAD("sym N\nparam F i32 (2):(1) align 8 read write\ngrid N\nblock 1024\nlaunch cooperative\n")
        "%0 = tid.x i32\n%1 = param i32 F\n%2 = const i32 0\n%3 = const i32 1\n%4 = eq i1 %0, %2\n%5 = gdim.x i32\n%6 = cluster_nctarank i32\n"
        "if %4 {\n  %10 = atom.add i32 %1[0] i32 %6 order=acq_rel scope=gpu\n  loop {\n    %11 = atom.or i32 %1[0] i32 %2 order=acq_rel scope=gpu\n    %12 = lt i1 %11, %5\n    while %12\n  }\n"
        "  %13 = atom.add i32 %1[1] i32 %3\n}\n";
    task t = {.text = text, .block = {1024}, .data = {flag}, .bytes = {sizeof flag}};
    sett_error e;
    for (int blocks = 1; blocks <= 265; blocks += 88) {
        memset(flag, 0, sizeof flag);
        t.grid[0] = (uint32_t)blocks;
        t.threads = 1 + blocks % 2;
        t.sym[0] = blocks;
        sett_status s = run_task(&t, &e);
        ck_assert_msg(s == (blocks > 264 ? SETT_E_LIMIT : SETT_OK), "%d: %s", blocks, e.text);
        ck_assert_int_eq(flag[1], s ? 0 : blocks);
    }
    ck_assert_str_eq(e.text, "k: all of its 265 blocks run at once, and the modelled device has room for 264");
    /* Of 228 KiB a multiprocessor keeps 1 for each block. */
    task large = {.text = HEAD("param F i32 (2):(1) align 8 read write\n") "grid 133\nblock 32\nsmem 116736 align 16\nlaunch cooperative\n%0 = tid.x i32\n",
        .grid = {133}, .block = {32}, .data = {flag}, .bytes = {sizeof flag}, .threads = 1};
    ck_assert_int_eq(run_task(&large, &e), SETT_E_LIMIT);
    ck_assert_str_eq(e.text, "k: all of its 133 blocks run at once, and the modelled device has room for 132");
}
END_TEST

/* Two warps wait for each stage, and one gives it back for both. Unless they meet before, the other may come so late that the stage is full
 * again: then it waits for ever, which an even seed shows, whose warps sleep. */
static void left_behind(sett_build *b, const void *meet)
{
    enum { ROUNDS = 12 };
    sett_tensor *bars = sett_make_mbarriers(b, 2), *full = sett_slice(bars, 0), *empty = sett_slice(bars, 1);
    sett_val *warp = sett_warp_idx(b), *one = sett_eq(sett_lane_idx(b), 0);
    sett_block(b, 96);
    sett_if (b, sett_eq(sett_thread_idx(b, 0), 0))
        sett_mbarrier_init(full, 1), sett_mbarrier_init(empty, 1);
    sett_sync_threads(b);
    sett_for (b, k, 0, ROUNDS, 1) {
        sett_if (b, sett_eq(warp, 2)) {
            sett_mbarrier_wait(empty, sett_mod(sett_add(k, 1), 2));
            sett_mbarrier_arrive(full, .pred = one);
        }
        sett_else (b) {
            sett_mbarrier_wait(full, sett_mod(k, 2));
            if (meet)
                sett_barrier(b, 1, 64);
            sett_mbarrier_arrive(empty, .pred = sett_and(one, sett_eq(warp, 0)));
        }
    }
}

START_TEST(a_warp_sleeps)
{
    int seen = 0;
    for (int seed = 0; seed < 20; seed++)
        for (int meet = 0; meet < 2; meet++) {
            char how[16];
            snprintf(how, sizeof how, "random:%d", seed);
            const sett_engine_options o = {.size = sizeof o, .cache_dir = "", .no_gpu = true, .cpu_async = how};
            const sett_compile_options co = {.size = sizeof co, .target = "cpu", .user = meet ? "" : NULL};
            sett_error err = {0};
            sett_engine *e;
            sett_kernel *k;
            ck_assert_msg(!sett_engine_open(&e, &o, &err) && !sett_compile(e, left_behind, &co, &k, &err), "%s", err.text);
            const sett_status s = sett_launch_n(k, (sett_stream){SETT_CPU, NULL}, 0, NULL, &err);
            if (meet)
                ck_assert_msg(!s, "%s: %s", how, err.text);
            seen += s == SETT_E_FAULT;
            sett_kernel_release(k);
            sett_engine_close(e);
        }
    ck_assert_int_ge(seen, 8);
}
END_TEST

Suite *async_suite(void);
Suite *async_suite(void)
{
    Suite *s = suite_create("async");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, transpose);
    tcase_add_test(t, maps_that_a_kernel_changes);
    tcase_add_test(t, coordinates_of_all_modes);
    tcase_add_loop_test(t, maps_that_are_not_acquired, 0, 2);
    tcase_add_test(t, options);
    tcase_add_test(t, by_the_engine);
    tcase_add_test(t, prepared);
    tcase_add_test(t, cooperative);
    tcase_add_test(t, a_warp_sleeps);
    suite_add_tcase(s, t);
    return s;
}
