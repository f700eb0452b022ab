/* SPDX-License-Identifier: Apache-2.0 */
/* One compile: the plug-in makes PTX, an assembler a cubin, and both become an entry.
 *
 * LLVM cannot return from some of its failures. Its handler, fatal(), then wakes the waiter with the text; the plug-in is dead for
 * this process (it keeps that itself), and the thread stays parked for the life of the process with its stack and whatever LLVM held
 * (leaked on purpose: there is no way to unwind it). */
#include "threads.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the plug-in --------------------------------------------------------------------- */
/* Called with open_lock. A file that cannot be opened now, for want of memory or of the file, may be later. */
static void open_plugin(sett__workers *w)
{
    sett__plugin opened = {0};
    sett_error why = {0};
    sett_status s = sett__plugin_open(&opened, w->engine->opt.plugin, &why);
    pthread_mutex_lock(&w->lock);
    bool news = !s || strcmp(why.text, w->why.text);
    w->plugin = opened;
    w->why = why;
    pthread_mutex_unlock(&w->lock);
    if (news)
        sett__log(w->engine, s ? SETT_LOG_WARNING : SETT_LOG_INFO, "compiler", "%s%s", s ? "" : "opened ",
            s ? why.text : opened.path);
}

static sett_status plugin_get(sett__workers *w, const sett__ptx_plugin **api, sett_error *err)
{
    pthread_mutex_lock(&w->open_lock);
    if (!w->plugin.api)
        open_plugin(w);
    pthread_mutex_lock(&w->lock);
    const char *failed = w->plugin.api && !w->dead ? w->plugin.api->failed() : NULL; /* in another engine */
    if (failed)
        w->dead = true, sett__error(&w->why, SETT_E_NO_COMPILER, SETT__PLUGIN_DEAD, failed);
    sett_status s = w->dead || !w->plugin.api ? SETT_E_NO_COMPILER : SETT_OK;
    *api = w->plugin.api;
    if (s && err)
        *err = w->why, err->status = s;
    pthread_mutex_unlock(&w->lock);
    pthread_mutex_unlock(&w->open_lock);
    return s;
}

bool sett__plugin_loaded(sett__workers *w)
{
    pthread_mutex_lock(&w->lock);
    bool loaded = w->plugin.api != NULL;
    pthread_mutex_unlock(&w->lock);
    return loaded;
}

void sett__plugin_describe(sett__workers *w, sett__sink *out)
{
    const sett__ptx_plugin *api;
    sett_error err = {0};
    if (plugin_get(w, &api, &err))
        sett__putf(out, "compiler: none: %s\n", err.text);
    else
        sett__putf(out, "compiler: %s, LLVM %s\n", w->plugin.path, api->llvm_version);
}

/* As META keeps it. */
static void name_compiler(const sett__ptx_plugin *api, char *to, size_t size)
{
    snprintf(to, size, "LLVM %s", api->llvm_version);
}

bool sett__workers_would_use(sett__workers *w, const char *compiler, const char *assembler)
{
    const sett__ptx_plugin *api;
    char own[64];
    if (plugin_get(w, &api, NULL))
        return false;
    name_compiler(api, own, sizeof own);
    return !strcmp(own, compiler) && sett__asm_would_use(w->engine->assembler, assembler);
}

/* ---- the first compile ------------------------------------------------------------------- */
/* A thread that gets ready what comes after the code generator: looks for the assembler, whose mapping takes as long as
 * lowering a kernel, and touches memory. Not before the plug-in is open, as the loader opens one library at a time and
 * that one is needed first. */
typedef struct warmer {
    sett__workers *w;
    sett__spare *spare;
    pthread_t thread;
    bool running;
    atomic_bool opened, done;
} warmer;

static void *warm(void *user)
{
    warmer *m = user;
    const sett__ptx_plugin *api;
    sett__spare_touch(m->spare, &m->opened);
    if (!plugin_get(m->w, &api, NULL))
        sett__asm_warm(m->w->engine->assembler);
    atomic_store(&m->done, true);
    return NULL;
}

static void warm_begin(warmer *m)
{
    sett__workers *w = m->w;
    pthread_mutex_lock(&w->lock);
    bool first = !w->warmed;
    w->warmed = true;
    pthread_mutex_unlock(&w->lock);
    if (first)
        m->running = sett__thread_spawn(&m->thread, warm, m);
}

static void warm_end(warmer *m)
{
    atomic_store(&m->opened, true);
    if (m->running) {
        sett__spare_touch(m->spare, &m->done); /* nothing else to do until then */
        pthread_join(m->thread, NULL);
    }
    m->running = false;
    sett__spare_give(m->spare, true);
}

/* ---- a compiler that failed --------------------------------------------------------------- */
typedef struct fatal_ctx {
    sett__workers *w;
    sett__task *t;
    warmer *m;
} fatal_ctx;

/* On the compiling thread, out of the depths of LLVM; never returns. */
static void fatal(void *user, sett_status status, const char *text)
{
    const fatal_ctx *ctx = user;
    sett__workers *w = ctx->w;
    sett__task *t = ctx->t;
    warm_end(ctx->m);
    sett__range_end();
    sett__log(w->engine, SETT_LOG_ERROR, "compiler", "%s: the compiler failed: %s", t->job->name, text);
    pthread_mutex_lock(&w->lock);
    sett__error(&w->why, SETT_E_NO_COMPILER, SETT__PLUGIN_DEAD, text);
    w->dead = true;
    t->status = sett__error(&t->error, status, "%s: the compiler failed: %s", t->job->name, text);
    t->done = true;
    sett__worker_forget(w);
    pthread_cond_broadcast(&w->done);
    pthread_mutex_unlock(&w->lock);
    for (;;)
        pause();
}

/* ---- one compile ------------------------------------------------------------------------- */
static sett_status make_ptx(sett__workers *w, sett__task *t, warmer *m, const sett__ptx_plugin **api, sett__ptx_out *ptx)
{
    const sett__compile_job *j = t->job;
    fatal_ctx ctx = {w, t, m};
    const sett__ptx_job job = {.tape = j->tape,
        .tape_len = j->tape_len,
        .target = j->target,
        .name = j->name,
        .line_info = j->line_info,
        .keep_ir = (w->engine->dump & SETT__DUMP_LLVM) != 0,
        .fatal = fatal,
        .user = &ctx,
        .provoke = w->engine->provoke};
    sett_status s = plugin_get(w, api, &t->error);
    atomic_store(&m->opened, true);
    sett__spare_give(m->spare, false);
    if (s)
        return s;
    double start = sett__now_ms();
    sett__range_begin("codegen", j->name);
    s = (*api)->compile(&job, ptx, &t->error);
    sett__range_end();
    t->out->codegen_ms = sett__now_ms() - start;
    sett__count_ms(&w->engine->runtime->count.codegens, &w->engine->runtime->count.codegen_ns, t->out->codegen_ms);
    if (!s && ptx->ir)
        sett__dump_write(w->engine, SETT__DUMP_LLVM, j->name, j->key, ptx->ir, strlen(ptx->ir));
    if (!s)
        sett__dump_write(w->engine, SETT__DUMP_PTX, j->name, j->key, ptx->ptx, ptx->ptx_len);
    return s;
}

#define DROPPED "setmaxnreg is left out, and values may spill: ptxas alone keeps it"

static bool dropped_setmaxnreg(const char *ptx, const sett__asm_out *out)
{
    return strstr(ptx, "setmaxnreg") && strncmp(out->identity, "ptxas", 5) != 0;
}

static sett_status make_cubin(sett__workers *w, sett__task *t, const sett__ptx_out *ptx, sett__asm_out *out)
{
    const sett__compile_job *j = t->job;
    const sett__asm_job job = {.ptx = ptx->ptx,
        .ptx_len = ptx->ptx_len,
        .target = j->target,
        .opt_level = j->opt_level,
        .line_info = j->line_info,
        .sets_registers = strstr(ptx->ptx, "setmaxnreg") != NULL};
    double start = sett__now_ms();
    sett__range_begin("assemble", j->name);
    sett_status s = sett__assemble(w->engine->assembler, &job, out, &t->error);
    sett__range_end();
    t->out->assemble_ms = sett__now_ms() - start;
    sett__count_ms(&w->engine->runtime->count.assembles, &w->engine->runtime->count.assemble_ns, t->out->assemble_ms);
    if (!s && t->error.text[0]) /* what the one that was asked first had to say */
        sett__log(w->engine, SETT_LOG_WARNING, "assembler", "%s: assembled by %s, as another refused it: %s", j->name,
            out->identity, t->error.text);
    if (!s && out->serialized)
        sett__log(w->engine, SETT_LOG_WARNING, "assembler", "%s: %s serialised the wgmma pipeline", j->name, out->identity);
    if (!s && dropped_setmaxnreg(ptx->ptx, out))
        sett__log(w->engine, SETT_LOG_WARNING, "assembler", "%s: " DROPPED, j->name);
    if (s == SETT_E_ASSEMBLE)
        sett__blame(j->recorded, ptx->ptx, &t->error);
    return s ? s : sett__elf_check(out->cubin, out->cubin_len, &t->error);
}

/* ".version 8.0" to 80. */
static uint16_t isa_of(const char *ptx)
{
    int major = 0, minor = 0;
    const char *at = strstr(ptx, ".version ");
    return at && sscanf(at, ".version %d.%d", &major, &minor) == 2 ? (uint16_t)(major * 10 + minor) : 0;
}

/* "nvJitLink 13.0", "ptxas 13.0.88", "driver-jit 13000" to 13000: a cubin runs on every driver of its toolkit's
 * major version. */
static int driver_of(const char *identity)
{
    const char *at = strchr(identity, ' ');
    long v = at ? strtol(at, NULL, 10) : 0;
    return (int)(v >= 1000 ? v / 1000 * 1000 : v * 1000);
}

#define AT_LEVEL_0 "very long straight-line code"

bool sett__report_of_tape(const char *report)
{
    return !*report || !strncmp(report, "assembler: ", 11) || !strncmp(report, AT_LEVEL_0, sizeof AT_LEVEL_0 - 1);
}

/* malloc'ed; NULL: no memory. */
static char *report_of(const sett__compile_job *j, const sett__ptx_out *ptx, const sett__asm_out *out)
{
    char *text;
    const char *level = ptx->codegen_level ? "" : AT_LEVEL_0 ": generated at level 0\n";
    const size_t len = strlen(j->report) - (!j->ptx_only && !out->spill_stores ? j->guess : 0);
    int n = j->ptx_only
                ? asprintf(&text, "%s%s", j->report, level)
                : asprintf(&text, "%.*s%sassembler: %s: %d registers, %d + %d spill bytes (stores + loads), stack %d%s\n%s",
                      (int)len, j->report, level, out->identity, out->registers, out->spill_stores, out->spill_loads, out->stack,
                      out->serialized ? "\nwarning: the assembler serialised the wgmma pipeline" : "", dropped_setmaxnreg(ptx->ptx, out) ? "warning: " DROPPED "\n" : "");
    return n < 0 ? NULL : text;
}

static sett_status pack_entry(
    sett__task *t, const sett__ptx_plugin *api, const sett__ptx_out *ptx, const sett__asm_out *out)
{
    const sett__compile_job *j = t->job;
    char compiler[64];
    name_compiler(api, compiler, sizeof compiler);
    const sett__meta meta = {.sig = *j->sig,
        .name = j->name,
        .target = j->target,
        .assembler = j->ptx_only ? "" : out->identity,
        .compiler = compiler,
        .min_driver = j->ptx_only ? 0 : driver_of(out->identity),
        .registers = out->registers,
        .spill_stores = out->spill_stores,
        .spill_loads = out->spill_loads,
        .stack = out->stack,
        .ptx_isa = isa_of(ptx->ptx)};
    void *bytes;
    size_t len;
    sett_status s = sett__meta_write(&meta, &bytes, &len, &t->error);
    if (s)
        return s;
    char *report = report_of(j, ptx, out);
    const sett__entry parts = {.key_material = j->key_material,
        .meta = {bytes, len},
        .cubin = {out->cubin, out->cubin_len},
        .ptx = {ptx->ptx, ptx->ptx_len},
        .notes = {report, report ? strlen(report) : 0}};
    s = report ? sett__entry_copy(&parts, &t->out->entry, &t->error)
               : sett__error(&t->error, SETT_E_MEMORY, "no memory for a report");
    free(bytes);
    free(report);
    return s;
}

void sett__task_compile(sett__workers *w, sett__task *t, sett__spare *spare)
{
    warmer m = {.w = w, .spare = spare};
    const sett__ptx_plugin *api;
    sett__ptx_out ptx = {0};
    sett__asm_out out = {.registers = -1, .spill_stores = -1, .spill_loads = -1, .stack = -1, .smem = -1};
    if (!t->job->ptx_only) {
        if (!spare->lid)
            sett__spare_take(spare);
        warm_begin(&m);
    }
    t->status = make_ptx(w, t, &m, &api, &ptx);
    warm_end(&m);
    if (t->status)
        return;
    if (!t->job->ptx_only)
        t->status = make_cubin(w, t, &ptx, &out);
    if (!t->status)
        t->status = pack_entry(t, api, &ptx, &out);
    sett__asm_out_free(&out);
    api->release(&ptx);
}
