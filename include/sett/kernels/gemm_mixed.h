/* SPDX-License-Identifier: Apache-2.0 */
/* Products with weights of few bits by the tensor cores of a warp. <sett/kernels.h> says what all ready
 * kernels have in common. */
#ifndef SETT_KERNELS_GEMM_MIXED_H
#define SETT_KERNELS_GEMM_MIXED_H
#include <sett/kernels/gemm.h>
#include <sett/kernels/weights.h>

#ifdef __cplusplus
extern "C" {
#endif

/* C = A W^T by mma.sync, W[n][k] = T((B[n][k] - zero) scale), where T rounds to A's type, once: for sm_80 and
 * later. Arguments: A (M,K), B, SW, [R], C (M,N) ... B and SW are packed weights as sett_gemm_wgmma has
 * them (gemm.h), and so are the terms behind them. Rows of A lie a multiple of 4 bytes apart (LA), those of R
 * and C as they please (LR, LC); any M, N and K from 1 on. A, R and C span less than 2^31 elements.
 * B is read once for each .rows rows of A, straight to registers, so the kernel is for few rows: more are
 * right and slower. Sums are Float32. Their order is that of the options and K: a row's result has the same
 * bits whatever M and the other rows are.
 * dtype, of A: f16, bf16. */
typedef struct sett_gemm_mixed_tuning {
    int threads; /* of a block, a multiple of 32 */
    int split;   /* warps that share 16 rows of B, each a part of K; it divides the warps of a block */
    int pieces;  /* of 64 of K, that a warp loads at once: 1, 2, 4 */
    int k;       /* K of most launches, 0: large; .split is chosen by it where it is 0. sett_kernels_choose
                  * then sets it to 0, so that equal shapes are one kernel */
} sett_gemm_mixed_tuning;
typedef struct sett_gemm_mixed_options {
    size_t size;
    sett_dtype dtype;
    int no_pdl;
    sett_dtype b;  /* i4, i8, f8E4M3FN, f8E5M2, f4E2M1FN */
    sett_dtype c;  /* f32, f16, bf16, f8E4M3FN, f8E5M2, with .quantise i8; 0: as A */
    sett_dtype sw; /* these three as of sett_gemm_wgmma */
    int group, zeros;
    int rows;      /* of A, of a block: 8, 16, 32; 0: 8 */
    int scaled;    /* these three as of sett_gemm_wgmma */
    int swiglu;
    int residual;
    sett_gemm_mixed_tuning tuning;
    sett_gemm_terms terms;
    int reserved; /* 0 */
} sett_gemm_mixed_options;
SETT_API void sett_gemm_mixed(sett_build *, const void *options);
SETT_API extern const sett_family sett_gemm_mixed_family;

#ifdef __cplusplus
}
#endif
#endif
