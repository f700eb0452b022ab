/* SPDX-License-Identifier: Apache-2.0 */
/* Threads together: shuffles, warp reductions, barriers in odd blocks, indices; and what is done to the
 * elements of one thread's value: reductions, picks, reshapes, broadcasts, promotion. */
#include "tests/conform/conform.h"
#include <stdlib.h>
#include <string.h>

/* ---- shuffles: each way and width, by a number and by one of each lane ------------------------------------ */
enum { THREADS = 96, WAYS = 4, WIDTHS = 5, AMOUNTS = 3, SHUFFLES = WAYS * WIDTHS * AMOUNTS };

typedef struct lanes { sett_dtype dtype; int block[3]; int widest; } lanes;

static sett_val *linear(sett_build *b, const int block[3])
{
    sett_val *zy = sett_add(sett_mul(sett_thread_idx(b, 2), block[1]), sett_thread_idx(b, 1));
    return sett_add(sett_mul(zy, block[0]), sett_thread_idx(b, 0));
}

static void shuffles(sett_build *b, const void *user)
{
    const lanes *p = user;
    sett_tensor *X = sett_param(b, "X", p->dtype, sett_make_layout(b, T1(THREADS)));
    sett_tensor *A = sett_param(b, "A", SETT_I32, sett_make_layout(b, T1(THREADS)));
    sett_tensor *D = sett_param(b, "D", p->dtype, sett_make_layout(b, T(THREADS, SHUFFLES)));
    sett_block(b, p->block[0], p->block[1], p->block[2]);
    sett_val *i = linear(b, p->block), *x = sett_at(X, i), *a = sett_at(A, i);
    for (int k = 0; k < SHUFFLES; k++) {
        int way = k % WAYS, width = 2 << k / WAYS % WIDTHS, amount = k / WAYS / WIDTHS;
        sett_arg lane = amount == 2 ? sett_arg_v(sett_and(a, width - 1)) : sett_arg_i(amount ? width - 1 : 1);
        if (width <= p->widest)
            sett_set(D, sett_shuffle_at(SETT_HERE, "shuffle", x, (sett_shuffle_op)way, lane, width), i, k);
    }
}

static int source(int way, int lane, int amount, int width)
{
    int at = lane % width, from = at ^ amount;
    if (way == SETT_SHUFFLE_IDX)
        from = amount;
    else if (way != SETT_SHUFFLE_BFLY)
        from = way == SETT_SHUFFLE_UP ? at - amount : at + amount;
    return lane - at + (from < 0 || from >= width ? at : from);
}

static void check_shuffles(const lanes *p, int threads)
{
    size_t bytes = (size_t)sett__dtype_bytes(p->dtype);
    void *x = conform_array(p->dtype, THREADS, 11), *d = calloc(THREADS * SHUFFLES, bytes);
    int32_t a[THREADS];
    for (int i = 0; i < THREADS; i++)
        a[i] = i * 11 + 5;
    sett_buf X = sett_buf_1d(x, p->dtype, THREADS), A = sett_buf_1d(a, SETT_I32, THREADS),
             D = {d, p->dtype, 2, {THREADS, SHUFFLES}, {1, THREADS}};
    conform_body(shuffles, p, &X, &A, &D);
    for (int k = 0; k < SHUFFLES; k++)
        for (int i = 0; i < threads; i++) {
            int way = k % WAYS, width = 2 << k / WAYS % WIDTHS, kind = k / WAYS / WIDTHS;
            int amount = kind == 2 ? a[i] & (width - 1) : kind ? width - 1 : 1, from = source(way, i, amount, width);
            uint64_t got = conform_get(d, p->dtype, (size_t)(k * THREADS + i)), want = conform_get(x, p->dtype, (size_t)from);
            if (width <= p->widest)
                ck_assert_msg(got == want, "shuffle %d of %s, width %d, by %d, thread %d: got %" PRIx64 ", want %" PRIx64 " of %d", way,
                    sett_dtype_name(p->dtype), width, amount, i, got, want, from);
        }
    free(x);
    free(d);
}

START_TEST(every_shuffle)
{
    check_shuffles(&(lanes){conform_types[_i], {16, 3, 2}, 32}, 96);
    check_shuffles(&(lanes){conform_types[_i], {5, 4, 4}, 16}, 80); /* half a warp at the end */
}
END_TEST

/* ---- reductions: of a warp, of a value, by modes ----------------------------------------------------------- */
static const sett_binary_op folds[] = {SETT_ADD, SETT_MUL, SETT_MIN, SETT_MAX, SETT_AND, SETT_OR, SETT_XOR};
static const sett__code fold_code[] = {SETT__ADD, SETT__MUL, SETT__MIN, SETT__MAX, SETT__AND, SETT__OR, SETT__XOR};
enum { FOLDS = 7, ROWS = 4, COLUMNS = 3, RESULTS = 2 + 1 + ROWS + COLUMNS }; /* two widths; all; by row; by column */

static bool folds_type(int k, sett_dtype d)
{
    return d == SETT_BOOL ? k >= 4 : k < 4 || !sett__dtype_is_float(d);
}

static void reductions(sett_build *b, const void *user)
{
    sett_dtype d = *(const sett_dtype *)user;
    sett_tensor *X = sett_param(b, "X", d, sett_make_layout(b, T(64, ROWS, COLUMNS)));
    sett_tensor *D = sett_param(b, "D", d, sett_make_layout(b, T(64, RESULTS, FOLDS)));
    sett_block(b, 64);
    sett_val *i = sett_thread_idx(b, 0), *x = sett_load(sett_slice(X, i, ALL, ALL)), *first = sett_element(x, 0);
    for (int k = 0; k < FOLDS; k++) {
        if (!folds_type(k, d))
            continue;
        sett_set(D, sett_warp_reduce(first, folds[k], 32), i, 0, k);
        sett_set(D, sett_warp_reduce(first, folds[k], 4), i, 1, k);
        sett_set(D, sett_to(sett_reduce(x, folds[k], 1), d), i, 2, k);
        sett_val *rows = sett_to(sett_reduce_by(x, folds[k], 1, T(ALL, 0)), d);
        sett_val *columns = sett_to(sett_reduce_by(x, folds[k], 1, T(0, ALL)), d);
        for (int r = 0; r < ROWS; r++)
            sett_set(D, sett_element(rows, r), i, 3 + r, k);
        for (int c = 0; c < COLUMNS; c++)
            sett_set(D, sett_element(columns, c), i, 3 + ROWS + c, k);
    }
}

static uint64_t step(int k, sett_dtype d, uint64_t x, uint64_t y)
{
    const uint64_t in[3] = {x, y, 0};
    uint64_t r;
    ck_assert(conform_reference(fold_code[k], d, d, in, &r));
    return r;
}

static uint64_t of_warp(int k, sett_dtype d, const void *x, int thread, int width)
{
    uint64_t v[32], next[32];
    for (int i = 0; i < 32; i++)
        v[i] = conform_get(x, d, (size_t)(thread / 32 * 32 + i));
    for (int mask = width / 2; mask; mask /= 2) {
        for (int i = 0; i < 32; i++)
            next[i] = step(k, d, v[i], v[i ^ mask]);
        memcpy(v, next, sizeof v);
    }
    return v[thread % 32];
}

static uint64_t folded(int k, sett_dtype d, const void *x, int thread, int result)
{
    uint64_t r = sett__dtype_is_float(d) ? sett__bits_of_float(d, 1) : 1;
    if (result < 2)
        return of_warp(k, d, x, thread, result ? 4 : 32);
    for (int c = 0; c < COLUMNS; c++)
        for (int row = 0; row < ROWS; row++)
            if (result == 2 || (result < 3 + ROWS ? row == result - 3 : c == result - 3 - ROWS))
                r = step(k, d, r, conform_get(x, d, (size_t)(thread + 64 * (row + ROWS * c))));
    return r;
}

START_TEST(every_reduction)
{
    sett_dtype d = conform_types[_i];
    size_t bytes = (size_t)sett__dtype_bytes(d);
    void *x = conform_array(d, 64 * ROWS * COLUMNS, 21), *out = calloc(64 * RESULTS * FOLDS, bytes);
    sett_buf X = {x, d, 3, {64, ROWS, COLUMNS}, {1, 64, 64 * ROWS}}, D = {out, d, 3, {64, RESULTS, FOLDS}, {1, 64, 64 * RESULTS}};
    conform_body(reductions, &d, &X, &D);
    for (int k = 0; k < FOLDS; k++)
        for (int i = 0; folds_type(k, d) && i < 64 * RESULTS; i++) {
            uint64_t got = conform_get(out, d, (size_t)(k * 64 * RESULTS + i)), want = folded(k, d, x, i % 64, i / 64);
            ck_assert_msg(conform_same(d, got, want), "reduce %s of %s, result %d of thread %d: got %" PRIx64 ", want %" PRIx64,
                sett__ops[fold_code[k]].text, sett_dtype_name(d), i / 64, i % 64, got, want);
        }
    free(x);
    free(out);
}
END_TEST

/* ---- elements: slices, other shapes, repetition -------------------------------------------------------------- */
static void elements(sett_build *b, const void *user)
{
    sett_dtype d = *(const sett_dtype *)user;
    sett_tensor *X = sett_param(b, "X", d, sett_make_layout(b, T(32, 12)));
    sett_tensor *D = sett_param(b, "D", d, sett_make_layout(b, T(39, 32)));
    sett_block(b, 32);
    sett_val *i = sett_thread_idx(b, 0), *x = sett_reshape(sett_load(sett_slice(X, i, ALL)), T(4, 3));
    sett_tensor *mine = sett_slice(D, ALL, i);
    sett_store(sett_composition(mine, sett_make_layout(b, T1(3))), sett_element(x, 2, ALL));
    sett_tensor *all = sett_domain_offset(mine, 3);
    sett_store(sett_composition(all, sett_make_layout(b, T(4, 3), T(3, 1))), x); /* transposed */
    sett_tensor *twice = sett_composition(sett_domain_offset(mine, 15), sett_make_layout(b, T(12, 2)));
    sett_store(twice, sett_broadcast_to(sett_reshape(x, T(12, 1)), T(12, 2)));
}

START_TEST(every_element)
{
    sett_dtype d = conform_types[_i];
    size_t bytes = (size_t)sett__dtype_bytes(d);
    void *x = conform_array(d, 32 * 12, 2), *out = calloc(32 * 39, bytes);
    sett_buf X = {x, d, 2, {32, 12}, {1, 32}}, D = {out, d, 2, {39, 32}, {1, 39}};
    conform_body(elements, &d, &X, &D);
    for (int t = 0; t < 32; t++)
        for (int k = 0; k < 39; k++) {
            int from = k < 3 ? 2 + 4 * k : k < 15 ? (k - 3) / 3 + 4 * ((k - 3) % 3) : (k - 15) % 12;
            uint64_t got = conform_get(out, d, (size_t)(k + 39 * t)), want = conform_get(x, d, (size_t)(t + 32 * from));
            ck_assert_msg(got == want, "%s, thread %d, element %d: got %" PRIx64 ", want %" PRIx64, sett_dtype_name(d), t, k, got, want);
        }
    free(x);
    free(out);
}
END_TEST

/* ---- C numbers beside values -------------------------------------------------------------------------------------- */
static void numbers(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *H = sett_param(b, "H", SETT_F16, sett_make_layout(b, T1(32)));
    sett_tensor *I = sett_param(b, "I", SETT_I32, sett_make_layout(b, T1(32)));
    sett_tensor *D = sett_param(b, "D", SETT_F32, sett_make_layout(b, T(32, 5)));
    sett_block(b, 32);
    sett_val *i = sett_thread_idx(b, 0), *h = sett_at(H, i), *n = sett_at(I, i);
    sett_val *r[] = {sett_add(sett_max(h, 0.0), 2049), sett_add(n, 0.5), sett_div(n, 3), sett_floordiv(n, 3), sett_mul(h, n)};
    static const sett_dtype type[] = {SETT_F16, SETT_F32, SETT_F32, SETT_I32, SETT_F32};
    for (int k = 0; k < 5; k++) {
        ck_assert_msg(sett_val_dtype(r[k]) == type[k], "result %d is %s", k, sett_dtype_name(sett_val_dtype(r[k])));
        sett_set(D, sett_to(r[k], SETT_F32), i, k);
    }
}

static double half(double x)
{
    return conform_number(SETT_F16, sett__bits_of_float(SETT_F16, x));
}

START_TEST(weak_numbers)
{
    uint16_t h[32];
    int32_t n[32];
    static float d[5][32];
    for (int i = 0; i < 32; i++) {
        h[i] = (uint16_t)sett__bits_of_float(SETT_F16, (i - 16) * 0.75);
        n[i] = i * 7 - 100;
    }
    sett_buf H = sett_buf_1d(h, SETT_F16, 32), I = sett_buf_1d(n, SETT_I32, 32), D = {d, SETT_F32, 2, {32, 5}, {1, 32}};
    conform_body(numbers, NULL, &H, &I, &D);
    for (int i = 0; i < 32; i++) {
        double x = (i - 16) * 0.75;
        const double want[] = {half((x > 0 ? x : 0) + half(2049)), n[i] + 0.5, (double)((float)n[i] / 3),
            (n[i] - (n[i] % 3 + 3) % 3) / 3, x * n[i]};
        for (int k = 0; k < 5; k++)
            ck_assert_msg((double)d[k][i] == want[k], "result %d of %g, %d: got %g, want %g", k, x, n[i], (double)d[k][i], want[k]);
    }
}
END_TEST

/* ---- barriers, in a block whose last warp is not full; indices ------------------------------------------------------ */
enum { BX = 7, BY = 5, BZ = 3, BLOCK = BX * BY * BZ, GRID = 2 * 3 * 2, IDS = 10 };

static void rounds(sett_build *b, const void *user)
{
    (void)user;
    sett_val *R = sett_scalar(b, "R", SETT_I32);
    sett_tensor *D = sett_param(b, "D", SETT_I32, sett_make_layout(b, T(BLOCK, GRID, IDS)));
    sett_grid(b, 2, 3, R);
    sett_block(b, BX, BY, BZ);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_I32, sett_make_layout(b, T1(BLOCK)), 0);
    sett_val *i = linear(b, (const int[]){BX, BY, BZ});
    sett_val *block = sett_add(sett_mul(sett_add(sett_mul(sett_block_idx(b, 2), 3), sett_block_idx(b, 1)), 2), sett_block_idx(b, 0));
    sett_tensor *x = sett_var(b, SETT_I32, i);
    sett_for (b, round, 0, R, 1) {
        sett_set(S, sett_add(sett_at(x, 0), round), i);
        sett_sync_threads(b);
        sett_set(x, sett_at(S, sett_mod(sett_add(sett_mul(i, 2), 1), BLOCK)), 0);
        sett_sync_threads(b);
    }
    sett_sync_warp(b);
    sett_val *ids[IDS] = {sett_at(x, 0), sett_lane_idx(b), sett_warp_idx(b)};
    for (int dim = 0; dim < 3; dim++) {
        ids[3 + dim] = sett_block_dim(b, dim);
        ids[6 + dim] = sett_grid_dim(b, dim);
    }
    ids[9] = block;
    for (int k = 0; k < IDS; k++)
        sett_set(D, ids[k], i, block, k);
}

START_TEST(barriers)
{
    static int32_t d[IDS][GRID][BLOCK];
    int32_t x[BLOCK], next[BLOCK];
    sett_buf D = {d, SETT_I32, 3, {BLOCK, GRID, IDS}, {1, BLOCK, BLOCK * GRID}};
    conform_body(rounds, NULL, 2, &D);
    for (int i = 0; i < BLOCK; i++)
        x[i] = i;
    for (int r = 0; r < 2; r++) {
        for (int i = 0; i < BLOCK; i++)
            next[i] = x[(i * 2 + 1) % BLOCK] + r;
        memcpy(x, next, sizeof x);
    }
    for (int g = 0; g < GRID; g++)
        for (int i = 0; i < BLOCK; i++) {
            const int want[IDS] = {x[i], i % 32, i / 32, BX, BY, BZ, 2, 3, 2, g};
            for (int k = 0; k < IDS; k++)
                ck_assert_msg(d[k][g][i] == want[k], "block %d, thread %d, number %d: got %d, want %d", g, i, k, d[k][g][i], want[k]);
        }
}
END_TEST

void conform_add_lanes(TCase *t)
{
    tcase_add_loop_test(t, every_shuffle, 0, CONFORM_TYPES);
    tcase_add_loop_test(t, every_reduction, 0, CONFORM_TYPES);
    tcase_add_loop_test(t, every_element, 0, CONFORM_TYPES);
    tcase_add_test(t, weak_numbers);
    tcase_add_test(t, barriers);
}
