/* SPDX-License-Identifier: Apache-2.0 */
/* What the checker costs: four kernels on the CPU engine with one thread, checked for errors and by the plain path (.cpu_plain), in turn, by
 * the processor time of the process. Ratios are of pairs, and the median stands. Exit status 1: a kernel has a finding.
 *     check_time [ROUNDS [NAME]]      NAME: gemm, attention, tree, add; NAME/checked and NAME/plain run one side alone, for a profiler */
#define SETT_SHORT
#include "common.h"
#include "tree.h"
#include <sett/kernels.h>

enum { CHECKED, PLAIN, SIDES, MOST_ROUNDS = 101, ADD_N = 1 << 24 };

static double spent_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Numbers of a few bits, so that sums of f16 stay small. */
static sett_buf filled(sett_dtype dt, int rank, const int64_t *n)
{
    static uint64_t seed = 7;
    size_t all = 1;
    sett_buf f = {.dtype = dt, .rank = rank};
    for (int i = rank; i--; all *= (size_t)n[i])
        f.shape[i] = n[i], f.stride[i] = (int64_t)all;
    uint8_t *p = aligned_alloc(256, (all * 4 + 255) / 256 * 256);
    if (!p)
        exit(1);
    for (size_t i = 0; i < all; i++) {
        const uint64_t x = random_next(&seed) >> 60;
        if (dt == SETT_F16)
            ((uint16_t *)p)[i] = (uint16_t)(x ? 0x3000 + (x << 6) : 0);
        else
            ((float *)p)[i] = (float)x;
    }
    f.data = p;
    return f;
}
#define FILLED(dt_, ...) filled(dt_, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]){__VA_ARGS__})

static const sett_gemm_wgmma_options gemm = {.size = sizeof gemm, .dtype = SETT_F16};
static const sett_attention_options attention = {.size = sizeof attention, .dtype = SETT_F16, .d = 128};
static const sett_elementwise_options add = {.size = sizeof add, .dtype = SETT_F32};

static const struct work {
    const char *name, *what;
    sett_body body;
    const void *options;
} works[] = {{"gemm", "sett_gemm_wgmma f16 512^3", sett_gemm_wgmma, &gemm}, {"attention", "sett_attention f16 S 512, D 128, 1 head", sett_attention, &attention},
    {"tree", "tree in shared memory, 1024 x 256", tree_sum, NULL}, {"add", "sett_elementwise add f32 2^24", sett_elementwise, &add}};
enum { WORKS = sizeof works / sizeof *works };

static void set_buffers(int which, sett_buf *of)
{
    switch (which) {
    case 0: of[0] = FILLED(SETT_F16, 512, 512), of[1] = FILLED(SETT_F16, 512, 512), of[2] = FILLED(SETT_F16, 512, 512); return;
    case 1:
        for (int i = 0; i < 4; i++)
            of[i] = FILLED(SETT_F16, 1, 1, 512, 128);
        return;
    case 2: of[0] = FILLED(SETT_F32, 1024, 256), of[1] = FILLED(SETT_F32, 1024); return;
    default:
        for (int i = 0; i < 3; i++)
            of[i] = FILLED(SETT_F32, 4096, ADD_N / 4096);
    }
}

static void told(void *user, const sett_finding *f)
{
    ++*(int *)user;
    fprintf(stderr, "%s\n", f->text);
}

typedef struct side {
    sett_engine *e;
    sett_kernel *k;
} side;

static side side_of(const struct work *x, int checked, int *findings)
{
    side s;
    sett_error err = {0};
    const sett_engine_options eo = {.size = sizeof eo, .cache_dir = "", .no_gpu = true, .cpu_threads = 1, .cpu_plain = !checked, .checks = checked ? SETT_CHECKS_ERRORS : SETT_CHECKS_OFF,
        .finding = told, .user = findings};
    must(sett_engine_open(&s.e, &eo, &err), &err);
    const sett_compile_options co = {.size = sizeof co, .target = "cpu"};
    must(x->options ? sett_kernels_compile(s.e, x->body, x->options, "cpu", &s.k, &err) : sett_compile(s.e, x->body, &co, &s.k, &err), &err);
    return s;
}

static double timed(const side *s, int which, sett_buf *of)
{
    sett_error err = {0};
    const sett_stream cpu = {SETT_CPU, NULL};
    const double start = spent_ms();
    must(which == 1 ? sett_launch(s->k, cpu, &err, &of[0], &of[1], &of[2], &of[3]) : which == 2 ? sett_launch(s->k, cpu, &err, &of[0], &of[1]) : sett_launch(s->k, cpu, &err, &of[0], &of[1], &of[2]), &err);
    must(sett_sync(s->e, cpu), &err);
    return spent_ms() - start;
}

static int measure(int which, int rounds, const char *only)
{
    int findings = 0;
    double ms[SIDES][MOST_ROUNDS], ratio[MOST_ROUNDS];
    sett_buf of[4];
    set_buffers(which, of);
    side s[SIDES];
    for (int i = 0; i < SIDES; i++)
        s[i] = side_of(&works[which], i == CHECKED, &findings);
    for (int r = -1; r < rounds; r++) {
        for (int i = 0; i < SIDES; i++)
            if (!*only || !strcmp(only, i == CHECKED ? "/checked" : "/plain")) {
                const double t = timed(&s[i], which, of);
                if (r >= 0)
                    ms[i][r] = t;
            }
        if (r >= 0 && !*only)
            ratio[r] = ms[CHECKED][r] / ms[PLAIN][r];
    }
    if (!*only)
        printf("| %s | %.1f | %.1f | %.3f |\n", works[which].what, quantile(ms[CHECKED], rounds, 0.5), quantile(ms[PLAIN], rounds, 0.5), quantile(ratio, rounds, 0.5));
    for (int i = 0; i < SIDES; i++)
        sett_kernel_release(s[i].k), sett_engine_close(s[i].e);
    for (int i = 0; i < 4; i++)
        free(i < (which == 1 ? 4 : which == 2 ? 2 : 3) ? of[i].data : NULL);
    return findings;
}

int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? atoi(argv[1]) : 11;
    int findings = 0;
    if (rounds < 1 || rounds > MOST_ROUNDS) {
        fprintf(stderr, "check_time [ROUNDS [NAME]]: ROUNDS is 1 to %d\n", MOST_ROUNDS);
        return 2;
    }
    printf("| kernel | checked, ms | plain, ms | ratio |\n| --- | --- | --- | --- |\n");
    for (int i = 0; i < WORKS; i++) {
        const size_t n = strlen(works[i].name);
        if (argc < 3 || !strncmp(argv[2], works[i].name, n))
            findings += measure(i, rounds, argc < 3 ? "" : argv[2] + n);
    }
    return findings > 0;
}
