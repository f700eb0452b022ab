/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of a product's sums, whichever kernel makes them: the named terms of its options, then the caller's function. */
#ifndef EPILOGUE_H
#define EPILOGUE_H
#include "kernels.h"

/* The sums of one thread that an epilogue is called with. A kernel has a struct of its own that begins with this one. */
struct sett_epilogue_tile {
    sett_build *b;
    sett_val *batch; /* of a product of batches: which of them; else NULL */
    /* The part of an (M,N) tensor whose elements the sums are, in their shape. */
    sett_tensor *(*partition)(sett_site, const sett_epilogue_tile *, sett_tensor *whole);
};

/* ---- parameters ------------------------------------------------------------------------------------ */
/* A product, as its parameters are declared. */
typedef struct product {
    sett_build *b;
    sett_val *M, *N, *L; /* L: how many batches; NULL: one, of two modes */
    sett_dtype c;
    int align_c;          /* bytes that rows of R and C begin at */
    int scaled, residual; /* options */
    bool wide;            /* strides have 64 bits in the kernel, so that operands may span more than 2^31 elements */
} product;

/* A parameter (rows,cols), or (rows,cols,L), of which one mode is contiguous. Rows lie as far apart as the symbol L and its name says,
 * batches as far as that and "2": A is (M,K,L):(LA,1,LA2). */
sett_tensor *sett__operand(const product *, const char *name, sett_dtype, int align, sett_val *rows, sett_val *cols, sett_major);

/* What stands behind A and B, in this order; NULL: the options have none. */
typedef struct outputs {
    sett_tensor *R, *C, *SA, *SB;
} outputs;
outputs sett__outputs(const product *);

/* ---- what becomes of sums -------------------------------------------------------------------------- */
/* R + acc SA[row] SB[column], of what there is; a coordinate past the edges has neither, and is not stored. */
typedef struct terms {
    sett_tensor *by_row, *by_column, *residual, *crd; /* (M,N) each */
    sett_arg extent;
    sett_gemm_epilogue then; /* the caller's */
    void *user;
    sett_build *b;
    sett_site site; /* of the caller's line */
    const char *function;
} terms;
/* Those of the outputs, of batch l; NULL: there is one. Who makes them adds the caller's function. */
terms sett__terms(const product *, const outputs *, sett_val *l);

/* A sett_gemm_epilogue, whose user data are terms. */
sett_val *sett__epilogue(const sett_epilogue_tile *, sett_val *sums, void *terms);
#endif
