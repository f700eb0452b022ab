/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of a tile that several workers compute (sett/scheduler.h, .streamed): how they come together. */
#ifndef STREAM_K_H
#define STREAM_K_H
#include "kernels.h"

/* The workspace of a kernel. It has a slot for each group of threads of each worker: a group stores sums there at most once a launch. */
typedef struct stream_k {
    sett_tensor *sums;  /* Float32, or Int32: of each slot those of all its threads */
    sett_tensor *left;  /* U32, one a slot: 1 while sums wait to be taken. 0 before a launch, and behind it */
    int threads, values; /* of a group; of a thread */
} stream_k;

/* Which of a thread's sums a worker has computed, so many at a time: a multiple of 4. Others are of boxes that lie outside of A or B and were not loaded. */
typedef struct sums_inside {
    int each;
    sett_val *is[32];
} sums_inside;

/* Declares the two parameters, "partial" and "left". */
stream_k sett__stream_k(sett_build *, sett_dtype sums, int threads, int values);
/* The group leaves what is inside of `acc`, registers, in its slot. barrier: the named barrier of the group; thread: in the group. */
void sett__leave_sums(sett_build *, const stream_k *, sett_tensor *acc, const sums_inside *, sett_val *slot, sett_arg barrier, sett_val *thread);
/* The group waits for those of `n` slots, from `first` on and `step` apart, and adds them to `acc` in this order. Those that nobody has left are
 * added too: what comes of them is outside of C, and never stored. */
void sett__take_sums(sett_build *, const stream_k *, sett_tensor *acc, sett_val *first, sett_val *step, sett_val *n, sett_arg barrier, sett_val *thread);
#endif
