/* SPDX-License-Identifier: Apache-2.0 */
/* Benchmarks: how long one launch takes, by events on a GPU, by the wall clock on the CPU engine.
 *
 *     sett_benchmark_options o = {.size = sizeof o, .bytes = 3.0 * 4 * M * N};
 *     sett_benchmark_result r = {.size = sizeof r};
 *     if (!sett_benchmark(kernel, stream, &o, &r, &err, &A, &B, &C))
 *         printf("%.1f us, %.0f GB/s\n", r.median_us, r.gbps);
 *
 * An iteration is one or more launches between two readings of the clock. Its time divided by its launches is
 * one sample. The result gives the median and other percentiles of all samples, because one hiccup would move
 * a mean.
 *
 * The arguments are copied into *workspaces*, and launches take the workspaces in turn. By default there are
 * enough of them to hold four times the last-level cache (on the CPU at most 256 MiB), so that a launch does
 * not find in the cache what it reads (cold). The caller's buffers stay as they are.
 *
 * Between short launches a GPU waits for the host, and events count that time too. .graph replays launches
 * from a CUDA graph instead. */
#ifndef SETT_BENCH_H
#define SETT_BENCH_H
#include <sett/engine.h>
#include <sett/launch.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sett_benchmark_options {
    size_t size;
    int warmup;       /* iterations before those that count; 0: 10 */
    int iterations;   /* number of samples, up to 100000; 0: 100 */
    int launches;     /* in one iteration; 0: 1, with .graph one for each workspace and at least 20 */
    int workspaces;   /* copies of the arguments, up to 1024; 0: as above */
    bool hot;         /* one workspace, so that caches hold what they can */
    bool in_place;    /* no copies: launches read and write the caller's buffers */
    bool graph;       /* capture .launches launches once, and replay them; GPUs only */
    bool allow_zeros; /* inputs may be all zeros, which take less power than real data, and so less time */
    double bytes, flops; /* of one launch, for .gbps and .tflops; 0: not given */
} sett_benchmark_options;

typedef struct sett_benchmark_result {
    size_t size;
    double median_us, p10_us, p90_us, p99_us, min_us, max_us, mean_us; /* of one launch */
    double spread;           /* (p90 - p10) / median */
    double rel_stdev;        /* standard deviation / mean */
    double gbps, tflops;     /* of the median: 10^9 bytes, 10^12 operations a second; 0: .bytes or .flops was
                              * not given */
    int iterations, launches, workspaces;
    uint64_t workspace_bytes; /* of one workspace; 0: unknown */
    bool cold;               /* the workspaces hold four times the cache */
    bool graph, gpu;         /* gpu: timed by events, else by the wall clock */
    char device[96];         /* "NVIDIA H200", "CPU engine" */
} sett_benchmark_result;

/* Checks the arguments as a launch does, launches once, then measures. options NULL: all defaults. The caller
 * sets result->size, which tells which fields it knows. The call waits for the stream before and after it, so
 * the stream must not be captured. A graph is captured and replayed on a stream of its own. Errors: those of
 * launches.
 * SETT_E_ARGUMENT: an option is out of range, or an input is all zeros without .allow_zeros.
 * SETT_E_NO_DEVICE: .graph on the CPU. SETT_E_MEMORY: no room for the copies. SETT_E_DRIVER: the driver has
 * no events or graphs. */
SETT_API sett_status sett_benchmark_n(sett_kernel *, sett_stream, int n, const sett_launch_arg *,
    const sett_benchmark_options *or_null,
    sett_benchmark_result *result, sett_error *or_null2);

/* Measures anything: fn issues the work of one launch on the stream, with the caller's own workspace of this
 * index (0 to .workspaces - 1, in turn; .workspaces 0: one). On the CPU the work has ended when fn returns.
 * The buffers are fn's, so .hot, .in_place and .allow_zeros have no effect, and the result's .cold and
 * .workspace_bytes are 0. A status of fn other than SETT_OK ends the benchmark. With .graph the call captures
 * what fn issues. */
typedef sett_status (*sett_benchmark_fn)(void *user, sett_stream, int workspace);
SETT_API sett_status sett_benchmark_function(sett_engine *, sett_stream, sett_benchmark_fn, void *user,
    const sett_benchmark_options *or_null, sett_benchmark_result *result, sett_error *or_null2);

/* A result as one JSON object, snprintf-like, with the kernel's name, target and key unless the kernel is
 * NULL. */
SETT_API int sett_benchmark_json(const sett_kernel *or_null, const sett_benchmark_result *, char *buf,
    size_t size);

#ifdef __cplusplus
}
#else
/* sett_benchmark(kernel, stream, &options, &result, &err, arguments...), with arguments as of sett_launch. */
#define sett_benchmark(k, stream, options, result, ...) \
    SETT_BENCHMARK_(k, stream, options, result, __VA_ARGS__, 0)
#define SETT_BENCHMARK_(k, stream, options, result, err, ...) \
    sett_benchmark_n(k, SETT_STREAM_(#stream, stream), SETT_LAUNCH_ARGS(__VA_ARGS__), options, result, err)
#endif
#endif
