/* SPDX-License-Identifier: Apache-2.0 */
/* C = A + B, 8 elements a thread: zipped_divide cuts the matrix into (1,8) pieces, and
 * .div = 8 on N with .align = 16 proves that each piece is one 16-byte access. */
#define SETT_SHORT
#include "common.h"

static sett_tensor *piece(sett_tensor *t, sett_val *m, sett_val *n)
{
    sett_tensor *pieces = sett_zipped_divide(t, T(1, 8)); /* ((1,8),(M,N/8)) */
    return sett_slice(pieces, ALL, T(m, n));
}

static void add_vectorised(sett_build *b, const void *user)
{
    (void)user;
    sett_val *M = sett_sym(b, "M"), *N = sett_sym(b, "N", .div = 8);
    sett_tensor *A = sett_param(b, "A", SETT_F16, sett_row_major(b, M, N), .align = 16);
    sett_tensor *B = sett_param(b, "B", SETT_F16, sett_row_major(b, M, N), .align = 16);
    sett_tensor *C = sett_param(b, "C", SETT_F16, sett_row_major(b, M, N), .align = 16);
    sett_val *cols = sett_floordiv(N, 8), *count = sett_mul(M, cols);
    sett_grid(b, sett_ceil_div(count, 256));
    sett_block(b, 256);

    sett_val *i = sett_add(sett_mul(sett_block_idx(b, 0), 256), sett_thread_idx(b, 0));
    sett_if (b, sett_lt(i, count)) {
        sett_val *m = sett_floordiv(i, cols), *n = sett_mod(i, cols);
        sett_store(piece(C, m, n), sett_add(sett_load(piece(A, m, n)), sett_load(piece(B, m, n))));
    }
}

int main(void)
{
    run r = run_open();
    const int64_t m = 333, n = 256;
    matrix A = matrix_random(&r, SETT_F16, m, n), B = matrix_random(&r, SETT_F16, m, n), C = matrix_random(&r, SETT_F16, m, n);
    sett_kernel *k;
    sett_compile_options opt = {.size = sizeof opt, .name = "add_vectorised"};
    check(&r, sett_compile(r.e, add_vectorised, &opt, &k, &r.err));
    check(&r, sett_launch(k, r.stream, &r.err, &A.buf, &B.buf, &C.buf));
    matrix_fetch(&r, &C);
    for (size_t i = 0; i < (size_t)(m * n); i++) {
        uint16_t sum;
        put(SETT_F16, &sum, 0, get(SETT_F16, A.host, i) + get(SETT_F16, B.host, i));
        expect("add_vectorised", i, get(SETT_F16, C.host, i), get(SETT_F16, &sum, 0), 0);
    }
    printf("add_vectorised: %d x %d elements, ok\n", (int)m, (int)n);
    sett_kernel_release(k);
    matrix_free(&r, &A), matrix_free(&r, &B), matrix_free(&r, &C);
    run_close(&r);
    return 0;
}
