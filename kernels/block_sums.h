/* SPDX-License-Identifier: Apache-2.0 */
/* The way out of products whose blocks have few sums: these lie in shared memory, of several parts of K, and a thread takes one element of C
 * after the other. */
#ifndef BLOCK_SUMS_H
#define BLOCK_SUMS_H
#include "epilogue.h"

typedef struct block_sums {
    int threads, columns, rows; /* of a block: its threads, columns and rows of C */
    int halves, parts;          /* 2 of .swiglu; parts of K */
    sett_dtype c;
} block_sums;
/* S: (column, half, row, part). Adds the parts up in order, and stores rows m on and columns n on of C, with what the epilogue makes of them. */
void sett__finish_sums(sett_build *, const block_sums *, sett_tensor *S, sett_tensor *C, sett_val *m, sett_val *n, terms *);
#endif
