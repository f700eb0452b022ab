/* SPDX-License-Identifier: Apache-2.0 */
/* Values: a sett_val is a number in registers, or a TensorSSA: an immutable value with
 * an element type and a static nested shape, its elements in colexicographic order
 * (mode 0 fastest).
 *
 * Operands of different shapes broadcast: the shorter shape is padded with 1 on the
 * right, extents must be equal or 1. Operands of different types promote by CuTe's
 * table; a C number is weak, it takes the type of the value beside it (a C float beside
 * an integer value: Float32; a number that the type cannot hold: SETT_E_RANGE).
 * Arithmetic with a sett_val * in it gives a sett_val *; with C numbers and sett_args
 * only it gives a sett_arg, folded while it can. */
#ifndef SETT_VALUE_H
#define SETT_VALUE_H
#include <sett/arg.h>

typedef enum sett_binary_op {
    SETT_ADD, SETT_SUB, SETT_MUL,
    SETT_DIV,      /* integers: Float32, as in CuTe; floats: IEEE */
    SETT_FLOORDIV, /* rounds toward minus infinity */
    SETT_MOD,      /* sign of the dividend, as C's %; floats: fmod. By 0: an error where it is a C number, else no trap: x % 0 is x, x // 0 no use */
    SETT_MIN, SETT_MAX, /* a NaN operand gives NaN; -0 < +0 */
    SETT_AND, SETT_OR, SETT_XOR, /* integers and Booleans */
    SETT_SHL, SETT_SHR,          /* integers; by the width or more: 0, a signed SHR: the sign */
    SETT_LT, SETT_LE, SETT_GT, SETT_GE, SETT_EQ, SETT_NE, /* Boolean; ordered, NE true on NaN */
    SETT_POW,       /* floats: C's pow; integers: modulo 2^width, a negative power truncates toward zero */
    SETT_ATAN2,     /* (y, x): the angle of (x, y), floats */
    SETT_COPYSIGN,  /* |x| with y's sign, floats */
    SETT_FMIN, SETT_FMAX /* of floats the operand that is no NaN, -0 < +0 */
} sett_binary_op;
typedef enum sett_unary_op {
    SETT_NEG, SETT_ABS, SETT_NOT, SETT_SQRT, SETT_FLOOR, SETT_CEIL, SETT_TRUNC, SETT_ROUNDEVEN,
    SETT_EXP2,
    SETT_EXP2_APPROX, SETT_LOG2_APPROX, SETT_RCP_APPROX, SETT_RSQRT_APPROX, SETT_SIN_APPROX, SETT_COS_APPROX,
    SETT_TANH_APPROX,
    SETT_RCP, SETT_RSQRT,
    SETT_EXP, SETT_EXPM1, SETT_LOG, SETT_LOG2, SETT_LOG10, SETT_LOG1P, SETT_SIN, SETT_COS, SETT_TAN, SETT_ASIN, SETT_ACOS,
    SETT_ATAN, SETT_SINH, SETT_COSH, SETT_TANH, SETT_ASINH, SETT_ACOSH, SETT_ATANH, SETT_ERF, SETT_ERFC, SETT_CBRT,
    SETT_ROUND,                                          /* to the nearest integer, halves away from zero */
    SETT_ISNAN, SETT_ISINF, SETT_ISFINITE, SETT_ISNORMAL, /* Boolean */
    SETT_EXP_APPROX, SETT_LOG_APPROX, SETT_LOG10_APPROX, SETT_TAN_APPROX, SETT_SQRT_APPROX,
    SETT_POPC, SETT_CLZ, SETT_BREV /* of bits: see below */
} sett_unary_op;

#ifndef __cplusplus
SETT_API sett_val *sett_binary_at(sett_site, const char *func, sett_binary_op, sett_arg, sett_arg);
SETT_API sett_arg sett_index_at(sett_site, const char *func, sett_binary_op, sett_arg, sett_arg);
SETT_API sett_val *sett_unary_at(sett_site, const char *func, sett_unary_op, sett_val *);

#define SETT_PICK_BINARY(x, y) \
    _Generic((x), sett_val *: sett_binary_at, const sett_val *: sett_binary_at, \
        default: _Generic((y), sett_val *: sett_binary_at, const sett_val *: sett_binary_at, default: sett_index_at))
#define SETT_NO_TENSOR(x) _Generic((x), sett_tensor *: 0, const sett_tensor *: 0, default: 1)
/* Each operand is named once, or nested calls would double the user's compile time at
 * every level. Tuples are not bound so: a literal would die with the inner block. */
#ifdef __GNUC__
#define SETT_BINARY(name, op, x, y) SETT_BINARY_(name, op, x, y, SETT_CAT(sett_x, __COUNTER__), SETT_CAT(sett_y, __COUNTER__))
#define SETT_BINARY_(name, op, x, y, a, b) \
    __extension__({ \
        __auto_type a = (x); \
        __auto_type b = (y); \
        _Static_assert(SETT_NO_TENSOR(a) && SETT_NO_TENSOR(b), "a tensor is no value: sett_load(t) is that of all of it, sett_at(t, i) of one element"); \
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

#define sett_neg(x) sett_unary_at(SETT_HERE, "sett_neg", SETT_NEG, x)
#define sett_abs(x) sett_unary_at(SETT_HERE, "sett_abs", SETT_ABS, x)
#define sett_not(x) sett_unary_at(SETT_HERE, "sett_not", SETT_NOT, x)
#define sett_sqrt(x) sett_unary_at(SETT_HERE, "sett_sqrt", SETT_SQRT, x)
#define sett_floor(x) sett_unary_at(SETT_HERE, "sett_floor", SETT_FLOOR, x)
#define sett_ceil(x) sett_unary_at(SETT_HERE, "sett_ceil", SETT_CEIL, x)
#define sett_trunc(x) sett_unary_at(SETT_HERE, "sett_trunc", SETT_TRUNC, x)
#define sett_roundeven(x) sett_unary_at(SETT_HERE, "sett_roundeven", SETT_ROUNDEVEN, x)
#define sett_round(x) sett_unary_at(SETT_HERE, "sett_round", SETT_ROUND, x)
#define sett_isnan(x) sett_unary_at(SETT_HERE, "sett_isnan", SETT_ISNAN, x)
#define sett_isinf(x) sett_unary_at(SETT_HERE, "sett_isinf", SETT_ISINF, x)
#define sett_isfinite(x) sett_unary_at(SETT_HERE, "sett_isfinite", SETT_ISFINITE, x)
#define sett_isnormal(x) sett_unary_at(SETT_HERE, "sett_isnormal", SETT_ISNORMAL, x)

/* Functions of floats, accurate: Float32 within 1 ulp, of tan, asin, acos, atan, atan2, sinh, cosh, asinh, acosh, atanh,
 * erfc, cbrt and pow within 2; Float64 within 2; 16-bit floats are computed in Float32 and rounded. docs/ops.md has what
 * was measured. Infinities, NaN, signed zeros and subnormal numbers as C's functions of these names have them. The same
 * bits on every engine and GPU: each is an expansion into IEEE and integer operations. sett_sin and sett_cos of one value
 * share all but their last steps. */
#define sett_exp2(x) sett_unary_at(SETT_HERE, "sett_exp2", SETT_EXP2, x)
#define sett_exp(x) sett_unary_at(SETT_HERE, "sett_exp", SETT_EXP, x)
#define sett_expm1(x) sett_unary_at(SETT_HERE, "sett_expm1", SETT_EXPM1, x)
#define sett_log(x) sett_unary_at(SETT_HERE, "sett_log", SETT_LOG, x)
#define sett_log2(x) sett_unary_at(SETT_HERE, "sett_log2", SETT_LOG2, x)
#define sett_log10(x) sett_unary_at(SETT_HERE, "sett_log10", SETT_LOG10, x)
#define sett_log1p(x) sett_unary_at(SETT_HERE, "sett_log1p", SETT_LOG1P, x)
#define sett_sin(x) sett_unary_at(SETT_HERE, "sett_sin", SETT_SIN, x)
#define sett_cos(x) sett_unary_at(SETT_HERE, "sett_cos", SETT_COS, x)
#define sett_tan(x) sett_unary_at(SETT_HERE, "sett_tan", SETT_TAN, x)
#define sett_asin(x) sett_unary_at(SETT_HERE, "sett_asin", SETT_ASIN, x)
#define sett_acos(x) sett_unary_at(SETT_HERE, "sett_acos", SETT_ACOS, x)
#define sett_atan(x) sett_unary_at(SETT_HERE, "sett_atan", SETT_ATAN, x)
#define sett_sinh(x) sett_unary_at(SETT_HERE, "sett_sinh", SETT_SINH, x)
#define sett_cosh(x) sett_unary_at(SETT_HERE, "sett_cosh", SETT_COSH, x)
#define sett_tanh(x) sett_unary_at(SETT_HERE, "sett_tanh", SETT_TANH, x)
#define sett_asinh(x) sett_unary_at(SETT_HERE, "sett_asinh", SETT_ASINH, x)
#define sett_acosh(x) sett_unary_at(SETT_HERE, "sett_acosh", SETT_ACOSH, x)
#define sett_atanh(x) sett_unary_at(SETT_HERE, "sett_atanh", SETT_ATANH, x)
#define sett_erf(x) sett_unary_at(SETT_HERE, "sett_erf", SETT_ERF, x)
#define sett_erfc(x) sett_unary_at(SETT_HERE, "sett_erfc", SETT_ERFC, x)
#define sett_rcp(x) sett_unary_at(SETT_HERE, "sett_rcp", SETT_RCP, x)
#define sett_rsqrt(x) sett_unary_at(SETT_HERE, "sett_rsqrt", SETT_RSQRT, x)
#define sett_cbrt(x) sett_unary_at(SETT_HERE, "sett_cbrt", SETT_CBRT, x)

/* The hardware's approximations of Float32 (16-bit floats through it), with the PTX ISA's bounds: see docs/ops.md. On the
 * CPU engine the correctly rounded value, so not bit-equal. Those of e and 10 are a product more than those of 2. */
#define sett_exp_approx(x) sett_unary_at(SETT_HERE, "sett_exp_approx", SETT_EXP_APPROX, x)
#define sett_exp2_approx(x) sett_unary_at(SETT_HERE, "sett_exp2_approx", SETT_EXP2_APPROX, x)
#define sett_log_approx(x) sett_unary_at(SETT_HERE, "sett_log_approx", SETT_LOG_APPROX, x)
#define sett_log2_approx(x) sett_unary_at(SETT_HERE, "sett_log2_approx", SETT_LOG2_APPROX, x)
#define sett_log10_approx(x) sett_unary_at(SETT_HERE, "sett_log10_approx", SETT_LOG10_APPROX, x)
#define sett_rcp_approx(x) sett_unary_at(SETT_HERE, "sett_rcp_approx", SETT_RCP_APPROX, x)
#define sett_rsqrt_approx(x) sett_unary_at(SETT_HERE, "sett_rsqrt_approx", SETT_RSQRT_APPROX, x)
#define sett_sin_approx(x) sett_unary_at(SETT_HERE, "sett_sin_approx", SETT_SIN_APPROX, x)
#define sett_cos_approx(x) sett_unary_at(SETT_HERE, "sett_cos_approx", SETT_COS_APPROX, x)
#define sett_tan_approx(x) sett_unary_at(SETT_HERE, "sett_tan_approx", SETT_TAN_APPROX, x)
#define sett_tanh_approx(x) sett_unary_at(SETT_HERE, "sett_tanh_approx", SETT_TANH_APPROX, x)
#define sett_sqrt_approx(x) sett_unary_at(SETT_HERE, "sett_sqrt_approx", SETT_SQRT_APPROX, x)
/* x times rcp_approx(y), within 2^-22 of x/y while 1/y is a normal number; 2 to the power of y log2_approx(x), x positive.
 * Of the first y is a value, of the second x. */
#define sett_div_approx(x, y) sett_mul(x, sett_rcp_approx(y))
#define sett_pow_approx(x, y) sett_exp2_approx(sett_mul(y, sett_log2_approx(x)))
/* Both at once: *s and *c. They share what sett_sin and sett_cos have in common. */
SETT_API void sett_sincos_at(sett_site, const char *func, sett_val *x, bool approx, sett_val **s, sett_val **c);
#define sett_sincos(x, s, c) sett_sincos_at(SETT_HERE, "sett_sincos", x, false, s, c)
#define sett_sincos_approx(x, s, c) sett_sincos_at(SETT_HERE, "sett_sincos_approx", x, true, s, c)

#define SETT_BINARY_VALUE(name, op, x, y) sett_binary_at(SETT_HERE, name, op, SETT_A(x), SETT_A(y))
/* At least one operand is a sett_val; the other may be a number. */
#define sett_pow(x, y) SETT_BINARY_VALUE("sett_pow", SETT_POW, x, y)
/* Of atan2, copysign, fmin and fmax both have one type, or one is a C number. */
#define sett_atan2(y, x) SETT_BINARY_VALUE("sett_atan2", SETT_ATAN2, y, x)
#define sett_copysign(x, y) SETT_BINARY_VALUE("sett_copysign", SETT_COPYSIGN, x, y)
#define sett_fmin(x, y) SETT_BINARY_VALUE("sett_fmin", SETT_FMIN, x, y)
#define sett_fmax(x, y) SETT_BINARY_VALUE("sett_fmax", SETT_FMAX, x, y)
/* min(max(x, lo), hi) */
#define sett_clamp(x, lo, hi) sett_min(sett_max(x, lo), hi)

/* x*y + z with one rounding; of integers modulo 2^width. */
SETT_API sett_val *sett_fma_at(sett_site, sett_arg x, sett_arg y, sett_arg z);
#define sett_fma(x, y, z) sett_fma_at(SETT_HERE, SETT_A(x), SETT_A(y), SETT_A(z))
/* cond ? x : y by element; cond Boolean; x and y of one type, which a C number takes as in arithmetic (2.5
 * beside an Int32: both Float32). Two C numbers: Int32, or Float32 if one has a fraction. */
SETT_API sett_val *sett_where_at(sett_site, sett_val *cond, sett_arg x, sett_arg y);
#define sett_where(cond, x, y) sett_where_at(SETT_HERE, cond, SETT_A(x), SETT_A(y))

/* A typed constant, which promotes by CuTe's table; a number that the type cannot hold
 * wraps for integers, as CuTe's constructors do. */
SETT_API sett_val *sett_const_at(sett_site, sett_build *, sett_dtype, sett_arg number);
#define sett_const(b, dtype, number) sett_const_at(SETT_HERE, b, dtype, SETT_A(number))
/* What a sett_arg stands for (sett_size, sett_ceil_div...), to compute with or convert: a dynamic one its value, an
 * integer a constant of Int32, or Int64 where it does not fit. */
SETT_API sett_val *sett_value_at(sett_site, sett_build *, sett_arg);
#define sett_value(b, arg) sett_value_at(SETT_HERE, b, SETT_A(arg))
/* A value of a static shape with every element `number`. */
SETT_API sett_val *sett_full_at(sett_site, sett_build *, sett_dtype, sett_arg shape, sett_arg number);
#define sett_full(b, dtype, shape, number) sett_full_at(SETT_HERE, b, dtype, SETT_A(shape), SETT_A(number))
SETT_API sett_val *sett_full_like_at(sett_site, const char *func, const sett_val *, sett_arg number);
#define sett_full_like(x, number) sett_full_like_at(SETT_HERE, "sett_full_like", x, SETT_A(number))
#define sett_zeros_like(x) sett_full_like_at(SETT_HERE, "sett_zeros_like", x, SETT_A(0))
#define sett_ones_like(x) sett_full_like_at(SETT_HERE, "sett_ones_like", x, SETT_A(1))

/* Booleans are not counted by ADD: sett_add and sett_warp_reduce of them OR (arithmetic gives a Boolean: true + true is
 * 2, which is true), and sett_reduce(x, SETT_ADD, 0) gives the PARITY of the trues, for it adds numbers of one bit, as
 * CuTe's reduce does. To count, convert first: sett_reduce(sett_to(x, SETT_I32), SETT_ADD, 0).
 *
 * Left fold in element order, starting from init, rounded to the type at each step. An integer type must hold an
 * integer init (SETT_E_RANGE: 1000 for Int8, -1 for Uint8); as in CuTe it truncates a fraction (0.5 is 0), and a float type
 * rounds, also to infinity. op
 * is ADD, MUL, MIN or MAX (AND, OR, XOR for integers and Booleans). profile: a number
 * reduces all to a scalar; a tuple keeps the modes marked ALL and reduces the rest, one
 * flat mode a kept leaf; nothing reduced: x itself. */
SETT_API sett_val *sett_reduce_at(sett_site, const sett_val *, sett_binary_op, sett_arg init, sett_arg profile);
#define sett_reduce(x, op, init) sett_reduce_at(SETT_HERE, x, op, SETT_A(init), SETT_A(0))
#define sett_reduce_by(x, op, init, profile) sett_reduce_at(SETT_HERE, x, op, SETT_A(init), SETT_A(profile))

/* Whether any element, or every one, is true: of numbers, not 0 (a NaN is not 0). A Boolean scalar. */
SETT_API sett_val *sett_test_at(sett_site, const char *func, const sett_val *, bool all);
#define sett_any(x) sett_test_at(SETT_HERE, "sett_any", x, false)
#define sett_all(x) sett_test_at(SETT_HERE, "sett_all", x, true)

/* Conversion: to narrower integers wraps; to floats rounds to nearest even; float to
 * integer truncates, saturates, NaN gives 0; to Boolean x != 0. */
SETT_API sett_val *sett_to_at(sett_site, const sett_val *, sett_dtype);
#define sett_to(x, dtype) sett_to_at(SETT_HERE, x, dtype)
/* The same bits as another type; mode 0 scales when the widths differ. Elements of 4 and 6 bits are packed, the lowest
 * bits first: as in a tensor of them, and 8 bytes are 16 of SETT_F4E2M1FN, 6 are 8 of SETT_F6E3M2FN. */
SETT_API sett_val *sett_bitcast_at(sett_site, const sett_val *, sett_dtype);
#define sett_bitcast(x, dtype) sett_bitcast_at(SETT_HERE, x, dtype)
/* The same elements under another static shape of equal size. */
SETT_API sett_val *sett_reshape_at(sett_site, const sett_val *, sett_arg shape);
#define sett_reshape(x, shape) sett_reshape_at(SETT_HERE, x, SETT_A(shape))
/* Every element repeated to a shape that x broadcasts to; x's own shape if only modes of
 * extent 1 would be added, as in CuTe. */
SETT_API sett_val *sett_broadcast_to_at(sett_site, const sett_val *, sett_arg shape);
#define sett_broadcast_to(x, shape) sett_broadcast_to_at(SETT_HERE, x, SETT_A(shape))
/* The element at a coordinate (an integer is colexicographic), or with ALL leaves the value over those modes. A leaf that
 * is a value, known at run time, takes x through local memory (the report says so) and is possible only in a kernel. */
SETT_API sett_val *sett_element_at(sett_site, const sett_val *, sett_arg coord);
#define sett_element(x, ...) sett_element_at(SETT_HERE_OF(#__VA_ARGS__), x, SETT_TUPLE(__VA_ARGS__))

/* What is known: element type, shape, and for poison 0 and (). */
SETT_API sett_dtype sett_val_dtype(const sett_val *);
SETT_API sett_arg sett_val_shape(const sett_val *);
/* "tensor_value<vector<12xf32> o (3, 4)>", as CuTe prints a TensorSSA; a scalar is `?`, or `?{div=8}`, `?{i64 div=8}` where
 * more is known of it. snprintf-like. */
SETT_API int sett_val_str(const sett_val *, char *buf, size_t size);
/* A promise about a dynamic integer: it is a multiple of div. It replaces what was known, as CuTe's assume does. Made
 * of symbols and integer scalars, and outside of every if, it is checked by each launch (SETT_E_DIVIDE, with this line);
 * else nothing checks it. */
SETT_API sett_val *sett_assume_at(sett_site, sett_val *, int64_t div);
#define sett_assume(x, div) sett_assume_at(SETT_HERE, x, div)

/* ---- bits of integers ------------------------------------------------------------------------------- */
/* Elementwise, of signed and unsigned integers; operands of one call have one type. Any engine, the same bits.
 * popc: how many bits are 1; clz: zeros above the highest 1, of 0 the width; bfind: place of the highest bit that is not a copy
 * of the sign, -1 if there is none; all Int32. brev: the bits in reverse. 8 to 64 bits. */
SETT_API sett_val *sett_count_bits_at(sett_site, const char *func, sett_unary_op, sett_val *);
#define sett_popc(x) sett_count_bits_at(SETT_HERE, "sett_popc", SETT_POPC, x)
#define sett_clz(x) sett_count_bits_at(SETT_HERE, "sett_clz", SETT_CLZ, x)
#define sett_brev(x) sett_unary_at(SETT_HERE, "sett_brev", SETT_BREV, x)
SETT_API sett_val *sett_bfind_at(sett_site, sett_val *);
#define sett_bfind(x) sett_bfind_at(SETT_HERE, x)
/* The `len` bits of x from `pos` on, extended by their sign if x is signed; x with these bits replaced by the low ones of
 * `bits`. As bfe and bfi of PTX, of 32 and 64 bits; pos and len from 0 to 255, numbers or integer scalars. */
SETT_API sett_val *sett_bfe_at(sett_site, sett_val *x, sett_arg pos, sett_arg len);
#define sett_bfe(x, pos, len) sett_bfe_at(SETT_HERE, x, SETT_A(pos), SETT_A(len))
SETT_API sett_val *sett_bfi_at(sett_site, sett_val *bits, sett_val *x, sett_arg pos, sett_arg len);
#define sett_bfi(bits, x, pos, len) sett_bfi_at(SETT_HERE, bits, x, SETT_A(pos), SETT_A(len))
/* The whole product, twice as wide (of 64 bits: of 128), and its upper half. mul24: the low 32 bits of the product of the low 24
 * bits, with their sign if signed; mad24 adds z. Wide additions with carry: Int128 and Uint128. */
SETT_API sett_val *sett_mul_wide_at(sett_site, const char *func, sett_val *, sett_val *);
#define sett_mul_wide(x, y) sett_mul_wide_at(SETT_HERE, "sett_mul_wide", x, y)
SETT_API sett_val *sett_mul_hi_at(sett_site, sett_val *, sett_val *);
#define sett_mul_hi(x, y) sett_mul_hi_at(SETT_HERE, x, y)
SETT_API sett_val *sett_mul24_at(sett_site, const char *func, sett_val *, sett_val *);
#define sett_mul24(x, y) sett_mul24_at(SETT_HERE, "sett_mul24", x, y)
#define sett_mad24(x, y, z) sett_add(sett_mul24_at(SETT_HERE, "sett_mad24", x, y), z)
/* Sum and difference that stop at the ends of the type. */
SETT_API sett_val *sett_saturate_at(sett_site, const char *func, sett_val *, sett_val *, bool sub);
#define sett_add_sat(x, y) sett_saturate_at(SETT_HERE, "sett_add_sat", x, y, false)
#define sett_sub_sat(x, y) sett_saturate_at(SETT_HERE, "sett_sub_sat", x, y, true)
/* Bit by bit, bit 4x + 2y + z of the table `lut`: with 0xf0, 0xcc and 0xaa for x, y and z, x & y ^ z is 0xf0 & 0xcc ^ 0xaa. */
SETT_API sett_val *sett_lop3_at(sett_site, sett_val *x, sett_val *y, sett_val *z, int lut);
#define sett_lop3(x, y, z, lut) sett_lop3_at(SETT_HERE, x, y, z, lut)
/* 32 of the 64 bits hi:lo, shifted by n modulo 32: left, the upper ones; right, the lower ones. */
SETT_API sett_val *sett_shf_at(sett_site, const char *func, sett_val *lo, sett_val *hi, sett_arg n, bool left);
#define sett_shf_l(lo, hi, n) sett_shf_at(SETT_HERE, "sett_shf_l", lo, hi, SETT_A(n), true)
#define sett_shf_r(lo, hi, n) sett_shf_at(SETT_HERE, "sett_shf_r", lo, hi, SETT_A(n), false)
/* Four of the eight bytes y:x, by the selector's digits of 4 bits, the lowest first: which one, and with 8 added its sign,
 * eight times. prmt of PTX, of 32 bits. */
SETT_API sett_val *sett_prmt_at(sett_site, sett_val *x, sett_val *y, sett_arg selector);
#define sett_prmt(x, y, selector) sett_prmt_at(SETT_HERE, x, y, SETT_A(selector))

#endif /* __cplusplus */
#endif
