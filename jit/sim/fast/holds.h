/* SPDX-License-Identifier: Apache-2.0 */
/* What the rewrites of this folder assume, and functions that check it. Builds with a sanitizer define SETT_HOLDS and call a check after
 * each rewrite; a check that fails prints the op and ends the process. Other builds contain no checks. Root: what an access names, a
 * parameter, shared memory or an array of the thread's own. Width: elements of one access. Mask: the lanes that take part.
 *
 * rewrite.c. Roots: an array of the thread's own is followed only where every access is at a constant place and of the array's type.
 *   Accesses of other roots are joined only if root and index are the same. Widths: any; the values that replace a load have the
 *   load's type and number of elements. Masks: an access with a predicate is neither followed nor joined. What an arm or a loop
 *   stores is not used outside it. A test is dropped only for blocks in which range.c proved it true for every thread.
 * range.c. The interval of a run of blocks contains the value that each thread of each of these blocks computes.
 * flat.c, values in memory's order. Roots: memory, if an access loads or stores a whole value with elements of at most 8 bytes; an array
 *   of the thread's own, if the place is constant. Widths: one for a group of values; each access, pick and pack begins and ends at a
 *   multiple of it. Masks: any; steps/memory.c copies the lanes that take part.
 * flat.c, values that are read where they lie. Between the load and the last use no operation writes to memory, branches or joins.
 *   Masks: any; a load in which lanes are missing is copied.
 * strip.c. Roots: parameters. Widths: an access of a warp is one run of bytes, and that of the next block follows it. Masks: full. */
#ifndef SETT_JIT_SIM_FAST_HOLDS_H
#define SETT_JIT_SIM_FAST_HOLDS_H
#include "fast.h"

#ifdef SETT_HOLDS
void sett__holds_rewritten(const sett__tape *from, const sett__rewritten *);
void sett__holds_proof(const sett__program *, const sett__sim_launch *, const sett__range *known, uint64_t from, uint64_t to);
void sett__holds_flat(const sett__tape *, const sett__slot *);
void sett__holds_lazy(const sett__tape *, const sett__slot *);
void sett__holds(bool, const char *what, uint32_t op); /* the process ends if not */
/* Fills known with the facts of one thread of one block. A loop's counter is copied from `all`, since a loop without rounds has none. */
void sett__look_at_thread(const sett__program *, const sett__sim_launch *, const sett__range *all, sett__range *known, uint64_t block, uint32_t thread);
#define SETT__HOLDS(check) (check)
#else
#define SETT__HOLDS(check) ((void)0)
#endif

#endif
