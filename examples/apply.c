/* SPDX-License-Identifier: Apache-2.0 */
/* C = op(A, B) for any operator given as a C function, any size: coordinates travel with the
 * data as a tensor of their own, and elem_less turns them into predicates. One kernel serves
 * 1999 x 1203 and 4096 x 4096: whole rows of eight stay one 16-byte access wherever they lie inside. */
#define SETT_SHORT
#include "common.h"

struct apply {
    sett_dtype dtype;
    sett_val *(*op)(sett_val *, sett_val *);
};

static sett_val *mul_relu(sett_val *x, sett_val *y)
{
    return sett_max(sett_mul(x, y), 0.0);
}

/* The part of t that this thread of this block works on. */
static sett_tensor *mine(sett_build *b, sett_tensor *t, sett_tv tv)
{
    sett_tensor *tile = sett_slice(sett_zipped_divide(t, tv.tiler), ALL, T(sett_block_idx(b, 1), sett_block_idx(b, 0)));
    return sett_slice(sett_composition(tile, tv.tv), sett_thread_idx(b, 0), ALL);
}

static void apply(sett_build *b, const void *user)
{
    const struct apply *p = user;
    sett_val *M = sett_sym(b, "M"), *N = sett_sym(b, "N");
    sett_tensor *A = sett_param(b, "A", p->dtype, sett_row_major(b, M, N), .align = 16);
    sett_tensor *B = sett_param(b, "B", p->dtype, sett_row_major(b, M, N), .align = 16);
    sett_tensor *C = sett_param(b, "C", p->dtype, sett_row_major(b, M, N), .align = 16);
    const int vec = 128 / sett_dtype_bits(p->dtype);
    sett_tv tv = sett_make_layout_tv(sett_row_major(b, 8, 32), sett_row_major(b, 1, vec));
    sett_grid(b, sett_ceil_div(N, 32 * vec), sett_ceil_div(M, 8));
    sett_block(b, 256);

    sett_val *in = sett_elem_less(mine(b, sett_identity_tensor(b, M, N), tv), T(M, N));
    sett_val *x = sett_load(mine(b, A, tv), .pred = in), *y = sett_load(mine(b, B, tv), .pred = in);
    sett_store(mine(b, C, tv), p->op(x, y), .pred = in);
}

int main(void)
{
    run r = run_open();
    const int64_t sizes[][2] = {{1999, 1203}, {4096, 4096}};
    struct apply p = {SETT_F16, mul_relu};
    sett_kernel *k;
    sett_compile_options opt = {.size = sizeof opt, .name = "mul_relu", .user = &p};
    check(&r, sett_compile(r.e, apply, &opt, &k, &r.err));
    for (int s = 0; s < 2; s++) {
        int64_t m = sizes[s][0], n = sizes[s][1];
        matrix A = matrix_random(&r, SETT_F16, m, n), B = matrix_random(&r, SETT_F16, m, n), C = matrix_random(&r, SETT_F16, m, n);
        check(&r, sett_launch(k, r.stream, &r.err, &A.buf, &B.buf, &C.buf));
        matrix_fetch(&r, &C);
        for (size_t i = 0; i < (size_t)(m * n); i++) {
            uint16_t want;
            put(SETT_F16, &want, 0, fmax(get(SETT_F16, A.host, i) * get(SETT_F16, B.host, i), 0));
            expect("apply", i, get(SETT_F16, C.host, i), get(SETT_F16, &want, 0), 0);
        }
        printf("apply mul_relu: %d x %d elements, ok\n", (int)m, (int)n);
        matrix_free(&r, &A), matrix_free(&r, &B), matrix_free(&r, &C);
    }
    sett_kernel_release(k);
    run_close(&r);
    return 0;
}
