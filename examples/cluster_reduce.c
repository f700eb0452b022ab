/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that are too long for one block: Y = (X - mean) / sqrt(variance + eps), row by row. A cluster of blocks holds a row in
 * the shared memory of its blocks together, reads it once, and adds up through shared memory of peers. sm_90 and up. */
#define SETT_SHORT
#include "common.h"

enum { BLOCKS = 4, THREADS = 256 };
static const double eps = 1e-5;

/* The sum over all threads of the cluster: of each block first; then a thread a block puts it into the memory of that block,
 * so that each has all. Nobody reads before all have written. */
static sett_val *sum_of_cluster(sett_build *b, sett_tensor *sums, sett_val *part)
{
    sett_val *t = sett_thread_idx(b, 0), *sum = sett_block_reduce(part, SETT_ADD);
    sett_if (b, sett_lt(t, BLOCKS))
        sett_set(sett_map_dsmem(sums, t), sum, sett_block_idx_in_cluster(b));
    sett_cluster_sync(b);
    return sett_reduce(sett_load(sums), SETT_ADD, 0.0);
}

static void norm(sett_build *b, const void *user)
{
    (void)user;
    sett_val *M = sett_sym(b, "M"), *N = sett_sym(b, "N");
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, M, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, M, N));
    sett_grid(b, sett_mul(M, BLOCKS));
    sett_block(b, THREADS);
    sett_cluster(b, BLOCKS);

    sett_arg part = sett_ceil_div(N, BLOCKS); /* of a row, in one block; the launch computes its shared memory */
    sett_tensor *own = sett_make_smem_tensor(b, SETT_F32, part, 16);
    sett_tensor *sums = sett_make_smem_tensor(b, SETT_F32, BLOCKS, 16), *squares = sett_make_smem_tensor(b, SETT_F32, BLOCKS, 16);
    sett_val *t = sett_thread_idx(b, 0), *row = sett_cluster_idx(b, 0);
    sett_val *first = sett_mul(sett_block_idx_in_cluster(b), part);
    sett_tensor *x = sett_slice(X, row, ALL), *y = sett_slice(Y, row, ALL), *acc = sett_var(b, SETT_F32, 0.0);

    sett_cluster_sync(b); /* all blocks run: their memory is there */
    sett_for (b, i, t, part, THREADS) {
        sett_if (b, sett_lt(sett_add(first, i), N)) {
            sett_val *v = sett_at(x, sett_add(first, i));
            sett_set(own, v, i);
            sett_set(acc, sett_add(sett_at(acc, 0), v), 0);
        }
    }
    sett_val *mean = sett_div(sum_of_cluster(b, sums, sett_at(acc, 0)), sett_to(N, SETT_F32));
    sett_set(acc, 0.0, 0);
    sett_for (b, i, t, part, THREADS) { /* each thread reads what it wrote */
        sett_if (b, sett_lt(sett_add(first, i), N)) {
            sett_val *d = sett_sub(sett_at(own, i), mean);
            sett_set(acc, sett_fma(d, d, sett_at(acc, 0)), 0);
        }
    }
    sett_val *variance = sett_div(sum_of_cluster(b, squares, sett_at(acc, 0)), sett_to(N, SETT_F32));
    sett_val *scale = sett_rsqrt(sett_add(variance, eps));
    sett_for (b, i, t, part, THREADS) {
        sett_if (b, sett_lt(sett_add(first, i), N))
            sett_set(y, sett_mul(sett_sub(sett_at(own, i), mean), scale), sett_add(first, i));
    }
    /* The last cluster_sync came behind all that peers wrote here, so a block may end. */
}

static void try(run *r, sett_kernel *k, int64_t m, int64_t n)
{
    matrix X = matrix_random(r, SETT_F32, m, n), Y = matrix_random(r, SETT_F32, m, n);
    check(r, sett_launch(k, r->stream, &r->err, &X.buf, &Y.buf));
    matrix_fetch(r, &Y);
    for (int64_t i = 0; i < m; i++) {
        double sum = 0, squares = 0;
        for (int64_t j = 0; j < n; j++)
            sum += get(SETT_F32, X.host, (size_t)(i * n + j)) / (double)n;
        for (int64_t j = 0; j < n; j++)
            squares += pow(get(SETT_F32, X.host, (size_t)(i * n + j)) - sum, 2) / (double)n;
        for (int64_t j = 0; j < n; j++)
            expect("cluster_reduce", (size_t)(i * n + j), get(SETT_F32, Y.host, (size_t)(i * n + j)), (get(SETT_F32, X.host, (size_t)(i * n + j)) - sum) / sqrt(squares + eps), 1e-4);
    }
    printf("cluster_reduce: %d rows of %d, ok\n", (int)m, (int)n);
    matrix_free(r, &X), matrix_free(r, &Y);
}

int main(void)
{
    run r = run_open();
    sett_kernel *k;
    sett_compile_options opt = {.size = sizeof opt, .name = "cluster_reduce"};
    sett_status s = sett_compile(r.e, norm, &opt, &k, &r.err);
    if (s == SETT_E_TARGET) { /* no clusters */
        printf("cluster_reduce: %s\n", r.err.text);
        run_close(&r);
        return 0;
    }
    check(&r, s);
    try(&r, k, 3, 4096);
    try(&r, k, 2, 60000); /* 240 KB a row: more than a block has */
    try(&r, k, 5, 1003);
    sett_kernel_release(k);
    run_close(&r);
    return 0;
}
