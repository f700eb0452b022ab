/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels on rows whose results are quantised (sett/kernels/rows.h, quantise.h), against plain C in double: every way to scale, every type that
 * comes out, rows that begin anywhere; activations; and what is refused. */
#include "tests/rig/kernels_rig.h"

enum { ROWS = 5, LD = 8 /* rows of SD lie so far apart */, BLOCK = 128, WAYS = 4, OUTS = 3 };
static const int columns[] = {8, 128, 200, 1000, 1023, 2048, 4099};
enum { COLUMNS = sizeof columns / sizeof *columns };
static const sett_dtype outs[OUTS] = {SETT_F8E4M3FN, SETT_F8E5M2, SETT_I8};
static const double greatest[OUTS] = {448, 57344, 127}, half_step[OUTS] = {1.0 / 16, 1.0 / 8, 0}, least_step[OUTS] = {1.0 / 1024, 1.0 / (1 << 17), 0.5};

/* What is written: Y, and its scales. */
typedef struct result {
    sett_quantised how;
    int out, n;
    array y, scale;
    sett_buf scales; /* as the kernel takes them */
} result;

static void set(array *a, size_t i, double v)
{
    put(a->m.buf.dtype, a->m.host, i, v), a->was[i] = get(a->m.buf.dtype, a->m.host, i);
}

static void give(array *a)
{
    ck_assert(!sett_memcpy(r.e, r.stream, a->m.buf.data, a->m.host, a->m.bytes));
}

static result result_of(sett_quantised how, int out, int n)
{
    result x = {.how = how, .out = out, .n = n, .y = MAKE(SETT_F8E4M3FN, ROWS, n), .scale = MAKE(SETT_F32, LD * ((n + BLOCK - 1) / BLOCK) + LD)};
    x.y.m.buf.dtype = outs[out];
    x.scales = sett_buf_1d(x.scale.m.buf.data, SETT_F32, how == SETT_QUANTISED_TENSOR ? 1 : ROWS);
    if (how == SETT_QUANTISED_BLOCKS) {
        x.scales = sett_buf_2d(x.scale.m.buf.data, SETT_F32, ROWS, (n + BLOCK - 1) / BLOCK);
        x.scales.stride[0] = 1, x.scales.stride[1] = LD;
    }
    set(&x.scale, 0, out == 0 ? 40 : out == 1 ? 2000 : 11);
    give(&x.scale);
    return x;
}

static double y_at(const result *x, size_t i)
{
    const unsigned byte = ((const uint8_t *)x->y.m.host)[i];
    const uint16_t half = (uint16_t)(byte << 8); /* f8E5M2 is the upper half of it */
    return outs[x->out] == SETT_I8 ? (int8_t)byte : outs[x->out] == SETT_F8E5M2 ? get(SETT_F16, &half, 0) : at(&x->y, i);
}

/* Are Y and its scales those of `want` (ROWS,n)? off: how far `want` may be off, of itself and of the largest of a row. */
static void check_quantised(const char *what, result *x, const double *want, double off)
{
    matrix_fetch(&r, &x->y.m), matrix_fetch(&r, &x->scale.m);
    const int width = x->how == SETT_QUANTISED_BLOCKS ? BLOCK : x->n;
    for (int i = 0; i < ROWS; i++)
        for (int from = 0; from < x->n; from += width) {
            const int end = from + width < x->n ? from + width : x->n;
            double most = 0, seen = 0;
            for (int j = from; j < end; j++)
                most = fmax(most, fabs(want[i * x->n + j]));
            const double g = greatest[x->out], scale = x->how == SETT_QUANTISED_TENSOR ? 1 / x->scale.was[0] : at(&x->scale, (size_t)(x->how == SETT_QUANTISED_BLOCKS ? i + from / BLOCK * LD : i));
            if (x->how != SETT_QUANTISED_TENSOR)
                ck_assert_msg(fabs(scale * g - fmax(most, 1e-12)) <= most * (off + 1e-5), "%s: the scale of row %d from column %d is %.9g, should be %.9g", what, i, from, scale, most / g);
            for (int j = from; j < end; j++) {
                const double y = y_at(x, (size_t)(i * x->n + j)), w = fmax(fmin(want[i * x->n + j] / scale, g), -g);
                ck_assert_msg(fabs(y - w) <= fabs(w) * half_step[x->out] * 1.001 + least_step[x->out] * 1.001 + off * (fabs(w) + most / scale), "%s, %s, .quantise %d: element (%d,%d) of %d is %.9g, should be %.9g", what,
                    sett_dtype_name(outs[x->out]), (int)x->how, i, j, x->n, y, w);
                seen = fmax(seen, fabs(y));
            }
            ck_assert_msg(x->how == SETT_QUANTISED_TENSOR || seen == g, "%s: the largest of row %d from column %d became %g", what, i, from, seen);
        }
    drop(1, &x->y), drop(1, &x->scale);
}

/* The ways of test i: type, columns, and each pair of .quantise and .out that there is for these. */
typedef struct way {
    sett_dtype t;
    int type, n;
} way;
static way way_of(int i)
{
    return (way){floats[i / COLUMNS], i / COLUMNS, columns[i % COLUMNS]};
}
static bool there_is(const way *w, int how, int out)
{
    return how != SETT_QUANTISED_BLOCKS || (outs[out] != SETT_I8 && w->n % (16 * 8 / sett_dtype_bits(w->t)) == 0);
}

START_TEST(quantise)
{
    const way w = way_of(_i);
    for (int k = 0; k < 3 * OUTS * 2; k++) {
        const int how = 1 + k % 3, out = k / 3 % OUTS, given = k / 3 / OUTS;
        if (!there_is(&w, how, out))
            continue;
        array x = MAKE(w.t, ROWS, w.n);
        result to = result_of(how, out, w.n);
        const sett_quantise_options o = {.size = sizeof o, .dtype = w.t, .cols = w.n, .quantise = how, .out = outs[out], .tuning.threads = given ? 64 : 0, .tuning.vectors_per_thread = given && how != 3 ? 3 : 0};
        RUN(sett_quantise, &o, &x.m.buf, &to.y.m.buf, &to.scales);
        check_quantised("quantise", &to, x.was, 1e-6);
        drop(1, &x);
    }
}
END_TEST

/* Zeros, NaN and infinities, of rows and of blocks. */
START_TEST(quantise_what_is_no_number)
{
    enum { N = 256, ZEROS = 0, NANS = 1, INFINITE = 2 };
    const bool blocks = _i;
    array x = MAKE(SETT_BF16, ROWS, N);
    result to = result_of(blocks ? SETT_QUANTISED_BLOCKS : SETT_QUANTISED_ROWS, 0, N);
    for (int j = 0; j < N; j++)
        set(&x, ZEROS * N + (size_t)j, 0);
    ((uint16_t *)x.m.host)[NANS * N + 3] = 0x7fc0, ((uint16_t *)x.m.host)[INFINITE * N + 3] = 0xff80;
    give(&x);
    const sett_quantise_options o = {.size = sizeof o, .dtype = SETT_BF16, .cols = N, .quantise = to.how};
    RUN(sett_quantise, &o, &x.m.buf, &to.y.m.buf, &to.scales);
    matrix_fetch(&r, &to.y.m), matrix_fetch(&r, &to.scale.m);
    ck_assert(at(&to.scale, ZEROS) == (double)(1e-12f / 448) && isnan(at(&to.scale, NANS)) && isinf(at(&to.scale, INFINITE)));
    for (size_t j = 0; j < N; j++) {
        const bool of_it = !blocks || j < BLOCK;
        ck_assert(y_at(&to, ZEROS * N + j) == 0);
        ck_assert_int_eq(isnan(y_at(&to, NANS * N + j)), of_it);
        ck_assert(!of_it || (j == 3 ? isnan(y_at(&to, INFINITE * N + j)) : y_at(&to, INFINITE * N + j) == 0));
    }
    drop(1, &x), drop(1, &to.y), drop(1, &to.scale);
}
END_TEST

/* What is left is A of a product, with its scales, as it lies. */
START_TEST(a_product_takes_it)
{
    enum { N = 32, K = 256 };
    const bool blocks = _i;
    array x = MAKE(SETT_BF16, ROWS, K), b = MAKE(SETT_F8E4M3FN, N, K), d = MAKE(SETT_F32, ROWS, N), sb = MAKE(SETT_F32, N);
    result to = result_of(blocks ? SETT_QUANTISED_BLOCKS : SETT_QUANTISED_ROWS, 0, K);
    array *const of[] = {&x, &b, &sb};
    for (int k = 0; k < 3; k++) { /* nothing cancels, so that a wrong scale shows */
        for (size_t i = 0; i < of[k]->n; i++)
            set(of[k], i, fabs(of[k]->was[i]) * (k == 0 && i % K < BLOCK ? 0.25 : 1));
        give(of[k]);
    }
    const sett_quantise_options o = {.size = sizeof o, .dtype = SETT_BF16, .cols = K, .quantise = to.how};
    RUN(sett_quantise, &o, &x.m.buf, &to.y.m.buf, &to.scales);
    const sett_product_problem p = {.size = sizeof p, .dtype = SETT_F8E4M3FN, .d = SETT_F32, .n = N, .k = K, .block_scales = blocks, .scaled = !blocks};
    const sett_product_operands operands = {.size = sizeof operands, .a = to.y.m.buf.data, .b = b.m.buf.data, .d = d.m.buf.data, .sa = to.scale.m.buf.data, .sb = sb.m.buf.data, .ldsa = blocks ? LD : 0};
    sett_product *plan;
    size_t bytes;
    const sett_status s = sett_product_prepare(r.e, r.stream.device, &p, ROWS, &plan, &bytes, &err);
    if (blocks && !has_wgmma() && s == SETT_E_TARGET)
        return;
    ck_assert_msg(!s, "%s", err.text);
    void *room = sett_alloc(r.e, r.stream.device, bytes + 1), *zeros = calloc(bytes + 1, 1);
    ck_assert(room && zeros && !sett_memcpy(r.e, r.stream, room, zeros, bytes));
    ck_assert_msg(!sett_product_run(plan, ROWS, &operands, room, bytes, r.stream, &err), "%s", err.text);
    matrix_fetch(&r, &d.m);
    for (size_t i = 0; i < ROWS * N; i++) {
        double want = 0, size = 0;
        for (size_t k = 0; k < K; k++) {
            const double one = x.was[i / N * K + k] * b.was[i % N * K + k] * sb.was[blocks ? k / BLOCK : i % N];
            want += one, size += fabs(one);
        }
        near("a product", &d, i, want, size / 100);
    }
    sett_product_free(plan);
    sett_free(r.e, r.stream.device, room), free(zeros);
    drop(1, &x), drop(1, &b), drop(1, &d), drop(1, &sb), drop(1, &to.y), drop(1, &to.scale);
}
END_TEST

enum { X, R, W, B, H, ARRAYS };

static void norm_of(const way *w, const array *a, bool centred, bool residual, double *want)
{
    const size_t n = (size_t)w->n;
    for (size_t i = 0; i < ROWS; i++) {
        double mean = 0, square = 0;
        for (size_t j = 0; j < n; j++)
            mean += centred ? (residual ? at(&a[H], i * n + j) : a[X].was[i * n + j]) / (double)n : 0;
        for (size_t j = 0; j < n; j++) {
            want[i * n + j] = (residual ? at(&a[H], i * n + j) : a[X].was[i * n + j]) - mean;
            square += want[i * n + j] * want[i * n + j] / (double)n;
        }
        for (size_t j = 0; j < n; j++)
            want[i * n + j] = want[i * n + j] / sqrt(square + 1e-5) * a[W].was[j] + (centred ? a[B].was[j] : 0);
    }
}

/* Both norms, with and without a residual. */
START_TEST(norms)
{
    const way w = way_of(_i);
    for (int k = 0; k < 4 * 3 * OUTS; k++) {
        const int how = 1 + k % 3, out = k / 3 % OUTS, residual = k / 3 / OUTS % 2, centred = k / 6 / OUTS;
        if (!there_is(&w, how, out))
            continue;
        array a[ARRAYS];
        for (int i = 0; i < ARRAYS; i++)
            a[i] = i == W || i == B ? MAKE(w.t, w.n) : MAKE(w.t, ROWS, w.n);
        result to = result_of(how, out, w.n);
        const sett_rms_norm_options rms = {.size = sizeof rms, .dtype = w.t, .cols = w.n, .residual = residual, .quantise = how, .out = outs[out], .tuning.registers = k / 3 % 2};
        const sett_layer_norm_options layer = {.size = sizeof layer, .dtype = w.t, .cols = w.n, .residual = residual, .quantise = how, .out = outs[out], .tuning.rows = k % 2 + 1};
        sett_buf *y = &to.y.m.buf, *x = &a[X].m.buf, *weight = &a[W].m.buf, *bias = &a[B].m.buf;
        if (centred && residual)
            RUN(sett_layer_norm, &layer, x, &a[R].m.buf, weight, bias, &a[H].m.buf, y, &to.scales, 1e-5);
        else if (centred)
            RUN(sett_layer_norm, &layer, x, weight, bias, y, &to.scales, 1e-5);
        else if (residual)
            RUN(sett_rms_norm, &rms, x, &a[R].m.buf, weight, &a[H].m.buf, y, &to.scales, 1e-5);
        else
            RUN(sett_rms_norm, &rms, x, weight, y, &to.scales, 1e-5);
        double *want = malloc(sizeof(double) * ROWS * (size_t)w.n);
        matrix_fetch(&r, &a[H].m);
        for (size_t i = 0; residual && i < a[H].n; i++)
            near("H", &a[H], i, a[X].was[i] + a[R].was[i], 2 * ulp[w.type]);
        norm_of(&w, a, centred, residual, want);
        check_quantised(centred ? "layer_norm" : "rms_norm", &to, want, 1e-5);
        free(want);
        drop(ARRAYS, a);
    }
}
END_TEST

static double activated(sett_activation f, double x)
{
    switch (f) {
    case SETT_ACTIVATION_RELU:
        return fmax(x, 0);
    case SETT_ACTIVATION_GELU:
        return x / 2 * (1 + erf(x / sqrt(2)));
    case SETT_ACTIVATION_GELU_TANH:
        return x / 2 * (1 + tanh(0.79788456080286536 * (x + 0.044715 * x * x * x)));
    default:
        return x / (1 + exp(-x));
    }
}

/* Every activation; .quantise 0 too. */
START_TEST(silu_mul)
{
    const way w = way_of(_i);
    const size_t n = (size_t)w.n;
    for (int k = 0; k < 5 * WAYS * OUTS; k++) {
        const int how = k % WAYS, out = k / WAYS % OUTS;
        const sett_activation f = (sett_activation)(k / WAYS / OUTS);
        if ((!how && out) || !there_is(&w, how, out))
            continue;
        array x = MAKE(w.t, ROWS, 2, w.n), y = MAKE(w.t, ROWS, w.n);
        result to = result_of(how, out, w.n);
        double *want = malloc(sizeof(double) * ROWS * n), off = 1.0 / (1 << 11);
        for (size_t i = 0; i < x.n; i++)
            set(&x, i, 3 * x.was[i]);
        give(&x);
        for (size_t i = 0; i < ROWS * n; i++)
            want[i] = activated(f, x.was[i / n * 2 * n + i % n]) * x.was[(i / n * 2 + 1) * n + i % n];
        const sett_silu_mul_options o = {.size = sizeof o, .dtype = w.t, .cols = w.n, .activation = f, .quantise = how, .out = how ? outs[out] : 0, .tuning.threads = k % 2 ? 96 : 0};
        if (how) {
            RUN(sett_silu_mul, &o, &x.m.buf, &to.y.m.buf, &to.scales);
            check_quantised("silu_mul", &to, want, off);
        } else {
            RUN(sett_silu_mul, &o, &x.m.buf, &y.m.buf);
            matrix_fetch(&r, &y.m);
            for (size_t i = 0; i < y.n; i++)
                near("silu_mul", &y, i, want[i], fabs(want[i]) * (ulp[w.type] + 1e-5) + (w.t == SETT_F32 ? 1e-5 : 9.0 / (1 << 13)));
            drop(1, &to.y), drop(1, &to.scale);
        }
        free(want);
        drop(1, &x), drop(1, &y);
    }
}
END_TEST

#define BAD(kernel_, text_, ...) {sett_##kernel_, #kernel_, &(sett_##kernel_##_options){.size = sizeof(sett_##kernel_##_options), .dtype = SETT_BF16, __VA_ARGS__}, text_}
static const struct {
    sett_body body;
    const char *name;
    void *options;
    const char *why;
} bad[] = {
    BAD(quantise, ".cols is 0: from 1 to 16777216", .cols = 0),
    BAD(quantise, ".quantise is 4: from 0 to 3", .cols = 8, .quantise = (sett_quantised)4),
    BAD(quantise, ".out is bf16: with .quantise f8E4M3FN, f8E5M2 or i8", .cols = 8, .out = SETT_BF16),
    BAD(quantise, ".out is i8: with .quantise f8E4M3FN or f8E5M2", .cols = 8, .out = SETT_I8, .quantise = SETT_QUANTISED_BLOCKS),
    BAD(quantise, ".quantise is 2: .cols is a multiple of 8 then, and not 12", .cols = 12, .quantise = SETT_QUANTISED_BLOCKS),
    BAD(quantise, ".cols is 32776: with .quantise 3 at most 32768, the row that a block holds", .cols = 32776),
    BAD(quantise, ".vectors_per_thread is 3: with .quantise 3 a block has a whole row, and 128 threads make 4", .cols = 4096, .tuning.vectors_per_thread = 3),
    BAD(quantise, ".threads: 80 threads are no multiple of 32, the threads of a warp", .cols = 4096, .tuning.threads = 80),
    BAD(quantise, ".reserved is 1: it must be 0", .cols = 8, .reserved = 1),
    BAD(rms_norm, ".out is f8E4M3FN: without .quantise it is .dtype", .cols = 8, .out = SETT_F8E4M3FN),
    BAD(layer_norm, ".quantise is -1: from 0 to 3", .cols = 8, .quantise = (sett_quantised)-1),
    BAD(silu_mul, ".activation is 5: from 1 to 4", .cols = 8, .activation = (sett_activation)5),
    BAD(silu_mul, ".threads: 48 threads are no multiple of 32, the threads of a warp", .cols = 8, .quantise = SETT_QUANTISED_TENSOR, .tuning.threads = 48),
};

START_TEST(refused)
{
    check_not_chosen(bad[_i].body, bad[_i].name, bad[_i].options, NULL, bad[_i].why);
}
END_TEST

Suite *rows_suite(void)
{
    Suite *s = suite_create("rows");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, quantise, 0, FLOATS * COLUMNS);
    tcase_add_loop_test(t, quantise_what_is_no_number, 0, 2);
    tcase_add_loop_test(t, a_product_takes_it, 0, 2);
    tcase_add_loop_test(t, norms, 0, FLOATS * COLUMNS);
    tcase_add_loop_test(t, silu_mul, 0, FLOATS * COLUMNS);
    tcase_add_loop_test(t, refused, 0, (int)(sizeof bad / sizeof *bad));
    suite_add_tcase(s, t);
    return s;
}
