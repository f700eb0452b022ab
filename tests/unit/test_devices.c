/* SPDX-License-Identifier: Apache-2.0 */
/* One kernel on several devices and in further contexts: launches, prepared calls, captures, what is loaded where. On two GPUs
 * where they are (gpu_check.sh: SETT_TEST_GPU, without forking); else over the driver of fake_cuda.c, whose launches do here
 * what the kernel would. Without either each test says so and ends. */
#include "tests/rig/axpy.h"
#include "tests/fake/fake_cuda.h"
#include "tests/rig/rig.h"
#include <check.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sett/bench.h>
#include <sett/memory.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1003, DEVICES = 2 };
typedef void *handle;
static struct {
    int (*ctx_get)(handle *), (*ctx_set)(handle), (*retain)(handle *, int);
    int (*stream_create)(handle *, unsigned), (*stream_destroy)(handle);
    int (*capture_begin)(handle, int), (*capture_end)(handle, handle *), (*capturing)(handle, int *);
    int (*instantiate)(handle *, handle, unsigned long long), (*graph_launch)(handle, handle);
    int (*graph_destroy)(handle), (*exec_destroy)(handle);
} cu;
static void *lib;
static fake_state *fake; /* NULL: a real one */
static fake_state asked; /* of it, before it is opened: gpus, version, optin */
static sett_engine *engine;
static sett_error err;

static void find(void *to, const char *name)
{
    void *p = dlsym(lib, name);
    ck_assert_msg(p != NULL, "%s", name);
    memcpy(to, &p, sizeof p);
}

/* ---- what the fake driver's device does: axpy's packed block is X, Y, a, N --------------------- */
static void run(void *user, const fake_launch *l)
{
    struct {
        const float *x;
        float *y, a;
        int32_t n;
    } p;
    (void)user;
    ck_assert_uint_eq(l->params_len, 24);
    memcpy(&p, l->params, 24);
    ck_assert(l->block[0] == 64 && l->grid[0] == (unsigned)(p.n + 63) / 64);
    for (int i = 0; i < p.n; i++)
        p.y[i] = __builtin_fmaf(p.a, p.x[i], p.y[i]);
}

static bool open_devices(bool module_api)
{
    sett_engine_options o = {.size = sizeof o, .cache_dir = "", .module_api = module_api};
    if (!have_compiler())
        return false;
    if (!getenv("SETT_TEST_GPU")) {
        if (!fake_driver())
            return false;
        o.assembler = SETT_ASM_DRIVER;
    }
    lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    fake = lib ? dlsym(lib, "fake_cuda") : NULL;
    if (fake)
        fake->optin = asked.optin, fake->gpus = asked.gpus, fake->version = asked.version;
    engine = open_with(&o);
    int needed = asked.gpus ? asked.gpus : DEVICES;
    if (sett_gpu_count(engine) < needed) {
        fprintf(stderr, "skipped: %d GPUs here, %d are needed\n", sett_gpu_count(engine), needed);
        sett_engine_close(engine);
        return false;
    }
    if (fake)
        fake->kernel = run;
    find(&cu.ctx_get, "cuCtxGetCurrent");
    find(&cu.ctx_set, "cuCtxSetCurrent");
    find(&cu.retain, "cuDevicePrimaryCtxRetain");
    find(&cu.stream_create, "cuStreamCreate");
    find(&cu.stream_destroy, "cuStreamDestroy_v2");
    find(&cu.capture_begin, "cuStreamBeginCapture_v2");
    find(&cu.capture_end, "cuStreamEndCapture");
    find(&cu.capturing, "cuStreamIsCapturing");
    find(&cu.instantiate, "cuGraphInstantiateWithFlags");
    find(&cu.graph_launch, "cuGraphLaunch");
    find(&cu.graph_destroy, "cuGraphDestroy");
    find(&cu.exec_destroy, "cuGraphExecDestroy");
    return true;
}

static handle current(void)
{
    handle c = NULL;
    ck_assert_int_eq(cu.ctx_get(&c), 0);
    return c;
}

static handle stream_in(handle context)
{
    handle was = current(), s;
    ck_assert_int_eq(cu.ctx_set(context), 0);
    ck_assert_int_eq(cu.stream_create(&s, 1), 0);
    ck_assert_int_eq(cu.ctx_set(was), 0);
    return s;
}

static handle primary(int device)
{
    handle c;
    ck_assert_int_eq(cu.retain(&c, device), 0);
    return c;
}

/* A further context, with a share of the device's multiprocessors; NULL: the driver knows none. */
static handle green_context(int device, handle *stream)
{
    int (*resource)(int, void *, int), (*split)(void *, unsigned *, const void *, void *, unsigned, unsigned);
    int (*describe)(handle *, void *, unsigned), (*create)(handle *, handle, int, unsigned), (*context_of)(handle *, handle);
    int (*make_stream)(handle *, handle, unsigned, int), (*device_of)(int *, int), id;
    static _Alignas(16) char all[1024], part[1024], rest[1024]; /* CUdevResource */
    unsigned groups = 1;
    handle described, green, context;
    if (fake) {
        handle (*make)(int);
        find(&make, "fake_green");
        context = make(device);
        *stream = stream_in(context);
        return context;
    }
    if (!dlsym(lib, "cuGreenCtxStreamCreate"))
        return NULL;
    find(&resource, "cuDeviceGetDevResource"), find(&split, "cuDevSmResourceSplitByCount");
    find(&describe, "cuDevResourceGenerateDesc"), find(&create, "cuGreenCtxCreate");
    find(&context_of, "cuCtxFromGreenCtx"), find(&make_stream, "cuGreenCtxStreamCreate");
    find(&device_of, "cuDeviceGet");
    ck_assert_int_eq(device_of(&id, device), 0);
    ck_assert_int_eq(resource(id, all, 1), 0);
    ck_assert_int_eq(split(part, &groups, all, rest, 0, 16), 0);
    ck_assert_int_eq(describe(&described, part, 1), 0);
    ck_assert_int_eq(create(&green, described, id, 1), 0);
    ck_assert_int_eq(context_of(&context, green), 0);
    ck_assert_int_eq(make_stream(stream, green, 1, 0), 0);
    return context;
}

static void no_call_failed(void)
{
    ck_assert_msg(!fake || !fake->failures, "%d calls of the driver failed, the last of them %s", fake->failures, fake->failed);
}

/* ---- data on each device ---------------------------------------------------------------------- */
static struct on {
    float x[N], y[N], was[N];
    sett_buf X, Y;
} on[DEVICES];

static void upload(int d)
{
    struct on *o = &on[d];
    const sett_stream s = {d, NULL};
    axpy_fill(o->x, o->y, o->was, N);
    o->X = sett_buf_1d(sett_alloc(engine, d, sizeof o->x), SETT_F32, N);
    o->Y = sett_buf_1d(sett_alloc(engine, d, sizeof o->y), SETT_F32, N);
    ck_assert(o->X.data && o->Y.data);
    ck_assert(!sett_memcpy(engine, s, o->X.data, o->x, sizeof o->x) && !sett_memcpy(engine, s, o->Y.data, o->y, sizeof o->y));
    ck_assert_msg(!sett_sync_error(engine, s, &err), "%s", err.text);
}

static void expect_steps(sett_stream s, int steps, float a)
{
    struct on *o = &on[s.device];
    ck_assert_int_eq(sett_memcpy(engine, s, o->y, o->Y.data, sizeof o->y), SETT_OK);
    ck_assert_msg(!sett_sync_error(engine, s, &err), "%s", err.text);
    axpy_expect(o->x, o->y, o->was, N, N, steps, a);
}

static sett_kernel *make(const char *name)
{
    sett_kernel *k;
    const sett_compile_options o = {.size = sizeof o, .name = name};
    ck_assert_msg(!sett_compile(engine, axpy, &o, &k, &err), "%s", err.text);
    return k;
}

static void done(sett_kernel *k)
{
    for (int d = 0; d < sett_gpu_count(engine) && d < DEVICES; d++) {
        sett_free(engine, d, on[d].X.data);
        sett_free(engine, d, on[d].Y.data);
    }
    ck_assert_ptr_null(current()); /* as it was */
    sett_kernel_release(k);
    sett_engine_close(engine);
    no_call_failed();
}

static sett_device_counts counts(int d)
{
    sett_device_counts c = {.size = sizeof c};
    ck_assert_int_eq(sett_device_stats(engine, d, &c), SETT_OK);
    return c;
}

/* ---- each by cuLibraryLoadData (0) and by cuModuleLoadData (1) --------------------------------- */
START_TEST(launches_on_each)
{
    if (!open_devices(_i))
        return;
    sett_kernel *k = make("each");
    sett_kernel_info info = {.size = sizeof info};
    sett_kernel_query(k, &info);
    for (int d = 0; d < DEVICES; d++)
        upload(d);
    for (int d = 0; d < DEVICES; d++) {
        const sett_stream own = {d, stream_in(primary(d))}, plain = {d, NULL};
        ck_assert_uint_eq(counts(d).loads, 0); /* the other's is none of its own */
        ck_assert_msg(!sett_prepare(k, d, &err), "%s", err.text);
        ck_assert(counts(d).loads == 1 && counts(d).loaded_bytes == info.cubin_size);
        ck_assert_msg(!sett_launch(k, plain, &err, &on[d].X, &on[d].Y, 0.5), "%s", err.text);
        expect_steps(plain, 1, 0.5f);
        for (int other = 0; other < DEVICES; other++) { /* whatever is current */
            if (_i && other != d)
                continue; /* a module is of the context that is current */
            ck_assert_int_eq(cu.ctx_set(primary(other)), 0);
            ck_assert_msg(!sett_launch(k, own, &err, &on[d].X, &on[d].Y, 2), "%s", err.text);
            expect_steps(own, 1, 2);
            ck_assert_msg(!sett_launch(k, plain, &err, &on[d].X, &on[d].Y, 2), "%s", err.text);
            expect_steps(plain, 1, 2);
            ck_assert_ptr_eq(current(), primary(other));
        }
        ck_assert_int_eq(cu.ctx_set(NULL), 0);
        ck_assert_uint_eq(counts(d).loads, 1);
        ck_assert_int_eq(cu.stream_destroy(own.handle), 0);
    }
    done(k);
}
END_TEST

START_TEST(calls_on_each)
{
    if (!open_devices(_i))
        return;
    sett_kernel *k = make("calls");
    sett_prepared *c[DEVICES];
    for (int d = 0; d < DEVICES; d++) {
        upload(d);
        ck_assert_msg(!sett_prepared_make(k, d, &c[d], &err, &on[d].X, &on[d].Y, 0.5), "%s", err.text);
    }
    for (int round = 0; round < 3; round++)
        for (int d = 0; d < DEVICES; d++)
            ck_assert_int_eq(sett_prepared_run(c[d], (sett_stream){d, NULL}), SETT_OK);
    for (int d = 0; d < DEVICES; d++) {
        expect_steps((sett_stream){d, NULL}, 3, 0.5f);
        ck_assert_int_eq(sett_prepared_run(c[d], (sett_stream){!d, NULL}), SETT_E_NO_DEVICE); /* it is the other's */
        sett_prepared_free(c[d]);
    }
    done(k);
}
END_TEST

/* Prepared in the primary context, it runs in a green one, on its own stream and on the default one while it is current. */
START_TEST(in_a_green_context)
{
    if (!open_devices(_i))
        return;
    handle stream, green = green_context(1, &stream);
    if (!green) {
        fprintf(stderr, "skipped: the driver has no green contexts\n");
        sett_engine_close(engine);
        return;
    }
    sett_kernel *k = make("green");
    upload(0), upload(1);
    ck_assert_msg(!sett_prepare(k, 1, &err), "%s", err.text);
    const sett_stream own = {1, stream}, plain = {1, NULL};
    sett_prepared *c;
    if (_i)
        ck_assert_int_eq(cu.ctx_set(green), 0); /* a module is of the context that is current */
    ck_assert_msg(!sett_launch(k, own, &err, &on[1].X, &on[1].Y, 0.5), "%s", err.text);
    expect_steps(own, 1, 0.5f);
    ck_assert_int_eq(cu.ctx_set(green), 0);
    ck_assert_msg(!sett_prepared_make(k, 1, &c, &err, &on[1].X, &on[1].Y, 2), "%s", err.text);
    ck_assert_int_eq(sett_prepared_run(c, own), SETT_OK);
    expect_steps(own, 1, 2);
    ck_assert_msg(!sett_launch(k, plain, &err, &on[1].X, &on[1].Y, 2), "%s", err.text);
    expect_steps(plain, 1, 2);
    ck_assert_ptr_eq(current(), green);
    ck_assert_int_eq(cu.stream_destroy(stream), 0);
    ck_assert_int_eq(cu.ctx_set(NULL), 0);
    sett_prepared_free(c);
    done(k);
}
END_TEST

/* On each device: what is not prepared there is refused and the capture goes on; what is, is captured and replayed. */
START_TEST(captures_on_each)
{
    if (!open_devices(_i))
        return;
    sett_kernel *k = make("captured"), *elsewhere = NULL;
    for (int d = 0; d < DEVICES; d++) {
        handle graph = NULL, exec = NULL;
        int state = 0;
        const sett_stream s = {d, stream_in(primary(d))};
        sett_prepared *c;
        upload(d);
        ck_assert_int_eq(cu.ctx_set(primary(d)), 0);
        ck_assert_msg(!sett_prepared_make(k, d, &c, &err, &on[d].X, &on[d].Y, 0.5), "%s", err.text);
        const sett_compile_options o = {.size = sizeof o, .name = "elsewhere", .opt_level = d + 1};
        ck_assert_msg(!sett_compile(engine, axpy, &o, &elsewhere, &err), "%s", err.text);
        ck_assert_msg(!sett_prepare(elsewhere, !d, &err), "%s", err.text); /* on the other device alone */
        int before = fake ? fake->launches : 0;
        ck_assert_int_eq(cu.capture_begin(s.handle, 0), 0);
        ck_assert_int_eq(sett_launch(elsewhere, s, &err, &on[d].X, &on[d].Y, 9), SETT_E_CAPTURING);
        ck_assert_msg(strstr(err.text, d ? "is not prepared for GPU 1" : "is not prepared for GPU 0") != NULL, "%s", err.text);
        ck_assert(!fake || fake->launches == before); /* the driver was not asked */
        ck_assert(!cu.capturing(s.handle, &state) && state == 1);
        ck_assert_int_eq(sett_prepared_run(c, s), SETT_OK);
        ck_assert_msg(!sett_launch(k, s, &err, &on[d].X, &on[d].Y, 0.5), "%s", err.text);
        ck_assert_int_eq(cu.capture_end(s.handle, &graph), 0);
        ck_assert_int_eq(cu.instantiate(&exec, graph, 0), 0);
        expect_steps(s, 0, 0); /* captured, not run */
        for (int replay = 0; replay < 2; replay++)
            ck_assert_int_eq(cu.graph_launch(exec, s.handle), 0);
        expect_steps(s, 4, 0.5f);
        ck_assert(!cu.exec_destroy(exec) && !cu.graph_destroy(graph) && !cu.stream_destroy(s.handle));
        ck_assert_int_eq(cu.ctx_set(NULL), 0);
        sett_prepared_free(c);
        sett_kernel_release(elsewhere);
    }
    done(k);
}
END_TEST

/* ---- kernels that wait for those before them --------------------------------------------------- */
static void axpy_behind(sett_build *b, const void *user)
{
    sett_griddepcontrol_launch_dependents(b);
    sett_griddepcontrol_wait(b);
    axpy(b, user);
}

/* A launch, a call and a capture ask the driver for it, of this kernel alone. */
START_TEST(begins_early)
{
    if (!open_devices(_i))
        return;
    sett_kernel *plain = make("plain"), *k;
    const sett_compile_options o = {.size = sizeof o, .name = "behind"};
    ck_assert_msg(!sett_compile(engine, axpy_behind, &o, &k, &err), "%s", err.text);
    sett_stream s = {1, stream_in(primary(1))};
    sett_prepared *c;
    handle graph = NULL, exec = NULL;
    upload(1);
    ck_assert_int_eq(cu.ctx_set(primary(1)), 0); /* what makes a graph of a capture asks for one */
    ck_assert_msg(!sett_launch(plain, s, &err, &on[1].X, &on[1].Y, 0.5), "%s", err.text);
    ck_assert(!fake || fake->early == 0);
    ck_assert_msg(!sett_launch(k, s, &err, &on[1].X, &on[1].Y, 0.5), "%s", err.text);
    ck_assert(!fake || fake->early == 1);
    ck_assert_msg(!sett_prepared_make(k, 1, &c, &err, &on[1].X, &on[1].Y, 0.5) && !sett_prepared_run(c, s), "%s", err.text);
    ck_assert(!fake || fake->early == 2);
    ck_assert_int_eq(cu.capture_begin(s.handle, 0), 0);
    ck_assert_msg(!sett_launch(k, s, &err, &on[1].X, &on[1].Y, 0.5), "%s", err.text);
    ck_assert_int_eq(cu.capture_end(s.handle, &graph), 0);
    ck_assert(!fake || fake->early == 3);
    ck_assert_int_eq(cu.instantiate(&exec, graph, 0), 0);
    ck_assert_int_eq(cu.graph_launch(exec, s.handle), 0);
    expect_steps(s, 4, 0.5f);
    ck_assert(!cu.exec_destroy(exec) && !cu.graph_destroy(graph) && !cu.stream_destroy(s.handle));
    ck_assert_int_eq(cu.ctx_set(NULL), 0);
    sett_prepared_free(c);
    sett_kernel_release(plain);
    done(k);
}
END_TEST

/* ---- a device with less shared memory than others ------------------------------------------------ */
static void windowed(sett_build *b, const void *user)
{
    (void)user;
    sett_make_smem_tensor(b, SETT_I8, sett_make_layout(b, SETT_T1(sett_scalar(b, "n", SETT_I32))), 0);
    sett_grid(b, 1);
    sett_block(b, 32);
}

/* A launch and a call may give all that it has, and are refused one byte more before the driver sees it. */
START_TEST(windows_fit_the_device)
{
    static const char text[] = "windowed: 100001 bytes of shared memory a block, of which the launch adds 100001; GPU 1 (sm_90a) has 100000";
    asked.optin = 100000;
    if (getenv("SETT_TEST_GPU") || !open_devices(_i))
        return;
    fake->kernel = NULL;
    sett_kernel *k;
    sett_prepared *c;
    const sett_compile_options o = {.size = sizeof o, .name = "windowed"};
    const sett_stream s = {1, stream_in(primary(1))};
    ck_assert_msg(!sett_compile(engine, windowed, &o, &k, &err), "%s", err.text);
    for (int again = 0; again < 2; again++) { /* not loaded there, and loaded */
        ck_assert_msg(!sett_launch(k, s, &err, 100000), "%s", err.text);
        ck_assert_int_eq(sett_launch(k, s, &err, 100001), SETT_E_LIMIT);
        ck_assert_str_eq(err.text, text);
    }
    ck_assert_msg(!sett_prepared_make(k, 1, &c, &err, 100000) && !sett_prepared_run(c, s), "%s", err.text);
    sett_prepared_int(c, 0, 100001);
    *err.text = 0;
    ck_assert_int_eq(sett_prepared_commit(c, &err), SETT_E_LIMIT);
    ck_assert_str_eq(err.text, text);
    ck_assert(!sett_prepared_run(c, s) && fake->launches == 4); /* what was committed before */
    sett_prepared_free(c);
    ck_assert_int_eq(cu.stream_destroy(s.handle), 0);
    sett_kernel_release(k);
    sett_engine_close(engine);
}
END_TEST

/* ---- no call of the driver fails ------------------------------------------------------------- */
typedef sett_status axpy_function(const sett_buf *, const sett_buf *, float);
typedef struct ways {
    sett_kernel *k;
    sett_prepared *call; /* NULL: a module's function is of one context */
    sett_stream s;
} ways;
enum { THREADS = 4 };

/* One step by each way to launch; how many were made. */
static int launch_all_ways(const ways *w)
{
    struct on *o = &on[w->s.device];
    void (*function)(void);
    sett_function *f;
    sett_error e;
    ck_assert_msg(!sett_launch(w->k, w->s, &e, &o->X, &o->Y, 0.5), "%s", e.text);
    if (w->call)
        ck_assert_int_eq(sett_prepared_run(w->call, w->s), SETT_OK);
    ck_assert_msg(!sett_kernel_function(w->k, w->s, &f, &function, &e), "%s", e.text);
    ck_assert_int_eq(((axpy_function *)function)(&o->X, &o->Y, 0.5f), SETT_OK);
    sett_function_free(f);
    return 2 + (w->call != NULL);
}

/* With no context, with the device's, with none again: the caller may change it between any two. */
static int with_and_without(const ways *w)
{
    int steps = 0;
    for (int i = 0; i < 5; i++) {
        handle wanted = i % 2 ? primary(w->s.device) : NULL;
        ck_assert_int_eq(cu.ctx_set(wanted), 0);
        steps += launch_all_ways(w);
        ck_assert_ptr_eq(current(), wanted);
    }
    ck_assert_int_eq(cu.ctx_set(NULL), 0);
    return steps;
}

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER; /* the launches write, and a call is of one thread at a time */
static void *in_a_thread(void *user)
{
    pthread_mutex_lock(&turn);
    uintptr_t steps = (uintptr_t)with_and_without(user);
    pthread_mutex_unlock(&turn);
    return (void *)steps;
}

static int in_threads(ways *w)
{
    pthread_t thread[THREADS];
    int steps = 0;
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&thread[i], NULL, in_a_thread, w), 0);
    for (int i = 0; i < THREADS; i++) {
        void *made;
        ck_assert_int_eq(pthread_join(thread[i], &made), 0);
        steps += (int)(uintptr_t)made;
    }
    return steps;
}

static int captured(const ways *w)
{
    handle graph, exec;
    ck_assert_int_eq(cu.capture_begin(w->s.handle, 0), 0);
    int steps = launch_all_ways(w);
    ck_assert_int_eq(cu.capture_end(w->s.handle, &graph), 0);
    ck_assert_int_eq(cu.ctx_set(primary(w->s.device)), 0);
    ck_assert(!cu.instantiate(&exec, graph, 0) && !cu.graph_launch(exec, w->s.handle));
    ck_assert(!cu.exec_destroy(exec) && !cu.graph_destroy(graph) && !cu.ctx_set(NULL));
    return steps;
}

static void measure(const ways *w, bool graph)
{
    const sett_benchmark_options o = {.size = sizeof o, .warmup = 1, .iterations = 2, .launches = 2, .hot = true, .graph = graph};
    sett_benchmark_result r = {.size = sizeof r};
    const struct on *data = &on[w->s.device];
    ck_assert_msg(!sett_benchmark(w->k, w->s, &o, &r, &err, &data->X, &data->Y, 0.5), "%s", err.text);
}

/* Each way to launch, with and without a current context, in threads, captured, measured; by libraries and by modules, with
 * one GPU and several, with a driver that lacks what is newer than 11.6. */
START_TEST(no_call_fails)
{
    asked.gpus = _i & 1 ? 2 : 1;
    asked.version = _i & 4 ? 11060 : 0;
    bool modules = _i & 2;
    if (getenv("SETT_TEST_GPU") || !open_devices(modules))
        return;
    sett_kernel *k = make("quiet");
    for (int d = 0; d < asked.gpus; d++) {
        ways w = {k, NULL, {d, NULL}};
        upload(d);
        ck_assert_msg(!sett_prepared_make(k, d, &w.call, &err, &on[d].X, &on[d].Y, 0.5), "%s", err.text);
        sett_prepared *call = w.call;
        int steps = with_and_without(&w);
        no_call_failed();
        steps += in_threads(&w);
        no_call_failed();
        w.s.handle = stream_in(primary(d));
        steps += with_and_without(&w) + in_threads(&w) + captured(&w);
        no_call_failed();
        measure(&w, false), measure(&w, true);
        expect_steps(w.s, steps, 0.5f);
        no_call_failed();
        ck_assert_int_eq(cu.stream_destroy(w.s.handle), 0);
        handle stream, green = green_context(d, &stream);
        ck_assert_int_eq(cu.ctx_set(green), 0);
        w.call = modules ? NULL : call;
        w.s.handle = NULL;
        expect_steps(w.s, launch_all_ways(&w), 0.5f);
        ck_assert(!cu.ctx_set(NULL) && !cu.stream_destroy(stream));
        sett_prepared_free(call);
    }
    ck_assert_msg(!sett_unload(k, &err), "%s", err.text);
    done(k);
}
END_TEST

/* $SETT_DEVICE, where there are two GPUs: what SETT_DEFAULT_DEVICE stands for in every call, and what a kernel is compiled for. */
START_TEST(default_device_is_asked_for)
{
    static const struct {
        const char *text;
        int device;
    } t[] = {{"", 0}, {"gpu", 0}, {"0", 0}, {"1", 1}, {"cpu", SETT_CPU}, {"100", SETT_DEFAULT_DEVICE}};
    char none[100], line[80], told[8192];
    if (!open_devices(false))
        return;
    const int gpus = sett_gpu_count(engine);
    snprintf(none, sizeof none, "SETT_DEVICE is 100 in the environment: device 100: there are %d GPUs, 0 to %d", gpus, gpus - 1);
    sett_engine_options o = {.size = sizeof o, .cache_dir = ""};
    for (size_t i = 0; i < SETT__COUNT(t); i++) {
        char is[16], wanted[16];
        sett_engine *e;
        setenv("SETT_DEVICE", t[i].text, 1);
        sett_status s = sett_engine_open(&e, &o, &err);
        if (t[i].device == SETT_DEFAULT_DEVICE) {
            ck_assert_int_eq(s, SETT_E_NO_DEVICE);
            ck_assert_str_eq(err.text, none);
            continue;
        }
        ck_assert_msg(!s, "%s", err.text);
        ck_assert_int_eq(sett_default_device(e), t[i].device);
        ck_assert_int_eq(sett_gpu_count(e), gpus); /* they are still to be had, by number */
        snprintf(wanted, sizeof wanted, t[i].device < 0 ? "cpu" : "GPU %d", t[i].device);
        snprintf(line, sizeof line, "\ndefault device: %s%s\n", wanted, *t[i].text ? ", as SETT_DEVICE says" : "");
        sett_engine_describe(e, told, sizeof told);
        ck_assert_msg(strstr(told, line), "%s", told);
        sett_device_target(e, SETT_DEFAULT_DEVICE, is, sizeof is);
        sett_device_target(e, t[i].device, wanted, sizeof wanted);
        ck_assert_str_eq(is, wanted);
        void *p = sett_alloc(e, SETT_DEFAULT_DEVICE, 64);
        ck_assert_ptr_nonnull(p);
        sett_free(e, t[i].device, p);
        sett_engine_close(e);
    }
    unsetenv("SETT_DEVICE");
    sett_engine_close(engine);
}
END_TEST

Suite *devices_suite(void);
Suite *devices_suite(void)
{
    Suite *s = suite_create("devices");
    TCase *t = tcase_create("devices");
    tcase_add_checked_fixture(t, make_root, drop_root);
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, launches_on_each, 0, 2);
    tcase_add_loop_test(t, calls_on_each, 0, 2);
    tcase_add_loop_test(t, in_a_green_context, 0, 2);
    tcase_add_loop_test(t, captures_on_each, 0, 2);
    tcase_add_loop_test(t, begins_early, 0, 2);
    tcase_add_loop_test(t, windows_fit_the_device, 0, 2);
    tcase_add_loop_test(t, no_call_fails, 0, 8);
    tcase_add_test(t, default_device_is_asked_for);
    suite_add_tcase(s, t);
    return s;
}
