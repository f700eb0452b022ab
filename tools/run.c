/* SPDX-License-Identifier: Apache-2.0 */
/* sett run: NumPy files to a kernel's arguments, one launch, results to NumPy files. */
#include "tools.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 32 };
typedef struct argument {
    sett_param_info info;
    const char *in, *out, *number;
    npy array;
    sett_buf buf;
} argument;

/* NAME=IN.npy, NAME=IN.npy:OUT.npy, NAME=:OUT.npy or NAME=NUMBER; text is written to. */
static int parse_binding(argument *args, int n, char *text)
{
    char *eq = strchr(text, '=');
    if (!eq)
        return usage("%s: arguments are NAME=FILE.npy, NAME=IN.npy:OUT.npy, NAME=:OUT.npy or NAME=NUMBER", text);
    *eq = 0;
    for (int i = 0; i < n; i++) {
        argument *a = &args[i];
        if (strcmp(a->info.name, text))
            continue;
        if (a->info.scalar) {
            a->number = eq + 1;
            return EXIT_OK;
        }
        char *colon = strchr(eq + 1, ':');
        if (colon)
            *colon = 0, a->out = colon[1] ? colon + 1 : NULL;
        a->in = eq[1] ? eq + 1 : NULL;
        return a->in || a->out ? EXIT_OK : usage("%s=: a file name is missing", text);
    }
    return usage("%s: the kernel has no argument of that name", text);
}

static sett_buf buf_of(const npy *a, void *data)
{
    sett_buf b = {.data = data, .dtype = a->dtype, .rank = a->rank};
    int64_t stride = 1;
    for (int i = 0; i < a->rank; i++) {
        int m = a->fortran ? i : a->rank - 1 - i;
        b.shape[m] = a->shape[m];
        b.stride[m] = stride;
        stride *= a->shape[m];
    }
    return b;
}

static int upload(sett_engine *e, sett_stream s, argument *a)
{
    sett_error err = {0};
    void *data = sett_alloc(e, s.device, a->array.bytes ? a->array.bytes : 1);
    if (!data)
        return fail("%s: %zu bytes cannot be had on device %d", a->info.name, a->array.bytes, s.device);
    a->buf = buf_of(&a->array, data);
    if (sett_memcpy(e, s, data, a->array.data, a->array.bytes) || sett_sync_error(e, s, &err))
        return fail("%s: %s", a->info.name, err.text);
    return EXIT_OK;
}

/* Reads inputs; an output without one takes the extents of the first input of its rank. */
static int prepare(sett_engine *e, sett_stream s, argument *args, int n)
{
    for (int i = 0; i < n; i++)
        if (args[i].in && npy_read(args[i].in, &args[i].array))
            return EXIT_FAILED;
    for (int i = 0; i < n; i++) {
        argument *a = &args[i];
        if (a->info.scalar ? !a->number : !a->in && !a->out)
            return usage("the argument %s is missing", a->info.name);
        if (a->info.scalar || a->in)
            continue;
        for (int j = 0; j < n && !a->array.data; j++)
            if (args[j].in && args[j].array.rank == a->info.rank) {
                a->array = args[j].array;
                a->array.dtype = a->info.dtype;
                a->array.bytes = a->array.bytes / ((size_t)(sett_dtype_bits(args[j].array.dtype) + 7) / 8) *
                    ((size_t)(sett_dtype_bits(a->info.dtype) + 7) / 8);
                a->array.fortran = false;
                a->array.data = calloc(1, a->array.bytes + 1);
            }
        if (!a->array.data)
            return usage("%s=:%s: no input has rank %d to take the extents from; give NAME=IN.npy:OUT.npy", a->info.name, a->out,
                a->info.rank);
    }
    for (int i = 0; i < n; i++)
        if (!args[i].info.scalar && upload(e, s, &args[i]))
            return EXIT_FAILED;
    return EXIT_OK;
}

static int launch(sett_kernel *k, sett_engine *e, sett_stream s, argument *args, int n)
{
    sett_bind bind[MOST];
    sett_error err = {0};
    for (int i = 0; i < n; i++) {
        argument *a = &args[i];
        char *end = NULL;
        if (!a->info.scalar) {
            bind[i] = (sett_bind){SETT_BIND_BUF, {.t = &a->buf}};
            continue;
        }
        bool real = strpbrk(a->number, ".eEnN") != NULL;
        bind[i] = real ? (sett_bind){SETT_BIND_FLOAT, {.f = strtod(a->number, &end)}} : (sett_bind){SETT_BIND_INT, {.i = strtoll(a->number, &end, 0)}};
        if (end == a->number || *end)
            return usage("%s=%s: not a number", a->info.name, a->number);
    }
    if (sett_launch_n(k, s, n, bind, &err) || sett_sync_error(e, s, &err))
        return fail("%s", err.text);
    return EXIT_OK;
}

static int download(sett_engine *e, sett_stream s, argument *a)
{
    sett_error err = {0};
    if (!a->out)
        return EXIT_OK;
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

/* The element type of the first file named, which a named kernel is made for. */
static sett_dtype first_dtype(const options *o)
{
    if (o->dtype)
        return dtype_of_name(o->dtype);
    for (int i = 1; i < o->argc; i++) {
        char *path = strchr(o->argv[i], '=');
        npy a;
        if (!path || !path[1] || path[1] == ':' || !strstr(path, ".npy"))
            continue;
        path = strdup(path + 1);
        if (path)
            path[strcspn(path, ":")] = 0;
        int bad = !path || npy_read(path, &a);
        free(path);
        if (bad)
            return (sett_dtype)0;
        free(a.data);
        return a.dtype;
    }
    return SETT_F32;
}

/* Asked of the engine before anything else, so that a GPU that is not there is what is said. */
static int find_device(const options *o, sett_engine *e, sett_stream *s)
{
    sett_error err = {0};
    *s = (sett_stream){sett_default_device(e), NULL};
    int code = o->device && strcmp(o->device, "cpu") ? count_parse("--device", o->device, 0, INT_MAX, &s->device) : EXIT_OK;
    if (code || !sett_sync_error(e, *s, &err))
        return code;
    fail("%s", err.text);
    return err.status == SETT_E_NO_DEVICE ? EXIT_NO_DEVICE : EXIT_FAILED;
}

static int run_kernel(const options *o, sett_engine *e, sett_stream s, sett_kernel *k)
{
    argument args[MOST] = {0};
    int n = sett_kernel_params(k), code = n > MOST ? fail("more than %d arguments", MOST) : EXIT_OK;
    for (int i = 0; i < n && !code; i++) {
        args[i].info.size = sizeof args[i].info;
        if (sett_kernel_param(k, i, &args[i].info))
            code = fail("argument %d is not known", i);
    }
    for (int i = 1; i < o->argc && !code; i++)
        code = parse_binding(args, n, o->argv[i]);
    if (!code)
        code = prepare(e, s, args, n);
    if (!code)
        code = launch(k, e, s, args, n);
    for (int i = 0; i < n && !code; i++)
        code = download(e, s, &args[i]);
    for (int i = 0; i < n && i < MOST; i++) {
        sett_free(e, s.device, args[i].buf.data);
        free(args[i].array.data);
    }
    if (!code)
        report(o, e, k, s.device);
    return code;
}

int run_command(const options *o)
{
    if (!o->argc)
        return usage("run: which kernel?");
    sett_dtype t = first_dtype(o);
    if (!t)
        return o->dtype ? usage("--dtype %s: no such element type", o->dtype) : EXIT_FAILED;
    sett_engine *e = engine_open(o);
    if (!e)
        return EXIT_FAILED;
    sett_kernel *k = NULL;
    sett_stream s;
    int code = find_device(o, e, &s);
    if (!code)
        code = kernel_compile(e, o, o->argv[0], t, false, &k);
    if (!code)
        code = run_kernel(o, e, s, k);
    sett_kernel_release(k);
    sett_engine_close(e);
    return code;
}
