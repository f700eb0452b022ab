/* SPDX-License-Identifier: Apache-2.0 */
/* D = W * scale: weights of 4 bits, two a byte, with one bf16 scale for each 128 of a row, to bf16 (w4a16). A thread opens
 * 16 weights: one access of 8 bytes, two of 16 to store them. (32 are slower by half: what neighbours store lies further apart.) */
#define SETT_SHORT
#include "common.h"

enum { GROUP = 128, EACH = 16, ROWS = 64 };

static void dequantise(sett_build *b, const void *user)
{
    (void)user;
    sett_val *N = sett_sym(b, "N"), *K = sett_sym(b, "K", .div = GROUP);
    sett_tensor *W = sett_param(b, "W", SETT_I4, sett_row_major(b, N, K), .align = 16);
    sett_tensor *S = sett_param(b, "S", SETT_BF16, sett_row_major(b, N, sett_floordiv(K, GROUP)));
    sett_tensor *D = sett_param(b, "D", SETT_BF16, sett_row_major(b, N, K), .align = 16);
    sett_grid(b, sett_floordiv(K, GROUP), sett_ceil_div(N, ROWS));
    sett_block(b, GROUP / EACH, ROWS);
    sett_val *group = sett_block_idx(b, 0), *row = sett_add(sett_mul(sett_block_idx(b, 1), ROWS), sett_thread_idx(b, 1));
    sett_val *part = sett_add(sett_mul(group, GROUP / EACH), sett_thread_idx(b, 0));
    sett_if (b, sett_lt(row, N)) {
        sett_val *w = sett_load(sett_local_tile(W, T(1, EACH), T(row, part)));
        sett_val *scale = sett_to(sett_at(S, row, group), SETT_F32);
        sett_store(sett_local_tile(D, T(1, EACH), T(row, part)), sett_to(sett_mul(sett_to(w, SETT_F32), scale), SETT_BF16));
    }
}

int main(void)
{
    run r = run_open();
    const int64_t n = 75, k = 1024;
    matrix packed = matrix_random(&r, SETT_BF16, n, k / 4), S = matrix_random(&r, SETT_BF16, n, k / GROUP);
    matrix D = matrix_random(&r, SETT_BF16, n, k);
    sett_buf W = sett_buf_2d(packed.buf.data, SETT_I4, n, k); /* any bits will do as weights */
    sett_kernel *kernel;
    check(&r, sett_compile(r.e, dequantise, NULL, &kernel, &r.err));
    check(&r, sett_launch(kernel, r.stream, &r.err, &W, &S.buf, &D.buf));
    matrix_fetch(&r, &D);
    for (size_t i = 0; i < (size_t)(n * k); i++) {
        int byte = ((const uint8_t *)packed.host)[i / 2], code = i % 2 ? byte >> 4 : byte & 15;
        uint16_t want;
        put(SETT_BF16, &want, 0, (double)((code ^ 8) - 8) * get(SETT_BF16, S.host, i / GROUP));
        expect("w4a16", i, get(SETT_BF16, D.host, i), get(SETT_BF16, &want, 0), 0);
    }
    printf("w4a16: %d x %d weights of 4 bits, groups of %d, ok\n", (int)n, (int)k, GROUP);
    sett_kernel_release(kernel);
    matrix_free(&r, &packed), matrix_free(&r, &S), matrix_free(&r, &D);
    run_close(&r);
    return 0;
}
