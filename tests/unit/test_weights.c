/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of few bits (sett/kernels/weights.h): packing them from each order, and products of them (sett_gemm_wgmma, sett_product) against sums
 * in double of weights that are decoded here. On the CPU engine or, with SETT_TEST_GPU=1, on GPU 0. */
#include "kernels/product.h"
#undef T
#include "tests/rig/product_rig.h"

static int number(int least, int most)
{
    return least + (int)((uniform(&r.seed) + 1) / 2 * (most - least + 1)) % (most - least + 1);
}

static void *on_device(const void *host, size_t bytes)
{
    void *p = sett_alloc(r.e, r.stream.device, bytes);
    ck_assert(p && !sett_memcpy(r.e, r.stream, p, host, bytes) && !sett_sync(r.e, r.stream));
    return p;
}

/* ---- weights on the host ----------------------------------------------------------------------------------- */
/* A matrix of weights: codes are bytes, one a weight, as their bits are in memory; zeros one a group. */
typedef struct model {
    sett_weights w;
    int rows, groups, group;
    unsigned char *code, *zero;
    void *scale;
    double *value; /* decoded */
} model;

static double of_fp8(int exponent_bits, int bias, int code)
{
    const int fraction_bits = 7 - exponent_bits, e = code >> fraction_bits & ((1 << exponent_bits) - 1), f = code & ((1 << fraction_bits) - 1);
    const double x = e ? ldexp((1 << fraction_bits) + f, e - bias - fraction_bits) : ldexp(f, 1 - bias - fraction_bits);
    return code & 128 ? -x : x;
}

static double integer_or_float(sett_dtype t, int zeros, int code)
{
    static const double e2m1[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    switch (t) {
    case SETT_I4: return zeros ? code : (code ^ 8) - 8;
    case SETT_I8: return zeros ? code : (code ^ 128) - 128;
    case SETT_F8E4M3FN: return of_fp8(4, 7, code);
    case SETT_F8E5M2: return of_fp8(5, 15, code);
    default: return code & 8 ? -e2m1[code & 7] : e2m1[code & 7];
    }
}

static double scale_value(sett_dtype t, const void *scales, size_t i)
{
    const unsigned char *bytes = scales;
    return t == SETT_F8E4M3FN ? of_fp8(4, 7, bytes[i]) : t == SETT_F8E8M0FNU ? ldexp(1, bytes[i] - 127) : get(t, scales, i);
}

static double rounded(sett_dtype t, double x)
{
    uint16_t bits;
    put(t, &bits, 0, x);
    return get(t, &bits, 0);
}

static int random_code(sett_dtype t)
{
    const int code = number(0, sett_dtype_bits(t) == 4 ? 15 : 255);
    return (t == SETT_F8E4M3FN && (code & 127) == 127) || (t == SETT_F8E5M2 && (code & 127) > 0x70) ? 0x81 : code; /* no NaN, no infinity, and none that Float16 has not beside scales */
}

static model make_model(const sett_weights *w)
{
    model x = {.w = *w, .rows = w->n << w->swiglu, .group = w->group < 0 ? w->k : w->group ? w->group : w->sw == SETT_F8E4M3FN ? 16 : w->sw == SETT_F8E8M0FNU ? 32 : 128};
    const sett_dtype sw = w->sw ? w->sw : w->dtype;
    x.groups = (w->k + x.group - 1) / x.group;
    const size_t all = (size_t)(x.rows * w->k), scales = (size_t)(x.rows * x.groups);
    x.code = malloc(all), x.zero = malloc(scales), x.scale = malloc(2 * scales), x.value = malloc(all * sizeof *x.value);
    ck_assert(x.code && x.zero && x.scale && x.value);
    for (size_t i = 0; i < scales; i++) {
        x.zero[i] = (unsigned char)number(w->order == SETT_WEIGHTS_GPTQ ? 1 : 0, w->b == SETT_I8 ? 255 : w->order == SETT_WEIGHTS_GPTQ ? 16 : 15);
        if (sett_dtype_bits(sw) == 8)
            ((unsigned char *)x.scale)[i] = (unsigned char)(sw == SETT_F8E4M3FN ? number(1, 126) : number(120, 134));
        else
            put(sw, x.scale, i, (uniform(&r.seed) + 1.25) / 16);
    }
    for (size_t i = 0; i < all; i++) {
        const size_t group = i / (size_t)w->k * (size_t)x.groups + i % (size_t)w->k / (size_t)x.group;
        x.code[i] = (unsigned char)random_code(w->b);
        x.value[i] = rounded(w->dtype, (integer_or_float(w->b, w->zeros, x.code[i]) - (w->zeros ? x.zero[group] : 0)) * scale_value(sw, x.scale, group));
    }
    return x;
}

static void drop_model(model *x)
{
    free(x->code), free(x->zero), free(x->scale), free(x->value);
}

static void put_nibble(unsigned char *words, size_t word, size_t i, int x)
{
    uint32_t bits;
    memcpy(&bits, words + 4 * word, 4);
    bits |= (uint32_t)x << 4 * i;
    memcpy(words + 4 * word, &bits, 4);
}

/* As each order stores it; i and j count rows and K, or groups. */
static const int awq[] = {0, 2, 4, 6, 1, 3, 5, 7}; /* nibble -> column */
static void store_in_order(const model *x, unsigned char *weights, unsigned char *scales, unsigned char *zeros)
{
    const sett_weights_order order = x->w.order;
    const size_t rows = (size_t)x->rows, depth = (size_t)x->w.k, groups = (size_t)x->groups, bytes = sett_dtype_bits(x->w.sw ? x->w.sw : x->w.dtype) / 8;
    const int gptq = order == SETT_WEIGHTS_GPTQ || order == SETT_WEIGHTS_GPTQ_V2, plus = x->w.zeros ? 0 : 8;
    for (size_t i = 0; i < rows * depth; i++) {
        const size_t row = i / depth, k = i % depth, eighth = row % 8;
        const int code = x->code[i];
        if (gptq)
            put_nibble(weights, k / 8 * rows + row, k % 8, code ^ plus);
        else if (order == SETT_WEIGHTS_AWQ) {
            size_t at = 0;
            while ((size_t)awq[at] != eighth)
                at++;
            put_nibble(weights, k * (rows / 8) + row / 8, at, code ^ plus);
        } else if (sett_dtype_bits(x->w.b) == 8)
            weights[i] = (unsigned char)code;
        else
            weights[i / 2] |= (unsigned char)(code << i % 2 * 4);
    }
    for (size_t i = 0; i < rows * groups; i++) {
        const size_t row = i / groups, group = i % groups, at = order == SETT_WEIGHTS_ROWS ? i : group * rows + row, eighth = row % 8;
        memcpy(scales + at * bytes, (char *)x->scale + i * bytes, bytes);
        if (order == SETT_WEIGHTS_ROWS)
            zeros[i] = x->zero[i];
        else if (x->w.zeros) {
            size_t place = eighth;
            for (size_t j = 0; order == SETT_WEIGHTS_AWQ && j < 8; j++)
                if ((size_t)awq[j] == eighth)
                    place = j;
            put_nibble(zeros, group * (rows / 8) + row / 8, place, x->zero[i] - (order == SETT_WEIGHTS_GPTQ));
        }
    }
}

typedef struct packed {
    unsigned char *weights, *scales;
    size_t bytes, scales_bytes;
} packed;

static packed pack(const model *x)
{
    packed p = {NULL, NULL, 0, 0};
    const size_t all = (size_t)(x->rows * x->w.k) + 64, groups = (size_t)(x->rows * x->groups) * 4 + 64;
    unsigned char *weights = calloc(1, all), *scales = calloc(1, groups), *zeros = calloc(1, groups);
    ck_assert(weights && scales && zeros);
    store_in_order(x, weights, scales, zeros);
    ck_assert_msg(!sett_product_weights_bytes(&x->w, &p.bytes, &p.scales_bytes, &err), "%s", err.text);
    p.weights = malloc(p.bytes), p.scales = malloc(p.scales_bytes);
    ck_assert(p.weights && p.scales);
    memset(p.weights, 0x5a, p.bytes), memset(p.scales, 0x5a, p.scales_bytes);
    ck_assert_msg(!sett_product_pack_weights(&x->w, weights, scales, x->w.zeros ? zeros : NULL, p.weights, p.scales, &err), "%s", err.text);
    free(weights), free(scales), free(zeros);
    return p;
}

static void drop_packed(packed *p)
{
    free(p->weights), free(p->scales);
}

/* ---- packing ------------------------------------------------------------------------------------------------ */
/* The same weights, from each order. */
START_TEST(orders)
{
    static const sett_weights_order of[] = {SETT_WEIGHTS_GPTQ, SETT_WEIGHTS_GPTQ_V2, SETT_WEIGHTS_AWQ};
    for (int i = 0; i < 6; i++) {
        r.seed = (uint64_t)i + 1;
        const sett_weights w = {.size = sizeof w, .dtype = i % 2 ? SETT_F16 : SETT_BF16, .b = SETT_I4, .n = 8 * number(1, 20), .k = 8 * number(1, 40), .zeros = i / 3, .group = i == 4 ? -1 : 32 << i % 3, .order = of[i % 3]};
        model x = make_model(&w), rows = x;
        rows.w.order = SETT_WEIGHTS_ROWS;
        packed a = pack(&x), b = pack(&rows);
        ck_assert(a.bytes == b.bytes && a.scales_bytes == b.scales_bytes);
        ck_assert(!memcmp(a.weights, b.weights, a.bytes) && !memcmp(a.scales, b.scales, a.scales_bytes));
        drop_packed(&a), drop_packed(&b), drop_model(&x);
    }
}
END_TEST

static const struct { sett_weights w; const char *text; } bad_weights[] = {
    {{.dtype = SETT_F32, .b = SETT_I4, .n = 8, .k = 8}, ".b is i4: of fewer bits than A, whose .dtype is f16 or bf16 then, and not f32"},
    {{.dtype = SETT_BF16, .b = SETT_F16, .n = 8, .k = 8}, ".b is f16: packed weights are i4, i8, f8E4M3FN, f8E5M2 or f4E2M1FN"},
    {{.dtype = SETT_BF16, .b = SETT_I4, .n = 8, .k = 8, .zeros = 2}, ".zeros is 2: from 0 to 1"},
    {{.dtype = SETT_BF16, .b = SETT_F4E2M1FN, .n = 8, .k = 8, .zeros = 1}, ".zeros is 1: .b is i4 or i8 then, and not f4E2M1FN"},
    {{.dtype = SETT_BF16, .b = SETT_I4, .sw = SETT_F16, .n = 8, .k = 8}, ".sw is f16: A's type, bf16"},
    {{.dtype = SETT_BF16, .b = SETT_F4E2M1FN, .sw = SETT_F32, .n = 8, .k = 8}, ".sw is f32: A's type, bf16, f8E4M3FN or f8E8M0FNU"},
    {{.dtype = SETT_F16, .b = SETT_F4E2M1FN, .sw = SETT_F8E8M0FNU, .n = 8, .k = 8}, ".sw is f8E8M0FNU: .dtype is bf16 then, as f16 has not its values"},
    {{.dtype = SETT_BF16, .b = SETT_I4, .group = 48, .n = 8, .k = 8}, ".group is 48: 16, 32, a multiple of 64, or -1 for all of K"},
    {{.dtype = SETT_BF16, .b = SETT_F4E2M1FN, .sw = SETT_F8E4M3FN, .group = 32, .n = 8, .k = 8}, ".group is 32: of .sw f8E4M3FN it is 16"},
    {{.dtype = SETT_BF16, .b = SETT_I4, .n = 0, .k = 8}, ".n is 0: from 1 to 1073740799"},
    {{.dtype = SETT_BF16, .b = SETT_I4, .n = 8, .k = 9}, ".k is 9: a row of i4 is of whole bytes"},
    {{.dtype = SETT_BF16, .b = SETT_I4, .n = 8, .k = 12, .order = SETT_WEIGHTS_GPTQ}, ".k is 12: of GPTQ a multiple of 8"},
    {{.dtype = SETT_BF16, .b = SETT_I4, .n = 9, .k = 8, .zeros = 1, .order = SETT_WEIGHTS_GPTQ_V2}, ".n is 9: of GPTQ with .zeros a multiple of 8"},
    {{.dtype = SETT_BF16, .b = SETT_I4, .n = 9, .k = 8, .order = SETT_WEIGHTS_AWQ}, ".n is 9: of AWQ a multiple of 8"},
    {{.dtype = SETT_BF16, .b = SETT_I8, .n = 8, .k = 8, .order = SETT_WEIGHTS_AWQ}, ".order is AWQ: .b is i4 then, and not i8"},
    {{.dtype = SETT_BF16, .b = SETT_I4, .n = 8, .k = 8, .order = (sett_weights_order)9}, ".order is 9: SETT_WEIGHTS_ROWS, GPTQ, GPTQ_V2 or AWQ"}};

START_TEST(weights_refused)
{
    sett_weights w = bad_weights[_i].w;
    size_t bytes, scales;
    char want[300];
    w.size = sizeof w;
    snprintf(want, sizeof want, "sett_product_weights_bytes: %s", bad_weights[_i].text);
    ck_assert_int_eq(sett_product_weights_bytes(&w, &bytes, &scales, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, want);
}
END_TEST

START_TEST(packing_refused)
{
    const sett_weights w = {.size = sizeof w, .dtype = SETT_BF16, .b = SETT_I4, .n = 8, .k = 8};
    char some[4096] = {0};
    ck_assert_int_eq(sett_product_pack_weights(&w, some, NULL, NULL, some, some, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "sett_product_pack_weights: scales is NULL");
    ck_assert_int_eq(sett_product_pack_weights(&w, some, some, some, some, some, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "sett_product_pack_weights: zeros is given, and .zeros is 0");
    ck_assert_int_eq(sett_product_pack_weights(NULL, some, some, some, some, some, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "sett_product_pack_weights: there are no weights");
    const sett_weights short_one = {.size = 7}, no_b = {.size = sizeof no_b, .dtype = SETT_BF16, .n = 8, .k = 8};
    char want[120];
    snprintf(want, sizeof want, "sett_product_pack_weights: the weights' .size is 7: sizeof(sett_weights), %zu", sizeof w);
    ck_assert_int_eq(sett_product_pack_weights(&short_one, some, some, NULL, some, some, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, want);
    ck_assert_int_eq(sett_product_pack_weights(&no_b, some, some, NULL, some, some, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "sett_product_pack_weights: .b is not given: packed weights are i4, i8, f8E4M3FN, f8E5M2 or f4E2M1FN");
}
END_TEST

/* Zero points of i4 are up to 16, of bytes too; of i8 a byte is always one. */
START_TEST(zero_points_refused)
{
    enum { ROWS = 4, DEEP = 48 };
    sett_weights w = {.size = sizeof w, .dtype = SETT_BF16, .b = SETT_I4, .n = ROWS / 2, .k = DEEP, .group = 16, .zeros = 1, .swiglu = 1};
    char some[8192] = {0}, to[8192];
    unsigned char zeros[ROWS * 3] = {16, 0, 1, [8] = 17, [10] = 255};
    ck_assert_int_eq(sett_product_pack_weights(&w, some, some, zeros, to, some + 4096, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "sett_product_pack_weights: zeros of row 2, group 2 is 17: from 0 to 16");
    zeros[8] = zeros[10] = 16;
    ck_assert_msg(!sett_product_pack_weights(&w, some, some, zeros, to, some + 4096, &err), "%s", err.text);
    w.b = SETT_I8, zeros[10] = 255;
    char bytes[ROWS * DEEP] = {0};
    size_t n, n_scales;
    ck_assert(!sett_product_weights_bytes(&w, &n, &n_scales, &err));
    char *out = malloc(n), *scales = malloc(n_scales);
    ck_assert_msg(!sett_product_pack_weights(&w, bytes, some, zeros, out, scales, &err), "%s", err.text);
    free(out), free(scales);
}
END_TEST

/* ---- products ----------------------------------------------------------------------------------------------- */
static const struct tile { sett_dtype dtype, b, sw; int group, zeros, swiglu, bm, bn, workers, streamed, ping_pong; } tiles[] = {
    {SETT_BF16, SETT_I4, 0, 0, 0, 0, 16, 64, 0, 0, 0}, {SETT_F16, SETT_I4, 0, 64, 0, 0, 16, 128, 0, 0, 0}, {SETT_BF16, SETT_I4, 0, 32, 0, 0, 8, 256, 0, 0, 0}, {SETT_BF16, SETT_I4, 0, -1, 0, 0, 64, 128, 0, 0, 0},
    {SETT_BF16, SETT_I4, 0, 64, 1, 0, 16, 128, 0, 0, 0}, {SETT_F16, SETT_I4, 0, 32, 1, 0, 32, 64, 0, 0, 0}, {SETT_F16, SETT_I4, 0, 16, 1, 1, 16, 128, 0, 0, 0}, {SETT_BF16, SETT_I4, 0, 256, 1, 1, 16, 256, 0, 0, 0},
    {SETT_BF16, SETT_I4, 0, 128, 0, 0, 16, 128, 5, 1, 0}, {SETT_BF16, SETT_I4, 0, 128, 1, 0, 16, 256, 7, 2, 0}, {SETT_F16, SETT_I4, 0, 128, 0, 0, 128, 128, 0, 0, 0}, {SETT_BF16, SETT_I4, 0, 128, 0, 0, 64, 64, 0, 0, 1},
    {SETT_BF16, SETT_I4, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {SETT_BF16, SETT_I8, 0, 0, 0, 0, 16, 128, 0, 0, 0}, {SETT_F16, SETT_I8, 0, 32, 0, 0, 16, 64, 0, 0, 0}, {SETT_BF16, SETT_I8, 0, -1, 1, 0, 16, 128, 5, 1, 0}, {SETT_F16, SETT_I8, 0, 64, 1, 1, 32, 128, 0, 0, 0},
    {SETT_BF16, SETT_F8E4M3FN, 0, 128, 0, 0, 16, 128, 0, 0, 0}, {SETT_F16, SETT_F8E4M3FN, 0, -1, 0, 0, 16, 256, 0, 0, 0}, {SETT_BF16, SETT_F8E5M2, 0, 64, 0, 0, 16, 128, 0, 0, 0},
    {SETT_F16, SETT_F8E5M2, 0, 64, 0, 0, 16, 64, 0, 0, 0},
    {SETT_BF16, SETT_F4E2M1FN, SETT_F8E4M3FN, 0, 0, 0, 16, 128, 0, 0, 0}, {SETT_F16, SETT_F4E2M1FN, SETT_F8E4M3FN, 0, 0, 1, 16, 128, 0, 0, 0}, {SETT_BF16, SETT_F4E2M1FN, SETT_F8E8M0FNU, 0, 0, 0, 16, 64, 0, 0, 0},
    {SETT_BF16, SETT_F4E2M1FN, SETT_F8E8M0FNU, 0, 0, 0, 24, 256, 5, 1, 0}, {SETT_F16, SETT_F4E2M1FN, 0, 32, 0, 0, 16, 128, 0, 0, 0}};

/* What is on the device, and A as doubles. */
typedef struct problem {
    model x;
    int m, la;
    double *a;
    void *A, *B, *SW, *C;
    packed p;
} problem;

static problem make_problem(const sett_weights *w, int m)
{
    problem p = {.x = make_model(w), .m = m, .la = (w->k + 7) / 8 * 8 + 8};
    const size_t n = (size_t)(m * p.la);
    uint16_t *host = malloc(n * sizeof *host);
    p.a = malloc(n * sizeof *p.a);
    ck_assert(host && p.a);
    memset(host, 0xff, n * sizeof *host); /* NaN behind each row */
    for (int i = 0; i < m * w->k; i++) {
        const size_t at = (size_t)(i / w->k * p.la + i % w->k);
        put(w->dtype, host, at, uniform(&r.seed));
        p.a[i] = get(w->dtype, host, at);
    }
    p.p = pack(&p.x);
    p.A = on_device(host, n * sizeof *host), p.B = on_device(p.p.weights, p.p.bytes), p.SW = on_device(p.p.scales, p.p.scales_bytes);
    p.C = sett_alloc(r.e, r.stream.device, (size_t)(m * w->n) * sizeof(float));
    ck_assert_ptr_nonnull(p.C);
    free(host);
    return p;
}

static void drop_problem(problem *p)
{
    void *there[] = {p->A, p->B, p->SW, p->C};
    for (int i = 0; i < 4; i++)
        sett_free(r.e, r.stream.device, there[i]);
    drop_model(&p->x), drop_packed(&p->p), free(p->a);
}

static double exactly(const problem *p, int row, int col, double *most)
{
    double sum = 0;
    *most = 0;
    for (int k = 0; k < p->x.w.k; k++) {
        const double one = p->a[row * p->x.w.k + k] * p->x.value[col * p->x.w.k + k];
        sum += one, *most += fabs(one);
    }
    return sum;
}

static void check_rows(const problem *p, const float *got)
{
    const int m = p->m, n = p->x.w.n;
    const double each = ((p->x.w.k + 15) / 16 + 12) * 0x1p-23;
    for (int i = 0; i < m * n; i++) {
        double most, most_up, sum = exactly(p, i / n, i % n, &most), bound = most * each;
        if (p->x.w.swiglu) {
            const double up = exactly(p, i / n, i % n + n, &most_up), silu = sum / (1 + exp(-sum));
            bound = 1.1 * most * each * fabs(up) + fabs(silu) * most_up * each + fabs(silu * up) * 0x1p-19 + 0x1p-30;
            sum = silu * up;
        }
        ck_assert_msg(fabs((double)got[i] - sum) <= bound, "(%d,%d) of (%d,%d), K %d: %.9g, not %.9g, by at most %g", i / n, i % n, m, n, p->x.w.k, (double)got[i], sum, bound);
    }
}

static void check_results(const problem *p)
{
    const size_t n = (size_t)(p->m * p->x.w.n);
    float *got = malloc(n * sizeof *got);
    ck_assert(got && !sett_memcpy(r.e, r.stream, got, p->C, n * sizeof *got) && !sett_sync(r.e, r.stream));
    check_rows(p, got);
    free(got);
}

/* B and SW as the kernel has them. */
static void packed_bufs(const problem *p, sett_buf *B, sett_buf *SW)
{
    const sett_weights *w = &p->x.w;
    const int64_t blocks = (int64_t)((w->n + 63) / 64) << w->swiglu, pieces = (w->k + 63) / 64, rows = 64 * (1 + w->zeros);
    const sett_dtype sw = w->sw ? w->sw : w->dtype;
    const int64_t boxes = pieces * sett_dtype_bits(w->b) / 4, groups = (int64_t)p->p.scales_bytes / (rows * blocks * sett_dtype_bits(sw) / 8);
    *B = (sett_buf){.data = p->B, .dtype = SETT_U64, .rank = 3, .shape = {256, boxes, blocks}, .stride = {1, 256, 256 * boxes}};
    *SW = (sett_buf){.data = p->SW, .dtype = sw, .rank = 3, .shape = {rows, groups, blocks}, .stride = {1, rows, rows * groups}};
}

static void run_kernel(const problem *p, const struct tile *t)
{
    enum { LEFT = 1 << 8, PARTIAL = 1 << 19 };
    static const uint32_t zero[LEFT];
    const bool streams = t->workers > 0;
    const sett_gemm_wgmma_options o = {.size = sizeof o, .dtype = t->dtype, .b = t->b, .sw = t->sw, .c = SETT_F32, .swiglu = t->swiglu, .group = t->group, .zeros = t->zeros, .stream_k = streams,
        .tuning = {.bm = t->bm, .bn = t->bn, .ping_pong = t->ping_pong, .clusters = streams ? 0 : 2}};
    void *partial = sett_alloc(r.e, r.stream.device, PARTIAL * 4), *left = on_device(zero, sizeof zero);
    sett_buf A = rows_of(p->A, t->dtype, (size_t)p->m, (size_t)p->x.w.k, (size_t)p->la), C = sett_buf_2d(p->C, SETT_F32, p->m, p->x.w.n), B, SW;
    sett_buf P = sett_buf_1d(partial, SETT_F32, PARTIAL), L = sett_buf_1d(left, SETT_U32, LEFT);
    ck_assert_ptr_nonnull(partial);
    packed_bufs(p, &B, &SW);
    if (streams)
        RUN(sett_gemm_wgmma, &o, &A, &B, &SW, &C, &P, &L, t->workers, t->streamed);
    else
        RUN(sett_gemm_wgmma, &o, &A, &B, &SW, &C);
    sett_free(r.e, r.stream.device, partial), sett_free(r.e, r.stream.device, left);
}

START_TEST(products_of_weights)
{
    const struct tile *t = &tiles[_i];
    r.seed = (uint64_t)_i * 7919 + 1;
    const int shapes[][3] = {{number(1, 40), 4 * number(1, 90), 2 * number(1, 350)}, {number(1, 16), 4 * number(33, 120), 2 * number(193, 320)}, {number(1, 20), 4 * number(1, 33), 2 * number(1, 64)}};
    for (int s = 0; has_wgmma() && s < (t->workers ? 2 : 3); s++) {
        const sett_weights w = {.size = sizeof w, .dtype = t->dtype, .b = t->b, .sw = t->sw, .group = t->group, .zeros = t->zeros, .swiglu = t->swiglu, .n = shapes[s][1], .k = shapes[s][2]};
        problem p = make_problem(&w, shapes[s][0]);
        run_kernel(&p, t);
        check_results(&p);
        drop_problem(&p);
    }
}
END_TEST

/* sett_gemm_mixed, at any N and K. */
static const struct { sett_dtype dtype, b, sw; int group, zeros, swiglu, rows, threads, split, pieces; } by_warps[] = {
    {SETT_BF16, SETT_I4, 0, 0, 0, 0, 0, 0, 0, 0}, {SETT_F16, SETT_I4, 0, 32, 1, 0, 16, 128, 2, 2}, {SETT_BF16, SETT_I4, 0, -1, 1, 1, 8, 256, 4, 4}, {SETT_BF16, SETT_I4, 0, 16, 0, 0, 32, 64, 1, 1},
    {SETT_BF16, SETT_I8, 0, 64, 0, 0, 8, 0, 0, 0}, {SETT_F16, SETT_I8, 0, 0, 1, 1, 16, 0, 0, 0}, {SETT_BF16, SETT_F8E4M3FN, 0, 0, 0, 0, 8, 0, 0, 4}, {SETT_F16, SETT_F8E5M2, 0, 192, 0, 0, 32, 0, 0, 0},
    {SETT_BF16, SETT_F4E2M1FN, SETT_F8E4M3FN, 0, 0, 0, 8, 0, 0, 0}, {SETT_BF16, SETT_F4E2M1FN, SETT_F8E8M0FNU, 0, 0, 1, 16, 0, 0, 1}};

START_TEST(products_by_warps)
{
    r.seed = (uint64_t)_i * 104729 + 1;
    const int shapes[][3] = {{number(1, 40), number(1, 260), 2 * number(1, 350)}, {number(1, 8), number(100, 300), 64 * number(5, 20)}, {number(1, 20), number(1, 33), 2 * number(1, 64)}};
    for (int s = 0; s < 3; s++) {
        const sett_weights w = {.size = sizeof w, .dtype = by_warps[_i].dtype, .b = by_warps[_i].b, .sw = by_warps[_i].sw, .group = by_warps[_i].group, .zeros = by_warps[_i].zeros, .swiglu = by_warps[_i].swiglu,
            .n = shapes[s][1], .k = shapes[s][2]};
        const sett_gemm_mixed_options o = {.size = sizeof o, .dtype = w.dtype, .b = w.b, .sw = w.sw, .c = SETT_F32, .group = w.group, .zeros = w.zeros, .swiglu = w.swiglu, .rows = by_warps[_i].rows,
            .tuning = {.threads = by_warps[_i].threads, .split = by_warps[_i].split, .pieces = by_warps[_i].pieces}};
        problem p = make_problem(&w, shapes[s][0]);
        sett_buf A = rows_of(p.A, w.dtype, (size_t)p.m, (size_t)w.k, (size_t)p.la), C = sett_buf_2d(p.C, SETT_F32, p.m, w.n), B, SW;
        packed_bufs(&p, &B, &SW);
        RUN(sett_gemm_mixed, &o, &A, &B, &SW, &C);
        check_results(&p);
        drop_problem(&p);
    }
}
END_TEST

static const struct { sett_gemm_mixed_options o; const char *text; } bad_by_warps[] = {
    {{.dtype = SETT_BF16, .b = SETT_BF16}, ".b is bf16: packed weights are i4, i8, f8E4M3FN, f8E5M2 or f4E2M1FN"},
    {{.dtype = SETT_F32, .b = SETT_I4}, ".b is i4: of fewer bits than A, whose .dtype is f16 or bf16 then, and not f32"},
    {{.dtype = SETT_BF16, .b = SETT_I4, .rows = 9}, ".rows is 9: 8, 16 or 32"},
    {{.dtype = SETT_BF16, .b = SETT_I4, .c = SETT_I32}, ".c is i32: f32, f16, bf16, f8E4M3FN or f8E5M2; i8 with .quantise"},
    {{.dtype = SETT_BF16, .b = SETT_I4, .reserved = 1}, ".reserved is 1: it must be 0"},
    {{.dtype = SETT_BF16, .b = SETT_I4, .tuning.pieces = 3}, ".pieces is 3: 1, 2 or 4"},
    {{.dtype = SETT_BF16, .b = SETT_I4, .tuning.split = 3}, ".split is 3: a divisor of the 8 warps of 256 threads"}};

START_TEST(options_by_warps_refused)
{
    sett_gemm_mixed_options o = bad_by_warps[_i].o;
    o.size = sizeof o;
    ck_assert(sett_kernels_choose(sett_gemm_mixed, &o, "sm_90a", &err));
    ck_assert_msg(strstr(err.text, bad_by_warps[_i].text), "%s", err.text);
}
END_TEST

static const struct { sett_gemm_wgmma_options o; const char *text; } bad[] = {
    {{.dtype = SETT_F16, .b = SETT_I8, .promote = 1}, ".b is i8 of .dtype f16, packed weights: then .promote is 0"},
    {{.dtype = SETT_F16, .b = SETT_I8, .tuning.cluster = 2}, ".cluster is 2: of packed weights it is 1"},
    {{.dtype = SETT_F8E4M3FN, .b = SETT_I4}, ".b is i4: with .dtype f8E4M3FN it is the same, or both are f8E4M3FN or f8E5M2"},
    {{.dtype = SETT_BF16, .b = SETT_U8}, ".b is u8: packed weights are i4, i8, f8E4M3FN, f8E5M2 or f4E2M1FN"},
    {{.dtype = SETT_BF16, .group = 128}, ".group is 128: packed weights alone have it, whose .b has fewer bits than .dtype"},
    {{.dtype = SETT_BF16, .zeros = 1}, ".zeros is 1: packed weights alone have it, whose .b has fewer bits than .dtype"},
    {{.dtype = SETT_BF16, .b = SETT_I4, .group = 24}, ".group is 24: 16, 32, a multiple of 64, or -1 for all of K"}};

START_TEST(options_refused)
{
    sett_gemm_wgmma_options o = bad[_i].o;
    o.size = sizeof o;
    ck_assert(sett_kernels_choose(sett_gemm_wgmma, &o, "sm_90a", &err));
    ck_assert_msg(strstr(err.text, bad[_i].text), "%s", err.text);
}
END_TEST

/* ---- sett_product ------------------------------------------------------------------------------------------- */
static sett_product_problem product_of(const sett_weights *w, int batch_invariant)
{
    return (sett_product_problem){.size = sizeof(sett_product_problem), .dtype = w->dtype, .b = w->b, .sw = w->sw, .d = SETT_F32, .n = w->n, .k = w->k, .group = w->group, .zeros = w->zeros, .swiglu = w->swiglu,
        .lda = (w->k + 7) / 8 * 8 + 8, .batch_invariant = batch_invariant};
}

/* A plan of `most` rows, and a workspace that is 0. */
static sett_product *prepare(const sett_product_problem *p, int most, void **workspace, size_t *bytes)
{
    sett_product *plan;
    ck_assert_msg(!sett_product_prepare(r.e, r.stream.device, p, most, &plan, bytes, &err), "%s", err.text);
    void *zeros = calloc(1, *bytes + 1);
    ck_assert_ptr_nonnull(zeros);
    *workspace = on_device(zeros, *bytes + 1);
    free(zeros);
    return plan;
}

START_TEST(any_number_of_rows)
{
    enum { MOST = 200 };
    static const sett_weights of[] = {{.dtype = SETT_BF16, .b = SETT_I4, .n = 264, .k = 704}, {.dtype = SETT_F16, .b = SETT_I4, .n = 136, .k = 200, .group = 32, .zeros = 1}, {.dtype = SETT_BF16, .b = SETT_I8, .n = 72, .k = 192, .group = -1, .swiglu = 1},
        {.dtype = SETT_BF16, .b = SETT_F4E2M1FN, .sw = SETT_F8E4M3FN, .n = 200, .k = 136}, {.dtype = SETT_BF16, .b = SETT_I4, .n = 75, .k = 202, .zeros = 1}};
    static const int rows[] = {1, 7, 16, 17, 33, 64, 65, 100, 129, 200};
    sett_weights w = of[_i];
    w.size = sizeof w;
    r.seed = (uint64_t)_i + 77;
    problem all = make_problem(&w, MOST);
    const sett_product_problem p = product_of(&w, 0);
    void *workspace;
    size_t bytes;
    sett_product *plan = prepare(&p, MOST, &workspace, &bytes);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        problem some = all;
        const sett_product_operands o = {.size = sizeof o, .a = all.A, .b = all.B, .sw = all.SW, .d = all.C};
        some.m = rows[i];
        ck_assert_msg(!sett_product_run(plan, some.m, &o, workspace, bytes, r.stream, &err), "%s", err.text);
        ck_assert_msg(!sett_sync_error(r.e, r.stream, &err), "%s", err.text);
        check_results(&some);
    }
    sett_free(r.e, r.stream.device, workspace), sett_product_free(plan), drop_problem(&all);
}
END_TEST

/* Experts, each with weights, scales and zero points of its own, and matrices of a batch: none, few, and many rows; N ends within a block of 64, so that a tile has what
 * is packed behind its matrix. What is of no group is not written. */
enum { EXPERTS = 4, OF_EXPERT = 70, OF_ALL = 113, NOBODYS_BYTE = 0x5a };
static const sett_weights of_experts[] = {{.dtype = SETT_BF16, .b = SETT_I4, .n = 100, .k = 200}, {.dtype = SETT_F16, .b = SETT_I4, .n = 136, .k = 192, .group = 32, .zeros = 1}, {.dtype = SETT_BF16, .b = SETT_I8, .n = 72, .k = 130, .group = -1, .zeros = 1, .swiglu = 1},
    {.dtype = SETT_BF16, .b = SETT_F4E2M1FN, .sw = SETT_F8E4M3FN, .n = 200, .k = 136}, {.dtype = SETT_F16, .b = SETT_F8E4M3FN, .n = 68, .k = 64, .swiglu = 1}};

typedef struct experts {
    problem all; /* its A and C are of all; x: the first one's */
    model of[EXPERTS];
    int m, matrices; /* rows of each of so many A */
} experts;

/* What each packs to, one behind the other. */
static experts make_experts(const sett_weights *w, bool deep)
{
    experts x = {.m = deep ? OF_EXPERT : OF_ALL, .matrices = deep ? EXPERTS : 1};
    x.all = make_problem(w, x.m * x.matrices);
    const size_t bytes = x.all.p.bytes, scales = x.all.p.scales_bytes;
    unsigned char *to = malloc((bytes + scales) * EXPERTS), *sw = to + bytes * EXPERTS;
    ck_assert_ptr_nonnull(to);
    for (size_t i = 0; i < EXPERTS; i++) {
        x.of[i] = i ? make_model(w) : x.all.x;
        packed one = pack(&x.of[i]);
        ck_assert(one.bytes == bytes && one.scales_bytes == scales);
        memcpy(to + i * bytes, one.weights, bytes), memcpy(sw + i * scales, one.scales, scales);
        drop_packed(&one);
    }
    sett_free(r.e, r.stream.device, x.all.B), sett_free(r.e, r.stream.device, x.all.SW);
    x.all.B = on_device(to, bytes * EXPERTS), x.all.SW = on_device(sw, scales * EXPERTS);
    free(to);
    return x;
}

/* rows[i] of expert i from row first[i] on, among all matrices' rows; the others are NOBODYS_BYTE. */
static void check_experts(const experts *x, const int first[], const int rows[])
{
    const int n = x->all.x.w.n, all = x->m * x->matrices;
    const size_t bytes = (size_t)(all * n) * sizeof(float);
    unsigned char *got = malloc(bytes);
    ck_assert(got && !sett_memcpy(r.e, r.stream, got, x->all.C, bytes) && !sett_sync(r.e, r.stream));
    for (int i = 0; i < EXPERTS; i++) {
        problem one = x->all;
        one.x = x->of[i], one.m = rows[i], one.a = x->all.a + first[i] * one.x.w.k;
        check_rows(&one, (const float *)(void *)got + first[i] * n);
        memset(got + (size_t)(first[i] * n) * sizeof(float), NOBODYS_BYTE, (size_t)(rows[i] * n) * sizeof(float));
    }
    for (size_t i = 0; i < bytes; i++)
        ck_assert_msg(got[i] == NOBODYS_BYTE, "a byte of row %zu, which is of no group, was written", i / sizeof(float) / (size_t)n);
    free(got);
}

enum { CONTIGUOUS, MASKED, BATCH, SHORT_BATCH, DEALINGS };
START_TEST(weights_of_experts)
{
    static const int expected[] = {0, 1, 30, 60, 100, 1000};
    static const int32_t offsets[EXPERTS + 1] = {2, 7, 7, 40, OF_ALL - 3}, counts[EXPERTS] = {OF_EXPERT, 0, 5, 33};
    const int way = _i % DEALINGS, m = way == CONTIGUOUS ? OF_ALL : way == SHORT_BATCH ? 33 : OF_EXPERT;
    sett_weights w = of_experts[_i / DEALINGS];
    w.size = sizeof w;
    if (!has_wgmma())
        return;
    experts x = make_experts(&w, way != CONTIGUOUS);
    sett_product_problem p = product_of(&w, 0);
    p.grouped = way == CONTIGUOUS ? SETT_GROUPED_CONTIGUOUS : way == MASKED ? SETT_GROUPED_MASKED : SETT_GROUPED_NONE, p.groups = way <= MASKED ? EXPERTS : 0, p.batch = way <= MASKED ? 0 : EXPERTS;
    void *workspace, *table = on_device(way == CONTIGUOUS ? offsets : counts, sizeof offsets - (way == CONTIGUOUS ? 0 : 4));
    size_t bytes;
    sett_product *plan = prepare(&p, x.m, &workspace, &bytes);
    sett_product_operands o = {.size = sizeof o, .a = x.all.A, .b = x.all.B, .sw = x.all.SW, .d = x.all.C, .offsets = way == CONTIGUOUS ? table : NULL, .counts = way == MASKED ? table : NULL};
    int first[EXPERTS], rows[EXPERTS];
    for (int i = 0; i < EXPERTS; i++)
        first[i] = way == CONTIGUOUS ? offsets[i] : i * x.m, rows[i] = way == CONTIGUOUS ? offsets[i + 1] - offsets[i] : way == MASKED ? counts[i] : m;
    const size_t d = (size_t)(x.m * x.matrices * w.n) * sizeof(float);
    unsigned char *nobodys = malloc(d);
    ck_assert_ptr_nonnull(nobodys);
    memset(nobodys, NOBODYS_BYTE, d);
    for (size_t i = 0; i < (way <= MASKED ? sizeof expected / sizeof *expected : 1); i++) {
        o.expected_m = way <= MASKED ? expected[i] : 0;
        ck_assert(!sett_memcpy(r.e, r.stream, x.all.C, nobodys, d));
        ck_assert_msg(!sett_product_run(plan, m, &o, workspace, bytes, r.stream, &err), "%s", err.text);
        ck_assert_msg(!sett_sync_error(r.e, r.stream, &err), "%s", err.text);
        check_experts(&x, first, rows);
    }
    sett_free(r.e, r.stream.device, workspace), sett_free(r.e, r.stream.device, table), sett_product_free(plan), free(nobodys);
    for (int i = 1; i < EXPERTS; i++)
        drop_model(&x.of[i]);
    drop_problem(&x.all);
}
END_TEST

/* K ends within a piece of 64. What is packed behind it does not count, where a scale is large, infinite or no number. */
static const struct { sett_dtype b; int zeros, group, k, code, zero; double scale; } scales_of[] = {{SETT_I4, 0, 128, 96, 1, 0, 10000}, {SETT_I8, 0, 128, 96, 1, 0, 600}, {SETT_I8, 1, 128, 72, 250, 255, 300},
    {SETT_I4, 1, -1, 66, 14, 15, 5000}, {SETT_I4, 1, 64, 130, 12, 13, 9000}, {SETT_I4, 0, 128, 96, 1, 0, INFINITY}, {SETT_I8, 1, -1, 67, 250, 255, INFINITY}, {SETT_F4E2M1FN, 0, 16, 202, 2, 0, INFINITY},
    {SETT_F8E4M3FN, 0, 128, 33, 0x38, 0, -INFINITY}};

START_TEST(large_scales)
{
    enum { N = 64, MOST = 33 };
    const sett_weights w = {.size = sizeof w, .dtype = SETT_F16, .b = scales_of[_i].b, .n = N, .k = scales_of[_i].k, .group = scales_of[_i].group, .zeros = scales_of[_i].zeros};
    const int k = w.k, groups = w.group < 0 ? 1 : (k + w.group - 1) / w.group, lda = (k + 7) / 8 * 8;
    const bool is_float = w.b != SETT_I4 && w.b != SETT_I8;
    const double value = is_float ? scales_of[_i].scale /* the code of 1 */ : (scales_of[_i].code - scales_of[_i].zero) * scales_of[_i].scale, a = 0x1p-7;
    size_t bytes, scale_bytes, workspace_bytes;
    ck_assert_msg(!sett_product_weights_bytes(&w, &bytes, &scale_bytes, &err), "%s", err.text);
    unsigned char *raw = calloc((size_t)(N * k), 1), *zeros = malloc((size_t)(N * groups)), *to = malloc(bytes), *packed_scales = malloc(scale_bytes);
    uint16_t *scales = malloc(sizeof *scales * (size_t)(N * groups)), *rows = calloc((size_t)(MOST * lda), sizeof *rows);
    ck_assert(raw && zeros && to && packed_scales && scales && rows);
    for (int i = 0; i < N * k; i++)
        sett_dtype_bits(w.b) == 4 ? (raw[i / 2] |= (unsigned char)(scales_of[_i].code << i % 2 * 4)) : (raw[i] = (unsigned char)scales_of[_i].code);
    for (int i = 0; i < N * groups; i++)
        isinf(scales_of[_i].scale) ? (void)(scales[i] = scales_of[_i].scale < 0 ? 0xfc00 : 0x7c00) : put(SETT_F16, scales, (size_t)i, scales_of[_i].scale), zeros[i] = (unsigned char)scales_of[_i].zero;
    for (int i = 0; i < MOST * lda; i++)
        put(SETT_F16, rows, (size_t)i, i % lda < k ? a : NAN);
    ck_assert_msg(!sett_product_pack_weights(&w, raw, scales, w.zeros ? zeros : NULL, to, packed_scales, &err), "%s", err.text);
    const sett_product_problem p = {.size = sizeof p, .dtype = SETT_F16, .b = w.b, .d = SETT_F32, .n = N, .k = k, .zeros = w.zeros, .group = w.group, .lda = lda};
    void *workspace, *A = on_device(rows, sizeof *rows * (size_t)(MOST * lda)), *B = on_device(to, bytes), *SW = on_device(packed_scales, scale_bytes), *D = sett_alloc(r.e, r.stream.device, sizeof(float) * N * MOST);
    sett_product *plan = prepare(&p, MOST, &workspace, &workspace_bytes);
    for (int m = 1; m <= MOST; m += 16) {
        const sett_product_operands o = {.size = sizeof o, .a = A, .b = B, .sw = SW, .d = D};
        float got[N * MOST];
        ck_assert_msg(!sett_product_run(plan, m, &o, workspace, workspace_bytes, r.stream, &err), "%s", err.text);
        ck_assert(!sett_memcpy(r.e, r.stream, got, D, sizeof(float) * (size_t)(N * m)) && !sett_sync(r.e, r.stream));
        for (int i = 0; i < N * m; i++)
            ck_assert_msg((double)got[i] == value * a * k || (isfinite(value) && fabs((double)got[i] - value * a * k) <= fabs(value) * a * k * 0x1p-10), "M %d, element %d: %g, not %g", m, i, (double)got[i], value * a * k);
    }
    void *mem[] = {workspace, A, B, SW, D};
    for (int i = 0; i < 5; i++)
        sett_free(r.e, r.stream.device, mem[i]);
    sett_product_free(plan);
    free(raw), free(zeros), free(to), free(packed_scales), free(scales), free(rows);
}
END_TEST

/* A row has the same bits for every M. */
START_TEST(invariant_rows)
{
    enum { MOST = 130, N = 136, K = 456 };
    const sett_weights w = {.size = sizeof w, .dtype = SETT_BF16, .b = SETT_I4, .n = N - _i /* of sett_gemm_wgmma, of sett_gemm_mixed */, .k = K, .zeros = 1};
    static float all[MOST * N], some[MOST * N];
    void *workspace;
    size_t bytes;
    problem x = make_problem(&w, MOST);
    const sett_product_problem p = product_of(&w, 1);
    sett_product *plan = prepare(&p, MOST, &workspace, &bytes);
    const sett_product_operands o = {.size = sizeof o, .a = x.A, .b = x.B, .sw = x.SW, .d = x.C};
    for (int m = MOST; m > 0; m -= m > 20 ? 21 : 3) {
        float *to = m == MOST ? all : some;
        ck_assert_msg(!sett_product_run(plan, m, &o, workspace, bytes, r.stream, &err), "%s", err.text);
        ck_assert(!sett_memcpy(r.e, r.stream, to, x.C, sizeof *to * (size_t)m * (size_t)w.n) && !sett_sync(r.e, r.stream));
        ck_assert_msg(!memcmp(to, all, sizeof *to * (size_t)m * (size_t)w.n), "%d rows have other bits than among %d", m, MOST);
    }
    sett_free(r.e, r.stream.device, workspace), sett_product_free(plan), drop_problem(&x);
}
END_TEST

/* relu(2 sums + bias) + R, as bf16, by sett_gemm_wgmma and by sett_gemm_mixed. */
START_TEST(terms_of_weights)
{
    enum { M = 20, MOST = 72, K = 192 };
    const int n = MOST - _i;
    const sett_weights w = {.size = sizeof w, .dtype = SETT_BF16, .b = SETT_I4, .n = n, .k = K};
    uint16_t bias[MOST], more[M * MOST], got[M * MOST];
    void *workspace;
    size_t bytes;
    problem x = make_problem(&w, M);
    sett_product_problem p = product_of(&w, 0);
    p.d = SETT_BF16, p.residual = 1, p.terms = (sett_gemm_terms){.alpha = 1, .bias = 1, .activation = SETT_ACTIVATION_RELU};
    for (size_t i = 0; i < MOST; i++)
        put(SETT_BF16, bias, i, uniform(&r.seed) * 8);
    for (size_t i = 0; i < M * MOST; i++)
        put(SETT_BF16, more, i, uniform(&r.seed) * 4);
    void *of_bias = on_device(bias, sizeof bias), *R = on_device(more, sizeof more);
    sett_product *plan = prepare(&p, M, &workspace, &bytes);
    const sett_product_operands o = {.size = sizeof o, .a = x.A, .b = x.B, .sw = x.SW, .r = R, .d = x.C, .bias = of_bias, .alpha = 2};
    ck_assert_msg(!sett_product_run(plan, M, &o, workspace, bytes, r.stream, &err), "%s", err.text);
    ck_assert(!sett_memcpy(r.e, r.stream, got, x.C, sizeof *got * M * (size_t)n) && !sett_sync(r.e, r.stream));
    for (int i = 0; i < M * n; i++) {
        double most, want = fmax(0, 2 * exactly(&x, i / n, i % n, &most) + get(SETT_BF16, bias, (size_t)(i % n))) + get(SETT_BF16, more, (size_t)i);
        ck_assert_msg(fabs(get(SETT_BF16, got, (size_t)i) - want) <= fabs(want) * 0x1p-8 + most * 0x1p-18, "(%d,%d): %g, not %g", i / n, i % n, get(SETT_BF16, got, (size_t)i), want);
    }
    sett_free(r.e, r.stream.device, workspace), sett_free(r.e, r.stream.device, of_bias), sett_free(r.e, r.stream.device, R), sett_product_free(plan), drop_problem(&x);
}
END_TEST

/* Of every M the tile has room in a thread's registers, and there are few kernels. */
START_TEST(kernels_of_weights)
{
    for (int swiglu = 0; swiglu < 2; swiglu++) {
        const sett_product_problem p = {.size = sizeof p, .dtype = SETT_BF16, .b = SETT_I4, .n = 8192, .k = 28672, .swiglu = swiglu};
        sett_product_kernel k[SETT_PRODUCT_KERNELS];
        char text[200];
        const int n = sett_product_kernels(&p, "sm_90a", k, &err);
        ck_assert_msg(n > 0, "%s", err.text);
        for (int i = 0; i < n; i++)
            ck_assert(k[i].family->body == sett_gemm_wgmma ? k[i].options.wgmma.b == SETT_I4 && k[i].options.wgmma.group == 128 && k[i].options.wgmma.sw == SETT_BF16 : i == n - 1 && k[i].family->body == sett_gemm_mixed);
        ck_assert_int_eq(sett_product_kernels(&p, "sm_80", k, &err), 3);
        ck_assert(k[0].family->body == sett_gemm_mixed && k[0].options.mixed.rows == 8 && k[2].options.mixed.rows == 32 && k[0].options.mixed.tuning.split == k[2].options.mixed.tuning.split);
        ck_assert_int_gt(sett_product_explain_for(&p, "sm_80", 9, text, sizeof text, &err), 0);
        ck_assert_str_eq(text, "gemm_mixed rows=16");
        ck_assert_int_gt(sett_product_explain_for(&p, "sm_90a", 1, text, sizeof text, &err), 0);
        ck_assert_msg(!strncmp(text, "gemm_mixed: ", 12), "%s", text);
        ck_assert_int_gt(sett_product_explain_for(&p, "sm_90a", 16, text, sizeof text, &err), 0);
        ck_assert_msg(!strncmp(text, "gemm_wgmma bm=16 ", 17), "%s", text);
    }
}
END_TEST

static const struct { sett_product_problem p; const char *target, *text; } bad_products[] = {
    {{.dtype = SETT_BF16, .b = SETT_I4, .n = 8, .k = 8, .b_major = 1}, "cpu", ".b is i4 of .dtype bf16, packed weights: then .b_major is 0"},
    {{.dtype = SETT_BF16, .b = SETT_I4, .n = 8, .k = 8, .batch = 2, .batch_b = 64}, "cpu", ".b is i4 of .dtype bf16, packed weights: then .batch_b is 0"},
    {{.dtype = SETT_BF16, .b = SETT_I4, .n = 8, .k = 8, .batch = 2, .pointer_array = 1}, "cpu", ".b is i4 of .dtype bf16, packed weights: then .pointer_array is 0"},
    {{.dtype = SETT_BF16, .b = SETT_I4, .n = 8, .k = 8, .batch = 2}, "sm_80", ".batch is more than 1, of packed weights: products with them need sm_90a, the target is sm_80"},
    {{.dtype = SETT_BF16, .b = SETT_I4, .n = 10, .k = 8, .batch = 2}, "sm_90a", ".batch is more than 1, of packed weights: .n is 10, 20 bytes: a multiple of 16 then"},
    {{.dtype = SETT_BF16, .b = SETT_I4, .n = 8, .k = 10, .grouped = SETT_GROUPED_MASKED, .groups = 2}, "sm_90a", ".grouped is masked: .lda is 10, 20 bytes: a multiple of 16 then"},
    {{.dtype = SETT_BF16, .b = SETT_I4, .n = 8, .k = 8, .grouped = SETT_GROUPED_CONTIGUOUS, .groups = 2}, "sm_80", ".grouped is contiguous: products with groups need sm_90a, the target is sm_80"},
    {{.dtype = SETT_BF16, .b = SETT_I4, .n = 8, .k = 8, .ldb = 8}, "cpu", ".b is i4 of .dtype bf16, packed weights: then .ldb is 0"},
    {{.dtype = SETT_BF16, .b = SETT_I4, .n = 8, .k = 0}, "cpu", ".k is 0: from 1 to 2147483647"},
    {{.dtype = SETT_BF16, .b = SETT_I4, .n = 8, .k = 8, .group = 7}, "cpu", ".group is 7: 16, 32, a multiple of 64, or -1 for all of K"},
    {{.dtype = SETT_BF16, .n = 8, .k = 8, .sw = SETT_F8E4M3FN}, "cpu", ".sw is f8E4M3FN: packed weights alone have it, whose .b has fewer bits than .dtype"},
    {{.dtype = SETT_BF16, .n = 8, .k = 8, .group = 64}, "cpu", ".group is 64: packed weights alone have it, whose .b has fewer bits than .dtype"},
    {{.dtype = SETT_BF16, .b = SETT_I4, .n = 9, .k = 9}, "cpu", ".b is i4 of .dtype bf16, packed weights: then .align is 4 or more, and rows of A lie at multiples of 4 bytes"},
    {{.dtype = SETT_BF16, .b = SETT_I4, .n = 8, .k = 8, .align = 2}, "sm_90a", ".b is i4 of .dtype bf16, packed weights: then .align is 4 or more, and rows of A lie at multiples of 4 bytes"},
    {{.dtype = SETT_BF16, .b = SETT_I4, .n = 8, .k = 8}, "sm_75", "products of bf16 need sm_80, the target is sm_75"}};

START_TEST(products_refused)
{
    sett_product_problem p = bad_products[_i].p;
    char want[300];
    p.size = sizeof p;
    ck_assert_int_eq(sett_product_kernels(&p, bad_products[_i].target, NULL, &err), -1);
    snprintf(want, sizeof want, "sett_product_kernels: %s", bad_products[_i].text);
    ck_assert_str_eq(err.text, want);
}
END_TEST

START_TEST(a_run_without_scales)
{
    const sett_product_problem p = {.size = sizeof p, .dtype = SETT_BF16, .b = SETT_I4, .n = 64, .k = 64};
    void *workspace;
    size_t bytes;
    sett_product *plan = prepare(&p, 4, &workspace, &bytes);
    const sett_product_operands o = {.size = sizeof o, .a = workspace, .b = workspace, .d = workspace};
    ck_assert_int_eq(sett_product_run(plan, 1, &o, workspace, bytes, r.stream, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "sett_product_run: .sw is NULL");
    sett_free(r.e, r.stream.device, workspace), sett_product_free(plan);
}
END_TEST

Suite *weights_suite(void)
{
    Suite *s = suite_create("weights");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, orders);
    tcase_add_loop_test(t, weights_refused, 0, sizeof bad_weights / sizeof *bad_weights);
    tcase_add_test(t, packing_refused);
    tcase_add_test(t, zero_points_refused);
    tcase_add_loop_test(t, options_refused, 0, sizeof bad / sizeof *bad);
    tcase_add_loop_test(t, products_of_weights, 0, sizeof tiles / sizeof *tiles);
    tcase_add_loop_test(t, products_by_warps, 0, sizeof by_warps / sizeof *by_warps);
    tcase_add_loop_test(t, options_by_warps_refused, 0, sizeof bad_by_warps / sizeof *bad_by_warps);
    tcase_add_loop_test(t, any_number_of_rows, 0, 5);
    tcase_add_loop_test(t, weights_of_experts, 0, DEALINGS * sizeof of_experts / sizeof *of_experts);
    tcase_add_loop_test(t, large_scales, 0, sizeof scales_of / sizeof *scales_of);
    tcase_add_loop_test(t, invariant_rows, 0, 2);
    tcase_add_loop_test(t, terms_of_weights, 0, 2);
    tcase_add_test(t, kernels_of_weights);
    tcase_add_loop_test(t, products_refused, 0, sizeof bad_products / sizeof *bad_products);
    tcase_add_test(t, a_run_without_scales);
    suite_add_tcase(s, t);
    return s;
}
