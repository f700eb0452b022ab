/* SPDX-License-Identifier: Apache-2.0 */
/* B = A^T through shared memory, odd sizes too: rows are read along memory, written along
 * memory, and the tile's row stride of one more keeps both free of bank conflicts. */
#define SETT_SHORT
#include "common.h"

enum { SIZE = 64, ROWS = 4 }; /* of a tile; that are moved at once */

static void transpose(sett_build *b, const void *user)
{
    (void)user;
    sett_val *M = sett_sym(b, "M"), *N = sett_sym(b, "N");
    sett_tensor *A = sett_param(b, "A", SETT_F32, sett_row_major(b, M, N));
    sett_tensor *B = sett_param(b, "B", SETT_F32, sett_row_major(b, N, M));
    sett_grid(b, sett_ceil_div(N, SIZE), sett_ceil_div(M, SIZE));
    sett_block(b, SIZE, ROWS);
    sett_tensor *tile = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(SIZE, SIZE), T(SIZE + 1, 1)), 0);
    sett_val *x = sett_thread_idx(b, 0), *y = sett_thread_idx(b, 1);
    sett_val *n0 = sett_mul(sett_block_idx(b, 0), SIZE), *m0 = sett_mul(sett_block_idx(b, 1), SIZE);

    for (int j = 0; j < SIZE; j += ROWS) { /* a plain loop: unrolled while building */
        sett_val *m = sett_add(sett_add(m0, y), j), *n = sett_add(n0, x);
        sett_if (b, sett_and(sett_lt(m, M), sett_lt(n, N)))
            sett_set(tile, sett_at(A, m, n), sett_add(y, j), x);
    }
    sett_sync_threads(b);
    for (int j = 0; j < SIZE; j += ROWS) {
        sett_val *n = sett_add(sett_add(n0, y), j), *m = sett_add(m0, x);
        sett_if (b, sett_and(sett_lt(m, M), sett_lt(n, N)))
            sett_set(B, sett_at(tile, x, sett_add(y, j)), n, m);
    }
}

int main(void)
{
    run r = run_open();
    const int64_t m = 517, n = 389;
    matrix A = matrix_random(&r, SETT_F32, m, n), B = matrix_random(&r, SETT_F32, n, m);
    sett_kernel *k;
    sett_compile_options opt = {.size = sizeof opt, .name = "transpose"};
    check(&r, sett_compile(r.e, transpose, &opt, &k, &r.err));
    check(&r, sett_launch(k, r.stream, &r.err, &A.buf, &B.buf));
    matrix_fetch(&r, &B);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            expect("transpose", (size_t)(j * m + i), get(SETT_F32, B.host, (size_t)(j * m + i)), get(SETT_F32, A.host, (size_t)(i * n + j)), 0);
    printf("transpose: %d x %d elements, ok\n", (int)m, (int)n);
    sett_kernel_release(k);
    matrix_free(&r, &A), matrix_free(&r, &B);
    run_close(&r);
    return 0;
}
