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

/* What the packer makes of signed weights without zero points, that are decoded by the zero point which is the middle. */
static inline int weights_middle(sett_dtype b)
{
    return b == SETT_I4 ? 8 : b == SETT_I8 ? 128 : 0;
}

/* What says how weights are packed. */
typedef struct weights_options {
    sett_dtype dtype, b; /* of A, of the weights */
    sett_dtype *sw;      /* of scales */
    int *group, zeros;
} weights_options;
/* Fills in what is 0, and refuses what cannot be. */
void sett__check_weights(const weights_options *, choice *);
/* What a kernel takes them as. */
void sett__packed_bufs(const sett_weights *settled, const void *weights, const void *scales, sett_buf *b, sett_buf *sw);
/* Of other products they are 0. */
void sett__no_weights(sett_dtype sw, int group, int zeros, choice *);
#endif
