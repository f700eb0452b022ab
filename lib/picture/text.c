/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures as text: panels below each other, in 24-bit colour where the terminal is said to have it. Without colour what
 * fades is a dot, and lines part the modes of a nested extent. */
#include "picture.h"
#include <string.h>

static void put_right(sett__sink *s, const char *text, int width)
{
    for (int n = width - (int)strlen(text); n > 0; n--)
        sett__put(s, " ");
    sett__put(s, text);
}

static void cell_text(const sett__picture *p, const sett__cell *cell, char out[2 * SETT__CELL_TEXT])
{
    char line[2][SETT__CELL_TEXT];
    int n = sett__cell_lines(p, cell, line);
    out[0] = 0;
    if (cell->color == SETT__DIM && !p->color)
        strcpy(out, ".");
    else if (n)
        snprintf(out, 2 * SETT__CELL_TEXT, n > 1 ? "%s %s" : "%s", line[0], line[1]);
}

static int column_width(const sett__ctx *c, const sett__picture *p, const sett__panel *panel)
{
    char text[2 * SETT__CELL_TEXT];
    int most = sett__place_width(c, panel->col_shape, panel->cols);
    for (int64_t i = 0; i < panel->rows * panel->cols; i++) {
        cell_text(p, &panel->cell[i], text);
        most = (int)strlen(text) > most ? (int)strlen(text) : most;
    }
    return most + 2;
}

static void put_colored(sett__sink *s, const sett__cell *cell, const char *text, int width)
{
    if (cell->color == SETT__DIM) { /* a grey that both a black and a white terminal show */
        sett__put(s, "\033[38;2;118;118;118m");
    } else {
        sett__rgb rgb = sett__palette[cell->color];
        int ink = rgb.dark ? 255 : 0;
        sett__putf(s, "\033[48;2;%d;%d;%dm\033[38;2;%d;%d;%dm", rgb.r, rgb.g, rgb.b, ink, ink, ink);
    }
    put_right(s, text, width - 1);
    sett__put(s, " \033[0m");
}

static void put_rule(sett__sink *s, const sett__panel *panel, int head, int width)
{
    put_right(s, "", head);
    for (int64_t j = 0; j < panel->cols; j++) {
        sett__put(s, j && sett__edge(panel->col_shape, j) ? "-+" : "");
        for (int k = 0; k < width; k++)
            sett__put(s, "-");
    }
    sett__put(s, "\n");
}

static void put_row(sett__sink *s, const sett__picture *p, const sett__panel *panel, int64_t i, int width)
{
    char text[2 * SETT__CELL_TEXT];
    for (int64_t j = 0; j < panel->cols; j++) {
        const sett__cell *cell = &panel->cell[i + j * panel->rows];
        cell_text(p, cell, text);
        sett__put(s, j && sett__edge(panel->col_shape, j) ? " |" : "");
        if (p->color)
            put_colored(s, cell, text, width);
        else
            put_right(s, text, width);
    }
    sett__put(s, "\n");
}

static void put_panel(sett__sink *s, const sett__ctx *c, const sett__picture *p, const sett__panel *panel)
{
    char text[SETT__PLACE_TEXT];
    int width = column_width(c, p, panel), head = panel->rank > 1 ? sett__place_width(c, panel->row_shape, panel->rows) + 1 : 0;
    if (panel->name) {
        sett__put(s, panel->name);
        sett__put(s, ": ");
    }
    sett__put(s, panel->text);
    sett__put(s, "\n");
    if (panel->rank > 1) {
        put_right(s, "", head);
        for (int64_t j = 0; j < panel->cols; j++) {
            sett__place_str(c, panel->col_shape, j, text, sizeof text);
            sett__put(s, j && sett__edge(panel->col_shape, j) ? "  " : "");
            put_right(s, text, p->color ? width - 1 : width);
            sett__put(s, p->color ? " " : "");
        }
        sett__put(s, "\n");
    }
    for (int64_t i = 0; i < panel->rows; i++) {
        if (i && sett__edge(panel->row_shape, i))
            put_rule(s, panel, head, width);
        if (panel->rank > 1) {
            sett__place_str(c, panel->row_shape, i, text, sizeof text);
            put_right(s, text, head);
        }
        put_row(s, p, panel, i, width);
    }
}

static void put_picture(sett__sink *s, const sett__ctx *c, const sett__picture *p)
{
    for (int i = 0; i < p->n; i++)
        put_panel(s, c, p, &p->panel[i]);
    sett__put(s, p->note);
    sett__put(s, p->note[0] ? "\n" : "");
}

const char *sett_layout_text_at(sett_site site, const sett_picture_args *a)
{
    return sett__picture_written(site, "sett_layout_text", a, put_picture);
}
