/* SPDX-License-Identifier: Apache-2.0 */
/* C = A + B by a TV layout: a block of 256 threads covers a tile of 8 x 256, a warp a row of it, each thread eight neighbours,
 * which are one 16-byte access. The grid has the tiles' two modes, the one along memory first. With `remap` it has one,
 * and a layout that the tiles' mode is composed with says in which order it walks the tiles: the same one. */
#define SETT_SHORT
#include "common.h"

enum { THR_M = 8, THR_N = 32, VEC = 8 };

static sett_tensor *mine(sett_build *b, sett_tensor *t, sett_tv tv, int remap)
{
    sett_tensor *tiles = sett_zipped_divide(t, tv.tiler); /* ((16,256),(M/16,N/256)) */
    if (remap) {
        sett_arg rest = sett_get(sett_shape(tiles), 1);
        sett_layout *walk = sett_make_ordered_layout(b, sett_tuple(b, sett_get(rest, 1), sett_get(rest, 0)), T(1, 0));
        tiles = sett_composition(tiles, T(ALL, walk));
    }
    sett_val *x = sett_block_idx(b, 0);
    sett_tensor *tile = remap ? sett_slice(tiles, ALL, x) : sett_slice(tiles, ALL, T(sett_block_idx(b, 1), x));
    return sett_slice(sett_composition(tile, tv.tv), sett_thread_idx(b, 0), ALL);
}

static void add_tv(sett_build *b, const void *user)
{
    const int remap = *(const int *)user;
    sett_val *M = sett_sym(b, "M", .div = THR_M), *N = sett_sym(b, "N", .div = THR_N * VEC);
    sett_tensor *A = sett_param(b, "A", SETT_F16, sett_row_major(b, M, N), .align = 16);
    sett_tensor *B = sett_param(b, "B", SETT_F16, sett_row_major(b, M, N), .align = 16);
    sett_tensor *C = sett_param(b, "C", SETT_F16, sett_row_major(b, M, N), .align = 16);
    sett_tv tv = sett_make_layout_tv(sett_row_major(b, THR_M, THR_N), sett_row_major(b, 1, VEC));
    sett_val *down = sett_floordiv(M, THR_M), *along = sett_floordiv(N, THR_N * VEC);
    if (remap)
        sett_grid(b, sett_mul(down, along));
    else
        sett_grid(b, along, down);
    sett_block(b, THR_M * THR_N);
    sett_griddepcontrol_launch_dependents(b); /* begins while the kernel before it ends, and waits for it: that hides what a launch takes */
    sett_griddepcontrol_wait(b);
    sett_val *sum = sett_add(sett_load(mine(b, A, tv, remap)), sett_load(mine(b, B, tv, remap)));
    sett_store(mine(b, C, tv, remap), sum);
}

int main(void)
{
    run r = run_open();
    const int64_t m = 128, n = 1024;
    matrix A = matrix_random(&r, SETT_F16, m, n), B = matrix_random(&r, SETT_F16, m, n);
    for (int remap = 0; remap < 2; remap++) {
        matrix C = matrix_random(&r, SETT_F16, m, n);
        sett_kernel *k;
        sett_compile_options opt = {.size = sizeof opt, .name = "add_tv", .user = &remap, .user_size = sizeof remap};
        check(&r, sett_compile(r.e, add_tv, &opt, &k, &r.err));
        check(&r, sett_launch(k, r.stream, &r.err, &A.buf, &B.buf, &C.buf));
        matrix_fetch(&r, &C);
        for (size_t i = 0; i < (size_t)(m * n); i++) {
            uint16_t sum;
            put(SETT_F16, &sum, 0, get(SETT_F16, A.host, i) + get(SETT_F16, B.host, i));
            expect("add_tv", i, get(SETT_F16, C.host, i), get(SETT_F16, &sum, 0), 0);
        }
        printf("add_tv%s: %d x %d elements, ok\n", remap ? ", blocks remapped" : "", (int)m, (int)n);
        sett_kernel_release(k);
        matrix_free(&r, &C);
    }
    matrix_free(&r, &A), matrix_free(&r, &B);
    run_close(&r);
    return 0;
}
