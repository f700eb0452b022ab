/* SPDX-License-Identifier: Apache-2.0 */
/* Regions (if, for, while) and what a warp does together. */
#ifndef SETT_LIB_CONTROL_H
#define SETT_LIB_CONTROL_H
#include "lib/value/value.h"
#include <sett/async.h>
#include <sett/control.h>
#include <sett/warp.h>

/* ---- control.c ----------------------------------------------------------------------------------- */
sett_val *sett__lane_idx(sett_site, sett_build *, const char *func);
sett_val *sett__thread_number(sett_site, sett_build *, const char *func); /* of the thread in its block: x + nx (y + ny z) */
sett_region sett__poisoned_region(sett_build *), sett__open_region(sett_build *, sett_site, const sett__emit *opener);
/* Returns the value if it is a Boolean scalar (boolean) or an integer scalar; else the build fails. */
const sett_val *sett__need_scalar(const sett__ctx *, const sett_val *, const char *what, bool boolean);
sett_val *sett__warp_reduce(sett_site, const char *func, sett_val *, sett_binary_op, int width);
bool sett__copies_end(const sett_region *); /* loop.c: is the loop unrolled in full, so that it has no region? */
void sett__rest_begin(sett_region *); /* loop.c: opens the loop over the numbers that rounds of copies left, if there are any */

#endif
