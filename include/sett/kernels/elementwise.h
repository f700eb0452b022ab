/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels on the elements of tensors: a binary operation, axpy, the reduction of all of them, transposition.
 * <sett/kernels.h> says what all ready kernels have in common. */
#ifndef SETT_KERNELS_ELEMENTWISE_H
#define SETT_KERNELS_ELEMENTWISE_H
#include <sett/value.h>
#include <sett/warm.h>

#ifdef __cplusplus
extern "C" {
#endif

/* C = op(A, B) by element, all (M,N), in their own type. Arguments: A, B, C. M is up to 65535 thr_m val_m.
 * dtype: f16, bf16, f32, f64 and the integers of 8 to 64 bits; op: an operation of two operands that gives
 * their type (SETT_ADD, which is 0; SETT_MUL, SETT_MAX ...): SETT_AND to SETT_SHR of integers, SETT_ATAN2
 * and SETT_COPYSIGN of floats. */
typedef struct sett_elementwise_tuning {
    int thr_m, thr_n; /* threads of a block along M and N */
    int val_m;        /* rows that a thread computes, 16 bytes of each */
} sett_elementwise_tuning;
typedef struct sett_elementwise_options {
    size_t size;
    sett_dtype dtype;
    int no_pdl;
    sett_binary_op op;
    int relu;  /* 1: what is below 0 becomes 0 */
    int exact; /* 1: M and N are multiples of thr_m val_m and thr_n x 16 bytes, which launches check */
    sett_elementwise_tuning tuning;
} sett_elementwise_options;
SETT_API void sett_elementwise(sett_build *, const void *options);
SETT_API extern const sett_family sett_elementwise_family;

/* Y = a X + Y, one fma an element. Arguments: X (N), Y (N), a, all of dtype.
 * dtype: f16, bf16, f32, f64. */
typedef struct sett_axpy_tuning {
    int threads;            /* of a block */
    int vectors_per_thread; /* accesses of 16 bytes that a thread makes of each */
} sett_axpy_tuning;
typedef struct sett_axpy_options {
    size_t size;
    sett_dtype dtype;
    int no_pdl;
    sett_axpy_tuning tuning;
} sett_axpy_options;
SETT_API void sett_axpy(sett_build *, const void *options);
SETT_API extern const sett_family sett_axpy_family;

/* Y = op over all of X, in one launch and the same bits each time. Arguments: X (N); part (blocks) of
 * Float32, the workspace (sett_kernels_workspace); done (1) of Uint32; Y (1) of Float32. The caller sets
 * done to 0 before the first launch, and each launch leaves it 0. Launches that run at once need a workspace
 * each. No elements give 0 for a sum, +infinity for a minimum, -infinity for a maximum.
 * dtype: f16, bf16, f32; op: SETT_ADD, SETT_MIN, SETT_MAX. */
typedef struct sett_vector_reduce_tuning {
    int threads;            /* of a block: a multiple of 32 */
    int blocks;             /* a multiple of threads, and the length of `part` */
    int vectors_per_thread; /* accesses of 16 bytes that a thread makes a round */
} sett_vector_reduce_tuning;
typedef struct sett_vector_reduce_options {
    size_t size;
    sett_dtype dtype;
    int no_pdl;
    sett_binary_op op;
    sett_vector_reduce_tuning tuning;
} sett_vector_reduce_options;
SETT_API void sett_vector_reduce(sett_build *, const void *options);
SETT_API extern const sett_family sett_vector_reduce_family;

/* Y[m][n] = the sum of X[m][0] to X[m][n], with .exclusive to X[m][n - 1]. Sums are Float32, of i32 Int32,
 * modulo 2^32, and are added in an order that .tuning and N decide, so that they are the same on every run.
 * Arguments: X (M,N), Y (M,N); with .split, for few long rows, part (M .tuning.blocks) of Uint64 and done (M)
 * of Uint32, which are 0 before the first launch and after each: a row has several blocks then, which wait
 * for those before them.
 * dtype: f16, bf16, f32, i32. */
typedef struct sett_cumsum_tuning {
    int threads; /* of a block: a multiple of 32 */
    int blocks;  /* of a row, with .split: at most threads */
} sett_cumsum_tuning;
typedef struct sett_cumsum_options {
    size_t size;
    sett_dtype dtype;
    int no_pdl;
    int exclusive;
    int split;
    sett_cumsum_tuning tuning;
} sett_cumsum_options;
SETT_API void sett_cumsum(sett_build *, const void *options);
SETT_API extern const sett_family sett_cumsum_family;

/* Y = X transposed. Arguments: X (M,N), Y (N,M); with .batched X (B,M,N), Y (B,N,M). M is up to 65535 x
 * .tuning.tile, B up to 65535.
 * dtype: any of 1, 2, 4 or 8 bytes. */
typedef struct sett_transpose_tuning {
    int tile; /* rows and columns that a block takes */
    int rows; /* of a tile that a block moves at once, a divisor of tile; a block has tile x rows threads */
} sett_transpose_tuning;
typedef struct sett_transpose_options {
    size_t size;
    sett_dtype dtype;
    int no_pdl;
    int batched;  /* 1: three modes */
    int reserved; /* 0 */
    sett_transpose_tuning tuning;
} sett_transpose_options;
SETT_API void sett_transpose(sett_build *, const void *options);
SETT_API extern const sett_family sett_transpose_family;

#ifdef __cplusplus
}
#endif
#endif
