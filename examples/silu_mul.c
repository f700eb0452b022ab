/* SPDX-License-Identifier: Apache-2.0 */
/* y = silu(gate) up, where a row of x is gate, then up: what stands between a feed-forward layer's two products. A block
 * takes a piece of a row; the two halves are one tensor of three modes, so that a piece of both is one slice. */
#define SETT_SHORT
#include "common.h"

struct silu_mul {
    sett_dtype dtype;
    int cols, threads, each; /* a thread takes `each` x 16 bytes of both halves; threads x each x 16 bytes divide a row */
};

static void silu_mul(sett_build *b, const void *user)
{
    const struct silu_mul *p = user;
    const int vec = 128 / sett_dtype_bits(p->dtype), piece = p->threads * vec * p->each;
    sett_val *M = sett_sym(b, "M"), *t = sett_thread_idx(b, 0), *col = sett_block_idx(b, 0), *row = sett_block_idx(b, 1);
    sett_tensor *X = sett_param(b, "X", p->dtype, sett_row_major(b, M, 2, p->cols), .align = 16);
    sett_tensor *Y = sett_param(b, "Y", p->dtype, sett_row_major(b, M, p->cols), .align = 16);
    sett_grid(b, p->cols / piece, M);
    sett_block(b, p->threads);
    sett_griddepcontrol_launch_dependents(b); /* begins while the kernel before it ends, and waits for it: that hides what a launch takes */
    sett_griddepcontrol_wait(b);

    sett_layout *tv = sett_make_layout(b, T(p->threads, T(vec, p->each)), T(vec, T(1, vec * p->threads)));
    sett_tensor *of[3] = {sett_slice(X, row, 0, ALL), sett_slice(X, row, 1, ALL), sett_slice(Y, row, ALL)};
    for (int i = 0; i < 3; i++)
        of[i] = sett_slice(sett_composition(sett_local_tile(of[i], T1(piece), T1(col)), tv), t, ALL);

    sett_val *gate = sett_to(sett_load(of[0]), SETT_F32), *up = sett_to(sett_load(of[1]), SETT_F32);
    /* silu(g) = g / (1 + exp(-g)); exp(-g) = exp2(-g log2 e) */
    sett_val *silu = sett_mul(gate, sett_rcp_approx(sett_add(sett_exp2_approx(sett_mul(gate, -1.44269504)), 1.0)));
    sett_store(of[2], sett_to(sett_mul(silu, up), p->dtype));
}

int main(void)
{
    run r = run_open();
    struct silu_mul p = {SETT_BF16, 14336, 256, 1};
    const int64_t m = 16, n = p.cols;
    matrix X = matrix_random(&r, p.dtype, m, 2 * n), Y = matrix_random(&r, p.dtype, m, n);
    X.buf = sett_buf_nd(X.buf.data, p.dtype, 3, (const int64_t[]){m, 2, n});
    sett_kernel *k;
    sett_compile_options opt = {.size = sizeof opt, .name = "silu_mul", .user = &p, .user_size = sizeof p};
    check(&r, sett_compile(r.e, silu_mul, &opt, &k, &r.err));
    check(&r, sett_launch(k, r.stream, &r.err, &X.buf, &Y.buf));
    matrix_fetch(&r, &Y);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double gate = get(p.dtype, X.host, (size_t)(i * 2 * n + j)), up = get(p.dtype, X.host, (size_t)((i * 2 + 1) * n + j));
            expect("silu_mul", (size_t)(i * n + j), get(p.dtype, Y.host, (size_t)(i * n + j)), gate / (1 + exp(-gate)) * up, 0.005);
        }
    printf("silu_mul: %d rows of %d, ok\n", (int)m, (int)n);
    sett_kernel_release(k);
    matrix_free(&r, &X), matrix_free(&r, &Y);
    run_close(&r);
    return 0;
}
