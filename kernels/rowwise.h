/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels on rows: accesses that are wide wherever a row begins, and what goes out, as it is or quantised. */
#ifndef ROWWISE_H
#define ROWWISE_H
#include "kernels.h"

/* The largest number of a type that results are quantised to. */
double sett__greatest(sett_dtype);
#define SETT__LEAST_BLOCK 1e-12 /* torchao's: a largest below it counts as this, so that zeros stay zeros */

/* ---- rows -------------------------------------------------------------------------------------------- */
/* A row of `cols` elements, or a piece of it, of which each of `threads` threads, whole warps, has `rest` accesses of 16 bytes of `dtype`, neighbours
 * beside each other. Accesses of another type are of as many elements. */
typedef struct row_shape {
    sett_build *b;
    sett_dtype dtype;
    int cols, threads, vec, rest, all; /* all: elements of all threads */
    bool even;                         /* rows begin at multiples of 16 bytes; else a thread has one element more, of an edge */
    sett_arg piece;                    /* of `all` elements each: which one */
    sett_layout *wide;
    sett_val *thread;
} row_shape;
row_shape sett__row_shape(sett_build *, sett_dtype, int cols, int threads, sett_val *thread); /* the whole row */
row_shape sett__row_piece(sett_build *, sett_dtype, int cols, int threads, int rest, sett_arg piece, sett_val *thread);

/* Where a row begins, and what of it the threads have. */
typedef struct row_place {
    sett_arg skip;                            /* elements before its first (sett_peel) */
    sett_val *in;                             /* .even: of elements; NULL: all are */
    sett_val *first, *accesses;               /* else, of that view: its first element of an access inside; how many of these there are */
    sett_val *edge, *on_edge;                 /* this thread's element of an edge, and whether there is one */
} row_place;
/* row: (cols) elements beside each other, of the shape's type or of another, in memory that begins at a multiple of 16 bytes. */
row_place sett__row_place(const row_shape *, sett_tensor *row);
/* This thread's elements of such a row; fill: of those that are not the row's. */
sett_val *sett__row_get(const row_shape *, const row_place *, sett_tensor *row, double fill);
void sett__row_put(const row_shape *, const row_place *, sett_tensor *row, sett_val *);
/* The same with 0 in place of what is not the row's. */
sett_val *sett__row_only(const row_shape *, const row_place *, sett_val *);
/* Its elements of a vector of `cols` elements of the shape's type, wherever between two multiples of 16 bytes that begins: where the row begins elsewhere,
 * what lies between two accesses is taken. */
sett_val *sett__row_beside(const row_shape *, const row_place *, sett_tensor *vector);
/* X of a row, Float32; with R not NULL X + R, as it is stored to H: rounded. */
sett_val *sett__row_load(const row_shape *, const row_place *, sett_tensor *X, sett_tensor *R, sett_tensor *H, sett_val *row);
/* Of a shape that is even: its part of a row. */
sett_tensor *sett__row_part(const row_shape *, sett_tensor *row);
/* A sum or maximum over the row of what a thread has: by a warp or by the block. */
sett_val *sett__over_row(const row_shape *, sett_val *x, sett_binary_op);

/* ---- quantised rows ---------------------------------------------------------------------------------- */
/* The members of options that say so: .quantise, .out, and what it is of. */
typedef struct quantised_options {
    sett_quantised how;
    sett_dtype dtype, out;
    int cols;
} quantised_options;
#define QUANTISED(o_) (quantised_options){(o_)->quantise, (o_)->dtype, (o_)->out, (o_)->cols}
/* Fills in *out; refuses what cannot be. */
void sett__quantised_options(choice *, const quantised_options *, sett_dtype *out);

typedef struct quantised {
    quantised_options of;
    sett_tensor *Y, *QS, *SD; /* NULL: there is none */
} quantised;
/* Declares Y (M,cols) and what stands behind it. */
quantised sett__quantised(const quantised_options *, sett_build *, sett_val *M);
/* Stores a row's elements, Float32; those that are not of the row are 0. All threads of the row do. */
void sett__store_row(const quantised *, const row_shape *, const row_place *, sett_val *row, sett_val *x);
/* Of a kernel whose blocks have pieces of rows, or with SETT_QUANTISED_ROWS whole ones: what is 0 is chosen, what cannot be refused. */
void sett__settle_pieces(choice *, const quantised_options *, int *threads, int *vectors_per_thread);
/* Its grid, and the piece, and row, of this block; behind it stands what the kernel does. */
row_shape sett__begin_pieces(sett_build *, const quantised *, sett_val *M, int threads, int vectors_per_thread, int no_pdl, sett_val **row);
#endif
