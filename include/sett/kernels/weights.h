/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of few bits: how they are packed for the products that decode them, sett_product and
 * sett_gemm_wgmma with .b of fewer bits than .dtype.
 *
 *     sett_weights w = {.size = sizeof w, .dtype = SETT_BF16, .b = SETT_I4, .n = 4096, .k = 14336};
 *     size_t bytes, scales_bytes;
 *     sett_product_weights_bytes(&w, &bytes, &scales_bytes, &err);
 *     sett_product_pack_weights(&w, weights, scales, NULL, packed, packed_scales, &err);
 *
 * Both are host memory. It is done once, when a model is loaded, and what it gives is copied to the device:
 * the operands .b and .sw of a run. docs/products.md says where each weight goes. */
#ifndef SETT_KERNELS_WEIGHTS_H
#define SETT_KERNELS_WEIGHTS_H
#include <sett/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How weights, scales and zero points lie that are to be packed. `groups` is ceil(K / .group), and scales
 * are of type .sw.
 * ROWS: weights (N,K), each row contiguous and of whole bytes, elements of 4 bits the lower half of a byte
 *     first: i4 and i8 are signed, with .zeros unsigned. scales and
 *     zeros (N,groups); zeros are bytes, of i4 0 to 16: more is refused.
 * GPTQ: of i4, as GPTQ stores them: weights are Int32 (K/8,N), eight along K, the lowest bits first, each
 *     the value + 8, or with .zeros the value; scales (groups,N), zeros Int32 (groups,N/8), each one less
 *     than the zero point. Rows of K are in order (no act-order's g_idx).
 * GPTQ_V2: the same, where zeros are the zero points themselves.
 * AWQ: of i4, as AWQ's gemm stores them: weights are Int32 (K,N/8), eight along N, columns 0, 2, 4, 6, 1,
 *     3, 5, 7 from the lowest bits on, unsigned, without .zeros the value + 8; scales (groups,N), zeros Int32
 *     (groups,N/8) in the same order. */
typedef enum sett_weights_order {
    SETT_WEIGHTS_ROWS,
    SETT_WEIGHTS_GPTQ,
    SETT_WEIGHTS_GPTQ_V2,
    SETT_WEIGHTS_AWQ
} sett_weights_order;
typedef struct sett_weights {
    size_t size;
    sett_dtype dtype; /* of A: f16 or bf16 */
    sett_dtype b;     /* i4, i8, f8E4M3FN, f8E5M2, f4E2M1FN */
    sett_dtype sw;    /* these as of sett_gemm_wgmma (gemm.h): 0 is .dtype. Scales are taken as that: those
                       * of AWQ's and GPTQ's checkpoints, f16, need .dtype f16, or are converted before */
    int group, zeros;
    int n, k;
    int swiglu; /* 1: rows of a gate, then N others, up: weights, scales and zeros have 2 N rows */
    sett_weights_order order;
} sett_weights;
/* Bytes of the packed weights and of the packed scales, in which zero points are too. Errors: a member that
 * cannot be, by its name. */
SETT_API sett_status sett_product_weights_bytes(
    const sett_weights *, size_t *packed_bytes, size_t *scales_bytes, sett_error *or_null);
/* Packs. zeros: NULL without .zeros. Rows past N and weights past K have bits of 0;
 * no product counts them, whatever their scale is. */
SETT_API sett_status sett_product_pack_weights(const sett_weights *, const void *weights, const void *scales,
    const void *zeros, void *packed, void *packed_scales, sett_error *or_null);

#ifdef __cplusplus
}
#endif
#endif
