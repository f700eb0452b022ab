/* SPDX-License-Identifier: Apache-2.0 */
/* y = sum of each row: one block a row, each thread a strided part of it, then shuffles inside a
 * warp and one slot of shared memory a warp between them. */
#define SETT_SHORT
#include "common.h"

enum { THREADS = 96, UNROLL = 8 }; /* the best of a sweep on an H200, as all shapes of these examples */

static void row_sum(sett_build *b, const void *user)
{
    (void)user;
    sett_val *M = sett_sym(b, "M"), *N = sett_sym(b, "N");
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, M, N));
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_make_layout(b, T1(M)));
    sett_grid(b, M);
    sett_block(b, THREADS);
    sett_val *row = sett_block_idx(b, 0), *t = sett_thread_idx(b, 0);

    sett_tensor *acc = sett_var(b, SETT_F32, 0.0); /* outlives the loop: values do not */
    sett_for (b, i, t, N, THREADS, .unroll = UNROLL)
        sett_set(acc, sett_add(sett_at(acc, 0), sett_at(X, row, i)), 0);

    sett_tensor *slot = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, THREADS / 32), 16);
    sett_val *sum = sett_warp_reduce(sett_at(acc, 0), SETT_ADD, 32);
    sett_if (b, sett_eq(sett_lane_idx(b), 0))
        sett_set(slot, sum, sett_warp_idx(b));
    sett_sync_threads(b);
    sett_if (b, sett_eq(t, 0))
        sett_set(Y, sett_reduce(sett_load(slot), SETT_ADD, 0.0), row);
}

int main(void)
{
    run r = run_open();
    const int64_t m = 200, n = 3001;
    matrix X = matrix_random(&r, SETT_F32, m, n), Y = matrix_random(&r, SETT_F32, m, 1);
    Y.buf = sett_buf_1d(Y.buf.data, SETT_F32, m);
    sett_kernel *k;
    sett_compile_options opt = {.size = sizeof opt, .name = "row_sum"};
    check(&r, sett_compile(r.e, row_sum, &opt, &k, &r.err));
    check(&r, sett_launch(k, r.stream, &r.err, &X.buf, &Y.buf));
    matrix_fetch(&r, &Y);
    for (int64_t i = 0; i < m; i++) {
        double sum = 0;
        for (int64_t j = 0; j < n; j++)
            sum += get(SETT_F32, X.host, (size_t)(i * n + j));
        expect("row_sum", (size_t)i, get(SETT_F32, Y.host, (size_t)i), sum, 1e-4);
    }
    printf("row_sum: %d rows of %d, ok\n", (int)m, (int)n);
    sett_kernel_release(k);
    matrix_free(&r, &X), matrix_free(&r, &Y);
    run_close(&r);
    return 0;
}
