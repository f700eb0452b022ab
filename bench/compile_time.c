/* SPDX-License-Identifier: Apache-2.0 */
/* A C function to a cubin in memory, cold (first in its process) and warm, beside NVRTC on the same kernel in CUDA C++ with
 * cuda_fp16.h, in one run: `compile_time` starts itself for each sample, in random order. Warm is a process that has compiled
 * before; "a fresh engine" opens and closes one for each of its warm compiles. A sample that fails is left out and counted.
 *     compile_time [INCLUDE_DIR_OF_CUDA]       all, as a table
 *     compile_time sett|fresh|nvrtc            one sample: "cold_ms warm_ms peak_kB" */
#define SETT_SHORT
#include "common.h"
#include <sys/resource.h>

enum { SAMPLES = 11, WARM = 8 };
enum { SETT, FRESH, NVRTC, N_WAYS };

/* The same kernel for both: TV-layout add of halves, 128 threads of 4 x 8 values, scaled by a number that every sample
 * changes, so that no cache helps anyone. */
static const char source[] = "#include <cuda_fp16.h>\n"
    "extern \"C\" __global__ void __launch_bounds__(128) add(const __half *A, const __half *B, __half *C, int M, int N) {\n"
    "  int n = (blockIdx.x * 32 + threadIdx.x %% 32) * 8, m = blockIdx.y * 16 + threadIdx.x / 32 * 4;\n"
    "  uint4 x[4], y[4], z;\n"
    "  for (int i = 0; i < 4; i++) x[i] = *(const uint4 *)(A + (m + i) * N + n), y[i] = *(const uint4 *)(B + (m + i) * N + n);\n"
    "  for (int i = 0; i < 4; i++) {\n"
    "    __half2 *p = (__half2 *)&x[i], *q = (__half2 *)&y[i], *r = (__half2 *)&z, s = __float2half2_rn(%a);\n"
    "    for (int j = 0; j < 4; j++) r[j] = __hmul2(__hadd2(p[j], q[j]), s);\n"
    "    *(uint4 *)(C + (m + i) * N + n) = z;\n"
    "  }\n}\n";

static void add_scaled(sett_build *b, const void *user)
{
    sett_val *M = sett_sym(b, "M", .div = 16), *N = sett_sym(b, "N", .div = 256);
    sett_layout *all = sett_row_major(b, M, N);
    sett_tv tv = sett_make_layout_tv(sett_row_major(b, 4, 32), sett_row_major(b, 4, 8));
    static const char *const names[] = {"A", "B", "C"};
    sett_tensor *t[3];
    sett_grid(b, sett_floordiv(N, 256), sett_floordiv(M, 16));
    sett_block(b, 128);
    for (int i = 0; i < 3; i++) {
        t[i] = sett_param(b, names[i], SETT_F16, all, .align = 16);
        t[i] = sett_slice(sett_zipped_divide(t[i], tv.tiler), ALL, T(sett_block_idx(b, 1), sett_block_idx(b, 0)));
        t[i] = sett_slice(sett_composition(t[i], tv.tv), sett_thread_idx(b, 0), ALL);
    }
    sett_store(t[2], sett_mul(sett_add(sett_load(t[0]), sett_load(t[1])), *(const double *)user));
}

static double factor(int i)
{
    return 1.0 / (1 << (i & 7)) + i;
}

static bool nvrtc_once(const nvrtc *rtc, int i)
{
    char text[sizeof source + 64], include[512];
    void *program;
    snprintf(text, sizeof text, source, factor(i));
    snprintf(include, sizeof include, "-I%s", getenv("BENCH_CUDA_INCLUDE"));
    const char *options[] = {"-arch=sm_90a", include, "-no-cache"}; /* CUDA 13 keeps results on disk; so would we */
    size_t n = 0;
    if (rtc->create(&program, text, "add.cu", 0, NULL, NULL) || rtc->compile(program, 3, options) || rtc->size(program, &n) || !n)
        return false;
    char *cubin = malloc(n);
    if (!cubin || rtc->get(program, cubin))
        return false;
    free(cubin);
    rtc->destroy(&program);
    return true;
}

static void sett_once(sett_engine *e, int i)
{
    sett_kernel *k;
    sett_error err = {0};
    double user = factor(i);
    sett_compile_options opt = {.size = sizeof opt, .name = "add", .target = "sm_90a", .user = &user};
    must(sett_compile(e, add_scaled, &opt, &k, &err), &err);
    sett_kernel_info info = {.size = sizeof info};
    must(sett_kernel_query(k, &info), NULL);
    if (info.origin != SETT_FROM_COMPILER || !info.cubin) {
        fprintf(stderr, "not compiled\n");
        exit(1);
    }
    if (getenv("BENCH_PHASES"))
        fprintf(stderr, "record %.3f codegen %.3f assemble %.3f ms, %s\n", info.record_ms, info.codegen_ms, info.assemble_ms, info.assembler);
    sett_kernel_release(k);
}

static bool once(int way, const nvrtc *rtc, sett_engine **e, int i)
{
    if (way == NVRTC)
        return nvrtc_once(rtc, i);
    if (!*e)
        *e = bench_engine();
    sett_once(*e, i);
    if (way == FRESH) {
        sett_engine_close(*e);
        *e = NULL;
    }
    return true;
}

static int sample(int way, double start)
{
    double warm[WARM], cold = 0;
    nvrtc rtc = {0};
    sett_engine *e = NULL;
    if (way == NVRTC && !nvrtc_open(&rtc))
        return 1;
    for (int i = 0; i <= WARM; i++) {
        double t = i ? now_us() : start;
        if (!once(way, &rtc, &e, i))
            return 1;
        *(i ? &warm[i - 1] : &cold) = now_us() - t;
    }
    sett_engine_close(e);
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    printf("%f %f %ld\n", cold / 1e3, quantile(warm, WARM, 0.5) / 1e3, use.ru_maxrss);
    return 0;
}

typedef struct samples {
    double cold[SAMPLES], warm[SAMPLES];
    int tried, n; /* n of them gave a result */
    long rss;
} samples;

static void take(samples *s, const char *self, const char *who)
{
    char command[600];
    double cold, warm;
    long rss;
    snprintf(command, sizeof command, "'%s' %s", self, who);
    FILE *p = popen(command, "r");
    bool ok = p && fscanf(p, "%lf %lf %ld", &cold, &warm, &rss) == 3;
    s->tried++;
    if ((p && pclose(p)) || !ok)
        return;
    s->cold[s->n] = cold, s->warm[s->n] = warm, s->n++;
    s->rss = rss > s->rss ? rss : s->rss;
}

int main(int argc, char **argv)
{
    static const char *const who[N_WAYS] = {"sett", "fresh", "nvrtc"};
    static const char *const title[N_WAYS] = {"sett", "sett, a fresh engine for each", "NVRTC with cuda_fp16.h"};
    double start = now_us();
    for (int w = 0; argc == 2 && w < N_WAYS; w++)
        if (!strcmp(argv[1], who[w]))
            return sample(w, start);
    setenv("BENCH_CUDA_INCLUDE", argc > 1 ? argv[1] : "/usr/local/cuda/include", 0);
    static samples s[N_WAYS];
    uint64_t seed = 7;
    for (int i = 0; i < N_WAYS * SAMPLES; i++) {
        int w = (int)((random_next(&seed) >> 20) % N_WAYS);
        while (s[w].tried == SAMPLES)
            w = (w + 1) % N_WAYS;
        take(&s[w], argv[0], who[w]);
    }
    puts("| C function to cubin, elementwise | cold ms | warm ms | peak memory MB | samples |\n| --- | --- | --- | --- | --- |");
    for (int w = 0; w < N_WAYS; w++)
        if (s[w].n)
            printf("| %s | %.1f | %.1f | %.0f | %d%s |\n", title[w], quantile(s[w].cold, s[w].n, 0.5),
                quantile(s[w].warm, s[w].n, 0.5), (double)s[w].rss / 1024, s[w].n, s[w].n < SAMPLES ? ", others failed" : "");
        else
            printf("| %s | no sample: all %d failed | | | 0 |\n", title[w], SAMPLES);
    nvrtc rtc = {0};
    int major, minor;
    if (nvrtc_open(&rtc) && !rtc.version(&major, &minor))
        printf("\nNVRTC is of CUDA %d.%d.\n", major, minor);
    return 0;
}
