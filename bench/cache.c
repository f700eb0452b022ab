/* SPDX-License-Identifier: Apache-2.0 */
/* What the cache costs: a kernel from memory by its key, by its memo and by recording, with few and with many kernels; from
 * the folder, with digest and ELF gate, by size; written. Medians; the last two need an assembler.
 *     cache [KERNELS]     many kernels: this number, 5000 without it (35 kB each)
 *     cache fake KERNELS  GPU kernels by the drivers that tests have, a million of them in some minutes:
 *                         FAKE_CUDA_GPUS=1 LD_LIBRARY_PATH=build/release/fake, and build/release/fake-ptx.so is made
 *     cache table [KERNELS [CACHED]]  likewise: all that the cache may cost and how it may grow, with the limits beside;
 *                         a million kernels in memory, 100000 in a folder in /dev/shm (400 MB), some minutes */
#include "common.h"
#include "matrices.h"
#ifdef __x86_64__
#include <cpuid.h>
#endif
#include <pthread.h>
#include <sett/cache.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
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

/* Each number has a grid of its own. */
static void matrices_body(sett_build *b, const void *user)
{
    const variant *v = user;
    sett_val *size[4];
    six_matrices(b, size);
    sett_grid(b, sett_ceil_div(size[1], v->number + 1), size[0]);
}

/* Kernels whose memory is measured. */
typedef struct held {
    const char *what;
    sett_body body;
    bool own, launched; /* own: each has a name */
    int most, share;    /* bytes of cubins, 4 KiB to this; 0: 64. How many: of CACHED a share */
} held;
static const held helds[] = {
    {"memory of a cached kernel beside its cubin, its places included: one tensor, without a name", body, false, false, 0, 1},
    {"the same of kernels with a name each", body, true, false, 0, 1},
    {"the same of kernels with six matrices (14 symbols), three numbers and a name each, cubins of 4 to 40 KiB", matrices_body, true, false, 40960, 20},
    {"the same, each launched once, with what the tests' driver keeps of each", matrices_body, true, true, 40960, 20},
};
static const held *kind = &helds[0];

static sett_compile_options options(const variant *v, const char *target, bool memo)
{
    static _Thread_local char name[40];
    if (kind->own)
        snprintf(name, sizeof name, "kernel_%lld", (long long)v->number);
    return (sett_compile_options){.size = sizeof(sett_compile_options), .target = target, .user = v,
        .user_size = memo ? sizeof *v : 0, .name = kind->own ? name : NULL};
}

static sett_kernel *compile(sett_engine *e, const variant *v, const char *target, bool memo)
{
    const sett_compile_options o = options(v, target, memo);
    sett_kernel *k;
    sett_error err; /* as it is: half a KiB of zeros would take as long as a hit */
    must(sett_compile(e, kind->body, &o, &k, &err), &err);
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
        char bytes[20];
        snprintf(bytes, sizeof bytes, "%d", kind->most ? 4096 + (int)(i * 2654435761u % (unsigned)(kind->most - 4095)) : 64);
        setenv("FAKE_CUDA_CUBIN", bytes, 1);
        sett_kernel *k = compile(e, &v, target, true);
        sett_kernel_query(k, &info);
        memcpy(key[i], info.key, sizeof info.key);
        sett_kernel_release(k);
    }
    unsetenv("FAKE_CUDA_CUBIN");
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

/* The median of us that a new engine takes to have a kernel of the folder. */
static double read_again(const char *folder, const uint8_t key[32])
{
    static double read[HITS];
    for (int i = 0; i < HITS; i++) {
        sett_engine *e = open_engine(folder);
        sett_kernel *k;
        sett_error err = {0};
        double start = now_us();
        must(sett_kernel_get(e, key, &k, &err), &err);
        read[i] = now_us() - start;
        sett_kernel_release(k);
        sett_engine_close(e);
    }
    return quantile(read, HITS, 0.5);
}

/* One kernel of so many lines: compiled and written, then read by as many new engines. */
static bool disk(const char *folder, int64_t lines)
{
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
    printf("| a hit on disk: cubin of %zu bytes, digest and ELF gate | %.0f us |\n", size, read_again(folder, key));
    return true;
}

/* ---- the table: what the cache may cost, and how it may grow ----------------------------------------------------- */
/* With the drivers that tests have, whose code is a header of 64 bytes; what is theirs is not loaded where memory is counted. */
enum { TABLE_MANY = 1000000, TABLE_CACHED = 100000, TABLE_PACK = 10000, HOT = 1000, WARM = 500, WARM_LINES = 200 /* 400 ops */ };
static char scratch[] = "/dev/shm/sett-bench-XXXXXX"; /* in memory: a disk's own time is not the cache's */

static void row(const char *what, double figure, double limit, const char *unit)
{
    printf("| %s | %.*f %s | ", what, figure < 10 ? 2 : 0, figure, unit);
    if (limit > 0)
        printf("%.4g | %s |\n", limit, figure <= limit ? "ok" : "over");
    else
        printf("- | |\n");
    fflush(stdout);
}

/* What this machine takes for one line of memory, which no table does without: a chase through as many lines as there are
 * kernels, in pages as large as it has. */
static double one_line(size_t n)
{
    enum { LINE = 8, STEPS = 200000 };
    size_t bytes = n * LINE * sizeof(uint64_t);
    uint64_t *line = aligned_alloc(1 << 21, (bytes + (1 << 21) - 1) >> 21 << 21), at = 0, seed = 99;
    if (!line)
        return 0;
    madvise(line, bytes, MADV_HUGEPAGE);
    for (size_t i = 0; i < n; i++)
        line[i * LINE] = i;
    for (size_t i = n - 1; i > 0; i--) { /* one cycle through all */
        size_t j = (random_next(&seed) >> 20) % i;
        uint64_t t = line[i * LINE];
        line[i * LINE] = line[j * LINE], line[j * LINE] = t;
    }
    double best = 1e9;
    for (int round = 0; round < 5; round++) {
        double start = now_us();
        for (int i = 0; i < STEPS; i++)
            at = line[at * LINE];
        double ns = (now_us() - start) * 1e3 / STEPS;
        best = ns < best ? ns : best;
    }
    free(line);
    return at == n ? 0 : best;
}

/* ns of a compile of one of n bodies that are in memory, but for its recording: as the engine counts that, of the same compiles.
 * recording, unless NULL: that of one. */
static double beyond_recording(sett_engine *e, int n, int64_t lines, double *recording)
{
    static double sample[SAMPLES], recorded[SAMPLES];
    const int samples = lines > WARM_LINES ? SAMPLES / 10 : SAMPLES;
    sett_stats st[2] = {{.size = sizeof st[0]}, {.size = sizeof st[0]}};
    uint64_t seed = 777;
    for (int i = 0; i < samples; i++) {
        sett_engine_stats(e, &st[0]);
        double start = now_us();
        for (int j = 0; j < BATCH; j++) {
            const variant v = {(int64_t)((random_next(&seed) >> 20) % (uint64_t)n), lines};
            sett_kernel_release(compile(e, &v, target, false));
        }
        double ns = (now_us() - start) * 1e3;
        sett_engine_stats(e, &st[1]);
        recorded[i] = (double)(st[1].record_ns - st[0].record_ns) / BATCH;
        sample[i] = ns / BATCH - recorded[i];
    }
    if (recording)
        *recording = quantile(recorded, samples, 0.5);
    return quantile(sample, samples, 0.5);
}

/* ns of a prepared launch: calls of as many kernels, spread over all, in turn. */
static double launches(sett_engine *e, const uint8_t (*key)[32], int n)
{
    static double sample[SAMPLES];
    static sett_prepared *call[HOT];
    static int32_t memory[32];
    const sett_buf X = sett_buf_1d(memory, SETT_I32, 32);
    sett_error err = {0};
    for (int i = 0; i < HOT; i++) {
        sett_kernel *k;
        must(sett_kernel_get(e, key[(int64_t)i * n / HOT], &k, &err), &err);
        must(sett_prepared_make(k, 0, &call[i], &err, &X), &err);
        sett_kernel_release(k);
    }
    for (int i = 0; i < SAMPLES; i++) {
        double start = now_us();
        for (int j = 0; j < BATCH; j++)
            must(sett_prepared_run(call[(i * BATCH + j) % HOT], (sett_stream){0, NULL}), NULL);
        sample[i] = (now_us() - start) * 1e3 / BATCH;
    }
    for (int i = 0; i < HOT; i++)
        sett_prepared_free(call[i]);
    return quantile(sample, SAMPLES, 0.5);
}

enum { OWN = 16, TOGETHER = 200000, THREADS = 4 };
typedef struct hitter {
    sett_engine *e;
    const uint8_t (*key)[32];
    int64_t first;
    way w;
    pthread_barrier_t *start;
    double ns;
} hitter;

static void *hit_own(void *user)
{
    hitter *h = user;
    pthread_barrier_wait(h->start);
    double start = now_us();
    for (int i = 0; i < TOGETHER; i++) {
        const variant v = {h->first + i % OWN, 0};
        sett_kernel *k;
        if (h->w == BY_KEY)
            must(sett_kernel_get(h->e, h->key[v.number], &k, NULL), NULL);
        else
            k = compile(h->e, &v, target, true);
        sett_kernel_release(k);
    }
    h->ns = (now_us() - start) * 1e3 / TOGETHER;
    return NULL;
}

/* ns of one hit of threads at once, each among kernels of its own: the mean of the slowest, at best. */
static double hits_together(sett_engine *e, const uint8_t (*key)[32], int n, way w)
{
    double best = 1e9;
    for (int round = 0; round < 7; round++) {
        hitter h[THREADS];
        pthread_t id[THREADS];
        pthread_barrier_t start;
        double ns = 0;
        pthread_barrier_init(&start, NULL, (unsigned)n);
        for (int i = 0; i < n; i++) {
            h[i] = (hitter){e, key, (int64_t)i * OWN, w, &start, 0};
            if (pthread_create(&id[i], NULL, hit_own, &h[i]))
                exit(1);
        }
        for (int i = 0; i < n; i++) {
            pthread_join(id[i], NULL);
            ns = h[i].ns > ns ? h[i].ns : ns;
        }
        pthread_barrier_destroy(&start);
        best = ns < best ? ns : best;
    }
    return best;
}

static void rows_together(sett_engine *e, const uint8_t (*key)[32])
{
    char what[100];
    for (way w = BY_KEY; w <= BY_MEMO; w++) {
        double alone = hits_together(e, key, 1, w);
        for (int n = 2; n <= THREADS && n <= sysconf(_SC_NPROCESSORS_ONLN); n += 2) {
            snprintf(what, sizeof what, "hits by %s of %d threads at once, each among 16 kernels of its own, to those of one (%.0f ns)", w == BY_KEY ? "key" : "the memo", n, alone);
            row(what, hits_together(e, key, n, w) / alone, 0, "times");
        }
    }
}

/* Without SHA instructions: NETTLE_FAT_OVERRIDE=vendor:intel. */
static void rows_of_sizes(sett_engine *e)
{
    static const int sizes[] = {20, 100, 400, 4000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char what[120];
        double recording, beyond = beyond_recording(e, 16, sizes[i] / 2, &recording);
        snprintf(what, sizeof what, "the same of a body of %d operations, which takes %.1f us to record", sizes[i], recording * 1e-3);
        row(what, beyond * 1e-3, 0, "us");
    }
}

static void table_of_memory(int many)
{
    uint8_t(*key)[32] = calloc((size_t)many, sizeof *key);
    uint8_t(*hot)[32] = calloc(HOT, sizeof *hot);
    sett_engine *e = open_engine("");
    double ns[2][2], launch[2], recorded[2];
    char what[100];
    if (!key || !hot)
        exit(1);
    if (sett_gpu_count(e) < 1) {
        fprintf(stderr, "no driver: FAKE_CUDA_GPUS=1 LD_LIBRARY_PATH=build/release/fake\n");
        exit(1);
    }
    for (int round = 0; round < 2; round++) {
        int n = round ? many : FEW;
        fill(e, key, round ? FEW : 0, n);
        ns[round][BY_KEY] = hit(e, (const uint8_t(*)[32])key, n, BY_KEY);
        ns[round][BY_MEMO] = hit(e, (const uint8_t(*)[32])key, n, BY_MEMO);
        recorded[round] = beyond_recording(e, n, 0, NULL);
        launch[round] = launches(e, (const uint8_t(*)[32])key, n);
        if (!round)
            rows_together(e, (const uint8_t(*)[32])key);
    }
    for (int i = 0; i < HOT; i++)
        memcpy(hot[i], key[(int64_t)i * many / HOT], sizeof hot[i]);
    row("a hit in memory by key, among 1000 kernels", ns[0][BY_KEY], 200, "ns");
    row("a hit by the memo, among 1000", ns[0][BY_MEMO], 200, "ns");
    row("`sett_compile` of a recorded body of 3 operations that is in memory, beyond its recording", recorded[0] * 1e-3, 0, "us");
    row("the same among all", recorded[1] * 1e-3, 0, "us");
    rows_of_sizes(e);
    snprintf(what, sizeof what, "a hit by key at random among %d", many);
    row(what, ns[1][BY_KEY], 0, "ns");
    row("the same to one among 1000", ns[1][BY_KEY] / ns[0][BY_KEY], 0, "times");
    row("a hit by key, of 1000 that are asked for among all of them", hit(e, (const uint8_t(*)[32])hot, HOT, BY_KEY), 2 * ns[0][BY_KEY], "ns");
    row("- one dependent line of memory here, of as many lines of 64 bytes", one_line((size_t)many), 0, "ns");
    row("a hit by the memo at random among all, to one among 1000", ns[1][BY_MEMO] / ns[0][BY_MEMO], 0, "times");
    row("a prepared launch of one of 1000 kernels, the driver's part next to nothing", launch[0], 0, "ns");
    row("the same with all of them in memory, to that", launch[1] / launch[0], 1.25, "times");
    sett_engine_close(e);
    free(key);
    free(hot);
}

typedef struct listed {
    uint8_t (*key)[32];
    int n, room;
} listed;

static bool list_key(void *user, const sett_cache_entry *entry)
{
    listed *l = user;
    if (l->n < l->room)
        memcpy(l->key[l->n++], entry->key, 32);
    return true;
}

static void launch_matrices(sett_kernel *k)
{
    static int64_t memory[64];
    sett_error err = {0};
    sett_launch_arg args[9];
    sett_buf buf[6];
    for (int i = 0; i < 6; i++) {
        buf[i] = i < 4 ? sett_buf_nd(memory, SETT_F16, 3, (const int64_t[]){2, 2, 8}) : sett_buf_2d(memory, SETT_F16, 2, 8);
        args[i] = sett_launch_arg_buf(&buf[i]);
    }
    args[6] = (sett_launch_arg){SETT_LAUNCH_ARG_FLOAT, .u = {.f = 0.5}};
    args[7] = args[6];
    args[8] = (sett_launch_arg){SETT_LAUNCH_ARG_INT, .u = {.i = 4}};
    must(sett_launch_n(k, (sett_stream){0, NULL}, 9, args, &err), &err);
}

/* In a process that has done nothing else: kernels of a folder, each asked for once. What they take in memory, and how often
 * the folder was read. */
static int cached_process(const char *folder, int n)
{
    const sett_engine_options o = {.size = sizeof o, .cache_dir = "", .cache_layers = folder, .plugin = plugin, .assembler = SETT_ASM_DRIVER};
    sett_cache_layer_info layer = {.size = sizeof layer};
    sett_kernel_info info = {.size = sizeof info};
    listed l = {calloc((size_t)n, 32), 0, n};
    sett_engine *e;
    sett_error err = {0};
    must(sett_engine_open(&e, &o, &err), &err);
    if (!l.key)
        return 1;
    must(sett_cache_walk(e, list_key, &l, &err), &err);
    double before = resident(), cubins = 0;
    for (int i = 0; i < l.n; i++) {
        sett_kernel *k;
        must(sett_kernel_get(e, l.key[i], &k, &err), &err);
        if (kind->launched)
            launch_matrices(k);
        sett_kernel_query(k, &info);
        cubins += (double)info.cubin_size;
        sett_kernel_release(k);
    }
    double bytes = (resident() - before - cubins) / l.n;
    sett_cache_layer(e, 0, &layer);
    row(kind->what, bytes, 4096, "bytes");
    if (kind == helds)
        row("reads of an entry by a warm start", (double)(layer.hits + layer.misses) / l.n, 1, "");
    sett_engine_close(e);
    free(l.key);
    return l.n == n ? 0 : 1;
}

/* This program again; its exit status. */
static int run_self(const char *self, const char *mode, const char *folder, int n, struct rusage *used)
{
    int status;
    char number[20], what[20];
    snprintf(number, sizeof number, "%d", n);
    snprintf(what, sizeof what, "%d", (int)(kind - helds));
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        execl("/proc/self/exe", self, mode, folder, n ? number : NULL, what, NULL);
        _exit(1);
    }
    return wait4(child, &status, 0, used) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* What kernels take that are read from a folder. */
static void table_of_cached(const char *self, int cached)
{
    struct rusage used;
    for (kind = helds; kind < helds + sizeof helds / sizeof *helds; kind++) {
        int n = (cached + kind->share - 1) / kind->share;
        char folder[100];
        uint8_t(*key)[32] = calloc((size_t)n, sizeof *key);
        snprintf(folder, sizeof folder, "%s/held-%d", scratch, kind->launched ? (int)(kind - helds) - 1 : (int)(kind - helds));
        if (!key)
            exit(1);
        if (!kind->launched) {
            sett_engine *e = open_engine(folder);
            fill(e, key, 0, n); /* of a name of its own has no key of its own */
            sett_engine_close(e);
        }
        free(key);
        if (run_self(self, "cached", folder, n, &used))
            exit(1);
    }
    kind = helds;
}

/* A pack of some kernels of a folder. */
static void table_of_pack(int n)
{
    static double with[21], without[21];
    uint8_t(*key)[32] = calloc((size_t)n, sizeof *key);
    char folder[100], pack[100];
    sett_error err = {0};
    snprintf(folder, sizeof folder, "%s/held-0", scratch);
    snprintf(pack, sizeof pack, "%s/some.settpack", scratch);
    sett_engine *e = open_engine(folder);
    if (!key)
        exit(1);
    fill(e, key, 0, n); /* for their keys: they are there */
    const sett_pack_options some = {.size = sizeof some, .keys = (const uint8_t(*)[32])key, .n_keys = n};
    must(sett_pack_write(e, pack, &some, NULL, &err), &err);
    sett_engine_close(e);
    for (int i = 0; i < 42; i++) {
        const sett_engine_options o = {.size = sizeof o, .cache_dir = "", .cache_layers = i % 2 ? pack : "", .plugin = plugin};
        double start = now_us();
        must(sett_engine_open(&e, &o, &err), &err);
        *(i % 2 ? &with[i / 2] : &without[i / 2]) = (now_us() - start) * 1e-3;
        sett_engine_close(e);
    }
    row("a pack of 10000 keys opened", quantile(with, 21, 0.5) - quantile(without, 21, 0.5), 10, "ms");
    free(key);
}

static void *warm_half(void *user)
{
    sett_engine *const *e = user;
    for (int64_t i = e[1] ? 1 : 0; i < WARM; i += 2) {
        const variant v = {i, WARM_LINES};
        sett_kernel_release(compile(e[0], &v, target, false));
    }
    return NULL;
}

/* The process that is measured, and the one that warms the folder: two threads ask for 500 kernels of 400 ops. */
static int warm_process(const char *folder)
{
    sett_engine *e = open_engine(folder), *of[2][2] = {{e, NULL}, {e, e}};
    pthread_t id[2];
    for (int i = 0; i < 2; i++)
        if (pthread_create(&id[i], NULL, warm_half, of[i]))
            return 1;
    for (int i = 0; i < 2; i++)
        pthread_join(id[i], NULL);
    sett_stats st = {.size = sizeof st};
    sett_engine_stats(e, &st);
    sett_engine_close(e);
    return st.disk_hits == WARM ? 3 : 0; /* 3: all of them were there */
}

static double warm_cpu(const char *self)
{
    char folder[100];
    double ms = 0;
    snprintf(folder, sizeof folder, "%s/warm", scratch);
    for (int round = 0; round < 2; round++) {
        struct rusage used;
        if (run_self(self, "warm", folder, 0, &used) != 3 * round)
            exit(1);
        ms = 1e3 * (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + 1e-3 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    }
    return ms;
}

/* A cubin of 64 KiB by the stand-in of an assembler. */
static double disk_hit(void)
{
    char folder[100];
    const variant v = {1, 400};
    uint8_t key[32];
    snprintf(folder, sizeof folder, "%s/large", scratch);
    setenv("FAKE_CUDA_CUBIN", "65536", 1);
    sett_engine *e = open_engine(folder);
    sett_kernel *k = compile(e, &v, target, false);
    sett_kernel_info info = {.size = sizeof info};
    sett_kernel_query(k, &info);
    memcpy(key, info.key, sizeof key);
    if (info.cubin_size != 65536)
        exit(1);
    sett_kernel_release(k);
    sett_engine_close(e);
    unsetenv("FAKE_CUDA_CUBIN");
    return read_again(folder, key);
}

static bool sha_instructions(void)
{
#ifdef __x86_64__
    unsigned a, b = 0, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && b >> 29 & 1;
#else
    return false;
#endif
}

static int table(const char *self, int many, int cached)
{
    char command[100];
    if (!mkdtemp(scratch))
        return 1;
    printf("| | measured | at most | |\n|---|---|---|---|\n");
    table_of_cached(self, cached);
    table_of_pack(cached < TABLE_PACK ? cached : TABLE_PACK);
    row(sha_instructions() ? "a hit on disk: 64 KiB, digest and ELF gate (SHA instructions)" : "a hit on disk: 64 KiB, digest and ELF gate (no SHA instructions)",
        disk_hit(), sha_instructions() ? 150 : 450, "us");
    row("500 warm kernels of 400 ops, a new process with two threads: CPU", warm_cpu(self), 250, "ms");
    table_of_memory(many);
    printf("\nWithout a GPU or an assembler: drivers stand in, and a cubin is an ELF header with zeros behind. Hits on disk of real\n"
           "cubins are `bench/cache`'s, with an assembler; launches into a real driver `bench/issue`'s.\n");
    snprintf(command, sizeof command, "rm -rf %s", scratch);
    return system(command) != 0;
}

static void use_stand_ins(const char *self)
{
    char path[4000];
    snprintf(path, sizeof path, "%.*s../fake-ptx.so", (int)(strrchr(self, '/') - self) + 1, self);
    plugin = realpath(path, NULL);
    target = "sm_90a";
    if (!plugin)
        exit(1);
}

static int usage(void)
{
    fprintf(stderr, "usage: cache [KERNELS]\n"
                    "       cache fake KERNELS\n"
                    "       cache table [KERNELS [CACHED]]\n"
                    "KERNELS: more than %d in memory; CACHED: some in a folder. fake and table take the drivers that tests have:\n"
                    "FAKE_CUDA_GPUS=1 LD_LIBRARY_PATH=build/release/fake build/release/bench/cache table\n", FEW);
    return 2;
}

/* 0: it is no number of at least that. */
static int number(const char *text, int least)
{
    char *end;
    long n = strtol(text, &end, 10);
    return *text && !*end && n >= least && n <= 100000000 ? (int)n : 0;
}

/* As run_self() calls it. */
static int child(const char *self, int n, char **arg)
{
    use_stand_ins(self);
    if (!strcmp(arg[0], "cached") && n == 4 && number(arg[2], 1)) {
        kind = &helds[(size_t)atoi(arg[3]) % (sizeof helds / sizeof *helds)];
        return cached_process(arg[1], number(arg[2], 1));
    }
    return n == 2 ? warm_process(arg[1]) : usage();
}

static int of_the_folder(void)
{
    char folder[] = "/tmp/sett-bench-XXXXXX", command[100];
    if (!mkdtemp(folder))
        return 1;
    printf("\n| from the folder | median |\n|---|---|\n");
    bool ok = disk(folder, 0) && disk(folder, 400) && disk(folder, 2500);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) || !ok;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    bool fake = !strcmp(mode, "fake"), all = !strcmp(mode, "table");
    if (!strcmp(mode, "cached") || !strcmp(mode, "warm"))
        return child(argv[0], argc - 1, argv + 1);
    const int first = fake || all ? 2 : 1; /* number */
    int many = argc > first ? number(argv[first], FEW + 1) : all ? TABLE_MANY : fake ? 0 : 5000;
    int cached = argc > 3 ? number(argv[3], 1) : TABLE_CACHED;
    if (!many || !cached || argc > (all ? 4 : first + 1))
        return usage();
    if (fake || all)
        use_stand_ins(argv[0]);
    if (all)
        return table(argv[0], many, cached);
    memory(many);
    return fake ? 0 : of_the_folder();
}
