/* SPDX-License-Identifier: Apache-2.0 */
/* y = a x + y for any length: compiled once, run at five sizes; the length and a are what a launch
 * supplies. */
#define SETT_SHORT
#include "common.h"

enum { THREADS = 256, VEC = 4, TILE = THREADS * VEC };

static void saxpy(sett_build *b, const void *user)
{
    (void)user;
    sett_val *N = sett_sym(b, "N");
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, T1(N)), .align = 16);
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_make_layout(b, T1(N)), .align = 16);
    sett_val *a = sett_scalar(b, "a", SETT_F32);
    sett_grid(b, sett_ceil_div(N, TILE));
    sett_block(b, THREADS);
    /* 4 neighbours a thread of a tile; the coordinate tensor takes the same path */
    sett_layout *tv = sett_make_layout(b, T(THREADS, VEC), T(VEC, 1));
    sett_tensor *in[3] = {X, Y, sett_identity_tensor(b, T1(N))}, *my[3];
    for (int i = 0; i < 3; i++) {
        sett_tensor *mine = sett_local_tile(in[i], T1(TILE), T1(sett_block_idx(b, 0)));
        my[i] = sett_slice(sett_composition(mine, tv), sett_thread_idx(b, 0), ALL);
    }
    sett_val *inside = sett_elem_less(my[2], T1(N));
    sett_val *x = sett_load(my[0], .pred = inside), *y = sett_load(my[1], .pred = inside);
    sett_store(my[1], sett_fma(a, x, y), .pred = inside);
}

int main(void)
{
    run r = run_open();
    sett_kernel *k;
    sett_compile_options opt = {.size = sizeof opt, .name = "saxpy"};
    check(&r, sett_compile(r.e, saxpy, &opt, &k, &r.err));
    const int64_t sizes[] = {1, 100, 1024, 5003, 262144};
    for (int s = 0; s < 5; s++) {
        int64_t n = sizes[s];
        matrix X = matrix_random(&r, SETT_F32, 1, n), Y = matrix_random(&r, SETT_F32, 1, n);
        float *was = malloc(Y.bytes);
        if (!was)
            return 1;
        memcpy(was, Y.host, Y.bytes);
        X.buf = sett_buf_1d(X.buf.data, SETT_F32, n), Y.buf = sett_buf_1d(Y.buf.data, SETT_F32, n);
        check(&r, sett_launch(k, r.stream, &r.err, &X.buf, &Y.buf, 2.5));
        matrix_fetch(&r, &Y);
        for (size_t i = 0; i < (size_t)n; i++)
            expect("saxpy", i, get(SETT_F32, Y.host, i), fmaf(2.5f, ((float *)X.host)[i], was[i]), 0);
        printf("saxpy: %d elements, ok\n", (int)n);
        free(was);
        matrix_free(&r, &X), matrix_free(&r, &Y);
    }
    sett_kernel_release(k);
    run_close(&r);
    return 0;
}
