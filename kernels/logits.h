/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels on rows of logits share: how a row is spread over a cluster, what its threads tell each other, the largest. */
#ifndef LOGITS_H
#define LOGITS_H
#include "kernels.h"
#include <sett/kernels/sampling.h>

enum { SETT__LOGITS_MOST = 1 << 20 /* columns */ };

/* A row goes warp by warp: each has a span of it, and takes this by steps of 32 (vec, rest), so that sums of warps are in the order of columns. */
typedef struct sett__logits {
    sett_build *b;
    sett_logits_tuning tune;
    int vec, rest, warps /* of a row */, steps /* of a warp; 1: a thread holds its part in registers */;
    int sums; /* numbers that are told at once, at most */
    sett_val *row, *lane, *warp; /* warp: of the row */
    sett_arg skip, end;          /* where the row begins and ends in `peeled` */
    sett_tensor *peeled, *at;    /* the row, and its coordinates */
    sett_layout *wide;
    sett_tensor *told, *turn;
} sett__logits;

/* A number whose order as an unsigned one is that of the Float32. */
sett_val *sett__logits_ordered(sett_val *);

void sett__logits_settle(sett_logits_tuning *, choice *, sett_dtype, int cols, int reserved);
/* Grid and block, and where a row lies. X is (M,cols). together: so many blocks shall run on a multiprocessor at once, if they are of 512 threads. */
sett__logits sett__logits_begin(sett_build *, const sett_logits_tuning *, sett_tensor *X, sett_val *M, int cols, int sums, int together, int no_pdl);

/* A step's part of a tensor along the row, whose element 0 is column 0 of X: that of one access of a thread, `vec` elements, or of all of them. */
enum { SETT__ALL_OF_A_STEP = -1 };
sett_tensor *sett__logits_along(const sett__logits *, sett_tensor *, sett_arg step, int access);
/* Which columns these are, Int32, and which of them are in the row. */
sett_val *sett__logits_columns(const sett__logits *, sett_arg step, int access, sett_val **in);
/* Logits of a step, in Float32: -infinity to the largest finite number, -infinity beside the row. */
sett_val *sett__logits_load(const sett__logits *, sett_arg step);

/* Numbers of each thread, Uint64, over all of the row: of[i] becomes its warp's, all[i] the row's, and before[i], if that is not NULL, that of the
 * warps before. All threads of the row must be here. op: SETT_ADD, SETT_MAX. */
void sett__logits_meet(const sett__logits *, sett_binary_op op, int n, sett_val **of, sett_val **all, sett_val **before);

/* The largest and its column, the first; a function gives the logits of a step. */
typedef struct sett__largest {
    sett_val *value, *col;
} sett__largest;
sett__largest sett__logits_largest(const sett__logits *, sett_val *(*of)(const void *, sett_arg step), const void *);
#endif
