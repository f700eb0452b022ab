/* SPDX-License-Identifier: Apache-2.0 */
/* y = softmax(x) by rows of any length: one block a row, the row held in registers. Where rows are no multiple of 16 bytes, each
 * begins at another place between two; sett_peel gives the row from the one before on, so that accesses stay 16 bytes wide. */
#define SETT_SHORT
#include "common.h"

struct softmax {
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

/* Block-wide reduction: shuffles inside a warp, one shared slot a warp between. */
static sett_val *block_reduce(sett_build *b, sett_val *v, sett_binary_op op, double init, int warps)
{
    sett_tensor *slot = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, warps), 16);
    sett_val *w = sett_warp_reduce(sett_reduce(v, op, init), op, 32);
    sett_if (b, sett_eq(sett_lane_idx(b), 0))
        sett_set(slot, w, sett_warp_idx(b));
    sett_sync_threads(b);
    return sett_reduce(sett_load(slot), op, init); /* every thread reads all slots: a broadcast */
}

static void softmax(sett_build *b, const void *user)
{
    const struct softmax *p = user;
    const int vec = 128 / sett_dtype_bits(p->dtype), warps = p->threads / 32, rest = row_parts(p->dtype, p->cols, p->threads);
    sett_assert(b, p->threads % 32 == 0, "{} threads are no multiple of 32, the threads of a warp", p->threads);
    sett_val *M = sett_sym(b, "M");
    sett_tensor *X = sett_param(b, "X", p->dtype, sett_row_major(b, M, p->cols), .align = 16);
    sett_tensor *Y = sett_param(b, "Y", p->dtype, sett_row_major(b, M, p->cols), .align = 16);
    sett_grid(b, M);
    sett_block(b, p->threads);
    sett_griddepcontrol_launch_dependents(b); /* begins while the kernel before it ends, and waits for it: that hides what a launch takes */
    sett_griddepcontrol_wait(b);

    /* (threads, (vec, rest)) over one row: each access 16 bytes, neighbours adjacent */
    sett_layout *tv = sett_make_layout(b, T(p->threads, T(vec, rest)), T(vec, T(1, vec * p->threads)));
    sett_peeled x = sett_peel(sett_slice(X, sett_block_idx(b, 0), ALL), 16), y = sett_peel(sett_slice(Y, sett_block_idx(b, 0), ALL), 16);
    sett_arg end = sett_add(x.skip, p->cols);
    sett_tensor *mine[3] = {x.tensor, y.tensor, sett_identity_tensor(b, T1(end))};
    for (int i = 0; i < 3; i++)
        mine[i] = sett_slice(sett_composition(sett_local_tile(mine[i], T1(vec * rest * p->threads), T1(0)), tv), sett_thread_idx(b, 0), ALL);
    sett_val *in = sett_and(sett_elem_at_least(mine[2], T1(x.skip)), sett_elem_less(mine[2], T1(end)));

    /* exp(x) = exp2(x log2 e); what is not of the row is -infinity, whose exp is 0. Large values are subtracted before they are scaled. */
    sett_val *v = sett_to(sett_load(mine[0], .pred = in, .fill = -INFINITY), SETT_F32);
    sett_val *num = sett_exp2_approx(sett_mul(sett_sub(v, block_reduce(b, v, SETT_MAX, -INFINITY, warps)), 1.44269504));
    sett_val *sum = block_reduce(b, num, SETT_ADD, 0.0, warps);
    sett_store(mine[1], sett_to(sett_mul(num, sett_rcp(sum)), p->dtype), .pred = in);
}

static void test(struct softmax p)
{
    run r = run_open();
    const int64_t m = 64, n = p.cols;
    matrix X = matrix_random(&r, p.dtype, m, n), Y = matrix_random(&r, p.dtype, m, n);
    sett_kernel *k;
    sett_compile_options opt = {.size = sizeof opt, .name = "softmax", .user = &p, .user_size = sizeof p};
    check(&r, sett_compile(r.e, softmax, &opt, &k, &r.err));
    check(&r, sett_launch(k, r.stream, &r.err, &X.buf, &Y.buf));
    matrix_fetch(&r, &Y);
    for (int64_t i = 0; i < m; i++) {
        double sum = 0;
        for (int64_t j = 0; j < n; j++)
            sum += exp(get(p.dtype, X.host, (size_t)(i * n + j)));
        for (int64_t j = 0; j < n; j++)
            expect("softmax", (size_t)(i * n + j), get(p.dtype, Y.host, (size_t)(i * n + j)) * 1000,
                exp(get(p.dtype, X.host, (size_t)(i * n + j))) / sum * 1000, 0.005);
    }
    printf("softmax: %d rows of %d, ok\n", (int)m, (int)n);
    sett_kernel_release(k);
    matrix_free(&r, &X), matrix_free(&r, &Y);
    run_close(&r);
}

int main(void)
{
    test((struct softmax){SETT_BF16, 4096, 128});
    test((struct softmax){SETT_BF16, 1023, 128}); /* rows that begin anywhere */
    return 0;
}
