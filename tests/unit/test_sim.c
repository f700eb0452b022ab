/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU engine: arithmetic against the folder's reference on edge inputs of every type, memory in
 * every space and width, regions, collectives, faults and their words, many workers. */
#include "tests/rig/sim_rig.h"
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

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
    int at = sprintf(text, "sett tape 2\nsym N\n");
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
        if (!sett__eval((sett__code)code, eval_type, out, arg, n_in, &want))
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
    for (int code = 0; code < SETT__ROW_CODES; code++)
        for (int t = 0; t < SETT__ROW_TYPES; t++) {
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
        {SETT__TANHA, tanh, -9, 9}, {SETT__EX2F, exp2, -126, 120},
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

/* ---- regions and threads ----------------------------------------------------------------------- */
/* Collatz-like work whose length differs from lane to lane, against the same in C. */
START_TEST(test_divergence)
{
    pair p;
    job j = pair_job(&p, A_D "block 100\n" IDS "%4 = rmem i32x1\n%5 = const i32 0\nstore %4[0] i32 %5 align 4\n%6 = const i32 1\n%7 = const i32 3\n"
                     "for %8 = %5 to %0 step %7 {\n%9 = and i32 %8, %6\n%10 = eq i1 %9, %5\n"
                     "if %10 {\n%11 = load i32 %4[0] align 4\n%12 = add i32 %11, %8\nstore %4[0] i32 %12 align 4\n"
                     "for %13 = %5 to %7 step %6 {\n%14 = load i32 %4[0] align 4\n%15 = add i32 %14, %13\nstore %4[0] i32 %15 align 4\n}\n"
                     "} else {\n%16 = load i32 %4[0] align 4\n%17 = xor i32 %16, %0\nstore %4[0] i32 %17 align 4\n}\n}\n"
                     "%18 = load i32 %4[0] align 4\nstore %3[%0] i32 %18 align 4\n", 1, 100);
    runs(&j);
    for (int t = 0; t < 100; t++) {
        int v = 0;
        for (int i = 0; i < t; i += 3)
            v = i % 2 == 0 ? v + i + 3 : v ^ t;
        ck_assert_int_eq(p.d[t], v);
    }
}
END_TEST

/* A value made before a loop keeps its place through every round. */
START_TEST(test_live_through_loop)
{
    pair p;
    char text[4096];
    int at = sprintf(text, A_D "block 32\n%s%%4 = load i32 %%2[%%0 + 5] align 4\n%%5 = const i32 0\n%%6 = const i32 1\n%%7 = const i32 4\n%%8 = rmem i32x1\nstore %%8[0] i32 %%5 align 4\nfor %%9 = %%5 to %%7 step %%6 {\n", IDS);
    for (int k = 0; k < 20; k++)
        at += sprintf(text + at, "%%%d = add i32 %%%d, %%9\n", 20 + k, k ? 19 + k : 4);
    sprintf(text + at, "%%50 = load i32 %%8[0] align 4\n%%51 = add i32 %%50, %%39\nstore %%8[0] i32 %%51 align 4\n}\n%%52 = load i32 %%8[0] align 4\nstore %%3[%%0] i32 %%52 align 4\n");
    job j = pair_job(&p, text, 1, 32);
    runs(&j);
    for (int t = 0; t < 32; t++)
        ck_assert_int_eq(p.d[t], 4 * (t + 5) + 20 * (0 + 1 + 2 + 3));
}
END_TEST

/* A loop to the last number of its type ends. */
START_TEST(test_loop_at_the_edge)
{
    pair p;
    job j = pair_job(&p, A_D "block 32\n" IDS "%4 = const i32 2147483640\n%5 = const i32 2147483647\n%6 = const i32 3\n%7 = rmem i32x1\n%8 = const i32 0\n%11 = const i32 1\nstore %7[0] i32 %8 align 4\n"
                     "for %9 = %4 to %5 step %6 {\n%10 = load i32 %7[0] align 4\n%12 = add i32 %10, %11\nstore %7[0] i32 %12 align 4\n}\n"
                     "%13 = load i32 %7[0] align 4\nstore %3[%0] i32 %13 align 4\n", 1, 32);
    runs(&j);
    ck_assert_int_eq(p.d[0], 3);
}
END_TEST

START_TEST(test_shuffles)
{
    static const struct { const char *name; int lane, width; } way[] = {
        {"idx", 3, 32}, {"idx", 9, 8}, {"up", 1, 32}, {"up", 3, 8}, {"down", 2, 16}, {"down", 31, 32}, {"bfly", 5, 32}, {"bfly", 1, 2},
    };
    pair p;
    for (size_t k = 0; k < SETT__COUNT(way); k++) {
        char text[512], width[16] = "";
        if (way[k].width != 32)
            snprintf(width, sizeof width, " width=%d", way[k].width);
        snprintf(text, sizeof text, A_D "block 64\n%s%%4 = const i32 %d\n%%5 = shfl.%s i32 %%0, %%4%s\nstore %%3[%%0] i32 %%5 align 4\n",
                 IDS, way[k].lane, way[k].name, width);
        job j = pair_job(&p, text, 1, 64);
        runs(&j);
        for (int t = 0; t < 64; t++) {
            int w = way[k].width, group = t / w * w, in = t % w, n = way[k].lane, from = in;
            if (way[k].name[0] == 'i')
                from = n % w;
            else if (way[k].name[0] == 'u')
                from = in - n >= 0 ? in - n : in;
            else if (way[k].name[0] == 'd')
                from = in + n < w ? in + n : in;
            else
                from = in ^ n;
            ck_assert_int_eq(p.d[t], group + from);
        }
    }
}
END_TEST

/* Sum of a block through shared memory: barriers, and the grid's three dimensions. */
#define REDUCE \
    HEAD("param A i32 (1000):(1) align 4 read\nparam D i32 (1000):(1) align 4 write\nblock 8, 4, 3\nsmem 512 align 16\n") \
    "%0 = tid.x i32\n%1 = tid.y i32\n%2 = tid.z i32\n%3 = const i32 8\n%4 = const i32 4\n%5 = mul i32 %2, %4\n%6 = add i32 %5, %1\n%7 = mul i32 %6, %3\n%8 = add i32 %7, %0\n" \
    "%10 = bid.x i32\n%11 = bid.y i32\n%12 = gdim.x i32\n%13 = mul i32 %11, %12\n%14 = add i32 %13, %10\n%15 = smem i32x128 at 0\n%20 = const i32 0\n%22 = rmem i32x1\n%23 = const i32 1\n%24 = const i32 96\n%30 = param i32 D\n%16 = add i32 %8, %14\nstore %15[%8] i32 %16 align 4\nbarrier\n" \
    "%21 = eq i1 %8, %20\nif %21 {\nstore %22[0] i32 %20 align 4\nfor %25 = %20 to %24 step %23 {\n" \
    "%26 = load i32 %15[%25] align 4\n%27 = load i32 %22[0] align 4\n%28 = add i32 %27, %26\nstore %22[0] i32 %28 align 4\n}\n%29 = load i32 %22[0] align 4\nstore %30[%14] i32 %29 align 4\n}\n"
START_TEST(test_blocks)
{
    pair p;
    for (int threads = 1; threads <= 8; threads *= 2) {
        job j = pair_job(&p, REDUCE, 20, 8);
        j.grid[1] = 40;
        j.block[1] = 4;
        j.block[2] = 3;
        j.threads = threads;
        runs(&j);
        for (int b = 0; b < 800; b++)
            ck_assert_int_eq(p.d[b], 95 * 96 / 2 + 96 * b);
    }
}
END_TEST

typedef struct shared_run { const sett__program *program; atomic_int failures; } shared_run;
#ifdef __SANITIZE_THREAD__ /* many times as slow; four threads meet in the first launch */
enum { LAUNCHES = 5 };
#else
enum { LAUNCHES = 20 };
#endif
static void *many(void *user)
{
    shared_run *s = user;
    for (int k = 0; k < LAUNCHES; k++) {
        pair p;
        sett_error e;
        job j = pair_job(&p, NULL, 20, 8);
        j.grid[1] = 40;
        j.block[1] = 4;
        j.block[2] = 3;
        j.threads = 2;
        if (run_program(s->program, &j, &e))
            atomic_fetch_add(&s->failures, 1);
        for (int b = 0; b < 800; b++)
            if (p.d[b] != 95 * 96 / 2 + 96 * b)
                atomic_fetch_add(&s->failures, 1);
    }
    return NULL;
}

START_TEST(test_many_launches)
{
    sett__tape t = {0};
    sett__program *program;
    sett_error e;
    pthread_t thread[4];
    parse(&t, REDUCE);
    ck_assert_int_eq(sett__program_make(&t, false, &program, &e), SETT_OK);
    shared_run s = {.program = program};
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&thread[i], NULL, many, &s), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    ck_assert_int_eq(s.failures, 0);
    sett__program_free(program);
    sett__tape_free(&t);
}
END_TEST

/* ---- talk and faults --------------------------------------------------------------------------- */
typedef struct heard { char text[4096]; size_t len; } heard;
static void hear(void *user, const char *text, size_t len)
{
    heard *h = user;
    ck_assert(h->len + len < sizeof h->text && text[len - 1] == '\n');
    memcpy(h->text + h->len, text, len);
    h->len += len;
}

START_TEST(test_printf)
{
    pair p;
    heard h = {.len = 0};
    job j = pair_job(&p, A_D "block 3\n%0 = tid.x i32\n%1 = const i8 -1\n%2 = const f16 1.5\n%3 = const u64 18446744073709551615\n%4 = const i1 true\n"
                     "printf \"%3d|%x|%-6.2f|%llu|%d|%%\\n\", %0, %1, %2, %3, %4\n", 1, 3);
    j.print = hear;
    j.user = &h;
    runs(&j);
    ck_assert_str_eq(h.text, "  0|ffffffff|1.50  |18446744073709551615|1|%\n"
                             "  1|ffffffff|1.50  |18446744073709551615|1|%\n"
                             "  2|ffffffff|1.50  |18446744073709551615|1|%\n");
}
END_TEST

static const struct { const char *name, *text; uint32_t block; const char *want; } fault[] = {
    {"load outside", A_D "block 8\n" IDS "%4 = load i32 %2[%0 + 995] align 4 @ add.c:31 body\n", 8,
     "add.c:31: load of A: element 1000 of 1000 (byte 4000) is outside, block (0,0,0) thread (5,0,0), kernel k"},
    {"store outside", A_D "block 64\n" IDS "%4 = const i32 20\n%5 = mul i32 %0, %4\n%6 = pack i32x2 %0, %0\nstore %3[%5] i32x2 %6 align 4 @ add.c:7 body\n", 64,
     "add.c:7: store to D: elements 1000 to 1001 of 1000 (byte 4000) is outside, block (0,0,0) thread (50,0,0), kernel k"},
    {"below", A_D "block 64\n" IDS "%4 = load i32 %2[%0 - 1] align 4 @ a.c:1 f\n", 64,
     "a.c:1: load of A: element -1 of 1000 (byte -4) is outside, block (0,0,0) thread (0,0,0), kernel k"},
    {"one address", A_D "block 64\n" IDS "%4 = load i32 %2[1000] align 4 @ a.c:1 f\n", 64,
     "a.c:1: load of A: element 1000 of 1000 (byte 4000) is outside, block (0,0,0) thread (0,0,0), kernel k"},
    {"shared", A_D "block 40\nsmem 128 align 16\n" IDS "%4 = smem i32x32 at 0\nstore %4[%0] i32 %0 align 4 @ a.c:2 f\n", 40,
     "a.c:2: store to shared memory: element 32 of 32 (byte 128) is outside, block (0,0,0) thread (32,0,0), kernel k"},
    {"shared, of two", A_D "block 40\nsmem 128 align 16\n" IDS "%4 = smem i32x16 at 0 @ a.c:3 f\n%5 = smem i32x16 at 64 @ b.c:4 g\nstore %4[0] i32 %0 align 4\nstore %5[%0] i32 %0 align 4 @ a.c:5 f\n", 40,
     "a.c:5: store to shared memory made at b.c:4: element 16 of 16 (byte 64) is outside, block (0,0,0) thread (16,0,0), kernel k"},
    {"shared, aligned", A_D "block 31\nsmem 128 align 16\n" IDS "%4 = smem i32x32 at 0 @ a.c:3 f\n%5 = load i32x2 %4[%0] align 8 @ a.c:5 f\n", 31,
     "a.c:5: load of shared memory made at a.c:3: element 1 (byte 4) is not aligned to 8 bytes, block (0,0,0) thread (1,0,0), kernel k"},
    {"array, where", A_D "block 32\n" IDS "%4 = rmem i32x4 @ a.c:1 f\nstore %4[%0] i32 %0 align 4 @ a.c:2 f\n", 32,
     "a.c:2: store to a register array made at a.c:1: element 4 of 4 (byte 16) is outside, block (0,0,0) thread (4,0,0), kernel k"},
    {"array", A_D "block 32\n" IDS "%4 = rmem i32x4\nstore %4[%0] i32 %0 align 4 @ a.c:2 f\n", 32,
     "a.c:2: store to a register array: element 4 of 4 (byte 16) is outside, block (0,0,0) thread (4,0,0), kernel k"},
    {"atomic", "sett tape 2\nparam A i32 (1000):(1) align 4 read\nparam D i32 (1000):(1) align 4 read write\nblock 32\n%0 = tid.x i32\n%3 = param i32 D\n%4 = const i32 40\n%5 = mul i32 %0, %4\n%6 = atom.add i32 %3[%5] %0 @ a.c:2 f\n", 32,
     "a.c:2: atomic on D: element 1000 of 1000 (byte 4000) is outside, block (0,0,0) thread (25,0,0), kernel k"},
    {"64-bit wrap", A_D "block 32\n" IDS "%4 = const i64 4611686018427387904\n%5 = convert i64 %0\n%6 = add i64 %4, %5\n%7 = load i32 %2[%6] align 4 @ a.c:2 f\n", 32,
     "a.c:2: load of A: element 4611686018427387904 of 1000 (byte 0) is outside, block (0,0,0) thread (0,0,0), kernel k"},
    {"alignment", "sett tape 2\nparam A i32 (1000):(1) align 16 read\nparam D i32 (1000):(1) align 4 write\nblock 32\n" IDS
     "%4 = const i32 2\n%5 = mul i32 %0, %4\n%6 = load i32x2 %2[%5 + 1] align 8 @ a.c:2 f\n", 32,
     "a.c:2: load of A: element 1 (byte 4) is not aligned to 8 bytes, block (0,0,0) thread (0,0,0), kernel k"},
    {"barrier in a branch", A_D "block 64\n" IDS "%4 = const i32 40\n%5 = lt i1 %0, %4\nif %5 {\nbarrier @ a.c:9 f\n}\n", 64,
     "a.c:9: barrier in a branch: only 8 of the warp's 32 threads are here; lanes 8-31 did not take the branch at line 11, block (0,0,0) thread (40,0,0), kernel k"},
    {"shuffle in a branch", A_D "block 32\n" IDS "%4 = const i32 4\n%5 = lt i1 %0, %4\nif %5 {\n%6 = shfl.bfly i32 %0, %4 @ a.c:9 f\n}\n", 32,
     "a.c:9: shfl in a branch: only 4 of the warp's 32 threads are here; lanes 4-31 did not take the branch at line 11, block (0,0,0) thread (4,0,0), kernel k"},
    {"shuffle of no lane", A_D "block 20\n" IDS "%4 = const i32 16\n%6 = shfl.bfly i32 %0, %4 @ a.c:9 f\n", 20,
     "a.c:9: shfl reads lane 20, which the block does not have, block (0,0,0) thread (4,0,0), kernel k"},
    {"sync_warp in a branch", A_D "block 64\n" IDS "%4 = const i32 40\n%5 = lt i1 %0, %4\nif %5 {\nsyncwarp @ a.c:9 f\n}\n", 64,
     "a.c:9: sync_warp in a branch: only 8 of the warp's 32 threads are here; lanes 8-31 did not take the branch at line 11, block (0,0,0) thread (40,0,0), kernel k"},
    {"sync_warp in an else", A_D "block 32\n" IDS "%4 = const i32 3\n%5 = and i32 %0, %4\n%6 = ne i1 %5, %4\nif %6 { @ a.c:7 f\n} else {\nsyncwarp @ a.c:9 f\n}\n", 32,
     "a.c:9: sync_warp in a branch: only 8 of the warp's 32 threads are here; lanes 0-2, 4-6, 8-10, 12-14, 16-18, 20-22, 24-26, 28-30 took the first arm of the branch at a.c:7, block (0,0,0) thread (0,0,0), kernel k"},
    {"sync_warp in both arms", A_D "block 32\n" IDS "%4 = const i32 3\n%5 = ne i1 %0, %4\nif %5 { @ a.c:7 f\nsyncwarp @ a.c:8 f\n} else {\nsyncwarp @ a.c:9 f\n}\n", 32,
     "a.c:8: sync_warp in a branch: only 31 of the warp's 32 threads are here; lane 3 did not take the branch at a.c:7, block (0,0,0) thread (3,0,0), kernel k"},
    {"sync_warp in a loop", A_D "block 20\n" IDS "%4 = const i32 3\n%5 = const i32 0\n%6 = const i32 1\nfor %7 = %5 to %0 step %6 { @ a.c:5 f\n%8 = ne i1 %0, %4\nif %8 { @ a.c:6 f\nsyncwarp @ a.c:9 f\n}\n}\n", 20,
     "a.c:9: sync_warp in a branch: only 18 of the warp's 20 threads are here; lane 3 did not take the branch at a.c:6; lane 0 left the loop at a.c:5, block (0,0,0) thread (0,0,0), kernel k"},
    {"sync_warp in a while loop", A_D "block 32\n" IDS "%4 = const i32 5\n%5 = rmem i32x1\nstore %5[0] i32 %0 align 4\nloop { @ a.c:5 f\n%6 = load i32 %5[0] align 4\n%7 = lt i1 %6, %4\nwhile %7\nif %7 {\n} else {\n}\nsyncwarp @ a.c:9 f\n}\n", 32,
     "a.c:9: sync_warp in a branch: only 5 of the warp's 32 threads are here; lanes 5-31 left the loop at a.c:5, block (0,0,0) thread (5,0,0), kernel k"},
    {"deadlock", A_D "block 128\n" IDS "%4 = const i32 64\n%5 = lt i1 %0, %4\nif %5 {\nbarrier @ a.c:9 f\n}\n", 128,
     "a.c:9: barrier that not all threads reach: warps 0-1 wait at a.c:9; warps 2-3 ended, block (0,0,0), kernel k"},
    {"two barriers", A_D "block 96\n" IDS "%4 = const i32 32\n%5 = lt i1 %0, %4\nif %5 {\nbarrier @ a.c:9 f\n} else {\nbarrier @ a.c:11 f\n}\n", 96,
     "a.c:9: barrier that not all threads reach: warp 0 waits at a.c:9; warps 1-2 wait at a.c:11, block (0,0,0), kernel k"},
    {"assert", A_D "block 64\n" IDS "%4 = const i32 33\n%5 = ne i1 %0, %4\nassert %5, \"x is small\" @ a.c:5 f\n", 64,
     "a.c:5: assertion failed: x is small, block (0,0,0) thread (33,0,0), kernel k"},
    {"step 0", A_D "block 32\n" IDS "%4 = const i32 3\n%5 = sub i32 %4, %0\n%6 = const i32 100\nfor %7 = %4 to %6 step %5 {\nsyncwarp\n}\n", 5,
     "line 12 of the tape: the step of a loop is 0, it must be positive, block (0,0,0) thread (3,0,0), kernel k"},
    {"negative step of all", A_D "block 32\n" IDS "%4 = const i64 3\n%5 = load i32 %2[0] align 4\n%6 = convert i64 %5\n%7 = sub i64 %6, %4\nfor %8 = %6 to %4 step %7 {\nsyncwarp\n}\n", 32,
     "line 13 of the tape: the step of a loop is -3, it must be positive, block (0,0,0) thread (0,0,0), kernel k"},
    {"step 0 of a loop that is not entered", A_D "block 32\n" IDS "%4 = load i32 %2[0] align 4\nfor %5 = %4 to %4 step %4 {\nsyncwarp\n}\n%6 = load i32 %2[1000] align 4\n", 32,
     "line 13 of the tape: load of A: element 1000 of 1000 (byte 4000) is outside, block (0,0,0) thread (0,0,0), kernel k"},
    {"a loop without end", A_D "block 64\n" IDS "%4 = const i32 5\nloop {\n%6 = load i32 %2[%0] align 4\n%7 = lt i1 %6, %4\nwhile %7\nstore %3[%0] i32 %0 align 4\n} @ a.c:7 f\n", 64,
     "a.c:7: this warp has gone round its while loops 5000 times: they do not end, block (0,0,0) thread (0,0,0), kernel k"},
    {"no line", A_D "block 64\n" IDS "%4 = load i32 %2[1000] align 4\n", 64,
     "line 9 of the tape: load of A: element 1000 of 1000 (byte 4000) is outside, block (0,0,0) thread (0,0,0), kernel k"},
};

START_TEST(test_faults)
{
    pair p;
    job j = pair_job(&p, fault[_i].text, 1, fault[_i].block);
    j.most_rounds = 5000;
    faults(&j, fault[_i].want);
}
END_TEST

/* The lowest block that faults is the one reported, with any number of workers; the blocks before it have run. */
START_TEST(test_lowest_fault)
{
    pair p;
    for (int threads = 1; threads <= 8; threads++) {
        job j = pair_job(&p, A_D "block 1\n" IDS "%4 = const i32 333\n%5 = ne i1 %1, %4\n%6 = const i32 777\n%7 = ne i1 %1, %6\n%8 = and i1 %5, %7\nassert %8, \"no\" @ a.c:5 f\nstore %3[%1] i32 %1 align 4\n", 1000, 1);
        j.threads = threads;
        faults(&j, "a.c:5: assertion failed: no, block (333,0,0) thread (0,0,0), kernel k");
        for (int i = 0; i < 333; i++)
            ck_assert_int_eq(p.d[i], i);
        ck_assert_int_eq(p.d[333], -1);
    }
}
END_TEST

/* What a launch may not ask for. */
START_TEST(test_launch_limits)
{
    static const struct { uint32_t grid, block, block_y; sett_status want; } way[] = {
        {1, 1025, 1, SETT_E_LIMIT}, {1, 1024, 2, SETT_E_LIMIT}, {1, 65536, 65536, SETT_E_LIMIT}, {0x80000000u, 1, 1, SETT_E_LIMIT}, {1, 1024, 1, SETT_OK},
    };
    pair p;
    sett_error e;
    for (size_t k = 0; k < SETT__COUNT(way); k++) {
        job j = pair_job(&p, A_D "block 1\n%0 = const i32 1\n", way[k].grid, way[k].block);
        j.block[1] = way[k].block_y;
        ck_assert_int_eq(run(&j, &e), way[k].want);
    }
    job j = pair_job(&p, A_D "block 1\n%0 = const i32 1\n", 1, 1);
    j.n_data = 1;
    ck_assert_int_eq(run(&j, &e), SETT_E_BIND);
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
    c = tcase_create("running");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, test_divergence);
    tcase_add_test(c, test_live_through_loop);
    tcase_add_test(c, test_loop_at_the_edge);
    tcase_add_test(c, test_shuffles);
    tcase_add_test(c, test_blocks);
    tcase_add_test(c, test_many_launches);
    tcase_add_test(c, test_printf);
    tcase_add_loop_test(c, test_faults, 0, SETT__COUNT(fault));
    tcase_add_test(c, test_lowest_fault);
    tcase_add_test(c, test_launch_limits);
    suite_add_tcase(s, c);
    return s;
}
