/* SPDX-License-Identifier: Apache-2.0 */
/* Activations of products against the truth, over all numbers of 16 bits and many of Float32; on the CPU engine or, with SETT_TEST_GPU=1, on
 * GPU 0. They have the same bits on both. */
#include "kernels/activation.h"
#include "tests/rig/kernels_rig.h"

#define OF(name_, d_) \
    static sett_val *name_##_##d_(sett_val *x) \
    { \
        return sett__##name_(x, SETT_##d_); \
    }
OF(gelu, F32)
OF(gelu, F16)
OF(gelu, BF16)
OF(gelu_tanh, F32)
OF(gelu_tanh, F16)
OF(gelu_tanh, F8E4M3FN)

/* ---- the truth ------------------------------------------------------------------------------------------------------- */
static long double true_silu(long double x)
{
    return x == -INFINITY ? 0 : x / (1 + expl(-x));
}

static long double true_gelu(long double x)
{
    return x == -INFINITY ? 0 : x / 2 * erfcl(-x / sqrtl(2));
}

/* (1 + tanh u) / 2 = 1 / (1 + exp(-2 u)) */
static long double true_gelu_tanh(long double x)
{
    const long double twice = 2 * sqrtl(2 / acosl(-1)) * (x + 0.044715L * x * x * x);
    return x == -INFINITY ? 0 : x / (1 + expl(-twice));
}

/* How far it may be from the truth. */
static long double near_silu(long double x, long double want)
{
    return x < -87 ? 0x1p-119L : fabsl(want) * (x < 0 ? 5 + fabsl(x) / 2 : 5) * 0x1p-24L + 0x1p-149L;
}

static long double near_f32(long double x, long double want)
{
    (void)want;
    return fabsl(x) * 5 * 0x1p-24L + 0x1p-149L;
}

static long double near_tanh_f32(long double x, long double want)
{
    (void)want;
    return fabsl(x) * 0x1p-22L + 0x1p-149L;
}

static long double near_f16(long double x, long double want)
{
    (void)want;
    return fabsl(x) * 0x1p-16L + 0x1p-149L;
}

static long double near_8_bits(long double x, long double want)
{
    (void)want;
    return fabsl(x) * 0x1p-13L + 0x1p-149L;
}

static long double near_tanh(long double x, long double want)
{
    (void)x;
    return fabsl(want) * 0x1p-20L + 0x1p-149L;
}

static const struct function {
    const char *name;
    sett_val *(*of)(sett_val *);
    long double (*truth)(long double), (*off)(long double x, long double want);
} functions[] = {{"silu", sett__silu, true_silu, near_silu}, {"gelu of f32", gelu_F32, true_gelu, near_f32}, {"gelu of f16", gelu_F16, true_gelu, near_f16}, {"gelu of bf16", gelu_BF16, true_gelu, near_8_bits},
    {"gelu_tanh of f32", gelu_tanh_F32, true_gelu_tanh, near_tanh_f32}, {"gelu_tanh of f16", gelu_tanh_F16, true_gelu_tanh, near_f16}, {"gelu_tanh of e4m3", gelu_tanh_F8E4M3FN, true_gelu_tanh, near_8_bits},
    {"quick tanh", sett__quick_tanh, tanhl, near_tanh}};
enum { FUNCTIONS = sizeof functions / sizeof *functions, THREADS = 128, EACH = 8, WHOLE = THREADS * EACH };

/* ---- kernels --------------------------------------------------------------------------------------------------------- */
/* Y[i] = f(X[i]). */
static void body_of(sett_build *b, const void *user)
{
    const struct function *f = &functions[*(const int *)user];
    sett_val *N = sett_sym(b, "N", .div = WHOLE);
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N), .align = 16), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N), .align = 16);
    sett_block(b, THREADS);
    sett_grid(b, sett_floordiv(N, WHOLE));
    sett_val *mine = sett_add(sett_mul(sett_block_idx(b, 0), THREADS), sett_thread_idx(b, 0));
    sett_store(sett_local_tile(Y, T1(EACH), T1(mine)), f->of(sett_load(sett_local_tile(X, T1(EACH), T1(mine)))));
}

static sett_kernel *kernel_of(int function, const char *target)
{
    const sett_compile_options o = {.size = sizeof o, .name = "activation", .user = &function, .user_size = sizeof function, .target = target};
    sett_kernel *k = NULL;
    ck_assert_msg(!sett_compile(r.e, body_of, &o, &k, &err), "%s", err.text);
    return k;
}

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* All numbers of f16 and bf16, every 4099th of Float32, and what lies at edges; then zeros. */
enum { STEP = 4099, HALVES = 1 << 16 };
static const float special[] = {0, -0.0f, INFINITY, -INFINITY, NAN, FLT_MAX, -FLT_MAX, FLT_MIN, -FLT_MIN, 0x1p-149f, -0x1p-149f, -87, -87.5f, -88, -88.5f, -104, 88, 89, 13, -13, -12.95f, -12.99f, -13.5f,
    3.75f, -3.75f, -4.25f, -4.3125f, 10.03f, -10.03f, -10, -10.05f, -16, -15.99f, -5.75f, 1e19f, -1e19f, 1e13f, -1e13f};
static size_t all_of(float *to)
{
    size_t n = 0;
    for (uint32_t i = 0; i < HALVES; i++) {
        const uint16_t half = (uint16_t)i;
        to[n++] = (float)get(SETT_F16, &half, 0), to[n++] = float_of(i << 16);
    }
    for (uint64_t i = 0; i <= UINT32_MAX; i += STEP)
        to[n++] = float_of((uint32_t)i);
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        to[n++] = special[i];
    while (n % WHOLE)
        to[n++] = 0;
    return n;
}
enum { ROOM = 2 * HALVES + (int)(UINT32_MAX / STEP) + 1 + (int)(sizeof special / sizeof *special) + WHOLE };

/* Y of X by the kernel, on a device. */
static void apply(sett_kernel *k, int on, const float *x, float *y, size_t n)
{
    const sett_stream stream = {.device = on};
    void *of[2] = {sett_alloc(r.e, on, n * sizeof *x), sett_alloc(r.e, on, n * sizeof *x)};
    const int64_t shape[] = {(int64_t)n};
    const sett_buf X = sett_buf_nd(of[0], SETT_F32, 1, shape), Y = sett_buf_nd(of[1], SETT_F32, 1, shape);
    ck_assert(of[0] && of[1] && !sett_memcpy(r.e, stream, of[0], x, n * sizeof *x));
    ck_assert_msg(!sett_launch(k, stream, &err, &X, &Y), "%s", err.text);
    ck_assert(!sett_memcpy(r.e, stream, y, of[1], n * sizeof *y) && !sett_sync_error(r.e, stream, &err));
    sett_free(r.e, on, of[0]), sett_free(r.e, on, of[1]);
}

/* ---- tests ----------------------------------------------------------------------------------------------------------- */
START_TEST(against_the_truth)
{
    const struct function *f = &functions[_i];
    float *x = malloc(ROOM * sizeof *x), *y = malloc(ROOM * sizeof *y);
    ck_assert(x && y);
    const size_t n = all_of(x);
    sett_kernel *k = kernel_of(_i, NULL);
    apply(k, r.stream.device, x, y, n);
    for (size_t i = 0; i < n; i++) {
        const long double want = f->truth((long double)x[i]), got = (long double)y[i];
        const bool right = isnan(x[i]) ? isnan(y[i]) : got == want || fabsl(got - want) <= f->off((long double)x[i], want);
        ck_assert_msg(right, "%s of %.9g is %.9g, not %.9Lg", f->name, (double)x[i], (double)y[i], want);
    }
    sett_kernel_release(k);
    free(x), free(y);
}
END_TEST

/* Of a GPU: the CPU engine's. */
START_TEST(same_bits)
{
    float *x = malloc(ROOM * sizeof *x), *y = malloc(ROOM * sizeof *y), *on_cpu = malloc(ROOM * sizeof *y);
    ck_assert(x && y && on_cpu);
    const size_t n = r.stream.device == SETT_CPU ? 0 : all_of(x);
    sett_kernel *k[2] = {NULL, NULL};
    if (n) {
        k[0] = kernel_of(_i, NULL), k[1] = kernel_of(_i, "cpu");
        apply(k[0], r.stream.device, x, y, n), apply(k[1], SETT_CPU, x, on_cpu, n);
    }
    for (size_t i = 0; i < n; i++)
        ck_assert_msg((isnan(y[i]) && isnan(on_cpu[i])) || !memcmp(&y[i], &on_cpu[i], sizeof *y), "%s of %.9g is %.9g, on the CPU engine %.9g", functions[_i].name, (double)x[i], (double)y[i], (double)on_cpu[i]);
    sett_kernel_release(k[0]), sett_kernel_release(k[1]);
    free(x), free(y), free(on_cpu);
}
END_TEST

/* ---- in kernels ------------------------------------------------------------------------------------------------------ */
static bool has_approximation(sett_body body, const void *options, size_t size)
{
    const sett_compile_options o = {.size = sizeof o, .name = "activation", .user = options, .user_size = size, .target = "sm_90a", .ptx_only = true};
    sett_kernel_info info = {.size = sizeof info};
    sett_kernel *k = NULL;
    const sett_status s = sett_compile(r.e, body, &o, &k, &err);
    if (s == SETT_E_NO_COMPILER) /* the plug-in was not built */
        return false;
    ck_assert_msg(!s && !sett_kernel_query(k, &info), "%s", err.text);
    const bool has = strstr(info.ptx, "ex2.approx") || strstr(info.ptx, "rcp.approx") || strstr(info.ptx, "tanh.approx");
    sett_kernel_release(k);
    return has;
}

/* No activation is made of the hardware's approximations, of which each machine has its own. */
START_TEST(no_approximations)
{
    static const sett_dtype c[] = {SETT_F32, SETT_F16, SETT_BF16, SETT_F8E4M3FN};
    for (int i = SETT_ACTIVATION_NONE; i <= SETT_ACTIVATION_SILU && r.stream.device == SETT_CPU; i++) {
        sett_gemm_mma_options o = {.size = sizeof o, .dtype = SETT_F16, .c = c[_i], .swiglu = !i, .terms = {.softcap = i == SETT_ACTIVATION_RELU, .activation = (sett_activation)i}, .tuning = {.bm = 64, .bn = 64}};
        ck_assert_msg(!sett_kernels_choose(sett_gemm_mma, &o, "sm_90a", &err), "%s", err.text);
        ck_assert_msg(!has_approximation(sett_gemm_mma, &o, sizeof o), "activation %d, .swiglu %d, .c %s", i, o.swiglu, sett_dtype_name(c[_i]));
    }
    sett_silu_mul_options o = {.size = sizeof o, .dtype = c[_i], .cols = 1024};
    if (r.stream.device == SETT_CPU && c[_i] != SETT_F8E4M3FN) {
        ck_assert_msg(!sett_kernels_choose(sett_silu_mul, &o, "sm_90a", &err), "%s", err.text);
        ck_assert(!has_approximation(sett_silu_mul, &o, sizeof o));
    }
}
END_TEST

Suite *activations_suite(void)
{
    Suite *s = suite_create("activations");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, against_the_truth, 0, FUNCTIONS);
    tcase_add_loop_test(t, same_bits, 0, FUNCTIONS);
    tcase_add_loop_test(t, no_approximations, 0, 4);
    suite_add_tcase(s, t);
    return s;
}
