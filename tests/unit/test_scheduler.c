/* SPDX-License-Identifier: Apache-2.0 */
/* Streamed tiles: every K tile of every tile is given to one worker, those of a tile in the order of workers, and what sett_tile_workers
 * says is so; on the CPU engine under each policy, or on GPU 0 with SETT_TEST_GPU=1. What is refused. */
#define SETT_SHORT
#include "tests/rig/match.h"
#include "tests/rig/policies.h"
#include "tests/rig/rig.h"
#include <check.h>
#include <sett/cluster.h>
#include <sett/scheduler.h>
#include <string.h>

enum { M, N, KT, WORKERS, STREAMED, TOGETHER, CLUSTER, GIVEN };
enum { MOST = 4096, FACTS = 4 /* of a K tile: worker, its last, the step, how often it was given */ };

static void stream_body(sett_build *b, const void *user)
{
    const int *p = user; /* of GIVEN the cluster alone is known when the kernel is compiled */
    sett_val *m = sett_sym(b, "m"), *n = sett_sym(b, "n"), *kt = sett_sym(b, "kt");
    sett_tensor *D = sett_param(b, "D", SETT_I32, sett_row_major(b, m, n, kt, FACTS));
    sett_val *workers = sett_scalar(b, "workers", SETT_I32), *streamed = sett_scalar(b, "streamed", SETT_I32), *together = sett_sym(b, "together");
    sett_cluster(b, 1, p[CLUSTER]);
    sett_scheduler *s = sett_tile_scheduler(b, .tiles = T(m, n), .clusters = SETT_A(workers), .swizzle = 8, .raster = SETT_RASTER_N, .k_tiles = SETT_A(kt), .streamed = SETT_A(streamed), .together = SETT_A(together));
    sett_grid(b, sett_scheduler_grid(s)), sett_block(b, 1);
    sett_work_tile *w = sett_initial_work_tile(s);
    sett_while (b, sett_is_valid_tile(w)) {
        sett_arg at = sett_tile_coord(w), k = sett_tile_k_range(w), who = sett_tile_workers(w);
        sett_if (b, sett_lt(sett_value(b, sett_get(at, 1)), n))
            sett_for (b, i, sett_get(k, 0), sett_get(k, 1), 1) {
                sett_tensor *d = sett_slice(D, sett_get(at, 0), sett_get(at, 1), i, ALL);
                for (int j = 0; j < 3; j++)
                    sett_set(d, sett_value(b, sett_get(who, j)), j);
                sett_atomic_add(d, 1, 3);
            }
        sett_advance_to_next_work(w);
    }
}

static void check_stream(const int *p, const int *d)
{
    for (int tile = 0; tile < p[M] * p[N]; tile++) {
        const int *of = &d[tile * p[KT] * FACTS];
        int worker = of[0];
        for (int k = 0; k < p[KT]; k++) {
            const int *f = &of[k * FACTS];
            ck_assert_msg(f[3] == 1, "tile %d, K tile %d was given %d times", tile, k, f[3]);
            ck_assert_msg(f[0] == worker || f[0] == worker + f[2], "tile %d, K tile %d has worker %d behind %d", tile, k, f[0], worker);
            ck_assert_int_eq(f[1], of[(p[KT] - 1) * FACTS]); /* who has the last K tile */
            worker = f[0];
        }
    }
}

static const int streams[][GIVEN] = {{1, 5, 7, 3, 5, 1, 1}, {1, 5, 7, 12, 5, 1, 1}, {3, 4, 5, 9, 12, 3, 1}, {3, 4, 5, 10, 6, 3, 1}, {2, 9, 3, 4, 10, 2, 1}, {2, 9, 3, 4, 0, 2, 1}, {8, 3, 4, 16, 24, 8, 1},
    {5, 3, 4, 7, 7, 5, 1} /* of the tiles 5 are streamed */, {4, 3, 2, 3, 12, 4, 1} /* no whole team */, {1, 2, 3, 40, 2, 1, 1} /* more workers than K tiles */, {2, 5, 6, 3, 6, 2, 2}, {1, 1, 1, 1, 1, 1, 1}};

START_TEST(each_k_tile_has_one_worker)
{
    static int d[MOST];
    const int *p = streams[_i];
    const int64_t shape[] = {p[M], p[N], p[KT], FACTS};
    sett_buf D = sett_buf_nd(d, SETT_I32, 4, shape);
    for (int n = 0; n < policies(POLICIES); n++) {
        sett_engine *e = engine_of(n);
        sett_kernel *k = kernel_of(e, stream_body, p, sizeof *streams);
        sett_error err = {0};
        sett_launch_arg arg[] = {sett_launch_arg_buf(&D), sett_launch_arg_int(p[WORKERS]), sett_launch_arg_int(p[STREAMED]), sett_launch_arg_int(p[M]), sett_launch_arg_int(p[N]), sett_launch_arg_int(p[KT]),
            sett_launch_arg_int(p[TOGETHER])};
        memset(d, 0, sizeof d);
        ck_assert_msg(!launch_here(e, k, sizeof arg / sizeof *arg, arg, &err), "%s", err.text);
        check_stream(p, d);
        sett_kernel_release(k);
        sett_engine_close(e);
    }
}
END_TEST

/* ---- what is refused --------------------------------------------------------------------------------------- */
#define MADE(...) sett_tile_scheduler(b, .tiles = T(2, 3), .clusters = SETT_A(2), __VA_ARGS__)
static const char *const texts[] = {"sett_tile_scheduler: .streamed without .k_tiles: into how many K tiles a tile is cut", "sett_tile_scheduler: .together without .k_tiles: into how many K tiles a tile is cut",
    "sett_tile_scheduler: .k_tiles: an integer of 1 or more, or SETT_A(symbol) that the launch gives", "sett_tile_scheduler: .streamed: an integer of 0 or more, or SETT_A(symbol) that the launch gives",
    "sett_tile_scheduler: .streamed times .k_tiles is at most 2147418112, and this is 4294967296", "sett_tile_k_range: the scheduler has no .k_tiles", "sett_tile_workers: the scheduler has no .k_tiles"};

static void wrong_body(sett_build *b, const void *user)
{
    sett_grid(b, 1), sett_block(b, 1);
    switch (*(const int *)user) {
    case 0: MADE(.streamed = SETT_A(2)); break;
    case 1: MADE(.together = SETT_A(2)); break;
    case 2: MADE(.k_tiles = SETT_A(-1)); break;
    case 3: MADE(.k_tiles = SETT_A(1), .streamed = SETT_A(-1)); break;
    case 4: MADE(.k_tiles = SETT_A(65536), .streamed = SETT_A(65536)); break;
    case 5: sett_tile_k_range(sett_initial_work_tile(MADE(.swizzle = 1))); break;
    default: sett_tile_workers(sett_initial_work_tile(MADE(.swizzle = 1)));
    }
}

START_TEST(refused)
{
    sett_engine *e = engine_of(0);
    sett_error err = {0};
    sett_kernel *k;
    const sett_compile_options o = {.size = sizeof o, .target = "cpu", .user = &_i, .user_size = sizeof _i};
    ck_assert_int_ne(sett_compile(e, wrong_body, &o, &k, &err), SETT_OK);
    ck_assert_msg(strstr(err.text, texts[_i]), "%s", err.text);
    sett_engine_close(e);
}
END_TEST

Suite *scheduler_suite(void)
{
    Suite *s = suite_create("scheduler");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, each_k_tile_has_one_worker, 0, sizeof streams / sizeof *streams);
    tcase_add_loop_test(t, refused, 0, sizeof texts / sizeof *texts);
    suite_add_tcase(s, t);
    return s;
}
