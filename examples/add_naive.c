/* SPDX-License-Identifier: Apache-2.0 */
/* C = A + B, the first version anyone writes: one element a thread. */
#define SETT_SHORT
#include "common.h"

static void add_naive(sett_build *b, const void *user)
{
    (void)user;
    sett_val *M = sett_sym(b, "M"), *N = sett_sym(b, "N");
    sett_tensor *A = sett_param(b, "A", SETT_F16, sett_row_major(b, M, N));
    sett_tensor *B = sett_param(b, "B", SETT_F16, sett_row_major(b, M, N));
    sett_tensor *C = sett_param(b, "C", SETT_F16, sett_row_major(b, M, N));
    sett_grid(b, sett_ceil_div(sett_mul(M, N), 256));
    sett_block(b, 256);

    sett_val *i = sett_add(sett_mul(sett_block_idx(b, 0), 256), sett_thread_idx(b, 0));
    sett_if (b, sett_lt(i, sett_mul(M, N))) {
        sett_val *m = sett_floordiv(i, N), *n = sett_mod(i, N);
        sett_set(C, sett_add(sett_at(A, m, n), sett_at(B, m, n)), m, n);
    }
}

int main(void)
{
    run r = run_open();
    const int64_t m = 333, n = 257;
    matrix A = matrix_random(&r, SETT_F16, m, n), B = matrix_random(&r, SETT_F16, m, n), C = matrix_random(&r, SETT_F16, m, n);
    sett_kernel *k;
    sett_compile_options opt = {.size = sizeof opt, .name = "add_naive"};
    check(&r, sett_compile(r.e, add_naive, &opt, &k, &r.err));
    check(&r, sett_launch(k, r.stream, &r.err, &A.buf, &B.buf, &C.buf));
    matrix_fetch(&r, &C);
    for (size_t i = 0; i < (size_t)(m * n); i++) {
        uint16_t sum;
        put(SETT_F16, &sum, 0, get(SETT_F16, A.host, i) + get(SETT_F16, B.host, i));
        expect("add_naive", i, get(SETT_F16, C.host, i), get(SETT_F16, &sum, 0), 0);
    }
    printf("add_naive: %d x %d elements, ok\n", (int)m, (int)n);
    sett_kernel_release(k);
    matrix_free(&r, &A), matrix_free(&r, &B), matrix_free(&r, &C);
    run_close(&r);
    return 0;
}
