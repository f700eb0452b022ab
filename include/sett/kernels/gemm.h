/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices. <sett/kernels.h> says what all ready kernels have in common. */
#ifndef SETT_KERNELS_GEMM_H
#define SETT_KERNELS_GEMM_H
#include <sett/tensor.h>
#include <sett/warm.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- epilogues by name ---- */
/* What becomes of the sums of a product, of any kernel here: members of its options, .terms = {.bias = 1,
 * .activation = SETT_ACTIVATION_GELU}. With .scaled, .residual and .swiglu, which stand in the options
 * themselves, they are applied in this order, in Float32, and then converted to C's type:
 *   .scaled      x SA[m] SB[n]
 *   .alpha       x alpha, a Float32 of the launch
 *   .scale       x S[0], a Float32 on the device; of .swiglu both halves are multiplied, before silu
 *   .bias        + BIAS[n]
 *   .softcap     cap tanh(x / cap), cap a Float32 of the launch
 *   .aux         x is written to AUX (M,N) too
 *   .activation  relu, gelu ...; then the caller's own function, of sett_gemm_wgmma_with
 *   .residual    + R[m][n], with .beta times beta, a Float32 of the launch
 *   .clamp       min(max(x, low), high), Float32 of the launch
 *   .amax        AMAX becomes at least |x|
 *   .row_sum, .column_sum, .row_max, .column_max
 *                ROWSUM[m] += x, COLSUM[n] += x, ROWMAX[m] and COLMAX[n] become at least x
 *   .quantise    1: x QS[0], a Float32 on the device; 2: by the largest of a row's 128 columns
 * Arguments stand behind A and B in one order: R, C, SA, SB, alpha, S, BIAS, cap, AUX, beta, low, high, AMAX,
 * QS or SD, ROWSUM, COLSUM, ROWMAX, COLMAX, each where its option is not 0.
 * BIAS and AUX have C's type where that is f32, f16 or bf16, else Float32. Rows of AUX may lie apart: its
 * stride is the symbol LAUX. In batches SA, SB, BIAS, AUX, the rows of AMAX and sums and maxima have a last
 * mode of them, as SD has, with the stride LSD2; S, QS and AMAX (1) are one for all.
 * Sums and maxima are of Float32, of x as it is before .quantise and before it is rounded to C's type. A
 * launch adds to what is there, or raises it: the caller sets sums to 0 and maxima to -infinity before the
 * first. A sum is added by atomics in any order: other than all else here, its last bits differ from run to
 * run; it is off by at most n 2^-24 times the sum of |x|, n the number of x. A NaN among the values makes
 * both NaN.
 * NaN passes through all of it; f8E4M3FN and f8E5M2 saturate, i8 too, to which NaN is 0.
 * Activations are rounded to C's type behind them. With C of 16 bits or fewer their error is at most a 32nd
 * of what that rounding leaves of |x|: docs/products.md has the bounds. With C of f32 gelu is by the accurate
 * erf, and softcap by the accurate tanh; with other C softcap is within 2^-20 of itself. They have the same
 * bits on all machines. Of -infinity gelu, gelu_tanh and silu are 0. */
typedef enum sett_activation {
    SETT_ACTIVATION_NONE,
    SETT_ACTIVATION_RELU,      /* max(x, 0) */
    SETT_ACTIVATION_GELU,      /* x / 2 (1 + erf(x / sqrt 2)) */
    SETT_ACTIVATION_GELU_TANH, /* x / 2 (1 + tanh(0.79788456 (x + 0.044715 x^3))) */
    SETT_ACTIVATION_SILU       /* x / (1 + exp(-x)) */
} sett_activation;
typedef struct sett_gemm_terms {
    int alpha; /* 1, as those below, or 0 */
    int scale;
    int bias; /* no .swiglu, as softcap, aux and activation */
    int softcap;
    int aux;
    sett_activation activation; /* in manifests, Python and sett export by name: gelu_tanh */
    int beta;                   /* with .residual */
    int clamp;
    int quantise; /* 1: of C of f8E4M3FN, f8E5M2 or i8. 2: of C of f8E4M3FN (G: 448) or f8E5M2 (57344), in
                   * blocks of 1x128: of each row and columns 128 t to 128 t + 127, fewer at the end, with a
                   * the greatest |x| of them, at least 1e-12, SD[m][t] = a / G, and C is x (G / a), rounded.
                   * SD (M,ceil(N/128)):(1,LSD) of Float32, the layout of SA of .block_scales, is written.
                   * A NaN makes SD and all of its block NaN; an infinity makes SD infinite, C NaN there
                   * and 0 beside it. Of sett_gemm_wgmma and sett_gemm_mma, by tiles of whole blocks */
    int amax;     /* 1: AMAX (1) of Float32, the greatest |x|; 2: AMAX (M), that of each row. A launch
                   * raises what is there, so the caller sets it to 0 before the first. A NaN among the
                   * values makes it NaN, which stays: NaN is above all numbers */
    int row_sum, column_sum, row_max, column_max; /* ROWSUM (M), COLSUM (N), ROWMAX (M), COLMAX (N) */
} sett_gemm_terms;

/* ---- products ---- */
/* C = A B^T by the tensor cores of sm_90a, persistent: A (M,K) and B (N,K) come by TMA. Arguments: A, B,
 * C (M,N), and by options:
 *   .scaled    SA (M) and SB (N) of Float32 behind C, for 8-bit types: C[m][n] = SA[m] SB[n] (A B^T)[m][n]
 *   .residual  R (M,N) of C's type before C, which is added; R may be C
 *   .swiglu    B is (2N,K), rows of a gate, then as many others, up: C = silu(A gate^T) (A up^T), so that
 *              the sums of both never reach memory
 *   .terms     epilogues by name, as above
 *   .promote   of fp8, of whose sums the tensor core keeps 13 bits: it sums 128 of K, and these sums are
 *              added in Float32. .bm is at most 144 then, 72 with .swiglu or 256 rows of B, with .stream_k
 *              too 56; of .block_scales 128, or 112, of 256 rows of B 56
 *   .block_scales  of fp8, .promote too: SA and SB of Float32 behind C. C[m][n] = the sum, over tiles t of
 *              128 of K, of SA[m][t] SB[n / 128][t] times the tile's product. SA is (M,ceil(K/128)) with
 *              contiguous columns, (1,LSA), LSA a multiple of 16 bytes; SB is (ceil(N/128),ceil(K/128)) with
 *              contiguous rows, (LSB,1), of .swiglu with twice as many, up's behind the gate's. No .scaled
 * Sums are Float32, those of i8 Int32. Rows of A, B, R and C may lie apart, as those of a slice of a
 * larger matrix do: strides are multiples of 16 bytes, the symbols LA, LB, LR and LC. A row of C is a
 * multiple of 16 bytes long; K is any, from 1 on, where the rows lie so. AUX spans less than 2^31 elements,
 * A, B, R and C may span more.
 *   .stream_k  behind all: partial (Float32, of i8 Int32), left (U32), workers, streamed: how many clusters
 *              run, and how many tiles, counted in clusters, they deal among each other by K tiles of 128
 *              bytes (scheduler.h, .streamed), those of up to 8 tiles of the same rows of B side by side.
 *              Each worker has so many slots as its cluster has warp groups: 1 a block of 64 columns of C,
 *              else 2. left has an element for each slot, 0 before the first launch and after each; partial
 *              has bm x bn elements for each block of a worker. What the workers of one tile left is added
 *              in order of K, so that results are the same from run to run
 *   .grouped   products of groups of rows, each with a B of its own, in one launch, as of a mixture of
 *              experts. How many rows a group has stands on the device: from 0 on, of each another number.
 *              B is (N,K,G), SB, BIAS and sums and maxima of columns are (N,G); of .block_scales SB has a
 *              last mode G. Behind B stands a table of Int32:
 *              contiguous: OFFSETS (G+1). A, R, C and AUX have the rows of all groups behind each other,
 *              M of them: rows OFFSETS[g] to OFFSETS[g + 1] - 1 are of group g. OFFSETS do not fall
 *              masked: COUNTS (G), each 0 to M. A is (M,K,G), R, C and AUX (M,N,G), what is of rows (M,G):
 *              the first COUNTS[g] rows of matrix g are of group g
 *              Rows of C, AUX and AMAX that are of no group are not written. The bits of a row depend neither
 *              on other rows and groups nor on the tile. No .stream_k. Tiles of a group, those of the same
 *              rows of B, are computed at the same time. ceil(M / bm) x tiles of N x G is at most 2147418112.
 *              Of an epilogue of the caller's, tensors (M,N,G) are those of groups (batches), and the last
 *              tile of a group shows it sums of rows behind the group's, which are not stored
 *   .batched   L products of one shape: A (M,K,L), B (N,K,L), and so on as of sett_gemm_mma; strides from one
 *              to the next are the symbols LA2, LB2, LR2, LC2 and LAUX2, as those of groups are. All may span
 *              more than 2^31 elements then, which holds of .grouped too
 *   .tf32      of f32, which the tensor cores have no other products of: they multiply what they read of a
 *              Float32, its upper 19 bits
 *   .b of few bits  packed weights (weights.h): C = A W^T, W[n][k] = T((B[n][k] - zero) scale), where T
 *              rounds to A's type, once. B is what sett_product_pack_weights makes of them, Uint64
 *              (256, bits / 4 ceil(K/64), ceil(N/64)), of .swiglu twice as many of the last; behind it stands
 *              SW of .sw: (64, groups, ceil(N/64)), with .zeros (128, ..), groups of K made a multiple of 64.
 *              Both are contiguous, the first mode innermost; with .grouped and .batched they have a last
 *              mode of these. No .cluster 2
 * dtype, of A and B: f16, bf16, f8E4M3FN, f8E5M2, i8; f32 with .tf32. Other targets than sm_90a and the CPU
 * engine: SETT_E_TARGET. */
typedef struct sett_gemm_wgmma_tuning {
    int bm;       /* rows of A of a block's tile: a multiple of 8, up to 256, and to 128 with 256 rows of B */
    int bn;       /* rows of B of a block's tile: 64, 128 or 256; of .swiglu half are the gate's */
    int stages;   /* tiles of A and B that are loaded ahead */
    int clusters; /* at most so many stay, and take tile after tile; 0: as many as an H200 runs at once */
    int m, n;     /* M and N of most launches, 0: large; bm and bn are chosen by them where they are 0. A
                   * launch with another M or N gives the same results, and may be slower.
                   * sett_kernels_choose then sets both to 0, so that equal tiles are one kernel. Of
                   * .grouped m is the rows that most groups have */
    int cluster;  /* 2: two blocks, beside each other, share A, by multicast; 1: blocks by themselves */
    int ping_pong; /* 1: each warp group has a tile of its own, so that one stores while the other multiplies.
                    * Not with .stream_k, .promote, .block_scales */
} sett_gemm_wgmma_tuning;
typedef enum sett_grouped {
    SETT_GROUPED_NONE,
    SETT_GROUPED_CONTIGUOUS, /* rows of all groups behind each other */
    SETT_GROUPED_MASKED      /* a matrix for each group, of which the first rows count */
} sett_grouped;
typedef struct sett_gemm_wgmma_options {
    size_t size;
    sett_dtype dtype;
    int no_pdl;
    sett_dtype c; /* f32, f16, bf16, f8E4M3FN, f8E5M2, with .quantise i8; 0: f16 of f16, f32 of f32, else
                   * bf16 */
    int scaled;   /* 1: by rows and columns */
    int swiglu;   /* 1: silu of one half of B's products, times the other; of floats, not .scaled */
    int residual; /* 1: R is added */
    sett_dtype b; /* of B; 0: as A. It differs among f8E4M3FN and f8E5M2, and with A of f16 and bf16: then
                   * weights are i4, i8, f8E4M3FN, f8E5M2 or f4E2M1FN, packed, and SW stands behind B */
    int stream_k; /* 1: a launch gives how many clusters run and how many tiles they share */
    sett_gemm_wgmma_tuning tuning;
    sett_gemm_terms terms; /* behind .tuning, as it came later */
    int promote;           /* 1: of fp8, sums of 128 of K are added in Float32 */
    int block_scales;      /* 1: of fp8, a scale of each row of A and 128 of K, and of 128 x 128 of B. It
                            * makes .promote 1 */
    sett_grouped grouped;  /* rows of A are those of groups, each with a B of its own; no .stream_k */
    int batched;           /* 1: operands have a last mode of batches, L; no .grouped */
    int tf32;              /* 1: .dtype is f32 */
    int group;             /* of packed weights: so many along K have a scale: 16, 32, or a multiple of 64;
                            * 0: 128, of f4E2M1FN what .sw has; -1: a row of B has one */
    int zeros;             /* 1: of i4 and i8, which are unsigned then, each group has a zero point too */
    sett_dtype sw;         /* of scales; 0: as A. Of f4E2M1FN f8E4M3FN in groups of 16 (NVFP4), or, with A of
                            * bf16, f8E8M0FNU in groups of 32 (MXFP4) too */
} sett_gemm_wgmma_options;
SETT_API void sett_gemm_wgmma(sett_build *, const void *options);
SETT_API extern const sett_family sett_gemm_wgmma_family;

/* D = A B^T for 1 to 8 rows of A, as a server's decode step has: B (N,K), the weights, is read once, at the
 * speed of memory. For any GPU. Arguments and terms are those of sett_gemm_wgmma: A, B, [R], C, [SA, SB];
 * any M, N and K from 1 on. Rows of A and B lie a multiple of 16 bytes apart (LA, LB), those of R and C as
 * they please (LR, LC). A, R and C span less than 2^31 elements, B may span more.
 * dtype, of A and B: f32, f16, bf16, f8E4M3FN, f8E5M2, i8. Sums are Float32, of i8 Int32. Their order is that
 * of the options and K: a row's result has the same bits whatever M and the other rows are. */
typedef struct sett_gemm_few_rows_tuning {
    int threads;       /* of a block, a multiple of 32 */
    int rows_per_warp; /* rows of B that a warp takes: 1, 2, 4, by multiply-adds; 8, 16, 32, by tensor cores,
                        * from sm_80 on, not of f32 */
    int split;         /* warps that share the rows, each a part of K; it divides the warps of a block */
    int vectors;       /* times 16 bytes of each row that a lane loads at once: 1, 2, 4, 8 */
    int k;             /* K of most launches, 0: large; .split is chosen by it where it is 0.
                        * sett_kernels_choose then sets it to 0, so that equal shapes are one kernel */
} sett_gemm_few_rows_tuning;
typedef struct sett_gemm_few_rows_options {
    size_t size;
    sett_dtype dtype;
    int no_pdl;
    sett_dtype c; /* f32, f16, bf16, f8E4M3FN, f8E5M2, with .quantise i8; 0: f32 of f32, f16 of f16, else
                   * bf16 */
    int rows;     /* most rows of A that a launch has, 1 to 8; 0: 8. A launch with more reads B once for each
                   * so many */
    int scaled;   /* these three as of sett_gemm_wgmma */
    int swiglu;
    int residual;
    sett_gemm_few_rows_tuning tuning;
    sett_gemm_terms terms; /* behind .tuning, as it came later */
} sett_gemm_few_rows_options;
SETT_API void sett_gemm_few_rows(sett_build *, const void *options);
SETT_API extern const sett_family sett_gemm_few_rows_family;

/* ---- an epilogue of the caller's ---- */
/* What a product's sums become: a C function that gets the sums of one thread (Float32, of i8 without terms
 * Int32), after what the options do before it (above: .scaled, .swiglu ... .activation), and gives a value of
 * their shape. Then R is added, and so on.
 *
 *     static sett_val *relu(const sett_epilogue_tile *at, sett_val *sums, void *user)
 *     {
 *         return sett_max(sums, 0.0);
 *     }
 *     static void body(sett_build *b, const void *user)
 *     {
 *         sett_gemm_wgmma_with(b, user, relu, NULL);
 *     }
 */
typedef struct sett_epilogue_tile sett_epilogue_tile;
typedef sett_val *(*sett_gemm_epilogue)(const sett_epilogue_tile *, sett_val *sums, void *user);
/* sett_gemm_wgmma with an epilogue, from a body of the caller's; epilogue NULL: none. The body declares
 * the parameters that the epilogue reads before this call, and they stand before A. Where the product's
 * extents are theirs too, they have its symbols: sett_sym(b, "M"), "N", "K". .div may be left out, or be
 * any: N becomes a multiple of 16 bytes of .c. Other symbols have other names than LA, LB, LC and LR, the
 * product's strides.
 * A tile may reach past M and N. The sums there are anything, NaN too, and C does not get what becomes of
 * them: an epilogue that adds, compares or stores values by itself, as a largest one, takes those inside
 * alone, by the coordinates of its part (sett_epilogue_partition).
 * An epilogue that gives NULL, or a value of another shape than `sums`, is SETT_E_ARGUMENT at this call's
 * line. */
SETT_API void sett_gemm_wgmma_with_at(
    sett_site, sett_build *, const sett_gemm_wgmma_options *, sett_gemm_epilogue, void *user);
#define sett_gemm_wgmma_with(b, options, epilogue, user) \
    sett_gemm_wgmma_with_at(SETT_HERE, b, options, epilogue, user)
/* The same of sett_gemm_few_rows, whose N and strides of C need no .div. */
SETT_API void sett_gemm_few_rows_with_at(
    sett_site, sett_build *, const sett_gemm_few_rows_options *, sett_gemm_epilogue, void *user);
#define sett_gemm_few_rows_with(b, options, epilogue, user) \
    sett_gemm_few_rows_with_at(SETT_HERE, b, options, epilogue, user)
/* The part of an (M,N) tensor whose elements those of `sums` are: of a bias by columns its view
 * (M,N):(0,1), of coordinates sett_identity_tensor(b, M, N), by which what lies past the edges is left
 * unread (.pred). */
SETT_API sett_tensor *sett_epilogue_partition_at(sett_site, const sett_epilogue_tile *, sett_tensor *whole);
#define sett_epilogue_partition(tile, whole) sett_epilogue_partition_at(SETT_HERE, tile, whole)

#ifdef __cplusplus
}
#endif
#endif
