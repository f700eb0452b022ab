/* SPDX-License-Identifier: Apache-2.0 */
/* What the cache costs: a kernel from memory by its key, by its memo and by recording, with few and with many kernels; from
 * the folder, with digest and ELF gate, by size; written. Medians; the last two need an assembler.
 *     cache [KERNELS]     many kernels: this number, 5000 without it (35 kB each)
 *     cache fake KERNELS  GPU kernels by the drivers that tests have, 10 kB each, a million of them in some minutes:
 *                         FAKE_CUDA_GPUS=1 LD_LIBRARY_PATH=build/release/fake, and build/release/fake-ptx.so is made */
#include "common.h"
#include <unistd.h>

enum { FEW = 1000, SAMPLES = 2001, BATCH = 50 };

typedef struct variant {
    int64_t number, lines; /* lines: how long it is */
} variant;

static void body(sett_build *b, const void *user)
{
    const variant *v = user;
    sett_val *n = sett_sym(b, "n");
    sett_tensor *X = sett_param(b, "X", SETT_I32, sett_make_layout(b, n));
    sett_block(b, 32);
    sett_val *i = sett_thread_idx(b, 0), *x = sett_at(X, i);
    for (int64_t k = 0; k < v->lines; k++)
        x = sett_xor(sett_mul(x, x), v->number + k);
    sett_set(X, sett_add(x, v->number), i);
}

static sett_compile_options options(const variant *v, const char *target, bool memo)
{
    return (sett_compile_options){.size = sizeof(sett_compile_options), .target = target, .user = v,
        .user_size = memo ? sizeof *v : 0};
}

static sett_kernel *compile(sett_engine *e, const variant *v, const char *target, bool memo)
{
    const sett_compile_options o = options(v, target, memo);
    sett_kernel *k;
    sett_error err = {0};
    must(sett_compile(e, body, &o, &k, &err), &err);
    return k;
}

static const char *plugin; /* of cache fake */

static sett_engine *open_engine(const char *folder)
{
    const sett_engine_options o = {.size = sizeof o, .cache_dir = folder, .no_gpu = !plugin, .plugin = plugin,
        .assembler = plugin ? SETT_ASM_DRIVER : SETT_ASM_AUTO};
    sett_engine *e;
    sett_error err = {0};
    must(sett_engine_open(&e, &o, &err), &err);
    return e;
}

/* ---- memory ---------------------------------------------------------------------------------- */
static const char *target = "cpu";
typedef enum way { BY_KEY, BY_MEMO, BY_RECORDING } way;

/* ns of one hit, among n kernels. */
static double hit(sett_engine *e, const uint8_t (*key)[32], int n, way w)
{
    static double sample[SAMPLES];
    uint64_t seed = 12345;
    for (int i = 0; i < SAMPLES; i++) {
        variant v[BATCH] = {{0}};
        uint8_t at_hand[BATCH][32]; /* as the caller of a server has it: in the cache */
        for (int j = 0; j < BATCH; j++) {
            v[j].number = (int64_t)((random_next(&seed) >> 20) % (uint64_t)n);
            memcpy(at_hand[j], key[v[j].number], 32);
        }
        double start = now_us();
        for (int j = 0; j < BATCH; j++) {
            sett_kernel *k;
            if (w == BY_KEY)
                must(sett_kernel_get(e, at_hand[j], &k, NULL), NULL);
            else
                k = compile(e, &v[j], target, w == BY_MEMO);
            sett_kernel_release(k);
        }
        sample[i] = (now_us() - start) * 1e3 / BATCH;
    }
    return quantile(sample, SAMPLES, 0.5);
}

static void fill(sett_engine *e, uint8_t (*key)[32], int from, int to)
{
    for (int i = from; i < to; i++) {
        const variant v = {i, 0};
        sett_kernel_info info = {.size = sizeof info};
        sett_kernel *k = compile(e, &v, target, true);
        sett_kernel_query(k, &info);
        memcpy(key[i], info.key, sizeof info.key);
        sett_kernel_release(k);
    }
}

/* Bytes of this process that are in memory. */
static double resident(void)
{
    long pages = 0, all = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%ld %ld", &all, &pages) != 2)
        exit(1);
    fclose(f);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static void memory(int many)
{
    uint8_t(*key)[32] = calloc((size_t)many, sizeof *key);
    sett_engine *e = open_engine("");
    double ns[2][3], bytes = 0;
    if (!key)
        exit(1);
    for (int round = 0; round < 2; round++) {
        bytes = round ? resident() : 0;
        fill(e, key, round ? FEW : 0, round ? many : FEW);
        bytes = (resident() - bytes) / (round ? many - FEW : FEW);
        for (way w = BY_KEY; w <= BY_RECORDING; w++)
            ns[round][w] = hit(e, (const uint8_t(*)[32])key, round ? many : FEW, w);
    }
    printf("| a hit in memory, median ns | among %d kernels | among %d | ratio |\n|---|---|---|---|\n", FEW, many);
    const char *const names[] = {"`sett_kernel_get` by key", "`sett_compile`, remembered by `.user_size`", "`sett_compile`, recorded (3 ops)"};
    for (way w = BY_KEY; w <= BY_RECORDING; w++)
        printf("| %s | %.0f | %.0f | %.2f |\n", names[w], ns[0][w], ns[1][w], ns[1][w] / ns[0][w]);
    printf("\nA kernel takes %.0f bytes, its places in the tables included.\n", bytes);
    sett_engine_close(e);
    free(key);
}

/* ---- disk --------------------------------------------------------------------------------------- */
enum { HITS = 201 };

/* One kernel of so many lines: compiled and written, then read by as many new engines. */
static bool disk(const char *folder, int64_t lines)
{
    static double read[HITS];
    const variant v = {7, lines};
    const sett_compile_options o = options(&v, "sm_90a", false);
    sett_kernel_info info = {.size = sizeof info};
    sett_kernel *k;
    sett_error err = {0};
    sett_engine *e = open_engine(folder);
    if (sett_compile(e, body, &o, &k, &err)) {
        printf("| %s |\n", err.text);
        sett_engine_close(e);
        return false;
    }
    sett_kernel_query(k, &info);
    uint8_t key[32];
    memcpy(key, info.key, sizeof key);
    size_t size = info.cubin_size;
    sett_kernel_release(k);
    sett_engine_close(e);
    for (int i = 0; i < HITS; i++) {
        e = open_engine(folder);
        double start = now_us();
        must(sett_kernel_get(e, key, &k, &err), &err);
        read[i] = now_us() - start;
        sett_kernel_release(k);
        sett_engine_close(e);
    }
    printf("| a hit on disk: cubin of %zu bytes, digest and ELF gate | %.0f us |\n", size, quantile(read, HITS, 0.5));
    return true;
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/sett-bench-XXXXXX", command[100];
    if (argc == 3 && !strcmp(argv[1], "fake")) {
        char path[4000];
        snprintf(path, sizeof path, "%.*s../fake-ptx.so", (int)(strrchr(argv[0], '/') - argv[0]) + 1, argv[0]);
        plugin = realpath(path, NULL);
        target = "sm_90a";
        if (!plugin)
            return 1;
        memory(atoi(argv[2]));
        return 0;
    }
    memory(argc > 1 ? atoi(argv[1]) : 5000);
    if (!mkdtemp(folder))
        return 1;
    printf("\n| from the folder | median |\n|---|---|\n");
    bool ok = disk(folder, 0) && disk(folder, 400) && disk(folder, 2500);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) || !ok;
}
