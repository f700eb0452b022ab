/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of a warp: every op of ops.def on rows of 32 lanes. wide_base.c and wide_avx2.c
 * include this file, each for its instruction set, and SETT__WIDE names the table that it ends in.
 * The loops over lanes have a constant count and no branch, so that they become vector code; what
 * they compute does not depend on the instruction set.
 *
 * A kernel takes `rows` rows; bit i of splat says that operand i has one row, used for all. The
 * destination never overlaps an operand. A NaN that arithmetic makes is always the canonical one:
 * else its bits would depend on which operand the compiler puts first. */
#include "rows.h"
#include <math.h>
#include <string.h>
#if defined __F16C__ || defined __SSE2__
#include <immintrin.h>
#endif
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

#define ROW static __attribute__((noinline)) void
#define INLINE static inline __attribute__((always_inline))
#define ARGS void *restrict dv, const void *av, const void *bv, const void *cv, uint32_t rows, uint32_t splat
#define UNUSED (void)av, (void)bv, (void)cv, (void)splat
#define LANES for (int l = 0; l < WARP; l++)
#define STEP(i) ((splat >> (i)) & 1 ? 0 : WARP)
#define MAP1(name, TD, TA, expr) \
    ROW name(ARGS) \
    { \
        TD *d = dv; \
        const TA *a = av; \
        UNUSED; \
        for (; rows; rows--, d += WARP, a += STEP(0)) \
            LANES { \
                TA x = a[l]; \
                d[l] = (TD)(expr); \
            } \
    }
#define MAP2(name, TD, TA, expr) \
    ROW name(ARGS) \
    { \
        TD *d = dv; \
        const TA *a = av, *b = bv; \
        UNUSED; \
        for (; rows; rows--, d += WARP, a += STEP(0), b += STEP(1)) \
            LANES { \
                TA x = a[l], y = b[l]; \
                d[l] = (TD)(expr); \
            } \
    }
#define MAP3(name, TD, TA, expr) \
    ROW name(ARGS) \
    { \
        TD *d = dv; \
        const TA *a = av, *b = bv, *c = cv; \
        UNUSED; \
        for (; rows; rows--, d += WARP, a += STEP(0), b += STEP(1), c += STEP(2)) \
            LANES { \
                TA x = a[l], y = b[l], z = c[l]; \
                d[l] = (TD)(expr); \
            } \
    }

/* Those that kernels run most, unrolled: a row is 4 vectors of AVX2. */
#define HOT _Pragma("GCC unroll 4") LANES
#define HOT2(name, T, expr) \
    ROW name(ARGS) \
    { \
        T *d = dv; \
        const T *a = av, *b = bv; \
        UNUSED; \
        for (; rows; rows--, d += WARP, a += STEP(0), b += STEP(1)) \
            HOT { \
                T x = a[l], y = b[l]; \
                d[l] = (T)(expr); \
            } \
    }

typedef uint8_t BOOL_t; /* 0 or 1 */
typedef int8_t I8_t;
typedef int16_t I16_t;
typedef int32_t I32_t;
typedef int64_t I64_t;
typedef uint8_t U8_t;
typedef uint16_t U16_t;
typedef uint32_t U32_t;
typedef uint64_t U64_t;
typedef float F32_t;
typedef double F64_t;

/* X(type, width): wide enough that unsigned arithmetic of it never promotes to int. */
#define SIGNED(X) X(I8, uint32_t) X(I16, uint32_t) X(I32, uint32_t) X(I64, uint64_t)
#define UNSIGNED(X) X(U8, uint32_t) X(U16, uint32_t) X(U32, uint32_t) X(U64, uint64_t)
#define FLOATS(X) X(F32, 32) X(F64, 64)
#define HALVES(X) X(F16) X(BF16)

/* ---- bits and numbers ---------------------------------------------------------- */
INLINE uint32_t bits_F32(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}
INLINE float from_F32(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}
INLINE uint64_t bits_F64(double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}
INLINE double from_F64(uint64_t u)
{
    double x;
    memcpy(&x, &u, sizeof x);
    return x;
}
INLINE float canon_F32(float x)
{
    return x != x ? from_F32(0x7fffffffu) : x;
}
INLINE double canon_F64(double x)
{
    return x != x ? from_F64(0x7ff8000000000000u) : x;
}
INLINE float widen1_BF16(uint16_t h)
{
    return from_F32((uint32_t)h << 16);
}
/* Exponents are moved up by a multiplication, which also makes subnormals normal. */
INLINE float widen1_F16(uint16_t h)
{
    uint32_t m = (uint32_t)(h & 0x7fff) << 13;
    uint32_t u = bits_F32(from_F32(m) * 0x1p112f);
    u = (h & 0x7c00) == 0x7c00 ? m | 0x7f800000u : u;
    return from_F32(u | (uint32_t)(h & 0x8000) << 16);
}
INLINE uint16_t narrow1_BF16(float x)
{
    uint32_t u = bits_F32(x);
    uint32_t r = (u + 0x7fff + (u >> 16 & 1)) >> 16;
    return (uint16_t)((u & 0x7fffffff) > 0x7f800000u ? 0x7fff : r);
}
INLINE uint16_t narrow1_F16(float x)
{
    uint32_t u = bits_F32(x), m = u & 0x7fffffff;
    uint32_t normal = (m + 0xfff + (m >> 13 & 1) - (112u << 23)) >> 13;
    uint32_t tiny = bits_F32(from_F32(m) + 0.5f) - 0x3f000000u; /* the sum rounds at 2^-24 */
    uint32_t r = m < 0x38800000u ? tiny : normal;
    r = m >= 0x47800000u ? 0x7c00 : r;
    r |= u >> 16 & 0x8000;
    return (uint16_t)(m > 0x7f800000u ? 0x7fff : r);
}
/* double to float, rounded to odd: rounding that once more to 16 bits gives what one rounding
 * of the double would, since a float has more than two bits to spare. */
INLINE float odd_F32(double x)
{
    float f = (float)x;
    uint32_t u = bits_F32(f);
    double gap = x - (double)f; /* NaN for infinities and NaN */
    uint32_t away = (gap > 0) == ((u >> 31) == 0);
    uint32_t fixed = u + (away ? 1u : ~0u);
    int inexact = (gap < 0) | (gap > 0);
    int overflow = ((u & 0x7fffffff) == 0x7f800000u) & (x - x == 0);
    u = (inexact & !(u & 1)) ? fixed : u;
    return from_F32(overflow ? (u & 0x80000000u) | 0x7f7fffffu : u);
}

/* ---- rows of 16-bit floats -------------------------------------------------------- */
INLINE void widen_BF16(float *restrict d, const uint16_t *s)
{
    LANES d[l] = widen1_BF16(s[l]);
}
INLINE void narrow_BF16(uint16_t *restrict d, const float *s)
{
    LANES d[l] = narrow1_BF16(s[l]);
}
INLINE void widen_F16(float *restrict d, const uint16_t *s)
{
#ifdef __F16C__
    for (int l = 0; l < WARP; l += 8)
        _mm256_storeu_ps(d + l, _mm256_cvtph_ps(_mm_loadu_si128((const void *)(s + l))));
#else
    LANES d[l] = widen1_F16(s[l]);
#endif
}
INLINE void narrow_F16(uint16_t *restrict d, const float *s)
{
#ifdef __F16C__
    for (int l = 0; l < WARP; l += 8)
        _mm_storeu_si128((void *)(d + l), _mm256_cvtps_ph(_mm256_loadu_ps(s + l), _MM_FROUND_TO_NEAREST_INT));
    LANES d[l] = (uint16_t)((d[l] & 0x7fff) > 0x7c00 ? 0x7fff : d[l]);
#else
    LANES d[l] = narrow1_F16(s[l]);
#endif
}

/* ---- arithmetic ---------------------------------------------------------------------- */
#define RING(T, W) \
    MAP2(ADD_##T, T##_t, T##_t, (W)x + (W)y) \
    MAP2(SUB_##T, T##_t, T##_t, (W)x - (W)y) \
    MAP2(MUL_##T, T##_t, T##_t, (W)x * (W)y) \
    MAP1(NEG_##T, T##_t, T##_t, (W)0 - (W)x) \
    MAP2(MIN_##T, T##_t, T##_t, x < y ? x : y) \
    MAP2(MAX_##T, T##_t, T##_t, x > y ? x : y) \
    MAP2(LT_##T, uint8_t, T##_t, x < y) \
    MAP2(LE_##T, uint8_t, T##_t, x <= y)
SIGNED(RING)
UNSIGNED(RING)
#undef RING

/* Of the bits alone: one kernel for both signs. */
#define BITWISE(T, W) \
    MAP2(AND_##T, T##_t, T##_t, x & y) \
    MAP2(OR_##T, T##_t, T##_t, x | y) \
    MAP2(XOR_##T, T##_t, T##_t, x ^ y) \
    MAP1(NOT_##T, T##_t, T##_t, ~x) \
    MAP2(SHL_##T, T##_t, T##_t, y < sizeof x * 8 ? (W)x << (y & (sizeof x * 8 - 1)) : 0) \
    MAP2(SHR_##T, T##_t, T##_t, y < sizeof x * 8 ? x >> (y & (sizeof x * 8 - 1)) : 0) \
    MAP2(EQ_##T, uint8_t, T##_t, x == y) \
    MAP2(NE_##T, uint8_t, T##_t, x != y) \
    MAP1(TEST_##T, uint8_t, T##_t, x != 0)
UNSIGNED(BITWISE)
#undef BITWISE
#define SHIFT(T, B) \
    INLINE T##_t shr1_##T(T##_t x, T##_t y) \
    { \
        U##B##_t by = (U##B##_t)y; \
        by = by < B - 1 ? by : B - 1; \
        return (T##_t)(x >> by); \
    } \
    MAP2(SHR_##T, T##_t, T##_t, shr1_##T(x, y))
SHIFT(I8, 8)
SHIFT(I16, 16)
SHIFT(I32, 32)
SHIFT(I64, 64)
#undef SHIFT
#define ABSOLUTE(T, W) MAP1(ABS_##T, T##_t, T##_t, x < 0 ? (W)0 - (W)x : (W)x)
SIGNED(ABSOLUTE)
#undef ABSOLUTE
MAP2(LT_BOOL, uint8_t, uint8_t, x < y)
MAP2(LE_BOOL, uint8_t, uint8_t, x <= y)
MAP1(NOT_BOOL, uint8_t, uint8_t, x ^ 1)

/* Up to 32 bits a double's quotient truncates to the exact one, and a vector unit has that.
 * A divisor that would trap is replaced and the answer put in afterwards. */
#define QUOTIENT(T, W) \
    INLINE T##_t div1_##T(T##_t x, T##_t y) \
    { \
        T##_t safe = (T##_t)(y == 0 ? 1 : y); \
        T##_t q = (T##_t)((double)x / (double)safe); \
        return (T##_t)(y == 0 ? (T##_t)~(T##_t)0 : q); \
    } \
    INLINE T##_t rem1_##T(T##_t x, T##_t y) \
    { \
        T##_t safe = (T##_t)(y == 0 ? 1 : y); \
        T##_t q = (T##_t)((double)x / (double)safe); \
        return (T##_t)(y == 0 ? x : (T##_t)((W)x - (W)q * (W)safe)); \
    }
#define QUOTIENT_SIGNED(T, W) \
    INLINE T##_t div1_##T(T##_t x, T##_t y) \
    { \
        T##_t safe = (T##_t)(y == 0 || y == -1 ? 1 : y); \
        T##_t q = (T##_t)((double)x / (double)safe); \
        q = (T##_t)(y == -1 ? (T##_t)((W)0 - (W)x) : q); \
        return (T##_t)(y == 0 ? -1 : q); \
    } \
    INLINE T##_t rem1_##T(T##_t x, T##_t y) \
    { \
        T##_t safe = (T##_t)(y == 0 || y == -1 ? 1 : y); \
        T##_t q = (T##_t)((double)x / (double)safe); \
        T##_t r = (T##_t)((W)x - (W)q * (W)safe); \
        r = (T##_t)(y == -1 ? 0 : r); \
        return (T##_t)(y == 0 ? x : r); \
    }
QUOTIENT_SIGNED(I8, uint32_t)
QUOTIENT_SIGNED(I16, uint32_t)
QUOTIENT_SIGNED(I32, uint32_t)
QUOTIENT(U8, uint32_t)
QUOTIENT(U16, uint32_t)
QUOTIENT(U32, uint32_t)
#undef QUOTIENT
#undef QUOTIENT_SIGNED
INLINE int64_t div1_I64(int64_t x, int64_t y)
{
    return y == 0 ? -1 : y == -1 ? (int64_t)(0 - (uint64_t)x) : x / y;
}
INLINE int64_t rem1_I64(int64_t x, int64_t y)
{
    return y == 0 ? x : y == -1 ? 0 : x % y;
}
INLINE uint64_t div1_U64(uint64_t x, uint64_t y)
{
    return y == 0 ? ~(uint64_t)0 : x / y;
}
INLINE uint64_t rem1_U64(uint64_t x, uint64_t y)
{
    return y == 0 ? x : x % y;
}
#define DIVIDE(T, W) MAP2(DIV_##T, T##_t, T##_t, div1_##T(x, y)) MAP2(REM_##T, T##_t, T##_t, rem1_##T(x, y))
SIGNED(DIVIDE)
UNSIGNED(DIVIDE)
#undef DIVIDE

/* IEEE 754-2019 minimum and maximum: equal operands differ at most in the sign of zero. */
#define EXTREME(T, B) \
    INLINE T##_t min1_##T(T##_t x, T##_t y) \
    { \
        T##_t r = x < y ? x : y; \
        T##_t zero = from_##T(bits_##T(x) | bits_##T(y)); \
        r = x == y ? zero : r; \
        return canon_##T(x != x ? x : r); \
    } \
    INLINE T##_t max1_##T(T##_t x, T##_t y) \
    { \
        T##_t r = x > y ? x : y; \
        T##_t zero = from_##T(bits_##T(x) & bits_##T(y)); \
        r = x == y ? zero : r; \
        return canon_##T(x != x ? x : r); \
    }
FLOATS(EXTREME)
#undef EXTREME
INLINE float fma1_F32(float x, float y, float z)
{
    return fmaf(x, y, z);
}
INLINE double fma1_F64(double x, double y, double z)
{
    return fma(x, y, z);
}
#define SIGN(B) ((uint##B##_t)1 << (B - 1))
#define FLOATING(T, B) \
    HOT2(ADD_##T, T##_t, canon_##T(x + y)) \
    MAP2(SUB_##T, T##_t, T##_t, canon_##T(x - y)) \
    HOT2(MUL_##T, T##_t, canon_##T(x * y)) \
    MAP2(DIV_##T, T##_t, T##_t, canon_##T(x / y)) \
    MAP2(REM_##T, T##_t, T##_t, canon_##T((T##_t)(B == 32 ? fmodf((float)x, (float)y) : fmod(x, y)))) \
    MAP2(MIN_##T, T##_t, T##_t, min1_##T(x, y)) \
    MAP2(MAX_##T, T##_t, T##_t, max1_##T(x, y)) \
    MAP3(FMA_##T, T##_t, T##_t, canon_##T(fma1_##T(x, y, z))) \
    MAP2(LT_##T, uint8_t, T##_t, x < y) \
    MAP2(LE_##T, uint8_t, T##_t, x <= y) \
    MAP2(EQ_##T, uint8_t, T##_t, x == y) \
    MAP2(NE_##T, uint8_t, T##_t, x != y) \
    MAP1(TEST_##T, uint8_t, T##_t, x != 0) \
    MAP1(NEG_##T, uint##B##_t, uint##B##_t, x ^ SIGN(B)) \
    MAP1(ABS_##T, uint##B##_t, uint##B##_t, x & ~SIGN(B)) \
    MAP1(SQRT_##T, T##_t, T##_t, canon_##T((T##_t)(B == 32 ? sqrtf((float)x) : sqrt(x)))) \
    MAP1(FLOOR_##T, T##_t, T##_t, canon_##T((T##_t)(B == 32 ? floorf((float)x) : floor(x)))) \
    MAP1(CEIL_##T, T##_t, T##_t, canon_##T((T##_t)(B == 32 ? ceilf((float)x) : ceil(x)))) \
    MAP1(TRUNC_##T, T##_t, T##_t, canon_##T((T##_t)(B == 32 ? truncf((float)x) : trunc(x)))) \
    MAP1(RINT_##T, T##_t, T##_t, canon_##T((T##_t)(B == 32 ? rintf((float)x) : rint(x))))
FLOATS(FLOATING)
#undef FLOATING

/* The approximations of the hardware, here to the last bit (but for ties that a double's
 * error can turn). */
MAP1(EX2A_F32, float, float, canon_F32((float)exp2((double)x)))
MAP1(EX2F_F32, float, float, x < -126 ? 0 : canon_F32((float)exp2((double)x)))
MAP1(LG2A_F32, float, float, canon_F32((float)log2((double)x)))
MAP1(RCPA_F32, float, float, canon_F32(1.0f / x))
MAP1(RSQA_F32, float, float, canon_F32((float)(1.0 / sqrt((double)x))))
MAP1(SINA_F32, float, float, canon_F32((float)sin((double)x)))
MAP1(COSA_F32, float, float, canon_F32((float)cos((double)x)))
MAP1(TANHA_F32, float, float, canon_F32((float)tanh((double)x)))

/* 16-bit floats: an exact step to 32 bits, the op there, and back. + - * / and sqrt come out
 * correctly rounded since 24 >= 2 * 11 + 2. */
#define VIA1(op, T) \
    ROW op##_##T(ARGS) \
    { \
        uint16_t *d = dv; \
        const uint16_t *a = av; \
        float x[WARP], r[WARP]; \
        UNUSED; \
        for (; rows; rows--, d += WARP, a += STEP(0)) { \
            widen_##T(x, a); \
            op##_F32(r, x, NULL, NULL, 1, 0); \
            narrow_##T(d, r); \
        } \
    }
#define VIA2(op, T, TR, OUT) \
    ROW op##_##T(ARGS) \
    { \
        OUT *d = dv; \
        const uint16_t *a = av, *b = bv; \
        float x[WARP], y[WARP]; \
        TR r[WARP]; \
        UNUSED; \
        for (; rows; rows--, d += WARP, a += STEP(0), b += STEP(1)) { \
            widen_##T(x, a); \
            widen_##T(y, b); \
            op##_F32(r, x, y, NULL, 1, 0); \
            VIA_OUT_##OUT(T, d, r); \
        } \
    }
#define VIA_OUT_uint16_t(T, d, r) narrow_##T(d, r)
#define VIA_OUT_uint8_t(T, d, r) memcpy(d, r, WARP)
#define HALF(T) \
    VIA2(ADD, T, float, uint16_t) VIA2(SUB, T, float, uint16_t) VIA2(MUL, T, float, uint16_t) \
    VIA2(DIV, T, float, uint16_t) VIA2(REM, T, float, uint16_t) VIA2(MIN, T, float, uint16_t) \
    VIA2(MAX, T, float, uint16_t) VIA2(LT, T, uint8_t, uint8_t) VIA2(LE, T, uint8_t, uint8_t) \
    VIA2(EQ, T, uint8_t, uint8_t) VIA2(NE, T, uint8_t, uint8_t) \
    VIA1(SQRT, T) VIA1(FLOOR, T) VIA1(CEIL, T) VIA1(TRUNC, T) VIA1(RINT, T)
HALVES(HALF)
#undef HALF
MAP1(NEG_half, uint16_t, uint16_t, x ^ 0x8000)
MAP1(ABS_half, uint16_t, uint16_t, x & 0x7fff)
MAP1(TEST_half, uint8_t, uint16_t, (x & 0x7fff) != 0)

/* One rounding: the product is exact in a double; the sum is rounded to odd there by its error
 * (Knuth's two-sum), so that the next two roundings act as one. */
INLINE float fma1_half(float x, float y, float z)
{
    double p = (double)x * (double)y, c = (double)z, s = p + c;
    double t = s - p, e = (p - (s - t)) + (c - t);
    uint64_t u = bits_F64(s);
    uint64_t fixed = u + ((e > 0) == ((u >> 63) == 0) ? 1u : ~(uint64_t)0);
    u = (((e < 0) | (e > 0)) & !(u & 1)) ? fixed : u;
    return odd_F32(from_F64(u));
}
#define HALF_FMA(T) MAP3(FMA_##T, uint16_t, uint16_t, narrow1_##T(fma1_half(widen1_##T(x), widen1_##T(y), widen1_##T(z))))
HALVES(HALF_FMA)
#undef HALF_FMA

#define CHOOSE(T, W) \
    ROW SELECT_##T(ARGS) \
    { \
        T##_t *d = dv; \
        const uint8_t *a = av; \
        const T##_t *b = bv, *c = cv; \
        for (; rows; rows--, d += WARP, a += STEP(0), b += STEP(1), c += STEP(2)) \
            LANES d[l] = a[l] ? b[l] : c[l]; \
    }
UNSIGNED(CHOOSE)
#undef CHOOSE

/* ---- conversions ------------------------------------------------------------------------ */
/* Same size: the bits stay. */
#define RESIZE(S, D) MAP1(S##_to_##D, D##_t, S##_t, x)
RESIZE(I8, U16) RESIZE(I8, U32) RESIZE(I8, U64) RESIZE(U8, U16) RESIZE(U8, U32) RESIZE(U8, U64) RESIZE(U8, U8)
RESIZE(I16, U32) RESIZE(I16, U64) RESIZE(U16, U8) RESIZE(U16, U32) RESIZE(U16, U64) RESIZE(U16, U16)
RESIZE(I32, U64) RESIZE(U32, U8) RESIZE(U32, U16) RESIZE(U32, U64) RESIZE(U32, U32)
RESIZE(U64, U8) RESIZE(U64, U16) RESIZE(U64, U32) RESIZE(U64, U64)
#undef RESIZE
/* Below 2^53 a double is exact; above, its low bits stand for all that was cut (rounding to odd). */
INLINE double exact_I64(int64_t x)
{
    uint64_t m = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
    m = m >> 53 ? (m & ~(uint64_t)0x7ff) | (uint64_t)((m & 0x7ff) != 0) << 11 : m;
    return x < 0 ? -(double)m : (double)m;
}
INLINE double exact_U64(uint64_t m)
{
    return (double)(m >> 53 ? (m & ~(uint64_t)0x7ff) | (uint64_t)((m & 0x7ff) != 0) << 11 : m);
}
INLINE float small_I64(int64_t x)
{
    return (float)(x > 1 << 17 ? 1 << 17 : x < -(1 << 17) ? -(1 << 17) : (int32_t)x);
}
INLINE float small_U64(uint64_t x)
{
    return (float)(x > 1 << 17 ? 1 << 17 : (int32_t)x);
}
#define exact_I8 (double)
#define exact_I16 (double)
#define exact_I32 (double)
#define exact_U8 (double)
#define exact_U16 (double)
#define exact_U32 (double)
#define small_I8 (float)
#define small_I16 (float)
#define small_I32 small_I64
#define small_U8 (float)
#define small_U16 (float)
#define small_U32 small_U64
#define INT_TO_FLOAT(T, W) \
    MAP1(T##_to_F64, double, T##_t, x) \
    MAP1(T##_to_F32, float, T##_t, x) \
    MAP1(T##_to_F16, uint16_t, T##_t, narrow1_F16(small_##T(x))) \
    MAP1(T##_to_BF16, uint16_t, T##_t, narrow1_BF16(odd_F32(exact_##T(x))))
SIGNED(INT_TO_FLOAT)
UNSIGNED(INT_TO_FLOAT)
#undef INT_TO_FLOAT
/* lo is a float; 2^n, the first number that does not fit, is another. */
#define SATURATE(F, T, lo, hi, LO, HI) \
    INLINE T##_t F##_sat_##T(F##_t x) \
    { \
        int in = (x > (F##_t)(lo)) & (x < (F##_t)(hi)); \
        T##_t r = (T##_t)(in ? x : 0); \
        r = x >= (F##_t)(hi) ? (HI) : r; \
        return x <= (F##_t)(lo) ? (LO) : r; \
    } \
    MAP1(F##_to_##T, T##_t, F##_t, F##_sat_##T(x))
#define FLOAT_TO_INT(F, B) \
    SATURATE(F, I8, -0x1p7, 0x1p7, INT8_MIN, INT8_MAX) \
    SATURATE(F, I16, -0x1p15, 0x1p15, INT16_MIN, INT16_MAX) \
    SATURATE(F, I32, -0x1p31, 0x1p31, INT32_MIN, INT32_MAX) \
    SATURATE(F, I64, -0x1p63, 0x1p63, INT64_MIN, INT64_MAX) \
    SATURATE(F, U8, 0, 0x1p8, 0, UINT8_MAX) \
    SATURATE(F, U16, 0, 0x1p16, 0, UINT16_MAX) \
    SATURATE(F, U32, 0, 0x1p32, 0, UINT32_MAX) \
    SATURATE(F, U64, 0, 0x1p64, 0, UINT64_MAX)
FLOATS(FLOAT_TO_INT)
#undef FLOAT_TO_INT
#undef SATURATE
MAP1(F32_to_F64, double, float, canon_F64((double)x))
MAP1(F64_to_F32, float, double, canon_F32((float)x))
MAP1(F32_to_F32, uint32_t, uint32_t, x) /* no conversion: the bits stay, a NaN's too */
MAP1(F64_to_F64, uint64_t, uint64_t, x)
MAP1(F16_to_F16, uint16_t, uint16_t, x)
MAP1(BF16_to_BF16, uint16_t, uint16_t, x)
MAP1(F64_to_F16, uint16_t, double, narrow1_F16(odd_F32(x)))
MAP1(F64_to_BF16, uint16_t, double, narrow1_BF16(odd_F32(x)))
/* Floats of 8 bits: to the nearest even number, at most the greatest one; NaN is 0x7f. */
INLINE uint8_t narrow1_F8(float x, int mant, int bias, uint32_t most)
{
    uint32_t u = bits_F32(x), m = u & 0x7fffffff, last = m >> (23 - mant) & 1;
    uint32_t normal = ((m + (1u << (22 - mant)) - 1 + last) >> (23 - mant)) - ((uint32_t)(127 - bias) << mant);
    float magic = from_F32((uint32_t)(127 + 24 - bias - mant) << 23); /* a sum with it rounds at the least number */
    uint32_t tiny = bits_F32(from_F32(m) + magic) - bits_F32(magic);
    uint32_t r = m < (uint32_t)(128 - bias) << 23 ? tiny : normal;
    r = (r < most ? r : most) | (u >> 24 & 0x80);
    return (uint8_t)(m > 0x7f800000u ? 0x7f : r);
}
INLINE uint16_t widen1_F8E4M3FN(uint8_t h)
{
    float x = from_F32((uint32_t)(h & 0x7f) << 20) * 0x1p120f;
    return (uint16_t)((h & 0x7f) == 0x7f ? 0x7fff : narrow1_F16(x) | (h & 0x80) << 8);
}
INLINE uint16_t widen1_F8E5M2(uint8_t h)
{
    return (uint16_t)((h & 0x7f) > 0x7c ? 0x7fff : h << 8);
}
MAP1(F32_to_F8E4M3FN, uint8_t, float, narrow1_F8(x, 3, 7, 0x7e))
MAP1(F32_to_F8E5M2, uint8_t, float, narrow1_F8(x, 2, 15, 0x7b))
MAP1(F8E4M3FN_to_F16, uint16_t, uint8_t, widen1_F8E4M3FN(x))
MAP1(F8E5M2_to_F16, uint16_t, uint8_t, widen1_F8E5M2(x))
#define HALF_FLOAT(T) \
    ROW T##_to_F32(ARGS) \
    { \
        float *d = dv; \
        const uint16_t *a = av; \
        UNUSED; \
        for (; rows; rows--, d += WARP, a += STEP(0)) { \
            widen_##T(d, a); \
            LANES d[l] = canon_F32(d[l]); \
        } \
    } \
    ROW F32_to_##T(ARGS) \
    { \
        uint16_t *d = dv; \
        const float *a = av; \
        UNUSED; \
        for (; rows; rows--, d += WARP, a += STEP(0)) \
            narrow_##T(d, a); \
    }
HALVES(HALF_FLOAT)
#undef HALF_FLOAT
#define FROM_HALF(S, D, TD) \
    ROW S##_to_##D(ARGS) \
    { \
        TD *d = dv; \
        const uint16_t *a = av; \
        float x[WARP]; \
        UNUSED; \
        for (; rows; rows--, d += WARP, a += STEP(0)) { \
            widen_##S(x, a); \
            F32_to_##D(d, x, NULL, NULL, 1, 0); \
        } \
    }
#define FROM_HALF_ALL(S) \
    FROM_HALF(S, I8, int8_t) FROM_HALF(S, I16, int16_t) FROM_HALF(S, I32, int32_t) FROM_HALF(S, I64, int64_t) \
    FROM_HALF(S, U8, uint8_t) FROM_HALF(S, U16, uint16_t) FROM_HALF(S, U32, uint32_t) FROM_HALF(S, U64, uint64_t) \
    FROM_HALF(S, F64, double)
HALVES(FROM_HALF_ALL)
FROM_HALF(F16, BF16, uint16_t)
FROM_HALF(BF16, F16, uint16_t)
#undef FROM_HALF_ALL
#undef FROM_HALF

/* ---- lanes and memory ----------------------------------------------------------------------- */
/* Do the lanes lie one after another, step apart? */
static bool affine_I32(const void *p, int64_t step)
{
    const uint32_t *a = p;
    uint32_t first = a[0], off = 0;
    LANES off |= a[l] - first - (uint32_t)l * (uint32_t)step;
    return !off && (int64_t)(int32_t)a[WARP - 1] - (int32_t)first == (WARP - 1) * step;
}
static bool affine_I64(const void *p, int64_t step)
{
    const uint64_t *a = p;
    uint64_t first = a[0], off = 0;
    LANES off |= a[l] - first - (uint64_t)l * (uint64_t)step;
    return !off;
}

/* Memory has a lane's elements side by side, registers have an element's lanes: a transposition.
 * The common counts are written out so that each becomes shuffles. */
#define TRANSPOSE(T, N, count) \
    ROW gather_##T##_##N(void *restrict dv, const void *sv, uint32_t n) \
    { \
        T##_t *d = dv; \
        const T##_t *s = sv; \
        (void)n; \
        for (uint32_t e = 0; e < (count); e++) \
            LANES d[e * WARP + (uint32_t)l] = s[(uint32_t)l * (count) + e]; \
    } \
    ROW scatter_##T##_##N(void *restrict dv, const void *sv, uint32_t n) \
    { \
        T##_t *d = dv; \
        const T##_t *s = sv; \
        (void)n; \
        LANES for (uint32_t e = 0; e < (count); e++) d[(uint32_t)l * (count) + e] = s[e * WARP + (uint32_t)l]; \
    }
#define TRANSPOSES(T, W) TRANSPOSE(T, 2, 2) TRANSPOSE(T, 4, 4) TRANSPOSE(T, 8, 8) TRANSPOSE(T, N, n)
UNSIGNED(TRANSPOSES)
#undef TRANSPOSES
#undef TRANSPOSE

/* ---- past the caches ---------------------------------------------------------------------------- */
#ifdef __F16C__
#define STREAM_WORD _mm256_stream_si256
#define LOAD_WORD _mm256_loadu_si256
typedef __m256i stream_word;
#elif defined __SSE2__
#define STREAM_WORD _mm_stream_si128
#define LOAD_WORD _mm_loadu_si128
typedef __m128i stream_word;
#endif
static void stream(void *restrict d, const void *s, size_t bytes)
{
    size_t at = 0;
#ifdef __SSE2__
    if (!((uintptr_t)d & 63))
        for (; at + 64 <= bytes; at += 64)
            for (size_t k = at; k < at + 64; k += sizeof(stream_word))
                STREAM_WORD((stream_word *)((char *)d + k), LOAD_WORD((const stream_word *)((const char *)s + k)));
#endif
    memcpy((char *)d + at, (const char *)s + at, bytes - at);
}

static void drain(void)
{
#ifdef __SSE2__
    _mm_sfence();
#endif
}

#include "dot.h"

/* ---- the table --------------------------------------------------------------------------------- */
#define ALL_INTS(op) \
    [SETT_I8] = op##_I8, [SETT_I16] = op##_I16, [SETT_I32] = op##_I32, [SETT_I64] = op##_I64, [SETT_U8] = op##_U8, \
    [SETT_U16] = op##_U16, [SETT_U32] = op##_U32, [SETT_U64] = op##_U64
/* The sign does not matter. */
#define ALL_BITS(op) \
    [SETT_I8] = op##_U8, [SETT_I16] = op##_U16, [SETT_I32] = op##_U32, [SETT_I64] = op##_U64, [SETT_U8] = op##_U8, \
    [SETT_U16] = op##_U16, [SETT_U32] = op##_U32, [SETT_U64] = op##_U64, [SETT_BOOL] = op##_U8
#define ALL_FLOATS(op) [SETT_F16] = op##_F16, [SETT_BF16] = op##_BF16, [SETT_F32] = op##_F32, [SETT_F64] = op##_F64
#define BIT_FLOATS(op) [SETT_F16] = op##_half, [SETT_BF16] = op##_half, [SETT_F32] = op##_F32, [SETT_F64] = op##_F64
#define TO_FLOATS(S) [SETT_F16] = S##_to_F16, [SETT_BF16] = S##_to_BF16, [SETT_F32] = S##_to_F32, [SETT_F64] = S##_to_F64
#define FROM_INT(S, S8, S16, S32, S64, U) \
    {[SETT_BOOL] = TEST_##U, [SETT_I8] = S8##_to_U8, [SETT_U8] = S8##_to_U8, [SETT_I16] = S16##_to_U16, \
     [SETT_U16] = S16##_to_U16, [SETT_I32] = S32##_to_U32, [SETT_U32] = S32##_to_U32, [SETT_I64] = S64##_to_U64, \
     [SETT_U64] = S64##_to_U64, TO_FLOATS(S)}
#define FROM_FLOAT(S, test) \
    [SETT_BOOL] = test, [SETT_I8] = S##_to_I8, [SETT_I16] = S##_to_I16, [SETT_I32] = S##_to_I32, \
     [SETT_I64] = S##_to_I64, [SETT_U8] = S##_to_U8, [SETT_U16] = S##_to_U16, [SETT_U32] = S##_to_U32, \
     [SETT_U64] = S##_to_U64, TO_FLOATS(S)
#define TURNS(t) {t##_N, t##_2, t##_4, t##_8}
const sett__wide SETT__WIDE = {
    .op = {
        [SETT__ADD] = {ALL_INTS(ADD), ALL_FLOATS(ADD)},
        [SETT__SUB] = {ALL_INTS(SUB), ALL_FLOATS(SUB)},
        [SETT__MUL] = {ALL_INTS(MUL), ALL_FLOATS(MUL)},
        [SETT__DIV] = {ALL_INTS(DIV), ALL_FLOATS(DIV)},
        [SETT__REM] = {ALL_INTS(REM), ALL_FLOATS(REM)},
        [SETT__MIN] = {ALL_INTS(MIN), ALL_FLOATS(MIN)},
        [SETT__MAX] = {ALL_INTS(MAX), ALL_FLOATS(MAX)},
        [SETT__AND] = {ALL_BITS(AND)},
        [SETT__OR] = {ALL_BITS(OR)},
        [SETT__XOR] = {ALL_BITS(XOR)},
        [SETT__SHL] = {ALL_BITS(SHL)},
        [SETT__SHR] = {ALL_INTS(SHR)},
        [SETT__LT] = {ALL_INTS(LT), ALL_FLOATS(LT), [SETT_BOOL] = LT_BOOL},
        [SETT__LE] = {ALL_INTS(LE), ALL_FLOATS(LE), [SETT_BOOL] = LE_BOOL},
        [SETT__EQ] = {ALL_BITS(EQ), ALL_FLOATS(EQ)},
        [SETT__NE] = {ALL_BITS(NE), ALL_FLOATS(NE)},
        [SETT__FMA] = {ALL_FLOATS(FMA)},
        [SETT__NEG] = {ALL_INTS(NEG), BIT_FLOATS(NEG)},
        [SETT__ABS] = {[SETT_I8] = ABS_I8, [SETT_I16] = ABS_I16, [SETT_I32] = ABS_I32, [SETT_I64] = ABS_I64,
                       BIT_FLOATS(ABS)},
        [SETT__NOT] = {[SETT_BOOL] = NOT_BOOL, [SETT_I8] = NOT_U8, [SETT_I16] = NOT_U16, [SETT_I32] = NOT_U32,
                       [SETT_I64] = NOT_U64, [SETT_U8] = NOT_U8, [SETT_U16] = NOT_U16, [SETT_U32] = NOT_U32,
                       [SETT_U64] = NOT_U64},
        [SETT__SQRT] = {ALL_FLOATS(SQRT)},
        [SETT__FLOOR] = {ALL_FLOATS(FLOOR)},
        [SETT__CEIL] = {ALL_FLOATS(CEIL)},
        [SETT__TRUNC] = {ALL_FLOATS(TRUNC)},
        [SETT__RINT] = {ALL_FLOATS(RINT)},
        [SETT__EX2A] = {[SETT_F32] = EX2A_F32},
        [SETT__LG2A] = {[SETT_F32] = LG2A_F32},
        [SETT__RCPA] = {[SETT_F32] = RCPA_F32},
        [SETT__RSQA] = {[SETT_F32] = RSQA_F32},
        [SETT__SINA] = {[SETT_F32] = SINA_F32},
        [SETT__COSA] = {[SETT_F32] = COSA_F32},
        [SETT__TANHA] = {[SETT_F32] = TANHA_F32},
    },
    .exp2_flushed = EX2F_F32,
    .convert = {
        [SETT_BOOL] = FROM_INT(U8, U8, U8, U8, U8, U8),
        [SETT_I8] = FROM_INT(I8, U8, I8, I8, I8, U8),
        [SETT_I16] = FROM_INT(I16, U16, U16, I16, I16, U16),
        [SETT_I32] = FROM_INT(I32, U32, U32, U32, I32, U32),
        [SETT_I64] = FROM_INT(I64, U64, U64, U64, U64, U64),
        [SETT_U8] = FROM_INT(U8, U8, U8, U8, U8, U8),
        [SETT_U16] = FROM_INT(U16, U16, U16, U16, U16, U16),
        [SETT_U32] = FROM_INT(U32, U32, U32, U32, U32, U32),
        [SETT_U64] = FROM_INT(U64, U64, U64, U64, U64, U64),
        [SETT_F16] = {FROM_FLOAT(F16, TEST_half)},
        [SETT_BF16] = {FROM_FLOAT(BF16, TEST_half)},
        [SETT_F32] = {[SETT_F8E4M3FN] = F32_to_F8E4M3FN, [SETT_F8E5M2] = F32_to_F8E5M2, FROM_FLOAT(F32, TEST_F32)},
        [SETT_F8E4M3FN] = {[SETT_F16] = F8E4M3FN_to_F16},
        [SETT_F8E5M2] = {[SETT_F16] = F8E5M2_to_F16},
        [SETT_F64] = {FROM_FLOAT(F64, TEST_F64)},
    },
    .select = {SELECT_U8, SELECT_U16, SELECT_U32, SELECT_U64},
    .affine = {affine_I32, affine_I64},
    .stream = stream,
    .drain = drain,
    .left = left,
    .columns = columns,
    .gather = {TURNS(gather_U8), TURNS(gather_U16), TURNS(gather_U32), TURNS(gather_U64)},
    .scatter = {TURNS(scatter_U8), TURNS(scatter_U16), TURNS(scatter_U32), TURNS(scatter_U64)},
};
