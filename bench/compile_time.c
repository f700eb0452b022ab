/* SPDX-License-Identifier: Apache-2.0 */
/* A C function to a cubin in memory, cold (first in its process) and warm, beside NVRTC on the same kernel in CUDA C++ with
 * cuda_fp16.h, in one run: `compile_time` starts itself for each sample, in random order.
 *     compile_time [INCLUDE_DIR_OF_CUDA]       all, as a table
 *     compile_time sett|nvrtc DIR              one sample: "cold_ms warm_ms" */
#define SETT_SHORT
#include "common.h"
#include <sys/resource.h>

enum { SAMPLES = 11, WARM = 8 };

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

static double nvrtc_once(int i)
{
    char text[sizeof source + 64];
    snprintf(text, sizeof text, source, factor(i));
    int (*create)(void **, const char *, const char *, int, const char *const *, const char *const *);
    int (*compile)(void *, int, const char *const *), (*size)(void *, size_t *), (*get)(void *, char *), (*destroy)(void **);
    void *so = dlopen("libnvrtc.so.13", RTLD_NOW | RTLD_LOCAL), *program;
    if (!so)
        so = dlopen("libnvrtc.so.12", RTLD_NOW | RTLD_LOCAL);
    if (!so)
        return -1;
    *(void **)&create = dlsym(so, "nvrtcCreateProgram"), *(void **)&compile = dlsym(so, "nvrtcCompileProgram");
    *(void **)&size = dlsym(so, "nvrtcGetCUBINSize"), *(void **)&get = dlsym(so, "nvrtcGetCUBIN");
    *(void **)&destroy = dlsym(so, "nvrtcDestroyProgram");
    char include[512];
    snprintf(include, sizeof include, "-I%s", getenv("BENCH_CUDA_INCLUDE"));
    const char *options[] = {"-arch=sm_90a", include, "-no-cache"}; /* CUDA 13 keeps results on disk; so would we */
    size_t n = 0;
    if (create(&program, text, "add.cu", 0, NULL, NULL) || compile(program, 3, options) || size(program, &n) || !n)
        return -1;
    char *cubin = malloc(n);
    if (!cubin || get(program, cubin))
        return -1;
    free(cubin);
    destroy(&program);
    return 0;
}

static double sett_once(sett_engine *e, int i)
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
    return 0;
}

static int sample(const char *who, double start)
{
    double warm[WARM], cold;
    if (!strcmp(who, "nvrtc")) {
        if (nvrtc_once(0) < 0)
            return 1;
        cold = now_us() - start;
        for (int i = 0; i < WARM; i++) {
            double t = now_us();
            if (nvrtc_once(i + 1) < 0)
                return 1;
            warm[i] = now_us() - t;
        }
    } else {
        sett_engine *e;
        sett_error err = {0};
        sett_engine_options eo = {.size = sizeof eo, .cache_dir = "", .no_gpu = true};
        must(sett_engine_open(&e, &eo, &err), &err);
        sett_once(e, 0);
        cold = now_us() - start;
        for (int i = 0; i < WARM; i++) {
            double t = now_us();
            sett_once(e, i + 1);
            warm[i] = now_us() - t;
        }
        sett_engine_close(e);
    }
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    printf("%f %f %ld\n", cold / 1e3, quantile(warm, WARM, 0.5) / 1e3, use.ru_maxrss);
    return 0;
}

int main(int argc, char **argv)
{
    double start = now_us();
    if (argc == 2 && (!strcmp(argv[1], "sett") || !strcmp(argv[1], "nvrtc")))
        return sample(argv[1], start);
    setenv("BENCH_CUDA_INCLUDE", argc > 1 ? argv[1] : "/usr/local/cuda/include", 0);
    static const char *const who[2] = {"sett", "nvrtc"};
    double cold[2][SAMPLES], warm[2][SAMPLES];
    int n[2] = {0, 0};
    long rss[2] = {0, 0};
    uint64_t seed = 7;
    for (int i = 0; i < 2 * SAMPLES; i++) {
        int w = n[0] == SAMPLES ? 1 : n[1] == SAMPLES ? 0 : (int)(random_next(&seed) >> 20 & 1);
        char command[600];
        snprintf(command, sizeof command, "%s %s", argv[0], who[w]);
        FILE *p = popen(command, "r");
        if (!p || fscanf(p, "%lf %lf %ld", &cold[w][n[w]], &warm[w][n[w]], &rss[w]) != 3) {
            printf("%s: no sample\n", who[w]);
            cold[w][n[w]] = warm[w][n[w]] = 0;
        }
        if (p)
            pclose(p);
        n[w]++;
    }
    puts("| C function to cubin, elementwise | cold ms | warm ms | peak memory MB |\n| --- | --- | --- | --- |");
    for (int w = 0; w < 2; w++)
        printf("| %s | %.1f | %.1f | %.0f |\n", w ? "NVRTC with cuda_fp16.h" : "sett", quantile(cold[w], SAMPLES, 0.5),
            quantile(warm[w], SAMPLES, 0.5), (double)rss[w] / 1024);
    return 0;
}
