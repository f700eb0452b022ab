/* SPDX-License-Identifier: Apache-2.0 */
/* Branches and loops, each beside the same in C: other trip counts in each lane, none at all, state in registers,
 * values that are made in regions, deep nesting, index types. */
#include "tests/conform/conform.h"
#include <stdlib.h>
#include <string.h>

enum { N = 4096, BLOCK = 96 };

static sett_tensor *array(sett_build *b, const char *name)
{
    return sett_param(b, name, SETT_I32, sett_make_layout(b, T1(N)));
}

/* The thread's place, with a ragged last block; the caller opens an if on it. */
static sett_val *place(sett_build *b)
{
    sett_grid(b, (N + BLOCK - 1) / BLOCK);
    sett_block(b, BLOCK);
    return sett_add(sett_mul(sett_block_idx(b, 0), BLOCK), sett_thread_idx(b, 0));
}

typedef struct data { int32_t a[N], c[N], d[N]; } data;

static void run(sett_body body, const void *user, data *x)
{
    uint64_t seed = 31;
    for (int i = 0; i < N; i++) {
        x->a[i] = (int32_t)(conform_random(&seed) % 40) - 8;
        x->c[i] = (int32_t)(conform_random(&seed) % 60) - 10;
        x->d[i] = -7;
    }
    sett_buf A = sett_buf_1d(x->a, SETT_I32, N), C = sett_buf_1d(x->c, SETT_I32, N), D = sett_buf_1d(x->d, SETT_I32, N);
    conform_body(body, user, &A, &C, &D);
}

#define CHECK(x, i, want) \
    do { \
        int32_t want_ = (want); \
        ck_assert_msg((x)->d[i] == want_, "a %d, c %d: got %d, want %d", (x)->a[i], (x)->c[i], (x)->d[i], want_); \
    } while (0)

/* ---- lanes of different trip counts, branches in loops in branches ------------------------------------ */
static void mixed(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *A = array(b, "A"), *C = array(b, "C"), *D = array(b, "D");
    sett_val *at = place(b);
    sett_if (b, sett_lt(at, N)) {
        sett_val *lo = sett_at(A, at), *hi = sett_at(C, at);
        sett_tensor *s = sett_var(b, SETT_I32, 1), *n = sett_var(b, SETT_I32, 0);
        sett_for (b, i, lo, hi, 3) {
            sett_val *odd = sett_ne(sett_and(i, 1), 0);
            sett_if (b, odd) {
                sett_for (b, j, 0, i, 2) /* no round where i is not positive */
                    sett_set(s, sett_add(sett_mul(sett_at(s, 0), 5), sett_xor(j, i)), 0);
            }
            sett_else (b) {
                sett_if (b, sett_gt(i, lo))
                    sett_set(s, sett_sub(sett_at(s, 0), hi), 0);
                sett_set(n, sett_add(sett_at(n, 0), i), 0);
            }
        }
        sett_if (b, sett_eq(lo, hi))
            sett_set(s, 1000, 0);
        sett_set(D, sett_add(sett_at(s, 0), sett_mul(sett_at(n, 0), 7)), at);
    }
}

static int32_t mixed_in_c(int32_t lo, int32_t hi)
{
    uint32_t s = 1, n = 0;
    for (int32_t i = lo; i < hi; i += 3) {
        if (i & 1) {
            for (int32_t j = 0; j < i; j += 2)
                s = s * 5 + (uint32_t)(j ^ i);
        } else {
            s -= i > lo ? (uint32_t)hi : 0;
            n += (uint32_t)i;
        }
    }
    if (lo == hi)
        s = 1000;
    return (int32_t)(s + n * 7);
}

START_TEST(loops_and_branches)
{
    static data x;
    run(mixed, NULL, &x);
    for (int i = 0; i < N; i++)
        CHECK(&x, i, mixed_in_c(x.a[i], x.c[i]));
}
END_TEST

/* ---- a tree of regions: on each level an if/else or a loop, the C function beside it ------------------- */
typedef struct nest { sett_build *b; sett_val *a, *c; sett_tensor *s; } nest;

static void record_nest(const nest *k, int depth, sett_val *x)
{
    sett_val *s = sett_at(k->s, 0);
    sett_set(k->s, sett_add(sett_mul(s, 3), sett_add(x, depth)), 0);
    if (!depth)
        return;
    if (depth % 3) {
        sett_if (k->b, sett_gt(sett_and(sett_add(x, sett_mul(k->c, depth)), 7), 2))
            record_nest(k, depth - 1, sett_add(x, k->a));
        sett_else (k->b)
            sett_set(k->s, sett_xor(sett_at(k->s, 0), sett_add(x, 77)), 0);
    } else {
        sett_for (k->b, i, 0, sett_and(sett_add(x, k->c), 1), 1)
            sett_set(k->s, sett_add(sett_at(k->s, 0), i), 0);
        sett_for (k->b, j, 1, 3, 1)
            record_nest(k, depth - 1, sett_sub(x, j));
    }
    sett_set(k->s, sett_sub(sett_at(k->s, 0), depth), 0);
}

static uint32_t nest_in_c(uint32_t s, int depth, int32_t x, int32_t a, int32_t c)
{
    s = s * 3 + (uint32_t)(x + depth);
    if (!depth)
        return s;
    if (depth % 3)
        s = ((x + c * depth) & 7) > 2 ? nest_in_c(s, depth - 1, x + a, a, c) : s ^ (uint32_t)(x + 77);
    else
        for (int j = 1; j < 3; j++)
            s = nest_in_c(s, depth - 1, x - j, a, c);
    return s - (uint32_t)depth;
}

static void nested(sett_build *b, const void *user)
{
    sett_tensor *A = array(b, "A"), *C = array(b, "C"), *D = array(b, "D");
    sett_val *at = place(b);
    sett_if (b, sett_lt(at, N)) {
        nest k = {b, sett_at(A, at), sett_at(C, at), sett_var(b, SETT_I32, 5)};
        record_nest(&k, *(const int *)user, k.a);
        sett_set(D, sett_at(k.s, 0), at);
    }
}

START_TEST(deep_nesting)
{
    static data x;
    static const int depths[] = {1, 2, 3, 7, 24, 60};
    int depth = depths[_i];
    run(nested, &depth, &x);
    for (int i = 0; i < N; i++)
        CHECK(&x, i, (int32_t)nest_in_c(5, depth, x.a[i], x.a[i], x.c[i]));
}
END_TEST

/* ---- index types, and both ends of them -------------------------------------------------------------------- */
static void edges_of_types(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *A = array(b, "A"), *C = array(b, "C"), *D = array(b, "D");
    sett_val *at = place(b);
    sett_if (b, sett_lt(at, N)) {
        sett_val *a = sett_and(sett_at(A, at), 15), *c = sett_at(C, at);
        sett_tensor *n = sett_var(b, SETT_I32, 0);
        sett_for (b, i, sett_sub(INT32_MAX, a), INT32_MAX, 3) /* the next one would wrap */
            sett_set(n, sett_add(sett_at(n, 0), 1), 0);
        sett_val *low = sett_sub(sett_const(b, SETT_I64, INT64_C(-5000000000)), sett_to(a, SETT_I64));
        sett_for (b, j, low, sett_const(b, SETT_I64, INT64_C(-5000000000)), 4)
            sett_set(n, sett_add(sett_at(n, 0), sett_to(sett_and(j, 127), SETT_I32)), 0);
        sett_for (b, u, sett_const(b, SETT_U32, INT64_C(4294967290)), sett_add(sett_to(a, SETT_U32), INT64_C(4294967280)), 2)
            sett_set(n, sett_add(sett_at(n, 0), sett_to(u, SETT_I32)), 0);
        sett_for (b, z, c, c, 1)
            sett_set(n, 0, 0);
        sett_for (b, v, sett_to(c, SETT_I8), 10, 1)
            sett_set(n, sett_add(sett_at(n, 0), v), 0);
        sett_set(D, sett_at(n, 0), at);
    }
}

static int32_t edges_in_c(int32_t a, int32_t c)
{
    uint32_t n = 0;
    a &= 15;
    for (int64_t i = INT32_MAX - a; i < INT32_MAX; i += 3)
        n++;
    for (int64_t j = INT64_C(-5000000000) - a; j < INT64_C(-5000000000); j += 4)
        n += (uint32_t)(j & 127);
    for (uint64_t u = 4294967290u; u < 4294967280u + (uint32_t)a; u += 2)
        n += (uint32_t)u;
    for (int v = c; v < 10; v++)
        n += (uint32_t)v;
    return (int32_t)n;
}

START_TEST(index_types)
{
    static data x;
    run(edges_of_types, NULL, &x);
    for (int i = 0; i < N; i++)
        CHECK(&x, i, edges_in_c(x.a[i], x.c[i]));
}
END_TEST

/* ---- values of several elements through regions; register arrays with static and dynamic indices ------------- */
static void arrays(sett_build *b, const void *user)
{
    sett_dtype d = *(const sett_dtype *)user;
    sett_tensor *A = array(b, "A"), *C = array(b, "C"), *D = array(b, "D");
    sett_val *at = place(b);
    sett_if (b, sett_lt(at, N)) {
        sett_val *a = sett_at(A, at), *c = sett_at(C, at);
        sett_tensor *r = sett_make_rmem_tensor(b, d, T(8, 2)), *column = sett_slice(r, ALL, 1);
        sett_fill(r, 1);
        for (int i = 0; i < 8; i++) /* static */
            sett_set(r, sett_to(sett_and(sett_add(a, i), 1), d), i, 0);
        sett_for (b, i, 0, sett_and(c, 7), 1) { /* dynamic, and a whole value in the loop */
            sett_set(r, sett_to(sett_eq(sett_and(sett_add(i, c), 3), 0), d), sett_and(sett_mul(i, 5), 7), 1);
            sett_val *x = sett_load(column);
            sett_if (b, sett_lt(a, i))
                sett_store(column, sett_to(sett_xor(sett_to(x, SETT_I32), sett_to(sett_load(sett_slice(r, ALL, 0)), SETT_I32)), d));
        }
        sett_val *bits = sett_to(sett_load(r), SETT_I32);
        sett_val *weights = sett_full(b, SETT_I32, T(8, 2), 1);
        sett_tensor *w = sett_make_rmem_tensor(b, SETT_I32, T(8, 2));
        sett_store(w, weights);
        for (int i = 0; i < 16; i++)
            sett_set(w, 1 << i, i);
        sett_set(D, sett_reduce(sett_mul(bits, sett_load(w)), SETT_ADD, 0), at);
    }
}

static int32_t arrays_in_c(int32_t a, int32_t c)
{
    int r[2][8], sum = 0;
    for (int i = 0; i < 8; i++) {
        r[0][i] = (a + i) & 1;
        r[1][i] = 1;
    }
    for (int i = 0; i < (c & 7); i++) {
        r[1][i * 5 & 7] = ((i + c) & 3) == 0;
        for (int k = 0; k < 8 && a < i; k++)
            r[1][k] ^= r[0][k];
    }
    for (int k = 0; k < 16; k++)
        sum += r[k / 8][k % 8] << k;
    return sum;
}

START_TEST(register_arrays)
{
    static data x;
    sett_dtype d = conform_types[_i];
    run(arrays, &d, &x);
    for (int i = 0; i < N; i++)
        CHECK(&x, i, arrays_in_c(x.a[i], x.c[i]));
}
END_TEST

/* ---- while: a condition that each round computes anew, in lanes of different counts ----------------------------- */
static void collatz(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *A = array(b, "A"), *C = array(b, "C"), *D = array(b, "D");
    sett_val *at = place(b);
    sett_if (b, sett_lt(at, N)) {
        sett_val *most = sett_at(C, at);
        sett_tensor *n = sett_var(b, SETT_I32, sett_add(sett_at(A, at), 9)), *rounds = sett_var(b, SETT_I32, 0);
        sett_while (b, sett_and(sett_gt(sett_at(n, 0), 1), sett_lt(sett_at(rounds, 0), most))) {
            sett_val *x = sett_at(n, 0);
            sett_tensor *inner = sett_var(b, SETT_I32, 0);
            sett_if (b, sett_ne(sett_and(x, 1), 0))
                sett_set(n, sett_add(sett_mul(x, 3), 1), 0);
            sett_else (b)
                sett_set(n, sett_shr(x, 1), 0);
            sett_while (b, sett_lt(sett_mul(sett_at(inner, 0), 2), sett_and(x, 7))) /* in a loop, and of another count */
                sett_set(inner, sett_add(sett_at(inner, 0), 1), 0);
            sett_set(rounds, sett_add(sett_at(rounds, 0), sett_add(sett_at(inner, 0), 1)), 0);
        }
        sett_set(D, sett_add(sett_mul(sett_at(n, 0), 1000), sett_at(rounds, 0)), at);
    }
}

static int32_t collatz_in_c(int32_t a, int32_t c)
{
    int32_t n = a + 9, rounds = 0;
    while (n > 1 && rounds < c) {
        rounds += 1 + ((n & 7) + 1) / 2;
        n = n & 1 ? n * 3 + 1 : n >> 1;
    }
    return n * 1000 + rounds;
}

START_TEST(while_loops)
{
    static data x;
    run(collatz, NULL, &x);
    for (int i = 0; i < N; i++)
        CHECK(&x, i, collatz_in_c(x.a[i], x.c[i]));
}
END_TEST

/* Warps that wait for each other in a loop: every thread of the block puts itself into the one place, in turn. */
static void take_turns(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *turn = sett_param(b, "turn", SETT_I32, sett_make_layout(b, T1(1)));
    sett_tensor *order = sett_param(b, "order", SETT_I32, sett_make_layout(b, T1(4)));
    sett_grid(b, 1);
    sett_block(b, 128);
    sett_if (b, sett_eq(sett_lane_idx(b), 0)) {
        sett_val *w = sett_warp_idx(b);
        sett_while (b, sett_ne(sett_add(sett_atomic_ordered(turn, SETT_ATOMIC_ADD, SETT_SEM_ACQUIRE, SETT_SCOPE_GPU, 0, 0), w), 3)) {
        } /* the last warp goes first */
        sett_set(order, sett_at(order, sett_sub(3, w)), w);
        sett_atomic_ordered(turn, SETT_ATOMIC_ADD, SETT_SEM_RELEASE, SETT_SCOPE_GPU, 1, 0);
    }
}

START_TEST(warps_wait)
{
    int32_t turn = 0, order[4] = {10, 20, 30, 40};
    sett_buf T0 = sett_buf_1d(&turn, SETT_I32, 1), O = sett_buf_1d(order, SETT_I32, 4);
    conform_body(take_turns, NULL, &T0, &O);
    ck_assert_int_eq(turn, 4);
    ck_assert_int_eq(order[3], 10); /* warps 3 and 2 read what nobody has written yet */
    ck_assert_int_eq(order[2], 20);
    ck_assert_int_eq(order[1], 20);
    ck_assert_int_eq(order[0], 10);
}
END_TEST

/* ---- unrolled loops: the same numbers in the same order ------------------------------------------------------------ */
typedef struct unroll { int copies, step; bool full, wide; } unroll;

static void record_unrolled(sett_build *b, const void *user)
{
    const unroll *u = user;
    sett_tensor *A = array(b, "A"), *C = array(b, "C"), *D = array(b, "D");
    sett_val *at = place(b);
    sett_if (b, sett_lt(at, N)) {
        sett_val *lo = sett_at(A, at), *hi = sett_at(C, at);
        sett_tensor *s = sett_var(b, SETT_I32, 1);
        if (u->wide) { /* of 64 bits, past the ends of 32, and near the ends of the type */
            lo = sett_add(sett_to(lo, SETT_I64), INT64_C(0x7fffffffffffffc3));
            hi = sett_sub(sett_to(hi, SETT_I64), -INT64_C(0x7fffffffffffffc3));
        }
        if (u->full)
            sett_for (b, i, -3, 40, u->step, .unroll_full = true)
                sett_set(s, sett_add(sett_mul(sett_at(s, 0), 5), i), 0);
        else
            sett_for (b, i, lo, hi, u->step, .unroll = u->copies)
                sett_set(s, sett_add(sett_mul(sett_at(s, 0), 5), sett_to(i, SETT_I32)), 0);
        sett_for (b, j, 2, 9, 3, .unroll = 8) /* fewer than the copies: no loop */
            sett_set(s, sett_xor(sett_at(s, 0), j), 0);
        sett_for (b, k, 5, 5, 1, .unroll_full = true)
            sett_set(s, 0, 0);
        sett_set(D, sett_at(s, 0), at);
    }
}

/* Quotients and remainders of variables from below zero, from a thread's index, and up to the end of the type. */
static void quotients(sett_build *b, const void *user)
{
    const int copies = *(const int *)user;
    sett_tensor *A = array(b, "A"), *C = array(b, "C"), *D = array(b, "D");
    sett_val *at = place(b);
    sett_if (b, sett_lt(at, N)) {
        sett_val *a = sett_at(A, at), *c = sett_at(C, at), *t = sett_thread_idx(b, 0);
        sett_tensor *s = sett_var(b, SETT_I32, 1);
        sett_arg lo[] = {SETT_A(a), SETT_A(t), SETT_A(sett_sub(INT32_MAX, sett_and(a, 31))), SETT_A(-5)};
        sett_arg hi[] = {SETT_A(c), SETT_A(sett_add(t, c)), SETT_A(INT32_MAX), SETT_A(c)};
        for (int k = 0; k < 4; k++)
            sett_for (b, i, lo[k], hi[k], 3, .unroll = copies)
                sett_set(s, sett_add(sett_mul(sett_at(s, 0), 5), sett_add(sett_floordiv(i, 16), sett_mod(i, 16))), 0);
        sett_set(D, sett_at(s, 0), at);
    }
}

START_TEST(quotients_of_variables)
{
    static const int copies[] = {0, 2, 5};
    static data x;
    run(quotients, &copies[_i], &x);
    for (int i = 0; i < N; i++) {
        int64_t t = i % BLOCK, lo[] = {x.a[i], t, (int64_t)INT32_MAX - (x.a[i] & 31), -5}, hi[] = {x.c[i], t + x.c[i], INT32_MAX, x.c[i]};
        uint32_t s = 1;
        for (int k = 0; k < 4; k++)
            for (int64_t j = lo[k]; j < hi[k]; j += 3)
                s = s * 5 + (uint32_t)((j >> 4) + j % 16); /* the remainder has the sign of j */
        CHECK(&x, i, (int32_t)s);
    }
}
END_TEST

START_TEST(unrolled_loops)
{
    static const unroll how[] = {{2, 1, 0, 0}, {4, 1, 0, 0}, {3, 2, 0, 0}, {7, 5, 0, 0}, {64, 1, 0, 0}, {0, 1, 1, 0}, {0, 4, 1, 0},
        {4, 3, 0, 1}, {5, 1, 0, 1}};
    static data x;
    const unroll *u = &how[_i];
    run(record_unrolled, u, &x);
    for (int i = 0; i < N; i++) {
        int64_t lo = u->full ? -3 : x.a[i], hi = u->full ? 40 : x.c[i];
        uint32_t s = 1;
        for (int64_t k = lo; k < hi; k += u->step)
            s = s * 5 + (uint32_t)(u->wide ? k + (int64_t)0xffffffc3 : k);
        for (uint32_t j = 2; j < 9; j += 3)
            s ^= j;
        CHECK(&x, i, (int32_t)s);
    }
}
END_TEST

void conform_add_control(TCase *t)
{
    tcase_add_test(t, while_loops);
    tcase_add_test(t, warps_wait);
    tcase_add_loop_test(t, unrolled_loops, 0, 9);
    tcase_add_loop_test(t, quotients_of_variables, 0, 3);
    tcase_add_test(t, loops_and_branches);
    tcase_add_loop_test(t, deep_nesting, 0, 6);
    tcase_add_test(t, index_types);
    tcase_add_loop_test(t, register_arrays, 0, CONFORM_TYPES);
}
