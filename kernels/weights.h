/* SPDX-License-Identifier: Apache-2.0 */
/* Packed weights: what the kernels that decode them (gemm_wgmma_mixed.c) and what packs them (weights.c) agree on. */
#ifndef WEIGHTS_H
#define WEIGHTS_H
#include "kernels.h"
#include <sett/kernels/weights.h>
#include <sett/launch.h>

/* A piece is 64 rows of B by 64 of K. A thread of a warp group has 32 of its weights, of each 16 of K what it holds of wgmma's A: 4 registers
 * of 2 values. With 4 bits they are one word, in which the values of register j are bits 4 j and 16 + 4 j; with 8 bits they are two words, in
 * the order of the values. Sixteen bytes of a thread stand beside those of the next. */
enum { WEIGHTS_PIECE = 64, WEIGHTS_WORDS = 256 /* of 64 bits, in one mode of a box */, WEIGHTS_BOX_BITS = 4 /* of a weight, of a piece that is one such row */ };

/* Bits of a weight that is packed, beside A of type a; 0: B is as A is. */
static inline int weights_bits(sett_dtype a, sett_dtype b)
{
    const int bits = sett_dtype_bits(b);
    return (a == SETT_F16 || a == SETT_BF16) && bits <= 8 ? bits : 0;
}

/* What the packer makes of signed weights without zero points, that are decoded by the zero point which is the middle. */
static inline int weights_middle(sett_dtype b)
{
    return b == SETT_I4 ? 8 : b == SETT_I8 ? 128 : 0;
}

/* ---- the rules: weights.c ---- */
/* What says how weights are packed. */
typedef struct weights_options {
    sett_dtype dtype, b; /* of A, of the weights */
    sett_dtype *sw;      /* of scales */
    int *group, zeros;
} weights_options;
/* Fills in what is 0, and refuses what cannot be. */
void sett__check_weights(const weights_options *, choice *);
/* What a kernel takes them as. matrices: so many behind each other, by a last mode; 0: one, without that. */
void sett__packed_bufs(const sett_weights *settled, int matrices, const void *weights, const void *scales, sett_buf *b, sett_buf *sw);
/* Of other products they are 0. */
void sett__no_weights(sett_dtype sw, int group, int zeros, choice *);

/* ---- what kernels do with them: weights_decode.c ---- */
enum { WEIGHTS_STEPS = 4 /* of 16 of K, in a piece */, WEIGHTS_REGISTERS = 4 /* of an instruction's A, with 2 values each */, WEIGHTS_QUAD = 4 /* words of 16 bytes */, WEIGHTS_WORDS_MOST = 8 };
/* The parameters B and SW: (256,boxes,blocks) of Uint64, (64 or 128,groups,blocks); with a last mode of so many matrices; NULL: of one, without that. */
void sett__weights_params(sett_build *, const weights_options *, int swiglu, sett_val *N, sett_val *K, sett_val *matrices, sett_tensor *to[2]);
/* Of a row and a group, as values of A's type. zero: NULL: there is none, or that of weights_middle(). */
typedef struct weights_scale {
    sett_val *by, *zero;
} weights_scale;
/* Those of two rows, 8 apart, of a group. scales: (64 or 128); pair: which of 32. */
void sett__weights_scales(sett_tensor *scales, sett_val *pair, int zeros, sett_dtype t, weights_scale of[2]);
/* A thread's words of a piece, (256,boxes) of Uint64; those of a step are bits / 4 behind each other. */
void sett__weights_words(sett_tensor *piece, int boxes, sett_val *thread, sett_val *words[]);
/* Of step k of a thread's weights of a piece, ((2,2,2),rows,4), those behind the piece's first `left` columns become 0, whatever their scales are. */
void sett__clear_weights(sett_tensor *of, int rows, int k, sett_val *thread, sett_val *left);
/* Register j of a step whose words these are: (2) weights of type t. */
sett_val *sett__decode_weights(sett_build *, sett_dtype t, sett_dtype from, sett_val *const *words, int j, const weights_scale *);
#endif
