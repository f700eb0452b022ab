/* SPDX-License-Identifier: Apache-2.0 */
/* The sett command: parses options and hands over to a subcommand. Data goes to standard
 * output, messages to standard error. */
#include "tools.h"
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct command {
    const char *name, *args, *what;
    int (*run)(const options *);
} commands[] = {
    {"layout", "'EXPR'", "print a layout: its text, its table, facts; EXPR is a layout or a call of the algebra", layout_command},
    {"compile", "KERNEL", "compile a named kernel or a tape file for --target; -o FILE, --emit ptx|cubin|tape|report", compile_command},
    {"run", "KERNEL NAME=IN.npy[:OUT.npy] NAME=:OUT.npy NAME=NUMBER ...", "run a kernel over NumPy files", run_command},
    {"bench", "KERNEL NAME=4096x4096 NAME=IN.npy NAME=NUMBER ... | product M N K [NAME=VALUE...]",
        "how long a launch takes, over random numbers or NumPy files; of a product of matrices, over random numbers", bench_command},
    {"cache", "[layers | ls [SOURCE...] | verify [SOURCE...] | explain KEY [B] [SOURCE...] | trim SIZE | pack [KEY...] -o PACK | "
              "merge SOURCE... -o PACK | sign PACK -o PACK | unpack SOURCE... | keygen -o FILE]",
        "the disk cache: its layers, its entries, the damaged ones (exit 1), how a key differs from the nearest or from B, fewer bytes; packs of it, "
        "signed or not. SOURCE: a pack or a folder instead of the machine's own",
        cache_command},
    {"warm", "MANIFEST", "compile every kernel that a manifest names into the cache, without a GPU; what is there stays. Exit 3: some were not made",
        warm_command},
    {"doctor", "", "what was found: driver, devices, compiler plug-in, assemblers, cache folder", doctor_command},
    {"export", "[FUNCTION=]KERNEL[,PARAMETER=VALUE...] ...",
        "kernels as C: NAME.h has a typed function for each, NAME.c their code for --targets, for programs without sett. KERNEL may be\n"
        "           OBJECT.so:FAMILY too, a sett_family as of a manifest. FUNCTION= names its function, where two would have one name",
        export_command},
    {"completion", "bash|zsh|fish", "a script by which a shell completes this command", completion_command},
    {"product", "M N K [NAME=VALUE...]", "what a product of A (M,K) and B (N,K) takes: its kernel, and its time by a model; NAME=VALUE: as swiglu=1", product_command},
    {"check", "KERNEL NAME=4096x4096 NAME=IN.npy NAME=NUMBER ... | -- PROGRAM [ARGUMENT...]",
        "races, missing fences and waits, deadlocks, uninitialised memory and costs of one launch, over random numbers or NumPy files, or of\n"
        "           all that a program launches (behind --): findings go to standard error. Exit 1: there are errors",
        check_command},
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

static bool hushed; /* while sources are opened: who names one that cannot be used is told so once, as an error */
static struct {
    pthread_mutex_t lock;
    char kinds[2048]; /* every kind that was told: component, and message but for its long hexadecimal numbers */
    size_t len;
    unsigned more;
} said = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Entries of a cache are told apart by their keys, and a thousand of them may have one fault. */
static size_t kind_of(const char *component, const char *message, char *out, size_t size)
{
    int n = snprintf(out, size, "%s: %s", component, message);
    size_t len = n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1, to = 0;
    for (size_t i = 0; i < len;) {
        size_t digits = strspn(out + i, "0123456789abcdef");
        if (digits < 16)
            for (digits += !digits; digits; digits--)
                out[to++] = out[i++];
        else
            i += digits;
    }
    out[to] = 0;
    return to;
}

static bool said_before(const char *component, const char *message)
{
    char kind[512];
    size_t len = kind_of(component, message, kind, sizeof kind) + 1;
    bool was = false;
    pthread_mutex_lock(&said.lock);
    for (const char *at = said.kinds; at < said.kinds + said.len && !was; at += strlen(at) + 1)
        was = !strcmp(at, kind);
    if (!was && said.len + len <= sizeof said.kinds) {
        memcpy(said.kinds + said.len, kind, len);
        said.len += len;
    }
    said.more += was;
    pthread_mutex_unlock(&said.lock);
    return was;
}

void warnings_left(void)
{
    if (said.more)
        fprintf(stderr, "sett: %u more warning%s like those; SETT_LOG=warning tells them\n", said.more, said.more > 1 ? "s are" : " is");
}

/* One of a kind: on any thread. */
static void say(void *user, sett_log_level level, const char *component, const char *message)
{
    (void)user;
    if (level <= SETT_LOG_WARNING && !hushed && !said_before(component, message))
        fprintf(stderr, "sett: %s: %s\n", component, message);
}

const char *self_path(void)
{
    static char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    return n > 0 ? path : NULL;
}

sett_engine *engine_open_or(const options *o, sett_error *err)
{
    sett_engine *e = NULL;
    sett_engine_options eo = {.size = sizeof eo,
        .cache_dir = o->cache_dir,
        .cache_layers = o->layers,
        .cache_remote = o->layers ? "" : NULL, /* sources are looked at, not a server */
        .cache_trust = o->trust,
        .cache_signers = o->trust == SETT_TRUST_SIGNED ? o->signed_by : NULL};
    eo.no_gpu = o->device && !strcmp(o->device, "cpu");
    eo.log = getenv("SETT_LOG") ? NULL : say;
    eo.log_level = SETT_LOG_WARNING;
    hushed = o->layers != NULL;
    if (sett_engine_open(&e, &eo, err))
        fail("%s", err->text);
    hushed = false;
    return e;
}

sett_engine *engine_open(const options *o)
{
    sett_error err = {0};
    return engine_open_or(o, &err);
}

enum { LAYOUT = 1, COMPILE = 2, RUN = 4, BENCH = 8, CACHE = 16, WARM = 32, DOCTOR = 64, EXPORT = 128, COMPLETION = 256, PRODUCT = 512, CHECK = 1024 }; /* 1 << index in commands */
static const struct {
    int of;
    const char *text;
} option_help[] = {
    {COMPILE | RUN | BENCH | PRODUCT, "--target sm_90a     compile for this target (\"cpu\" too); default: the device's"},
    {COMPILE | RUN | BENCH | DOCTOR | PRODUCT, "--device cpu|N      run on this device; default: $SETT_DEVICE, else GPU 0, or the CPU where there is none"},
    {CHECK, "-o, --output FILE   check: the findings as JSON"},
    {CHECK, "--sarif FILE        check: the findings as SARIF"},
    {CHECK, "--errors            check: errors alone, no warnings and costs"},
    {CHECK, "--strict            check: stores of equal values by one instruction race too"},
    {CHECK, "--orders N          check: runs N times: what goes on by itself late, early, then at moments of N - 2 seeds"},
    {CHECK, "--orders all        check: of small kernels: each launch in all orders, 10000 at most"},
    {LAYOUT | COMPILE | CACHE | EXPORT | COMPLETION, "-o, --output FILE   where the result goes; default: standard output. export: NAME of NAME.h and NAME.c, or NAME.o"},
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
    {COMPILE | RUN | BENCH | EXPORT | CHECK, "--dtype f16         element type of a named kernel where no file says it"},
    {PRODUCT | BENCH, "--dtype bf16        product: element type of A and B"},
    {PRODUCT | BENCH, "--batch-invariant   product: the bits of a row do not depend on M"},
    {COMPILE | RUN | BENCH | EXPORT | CHECK, "--op NAME           operator of the kernel `apply`: add, mul, mul_relu"},
    {COMPILE | RUN | BENCH | EXPORT | CHECK, "--cols N --threads N   of the kernels by rows"},
    {CACHE | WARM | EXPORT, "--targets LIST      warm, export, cache explain --manifest: for these, as sm_80,sm_90a, where a block of the manifest has no .targets"},
    {EXPORT, "--tvm-ffi           export: symbols __tvm_ffi_NAME_FUNCTION too, for apache-tvm-ffi"},
    {WARM, "-j, --jobs N        warm: processes; default: one a core"},
    {WARM, "--shard K/N         warm: part K of N, from 0; N alone: K is $SLURM_ARRAY_TASK_ID or $JOB_COMPLETION_INDEX"},
    {WARM, "--pack FILE         warm: writes what was made, and was there, as a pack"},
    {WARM, "--list              warm: prints the kernels and their keys, and compiles nothing"},
    {COMPILE | RUN | BENCH | CACHE | WARM | DOCTOR | EXPORT, "--cache-dir DIR     disk cache; \"\" for none"},
    {CACHE, "--manifest FILE     cache explain: the keys are of this manifest, cached or not; which of their parameters differ"},
    {CACHE | WARM, "--secret-key FILE   cache pack, merge, sign; warm --pack: signs the pack with this key (sett cache keygen makes one)"},
    {CACHE, "--signed-by KEY     believe a pack only if this public key (64 digits, or a file of them) has signed it"},
    {LAYOUT, "--facts             size, cosize, what can be proven of a layout"},
    {LAYOUT, "--align N           of --facts: bytes that the address of offset 0 is a multiple of; default 16"},
    {BENCH, "--iterations N --warmup N --launches N   samples (100), uncounted ones (10), launches a sample (1)"},
    {BENCH, "--workspaces N      copies of the arguments, in turn; default: four times the last-level cache"},
    {BENCH, "--hot --graph       one workspace, so that caches are warm; replayed from a CUDA graph"},
    {BENCH, "--bytes N --flops N   of a launch, for GB/s (default: each tensor once) and TFLOP/s"},
    {BENCH, "--zeros             inputs may be all zeros"},
    {DOCTOR, "--metrics           what its engine counted meanwhile, as Prometheus reads it"},
    {LAYOUT | COMPILE | RUN | BENCH | CACHE | WARM | DOCTOR | PRODUCT, "--json              data as JSON"},
    {LAYOUT | COMPILE | RUN | BENCH | CACHE | WARM | DOCTOR | EXPORT | COMPLETION | PRODUCT | CHECK, "--version, --help"},
};

/* Where an option stands in a row, behind its --; NULL: it is none of the row's. A row's options end at two blanks. */
static const char *option_in(const char *text, const char *name)
{
    const char *end = strstr(text, "  ");
    const size_t len = strlen(name);
    for (const char *at = text; (at = strstr(at, "--")) && (!end || at < end);)
        if (at += 2, !strncmp(at, name, len) && !strchr("abcdefghijklmnopqrstuvwxyz-", at[len] ? at[len] : ' '))
            return at;
    return NULL;
}

/* Of which commands an option is: bits of its rows. */
static int commands_of(const char *name)
{
    int of = 0;
    for (size_t i = 0; i < sizeof option_help / sizeof *option_help; i++)
        if (option_in(option_help[i].text, name))
            of |= option_help[i].of;
    return of;
}

/* A positive number, also as 1.5e9. */
static int amount_parse(const char *option, const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    if (end == text || *end || !(*out > 0 && *out < 1e30))
        return usage("%s %s: a positive number is needed", option, text);
    return EXIT_OK;
}

/* Of one command, or of all. */
static int help(FILE *f, int of)
{
    const size_t n = sizeof commands / sizeof *commands;
    bool all = of == (1 << n) - 1;
    if (all)
        fputs("sett: GPU kernels from layouts, built at run time\n\nusage: sett COMMAND [options] arguments\n"
              "       sett COMMAND --help     this command alone, with its options\n\n"
              "to begin: `sett doctor` says what it finds on this machine, `sett layout '(4,8):(8,1)'` draws a layout, `man sett` says more\n\n", f);
    for (size_t i = 0; i < n; i++)
        if (of & 1 << i)
            fprintf(f, all ? "  %-8s %s\n           %s\n" : "usage: sett %s [options] %s\n\n%s\n", commands[i].name,
                commands[i].args, commands[i].what);
    fputs("\noptions\n", f);
    for (size_t i = 0; i < sizeof option_help / sizeof *option_help; i++)
        if (of & option_help[i].of)
            fprintf(f, "  %s\n", option_help[i].text);
    if (of & (COMPILE | RUN | BENCH | EXPORT | CHECK)) {
        fputs("\nkernels\n", f);
        kernel_list(f);
    }
    if (of & (PRODUCT | BENCH)) {
        fputs("\nnames of a product: members of its problem, which docs/products.md and sett/kernels/product.h tell\n", f);
        product_members(f);
    }
    if (of & LAYOUT) {
        fputs("\ncalls of layout expressions: L a layout or a shape, _ keeps a mode\n", f);
        layout_calls(f);
    }
    fputs("\nexit codes: 0 done, 1 failed, 2 wrong usage, 3 done in part, 5 no device\n", f);
    return EXIT_OK;
}

enum { O_TARGET = 256, O_DEVICE, O_EMIT, O_DTYPE, O_OP, O_COLS, O_THREADS, O_CACHE, O_FACTS, O_JSON, O_VERSION, O_PANELS, O_ALIGN,
    O_DIFF, O_TILE, O_TENSOR, O_ISOLATE, O_BY, O_COLOR, O_SECRET, O_SIGNED, O_MANIFEST,
    O_TARGETS, O_SHARD, O_PACK, O_LIST, O_WORKER, O_ITERATIONS, O_WARMUP, O_LAUNCHES, O_WORKSPACES, O_HOT, O_GRAPH, O_ZEROS, O_METRICS, O_BYTES, O_FLOPS, O_TVM_FFI, O_INVARIANT, O_SARIF, O_STRICT, O_ERRORS, O_ORDERS };

static const struct option longs[] = {{"target", 1, NULL, O_TARGET}, {"device", 1, NULL, O_DEVICE}, {"output", 1, NULL, 'o'},
    {"emit", 1, NULL, O_EMIT}, {"dtype", 1, NULL, O_DTYPE}, {"op", 1, NULL, O_OP}, {"cols", 1, NULL, O_COLS},
    {"threads", 1, NULL, O_THREADS}, {"cache-dir", 1, NULL, O_CACHE}, {"facts", 0, NULL, O_FACTS}, {"json", 0, NULL, O_JSON},
    {"panels", 0, NULL, O_PANELS}, {"align", 1, NULL, O_ALIGN}, {"diff", 1, NULL, O_DIFF}, {"tile", 1, NULL, O_TILE}, {"tensor", 1, NULL, O_TENSOR},
    {"isolate", 1, NULL, O_ISOLATE}, {"by", 1, NULL, O_BY}, {"targets", 1, NULL, O_TARGETS}, {"jobs", 1, NULL, 'j'}, {"shard", 1, NULL, O_SHARD}, {"pack", 1, NULL, O_PACK},
    {"list", 0, NULL, O_LIST}, {"worker", 0, NULL, O_WORKER}, {"secret-key", 1, NULL, O_SECRET}, {"signed-by", 1, NULL, O_SIGNED}, {"manifest", 1, NULL, O_MANIFEST}, {"color", 1, NULL, O_COLOR},
    {"iterations", 1, NULL, O_ITERATIONS}, {"warmup", 1, NULL, O_WARMUP}, {"launches", 1, NULL, O_LAUNCHES},
    {"workspaces", 1, NULL, O_WORKSPACES}, {"hot", 0, NULL, O_HOT}, {"graph", 0, NULL, O_GRAPH}, {"zeros", 0, NULL, O_ZEROS}, {"metrics", 0, NULL, O_METRICS},
    {"bytes", 1, NULL, O_BYTES}, {"flops", 1, NULL, O_FLOPS}, {"tvm-ffi", 0, NULL, O_TVM_FFI}, {"batch-invariant", 0, NULL, O_INVARIANT}, {"sarif", 1, NULL, O_SARIF}, {"strict", 0, NULL, O_STRICT}, {"errors", 0, NULL, O_ERRORS}, {"orders", 1, NULL, O_ORDERS}, {"version", 0, NULL, O_VERSION}, {"help", 0, NULL, 'h'}, {0}};

/* ---- the tables, for others ------------------------------------------------------------------------ */
const char *command_known(size_t i, const char **args, const char **what)
{
    if (i >= sizeof commands / sizeof *commands)
        return NULL;
    *args = commands[i].args;
    if (what)
        *what = commands[i].what;
    return commands[i].name;
}

/* The word behind an option in its row is what it takes. */
static const char *value_word(const char *at, char to[24])
{
    const char *word = at + strcspn(at, " ,");
    if (*word != ' ' || word[1] == ' ')
        return "VALUE";
    snprintf(to, 24, "%.*s", (int)strcspn(word + 1, " "), word + 1);
    return to;
}

bool option_at(size_t i, int of, option_known *to)
{
    for (size_t k = 0; longs[k].name; k++) {
        if (longs[k].val == O_WORKER || i--)
            continue;
        *to = (option_known){.name = longs[k].name, .what = "", .of = commands_of(longs[k].name)};
        for (size_t row = 0; row < sizeof option_help / sizeof *option_help; row++) {
            const char *at = option_in(option_help[row].text, to->name), *what = at ? strstr(at, "  ") : NULL;
            if (at && !*to->what && option_help[row].of & of)
                to->what = what ? what + strspn(what, " ") : to->name;
            if (at && longs[k].has_arg)
                to->value = value_word(at, to->word);
        }
        return true;
    }
    return false;
}

static int no_option(const char *word)
{
    bool is_long = !strncmp(word, "--", 2);
    sett__guess g = is_long ? sett__guess_of(word + 2, strcspn(word + 2, "=")) : sett__guess_of("", 0);
    for (const struct option *l = longs; l->name; l++)
        sett__guess_add(&g, l->val == O_WORKER ? NULL : l->name);
    if (g.best)
        return usage("%s is no option; did you mean --%s?", word, g.best);
    return usage("%s is no option", word);
}

/* Sets the option's bit, its place among longs. */
static void note(uint64_t *given, int val)
{
    for (size_t i = 0; longs[i].name; i++)
        if (longs[i].val == val)
            *given |= (uint64_t)1 << i;
}

/* What another command takes would change nothing here, which who wrote it does not expect. */
static int foreign_option(size_t command, uint64_t given)
{
    for (size_t i = 0; longs[i].name; i++) {
        if (!(given & (uint64_t)1 << i) || longs[i].val == O_WORKER || commands_of(longs[i].name) & 1 << command)
            continue;
        sett__guess g = sett__guess_of(longs[i].name, strlen(longs[i].name));
        for (const struct option *l = longs; l->name; l++)
            sett__guess_add(&g, commands_of(l->name) & 1 << command ? l->name : NULL);
        return usage("--%s is no option of %s%s%s%s", longs[i].name, commands[command].name, g.best ? "; did you mean --" : "",
            g.best ? g.best : "", g.best ? "?" : "");
    }
    return EXIT_OK;
}

static int parse(options *o, int argc, char **argv, uint64_t *given)
{
    _Static_assert(sizeof longs / sizeof *longs <= 64, "a bit each");
    const char **text[] = {[O_TARGET - 256] = &o->target, [O_DEVICE - 256] = &o->device, [O_EMIT - 256] = &o->emit,
        [O_DTYPE - 256] = &o->dtype, [O_OP - 256] = &o->kernel_op, [O_CACHE - 256] = &o->cache_dir,
        [O_DIFF - 256] = &o->diff, [O_TILE - 256] = &o->tile, [O_TENSOR - 256] = &o->tensor, [O_ISOLATE - 256] = &o->isolate,
        [O_BY - 256] = &o->by, [O_COLOR - 256] = &o->color, [O_SECRET - 256] = &o->secret_key,
        [O_SIGNED - 256] = &o->signed_by, [O_MANIFEST - 256] = &o->manifest, [O_TARGETS - 256] = &o->targets, [O_SHARD - 256] = &o->shard, [O_PACK - 256] = &o->pack, [O_SARIF - 256] = &o->sarif};
    bool *flag[] = {[O_JSON - 256] = &o->json, [O_FACTS - 256] = &o->facts, [O_PANELS - 256] = &o->panels, [O_HOT - 256] = &o->hot,
        [O_GRAPH - 256] = &o->graph, [O_ZEROS - 256] = &o->zeros, [O_LIST - 256] = &o->list, [O_WORKER - 256] = &o->worker, [O_METRICS - 256] = &o->metrics, [O_TVM_FFI - 256] = &o->tvm_ffi,
        [O_INVARIANT - 256] = &o->batch_invariant, [O_STRICT - 256] = &o->strict, [O_ERRORS - 256] = &o->errors};
    const struct count {
        const char *name;
        int most, *to;
    } counts[] = {[O_ALIGN - 256] = {"--align", 65536, &o->align}, [O_COLS - 256] = {"--cols", INT_MAX, &o->cols},
        [O_THREADS - 256] = {"--threads", 1024, &o->threads}, [O_ITERATIONS - 256] = {"--iterations", 100000, &o->iterations},
        [O_WARMUP - 256] = {"--warmup", 100000, &o->warmup}, [O_LAUNCHES - 256] = {"--launches", 100000, &o->launches},
        [O_WORKSPACES - 256] = {"--workspaces", 1024, &o->workspaces}, [O_ORDERS - 256] = {"--orders", 100000, &o->orders}};
    int c, code = EXIT_OK;
    opterr = 0;
    while (!code && (c = getopt_long(argc, argv, ":o:hj:", longs, NULL)) != -1) {
        size_t i = (size_t)c - 256;
        note(given, c);
        if (c == 'o')
            o->output = optarg;
        else if (c == 'h')
            o->help = true;
        else if (c == O_VERSION)
            o->version = true;
        else if (c == 'j')
            code = count_parse("--jobs", optarg, 1, 1024, &o->jobs);
        else if (c == '?' && optopt > 0 && optopt <= UCHAR_MAX && !strchr("ohj", optopt)) /* a letter: optind may still be at its word */
            return usage("-%c is no option; an operand that begins with - comes after --", optopt);
        else if (c == '?' || c == ':')
            return c == ':' ? usage("%s needs a value", argv[optind - 1]) : no_option(argv[optind - 1]);
        else if (c == O_BYTES || c == O_FLOPS)
            code = amount_parse(c == O_BYTES ? "--bytes" : "--flops", optarg, c == O_BYTES ? &o->bytes : &o->flops);
        else if (i < sizeof flag / sizeof *flag && flag[i])
            *flag[i] = true;
        else if (c == O_ORDERS && !strcmp(optarg, "all"))
            o->orders = ORDERS_ALL;
        else if (i < sizeof counts / sizeof *counts && counts[i].name)
            code = count_parse(counts[i].name, optarg, 1, counts[i].most, counts[i].to);
        else
            *text[i] = optarg;
        if (!code && (c == 'o' || c == O_PACK || c == O_SECRET || c == O_SIGNED) && !*optarg)
            return fail("%s: the path is empty", c == 'o' ? "-o" : c == O_PACK ? "--pack" : c == O_SECRET ? "--secret-key" : "--signed-by");
    }
    o->argc = argc - optind;
    o->argv = argv + optind;
    o->program = optind > 1 && !strcmp(argv[optind - 1], "--");
    return code;
}

static int command(int argc, char **argv)
{
    options o = {0};
    uint64_t given = 0;
    int code = parse(&o, argc, argv, &given);
    if (code)
        return code;
    if (o.version) {
        printf("sett %s\n", sett_version());
        return EXIT_OK;
    }
    bool ask = o.help || (o.argc && !strcmp(o.argv[0], "help"));
    if (o.argc && ask && !strcmp(o.argv[0], "help"))
        o.argc--, o.argv++;
    if (!o.argc)
        return ask ? help(stdout, (1 << sizeof commands / sizeof *commands) - 1) : usage("no command given");
    const char *name = o.argv[0];
    o.argc--, o.argv++;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (!strcmp(name, commands[i].name))
            return ask                                    ? help(stdout, 1 << i)
                   : (code = foreign_option(i, given)) ? code
                                                          : commands[i].run(&o);
    sett__guess g = sett__guess_of(name, strlen(name));
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        sett__guess_add(&g, commands[i].name);
    return usage("%s is no command%s", name, sett__guess_text(&g));
}

int main(int argc, char **argv)
{
    output_begin();
    return output_end(command(argc, argv));
}
