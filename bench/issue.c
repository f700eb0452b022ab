/* SPDX-License-Identifier: Apache-2.0 */
/* Host time to issue one launch: raw cuLaunchKernelEx (both ways to pass arguments) beside sett_call_run, sett_launch
 * with fresh arguments, and a commit of changed buffers, all of the same kernel on the same small problem. Batches in
 * random order, paired by round; medians of the differences. */
#include "common.h"
#include "../examples/kernels.h"

enum { BATCH = 200, ROUNDS = 301 };
enum { RAW_PARAMS, RAW_BUFFER, CALL_RUN, LAUNCH, COMMIT, N_WAYS };

typedef struct state {
    driver drv;
    void *kernel;
    sett_kernel *k;
    sett_call *call;
    sett_stream stream;
    sett_buf buf[3];
    int arg;
    raw_config config;
    unsigned char packed[64];
    size_t packed_len;
} state;

static double batch(state *s, int way)
{
    sett_error err;
    uint64_t p[3] = {(uint64_t)(uintptr_t)s->buf[0].data, (uint64_t)(uintptr_t)s->buf[1].data, (uint64_t)(uintptr_t)s->buf[2].data};
    int m = 16, n = 256;
    void *params[] = {&p[0], &p[1], &p[2], &m, &n};
    void *extra[] = {(void *)1, s->packed, (void *)2, &s->packed_len, NULL};
    int bad = 0;
    s->drv.sync();
    double t = now_us();
    for (int i = 0; i < BATCH; i++) {
        if (way == RAW_PARAMS)
            bad |= s->drv.launch(&s->config, s->kernel, params, NULL);
        else if (way == RAW_BUFFER)
            bad |= s->drv.launch(&s->config, s->kernel, NULL, extra);
        else if (way == CALL_RUN)
            bad |= sett_call_run(s->call, s->stream);
        else if (way == LAUNCH)
            bad |= sett_launch(s->k, s->stream, &err, &s->buf[0], &s->buf[1], &s->buf[2]);
        else
            sett_call_buf(s->call, s->arg, &s->buf[i & 1]), bad |= sett_call_commit(s->call, &err);
    }
    t = now_us() - t;
    if (bad) {
        fprintf(stderr, "a launch failed\n");
        exit(1);
    }
    return t / BATCH;
}

static void set_up(state *s, sett_engine *e)
{
    sett_error err = {0};
    struct apply user = {SETT_F16, apply_mul_relu};
    sett_compile_options opt = {.size = sizeof opt, .name = "mul_relu", .user = &user};
    must(sett_compile(e, apply, &opt, &s->k, &err), &err);
    for (int i = 0; i < 3; i++)
        s->buf[i] = sett_buf_2d(sett_alloc(e, 0, 16 * 256 * 2), SETT_F16, 16, 256);
    must(sett_prepare(s->k, 0, &err), &err);
    must(sett_call_make(s->k, 0, &s->call, &err, &s->buf[0], &s->buf[1], &s->buf[2]), &err);
    s->arg = sett_kernel_argument(s->k, "A");
    sett_kernel_info info = {.size = sizeof info};
    must(sett_kernel_query(s->k, &info), NULL);
    if (!driver_start(&s->drv) || !(s->kernel = driver_kernel(&s->drv, info.cubin))) {
        fprintf(stderr, "the driver's own calls failed\n");
        exit(1);
    }
    s->config = (raw_config){.grid = {1, 1, 1}, .block = {128, 1, 1}};
    for (int i = 0; i < 3; i++)
        memcpy(s->packed + 8 * i, &s->buf[i].data, 8);
    memcpy(s->packed + 24, (int[]){16, 256}, 8);
    s->packed_len = 32;
}

int main(void)
{
    static const char *const names[] = {"raw, kernelParams", "raw, packed buffer", "sett_call_run", "sett_launch", "buf + commit"};
    static double us[N_WAYS][ROUNDS], diff[ROUNDS];
    sett_engine *e;
    sett_error err = {0};
    state s = {.stream = {0, NULL}};
    uint64_t seed = 88172645463325252u;
    must(sett_engine_open(&e, NULL, &err), &err);
    if (sett_default_device(e) < 0) {
        puts("skipped: no GPU");
        return 0;
    }
    set_up(&s, e);
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
    puts("| issue of one launch | median us | median difference to the raw launch (packed buffer), ns |\n| --- | --- | --- |");
    for (int w = 0; w < N_WAYS; w++) {
        for (int r = 0; r < ROUNDS; r++)
            diff[r] = (us[w][r] - us[RAW_BUFFER][r]) * 1e3;
        double d = quantile(diff, ROUNDS, 0.5), lo = quantile(diff, ROUNDS, 0.1), hi = quantile(diff, ROUNDS, 0.9);
        double copy[ROUNDS];
        memcpy(copy, us[w], sizeof copy);
        if (w == COMMIT)
            printf("| %s (no launch) | %.3f | - |\n", names[w], quantile(copy, ROUNDS, 0.5));
        else
            printf("| %s | %.3f | %.0f (p10 %.0f, p90 %.0f) |\n", names[w], quantile(copy, ROUNDS, 0.5), d, lo, hi);
    }
    sett_call_free(s.call);
    sett_kernel_release(s.k);
    sett_engine_close(e);
    return 0;
}
