/* SPDX-License-Identifier: Apache-2.0 */
/* Loads, stores and copies of every width, alignment and predicate, in every space; atomics; far offsets. What is
 * moved is compared bit for bit; the harness sees writes beside the arrays. */
#include "tests/conform/conform.h"
#include <sett/memory.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- ragged sizes: what is outside is neither read nor written ------------------------------------------- */
enum { THREADS = 8, WIDEST = 128, ROWS = 3 };

typedef struct ragged {
    sett_dtype dtype;
    int values, align; /* elements a thread, bytes that the launch promises */
    bool rows, apart;  /* several rows of N, so that rows start anywhere; a thread's values not side by side */
} ragged;

static sett_tensor *mine(sett_build *b, const sett_tensor *t, sett_tv tv)
{
    sett_tensor *tile = sett_slice(sett_zipped_divide(t, tv.tiler), ALL, T(0, sett_block_idx(b, 0)));
    return sett_slice(sett_composition(tile, tv.tv), sett_thread_idx(b, 0), ALL);
}

static void ragged_copy(sett_build *b, const void *user)
{
    const ragged *p = user;
    int rows = p->rows ? 4 : 1;
    sett_val *M = sett_sym(b, "M"), *N = sett_sym(b, "N");
    sett_tensor *X = sett_param(b, "X", p->dtype, sett_row_major(b, M, N), .align = p->align);
    sett_tensor *Y = sett_param(b, "Y", p->dtype, sett_row_major(b, M, N), .align = p->align);
    sett_tensor *F = sett_param(b, "F", p->dtype, sett_row_major(b, rows, WIDEST), .align = 16);
    sett_layout *values = p->apart ? sett_make_layout(b, T(rows, p->values), T(p->values, 1)) : sett_row_major(b, rows, p->values);
    sett_tv tv = p->apart ? sett_make_layout_tv(sett_row_major(b, rows, THREADS / rows), sett_row_major(b, 1, p->values))
                          : sett_make_layout_tv(sett_row_major(b, 1, THREADS), values);
    sett_grid(b, sett_ceil_div(N, p->apart ? THREADS / rows * p->values : THREADS * p->values));
    sett_block(b, THREADS);
    sett_val *in = sett_elem_less(mine(b, sett_identity_tensor(b, M, N), tv), T(M, N));
    sett_val *x = sett_load(mine(b, X, tv), .pred = in, .fill = 1);
    sett_store(mine(b, Y, tv), x, .pred = in);
    sett_store(mine(b, F, tv), x);
}

static void check_ragged(sett_kernel *k, const ragged *p, int n)
{
    sett_dtype d = p->dtype;
    int m = p->rows ? ROWS : 1, rows = p->rows ? 4 : 1, bytes = sett__dtype_bytes(d);
    int tile = (p->apart ? THREADS / rows : THREADS) * p->values, covered = (n + tile - 1) / tile * tile;
    uint64_t one = sett__dtype_is_float(d) ? sett__bits_of_float(d, 1) : 1;
    char *x = conform_array(d, (size_t)(m * n), 7 + (uint64_t)n), *y = calloc((size_t)(m * n), (size_t)bytes);
    char *f = calloc((size_t)(rows * WIDEST), (size_t)bytes);
    sett_buf X = sett_buf_2d(x, d, m, n), Y = sett_buf_2d(y, d, m, n), F = sett_buf_2d(f, d, rows, WIDEST);
    conform_run(k, &X, &Y, &F);
    ck_assert_msg(!memcmp(x, y, (size_t)(m * n * bytes)), "%s x%d align %d, %d rows of %d: not the same", sett_dtype_name(d), p->values,
        p->align, m, n);
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < WIDEST; i++) {
            uint64_t got = conform_get(f, d, (size_t)(r * WIDEST + i)), want = r < m && i < n ? conform_get(x, d, (size_t)(r * n + i)) : one;
            ck_assert_msg(got == (i < covered ? want : 0), "%s x%d align %d, %d rows of %d, (%d,%d): got %" PRIx64 ", want %" PRIx64,
                sett_dtype_name(d), p->values, p->align, m, n, r, i, got, i < covered ? want : 0);
        }
    free(x);
    free(y);
    free(f);
}

/* Type by type: every width to 16 bytes, side by side; rows that start anywhere. */
START_TEST(ragged_sizes)
{
    sett_dtype d = conform_types[_i];
    int bytes = sett__dtype_bytes(d);
    for (int values = 1; values <= 16 / bytes; values *= 2)
        for (int kind = 0; kind < 3; kind++) {
            ragged p = {d, values, kind == 1 ? bytes : 16, kind == 2, kind == 2 && values > 4};
            if ((values > 1 && values * bytes < 16 && kind) || (kind == 2 && p.apart && values * 2 > WIDEST))
                continue;
            sett_kernel *k = conform_compile(ragged_copy, &p, (conform_how){0});
            for (int n = 1; n <= 67; n += n > 20 && (kind || values * bytes < 16) ? 7 : 1)
                check_ragged(k, &p, n);
            sett_kernel_release(k);
        }
}
END_TEST

/* ---- places of any alignment, static and dynamic ----------------------------------------------------------- */
enum { PLACES = 17, EACH = 16, LANES = 40 };

/* D[thread][place] = EACH elements of X from place on; from `O` on too. */
static void from_anywhere(sett_build *b, const void *user)
{
    sett_dtype d = *(const sett_dtype *)user;
    const int n = LANES * EACH + 2 * PLACES;
    sett_tensor *X = sett_param(b, "X", d, sett_make_layout(b, T1(n)), .align = 16);
    sett_tensor *D = sett_param(b, "D", d, sett_make_layout(b, T(EACH, LANES, PLACES + 2)), .align = 16);
    sett_tensor *E = sett_param(b, "E", d, sett_make_layout(b, T1(n)), .align = 16);
    sett_val *o = sett_scalar(b, "o", SETT_I32), *lane = sett_thread_idx(b, 0);
    sett_block(b, LANES);
    for (int place = 0; place < PLACES; place++) {
        sett_tensor *from = sett_local_tile(sett_domain_offset(X, place), T1(EACH), T1(lane));
        sett_copy(from, sett_slice(D, ALL, lane, place));
    }
    sett_val *x = sett_load(sett_local_tile(sett_domain_offset(X, o), T1(EACH), T1(lane)));
    sett_store(sett_slice(D, ALL, lane, PLACES), x);
    sett_store(sett_local_tile(sett_domain_offset(E, o), T1(EACH), T1(lane)), x);
    sett_fill(sett_slice(D, ALL, lane, PLACES + 1), 1);
}

START_TEST(any_place)
{
    sett_dtype d = conform_types[_i];
    const size_t n = LANES * EACH + 2 * PLACES, bytes = (size_t)sett__dtype_bytes(d), all = LANES * EACH;
    char *x = conform_array(d, n, 3), *out = malloc(all * (PLACES + 2) * bytes), *e = malloc(n * bytes);
    uint64_t one = sett__dtype_is_float(d) ? sett__bits_of_float(d, 1) : 1;
    sett_kernel *k = conform_compile(from_anywhere, &d, (conform_how){0});
    for (size_t o = 0; o < 20; o += 1 + o / 9) {
        memset(out, 0, all * (PLACES + 2) * bytes);
        memset(e, 0, n * bytes);
        sett_buf X = sett_buf_1d(x, d, (int64_t)n), E = sett_buf_1d(e, d, (int64_t)n);
        sett_buf D = {out, d, 3, {EACH, LANES, PLACES + 2}, {1, EACH, LANES * EACH}};
        conform_run(k, &X, &D, &E, (int)o);
        for (size_t place = 0; place < PLACES; place++)
            ck_assert_msg(!memcmp(out + place * all * bytes, x + place * bytes, all * bytes), "%s from %zu", sett_dtype_name(d), place);
        ck_assert_msg(!memcmp(out + PLACES * all * bytes, x + o * bytes, all * bytes), "%s from o = %zu", sett_dtype_name(d), o);
        ck_assert_msg(!memcmp(e + o * bytes, x + o * bytes, all * bytes), "%s to o = %zu", sett_dtype_name(d), o);
        for (size_t i = 0; i < all; i++)
            ck_assert_msg(conform_get(out, d, (PLACES + 1) * all + i) == one, "fill of %s at %zu", sett_dtype_name(d), i);
    }
    sett_kernel_release(k);
    free(x);
    free(out);
    free(e);
}
END_TEST

/* ---- shared memory: transposes through padded and swizzled tiles ------------------------------------------------ */
enum { TILE = 32, SIDE = 2 * TILE };
typedef struct turn { sett_dtype dtype; int pad, bits, base, wide; } turn;

static void transpose(sett_build *b, const void *user)
{
    const turn *p = user;
    sett_tensor *X = sett_param(b, "X", p->dtype, sett_row_major(b, SIDE, SIDE), .align = 16);
    sett_tensor *Y = sett_param(b, "Y", p->dtype, sett_row_major(b, SIDE, SIDE), .align = 16);
    sett_grid(b, SIDE / TILE, SIDE / TILE);
    sett_block(b, 4, 32, 1);
    sett_layout *l = sett_make_layout(b, T(TILE, TILE), T(TILE + p->pad, 1));
    sett_tensor *S = sett_make_smem_tensor(b, p->dtype, p->bits ? sett_make_swizzled(p->bits, p->base, 3, l) : l, 128);
    sett_val *x = sett_thread_idx(b, 0), *y = sett_thread_idx(b, 1), *bx = sett_block_idx(b, 0), *by = sett_block_idx(b, 1);
    sett_tensor *in = sett_local_tile(X, T(TILE, TILE), T(by, bx)), *out = sett_local_tile(Y, T(TILE, TILE), T(bx, by));
    sett_copy(sett_local_tile(in, T(1, p->wide), T(y, x)), sett_local_tile(S, T(1, p->wide), T(y, x)));
    for (int i = p->wide * 4; i < TILE; i += p->wide * 4)
        sett_copy(sett_local_tile(in, T(1, p->wide), T(y, sett_add(x, i / p->wide))),
            sett_local_tile(S, T(1, p->wide), T(y, sett_add(x, i / p->wide))));
    sett_sync_threads(b);
    sett_for (b, j, x, TILE, 4)
        sett_set(out, sett_at(S, j, y), y, j);
}

START_TEST(transposes)
{
    static const sett_dtype types[] = {SETT_BOOL, SETT_U8, SETT_F16, SETT_BF16, SETT_F32, SETT_I64};
    sett_dtype d = types[_i];
    size_t bytes = (size_t)sett__dtype_bytes(d);
    char *x = conform_array(d, SIDE * SIDE, 5), *y = malloc(SIDE * SIDE * bytes);
    for (int way = 0; way < 6; way++) {
        const turn all[] = {{d, 0, 0, 0, 1}, {d, 1, 0, 0, 1}, {d, 8, 0, 0, 8}, {d, 0, 3, 0, 1}, {d, 0, 2, 3, 8}, {d, 0, 2, 1, 2}}, p = all[way];
        memset(y, 0, SIDE * SIDE * bytes);
        sett_buf X = sett_buf_2d(x, d, SIDE, SIDE), Y = sett_buf_2d(y, d, SIDE, SIDE);
        conform_body(transpose, &p, &X, &Y);
        for (size_t i = 0; i < SIDE * SIDE; i++)
            ck_assert_msg(conform_get(y, d, i) == conform_get(x, d, i % SIDE * SIDE + i / SIDE), "%s, pad %d, swizzle %d, at %zu: got %" PRIx64,
                sett_dtype_name(d), p.pad, p.bits, i, conform_get(y, d, i));
    }
    free(x);
    free(y);
}
END_TEST

/* ---- strides 0, recast, and a matrix read by columns ---------------------------------------------------------------- */
static void views(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F16, sett_make_layout(b, T(4, 64), T(0, 1)), .align = 16); /* four rows are one */
    sett_tensor *Y = sett_param(b, "Y", SETT_F16, sett_row_major(b, 4, 64), .align = 16);
    sett_tensor *Z = sett_param(b, "Z", SETT_U32, sett_make_layout(b, T1(32)), .align = 16);
    sett_tensor *W = sett_param(b, "W", SETT_F16, sett_make_layout(b, T(64, 3), T(1, 0)), .align = 16);
    sett_block(b, 8);
    sett_val *t = sett_thread_idx(b, 0);
    sett_store(sett_local_tile(Y, T(4, 8), T(0, t)), sett_load(sett_local_tile(X, T(4, 8), T(0, t))));
    sett_tensor *words = sett_recast_tensor(sett_slice(X, 0, ALL), SETT_U32);
    sett_copy(sett_local_tile(words, T1(4), T1(t)), sett_local_tile(Z, T1(4), T1(t)));
    sett_store(sett_local_tile(W, T(8, 3), T(t, 0)), sett_load(sett_local_tile(W, T(8, 3), T(t, 0))));
}

START_TEST(other_views)
{
    uint16_t *x = conform_array(SETT_F16, 64, 1), y[256] = {0}, z[64] = {0}, w[64];
    memcpy(w, x, sizeof w);
    sett_buf X = {x, SETT_F16, 2, {4, 64}, {0, 1}}, Y = sett_buf_2d(y, SETT_F16, 4, 64), Z = sett_buf_1d(z, SETT_U32, 32);
    sett_buf W = {w, SETT_F16, 2, {64, 3}, {1, 0}};
    conform_body(views, NULL, &X, &Y, &Z, &W);
    for (int i = 0; i < 256; i++)
        ck_assert_uint_eq(y[i], x[i % 64]);
    ck_assert_int_eq(memcmp(z, x, sizeof z), 0);
    ck_assert_int_eq(memcmp(w, x, sizeof w), 0);
    free(x);
}
END_TEST

/* ---- atomics --------------------------------------------------------------------------------------------------------- */
enum { CELLS = 8, WORKERS = 2 * 80 };
static const sett_binary_op atomic_ops[] = {SETT_ADD, SETT_MIN, SETT_MAX, SETT_AND, SETT_OR, SETT_XOR};
static const sett_dtype atomic_types[] = {SETT_I8, SETT_U8, SETT_I16, SETT_U16, SETT_I32, SETT_I64, SETT_U32, SETT_U64, SETT_F16, SETT_BF16, SETT_F32, SETT_F64};

/* G[op][cell] op= A[i], in gmem and by way of smem; D[i] is what an add of 1 found. */
static void atomics(sett_build *b, const void *user)
{
    sett_dtype d = *(const sett_dtype *)user;
    int n = sett__dtype_is_float(d) ? 3 : 6;
    sett_tensor *A = sett_param(b, "A", d, sett_make_layout(b, T1(WORKERS)));
    sett_tensor *G = sett_param(b, "G", d, sett_make_layout(b, T(CELLS, 6)));
    sett_tensor *H = sett_param(b, "H", d, sett_make_layout(b, T(CELLS, 6)));
    sett_tensor *D = sett_param(b, "D", d, sett_make_layout(b, T(WORKERS, 2)));
    sett_tensor *C = sett_param(b, "C", d, sett_make_layout(b, T1(1)));
    sett_tensor *S = sett_make_smem_tensor(b, d, sett_make_layout(b, T(CELLS, 7)), 0);
    sett_grid(b, 2);
    sett_block(b, WORKERS / 2);
    sett_val *t = sett_thread_idx(b, 0), *i = sett_add(sett_mul(sett_block_idx(b, 0), WORKERS / 2), t), *a = sett_at(A, i);
    sett_val *cell = sett_mod(sett_mul(i, 3), CELLS);
    sett_if (b, sett_lt(t, CELLS)) { /* the first block's go back to H, so that the other does not read it */
        sett_fill(sett_slice(S, t, ALL), 0);
        sett_if (b, sett_eq(sett_block_idx(b, 0), 0))
            for (int k = 0; k < n; k++)
                sett_set(S, sett_at(H, t, k), t, k);
    }
    sett_sync_threads(b);
    for (int k = 0; k < n; k++) {
        sett_atomic(G, atomic_ops[k], a, cell, k);
        sett_atomic(S, atomic_ops[k], a, cell, k);
    }
    sett_set(D, sett_atomic(C, SETT_ADD, 1, 0), i, 0);
    sett_set(D, sett_atomic(S, SETT_ADD, 1, 0, 6), i, 1);
    sett_sync_threads(b);
    sett_if (b, sett_and(sett_lt(t, CELLS), sett_eq(sett_block_idx(b, 0), 0)))
        for (int k = 0; k < n; k++)
            sett_set(H, sett_at(S, t, k), t, k);
}

/* Every number below n was found exactly `times` times. */
static void found_once(sett_dtype d, const void *x, size_t first, int count, int times)
{
    int seen[WORKERS] = {0};
    for (int i = 0; i < count; i++) {
        uint64_t bits = conform_get(x, d, first + (size_t)i);
        double v = sett__dtype_is_float(d) ? conform_number(d, bits) : (double)bits;
        ck_assert_msg(v >= 0 && v < count / times && ++seen[(int)v] <= times, "atomic %s: the counter was %g", sett_dtype_name(d), v);
    }
}

START_TEST(every_atomic)
{
    sett_dtype d = atomic_types[_i];
    bool real = sett__dtype_is_float(d);
    int n = real ? 3 : 6;
    uint64_t a[WORKERS], g[CELLS * 6], h[CELLS * 6], want[2][CELLS * 6], out[2 * WORKERS] = {0}, counter = 0, seed = 4;
    for (int i = 0; i < WORKERS; i++) /* of floats small integers: every order gives the same sum */
        conform_put(a, d, (size_t)i, real ? sett__bits_of_float(d, (double)(conform_random(&seed) % 9) - 4) : conform_random(&seed));
    for (size_t c = 0; c < CELLS * 6; c++) {
        uint64_t v = real ? 0 : conform_random(&seed) & conform_mask(d);
        conform_put(g, d, c, v);
        conform_put(h, d, c, v);
        want[0][c] = want[1][c] = v;
    }
    static const sett__code code[] = {SETT__ADD, SETT__MIN, SETT__MAX, SETT__AND, SETT__OR, SETT__XOR};
    for (int k = 0; k < n; k++)
        for (int i = 0; i < WORKERS; i++)
            for (int s = 0; s < 2; s++) {
                uint64_t *w = &want[s][k * CELLS + i * 3 % CELLS], in[3] = {*w, conform_get(a, d, (size_t)i), 0};
                if (s && i >= WORKERS / 2)
                    continue;
                ck_assert(conform_reference(code[k], d, d, in, w));
            }
    sett_buf A = sett_buf_1d(a, d, WORKERS), G = {g, d, 2, {CELLS, 6}, {1, CELLS}}, H = {h, d, 2, {CELLS, 6}, {1, CELLS}},
             D = {out, d, 2, {WORKERS, 2}, {1, WORKERS}}, C = sett_buf_1d(&counter, d, 1);
    conform_body(atomics, &d, &A, &G, &H, &D, &C);
    for (size_t c = 0; c < (size_t)n * CELLS; c++) {
        ck_assert_msg(conform_get(g, d, c) == want[0][c], "atomic %s of %s, cell %zu: got %" PRIx64 ", want %" PRIx64,
            sett__ops[code[c / CELLS]].text, sett_dtype_name(d), c % CELLS, conform_get(g, d, c), want[0][c]);
        ck_assert_msg(conform_get(h, d, c) == want[1][c], "shared atomic %s of %s, cell %zu: got %" PRIx64 ", want %" PRIx64,
            sett__ops[code[c / CELLS]].text, sett_dtype_name(d), c % CELLS, conform_get(h, d, c), want[1][c]);
    }
    found_once(d, out, 0, WORKERS, 1);
    found_once(d, out, WORKERS, WORKERS, 2);
}
END_TEST

/* Exchanges: a chain, in which every number is found once and one is left. Compare and swap: a counter, by the loop
 * that everybody writes; C + 1 is left alone, as it never is what it is compared with. */
static void chains(sett_build *b, const void *user)
{
    sett_dtype d = *(const sett_dtype *)user;
    sett_tensor *C = sett_param(b, "C", d, sett_make_layout(b, T1(3)), .align = 8), *D = sett_param(b, "D", d, sett_make_layout(b, T(WORKERS, 2)), .align = 8);
    sett_block(b, WORKERS);
    sett_val *t = sett_thread_idx(b, 0);
    sett_set(D, sett_atomic_exch(C, sett_to(sett_add(t, 1), d), 0), t, 0);
    sett_tensor *old = sett_var(b, d, sett_to(sett_const(b, SETT_I32, 0), d)), *left = sett_var(b, SETT_I32, 1);
    sett_while (b, sett_ne(sett_at(left, 0), 0)) {
        sett_val *was = sett_at(old, 0), *seen = sett_atomic_cas_ordered(C, SETT_SEM_ACQ_REL, SETT_SCOPE_GPU, was, sett_to(sett_add(was, 1), d), 1);
        sett_set(old, seen, 0);
        sett_if (b, sett_eq(seen, was))
            sett_set(left, 0, 0);
    }
    sett_set(D, sett_at(old, 0), t, 1);
    sett_atomic_cas(C, 3, 5, 2);
}

static const sett_dtype exchanged[] = {SETT_I8, SETT_U8, SETT_I16, SETT_U16, SETT_I32, SETT_I64, SETT_U32, SETT_U64, SETT_F16, SETT_BF16, SETT_F32, SETT_F64};

static double as_number(sett_dtype d, const void *x, size_t i)
{
    uint64_t bits = conform_get(x, d, i);
    return sett__dtype_is_float(d) ? conform_number(d, bits) : (double)bits;
}

START_TEST(exchanges)
{
    sett_dtype d = exchanged[_i];
    uint64_t counter[3] = {0}, out[2 * WORKERS];
    double seen = 0;
    conform_put(counter, d, 2, sett__dtype_is_float(d) ? sett__bits_of_float(d, 9) : 9);
    sett_buf C = sett_buf_1d(counter, d, 3), D = {out, d, 2, {WORKERS, 2}, {1, WORKERS}};
    conform_body(chains, &d, &C, &D);
    for (size_t i = 0; i < WORKERS; i++)
        seen += as_number(d, out, i);
    seen += as_number(d, counter, 0);
    ck_assert_msg(seen == WORKERS * (WORKERS + 1) / 2, "exch of %s: the sum of all is %g", sett_dtype_name(d), seen);
    ck_assert_msg(as_number(d, counter, 1) == WORKERS, "cas of %s: counted to %g", sett_dtype_name(d), as_number(d, counter, 1));
    found_once(d, out, WORKERS, WORKERS, 1);
    ck_assert_msg(as_number(d, counter, 2) == 9, "cas of %s wrote where it compared unequal", sett_dtype_name(d));
}
END_TEST

/* 128 bits: a sum that carries from one half to the other, by compare and swap; a chain of exchanges. */
static sett_val *wide(sett_build *b, sett_val *hi, sett_val *lo)
{
    return sett_or(sett_shl(sett_to(hi, SETT_U128), sett_to(sett_const(b, SETT_I32, 64), SETT_U128)), sett_to(sett_to(lo, SETT_U64), SETT_U128));
}

static void wide_chains(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *C = sett_param(b, "C", SETT_U128, sett_make_layout(b, T1(2)), .align = 16), *D = sett_param(b, "D", SETT_U128, sett_make_layout(b, T1(WORKERS)), .align = 16);
    sett_block(b, WORKERS);
    sett_val *t = sett_thread_idx(b, 0), *step = wide(b, sett_const(b, SETT_U64, 1), sett_const(b, SETT_I64, -1));
    sett_set(D, sett_atomic_exch(C, wide(b, sett_add(t, 1), t), 0), t);
    sett_tensor *old = sett_var(b, SETT_U128, wide(b, sett_const(b, SETT_U64, 0), sett_const(b, SETT_U64, 0))), *left = sett_var(b, SETT_I32, 1);
    sett_while (b, sett_ne(sett_at(left, 0), 0)) {
        sett_val *was = sett_at(old, 0), *seen = sett_atomic_cas(C, was, sett_add(was, step), 1);
        sett_set(old, seen, 0);
        sett_if (b, sett_eq(seen, was))
            sett_set(left, 0, 0);
    }
}

START_TEST(wide_exchanges)
{
    static _Alignas(16) uint64_t c[2][2], d[WORKERS][2];
    const char *target = getenv("SETT_TEST_TARGET");
    char suffix, mine[16] = "sm_90";
    int sm = 90;
    if (conform_on_gpu())
        sett_device_target(conform_engine(), 0, mine, sizeof mine);
    if ((target && (!sett__target_parse(target, &sm, &suffix) || sm < 90)) || !sett__target_parse(mine, &sm, &suffix) || sm < 90)
        return; /* refused there: test_arch.c */
    sett_buf C = sett_buf_1d(c, SETT_U128, 2), D = sett_buf_1d(d, SETT_U128, WORKERS);
    conform_body(wide_chains, NULL, &C, &D);
    uint64_t lo = 0, hi = 0;
    for (int i = 0; i < WORKERS; i++) {
        ck_assert(d[i][1] == d[i][0] + 1 || (!d[i][0] && !d[i][1])); /* halves of one number */
        lo += d[i][0], hi += d[i][1];
    }
    ck_assert_uint_eq(lo + c[0][0], WORKERS * (WORKERS - 1) / 2);
    ck_assert_uint_eq(hi + c[0][1], WORKERS * (WORKERS + 1) / 2);
    ck_assert_uint_eq(c[1][0], UINT64_C(0) - WORKERS); /* WORKERS (2^65 - 1) */
    ck_assert_uint_eq(c[1][1], 2 * WORKERS - 1);
}
END_TEST

/* What a false predicate gives, which no public call asks for. */
static const char exchange[] =
    "sett tape 2\nparam C %s (1):(1) align 8 read write\nparam D %s (160):(1) align 8 write\nblock 160\n"
    "%%0 = tid.x i32\n%%1 = param %s C\n%%2 = param %s D\n%%3 = const i32 1\n%%4 = add i32 %%0, %%3\n%%5 = %s\n"
    "%%6 = const i32 150\n%%7 = lt i1 %%0, %%6\n%%8 = atom.xchg %s %%1[0] %%5 pred %%7\nstore %%2[%%0] %s %%8 align 1\n";

START_TEST(false_predicates)
{
    sett_dtype d = atomic_types[_i];
    const char *t = sett_dtype_name(d);
    char text[1024], convert[32]; /* to Int32 there is no conversion */
    uint64_t counter = 0, out[WORKERS];
    snprintf(convert, sizeof convert, d == SETT_I32 ? "add %s %%0, %%3" : "convert %s %%4", t);
    snprintf(text, sizeof text, exchange, t, t, t, t, convert, t, t);
    sett_kernel *k = conform_compile_text(text);
    sett_buf C = sett_buf_1d(&counter, d, 1), D = sett_buf_1d(out, d, WORKERS);
    conform_run(k, &C, &D);
    sett_kernel_release(k);
    for (size_t i = 150; i < 160; i++)
        ck_assert_msg(conform_get(out, d, i) == 0, "xchg of %s: a false predicate gives 0", t);
}
END_TEST

/* ---- offsets past 2^31 elements ------------------------------------------------------------------------------------------ */
static void far(sett_build *b, const void *user)
{
    (void)user;
    sett_val *S = sett_sym(b, "S", .wide = true);
    sett_tensor *X = sett_param(b, "X", SETT_U8, sett_make_layout(b, T(3, 64), T(S, 1)));
    sett_block(b, 64);
    sett_val *t = sett_thread_idx(b, 0);
    sett_set(X, sett_add(sett_at(X, 2, t), sett_at(X, 0, t)), 1, t);
}

/* The buffer is mostly not there: only the touched pages are. */
START_TEST(far_offsets)
{
    const int64_t stride = (INT64_C(1) << 31) + 4096;
    const size_t all = (size_t)stride * 2 + 64;
    bool gpu = conform_on_gpu();
    const sett_stream s = {gpu ? 0 : SETT_CPU, NULL};
    sett_error err;
    uint8_t rows[3][64];
    uint8_t *x = gpu ? sett_alloc(conform_engine(), 0, all)
                     : mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ck_assert(x != NULL && x != MAP_FAILED);
    for (int r = 0; r < 3; r++) {
        for (int i = 0; i < 64; i++)
            rows[r][i] = (uint8_t)(r * 64 + i);
        ck_assert_int_eq(sett_memcpy(conform_engine(), s, x + r * stride, rows[r], 64), SETT_OK);
    }
    sett_kernel *k = conform_compile(far, NULL, (conform_how){0});
    sett_buf X = {x, SETT_U8, 2, {3, 64}, {stride, 1}};
    sett_kernel *const ways[] = {k, conform_plain(k)};
    for (int w = 0; w < 2 && ways[w]; w++) {
        ck_assert_msg(!sett_launch(ways[w], s, &err, &X), "%s", err.text);
        ck_assert_int_eq(sett_memcpy(conform_engine(), s, rows[2], x + stride, 64), SETT_OK);
        ck_assert_msg(!sett_sync_error(conform_engine(), s, &err), "%s", err.text);
        for (int i = 0; i < 64; i++)
            ck_assert_uint_eq(rows[2][i], 128 + 2 * i);
        ck_assert_int_eq(sett_memcpy(conform_engine(), s, x + stride, rows[1], 64), SETT_OK);
    }
    sett_kernel_release(k);
    if (gpu)
        sett_free(conform_engine(), 0, x);
    else
        munmap(x, all);
}
END_TEST

/* ---- coordinates as values ------------------------------------------------------------------------------------- */
/* The places of an (M,N) tensor's elements, each written by the thread that holds it; and of other coordinates. */
static void coordinates(sett_build *b, const void *user)
{
    (void)user;
    sett_val *M = sett_sym(b, "M"), *N = sett_sym(b, "N"), *step = sett_sym(b, "STEP");
    sett_layout *whole = sett_row_major(b, M, N);
    sett_tensor *R = sett_param(b, "R", SETT_I32, whole), *C = sett_param(b, "C", SETT_I32, whole);
    sett_tensor *deep = sett_param(b, "deep", SETT_I64, sett_make_layout(b, T(4, 2, 3)));
    sett_tensor *apart = sett_param(b, "apart", SETT_I64, sett_make_layout(b, T(4, 2)));
    sett_grid(b, sett_ceil_div(N, 16));
    sett_block(b, THREADS);
    sett_tv tv = sett_make_layout_tv(sett_row_major(b, 2, THREADS / 2), sett_row_major(b, 2, 4));
    sett_tensor *at = mine(b, sett_identity_tensor(b, M, N), tv);
    sett_val *in = sett_elem_less(at, T(M, N));
    sett_store(mine(b, R, tv), sett_coord_value(at, 0), .pred = in);
    sett_store(mine(b, C, tv), sett_coord_value(at, 1), .pred = in);
    sett_tensor *nested = sett_identity_tensor(b, 4, T(2, 3));
    sett_val *digits = sett_add(sett_mul(sett_coord_value(nested, 0), 100), sett_mul(sett_coord_value(nested, 1, 0), 10));
    sett_store(deep, sett_to(sett_reshape(sett_add(digits, sett_coord_value(nested, 1, 1)), T(4, 2, 3)), SETT_I64));
    sett_tensor *far = sett_composition(sett_identity_tensor(b, T1(sett_mul(step, 8))), sett_make_layout(b, T(4, 2), T(step, 3)));
    sett_store(apart, sett_to(sett_coord_value(sett_domain_offset(far, 0, 1), 0), SETT_I64));
}

START_TEST(coordinate_values)
{
    enum { M = 4, N = 37, STEP = 1000 };
    static int32_t r[M * N], c[M * N];
    int64_t deep[4 * 2 * 3], apart[4 * 2];
    memset(r, 0xAA, sizeof r), memset(c, 0xAA, sizeof c);
    const sett_buf R = sett_buf_2d(r, SETT_I32, M, N), C = sett_buf_2d(c, SETT_I32, M, N);
    const sett_buf D = {.data = deep, .dtype = SETT_I64, .rank = 3, .shape = {4, 2, 3}, .stride = {1, 4, 8}};
    const sett_buf A = {.data = apart, .dtype = SETT_I64, .rank = 2, .shape = {4, 2}, .stride = {1, 4}};
    conform_body(coordinates, NULL, &R, &C, &D, &A, M, N, STEP);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++)
            ck_assert_msg(r[i * N + j] == i && c[i * N + j] == j, "(%d,%d): got (%d,%d)", i, j, r[i * N + j], c[i * N + j]);
    for (int i = 0; i < 4 * 2 * 3; i++)
        ck_assert_int_eq(deep[i], i % 4 * 100 + i / 4 % 2 * 10 + i / 8);
    for (int i = 0; i < 4 * 2; i++)
        ck_assert_int_eq(apart[i], i % 4 * STEP + (i / 4 + 1) * 3);
}
END_TEST

/* ---- rows that begin anywhere: peeled to the alignment ---------------------------------------------------- */
typedef struct peel {
    sett_dtype dtype;
    int n, ld, bytes; /* ld: of both; bytes of alignment */
    bool dynamic;
} peel;
enum { PEEL_ROWS = 19, PEEL_THREADS = 32, PEEL_VALUES = 16, PEEL_TILE = PEEL_THREADS * PEEL_VALUES };

/* Y = 2 X by rows, a block a row, in tiles of what its threads hold; what is not of the row gets 7 and is not stored. */
static void peeled_rows(sett_build *b, const void *user)
{
    const peel *p = user;
    sett_arg n = p->dynamic ? SETT_A(sett_sym(b, "N")) : SETT_A(p->n), ld = p->dynamic ? SETT_A(sett_sym(b, "LD")) : SETT_A(p->ld);
    sett_layout *rows = sett_make_layout(b, T(PEEL_ROWS, n), T(ld, 1));
    sett_tensor *X = sett_param(b, "X", p->dtype, rows, .align = 16), *Y = sett_param(b, "Y", p->dtype, rows, .align = 16);
    sett_tensor *S = sett_param(b, "S", SETT_I32, sett_make_layout(b, T1(PEEL_ROWS)));
    sett_grid(b, PEEL_ROWS);
    sett_block(b, PEEL_THREADS);
    sett_val *row = sett_block_idx(b, 0);
    sett_peeled x = sett_peel(sett_slice(X, row, ALL), p->bytes), y = sett_peel(sett_slice(Y, row, ALL), p->bytes);
    sett_arg end = sett_add(n, x.skip);
    sett_tensor *whole[3] = {x.tensor, y.tensor, sett_identity_tensor(b, T1(end))}, *my[3];
    sett_for (b, i, 0, sett_ceil_div(end, PEEL_TILE), 1) {
        for (int k = 0; k < 3; k++)
            my[k] = sett_local_tile(sett_local_tile(whole[k], T1(PEEL_TILE), T1(i)), T1(PEEL_VALUES), T1(sett_thread_idx(b, 0)));
        sett_val *in = sett_and(sett_elem_at_least(my[2], T1(x.skip)), sett_elem_less(my[2], T1(end)));
        sett_val *v = sett_load(my[0], .pred = in, .fill = 7);
        sett_store(my[1], sett_add(v, v), .pred = in);
    }
    sett_if (b, sett_eq(sett_thread_idx(b, 0), 0))
        sett_set(S, x.skip, row);
}

START_TEST(peeled)
{
    static const peel cases[] = {{SETT_U16, 1023, 1023, 16, false}, {SETT_U16, 1023, 1023, 16, true}, {SETT_U16, 5, 1021, 16, true},
        {SETT_U16, 1, 3, 16, true}, {SETT_U16, 600, 604, 16, false}, {SETT_U16, 600, 602, 8, true}, {SETT_I32, 513, 513, 16, false},
        {SETT_I32, 513, 515, 8, true}, {SETT_U8, 1000, 1001, 16, true}, {SETT_I64, 77, 77, 16, false}, {SETT_I64, 77, 77, 8, true},
        {SETT_U16, 1024, 1024, 16, false}, {SETT_U16, 511, 1024, 16, true}};
    const peel *p = &cases[_i];
    size_t size = (size_t)sett_dtype_bits(p->dtype) / 8, all = (size_t)(PEEL_ROWS * p->ld) * size;
    _Alignas(16) static unsigned char x[PEEL_ROWS * 1024 * 4], y[sizeof x], want[sizeof x];
    int32_t skip[PEEL_ROWS];
    uint64_t seed = 5;
    for (size_t i = 0; i < sizeof x; i++)
        x[i] = (unsigned char)(conform_random(&seed) % 100), y[i] = want[i] = 0xAA;
    for (int r = 0; r < PEEL_ROWS; r++)
        for (int k = 0; k < p->n; k++) {
            uint64_t v = 0;
            size_t at = ((size_t)r * (size_t)p->ld + (size_t)k) * size;
            memcpy(&v, x + at, size);
            v += v;
            memcpy(want + at, &v, size);
        }
    sett_buf X = {.data = x, .dtype = p->dtype, .rank = 2, .shape = {PEEL_ROWS, p->n}, .stride = {p->ld, 1}}, Y = X;
    Y.data = y;
    sett_buf S = sett_buf_1d(skip, SETT_I32, PEEL_ROWS);
    ck_assert_uint_le(all, sizeof x);
    conform_body(peeled_rows, p, &X, &Y, &S);
    ck_assert_mem_eq(y, want, sizeof y);
    int width = p->bytes / (int)size;
    for (int r = 0; r < PEEL_ROWS; r++)
        ck_assert_int_eq(skip[r], r * p->ld % (width > 1 ? width : 1));
}
END_TEST

void conform_add_memory(TCase *t)
{
    tcase_add_loop_test(t, ragged_sizes, 0, CONFORM_TYPES);
    tcase_add_loop_test(t, any_place, 0, CONFORM_TYPES);
    tcase_add_loop_test(t, transposes, 0, 6);
    tcase_add_test(t, other_views);
    tcase_add_loop_test(t, every_atomic, 0, SETT__COUNT(atomic_types));
    tcase_add_loop_test(t, exchanges, 0, SETT__COUNT(exchanged));
    tcase_add_test(t, wide_exchanges);
    tcase_add_loop_test(t, false_predicates, 0, SETT__COUNT(atomic_types));
    tcase_add_test(t, far_offsets);
    tcase_add_test(t, coordinate_values);
    tcase_add_loop_test(t, peeled, 0, 13);
}
