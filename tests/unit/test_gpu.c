/* SPDX-License-Identifier: Apache-2.0 */
/* On a device: memory, launches through the public API by both ways of loading, contexts, captures, errors. Without
 * a device every test says so and ends. Run without forking (CK_FORK=no): a driver does not survive a fork, so each
 * test leaves the process as it was; the test of a fault, which cannot, comes last. */
#define SETT_SHORT
#include "tests/rig/axpy.h"
#include <check.h>
#include <dlfcn.h>
#include <errno.h>
#include <sett/sett.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 5003 };

/* ---- the driver, beside sett: what a host program does by itself -------------------- */
typedef void *handle;
static struct {
    int (*ctx_get)(handle *), (*ctx_set)(handle);
    int (*retain)(handle *, int), (*release)(int);
    int (*stream_create)(handle *, unsigned), (*stream_destroy)(handle), (*stream_sync)(handle);
    int (*capture_begin)(handle, int), (*capture_end)(handle, handle *), (*capturing)(handle, int *);
    int (*instantiate)(handle *, handle, unsigned long long), (*graph_launch)(handle, handle);
    int (*graph_destroy)(handle), (*exec_destroy)(handle);
} cu;

static sett_engine *engine, *by_modules;
static sett_error err;

static void find(void *to, void *lib, const char *name)
{
    void *p = dlsym(lib, name);
    ck_assert_msg(p != NULL, "%s", name);
    memcpy(to, &p, sizeof p);
}

static void find_driver(void)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    ck_assert_ptr_nonnull(lib);
    find(&cu.ctx_get, lib, "cuCtxGetCurrent");
    find(&cu.ctx_set, lib, "cuCtxSetCurrent");
    find(&cu.retain, lib, "cuDevicePrimaryCtxRetain");
    find(&cu.release, lib, "cuDevicePrimaryCtxRelease_v2");
    find(&cu.stream_create, lib, "cuStreamCreate");
    find(&cu.stream_destroy, lib, "cuStreamDestroy_v2");
    find(&cu.stream_sync, lib, "cuStreamSynchronize");
    find(&cu.capture_begin, lib, "cuStreamBeginCapture_v2");
    find(&cu.capture_end, lib, "cuStreamEndCapture");
    find(&cu.capturing, lib, "cuStreamIsCapturing");
    find(&cu.instantiate, lib, "cuGraphInstantiateWithFlags");
    find(&cu.graph_launch, lib, "cuGraphLaunch");
    find(&cu.graph_destroy, lib, "cuGraphDestroy");
    find(&cu.exec_destroy, lib, "cuGraphExecDestroy");
}

/* False: there is no GPU. */
static bool device(void)
{
    static bool asked, there;
    if (asked)
        return there;
    asked = true;
    sett_engine_options o = {.size = sizeof o, .cache_dir = ""};
    ck_assert_msg(!sett_engine_open(&engine, &o, &err), "%s", err.text);
    if (sett_gpu_count(engine) == 0)
        return false;
    o.module_api = true;
    ck_assert_msg(!sett_engine_open(&by_modules, &o, &err), "%s", err.text);
    find_driver();
    return there = true;
}

static sett_engine *engine_of(int i)
{
    return i ? by_modules : engine;
}

/* ---- kernels ---------------------------------------------------------------------------- */
/* Y reversed through a window of shared memory of user's number of floats: past 48 KiB an attribute is needed, past
 * 227 KiB there is none. One block of 256 threads. */
static void reverse(sett_build *b, const void *user)
{
    int floats = *(const int *)user;
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_make_layout(b, T1(floats)));
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T1(floats)), 16);
    sett_block(b, 256);
    sett_for (b, i, sett_thread_idx(b, 0), floats, 256)
        sett_set(S, sett_at(Y, i), i);
    sett_sync_threads(b);
    sett_for (b, i, sett_thread_idx(b, 0), floats, 256)
        sett_set(Y, sett_at(S, sett_sub(floats - 1, i)), i);
}

static sett_kernel *compile(sett_engine *e, sett_body body, const void *user)
{
    sett_kernel *k = NULL;
    const sett_compile_options o = {.size = sizeof o, .name = "gpu_test", .user = user};
    ck_assert_msg(!sett_compile(e, body, &o, &k, &err), "%s", err.text);
    return k;
}

/* ---- data: on the host, and on the device ------------------------------------------------- */
static float x[N], y[N], was[N];
static sett_buf X, Y;

static void upload(sett_engine *e)
{
    const sett_stream s = {0, NULL};
    axpy_fill(x, y, was, N);
    X = sett_buf_1d(sett_alloc(e, 0, sizeof x), SETT_F32, N);
    Y = sett_buf_1d(sett_alloc(e, 0, sizeof y), SETT_F32, N);
    ck_assert_ptr_nonnull(X.data);
    ck_assert_ptr_nonnull(Y.data);
    ck_assert_uint_eq((uintptr_t)X.data % 256, 0);
    ck_assert_int_eq(sett_memcpy(e, s, X.data, x, sizeof x), SETT_OK);
    ck_assert_int_eq(sett_memcpy(e, s, Y.data, y, sizeof y), SETT_OK);
    ck_assert_int_eq(sett_sync(e, s), SETT_OK);
}

static void expect_steps(sett_engine *e, sett_stream s, int n, int steps, float a)
{
    ck_assert_int_eq(sett_memcpy(e, s, y, Y.data, sizeof y), SETT_OK);
    ck_assert_msg(!sett_sync_error(e, s, &err), "%s", err.text);
    axpy_expect(x, y, was, N, n, steps, a);
}

static void drop(sett_engine *e)
{
    sett_free(e, 0, X.data);
    sett_free(e, 0, Y.data);
}

static handle current(void)
{
    handle c = NULL;
    ck_assert_int_eq(cu.ctx_get(&c), 0);
    return c;
}

/* ---- tests, each by cuLibraryLoadData (0) and by cuModuleLoadData (1) ------------------------- */
/* Says what the others run on, or why they do not. */
START_TEST(what_is_there)
{
    char text[4096];
    bool there = device();
    sett_engine_describe(engine, text, sizeof text);
    const char *line = strstr(text, there ? "gpu 0: " : "driver: ");
    ck_assert_msg(line != NULL, "%s", text);
    printf("gpu: %s%.*s\n", there ? "" : "skipped: ", (int)strcspn(line, "\n"), line);
}
END_TEST

START_TEST(round_trip)
{
    if (!device())
        return;
    sett_engine *e = engine_of(_i);
    sett_kernel *k = compile(e, axpy, NULL);
    const sett_stream s = {0, NULL};
    ck_assert_ptr_null(current());
    upload(e);
    static const int sizes[] = {1, 127, 128, 129, N};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        X.shape[0] = Y.shape[0] = sizes[i];
        errno = 4242;
        ck_assert_msg(!sett_launch(k, s, &err, &X, &Y, 0.5), "%s", err.text);
        ck_assert_int_eq(errno, 4242);
        expect_steps(e, s, sizes[i], 1, 0.5f);
    }
    X.shape[0] = Y.shape[0] = 0;
    ck_assert_msg(!sett_launch(k, s, &err, &X, &Y, 0.5), "%s", err.text);
    ck_assert_ptr_null(current()); /* as it was */
    drop(e);
    sett_kernel_release(k);
}
END_TEST

START_TEST(kernel_is_described)
{
    if (!device())
        return;
    sett_kernel *k = compile(engine_of(_i), axpy, NULL);
    sett_kernel_info info = {.size = sizeof info};
    char target[16];
    ck_assert_int_eq(sett_kernel_query(k, &info), SETT_OK);
    ck_assert_int_gt(sett_device_target(engine, 0, target, sizeof target), 0);
    ck_assert_str_eq(info.target, target);
    ck_assert_ptr_nonnull(info.cubin);
    ck_assert_int_gt(info.registers, 0);
    ck_assert_int_eq(info.spill_stores, 0);
    ck_assert_msg(!sett_prepare(k, 0, &err), "%s", err.text);
    ck_assert_int_eq(sett_prepare(k, 99, &err), SETT_E_NO_DEVICE);
    ck_assert_int_eq(sett_prepare(k, SETT_CPU, &err), SETT_E_TARGET);
    sett_kernel_release(k);
}
END_TEST

/* The caller's context is used and left current; a stream of its own too. */
START_TEST(with_a_context)
{
    if (!device())
        return;
    sett_engine *e = engine_of(_i);
    sett_kernel *k = compile(e, axpy, NULL);
    handle context, stream;
    ck_assert_int_eq(cu.retain(&context, 0), 0);
    ck_assert_int_eq(cu.ctx_set(context), 0);
    ck_assert_int_eq(cu.stream_create(&stream, 1), 0);
    const sett_stream s = {0, stream};
    upload(e);
    ck_assert_msg(!sett_launch(k, s, &err, &X, &Y, 3), "%s", err.text);
    expect_steps(e, s, N, 1, 3);
    ck_assert_ptr_eq(current(), context);
    /* The stream knows its context: none need be current. */
    ck_assert_int_eq(cu.ctx_set(NULL), 0);
    ck_assert_msg(!sett_launch(k, s, &err, &X, &Y, 3), "%s", err.text);
    expect_steps(e, s, N, 1, 3);
    ck_assert_ptr_null(current());
    drop(e);
    ck_assert_int_eq(cu.stream_destroy(stream), 0);
    ck_assert_int_eq(cu.release(0), 0);
    sett_kernel_release(k);
}
END_TEST

START_TEST(prepared_call)
{
    if (!device())
        return;
    sett_engine *e = engine_of(_i);
    sett_kernel *k = compile(e, axpy, NULL);
    const sett_stream s = {0, NULL};
    sett_prepared *c;
    upload(e);
    ck_assert_msg(!sett_prepared_make(k, 0, &c, &err, &X, &Y, 0.5), "%s", err.text);
    errno = 4242;
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(sett_prepared_run(c, s), SETT_OK);
    ck_assert_int_eq(errno, 4242);
    expect_steps(e, s, N, 3, 0.5f);
    ck_assert_ptr_null(current());
    sett_buf X7 = X, Y7 = Y;
    X7.shape[0] = Y7.shape[0] = 7;
    sett_prepared_buf(c, 0, &X7);
    ck_assert_int_eq(sett_prepared_commit(c, &err), SETT_E_SHAPE);
    sett_prepared_buf(c, 1, &Y7);
    sett_prepared_float(c, 2, 2);
    ck_assert_msg(!sett_prepared_commit(c, &err), "%s", err.text);
    ck_assert_int_eq(sett_prepared_run(c, s), SETT_OK);
    expect_steps(e, s, 7, 1, 2);
    X7.shape[0] = Y7.shape[0] = 0;
    sett_prepared_buf(c, 0, &X7);
    sett_prepared_buf(c, 1, &Y7);
    ck_assert_msg(!sett_prepared_commit(c, &err), "%s", err.text);
    ck_assert_int_eq(sett_prepared_run(c, s), SETT_OK);
    expect_steps(e, s, 0, 1, 2);
    ck_assert_int_eq(sett_prepared_run(c, (sett_stream){SETT_CPU, NULL}), SETT_E_NO_DEVICE);
    sett_prepared_free(c);
    drop(e);
    sett_kernel_release(k);
}
END_TEST

START_TEST(as_a_function)
{
    if (!device())
        return;
    sett_engine *e = engine_of(_i);
    sett_kernel *k = compile(e, axpy, NULL);
    const sett_stream s = {0, NULL};
    sett_function *f;
    sett_status (*step)(const sett_buf *, const sett_buf *, float) = NULL;
    upload(e);
    ck_assert_msg(!sett_kernel_function(k, s, &f, (void (**)(void)) & step, &err), "%s", err.text);
    ck_assert_int_eq(step(&X, &Y, 0.25f), SETT_OK);
    expect_steps(e, s, N, 1, 0.25f);
    ck_assert_int_eq(step(&X, NULL, 0.25f), SETT_E_BIND);
    sett_function_free(f);
    drop(e);
    sett_kernel_release(k);
}
END_TEST

/* By events and from a graph: times that can be, the caller's memory and context as they were. */
START_TEST(measured)
{
    if (!device())
        return;
    sett_engine *e = engine_of(_i);
    sett_kernel *k = compile(e, axpy, NULL);
    const sett_stream s = {0, NULL};
    upload(e);
    for (int graph = 0; graph < 2; graph++) {
        sett_benchmark_options o = {.size = sizeof o, .iterations = 50, .workspaces = 3, .graph = graph, .bytes = 12.0 * N};
        sett_benchmark_result r = {.size = sizeof r};
        ck_assert_msg(!sett_benchmark(k, s, &o, &r, &err, &X, &Y, 0.5), "%s", err.text);
        ck_assert(r.gpu && r.graph == graph && r.launches == (graph ? 20 : 1) && r.workspaces == 3 && r.device[0]);
        ck_assert_msg(r.min_us > 0.1 && r.min_us <= r.median_us && r.median_us <= r.max_us && r.max_us < 1e6, "%g %g %g us", r.min_us,
            r.median_us, r.max_us);
        ck_assert(r.gbps > 0 && !r.cold);
        ck_assert_ptr_null(current());
        expect_steps(e, s, 0, 1, 2);
    }
    drop(e);
    sett_kernel_release(k);
}
END_TEST

/* A kernel that is not loaded is refused under capture, and the capture goes on; a prepared one is captured, and its
 * graph keeps the arguments. */
START_TEST(captures)
{
    if (!device())
        return;
    sett_engine *e = engine_of(_i);
    int floats = 1000 + _i; /* its own kernels: nothing has loaded them yet */
    sett_kernel *k = compile(e, axpy, NULL), *unloaded = compile(e, reverse, &floats);
    handle context, stream, graph = NULL, exec = NULL;
    int state = 0;
    upload(e);
    sett_buf Z = sett_buf_1d(Y.data, SETT_F32, floats);
    ck_assert_int_eq(cu.retain(&context, 0), 0);
    ck_assert_int_eq(cu.ctx_set(context), 0);
    ck_assert_int_eq(cu.stream_create(&stream, 1), 0);
    const sett_stream s = {0, stream};
    sett_prepared *c;
    ck_assert_msg(!sett_prepared_make(k, 0, &c, &err, &X, &Y, 0.5), "%s", err.text);
    ck_assert_int_eq(cu.capture_begin(stream, 0), 0);
    ck_assert_int_eq(sett_launch(unloaded, s, &err, &Z), SETT_E_CAPTURING);
    ck_assert_ptr_nonnull(strstr(err.text, "sett_prepare"));
    ck_assert_int_eq(sett_sync(e, s), SETT_E_CAPTURING);
    void *memory = sett_alloc(e, 0, 1 << 20);
    ck_assert_ptr_nonnull(memory);
    ck_assert_int_eq(cu.capturing(stream, &state), 0);
    ck_assert_int_eq(state, 1); /* still active */
    ck_assert_int_eq(sett_prepared_run(c, s), SETT_OK);
    ck_assert_msg(!sett_launch(k, s, &err, &X, &Y, 0.5), "%s", err.text);
    ck_assert_int_eq(cu.capture_end(stream, &graph), 0);
    ck_assert_int_eq(cu.instantiate(&exec, graph, 0), 0);
    sett_prepared_float(c, 2, 100); /* too late for the graph */
    ck_assert_msg(!sett_prepared_commit(c, &err), "%s", err.text);
    ck_assert_int_eq(cu.graph_launch(exec, stream), 0);
    expect_steps(e, s, N, 2, 0.5f);
    ck_assert_msg(!sett_launch(unloaded, s, &err, &Z), "%s", err.text); /* outside the capture it loads */
    ck_assert_int_eq(sett_sync(e, s), SETT_OK);
    sett_free(e, 0, memory);
    ck_assert_int_eq(cu.exec_destroy(exec), 0);
    ck_assert_int_eq(cu.graph_destroy(graph), 0);
    sett_prepared_free(c);
    drop(e);
    ck_assert_int_eq(cu.stream_destroy(stream), 0);
    ck_assert_int_eq(cu.ctx_set(NULL), 0);
    ck_assert_int_eq(cu.release(0), 0);
    sett_kernel_release(k);
    sett_kernel_release(unloaded);
}
END_TEST

/* Unloaded and loaded again, by name and by call; while a call holds the code it stays. */
START_TEST(unload)
{
    if (!device())
        return;
    sett_engine *e = engine_of(_i);
    sett_kernel *k = compile(e, axpy, NULL);
    const sett_stream s = {0, NULL};
    sett_prepared *c;
    upload(e);
    for (int round = 0; round < 3; round++) {
        ck_assert_msg(!sett_prepared_make(k, 0, &c, &err, &X, &Y, 0.5), "%s", err.text);
        ck_assert_int_eq(sett_prepared_run(c, s), SETT_OK);
        ck_assert_int_eq(sett_sync(e, s), SETT_OK);
        ck_assert_int_eq(sett_unload(k, &err), SETT_E_ARGUMENT);
        ck_assert_str_eq(err.text, "gpu_test: 1 prepared call holds its code: free it first");
        sett_prepared_free(c);
        ck_assert_msg(!sett_unload(k, &err), "%s", err.text);
        ck_assert_msg(!sett_launch(k, s, &err, &X, &Y, 0.5), "%s", err.text);
        expect_steps(e, s, N, 2, 0.5f);
        ck_assert_msg(!sett_unload(k, &err), "%s", err.text);
    }
    drop(e);
    sett_kernel_release(k);
}
END_TEST

/* A stream in capture does not keep another one from loading. */
START_TEST(loading_beside_a_capture)
{
    if (!device())
        return;
    sett_engine *e = engine_of(_i);
    int floats = 2000 + _i;
    sett_kernel *k = compile(e, reverse, &floats);
    handle context, captured, other, graph = NULL;
    ck_assert_int_eq(cu.retain(&context, 0), 0);
    ck_assert_int_eq(cu.ctx_set(context), 0);
    upload(e);
    sett_buf Z = sett_buf_1d(Y.data, SETT_F32, floats);
    ck_assert_int_eq(cu.stream_create(&captured, 1), 0);
    ck_assert_int_eq(cu.stream_create(&other, 1), 0);
    ck_assert_int_eq(cu.capture_begin(captured, 0), 0); /* global mode: the strictest */
    ck_assert_msg(!sett_launch(k, ((sett_stream){0, other}), &err, &Z), "%s", err.text);
    ck_assert_int_eq(cu.capture_end(captured, &graph), 0);
    ck_assert_int_eq(cu.graph_destroy(graph), 0);
    ck_assert_int_eq(sett_sync(e, (sett_stream){0, other}), SETT_OK);
    drop(e);
    ck_assert_int_eq(cu.stream_destroy(captured), 0);
    ck_assert_int_eq(cu.stream_destroy(other), 0);
    ck_assert_int_eq(cu.ctx_set(NULL), 0);
    ck_assert_int_eq(cu.release(0), 0);
    sett_kernel_release(k);
}
END_TEST

/* 4 KiB, the limit without an attribute, above it, the device's most (sm_90). */
START_TEST(shared_memory)
{
    static const int bytes[] = {4096, 48 << 10, 64 << 10, 227 << 10};
    static float host[(227 << 10) / sizeof(float)], back[(227 << 10) / sizeof(float)];
    if (!device())
        return;
    sett_engine *e = engine_of(_i);
    const sett_stream s = {0, NULL};
    for (size_t t = 0; t < sizeof bytes / sizeof *bytes; t++) {
        int floats = bytes[t] / (int)sizeof(float);
        sett_kernel *k = compile(e, reverse, &floats);
        for (int i = 0; i < floats; i++)
            host[i] = (float)i;
        sett_buf Z = sett_buf_1d(sett_alloc(e, 0, (size_t)bytes[t]), SETT_F32, floats);
        ck_assert_int_eq(sett_memcpy(e, s, Z.data, host, (size_t)bytes[t]), SETT_OK);
        ck_assert_msg(!sett_launch(k, s, &err, &Z), "%d bytes: %s", bytes[t], err.text);
        ck_assert_int_eq(sett_memcpy(e, s, back, Z.data, (size_t)bytes[t]), SETT_OK);
        ck_assert_int_eq(sett_sync(e, s), SETT_OK);
        for (int i = 0; i < floats; i++)
            ck_assert(back[i] == host[floats - 1 - i]);
        sett_free(e, 0, Z.data);
        sett_kernel_release(k);
    }
    int floats = (256 << 10) / (int)sizeof(float);
    sett_kernel *k = NULL;
    const sett_compile_options o = {.size = sizeof o, .user = &floats};
    ck_assert_int_eq(sett_compile(e, reverse, &o, &k, &err), SETT_E_LIMIT);
}
END_TEST

START_TEST(refusals)
{
    if (!device())
        return;
    sett_engine *e = engine_of(_i);
    sett_kernel *k = compile(e, axpy, NULL);
    const sett_stream s = {0, NULL};
    upload(e);
    sett_buf null = X, odd = X;
    null.data = NULL;
    odd.data = (char *)odd.data + 2;
    ck_assert_int_eq(sett_launch(k, s, &err, &null, &Y, 1), SETT_E_BIND);
    ck_assert_int_eq(sett_launch(k, s, &err, &odd, &Y, 1), SETT_E_ALIGN);
    ck_assert_int_eq(sett_launch(k, ((sett_stream){99, NULL}), &err, &X, &Y, 1), SETT_E_NO_DEVICE);
    ck_assert_int_eq(sett_launch(k, ((sett_stream){SETT_CPU, NULL}), &err, &X, &Y, 1), SETT_E_TARGET);
    ck_assert_ptr_null(sett_alloc(e, 99, 16));
    ck_assert_ptr_null(sett_alloc(e, 0, (size_t)1 << 50));
    expect_steps(e, s, 0, 0, 0); /* and all of it is still well */
    drop(e);
    sett_kernel_release(k);
}
END_TEST

/* The driver's own assembler gives the same results. */
START_TEST(driver_assembler)
{
    if (!device())
        return;
    sett_engine *e;
    const sett_engine_options o = {.size = sizeof o, .cache_dir = "", .assembler = SETT_ASM_DRIVER};
    ck_assert_msg(!sett_engine_open(&e, &o, &err), "%s", err.text);
    sett_kernel *k = compile(e, axpy, NULL);
    sett_kernel_info info = {.size = sizeof info};
    const sett_stream s = {0, NULL};
    ck_assert_int_eq(sett_kernel_query(k, &info), SETT_OK);
    ck_assert_msg(!strncmp(info.assembler, "driver-jit ", 11), "%s", info.assembler);
    ck_assert_int_ne(info.registers, 0); /* -1, unknown: it came from the driver's own cache, which keeps no log */
    upload(e);
    ck_assert_msg(!sett_launch(k, s, &err, &X, &Y, 2), "%s", err.text);
    expect_steps(e, s, N, 1, 2);
    drop(e);
    sett_kernel_release(k);
    sett_engine_close(e);
}
END_TEST

/* Last: a fault ends the context for good. The sync tells it; nothing crashes. */
START_TEST(a_fault_is_told)
{
    if (!device())
        return;
    sett_kernel *k = compile(engine, axpy, NULL);
    const sett_stream s = {0, NULL};
    upload(engine);
    sett_buf nowhere = sett_buf_1d((void *)(uintptr_t)4096, SETT_F32, N); /* of no allocation */
    ck_assert_msg(!sett_launch(k, s, &err, &nowhere, &Y, 1), "%s", err.text);
    ck_assert_int_eq(sett_sync_error(engine, s, &err), SETT_E_FAULT);
    ck_assert_msg(strstr(err.text, "CUDA_ERROR_ILLEGAL_ADDRESS (700)") != NULL, "%s", err.text);
    ck_assert_int_eq(sett_launch(k, s, &err, &X, &Y, 1), SETT_E_FAULT);
    sett_kernel_release(k);
}
END_TEST

Suite *gpu_suite(void)
{
    Suite *s = suite_create("gpu");
    TCase *t = tcase_create("device");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, what_is_there);
    tcase_add_loop_test(t, round_trip, 0, 2);
    tcase_add_loop_test(t, kernel_is_described, 0, 2);
    tcase_add_loop_test(t, with_a_context, 0, 2);
    tcase_add_loop_test(t, prepared_call, 0, 2);
    tcase_add_loop_test(t, as_a_function, 0, 2);
    tcase_add_loop_test(t, measured, 0, 2);
    tcase_add_loop_test(t, captures, 0, 2);
    tcase_add_loop_test(t, unload, 0, 2);
    tcase_add_loop_test(t, loading_beside_a_capture, 0, 2);
    tcase_add_loop_test(t, shared_memory, 0, 2);
    tcase_add_loop_test(t, refusals, 0, 2);
    tcase_add_test(t, driver_assembler);
    suite_add_tcase(s, t);
    t = tcase_create("fault");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_fault_is_told);
    suite_add_tcase(s, t);
    return s;
}
