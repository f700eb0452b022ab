/* SPDX-License-Identifier: Apache-2.0 */
/* Values a second time: TensorSSA in plain C, one element after the other, by other means than lib/. Types and bits of
 * single operations come from conform_ref.c, all else (promotion, broadcasting, reduction, slicing) is written out here.
 * What judges random programs, and goldens where the other system is known to be wrong. */
#ifndef SETT_TESTS_PLAIN_H
#define SETT_TESTS_PLAIN_H
#include "lib/print/print.h"

enum { PLAIN_MOST = 128 };
typedef struct plain {
    sett_dtype d;
    bool scalar, weak; /* weak: a C number, of type Int64 or Float64 */
    sett_arg shape;    /* of a value that is no scalar */
    int n;
    uint64_t v[PLAIN_MOST]; /* colexicographic */
} plain;

void plain_reset(void); /* shapes made until now go */
/* "((2,2),3)", "None" and "_" as ALL; moves on behind it. */
sett_arg plain_tuple(const char **);
int plain_size(sett_arg shape);
sett_dtype plain_promote(sett_dtype, sett_dtype);
/* All give false where the operands do not go together, or a result would be too large. */
bool plain_to(const plain *, sett_dtype, plain *r);
bool plain_binary(sett_binary_op, const plain *, const plain *, plain *r);
bool plain_unary(sett_unary_op, const plain *, plain *r);
bool plain_fma(const plain *, const plain *, const plain *, plain *r);
bool plain_where(const plain *cond, const plain *, const plain *, plain *r);
bool plain_broadcast_to(const plain *, sett_arg shape, plain *r);
bool plain_reshape(const plain *, sett_arg shape, plain *r);
/* A number as profile reduces all; in a tuple what is not ALL. */
bool plain_reduce(sett_binary_op, const plain *, uint64_t init, sett_arg profile, plain *r);
bool plain_element(const plain *, sett_arg coord, plain *r);
bool plain_test(bool all, const plain *, plain *r);
#endif
