/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures of static layouts. picture.c computes a picture's cells, once for every format; svg.c, text.c and html.c write them. */
#ifndef SETT_LIB_PICTURE_H
#define SETT_LIB_PICTURE_H
#include "lib/cost/cost.h"
#include <sett/picture.h>

/* ---- picture.c: what svg.c, text.c and html.c write ------------------------------------------------------------- */
enum { SETT__DIM = -1, SETT__CELL_TEXT = 64, SETT__PLACE_TEXT = 128 };
typedef struct sett__cell {
    int64_t offset;        /* -1: name is shown instead */
    int64_t key;           /* cells of equal keys are one element, in every panel */
    const char *name;      /* a coordinate, of an identity layout */
    int32_t thread, value; /* the first owner; -1: it has none */
    int32_t more;          /* number of other owners */
    int8_t bank;           /* -1: not shown */
    int8_t color;          /* 0 to 7, or SETT__DIM */
} sett__cell;
typedef struct sett__panel {
    const char *name, *text; /* "A" or NULL; what it draws, in CuTe's notation */
    sett_arg row_shape, col_shape;
    int rank;                /* modes of its coordinates */
    int64_t rows, cols;
    sett__cell *cell;        /* colexicographic */
} sett__panel;
typedef struct sett__picture {
    sett__panel panel[4]; /* three that are shown, and one for computing */
    int n;
    bool owners, color; /* owners: cells show thread and value */
    const char *note;   /* what the colours mean, or "" */
} sett__picture;
/* False: the build has failed. */
bool sett__picture_make(const sett__ctx *, const sett_picture_args *, sett__picture *);
/* Makes the picture, lets put write it, and copies the text to the build; "" after a failure. */
const char *sett__picture_written(
    sett_site, const char *func, const sett_picture_args *, void (*put)(sett__sink *, const sett__ctx *, const sett__picture *));
/* Returns how many lines, 0 to 2. */
int sett__cell_lines(const sett__picture *, const sett__cell *, char line[2][SETT__CELL_TEXT]);
/* How many modes of a nested extent begin anew before i, up to 3; 0: none. */
int sett__edge(sett_arg shape, int64_t i);
int sett__place_str(const sett__ctx *, sett_arg shape, int64_t i, char *buf, size_t); /* i as a coordinate; snprintf-like */
/* Letters of the longest coordinate of n. */
int sett__place_width(const sett__ctx *, sett_arg shape, int64_t n);

/* ---- svg.c -------------------------------------------------------------------------------------------------- */
typedef struct sett__rgb { uint8_t r, g, b; bool dark; } sett__rgb; /* dark: ink on it is white */
extern const sett__rgb sett__palette[8];
/* hover: with the data that HTML shows. */
void sett__put_svg(sett__sink *, const sett__ctx *, const sett__picture *, bool hover);
void sett__put_xml(sett__sink *, const char *); /* escapes & < > and quotes */

#endif
