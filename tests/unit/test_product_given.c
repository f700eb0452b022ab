/* SPDX-License-Identifier: Apache-2.0 */
/* What sett_product is given: by which K its kernels differ; products whose rows lie between each other's; members, numbers and workspaces
 * that were forgotten. On the CPU engine or, with SETT_TEST_GPU=1, on GPU 0. */
#include "tests/rig/plan_rig.h"
#include <pthread.h>
#include <stdatomic.h>

static void *floats_at(const float *x, size_t n)
{
    void *data = sett_alloc(r.e, r.stream.device, n * sizeof *x);
    ck_assert(data && !sett_memcpy(r.e, r.stream, data, x, n * sizeof *x) && !sett_sync(r.e, r.stream));
    return data;
}

static unsigned drawn(unsigned n)
{
    static unsigned seed = 7;
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % n;
}

/* ---- kernels ---------------------------------------------------------------------------------------------- */
/* docs/products.md promises by which K kernels differ: how many warps share a row's K, of few rows. */
START_TEST(classes_of_k)
{
    static const struct {
        sett_dtype dtype, b;
        int from[3], n; /* the least K of each class but the first, in elements */
    } of[] = {{SETT_BF16, SETT_BF16, {256, 512, 1024}, 3}, {SETT_F16, SETT_F16, {256, 512, 1024}, 3}, {SETT_F8E4M3FN, SETT_F8E5M2, {0}, 0}, {SETT_F8E4M3FN, SETT_F8E4M3FN, {512, 1024, 2048}, 3},
        {SETT_F32, SETT_F32, {512, 1024}, 2}, {SETT_BF16, SETT_I4, {256, 512, 1024}, 3}, {SETT_F16, SETT_F8E4M3FN, {256, 512, 1024}, 3}};
    static const char *const targets[] = {"sm_90a", "cpu"};
    for (size_t i = 0; i < 2 * (sizeof of / sizeof *of); i++) {
        const size_t t = i / 2;
        for (int k = 64; k <= 32768; k += 64) {
            sett_product_problem p = {.size = sizeof p, .dtype = of[t].dtype, .b = of[t].b, .n = 64, .k = k}, other = p;
            sett_product_kernel x[SETT_PRODUCT_KERNELS], y[SETT_PRODUCT_KERNELS];
            int split = 1;
            for (int j = 0; j < of[t].n; j++)
                split *= 1 + (k >= of[t].from[j]);
            other.k = split == 1 ? 64 : of[t].from[split == 2 ? 0 : split == 4 ? 1 : 2];
            const int n = sett_product_kernels(&p, targets[i % 2], x, &err);
            ck_assert_msg(n > 0, "%s", err.text);
            ck_assert_int_eq(sett_product_kernels(&other, targets[i % 2], y, &err), n);
            for (int j = 0; j < n; j++)
                ck_assert_msg(x[j].family == y[j].family && !memcmp(&x[j].options, &y[j].options, x[j].family->user_size), "kernel %d of K %d is not that of K %d", j, k, other.k);
            const bool mixed = x[n - 1].family->body == sett_gemm_mixed;
            if (of[t].n)
                ck_assert_int_eq(mixed ? x[n - 1].options.mixed.tuning.split : x[n - 1].options.few_rows.tuning.split, split);
        }
    }
}
END_TEST

/* ---- how operands lie --------------------------------------------------------------------------------------- */
/* Products whose rows lie between each other's, as an attention's output by heads has them: D (M,batch,N), by kernels that TMA feeds and by others. */
START_TEST(interleaved)
{
    for (int way = 0; way < 2; way++) {
        enum { M = 37, BATCH = 3, K = 32 };
        const int n = way ? 24 : 23, row = n * BATCH;
        sett_product_problem p = {.size = sizeof p, .dtype = SETT_F32, .n = n, .k = K, .tf32 = way, .batch = BATCH, .lda = BATCH * K, .batch_a = K, .ldd = row, .batch_d = n, .residual = 1, .ldr = row, .batch_r = n,
            .align = way ? 16 : 4};
        float a[M * BATCH * K], b[BATCH * 24 * K], res[M * BATCH * 24], d[M * BATCH * 24] = {0};
        for (int i = 0; i < M * BATCH * K; i++)
            a[i] = (float)(i * 7 % 13) - 6;
        for (int i = 0; i < BATCH * n * K; i++)
            b[i] = (float)(i * 5 % 11) - 5;
        for (int i = 0; i < M * row; i++)
            res[i] = (float)i;
        planned x = prepare(&p, M);
        const sett_product_operands o = {.size = sizeof o, .a = floats_at(a, M * BATCH * K), .b = floats_at(b, (size_t)(BATCH * n * K)), .r = floats_at(res, (size_t)(M * row)), .d = floats_at(d, (size_t)(M * row))};
        run_plan(&x, M, &o);
        ck_assert(!sett_memcpy(r.e, r.stream, d, o.d, sizeof *d * (size_t)(M * row)) && !sett_sync(r.e, r.stream));
        for (int i = 0; i < M * row; i++) {
            float sum = res[i];
            const int m = i / row, l = i % row / n, col = i % n;
            for (int k = 0; k < K; k++)
                sum += a[(m * BATCH + l) * K + k] * b[(l * n + col) * K + k];
            ck_assert_msg(d[i] == sum, "n %d, (%d,%d) of product %d: %g, not %g", n, m, col, l, (double)d[i], (double)sum);
        }
        const void *mem[] = {o.a, o.b, o.r, o.d};
        for (int i = 0; i < 4; i++)
            sett_free(r.e, r.stream.device, (void *)(uintptr_t)mem[i]);
        drop_plan(&x);
    }
}
END_TEST

/* Which strides of D are taken, beside a table of which element has whose. */
START_TEST(overlaps)
{
    enum { MOST = 2000 };
    int taken = 0, all = 0;
    for (int i = 0; i < 4000; i++, all++) {
        const int n = 1 + (int)drawn(6), m = 1 + (int)drawn(7), kinds = 2 + (int)drawn(5), ldd = n + (int)drawn(40), apart = 1 + (int)drawn(80);
        char has[MOST] = {0};
        bool overlap = false;
        for (int at = 0; at < kinds * m * n; at++) {
            char *to = &has[at / (m * n) * apart + at / n % m * ldd + at % n];
            overlap |= *to, *to = 1;
        }
        const sett_product_problem p = {.size = sizeof p, .dtype = SETT_BF16, .n = n, .k = 8, .batch = kinds, .ldd = ldd, .batch_d = apart, .align = 2};
        char text[100];
        const bool takes = sett_product_explain_for(&p, "cpu", m, text, sizeof text, &err) >= 0;
        ck_assert_msg(takes == !overlap, "%d x %d of %d, .ldd %d, .batch_d %d: %s", m, n, kinds, ldd, apart, takes ? "taken" : err.text);
        taken += takes;
    }
    ck_assert(taken > 400 && all - taken > 400);
}
END_TEST

/* ---- what was forgotten --------------------------------------------------------------------------------------- */
static void refuses(const planned *x, int m, const sett_product_operands *o, const char *text)
{
    char want[300];
    snprintf(want, sizeof want, "sett_product_run: %s", text);
    ck_assert_int_eq(sett_product_run(x->plan, m, o, x->workspace, x->bytes, r.stream, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, want);
}

/* Extents of 0 are legal where no elements are given. */
START_TEST(forgotten_extents)
{
    float some[64];
    const sett_product_problem no_n = {.size = sizeof no_n, .dtype = SETT_F32, .k = 4}, no_k = {.size = sizeof no_k, .dtype = SETT_F32, .n = 4}, neither = {.size = sizeof neither, .dtype = SETT_F32};
    planned n = prepare(&no_n, 2), k = prepare(&no_k, 2), none = prepare(&neither, 2);
    const sett_product_operands all = {.size = sizeof all, .a = some, .b = some, .d = some}, only_b = {.size = sizeof only_b, .b = some}, only_a = {.size = sizeof only_a, .a = some};
    refuses(&n, 1, &all, ".d is given, and .n of the problem is 0: then B and D have no elements, and are NULL");
    refuses(&none, 1, &all, ".d is given, and .n of the problem is 0: then B and D have no elements, and are NULL");
    refuses(&n, 1, &only_b, ".b is given, and .n of the problem is 0: then B and D have no elements, and are NULL");
    refuses(&k, 1, &all, ".a is given, and .k of the problem is 0: then A and B have no elements, and are NULL");
    refuses(&k, 1, &only_b, ".b is given, and .k of the problem is 0: then A and B have no elements, and are NULL");
    refuses(&k, 1, &(sett_product_operands){.size = sizeof all}, ".d is NULL");
    run_plan(&n, 1, &only_a), run_plan(&n, 0, &all);
    float d[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    const sett_product_operands to = {.size = sizeof to, .d = floats_at(d, 8)};
    run_plan(&k, 2, &to);
    ck_assert(!sett_memcpy(r.e, r.stream, d, to.d, sizeof d) && !sett_sync(r.e, r.stream));
    for (int i = 0; i < 8; i++)
        ck_assert_msg(d[i] == 0, "%g", (double)d[i]);
    sett_free(r.e, r.stream.device, to.d);
    drop_plan(&n), drop_plan(&k), drop_plan(&none);
}
END_TEST

/* One product of ones with a term: K, times and plus what the number says. */
static float one_of(const sett_gemm_terms *t, sett_product_operands o, const char *refused)
{
    enum { N = 8, K = 8 };
    float ones[N * K], d[N];
    for (int i = 0; i < N * K; i++)
        ones[i] = 1;
    const sett_product_problem p = {.size = sizeof p, .dtype = SETT_F32, .n = N, .k = K, .terms = *t, .residual = t->beta};
    planned x = prepare(&p, 1);
    o.size = sizeof o, o.a = floats_at(ones, K), o.b = floats_at(ones, N * K), o.d = floats_at(ones, N), o.r = t->beta ? o.d : NULL;
    if (refused)
        refuses(&x, 1, &o, refused);
    else
        run_plan(&x, 1, &o);
    ck_assert(!sett_memcpy(r.e, r.stream, d, o.d, sizeof d) && !sett_sync(r.e, r.stream));
    const void *mem[] = {o.a, o.b, o.d};
    for (int i = 0; i < 3; i++)
        sett_free(r.e, r.stream.device, (void *)(uintptr_t)mem[i]);
    drop_plan(&x);
    return d[N - 1];
}

START_TEST(numbers)
{
    static const struct {
        sett_gemm_terms t;
        sett_product_operands o;
        const char *text;
        float d;
    } of[] = {{{.alpha = 1}, {0}, NULL, 0}, {{.alpha = 1}, {.alpha = 2}, NULL, 16}, {{0}, {.alpha = 2}, ".alpha is 2, and .terms.alpha is 0", 1}, {{.beta = 1}, {0}, NULL, 8}, {{.beta = 1}, {.beta = 3}, NULL, 11},
        {{.softcap = 1}, {0}, ".cap is 0, and .terms.softcap is 1: from 7.88861e-31 to 1.26765e+30", 1}, {{.softcap = 1}, {.cap = -0.5f}, ".cap is -0.5, and .terms.softcap is 1: from 7.88861e-31 to 1.26765e+30", 1},
        {{.softcap = 1}, {.cap = NAN}, ".cap is nan, and .terms.softcap is 1: from 7.88861e-31 to 1.26765e+30", 1}, {{.softcap = 1}, {.cap = INFINITY}, ".cap is inf, and .terms.softcap is 1: from 7.88861e-31 to 1.26765e+30", 1}, {{.clamp = 1}, {0}, NULL, 0}, {{.clamp = 1}, {.high = 5}, NULL, 5}, {{.clamp = 1}, {.low = -5}, NULL, 0},
        {{.clamp = 1}, {.low = 1, .high = NAN}, ".low is 1, and .high is nan: .low is not above .high", 1}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const float d = one_of(&of[i].t, of[i].o, of[i].text);
        ck_assert_msg(d == of[i].d && !signbit(d), "%zu: %g, not %g", i, (double)d, (double)of[i].d);
    }
}
END_TEST

/* The host looks where it can. */
START_TEST(dirty_workspace)
{
    if (r.stream.device != SETT_CPU)
        return;
    float some[64];
    const sett_product_problem p = {.size = sizeof p, .dtype = SETT_BF16, .n = 16, .k = 16};
    planned x = prepare(&p, 2);
    const sett_product_operands o = {.size = sizeof o, .a = some, .b = some, .d = some};
    ck_assert_uint_gt(x.bytes, 0);
    ((uint32_t *)x.workspace)[5] = 0xffffffff;
    refuses(&x, 1, &o, "word 5 of the workspace is 0xffffffff: it is 0 before the first run and after one that was ended, and runs that go on at the same time have one each");
    drop_plan(&x);
}
END_TEST

static atomic_bool done;
static void *take_words(void *workspace)
{
    while (!atomic_load(&done))
        memset(workspace, 0, 4096);
    return NULL;
}

/* Somebody else takes the words that a run waits for. */
START_TEST(shared_workspace)
{
    enum { M = 16, N = 64, K = 2048, RUNS = 2000 };
    sett_engine *e;
    sett_product *plan;
    size_t bytes;
    pthread_t other;
    const sett_engine_options eo = {.size = sizeof eo, .no_gpu = true, .cpu_timeout_ms = 1500};
    const sett_product_problem p = {.size = sizeof p, .dtype = SETT_BF16, .d = SETT_F32, .n = N, .k = K};
    ck_assert(!sett_engine_open(&e, &eo, &err));
    ck_assert_msg(!sett_product_prepare(e, SETT_CPU, &p, M, &plan, &bytes, &err), "%s", err.text);
    void *workspace = sett_alloc(e, SETT_CPU, bytes), *a = sett_alloc(e, SETT_CPU, M * K * 2), *b = sett_alloc(e, SETT_CPU, N * K * 2), *d = sett_alloc(e, SETT_CPU, M * N * 4);
    ck_assert(workspace && a && b && d);
    memset(workspace, 0, bytes);
    ck_assert(!pthread_create(&other, NULL, take_words, workspace));
    memset(a, 0, M * K * 2), memset(b, 0, N * K * 2);
    const sett_product_operands o = {.size = sizeof o, .a = a, .b = b, .d = d};
    sett_status s = SETT_OK;
    for (int i = 0; i < RUNS && !s; i++) /* until it comes between a word and who waits for it */
        s = sett_product_run(plan, M, &o, workspace, bytes, sett_stream_of(SETT_CPU, NULL), &err);
    atomic_store(&done, true);
    pthread_join(other, NULL);
    const bool waited = s == SETT_E_FAULT && strstr(err.text, "sett_product_run: another run has the workspace at the same time, or it was changed") && (strstr(err.text, "not done after 1500 ms") || strstr(err.text, "waits for ever" /* of a launch that is checked */));
    const bool seen = s == SETT_E_ARGUMENT && strstr(err.text, "and runs that go on at the same time have one each");
    ck_assert_msg(waited || seen, "%d: %s", (int)s, s ? err.text : "every run was done");
    void *mem[] = {workspace, a, b, d};
    for (int i = 0; i < 4; i++)
        sett_free(e, SETT_CPU, mem[i]);
    sett_product_free(plan);
    sett_engine_close(e);
}
END_TEST

/* What a launch refuses names the caller's operand. */
START_TEST(launches_name_operands)
{
    float *small = sett_alloc(r.e, r.stream.device, 64);
    const sett_product_problem p = {.size = sizeof p, .dtype = SETT_F32, .n = 4, .k = 4, .terms.bias = 1};
    planned x = prepare(&p, 8);
    const sett_product_operands o = {.size = sizeof o, .a = small + 1, .b = small, .d = small, .bias = small};
    ck_assert_int_eq(sett_product_run(x.plan, 1, &o, x.workspace, x.bytes, r.stream, &err), SETT_E_ALIGN);
    ck_assert_msg(!strncmp(err.text, "sett_product_run: .a: gemm_", 27) && strstr(err.text, "is not a multiple of 16 bytes: .align of the problem is less then"), "%s", err.text);
    const sett_product_operands d = {.size = sizeof d, .a = small, .b = small, .d = small + 4, .bias = small};
    if (r.stream.device == SETT_CPU) {
        ck_assert_int_ne(sett_product_run(x.plan, 8, &d, x.workspace, x.bytes, r.stream, &err), SETT_OK);
        ck_assert_msg(!strncmp(err.text, "sett_product_run: .a: gemm_", 27), "%s", err.text);
        ck_assert_int_ne(sett_product_run(x.plan, 4, &d, x.workspace, x.bytes, r.stream, &err), SETT_OK);
        ck_assert_msg(!strncmp(err.text, "sett_product_run: .d: gemm_", 27), "%s", err.text);
    }
    drop_plan(&x);
    sett_free(r.e, r.stream.device, small);
}
END_TEST

START_TEST(no_engine)
{
    const sett_product_problem p = {.size = sizeof p, .dtype = SETT_F32, .n = 4, .k = 4};
    sett_product *plan;
    size_t bytes;
    ck_assert_int_eq(sett_product_prepare(NULL, SETT_DEFAULT_DEVICE, &p, 8, &plan, &bytes, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "sett_product_prepare: there is no engine");
}
END_TEST

/* Of A's columns the stride decides which kernels there are, and no max_m says it to a manifest. */
START_TEST(columns_without_a_stride)
{
    sett_product_problem p = {.size = sizeof p, .dtype = SETT_BF16, .n = 64, .k = 64, .a_major = 1};
    ck_assert_int_eq(sett_product_kernels(&p, "sm_90a", NULL, &err), -1);
    ck_assert_str_eq(err.text, "sett_product_kernels: .a_major is 1 and .lda 0, and no max_m above 0 says it: .lda is given then");
    p.lda = 512;
    ck_assert_int_gt(sett_product_kernels(&p, "sm_90a", NULL, &err), 0);
}
END_TEST

Suite *product_given_suite(void)
{
    Suite *s = suite_create("product_given");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, classes_of_k);
    tcase_add_test(t, interleaved);
    tcase_add_test(t, overlaps);
    tcase_add_test(t, forgotten_extents);
    tcase_add_test(t, numbers);
    tcase_add_test(t, dirty_workspace);
    tcase_add_test(t, shared_workspace);
    tcase_add_test(t, launches_name_operands);
    tcase_add_test(t, no_engine);
    tcase_add_test(t, columns_without_a_stride);
    suite_add_tcase(s, t);
    return s;
}
