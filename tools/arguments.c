/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel's arguments from the command line: NumPy files, numbers, and for a benchmark sizes, which are filled with random
 * numbers; their memory on the device. */
#include "tools.h"
#include <limits.h>
#include <sett/memory.h>
#include <stdlib.h>
#include <string.h>

/* "4096x4096": extents, and nothing else. */
static bool is_size(const char *text)
{
    return text[0] >= '0' && text[0] <= '9' && !text[strspn(text, "0123456789x")];
}

/* NAME=IN.npy, NAME=IN.npy:OUT.npy, NAME=:OUT.npy, NAME=NUMBER or, of a benchmark, NAME=SIZE; text is written to. */
static int parse_binding(argument *args, int n, char *text, bool sizes)
{
    char *eq = strchr(text, '=');
    if (!eq)
        return usage("%s: arguments are NAME=FILE.npy, %s or NAME=NUMBER", text,
            sizes ? "NAME=SIZE (4096x4096)" : "NAME=IN.npy:OUT.npy, NAME=:OUT.npy");
    *eq = 0;
    for (int i = 0; i < n; i++) {
        argument *a = &args[i];
        if (strcmp(a->info.name, text))
            continue;
        if (a->info.scalar) {
            a->number = eq + 1;
            return EXIT_OK;
        }
        if (sizes && is_size(eq + 1)) {
            a->extents = eq + 1;
            return EXIT_OK;
        }
        char *colon = strchr(eq + 1, ':');
        if (colon)
            *colon = 0, a->out = colon[1] ? colon + 1 : NULL;
        a->in = eq[1] ? eq + 1 : NULL;
        return a->in || a->out ? EXIT_OK : usage("%s=: a file name is missing", text);
    }
    sett__guess g = sett__guess_of(text, strlen(text));
    for (int i = 0; i < n; i++)
        sett__guess_add(&g, args[i].info.name);
    return usage("%s: the kernel has no argument of that name%s", text, sett__guess_text(&g));
}

int arguments_parse(const options *o, sett_kernel *k, bool sizes, argument *args, int *count)
{
    int n = sett_kernel_params(k), code = n > ARGUMENTS_MOST ? fail("more than %d arguments", ARGUMENTS_MOST) : EXIT_OK;
    *count = code ? 0 : n;
    for (int i = 0; i < n && !code; i++) {
        args[i].info.size = sizeof args[i].info;
        if (sett_kernel_param(k, i, &args[i].info))
            code = fail("argument %d is not known", i);
    }
    for (int i = 1; i < o->argc && !code; i++)
        code = parse_binding(args, n, o->argv[i], sizes);
    return code;
}

/* ---- random numbers ---------------------------------------------------------------------------- */
/* Floats of magnitude 2^-7 to 1: mantissa bits, the exponent of 2^-7. */
static const struct {
    sett_dtype dtype;
    int mantissa, exponent;
} floats[] = {{SETT_F16, 10, 8}, {SETT_BF16, 7, 120}, {SETT_F32, 23, 120}, {SETT_TF32, 23, 120}, {SETT_F64, 52, 1016}};

static uint64_t random_element(sett_dtype t, uint64_t r)
{
    int bits = sett_dtype_bits(t);
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
        if (floats[i].dtype == t)
            return (r & 1) << (bits - 1) | ((uint64_t)floats[i].exponent + (r >> 1) % 7) << floats[i].mantissa |
                (r >> 12 & ((UINT64_C(1) << floats[i].mantissa) - 1));
    switch (t) {
    case SETT_BOOL:
        return r & 1;
    case SETT_I8: case SETT_I16: case SETT_I32: case SETT_I64:
        return (r & 15) - 8;
    default:
        return r & 15; /* of the packed and 8-bit types too, where it is a small number */
    }
}

void random_fill(npy *a, uint64_t seed)
{
    size_t width = (size_t)(sett_dtype_bits(a->dtype) + 7) / 8;
    for (size_t at = 0; at + width <= a->bytes; at += width) {
        seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
        uint64_t x = random_element(a->dtype, seed);
        memcpy((char *)a->data + at, &x, width < sizeof x ? width : sizeof x);
    }
}

/* ---- memory ----------------------------------------------------------------------------------------- */
/* Room for a row-major array of the argument's own type. */
static int make_array(argument *a, int rank, const int64_t *shape)
{
    npy made = {.dtype = a->info.dtype, .rank = rank, .bytes = (size_t)(sett_dtype_bits(a->info.dtype) + 7) / 8};
    bool fits = true;
    for (int i = 0; i < rank; i++) {
        made.shape[i] = shape[i];
        fits = fits && !__builtin_mul_overflow(made.bytes, (size_t)shape[i], &made.bytes);
    }
    made.data = fits ? calloc(1, made.bytes + 1) : NULL;
    if (!made.data)
        return fail("%s: out of memory", a->info.name);
    a->array = made;
    return EXIT_OK;
}

/* "4096x4096" to extents; the rank, or 0: it is none of up to 8. */
static int read_extents(const char *text, int64_t *shape)
{
    int rank = 0;
    for (char *end; rank < 8; text = end + 1) {
        shape[rank++] = strtoll(text, &end, 10);
        if (end == text || !*end)
            return end == text ? 0 : rank;
    }
    return 0;
}

static int make_random(argument *a, int index)
{
    static const char *const example[] = {"of one number, which a file gives", "as in 4096", "as in 4096x4096", "as in 64x64x64"};
    int64_t shape[8];
    int want = a->info.rank, rank = read_extents(a->extents, shape);
    if (rank != want)
        return usage("%s=%s: %d extent%s needed, %s", a->info.name, a->extents, want, want == 1 ? " is" : "s are",
            example[want < 3 ? want : 3]);
    int code = make_array(a, rank, shape);
    if (!code)
        random_fill(&a->array, 88172645463325252u + (uint64_t)index);
    return code;
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

/* Of an output without an input: what the kernel says, and for the rest the first input of its rank. */
static int make_output(argument *args, int n, argument *a)
{
    int64_t shape[8];
    bool known = true;
    const int rank = a->info.rank;
    for (int m = 0; m < rank; m++)
        known &= (shape[m] = a->info.extent[m]) >= 0;
    for (int j = 0; j < n && !known; j++) {
        if (!(args[j].in || args[j].extents) || args[j].array.rank != rank)
            continue;
        for (int m = 0; m < rank; m++)
            shape[m] = shape[m] < 0 ? args[j].array.shape[m] : shape[m];
        known = true;
    }
    return known ? make_array(a, rank, shape)
                 : usage("%s=:%s: no input has rank %d to take the extents from; give NAME=IN.npy:OUT.npy", a->info.name, a->out, rank);
}

/* Reads inputs, makes outputs. */
int arguments_upload(sett_engine *e, sett_stream s, argument *args, int n)
{
    int code = EXIT_OK;
    for (int i = 0; i < n && !code; i++)
        if (args[i].extents)
            code = make_random(&args[i], i);
        else if (args[i].in && npy_read(args[i].in, &args[i].array))
            code = EXIT_FAILED;
    for (int i = 0; i < n && !code; i++) {
        argument *a = &args[i];
        if (a->info.scalar ? !a->number : !a->in && !a->out && !a->extents)
            code = usage("the argument %s is missing", a->info.name);
        if (!code && !a->info.scalar && !a->in && !a->extents)
            code = make_output(args, n, a);
    }
    for (int i = 0; i < n && !code; i++)
        if (!args[i].info.scalar)
            code = upload(e, s, &args[i]);
    return code;
}

int arguments_bind(argument *args, int n, sett_launch_arg *bind)
{
    for (int i = 0; i < n; i++) {
        argument *a = &args[i];
        char *end = NULL;
        if (!a->info.scalar) {
            bind[i] = (sett_launch_arg){SETT_LAUNCH_ARG_BUF, .u = {.t = &a->buf}};
            continue;
        }
        bool real = strpbrk(a->number, ".eEnN") != NULL;
        bind[i] = real ? (sett_launch_arg){SETT_LAUNCH_ARG_FLOAT, .u = {.f = strtod(a->number, &end)}} : (sett_launch_arg){SETT_LAUNCH_ARG_INT, .u = {.i = strtoll(a->number, &end, 0)}};
        if (end == a->number || *end)
            return usage("%s=%s: not a number", a->info.name, a->number);
    }
    return EXIT_OK;
}

void arguments_free(sett_engine *e, sett_stream s, argument *args, int n)
{
    for (int i = 0; i < n; i++) {
        sett_free(e, s.device, args[i].buf.data);
        free(args[i].array.data);
    }
}

/* The element type of the first file named, which a named kernel is made for. */
sett_dtype arguments_dtype(const options *o)
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
        int bad = !path || npy_head(path, &a);
        free(path);
        return bad ? (sett_dtype)0 : a.dtype;
    }
    return SETT_F32;
}

/* Asked of the engine before anything else, so that a GPU that is not there is what is said. */
int device_find(const options *o, sett_engine *e, sett_stream *s)
{
    sett_error err = {0};
    *s = (sett_stream){sett_default_device(e), NULL};
    int code = o->device && strcmp(o->device, "cpu") ? count_parse("--device", o->device, 0, INT_MAX, &s->device) : EXIT_OK;
    if (code || !sett_sync_error(e, *s, &err))
        return code;
    fail("%s", err.text);
    return err.status == SETT_E_NO_DEVICE ? EXIT_NO_DEVICE : EXIT_FAILED;
}
