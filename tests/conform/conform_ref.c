/* SPDX-License-Identifier: Apache-2.0 */
/* What each op gives, a second time and by other means than lib/: integers in 128 bits, floats by the compiler's own
 * arithmetic and one rounding of long doubles. */
#include "tests/conform/conform.h"
#include <float.h>
#include <math.h>
#include <string.h>

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 uwide;

/* ---- formats ------------------------------------------------------------------------------------------ */
static const struct format { int mantissa, least, most; } formats[] = { /* bits with the hidden one; exponents */
    [SETT_F16] = {11, -14, 15}, [SETT_BF16] = {8, -126, 127}, [SETT_F32] = {24, -126, 127}, [SETT_F64] = {53, -1022, 1023}};

uint64_t conform_mask(sett_dtype d)
{
    return UINT64_MAX >> (64 - sett_dtype_bits(d));
}

double conform_number(sett_dtype d, uint64_t bits)
{
    const struct format *f = &formats[d];
    int width = sett_dtype_bits(d), m = f->mantissa - 1;
    uint64_t fraction = bits & ((UINT64_C(1) << m) - 1), e = bits >> m & ((UINT64_C(1) << (width - 1 - m)) - 1);
    double x;
    if ((int)e == f->most - f->least + 2)
        x = fraction ? (double)NAN : (double)INFINITY;
    else if (e)
        x = ldexp((double)(fraction | UINT64_C(1) << m), (int)e - 1 + f->least - m);
    else
        x = ldexp((double)fraction, f->least - m);
    return bits >> (width - 1) & 1 ? -x : x;
}

/* One rounding to nearest even. */
static uint64_t rounded(sett_dtype d, long double x)
{
    const struct format *f = &formats[d];
    int width = sett_dtype_bits(d), m = f->mantissa - 1, e;
    uint64_t sign = (uint64_t)(signbit(x) != 0) << (width - 1), top = (uint64_t)(f->most - f->least + 2) << m;
    if (x != x)
        return top | UINT64_C(1) << (m - 1);
    x = fabsl(x);
    if (isinf(x))
        return sign | top;
    frexpl(x, &e);
    int unit = (e - 1 < f->least ? f->least : e - 1) - m;
    uint64_t k = (uint64_t)nearbyintl(ldexpl(x, -unit)); /* up to 2^(m+1) */
    if (k >= UINT64_C(2) << m)
        k >>= 1, unit++;
    if (unit + m > f->most)
        return sign | top;
    return sign | ((k >> m ? (uint64_t)(unit + m - f->least) << m : 0) + k);
}

/* ---- integers ------------------------------------------------------------------------------------------- */
static wide integer(sett_dtype d, uint64_t bits)
{
    int width = sett_dtype_bits(d);
    bool minus = sett__dtype_kind(d) == 'i' && bits >> (width - 1) & 1;
    return (wide)bits - (minus ? (wide)1 << width : 0);
}

static bool compared(sett__code code, bool less, bool equal, bool ordered, uint64_t *out)
{
    switch (code) {
    case SETT__LT: *out = ordered && less; return true;
    case SETT__LE: *out = ordered && (less || equal); return true;
    case SETT__GT: *out = ordered && !less && !equal; return true;
    case SETT__GE: *out = ordered && !less; return true;
    case SETT__EQ: *out = ordered && equal; return true;
    case SETT__NE: *out = !ordered || !equal; return true;
    default: return false;
    }
}

static bool integers(sett__code code, sett_dtype d, const uint64_t *in, uint64_t *out)
{
    wide x = integer(d, in[0]), y = integer(d, in[1]), r;
    int width = sett_dtype_bits(d), by = in[1] < 64 ? (int)in[1] : 64;
    if (compared(code, x < y, x == y, true, out))
        return true;
    switch (code) {
    case SETT__ADD: r = x + y; break;
    case SETT__SUB: r = x - y; break;
    case SETT__MUL: r = (wide)((uwide)x * (uwide)y); break;
    case SETT__DIV: r = y ? x / y : -1; break;
    case SETT__REM: r = y ? x % y : x; break;
    case SETT__MIN: r = x < y ? x : y; break;
    case SETT__MAX: r = x < y ? y : x; break;
    case SETT__AND: r = x & y; break;
    case SETT__OR: r = x | y; break;
    case SETT__XOR: r = x ^ y; break;
    case SETT__SHL: r = by < width ? (wide)((uwide)x << by) : 0; break;
    case SETT__SHR: r = x >> by; break; /* arithmetic; x has no sign where the type has none */
    case SETT__NEG: r = -x; break;
    case SETT__ABS: r = x < 0 ? -x : x; break;
    case SETT__NOT: r = ~x; break;
    case SETT__POPC:
    case SETT__CLZ:
    case SETT__BREV:
        r = code == SETT__CLZ ? width : 0;
        for (int i = 0; i < width; i++)
            if (in[0] >> i & 1)
                r = code == SETT__POPC ? r + 1 : code == SETT__CLZ ? width - 1 - i : r | (wide)1 << (width - 1 - i);
        break;
    default: return false;
    }
    *out = (uint64_t)r & conform_mask(d);
    return true;
}

/* ---- floats ----------------------------------------------------------------------------------------------- */
static float single_of(uint64_t bits)
{
    uint32_t u = (uint32_t)bits;
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

static bool single(sett__code code, float x, float y, float z, double *r)
{
    switch (code) {
    case SETT__ADD: *r = (double)(x + y); return true;
    case SETT__SUB: *r = (double)(x - y); return true;
    case SETT__MUL: *r = (double)(x * y); return true;
    case SETT__DIV: *r = (double)(x / y); return true;
    case SETT__SQRT: *r = (double)sqrtf(x); return true;
    case SETT__FMA: *r = (double)fmaf(x, y, z); return true;
    case SETT__REM: *r = (double)fmodf(x, y); return true;
    default: return false;
    }
}

static bool any_float(sett__code code, double x, double y, double *r)
{
    bool nan = x != x || y != y, tie = x == y;
    switch (code) {
    case SETT__MIN: *r = nan ? (double)NAN : tie ? (signbit(x) ? x : y) : x < y ? x : y; return true;
    case SETT__MAX: *r = nan ? (double)NAN : tie ? (signbit(x) ? y : x) : x < y ? y : x; return true;
    case SETT__FLOOR: *r = floor(x); return true;
    case SETT__CEIL: *r = ceil(x); return true;
    case SETT__TRUNC: *r = trunc(x); return true;
    case SETT__RINT: *r = rint(x); return true;
    case SETT__REM: *r = fmod(x, y); return true;
    default: return false;
    }
}

/* Halves: exact sums and products of two fit a long double; a quotient or root of 64 bits rounds right a second time.
 * A fused sum of halves may be longer than a long double. */
static bool half(sett__code code, sett_dtype d, const double *x, uint64_t *out)
{
    long double r, p;
    switch (code) {
    case SETT__ADD: r = (long double)x[0] + (long double)x[1]; break;
    case SETT__SUB: r = (long double)x[0] - (long double)x[1]; break;
    case SETT__MUL: r = (long double)x[0] * (long double)x[1]; break;
    case SETT__DIV: r = (long double)x[0] / (long double)x[1]; break;
    case SETT__SQRT: r = sqrtl((long double)x[0]); break;
    case SETT__FMA:
        p = (long double)x[0] * (long double)x[1];
        r = p + (long double)x[2];
        if (isfinite(r)) { /* exact but for the last bit, which tells what was lost: rounding to odd */
            long double z = (long double)x[2], of_p = r - z, lost = (p - of_p) + (z - (r - of_p));
            int e;
            if (lost != 0 && fmodl(ldexpl(frexpl(r, &e), LDBL_MANT_DIG), 2) == 0)
                r = nextafterl(r, lost > 0 ? (long double)INFINITY : -(long double)INFINITY);
        }
        break;
    default: return false;
    }
    *out = rounded(d, r);
    return true;
}

static bool doubles(sett__code code, const double *x, double *r)
{
    switch (code) {
    case SETT__ADD: *r = x[0] + x[1]; return true;
    case SETT__SUB: *r = x[0] - x[1]; return true;
    case SETT__MUL: *r = x[0] * x[1]; return true;
    case SETT__DIV: *r = x[0] / x[1]; return true;
    case SETT__SQRT: *r = sqrt(x[0]); return true;
    case SETT__FMA: *r = fma(x[0], x[1], x[2]); return true;
    default: return false;
    }
}

static bool floats(sett__code code, sett_dtype d, const uint64_t *in, uint64_t *out)
{
    uint64_t sign = UINT64_C(1) << (sett_dtype_bits(d) - 1);
    double x[3], r;
    for (int i = 0; i < 3; i++)
        x[i] = conform_number(d, in[i]);
    if (code == SETT__NEG || code == SETT__ABS) {
        *out = code == SETT__ABS ? in[0] & ~sign : in[0] ^ sign;
        return true;
    }
    if (compared(code, x[0] < x[1], x[0] == x[1], x[0] == x[0] && x[1] == x[1], out))
        return true;
    if (sett_dtype_bits(d) == 16 && half(code, d, x, out))
        return true;
    if (!(d == SETT_F32 && single(code, single_of(in[0]), single_of(in[1]), single_of(in[2]), &r)) &&
        !(d == SETT_F64 && doubles(code, x, &r)) && !any_float(code, x[0], x[1], &r))
        return false;
    *out = rounded(d, (long double)r);
    return true;
}

/* ---- conversions --------------------------------------------------------------------------------------------- */
static uint64_t to_integer(sett_dtype to, double x)
{
    bool sign = sett__dtype_kind(to) == 'i';
    int width = sett_dtype_bits(to);
    wide most = ((wide)1 << (width - sign)) - 1, least = sign ? -((wide)1 << (width - 1)) : 0;
    if (x != x)
        return 0;
    wide t = x >= 0x1p65 ? (wide)1 << 65 : x <= -0x1p65 ? -((wide)1 << 65) : (wide)x;
    return (uint64_t)(t > most ? most : t < least ? least : t) & conform_mask(to);
}

static bool converted(sett_dtype from, sett_dtype to, uint64_t bits, uint64_t *out)
{
    bool is_float = sett__dtype_is_float(from);
    double x = is_float ? conform_number(from, bits) : 0;
    if (from == to)
        *out = bits;
    else if (to == SETT_BOOL)
        *out = is_float ? x != 0 : bits != 0;
    else if (sett__dtype_is_float(to))
        *out = rounded(to, is_float ? (long double)x : (long double)integer(from, bits));
    else
        *out = is_float ? to_integer(to, x) : (uint64_t)integer(from, bits) & conform_mask(to);
    return true;
}

bool conform_reference(sett__code code, sett_dtype d, sett_dtype to, const uint64_t in[3], uint64_t *out)
{
    if (LDBL_MANT_DIG < 64)
        return false;
    if (code == SETT__CONVERT)
        return converted(d, to, in[0], out);
    if (code == SETT__SELECT) {
        *out = in[0] ? in[1] : in[2];
        return true;
    }
    return sett__dtype_is_float(d) ? floats(code, d, in, out) : integers(code, d, in, out);
}

/* ---- approximations --------------------------------------------------------------------------------------------- */
/* The PTX ISA's bounds: relative, absolute, and where they hold. */
static double reciprocal(double x)
{
    return 1 / x;
}
static double reciprocal_root(double x)
{
    return 1 / sqrt(x);
}
static const struct bound {
    sett__code code;
    double (*f)(double);
    double relative, absolute, reach;
} bounds[] = {
    {SETT__EX2A, exp2, 0x1p-22, 0x1p-149, INFINITY},
    {SETT__EX2F, exp2, 0x1p-22, 0x1p-126, INFINITY},
    {SETT__LG2A, log2, 0x1p-22, 0x1p-22, INFINITY},
    {SETT__RCPA, reciprocal, 0x1p-23, 0x1p-149, INFINITY},
    {SETT__RSQA, reciprocal_root, 0x1.2p-23, 0, INFINITY},
    {SETT__SINA, sin, 0, 0x1.7p-21, 3.14159},
    {SETT__COSA, cos, 0, 0x1.7p-21, 3.14159},
    {SETT__TANHA, tanh, 0x1p-11, 0x1p-149, INFINITY},
};

bool conform_approximates(sett__code code, float x, float got)
{
    const struct bound *b = bounds;
    while (b->code != code)
        b++;
    double want = b->f((double)x), off = fabs((double)got - want);
    if (isfinite(x) && fabs((double)x) > b->reach)
        return true;
    if (want != want || isinf(want))
        return want != want ? got != got : (double)got == want;
    if (fabs(want) > (double)FLT_MAX) /* past the type: infinite, or the greatest number by the bound */
        return isinf(got) ? (got > 0) == (want > 0) : off <= fabs(want) * b->relative;
    return off <= fmax(b->absolute, fabs(want) * b->relative);
}

bool conform_near(sett_dtype d, uint64_t got, long double want, long double ulps)
{
    const struct format *f = &formats[d];
    long double g = (long double)conform_number(d, got), most = ldexpl(2 - ldexpl(1, 1 - f->mantissa), f->most);
    int e;
    if (want != want || isinf(want))
        return want != want ? g != g : g == want;
    frexpl(want, &e);
    long double unit = ldexpl(1, (e - 1 < f->least ? f->least : e - 1) - f->mantissa + 1);
    if (isinf(g))
        return (g > 0) == (want > 0) && fabsl(want) + ulps * unit > most;
    return fabsl(g - want) <= ulps * unit;
}
