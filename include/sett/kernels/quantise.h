/* SPDX-License-Identifier: Apache-2.0 */
/* Quantised outputs, and kernels on weights of few bits. <sett/kernels.h> says what all ready kernels have in
 * common. */
#ifndef SETT_KERNELS_QUANTISE_H
#define SETT_KERNELS_QUANTISE_H
#include <sett/warm.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- quantised rows ---- */
/* How a kernel on rows writes Y (M,cols), whose values x are Float32 before: its option .quantise, with the
 * type .out of Y: f8E4M3FN (G: 448), which 0 becomes, f8E5M2 (57344), or but for blocks i8 (127). One
 * argument more stands behind Y, of Float32. Y is x times a factor, rounded to nearest even; it saturates,
 * and NaN of i8 is 0.
 *   TENSOR  QS (1): x QS[0]
 *   BLOCKS  SD (M,ceil(cols/128)):(1,LSD), which is written. Of each row and columns 128 t to 128 t + 127,
 *           fewer at the end, with a the greatest |x| of them, at least 1e-12: SD[m][t] = a / G, and Y is
 *           x (G / a). That is SA of a product with .block_scales, whose A is Y, where LSD is a multiple of
 *           4. cols is a multiple of 16 bytes of dtype
 *   ROWS    SD (M), which is written: the same of the whole row. It is SA of a product with .scaled
 * A NaN makes SD and all of its row, or block, NaN; an infinity makes SD infinite, Y NaN there and 0 beside
 * it. The numbers of TENSOR and BLOCKS are those of .terms.quantise of products. */
typedef enum sett_quantised {
    SETT_QUANTISED_NONE,
    SETT_QUANTISED_TENSOR,
    SETT_QUANTISED_BLOCKS,
    SETT_QUANTISED_ROWS
} sett_quantised;

/* Y = X, quantised. Arguments: X (M,cols), Y (M,cols), and QS or SD.
 * dtype: f16, bf16, f32. */
typedef struct sett_quantise_tuning {
    int threads;            /* of a block: a multiple of 32 */
    int vectors_per_thread; /* accesses of 16 bytes that a thread makes of a piece of a row; of ROWS a block
                             * has the whole row */
} sett_quantise_tuning;
typedef struct sett_quantise_options {
    size_t size;
    sett_dtype dtype;
    int no_pdl;
    int cols;
    sett_quantised quantise; /* 0: ROWS */
    sett_dtype out;          /* of Y; 0: f8E4M3FN */
    int reserved;            /* 0 */
    sett_quantise_tuning tuning;
} sett_quantise_options;
SETT_API void sett_quantise(sett_build *, const void *options);
SETT_API extern const sett_family sett_quantise_family;

/* ---- weights of few bits ---- */
/* D[n][k] = W[n][k] S[n][k / group]: weights of few bits, with a scale for each `group` of a row. Arguments:
 * W (N,K) of .from, S (N,K/group), D (N,K); K is a multiple of the group, N up to 65535 x .tuning.rows.
 * dtype, of S and D: f16, bf16, f32. */
typedef struct sett_dequantise_tuning {
    int values_per_thread; /* weights of a thread: whole bytes, a divisor of the group */
    int rows;              /* of a block */
} sett_dequantise_tuning;
typedef struct sett_dequantise_options {
    size_t size;
    sett_dtype dtype;
    int no_pdl;
    sett_dtype from; /* i4, f4E2M1FN, i8, u8, f8E4M3FN, f8E5M2, f8E8M0FNU; 0: i4 */
    int group;       /* 0: 128 */
    sett_dequantise_tuning tuning;
} sett_dequantise_options;
SETT_API void sett_dequantise(sett_build *, const void *options);
SETT_API extern const sett_family sett_dequantise_family;

#ifdef __cplusplus
}
#endif
#endif
