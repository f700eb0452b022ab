/* SPDX-License-Identifier: Apache-2.0 */
/* One step of heat flow, Y = X + 0.2 (north + south + west + east - 4 X), any size, 0 around the plate. A block computes a
 * tile of 16 x 128 and needs a halo of one element around it: it brings 18 x 130 into shared memory, each element once. */
#define SETT_SHORT
#include "common.h"

enum { ROWS = 16, COLS = 128, HALO = 1, THREADS = 128, TALL = ROWS + 2 * HALO, WIDE = COLS + 2 * HALO };

static void heat(sett_build *b, const void *user)
{
    (void)user;
    sett_val *M = sett_sym(b, "M"), *N = sett_sym(b, "N");
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, M, N));
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, M, N));
    sett_grid(b, sett_ceil_div(N, COLS), sett_ceil_div(M, ROWS));
    sett_block(b, THREADS);
    sett_val *m0 = sett_mul(sett_block_idx(b, 1), ROWS), *n0 = sett_mul(sett_block_idx(b, 0), COLS);
    sett_val *t = sett_thread_idx(b, 0);
    sett_tensor *tile = sett_make_smem_tensor(b, SETT_F32, sett_row_major(b, TALL, WIDE), 0);

    /* More elements than threads, and no multiple of them: in rounds, neighbours side by side, the last round in part. */
    sett_for (b, e, t, TALL * WIDE, THREADS) {
        sett_val *i = sett_floordiv(e, WIDE), *j = sett_mod(e, WIDE);
        sett_val *m = sett_sub(sett_add(m0, i), HALO), *n = sett_sub(sett_add(n0, j), HALO);
        sett_val *above = sett_and(sett_ge(m, 0), sett_ge(n, 0)), *below = sett_and(sett_lt(m, M), sett_lt(n, N));
        sett_set(tile, sett_load(sett_slice(X, m, n), .pred = sett_and(above, below), .fill = 0), i, j);
    }
    sett_sync_threads(b); /* an element's neighbours were brought by other threads */
    for (int r = 0; r < ROWS; r += THREADS / COLS) { /* a plain loop: unrolled while building */
        sett_val *i = sett_add(sett_floordiv(t, COLS), r), *j = sett_mod(t, COLS), *m = sett_add(m0, i), *n = sett_add(n0, j);
        sett_val *north = sett_at(tile, i, sett_add(j, 1)), *south = sett_at(tile, sett_add(i, 2), sett_add(j, 1));
        sett_val *west = sett_at(tile, sett_add(i, 1), j), *east = sett_at(tile, sett_add(i, 1), sett_add(j, 2));
        sett_val *here = sett_at(tile, sett_add(i, 1), sett_add(j, 1)); /* (0,0) of the tile in memory is the halo's corner */
        sett_val *flow = sett_sub(sett_add(sett_add(north, south), sett_add(west, east)), sett_mul(here, 4));
        sett_if (b, sett_and(sett_lt(m, M), sett_lt(n, N)))
            sett_set(Y, sett_add(here, sett_mul(flow, 0.2)), m, n);
    }
}

int main(void)
{
    run r = run_open();
    const int64_t m = 301, n = 215;
    matrix X = matrix_random(&r, SETT_F32, m, n), Y = matrix_random(&r, SETT_F32, m, n);
    sett_kernel *k;
    sett_compile_options opt = {.size = sizeof opt, .name = "heat"};
    check(&r, sett_compile(r.e, heat, &opt, &k, &r.err));
    check(&r, sett_launch(k, r.stream, &r.err, &X.buf, &Y.buf));
    matrix_fetch(&r, &Y);
    const float *x = X.host, *y = Y.host;
    for (int64_t i = 0; i < m * n; i++) {
        float north = i < n ? 0 : x[i - n], south = i >= (m - 1) * n ? 0 : x[i + n];
        float west = i % n ? x[i - 1] : 0, east = (i + 1) % n ? x[i + 1] : 0;
        expect("heat", (size_t)i, y[i], x[i] + 0.2f * (north + south + (west + east) - 4 * x[i]), 1e-6);
    }
    printf("halo: %d x %d elements, ok\n", (int)m, (int)n);
    sett_kernel_release(k);
    matrix_free(&r, &X), matrix_free(&r, &Y);
    run_close(&r);
    return 0;
}
