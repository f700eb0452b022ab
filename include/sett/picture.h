/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures of static layouts. The same input gives the same bytes; the palette is Okabe and Ito's, which
 * colour-blind readers can tell apart. Texts live in the build. */
#ifndef SETT_PICTURE_H
#define SETT_PICTURE_H
#include <sett/arg.h>

#ifndef __cplusplus

/* SVG: sett_layout_svg(l) draws a layout of rank 1 or 2 as a table of its offsets, coloured by offset modulo 8.
 * sett_layout_svg(tv.tv, .tiler = tv.tiler) draws the tile that a TV layout covers: each cell says thread and value,
 * coloured by thread. SETT_E_STATIC for a dynamic layout, SETT_E_LIMIT past 65536 cells, SETT_E_RANK for other ranks; then
 * the text is "". */
typedef struct sett_svg_args {
    size_t size;
    const sett_layout *layout;
    sett_arg tiler; /* not given: all zero */
} sett_svg_args;
SETT_API const char *sett_layout_svg_at(sett_site, const sett_svg_args *);
#define sett_layout_svg(...) sett_layout_svg_at(SETT_HERE, &(sett_svg_args){.size = sizeof(sett_svg_args), .layout = __VA_ARGS__})

#endif /* __cplusplus */
#endif
