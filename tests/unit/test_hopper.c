/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of libsett-kernels that are for sm_90a: products and attention against plain C, on the CPU engine or, with SETT_TEST_GPU=1,
 * on GPU 0; and the main loop of a product beside the hand-written one. */
#include "tests/rig/kernels_rig.h"

static bool has_wgmma(void)
{
    char target[16] = "cpu";
    if (r.stream.device == SETT_CPU || (sett_device_target(r.e, r.stream.device, target, sizeof target) > 0 && !strcmp(target, "sm_90a")))
        return true;
    printf("skipped: %s has no wgmma\n", target);
    return false;
}

/* Factors -2 to 2 as each type has them, so that sums are exact. */
typedef struct product { sett_dtype ab, c; int scaled, bn, gated, residual; } product;
static const product products[] = {{.ab = SETT_F16}, {SETT_BF16, SETT_F32, 0, 0, 0, 0}, {SETT_BF16, 0, 1, 64, 0, 0}, {SETT_F8E4M3FN, SETT_BF16, 1, 128, 0, 0},
    {SETT_F8E5M2, SETT_F16, 0, 256, 0, 0}, {SETT_I8, 0, 1, 256, 0, 0}, {SETT_I8, SETT_F32, 1, 0, 0, 0}, {SETT_BF16, SETT_F8E4M3FN, 1, 128, 0, 0},
    {.ab = SETT_BF16, .gated = 1}, {.ab = SETT_F16, .c = SETT_F32, .bn = 128, .gated = 1, .residual = 1}, {.ab = SETT_BF16, .residual = 1},
    {SETT_F8E4M3FN, SETT_F16, 1, 128, 0, 1}, {.ab = SETT_F16, .bn = 128, .gated = 1, .residual = 1}};

static uint16_t factor_bits(sett_dtype t, int x)
{
    static const uint16_t f16[] = {0xc000, 0xbc00, 0, 0x3c00, 0x4000}, bf16[] = {0xc000, 0xbf80, 0, 0x3f80, 0x4000}, e4m3[] = {0xc0, 0xb8, 0, 0x38, 0x40},
                          e5m2[] = {0xc0, 0xbc, 0, 0x3c, 0x40};
    return t == SETT_F16 ? f16[x + 2] : t == SETT_BF16 ? bf16[x + 2] : t == SETT_F8E4M3FN ? e4m3[x + 2] : t == SETT_F8E5M2 ? e5m2[x + 2] : (uint16_t)(uint8_t)x;
}

static int factor_at(size_t row, size_t k, int seed)
{
    return (int)((row * 7 + k * 3 + row * k + (size_t)seed) % 5) - 2;
}

static void *factors(sett_dtype t, size_t rows, size_t depth, int seed)
{
    const size_t bytes = (size_t)sett_dtype_bits(t) / 8, n = rows * depth;
    unsigned char *host = malloc(n * bytes);
    void *data = sett_alloc(r.e, r.stream.device, n * bytes);
    ck_assert(host && data);
    for (size_t i = 0; i < n; i++) {
        const uint16_t x = factor_bits(t, factor_at(i / depth, i % depth, seed));
        memcpy(host + i * bytes, &x, bytes);
    }
    ck_assert(!sett_memcpy(r.e, r.stream, data, host, n * bytes) && !sett_sync(r.e, r.stream));
    free(host);
    return data;
}

static double element(sett_dtype t, const unsigned char *p, size_t i)
{
    if (t != SETT_F8E4M3FN)
        return get(t, p, i);
    const int e = p[i] >> 3 & 15, m = p[i] & 7;
    const double v = e ? ldexp(8 + m, e - 10) : ldexp(m, -9);
    return p[i] & 128 ? -v : v;
}

static double residual_at(size_t i)
{
    return (double)(i % 9) - 4;
}

static void fill_residual(sett_dtype t, unsigned char *host, void *data, size_t n)
{
    for (size_t i = 0; i < n; i++)
        put(t, host, i, residual_at(i));
    ck_assert(!sett_memcpy(r.e, r.stream, data, host, n * (size_t)sett_dtype_bits(t) / 8) && !sett_sync(r.e, r.stream));
}

static void check_product(const product *p, size_t m, size_t n, size_t k)
{
    const sett_gemm_wgmma_options o = {.size = sizeof o, .dtype = p->ab, .c = p->c, .scaled = p->scaled, .bn = p->bn, .clusters = 2, .gated = p->gated, .residual = p->residual};
    const sett_dtype c = p->c ? p->c : p->ab == SETT_F16 ? SETT_F16 : SETT_BF16;
    const size_t bytes = (size_t)sett_dtype_bits(c) / 8;
    float *scale = malloc((m + n) * sizeof *scale);
    unsigned char *host = malloc(m * n * bytes);
    void *a = factors(p->ab, m, k, 0), *b = factors(p->ab, n + n * (size_t)p->gated, k, 3), *to = sett_alloc(r.e, r.stream.device, m * n * bytes), *s = sett_alloc(r.e, r.stream.device, (m + n) * sizeof *scale);
    ck_assert(scale && host && to && s);
    for (size_t i = 0; i < m + n; i++)
        scale[i] = ldexpf(1, (int)(i % 4) - 2);
    ck_assert(!sett_memcpy(r.e, r.stream, s, scale, (m + n) * sizeof *scale));
    if (p->residual) /* where C goes */
        fill_residual(c, host, to, m * n);
    sett_buf left = sett_buf_2d(a, p->ab, (int64_t)m, (int64_t)k), right = sett_buf_2d(b, p->ab, (int64_t)n << p->gated, (int64_t)k), C = sett_buf_2d(to, c, (int64_t)m, (int64_t)n);
    sett_buf SA = sett_buf_1d(s, SETT_F32, (int64_t)m), SB = sett_buf_1d((float *)s + m, SETT_F32, (int64_t)n);
    if (p->scaled && p->residual)
        RUN(sett_gemm_wgmma, &o, &left, &right, &C, &C, &SA, &SB);
    else if (p->scaled)
        RUN(sett_gemm_wgmma, &o, &left, &right, &C, &SA, &SB);
    else if (p->residual)
        RUN(sett_gemm_wgmma, &o, &left, &right, &C, &C);
    else
        RUN(sett_gemm_wgmma, &o, &left, &right, &C);
    ck_assert(!sett_memcpy(r.e, r.stream, host, to, m * n * bytes) && !sett_sync(r.e, r.stream));
    for (size_t i = 0; i < m * n; i++) {
        double sum = 0, up = 0;
        for (size_t x = 0; x < k; x++)
            sum += factor_at(i / n, x, 0) * factor_at(i % n, x, 3), up += factor_at(i / n, x, 0) * factor_at(i % n + n, x, 3);
        sum *= p->scaled ? (double)scale[i / n] * (double)scale[m + i % n] : 1;
        sum = p->gated ? sum / (1 + exp(-sum)) * up : sum;
        sum += p->residual ? residual_at(i) : 0;
        const double got = element(c, host, i), exactly = c == SETT_F32 ? 0 : c == SETT_F16 ? 0x1p-11 : c == SETT_BF16 ? 0x1p-8 : 0x1p-4, half = exactly + (p->gated ? 0x1p-20 : 0);
        const double want = c == SETT_F8E4M3FN ? fmax(-448, fmin(448, sum)) : sum;
        ck_assert_msg(fabs(got - want) <= fabs(want) * half + (half > 0 ? 0x1p-10 : 0), "%s to %s, (%zu,%zu): %g, not %g", sett_dtype_name(p->ab), sett_dtype_name(c), i / n, i % n, got, want);
    }
    void *all[] = {a, b, to, s};
    for (int i = 0; i < 4; i++)
        sett_free(r.e, r.stream.device, all[i]);
    free(host), free(scale);
}

#ifdef __SANITIZE_ADDRESS__ /* several times as slow */
enum { EACH = 3 };
#else
enum { EACH = 1 };
#endif
START_TEST(gemm_wgmma)
{
    if (_i % EACH)
        return;
    if (!has_wgmma())
        return;
    check_product(&products[_i], 256, 256, 128);
    check_product(&products[_i], 131, 336, 208); /* ends within tiles */
    check_product(&products[_i], 520, 272, 16);
}
END_TEST

/* One row of O, in double. */
static void attend(const array *q, const array *k, const array *v, size_t row, size_t head, size_t n, size_t d, double *to)
{
    double *w = malloc(n * sizeof *w), sum = 0, most = -INFINITY;
    ck_assert_ptr_nonnull(w);
    for (size_t j = 0; j < n; j++) {
        w[j] = 0;
        for (size_t x = 0; x < d; x++)
            w[j] += q->was[row * d + x] * k->was[(head * n + j) * d + x];
        most = fmax(most, w[j] /= sqrt((double)d));
    }
    for (size_t j = 0; j < n; j++)
        sum += w[j] = exp(w[j] - most);
    for (size_t x = 0; x < d; x++) {
        to[x] = 0;
        for (size_t j = 0; j < n; j++)
            to[x] += w[j] / sum * v->was[(head * n + j) * d + x];
    }
    free(w);
}

START_TEST(attention)
{
    static const int64_t shapes[][3] = {{1, 128, 128}, {2, 64, 300}, {3, 77, 1}, {1, 200, 257}};
    const sett_dtype t = floats[_i / 2];
    const int64_t d = _i % 2 ? 64 : 128;
    const sett_attention_options o = {.size = sizeof o, .dtype = t, .d = _i % 2 ? 64 : 0};
    double row[128];
    for (int s = 0; has_wgmma() && s < 4; s++) {
        const int64_t g = shapes[s][0], m = shapes[s][1], n = shapes[s][2];
        array a[4] = {MAKE(t, g, m, d), MAKE(t, g, n, d), MAKE(t, g, n, d), MAKE(t, g, m, d)};
        RUN(sett_attention, &o, &a[0].m.buf, &a[1].m.buf, &a[2].m.buf, &a[3].m.buf);
        matrix_fetch(&r, &a[3].m);
        for (int64_t i = 0; i < g * m; i++) {
            attend(&a[0], &a[1], &a[2], (size_t)i, (size_t)(i / m), (size_t)n, (size_t)d, row);
            for (int64_t x = 0; x < d; x++)
                near("attention", &a[3], (size_t)(i * d + x), row[x], 2 * ulp[_i / 2]); /* weights are rounded, and the result */
        }
        drop(4, a);
    }
}
END_TEST

/* Column 0 of rows [first, n), of f16, becomes x. */
static void put_first(array *a, size_t first, size_t n, size_t d, uint16_t bits, double x)
{
    for (size_t i = first; i < n; i++)
        ((uint16_t *)a->m.host)[i * d] = bits, a->was[i * d] = x;
    ck_assert(!sett_memcpy(r.e, r.stream, a->m.buf.data, a->m.host, a->m.bytes) && !sett_sync(r.e, r.stream));
}

/* Keys whose products with all queries are -infinity weigh nothing, also where they fill the tile that comes first. */
START_TEST(keys_without_weight)
{
    enum { M = 70, N = 300, D = 64, FIRST = 256 };
    const sett_attention_options o = {.size = sizeof o, .dtype = SETT_F16, .d = D};
    double row[D];
    if (!has_wgmma())
        return;
    array a[4] = {MAKE(SETT_F16, 1, M, D), MAKE(SETT_F16, 1, N, D), MAKE(SETT_F16, 1, N, D), MAKE(SETT_F16, 1, M, D)};
    put_first(&a[0], 0, M, D, 0x3c00, 1), put_first(&a[1], FIRST, N, D, 0xfc00, -INFINITY);
    RUN(sett_attention, &o, &a[0].m.buf, &a[1].m.buf, &a[2].m.buf, &a[3].m.buf);
    matrix_fetch(&r, &a[3].m);
    for (size_t i = 0; i < M; i++) {
        attend(&a[0], &a[1], &a[2], i, 0, FIRST, D, row);
        for (size_t x = 0; x < D; x++)
            near("keys without weight", &a[3], i * D + x, row[x], 2 * ulp[0]);
    }
    drop(4, a);
}
END_TEST

START_TEST(other_targets)
{
    static const char *const targets[] = {"sm_75", "sm_80", "sm_89", "sm_90", "sm_100a", "sm_120a"};
    const sett_gemm_wgmma_options g = {.size = sizeof g, .dtype = SETT_BF16};
    const sett_attention_options a = {.size = sizeof a, .dtype = SETT_BF16};
    sett_error why = {0};
    sett_kernel *k;
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        ck_assert_int_eq(sett_kernels_compile(r.e, sett_gemm_wgmma, &g, targets[i], &k, &why), SETT_E_TARGET);
        ck_assert_msg(!k && strstr(why.text, "sett_kernels_compile: gemm_wgmma: it needs sm_90a, the target is ") == why.text, "%s", why.text);
        ck_assert_int_eq(sett_kernels_compile(r.e, sett_attention, &a, targets[i], &k, &why), SETT_E_TARGET);
    }
}
END_TEST

/* What boxes alone reach may span more than 2^31 elements; what threads load by offsets of 32 bits may not. */
START_TEST(far_elements)
{
    enum { M = 65536, N = 40000, K = 8 };
    sett_gemm_wgmma_options o = {.size = sizeof o, .dtype = SETT_BF16};
    sett_error why = {0};
    sett_kernel *k;
    sett_call *c;
    for (o.residual = 0; r.stream.device == SETT_CPU && o.residual < 2; o.residual++) {
        ck_assert_msg(!sett_kernels_compile(r.e, sett_gemm_wgmma, &o, "cpu", &k, &why), "%s", why.text);
        void *any = (void *)(uintptr_t)4096; /* a call reads nothing there before it runs */
        sett_buf A = sett_buf_2d(any, SETT_BF16, M, K), B = sett_buf_2d(any, SETT_BF16, N, K), C = sett_buf_2d(any, SETT_BF16, M, N);
        const sett_status s = o.residual ? sett_call_make(k, SETT_CPU, &c, &why, &A, &B, &C, &C) : sett_call_make(k, SETT_CPU, &c, &why, &A, &B, &C);
        ck_assert_msg(o.residual ? s == SETT_E_RANGE && strstr(why.text, "R spans 2621440000 elements") : !s, "%s", why.text);
        if (!s)
            sett_call_free(c);
        sett_kernel_release(k);
    }
}
END_TEST

/* ---- the main loop of gemm_wgmma, and the hand-written one ------------------------------------------------------- */
enum { MOST_OPCODES = 64 };
typedef struct opcodes {
    char name[MOST_OPCODES][40];
    int count[MOST_OPCODES], n, all;
} opcodes;

static int *count_of(opcodes *x, const char *name)
{
    for (int i = 0; i < x->n; i++)
        if (!strcmp(x->name[i], name))
            return &x->count[i];
    ck_assert_int_lt(x->n, MOST_OPCODES);
    snprintf(x->name[x->n], sizeof *x->name, "%s", name);
    return &x->count[x->n++];
}

/* A round: from the label to which the loop goes back behind its arrival, the first one after the second fence. */
static opcodes loop_of(const char *ptx)
{
    opcodes x = {0};
    char label[40], name[40];
    const char *fence = strstr(ptx, "wgmma.fence"), *second = fence ? strstr(fence + 1, "wgmma.fence") : NULL, *arrive = second ? strstr(second, "mbarrier.arrive.relaxed") : NULL;
    const char *back = arrive ? strstr(arrive, "bra.uni") : NULL;
    ck_assert(back && sscanf(back, "bra.uni %38[^;]", label) == 1);
    strcat(label, ":");
    const char *line = strstr(ptx, label);
    ck_assert_ptr_nonnull(line);
    for (; line < back; line = strchr(line, '\n') + 1) {
        const char *at = line + strspn(line, " \t");
        if (*at == '@')
            at += strcspn(at, " "), at += strspn(at, " \t");
        if (sscanf(at, "%38[a-z0-9_.:]", name) == 1 && *at != '.')
            ++*count_of(&x, name), x.all++;
    }
    return x;
}

/* Arithmetic on the loop's counter, and on a stage's number. */
static bool is_counting(const char *name)
{
    static const char *const names[] = {"mul.lo.s32", "shl.b32", "cvt.s64.s32", "add.s32", "sub.s32", "mov.b32", "mov.u32"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], name))
            return true;
    return !strncmp(name, "setp.", 5);
}

START_TEST(main_loop)
{
    const sett_engine_options eo = {.size = sizeof eo, .cache_dir = "", .no_gpu = true};
    const sett_compile_options co = {.size = sizeof co, .target = "sm_90a", .ptx_only = true};
    const sett_gemm_wgmma_options o = {.size = sizeof o, .dtype = SETT_BF16};
    sett_compile_options with = co;
    sett_kernel_info info = {.size = sizeof info};
    sett_engine *e;
    sett_kernel *k[2];
    opcodes x[2];
    static char text[1 << 16];
    FILE *f = fopen("tests/tape/gemm_wgmma.tape", "rb");
    with.user = &o;
    ck_assert(f && fread(text, 1, sizeof text - 1, f) && !fclose(f) && !sett_engine_open(&e, &eo, &err));
    sett_status s = sett_compile(e, sett_gemm_wgmma, &with, &k[0], &err);
    if (s == SETT_E_NO_COMPILER) { /* the plug-in was not built */
        sett_engine_close(e);
        return;
    }
    ck_assert_msg(!s && !sett_compile_tape(e, text, strlen(text), &co, &k[1], &err), "%s", err.text);
    for (int i = 0; i < 2; i++) {
        ck_assert(!sett_kernel_query(k[i], &info));
        x[i] = loop_of(info.ptx);
        sett_kernel_release(k[i]);
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < x[i].n; j++)
            ck_assert_msg(is_counting(x[i].name[j]) || *count_of(&x[0], x[i].name[j]) == *count_of(&x[1], x[i].name[j]), "%s: %d in the kernel, %d in the tape", x[i].name[j],
                *count_of(&x[0], x[i].name[j]), *count_of(&x[1], x[i].name[j]));
    ck_assert_msg(x[0].all <= x[1].all + 2, "%d instructions, %d in the tape", x[0].all, x[1].all);
    sett_engine_close(e);
}
END_TEST

Suite *hopper_suite(void)
{
    Suite *s = suite_create("hopper");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, gemm_wgmma, 0, (int)(sizeof products / sizeof *products));
    tcase_add_loop_test(t, attention, 0, 4);
    tcase_add_test(t, keys_without_weight);
    tcase_add_test(t, other_targets);
    tcase_add_test(t, far_elements);
    tcase_add_test(t, main_loop);
    suite_add_tcase(s, t);
    return s;
}
