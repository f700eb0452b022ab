/* SPDX-License-Identifier: Apache-2.0 */
/* A new process with a warm disk cache, from its first instruction to the end of its first launch, beside the driver's share
 * alone: cuInit, primary context, cuLibraryLoadData of the same cubin, one launch. Samples in random order.
 *     start              all, as a table        start sett|raw FILE      one sample: ms and peak kB */
#include "common.h"
#include <sett/kernels.h>
#include <sys/resource.h>

enum { SAMPLES = 61 };

static void report(double start)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    printf("%f %ld\n", (now_us() - start) / 1e3, use.ru_maxrss);
}

static sett_kernel *compile(sett_engine *e)
{
    sett_kernel *k;
    sett_error err = {0};
    sett_elementwise_options user = {.size = sizeof user, .dtype = SETT_F16, .op = SETT_MUL, .relu = 1, .no_pdl = 1, .tuning = {.thr_m = 4, .thr_n = 32, .val_m = 4}};
    sett_compile_options opt = {.size = sizeof opt, .name = "mul_relu", .user = &user};
    must(sett_compile(e, sett_elementwise, &opt, &k, &err), &err);
    return k;
}

static int sett_sample(double start)
{
    sett_engine *e;
    sett_error err = {0};
    must(sett_engine_open(&e, NULL, &err), &err);
    sett_kernel *k = compile(e);
    sett_buf b[3];
    for (int i = 0; i < 3; i++)
        b[i] = sett_buf_2d(sett_alloc(e, 0, 8192), SETT_F16, 16, 256);
    must(sett_launch(k, ((sett_stream){0, NULL}), &err, &b[0], &b[1], &b[2]), &err);
    must(sett_sync(e, (sett_stream){0, NULL}), NULL);
    report(start);
    sett_stats stats = {.size = sizeof stats};
    sett_engine_stats(e, &stats);
    return stats.disk_hits != 1 || stats.compiler_loaded;
}

static int raw_sample(double start, const char *path)
{
    driver d;
    uint64_t p[3];
    int m = 16, n = 256;
    FILE *f = fopen(path, "rb");
    static char cubin[1 << 20];
    if (!f || !fread(cubin, 1, sizeof cubin, f) || !driver_start(&d))
        return 1;
    fclose(f);
    void *kernel = driver_kernel(&d, cubin), *params[] = {&p[0], &p[1], &p[2], &m, &n};
    for (int i = 0; i < 3; i++)
        if (d.mem_alloc(&p[i], 8192))
            return 1;
    raw_config config = {.grid = {1, 1, 1}, .block = {128, 1, 1}};
    if (!kernel || d.launch(&config, kernel, params, NULL) || d.sync())
        return 1;
    report(start);
    return 0;
}

int main(int argc, char **argv)
{
    double start = now_us();
    if (argc == 3)
        return !strcmp(argv[1], "sett") ? sett_sample(start) : raw_sample(start, argv[2]);
    sett_engine *e;
    sett_error err = {0};
    must(sett_engine_open(&e, NULL, &err), &err);
    if (sett_default_device(e) < 0) {
        puts("skipped: no GPU");
        return 0;
    }
    sett_kernel *k = compile(e); /* fills the cache */
    sett_kernel_info info = {.size = sizeof info};
    must(sett_kernel_query(k, &info), NULL);
    char path[] = "/tmp/sett-bench-start-XXXXXX";
    int fd = mkstemp(path);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "wb");
    if (!f || fwrite(info.cubin, 1, info.cubin_size, f) != info.cubin_size || fclose(f))
        return 1;
    sett_engine_close(e);
    static const char *const who[2] = {"sett", "raw"};
    double ms[2][SAMPLES];
    long rss[2] = {0};
    int n[2] = {0, 0};
    uint64_t seed = 99;
    for (int i = 0; i < 2 * SAMPLES; i++) { /* pairs, each in random order */
        int w = i & 1 ? n[0] > n[1] : (int)(random_next(&seed) >> 20 & 1);
        char command[600];
        snprintf(command, sizeof command, "'%s' %s %s", argv[0], who[w], path);
        FILE *p = popen(command, "r");
        if (!p || fscanf(p, "%lf %ld", &ms[w][n[w]], &rss[w]) != 2 || pclose(p)) {
            fprintf(stderr, "%s: no sample\n", who[w]);
            remove(path);
            return 1;
        }
        n[w]++;
    }
    double diff[SAMPLES];
    for (int i = 0; i < SAMPLES; i++)
        diff[i] = ms[0][i] - ms[1][i];
    double a = quantile(ms[0], SAMPLES, 0.5), b = quantile(ms[1], SAMPLES, 0.5);
    puts("| new process to the end of the first launch, warm disk cache | median ms | p10 | p90 | peak MB |\n| --- | --- | --- | --- | --- |");
    printf("| sett | %.2f | %.2f | %.2f | %.1f |\n", a, quantile(ms[0], SAMPLES, 0.1), quantile(ms[0], SAMPLES, 0.9), (double)rss[0] / 1024);
    printf("| the driver's share alone | %.2f | %.2f | %.2f | %.1f |\n", b, quantile(ms[1], SAMPLES, 0.1), quantile(ms[1], SAMPLES, 0.9),
        (double)rss[1] / 1024);
    printf("\nsett costs %.2f ms beyond it (median of %d paired differences; p25 %.2f, p75 %.2f).\n", quantile(diff, SAMPLES, 0.5), SAMPLES,
        quantile(diff, SAMPLES, 0.25), quantile(diff, SAMPLES, 0.75));
    remove(path);
    return 0;
}
