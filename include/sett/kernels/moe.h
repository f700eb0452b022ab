/* SPDX-License-Identifier: Apache-2.0 */
/* A mixture of experts around its grouped products: which experts a token takes, rows in the order of
 * experts, and the way back. <sett/kernels.h> says what all ready kernels have in common. */
#ifndef SETT_KERNELS_MOE_H
#define SETT_KERNELS_MOE_H
#include <sett/warm.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The .top_k experts with the largest scores, the largest first, of equals the one with the lower number;
 * and their weights. Scores are softmax(X) by rows, or with .sigmoid 1 / (1 + exp(-X)); what is chosen by
 * is the score, with .bias plus BIAS of the expert, which is finite. With .groups only the .top_groups
 * best groups of experts beside each other count: a group is as good as its largest, with .bias as its two
 * largest together. Weights are scores, without the bias, with .renormalise over the sum of those that
 * were chosen, in the order of choice; then times `scale`. A NaN of X counts as -infinity.
 * Arguments: X (M,experts); with .bias BIAS (experts) of Float32; W (M,top_k) of Float32, ID (M,top_k) of
 * Int32; scale, a Float32. Arithmetic gives the same bits on every engine and GPU.
 * dtype, of X: f16, bf16, f32. */
typedef struct sett_moe_topk_tuning {
    int warps; /* of a block; each has a row */
} sett_moe_topk_tuning;
typedef struct sett_moe_topk_options {
    size_t size;
    sett_dtype dtype;
    int no_pdl;
    int experts;     /* 1 to 512; with .groups a multiple of 32 */
    int top_k;       /* 1 to 32 */
    int sigmoid;
    int bias;
    int groups;      /* 0: none; else 1, 2, 4, 8, 16 or 32 */
    int top_groups;
    int renormalise;
    sett_moe_topk_tuning tuning;
} sett_moe_topk_options;
SETT_API void sett_moe_topk(sett_build *, const void *options);
SETT_API extern const sett_family sett_moe_topk_family;

/* Where each row goes, in the order of experts, and within one in that of tokens. Arguments, of Int32: ID
 * (M,top_k), each 0 to experts - 1, or anything else for an expert that is elsewhere; OFFSETS (experts +
 * 1), which is written: rows OFFSETS[e] to OFFSETS[e + 1] - 1 are of expert e, as of
 * SETT_GROUPED_CONTIGUOUS, each OFFSETS[e] a multiple of .align; TOKEN (R), written: the token of each
 * row, -1 of those that only fill up; PLACE (M,top_k), written: the row of each, -1 of an expert that is
 * elsewhere. R is at least M top_k and, for each expert, .align - 1; what would lie behind it is not
 * written. M top_k is less than 2^31.
 * Then `sett_embedding` with TOKEN as its ids gathers the rows. One block computes it.
 * dtype: 0. */
typedef struct sett_moe_permute_tuning {
    int threads; /* of the block: a multiple of 32 */
} sett_moe_permute_tuning;
typedef struct sett_moe_permute_options {
    size_t size;
    sett_dtype dtype;
    int no_pdl;
    int experts; /* 1 to 512 */
    int top_k;   /* 1 to 32 */
    int align;   /* of OFFSETS, 1 to 1024; 0: 1, which is all that products ask for */
    sett_moe_permute_tuning tuning;
} sett_moe_permute_options;
SETT_API void sett_moe_permute(sett_build *, const void *options);
SETT_API extern const sett_family sett_moe_permute_family;

/* Y[m] = the sum over j of W[m][j] P[PLACE[m][j]], in the order of j, each product added by one fma; with
 * .residual R[m] comes first. A PLACE that is no row of P adds nothing. Arguments: P (T,cols), W (M,top_k) of
 * Float32, PLACE (M,top_k) of Int32; with .residual R (M,cols); Y (M,cols).
 * dtype, of P, R and Y: f16, bf16, f32. */
typedef struct sett_moe_unpermute_tuning {
    int threads; /* of a block, which has a piece of a row */
} sett_moe_unpermute_tuning;
typedef struct sett_moe_unpermute_options {
    size_t size;
    sett_dtype dtype;
    int no_pdl;
    int cols;  /* a multiple of 16 bytes */
    int top_k; /* 1 to 32 */
    int residual;
    sett_moe_unpermute_tuning tuning;
} sett_moe_unpermute_options;
SETT_API void sett_moe_unpermute(sett_build *, const void *options);
SETT_API extern const sett_family sett_moe_unpermute_family;

#ifdef __cplusplus
}
#endif
#endif
