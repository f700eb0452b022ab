/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of sett_attention_decode share. Its last warp loads tiles of K and V, and says what they are of; each of the others
 * multiplies the queries by its own keys of a tile (attention_decode_loop.c). What they have then is combined, of a split by its warps, of
 * some splits by the block that comes last, and of all of a request likewise (attention_decode_sums.c). */
#ifndef ATTENTION_DECODE_H
#define ATTENTION_DECODE_H
#include "attention.h"

enum { DECODE_BARRIER = 1 /* of the threads that multiply */ };
enum { WARP = 32, MOST_WARPS = 8, WARP_ROWS = 16 /* queries times heads that a warp has */, DECODE_TOGETHER = 32 /* splits that a block combines at once */ };

/* What a split is of. Splits of one head and tile of rows stand beside each other in PARTIAL. */
typedef struct decode_work {
    sett_val *request, *head; /* of K and V */
    sett_val *row, *keys;     /* the first row of the tile, of queries times heads; keys of the request */
    sett_val *from, *to;      /* tiles of keys */
    sett_val *slot;           /* of the split */
    sett_val *split, *splits; /* which one of how many */
} decode_work;
enum { DECODE_WORK_INTS = sizeof(decode_work) / sizeof(sett_val *) };

typedef struct decode_parts {
    const sett_attention_decode_options *o;
    sett_attention_options all, mine; /* as attention_keys.c and attention_mask.c ask: of a tile of keys, and of the keys of a warp */
    attention_parts t, scores;        /* with these options */
    attention_scores unit;            /* to ask for the unit of scores */
    sett_pipeline *keys, *work;       /* a stage is a tile of K and one of V */
    sett_tensor *q;                   /* (M,d,H,B); .t.q is a tile of it in shared memory, (rows,d) */
    sett_tensor *sums;                /* of shared memory, (columns and what is beside them, rows, warps that share rows) */
    sett_tensor *k_scale, *v_scale;   /* (HK); NULL: none */
    sett_tensor *partial, *left;
    sett_val *floats;                 /* of .partial */
    sett_val *counters;               /* of .left: of splits that are combined at once, by their first slot; behind as many, of all of them; two of the walk */
    sett_tensor *last;                /* of shared memory: is this block the last one to come? */
    sett_fast_divmod group;           /* heads of Q that share one of K and V */
    sett_val *rows;                   /* M times these */
    sett_arg high;                    /* tiles of rows */
    sett_arg scale;                   /* the unit of scores times log2(e) */
} decode_parts;

/* Warps that have the same rows, and each its own keys. */
static inline int decode_parts_of(const sett_attention_decode_options *o)
{
    return o->tuning.warps / (o->rows / WARP_ROWS);
}
static inline int decode_threads(const decode_parts *x) /* that multiply */
{
    return x->o->tuning.warps * WARP;
}

static inline bool decode_is_f8(const sett_attention_decode_options *o)
{
    return sett__is_f8(o->kv);
}
static inline sett_dtype decode_multiplied(const sett_attention_decode_options *o)
{
    return decode_is_f8(o) ? SETT_F16 /* has all their values */ : o->dtype;
}

/* ---- attention_decode_loop.c ---- */
void sett__decode_consume(sett_build *, const decode_parts *);

/* ---- attention_decode_sums.c ---- */
/* Floats of a row of PARTIAL, and of shared memory: its sums of V, the largest score, the sum of weights, and some that keep rows of 16 bytes, or
 * lanes in banks of their own. */
static inline int decode_partial_columns(const sett_attention_decode_options *o)
{
    return o->d + 4;
}
static inline int decode_sums_columns(const sett_attention_decode_options *o)
{
    return o->d + 8;
}
/* 2^x. */
sett_val *sett__decode_power(const decode_parts *, sett_val *x);
/* What the warps have left in .sums becomes the split's part, or the result where it is the last to come. All threads that multiply call it. */
void sett__decode_finish(sett_build *, const decode_parts *, const decode_work *);
#endif
