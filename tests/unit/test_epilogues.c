/* SPDX-License-Identifier: Apache-2.0 */
/* Epilogues of products by name: each term alone and random compositions, on every kernel, against double precision; on the CPU engine or,
 * with SETT_TEST_GPU=1, on GPU 0. Extents end within tiles. */
#include "tests/rig/epilogue_rig.h"

/* ---- each alone ------------------------------------------------------------------------------------------------- */
#define IN(...) .dtype = SETT_BF16, .c = SETT_BF16, .t = {__VA_ARGS__}
static const problem alone[] = {{IN(.alpha = 1)}, {IN(.scale = 1)}, {IN(.bias = 1)}, {IN(.softcap = 1)}, {IN(.aux = 1)}, {IN(.activation = SETT_ACTIVATION_RELU)},
    {IN(.activation = SETT_ACTIVATION_GELU)}, {IN(.activation = SETT_ACTIVATION_GELU_TANH)}, {IN(.activation = SETT_ACTIVATION_SILU)}, {IN(.beta = 1), .residual = 1}, {IN(.clamp = 1)},
    {IN(.amax = 1)}, {IN(.amax = 2)}, {IN(.row_sum = 1)}, {IN(.column_sum = 1)}, {IN(.row_max = 1)}, {IN(.column_max = 1)}, {IN(.row_max = 1, .column_max = 1, .clamp = 1), .residual = 1},
    {.dtype = SETT_BF16, .c = SETT_F8E4M3FN, .t = {.quantise = 1, .column_sum = 1, .row_max = 1}}, {IN(.row_sum = 1, .column_max = 1), .swiglu = 1}, {.dtype = SETT_BF16, .c = SETT_F8E4M3FN, .t = {.quantise = 1}}, {.dtype = SETT_F16, .c = SETT_F8E5M2, .t = {.quantise = 1, .aux = 1}},
    {.dtype = SETT_I8, .c = SETT_I8, .t = {.quantise = 1, .scale = 1, .bias = 1}}, {.dtype = SETT_F16, .c = SETT_F32, .t = {.activation = SETT_ACTIVATION_GELU}},
    {.dtype = SETT_F16, .c = SETT_F16, .t = {.softcap = 1}}, {.dtype = SETT_F16, .c = SETT_F16, .t = {.activation = SETT_ACTIVATION_GELU}},
    {.dtype = SETT_F16, .c = SETT_F32, .t = {.activation = SETT_ACTIVATION_GELU_TANH}}, {IN(.alpha = 1, .scale = 1, .amax = 2), .swiglu = 1}, {.dtype = SETT_F8E4M3FN, .c = SETT_BF16, .scaled = 1, .t = {.scale = 1, .bias = 1}}};

START_TEST(each_alone)
{
    problem p = alone[_i / KERNELS];
    p.m = 73, p.n = 96, p.k = 40, p.l = 1; /* of other than multiples of 5 rows or columns the sums are not 0 */
    check_problem(&p, _i % KERNELS);
}
END_TEST

/* Of sett_gemm_mma alone: multiply-adds, and batches, which have vectors of their own. */
START_TEST(only_mma)
{
    static const problem of_mma[] = {{.dtype = SETT_F32, .c = SETT_F32, .fma = 1, .t = {.bias = 1, .softcap = 1, .aux = 1, .activation = SETT_ACTIVATION_GELU, .amax = 2}},
        {.dtype = SETT_F32, .c = SETT_F32, .fma = 1, .t = {.alpha = 1, .clamp = 1, .amax = 1}},
        {.dtype = SETT_F32, .c = SETT_F32, .fma = 1, .t = {.row_sum = 1, .column_sum = 1, .row_max = 1, .column_max = 1}},
        {.dtype = SETT_F16, .c = SETT_F32, .l = 3, .t = {.bias = 1, .row_sum = 1, .column_sum = 1, .row_max = 1, .column_max = 1}},
        {.dtype = SETT_F16, .c = SETT_F16, .l = 3, .scaled = 1, .residual = 1, .t = {.bias = 1, .aux = 1, .beta = 1, .amax = 2}},
        {.dtype = SETT_BF16, .c = SETT_F8E4M3FN, .l = 2, .t = {.scale = 1, .bias = 1, .quantise = 1, .amax = 1, .aux = 1}}};
    problem p = of_mma[_i];
    p.m = 47, p.n = 96, p.k = 40, p.l = p.l ? p.l : 1;
    check_problem(&p, MMA);
}
END_TEST

/* Tiles of sett_gemm_wgmma that are not turned, whose lanes have other rows and columns. */
START_TEST(upright)
{
    static const problem of[] = {{.t = {.amax = 2, .bias = 1, .aux = 1}}, {.t = {.row_sum = 1, .column_sum = 1}}, {.t = {.row_max = 1, .column_max = 1, .alpha = 1}},
        {.swiglu = 1, .t = {.row_sum = 1, .column_sum = 1, .row_max = 1, .column_max = 1, .amax = 1}}};
    problem p = of[_i / 2];
    p.dtype = SETT_F8E4M3FN, p.c = _i % 2 ? SETT_BF16 : SETT_F32, p.blocks = 1, p.m = 151, p.n = 144, p.k = 48, p.l = 1;
    check_problem(&p, WGMMA);
}
END_TEST

/* ---- compositions ------------------------------------------------------------------------------------------------ */
static uint64_t random_state;
static int below(int n)
{
    return (int)((uniform(&random_state) + 1) / 2 * n);
}

static problem random_problem(void)
{
    static const sett_dtype types[] = {SETT_F16, SETT_BF16, SETT_F8E4M3FN, SETT_F8E5M2, SETT_I8}, results[] = {SETT_F32, SETT_F16, SETT_BF16, SETT_F8E4M3FN, SETT_F8E5M2, SETT_I8};
    problem p = {.dtype = types[below(5)], .c = results[below(6)], .residual = below(2), .m = 1 + (size_t)below(120), .n = 16 * (size_t)(1 + below(8)), .k = 1 + (size_t)below(60), .l = 1};
    p.swiglu = p.dtype != SETT_I8 && !below(5), p.scaled = !p.swiglu && below(2);
    p.t = (sett_gemm_terms){.alpha = below(2), .scale = below(2), .beta = p.residual && below(2), .clamp = below(2), .amax = below(3),
        .row_sum = below(3) == 0, .column_sum = below(3) == 0, .row_max = below(3) == 0, .column_max = below(3) == 0};
    if (!p.swiglu)
        p.t.bias = below(2), p.t.softcap = below(2), p.t.aux = below(2), p.t.activation = (sett_activation)below(5);
    p.t.quantise = p.c == SETT_I8 || bytes_of(p.c) > 1 ? p.c == SETT_I8 : below(3);
    if (p.t.quantise == 2)
        p.n += 128, p.tile.bn = p.swiglu ? 256 : 128;
    return p;
}

START_TEST(compositions)
{
    random_state = 0x9e3779b97f4a7c15u * (uint64_t)(_i + 1);
    const problem p = random_problem();
    for (int k = 0; k < KERNELS; k++)
        if ((r.stream.device == SETT_CPU || k == _i % KERNELS) && (k != FEW || p.t.quantise < 2)) /* a GPU's kernels are assembled */
            check_problem(&p, k);
}
END_TEST

/* Where all are below 0; what was there and is above them stays, and sums are added to. */
START_TEST(all_negative)
{
    problem p = {.dtype = SETT_BF16, .c = SETT_F32, .residual = 1, .m = 70, .n = 80, .k = 16, .l = 1, .t = {.row_sum = 1, .column_sum = 1, .row_max = 1, .column_max = 1}};
    tensor x[OPERANDS];
    sett_kernel *k = kernel_of(&p, _i);
    if (!k)
        return;
    make_operands(&p, x);
    for (size_t i = 0; i < p.m * p.n; i++)
        set_element(SETT_F32, at_of(&x[R], i / p.n, i % p.n, 0), -40.0 - (double)(i * 7 % 33));
    set_element(SETT_F32, at_of(&x[ROWMAX], 7, 0, 0), -1), set_element(SETT_F32, at_of(&x[COLMAX], 9, 0, 0), 2), set_element(SETT_F32, at_of(&x[ROWSUM], 0, 0, 0), 1e6);
    for (int i = 0; i < OPERANDS; i++)
        send(&x[i]);
    const args a = args_of(&p, x);
    launch(k, &a);
    receive(&x[ROWMAX]), receive(&x[COLMAX]), receive(&x[ROWSUM]);
    ck_assert(value_at(&x[ROWMAX], 7, 0, 0) == -1 && value_at(&x[COLMAX], 9, 0, 0) == 2 && value_at(&x[ROWMAX], 8, 0, 0) < -30);
    ck_assert(value_at(&x[ROWSUM], 0, 0, 0) > 1e6 - 80 * 73 && value_at(&x[ROWSUM], 0, 0, 0) < 1e6 - 80 * 39);
    for (int i = 0; i < 2; i++)
        set_element(SETT_F32, at_of(&x[i ? COLMAX : ROWMAX], 7 + 2 * (size_t)i, 0, 0), -1e9), send(&x[i ? COLMAX : ROWMAX]);
    k = kernel_of(&p, _i);
    launch(k, &a); /* the same once more */
    check_along(&p, x, ROWMAX), check_along(&p, x, COLMAX);
    drop_tensors(OPERANDS, x);
}
END_TEST

/* ---- numbers that are none --------------------------------------------------------------------------------------- */
/* A NaN of R comes out, and into the greatest, where it is above what was there; infinities are what they are. */
START_TEST(no_numbers)
{
    const problem p = {.dtype = SETT_BF16, .c = SETT_F32, .residual = 1, .m = 70, .n = 80, .k = 16, .l = 1, .t = {.activation = SETT_ACTIVATION_RELU, .clamp = _i / KERNELS, .amax = 2, .row_sum = 1, .column_sum = 1, .row_max = 1, .column_max = 1}};
    const float nan_of = NAN, infinite = -INFINITY, before = 1e6f;
    tensor x[OPERANDS];
    sett_kernel *k = kernel_of(&p, _i % KERNELS);
    if (!k)
        return;
    make_operands(&p, x);
    memcpy(at_of(&x[R], 69, 79, 0), &nan_of, 4), memcpy(at_of(&x[R], 3, 5, 0), &infinite, 4), memcpy(at_of(&x[AMAX], 7, 0, 0), &before, 4);
    send(&x[R]), send(&x[AMAX]);
    const args a = args_of(&p, x);
    launch(k, &a);
    receive(&x[C]), receive(&x[AMAX]);
    ck_assert(isnan(value_at(&x[C], 69, 79, 0)) && isnan(value_at(&x[AMAX], 69, 0, 0)));
    ck_assert_double_eq(value_at(&x[C], 3, 5, 0), p.t.clamp ? low : -INFINITY);
    ck_assert(p.t.clamp ? value_at(&x[AMAX], 3, 0, 0) <= high : isinf(value_at(&x[AMAX], 3, 0, 0)));
    ck_assert_double_eq(value_at(&x[AMAX], 7, 0, 0), 1e6);
    ck_assert(isfinite(value_at(&x[AMAX], 68, 0, 0)));
    for (int i = ROWSUM; i <= COLMAX; i++) {
        const bool by_row = i == ROWSUM || i == ROWMAX;
        receive(&x[i]);
        ck_assert(isnan(value_at(&x[i], by_row ? 69 : 79, 0, 0)) && isfinite(value_at(&x[i], 68, 0, 0)));
        ck_assert(isfinite(value_at(&x[i], by_row ? 3 : 5, 0, 0)) == (i >= ROWMAX || p.t.clamp));
    }
    drop_tensors(OPERANDS, x);
}
END_TEST

/* Activations of great numbers: nothing overflows on the way. */
START_TEST(great_numbers)
{
    const problem p = {.dtype = SETT_BF16, .c = _i / KERNELS / 4 ? SETT_F32 : SETT_BF16, .m = 9, .n = 16, .k = 8, .l = 1, .t = {.bias = 1, .activation = (sett_activation)(1 + _i / KERNELS % 4)}};
    static const double great[] = {1e30, -1e30, 3e38, -3e38, -INFINITY, -30, 20000, -20000, INFINITY};
    tensor x[OPERANDS];
    sett_kernel *k = kernel_of(&p, _i % KERNELS);
    if (!k)
        return;
    make_operands(&p, x);
    for (size_t i = 0; i < 9; i++) {
        const float f = (float)great[i];
        memcpy(at_of(&x[BIAS], i, 0, 0), (const char *)&f + 4 - bytes_of(p.c), bytes_of(p.c)); /* bf16 is the upper half */
    }
    send(&x[BIAS]);
    const args a = args_of(&p, x);
    launch(k, &a);
    receive(&x[C]);
    for (size_t i = 0; i < 9; i++) {
        const double got = value_at(&x[C], 4, i, 0), is = value_at(&x[BIAS], i, 0, 0) + sum_of(x, p.k, 4, i, 0), want = is < 0 ? 0 : is;
        ck_assert_msg(got == want || fabs(got - want) <= fabs(want) * 0x1p-8 + 1e-9, "%g gives %g", is, got);
    }
    drop_tensors(OPERANDS, x);
}
END_TEST

/* ---- with a function of the caller's ------------------------------------------------------------------------------ */
/* It stands behind the activation, and before R. */
START_TEST(a_function)
{
    const problem p = {.dtype = SETT_BF16, .c = SETT_F32, .residual = 1, .m = 50, .n = 80, .k = 24, .l = 1, .t = {.bias = 1, .aux = 1, .activation = SETT_ACTIVATION_RELU, .beta = 1}};
    tensor x[OPERANDS];
    sett_kernel *k = kernel_by(&p, _i, kernels[_i].halved);
    if (!k)
        return;
    make_operands(&p, x);
    const args a = args_of(&p, x);
    launch(k, &a);
    receive(&x[C]);
    for (size_t i = 0; i < p.m * p.n; i++) {
        const size_t row = i % p.m, col = i / p.m;
        const double in = sum_of(x, p.k, row, col, 0) + value_at(&x[BIAS], col, 0, 0);
        ck_assert_double_eq(value_at(&x[C], row, col, 0), fmax(in, 0) / 2 + beta * value_at(&x[R], row, col, 0)); /* all are exact */
    }
    drop_tensors(OPERANDS, x);
}
END_TEST

/* ---- shared tiles --------------------------------------------------------------------------------------------------- */
/* With .stream_k each element is told once, by who stores it; the workspace stands behind the terms. */
START_TEST(streamed)
{
    enum { LEFT = 256, PARTIAL = 1 << 16, WORKERS = 5, STREAMED = 3 };
    problem p = {.dtype = SETT_BF16, .c = SETT_BF16, .m = 70, .n = 96, .k = 300, .l = 1, .t = {.alpha = 1, .bias = 1, .aux = 1, .activation = SETT_ACTIVATION_SILU, .amax = 1 + _i}};
    sett_gemm_wgmma_options o = wgmma_options(&p);
    o.stream_k = 1, o.tuning.clusters = 0;
    sett_kernel *k = kernel_of(&p, WGMMA);
    if (!k)
        return;
    sett_kernel_release(k);
    k = compiled(sett_gemm_wgmma, &o);
    tensor x[OPERANDS], partial = make_tensor(SETT_F32, PARTIAL, 1, 1, true), left = make_tensor(SETT_I32, LEFT, 1, 1, true);
    make_operands(&p, x);
    memset(left.host, 0, size_of(&left)), send(&left);
    left.buf.dtype = SETT_U32;
    args a = args_of(&p, x);
    add(&a, &partial, 1), add(&a, &left, 1);
    a.at[a.n++] = (sett_launch_arg){.kind = SETT_LAUNCH_ARG_INT, .u = {.i = WORKERS}};
    a.at[a.n++] = (sett_launch_arg){.kind = SETT_LAUNCH_ARG_INT, .u = {.i = STREAMED}};
    launch(k, &a);
    check_results(&p, x);
    drop_tensors(OPERANDS, x), drop_tensors(1, &partial), drop_tensors(1, &left);
}
END_TEST

/* ---- what is refused ---------------------------------------------------------------------------------------------------- */
static const struct {
    sett_gemm_mma_options o;
    const char *why;
} bad[] = {
    {{.dtype = SETT_F16, .terms.alpha = 2}, ".alpha is 2: from 0 to 1"},
    {{.dtype = SETT_F16, .terms.scale = -1}, ".scale is -1: from 0 to 1"},
    {{.dtype = SETT_F16, .terms.bias = 2}, ".bias is 2: from 0 to 1"},
    {{.dtype = SETT_F16, .terms.softcap = 2}, ".softcap is 2: from 0 to 1"},
    {{.dtype = SETT_F16, .terms.aux = 2}, ".aux is 2: from 0 to 1"},
    {{.dtype = SETT_F16, .terms.activation = (sett_activation)5}, ".activation is 5: none, relu, gelu, gelu_tanh or silu (sett_activation)"},
    {{.dtype = SETT_F16, .residual = 1, .terms.beta = 2}, ".beta is 2: from 0 to 1"},
    {{.dtype = SETT_F16, .terms.clamp = 2}, ".clamp is 2: from 0 to 1"},
    {{.dtype = SETT_F16, .terms.quantise = 3}, ".quantise is 3: from 0 to 2"},
    {{.dtype = SETT_F16, .terms.quantise = 2}, ".quantise is 2: .c is f8E4M3FN or f8E5M2 then, and not f16"},
    {{.dtype = SETT_F16, .c = SETT_I8, .terms.quantise = 2}, ".quantise is 2: .c is f8E4M3FN or f8E5M2 then, and not i8"},
    {{.dtype = SETT_F16, .terms.amax = 3}, ".amax is 3: from 0 to 2"},
    {{.dtype = SETT_F16, .terms.row_sum = 2}, ".row_sum is 2: from 0 to 1"},
    {{.dtype = SETT_F16, .terms.column_sum = -1}, ".column_sum is -1: from 0 to 1"},
    {{.dtype = SETT_F16, .terms.row_max = 2}, ".row_max is 2: from 0 to 1"},
    {{.dtype = SETT_F16, .terms.column_max = 2}, ".column_max is 2: from 0 to 1"},
    {{.dtype = SETT_F16, .terms.beta = 1}, ".beta is 1: .residual is 1 then, which is what it multiplies"},
    {{.dtype = SETT_F16, .terms.quantise = 1}, ".quantise is 1: .c is f8E4M3FN, f8E5M2 or i8 then, and not f16"},
    {{.dtype = SETT_F16, .swiglu = 1, .terms.bias = 1}, ".swiglu is 1: then .bias is 0"},
    {{.dtype = SETT_F16, .swiglu = 1, .terms.softcap = 1}, ".swiglu is 1: then .softcap is 0"},
    {{.dtype = SETT_F16, .swiglu = 1, .terms.aux = 1}, ".swiglu is 1: then .aux is 0"},
    {{.dtype = SETT_F16, .swiglu = 1, .terms.activation = SETT_ACTIVATION_GELU}, ".swiglu is 1: then .activation is 0"},
};

START_TEST(refused)
{
    sett_gemm_mma_options m = bad[_i].o;
    sett_gemm_wgmma_options w = {.size = sizeof w, .dtype = m.dtype, .c = m.c, .swiglu = m.swiglu, .residual = m.residual, .terms = m.terms};
    sett_gemm_few_rows_options f = {.size = sizeof f, .dtype = m.dtype, .c = m.c, .swiglu = m.swiglu, .residual = m.residual, .terms = m.terms};
    void *const all[] = {&m, &w, &f};
    char want[200];
    m.size = sizeof m;
    for (int i = 0; i < KERNELS; i++) {
        snprintf(want, sizeof want, "sett_kernels_choose: %s: %s", kernels[i].name, bad[_i].why);
        check_wrong(kernels[i].body, all[i], want);
    }
}
END_TEST

/* Sums of integers that stay integers have none of these; i8 comes of floats by .quantise alone; with terms i8 gives a float. */
START_TEST(integers)
{
    sett_gemm_mma_options o = {.size = sizeof o, .dtype = SETT_I8, .c = SETT_I32, .terms.bias = 1}, small = {.size = sizeof small, .dtype = SETT_F16, .c = SETT_I8, .terms.bias = 1};
    sett_gemm_wgmma_options w = {.size = sizeof w, .dtype = SETT_F16, .c = SETT_I8};
    sett_gemm_few_rows_options f = {.size = sizeof f, .dtype = SETT_F16, .c = SETT_I8};
    check_wrong(sett_gemm_mma, &o, "sett_kernels_choose: gemm_mma: .c is i32: with .bias it is a float, or i8");
    o.terms.bias = 0, o.terms.column_sum = 1;
    check_wrong(sett_gemm_mma, &o, "sett_kernels_choose: gemm_mma: .c is i32: with .column_sum it is a float, or i8");
    o.terms.column_sum = 0, o.terms.amax = 1;
    check_wrong(sett_gemm_mma, &o, "sett_kernels_choose: gemm_mma: .c is i32: with .amax it is a float, or i8");
    check_wrong(sett_gemm_mma, &small, "sett_kernels_choose: gemm_mma: .c is i8: f32, f16, bf16, f8E4M3FN or f8E5M2; i8 with .quantise");
    check_wrong(sett_gemm_wgmma, &w, "sett_kernels_choose: gemm_wgmma: .c is i8: f32, f16, bf16, f8E4M3FN or f8E5M2; i8 with .quantise");
    check_wrong(sett_gemm_few_rows, &f, "sett_kernels_choose: gemm_few_rows: .c is i8: f32, f16, bf16, f8E4M3FN or f8E5M2; i8 with .quantise");
    o.c = 0;
    ck_assert_msg(!sett_kernels_choose(sett_gemm_mma, &o, NULL, &err), "%s", err.text);
    ck_assert_int_eq(o.c, SETT_BF16);
}
END_TEST

Suite *epilogues_suite(void)
{
    Suite *s = suite_create("epilogues");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, each_alone, 0, KERNELS * (int)(sizeof alone / sizeof *alone));
    tcase_add_loop_test(t, only_mma, 0, 6);
    tcase_add_loop_test(t, upright, 0, 8);
    tcase_add_loop_test(t, all_negative, 0, KERNELS);
    tcase_add_loop_test(t, compositions, 0, 30);
    tcase_add_loop_test(t, no_numbers, 0, 2 * KERNELS);
    tcase_add_loop_test(t, great_numbers, 0, 8 * KERNELS);
    tcase_add_loop_test(t, a_function, 0, KERNELS);
    tcase_add_loop_test(t, streamed, 0, 2);
    tcase_add_loop_test(t, refused, 0, sizeof bad / sizeof *bad);
    tcase_add_test(t, integers);
    suite_add_tcase(s, t);
    return s;
}
