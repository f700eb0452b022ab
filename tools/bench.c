/* SPDX-License-Identifier: Apache-2.0 */
/* sett bench: how long a launch of a kernel takes, over random numbers or NumPy files. */
#include "tools.h"
#include <sett/bench.h>
#include <sett/kernels.h>
#include <string.h>

/* What the kernel reads and writes, each tensor once: the least that a launch moves. */
static double bytes_of(const argument *args, int n)
{
    double bytes = 0;
    for (int i = 0; i < n; i++)
        bytes += (double)args[i].array.bytes * (args[i].info.read + args[i].info.written);
    return bytes;
}

static void print_json(sett_kernel *k, const argument *args, int n, const sett_benchmark_result *r)
{
    char text[2048];
    sett_benchmark_json(k, r, text, sizeof text);
    fputs("{\"arguments\": [", stdout);
    for (int i = 0; i < n; i++) {
        printf("%s{\"name\": ", i ? ", " : "");
        json_string(stdout, args[i].info.name);
        printf(", \"dtype\": \"%s\"", sett_dtype_name(args[i].info.dtype));
        for (int m = 0; m < args[i].array.rank; m++)
            printf("%s%lld", m ? ", " : ", \"shape\": [", (long long)args[i].array.shape[m]);
        fputs(args[i].array.rank ? "]}" : "}", stdout);
    }
    printf("], \"benchmark\": %s}\n", text);
}

static void print_text(sett_kernel *k, const sett_benchmark_result *r)
{
    sett_kernel_info info = {.size = sizeof info};
    sett_kernel_query(k, &info);
    printf("%s on %s: median %.2f us (p10 %.2f, p90 %.2f, spread %.1f %%)\n", info.name, r->device, r->median_us,
        r->p10_us, r->p90_us, r->spread * 100);
    printf("%d iterations of %d launch%s%s, by %s, %s: %d workspace%s of %.4g MB\n", r->iterations, r->launches,
        r->launches == 1 ? "" : "es", r->graph ? " in a graph" : "", r->gpu ? "events" : "the wall clock",
        r->cold ? "cold" : "warm caches", r->workspaces, r->workspaces == 1 ? "" : "s",
        (double)r->workspace_bytes * 1e-6);
    printf("%.4g GB/s", r->gbps);
    if (r->tflops > 0)
        printf(", %.4g TFLOP/s", r->tflops);
    putchar('\n');
}

static int bench_kernel(const options *o, sett_engine *e, sett_stream s, sett_kernel *k)
{
    argument args[ARGUMENTS_MOST] = {0};
    sett_launch_arg bind[ARGUMENTS_MOST];
    sett_error err = {0};
    sett_benchmark_result r = {.size = sizeof r};
    int n, code = arguments_parse(o, k, true, args, &n);
    for (int i = 0; i < n; i++) /* what is only written needs no data, nor a name to write to */
        if (!args[i].info.scalar && !args[i].in && !args[i].extents && args[i].info.written && !args[i].info.read)
            args[i].out = "";
    if (!code)
        code = arguments_upload(e, s, args, n);
    if (!code)
        code = arguments_bind(args, n, bind);
    sett_benchmark_options bo = {.size = sizeof bo,
        .warmup = o->warmup,
        .iterations = o->iterations,
        .launches = o->launches,
        .workspaces = o->workspaces,
        .hot = o->hot,
        .graph = o->graph,
        .allow_zeros = o->zeros,
        .bytes = o->bytes > 0 ? o->bytes : bytes_of(args, n),
        .flops = o->flops};
    sett_status st = code ? SETT_OK : sett_benchmark_n(k, s, n, bind, &bo, &r, &err);
    if (st)
        code = launch_refused(o, &err);
    if (!code && o->json)
        print_json(k, args, n, &r);
    else if (!code)
        print_text(k, &r);
    arguments_free(e, s, args, n);
    return code;
}

int bench_command(const options *o)
{
    if (o->argc && !strcmp(o->argv[0], sett_product_family.name))
        return product_bench(o);
    if (o->batch_invariant)
        return usage("--batch-invariant is of bench product M N K, not of a kernel");
    return kernel_command(o, "bench", bench_kernel);
}
