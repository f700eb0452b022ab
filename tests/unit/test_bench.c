/* SPDX-License-Identifier: Apache-2.0 */
/* Benchmarks: what is refused, how often what is launched, that the caller's memory stays as it is, what the numbers
 * say of each other; on a GPU, over a driver made here, the order of its calls. How long anything takes is not looked
 * at. */
#define SETT_SHORT
#include "tests/rig/faces.h"
#include "jit/cuda/inside.h"
#include "tests/rig/recording.h"
#include <math.h>
#include <sett/bench.h>
#include <stdlib.h>
#include <string.h>

static sett_engine *engine;
static sett_error err;
static const sett_stream CPU = {SETT_CPU, NULL};
static sett_benchmark_result r;

static void set_up(void)
{
    sett_engine_options o = {.size = sizeof o, .cache_dir = "", .no_gpu = true, .cpu_threads = 1};
    ck_assert_msg(!sett_engine_open(&engine, &o, &err), "%s", err.text);
    r = (sett_benchmark_result){.size = sizeof r};
}
static void tear_down(void)
{
    sett_engine_close(engine);
}

/* Y = a X + Y */
static void axpy(sett_build *b, const void *user)
{
    (void)user;
    sett_layout *l = sett_make_layout(b, T1(sett_sym(b, "N")));
    sett_tensor *X = sett_param(b, "X", SETT_F32, l), *Y = sett_param(b, "Y", SETT_F32, l);
    sett_val *a = sett_scalar(b, "a", SETT_F32);
    sett_grid(b, sett_size(X));
    sett_val *i = sett_block_idx(b, 0);
    sett_set(Y, sett_fma(a, sett_at(X, i), sett_at(Y, i)), i);
}

/* Of the last element alone, which lies in no other of two that overlap. */
static void last(sett_build *b, const void *user)
{
    (void)user;
    sett_layout *l = sett_make_layout(b, T1(sett_sym(b, "N")));
    sett_tensor *X = sett_param(b, "X", SETT_F32, l), *Y = sett_param(b, "Y", SETT_F32, l);
    sett_val *a = sett_scalar(b, "a", SETT_F32), *i = sett_value(b, sett_sub(sett_size(X), 1));
    sett_grid(b, 1);
    sett_set(Y, sett_fma(a, sett_at(X, i), sett_at(Y, i)), i);
}

static sett_kernel *compile(sett_body body)
{
    const sett_compile_options o = {.size = sizeof o, .name = "axpy", .target = "cpu"};
    sett_kernel *k;
    ck_assert_msg(!sett_compile(engine, body, &o, &k, &err), "%s", err.text);
    return k;
}

static bool in_order(const sett_benchmark_result *x)
{
    return x->min_us >= 0 && x->min_us <= x->p10_us && x->p10_us <= x->median_us && x->median_us <= x->p90_us &&
           x->p90_us <= x->p99_us && x->p99_us <= x->max_us && x->mean_us >= x->min_us && x->mean_us <= x->max_us;
}

static bool near(double x, double y)
{
    return fabs(x - y) <= 1e-9 * fabs(y);
}

/* ---- kernels on the CPU ---------------------------------------------------------------------- */
enum { N = 64 };
static float x[N], y[N];

static void fill(void)
{
    for (int i = 0; i < N; i++)
        x[i] = (float)i, y[i] = 1;
}

START_TEST(a_kernel_is_measured)
{
    sett_kernel *k = compile(axpy);
    sett_buf X = sett_buf_1d(x, SETT_F32, N), Y = sett_buf_1d(y, SETT_F32, N);
    sett_benchmark_options o = {.size = sizeof o,
        .warmup = 1,
        .iterations = 7,
        .launches = 2,
        .workspaces = 3,
        .bytes = 12 * N,
        .flops = 2 * N};
    fill();
    ck_assert_msg(!sett_benchmark(k, CPU, &o, &r, &err, &X, &Y, 2.0), "%s", err.text);
    ck_assert(in_order(&r) && r.min_us > 0);
    ck_assert(
        r.iterations == 7 && r.launches == 2 && r.workspaces == 3 && r.workspace_bytes == 8 * N && !r.gpu && !r.graph);
    ck_assert(!r.cold); /* three times 512 bytes */
    ck_assert(near(r.gbps, 12 * N / r.median_us * 1e-3) && near(r.tflops, 2 * N / r.median_us * 1e-6));
    ck_assert(near(r.spread, (r.p90_us - r.p10_us) / r.median_us) && r.rel_stdev >= 0);
    ck_assert_str_eq(r.device, "CPU engine");
    for (int i = 0; i < N; i++)
        ck_assert(x[i] == (float)i && y[i] == 1);
    /* As many workspaces as hold four times the cache, 1024 at most; the default counts; rates that were not told. */
    r = (sett_benchmark_result){.size = sizeof r};
    ck_assert_msg(!sett_benchmark(k, CPU, NULL, &r, &err, &X, &Y, 2.0), "%s", err.text);
    ck_assert(r.workspaces == 1024 && r.iterations == 100 && r.launches == 1 && r.gbps == 0 && r.tflops == 0);
    o = (sett_benchmark_options){.size = sizeof o, .hot = true, .iterations = 1};
    ck_assert_msg(!sett_benchmark(k, CPU, &o, &r, &err, &X, &Y, 2.0), "%s", err.text);
    ck_assert(r.workspaces == 1 && r.iterations == 1 && r.spread == 0 && r.min_us == r.max_us && !r.cold);
    sett_kernel_release(k);
}
END_TEST

/* In place what is written counts the launches: one that is checked, warm-ups, iterations. */
START_TEST(in_place_means_that)
{
    sett_kernel *k = compile(axpy);
    sett_buf X = sett_buf_1d(x, SETT_F32, N), Y = sett_buf_1d(y, SETT_F32, N);
    sett_benchmark_options o = {.size = sizeof o, .warmup = 3, .iterations = 5, .launches = 4, .in_place = true};
    fill();
    ck_assert_msg(!sett_benchmark(k, CPU, &o, &r, &err, &X, &Y, 1.0), "%s", err.text);
    for (int i = 0; i < N; i++)
        ck_assert(x[i] == (float)i && y[i] == 1 + (float)i * (1 + (3 + 5) * 4));
    sett_kernel_release(k);
}
END_TEST

/* Arguments that share memory do so in the copies: Y = a Y + Y doubles and more, and no piece is counted twice. */
START_TEST(shared_memory_stays_shared)
{
    sett_kernel *k = compile(axpy), *one = compile(last);
    sett_buf Y = sett_buf_1d(y, SETT_F32, N), all = sett_buf_1d(y, SETT_F32, N / 2),
             part = sett_buf_1d(y + 5, SETT_F32, N / 2);
    sett_benchmark_options o = {.size = sizeof o, .iterations = 2, .workspaces = 2};
    fill();
    ck_assert_msg(!sett_benchmark(k, CPU, &o, &r, &err, &Y, &Y, 1.0), "%s", err.text);
    ck_assert_uint_eq(r.workspace_bytes, 4 * N);
    ck_assert_msg(!sett_benchmark(one, CPU, &o, &r, &err, &all, &part, 1.0), "%s", err.text);
    ck_assert_uint_eq(r.workspace_bytes, 4 * (N / 2 + 5));
    Y.shape[0] = 0; /* nothing to copy, nothing to launch, no zeros either */
    ck_assert_msg(!sett_benchmark(k, CPU, &o, &r, &err, &Y, &Y, 1.0), "%s", err.text);
    ck_assert_uint_eq(r.workspace_bytes, 0);
    sett_kernel_release(one);
    sett_kernel_release(k);
}
END_TEST

START_TEST(misuse_is_refused)
{
    sett_kernel *k = compile(axpy);
    sett_buf X = sett_buf_1d(x, SETT_F32, N), Y = sett_buf_1d(y, SETT_F32, N), odd = sett_buf_1d(x, SETT_F32, N - 1);
    sett_benchmark_options o = {.size = sizeof o}, many = o, spaces = o, both = o, graph = o, rate = o, zeros = o;
    sett_benchmark_result unset = {0};
    many.iterations = 100001, spaces.workspaces = -1, both.workspaces = 2, both.hot = true, graph.graph = true,
    rate.bytes = NAN;
    zeros.allow_zeros = true, zeros.iterations = 1, zeros.workspaces = 1;
    fill();
    REFUSED(
        sett_benchmark(NULL, CPU, &o, &r, &err, &X, &Y, 1.0), SETT_E_ARGUMENT, "sett_benchmark: the kernel is NULL");
    REFUSED(sett_benchmark(k, CPU, &o, NULL, &err, &X, &Y, 1.0), SETT_E_ARGUMENT,
        "sett_benchmark: the place for the result is NULL, or its .size is not set");
    ck_assert_int_eq(sett_benchmark(k, CPU, &o, &unset, NULL, &X, &Y, 1.0), SETT_E_ARGUMENT);
    REFUSED(sett_benchmark(k, CPU, &many, &r, &err, &X, &Y, 1.0), SETT_E_ARGUMENT,
        "sett_benchmark: .iterations is 100001, it must be 0 to 100000");
    REFUSED(sett_benchmark(k, CPU, &spaces, &r, &err, &X, &Y, 1.0), SETT_E_ARGUMENT,
        "sett_benchmark: .workspaces is -1, it must be 0 to 1024");
    REFUSED(sett_benchmark(k, CPU, &both, &r, &err, &X, &Y, 1.0), SETT_E_ARGUMENT,
        "sett_benchmark: .hot means one workspace, and .workspaces is 2");
    REFUSED(sett_benchmark(k, CPU, &graph, &r, &err, &X, &Y, 1.0), SETT_E_NO_DEVICE,
        "sett_benchmark: .graph needs a GPU; the CPU engine has no graphs");
    REFUSED(sett_benchmark(k, CPU, &rate, &r, &err, &X, &Y, 1.0), SETT_E_ARGUMENT,
        "sett_benchmark: .bytes = nan, .flops = 0: both must be positive, or 0 for not told");
    REFUSED(sett_benchmark(k, CPU, &o, &r, &err, &X, &odd, 1.0), SETT_E_SHAPE,
        "axpy: Y mode 0 is 63, X mode 0 gives N = 64");
    REFUSED(
        sett_benchmark(k, CPU, &o, &r, &err, &X, &Y), SETT_E_BIND, "axpy takes 3 arguments (X, Y, a), 2 were given");
    memset(x, 0, sizeof x);
    REFUSED(sett_benchmark(k, CPU, &o, &r, &err, &X, &Y, 1.0), SETT_E_ARGUMENT,
        "sett_benchmark: axpy: X is all zeros, which is faster to compute with than numbers: fill it, or set "
        ".allow_zeros");
    ck_assert_msg(!sett_benchmark(k, CPU, &zeros, &r, &err, &X, &Y, 1.0), "%s", err.text);
    x[N - 1] = 1; /* the last element of them */
    o.iterations = 1, o.workspaces = 1;
    ck_assert_msg(!sett_benchmark(k, CPU, &o, &r, &err, &X, &Y, 1.0), "%s", err.text);
    sett_kernel_release(k);
}
END_TEST

/* Only what is read must hold something. */
static void ones(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_make_layout(b, T1(sett_sym(b, "N"))));
    sett_grid(b, sett_size(Y));
    sett_set(Y, sett_const(b, SETT_F32, 1), sett_block_idx(b, 0));
}

static void past_the_end(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_make_layout(b, T1(sett_sym(b, "N"))));
    sett_grid(b, sett_size(Y));
    sett_set(Y, sett_const(b, SETT_F32, 1), sett_add(sett_block_idx(b, 0), 1));
}

START_TEST(outputs_may_be_zero_and_faults_are_told)
{
    static float zero[N];
    sett_buf Y = sett_buf_1d(zero, SETT_F32, N);
    sett_kernel *k = compile(ones), *bad = compile(past_the_end);
    sett_benchmark_options o = {.size = sizeof o, .iterations = 1, .workspaces = 2};
    ck_assert_msg(!sett_benchmark(k, CPU, &o, &r, &err, &Y), "%s", err.text);
    ck_assert_int_eq(sett_benchmark(bad, CPU, &o, &r, &err, &Y), SETT_E_FAULT);
    ck_assert_msg(strstr(err.text, "test_bench.c:") != NULL, "%s", err.text);
    sett_kernel_release(k);
    sett_kernel_release(bad);
    sett_engine_close(engine);
    engine = NULL;
}
END_TEST

/* ---- functions -------------------------------------------------------------------------------------- */
typedef struct seen {
    int calls, at[8], fail_at;
} seen;

static sett_status note(void *user, sett_stream stream, int workspace)
{
    seen *s = user;
    ck_assert(stream.device == SETT_CPU && workspace >= 0 && workspace < 8);
    s->at[workspace]++;
    return ++s->calls == s->fail_at ? SETT_E_LIMIT : SETT_OK;
}

START_TEST(functions_are_measured)
{
    sett_benchmark_options o = {.size = sizeof o, .warmup = 2, .iterations = 4, .launches = 3, .workspaces = 5};
    seen s = {0};
    ck_assert_msg(!sett_benchmark_function(engine, CPU, note, &s, &o, &r, &err), "%s", err.text);
    ck_assert(
        s.calls == 18 && s.at[0] == 4 && s.at[1] == 4 && s.at[2] == 4 && s.at[3] == 3 && s.at[4] == 3 && in_order(&r));
    ck_assert(r.workspaces == 5 && !r.cold && r.workspace_bytes == 0);
    s = (seen){.fail_at = 7};
    REFUSED(sett_benchmark_function(engine, CPU, note, &s, &o, &r, &err), SETT_E_LIMIT,
        "sett_benchmark_function: a launch failed: a limit of the device or of sett is exceeded");
    ck_assert_int_eq(s.calls, 7);
    REFUSED(sett_benchmark_function(engine, CPU, NULL, &s, &o, &r, &err), SETT_E_ARGUMENT,
        "sett_benchmark_function: the function is NULL");
    REFUSED(sett_benchmark_function(NULL, CPU, note, &s, &o, &r, &err), SETT_E_ARGUMENT,
        "sett_benchmark_function: the engine is NULL");
    ck_assert_int_eq(sett_benchmark_function(engine, (sett_stream){7, NULL}, note, &s, &o, &r, &err), SETT_E_NO_DEVICE);
    s = (seen){0};
    ck_assert(!sett_benchmark_function(engine, CPU, note, &s, NULL, &r, &err) && s.calls == 110);
}
END_TEST

START_TEST(results_are_json)
{
    const sett_benchmark_result some = {.size = sizeof some,
        .median_us = 12.5,
        .p10_us = 12,
        .p90_us = 13.25,
        .p99_us = 14,
        .min_us = 11,
        .max_us = 15,
        .mean_us = 12.6,
        .spread = 0.1,
        .rel_stdev = 0.02,
        .gbps = 1234.5678,
        .iterations = 100,
        .launches = 1,
        .workspaces = 3,
        .workspace_bytes = 1 << 20,
        .cold = true,
        .gpu = true,
        .device = "NVIDIA \"X\""};
    static const char want[] =
        "{\"schema_version\": 1, \"device\": \"NVIDIA ?X?\", \"clock\": \"events\", \"graph\": false, \"cold\": true, "
        "\"iterations\": 100, \"launches\": 1, \"workspaces\": 3, \"workspace_bytes\": 1048576, \"median_us\": 12.500, "
        "\"p10_us\": 12.000, \"p90_us\": 13.250, \"p99_us\": 14.000, \"min_us\": 11.000, \"max_us\": 15.000, "
        "\"mean_us\": 12.600, "
        "\"spread\": 0.1000, \"rel_stdev\": 0.0200, \"gbps\": 1235, \"tflops\": null}";
    char text[1024];
    ck_assert_int_eq(sett_benchmark_json(NULL, &some, text, sizeof text), (int)strlen(want));
    ck_assert_str_eq(text, want);
    ck_assert_int_eq(sett_benchmark_json(NULL, &some, text, 10), (int)strlen(want));
    ck_assert_int_eq(strlen(text), 9);
    ck_assert_int_gt(sett_benchmark_json(NULL, NULL, NULL, 0), 0);
    sett_kernel *k = compile(axpy);
    sett_benchmark_json(k, &some, text, sizeof text);
    ck_assert_msg(strstr(text, "\"kernel\": \"axpy\", \"target\": \"cpu\", \"key\": \"") != NULL, "%s", text);
    sett_kernel_release(k);
}
END_TEST

/* ---- the GPU's clock, over a driver made here --------------------------------------------------------- */
static struct fake {
    char log[4096];
    int events, streams, execs, graphs, captures; /* those that are alive */
    int fail;                                     /* the call that fails, from 1 */
    int calls;
} f;
static sett__cuda cuda;

static sett__cu did(const char *what)
{
    strncat(f.log, what, sizeof f.log - strlen(f.log) - 1);
    return ++f.calls == f.fail ? 2 : 0;
}
static sett__cu event_create(void **e, unsigned flags)
{
    sett__cu bad = did("");
    ck_assert_uint_eq(flags, 0);
    *e = bad ? NULL : (void *)(uintptr_t)(100 + f.events);
    f.events += !bad;
    return bad;
}
static sett__cu event_destroy(void *e)
{
    ck_assert_ptr_nonnull(e);
    f.events--;
    return 0;
}
static sett__cu event_record(void *e, void *stream)
{
    ck_assert(e && (stream == NULL || stream == (void *)7));
    return did("R");
}
static sett__cu event_elapsed(float *ms, void *a, void *b)
{
    ck_assert_int_eq((int)((uintptr_t)b - (uintptr_t)a), 1);
    *ms = (float)((uintptr_t)a - 100) * 0.5f; /* 0, 1, 2... ms */
    return did("");
}
static sett__cu stream_create(void **s, unsigned flags)
{
    ck_assert_uint_eq(flags, 1);
    sett__cu bad = did("(");
    *s = (void *)7;
    f.streams += !bad;
    return bad;
}
static sett__cu stream_destroy(void *s)
{
    ck_assert_ptr_eq(s, (void *)7);
    did(")");
    return f.streams--, 0;
}
static sett__cu capture_begin(void *s, sett__cu mode)
{
    ck_assert(s == (void *)7 && mode == 1);
    sett__cu bad = did("[");
    f.captures += !bad;
    return bad;
}
static sett__cu capture_end(void *s, void **graph)
{
    ck_assert_ptr_eq(s, (void *)7);
    sett__cu bad = did("]");
    f.captures--;
    *graph = bad ? NULL : (void *)8;
    f.graphs += !bad;
    return bad;
}
static sett__cu graph_make(void **exec, void *graph, unsigned long long flags)
{
    ck_assert(graph == (void *)8 && !flags);
    sett__cu bad = did("");
    *exec = bad ? NULL : (void *)9;
    f.execs += !bad;
    return bad;
}
static sett__cu graph_launch(void *exec, void *stream)
{
    ck_assert(exec == (void *)9 && stream == (void *)7);
    return did("G");
}
static sett__cu graph_exec_free(void *exec)
{
    ck_assert_ptr_eq(exec, (void *)9);
    return f.execs--, 0;
}
static sett__cu graph_free(void *graph)
{
    ck_assert_ptr_eq(graph, (void *)8);
    return f.graphs--, 0;
}
static sett__cu stream_sync(void *stream)
{
    (void)stream;
    return did("S");
}
static sett__cu current_context(void **c)
{
    *c = (void *)1;
    return 0;
}
static sett__cu current_device(sett__cu *d)
{
    *d = 70;
    return 0;
}
static sett__cu error_text(sett__cu code, const char **text)
{
    (void)code;
    *text = "it failed";
    return 0;
}
static sett__cu attribute(int *to, sett__cu which, sett__cu device)
{
    ck_assert(which == 38 && device == 70);
    *to = 50 << 20;
    return 0;
}

static sett_status issue(void *user, sett_stream stream, sett_error *e)
{
    (void)user, (void)e;
    ck_assert_int_eq(stream.device, 0);
    return did("w") ? sett__error(e, SETT_E_FAULT, "the work failed") : SETT_OK;
}

static sett_status time_fake(bool graph, int fail, double *us)
{
    static const sett_stream stream = {0, NULL};
    const sett__timing t = {graph, 1, 3, issue, NULL};
    f = (struct fake){.fail = fail};
    cuda = (sett__cuda){.count = 1,
        .pid = getpid(),
        .ctx_get = current_context,
        .ctx_device = current_device,
        .error_name = error_text,
        .error_string = error_text,
        .stream_sync = stream_sync,
        .event_create = event_create,
        .event_destroy = event_destroy,
        .event_record = event_record,
        .event_elapsed = event_elapsed,
        .stream_create = stream_create,
        .stream_destroy = stream_destroy,
        .capture_begin = capture_begin,
        .capture_end = capture_end,
        .graph_make = graph_make,
        .graph_launch = graph_launch,
        .graph_exec_free = graph_exec_free,
        .graph_free = graph_free,
        .device_attr = attribute};
    cuda.gpu[0].id = 70;
    sett_status s = sett__cuda_time(&cuda, stream, &t, us, &err);
    ck_assert(!f.events && !f.streams && !f.execs && !f.graphs && !f.captures);
    return s;
}

START_TEST(a_gpu_is_timed_by_events)
{
    double us[3];
    ck_assert_msg(!time_fake(false, 0, us), "%s", err.text);
    ck_assert_str_eq(f.log, "wRwRRwRRwRS"); /* a warm-up; all is issued, then waited for */
    ck_assert(us[0] == 0 && us[1] == 1000 && us[2] == 2000);
    ck_assert_msg(!time_fake(true, 0, us), "%s", err.text);
    ck_assert_str_eq(f.log, "([w]GRGRRGRRGRS)"); /* issued once, on a stream of its own */
    ck_assert(us[0] == 0 && us[1] == 1000 && us[2] == 2000);
    ck_assert_uint_eq(sett__cuda_cache(&cuda, 0), 50 << 20);
    ck_assert_uint_eq(sett__cuda_cache(&cuda, 1), 0);
    cuda.graph_launch = NULL;
    const sett__timing t = {true, 1, 3, issue, NULL};
    REFUSED(
        sett__cuda_time(&cuda, (sett_stream){0, NULL}, &t, us, &err), SETT_E_DRIVER, "the CUDA driver has no graphs");
    cuda.event_create = NULL;
    REFUSED(
        sett__cuda_time(&cuda, (sett_stream){0, NULL}, &t, us, &err), SETT_E_DRIVER, "the CUDA driver has no events");
}
END_TEST

/* Whichever call fails, its text is told and nothing stays behind (time_fake looks); what was issued is waited for. */
START_TEST(a_driver_that_fails_leaves_nothing_behind)
{
    double us[3];
    for (int graph = 0; graph < 2; graph++) {
        int n = 0;
        for (bool failed = true; failed; n++) {
            err.text[0] = 0;
            sett_status s = time_fake(graph, n + 1, us);
            failed = s != SETT_OK;
            ck_assert(!failed || err.text[0]);
            ck_assert_msg(!strchr(f.log, 'R') || strchr(f.log, 'S'), "%s", f.log);
        }
        ck_assert_int_gt(n, 15);
    }
}
END_TEST

Suite *bench_suite(void)
{
    Suite *s = suite_create("bench");
    TCase *t = tcase_create("cpu"), *gpu = tcase_create("gpu");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_kernel_is_measured);
    tcase_add_test(t, in_place_means_that);
    tcase_add_test(t, shared_memory_stays_shared);
    tcase_add_test(t, misuse_is_refused);
    tcase_add_test(t, outputs_may_be_zero_and_faults_are_told);
    tcase_add_test(t, functions_are_measured);
    tcase_add_test(t, results_are_json);
    suite_add_tcase(s, t);
    tcase_add_test(gpu, a_gpu_is_timed_by_events);
    tcase_add_test(gpu, a_driver_that_fails_leaves_nothing_behind);
    suite_add_tcase(s, gpu);
    return s;
}
