/* SPDX-License-Identifier: Apache-2.0 */
/* The threads that compile. LLVM runs on stacks that we sized (8 MiB), with every signal blocked, and never on a caller's thread:
 * should it fail in a way that it cannot return from, its handler wakes the waiter with the text, the plug-in is dead for this
 * process (it keeps that itself), and the thread stays parked for the life of the process with its stack and whatever LLVM held
 * (leaked on purpose: there is no way to unwind it).
 *
 * Entries are written to disk by the same threads, after the waiter has its kernel, and then sent to the remote by one of
 * them at a time, which is none of those that may compile while it waits for the server. */
#include "compile.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STACK = 8 << 20, MAX_THREADS = 16, KEEP_SECONDS = 2 };

typedef struct task {
    struct task *next;
    const sett__compile_job *job;
    sett__compiled *out;
    sett_status status;
    sett_error error;
    bool done;
} task;

typedef struct write_back {
    struct write_back *next;
    sett__digest key;
    sett__entry entry;
    sett__ticket ticket; /* other processes wait until the entry is there */
    bool keep, send;     /* in the folder; to the remote */
} write_back;

struct sett__workers {
    sett_engine *engine;
    pthread_mutex_t lock; /* over all below */
    pthread_cond_t work, done;
    task *first, **last;
    write_back *writes, **last_write, *sends, **last_send;
    int writing; /* being written now */
    bool sending; /* by one thread */
    pthread_t thread[MAX_THREADS + 1];
    int n_thread, max_thread, idle, queued;
    bool quit, warmed; /* the first compile to a cubin has begun */
    /* the plug-in */
    pthread_mutex_t open_lock; /* held while it is opened */
    sett__plugin plugin;
    bool dead;
    sett_error why; /* it cannot be used */
};

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

static bool spawn(pthread_t *, void *(*)(void *), void *user);

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
        m->running = spawn(&m->thread, warm, m);
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
    task *t;
    warmer *m;
} fatal_ctx;
static bool start_thread(sett__workers *w);

/* Called with the lock, by a thread that will never work again; what waits for it is handed on. */
static void forget_thread(sett__workers *w)
{
    pthread_t self = pthread_self();
    for (int i = 0; i < w->n_thread; i++)
        if (pthread_equal(w->thread[i], self)) {
            w->thread[i] = w->thread[--w->n_thread];
            break;
        }
    pthread_detach(self);
    if (w->n_thread || start_thread(w))
        return;
    for (task *t = w->first; t; t = t->next) {
        t->status = sett__error(&t->error, SETT_E_NO_COMPILER, "%s", w->why.text);
        t->done = true;
    }
    w->first = NULL;
    w->last = &w->first;
    w->queued = 0;
}

/* On the compiling thread, out of the depths of LLVM; never returns. */
static void fatal(void *user, sett_status status, const char *text)
{
    const fatal_ctx *ctx = user;
    sett__workers *w = ctx->w;
    task *t = ctx->t;
    warm_end(ctx->m);
    sett__range_end();
    sett__log(w->engine, SETT_LOG_ERROR, "compiler", "%s: the compiler failed: %s", t->job->name, text);
    pthread_mutex_lock(&w->lock);
    sett__error(&w->why, SETT_E_NO_COMPILER, SETT__PLUGIN_DEAD, text);
    w->dead = true;
    t->status = sett__error(&t->error, status, "%s: the compiler failed: %s", t->job->name, text);
    t->done = true;
    forget_thread(w);
    pthread_cond_broadcast(&w->done);
    pthread_mutex_unlock(&w->lock);
    for (;;)
        pause();
}

/* ---- one compile ------------------------------------------------------------------------- */
static sett_status make_ptx(sett__workers *w, task *t, warmer *m, const sett__ptx_plugin **api, sett__ptx_out *ptx)
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

static sett_status make_cubin(sett__workers *w, task *t, const sett__ptx_out *ptx, sett__asm_out *out)
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
    int n = j->ptx_only
                ? asprintf(&text, "%s%s", j->report, level)
                : asprintf(&text, "%s%sassembler: %s: %d registers, %d + %d spill bytes (stores + loads), stack %d%s\n%s",
                      j->report, level, out->identity, out->registers, out->spill_stores, out->spill_loads, out->stack,
                      out->serialized ? "\nwarning: the assembler serialised the wgmma pipeline" : "", dropped_setmaxnreg(ptx->ptx, out) ? "warning: " DROPPED "\n" : "");
    return n < 0 ? NULL : text;
}

static sett_status pack_entry(
    task *t, const sett__ptx_plugin *api, const sett__ptx_out *ptx, const sett__asm_out *out)
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

static void compile(sett__workers *w, task *t, sett__spare *spare)
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

/* The entry as it goes to disk: without PTX, which only who compiled is shown. NULL: nothing to write. */
static write_back *plan_write(const sett__workers *w, const task *t)
{
    const sett__cache *cache = w->engine->cache;
    const sett__disk *disk = sett__cache_folder(cache);
    bool keep = disk && !sett__disk_read_only(disk), send = sett__cache_sends(cache);
    if (t->status || t->job->ptx_only || t->job->compare || (!keep && !send))
        return NULL;
    sett__entry e = t->out->entry;
    e.ptx = (sett__blob){NULL, 0};
    write_back *wb = calloc(1, sizeof *wb);
    if (!wb || sett__entry_copy(&e, &wb->entry, NULL)) {
        sett__count(&w->engine->runtime->count.write_failures, 1);
        sett__log(w->engine, SETT_LOG_WARNING, "cache", "%s is not written: no memory", t->job->name);
        free(wb);
        return NULL;
    }
    wb->key = *t->job->key;
    wb->keep = keep;
    wb->send = send;
    if (t->job->ticket) {
        wb->ticket = *t->job->ticket;
        *t->job->ticket = (sett__ticket){0};
    }
    return wb;
}

/* Called with the lock. */
static void push_write(sett__workers *w, write_back *wb)
{
    wb->next = NULL;
    *w->last_write = wb;
    w->last_write = &wb->next;
}

/* ---- threads --------------------------------------------------------------------------------- */
static void run_task(sett__workers *w, task *t, sett__spare *spare)
{
    w->first = t->next;
    w->queued--;
    if (!w->first)
        w->last = &w->first;
    pthread_mutex_unlock(&w->lock);
    compile(w, t, spare);
    write_back *wb = plan_write(w, t);
    pthread_mutex_lock(&w->lock);
    t->done = true;
    if (wb)
        push_write(w, wb);
    pthread_cond_broadcast(&w->done);
}

static void drop_write(write_back *wb)
{
    sett__entry_free(&wb->entry);
    free(wb);
}

static void run_write(sett__workers *w)
{
    write_back *wb = w->writes;
    sett_error err = {0};
    w->writes = wb->next;
    if (!w->writes)
        w->last_write = &w->writes;
    w->writing++;
    pthread_mutex_unlock(&w->lock);
    if (wb->keep && sett__disk_put(sett__cache_folder(w->engine->cache), &wb->key, &wb->entry,
                        w->engine->opt.toolchain == SETT_TOOLCHAIN_EXACT, &err)) {
        sett__count(&w->engine->runtime->count.write_failures, 1);
        sett__log(w->engine, SETT_LOG_WARNING, "cache", "an entry was not written: %s", err.text);
    }
    sett__disk_unlock(&wb->ticket);
    bool send = wb->send;
    if (!send)
        drop_write(wb);
    pthread_mutex_lock(&w->lock);
    if (send) {
        wb->next = NULL;
        *w->last_send = wb;
        w->last_send = &wb->next;
    }
    w->writing--;
    pthread_cond_broadcast(&w->done);
}

static void run_send(sett__workers *w)
{
    write_back *wb = w->sends;
    w->sends = wb->next;
    if (!w->sends)
        w->last_send = &w->sends;
    w->sending = true;
    pthread_mutex_unlock(&w->lock);
    sett__cache_send(w->engine->cache, &wb->key, &wb->entry);
    drop_write(wb);
    pthread_mutex_lock(&w->lock);
    w->sending = false;
    pthread_cond_broadcast(&w->done);
}

static void rest(sett__workers *w, sett__spare *spare)
{
    struct timespec until;
    if (!spare->lid) {
        pthread_cond_wait(&w->work, &w->lock);
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += KEEP_SECONDS;
    if (pthread_cond_timedwait(&w->work, &w->lock, &until) == ETIMEDOUT)
        sett__spare_drop(spare);
}

static void *worker(void *user)
{
    sett__workers *w = user;
    sett__spare spare = {0};
    pthread_mutex_lock(&w->lock);
    for (;;) {
        if (w->first)
            run_task(w, w->first, &spare); /* whoever waits comes before the disk */
        else if (w->writes)
            run_write(w);
        else if (w->sends && !w->sending)
            run_send(w);
        else if (w->quit)
            break;
        else {
            w->idle++;
            rest(w, &spare);
            w->idle--;
        }
    }
    pthread_mutex_unlock(&w->lock);
    sett__spare_drop(&spare);
    return NULL;
}

/* A library's thread takes no signal that the program meant for itself. */
static bool spawn(pthread_t *thread, void *(*run)(void *), void *user)
{
    pthread_attr_t attr;
    sigset_t all, old;
    if (pthread_attr_init(&attr))
        return false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    bool ok = !pthread_attr_setstacksize(&attr, STACK) && !pthread_create(thread, &attr, run, user);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    return ok;
}

/* Called with the lock. */
static bool start_thread(sett__workers *w)
{
    bool ok = spawn(&w->thread[w->n_thread], worker, w);
    w->n_thread += ok;
    return ok;
}

sett_status sett__workers_compile(sett__workers *w, const sett__compile_job *job, sett__compiled *out, sett_error *err)
{
    task t = {.job = job, .out = out};
    *out = (sett__compiled){0};
    pthread_mutex_lock(&w->lock);
    if (w->queued >= w->idle && w->n_thread - w->sending < w->max_thread)
        start_thread(w);
    if (!w->n_thread) {
        pthread_mutex_unlock(&w->lock);
        return sett__error(err, SETT_E_MEMORY, "no thread to compile on");
    }
    *w->last = &t;
    w->last = &t.next;
    w->queued++;
    pthread_cond_signal(&w->work);
    while (!t.done)
        pthread_cond_wait(&w->done, &w->lock);
    pthread_mutex_unlock(&w->lock);
    if (t.status && err)
        *err = t.error;
    return t.status;
}

void sett__workers_keep(sett__workers *w, const sett__digest *key, sett__entry *entry, sett__ticket *ticket)
{
    write_back *wb = calloc(1, sizeof *wb);
    if (!wb) {
        sett__entry_free(entry);
        return;
    }
    *wb = (write_back){.key = *key, .entry = *entry, .keep = true};
    if (ticket) {
        wb->ticket = *ticket;
        *ticket = (sett__ticket){0};
    }
    pthread_mutex_lock(&w->lock);
    push_write(w, wb);
    if (!w->n_thread)
        start_thread(w); /* if it cannot be, the entry is written when the engine is closed */
    pthread_cond_signal(&w->work);
    pthread_mutex_unlock(&w->lock);
}

void sett__workers_flush(sett__workers *w)
{
    pthread_mutex_lock(&w->lock);
    pthread_cond_broadcast(&w->work); /* who left something to do may have been parked since */
    while (w->writes || w->writing || w->sends || w->sending)
        if (w->writes && !w->n_thread) /* its last thread is parked */
            run_write(w);
        else if (w->sends && !w->n_thread && !w->sending)
            run_send(w);
        else
            pthread_cond_wait(&w->done, &w->lock);
    pthread_mutex_unlock(&w->lock);
}

sett_status sett__workers_open(sett__workers **out, sett_engine *e, sett_error *err)
{
    sett__workers *w = calloc(1, sizeof *w);
    pthread_condattr_t monotonic;
    *out = NULL;
    if (!w)
        return sett__error(err, SETT_E_MEMORY, "no memory for an engine");
    pthread_mutex_init(&w->lock, NULL); /* these fail for want of nothing on Linux: no memory is taken */
    pthread_mutex_init(&w->open_lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&w->work, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_cond_init(&w->done, NULL);
    w->engine = e;
    w->last = &w->first;
    w->last_write = &w->writes;
    w->last_send = &w->sends;
    w->max_thread = e->opt.cpu_threads < MAX_THREADS ? e->opt.cpu_threads : MAX_THREADS;
    *out = w;
    return SETT_OK;
}

void sett__workers_close(sett__workers *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->quit = true;
    pthread_cond_broadcast(&w->work);
    while (w->n_thread) {
        pthread_t t = w->thread[--w->n_thread];
        pthread_mutex_unlock(&w->lock);
        pthread_join(t, NULL);
        pthread_mutex_lock(&w->lock);
    }
    pthread_mutex_unlock(&w->lock);
    sett__workers_flush(w);
    pthread_mutex_destroy(&w->lock);
    pthread_mutex_destroy(&w->open_lock);
    pthread_cond_destroy(&w->work);
    pthread_cond_destroy(&w->done);
    free(w);
}
