/* SPDX-License-Identifier: Apache-2.0 */
/* The shape (block, values a thread) that each kernel of sett/kernels.h chooses by itself, beside the best of its sweep.
 *     sweep               every kernel, on the GPU
 *     sweep NAME...       these
 *     sweep check         each shape once, small, on the CPU engine: does it compute what the chosen one does?
 * Each launch moves several times the L2 cache, so that what the next one reads first is no longer there. Every shape of a kernel is timed in every round, in random order, as a CUDA graph of 10
 * launches on random data; then the chosen one and the three best others by themselves, which is what the table is of. */
#include "../examples/common.h"
#include <ctype.h>
#include <sett/kernels.h>

enum { SHAPES = 40, NUMBERS = 3, OPERANDS = 7, LOOK = 1 << 14, ROUNDS = 7, FINAL_ROUNDS = 31, FINALISTS = 4, PATTERN = 1 << 24 };

/* A kernel's argument: its extents, a letter each (see extent_of). '>': is written, '+': is read and added to. No extents: a number. */
typedef struct operand {
    sett_dtype dtype;
    const char *extents;
    double number;
} operand;

typedef struct work {
    const char *name;
    const sett_family *family;
    const void *fixed;     /* its options, but for the shape */
    int64_t m, small_m, n; /* what M is, and in a check; N */
    operand operands[OPERANDS];
    const char *numbers[NUMBERS]; /* the options that make a shape */
    int shapes[SHAPES - 1][NUMBERS]; /* what is tried beside what is chosen */
} work;

#define T(dtype_, extents_) {dtype_, extents_, 0}
#define FIXED(kernel_, ...) &sett_##kernel_##_family, &(const sett_##kernel_##_options){.size = sizeof(sett_##kernel_##_options), __VA_ARGS__}
static const work all[] = {
    {"elementwise mul_relu, f16 16384 x 8192", FIXED(elementwise, .dtype = SETT_F16, .op = SETT_MUL, .relu = 1),
        16384, 9, 8192, {T(SETT_F16, "MN"), T(SETT_F16, "MN"), T(SETT_F16, "MN>")}, {"thr_m", "thr_n", "val_m"},
        {{4, 32, 1}, {4, 32, 4}, {8, 32, 1}, {8, 32, 2}, {16, 32, 1}, {32, 32, 1}, {1, 128, 1}, {2, 128, 1}, {4, 128, 1}, {8, 128, 1},
            {1, 256, 1}, {2, 256, 1}, {1, 512, 1}, {2, 512, 1}, {1, 1024, 1}}},
    {"elementwise add, exact, f16 16384 x 8192", FIXED(elementwise, .dtype = SETT_F16, .exact = 1),
        16384, 64, 8192, {T(SETT_F16, "MN"), T(SETT_F16, "MN"), T(SETT_F16, "MN>")}, {"thr_m", "thr_n", "val_m"},
        {{4, 32, 1}, {4, 32, 4}, {16, 32, 1}, {32, 32, 1}, {1, 128, 1}, {2, 128, 1}, {4, 128, 1}, {8, 128, 1}, {1, 256, 1}, {2, 256, 1},
            {1, 512, 1}, {2, 512, 1}}},
    {"axpy, f32 2^26", FIXED(axpy, .dtype = SETT_F32),
        1 << 26, 5003, 0, {T(SETT_F32, "M"), T(SETT_F32, "M+"), {0, NULL, 1e-3}}, {"threads", "vectors_per_thread"},
        {{128, 1}, {128, 2}, {128, 4}, {256, 1}, {256, 2}, {256, 4}, {512, 1}, {512, 2}, {512, 4}, {1024, 1}, {1024, 2}, {1024, 4}}},
    {"transpose, f32 8192 x 8192", FIXED(transpose, .dtype = SETT_F32),
        8192, 100, 8192, {T(SETT_F32, "MN"), T(SETT_F32, "NM>")}, {"tile", "rows"},
        {{32, 4}, {32, 8}, {32, 16}, {64, 2}, {64, 4}, {64, 8}, {64, 16}, {96, 2}, {96, 4}, {96, 8}}},
    {"transpose, bf16 16384 x 8192", FIXED(transpose, .dtype = SETT_BF16),
        16384, 100, 8192, {T(SETT_BF16, "MN"), T(SETT_BF16, "NM>")}, {"tile", "rows"},
        {{32, 4}, {32, 8}, {64, 2}, {64, 4}, {64, 8}, {64, 16}, {96, 2}, {96, 4}, {96, 8}}},
    {"softmax, bf16 16384 x 8192", FIXED(softmax, .dtype = SETT_BF16, .cols = 8192),
        16384, 3, 8192, {T(SETT_BF16, "MN"), T(SETT_BF16, "MN>")}, {"threads"},
        {{64}, {128}, {256}, {512}, {1024}}},
    {"softmax, bf16 16384 x 8191", FIXED(softmax, .dtype = SETT_BF16, .cols = 8191),
        16384, 9, 8191, {T(SETT_BF16, "MN"), T(SETT_BF16, "MN>")}, {"threads"},
        {{96}, {128}, {160}, {192}, {256}, {352}, {544}}},
    {"softmax, bf16 32768 x 4096", FIXED(softmax, .dtype = SETT_BF16, .cols = 4096),
        32768, 3, 4096, {T(SETT_BF16, "MN"), T(SETT_BF16, "MN>")}, {"threads"},
        {{32}, {64}, {128}, {256}, {512}}},
    {"softmax, bf16 131072 x 1024", FIXED(softmax, .dtype = SETT_BF16, .cols = 1024),
        131072, 3, 1024, {T(SETT_BF16, "MN"), T(SETT_BF16, "MN>")}, {"threads"},
        {{32}, {64}, {128}}},
    {"rms_norm, bf16 16384 x 8192", FIXED(rms_norm, .dtype = SETT_BF16, .cols = 8192),
        16384, 3, 8192, {T(SETT_BF16, "MN"), T(SETT_BF16, "N"), T(SETT_BF16, "MN>"), {0, NULL, 1e-5}}, {"threads"},
        {{128}, {256}, {512}, {1024}}},
    {"rms_norm, bf16 32768 x 4096", FIXED(rms_norm, .dtype = SETT_BF16, .cols = 4096),
        32768, 3, 4096, {T(SETT_BF16, "MN"), T(SETT_BF16, "N"), T(SETT_BF16, "MN>"), {0, NULL, 1e-5}}, {"threads"},
        {{64}, {128}, {256}, {512}}},
    {"rms_norm, bf16 16384 x 8191", FIXED(rms_norm, .dtype = SETT_BF16, .cols = 8191),
        16384, 70, 8191, {T(SETT_BF16, "MN"), T(SETT_BF16, "N"), T(SETT_BF16, "MN>"), {0, NULL, 1e-5}}, {"threads", "rows"},
        {{128, 1}, {128, 2}, {128, 3}, {128, 4}, {128, 5}, {128, 6}, {128, 8}, {192, 4}, {256, 4}, {352, 8}}},
    {"rms_norm of a sum, bf16 8192 x 8192", FIXED(rms_norm, .dtype = SETT_BF16, .cols = 8192, .residual = 1),
        8192, 9, 8192, {T(SETT_BF16, "MN"), T(SETT_BF16, "MN"), T(SETT_BF16, "N"), T(SETT_BF16, "MN>"), T(SETT_BF16, "MN>"), {0, NULL, 1e-5}}, {"threads", "rows"},
        {{64, 1}, {64, 2}, {64, 4}, {64, 8}, {128, 1}, {128, 2}, {128, 4}, {128, 8}, {256, 1}, {256, 2}, {256, 4}, {256, 8}, {512, 1},
            {512, 2}, {512, 4}, {512, 8}}},
    {"rms_norm of a sum, bf16 16384 x 4096", FIXED(rms_norm, .dtype = SETT_BF16, .cols = 4096, .residual = 1),
        16384, 9, 4096, {T(SETT_BF16, "MN"), T(SETT_BF16, "MN"), T(SETT_BF16, "N"), T(SETT_BF16, "MN>"), T(SETT_BF16, "MN>"), {0, NULL, 1e-5}}, {"threads", "rows"},
        {{64, 1}, {64, 2}, {64, 4}, {64, 8}, {128, 1}, {128, 2}, {128, 4}, {128, 8}, {256, 1}, {256, 2}, {256, 4}, {256, 8}, {512, 1},
            {512, 2}, {512, 4}, {512, 8}}},
    {"layer_norm of a sum, bf16 65536 x 768", FIXED(layer_norm, .dtype = SETT_BF16, .cols = 768, .residual = 1),
        65536, 65, 768, {T(SETT_BF16, "MN"), T(SETT_BF16, "MN"), T(SETT_BF16, "N"), T(SETT_BF16, "N"), T(SETT_BF16, "MN>"), T(SETT_BF16, "MN>"), {0, NULL, 1e-5}}, {"warps", "rows"},
        {{1, 1}, {1, 2}, {1, 4}, {2, 1}, {2, 2}, {2, 4}, {4, 1}, {4, 2}, {4, 4}, {8, 1}, {8, 2}, {8, 4}}},
    {"layer_norm of a sum, bf16 8192 x 8192", FIXED(layer_norm, .dtype = SETT_BF16, .cols = 8192, .residual = 1),
        8192, 9, 8192, {T(SETT_BF16, "MN"), T(SETT_BF16, "MN"), T(SETT_BF16, "N"), T(SETT_BF16, "N"), T(SETT_BF16, "MN>"), T(SETT_BF16, "MN>"), {0, NULL, 1e-5}}, {"threads", "rows"},
        {{128, 1}, {128, 2}, {128, 4}, {256, 1}, {256, 2}, {256, 4}, {512, 1}, {512, 2}, {512, 4}}},
    {"silu_mul, bf16 8192 x (2 x 14336)", FIXED(silu_mul, .dtype = SETT_BF16, .cols = 14336),
        8192, 3, 14336, {T(SETT_BF16, "M2N"), T(SETT_BF16, "MN>")}, {"threads", "vectors_per_thread"},
        {{256, 1}, {128, 1}, {128, 2}, {256, 2}, {256, 7}, {896, 2}, {448, 1}, {448, 2}, {224, 2}}},
    {"vector_reduce, f32 2^28", FIXED(vector_reduce, .dtype = SETT_F32),
        1 << 28, 1000004, 0, {T(SETT_F32, "M"), T(SETT_F32, "B"), T(SETT_U32, "1"), T(SETT_F32, "1>")}, {"threads", "blocks", "vectors_per_thread"},
        {{256, 1024, 4}, {256, 2048, 4}, {512, 512, 4}, {512, 1024, 4}, {512, 1024, 8}, {512, 2048, 4}, {512, 2048, 8}, {512, 4096, 4},
            {1024, 2048, 4}, {256, 4096, 4}}},
    {"vector_reduce, bf16 2^29", FIXED(vector_reduce, .dtype = SETT_BF16),
        1 << 29, 1000004, 0, {T(SETT_BF16, "M"), T(SETT_F32, "B"), T(SETT_U32, "1"), T(SETT_F32, "1>")}, {"threads", "blocks", "vectors_per_thread"},
        {{256, 2048, 4}, {512, 2048, 2}, {512, 2048, 4}, {512, 4096, 4}, {256, 4096, 4}}},
    {"row_reduce, f32 8192 x 16384", FIXED(row_reduce, .dtype = SETT_F32),
        8192, 7, 16384, {T(SETT_F32, "MN"), T(SETT_F32, "M>")}, {"threads", "vectors_per_thread"},
        {{64, 1}, {64, 2}, {64, 4}, {64, 8}, {128, 1}, {128, 2}, {128, 4}, {128, 8}, {256, 1}, {256, 2}, {256, 4}, {256, 8}, {512, 1},
            {512, 2}, {512, 4}, {512, 8}}},
    {"row_reduce, bf16 8192 x 16383", FIXED(row_reduce, .dtype = SETT_BF16),
        8192, 7, 16383, {T(SETT_BF16, "MN"), T(SETT_F32, "M>")}, {"threads", "vectors_per_thread"},
        {{64, 1}, {64, 2}, {64, 4}, {128, 1}, {128, 2}, {128, 4}, {256, 1}, {256, 2}, {256, 4}, {512, 1}, {512, 2}, {512, 4}}},
    {"dequantise, i4 to bf16 28672 x 8192", FIXED(dequantise, .dtype = SETT_BF16),
        28672, 75, 8192, {T(SETT_I4, "MN"), T(SETT_BF16, "MK"), T(SETT_BF16, "MN>")}, {"values_per_thread", "rows"},
        {{32, 64}, {32, 128}, {16, 16}, {16, 32}, {16, 48}, {16, 64}, {16, 96}, {16, 128}, {8, 8}, {8, 16}, {8, 32}}},
    {"embedding_grad, f32 131072 x 1024 into 50000", FIXED(embedding_grad, .dtype = SETT_F32, .cols = 1024),
        131072, 67, 1024, {T(SETT_I32, "M"), T(SETT_F32, "MN"), T(SETT_F32, "VN+")}, {"tokens"},
        {{1}, {2}, {4}}},
    {"embedding_grad, bf16 131072 x 1024 into 50000", FIXED(embedding_grad, .dtype = SETT_BF16, .cols = 1024),
        131072, 67, 1024, {T(SETT_I32, "M"), T(SETT_BF16, "MN"), T(SETT_BF16, "VN+")}, {"tokens"},
        {{1}, {2}, {4}, {8}}},
};

/* ---- data ---------------------------------------------------------------------------------- */
typedef struct state {
    run r;
    const work *w;
    bool small;
    int n_operands, n; /* n: shapes, of which the first is the chosen one */
    struct shape {
        char text[80];
        _Alignas(8) unsigned char options[128];
        sett_kernel *k;
    } shape[SHAPES];
    sett_buf buf[OPERANDS];
    size_t bytes[OPERANDS];
    double moved; /* bytes of one launch */
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

static bool is_operand(const operand *o)
{
    return o->dtype || o->number > 0;
}

static void allocate(state *s)
{
    for (s->n_operands = 0; s->n_operands < OPERANDS && is_operand(&s->w->operands[s->n_operands]);)
        s->n_operands++;
    for (int i = 0; i < s->n_operands; i++) {
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

static void binds_of(state *s, int at, sett_launch_arg *bind)
{
    for (int i = 0; i < s->n_operands; i++) {
        const operand *o = &s->w->operands[i];
        if (o->dtype && *o->extents == 'B')
            s->buf[i].shape[0] = ((const sett_vector_reduce_options *)(void *)s->shape[at].options)->tuning.blocks;
        bind[i] = o->dtype ? sett_launch_arg_buf(&s->buf[i]) : o->extents ? sett_launch_arg_int((long long)o->number) : sett_launch_arg_float(o->number);
    }
}

/* ---- what each shape computes ----------------------------------------------------------------- */
static void launch(state *s, int at)
{
    sett_launch_arg bind[OPERANDS];
    binds_of(s, at, bind);
    check(&s->r, sett_launch_n(s->shape[at].k, s->r.stream, s->n_operands, bind, &s->r.err));
    check(&s->r, sett_sync_error(s->r.e, s->r.stream, &s->r.err));
}

/* The first elements of what it writes are those of the chosen shape, but for the order of sums. */
static void compare(state *s, int at)
{
    static double own[OPERANDS][LOOK];
    static uint8_t got[LOOK * 4];
    uint64_t seed = s->r.seed;
    for (int i = 0; i < s->n_operands; i++)
        if (s->bytes[i] && strpbrk(s->w->operands[i].extents, "+")) {
            s->r.seed = 7;
            fill(s, i);
        }
    s->r.seed = seed;
    launch(s, at);
    for (int i = 0; i < s->n_operands; i++) {
        const sett_dtype d = s->w->operands[i].dtype;
        if (!d || !strpbrk(s->w->operands[i].extents, "+>"))
            continue;
        size_t each = (size_t)sett_dtype_bits(d) / 8, n = s->bytes[i] / each < LOOK ? s->bytes[i] / each : LOOK;
        check(&s->r, sett_memcpy(s->r.e, s->r.stream, got, s->buf[i].data, n * each));
        for (size_t k = 0; k < n; k++) {
            double v = get(d, got, k);
            if (!at)
                own[i][k] = v;
            expect(s->shape[at].text, k, v, own[i][k], 0.02);
        }
    }
}

static int *number(const sett_family *f, const char *name, unsigned char *options)
{
    int i = 0;
    while (strcmp(f->params[i].name, name))
        i++;
    return (int *)(void *)(options + f->params[i].offset);
}

/* The options of shape `at`: 0 is what is chosen. */
static void settle(state *s, int at)
{
    const sett_family *f = s->w->family;
    struct shape *to = &s->shape[at];
    size_t len = 0;
    memcpy(to->options, s->w->fixed, f->user_size);
    for (int i = 0; at && i < NUMBERS && s->w->numbers[i]; i++)
        *number(f, s->w->numbers[i], to->options) = s->w->shapes[at - 1][i];
    check(&s->r, sett_kernels_choose(f->body, to->options, NULL, &s->r.err));
    for (int i = 0; i < NUMBERS && s->w->numbers[i]; i++)
        len += (size_t)snprintf(to->text + len, sizeof to->text - len, "%s%s %d", i ? ", " : at ? "" : "chosen: ", s->w->numbers[i],
            *number(f, s->w->numbers[i], to->options));
}

static void compile(state *s)
{
    do {
        settle(s, s->n);
        check(&s->r, sett_kernels_compile(s->r.e, s->w->family->body, s->shape[s->n].options, NULL, &s->shape[s->n].k, &s->r.err));
        compare(s, s->n++);
    } while (s->n < SHAPES && s->w->shapes[s->n - 1][0]);
}

/* ---- time ------------------------------------------------------------------------------------------ */
static double time_of(state *s, int at)
{
    sett_launch_arg bind[OPERANDS];
    sett_benchmark_options o = {.size = sizeof o, .warmup = 1, .iterations = 3, .launches = 10, .in_place = true, .graph = true, .allow_zeros = true};
    sett_benchmark_result r = {.size = sizeof r};
    binds_of(s, at, bind);
    check(&s->r, sett_benchmark_n(s->shape[at].k, s->r.stream, s->n_operands, bind, &o, &r, &s->r.err));
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

/* The chosen shape, then the best others. */
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
        fprintf(stderr, "    %5.0f  %s\n", s->moved / median[i] * 1e-3, s->shape[i].text);
    int n = finalists(median, s->n, which);
    measure(s, n, which, FINAL_ROUNDS, median);
    for (int i = 1; i < n; i++)
        best = median[which[i]] < median[best] ? which[i] : best;
    printf("| %s | %.0f | %.0f | %.3f | %s |\n", s->w->name, s->moved / median[0] * 1e-3, s->moved / median[best] * 1e-3, median[best] / median[0],
        s->shape[best].text);
    fflush(stdout);
}

static void one(run *r, const work *w, bool small)
{
    static state s;
    s = (state){.r = *r, .w = w, .small = small};
    allocate(&s);
    compile(&s);
    if (small)
        printf("%s: %d shapes, ok\n", w->name, s.n);
    else
        sweep(&s);
    for (int i = 0; i < s.n; i++)
        sett_kernel_release(s.shape[i].k);
    for (int i = 0; i < s.n_operands; i++)
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
        puts("| kernel | chosen shape, GB/s | best, GB/s | chosen / best | the best |\n| --- | --- | --- | --- | --- |");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (asked(argc - small, argv + small, &all[i]))
            one(&r, &all[i], small);
    run_close(&r);
    return 0;
}
