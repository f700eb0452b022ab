/* SPDX-License-Identifier: Apache-2.0 */
/* C = A B^T in fp32 of any size, on any GPU: 256 threads of a block compute 64 x 64 of C, a thread 4 x 4 of it, one fused
 * multiply-add at a time. Tiles of A and B come through shared memory, by cp.async; past the edges they are zeros. */
#define SETT_SHORT
#include "common.h"

enum { BM = 64, BN = 64, BK = 8 };

/* The tiles of one matrix, (rows, BK, k); and their coordinates, by which the edges are known. */
typedef struct operand {
    sett_tensor *gmem, *crd, *smem;
    sett_arg extent;
} operand;

static operand tiles(sett_build *b, sett_tensor *x, sett_val *rows, sett_val *K, int size, sett_val *block)
{
    sett_tensor *crd = sett_identity_tensor(b, rows, K);
    return (operand){sett_local_tile(x, T(size, BK), T(block, ALL)), sett_local_tile(crd, T(size, BK), T(block, ALL)),
        sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(size, BK), T(1, size + 4)), 16), sett_tuple(b, rows, K)};
}

static void fetch(sett_tiled_copy *copy, sett_thr_copy *mine, const operand *x, sett_val *k)
{
    sett_tensor *crd = sett_partition_S(mine, sett_slice(x->crd, ALL, ALL, k));
    sett_copy(copy, sett_partition_S(mine, sett_slice(x->gmem, ALL, ALL, k)), sett_partition_D(mine, x->smem),
        .pred = sett_elem_less(crd, x->extent), .zfill = true);
}

static void gemm_simt(sett_build *b, const void *user)
{
    (void)user;
    sett_val *M = sett_sym(b, "M"), *N = sett_sym(b, "N"), *K = sett_sym(b, "K");
    sett_tensor *A = sett_param(b, "A", SETT_F32, sett_row_major(b, M, K));
    sett_tensor *B = sett_param(b, "B", SETT_F32, sett_row_major(b, N, K));
    sett_tensor *C = sett_param(b, "C", SETT_F32, sett_row_major(b, M, N));
    sett_grid(b, sett_ceil_div(M, BM), sett_ceil_div(N, BN));
    sett_block(b, 256);
    sett_val *t = sett_thread_idx(b, 0), *m = sett_block_idx(b, 0), *n = sett_block_idx(b, 1);
    operand a = tiles(b, A, M, K, BM, m), w = tiles(b, B, N, K, BN, n);

    /* 32 rows of 8 at once, an element a thread. */
    sett_tiled_copy *copy = sett_make_tiled_copy_tv(sett_copy_async(b, SETT_F32, 32), sett_make_layout(b, T(32, 8), T(8, 1)), sett_make_layout(b, T(1, 1)));
    sett_thr_copy *mover = sett_get_slice(copy, t);

    /* 16 x 16 threads, of which each has 4 rows and 4 columns beside each other: 16 bytes of shared memory. */
    sett_layout *four = sett_make_layout(b, T(16, 4), T(4, 1));
    sett_tiled_mma *mma = sett_make_tiled_mma(sett_mma_universal(b, .acc = SETT_F32), T(16, 16, 1), T(four, four, ALL));
    sett_thr_mma *mine = sett_get_slice(mma, t);
    sett_tensor *tA = sett_partition_A(mine, a.smem), *tB = sett_partition_B(mine, w.smem);
    sett_tensor *tC = sett_partition_C(mine, sett_local_tile(C, T(BM, BN), T(m, n)));
    sett_tensor *crd = sett_partition_C(mine, sett_local_tile(sett_identity_tensor(b, M, N), T(BM, BN), T(m, n)));
    sett_tensor *acc = sett_make_fragment_C(mma, tC);
    sett_fill(acc, 0.0);

    sett_for (b, k, 0, sett_ceil_div(K, BK), 1) {
        fetch(copy, mover, &a, k);
        fetch(copy, mover, &w, k);
        sett_cp_async_wait_all(b);
        sett_sync_threads(b); /* the tiles are there */
        sett_gemm(mma, acc, tA, tB, acc);
        sett_sync_threads(b); /* all have read them */
    }
    sett_copy_if(sett_elem_less(crd, T(M, N)), acc, tC);
}

static void try(run *r, sett_kernel *k, int64_t m, int64_t n, int64_t depth)
{
    matrix A = matrix_random(r, SETT_F32, m, depth), B = matrix_random(r, SETT_F32, n, depth), C = matrix_random(r, SETT_F32, m, n);
    check(r, sett_launch(k, r->stream, &r->err, &A.buf, &B.buf, &C.buf));
    matrix_fetch(r, &C);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t x = 0; x < depth; x++)
                sum += get(SETT_F32, A.host, (size_t)(i * depth + x)) * get(SETT_F32, B.host, (size_t)(j * depth + x));
            expect("gemm_simt", (size_t)(i * n + j), get(SETT_F32, C.host, (size_t)(i * n + j)), sum, 1e-5);
        }
    printf("gemm_simt: %d x %d x %d, ok\n", (int)m, (int)n, (int)depth);
    matrix_free(r, &A), matrix_free(r, &B), matrix_free(r, &C);
}

int main(void)
{
    run r = run_open();
    sett_kernel *k;
    sett_compile_options opt = {.size = sizeof opt, .name = "gemm_simt"};
    check(&r, sett_compile(r.e, gemm_simt, &opt, &k, &r.err));
    try(&r, k, 128, 128, 64);
    try(&r, k, 64, 192, 40);
    try(&r, k, 131, 67, 35);
    sett_kernel_release(k);
    run_close(&r);
    return 0;
}
