/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices by the tensor cores of a warp. <sett/kernels.h> says what all ready kernels have in
 * common. */
#ifndef SETT_KERNELS_GEMM_MMA_H
#define SETT_KERNELS_GEMM_MMA_H
#include <sett/kernels/gemm.h>
#include <sett/mma.h>

#ifdef __cplusplus
extern "C" {
#endif

/* C = A B^T by mma.sync, or in Float32 by fused multiply-adds: for sm_80 and later, of fp8 sm_89, and for
 * operands that lie as no TMA takes them. Arguments: A (M,K), B (N,K), C (M,N), row-major, and by options:
 *   .a_major, .b_major  1 (SETT_MN_MAJOR): the operand's rows lie along M, or N: (M,K):(1,LA)
 *   .scaled    SA (M) and SB (N) of Float32 behind C: C[m][n] = SA[m] SB[n] (A B^T)[m][n]
 *   .residual  R (M,N) of C's type before C, which is added; R may be C
 *   .swiglu    B is (2N,K), rows of a gate, then as many others, up: C = silu(A gate^T) (A up^T); with
 *              .b_major N is a multiple of .align
 *   .terms     epilogues by name (gemm.h)
 *   .batched   a third mode L: A (M,K,L), B, R and C likewise, SA (M,L):(1,LSA), SB (N,L):(1,LSB)
 *   .pointer_array  of .batched: what would have the mode L is (L) of Uint64 in its place, the addresses of
 *              L matrices (M,K):(LA,1) ..., or vectors (N). Matrices begin at multiples of .align, R, C and
 *              AUX of .align_c, by the caller's word. Addresses may be equal where nothing is written. M, N,
 *              K, L, LA, LB, then LR, LC and LAUX where they are, are numbers behind all other arguments
 * Strides are symbols of 64 bits: LA, LB, LR and LC of rows, LA2, LB2, LR2 and LC2 of batches; one of 0
 * gives all batches the same. Extents are any, from 0 on, up to 2^31 - 1024.
 * Sums are Float32, those of i8 Int32, which wrap. Those of f32 are one fma an element, in order of K; with
 * .tf32 the tensor cores multiply what they read of Float32, its upper 19 bits.
 * An 8-bit operand with MN_MAJOR, and one of less than 4 bytes of .align, is right and slower: it goes
 * through registers. A target that lacks the instruction, or cp.async: SETT_E_TARGET.
 * dtype, of A and B: f16, bf16, f8E4M3FN, f8E5M2, i8, f32. */
typedef struct sett_gemm_mma_tuning {
    int bm, bn; /* rows of A, and of B, of a block's tile: powers of two from 16 to 256; of .swiglu half of bn
                 * are the gate's */
    int bk;     /* bytes of a row that a stage holds: 32, 64 or 128 */
    int stages; /* tiles of A and B, of which one is multiplied while the others are loaded */
    int warps;  /* of a block: 1, 2, 4 or 8 */
    int m, n;   /* M and N of most launches, 0: large; bm and bn are chosen by them where they are 0.
                 * sett_kernels_choose then sets both to 0, so that equal tiles are one kernel */
} sett_gemm_mma_tuning;
typedef struct sett_gemm_mma_options {
    size_t size;
    sett_dtype dtype;
    int no_pdl;
    sett_dtype b; /* of B; 0: as A. It differs among f8E4M3FN and f8E5M2 alone */
    sett_dtype c; /* f32, f16, bf16, f8E4M3FN, f8E5M2; of i8 also i32, but with
                   * .scaled and terms, and i8, which is rounded and saturates; i8 with
                   * .quantise too. 0: f16 of f16, f32 of f32, i32 of i8 without .scaled
                   * and terms, else bf16 */
    int a_major, b_major;
    int align;   /* bytes that A, B and their strides are multiples of: 16, 8, 4, 2 or 1; 0: 16 */
    int align_c; /* of R and C; 0: as .align. Both are at least an element */
    int scaled;
    int swiglu; /* of floats, not .scaled */
    int residual;
    int batched;
    int tf32; /* 1: f32 by the tensor cores */
    sett_gemm_mma_tuning tuning;
    sett_gemm_terms terms; /* behind .tuning, as it came later */
    int pointer_array;     /* of .batched */
    int reserved;          /* 0 */
} sett_gemm_mma_options;
SETT_API void sett_gemm_mma(sett_build *, const void *options);
SETT_API extern const sett_family sett_gemm_mma_family;

/* sett_gemm_mma with an epilogue, as sett_gemm_wgmma_with has one (gemm.h). Of .batched the part of an
 * (M,N,L) tensor is that of the block's batch. Names of symbols and the place of its parameters are as
 * there. */
SETT_API void sett_gemm_mma_with_at(
    sett_site, sett_build *, const sett_gemm_mma_options *, sett_gemm_epilogue, void *user);
#define sett_gemm_mma_with(b, options, epilogue, user) \
    sett_gemm_mma_with_at(SETT_HERE, b, options, epilogue, user)

#ifdef __cplusplus
}
#endif
#endif
