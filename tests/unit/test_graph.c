/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs. The law: whatever was staged and committed before, a run launches what sett_launch launches with the same arguments, in the order
 * of the calls, byte for byte; over the driver of fake_cuda.c as a graph, by launches one by one and inside a capture. On the CPU engine
 * the reference is plain C. */
#define SETT_SHORT
#include "tests/rig/faces.h"
#include "jit/cuda/inside.h"
#include "tests/fake/fake_cuda.h"
#include "tests/rig/axpy.h"
#include "tests/rig/rig.h"
#include <check.h>
#include <dlfcn.h>
#include <sett/graph.h>
#include <sett/memory.h>
#include <sett/struct.h>
#include <stdlib.h>
#include <string.h>

static sett_error err;

/* ---- kernels --------------------------------------------------------------------------------------- */
typedef struct knobs {
    float low, high;
} knobs;

/* Y = clamp(scale * X), of the first `count` elements, which no buffer gives; the bounds in a struct. */
static void clamped(sett_build *b, const void *unused)
{
    (void)unused;
    sett_val *N = sett_sym(b, "N"), *count = sett_sym(b, "count");
    sett_struct *Knobs = sett_make_struct(b, "knobs", SETT_FIELD("low", SETT_F32), SETT_FIELD("high", SETT_F32));
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, T1(N)));
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_make_layout(b, T1(N)));
    sett_tensor *P = sett_scalar_struct(b, "bounds", Knobs);
    sett_val *scale = sett_scalar(b, "scale", SETT_F32);
    sett_grid(b, sett_ceil_div(count, 32));
    sett_block(b, 32);
    sett_val *i = sett_add(sett_mul(sett_block_idx(b, 0), 32), sett_thread_idx(b, 0));
    sett_if (b, sett_lt(i, count))
        sett_set(Y, sett_min(sett_max(sett_mul(scale, sett_at(X, i)), sett_field(P, Knobs, "low")), sett_field(P, Knobs, "high")), i);
}

/* Y = X, of eight elements: extents that are numbers. */
static void rows(sett_build *b, const void *unused)
{
    (void)unused;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, 8)), *Y = sett_param(b, "Y", SETT_F32, sett_make_layout(b, 8));
    sett_grid(b, 1);
    sett_block(b, 8);
    sett_set(Y, sett_at(X, sett_thread_idx(b, 0)), sett_thread_idx(b, 0));
}

/* A cluster whose size each launch says, of a kernel that may begin early. */
static const char clustered[] = "sett tape 2\nsym N\nsym C\nparam X f32 (N):(1) align 4 read\ngrid N*4\nblock 32\ncluster C\n\ngriddepcontrol.wait\n";
static const char mapped[] = "sett tape 2\nsym M\nsym K\nsym S\nparam A bf16 (M,K):(S,1) align 2 read\nscalar n i32\n"
                             "map mA A bf16 (K,M) bytes (S*2) box (64,128) swizzle 128\ngrid (M+127)/128\nblock 128\n\n%0 = tid.x i32\n";

static sett_kernel *make(sett_engine *e, sett_body body, const char *name, const char *target)
{
    sett_kernel *k = NULL;
    const sett_compile_options o = {.size = sizeof o, .name = name, .target = target};
    ck_assert_msg(!sett_compile(e, body, &o, &k, &err), "%s", err.text);
    return k;
}

static sett_kernel *make_tape(sett_engine *e, const char *text, const char *name)
{
    sett_kernel *k = NULL;
    const sett_compile_options o = {.size = sizeof o, .name = name};
    ck_assert_msg(!sett_compile_tape(e, text, strlen(text), &o, &k, &err), "%s", err.text);
    return k;
}

static sett_graph *new_graph(int device, bool launches)
{
    sett_graph *p;
    const sett_graph_options o = {.size = sizeof o, .launches = launches};
    ck_assert_msg(!sett_graph_make(device, &o, &p, &err), "%s", err.text);
    return p;
}

static sett_graph_info info_of(const sett_graph *p)
{
    sett_graph_info i = {.size = sizeof i};
    ck_assert_int_eq(sett_graph_query(p, &i), SETT_OK);
    return i;
}
static void expect_ok(sett_status status, int line)
{
    ck_assert_msg(!status, "line %d: %s", line, err.text);
}
#define OK(call) expect_ok(call, __LINE__)
static void expect_failure(sett_status status, sett_status want, const char *words, int line)
{
    ck_assert_msg(status == want && !strcmp(err.text, words), "line %d: %s: %s", line, sett_status_name(status), err.text);
}
#define FAILS(call, status, words) expect_failure(call, status, words, __LINE__)

/* ---- what a driver was told -------------------------------------------------------------------------- */
enum { SEEN = 256 };
typedef struct seen {
    fake_launch of;
    unsigned char params[512];
} seen;
typedef struct record {
    int n;
    seen launch[SEEN];
} record;
static record now;
static fake_state *fake;

static void note(void *user, const fake_launch *l)
{
    (void)user;
    ck_assert(now.n < SEEN && l->params_len <= sizeof now.launch->params);
    seen *s = &now.launch[now.n++];
    memset(s, 0, sizeof *s);
    s->of = *l;
    memcpy(s->params, l->params, l->params_len);
    s->of.params = NULL;
}

static void expect_same(const record *want)
{
    ck_assert_int_eq(now.n, want->n);
    for (int i = 0; i < now.n; i++)
        ck_assert_msg(!memcmp(&now.launch[i], &want->launch[i], sizeof now.launch[i]), "launch %d of %d differs", i, now.n);
}

static struct {
    int (*begin)(void *, int), (*end)(void *, void **), (*instantiate)(void **, void *, unsigned long long), (*launch)(void *, void *);
    int (*exec_free)(void *), (*graph_free)(void *), (*stream_create)(void **, unsigned), (*stream_free)(void *), (*retain)(void **, int), (*ctx_set)(void *);
} cu;

static void find(void *lib, void *to, const char *name)
{
    void *p = dlsym(lib, name);
    ck_assert_msg(p != NULL, "%s", name);
    memcpy(to, &p, sizeof p);
}

/* NULL: skipped. version: of the driver; 0: a new one. */
static sett_engine *open_over(int version, bool module_api)
{
    const sett_engine_options o = {.size = sizeof o, .cache_dir = "", .assembler = SETT_ASM_DRIVER, .module_api = module_api};
    if (!have_compiler() || !fake_driver())
        return NULL;
    void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    fake = dlsym(lib, "fake_cuda");
    fake->version = version;
    sett_engine *e = open_with(&o);
    fake->kernel = note;
    find(lib, &cu.begin, "cuStreamBeginCapture_v2"), find(lib, &cu.end, "cuStreamEndCapture");
    find(lib, &cu.instantiate, "cuGraphInstantiateWithFlags"), find(lib, &cu.launch, "cuGraphLaunch");
    find(lib, &cu.exec_free, "cuGraphExecDestroy"), find(lib, &cu.graph_free, "cuGraphDestroy");
    find(lib, &cu.stream_create, "cuStreamCreate"), find(lib, &cu.stream_free, "cuStreamDestroy_v2");
    find(lib, &cu.retain, "cuDevicePrimaryCtxRetain"), find(lib, &cu.ctx_set, "cuCtxSetCurrent");
    return e;
}

static sett_stream stream_on(int device)
{
    void *context, *stream;
    ck_assert(!cu.retain(&context, device) && !cu.ctx_set(context) && !cu.stream_create(&stream, 1) && !cu.ctx_set(NULL));
    return sett_stream_of(device, stream);
}

/* Runs it on the stream, or into a capture of the stream that is then replayed. */
static void run_graph(sett_graph *p, sett_stream s, bool captured)
{
    void *graph, *exec, *context;
    now.n = 0;
    if (!captured) {
        OK(sett_graph_run(p, s, &err));
        return;
    }
    ck_assert(!cu.retain(&context, s.device) && !cu.ctx_set(context) && !cu.begin(s.handle, 0));
    OK(sett_graph_run(p, s, &err));
    ck_assert_int_eq(now.n, 0);
    ck_assert(!cu.end(s.handle, &graph) && !cu.instantiate(&exec, graph, 0) && !cu.launch(exec, s.handle));
    ck_assert(!cu.exec_free(exec) && !cu.graph_free(graph) && !cu.ctx_set(NULL));
}

/* ---- the law ------------------------------------------------------------------------------------------- */
enum { STEPS = 14, BUFS = 6, NUMBERS = 3, KERNELS = 3, ARGS = 6 };
static const char *const buf_name[BUFS] = {"b0", "b1", "b2", "b3", "b4", "b5"};
static const char *const number_name[NUMBERS] = {"n0", "n1", "n2"};
typedef struct model { /* what the graph should be: arguments, and of each step which of them */
    sett_graph *graph;
    sett_kernel *kernel[KERNELS];
    sett_buf buf[BUFS];
    int64_t number[NUMBERS];
    float scale;
    knobs bounds;
    int n, of[STEPS], arg[STEPS][3];
    uint64_t random;
} model;

static int draw(model *m, int n)
{
    m->random = m->random * 6364136223846793005u + 1442695040888963407u;
    return (int)((m->random >> 33) % (unsigned)n);
}

static const int64_t number[3] = {1, 2, 4};
static sett_buf any_buf(model *m, int64_t n)
{
    return sett_buf_1d((char *)0x10000 + 4 * draw(m, 1000), SETT_F32, n);
}

/* The first steps use every name, so that each has its value from the start on. */
static void add_step(model *m)
{
    const int i = m->n++;
    const bool first = i < BUFS;
    const int k = m->of[i] = first ? i % KERNELS : draw(m, KERNELS);
    const char *const x = buf_name[m->arg[i][0] = first ? i : draw(m, BUFS)], *const y = buf_name[m->arg[i][1] = first ? i : draw(m, BUFS)];
    const char *const c = number_name[m->arg[i][2] = first ? i / 2 : draw(m, NUMBERS)];
    if (k == 0)
        OK(sett_graph_add(m->graph, m->kernel[0], "step", &err, x, y, "scale"));
    else if (k == 1)
        OK(sett_graph_add(m->graph, m->kernel[1], NULL, &err, x, y, "bounds", 0.5, (sett_launch_arg){0}, c));
    else
        OK(sett_graph_add(m->graph, m->kernel[2], NULL, &err, x, (sett_launch_arg){0}, c));
}

static sett_status launch_step(const model *m, int i, sett_stream s)
{
    const sett_buf *x = &m->buf[m->arg[i][0]], *y = &m->buf[m->arg[i][1]];
    const int64_t c = m->number[m->arg[i][2]];
    sett_kernel *k = m->kernel[m->of[i]];
    return m->of[i] == 0   ? sett_launch(k, s, &err, x, y, m->scale)
           : m->of[i] == 1 ? sett_launch(k, s, &err, x, y, SETT_STRUCT(m->bounds), 0.5, (sett_launch_arg){0}, c)
                           : sett_launch(k, s, &err, x, (sett_launch_arg){0}, c);
}

static void stage_one(model *m, int which, int64_t n)
{
    if (which < BUFS)
        m->buf[which] = any_buf(m, n), sett_graph_set(m->graph, buf_name[which], &m->buf[which]);
    else if (which < BUFS + NUMBERS)
        m->number[which - BUFS] = number[draw(m, 3)], sett_graph_set(m->graph, sett_graph_argument(m->graph, number_name[which - BUFS]), m->number[which - BUFS]);
    else if (which == BUFS + NUMBERS)
        m->scale = (float)draw(m, 100), sett_graph_set(m->graph, "scale", m->scale);
    else
        m->bounds = (knobs){(float)draw(m, 9), (float)draw(m, 9)}, sett_graph_set(m->graph, "bounds", SETT_STRUCT(m->bounds));
}

/* All buffers of one length, which every call takes, or a few of some length; and some numbers. */
static void stage(model *m)
{
    static const int64_t sizes[] = {64, 100, 0, 65};
    const int64_t n = sizes[draw(m, 4)];
    const bool all = draw(m, 3) > 0;
    for (int i = 0; i < BUFS + NUMBERS + 2; i++)
        if ((i < BUFS && all) || draw(m, 4) == 0)
            stage_one(m, i, n);
}

/* What sett_launch does with the same: the first failure, or all launches. */
static sett_status reference(const model *m, sett_stream s, record *to, int *failed)
{
    sett_status status = SETT_OK;
    now.n = 0;
    for (int i = 0; i < m->n && !status; i++) {
        status = launch_step(m, i, s);
        *failed = i;
    }
    *to = now;
    return status;
}

/* _i & 1: launches one by one; _i & 2: by modules; _i & 4: a driver of 12.0, whose captures tell less. */
START_TEST(runs_what_launches_would)
{
    static record want, last;
    model m = {.random = (uint64_t)_i + 1, .scale = 1, .bounds = {1, 2}};
    sett_engine *e = open_over(_i & 4 ? 12000 : 0, _i & 2);
    if (!e)
        return;
    m.graph = new_graph(1, _i & 1);
    m.kernel[0] = make(e, axpy, "axpy", NULL), m.kernel[1] = make(e, clamped, "clamped", NULL), m.kernel[2] = make_tape(e, clustered, "clustered");
    const sett_stream s = stream_on(1);
    if (_i & 4)
        m.kernel[0]->rest->runtime->cuda->capture_edges = NULL;
    for (int i = 0; i < BUFS; i++)
        add_step(&m);
    for (int i = 0; i < BUFS + NUMBERS + 2; i++)
        stage_one(&m, i, 64);
    for (int round = 0, refused = 0; round < 300; round++) {
        sett_error told = {0};
        int failed = 0;
        const sett_status status = sett_graph_commit(m.graph, &told);
        ck_assert_int_eq(status, reference(&m, s, &want, &failed));
        if (!status)
            last = want;
        if (status) { /* with its call before, and the names of its arguments behind */
            char begins[40];
            snprintf(begins, sizeof begins, "call %d%s: ", failed, m.of[failed] ? "" : " (step)");
            ck_assert_msg(!strncmp(told.text, begins, strlen(begins)) && !strncmp(told.text + strlen(begins), err.text, strlen(err.text)), "%s: %s",
                told.text, err.text);
            ck_assert_msg(++refused < 290, "every commit is refused");
        }
        run_graph(m.graph, s, draw(&m, 3) == 0);
        expect_same(&last);
        if (draw(&m, 20) == 0 && m.n < STEPS)
            add_step(&m);
        stage(&m);
    }
    ck_assert(m.n > BUFS && info_of(m.graph).calls == m.n);
    ck_assert((info_of(m.graph).cuda_graphs > 0) == !(_i & 1) && (info_of(m.graph).updates > 0) == !(_i & 1));
    ck_assert_msg(!fake->failures, "%s failed", fake->failed);
    sett_graph_free(m.graph);
    ck_assert_int_eq(fake->graphs, 0);
    cu.stream_free(s.handle);
    for (int i = 0; i < KERNELS; i++) {
        OK(sett_unload(m.kernel[i], &err)); /* the graph holds it no more */
        sett_kernel_release(m.kernel[i]);
    }
    sett_engine_close(e);
}
END_TEST

/* ---- the CPU engine --------------------------------------------------------------------------------------- */
enum { N = 200 };
typedef struct host {
    sett_engine *engine;
    sett_kernel *axpy, *clamped, *rows; /* rows: of eight */
    float a[N], b[N], c[N], was[N];
    sett_buf A, B, C;
} host;

static void open_host(host *h)
{
    sett_engine_options o = options();
    h->engine = open_with(&o);
    h->axpy = make(h->engine, axpy, "axpy", "cpu"), h->clamped = make(h->engine, clamped, "clamped", "cpu");
    h->rows = make(h->engine, rows, "rows", "cpu");
    h->A = sett_buf_1d(h->a, SETT_F32, N), h->B = sett_buf_1d(h->b, SETT_F32, N), h->C = sett_buf_1d(h->c, SETT_F32, N);
    axpy_fill(h->a, h->b, h->was, N);
    memset(h->c, 0, sizeof h->c);
}

static void close_host(host *h)
{
    sett_kernel_release(h->axpy), sett_kernel_release(h->clamped), sett_kernel_release(h->rows);
    sett_engine_close(h->engine);
}

static float clamp(float x, float low, float high)
{
    return x < low ? low : x > high ? high : x;
}

/* b += f a; c = clamp(2 b) of the first n; a constant buffer, a shared one, and numbers by name. */
START_TEST(on_the_cpu)
{
    host h;
    open_host(&h);
    sett_graph *p = new_graph(SETT_DEFAULT_DEVICE, false);
    OK(sett_graph_add(p, h.axpy, NULL, &err, "in", "state", "factor"));
    OK(sett_graph_add(p, h.clamped, "limit", &err, "state", &h.C, SETT_STRUCT((knobs){-20, 30}), 2, (sett_launch_arg){0}, "count"));
    sett_graph_set(p, "in", &h.A), sett_graph_set(p, "state", &h.B), sett_graph_set(p, "factor", 0.5), sett_graph_set(p, "count", N);
    OK(sett_graph_commit(p, &err));
    ck_assert(info_of(p).device == SETT_CPU && info_of(p).calls == 2 && info_of(p).arguments == 4 && !info_of(p).cuda_graph);
    for (int run = 0; run < 3; run++) {
        OK(sett_graph_run(p, sett_stream_of(SETT_CPU, NULL), &err));
        axpy_expect(h.a, h.b, h.was, N, N, 1, 0.5f);
    }
    for (int i = 0; i < N; i++)
        ck_assert(h.c[i] == clamp(2 * h.b[i], -20, 30));
    float other[N] = {0};
    sett_buf O = sett_buf_1d(other, SETT_F32, N);
    sett_graph_set(p, "state", &O), sett_graph_set(p, "count", 7), sett_graph_set(p, "factor", 3);
    OK(sett_graph_run(p, sett_stream_of(SETT_DEFAULT_DEVICE, NULL), &err)); /* staged is not committed */
    axpy_expect(h.a, h.b, h.was, N, N, 1, 0.5f);
    memset(h.c, 0, sizeof h.c);
    OK(sett_graph_commit(p, &err));
    OK(sett_graph_run(p, sett_stream_of(SETT_CPU, NULL), &err));
    for (int i = 0; i < N; i++)
        ck_assert(other[i] == 3 * h.a[i] && h.c[i] == (i < 7 ? clamp(2 * other[i], -20, 30) : 0) && h.b[i] == h.was[i]);
    sett_graph_free(p);
    close_host(&h);
}
END_TEST

/* The first that fails is named, and what is behind it does not run; memory that was freed since the commit is found. */
START_TEST(a_call_that_fails)
{
    host h;
    open_host(&h);
    float *freed = sett_alloc(h.engine, SETT_CPU, sizeof h.a);
    memset(freed, 0, sizeof h.a);
    sett_buf F = sett_buf_1d(freed, SETT_F32, N);
    sett_graph *p = new_graph(SETT_CPU, false);
    OK(sett_graph_add(p, h.axpy, "first", &err, "A", "B", 1));
    OK(sett_graph_add(p, h.axpy, "second", &err, "F", "B", 1));
    OK(sett_graph_add(p, h.axpy, "third", &err, "A", "C", 1));
    sett_graph_set(p, "A", &h.A), sett_graph_set(p, "B", &h.B), sett_graph_set(p, "C", &h.C), sett_graph_set(p, "F", &F);
    OK(sett_graph_commit(p, &err));
    OK(sett_graph_run(p, sett_stream_of(SETT_CPU, NULL), &err));
    axpy_expect(h.a, h.b, h.was, N, N, 1, 1);
    sett_free(h.engine, SETT_CPU, freed);
    memset(h.c, 0, sizeof h.c);
    ck_assert_int_eq(sett_graph_run(p, sett_stream_of(SETT_CPU, NULL), &err), SETT_E_RANGE);
    ck_assert_msg(!strncmp(err.text, "call 1 (second): axpy: X ", 25) && strstr(err.text, "(X is \"F\""), "%s", err.text);
    axpy_expect(h.a, h.b, h.was, N, N, 1, 1);
    for (int i = 0; i < N; i++)
        ck_assert(h.c[i] == 0);
    sett_graph_free(p);
    close_host(&h);
}
END_TEST

/* A graph for each of several threads, of the same kernels and the same memory to read. */
static void *replay(void *user)
{
    host *h = user;
    sett_error own;
    sett_graph *p;
    float y[N] = {0};
    sett_buf Y = sett_buf_1d(y, SETT_F32, N);
    bool good = !sett_graph_make(SETT_CPU, NULL, &p, &own) && !sett_graph_add(p, h->axpy, NULL, &own, "x", "y", "a") && !sett_graph_add(p, h->axpy, NULL, &own, &h->A, "y", 1);
    for (int i = 0; i < 50 && good; i++) {
        sett_graph_set(p, "x", &h->A), sett_graph_set(p, "y", &Y), sett_graph_set(p, "a", i);
        good = !sett_graph_commit(p, &own) && !sett_graph_run(p, sett_stream_of(SETT_CPU, NULL), &own);
    }
    for (int i = 0; i < N && good; i++)
        good = y[i] == (49 * 25 + 50) * h->a[i]; /* small integers: exact */
    sett_graph_free(p);
    return good ? h : NULL;
}

START_TEST(in_threads)
{
    enum { THREADS = 6 };
    host h;
    pthread_t thread[THREADS];
    void *good;
    open_host(&h);
    for (int i = 0; i < THREADS; i++)
        ck_assert(!pthread_create(&thread[i], NULL, replay, &h));
    for (int i = 0; i < THREADS; i++)
        ck_assert(!pthread_join(thread[i], &good) && good);
    close_host(&h);
}
END_TEST

/* ---- errors ----------------------------------------------------------------------------------------------- */
START_TEST(wrong_calls)
{
    host h;
    open_host(&h);
    sett_graph *p = new_graph(SETT_CPU, false);
    const sett_stream cpu = sett_stream_of(SETT_CPU, NULL);
    FAILS(sett_graph_run(p, cpu, &err), SETT_E_BIND, "sett_graph_run: nothing was committed yet");
    OK(sett_graph_add(p, h.axpy, "first", &err, "x", "y", "a"));
    FAILS(sett_graph_add(p, h.axpy, NULL, &err, "x", "y"), SETT_E_BIND, "call 1: axpy takes 3 arguments (X, Y, a), 2 were given");
    FAILS(sett_graph_add(p, h.axpy, NULL, &err, "x", "a", "a"), SETT_E_BIND,
        "call 1 (axpy): Y = \"a\" is a tensor of f32 with 1 mode, and a of call 0 (first) is a number");
    FAILS(sett_graph_add(p, h.axpy, "twice", &err, "new", "x", "new"), SETT_E_BIND,
        "call 1 (twice): a = \"new\" is a number, and X of call 1 (twice) is a tensor of f32 with 1 mode");
    ck_assert_int_eq(sett_graph_argument(p, "new"), -1); /* the graph is as it was */
    FAILS(sett_graph_add(p, h.clamped, NULL, &err, "x", "y", "x", 1, "a", 2), SETT_E_BIND,
        "call 1 (clamped): bounds = \"x\" is a struct of 8 bytes, and X of call 0 (first) is a tensor of f32 with 1 mode");
    FAILS(sett_graph_add(p, h.axpy, NULL, &err, "", "y", 1), SETT_E_BIND, "call 1 (axpy): X: its name is empty");
    FAILS(sett_graph_add(p, NULL, NULL, &err, "x"), SETT_E_ARGUMENT, "sett_graph_add: the kernel is NULL");
    FAILS(sett_graph_add_n(p, h.axpy, NULL, 3, NULL, &err), SETT_E_BIND, "call 1: axpy takes 3 arguments (X, Y, a), 3 were given in an array that is NULL");
    const sett_buf wrong = sett_buf_1d(h.a, SETT_F16, N), none = sett_buf_1d(NULL, SETT_F32, N), few = sett_buf_1d(h.b, SETT_F32, 5);
    FAILS(sett_graph_add(p, h.axpy, NULL, &err, "v", "w", &h.A), SETT_E_BIND, "call 1: axpy: a is a number, and a buffer was given (argument 2)");
    FAILS(sett_graph_add(p, h.axpy, "second", &err, "v", 1, "c"), SETT_E_BIND, "call 1 (second): axpy: Y is a tensor, and a number was given (argument 1)");
    FAILS(sett_graph_add(p, h.axpy, NULL, &err, "v", (sett_launch_arg){0}, "c"), SETT_E_BIND, "call 1: axpy: Y is a tensor, and nothing was given (argument 1)");
    FAILS(sett_graph_add(p, h.axpy, NULL, &err, &wrong, "w", 1), SETT_E_DTYPE, "call 1: axpy: X is f32, the buffer given is f16");
    FAILS(sett_graph_add(p, h.axpy, NULL, &err, &none, "w", 1), SETT_E_BIND, "call 1: axpy: X is a null pointer");
    FAILS(sett_graph_add(p, h.axpy, NULL, &err, &h.A, &few, 1), SETT_E_SHAPE, "call 1: axpy: Y mode 0 is 5, X mode 0 gives N = 200");
    FAILS(sett_graph_add(p, h.clamped, NULL, &err, "v", "w", SETT_STRUCT(h.was), 1, (sett_launch_arg){0}, 2), SETT_E_SHAPE,
        "call 1: clamped: bounds is a struct of 8 bytes, the one given has 800 (argument 2)");
    FAILS(sett_graph_add(p, h.clamped, NULL, &err, "v", "w", "k", 1, 2.5, "n"), SETT_E_BIND, "call 1: clamped takes 4 arguments (X, Y, bounds, scale) and 2 numbers behind them (N, count), 6 were given");
    FAILS(sett_graph_add_n(p, h.rows, NULL, 2, (const sett_launch_arg[]){sett_launch_arg_name("v"), sett_launch_arg_buf(&h.A)}, &err), SETT_E_SHAPE,
        "call 1: rows: Y mode 0 is 200, the kernel was made for 8");
    ck_assert(info_of(p).calls == 1 && info_of(p).arguments == 3 && sett_graph_argument(p, "v") == -1);
    FAILS(sett_graph_commit(p, &err), SETT_E_BIND, "call 0 (first): axpy: X was never given (X is \"x\")");
    sett_graph_set(p, "x", &h.A), sett_graph_set(p, "y", &h.B), sett_graph_set(p, "a", 2);
    ck_assert_int_eq(sett_graph_set(p, "z", 3), SETT_E_BIND);
    FAILS(sett_graph_commit(p, &err), SETT_E_BIND, "sett_graph_set: a value was staged for \"z\", which no call of the graph has");
    ck_assert_int_eq(sett_graph_set(p, 7, 3), SETT_E_BIND);
    FAILS(sett_graph_commit(p, &err), SETT_E_BIND, "sett_graph_set: a value was staged for argument 7; the graph has 3");
    ck_assert_int_eq(sett_graph_set(p, sett_graph_argument(p, "q"), 3), SETT_E_BIND);
    FAILS(sett_graph_commit(p, &err), SETT_E_BIND, "sett_graph_set: a value was staged for a negative index (no such name?)");
    OK(sett_graph_commit(p, &err));
    sett_graph_set(p, "x", 4);
    FAILS(sett_graph_commit(p, &err), SETT_E_BIND, "call 0 (first): axpy: X is a tensor, and a number was given (argument 0) (X is \"x\")");
    sett_graph_set_named(p, "x", sett_launch_arg_name("y"));
    FAILS(sett_graph_commit(p, &err), SETT_E_BIND, "call 0 (first): axpy: X is a tensor, and a name was given (argument 0) (X is \"x\")");
    sett_buf half = sett_buf_1d(h.a, SETT_F16, N), small = sett_buf_1d(h.a, SETT_F32, 5);
    sett_graph_set(p, "x", &half);
    FAILS(sett_graph_commit(p, &err), SETT_E_DTYPE, "call 0 (first): axpy: X is f32, the buffer given is f16 (X is \"x\")");
    sett_graph_set(p, "x", &small);
    FAILS(sett_graph_commit(p, &err), SETT_E_SHAPE, "call 0 (first): axpy: Y mode 0 is 200, X mode 0 gives N = 5 (X is \"x\", Y is \"y\")");
    OK(sett_graph_run(p, cpu, &err)); /* with what was committed */
    axpy_expect(h.a, h.b, h.was, N, N, 1, 2);
    ck_assert_int_eq(sett_launch_n(h.axpy, cpu, 3, (const sett_launch_arg[]){sett_launch_arg_name("x"), sett_launch_arg_buf(&h.B), sett_launch_arg_float(1)}, &err), SETT_E_BIND);
    ck_assert_str_eq(err.text, "axpy: X is a tensor, and a name was given (argument 0)");
    FAILS(sett_graph_run(p, sett_stream_of(0, NULL), &err), SETT_E_NO_DEVICE, "sett_graph_run: the stream is of GPU 0, the graph of the CPU");
    host other;
    open_host(&other);
    FAILS(sett_graph_add(p, other.axpy, NULL, &err, "x", "y", "a"), SETT_E_ARGUMENT,
        "sett_graph_add: axpy is another engine's kernel than those of the calls before");
    close_host(&other);
    close_host(&h);
    FAILS(sett_graph_commit(p, &err), SETT_E_CLOSED, "sett_graph_commit: the engine was closed");
    FAILS(sett_graph_run(p, cpu, &err), SETT_E_CLOSED, "sett_graph_run: the engine was closed");
    sett_graph_free(p);
    FAILS(sett_graph_commit(NULL, &err), SETT_E_ARGUMENT, "sett_graph_commit: the graph is NULL");
    FAILS(sett_graph_run(NULL, cpu, &err), SETT_E_ARGUMENT, "sett_graph_run: the graph is NULL");
    FAILS(sett_graph_make(SETT_CPU, NULL, NULL, &err), SETT_E_ARGUMENT, "sett_graph_make: the place for the graph is NULL");
    ck_assert(sett_graph_argument(NULL, "x") == -1 && sett_graph_query(NULL, NULL) == SETT_E_ARGUMENT);
    sett_graph_free(NULL);
}
END_TEST

/* A thousand names, each found; and a graph without calls. */
START_TEST(many_names)
{
    host h;
    open_host(&h);
    enum { CALLS = 500 };
    char x[16], y[16];
    sett_graph *p = new_graph(SETT_CPU, false);
    OK(sett_graph_commit(p, &err));
    OK(sett_graph_run(p, sett_stream_of(SETT_CPU, NULL), &err));
    for (int i = 0; i < CALLS; i++) {
        snprintf(x, sizeof x, "x%d", i), snprintf(y, sizeof y, "y%d", i);
        OK(sett_graph_add(p, h.axpy, NULL, &err, x, y, 1));
    }
    ck_assert_int_eq(info_of(p).arguments, 2 * CALLS);
    for (int i = 0; i < CALLS; i++) {
        snprintf(x, sizeof x, "x%d", i), snprintf(y, sizeof y, "y%d", i);
        ck_assert(sett_graph_argument(p, x) == 2 * i && sett_graph_argument(p, y) == 2 * i + 1);
        sett_graph_set(p, x, &h.A), sett_graph_set(p, y, &h.B);
    }
    OK(sett_graph_commit(p, &err));
    OK(sett_graph_run(p, sett_stream_of(SETT_CPU, NULL), &err));
    axpy_expect(h.a, h.b, h.was, N, N, CALLS, 1);
    sett_graph_free(p);
    close_host(&h);
}
END_TEST

/* ---- the driver's graph -------------------------------------------------------------------------------------- */
/* Only nodes whose arguments changed are updated, and the graph is made anew only where it must be. */
START_TEST(updates)
{
    sett_engine *e = open_over(0, false);
    if (!e)
        return;
    sett_graph *p = new_graph(0, false);
    sett_kernel *k = make(e, axpy, "axpy", NULL), *c = make_tape(e, clustered, "clustered");
    char name[16];
    const sett_buf b = sett_buf_1d((void *)0x1000, SETT_F32, 64), other = sett_buf_1d((void *)0x2000, SETT_F32, 64), none = sett_buf_1d((void *)0x2000, SETT_F32, 0);
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "own%d", i);
        OK(sett_graph_add(p, k, NULL, &err, "shared", name, 1));
        sett_graph_set(p, name, &b);
    }
    OK(sett_graph_add(p, c, NULL, &err, "c", (sett_launch_arg){0}, "size"));
    sett_graph_set(p, "shared", &b), sett_graph_set(p, "c", &b), sett_graph_set(p, "size", 2);
#define EXPECT(graphs_, updates_) \
    do { \
        OK(sett_graph_commit(p, &err)); \
        ck_assert_int_eq(info_of(p).cuda_graphs, graphs_); \
        ck_assert_int_eq(info_of(p).updates, updates_); \
    } while (0)
    EXPECT(1, 0);
    EXPECT(1, 0);
    sett_graph_set(p, "own3", &other);
    EXPECT(1, 1);
    sett_graph_set(p, "own3", &other); /* the same */
    EXPECT(1, 1);
    sett_graph_set(p, "shared", &other);
    EXPECT(1, 21);
    sett_graph_set(p, "size", 4);
    EXPECT(2, 21);
    sett_graph_set(p, "c", &none); /* an empty grid: its node is switched off */
    EXPECT(2, 22);
    sett_graph_set(p, "c", &other);
    EXPECT(2, 23);
    ck_assert_int_eq(fake->node_updates, 21 + 1 + 2);
    OK(sett_graph_add(p, k, NULL, &err, "shared", "own1", 2));
    EXPECT(3, 23);
    const int launches = fake->launches;
    for (int i = 0; i < 5; i++)
        OK(sett_graph_run(p, sett_stream_of(0, NULL), &err));
    ck_assert(fake->graph_launches == 5 && fake->launches == launches && now.n == 5 * 22);
    ck_assert_int_eq(sett_unload(k, &err), SETT_E_ARGUMENT);
    sett_graph_free(p);
    OK(sett_unload(k, &err));
    sett_kernel_release(k), sett_kernel_release(c);
    sett_engine_close(e);
}
END_TEST

/* Threads that make and change graphs at once; the driver runs nothing. */
static void *make_graphs(void *user)
{
    sett_kernel *k = user;
    const sett_buf b = sett_buf_1d((void *)0x1000, SETT_F32, 64);
    sett_error own = {0};
    for (int i = 0; i < 5000 && !own.status; i++) {
        sett_graph *p;
        if (sett_graph_make(0, NULL, &p, &own))
            break;
        for (int call = 0; call < 4 && !own.status; call++)
            sett_graph_add(p, k, NULL, &own, &b, "y", 1);
        sett_graph_set(p, "y", &b);
        if (!own.status && !sett_graph_commit(p, &own))
            sett_graph_run(p, sett_stream_of(0, NULL), &own);
        sett_graph_free(p);
    }
    return own.status ? strdup(own.text) : NULL;
}

START_TEST(graphs_in_threads)
{
    enum { THREADS = 6 };
    sett_engine *e = open_over(0, false);
    pthread_t thread[THREADS];
    if (!e)
        return;
    sett_kernel *k = make(e, axpy, "axpy", NULL);
    OK(sett_prepare(k, 0, &err));
    fake->kernel = NULL;
    for (int i = 0; i < THREADS; i++)
        ck_assert(!pthread_create(&thread[i], NULL, make_graphs, k));
    for (int i = 0; i < THREADS; i++) {
        void *text;
        ck_assert(!pthread_join(thread[i], &text));
        ck_assert_msg(!text, "%s", (char *)text);
    }
    ck_assert_int_eq(fake->graphs, 0);
    sett_kernel_release(k);
    sett_engine_close(e);
}
END_TEST

/* Whatever the driver refuses, the next run launches the arguments of the last commit that succeeded. */
START_TEST(refused)
{
    static const char *const calls[] = {"cuGraphInstantiateWithFlags", "cuGraphExecKernelNodeSetParams_v2", "cuGraphNodeSetEnabled",
        "cuGraphKernelNodeGetParams_v2", "cuStreamGetCaptureInfo_v2", "cuGraphLaunch"};
    sett_engine *e = open_over(0, false);
    if (!e)
        return;
    sett_kernel *k = make(e, axpy, "axpy", NULL), *c = make_tape(e, clustered, "clustered");
    const sett_stream s = stream_on(0);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        static record was;
        const sett_buf b = sett_buf_1d((void *)0x1000, SETT_F32, 64), other = sett_buf_1d((void *)0x2000, SETT_F32, i == 2 ? 0 : 64);
        sett_graph *p = new_graph(0, false);
        OK(sett_graph_add(p, k, NULL, &err, &b, &b, 1));
        OK(sett_graph_add(p, c, "second", &err, "c", (sett_launch_arg){0}, "size"));
        sett_graph_set(p, "c", &b), sett_graph_set(p, "size", 2);
        OK(sett_graph_commit(p, &err));
        run_graph(p, s, false);
        was = now;
        fake->refused = calls[i];
        sett_graph_set(p, "c", &other), sett_graph_set(p, "size", i == 0 || i == 3 || i == 4 ? 4 : 2);
        const sett_status status = sett_graph_commit(p, &err);
        ck_assert_int_eq(status, i == 5 ? SETT_OK : SETT_E_DRIVER);
        ck_assert_msg(!status || !strncmp(err.text, i == 0 ? "cuGraphInstantiate" : i == 1 || i == 2 ? "call 1 (second): cu" : "call 0: cu", i == 0 ? 18 : 10), "%s", err.text);
        if (i == 5)
            FAILS(sett_graph_run(p, s, &err), SETT_E_DRIVER, "cuGraphLaunch: CUDA_ERROR (999): something");
        fake->refused = NULL;
        if (i != 5) {
            run_graph(p, s, false);
            expect_same(&was);
        }
        OK(sett_graph_commit(p, &err)); /* and the driver's mood may pass */
        run_graph(p, s, false);
        ck_assert_int_eq(now.n, i == 2 ? 1 : 2);
        ck_assert(i == 2 || (memcmp(now.launch[1].params, was.launch[1].params, 8) && info_of(p).cuda_graph));
        sett_graph_free(p);
    }
    ck_assert_int_eq(fake->graphs, 0);
    cu.stream_free(s.handle);
    sett_kernel_release(k), sett_kernel_release(c);
    sett_engine_close(e);
}
END_TEST

/* Tensor maps: encoded again where what they are made of changed, and handed to the node as to a launch. */
START_TEST(maps)
{
    static const unsigned char sizes[] = {8, 4, 4, 4, 4, 128, 0};
    alignas(128) static uint16_t matrix[2][64 * 64];
    static record want;
    sett_engine *e = open_over(0, false);
    if (!e)
        return;
    sett_kernel *k = make_tape(e, mapped, "mapped");
    const sett_stream s = stream_on(0);
    sett_graph *p = new_graph(0, false);
    fake->sizes = sizes;
    for (int i = 0; i < 2; i++)
        OK(sett_graph_add(p, k, NULL, &err, i ? "B" : "A", "n"));
    for (int round = 0; round < 4; round++) {
        const sett_buf A = sett_buf_2d(matrix[round & 1], SETT_BF16, 64, 64), B = sett_buf_2d(matrix[1], SETT_BF16, round == 3 ? 0 : 32, 64);
        sett_graph_set(p, "A", &A), sett_graph_set(p, "n", round);
        if (round != 1)
            sett_graph_set(p, "B", &B);
        const int before = fake->maps;
        OK(sett_graph_commit(p, &err));
        ck_assert_int_eq(fake->maps - before, round == 0 ? 2 : 1);
        now.n = 0;
        OK(sett_launch(k, s, &err, &A, round));
        OK(sett_launch(k, s, &err, &B, round));
        want = now;
        run_graph(p, s, round == 2);
        expect_same(&want);
    }
    sett_buf odd = sett_buf_2d((char *)matrix + 2, SETT_BF16, 8, 64);
    sett_graph_set(p, "A", &odd);
    ck_assert_int_eq(sett_graph_commit(p, &err), SETT_E_ALIGN);
    ck_assert_msg(!strncmp(err.text, "call 0: mapped: A is at ", 24), "%s", err.text);
    ck_assert_int_eq(info_of(p).cuda_graphs, 1);
    sett_graph_free(p);
    cu.stream_free(s.handle);
    sett_kernel_release(k);
    sett_engine_close(e);
}
END_TEST

/* A driver without these calls: launches one by one. */
START_TEST(old_driver)
{
    sett_engine *e = open_over(0, false);
    if (!e)
        return;
    sett_kernel *k = make(e, axpy, "axpy", NULL);
    k->rest->runtime->cuda->node_set = NULL;
    const sett_buf b = sett_buf_1d((void *)0x1000, SETT_F32, 64);
    sett_graph *p = new_graph(0, false);
    OK(sett_graph_add(p, k, NULL, &err, &b, &b, 1));
    OK(sett_graph_commit(p, &err));
    OK(sett_graph_run(p, sett_stream_of(0, NULL), &err));
    ck_assert(now.n == 1 && !info_of(p).cuda_graph && !fake->graph_launches);
    sett_graph_free(p);
    sett_kernel_release(k);
    sett_engine_close(e);
}
END_TEST

Suite *graph_suite(void)
{
    Suite *s = suite_create("graph");
    TCase *t = tcase_create("graph");
    tcase_add_checked_fixture(t, make_root, drop_root);
    tcase_add_loop_test(t, runs_what_launches_would, 0, 8);
    tcase_add_test(t, on_the_cpu);
    tcase_add_test(t, a_call_that_fails);
    tcase_add_test(t, in_threads);
    tcase_add_test(t, wrong_calls);
    tcase_add_test(t, many_names);
    tcase_add_test(t, updates);
    tcase_add_test(t, graphs_in_threads);
    tcase_add_test(t, refused);
    tcase_add_test(t, maps);
    tcase_add_test(t, old_driver);
    tcase_set_timeout(t, 60);
    suite_add_tcase(s, t);
    return s;
}
