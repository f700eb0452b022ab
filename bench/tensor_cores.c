/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor cores on the CPU engine: products of bf16 matrices by mma of a warp and by wgmma, bit for bit as a GPU has them and by one fma
 * after another. The tapes are those of tests/tape, so it runs in the project's folder. An argument: the number of threads. */
#include "common.h"
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 5, WARP_SIZE = 256, GROUP_SIZE = 1024 };

static sett_kernel *tape_kernel(sett_engine *e, const char *path)
{
    static char text[1 << 16];
    sett_kernel *k;
    sett_error err = {0};
    sett_compile_options o = {.size = sizeof o, .target = "cpu", .name = "gemm"};
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof text, f) : 0;
    if (!n) {
        fprintf(stderr, "%s cannot be read\n", path);
        exit(1);
    }
    fclose(f);
    must(sett_compile_tape(e, text, n, &o, &k, &err), &err);
    return k;
}

static double cpu_us(void) /* of all threads: what counts where others use the machine */
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Square products: the median of their times, and of those of all threads together, in ms. */
static void print_gemm(const char *path, int threads, bool fast, int n, uint16_t *a, uint16_t *b, void *d, sett_dtype to, int columns)
{
    double ms[ROUNDS], cpu[ROUNDS];
    sett_engine *e;
    sett_error err = {0};
    sett_engine_options eo = {.size = sizeof eo, .no_gpu = true, .cpu_threads = threads, .cpu_fast_mma = fast, .cache_dir = ""};
    must(sett_engine_open(&e, &eo, &err), &err);
    sett_kernel *k = tape_kernel(e, path);
    sett_buf A = sett_buf_2d(a, SETT_BF16, n, n), B = sett_buf_2d(b, SETT_BF16, n, n), D = sett_buf_2d(d, to, n * n / columns, columns);
    for (int r = -1; r < ROUNDS; r++) {
        double from = now_us(), cpu_from = cpu_us();
        must(sett_launch(k, sett_stream_of(SETT_CPU, NULL), &err, &A, &B, &D), &err);
        if (r >= 0)
            ms[r] = (now_us() - from) / 1e3, cpu[r] = (cpu_us() - cpu_from) / 1e3;
    }
    sett_kernel_release(k);
    sett_engine_close(e);
    printf(" %.1f | %.1f |", quantile(ms, ROUNDS, 0.5), quantile(cpu, ROUNDS, 0.5));
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : (int)sysconf(_SC_NPROCESSORS_ONLN);
    size_t n = (size_t)GROUP_SIZE * GROUP_SIZE;
    uint16_t *a = malloc(n * 2), *b = malloc(n * 2);
    float *d = malloc(n * 4);
    uint64_t seed = 7;
    if (!a || !b || !d)
        return 1;
    for (size_t i = 0; i < n; i++) /* of 1/16 to 1/2, and both signs */
        a[i] = (uint16_t)(0x3d80 + random_next(&seed) % 0x180) | (random_next(&seed) & 0x8000), b[i] = (uint16_t)(0x3d80 + random_next(&seed) % 0x180);
    printf("| CPU engine, %d threads, bf16 in f32 | exact, ms | of all threads | fast, ms | of all threads |\n| --- | --- | --- | --- | --- |\n", threads);
    printf("| mma, %d^3 |", WARP_SIZE);
    for (int fast = 0; fast < 2; fast++)
        print_gemm("tests/tape/gemm_mma.tape", threads, fast, WARP_SIZE, a, b, d, SETT_BF16, WARP_SIZE);
    printf("\n| wgmma, %d^3 |", GROUP_SIZE);
    for (int fast = 0; fast < 2; fast++)
        print_gemm("tests/tape/wgmma_loop.tape", threads, fast, GROUP_SIZE, a, b, d, SETT_F32, 128);
    printf("\n");
    free(a), free(b), free(d);
    return 0;
}
