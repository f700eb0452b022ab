/* SPDX-License-Identifier: Apache-2.0 */
/* Benchmarks: workspaces that rotate, iterations by the engine's clock, what they come to. */
#include "inside.h"
#include <errno.h>
#include <math.h>
#include <sett/bench.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    WARMUP = 10,
    ITERATIONS = 100,
    MOST_ITERATIONS = 100000,
    MOST_LAUNCHES = 100000,
    GRAPH_LAUNCHES = 20,
    MOST_WORKSPACES = 1024,
    CACHES = 4,           /* times the last-level cache, that workspaces hold in all */
    CPU_CACHE = 32 << 20, /* where the system does not tell */
    ZERO_CHUNK = 1 << 20,
    ADDRESS_BITS = 255, /* of an argument's address, that its copies keep: sett_alloc gives the rest as zeros */
};

static const char func[] = "sett_benchmark", function_func[] = "sett_benchmark_function";

/* ---- options ---------------------------------------------------------------------------- */
static sett_status bad_count(const char *by, const char *name, int n, int least, int most, sett_error *err)
{
    return sett__error(err, SETT_E_ARGUMENT, "%s: .%s is %d, it must be %d to %d", by, name, n, least, most);
}

static sett_status take_options(const char *by, sett_benchmark_options *o, const sett_benchmark_options *given,
    const sett_benchmark_result *result, bool gpu, sett_error *err)
{
    sett_status s = sett__options(o, sizeof *o, given, "sett_benchmark_options", err);
    if (s)
        return s;
    if (!result || !sett__known_size(result->size))
        return sett__error(err, SETT_E_ARGUMENT, "%s: the place for the result is NULL, or its .size is not set", by);
    const struct {
        const char *name;
        int *n, most, otherwise;
    } counts[] = {{"warmup", &o->warmup, MOST_ITERATIONS, WARMUP},
        {"iterations", &o->iterations, MOST_ITERATIONS, ITERATIONS}, {"launches", &o->launches, MOST_LAUNCHES, 0},
        {"workspaces", &o->workspaces, MOST_WORKSPACES, 0}};
    for (size_t i = 0; i < SETT__COUNT(counts); i++) {
        if (*counts[i].n < 0 || *counts[i].n > counts[i].most)
            return bad_count(by, counts[i].name, *counts[i].n, 0, counts[i].most, err);
        if (!*counts[i].n)
            *counts[i].n = counts[i].otherwise;
    }
    if (o->workspaces > 1 && (o->hot || o->in_place))
        return sett__error(err, SETT_E_ARGUMENT, "%s: .%s means one workspace, and .workspaces is %d", by,
            o->hot ? "hot" : "in_place", o->workspaces);
    if (!(o->bytes >= 0 && o->flops >= 0) || isinf(o->bytes) || isinf(o->flops))
        return sett__error(err, SETT_E_ARGUMENT,
            "%s: .bytes = %g, .flops = %g: both must be positive, or 0 for not told", by, o->bytes, o->flops);
    if (o->graph && !gpu)
        return sett__error(err, SETT_E_NO_DEVICE, "%s: .graph needs a GPU; the CPU engine has no graphs", by);
    return SETT_OK;
}

/* ---- what the samples say ------------------------------------------------------------------ */
static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(const double *sorted, int n, double q)
{
    double at = q * (n - 1);
    int i = (int)at;
    return i + 1 < n ? sorted[i] + (at - i) * (sorted[i + 1] - sorted[i]) : sorted[n - 1];
}

static void summarise(double *us, const sett_benchmark_options *o, sett_benchmark_result *r)
{
    const int n = o->iterations;
    double sum = 0, squares = 0;
    for (int i = 0; i < n; i++)
        us[i] /= o->launches, sum += us[i];
    r->mean_us = sum / n;
    for (int i = 0; i < n; i++)
        squares += (us[i] - r->mean_us) * (us[i] - r->mean_us);
    qsort(us, (size_t)n, sizeof *us, ascending);
    r->min_us = us[0], r->max_us = us[n - 1];
    r->median_us = quantile(us, n, 0.5);
    r->p10_us = quantile(us, n, 0.1), r->p90_us = quantile(us, n, 0.9), r->p99_us = quantile(us, n, 0.99);
    if (r->median_us > 0) {
        r->spread = (r->p90_us - r->p10_us) / r->median_us;
        r->rel_stdev = sqrt(squares / n) / r->mean_us;
        r->gbps = o->bytes / r->median_us * 1e-3;
        r->tflops = o->flops / r->median_us * 1e-6;
    }
    r->iterations = n, r->launches = o->launches, r->workspaces = o->workspaces, r->graph = o->graph;
}

/* ---- iterations ------------------------------------------------------------------------------- */
typedef struct work {
    const char *by; /* the public call */
    sett_benchmark_fn fn;
    void *user;
    int launches, workspaces, next;
} work;

static sett_status once(void *user, sett_stream stream, sett_error *err)
{
    work *w = user;
    for (int i = 0; i < w->launches; i++) {
        sett_status s = w->fn(w->user, stream, w->next);
        w->next = (w->next + 1) % w->workspaces;
        if (s)
            return sett__error(err, s, "%s: a launch failed: %s", w->by, sett_status_text(s));
    }
    return SETT_OK;
}

static sett_status time_cpu(work *w, sett_stream stream, const sett_benchmark_options *o, double *us, sett_error *err)
{
    sett_status s = SETT_OK;
    for (int i = -o->warmup; i < o->iterations && !s; i++) {
        double from = sett__now_ms();
        s = once(w, stream, err);
        if (i >= 0)
            us[i] = (sett__now_ms() - from) * 1e3;
    }
    return s;
}

/* Options are taken, workspaces known; what is known of r is in it. */
static sett_status measure(const char *by, sett__runtime *on, sett_stream stream, sett_benchmark_fn fn, void *user,
    sett_benchmark_options *o, sett_benchmark_result *r, sett_benchmark_result *to, sett_error *err)
{
    if (!o->launches)
        o->launches = o->graph ? (o->workspaces > GRAPH_LAUNCHES ? o->workspaces : GRAPH_LAUNCHES) : 1;
    work w = {by, fn, user, o->launches, o->workspaces, 0};
    const sett__timing t = {o->graph, o->warmup, o->iterations, once, &w};
    double *us = malloc((size_t)o->iterations * sizeof *us);
    if (!us)
        return sett__error(err, SETT_E_MEMORY, "%s: out of memory", by);
    r->gpu = stream.device != SETT_CPU;
    snprintf(r->device, sizeof r->device, "%s", r->gpu ? sett__cuda_name(on->cuda, stream.device) : "CPU engine");
    sett_status s = sett__sync(on, stream, err);
    if (!s)
        s = r->gpu ? sett__cuda_time(on->cuda, stream, &t, us, err) : time_cpu(&w, stream, o, us, err);
    if (!s) {
        summarise(us, o, r);
        r->size = to->size;
        memcpy(to, r, to->size < sizeof *r ? to->size : sizeof *r);
    }
    free(us);
    return s;
}

sett_status sett_benchmark_function(sett_engine *e, sett_stream stream, sett_benchmark_fn fn, void *user,
    const sett_benchmark_options *options, sett_benchmark_result *to, sett_error *err)
{
    sett_benchmark_options o;
    sett_benchmark_result r = {0};
    int saved = errno;
    if (!e || !fn)
        return sett__error(err, SETT_E_ARGUMENT, "%s: the %s is NULL", function_func, e ? "function" : "engine");
    sett_status s = sett_sync_error(e, stream, err);
    if (!s && !sett__device(e->runtime, &stream.device, err))
        s = SETT_E_NO_DEVICE;
    if (!s)
        s = take_options(function_func, &o, options, to, stream.device != SETT_CPU, err);
    if (!s) {
        o.workspaces = o.workspaces ? o.workspaces : 1;
        s = measure(function_func, e->runtime, stream, fn, user, &o, &r, to, err);
    }
    errno = saved;
    return s;
}

/* ---- a kernel's arguments, several times ----------------------------------------------------------- */
/* Bytes of memory that some arguments lie in; a copy has it in one piece, so that what overlaps still does. */
typedef struct piece {
    uintptr_t lo, hi; /* empty: no bytes */
    int first;        /* the first argument in it */
} piece;
typedef struct bench {
    sett_kernel *k;
    const sett__sig *sig; /* the kernel's */
    sett__runtime *on;
    sett_stream stream;
    int n;
    const sett_launch_arg *args;
    const sett_benchmark_options *o;
    piece piece[SETT__MAX_ARGS]; /* of each parameter */
    uint64_t bytes;              /* of one workspace */
    int n_calls;
    sett_prepared **call; /* one a workspace */
    void **memory;    /* n_param a workspace; NULL: none of its own */
} bench;

static bool joins(piece *a, piece *b)
{
    if (a->lo >= a->hi || b->lo >= b->hi || a->lo >= b->hi || b->lo >= a->hi || (a->lo == b->lo && a->hi == b->hi))
        return false;
    a->lo = b->lo = a->lo < b->lo ? a->lo : b->lo;
    a->hi = b->hi = a->hi > b->hi ? a->hi : b->hi;
    return true;
}

static sett_status find_pieces(bench *p, sett_error *err)
{
    sett__bound bound;
    sett__extent extent[SETT__MAX_ARGS];
    const int n = sett_kernel_params(p->k);
    p->sig = &sett__meta_of(p->k)->sig;
    sett_status s = sett__bind(p->k->plan, p->n, p->args, &bound, extent, err);
    for (int i = 0; i < n && !s; i++)
        p->piece[i] = (piece){(uintptr_t)extent[i].data, (uintptr_t)extent[i].data + extent[i].bytes, i};
    for (bool again = !s; again;) {
        again = false;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < i; j++)
                again |= joins(&p->piece[i], &p->piece[j]);
    }
    for (int i = 0; i < n && !s; i++) {
        for (int j = i; j-- > 0;)
            if (p->piece[j].lo == p->piece[i].lo && p->piece[j].hi == p->piece[i].hi)
                p->piece[i].first = j;
        p->bytes += p->piece[i].first == i ? p->piece[i].hi - p->piece[i].lo : 0;
    }
    return s;
}

static sett_status is_zero(const bench *p, const void *data, size_t bytes, void *room, bool *zero, sett_error *err)
{
    static const char none[64];
    *zero = bytes > 0;
    for (size_t at = 0, n; at < bytes && *zero; at += n) {
        const char *chunk = (const char *)data + at;
        n = bytes - at < ZERO_CHUNK ? bytes - at : ZERO_CHUNK;
        if (p->stream.device != SETT_CPU) {
            sett_status s = sett__memcpy(p->on, p->stream, room, chunk, n);
            s = s ? sett__error(err, s, "%s: an input could not be looked at", func)
                  : sett__sync(p->on, p->stream, err);
            if (s)
                return s;
            chunk = room;
        }
        for (size_t i = 0; i < n && *zero; i += sizeof none)
            *zero = !memcmp(chunk + i, none, n - i < sizeof none ? n - i : sizeof none);
    }
    return SETT_OK;
}

static sett_status refuse_zeros(const bench *p, sett_error *err)
{
    const sett__sig *sig = p->sig;
    void *room = malloc(ZERO_CHUNK);
    sett_status s = room ? SETT_OK : sett__error(err, SETT_E_MEMORY, "%s: out of memory", func);
    for (uint32_t i = 0; i < sig->n_param && !s; i++) {
        bool zero = false;
        piece x = p->piece[i];
        if (sig->param[i].access & SETT__ACCESS_READ && !sig->param[i].scalar)
            s = is_zero(p, (const void *)x.lo, x.hi - x.lo, room, &zero, err);
        if (zero && !s)
            s = sett__error(err, SETT_E_ARGUMENT,
                "%s: %s: %s is all zeros, which is faster to compute with than numbers: fill it, or set .allow_zeros",
                func, sett__meta_of(p->k)->name, sig->param[i].name);
    }
    free(room);
    return s;
}

static uint64_t cache_bytes(const bench *p)
{
    if (p->stream.device != SETT_CPU)
        return sett__cuda_cache(p->on->cuda, p->stream.device);
    long system = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return system > 0 && system < CPU_CACHE ? (uint64_t)system : CPU_CACHE;
}

static void count_workspaces(const bench *p, sett_benchmark_options *o, bool *cold)
{
    uint64_t want = CACHES * cache_bytes(p), n = p->bytes && want ? (want + p->bytes - 1) / p->bytes : 1;
    if (o->hot || o->in_place)
        o->workspaces = 1;
    else if (!o->workspaces)
        o->workspaces = n > MOST_WORKSPACES ? MOST_WORKSPACES : (int)n;
    *cold = want && p->bytes * (uint64_t)o->workspaces >= want;
}

/* ---- workspaces ----------------------------------------------------------------------------------------- */
/* The argument's own bytes, at an address of the same last bits. */
static sett_status copy_piece(bench *p, int workspace, int i, uintptr_t *to, sett_error *err)
{
    const piece *x = &p->piece[i];
    void **memory = &p->memory[(size_t)workspace * p->sig->n_param + (size_t)i];
    size_t odd = x->lo & ADDRESS_BITS, bytes = x->hi - x->lo;
    *memory = sett__alloc(p->on, p->stream.device, bytes + odd);
    if (!*memory)
        return sett__error(err, SETT_E_MEMORY, "%s: %zu bytes for copy %d of %s cannot be had; .in_place needs none",
            func, bytes, workspace, p->sig->param[i].name);
    *to = (uintptr_t)*memory + odd;
    sett_status s = sett__memcpy(p->on, p->stream, (void *)*to, (const void *)x->lo, bytes);
    return s ? sett__error(
                   err, s, "%s: %s cannot be copied: %s", func, p->sig->param[i].name, sett_status_text(s))
             : s;
}

static sett_status make_workspace(bench *p, int workspace, sett_launch_arg *bind, sett_buf *buf, sett_error *err)
{
    const int n = (int)p->sig->n_param;
    uintptr_t base[SETT__MAX_ARGS];
    sett_status s = SETT_OK;
    memcpy(bind, p->args, (size_t)p->n * sizeof *bind);
    for (int i = 0; i < n && !s && !p->o->in_place; i++) {
        const piece *x = &p->piece[i];
        if (p->sig->param[i].scalar || x->lo >= x->hi)
            continue;
        if (x->first == i)
            s = copy_piece(p, workspace, i, &base[i], err);
        buf[i] = *p->args[i].u.t;
        buf[i].data = (void *)(base[x->first] + ((uintptr_t)buf[i].data - x->lo));
        bind[i].u.t = &buf[i];
    }
    if (!s)
        s = sett_prepared_make_n(p->k, p->stream.device, p->n, bind, &p->call[workspace], err);
    return s;
}

static sett_status make_workspaces(bench *p, sett_error *err)
{
    const size_t n = (size_t)p->o->workspaces, n_param = p->sig->n_param;
    sett_launch_arg *bind = malloc(((size_t)p->n + 1) * sizeof *bind);
    sett_buf *buf = malloc((n_param + 1) * sizeof *buf);
    p->call = calloc(n, sizeof(sett_prepared *));
    p->memory = calloc(n * n_param + 1, sizeof(void *));
    bool room = bind && buf && p->call && p->memory;
    sett_status s = room ? SETT_OK : sett__error(err, SETT_E_MEMORY, "%s: out of memory", func);
    for (int i = 0; i < p->o->workspaces && !s; i++) {
        p->n_calls = i + 1;
        s = make_workspace(p, i, bind, buf, err);
    }
    if (!s) /* says why, where a prepared call only gives a status */
        s = sett_launch_n(p->k, p->stream, p->n, bind, err);
    if (!s)
        s = sett__sync(p->on, p->stream, err);
    free(bind);
    free(buf);
    return s;
}

static void drop_workspaces(bench *p)
{
    for (int i = 0; i < p->n_calls; i++) {
        sett_prepared_free(p->call[i]);
        for (size_t j = 0, n = p->sig->n_param; j < n; j++)
            sett__free(p->on, p->stream.device, p->memory[(size_t)i * n + j]);
    }
    free(p->call);
    free(p->memory);
}

static sett_status run_call(void *user, sett_stream stream, int workspace)
{
    return sett_prepared_run(((bench *)user)->call[workspace], stream);
}

static sett_status run_bench(bench *p, sett_benchmark_options *o, sett_benchmark_result *to, sett_error *err)
{
    sett_benchmark_result r = {0};
    sett_status s = find_pieces(p, err);
    if (!s && !o->allow_zeros)
        s = refuse_zeros(p, err);
    if (s)
        return s;
    count_workspaces(p, o, &r.cold);
    r.workspace_bytes = p->bytes;
    p->o = o;
    s = make_workspaces(p, err);
    if (!s)
        s = measure(func, p->on, p->stream, run_call, p, o, &r, to, err);
    drop_workspaces(p);
    return s;
}

sett_status sett_benchmark_n(sett_kernel *k, sett_stream stream, int n, const sett_launch_arg *args,
    const sett_benchmark_options *options, sett_benchmark_result *to, sett_error *err)
{
    sett_benchmark_options o;
    int saved = errno;
    if (!k)
        return sett__error(err, SETT_E_ARGUMENT, "%s: the kernel is NULL", func);
    sett_status s = sett__launch_check(k, &stream.device, err);
    if (!s)
        s = take_options(func, &o, options, to, stream.device != SETT_CPU, err);
    if (!s)
        s = sett__sync(k->rest->runtime, stream, err);
    bench *p = s ? NULL : calloc(1, sizeof *p);
    if (!s && !p)
        s = sett__error(err, SETT_E_MEMORY, "%s: out of memory", func);
    if (!s) {
        *p = (bench){.k = k, .on = k->rest->runtime, .stream = stream, .n = n, .args = args};
        s = run_bench(p, &o, to, err);
    }
    free(p);
    errno = saved;
    return s;
}

/* ---- JSON ------------------------------------------------------------------------------------------------- */
static void put_string(sett__sink *s, const char *text)
{
    sett__put(s, "\"");
    for (; *text; text++) {
        char c = *text;
        sett__put_n(s, c == '"' || c == '\\' || (unsigned char)c < ' ' ? "?" : &c, 1);
    }
    sett__put(s, "\"");
}

static void put_rate(sett__sink *s, const char *name, double x)
{
    if (x > 0)
        sett__putf(s, ", \"%s\": %.4g", name, x);
    else
        sett__putf(s, ", \"%s\": null", name);
}

static void put_kernel(sett__sink *s, const sett_kernel *k)
{
    sett__put(s, "\"kernel\": ");
    put_string(s, sett__meta_of(k)->name);
    sett__putf(s, ", \"target\": \"%s\", \"key\": \"", sett__meta_of(k)->target);
    for (size_t i = 0; i < sizeof sett__kernel_key(k)->b; i++)
        sett__putf(s, "%02x", sett__kernel_key(k)->b[i]);
    sett__put(s, "\", ");
}

int sett_benchmark_json(const sett_kernel *k, const sett_benchmark_result *given, char *buf, size_t size)
{
    sett__sink s = {.buf = buf, .cap = buf ? size : 0};
    sett_benchmark_result r = {0};
    if (given && sett__known_size(given->size))
        memcpy(&r, given, given->size < sizeof r ? given->size : sizeof r);
    const struct {
        const char *name;
        double us;
    } times[] = {{"median_us", r.median_us}, {"p10_us", r.p10_us}, {"p90_us", r.p90_us}, {"p99_us", r.p99_us},
        {"min_us", r.min_us}, {"max_us", r.max_us}, {"mean_us", r.mean_us}};
    sett__put(&s, "{\"schema_version\": 1, ");
    if (k)
        put_kernel(&s, k);
    sett__put(&s, "\"device\": ");
    put_string(&s, r.device);
    sett__putf(&s, ", \"clock\": \"%s\", \"graph\": %s, \"cold\": %s", r.gpu ? "events" : "wall",
        r.graph ? "true" : "false", r.cold ? "true" : "false");
    sett__putf(&s, ", \"iterations\": %d, \"launches\": %d, \"workspaces\": %d, \"workspace_bytes\": %llu",
        r.iterations, r.launches, r.workspaces, (unsigned long long)r.workspace_bytes);
    for (size_t i = 0; i < SETT__COUNT(times); i++)
        sett__putf(&s, ", \"%s\": %.3f", times[i].name, times[i].us);
    sett__putf(&s, ", \"spread\": %.4f, \"rel_stdev\": %.4f", r.spread, r.rel_stdev);
    put_rate(&s, "gbps", r.gbps);
    put_rate(&s, "tflops", r.tflops);
    sett__put(&s, "}");
    return (int)s.len;
}
