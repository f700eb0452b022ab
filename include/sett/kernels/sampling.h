/* SPDX-License-Identifier: Apache-2.0 */
/* From logits to tokens: the largest of each row, or one drawn at random. <sett/kernels.h> says what all
 * ready kernels have in common; docs/sampling.md has examples. */
#ifndef SETT_KERNELS_SAMPLING_H
#define SETT_KERNELS_SAMPLING_H
#include <sett/warm.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a row of logits is spread. Neither changes a token. */
typedef struct sett_logits_tuning {
    int threads; /* of a block: a multiple of 32 */
    int blocks;  /* of a row: 1, 2, 4 or 8, which are a cluster (sm_90). 0: as many as hold the row in
                  * registers; on older targets 1, which reads the row again for each question it asks
                  * of it */
    int values;  /* that a thread takes at once: a multiple of 16 bytes, at most 128 */
} sett_logits_tuning;

/* token[m] = the column of the largest X[m][..], the first of equals. A NaN counts as -infinity, +infinity as
 * the largest finite number, and a row of -infinity gives 0. Arguments: X (M,cols), token (M) of Int32.
 * dtype: f16, bf16, f32. */
typedef struct sett_argmax_options {
    size_t size;
    sett_dtype dtype;
    int no_pdl;
    int cols; /* 1 to 2^20 */
    sett_logits_tuning tuning;
} sett_argmax_options;
SETT_API void sett_argmax(sett_build *, const void *options);
SETT_API extern const sett_family sett_argmax_family;

/* token[m] is drawn from softmax(X[m] / temperature[m]), or from what the options leave of it. Arguments, an
 * element a row where nothing else is said, in this order:
 *   always       X (M,cols)
 *   .penalties   counts (M,cols) of Int32: how often each token has come. With 2 also prompt
 *                (M,ceil(cols/32)) of Uint32: bit c % 32 of word c / 32, which tokens the prompt has. Then
 *                repetition, presence, frequency, of Float32. x of a token that has come, or is in the
 *                prompt, becomes x times 1/repetition where it is above 0, else x times repetition; then
 *                frequency times the count is subtracted, and presence where the count is above 0
 *   .allowed     allowed (M,ceil(cols/32)) of Uint32, bits as of prompt: a token whose bit is 0 is not drawn
 *   always       temperature of Float32, seed and offset of Uint64
 *   .top_k       top_k of Int32: the k likeliest are left; below 1: all
 *   .top_p       top_p of Float32: the likeliest are left that together have at least this part of what
 *                top_k leaves, and always one; 1 and more: all
 *   .min_p       min_p of Float32: those are left that are at least min_p times as likely as the likeliest;
 *                it comes before top_k
 *   always       token (M) of Int32
 * A temperature below 10^-5, or NaN, gives sett_argmax's token of what penalties and .allowed leave; so does
 * a row without a number above -infinity.
 *
 * Bits: the weight of a token is exp((x - largest) / temperature) in Float32, by steps that are the same on
 * every engine and GPU, cut to a multiple of 2^-40; sums are of integers, so that no order matters. A row's
 * random number is 64 bits of Philox4x32-10 with the key `seed` and the counter `offset`: the first word is
 * the lower half. The token is the first whose weight and all before it in its row come to more than this
 * part of the whole. So the same logits, seed and offset give the same token on the CPU engine and on any
 * GPU, beside any other rows and with any .tuning. Tokens of equal weight are all left, or none.
 * No offset should be used twice with one seed: add 1 for each token.
 * dtype, of X: f16, bf16, f32. */
typedef struct sett_sampling_options {
    size_t size;
    sett_dtype dtype;
    int no_pdl;
    int cols;  /* 1 to 2^20 */
    int top_k; /* 1: there is top_k. As of the next two, rows that want none have a number that says so */
    int top_p;
    int min_p;
    int penalties; /* 0: none; 1: of counts; 2: of counts and the prompt */
    int allowed;
    int reserved; /* 0 */
    sett_logits_tuning tuning;
} sett_sampling_options;
SETT_API void sett_sampling(sett_build *, const void *options);
SETT_API extern const sett_family sett_sampling_family;

#ifdef __cplusplus
}
#endif
#endif
