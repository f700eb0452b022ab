/* SPDX-License-Identifier: Apache-2.0 */
/* Layout algebra: fixed vectors, texts, messages. Its laws are the properties suite's; what other systems give is
 * compared by the golden runner. */
#include "lib/print/print.h"
#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static uint64_t random_state = 20260821;

static int pick(int n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (int)(random_state >> 33) % n;
}

static const char *text_of(const sett_layout *l)
{
    static char text[4][512];
    static int at_text;
    at_text = (at_text + 1) % 4;
    sett_layout_str(l, text[at_text], sizeof text[0]);
    return text[at_text];
}

static sett_build *begin(void)
{
    sett_build *b = sett__build_new(NULL, true);
    ck_assert_ptr_nonnull(b);
    return b;
}

static void end(sett_build *b)
{
    const char *text;
    ck_assert_msg(!sett_build_status(b, &text), "%s", text);
    sett_build_end(b, NULL);
}

/* ---- laws of what the random layouts do not hold ---------------------------------------------- */

/* R(c) = A(B(c)) of a right operand that is composed or swizzled. */
START_TEST(composes_with_composed)
{
    static const char *const text[][2] = {
        {"(4,8):(16,1)", "S<1,0,2>o0o(4,8):(1,4)"}, {"32:1", "S<2,1,2>o0o(8,4):(4,1)"}, {"32:1", "S<2,1,2>o8o(4,4):(4,1)"},
        {"(4,8):(16,1)", "S<1,0,2>o9o(2,4):(1,4)"}, {"(8,8):(8,1)", "S<2,1,-3>o0o(8,8):(8,1)"},
        {"64:3", "(4,8):(8,1)o0o(2,3):(1,5)"}, {"(8,8):(8,1)", "(4,8):(8,1)o2o(2,3):(1,5)"},
        {"S<2,3,3>o0o(8,8):(8,1)", "(8,8):(8,1)o0o(4,2):(2,16)"}, {"(6,2):(8,2)", "(4,3):(3,1)o4o(2,4):(4,1)"},
        {"20:2", "(5,4):(4,1)o(1,2)o(2,2):(1@0,1@1)"}, {"(64,2):(1,128)", "S<1,2,3>o32o(8,8):(1,8)"}};
    sett_build *b = sett_build_begin();
    for (size_t i = 0; i < SETT__COUNT(text); i++) {
        const char *why;
        sett_layout *x = sett_layout_parse(b, text[i][0]), *y = sett_layout_parse(b, text[i][1]), *r = sett_composition(x, y);
        ck_assert_msg(!sett_build_status(b, &why), "%s", why);
        int64_t n = sett_size(y).u.i;
        ck_assert(sett_size(r).u.i == n);
        for (int64_t k = 0; k < n; k++) {
            sett_arg want = sett_crd2idx(sett_crd2idx(k, y), x), got = sett_crd2idx(k, r);
            ck_assert_msg(want.kind == SETT_INT && got.u.i == want.u.i, "%s o %s = %s at %d: %d, not %d", text[i][0], text[i][1],
                text_of(r), (int)k, (int)got.u.i, (int)want.u.i);
        }
    }
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
}
END_TEST

/* Swizzles keep their bits neighbours on the other side, or there is no inverse; of an image with holes a part is inverted. */
START_TEST(inverts_swizzles)
{
    static const char *const text[] = {"S<3,4,3>o0o(8,16):(16,1)", "S<1,0,2>o0o(4,4):(4,1)", "S<1,0,1>o0o(4,4):(8,1)",
        "S<3,3,3>o0o(8,64):(64,1)", "S<1,4,3>o0o(8,32):(32,1)", "S<2,0,-2>o0o(4,4):(1,4)"};
    sett_build *b = sett_build_begin();
    for (size_t i = 0; i < SETT__COUNT(text); i++) {
        sett_layout *l = sett_layout_parse(b, text[i]), *r = sett_right_inverse(l);
        sett_arg n = sett_size(r);
        ck_assert_msg(n.kind == SETT_INT && n.u.i > 1, "%s", text[i]);
        for (int64_t k = 0; k < n.u.i; k++) {
            sett_arg back = sett_crd2idx(sett_crd2idx(k, r), l);
            ck_assert_msg(back.kind == SETT_INT && back.u.i == k, "%s at %d", text[i], (int)k);
        }
    }
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
}
END_TEST

/* A thread layout and a value layout cover the tile once. */
START_TEST(partitions)
{
    static const struct { const char *thr, *val, *tiler, *tv; } cases[] = {
        {"(2,3):(3,1)", "(2,2):(2,1)", "(4,6)", "((3,2),(2,2)):((8,2),(4,1))"},
        {"(4,32):(32,1)", "(4,8):(8,1)", "(16,256)", "((32,4),(8,4)):((128,4),(16,1))"},
        {"32:1", "4:1", "(128)", "(32,4):(4,1)"},
    };
    for (size_t i = 0; i < SETT__COUNT(cases); i++) {
        sett_build *b = begin();
        char tiler[64];
        sett_tv tv = sett_make_layout_tv(sett_layout_parse(b, cases[i].thr), sett_layout_parse(b, cases[i].val));
        sett_arg_str(tv.tiler, tiler, sizeof tiler);
        ck_assert_str_eq(tiler, cases[i].tiler);
        ck_assert_str_eq(text_of(tv.tv), cases[i].tv);
        end(b);
    }
}
END_TEST

static void same(sett_build *b, sett_layout *l, const char *expected)
{
    const char *text;
    ck_assert_msg(!sett_build_status(b, &text), "%s: %s", expected, text);
    ck_assert_str_eq(text_of(l), expected);
}

START_TEST(divisibility_is_printed)
{
    sett_build *b = begin();
    sett_val *n = sett_sym(b, "n"), *m = sett_sym(b, "m", .div = 8), *w = sett_sym(b, "w", .div = 8, .wide = true);
    uint32_t ops = b->n_op;
    sett_layout *a = sett_make_layout(b, SETT_T(6, 2), SETT_T(n, 2));
    sett_layout *c = sett_composition(a, sett_layout_parse(b, "(4,3):(3,1)"));
    same(b, c, "((2,2),3):((?{div=3},2),?)");
    ck_assert_uint_eq(b->n_op, ops + 2); /* 3, and n times it */
    same(b, sett_make_layout(b, SETT_T(m, 4, 2)), "(?{div=8},4,2):(1,?{div=8},?{div=32})");
    same(b, sett_make_layout(b, SETT_T(w, 4)), "(?{i64 div=8},4):(1,?{i64 div=8})");
    same(b, sett_coalesce(sett_make_layout(b, SETT_T(4, 5, n), SETT_T(1, 4, n))), "(20,?):(1,?)");
    same(b, sett_coalesce(sett_make_layout(b, SETT_T(4, n))), "(4,?):(1,4)");
    ops = b->n_op;
    sett_layout *z = sett_zipped_divide(sett_make_layout(b, SETT_T(m, 16), SETT_T(16, 1)), SETT_T(4, 8));
    same(b, z, "((4,8),(?{div=2},2)):((16,1),(64,8))");
    ck_assert_uint_eq(b->n_op, ops + 2); /* 4, and m over it */
    ops = b->n_op;
    sett_zipped_divide(sett_row_major(b, 64, 64), SETT_T(4, 8));
    ck_assert_uint_eq(b->n_op, ops); /* static leaves record nothing */
    sett_val *even = sett_sym(b, "even", .div = 2); /* one extent of (8,4,16,2):(2,16,64,1), then others, as a symbol */
    same(b, sett_make_ordered_layout(b, SETT_T(even, 4, 16, 2), SETT_T(1, 2, 3, 0)), "(?{div=2},4,16,2):(2,?{div=4},?{div=16},1)");
    same(b, sett_make_ordered_layout(b, SETT_T(8, even, 16, 2), SETT_T(1, 2, 3, 0)), "(8,?{div=2},16,2):(2,16,?{div=32},1)");
    same(b, sett_make_ordered_layout(b, SETT_T(8, even, 16, sett_sym(b, "e2", .div = 2)), SETT_T(1, 2, 3, 0)),
        "(8,?{div=2},16,?{div=2}):(?{div=2},?{div=16},?{div=32},1)");
    same(b, sett_make_ordered_layout(b, SETT_T(4, SETT_T(even, 2)), SETT_T(1, SETT_T(0, 2))),
        "(4,(?{div=2},2)):(?{div=2},(1,?{div=8}))");
    same(b, sett_make_ordered_layout(b, SETT_T(2, 3, 4), SETT_T(n, 0, -1)), "(2,3,4):(12,4,1)");
    sett_arg tiles = sett_ceil_div(b, SETT_T(16, m), sett_layout_parse(b, "(4,8):(1,8)"));
    ck_assert_str_eq(sett_text(b, tiles), "(2,?{div=2})");
    ck_assert_str_eq(sett_text(b, sett_ceil_div(sett_layout_parse(b, "(16,16):(16,1)"), sett_layout_parse(b, "(4,8):(1,8)"))), "(2,4)");
    same(b, sett_make_ordered_layout(b, SETT_T(1, 4, n, 32, 1), SETT_T(3, 0, 2, 4, 1)), "(1,4,?,32,1):(0,1,4,?{div=4},0)");
    end(b);
}
END_TEST

/* What comes out static records nothing, whatever else of the operands is dynamic. */
START_TEST(static_results_record_nothing)
{
    sett_build *b = begin();
    sett_val *n = sett_sym(b, "n"), *s = sett_sym(b, "s");
    sett_layout *l = sett_make_layout(b, SETT_T(4, 8, n), SETT_T(1, 4, 32)), *m = sett_make_layout(b, SETT_T(SETT_T(2, 4), n), SETT_T(SETT_T(1, 2), s));
    sett_layout *tile = sett_layout_parse(b, "(4,4):(1,4)"), *sw = sett_make_swizzled(2, 3, 3, l);
    uint32_t ops = b->n_op;
    same(b, sett_composition(l, tile), "(4,4):(1,4)");
    same(b, sett_composition(l, sett_layout_parse(b, "(2,2):(8,2)")), "(2,2):(8,2)");
    same(b, sett_composition(m, SETT_T1(4)), "(4):(1)");
    same(b, sett_composition(sw, tile), "S<2,3,3> o 0 o (4,4):(1,4)");
    same(b, sett_logical_divide(m, SETT_T(4, SETT_ALL)), "((4,2),?):((1,4),?)");
    same(b, sett_slice(m, SETT_ALL, 3), "((2,4)):((1,2))");
    same(b, sett_slice_and_offset(m, SETT_ALL, 0).layout, "((2,4)):((1,2))");
    same(b, sett_select(l, 1, 0), "(8,4):(4,1)");
    same(b, sett_get(m, 0), "(2,4):(1,2)");
    same(b, sett_group_modes(l, 0, 2), "((4,8),?):((1,4),32)");
    same(b, sett_coalesce(l), "(32,?):(1,32)");
    same(b, sett_flatten(m), "(2,4,?):(1,2,?)");
    same(b, sett_append_ones(m, 3), "((2,4),?,1):((1,2),?,0)");
    same(b, sett_right_inverse(sett_make_layout(b, SETT_T(4, 8), SETT_T(1, s))), "4:1");
    same(b, sett_logical_product(tile, 2), "((4,4),2):((1,4),16)");
    same(b, sett_make_layout_like(sett_make_layout(b, SETT_T(4, 8), SETT_T(s, 1))), "(4,8):(8,1)");
    same(b, sett_recast_layout(32, 16, tile), "(2,4):(1,2)");
    ck_assert_uint_eq(b->n_op, ops);
    ck_assert_uint_eq(b->sig.n_check, 0);
    end(b);
}
END_TEST

/* Run-time numbers are read back in a build that is no kernel's. */
START_TEST(dynamic_text)
{
    static const char *const texts[] = {"?", "(?,?{div=8}):(?{i64},?{i64 div=16})", "((?{div=3},2),?)", "S<2,3,3> o ? o (8,?):(8,1)",
        "[?:1;4]", "?{i64}@1"};
    static const char *const broken[] = {"?{div=0}", "?{div=}", "?{i32}", "?{div=8", "?{i64 div=-4}", "?{div=99999999999999999999}"};
    for (size_t i = 0; i < SETT__COUNT(texts); i++) {
        sett_build *b = sett_build_begin();
        char out[128];
        sett_arg_str(sett_arg_parse(b, texts[i]), out, sizeof out);
        ck_assert_str_eq(out, texts[i]);
        ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
        b = sett_build_begin();
        const char *why;
        sett_arg_parse(b, broken[i]);
        ck_assert_int_eq(sett_build_status(b, &why), SETT_E_PARSE);
        ck_assert_msg(strstr(why, "column 1: a run-time number is written ?, ?{div=8}") && strchr(why, '^'), "%s: %s", broken[i], why);
        sett_build_end(b, NULL);
    }
    sett_build *b = sett_build_begin();
    same(b, sett_composition(sett_layout_parse(b, "(6,2):(?,2)"), sett_layout_parse(b, "(4,3):(3,1)")), "((2,2),3):((?{div=3},2),?)");
    same(b, sett_layout_parse(b, "S<2,3,3>"), "S<2,3,3> o 0 o 256:1");
    same(b, sett_layout_parse(b, "S<3,3,3> o (8,8):(8,1)"), "S<3,3,3> o 0 o (8,8):(8,1)");
    same(b, sett_layout_parse(b, "Swizzle<3,3,3> o 64:1"), "S<3,3,3> o 0 o 64:1");
    same(b, sett_layout_parse(b, "Sw<3,3,3> o _0 o (_8,(_2,4)):(_8,(_1,_2))"), "S<3,3,3> o 0 o (8,(2,4)):(8,(1,2))");
    same(b, sett_logical_product(sett_layout_parse(b, "2:2"), sett_layout_parse(b, "(2,2):(1@0,1@1)")), "(2,(2,2)):(2,(1,4))");
    same(b, sett_composition(sett_layout_parse(b, "S<2,3,3>"), sett_layout_parse(b, "(8,8):(8,1)")), "S<2,3,3> o 0 o (8,8):(8,1)");
    sett_layout_parse(b, "S<30,30,30>");
    ck_assert_int_eq(sett_build_status(b, NULL), SETT_E_RANGE);
    sett_build_end(b, NULL);
}
END_TEST

/* ---- vectors and texts ----------------------------------------------------------------------- */

START_TEST(vectors)
{
    sett_build *b = begin();
#define L(text) sett_layout_parse(b, text)
#define SAME(l, text) same(b, l, text)
    SAME(sett_make_layout(b, SETT_T(4, 8)), "(4,8):(1,4)");
    SAME(sett_make_ordered_layout(b, SETT_T(32, 16, 8), SETT_T(2, 0, 1)), "(32,16,8):(128,1,16)");
    SAME(sett_make_ordered_layout(b, SETT_T(4, SETT_T(8, 2)), SETT_T(1, SETT_T(0, 2))), "(4,(8,2)):(8,(1,32))");
    SAME(sett_make_ordered_layout(b, SETT_T(2, 3, 4), SETT_T(0, 0, 1)), "(2,3,4):(1,1,6)");
    SAME(sett_row_major(b, 4, 8), "(4,8):(8,1)");
    SAME(sett_make_identity_layout(b, 2, SETT_T(3, 4)), "(2,(3,4)):(1@0,(1@0@1,1@1@1))");
    SAME(sett_composition(L("(6,2):(8,2)"), SETT_A(L("(4,3):(3,1)"))), "((2,2),3):((24,2),8)");
    SAME(sett_composition(L("20:2"), SETT_A(L("(5,4):(4,1)"))), "(5,4):(8,2)");
    SAME(sett_composition(L("(10,2):(16,4)"), SETT_A(L("(5,4):(1,5)"))), "(5,(2,2)):(16,(80,4))");
    SAME(sett_complement(L("4:2"), 24), "(2,3):(1,8)");
    SAME(sett_logical_divide(L("(4,2,3):(2,1,8)"), SETT_A(L("4:2"))), "((2,2),(2,3)):((4,1),(2,8))");
    SAME(sett_zipped_divide(L("(9,(4,8)):(59,(13,1))"), sett_arg_parse(b, "[3:3;(2,4):(1,8)]")),
        "((3,(2,4)),(3,(2,2))):((177,(13,2)),(59,(26,1)))");
    SAME(sett_logical_product(L("(2,2):(4,1)"), SETT_A(L("6:1"))), "((2,2),(2,3)):((4,1),(2,8))");
    SAME(sett_blocked_product(L("(3,4):(4,1)"), L("(2,5):(1,2)")), "((3,2),(4,5)):((4,12),(1,24))");
    SAME(sett_raked_product(L("(3,4):(4,1)"), L("(2,5):(1,2)")), "((2,3),(5,4)):((12,4),(24,1))");
    SAME(sett_recast_layout(32, 8, L("(32,4):(1,32)")), "(8,4):(1,8)");
    SAME(sett_recast_layout(4, 6, L("(8,4):(1,8)")), "(12,4):(1,12)");
    SAME(sett_recast_layout(16, 8, L("(2,2):(1,-9223372036854775808)")), "(1,2):(1,-4611686018427387904)");
    SAME(sett_coalesce_by(L("(2,(1,6)):(1,(6,2))"), SETT_T(1, 1)), "(2,6):(1,2)");
    SAME(sett_right_inverse(L("(4,8):(8,1)")), "(8,4):(4,1)");
    SAME(sett_select(L("(2,3,5):(1,2,6)"), 2, 0), "(5,2):(6,1)");
    SAME(sett_dice(L("(2,3,5):(1,2,6)"), SETT_ALL, 1, SETT_ALL), "(3):(2)");
    SAME(sett_get(L("(2,(3,5)):(1,(2,6))"), 1), "(3,5):(2,6)");
    SAME(sett_tile_to_shape(sett_make_swizzled(3, 3, 3, L("(8,16):(16,1)")), SETT_T(64, 32), SETT_ALL),
        "S<3,3,3> o 0 o ((8,8),(16,2)):((16,128),(1,1024))");
#undef SAME
#undef L
    end(b);
}
END_TEST

START_TEST(parse_prints)
{
    static const char *const texts[] = {"(4,8):(1,4)", "4:1", "(4):(1)", "((1@0@1,2),_,3)", "()", "-5", "1@0@1", "(8,(2,2)):(-1,(8,0))",
        "S<3,4,3> o 0 o (8,64):(64,1)", "S<1,0,-2> o 7 o (4,4):(4,1)", "(4,5):(1,4) o 2 o (2,2):(1,5)",
        "(2,3):(1,3) o (0,1) o (2,3):(1@0,1@1)", "[(2,3):(1,2);4;_]", "9223372036854775807", "-9223372036854775808",
        "[[2:1;3];S<1,0,1> o 0 o 4:1]", "4:1 o 2 o 3:1 o 0 o (2,2):(1,2)", "S<1,0,1> o 0 o 4:1 o 1 o 3:1"};
    for (size_t i = 0; i < SETT__COUNT(texts); i++) {
        sett_build *b = begin();
        char out[256];
        ck_assert_int_eq(sett_arg_str(sett_arg_parse(b, texts[i]), out, sizeof out), (int)strlen(texts[i]));
        ck_assert_str_eq(out, texts[i]);
        ck_assert_int_eq(sett_arg_str(sett_arg_parse(b, texts[i]), out, 3), (int)strlen(texts[i]));
        ck_assert_int_le((int)strlen(out), 2);
        end(b);
        for (int k = 0; k < 400; k++) { /* broken texts give an error or a value, never a crash */
            char broken[128];
            snprintf(broken, sizeof broken, "%s", texts[i]);
            for (int times = 1 + pick(3); times; times--)
                broken[pick((int)strlen(texts[i]))] = "():,<>[]@_;oS-0123456789? "[pick(26)];
            b = begin();
            sett_arg a = sett_arg_parse(b, broken);
            if (!b->error.status)
                sett_arg_str(a, out, sizeof out);
            sett_build_end(b, NULL);
        }
    }
}
END_TEST

/* ---- messages --------------------------------------------------------------------------------- */

#define L(text) sett_layout_parse(b, text)
static void e_profile(sett_build *b) { sett_make_layout(b, SETT_T(4, 8), SETT_T(1, SETT_T(2, 3))); }
static void e_extent(sett_build *b) { sett_make_layout(b, SETT_T(4, 0)); }
static void e_slice_extent(sett_build *b) { sett_make_layout(b, SETT_T(4, SETT_ALL)); }
static void e_float(sett_build *b) { sett_make_layout(b, SETT_T(4, 2.5)); }
static void e_stride(sett_build *b) { sett_composition(L("(4,8):(2,1)"), SETT_A(L("33:5"))); }
static void e_shape(sett_build *b) { sett_composition(L("(4,6):(6,1)"), SETT_A(L("6:1"))); }
static void e_carry(sett_build *b) { sett_composition(L("(8,32):(32,1)"), SETT_A(L("(4,32):(1,2)"))); }
static void e_carry_below(sett_build *b) { sett_composition(L("((4,4),2):((4,1),100)"), SETT_A(L("(4,4):(1@0,1@0)"))); }
static void e_carry_back(sett_build *b) { sett_composition(L("(4,4):(4,1)"), SETT_A(L("(4,4):(-1,-1)"))); }
static void e_borrow(sett_build *b) { sett_composition(L("(16,16,16):(16,16,3)"), SETT_A(L("(8,4):(16,-4)"))); }
static void e_doubled(sett_build *b)
{
    sett_layout *l = L("(2,3):(1,2)");
    for (int i = 0; i < 40; i++)
        l = sett_append(l, l);
}
static void e_tiler_rank(sett_build *b) { sett_zipped_divide(L("(4,8):(8,1)"), SETT_T(1, 2, 3)); }
static void e_tiler(sett_build *b) { sett_zipped_divide(L("(4,8):(8,1)"), SETT_T(4, -2)); }
static void e_overlap(sett_build *b) { sett_complement(L("(4,4):(1,2)"), 24); }
static void e_swizzle(sett_build *b) { sett_make_swizzled(3, 3, 2, L("64:1")); }
static void e_coord(sett_build *b) { sett_crd2idx(SETT_T(1, 2, 3), L("(4,8):(8,1)")); }
static void e_crd_slice(sett_build *b) { sett_slice(L("(4,8):(8,1)"), 1, 2, SETT_ALL); }
static void e_select(sett_build *b) { sett_select(L("(4,8):(8,1)"), 2); }
static void e_past(sett_build *b) { sett_composition(L("64:3"), L("(4,4):(4,1)o4o(2,5):(1,3)")); }
static void e_swizzle_right(sett_build *b) { sett_composition(L("(4,8):(3,12)"), L("S<1,0,2>o0o(4,8):(1,4)")); }
static void e_swizzle_apart(sett_build *b) { sett_composition(L("(2,16):(16,1)"), L("S<2,0,3>o0o(4,8):(1,4)")); }
static void e_swizzles(sett_build *b) { sett_composition(L("S<1,0,2>o0o32:1"), L("S<1,0,3>o0o(4,8):(1,4)")); }
static void e_composed_mode(sett_build *b) { sett_composition(L("(32,4):(1,32)"), SETT_T(L("S<1,0,2>o0o(4,8):(1,4)"), 4)); }
static void e_mixed_basis(sett_build *b) { sett_right_inverse(L("(2,3):(1@0,1@0@0)")); }
static void e_recast_apart(sett_build *b) { sett_recast_layout(8, 32, L("(4,2):(2,8)")); }
static void e_swizzle_inverse(sett_build *b) { sett_right_inverse(L("S<3,3,3>o0o(8,16):(16,1)")); }
static void e_coordinate(sett_build *b) { sett_complement(L("(2,3):(1@0,1@2)"), SETT_T(4, 6)); }
static void e_get(sett_build *b) { sett_get(L("(4,8):(8,1)"), -1); }
static void e_group(sett_build *b) { sett_group_modes(L("(4,8):(8,1)"), 1, 1); }
static void e_order(sett_build *b) { sett_make_ordered_layout(b, SETT_T(4, 8), SETT_T(0, 1, 2)); }
static void e_shape_numbers(sett_build *b) { sett_composition(L("(8,8):(1,9)"), L("6:2")); }
static void e_stride_numbers(sett_build *b) { sett_composition(L("(4,8):(8,1)"), L("3:5")); }
static void e_shape_first(sett_build *b) { sett_composition(L("(4,8):(8,1)"), L("(4,6):(3,1)")); }
static void e_shape_basis(sett_build *b) { sett_composition(L("(3,(4,8)):(32,(8,1))"), L("(4,6):(3@1,1@1)")); }
static void e_shape_back(sett_build *b) { sett_composition(L("(5,7,7):(147,7,1)"), L("(4,6):(-6,1)")); }
static void e_raked(sett_build *b) { sett_raked_product(L("4:1"), L("(8):(1)")); }
static void e_raked_split(sett_build *b) { sett_raked_product(L("8:2"), L("4:1")); }
static void e_tiles_negative(sett_build *b) { sett_ceil_div(b, SETT_T(4, 4), L("4:-1")); }
static void e_tiles_none(sett_build *b) { sett_ceil_div(b, SETT_T(4, 0), L("4:1")); }
static void e_round_layout(sett_build *b) { sett_round_up(b, SETT_T(4, 4), L("4:1")); }
static void e_div_layout(sett_build *b) { sett_shape_div(b, sett_sym(b, "n"), L("4:1")); }
static void e_order_slice(sett_build *b) { sett_make_ordered_layout(b, SETT_T(4, 8), SETT_T(0, SETT_ALL)); }
static void e_order_deep(sett_build *b) { sett_make_ordered_layout(b, SETT_T(4, 8), SETT_T(0, SETT_T(1, 2))); }
static void e_recast(sett_build *b) { sett_recast_layout(32, 8, L("(6,4):(1,6)")); }
static void e_bits(sett_build *b) { sett_recast_layout(0, 8, L("(6,4):(1,6)")); }
static void e_coalesce(sett_build *b) { sett_coalesce_by(L("(4,8):(8,1)"), SETT_T(1, 1, 1)); }
static void e_static(sett_build *b) { sett_static(b, SETT_A(sett_sym(b, "n"))); }
static void e_invert(sett_build *b) { sett_right_inverse(sett_make_layout(b, SETT_T(sett_sym(b, "n"), 4))); }
static void e_left(sett_build *b) { sett_left_inverse(L("(5,3):(3,2)")); }
static void e_size(sett_build *b) { sett_size(sett_make_layout(b, SETT_T(1ll << 40, 1ll << 40), SETT_T(1, 1))); }
static void e_compact(sett_build *b) { sett_make_layout(b, SETT_T(1ll << 40, 1ll << 40, 2)); }
static void e_nested(sett_build *b) { sett_make_layout(b, SETT_T(2, SETT_T(2, 1ll << 62))); }
static void e_cosize(sett_build *b) { sett_cosize(sett_make_layout(b, SETT_T(3, 4), SETT_T(1, 1ll << 62))); }
static void e_crd(sett_build *b) { sett_crd2idx(SETT_T(1, 2), sett_make_layout(b, SETT_T(4, 4), SETT_T(1, 1ll << 62))); }
static void e_composed_stride(sett_build *b) { sett_composition(sett_make_layout(b, SETT_T(64), SETT_T(1ll << 62)), sett_make_layout(b, SETT_T(2, 3), SETT_T(1, 4))); }
static void e_offset(sett_build *b) { sett_crd2idx(SETT_T(1ll << 40), L("(4):(8388608)")); }
static void e_null(sett_build *b) { sett_zipped_product(L("4:1"), SETT_A((sett_layout *)NULL)); }
static void e_parse(sett_build *b) { L("(4,8:(1,4)"); }
static void e_parse_tuple(sett_build *b) { L("(4,8)"); }
static void e_parse_dynamic(sett_build *b) { L("(?,8):(1,4)"); }
static void e_parse_range(sett_build *b) { L("99999999999999999999:1"); }
static void e_parse_tail(sett_build *b) { L("(4,8):(1,4) x"); }
static void e_cotarget(sett_build *b) { sett_complement(L("4:1"), -1); }
static void e_cotarget_nested(sett_build *b) { sett_complement(L("4:1"), SETT_T(4, SETT_T(0, 2))); }
static void e_fill(sett_build *b) { sett_tile_to_shape(L("(4,8):(8,1)"), SETT_T(0, 8), SETT_ALL); }
static void e_control(sett_build *b) { L("(4,\t\033[2J8\n"); }
static void e_name(sett_build *b) { L("Swizzled<3,3,3>"); }
static void e_inner(sett_build *b) { L("(4,8):(8,1) o (2,2):(1,2)"); }
static void e_tv_holes(sett_build *b) { sett_make_layout_tv(L("4:1"), L("4:2")); }
static void e_tv_meet(sett_build *b) { sett_make_layout_tv(L("4:0"), L("2:1")); }
static void e_tv_gap(sett_build *b) { sett_make_layout_tv(L("(4,4):(4,1)"), L("(2,2):(3,1)")); }
static void e_copies(sett_build *b) { sett_logical_product(L("8:2"), L("(4,2):(1@0,1@1)")); }
#undef L

static const struct {
    void (*f)(sett_build *);
    sett_status status;
    const char *text;
} errors[] = {
    {e_profile, SETT_E_RANK, "sett_make_layout: shape (4,8) and stride (1,(2,3)) differ in profile"},
    {e_extent, SETT_E_SHAPE, "sett_make_layout: invalid: extent 0 is not positive"},
    {e_slice_extent, SETT_E_ARGUMENT, "_ is not an extent"},
    {e_float, SETT_E_ARGUMENT, "2.5 is not an extent"},
    {e_stride, SETT_E_DIVIDE, "sett_composition: stride-divisibility: 33:5 over mode 0 of coalesced (4,8):(2,1): extent 4"},
    {e_shape, SETT_E_DIVIDE, "sett_composition: shape-divisibility: 6:1 over mode 0"},
    {e_shape_numbers, SETT_E_DIVIDE, "6:2 over mode 0 of coalesced (8,8):(1,9): the 6 coordinates left must be a multiple of the 4 that fit extent 8 in steps of 2"},
    {e_stride_numbers, SETT_E_DIVIDE, "stride-divisibility: 3:5 over mode 0 of coalesced (4,8):(8,1): extent 4 must divide or be divided by the stride 5 that reaches it"},
    {e_shape_first, SETT_E_DIVIDE, "sett_composition: shape-divisibility: 6:1 over mode 0 of coalesced (4,8):(8,1)"},
    {e_shape_basis, SETT_E_DIVIDE, "sett_composition: shape-divisibility: 6:1 over mode 0 of coalesced (4,8):(8,1)"},
    {e_shape_back, SETT_E_DIVIDE, "sett_composition: shape-divisibility: 6:1 over mode 0 of coalesced (5,7,7):(147,7,1)"},
    {e_raked, SETT_E_RANK, "sett_raked_product: invalid: block 4:1 and tiler (8):(1) differ in profile: make both tuples, of one mode each"},
    {e_raked_split, SETT_E_RANK, "invalid: block 8:2 and tiler 4:1 do not pair, since the copies lie in several modes: make both tuples"},
    {e_tiles_negative, SETT_E_RANGE, "sett_ceil_div: invalid: a negative stride has no complement: 4:-1"},
    {e_tiles_none, SETT_E_SHAPE, "sett_ceil_div: invalid: extent 0 is not positive"},
    {e_round_layout, SETT_E_RANK, "sett_round_up: an integer is needed, not 4:1"},
    {e_div_layout, SETT_E_RANK, "sett_shape_div: an integer is needed, not 4:1"},
    {e_order_slice, SETT_E_ARGUMENT, "sett_make_ordered_layout: invalid: _ in an order: an order is of integers, the least for the mode whose elements lie closest"},
    {e_order_deep, SETT_E_RANK, "sett_make_ordered_layout: invalid: order (0,(1,2)) does not fit shape (4,8): it has an integer for each mode, or for each mode within one"},
    {e_carry, SETT_E_DIVIDE, "together reach 9 in mode 0"},
    {e_carry_below, SETT_E_DIVIDE, "together reach 6 in mode 0 of coalesced (4,4):(4,1)"},
    {e_carry_back, SETT_E_DIVIDE, "together reach -6 in mode 0"},
    {e_doubled, SETT_E_LIMIT, "a tuple has more than 4096 leaves"},
    {e_borrow, SETT_E_DIVIDE, "(8,4):(16,-4) steps both forward and back"},
    {e_tiler_rank, SETT_E_RANK, "sett_zipped_divide: invalid: tiler (1,2,3) has more modes than (4,8):(8,1)"},
    {e_tiler, SETT_E_ARGUMENT, "-2 is no tiler"},
    {e_overlap, SETT_E_DIVIDE, "sett_complement: non-injective"},
    {e_swizzle, SETT_E_RANGE, "S<3,3,2> is no swizzle"},
    {e_coord, SETT_E_RANK, "sett_crd2idx: invalid: coordinate (1,2,3) does not fit shape (4,8)"},
    {e_crd_slice, SETT_E_RANK, "sett_slice: invalid: coordinate (1,2,_) does not fit (4,8)"},
    {e_select, SETT_E_RANK, "sett_select: invalid: no mode 2 in (4,8)"},
    {e_past, SETT_E_RANGE, "sett_composition: invalid: (4,4):(4,1) o 4 o (2,5):(1,3) reaches 17, past the 16 coordinates of what is inside"},
    {e_swizzle_right, SETT_E_ARGUMENT, "sett_composition: invalid: (4,8):(3,12) does not keep the swizzle of S<1,0,2> o 0 o (4,8):(1,4)"},
    {e_swizzle_apart, SETT_E_ARGUMENT, "sett_composition: invalid: (2,16):(16,1) does not keep the swizzle of"},
    {e_swizzles, SETT_E_ARGUMENT, "sett_composition: invalid: S<1,0,2> o 0 o 32:1 and S<1,0,3> o 0 o (4,8):(1,4) each have an inner function, and a layout has one: compose what sett_get_nonswizzle_portion gives"},
    {e_composed_mode, SETT_E_ARGUMENT, "sett_composition: invalid: mode 0 would be S<1,0,2> o 0 o (4,8):(1,4), and one mode alone"},
    {e_mixed_basis, SETT_E_ARGUMENT, "sett_right_inverse: invalid: a coordinate is used as a number and as a tuple: (2,3):(1@0,1@0@0)"},
    {e_recast_apart, SETT_E_DIVIDE, "sett_recast_layout: divisibility: no mode of (4,2):(2,8) has stride 1, to hold the 4 units of an element: append a mode 1:1"},
    {e_swizzle_inverse, SETT_E_DIVIDE, "sett_right_inverse: invalid: the inverse does not map the swizzle's bits to neighbouring"},
    {e_coordinate, SETT_E_RANK, "sett_complement: invalid: the basis strides point outside the cotarget's coordinates"},
    {e_get, SETT_E_RANK, "sett_get: invalid: no mode -1 in (4,8)"},
    {e_group, SETT_E_RANK, "sett_group_modes: invalid: modes [1,1) of (4,8), which has 2"},
    {e_order, SETT_E_RANK, "order (0,1,2) does not fit shape (4,8)"},
    {e_recast, SETT_E_DIVIDE, "sett_recast_layout: divisibility: neither of 6 and 4 divides the other"},
    {e_bits, SETT_E_ARGUMENT, "widths 0 and 8 must be positive"},
    {e_coalesce, SETT_E_RANK, "profile (1,1,1) has more modes than (4,8):(8,1)"},
    {e_static, SETT_E_STATIC, "sett_static: n is not a static integer"},
    {e_invert, SETT_E_STATIC, "sett_right_inverse: invalid: extents must be static"},
    {e_left, SETT_E_DIVIDE, "left-inverse-divisibility"},
    {e_size, SETT_E_RANGE, "sett_size: 1099511627776 * 1099511627776 overflows 64 bits, in mode 1 of (1099511627776,1099511627776)"},
    {e_compact, SETT_E_RANGE, "sett_make_layout: 1099511627776 * 1099511627776 overflows 64 bits, in mode 1 of (1099511627776,1099511627776,2)"},
    {e_offset, SETT_E_RANGE, "overflows 64 bits"},
    {e_nested, SETT_E_RANGE, "sett_make_layout: 4 * 4611686018427387904 overflows 64 bits, in mode 1 of (2,4611686018427387904)"},
    {e_cosize, SETT_E_RANGE, "sett_cosize: 3 * 4611686018427387904 overflows 64 bits, in mode 1 of (3,4)"},
    {e_crd, SETT_E_RANGE, "sett_crd2idx: 2 * 4611686018427387904 overflows 64 bits, in mode 1 of (4,4)"},
    {e_composed_stride, SETT_E_RANGE, "sett_composition: 4 * 4611686018427387904 overflows 64 bits, in mode 1 of (2,3)"},
    {e_null, SETT_E_ARGUMENT, "NULL"},
    {e_cotarget, SETT_E_SHAPE, "sett_complement: invalid: extent -1 is not positive"},
    {e_cotarget_nested, SETT_E_SHAPE, "sett_complement: invalid: extent 0 is not positive"},
    {e_fill, SETT_E_SHAPE, "sett_tile_to_shape: invalid: extent 0 is not positive"},
    {e_parse, SETT_E_PARSE, "column 5: `,` or the closing bracket is needed here\n    (4,8:(1,4)\n        ^"},
    {e_parse_tuple, SETT_E_PARSE, "(4,8) is no layout"},
    {e_parse_dynamic, SETT_E_PARSE, "column 2: a run-time number has no text"},
    {e_parse_range, SETT_E_PARSE, "column 1: the number does not fit 64 bits"},
    {e_parse_tail, SETT_E_PARSE, "column 13: nothing more is expected here"},
    {e_control, SETT_E_PARSE, "column 5: a number is needed here\n    (4, \\x1b[2J8\\n\n        ^"},
    {e_name, SETT_E_PARSE, "column 8: `<` is needed here\n    Swizzled<3,3,3>\n           ^"},
    {e_inner, SETT_E_PARSE, "`o` and the outer layout are needed here"},
    {e_tv_holes, SETT_E_ARGUMENT, "sett_make_layout_tv: non-bijective: threads 4:1 and values 4:2 reach 4 of the tile's 16 elements"},
    {e_tv_meet, SETT_E_ARGUMENT, "sett_make_layout_tv: non-bijective: threads 4:0 and values 2:1 reach 2 of the tile's 8 elements"},
    {e_tv_gap, SETT_E_ARGUMENT, "sett_make_layout_tv: non-bijective: threads (4,4):(4,1) and values (2,2):(3,1) reach "},
    {e_copies, SETT_E_DIVIDE, "sett_logical_product: non-injective: the copies of 8:2 at the coordinates (4,2):(1@0,1@1) of its complement "},
};

START_TEST(messages)
{
    const char *text;
    sett_build *b = begin();
    errors[_i].f(b);
    sett_status status = sett_build_status(b, &text);
    ck_assert_msg(status == errors[_i].status, "%s: %s", sett_status_name(status), text);
    ck_assert_msg(strstr(text, errors[_i].text) != NULL, "%s", text);
    ck_assert_msg(strstr(text, "test_layout.c:") != NULL || strstr(text, "sett_size") || strstr(text, "sett_cosize"), "%s", text);
    /* what comes after an error is poison, and asks to be told apart from nothing */
    sett_layout *l = sett_make_layout(b, SETT_T(2, 2));
    int64_t n = sett_static(b, sett_size(l));
    ck_assert_int_eq(sett_rank(l), 1);
    ck_assert_int_eq(n, 1);
    sett_build_end(b, NULL);
}
END_TEST

/* ---- getters: of every kind ------------------------------------------------------------- */
START_TEST(getters)
{
    sett_build *b = begin();
    sett_val *v = sett_full(b, SETT_F32, SETT_T(4, SETT_T(2, 3)), 1.0), *one = sett_const(b, SETT_F32, 1.0);
    sett_layout *l = sett_make_layout(b, SETT_T(4, SETT_T(2, 3)), SETT_T(10, SETT_T(1, 2)));
    sett_tensor *t = sett_make_rmem_tensor(b, SETT_F32, l);
    sett_arg a = sett_tuple(b, 4, SETT_T(2, 3));
    sett_arg shapes[] = {sett_shape(v), sett_shape(l), sett_shape(t), sett_shape(a)};
    int64_t sizes[] = {sett_static(b, sett_size(v)), sett_static(b, sett_size(l)), sett_static(b, sett_size(t)),
        sett_static(b, sett_size(a))};
    int64_t cosizes[] = {sett_static(b, sett_cosize(v)), sett_static(b, sett_cosize(l)), sett_static(b, sett_cosize(t)),
        sett_static(b, sett_cosize(a))};
    int ranks[] = {sett_rank(v), sett_rank(l), sett_rank(t), sett_rank(a)};
    int depths[] = {sett_depth(v), sett_depth(l), sett_depth(t), sett_depth(a)};
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(sett_congruent(shapes[i], a), 1);
        ck_assert_int_eq(sizes[i], 24);
        ck_assert_int_eq(cosizes[i], i == 1 || i == 2 ? 36 : 24);
        ck_assert_int_eq(ranks[i], 2);
        ck_assert_int_eq(depths[i], 2);
    }
    ck_assert_int_eq(sett_congruent(sett_stride(l), a) + sett_congruent(sett_stride(t), a), 2);
    ck_assert_int_eq(sett_rank(one), 0);
    ck_assert_int_eq(sett_depth(one), 1);
    ck_assert_int_eq(sett_static(b, sett_size(one)), 1);
    ck_assert_int_eq(sett_build_status(b, NULL), SETT_OK);
    ck_assert_int_eq(sett_stride(v).kind, SETT_POISON);
    ck_assert_int_eq(sett_build_status(b, NULL), SETT_E_ARGUMENT);
    sett_val *bad = sett_add(v, 1); /* poison: numbers of at least 1 */
    ck_assert_int_eq(sett_rank(bad) + sett_depth(bad), 2);
    ck_assert_int_eq(sett_shape(bad).kind + sett_size(bad).kind + sett_cosize(bad).kind, 3 * SETT_POISON);
    sett_build_end(b, NULL);
    sett_val *none = NULL;
    ck_assert_int_eq(sett_rank(none) + sett_depth(none), 2);
    ck_assert_int_eq(sett_shape(none).kind + sett_stride(none).kind + sett_size(none).kind, 3 * SETT_POISON);
}
END_TEST

Suite *layout_suite(void);
Suite *layout_suite(void)
{
    Suite *s = suite_create("layout");
    TCase *exact = tcase_create("exact");
    tcase_add_test(exact, composes_with_composed);
    tcase_add_test(exact, inverts_swizzles);
    tcase_add_test(exact, getters);
    tcase_add_test(exact, partitions);
    tcase_add_test(exact, divisibility_is_printed);
    tcase_add_test(exact, static_results_record_nothing);
    tcase_add_test(exact, dynamic_text);
    tcase_add_test(exact, vectors);
    tcase_add_test(exact, parse_prints);
    tcase_add_loop_test(exact, messages, 0, (int)SETT__COUNT(errors));
    suite_add_tcase(s, exact);
    return s;
}
