/* SPDX-License-Identifier: Apache-2.0 */
/* sett export: kernels for some targets as NAME.h and NAME.c, or NAME.o. */
#include "tools.h"
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <sett/export.h>
#include <sett/kernels.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORD_MOST = 128, TARGETS_MOST = 32 };

/* One operand: [FUNCTION=]KERNEL[,PARAMETER=VALUE...]. KERNEL: a name, a tape's file, or OBJECT.so:FAMILY. Of a path that has one of
 * ",=:" the longest beginning that is a file is the path, also of one before whose '=' there would be a function's name. */
typedef struct operand {
    const char *given; /* as it was written */
    char text[PATH_MAX], function[WORD_MOST + 1];
    char *kernel, *symbol, *params; /* in text; symbol: a family's, NULL: it is none; params: "cols=4096,dtype=bf16", NULL: none are given */
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

static int no_family(void *object, const char *path, const char *symbol)
{
    static const char *const before[] = {"", "sett_"};
    char other[WORD_MOST + 16];
    for (int i = 0; i < 2; i++) {
        snprintf(other, sizeof other, "%s%.*s_family", before[i], WORD_MOST, symbol);
        if (dlsym(object, other))
            return fail("%s has no family %s; did you mean %s?", path, symbol, other);
    }
    return fail("%s has no family %s: a sett_family of that name that it exports", path, symbol);
}

static int several(const char *family)
{
    return usage("export: %s stands for several kernels, among which each launch chooses by a library: one of them can be exported, as "
                 "gemm_wgmma,dtype=bf16,bm=128,bn=128 can", family);
}

/* The object stays open: the family is in it. */
static int open_family(operand *p)
{
    char path[PATH_MAX];
    const char *symbol = p->symbol;
    if (!realpath(p->kernel, path))
        return fail("%s: %s", p->kernel, strerror(errno));
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!object)
        return fail("%s", dlerror());
    p->family = dlsym(object, symbol);
    if (!p->family)
        return no_family(object, p->kernel, symbol);
    if (p->family->size >= offsetof(sett_family, kernel_size) + sizeof p->family->kernel_size && p->family->kernel)
        return several(p->family->name ? p->family->name : symbol);
    if (p->family->size < offsetof(sett_family, kernel) || !p->family->body) /* what is behind it is of no use here */
        return fail("%s of %s is no sett_family: its size is %zu, and at least %zu is needed, or it has no body", symbol, p->kernel, p->family->size, offsetof(sett_family, kernel));
    if (!*p->function)
        snprintf(p->function, sizeof p->function, "%.*s", WORD_MOST, p->family->name ? p->family->name : symbol);
    return EXIT_OK;
}

/* Its longest beginning, up to its end or to a ',' or ':', that is a file: how long that is; 0: there is none. */
static size_t file_at(char *text)
{
    struct stat st;
    for (size_t n = strlen(text); n; n--) {
        const char end = text[n];
        if (end && end != ',' && end != ':')
            continue;
        text[n] = 0;
        const bool is = !stat(text, &st) && !S_ISDIR(st.st_mode);
        text[n] = end;
        if (is)
            return n;
    }
    return 0;
}

/* Cuts the text into function, kernel, symbol and parameters. */
static int split_operand(operand *p)
{
    char *at = p->text, *equal = strchr(at, '='), *comma = strchr(at, ',');
    size_t file = file_at(at);
    if (!file && equal && (!comma || equal < comma)) {
        if (equal - at > WORD_MOST)
            return usage("export: a function's name of more than %d characters", WORD_MOST);
        memcpy(p->function, at, (size_t)(equal - at));
        at = equal + 1;
        file = file_at(at);
    }
    p->kernel = at;
    comma = strchr(at + file, ',');
    if (comma) {
        *comma = 0;
        p->params = comma + 1;
    }
    char *colon = file ? strchr(at + file, ':') : strstr(at, ".so") ? strrchr(at, ':') : NULL;
    if (colon) {
        *colon = 0;
        p->symbol = colon + 1;
    }
    return EXIT_OK;
}

static int take_operand(const char *text, operand *p)
{
    *p = (operand){.given = text};
    if (strlen(text) >= sizeof p->text)
        return usage("export: an operand of more than %d characters", PATH_MAX - 1);
    strcpy(p->text, text);
    int code = split_operand(p);
    if (code)
        return code;
    if (p->symbol)
        return open_family(p);
    const char *slash = strrchr(p->kernel, '/'), *object = strstr(slash ? slash : p->kernel, ".so");
    if (object && (!object[3] || object[3] == '.'))
        return usage("export: %s is a shared object: name a family in it, as %s:FAMILY", p->kernel, p->kernel);
    const named_kernel *named = kernel_find(p->kernel);
    if (!strcmp(p->kernel, sett_product_family.name) && access(p->kernel, F_OK))
        return several(p->kernel);
    p->family = named && p->params ? named->family : NULL;
    if (p->params && !named)
        return access(p->kernel, F_OK) ? kernel_unknown(p->kernel) : usage("export %s: a tape has no parameters", text);
    if (!*p->function)
        function_of_file(p->kernel, p->function);
    return EXIT_OK;
}

/* ---- a family's parameters --------------------------------------------------------------------------- */
static int set_parameters(const operand *p, char *user)
{
    char copy[PATH_MAX], *left = copy;
    const sett_family *f = p->family;
    const char **given = calloc((size_t)f->n_params + 1, sizeof *given);
    int code = given ? EXIT_OK : fail("out of memory");
    snprintf(copy, sizeof copy, "%s", p->params ? p->params : "");
    for (char *one; !code && *left && (one = strsep(&left, ",")); left = left ? left : copy + strlen(copy))
        code = family_set("export", f, p->kernel, user, given, one);
    for (int i = 0; i < f->n_params && !code && !f->defaults; i++)
        if (!given[i])
            code = usage("export: %s has no value, and %s has no defaults: write %s,%s=VALUE", f->params[i].name, f->name ? f->name : p->function,
                p->given, f->params[i].name);
    free(given);
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
    sett_compile_options co = {.size = sizeof co, .name = p->function, .target = target, .user = user, .ready_made = f->size > offsetof(sett_family, ready_made) && f->ready_made};
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
        if (*at == ',' && !at[1])
            return usage("--targets %s: it ends in a comma", list);
    }
    return x->n_target ? EXIT_OK : usage("--targets \"\": targets with commas between, as sm_80,sm_90a");
}

/* What a family takes, its parameters say: options of named kernels would be lost. */
static int no_options(const options *o, const operand *p)
{
    const struct {
        const char *name, *text;
        int number;
    } of_names[] = {{"dtype", o->dtype, 0}, {"cols", NULL, o->cols}, {"threads", NULL, o->threads}, {"op", o->kernel_op, 0}};
    char number[16];
    for (size_t i = 0; i < sizeof of_names / sizeof *of_names && p->family; i++) {
        snprintf(number, sizeof number, "%d", of_names[i].number);
        if (of_names[i].text || of_names[i].number)
            return usage("export: --%s is of named kernels without parameters: write %s,%s=%s", of_names[i].name, p->given, of_names[i].name,
                of_names[i].text ? of_names[i].text : number);
    }
    return EXIT_OK;
}

static int compile_all(sett_engine *e, const options *o, sett_dtype t, exported *x)
{
    int code = EXIT_OK;
    for (int i = 0; i < o->argc && !code; i++) {
        operand *p = &x->operand[i];
        code = take_operand(o->argv[i], p);
        if (!code)
            code = no_options(o, p);
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

/* Compiles the source, with the header in place of the line that includes it, by the shell, as $CC may have arguments. base: the path
 * without its end. */
static int compile_object(const char *base, const char *header, const char *source)
{
    const char *cc = getenv("CC"), *include = strstr(source, "#include \""), *rest = include ? strchr(include, '\n') : NULL;
    char object[PATH_MAX + 2];
    snprintf(object, sizeof object, "%s.o", base);
    cc = cc && *cc ? cc : "cc";
    setenv("CC", cc, 1), setenv("SETT_EXPORT_OBJECT", object, 1);
    signal(SIGPIPE, SIG_IGN); /* of a compiler that ends early */
    FILE *to = popen("exec $CC -std=c11 -O2 -fPIC -x c -c -o \"$SETT_EXPORT_OBJECT\" -", "w");
    if (!to)
        return fail("sh: %s", strerror(errno));
    fprintf(to, "%.*s%s%s", rest ? (int)(include - source) : 0, source, rest ? header : "", rest ? rest : source);
    const int status = pclose(to);
    if (!status)
        return EXIT_OK;
    return WIFEXITED(status) && WEXITSTATUS(status) == 127
               ? fail("export: there is no C compiler %s: set CC, or give -o %s and compile %s.c", cc, base, base)
               : fail("export: the C compiler %s made no %s.o", cc, base);
}

/* -o build/mine, build/mine.o: the names begin with "mine". */
static int write_files(const options *o, const exported *x)
{
    const size_t len = strlen(o->output);
    const bool object = len > 2 && !strcmp(o->output + len - 2, ".o");
    char base[PATH_MAX], path[PATH_MAX + 2], *header, *source;
    snprintf(base, sizeof base, "%.*s", (int)(object ? len - 2 : len), o->output);
    const char *slash = strrchr(base, '/');
    sett_error err = {0};
    sett_export_options eo = {.size = sizeof eo, .name = slash ? slash + 1 : base, .tvm_ffi = o->tvm_ffi};
    if (sett_export(x->kernel, x->n, &eo, &header, &source, &err))
        return fail("%s", err.text);
    snprintf(path, sizeof path, "%s.h", base);
    int code = object ? compile_object(base, header, source) : EXIT_OK;
    if (!code)
        code = file_write(path, header, strlen(header));
    path[strlen(path) - 1] = 'c';
    if (!code && !object)
        code = file_write(path, source, strlen(source));
    sett_text_free(header);
    sett_text_free(source);
    if (!code)
        printf("%s.h, %s.%c: %d function%s for %s\n", base, base, object ? 'o' : 'c', o->argc, o->argc == 1 ? "" : "s", o->targets);
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
        return usage("export: give %s", !o->targets ? "--targets, as sm_80,sm_90a" : "-o NAME: the files are NAME.h and NAME.c, of NAME.o that and NAME.h");
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
