/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of gemm_mma share. */
#ifndef GEMM_MMA_H
#define GEMM_MMA_H
#include "epilogue.h"

/* One matrix (rows,K) of a block, or the half of one that .swiglu has: its k-tiles, and where they go. */
typedef struct source {
    sett_tensor *from, *crd, *to; /* this thread's part: (values,rows,columns,k) of memory and of coordinates, ... stages) of shared memory */
    sett_val *rows;
    sett_tiled_copy *copy;
    int threads; /* that copy; fewer than the block has where the tile is small */
    bool async;  /* by cp.async, else through registers */
} source;

/* How an operand comes from shared memory to registers: (values,atoms,k) of a stage to the same of a fragment. */
typedef struct reader {
    sett_tiled_copy *copy;
    sett_tensor *from, *to, *fragment; /* from: ... stages) */
} reader;

typedef struct mma_tile {
    const sett_gemm_mma_options *o;
    sett_build *b;
    int bk; /* elements */
    sett_val *thread;
    sett_arg m, n; /* which tile */
    sett_val *K;
    sett_tiled_mma *mma;
    sett_thr_mma *mine;
    sett_tensor *acc;
    source in[3]; /* A, B; of .swiglu A, gate, up */
    int n_in;
    reader a, w; /* of the tensor cores */
    sett_tensor *sA, *sB; /* (rows,bk,stages) */
} mma_tile;

bool sett__mma_by_fma(const sett_gemm_mma_options *); /* one multiply-add a thread: f32 without .tf32 */
int sett__mma_columns(const sett_gemm_mma_options *); /* of C, of a tile */
/* Rows, and columns, that the warps compute at once. */
int sett__mma_high(const sett_gemm_mma_options *);
int sett__mma_wide(const sett_gemm_mma_options *);
/* Lanes of a warp along M, of fma: bits 1 to 3 of their numbers, or 1 and 2. */
int sett__mma_lanes_high(const sett_gemm_mma_options *);
/* Where rows of B may lie in shared memory in any order they are dealt out so that a thread has 4 columns of C beside each other, in two
 * atoms: column e + 2 a + 4 q of 16 is row e + 2 q + 8 a. */
bool sett__mma_dealt(const sett_gemm_mma_options *);
#define SETT__MMA_ROWS(b, n) sett_make_layout(b, T(2, 2, 4, (n) / 16), T(1, 8, 2, 16))    /* column -> row */
#define SETT__MMA_COLUMNS(b, n) sett_make_layout(b, T(2, 4, 2, (n) / 16), T(1, 4, 2, 16)) /* row -> column */
/* Rows of shared memory lie further apart, by so many elements, where no ldmatrix reads them. */
int sett__mma_padding(const sett_gemm_mma_options *, int major);

/* Shared memory, the product and its parts, for the tile at (m,n) of A (M,K) and B (N,K), of .swiglu (2N,K). */
void sett__mma_prepare(mma_tile *, sett_tensor *A, sett_tensor *B, sett_val *M, sett_val *N);
/* acc += the products of k-tiles [from, to). */
void sett__mma_loop(mma_tile *, sett_arg from, sett_arg to);
#endif
