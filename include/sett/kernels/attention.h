/* SPDX-License-Identifier: Apache-2.0 */
/* Attention. <sett/kernels.h> says what all ready kernels have in common. */
#ifndef SETT_KERNELS_ATTENTION_H
#define SETT_KERNELS_ATTENTION_H
#include <sett/warm.h>

#ifdef __cplusplus
extern "C" {
#endif

/* O = softmax(Q K^T / sqrt(d)) V by the tensor cores of sm_90a, forward, without masks. Arguments: Q
 * (B,H,M,d), K (B,HK,N,d), V (B,HK,N,d), O (B,H,M,d); B and H are up to 65535, N is at least 1. HK divides
 * H: each H / HK heads of Q, one behind the other, share one of K and V (grouped queries; HK = 1: all do).
 * The d elements of a row lie beside each other; other strides are multiples of 16 bytes, the symbols LQ0,
 * LQ1 and LQ2 of Q, and so on: a (B,M,H,d) tensor, also one that is a part of a wider one, is given as its
 * view (B,H,M,d).
 * Sums are Float32; weights are rounded to dtype before they multiply V. Exponents and the last division
 * are the hardware's approximations (ex2.approx, rcp.approx), so that an H200 and the CPU engine differ in
 * the last bit of few results; with .exact they are sett_exp2 and sett_rcp, and all bits are alike.
 * dtype: f16, bf16. Other targets than sm_90a and the CPU engine: SETT_E_TARGET. */
typedef struct sett_attention_options {
    size_t size;
    sett_dtype dtype;
    int no_pdl;
    int d;     /* columns of a head: 64 or 128; 0: 128 */
    int exact; /* 1: without approximations, slower */
} sett_attention_options;
SETT_API void sett_attention(sett_build *, const void *options);
SETT_API extern const sett_family sett_attention_family;

#ifdef __cplusplus
}
#endif
#endif
