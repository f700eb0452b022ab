/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that compile what a manifest lacks. One that dies takes its kernel with it, and another is started. */
#include "inside.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STARTING = -1, IDLE = -2 };
typedef struct process {
    sett__warm_process at;
    long job; /* of the list; or STARTING, IDLE */
} process;

typedef struct run {
    sett_engine *engine;
    const sett__manifest *m;
    const sett_warm_options *o;
    sett__warm_list *list;
    sett_warm_result *result;
    sett__warm_command *command;
    size_t next;
    process *at;
    int n;
    bool cancelled;
    sett_error *err;
} run;

/* ---- telling ------------------------------------------------------------------------------- */
/* what: SETT__WARM_FOUND, SETT__WARM_FETCHED, else compiled. */
static void tell(run *r, size_t i, int what, double ms)
{
    sett_warm_event e;
    char text[SETT__WARM_TEXT];
    sett_warm_result *t = r->result;
    const sett__warm_item *it = &r->list->at[i];
    bool made = !it->status, cached = made && what == SETT__WARM_FOUND, fetched = made && what == SETT__WARM_FETCHED;
    t->failed += !made;
    t->cached += cached;
    t->fetched += fetched;
    t->compiled += made && !cached && !fetched;
    sett__warm_describe(r->m, it, text, &e);
    e.cached = cached, e.fetched = fetched;
    e.ms = ms;
    e.done = t->failed + t->cached + t->fetched + t->compiled, e.failed = t->failed, e.total = t->total;
    if (r->o->progress && !r->o->progress(r->o->user, &e))
        r->cancelled = true;
}

static sett_status drop(void *user, sett__entry *e, int layer, sett_error *err)
{
    (void)user, (void)layer, (void)err;
    sett__entry_free(e);
    return SETT_OK;
}

/* As a launch would find it: of an engine that is exact about who made a kernel, only what it would use. */
static bool in_cache(run *r, size_t i)
{
    const sett__digest *key = &r->list->at[i].key;
    sett_kernel *k = NULL;
    if (r->engine->opt.toolchain == SETT_TOOLCHAIN_ANY)
        return !sett__cache_find(r->engine->cache, key, NULL, drop, NULL, NULL);
    bool found = !sett_kernel_get(r->engine, key->b, &k, NULL);
    sett_kernel_release(k);
    return found;
}

SETT_PRINTF(4, 5) static sett_status fail_item(run *r, size_t i, sett_status s, const char *format, ...)
{
    sett__warm_item *it = &r->list->at[i];
    va_list args;
    va_start(args, format);
    it->status = s;
    if (vasprintf(&it->error, format, args) < 0)
        it->error = NULL;
    va_end(args);
    return it->error ? SETT_OK : sett__error(r->err, SETT_E_MEMORY, "no memory for a message");
}

/* ---- processes --------------------------------------------------------------------------------- */
static sett_status start(run *r, process *p)
{
    p->job = STARTING;
    return sett__warm_start(r->command, &p->at, r->err);
}

static void kill_all(run *r)
{
    char why[64];
    for (int i = 0; i < r->n; i++)
        if (r->at[i].at.pid) {
            kill(r->at[i].at.pid, SIGKILL);
            sett__warm_end(&r->at[i].at, why);
        }
}

/* ---- jobs ----------------------------------------------------------------------------------------- */
/* The next that is not there; what is there, and what could not be recorded, is told on the way. */
static bool next_job(run *r, size_t *i)
{
    for (; r->next < r->list->n && !r->cancelled; r->next++) {
        bool failed = r->list->at[r->next].status != SETT_OK, cached = !failed && in_cache(r, r->next);
        if (!failed && !cached) {
            *i = r->next++;
            return true;
        }
        tell(r, r->next, cached ? SETT__WARM_FOUND : SETT__WARM_DONE, 0);
    }
    return false;
}

/* A process is started for a job, and takes it when it has said that it is ready. */
static sett_status hand_out(run *r)
{
    sett_status s = SETT_OK;
    size_t i, coming = 0;
    char why[64];
    for (int k = 0; k < r->n; k++)
        coming += r->at[k].at.pid && r->at[k].job == STARTING;
    for (int k = 0; k < r->n && !s && !r->cancelled; k++) {
        process *p = &r->at[k];
        if ((p->at.pid && p->job != IDLE) || (!p->at.pid && coming >= r->list->n - r->next))
            continue;
        if (!next_job(r, &i))
            break;
        if (p->at.pid && sett__warm_send(&p->at, &r->list->at[i], false)) {
            p->job = (long)i;
            continue;
        }
        r->next = i; /* it is still to be done */
        if (p->at.pid)
            sett__warm_end(&p->at, why);
        s = start(r, p);
        coming++;
    }
    return s;
}

/* What it made must be there: a body that depends on more than its user data gets another key the second time. */
static sett_status finish(run *r, size_t i, const sett__warm_reply *reply, const char *text)
{
    sett_status s = SETT_OK;
    if (reply->status)
        s = fail_item(r, i, (sett_status)reply->status, "%s", text);
    else if (!in_cache(r, i))
        s = fail_item(r, i, SETT_E_IO,
            "it was compiled, and is not in the cache: it could not be written, or its body "
            "does not record the same twice");
    if (!s)
        tell(r, i, reply->what, reply->ms);
    return s;
}

static sett_status gone(run *r, process *p)
{
    char why[64];
    long job = p->job;
    sett__warm_end(&p->at, why);
    if (job == STARTING)
        return sett__error(r->err, SETT_E_IO, "%s ended before it began: %s", r->command->path, why);
    if (job == IDLE)
        return SETT_OK;
    sett_status s = fail_item(r, (size_t)job, SETT_E_COMPILE, "the process that compiled it died: %s", why);
    if (!s)
        tell(r, (size_t)job, SETT__WARM_DONE, 0);
    return s;
}

static sett_status hear(run *r, process *p)
{
    char text[SETT__WARM_REPLY_TEXT];
    sett__warm_reply reply;
    int got = sett__warm_hear(r->engine, &p->at, &reply, text);
    if (got <= 0)
        return got ? gone(r, p) : SETT_OK;
    long job = p->job;
    p->job = IDLE;
    if (job == STARTING)
        return reply.status ? sett__error(r->err, (sett_status)reply.status, "%s: %s", r->command->path, text)
                            : SETT_OK;
    if (reply.status) { /* it ends now */
        char why[64];
        sett__warm_end(&p->at, why);
    }
    return job == IDLE ? SETT_OK : finish(r, (size_t)job, &reply, text);
}

static sett_status listen_to(run *r, struct pollfd *polls)
{
    sett_status s = SETT_OK;
    for (int i = 0; i < r->n; i++)
        polls[i] = (struct pollfd){.fd = r->at[i].at.pid ? r->at[i].at.fd : -1, .events = POLLIN};
    if (poll(polls, (nfds_t)r->n, -1) < 0)
        return errno == EINTR ? SETT_OK : sett__error(r->err, SETT_E_IO, "poll: %s", strerror(errno));
    for (int i = 0; i < r->n && !s && !r->cancelled; i++)
        if (polls[i].revents)
            s = hear(r, &r->at[i]);
    return s;
}

static bool busy(const run *r)
{
    for (int i = 0; i < r->n; i++)
        if (r->at[i].at.pid && r->at[i].job != IDLE)
            return true;
    return false;
}

static sett_status compile_all(run *r)
{
    r->n = r->o->workers ? r->o->workers : r->engine->opt.cpu_threads;
    r->at = calloc((size_t)r->n, sizeof *r->at);
    struct pollfd *polls = calloc((size_t)r->n, sizeof *polls);
    sett_status s =
        r->at && polls ? SETT_OK : sett__error(r->err, SETT_E_MEMORY, "no memory for %d processes", r->n);
    do {
        if (!s)
            s = hand_out(r);
        if (!s && !r->cancelled && busy(r))
            s = listen_to(r, polls);
    } while (!s && !r->cancelled && (busy(r) || r->next < r->list->n));
    for (int i = 0; i < r->n && !s && !r->cancelled; i++)
        if (r->at[i].at.pid) { /* it has nothing to do, and ends when its socket does */
            char why[64];
            sett__warm_end(&r->at[i].at, why);
        }
    if (r->at)
        kill_all(r);
    free(polls);
    free(r->at);
    return s;
}

/* ---- public ------------------------------------------------------------------------------------------ */
static sett_status write_pack(run *r)
{
    uint8_t(*keys)[32] = calloc(r->list->n + 1, sizeof *keys);
    size_t n = 0;
    uint64_t entries;
    if (!keys)
        return sett__error(r->err, SETT_E_MEMORY, "no memory for a pack");
    for (size_t i = 0; i < r->list->n; i++)
        if (!r->list->at[i].status)
            memcpy(keys[n++], r->list->at[i].key.b, sizeof *keys);
    const sett_pack_options o = {
        .size = sizeof o, .keys = (const uint8_t(*)[32])keys, .n_keys = n, .secret_key = r->o->secret_key};
    sett_status s = sett__pack_write_with(r->engine->cache, r->o->pack, &o, r->list->alias, r->list->n_alias, &entries, r->err);
    free(keys);
    return s;
}

/* Also of kernels that were there: another build has other aliases for them. An alias of what was not made is a miss. */
static void write_aliases(run *r)
{
    for (size_t i = 0; i < r->list->n_alias; i++)
        sett__cache_alias(r->engine->cache, &r->list->alias[i]);
}

static sett_status some_failed(run *r)
{
    sett_warm_event e;
    char text[SETT__WARM_TEXT];
    const sett__warm_item *first = r->list->at;
    while (!first->status)
        first++;
    sett__warm_describe(r->m, first, text, &e);
    return sett__error(r->err, SETT_E_COMPILE, "%llu of %llu kernels were not made; the first: %s for %s (%s): %s",
        (unsigned long long)r->result->failed, (unsigned long long)r->result->total, e.name, e.target, e.params, e.error);
}

static sett_status verdict(run *r)
{
    const sett_warm_result *t = r->result;
    if (r->cancelled)
        return sett__error(r->err, SETT_E_CANCELLED, "cancelled with %llu of %llu kernels done",
            (unsigned long long)(t->cached + t->fetched + t->compiled), (unsigned long long)t->total);
    return t->failed ? some_failed(r) : SETT_OK;
}

static sett_status warm(run *r, const char *manifest)
{
    char folder[PATH_MAX];
    sett__disk *d = sett__cache_folder(r->engine->cache);
    sett_cache_layer_info last = {.size = sizeof last};
    if (!d || sett__disk_read_only(d))
        return sett__error(r->err, SETT_E_IO, "the engine has no cache folder to write to");
    sett__cache_layer(r->engine->cache, sett__cache_local(r->engine->cache) - 1, &last);
    snprintf(folder, sizeof folder, "%s", last.path);
    r->result->total = r->list->n;
    /* Before hours of compiles. */
    sett_status s = r->o->pack ? sett__pack_check(r->engine->cache, r->o->pack, r->err) : SETT_OK;
    if (!s)
        s = sett__warm_command_make(r->engine, r->o, folder, manifest, &r->command, r->err);
    if (!s)
        s = compile_all(r);
    if (!s)
        write_aliases(r);
    if (!s && r->o->pack && !r->cancelled)
        s = write_pack(r);
    free(r->command);
    return s ? s : verdict(r);
}

sett_status sett_warm(
    sett_engine *e, const char *manifest, const sett_warm_options *options, sett_warm_result *result, sett_error *err)
{
    sett__manifest m = {0};
    sett__warm_list list = {0};
    sett_warm_options o;
    sett_warm_result t = {.size = result ? result->size : sizeof t};
    sett_error why = {0};
    run r = {.engine = e, .m = &m, .o = &o, .list = &list, .result = &t, .err = &why};
    int saved = errno;
    sett_status s = sett__engine_check(e, NULL, &why);
    if (!s && atomic_load(&e->sealed))
        s = sett__error(&why, SETT_E_IO, SETT__SEALED);
    if (!s && result && !sett__known_size(result->size))
        s = sett__error(&why, SETT_E_ARGUMENT, "sett_warm_result.size is %zu", result->size);
    if (!s)
        s = sett__warm_open(e, manifest, options, true, &o, &m, &list, &why);
    if (!s)
        s = warm(&r, manifest);
    if (result && sett__known_size(result->size))
        memcpy(result, &t, result->size < sizeof t ? result->size : sizeof t);
    if (s)
        sett__error(err, s, "sett_warm: %s", why.text);
    sett__warm_list_free(&list);
    sett__manifest_free(&m);
    errno = saved;
    return s;
}
