/* SPDX-License-Identifier: Apache-2.0 */
/* sett run: NumPy files to a kernel's arguments, one launch, results to NumPy files. */
#include "tools.h"
#include <sett/memory.h>
#include <string.h>

int launch_refused(const options *o, const sett_error *err)
{
    const named_kernel *k = kernel_find(o->argv[0]);
    if (err->status == SETT_E_SHAPE && k && k->fixed)
        fail("%s; %s N makes it for N", err->text, k->fixed);
    else if (k)
        fail("%s", err->text);
    else
        fail("%s: %s", o->argv[0], err->text); /* a tape, which has no name of its own */
    return err->status == SETT_E_NO_DEVICE ? EXIT_NO_DEVICE : EXIT_FAILED;
}

static int launch(const options *o, sett_kernel *k, sett_engine *e, sett_stream s, argument *args, int n)
{
    sett_launch_arg bind[ARGUMENTS_MOST];
    sett_error err = {0};
    int code = arguments_bind(args, n, bind);
    if (!code && (sett_launch_n(k, s, n, bind, &err) || sett_sync_error(e, s, &err)))
        code = launch_refused(o, &err);
    return code;
}

static int download(sett_engine *e, sett_stream s, argument *a)
{
    sett_error err = {0};
    if (!a->out) {
        if (a->info.written && !a->info.scalar)
            fprintf(stderr, "sett: %s was written by the kernel and not saved: %s=%s:OUT.npy saves it\n", a->info.name,
                a->info.name, a->in ? a->in : "");
        return EXIT_OK;
    }
    if (sett_memcpy(e, s, a->array.data, a->buf.data, a->array.bytes) || sett_sync_error(e, s, &err))
        return fail("%s: %s", a->info.name, err.text);
    if (a->array.fortran)
        return fail("%s: a column-major file cannot be written back", a->info.name);
    return npy_write(a->out, &a->array);
}

static void report(const options *o, sett_engine *e, sett_kernel *k, int device)
{
    sett_kernel_info info = {.size = sizeof info};
    sett_stats stats = {.size = sizeof stats};
    static const char *const origins[] = {"compiler", "memory", "disk"};
    sett_kernel_query(k, &info);
    sett_engine_stats(e, &stats);
    if (o->json)
        printf("{\"schema_version\": 1, \"kernel\": \"%s\", \"target\": \"%s\", \"device\": %d, \"origin\": \"%s\", \"codegen_ms\": %.3f, "
               "\"assemble_ms\": %.3f, \"load_ms\": %.3f, \"registers\": %d, \"compiler_loaded\": %s}\n",
            info.name, info.target, device, origins[info.origin], info.codegen_ms, info.assemble_ms, info.load_ms, info.registers,
            stats.compiler_loaded ? "true" : "false");
    else
        printf("%s on %s: %s%s, compiler %sloaded\n", info.name, device < 0 ? "the CPU engine" : "the GPU",
            device < 0 ? "interpreted" : "code from the ", device < 0 ? "" : origins[info.origin], stats.compiler_loaded ? "" : "not ");
}

static int run_kernel(const options *o, sett_engine *e, sett_stream s, sett_kernel *k)
{
    argument args[ARGUMENTS_MOST] = {0};
    int n, code = arguments_parse(o, k, false, args, &n);
    if (!code)
        code = arguments_upload(e, s, args, n);
    if (!code)
        code = launch(o, k, e, s, args, n);
    for (int i = 0; i < n && !code; i++)
        code = download(e, s, &args[i]);
    arguments_free(e, s, args, n);
    if (!code)
        report(o, e, k, s.device);
    return code;
}

/* What run and bench share around a kernel that is known by name, or a tape. */
int kernel_command(const options *o, const char *command,
    int (*with)(const options *, sett_engine *, sett_stream, sett_kernel *))
{
    if (!o->argc)
        return usage("%s: which kernel?", command);
    sett_dtype t = arguments_dtype(o);
    if (!t)
        return o->dtype ? dtype_refused(o->dtype) : EXIT_FAILED;
    sett_engine *e = engine_open(o);
    if (!e)
        return EXIT_FAILED;
    sett_kernel *k = NULL;
    sett_stream s;
    int code = device_find(o, e, &s);
    if (!code)
        code = kernel_compile(e, o, o->argv[0], t, false, &k);
    if (!code)
        code = with(o, e, s, k);
    sett_kernel_release(k);
    sett_engine_close(e);
    return code;
}

int run_command(const options *o)
{
    return kernel_command(o, "run", run_kernel);
}
