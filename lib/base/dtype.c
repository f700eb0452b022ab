/* SPDX-License-Identifier: Apache-2.0 */
/* Element types: their table, and numbers to bits and back. All conversions between floats are
 * done on integers, so that they do not depend on the caller's rounding mode or on
 * flush-to-zero, which some programs have on. */
#include "base.h"
#include <string.h>

#define ROW(name, id, text, bits, kind) [id] = text,
static const char *const type_names[] = {"?", SETT_DTYPES(ROW)};
#undef ROW
#define CLASS(id, bits, kind) ((kind) == 'f' ? (id) == SETT_F64 ? 'd' : (id) == SETT_F32 ? 'f' : 'h' : (bits) == 128 ? 'w' : (kind))
#define ROW(name, id, text, bits, kind) [id] = {bits, kind, CLASS(id, bits, kind)},
const sett__type sett__types[64] = {SETT_DTYPES(ROW)};
#undef ROW

int sett_dtype_bits(sett_dtype d)
{
    return sett__type_of((int)d).bits;
}

const char *sett_dtype_name(sett_dtype d)
{
    return type_names[sett__dtype_valid((int)d) ? d : 0];
}

const char *sett__types_text(const char *classes, char buf[SETT__TYPES_TEXT])
{
    sett_dtype last = (sett_dtype)0;
    size_t n = 0;
    buf[0] = 0;
    for (int d = 1; d <= (int)SETT__COUNT(type_names); d++) {
        bool end = d == (int)SETT__COUNT(type_names), one = end || strchr(classes, sett__dtype_class((sett_dtype)d));
        if (last && one && n < SETT__TYPES_TEXT) {
            n += (size_t)snprintf(buf + n, SETT__TYPES_TEXT - n, "%s%s", !n ? "" : end ? " or " : ", ", sett_dtype_name(last));
            last = (sett_dtype)0;
        }
        if (one && !end)
            last = (sett_dtype)d;
    }
    return buf;
}

sett_dtype sett__dtype_parse(const char *text, size_t len)
{
    for (int d = 1; d < (int)SETT__COUNT(type_names); d++)
        if (strlen(type_names[d]) == len && !memcmp(type_names[d], text, len))
            return (sett_dtype)d;
    return (sett_dtype)0;
}

/* ---- floats as integers ------------------------------------------------------- */
struct format {
    int mant, bias;
    uint64_t nan; /* what the GPU gives: every result that is a NaN becomes this one */
};

static struct format format_of(sett_dtype d)
{
    switch (d) {
    case SETT_F16: return (struct format){10, 15, 0x7fff};
    case SETT_BF16: return (struct format){7, 127, 0x7fff};
    case SETT_F32: return (struct format){23, 127, 0x7fffffff};
    default: return (struct format){52, 1023, 0x7ff8000000000000};
    }
}

/* Finite: (-1)^sign * m * 2^(e-63); m is 0 or has its top bit set. */
struct number {
    bool sign, nan, inf;
    int e;
    uint64_t m;
};

static struct number normal(bool sign, int e, uint64_t m)
{
    struct number x = {.sign = sign, .e = e, .m = m};
    if (m) {
        int shift = __builtin_clzll(m);
        x.m = m << shift;
        x.e = e - shift;
    }
    return x;
}

static struct number unpack(struct format f, uint64_t bits)
{
    int top = 2 * f.bias + 1;
    uint64_t m = bits & ((UINT64_C(1) << f.mant) - 1);
    int e = (int)(bits >> f.mant) & top;
    bool sign = (bits >> f.mant) > (uint64_t)top;
    if (e == top)
        return (struct number){.sign = sign, .nan = m != 0, .inf = m == 0};
    if (e == 0)
        return normal(sign, 1 - f.bias + 63 - f.mant, m);
    return normal(sign, e - f.bias + 63 - f.mant, m | UINT64_C(1) << f.mant);
}

/* Rounds to nearest even; bits lost earlier must be in m's lowest bit. */
static uint64_t pack(struct format f, struct number x)
{
    uint64_t top = (uint64_t)(2 * f.bias + 1), inf = top << f.mant;
    uint64_t sign = x.sign ? (top + 1) << f.mant : 0;
    if (x.nan)
        return f.nan;
    if (x.inf || (x.m && x.e > f.bias))
        return sign | inf;
    int biased = x.e + f.bias, shift = 63 - f.mant;
    if (biased < 1) { /* subnormal: fewer bits remain */
        shift += 1 - biased;
        biased = 1;
    }
    if (!x.m || shift > 64)
        return sign;
    uint64_t q = shift < 64 ? x.m >> shift : 0;
    uint64_t rest = shift < 64 ? x.m << (64 - shift) : x.m, half = UINT64_C(1) << 63;
    q += rest > half || (rest == half && (q & 1));
    /* q holds the implicit bit if normal, and a carry out of it moves to the exponent */
    return sign | (((uint64_t)(biased - 1) << f.mant) + q);
}

uint64_t sett__float_convert(sett_dtype from, sett_dtype to, uint64_t bits)
{
    return pack(format_of(to), unpack(format_of(from), bits));
}

uint64_t sett__float_of_integer(sett_dtype to, bool sign, uint64_t magnitude)
{
    return pack(format_of(to), normal(sign, 63, magnitude));
}

uint64_t sett__integer_of_float(sett_dtype from, sett_dtype to, uint64_t bits)
{
    struct number x = unpack(format_of(from), bits);
    int width = sett_dtype_bits(to);
    bool sign = sett__dtype_kind(to) == 'i';
    uint64_t mask = UINT64_MAX >> (64 - width);
    uint64_t most = sign ? mask >> 1 : mask, least = sign ? most + 1 : 0; /* magnitudes */
    uint64_t limit = x.sign ? least : most;
    if (x.nan || (!x.inf && (!x.m || x.e < 0)))
        return 0;
    uint64_t m = x.inf || x.e > 63 ? limit : x.m >> (63 - x.e);
    if (m > limit)
        m = limit;
    return (x.sign ? 0 - m : m) & mask;
}

/* ---- floats of 8 bits and less --------------------------------------------------- */
static const struct narrow {
    int mant, bias;
    uint8_t sign, most, over, nan; /* the sign's bit, the greatest number, what is past it if nothing saturates */
} narrows[] = {
    [SETT_F8E4M3FN] = {3, 7, 0x80, 0x7e, 0x7f, 0x7f}, [SETT_F8E5M2] = {2, 15, 0x80, 0x7b, 0x7c, 0x7f},
    [SETT_F6E3M2FN] = {2, 3, 0x20, 0x1f, 0x1f, 0x1f}, [SETT_F6E2M3FN] = {3, 1, 0x20, 0x1f, 0x1f, 0x1f},
    [SETT_F4E2M1FN] = {1, 1, 0x08, 0x07, 0x07, 0x07}, [SETT_F8E4M3] = {3, 7, 0x80, 0x77, 0x78, 0x7c},
    [SETT_F8E4M3B11FNUZ] = {3, 11, 0x80, 0x7f, 0x80, 0x80},
};

/* 2^(code - 127); 255 is NaN, as is what is negative. */
static uint64_t e8m0_of_f32(uint32_t bits, bool up)
{
    uint32_t a = bits & 0x7fffffff, half = up ? 0x7fffff : 0x3fffff + (a >> 23 & 1);
    if (a > 0x7f800000 || (a && bits >> 31))
        return 0xff;
    if (a <= 0x400000)
        return 0;
    uint32_t code = (a + half) >> 23;
    return up && code > 0xfe ? 0xfe : code;
}

uint64_t sett__narrow_of_f32(sett_dtype d, uint32_t bits, bool saturate)
{
    if (d == SETT_F8E8M0FNU)
        return e8m0_of_f32(bits, saturate);
    struct narrow f = narrows[d];
    uint32_t a = bits & 0x7fffffff, sign = bits >> 31 ? f.sign : 0;
    if (a > 0x7f800000)
        return f.nan;
    uint64_t m = (a & 0x7fffff) | (uint64_t)(a >> 23 != 0) << 23;
    int e = (int)(a >> 23 ? a >> 23 : 1) - 127, least = 1 - f.bias, shift = 23 - f.mant + (e < least ? least - e : 0);
    uint64_t q = shift < 40 ? m >> shift : 0, rest = shift < 40 ? m & ((UINT64_C(1) << shift) - 1) : 0;
    uint64_t half = UINT64_C(1) << (shift < 40 ? shift - 1 : 39);
    q += rest > half || (rest == half && (q & 1));
    if (e >= least) /* q holds the hidden bit, and a carry moves to the exponent */
        q += (uint64_t)(e - least) << f.mant;
    if (q > f.most || a == 0x7f800000)
        return saturate ? sign | f.most : f.over == f.sign ? f.over : sign | f.over;
    return q || f.nan != f.sign ? sign | q : 0; /* fnuz has one zero */
}

uint32_t sett__f32_of_narrow(sett_dtype d, uint64_t bits)
{
    if (d == SETT_F8E8M0FNU)
        return bits == 0xff ? 0x7fffffff : bits ? (uint32_t)bits << 23 : 0x400000;
    struct narrow f = narrows[d];
    uint32_t a = (uint32_t)bits & (f.sign - 1u), sign = bits & f.sign ? 0x80000000 : 0;
    if (f.nan == f.sign ? bits == f.nan : a > f.most && f.over != f.most)
        return a == f.over && f.over != f.nan ? sign | 0x7f800000 : 0x7fffffff;
    if (a >> f.mant)
        return sign | ((a << (23 - f.mant)) + ((uint32_t)(127 - f.bias) << 23));
    return sign | (uint32_t)sett__float_convert(SETT_F64, SETT_F32, sett__float_of_integer(SETT_F64, false, a) -
        (a ? (uint64_t)(f.bias - 1 + f.mant) << 52 : 0));
}

bool sett__dtype_converts(sett_dtype from, sett_dtype to)
{
    bool f8_from = from == SETT_F8E4M3FN || from == SETT_F8E5M2, f8_to = to == SETT_F8E4M3FN || to == SETT_F8E5M2;
    if (!sett__dtype_valid((int)from) || !sett__dtype_valid((int)to))
        return false;
    if (sett__dtype_kind(from) == 's' || sett__dtype_kind(to) == 's')
        return (f8_from && to == SETT_F16) || (from == SETT_F32 && f8_to);
    return sett__dtype_is_wide(from) ? !sett__dtype_is_float(to) : !sett__dtype_is_wide(to) || !sett__dtype_is_float(from);
}

/* ---- numbers of the builder ------------------------------------------------------ */
static uint64_t mask_of(sett_dtype d)
{
    int bits = sett__type_of((int)d).bits;
    return bits == 0 ? 0 : bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

/* To odd: one more rounding then is the only one, since Float32 has more than two bits to spare. */
static uint32_t f32_to_odd(uint64_t bits)
{
    uint32_t f = (uint32_t)sett__float_convert(SETT_F64, SETT_F32, bits);
    uint64_t back = sett__float_convert(SETT_F32, SETT_F64, f), low = INT64_MAX;
    if (back == bits || (bits & low) > UINT64_C(0x7ff0000000000000) || f & 1)
        return f;
    return (back & low) > (bits & low) ? f - 1 : f + 1;
}

/* As CuTe's constructors: no saturation. */
static uint64_t stored_of_float(sett_dtype d, uint64_t bits)
{
    if (d == SETT_TF32)
        return sett__float_convert(SETT_F64, SETT_F32, bits);
    if (sett_dtype_bits(d) <= 8 && d != SETT_I4)
        return sett__narrow_of_f32(d, f32_to_odd(bits), false);
    return 0;
}

uint64_t sett__bits_of_float(sett_dtype d, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    switch (sett__dtype_kind(d)) {
    case 'f': return sett__float_convert(SETT_F64, d, bits);
    case 'i':
    case 'u': return sett__integer_of_float(SETT_F64, d, bits);
    case 'b': return (bits << 1) != 0; /* not a zero of either sign */
    default: return stored_of_float(d, bits);
    }
}

uint64_t sett__bits_of_int(sett_dtype d, int64_t x)
{
    switch (sett__dtype_kind(d)) {
    case 'f': return sett__float_of_integer(d, x < 0, x < 0 ? 0 - (uint64_t)x : (uint64_t)x);
    case 'b': return x != 0;
    case 's': /* past 2^53 all of them are past the greatest number, or powers of two that rounding keeps */
        if (d == SETT_TF32)
            return sett__bits_of_int(SETT_F32, x);
        if (d != SETT_I4)
            return sett__bits_of_float(d, (double)x);
        return (uint64_t)x & mask_of(d);
    default: return (uint64_t)x & mask_of(d);
    }
}

double sett__float_of_bits(sett_dtype d, uint64_t bits)
{
    if (sett__dtype_is_float(d)) {
        double x;
        bits = sett__float_convert(d, SETT_F64, bits);
        memcpy(&x, &bits, sizeof x);
        return x;
    }
    if (sett__dtype_kind(d) == 's' && sett_dtype_bits(d) <= 32 && d != SETT_I4)
        return sett__float_of_bits(SETT_F32, d == SETT_TF32 ? bits : sett__f32_of_narrow(d, bits & mask_of(d)));
    if (sett__dtype_kind(d) == 'u')
        return (double)(bits & mask_of(d));
    return (double)sett__int_of_bits(d, bits);
}

int64_t sett__int_of_bits(sett_dtype d, uint64_t bits)
{
    switch (sett__dtype_kind(d)) {
    case 'f': return (int64_t)sett__integer_of_float(d, SETT_I64, bits);
    case 'i': {
        int bits_of = sett__type_of((int)d).bits, shift = bits_of < 64 ? 64 - bits_of : 0;
        return (int64_t)(bits << shift) >> shift;
    }
    default: return (int64_t)(bits & mask_of(d));
    }
}

/* ---- the pointer ----------------------------------------------------------------------------- */
const char *sett__memory_type(sett_dtype d)
{
    switch (d) {
    case SETT_BOOL:
    case SETT_U8: return "i8";
    case SETT_U16: return "i16";
    case SETT_U32: return "i32";
    case SETT_U64: return "i64";
    case SETT_U128: return "i128";
    default: return sett_dtype_name(d);
    }
}
