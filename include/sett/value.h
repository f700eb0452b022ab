/* SPDX-License-Identifier: Apache-2.0 */
/* Values: a sett_val is a number in registers, or a TensorSSA: an immutable value with an element type and a
 * static nested shape, whose elements are in colexicographic order (mode 0 fastest).
 *
 * Shapes: operands of different shapes broadcast. The shorter shape is padded with 1 on the right; then
 * extents must be equal, or one of them 1.
 * Types: operands of different types promote by CuTe's table. A C number is weak: it takes the type of the
 * value beside it (SETT_E_RANGE: the type cannot hold it). A C number with a fraction beside an integer value
 * makes both Float32.
 * Results: an operation with a sett_val * among its operands gives a sett_val *. One of C numbers and
 * sett_args only gives a sett_arg, which is computed while building if that is possible. */
#ifndef SETT_VALUE_H
#define SETT_VALUE_H
#include <sett/arg.h>

typedef enum sett_binary_op {
    SETT_ADD, SETT_SUB, SETT_MUL,
    SETT_DIV,      /* integers: Float32, as in CuTe; floats: IEEE */
    SETT_FLOORDIV, /* rounds toward minus infinity */
    /* The sign is the dividend's, as with C's %; of floats fmod. Integers by 0: an error if the 0 is a C
     * number. Else nothing traps: x % 0 is x, and x // 0 is not specified. */
    SETT_MOD,
    SETT_MIN, SETT_MAX, /* NaN if an operand is NaN; -0 < +0 */
    SETT_AND, SETT_OR, SETT_XOR, /* integers and Booleans */
    SETT_SHL, SETT_SHR,          /* of integers; a shift by the width or more gives 0, a SHR of signed ones
                                  * the sign */
    SETT_LT, SETT_LE, SETT_GT, SETT_GE, SETT_EQ, SETT_NE, /* Boolean; false on NaN, but NE true */
    SETT_POW,       /* of floats: C's pow; of integers: modulo 2^width, and a negative power truncates toward
                     * zero */
    SETT_ATAN2,     /* (y, x): the angle of (x, y), floats */
    SETT_COPYSIGN,  /* |x| with y's sign, floats */
    SETT_FMIN, SETT_FMAX /* of floats, the operand that is not NaN; -0 < +0 */
} sett_binary_op;
typedef enum sett_unary_op {
    SETT_NEG, SETT_ABS, SETT_NOT, SETT_SQRT, SETT_FLOOR, SETT_CEIL, SETT_TRUNC, SETT_ROUNDEVEN,
    SETT_EXP2,
    SETT_EXP2_APPROX, SETT_LOG2_APPROX, SETT_RCP_APPROX, SETT_RSQRT_APPROX, SETT_SIN_APPROX, SETT_COS_APPROX,
    SETT_TANH_APPROX,
    SETT_RCP, SETT_RSQRT,
    SETT_EXP, SETT_EXPM1, SETT_LOG, SETT_LOG2, SETT_LOG10, SETT_LOG1P, SETT_SIN, SETT_COS, SETT_TAN,
        SETT_ASIN, SETT_ACOS,
    SETT_ATAN, SETT_SINH, SETT_COSH, SETT_TANH, SETT_ASINH, SETT_ACOSH, SETT_ATANH, SETT_ERF, SETT_ERFC,
        SETT_CBRT,
    SETT_ROUND,                                          /* to the nearest integer, halves away from zero */
    SETT_ISNAN, SETT_ISINF, SETT_ISFINITE, SETT_ISNORMAL, /* Boolean */
    SETT_EXP_APPROX, SETT_LOG_APPROX, SETT_LOG10_APPROX, SETT_TAN_APPROX, SETT_SQRT_APPROX,
    SETT_POPC, SETT_CLZ, SETT_BREV, /* see "bits of integers" below */
    SETT_EXP2_APPROX_FTZ
} sett_unary_op;

#ifndef __cplusplus
SETT_API sett_val *sett_binary_at(sett_site, const char *func, sett_binary_op, sett_arg, sett_arg);
SETT_API sett_arg sett_index_at(sett_site, const char *func, sett_binary_op, sett_arg, sett_arg);
SETT_API sett_val *sett_unary_at(sett_site, const char *func, sett_unary_op, sett_val *);

#define SETT_PICK_BINARY(x, y) \
    _Generic((x), sett_val *: sett_binary_at, const sett_val *: sett_binary_at, \
        default: _Generic((y), sett_val *: sett_binary_at, const sett_val *: sett_binary_at, \
            default: sett_index_at))
#define SETT_NO_TENSOR(x) _Generic((x), sett_tensor *: 0, const sett_tensor *: 0, default: 1)
/* Of sett_add to sett_ne: with C numbers and sett_args alone the result is a sett_arg (of a comparison 1 or
 * 0). The macro uses each operand once: naming it twice would double the user's compile time at every level
 * of nesting. A tuple must not be an operand here: a tuple literal would end with the inner block. */
#ifdef __GNUC__
#define SETT_BINARY(name, op, x, y) \
    SETT_BINARY_(name, op, x, y, SETT_CAT(sett_x, __COUNTER__), SETT_CAT(sett_y, __COUNTER__))
#define SETT_BINARY_(name, op, x, y, a, b) \
    __extension__({ \
        __auto_type a = (x); \
        __auto_type b = (y); \
        _Static_assert(SETT_NO_TENSOR(a) && SETT_NO_TENSOR(b), SETT_NO_VALUE_); \
        SETT_PICK_BINARY(a, b)(SETT_HERE, name, op, SETT_A(a), SETT_A(b)); \
    })
#else
#define SETT_BINARY(name, op, x, y) SETT_PICK_BINARY(x, y)(SETT_HERE, name, op, SETT_A(x), SETT_A(y))
#endif
#define sett_add(x, y) SETT_BINARY("sett_add", SETT_ADD, x, y)
#define sett_sub(x, y) SETT_BINARY("sett_sub", SETT_SUB, x, y)
#define sett_mul(x, y) SETT_BINARY("sett_mul", SETT_MUL, x, y)
#define sett_div(x, y) SETT_BINARY("sett_div", SETT_DIV, x, y)
#define sett_floordiv(x, y) SETT_BINARY("sett_floordiv", SETT_FLOORDIV, x, y)
#define sett_mod(x, y) SETT_BINARY("sett_mod", SETT_MOD, x, y)
#define sett_min(x, y) SETT_BINARY("sett_min", SETT_MIN, x, y)
#define sett_max(x, y) SETT_BINARY("sett_max", SETT_MAX, x, y)
#define sett_and(x, y) SETT_BINARY("sett_and", SETT_AND, x, y)
#define sett_or(x, y) SETT_BINARY("sett_or", SETT_OR, x, y)
#define sett_xor(x, y) SETT_BINARY("sett_xor", SETT_XOR, x, y)
#define sett_shl(x, y) SETT_BINARY("sett_shl", SETT_SHL, x, y)
#define sett_shr(x, y) SETT_BINARY("sett_shr", SETT_SHR, x, y)
#define sett_lt(x, y) SETT_BINARY("sett_lt", SETT_LT, x, y)
#define sett_le(x, y) SETT_BINARY("sett_le", SETT_LE, x, y)
#define sett_gt(x, y) SETT_BINARY("sett_gt", SETT_GT, x, y)
#define sett_ge(x, y) SETT_BINARY("sett_ge", SETT_GE, x, y)
#define sett_eq(x, y) SETT_BINARY("sett_eq", SETT_EQ, x, y)
#define sett_ne(x, y) SETT_BINARY("sett_ne", SETT_NE, x, y)

#define sett_neg(x) sett_unary_at(SETT_HERE, "sett_neg", SETT_NEG, SETT_V(x))
#define sett_abs(x) sett_unary_at(SETT_HERE, "sett_abs", SETT_ABS, SETT_V(x))
#define sett_not(x) sett_unary_at(SETT_HERE, "sett_not", SETT_NOT, SETT_V(x))
#define sett_sqrt(x) sett_unary_at(SETT_HERE, "sett_sqrt", SETT_SQRT, SETT_V(x))
#define sett_floor(x) sett_unary_at(SETT_HERE, "sett_floor", SETT_FLOOR, SETT_V(x))
#define sett_ceil(x) sett_unary_at(SETT_HERE, "sett_ceil", SETT_CEIL, SETT_V(x))
#define sett_trunc(x) sett_unary_at(SETT_HERE, "sett_trunc", SETT_TRUNC, SETT_V(x))
#define sett_roundeven(x) sett_unary_at(SETT_HERE, "sett_roundeven", SETT_ROUNDEVEN, SETT_V(x))
#define sett_round(x) sett_unary_at(SETT_HERE, "sett_round", SETT_ROUND, SETT_V(x))
#define sett_isnan(x) sett_unary_at(SETT_HERE, "sett_isnan", SETT_ISNAN, SETT_V(x))
#define sett_isinf(x) sett_unary_at(SETT_HERE, "sett_isinf", SETT_ISINF, SETT_V(x))
#define sett_isfinite(x) sett_unary_at(SETT_HERE, "sett_isfinite", SETT_ISFINITE, SETT_V(x))
#define sett_isnormal(x) sett_unary_at(SETT_HERE, "sett_isnormal", SETT_ISNORMAL, SETT_V(x))

/* Accurate functions of floats. Error bounds: Float32 1 ulp, but 2 for tan, asin, acos, atan, atan2, sinh,
 * cosh, asinh, acosh, atanh, erfc, cbrt and pow; Float64 2 ulp; 16-bit floats are computed in Float32 and
 * rounded. docs/ops.md has the measured errors. Infinities, NaN, signed zeros and subnormal numbers are
 * treated as C's functions of these names treat them. Each function is an expansion into IEEE and integer
 * operations, so that its bits are the same on every engine and GPU. sett_sin and sett_cos of one value share
 * all but their last steps. */
#define sett_exp2(x) sett_unary_at(SETT_HERE, "sett_exp2", SETT_EXP2, SETT_V(x))
#define sett_exp(x) sett_unary_at(SETT_HERE, "sett_exp", SETT_EXP, SETT_V(x))
#define sett_expm1(x) sett_unary_at(SETT_HERE, "sett_expm1", SETT_EXPM1, SETT_V(x))
#define sett_log(x) sett_unary_at(SETT_HERE, "sett_log", SETT_LOG, SETT_V(x))
#define sett_log2(x) sett_unary_at(SETT_HERE, "sett_log2", SETT_LOG2, SETT_V(x))
#define sett_log10(x) sett_unary_at(SETT_HERE, "sett_log10", SETT_LOG10, SETT_V(x))
#define sett_log1p(x) sett_unary_at(SETT_HERE, "sett_log1p", SETT_LOG1P, SETT_V(x))
#define sett_sin(x) sett_unary_at(SETT_HERE, "sett_sin", SETT_SIN, SETT_V(x))
#define sett_cos(x) sett_unary_at(SETT_HERE, "sett_cos", SETT_COS, SETT_V(x))
#define sett_tan(x) sett_unary_at(SETT_HERE, "sett_tan", SETT_TAN, SETT_V(x))
#define sett_asin(x) sett_unary_at(SETT_HERE, "sett_asin", SETT_ASIN, SETT_V(x))
#define sett_acos(x) sett_unary_at(SETT_HERE, "sett_acos", SETT_ACOS, SETT_V(x))
#define sett_atan(x) sett_unary_at(SETT_HERE, "sett_atan", SETT_ATAN, SETT_V(x))
#define sett_sinh(x) sett_unary_at(SETT_HERE, "sett_sinh", SETT_SINH, SETT_V(x))
#define sett_cosh(x) sett_unary_at(SETT_HERE, "sett_cosh", SETT_COSH, SETT_V(x))
#define sett_tanh(x) sett_unary_at(SETT_HERE, "sett_tanh", SETT_TANH, SETT_V(x))
#define sett_asinh(x) sett_unary_at(SETT_HERE, "sett_asinh", SETT_ASINH, SETT_V(x))
#define sett_acosh(x) sett_unary_at(SETT_HERE, "sett_acosh", SETT_ACOSH, SETT_V(x))
#define sett_atanh(x) sett_unary_at(SETT_HERE, "sett_atanh", SETT_ATANH, SETT_V(x))
#define sett_erf(x) sett_unary_at(SETT_HERE, "sett_erf", SETT_ERF, SETT_V(x))
#define sett_erfc(x) sett_unary_at(SETT_HERE, "sett_erfc", SETT_ERFC, SETT_V(x))
#define sett_rcp(x) sett_unary_at(SETT_HERE, "sett_rcp", SETT_RCP, SETT_V(x))
#define sett_rsqrt(x) sett_unary_at(SETT_HERE, "sett_rsqrt", SETT_RSQRT, SETT_V(x))
#define sett_cbrt(x) sett_unary_at(SETT_HERE, "sett_cbrt", SETT_CBRT, SETT_V(x))

/* Approximations by the hardware, of Float32; 16-bit floats are computed in it. Their bounds are the PTX
 * ISA's, see docs/ops.md. The CPU engine gives the correctly rounded value instead, so bits differ. The
 * functions of e and 10 cost one product more than those of 2. */
#define sett_exp_approx(x) sett_unary_at(SETT_HERE, "sett_exp_approx", SETT_EXP_APPROX, SETT_V(x))
#define sett_exp2_approx(x) sett_unary_at(SETT_HERE, "sett_exp2_approx", SETT_EXP2_APPROX, SETT_V(x))
/* The same, but a result below 2^-126 is 0: three instructions less, where weights so small do not count. */
#define sett_exp2_approx_ftz(x) \
    sett_unary_at(SETT_HERE, "sett_exp2_approx_ftz", SETT_EXP2_APPROX_FTZ, SETT_V(x))
#define sett_log_approx(x) sett_unary_at(SETT_HERE, "sett_log_approx", SETT_LOG_APPROX, SETT_V(x))
#define sett_log2_approx(x) sett_unary_at(SETT_HERE, "sett_log2_approx", SETT_LOG2_APPROX, SETT_V(x))
#define sett_log10_approx(x) sett_unary_at(SETT_HERE, "sett_log10_approx", SETT_LOG10_APPROX, SETT_V(x))
#define sett_rcp_approx(x) sett_unary_at(SETT_HERE, "sett_rcp_approx", SETT_RCP_APPROX, SETT_V(x))
#define sett_rsqrt_approx(x) sett_unary_at(SETT_HERE, "sett_rsqrt_approx", SETT_RSQRT_APPROX, SETT_V(x))
#define sett_sin_approx(x) sett_unary_at(SETT_HERE, "sett_sin_approx", SETT_SIN_APPROX, SETT_V(x))
#define sett_cos_approx(x) sett_unary_at(SETT_HERE, "sett_cos_approx", SETT_COS_APPROX, SETT_V(x))
#define sett_tan_approx(x) sett_unary_at(SETT_HERE, "sett_tan_approx", SETT_TAN_APPROX, SETT_V(x))
#define sett_tanh_approx(x) sett_unary_at(SETT_HERE, "sett_tanh_approx", SETT_TANH_APPROX, SETT_V(x))
#define sett_sqrt_approx(x) sett_unary_at(SETT_HERE, "sett_sqrt_approx", SETT_SQRT_APPROX, SETT_V(x))
/* sett_div_approx is x times sett_rcp_approx(y), within 2^-22 of x/y while 1/y is a normal number; y must be
 * a value. sett_pow_approx is 2 to the power of y times sett_log2_approx(x), for positive x; x must be a
 * value. */
#define sett_div_approx(x, y) sett_mul(x, sett_rcp_approx(y))
#define sett_pow_approx(x, y) sett_exp2_approx(sett_mul(y, sett_log2_approx(x)))
/* Writes the sine to *s and the cosine to *c; the two share their common steps. */
SETT_API void sett_sincos_at(sett_site, const char *func, sett_val *x, bool approx, sett_val **s,
    sett_val **c);
#define sett_sincos(x, s, c) sett_sincos_at(SETT_HERE, "sett_sincos", SETT_V(x), false, s, c)
#define sett_sincos_approx(x, s, c) sett_sincos_at(SETT_HERE, "sett_sincos_approx", SETT_V(x), true, s, c)

#define SETT_BINARY_VALUE(name, op, x, y) sett_binary_at(SETT_HERE, name, op, SETT_A(x), SETT_A(y))
/* At least one operand is a value; the other may be a C number. */
#define sett_pow(x, y) SETT_BINARY_VALUE("sett_pow", SETT_POW, x, y)
/* The operands have one type, or one of them is a C number. */
#define sett_atan2(y, x) SETT_BINARY_VALUE("sett_atan2", SETT_ATAN2, y, x)
#define sett_copysign(x, y) SETT_BINARY_VALUE("sett_copysign", SETT_COPYSIGN, x, y)
#define sett_fmin(x, y) SETT_BINARY_VALUE("sett_fmin", SETT_FMIN, x, y)
#define sett_fmax(x, y) SETT_BINARY_VALUE("sett_fmax", SETT_FMAX, x, y)
/* min(max(x, lo), hi) */
#define sett_clamp(x, lo, hi) sett_min(sett_max(x, lo), hi)

/* x*y + z, rounded once; of integers modulo 2^width. */
SETT_API sett_val *sett_fma_at(sett_site, sett_arg x, sett_arg y, sett_arg z);
#define sett_fma(x, y, z) sett_fma_at(SETT_HERE, SETT_A(x), SETT_A(y), SETT_A(z))
/* cond ? x : y, element by element. cond is Boolean. x and y have one type; a C number takes the other's type
 * as in arithmetic (2.5 beside an Int32: both become Float32). Two C numbers are Int32, or Float32 if one has
 * a fraction. */
SETT_API sett_val *sett_where_at(sett_site, sett_val *cond, sett_arg x, sett_arg y);
#define sett_where(cond, x, y) sett_where_at(SETT_HERE, SETT_COND(SETT_V(cond)), SETT_A(x), SETT_A(y))

/* A constant with a type, which promotes by CuTe's table as a value does. A number that an integer type
 * cannot hold wraps, as in CuTe's constructors. */
SETT_API sett_val *sett_const_at(sett_site, sett_build *, sett_dtype, sett_arg number);
#define sett_const(b, dtype, number) sett_const_at(SETT_HERE, b, dtype, SETT_A(number))
/* The value of a sett_arg (of sett_size, sett_ceil_div ...), to compute with or to convert. A dynamic one is
 * the value that it holds; an integer becomes an Int32 constant, or Int64 if it does not fit. */
SETT_API sett_val *sett_value_at(sett_site, sett_build *, sett_arg);
#define sett_value(b, arg) sett_value_at(SETT_HERE, b, SETT_A(arg))
/* A value of a static shape with every element `number`. */
SETT_API sett_val *sett_full_at(sett_site, sett_build *, sett_dtype, sett_arg shape, sett_arg number);
#define sett_full(b, dtype, ...) \
    sett_full_at(SETT_HERE_PAIR(__VA_ARGS__), b, dtype, SETT_A(SETT_1ST(__VA_ARGS__)), \
        SETT_A(SETT_2ND(__VA_ARGS__)))
SETT_API sett_val *sett_full_like_at(sett_site, const char *func, const sett_val *, sett_arg number);
#define sett_full_like(x, number) sett_full_like_at(SETT_HERE, "sett_full_like", SETT_V(x), SETT_A(number))
#define sett_zeros_like(x) sett_full_like_at(SETT_HERE, "sett_zeros_like", SETT_V(x), SETT_A(0))
#define sett_ones_like(x) sett_full_like_at(SETT_HERE, "sett_ones_like", SETT_V(x), SETT_A(1))

/* Reduces the elements of x: a left fold in element order that starts from init and rounds to the type at
 * each step. op is ADD, MUL, MIN or MAX, of integers and Booleans also AND, OR or XOR. profile: a number
 * reduces all modes, to a scalar; a tuple keeps the modes marked ALL and reduces the others, one flat mode
 * for each leaf that is kept. If no mode is reduced, the result is x.
 * init takes x's type. An integer type must hold an integer init (SETT_E_RANGE: 1000 for Int8, -1 for Uint8)
 * and truncates a fraction, as in CuTe (0.5 is 0); a float type rounds, also to infinity.
 * ADD does not count Booleans. It adds numbers of one bit, as CuTe's reduce does, so sett_reduce(x, SETT_ADD,
 * 0) gives the PARITY of the trues. sett_add and sett_warp_reduce of Booleans OR instead, since true + true
 * is 2, which is true. To count, convert first: sett_reduce(sett_to(x, SETT_I32), SETT_ADD, 0). */
SETT_API sett_val *sett_reduce_at(sett_site, const sett_val *, sett_binary_op, sett_arg init,
    sett_arg profile);
#define sett_reduce(x, op, init) sett_reduce_at(SETT_HERE, SETT_V(x), op, SETT_A(init), SETT_A(0))
#define sett_reduce_by(x, op, init, profile) \
    sett_reduce_at(SETT_HERE, SETT_V(x), op, SETT_A(init), SETT_A(profile))

/* A Boolean scalar: is any element true, are all? A number is true if it is not 0 (a NaN is not 0). */
SETT_API sett_val *sett_test_at(sett_site, const char *func, const sett_val *, bool all);
#define sett_any(x) sett_test_at(SETT_HERE, "sett_any", SETT_V(x), false)
#define sett_all(x) sett_test_at(SETT_HERE, "sett_all", SETT_V(x), true)

/* Converts. To a narrower integer: wraps. To a float: rounds to nearest even. From float to integer:
 * truncates and saturates, and NaN gives 0. To Boolean: x != 0. */
SETT_API sett_val *sett_to_at(sett_site, const sett_val *, sett_dtype);
#define sett_to(x, dtype) sett_to_at(SETT_HERE, SETT_V(x), dtype)
/* The same bits as elements of another type; where the widths differ, mode 0 scales. Elements of 4 and 6 bits
 * are packed, the lowest bits first, as in a tensor: 8 bytes are 16 elements of SETT_F4E2M1FN, 6 bytes are 8
 * of SETT_F6E3M2FN. */
SETT_API sett_val *sett_bitcast_at(sett_site, const sett_val *, sett_dtype);
#define sett_bitcast(x, dtype) sett_bitcast_at(SETT_HERE, SETT_V(x), dtype)
/* The same elements under another static shape of equal size. */
SETT_API sett_val *sett_reshape_at(sett_site, const sett_val *, sett_arg shape);
#define sett_reshape(x, ...) \
    sett_reshape_at(SETT_HERE_LAST(__VA_ARGS__), SETT_V(x), SETT_A(SETT_1ST(__VA_ARGS__)))
/* Repeats elements to a shape that x broadcasts to. If only modes of extent 1 would be added, x keeps its own
 * shape, as in CuTe. */
SETT_API sett_val *sett_broadcast_to_at(sett_site, const sett_val *, sett_arg shape);
#define sett_broadcast_to(x, ...) \
    sett_broadcast_to_at(SETT_HERE_LAST(__VA_ARGS__), SETT_V(x), SETT_A(SETT_1ST(__VA_ARGS__)))
/* The element at a coordinate (an integer is colexicographic), or, where leaves of the coordinate are ALL,
 * the value over those modes. A leaf that is known only at run time puts x into local memory, which the
 * report says, and needs a kernel's build. */
SETT_API sett_val *sett_element_at(sett_site, const sett_val *, sett_arg coord);
#define sett_element(x, ...) sett_element_at(SETT_HERE_OF(#__VA_ARGS__), SETT_V(x), SETT_TUPLE(__VA_ARGS__))

/* A value's element type and shape; 0 and () of poison. */
SETT_API sett_dtype sett_val_dtype(const sett_val *);
SETT_API sett_arg sett_val_shape(const sett_val *);
/* "tensor_value<vector<12xf32> o (3, 4)>", as CuTe prints a TensorSSA. A scalar is `?`, or `?{div=8}`, `?{i64
 * div=8}` with what is known of it. snprintf-like. */
SETT_API int sett_val_str(const sett_val *, char *buf, size_t size);
/* Promises that a dynamic integer is a multiple of div. The promise replaces what was known of it, as CuTe's
 * assume does. If the integer is made of symbols and integer scalars, outside of every sett_if, each launch
 * checks the promise (SETT_E_DIVIDE, with this line); else nothing checks it. */
SETT_API sett_val *sett_assume_at(sett_site, sett_val *, int64_t div);
#define sett_assume(x, div) sett_assume_at(SETT_HERE, SETT_V(x), div)

/* ---- bits of integers ------------------------------------------------------------------------------- */
/* Operations on signed and unsigned integers of 8 to 64 bits, element by element; operands of one call have
 * one type. All engines give the same bits.
 * popc: how many bits are 1. clz: how many zeros are above the highest 1; of 0 the width. bfind: the position
 * of the highest bit that is not a copy of the sign; -1 if there is none. These three give Int32. brev: the
 * bits in reverse order. */
SETT_API sett_val *sett_count_bits_at(sett_site, const char *func, sett_unary_op, sett_val *);
#define sett_popc(x) sett_count_bits_at(SETT_HERE, "sett_popc", SETT_POPC, SETT_V(x))
#define sett_clz(x) sett_count_bits_at(SETT_HERE, "sett_clz", SETT_CLZ, SETT_V(x))
#define sett_brev(x) sett_unary_at(SETT_HERE, "sett_brev", SETT_BREV, SETT_V(x))
SETT_API sett_val *sett_bfind_at(sett_site, sett_val *);
#define sett_bfind(x) sett_bfind_at(SETT_HERE, x)
/* bfe: the `len` bits of x from bit `pos` on, sign-extended if x is signed. bfi: x, with these bits replaced
 * by the low bits of `bits`. As bfe and bfi of PTX, of 32 and 64 bits. pos and len are numbers or integer
 * scalars from 0 to 255. */
SETT_API sett_val *sett_bfe_at(sett_site, sett_val *x, sett_arg pos, sett_arg len);
#define sett_bfe(x, pos, len) sett_bfe_at(SETT_HERE, x, SETT_A(pos), SETT_A(len))
SETT_API sett_val *sett_bfi_at(sett_site, sett_val *bits, sett_val *x, sett_arg pos, sett_arg len);
#define sett_bfi(bits, x, pos, len) sett_bfi_at(SETT_HERE, bits, x, SETT_A(pos), SETT_A(len))
/* mul_wide: the whole product, twice as wide (of 64 bits: 128). mul_hi: its upper half. mul24: the low 32
 * bits of the product of the low 24 bits, sign-extended if signed; mad24 adds z to it. For wide additions
 * with carry use Int128 and Uint128. */
SETT_API sett_val *sett_mul_wide_at(sett_site, const char *func, sett_val *, sett_val *);
#define sett_mul_wide(x, y) sett_mul_wide_at(SETT_HERE, "sett_mul_wide", x, y)
SETT_API sett_val *sett_mul_hi_at(sett_site, sett_val *, sett_val *);
#define sett_mul_hi(x, y) sett_mul_hi_at(SETT_HERE, x, y)
SETT_API sett_val *sett_mul24_at(sett_site, const char *func, sett_val *, sett_val *);
#define sett_mul24(x, y) sett_mul24_at(SETT_HERE, "sett_mul24", x, y)
#define sett_mad24(x, y, z) sett_add(sett_mul24_at(SETT_HERE, "sett_mad24", x, y), z)
/* Sum and difference, clamped to the range of the type. */
SETT_API sett_val *sett_saturate_at(sett_site, const char *func, sett_val *, sett_val *, bool sub);
#define sett_add_sat(x, y) sett_saturate_at(SETT_HERE, "sett_add_sat", x, y, false)
#define sett_sub_sat(x, y) sett_saturate_at(SETT_HERE, "sett_sub_sat", x, y, true)
/* Any function of three bits, bit by bit: the result's bit is bit 4x + 2y + z of the table `lut`. To find the
 * table, compute the function of 0xf0, 0xcc and 0xaa: that of x & y ^ z is 0xf0 & 0xcc ^ 0xaa. */
SETT_API sett_val *sett_lop3_at(sett_site, sett_val *x, sett_val *y, sett_val *z, int lut);
#define sett_lop3(x, y, z, lut) sett_lop3_at(SETT_HERE, x, y, z, lut)
/* Shifts the 64 bits hi:lo by n modulo 32, and gives 32 of them: shf_l the upper ones, shf_r the lower ones.
 * */
SETT_API sett_val *sett_shf_at(sett_site, const char *func, sett_val *lo, sett_val *hi, sett_arg n,
    bool left);
#define sett_shf_l(lo, hi, n) sett_shf_at(SETT_HERE, "sett_shf_l", lo, hi, SETT_A(n), true)
#define sett_shf_r(lo, hi, n) sett_shf_at(SETT_HERE, "sett_shf_r", lo, hi, SETT_A(n), false)
/* Selects four of the eight bytes y:x. Each digit of 4 bits of the selector, the lowest first, is the number
 * of a byte; 8 more gives that byte's sign, eight times. prmt of PTX, of 32 bits. */
SETT_API sett_val *sett_prmt_at(sett_site, sett_val *x, sett_val *y, sett_arg selector);
#define sett_prmt(x, y, selector) sett_prmt_at(SETT_HERE, x, y, SETT_A(selector))

#endif /* __cplusplus */
#endif
