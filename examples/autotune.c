/* SPDX-License-Identifier: Apache-2.0 */
/* Tuning, as the notebook benchmark_autotune of CuTe DSL does it: one body takes its parameters as user data, so that
 * each configuration is a kernel of its own in the cache; sett_benchmark says which is fastest here. One that the
 * device does not take is passed over, and one that computes something else would end the program. */
#define SETT_SHORT
#include "common.h"

struct config {
    int bits, threads, rows; /* of one access; of a block; that a thread has */
};

static void add(sett_build *b, const void *user)
{
    const struct config *c = user;
    sett_val *M = sett_sym(b, "M"), *N = sett_sym(b, "N", .div = 4);
    sett_layout *l = sett_row_major(b, M, N);
    sett_tensor *t[4] = {sett_param(b, "A", SETT_F32, l, .align = 16), sett_param(b, "B", SETT_F32, l, .align = 16),
        sett_param(b, "C", SETT_F32, l, .align = 16), sett_identity_tensor(b, M, N)};
    sett_tv tv = sett_make_layout_tv(sett_row_major(b, c->threads / 32, 32), sett_row_major(b, c->rows, c->bits / 32));
    sett_grid(b, sett_ceil_div(N, sett_get(tv.tiler, 1)), sett_ceil_div(M, sett_get(tv.tiler, 0)));
    sett_block(b, c->threads);
    for (int i = 0; i < 4; i++) { /* the part of this thread of this block */
        t[i] = sett_local_tile(t[i], tv.tiler, T(sett_block_idx(b, 1), sett_block_idx(b, 0)));
        t[i] = sett_slice(sett_composition(t[i], tv.tv), sett_thread_idx(b, 0), ALL);
    }
    sett_val *in = sett_elem_less(t[3], T(M, N));
    sett_store(t[2], sett_add(sett_load(t[0], .pred = in), sett_load(t[1], .pred = in)), .pred = in);
}

static sett_status make(run *r, const struct config *c, sett_kernel **k)
{
    sett_compile_options opt = {.size = sizeof opt, .name = "add", .user = c, .user_size = sizeof *c};
    return sett_compile(r->e, add, &opt, k, &r->err);
}

static void verify(run *r, sett_kernel *k, matrix *A, matrix *B, matrix *C)
{
    memset(C->host, 0, C->bytes);
    check(r, sett_memcpy(r->e, r->stream, C->buf.data, C->host, C->bytes));
    check(r, sett_launch(k, r->stream, &r->err, &A->buf, &B->buf, &C->buf));
    matrix_fetch(r, C);
    for (size_t i = 0; i < C->bytes / 4; i++)
        expect("add", i, get(SETT_F32, C->host, i), get(SETT_F32, A->host, i) + get(SETT_F32, B->host, i), 1e-6);
}

int main(void)
{
    run r = run_open();
    const bool gpu = r.stream.device != SETT_CPU;
    const int64_t m = gpu ? 4096 : 250, n = gpu ? 4096 : 508;
    matrix A = matrix_random(&r, SETT_F32, m, n), B = matrix_random(&r, SETT_F32, m, n),
           C = matrix_random(&r, SETT_F32, m, n);
    static const struct config configs[] = {
        {32, 128, 4}, {64, 128, 4}, {128, 128, 1}, {128, 128, 4}, {128, 256, 4}, {128, 2048, 1}};
    const struct config *best = NULL;
    double least = INFINITY;
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        const struct config *c = &configs[i];
        sett_benchmark_options o = {
            .size = sizeof o, .iterations = gpu ? 100 : 5, .warmup = 1, .bytes = 3.0 * (double)A.bytes};
        sett_benchmark_result t = {.size = sizeof t};
        sett_kernel *k;
        printf("%3d bits, %4d threads, %d rows: ", c->bits, c->threads, c->rows);
        if (make(&r, c, &k)) {
            printf("%s\n", r.err.text);
            continue;
        }
        verify(&r, k, &A, &B, &C);
        check(&r, sett_benchmark(k, r.stream, &o, &t, &r.err, &A.buf, &B.buf, &C.buf));
        printf("%.1f us, %.2f GB/s\n", t.median_us, t.gbps);
        if (t.median_us < least)
            least = t.median_us, best = c;
        sett_kernel_release(k);
    }
    if (!best)
        return 1;
    sett_kernel *k; /* from the cache: it was compiled above */
    check(&r, make(&r, best, &k));
    verify(&r, k, &A, &B, &C);
    printf("autotune: %d bits, %d threads, %d rows on the %s, ok\n", best->bits, best->threads, best->rows,
        gpu ? "GPU" : "CPU engine");
    sett_kernel_release(k);
    matrix_free(&r, &A), matrix_free(&r, &B), matrix_free(&r, &C);
    run_close(&r);
    return 0;
}
