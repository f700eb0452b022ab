/* SPDX-License-Identifier: Apache-2.0 */
/* The shape (block, values a thread) that each memory-bound example has by itself, beside the best of its sweep.
 *     sweep               every kernel, on the GPU
 *     sweep NAME...       these
 *     sweep check         each shape once, small, on the CPU engine: does it compute what the example's own does?
 * Sizes are several times the L2 cache. Every shape of a kernel is timed in every round, in random order, as a CUDA graph of 10
 * launches on random data; then the example's own and the three best others by themselves, which is what the table is of. */
#include "../examples/kernels.h"
#include "../examples/common.h"
#include <ctype.h>

enum { SHAPES = 40, OPERANDS = 7, LOOK = 1 << 14, ROUNDS = 7, FINAL_ROUNDS = 31, FINALISTS = 4, PATTERN = 1 << 24 };

/* A kernel's argument: its extents, a letter each (see extent_of). '>': is written, '+': is read and added to. No extents: a number. */
typedef struct operand {
    sett_dtype dtype;
    const char *extents;
    double number;
} operand;

typedef struct shape {
    const char *text;
    const void *user;
} shape;
#define SHAPE(type, ...) {#__VA_ARGS__, &(const struct type){__VA_ARGS__}}

typedef struct work {
    const char *name;
    sett_body body;
    int64_t m, small_m, n; /* what M is, and in a check; N */
    int n_operands;
    operand operands[OPERANDS];
    shape shapes[SHAPES]; /* the example's own first */
} work;

#define BF16_ROW(cols_) .dtype = SETT_BF16, .cols = cols_
#define T(dtype_, extents_) {dtype_, extents_, 0}
#define ROWS_BF16 T(SETT_BF16, "MN")
static const work all[] = {
    {"row_sum, f32 8192 x 16384", row_sum, 8192, 7, 16384, 2, {T(SETT_F32, "MN"), T(SETT_F32, "M>")},
        {{"own", NULL}, SHAPE(row_sum, .threads = 128), SHAPE(row_sum, .threads = 256), SHAPE(row_sum, .threads = 512), SHAPE(row_sum, .threads = 1024),
            SHAPE(row_sum, .threads = 128, .unroll = 4), SHAPE(row_sum, .threads = 256, .unroll = 2), SHAPE(row_sum, .threads = 256, .unroll = 4),
            SHAPE(row_sum, .threads = 256, .unroll = 8), SHAPE(row_sum, .threads = 512, .unroll = 4), SHAPE(row_sum, .threads = 512, .unroll = 8),
            SHAPE(row_sum, .threads = 1024, .unroll = 4), SHAPE(row_sum, .threads = 128, .unroll = 8), SHAPE(row_sum, .threads = 128, .unroll = 16),
            SHAPE(row_sum, .threads = 256, .unroll = 16), SHAPE(row_sum, .threads = 64, .unroll = 16), SHAPE(row_sum, .threads = 1024, .unroll = 8),
            SHAPE(row_sum, .threads = 64, .unroll = 8), SHAPE(row_sum, .threads = 96, .unroll = 8), SHAPE(row_sum, .threads = 160, .unroll = 8), SHAPE(row_sum, .threads = 192, .unroll = 8)}},
    {"add_vectorised, f16 16384 x 8192", add_vectorised, 16384, 9, 8192, 3, {T(SETT_F16, "MN"), T(SETT_F16, "MN"), T(SETT_F16, "MN>")},
        {{"own", NULL}, SHAPE(add_vectorised, .threads = 64), SHAPE(add_vectorised, .threads = 128), SHAPE(add_vectorised, .threads = 256),
            SHAPE(add_vectorised, .threads = 512), SHAPE(add_vectorised, .threads = 1024), SHAPE(add_vectorised, .threads = 128, .each = 16),
            SHAPE(add_vectorised, .threads = 256, .each = 16), SHAPE(add_vectorised, .threads = 512, .each = 16), SHAPE(add_vectorised, .threads = 256, .each = 32)}},
    {"add_tv, f16 16384 x 8192", add_tv, 16384, 64, 8192, 3, {T(SETT_F16, "MN"), T(SETT_F16, "MN"), T(SETT_F16, "MN>")},
        {SHAPE(add_tv, .early = 1), SHAPE(add_tv, .thr_m = 4, .thr_n = 32, .early = 1), SHAPE(add_tv, .thr_m = 4, .thr_n = 32, .val_m = 4, .early = 1),
            SHAPE(add_tv, .thr_m = 16, .thr_n = 32, .early = 1), SHAPE(add_tv, .thr_m = 32, .thr_n = 32, .early = 1), SHAPE(add_tv, .thr_m = 1, .thr_n = 128, .early = 1),
            SHAPE(add_tv, .thr_m = 2, .thr_n = 128, .early = 1), SHAPE(add_tv, .thr_m = 4, .thr_n = 128, .early = 1), SHAPE(add_tv, .thr_m = 8, .thr_n = 128, .early = 1),
            SHAPE(add_tv, .thr_m = 1, .thr_n = 256, .early = 1), SHAPE(add_tv, .thr_m = 2, .thr_n = 256, .early = 1), SHAPE(add_tv, .thr_m = 1, .thr_n = 512, .early = 1),
            SHAPE(add_tv, .thr_m = 2, .thr_n = 512, .early = 1), SHAPE(add_tv, .thr_m = 1, .thr_n = 128, .val_m = 2, .early = 1), SHAPE(add_tv, .remap = 1, .early = 1)}},
    {"apply mul_relu, f16 16384 x 8192", apply, 16384, 9, 8192, 3, {T(SETT_F16, "MN"), T(SETT_F16, "MN"), T(SETT_F16, "MN>")},
#define APPLY(m_, n_, v_) SHAPE(apply, .thr_m = m_, .thr_n = n_, .val_m = v_, .dtype = SETT_F16, .op = apply_mul_relu)
        {APPLY(0, 0, 0), APPLY(4, 32, 1), APPLY(4, 32, 2), APPLY(4, 32, 4), APPLY(4, 32, 8), APPLY(8, 32, 1), APPLY(8, 32, 2), APPLY(8, 32, 4), APPLY(16, 32, 1),
            APPLY(16, 32, 2), APPLY(32, 32, 1), APPLY(1, 128, 1), APPLY(1, 128, 2), APPLY(1, 128, 4), APPLY(2, 128, 1), APPLY(2, 128, 2), APPLY(4, 128, 1),
            APPLY(8, 128, 1), APPLY(1, 256, 1), APPLY(1, 256, 2), APPLY(2, 256, 1), APPLY(1, 512, 1), APPLY(2, 512, 1)}},
    {"saxpy, f32 2^26", saxpy_of, 1 << 26, 5003, 0, 3, {T(SETT_F32, "M"), T(SETT_F32, "M+"), {0, NULL, 1e-3}},
        {SHAPE(saxpy, 256, 1), SHAPE(saxpy, 128, 1), SHAPE(saxpy, 128, 2), SHAPE(saxpy, 128, 4), SHAPE(saxpy, 256, 2), SHAPE(saxpy, 256, 4), SHAPE(saxpy, 512, 1),
            SHAPE(saxpy, 512, 2), SHAPE(saxpy, 512, 4), SHAPE(saxpy, 1024, 1), SHAPE(saxpy, 1024, 2)}},
    {"transpose, f32 8192 x 8192", transpose, 8192, 100, 8192, 2, {T(SETT_F32, "MN"), T(SETT_F32, "NM>")},
        {{"own", NULL}, SHAPE(transpose, 32, 2), SHAPE(transpose, 32, 4), SHAPE(transpose, 32, 8), SHAPE(transpose, 32, 16), SHAPE(transpose, 32, 32),
            SHAPE(transpose, 64, 2), SHAPE(transpose, 64, 4), SHAPE(transpose, 64, 8), SHAPE(transpose, 64, 16)}},
    {"softmax, bf16 16384 x 8192", softmax, 16384, 3, 8192, 2, {ROWS_BF16, T(SETT_BF16, "MN>")},
#define SOFTMAX(cols_, threads_) SHAPE(softmax, .threads = threads_, BF16_ROW(cols_), .early = 1)
        {SOFTMAX(8192, 128), SOFTMAX(8192, 256), SOFTMAX(8192, 512), SOFTMAX(8192, 1024)}},
    {"softmax, bf16 16384 x 8191", softmax, 16384, 9, 8191, 2, {ROWS_BF16, T(SETT_BF16, "MN>")},
        {SOFTMAX(8191, 128), SOFTMAX(8191, 96), SOFTMAX(8191, 160), SOFTMAX(8191, 192), SOFTMAX(8191, 224), SOFTMAX(8191, 256), SOFTMAX(8191, 352),
            SOFTMAX(8191, 544), SOFTMAX(8191, 1024)}},
    {"rms_norm, bf16 16384 x 8192", rms_norm, 16384, 3, 8192, 4, {ROWS_BF16, T(SETT_BF16, "N"), T(SETT_BF16, "MN>"), {0, NULL, 1e-5}},
#define RMS_NORM(cols_, threads_, rows_) SHAPE(rms_norm, .threads = threads_, .rows = rows_, BF16_ROW(cols_), .early = 1)
        {RMS_NORM(8192, 128, 0), RMS_NORM(8192, 256, 0), RMS_NORM(8192, 512, 0), RMS_NORM(8192, 1024, 0)}},
    {"rms_norm, bf16 16384 x 8191", rms_norm, 16384, 70, 8191, 4, {ROWS_BF16, T(SETT_BF16, "N"), T(SETT_BF16, "MN>"), {0, NULL, 1e-5}},
        {RMS_NORM(8191, 128, 0), RMS_NORM(8191, 128, 1), RMS_NORM(8191, 128, 2), RMS_NORM(8191, 128, 3), RMS_NORM(8191, 128, 5), RMS_NORM(8191, 128, 6), RMS_NORM(8191, 128, 4), RMS_NORM(8191, 128, 8), RMS_NORM(8191, 128, 16),
            RMS_NORM(8191, 192, 2), RMS_NORM(8191, 192, 4), RMS_NORM(8191, 192, 8), RMS_NORM(8191, 192, 16), RMS_NORM(8191, 256, 4), RMS_NORM(8191, 256, 8),
            RMS_NORM(8191, 352, 1), RMS_NORM(8191, 352, 4), RMS_NORM(8191, 352, 8), RMS_NORM(8191, 544, 2), RMS_NORM(8191, 544, 8)}},
    {"layer_norm, bf16 65536 x 768", layer_norm, 65536, 65, 768, 7,
        {ROWS_BF16, ROWS_BF16, T(SETT_BF16, "N"), T(SETT_BF16, "N"), T(SETT_BF16, "MN>"), T(SETT_BF16, "MN>"), {0, NULL, 1e-5}},
#define LAYER_NORM(warps_, rows_) SHAPE(layer_norm, .warps = warps_, .rows = rows_, BF16_ROW(768), .early = 1)
        {LAYER_NORM(4, 1), LAYER_NORM(1, 1), LAYER_NORM(1, 2), LAYER_NORM(1, 4), LAYER_NORM(2, 1), LAYER_NORM(2, 2), LAYER_NORM(2, 4), LAYER_NORM(4, 2),
            LAYER_NORM(4, 4), LAYER_NORM(8, 1), LAYER_NORM(8, 2), LAYER_NORM(8, 4)}},
    {"silu_mul, bf16 8192 x (2 x 14336)", silu_mul, 8192, 3, 14336, 2, {T(SETT_BF16, "M2N"), T(SETT_BF16, "MN>")},
#define SILU_MUL(threads_, each_) SHAPE(silu_mul, .threads = threads_, .each = each_, BF16_ROW(14336), .early = 1)
        {SILU_MUL(256, 1), SILU_MUL(128, 1), SILU_MUL(128, 2), SILU_MUL(256, 7), SILU_MUL(896, 1), SILU_MUL(896, 2), SILU_MUL(448, 1), SILU_MUL(448, 2),
            SILU_MUL(448, 4), SILU_MUL(224, 2)}},
    {"sum, f32 2^28", sum, 1 << 28, 1000004, 0, 4, {T(SETT_F32, "M"), T(SETT_F32, "B"), T(SETT_U32, "1"), T(SETT_F32, "1>")},
        {SHAPE(sum, 512, 2048, 4, 1), SHAPE(sum, 512, 1024, 4, 0), SHAPE(sum, 256, 1024, 4, 0), SHAPE(sum, 256, 2048, 4, 0), SHAPE(sum, 512, 512, 4, 0), SHAPE(sum, 512, 512, 2, 0),
            SHAPE(sum, 512, 1024, 2, 0), SHAPE(sum, 512, 1024, 8, 0), SHAPE(sum, 512, 2048, 4, 0), SHAPE(sum, 512, 1024, 4, 1), SHAPE(sum, 256, 2048, 4, 1), SHAPE(sum, 256, 4096, 4, 1), SHAPE(sum, 512, 4096, 4, 1), SHAPE(sum, 512, 2048, 8, 1),
            SHAPE(sum, 1024, 2048, 4, 1), SHAPE(sum, 512, 8192, 4, 1)}},
    {"w4a16, 28672 x 8192", w4a16, 28672, 75, 8192, 3, {T(SETT_I4, "MN"), T(SETT_BF16, "MK"), T(SETT_BF16, "MN>")},
#define W4A16(each_, rows_) SHAPE(w4a16, .each = each_, .rows = rows_)
        {{"own", NULL}, W4A16(32, 16), W4A16(32, 32), W4A16(32, 64), W4A16(32, 128), W4A16(32, 256), W4A16(16, 8), W4A16(16, 16), W4A16(16, 32), W4A16(16, 64),
            W4A16(16, 128), W4A16(16, 48), W4A16(16, 96), W4A16(8, 4), W4A16(8, 8), W4A16(8, 16), W4A16(8, 32), W4A16(8, 64)}},
    {"heads, f32 16 x (32 heads x 131072)", swap_heads, 16, 3, 1 << 22, 3, {T(SETT_F32, "MN"), T(SETT_F32, "MN>"), {0, "H", 32}},
        {{"own", NULL}, SHAPE(swap_heads, 64), SHAPE(swap_heads, 128), SHAPE(swap_heads, 256), SHAPE(swap_heads, 160), SHAPE(swap_heads, 192), SHAPE(swap_heads, 224), SHAPE(swap_heads, 320), SHAPE(swap_heads, 384), SHAPE(swap_heads, 512), SHAPE(swap_heads, 1024)}},
    {"embedding_grad, f32 131072 x 1024 into 50000", embedding_grad, 131072, 67, 1024, 3, {T(SETT_I32, "M"), T(SETT_F32, "MN"), T(SETT_F32, "VN+")},
#define EMBEDDING(d_, t_) SHAPE(embedding_grad, .tokens = t_, .dtype = d_, .dim = 1024)
        {EMBEDDING(SETT_F32, 0), EMBEDDING(SETT_F32, 1), EMBEDDING(SETT_F32, 2), EMBEDDING(SETT_F32, 4)}},
    {"embedding_grad, bf16 131072 x 1024 into 50000", embedding_grad, 131072, 67, 1024, 3, {T(SETT_I32, "M"), ROWS_BF16, T(SETT_BF16, "VN+")},
        {EMBEDDING(SETT_BF16, 0), EMBEDDING(SETT_BF16, 1), EMBEDDING(SETT_BF16, 2), EMBEDDING(SETT_BF16, 4), EMBEDDING(SETT_BF16, 8)}},
    {"halo, f32 8192 x 16384", heat, 8192, 33, 16384, 2, {T(SETT_F32, "MN"), T(SETT_F32, "MN>")},
        {{"own", NULL}, SHAPE(heat, 8, 32, 128), SHAPE(heat, 8, 32, 256), SHAPE(heat, 16, 32, 128), SHAPE(heat, 16, 32, 256), SHAPE(heat, 16, 32, 512),
            SHAPE(heat, 32, 32, 256), SHAPE(heat, 32, 32, 512), SHAPE(heat, 32, 32, 1024), SHAPE(heat, 8, 64, 256), SHAPE(heat, 8, 64, 512), SHAPE(heat, 16, 64, 256),
            SHAPE(heat, 16, 64, 512), SHAPE(heat, 32, 64, 256), SHAPE(heat, 32, 64, 512), SHAPE(heat, 32, 64, 1024), SHAPE(heat, 8, 128, 256), SHAPE(heat, 8, 128, 512),
            SHAPE(heat, 16, 128, 256), SHAPE(heat, 16, 128, 512), SHAPE(heat, 16, 128, 1024), SHAPE(heat, 32, 128, 512), SHAPE(heat, 32, 128, 1024),
            SHAPE(heat, 8, 256, 256), SHAPE(heat, 8, 256, 512), SHAPE(heat, 16, 256, 512), SHAPE(heat, 16, 32, 64), SHAPE(heat, 16, 64, 128), SHAPE(heat, 32, 64, 128), SHAPE(heat, 8, 128, 128), SHAPE(heat, 16, 128, 128),
            SHAPE(heat, 32, 128, 256), SHAPE(heat, 4, 256, 256), SHAPE(heat, 16, 256, 256), SHAPE(heat, 64, 64, 256), SHAPE(heat, 8, 512, 512)}},
    {"async_pipeline, f32 4096 x 16384", scale_and_sum, 4096, 3, 16384, 3, {T(SETT_F32, "MN"), T(SETT_F32, "MN>"), T(SETT_F32, "M>")},
        {{"own", NULL}, SHAPE(scale_and_sum, 64, 4), SHAPE(scale_and_sum, 128, 2), SHAPE(scale_and_sum, 128, 3), SHAPE(scale_and_sum, 128, 4), SHAPE(scale_and_sum, 128, 6),
            SHAPE(scale_and_sum, 128, 8), SHAPE(scale_and_sum, 256, 2), SHAPE(scale_and_sum, 256, 3), SHAPE(scale_and_sum, 256, 4), SHAPE(scale_and_sum, 256, 6),
            SHAPE(scale_and_sum, 256, 8), SHAPE(scale_and_sum, 512, 2), SHAPE(scale_and_sum, 512, 3), SHAPE(scale_and_sum, 512, 4), SHAPE(scale_and_sum, 1024, 2), SHAPE(scale_and_sum, 1024, 3)}},
};
static const char *const left_out[][2] = {{"add_naive", "one element a thread is what it shows"}, {"blocks", "a group of 8 blocks of 32 is the format's"},
    {"mandelbrot", "computes"}, {"autotune", "sweeps itself"}, {"the lessons, graphs, dlpack, printing", "a few elements"}};

/* ---- data ---------------------------------------------------------------------------------- */
typedef struct state {
    run r;
    const work *w;
    bool small;
    sett_kernel *k[SHAPES];
    sett_buf buf[OPERANDS];
    size_t bytes[OPERANDS];
    double moved; /* bytes of one launch */
    int n;        /* shapes */
} state;

static int64_t extent_of(const state *s, char c)
{
    enum { VOCABULARY = 50000, GROUP = 128, MOST_BLOCKS = 1 << 16 };
    return c == 'M' ? (s->small ? s->w->small_m : s->w->m) : c == 'N' ? s->w->n : c == 'K' ? s->w->n / GROUP : c == 'V' ? (s->small ? 100 : VOCABULARY) :
           c == 'B' ? MOST_BLOCKS : c - '0';
}

/* Random numbers, the same ones over and over; indices of rows where they are whole. */
static void fill(state *s, int i)
{
    const operand *o = &s->w->operands[i];
    static uint8_t pattern[PATTERN];
    const size_t each = (size_t)sett_dtype_bits(o->dtype) / 8, n = s->bytes[i] < PATTERN ? s->bytes[i] : PATTERN;
    if (o->dtype == SETT_U32)
        memset(pattern, 0, n); /* a counter */
    else if (o->dtype == SETT_I32)
        for (size_t k = 0; k < n / 4; k++)
            ((int32_t *)pattern)[k] = (int32_t)((uniform(&s->r.seed) + 1) / 2 * (double)extent_of(s, 'V'));
    else if (!each)
        for (size_t k = 0; k < n; k++)
            pattern[k] = (uint8_t)(uniform(&s->r.seed) * 128 + 128);
    else
        for (size_t k = 0; k < n / each; k++)
            put(o->dtype, pattern, k, uniform(&s->r.seed));
    for (size_t at = 0; at < s->bytes[i]; at += n)
        check(&s->r, sett_memcpy(s->r.e, s->r.stream, (uint8_t *)s->buf[i].data + at, pattern, s->bytes[i] - at < n ? s->bytes[i] - at : n));
}

static void allocate(state *s)
{
    s->moved = 0;
    for (int i = 0; i < s->w->n_operands; i++) {
        const operand *o = &s->w->operands[i];
        int64_t extent[3], n = 1;
        int rank = 0;
        if (!o->dtype)
            continue;
        for (; isalnum(o->extents[rank]); rank++)
            n *= extent[rank] = extent_of(s, o->extents[rank]);
        s->bytes[i] = (size_t)n * (size_t)sett_dtype_bits(o->dtype) / 8;
        s->moved += (double)s->bytes[i] * (o->extents[rank] == '+' ? 2 : 1);
        s->buf[i] = sett_buf_nd(sett_alloc(s->r.e, s->r.stream.device, s->bytes[i]), o->dtype, rank, extent);
        if (!s->buf[i].data)
            check(&s->r, SETT_E_MEMORY);
        fill(s, i);
    }
}

static void binds_of(state *s, int at, sett_bind *bind)
{
    for (int i = 0; i < s->w->n_operands; i++) {
        const operand *o = &s->w->operands[i];
        if (o->dtype && *o->extents == 'B')
            s->buf[i].shape[0] = ((const struct sum *)s->w->shapes[at].user)->blocks;
        bind[i] = o->dtype ? sett_bind_t(&s->buf[i]) : o->extents ? sett_bind_i((long long)o->number) : sett_bind_f(o->number);
    }
}

/* ---- what each shape computes ----------------------------------------------------------------- */
static void launch(state *s, int at)
{
    sett_bind bind[OPERANDS];
    binds_of(s, at, bind);
    check(&s->r, sett_launch_n(s->k[at], s->r.stream, s->w->n_operands, bind, &s->r.err));
    check(&s->r, sett_sync_error(s->r.e, s->r.stream, &s->r.err));
}

/* The first elements of what it writes are those of the example's own shape, but for the order of sums. */
static void compare(state *s, int at)
{
    static double own[OPERANDS][LOOK];
    static uint8_t got[LOOK * 4];
    uint64_t seed = s->r.seed;
    for (int i = 0; i < s->w->n_operands; i++)
        if (s->bytes[i] && strpbrk(s->w->operands[i].extents, "+")) {
            s->r.seed = 7;
            fill(s, i);
        }
    s->r.seed = seed;
    launch(s, at);
    for (int i = 0; i < s->w->n_operands; i++) {
        const sett_dtype d = s->w->operands[i].dtype;
        if (!d || !strpbrk(s->w->operands[i].extents, "+>"))
            continue;
        size_t each = (size_t)sett_dtype_bits(d) / 8, n = s->bytes[i] / each < LOOK ? s->bytes[i] / each : LOOK;
        check(&s->r, sett_memcpy(s->r.e, s->r.stream, got, s->buf[i].data, n * each));
        for (size_t k = 0; k < n; k++) {
            double v = get(d, got, k);
            if (!at)
                own[i][k] = v;
            expect(s->w->shapes[at].text, k, v, own[i][k], 0.02);
        }
    }
}

static void compile(state *s)
{
    for (s->n = 0; s->n < SHAPES && s->w->shapes[s->n].text; s->n++) {
        sett_compile_options opt = {.size = sizeof opt, .name = "swept", .user = s->w->shapes[s->n].user};
        check(&s->r, sett_compile(s->r.e, s->w->body, &opt, &s->k[s->n], &s->r.err));
        compare(s, s->n);
    }
}

/* ---- time ------------------------------------------------------------------------------------------ */
static double time_of(state *s, int at)
{
    sett_bind bind[OPERANDS];
    sett_benchmark_options o = {.size = sizeof o, .warmup = 1, .iterations = 3, .launches = 10, .in_place = true, .graph = true, .allow_zeros = true};
    sett_benchmark_result r = {.size = sizeof r};
    binds_of(s, at, bind);
    check(&s->r, sett_benchmark_n(s->k[at], s->r.stream, s->w->n_operands, bind, &o, &r, &s->r.err));
    return r.median_us;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Medians of `rounds` times of the shapes that `which` names; each round has all, in another order. */
static void measure(state *s, int n, const int *which, int rounds, double *median)
{
    static double us[SHAPES][FINAL_ROUNDS];
    for (int r = 0; r < rounds; r++) {
        int order[SHAPES];
        for (int i = 0; i < n; i++) {
            int j = (int)((uniform(&s->r.seed) + 1) / 2 * (i + 1));
            order[i] = order[j], order[j] = i;
        }
        for (int i = 0; i < n; i++)
            us[order[i]][r] = time_of(s, which[order[i]]);
    }
    for (int i = 0; i < n; i++) {
        qsort(us[i], (size_t)rounds, sizeof **us, by_size);
        median[which[i]] = us[i][rounds / 2];
    }
}

/* The own shape, then the best others. */
static int finalists(const double *median, int n, int *which)
{
    int found = 1;
    which[0] = 0;
    for (; found < FINALISTS && found < n; found++) {
        int best = 0;
        for (int i = 1; i < n; i++) {
            bool in = false;
            for (int k = 1; k < found; k++)
                in |= which[k] == i;
            if (!in && (!best || median[i] < median[best]))
                best = i;
        }
        which[found] = best;
    }
    return found;
}

static void sweep(state *s)
{
    int which[SHAPES], best = 0;
    double median[SHAPES];
    for (int i = 0; i < s->n; i++)
        which[i] = i;
    measure(s, s->n, which, ROUNDS, median);
    fprintf(stderr, "%s, GB/s:\n", s->w->name);
    for (int i = 0; i < s->n; i++)
        fprintf(stderr, "    %5.0f  %s\n", s->moved / median[i] * 1e-3, s->w->shapes[i].text);
    int n = finalists(median, s->n, which);
    measure(s, n, which, FINAL_ROUNDS, median);
    for (int i = 1; i < n; i++)
        best = median[which[i]] < median[best] ? which[i] : best;
    printf("| %s | %.0f | %.0f | %.3f | %s |\n", s->w->name, s->moved / median[0] * 1e-3, s->moved / median[best] * 1e-3, median[best] / median[0],
        s->w->shapes[best].text);
    fflush(stdout);
}

static void one(run *r, const work *w, bool small)
{
    state s = {.r = *r, .w = w, .small = small};
    allocate(&s);
    compile(&s);
    if (small)
        printf("%s: %d shapes, ok\n", w->name, s.n);
    else
        sweep(&s);
    for (int i = 0; i < s.n; i++)
        sett_kernel_release(s.k[i]);
    for (int i = 0; i < w->n_operands; i++)
        sett_free(r->e, r->stream.device, s.buf[i].data);
}

static bool asked(int argc, char **argv, const work *w)
{
    bool any = argc < 2;
    for (int i = 1; i < argc; i++)
        any |= !strncmp(argv[i], w->name, strlen(argv[i]));
    return any;
}

int main(int argc, char **argv)
{
    const bool small = argc > 1 && !strcmp(argv[1], "check");
    run r = {.seed = 88172645463325252u};
    sett_engine_options eo = {.size = sizeof eo, .no_gpu = small};
    check(&r, sett_engine_open(&r.e, &eo, &r.err));
    r.stream.device = sett_default_device(r.e);
    if (!small && r.stream.device < 0) {
        puts("skipped: no GPU");
        return 0;
    }
    if (!small)
        puts("| example | own shape, GB/s | best, GB/s | own / best | the best |\n| --- | --- | --- | --- | --- |");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (asked(argc - small, argv + small, &all[i]))
            one(&r, &all[i], small);
    for (size_t i = 0; !small && argc < 2 && i < sizeof left_out / sizeof *left_out; i++)
        printf("| %s | | | | not swept: %s |\n", left_out[i][0], left_out[i][1]);
    run_close(&r);
    return 0;
}
