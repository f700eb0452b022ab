/* SPDX-License-Identifier: Apache-2.0 */
/* The engine: opening and closing, devices, what runs on the CPU. What it compiles with is in compile/threads.c,
 * what it has compiled in kernel/map.c, what its kernels keep in kernel/runtime.c. */
#include "inside.h"
#include "plug/compiler.h"
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- opening ------------------------------------------------------------------------ */
enum { STRINGS = 9 };
static void strings_of(sett_engine_options *o, const char **to[STRINGS])
{
    const char **const strings[STRINGS] = {&o->cache_dir, &o->plugin, &o->ptxas, &o->nvjitlink, &o->cache_layers, &o->cache_secret,
        &o->cache_signers, &o->cache_remote, &o->cpu_async};
    memcpy(to, strings, sizeof strings);
}

/* The caller's die with the call. */
static bool own_strings(sett_engine_options *o)
{
    const char **string[STRINGS];
    bool ok = true;
    strings_of(o, string);
    for (size_t i = 0; i < STRINGS; i++)
        if (*string[i]) {
            *string[i] = strdup(*string[i]);
            ok &= *string[i] != NULL;
        }
    return ok;
}

static void free_strings(sett_engine_options *o)
{
    const char **string[STRINGS];
    strings_of(o, string);
    for (size_t i = 0; i < STRINGS; i++)
        free((void *)(uintptr_t)*string[i]);
}

static int cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set))
        return 1;
    return CPU_COUNT(&set) > 0 ? CPU_COUNT(&set) : 1;
}

static void open_cuda(sett__runtime *r, bool no_gpu)
{
    sett_error why = {0};
    if (no_gpu)
        snprintf(r->no_cuda, sizeof r->no_cuda, "the engine was opened with .no_gpu");
    else if (sett__cuda_open(&r->cuda, r->gate, &r->log, &why)) {
        r->cuda = NULL;
        snprintf(r->no_cuda, sizeof r->no_cuda, "%.250s", why.text);
        sett__say(&r->log, SETT_LOG_INFO, "cuda", "%s", why.text);
    }
}

static bool device_parse(const char *text, int *to)
{
    char *end;
    if (!strcmp(text, "cpu") || !strcmp(text, "gpu")) {
        *to = *text == 'c' ? SETT_CPU : 0;
        return true;
    }
    long n = strtol(text, &end, 10); /* LONG_MAX, if it is more */
    *to = (int)n;
    return *text >= '0' && *text <= '9' && !*end && n <= INT_MAX;
}

/* $SETT_DEVICE. A value that cannot be followed is an error and no warning, since the work would run elsewhere than was asked. The
 * caller's .no_gpu goes before it. */
static sett_status choose_device(sett__runtime *r, bool no_gpu, sett_error *err)
{
    const bool checks = r->finding.checks > SETT_CHECKS_OFF;
    sett_error why;
    const char *text = sett__environment_text("SETT_DEVICE");
    int device = sett__gpu_count(r) && !checks ? 0 : SETT_CPU;
    if (text && !device_parse(text, &device))
        return sett__environment_bad(err, "SETT_DEVICE", text, "cpu, gpu or the number of a GPU, and they count from 0");
    r->default_device = no_gpu ? SETT_CPU : device;
    r->device_why = !text ? "" : no_gpu ? ", and not what SETT_DEVICE says: the engine was opened with .no_gpu" : ", as SETT_DEVICE says";
    if (no_gpu || sett__device(r, &device, &why))
        return SETT_OK;
    return sett__error(err, SETT_E_NO_DEVICE, "SETT_DEVICE is %s in the environment: %s", text, why.text);
}

#define NO_HOME "none of SETT_CACHE_DIR, XDG_CACHE_HOME and HOME names an absolute path"

/* Which folder is written, or why there is none. root holds its path. */
static void choose_folder(const sett_engine_options *opt, char root[4096], sett__cache_options *o)
{
    const char *asked = opt->cache_dir ? opt->cache_dir : secure_getenv("SETT_CACHE_DIR");
    if (!opt->cache_dir && opt->cache_trust == SETT_TRUST_SIGNED) {
        o->folder_why = "no pack is named, and only signed packs are used";
        return;
    }
    o->folder_named = asked != NULL;
    if (sett__cache_root(opt->cache_dir, root, 4096))
        o->folder = root;
    else if (!asked)
        o->folder_why = NO_HOME;
    else if (!*asked)
        o->folder_why = opt->cache_dir ? "cache_dir is \"\", and no layer is named" : "SETT_CACHE_DIR is \"\", and no layer is named";
    else
        o->folder = asked, o->folder_why = opt->cache_dir ? "it is not an absolute path without \"..\""
                                                          : "SETT_CACHE_DIR is not an absolute path without \"..\"";
}

/* No state of the disk is an error of the engine unless .cache_required says so: at worst it goes on in memory and says so once. A lack of memory
 * is none of the disk's, and must not cost the cache for the life of the engine. */
static sett_status open_cache(sett_engine *e, sett_error *err)
{
    char root[4096];
    sett__cache_options o = {.layers = sett__cache_layer_paths(e->opt.cache_layers),
        .remote = sett__cache_remote_text(e->opt.cache_remote),
        .remote_asked = e->opt.cache_remote != NULL,
        .required = e->opt.cache_required,
        .sealed = e->opt.sealed,
        .trust = e->opt.cache_trust,
        .secret = e->opt.cache_secret,
        .signers = e->opt.cache_signers,
        .cap = e->opt.cache_cap,
        .log = &e->runtime->log};
    choose_folder(&e->opt, root, &o);
    if (!o.folder && !o.folder_named && !e->opt.sealed && e->opt.cache_trust != SETT_TRUST_SIGNED)
        sett__log(e, SETT_LOG_WARNING, "cache", "compiled kernels are kept in memory only: " NO_HOME);
    return sett__cache_open(&e->cache, &o, err);
}

static sett_status check_options(const sett_engine_options *o, sett_error *err)
{
    if (o->cache_dir && *o->cache_dir && *o->cache_dir != '/')
        return sett__error(err, SETT_E_ARGUMENT, "cache_dir is not an absolute path: %s", o->cache_dir);
    if (o->cpu_threads < 0)
        return sett__error(err, SETT_E_ARGUMENT, "cpu_threads %d is out of range", o->cpu_threads);
    if (o->compile_timeout_ms < 0 || o->compile_wait_ms < 0)
        return sett__error(err, SETT_E_ARGUMENT, "compile_%s_ms %d is negative", o->compile_timeout_ms < 0 ? "timeout" : "wait",
            o->compile_timeout_ms < 0 ? o->compile_timeout_ms : o->compile_wait_ms);
    if (o->cpu_timeout_ms < 0)
        return sett__error(err, SETT_E_ARGUMENT, "cpu_timeout_ms %d is negative", o->cpu_timeout_ms);
    sett__async async;
    if (o->cpu_async && !sett__async_parse(&async, o->cpu_async))
        return sett__error(err, SETT_E_ARGUMENT, "cpu_async is %.60s: it is eager, lazy, systematic or random:SEED", o->cpu_async);
    if ((unsigned)o->checks > SETT_CHECKS_STRICT)
        return sett__error(err, SETT_E_ARGUMENT, "checks %d is none", (int)o->checks);
    if (o->cpu_sm && !sett__sim_models(o->cpu_sm))
        return sett__error(err, SETT_E_ARGUMENT, "cpu_sm %d is none of 75, 80, 86, 89, 90, 100, 120", o->cpu_sm);
    if ((unsigned)o->cache_trust > SETT_TRUST_SIGNED)
        return sett__error(err, SETT_E_ARGUMENT, "cache_trust %d is none", (int)o->cache_trust);
    if ((unsigned)o->log_level > SETT_LOG_DEBUG)
        return sett__error(err, SETT_E_ARGUMENT, "log_level %d is none", (int)o->log_level);
    if ((unsigned)o->toolchain > SETT_TOOLCHAIN_EXACT)
        return sett__error(err, SETT_E_ARGUMENT, "toolchain %d is none", (int)o->toolchain);
    if (o->cache_trust == SETT_TRUST_MAC && !o->cache_secret)
        return sett__error(err, SETT_E_ARGUMENT, "cache_trust is SETT_TRUST_MAC and cache_secret is NULL");
    if (o->cache_trust == SETT_TRUST_SIGNED && (!o->cache_signers || !*o->cache_signers))
        return sett__error(err, SETT_E_ARGUMENT, "cache_trust is SETT_TRUST_SIGNED and cache_signers names no public key");
    uint8_t(*keys)[32];
    int n;
    sett_status s = sett__signers_read(o->cache_signers, &keys, &n, err);
    free(keys);
    return s;
}

static sett_status environment_sm(int *to, sett_error *err)
{
    static const char *const machines[] = {"75", "80", "86", "89", "90", "100", "120"};
    int at;
    sett_status s = sett__environment_word("SETT_CPU_SM", machines, SETT__COUNT(machines), &at, err);
    *to = at < 0 ? 0 : atoi(machines[at]);
    return s;
}

static sett_status environment_async(sett__async *to, sett_error *err)
{
    const char *text = sett__environment_text("SETT_CPU_ASYNC");
    return !text || sett__async_parse(to, text) ? SETT_OK
                                                : sett__environment_bad(err, "SETT_CPU_ASYNC", text, "eager, lazy, systematic or random:SEED");
}

static sett_status environment_checks(sett_checks *to, sett_error *err)
{
    static const char *const words[] = {"0", "1", "errors", "strict"};
    static const sett_checks checks[] = {SETT_CHECKS_OFF, SETT_CHECKS_ALL, SETT_CHECKS_ERRORS, SETT_CHECKS_STRICT};
    int at;
    sett_status s = sett__environment_word("SETT_CHECK", words, SETT__COUNT(words), &at, err);
    *to = at < 0 ? SETT_CHECKS_OFF : checks[at];
    return s;
}

/* What the caller's options leave to it. */
static sett_status read_environment(sett_engine *e, sett_error *err)
{
    sett_engine_options *o = &e->opt;
    const struct {
        const char *name;
        bool *to;
    } flags[] = {{"SETT_CACHE_VERIFY", &o->cache_verify}, {"SETT_CACHE_REQUIRED", &o->cache_required}, {"SETT_CPU_PLAIN", &o->cpu_plain},
        {"SETT_CPU_FAST_MMA", &o->cpu_fast_mma}, {"SETT_VERIFY_USER", &o->verify_user}};
    sett_status s = SETT_OK;
    for (size_t i = 0; i < SETT__COUNT(flags) && !s; i++) {
        int on;
        s = sett__environment_flag(flags[i].name, &on, err);
        *flags[i].to |= on > 0;
    }
    if (!s && !o->cpu_sm)
        s = environment_sm(&o->cpu_sm, err);
    if (!s && !o->cpu_timeout_ms)
        s = sett__environment_number("SETT_CPU_TIMEOUT_MS", &o->cpu_timeout_ms, err);
    if (!s && !o->cpu_async)
        s = environment_async(&e->runtime->cpu_async, err);
    if (!s)
        s = sett__environment_asserts(&e->asserts, err);
    if (!s && !o->checks)
        s = environment_checks(&o->checks, err);
    return s ? s : sett__dump_open(e, err);
}

/* What launches are asked with. */
static void tell_runtime(sett__runtime *r, const sett_engine_options *o)
{
    r->cpu_threads = o->cpu_threads;
    r->cpu_timeout_ms = o->cpu_timeout_ms;
    r->cpu_plain = o->cpu_plain;
    if (o->cpu_async)
        sett__async_parse(&r->cpu_async, o->cpu_async);
    r->cpu_sm = o->cpu_sm;
    r->cpu_fast_mma = o->cpu_fast_mma;
    r->print = o->print;
    r->cpu_poll = o->cpu_poll;
    r->user = o->user;
    r->finding = (sett__listener){.checks = o->checks, .fn = o->finding, .user = o->user, .log = &r->log};
    r->blocks.marks = o->checks > SETT_CHECKS_OFF;
    r->module_api = o->module_api;
    r->keep_made = o->cache_verify;
}

static sett_status open_parts(sett_engine *e, sett_error *err)
{
    sett__runtime *r = e->runtime;
    if (!own_strings(&e->opt))
        return sett__error(err, SETT_E_MEMORY, "no memory for an engine");
    sett_status s = check_options(&e->opt, err);
    if (s)
        return s;
    if (!e->opt.cpu_threads)
        e->opt.cpu_threads = cores();
    atomic_store(&e->sealed, e->opt.sealed);
    s = sett__logger_open(&r->log, &e->opt, &r->count.log_drops, err);
    if (!s)
        s = read_environment(e, err);
    if (s)
        return s;
    sett__ranges_open();
    tell_runtime(r, &e->opt);
    open_cuda(r, e->opt.no_gpu);
    s = choose_device(r, e->opt.no_gpu, err);
    if (!s)
        s = sett__findings_open(err);
    if (s)
        return s;
    e->findings = true;
    const sett__asm_config config = {e->opt.assembler, e->opt.ptxas, e->opt.nvjitlink, r->cuda, e->opt.compile_timeout_ms};
    s = sett__asm_open(&e->assembler, &config, err);
    if (!s)
        s = sett__kernels_open(&e->kernels, err);
    if (!s && e->opt.verify_user)
        s = sett__recordings_open(&e->recordings, err);
    if (!s)
        s = sett__workers_open(&e->workers, e, err);
    if (!s)
        s = open_cache(e, err);
    r->cache = e->cache;
    return s;
}

sett_status sett_engine_open(sett_engine **out, const sett_engine_options *options, sett_error *err)
{
    int saved = errno;
    sett_engine_options opt;
    if (!out)
        return sett__error(err, SETT_E_ARGUMENT, "sett_engine_open: the first argument is NULL");
    *out = NULL;
    sett_status s = sett__options(&opt, sizeof opt, options, "sett_engine_options", err);
    if (s)
        return s;
    sett_engine *e = aligned_alloc(alignof(sett_engine), sizeof *e);
    sett__runtime *r = e ? sett__runtime_make() : NULL;
    if (!r) {
        free(e);
        return sett__error(err, SETT_E_MEMORY, "no memory for an engine");
    }
    memset(e, 0, sizeof *e);
    pthread_mutex_init(&e->identity_lock, NULL);
    e->runtime = r;
    e->opt = opt;
    s = open_parts(e, err);
    if (s)
        sett_engine_close(e);
    else
        *out = e;
    errno = saved;
    return s;
}

/* In a forked child the engine's threads do not exist and its locks may be held for ever: nothing is touched, and
 * the memory is left to the child's exit. */
void sett_engine_close(sett_engine *e)
{
    int saved = errno;
    if (!e || !sett__same_process(e->runtime))
        return;
    sett__runtime *r = e->runtime;
    atomic_store(r->gate, SETT__GATE_CLOSED);
    sett__running_close(&r->runnings);
    sett__workers_close(e->workers);
    sett__asm_close(e->assembler);
    pthread_mutex_lock(&r->closing); /* a launch on another thread may be putting an entry out of it */
    r->cache = NULL;
    pthread_mutex_unlock(&r->closing);
    sett__cache_close(e->cache);
    sett__kernels_close(e->kernels);
    sett__recordings_close(e->recordings);
    if (e->findings)
        sett__findings_close(&r->finding);
    atomic_store(&r->log.fn, NULL); /* what the caller gave goes with the engine */
    if (e->idle_build)
        sett_build_end(e->idle_build, NULL);
    free_strings(&e->opt);
    pthread_mutex_destroy(&e->identity_lock);
    free(e);
    sett__runtime_release(r);
    errno = saved;
}

void sett_engine_seal(sett_engine *e, bool sealed)
{
    int saved = errno;
    if (sett__engine_check(e, NULL, NULL))
        return;
    if (sealed)
        atomic_store(&e->sealed, true);
    sett__cache_seal(e->cache, sealed);
    atomic_store(&e->sealed, sealed);
    errno = saved;
}

/* ---- devices ------------------------------------------------------------------------------ */
int sett_default_device(const sett_engine *e)
{
    return e ? e->runtime->default_device : SETT_CPU;
}

int sett_gpu_count(const sett_engine *e)
{
    return e ? sett__gpu_count(e->runtime) : 0;
}

int sett_device_target(const sett_engine *e, int device, char *buf, size_t size)
{
    char target[16];
    return e && sett__device_target(e->runtime, device, target) ? snprintf(buf, buf ? size : 0, "%s", target) : -1;
}

sett_stream sett_stream_of(int device, void *handle)
{
    return (sett_stream){device, handle};
}

/* One line a layer, in the order they are asked. */
static void describe_cache(const sett_engine *e, sett__sink *t)
{
    int n = sett__cache_local(e->cache);
    for (int i = 0; i < n; i++) {
        sett_cache_layer_info l = {.size = sizeof l};
        sett__cache_layer(e->cache, i, &l);
        const char *kind = i + 1 == n && sett__cache_folder(e->cache) ? "cache" : "cache layer";
        if (l.why_not)
            sett__putf(t, "%s: %s is not used: %s\n", kind, l.path, l.why_not);
        else
            sett__putf(t, "%s: %s%s\n", kind, l.path, l.writable ? "" : " (read only)");
    }
    if (!n)
        sett__putf(t, "cache: memory only: %s\n", sett__cache_nowhere(e->cache));
    if (sett__cache_layers(e->cache) == n)
        return;
    sett_cache_layer_info l = {.size = sizeof l};
    sett_error err = {0};
    sett_status s = sett__cache_probe(e->cache, &err);
    sett__cache_layer(e->cache, n, &l);
    sett__putf(t, "remote cache: %s %s%s\n", l.path, !s ? "answers" : l.why_not ? "is not used: " : "does not answer: ",
        !s ? l.writable ? "" : " (read only)" : l.why_not ? l.why_not : err.text);
}

static void describe_default(const sett__runtime *r, sett__sink *t)
{
    char gpu[24] = "cpu";
    if (r->default_device >= 0)
        snprintf(gpu, sizeof gpu, "GPU %d", r->default_device);
    sett__putf(t, "default device: %s%s\n", gpu, r->device_why);
}

int sett_engine_describe(sett_engine *e, char *buf, size_t size)
{
    sett__sink t = {.buf = buf, .cap = buf ? size : 0};
    sett__put(&t, "");
    if (sett__engine_check(e, NULL, NULL))
        return 0;
    sett__putf(&t, "sett: %s, code generator %s\n", SETT_VERSION, SETT__CODEGEN_ID);
    int sm = e->opt.cpu_sm ? e->opt.cpu_sm : SETT__MODELLED_SM;
    sett__putf(&t, "cpu: %d threads; tensor cores of sm_%d, %s\n", e->opt.cpu_threads, sm, e->opt.cpu_fast_mma ? "by plain fma" : sett__sim_models(sm));
    if (e->runtime->cuda)
        sett__cuda_describe(e->runtime->cuda, &t);
    else
        sett__putf(&t, "driver: none: %s\n", e->runtime->no_cuda);
    describe_default(e->runtime, &t);
    sett__plugin_describe(e->workers, &t);
    sett__asm_describe(e->assembler, &t);
    describe_cache(e, &t);
    return (int)t.len;
}

/* ---- what runs on the CPU ---------------------------------------------------------------------- */
sett_status sett_engine_stand_in(sett_engine *e, const char *name, const char *types, void (*function)(void), sett_error *err)
{
    int saved = errno;
    if (!e)
        return sett__error(err, SETT_E_ARGUMENT, "sett_engine_stand_in: the engine is NULL");
    sett_status s = sett__engine_check(e, __func__, err);
    if (!s)
        s = sett__stand_in_set(&e->runtime->stand_ins, name, types, function, err);
    errno = saved;
    return s;
}

sett_status sett_cancel(sett_engine *e, sett_stream stream, sett_error *err)
{
    int saved = errno;
    sett_status s = sett__engine_check(e, __func__, err);
    if (!s && stream.device == SETT_DEFAULT_DEVICE)
        stream.device = sett_default_device(e);
    if (!s && stream.device >= 0) /* whether or not there is such a GPU */
        s = sett__error(err, SETT_E_TARGET,
            "sett_cancel: device %d is a GPU, whose driver ends no launch from outside; launches on SETT_CPU can be cancelled", stream.device);
    else if (!s && !sett__device(e->runtime, &stream.device, err))
        s = SETT_E_NO_DEVICE;
    else if (!s)
        sett__running_cancel(&e->runtime->runnings, stream.handle);
    errno = saved;
    return s;
}
