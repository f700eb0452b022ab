/* SPDX-License-Identifier: Apache-2.0 */
/* D = A transposed, float32, of any size: a tile comes by a tensor map, threads turn it in shared memory, and it goes by another
 * map. No bound is tested: what lies outside of A comes as zeros, and what lies outside of D is not written. A map wants rows that
 * begin at 16 bytes, so those of A may be padded, and those of D are: their last elements become zeros. */
#define SETT_SHORT
#include "common.h"

enum { TILE = 32, THREADS = 256 };

static void transpose_tma(sett_build *b, const void *unused)
{
    (void)unused;
    sett_val *M = sett_sym(b, "M"), *N = sett_sym(b, "N"), *LA = sett_sym(b, "LA", .div = 4), *LD = sett_sym(b, "LD", .div = 4);
    sett_tensor *A = sett_param(b, "A", SETT_F32, sett_make_layout(b, T(M, N), T(LA, 1)), .align = 16);
    sett_tensor *D = sett_param(b, "D", SETT_F32, sett_row_major(b, N, LD), .align = 16);
    sett_grid(b, sett_ceil_div(LD, TILE), sett_ceil_div(N, TILE));
    sett_block(b, THREADS);

    sett_layout *tile = sett_smem_layout(b, SETT_F32, SETT_K_MAJOR, TILE, TILE); /* rows of 128 bytes, swizzled */
    sett_tensor *in = sett_make_smem_tensor(b, SETT_F32, tile, 1024), *out = sett_make_smem_tensor(b, SETT_F32, tile, 1024);
    sett_tma *load = sett_make_tma(A, .smem = in, .tile = T(TILE, TILE)), *store = sett_make_tma(D, .smem = out, .tile = T(TILE, TILE));
    sett_tensor *come = sett_make_mbarriers(b, 1);
    sett_val *t = sett_thread_idx(b, 0), *m = sett_block_idx(b, 0), *n = sett_block_idx(b, 1);

    sett_val *first = sett_eq(sett_warp_idx(b), 0);
    sett_if (b, first) {
        sett_if (b, sett_elect_one(b)) {
            sett_mbarrier_init(come, 1);
            sett_fence_mbarrier_init(b);
        }
    }
    sett_sync_threads(b); /* the barrier is made */
    sett_if (b, first) {
        sett_if (b, sett_elect_one(b)) {
            sett_mbarrier_arrive_and_expect_tx(come, sett_tma_bytes(load));
            sett_tma_load(load, sett_local_tile(sett_tma_tensor(load), T(TILE, TILE), T(m, n)), in, come);
        }
    }
    sett_mbarrier_wait(come, 0);

    sett_layout *threads = sett_make_layout(b, T(THREADS / TILE, TILE), T(TILE, 1)); /* a warp reads a row, and writes a column */
    sett_copy(sett_local_partition(in, threads, t), sett_local_partition(sett_select(out, 1, 0), threads, t));
    sett_fence_view_async_shared(b); /* what a thread wrote is seen by the store, */
    sett_sync_threads(b);            /* and all have written */
    sett_if (b, first) {
        sett_tma_store(store, out, sett_local_tile(sett_tma_tensor(store), T(TILE, TILE), T(n, m)));
        sett_tma_store_commit(b);
        sett_tma_store_wait(b, 0); /* shared memory is there until it has been read */
    }
}

static void try(run *r, sett_kernel *k, int64_t m, int64_t n)
{
    const int64_t la = (n + 3) / 4 * 4, ld = (m + 3) / 4 * 4;
    matrix A = matrix_random(r, SETT_F32, m, la), D = matrix_random(r, SETT_F32, n, ld);
    sett_buf a = A.buf;
    a.shape[1] = n; /* of rows that are la apart */
    check(r, sett_launch(k, r->stream, &r->err, &a, &D.buf));
    matrix_fetch(r, &D);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < ld; j++)
            expect("transpose_tma", (size_t)(i * ld + j), get(SETT_F32, D.host, (size_t)(i * ld + j)), j < m ? get(SETT_F32, A.host, (size_t)(j * la + i)) : 0, 0);
    printf("transpose_tma: %d x %d, ok\n", (int)m, (int)n);
    matrix_free(r, &A), matrix_free(r, &D);
}

int main(void)
{
    run r = run_open();
    sett_kernel *k;
    sett_compile_options opt = {.size = sizeof opt, .name = "transpose_tma"};
    sett_status s = sett_compile(r.e, transpose_tma, &opt, &k, &r.err);
    if (s == SETT_E_TARGET) { /* no tensor maps before sm_90 */
        printf("transpose_tma: %s\n", r.err.text);
        run_close(&r);
        return 0;
    }
    check(&r, s);
    try(&r, k, 256, 128);
    try(&r, k, 40, 1000);
    try(&r, k, 131, 67);
    sett_kernel_release(k);
    run_close(&r);
    return 0;
}
