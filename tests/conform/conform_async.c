/* SPDX-License-Identifier: Apache-2.0 */
/* Copies in the background: every width, element, predicate and fill, ragged ends, groups in flight. */
#include "tests/conform/conform.h"
#include <stdlib.h>
#include <string.h>

/* ---- ragged rows: what is outside is not read, and becomes what .zfill says ---------------------------- */
enum { THREADS = 8, WIDEST = 256, OLD = 1 };
typedef enum kind { ALIGNED, UNALIGNED, WHOLE, N_KINDS } kind; /* WHOLE: one Boolean a thread decides */
typedef struct ragged { sett_dtype dtype; int values; kind kind; bool zfill; sett_cache cache; } ragged;

static sett_tensor *mine(sett_build *b, const sett_tensor *t, int values)
{
    return sett_local_tile(sett_local_tile(t, T1(THREADS * values), T1(sett_block_idx(b, 0))), T1(values), T1(sett_thread_idx(b, 0)));
}

static void ragged_copy(sett_build *b, const void *user)
{
    const ragged *p = user;
    sett_val *N = sett_sym(b, "N");
    sett_tensor *X = sett_param(b, "X", p->dtype, sett_make_layout(b, T1(N)), .align = p->kind == UNALIGNED ? sett_dtype_bits(p->dtype) / 8 : 16);
    sett_tensor *Y = sett_param(b, "Y", p->dtype, sett_make_layout(b, T1(WIDEST)), .align = 16);
    sett_block(b, THREADS);
    sett_grid(b, sett_ceil_div(N, THREADS * p->values));
    sett_tensor *S = sett_make_smem_tensor(b, p->dtype, sett_make_layout(b, T1(THREADS * p->values)), 16);
    sett_tensor *s = sett_local_tile(S, T1(p->values), T1(sett_thread_idx(b, 0)));
    sett_val *in = sett_elem_less(mine(b, sett_identity_tensor(b, T1(N)), p->values), T1(N));
    if (p->kind == WHOLE)
        in = sett_and(sett_element(in, p->values - 1), sett_lt(sett_thread_idx(b, 0), 5));
    sett_fill(s, OLD);
    sett_sync_threads(b);
    sett_cp_async(mine(b, X, p->values), s, .pred = in, .zfill = p->zfill, .cache = p->cache);
    sett_cp_async_commit_group(b);
    sett_cp_async_wait_group(b, 0);
    sett_sync_threads(b);
    sett_copy(s, mine(b, Y, p->values));
}

static void check_ragged(sett_kernel *k, const ragged *p, int n)
{
    size_t bytes = (size_t)sett_dtype_bits(p->dtype) / 8;
    int tile = THREADS * p->values, covered = (n + tile - 1) / tile * tile;
    uint64_t old = sett__dtype_is_float(p->dtype) ? sett__bits_of_float(p->dtype, OLD) : OLD;
    char *x = conform_array(p->dtype, (size_t)n, 5 + (uint64_t)n), *y = calloc(WIDEST, bytes);
    sett_buf X = sett_buf_1d(x, p->dtype, n), Y = sett_buf_1d(y, p->dtype, WIDEST);
    conform_run(k, &X, &Y);
    for (int i = 0; i < covered; i++) {
        int last = i / p->values * p->values + p->values - 1;
        bool in = p->kind == WHOLE ? last < n && i / p->values % THREADS < 5 : i < n;
        uint64_t want = in ? conform_get(x, p->dtype, (size_t)i) : p->zfill ? 0 : old, got = conform_get(y, p->dtype, (size_t)i);
        ck_assert_msg(got == want, "%s x%d kind %d zfill %d, %d of %d: got %" PRIx64 ", want %" PRIx64, sett_dtype_name(p->dtype), p->values,
            p->kind, p->zfill, i, n, got, want);
    }
    free(x);
    free(y);
}

START_TEST(ragged_sizes)
{
    static const sett_dtype types[] = {SETT_U8, SETT_BF16, SETT_F32, SETT_I64};
    ragged p = {.dtype = types[_i / 2], .zfill = _i % 2};
    int bytes = sett_dtype_bits(p.dtype) / 8;
    for (p.kind = ALIGNED; p.kind < N_KINDS; p.kind++)
        for (p.values = 16 / bytes > 16 ? 16 : 16 / bytes; p.values * bytes >= 4; p.values /= 2) {
            if (p.kind == UNALIGNED && bytes < 4)
                continue; /* refused: see test_misuse.c */
            p.cache = (p.values & 2) ? SETT_CACHE_ALWAYS : SETT_CACHE_DEFAULT;
            sett_kernel *k = conform_compile(ragged_copy, &p, (conform_how){0});
            for (int n = 1; n <= 2 * THREADS * p.values && n <= WIDEST; n += n < 20 ? 1 : 13)
                check_ragged(k, &p, n);
            sett_kernel_release(k);
        }
}
END_TEST

/* ---- layouts: a transposing thread layout, a swizzled destination, a predicate of each element -------------- */
enum { ROWS = 16, COLUMNS = 64 };

static void swizzled_copy(sett_build *b, const void *user)
{
    (void)user;
    sett_val *M = sett_sym(b, "M");
    sett_tensor *X = sett_param(b, "X", SETT_F16, sett_row_major(b, M, COLUMNS), .align = 16);
    sett_tensor *Y = sett_param(b, "Y", SETT_F16, sett_row_major(b, ROWS, COLUMNS), .align = 16);
    sett_tensor *Z = sett_param(b, "Z", SETT_F16, sett_row_major(b, ROWS, COLUMNS), .align = 16);
    sett_block(b, 32);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F16, sett_make_swizzled(3, 3, 3, sett_row_major(b, ROWS, COLUMNS)), 128);
    sett_tv tv = sett_make_layout_tv(sett_row_major(b, 4, 8), sett_row_major(b, 1, 8));
    sett_tensor *part[4], *whole[4] = {sett_local_tile(X, T(ROWS, COLUMNS), T(0, 0)), S, Y,
        sett_local_tile(sett_identity_tensor(b, T(M, COLUMNS)), T(ROWS, COLUMNS), T(0, 0))};
    for (int i = 0; i < 4; i++) /* (value, rest) */
        part[i] = sett_slice(sett_composition(sett_slice(sett_zipped_divide(whole[i], tv.tiler), ALL, T(ALL, 0)), T(tv.tv, ALL)), T(sett_thread_idx(b, 0), ALL), ALL);
    sett_cp_async(part[0], part[1], .pred = sett_elem_less(part[3], T(M, COLUMNS)), .zfill = true);
    sett_cp_async_wait_all(b);
    sett_sync_threads(b);
    sett_copy(part[1], part[2]);
    sett_for (b, i, sett_thread_idx(b, 0), ROWS * COLUMNS, 32)
        sett_set(Z, sett_at(S, sett_floordiv(i, COLUMNS), sett_mod(i, COLUMNS)), sett_floordiv(i, COLUMNS), sett_mod(i, COLUMNS));
}

START_TEST(layouts)
{
    static uint16_t y[ROWS][COLUMNS], z[ROWS][COLUMNS];
    uint16_t *x = conform_array(SETT_F16, ROWS * COLUMNS, 3);
    for (int m = 1; m <= ROWS; m += 5) {
        sett_buf X = sett_buf_2d(x, SETT_F16, m, COLUMNS), Y = sett_buf_2d(y, SETT_F16, ROWS, COLUMNS), Z = sett_buf_2d(z, SETT_F16, ROWS, COLUMNS);
        conform_body(swizzled_copy, NULL, &X, &Y, &Z);
        for (int i = 0; i < ROWS * COLUMNS; i++) {
            uint16_t want = i / COLUMNS < m ? x[i] : 0;
            ck_assert_msg(y[i / COLUMNS][i % COLUMNS] == want && z[i / COLUMNS][i % COLUMNS] == want, "%d rows, element %d", m, i);
        }
    }
    free(x);
}
END_TEST

/* ---- stages: sums of tiles that arrive while others are on their way ------------------------------------------ */
enum { BLOCK = 64, TILE = BLOCK * 4 };
typedef struct pipe { int stages; bool divergent; } pipe;

static void pipeline(sett_build *b, const void *user)
{
    const pipe *p = user;
    sett_val *K = sett_sym(b, "K");
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, T(TILE, K)), .align = 16);
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_make_layout(b, T1(TILE)), .align = 16);
    sett_block(b, BLOCK);
    sett_val *t = sett_thread_idx(b, 0);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(TILE, p->stages)), 16);
    sett_tensor *to = sett_local_tile(S, T(4, p->stages), T(t, 0)), *from = sett_local_tile(X, T(4, K), T(t, 0));
    sett_tensor *acc = sett_make_rmem_tensor(b, SETT_F32, T1(4));
    sett_fill(acc, 0);
    for (int s = 0; s + 1 < p->stages; s++) {
        sett_if (b, sett_lt(s, K))
            sett_cp_async(sett_slice(from, ALL, s), sett_slice(to, ALL, s));
        sett_cp_async_commit_group(b);
    }
    sett_for (b, k, 0, K, 1) {
        sett_cp_async_wait_group(b, p->stages - 2);
        sett_sync_threads(b);
        sett_val *next = sett_add(k, p->stages - 1);
        sett_if (b, sett_lt(next, K))
            sett_cp_async(sett_slice(from, ALL, next), sett_slice(to, ALL, sett_mod(next, p->stages)));
        if (p->divergent) { /* half a warp makes a group of its own: groups are counted by thread */
            sett_if (b, sett_lt(sett_mod(t, 32), 16))
                sett_cp_async_commit_group(b);
            sett_else (b)
                sett_cp_async_commit_group(b);
        } else {
            sett_cp_async_commit_group(b);
        }
        /* of the tile's other half: what other threads have copied */
        sett_tensor *other = sett_local_tile(S, T(4, p->stages), T(sett_sub(BLOCK - 1, t), 0));
        sett_store(acc, sett_add(sett_load(acc), sett_load(sett_slice(other, ALL, sett_mod(k, p->stages)))));
    }
    sett_store(sett_local_tile(Y, T1(4), T1(sett_sub(BLOCK - 1, t))), sett_load(acc));
}

START_TEST(stages)
{
    const pipe p = {2 + _i / 2, _i % 2};
    enum { MOST = 9 };
    static float x[MOST][TILE], y[TILE];
    for (int i = 0; i < MOST * TILE; i++)
        x[i / TILE][i % TILE] = (float)(i % 251) - (float)(i / TILE);
    sett_kernel *k = conform_compile(pipeline, &p, (conform_how){0});
    for (int n = 1; n <= MOST; n++) {
        sett_buf X = {x, SETT_F32, 2, {TILE, n}, {1, TILE}}, Y = sett_buf_1d(y, SETT_F32, TILE);
        conform_run(k, &X, &Y);
        for (int i = 0; i < TILE; i++) {
            float sum = 0;
            for (int j = 0; j < n; j++)
                sum += x[j][i];
            ck_assert_msg(y[i] == sum, "%d stages, %d tiles, element %d: got %g, want %g", p.stages, n, i, (double)y[i], (double)sum);
        }
    }
    sett_kernel_release(k);
}
END_TEST

void conform_add_async(TCase *t)
{
    tcase_add_loop_test(t, ragged_sizes, 0, 8);
    tcase_add_test(t, layouts);
    tcase_add_loop_test(t, stages, 0, 6);
}
