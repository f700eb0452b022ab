/* SPDX-License-Identifier: Apache-2.0 */
/* Host time to issue one launch: raw cuLaunchKernelEx (both ways to pass arguments, the same ones every time) beside
 * sett_prepared_run, sett_launch with other buffers every time, and a commit of changed buffers, all of the same kernel on the
 * same small problem. Batches in random order, paired by round; medians of the differences to the faster raw way.
 *     issue               the table           issue WAY COUNT    0 to 4 of it, so often, for a profiler
 *     issue maps          the same of a kernel with two tensor maps, of sm_90 and later: a changed buffer encodes one
 *     issue against OTHER [PAIRS]    its own table and another build's bench/issue, in turn, so that both have the same host
 * FAKE_CUDA_GPUS=1 LD_LIBRARY_PATH=build/release/fake gives it a driver that returns at once: what is left is our own. */
#include "common.h"
#include <sett/kernels.h>
#include <math.h>

enum { BATCH = 200, ROUNDS = 301, SETS = 16 };
enum { RAW_PARAMS, RAW_BUFFER, CALL_RUN, LAUNCH, COMMIT, N_WAYS };
static const char *const names[] = {"raw, kernelParams", "raw, packed buffer", "sett_prepared_run", "sett_launch, other buffers each time", "buf + commit"};

typedef struct state {
    driver drv;
    void *kernel;
    sett_kernel *k;
    sett_prepared *call;
    sett_stream stream;
    sett_buf buf[SETS][3];
    int arg;
    raw_config config;
    bool maps;
    _Alignas(64) unsigned char packed[512]; /* raw arguments, and where they lie there */
    size_t packed_len;
    void *params[8];
} state;

static double batch(state *s, int way)
{
    sett_error err;
    void *extra[] = {(void *)1, s->packed, (void *)2, &s->packed_len, NULL};
    int bad = 0;
    if (s->maps && way == RAW_BUFFER) /* maps lie elsewhere in that block than in code, by the machine */
        return HUGE_VAL;
    s->drv.sync();
    double t = now_us();
    for (int i = 0; i < BATCH; i++) {
        const sett_buf *buf = s->buf[i % SETS];
        if (way == RAW_PARAMS)
            bad |= s->drv.launch(&s->config, s->kernel, s->params, NULL);
        else if (way == RAW_BUFFER)
            bad |= s->drv.launch(&s->config, s->kernel, NULL, extra);
        else if (way == CALL_RUN)
            bad |= sett_prepared_run(s->call, s->stream);
        else if (way == LAUNCH && s->maps)
            bad |= sett_launch(s->k, s->stream, &err, &buf[0], &buf[1], 0);
        else if (way == LAUNCH)
            bad |= sett_launch(s->k, s->stream, &err, &buf[0], &buf[1], &buf[2]);
        else
            sett_prepared_buf(s->call, s->arg, &buf[0]), bad |= sett_prepared_commit(s->call, &err);
    }
    t = now_us() - t;
    if (bad) {
        fprintf(stderr, "%s failed\n", names[way]);
        exit(1);
    }
    return t / BATCH;
}

/* A copy by maps, if there is anything to copy: here there is not, so that raw launches need none that are encoded. */
static void copy_by_maps(sett_build *b, const void *unused)
{
    (void)unused;
    sett_val *M = sett_sym(b, "M"), *N = sett_sym(b, "N", .div = 8);
    sett_tensor *A = sett_param(b, "A", SETT_F16, sett_row_major(b, M, N), .align = 16), *D = sett_param(b, "D", SETT_F16, sett_row_major(b, M, N), .align = 16);
    sett_val *times = sett_scalar(b, "times", SETT_I32);
    sett_grid(b, 1), sett_block(b, 128);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F16, sett_smem_layout(b, SETT_F16, SETT_K_MAJOR, 16, 64), 1024), *bar = sett_make_mbarriers(b, 1);
    sett_tma *from = sett_make_tma(A, .smem = s, .tile = SETT_T(16, 64)), *to = sett_make_tma(D, .smem = s, .tile = SETT_T(16, 64));
    sett_if (b, sett_and(sett_gt(times, 0), sett_lt(sett_thread_idx(b, 0), 32))) {
        sett_tma_load(from, sett_local_tile(sett_tma_tensor(from), SETT_T(16, 64), SETT_T(0, 0)), s, bar);
        sett_tma_store(to, s, sett_local_tile(sett_tma_tensor(to), SETT_T(16, 64), SETT_T(0, 0)));
    }
}

static void record(state *s, sett_engine *e)
{
    sett_error err = {0};
    sett_elementwise_options user = {.size = sizeof user, .dtype = SETT_F16, .op = SETT_MUL, .relu = 1, .no_pdl = 1, .tuning = {.thr_m = 4, .thr_n = 32, .val_m = 4}};
    sett_compile_options opt = {.size = sizeof opt, .name = s->maps ? "copy_by_maps" : "mul_relu", .user = s->maps ? NULL : &user};
    must(sett_compile(e, s->maps ? copy_by_maps : sett_elementwise, &opt, &s->k, &err), &err);
    must(sett_prepare(s->k, 0, &err), &err);
    if (s->maps)
        must(sett_prepared_make(s->k, 0, &s->call, &err, &s->buf[0][0], &s->buf[0][1], 0), &err);
    else
        must(sett_prepared_make(s->k, 0, &s->call, &err, &s->buf[0][0], &s->buf[0][1], &s->buf[0][2]), &err);
}

/* The next argument, which lies at a multiple of its alignment. */
static void put(state *s, int i, const void *from, size_t bytes, size_t align)
{
    const size_t at = (s->packed_len + align - 1) / align * align;
    if (from)
        memcpy(s->packed + at, from, bytes);
    s->params[i] = s->packed + at;
    s->packed_len = at + bytes;
}

static void put_all(state *s)
{
    enum { MAP = 128, MAP_ALIGN = 64 };
    const int numbers[3] = {0, 16, 256};
    int n = 0;
    for (int i = 0; i < (s->maps ? 2 : 3); i++)
        put(s, n++, &s->buf[0][i].data, 8, 8);
    for (int i = s->maps ? 0 : 1; i < 3; i++)
        put(s, n++, &numbers[i], 4, 4);
    for (int i = 0; i < 2 && s->maps; i++)
        put(s, n++, NULL, MAP, MAP_ALIGN);
}

static void set_up(state *s, sett_engine *e)
{
    for (int i = 0; i < 3 * SETS; i++)
        s->buf[i / 3][i % 3] = sett_buf_2d(sett_alloc(e, 0, 16 * 256 * 2), SETT_F16, 16, 256);
    record(s, e);
    s->arg = sett_kernel_argument(s->k, "A");
    sett_kernel_info info = {.size = sizeof info};
    must(sett_kernel_query(s->k, &info), NULL);
    if (!driver_start(&s->drv) || !(s->kernel = driver_kernel(&s->drv, info.cubin))) {
        fprintf(stderr, "the driver's own calls failed\n");
        exit(1);
    }
    s->config = (raw_config){.grid = {1, 1, 1}, .block = {128, 1, 1}};
    put_all(s);
}

static double median_of(const double *us)
{
    double copy[ROUNDS];
    memcpy(copy, us, sizeof copy);
    return quantile(copy, ROUNDS, 0.5);
}

static void print_table(double us[N_WAYS][ROUNDS])
{
    int raw = median_of(us[RAW_PARAMS]) < median_of(us[RAW_BUFFER]) ? RAW_PARAMS : RAW_BUFFER;
    double diff[ROUNDS];
    printf("| issue of one launch | median us | median difference to the faster raw launch (%s), ns |\n| --- | --- | --- |\n", names[raw]);
    for (int w = 0; w < N_WAYS; w++) {
        for (int r = 0; r < ROUNDS; r++)
            diff[r] = (us[w][r] - us[raw][r]) * 1e3;
        double d = quantile(diff, ROUNDS, 0.5), lo = quantile(diff, ROUNDS, 0.1), hi = quantile(diff, ROUNDS, 0.9);
        if (us[w][0] == HUGE_VAL)
            continue;
        if (w == COMMIT)
            printf("| %s (no launch) | %.3f | - |\n", names[w], median_of(us[w]));
        else
            printf("| %s | %.3f | %.0f (p10 %.0f, p90 %.0f) |\n", names[w], median_of(us[w]), d, lo, hi);
    }
}

/* ---- two builds ---------------------------------------------------------------------------- */
enum { LINES = 3, MOST_PAIRS = 101 };
static const char *const lines[LINES] = {"sett_prepared_run", "sett_launch", "buf + commit"};

/* ns of each line of what the program prints: beyond the raw launch, a commit's own. */
static bool table_of(const char *program, double ns[LINES])
{
    char command[1100], line[400];
    int found = 0;
    snprintf(command, sizeof command, "'%s'", program);
    FILE *p = popen(command, "r");
    while (p && fgets(line, sizeof line, p))
        for (int i = 0; i < LINES; i++) {
            const char *name = strncmp(line, "| ", 2) ? NULL : strstr(line + 2, lines[i]), *us = strchr(line + 2, '|');
            const char *diff = us ? strchr(us + 1, '|') : NULL;
            if (name != line + 2 || !diff)
                continue;
            ns[i] = i == LINES - 1 ? atof(us + 1) * 1e3 : atof(diff + 1);
            found++;
        }
    return p && !pclose(p) && found == LINES;
}

static int against(const char *self, const char *other, int pairs)
{
    static double ns[2][LINES][MOST_PAIRS], diff[MOST_PAIRS];
    for (int i = 0; i < pairs; i++)
        for (int j = 0; j < 2; j++) {
            int w = (i ^ j) & 1;
            double one[LINES];
            if (!table_of(w ? other : self, one)) {
                fprintf(stderr, "%s gave no table\n", w ? other : self);
                return 1;
            }
            for (int l = 0; l < LINES; l++)
                ns[w][l][i] = one[l];
        }
    printf("| ns, medians of %d runs in turn | this | %s | this less that (p10, p90) |\n| --- | --- | --- | --- |\n", pairs, other);
    for (int l = 0; l < LINES; l++) {
        for (int i = 0; i < pairs; i++)
            diff[i] = ns[0][l][i] - ns[1][l][i];
        double d = quantile(diff, pairs, 0.5);
        printf("| %s | %.0f | %.0f | %.0f (%.0f, %.0f) |\n", lines[l], quantile(ns[0][l], pairs, 0.5), quantile(ns[1][l], pairs, 0.5), d,
            quantile(diff, pairs, 0.1), quantile(diff, pairs, 0.9));
    }
    return 0;
}

int main(int argc, char **argv)
{
    int pairs = argc > 3 ? atoi(argv[3]) : 9;
    if (argc > 2 && !strcmp(argv[1], "against"))
        return against(argv[0], argv[2], pairs < 1 ? 1 : pairs > MOST_PAIRS ? MOST_PAIRS : pairs);
    static double us[N_WAYS][ROUNDS];
    sett_engine *e;
    sett_error err = {0};
    state s = {.stream = {0, NULL}, .maps = argc > 1 && !strcmp(argv[1], "maps")};
    uint64_t seed = 88172645463325252u;
    must(sett_engine_open(&e, NULL, &err), &err);
    if (sett_default_device(e) < 0) {
        puts("skipped: no GPU");
        return 0;
    }
    set_up(&s, e);
    if (argc == 3) {
        for (int i = 0; i < atoi(argv[2]); i += BATCH)
            batch(&s, atoi(argv[1]) % N_WAYS);
        return 0;
    }
    for (int w = 0; w < N_WAYS; w++)
        batch(&s, w);
    for (int r = 0; r < ROUNDS; r++) {
        int order[N_WAYS] = {0, 1, 2, 3, 4};
        for (int i = N_WAYS - 1; i > 0; i--) {
            int j = (int)(random_next(&seed) % (unsigned)(i + 1)), t = order[i];
            order[i] = order[j], order[j] = t;
        }
        for (int i = 0; i < N_WAYS; i++)
            us[order[i]][r] = batch(&s, order[i]);
    }
    print_table(us);
    sett_prepared_free(s.call);
    sett_kernel_release(s.k);
    sett_engine_close(e);
    return 0;
}
