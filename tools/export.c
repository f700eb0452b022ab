/* SPDX-License-Identifier: Apache-2.0 */
/* sett export: kernels for some targets as NAME.h and NAME.c. */
#include "tools.h"
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_MOST = 128, TARGETS_MOST = 32 };

/* One operand: [FUNCTION=]KERNEL[,PARAMETER=VALUE...]. KERNEL: a name, a tape's file, or OBJECT.so:FAMILY. */
typedef struct operand {
    char text[PATH_MAX], function[WORD_MOST + 1];
    char *kernel, *params; /* in text; params: "cols=4096,dtype=bf16", NULL: none are given */
    const sett_family *family; /* NULL: kernel_compile() knows it */
} operand;

/* ---- operands ------------------------------------------------------------------------------------ */
/* A file's name without its folder and what follows the first dot, as a name of C. */
static void function_of_file(const char *path, char *to)
{
    const char *slash = strrchr(path, '/'), *at = slash ? slash + 1 : path;
    size_t n = 0;
    for (; *at && *at != '.' && n < WORD_MOST; at++)
        to[n++] = strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", *at) ? *at : '_';
    to[n] = 0;
}

/* The object stays open: the family is in it. */
static int open_family(operand *p)
{
    char *colon = strrchr(p->kernel, ':'), path[PATH_MAX];
    const char *symbol = colon + 1;
    *colon = 0;
    if (!realpath(p->kernel, path))
        return fail("%s: %s", p->kernel, strerror(errno));
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!object)
        return fail("%s", dlerror());
    p->family = dlsym(object, symbol);
    if (!p->family)
        return fail("%s has no family %s: a sett_family of that name that it exports", p->kernel, symbol);
    if (p->family->size != sizeof *p->family || !p->family->body)
        return fail("%s of %s is no sett_family: its size is %zu, not %zu, or it has no body", symbol, p->kernel, p->family->size, sizeof *p->family);
    if (!*p->function)
        snprintf(p->function, sizeof p->function, "%.*s", WORD_MOST, p->family->name ? p->family->name : symbol);
    return EXIT_OK;
}

static int take_operand(const char *text, operand *p)
{
    *p = (operand){0};
    if (strlen(text) >= sizeof p->text)
        return usage("export: an operand of more than %d characters", PATH_MAX - 1);
    strcpy(p->text, text);
    p->kernel = p->text;
    char *equal = strchr(p->text, '='), *comma = strchr(p->text, ',');
    if (equal && (!comma || equal < comma)) {
        if (equal - p->text > WORD_MOST)
            return usage("export: a function's name of more than %d characters", WORD_MOST);
        memcpy(p->function, p->text, (size_t)(equal - p->text));
        p->kernel = equal + 1;
    }
    if (comma) {
        *comma = 0;
        p->params = comma + 1;
    }
    const char *colon = strrchr(p->kernel, ':');
    if (colon && strstr(p->kernel, ".so"))
        return open_family(p);
    const named_kernel *named = kernel_find(p->kernel);
    p->family = named && p->params ? named->family : NULL;
    if (p->params && !named)
        return usage("export %s: a tape has no parameters", text);
    if (!*p->function)
        function_of_file(p->kernel, p->function);
    return EXIT_OK;
}

/* ---- a family's parameters --------------------------------------------------------------------------- */
static bool number_of(const char *text, int64_t *out)
{
    char *end;
    sett_dtype t = dtype_of_name(text);
    errno = 0;
    *out = t ? (int64_t)t : !strcmp(text, "true") ? 1 : !strcmp(text, "false") ? 0 : strtoll(text, &end, 0);
    return t || !strcmp(text, "true") || !strcmp(text, "false") || (end != text && !*end && !errno);
}

static bool put_floating(char *to, size_t bytes, const char *text)
{
    char *end;
    double d = strtod(text, &end);
    float f = (float)d;
    if (end == text || *end)
        return false;
    memcpy(to, bytes == sizeof f ? (const void *)&f : &d, bytes);
    return true;
}

/* Little-endian, as the hosts of CUDA are. */
static bool put_integer(char *to, size_t bytes, const char *text)
{
    int64_t i;
    if (!number_of(text, &i) || (bytes < sizeof i && (i >= INT64_C(1) << (8 * bytes) || i < -(INT64_C(1) << (8 * bytes - 1)))))
        return false;
    memcpy(to, &i, bytes);
    return true;
}

static int set_parameter(const operand *p, char *user, char *text)
{
    char *equal = strchr(text, '=');
    sett__guess g = sett__guess_of(text, equal ? (size_t)(equal - text) : strlen(text));
    if (!equal)
        return usage("export: %s: NAME=VALUE is needed", text);
    *equal = 0;
    for (int i = 0; i < p->family->n_params; i++) {
        const sett_family_param *q = &p->family->params[i];
        sett__guess_add(&g, q->name);
        if (strcmp(q->name, text))
            continue;
        bool put = q->floating ? put_floating(user + q->offset, q->bytes, equal + 1) : put_integer(user + q->offset, q->bytes, equal + 1);
        return put ? EXIT_OK : usage("export: %s=%s: no value that it can have", text, equal + 1);
    }
    return usage("export: %s is no parameter of %s%s", text, p->kernel, sett__guess_text(&g));
}

static int set_parameters(const operand *p, char *user)
{
    char copy[PATH_MAX], *left = copy;
    int code = EXIT_OK;
    snprintf(copy, sizeof copy, "%s", p->params ? p->params : "");
    for (char *one; !code && *left && (one = strsep(&left, ",")); left = left ? left : copy + strlen(copy))
        code = set_parameter(p, user, one);
    return code;
}

static int compile_family(sett_engine *e, const operand *p, const char *target, sett_kernel **k)
{
    const sett_family *f = p->family;
    sett_error err = {0};
    char *user = calloc(1, f->user_size + 1);
    if (!user)
        return fail("out of memory");
    if (f->defaults)
        memcpy(user, f->defaults, f->user_size);
    int code = set_parameters(p, user);
    sett_compile_options co = {.size = sizeof co, .name = p->function, .target = target, .user = user};
    if (!code && f->wanted && !f->wanted(user))
        code = fail("%s: the family leaves this combination of its parameters out", p->kernel);
    if (!code && ((f->choose && f->choose(f->body, user, target, &err)) || sett_compile(e, f->body, &co, k, &err)))
        code = fail("%s for %s: %s", p->kernel, target, err.text);
    free(user);
    return code;
}

/* ---- all of them --------------------------------------------------------------------------------------- */
typedef struct exported {
    operand *operand;
    sett_export_kernel *kernel;
    int n;
    char target[TARGETS_MOST][16];
    int n_target;
} exported;

static int take_targets(const char *list, exported *x)
{
    for (const char *at = list; *at;) {
        size_t n = strcspn(at, ",");
        if (x->n_target == TARGETS_MOST || n >= sizeof x->target[0] || !n)
            return usage("--targets %s: targets with commas between, as sm_80,sm_90a", list);
        memcpy(x->target[x->n_target++], at, n);
        at += n + (at[n] == ',' && at[n + 1]);
        if (*at == ',')
            return usage("--targets %s: it ends in a comma", list);
    }
    return EXIT_OK;
}

static int compile_all(sett_engine *e, const options *o, sett_dtype t, exported *x)
{
    int code = EXIT_OK;
    for (int i = 0; i < o->argc && !code; i++) {
        operand *p = &x->operand[i];
        code = take_operand(o->argv[i], p);
        for (int j = 0; j < x->n_target && !code; j++) {
            options one = *o;
            sett_export_kernel *k = &x->kernel[x->n];
            one.target = x->target[j];
            one.function = p->function;
            code = p->family ? compile_family(e, p, one.target, &k->kernel) : kernel_compile(e, &one, p->kernel, t, false, &k->kernel);
            k->function = p->function;
            x->n += !code;
        }
    }
    return code;
}

/* -o build/mine: the names begin with "mine". */
static int write_files(const options *o, const exported *x)
{
    char path[PATH_MAX + 2], *header, *source;
    const char *slash = strrchr(o->output, '/');
    sett_error err = {0};
    sett_export_options eo = {.size = sizeof eo, .name = slash ? slash + 1 : o->output, .tvm_ffi = o->tvm_ffi};
    if (sett_export(x->kernel, x->n, &eo, &header, &source, &err))
        return fail("%s", err.text);
    snprintf(path, sizeof path, "%.*s.h", PATH_MAX - 1, o->output);
    int code = file_write(path, header, strlen(header));
    path[strlen(path) - 1] = 'c';
    if (!code)
        code = file_write(path, source, strlen(source));
    sett_text_free(header);
    sett_text_free(source);
    if (!code)
        printf("%s.h, %s.c: %d function%s for %s\n", o->output, o->output, o->argc, o->argc == 1 ? "" : "s", o->targets);
    return code;
}

static int export_with(sett_engine *e, const options *o, sett_dtype t)
{
    exported x = {0};
    int code = take_targets(o->targets, &x);
    x.operand = calloc((size_t)o->argc, sizeof *x.operand);
    x.kernel = calloc((size_t)o->argc * TARGETS_MOST, sizeof *x.kernel);
    if (!x.operand || !x.kernel)
        code = fail("out of memory");
    if (!code)
        code = compile_all(e, o, t, &x);
    if (!code)
        code = write_files(o, &x);
    for (int i = 0; i < x.n; i++)
        sett_kernel_release(x.kernel[i].kernel);
    free(x.operand);
    free(x.kernel);
    return code;
}

int export_command(const options *o)
{
    options here = *o;
    here.device = "cpu"; /* nothing is launched */
    if (!o->cache_dir)
        here.cache_dir = ""; /* an entry has the name that it was first compiled with: equal calls would give other bytes */
    if (!o->argc)
        return usage("export takes one kernel or more");
    if (!o->targets || !o->output || !strcmp(o->output, "-"))
        return usage("export: give %s", !o->targets ? "--targets, as sm_80,sm_90a" : "-o NAME: the files are NAME.h and NAME.c");
    sett_dtype t = o->dtype ? dtype_of_name(o->dtype) : SETT_F16;
    if (!t)
        return dtype_refused(o->dtype);
    sett_engine *e = engine_open(&here);
    if (!e)
        return EXIT_FAILED;
    int code = export_with(e, o, t);
    sett_engine_close(e);
    return code;
}
