/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures as SVG: panels side by side on a white card, which reads on a light and on a dark page. Sizes are whole pixels,
 * so that equal pictures are equal bytes. */
#include "picture.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LETTER = 9, LINE = 18, LEAST = 40, GAP = 28, PAGE = 1200 }; /* LETTER: width of one at 14 pixels, rounded up */

/* Okabe and Ito's colours. White ink has a contrast of 5.2 on the blue one; black has 5.4 at least on the others. */
const sett__rgb sett__palette[8] = {{0xe6, 0x9f, 0x00, false}, {0x56, 0xb4, 0xe9, false}, {0x00, 0x9e, 0x73, false},
    {0xf0, 0xe4, 0x42, false}, {0x00, 0x72, 0xb2, true}, {0xd5, 0x5e, 0x00, false}, {0xcc, 0x79, 0xa7, false},
    {0xbb, 0xbb, 0xbb, false}};

typedef struct frame { /* of one panel */
    int64_t x, y;          /* of its first cell */
    int64_t w, h;          /* of a cell */
    int64_t left, top;     /* room of the headers */
    int64_t width, height; /* all of it */
} frame;

void sett__put_xml(sett__sink *s, const char *text)
{
    static const struct {
        char c;
        const char *name;
    } entity[] = {{'<', "&lt;"}, {'>', "&gt;"}, {'&', "&amp;"}, {'"', "&quot;"}};
    for (; *text; text++) {
        const char *name = NULL;
        for (size_t i = 0; i < SETT__COUNT(entity); i++)
            if (*text == entity[i].c)
                name = entity[i].name;
        if (name)
            sett__put(s, name);
        else
            sett__put_n(s, text, 1);
    }
}

/* ---- sizes ------------------------------------------------------------------------------------------- */
static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void measure_panel(const sett__ctx *c, const sett__picture *p, const sett__panel *panel, frame *f)
{
    int64_t letters = 1, lines = 1;
    for (int64_t i = 0; i < panel->rows * panel->cols; i++) {
        char line[2][SETT__CELL_TEXT];
        int n = sett__cell_lines(p, &panel->cell[i], line);
        lines = larger(lines, n);
        for (int k = 0; k < n; k++)
            letters = larger(letters, (int64_t)strlen(line[k]));
    }
    int64_t head = sett__place_width(c, panel->col_shape, panel->cols);
    f->w = larger(LEAST, larger(letters, head) * LETTER + 8);
    f->h = larger(LEAST - 4, lines * LINE + 8);
    f->left = panel->rank > 1 ? sett__place_width(c, panel->row_shape, panel->rows) * LETTER + 10 : 2;
    f->top = 2 * LINE + 10;
    int64_t caption = (int64_t)(strlen(panel->text) + (panel->name ? strlen(panel->name) + 2 : 0)) * LETTER;
    f->width = larger(f->left + panel->cols * f->w, caption) + 4;
    f->height = f->top + panel->rows * f->h + 4;
}

/* Left to right, and below where the page is full. */
static void place_panels(const sett__ctx *c, const sett__picture *p, frame *f, int64_t *width, int64_t *height)
{
    int64_t x = GAP, y = GAP, row = 0;
    *width = *height = 0;
    for (int i = 0; i < p->n; i++) {
        measure_panel(c, p, &p->panel[i], &f[i]);
        if (i && x + f[i].width + GAP > PAGE) {
            x = GAP, y += row + GAP;
            row = 0;
        }
        f[i].x = x + f[i].left;
        f[i].y = y + f[i].top;
        x += f[i].width + GAP;
        row = larger(row, f[i].height);
        *width = larger(*width, x);
    }
    *height = y + row + GAP;
    if (p->note[0]) {
        *width = larger(*width, (int64_t)strlen(p->note) * LETTER + 2 * GAP);
        *height += LINE;
    }
}

/* ---- what stands in them -------------------------------------------------------------------------------- */
static void put_text(sett__sink *s, int64_t x, int64_t y, const char *how, const char *text)
{
    sett__putf(s, "<text x=\"%" PRId64 "\" y=\"%" PRId64 "\"%s>", x, y, how);
    sett__put_xml(s, text);
    sett__put(s, "</text>");
}

static void put_coordinate(sett__sink *s, const sett__ctx *c, const sett__panel *panel, int64_t i, int64_t j)
{
    char row[SETT__PLACE_TEXT], col[SETT__PLACE_TEXT];
    sett__place_str(c, panel->row_shape, i, row, sizeof row);
    sett__place_str(c, panel->col_shape, j, col, sizeof col);
    sett__put(s, panel->rank > 1 ? "(" : "");
    sett__put(s, panel->rank > 1 ? row : "");
    sett__put(s, panel->rank > 1 ? "," : "");
    sett__put(s, col);
    sett__put(s, panel->rank > 1 ? ")" : "");
}

/* One line a fact, for the box that HTML shows. */
static void put_hover(sett__sink *s, const sett__ctx *c, const sett__panel *panel, int64_t i, int64_t j)
{
    const sett__cell *cell = &panel->cell[i + j * panel->rows];
    sett__putf(s, " data-k=\"%" PRId64 "\"", cell->key);
    if (cell->thread >= 0)
        sett__putf(s, " data-t=\"%d\"", cell->thread);
    sett__put(s, " data-i=\"coordinate ");
    put_coordinate(s, c, panel, i, j);
    if (panel->rank > 1)
        sett__putf(s, "&#10;index %" PRId64, i + j * panel->rows);
    if (cell->name) {
        sett__put(s, "&#10;gives ");
        sett__put_xml(s, cell->name);
    } else {
        sett__putf(s, "&#10;offset %" PRId64, cell->offset);
    }
    if (cell->thread >= 0)
        sett__putf(s, "&#10;thread %d&#10;value %d", cell->thread, cell->value);
    if (cell->more)
        sett__putf(s, "&#10;and %d more", cell->more);
    if (cell->bank >= 0)
        sett__putf(s, "&#10;bank %d", cell->bank);
    sett__put(s, "\"");
}

static void put_cell(sett__sink *s, const sett__picture *p, const sett__cell *cell, int64_t x, int64_t y, const frame *f)
{
    char line[2][SETT__CELL_TEXT];
    int n = sett__cell_lines(p, cell, line);
    sett__rgb rgb = cell->color < 0 ? (sett__rgb){255, 255, 255, false} : sett__palette[cell->color];
    const char *ink = cell->color < 0 ? " fill=\"#707070\"" : rgb.dark ? " fill=\"#ffffff\"" : "";
    sett__putf(s, "<rect x=\"%" PRId64 "\" y=\"%" PRId64 "\" width=\"%" PRId64 "\" height=\"%" PRId64, x, y, f->w, f->h);
    sett__putf(s, "\" fill=\"#%02x%02x%02x\" stroke=\"#000000\"/>", rgb.r, rgb.g, rgb.b);
    for (int k = 0; k < n; k++)
        put_text(s, x + f->w / 2, y + f->h / 2 + 5 + (2 * k - n + 1) * LINE / 2, ink, line[k]);
}

static void put_headers(sett__sink *s, const sett__ctx *c, const sett__panel *panel, const frame *f)
{
    char text[SETT__PLACE_TEXT];
    int64_t x = f->x - f->left;
    sett__putf(s, "<text x=\"%" PRId64 "\" y=\"%" PRId64 "\" text-anchor=\"start\" font-weight=\"bold\">", x + 2,
        f->y - f->top + 14);
    if (panel->name) {
        sett__put_xml(s, panel->name);
        sett__put(s, ": ");
    }
    sett__put_xml(s, panel->text);
    sett__put(s, "</text>\n");
    for (int64_t j = 0; j < panel->cols; j++) {
        sett__place_str(c, panel->col_shape, j, text, sizeof text);
        put_text(s, f->x + j * f->w + f->w / 2, f->y - 7, " fill=\"#505050\"", text);
    }
    for (int64_t i = 0; panel->rank > 1 && i < panel->rows; i++) {
        sett__place_str(c, panel->row_shape, i, text, sizeof text);
        put_text(s, f->x - 6, f->y + i * f->h + f->h / 2 + 5, " fill=\"#505050\" text-anchor=\"end\"", text);
    }
    sett__put(s, "\n");
}

/* Borders of nested modes, and the frame. */
static void put_borders(sett__sink *s, const sett__panel *panel, const frame *f)
{
    for (int64_t i = 1; i < panel->rows; i++) {
        int level = sett__edge(panel->row_shape, i);
        if (level)
            sett__putf(s, "<path stroke-width=\"%d\" d=\"M%" PRId64 " %" PRId64 "h%" PRId64 "\"/>\n", 1 + 2 * level, f->x,
                f->y + i * f->h, panel->cols * f->w);
    }
    for (int64_t j = 1; j < panel->cols; j++) {
        int level = sett__edge(panel->col_shape, j);
        if (level)
            sett__putf(s, "<path stroke-width=\"%d\" d=\"M%" PRId64 " %" PRId64 "v%" PRId64 "\"/>\n", 1 + 2 * level,
                f->x + j * f->w, f->y, panel->rows * f->h);
    }
    sett__putf(s, "<rect x=\"%" PRId64 "\" y=\"%" PRId64 "\" width=\"%" PRId64 "\" height=\"%" PRId64 "\"", f->x, f->y,
        panel->cols * f->w, panel->rows * f->h);
    sett__put(s, " fill=\"none\" stroke-width=\"2\"/>\n");
}

static void put_panel(
    sett__sink *s, const sett__ctx *c, const sett__picture *p, const sett__panel *panel, const frame *f, bool hover)
{
    sett__put(s, "<g fill=\"#000000\" text-anchor=\"middle\">\n");
    put_headers(s, c, panel, f);
    sett__put(s, "</g>\n<g text-anchor=\"middle\" fill=\"#000000\">\n");
    for (int64_t i = 0; i < panel->rows; i++)
        for (int64_t j = 0; j < panel->cols; j++) {
            sett__put(s, "<g");
            if (hover)
                put_hover(s, c, panel, i, j);
            sett__put(s, ">");
            put_cell(s, p, &panel->cell[i + j * panel->rows], f->x + j * f->w, f->y + i * f->h, f);
            sett__put(s, "</g>\n");
        }
    sett__put(s, "</g>\n<g stroke=\"#000000\">\n");
    put_borders(s, panel, f);
    sett__put(s, "</g>\n");
}

void sett__put_svg(sett__sink *s, const sett__ctx *c, const sett__picture *p, bool hover)
{
    frame f[SETT__COUNT(p->panel)];
    int64_t w, h;
    place_panels(c, p, f, &w, &h);
    sett__putf(s, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%" PRId64 "\" height=\"%" PRId64 "\"", w, h);
    sett__putf(s, " viewBox=\"0 0 %" PRId64 " %" PRId64 "\">\n<title>", w, h);
    sett__put_xml(s, p->panel[p->n - 1].text);
    sett__put(s, "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n");
    sett__put(s, "<g font-family=\"DejaVu Sans Mono,Menlo,Consolas,monospace\" font-size=\"14\">\n");
    for (int i = 0; i < p->n; i++)
        put_panel(s, c, p, &p->panel[i], &f[i], hover);
    if (p->note[0])
        put_text(s, GAP, h - GAP + 8, " fill=\"#505050\"", p->note);
    sett__put(s, "</g>\n</svg>\n");
}

static void put_picture(sett__sink *s, const sett__ctx *c, const sett__picture *p)
{
    sett__put_svg(s, c, p, false);
}

const char *sett_layout_svg_at(sett_site site, const sett_picture_args *a)
{
    return sett__picture_written(site, "sett_layout_svg", a, put_picture);
}
