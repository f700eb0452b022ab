/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures: every cell is there with the text that the layout says, equal input gives equal bytes, and what has no picture
 * is refused with a reason. */
#define SETT_SHORT
#include <check.h>
#include <sett/sett.h>
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

START_TEST(offsets)
{
    sett_build *b = sett_build_begin();
    const char *svg = sett_layout_svg(sett_make_layout(b, T(3, 5), T(5, 1)));
    ck_assert_int_eq(count(svg, "<rect x="), 15);
    /* (i,j) is at column j, row i: offset 7 = (1,2) */
    ck_assert_ptr_nonnull(strstr(svg, "<text x=\"146\" y=\"107\">7</text>"));
    ck_assert_ptr_nonnull(strstr(svg, "<title>(3,5):(5,1)</title>"));
    ck_assert_int_eq(strcmp(svg + strlen(svg) - 7, "</svg>\n"), 0);
    ck_assert_str_eq(svg, sett_layout_svg(sett_make_layout(b, T(3, 5), T(5, 1))));
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
}
END_TEST

START_TEST(owners)
{
    sett_build *b = sett_build_begin();
    sett_tv tv = sett_make_layout_tv(sett_row_major(b, 2, 4), sett_row_major(b, 2, 2)); /* a tile of 4 x 8 */
    const char *svg = sett_layout_svg(tv.tv, .tiler = tv.tiler);
    ck_assert_int_eq(count(svg, "<rect x="), 32);
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
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
}
END_TEST

START_TEST(a_swizzle_is_escaped)
{
    sett_build *b = sett_build_begin();
    const char *svg = sett_layout_svg(sett_make_swizzled(2, 0, 3, sett_row_major(b, 8, 8)));
    ck_assert_ptr_nonnull(strstr(svg, "<title>S&lt;2,0,3&gt; o 0 o (8,8):(8,1)</title>"));
    ck_assert_ptr_nonnull(strstr(svg, "<text x=\"58\" y=\"107\">9</text>")); /* (1,0): 8 ^ 1 */
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
}
END_TEST

static void refused(sett_layout *(*make)(sett_build *), sett_status status, const char *text)
{
    sett_build *b = sett_build_begin();
    sett_error err;
    ck_assert_str_eq(sett_layout_svg(make(b)), "");
    ck_assert_int_eq(sett_build_end(b, &err), status);
    ck_assert_msg(strstr(err.text, text), "%s", err.text);
}

static sett_layout *large(sett_build *b)
{
    return sett_make_layout(b, T(1000, 1000));
}
static sett_layout *deep(sett_build *b)
{
    return sett_make_layout(b, T(2, 3, 4));
}
static sett_layout *basis(sett_build *b)
{
    return sett_make_identity_layout(b, 4, 8);
}

START_TEST(refusals)
{
    refused(large, SETT_E_LIMIT, "sett_layout_svg: (1000,1000):(1,1000): 1000 x 1000 cells, at most 65536");
    refused(deep, SETT_E_RANK, "sett_layout_svg: (2,3,4):(1,2,6): a picture takes a layout of rank 1 or 2");
    refused(basis, SETT_E_SHAPE, "sett_layout_svg: (4,8):(1@0,1@1) does not map to offsets");
}
END_TEST

Suite *picture_suite(void);
Suite *picture_suite(void)
{
    Suite *s = suite_create("picture");
    TCase *c = tcase_create("svg");
    tcase_add_test(c, offsets);
    tcase_add_test(c, owners);
    tcase_add_test(c, a_swizzle_is_escaped);
    tcase_add_test(c, refusals);
    suite_add_tcase(s, c);
    return s;
}
