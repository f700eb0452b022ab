/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels on the rows of a matrix: softmax, norms, gated activations, reductions. Rows may begin anywhere
 * between two multiples of 16 bytes: accesses are 16 bytes wide inside of a row all the same, of X as of W.
 * <sett/kernels.h> says what all ready kernels have in common. */
#ifndef SETT_KERNELS_ROWS_H
#define SETT_KERNELS_ROWS_H
#include <sett/kernels/gemm.h>
#include <sett/kernels/quantise.h>
#include <sett/value.h>
#include <sett/warm.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Y = softmax(X) by rows. Arguments: X (M,cols), Y (M,cols). A block computes one row, in registers.
 * dtype: f16, bf16, f32. */
typedef struct sett_softmax_tuning {
    int threads; /* of a block: a multiple of 32 */
} sett_softmax_tuning;
typedef struct sett_softmax_options {
    size_t size;
    sett_dtype dtype;
    int no_pdl;
    int cols;
    sett_softmax_tuning tuning;
} sett_softmax_options;
SETT_API void sett_softmax(sett_build *, const void *options);
SETT_API extern const sett_family sett_softmax_family;

/* Y = H / sqrt(mean(H H) + eps) W by rows. H is X, or with .residual X + R as it is stored: rounded.
 * Arguments: X (M,cols), W (cols), Y (M,cols), eps; with .residual X, R, W, H, Y, eps; with .quantise QS or
 * SD behind Y. eps is a Float32.
 * dtype: f16, bf16, f32. */
typedef struct sett_rms_norm_tuning {
    int threads;   /* of a block: a multiple of 32 */
    int rows;      /* that a block computes, one after another; 1 where a row waits in shared memory */
    int registers; /* where a row waits between its two uses. 1: in registers. 2: in shared memory, which
                    * needs sm_80 or newer, no .residual, and a row whose bytes are a multiple of
                    * threads x 16, and at most 160 KiB (96 on sm_86, 88, 89 and from 120 on). 0: chosen */
} sett_rms_norm_tuning;
typedef struct sett_rms_norm_options {
    size_t size;
    sett_dtype dtype;
    int no_pdl;
    int cols;
    int residual; /* 1: add R first, and store the sum to H */
    int reserved; /* 0 */
    sett_rms_norm_tuning tuning;
    sett_quantised quantise; /* of Y: quantise.h */
    sett_dtype out;          /* of Y; 0: dtype, with .quantise f8E4M3FN */
} sett_rms_norm_options;
SETT_API void sett_rms_norm(sett_build *, const void *options);
SETT_API extern const sett_family sett_rms_norm_family;

/* Y = (H - mean(H)) / sqrt(variance(H) + eps) W + B by rows; the variance divides by cols. H is X, or with
 * .residual X + R as it is stored: rounded. A row is held in registers.
 * Arguments: X (M,cols), W (cols), B (cols), Y (M,cols), eps; with .residual X, R, W, B, H, Y, eps; with
 * .quantise QS or SD behind Y. eps is a Float32.
 * dtype: f16, bf16, f32. */
typedef struct sett_layer_norm_tuning {
    int threads; /* for one row. 32: a warp computes it. A larger multiple of 32: a whole block computes it */
    int warps;   /* of a block, each of which computes rows of its own; 1 where a block computes one */
    int rows;    /* that a warp or block computes, one after another */
} sett_layer_norm_tuning;
typedef struct sett_layer_norm_options {
    size_t size;
    sett_dtype dtype;
    int no_pdl;
    int cols;
    int residual; /* 1: add R first, and store the sum to H */
    int reserved; /* 0 */
    sett_layer_norm_tuning tuning;
    sett_quantised quantise; /* of Y: quantise.h */
    sett_dtype out;          /* of Y; 0: dtype, with .quantise f8E4M3FN */
} sett_layer_norm_options;
SETT_API void sett_layer_norm(sett_build *, const void *options);
SETT_API extern const sett_family sett_layer_norm_family;

/* Y = silu(gate) up, or of another activation, where X is (M,2,cols): of each row the gate, then up, as a
 * product with weights of both behind each other leaves them. Arguments: X (M,2,cols), Y (M,cols); with
 * .quantise QS or SD.
 * dtype: f16, bf16, f32. */
typedef struct sett_silu_mul_tuning {
    int threads;            /* of a block: a multiple of 32 */
    int vectors_per_thread; /* accesses of 16 bytes that a thread makes of each half; of .quantise 3 a block
                             * has the whole row */
} sett_silu_mul_tuning;
typedef struct sett_silu_mul_options {
    size_t size;
    sett_dtype dtype;
    int no_pdl;
    int cols;
    sett_activation activation; /* of the gate: SETT_ACTIVATION_SILU, which 0 becomes, _GELU, _GELU_TANH or
                                 * _RELU, of the accuracy that gemm.h says for C of Y's type */
    sett_silu_mul_tuning tuning;
    sett_quantised quantise; /* of Y: quantise.h */
    sett_dtype out;          /* of Y; 0: dtype, with .quantise f8E4M3FN */
} sett_silu_mul_options;
SETT_API void sett_silu_mul(sett_build *, const void *options);
SETT_API extern const sett_family sett_silu_mul_family;

/* Y = op over each row of X, which a block computes. Arguments: X (M,N), Y (M) of Float32. A row of no
 * elements gives 0 for a sum, +infinity for a minimum, -infinity for a maximum.
 * dtype: f16, bf16, f32; op: SETT_ADD, SETT_MIN, SETT_MAX. */
typedef struct sett_row_reduce_tuning {
    int threads;            /* of a block: a multiple of 32 */
    int vectors_per_thread; /* accesses of 16 bytes that a thread makes a round */
} sett_row_reduce_tuning;
typedef struct sett_row_reduce_options {
    size_t size;
    sett_dtype dtype;
    int no_pdl;
    sett_binary_op op;
    int reserved; /* 0 */
    sett_row_reduce_tuning tuning;
} sett_row_reduce_options;
SETT_API void sett_row_reduce(sett_build *, const void *options);
SETT_API extern const sett_family sett_row_reduce_family;

#ifdef __cplusplus
}
#endif
#endif
