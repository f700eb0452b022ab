/* SPDX-License-Identifier: Apache-2.0 */
/* Rotary positions, and what goes to a cache with them. <sett/kernels.h> says what all ready kernels have in
 * common. */
#ifndef SETT_KERNELS_ROPE_H
#define SETT_KERNELS_ROPE_H
#include <sett/warm.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Heads of Q and K are rotated by the positions of their tokens, and K and V go to a cache of pages, in one
 * launch, from a row that has all three side by side or from wherever they are. Arguments, in this order:
 *   POSITIONS (M), Int32: which row of the table a token has
 *   TABLE (N,rotary), Float32: of each position the cosines of rotary / 2 angles, then their sines:
 *            sett_rope_table
 *   Q (M,H,d):(LQ0,LQ1,1), K (M,HK,d):(LK0,LK1,1)
 *   V (M,HK,d):(LV0,LV1,1), with .page and without .latent
 *   QW (d), KW (d), with .norm
 *   QO (M,H,d):(LQO0,LQO1,1), of .out: it may be Q itself, as KO may be K
 *   KO (M,HK,d):(LKO0,LKO1,1), of .kv, without .page
 *   KC (P,HK,page,d):(LKC0,LKC1,LKC2,1), VC likewise, of .kv, with .page: K and V as sett_attention and
 *            sett_attention_decode take them by .page; with .latent KC alone, as sett_attention_mla takes it
 *   SLOTS (M), Int64, with .page: where in the cache a token goes: page s / .page, key s % .page there, as
 *            vLLM's slot_mapping. Less than 0: K and V of this token go nowhere
 *   QSCALES (H):(LQSCALES0), where .out is of 8 bits, KSCALES (HK):(LKSCALES0) and VSCALES (HK):(LVSCALES0),
 *            where .kv is, Float32, with .scaled: what attention multiplies elements of a head by; here they
 *            are multiplied by 1 / scale. A stride of 0 gives all heads one scale
 *   eps, with .norm, a Float32
 * Strides L... are multiples of 16 bytes. A pair (x,y) at angle a becomes (x cos a - y sin a,
 * y cos a + x sin a). Columns that are not rotated go out as they are. 8-bit floats saturate.
 * The CPU engine refuses a position outside of TABLE, and a slot outside of the cache (SETT_E_FAULT). A GPU
 * does not check them.
 * dtype: f16, bf16, f32. */
typedef struct sett_rope_tuning {
    int threads; /* of a block: a multiple of 32; a thread has two accesses of 16 bytes of a head */
    int reserved; /* 0 */
} sett_rope_tuning;
typedef struct sett_rope_options {
    size_t size;
    sett_dtype dtype;
    int no_pdl;
    int d;            /* columns of a head; 0: 128. As .rotary and .first a multiple of 32 bytes */
    int rotary;       /* columns that are rotated; 0: from .first on all */
    int first;        /* the first of them */
    int pairs;        /* 1: neighbours are a pair (GPT-J); 0: column i and i + rotary / 2 (GPT-NeoX, LLaMA) */
    int norm;         /* 1: heads of Q and K are x / sqrt(mean(x x) + eps) QW, or KW, before (Qwen3) */
    int page;         /* so many keys has a page; 0: there is no cache */
    int latent;       /* with .page, 1: there is no V */
    sett_dtype out;   /* of QO: dtype, which 0 becomes, f8E4M3FN or f8E5M2 */
    sett_dtype kv;    /* of KO, or KC and VC, likewise */
    int scaled;
    sett_rope_tuning tuning;
} sett_rope_options;
SETT_API void sett_rope(sett_build *, const void *options);
SETT_API extern const sett_family sett_rope_family;

/* ---- tables ---- */
/* How angles of more positions than a model was trained for follow from those that it knows; names are those
 * of transformers' rope_scaling. */
typedef enum sett_rope_scaling {
    SETT_ROPE_DEFAULT, /* angle i of position p is p base^(-2 i / rotary) */
    SETT_ROPE_LINEAR,  /* 1 / factor of that */
    SETT_ROPE_LLAMA3,  /* slow angles are divided by factor, those between gradually (LLaMA-3.1) */
    SETT_ROPE_YARN     /* likewise, by beta_fast and beta_slow; cosines and sines are multiplied too */
} sett_rope_scaling;
/* A number that is 0 becomes the usual one, which stands behind it. */
typedef struct sett_rope_table_options {
    size_t size;
    int positions; /* rows of the table: positions 0, 1 ... */
    int rotary;    /* even */
    sett_rope_scaling scaling;
    int original;  /* positions that the model was trained for: of llama3 8192; of yarn it must be given */
    double base;   /* rope_theta: 10000 */
    double factor; /* must be given but for the default scaling */
    double low, high;            /* low_freq_factor, high_freq_factor of llama3: 1, 4 */
    double beta_fast, beta_slow; /* of yarn: 32, 1 */
    double attention_factor;     /* of yarn, what cosines and sines are multiplied by: where mscale or
                                  * mscale_all is not 0, g(mscale) / g(mscale_all), else g(1); g(m) is
                                  * 0.1 m ln(factor) + 1 */
    double mscale, mscale_all;   /* DeepSeek's mscale and mscale_all_dim */
} sett_rope_table_options;
/* Fills in (positions,rotary) floats on the host, computed in double and rounded once. SETT_E_ARGUMENT, by
 * the option's name: it cannot be. */
SETT_API sett_status sett_rope_table(const sett_rope_table_options *, float *table, sett_error *or_null);

#ifdef __cplusplus
}
#endif
#endif
