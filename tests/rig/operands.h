/* SPDX-License-Identifier: Apache-2.0 */
/* Operands for products of matrices, by seed: the same on every machine and for every engine. */
#ifndef SETT_TESTS_OPERANDS_H
#define SETT_TESTS_OPERANDS_H
#include "tests/rig/faces.h"

typedef enum operands_kind {
    OPERANDS_INTS,      /* small whole numbers: every sum is exact */
    OPERANDS_BITS,      /* any bits, so NaN, Inf and subnormals as often as the type has them */
    OPERANDS_NORMAL,    /* magnitudes near 1 */
    OPERANDS_SUBNORMAL, /* the smallest magnitudes */
    OPERANDS_CANCEL,    /* products cancel in pairs */
    OPERANDS_SPECIAL,   /* zeros of both signs, Inf, NaN, the largest, the smallest; of integers the limits */
    OPERANDS_KINDS
} operands_kind;
typedef struct operands {
    int m, n, k, problems;
    sett_dtype a_type, b_type, c_type;
    uint8_t *a, *b, *c;             /* m x k and m x n row by row, n x k; one problem after another */
    size_t a_bytes, b_bytes, c_bytes; /* of all problems */
} operands;
/* Problem i is of kind i % OPERANDS_KINDS. */
operands operands_make(const sett__mma *, int n, int problems, uint64_t seed);
void operands_free(operands *);
operands_kind operands_kind_of(int problem);
/* C + A B of a problem of kind INTS, or of any of integers, by plain C. */
void operands_product(const operands *, int problem, void *d);

#endif
