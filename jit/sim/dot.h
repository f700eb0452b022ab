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
/* One float of 1 + bits + mantissa bits in x; of a significand whose first bit has the weight 2^keep. */
INLINE void split_float(uint32_t x, int bits, int mantissa, int keep, bool negate, int32_t *sig, int32_t *exp)
{
    int32_t top = (1 << bits) - 1, bias = top >> 1, e = (int32_t)(x >> mantissa) & top, m = (int32_t)(x & ((1u << mantissa) - 1));
    int32_t s = (e ? m | 1 << mantissa : m), n = e ? e : 1;
    n = s ? n - bias : SETT__EXP_ZERO;
    n = e == top ? (m ? SETT__EXP_NAN : SETT__EXP_INF) : n;
    s = keep >= mantissa ? s << ((keep - mantissa) & 31) : s >> ((mantissa - keep) & 31);
    *sig = ((x >> (bits + mantissa) & 1) != negate) ? -s : s;
    *exp = n;
}

/* The only one without Inf: what would be one is a number, and a NaN has all bits. */
INLINE void split_E4M3(uint32_t x, int keep, bool negate, int32_t *sig, int32_t *exp)
{
    int32_t e = (int32_t)(x >> 3) & 15, s = (int32_t)(x & 7) | (e ? 8 : 0);
    int32_t n = s ? (e ? e : 1) - 7 : SETT__EXP_ZERO;
    *exp = (x & 0x7f) == 0x7f ? SETT__EXP_NAN : n;
    s <<= keep - 3;
    *sig = (x >> 7 & 1) != (uint32_t)negate ? -s : s;
}

#define SPLITTING(name, T, expr) \
    ROW split_##name(int32_t *restrict sig, int32_t *restrict exp, const void *v, uint32_t n, int keep, bool negate) \
    { \
        const T *s = v; \
        for (; n; n -= WARP, s += WARP, sig += WARP, exp += WARP) \
            LANES { \
                T x = s[l]; \
                expr; \
            } \
    }
SPLITTING(F16, uint16_t, split_float(x, 5, 10, keep, negate, &sig[l], &exp[l]))
SPLITTING(BF16, uint16_t, split_float(x, 8, 7, keep, negate, &sig[l], &exp[l]))
SPLITTING(TF32, uint32_t, split_float(x >> 13, 8, 10, keep, negate, &sig[l], &exp[l]))
SPLITTING(F8E4M3FN, uint8_t, split_E4M3(x, keep, negate, &sig[l], &exp[l]))
SPLITTING(F8E5M2, uint8_t, split_float(x, 5, 2, keep, negate, &sig[l], &exp[l]))
SPLITTING(I8, int8_t, (void)keep; (void)negate; (void)exp; sig[l] = x)
SPLITTING(U8, uint8_t, (void)keep; (void)negate; (void)exp; sig[l] = x)
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
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t k = 0; k < u->k; k++) {
            uint8_t x = v[r * row + kth(u, k) * apart];
            to[r * row + k * apart] = type == SETT_F8E4M3FN ? widen1_F8E4M3FN(x) : widen1_F8E5M2(x);
        }
}

/* In f32, which has them all. */
static void as_floats(int type, float *restrict to, const void *v, uint32_t n, bool negate)
{
    const uint8_t *bytes = v;
    const uint16_t *halves = v;
    const uint32_t *words = v, sign = (uint32_t)negate << 31;
    for (uint32_t i = 0; i < n; i += WARP)
        if (type == SETT_F16)
            LANES to[i + l] = from_F32(bits_F32(widen1_F16(halves[i + l])) ^ sign);
        else if (type == SETT_BF16)
            LANES to[i + l] = from_F32(bits_F32(widen1_BF16(halves[i + l])) ^ sign);
        else if (type == SETT_TF32)
            LANES to[i + l] = from_F32((words[i + l] & ~0x1fffu) ^ sign);
        else
            LANES to[i + l] = from_F32(bits_F32(widen1_F16(type == SETT_F8E4M3FN ? widen1_F8E4M3FN(bytes[i + l]) : widen1_F8E5M2(bytes[i + l]))) ^ sign);
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
enum { PARTS = SETT__MOST_K / 8 };
typedef struct sum {
    _Alignas(32) int32_t top[SETT__COLUMNS]; /* E */
    _Alignas(32) int32_t part[PARTS][SETT__COLUMNS]; /* eight products and c fit 32 bits */
    int32_t sig_c[SETT__COLUMNS], exp_c[SETT__COLUMNS];
    bool special;
} sum;

INLINE void add_products(const sett__unit *u, sum *s, const int32_t *sa, const int32_t *ea, const right *b, uint32_t k0, uint32_t n, int at)
{
    const int32_t *sb = b->sig + k0 * SETT__COLUMNS + at, *eb = b->exp + k0 * SETT__COLUMNS + at;
    ints exp[SETT__MOST_K], c = ints_at(s->sig_c + at), ec = ints_at(s->exp_c + at), top = MOST(ec, EACH(u->floor));
    for (uint32_t k = 0; k < n; k++) {
        exp[k] = ints_at(eb + k * SETT__COLUMNS) + EACH(ea[k]);
        top = MOST(top, exp[k]);
    }
    ints all = SIGNED_AS(CUT_BY(MAGNITUDE(c), top - ec), c);
    for (uint32_t part = 0, k = 0; k < n; part++) {
        for (uint32_t end = k + 8 < n ? k + 8 : n; k < end; k++) {
            ints p = PRODUCT(EACH(sa[k]), ints_at(sb + k * SETT__COLUMNS));
            all += SIGNED_AS(CUT_BY(MAGNITUDE(p), top - exp[k]), p);
        }
        memcpy(&s->part[part][at], &all, sizeof all);
        all = EACH(0);
    }
    memcpy(&s->top[at], &top, sizeof top);
}

/* The exact sums, as doubles. */
INLINE void add_parts(const sett__unit *u, const sum *s, uint32_t n, double x[SETT__COLUMNS])
{
    COLUMN x[l] = s->part[0][l];
    for (uint32_t part = 1; part * 8 < n; part++)
        COLUMN x[l] += s->part[part][l];
    COLUMN x[l] *= from_F64((uint64_t)(uint32_t)(s->top[l] - u->keep + 1023) << 52);
}

/* A double cut to the bits of an f32, or fewer. */
INLINE uint32_t cut_F32(double x, int fraction)
{
    uint64_t u = bits_F64(x);
    int64_t e = (int64_t)(u >> 52 & 0x7ff) - 1023, drop = 52 - fraction + (e < -126 ? -126 - e : 0);
    u = drop > 52 ? 0 : u & ~(uint64_t)0 << (drop & 63);
    return bits_F32((float)from_F64(u) + 0.0f);
}

INLINE uint16_t round_F16(double x)
{
    uint16_t h = narrow1_F16(odd_F32(x));
    return h & 0x7fff ? h : 0;
}

/* c: bits of eight, which become those of the sums. */
INLINE void sum_group(const sett__unit *u, const int32_t *sa, const int32_t *ea, const right *b, uint32_t k0, uint32_t n, uint32_t *restrict c)
{
    sum s;
    double x[SETT__COLUMNS];
    int32_t top = 0;
    bool half = u->c == SETT_F16;
    if (half)
        COLUMN split_float(c[l], 5, 10, u->keep, false, &s.sig_c[l], &s.exp_c[l]);
    else
        COLUMN split_float(c[l], 8, 23, u->keep, false, &s.sig_c[l], &s.exp_c[l]);
    for (int at = 0; at < SETT__COLUMNS; at += SPAN)
        add_products(u, &s, sa, ea, b, k0, n, at);
    add_parts(u, &s, n, x);
    if (half)
        COLUMN c[l] = round_F16(x[l]);
    else
        COLUMN c[l] = cut_F32(x[l], u->fraction);
    COLUMN top = s.top[l] > top ? s.top[l] : top;
    for (int l = 0; top >= SETT__EXP_SPECIAL && l < SETT__COLUMNS; l++)
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

ROW dot_rows(const sett__unit *u, const sett__left *a, const right *b, void *cv)
{
    uint16_t *half = u->c == SETT_F16 ? cv : NULL;
    uint32_t *whole = cv, c[SETT__COLUMNS], added[SETT__COLUMNS];
    for (uint32_t i = 0; i < a->m; i++) {
        const int32_t *sa = a->sig + i * u->k, *ea = a->exp + i * u->k;
        COLUMN added[l] = half ? half[i * SETT__COLUMNS + (uint32_t)l] : whole[i * SETT__COLUMNS + (uint32_t)l];
        COLUMN c[l] = u->split ? 0 : added[l];
        for (uint32_t k = 0; k < u->k; k += u->group)
            sum_group(u, sa + k, ea + k, b, k, u->group, c);
        if (u->split)
            add_ieee(half != NULL, c, added);
        if (half)
            COLUMN half[i * SETT__COLUMNS + (uint32_t)l] = (uint16_t)c[l];
        else
            COLUMN whole[i * SETT__COLUMNS + (uint32_t)l] = c[l];
    }
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
    dot_rows(u, a, &b, c);
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

/* In f32 all the way; a result of f16 is rounded once. */
ROW dot_fast(const sett__unit *u, const sett__left *a, const void *bv, void *cv)
{
    float b[SETT__MOST_K * SETT__COLUMNS], x[SETT__COLUMNS];
    uint16_t *half = u->c == SETT_F16 ? cv : NULL;
    float *whole = cv;
    as_floats(u->b, b, bv, u->k * SETT__COLUMNS, u->negate_b);
    for (uint32_t i = 0; i < a->m; i++) {
        const float *row = a->f32 + i * u->k;
        uint32_t at = i * SETT__COLUMNS;
        COLUMN x[l] = half ? widen1_F16(half[at + (uint32_t)l]) : whole[at + (uint32_t)l];
        for (uint32_t k = 0; k < u->k; k++)
            COLUMN x[l] = fma1_F32(row[k], b[k * SETT__COLUMNS + (uint32_t)l], x[l]);
        if (half)
            COLUMN half[at + (uint32_t)l] = narrow1_F16(x[l]);
        else
            COLUMN whole[at + (uint32_t)l] = canon_F32(x[l]);
    }
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
