/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of layout/ share. */
#ifndef SETT_LIB_LAYOUT_INSIDE_H
#define SETT_LIB_LAYOUT_INSIDE_H
#include "layout.h"

typedef sett_layout *sett__by_mode_fn(const sett__ctx *, const sett_layout *, sett_arg);
sett_layout *sett__by_mode(
    const sett__ctx *, const sett_layout *, const char *what, sett_arg tiler, sett__by_mode_fn *, bool keep); /* keep: the modes past the tiler */
/* One layout a coordinate that the strides point into, in the coordinates' profile; of plain numbers one. NULL: f gave
 * none, or a coordinate is used as a number and as a tuple. */
typedef sett_layout *sett__coordinate_fn(const sett__ctx *, const sett__mode_list *, uint32_t path);
sett_layout *sett__by_coordinate(const sett__ctx *, const sett__mode_list *, sett__coordinate_fn *);

#endif
