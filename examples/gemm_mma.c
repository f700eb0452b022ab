/* SPDX-License-Identifier: Apache-2.0 */
/* C = A B^T, fp16 in, or fp8 of sm_89 and later, fp32 inside, fp16 out, by the tensor cores of sm_80 and later: cp.async stages,
 * swizzled shared memory, ldmatrix, tiled mma.sync. Any M and N; K is a multiple of 8, of fp8 of 16, so that rows begin at 16 bytes. */
#define SETT_SHORT
#include "common.h"

typedef struct gemm {
    sett_dtype dtype;
    int bm, bn, bk, stages;
} gemm;
typedef struct operand {
    sett_tensor *gmem, *crd, *smem;
    sett_arg extent;
} operand;

/* The tiles of one matrix, (rows, bk, k); their coordinates; and a ring of stages in shared memory. */
static operand tiles(sett_build *b, const gemm *p, sett_tensor *x, sett_val *rows, sett_val *K, int size, sett_val *block)
{
    sett_tensor *crd = sett_identity_tensor(b, rows, K);
    return (operand){sett_local_tile(x, T(size, p->bk), T(block, ALL)), sett_local_tile(crd, T(size, p->bk), T(block, ALL)),
        sett_make_smem_tensor(b, p->dtype, sett_smem_layout(b, p->dtype, SETT_K_MAJOR, size, p->bk, p->stages), 1024), sett_tuple(b, rows, K)};
}

/* Starts the copies of k-tile k to stage s, a group of its own. Past the edges zeros are written. */
static void fetch(sett_build *b, sett_tiled_copy *copy, sett_thr_copy *mine, const operand x[2], sett_arg k, sett_arg s)
{
    for (int i = 0; i < 2; i++) {
        sett_tensor *crd = sett_partition_S(mine, sett_slice(x[i].crd, ALL, ALL, k));
        sett_copy(copy, sett_partition_S(mine, sett_slice(x[i].gmem, ALL, ALL, k)), sett_partition_D(mine, sett_slice(x[i].smem, ALL, ALL, s)),
            .pred = sett_elem_less(crd, x[i].extent), .zfill = true);
    }
    sett_cp_async_commit_group(b);
}

static void gemm_mma(sett_build *b, const void *user)
{
    const gemm *p = user;
    const int bits = sett_dtype_bits(p->dtype), vec = 128 / bits, step = 256 / bits; /* elements of 16 bytes; K of one instruction */
    sett_val *M = sett_sym(b, "M"), *N = sett_sym(b, "N"), *K = sett_sym(b, "K", .div = vec);
    sett_tensor *A = sett_param(b, "A", p->dtype, sett_row_major(b, M, K), .align = 16);
    sett_tensor *B = sett_param(b, "B", p->dtype, sett_row_major(b, N, K), .align = 16);
    sett_tensor *C = sett_param(b, "C", SETT_F16, sett_row_major(b, M, N));
    sett_grid(b, sett_ceil_div(M, p->bm), sett_ceil_div(N, p->bn));
    sett_block(b, 128);
    sett_val *t = sett_thread_idx(b, 0), *m = sett_block_idx(b, 0), *n = sett_block_idx(b, 1);
    operand x[2] = {tiles(b, p, A, M, K, p->bm, m), tiles(b, p, B, N, K, p->bn, n)};
    sett_tensor *sA = x[0].smem, *sB = x[1].smem;

    sett_tiled_copy *copy = sett_make_tiled_copy_tv(sett_copy_async(b, p->dtype, 128),
        sett_make_layout(b, T(128 * vec / p->bk, p->bk / vec), T(p->bk / vec, 1)), sett_make_layout(b, T(1, vec))); /* 16 bytes a thread */
    sett_thr_copy *mover = sett_get_slice(copy, t);

    /* 2 x 2 warps; permuted so that one ldmatrix x4 fills the B of two atoms. */
    sett_mma_atom *atom = sett_mma_sync(b, .a = p->dtype, .b = p->dtype, .acc = SETT_F32, .m = 16, .n = 8, .k = step);
    sett_tiled_mma *mma = sett_make_tiled_mma(atom, T(2, 2, 1), T(32, 32, step));
    sett_thr_mma *mine = sett_get_slice(mma, t);
    sett_copy_atom *matrices = sett_ldmatrix(b, p->dtype, 4, false);
    sett_tiled_copy *loadA = sett_make_tiled_copy_A(matrices, mma), *loadB = sett_make_tiled_copy_B(matrices, mma);
    sett_thr_copy *fromA = sett_get_slice(loadA, t), *fromB = sett_get_slice(loadB, t);
    sett_tensor *rA = sett_make_fragment_A(mma, sett_partition_A(mine, sett_slice(sA, ALL, ALL, 0)));
    sett_tensor *rB = sett_make_fragment_B(mma, sett_partition_B(mine, sett_slice(sB, ALL, ALL, 0)));
    sett_tensor *tC = sett_partition_C(mine, sett_local_tile(C, T(p->bm, p->bn), T(m, n)));
    sett_tensor *crd = sett_partition_C(mine, sett_local_tile(sett_identity_tensor(b, M, N), T(p->bm, p->bn), T(m, n)));
    sett_tensor *acc = sett_make_fragment_C(mma, tC);
    sett_fill(acc, 0.0);

    for (int s = 0; s < p->stages - 1; s++) /* a plain C loop unrolls */
        fetch(b, copy, mover, x, SETT_A(s), SETT_A(s));
    sett_for (b, k, 0, sett_ceil_div(K, p->bk), 1) {
        sett_cp_async_wait_group(b, p->stages - 2); /* stage k has come for this thread, */
        sett_sync_threads(b);                       /* for all; and all have read the stage that is written next */
        sett_val *next = sett_add(k, p->stages - 1), *s = sett_mod(k, p->stages);
        fetch(b, copy, mover, x, SETT_A(next), SETT_A(sett_mod(next, p->stages)));
        sett_copy(loadA, sett_partition_S(fromA, sett_slice(sA, ALL, ALL, s)), sett_retile(fromA, rA));
        sett_copy(loadB, sett_partition_S(fromB, sett_slice(sB, ALL, ALL, s)), sett_retile(fromB, rB));
        sett_gemm(mma, acc, rA, rB, acc);
    }
    sett_store(tC, sett_to(sett_load(acc), SETT_F16), .pred = sett_elem_less(crd, T(M, N)));
}

static void try(run *r, sett_kernel *k, const gemm *p, int64_t m, int64_t n, int64_t depth)
{
    matrix A = matrix_random(r, p->dtype, m, depth), B = matrix_random(r, p->dtype, n, depth), C = matrix_random(r, SETT_F16, m, n);
    check(r, sett_launch(k, r->stream, &r->err, &A.buf, &B.buf, &C.buf));
    matrix_fetch(r, &C);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t x = 0; x < depth; x++)
                sum += get(p->dtype, A.host, (size_t)(i * depth + x)) * get(p->dtype, B.host, (size_t)(j * depth + x));
            expect("gemm_mma", (size_t)(i * n + j), get(SETT_F16, C.host, (size_t)(i * n + j)), sum, p->dtype == SETT_F16 ? 1e-3 : 4e-3); /* sums of fp8 have 13 bits behind the point */
        }
    printf("gemm_mma of %s: %d x %d x %d, ok\n", sett_dtype_name(p->dtype), (int)m, (int)n, (int)depth);
    matrix_free(r, &A), matrix_free(r, &B), matrix_free(r, &C);
}

int main(void)
{
    static const gemm types[] = {{SETT_F16, 128, 128, 32, 3}, {SETT_F8E4M3FN, 128, 64, 64, 3}};
    run r = run_open();
    for (int i = 0; i < 2; i++) {
        sett_kernel *k;
        sett_compile_options opt = {.size = sizeof opt, .name = i ? "gemm_mma_fp8" : "gemm_mma", .user = &types[i], .user_size = sizeof types[i]};
        sett_status s = sett_compile(r.e, gemm_mma, &opt, &k, &r.err);
        if (s == SETT_E_TARGET) { /* no tensor cores of that kind */
            printf("gemm_mma: %s\n", r.err.text);
            continue;
        }
        check(&r, s);
        try(&r, k, &types[i], 256, 128, 64);
        try(&r, k, &types[i], 128, 384, 144);
        try(&r, k, &types[i], 131, 67, 48);
        sett_kernel_release(k);
    }
    run_close(&r);
    return 0;
}
