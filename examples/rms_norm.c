/* SPDX-License-Identifier: Apache-2.0 */
/* y = x / sqrt(mean(x x) + eps) w by rows: one block a row, which waits in shared memory between its two uses. Copies in
 * the background take no registers, so that many blocks, and many bytes, are under way at once. */
#define SETT_SHORT
#include "common.h"

struct rms_norm {
    sett_dtype dtype;
    int cols, threads; /* threads: a multiple of 32 */
};

/* A row of `cols` elements, cut into accesses of 16 bytes: as many a thread, of `threads`. A row that is no multiple of 16 bytes
 * begins anywhere between two (sett_peel), and may take one more. */
static int row_parts(sett_dtype dtype, int cols, int threads)
{
    const int vec = 128 / sett_dtype_bits(dtype), most = cols % vec ? cols + vec - 1 : cols, block = vec * threads;
    return (most + block - 1) / block;
}

/* Rows that are no multiple of what the threads take at once: in registers, from the place between two multiples of 16 bytes on where
 * each begins (sett_peel). Every `period`th row begins at the same one, so a block takes such rows and loads W once for
 * all of them, by element where W does not begin there too. */
static void ragged(sett_build *b, const struct rms_norm *p)
{
    const int vec = 128 / sett_dtype_bits(p->dtype), rest = row_parts(p->dtype, p->cols, p->threads), all = vec * rest * p->threads;
    enum { ROWS = 4 }; /* of a block */
    int period = vec;
    while (period > 1 && p->cols * (period / 2) % vec == 0)
        period /= 2;
    sett_val *M = sett_sym(b, "M"), *t = sett_thread_idx(b, 0), *first = sett_block_idx(b, 0);
    sett_tensor *X = sett_param(b, "X", p->dtype, sett_row_major(b, M, p->cols), .align = 16);
    sett_tensor *W = sett_param(b, "W", p->dtype, sett_make_layout(b, T1(p->cols)), .align = 16);
    sett_tensor *Y = sett_param(b, "Y", p->dtype, sett_row_major(b, M, p->cols), .align = 16);
    sett_val *eps = sett_scalar(b, "eps", SETT_F32);
    sett_grid(b, period, sett_ceil_div(M, period * ROWS));
    sett_block(b, p->threads);
    sett_griddepcontrol_launch_dependents(b); /* begins while the kernel before it ends, and waits for it: that hides what a launch takes */
    sett_griddepcontrol_wait(b);

    sett_layout *tv = sett_make_layout(b, T(p->threads, T(vec, rest)), T(vec, T(1, vec * p->threads)));
    first = sett_add(first, sett_mul(sett_block_idx(b, 1), period * ROWS));
    sett_arg skip = sett_peel(sett_slice(X, first, ALL), 16).skip, end = sett_add(skip, p->cols), from = sett_sub(0, skip);
#define MINE(t_) sett_slice(sett_composition(sett_local_tile(t_, T1(all), T1(0)), tv), t, ALL)
    sett_tensor *at = MINE(sett_identity_tensor(b, T1(end)));
    sett_val *in = sett_and(sett_elem_at_least(at, T1(skip)), sett_elem_less(at, T1(end)));
    sett_val *w = sett_load(MINE(sett_domain_offset(W, T1(from))), .pred = in);
    sett_for (b, row, first, sett_min(M, sett_add(first, period * ROWS)), period) {
        sett_tensor *x = sett_peel(sett_slice(X, row, ALL), 16).tensor, *y = sett_peel(sett_slice(Y, row, ALL), 16).tensor;
        sett_val *v = sett_to(sett_load(MINE(x), .pred = in), SETT_F32);
        sett_val *squares = sett_block_reduce(sett_reduce(sett_mul(v, v), SETT_ADD, 0.0), SETT_ADD);
        sett_val *scale = sett_rsqrt(sett_fma(squares, 1.0 / p->cols, eps));
        sett_store(MINE(y), sett_to(sett_mul(sett_mul(v, scale), sett_to(w, SETT_F32)), p->dtype), .pred = in);
    }
#undef MINE
}

static void rms_norm(sett_build *b, const void *user)
{
    const struct rms_norm *p = user;
    if (p->cols % (p->threads * 128 / sett_dtype_bits(p->dtype))) {
        ragged(b, p);
        return;
    }
    const int vec = 128 / sett_dtype_bits(p->dtype), rest = p->cols / (vec * p->threads);
    sett_val *M = sett_sym(b, "M");
    sett_tensor *X = sett_param(b, "X", p->dtype, sett_row_major(b, M, p->cols), .align = 16);
    sett_tensor *W = sett_param(b, "W", p->dtype, sett_make_layout(b, T1(p->cols)), .align = 16);
    sett_tensor *Y = sett_param(b, "Y", p->dtype, sett_row_major(b, M, p->cols), .align = 16);
    sett_val *eps = sett_scalar(b, "eps", SETT_F32), *t = sett_thread_idx(b, 0), *row = sett_block_idx(b, 0);
    sett_grid(b, M);
    sett_block(b, p->threads);
    sett_griddepcontrol_launch_dependents(b);
    sett_griddepcontrol_wait(b);

    /* (threads, (vec, rest)) over one row: each access 16 bytes, neighbours adjacent */
    sett_layout *tv = sett_make_layout(b, T(p->threads, T(vec, rest)), T(vec, T(1, vec * p->threads)));
    sett_tensor *x = sett_slice(sett_composition(sett_slice(X, row, ALL), tv), t, ALL);
    sett_tensor *y = sett_slice(sett_composition(sett_slice(Y, row, ALL), tv), t, ALL);
    /* each thread uses what it copied itself, so no barrier stands between */
    sett_tensor *row_s = sett_make_smem_tensor(b, p->dtype, sett_make_layout(b, T1(p->cols)), 16);
    sett_tensor *s = sett_slice(sett_composition(row_s, tv), t, ALL);
    sett_cp_async(x, s);
    sett_cp_async_wait_all(b);
    sett_val *v = sett_to(sett_load(s), SETT_F32);
    sett_val *squares = sett_block_reduce(sett_reduce(sett_mul(v, v), SETT_ADD, 0.0), SETT_ADD);
    sett_val *scale = sett_rsqrt(sett_fma(squares, 1.0 / p->cols, eps));
    v = sett_to(sett_load(s), SETT_F32); /* again: kept, it would take registers across the barrier */
    sett_val *w = sett_to(sett_load(sett_slice(sett_composition(W, tv), t, ALL)), SETT_F32);
    sett_store(y, sett_to(sett_mul(sett_mul(v, scale), w), p->dtype));
}

static void test(struct rms_norm p)
{
    run r = run_open();
    const int64_t m = 64, n = p.cols;
    const double eps = 1e-5;
    matrix X = matrix_random(&r, p.dtype, m, n), W = matrix_random(&r, p.dtype, 1, n), Y = matrix_random(&r, p.dtype, m, n);
    W.buf = sett_buf_1d(W.buf.data, p.dtype, n);
    sett_kernel *k;
    sett_compile_options opt = {.size = sizeof opt, .name = "rms_norm", .user = &p, .user_size = sizeof p};
    check(&r, sett_compile(r.e, rms_norm, &opt, &k, &r.err));
    check(&r, sett_launch(k, r.stream, &r.err, &X.buf, &W.buf, &Y.buf, eps));
    matrix_fetch(&r, &Y);
    for (int64_t i = 0; i < m; i++) {
        double sum = 0;
        for (int64_t j = 0; j < n; j++) {
            double x = get(p.dtype, X.host, (size_t)(i * n + j));
            sum += x * x;
        }
        for (int64_t j = 0; j < n; j++)
            expect("rms_norm", (size_t)(i * n + j), get(p.dtype, Y.host, (size_t)(i * n + j)),
                get(p.dtype, X.host, (size_t)(i * n + j)) / sqrt(sum / (double)n + eps) * get(p.dtype, W.host, (size_t)j), 0.005);
    }
    printf("rms_norm: %d rows of %d, ok\n", (int)m, (int)n);
    sett_kernel_release(k);
    matrix_free(&r, &X), matrix_free(&r, &W), matrix_free(&r, &Y);
    run_close(&r);
}

int main(void)
{
    test((struct rms_norm){SETT_BF16, 4096, 256});
    test((struct rms_norm){SETT_BF16, 1023, 128}); /* rows that begin anywhere */
    return 0;
}
