/* SPDX-License-Identifier: Apache-2.0 */
/* Ready kernels: libsett-kernels.so, built on the public headers alone.
 *
 *     sett_rms_norm_options o = {.size = sizeof o, .dtype = SETT_BF16, .cols = 4096, .residual = 1};
 *     sett_kernel *k;
 *     if (sett_kernels_compile(e, sett_rms_norm, &o, NULL, &k, &err))
 *         puts(err.text);
 *     else
 *         sett_launch(k, stream, &err, &X, &R, &W, &H, &Y, 1e-5);
 *
 * A kernel is a body and a struct of options, its user data. An option that is 0 is chosen: the shape (threads, values a thread)
 * from the element type, the columns and the target. The body is one like any other: sett_compile takes it, and so does
 * sett_record; `sett warm` takes its family, by the object libsett-kernels.so and the symbol sett_rms_norm_family.
 *
 * Tensors are row-major and begin at multiples of 16 bytes. M, N are extents of the launch; `cols` is known when the kernel is
 * compiled. Rows may have any length. Arithmetic is in Float32, rounded once where a result is stored.
 *
 * Between kernels that follow each other in a stream or graph each begins while the one before it ends, and then waits for it
 * (sett_griddepcontrol_wait); .plain = 1 leaves that out. Options that cannot be are SETT_E_ARGUMENT, where the body is recorded and from the
 * calls below, with a text that names the option and what it may be. */
#ifndef SETT_KERNELS_H
#define SETT_KERNELS_H
#include <sett/engine.h>
#include <sett/value.h>
#include <sett/warm.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Y = softmax(X) by rows. Arguments: X (M,cols), Y (M,cols). A block has a row, in registers.
 * dtype: f16, bf16, f32. */
typedef struct sett_softmax_options {
    size_t size;
    sett_dtype dtype;
    int plain;
    int cols;
    int threads; /* of a block: a multiple of 32 */
} sett_softmax_options;
SETT_API void sett_softmax(sett_build *, const void *options);
SETT_API extern const sett_family sett_softmax_family;

/* Y = H / sqrt(mean(H H) + eps) W by rows. H is X, or with .residual X + R as it is stored: rounded.
 * Arguments: X (M,cols), W (cols), Y (M,cols), eps; with .residual X, R, W, H, Y, eps.
 * dtype: f16, bf16, f32. eps is a Float32. */
typedef struct sett_rms_norm_options {
    size_t size;
    sett_dtype dtype;
    int plain;
    int cols;
    int residual;  /* 1: add R first, and store the sum to H */
    int threads;   /* of a block: a multiple of 32 */
    int rows;      /* of a block, one after another. Not where a row waits in shared memory */
    int registers; /* 1: a row waits in registers, 2: in shared memory, which takes sm_80, no residual, and rows that
                    * threads x 16 bytes divide */
    int reserved;  /* 0 */
} sett_rms_norm_options;
SETT_API void sett_rms_norm(sett_build *, const void *options);
SETT_API extern const sett_family sett_rms_norm_family;

/* Y = (H - mean(H)) / sqrt(variance(H) + eps) W + B by rows. H is X, or with .residual X + R as it is stored: rounded.
 * Arguments: X (M,cols), W (cols), B (cols), Y (M,cols), eps; with .residual X, R, W, B, H, Y, eps. A row is held in registers.
 * dtype: f16, bf16, f32. eps is a Float32. */
typedef struct sett_layer_norm_options {
    size_t size;
    sett_dtype dtype;
    int plain;
    int cols;
    int residual; /* 1: add R first, and store the sum to H */
    int threads;  /* of a row: 32, a warp, or a multiple of it, a block */
    int warps;    /* of a block, each with a row; 1 where a block has one */
    int rows;     /* of a warp or block, one after another */
    int reserved; /* 0 */
} sett_layer_norm_options;
SETT_API void sett_layer_norm(sett_build *, const void *options);
SETT_API extern const sett_family sett_layer_norm_family;

/* Y = silu(gate) up, where X is (M,2,cols): of each row the gate, then up. Arguments: X (M,2,cols), Y (M,cols).
 * dtype: f16, bf16, f32. */
typedef struct sett_silu_mul_options {
    size_t size;
    sett_dtype dtype;
    int plain;
    int cols;
    int threads; /* of a block */
    int each;    /* accesses of 16 bytes that a thread makes of each half */
    int reserved;
} sett_silu_mul_options;
SETT_API void sett_silu_mul(sett_build *, const void *options);
SETT_API extern const sett_family sett_silu_mul_family;

/* C = op(A, B) by element, all (M,N). Arguments: A, B, C.
 * dtype: any of whole bytes; op: any operation of two operands that gives their type (SETT_ADD, which is 0; SETT_MUL, SETT_MAX ...). */
typedef struct sett_elementwise_options {
    size_t size;
    sett_dtype dtype;
    int plain;
    sett_binary_op op;
    int relu;                /* 1: what is below 0 becomes 0 */
    int thr_m, thr_n, val_m; /* threads of a block along M and N; rows of a thread, which has 16 bytes of each */
    int exact;               /* 1: M and N are multiples of thr_m val_m and thr_n x 16 bytes, which launches check */
} sett_elementwise_options;
SETT_API void sett_elementwise(sett_build *, const void *options);
SETT_API extern const sett_family sett_elementwise_family;

/* Y = a X + Y. Arguments: X (N), Y (N), a. dtype: f16, bf16, f32, f64; a is of that type, one fma an element. */
typedef struct sett_axpy_options {
    size_t size;
    sett_dtype dtype;
    int plain;
    int threads; /* of a block */
    int each;    /* accesses of 16 bytes that a thread makes of each */
} sett_axpy_options;
SETT_API void sett_axpy(sett_build *, const void *options);
SETT_API extern const sett_family sett_axpy_family;

/* Y = op over all of X, in one launch and the same bits each time. Arguments: X (N); part (blocks) of Float32, workspace; done (1) of
 * Uint32, which is 0 before and after; Y (1) of Float32. Launches that run at once need a workspace each.
 * dtype: f16, bf16, f32; op: SETT_ADD, SETT_MIN, SETT_MAX. Of no elements: 0 for a sum, else infinity. */
typedef struct sett_vector_reduce_options {
    size_t size;
    sett_dtype dtype;
    int plain;
    sett_binary_op op;
    int threads; /* of a block: a multiple of 32 */
    int blocks;  /* a multiple of threads; sett_kernels_choose says how many, for the workspace */
    int each;    /* accesses of 16 bytes that a thread makes a round */
} sett_vector_reduce_options;
SETT_API void sett_vector_reduce(sett_build *, const void *options);
SETT_API extern const sett_family sett_vector_reduce_family;

/* Y = op over each row of X. Arguments: X (M,N), Y (M) of Float32. A block has a row.
 * dtype: f16, bf16, f32; op: SETT_ADD, SETT_MIN, SETT_MAX. Of no elements: 0 for a sum, else infinity. */
typedef struct sett_row_reduce_options {
    size_t size;
    sett_dtype dtype;
    int plain;
    sett_binary_op op;
    int threads; /* of a block: a multiple of 32 */
    int each;    /* accesses of 16 bytes that a thread makes a round */
    int reserved;
} sett_row_reduce_options;
SETT_API void sett_row_reduce(sett_build *, const void *options);
SETT_API extern const sett_family sett_row_reduce_family;

/* Y = X transposed. Arguments: X (M,N), Y (N,M); with .batched X (B,M,N), Y (B,N,M), B up to 65535: heads and positions change places.
 * dtype: any of 1, 2, 4 or 8 bytes. */
typedef struct sett_transpose_options {
    size_t size;
    sett_dtype dtype;
    int plain;
    int batched; /* 1: three modes */
    int tile;    /* rows and columns that a block takes */
    int rows;    /* of a tile that are moved at once, a divisor of it; tile x rows threads */
    int reserved;
} sett_transpose_options;
SETT_API void sett_transpose(sett_build *, const void *options);
SETT_API extern const sett_family sett_transpose_family;

/* D = W S: weights of few bits with a scale for each `group` of a row, opened. Arguments: W (N,K) of .from, S (N,K/group), D (N,K); K is a
 * multiple of the group. dtype, of S and D: f16, bf16, f32. */
typedef struct sett_dequantise_options {
    size_t size;
    sett_dtype dtype;
    int plain;
    sett_dtype from; /* i4, u4, i8, u8 and the floats of 8 bits; 0: i4 */
    int group;       /* 0: 128 */
    int each;        /* weights of a thread: whole bytes, a divisor of the group */
    int rows;        /* of a block */
} sett_dequantise_options;
SETT_API void sett_dequantise(sett_build *, const void *options);
SETT_API extern const sett_family sett_dequantise_family;

/* dW[id[i]] += dY[i] for each i: the gradient of an embedding. Arguments: id (N) of Int32, dY (N,cols), dW (V,cols). Rows that come
 * twice are added by atomics, in no order. An id outside 0 to V - 1 is not checked. dtype: f32, f16, bf16. */
typedef struct sett_embedding_grad_options {
    size_t size;
    sett_dtype dtype;
    int plain;
    int cols;   /* a multiple of 16 bytes, up to 1024 of those */
    int tokens; /* of a block */
} sett_embedding_grad_options;
SETT_API void sett_embedding_grad(sett_build *, const void *options);
SETT_API extern const sett_family sett_embedding_grad_family;

/* ---- all of them ------------------------------------------------------------------------------- */
/* Fills in what is 0 in the options of a kernel of this library: for a target ("sm_90a", "cpu"), or, as the body does by itself, for NULL: for
 * sm_90. SETT_E_ARGUMENT: the body is none of this library's; the options cannot be. What was filled in is kept in no file, so two
 * versions of the library may choose differently. */
SETT_API sett_status sett_kernels_choose(sett_body, void *options, const char *target_or_null, sett_error *or_null);
/* Chooses and compiles; target NULL: that of the engine's default device. The kernel is named as its family is. The options are copied.
 * Errors: of sett_kernels_choose and sett_compile. */
SETT_API sett_status sett_kernels_compile(
    sett_engine *, sett_body, const void *options, const char *target_or_null, sett_kernel **, sett_error *or_null);
/* The family at an index from 0 on, NULL past the last: .body, .name ("softmax"), .user_size of its options, and .params by name. */
SETT_API const sett_family *sett_kernels_family(int index);

#ifdef __cplusplus
}
#endif
#endif
