/* SPDX-License-Identifier: Apache-2.0 */
/* A product of matrices in one call, at whatever M comes: D = epilogue(A B^T), of weights B (N,K) that stay
 * and rows A (M,K) that a server gets.
 *
 *     sett_product_problem p = {.size = sizeof p, .dtype = SETT_BF16, .n = 4096, .k = 14336};
 *     sett_product *plan;
 *     size_t bytes;
 *     if (sett_product_prepare(e, SETT_DEFAULT_DEVICE, &p, 8192, &plan, &bytes, &err))
 *         puts(err.text);
 *     void *workspace = ...;                          bytes of the device's memory, set to 0 once
 *     sett_product_operands x = {.size = sizeof x, .a = A, .b = B, .d = D};
 *     sett_product_run(plan, m, &x, workspace, bytes, stream, &err);     for any m from 0 to 8192
 *
 * A problem has at most SETT_PRODUCT_KERNELS kernels, whatever M is. Neither M, N nor K is in their keys:
 * products of the same types and terms share them. N and K decide which these are, by few classes: what rows
 * are multiples of (64 bytes, 16, less), and of up to 8 rows how long a row of B is, up to 2048 bytes
 * (docs/products.md, "Warm and sealed"). sett_product_prepare loads or compiles all of them, so
 * that sett_product_run compiles, loads, allocates and waits for nothing, and may be captured into a graph.
 * Which kernel a run takes, and how K is dealt to the multiprocessors, a model of the device says from M
 * alone, in less than a microsecond; it measures nothing.
 *
 * On sm_90a kernels are sett_gemm_wgmma's, of batches too; on other targets, for operands that no TMA takes,
 * and of .pointer_array, they are sett_gemm_mma's: right, and slower. Up to 8 rows are sett_gemm_few_rows's,
 * where that takes the problem, .batch_invariant is 0 and the model does not find a tile faster (N is small
 * then, and K long). gemm.h and gemm_mma.h say what sums are.
 *
 * With .grouped a run is a product of each of .groups groups of rows with weights of its own, as a mixture of
 * experts has them, in one launch. Which rows are whose stands on the device, and the host never reads it. */
#ifndef SETT_KERNELS_PRODUCT_H
#define SETT_KERNELS_PRODUCT_H
#include <sett/kernels/gemm.h>
#include <sett/kernels/gemm_mixed.h>
#include <sett/kernels/gemm_mma.h>
#include <sett/kernels/weights.h>
#include <sett/launch.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Strides are in elements, up to 2^31; 0: rows lie beside each other. They are of the problem, not of a run:
 * what is 0 is filled in for max_m rows, so where a run has fewer, products of a batch, masked groups and
 * columns of .a_major still lie as if it had max_m. Only vectors (SA, AMAX ...), SA of .block_scales and SD
 * lie by the m of the run. With max_m rows R and AUX span less than 2^31 elements. Extents: of N and K 0
 * gives an empty result, or sums of 0.
 * .batch_invariant: the bits of a row of D depend on that row, B, N, K and these options: not on M, on the
 * row's place, nor on the device's number of multiprocessors. Otherwise K may be split at places that depend
 * on M; results are still the same from run to run, but for the last bits of .row_sum and .column_sum. */
typedef struct sett_product_problem {
    size_t size;
    sett_dtype dtype; /* of A: f16, bf16, f8E4M3FN, f8E5M2, i8, f32 */
    int no_pdl;
    sett_dtype b;     /* of B; 0: as A. It differs among f8E4M3FN and f8E5M2, and of weights of fewer bits
                       * than A of f16 or bf16: i4, i8, f8E4M3FN, f8E5M2, f4E2M1FN (.group, below) */
    sett_dtype d;     /* of D: f32, f16, bf16, f8E4M3FN, f8E5M2; of i8 also i32 and i8. 0: f16 of f16, f32 of
                       * f32, i32 of i8 without .scaled, else bf16 */
    int n, k;
    int a_major, b_major; /* 1 (SETT_MN_MAJOR): the operand's rows lie along M, or N */
    int scaled;           /* D = SA[m] SB[n] (A B^T), Float32 */
    int swiglu;           /* B is (2N,K): D = silu(A gate^T) (A up^T) */
    int residual;         /* R (M,N) of D's type is added (gemm.h); it may be D */
    int tf32;             /* of f32: by the tensor cores, which read the upper 19 bits */
    int promote;          /* of fp8: sett_gemm_wgmma, whose tensor core keeps 13 bits of a sum, adds sums of
                           * 128 of K in Float32 (gemm.h). The other kernels keep Float32 in any case */
    int block_scales;     /* of fp8: SA and SB have a scale of each row of A and 128 of K, and of 128 x 128 of
                           * B, as gemm.h says. It makes .promote 1. Without .scaled and .batch. sm_90a and
                           * the CPU engine have it, for .a_major and .b_major 0, .align 16, and rows that lie
                           * at multiples of 16 bytes; N of D is such a multiple too */
    int batch;            /* so many products of one shape, beside each other or .pointer_array; 0: one */
    int batch_invariant;
    sett_grouped grouped; /* gemm.h: B, SB and BIAS have a last mode of groups. SETT_GROUPED_CONTIGUOUS: m of
                           * a run counts the rows of all groups, which lie behind each other.
                           * SETT_GROUPED_MASKED: A, R, D, AUX, SA, SD and rows' AMAX have that mode too, and
                           * m is the most rows of a group. Rows of no group are not written. Without .batch,
                           * .k 0, f32 and D of integers that is not .quantise's. sm_90a and the CPU engine
                           * have it, for operands that lie as .block_scales says */
    int groups;           /* of .grouped: how many, 1 to 65535 */
    int align; /* bytes that operands and D begin at, or an element's: a power of two up to 16; 0: 16 */
    int64_t lda, ldb, ldr, ldd, ldaux;          /* from one row to the next; of .a_major and .b_major from
                                                 * one column to the next: .lda 0 is max_m then */
    int64_t ldsb;                               /* the same of SB, of .block_scales */
    int64_t batch_a, batch_b, batch_r, batch_d; /* from one product, or group's matrix, to the next; 0: behind
                                                 * each other, of A, R and D with max_m rows each, also
                                                 * where a run has fewer. AUX always lies so, ldaux max_m.
                                                 * Rows of products may lie between each other, where D's
                                                 * elements do not overlap: (M,batch,N) is ldd = batch N,
                                                 * batch_d = N */
    sett_gemm_terms terms;                      /* gemm.h: bias, activation ... */
    /* Of .b of fewer bits than .dtype: D = epilogue(A W^T), W[n][k] = T((B[n][k] - zero) scale), T A's type.
     * B and SW are what sett_product_pack_weights makes (weights.h), so .ldb, .b_major, .a_major and .batch_b
     * are 0, n and k 1 or more, and rows of A begin at multiples of 4 bytes. Of a batch, or of groups, what
     * it makes of each matrix lies behind that of the one before. Kernels are sett_gemm_wgmma's where all
     * lies as of .block_scales, else sett_gemm_mixed's, and so up to 2 rows; of a batch and of groups they
     * are sett_gemm_wgmma's alone. */
    int group;     /* weights along K that have a scale: 16, 32, or a multiple of 64; 0: 128; -1: all of K */
    int zeros;     /* 1: of i4 and i8: zero points too */
    sett_dtype sw; /* of scales; 0: as A. Of f4E2M1FN f8E4M3FN (groups of 16) or f8E8M0FNU (of 32) too */
    int pointer_array; /* 1: .batch products, 1 or more, that lie anywhere, as cublasGemmBatchedEx has them.
                        * What would hold a matrix, or a vector, of every product is in a run an array on the
                        * device of .batch addresses, Uint64: .a, .b, .r, .d, .aux, .sa, .sb, .sd, .bias,
                        * .amax of rows, sums and maxima. Several may be equal, but of what is written.
                        * Those of matrices are multiples of .align, by the caller's word. Without
                        * .batch_a ..., .grouped, .block_scales and packed weights. Every target takes
                        * sett_gemm_mma: the host makes tensor maps, and it does not know these addresses */
} sett_product_problem;

/* ---- its kernels ---- */
enum { SETT_PRODUCT_KERNELS = 8 };
typedef struct sett_product_kernel {
    const sett_family *family; /* its body and name */
    union {
        size_t size;
        sett_gemm_wgmma_options wgmma;
        sett_gemm_few_rows_options few_rows;
        sett_gemm_mma_options mma;
        sett_gemm_mixed_options mixed;
    } options; /* of the body: sett_kernels_compile(e, k.family->body, &k.options, target, ...) */
} sett_product_kernel;
/* The kernels of a problem for a target ("sm_90a", "cpu"; NULL: sm_90a): how many, at most
 * SETT_PRODUCT_KERNELS, or -1 with an error. kernels: room for SETT_PRODUCT_KERNELS, or NULL. Errors: a
 * member that cannot be, by its name, and .lda of .a_major that is 0, as no max_m says it; SETT_E_TARGET: the
 * target lacks the type, or is older than sm_80. */
SETT_API int sett_product_kernels(
    const sett_product_problem *, const char *target, sett_product_kernel *or_null, sett_error *or_null2);

/* For manifests of `sett warm`, which make all kernels of a problem; members of the problem by their names:
 *     family libsett-kernels.so sett_product_family
 *         dtype = bf16, f8E4M3FN
 *         n = 4096
 *         k = 4096, 14336
 * Many products have the same kernels, and each is made once. Where .a_major is 1 .lda is given, as a plan of
 * sett_product_prepare takes it from max_m. */
SETT_API extern const sett_family sett_product_family;

/* ---- preparing, running ---- */
typedef struct sett_product sett_product;
/* Loads, or compiles, all kernels of the problem on the device (SETT_CPU, SETT_DEFAULT_DEVICE), for runs of
 * at most max_m rows. workspace_bytes: what sett_product_run is given of the device's memory, aligned to 256;
 * the caller sets it to 0 once, before the first run, and each run leaves it as the next one needs it. Runs
 * that may go on at the same time, on two streams, have a workspace each. The plan keeps the kernels; the
 * caller frees it with sett_product_free. On failure *plan is NULL and *workspace_bytes 0. Errors: of
 * sett_product_kernels, sett_kernels_compile, sett_prepare. */
SETT_API sett_status sett_product_prepare(sett_engine *, int device, const sett_product_problem *, int max_m,
    sett_product **plan, size_t *workspace_bytes, sett_error *or_null);
/* The operands of a run, on the device. What the problem has not is NULL, as are A and B of .k 0 and B and D
 * of .n 0 (of .pointer_array these are arrays, whose addresses are not used), and a number of a term that it
 * has not is 0. */
typedef struct sett_product_operands {
    size_t size;
    const void *a, *b, *r;   /* r: of .residual. Of .pointer_array these and d, as others that it names, are
                              * arrays of addresses: (.batch) of Uint64 */
    void *d;                 /* it overlaps neither A nor B; R may be D */
    const float *sa, *sb;    /* of .scaled: m and N, of batches and groups one behind the other, as are bias,
                              * amax, and sums and maxima of rows and columns. Of .block_scales
                              * (m,ceil(K/128)):(1,ldsa) and (ceil(N/128),ceil(K/128)):(ldsb,1), of .swiglu as
                              * many rows more, up's */
    const float *s, *qs;     /* of .scale and .quantise 1 */
    const void *bias;
    void *aux;
    float *amax;
    float *row_sum, *column_sum, *row_max, *column_max;
    float alpha, cap, beta, low, high; /* numbers of the terms of these names; cap of .softcap, 2^-100
                              * to 2^100. One that is forgotten is 0, which is an alpha or a beta as others */
    int64_t ldsa; /* of .block_scales: a multiple of 4, at least m; 0: m, rounded up to that */
    const int32_t *offsets; /* of SETT_GROUPED_CONTIGUOUS, (groups + 1): rows offsets[g] to offsets[g + 1] - 1
                             * are of group g. They do not fall, and are 0 to m */
    const int32_t *counts;  /* of SETT_GROUPED_MASKED, (groups), 0 to m each: so many rows of matrix g */
    int expected_m; /* of .grouped: the rows that most groups have, by which the kernel is chosen; results are
                     * right for any. 0: m, of SETT_GROUPED_CONTIGUOUS over .groups */
    const void *sw; /* of packed weights: their scales, and zero points */
    float *sd;      /* of .quantise 2: scales of D, (m,ceil(N/128)):(1,ldsd), which are written: .sa of a
                     * .block_scales product whose A is D and whose .ldsa is .ldsd */
    int64_t ldsd;   /* as .ldsa */
} sett_product_operands;
/* One product of m rows. m 0, or an N of 0: nothing is launched. Any thread may run a plan, many at once.
 * SETT_E_ARGUMENT: m is less than 0 or more than max_m; an operand is missing, or is given and the problem
 * has it not; .low is above .high; the workspace is too small or not aligned; .expected_m is less than 0; on
 * the CPU engine, whose memory the host reads: .offsets fall, or .offsets or .counts are not 0 to m, or
 * the workspace is not 0. Else errors of sett_launch_n, whose text names the operand here as well. */
SETT_API sett_status sett_product_run(const sett_product *, int m, const sett_product_operands *,
    void *workspace, size_t workspace_bytes, sett_stream, sett_error *or_null);
SETT_API void sett_product_free(sett_product *); /* runs that are queued go on; NULL is ignored */

/* What a run of m rows takes, for logs and benchmarks:
 * "gemm_wgmma bm=128 bn=128: 132 workers, 40 of 172 tiles streamed, 80.1 us by the model"; the model knows no
 * times of other GPUs than those of sm_90a. Tiles of groups are what it expects, of .expected_m 0. Returns
 * the length, as snprintf does. */
SETT_API int sett_product_explain(const sett_product *, int m, char *text, size_t size);
/* The same of a problem on a target (NULL: sm_90a), whose device is as the library's table has it: nothing is
 * compiled. -1: errors of sett_product_kernels. */
SETT_API int sett_product_explain_for(const sett_product_problem *, const char *target, int m, char *text,
    size_t size, sett_error *or_null);
/* The problem that a plan was prepared for, with what was 0 filled in. The caller sets .size. */
SETT_API void sett_product_query(const sett_product *, sett_product_problem *);

#ifdef __cplusplus
}
#endif
#endif
