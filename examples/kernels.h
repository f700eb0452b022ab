/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of these examples that other programs use too (tools/, bench/): their bodies and
 * what they take as user data. */
#ifndef EXAMPLES_KERNELS_H
#define EXAMPLES_KERNELS_H
#include <sett/sett.h>

/* apply.c: C = op(A, B), any size. */
struct apply {
    sett_dtype dtype;
    sett_val *(*op)(sett_val *, sett_val *);
    int thr_m, thr_n, val_m; /* as of add_tv; 0: 8, 32 and 1 */
};
void apply(sett_build *, const void *user);
sett_val *apply_add(sett_val *x, sett_val *y);
sett_val *apply_mul(sett_val *x, sett_val *y);
sett_val *apply_mul_relu(sett_val *x, sett_val *y);

/* What begins while the kernel before it ends, and then waits for it: between kernels that follow each other in a stream or graph
 * it hides what a launch takes to start. */
static inline void begin_early(sett_build *b, int early)
{
    if (!early)
        return;
    sett_griddepcontrol_launch_dependents(b);
    sett_griddepcontrol_wait(b);
}

/* add_tv.c: C = A + B in Float16, sizes that the tile divides. Threads are (thr_m,thr_n) row-major, each with val_m rows of
 * eight values; 0: 8, 32 and 1. */
struct add_tv {
    int remap, thr_m, thr_n, val_m;
    int early; /* see begin_early */
};
void add_tv(sett_build *, const void *user);

/* A row of `cols` elements, cut into accesses of 16 bytes: as many a thread, of `threads`. A row that is no multiple of 16 bytes
 * begins anywhere between two (sett_peel), and may take one more. */
static inline int row_parts(sett_dtype dtype, int cols, int threads)
{
    const int vec = 128 / sett_dtype_bits(dtype), most = cols % vec ? cols + vec - 1 : cols, block = vec * threads;
    return (most + block - 1) / block;
}

/* softmax.c: by rows of any length that threads hold; threads a multiple of 32. */
struct softmax {
    sett_dtype dtype;
    int cols, threads;
    int early; /* see begin_early */
};
void softmax(sett_build *, const void *user);

/* rms_norm.c: by rows of any length, as softmax. Arguments: X, W of one row, Y, eps. rows: of a block where cols is no multiple of
 * threads x 16 bytes; 0: 4. */
struct rms_norm {
    sett_dtype dtype;
    int cols, threads;
    int early; /* see begin_early */
    int rows;
};
void rms_norm(sett_build *, const void *user);

/* layer_norm.c: by rows, a warp a row; cols a multiple of 16 bytes. Arguments: X, R, W, B, H, Y, eps. A block has `warps` warps,
 * each `rows` rows, one after another. */
struct layer_norm {
    sett_dtype dtype;
    int cols, warps, rows;
    int early; /* see begin_early */
};
void layer_norm(sett_build *, const void *user);

/* silu_mul.c: X is (M,2,cols), Y (M,cols); a thread takes `each` x 16 bytes of both halves, threads x each x 16 bytes divide
 * a row. */
struct silu_mul {
    sett_dtype dtype;
    int cols, threads, each;
    int early; /* see begin_early */
};
void silu_mul(sett_build *, const void *user);

/* sum.c: Float32, a multiple of 4 elements. Arguments: X, a part for each block, a counter that is 0, Y. A thread takes
 * `each` x 16 bytes a round. blocks: a multiple of threads. */
struct sum {
    int threads, blocks, each;
    int early; /* see begin_early */
};
void sum(sett_build *, const void *user);

/* saxpy.c: y = a x + y in Float32; saxpy: 256 threads, 1 x 16 bytes each, and no user data. */
struct saxpy {
    int threads, each;
};
void saxpy_of(sett_build *, const void *user);
void saxpy(sett_build *, const void *user);

/* transpose.c: B = A^T in Float32, any size. User data may be NULL; 0: tiles of 64 x 64, 4 rows at once. */
struct transpose {
    int tile, rows;
};
void transpose(sett_build *, const void *user);

/* What follows takes NULL as user data, and each number that is 0 as the example's own. */
/* row_sum.c: `unroll` elements a round of its loop. */
struct row_sum {
    int threads, unroll;
};
void row_sum(sett_build *, const void *user);

/* add_vectorised.c: `each` elements a thread, a multiple of 8. */
struct add_vectorised {
    int threads, each;
};
void add_vectorised(sett_build *, const void *user);

/* w4a16.c: W, S and D; `each` weights a thread, 8, 16 or 32, and `rows` rows a block. */
struct w4a16 {
    int each, rows;
};
void w4a16(sett_build *, const void *user);

/* heads.c: Y of (B,S,H) from X of (B,H,S). */
struct swap_heads {
    int threads;
};
void swap_heads(sett_build *, const void *user);

/* embedding_grad.c: id, dY, dW; user data must be there. */
struct embedding_grad {
    sett_dtype dtype;
    int dim;    /* of a row: a multiple of 16 bytes for each of a warp's threads */
    int tokens; /* of a block; 0: 1 */
};
void embedding_grad(sett_build *, const void *user);

/* halo.c: tiles of rows x cols. */
struct heat {
    int rows, cols, threads;
};
void heat(sett_build *, const void *user);

/* async_pipeline.c */
struct scale_and_sum {
    int threads, stages;
};
void scale_and_sum(sett_build *, const void *user);
#endif
