/* SPDX-License-Identifier: Apache-2.0 */
/* Static layouts as lists of offsets, and what an access by a layout costs: its width, sectors and banks. */
#ifndef SETT_LIB_COST_H
#define SETT_LIB_COST_H
#include "lib/layout/layout.h"
#include <sett/cost.h>

/* ---- offsets.c ---------------------------------------------------------------------------------------------------- */
bool sett__all_static(const sett_layout *); /* its inner layouts and offsets too */
bool sett__gives_coordinates(const sett_layout *); /* is it an identity layout? */
/* The offsets of the first n coordinates of a static layout, colexicographic. False: the build has failed. */
bool sett__offsets(const sett__ctx *, const sett_layout *, int64_t n, int64_t *out);

#endif
