/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU engine beside plain C with the same number of threads: fp32 add of 4096 x 4096, and the shared-memory
 * reduction of 1024 blocks of 256 threads. Interleaved (but for the reduction, which has no peer), random data, medians. */
#define SETT_SHORT
#include "common.h"
#include "tree.h"
#include <sett/kernels.h>
#include <pthread.h>
#include <unistd.h>

enum { N = 4096, ROUNDS = 15, WAYS = 6 };

typedef struct part {
    const float *a, *b;
    float *c;
    size_t n;
} part;

/* As fast as plain C goes: the compiler may take it for vectors (the Makefile builds this file with -O3). */
static void *plain_add(void *p)
{
    const part *q = p;
    const float *restrict a = q->a, *restrict b = q->b;
    float *restrict c = q->c;
    const size_t n = q->n;
    for (size_t i = 0; i < n; i++)
        c[i] = a[i] + b[i];
    return NULL;
}

static void plain(const float *a, const float *b, float *c, size_t n, int threads)
{
    pthread_t t[64];
    part p[64];
    for (int i = 0; i < threads; i++) {
        size_t from = n * (size_t)i / (size_t)threads, to = n * (size_t)(i + 1) / (size_t)threads;
        p[i] = (part){a + from, b + from, c + from, to - from};
        if (pthread_create(&t[i], NULL, plain_add, &p[i]))
            exit(1);
    }
    for (int i = 0; i < threads; i++)
        pthread_join(t[i], NULL);
}

/* The part of t that this thread of this block works on. */
static sett_tensor *mine(sett_build *b, sett_tensor *t, sett_tv tv)
{
    sett_tensor *tile = sett_slice(sett_zipped_divide(t, tv.tiler), ALL, T(sett_block_idx(b, 1), sett_block_idx(b, 0)));
    return sett_slice(sett_composition(tile, tv.tv), sett_thread_idx(b, 0), ALL);
}

/* A tile's threads, and the values of each: rows x columns. */
typedef struct tile {
    int threads[2], values[2];
} tile;

/* C = A + B of sizes that the tile divides: no predicates. user: a tile. */
static void add_f32(sett_build *b, const void *user)
{
    const tile *t = user;
    const int high = t->threads[0] * t->values[0], wide = t->threads[1] * t->values[1];
    sett_val *M = sett_sym(b, "M", .div = high), *N_ = sett_sym(b, "N", .div = wide);
    sett_tensor *A = sett_param(b, "A", SETT_F32, sett_row_major(b, M, N_), .align = 16);
    sett_tensor *B = sett_param(b, "B", SETT_F32, sett_row_major(b, M, N_), .align = 16);
    sett_tensor *C = sett_param(b, "C", SETT_F32, sett_row_major(b, M, N_), .align = 16);
    sett_tv tv = sett_make_layout_tv(
        sett_row_major(b, t->threads[0], t->threads[1]), sett_row_major(b, t->values[0], t->values[1]));
    sett_grid(b, sett_floordiv(N_, wide), sett_floordiv(M, high));
    sett_block(b, t->threads[0] * t->threads[1]);
    sett_store(mine(b, C, tv), sett_add(sett_load(mine(b, A, tv)), sett_load(mine(b, B, tv))));
}

static sett_kernel *cpu_kernel(sett_engine *e, sett_body body, const void *user, const char *name)
{
    sett_kernel *k;
    sett_error err = {0};
    sett_compile_options opt = {.size = sizeof opt, .name = name, .target = "cpu", .user = user};
    must(sett_compile(e, body, &opt, &k, &err), &err);
    return k;
}

/* An argument: the number of threads. */
int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : (int)sysconf(_SC_NPROCESSORS_ONLN);
    threads = threads > 64 ? 64 : threads < 1 ? 1 : threads;
    size_t n = (size_t)N * N;
    float *a = aligned_alloc(256, n * 4), *b = aligned_alloc(256, n * 4), *c = aligned_alloc(256, n * 4);
    uint64_t seed = 42;
    if (!a || !b || !c)
        return 1;
    for (size_t i = 0; i < n; i++)
        a[i] = (float)(random_next(&seed) >> 40), b[i] = (float)(random_next(&seed) >> 40), c[i] = 0;
    sett_engine *e;
    sett_error err = {0};
    sett_engine_options eo = {.size = sizeof eo, .no_gpu = true, .cpu_threads = threads, .cache_dir = ""};
    must(sett_engine_open(&e, &eo, &err), &err);
    sett_stream cpu = {SETT_CPU, NULL};
    sett_elementwise_options user = {.size = sizeof user, .dtype = SETT_F32, .no_pdl = 1, .tuning = {.thr_m = 4, .thr_n = 32, .val_m = 4}};
    static const tile tiles[] = {{{4, 32}, {4, 4}}, {{4, 32}, {4, 8}}, {{1, 128}, {1, 16}}, {{1, 128}, {1, 32}}};
    sett_kernel *add[WAYS - 1] = {cpu_kernel(e, add_f32, &tiles[0], "add"), cpu_kernel(e, add_f32, &tiles[1], "add_2x4"),
        cpu_kernel(e, add_f32, &tiles[2], "add_row"), cpu_kernel(e, add_f32, &tiles[3], "add_long_row"),
        cpu_kernel(e, sett_elementwise, &user, "elementwise")};
    sett_kernel *tree = cpu_kernel(e, tree_sum, NULL, "tree_sum");
    sett_buf A = sett_buf_2d(a, SETT_F32, N, N), B = sett_buf_2d(b, SETT_F32, N, N), C = sett_buf_2d(c, SETT_F32, N, N);
    sett_buf X = sett_buf_2d(a, SETT_F32, 1024, 256), Y = sett_buf_1d(c, SETT_F32, 1024);
    double spent[WAYS][ROUNDS], ratio[WAYS][ROUNDS];
    for (int r = -2; r < ROUNDS; r++) {
        double t[WAYS];
        int first = (int)(random_next(&seed) % WAYS);
        for (int i = 0; i < WAYS; i++) {
            int way = (i + first) % WAYS;
            double from = now_us();
            if (way == 0)
                plain(a, b, c, n, threads);
            else
                must(sett_launch(add[way - 1], cpu, &err, &A, &B, &C), &err);
            t[way] = now_us() - from;
        }
        for (int i = 0; i < WAYS && r >= 0; i++)
            spent[i][r] = t[i], ratio[i][r] = t[i] / t[0];
    }
    static const char *const name[WAYS] = {
        "plain C add f32 4096 x 4096", "sett TV-layout add, tile 16 x 128", "sett TV-layout add, tile 16 x 256", "sett TV-layout add, tile 1 x 2048",
        "sett TV-layout add, tile 1 x 4096",
        "sett elementwise add (predicates), tile 16 x 128"};
    printf("| CPU engine, %d threads | median ms | ratio to plain C (median of rounds) |\n| --- | --- | --- |\n", threads);
    for (int i = 0; i < WAYS; i++)
        printf("| %s | %.2f | %.2f |\n", name[i], quantile(spent[i], ROUNDS, 0.5) / 1e3, quantile(ratio[i], ROUNDS, 0.5));
    sett_benchmark_options o = {.size = sizeof o, .warmup = 2, .iterations = ROUNDS, .hot = true};
    sett_benchmark_result sum = {.size = sizeof sum};
    must(sett_benchmark(tree, cpu, &o, &sum, &err, &X, &Y), &err);
    printf("| shared-memory tree sum, 256 threads x 1024 blocks | %.2f | - |\n", sum.median_us / 1e3);
    for (int i = 0; i < WAYS - 1; i++)
        sett_kernel_release(add[i]);
    sett_kernel_release(tree);
    sett_engine_close(e);
    free(a), free(b), free(c);
    return 0;
}
