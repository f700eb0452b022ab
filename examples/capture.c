/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA graphs: 2 and 100 launches of a small kernel, issued one by one and replayed from a graph that captured them.
 * By docs/runtime.md a stream that is captured takes launches of what is prepared, and refuses the rest. */
#define SETT_SHORT
#include "common.h"
#include <dlfcn.h>

/* As much of the driver as this takes; yours: <cuda.h> and -lcuda. */
static struct driver {
    int (*device)(int *, int), (*retain)(void **, int), (*set_current)(void *), (*stream)(void **, unsigned);
    int (*begin)(void *, int), (*end)(void *, void **), (*instantiate)(void **, void *, unsigned long long);
    int (*replay)(void *, void *), (*free_graph)(void *);
} cu;
static const char *const names[] = {"cuDeviceGet", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuStreamCreate",
    "cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphInstantiateWithFlags", "cuGraphLaunch", "cuGraphDestroy"};

#define CU(calls) check(&r, (calls) ? SETT_E_DRIVER : SETT_OK)

static void add_one(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, T1(sett_sym(b, "N"))));
    sett_grid(b, sett_size(X)); /* a block an element */
    sett_set(X, sett_add(sett_at(X, sett_block_idx(b, 0)), 1), sett_block_idx(b, 0));
}

struct work { sett_prepared *call; void *exec; int launches; };

static sett_status issue(void *user, sett_stream stream, int workspace)
{
    const struct work *w = user;
    sett_status s = SETT_OK;
    for (int i = 0; i < w->launches && !s && !workspace; i++)
        s = sett_prepared_run(w->call, stream);
    return s;
}
static sett_status replay(void *user, sett_stream stream, int workspace)
{
    return workspace || cu.replay(((struct work *)user)->exec, stream.handle) ? SETT_E_DRIVER : SETT_OK;
}

int main(void)
{
    run r = run_open();
    void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *context, *graph;
    int device, runs = 0;
    if (r.stream.device < 0 || !lib)
        return puts("capture: no GPU here, and the CPU engine has no streams to capture"), run_close(&r), 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        CU(!(((void **)(void *)&cu)[i] = dlsym(lib, names[i])));
    CU(cu.device(&device, 0) || cu.retain(&context, device) || cu.set_current(context) || cu.stream(&r.stream.handle, 1));
    sett_kernel *k;
    matrix X = matrix_random(&r, SETT_F32, 1, 64);
    float first = ((float *)X.host)[0];
    X.buf = sett_buf_1d(X.buf.data, SETT_F32, 64);
    check(&r, sett_compile(r.e, add_one, NULL, &k, &r.err));
    CU(cu.begin(r.stream.handle, 1)); /* nothing is loaded yet: refused, and the capture goes on */
    printf("in a capture, not prepared: %s\n", sett_status_name(sett_launch(k, r.stream, NULL, &X.buf)));
    CU(cu.end(r.stream.handle, &graph) || cu.free_graph(graph));
    for (int n = 2; n <= 100; n += 98) {
        struct work w = {.launches = n};
        sett_benchmark_options few = {.size = sizeof few, .warmup = 5, .iterations = 50};
        sett_benchmark_result one = {.size = sizeof one}, all = one;
        check(&r, sett_prepared_make(k, r.stream.device, &w.call, &r.err, &X.buf)); /* prepares: loads all that it needs */
        CU(cu.begin(r.stream.handle, 1));
        check(&r, issue(&w, r.stream, 0)); /* recorded in the graph, with its arguments; nothing runs */
        CU(cu.end(r.stream.handle, &graph) || cu.instantiate(&w.exec, graph, 0) || cu.free_graph(graph));
        check(&r, sett_benchmark_function(r.e, r.stream, issue, &w, &few, &one, &r.err));
        check(&r, sett_benchmark_function(r.e, r.stream, replay, &w, &few, &all, &r.err));
        matrix_fetch(&r, &X);
        expect("capture", 0, ((float *)X.host)[0], first + (float)(runs += 110 * n), 1e-4);
        printf("%d launches: one by one %.1f us, replayed %.1f us: %.2f times as fast\n", n, one.median_us, all.median_us,
            one.median_us / all.median_us);
        sett_prepared_free(w.call); /* the graph has its own copy of all that it needs, but for the code */
    }
    matrix_free(&r, &X), sett_kernel_release(k);
    run_close(&r); /* graphs and stream end with the process */
    return 0;
}
