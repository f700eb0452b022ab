/* SPDX-License-Identifier: Apache-2.0 */
/* The library of kernels (sett/kernels.h) against plain C in double, on the CPU engine or, with SETT_TEST_GPU=1, on GPU 0: every
 * element type, lengths that nothing divides, shapes that are chosen and shapes that are given. What cannot be is told. */
#include "tests/rig/kernels_rig.h"

/* ---- rows ----------------------------------------------------------------------------------------- */
static const int columns[] = {1, 7, 96, 1000, 1023, 2048, 4099};
enum { COLUMNS = sizeof columns / sizeof *columns, ROWS = 19 };

START_TEST(softmax)
{
    const sett_dtype t = floats[_i / COLUMNS];
    const int n = columns[_i % COLUMNS];
    for (int shape = 0; shape < 2; shape++) {
        array a[2] = {MAKE(t, ROWS, n), MAKE(t, ROWS, n)};
        const sett_softmax_options o = {.size = sizeof o, .dtype = t, .cols = n, .tuning.threads = shape ? 96 : 0, .no_pdl = shape};
        RUN(sett_softmax, &o, &a[0].m.buf, &a[1].m.buf);
        matrix_fetch(&r, &a[1].m);
        double sum = 0;
        for (size_t i = 0; i < a[1].n; i++) {
            if (i % (size_t)n == 0) { /* a row begins */
                sum = 0;
                for (size_t j = 0; j < (size_t)n; j++)
                    sum += exp(a[0].was[i + j]);
            }
            double want = exp(a[0].was[i]) / sum;
            near("softmax", &a[1], i, want, want * (ulp[_i / COLUMNS] + 1e-5) + 1e-7);
        }
        drop(2, a);
    }
}
END_TEST

/* Rows whose values, scaled or subtracted, leave the range of Float32: only differences from the largest count. */
START_TEST(softmax_of_large_values)
{
    static const double largest[] = {65504, 0x1.fep127, FLT_MAX};
    const double top = largest[_i], high = top * 0.875, base = _i ? 1e6 : 6e4;
    const double rows[][4] = {{-top, -top, -top, -top}, {top, top, top, top}, {high, 0, 0, 0}, {high, -high, high, -top}, {-top, 0, 0, 1},
        {base, base + 1, base + 2, base + 3}, {-base, 1 - base, 2 - base, 3 - base}, {-INFINITY, -top, -INFINITY, -top},
        {-INFINITY, -INFINITY, -INFINITY, -INFINITY}, {INFINITY, 0, 0, 0}};
    enum { ALL_ROWS = sizeof rows / sizeof *rows };
    array a[2] = {MAKE(floats[_i], ALL_ROWS, 4), MAKE(floats[_i], ALL_ROWS, 4)};
    for (size_t i = 0; i < a[0].n; i++)
        put(floats[_i], a[0].m.host, i, rows[i / 4][i % 4]);
    ck_assert(!sett_memcpy(r.e, r.stream, a[0].m.buf.data, a[0].m.host, a[0].m.bytes));
    const sett_softmax_options o = {.size = sizeof o, .dtype = floats[_i], .cols = 4};
    RUN(sett_softmax, &o, &a[0].m.buf, &a[1].m.buf);
    matrix_fetch(&r, &a[1].m);
    for (size_t i = 0; i < a[1].n; i++) {
        double most = -INFINITY, sum = 0;
        for (size_t j = i / 4 * 4; j < i / 4 * 4 + 4; j++)
            most = fmax(most, at(&a[0], j));
        for (size_t j = i / 4 * 4; j < i / 4 * 4 + 4; j++)
            sum += exp(at(&a[0], j) - most);
        const double want = exp(at(&a[0], i) - most) / sum;
        if (isnan(want)) /* of -infinity alone, or with +infinity */
            ck_assert_msg(isnan(at(&a[1], i)), "element %zu is %g", i, at(&a[1], i));
        else
            near("softmax", &a[1], i, want, want * (ulp[_i] + 1e-5) + 1e-7);
    }
    drop(2, a);
}
END_TEST

enum { X, R, W, B, H, Y, PARAMS };
typedef struct norm {
    array a[PARAMS];
    bool residual, centred;
    int n;
} norm;

static norm norm_make(sett_dtype t, int n, bool residual, bool centred)
{
    norm l = {.residual = residual, .centred = centred, .n = n};
    for (int i = 0; i < PARAMS; i++)
        l.a[i] = i == W || i == B ? MAKE(t, n) : MAKE(t, ROWS, n);
    return l;
}

/* Y is the norm of H, which is X, or X + R rounded. */
static void norm_check(norm *l, double eps, double tolerance)
{
    const size_t n = (size_t)l->n;
    matrix_fetch(&r, &l->a[Y].m), matrix_fetch(&r, &l->a[H].m);
    for (size_t i = 0; i < ROWS; i++) {
        double mean = 0, square = 0;
        for (size_t j = 0; j < n; j++) {
            size_t k = i * n + j;
            if (l->residual)
                near("H", &l->a[H], k, l->a[X].was[k] + l->a[R].was[k], 2 * tolerance);
            l->a[H].was[k] = l->residual ? at(&l->a[H], k) : l->a[X].was[k];
            mean += l->a[H].was[k] / (double)n;
        }
        mean = l->centred ? mean : 0;
        for (size_t j = 0; j < n; j++)
            square += pow(l->a[H].was[i * n + j] - mean, 2) / (double)n;
        for (size_t j = 0; j < n; j++) {
            double want = (l->a[H].was[i * n + j] - mean) / sqrt(square + eps) * l->a[W].was[j] + (l->centred ? l->a[B].was[j] : 0);
            near(l->centred ? "layer_norm" : "rms_norm", &l->a[Y], i * n + j, want, (fabs(want) + 1) * (tolerance + 2e-5));
        }
    }
    drop(PARAMS, l->a);
}

START_TEST(rms_norm)
{
    const sett_dtype t = floats[_i / COLUMNS];
    const int n = columns[_i % COLUMNS];
    for (int shape = 0; shape < 4; shape++) {
        norm l = norm_make(t, n, shape & 1, false);
        const sett_rms_norm_options o = {.size = sizeof o, .dtype = t, .cols = n, .residual = shape & 1, .tuning.threads = shape & 2 ? 64 : 0,
            .tuning.rows = shape & 2 ? 3 : 0, .tuning.registers = shape & 2 ? 1 : 0, .no_pdl = shape == 2};
        if (l.residual)
            RUN(sett_rms_norm, &o, &l.a[X].m.buf, &l.a[R].m.buf, &l.a[W].m.buf, &l.a[H].m.buf, &l.a[Y].m.buf, 1e-5);
        else
            RUN(sett_rms_norm, &o, &l.a[X].m.buf, &l.a[W].m.buf, &l.a[Y].m.buf, 1e-5);
        norm_check(&l, 1e-5, ulp[_i / COLUMNS]);
    }
}
END_TEST

START_TEST(layer_norm)
{
    const sett_dtype t = floats[_i / COLUMNS];
    const int n = columns[_i % COLUMNS];
    for (int shape = 0; shape < 4; shape++) {
        norm l = norm_make(t, n, shape & 1, true);
        const sett_layer_norm_options o = {.size = sizeof o, .dtype = t, .cols = n, .residual = shape & 1, .tuning.threads = shape & 2 ? 32 + shape % 2 * 32 : 0,
            .tuning.warps = shape == 2 ? 2 : 0, .tuning.rows = shape & 2 ? 3 : 0};
        if (l.residual)
            RUN(sett_layer_norm, &o, &l.a[X].m.buf, &l.a[R].m.buf, &l.a[W].m.buf, &l.a[B].m.buf, &l.a[H].m.buf, &l.a[Y].m.buf, 1e-5);
        else
            RUN(sett_layer_norm, &o, &l.a[X].m.buf, &l.a[W].m.buf, &l.a[B].m.buf, &l.a[Y].m.buf, 1e-5);
        norm_check(&l, 1e-5, ulp[_i / COLUMNS]);
    }
}
END_TEST

START_TEST(silu_mul)
{
    const sett_dtype t = floats[_i / COLUMNS];
    const size_t n = (size_t)columns[_i % COLUMNS];
    for (int shape = 0; shape < 2; shape++) {
        array a[2] = {MAKE(t, ROWS, 2, (int64_t)n), MAKE(t, ROWS, (int64_t)n)};
        const sett_silu_mul_options o = {.size = sizeof o, .dtype = t, .cols = (int)n, .tuning.threads = shape ? 32 : 0, .tuning.vectors_per_thread = shape ? 2 : 0};
        RUN(sett_silu_mul, &o, &a[0].m.buf, &a[1].m.buf);
        matrix_fetch(&r, &a[1].m);
        for (size_t i = 0; i < a[1].n; i++) {
            double gate = a[0].was[i / n * 2 * n + i % n], want = gate / (1 + exp(-gate)) * a[0].was[(i / n * 2 + 1) * n + i % n];
            near("silu_mul", &a[1], i, want, fabs(want) * (ulp[_i / COLUMNS] + 1e-5) + 1e-7);
        }
        drop(2, a);
    }
}
END_TEST

/* ---- reductions --------------------------------------------------------------------------------------- */
static double reduced(sett_binary_op op, const double *v, size_t n, double *size)
{
    double all = op == SETT_ADD ? 0 : op == SETT_MIN ? INFINITY : -INFINITY;
    *size = 0;
    for (size_t i = 0; i < n; i++) {
        all = op == SETT_ADD ? all + v[i] : op == SETT_MIN ? fmin(all, v[i]) : fmax(all, v[i]);
        *size += op == SETT_ADD ? fabs(v[i]) : 0;
    }
    return all;
}

START_TEST(row_reduce)
{
    static const sett_binary_op ops[] = {SETT_ADD, SETT_MIN, SETT_MAX};
    const sett_dtype t = floats[_i / COLUMNS];
    const size_t n = (size_t)columns[_i % COLUMNS];
    for (int shape = 0; shape < 3; shape++) {
        array a[2] = {MAKE(t, ROWS, (int64_t)n), MAKE(SETT_F32, ROWS)};
        const sett_row_reduce_options o = {.size = sizeof o, .dtype = t, .op = ops[shape], .tuning.threads = shape == 1 ? 32 : 0, .tuning.vectors_per_thread = shape == 1 ? 1 : 0};
        RUN(sett_row_reduce, &o, &a[0].m.buf, &a[1].m.buf);
        matrix_fetch(&r, &a[1].m);
        for (size_t i = 0; i < ROWS; i++) {
            double size, want = reduced(ops[shape], a[0].was + i * n, n, &size);
            near("row_reduce", &a[1], i, want, 1e-6 * size);
        }
        drop(2, a);
    }
}
END_TEST

START_TEST(vector_reduce)
{
    static const sett_binary_op ops[] = {SETT_ADD, SETT_MIN, SETT_MAX};
    static const int64_t sizes[] = {1, 1000, 131071, 200000};
    sett_vector_reduce_options o = {.size = sizeof o, .dtype = floats[_i / 3], .op = ops[_i % 3]};
    if (_i % 2)
        o.tuning.threads = 64, o.tuning.blocks = 128, o.tuning.vectors_per_thread = 1;
    ck_assert(!sett_kernels_choose(sett_vector_reduce, &o, NULL, &err) && o.tuning.blocks > 0 && o.tuning.blocks % o.tuning.threads == 0);
    array part = MAKE(SETT_F32, o.tuning.blocks), done = MAKE(SETT_F32, 1), y = MAKE(SETT_F32, 1);
    done.m.buf.dtype = SETT_U32;
    memset(done.m.host, 0, 4);
    ck_assert(!sett_memcpy(r.e, r.stream, done.m.buf.data, done.m.host, 4));
    for (int s = 0; s < 4; s++) { /* the counter is 0 again after each */
        array x = MAKE(o.dtype, sizes[s]);
        RUN(sett_vector_reduce, &o, &x.m.buf, &part.m.buf, &done.m.buf, &y.m.buf);
        matrix_fetch(&r, &y.m);
        double size, want = reduced(o.op, x.was, x.n, &size);
        near("vector_reduce", &y, 0, want, 1e-6 * size);
        drop(1, &x);
    }
    drop(1, &part), drop(1, &done), drop(1, &y);
}
END_TEST

/* ---- by element ------------------------------------------------------------------------------------------- */
START_TEST(elementwise)
{
    static const struct {
        sett_binary_op op;
        int relu;
    } ops[] = {{SETT_ADD, 0}, {SETT_MUL, 0}, {SETT_MUL, 1}, {SETT_MAX, 0}, {SETT_SUB, 1}};
    const sett_dtype t = floats[_i % FLOATS];
    const int op = _i / FLOATS;
    const int64_t m[] = {1, 33, 64}, n[] = {1, 301, 512};
    for (int s = 0; s < 3; s++) {
        array a[3] = {MAKE(t, m[s], n[s]), MAKE(t, m[s], n[s]), MAKE(t, m[s], n[s])};
        const sett_elementwise_options o = {.size = sizeof o, .dtype = t, .op = ops[op].op, .relu = ops[op].relu, .exact = s == 2,
            .tuning.thr_m = s == 1 ? 2 : 0, .tuning.val_m = s == 1 ? 3 : 0};
        RUN(sett_elementwise, &o, &a[0].m.buf, &a[1].m.buf, &a[2].m.buf);
        matrix_fetch(&r, &a[2].m);
        for (size_t i = 0; i < a[2].n; i++) {
            double x = a[0].was[i], y = a[1].was[i], v = ops[op].op == SETT_ADD ? x + y : ops[op].op == SETT_SUB ? x - y : ops[op].op == SETT_MUL ? x * y : fmax(x, y);
            near("elementwise", &a[2], i, ops[op].relu ? fmax(v, 0) : v, fabs(v) * ulp[_i % FLOATS] + 1e-7);
        }
        drop(3, a);
    }
}
END_TEST

START_TEST(axpy)
{
    const sett_dtype t = floats[_i];
    const int64_t sizes[] = {1, 1000, 5003};
    for (int s = 0; s < 3; s++) {
        array a[2] = {MAKE(t, sizes[s]), MAKE(t, sizes[s])};
        const sett_axpy_options o = {.size = sizeof o, .dtype = t, .tuning.threads = s == 1 ? 64 : 0, .tuning.vectors_per_thread = s == 1 ? 3 : 0};
        RUN(sett_axpy, &o, &a[0].m.buf, &a[1].m.buf, 2.5);
        matrix_fetch(&r, &a[1].m);
        for (size_t i = 0; i < a[1].n; i++)
            near("axpy", &a[1], i, 2.5 * a[0].was[i] + a[1].was[i], 4 * ulp[_i]);
        drop(2, a);
    }
}
END_TEST

START_TEST(transpose)
{
    const sett_dtype t = floats[_i];
    const size_t shapes[][3] = {{1, 1, 1}, {1, 130, 67}, {3, 12, 35}, {5, 64, 128}};
    for (int s = 0; s < 4; s++) {
        const size_t b = shapes[s][0], m = shapes[s][1], n = shapes[s][2];
        array a[2] = {MAKE(t, (int64_t)b, (int64_t)m, (int64_t)n), MAKE(t, (int64_t)b, (int64_t)n, (int64_t)m)};
        const sett_transpose_options o = {.size = sizeof o, .dtype = t, .batched = b > 1, .tuning.tile = s == 1 ? 30 : 0, .tuning.rows = s == 1 ? 6 : 0};
        if (b == 1) {
            a[0].m.buf = sett_buf_2d(a[0].m.buf.data, t, (int64_t)m, (int64_t)n);
            a[1].m.buf = sett_buf_2d(a[1].m.buf.data, t, (int64_t)n, (int64_t)m);
        }
        RUN(sett_transpose, &o, &a[0].m.buf, &a[1].m.buf);
        matrix_fetch(&r, &a[1].m);
        for (size_t i = 0; i < a[1].n; i++)
            near("transpose", &a[1], i, a[0].was[i / (m * n) * m * n + i % m * n + i % (m * n) / m], 0);
        drop(2, a);
    }
}
END_TEST

START_TEST(dequantise)
{
    const sett_dtype t = floats[_i];
    for (int s = 0; s < 3; s++) {
        const sett_dtype from = s == 1 ? SETT_I8 : SETT_I4;
        const size_t n = 19, group = s == 2 ? 24 : 128, k = 5 * group, bits = (size_t)sett_dtype_bits(from);
        array a[3] = {MAKE(SETT_BF16, (int64_t)(n * k * bits / 16)), MAKE(t, (int64_t)n, (int64_t)(k / group)), MAKE(t, (int64_t)n, (int64_t)k)};
        const sett_dequantise_options o = {.size = sizeof o, .dtype = t, .from = s ? from : 0, .group = s == 2 ? 24 : 0};
        const sett_buf w = sett_buf_2d(a[0].m.buf.data, from, (int64_t)n, (int64_t)k); /* any bits will do as weights */
        RUN(sett_dequantise, &o, &w, &a[1].m.buf, &a[2].m.buf);
        matrix_fetch(&r, &a[2].m);
        for (size_t i = 0; i < n * k; i++) {
            int byte = ((const uint8_t *)a[0].m.host)[i * bits / 8], code = bits == 8 ? byte : i % 2 ? byte >> 4 : byte & 15, half = 1 << (bits - 1);
            double want = ((code ^ half) - half) * a[1].was[i / group];
            near("dequantise", &a[2], i, want, fabs(want) * ulp[_i]);
        }
        drop(3, a);
    }
}
END_TEST

START_TEST(embedding_grad)
{
    enum { TOKENS = 101, VOCABULARY = 9, DIM = 64 };
    const sett_dtype t = floats[_i];
    for (int tokens = 0; tokens < 3; tokens += 2) {
        array dy = MAKE(t, TOKENS, DIM), dw = MAKE(t, VOCABULARY, DIM), ids = MAKE(SETT_F32, TOKENS);
        double want[VOCABULARY][DIM] = {{0}};
        for (size_t i = 0; i < dw.n; i++)
            put(t, dw.m.host, i, 0);
        for (size_t i = 0; i < dy.n; i++) { /* small whole numbers: sums are exact, in whichever order */
            ((int32_t *)ids.m.host)[i / DIM] = (int32_t)((i / DIM) * (i / DIM) % VOCABULARY);
            put(t, dy.m.host, i, floor(dy.was[i] * 2 + 0.5));
            want[((int32_t *)ids.m.host)[i / DIM]][i % DIM] += get(t, dy.m.host, i);
        }
        array *of[] = {&dy, &dw, &ids};
        for (int i = 0; i < 3; i++)
            ck_assert(!sett_memcpy(r.e, r.stream, of[i]->m.buf.data, of[i]->m.host, of[i]->m.bytes));
        ids.m.buf.dtype = SETT_I32;
        const sett_embedding_grad_options o = {.size = sizeof o, .dtype = t, .cols = DIM, .tuning.tokens = tokens};
        RUN(sett_embedding_grad, &o, &ids.m.buf, &dy.m.buf, &dw.m.buf);
        matrix_fetch(&r, &dw.m);
        for (size_t i = 0; i < dw.n; i++)
            near("embedding_grad", &dw, i, want[i / DIM][i % DIM], 0);
        drop(1, &dy), drop(1, &dw), drop(1, &ids);
    }
}
END_TEST

/* ---- options ------------------------------------------------------------------------------------------------ */
#define BAD(kernel_, text_, ...) {sett_##kernel_, &(const sett_##kernel_##_options){.size = sizeof(sett_##kernel_##_options), __VA_ARGS__}, #kernel_ ": " text_}
static const struct {
    sett_body body;
    const void *options;
    const char *why;
} bad[] = {
    BAD(softmax, ".dtype is not given: f16, bf16 or f32", .cols = 8),
    BAD(softmax, ".dtype is i32: f16, bf16 or f32", .cols = 8, .dtype = SETT_I32),
    BAD(softmax, ".cols is 0: from 1 to 1048576", .dtype = SETT_F32),
    BAD(softmax, ".threads: 528 threads are no multiple of 32, the threads of a warp", .dtype = SETT_F32, .cols = 8, .tuning.threads = 528),
    BAD(softmax, ".threads is 2048: from 32 to 1024", .dtype = SETT_F32, .cols = 8, .tuning.threads = 2048),
    BAD(softmax, ".threads is -32: from 32 to 1024", .dtype = SETT_F32, .cols = 8, .tuning.threads = -32),
    BAD(rms_norm, ".registers is 2: a row waits in shared memory from sm_80 on, where nothing is added to it, 32 threads x 16 bytes divide it, and it has at most 160 KiB", .dtype = SETT_F32,
        .cols = 100, .tuning.registers = 2),
    BAD(rms_norm, ".residual is 2: from 0 to 1", .dtype = SETT_F32, .cols = 100, .residual = 2),
    BAD(layer_norm, ".warps is 33: from 1 to 32", .dtype = SETT_F32, .cols = 100, .tuning.warps = 33),
    BAD(layer_norm, ".warps is 2: from 1 to 1", .dtype = SETT_F32, .cols = 4096, .tuning.warps = 2),
    BAD(silu_mul, ".vectors_per_thread is 17: from 1 to 16", .dtype = SETT_F32, .cols = 100, .tuning.vectors_per_thread = 17),
    BAD(elementwise, ".dtype is i4: f16, bf16, f32, f64 or an integer of 8 to 64 bits", .dtype = SETT_I4),
    BAD(elementwise, ".op is 13: an operation of two numbers that gives a number, SETT_ADD, SETT_MUL, SETT_MAX ...", .dtype = SETT_F32, .op = SETT_LT),
    BAD(elementwise, ".thr_m x thr_n is 2048: from 1 to 1024", .dtype = SETT_F32, .tuning.thr_m = 64),
    BAD(elementwise, ".thr_m is 65536: from 1 to 1024", .dtype = SETT_F32, .tuning.thr_m = 1 << 16, .tuning.thr_n = 1 << 16),
    BAD(elementwise, ".dtype is tf32: f16, bf16, f32, f64 or an integer of 8 to 64 bits", .dtype = SETT_TF32),
    BAD(elementwise, ".op is 8: an operation of integers, and .dtype is f32", .dtype = SETT_F32, .op = SETT_AND),
    BAD(elementwise, ".op is 20: an operation of floats, and .dtype is i32", .dtype = SETT_I32, .op = SETT_ATAN2),
    BAD(elementwise, ".relu is 2: from 0 to 1", .dtype = SETT_F32, .relu = 2),
    BAD(elementwise, ".exact is -7: from 0 to 1", .dtype = SETT_F32, .exact = -7),
    BAD(axpy, ".no_pdl is 9: from 0 to 1", .dtype = SETT_F32, .no_pdl = 9),
    BAD(rms_norm, ".reserved is 5: it must be 0", .dtype = SETT_F32, .cols = 8, .reserved = 5),
    BAD(layer_norm, ".reserved is 5: it must be 0", .dtype = SETT_F32, .cols = 8, .reserved = 5),
    BAD(row_reduce, ".reserved is 5: it must be 0", .dtype = SETT_F32, .reserved = 5),
    BAD(transpose, ".reserved is 5: it must be 0", .dtype = SETT_F32, .reserved = 5),
    BAD(rms_norm, ".threads is 536870912: from 32 to 1024", .dtype = SETT_BF16, .cols = 4096, .tuning.threads = 1 << 29),
    BAD(gemm_wgmma, ".dtype is f64: f16, bf16, f8E4M3FN, f8E5M2, i8, or f32 with .tf32", .dtype = SETT_F64),
    BAD(gemm_wgmma, ".tf32 is 0: tensor cores have no products of f32 but those of .tf32", .dtype = SETT_F32),
    BAD(gemm_wgmma, ".tf32 is 1: .dtype is f32 then, and not bf16", .dtype = SETT_BF16, .tf32 = 1),
    BAD(gemm_wgmma, ".tf32 is 2: from 0 to 1", .dtype = SETT_F32, .tf32 = 2),
    BAD(gemm_wgmma, ".b is bf16: with .dtype f32 it is the same, or both are f8E4M3FN or f8E5M2", .dtype = SETT_F32, .b = SETT_BF16, .tf32 = 1),
    BAD(gemm_wgmma, ".promote is 1: .dtype is f8E4M3FN or f8E5M2 then, and not f32", .dtype = SETT_F32, .tf32 = 1, .promote = 1),
    BAD(gemm_wgmma, ".c is i32: f32, f16, bf16, f8E4M3FN or f8E5M2; i8 with .quantise", .dtype = SETT_I8, .c = SETT_I32),
    BAD(gemm_wgmma, ".ping_pong is 1: then .stream_k is 0", .dtype = SETT_F16, .stream_k = 1, .tuning.ping_pong = 1),
    BAD(gemm_wgmma, ".swiglu is 1: then .scaled is 0", .dtype = SETT_BF16, .swiglu = 1, .scaled = 1),
    BAD(gemm_wgmma, ".swiglu is 1: .dtype is a float then", .dtype = SETT_I8, .swiglu = 1),
    BAD(gemm_wgmma, ".bn is 192: of .swiglu 256 or 128", .dtype = SETT_BF16, .swiglu = 1, .tuning.bn = 192),
    BAD(gemm_wgmma, ".bn is 72: 256, 128 or 64", .dtype = SETT_BF16, .tuning.bn = 72),
    BAD(gemm_wgmma, ".bm is 136: of .bn 256 it is at most 128", .dtype = SETT_BF16, .tuning = {.bm = 136, .bn = 256}),
    BAD(gemm_wgmma, ".bm is 136: of .bn 256 and .swiglu it is at most 128", .dtype = SETT_BF16, .swiglu = 1, .tuning = {.bm = 136, .bn = 256}),
    BAD(gemm_wgmma, ".stages is 7: from 2 to 6", .dtype = SETT_BF16, .tuning.stages = 7),
    BAD(gemm_wgmma, ".bm is 20: a multiple of 8, up to 256", .dtype = SETT_BF16, .tuning.bm = 20),
    BAD(gemm_wgmma, ".bm is 24: a multiple of 16, as .cluster is 2, up to 256", .dtype = SETT_BF16, .tuning = {.bm = 24, .cluster = 2}),
    BAD(gemm_wgmma, ".bm is 40: of i8 8, 24, or a multiple of 16", .dtype = SETT_I8, .tuning = {.bm = 40}),
    BAD(gemm_wgmma, ".b is f16: with .dtype bf16 it is the same, or both are f8E4M3FN or f8E5M2", .dtype = SETT_BF16, .b = SETT_F16),
    BAD(gemm_wgmma, ".stream_k is 2: from 0 to 1", .dtype = SETT_BF16, .stream_k = 2),
    BAD(gemm_wgmma, ".grouped is 3: from 0 to 2", .dtype = SETT_BF16, .grouped = (sett_grouped)3),
    BAD(gemm_wgmma, ".batched is 2: from 0 to 1", .dtype = SETT_BF16, .batched = 2),
    BAD(gemm_wgmma, ".batched is 1: with .grouped it is 0, as groups have rows of their own", .dtype = SETT_BF16, .batched = 1, .grouped = SETT_GROUPED_MASKED),
    BAD(gemm_wgmma, ".stream_k is 1: with .grouped it is 0, as a launch does not know the tiles", .dtype = SETT_BF16, .stream_k = 1, .grouped = SETT_GROUPED_CONTIGUOUS),
    BAD(gemm_wgmma, ".m is -1: from 0 to 2147483647", .dtype = SETT_BF16, .tuning.m = -1),
    BAD(gemm_wgmma, ".b is u8: with .dtype f8E4M3FN it is the same, or both are f8E4M3FN or f8E5M2", .dtype = SETT_F8E4M3FN, .b = SETT_U8),
    BAD(gemm_wgmma, ".promote is 1: .dtype is f8E4M3FN or f8E5M2 then, and not bf16", .dtype = SETT_BF16, .promote = 1),
    BAD(gemm_wgmma, ".block_scales is 1: .dtype is f8E4M3FN or f8E5M2 then, and not i8", .dtype = SETT_I8, .block_scales = 1),
    BAD(gemm_wgmma, ".promote is 2: from 0 to 1", .dtype = SETT_F8E4M3FN, .promote = 2),
    BAD(gemm_wgmma, ".block_scales is -1: from 0 to 1", .dtype = SETT_F8E4M3FN, .block_scales = -1),
    BAD(gemm_wgmma, ".block_scales is 1: then .scaled is 0", .dtype = SETT_F8E4M3FN, .block_scales = 1, .scaled = 1),
    BAD(gemm_wgmma, ".bm is 152: of .bn 128 and .promote it is at most 144", .dtype = SETT_F8E4M3FN, .promote = 1, .tuning.bm = 152),
    BAD(gemm_wgmma, ".bm is 64: of .bn 256, .promote and .stream_k it is at most 56", .dtype = SETT_F8E4M3FN, .promote = 1, .stream_k = 1, .tuning = {.bm = 64, .bn = 256}),
    BAD(gemm_wgmma, ".bm is 80: of .bn 256 and .swiglu and .promote it is at most 72", .dtype = SETT_F8E4M3FN, .promote = 1, .swiglu = 1, .tuning.bm = 80),
    BAD(gemm_wgmma, ".bm is 80: of .bn 128 and .swiglu and .block_scales it is at most 72", .dtype = SETT_F8E4M3FN, .block_scales = 1, .swiglu = 1, .tuning.bm = 80),
    BAD(attention, ".dtype is f32: f16, bf16 or f8E4M3FN", .dtype = SETT_F32),
    BAD(attention, ".d is 96: of f8E4M3FN 64, 128 or 256", .dtype = SETT_F8E4M3FN, .d = 96),
    BAD(attention, ".out is f16: as .dtype", .dtype = SETT_BF16, .out = SETT_F16),
    BAD(attention, ".out is f32: f16 or bf16", .dtype = SETT_F8E4M3FN, .out = SETT_F32),
    BAD(attention, ".scaled is 1: .dtype is f8E4M3FN then, and not bf16", .dtype = SETT_BF16, .scaled = 1),
    BAD(attention, ".keys is 48: a multiple of 32, up to 256", .dtype = SETT_F8E4M3FN, .tuning.keys = 48),
    BAD(attention, ".keys is 96: with .d 256, .rows 128 and .stages 2 more shared memory than a block has", .dtype = SETT_F8E4M3FN, .d = 256, .tuning = {.keys = 96}),
    BAD(attention, ".exact is 1: of f8E4M3FN with .d 256 then .softcap is 0", .dtype = SETT_F8E4M3FN, .d = 256, .exact = 1, .softcap = 1),
    BAD(attention, ".d is 80: 64, 96, 128, 192 or 256", .dtype = SETT_F16, .d = 80),
    BAD(attention, ".dv is 64: with .d 128 it is the same", .dtype = SETT_F16, .dv = 64),
    BAD(attention, ".dv is 96: with .d 192 it is 192 or 128", .dtype = SETT_F16, .d = 192, .dv = 96),
    BAD(attention, ".causal is 2: from 0 to 1", .dtype = SETT_F16, .causal = 2),
    BAD(attention, ".lse is -1: from 0 to 1", .dtype = SETT_F16, .lse = -1),
    BAD(attention, ".page is 24: 0, or a multiple of 16, up to 256", .dtype = SETT_F16, .page = 24),
    BAD(attention, ".page is 272: 0, or a multiple of 16, up to 256", .dtype = SETT_F16, .page = 272),
    BAD(attention, ".prefix is 1: then .window is 0", .dtype = SETT_F16, .prefix = 1, .window = 1),
    BAD(attention, ".softcap is 1: then .alibi is 0", .dtype = SETT_F16, .softcap = 1, .alibi = 1),
    BAD(attention, ".rows is 100: 64, 128 or 192", .dtype = SETT_F16, .tuning.rows = 100),
    BAD(attention, ".keys is 24: a multiple of 16, up to 256", .dtype = SETT_F16, .tuning.keys = 24),
    BAD(attention, ".keys is 208: of .dv 128 and .rows 128 at most 192", .dtype = SETT_F16, .tuning.keys = 208),
    BAD(attention, ".keys is 144: with .d 192, .rows 128 and .stages 2 more shared memory than a block has", .dtype = SETT_F16, .d = 192, .tuning.keys = 144),
    BAD(attention, ".keys is 64: with .d 256, .rows 128 and .stages 3 more shared memory than a block has", .dtype = SETT_F8E4M3FN, .d = 256, .tuning.stages = 3),
    BAD(attention, ".stages is 9: from 2 to 8", .dtype = SETT_F16, .tuning.stages = 9),
    BAD(attention, ".exact is 2: from 0 to 1", .dtype = SETT_F16, .exact = 2),
    BAD(attention, ".group is 3: 0, or 1, 2, 4 ... 64, H / HK", .dtype = SETT_F16, .group = 3),
    BAD(attention, ".group is 128: 0, or 1, 2, 4 ... 64, H / HK", .dtype = SETT_F16, .group = 128),
    BAD(dequantise, ".from is f8E4M3: i4, f4E2M1FN, i8, u8, f8E4M3FN, f8E5M2 or f8E8M0FNU", .dtype = SETT_F32, .from = SETT_F8E4M3),
    BAD(axpy, ".threads is 1025: from 1 to 1024", .dtype = SETT_F32, .tuning.threads = 1025),
    BAD(vector_reduce, ".op is 2: SETT_ADD, SETT_MIN or SETT_MAX", .dtype = SETT_F32, .op = SETT_MUL),
    BAD(vector_reduce, ".blocks is 700: a multiple of the 512 threads", .dtype = SETT_F32, .tuning.blocks = 700),
    BAD(row_reduce, ".threads is 16: from 32 to 1024", .dtype = SETT_F32, .tuning.threads = 16),
    BAD(transpose, ".rows is 5: a divisor of the tile's 64, and tile x rows at most 1024 threads", .dtype = SETT_F32, .tuning.rows = 5),
    BAD(transpose, ".tile is 128: from 1 to 104", .dtype = SETT_F32, .tuning.tile = 128),
    BAD(dequantise, ".from is f32: i4, f4E2M1FN, i8, u8, f8E4M3FN, f8E5M2 or f8E8M0FNU", .dtype = SETT_F32, .from = SETT_F32),
    BAD(dequantise, ".values_per_thread is 7, and must divide the group, which is 128", .dtype = SETT_F32, .tuning.values_per_thread = 7),
    BAD(dequantise, ".values_per_thread is 1: 1 weights of i4 are no whole bytes", .dtype = SETT_F32, .tuning.values_per_thread = 1),
    BAD(dequantise, ".values_per_thread is 2: a group of 4096 takes 2048 threads, and a block has at most 1024", .dtype = SETT_F32, .group = 4096, .tuning.values_per_thread = 2),
    BAD(embedding_grad, ".cols is 6: a multiple of 4, 16 bytes", .dtype = SETT_F32, .cols = 6),
};

/* By the calls of the library and, the body alone being compiled, by the build. */
START_TEST(refused)
{
    unsigned char copy[256]; /* of any options */
    char want[300];
    void *tape = NULL;
    size_t len;
    ck_assert_uint_le(*(const size_t *)bad[_i].options, sizeof copy);
    memcpy(copy, bad[_i].options, *(const size_t *)bad[_i].options);
    snprintf(want, sizeof want, "sett_kernels_choose: %s", bad[_i].why);
    ck_assert_int_eq(sett_kernels_choose(bad[_i].body, copy, NULL, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, want);
    ck_assert_int_eq(err.status, SETT_E_ARGUMENT);
    ck_assert_mem_eq(copy, bad[_i].options, *(const size_t *)bad[_i].options);
    snprintf(want, sizeof want, "sett_%s", bad[_i].why);
    const sett_compile_options o = {.size = sizeof o, .user = bad[_i].options};
    ck_assert_int_eq(sett_record(bad[_i].body, &o, false, &tape, &len, &err), SETT_E_ARGUMENT);
    ck_assert_msg(strstr(err.text, want) != NULL, "%s", err.text);
}
END_TEST

static void nothing(sett_build *b, const void *user)
{
    (void)b, (void)user;
}

/* Every pair of options at the ends of what an int holds and around what is allowed: taken or refused, and no arithmetic overflows. */
START_TEST(extreme_options)
{
    static const int ends[] = {INT_MIN, -1, 1, 2, 31, 32, 33, 1000, 1 << 16, 1 << 20, 1 << 29, 1 << 30, INT_MAX};
    enum { ENDS = sizeof ends / sizeof *ends, FIRST = sizeof(size_t) / sizeof(int), COLS = FIRST + 2 };
    const sett_family *f = sett_kernels_family(_i);
    const size_t words = f->user_size / sizeof(int);
    for (size_t pair = 0; pair < words * words * ENDS * ENDS; pair++) {
        union {
            size_t size;
            int word[64];
        } u = {.size = f->user_size};
        ck_assert_uint_le(f->user_size, sizeof u);
        const size_t a = pair / (ENDS * ENDS) / words, b = pair / (ENDS * ENDS) % words;
        if (a < FIRST || b < a)
            continue;
        u.word[FIRST] = SETT_BF16, u.word[COLS] = 4096;
        u.word[a] = ends[pair / ENDS % ENDS], u.word[b] = ends[pair % ENDS];
        const sett_status s = sett_kernels_choose(f->body, &u, NULL, &err);
        ck_assert_msg(s == SETT_OK || s == SETT_E_ARGUMENT, "%s, options %zu and %zu: %s", f->name, a, b, err.text);
    }
}
END_TEST

START_TEST(no_target_or_engine)
{
    static const char *const none[] = {"nonsense", "", "sm_", "sm_9", "sm_90x", "sm_90aa", "cpu ", "sm_1000"};
    sett_softmax_options o = {.size = sizeof o, .dtype = SETT_F32, .cols = 8};
    char want[120];
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        snprintf(want, sizeof want, "sett_kernels_choose: \"%s\" is no target: \"cpu\", \"sm_90a\" ...", none[i]);
        ck_assert_int_eq(sett_kernels_choose(sett_softmax, &o, none[i], &err), SETT_E_ARGUMENT);
        ck_assert_str_eq(err.text, want);
        ck_assert_int_eq(o.tuning.threads, 0);
    }
    sett_kernel *k = (sett_kernel *)&o;
    ck_assert_int_eq(sett_kernels_compile(NULL, sett_softmax, &o, NULL, &k, &err), SETT_E_ARGUMENT);
    ck_assert_ptr_null(k);
    k = (sett_kernel *)&o;
    ck_assert_int_eq(sett_kernels_compile(r.e, nothing, &o, NULL, &k, &err), SETT_E_ARGUMENT);
    ck_assert_ptr_null(k);
}
END_TEST

START_TEST(options_have_a_size)
{
    sett_softmax_options o = {.size = sizeof o, .dtype = SETT_F32, .cols = 8};
    sett_kernel *k = NULL;
    ck_assert_int_eq(sett_kernels_compile(r.e, nothing, &o, NULL, &k, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "sett_kernels_compile: the body is none of sett/kernels.h");
    ck_assert_int_eq(sett_kernels_compile(r.e, sett_softmax, NULL, NULL, &k, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "sett_kernels_compile: softmax: there are no options: the user data is the address of a sett_softmax_options");
    o.size = 0;
    ck_assert_int_eq(sett_kernels_compile(r.e, sett_softmax, &o, NULL, &k, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "sett_kernels_compile: softmax: the options have no .size: it is sizeof(sett_softmax_options)");
    o.size = sizeof o + 8;
    ck_assert_int_eq(sett_kernels_compile(r.e, sett_softmax, &o, NULL, &k, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "sett_kernels_compile: softmax: the options are of 32 bytes, and this library knows 24: it is older than the header");
    ck_assert_ptr_null(k);
}
END_TEST

/* What a sealed engine lacks is told with the options that choose it, as they were settled. */
START_TEST(a_miss_names_its_options)
{
    sett_engine *e;
    sett_kernel *k;
    const sett_engine_options eo = {.size = sizeof eo, .cache_dir = "", .no_gpu = true, .sealed = true};
    const sett_rms_norm_options o = {.size = sizeof o, .dtype = SETT_BF16, .cols = 5120, .residual = 1};
    const sett_dequantise_options q = {.size = sizeof q, .dtype = SETT_F16, .group = 64};
    ck_assert_msg(!sett_engine_open(&e, &eo, &err), "%s", err.text);
    ck_assert_int_eq(sett_kernels_compile(e, sett_rms_norm, &o, "sm_90a", &k, &err), SETT_E_NOT_CACHED);
    ck_assert_msg(!strncmp(err.text, "rms_norm for sm_90a, key ", 25) && strstr(err.text, " (dtype=bf16 cols=5120 residual=1 threads="), "%s", err.text);
    ck_assert_int_eq(sett_kernels_compile(e, sett_dequantise, &q, "sm_90a", &k, &err), SETT_E_NOT_CACHED);
    ck_assert_msg(strstr(err.text, " (dtype=f16 from=i4 group=64"), "%s", err.text);
    ck_assert_int_eq(sett_kernels_compile(e, sett_rms_norm, &o, "sm_90a", &k, NULL), SETT_E_NOT_CACHED);
    sett_engine_close(e);
}
END_TEST

/* Who was compiled when the struct ended earlier: what it does not know is as if it were 0, and stays unwritten. */
START_TEST(an_older_caller)
{
    sett_softmax_options o = {.size = offsetof(sett_softmax_options, tuning), .dtype = SETT_F32, .cols = 4096, .tuning.threads = 12345};
    ck_assert_msg(!sett_kernels_choose(sett_softmax, &o, NULL, &err), "%s", err.text);
    ck_assert_int_eq(o.tuning.threads, 12345);
    ck_assert_uint_eq(o.size, offsetof(sett_softmax_options, tuning));
    sett_kernel *k = compiled(sett_softmax, &o);
    sett_kernel_release(k);
}
END_TEST

/* What is given stays, what is 0 is chosen, and what was chosen is taken as it is. */
START_TEST(a_choice)
{
    static const char *const targets[] = {NULL, "cpu", "sm_75", "sm_80", "sm_90a", "sm_100a"};
    for (int t = 0; t < 6; t++)
        for (int i = 0; i < COLUMNS; i++) {
            sett_rms_norm_options o = {.size = sizeof o, .dtype = SETT_BF16, .cols = columns[i], .tuning.rows = i % 2 ? 5 : 0}, again;
            ck_assert_msg(!sett_kernels_choose(sett_rms_norm, &o, targets[t], &err), "%s", err.text);
            ck_assert(o.tuning.threads >= 32 && o.tuning.threads % 32 == 0 && o.tuning.registers && o.tuning.rows == (i % 2 ? 5 : o.tuning.rows) && o.cols == columns[i]);
            ck_assert(t != 2 || o.tuning.registers == 1); /* sm_75 has no cp.async */
            again = o;
            ck_assert(!sett_kernels_choose(sett_rms_norm, &again, targets[t], &err) && !memcmp(&o, &again, sizeof o));
        }
}
END_TEST

/* A row of 128 KiB waits in shared memory where a block may have so much. */
START_TEST(a_choice_by_shared_memory)
{
    static const struct {
        const char *target;
        int registers;
    } has[] = {{"cpu", 2}, {"sm_75", 1}, {"sm_80", 2}, {"sm_86", 1}, {"sm_87", 2}, {"sm_88", 1}, {"sm_89", 1}, {"sm_90a", 2}, {"sm_103a", 2}, {"sm_110a", 2}, {"sm_121a", 1}};
    sett_rms_norm_options o = {.size = sizeof o, .dtype = SETT_BF16, .cols = 65536};
    ck_assert_msg(!sett_kernels_choose(sett_rms_norm, &o, has[_i].target, &err), "%s", err.text);
    ck_assert_msg(o.tuning.registers == has[_i].registers, "%s: %d", has[_i].target, o.tuning.registers);
}
END_TEST

/* Workspace and target of every kernel, and what is refused. */
START_TEST(needs)
{
    const sett_vector_reduce_options o = {.size = sizeof o, .dtype = SETT_F32}, small = {.size = sizeof small, .dtype = SETT_F32, .tuning = {.threads = 32, .blocks = 96}};
    const sett_vector_reduce_options odd = {.size = sizeof odd, .dtype = SETT_F32, .tuning = {.blocks = 700}};
    const sett_axpy_options none = {.size = sizeof none, .dtype = SETT_F32};
    sett_vector_reduce_options chosen = o;
    size_t bytes = 1;
    ck_assert(!sett_kernels_choose(sett_vector_reduce, &chosen, "sm_80", &err));
    ck_assert(!sett_kernels_workspace(sett_vector_reduce, &o, "sm_80", &bytes, &err) && bytes == 4 * (size_t)chosen.tuning.blocks);
    ck_assert(!sett_kernels_workspace(sett_vector_reduce, &small, NULL, &bytes, NULL) && bytes == 4 * 96);
    ck_assert(!sett_kernels_workspace(sett_axpy, &none, NULL, &bytes, &err) && bytes == 0);
    bytes = 1;
    ck_assert_int_eq(sett_kernels_workspace(sett_vector_reduce, &odd, NULL, &bytes, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "sett_kernels_workspace: vector_reduce: .blocks is 700: a multiple of the 512 threads");
    ck_assert_uint_eq(bytes, 0);
    ck_assert_int_eq(sett_kernels_workspace(sett_axpy, &none, "gpu", &bytes, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "sett_kernels_workspace: \"gpu\" is no target: \"cpu\", \"sm_90a\" ...");
    ck_assert_int_eq(sett_kernels_workspace(nothing, &none, NULL, &bytes, &err), SETT_E_ARGUMENT);
    const sett_family *f;
    for (int i = 0; (f = sett_kernels_family(i)) != NULL; i++) {
        const bool hopper = f->body == sett_gemm_wgmma || f->body == sett_attention_mla, ampere = f->body == sett_gemm_mma || f->body == sett_gemm_mixed || f->body == sett_attention || f->body == sett_attention_decode || f->body == sett_moe_topk;
        const char *least = sett_kernels_least_target(f->body);
        const char *want = hopper ? "sm_90a" : ampere ? "sm_80" : NULL;
        ck_assert_msg(want ? least && !strcmp(least, want) : !least, "%s", f->name);
    }
    ck_assert_ptr_null(sett_kernels_least_target(nothing));
}
END_TEST

/* Every family is one that `sett warm` takes, and lists each member of its options, those of .tuning by their own names. */
START_TEST(families)
{
    int n = 0;
    for (const sett_family *f; (f = sett_kernels_family(n)) != NULL; n++) {
        ck_assert(f->size == sizeof *f && f->body && f->name && f->n_params >= 3);
        ck_assert_uint_eq(*(const size_t *)f->defaults, f->user_size);
        uint64_t words = (1ull << sizeof(size_t) / sizeof(int)) - 1; /* that are known: those of .size, and then of each member */
        for (int i = 0; i < f->n_params; i++) {
            const sett_family_param *p = &f->params[i];
            const uint64_t own = 1ull << p->offset / sizeof(int);
            ck_assert_msg(!strchr(p->name, '.') && p->bytes == sizeof(int) && p->offset + p->bytes <= f->user_size && !(words & own), "%s %s", f->name, p->name);
            words |= own;
        }
        const int missing = (int)(f->user_size / sizeof(int)) - __builtin_popcountll(words);
        ck_assert_msg(missing == 0 || missing == 1, "%s has %d members that are no parameters", f->name, missing); /* .reserved */
    }
    ck_assert_int_eq(n, 29);
    ck_assert_ptr_null(sett_kernels_family(-1));
}
END_TEST

/* A body is called by who records it; given a build that has ended, or none, it does nothing. */
START_TEST(an_ended_build)
{
    const sett_softmax_options o = {.size = sizeof o, .dtype = SETT_F32, .cols = 8};
    sett_build *b = sett_build_begin();
    ck_assert(b && !sett_build_end(b, NULL));
    sett_softmax(b, &o);
    sett_softmax(NULL, &o);
    for (int i = 0; sett_kernels_family(i); i++)
        sett_kernels_family(i)->body(b, NULL);
}
END_TEST

Suite *kernels_suite(void)
{
    Suite *s = suite_create("kernels");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, softmax, 0, FLOATS * COLUMNS);
    tcase_add_loop_test(t, softmax_of_large_values, 0, FLOATS);
    tcase_add_loop_test(t, rms_norm, 0, FLOATS * COLUMNS);
    tcase_add_loop_test(t, layer_norm, 0, FLOATS * COLUMNS);
    tcase_add_loop_test(t, silu_mul, 0, FLOATS * COLUMNS);
    tcase_add_loop_test(t, row_reduce, 0, FLOATS * COLUMNS);
    tcase_add_loop_test(t, vector_reduce, 0, FLOATS * 3);
    tcase_add_loop_test(t, elementwise, 0, FLOATS * 5);
    tcase_add_loop_test(t, axpy, 0, FLOATS);
    tcase_add_loop_test(t, transpose, 0, FLOATS);
    tcase_add_loop_test(t, dequantise, 0, FLOATS);
    tcase_add_loop_test(t, embedding_grad, 0, FLOATS);
    tcase_add_loop_test(t, refused, 0, (int)(sizeof bad / sizeof *bad));
    tcase_add_loop_test(t, extreme_options, 0, 20);
    tcase_add_test(t, no_target_or_engine);
    tcase_add_test(t, options_have_a_size);
    tcase_add_test(t, a_miss_names_its_options);
    tcase_add_test(t, an_older_caller);
    tcase_add_test(t, a_choice);
    tcase_add_loop_test(t, a_choice_by_shared_memory, 0, 11);
    tcase_add_test(t, needs);
    tcase_add_test(t, families);
    tcase_add_test(t, an_ended_build);
    suite_add_tcase(s, t);
    return s;
}
