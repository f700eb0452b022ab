/* SPDX-License-Identifier: Apache-2.0 */
/* Stages to which fewer copies come than they have room for: sett_producer_acquire_tx, by the CPU engine under each policy, or by GPU 0 with SETT_TEST_GPU=1. */
#define SETT_SHORT
#include "tests/rig/policies.h"
#include "tests/rig/rig.h"
#include <check.h>
#include <sett/cluster.h>
#include <sett/control.h>
#include <sett/mma.h>
#include <sett/pipeline.h>
#include <sett/tma.h>
#include <string.h>

/* Of a stage's two lines of X round k brings 1 + k % 2; in a cluster both blocks get them from the first. */
enum { FEWER_ROUNDS = 7, LINE = 64 };
static void fewer_body(sett_build *b, const void *user)
{
    const int cluster = *(const int *)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 2 * FEWER_ROUNDS, LINE), .align = 16), *D = sett_param(b, "D", SETT_F32, sett_row_major(b, cluster * FEWER_ROUNDS, LINE));
    sett_tensor *ring = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(2, LINE, 3), T(LINE, 1, 2 * LINE)), 128);
    sett_cluster(b, cluster);
    sett_grid(b, cluster), sett_block(b, 64);
    sett_tma *map = sett_make_tma(X, .layout = sett_make_layout(b, T(1, LINE), T(LINE, 1)), .tile = T(1, LINE));
    sett_pipeline *pipe = sett_pipeline_tma_async(b, .stages = 3, .tx_bytes = 2 * sett_tma_bytes(map), .consumers = SETT_WARPS(1), .multicast = cluster > 1);
    sett_val *all = cluster > 1 ? sett_const(b, SETT_I32, 3) : NULL;
    sett_if (b, sett_eq(sett_warp_idx(b), 1)) {
        sett_pipeline_state *put = sett_pipeline_producer_state(pipe);
        sett_for (b, k, 0, FEWER_ROUNDS, 1) {
            sett_val *lines = sett_add(sett_mod(k, 2), 1);
            sett_producer_acquire_tx(put, sett_mul(lines, sett_tma_bytes(map)));
            for (int i = 0; i < 2; i++) {
                sett_tensor *to = sett_slice(sett_local_tile(ring, T(1, LINE), T(i, 0)), ALL, ALL, sett_pipeline_stage(put));
                sett_if (b, sett_and(sett_gt(lines, i), sett_eq(sett_block_idx_in_cluster(b), 0)))
                    sett_tma_load(map, sett_local_tile(sett_tma_tensor(map), T(1, LINE), T(sett_add(sett_mul(k, 2), i), 0)), to, sett_pipeline_barrier(put), .mask = all);
            }
            sett_pipeline_advance(put);
        }
        sett_producer_tail(put);
    }
    sett_else (b) {
        sett_pipeline_state *get = sett_pipeline_consumer_state(pipe);
        sett_for (b, k, 0, FEWER_ROUNDS, 1) {
            sett_consumer_wait(get);
            for (int i = 0; i < LINE; i += 32) {
                sett_val *at = sett_add(sett_thread_idx(b, 0), i), *s = sett_pipeline_stage(get);
                sett_tensor *sum = sett_var(b, SETT_F32, sett_at(ring, 0, at, s));
                sett_if (b, sett_eq(sett_mod(k, 2), 1))
                    sett_set(sum, sett_add(sett_at(sum, 0), sett_at(ring, 1, at, s)), 0);
                sett_set(D, sett_at(sum, 0), sett_add(sett_mul(sett_block_idx(b, 0), FEWER_ROUNDS), k), at);
            }
            sett_fence_view_async_shared(b);
            sett_consumer_release(get);
            sett_pipeline_advance(get);
        }
    }
}

static float fewer_x[2 * FEWER_ROUNDS * LINE], fewer_d[2 * FEWER_ROUNDS * LINE];
static void check_fewer(int cluster)
{
    for (int i = 0; i < cluster * FEWER_ROUNDS * LINE; i++) {
        const int k = i / LINE % FEWER_ROUNDS;
        const float *x = fewer_x + 2 * k * LINE + i % LINE;
        ck_assert(fewer_d[i] == x[0] + (k % 2 ? x[LINE] : 0));
    }
}

START_TEST(stages_of_fewer_bytes)
{
    const int cluster = _i + 1;
    for (int i = 0; i < 2 * FEWER_ROUNDS * LINE; i++)
        fewer_x[i] = (float)(i % 11 + i / LINE);
    sett_buf X = sett_buf_2d(fewer_x, SETT_F32, 2 * FEWER_ROUNDS, LINE), D = sett_buf_2d(fewer_d, SETT_F32, cluster * FEWER_ROUNDS, LINE);
    for (int n = 0; n < policies(POLICIES); n++) {
        sett_engine *e = engine_of(n);
        sett_kernel *k = kernel_of(e, fewer_body, &cluster, sizeof cluster);
        sett_launch_arg args[] = {sett_launch_arg_buf(&X), sett_launch_arg_buf(&D)};
        sett_error err = {0};
        memset(fewer_d, 0xff, sizeof fewer_d);
        ck_assert_msg(!launch_here(e, k, 2, args, &err), "policy %d: %s", n, err.text);
        check_fewer(cluster);
        sett_kernel_release(k);
        sett_engine_close(e);
    }
}
END_TEST

Suite *pipeline_tx_suite(void);
Suite *pipeline_tx_suite(void)
{
    Suite *s = suite_create("pipeline_tx");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, stages_of_fewer_bytes, 0, 2);
    suite_add_tcase(s, t);
    return s;
}
