/* SPDX-License-Identifier: Apache-2.0 */
/* What the rewrites of this folder assume, asked of what they made. Builds with a sanitizer (SETT_HOLDS) ask after each rewrite, and end
 * the process, with the place and the op, where the answer is no; other builds have none of it. Each assumption is stated here once:
 *
 * rewrite.c. Roots: an array of the thread's own is followed where every access is at a known place and by the array's own type;
 *   an access of another root may be joined with the next of the same root and index. Widths: any, of 1 to 65535 elements; those
 *   that replace a load have together its elements, and its type. Masks: what has a predicate is neither followed nor joined; what
 *   lies in an arm or a loop is followed within it alone; a test is dropped only for blocks of which range.c has proved that it is
 *   true in every thread.
 * range.c. What it says of a run of blocks contains what is true of each of its blocks and threads alone.
 * flat.c. Roots: memory, by whole values of at most 8 bytes an element, or an array of the thread's own, at known places. Widths: all
 *   accesses, picks and packs of a group begin and end at a multiple of its one width. Masks: any; those of an access are the
 *   engine's to carry out in memory's order.
 * flat.c, the lazy part. Between a load and its last use nothing may write to memory, and no control parts or joins. Masks: any; a load
 *   with lanes missing is copied.
 * strip.c. Roots: parameters. Widths: an access of a warp is one run of bytes. Masks: none at all. Each block's accesses are where
 *   those of the block before end. */
#ifndef SETT_JIT_SIM_FAST_HOLDS_H
#define SETT_JIT_SIM_FAST_HOLDS_H
#include "jit/sim/inside.h"

#ifdef SETT_HOLDS
void sett__holds_rewritten(const sett__tape *from, const sett__rewritten *);
void sett__holds_proof(const sett__program *, const sett__sim_launch *, const sett__range *known, uint64_t from, uint64_t to);
void sett__holds_flat(const sett__tape *, const sett__slot *);
void sett__holds_lazy(const sett__tape *, const sett__slot *);
void sett__holds(bool, const char *what, uint32_t op); /* the process ends if not */
/* Facts of one thread of one block, into known. A counter is as in `all`: this thread's loop may have no round. */
void sett__look_at_thread(const sett__program *, const sett__sim_launch *, const sett__range *all, sett__range *known, uint64_t block, uint32_t thread);
#define SETT__HOLDS(check) (check)
#else
#define SETT__HOLDS(check) ((void)0)
#endif

#endif
