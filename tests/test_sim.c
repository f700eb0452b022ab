/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU engine: arithmetic against the folder's reference on edge inputs of every type, memory in
 * every space and width, regions, collectives, faults and their words, many workers. */
#include "../jit/sim/sim.h"
#include <check.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- running a text ---------------------------------------------------------------- */
typedef struct job {
    const char *text;
    uint32_t grid[3], block[3];
    void *data[6]; /* tensors, in order */
    size_t bytes[6];
    int n_data, n_sym;
    int32_t sym[4];
    int threads;
    sett_print_fn print;
    void *user;
} job;

static void parse(sett__tape *t, const char *text)
{
    sett_error e = {.status = SETT_OK};
    sett_status s = sett__tape_parse(t, text, &e);
    ck_assert_msg(!s, "%s\nin\n%s", e.text, text);
}

static sett_status run_program(const sett__program *p, const job *j, sett_error *e)
{
    unsigned char params[256];
    sett__extent extent[6];
    size_t len = 0;
    for (int i = 0; i < j->n_data; i++, len += 8) {
        memcpy(params + len, &j->data[i], 8);
        extent[i] = (sett__extent){j->data[i], j->bytes[i]};
    }
    for (int i = 0; i < j->n_sym; i++, len += 4)
        memcpy(params + len, &j->sym[i], 4);
    sett__sim_launch l = {.params = params, .params_len = len, .extent = extent, .threads = j->threads, .name = "k", .print = j->print,
                          .user = j->user};
    for (int i = 0; i < 3; i++) {
        l.grid[i] = j->grid[i] ? j->grid[i] : 1;
        l.block[i] = j->block[i] ? j->block[i] : 1;
    }
    return sett__sim_run(p, &l, e);
}

static sett_status run(const job *j, sett_error *e)
{
    sett__tape t = {0};
    sett__program *p;
    *e = (sett_error){.status = SETT_OK};
    parse(&t, j->text);
    sett_status s = sett__program_make(&t, &p, e);
    ck_assert_msg(!s, "%s", e->text);
    s = run_program(p, j, e);
    sett__program_free(p);
    sett__tape_free(&t);
    return s;
}

static void runs(const job *j)
{
    sett_error e;
    sett_status s = run(j, &e);
    ck_assert_msg(!s, "%s", e.text);
}

static void faults(const job *j, const char *want)
{
    sett_error e;
    ck_assert_int_eq(run(j, &e), SETT_E_FAULT);
    ck_assert_str_eq(e.text, want);
}

/* ---- arithmetic: every op of every type on edge inputs --------------------------------- */
static const int arithmetic[] = {SETT_BOOL, SETT_I8, SETT_I16, SETT_I32, SETT_I64, SETT_U8, SETT_U16, SETT_U32, SETT_U64,
                                 SETT_F16, SETT_BF16, SETT_F32, SETT_F64};
enum { N_EDGES = 40, BLOCK = 64 };

static uint64_t next_random(uint64_t *s)
{
    *s = *s * 6364136223846793005u + 1442695040888963407u;
    return *s >> 32 ^ *s << 17;
}

static uint64_t mask_of(int dtype)
{
    int bits = sett_dtype_bits(dtype);
    return bits == 64 ? ~(uint64_t)0 : ((uint64_t)1 << bits) - 1;
}

static void edges(int dtype, uint64_t *out, uint64_t seed)
{
    static const double number[] = {0.0, -0.0, 1, -1, 0.5, 1.5, 2.5, -2.5, 3, 65504, 65520, 127.5, 2147483648.0, 4294967296.0, 9.3e18,
                                    1e-8, 6e-8, 1e-40, 3e38, 1e-320, INFINITY, NAN};
    static const int64_t whole[] = {0, 1, -1, 2, 3, 7, 8, 31, 32, 63, 64, 127, 128, -128, 255, 32767, -32768, 65535, INT32_MAX, INT32_MIN,
                                    UINT32_MAX, INT64_MAX, INT64_MIN, (1ll << 53) + 1, (1ll << 62) + (1ll << 37) + 1, 65519};
    bool is_float = sett__dtype_is_float(dtype);
    int n = is_float ? SETT__COUNT(number) : SETT__COUNT(whole);
    for (int i = 0; i < N_EDGES; i++)
        out[i] = (i >= n     ? next_random(&seed)
                  : is_float ? sett__bits_of_float(dtype, number[i])
                             : (uint64_t)whole[i]) & mask_of(dtype);
}

static void put(void *array, int bytes, size_t i, uint64_t v)
{
    memcpy((char *)array + i * (size_t)bytes, &v, (size_t)bytes);
}

static uint64_t get(const void *array, int bytes, size_t i)
{
    uint64_t v = 0;
    memcpy(&v, (const char *)array + i * (size_t)bytes, (size_t)bytes);
    return v;
}

/* d[i] = op(x[i], y[i], z[i]), each of its own type; width elements a thread. */
static char *op_text(const char *op, const int *in, int n_in, int out, int width)
{
    static char text[2048];
    int at = sprintf(text, "sett tape 1\nsym N\n");
    for (int k = 0; k < n_in; k++)
        at += sprintf(text + at, "param X%d %s (N):(1) align %d read\n", k, sett_dtype_name(in[k]), sett__dtype_bytes(in[k]));
    at += sprintf(text + at, "param D %s (N):(1) align %d write\nblock %d\n%%0 = tid.x i32\n%%1 = bid.x i32\n%%2 = const i32 %d\n%%3 = mul i32 %%1, %%2\n",
                  sett_dtype_name(out), sett__dtype_bytes(out), BLOCK, BLOCK * width);
    at += sprintf(text + at, "%%4 = const i32 %d\n%%5 = mul i32 %%0, %%4\n%%6 = add i32 %%3, %%5\n", width);
    for (int k = 0; k < n_in; k++)
        at += sprintf(text + at, "%%%d = param %s X%d\n%%%d = load %sx%d %%%d[%%6] align %d\n", 10 + k, sett_dtype_name(in[k]), k, 20 + k,
                      sett_dtype_name(in[k]), width, 10 + k, sett__dtype_bytes(in[k]));
    at += sprintf(text + at, "%%30 = param %s D\n%%31 = %s %sx%d", sett_dtype_name(out), op, sett_dtype_name(out), width);
    for (int k = 0; k < n_in; k++)
        at += sprintf(text + at, "%s%%%d", k ? ", " : " ", 20 + k);
    sprintf(text + at, "\nstore %%30[%%6] %sx%d %%31 align %d\n", sett_dtype_name(out), width, sett__dtype_bytes(out));
    return text;
}

static bool takes(int code, int dtype)
{
    return strchr(sett__ops[code].types, sett__dtype_class(dtype));
}

/* Runs one op over `count` inputs and compares every result with the reference. Returns how many were compared. */
static int compare(int code, const int *in, int n_in, int out, uint64_t *const *x, size_t count, int width)
{
    job j = {.text = op_text(sett__ops[code].text, in, n_in, out, width), .block = {BLOCK}, .n_data = n_in + 1, .n_sym = 1};
    size_t padded = (count + (size_t)(BLOCK * width) - 1) / (size_t)(BLOCK * width) * (size_t)(BLOCK * width);
    j.grid[0] = (uint32_t)(padded / (size_t)(BLOCK * width));
    j.sym[0] = (int32_t)padded;
    for (int k = 0; k <= n_in; k++) {
        int bytes = sett__dtype_bytes(k < n_in ? in[k] : out);
        j.bytes[k] = padded * (size_t)bytes;
        j.data[k] = calloc(padded, (size_t)bytes);
        for (size_t i = 0; k < n_in && i < count; i++)
            put(j.data[k], bytes, i, x[k][i]);
    }
    runs(&j);
    int compared = 0, eval_type = code == SETT__SELECT ? out : in[0];
    for (size_t i = 0; i < count; i++) {
        uint64_t arg[3] = {0}, want = 0, got = get(j.data[n_in], sett__dtype_bytes(out), i);
        for (int k = 0; k < n_in; k++)
            arg[k] = x[k][i];
        if (!sett__eval((sett__code)code, eval_type, out, 0, arg, n_in, &want))
            continue;
        ck_assert_msg(got == (want & mask_of(out)), "%s %s to %s (%llx, %llx, %llx): %llx, not %llx", sett__ops[code].text,
                      sett_dtype_name(in[0]), sett_dtype_name(out), (unsigned long long)arg[0], (unsigned long long)arg[1],
                      (unsigned long long)arg[2], (unsigned long long)got, (unsigned long long)want);
        compared++;
    }
    for (int k = 0; k <= n_in; k++)
        free(j.data[k]);
    return compared;
}

/* All tuples of edge inputs; of the third operand only some. */
static int compare_edges(int code, const int *in, int n_in, int out, int width)
{
    uint64_t e[3][N_EDGES], *x[3];
    size_t n[3] = {N_EDGES, n_in > 1 ? N_EDGES : 1, n_in > 2 ? 24 : 1}, count = n[0] * n[1] * n[2], at = 0;
    for (int k = 0; k < 3; k++) {
        edges(k < n_in ? in[k] : SETT_I32, e[k], 0x5e77 + (uint64_t)k);
        x[k] = malloc(count * sizeof **x);
    }
    for (size_t a = 0; a < n[0]; a++)
        for (size_t b = 0; b < n[1]; b++)
            for (size_t c = 0; c < n[2]; c++, at++) {
                x[0][at] = e[0][a];
                x[1][at] = e[1][b];
                x[2][at] = e[2][c];
            }
    int compared = compare(code, in, n_in, out, x, count, width);
    for (int k = 0; k < 3; k++)
        free(x[k]);
    return compared;
}

static int operands_of(int cls)
{
    return cls == SETT__C_UNARY ? 1 : cls == SETT__C_BINARY || cls == SETT__C_COMPARE ? 2 : cls == SETT__C_TERNARY ? 3 : 0;
}

START_TEST(test_every_op)
{
    int total = 0;
    for (int code = 0; code < SETT__N_CODES; code++) {
        int n = operands_of(sett__ops[code].cls);
        for (size_t d = 0; n && d < SETT__COUNT(arithmetic); d++) {
            int t = arithmetic[d], in[3] = {t, t, t};
            if (takes(code, t))
                total += compare_edges(code, in, n, sett__ops[code].cls == SETT__C_COMPARE ? SETT_BOOL : t, 1 << (d + (size_t)code) % 4);
        }
    }
    ck_assert_int_gt(total, 250 * N_EDGES * N_EDGES / 2);
}
END_TEST

START_TEST(test_every_conversion)
{
    int total = 0;
    for (size_t s = 0; s < SETT__COUNT(arithmetic); s++)
        for (size_t d = 0; d < SETT__COUNT(arithmetic); d++)
            total += compare_edges(SETT__CONVERT, &arithmetic[s], 1, arithmetic[d], 1);
    ck_assert_int_eq(total, 13 * 13 * N_EDGES);
}
END_TEST

START_TEST(test_every_select)
{
    for (size_t d = 0; d < SETT__COUNT(arithmetic); d++) {
        int in[3] = {SETT_BOOL, arithmetic[d], arithmetic[d]};
        ck_assert_int_eq(compare_edges(SETT__SELECT, in, 3, arithmetic[d], 2), N_EDGES * N_EDGES * 24);
    }
}
END_TEST

/* All 2^16 inputs of the 16-bit floats, to float and back through each op of one operand. */
START_TEST(test_all_halves)
{
    static const int ops[] = {SETT__SQRT, SETT__RINT, SETT__FLOOR, SETT__NEG};
    uint64_t *x = malloc(65536 * sizeof *x);
    for (size_t i = 0; i < 65536; i++)
        x[i] = i;
    for (int t = SETT_F16; t <= SETT_BF16; t++) {
        for (size_t k = 0; k < SETT__COUNT(ops); k++)
            ck_assert_int_eq(compare(ops[k], &t, 1, t, &x, 65536, 1), 65536);
        ck_assert_int_eq(compare(SETT__CONVERT, &t, 1, SETT_F32, &x, 65536, 4), 65536);
        ck_assert_int_eq(compare(SETT__CONVERT, &t, 1, SETT_I16, &x, 65536, 1), 65536);
    }
    free(x);
}
END_TEST

/* Random sums of products, also near ties, for the one rounding of fma and of narrowing. */
START_TEST(test_random_rounding)
{
    enum { N = 20000 };
    uint64_t *x[3], seed = 77;
    for (int k = 0; k < 3; k++)
        x[k] = malloc(N * sizeof **x);
    for (int t = SETT_F16; t <= SETT_F64; t += 1 + (t == SETT_BF16)) {
        for (size_t i = 0; i < N; i++)
            for (int k = 0; k < 3; k++)
                x[k][i] = next_random(&seed) & mask_of(t) & (i & 1 ? ~(uint64_t)0 : ~(uint64_t)0xf);
        int in[3] = {t, t, t};
        ck_assert_int_eq(compare(SETT__FMA, in, 3, t, x, N, 1), N);
        ck_assert_int_eq(compare(SETT__MUL, in, 2, t, x, N, 1), N);
        ck_assert_int_eq(compare(SETT__DIV, in, 2, t, x, N, 2), N);
        for (int to = SETT_F16; to <= SETT_F64; to += 1 + (to == SETT_BF16))
            ck_assert_int_eq(compare(SETT__CONVERT, in, 1, to, x, N, 1), N);
    }
    for (int t = SETT_I8; t <= SETT_U64; t++)
        for (int to = SETT_F16; to <= SETT_F64; to += 1 + (to == SETT_BF16)) {
            for (size_t i = 0; i < N; i++)
                x[0][i] = (next_random(&seed) >> next_random(&seed) % 64) & mask_of(t);
            ck_assert_int_eq(compare(SETT__CONVERT, &t, 1, to, x, N, 1), N);
        }
    for (int k = 0; k < 3; k++)
        free(x[k]);
}
END_TEST

/* The instruction sets agree, on rows that the runs above may not have used. */
START_TEST(test_instruction_sets)
{
    _Alignas(64) uint64_t in[3][WARP], d[2][WARP];
    uint64_t seed = 5;
    const sett__wide *best = sett__wide_best();
    for (int code = 0; code < SETT__N_CODES; code++)
        for (int t = 0; t < SETT__N_DTYPES; t++) {
            sett__row_fn a = sett__wide_base.op[code][t], b = best->op[code][t];
            ck_assert(!a == !b);
            for (int round = 0; a && round < 8; round++) {
                for (int k = 0; k < 3 * WARP; k++)
                    in[k / WARP][k % WARP] = t == SETT_BOOL ? 0x0100010100010001u : next_random(&seed) & ~(uint64_t)0 << round * 6;
                memset(d, 0, sizeof d);
                a(d[0], in[0], in[1], in[2], 1, 0);
                b(d[1], in[0], in[1], in[2], 1, 0);
                ck_assert_msg(!memcmp(d[0], d[1], sizeof d[0]), "%s of %s", sett__ops[code].text, sett_dtype_name(t));
            }
        }
}
END_TEST

/* The hardware's approximations lie within its bounds; here within half an ulp of the true value. */
START_TEST(test_approximations)
{
    static const struct { int code; double (*f)(double); float lo, hi; } table[] = {
        {SETT__EX2A, exp2, -130, 120}, {SETT__LG2A, log2, 0.001f, 1e6f}, {SETT__SINA, sin, -7, 7}, {SETT__COSA, cos, -7, 7},
        {SETT__TANHA, tanh, -9, 9},
    };
    for (size_t k = 0; k < SETT__COUNT(table); k++) {
        float in[BLOCK], out[BLOCK];
        int t = SETT_F32;
        for (int i = 0; i < BLOCK; i++)
            in[i] = table[k].lo + (table[k].hi - table[k].lo) * (float)i / BLOCK;
        job j = {.text = op_text(sett__ops[table[k].code].text, &t, 1, t, 1), .block = {BLOCK}, .data = {in, out}, .bytes = {sizeof in, sizeof out},
                 .n_data = 2, .n_sym = 1, .sym = {BLOCK}};
        runs(&j);
        for (int i = 0; i < BLOCK; i++)
            ck_assert_float_eq(out[i], (float)table[k].f((double)in[i]));
    }
}
END_TEST

Suite *sim_suite(void)
{
    Suite *s = suite_create("sim");
    TCase *c = tcase_create("arithmetic");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, test_every_op);
    tcase_add_test(c, test_every_conversion);
    tcase_add_test(c, test_every_select);
    tcase_add_test(c, test_all_halves);
    tcase_add_test(c, test_random_rounding);
    tcase_add_test(c, test_instruction_sets);
    tcase_add_test(c, test_approximations);
    suite_add_tcase(s, c);
    return s;
}
