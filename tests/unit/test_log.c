/* SPDX-License-Identifier: Apache-2.0 */
/* The log: levels, components, standard error by the environment, many lines of one kind, and that what goes wrong says so. */
#include "tests/rig/rig.h"
#include "tests/rig/suite.h"
#include <sett/memory.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINES = 64 };
typedef struct lines {
    int n;
    struct {
        sett_log_level level;
        char component[16], text[1100];
    } line[LINES];
} lines;

static void keep(void *user, sett_log_level level, const char *component, const char *message)
{
    lines *l = user;
    ck_assert_int_lt(l->n, LINES);
    l->line[l->n].level = level;
    snprintf(l->line[l->n].component, sizeof l->line[0].component, "%s", component);
    snprintf(l->line[l->n++].text, sizeof l->line[0].text, "%s", message);
}

/* One line of this level and component has the text. */
static void told(const lines *l, sett_log_level level, const char *component, const char *text)
{
    int n = 0;
    for (int i = 0; i < l->n; i++)
        n += l->line[i].level == level && !strcmp(l->line[i].component, component) && strstr(l->line[i].text, text);
    bool ok = n == 1 || (n && level == SETT_LOG_DEBUG);
    for (int i = 0; i < l->n && !ok; i++)
        fprintf(stderr, "%d %s: %s\n", (int)l->line[i].level, l->line[i].component, l->line[i].text);
    ck_assert_msg(ok, "%d lines of %d, %s: %s", n, (int)level, component, text);
}

static sett_engine_options logging(lines *l)
{
    sett_engine_options o = options();
    o.log = keep;
    o.user = l;
    l->n = 0;
    return o;
}

/* ---- levels ----------------------------------------------------------------------------- */
START_TEST(levels)
{
    static lines l;
    static const int want[] = {4, 1, 2, 3, 4};
    for (int level = 0; level <= SETT_LOG_DEBUG; level++) {
        sett_engine_options o = logging(&l);
        o.log_level = (sett_log_level)level;
        o.cache_dir = "";
        sett_engine *e = open_with(&o);
        l.n = 0;
        for (sett_log_level at = SETT_LOG_ERROR; at <= SETT_LOG_DEBUG; at++)
            sett__log(e, at, "cache", "level %d", (int)at);
        ck_assert_int_eq(l.n, want[level]);
        for (int i = 0; i < l.n; i++)
            ck_assert_int_eq(l.line[i].level, i + 1);
        sett_engine_close(e);
    }
    sett_engine_options o = logging(&l);
    sett_engine *e;
    sett_error err = {0};
    o.log_level = (sett_log_level)5;
    ck_assert_int_eq(sett_engine_open(&e, &o, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "log_level 5 is none");
}
END_TEST

/* ---- standard error ------------------------------------------------------------------------- */
/* What an engine that takes no log, or one that does, writes to standard error under this $SETT_LOG. */
static void to_stderr(const char *env, bool taken, char *out, size_t size)
{
    static lines l;
    int saved = dup(STDERR_FILENO);
    FILE *f = fopen(in_root("stderr"), "w+");
    ck_assert_ptr_nonnull(f);
    if (env)
        setenv("SETT_LOG", env, 1);
    else
        unsetenv("SETT_LOG");
    dup2(fileno(f), STDERR_FILENO);
    sett_engine_options o = taken ? logging(&l) : options();
    sett_engine *e = open_with(&o);
    sett__log(e, SETT_LOG_ERROR, "memory", "one %d", 1);
    sett__log(e, SETT_LOG_INFO, "cuda", "two");
    sett_engine_close(e);
    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(f);
    out[fread(out, 1, size - 1, f)] = 0;
    fclose(f);
    unsetenv("SETT_LOG");
}

START_TEST(environment)
{
    static const struct {
        const char *env, *want;
        bool taken;
    } t[] = {{NULL, "", false}, {"", "", false}, {"debug", "", true},
        {"error", "sett: error: memory: one 1\n", false}, {"warning", "sett: error: memory: one 1\n", false},
        {"info", "sett: error: memory: one 1\nsett: info: cuda: two\n", false}, {"loud", "", true}};
    char out[1000];
    for (size_t i = 0; i < SETT__COUNT(t); i++) {
        to_stderr(t[i].env, t[i].taken, out, sizeof out);
        const char *first = strstr(out, "sett: info: cuda: the engine was opened with .no_gpu\n");
        ck_assert_msg(!strcmp(first ? first + strlen("sett: info: cuda: the engine was opened with .no_gpu\n") : out, t[i].want),
            "%s: %s", t[i].env, out);
    }
}
END_TEST

/* Of each variable that is a number, or on or off: what it may say, and what is told of the rest. */
START_TEST(bogus_environment)
{
    static const struct {
        const char *name;
        bool flag;
    } v[] = {{"SETT_CACHE_REQUIRED", true}, {"SETT_CACHE_VERIFY", true}, {"SETT_ASSERTS", true}, {"SETT_CPU_TIMEOUT_MS", false},
        {"SETT_JIT_TIMEOUT_MS", false}};
    static const struct {
        const char *text;
        int flag, number; /* -1: bogus, -2: as if it were not set */
    } t[] = {{"1", 1, 1}, {"yes", 1, -1}, {"true", 1, -1}, {"ON", 1, -1}, {"0", 0, -2}, {"no", 0, -1}, {"False", 0, -1}, {"off", 0, -1},
        {"", -2, -2}, {"2", -1, 2}, {"maybe", -1, -1}, {" 1", -1, -1}, {"-3", -1, -1}, {"+3", -1, -1}, {"3x", -1, -1},
        {"2147483647", -1, 2147483647}, {"2147483648", -1, -1}, {"99999999999999999999999", -1, -1}};
    char want[200];
    sett_engine *e;
    sett_error err;
    for (size_t i = 0; i < SETT__COUNT(v) * SETT__COUNT(t); i++) {
        const size_t which = i / SETT__COUNT(t), k = i % SETT__COUNT(t);
        const int is = v[which].flag ? t[k].flag : t[k].number;
        const sett_engine_options o = options();
        setenv(v[which].name, t[k].text, 1);
        sett_status s = sett_engine_open(&e, &o, &err);
        unsetenv(v[which].name);
        snprintf(want, sizeof want, v[which].flag ? "%s is \"%s\" in the environment: it is 1, 0, true, false, yes, no, on or off"
                                                  : "%s is \"%s\" in the environment: it is a number from 0 to 2147483647", v[which].name, t[k].text);
        ck_assert_msg(s == (is == -1 ? SETT_E_ARGUMENT : SETT_OK), "%s: status %d", want, (int)s);
        if (s) {
            ck_assert_ptr_null(e);
            ck_assert_str_eq(err.text, want);
            continue;
        }
        const int got[] = {e->opt.cache_required, e->opt.cache_verify,
            e->asserts == SETT_ASSERTS_ON ? 1 : e->asserts == SETT_ASSERTS_OFF ? 0 : -2, e->opt.cpu_timeout_ms};
        if (which < SETT__COUNT(got))
            ck_assert_msg(got[which] == (is >= 0 ? is : which == 2 ? -2 : 0), "%s is %d", want, got[which]);
        sett_engine_close(e);
    }
}
END_TEST

/* Of each variable that is one of some words: what is told of a value that is none, and that the program's own option goes before it. */
START_TEST(misspelt_environment)
{
    static const struct {
        const char *name, *text, *legal;
        sett_engine_options own;
    } t[] = {{"SETT_LOG", "loud", "error, warning, info or debug", {.log = keep}},
        {"SETT_CPU_ASYNC", "nope", "eager, lazy, systematic or random:SEED", {.cpu_async = "eager"}},
        {"SETT_CPU_ASYNC", "random", "eager, lazy, systematic or random:SEED", {.cpu_async = "eager"}},
        {"SETT_CPU_SM", "81", "75, 80, 86, 89, 90, 100 or 120", {.cpu_sm = 80}},
        {"SETT_CPU_SM", "sm_90", "75, 80, 86, 89, 90, 100 or 120", {.cpu_sm = 80}},
        {"SETT_CPU_TIMEOUT_MS", "2s", "a number from 0 to 2147483647", {.cpu_timeout_ms = 1000}},
        {"SETT_JIT_TIMEOUT_MS", "2s", "a number from 0 to 2147483647", {.compile_timeout_ms = 1000}},
        {"SETT_CPU_PLAIN", "plain", "1, 0, true, false, yes, no, on or off", {0}},
        {"SETT_CPU_FAST_MMA", "2", "1, 0, true, false, yes, no, on or off", {0}},
        {"SETT_VERIFY_USER", "ture", "1, 0, true, false, yes, no, on or off", {0}},
        {"SETT_DEVICE", "cuda", "cpu, gpu or the number of a GPU, and they count from 0", {0}},
        {"SETT_DUMP", "ptx,sass:/tmp", "tape, llvm, ptx, cubin or all, with commas between, and :FOLDER behind them", {0}}};
    static lines l;
    char want[200];
    sett_engine *e;
    sett_error err;
    for (size_t i = 0; i < SETT__COUNT(t); i++) {
        sett_engine_options o = t[i].own;
        o.size = sizeof o, o.cache_dir = "", o.no_gpu = true, o.user = &l;
        setenv(t[i].name, t[i].text, 1);
        sett_status own = sett_engine_open(&e, &o, &err);
        sett_engine_close(e);
        const sett_engine_options none = {.size = sizeof none, .cache_dir = "", .no_gpu = true};
        sett_status s = sett_engine_open(&e, &none, &err);
        unsetenv(t[i].name);
        snprintf(want, sizeof want, "%s is \"%s\" in the environment: it is %s", t[i].name, t[i].text, t[i].legal);
        ck_assert_msg(s == SETT_E_ARGUMENT && !e, "%s: status %d", want, (int)s);
        ck_assert_str_eq(err.text, want);
        const sett_engine_options nothing = {0};
        ck_assert_msg(own == (memcmp(&t[i].own, &nothing, sizeof nothing) ? SETT_OK : SETT_E_ARGUMENT), "%s: the option: status %d", want, (int)own);
    }
}
END_TEST

/* ---- many of one kind -------------------------------------------------------------------------- */
START_TEST(storms)
{
    static lines l;
    sett_engine_options o = logging(&l);
    o.cache_dir = "";
    sett_engine *e = open_with(&o);
    l.n = 0;
    for (int i = 0; i < 1000; i++)
        sett__log(e, SETT_LOG_WARNING, "cache", "kind one, %d", i);
    for (int i = 0; i < 3; i++)
        sett__log(e, SETT_LOG_ERROR, "cache", "kind two, %d", i);
    for (int i = 0; i < 20; i++)
        sett__log(e, SETT_LOG_INFO, "cache", "kind three, %d", i); /* whoever asks for these gets them all */
    ck_assert_int_eq(l.n, SETT__LOG_BURST + 3 + 20);
    ck_assert_str_eq(l.line[9].text, "kind one, 9");
    ck_assert_str_eq(l.line[10].text, "kind two, 0");
    ck_assert_uint_eq(stats(e).log_drops, 1000 - SETT__LOG_BURST);
    for (int i = 0; i < SETT__LOG_KINDS; i++) /* a minute later */
        e->runtime->log.kind[i].since -= SETT__LOG_MS;
    sett__log(e, SETT_LOG_ERROR, "cache", "kind two, %d", 3);
    ck_assert_str_eq(l.line[l.n - 1].text, "kind two, 3");
    sett__log(e, SETT_LOG_WARNING, "cache", "kind one, %d", 1000);
    ck_assert_str_eq(l.line[l.n - 1].text, "kind one, 1000 (990 more like it)");
    sett__log(e, SETT_LOG_WARNING, "cache", "kind one, %d", 1001);
    ck_assert_str_eq(l.line[l.n - 1].text, "kind one, 1001");
    sett_engine_close(e);
}
END_TEST

/* More kinds than there is room for, and a text longer than a line may be. */
START_TEST(many_kinds)
{
    static lines l;
    static char formats[3 * SETT__LOG_KINDS][16], longer[3000];
    sett_engine_options o = logging(&l);
    o.cache_dir = "";
    sett_engine *e = open_with(&o);
    l.n = 0;
    for (size_t i = 0; i < SETT__COUNT(formats); i++) {
        snprintf(formats[i], sizeof formats[i], "kind %zu", i);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-security"
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        sett__log(e, SETT_LOG_WARNING, "cache", formats[i]);
#pragma GCC diagnostic pop
    }
    ck_assert_int_eq(l.n, SETT__COUNT(formats));
    memset(longer, 'x', sizeof longer - 1);
    for (int i = 0; i < SETT__LOG_BURST + 2; i++)
        sett__log(e, SETT_LOG_WARNING, "cache", "%s", longer);
    ck_assert_uint_eq(strlen(l.line[l.n - 1].text), 1023);
    for (int i = 0; i < SETT__LOG_KINDS; i++)
        e->runtime->log.kind[i].since -= SETT__LOG_MS;
    sett__log(e, SETT_LOG_WARNING, "cache", "%s", longer);
    ck_assert_str_eq(strchr(l.line[l.n - 1].text, ' '), " (2 more like it)");
    ck_assert_uint_eq(stats(e).log_drops, 2);
    sett_engine_close(e);
}
END_TEST

/* ---- what says so --------------------------------------------------------------------------------- */
/* A program that has no folder to keep kernels in is told so, once, whatever it compiles; not one that asked for none, that takes
 * its kernels from signed packs alone, or that compiles none. */
START_TEST(homeless)
{
    static lines l;
    const char *home = getenv("HOME");
    char *kept = home ? strdup(home) : NULL;
    unsetenv("SETT_CACHE_DIR"), unsetenv("XDG_CACHE_HOME"), unsetenv("HOME");
    sett_engine_options o = logging(&l);
    o.cache_dir = NULL;
    sett_engine *e = open_with(&o);
    sett_kernel_release(compile(e, &(sett_compile_options){.size = sizeof(sett_compile_options), .target = "cpu"}));
    sett_engine_close(e);
    told(&l, SETT_LOG_WARNING, "cache",
        "compiled kernels are kept in memory only: none of SETT_CACHE_DIR, XDG_CACHE_HOME and HOME names an absolute path");
    for (int i = 0; i < 4; i++) {
        o = logging(&l);
        o.sealed = i == 3;
        o.cache_dir = i == 0 ? "" : NULL;
        o.cache_trust = i == 1 ? SETT_TRUST_SIGNED : SETT_TRUST_PRIVATE;
        o.cache_signers = i == 1 ? "cecc1507dc1ddd7295951c290888f095adb9044d1b73d696e6df065d683bd4fc" : NULL;
        if (i == 2)
            setenv("SETT_CACHE_DIR", "", 1);
        else
            unsetenv("SETT_CACHE_DIR");
        e = open_with(&o);
        sett_engine_close(e);
        for (int n = 0; n < l.n; n++)
            ck_assert_msg(l.line[n].level > SETT_LOG_WARNING, "%d: %s", i, l.line[n].text);
    }
    unsetenv("SETT_CACHE_DIR");
    if (kept)
        setenv("HOME", kept, 1);
    free(kept);
}
END_TEST

START_TEST(sealed_and_refused)
{
    static lines l;
    char path[300], hex[65];
    uint8_t key[32];
    sett_kernel *k;
    if (!have_compiler())
        return;
    sett_engine_options o = logging(&l);
    sett_engine *e = open_with(&o);
    sett_kernel_release(compile(e, &sm90));
    told(&l, SETT_LOG_INFO, "compiler", "opened ");
    told(&l, SETT_LOG_DEBUG, "cache", in_root("cache: it is not in the folder"));
    ck_assert_int_eq(sett_key(e, scale, &sm90, key, NULL), SETT_OK);
    sett_engine_close(e);
    for (int i = 0; i < 32; i++)
        snprintf(hex + 2 * i, 3, "%02x", key[i]);
    snprintf(path, sizeof path, "%s/v1/%.2s/%s.sett", in_root("cache"), hex, hex + 2);
    ck_assert_int_eq(truncate(path, 700), 0);
    o = logging(&l);
    o.sealed = true;
    o.cache_layers = in_root("nowhere");
    e = open_with(&o);
    told(&l, SETT_LOG_WARNING, "cache", "nowhere is not used: ");
    ck_assert_int_eq(sett_compile(e, scale, &sm90, &k, NULL), SETT_E_NOT_CACHED);
    int refused = 0;
    snprintf(path, sizeof path, "%s: its entry was refused: ", in_root("cache"));
    for (int i = 0; i < l.n; i++)
        refused += !strncmp(l.line[i].text, path, strlen(path));
    ck_assert_int_eq(refused, 1);
    snprintf(path, sizeof path, "scale for sm_90a, key %s, is missed, and the engine is sealed", hex);
    told(&l, SETT_LOG_WARNING, "cache", path);
    ck_assert_int_eq(sett_kernel_get(e, key, &k, NULL), SETT_E_NOT_CACHED);
    snprintf(path, sizeof path, "a kernel of key %s is missed, and the engine is sealed", hex);
    told(&l, SETT_LOG_WARNING, "cache", path);
    sett_engine_close(e);
}
END_TEST

START_TEST(late_and_unwritten)
{
    static lines l, other;
    sett__digest key;
    sett__ticket t = {0};
    if (!have_compiler())
        return;
    sett_engine_options o = logging(&other), slow = logging(&l);
    sett_engine *holder = open_with(&o);
    slow.compile_wait_ms = 20;
    slow.cache_cap = 100;
    sett_engine *e = open_with(&slow);
    ck_assert_int_eq(sett_key(e, scale, &sm90, key.b, NULL), SETT_OK);
    ck_assert_int_eq(sett__disk_lock(sett__cache_folder(holder->cache), &key, 0, false, &t), SETT__TURN_AT_ONCE);
    sett_kernel_release(compile(e, &sm90));
    sett__disk_unlock(&t);
    sett__workers_flush(e->workers);
    told(&l, SETT_LOG_WARNING, "cache", "scale for sm_90a is compiled although another process has been at it for 20 ms");
    told(&l, SETT_LOG_WARNING, "cache", "an entry was not written: an entry of ");
    sett_engine_close(e);
    sett_engine_close(holder);
}
END_TEST

START_TEST(compilers)
{
    static lines l;
    sett_kernel *k;
    sett_engine_options o = logging(&l);
    o.plugin = "/nowhere/libsett-ptx.so";
    sett_engine *e = open_with(&o);
    for (int i = 0; i < 3; i++) /* told once */
        ck_assert_int_eq(sett_compile(e, scale, &sm90, &k, NULL), SETT_E_NO_COMPILER);
    told(&l, SETT_LOG_WARNING, "compiler", "the compiler plug-in cannot be opened: /nowhere/libsett-ptx.so");
    sett_engine_close(e);
    if (!have_compiler())
        return;
    o = logging(&l);
    e = open_with(&o);
    e->provoke = "fatal";
    ck_assert_int_eq(sett_compile(e, scale, &sm90, &k, NULL), SETT_E_COMPILE);
    told(&l, SETT_LOG_ERROR, "compiler", "scale: the compiler failed: ");
    sett_engine_close(e);
}
END_TEST

START_TEST(serialised)
{
    static const char script[] = "#!/bin/sh\n"
        "if [ \"$1\" = --version ]; then echo 'release 13.0, V13.0.99'; exit 0; fi\n"
        "echo 'ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized'\n"
        "while [ $# -gt 0 ]; do [ \"$1\" = -o ] && /bin/cat %s >\"$2\"; shift; done\n";
    static lines l;
    char text[1000];
    if (!have_compiler())
        return;
    int n = snprintf(text, sizeof text, "%.*s%s%s", (int)(strstr(script, "%s") - script), script, in_root("cubin"), strstr(script, "%s") + 2);
    write_file(in_root("ptxas"), text, (size_t)n, 0700);
    sett_engine_options o = logging(&l);
    sett_engine *e = open_with(&o);
    sett_kernel_release(compile(e, &sm90));
    told(&l, SETT_LOG_WARNING, "assembler", "scale: ptxas 13.0.99 serialised the wgmma pipeline");
    sett_engine_close(e);
}
END_TEST

/* What the first assembler refuses and the next one takes is a kernel, and a warning; a fault is told once. */
START_TEST(driver)
{
    static lines l;
    int *result = have_compiler() ? fake_driver() : NULL;
    if (!result)
        return;
    write_file(in_root("ptxas"), "#!/bin/sh\n[ \"$1\" = --version ] && echo 'release 13.0, V13.0.99' || exit 1\n", 68, 0700);
    sett_engine_options o = logging(&l);
    o.no_gpu = false;
    o.assembler = SETT_ASM_AUTO;
    o.nvjitlink = "/nowhere/libnvJitLink.so";
    sett_engine *e = open_with(&o);
    sett_kernel *k = compile(e, &sm90);
    told(&l, SETT_LOG_WARNING, "assembler", "scale: assembled by driver-jit 13000, as another refused it: ptxas");
    *result = 700;
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(sett_sync(e, ((sett_stream){0, NULL})), SETT_E_FAULT);
    told(&l, SETT_LOG_ERROR, "cuda", "cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS (700): ");
    sett_kernel_release(k);
    sett_engine_close(e);
    *result = 0;
}
END_TEST

SUITE_IN_ROOT(log, levels, environment, bogus_environment, misspelt_environment, storms, many_kinds, homeless, sealed_and_refused, late_and_unwritten, compilers,
    serialised, driver)
