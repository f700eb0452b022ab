/* SPDX-License-Identifier: Apache-2.0 */
/* Attention. <sett/kernels.h> says what all ready kernels have in common. */
#ifndef SETT_KERNELS_ATTENTION_H
#define SETT_KERNELS_ATTENTION_H
#include <sett/tensor.h>
#include <sett/warm.h>

#ifdef __cplusplus
extern "C" {
#endif

/* O = softmax(score(Q K^T / sqrt(d))) V by tensor cores, forward. Arguments: Q (B,H,M,d),
 * K (B,HK,N,d), V (B,HK,N,dv), O (B,H,M,dv), then those of the options below, in the order of this list. HK
 * divides H: each H / HK heads of Q, one behind the other, share one of K and V (grouped queries; HK = 1: all
 * do). The d elements of a row lie beside each other; other strides are multiples of 16 bytes, the symbols
 * LQ0, LQ1 and LQ2 of Q, and so on: a (B,M,H,d) tensor, also one that is a part of a wider one, is given as
 * its view (B,H,M,d). M, B, N, TK and P may be 0, H and HK are 1 or more, and tiles of all heads together are
 * less than 2^31.
 *
 *   .ragged  requests of different lengths, one behind the other: Q (H,TQ,d), K (HK,TK,d), V, O likewise,
 *            strides LQ0 and LQ1. QOFFSETS (B1), KOFFSETS (B1), Int32, B1 = B + 1: request b has rows
 *            QOFFSETS[b] to QOFFSETS[b + 1] - 1 of Q and O, and likewise of K and V; they do not fall
 *   .page    so many keys a page, a multiple of 16: K and V are pools of P pages, (P,HK,page,d). In place of
 *            KOFFSETS stand TABLE (B,pages), Int32, rows LTABLE0 apart: the pages of request b in order; and
 *            KEYS (B), Int32: its N. What TABLE has behind ceil(N / page) is not read. Q may be ragged or not
 *   .causal  query i sees keys up to i + N - M: the last query sees all
 *   .scaled  of f8E4M3FN: QSCALES (H):(LQSCALES0), KSCALES (HK):(LKSCALES0), VSCALES (HK):(LVSCALES0),
 *            Float32: what the elements of a head are multiplied by. A stride of 0 gives all heads one scale
 *   .scale   scale, a Float32 of the launch above 0, in place of 1 / sqrt(d)
 *   .window  window, an Int32 of the launch, 1 or more: query i sees keys within window - 1 of i + N - M;
 *            with .causal the last `window` of those up to it
 *   .prefix  PREFIX (B), Int32: the first PREFIX[b] keys are seen by all queries, and those behind causally.
 *            It makes .causal 1. Without .window
 *   .softcap cap, a Float32 of the launch above 0: scores become cap tanh(score / cap)
 *   .alibi   SLOPES (H), Float32: scores become score - SLOPES[h] |i + N - M - key|
 *   .sinks   SINKS (H), Float32: exp(SINKS[h]) is added to the sum of the exponentials of the scores; one of
 *            -infinity adds nothing
 *   .lse     LSE (B,H,M):(LLSE0,LLSE1,1), of .ragged (H,TQ):(LLSE0,1), Float32: the natural logarithm of
 *            that sum
 *   .dynamic NEXT (2), Int32: 0 before the first launch, and after one that failed; each other one leaves it
 *            so. Launches that may run at the same time have one each. Blocks take the next tile there, in
 *            order, where they otherwise take every n-th: faster where tiles take different times, as of
 *            .causal, or many. Of .ragged half of the blocks begin with requests that are one tile high,
 *            whose time is that of reading K and V, and half with those of more, whose time is that of
 *            products: both at once. No bit changes
 *   .group   H / HK, 2, 4, 8 ... 64, as a number of the kernel's: the heads that share one of K and V are
 *            rows of one tile, side by side for each query (PackGQA), so that K and V are read once for all
 *            of them: the time of requests of few queries. No bit changes. 0 or 1: a tile is of one head
 *
 * A query that sees no key gives O = 0, and LSE -infinity, or its sink. Tiles of keys that no query of a tile
 * sees are not loaded, and only those at an edge of what is seen are masked.
 * Sums are Float32; weights are rounded to dtype before they multiply V. Exponents, tanh, the last division
 * and logarithm are the hardware's approximations (ex2.approx ...), so that an H200 and the CPU engine differ
 * in the last bit of few results; with .exact they are sett_exp2, sett_tanh ..., and all bits are alike.
 * The bits of a query depend on its own request and the options alone: not on the other requests, nor on
 * where its pages are, or whether it has any.
 * The CPU engine checks what lies in memory and the numbers of a launch: a page outside the pool, offsets
 * that fall or a cap of 0 give SETT_E_FAULT. A GPU does not check them: results may be anything.
 * dtype, of Q, K and V: f16, bf16; f8E4M3FN with d of 64, 128 or, but for .exact with .softcap, 256. Then
 * weights are rounded to it, and multiplied by 256 before.
 * Targets: sm_90a, by wgmma and TMA; from sm_80 on by mma.sync and cp.async, f16 and bf16 alone. A body of
 * the caller's learns of its target by the options: sett_kernels_choose fills in .tuning.arch for it. Older
 * ones: SETT_E_TARGET. */
typedef struct sett_attention_tuning {
    int rows;   /* queries of a tile: 64, 128 or 192; with .arch 80 a multiple of 16 up to 128 */
    int keys;   /* keys of a tile, a multiple of 16, of f8E4M3FN of 32. The bits of results depend on it */
    int stages; /* tiles of K, and of V, that are loaded ahead */
    int blocks; /* at most so many stay, and take tile after tile; 0: as many as the device has
                 * multiprocessors, or, of .causal and .window without .dynamic, one for each tile */
    int arch;   /* 90: by wgmma and TMA; 80: by mma.sync and cp.async; 0: what the target has */
} sett_attention_tuning;
typedef struct sett_attention_options {
    size_t size;
    sett_dtype dtype;
    int no_pdl;
    int d;     /* columns of Q and K: 64, 96, 128, 192 or 256; 0: 128 */
    int exact; /* 1: without approximations, slower */
    int dv;    /* of V and O; 0: as d. With d 192 it may be 128 */
    int causal;
    int window;
    int prefix;
    int softcap;
    int alibi;
    int sinks;
    int lse;
    int ragged;
    int page; /* 16 to 256; 0: K and V have no pages */
    int scale;
    int dynamic;
    sett_dtype out; /* of O: f16 or bf16; 0: as dtype, of f8E4M3FN bf16 */
    int scaled;
    int group; /* 0: heads are not packed */
    sett_attention_tuning tuning;
} sett_attention_options;
SETT_API void sett_attention(sett_build *, const void *options);
SETT_API extern const sett_family sett_attention_family;

/* ---- few queries over many keys ---- */
/* The same for few queries of each request, as when a server decodes: what takes time is to read K and V,
 * once. The heads of Q that share one of K and V are rows of one tile, beside the queries: M H / HK rows,
 * .rows at once; more read K and V more often. The keys of a request are split, and blocks take split after
 * split of all requests; whoever comes last combines those of a request, in their order. Arguments:
 * Q (B,H,M,d), K (B,HK,N,d), V, O as sett_attention has them; then those of the options, in the order of this
 * list; then PARTIAL and LEFT, below.
 *
 *   .kv       the type of K and V: dtype, or f8E4M3FN. They, Q and weights are then multiplied as f16, so
 *             that elements of Q are less than 65504
 *   .scaled   of f8E4M3FN: KSCALES (HK):(LKSCALES0), VSCALES (HK):(LVSCALES0), Float32: what K and V of a
 *             head are multiplied by; a stride of 0 is one scale for all. They stand before TABLE and KEYS,
 *             and those of sett_attention behind
 *   .lengths  KEYS (B), Int32: request b has its first KEYS[b] keys, 0 to N. What lies behind is not used
 *   .page     so many keys a page: K and V are pools, and TABLE (B,pages), KEYS (B) follow, as of
 *             sett_attention. With or without .lengths there is one KEYS
 *   .causal, .scale, .window, .prefix, .softcap, .alibi, .sinks, .lse  as of sett_attention: query i stands
 *             where key i + N - M does
 *
 * A request without keys gives O = 0 and LSE -infinity, or its sink.
 * PARTIAL: Float32, what splits leave; LEFT: Uint32, which the caller sets to 0 before the first launch, and
 * after a launch that failed; each other one leaves it 0. sett_attention_decode_workspace says how many
 * elements they have at least. Launches that run at once have each its own. Lengths and tables are read by
 * the kernel: no launch waits for the host, and none compiles.
 * The bits of a query depend on its own request and the options alone, as splits have a fixed number of keys:
 * not on the batch, nor on pages, nor on how many blocks there are.
 * dtype: f16, bf16. Targets as of sett_attention; .kv f8E4M3FN on sm_90a and the CPU engine alone. */
typedef struct sett_attention_decode_tuning {
    int split;  /* keys of a split, a multiple of .keys. The bits of results depend on it, .keys and .warps */
    int keys;   /* keys of a tile, a multiple of 16 times the warps that share rows */
    int stages; /* tiles of K and V that are loaded ahead */
    int warps;  /* warps that multiply, 1 to 8: each 16 rows and some keys of a tile */
    int blocks; /* at most so many stay, and take split after split; 0: as many as the device runs at once */
    int arch;   /* 90: K and V by TMA; 80: by cp.async; 0: what the target has */
    int reserved;
} sett_attention_decode_tuning;
typedef struct sett_attention_decode_options {
    size_t size;
    sett_dtype dtype;
    int no_pdl;
    int d;     /* columns of Q, K, V and O: 64, 128 or 256; 0: 128 */
    int exact; /* 1: without approximations */
    int rows;  /* of a tile: 16, 32 or 64; 0: 16 */
    sett_dtype kv; /* 0: dtype */
    int scaled;
    int lengths;
    int page; /* 16 to 256; 0: K and V have no pages */
    int causal;
    int window;
    int prefix;
    int softcap;
    int alibi;
    int sinks;
    int lse;
    int scale;
    sett_attention_decode_tuning tuning;
} sett_attention_decode_options;
SETT_API void sett_attention_decode(sett_build *, const void *options);
SETT_API extern const sett_family sett_attention_decode_family;
/* Elements of PARTIAL and LEFT for launches of at most so many requests, queries of a request, and keys of
 * one, with these heads, and heads of K and V: fewer heads_k may need more. Keys are those for which there
 * is a place in K and V: N, or .page times the pages of a row of TABLE. SETT_E_ARGUMENT, and both 0: the
 * options cannot be, or a number is less than 1, or heads are no multiple of heads_k. SETT_E_RANGE: PARTIAL
 * would have more than 2^31 - 1 elements, which no launch takes. */
SETT_API sett_status sett_attention_decode_workspace(const sett_attention_decode_options *, int requests,
    int heads, int heads_k, int queries, int keys, size_t *partial, size_t *left, sett_error *or_null);

/* ---- multi-head latent attention ---- */
/* The same where K and V are one latent cache, as DeepSeek's models have it when they decode: Q (B,H,M,576),
 * which went through the weights that made K of the cache, K (B,HK,N,576), whose first 512 columns are V too,
 * O (B,H,M,512), which goes through those of V; HK is 1 but where tensors are split otherwise. K is read
 * once for .rows, of queries times heads. Then come the arguments of the options, in the order of this
 * list, PARTIAL and LEFT:
 *
 *   .lengths, .page  as of sett_attention_decode; K is a pool (P,HK,page,576)
 *   always           scale, a Float32 of the launch above 0: what scores are multiplied by
 *   .causal, .window, .sinks, .lse  as of sett_attention
 *
 * Bits, requests without keys and workspaces are as sett_attention_decode's. dtype: f16, bf16.
 * Targets: sm_90a and the CPU engine alone; others: SETT_E_TARGET. */
typedef struct sett_attention_mla_tuning {
    int split;  /* keys of a split, a multiple of .keys. The bits of results depend on both */
    int keys;   /* keys of a tile: 32 or 64 */
    int stages; /* tiles that are loaded ahead: 2, of 32 keys up to 4 */
    int blocks; /* at most so many stay, and take split after split; 0: as many as an H200 runs at once */
} sett_attention_mla_tuning;
typedef struct sett_attention_mla_options {
    size_t size;
    sett_dtype dtype;
    int no_pdl;
    int exact; /* 1: without approximations */
    int rows;  /* of a tile: 16, 32 or 64; 0: 64. With fewer splits are shorter */
    int lengths;
    int page; /* 16 to 256; 0: K has no pages */
    int causal;
    int window;
    int sinks;
    int lse;
    sett_attention_mla_tuning tuning;
} sett_attention_mla_options;
SETT_API void sett_attention_mla(sett_build *, const void *options);
SETT_API extern const sett_family sett_attention_mla_family;
/* As sett_attention_decode_workspace. */
SETT_API sett_status sett_attention_mla_workspace(const sett_attention_mla_options *, int requests, int heads,
    int heads_k, int queries, int keys, size_t *partial, size_t *left, sett_error *or_null);

/* ---- masks and scores of the caller's ---- */
/* What a function of these is asked about; Int32 each, but b. */
typedef struct sett_attention_at {
    sett_build *b;
    sett_val *batch, *head;  /* of Q */
    sett_val *queries, *keys; /* M and N of the batch, or request */
} sett_attention_at;
/* Keys [first, last): Int32 values, or C numbers. */
typedef struct sett_attention_keys {
    sett_arg first, last;
} sett_attention_keys;
/* A mask is its bounds, and a predicate for what they cannot say; a score is a function of the scaled
 * product.
 *
 *     static sett_attention_keys of_document(const sett_attention_at *at, sett_val *query, void *user)
 *     {
 *         sett_tensor *first = user;              (M), Int32: where the document of a query begins
 *         sett_val *own = sett_add(query, 1);
 *         return (sett_attention_keys){SETT_A(sett_at(first, query)), SETT_A(own)};
 *     }
 *     static void body(sett_build *b, const void *options)
 *     {
 *         sett_layout *rows = sett_make_layout(b, SETT_T1(sett_sym(b, "M")));
 *         sett_attention_functions f = {.size = sizeof f, .bounds = of_document};
 *         f.user = sett_param(b, "FIRST", SETT_I32, rows);
 *         sett_attention_with(b, options, &f);
 *     }
 *
 * With .group, and of sett_attention_decode, rows are of several heads: .head is NULL of bounds, which are
 * those of all heads, and of the shape of query for the others: sett_gather reads a table by such a value.
 * .bounds: the keys that a query sees, a scalar from 0 to M - 1. Neither of them falls as the query grows.
 * They need not be within 0 and N. By them tiles are left out and edges found, so that inside of them nothing
 * is masked. NULL: all keys.
 * .predicate: of Int32 values of one shape, whether a query sees a key: a Boolean of that shape. It is asked
 * of all tiles within the bounds. query and key may reach past M and N.
 * .score: of scores, Float32, and their queries and keys, all of one shape: what they become.
 * NULL: there is none. .bounds and .predicate go without .causal, .window and .prefix, .score without
 * .softcap and .alibi. A function that gives NULL, or a value of another type or shape, is SETT_E_ARGUMENT at
 * the line of the call. */
typedef struct sett_attention_functions {
    size_t size;
    sett_attention_keys (*bounds)(const sett_attention_at *, sett_val *query, void *user);
    sett_val *(*predicate)(const sett_attention_at *, sett_val *query, sett_val *key, void *user);
    sett_val *(*score)(
        const sett_attention_at *, sett_val *score, sett_val *query, sett_val *key, void *user);
    void *user;
} sett_attention_functions;
/* sett_attention with them, from a body of the caller's, which declares the parameters that they read before
 * this call. Extents that are the attention's too have its symbols: "B", "H", "HK", "M", "N". functions NULL:
 * none. */
SETT_API void sett_attention_with_at(
    sett_site, sett_build *, const sett_attention_options *, const sett_attention_functions *);
#define sett_attention_with(b, options, ...) /* functions, which may be a compound literal */ \
    sett_attention_with_at(SETT_HERE, b, options, __VA_ARGS__)
/* The same of sett_attention_decode. */
SETT_API void sett_attention_decode_with_at(
    sett_site, sett_build *, const sett_attention_decode_options *, const sett_attention_functions *);
#define sett_attention_decode_with(b, options, ...) \
    sett_attention_decode_with_at(SETT_HERE, b, options, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
