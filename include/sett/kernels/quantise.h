/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels on weights of few bits. <sett/kernels.h> says what all ready kernels have in common. */
#ifndef SETT_KERNELS_QUANTISE_H
#define SETT_KERNELS_QUANTISE_H
#include <sett/warm.h>

#ifdef __cplusplus
extern "C" {
#endif

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
