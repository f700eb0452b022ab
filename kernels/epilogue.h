/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of a product's sums, whichever kernel makes them: the named terms of its options, then the caller's function. */
#ifndef EPILOGUE_H
#define EPILOGUE_H
#include "kernels.h"

/* The sums of one thread that an epilogue is called with. A kernel has a struct of its own that begins with this one. */
struct sett_epilogue_tile {
    sett_build *b;
    /* The part of an (M,N) tensor whose elements the sums are, in their shape. */
    sett_tensor *(*partition)(sett_site, const sett_epilogue_tile *, sett_tensor *whole);
};

/* R + acc SA[row] SB[column], of what there is; a coordinate past the edges has neither, and is not stored. */
typedef struct terms {
    sett_tensor *by_row, *by_column, *residual, *crd; /* (M,N) each */
    sett_arg extent;
    sett_gemm_epilogue then; /* the caller's */
    void *user;
    sett_build *b;
    sett_site site; /* of the caller's line */
} terms;

/* A sett_gemm_epilogue, whose user data are terms. */
sett_val *sett__epilogue(const sett_epilogue_tile *, sett_val *sums, void *terms);
/* (M,N) of a vector (M), or (N). */
sett_tensor *sett__by_row(sett_build *, sett_tensor *, sett_val *M, sett_val *N);
sett_tensor *sett__by_column(sett_build *, sett_tensor *, sett_val *M, sett_val *N);
#endif
