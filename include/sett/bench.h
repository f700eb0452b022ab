/* SPDX-License-Identifier: Apache-2.0 */
/* Benchmarks: how long one launch takes, on a GPU by events, on the CPU engine by the wall clock.
 *
 *     sett_benchmark_options o = {.size = sizeof o, .bytes = 3.0 * 4 * M * N};
 *     sett_benchmark_result r = {.size = sizeof r};
 *     if (!sett_benchmark(kernel, stream, &o, &r, &err, &A, &B, &C))
 *         printf("%.1f us, %.0f GB/s\n", r.median_us, r.gbps);
 *
 * An iteration is one or several launches between two looks at the clock; its time over the launches is one sample. Samples
 * are kept one by one: the median and its neighbours are told, not a mean that one hiccup moves. The arguments are
 * copied, once a *workspace*, and launches go through the workspaces in turn: as many as hold four times the last-level
 * cache (of the CPU at most 256 MiB), so that what a launch reads is not there from the launch before (cold). The caller's
 * buffers are left as they are.
 *
 * Between short launches a GPU waits for the host, and events count that too: .graph replays them from a CUDA graph. */
#ifndef SETT_BENCH_H
#define SETT_BENCH_H
#include <sett/engine.h>
#include <sett/launch.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sett_benchmark_options {
    size_t size;
    int warmup;       /* iterations that are not counted; 0: 10 */
    int iterations;   /* samples, up to 100000; 0: 100 */
    int launches;     /* of one iteration; 0: 1, with .graph one a workspace and 20 at least */
    int workspaces;   /* copies of the arguments, up to 1024; 0: as above */
    bool hot;         /* one workspace: caches hold what they can */
    bool in_place;    /* no copies: the caller's buffers are read, and written */
    bool graph;       /* .launches launches are captured once, and replayed; GPUs only */
    bool allow_zeros; /* inputs may be all zeros, which take less power, and so less time, than what is computed with */
    double bytes, flops; /* of one launch, for GB/s and FLOP/s; 0: not told */
} sett_benchmark_options;

typedef struct sett_benchmark_result {
    size_t size;
    double median_us, p10_us, p90_us, p99_us, min_us, max_us, mean_us; /* of one launch */
    double spread;           /* (p90 - p10) / median */
    double rel_stdev;        /* standard deviation / mean */
    double gbps, tflops;     /* of the median: 10^9 bytes, 10^12 operations a second; 0 where not told */
    int iterations, launches, workspaces;
    uint64_t workspace_bytes; /* of one; 0: not known */
    bool cold;               /* the workspaces hold four times the cache */
    bool graph, gpu;         /* gpu: timed by events, else by the wall clock */
    char device[96];         /* "NVIDIA H200", "CPU engine" */
} sett_benchmark_result;

/* Checks the arguments as a launch does, launches once, then measures. options NULL: all default; result->size tells which
 * fields the caller knows. It waits for the stream, before and after; the stream must not be captured. A graph is
 * captured and replayed on a stream of its own. Errors: those of launches; SETT_E_ARGUMENT (options out of range; an input
 * that is all zeros, unless .allow_zeros), SETT_E_NO_DEVICE (.graph on the CPU), SETT_E_MEMORY (no room for the copies),
 * SETT_E_DRIVER (no events or graphs in this driver). */
SETT_API sett_status sett_benchmark_n(sett_kernel *, sett_stream, int n, const sett_bind *, const sett_benchmark_options *or_null,
    sett_benchmark_result *result, sett_error *or_null2);

/* The same of anything: fn issues one launch's worth of work on the stream, with the caller's own workspace (0 up to
 * .workspaces - 1, in turn; 0: one). On the CPU it has ended when fn returns. Buffers are fn's business, so .hot, .in_place and
 * .allow_zeros say nothing here, and .cold and .workspace_bytes are 0. A status of fn's other than SETT_OK ends it. With .graph
 * what fn does is captured. */
typedef sett_status (*sett_benchmark_fn)(void *user, sett_stream, int workspace);
SETT_API sett_status sett_benchmark_function(sett_engine *, sett_stream, sett_benchmark_fn, void *user,
    const sett_benchmark_options *or_null, sett_benchmark_result *result, sett_error *or_null2);

/* A result as one JSON object, snprintf-like; with the kernel's name, target and key, unless it is NULL. */
SETT_API int sett_benchmark_json(const sett_kernel *or_null, const sett_benchmark_result *, char *buf, size_t size);

#ifdef __cplusplus
}
#else
/* sett_benchmark(kernel, stream, &options, &result, &err, arguments...): arguments as of sett_launch. */
#define sett_benchmark(k, stream, options, result, ...) SETT_BENCHMARK_(k, stream, options, result, __VA_ARGS__, 0)
#define SETT_BENCHMARK_(k, stream, options, result, err, ...) \
    sett_benchmark_n(k, SETT_STREAM_(#stream, stream), SETT_BINDS(__VA_ARGS__), options, result, err)
#endif
#endif
