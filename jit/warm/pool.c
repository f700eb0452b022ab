/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that compile what a manifest lacks. One that dies takes its kernel with it, and another is started. */
#include "warm.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { STARTING = -1, IDLE = -2 };
typedef struct process {
    pid_t pid; /* 0: none */
    int fd;
    long job; /* of the list; or STARTING, IDLE */
} process;

typedef struct run {
    sett_engine *engine;
    const sett__manifest *m;
    const sett_warm_options *o;
    sett__warm_list *list;
    sett_warm_result *result;
    char command[PATH_MAX], *hello;
    size_t hello_len, next;
    process *at;
    int n;
    bool cancelled;
    sett_error *err;
} run;

/* ---- telling ------------------------------------------------------------------------------- */
static void tell(run *r, size_t i, bool cached, double ms)
{
    sett_warm_event e;
    char text[SETT__WARM_TEXT];
    sett_warm_result *t = r->result;
    const sett__warm_item *it = &r->list->at[i];
    t->failed += it->status != SETT_OK;
    t->cached += cached;
    t->compiled += !cached && !it->status;
    sett__warm_describe(r->m, it, text, &e);
    e.cached = cached;
    e.ms = ms;
    e.done = t->failed + t->cached + t->compiled, e.failed = t->failed, e.total = t->total;
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
/* No blocked and no ignored signals, whatever the program did. Its output, which a body may write, goes to our errors.
 */
static int spawn(const run *r, int fd, pid_t *pid)
{
    char *const argv[] = {(char *)(uintptr_t)r->command, (char[]){"warm"}, (char[]){"--worker"}, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int err = posix_spawn_file_actions_init(&files);
    if (err)
        return err;
    err = posix_spawnattr_init(&attr);
    if (!err) {
        err = posix_spawn_file_actions_adddup2(&files, fd, 0);
        if (!err)
            err = posix_spawn_file_actions_adddup2(&files, 2, 1);
        posix_spawnattr_setsigmask(&attr, &none);
        posix_spawnattr_setsigdefault(&attr, &all);
        posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
        if (!err)
            err = posix_spawn(pid, r->command, &files, &attr, argv, environ);
        posix_spawnattr_destroy(&attr);
    }
    posix_spawn_file_actions_destroy(&files);
    return err;
}

static sett_status start(run *r, process *p)
{
    int fd[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd))
        return sett__error(r->err, SETT_E_IO, "no socket: %s", strerror(errno));
    int err = spawn(r, fd[1], &p->pid);
    close(fd[1]);
    if (err) {
        close(fd[0]);
        p->pid = 0;
        return sett__error(r->err, SETT_E_IO, "%s cannot be run: %s", r->command, strerror(err));
    }
    p->fd = fd[0];
    p->job = STARTING;
    send(p->fd, r->hello, r->hello_len, MSG_NOSIGNAL); /* where it fails, so does reading the answer */
    return SETT_OK;
}

/* Where the program reaps every child itself, the status is not known. */
static void end(process *p, char why[64])
{
    int status, got;
    close(p->fd);
    while ((got = waitpid(p->pid, &status, 0)) < 0 && errno == EINTR)
        ;
    if (got == p->pid && WIFSIGNALED(status))
        snprintf(why, 64, "signal %d (%s)", WTERMSIG(status),
            sigdescr_np(WTERMSIG(status)) ? sigdescr_np(WTERMSIG(status)) : "?");
    else if (got == p->pid)
        snprintf(why, 64, "exit code %d", WEXITSTATUS(status));
    else
        snprintf(why, 64, "status not known");
    p->pid = 0;
}

static void kill_all(run *r)
{
    char why[64];
    for (int i = 0; i < r->n; i++)
        if (r->at[i].pid) {
            kill(r->at[i].pid, SIGKILL);
            end(&r->at[i], why);
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
        tell(r, r->next, cached, 0);
    }
    return false;
}

static bool send_job(const process *p, const sett__warm_item *it)
{
    sett__warm_job j = {.block = it->block, .point = it->point};
    memcpy(j.target, it->target, sizeof j.target);
    return send(p->fd, &j, sizeof j, MSG_NOSIGNAL) == (ssize_t)sizeof j;
}

/* A process is started for a job, and takes it when it has said that it is ready. */
static sett_status hand_out(run *r)
{
    sett_status s = SETT_OK;
    size_t i, coming = 0;
    char why[64];
    for (int k = 0; k < r->n; k++)
        coming += r->at[k].pid && r->at[k].job == STARTING;
    for (int k = 0; k < r->n && !s && !r->cancelled; k++) {
        process *p = &r->at[k];
        if ((p->pid && p->job != IDLE) || (!p->pid && coming >= r->list->n - r->next))
            continue;
        if (!next_job(r, &i))
            break;
        if (p->pid && send_job(p, &r->list->at[i])) {
            p->job = (long)i;
            continue;
        }
        r->next = i; /* it is still to be done */
        if (p->pid)
            end(p, why);
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
        tell(r, i, false, reply->ms);
    return s;
}

static sett_status gone(run *r, process *p)
{
    char why[64];
    long job = p->job;
    end(p, why);
    if (job == STARTING)
        return sett__error(r->err, SETT_E_IO, "%s ended before it began: %s", r->command, why);
    if (job == IDLE)
        return SETT_OK;
    sett_status s = fail_item(r, (size_t)job, SETT_E_COMPILE, "the process that compiled it died: %s", why);
    if (!s)
        tell(r, (size_t)job, false, 0);
    return s;
}

static sett_status hear(run *r, process *p)
{
    char in[sizeof(sett__warm_reply) + sizeof((sett_error *)0)->text + 1];
    sett__warm_reply reply;
    ssize_t n = recv(p->fd, in, sizeof in - 1, 0);
    if (n < (ssize_t)sizeof reply)
        return n < 0 && errno == EINTR ? SETT_OK : gone(r, p);
    in[n] = 0;
    memcpy(&reply, in, sizeof reply);
    long job = p->job;
    p->job = IDLE;
    if (job == STARTING)
        return reply.status ? sett__error(r->err, (sett_status)reply.status, "%s: %s", r->command, in + sizeof reply)
                            : SETT_OK;
    if (reply.status) { /* it ends now */
        char why[64];
        end(p, why);
    }
    return job == IDLE ? SETT_OK : finish(r, (size_t)job, &reply, in + sizeof reply);
}

static sett_status listen_to(run *r, struct pollfd *polls)
{
    sett_status s = SETT_OK;
    for (int i = 0; i < r->n; i++)
        polls[i] = (struct pollfd){.fd = r->at[i].pid ? r->at[i].fd : -1, .events = POLLIN};
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
        if (r->at[i].pid && r->at[i].job != IDLE)
            return true;
    return false;
}

static sett_status find_command(run *r)
{
    bool ok = r->o->command ? (size_t)snprintf(r->command, sizeof r->command, "%s", r->o->command) < sizeof r->command
                            : sett__beside("sett", r->command, sizeof r->command) ||
                                  sett__beside("../bin/sett", r->command, sizeof r->command);
    return ok ? SETT_OK
              : sett__error(r->err, SETT_E_IO,
                    "the sett command is not beside libsett.so, nor in ../bin from there: set .command");
}

static sett_status compile_all(run *r)
{
    r->n = r->o->workers ? r->o->workers : r->engine->opt.cpu_threads;
    r->at = calloc((size_t)r->n, sizeof *r->at);
    struct pollfd *polls = calloc((size_t)r->n, sizeof *polls);
    sett_status s =
        r->at && polls ? find_command(r) : sett__error(r->err, SETT_E_MEMORY, "no memory for %d processes", r->n);
    do {
        if (!s)
            s = hand_out(r);
        if (!s && !r->cancelled && busy(r))
            s = listen_to(r, polls);
    } while (!s && !r->cancelled && (busy(r) || r->next < r->list->n));
    for (int i = 0; i < r->n && !s && !r->cancelled; i++)
        if (r->at[i].pid) { /* it has nothing to do, and ends when its socket does */
            char why[64];
            end(&r->at[i], why);
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
    sett_status s = sett__pack_write(r->engine->cache, r->o->pack, &o, &entries, r->err);
    free(keys);
    return s;
}

static sett_status verdict(run *r)
{
    const sett_warm_result *t = r->result;
    if (r->cancelled)
        return sett__error(r->err, SETT_E_CANCELLED, "cancelled with %llu of %llu kernels done",
            (unsigned long long)(t->cached + t->compiled), (unsigned long long)t->total);
    return t->failed ? sett__error(r->err, SETT_E_COMPILE, "%llu of %llu kernels were not made",
                           (unsigned long long)t->failed, (unsigned long long)t->total)
                     : SETT_OK;
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
    r->hello = malloc(SETT__WARM_MESSAGE);
    if (!r->hello)
        return sett__error(r->err, SETT_E_MEMORY, "no memory for a message");
    r->hello_len = sett__warm_hello(r->engine, folder, manifest, r->hello);
    sett_status s =
        r->hello_len ? compile_all(r) : sett__error(r->err, SETT_E_LIMIT, "the engine's options are too long");
    if (!s && r->o->pack && !r->cancelled)
        s = write_pack(r);
    free(r->hello);
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
    sett_status s = sett__engine_check(e, &why);
    if (!s && result && !sett__known_size(result->size))
        s = sett__error(&why, SETT_E_ARGUMENT, "sett_warm_result.size is %zu", result->size);
    if (!s)
        s = sett__warm_open(e, manifest, options, &o, &m, &list, &why);
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
