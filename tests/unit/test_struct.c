/* SPDX-License-Identifier: Apache-2.0 */
/* Structs: where fields lie against the compiler's own structs, what is refused. What they hold is tested on both engines in
 * conform_struct.c. */
#define SETT_SHORT
#include "lib/print/print.h"
#include <check.h>
#include <stdlib.h>
#include <string.h>

static sett_build *b;
static sett_error err;

static void begin(void)
{
    b = sett__build_new(NULL, true);
    ck_assert_ptr_nonnull(b);
}

static void end(void)
{
    if (b)
        sett_build_end(b, NULL);
    b = NULL;
}

/* ---- against C ---------------------------------------------------------------------------- */
struct all {
    bool b;
    int8_t i8;
    int16_t i16;
    uint8_t u8;
    int32_t i32;
    uint16_t u16;
    int64_t i64;
    uint8_t f8;
    uint16_t f16;
    float f32;
    uint8_t u8s[3];
    double f64;
    bool bs[5];
};
union either {
    uint8_t bytes[17];
    double d[2];
    int16_t s;
};
struct outer {
    char c;
    _Alignas(32) uint16_t a[3];
    struct all all[3];
    union either u;
    uint8_t tail;
};
#define SAME(s, type, field) ck_assert_int_eq(sett_struct_offset(s, #field), (int64_t)offsetof(type, field))

START_TEST(as_c)
{
    sett_struct *all = sett_make_struct(b, "all", SETT_FIELD("b", SETT_BOOL), SETT_FIELD("i8", SETT_I8), SETT_FIELD("i16", SETT_I16), SETT_FIELD("u8", SETT_U8),
        SETT_FIELD("i32", SETT_I32), SETT_FIELD("u16", SETT_U16), SETT_FIELD("i64", SETT_I64), SETT_FIELD("f8", SETT_F8E4M3FN), SETT_FIELD("f16", SETT_BF16), SETT_FIELD("f32", SETT_F32),
        SETT_FIELD("u8s", SETT_U8, .count = 3), SETT_FIELD("f64", SETT_F64), SETT_FIELD("bs", SETT_BOOL, .count = 5));
    sett_struct *either = sett_make_union(b, "either", SETT_FIELD("bytes", SETT_U8, .count = 17), SETT_FIELD("d", SETT_F64, .count = 2), SETT_FIELD("s", SETT_I16));
    sett_struct *outer = sett_make_struct(b, "outer", SETT_FIELD("c", SETT_I8), SETT_FIELD("a", SETT_U16, .count = 3, .align = 32), SETT_FIELD_OF("all", all, .count = 3),
        SETT_FIELD_OF("u", either), SETT_FIELD("tail", SETT_U8));
    SAME(all, struct all, b); SAME(all, struct all, i8); SAME(all, struct all, i16); SAME(all, struct all, u8);
    SAME(all, struct all, i32); SAME(all, struct all, u16); SAME(all, struct all, i64); SAME(all, struct all, f8);
    SAME(all, struct all, f16); SAME(all, struct all, f32); SAME(all, struct all, u8s); SAME(all, struct all, f64);
    SAME(all, struct all, bs); SAME(outer, struct outer, c); SAME(outer, struct outer, a); SAME(outer, struct outer, all);
    SAME(outer, struct outer, u); SAME(outer, struct outer, tail); SAME(outer, struct outer, u.d); SAME(either, union either, s);
    ck_assert_int_eq(sett_struct_offset(outer, "all.f64"), (int64_t)(offsetof(struct outer, all) + offsetof(struct all, f64)));
    ck_assert_int_eq(sett_struct_size(all), (int64_t)sizeof(struct all));
    ck_assert_int_eq(sett_struct_size(either), (int64_t)sizeof(union either));
    ck_assert_int_eq(sett_struct_size(outer), (int64_t)sizeof(struct outer));
    ck_assert_int_eq(sett_struct_align(all), (int)_Alignof(struct all));
    ck_assert_int_eq(sett_struct_align(outer), (int)_Alignof(struct outer));
    ck_assert_int_eq(sett_struct_offset(outer, "none"), -1);
    ck_assert_int_eq(sett_struct_offset(outer, "all.none"), -1);
    ck_assert_int_eq(sett_struct_offset(outer, "tail.x"), -1);
    ck_assert_int_eq(sett_struct_offset(outer, ""), -1);
    ck_assert_int_eq(sett_struct_offset(NULL, "x"), -1);
    ck_assert_msg(!sett_build_status(b, NULL), "%s", b->error.text);
}
END_TEST

START_TEST(text_of)
{
    char text[200], cut[8];
    sett_struct *s = sett_make_struct(b, "item", SETT_FIELD("scale", SETT_F32), SETT_FIELD("q", SETT_I16, .count = 6), SETT_FIELD("sum", SETT_F64));
    const char *want = "item {scale: f32 at 0, q: i16[6] at 4, sum: f64 at 16} 24 bytes, align 8";
    ck_assert_int_eq(sett_struct_str(s, text, sizeof text), (int)strlen(want));
    ck_assert_str_eq(text, want);
    ck_assert_int_eq(sett_struct_str(s, cut, sizeof cut), (int)strlen(want));
    ck_assert_str_eq(cut, "item {s");
    ck_assert_int_eq(sett_struct_str(NULL, text, sizeof text), 9);
    ck_assert_str_eq(text, "struct<?>");
}
END_TEST

/* ---- views ------------------------------------------------------------------------------------- */
static void is(const sett_tensor *t, const char *want)
{
    char text[200];
    sett_tensor_str(t, text, sizeof text);
    ck_assert_msg(!sett_build_status(b, NULL), "%s", b->error.text);
    ck_assert_str_eq(text, want);
}

START_TEST(views)
{
    sett_val *N = sett_sym(b, "N");
    sett_struct *in = sett_make_struct(b, "in", SETT_FIELD("k", SETT_I8), SETT_FIELD("w", SETT_F32, .count = 3)),
                *s = sett_make_struct(b, "s", SETT_FIELD("d", SETT_F64), SETT_FIELD_OF("in", in, .count = 2), SETT_FIELD("h", SETT_F16, .count = 8, .align = 16));
    sett_tensor *P = sett_param_struct(b, "P", s, N), *S = sett_make_smem_struct(b, s);
    is(P, "tensor<ptr<i8, gmem, align<16>> o (?,64):(64,1)>");
    is(sett_field_tensor(P, s, "d"), "tensor<ptr<f64, gmem, align<16>> o (?):(8)>");
    is(sett_field_tensor(P, s, "in"), "tensor<ptr<i8, gmem, align<8>> o (?,2,16):(64,16,1)>");
    is(sett_field_tensor(P, s, "in.w"), "tensor<ptr<f32, gmem> o (?,2,3):(16,4,1)>");
    is(sett_field_tensor(S, s, "h"), "tensor<ptr<f16, smem, align<16>> o (8):(1)>");
    is(sett_field_tensor(S, s, "in.k"), "tensor<ptr<i8, smem, align<8>> o (2):(16)>");
    sett_tensor *V = sett_scalar_struct(b, "V", s);
    is(V, "tensor<ptr<i8, generic, align<16>> o (64):(1)>");
    is(sett_field_tensor(V, s, "in.w"), "tensor<ptr<f32, generic> o (2,3):(4,1)>");
    ck_assert(sett_rank(sett_field(V, s, "d")) == 0 && sett_val_dtype(sett_field(V, s, "d")) == SETT_F64);
    ck_assert_int_eq(sett_static(b, sett_size(sett_field(V, s, "in.w"))), 6);
}
END_TEST

/* ---- refused -------------------------------------------------------------------------------------- */
static sett_struct *two(void)
{
    return sett_make_struct(b, "two", SETT_FIELD("x", SETT_F32), SETT_FIELD("y", SETT_F16, .count = 4));
}
static void r_twice(void) { sett_make_struct(b, "s", SETT_FIELD("x", SETT_F32), SETT_FIELD("x", SETT_F16)); }
static void r_nameless(void) { sett_make_struct(b, "s", SETT_FIELD("x", SETT_F32), SETT_FIELD(NULL, SETT_F32)); }
static void r_dotted(void) { sett_make_struct(b, "s", SETT_FIELD("x.y", SETT_F32)); }
static void r_both(void) { sett_make_struct(b, "s", SETT_FIELD("x", SETT_F32, .of = two())); }
static void r_type(void) { sett_make_struct(b, "s", SETT_FIELD("x", 0)); }
static void r_narrow(void) { sett_make_struct(b, "s", SETT_FIELD("x", SETT_I4, .count = 6)); }
static void r_count(void) { sett_make_struct(b, "s", SETT_FIELD("x", SETT_F32, .count = -1)); }
static void r_align(void) { sett_make_struct(b, "s", SETT_FIELD("x", SETT_F32, .align = 24)); }
static void r_large(void) { sett_make_struct(b, "s", SETT_FIELD("x", SETT_F64, .count = INT64_MAX / 2)); }
static void r_total(void) { sett_make_union(b, "s", SETT_FIELD("x", SETT_F64, .count = 1 << 27), SETT_FIELD("y", SETT_U8, .count = (1 << 30) + 1)); }
static void r_none(void) { sett_make_struct_at(SETT_HERE, b, "s", false, 0, NULL); }
static void r_field(void) { sett_field_tensor(sett_make_smem_struct(b, two()), two(), "z"); }
static void r_deep(void) { sett_field_tensor(sett_make_smem_struct(b, two()), two(), "y.z"); }
static void r_holds(void) { sett_field_tensor(sett_make_smem_tensor(b, SETT_U8, 13, 0, .name = "smem"), two(), "x"); }
static void r_bytes(void) { sett_field_tensor(sett_make_smem_tensor(b, SETT_F32, 12, 0, .name = "smem"), two(), "x"); }
static void r_path(void) { sett_field_tensor(sett_make_smem_struct(b, two()), two(), NULL); }
static void r_null(void) { sett_make_smem_struct(b, NULL); }
static void r_param(void) { sett_param_struct(b, "P", (sett_struct *)sett_row_major(b, 2, 2), 3); }

static sett_tensor *value(void) { return sett_scalar_struct(b, "V", two()); }
static void r_value_large(void) { sett_scalar_struct(b, "V", sett_make_struct(b, "s", SETT_FIELD("x", SETT_F64, .count = 513))); }
static void r_value_name(void) { sett_scalar_struct(b, "V", two()), sett_scalar_struct(b, "V", two()); }
static void r_value_store(void) { sett_store(sett_field_tensor(value(), two(), "y"), 1.0); }
static void r_value_set(void) { sett_set(sett_field_tensor(value(), two(), "x"), 1.0, 0); }
static void r_value_atomic(void) { sett_atomic(sett_field_tensor(value(), two(), "x"), SETT_ADD, 1.0, 0); }
static void r_value_past(void) { sett_at(sett_field_tensor(value(), two(), "y"), 4); }
static void r_field_struct(void) { sett_field(value(), sett_make_struct(b, "o", SETT_FIELD_OF("in", two())), "in"); }
static void r_field_none(void) { sett_field(value(), two(), "z"); }
static void r_param_align(void) { sett_param_struct(b, "3", two(), 3); }

START_TEST(refused)
{
    static const struct { void (*f)(void); sett_status status; const char *text; } t[] = {
        {r_twice, SETT_E_ARGUMENT, "sett_make_struct: s has two fields x"},
        {r_nameless, SETT_E_ARGUMENT, "field 1 of s has no name, or one with a dot in it"},
        {r_dotted, SETT_E_ARGUMENT, "field 0 of s has no name, or one with a dot in it"},
        {r_both, SETT_E_ARGUMENT, "s.x has an element type and a struct"},
        {r_type, SETT_E_DTYPE, "sett_make_struct: "},
        {r_narrow, SETT_E_DTYPE, "sett_make_struct: s.x: elements of i4 have no whole bytes"},
        {r_count, SETT_E_RANGE, "s.x has -1 elements"},
        {r_align, SETT_E_ALIGN, "s.x: an alignment of 24 is no power of two up to 1024"},
        {r_large, SETT_E_LIMIT, "s.x ends past 2^30 bytes"},
        {r_total, SETT_E_LIMIT, "sett_make_union: s.y ends past 2^30 bytes"},
        {r_none, SETT_E_ARGUMENT, "a name and 1 to 1024 fields are needed"},
        {r_field, SETT_E_ARGUMENT, "sett_field_tensor: z is no field of two {x: f32 at 0, y: f16[4] at 4} 12 bytes, align 4"},
        {r_deep, SETT_E_ARGUMENT, "sett_field_tensor: y.z is no field of f16"},
        {r_holds, SETT_E_SHAPE, "sett_field_tensor: smem 13:1 of u8 holds no two: its last mode must be the struct's 12 bytes"},
        {r_bytes, SETT_E_SHAPE, "sett_field_tensor: smem 12:1 of f32 holds no two"},
        {r_path, SETT_E_ARGUMENT, "sett_field_tensor: the path is NULL"},
        {r_null, SETT_E_ARGUMENT, "sett_make_smem_struct: the struct is NULL"},
        {r_param, SETT_E_ARGUMENT, "sett_param_struct: this is not a struct"},
        {r_param_align, SETT_E_ARGUMENT, "sett_param_struct: a name is 1 to 255 letters"},
        {r_value_large, SETT_E_LIMIT, "sett_scalar_struct: V has 4104 bytes: what a kernel is passed by value has at most 4096 in all; sett_param_struct reads it from memory"},
        {r_value_name, SETT_E_ARGUMENT, "sett_scalar_struct: the name V is taken"},
        {r_value_store, SETT_E_SPACE, "sett_store: V (4):(1) is passed by value: it is only read"},
        {r_value_set, SETT_E_SPACE, "sett_set: V 1:0 is passed by value: it is only read"},
        {r_value_atomic, SETT_E_SPACE, "sett_atomic: an atomic on V 1:0, which other threads do not see"},
        {r_value_past, SETT_E_RANGE, "sett_at: "},
        {r_field_struct, SETT_E_DTYPE, "sett_field: in is a struct, not a number or an array: a path goes on to one of its fields"},
        {r_field_none, SETT_E_ARGUMENT, "sett_field: z is no field of two"},
    };
    for (size_t i = 0; i < SETT__COUNT(t); i++) {
        end(); /* the fixture's, at first */
        begin();
        t[i].f();
        sett_status s = sett_build_end(b, &err);
        b = NULL;
        ck_assert_int_eq(s, t[i].status);
        ck_assert_msg(strstr(err.text, t[i].text) != NULL, "%zu: %s", i, err.text);
        ck_assert_msg(strncmp(err.text, __FILE__ ":", strlen(__FILE__) + 1) == 0, "%s", err.text);
    }
    sett_build *none = NULL;
    ck_assert_ptr_null(sett_make_struct(none, "s", SETT_FIELD("x", SETT_F32)));
    ck_assert_ptr_null(sett_make_smem_struct(none, NULL));
    ck_assert_ptr_null(sett_param_struct(none, "P", NULL, 1));
    ck_assert_ptr_null(sett_field_tensor(NULL, NULL, "x"));
}
END_TEST

Suite *struct_suite(void)
{
    Suite *s = suite_create("struct");
    TCase *t = tcase_create("struct");
    tcase_add_checked_fixture(t, begin, end);
    tcase_add_test(t, as_c);
    tcase_add_test(t, text_of);
    tcase_add_test(t, views);
    tcase_add_test(t, refused);
    suite_add_tcase(s, t);
    return s;
}
