/* SPDX-License-Identifier: Apache-2.0 */
/* Wavefronts of shared memory and sectors of global memory: twelve patterns of access by hand (tests/rig/cost_cases.h), as the checker counts
 * them on the CPU engine, and as a GPU has them, by its clock or by its profiler.
 *     costs            the table: a block of 16 warps makes each request over and over on GPU 0; its time, in wavefronts of one cycle, or in
 *                      sectors beside those of lanes side by side
 *     costs CASE       that case alone, one launch, for a profiler: `costs profile` prints the commands for Nsight Compute
 * Time counts what keeps the memory pipe busy, so small numbers carry what a loop costs besides: one wavefront or a few are told apart
 * by the profiler alone. */
#define SETT_SHORT
#include "common.h"
#include "tests/rig/cost_cases.h"
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WARPS = 16, ROUNDS = 1024, TIMES = 5 };
typedef struct machine {
    sett_engine *e;
    sett_stream stream;
    void *x, *y, *t;
} machine;

static machine open_machine(int device, sett_checks checks, sett_finding_fn fn, void *user)
{
    machine m = {.stream = {device, NULL}};
    sett_error err = {0};
    sett_engine_options o = {.size = sizeof o, .cache_dir = "", .no_gpu = device == SETT_CPU, .checks = checks, .finding = fn, .user = user};
    must(sett_engine_open(&m.e, &o, &err), &err);
    m.x = sett_alloc(m.e, device, COST_GLOBAL), m.y = sett_alloc(m.e, device, 32 * WARPS * 4), m.t = sett_alloc(m.e, device, 4);
    void *zero = calloc(1, COST_GLOBAL);
    if (!m.x || !m.y || !m.t || !zero)
        exit(1);
    sett_memcpy(m.e, m.stream, m.x, zero, COST_GLOBAL);
    free(zero);
    return m;
}

/* Cycles of the loop, of a GPU. */
static unsigned run_case(machine *m, const cost_case *x, int warps, int rounds)
{
    int line;
    unsigned cycles = 0;
    const cost_run run = {x, warps, rounds, &line};
    sett_error err = {0};
    sett_kernel *k;
    sett_compile_options o = {.size = sizeof o, .name = "cost", .target = m->stream.device == SETT_CPU ? "cpu" : NULL, .user = &run};
    must(sett_compile(m->e, cost_body, &o, &k, &err), &err);
    const sett_buf bx = sett_buf_1d(m->x, x->dtype, COST_GLOBAL * 8 / sett_dtype_bits(x->dtype)), by = sett_buf_1d(m->y, SETT_F32, 32 * warps), bt = sett_buf_1d(m->t, SETT_U32, 1);
    for (int i = 0; i < TIMES; i++) {
        unsigned now;
        must(sett_launch(k, m->stream, &err, &bx, &by, &bt), &err);
        must(sett_memcpy(m->e, m->stream, &now, m->t, 4), &err);
        cycles = !i || now < cycles ? now : cycles;
    }
    sett_kernel_release(k);
    return cycles;
}

/* "... need: 4096, ideal 128, in 128 requests" */
static void keep(void *user, const sett_finding *f)
{
    long long *to = user;
    const char *at = strstr(f->text, " need: ");
    if ((f->kind == SETT_CHECK_BANK_CONFLICT || f->kind == SETT_CHECK_SECTORS) && at)
        sscanf(at, " need: %lld, ideal %lld, in %lld requests", &to[0], &to[1], &to[2]);
}

/* In a process of its own: one tells a finding of a line once. Taken, ideal, requests; 0: nothing is told. */
static void ask_checker(const cost_case *x, long long found[3])
{
    int way[2];
    memset(found, 0, 3 * sizeof *found);
    if (pipe(way))
        return;
    const pid_t child = fork();
    if (!child) {
        machine cpu = open_machine(SETT_CPU, SETT_CHECKS_ALL, keep, found);
        run_case(&cpu, x, 1, COST_ROUNDS);
        _exit(write(way[1], found, 3 * sizeof *found) < 0);
    }
    close(way[1]);
    if (child > 0 && read(way[0], found, 3 * sizeof *found) < 0)
        found[2] = 0;
    close(way[0]);
    waitpid(child, NULL, 0);
}

/* With what a kernel has beside the access: what clears shared memory, and the results. */
static int expected(const cost_case *x, int of_request)
{
    const int beside = x->global ? 32 * WARPS * 4 / 32 + 1 : COST_SHARED * 8 / sett_dtype_bits(x->dtype) / 32;
    return of_request * WARPS * COST_ROUNDS + beside;
}

static void profile(void)
{
    for (int i = 0; i < COST_CASES; i++)
        printf("ncu --csv --launch-count 1 --metrics %s build/release/bench/costs %d    # %d, ideal %d\n", cost_cases[i].global ?
            "memory_l2_theoretical_sectors_global,memory_l2_theoretical_sectors_global_ideal" : "memory_l1_wavefronts_shared,memory_l1_wavefronts_shared_ideal",
            i, expected(&cost_cases[i], cost_cases[i].taken), expected(&cost_cases[i], cost_cases[i].ideal));
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "profile")) {
        profile();
        return 0;
    }
    if (argc > 1) {
        machine gpu = open_machine(0, SETT_CHECKS_OFF, NULL, NULL);
        const int at = atoi(argv[1]);
        if (at < 0 || at >= COST_CASES)
            return 1;
        run_case(&gpu, &cost_cases[at], WARPS, COST_ROUNDS);
        sett_engine_close(gpu.e);
        return 0;
    }
    long long found[COST_CASES][3]; /* before there is a GPU: a process that has one does not fork */
    for (int i = 0; i < COST_CASES; i++)
        ask_checker(&cost_cases[i], found[i]);
    const char *device = getenv("SETT_DEVICE");
    const bool has_gpu = !(device && !strcmp(device, "cpu"));
    machine gpu = {NULL};
    double of_rows = 0;
    if (has_gpu)
        gpu = open_machine(0, SETT_CHECKS_OFF, NULL, NULL);
    printf("| access | by hand | ideal | checker | GPU, by its clock |\n| --- | --- | --- | --- | --- |\n");
    for (int i = 0; i < COST_CASES; i++) {
        const cost_case *x = &cost_cases[i];
        char checker[32] = "below 1.5", clock[32] = "-";
        if (found[i][2])
            snprintf(checker, sizeof checker, "%.2f", (double)found[i][0] / (double)found[i][2]);
        if (has_gpu) {
            const double each = (double)run_case(&gpu, x, WARPS, ROUNDS) / ((double)WARPS * ROUNDS);
            of_rows = x->global && of_rows == 0 ? each / x->taken : of_rows;
            snprintf(clock, sizeof clock, "%.2f", x->global ? each / of_rows : each);
        }
        printf("| %s%s | %d | %d | %s | %s |\n", x->global ? "global, " : "", x->name, x->taken, x->ideal, checker, clock);
    }
    if (has_gpu)
        sett_engine_close(gpu.e);
    return 0;
}
