/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts as SVG: a table of cells, row by row, each with a colour and one or two lines of text. */
#include "lib.h"
#include <sett/picture.h>
#include <string.h>

enum { CELL = 44, MARGIN = 36, MOST = 65536 };
static const struct {
    const char *fill;
    const char *ink; /* class of the text: white where black would not be read */
} palette[8] = {{"#e69f00", ""}, {"#56b4e9", ""}, {"#009e73", " class=\"w\""}, {"#f0e442", ""}, {"#0072b2", " class=\"w\""},
    {"#d55e00", " class=\"w\""}, {"#cc79a7", ""}, {"#bbbbbb", ""}};

typedef struct cell {
    int32_t thread, value; /* value -1: the cell shows `thread` as an offset; thread -1: nobody has it */
} cell;
typedef struct grid {
    int64_t rows, cols;
    cell *at; /* row-major */
} grid;
typedef struct text {
    char *at;
    size_t used, cap;
} text;

static bool static_size(sett_arg a, int64_t *n)
{
    sett_arg size = sett_size_arg(a);
    *n = size.kind == SETT_INT ? size.u.i : 0;
    return size.kind == SETT_INT;
}

/* The extents of the table: a shape of rank 1 is one row. */
static bool table_size(sett_arg shape, grid *g)
{
    g->rows = 1;
    if (shape.kind != SETT_NODE || shape.rank == 1)
        return static_size(shape, &g->cols);
    return shape.rank == 2 && static_size(shape.u.kid[0], &g->rows) && static_size(shape.u.kid[1], &g->cols);
}

/* Cell (i,j) of a layout is its offset there. */
static bool fill_offsets(const sett__ctx *ctx, const sett_layout *l, grid *g)
{
    for (int64_t i = 0; i < g->rows; i++)
        for (int64_t j = 0; j < g->cols; j++) {
            sett_arg at = sett__layout_at(ctx, l, sett_arg_i(i + j * g->rows));
            if (at.kind != SETT_INT || at.path)
                return false;
            if (at.u.i < 0 || at.u.i > INT32_MAX)
                return false;
            g->at[i * g->cols + j] = (cell){(int32_t)at.u.i, -1};
        }
    return true;
}

/* Element e of the tile (colexicographic) is cell (e % rows, e / rows). */
static bool fill_owners(const sett__ctx *ctx, const sett_layout *tv, grid *g)
{
    int64_t threads, values;
    if (tv->shape.kind != SETT_NODE || tv->shape.rank != 2 || !static_size(tv->shape.u.kid[0], &threads) ||
        !static_size(tv->shape.u.kid[1], &values))
        return false;
    for (int64_t i = 0; i < g->rows * g->cols; i++)
        g->at[i] = (cell){-1, -1};
    for (int64_t v = values; v-- > 0;)
        for (int64_t t = threads; t-- > 0;) { /* backward: the first owner is the one shown */
            sett_arg at = sett__layout_at(ctx, tv, sett_arg_i(t + v * threads));
            if (at.kind != SETT_INT || at.path || at.u.i < 0 || at.u.i >= g->rows * g->cols)
                return false;
            g->at[at.u.i % g->rows * g->cols + at.u.i / g->rows] = (cell){(int32_t)t, (int32_t)v};
        }
    return true;
}

static void add(text *t, const char *format, ...) SETT_PRINTF(2, 3);
static void add(text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->at + t->used, t->cap - t->used, format, args);
    va_end(args);
    t->used += n > 0 && (size_t)n < t->cap - t->used ? (size_t)n : 0;
}

static void draw_cell(text *t, int64_t i, int64_t j, cell c)
{
    int64_t x = MARGIN + j * CELL, y = MARGIN + i * CELL;
    const char *fill = c.thread < 0 ? "#ffffff" : palette[c.thread % 8].fill;
    add(t, "<rect x=\"%lld\" y=\"%lld\" width=\"%d\" height=\"%d\" fill=\"%s\"/>\n", (long long)x, (long long)y, CELL, CELL, fill);
    if (c.thread < 0)
        return;
    const char *ink = palette[c.thread % 8].ink;
    if (c.value < 0) {
        add(t, "<text x=\"%lld\" y=\"%lld\"%s>%d</text>\n", (long long)x + CELL / 2, (long long)y + 27, ink, c.thread);
        return;
    }
    add(t, "<text x=\"%lld\" y=\"%lld\"%s>T%d</text>\n", (long long)x + CELL / 2, (long long)y + 19, ink, c.thread);
    add(t, "<text x=\"%lld\" y=\"%lld\"%s>V%d</text>\n", (long long)x + CELL / 2, (long long)y + 36, ink, c.value);
}

static void draw(text *t, const grid *g, const char *title)
{
    long long w = 2 * MARGIN + g->cols * CELL, h = 2 * MARGIN + g->rows * CELL;
    add(t, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%lld\" height=\"%lld\" viewBox=\"0 0 %lld %lld\">\n", w, h, w, h);
    add(t, "<title>%s</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n", title);
    add(t, "<g stroke=\"#000000\" stroke-width=\"1\" font-family=\"monospace\" font-size=\"14\" text-anchor=\"middle\">\n");
    add(t, "<style>text{stroke:none;fill:#000000}.w{fill:#ffffff}</style>\n");
    for (int64_t i = 0; i < g->rows; i++)
        add(t, "<text x=\"%d\" y=\"%lld\">%lld</text>\n", MARGIN / 2, (long long)(MARGIN + i * CELL + 27), (long long)i);
    for (int64_t j = 0; j < g->cols; j++)
        add(t, "<text x=\"%lld\" y=\"%d\">%lld</text>\n", (long long)(MARGIN + j * CELL + CELL / 2), MARGIN - 10, (long long)j);
    for (int64_t i = 0; i < g->rows; i++)
        for (int64_t j = 0; j < g->cols; j++)
            draw_cell(t, i, j, g->at[i * g->cols + j]);
    add(t, "</g>\n</svg>\n");
}

/* '<' of a swizzle must not open a tag. */
static const char *escaped(sett_build *b, const char *s)
{
    char *out = sett__new(b, 4 * strlen(s) + 1), *p = out;
    for (; *s; s++) {
        const char *with = *s == '<' ? "&lt;" : *s == '>' ? "&gt;" : NULL;
        if (with)
            memcpy(p, with, 4), p += 4;
        else
            *p++ = *s;
    }
    return out;
}

const char *sett_layout_svg_at(sett_site site, const sett_svg_args *a)
{
    static const char func[] = "sett_layout_svg";
    if (!a || !a->layout || !sett__use_layout(NULL, site, func, a->layout))
        return "";
    sett_build *b = a->layout->head.b;
    const sett__ctx ctx = {b, site, func};
    bool owners = a->tiler.kind == SETT_NODE;
    if (owners && !sett__use_arg(b, site, func, a->tiler))
        return "";
    grid g;
    const char *name = sett__layout_text(b, a->layout);
    SETT__FAIL_IF(b, site, func, !sett__is_static(a->layout->shape) || !sett__is_static(a->layout->stride), "", SETT_E_STATIC,
        "%s is dynamic: there is no picture of it", name);
    SETT__FAIL_IF(b, site, func, !table_size(owners ? a->tiler : a->layout->shape, &g), "", SETT_E_RANK,
        "%s: a picture takes a %s of rank 1 or 2", name, owners ? "tiler" : "layout");
    SETT__FAIL_IF(b, site, func, g.rows < 1 || g.cols < 1 || g.rows > MOST / g.cols, "", SETT_E_LIMIT, "%s: %lld x %lld cells, at most %d",
        name, (long long)g.rows, (long long)g.cols, MOST);
    g.at = sett__new(b, (size_t)(g.rows * g.cols) * sizeof *g.at);
    bool ok = owners ? fill_owners(&ctx, a->layout, &g) : fill_offsets(&ctx, a->layout, &g);
    SETT__FAIL_IF(b, site, func, !ok, "", SETT_E_SHAPE, "%s does not map to %s", name, owners ? "the tile" : "offsets from 0 to 2^31-1");
    text t = {.cap = 1024 + strlen(name) * 4 + (size_t)(g.rows * g.cols) * 280 + (size_t)(g.rows + g.cols) * 80};
    t.at = sett__new(b, t.cap);
    draw(&t, &g, escaped(b, name));
    return b->error.status ? "" : t.at;
}
