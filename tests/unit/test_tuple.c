/* SPDX-License-Identifier: Apache-2.0 */
/* Tuples, scaled basis vectors, and the modes of layouts: every form of each function, static and dynamic; what is
 * refused and with which words. */
#define SETT_SHORT
#include "lib/print/print.h"
#include <check.h>
#include <string.h>

static sett_build *b;

static void begin(void)
{
    b = sett__build_new(NULL, true);
    ck_assert_ptr_nonnull(b);
}

static void end(void)
{
    sett_build_end(b, NULL);
}

/* A function: as an argument of Check's macros each operand would be spelled out in the text of a message. */
static void shows(int line, sett_arg a, const char *want)
{
    char text[200];
    sett__arg_str(a, text, sizeof text);
    ck_assert_msg(!strcmp(text, want), "line %d: %s, not %s", line, text, want);
}

#define SHOWS(x, want) shows(__LINE__, SETT_A(x), want)
#define L(s) sett_layout_parse(b, s)

static void no_error(void)
{
    const char *why;
    ck_assert_msg(!sett_build_status(b, &why), "%s", why);
}

START_TEST(rearranges)
{
    sett_arg x = sett_tuple(b, 2, T(3, T1(4)));
    SHOWS(sett_flatten(b, x), "(2,3,4)");
    SHOWS(sett_flatten(b, 5), "5");
    SHOWS(sett_flatten_to_tuple(b, 5), "(5)");
    SHOWS(sett_flatten_to_tuple(b, x), "(2,3,4)");
    SHOWS(sett_unflatten(b, T(2, 3, 4), x), "(2,(3,(4)))");
    SHOWS(sett_unflatten(b, T(T(1, 2), 3), T(0, 0)), "((1,2),3)");
    SHOWS(sett_wrap(b, 5), "(5)");
    SHOWS(sett_wrap(b, x), "(2,(3,(4)))");
    SHOWS(sett_unwrap(T1(T(T1(7), 8))), "((7),8)");
    SHOWS(sett_unwrap(T1(T1(7))), "7");
    SHOWS(sett_unwrap(x), "(2,(3,(4)))");
    SHOWS(sett_front(T(T(9, 2), 3)), "9");
    SHOWS(sett_tuple_cat(b, 1, T(2, T(3, 4)), T1(5)), "(1,2,(3,4),5)");
    SHOWS(sett_repeat(b, 3, 4), "(3,3,3,3)");
    SHOWS(sett_repeat(b, 3, 1), "3");
    SHOWS(sett_repeat_as_tuple(b, 3, 1), "(3)");
    SHOWS(sett_repeat_as_tuple(b, 3, 0), "()");
    SHOWS(sett_repeat_like(b, ALL, x), "(_,(_,(_)))");
    SHOWS(sett_group_modes(b, T(1, 2, 3, 4), 1, 3), "(1,(2,3),4)");
    SHOWS(sett_slice(b, T(4, T(5, 6)), T(ALL, T(0, ALL))), "(4,6)");
    SHOWS(sett_slice(b, T(4, T(5, 6)), ALL, 0), "(4)");
    SHOWS(sett_dice(b, T(4, T(5, 6)), T(ALL, T(1, 1))), "(5,6)");
    SHOWS(sett_select(b, T(4, 5, 6), 2, 0), "(6,4)");
    SHOWS(sett_select(b, T(4, 5, 6), 1), "(5)");
    SHOWS(sett_append(b, T(4, 5), T(6, 7)), "(4,5,(6,7))");
    SHOWS(sett_append(b, 4, 5), "(4,5)");
    SHOWS(sett_append(b, T(4, 5), 1, 4), "(4,5,1,1)");
    SHOWS(sett_prepend(b, T(4, 5), 9, 4), "(9,9,4,5)");
    SHOWS(sett_prepend(b, T(4, 5), 9), "(9,4,5)");
    SHOWS(sett_append_ones(b, 4, 3), "(4,1,1)");
    SHOWS(sett_prepend_ones(b, T(4, 2), 2), "(4,2)");
    SHOWS(sett_get(x, 1), "(3,(4))");
    SHOWS(sett_get(x, 1, 1, 0), "4");
    no_error();
}
END_TEST

/* Results live in the build, whatever block their operands died with. */
static sett_arg grouped(int n)
{
    return sett_group_modes(b, T(T(n, n + 1), n + 2, n + 3), 1, 3);
}

START_TEST(outlives_its_operands)
{
    sett_arg first = grouped(1), second = grouped(5);
    SHOWS(first, "((1,2),(3,4))");
    SHOWS(second, "((5,6),(7,8))");
    no_error();
}
END_TEST

START_TEST(computes)
{
    sett_val *n = sett_sym(b, "n", .div = 8);
    uint32_t ops = b->n_op;
    SHOWS(sett_product(T(2, T(3, 4))), "24");
    SHOWS(sett_product(5), "5");
    SHOWS(sett_product_each(b, T(2, T(3, 4))), "(2,12)");
    SHOWS(sett_product_like(b, T(2, T(3, T(4, 5))), T(1, T(1, 1))), "(2,(3,20))");
    SHOWS(sett_ceil_div(b, T(10, 7), T(4, 2)), "(3,4)");
    SHOWS(sett_ceil_div(10, 4), "3");
    SHOWS(sett_round_up(b, T(10, 7), T(4, 2)), "(12,8)");
    SHOWS(sett_round_up(10, 4), "12");
    SHOWS(sett_shape_div(b, T(4, 5, 6), 40), "(1,1,3)");
    SHOWS(sett_shape_div(b, T(4, T(5, 6)), T(2, 30)), "(2,(1,1))");
    SHOWS(sett_shape_div(12, 4), "3");
    SHOWS(sett_shape_div(12, -1), "-12");
    SHOWS(sett_shape_div(b, T(-1, INT64_MIN, -1), T(INT64_MIN, 1, 1)), "(1,-9223372036854775808,-1)");
    SHOWS(sett_increment_coord(b, T(1, T(2, 0)), T(4, T(3, 8))), "(2,(2,0))");
    SHOWS(sett_increment_coord(b, T(3, T(2, 0)), T(4, T(3, 8))), "(0,(0,1))");
    SHOWS(sett_increment_coord(b, T(1, 1), T(2, 2)), "(0,2)");
    SHOWS(sett_increment_coord(b, 5, T(2, 4)), "(0,3)");
    ck_assert_uint_eq(b->n_op, ops); /* nothing of it happens at run time */
    SHOWS(sett_product(T(n, 4)), "?{div=32}");
    SHOWS(sett_round_up(n, 4), "?{div=8}");
    SHOWS(sett_shape_div(n, 4), "?{div=2}");
    SHOWS(sett_ceil_div(b, T(n, 7), T(2, 2)), "(?{div=4},4)");
    no_error();
}
END_TEST

static sett_arg twice(sett_arg x, void *user)
{
    ++*(int *)user;
    return sett_mul(x, 2);
}

static sett_arg large_ones(sett_arg x, void *user)
{
    const int64_t least = *(const int64_t *)user;
    return x.kind == SETT_INT && x.u.i < least ? sett_arg_n(0, NULL) : sett_repeat_as_tuple(b, x, 1);
}

static bool odd(sett_arg x, void *user)
{
    (void)user;
    return x.kind == SETT_INT && x.u.i % 2;
}

START_TEST(calls_back_and_finds)
{
    int calls = 0;
    int64_t least = 3;
    sett_arg n = sett_arg_v(sett_sym(b, "n"));
    SHOWS(sett_transform_leaf(b, T(1, T(2, n)), twice, &calls), "(2,(4,?{div=2}))");
    ck_assert_int_eq(calls, 3);
    SHOWS(sett_filter_tuple(b, T(1, 4, T(2, 2), 3), large_ones, &least), "(4,(2,2),3)");
    SHOWS(sett_find(b, T(4, T(5, 6), 5), 5), "(1,0)");
    SHOWS(sett_find(b, T(4, 5, 6), 6), "2");
    SHOWS(sett_find(b, T(4, 5, 6), 7), "_");
    SHOWS(sett_find(b, T(4, n), n), "1");
    SHOWS(sett_find(b, T(sett_E(0), sett_E(1)), sett_E(1)), "1");
    SHOWS(sett_find_if(b, T(4, T(6, T(8, 9))), odd, NULL), "(1,1,1)");
    SHOWS(sett_find_if(b, 4, odd, NULL), "_");
    no_error();
}
END_TEST

START_TEST(asks)
{
    sett_arg n = sett_arg_v(sett_sym(b, "n"));
    sett_layout *dynamic = sett_make_layout(b, T(4, n));
    const bool yes[] = {sett_is_static(T(4, T(2, 3))), sett_is_static(L("S<2,3,3>o0o(8,8):(8,1)")),
        sett_has_underscore(T(4, T(2, ALL))), sett_is_integer(n), sett_is_integer(7), sett_is_major(1, T(8, T(1, 4)))};
    const bool no[] = {sett_is_static(T(4, n)), sett_is_static(T(4, ALL)), sett_is_static(dynamic),
        sett_is_static(sett_make_composed_layout(L("8:1"), n, L("2:1"))), sett_has_underscore(T(4, n)), sett_is_integer(T1(7)),
        sett_is_integer(sett_E(0)), sett_is_major(0, T(8, 1)), sett_is_major(2, T(8, 1))};
    for (size_t i = 0; i < SETT__COUNT(yes); i++)
        ck_assert_msg(yes[i], "%zu", i);
    for (size_t i = 0; i < SETT__COUNT(no); i++)
        ck_assert_msg(!no[i], "%zu", i);
    SHOWS(sett_leading_dim(L("(4,8):(8,1)")), "1");
    SHOWS(sett_leading_dim(L("(1,8):(1,1)")), "1");
    SHOWS(sett_leading_dim(L("(4,(2,8)):(16,(8,1))")), "(1,1)");
    SHOWS(sett_leading_dim(L("(4,8):(16,2)")), "_");
    SHOWS(sett_leading_dim(dynamic), "0");
    no_error();
}
END_TEST

START_TEST(compares)
{
    sett_val *n = sett_sym(b, "n"), *m = sett_sym(b, "m");
    SHOWS(sett_elem_less(T(1, T(2, 3)), T(2, T(3, 4))), "1");
    SHOWS(sett_elem_less(T(1, T(2, 4)), T(2, T(3, 4))), "0");
    SHOWS(sett_elem_less(T(1, 11), T(2, T(3, 4))), "1");
    SHOWS(sett_elem_less(3, 4), "1");
    SHOWS(sett_elem_less(T(9, 1), T(ALL, 2)), "1");
    uint32_t ops = b->n_op;
    SHOWS(sett_elem_less(T(n, 5), T(m, 4)), "0"); /* a static leaf decides: one comparison is dead */
    ck_assert_uint_le(b->n_op, ops + 1);
    sett_arg less = sett_elem_less(T(n, 1, m), T(m, 4, 7));
    ck_assert(less.kind == SETT_VALUE && less.u.v->dtype == SETT_BOOL && less.u.v->scalar);
    no_error();
}
END_TEST

START_TEST(bases)
{
    SHOWS(sett_E(0), "1@0");
    SHOWS(sett_E(1, 0), "1@0@1");
    SHOWS(sett_scaled_basis(3, 2), "3@2");
    SHOWS(sett_mul(sett_E(1), 4), "4@1");
    SHOWS(sett_basis_value(sett_scaled_basis(3, 2)), "3");
    SHOWS(sett_basis_value(sett_arg_i(5)), "5");
    SHOWS(sett_basis_get(sett_E(1, 0), T(5, T(6, 7))), "6");
    SHOWS(sett_basis_get(sett_arg_i(1), T(5, 6)), "(5,6)");
    SHOWS(sett_make_layout(b, T(2, 3), T(sett_E(1), sett_E(0))), "(2,3):(1@1,1@0)");
    no_error();
}
END_TEST

/* Tensors, swizzled and composed layouts take them too. */
START_TEST(modes_of_layouts)
{
    sett_layout *s = L("S<2,3,3>o0o(8,(4,2)):(8,(1,4))");
    sett_tensor *t = sett_identity_tensor(b, 2, T(3, 4));
    SHOWS(sett_flatten(s), "S<2,3,3> o 0 o (8,4,2):(8,1,4)");
    SHOWS(sett_group_modes(L("(2,3,4):(1,2,6)"), 0, 2), "((2,3),4):((1,2),6)");
    SHOWS(sett_shape(sett_group_modes(t, 0, 2)), "((2,(3,4)))");
    SHOWS(sett_shape(sett_flatten(t)), "(2,3,4)");
    SHOWS(sett_stride(sett_flatten(t)), "(1@0,1@0@1,1@1@1)");
    SHOWS(sett_append(L("4:1"), L("(2,3):(4,8)")), "(4,(2,3)):(1,(4,8))");
    SHOWS(sett_append(L("4:1"), L("2:7"), 3), "(4,2,2):(1,7,7)");
    SHOWS(sett_prepend(s, L("2:64"), 3), "S<2,3,3> o 0 o (2,8,(4,2)):(64,8,(1,4))");
    SHOWS(sett_append_ones(L("(4,5):(5,1)"), 4), "(4,5,1,1):(5,1,0,0)");
    SHOWS(sett_prepend_ones(L("4:1"), 2), "(1,4):(0,1)");
    SHOWS(sett_append_ones(L("(4,5):(5,1)"), 2), "(4,5):(5,1)");
    SHOWS(sett_get(s, 1), "S<2,3,3> o 0 o (4,2):(1,4)");
    SHOWS(sett_get(s, 1, 0), "S<2,3,3> o 0 o 4:1");
    SHOWS(sett_make_layout(b, T(L("4:1"), L("(2,3):(4,8)"))), "(4,(2,3)):(1,(4,8))");
    SHOWS(sett_make_layout(b, T1(L("4:1"))), "(4):(1)");
    no_error();
}
END_TEST

START_TEST(slices_and_parts)
{
    sett_layout_offset s = sett_slice_and_offset(L("(4,8):(8,1)"), ALL, 3);
    SHOWS(s.layout, "(4):(8)");
    SHOWS(s.offset, "3");
    s = sett_slice_and_offset(L("S<1,0,2>o0o(4,4):(1,4)"), ALL, 1);
    SHOWS(s.layout, "S<1,0,2> o 4 o (4):(1)");
    SHOWS(s.offset, "0");
    sett_val *i = sett_sym(b, "i", .div = 4);
    s = sett_slice_and_offset(L("(4,8):(8,2)"), ALL, i);
    SHOWS(s.layout, "(4):(8)");
    SHOWS(s.offset, "?{div=8}");
    SHOWS(sett_get_swizzle_portion(L("S<2,3,3>o8o(8,8):(8,1)")), "S<2,3,3> o 0 o 256:1");
    SHOWS(sett_get_nonswizzle_portion(L("S<2,3,3>o8o(8,8):(8,1)")), "(8,8):(8,1)");
    SHOWS(sett_get_swizzle_portion(L("(8,8):(8,1)")), "1:1");
    SHOWS(sett_get_nonswizzle_portion(L("(8,8):(8,1)")), "(8,8):(8,1)");
    SHOWS(sett_make_layout_image_mask(L("(2,4):(1,2)"), T(1, 2), 1), "170");
    SHOWS(sett_make_layout_image_mask(L("(2,4):(1,2)"), T(1, 2), 0), "48");
    SHOWS(sett_make_layout_image_mask(L("(2,(2,2)):(4,(1,2))"), T(1, 3), 1), "240");
    sett_arg mask = sett_make_layout_image_mask(L("(2,4):(1,2)"), T(i, ALL), 1);
    ck_assert(mask.kind == SETT_VALUE);
    no_error();
}
END_TEST

/* ---- what is refused ----------------------------------------------------------------------------- */
static void e_unflatten(void) { sett_unflatten(b, T(1, 2, 3), T(0, 0)); }
static void e_like(void) { sett_product_like(b, T(2, 3), T(1, T(1, 1))); }
static void e_front(void) { sett_append(b, sett_front(sett_tuple(b, sett_arg_n(0, NULL))), 1); }
static void e_shape_div(void) { sett_shape_div(b, T(4, 6), T(4, 4)); }
static void e_shape_div_overflow(void) { sett_shape_div(b, INT64_MIN, -1); }
static void e_increment_overflow(void) { sett_increment_coord(b, 0, T(T(2, 2), T((int64_t)1 << 62, 2), T(2, 2))); }
static void e_divide_ranks(void) { sett_ceil_div(b, T(4, 6), T(4, 4, 4)); }
static void e_divide_zero(void) { sett_round_up(b, T(4, 6), T(4, 0)); }
static void e_divide_overflow(void) { sett_round_up(b, INT64_MAX, 4); }
static void e_repeat(void) { sett_repeat(b, 1, 256); }
static void e_repeat_negative(void) { sett_repeat(b, 1, -1); }
static void e_cat(void) { sett_tuple_cat(b, sett_repeat(b, 1, 200), sett_repeat(b, 1, 200)); }
static void e_slice(void) { sett_slice(b, 4); }
static void e_slice_profile(void) { sett_slice(b, T(4, 5), T(ALL, T(0, 1))); }
static void e_select(void) { sett_select(b, T(4, 5), 2); }
static void e_append(void) { sett_append(b, T(4, 5), 1, 1); }
static void e_append_layout(void) { sett_append_ones(L("(4,5):(5,1)"), 1); }
static void e_transform(void) { sett_transform_leaf(b, 1, NULL, NULL); }
static void e_basis(void) { sett_make_layout(b, 4, sett_E(0, 15)); }
static void e_basis_get(void) { sett_basis_get(sett_E(2), sett_tuple(b, sett_sym(b, "n"), 3)); }
static void e_get(void) { sett_get(L("(4,(2,3)):(1,(4,8))"), 1, 2); }
static void e_get_dynamic(void) { sett_get(L("(4,(2,3)):(1,(4,8))"), sett_sym(b, "n")); }
static void e_join(void) { sett_make_layout(b, T(L("4:1"), 5)); }
static void e_join_swizzled(void) { sett_make_layout(b, T(L("4:1"), L("S<1,0,1>o0o4:1"))); }
static void e_less(void) { sett_elem_less(T(sett_sym(b, "n"), 1), T(1, 2, 3)), sett_elem_less(T(sett_sym(b, "n"), T(1, 2)), T(1, 2)); }
static void e_mask(void) { sett_make_layout_image_mask(L("(4,5):(1,4)"), T(0, 0), 0); }
static void e_mask_mode(void) { sett_make_layout_image_mask(L("(4,4):(1,4)"), T(0, 0), 2); }
static void e_mask_outside(void) { sett_make_layout_image_mask(L("(2,4):(1,2)"), T(7, 2), 1); }
static void e_mask_nested(void) { sett_make_layout_image_mask(L("((2,2),2):((1,2),4)"), T(T(1, -1), 0), 1); }
static void e_portion(void) { sett_get_swizzle_portion(L("(4,5):(1,4)o2o(2,2):(1,5)")); }
static sett_arg ends_it(sett_arg leaf, void *user)
{
    sett_error e;
    ck_assert_int_eq(sett_build_end(user, &e), SETT_E_ARGUMENT);
    return leaf;
}
static void e_ends(void) { sett_transform_leaf_at(SETT_HERE, b, T(1, T(2, 3)), ends_it, b); }
static void e_ends_filter(void) { sett_filter_tuple_at(SETT_HERE, b, T(1, 2), ends_it, b); }
static void e_product(void) { sett_product_each(b, T(T(INT64_MAX, 2), 1)); }
static void e_order(void) { sett_tile_to_shape(L("(2,2):(1,2)"), T(4, 4), T(1, T(1, 2))); }

START_TEST(refuses)
{
    static const struct {
        void (*call)(void);
        sett_status status;
        const char *text;
    } t[] = {
        {e_unflatten, SETT_E_RANK, "sett_unflatten: invalid: (1,2,3) has 3 parts, profile (0,0) has 2 leaves"},
        {e_like, SETT_E_RANK, "sett_product_like: invalid: profile (1,1) does not fit 3"},
        {e_front, SETT_E_ARGUMENT, "sett_append: an argument has no value"},
        {e_shape_div, SETT_E_DIVIDE, "sett_shape_div: divisibility: neither of 6 and 4 divides the other; pad one of them"},
        {e_shape_div_overflow, SETT_E_RANGE, "sett_shape_div: -9223372036854775808 / -1 overflows 64 bits"},
        {e_increment_overflow, SETT_E_RANGE, "sett_increment_coord: 4 * 4611686018427387904 overflows 64 bits"},
        {e_divide_ranks, SETT_E_RANK, "sett_ceil_div: invalid ceil_div: (4,4,4) has more modes than (4,6)"},
        {e_divide_zero, SETT_E_RANGE, "sett_round_up: 6 divided by zero"},
        {e_divide_overflow, SETT_E_RANGE, "sett_round_up: 2305843009213693952 * 4 overflows 64 bits"},
        {e_repeat, SETT_E_LIMIT, "sett_repeat: a tuple has 0 to 255 children, not 256"},
        {e_repeat_negative, SETT_E_LIMIT, "sett_repeat: a tuple has 0 to 255 children, not -1"},
        {e_cat, SETT_E_LIMIT, "sett_tuple_cat: a tuple of 400 children"},
        {e_slice, SETT_E_ARGUMENT, "sett_slice: a build, a tuple and its modes are needed, not"},
        {e_slice_profile, SETT_E_RANK, "sett_slice: invalid: coordinate (_,(0,1)) does not fit (4,5)"},
        {e_select, SETT_E_RANK, "sett_select: invalid: no mode 2 in (4,5)"},
        {e_append, SETT_E_RANK, "sett_append: invalid: (4,5) has more than 1 modes already"},
        {e_append_layout, SETT_E_RANK, "sett_append: invalid: (4,5):(5,1) cannot get 1 modes of"},
        {e_transform, SETT_E_ARGUMENT, "sett_transform_leaf: the function is NULL"},
        {e_ends, SETT_E_ARGUMENT, "sett_build_end: a build is not ended by what it calls: a kernel's body, or the function of a leaf"},
        {e_ends_filter, SETT_E_ARGUMENT, "sett_build_end: a build is not ended by what it calls"},
        {e_basis, SETT_E_LIMIT, "sett_make_layout: an argument has no value: a scaled basis is an integer @ 1 to 8 modes of 0 to 14"},
        {e_basis_get, SETT_E_RANK, "sett_basis_get: invalid: (n,3) has no mode 2"},
        {e_get, SETT_E_RANK, "sett_get: invalid: no mode 2 in (2,3)"},
        {e_get_dynamic, SETT_E_STATIC, "sett_get: invalid: mode n is not a static integer"},
        {e_join, SETT_E_ARGUMENT, "sett_make_layout: invalid: mode 1 is 5; layouts are joined only with shape:stride"},
        {e_join_swizzled, SETT_E_ARGUMENT, "sett_make_layout: invalid: mode 1 is S<1,0,1> o 0 o 4:1"},
        {e_less, SETT_E_RANK, "sett_elem_less: invalid: (1,2) is not of the profile of 2"},
        {e_mask, SETT_E_RANGE, "sett_make_layout_image_mask: invalid: (4,5):(1,4) is not static with values below 16"},
        {e_mask_mode, SETT_E_RANK, "sett_make_layout_image_mask: invalid: mode 2 at coordinate (0,0) of (4,4):(1,4)"},
        {e_mask_outside, SETT_E_RANGE, "sett_make_layout_image_mask: invalid: coordinate 7 is outside extent 2 of (2,4):(1,2)"},
        {e_mask_nested, SETT_E_RANGE, "sett_make_layout_image_mask: invalid: coordinate -1 is outside extent 2 of ((2,2),2):((1,2),4)"},
        {e_portion, SETT_E_ARGUMENT, "sett_get_swizzle_portion: invalid: (4,5):(1,4) o 2 o (2,2):(1,5) is composed, not swizzled"},
        {e_product, SETT_E_RANGE, "sett_product_each: 9223372036854775807 * 2 overflows 64 bits, in mode 1 of (9223372036854775807,2)"},
        {e_order, SETT_E_RANK, "sett_tile_to_shape: invalid: order (1,(1,2)) does not fit shape (2,2)"},
    };
    for (size_t i = 0; i < SETT__COUNT(t); i++) {
        const char *why;
        end();
        begin();
        t[i].call();
        ck_assert_msg(sett_build_status(b, &why) == t[i].status, "%s: %s", t[i].text, why);
        ck_assert_msg(strstr(why, t[i].text) != NULL, "%s\nshould have\n%s", why, t[i].text);
    }
}
END_TEST

Suite *tuple_suite(void)
{
    Suite *s = suite_create("tuple");
    TCase *t = tcase_create("tuple");
    tcase_add_checked_fixture(t, begin, end);
    tcase_add_test(t, rearranges);
    tcase_add_test(t, outlives_its_operands);
    tcase_add_test(t, computes);
    tcase_add_test(t, calls_back_and_finds);
    tcase_add_test(t, asks);
    tcase_add_test(t, compares);
    tcase_add_test(t, bases);
    tcase_add_test(t, modes_of_layouts);
    tcase_add_test(t, slices_and_parts);
    tcase_add_test(t, refuses);
    suite_add_tcase(s, t);
    return s;
}
