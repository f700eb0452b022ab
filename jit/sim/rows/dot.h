/* SPDX-License-Identifier: Apache-2.0 */
/* A part of wide.h: sums of products as tensor cores have them (tensor_core.h). Sums are of SPAN columns at once, one integer each. */

/* ---- vectors of integers ------------------------------------------------------------------------ */
#ifdef __F16C__
#define SPAN 8
typedef int32_t ints __attribute__((vector_size(32)));
#define MOST(x, y) ((ints)_mm256_max_epi32((__m256i)(x), (__m256i)(y)))
#define MAGNITUDE(x) ((ints)_mm256_abs_epi32((__m256i)(x)))
#define SIGNED_AS(x, y) ((ints)_mm256_sign_epi32((__m256i)(x), (__m256i)(y)))
#define CUT_BY(x, n) ((ints)_mm256_srlv_epi32((__m256i)(x), (__m256i)(n)))
#define PRODUCT(x, y) ((ints)_mm256_madd_epi16((__m256i)(x), (__m256i)(y))) /* of their low 16 bits: the high ones of x are 0 */
#else
#define SPAN 4
typedef int32_t ints __attribute__((vector_size(16)));
#define EITHER(m, x, y) (((x) & (m)) | ((y) & ~(m)))
#define MOST(x, y) EITHER((ints)((x) > (y)), x, y)
#define MAGNITUDE(x) (((x) ^ ((x) >> 31)) - ((x) >> 31))
#define SIGNED_AS(x, y) (((x) ^ ((y) >> 31)) - ((y) >> 31))
#define CUT_BY(x, n) ((x) >> EITHER((ints)((n) < 31), n, EACH(31)))
#define PRODUCT(x, y) (((x) << 16 >> 16) * (y))
#endif
#define EACH(x) ((ints){0} + (x))
#define SOME _Pragma("GCC unroll 8")
#define COLUMN for (int l = 0; l < SETT__COLUMNS; l++)
typedef struct right {
    _Alignas(32) int32_t sig[SETT__MOST_K * SETT__COLUMNS], exp[SETT__MOST_K * SETT__COLUMNS];
} right;

INLINE ints ints_at(const int32_t *p)
{
    ints x;
    memcpy(&x, p, sizeof x);
    return x;
}

/* ---- operands --------------------------------------------------------------------------------------- */
/* Floats of 1 + bits + mantissa bits in x; of a significand whose first bit has the weight 2^keep. */
INLINE void split_floats(const ints *in, int bits, int mantissa, int keep, bool negate, int32_t *to_sig, int32_t *to_exp)
{
    const int32_t top = (1 << bits) - 1, bias = top >> 1;
    ints x = *in, e = x >> mantissa & EACH(top), m = x & EACH((1 << mantissa) - 1);
    ints normal = (ints)(e > EACH(0)), special = (ints)(e == EACH(top)), sign = EACH(0) - ((x >> (bits + mantissa) & EACH(1)) ^ EACH((int32_t)negate));
    ints sig = m | (normal & EACH(1 << mantissa)), zero = (ints)(sig == EACH(0)), exp = MOST(e, EACH(1)) - EACH(bias);
    exp = (exp & ~zero) | (EACH(SETT__EXP_ZERO) & zero);
    exp = (exp & ~special) | ((EACH(SETT__EXP_INF) + ((ints)(m > EACH(0)) & EACH(SETT__EXP_NAN - SETT__EXP_INF))) & special);
    sig = keep >= mantissa ? sig << (keep - mantissa) : sig >> (mantissa - keep);
    sig = (sig ^ sign) - sign;
    memcpy(to_sig, &sig, sizeof sig);
    memcpy(to_exp, &exp, sizeof exp);
}

/* The only one without Inf: what would be one is a number, and a NaN has all bits. */
INLINE void split_E4M3(const ints *in, int keep, bool negate, int32_t *to_sig, int32_t *to_exp)
{
    ints x = *in, e = x >> 3 & EACH(15), m = x & EACH(7), sign = EACH(0) - ((x >> 7 & EACH(1)) ^ EACH((int32_t)negate));
    ints sig = m | ((ints)(e > EACH(0)) & EACH(8)), zero = (ints)(sig == EACH(0)), nan = (ints)((x & EACH(127)) == EACH(127));
    ints exp = MOST(e, EACH(1)) - EACH(7);
    exp = (exp & ~zero) | (EACH(SETT__EXP_ZERO) & zero);
    exp = (exp & ~nan) | (EACH(SETT__EXP_NAN) & nan);
    sig = ((sig << (keep - 3)) ^ sign) - sign;
    memcpy(to_sig, &sig, sizeof sig);
    memcpy(to_exp, &exp, sizeof exp);
}

#define SPLITTING(name, T, ...) \
    ROW split_##name(int32_t *restrict sig, int32_t *restrict exp, const void *v, uint32_t n, int keep, bool negate) \
    { \
        const T *s = v; \
        (void)keep, (void)negate, (void)exp; \
        for (uint32_t i = 0; i < n; i += SPAN) { \
            typedef T span __attribute__((vector_size(SPAN * sizeof(T)))); \
            span in; \
            memcpy(&in, s + i, sizeof in); \
            ints x = __builtin_convertvector(in, ints); \
            __VA_ARGS__; \
        } \
    }
SPLITTING(F16, uint16_t, split_floats(&x, 5, 10, keep, negate, sig + i, exp + i))
SPLITTING(BF16, uint16_t, split_floats(&x, 8, 7, keep, negate, sig + i, exp + i))
SPLITTING(TF32, int32_t, x = x >> 13 & EACH(0x7ffff); split_floats(&x, 8, 10, keep, negate, sig + i, exp + i))
SPLITTING(F8E4M3FN, uint8_t, split_E4M3(&x, keep, negate, sig + i, exp + i))
SPLITTING(F8E5M2, uint8_t, split_floats(&x, 5, 2, keep, negate, sig + i, exp + i))
SPLITTING(I8, int8_t, memcpy(sig + i, &x, sizeof x))
SPLITTING(U8, uint8_t, memcpy(sig + i, &x, sizeof x))
#undef SPLITTING

/* The kth of those products that are summed one after another: of a split unit, those over k % 4 < 2 come first. */
INLINE uint32_t kth(const sett__unit *u, uint32_t k)
{
    uint32_t half = u->k / 2u, i = k % half;
    return u->split ? i / 2 * 4 + i % 2 + (k < half ? 0 : 2) : k;
}

static void split_operand(int type, int32_t *restrict sig, int32_t *restrict exp, const void *v, uint32_t n, int keep, bool negate)
{
    switch (type) {
    case SETT_F16:
        split_F16(sig, exp, v, n, keep, negate);
        return;
    case SETT_BF16:
        split_BF16(sig, exp, v, n, keep, negate);
        return;
    case SETT_TF32:
        split_TF32(sig, exp, v, n, keep, negate);
        return;
    case SETT_F8E4M3FN:
        split_F8E4M3FN(sig, exp, v, n, keep, negate);
        return;
    case SETT_F8E5M2:
        split_F8E5M2(sig, exp, v, n, keep, negate);
        return;
    case SETT_I8:
        split_I8(sig, exp, v, n, keep, negate);
        return;
    default:
        split_U8(sig, exp, v, n, keep, negate);
        return;
    }
}

/* Floats of 8 bits as f16, in the order in which they are summed; a row of the operand has so many, `apart` one k. */
static void as_halves(const sett__unit *u, int type, uint16_t *to, const uint8_t *v, uint32_t rows, uint32_t row, uint32_t apart)
{
    uint8_t bytes[16 * SETT__MOST_K];
    for (uint32_t k = 0; k < u->k; k++)
        for (uint32_t r = 0, from = kth(u, k) * apart, at = k * apart; r < rows; r++)
            bytes[r * row + at] = v[r * row + from];
    (type == SETT_F8E4M3FN ? F8E4M3FN_to_F16 : F8E5M2_to_F16)(to, bytes, NULL, NULL, rows * u->k / WARP, 0);
}

/* In f32, which has them all. */
static void as_floats(int type, float *restrict to, const void *v, uint32_t n, bool negate)
{
    uint16_t halves[SETT__MOST_M * SETT__MOST_K];
    const uint32_t *words = v;
    if (type == SETT_F8E4M3FN || type == SETT_F8E5M2) {
        (type == SETT_F8E4M3FN ? F8E4M3FN_to_F16 : F8E5M2_to_F16)(halves, v, NULL, NULL, n / WARP, 0);
        v = halves;
    }
    const uint16_t *half = v;
    for (uint32_t i = 0; i < n; i += WARP)
        if (type == SETT_TF32)
            LANES to[i + l] = from_F32(words[i + l] & ~0x1fffu);
        else if (type == SETT_BF16)
            widen_BF16(to + i, half + i);
        else
            widen_F16(to + i, half + i);
    for (uint32_t i = 0; negate && i < n; i++)
        to[i] = -to[i];
}

static void left(const sett__unit *u, uint32_t m, const void *a, sett__left *to)
{
    uint16_t halves[16 * SETT__MOST_K];
    uint32_t n = m * u->k;
    int type = u->a, keep = (u->keep + 1) / 2;
    to->m = m;
    if (u->model == SETT__MMA_FMA) {
        memcpy(to->f64, a, n * sizeof(double));
        return;
    }
    if (u->fast && u->model == SETT__MMA_DOT) {
        as_floats(type, to->f32, a, n, u->negate_a);
        return;
    }
    if (u->split) {
        as_halves(u, type, halves, a, m, u->k, 1);
        type = SETT_F16;
        a = halves;
    }
    split_operand(type, to->sig, to->exp, a, n, keep, u->negate_a);
    for (uint32_t i = 0; i < n; i++) /* as PRODUCT has it */
        to->sig[i] &= 0xffff;
}

/* ---- a sum of floats -------------------------------------------------------------------------------- */
enum { PARTS = SETT__MOST_K / 8, QUAD = 4 };
typedef int32_t quad __attribute__((vector_size(16)));
typedef int64_t longs __attribute__((vector_size(32)));
typedef double doubles __attribute__((vector_size(32)));
typedef float floats4 __attribute__((vector_size(16)));
typedef struct sum {
    _Alignas(32) int32_t top[SETT__COLUMNS]; /* E */
    _Alignas(32) int32_t part[PARTS][SETT__COLUMNS]; /* eight products and c fit 32 bits */
    _Alignas(32) int32_t sig_c[SETT__COLUMNS], exp_c[SETT__COLUMNS];
} sum;

INLINE void add_products(const sett__unit *u, sum *s, const int32_t *sa, const int32_t *ea, const right *b, uint32_t k0, uint32_t n, int at)
{
    const int32_t *sb = b->sig + k0 * SETT__COLUMNS + at, *eb = b->exp + k0 * SETT__COLUMNS + at;
    ints exp[SETT__MOST_K], c = ints_at(s->sig_c + at), ec = ints_at(s->exp_c + at), top = MOST(ec, EACH(u->floor));
    SOME for (uint32_t k = 0; k < n; k++) {
        exp[k] = ints_at(eb + k * SETT__COLUMNS) + EACH(ea[k]);
        top = MOST(top, exp[k]);
    }
    ints all = SIGNED_AS(CUT_BY(MAGNITUDE(c), top - ec), c);
    for (uint32_t part = 0, k = 0; k < n; part++) {
        uint32_t end = k + 8 < n ? k + 8 : n;
        SOME for (; k < end; k++) {
            ints p = PRODUCT(EACH(sa[k]), ints_at(sb + k * SETT__COLUMNS));
            all += SIGNED_AS(CUT_BY(MAGNITUDE(p), top - exp[k]), p);
        }
        memcpy(&s->part[part][at], &all, sizeof all);
        all = EACH(0);
    }
    memcpy(&s->top[at], &top, sizeof top);
}

INLINE quad quad_at(const int32_t *p)
{
    quad x;
    memcpy(&x, p, sizeof x);
    return x;
}

/* The exact sums of four columns, as doubles. */
INLINE void add_parts(const sett__unit *u, const sum *s, uint32_t n, int at, doubles *to)
{
    doubles x = __builtin_convertvector(quad_at(&s->part[0][at]), doubles), scale;
    longs exp = __builtin_convertvector(quad_at(s->top + at) + (1023 - u->keep), longs) << 52;
    for (uint32_t part = 1; part * 8 < n; part++)
        x += __builtin_convertvector(quad_at(&s->part[part][at]), doubles);
    memcpy(&scale, &exp, sizeof scale);
    *to = x * scale;
}

/* Cut to the bits of an f32, or fewer; below 2^-126 to what is a multiple of the least number. Never -0. */
INLINE void cut_F32(const sett__unit *u, const doubles *in, uint32_t *c)
{
    doubles x = *in;
    longs bits, zero = {0}, drop, low;
    memcpy(&bits, &x, sizeof bits);
    low = (zero - 126) - ((bits >> 52 & 0x7ff) - 1023);
    drop = (low & (longs)(low > zero)) + (52 - u->fraction);
    bits &= (zero - 1) << (drop & 63);
    bits &= (longs)(drop < zero + 53);
    memcpy(&x, &bits, sizeof x);
    floats4 f = __builtin_convertvector(x, floats4) + 0.0f;
    memcpy(c, &f, sizeof f);
}

/* To the nearest f16, of two as near the even one: a sum with what has no smaller digits rounds. Never -0. */
INLINE void round_F16(const doubles *in, uint32_t *c)
{
    doubles x = *in, coarse;
    longs bits, zero = {0}, exp, above;
    memcpy(&bits, &x, sizeof bits);
    exp = (bits >> 52 & 0x7ff) - 1023;
    above = exp + 14;
    exp = ((above & (longs)(above > zero)) + (42 - 14 + 1023)) << 52 | (zero + (INT64_C(1) << 51));
    memcpy(&coarse, &exp, sizeof coarse);
    floats4 f = __builtin_convertvector(x + coarse - coarse, floats4) + 0.0f;
#ifdef __F16C__
    _mm_storeu_si128((void *)c, _mm_cvtepu16_epi32(_mm_cvtps_ph((__m128)f, _MM_FROUND_TO_NEAREST_INT)));
#else
    for (int l = 0; l < QUAD; l++)
        c[l] = narrow1_F16(f[l]);
#endif
}

/* c: bits of eight, which become those of the sums. */
INLINE void sum_group(const sett__unit *u, const int32_t *sa, const int32_t *ea, const right *b, uint32_t k0, uint32_t n, uint32_t *restrict c)
{
    sum s;
    int32_t special = 0;
    bool half = u->c == SETT_F16;
    for (int at = 0; at < SETT__COLUMNS; at += SPAN) {
        ints now = ints_at((const int32_t *)(c + at));
        if (half)
            split_floats(&now, 5, 10, u->keep, false, s.sig_c + at, s.exp_c + at);
        else
            split_floats(&now, 8, 23, u->keep, false, s.sig_c + at, s.exp_c + at);
        add_products(u, &s, sa, ea, b, k0, n, at);
    }
    for (int at = 0; at < SETT__COLUMNS; at += QUAD) {
        doubles x;
        add_parts(u, &s, n, at, &x);
        if (half)
            round_F16(&x, c + at);
        else
            cut_F32(u, &x, c + at);
    }
    COLUMN special |= (int32_t)(SETT__EXP_SPECIAL - 1) - s.top[l];
    for (int l = 0; special < 0 && l < SETT__COLUMNS; l++)
        if (s.top[l] >= SETT__EXP_SPECIAL)
            c[l] = sett__special_sum(u, n, sa, ea, b->sig + k0 * SETT__COLUMNS + l, b->exp + k0 * SETT__COLUMNS + l, s.sig_c[l], s.exp_c[l]);
}

/* By IEEE, of the type of c; halves are exact in a double. */
INLINE void add_ieee(bool half, uint32_t *restrict c, const uint32_t *added)
{
    if (half)
        COLUMN c[l] = narrow1_F16(odd_F32((double)widen1_F16((uint16_t)c[l]) + (double)widen1_F16((uint16_t)added[l])));
    else
        COLUMN c[l] = bits_F32(canon_F32(from_F32(c[l]) + from_F32(added[l])));
}

/* n: the products of a group. */
INLINE void dot_rows(const sett__unit *of, const sett__left *a, const right *b, void *cv, uint32_t n)
{
    const sett__unit u = *of;
    const bool is_half = u.c == SETT_F16;
    uint16_t *half = cv;
    uint32_t *whole = cv, c[SETT__COLUMNS], added[SETT__COLUMNS];
    for (uint32_t i = 0; i < a->m; i++, half += SETT__COLUMNS, whole += SETT__COLUMNS) {
        const int32_t *sa = a->sig + i * u.k, *ea = a->exp + i * u.k;
        uint32_t *sums = is_half || u.split ? c : whole;
        if (is_half)
            COLUMN c[l] = half[l];
        if (u.split) {
            memcpy(added, is_half ? c : whole, sizeof added);
            memset(c, 0, sizeof c);
        }
        for (uint32_t k = 0; k < u.k; k += n)
            sum_group(&u, sa + k, ea + k, b, k, n, sums);
        if (u.split)
            add_ieee(is_half, c, added);
        if (is_half)
            COLUMN half[l] = (uint16_t)c[l];
        else if (u.split)
            memcpy(whole, c, sizeof c);
    }
}

ROW dot_16(const sett__unit *u, const sett__left *a, const right *b, void *c)
{
    dot_rows(u, a, b, c, 16);
}
ROW dot_8(const sett__unit *u, const sett__left *a, const right *b, void *c)
{
    dot_rows(u, a, b, c, 8);
}
ROW dot_any(const sett__unit *u, const sett__left *a, const right *b, void *c)
{
    dot_rows(u, a, b, c, u->group);
}

static void dot(const sett__unit *u, const sett__left *a, const void *bv, void *c)
{
    right b;
    uint16_t halves[SETT__MOST_K * SETT__COLUMNS];
    int type = u->b;
    if (u->split) {
        as_halves(u, type, halves, bv, SETT__COLUMNS, 1, SETT__COLUMNS);
        type = SETT_F16;
        bv = halves;
    }
    split_operand(type, b.sig, b.exp, bv, u->k * SETT__COLUMNS, u->keep / 2, u->negate_b);
    (u->group == 16 ? dot_16 : u->group == 8 ? dot_8 : dot_any)(u, a, &b, c);
}

/* ---- the others -------------------------------------------------------------------------------------- */
/* The sum of all products fits; with c it may not. */
ROW dot_ints(const sett__unit *u, const sett__left *a, const void *bv, int32_t *c)
{
    right b;
    split_operand(u->b, b.sig, b.exp, bv, u->k * SETT__COLUMNS, 0, false);
    for (uint32_t i = 0; i < a->m; i++, c += SETT__COLUMNS)
        for (int at = 0; at < SETT__COLUMNS; at += SPAN) {
            ints all = EACH(0);
            int32_t sums[SPAN];
            for (uint32_t k = 0; k < u->k; k++)
                all += PRODUCT(EACH(a->sig[i * u->k + k]), ints_at(b.sig + k * SETT__COLUMNS + at));
            memcpy(sums, &all, sizeof sums);
            for (int l = 0; l < SPAN; l++) {
                int64_t x = (int64_t)c[at + l] + sums[l];
                x = u->clamp && x > INT32_MAX ? INT32_MAX : u->clamp && x < INT32_MIN ? INT32_MIN : x;
                c[at + l] = (int32_t)(uint32_t)(uint64_t)x;
            }
        }
}

/* The first NaN of b, c and a, made quiet; of numbers alone, the default one. */
static double fma_nan(double a, double b, double c)
{
    const double x[3] = {b, c, a};
    for (int i = 0; i < 3; i++)
        if (x[i] != x[i])
            return from_F64(bits_F64(x[i]) | UINT64_C(1) << 51);
    return from_F64(UINT64_C(0xfff8000000000000));
}

ROW dot_doubles(const sett__unit *u, const sett__left *a, const double *b, double *c)
{
    for (uint32_t i = 0; i < a->m; i++, c += SETT__COLUMNS)
        for (uint32_t k = 0; k < u->k; k++)
            COLUMN {
                double x = a->f64[i * u->k + k], y = b[k * SETT__COLUMNS + (uint32_t)l], z = fma(x, y, c[l]);
                c[l] = z != z ? fma_nan(x, y, c[l]) : z;
            }
}

/* d += a row of A times B. */
INLINE void fma_row(float *d, const float *a, const float *b, uint32_t k)
{
#ifdef __F16C__
    __m256 x = _mm256_load_ps(d);
    for (uint32_t i = 0; i < k; i++)
        x = _mm256_fmadd_ps(_mm256_set1_ps(a[i]), _mm256_load_ps(b + i * SETT__COLUMNS), x);
    _mm256_store_ps(d, x);
#else
    for (uint32_t i = 0; i < k; i++)
        COLUMN d[l] = fma1_F32(a[i], b[i * SETT__COLUMNS + (uint32_t)l], d[l]);
#endif
}

/* In f32 all the way; a result of f16 is rounded once. */
ROW dot_fast(const sett__unit *u, const sett__left *a, const void *bv, void *cv)
{
    _Alignas(32) float b[SETT__MOST_K * SETT__COLUMNS], d[SETT__MOST_M * SETT__COLUMNS];
    uint32_t n = a->m * SETT__COLUMNS;
    as_floats(u->b, b, bv, u->k * SETT__COLUMNS, u->negate_b);
    if (u->c == SETT_F16)
        for (uint32_t i = 0; i < n; i += WARP)
            widen_F16(d + i, (const uint16_t *)cv + i);
    else
        memcpy(d, cv, n * sizeof *d);
    for (uint32_t i = 0; i < a->m; i++)
        fma_row(d + i * SETT__COLUMNS, a->f32 + i * u->k, b, u->k);
    if (u->c == SETT_F16)
        for (uint32_t i = 0; i < n; i += WARP)
            narrow_F16((uint16_t *)cv + i, d + i);
    else
        for (uint32_t i = 0; i < n; i += WARP)
            LANES ((float *)cv)[i + l] = canon_F32(d[i + l]);
}

static void columns(const sett__unit *u, const sett__left *a, const void *b, void *c)
{
    if (u->model == SETT__MMA_INT)
        dot_ints(u, a, b, c);
    else if (u->model == SETT__MMA_FMA)
        dot_doubles(u, a, b, c);
    else if (u->fast)
        dot_fast(u, a, b, c);
    else
        dot(u, a, b, c);
}
