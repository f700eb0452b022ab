/* SPDX-License-Identifier: Apache-2.0 */
/* Every arithmetic op of ops.def on every type, as tape text: edge values against each other, then random bits; one
 * element and eight elements a value. Compared with the folder and with plain C. */
#include "tests/conform/conform.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 2048, BLOCK = 64 };

/* ---- text -------------------------------------------------------------------------------------------- */
static void head(FILE *f, const char *const *name, const sett_dtype *type, const int *elements, int n, int outputs, int width)
{
    fprintf(f, "sett tape 2\n");
    for (int i = 0; i < n; i++)
        fprintf(f, "param %s %s (%d):(1) align 16 %s\n", name[i], sett_dtype_name(type[i]), elements[i],
            i < n - outputs ? "read" : "write");
    fprintf(f, "grid %d\nblock %d\n%%0 = tid.x i32\n%%1 = bid.x i32\n%%2 = const i32 %d\n%%3 = mul i32 %%1, %%2\n"
               "%%4 = add i32 %%3, %%0\n%%5 = const i32 %d\n%%6 = mul i32 %%4, %%5\n", N / BLOCK / width, BLOCK, BLOCK, width);
    for (int i = 0; i < n; i++)
        fprintf(f, "%%%d = param %s %s\n", 10 + i, sett_dtype_name(type[i]), name[i]);
}

static int align_of(sett_dtype d, int width)
{
    int bytes = sett__dtype_bytes(d) * width;
    return bytes < 16 ? bytes : 16;
}

/* ---- unary, binary, compare, fma, select: all of one type in one kernel ------------------------------------- */
static bool approximate(sett__code code)
{
    return (code >= SETT__EX2A && code <= SETT__TANHA) || code == SETT__EX2F;
}

static int operands(sett__code code, sett_dtype d)
{
    if (!strchr(sett__ops[code].types, sett__dtype_class(d)) || approximate(code))
        return 0;
    switch (sett__ops[code].cls) {
    case SETT__C_UNARY: return 1;
    case SETT__C_BINARY:
    case SETT__C_COMPARE: return 2;
    case SETT__C_TERNARY:
    case SETT__C_SELECT: return 3;
    default: return 0;
    }
}

static char *op_tape(sett_dtype d, int width, const sett__code *code, int n_code)
{
    static const char *const name[] = {"C", "X", "Y", "Z", "D", "B"};
    const sett_dtype type[] = {SETT_BOOL, d, d, d, d, SETT_BOOL};
    char *text;
    size_t len;
    FILE *f = open_memstream(&text, &len);
    ck_assert_ptr_nonnull(f);
    head(f, name, type, (const int[]){N, N, N, N, N * n_code, N * n_code}, 6, 2, width);
    for (int i = 0; i < 4; i++)
        fprintf(f, "%%%d = load %sx%d %%%d[%%6] align %d\n", 20 + i, sett_dtype_name(type[i]), width, 10 + i, align_of(type[i], width));
    for (int k = 0; k < n_code; k++) {
        const sett__op_info *op = &sett__ops[code[k]];
        bool test = op->cls == SETT__C_COMPARE;
        int from = op->cls == SETT__C_SELECT ? 20 : 21;
        sett_dtype out = test ? SETT_BOOL : d;
        fprintf(f, "%%%d = %s %sx%d", 30 + k, op->text, sett_dtype_name(out), width);
        for (int i = 0; i < operands(code[k], d); i++)
            fprintf(f, "%s%%%d", i ? ", " : " ", from + i);
        fprintf(f, "\nstore %%%d[%%6 + %d] %sx%d %%%d align %d\n", test ? 15 : 14, k * N, sett_dtype_name(out), width, 30 + k,
            align_of(out, width));
    }
    ck_assert_int_eq(fclose(f), 0);
    return text;
}

/* Pairs of edges, then random; the third operand walks the edges at another pace. */
static void fill(sett_dtype d, void *const x[4])
{
    uint64_t seed = 0x5e77 + d;
    for (size_t i = 0; i < N; i++) {
        bool edge = i < CONFORM_EDGES * CONFORM_EDGES;
        conform_put(x[0], SETT_BOOL, i, conform_random(&seed) & 1);
        conform_put(x[1], d, i, conform_value(d, edge ? i / CONFORM_EDGES : CONFORM_EDGES, &seed));
        conform_put(x[2], d, i, conform_value(d, edge ? i % CONFORM_EDGES : CONFORM_EDGES, &seed));
        conform_put(x[3], d, i, conform_value(d, edge ? i * 7 % (CONFORM_EDGES + 3) : CONFORM_EDGES, &seed));
    }
}

static void judge(sett__code code, sett_dtype d, sett_dtype to, int width, const uint64_t in[3], uint64_t got, bool moves, bool folds)
{
    uint64_t want;
    int n = code == SETT__CONVERT ? 1 : operands(code, d);
    ck_assert(!folds || sett__eval(code, d, to, in, n, &want));
    if (folds)
        ck_assert_msg(moves ? got == want : conform_same(to, got, want),
            "%s %s to %sx%d (%" PRIx64 ", %" PRIx64 ", %" PRIx64 "): got %" PRIx64 ", the folder gives %" PRIx64, sett__ops[code].text,
            sett_dtype_name(d), sett_dtype_name(to), width, in[0], in[1], in[2], got, want);
    if (conform_reference(code, d, to, in, &want))
        ck_assert_msg(moves ? got == want : conform_same(to, got, want),
            "%s %s to %sx%d (%" PRIx64 ", %" PRIx64 ", %" PRIx64 "): got %" PRIx64 ", want %" PRIx64, sett__ops[code].text,
            sett_dtype_name(d), sett_dtype_name(to), width, in[0], in[1], in[2], got, want);
}

static void check_ops(sett_dtype d, int width)
{
    sett__code code[SETT__N_CODES];
    int n = 0;
    for (int c = 0; c < SETT__N_CODES; c++)
        if (operands((sett__code)c, d))
            code[n++] = (sett__code)c;
    ck_assert_int_gt(n, 9);
    size_t bytes = (size_t)sett__dtype_bytes(d);
    void *x[4], *out = calloc((size_t)n * N, bytes), *truth = calloc((size_t)n, N);
    for (int i = 0; i < 4; i++)
        x[i] = malloc(N * bytes);
    fill(d, x);
    char *text = op_tape(d, width, code, n);
    sett_kernel *k = conform_compile_text(text);
    sett_buf C = sett_buf_1d(x[0], SETT_BOOL, N), X = sett_buf_1d(x[1], d, N), Y = sett_buf_1d(x[2], d, N), Z = sett_buf_1d(x[3], d, N),
             D = sett_buf_1d(out, d, (int64_t)n * N), B = sett_buf_1d(truth, SETT_BOOL, (int64_t)n * N);
    conform_run(k, &C, &X, &Y, &Z, &D, &B);
    for (int c = 0; c < n; c++)
        for (size_t i = 0; i < N; i++) {
            bool test = sett__ops[code[c]].cls == SETT__C_COMPARE, picks = sett__ops[code[c]].cls == SETT__C_SELECT;
            uint64_t in[3] = {0, 0, 0};
            for (int a = 0; a < operands(code[c], d); a++)
                in[a] = conform_get(x[a + !picks], picks && !a ? SETT_BOOL : d, i);
            sett_dtype to = test ? SETT_BOOL : d;
            bool moves = picks; /* a NaN stays a NaN, but hardware that negates one chooses its bits */
            judge(code[c], d, to, width, in, conform_get(test ? truth : out, to, (size_t)c * N + i), moves, true);
        }
    for (int i = 0; i < 4; i++)
        free(x[i]);
    free(out);
    free(truth);
    free(text);
    sett_kernel_release(k);
}

START_TEST(every_op)
{
    check_ops(conform_types[_i], 1);
    check_ops(conform_types[_i], 8);
}
END_TEST

/* ---- convert and bitcast: from one type to all, in one kernel ------------------------------------------------- */
static int regrouped(sett_dtype from, sett_dtype to, int width) /* elements of the bitcast; 0: there is none */
{
    int bits = sett_dtype_bits(from) * width;
    return from == SETT_BOOL || to == SETT_BOOL || bits % sett_dtype_bits(to) ? 0 : bits / sett_dtype_bits(to);
}

static char *convert_tape(sett_dtype d, int width)
{
    char names[2 * CONFORM_TYPES + 1][8], *text;
    const char *name[2 * CONFORM_TYPES + 1];
    sett_dtype type[2 * CONFORM_TYPES + 1] = {d};
    int elements[2 * CONFORM_TYPES + 1] = {N}, n = 1, id = 100;
    size_t len;
    for (int t = 0; t < 2 * CONFORM_TYPES; t++) {
        int regroup = t < CONFORM_TYPES ? width : regrouped(d, conform_types[t - CONFORM_TYPES], width);
        type[n] = conform_types[t % CONFORM_TYPES];
        elements[n] = N / width * regroup;
        snprintf(names[n], sizeof names[n], "D%d", t);
        n += regroup != 0;
    }
    snprintf(names[0], sizeof names[0], "X");
    for (int i = 0; i < n; i++)
        name[i] = names[i];
    FILE *f = open_memstream(&text, &len);
    ck_assert_ptr_nonnull(f);
    head(f, name, type, elements, n, n - 1, width);
    fprintf(f, "%%50 = load %sx%d %%10[%%6] align %d\n", sett_dtype_name(d), width, align_of(d, width));
    for (int i = 1; i < n; i++, id += 4) {
        int wide = elements[i] / (N / width);
        fprintf(f, "%%%d = const i32 %d\n%%%d = mul i32 %%4, %%%d\n", id, wide, id + 1, id);
        if (type[i] == d && wide == width)
            fprintf(f, "store %%%d[%%%d] %sx%d %%50 align %d\n", 10 + i, id + 1, sett_dtype_name(d), width, align_of(d, width));
        else
            fprintf(f, "%%%d = %s %sx%d %%50\nstore %%%d[%%%d] %sx%d %%%d align %d\n", id + 2, i <= CONFORM_TYPES ? "convert" : "bitcast",
                sett_dtype_name(type[i]), wide, 10 + i, id + 1, sett_dtype_name(type[i]), wide, id + 2, align_of(type[i], wide));
    }
    ck_assert_int_eq(fclose(f), 0);
    return text;
}

static void check_converts(sett_dtype d, int width)
{
    void *x = conform_array(d, N, 0xc0 + d), *out[2 * CONFORM_TYPES];
    sett_buf buf[2 * CONFORM_TYPES + 1];
    sett_launch_arg bind[2 * CONFORM_TYPES + 1];
    int n = 1;
    buf[0] = sett_buf_1d(x, d, N);
    for (int t = 0; t < 2 * CONFORM_TYPES; t++) {
        sett_dtype to = conform_types[t % CONFORM_TYPES];
        int elements = N / width * (t < CONFORM_TYPES ? width : regrouped(d, to, width));
        out[t] = elements ? calloc((size_t)elements, (size_t)sett__dtype_bytes(to)) : NULL;
        if (elements)
            buf[n++] = sett_buf_1d(out[t], to, elements);
    }
    for (int i = 0; i < n; i++)
        bind[i] = sett_launch_arg_buf(&buf[i]);
    char *text = convert_tape(d, width);
    sett_kernel *k = conform_compile_text(text);
    conform_launch(k, false, n, bind);
    for (int t = 0; t < CONFORM_TYPES; t++)
        for (size_t i = 0; i < N; i++) {
            const uint64_t in[3] = {conform_get(x, d, i), 0, 0};
            judge(SETT__CONVERT, d, conform_types[t], width, in, conform_get(out[t], conform_types[t], i), d == conform_types[t], true);
        }
    for (int t = 0; t < 2 * CONFORM_TYPES; t++) {
        if (t >= CONFORM_TYPES && out[t])
            ck_assert_msg(!memcmp(out[t], x, (size_t)N * (size_t)sett__dtype_bytes(d)), "bitcast of %sx%d to %s", sett_dtype_name(d),
                width, sett_dtype_name(conform_types[t % CONFORM_TYPES]));
        free(out[t]);
    }
    free(x);
    free(text);
    sett_kernel_release(k);
}

START_TEST(every_conversion)
{
    check_converts(conform_types[_i], 1);
    check_converts(conform_types[_i], 8);
}
END_TEST

/* ---- approximations: inside the documented bounds ---------------------------------------------------------------- */
enum { APPROXIMATIONS = 8 }; /* SETT_EXP2_APPROX to SETT_TANH_APPROX, SETT_EXP2_APPROX_FTZ */

static void approximations(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, T1(N)));
    sett_tensor *D = sett_param(b, "D", SETT_F32, sett_make_layout(b, T(N, APPROXIMATIONS)));
    sett_grid(b, N / BLOCK);
    sett_block(b, BLOCK);
    sett_val *i = sett_add(sett_mul(sett_block_idx(b, 0), BLOCK), sett_thread_idx(b, 0)), *x = sett_at(X, i);
    for (int k = 0; k < APPROXIMATIONS; k++)
        sett_set(D, sett_unary_at(SETT_HERE, "op", k < 7 ? (sett_unary_op)(SETT_EXP2_APPROX + k) : SETT_EXP2_APPROX_FTZ, x), i, k);
}

START_TEST(bounds)
{
    static float d[APPROXIMATIONS * N];
    float *x = conform_array(SETT_F32, N, 9);
    for (int i = N / 2; i < N; i++) /* where they are used */
        x[i] = (float)(i - 3 * N / 4) * (i % 2 ? 0.0061f : 0.24f);
    sett_buf X = sett_buf_1d(x, SETT_F32, N), D = {d, SETT_F32, 2, {N, APPROXIMATIONS}, {1, N}};
    conform_body(approximations, NULL, &X, &D);
    for (int op = 0; op < APPROXIMATIONS; op++)
        for (int i = 0; i < N; i++) {
            const sett__code code = op < 7 ? (sett__code)(SETT__EX2A + op) : SETT__EX2F;
            ck_assert_msg(conform_approximates(code, x[i], d[op * N + i]), "%s(%a): got %a", sett__ops[code].text, (double)x[i], (double)d[op * N + i]);
        }
    free(x);
}
END_TEST

/* ---- the expansions: the same bits everywhere, near the truth ------------------------------------------------------ */
static long double rcpl(long double x)
{
    return 1 / x;
}
static long double rsqrtl(long double x)
{
    return x == 0 ? copysignl((long double)INFINITY, x) : 1 / sqrtl(x);
}
static const struct function {
    const char *name;
    sett_unary_op op;
    long double (*f)(long double);
    double ulps; /* of Float32; of Float64 at most 2 */
} functions[] = {
#define F(name, NAME, ulps) {#name, SETT_##NAME, name##l, ulps}
    F(exp, EXP, 1), F(exp2, EXP2, 1), F(expm1, EXPM1, 1), F(log, LOG, 1), F(log2, LOG2, 1), F(log10, LOG10, 1), F(log1p, LOG1P, 1),
    F(sin, SIN, 1), F(cos, COS, 1), F(tan, TAN, 2), F(asin, ASIN, 2), F(acos, ACOS, 2), F(atan, ATAN, 2), F(sinh, SINH, 2),
    F(cosh, COSH, 2), F(tanh, TANH, 1), F(asinh, ASINH, 2), F(acosh, ACOSH, 2), F(atanh, ATANH, 2), F(erf, ERF, 1),
    F(erfc, ERFC, 2), F(rcp, RCP, 0.5), F(rsqrt, RSQRT, 1), F(cbrt, CBRT, 2), F(round, ROUND, 0),
#undef F
};
enum { FUNCTIONS = sizeof functions / sizeof *functions, CLASSES = 4, PAIRS = 5 };

static sett_val *own_place(sett_build *b)
{
    sett_grid(b, N / BLOCK);
    sett_block(b, BLOCK);
    return sett_add(sett_mul(sett_block_idx(b, 0), BLOCK), sett_thread_idx(b, 0));
}

static void expansions(sett_build *b, const void *user)
{
    sett_dtype d = *(const sett_dtype *)user;
    sett_tensor *X = sett_param(b, "X", d, sett_make_layout(b, T1(N)));
    sett_tensor *D = sett_param(b, "D", d, sett_make_layout(b, T(N, FUNCTIONS)));
    sett_tensor *B = sett_param(b, "B", SETT_BOOL, sett_make_layout(b, T(N, CLASSES)));
    sett_val *i = own_place(b), *x = sett_at(X, i);
    for (int k = 0; k < FUNCTIONS; k++)
        sett_set(D, sett_unary_at(SETT_HERE, functions[k].name, functions[k].op, x), i, k);
    for (int k = 0; k < CLASSES; k++)
        sett_set(B, sett_unary_at(SETT_HERE, "class", (sett_unary_op)(SETT_ISNAN + k), x), i, k);
}

static double bound_of(sett_dtype d, double single)
{
    return d == SETT_F32 ? single : d == SETT_F64 ? (single > 0.5 ? 2 : single) : single > 0 ? 0.51 : 0;
}

static bool class_of(int k, sett_dtype d, double x)
{
    double least = d == SETT_F64 ? 0x1p-1022 : d == SETT_F16 ? 0x1p-14 : 0x1p-126;
    switch (k) {
    case 0: return isnan(x);
    case 1: return isinf(x);
    case 2: return isfinite(x);
    default: return isfinite(x) && fabs(x) >= least;
    }
}

/* Float32 inputs at which a function was, or is, farthest from the truth of all 2^32: log2, log, log10. */
static const uint32_t farthest[] = {0x3faad49e, 0x3faab6d0, 0x3faaabaf};

/* On the device folded, on the CPU as recorded. */
START_TEST(expanded_functions)
{
    sett_dtype d = conform_types[9 + _i];
    size_t bytes = (size_t)sett__dtype_bytes(d);
    static uint8_t class[2][CLASSES * N];
    void *x = conform_array(d, N, 77), *out[2];
    if (d == SETT_F32)
        memcpy(x, farthest, sizeof farthest);
    for (int k = 0; k < 2; k++) {
        out[k] = calloc(FUNCTIONS * N, bytes);
        sett_kernel *kernel = conform_compile(expansions, &d, (conform_how){.cpu = k, .no_fold = k});
        sett_buf X = sett_buf_1d(x, d, N), D = {out[k], d, 2, {N, FUNCTIONS}, {1, N}}, B = {class[k], SETT_BOOL, 2, {N, CLASSES}, {1, N}};
        conform_launch(kernel, k, 3, (const sett_launch_arg[]){sett_launch_arg_buf(&X), sett_launch_arg_buf(&D), sett_launch_arg_buf(&B)});
        sett_kernel_release(kernel);
    }
    for (size_t i = 0; i < (size_t)FUNCTIONS * N; i++) {
        const struct function *f = &functions[i / N];
        uint64_t in = conform_get(x, d, i % N), got = conform_get(out[0], d, i), other = conform_get(out[1], d, i);
        long double want = f->f((long double)conform_number(d, in));
        ck_assert_msg(conform_same(d, got, other), "%s %s(%" PRIx64 "): %" PRIx64 ", on the CPU %" PRIx64, f->name, sett_dtype_name(d), in, got, other);
        ck_assert_msg(conform_near(d, got, want, (long double)bound_of(d, f->ulps)), "%s %s(%" PRIx64 "): got %" PRIx64 ", want %Lg", f->name,
            sett_dtype_name(d), in, got, want);
        bool minus = got >> (sett_dtype_bits(d) - 1);
        ck_assert_msg(want != 0 || conform_number(d, got) != 0 || minus == (signbit(want) != 0), "%s %s(%" PRIx64 "): the sign of zero", f->name,
            sett_dtype_name(d), in);
    }
    for (size_t i = 0; i < (size_t)CLASSES * N; i++)
        for (int k = 0; k < 2; k++)
            ck_assert_int_eq(class[k][i], class_of((int)(i / N), d, conform_number(d, conform_get(x, d, i % N))));
    free(x);
    free(out[0]);
    free(out[1]);
}
END_TEST

static void pairs(sett_build *b, const void *user)
{
    sett_dtype d = *(const sett_dtype *)user;
    sett_tensor *X = sett_param(b, "X", d, sett_make_layout(b, T1(N))), *Y = sett_param(b, "Y", d, sett_make_layout(b, T1(N)));
    sett_tensor *D = sett_param(b, "D", d, sett_make_layout(b, T(N, PAIRS)));
    sett_val *i = own_place(b), *x = sett_at(X, i), *y = sett_at(Y, i);
    for (int k = 0; k < PAIRS; k++)
        sett_set(D, sett_binary_at(SETT_HERE, "pair", (sett_binary_op)(SETT_POW + k), sett_arg_v(x), sett_arg_v(y)), i, k);
}

static long double least_number(long double x, long double y)
{
    return x != x ? y : y != y ? x : x == y ? (signbit(x) ? x : y) : x < y ? x : y;
}

static long double greatest_number(long double x, long double y)
{
    return -least_number(-x, -y);
}

/* Edges against edges, then random. */
START_TEST(expanded_pairs)
{
    static const struct { const char *name; long double (*f)(long double, long double); double ulps; } want[PAIRS] = {
        {"pow", powl, 2}, {"atan2", atan2l, 2}, {"copysign", copysignl, 0}, {"fmin", least_number, 0}, {"fmax", greatest_number, 0}};
    sett_dtype d = conform_types[9 + _i];
    size_t bytes = (size_t)sett__dtype_bytes(d);
    void *in[4], *out[2];
    for (int i = 0; i < 4; i++)
        in[i] = malloc(N * bytes);
    fill(d, in);
    for (int k = 0; k < 2; k++) {
        out[k] = calloc(PAIRS * N, bytes);
        sett_kernel *kernel = conform_compile(pairs, &d, (conform_how){.cpu = k, .no_fold = k});
        sett_buf X = sett_buf_1d(in[1], d, N), Y = sett_buf_1d(in[2], d, N), D = {out[k], d, 2, {N, PAIRS}, {1, N}};
        conform_launch(kernel, k, 3, (const sett_launch_arg[]){sett_launch_arg_buf(&X), sett_launch_arg_buf(&Y), sett_launch_arg_buf(&D)});
        sett_kernel_release(kernel);
    }
    for (size_t i = 0; i < (size_t)PAIRS * N; i++) {
        uint64_t x = conform_get(in[1], d, i % N), y = conform_get(in[2], d, i % N), got = conform_get(out[0], d, i);
        long double truth = want[i / N].f((long double)conform_number(d, x), (long double)conform_number(d, y));
        const char *name = want[i / N].name;
        ck_assert_msg(conform_same(d, got, conform_get(out[1], d, i)), "%s %s(%" PRIx64 ", %" PRIx64 "): %" PRIx64 ", on the CPU another", name,
            sett_dtype_name(d), x, y, got);
        ck_assert_msg(conform_near(d, got, truth, (long double)bound_of(d, want[i / N].ulps)), "%s %s(%" PRIx64 ", %" PRIx64 "): got %" PRIx64 ", want %Lg",
            name, sett_dtype_name(d), x, y, got, truth);
        bool minus = got >> (sett_dtype_bits(d) - 1);
        ck_assert_msg(truth != 0 || conform_number(d, got) != 0 || minus == (signbit(truth) != 0), "%s %s(%" PRIx64 ", %" PRIx64 "): the sign of zero", name,
            sett_dtype_name(d), x, y);
    }
    for (int i = 0; i < 4; i++)
        free(in[i]);
    free(out[0]);
    free(out[1]);
}
END_TEST

void conform_add_ops(TCase *t)
{
    tcase_add_loop_test(t, every_op, 0, CONFORM_TYPES);
    tcase_add_loop_test(t, every_conversion, 0, CONFORM_TYPES);
    tcase_add_test(t, bounds);
    tcase_add_loop_test(t, expanded_functions, 0, 4);
    tcase_add_loop_test(t, expanded_pairs, 0, 4);
}
