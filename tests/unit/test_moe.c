/* SPDX-License-Identifier: Apache-2.0 */
/* A mixture of experts around its products, against plain C: the choice in double, the order by a stable sort, the way back bit by bit. */
#include "tests/rig/model_rig.h"

static double random_number(void) /* [0, 1) */
{
    return (uniform(&r.seed) + 1) / 2;
}

/* ---- which experts ---------------------------------------------------------------------------------------------- */
typedef struct expected {
    int id[32];
    double weight[32];
} expected;

static double group_score(const sett_moe_topk_options *o, const double *by, int group)
{
    const int n = o->experts / o->groups;
    double first = -INFINITY, second = -INFINITY;
    for (int e = group * n; e < group * n + n; e++)
        if (by[e] > first)
            second = first, first = by[e];
        else if (by[e] > second)
            second = by[e];
    return o->bias && n > 1 ? first + second : first;
}

static expected choose(const sett_moe_topk_options *o, const double *x, const float *bias, double scale)
{
    double score[512], by[512], most = -INFINITY, sum = 0;
    for (int e = 0; e < o->experts; e++)
        most = fmax(most, x[e]);
    for (int e = 0; e < o->experts; e++)
        sum += score[e] = o->sigmoid ? 1 / (1 + exp(-x[e])) : exp(x[e] - most);
    for (int e = 0; e < o->experts; e++) {
        score[e] /= o->sigmoid ? 1 : sum;
        by[e] = score[e] + (o->bias ? (double)bias[e] : 0);
    }
    bool out[512] = {false};
    for (int g = 0; g < o->groups; g++) {
        int better = 0;
        for (int other = 0; other < o->groups; other++)
            better += group_score(o, by, other) > group_score(o, by, g) || (group_score(o, by, other) == group_score(o, by, g) && other < g);
        for (int e = 0; better >= o->top_groups && e < o->experts / o->groups; e++)
            out[g * (o->experts / o->groups) + e] = true;
    }
    expected w = {{0}, {0}};
    double total = 0;
    for (int j = 0; j < o->top_k; j++) {
        int best = -1;
        for (int e = 0; e < o->experts; e++)
            if (!out[e] && (best < 0 || by[e] > by[best]))
                best = e;
        w.id[j] = best, total += w.weight[j] = score[best], out[best] = true;
    }
    for (int j = 0; j < o->top_k; j++)
        w.weight[j] *= scale / (o->renormalise ? total : 1);
    return w;
}

static const sett_moe_topk_options routers[] = {{.experts = 128, .top_k = 8, .renormalise = 1}, {.experts = 256, .top_k = 8, .sigmoid = 1, .bias = 1, .groups = 8, .top_groups = 4, .renormalise = 1},
    {.experts = 160, .top_k = 6, .groups = 8, .top_groups = 3}, {.experts = 8, .top_k = 2}, {.experts = 60, .top_k = 4, .sigmoid = 1}, {.experts = 512, .top_k = 10, .bias = 1, .renormalise = 1},
    {.experts = 1, .top_k = 1}, {.experts = 384, .top_k = 32, .sigmoid = 1, .bias = 1, .groups = 1, .top_groups = 1}, {.experts = 32, .top_k = 3, .groups = 32, .top_groups = 5, .bias = 1}};
enum { ROUTERS = sizeof routers / sizeof *routers };

/* Numbers that are far enough apart that rounding decides nothing, but for some that are equal. */
START_TEST(topk)
{
    enum { ROWS = 37 };
    sett_moe_topk_options o = routers[_i / FLOATS];
    o.size = sizeof o, o.dtype = floats[_i % FLOATS], o.tuning.warps = _i % 2 ? 3 : 0;
    const int n = o.experts;
    cells a[4] = {CELLS(o.dtype, ROWS, n), CELLS(SETT_F32, n), CELLS(SETT_F32, ROWS, o.top_k), CELLS(SETT_I32, ROWS, o.top_k)};
    for (int m = 0; m < ROWS; m++) {
        int order[512];
        for (int e = 0; e < n; e++)
            order[e] = e;
        for (int e = n - 1; e > 0; e--) {
            const int with = (int)(random_number() * (e + 1)), was = order[e];
            order[e] = order[with], order[with] = was;
        }
        for (int e = 0; e < n; e++)
            put(o.dtype, a[0].host, (size_t)m * (size_t)n + (size_t)e, m % 4 == 3 ? floor(order[e] / 3.0) / 32 : (order[e] - n / 2) / 32.0);
    }
    for (int e = 0; e < n; e++)
        reals(&a[1])[e] = (float)(e % 5) / 4;
    cells_send(&a[0]), cells_send(&a[1]);
    const double scale = 2.5;
    sett_kernel *k = compiled(sett_moe_topk, &o);
    ck_assert_msg(!(o.bias ? sett_launch(k, r.stream, &err, &a[0].buf, &a[1].buf, &a[2].buf, &a[3].buf, scale) : sett_launch(k, r.stream, &err, &a[0].buf, &a[2].buf, &a[3].buf, scale)), "%s",
        err.text);
    cells_fetch(&a[2]), cells_fetch(&a[3]);
    sett_kernel_release(k);
    for (int m = 0; m < ROWS; m++) {
        double x[512];
        for (int e = 0; e < n; e++)
            x[e] = cell(&a[0], (size_t)m * (size_t)n + (size_t)e);
        const expected want = choose(&o, x, reals(&a[1]), scale);
        for (int j = 0; j < o.top_k; j++) {
            const size_t i = (size_t)m * (size_t)o.top_k + (size_t)j;
            ck_assert_msg(ints(&a[3])[i] == want.id[j], "row %d, choice %d: expert %d, should be %d", m, j, ints(&a[3])[i], want.id[j]);
            ck_assert_msg(fabs(reals(&a[2])[i] - want.weight[j]) <= 2e-6 * want.weight[j], "row %d, choice %d: %.9g, should be %.9g", m, j, (double)reals(&a[2])[i], want.weight[j]);
        }
    }
    cells_drop(4, a);
}
END_TEST

/* ---- order ------------------------------------------------------------------------------------------------------ */
static const struct {
    int tokens, top_k, experts, align, threads;
    double elsewhere; /* part of ids that are no expert's */
} orders[] = {{1, 8, 128, 0, 0, 0}, {64, 8, 128, 128, 0, 0}, {700, 8, 128, 1, 0, 0.1}, {333, 1, 512, 8, 64, 0}, {50, 32, 40, 16, 32, 0.5}, {1000, 2, 3, 1024, 256, 0}, {2, 2, 1, 4, 0, 1}};

START_TEST(permute)
{
    const int top_k = orders[_i].top_k, experts = orders[_i].experts, align = orders[_i].align ? orders[_i].align : 1, n = orders[_i].tokens * top_k, rows = n + experts * (align - 1) + 3;
    const sett_moe_permute_options o = {.size = sizeof o, .experts = experts, .top_k = top_k, .align = orders[_i].align, .tuning.threads = orders[_i].threads};
    cells a[4] = {CELLS(SETT_I32, orders[_i].tokens, top_k), CELLS(SETT_I32, experts + 1), CELLS(SETT_I32, rows), CELLS(SETT_I32, orders[_i].tokens, top_k)};
    for (int i = 0; i < n; i++)
        ints(&a[0])[i] = random_number() < orders[_i].elsewhere ? (i % 2 ? -1 - i : experts + i) : (int)(random_number() * random_number() * experts);
    for (int i = 0; i < 4; i++)
        cells_send(&a[i]);
    LAUNCH_CELLS(sett_moe_permute, &o, &a[0], &a[1], &a[2], &a[3]);
    for (int i = 1; i < 4; i++)
        cells_fetch(&a[i]);
    int at = 0;
    for (int e = 0; e < experts; e++) {
        ck_assert_int_eq(ints(&a[1])[e], at);
        for (int i = 0; i < n; i++)
            if (ints(&a[0])[i] == e) {
                ck_assert_int_eq(ints(&a[2])[at], i / top_k);
                ck_assert_int_eq(ints(&a[3])[i], at++);
            }
        for (; at % align; at++)
            ck_assert_int_eq(ints(&a[2])[at], -1);
    }
    ck_assert_int_eq(ints(&a[1])[experts], at);
    for (; at < rows; at++)
        ck_assert_int_eq(ints(&a[2])[at], -1);
    for (int i = 0; i < n; i++)
        if (ints(&a[0])[i] < 0 || ints(&a[0])[i] >= experts)
            ck_assert_int_eq(ints(&a[3])[i], -1);
    cells_drop(4, a);
}
END_TEST

/* ---- the way back -------------------------------------------------------------------------------------------------- */
START_TEST(unpermute)
{
    static const int cols[] = {8, 264, 4096}, top_ks[] = {1, 8, 9};
    enum { ROWS = 21, TOKENS = 6 };
    const sett_dtype t = floats[_i % FLOATS];
    const int n = cols[_i / FLOATS], top_k = top_ks[_i / FLOATS];
    for (int residual = 0; residual < 2; residual++) {
        const sett_moe_unpermute_options o = {.size = sizeof o, .dtype = t, .cols = n, .top_k = top_k, .residual = residual, .tuning.threads = residual ? 48 : 0};
        cells a[5] = {CELLS(t, ROWS, n), CELLS(SETT_F32, TOKENS, top_k), CELLS(SETT_I32, TOKENS, top_k), CELLS(t, TOKENS, n), CELLS(t, TOKENS, n)};
        for (size_t i = 0; i < a[0].n; i++)
            put(t, a[0].host, i, uniform(&r.seed));
        for (size_t i = 0; i < a[3].n; i++)
            put(t, a[3].host, i, uniform(&r.seed));
        for (size_t i = 0; i < a[1].n; i++)
            reals(&a[1])[i] = (float)random_number(), ints(&a[2])[i] = i % 5 == 4 ? (i % 2 ? -1 : ROWS) : (int)(random_number() * ROWS);
        for (int i = 0; i < 5; i++)
            cells_send(&a[i]);
        if (residual)
            LAUNCH_CELLS(sett_moe_unpermute, &o, &a[0], &a[1], &a[2], &a[3], &a[4]);
        else
            LAUNCH_CELLS(sett_moe_unpermute, &o, &a[0], &a[1], &a[2], &a[4]);
        cells_fetch(&a[4]);
        for (size_t i = 0; i < a[4].n; i++) {
            float sum = residual ? (float)cell(&a[3], i) : 0;
            for (size_t j = i / (size_t)n * (size_t)top_k; j < (i / (size_t)n + 1) * (size_t)top_k; j++)
                if (ints(&a[2])[j] >= 0 && ints(&a[2])[j] < ROWS)
                    sum = fmaf((float)cell(&a[0], (size_t)ints(&a[2])[j] * (size_t)n + i % (size_t)n), reals(&a[1])[j], sum);
            uint8_t want[4];
            put(t, want, 0, sum);
            ck_assert_msg(cell(&a[4], i) == get(t, want, 0), "element %zu: %.9g, should be %.9g", i, cell(&a[4], i), get(t, want, 0));
        }
        cells_drop(5, a);
    }
}
END_TEST

/* ---- what cannot be --------------------------------------------------------------------------------------------------- */
#define NOT(body, text, ...) \
    do { \
        sett_##body##_options o_ = {.size = sizeof o_, __VA_ARGS__}; \
        check_not_chosen(sett_##body, #body, &o_, NULL, text); \
    } while (0)
START_TEST(refused)
{
    NOT(moe_topk, ".dtype is i8: f16, bf16 or f32", .dtype = SETT_I8, .experts = 8, .top_k = 2);
    NOT(moe_topk, ".experts is 513: from 1 to 512", .dtype = SETT_F32, .experts = 513, .top_k = 2);
    NOT(moe_topk, ".top_k is 9: from 1 to 8", .dtype = SETT_F32, .experts = 8, .top_k = 9);
    NOT(moe_topk, ".sigmoid is 2: from 0 to 1", .dtype = SETT_F32, .experts = 8, .top_k = 2, .sigmoid = 2);
    NOT(moe_topk, ".bias is 2: from 0 to 1", .dtype = SETT_F32, .experts = 8, .top_k = 2, .bias = 2);
    NOT(moe_topk, ".renormalise is 2: from 0 to 1", .dtype = SETT_F32, .experts = 8, .top_k = 2, .renormalise = 2);
    NOT(moe_topk, ".groups is 3: 0, 1, 2, 4, 8, 16 or 32", .dtype = SETT_F32, .experts = 96, .top_k = 2, .groups = 3, .top_groups = 1);
    NOT(moe_topk, ".experts is 40: with .groups a multiple of 32", .dtype = SETT_F32, .experts = 40, .top_k = 2, .groups = 8, .top_groups = 1);
    NOT(moe_topk, ".top_groups is 0: from 1 to 8", .dtype = SETT_F32, .experts = 64, .top_k = 2, .groups = 8);
    NOT(moe_topk, ".top_groups is 1: from 0 to 0", .dtype = SETT_F32, .experts = 64, .top_k = 2, .top_groups = 1);
    NOT(moe_topk, ".top_k is 9: 1 groups have 8 experts", .dtype = SETT_F32, .experts = 64, .top_k = 9, .groups = 8, .top_groups = 1);
    NOT(moe_topk, ".warps is 33: from 1 to 32", .dtype = SETT_F32, .experts = 64, .top_k = 9, .tuning.warps = 33);
    NOT(moe_permute, ".dtype is f32: it must be 0", .dtype = SETT_F32, .experts = 64, .top_k = 8);
    NOT(moe_permute, ".experts is 0: from 1 to 512", .top_k = 8);
    NOT(moe_permute, ".top_k is 33: from 1 to 32", .experts = 8, .top_k = 33);
    NOT(moe_permute, ".align is 1025: from 1 to 1024", .experts = 8, .top_k = 3, .align = 1025);
    NOT(moe_permute, ".threads is 16: from 32 to 1024", .experts = 8, .top_k = 3, .tuning.threads = 16);
    NOT(moe_unpermute, ".dtype is i8: f16, bf16 or f32", .dtype = SETT_I8, .cols = 8, .top_k = 2);
    NOT(moe_unpermute, ".cols is 12: a multiple of 8, 16 bytes", .dtype = SETT_F16, .cols = 12, .top_k = 2);
    NOT(moe_unpermute, ".top_k is 0: from 1 to 32", .dtype = SETT_F16, .cols = 8);
    NOT(moe_unpermute, ".residual is 2: from 0 to 1", .dtype = SETT_F16, .cols = 8, .top_k = 1, .residual = 2);
    NOT(moe_unpermute, ".threads is 1025: from 1 to 1024", .dtype = SETT_F16, .cols = 8, .top_k = 1, .tuning.threads = 1025);
}
END_TEST

/* The shapes of models assemble, have no local memory and spill nothing. */
START_TEST(targets)
{
    static const char *const target[] = {"sm_80", "sm_90a", "sm_120a"};
    const sett_moe_topk_options top = {.size = sizeof top, .dtype = SETT_BF16, .experts = 256, .top_k = 8, .sigmoid = 1, .bias = 1, .groups = 8, .top_groups = 4, .renormalise = 1};
    const sett_moe_permute_options order = {.size = sizeof order, .experts = 128, .top_k = 8};
    const sett_moe_unpermute_options back = {.size = sizeof back, .dtype = SETT_BF16, .cols = 4096, .top_k = 8};
    ck_assert_int_le(check_target(r.e, sett_moe_topk, &top, target[_i], "redux.sync"), 0);
    ck_assert_int_le(check_target(r.e, sett_moe_permute, &order, target[_i], "match.any"), 0);
    ck_assert_int_le(check_target(r.e, sett_moe_unpermute, &back, target[_i], "fma.rn.f32"), 0);
}
END_TEST

Suite *moe_suite(void)
{
    Suite *s = suite_create("moe");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, topk, 0, FLOATS * ROUTERS);
    tcase_add_loop_test(t, permute, 0, (int)(sizeof orders / sizeof *orders));
    tcase_add_loop_test(t, unpermute, 0, FLOATS * 3);
    tcase_add_test(t, refused);
    tcase_add_loop_test(t, targets, 0, 3);
    suite_add_tcase(s, t);
    return s;
}
