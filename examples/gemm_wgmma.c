/* SPDX-License-Identifier: Apache-2.0 */
/* C = max(S A B^T + bias, 0) on Hopper, bf16 in and out, fp32 inside: the library's persistent kernel, in which two warp groups multiply by
 * wgmma what a third loads by TMA (kernels/gemm_wgmma.c is the whole of it, docs/gemm.md explains it), with an epilogue of one's own: a
 * C function that says what becomes of the sums. S scales the rows of A, bias is added by columns. Any M; N and K are multiples of 8. */
#define SETT_SHORT
#include "common.h"
#include <sett/kernels.h>

/* What the epilogue reads, each seen as (M,N). */
typedef struct operands {
    sett_tensor *scale, *bias, *crd;
    sett_arg extent;
} operands;

/* Called once for each of the parts in which a thread's sums are stored. */
static sett_val *epilogue(const sett_epilogue_tile *at, sett_val *sums, void *user)
{
    const operands *x = user;
    sett_val *in = sett_elem_less(sett_epilogue_partition(at, x->crd), x->extent);
    sett_val *scale = sett_load(sett_epilogue_partition(at, x->scale), .pred = in), *bias = sett_load(sett_epilogue_partition(at, x->bias), .pred = in);
    return sett_max(sett_fma(sums, scale, bias), 0.0);
}

static void gemm_wgmma(sett_build *b, const void *user)
{
    sett_val *M = sett_sym(b, "M"), *N = sett_sym(b, "N", .div = 8);
    sett_tensor *S = sett_param(b, "S", SETT_F32, sett_make_layout(b, M)), *bias = sett_param(b, "bias", SETT_F32, sett_make_layout(b, N));
    operands x = {sett_composition(S, sett_make_layout(b, T(M, N), T(1, 0))), sett_composition(bias, sett_make_layout(b, T(M, N), T(0, 1))), sett_identity_tensor(b, M, N),
        sett_tuple(b, M, N)};
    sett_gemm_wgmma_with(b, user, epilogue, &x);
}

static void try(run *r, sett_kernel *k, int64_t m, int64_t n, int64_t depth)
{
    matrix A = matrix_random(r, SETT_BF16, m, depth), B = matrix_random(r, SETT_BF16, n, depth), C = matrix_random(r, SETT_BF16, m, n);
    matrix S = matrix_random(r, SETT_F32, m, 1), bias = matrix_random(r, SETT_F32, n, 1);
    sett_buf s = sett_buf_1d(S.buf.data, SETT_F32, m), add = sett_buf_1d(bias.buf.data, SETT_F32, n);
    check(r, sett_launch(k, r->stream, &r->err, &s, &add, &A.buf, &B.buf, &C.buf));
    matrix_fetch(r, &C);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t x = 0; x < depth; x++)
                sum += get(SETT_BF16, A.host, (size_t)(i * depth + x)) * get(SETT_BF16, B.host, (size_t)(j * depth + x));
            double x = sum * get(SETT_F32, S.host, (size_t)i) + get(SETT_F32, bias.host, (size_t)j);
            expect("gemm_wgmma", (size_t)(i * n + j), get(SETT_BF16, C.host, (size_t)(i * n + j)), fmax(x, 0), 1.0 / 256);
        }
    printf("gemm_wgmma: %d x %d x %d, ok\n", (int)m, (int)n, (int)depth);
    matrix_free(r, &A), matrix_free(r, &B), matrix_free(r, &C), matrix_free(r, &S), matrix_free(r, &bias);
}

int main(void)
{
    const sett_gemm_wgmma_options p = {.size = sizeof p, .dtype = SETT_BF16};
    run r = run_open();
    sett_kernel *k;
    sett_compile_options opt = {.size = sizeof opt, .name = "gemm_wgmma", .user = &p, .user_size = sizeof p};
    sett_status s = sett_compile(r.e, gemm_wgmma, &opt, &k, &r.err);
    if (s == SETT_E_TARGET) { /* no wgmma */
        printf("gemm_wgmma: %s\n", r.err.text);
        run_close(&r);
        return 0;
    }
    check(&r, s);
    try(&r, k, 256, 256, 64);
    try(&r, k, 512, 512, 256);
    try(&r, k, 131, 328, 200);
    sett_kernel_release(k);
    run_close(&r);
    return 0;
}
