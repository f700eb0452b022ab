/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors of elements narrower than a byte, in all memories, against plain C on the bits. */
#include "tests/conform/conform.h"
#include <stdlib.h>
#include <string.h>

static const sett_dtype types[] = {SETT_I4, SETT_F4E2M1FN, SETT_F6E3M2FN, SETT_F6E2M3FN};
enum { TYPES = sizeof types / sizeof *types, EACH = 8, BLOCK = 32, N = 5 * EACH * BLOCK };

static int bits_of(sett_dtype d)
{
    return sett_dtype_bits(d);
}

static int get(const uint8_t *x, sett_dtype d, size_t i)
{
    size_t bit = i * (size_t)bits_of(d);
    return (x[bit / 8] | (bit % 8 + (size_t)bits_of(d) > 8 ? x[bit / 8 + 1] << 8 : 0)) >> bit % 8 & ((1 << bits_of(d)) - 1);
}

static double number(sett_dtype d, int code)
{
    return d == SETT_I4 ? (double)(code < 8 ? code : code - 16)
                        : sett__float_of_bits(SETT_F32, sett__f32_of_narrow(d, (uint64_t)code));
}

static uint8_t *random_bytes(size_t n)
{
    uint8_t *x = malloc(n + 1);
    uint64_t seed = 46;
    ck_assert_ptr_nonnull(x);
    for (size_t i = 0; i <= n; i++)
        x[i] = (uint8_t)conform_random(&seed);
    return x;
}

/* ---- through every memory ------------------------------------------------------------------ */
/* Rows of n elements: gmem to smem, read by the mirrored thread into rmem, whose pairs are swapped, and out. The numbers
 * go to B. */
static void through(sett_build *b, const void *user)
{
    sett_dtype d = *(const sett_dtype *)user;
    sett_val *rows = sett_sym(b, "rows");
    sett_tensor *X = sett_param(b, "X", d, sett_row_major(b, rows, EACH * BLOCK), .align = 16);
    sett_tensor *D = sett_param(b, "D", d, sett_row_major(b, rows, EACH * BLOCK), .align = 4);
    sett_tensor *B = sett_param(b, "B", SETT_F32, sett_row_major(b, rows, EACH * BLOCK));
    sett_grid(b, rows);
    sett_block(b, BLOCK);
    sett_val *row = sett_block_idx(b, 0), *i = sett_thread_idx(b, 0);
    sett_tensor *s = sett_make_smem_tensor(b, d, sett_make_layout(b, T1(EACH * BLOCK)), 0);
    sett_tensor *r = sett_make_rmem_tensor(b, d, T1(EACH));
    sett_tensor *x = sett_slice(sett_local_tile(X, T(1, EACH), T(row, i)), 0, ALL);
    sett_copy(x, sett_local_tile(s, T1(EACH), T1(i)));
    sett_sync_threads(b);
    sett_copy(sett_local_tile(s, T1(EACH), T1(sett_sub(BLOCK - 1, i))), r);
    for (int k = 0; k < EACH; k += 2) {
        sett_val *low = sett_at(r, k), *high = sett_at(r, k + 1);
        sett_set(r, high, k);
        sett_set(r, low, k + 1);
    }
    sett_copy(r, sett_slice(sett_local_tile(D, T(1, EACH), T(row, i)), 0, ALL));
    for (int k = 0; k < EACH; k++) /* where the thread alone knows which it is */
        sett_set(B, sett_to(sett_at(X, row, sett_add(sett_mul(i, EACH), sett_mod(sett_add(i, k), EACH))), SETT_F32), row,
            sett_add(sett_mul(i, EACH), k));
}

START_TEST(packed_through)
{
    sett_dtype d = types[_i];
    enum { ROWS = 5, COLS = EACH * BLOCK };
    size_t bytes = (size_t)(N * bits_of(d) / 8);
    uint8_t *x = random_bytes(bytes), *y = random_bytes(bytes);
    float *e = malloc(N * sizeof *e);
    ck_assert_ptr_nonnull(e);
    sett_buf X = sett_buf_2d(x, d, ROWS, COLS), D = sett_buf_2d(y, d, ROWS, COLS), B = sett_buf_2d(e, SETT_F32, ROWS, COLS);
    conform_body(through, &types[_i], &X, &D, &B);
    for (size_t n = 0; n < N; n++) {
        size_t thread = n / EACH % BLOCK, k = n % EACH, start = n - n % COLS;
        size_t from = start + (BLOCK - 1 - thread) * EACH + (k ^ 1), shown = start + thread * EACH + (thread + k) % EACH;
        ck_assert_msg(get(y, d, n) == get(x, d, from), "%s element %zu: %x, not %x", sett_dtype_name(d), n, get(y, d, n), get(x, d, from));
        ck_assert_msg((double)e[n] == number(d, get(x, d, shown)), "%s element %zu: %g, not %g", sett_dtype_name(d), n, (double)e[n],
            number(d, get(x, d, shown)));
    }
    free(x);
    free(y);
    free(e);
}
END_TEST

/* Windows that the launch sizes, behind one another: floats, packed elements, a swizzled tile, packed again. Each is read back
 * by the mirrored thread; X goes to D through both packed ones, F to E through the tile. */
static void sized(sett_build *b, const void *user)
{
    sett_dtype d = *(const sett_dtype *)user;
    sett_val *n = sett_sym(b, "n", .div = EACH), *i = sett_thread_idx(b, 0), *mirror = sett_sub(sett_sub(sett_floordiv(n, EACH), 1), i);
    sett_tensor *X = sett_param(b, "X", d, sett_make_layout(b, T1(n)), .align = 4), *D = sett_param(b, "D", d, sett_make_layout(b, T1(n)), .align = 4);
    sett_tensor *F = sett_param(b, "F", SETT_F32, sett_make_layout(b, T(EACH, sett_floordiv(n, EACH)))), *E = sett_param(b, "E", SETT_F32, sett_make_layout(b, T(EACH, sett_floordiv(n, EACH))));
    sett_block(b, sett_floordiv(n, EACH));
    sett_tensor *first = sett_make_smem_tensor(b, SETT_U8, sett_make_layout(b, T1(sett_add(n, 5))), 0);
    sett_tensor *p = sett_make_smem_tensor(b, d, sett_make_layout(b, T1(n)), 0);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, sett_make_swizzled(2, 1, 2, sett_make_layout(b, T(EACH, sett_floordiv(n, EACH)))), 0);
    sett_tensor *q = sett_make_smem_tensor(b, d, sett_make_layout(b, T1(n)), 0);
    sett_set(first, 1, sett_add(i, 5));
    sett_copy(sett_local_tile(X, T1(EACH), T1(i)), sett_local_tile(p, T1(EACH), T1(i)));
    sett_copy(sett_slice(F, ALL, i), sett_slice(s, ALL, i));
    sett_sync_threads(b);
    sett_copy(sett_local_tile(p, T1(EACH), T1(mirror)), sett_local_tile(q, T1(EACH), T1(mirror)));
    sett_copy(sett_slice(s, ALL, mirror), sett_slice(E, ALL, i));
    sett_sync_threads(b);
    sett_copy(sett_local_tile(q, T1(EACH), T1(mirror)), sett_local_tile(D, T1(EACH), T1(i)));
}

START_TEST(packed_sized)
{
    sett_dtype d = types[_i];
    sett_kernel *k = conform_compile(sized, &types[_i], (conform_how){0});
    for (int threads = 1; threads <= 37; threads += 9) {
        size_t n = (size_t)threads * EACH, bytes = n * (size_t)bits_of(d) / 8;
        uint8_t *x = random_bytes(bytes), *y = calloc(bytes + 1, 1);
        float f[EACH * 40], e[EACH * 40];
        for (size_t i = 0; i < n; i++)
            f[i] = (float)i;
        const int64_t t = threads, all = (int64_t)n;
        sett_buf X = sett_buf_1d(x, d, all), D = sett_buf_1d(y, d, all), F = {f, SETT_F32, 2, {EACH, t}, {1, EACH}}, E = {e, SETT_F32, 2, {EACH, t}, {1, EACH}};
        conform_run(k, &X, &D, &F, &E);
        for (size_t i = 0; i < n; i++) {
            size_t from = ((size_t)threads - 1 - i / EACH) * EACH + i % EACH;
            ck_assert_msg(get(y, d, i) == get(x, d, from), "%s, %d threads, %zu: %x, not %x", sett_dtype_name(d), threads, i, get(y, d, i), get(x, d, from));
            ck_assert_msg(e[i] == f[from], "swizzled, %d threads, %zu: %g, not %g", threads, i, (double)e[i], (double)f[from]);
        }
        free(x);
        free(y);
    }
    sett_kernel_release(k);
}
END_TEST

/* ---- predicates, fills, tails --------------------------------------------------------------------- */
typedef struct tail { sett_dtype d; int div; } tail;

/* D = X of n elements, past the end the fill. With .div a unit has one predicate, so that S, a store under it, is possible. */
static void tails(sett_build *b, const void *user)
{
    const tail *j = user;
    sett_val *n = sett_sym(b, "n", .div = j->div);
    sett_tensor *X = sett_param(b, "X", j->d, sett_make_layout(b, T1(n)), .align = 8);
    sett_tensor *D = sett_param(b, "D", SETT_F32, sett_make_layout(b, T1(EACH * BLOCK)), .align = 16);
    sett_tensor *S = sett_param(b, "S", j->d, sett_make_layout(b, T1(n)), .align = 8);
    sett_grid(b, 1);
    sett_block(b, BLOCK);
    sett_val *i = sett_thread_idx(b, 0);
    sett_tensor *crd = sett_local_tile(sett_identity_tensor(b, T1(n)), T1(EACH), T1(i));
    sett_val *inside = sett_elem_less(crd, T1(n));
    sett_val *x = sett_load(sett_local_tile(X, T1(EACH), T1(i)), .pred = inside, .fill = 3);
    sett_store(sett_local_tile(D, T1(EACH), T1(i)), sett_to(x, SETT_F32));
    sett_tensor *r = sett_make_rmem_tensor(b, j->d, T1(EACH));
    sett_fill(r, 1);
    sett_store(r, x, .pred = sett_gt(sett_to(x, SETT_F32), 0.0));
    if (j->div > 1)
        sett_store(sett_local_tile(S, T1(EACH), T1(i)), sett_load(r), .pred = inside);
}

START_TEST(packed_tails)
{
    sett_dtype d = types[_i / 2];
    int n = _i % 2 ? 203 : 204;
    const tail j = {d, _i % 2 ? 1 : 4};
    size_t bytes = (size_t)(n * bits_of(d) + 7) / 8;
    uint8_t *x = random_bytes(bytes), *s = random_bytes(bytes);
    float out[EACH * BLOCK];
    sett_buf X = sett_buf_1d(x, d, n), D = sett_buf_1d(out, SETT_F32, EACH * BLOCK), S = sett_buf_1d(s, d, n);
    sett_kernel *k = conform_compile(tails, &j, (conform_how){0});
    conform_run(k, &X, &D, &S);
    for (int i = 0; i < EACH * BLOCK; i++) {
        double want = i < n ? number(d, get(x, d, (size_t)i)) : 3;
        ck_assert_msg((double)out[i] == want, "%s element %d of %d: %g, not %g", sett_dtype_name(d), i, n, (double)out[i], want);
        if (i < n && j.div > 1)
            ck_assert_msg(number(d, get(s, d, (size_t)i)) == (want > 0 ? want : 1), "%s stored %d", sett_dtype_name(d), i);
    }
    sett_kernel_release(k);
    free(x);
    free(s);
}
END_TEST

/* ---- views ---------------------------------------------------------------------------------------- */
/* A (16,8) tile with rows contiguous, read down its columns; bytes as elements, elements as words; parts of registers. */
static void views(sett_build *b, const void *user)
{
    sett_dtype d = *(const sett_dtype *)user;
    sett_tensor *X = sett_param(b, "X", d, sett_row_major(b, 16, 8), .align = 16);
    sett_tensor *D = sett_param(b, "D", SETT_F32, sett_row_major(b, 8, 16));
    sett_tensor *W = sett_param(b, "W", SETT_U8, sett_make_layout(b, sett_tuple(b, 16 * 8 * bits_of(d) / 8)), .align = 16);
    sett_tensor *V = sett_param(b, "V", d, sett_make_layout(b, sett_tuple(b, 16 * 8)), .align = 16);
    sett_tensor *P = sett_param(b, "P", SETT_F32, sett_make_layout(b, T1(8)));
    sett_grid(b, 1);
    sett_block(b, 1);
    for (int col = 0; col < 8; col++)
        sett_store(sett_slice(D, col, ALL), sett_to(sett_load(sett_slice(X, ALL, col)), SETT_F32));
    sett_tensor *words = sett_recast_tensor(sett_composition(X, sett_make_layout(b, T(8, 16), T(16, 1))), SETT_U8);
    sett_store(W, sett_reshape(sett_load(words), sett_tuple(b, 16 * 8 * bits_of(d) / 8)));
    sett_tensor *r = sett_make_rmem_tensor(b, SETT_U8, sett_tuple(b, 16 * 8 * bits_of(d) / 8));
    sett_store(r, sett_load(W));
    sett_tensor *e = sett_recast_tensor(r, d);
    sett_store(sett_composition(e, sett_make_layout(b, 16, 8)), sett_full(b, d, 16, 3));
    sett_store(V, sett_load(e));
    sett_tensor *some = sett_make_rmem_tensor(b, d, T1(8)); /* at places that only the thread knows */
    sett_fill(some, 2);
    if (bits_of(d) == 4)
        sett_set(some, sett_const(b, d, -4), sett_add(sett_thread_idx(b, 0), 3));
    sett_store(P, sett_to(sett_load(some), SETT_F32));
}

START_TEST(packed_views)
{
    sett_dtype d = types[_i];
    int bytes = 16 * 8 * bits_of(d) / 8;
    uint8_t *x = random_bytes((size_t)bytes), *w = random_bytes((size_t)bytes), *v = random_bytes((size_t)bytes);
    float out[128], p[8];
    sett_buf X = sett_buf_2d(x, d, 16, 8), D = sett_buf_2d(out, SETT_F32, 8, 16), W = sett_buf_1d(w, SETT_U8, bytes),
             V = sett_buf_1d(v, d, 128), P = sett_buf_1d(p, SETT_F32, 8);
    conform_body(views, &types[_i], &X, &D, &W, &V, &P);
    ck_assert(!memcmp(x, w, (size_t)bytes));
    for (size_t i = 0; i < 128; i++) {
        ck_assert((double)out[i % 8 * 16 + i / 8] == number(d, get(x, d, i)));
        ck_assert((number(d, get(v, d, i)) == (i % 8 ? number(d, get(x, d, i)) : 3)));
    }
    for (int i = 0; i < 8; i++)
        ck_assert((double)p[i] == (i == 3 && bits_of(d) == 4 ? -4 : 2));
    free(x);
    free(w);
    free(v);
}
END_TEST

/* ---- what is refused ------------------------------------------------------------------------------- */
static sett_tensor *packed(sett_build *b)
{
     return sett_param(b, "W", SETT_I4, sett_make_layout(b, 64), .align = 16);
}

static sett_tensor *some(sett_build *b, int n, int step) { return sett_composition(packed(b), sett_make_layout(b, n, step));
}

static void e_odd(sett_build *b, const void *user)
{
    (void)user;
     sett_fill(some(b, 5, 1), 1);
}

static void e_apart(sett_build *b, const void *user)
{
    (void)user;
     sett_fill(some(b, 4, 2), 1);
}

static void e_one(sett_build *b, const void *user)
{
    (void)user;
     sett_set(packed(b), 1, 4);
}

static void e_where(sett_build *b, const void *user)
{
    (void)user;
     sett_fill(sett_domain_offset(some(b, 8, 1), sett_thread_idx(b, 0)), 1);
}

static void e_pred(sett_build *b, const void *user)
{
    (void)user;
    sett_val *n = sett_sym(b, "n");
    sett_val *pred = sett_elem_less(sett_composition(sett_identity_tensor(b, T1(64)), sett_make_layout(b, 8)), T1(n));
    sett_store(some(b, 8, 1), sett_full(b, SETT_I4, 8, 1), .pred = pred);
}
static void e_range(sett_build *b, const void *user)
{
    (void)user;
     sett_fill(some(b, 8, 1), 8);
}

static void e_filled(sett_build *b, const void *user)
{
    (void)user;
    sett_load(some(b, 8, 1), .pred = sett_full(b, SETT_BOOL, 8, 1), .fill = 1e300);
}
static void e_past(sett_build *b, const void *user)
{
    (void)user;
    sett_load(sett_domain_offset(sett_make_rmem_tensor(b, SETT_F6E2M3FN, 8), 4));
}

static void e_atomic(sett_build *b, const void *user)
{
    (void)user;
     sett_atomic(packed(b), SETT_ADD, 1, 0);
}

START_TEST(packed_refusals)
{
    static const struct {
        sett_body f;
        sett_status status;
        const char *text;
    } cases[] = {
        {e_odd, SETT_E_ALIGN, "sett_fill: elements of i4 are stored 2 together, in whole bytes: W 5:1 has less of some, "
                                     "and another thread may write the rest: store 2 neighbours at once"},
        {e_apart, SETT_E_ALIGN, "sett_fill: elements of i4 are stored 2 together, in whole bytes: W 4:2 has less"},
        {e_one, SETT_E_ALIGN, "sett_set: elements of i4 are stored 2 together, in whole bytes: W 64:1 has less"},
        {e_where, SETT_E_ALIGN, "sett_fill: elements of i4 are stored 2 together, in whole bytes: where W 8:1 begins is "
                                       "not known to be a multiple of 2 elements: give its symbols .div = 2, or sett_assume it"},
        {e_pred, SETT_E_ALIGN, "sett_store: elements of i4 are stored 2 together, in whole bytes: the predicate is not "
                                      "known to be the same for those of W 8:1: give the symbols of its bound .div = 2"},
        {e_range, SETT_E_RANGE, "sett_fill: i4 cannot hold 8"},
        {e_filled, SETT_E_RANGE, "sett_load: i4 cannot hold 1e+300"},
        {e_past, SETT_E_RANGE, "sett_load: rmem 8:1 reaches byte 8 of its memory, which has 6"},
        {e_atomic, SETT_E_DTYPE, "sett_atomic: no atomic ADD of i4"},
    };
    for (size_t i = 0; i < SETT__COUNT(cases); i++) {
        sett_error err = {.text = "accepted"};
        sett_kernel *k = NULL;
        const sett_compile_options o = {.size = sizeof o, .name = "conform"};
        ck_assert_msg(sett_compile(conform_engine(), cases[i].f, &o, &k, &err) == cases[i].status, "%zu: %s", i, err.text);
        ck_assert_msg(strstr(err.text, cases[i].text) && strstr(err.text, "conform_packed.c:"), "%s", err.text);
    }
}
END_TEST

void conform_add_packed(TCase *t)
{
    tcase_add_loop_test(t, packed_through, 0, TYPES);
    tcase_add_loop_test(t, packed_sized, 0, TYPES);
    tcase_add_loop_test(t, packed_tails, 0, 2 * TYPES);
    tcase_add_loop_test(t, packed_views, 0, TYPES);
    tcase_add_test(t, packed_refusals);
}
