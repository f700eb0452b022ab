/* SPDX-License-Identifier: Apache-2.0 */
/* One op on constants: the reference of what every engine computes.
 *
 * Integers are done modulo 2^width. Float32 and Float64 use the host's IEEE arithmetic, under the
 * default environment whatever the caller has set. Float16 and BFloat16 are computed in double
 * and rounded once more: 53 bits are enough for that to equal one rounding of + - * / and sqrt
 * (53 >= 2*11 + 2), and fma goes through a sum rounded to odd. A NaN result of arithmetic is
 * always the one that the GPU gives (see lib.h); for Float64, where GPUs keep a payload, the
 * default quiet NaN. Negation, magnitude, selection and bitcasts move bits and keep payloads. */
#include "ops.h"
#include <fenv.h>
#include <float.h>
#include <math.h>
#include <string.h>

#if FLT_EVAL_METHOD != 0
#error "folding needs float arithmetic without excess precision"
#endif

/* ---- the floating-point environment ------------------------------------------------- */
/* Embedding programs may have flush-to-zero or another rounding mode on. */
#if defined(__x86_64__)
typedef unsigned environment;
enum { MXCSR_DEFAULT = 0x1f80 };
static void enter(environment *e)
{
    *e = __builtin_ia32_stmxcsr();
    if (*e != MXCSR_DEFAULT)
        __builtin_ia32_ldmxcsr(MXCSR_DEFAULT);
}
static void leave(const environment *e)
{
    __builtin_ia32_ldmxcsr(*e);
}
#else
typedef fenv_t environment;
static void enter(environment *e)
{
    fegetenv(e);
    fesetenv(FE_DFL_ENV);
}
static void leave(const environment *e)
{
    fesetenv(e);
}
#endif

/* ---- integers ------------------------------------------------------------------------ */
struct integer {
    uint64_t u; /* zero-extended */
    int64_t s;  /* sign-extended, if the type is signed; else u */
};

static struct integer integer_of(sett_dtype d, uint64_t bits)
{
    int64_t s = sett__int_of_bits(d, bits);
    int width = sett_dtype_bits(d);
    return (struct integer){width == 64 ? bits : bits & ((UINT64_C(1) << width) - 1), s};
}

static uint64_t divide(sett_dtype d, struct integer x, struct integer y)
{
    if (!y.u)
        return UINT64_MAX;
    if (sett__dtype_kind(d) != 'i')
        return x.u / y.u;
    return y.s == -1 ? 0 - x.u : (uint64_t)(x.s / y.s); /* MIN / -1 wraps */
}

static uint64_t remainder_of(sett_dtype d, struct integer x, struct integer y)
{
    if (!y.u)
        return x.u;
    if (sett__dtype_kind(d) != 'i')
        return x.u % y.u;
    return y.s == -1 ? 0 : (uint64_t)(x.s % y.s);
}

static uint64_t shift(sett__code code, sett_dtype d, struct integer x, uint64_t by)
{
    uint64_t width = (uint64_t)sett_dtype_bits(d);
    if (code == SETT__SHL)
        return by < width ? x.u << by : 0;
    if (sett__dtype_kind(d) == 'i')
        return (uint64_t)(x.s >> (by < width ? by : width - 1));
    return by < width ? x.u >> by : 0;
}

/* Of the lowest `width` bits. */
static uint64_t bits_of(sett__code code, int width, uint64_t x)
{
    uint64_t r = 0, count = 0, top = (uint64_t)width;
    for (int i = 0; i < width; i++) {
        uint64_t bit = x >> i & 1;
        r |= bit << (width - 1 - i);
        count += bit;
        top = bit ? (uint64_t)(width - 1 - i) : top;
    }
    return code == SETT__POPC ? count : code == SETT__CLZ ? top : r;
}

static bool eval_int(sett__code code, sett_dtype d, const uint64_t *in, uint64_t *out)
{
    struct integer x = integer_of(d, in[0]), y = integer_of(d, in[1]);
    bool sign = sett__dtype_kind(d) == 'i', less = sign ? x.s < y.s : x.u < y.u;
    switch (code) {
    case SETT__ADD: *out = x.u + y.u; return true;
    case SETT__SUB: *out = x.u - y.u; return true;
    case SETT__MUL: *out = x.u * y.u; return true;
    case SETT__DIV: *out = divide(d, x, y); return true;
    case SETT__REM: *out = remainder_of(d, x, y); return true;
    case SETT__MIN: *out = less ? x.u : y.u; return true;
    case SETT__MAX: *out = less ? y.u : x.u; return true;
    case SETT__AND: *out = x.u & y.u; return true;
    case SETT__OR: *out = x.u | y.u; return true;
    case SETT__XOR: *out = x.u ^ y.u; return true;
    case SETT__SHL:
    case SETT__SHR: *out = shift(code, d, x, y.u); return true;
    case SETT__LT: *out = less; return true;
    case SETT__LE: *out = less || x.u == y.u; return true;
    case SETT__GT: *out = !less && x.u != y.u; return true;
    case SETT__GE: *out = !less; return true;
    case SETT__EQ: *out = x.u == y.u; return true;
    case SETT__NE: *out = x.u != y.u; return true;
    case SETT__NEG: *out = 0 - x.u; return true;
    case SETT__ABS: *out = sign && x.s < 0 ? 0 - x.u : x.u; return true;
    case SETT__NOT: *out = ~x.u; return true;
    case SETT__POPC:
    case SETT__CLZ:
    case SETT__BREV: *out = bits_of(code, sett_dtype_bits(d), in[0]); return true;
    default: return false;
    }
}

/* ---- floats ---------------------------------------------------------------------------- */
static double minimum(double x, double y, bool most)
{
    if (x != x || y != y)
        return x + y;
    if (x == y) /* zeros: -0 is the less */
        return (signbit(x) != 0) != most ? x : y;
    return (x < y) != most ? x : y;
}

static bool compare(sett__code code, double x, double y, uint64_t *out)
{
    switch (code) {
    case SETT__LT: *out = x < y; return true;
    case SETT__LE: *out = x <= y; return true;
    case SETT__GT: *out = x > y; return true;
    case SETT__GE: *out = x >= y; return true;
    case SETT__EQ: *out = x == y; return true;
    case SETT__NE: *out = x != y; return true;
    default: return false;
    }
}

/* x*y + z for operands of at most 11 bits, rounded to odd: the product is exact in a double, and a lowest
 * bit that says "inexact" makes the second rounding see on which side of a tie the sum is. */
static double fma_odd(double x, double y, double z)
{
    double p = x * y, sum = p + z;
    double t = sum - p, rest = (p - (sum - t)) + (z - t);
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    if (rest != rest || rest == 0 || sum - sum != 0 || bits & 1)
        return sum;
    bits += (rest > 0) == (sum > 0) ? 1 : UINT64_MAX; /* away from zero, or toward it */
    memcpy(&sum, &bits, sizeof sum);
    return sum;
}

/* The ops whose result, computed in double and rounded to the type, is right for all of the types: on
 * Float32 operands those that are exact or that are a rounding of one such. */
static bool eval_exact(sett__code code, double x, double y, double *r)
{
    switch (code) {
    case SETT__REM: *r = fmod(x, y); return true;
    case SETT__MIN: *r = minimum(x, y, false); return true;
    case SETT__MAX: *r = minimum(x, y, true); return true;
    case SETT__FLOOR: *r = floor(x); return true;
    case SETT__CEIL: *r = ceil(x); return true;
    case SETT__TRUNC: *r = trunc(x); return true;
    case SETT__RINT: *r = nearbyint(x); return true;
    default: return false;
    }
}

static bool eval_double(sett__code code, double x, double y, double z, bool narrow, double *r)
{
    switch (code) {
    case SETT__ADD: *r = x + y; return true;
    case SETT__SUB: *r = x - y; return true;
    case SETT__MUL: *r = x * y; return true;
    case SETT__DIV: *r = x / y; return true;
    case SETT__SQRT: *r = sqrt(x); return true;
    case SETT__FMA: *r = narrow ? fma_odd(x, y, z) : fma(x, y, z); return true;
    default: return eval_exact(code, x, y, r);
    }
}

static bool eval_single(sett__code code, const float *x, double *r)
{
    float f;
    switch (code) {
    case SETT__ADD: f = x[0] + x[1]; break;
    case SETT__SUB: f = x[0] - x[1]; break;
    case SETT__MUL: f = x[0] * x[1]; break;
    case SETT__DIV: f = x[0] / x[1]; break;
    case SETT__SQRT: f = sqrtf(x[0]); break;
    case SETT__FMA: f = fmaf(x[0], x[1], x[2]); break;
    default: return eval_exact(code, (double)x[0], (double)x[1], r);
    }
    *r = (double)f;
    return true;
}

#if defined(__GNUC__)
__attribute__((noinline)) /* or its arithmetic may move out of enter and leave */
#endif
static bool eval_float(sett__code code, sett_dtype d, const uint64_t *in, uint64_t *out)
{
    uint64_t sign = UINT64_C(1) << (sett_dtype_bits(d) - 1);
    double x[3], r;
    if (code == SETT__NEG || code == SETT__ABS) {
        *out = code == SETT__NEG ? in[0] ^ sign : in[0] & ~sign;
        return true;
    }
    for (int i = 0; i < 3; i++)
        x[i] = sett__float_of_bits(d, in[i]);
    if (code >= SETT__LT && code <= SETT__NE)
        return compare(code, x[0], x[1], out);
    bool done = d == SETT_F32 ? eval_single(code, (float[]){(float)x[0], (float)x[1], (float)x[2]}, &r)
                              : eval_double(code, x[0], x[1], x[2], d != SETT_F64, &r);
    if (done)
        *out = sett__bits_of_float(d, r);
    return done;
}

/* ---- conversions ------------------------------------------------------------------------- */
static bool convert(sett_dtype from, sett_dtype to, uint64_t bits, uint64_t *out)
{
    bool source = sett__dtype_is_float(from), result = sett__dtype_is_float(to);
    if (!sett__dtype_converts(from, to))
        return false;
    if (from == to)
        *out = bits;
    else if (sett__dtype_kind(to) == 's')
        *out = sett__narrow_of_f32(to, (uint32_t)bits, true);
    else if (sett__dtype_kind(from) == 's')
        *out = sett__float_convert(SETT_F32, to, sett__f32_of_narrow(from, bits));
    else if (to == SETT_BOOL)
        *out = source ? bits << (65 - sett_dtype_bits(from)) != 0 : bits != 0;
    else if (source)
        *out = result ? sett__float_convert(from, to, bits) : sett__integer_of_float(from, to, bits);
    else if (from == SETT_U64 && result)
        *out = sett__float_of_integer(to, false, bits);
    else
        *out = sett__bits_of_int(to, sett__int_of_bits(from, bits));
    return true;
}

static bool select_one(const uint64_t *in, uint64_t *out)
{
    *out = in[0] ? in[1] : in[2];
    return true;
}

/* Folded arithmetic must be what the op does on one element: other classes have no meaning here. */
static int arity(sett__code code)
{
    switch (code < SETT__N_CODES ? sett__ops[code].cls : SETT__C_END) {
    case SETT__C_UNARY:
    case SETT__C_CONVERT: return 1;
    case SETT__C_BINARY:
    case SETT__C_COMPARE: return 2;
    case SETT__C_TERNARY:
    case SETT__C_SELECT: return 3;
    default: return 0;
    }
}

bool sett__eval(
    sett__code code, sett_dtype dtype, sett_dtype to, const uint64_t *in, int n_in, uint64_t *out)
{
    uint64_t x[3] = {0, 0, 0};
    char kind = sett__dtype_kind(dtype), cls = sett__dtype_class(dtype);
    bool wide = sett__dtype_is_wide(dtype) || sett__dtype_is_wide(to);
    if (!cls || wide || n_in != arity(code) || !n_in || !strchr(sett__ops[code].types, cls))
        return false;
    memcpy(x, in, (size_t)n_in * sizeof *x);
    bool done;
    if (code == SETT__CONVERT)
        return convert(dtype, to, x[0], out);
    if (code == SETT__BITCAST) {
        *out = x[0];
        return sett__dtype_bytes(dtype) == sett__dtype_bytes(to);
    }
    if (code == SETT__SELECT)
        return select_one(x, out);
    if (kind == 'f') {
        environment e;
        enter(&e);
        done = eval_float(code, dtype, x, out);
        leave(&e);
        return done;
    }
    done = eval_int(code, dtype, x, out);
    if (done && sett__ops[code].cls != SETT__C_COMPARE && sett_dtype_bits(dtype) < 64)
        *out &= (UINT64_C(1) << sett_dtype_bits(dtype)) - 1;
    return done;
}
