/* SPDX-License-Identifier: Apache-2.0 */
/* A pipeline of copies: while a block computes on one tile of a row, the next ones are on their way to shared memory
 * (cp.async, sm_80). Y = 2 X + 1 and the sum of each row of X, one block a row, STAGES tiles in a ring.
 *
 *     before the loop   tiles 0 .. STAGES-2 are sent for, a group each
 *     round k           wait until tile k has come (STAGES-2 younger groups may be pending), for all threads
 *                       send for tile k+STAGES-1, into the slot that round k-1 has read
 *                       compute on tile k
 *
 * One barrier a round: it says that tile k is there for everybody, and that everybody is done with the slot that
 * is written next. A round without a tile to send for makes an empty group, so that the count of groups stays right. */
#define SETT_SHORT
#include "common.h"

enum { THREADS = 256, VALUES = 4, TILE = THREADS * VALUES, STAGES = 6 };

typedef struct row { sett_tensor *x, *at, *ring; sett_val *n, *t; } row;

/* Tile k of the row to its slot: 16 bytes a thread; what lies past the row's end becomes zeros. */
static void send_for(sett_build *b, const row *r, sett_val *k)
{
    sett_tensor *from = sett_local_tile(sett_local_tile(r->x, T1(TILE), T1(k)), T1(VALUES), T1(r->t));
    sett_tensor *at = sett_local_tile(sett_local_tile(r->at, T1(TILE), T1(k)), T1(VALUES), T1(r->t));
    sett_tensor *to = sett_local_tile(sett_slice(r->ring, ALL, sett_mod(k, STAGES)), T1(VALUES), T1(r->t));
    sett_cp_async(from, to, .pred = sett_elem_less(at, T1(r->n)), .zfill = true);
    sett_cp_async_commit_group(b);
}

static void scale_and_sum(sett_build *b, const void *user)
{
    (void)user;
    sett_val *M = sett_sym(b, "M"), *N = sett_sym(b, "N", .div = VALUES);
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, M, N), .align = 16);
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, M, N), .align = 16);
    sett_tensor *S = sett_param(b, "S", SETT_F32, sett_make_layout(b, T1(M)));
    sett_grid(b, M);
    sett_block(b, THREADS);
    sett_val *m = sett_block_idx(b, 0), *t = sett_thread_idx(b, 0);
    row r = {sett_slice(X, m, ALL), sett_identity_tensor(b, T1(N)), NULL, N, t};
    r.ring = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(TILE, STAGES)), 16);
    sett_tensor *sum = sett_var(b, SETT_F32, 0.0);

    for (int k = 0; k < STAGES - 1; k++) /* tiles past the last one are all zeros, and nothing is read for them */
        send_for(b, &r, sett_const(b, SETT_I32, k));
    sett_for (b, k, 0, sett_ceil_div(N, TILE), 1) {
        sett_cp_async_wait_group(b, STAGES - 2);
        sett_sync_threads(b);
        send_for(b, &r, sett_add(k, STAGES - 1));
        /* Elements t, t+THREADS, ...: others have copied them. */
        sett_layout *by_thread = sett_make_layout(b, T1(THREADS));
        sett_val *x = sett_load(sett_local_partition(sett_slice(r.ring, ALL, sett_mod(k, STAGES)), by_thread, t));
        sett_tensor *at = sett_local_partition(sett_local_tile(r.at, T1(TILE), T1(k)), by_thread, t);
        sett_tensor *y = sett_local_partition(sett_local_tile(sett_slice(Y, m, ALL), T1(TILE), T1(k)), by_thread, t);
        sett_store(y, sett_fma(x, 2.0, 1.0), .pred = sett_elem_less(at, T1(N)), .cache = SETT_CACHE_STREAMING);
        sett_set(sum, sett_reduce(x, SETT_ADD, sett_at(sum, 0)), 0);
    }
    sett_val *total = sett_block_reduce(sett_at(sum, 0), SETT_ADD);
    sett_if (b, sett_eq(t, 0))
        sett_set(S, total, m);
}

int main(void)
{
    run r = run_open();
    const int64_t m = 64, n = 3000;
    matrix X = matrix_random(&r, SETT_F32, m, n), Y = matrix_random(&r, SETT_F32, m, n), S = matrix_random(&r, SETT_F32, m, 1);
    S.buf = sett_buf_1d(S.buf.data, SETT_F32, m);
    sett_kernel *k;
    sett_compile_options opt = {.size = sizeof opt, .name = "scale_and_sum"};
    check(&r, sett_compile(r.e, scale_and_sum, &opt, &k, &r.err));
    check(&r, sett_launch(k, r.stream, &r.err, &X.buf, &Y.buf, &S.buf));
    matrix_fetch(&r, &Y), matrix_fetch(&r, &S);
    for (int64_t i = 0; i < m; i++) {
        double sum = 0;
        for (int64_t j = 0; j < n; j++) {
            double x = get(SETT_F32, X.host, (size_t)(i * n + j));
            expect("scale", (size_t)(i * n + j), get(SETT_F32, Y.host, (size_t)(i * n + j)), 2 * x + 1, 1e-6);
            sum += x;
        }
        expect("sum", (size_t)i, get(SETT_F32, S.host, (size_t)i), sum, 1e-4);
    }
    printf("async_pipeline: %d rows of %d in %d stages, ok\n", (int)m, (int)n, STAGES);
    sett_kernel_release(k);
    matrix_free(&r, &X), matrix_free(&r, &Y), matrix_free(&r, &S);
    run_close(&r);
    return 0;
}
