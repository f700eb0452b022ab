/* SPDX-License-Identifier: Apache-2.0 */
/* Element types and arithmetic, as the notebook data_types of CuTe DSL goes through them. A sett_val is a number of the
 * running kernel: while it is built only its type is known, and it prints as `?`. C numbers are known then, and take
 * the type of the value beside them. */
#define SETT_SHORT
#include "lesson.h"

#define TYPE(x, name) lesson_known(#x, sett_dtype_name(sett_val_dtype(x)), name)

static sett_val *of(sett_build *b, sett_dtype t)
{
    return sett_const(b, t, 3);
}

static void promotion(sett_build *b)
{
    TITLE("two types meet: an integer becomes the float beside it, at least as wide as itself");
    TYPE(sett_add(of(b, SETT_I8), of(b, SETT_F16)), "f16");
    TYPE(sett_add(of(b, SETT_I32), of(b, SETT_F16)), "f32");
    TYPE(sett_add(of(b, SETT_I16), of(b, SETT_BF16)), "f16");
    TYPE(sett_add(of(b, SETT_I64), of(b, SETT_F32)), "f64");
    TYPE(sett_add(of(b, SETT_F16), of(b, SETT_BF16)), "f16");
    TYPE(sett_add(of(b, SETT_F16), of(b, SETT_F32)), "f32");
    TITLE("the wider integer; unsigned if it is as wide as the signed one");
    TYPE(sett_add(of(b, SETT_I8), of(b, SETT_I32)), "i32");
    TYPE(sett_add(of(b, SETT_I32), of(b, SETT_U32)), "u32");
    TYPE(sett_add(of(b, SETT_I32), of(b, SETT_U8)), "i32");
    TITLE("a C number is weak: a half stays a half (CuTe DSL makes Int32 or Float32 of it, and then promotes)");
    TYPE(sett_mul(of(b, SETT_F16), 2), "f16");
    TYPE(sett_mul(of(b, SETT_F16), 0.5), "f16");
    TYPE(sett_add(of(b, SETT_I32), 0.5), "f32");
    TITLE("true division of integers is Float32, comparisons are Boolean");
    TYPE(sett_div(of(b, SETT_I32), of(b, SETT_I32)), "f32");
    TYPE(sett_floordiv(of(b, SETT_I32), of(b, SETT_I32)), "i32");
    TYPE(sett_lt(of(b, SETT_I32), of(b, SETT_I32)), "i1");
}

static void body(sett_build *b, const void *user)
{
    (void)user;
    lesson_begin(b);
    promotion(b);
    /* The launch gives 10, 3 and 5.5. */
    sett_val *p = sett_scalar(b, "p", SETT_I32), *q = sett_scalar(b, "q", SETT_I32), *x = sett_scalar(b, "x", SETT_F32);
    TITLE("a value prints as ?, a typed constant too; an integer with what it is known to be a multiple of");
    KNOWN(b, p, "?");
    KNOWN(b, sett_const(b, SETT_F32, 3.14), "?");
    KNOWN(b, sett_const(b, SETT_I32, 5), "?{div=5}"); /* CuTe DSL does not look into it: ? */

    /* What the kernel makes of them is printed after it has run. */
    KEEP(b, sett_add(p, q), 13);
    KEEP(b, sett_mul(x, 2), 11);
    KEEP(b, sett_add(p, x), 15.5);
    KEEP(b, sett_div(p, q), 10.0F / 3);
    KEEP(b, sett_div(x, sett_const(b, SETT_F32, 2.0)), 2.75);
    KEEP(b, sett_gt(p, q), 1);
    KEEP(b, sett_and(p, q), 2);
    KEEP(b, sett_neg(p), -10);
    KEEP(b, sett_not(p), -11);
    /* floordiv rounds down, mod has the sign of the dividend, as C's %. */
    KEEP(b, sett_floordiv(p, q), 3);
    KEEP(b, sett_floordiv(sett_neg(p), q), -4);
    KEEP(b, sett_mod(p, q), 1);
    KEEP(b, sett_mod(sett_neg(p), q), -1);
    KEEP(b, sett_floordiv(sett_neg(x), 2), -3);
    KEEP(b, sett_mod(sett_neg(x), 2), -1.5);
    /* Shifts keep the sign of a signed number. */
    KEEP(b, sett_shr(sett_neg(p), 1), -5);
    KEEP(b, sett_shr(sett_to(sett_neg(p), SETT_U8), 1), 123);
    KEEP(b, sett_pow(x, 2), 30.25);

    /* Conversion: narrower integers wrap, a float loses its fraction. */
    KEEP(b, sett_to(sett_mul(p, 30), SETT_I8), 44);
    KEEP(b, sett_to(sett_const(b, SETT_I32, 42), SETT_F32), 42);
    KEEP(b, sett_to(sett_const(b, SETT_F32, 3.14), SETT_I32), 3);
    KEEP(b, sett_to(sett_const(b, SETT_I32, 127), SETT_I8), 127);
    KEEP(b, sett_to(sett_const(b, SETT_I32, 300), SETT_I8), 44);
    KEEP(b, sett_to(sett_neg(x), SETT_I32), -5);
    KEEP(b, sett_to(x, SETT_BOOL), 1);
    /* A number that the type cannot hold wraps in a typed constant. Beside a value it is an error: an Int8 plus 300. */
    KEEP(b, sett_const(b, SETT_U8, -1), 255);
    KEEP(b, sett_const(b, SETT_I32, 2147483648), -2147483648.0F);
    /* 16-bit floats round to the nearest, halves to even: Float16 has 11 bits, BFloat16 8. */
    KEEP(b, sett_to(sett_const(b, SETT_I32, 2049), SETT_F16), 2048);
    KEEP(b, sett_to(sett_const(b, SETT_I32, 2049), SETT_BF16), 2048);
    KEEP(b, sett_to(sett_const(b, SETT_F32, 1.00390625), SETT_BF16), 1);
    sett_printf(b, "in the kernel: {} / {} = {}, {} > {} is {}", p, q, sett_div(p, q), p, q, sett_gt(p, q));
}

int main(void)
{
    run r = run_open();
    matrix out;
    sett_kernel *k = lesson_compile(&r, "data_types", body, &out);
    fflush(stdout);
    check(&r, sett_launch(k, r.stream, &r.err, &out.buf, 10, 3, 5.5));
    lesson_end(&r, k, &out);
    return 0;
}
