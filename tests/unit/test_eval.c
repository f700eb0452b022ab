/* SPDX-License-Identifier: Apache-2.0 */
/* Folding: every result is checked against its definition in exact arithmetic, on fixed-point
 * numbers wide enough for any product of two Float32, and not against the host's floats. */
#include "lib/print/print.h"
#include <check.h>
#include <fenv.h>
#include <math.h>
#include <string.h>

Suite *eval_suite(void);

/* Check's own assertions write a mark each, which millions of them cannot afford. */
#define HOLDS_MSG(c, ...) \
    do { \
        if (!(c)) \
            ck_abort_msg(__VA_ARGS__); \
    } while (0)
#define HOLDS(c) HOLDS_MSG(c, "%s", #c)
#define SAME(x, y) \
    do { \
        unsigned long long same_x = (x), same_y = (y); \
        HOLDS_MSG(same_x == same_y, "%s is %llx, %s is %llx", #x, same_x, #y, same_y); \
    } while (0)

static uint64_t state = 20260101; /* the seed */

static uint64_t next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * UINT64_C(0x2545F4914F6CDD1D);
}

static uint64_t mask(sett_dtype d)
{
    int bits = sett_dtype_bits(d);
    return bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

static uint64_t eval(sett__code code, sett_dtype d, sett_dtype to, uint64_t x, uint64_t y, uint64_t z)
{
    uint64_t in[3] = {x, y, z}, out = 0xdead;
    int n = sett__ops[code].cls == SETT__C_UNARY || sett__ops[code].cls == SETT__C_CONVERT ? 1
            : sett__ops[code].cls == SETT__C_TERNARY || code == SETT__SELECT             ? 3
                                                                                         : 2;
    HOLDS_MSG(sett__eval(code, d, to, in, n, &out), "%s of %s is not folded", sett__ops[code].text,
        sett_dtype_name(d));
    return out;
}

__extension__ typedef __int128 wide;

/* ---- exact numbers: m * 2^e, and sums of them as signed fixed-point ---------------- */
enum { LIMBS = 32, POINT = 400 };
struct exact {
    int64_t m;
    int e;
};
struct sum {
    uint32_t limb[LIMBS];
};

static void add(struct sum *s, struct exact x)
{
    int at = x.e + POINT;
    if (!x.m)
        return;
    HOLDS(at >= 0 && at / 32 + 4 < LIMBS);
    uint64_t carry = 0;
    wide v = (wide)x.m * ((wide)1 << at % 32);
    for (int i = at / 32; i < LIMBS; i++, v >>= 32) {
        uint64_t total = (uint64_t)s->limb[i] + (uint32_t)v + carry;
        s->limb[i] = (uint32_t)total;
        carry = total >> 32;
        if (!carry && (v >> 32) == 0)
            return;
    }
}

static int sign(const struct sum *s)
{
    if (s->limb[LIMBS - 1] >> 31)
        return -1;
    for (int i = 0; i < LIMBS; i++)
        if (s->limb[i])
            return 1;
    return 0;
}

static struct exact product(struct exact x, struct exact y)
{
    return (struct exact){x.m * y.m, x.e + y.e};
}

/* The formats, told by their definition: mantissa bits and bias. */
static const struct format {
    sett_dtype d;
    int mant, bias;
    uint64_t nan;
} formats[] = {{SETT_F16, 10, 15, 0x7fff}, {SETT_BF16, 7, 127, 0x7fff}, {SETT_F32, 23, 127, 0x7fffffff}};

static uint64_t infinity(const struct format *f)
{
    return (uint64_t)(2 * f->bias + 1) << f->mant;
}

/* Infinity counts as the power of two after the largest number, which is how rounding sees it. */
static struct exact exact_of(const struct format *f, uint64_t bits)
{
    uint64_t top = UINT64_C(1) << (f->mant + sett_dtype_bits(f->d) - 1 - f->mant);
    uint64_t a = bits & (top - 1);
    int e = (int)(a >> f->mant);
    int64_t m = (int64_t)(a & ((UINT64_C(1) << f->mant) - 1));
    if (e)
        m |= INT64_C(1) << f->mant;
    return (struct exact){bits & top ? -m : m, (e ? e : 1) - f->bias - f->mant};
}

/* The middle between the number with magnitude a and the next above it. */
static struct exact middle(const struct format *f, uint64_t a)
{
    struct exact x = exact_of(f, a);
    return (struct exact){2 * x.m + 1, x.e - 1};
}

/* compare(user, mid): the sign of |exact result| - mid. Is h the result's correct rounding? */
typedef int compare_fn(const void *user, struct exact mid);
static bool rounds_to(const struct format *f, uint64_t h, compare_fn *compare, const void *user)
{
    uint64_t a = h & (mask(f->d) >> 1);
    bool odd = a & 1;
    if (a > infinity(f))
        return false;
    if (a) {
        int below = compare(user, middle(f, a - 1));
        if (below < 0 || (below == 0 && odd))
            return false;
    }
    if (a == infinity(f))
        return true;
    int above = compare(user, middle(f, a));
    return above < 0 || (above == 0 && !odd);
}

/* |x*y + z|, where s is the sign of it */
struct fma_case {
    struct exact x, y, z;
    int s;
};

static int compare_fma(const void *user, struct exact mid)
{
    const struct fma_case *c = user;
    struct sum sum = {{0}};
    struct exact p = product(c->x, c->y), z = c->z;
    add(&sum, (struct exact){c->s * p.m, p.e});
    add(&sum, (struct exact){c->s * z.m, z.e});
    add(&sum, (struct exact){-mid.m, mid.e});
    return sign(&sum);
}

/* |x| / |y| and sqrt(x): x against mid*y and mid*mid */
static int compare_div(const void *user, struct exact mid)
{
    const struct fma_case *c = user;
    struct sum sum = {{0}};
    struct exact p = product(mid, c->y);
    add(&sum, (struct exact){c->x.m < 0 ? -c->x.m : c->x.m, c->x.e});
    add(&sum, (struct exact){p.m < 0 ? p.m : -p.m, p.e});
    return sign(&sum);
}

static int compare_sqrt(const void *user, struct exact mid)
{
    const struct fma_case *c = user;
    struct sum sum = {{0}};
    struct exact p = product(mid, mid);
    add(&sum, c->x);
    add(&sum, (struct exact){-p.m, p.e});
    return sign(&sum);
}

/* A finite number; often one with few bits, a subnormal, or near another's exponent. */
static uint64_t a_finite(const struct format *f, uint64_t near)
{
    uint64_t r = next(), bits = r & mask(f->d);
    if (r >> 62 == 0)
        bits = (near ^ (r & 7)) & mask(f->d);
    else if (r >> 62 == 1)
        bits &= ~((UINT64_C(1) << (f->mant - 2)) - 1);
    else if (r >> 60 == 8)
        bits &= (UINT64_C(2) << f->mant) - 1;
    uint64_t a = bits & (mask(f->d) >> 1);
    return a >= infinity(f) ? bits & ~(UINT64_C(1) << f->mant) : bits;
}

static void check_fma(const struct format *f, sett__code code, uint64_t h, uint64_t x, uint64_t y, uint64_t z)
{
    struct fma_case c = {exact_of(f, x), exact_of(f, y), exact_of(f, z), 1};
    struct sum sum = {{0}};
    add(&sum, product(c.x, c.y));
    add(&sum, c.z);
    c.s = sign(&sum) < 0 ? -1 : 1;
    HOLDS_MSG(rounds_to(f, h, compare_fma, &c), "%s %s of %llx %llx %llx gives %llx", sett__ops[code].text,
        sett_dtype_name(f->d), (unsigned long long)x, (unsigned long long)y, (unsigned long long)z,
        (unsigned long long)h);
    if (sign(&sum) && h << 1 != 0)
        ck_assert_int_eq(h >> (sett_dtype_bits(f->d) - 1) != 0, c.s < 0);
}

START_TEST(arithmetic_rounds_once)
{
    const struct format *f = &formats[_i];
    uint64_t one = (uint64_t)f->bias << f->mant, minus = UINT64_C(1) << (sett_dtype_bits(f->d) - 1);
    for (int i = 0; i < 2000; i++) {
        uint64_t x = a_finite(f, one), y = a_finite(f, x), z = a_finite(f, x);
        check_fma(f, SETT__ADD, eval(SETT__ADD, f->d, 0, x, z, 0), x, one, z);
        check_fma(f, SETT__SUB, eval(SETT__SUB, f->d, 0, x, z, 0), x, one, z ^ minus);
        check_fma(f, SETT__MUL, eval(SETT__MUL, f->d, 0, x, y, 0), x, y, 0);
        check_fma(f, SETT__FMA, eval(SETT__FMA, f->d, 0, x, y, z), x, y, z);
        struct fma_case c = {exact_of(f, x), exact_of(f, y), {0, 0}, 1};
        if (c.y.m)
            HOLDS(rounds_to(f, eval(SETT__DIV, f->d, 0, x, y, 0), compare_div, &c));
        if (c.x.m >= 0 && !(x & minus))
            HOLDS(rounds_to(f, eval(SETT__SQRT, f->d, 0, x, 0, 0), compare_sqrt, &c));
    }
}
END_TEST

/* The product of two of these is the middle of two BFloat16 numbers; what is added is too small for a
 * double to see, and decides. */
START_TEST(fma_sees_beyond_a_double)
{
    const struct format *f = &formats[1];
    uint64_t x = 0x3f81, y = 0x3fc0; /* 1 + 2^-7, 1.5: 1.51171875 = 0x3fc1 + half a unit */
    SAME(eval(SETT__FMA, f->d, 0, x, y, 0), 0x3fc2);
    SAME(eval(SETT__FMA, f->d, 0, x, y, 0x8001), 0x3fc1);
    SAME(eval(SETT__FMA, f->d, 0, 0x3f83, y, 0x0001), 0x3fc5); /* 1.53515625 ties down to 0x3fc4 */
    SAME(eval(SETT__FMA, f->d, 0, 0x3f83, y, 0), 0x3fc4);
    check_fma(f, SETT__FMA, eval(SETT__FMA, f->d, 0, 0x3f83, y, 0x8001), 0x3f83, y, 0x8001);
}
END_TEST

START_TEST(every_half_converts)
{
    for (uint32_t h = 0; h < 65536; h++) {
        for (int k = 0; k < 2; k++) {
            sett_dtype d = formats[k].d;
            uint64_t single = eval(SETT__CONVERT, d, SETT_F32, h, 0, 0),
                     twice = eval(SETT__CONVERT, d, SETT_F64, h, 0, 0);
            bool nan = (h & 0x7fff) > infinity(&formats[k]);
            SAME(eval(SETT__CONVERT, SETT_F32, d, single, 0, 0), nan ? 0x7fff : h);
            SAME(eval(SETT__CONVERT, SETT_F64, d, twice, 0, 0), nan ? 0x7fff : h);
            if ((h & 0x7fff) < infinity(&formats[k])) {
                struct exact x = exact_of(&formats[k], h);
                double value;
                memcpy(&value, &twice, sizeof value);
                ck_assert_double_eq(value, ldexp((double)x.m, x.e));
            }
        }
    }
}
END_TEST

START_TEST(narrowing_rounds_to_nearest_even)
{
    const struct format *single = &formats[2];
    uint32_t one = (uint32_t)single->bias << single->mant;
    for (int i = 0; i < 5000; i++) {
        for (int k = 0; k < 2; k++) {
            const struct format *f = &formats[k];
            uint64_t h = next() & 0x7fff; /* at, below and above the middle of two numbers */
            struct exact mid = middle(f, h < infinity(f) ? h : 0);
            uint64_t bits = sett__bits_of_float(SETT_F32, ldexp((double)mid.m, mid.e)) + next() % 3 - 1;
            if (i & 1)
                bits = a_finite(single, one);
            struct fma_case c = {exact_of(single, bits & 0x7fffffff), exact_of(single, one), {0, 0}, 1};
            uint64_t out = eval(SETT__CONVERT, SETT_F32, f->d, bits, 0, 0);
            HOLDS(rounds_to(f, out, compare_fma, &c));
            SAME(out >> 15, bits >> 31);
        }
    }
}
END_TEST

START_TEST(integers_become_floats_in_one_rounding)
{
    const struct format *f = &formats[_i];
    uint64_t one = (uint64_t)f->bias << f->mant;
    for (int i = 0; i < 5000; i++) {
        int64_t x = (int64_t)(next() >> (next() & 63));
        if (i & 1) /* a middle, moved a little */
            x = ((x >> 40) * (INT64_C(1) << 40) + (INT64_C(1) << 39)) + (int64_t)(next() % 3) - 1;
        struct fma_case c = {{x, 0}, exact_of(f, one), {0, 0}, x < 0 ? -1 : 1};
        c.y = (struct exact){1, 0};
        uint64_t out = eval(SETT__CONVERT, SETT_I64, f->d, (uint64_t)x, 0, 0);
        HOLDS(rounds_to(f, out, compare_fma, &c));
        SAME(out, sett__bits_of_int(f->d, x));
        if (x >= 0)
            SAME(eval(SETT__CONVERT, SETT_U64, f->d, (uint64_t)x, 0, 0), out);
    }
    SAME(eval(SETT__CONVERT, SETT_U64, SETT_F32, UINT64_MAX, 0, 0), 0x5f800000);
    SAME(eval(SETT__CONVERT, SETT_U64, SETT_BF16, UINT64_MAX, 0, 0), 0x5f80);
    SAME(eval(SETT__CONVERT, SETT_U64, SETT_F16, UINT64_MAX, 0, 0), 0x7c00);
}
END_TEST

static const struct {
    sett_dtype from, to;
    double x;
    uint64_t out;
} truncations[] = {
    {SETT_F64, SETT_I32, 2.9, 2},
    {SETT_F64, SETT_I32, -2.9, 0xfffffffe},
    {SETT_F64, SETT_I32, -0.9, 0},
    {SETT_F64, SETT_I32, 2147483647.5, 0x7fffffff},
    {SETT_F64, SETT_I32, 3e9, 0x7fffffff},
    {SETT_F64, SETT_I32, -3e9, 0x80000000},
    {SETT_F64, SETT_I32, (double)INFINITY, 0x7fffffff},
    {SETT_F64, SETT_I32, (double)-INFINITY, 0x80000000},
    {SETT_F64, SETT_I32, (double)NAN, 0},
    {SETT_F64, SETT_U32, -1, 0},
    {SETT_F64, SETT_U32, 4294967295.0, 0xffffffff},
    {SETT_F64, SETT_U32, 4294967296.0, 0xffffffff},
    {SETT_F64, SETT_I8, -129, 0x80},
    {SETT_F64, SETT_I8, 127.9, 0x7f},
    {SETT_F64, SETT_U8, 256, 0xff},
    {SETT_F64, SETT_I64, 9.3e18, INT64_MAX},
    {SETT_F64, SETT_I64, -9223372036854775808.0, (uint64_t)INT64_MIN},
    {SETT_F64, SETT_U64, 18446744073709549568.0, UINT64_C(18446744073709549568)},
    {SETT_F64, SETT_U64, 1.9e19, UINT64_MAX},
    {SETT_F32, SETT_I16, 40000, 0x7fff},
    {SETT_F16, SETT_I32, 65504, 65504},
    {SETT_BF16, SETT_U16, (double)INFINITY, 0xffff},
    {SETT_F16, SETT_BOOL, 0.5, 1},
    {SETT_F16, SETT_BOOL, -0.0, 0},
    {SETT_F32, SETT_BOOL, (double)NAN, 1},
};

START_TEST(floats_become_integers_by_truncation)
{
    uint64_t bits = sett__bits_of_float(truncations[_i].from, truncations[_i].x);
    SAME(eval(SETT__CONVERT, truncations[_i].from, truncations[_i].to, bits, 0, 0), truncations[_i].out);
    SAME(sett__bits_of_float(truncations[_i].to, sett__float_of_bits(truncations[_i].from, bits)),
        truncations[_i].out);
}
END_TEST

/* ---- integers: against 128-bit arithmetic ----------------------------------------------- */
static wide wide_of(sett_dtype d, uint64_t bits)
{
    int w = sett_dtype_bits(d);
    bool negative = sett__dtype_kind(d) == 'i' && bits >> (w - 1) & 1;
    return (wide)bits - (negative ? (wide)1 << w : 0);
}

static wide integer_reference(sett__code code, sett_dtype d, uint64_t xb, uint64_t yb)
{
    wide x = wide_of(d, xb), y = wide_of(d, yb);
    int w = sett_dtype_bits(d);
    bool far = yb >= (uint64_t)w;
    switch (code) {
    case SETT__ADD: return x + y;
    case SETT__SUB: return x - y;
    case SETT__MUL: return (wide)(xb * yb);
    case SETT__DIV: return y ? x / y : -1;
    case SETT__REM: return y ? x % y : x;
    case SETT__MIN: return x < y ? x : y;
    case SETT__MAX: return x > y ? x : y;
    case SETT__AND: return xb & yb;
    case SETT__OR: return xb | yb;
    case SETT__XOR: return xb ^ yb;
    case SETT__SHL: return far ? 0 : (wide)(xb << yb);
    case SETT__SHR: return far ? (x < 0 ? -1 : 0) : x >> yb;
    case SETT__LT: return x < y;
    case SETT__LE: return x <= y;
    case SETT__GT: return x > y;
    case SETT__GE: return x >= y;
    case SETT__EQ: return x == y;
    case SETT__NE: return x != y;
    case SETT__NEG: return -x;
    case SETT__ABS: return x < 0 ? -x : x;
    default: return ~x;
    }
}

static void check_integer(sett_dtype d, uint64_t x, uint64_t y)
{
    for (int c = SETT__ADD; c <= SETT__NOT; c++) {
        const sett__op_info *info = &sett__ops[c];
        if (info->cls == SETT__C_TERNARY || info->cls == SETT__C_SELECT || !strchr(info->types, sett__dtype_kind(d)))
            continue;
        uint64_t want = (uint64_t)integer_reference((sett__code)c, d, x, y) & mask(d);
        uint64_t got = eval((sett__code)c, d, 0, x, y, 0);
        HOLDS_MSG(got == want, "%s %s of %llx %llx gives %llx, not %llx", info->text, sett_dtype_name(d),
            (unsigned long long)x, (unsigned long long)y, (unsigned long long)got, (unsigned long long)want);
    }
}

START_TEST(integers_wrap)
{
    static const sett_dtype types[] = {SETT_I8, SETT_U8, SETT_I16, SETT_U16, SETT_I32, SETT_U32, SETT_I64, SETT_U64};
    sett_dtype d = types[_i];
    uint64_t low = mask(d) >> 1, edge[] = {0, 1, 2, 7, 31, low, low + 1, low + 2, mask(d) - 1, mask(d)};
    for (size_t i = 0; i < SETT__COUNT(edge); i++)
        for (size_t j = 0; j < SETT__COUNT(edge); j++)
            check_integer(d, edge[i], edge[j]);
    for (int i = 0; i < 3000; i++)
        check_integer(d, next() & mask(d), next() >> (next() & 63) & mask(d));
}
END_TEST

START_TEST(integers_convert)
{
    for (int from = SETT_BOOL; from <= SETT_U64; from++)
        for (int to = SETT_BOOL; to <= SETT_U64; to++)
            for (int i = 0; i < 50; i++) {
                uint64_t x = i ? next() & mask((sett_dtype)from) : 0;
                uint64_t want =
                    to == SETT_BOOL ? x != 0 : (uint64_t)wide_of((sett_dtype)from, x) & mask((sett_dtype)to);
                SAME(eval(SETT__CONVERT, (sett_dtype)from, (sett_dtype)to, x, 0, 0), want);
            }
}
END_TEST

/* ---- what is special ------------------------------------------------------------------------ */
static const double specials[] = {0.0, -0.0, 1, -1, 1.5, 2.5, -2.5, (double)INFINITY, (double)-INFINITY, (double)NAN};

static void check_min_max(sett_dtype d, double x, double y)
{
    uint64_t a = sett__bits_of_float(d, x), b = sett__bits_of_float(d, y);
    uint64_t lo = eval(SETT__MIN, d, 0, a, b, 0), hi = eval(SETT__MAX, d, 0, a, b, 0);
    double l = sett__float_of_bits(d, lo), h = sett__float_of_bits(d, hi);
    if (x != x || y != y) {
        SAME(lo, sett__bits_of_float(d, (double)NAN));
        SAME(hi, lo);
        return;
    }
    HOLDS(l <= h && ((lo == a && hi == b) || (lo == b && hi == a)));
    if (x == y)
        ck_assert_int_eq(signbit(l) != 0, signbit(x) || signbit(y));
}

static void check_compares(sett_dtype d, double x, double y)
{
    uint64_t a = sett__bits_of_float(d, x), b = sett__bits_of_float(d, y);
    SAME(eval(SETT__LT, d, 0, a, b, 0), x < y);
    SAME(eval(SETT__LE, d, 0, a, b, 0), x <= y);
    SAME(eval(SETT__GT, d, 0, a, b, 0), x > y);
    SAME(eval(SETT__GE, d, 0, a, b, 0), x >= y);
    SAME(eval(SETT__EQ, d, 0, a, b, 0), x == y);
    SAME(eval(SETT__NE, d, 0, a, b, 0), x != y);
}

static const sett_dtype floats[] = {SETT_F16, SETT_BF16, SETT_F32, SETT_F64};

START_TEST(nan_zero_and_infinity)
{
    sett_dtype d = floats[_i];
    uint64_t nan = sett__bits_of_float(d, (double)NAN), inf = sett__bits_of_float(d, (double)INFINITY);
    uint64_t top = UINT64_C(1) << (sett_dtype_bits(d) - 1), odd = inf | 1; /* a NaN with another payload */
    static const uint64_t canonical[] = {0x7fff, 0x7fff, 0x7fffffff, 0x7ff8000000000000};
    SAME(nan, canonical[_i]);
    for (size_t i = 0; i < SETT__COUNT(specials); i++)
        for (size_t j = 0; j < SETT__COUNT(specials); j++) {
            check_min_max(d, specials[i], specials[j]);
            check_compares(d, specials[i], specials[j]);
        }
    SAME(eval(SETT__ADD, d, 0, odd, 0, 0), nan);
    SAME(eval(SETT__SUB, d, 0, inf, inf, 0), nan);
    SAME(eval(SETT__MUL, d, 0, inf, 0, 0), nan);
    SAME(eval(SETT__DIV, d, 0, 0, top, 0), nan);
    SAME(eval(SETT__DIV, d, 0, sett__bits_of_float(d, 1), top, 0), inf | top);
    SAME(eval(SETT__SQRT, d, 0, inf | top, 0, 0), nan);
    SAME(eval(SETT__SQRT, d, 0, top, 0, 0), top);
    SAME(eval(SETT__FMA, d, 0, inf, 0, odd), nan);
    SAME(eval(SETT__NEG, d, 0, odd, 0, 0), odd | top);
    SAME(eval(SETT__ABS, d, 0, odd | top, 0, 0), odd);
    SAME(eval(SETT__SELECT, d, 0, 1, odd, 0), odd);
    SAME(eval(SETT__SELECT, d, 0, 0, odd, top), top);
}
END_TEST

START_TEST(whole_numbers_and_remainders)
{
    static const struct {
        sett__code code;
        double x, y, r;
    } rows[] = {{SETT__FLOOR, -1.5, 0, -2}, {SETT__CEIL, -1.5, 0, -1}, {SETT__TRUNC, -1.5, 0, -1},
        {SETT__RINT, 2.5, 0, 2}, {SETT__RINT, 3.5, 0, 4}, {SETT__RINT, -0.5, 0, -0.0}, {SETT__REM, 7, 4, 3},
        {SETT__REM, -7, 4, -3}, {SETT__REM, 7.5, -2, 1.5}, {SETT__REM, 3, (double)INFINITY, 3},
        {SETT__REM, 3, 0, (double)NAN}, {SETT__REM, -4, 2, -0.0}};
    sett_dtype d = floats[_i];
    for (size_t i = 0; i < SETT__COUNT(rows); i++)
        SAME(eval(rows[i].code, d, 0, sett__bits_of_float(d, rows[i].x), sett__bits_of_float(d, rows[i].y), 0),
            sett__bits_of_float(d, rows[i].r));
}
END_TEST

START_TEST(doubles_are_ieee)
{
    for (int i = 0; i < 5000; i++) {
        uint64_t b[3];
        volatile double x[3], r;
        for (int k = 0; k < 3; k++) {
            b[k] = next() & ~(UINT64_C(3) << 61 & (UINT64_C(0) - (next() & 1)));
            double v;
            memcpy(&v, &b[k], sizeof v);
            x[k] = v;
        }
        const uint64_t got[] = {eval(SETT__ADD, SETT_F64, 0, b[0], b[1], 0),
            eval(SETT__MUL, SETT_F64, 0, b[0], b[1], 0), eval(SETT__DIV, SETT_F64, 0, b[0], b[1], 0),
            eval(SETT__FMA, SETT_F64, 0, b[0], b[1], b[2])};
        for (int k = 0; k < 4; k++) {
            r = k == 0 ? x[0] + x[1] : k == 1 ? x[0] * x[1] : k == 2 ? x[0] / x[1] : fma(x[0], x[1], x[2]);
            double v = r;
            uint64_t want;
            memcpy(&want, &v, sizeof want);
            SAME(got[k], r != r ? 0x7ff8000000000000 : want);
        }
    }
}
END_TEST

/* A host that rounds upward and flushes subnormals folds the same. */
START_TEST(environment_is_ignored)
{
    static const struct {
        sett__code code;
        sett_dtype d;
        uint64_t x, y, out;
    } rows[] = {{SETT__ADD, SETT_F32, 1, 1, 2}, {SETT__MUL, SETT_F32, 0x00800000, 0x3f000000, 0x00400000},
        {SETT__DIV, SETT_F32, 0x3f800000, 0x40400000, 0x3eaaaaab}, {SETT__ADD, SETT_F64, 1, 2, 3},
        {SETT__DIV, SETT_F64, 0xbff0000000000000, 0x4008000000000000, 0xbfd5555555555555},
        {SETT__ADD, SETT_F16, 0x3c00, 1, 0x3c00}, {SETT__ADD, SETT_BF16, 1, 1, 2},
        {SETT__RINT, SETT_F32, 0x40200000, 0, 0x40000000}};
    for (size_t i = 0; i < SETT__COUNT(rows); i++) {
        fenv_t before;
        feholdexcept(&before);
        fesetround(FE_UPWARD);
#if defined(__x86_64__)
        __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
#endif
        uint64_t in[3] = {rows[i].x, rows[i].y, 0}, out = 0;
        bool ok = sett__eval(rows[i].code, rows[i].d, (sett_dtype)0, in, rows[i].code == SETT__RINT ? 1 : 2, &out);
        bool kept = fegetround() == FE_UPWARD;
        fesetenv(&before);
        HOLDS(ok && kept);
        SAME(out, rows[i].out);
    }
}
END_TEST

START_TEST(what_is_not_folded)
{
    uint64_t in[3] = {0x3f800000, 0, 0}, out;
    for (int c = SETT__EX2A; c <= SETT__TANHA; c++)
        HOLDS(!sett__eval((sett__code)c, SETT_F32, SETT_F32, in, 1, &out));
    HOLDS(!sett__eval(SETT__EX2F, SETT_F32, SETT_F32, in, 1, &out));
    HOLDS(!sett__eval(SETT__ADD, SETT_BOOL, (sett_dtype)0, in, 2, &out));
    HOLDS(!sett__eval(SETT__ADD, SETT_F8E4M3FN, (sett_dtype)0, in, 2, &out));
    HOLDS(!sett__eval(SETT__SQRT, SETT_I32, (sett_dtype)0, in, 1, &out));
    HOLDS(!sett__eval(SETT__ADD, SETT_I32, (sett_dtype)0, in, 1, &out));
    HOLDS(!sett__eval(SETT__LOAD, SETT_I32, (sett_dtype)0, in, 3, &out));
    HOLDS(!sett__eval(SETT__CONVERT, SETT_I32, SETT_I128, in, 1, &out));
    HOLDS(!sett__eval(SETT__BITCAST, SETT_I32, SETT_F64, in, 1, &out));
    HOLDS(sett__eval(SETT__BITCAST, SETT_I32, SETT_F32, in, 1, &out) && out == in[0]);
}
END_TEST

START_TEST(dtypes_are_known_by_name)
{
    static const int bytes[] = {0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 4, 8};
    for (int d = 1; d <= SETT_F8E4M3B11FNUZ; d++) {
        const char *name = sett_dtype_name((sett_dtype)d);
        ck_assert_int_eq(sett__dtype_parse(name, strlen(name)), d);
        if (d < (int)SETT__COUNT(bytes))
            ck_assert_int_eq(sett__dtype_bytes((sett_dtype)d), bytes[d]);
    }
    HOLDS(!sett__dtype_valid(0) && !sett__dtype_valid(26) && !sett__dtype_valid(-1));
    ck_assert_str_eq(sett_dtype_name((sett_dtype)99), "?");
    ck_assert_int_eq(sett__dtype_parse("f1", 2), 0);
    static const char *const names[][2] = {{"bfloat16", "bf16"}, {"float16", "f16"}, {"fp16", "f16"}, {"half", "f16"}, {"float", "f32"}, {"fp64", "f64"},
        {"double", "f64"}, {"bool", "i1"}, {"int8", "i8"}, {"uint64", "u64"}, {"float8_e4m3fn", "f8E4M3FN"}, {"f8E5M2", "f8E5M2"}, {"i4", "i4"}};
    for (size_t i = 0; i < SETT__COUNT(names); i++)
        ck_assert_str_eq(sett_dtype_name(sett__dtype_named(names[i][0])), names[i][1]);
    HOLDS(!sett__dtype_named("fp8") && !sett__dtype_named("float1") && !sett__dtype_named("") && !sett__dtype_named("?"));
    ck_assert_str_eq(sett_status_name(SETT_E_DIVIDE), "SETT_E_DIVIDE");
    ck_assert_str_eq(sett_status_text((sett_status)12345), "unknown status");
    ck_assert_str_eq(sett_version(), SETT_VERSION);
}
END_TEST

Suite *eval_suite(void)
{
    Suite *s = suite_create("eval");
    TCase *t = tcase_create("floats");
    tcase_add_loop_test(t, arithmetic_rounds_once, 0, 3);
    tcase_add_test(t, fma_sees_beyond_a_double);
    tcase_add_test(t, every_half_converts);
    tcase_add_test(t, narrowing_rounds_to_nearest_even);
    tcase_add_loop_test(t, integers_become_floats_in_one_rounding, 0, 3);
    tcase_add_loop_test(t, floats_become_integers_by_truncation, 0, (int)SETT__COUNT(truncations));
    tcase_add_loop_test(t, nan_zero_and_infinity, 0, 4);
    tcase_add_loop_test(t, whole_numbers_and_remainders, 0, 4);
    tcase_add_test(t, doubles_are_ieee);
    tcase_add_test(t, environment_is_ignored);
    suite_add_tcase(s, t);
    t = tcase_create("integers");
    tcase_add_loop_test(t, integers_wrap, 0, 8);
    tcase_add_test(t, integers_convert);
    tcase_add_test(t, what_is_not_folded);
    tcase_add_test(t, dtypes_are_known_by_name);
    suite_add_tcase(s, t);
    return s;
}
