/* SPDX-License-Identifier: Apache-2.0 */
/* What values offer beyond arithmetic: elements at run-time coordinates, gather and scatter, any and all, and values
 * and state kept in structs of the kernel author's own. */
#include "tests/conform/conform.h"
#include <math.h>
#include <stdlib.h>

enum { LANES = 96, WIDE = 12, TABLE = 40 };

/* ---- elements by values ---------------------------------------------------------------------------- */
static void elements(sett_build *b, const void *user)
{
    (void)user;
    sett_block(b, LANES);
    sett_tensor *X = sett_param(b, "X", SETT_I32, sett_make_layout(b, T(T(2, 2), 3, LANES)));
    sett_tensor *K = sett_param(b, "K", SETT_I32, sett_make_layout(b, T1(LANES)));
    sett_tensor *Y = sett_param(b, "Y", SETT_I32, sett_make_layout(b, T(8, LANES)));
    sett_val *t = sett_thread_idx(b, 0), *k = sett_at(K, t);
    sett_val *x = sett_mul(sett_load(sett_slice(X, ALL, ALL, t)), 3);
    sett_val *low = sett_and(k, 1), *row = sett_mod(sett_and(k, 1023), 3);
    sett_set(Y, sett_element(x, sett_mod(sett_and(k, 1023), WIDE)), 0, t);
    sett_set(Y, sett_element(x, T(T(1, low), row)), 1, t);
    sett_set(Y, sett_element(x, 3, row), 2, t);
    sett_val *column = sett_element(x, ALL, row), *line = sett_element(x, T(low, ALL), 2);
    sett_set(Y, sett_reduce(column, SETT_ADD, 0), 3, t);
    for (int i = 0; i < 4; i++)
        sett_set(Y, i < 2 ? sett_element(line, i) : sett_element(column, sett_sub(3, low)), 4 + i, t);
}

START_TEST(dynamic_elements)
{
    static int32_t x[WIDE * LANES], k[LANES], y[8 * LANES];
    uint64_t seed = 5;
    for (int i = 0; i < WIDE * LANES; i++)
        x[i] = (int32_t)(conform_random(&seed) % 20001) - 10000;
    for (int i = 0; i < LANES; i++)
        k[i] = (int32_t)conform_random(&seed);
    sett_buf X = {x, SETT_I32, 3, {4, 3, LANES}, {1, 4, WIDE}}, K = sett_buf_1d(k, SETT_I32, LANES);
    sett_buf Y = {y, SETT_I32, 2, {8, LANES}, {1, 8}};
    conform_body(elements, NULL, &X, &K, &Y);
    for (int t = 0; t < LANES; t++) {
        const int32_t *v = x + t * WIDE;
        int low = k[t] & 1, row = (k[t] & 1023) % 3;
        int32_t want[8] = {v[(k[t] & 1023) % WIDE], v[1 + 2 * low + 4 * row], v[3 + 4 * row],
            v[4 * row] + v[4 * row + 1] + v[4 * row + 2] + v[4 * row + 3], v[low + 8], v[low + 2 + 8],
            v[3 - low + 4 * row], v[3 - low + 4 * row]};
        for (int i = 0; i < 8; i++)
            ck_assert_msg(y[t * 8 + i] == 3 * want[i], "thread %d, result %d: got %d, want %d", t, i, y[t * 8 + i], 3 * want[i]);
    }
}
END_TEST

/* ---- gather and scatter ------------------------------------------------------------------------------ */
typedef struct chosen { sett_dtype d; sett_space space; bool pred; } chosen;

static void choose(sett_build *b, const void *user)
{
    const chosen *c = user;
    sett_block(b, LANES);
    sett_tensor *X = sett_param(b, "X", c->d, sett_row_major(b, TABLE / 8, 8));
    sett_tensor *I = sett_param(b, "I", SETT_I16, sett_make_layout(b, T(T(2, 3), LANES)));
    sett_tensor *Y = sett_param(b, "Y", c->d, sett_make_layout(b, T(T(2, 3), LANES)));
    sett_tensor *Z = sett_param(b, "Z", c->d, sett_make_layout(b, T(6, LANES)));
    sett_val *t = sett_thread_idx(b, 0), *idx = sett_load(sett_slice(I, ALL, t));
    sett_tensor *from = X;
    if (c->space == SETT_SMEM) {
        from = sett_make_smem_tensor(b, c->d, sett_row_major(b, TABLE / 8, 8), 0);
        sett_if (b, sett_eq(t, 0))
            sett_copy(X, from);
        sett_sync_threads(b);
    }
    sett_val *in = c->pred ? sett_and(sett_ge(idx, 0), sett_lt(idx, TABLE)) : NULL;
    sett_val *x = in ? sett_gather(from, idx, .pred = in, .fill = 1) : sett_gather(from, sett_and(idx, 31));
    sett_store(sett_slice(Y, ALL, t), x);
    /* backwards: element i of the thread to 5 - i, where the predicate holds */
    sett_tensor *where = sett_make_rmem_tensor(b, SETT_I32, T(2, 3));
    for (int i = 0; i < 6; i++)
        sett_set(where, sett_sub(5 - i, sett_sub(t, t)), i);
    if (c->pred)
        sett_scatter(sett_slice(Z, ALL, t), sett_load(where), x, .pred = in);
    else
        sett_scatter(sett_slice(Z, ALL, t), sett_load(where), x);
}

START_TEST(gather_and_scatter)
{
    static const chosen how[] = {{SETT_F32, SETT_GMEM, true}, {SETT_F32, SETT_GMEM, false}, {SETT_F16, SETT_SMEM, true},
        {SETT_I64, SETT_SMEM, false}, {SETT_U8, SETT_GMEM, true}, {SETT_BOOL, SETT_GMEM, false}, {SETT_F64, SETT_GMEM, true}};
    const chosen *c = &how[_i];
    static int16_t idx[6 * LANES];
    uint64_t seed = 77, one = c->d == SETT_BOOL ? 1 : sett__dtype_is_float(c->d) ? sett__bits_of_float(c->d, 1) : 1;
    void *x = conform_array(c->d, TABLE, 9), *y = conform_array(c->d, 6 * LANES, 1), *z = conform_array(c->d, 6 * LANES, 1);
    for (int i = 0; i < 6 * LANES; i++)
        idx[i] = (int16_t)(conform_random(&seed) % 60) - 10;
    sett_buf X = sett_buf_2d(x, c->d, TABLE / 8, 8), I = {idx, SETT_I16, 2, {6, LANES}, {1, 6}};
    sett_buf Y = {y, c->d, 2, {6, LANES}, {1, 6}}, Z = {z, c->d, 2, {6, LANES}, {1, 6}};
    void *before = conform_array(c->d, 6 * LANES, 1);
    conform_body(choose, c, &X, &I, &Y, &Z);
    for (int i = 0; i < 6 * LANES; i++) {
        int at = c->pred ? idx[i] : idx[i] & 31, back = i - i % 6 + 5 - i % 6;
        bool in = at >= 0 && at < TABLE;
        uint64_t want = in ? conform_get(x, c->d, (size_t)(at % 5 * 8 + at / 5)) : one; /* mode 0, of 5, is the fastest */
        uint64_t there = in ? want : conform_get(before, c->d, (size_t)back);
        ck_assert_msg(conform_same(c->d, conform_get(y, c->d, (size_t)i), want), "gathered %d at %d: got %" PRIx64 ", want %" PRIx64, i, at,
            conform_get(y, c->d, (size_t)i), want);
        ck_assert_msg(conform_same(c->d, conform_get(z, c->d, (size_t)back), there), "scattered %d to %d: got %" PRIx64 ", want %" PRIx64, i, back,
            conform_get(z, c->d, (size_t)back), there);
    }
    free(x), free(y), free(z), free(before);
}
END_TEST

/* ---- a scalar of each thread into all of an array ----------------------------------------------------------- */
static void fill_from(sett_build *b, const void *user)
{
    (void)user;
    sett_block(b, LANES);
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, T(4, LANES)), .align = 16);
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_make_layout(b, T(4, LANES)), .align = 16);
    sett_tensor *Z = sett_param(b, "Z", SETT_F32, sett_make_layout(b, T1(LANES)));
    sett_val *t = sett_thread_idx(b, 0), *x = sett_load(sett_slice(X, ALL, t));
    sett_tensor *s = sett_make_rmem_tensor(b, SETT_F32, 4);
    sett_store(s, x);
    sett_for (b, i, 0, 2, 1)
        sett_store(s, sett_at(Z, t));
    sett_store(sett_slice(Y, ALL, t), sett_load(s));
}

START_TEST(scalar_into_array)
{
    _Alignas(16) static float x[4 * LANES], y[4 * LANES], z[LANES];
    for (int i = 0; i < LANES; i++)
        z[i] = (float)i;
    sett_buf X = {x, SETT_F32, 2, {4, LANES}, {1, 4}}, Y = {y, SETT_F32, 2, {4, LANES}, {1, 4}}, Z = sett_buf_1d(z, SETT_F32, LANES);
    conform_body(fill_from, NULL, &X, &Y, &Z);
    for (int i = 0; i < 4 * LANES; i++)
        ck_assert_msg(y[i] == (float)(i / 4), "element %d: got %g", i, (double)y[i]);
}
END_TEST

/* ---- any, all ------------------------------------------------------------------------------------------- */
static void tests(sett_build *b, const void *user)
{
    sett_dtype d = *(const sett_dtype *)user;
    sett_block(b, LANES);
    sett_tensor *X = sett_param(b, "X", d, sett_make_layout(b, T(T(3, 2), LANES)));
    sett_tensor *Y = sett_param(b, "Y", SETT_BOOL, sett_make_layout(b, T(4, LANES)));
    sett_val *t = sett_thread_idx(b, 0), *x = sett_load(sett_slice(X, ALL, t));
    sett_set(Y, sett_any(x), 0, t);
    sett_set(Y, sett_all(x), 1, t);
    sett_set(Y, sett_any(sett_element(x, 4)), 2, t); /* a scalar is its own answer */
    sett_set(Y, sett_all(sett_eq(x, x)), 3, t);
}

START_TEST(any_and_all)
{
    sett_dtype d = conform_types[_i];
    static bool y[4 * LANES];
    uint64_t seed = 3;
    void *x = conform_array(d, 6 * LANES, 4);
    for (int i = 0; i < 6 * LANES; i++)
        if (conform_random(&seed) % 8 < (unsigned)i / 6 % 9)
            conform_put(x, d, (size_t)i, i % 5 && sett__dtype_is_float(d) ? sett__bits_of_float(d, -0.0) : 0);
    sett_buf X = {x, d, 2, {6, LANES}, {1, 6}}, Y = {y, SETT_BOOL, 2, {4, LANES}, {1, 4}};
    conform_body(tests, &d, &X, &Y);
    for (int t = 0; t < LANES; t++) {
        bool any = false, all = true, ordered = true, fourth = false;
        for (int i = 0; i < 6; i++) {
            uint64_t bits = conform_get(x, d, (size_t)(t * 6 + i));
            bool not_zero = sett__dtype_is_float(d) ? !(conform_number(d, bits) == 0) : bits != 0; /* a NaN too */
            any |= not_zero;
            all &= not_zero;
            ordered &= !conform_is_nan(d, bits);
            fourth = i == 4 ? not_zero : fourth;
        }
        ck_assert_msg(y[t * 4] == any && y[t * 4 + 1] == all && y[t * 4 + 2] == fourth && y[t * 4 + 3] == ordered,
            "thread %d: got %d %d %d %d, want %d %d %d %d", t, y[t * 4], y[t * 4 + 1], y[t * 4 + 2], y[t * 4 + 3], any, all, fourth, ordered);
    }
    free(x);
}
END_TEST

/* ---- approximations that are made of others ------------------------------------------------------------------- */
static void approximate(sett_build *b, const void *user)
{
    (void)user;
    sett_block(b, LANES);
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, T(LANES, 2)));
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_make_layout(b, T(LANES, 6)));
    sett_val *t = sett_thread_idx(b, 0), *x = sett_at(X, t, 0), *y = sett_at(X, t, 1), *s, *c;
    sett_set(Y, sett_sqrt_approx(x), t, 0);
    sett_set(Y, sett_div_approx(y, x), t, 1);
    sett_set(Y, sett_pow_approx(x, y), t, 2);
    sett_sincos(y, &s, &c);
    sett_set(Y, sett_add(sett_mul(s, 4), c), t, 3);
    sett_sincos_approx(y, &s, &c);
    sett_set(Y, sett_add(sett_mul(s, 4), c), t, 4);
    sett_set(Y, sett_sqrt_approx(sett_mul(sett_sub(y, y), x)), t, 5);
}

START_TEST(approximations_of_approximations)
{
    static float x[2 * LANES], y[6 * LANES];
    uint64_t seed = 8;
    for (int i = 0; i < LANES; i++) {
        x[i] = (float)(conform_random(&seed) % 100000 + 1) * 4e-5f;
        x[LANES + i] = (float)((int)(conform_random(&seed) % 60001) - 30000) * 1e-4f;
    }
    sett_buf X = {x, SETT_F32, 2, {LANES, 2}, {1, LANES}}, Y = {y, SETT_F32, 2, {LANES, 6}, {1, LANES}};
    conform_body(approximate, NULL, &X, &Y);
    for (int i = 0; i < LANES; i++) {
        double a = (double)x[i], b = (double)x[LANES + i], wave = 4 * sin(b) + cos(b);
        const double want[6] = {sqrt(a), b / a, pow(a, b), wave, wave, 0};
        const double off[6] = {want[0] * 0x1p-21, fabs(want[1]) * 0x1p-22, want[2] * (0x1p-20 + fabs(b) * 0x1p-19), 8 * 0x1p-24 + fabs(wave) * 0x1p-23,
            5 * 0x1.7p-21 + fabs(wave) * 0x1p-22, 0};
        for (int k = 0; k < 6; k++)
            ck_assert_msg(fabs((double)y[k * LANES + i] - want[k]) <= off[k], "result %d of (%a, %a): got %a, want %a", k, a, b, (double)y[k * LANES + i], want[k]);
    }
}
END_TEST

/* ---- structs of values, and of state ----------------------------------------------------------------------- */
/* Numbers with an error term: two-sum. The struct is C's; the kernel knows only its members. */
typedef struct exact { sett_val *sum, *rest; } exact;
typedef struct kept { sett_tensor *sum, *rest; } kept;

static exact plus(exact x, sett_val *y)
{
    sett_val *s = sett_add(x.sum, y), *part = sett_sub(s, x.sum);
    sett_val *err = sett_add(sett_sub(x.sum, sett_sub(s, part)), sett_sub(y, part));
    return (exact){s, sett_add(x.rest, err)};
}

static exact get(kept k)
{
    return (exact){sett_load(k.sum), sett_load(k.rest)};
}

static void put(kept k, exact x)
{
    sett_store(k.sum, x.sum);
    sett_store(k.rest, x.rest);
}

static void sums(sett_build *b, const void *user)
{
    const int copies = *(const int *)user;
    sett_val *n = sett_sym(b, "N");
    sett_block(b, 32);
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, T(T(2, 2), 32, n)));
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_make_layout(b, T(T(2, 2), 32)));
    sett_val *t = sett_thread_idx(b, 0);
    kept k = {sett_make_rmem_tensor(b, SETT_F32, T(2, 2)), sett_make_rmem_tensor(b, SETT_F32, T(2, 2))};
    put(k, (exact){sett_full(b, SETT_F32, T(2, 2), 0), sett_full(b, SETT_F32, T(2, 2), 0)});
    sett_for (b, i, 0, n, 1, .unroll = copies)
        sett_if (b, sett_ne(sett_mod(i, 5), 3))
            put(k, plus(get(k), sett_reshape(sett_load(sett_slice(X, ALL, t, i)), T(2, 2))));
    exact x = get(k);
    sett_store(sett_slice(Y, ALL, t), sett_add(x.sum, x.rest));
}

START_TEST(structs_of_values)
{
    enum { ROUNDS = 23 };
    static float x[4 * 32 * ROUNDS], y[4 * 32];
    int copies = 1 + 3 * _i;
    uint64_t seed = 11;
    for (int i = 0; i < 4 * 32 * ROUNDS; i++)
        x[i] = (float)((int64_t)conform_random(&seed) >> 20 >> (i % 40));
    sett_buf X = {x, SETT_F32, 3, {4, 32, ROUNDS}, {1, 4, 128}}, Y = {y, SETT_F32, 2, {4, 32}, {1, 4}};
    conform_body(sums, &copies, &X, &Y);
    for (int i = 0; i < 4 * 32; i++) {
        float sum = 0, rest = 0;
        for (int k = 0; k < ROUNDS; k++) {
            if (k % 5 == 3)
                continue;
            volatile float v = x[k * 128 + i], s = sum + v, part = s - sum, back = s - part, lost = sum - back, left = v - part;
            volatile float err = lost + left;
            sum = s;
            rest += err;
        }
        ck_assert_msg(y[i] == sum + rest, "element %d: got %a, want %a", i, (double)y[i], (double)(sum + rest));
    }
}
END_TEST

void conform_add_values(TCase *t)
{
    tcase_add_test(t, dynamic_elements);
    tcase_add_loop_test(t, gather_and_scatter, 0, 7);
    tcase_add_test(t, scalar_into_array);
    tcase_add_loop_test(t, any_and_all, 0, CONFORM_TYPES);
    tcase_add_test(t, approximations_of_approximations);
    tcase_add_loop_test(t, structs_of_values, 0, 2);
}
