/* SPDX-License-Identifier: Apache-2.0 */
/* sett_export: the frame of both files. */
#include "inside.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The engine's own launch as text: what slice.awk cut out of its sources, with run.c on top. */
static const char runtime[] = {
#include "export_runtime.inc"
};
/* What a function of tvm-ffi needs besides. */
static const char runtime_tvm[] = {
#include "export_runtime_tvm.inc"
};

#define H(...) sett__export_putf(x, &x->header, __VA_ARGS__)
#define P(...) sett__export_putf(x, &x->source, __VA_ARGS__)

/* ---- the header ----------------------------------------------------------------------------------------------------------- */
static const struct {
    const char *name;
    int number;
    const char *text;
} statuses[] = {
#define ROW(name, number, text) {#name, number, text},
    SETT_STATUSES(ROW)
#undef ROW
};

static void put_types(sett__export *x)
{
    H("typedef enum sett_status {\n");
    for (size_t i = 0; i < SETT__COUNT(statuses); i++)
        H("    SETT_%s = %d%s /* %s */\n", statuses[i].name, statuses[i].number, i + 1 < SETT__COUNT(statuses) ? "," : "", statuses[i].text);
    H("} sett_status;\n/* Element types. */\ntypedef enum sett_dtype {\n");
#define ROW(name, id, ...) {#name, id},
    static const struct {
        const char *name;
        int id;
    } types[] = {SETT_DTYPES(ROW)};
#undef ROW
    for (size_t i = 0; i < SETT__COUNT(types); i++)
        H("%sSETT_%s = %d%s", i % 6 ? " " : "    ", types[i].name, types[i].id, i + 1 == SETT__COUNT(types) ? "\n" : i % 6 == 5 ? ",\n" : ",");
    H("} sett_dtype;\n");
}

static void begin_header(sett__export *x)
{
    H("/* SPDX-License-Identifier: Apache-2.0 */\n/* Kernels, as functions; %s.c has their code. Written by sett " SETT_VERSION ".\n *\n", x->name);
    H(" * A function checks its arguments and launches. The work is asynchronous, on the stream. A failure is a status, with a text in\n"
      " * %s_last_error(). libcuda.so.1 is opened, and code loaded, by the first call that needs it. Any thread may call. */\n", x->name);
    H("#ifndef %s_H_\n#define %s_H_\n#include <stdbool.h>\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n", x->name, x->name);
    put_types(x);
    H("/* An element's address, the type, extents and strides in elements; rank 0 to 8. */\n"
      "typedef struct sett_buf {\n    void *data;\n    sett_dtype dtype;\n    int rank;\n    int64_t shape[8], stride[8];\n} sett_buf;\n"
      "/* Compact, the last mode contiguous. */\n"
      "sett_buf sett_buf_1d(const void *data, sett_dtype, int64_t n);\n"
      "sett_buf sett_buf_2d(const void *data, sett_dtype, int64_t rows, int64_t cols);\n"
      "sett_buf sett_buf_nd(const void *data, sett_dtype, int rank, const int64_t *shape);\n"
      "/* device: a GPU's ordinal. handle: a CUstream or cudaStream_t; NULL: the default stream. */\n"
      "typedef struct sett_stream {\n    int device;\n    void *handle;\n} sett_stream;\n\n");
    H("/* What the last call of this thread that failed said; \"\": none has. It stays until the next failure. */\n"
      "const char *sett_last_error(void);\n"
      "/* The name of a status, \"%s_E_SHAPE\"; of any other number \"unknown status\". */\n"
      "const char *sett_status_name(sett_status);\n"
      "/* Loads all code for a device, in the current context or the primary one. A launch does so too, but not while its stream is\n"
      " * captured: SETT_E_CAPTURING. */\n"
      "sett_status sett_prepare(int device);\n"
      "/* SETT_E_FAULT, once, if an assertion of a kernel has failed on the device; the text says which. Waits for nothing. */\n"
      "sett_status sett_assertions(int device);\n", x->upper);
}

static void end_header(sett__export *x)
{
    H("\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
}

/* ---- the source ------------------------------------------------------------------------------------------------------------- */
static void begin_source(sett__export *x)
{
    P("/* SPDX-License-Identifier: Apache-2.0 */\n/* The kernels of %s.h, written by sett " SETT_VERSION
      ": first how sett checks and launches, cut out of its sources, then what\n * is each kernel's own. */\n", x->name);
    P("#ifdef __cplusplus\n#error \"compile this file as C11: a program in C++ includes %s.h and links what this becomes\"\n#endif\n", x->name);
    P("#ifndef _GNU_SOURCE\n#define _GNU_SOURCE\n#endif\n#include \"%s.h\"\n", x->name);
    sett__export_put(x, &x->source, runtime, sizeof runtime);
    if (x->tvm_ffi)
        sett__export_put(x, &x->source, runtime_tvm, sizeof runtime_tvm);
    P("\n/* ==== kernels ==== */\nstatic sett__exporter exporter;\nstatic _Thread_local sett_error last;\n");
    if (x->tvm_ffi)
        P("static sett__exported_tvm tvm;\n");
}

static void end_source(sett__export *x)
{
    P("\nstatic const sett__exported *const kernels[] = {");
    for (int i = 0, n = 0; i < x->n; i++)
        if (x->item[i].first == i)
            P("%s&kernel_%d", n++ ? ", " : "", i);
    P("};\n\nsett_status sett_prepare(int device)\n{\n    sett_status s = SETT_OK;\n"
      "    for (size_t i = 0; i < SETT__COUNT(kernels) && !s; i++)\n        s = sett__exported_prepare(&exporter, kernels[i], device, &last);\n"
      "    return s;\n}\n\n"
      "sett_status sett_assertions(int device)\n{\n    return sett__exported_failed(&exporter, device, &last);\n}\n\n"
      "const char *sett_last_error(void)\n{\n    return last.text;\n}\n\n"
      "const char *sett_status_name(sett_status s)\n{\n    switch (s) {\n");
    for (size_t i = 0; i < SETT__COUNT(statuses); i++)
        P("    case SETT_%s: return \"%s_%s\";\n", statuses[i].name, x->upper, statuses[i].name);
    P("    }\n    return \"unknown status\";\n}\n");
}

/* ---- the call --------------------------------------------------------------------------------------------------------------- */
static sett_status take_name(sett__export *x, const char *name, sett_error *err)
{
    if (!sett__is_name(name, SETT__EXPORT_NAME) || *name == '_' || sett__export_keyword(name) || !strncmp(name, "sett", 4) || !strncmp(name, "SETT", 4))
        return sett__error(err, SETT_E_ARGUMENT,
            "sett_export: .name \"%s\" cannot begin the names of an export: letters, digits and _, a letter first, at most %d; not sett", name ? name : "",
            SETT__EXPORT_NAME);
    for (size_t i = 0; i <= strlen(name); i++) {
        x->name[i] = name[i];
        x->upper[i] = name[i] >= 'a' && name[i] <= 'z' ? (char)(name[i] - 'a' + 'A') : name[i];
    }
    return SETT_OK;
}

static sett_status take_items(sett__export *x, const sett_export_kernel *k, int n, sett_error *err)
{
    x->item = calloc((size_t)n, sizeof *x->item);
    if (!x->item)
        return sett__error(err, SETT_E_MEMORY, "sett_export: out of memory");
    for (int i = 0; i < n; i++) {
        sett__export_item *t = &x->item[i];
        if (!k[i].kernel)
            return sett__error(err, SETT_E_ARGUMENT, "sett_export: kernel %d is NULL", i);
        *t = (sett__export_item){k[i].function ? k[i].function : sett__meta_of(k[i].kernel)->name, k[i].kernel, i};
        x->n = i + 1;
        for (int j = 0; j < i && t->first == i; j++)
            if (!strcmp(x->item[j].function, t->function))
                t->first = j;
        sett_status s = sett__export_check(x, i, err);
        if (s)
            return s;
    }
    return SETT_OK;
}

static void put_files(sett__export *x)
{
    begin_header(x);
    begin_source(x);
    for (int i = 0; i < x->n; i++)
        sett__export_data(x, i);
    for (int i = 0; i < x->n; i++)
        if (x->item[i].first == i)
            sett__export_function(x, i);
    end_source(x);
    end_header(x);
}

static sett_status export_all(sett__export *x, const sett_export_kernel *kernels, int n, sett_error *err)
{
    sett_status s = take_items(x, kernels, n, err);
    if (s)
        return s;
    put_files(x);
    return x->header.failed || x->source.failed ? sett__error(err, SETT_E_MEMORY, "sett_export: out of memory") : SETT_OK;
}

sett_status sett_export(const sett_export_kernel *kernels, int n, const sett_export_options *given, char **header, char **source, sett_error *err)
{
    int saved = errno;
    sett_export_options o;
    sett__export x = {.header = {.grow = true}, .source = {.grow = true}};
    if (header)
        *header = NULL;
    if (source)
        *source = NULL;
    if (!kernels || n < 1 || !given || !header || !source)
        return sett__error(err, SETT_E_ARGUMENT, "sett_export: %s", n < 1 ? "there is no kernel" : "an argument is NULL");
    sett_status s = sett__options(&o, sizeof o, given, "sett_export_options", err);
    if (!s)
        s = take_name(&x, o.name, err), x.tvm_ffi = o.tvm_ffi;
    if (!s)
        s = export_all(&x, kernels, n, err);
    if (s) {
        free(x.header.buf);
        free(x.source.buf);
    } else {
        *header = x.header.buf;
        *source = x.source.buf;
    }
    free(x.item);
    errno = saved;
    return s;
}
