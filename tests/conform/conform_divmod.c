/* SPDX-License-Identifier: Apache-2.0 */
/* Division by a divisor that the launch gives, against C's: edges and random numbers of all lengths. */
#include "tests/conform/conform.h"
#include <stdlib.h>

enum { NUMBERS = 4096 };

static int32_t natural(uint64_t *state)
{
    uint64_t r = conform_random(state);
    return (int32_t)((r >> 33) >> (r % 31));
}

/* The edges of a divisor: what is next to its multiples; and of Int32. */
static int32_t dividend(int i, int64_t d, uint64_t *state)
{
    static const int64_t edges[] = {0, 1, 2, INT32_MAX, INT32_MAX - 1, INT64_C(1) << 30, (INT64_C(1) << 30) - 1};
    int64_t x = natural(state);
    if (i < (int)SETT__COUNT(edges))
        x = edges[i];
    else if (i < 64)
        x = (INT32_MAX / d - (i - 7) / 3) * d + i % 3 - 1;
    else if (i % 2)
        x = x / d * d - i % 4 / 2;
    return x < 0 || x > INT32_MAX ? INT32_MAX : (int32_t)x;
}

static void by_symbol(sett_build *b, const void *user)
{
    (void)user;
    sett_val *d = sett_sym(b, "d"), *n = sett_sym(b, "n");
    sett_tensor *X = sett_param(b, "X", SETT_I32, sett_row_major(b, n)),
                *Q = sett_param(b, "Q", SETT_I32, sett_row_major(b, n)),
                *R = sett_param(b, "R", SETT_I32, sett_row_major(b, n));
    sett_fast_divmod by = sett_make_fast_divmod(b, d);
    sett_grid(b, sett_ceil_div(n, 128));
    sett_block(b, 128);
    sett_val *i = sett_add(sett_mul(sett_block_idx(b, 0), 128), sett_thread_idx(b, 0));
    sett_if (b, sett_lt(i, n)) {
        sett_quot_rem at = sett_divmod(sett_at(X, i), by);
        sett_set(Q, at.quotient, i);
        sett_set(R, at.remainder, i);
    }
}

static int wrong(sett_kernel *k, int64_t d, int64_t given, int32_t *x, int32_t *q, int32_t *r, int n)
{
    int bad = 0;
    sett_buf X = {x, SETT_I32, 1, {n}, {1}}, Q = {q, SETT_I32, 1, {n}, {1}}, R = {r, SETT_I32, 1, {n}, {1}};
    conform_run(k, &X, &Q, &R, given);
    for (int i = 0; i < n; i++)
        bad += q[i] != x[i] / d || r[i] != x[i] % d;
    return bad;
}

static int32_t in[NUMBERS], quotients[NUMBERS], remainders[NUMBERS];

START_TEST(every_kind_of_divisor)
{
    uint64_t state = 20260;
    sett_kernel *k = conform_compile(by_symbol, NULL, (conform_how){0});
    for (int t = 0; t < 700; t++) {
        int64_t d = natural(&state);
        if (t < 40)
            d = t + 1;
        else if (t < 40 + 93) /* powers of two and their neighbours */
            d = (INT64_C(1) << (t - 40) / 3) + (t - 40) % 3 - 1;
        else if (t < 140)
            d = INT32_MAX - (t - 133);
        d = d < 1 ? 1 : d > INT32_MAX ? INT32_MAX : d;
        int n = t < 140 ? NUMBERS : 256;
        for (int i = 0; i < n; i++)
            in[i] = dividend(i, d, &state);
        if (wrong(k, d, d, in, quotients, remainders, n))
            ck_abort_msg("divisor %lld: wrong results", (long long)d);
    }
    sett_kernel_release(k);
}
END_TEST

/* By ceil_div(N, 3) * k, a C number, and a value of more than one element. */
static void by_others(sett_build *b, const void *user)
{
    (void)user;
    sett_val *N = sett_sym(b, "N"), *k = sett_scalar(b, "k", SETT_I32);
    sett_tensor *X = sett_param(b, "X", SETT_I32, sett_row_major(b, N)),
                *Q = sett_param(b, "Q", SETT_I32, sett_row_major(b, 4, N)),
                *R = sett_param(b, "R", SETT_I32, sett_row_major(b, 4, N));
    sett_grid(b, N);
    sett_block(b, 1);
    sett_val *i = sett_block_idx(b, 0), *x = sett_at(X, i);
    sett_val *pair = sett_reshape(sett_broadcast_to(sett_value(b, sett_arg_v(x)), T(2)), T(2));
    sett_arg divisor[] = {sett_arg_v(sett_mul(sett_ceil_div(N, 3), k)), sett_arg_i(7), sett_arg_i(64), sett_arg_v(k)};
    for (int n = 0; n < 4; n++) {
        sett_fast_divmod d = sett_make_fast_divmod(b, divisor[n]);
        sett_quot_rem at = sett_divmod(x, d), both = sett_divmod(pair, d);
        sett_set(Q, n % 2 ? at.quotient : sett_arg_v(sett_element(both.quotient.u.v, 1)), n, i);
        sett_set(R, n % 2 ? at.remainder : sett_arg_v(sett_element(both.remainder.u.v, 0)), n, i);
    }
}

START_TEST(of_expressions_and_numbers)
{
    enum { N = 1000 };
    static int32_t q[4][N], r[4][N];
    uint64_t state = 3;
    for (int i = 0; i < N; i++)
        in[i] = natural(&state);
    sett_buf X = {in, SETT_I32, 1, {N}, {1}}, Q = {q, SETT_I32, 2, {4, N}, {N, 1}},
             R = {r, SETT_I32, 2, {4, N}, {N, 1}};
    conform_body(by_others, NULL, 11, &X, &Q, &R);
    const int d[] = {(N + 2) / 3 * 11, 7, 64, 11};
    for (int n = 0; n < 4; n++)
        for (int i = 0; i < N; i++)
            if (q[n][i] != in[i] / d[n] || r[n][i] != in[i] % d[n])
                ck_abort_msg("%d by %d: %d, %d", in[i], d[n], q[n][i], r[n][i]);
}
END_TEST

void conform_add_divmod(TCase *t)
{
    tcase_add_test(t, every_kind_of_divisor);
    tcase_add_test(t, of_expressions_and_numbers);
}
