/* SPDX-License-Identifier: Apache-2.0 */
/* What the cache calls: remote_open chooses the client (http.c, redis.c) by the URL's scheme. A name is fetched once at a time, whoever asks for it meanwhile
 * is given a copy. After so many calls in a row that failed, the server is left alone for a while (a circuit breaker); then one call tries it, and what
 * becomes of that one decides. So a server that is down costs a few time-outs and then nothing. */
#include "remote.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct sett__fetch {
    sett__fetch *next;
    const char *name;
    int waiting;
    bool done;
    sett_status status;
    sett_error error;
    void *data; /* a copy for those who wait */
    size_t len;
    pthread_cond_t landed;
};

double sett__clock_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* ---- bytes ------------------------------------------------------------------------- */
bool sett__bytes_add(sett__bytes *b, const void *data, size_t n)
{
    size_t need = b->len + n + 1; /* what was added has an address, without a byte too */
    if (need > b->room) {
        size_t room = need > 2 * b->room ? need : 2 * b->room;
        uint8_t *more = realloc(b->data, room);
        if (!more)
            return false;
        b->data = more;
        b->room = room;
    }
    if (n)
        memcpy(b->data + b->len, data, n);
    b->len += n;
    return true;
}

void sett__bytes_free(sett__bytes *b)
{
    free(b->data);
    *b = (sett__bytes){0};
}

/* ---- the circuit breaker -------------------------------------------------------------- */
/* Called with the lock. */
static bool is_off(const sett__remote *r)
{
    return r->failed >= r->opt.failures && (r->trial || sett__clock_ms() < r->off_until);
}

/* SETT_E_CANCELLED: the server is left alone. */
static sett_status enter(sett__remote *r, sett_error *err)
{
    sett_status s = SETT_OK;
    pthread_mutex_lock(&r->lock);
    if (is_off(r)) {
        s = sett__error(err, SETT_E_CANCELLED, "it is left alone after %d failures in a row", r->failed);
    } else {
        r->trial = r->failed >= r->opt.failures;
    }
    pthread_mutex_unlock(&r->lock);
    return s;
}

/* Called with the lock, after a failure: has it been one too many? */
static bool has_failed(sett__remote *r)
{
    bool off = r->failed >= r->opt.failures;
    if (off)
        r->off_until = sett__clock_ms() + r->opt.retry_ms;
    return off;
}

/* A server's words are part of many texts: none of its bytes ends a line of the log or orders a terminal about. */
static void escape(sett_error *err)
{
    const sett_error raw = *err;
    sett__put_shown(&(sett__sink){.buf = err->text, .cap = sizeof err->text}, raw.text, strlen(raw.text), 0);
}

/* To a status. */
static sett_status leave(sett__remote *r, sett__answer a, sett_error *err)
{
    static const sett_status of[] = {[SETT__YES] = SETT_OK,
        [SETT__NO] = SETT_E_NOT_CACHED,
        [SETT__TOO_LONG] = SETT_E_LIMIT,
        [SETT__ENDLESS] = SETT_E_LIMIT,
        [SETT__DENIED] = SETT_E_IO,
        [SETT__FAILED] = SETT_E_IO,
        [SETT__NO_MEMORY] = SETT_E_MEMORY};
    escape(err);
    sett_error why = *err;
    bool bad = a == SETT__FAILED || a == SETT__ENDLESS;
    pthread_mutex_lock(&r->lock);
    r->trial = false;
    if (a == SETT__YES)
        r->failed_before = r->failed;
    r->failed = bad ? r->failed + 1 : a == SETT__NO_MEMORY ? r->failed : 0;
    bool off = bad && has_failed(r);
    pthread_mutex_unlock(&r->lock);
    if (a == SETT__NO)
        return sett__error(err, of[a], "it has none");
    return off ? sett__error(err, of[a], "%.400s; it is left alone for %g s", why.text, r->opt.retry_ms * 1e-3) : of[a];
}

/* ---- lines ---------------------------------------------------------------------------- */
static void *take_line(sett__remote *r)
{
    pthread_mutex_lock(&r->lock);
    void *line = r->n_line ? r->line[--r->n_line] : NULL;
    pthread_mutex_unlock(&r->lock);
    return line ? line : r->transport->line();
}

static void give_line(sett__remote *r, void *line)
{
    pthread_mutex_lock(&r->lock);
    bool kept = r->n_line < SETT__LINES;
    if (kept)
        r->line[r->n_line++] = line;
    pthread_mutex_unlock(&r->lock);
    if (!kept)
        r->transport->hang_up(line);
}

static double deadline(const sett__remote *r)
{
    return sett__clock_ms() + r->opt.total_ms;
}

/* ---- get --------------------------------------------------------------------------------- */
static sett_status fetch(sett__remote *r, const char *name, void **data, size_t *len, sett_error *err)
{
    sett__bytes b = {0};
    sett_status s = enter(r, err);
    if (s)
        return s;
    void *line = take_line(r);
    sett__answer a = line ? sett__fetch_entry(r, line, name, deadline(r), &b, err) : SETT__NO_MEMORY;
    if (line)
        give_line(r, line);
    if (a == SETT__YES && !sett__bytes_add(&b, NULL, 0))
        a = SETT__NO_MEMORY;
    if (a == SETT__NO_MEMORY)
        sett__error(err, SETT_E_MEMORY, "no memory for an entry of a remote");
    s = leave(r, a, err);
    if (s) {
        sett__bytes_free(&b);
        return s;
    }
    *data = b.data;
    *len = b.len;
    return SETT_OK;
}

static void *copy_of(const void *data, size_t n)
{
    void *copy = malloc(n + 1);
    return copy ? memcpy(copy, data, n) : NULL;
}

/* Called with the lock. */
static void drop_fetch(sett__fetch *f)
{
    pthread_cond_destroy(&f->landed);
    free(f->data);
    free(f);
}

/* Called with the lock, which is given up while it waits. */
static sett_status wait_for(sett__remote *r, sett__fetch *f, void **data, size_t *len, sett_error *err)
{
    f->waiting++;
    while (!f->done)
        pthread_cond_wait(&f->landed, &r->lock);
    sett_status s = f->status;
    *err = f->error;
    if (!s && !(*data = f->data ? copy_of(f->data, f->len) : NULL))
        s = sett__error(err, SETT_E_MEMORY, "no memory for an entry of a remote");
    *len = f->len;
    if (!--f->waiting)
        drop_fetch(f);
    return s;
}

/* Called with the lock. NULL: no memory, and the next who asks asks the server too. */
static sett__fetch *begin_fetch(sett__remote *r, const char *name)
{
    sett__fetch *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    pthread_cond_init(&f->landed, NULL);
    f->name = name;
    f->next = r->fetches;
    r->fetches = f;
    return f;
}

/* Called with the lock. */
static void end_fetch(sett__remote *r, sett__fetch *f, sett_status s, const void *data, size_t len, const sett_error *err)
{
    sett__fetch **link = &r->fetches;
    while (*link != f)
        link = &(*link)->next;
    *link = f->next;
    f->done = true;
    f->status = s;
    f->error = *err;
    if (!s && f->waiting)
        f->data = copy_of(data, len);
    f->len = len;
    if (f->waiting)
        pthread_cond_broadcast(&f->landed);
    else
        drop_fetch(f);
}

static sett_status remote_get(sett__remote *r, const char *name, void **data, size_t *len, sett_error *err)
{
    sett_error why = {0};
    *data = NULL;
    *len = 0;
    pthread_mutex_lock(&r->lock);
    sett__fetch *f = r->fetches;
    while (f && strcmp(f->name, name))
        f = f->next;
    sett_status s;
    if (f) {
        s = wait_for(r, f, data, len, &why);
    } else {
        f = begin_fetch(r, name);
        pthread_mutex_unlock(&r->lock);
        s = fetch(r, name, data, len, &why);
        pthread_mutex_lock(&r->lock);
        if (f)
            end_fetch(r, f, s, *data, *len, &why);
    }
    pthread_mutex_unlock(&r->lock);
    if (s && err)
        *err = why;
    return s;
}

/* ---- put ---------------------------------------------------------------------------------- */
/* A server that only gives is not asked to take for as long as one that is down is left alone. */
static bool takes_none(sett__remote *r)
{
    pthread_mutex_lock(&r->lock);
    bool none = sett__clock_ms() < r->denied_until;
    pthread_mutex_unlock(&r->lock);
    return none;
}

/* A long entry that is of no use has cost as much as a failed call, and counts as one. A short one does not: a server that holds
 * entries of an older secret is worth its others. */
static void remote_refuse(sett__remote *r, const char *name, size_t len)
{
    pthread_mutex_lock(&r->lock);
    if (len >= SETT__WASTE) {
        r->failed = r->failed_before + 1;
        has_failed(r);
    }
    snprintf(r->refused[r->n_refused++ % SETT__REFUSED], sizeof *r->refused, "%s", name);
    pthread_mutex_unlock(&r->lock);
}

static bool was_refused(sett__remote *r, const char *name)
{
    bool was = false;
    pthread_mutex_lock(&r->lock);
    for (unsigned i = 0; i < SETT__REFUSED; i++)
        was |= !strcmp(r->refused[i], name);
    pthread_mutex_unlock(&r->lock);
    return was;
}

static void denied(sett__remote *r)
{
    pthread_mutex_lock(&r->lock);
    r->denied_until = sett__clock_ms() + r->opt.retry_ms;
    pthread_mutex_unlock(&r->lock);
}

static sett_status remote_put(
    sett__remote *r, const char *name, const void *data, size_t len, bool *sent, sett_error *err)
{
    sett_error why = {0};
    *sent = false;
    if (takes_none(r))
        return sett__error(err, SETT_E_CANCELLED, "it takes no entries");
    sett_status s = enter(r, &why);
    void *line = s ? NULL : take_line(r);
    if (!s) {
        double until = deadline(r);
        sett__answer a = !line ? SETT__NO_MEMORY : was_refused(r, name) ? SETT__NO : sett__has_entry(r, line, name, until, &why);
        if (a == SETT__NO) {
            a = sett__send_entry(r, line, name, data, len, until, &why);
            *sent = a == SETT__YES;
            if (a == SETT__DENIED)
                denied(r);
        }
        if (a == SETT__NO_MEMORY)
            sett__error(&why, SETT_E_MEMORY, "no memory to send an entry");
        s = leave(r, a, &why);
    }
    if (line)
        give_line(r, line);
    if (s && err)
        *err = why;
    return s;
}

static sett_status remote_probe(sett__remote *r, sett_error *err)
{
    static const char nobody[] = "0000000000000000000000000000000000000000000000000000000000000000";
    void *line = take_line(r);
    if (!line)
        return sett__error(err, SETT_E_MEMORY, "no memory to ask a remote");
    sett__answer a = sett__has_entry(r, line, nobody, deadline(r), err);
    escape(err);
    give_line(r, line);
    return a == SETT__YES || a == SETT__NO ? SETT_OK : SETT_E_IO;
}

static bool remote_off(sett__remote *r)
{
    pthread_mutex_lock(&r->lock);
    bool off = is_off(r);
    pthread_mutex_unlock(&r->lock);
    return off;
}

/* ---- without SIGPIPE ----------------------------------------------------------------------------- */
static sigset_t only_pipe(void)
{
    sigset_t s;
    sigemptyset(&s);
    sigaddset(&s, SIGPIPE);
    return s;
}

void sett__quiet_begin(sett__quiet *was)
{
    const sigset_t pipe_only = only_pipe();
    sigset_t pending;
    sigpending(&pending);
    was->pending = sigismember(&pending, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_only, &was->before);
}

void sett__quiet_end(const sett__quiet *was)
{
    const sigset_t pipe_only = only_pipe();
    const struct timespec now = {0};
    if (!was->pending)
        while (sigtimedwait(&pipe_only, NULL, &now) == SIGPIPE)
            ;
    pthread_sigmask(SIG_SETMASK, &was->before, NULL);
}

/* ---- opening ---------------------------------------------------------------------------------- */
static void remote_close(sett__remote *r)
{
    while (r->n_line)
        r->transport->hang_up(r->line[--r->n_line]);
    sett__tls_close(r);
    pthread_mutex_destroy(&r->lock);
    sett__remote_options_free(&r->opt);
    free(r);
}

static sett_status remote_open(
    sett__remote **out, const char *text, const sett__remote_host *host, sett__remote_facts *facts, sett_error *err)
{
    sett__remote *r = calloc(1, sizeof *r);
    *out = NULL;
    if (!r)
        return sett__error(err, SETT_E_MEMORY, "no memory for a remote");
    pthread_mutex_init(&r->lock, NULL);
    r->host = *host;
    sett_status s = sett__remote_parse(text, &r->opt, err);
    if (!s) {
        r->bazel = !strcmp(r->opt.layout, "bazel");
        r->transport = strncmp(r->opt.url, "redis", 5) ? &sett__http : &sett__redis;
        s = r->transport->open(r, err);
    }
    *facts = (sett__remote_facts){r->opt.shown, r->opt.secret, r->opt.trusted, r->opt.read_only};
    if (s)
        remote_close(r);
    else
        *out = r;
    return s;
}

__attribute__((visibility("default"))) const sett__remote_plugin *sett_remote_plugin(void);
const sett__remote_plugin *sett_remote_plugin(void)
{
    static const sett__remote_plugin plugin = {.size = sizeof plugin,
        .abi = SETT__REMOTE_ABI,
        .open = remote_open,
        .close = remote_close,
        .get = remote_get,
        .refuse = remote_refuse,
        .put = remote_put,
        .probe = remote_probe,
        .off = remote_off};
    return &plugin;
}
