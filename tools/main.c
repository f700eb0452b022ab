/* SPDX-License-Identifier: Apache-2.0 */
/* The sett command: parses options and hands over to a subcommand. Data goes to standard
 * output, messages to standard error. */
#include "tools.h"
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const struct command {
    const char *name, *args, *what;
    int (*run)(const options *);
} commands[] = {
    {"layout", "'EXPR'", "print a layout: its text, its table, facts; EXPR is a layout or a call of the algebra", layout_command},
    {"compile", "KERNEL", "compile a named kernel or a tape file for --target; -o FILE, --emit ptx|cubin|tape|report", compile_command},
    {"run", "KERNEL NAME=IN.npy[:OUT.npy] NAME=:OUT.npy NAME=NUMBER ...", "run a kernel over NumPy files", run_command},
    {"cache", "[layers | ls | verify | explain A B | trim SIZE]",
        "the disk cache: its layers, its entries, the damaged ones (exit 1), why keys A and B differ, fewer bytes", cache_command},
    {"doctor", "", "what was found: driver, devices, compiler plug-in, assemblers, cache folder", doctor_command},
};

int fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("sett: ", stderr), vfprintf(stderr, format, args), fputc('\n', stderr);
    va_end(args);
    return EXIT_FAILED;
}

int usage(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("sett: ", stderr), vfprintf(stderr, format, args), fputs("\nsett --help lists commands and options\n", stderr);
    va_end(args);
    return EXIT_USAGE;
}

int count_parse(const char *option, const char *text, int least, int most, int *out)
{
    char *end;
    errno = 0;
    long n = strtol(text, &end, 10);
    if (end == text || *end || errno || n < least || n > most)
        return usage("%s %s: a number from %d to %d is needed", option, text, least, most);
    *out = (int)n;
    return EXIT_OK;
}

void json_string(FILE *f, const char *s)
{
    fputc('"', f);
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            fprintf(f, "\\%c", c);
        else if (c < 0x20)
            fprintf(f, "\\u%04x", c);
        else
            fputc(c, f);
    }
    fputc('"', f);
}

char *file_read(const char *path, size_t *len)
{
    FILE *f = strcmp(path, "-") ? fopen(path, "rb") : stdin;
    char *data = NULL, *more;
    size_t used = 0, cap = 0, n = 0;
    if (!f) {
        fail("%s: %s", path, strerror(errno));
        return NULL;
    }
    do {
        if (used + 1 >= cap) {
            cap = cap ? cap * 2 : 65536;
            if (!(more = realloc(data, cap)))
                break;
            data = more;
        }
        n = fread(data + used, 1, cap - used - 1, f);
        used += n;
    } while (n);
    bool bad = n || ferror(f);
    if (f != stdin)
        fclose(f);
    if (bad) {
        fail("%s: %s", path, n ? "out of memory" : strerror(errno));
        free(data);
        return NULL;
    }
    data[used] = 0;
    *len = used;
    return data;
}

int output_open(const options *o)
{
    if (!o->output || !strcmp(o->output, "-") || freopen(o->output, "w", stdout))
        return EXIT_OK;
    return fail("%s: %s", o->output, strerror(errno));
}

int file_write(const char *path, const void *data, size_t len)
{
    FILE *f = strcmp(path, "-") ? fopen(path, "wb") : stdout;
    if (!f)
        return fail("%s: %s", path, strerror(errno));
    bool bad = fwrite(data, 1, len, f) != len;
    bad |= f == stdout ? fflush(f) != 0 : fclose(f) != 0;
    return bad ? fail("%s: %s", path, strerror(errno)) : EXIT_OK;
}

sett_engine *engine_open(const options *o)
{
    sett_engine *e = NULL;
    sett_error err = {0};
    sett_engine_options eo = {.size = sizeof eo, .cache_dir = o->cache_dir};
    eo.no_gpu = o->device && !strcmp(o->device, "cpu");
    if (sett_engine_open(&e, &eo, &err)) {
        fail("%s", err.text);
        return NULL;
    }
    return e;
}

enum { LAYOUT = 1, COMPILE = 2, RUN = 4, CACHE = 8, DOCTOR = 16 }; /* 1 << index in commands */
static const struct {
    int of;
    const char *text;
} option_help[] = {
    {COMPILE | RUN, "--target sm_90a     compile for this target (\"cpu\" too); default: the device's"},
    {COMPILE | RUN | DOCTOR, "--device cpu|N      run on this device; default: GPU 0, or the CPU where there is none"},
    {LAYOUT | COMPILE, "-o, --output FILE   where the result goes; default: standard output"},
    {COMPILE, "--emit KIND         compile: ptx, cubin, tape (text), tape-bytes or report"},
    {LAYOUT, "--emit KIND         layout: text, svg, html"},
    {LAYOUT, "--panels            draw the outermost call's operands beside its result; a swizzle before and after"},
    {LAYOUT, "--diff EXPR         draw this layout (A) beside it, and where they differ"},
    {LAYOUT, "--tile SHAPE        it is a TV layout, (thread,value) to element of a tile of this shape"},
    {LAYOUT, "--tensor EXPR       of a TV layout: where the tile's elements lie"},
    {LAYOUT, "--isolate T         of a TV layout: thread T alone, or (T,V), (_,V)"},
    {LAYOUT, "--by WHAT           colour by offset, thread, value or bank"},
    {LAYOUT, "--dtype f16         layout: element type, for banks (default f32) and --facts"},
    {LAYOUT, "--color WHEN        auto (a terminal, unless NO_COLOR is set), always, never"},
    {COMPILE | RUN, "--dtype f16         element type of a named kernel where no file says it"},
    {COMPILE | RUN, "--op NAME           operator of the kernel `apply`: add, mul, mul_relu"},
    {COMPILE | RUN, "--cols N --threads N   of the kernel `softmax`"},
    {COMPILE | RUN | CACHE | DOCTOR, "--cache-dir DIR     disk cache; \"\" for none"},
    {LAYOUT, "--facts             size, cosize, what can be proven of a layout"},
    {LAYOUT, "--align N           of --facts: bytes that the address of offset 0 is a multiple of; default 16"},
    {LAYOUT | COMPILE | RUN | CACHE | DOCTOR, "--json              data as JSON"},
    {LAYOUT | COMPILE | RUN | CACHE | DOCTOR, "--version, --help"},
};

/* Of one command, or of all. */
static int help(FILE *f, int of)
{
    const size_t n = sizeof commands / sizeof *commands;
    bool all = of == (1 << n) - 1;
    if (all)
        fputs("sett: GPU kernels from layouts, built at run time\n\nusage: sett COMMAND [options] arguments\n\n", f);
    for (size_t i = 0; i < n; i++)
        if (of & 1 << i)
            fprintf(f, all ? "  %-8s %s\n           %s\n" : "usage: sett %s [options] %s\n\n%s\n", commands[i].name,
                commands[i].args, commands[i].what);
    fputs("\noptions\n", f);
    for (size_t i = 0; i < sizeof option_help / sizeof *option_help; i++)
        if (of & option_help[i].of)
            fprintf(f, "  %s\n", option_help[i].text);
    if (of & (COMPILE | RUN)) {
        fputs("\nkernels\n", f);
        kernel_list(f);
    }
    if (of & LAYOUT) {
        fputs("\ncalls of layout expressions: L a layout or a shape, _ keeps a mode\n", f);
        layout_calls(f);
    }
    fputs("\nexit codes: 0 done, 1 failed, 2 wrong usage, 5 no device\n", f);
    return EXIT_OK;
}

enum { O_TARGET = 256, O_DEVICE, O_EMIT, O_DTYPE, O_OP, O_COLS, O_THREADS, O_CACHE, O_FACTS, O_JSON, O_VERSION, O_PANELS, O_ALIGN,
    O_DIFF, O_TILE, O_TENSOR, O_ISOLATE, O_BY, O_COLOR };

static int parse(options *o, int argc, char **argv)
{
    static const struct option longs[] = {{"target", 1, NULL, O_TARGET}, {"device", 1, NULL, O_DEVICE}, {"output", 1, NULL, 'o'},
        {"emit", 1, NULL, O_EMIT}, {"dtype", 1, NULL, O_DTYPE}, {"op", 1, NULL, O_OP}, {"cols", 1, NULL, O_COLS},
        {"threads", 1, NULL, O_THREADS}, {"cache-dir", 1, NULL, O_CACHE}, {"facts", 0, NULL, O_FACTS}, {"json", 0, NULL, O_JSON},
        {"panels", 0, NULL, O_PANELS}, {"align", 1, NULL, O_ALIGN}, {"diff", 1, NULL, O_DIFF}, {"tile", 1, NULL, O_TILE}, {"tensor", 1, NULL, O_TENSOR},
        {"isolate", 1, NULL, O_ISOLATE}, {"by", 1, NULL, O_BY}, {"color", 1, NULL, O_COLOR}, {"version", 0, NULL, O_VERSION}, {"help", 0, NULL, 'h'}, {0}};
    const char **text[] = {[O_TARGET - 256] = &o->target, [O_DEVICE - 256] = &o->device, [O_EMIT - 256] = &o->emit,
        [O_DTYPE - 256] = &o->dtype, [O_OP - 256] = &o->kernel_op, [O_CACHE - 256] = &o->cache_dir,
        [O_DIFF - 256] = &o->diff, [O_TILE - 256] = &o->tile, [O_TENSOR - 256] = &o->tensor, [O_ISOLATE - 256] = &o->isolate,
        [O_BY - 256] = &o->by, [O_COLOR - 256] = &o->color};
    int c, code = EXIT_OK;
    opterr = 0;
    while (!code && (c = getopt_long(argc, argv, ":o:h", longs, NULL)) != -1) {
        if (c == 'o')
            o->output = optarg;
        else if (c == 'h')
            o->help = true;
        else if (c == O_VERSION)
            exit(printf("sett %s\n", sett_version()) < 0);
        else if (c == O_JSON)
            o->json = true;
        else if (c == O_FACTS)
            o->facts = true;
        else if (c == O_ALIGN)
            code = count_parse("--align", optarg, 1, 65536, &o->align);
        else if (c == O_PANELS)
            o->panels = true;
        else if (c == O_COLS || c == O_THREADS)
            code = count_parse(c == O_COLS ? "--cols" : "--threads", optarg, 1, c == O_COLS ? INT_MAX : 1024,
                c == O_COLS ? &o->cols : &o->threads);
        else if (c == '?' || c == ':')
            return usage("%s %s", argv[optind - 1], c == '?' ? "is no option" : "needs a value");
        else
            *text[c - 256] = optarg;
    }
    o->argc = argc - optind;
    o->argv = argv + optind;
    return code;
}

int main(int argc, char **argv)
{
    options o = {0};
    int code = parse(&o, argc, argv);
    if (code)
        return code;
    bool ask = o.help || (o.argc && !strcmp(o.argv[0], "help"));
    if (o.argc && ask && !strcmp(o.argv[0], "help"))
        o.argc--, o.argv++;
    if (!o.argc)
        return ask ? help(stdout, LAYOUT | COMPILE | RUN | CACHE | DOCTOR) : usage("no command given");
    const char *name = o.argv[0];
    o.argc--, o.argv++;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (!strcmp(name, commands[i].name))
            return ask ? help(stdout, 1 << i) : commands[i].run(&o);
    return usage("%s is no command", name);
}
