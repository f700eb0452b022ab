/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures of static layouts: what a layout does to each coordinate.
 *
 *     puts(sett_layout_text(sett_row_major(b, 4, 8)));             for a terminal
 *     sett_layout_svg(tv.tv, .tiler = tv.tiler)                    which thread holds which element of a tile
 *     sett_layout_html(r, .draw = SETT_DRAW_DIVIDE, .a = a, .b = T(2, 4))
 *
 * The same input gives the same bytes. The eight colours are those of Okabe and Ito, which readers with any
 * colour vision tell apart (Color Universal Design, 2008); ink is black or white, whichever is easier to read
 * on a colour. Each text lives in the build, and is "" after an error, which the build keeps. */
#ifndef SETT_PICTURE_H
#define SETT_PICTURE_H
#include <sett/arg.h>

#ifndef __cplusplus

/* What is drawn beside the given layout R. Cells of several panels that are the same element have the same
 * colour, and light up together in HTML. */
typedef enum sett_draw {
    SETT_DRAW_LAYOUT,      /* R alone; given a tiler, the tile that the TV layout R covers */
    SETT_DRAW_SWIZZLE,     /* R without its swizzle, and with it, in banks of shared memory */
    SETT_DRAW_DIFF,        /* a and R, over the same extents; coloured where they differ */
    SETT_DRAW_VIEW,        /* a, and R, which shows some of a's offsets: a slice, or a coalesced or selected a
                            * */
    SETT_DRAW_COMPOSITION, /* a, b and R = a o b */
    SETT_DRAW_DIVIDE,      /* a, the tile b, and R, any of their divides; coloured by tile */
    SETT_DRAW_PRODUCT,     /* the block a, b, and R, any of their products but tile_to_shape; coloured by copy
                            * */
    SETT_DRAW_COMPLEMENT,  /* a, its complement R, and both together */
    SETT_DRAW_INVERSE,     /* a, and its right or left inverse R */
} sett_draw;

/* What a colour means in a picture of one panel: a number modulo 8; of banks, the group of four banks (16
 * bytes). */
typedef enum sett_color_by { SETT_BY_DEFAULT, SETT_BY_OFFSET, SETT_BY_THREAD, SETT_BY_VALUE,
    SETT_BY_BANK } sett_color_by;

/* A layout of rank 1 is drawn as one row. Of rank 3 and more, mode 0 is the rows, and all other modes
 * together are the columns. Thicker borders separate the modes of a nested extent.
 * SETT_E_STATIC: a dynamic layout. SETT_E_LIMIT: more than 65536 cells in one panel. SETT_E_SHAPE: a TV
 * layout leaves its tile, or the two layouts of a diff have different extents. SETT_E_ARGUMENT: an operand is
 * missing. */
typedef struct sett_picture_args {
    size_t size;
    const sett_layout *layout;
    sett_arg tiler;            /* the tile of a TV layout; all zero, as every other operand: not given */
    const sett_layout *tensor; /* with a tiler: the layout of the tile's elements in memory, for offsets and
                                * banks */
    sett_arg isolate;          /* with a tiler: T(3, ALL) shows thread 3 alone, T(ALL, 0) value 0 of each */
    sett_dtype dtype;          /* of an element, for banks of 4 bytes; default SETT_F32 */
    sett_color_by by;          /* default: the thread of a TV layout, the bank of a swizzle, else the offset
                                * */
    sett_draw draw;
    const sett_layout *a; /* operands, as .draw says */
    sett_arg b;
    bool color; /* text: use 24-bit colours, for terminals that have them */
} sett_picture_args;
SETT_API const char *sett_layout_svg_at(sett_site, const sett_picture_args *);
SETT_API const char *sett_layout_text_at(sett_site, const sett_picture_args *);
/* One file that needs no other. Pointing at a cell shows its coordinate, offset, thread and value, and lights
 * the same element in every panel. A click on a cell of a TV layout shows only its thread. */
SETT_API const char *sett_layout_html_at(sett_site, const sett_picture_args *);
#define SETT_PICTURE_ARGS(...) &(sett_picture_args){.size = sizeof(sett_picture_args), .layout = __VA_ARGS__}
#define sett_layout_svg(...) sett_layout_svg_at(SETT_HERE, SETT_PICTURE_ARGS(__VA_ARGS__))
#define sett_layout_text(...) sett_layout_text_at(SETT_HERE, SETT_PICTURE_ARGS(__VA_ARGS__))
#define sett_layout_html(...) sett_layout_html_at(SETT_HERE, SETT_PICTURE_ARGS(__VA_ARGS__))

#endif /* __cplusplus */
#endif
