/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on values: numbers and types, shapes, reductions, functions. The tables of another
 * system run in the golden program; here stand our own rules. */
#include "tests/golden/golden_value.h"
#include "tests/rig/recording.h"
#include <math.h>

/* Element i of a value made of constants. */
static double element(const sett_val *v, uint32_t i)
{
    sett_build *b = v->head.b;
    ck_assert_msg(!b->error.status, "%s", b->error.text);
    uint64_t **all = calloc(b->n_op, sizeof *all);
    uint64_t bits = value_run(b, v->id, all)[b->op[v->id].n == 1 ? 0 : i];
    for (uint32_t k = 0; k <= v->id; k++)
        free(all[k]);
    free(all);
    return sett__dtype_is_float((sett_dtype)v->dtype) ? sett__float_of_bits((sett_dtype)v->dtype, bits)
                                                       : (double)sett__int_of_bits((sett_dtype)v->dtype, bits);
}

/* 0, 1, 2 ... in colexicographic order. */
static sett_val *arange(sett_build *b, sett_dtype d, sett_arg shape, int n)
{
    uint32_t id[64];
    for (int i = 0; i < n; i++)
        id[i] = sett_const(b, d, i)->id;
    uint32_t pack = sett__record(b, (sett_site){0}, &(sett__emit){.code = SETT__PACK, .dtype = d, .n = (uint32_t)n, .n_args = n, .args = id});
    return sett__val(b, pack, shape, false);
}

START_TEST(numbers_are_weak)
{
    sett_build *b = kernel();
    sett_val *h = sett_scalar(b, "h", SETT_F16), *i = sett_scalar(b, "i", SETT_I8), *w = sett_scalar(b, "w", SETT_I64);
    ck_assert_int_eq(sett_val_dtype(sett_max(h, 0.0)), SETT_F16);
    ck_assert_int_eq(sett_val_dtype(sett_mul(h, 2)), SETT_F16);
    ck_assert_int_eq(sett_val_dtype(sett_add(i, 100)), SETT_I8);
    ck_assert_int_eq(sett_val_dtype(sett_mul(i, 0.5)), SETT_F32);
    ck_assert_int_eq(sett_val_dtype(sett_mul(w, 0.5)), SETT_F32);
    ck_assert_int_eq(sett_val_dtype(sett_div(w, 3)), SETT_F32);
    ck_assert_int_eq(sett_val_dtype(sett_lt(i, 3)), SETT_BOOL);
    ck_assert_int_eq(sett_val_dtype(sett_mul(h, sett_const(b, SETT_I32, 2))), SETT_F32); /* a typed one is not */
    ck_assert_int_eq(sett_val_dtype(sett_fma(h, 2, 0.5)), SETT_F16);
    ck_assert_int_eq(sett_val_dtype(sett_where(sett_lt(h, 1), h, 0)), SETT_F16);
    ck_assert_int_eq(sett_val_dtype(sett_where(sett_lt(h, 1), 2, 0)), SETT_I32);
    ck_assert_int_eq(sett_val_dtype(sett_where(sett_lt(h, 1), 2, 0.5)), SETT_F32);
    sett_val *less = sett_lt(h, 1);
    ck_assert_int_eq(sett_val_dtype(sett_where(less, i, 3)), SETT_I8);
    ck_assert_int_eq(sett_val_dtype(sett_where(less, i, 2.5)), SETT_F32); /* as sett_mul(i, 0.5) */
    ck_assert_int_eq(sett_val_dtype(sett_where(less, 2.5, w)), SETT_F32);
    ck_assert_int_eq(sett_val_dtype(sett_where(less, less, 2.5)), SETT_F32);
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
}
END_TEST

START_TEST(numbers_that_do_not_fit)
{
    static const struct { sett_dtype d; bool fraction; double x; const char *text; } cases[] = {
        {SETT_U8, false, 300, "sett_add: u8 cannot hold 300"}, {SETT_U8, false, -1, "sett_add: u8 cannot hold -1"},
        {SETT_I8, false, 128, "sett_add: i8 cannot hold 128"}, {SETT_F16, false, 70000, "sett_add: f16 cannot hold 70000"},
        {SETT_F16, true, 1e6, "sett_add: f16 cannot hold 1e+06"}, {SETT_F32, true, 1e40, "sett_add: f32 cannot hold 1e+40"},
        {SETT_BOOL, false, 2, "sett_add: i1 cannot hold 2"}, {SETT_U64, false, -1, "sett_add: u64 cannot hold -1"},
    };
    for (size_t i = 0; i < SETT__COUNT(cases); i++) {
        sett_build *b = kernel();
        sett_val *x = sett_scalar(b, "x", cases[i].d);
        int line = __LINE__ + 1;
        sett_add(x, cases[i].fraction ? sett_arg_f(cases[i].x) : sett_arg_i((long long)cases[i].x));
        expect(b, SETT_E_RANGE, line, cases[i].text);
    }
    sett_build *b = kernel();
    ck_assert_int_eq((int)element(sett_add(sett_const(b, SETT_I8, 127), 1), 0), -128);
    ck_assert_int_eq((int)element(sett_const(b, SETT_U8, -1), 0), 255);
    ck_assert(isinf(element(sett_add(sett_const(b, SETT_F16, 1), INFINITY), 0)));
    sett_const(b, SETT_I32, NAN); int line = __LINE__;
    expect(b, SETT_E_RANGE, line, "sett_const: i32 cannot be made of nan");
    b = kernel();
    sett_floordiv(sett_scalar(b, "i", SETT_I32), 0); line = __LINE__;
    expect(b, SETT_E_RANGE, line, "sett_floordiv: the divisor is 0");
    b = kernel();
    sett_mod(sett_full(b, SETT_U8, SETT_T(4), 3), 0); line = __LINE__;
    expect(b, SETT_E_RANGE, line, "sett_mod: the divisor is 0");
    b = kernel();
    ck_assert(isnan(element(sett_mod(sett_const(b, SETT_F32, 1), 0), 0)));
    sett_ceil_div(sett_scalar(b, "i", SETT_I32), 0); line = __LINE__;
    expect(b, SETT_E_RANGE, line, "sett_ceil_div: a dynamic number divided by zero");
}
END_TEST

START_TEST(types_that_do_not_fit)
{
    sett_build *b = kernel();
    int line;
    sett_and(sett_scalar(b, "f", SETT_F32), 1); line = __LINE__;
    expect(b, SETT_E_DTYPE, line, "sett_and: there are no bitwise operations on f32");
    b = kernel();
    sett_sqrt(sett_scalar(b, "i", SETT_I32)); line = __LINE__;
    expect(b, SETT_E_DTYPE, line, "sett_sqrt: it takes f16, bf16, f32 or f64, not i32: sett_to converts");
    b = kernel();
    sett_exp2_approx(sett_scalar(b, "d", SETT_F64)); line = __LINE__;
    expect(b, SETT_E_DTYPE, line, "sett_exp2_approx: it takes f16, bf16 or f32, not f64: sett_to converts");
    b = kernel();
    sett_scalar(b, "w", SETT_I128); line = __LINE__;
    expect(b, SETT_E_DTYPE, line, "sett_scalar: w: a scalar cannot be i128");
    b = kernel();
    sett_val *wide = sett_to(sett_scalar(b, "i", SETT_I64), SETT_U128);
    sett_add(wide, -1); line = __LINE__;
    expect(b, SETT_E_RANGE, line, "sett_add: u128 cannot hold -1");
    b = kernel();
    wide = sett_to(sett_scalar(b, "i", SETT_I64), SETT_I128);
    sett_printf(b, "%lld", wide); line = __LINE__;
    expect(b, SETT_E_DTYPE, line, "sett_printf: %lld takes up to 64 bits and operand 0 is i128: use {}");
    b = kernel();
    wide = sett_to(sett_scalar(b, "i", SETT_I64), SETT_I128);
    sett_make_layout(b, sett_arg_v(wide)); line = __LINE__;
    expect(b, SETT_E_ARGUMENT, line, "sett_make_layout: invalid: ? is not an extent; an integer is needed");
    b = kernel();
    wide = sett_to(sett_scalar(b, "i", SETT_I64), SETT_I128);
    sett_for (b, k, 0, wide, 1)
        (void)k;
    expect(b, SETT_E_DTYPE, __LINE__ - 2, "sett_for: the second bound must be an integer scalar, not i128 of shape ()");
    b = kernel();
    sett_atomic(sett_param(b, "A", SETT_U128, sett_row_major(b, 4)), SETT_ADD, 1, 0); line = __LINE__;
    expect(b, SETT_E_DTYPE, line, "sett_atomic: no atomic ADD of u128");
    b = kernel();
    sett_to(sett_scalar(b, "f", SETT_F32), SETT_F8E4M3); line = __LINE__;
    expect(b, SETT_E_DTYPE, line, "sett_to: f8E4M3 is not converted; f8E4M3FN is the type that tensor cores take");
    b = kernel();
    sett_val *f8 = sett_to(sett_scalar(b, "f", SETT_F32), SETT_F8E4M3FN);
    sett_add(f8, f8); line = __LINE__;
    expect(b, SETT_E_DTYPE, line, "sett_add: there is no arithmetic on f8E4M3FN; convert it with sett_to");
    b = kernel();
    sett_pow(sett_scalar(b, "f", SETT_F32), sett_lt(sett_scalar(b, "x", SETT_F32), 0)); line = __LINE__;
    sett_atan2(sett_scalar(b, "i", SETT_I32), 1); line = __LINE__;
    expect(b, SETT_E_DTYPE, line, "sett_atan2: it takes f16, bf16, f32 or f64, not i32: sett_to converts");
    b = kernel();
    sett_sin(sett_scalar(b, "i", SETT_I32)); line = __LINE__;
    expect(b, SETT_E_DTYPE, line, "sett_sin: it takes f16, bf16, f32 or f64, not i32: sett_to converts");
    b = kernel();
    sett_val *c = sett_lt(sett_scalar(b, "i", SETT_I32), 1), *f = sett_scalar(b, "f", SETT_F32);
    sett_where(c, f, sett_scalar(b, "g", SETT_F64)); line = __LINE__;
    expect(b, SETT_E_DTYPE, line, "sett_where: the arms have types f32 and f64");
    b = kernel();
    sett_where(sett_scalar(b, "i", SETT_I32), 1, 2); line = __LINE__;
    expect(b, SETT_E_DTYPE, line, "sett_where: the condition is i32, it must be Boolean");
    b = kernel();
    sett_assume(sett_scalar(b, "f", SETT_F32), 4); line = __LINE__;
    expect(b, SETT_E_DTYPE, line, "sett_assume: only an integer scalar of 32 or 64 bits has a divisor, not f32 of shape ()");
    b = kernel();
    sett_assume(sett_scalar(b, "i", SETT_I32), 0); line = __LINE__;
    expect(b, SETT_E_ARGUMENT, line, "sett_assume: the divisor is 0, it must be positive");
    b = kernel();
    sett_add(sett_scalar(b, "i", SETT_I32), SETT_T(1, 2)); line = __LINE__;
    expect(b, SETT_E_ARGUMENT, line, "sett_add: an operand is (1,2), it must be a value or a number: an element of a tuple is sett_get(x, 0)");
    b = kernel();
    sett_neg(sett_lt(sett_scalar(b, "i", SETT_I32), 1)); line = __LINE__;
    expect(b, SETT_E_DTYPE, line, "sett_neg: it does not take a scalar i1: sett_not negates it, sett_to makes a number of it");
}
END_TEST

START_TEST(shapes_that_do_not_fit)
{
    sett_build *b = kernel();
    int line;
    sett_add(sett_full(b, SETT_F32, SETT_T(2, 3), 0), sett_full(b, SETT_F32, SETT_T(3, 2), 0)); line = __LINE__;
    expect(b, SETT_E_SHAPE, line, "sett_add: shapes (2,3) and (3,2) do not broadcast");
    b = kernel();
    sett_reshape(sett_full(b, SETT_F32, 6, 0), SETT_T(2, 4)); line = __LINE__;
    expect(b, SETT_E_SHAPE, line, "sett_reshape: 6 has 6 elements, (2,4) has 8");
    b = kernel();
    sett_full(b, SETT_F32, SETT_T(2, sett_sym(b, "N")), 0); line = __LINE__;
    expect(b, SETT_E_STATIC, line, "sett_full: a value's shape is static integers, not N");
    b = kernel();
    sett_full(b, SETT_F32, SETT_T(2, 0), 0); line = __LINE__;
    expect(b, SETT_E_SHAPE, line, "sett_full: a value's extents are positive, not 0");
    b = kernel();
    sett_full(b, SETT_F32, SETT_T(512, 256), 0); line = __LINE__;
    expect(b, SETT_E_LIMIT, line, "sett_full: a value has up to 65536 elements and 64 modes");
    b = kernel();
    sett_element(sett_full(b, SETT_F32, SETT_T(2, 3), 0), 2, 0); line = __LINE__;
    expect(b, SETT_E_RANGE, line, "sett_element: coordinate 2 is outside of 2");
    b = kernel();
    sett_element(sett_full(b, SETT_F32, SETT_T(2, 3), 0), sett_sym(b, "N"), 3); line = __LINE__;
    expect(b, SETT_E_RANGE, line, "sett_element: coordinate 3 is outside extent 3 of the value (2,3):(1,2)");
    b = kernel();
    sett_element(sett_full(b, SETT_F32, SETT_T(2, 3), 0), sett_scalar(b, "x", SETT_F32)); line = __LINE__;
    expect(b, SETT_E_DTYPE, line, "sett_element: a coordinate of the value (2,3):(1,2) is no integer: it is f32, as sett_div gives it; sett_floordiv divides integers");
    b = kernel();
    sett_sincos(sett_full(b, SETT_F32, 3, 0), NULL, NULL); line = __LINE__;
    expect(b, SETT_E_ARGUMENT, line, "sett_sincos: there is no place for the sine");
    b = kernel();
    sett_sincos(NULL, NULL, NULL);
    sett_any(NULL);
    sett_gather(NULL, sett_full(b, SETT_I32, 3, 0)); line = __LINE__;
    expect(b, SETT_E_ARGUMENT, line, "sett_gather: the tensor is NULL, or comes of a call that was given NULL");
    b = kernel();
    sett_gather(sett_var(b, SETT_I32, 0), sett_full(b, SETT_F32, 3, 0)); line = __LINE__;
    expect(b, SETT_E_DTYPE, line, "sett_gather: the indices are f32, they must be integers of up to 64 bits");
    b = kernel();
    sett_gather(sett_var(b, SETT_I32, 0), sett_full(b, SETT_I32, 3, 0), .pred = sett_full(b, SETT_BOOL, 2, 0)); line = __LINE__;
    expect(b, SETT_E_SHAPE, line, "sett_gather: the predicate has shape 2, the indices 3");
    b = kernel();
    sett_gather(sett_var(b, SETT_I32, 0), sett_full(b, SETT_I32, 3, 0), .pred = sett_full(b, SETT_I32, 3, 0)); line = __LINE__;
    expect(b, SETT_E_DTYPE, line, "sett_gather: a predicate is Boolean, not i32");
    b = kernel();
    sett_gather(sett_var(b, SETT_I32, 0), sett_full(b, SETT_I32, 3, 1)); line = __LINE__;
    expect(b, SETT_E_RANGE, line, "sett_gather: coordinate 1 is outside extent 1 of var 1:0");
    b = kernel();
    sett_scatter(sett_var(b, SETT_I32, 0), sett_full(b, SETT_I32, 3, 0), sett_full(b, SETT_F32, 3, 0)); line = __LINE__;
    expect(b, SETT_E_DTYPE, line, "sett_scatter: a value of f32 into var 1:0 of i32: convert it with sett_to");
    b = kernel();
    sett_scatter(sett_var(b, SETT_I8, 0), sett_full(b, SETT_I32, 1, 0), 127); /* a number is of the tensor's type */
    sett_scatter(sett_var(b, SETT_I8, 0), sett_full(b, SETT_I32, 1, 0), 300); line = __LINE__;
    expect(b, SETT_E_RANGE, line, "sett_scatter: i8 cannot hold 300");
    b = kernel();
    sett_store(sett_var(b, SETT_F16, 0), 2);
    sett_store(sett_var(b, SETT_I8, 0), 1.5); line = __LINE__;
    expect(b, SETT_E_RANGE, line, "sett_store: i8 cannot hold 1.5");
    b = kernel();
    sett_scatter(sett_var(b, SETT_I32, 0), sett_full(b, SETT_I32, 3, 0), sett_full(b, SETT_I32, SETT_T(3, 3), 0)); line = __LINE__;
    expect(b, SETT_E_SHAPE, line, "sett_scatter: the value has shape (3,3), the indices 3");
    b = kernel();
    sett_scatter(sett_identity_tensor(b, 4), sett_full(b, SETT_I32, 3, 0), sett_full(b, SETT_I32, 3, 0)); line = __LINE__;
    expect(b, SETT_E_SPACE, line, "sett_scatter: the tensor of coordinates 4:1 has no elements in memory");
    b = kernel();
    sett_reduce_by(sett_full(b, SETT_F32, SETT_T(2, 3), 0), SETT_ADD, 0, SETT_T(1, 1, SETT_ALL)); line = __LINE__;
    expect(b, SETT_E_RANK, line, "sett_reduce: (1,1,_) does not fit the shape (2,3)");
    b = kernel();
    sett_reduce(sett_full(b, SETT_F32, SETT_T(2, 3), 0), SETT_SUB, 0); line = __LINE__;
    expect(b, SETT_E_ARGUMENT, line, "sett_reduce: f32 reduces by ADD, MUL, MIN or MAX, integers and Booleans also by AND, OR or XOR");
    b = kernel();
    sett_reduce(sett_full(b, SETT_I8, 4, 0), SETT_ADD, 1000); line = __LINE__;
    expect(b, SETT_E_RANGE, line, "sett_reduce: i8 cannot hold 1000");
    b = kernel();
    sett_reduce(sett_full(b, SETT_U8, 4, 0), SETT_MAX, -1); line = __LINE__;
    expect(b, SETT_E_RANGE, line, "sett_reduce: u8 cannot hold -1");
    b = kernel();
    sett_bitcast(sett_full(b, SETT_F16, SETT_T(3, 2), 0), SETT_F32); line = __LINE__;
    expect(b, SETT_E_DIVIDE, line, "sett_bitcast: 32 bits do not divide the first mode of (3,2): 3 of 16 bits");
}
END_TEST

START_TEST(elements_and_reductions)
{
    sett_build *b = kernel();
    sett_val *v = arange(b, SETT_F32, SETT_T(4, SETT_T(2, 3)), 24);
    ck_assert(element(sett_element(v, 10), 0) == 10);
    ck_assert(element(sett_element(v, 3, SETT_T(1, 2)), 0) == 23);
    ck_assert(element(sett_element(v, SETT_ALL, 5), 1) == 21);
    ck_assert(element(sett_reduce(v, SETT_ADD, 1000), 0) == 1276);
    ck_assert(element(sett_reduce(arange(b, SETT_I8, SETT_T1(4), 4), SETT_ADD, -2.5), 0) == 4); /* as in CuTe */
    ck_assert(element(sett_reduce(arange(b, SETT_F16, SETT_T1(4), 4), SETT_MAX, -1e9), 0) == 3);
    ck_assert(element(sett_reduce(arange(b, SETT_U8, SETT_T1(4), 4), SETT_ADD, sett_const(b, SETT_I32, 257)), 0) == 7); /* converted */
    sett_val *rows = sett_reduce_by(v, SETT_MAX, -1, SETT_T(SETT_ALL, 1));
    ck_assert_str_eq(sett__arg_text(b, rows->shape), "(4)");
    ck_assert(element(rows, 2) == 22);
    sett_val *parts = sett_reduce_by(v, SETT_MIN, 7, SETT_T(1, SETT_T(SETT_ALL, 1)));
    ck_assert(element(parts, 0) == 0 && element(parts, 1) == 4);
    ck_assert_ptr_eq(sett_reduce_by(v, SETT_ADD, 5, SETT_ALL), v);
    sett_val *sum = sett_add(sett_reshape(v, SETT_T(8, 3)), arange(b, SETT_F32, SETT_T(1, 3), 3));
    ck_assert(element(sum, 17) == 19);
    sett_val *two = sett_bitcast(sett_full(b, SETT_I32, SETT_T(3, 2), 0x00010002), SETT_I16);
    ck_assert_str_eq(sett__arg_text(b, two->shape), "(6,2)");
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
}
END_TEST

START_TEST(splats_are_one_element)
{
    sett_build *b = kernel();
    sett_val *f = sett_scalar(b, "f", SETT_F32), *wide = sett_full(b, SETT_F32, SETT_T(8, 4), 2);
    sett_val *v = sett_mul(sett_add(wide, f), wide);
    const sett__op *op = &b->op[v->id];
    ck_assert_int_eq(op->code, SETT__PICK); /* of a product of scalars */
    ck_assert_int_eq((int)v->n, 32);
    ck_assert_int_eq((int)b->op[b->arg[op->args]].n, 1);
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
}
END_TEST

START_TEST(plain_numbers_stay_numbers)
{
    sett_arg a = sett_add(3, 4), d = sett_div(7, 2), c = sett_lt(2.5, 3), m = sett_mod(-7, 3), q = sett_floordiv(-7, 3);
    ck_assert(a.kind == SETT_INT && a.u.i == 7);
    ck_assert(d.kind == SETT_FLOAT && d.u.f == 3.5);
    ck_assert(c.kind == SETT_INT && c.u.i == 1);
    ck_assert(m.u.i == -1 && q.u.i == -3);
    ck_assert_int_eq(sett_floordiv(1, 0).kind, SETT_POISON);
    ck_assert_int_eq(sett_mul(INT64_MAX, 2).kind, SETT_POISON);
    sett_build *b = kernel();
    sett_arg k = sett_arg_v(sett_sym(b, "K", .div = 16));
    sett_arg r = sett_mul(k, 2);
    ck_assert_int_eq(r.kind, SETT_VALUE);
    ck_assert_int_eq((int)sett__leaf_div(r), 32);
    sett_arg f = sett_floordiv(sett_sub(k, 100), 16);
    ck_assert_int_eq(b->op[f.u.v->id].code, SETT__SHR); /* rounds down also below zero */
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
}
END_TEST

/* The greatest common divisor of all results, where x runs over multiples of dx, and y over those of dy; number: y is dy. */
static int64_t greatest_divisor(sett_binary_op op, int64_t dx, int64_t dy, bool number)
{
    int64_t g = 0;
    for (int64_t i = -24; i <= 24; i++)
        for (int64_t j = number ? 1 : -24; j <= (number ? 1 : 24); j++) {
            const int64_t x = i * dx, y = j * dy, q = y ? x / y : 0, floor = y && x % y && (x < 0) != (y < 0) ? q - 1 : q;
            const int64_t r = op == SETT_ADD ? x + y : op == SETT_SUB ? x - y : op == SETT_MUL ? x * y : op == SETT_MIN ? x < y ? x : y
                : op == SETT_MAX ? x > y ? x : y : op == SETT_MOD ? y ? x % y : 0 : floor;
            g = sett__gcd(g, r);
        }
    return g;
}

/* Known divisors hold, and are the greatest where CuTe's rules say so: the gcd of a sum, the product's product, x // c where c divides x. */
START_TEST(divisors_of_results)
{
    static const sett_binary_op ops[] = {SETT_ADD, SETT_SUB, SETT_MUL, SETT_MIN, SETT_MAX, SETT_MOD, SETT_FLOORDIV};
    for (int64_t dx = 1; dx <= 24; dx++)
        for (int64_t dy = 1; dy <= 24; dy++)
            for (int i = 0; i < 2 * (int)SETT__COUNT(ops); i++) {
                const sett_binary_op op = ops[i / 2];
                const bool number = i % 2;
                sett_build *b = kernel();
                sett_val *x = sett_assume(sett_scalar(b, "x", SETT_I32), dx), *y = number ? sett_const(b, SETT_I32, (double)dy) : sett_assume(sett_scalar(b, "y", SETT_I32), dy);
                const sett_val *r = sett_binary_at(SETT_HERE, "op", op, sett_arg_v(x), sett_arg_v(y));
                const int64_t most = greatest_divisor(op, dx, dy, number), got = r->lo == r->hi ? sett__gcd(r->lo, 0) : r->div;
                ck_assert_msg(!most ? !got : got && most % got == 0, "op %d of %lld, %lld: %lld, not %lld", (int)op, (long long)dx, (long long)dy, (long long)got, (long long)most);
                const bool known = op == SETT_ADD || op == SETT_SUB || (op == SETT_MUL && !number) || (op == SETT_FLOORDIV && number && dx % dy == 0);
                ck_assert_msg(!known || got == most, "op %d of %lld, %lld: %lld, not %lld", (int)op, (long long)dx, (long long)dy, (long long)got, (long long)most);
                ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
            }
}
END_TEST

/* A sett_arg, static or dynamic, as a value to compute with. */
START_TEST(numbers_as_values)
{
    sett_build *b = kernel();
    sett_val *n = sett_sym(b, "N"), *v = sett_value(b, sett_ceil_div(n, 256));
    ck_assert_int_eq(sett_val_dtype(v), SETT_I32);
    const sett_val *wide = sett_value(b, sett_mul(sett_sym(b, "W", .wide = true), 2));
    ck_assert_int_eq(sett_val_dtype(wide), SETT_I64);
    ck_assert_ptr_eq(sett_value(b, sett_arg_v(n)), n);
    sett_val *k = sett_value(b, sett_ceil_div(1000, 256)), *big = sett_value(b, INT64_C(1) << 40);
    ck_assert_int_eq(sett_val_dtype(k), SETT_I32);
    ck_assert_int_eq((int)element(k, 0), 4);
    ck_assert_int_eq(sett_val_dtype(big), SETT_I64);
    ck_assert_int_eq((int64_t)element(big, 0), INT64_C(1) << 40);
    ck_assert_int_eq(sett_val_dtype(sett_add(k, sett_const(b, SETT_I8, 1))), SETT_I32); /* a type of its own, not weak */
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
    b = kernel();
    sett_value(b, SETT_T(1, 2)); int line = __LINE__;
    expect(b, SETT_E_ARGUMENT, line, "sett_value: an integer is needed, not (1,2)");
    b = kernel();
    sett_value(b, 2.5); line = __LINE__;
    expect(b, SETT_E_ARGUMENT, line, "sett_value: an integer is needed, not 2.5");
    b = kernel();
    sett_value(b, sett_floordiv(1, 0)); line = __LINE__;
    expect(b, SETT_E_RANGE, line, "sett_value: an argument has no value: it is sett_floordiv of constants that have no result");
}
END_TEST

/* ---- exp2: at most 1 ulp, against the C library's long double ------------------------------- */
static double ulps(sett_dtype d, double got, long double want)
{
    int digits = d == SETT_F64 ? 53 : d == SETT_F32 ? 24 : d == SETT_F16 ? 11 : 8;
    int least = d == SETT_F64 ? -1074 : d == SETT_F32 ? -149 : d == SETT_F16 ? -24 : -133;
    int e;
    frexpl(want, &e);
    int unit = e - digits > least ? e - digits : least;
    return (double)(fabsl((long double)got - want) / ldexpl(1, unit));
}

static void check_exp2(sett_dtype d, double lo, double hi, int n, double bound)
{
    double worst = 0;
    for (int start = 0; start < n; start += 500) {
        sett_build *b = kernel();
        for (int i = start; i < start + 500 && i < n; i++) {
            double x = sett__float_of_bits(d, sett__bits_of_float(d, lo + (hi - lo) * i / n));
            uint64_t bits;
            ck_assert(sett__val_const(sett_exp2(sett_const(b, d, x)), &bits));
            double err = ulps(d, sett__float_of_bits(d, bits), exp2l(x));
            worst = err > worst ? err : worst;
        }
        sett_build_end(b, NULL);
    }
    ck_assert_msg(worst <= bound, "%s: %g ulp", sett_dtype_name(d), worst);
}

START_TEST(exp2_is_accurate)
{
    check_exp2(SETT_F32, -149.9, 127.99, 12000, 1);
    check_exp2(SETT_F32, -1, 1, 12000, 1);
    check_exp2(SETT_F64, -1074.5, 1023.99, 6000, 1);
    check_exp2(SETT_F64, -1, 1, 6000, 1);
    check_exp2(SETT_F16, -24, 15.9, 3000, 0.51);
    check_exp2(SETT_BF16, -130, 127, 3000, 0.51);
}
END_TEST

START_TEST(exp2_at_the_ends)
{
    sett_build *b = kernel();
    static const double x[] = {INFINITY, -INFINITY, 128, 1000, -150, -1e30, 0, -0.0, 3, -149};
    static const double y[] = {INFINITY, 0, INFINITY, INFINITY, 0, 0, 1, 1, 8, 0x1p-149};
    for (size_t i = 0; i < SETT__COUNT(x); i++)
        ck_assert_msg(element(sett_exp2(sett_const(b, SETT_F32, x[i])), 0) == y[i], "2^%g", x[i]);
    ck_assert(isnan(element(sett_exp2(sett_const(b, SETT_F32, NAN)), 0)));
    ck_assert(element(sett_rsqrt(sett_const(b, SETT_F16, 4)), 0) == 0.5);
    ck_assert(isinf(element(sett_rcp(sett_const(b, SETT_F32, 0.0)), 0)));
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
}
END_TEST

Suite *value_suite(void)
{
    Suite *s = suite_create("value");
    TCase *t = tcase_create("value");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, numbers_are_weak);
    tcase_add_test(t, numbers_that_do_not_fit);
    tcase_add_test(t, types_that_do_not_fit);
    tcase_add_test(t, shapes_that_do_not_fit);
    tcase_add_test(t, elements_and_reductions);
    tcase_add_test(t, splats_are_one_element);
    tcase_add_test(t, plain_numbers_stay_numbers);
    tcase_add_test(t, numbers_as_values);
    tcase_add_test(t, divisors_of_results);
    tcase_add_test(t, exp2_is_accurate);
    tcase_add_test(t, exp2_at_the_ends);
    suite_add_tcase(s, t);
    return s;
}
