/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of objects, and of what lies in a buffer. What kernels print is in conform_print.c. */
#define SETT_SHORT
#include "lib/print/print.h"
#include <check.h>
#include <sett/compile.h>
#include <sett/engine.h>
#include <sett/launch.h>
#include <sett/memory.h>
#include <string.h>

/* ---- static texts --------------------------------------------------------------------------------- */
static void is(const char *want, const char *text)
{
    ck_assert_str_eq(text, want);
}
#define TEXT(want, x) is(want, sett_text(b, x))

static void texts_in_kernel(sett_build *b, const void *user)
{
    (void)user;
    char text[64];
    sett_val *n = sett_sym(b, "n"), *w = sett_sym(b, "w", .wide = true), *d = sett_sym(b, "d", .div = 8);
    sett_tensor *A = sett_param(b, "A", SETT_F32, sett_make_layout(b, T(8, 5), T(5, 1)), .align = 16);
    sett_tensor *U = sett_param(b, "U", SETT_U8, sett_make_layout(b, T1(4)));
    sett_tensor *r = sett_make_rmem_tensor(b, SETT_BOOL, T(2, 2));
    sett_fill(r, 0);
    sett_block(b, 1);
    TEXT("tensor<ptr<f32, gmem, align<16>> o (8,5):(5,1)>", A);
    TEXT("tensor<ptr<i8, gmem> o (4):(1)>", U);
    TEXT("tensor<ptr<i8, rmem, align<32>> o (2,2):(1,2)>", r);
    TEXT("tensor<(0,0) o (4,?):(1@0,1@1)>", sett_identity_tensor(b, 4, n));
    TEXT("tensor_value<vector<40xf32> o (8, 5)>", sett_load(A));
    TEXT("tensor_value<vector<4xi8> o (4,)>", sett_load(U));
    TEXT("tensor_value<vector<4xi1> o (2, 2)>", sett_load(r));
    TEXT("tensor_value<vector<3xf16> o 3>", sett_full(b, SETT_F16, 3, 0));
    TEXT("tensor_value<vector<6xi32> o ((1, 2), 3)>", sett_full(b, SETT_I32, T(T(1, 2), 3), 0));
    TEXT("?", n);
    TEXT("?", w);
    TEXT("?{div=8}", d);
    TEXT("?{i64 div=16}", sett_mul(sett_assume(w, 8), 2));
    TEXT("?", sett_scalar(b, "f", SETT_F32));
    TEXT("(?,(?{i64},_))", T(n, T(w, ALL)));
    TEXT("(?,8):(1,?)", sett_make_layout(b, T(n, 8)));
    TEXT("S<3,4,3> o 0 o (8,8):(1,8)", sett_make_swizzled(3, 4, 3, sett_make_layout(b, T(8, 8))));
    TEXT("[(2,3):(1,2);(4,5):(1,4)]", T(sett_make_layout(b, T(2, 3)), sett_make_layout(b, T(4, 5))));
    TEXT("-7", -7);
    ck_assert_int_eq(sett_val_str(d, text, sizeof text), 8);
    ck_assert_int_eq(sett_val_str(sett_load(A), text, 12), 37);
    ck_assert_str_eq(text, "tensor_valu");
    ck_assert_int_eq(sett_val_str(NULL, NULL, 0), 1);
}

START_TEST(texts)
{
    sett_error err;
    void *tape;
    size_t len;
    ck_assert_msg(!sett_record(texts_in_kernel, NULL, true, &tape, &len, &err), "%s", err.text);
    sett_text_free(tape);
    sett_build *b = sett_build_begin();
    ck_assert_str_eq(sett_text(NULL, 3), "");
    ck_assert_str_eq(sett_text(b, (sett_tensor *)NULL), "");
    ck_assert_int_eq(sett_build_end(b, &err), SETT_E_ARGUMENT);
}
END_TEST

/* ---- buffers ------------------------------------------------------------------------------------------ */
static char heard[4096];

static void hear(void *user, const char *text, size_t len)
{
    ck_assert_ptr_eq(user, heard);
    ck_assert_uint_lt(len, sizeof heard);
    memcpy(heard, text, len);
    heard[len] = 0;
}

static sett_engine *opened(void)
{
    sett_engine *e;
    sett_error err;
    sett_engine_options o = {.size = sizeof o, .cache_dir = "", .no_gpu = true};
    ck_assert_msg(!sett_engine_open(&e, &o, &err), "%s", err.text);
    return e;
}

static const sett_stream host = {SETT_CPU, NULL};
static const sett_buf_print_options to_us = {.size = sizeof to_us, .print = hear, .user = heard};

START_TEST(buffers)
{
    sett_engine *e = opened();
    sett_error err;
    int32_t x[16];
    sett_buf_print_options o = to_us;
    for (int i = 0; i < 16; i++)
        x[i] = i - 1;
    sett_buf X = sett_buf_2d(x, SETT_I32, 2, 3);
    ck_assert_msg(!sett_buf_print(e, host, &X, &o, &err), "%s", err.text);
    ck_assert_str_eq(strstr(heard, ": i32"), ": i32, gmem, align<4>) o (2,3):(3,1), data=\n       [[-1,  0,  1, ],\n        [ 2,  3,  4, ]])\n");
    o.layout = "((2,2),2):((8,2),4)";
    o.verbose = true;
    ck_assert_int_eq(sett_buf_print(e, host, &X, &o, &err), SETT_E_RANGE);
    ck_assert_str_eq(err.text, "sett_buf_print: the layout ((2,2),2):((8,2),4) reaches past the buffer's own extents and strides");
    X = sett_buf_1d(x, SETT_I32, 16);
    ck_assert_msg(!sett_buf_print(e, host, &X, &o, &err), "%s", err.text);
    ck_assert_str_eq(strstr(heard, " o "), " o ((2,2),2):((8,2),4), data= (\n\t((0,0),0)=-1\n\t((1,0),0)= 7\n\t((0,1),0)= 1\n\t((1,1),0)= 9\n"
        "\t((0,0),1)= 3\n\t((1,0),1)= 11\n\t((0,1),1)= 5\n\t((1,1),1)= 13\n)\n");
    o = to_us;
    X = (sett_buf){x + 3, SETT_I32, 0, {0}, {0}};
    ck_assert_msg(!sett_buf_print(e, host, &X, &o, &err), "%s", err.text);
    ck_assert_str_eq(strstr(heard, " o "), " o ():(), data=\n       [ 2, ])\n");
    X = (sett_buf){x, SETT_I32, 2, {3, 0}, {1, 1}};
    ck_assert_msg(!sett_buf_print(e, host, &X, &o, &err), "%s", err.text);
    ck_assert_str_eq(strstr(heard, " o "), " o (3,0):(1,1), data=\n       [])\n");
    X = (sett_buf){x + 15, SETT_I32, 1, {2}, {-3}};
    ck_assert_msg(!sett_buf_print(e, host, &X, &o, &err), "%s", err.text);
    ck_assert_str_eq(strstr(heard, " o "), " o (2):(-3), data=\n       [ 14, ],\n       [ 11, ])\n");
    double far = -1e308;
    X = sett_buf_1d(&far, SETT_F64, 1);
    ck_assert_msg(!sett_buf_print(e, host, &X, &o, &err), "%s", err.text);
    ck_assert_uint_eq(strlen(strstr(heard, "[-")), 2 + 309 + 7 + 5);
    sett_engine_close(e);
}
END_TEST

/* Of a tensor of 2^40 elements only what is shown is read. */
START_TEST(large_buffer)
{
    sett_engine *e = opened();
    sett_error err;
    float x[64];
    for (int i = 0; i < 64; i++)
        x[i] = (float)i;
    sett_buf X = {x, SETT_F32, 2, {1 << 20, 1 << 20}, {0, 0}};
    ck_assert_msg(!sett_buf_print(e, host, &X, &to_us, &err), "%s", err.text);
    ck_assert_ptr_nonnull(strstr(heard, "[[ 0.000000,  0.000000,  0.000000, ...,  0.000000,"));
    sett_engine_close(e);
}
END_TEST

START_TEST(buffers_refused)
{
    sett_engine *e = opened();
    sett_error err;
    int32_t x[4] = {0};
    const struct { sett_buf buf; const char *layout, *want; sett_status status; } cases[] = {
        {{(void *)64, SETT_I32, 1, {4}, {1}}, NULL, "the host cannot read 16 bytes at 0x0000000000000040: of a GPU's memory the stream must be the GPU's", SETT_E_RANGE},
        {{NULL, SETT_I32, 1, {4}, {1}}, NULL, "the buffer's data is NULL", SETT_E_ARGUMENT},
        {{(void *)64, SETT_I32, 9, {4}, {1}}, NULL, "the buffer's rank is 9, of 0 to 8", SETT_E_RANK},
        {{(void *)64, SETT_F4E2M1FN, 1, {4}, {1}}, NULL, "elements of f4E2M1FN have no whole bytes", SETT_E_DTYPE},
        {{(void *)64, (sett_dtype)99, 1, {4}, {1}}, NULL, "elements of ? have no whole bytes", SETT_E_DTYPE},
        {{(void *)64, SETT_I32, 1, {-4}, {1}}, NULL, "extent 0 is -4", SETT_E_SHAPE},
        {{(void *)64, SETT_I32, 1, {4}, {1}}, "(4,?):(1,4)", "the layout (4,?):(1,4) is not one of numbers, 64 at most", SETT_E_STATIC},
        {{(void *)64, SETT_I32, 1, {4}, {1}}, "(4,4)", "sett_layout_parse: ", SETT_E_PARSE},
        {{(void *)64, SETT_I32, 2, {2, 2}, {INT64_MAX, 1}}, NULL, "the extents and strides overflow 64 bits", SETT_E_RANGE},
        {{(void *)64, SETT_I32, 1, {INT64_MAX}, {1}}, NULL, "the extents and strides overflow 64 bits", SETT_E_RANGE},
        {{(void *)64, SETT_I32, 2, {2, 2}, {1LL << 60, -(1LL << 60)}}, NULL, "the extents and strides overflow 64 bits", SETT_E_RANGE},
        {{(void *)64, SETT_I32, 1, {4}, {1}}, "S<1,0,1>o9223372036854775807o4:1", "the extents and strides overflow 64 bits", SETT_E_RANGE},
        {{x, SETT_I32, 1, {4}, {1}}, "4:4611686018427387904o0o4:2", "an offset: 2 * 4611686018427387904 overflows 64 bits", SETT_E_RANGE},
    };
    for (size_t i = 0; i < SETT__COUNT(cases); i++) {
        sett_buf_print_options o = to_us;
        o.layout = cases[i].layout;
        ck_assert_int_eq(sett_buf_print(e, host, &cases[i].buf, &o, &err), cases[i].status);
        ck_assert_msg(!strncmp(err.text, "sett_buf_print: ", 16) && !strncmp(err.text + 16, cases[i].want, strlen(cases[i].want)), "%s", err.text);
    }
    sett_buf X = sett_buf_1d(x, SETT_I32, 4);
    ck_assert_int_eq(sett_buf_print(NULL, host, &X, NULL, &err), SETT_E_ARGUMENT);
    ck_assert_int_eq(sett_buf_print(e, host, NULL, NULL, NULL), SETT_E_ARGUMENT);
    ck_assert_int_eq(sett_buf_print(e, (sett_stream){7, NULL}, &X, NULL, &err), SETT_E_NO_DEVICE);
    ck_assert_int_eq(sett_buf_print(e, host, &X, &(sett_buf_print_options){0}, &err), SETT_E_ARGUMENT);
    int32_t *own = sett_alloc(e, SETT_CPU, 16);
    X = (sett_buf){own, SETT_I32, 1, {40}, {1}};
    ck_assert_int_eq(sett_buf_print(e, host, &X, &to_us, &err), SETT_E_RANGE);
    sett_free(e, SETT_CPU, own);
    sett_engine_close(e);
}
END_TEST

Suite *print_suite(void)
{
    Suite *s = suite_create("print");
    TCase *t = tcase_create("print");
    tcase_add_test(t, texts);
    tcase_add_test(t, buffers);
    tcase_add_test(t, large_buffer);
    tcase_add_test(t, buffers_refused);
    suite_add_tcase(s, t);
    return s;
}
