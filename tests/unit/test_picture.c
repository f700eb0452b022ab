/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures: every cell is there with the text that the layout says, cells that are one element have one key and one colour
 * in every panel, equal input gives equal bytes, and what has no picture is refused with a reason. */
#define SETT_SHORT
#include "lib/picture/picture.h"
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int count(const char *text, const char *what)
{
    int n = 0;
    for (const char *p = text; (p = strstr(p, what)); p += strlen(what))
        n++;
    return n;
}

/* ---- text ------------------------------------------------------------------------------------------ */
/* Not ck_assert_str_eq: a macro's text that long is too much for it. */
static void shows(const char *got, const char *want)
{
    ck_assert_msg(!strcmp(got, want), "%s", got);
}

START_TEST(text_of_each_rank)
{
    sett_build *b = sett_build_begin();
    shows(sett_layout_text(sett_make_layout(b, 5, 3)), "5:3\n   0   3   6   9  12\n");
    shows(sett_layout_text(sett_row_major(b, 2, 3)), "(2,3):(3,1)\n"
                                                                "    0  1  2\n"
                                                                " 0  0  1  2\n"
                                                                " 1  3  4  5\n");
    shows(sett_layout_text(sett_make_layout(b, T(2, T(2, 2)), T(4, T(1, 2)))),
        "(2,(2,2)):(4,(1,2))\n"
        "    (0,0)  (1,0)    (0,1)  (1,1)\n"
        " 0      0      1 |      2      3\n"
        " 1      4      5 |      6      7\n");
    shows(sett_layout_text(sett_make_layout(b, T(T(1, 2, 2), 1))), "((1,2,2),1):((0,1,2),0)\n"
                                                                   "          0\n"
                                                                   " (0,0,0)  0\n"
                                                                   " (0,1,0)  1\n"
                                                                   "        ---\n"
                                                                   " (0,0,1)  2\n"
                                                                   " (0,1,1)  3\n");
    /* Mode 0 is the rows, the others together the columns. */
    shows(sett_layout_text(sett_make_layout(b, T(1, 2, 2))), "(1,2,2):(0,1,2)\n"
                                                                        "    (0,0)  (1,0)    (0,1)  (1,1)\n"
                                                                        " 0      0      1 |      2      3\n");
    shows(sett_layout_text(sett_make_identity_layout(b, 1, 2)), "(1,2):(1@0,1@1)\n"
                                                                           "        0      1\n"
                                                                           " 0  (0,0)  (0,1)\n");
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
}
END_TEST

START_TEST(text_of_owners)
{
    sett_build *b = sett_build_begin();
    sett_tv tv = sett_make_layout_tv(sett_row_major(b, 1, 2), sett_row_major(b, 2, 1));
    shows(sett_layout_text(tv.tv, .tiler = tv.tiler, .isolate = T(1, ALL)),
        "(2,2):(2,1)\n"
        "        0      1\n"
        " 0      .  T1 V0\n"
        " 1      .  T1 V1\n"
        "T: thread, V: value; colour: thread modulo 8\n");
    /* Both threads have both elements: the first is shown, unless another one is isolated. */
    sett_layout *shared = sett_make_layout(b, T(2, 2), T(0, 1));
    const char *text = sett_layout_text(shared, .tiler = SETT_A(2));
    ck_assert_msg(strstr(text, "T0+ V0  T0+ V1\n") != NULL, "%s", text);
    text = sett_layout_text(shared, .tiler = SETT_A(2), .isolate = T(1, ALL));
    ck_assert_msg(strstr(text, "T1+ V0  T1+ V1\n") != NULL, "%s", text);
    /* Nobody has element 1. */
    text = sett_layout_text(sett_make_layout(b, T(2, 1), T(2, 0)), .tiler = SETT_A(3));
    ck_assert_msg(strstr(text, "T0 V0      .  T1 V0\n") != NULL, "%s", text);
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
}
END_TEST

START_TEST(text_in_color)
{
    sett_build *b = sett_build_begin();
    const char *text = sett_layout_text(sett_make_layout(b, 5, 1), .color = true);
    ck_assert_int_eq(count(text, "\033[48;2;"), 5);
    ck_assert_int_eq(count(text, "\033[0m"), 5);
    ck_assert_ptr_nonnull(strstr(text, "\033[48;2;230;159;0m\033[38;2;0;0;0m"));
    ck_assert_ptr_nonnull(strstr(text, "\033[48;2;0;114;178m\033[38;2;255;255;255m"));
    ck_assert_ptr_null(strstr(sett_layout_text(sett_make_layout(b, 5, 1)), "\033"));
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
}
END_TEST

START_TEST(swizzles_and_differences)
{
    sett_build *b = sett_build_begin();
    shows(sett_layout_text(sett_make_swizzled(1, 0, 1, sett_row_major(b, 2, 2)), .draw = SETT_DRAW_SWIZZLE,
                         .dtype = SETT_F64),
        "before: (2,2):(2,1)\n"
        "       0     1\n"
        " 0  0 b0  1 b2\n"
        " 1  2 b4  3 b6\n"
        "after: S<1,0,1> o 0 o (2,2):(2,1)\n"
        "       0     1\n"
        " 0  0 b0  1 b2\n"
        " 1  3 b6  2 b4\n"
        "b: shared-memory bank of 4 bytes, elements of 64 bits (f64); colour: four banks\n");
    shows(
        sett_layout_text(sett_make_layout(b, T(2, 2)), .draw = SETT_DRAW_DIFF, .a = sett_row_major(b, 2, 2)),
        "A: (2,2):(2,1)\n"
        "    0  1\n"
        " 0  .  1\n"
        " 1  2  .\n"
        "B: (2,2):(1,2)\n"
        "    0  1\n"
        " 0  .  2\n"
        " 1  1  .\n"
        "2 of 4 cells differ\n");
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
}
END_TEST

/* ---- links ----------------------------------------------------------------------------------------- */
enum { CELLS = 8192 };
typedef struct seen {
    int panel, cells;
    struct seen_cell {
        long long key;
        char fill[8];
    } cell[CELLS];
    int n[4];
} seen;

/* Keys and colours of every cell of every panel, from the HTML. */
static void read_cells(const char *html, seen *s)
{
    memset(s, 0, sizeof *s);
    s->panel = -1;
    for (const char *p = html; (p = strpbrk(p, "<")); p++) {
        if (!strncmp(p, "<text x=", 8) && strstr(p, "font-weight") && strstr(p, "font-weight") < strchr(p, '>'))
            s->panel++;
        if (sscanf(p, "<g data-k=\"%lld\"", &s->cell[s->cells].key) != 1)
            continue;
        ck_assert_int_lt(s->cells, CELLS - 1);
        ck_assert(s->panel >= 0 && s->panel < 4);
        ck_assert_int_eq(sscanf(strstr(p, "fill=\""), "fill=\"%7s", s->cell[s->cells].fill), 1);
        s->cells++;
        s->n[s->panel]++;
    }
}

static int by_key(const void *x, const void *y)
{
    const struct seen_cell *a = x, *b = y;
    return (a->key > b->key) - (a->key < b->key);
}

static void one_color_an_element(const char *html, int panels)
{
    static seen s;
    read_cells(html, &s);
    ck_assert_int_eq(s.panel + 1, panels);
    qsort(s.cell, (size_t)s.cells, sizeof s.cell[0], by_key);
    for (int i = 1; i < s.cells; i++)
        ck_assert_msg(s.cell[i].key != s.cell[i - 1].key || !strcmp(s.cell[i].fill, s.cell[i - 1].fill), "element %lld: %s %s",
            s.cell[i].key, s.cell[i - 1].fill, s.cell[i].fill);
}

START_TEST(panels_are_linked)
{
    sett_build *b = sett_build_begin();
    sett_layout *a = sett_row_major(b, 6, 8), *flat = sett_make_layout(b, T(6, 2), T(8, 2));
    sett_layout *with = sett_make_layout(b, T(4, 3), T(3, 1)), *block = sett_row_major(b, 2, 2);
    one_color_an_element(
        sett_layout_html(sett_composition(flat, with), .draw = SETT_DRAW_COMPOSITION, .a = flat, .b = SETT_A(with)), 3);
    one_color_an_element(
        sett_layout_html(sett_zipped_divide(a, T(2, 4)), .draw = SETT_DRAW_DIVIDE, .a = a, .b = T(2, 4)), 3);
    one_color_an_element(
        sett_layout_html(sett_logical_divide(a, T(3, 2)), .draw = SETT_DRAW_DIVIDE, .a = a, .b = T(3, 2)), 3);
    one_color_an_element(sett_layout_html(sett_flat_divide(a, 4), .draw = SETT_DRAW_DIVIDE, .a = a, .b = SETT_A(4)), 3);
    one_color_an_element(sett_layout_html(sett_blocked_product(block, with), .draw = SETT_DRAW_PRODUCT, .a = block,
                             .b = SETT_A(with)), 3);
    one_color_an_element(
        sett_layout_html(sett_raked_product(block, with), .draw = SETT_DRAW_PRODUCT, .a = block, .b = SETT_A(with)), 3);
    one_color_an_element(
        sett_layout_html(sett_logical_product(block, 3), .draw = SETT_DRAW_PRODUCT, .a = block, .b = SETT_A(3)), 3);
    one_color_an_element(sett_layout_html(sett_complement(block, 24), .draw = SETT_DRAW_COMPLEMENT, .a = block), 3);
    one_color_an_element(sett_layout_html(sett_right_inverse(a), .draw = SETT_DRAW_INVERSE, .a = a), 2);
    one_color_an_element(sett_layout_html(sett_slice(a, ALL, 3), .draw = SETT_DRAW_VIEW, .a = a), 2);
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
}
END_TEST

/* R(c) = A(B(c)): the same key at c of B and of R, and at B(c) of A. */
START_TEST(a_composition_links_its_operands)
{
    static seen s;
    sett_build *b = sett_build_begin();
    sett_layout *a = sett_make_layout(b, 24, 2), *with = sett_make_layout(b, 6, 4);
    read_cells(sett_layout_html(sett_composition(a, with), .draw = SETT_DRAW_COMPOSITION, .a = a, .b = SETT_A(with)), &s);
    ck_assert_int_eq(s.n[0], 24);
    ck_assert_int_eq(s.n[1], 6);
    for (int c = 0; c < 6; c++) {
        ck_assert_int_eq(s.cell[24 + c].key, s.cell[30 + c].key);
        ck_assert_int_eq(s.cell[24 + c].key, s.cell[4 * c].key);
    }
    ck_assert_str_eq(s.cell[1].fill, "#ffffff"); /* not reached: it fades */
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
}
END_TEST

START_TEST(tiles_are_blocks_of_one_color)
{
    static seen s;
    sett_build *b = sett_build_begin();
    sett_layout *a = sett_row_major(b, 4, 8);
    read_cells(sett_layout_html(sett_tiled_divide(a, T(2, 4)), .draw = SETT_DRAW_DIVIDE, .a = a, .b = T(2, 4)), &s);
    for (int i = 0; i < 32; i++) { /* row by row in the picture; tiles of 2 x 4 count down first */
        int tile = i / 8 / 2 + i % 8 / 4 * 2;
        char fill[8];
        snprintf(fill, sizeof fill, "#%02x%02x%02x", sett__palette[tile].r, sett__palette[tile].g, sett__palette[tile].b);
        ck_assert_str_eq(s.cell[i].fill, fill);
    }
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
}
END_TEST

/* ---- offsets ------------------------------------------------------------------------------------------ */
static void offsets_agree(sett_build *b, const sett_layout *l)
{
    const sett__ctx c = {b, SETT_HERE, "offsets_agree"};
    int64_t n = sett_static(b, sett_size(l)), *at = sett__new(b, (size_t)n * sizeof *at);
    ck_assert(sett__offsets(&c, l, n, at));
    for (int64_t i = 0; i < n; i++)
        ck_assert_int_eq(at[i], sett_static(b, sett_crd2idx(i, l)));
}

START_TEST(offsets_are_the_layouts_own)
{
    sett_build *b = sett_build_begin();
    sett_layout *plain = sett_make_layout(b, T(4, T(2, 1, 3)), T(-3, T(40, 7, 12)));
    sett_layout *swizzled = sett_make_swizzled(2, 1, 3, sett_row_major(b, 8, 16));
    sett_layout *inner = sett_make_layout(b, T(8, 8), T(8, 1));
    offsets_agree(b, plain);
    offsets_agree(b, swizzled);
    offsets_agree(b, sett_slice(swizzled, ALL, 5)); /* its start is inside the swizzle */
    offsets_agree(b, sett_make_composed_layout(inner, 3, sett_make_layout(b, T(2, 4), T(8, 2))));
    offsets_agree(b, sett_make_composed_layout(swizzled, 1, sett_make_layout(b, T(2, 4), T(8, 2))));
    /* Coordinates that the inner layout takes. */
    offsets_agree(b, sett_make_composed_layout(inner, T(1, 2), sett_make_identity_layout(b, 3, 4)));
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
}
END_TEST

START_TEST(a_boolean_is_a_byte)
{
    sett_build *b = sett_build_begin();
    const char *text = sett_layout_text(sett_make_layout(b, 9), .by = SETT_BY_BANK, .dtype = SETT_BOOL);
    ck_assert_msg(strstr(text, "3 b0  4 b1") && strstr(text, "8 b2"), "%s", text);
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
}
END_TEST

/* ---- SVG and HTML ------------------------------------------------------------------------------------- */
START_TEST(offsets)
{
    sett_build *b = sett_build_begin();
    const char *svg = sett_layout_svg(sett_make_layout(b, T(3, 5), T(5, 1)));
    ck_assert_int_eq(count(svg, "stroke=\"#000000\"/>"), 15);
    for (int i = 0; i < 15; i++) {
        char cell[24];
        snprintf(cell, sizeof cell, ">%d</text></g>", i);
        ck_assert_int_eq(count(svg, cell), 1);
    }
    ck_assert_ptr_nonnull(strstr(svg, "<title>(3,5):(5,1)</title>"));
    ck_assert_int_eq(strcmp(svg + strlen(svg) - 7, "</svg>\n"), 0);
    const char *again = sett_layout_svg(sett_make_layout(b, T(3, 5), T(5, 1)));
    ck_assert_str_eq(svg, again);
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
}
END_TEST

START_TEST(owners)
{
    sett_build *b = sett_build_begin();
    sett_tv tv = sett_make_layout_tv(sett_row_major(b, 2, 4), sett_row_major(b, 2, 2)); /* a tile of 4 x 8 */
    const char *svg = sett_layout_svg(tv.tv, .tiler = tv.tiler);
    for (int t = 0; t < 8; t++) {
        char name[16];
        snprintf(name, sizeof name, ">T%d<", t);
        ck_assert_int_eq(count(svg, name), 4);
    }
    for (int v = 0; v < 4; v++) {
        char name[16];
        snprintf(name, sizeof name, ">V%d<", v);
        ck_assert_int_eq(count(svg, name), 8);
    }
    static const char orange[] = "fill=\"#e69f00\"";
    ck_assert_int_eq(count(svg, orange), 4);
    svg = sett_layout_svg(tv.tv, .tiler = tv.tiler, .by = SETT_BY_VALUE);
    ck_assert_int_eq(count(svg, orange), 8);
    svg = sett_layout_svg(tv.tv, .tiler = tv.tiler, .isolate = T(0, ALL));
    ck_assert_int_eq(count(svg, orange), 4);
    svg = sett_layout_svg(tv.tv, .tiler = tv.tiler, .by = SETT_BY_OFFSET); /* offsets 0, 8, 16, 24 */
    ck_assert_int_eq(count(svg, orange), 4);
    /* A row of eight is two groups of four banks. */
    svg = sett_layout_svg(tv.tv, .tiler = tv.tiler, .tensor = sett_row_major(b, 4, 8), .by = SETT_BY_BANK);
    ck_assert_int_eq(count(svg, orange), 4);
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
}
END_TEST

START_TEST(a_swizzle_is_escaped)
{
    sett_build *b = sett_build_begin();
    const char *svg = sett_layout_svg(sett_make_swizzled(2, 0, 3, sett_row_major(b, 8, 8)));
    ck_assert_ptr_nonnull(strstr(svg, "<title>S&lt;2,0,3&gt; o 0 o (8,8):(8,1)</title>"));
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
}
END_TEST

START_TEST(html_stands_alone)
{
    sett_build *b = sett_build_begin();
    sett_tv tv = sett_make_layout_tv(sett_row_major(b, 2, 4), sett_row_major(b, 2, 2));
    const char *html = sett_layout_html(tv.tv, .tiler = tv.tiler, .tensor = sett_row_major(b, 4, 8));
    ck_assert_ptr_nonnull(strstr(html, "data-t=\"1\" data-i=\"coordinate (1,3)&#10;index 13&#10;offset 11&#10;thread 1&#10;value 3\""));
    ck_assert_int_eq(count(html, "://"), count(html, "xmlns=\"http://www.w3.org/2000/svg\""));
    for (int i = 0; i < 3; i++)
        ck_assert_ptr_null(strstr(html, ((const char *[]){" src=", " href=", "url("})[i]));
    ck_assert_str_eq(html, sett_layout_html(tv.tv, .tiler = tv.tiler, .tensor = sett_row_major(b, 4, 8)));
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
}
END_TEST

/* Relative luminance and contrast of WCAG 2.1: 4.5 is what it asks of text. */
static double luminance(int r, int g, int b)
{
    double c[3] = {r / 255.0, g / 255.0, b / 255.0};
    for (int i = 0; i < 3; i++)
        c[i] = c[i] <= 0.04045 ? c[i] / 12.92 : pow((c[i] + 0.055) / 1.055, 2.4);
    return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2];
}

START_TEST(ink_can_be_read)
{
    for (int i = 0; i < 8; i++) {
        sett__rgb c = sett__palette[i];
        double l = luminance(c.r, c.g, c.b) + 0.05;
        ck_assert_msg((c.dark ? 1.05 / l : l / 0.05) >= 4.5, "color %d", i);
    }
    ck_assert(1.05 / (luminance(0x70, 0x70, 0x70) + 0.05) >= 4.5); /* grey on white */
}
END_TEST

/* Lab of linear RGB under D65 (CIE 1976). */
static void lab_of(const double rgb[3], double lab[3])
{
    static const double to_xyz[3][3] = {
        {0.4124 / 0.95047, 0.3576 / 0.95047, 0.1805 / 0.95047}, {0.2126, 0.7152, 0.0722},
        {0.0193 / 1.08883, 0.1192 / 1.08883, 0.9505 / 1.08883}};
    double f[3];
    for (int i = 0; i < 3; i++) {
        double t = 0;
        for (int k = 0; k < 3; k++)
            t += to_xyz[i][k] * rgb[k];
        f[i] = t > 0.008856 ? cbrt(t) : 7.787 * t + 16.0 / 116;
    }
    lab[0] = 116 * f[1] - 16, lab[1] = 500 * (f[0] - f[1]), lab[2] = 200 * (f[1] - f[2]);
}

static double distance(const double see[3][3], sett__rgb x, sett__rgb y)
{
    const sett__rgb pair[2] = {x, y};
    double lab[2][3], sum = 0;
    for (int p = 0; p < 2; p++) {
        const int c[3] = {pair[p].r, pair[p].g, pair[p].b};
        double rgb[3], cone[3];
        for (int i = 0; i < 3; i++)
            rgb[i] = pow((c[i] / 255.0 + 0.055) / 1.055, 2.4);
        for (int i = 0; i < 3; i++)
            cone[i] = fmin(1, fmax(0, see[i][0] * rgb[0] + see[i][1] * rgb[1] + see[i][2] * rgb[2]));
        lab_of(cone, lab[p]);
    }
    for (int i = 0; i < 3; i++)
        sum += (lab[0][i] - lab[1][i]) * (lab[0][i] - lab[1][i]);
    return sqrt(sum);
}

/* What people without one kind of cone see: the matrices of Machado, Oliveira and Fernandes (2009), severity 1. A
 * difference of 2.3 can be noticed; colours of areas should differ by several times that. */
START_TEST(colors_stay_apart)
{
    static const double see[4][3][3] = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
        {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
        {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
        {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}}};
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 8; i++)
            for (int j = 0; j < i; j++)
                ck_assert_msg(distance(see[k], sett__palette[i], sett__palette[j]) > 12, "vision %d: colors %d and %d", k, i, j);
}
END_TEST

/* ---- random ----------------------------------------------------------------------------------------------- */
static unsigned next(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static sett_layout *random_layout(sett_build *b, unsigned *seed, unsigned kinds)
{
    int n[3];
    for (int i = 0; i < 3; i++)
        n[i] = 1 + (int)(next(seed) % 4);
    switch (next(seed) % kinds) {
    case 0: return sett_make_layout(b, n[0] * n[1], n[2]);
    case 1: return sett_row_major(b, n[0], n[1]);
    case 2: return sett_make_layout(b, T(T(n[0], n[1]), n[2]));
    case 3: return sett_make_layout(b, T(n[0], T(n[1], n[2])), T(n[1] * n[2], T(1, n[1])));
    case 4: return sett_make_swizzled(1, 0, 2, sett_row_major(b, 4, 4));
    default: return sett_make_identity_layout(b, n[0], n[1]);
    }
}

/* The operation of a kind of picture. */
static sett_layout *random_result(unsigned *seed, sett_picture_args *p, const sett_layout *with)
{
    const sett_layout *a = p->a;
    switch (p->draw) {
    case SETT_DRAW_COMPOSITION: return sett_composition(a, with);
    case SETT_DRAW_DIVIDE:
        return next(seed) % 2 ? sett_zipped_divide(a, with) : sett_logical_divide(a, with);
    case SETT_DRAW_PRODUCT:
        return next(seed) % 2 ? sett_logical_product(a, with) : sett_blocked_product(a, with);
    case SETT_DRAW_COMPLEMENT: return sett_complement(a, 48);
    case SETT_DRAW_INVERSE: return next(seed) % 2 ? sett_right_inverse(a) : sett_left_inverse(a);
    case SETT_DRAW_VIEW: return sett_coalesce(a);
    case SETT_DRAW_DIFF: return sett_make_layout_at(SETT_HERE, a->head.b, sett_shape(a), SETT_ALL);
    default: return (sett_layout *)(uintptr_t)a;
    }
}

START_TEST(random_pictures)
{
    const char *given = getenv("SETT_SEED");
    unsigned seed = given ? (unsigned)strtoul(given, NULL, 0) : 1, drawn[9] = {0};
    for (int i = 0; i < 600; i++) {
        unsigned was = seed;
        sett_build *b = sett_build_begin();
        const char *why;
        sett_picture_args p = {.size = sizeof p, .draw = (sett_draw)(next(&seed) % 9), .a = random_layout(b, &seed, 6)};
        const sett_layout *with = random_layout(b, &seed, 5);
        p.b = SETT_A(with);
        p.layout = random_result(&seed, &p, with);
        if (!sett_build_status(b, &why)) { /* the operation itself was allowed */
            const char *html = sett_layout_html_at(SETT_HERE, &p), *svg = sett_layout_svg_at(SETT_HERE, &p),
                       *text = sett_layout_text_at(SETT_HERE, &p);
            bool failed = sett_build_status(b, &why) != SETT_OK;
            char name[128];
            sett_layout_str(p.layout, name, sizeof name);
            ck_assert_msg(failed == !*svg && failed == !*html && failed == !*text, "seed %u: draw %d of %s", was, p.draw, name);
            if (!failed && p.draw != SETT_DRAW_DIFF) { /* whose panels have a colour each */
                static seen s;
                read_cells(html, &s);
                one_color_an_element(html, s.panel + 1);
            }
            drawn[p.draw] += !failed;
        }
        sett_build_end(b, NULL);
    }
    for (int k = 0; k < 9; k++)
        ck_assert_msg(drawn[k] > 5, "draw %d: %u pictures", k, drawn[k]);
}
END_TEST

/* ---- refusals --------------------------------------------------------------------------------------------- */
static sett_layout *tile8(sett_build *b)
{
    return sett_make_layout(b, T(4, 2), T(1, 4));
}

static const char *too_many(sett_build *b)
{
    return sett_layout_svg(sett_make_layout(b, T(1000, 1000)));
}
static const char *leaves_tile(sett_build *b)
{
    return sett_layout_text(tile8(b), .tiler = T(2, 3));
}
static const char *one_mode(sett_build *b)
{
    return sett_layout_html(sett_make_layout(b, 4), .tiler = T(2, 2));
}
static const char *no_swizzle(sett_build *b)
{
    return sett_layout_svg(tile8(b), .draw = SETT_DRAW_SWIZZLE);
}
static const char *no_operand(sett_build *b)
{
    return sett_layout_svg(tile8(b), .draw = SETT_DRAW_COMPOSITION, .a = tile8(b));
}
static const char *other_extents(sett_build *b)
{
    return sett_layout_text(tile8(b), .draw = SETT_DRAW_DIFF, .a = sett_make_layout(b, T(2, 4)));
}
static const char *no_threads(sett_build *b)
{
    return sett_layout_text(tile8(b), .by = SETT_BY_THREAD);
}
static const char *no_tile(sett_build *b)
{
    return sett_layout_text(tile8(b), .tensor = tile8(b));
}
static const char *no_pair(sett_build *b)
{
    return sett_layout_text(tile8(b), .tiler = T(4, 2), .isolate = SETT_A(3));
}
static const char *colors_of_links(sett_build *b)
{
    return sett_layout_text(tile8(b), .draw = SETT_DRAW_VIEW, .a = tile8(b), .by = SETT_BY_BANK);
}
static const char *no_such_thread(sett_build *b)
{
    return sett_layout_text(tile8(b), .tiler = T(4, 2), .isolate = T(4, ALL));
}
static const char *other_tensor(sett_build *b)
{
    return sett_layout_text(tile8(b), .tiler = T(4, 2), .tensor = sett_make_layout(b, T(4, 4)));
}
static const char *no_type(sett_build *b)
{
    return sett_layout_text(tile8(b), .dtype = (sett_dtype)99);
}
static const char *no_kind(sett_build *b)
{
    return sett_layout_text(tile8(b), .draw = (sett_draw)99);
}
static const char *far_offset(sett_build *b)
{
    return sett_layout_text(sett_make_layout(b, T(2, 2), T(INT64_MAX, INT64_MAX)));
}

START_TEST(refusals)
{
    static const struct {
        const char *(*draw)(sett_build *);
        sett_status status;
        const char *text;
    } cases[] = {
        {too_many, SETT_E_LIMIT, "sett_layout_svg: (1000,1000):(1,1000): 1000 x 1000 cells, at most 65536"},
        {leaves_tile, SETT_E_SHAPE, "sett_layout_text: (4,2):(1,4): thread 2, value 1 is element 6 of the tile (2,3), which has 6"},
        {one_mode, SETT_E_RANK, "sett_layout_html: 4:1: a TV layout has two modes, (thread,value)"},
        {no_swizzle, SETT_E_ARGUMENT, "(4,2):(1,4) has no swizzle"},
        {no_operand, SETT_E_ARGUMENT, "this picture needs the operand b"},
        {other_extents, SETT_E_SHAPE, "(2,4):(1,2) and (4,2):(1,4): 2 x 4 cells and 4 x 2 have no difference to show"},
        {no_threads, SETT_E_ARGUMENT, "threads, values and a tensor are those of a TV layout over a tiler, which is not given"},
        {no_tile, SETT_E_ARGUMENT, "a tensor are those of a TV layout over a tiler, which is not given"},
        {no_pair, SETT_E_ARGUMENT, "isolate 3: (thread,value) or `_`"},
        {colors_of_links, SETT_E_ARGUMENT, "say what is the same element; they have no choice of by"},
        {no_such_thread, SETT_E_ARGUMENT, "isolate (4,_): (thread,value) or `_` of 4 threads and 2 values is needed"},
        {other_tensor, SETT_E_SHAPE, "the tensor (4,4):(1,4) has 16 elements, the tile (4,2) has 8"},
        {no_type, SETT_E_DTYPE, "99 is no element type"},
        {no_kind, SETT_E_ARGUMENT, "draw 99 is no kind of picture"},
        {far_offset, SETT_E_RANGE, ""},
    };
    for (size_t i = 0; i < SETT__COUNT(cases); i++) {
        sett_build *b = sett_build_begin();
        sett_error err;
        ck_assert_str_eq(cases[i].draw(b), "");
        ck_assert_int_eq(sett_build_end(b, &err), cases[i].status);
        ck_assert_msg(strstr(err.text, cases[i].text) != NULL, "%s", err.text);
    }
}
END_TEST

static void dynamic_body(sett_build *b, const void *user)
{
    (void)user;
    ck_assert_str_eq(sett_layout_svg(sett_row_major(b, 4, sett_sym(b, "N"))), "");
}

START_TEST(a_dynamic_layout_is_refused)
{
    sett_build *b = sett__build_new(NULL, true);
    const char *why;
    dynamic_body(b, NULL);
    ck_assert_int_eq(sett_build_status(b, &why), SETT_E_STATIC);
    ck_assert_msg(strstr(why, "sett_layout_svg: (4,N):(N,1) is dynamic: there is no picture of it") != NULL, "%s", why);
    sett_build_end(b, NULL);
}
END_TEST

Suite *picture_suite(void);
Suite *picture_suite(void)
{
    Suite *s = suite_create("picture");
    TCase *c = tcase_create("pictures");
    tcase_add_test(c, text_of_each_rank);
    tcase_add_test(c, text_of_owners);
    tcase_add_test(c, text_in_color);
    tcase_add_test(c, swizzles_and_differences);
    tcase_add_test(c, panels_are_linked);
    tcase_add_test(c, a_composition_links_its_operands);
    tcase_add_test(c, tiles_are_blocks_of_one_color);
    tcase_add_test(c, offsets_are_the_layouts_own);
    tcase_add_test(c, a_boolean_is_a_byte);
    tcase_add_test(c, offsets);
    tcase_add_test(c, owners);
    tcase_add_test(c, a_swizzle_is_escaped);
    tcase_add_test(c, html_stands_alone);
    tcase_add_test(c, ink_can_be_read);
    tcase_add_test(c, colors_stay_apart);
    tcase_add_test(c, random_pictures);
    tcase_add_test(c, refusals);
    tcase_add_test(c, a_dynamic_layout_is_refused);
    suite_add_tcase(s, c);
    return s;
}
