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
 * A kernel is a body and a struct of options, its user data. The caller sets .size, .dtype and, where there are such options, .cols and
 * the flags. The options of shape (threads, rows, vectors_per_thread ...) may stay 0: the library then chooses them by element type, columns and
 * target. The body is one like any other: sett_compile takes it, and so does sett_record; `sett warm` takes its family, by the
 * object libsett-kernels.so and the symbol sett_rms_norm_family, and chooses for each target as sett_kernels_compile does.
 *
 * Tensors are row-major and begin at multiples of 16 bytes. Rows lie beside each other; those of sett_gemm_wgmma and sett_attention
 * may also lie apart. M and N are extents that a launch gives; `cols` is known when the kernel is compiled. Rows may have any
 * length. Where nothing else is said, arithmetic is in Float32, and a result is rounded once, when it is stored.
 *
 * A kernel may start before the kernel ahead of it in a stream or graph has ended; it waits for that kernel before it touches memory
 * (sett_griddepcontrol_wait). .no_pdl = 1 turns this off. Options that cannot be are SETT_E_ARGUMENT, when the body is recorded and from
 * the calls below, with a text that names the option and what it may be. */
#ifndef SETT_KERNELS_H
#define SETT_KERNELS_H
#include <sett/engine.h>
#include <sett/value.h>
#include <sett/warm.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Y = softmax(X) by rows. Arguments: X (M,cols), Y (M,cols). One block keeps one row in registers.
 * dtype: f16, bf16, f32. */
typedef struct sett_softmax_options {
    size_t size;
    sett_dtype dtype;
    int no_pdl;
    int cols;
    int threads; /* of a block: a multiple of 32 */
} sett_softmax_options;
SETT_API void sett_softmax(sett_build *, const void *options);
SETT_API extern const sett_family sett_softmax_family;

/* Y = H / sqrt(mean(H H) + eps) W by rows. H is X, or with .residual X + R as it is stored: rounded.
 * Arguments: X (M,cols), W (cols), Y (M,cols), eps; with .residual X, R, W, H, Y, eps.
 * dtype: f16, bf16, f32. eps is a Float32. Where rows wait in registers, M is up to 65535 x .rows. */
typedef struct sett_rms_norm_options {
    size_t size;
    sett_dtype dtype;
    int no_pdl;
    int cols;
    int residual;  /* 1: add R first, and store the sum to H */
    int threads;   /* of a block: a multiple of 32 */
    int rows;      /* that a block computes, one after another; 1 where a row waits in shared memory */
    int registers; /* where a row waits between its two uses. 1: in registers. 2: in shared memory, which needs sm_80 or newer,
                    * no .residual, and a row whose bytes are a multiple of threads x 16, and at most 160 KiB (96 on sm_86,
                    * 88, 89 and from 120 on). 0: chosen */
    int reserved;  /* 0 */
} sett_rms_norm_options;
SETT_API void sett_rms_norm(sett_build *, const void *options);
SETT_API extern const sett_family sett_rms_norm_family;

/* Y = (H - mean(H)) / sqrt(variance(H) + eps) W + B by rows; the variance divides by cols. H is X, or with .residual X + R as it is stored: rounded.
 * Arguments: X (M,cols), W (cols), B (cols), Y (M,cols), eps; with .residual X, R, W, B, H, Y, eps. A row is held in registers.
 * dtype: f16, bf16, f32. eps is a Float32. */
typedef struct sett_layer_norm_options {
    size_t size;
    sett_dtype dtype;
    int no_pdl;
    int cols;
    int residual; /* 1: add R first, and store the sum to H */
    int threads;  /* for one row. 32: a warp computes it. A larger multiple of 32: a whole block computes it */
    int warps;    /* of a block, each of which computes rows of its own; 1 where a block computes one */
    int rows;     /* that a warp or block computes, one after another */
    int reserved; /* 0 */
} sett_layer_norm_options;
SETT_API void sett_layer_norm(sett_build *, const void *options);
SETT_API extern const sett_family sett_layer_norm_family;

/* Y = silu(gate) up, where X is (M,2,cols): of each row the gate, then up. Arguments: X (M,2,cols), Y (M,cols).
 * dtype: f16, bf16, f32. */
typedef struct sett_silu_mul_options {
    size_t size;
    sett_dtype dtype;
    int no_pdl;
    int cols;
    int threads; /* of a block */
    int vectors_per_thread; /* accesses of 16 bytes that a thread makes of each half */
    int reserved; /* 0 */
} sett_silu_mul_options;
SETT_API void sett_silu_mul(sett_build *, const void *options);
SETT_API extern const sett_family sett_silu_mul_family;

/* C = op(A, B) by element, all (M,N), in their own type. Arguments: A, B, C. M is up to 65535 thr_m val_m.
 * dtype: f16, bf16, f32, f64 and the integers of 8 to 64 bits; op: an operation of two operands that gives their type (SETT_ADD, which
 * is 0; SETT_MUL, SETT_MAX ...): SETT_AND to SETT_SHR of integers, SETT_ATAN2 and SETT_COPYSIGN of floats. */
typedef struct sett_elementwise_options {
    size_t size;
    sett_dtype dtype;
    int no_pdl;
    sett_binary_op op;
    int relu;                /* 1: what is below 0 becomes 0 */
    int thr_m, thr_n, val_m; /* threads of a block along M and N; rows that a thread computes, 16 bytes of each */
    int exact;               /* 1: M and N are multiples of thr_m val_m and thr_n x 16 bytes, which launches check */
} sett_elementwise_options;
SETT_API void sett_elementwise(sett_build *, const void *options);
SETT_API extern const sett_family sett_elementwise_family;

/* Y = a X + Y. Arguments: X (N), Y (N), a. dtype: f16, bf16, f32, f64; a is of that type, one fma an element. */
typedef struct sett_axpy_options {
    size_t size;
    sett_dtype dtype;
    int no_pdl;
    int threads; /* of a block */
    int vectors_per_thread; /* accesses of 16 bytes that a thread makes of each */
} sett_axpy_options;
SETT_API void sett_axpy(sett_build *, const void *options);
SETT_API extern const sett_family sett_axpy_family;

/* Y = op over all of X, in one launch and the same bits each time. Arguments: X (N); part (blocks) of Float32, workspace; done (1) of
 * Uint32; Y (1) of Float32. The caller sets done to 0 before the first launch, and each launch leaves it 0. Launches that run at
 * once need a workspace each.
 * dtype: f16, bf16, f32; op: SETT_ADD, SETT_MIN, SETT_MAX. Of no elements: 0 for a sum, +infinity for a minimum, -infinity for a
 * maximum. */
typedef struct sett_vector_reduce_options {
    size_t size;
    sett_dtype dtype;
    int no_pdl;
    sett_binary_op op;
    int threads; /* of a block: a multiple of 32 */
    int blocks;  /* a multiple of threads, and the length of `part`; if it is 0, sett_kernels_choose fills it in */
    int vectors_per_thread; /* accesses of 16 bytes that a thread makes a round */
} sett_vector_reduce_options;
SETT_API void sett_vector_reduce(sett_build *, const void *options);
SETT_API extern const sett_family sett_vector_reduce_family;

/* Y = op over each row of X. Arguments: X (M,N), Y (M) of Float32. A block has a row.
 * dtype: f16, bf16, f32; op: SETT_ADD, SETT_MIN, SETT_MAX. Of no elements: 0 for a sum, +infinity for a minimum, -infinity for a
 * maximum. */
typedef struct sett_row_reduce_options {
    size_t size;
    sett_dtype dtype;
    int no_pdl;
    sett_binary_op op;
    int threads; /* of a block: a multiple of 32 */
    int vectors_per_thread; /* accesses of 16 bytes that a thread makes a round */
    int reserved; /* 0 */
} sett_row_reduce_options;
SETT_API void sett_row_reduce(sett_build *, const void *options);
SETT_API extern const sett_family sett_row_reduce_family;

/* Y = X transposed. Arguments: X (M,N), Y (N,M); with .batched X (B,M,N), Y (B,N,M). M is up to 65535 x .tile, B up to 65535.
 * dtype: any of 1, 2, 4 or 8 bytes. */
typedef struct sett_transpose_options {
    size_t size;
    sett_dtype dtype;
    int no_pdl;
    int batched; /* 1: three modes */
    int tile;    /* rows and columns that a block takes */
    int rows;    /* of a tile that a block moves at once, a divisor of tile; a block has tile x rows threads */
    int reserved; /* 0 */
} sett_transpose_options;
SETT_API void sett_transpose(sett_build *, const void *options);
SETT_API extern const sett_family sett_transpose_family;

/* D[n][k] = W[n][k] S[n][k / group]: weights of few bits, with a scale for each `group` of a row. Arguments: W (N,K) of .from,
 * S (N,K/group), D (N,K); K is a multiple of the group, N up to 65535 x .rows. dtype, of S and D: f16, bf16, f32. */
typedef struct sett_dequantise_options {
    size_t size;
    sett_dtype dtype;
    int no_pdl;
    sett_dtype from; /* i4, f4E2M1FN, i8, u8, f8E4M3FN, f8E5M2, f8E8M0FNU; 0: i4 */
    int group;       /* 0: 128 */
    int values_per_thread; /* weights of a thread: whole bytes, a divisor of the group */
    int rows;        /* of a block */
} sett_dequantise_options;
SETT_API void sett_dequantise(sett_build *, const void *options);
SETT_API extern const sett_family sett_dequantise_family;

/* dW[id[i]] += dY[i] for each i: the gradient of an embedding. Arguments: id (N) of Int32, dY (N,cols), dW (V,cols). Rows that come
 * twice are added by atomics, in no order, each addition rounded to dtype. The caller fills dW first. Ids are not checked: one outside
 * 0 to V - 1 writes outside dW. dtype: f32, f16, bf16. */
typedef struct sett_embedding_grad_options {
    size_t size;
    sett_dtype dtype;
    int no_pdl;
    int cols;   /* a row has a multiple of 16 bytes, 16384 at most */
    int tokens; /* of a block */
} sett_embedding_grad_options;
SETT_API void sett_embedding_grad(sett_build *, const void *options);
SETT_API extern const sett_family sett_embedding_grad_family;

/* C = A B^T by the tensor cores of sm_90a, persistent: A (M,K) and B (N,K) come by multicast TMA to clusters of two blocks. Arguments: A,
 * B, C (M,N); with .scaled SA (M) and SB (N) of Float32 behind them, and C[m][n] = SA[m] SB[n] (A B^T)[m][n], which 8-bit types want.
 * With .residual R (M,N) of C's type before C, which is added; R may be C. With .swiglu B is (2N,K), rows of a gate, then as many others,
 * up: C = silu(A gate^T) (A up^T), so that the sums of both never reach memory. R spans less than 2^31 elements, A, B and C may span more.
 * Sums are Float32, those of i8 Int32. Rows of A, B, R and C may lie apart, as those of a slice of a larger matrix do: strides are multiples
 * of 16 bytes, the symbols LA, LB, LR and LC. A row of C is a multiple of 16 bytes long; K is any, from 1 on, where the rows lie so.
 * dtype, of A and B: f16, bf16, f8E4M3FN, f8E5M2, i8. Other targets than sm_90a and the CPU engine: SETT_E_TARGET. */
typedef struct sett_gemm_wgmma_options {
    size_t size;
    sett_dtype dtype;
    int no_pdl;
    sett_dtype c; /* f32, f16, bf16, f8E4M3FN, f8E5M2; 0: f16 of f16, else bf16 */
    int scaled;   /* 1: by rows and columns */
    int bn;       /* rows of B of a block's tile: a multiple of 64, up to 256; of .swiglu half are the gate's */
    int stages;   /* tiles of A and B that are loaded ahead */
    int clusters; /* at most so many stay, and take tile after tile: as many as the device runs at once; 0: 66, an H200's, or 132 blocks */
    int swiglu;    /* 1: silu of one half of B's products, times the other; of floats, not .scaled */
    int residual; /* 1: R is added, last */
    int bm;       /* rows of A of a block's tile: 128, whose clusters of two blocks share B; 64, 32 or 16: blocks by themselves, for few rows */
    int m, n;     /* M and N of most launches, 0: large. Where bm or bn is 0 it is chosen by them. A launch with another M or N gives the same
                   * results, and may be slower. sett_kernels_choose then sets both to 0, so that equal tiles are one kernel */
} sett_gemm_wgmma_options;
SETT_API void sett_gemm_wgmma(sett_build *, const void *options);
SETT_API extern const sett_family sett_gemm_wgmma_family;
/* The same with an epilogue of the caller's, from a body of the caller's: a C function that gets sums (Float32, of i8 Int32; all of one thread),
 * with .scaled scaled, with .swiglu silu(gate) up, and gives what becomes of them; R is added, and the result converted to .c.
 * Parameters that it reads are declared before, and stand before A. Where the product's extents are theirs too, they have its symbols:
 * sett_sym(b, "M"), "N", "K". .div may be left out, or be any: N becomes a multiple of 16 bytes of .c. Other symbols have other names
 * than LA, LB, LC and LR, the product's strides. sett_epilogue_partition is the part of an (M,N) tensor whose elements those of `sums` are: of
 * a bias by columns its view (M,N):(0,1), of coordinates sett_identity_tensor(b, M, N), by which what lies past the edges is left
 * unread (.pred).
 *
 *     static sett_val *relu(const sett_epilogue_tile *at, sett_val *sums, void *user) { return sett_max(sums, 0.0); }
 *     static void body(sett_build *b, const void *user) { sett_gemm_wgmma_with(b, user, relu, NULL); }
 *
 * epilogue NULL: that of sett_gemm_wgmma. One that gives NULL, or a value of another shape than `sums`, is SETT_E_ARGUMENT at this call's line. */
typedef struct sett_epilogue_tile sett_epilogue_tile;
typedef sett_val *(*sett_gemm_epilogue)(const sett_epilogue_tile *, sett_val *sums, void *user);
SETT_API void sett_gemm_wgmma_with_at(sett_site, sett_build *, const sett_gemm_wgmma_options *, sett_gemm_epilogue, void *user);
#define sett_gemm_wgmma_with(b, options, epilogue, user) sett_gemm_wgmma_with_at(SETT_HERE, b, options, epilogue, user)
SETT_API sett_tensor *sett_epilogue_partition_at(sett_site, const sett_epilogue_tile *, sett_tensor *whole);
#define sett_epilogue_partition(tile, whole) sett_epilogue_partition_at(SETT_HERE, tile, whole)

/* O = softmax(Q K^T / sqrt(d)) V by the tensor cores of sm_90a, forward, without masks. Arguments: Q (B,H,M,d), K (B,HK,N,d), V (B,HK,N,d),
 * O (B,H,M,d); B and H are up to 65535, N is at least 1. HK divides H: each H / HK heads of Q, one behind the other, share one of K and V
 * (grouped queries; HK = 1: all do). The d elements of a row lie beside each other; other strides are multiples of 16 bytes, the symbols
 * LQ0, LQ1 and LQ2 of Q, and so on: a (B,M,H,d) tensor, also one that is a part of a wider one, is given as its view (B,H,M,d).
 * Sums are Float32; weights are rounded to dtype before they multiply V. Exponents and the last division are the hardware's approximations
 * (ex2.approx, rcp.approx), so that an H200 and the CPU engine differ in the last bit of few results; with .exact they are sett_exp2 and
 * sett_rcp, and all bits are alike.
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

/* ---- all of them ------------------------------------------------------------------------------- */
/* Fills in the options of shape that are 0, for a target ("sm_90a", "cpu"); NULL: sm_90, for which a body chooses too that sett_compile
 * is given by itself. SETT_E_ARGUMENT: the body is none of this library's, the options cannot be, or the target is no such name. Two
 * versions of the library may choose differently. */
SETT_API sett_status sett_kernels_choose(sett_body, void *options, const char *target_or_null, sett_error *or_null);
/* Chooses and compiles; target NULL: that of the engine's default device. The kernel is named as its family is. The options are copied.
 * Errors: of sett_kernels_choose and sett_compile. The kernel is NULL then. */
SETT_API sett_status sett_kernels_compile(
    sett_engine *, sett_body, const void *options, const char *target_or_null, sett_kernel **, sett_error *or_null);
/* The family at an index, counted from 0; NULL past the last. The library owns it. It has .body, .name ("softmax"), .user_size of its
 * options, and .params by name. */
SETT_API const sett_family *sett_kernels_family(int index);

#ifdef __cplusplus
}
#endif
#endif
