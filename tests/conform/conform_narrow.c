/* SPDX-License-Identifier: Apache-2.0 */
/* The types that are only stored: conversions to and from them, against a search among all their numbers. */
#include "tests/conform/conform.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1 << 16, EACH = 8, BLOCK = 128, CODES = 256 };

static const struct narrow { sett_dtype d; int bits, e, m, bias; bool memory, has_nan; int most; } types[] = {
    {SETT_F8E4M3FN, 8, 4, 3, 7, true, true, 0x7e}, {SETT_F8E5M2, 8, 5, 2, 15, true, true, 0x7b},
    {SETT_F8E8M0FNU, 8, 8, 0, 127, true, true, 0xfe}, {SETT_F6E3M2FN, 6, 3, 2, 3, false, false, 0x1f},
    {SETT_F6E2M3FN, 6, 2, 3, 1, false, false, 0x1f}, {SETT_F4E2M1FN, 4, 2, 1, 1, false, false, 0x07},
    {SETT_I4, 4, 0, 3, 0, false, false, 0x07}};
enum { TYPES = sizeof types / sizeof *types };
static const sett_dtype sources[] = {SETT_F16, SETT_BF16, SETT_F32, SETT_F64, SETT_I32, SETT_U8, SETT_U32, SETT_I64, SETT_U64};

/* What a code means; NaN beyond the greatest number (but infinity is a number of f8E5M2). */
static double meaning(const struct narrow *t, int code)
{
    int magnitude = t->e == 8 ? code : code & ((1 << (t->bits - 1)) - 1);
    bool minus = t->e != 8 && code >> (t->bits - 1);
    if (t->d == SETT_I4)
        return code < 8 ? code : code - 16;
    if (magnitude > t->most)
        return t->d == SETT_F8E5M2 && magnitude == 0x7c ? (minus ? -(double)INFINITY : (double)INFINITY) : (double)NAN;
    int field = magnitude >> t->m;
    double x = t->e == 8 ? ldexp(1, code - 127)
               : field   ? ldexp((magnitude & ((1 << t->m) - 1)) | 1 << t->m, field - t->bias - t->m)
                         : ldexp(magnitude, 1 - t->bias - t->m);
    return minus ? -x : x;
}

static double table[CODES]; /* of the type at hand */

static void tabulate(const struct narrow *t)
{
    for (int code = 0; code < CODES; code++)
        table[code] = meaning(t, code);
}

/* The nearest number, of two the one with the even code; of f8E8M0FNU the next one up. */
static double nearest(const struct narrow *t, long double x)
{
    double most = table[t->most], best = 0, off = (double)INFINITY;
    if (x != x)
        return t->has_nan ? (double)NAN : most;
    if (t->e == 8) {
        if (x < 0)
            return (double)NAN;
        for (int code = 0; code < t->most; code++)
            if (table[code] >= x)
                return table[code];
        return most;
    }
    if (fabsl(x) > most)
        return x < 0 ? -most : most;
    for (int code = 0; code <= t->most; code++) {
        double d = (double)fabsl(table[code] - fabsl(x));
        if (d < off || (d == off && !(code & 1)))
            best = table[code], off = d;
    }
    return copysign(best, (double)x);
}

static double int4(sett_dtype from, long double x)
{
    if (!sett__dtype_is_float(from))
        return (double)((int64_t)((uint64_t)(x < 0 ? (uint64_t)(int64_t)x : (uint64_t)x) << 60) >> 60);
    return x != x ? 0 : x > 7 ? 7 : x < -8 ? -8 : trunc((double)x);
}

typedef struct job { const struct narrow *t; sett_dtype from; } job;

/* D = the number after a conversion and back; C = what was stored. */
static void there_and_back(sett_build *b, const void *user)
{
    const job *j = user;
    sett_tensor *X = sett_param(b, "X", j->from, sett_make_layout(b, T1(N)), .align = 16);
    sett_tensor *D = sett_param(b, "D", SETT_F64, sett_make_layout(b, T1(N)), .align = 16);
    sett_tensor *C = j->t->memory ? sett_param(b, "C", j->t->d, sett_make_layout(b, T1(N)), .align = 16) : NULL;
    sett_grid(b, N / EACH / BLOCK);
    sett_block(b, BLOCK);
    sett_val *i = sett_add(sett_mul(sett_block_idx(b, 0), BLOCK), sett_thread_idx(b, 0));
    sett_val *v = sett_to(sett_load(sett_local_tile(X, T1(EACH), T1(i))), j->t->d);
    sett_store(sett_local_tile(D, T1(EACH), T1(i)), sett_to(v, SETT_F64));
    if (C)
        sett_store(sett_local_tile(C, T1(EACH), T1(i)), v);
}

/* 16-bit types: every number; others edges, then random ones. */
static void fill_source(void *x, sett_dtype from)
{
    uint64_t seed = 0xf8;
    for (size_t i = 0; i < N; i++)
        conform_put(x, from, i, sett_dtype_bits(from) == 16 ? i : conform_value(from, i, &seed));
    int bits = sett_dtype_bits(from);
    for (size_t i = 64; i < N && bits >= 32 && !sett__dtype_is_float(from); i += 2) { /* beside powers of two, by one or more in a lower place */
        uint64_t power = UINT64_C(1) << i / 2 % (size_t)bits, off = UINT64_C(1) << i / 128 % (size_t)bits;
        conform_put(x, from, i, (i % 4 ? power + off : power - off) & conform_mask(from));
    }
    for (size_t i = 64; i < N && (from == SETT_F32 || from == SETT_F64); i += 2) { /* ties of the types, and what is just beside them */
        double tie = ldexp((double)(i % 64) + 0.5, (int)(i / 64 % 40) - 24);
        uint64_t near = sett__bits_of_float(from, i % 4 ? tie : -tie);
        conform_put(x, from, i, near + (i / 4096) % 3 - 1);
    }
}

static bool same_number(double x, double y)
{
    return (x != x && y != y) || (x == y && signbit(x) == signbit(y));
}

static void check_type(const job *j)
{
    double *d = malloc(N * sizeof *d);
    void *x = malloc(N * (size_t)sett__dtype_bytes(j->from));
    uint8_t *c = malloc(N);
    ck_assert(d && x && c);
    fill_source(x, j->from);
    tabulate(j->t);
    sett_kernel *k = conform_compile(there_and_back, j, (conform_how){0});
    sett_buf X = sett_buf_1d(x, j->from, N), D = sett_buf_1d(d, SETT_F64, N), C = sett_buf_1d(c, j->t->d, N);
    conform_launch(k, false, j->t->memory ? 3 : 2, (const sett_launch_arg[]){sett_launch_arg_buf(&X), sett_launch_arg_buf(&D), sett_launch_arg_buf(&C)});
    for (size_t i = 0; i < N; i++) {
        uint64_t in = conform_get(x, j->from, i);
        long double from = sett__dtype_is_float(j->from) ? conform_number(j->from, in) : j->from == SETT_U64 ? (long double)in : sett__int_of_bits(j->from, in);
        double want = j->t->d == SETT_I4 ? int4(j->from, from) : nearest(j->t, from);
        ck_assert_msg(same_number(d[i], want) || (j->t->d == SETT_I4 && d[i] == want), "%s %" PRIx64 " (%g) to %s: got %g, want %g",
            sett_dtype_name(j->from), in, (double)from, sett_dtype_name(j->t->d), d[i], want);
        ck_assert(!j->t->memory || same_number(table[c[i]], d[i]));
    }
    sett_kernel_release(k);
    free(d);
    free(x);
    free(c);
}

START_TEST(narrow_conversions)
{
    for (size_t s = 0; s < SETT__COUNT(sources); s++)
        check_type(&(job){&types[_i], sources[s]});
}
END_TEST

/* Every code of a type in memory, as every arithmetic type. */
static void open_all(sett_build *b, const void *user)
{
    const job *j = user;
    sett_tensor *C = sett_param(b, "C", j->t->d, sett_make_layout(b, T1(CODES)), .align = 16);
    sett_tensor *D = sett_param(b, "D", j->from, sett_make_layout(b, T1(CODES)), .align = 16);
    sett_grid(b, 1);
    sett_block(b, CODES / EACH);
    sett_val *i = sett_thread_idx(b, 0);
    sett_store(sett_local_tile(D, T1(EACH), T1(i)), sett_to(sett_load(sett_local_tile(C, T1(EACH), T1(i))), j->from));
}

START_TEST(every_code)
{
    uint8_t c[CODES];
    uint64_t d[CODES];
    for (int i = 0; i < CODES; i++)
        c[i] = (uint8_t)i;
    for (int s = 0; s < CONFORM_TYPES; s++) {
        const job j = {&types[_i], conform_types[s]};
        sett_kernel *k = conform_compile(open_all, &j, (conform_how){0});
        sett_buf C = sett_buf_1d(c, j.t->d, CODES), D = sett_buf_1d(d, j.from, CODES);
        conform_run(k, &C, &D);
        for (int i = 0; i < CODES; i++) {
            uint64_t want, got = conform_get(d, j.from, (size_t)i), in[3] = {sett__bits_of_float(SETT_F64, meaning(j.t, i)), 0, 0};
            if (conform_reference(SETT__CONVERT, SETT_F64, j.from, in, &want))
                ck_assert_msg(conform_same(j.from, got, want), "%s %x to %s: got %" PRIx64 ", want %" PRIx64, sett_dtype_name(j.t->d), i,
                    sett_dtype_name(j.from), got, want);
        }
        sett_kernel_release(k);
    }
}
END_TEST

/* Packed elements: bytes opened as numbers, and numbers as bytes. */
enum { PACKED = 24, THREADS = 64 };

static void packed_elements(sett_build *b, const void *user)
{
    const struct narrow *t = user;
    int each = PACKED * 8 / t->bits;
    sett_tensor *X = sett_param(b, "X", SETT_U8, sett_make_layout(b, T1(PACKED * THREADS)));
    sett_tensor *D = sett_param(b, "D", SETT_F32, sett_make_layout(b, sett_tuple(b, each * THREADS)));
    sett_tensor *C = sett_param(b, "C", SETT_U8, sett_make_layout(b, T1(PACKED * THREADS)));
    sett_grid(b, 1);
    sett_block(b, THREADS);
    sett_val *i = sett_thread_idx(b, 0);
    sett_val *number = sett_to(sett_bitcast(sett_load(sett_local_tile(X, T1(PACKED), T1(i))), t->d), SETT_F32);
    sett_store(sett_local_tile(D, sett_tuple(b, each), T1(i)), number);
    sett_store(sett_local_tile(C, T1(PACKED), T1(i)), sett_bitcast(sett_to(number, t->d), SETT_U8));
}

START_TEST(packed_in_bytes)
{
    const struct narrow *t = &types[3 + _i];
    uint8_t x[PACKED * THREADS + 1], c[PACKED * THREADS];
    static float d[PACKED * THREADS * 2];
    uint64_t seed = 4;
    int n = PACKED * THREADS * 8 / t->bits;
    for (int i = 0; i <= PACKED * THREADS; i++)
        x[i] = (uint8_t)conform_random(&seed);
    sett_kernel *k = conform_compile(packed_elements, t, (conform_how){0});
    sett_buf X = sett_buf_1d(x, SETT_U8, PACKED * THREADS), D = sett_buf_1d(d, SETT_F32, n), C = sett_buf_1d(c, SETT_U8, PACKED * THREADS);
    conform_run(k, &X, &D, &C);
    for (int i = 0; i < n; i++) {
        int bit = i * t->bits, code = (x[bit / 8] | x[bit / 8 + 1] << 8) >> bit % 8 & ((1 << t->bits) - 1);
        ck_assert_msg(same_number(d[i], meaning(t, code)), "%s element %d, %x: got %g", sett_dtype_name(t->d), i, code, (double)d[i]);
    }
    ck_assert(!memcmp(x, c, sizeof c));
    sett_kernel_release(k);
}
END_TEST

void conform_add_narrow(TCase *t)
{
    tcase_add_loop_test(t, narrow_conversions, 0, TYPES);
    tcase_add_loop_test(t, every_code, 0, 3);
    tcase_add_loop_test(t, packed_in_bytes, 0, 4);
}
