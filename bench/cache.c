/* SPDX-License-Identifier: Apache-2.0 */
/* What the cache costs: a kernel from memory by its key, by its memo and by recording, with few and with many kernels; from
 * the folder, with digest and ELF gate, by size; written. Medians; the last two need an assembler.
 *     cache [KERNELS]     many kernels: this number, 5000 without it (35 kB each) */
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

static sett_engine *open_engine(const char *folder)
{
    const sett_engine_options o = {.size = sizeof o, .cache_dir = folder, .no_gpu = true};
    sett_engine *e;
    sett_error err = {0};
    must(sett_engine_open(&e, &o, &err), &err);
    return e;
}

/* ---- memory ---------------------------------------------------------------------------------- */
typedef enum way { BY_KEY, BY_MEMO, BY_RECORDING } way;

/* ns of one hit, among n kernels. */
static double hit(sett_engine *e, const uint8_t (*key)[32], int n, way w)
{
    static double sample[SAMPLES];
    uint64_t seed = 12345;
    for (int i = 0; i < SAMPLES; i++) {
        double start = now_us();
        for (int j = 0; j < BATCH; j++) {
            const variant v = {(int64_t)(random_next(&seed) % (uint64_t)n), 0};
            sett_kernel *k;
            if (w == BY_KEY)
                must(sett_kernel_get(e, key[v.number], &k, NULL), NULL);
            else
                k = compile(e, &v, "cpu", w == BY_MEMO);
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
        sett_kernel *k = compile(e, &v, "cpu", true);
        sett_kernel_query(k, &info);
        memcpy(key[i], info.key, sizeof info.key);
        sett_kernel_release(k);
    }
}

static void memory(int many)
{
    uint8_t(*key)[32] = calloc((size_t)many, sizeof *key);
    sett_engine *e = open_engine("");
    double ns[2][3];
    if (!key)
        exit(1);
    for (int round = 0; round < 2; round++) {
        fill(e, key, round ? FEW : 0, round ? many : FEW);
        for (way w = BY_KEY; w <= BY_RECORDING; w++)
            ns[round][w] = hit(e, (const uint8_t(*)[32])key, round ? many : FEW, w);
    }
    printf("| a hit in memory, median ns | among %d kernels | among %d | ratio |\n|---|---|---|---|\n", FEW, many);
    const char *const names[] = {"`sett_kernel_get` by key", "`sett_compile`, remembered by `.user_size`", "`sett_compile`, recorded (3 ops)"};
    for (way w = BY_KEY; w <= BY_RECORDING; w++)
        printf("| %s | %.0f | %.0f | %.2f |\n", names[w], ns[0][w], ns[1][w], ns[1][w] / ns[0][w]);
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
    memory(argc > 1 ? atoi(argv[1]) : 5000);
    if (!mkdtemp(folder))
        return 1;
    printf("\n| from the folder | median |\n|---|---|\n");
    bool ok = disk(folder, 0) && disk(folder, 400) && disk(folder, 2500);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) || !ok;
}
