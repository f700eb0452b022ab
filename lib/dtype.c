/* SPDX-License-Identifier: Apache-2.0 */
/* Element types: their table, and numbers to bits and back. All conversions between floats are
 * done on integers, so that they do not depend on the caller's rounding mode or on
 * flush-to-zero, which some programs have on. */
#include "lib.h"
#include <string.h>

static const struct {
    const char *name;
    uint8_t bits;
    char kind;
} dtypes[] = {
    [0] = {"?", 0, 0},
#define ROW(name, id, text, bits, kind) [id] = {text, bits, kind},
    SETT_DTYPES(ROW)
#undef ROW
};

bool sett__dtype_valid(int d)
{
    return d > 0 && d < (int)SETT__COUNT(dtypes);
}

int sett_dtype_bits(sett_dtype d)
{
    return sett__dtype_valid((int)d) ? dtypes[d].bits : 0;
}

const char *sett_dtype_name(sett_dtype d)
{
    return dtypes[sett__dtype_valid((int)d) ? d : 0].name;
}

char sett__dtype_kind(sett_dtype d)
{
    return dtypes[sett__dtype_valid((int)d) ? d : 0].kind;
}

char sett__dtype_class(sett_dtype d)
{
    char kind = sett__dtype_kind(d);
    if (kind != 'f')
        return kind;
    return d == SETT_F64 ? 'd' : d == SETT_F32 ? 'f' : 'h';
}

const char *sett__types_text(const char *classes, char buf[SETT__TYPES_TEXT])
{
    sett_dtype last = (sett_dtype)0;
    size_t n = 0;
    buf[0] = 0;
    for (int d = 1; d <= (int)SETT__COUNT(dtypes); d++) {
        bool end = d == (int)SETT__COUNT(dtypes), one = end || strchr(classes, sett__dtype_class((sett_dtype)d));
        if (last && one) {
            n += (size_t)snprintf(buf + n, SETT__TYPES_TEXT - n, "%s%s", !n ? "" : end ? " or " : ", ", sett_dtype_name(last));
            last = (sett_dtype)0;
        }
        if (one && !end)
            last = (sett_dtype)d;
    }
    return buf;
}

int sett__dtype_bytes(sett_dtype d)
{
    return (sett_dtype_bits(d) + 7) / 8;
}

sett_dtype sett__dtype_parse(const char *text, size_t len)
{
    for (int d = 1; d < (int)SETT__COUNT(dtypes); d++)
        if (strlen(dtypes[d].name) == len && !memcmp(dtypes[d].name, text, len))
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

/* ---- numbers of the builder ------------------------------------------------------ */
static uint64_t mask_of(sett_dtype d)
{
    int bits = sett_dtype_bits(d);
    return bits == 0 ? 0 : bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
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
    default: return 0;
    }
}

uint64_t sett__bits_of_int(sett_dtype d, int64_t x)
{
    switch (sett__dtype_kind(d)) {
    case 'f': return sett__float_of_integer(d, x < 0, x < 0 ? 0 - (uint64_t)x : (uint64_t)x);
    case 'b': return x != 0;
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
    if (sett__dtype_kind(d) == 'u')
        return (double)(bits & mask_of(d));
    return (double)sett__int_of_bits(d, bits);
}

int64_t sett__int_of_bits(sett_dtype d, uint64_t bits)
{
    switch (sett__dtype_kind(d)) {
    case 'f': return (int64_t)sett__integer_of_float(d, SETT_I64, bits);
    case 'i': {
        int shift = 64 - dtypes[d].bits;
        return (int64_t)(bits << shift) >> shift;
    }
    default: return (int64_t)(bits & mask_of(d));
    }
}
