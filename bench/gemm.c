/* SPDX-License-Identifier: Apache-2.0 */
/* C = A B^T of bf16 by the tapes of tests/tape and by sett_gemm_wgmma of libsett-kernels, assembled by ptxas and by nvJitLink, beside cuBLAS and other kernels of the same
 * contract, in one run on one GPU. Random normal data, segments of launches that follow each other on SETS sets of operands in turn, so that
 * no launch finds in the cache what the one before it touched; all ways in random order each round; medians, and medians of the paired
 * ratios to cuBLAS. Prints Markdown.
 *
 *     gemm [REFERENCE_FOLDER]         the table; with gemm_coop.ptx, gemm_coop_one_producer_warp.ptx, gemm_pingpong.ptx of the folder
 *     gemm check                      results alone, at shapes that end within tiles too
 *     gemm compile                    times of body to PTX and of both assemblers, without a GPU
 *
 * cuBLAS is libcublas.so.13 or .12 where the loader finds it, or $CUBLAS. It runs in the folder of the sources. */
#include "common.h"
#include <math.h>
#include <sett/kernels.h>
#include <unistd.h>

enum { ROUNDS = 9, LAUNCHES = 42, SETS = 3 /* of at least 130 MB each where times are taken */, MAX_WAYS = 10, TURNS_SPARE = 4, SECONDS = 20, GUARD = 4096 };

/* ---- what the driver and cuBLAS are asked for -------------------------------------------------- */
typedef struct gpu {
    driver drv;
    int (*encode)(void *, int, unsigned, void *, const uint64_t *, const uint64_t *, const unsigned *, const unsigned *, int, int, int, int);
    int (*attribute)(int, int, void *, int), (*event_make)(void **, unsigned), (*event_record)(void *, void *);
    int (*event_wait)(void *), (*elapsed)(float *, void *, void *);
    int (*blas)(void *, int, int, int, int, int, const void *, const void *, int, int, const void *, int, int, const void *, void *, int, int, int, int);
    void *blas_handle, *event[2];
} gpu;

static void die(const char *what)
{
    fprintf(stderr, "gemm: %s\n", what);
    exit(1);
}

static void *named(void *so, const char *name)
{
    void *p = dlsym(so, name);
    if (!p)
        die(name);
    return p;
}

static void open_gpu(gpu *g)
{
    if (!driver_start(&g->drv))
        die("no GPU driver");
    void *so = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    *(void **)&g->encode = named(so, "cuTensorMapEncodeTiled"), *(void **)&g->attribute = named(so, "cuKernelSetAttribute");
    *(void **)&g->event_make = named(so, "cuEventCreate"), *(void **)&g->event_record = named(so, "cuEventRecord");
    *(void **)&g->event_wait = named(so, "cuEventSynchronize"), *(void **)&g->elapsed = named(so, "cuEventElapsedTime");
    g->event_make(&g->event[0], 0), g->event_make(&g->event[1], 0);
}

static void open_blas(gpu *g)
{
    const char *names[] = {getenv("CUBLAS"), "libcublas.so.13", "libcublas.so.12"};
    void *so = NULL;
    for (int i = 0; i < 3 && !so; i++)
        so = names[i] ? dlopen(names[i], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!so)
        die("no libcublas.so.13 or .12: $CUBLAS may name it");
    int (*make)(void **);
    *(void **)&make = named(so, "cublasCreate_v2"), *(void **)&g->blas = named(so, "cublasGemmEx");
    if (make(&g->blas_handle))
        die("cublasCreate failed");
}

/* ---- one problem --------------------------------------------------------------------------------- */
typedef struct problem {
    int m, n, k;
    uint16_t *a, *b, *c;         /* on the host; c has GUARD elements more */
    struct set {
        sett_buf A, B, C;
        void *want;              /* cuBLAS's C, on the device */
    } set[SETS];
} problem;
typedef struct set set;

static float of_bf16(uint16_t x)
{
    uint32_t bits = (uint32_t)x << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static uint16_t to_bf16(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* Normal numbers: a period that is prime, so that no two rows are alike. */
static void fill(uint16_t *to, size_t n, uint64_t seed)
{
    enum { PERIOD = 1048573 };
    for (size_t i = 0; i < n && i < PERIOD; i++) {
        double u = (double)(random_next(&seed) >> 11) * 0x1p-53 + 0x1p-54, v = (double)(random_next(&seed) >> 11) * 0x1p-53;
        to[i] = to_bf16((float)(sqrt(-2 * log(u)) * cos(6.283185307179586 * v)));
    }
    for (size_t i = PERIOD; i < n; i++)
        to[i] = to[i - PERIOD];
}

static void *on_device(sett_engine *e, const void *from, size_t bytes)
{
    void *p = sett_alloc(e, 0, bytes);
    if (!p)
        die("no memory on the device");
    must(sett_memcpy(e, (sett_stream){0, NULL}, p, from, bytes), NULL);
    return p;
}

static problem make_problem(sett_engine *e, int m, int n, int k)
{
    problem p = {.m = m, .n = n, .k = k};
    size_t na = (size_t)m * k, nb = (size_t)n * k, nc = (size_t)m * n + GUARD;
    p.a = malloc(2 * na), p.b = malloc(2 * nb), p.c = malloc(2 * nc);
    if (!p.a || !p.b || !p.c)
        die("no memory");
    fill(p.a, na, 88172645463325252u);
    fill(p.b, nb, 1442695040888963407u);
    memset(p.c, 0xff, 2 * nc); /* NaN */
    for (int i = 0; i < SETS; i++)
        p.set[i] = (set){.A = sett_buf_2d(on_device(e, p.a, 2 * na), SETT_BF16, m, k), .B = sett_buf_2d(on_device(e, p.b, 2 * nb), SETT_BF16, n, k),
            .C = sett_buf_2d(on_device(e, p.c, 2 * nc), SETT_BF16, m, n), .want = on_device(e, p.c, 2 * nc)};
    return p;
}

static void free_problem(sett_engine *e, problem *p)
{
    for (const set *s = p->set; s < p->set + SETS; s++)
        sett_free(e, 0, s->A.data), sett_free(e, 0, s->B.data), sett_free(e, 0, s->C.data), sett_free(e, 0, s->want);
    free(p->a), free(p->b), free(p->c);
}

/* ---- tiles in Hilbert's order ----------------------------------------------------------------------- */
static void hilbert(int side, int d, int *x, int *y)
{
    *x = *y = 0;
    for (int s = 1; s < side; s *= 2, d /= 4) {
        int rx = 1 & (d / 2), ry = 1 & (d ^ rx);
        if (!ry) {
            if (rx)
                *x = s - 1 - *x, *y = s - 1 - *y;
            int t = *x;
            *x = *y, *y = t;
        }
        *x += s * rx, *y += s * ry;
    }
}

typedef struct order {
    int rounds, clusters;
    sett_buf T; /* (rounds, clusters), and rows of -1 behind */
} order;

/* Tiles of 256 rows and so many columns, for the clusters of two that a GPU of 132 multiprocessors holds. */
static order make_order(sett_engine *e, const problem *p, int columns)
{
    enum { MOST = 66 };
    int tm = (p->m + 255) / 256, tn = (p->n + columns - 1) / columns, side = 1, n = 0;
    order o = {.rounds = (tm * tn + MOST - 1) / MOST};
    o.clusters = (tm * tn + o.rounds - 1) / o.rounds;
    int32_t *t = malloc(sizeof *t * (size_t)(o.rounds + TURNS_SPARE) * o.clusters);
    while (side < tm || side < tn)
        side *= 2;
    for (int d = 0, x, y; d < side * side; d++) {
        hilbert(side, d, &x, &y);
        if (x < tm && y < tn)
            t[n++] = x << 16 | y;
    }
    while (n < (o.rounds + TURNS_SPARE) * o.clusters)
        t[n++] = -1;
    o.T = sett_buf_2d(on_device(e, t, sizeof *t * (size_t)n), SETT_I32, o.rounds, o.clusters);
    free(t);
    return o;
}

/* ---- ways --------------------------------------------------------------------------------------------- */
typedef struct way {
    const char *name;
    const char *file;         /* of a reference; else the tape's */
    sett_assembler assembler; /* of a tape */
    int columns;              /* of a tile */
    bool no_order;            /* it takes no tiles' order */
    sett_body body;           /* in place of a file: a kernel of libsett-kernels */
    unsigned threads, smem, box[3]; /* of a reference */
    sett_kernel *kernel;
    void *raw;
    raw_config config;
    struct bound {            /* to a set */
        sett_prepared *call;
        _Alignas(64) unsigned char map[3][128];
        void *table, *bias;
        int clusters, kblocks;
        float scale;
    } bound[SETS];
} way;

static way ways[] = {
    {.name = "cuBLAS"},
    {.name = "gemm_wgmma, ptxas", .file = "tests/tape/gemm_wgmma.tape", .assembler = SETT_ASM_PTXAS, .columns = 256},
    {.name = "gemm_wgmma, nvJitLink", .file = "tests/tape/gemm_wgmma.tape", .assembler = SETT_ASM_NVJITLINK, .columns = 256},
    {.name = "gemm_wgmma_pingpong, ptxas", .file = "tests/tape/gemm_wgmma_pingpong.tape", .assembler = SETT_ASM_PTXAS, .columns = 128},
    {.name = "gemm_wgmma_pingpong, nvJitLink", .file = "tests/tape/gemm_wgmma_pingpong.tape", .assembler = SETT_ASM_NVJITLINK, .columns = 128},
    {.name = "gemm_mma, ptxas", .file = "tests/tape/gemm_mma.tape", .assembler = SETT_ASM_PTXAS, .columns = 256, .no_order = true},
    {.name = "gemm_mma, nvJitLink", .file = "tests/tape/gemm_mma.tape", .assembler = SETT_ASM_NVJITLINK, .columns = 256, .no_order = true},
    {.name = "sett_gemm_wgmma, ptxas", .body = sett_gemm_wgmma, .assembler = SETT_ASM_PTXAS, .columns = 256, .no_order = true},
    {.name = "sett_gemm_wgmma, nvJitLink", .body = sett_gemm_wgmma, .assembler = SETT_ASM_NVJITLINK, .columns = 256, .no_order = true},
    {.name = "gemm_coop.ptx", .columns = 256, .threads = 384, .smem = 213072, .box = {128, 128, 64}},
    {.name = "gemm_coop_one_producer_warp.ptx", .columns = 256, .threads = 288, .smem = 229472, .box = {128, 128, 64}},
    {.name = "gemm_pingpong.ptx", .columns = 128, .threads = 384, .smem = 229488, .box = {128, 64, 128}},
};
enum { N_WAYS = sizeof ways / sizeof *ways, FIRST_REFERENCE = 9 };

static char *read_text(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *text = calloc(1, 1 << 17);
    if (!f || !text || !fread(text, 1, (1 << 17) - 1, f)) {
        fprintf(stderr, "gemm: cannot read %s: it runs in the folder of the sources\n", path);
        exit(1);
    }
    fclose(f);
    return text;
}

static sett_engine *engine_of(sett_assembler a, bool gpus)
{
    sett_engine *e;
    sett_error err = {0};
    sett_engine_options eo = {.size = sizeof eo, .cache_dir = "", .assembler = a, .no_gpu = !gpus};
    must(sett_engine_open(&e, &eo, &err), &err);
    return e;
}

/* A body is recorded anew each time: another number of clusters is another kernel. */
static sett_kernel *compiled_body(sett_engine *e, sett_body body, int clusters)
{
    sett_error err = {0};
    sett_kernel *k;
    sett_gemm_wgmma_options o = {.size = sizeof o, .dtype = SETT_BF16, .no_pdl = 1, .tuning = {.clusters = clusters}};
    must(sett_kernels_compile(e, body, &o, "sm_90a", &k, &err), &err);
    return k;
}

static sett_kernel *compiled(sett_engine *e, const way *w, sett_kernel_info *info)
{
    sett_error err = {0};
    sett_kernel *k = w->body ? compiled_body(e, w->body, 0) : NULL;
    char *text = w->body ? NULL : read_text(w->file);
    sett_compile_options o = {.size = sizeof o, .target = "sm_90a"};
    if (text)
        must(sett_compile_tape(e, text, strlen(text), &o, &k, &err), &err);
    free(text);
    *info = (sett_kernel_info){.size = sizeof *info};
    must(sett_kernel_query(k, info), NULL);
    return k;
}

static void load_ways(gpu *g, sett_engine *const engine[2], const char *folder)
{
    enum { DYNAMIC_SMEM = 8 };
    char path[1000];
    sett_kernel_info info;
    for (int i = 1; i < N_WAYS; i++) {
        way *w = &ways[i];
        if (i < FIRST_REFERENCE) {
            w->kernel = compiled(engine[w->assembler == SETT_ASM_PTXAS], w, &info);
            fprintf(stderr, "%s: %s, %d registers, spills %d + %d, stack %d\n", w->name, info.assembler, info.registers, info.spill_stores, info.spill_loads, info.stack);
        } else if (folder) {
            snprintf(path, sizeof path, "%s/%s", folder, w->name);
            char *text = read_text(path);
            if (!(w->raw = driver_kernel(&g->drv, text)) || g->attribute(DYNAMIC_SMEM, (int)w->smem, w->raw, 0))
                die(path);
            free(text);
        }
    }
}

static void encode(const gpu *g, void *to, const sett_buf *t, unsigned rows)
{
    enum { BF16 = 9, NONE = 0, SWIZZLE_128 = 3, L2_128 = 2, ZEROS = 0 };
    const uint64_t dim[2] = {(uint64_t)t->shape[1], (uint64_t)t->shape[0]}, stride = 2 * (uint64_t)t->shape[1];
    if (g->encode(to, BF16, 2, t->data, dim, &stride, (unsigned[]){64, rows}, (unsigned[]){1, 1}, NONE, SWIZZLE_128, L2_128, ZEROS))
        die("cuTensorMapEncodeTiled failed");
}

static void bind(const gpu *g, way *w, const problem *p, const order *o, int i)
{
    sett_error err = {0};
    const set *s = &p->set[i];
    struct bound *to = &w->bound[i];
    if (w->kernel && w->no_order) {
        must(sett_prepared_make(w->kernel, 0, &to->call, &err, &s->A, &s->B, &s->C), &err);
    } else if (w->kernel) {
        must(sett_prepared_make(w->kernel, 0, &to->call, &err, &s->A, &s->B, &s->C, &o->T), &err);
    } else if (w->raw) {
        encode(g, to->map[0], &s->A, w->box[0]);
        encode(g, to->map[1], &s->B, w->box[1]);
        encode(g, to->map[2], &s->C, w->box[2]);
        to->table = o->T.data, to->bias = s->A.data, to->clusters = o->clusters, to->kblocks = (p->k + 63) / 64, to->scale = 1;
        w->config = (raw_config){.grid = {2 * (unsigned)o->clusters, 1, 1}, .block = {w->threads, 1, 1}, .smem = w->smem};
    }
}

static bool can(const way *w)
{
    return w->kernel || w->raw || !w->columns;
}

static void launch(const gpu *g, way *w, const problem *p, int i)
{
    enum { TRANSPOSED = 1, PLAIN = 0, BF16 = 14, COMPUTE_32F = 68, DEFAULT = -1 };
    static const float one = 1, zero = 0;
    const set *s = &p->set[i];
    struct bound *b = &w->bound[i];
    int bad;
    if (w->kernel) {
        bad = sett_prepared_run(b->call, (sett_stream){0, NULL});
    } else if (w->raw) {
        void *arg[] = {b->map[0], b->map[1], b->map[2], &b->table, &b->clusters, &b->kblocks, &b->bias, &b->scale};
        bad = g->drv.launch(&w->config, w->raw, arg, NULL);
    } else {
        bad = g->blas(g->blas_handle, TRANSPOSED, PLAIN, p->n, p->m, p->k, &one, s->B.data, BF16, p->k, s->A.data, BF16, p->k, &zero, s->want, BF16, p->n,
            COMPUTE_32F, DEFAULT);
    }
    if (bad)
        die(w->name);
}

/* ---- results --------------------------------------------------------------------------------------------- */
static double exact(const problem *p, int i, int j, double *size)
{
    double sum = 0;
    *size = 0;
    for (int k = 0; k < p->k; k++) {
        double x = (double)of_bf16(p->a[(size_t)i * p->k + k]) * of_bf16(p->b[(size_t)j * p->k + k]);
        sum += x, *size += fabs(x);
    }
    return sum;
}

/* How many elements are wrong, of 4000 samples, or of all where C is small; elements behind C that were written count too. */
static long wrong(const problem *p, const uint16_t *c)
{
    const size_t n = (size_t)p->m * p->n;
    uint64_t seed = 77;
    const bool all = n * (size_t)p->k < (size_t)2e9;
    long bad = 0;
    for (size_t s = 0; s < (all ? n : 4000); s++) {
        size_t at = all ? s : random_next(&seed) % n;
        double size, x = exact(p, (int)(at / p->n), (int)(at % p->n), &size), y = of_bf16(c[at]);
        bool right = fabs(x - y) <= fabs(x) * 0x1p-8 + size * 0x1p-20;
        bad += !right;
        if (!right && bad < 4)
            fprintf(stderr, "    C(%zu,%zu) is %g, not %g\n", at / p->n, at % p->n, y, x);
    }
    for (size_t i = n; i < n + GUARD; i++)
        bad += c[i] != 0xffff;
    return bad;
}

/* Each way's result beside the plain one, and bit by bit beside cuBLAS's. */
static bool check(const gpu *g, sett_engine *e, problem *p, int i, uint16_t *first)
{
    const size_t n = (size_t)p->m * p->n;
    way *w = &ways[i];
    uint16_t *c = i ? malloc(2 * (n + GUARD)) : first;
    long differ = 0;
    void *to = i ? p->set[0].C.data : p->set[0].want;
    must(sett_memcpy(e, (sett_stream){0, NULL}, to, p->c, 2 * (n + GUARD)), NULL);
    alarm(SECONDS);
    launch(g, w, p, 0);
    if (g->drv.sync())
        die(w->name);
    alarm(0);
    must(sett_memcpy(e, (sett_stream){0, NULL}, c, to, 2 * (n + GUARD)), NULL);
    must(sett_sync(e, (sett_stream){0, NULL}), NULL);
    long bad = wrong(p, c);
    for (size_t k = 0; k < n; k++)
        differ += c[k] != first[k];
    fprintf(stderr, "  %-32s %ld wrong, %ld of %zu differ from cuBLAS\n", w->name, bad, differ, n);
    if (i)
        free(c);
    return !bad;
}

/* ---- times ------------------------------------------------------------------------------------------------- */
static double segment(const gpu *g, way *w, const problem *p)
{
    float ms = 0;
    alarm(SECONDS);
    g->event_record(g->event[0], NULL);
    for (int i = 0; i < LAUNCHES; i++)
        launch(g, w, p, i % SETS);
    g->event_record(g->event[1], NULL);
    if (g->event_wait(g->event[1]) || g->elapsed(&ms, g->event[0], g->event[1]))
        die(w->name);
    alarm(0);
    return (double)ms * 1e3 / LAUNCHES;
}

static void print_times(const problem *p, double us[N_WAYS][ROUNDS])
{
    double ratio[ROUNDS], sorted[ROUNDS];
    printf("\n%d x %d x %d, bf16\n\n| kernel | us | TFLOP/s | cuBLAS's time over its own (p10, p90) |\n| --- | --- | --- | --- |\n", p->m, p->n, p->k);
    for (int i = 0; i < N_WAYS; i++) {
        if (!can(&ways[i]))
            continue;
        for (int r = 0; r < ROUNDS; r++)
            ratio[r] = us[0][r] / us[i][r], sorted[r] = us[i][r];
        double t = quantile(sorted, ROUNDS, 0.5), mid = quantile(ratio, ROUNDS, 0.5);
        printf("| %s | %.1f | %.0f | %.3f (%.3f, %.3f) |\n", ways[i].name, t, 2e-6 * p->m * p->n * p->k / t, mid, quantile(ratio, ROUNDS, 0.1),
            quantile(ratio, ROUNDS, 0.9));
    }
    fflush(stdout);
}

static void measure(const gpu *g, const problem *p)
{
    static double us[N_WAYS][ROUNDS];
    uint64_t seed = 4711;
    for (int r = -1; r < ROUNDS; r++) { /* the first warms up */
        int turn[N_WAYS];
        for (int i = 0; i < N_WAYS; i++) {
            int k = (int)(random_next(&seed) % (uint64_t)(i + 1));
            turn[i] = turn[k], turn[k] = i;
        }
        for (int i = 0; i < N_WAYS; i++)
            if (can(&ways[turn[i]]))
                us[turn[i]][r < 0 ? 0 : r] = segment(g, &ways[turn[i]], p);
    }
    print_times(p, us);
}

/* One shape: results of all ways, then their times. */
static bool run_shape(const gpu *g, sett_engine *e, int m, int n, int k, bool timed)
{
    problem p = make_problem(e, m, n, k);
    order wide = make_order(e, &p, 256), narrow = make_order(e, &p, 128);
    uint16_t *first = malloc(2 * ((size_t)m * n + GUARD));
    bool right = true;
    fprintf(stderr, "%d x %d x %d: %d x %d and %d x %d tiles\n", m, n, k, wide.rounds, wide.clusters, narrow.rounds, narrow.clusters);
    for (int i = 0; i < N_WAYS; i++) {
        if (!can(&ways[i]))
            continue;
        for (int s = 0; s < SETS; s++)
            bind(g, &ways[i], &p, ways[i].columns == 256 ? &wide : &narrow, s);
        right &= check(g, e, &p, i, first);
    }
    if (timed)
        measure(g, &p);
    for (int i = 0; i < N_WAYS; i++)
        for (struct bound *b = ways[i].bound; b < ways[i].bound + SETS; b++)
            if (b->call)
                sett_prepared_free(b->call), b->call = NULL;
    free(first);
    sett_free(e, 0, wide.T.data), sett_free(e, 0, narrow.T.data);
    free_problem(e, &p);
    return right;
}

/* ---- compiling ------------------------------------------------------------------------------------------------ */
static sett_kernel *compiled_anew(sett_engine *e, const char *file, int r)
{
    char *text = read_text(file);
    sett_error err = {0};
    sett_kernel *k;
    sett_compile_options o = {.size = sizeof o, .target = "sm_90a"};
    size_t len = strlen(text);
    snprintf(text + len, 60, "\n%%9999 = const i32 %d\n", r + 7); /* another key */
    must(sett_compile_tape(e, text, strlen(text), &o, &k, &err), &err);
    free(text);
    return k;
}

static void compile_times(void)
{
    enum { TIMES = 15 };
    printf("| kernel, assembler | to PTX, ms, the first | the median of %d more | of it record and hash | assembler, ms |\n| --- | --- | --- | --- | --- |\n", TIMES);
    for (int i = 1; i < FIRST_REFERENCE; i++) {
        double ptx[TIMES], cubin[TIMES], record[TIMES], cold = 0;
        sett_engine *e = engine_of(ways[i].assembler, false);
        for (int r = -1; r < TIMES; r++) {
            sett_kernel_info info = {.size = sizeof info};
            sett_kernel *k = ways[i].body ? compiled_body(e, ways[i].body, 50 + r) : compiled_anew(e, ways[i].file, r);
            must(sett_kernel_query(k, &info), NULL);
            double t = info.record_ms + info.codegen_ms;
            if (r < 0)
                cold = t;
            else
                ptx[r] = t, cubin[r] = info.assemble_ms, record[r] = info.record_ms;
            sett_kernel_release(k);
        }
        printf("| %s | %.1f | %.1f | %.2f | %.1f |\n", ways[i].name, cold, quantile(ptx, TIMES, 0.5), quantile(record, TIMES, 0.5), quantile(cubin, TIMES, 0.5));
        sett_engine_close(e);
    }
}

int main(int argc, char **argv)
{
    static const int shapes[][3] = {{1000, 1192, 1096}, {512, 768, 72}, {8192, 8192, 8192}, {4096, 6144, 4096}, {8192, 8192, 512}};
    const char *what = argc > 1 ? argv[1] : NULL;
    if (what && !strcmp(what, "compile")) {
        compile_times();
        return 0;
    }
    bool timed = !what || strcmp(what, "check"), right = true;
    gpu g;
    open_gpu(&g);
    open_blas(&g);
    sett_engine *engine[2] = {engine_of(SETT_ASM_NVJITLINK, true), engine_of(SETT_ASM_PTXAS, true)};
    load_ways(&g, engine, timed ? what : NULL);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        right &= run_shape(&g, engine[0], shapes[i][0], shapes[i][1], shapes[i][2], timed && i > 1);
    if (!right)
        die("a result is wrong");
    return 0;
}
