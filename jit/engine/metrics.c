/* SPDX-License-Identifier: Apache-2.0 */
/* What an engine counts, as structs and as Prometheus' text. Both come from the lists in jit/support/counters.h. */
#include "jit/compile/compile.h"
#include "plug/compiler.h"
#include "jit/launch/launch.h"
#include <errno.h>
#include <string.h>

/* ---- as structs ------------------------------------------------------------------------ */
#define ONE(...) +1
#define TWO(...) +2
/* Beside what is listed: size, five sums over layers, kernels, the flags; size, two strings, cap, entries, aliases and two times
 * flags, the signer; size. */
static_assert(sizeof(sett_stats) == 8 * (0 SETT__HITS(ONE) SETT__COUNTERS(ONE, TWO) + 8), "sett_stats has what is listed, and no more");
static_assert(sizeof(sett_cache_layer_info) == 8 * (0 SETT__LAYER_COUNTERS(ONE) + 8) + 32, "as above");
static_assert(sizeof(sett_device_counts) == 8 * (0 SETT__DEVICE_COUNTERS(ONE, TWO) + 1), "as above");

static void collect(const sett_engine *e, sett_stats *s)
{
    const sett__counters *c = &e->runtime->count;
#define C(field, ...) s->field = c->field;
#define T(times, ns, ...) s->times = c->times, s->ns = c->ns;
    SETT__COUNTERS(C, T)
#undef C
#undef T
    for (size_t i = 0; i < SETT__COUNT(e->stripe); i++) {
#define C(field, ...) s->field += e->stripe[i].field;
        SETT__HITS(C)
#undef C
    }
    s->compiler_loaded = sett__plugin_loaded(e->workers);
    s->sealed = e->sealed;
    s->faulted = e->runtime->cuda && sett__cuda_faulted(e->runtime->cuda);
    s->kernels = sett__kernels_held(e->kernels);
    sett__cache_totals(e->cache, s);
}

void sett_engine_stats(const sett_engine *e, sett_stats *out)
{
    if (!out || !sett__known_size(out->size) || sett__engine_check(e, NULL, NULL))
        return;
    sett_stats s = {.size = out->size};
    collect(e, &s);
    memcpy(out, &s, out->size < sizeof s ? out->size : sizeof s);
}

sett_status sett_device_stats(const sett_engine *e, int device, sett_device_counts *out)
{
    sett_status s = sett__engine_check(e, NULL, NULL);
    if (s)
        return s;
    if (!out || !sett__known_size(out->size))
        return SETT_E_ARGUMENT;
    sett_device_counts c = {.size = out->size};
    if (!sett__device(e->runtime, &device, NULL))
        return SETT_E_NO_DEVICE;
    if (device != SETT_CPU)
        sett__cuda_counts(e->runtime->cuda, device, &c);
    memcpy(out, &c, out->size < sizeof c ? out->size : sizeof c);
    return SETT_OK;
}

/* ---- as metrics -------------------------------------------------------------------------- */
enum { ENGINE, LAYER, DEVICE };
enum { COUNTER, SUMMARY, GAUGE, FLAG, IS_NULL, INFO }; /* of what lies at `at`: uint64_t, bool, a pointer; INFO: nothing */
/* X(of, kind, struct, field, nanoseconds, name, help), in the order that they are written. */
#define METRICS(X) \
    X(ENGINE, INFO, sett_stats, size, size, "info", "1, for its labels") \
    SETT__HITS(C) \
    SETT__COUNTERS(C, T) \
    X(ENGINE, GAUGE, sett_stats, kernels, size, "kernels", "Kernels held in memory") \
    X(ENGINE, FLAG, sett_stats, compiler_loaded, size, "compiler_loaded", "Is the compiler plug-in mapped?") \
    X(ENGINE, FLAG, sett_stats, sealed, size, "sealed", "Is the engine sealed?") \
    X(ENGINE, FLAG, sett_stats, faulted, size, "faulted", "Did the driver tell of a fault that stays until the process ends?") \
    SETT__LAYER_COUNTERS(L) \
    X(LAYER, IS_NULL, sett_cache_layer_info, why_not, size, "usable", "Is it in use?") \
    X(LAYER, FLAG, sett_cache_layer_info, off, size, "off", "Is it a remote that is left alone, after failures?") \
    X(LAYER, GAUGE, sett_cache_layer_info, cap, size, "cap_bytes", "Bytes that it may hold; 0: it is not written") \
    SETT__DEVICE_COUNTERS(DC, DT)
#define C(field, help) X(ENGINE, COUNTER, sett_stats, field, size, #field, help)
#define T(times, ns, name, help) X(ENGINE, SUMMARY, sett_stats, times, ns, name, help)
#define L(field, help) X(LAYER, COUNTER, sett_cache_layer_info, field, size, #field, help)
#define DC(field, help) X(DEVICE, COUNTER, sett_device_counts, field, size, #field, help)
#define DT(times, ns, name, help) X(DEVICE, SUMMARY, sett_device_counts, times, ns, name, help)
typedef struct metric {
    uint8_t of, kind;
    uint16_t at, ns;
} metric;
static const metric metrics[] = {
#define X(of, kind, type, field, ns, name, help) {of, kind, offsetof(type, field), offsetof(type, ns)},
    METRICS(X)
#undef X
};
/* Names and helps one after another: pointers to them would take the loader longer and more room than the texts. */
static const char texts[] =
#define X(of, kind, type, field, ns, name, help) name "\0" help "\0"
    METRICS(X);
#undef X
static const char prefixes[][13] = {"sett_", "sett_layer_", "sett_device_"};
static const struct {
    char type[8], suffix[9];
} kinds[] = {{"counter", "_total"}, {"summary", "_seconds"}, {"gauge", ""}, {"gauge", ""}, {"gauge", ""}, {"gauge", ""}};

typedef struct text {
    sett_write_fn write;
    void *user;
    const char *name;   /* of the metric that is being written */
    const char *engine; /* its label, or NULL */
    const char *mark;   /* before the next label */
    bool enough;
    size_t at;
    char buf[512];
} text;

static void flush(text *t)
{
    if (t->at && !t->enough)
        t->enough = !t->write(t->user, t->buf, t->at);
    t->at = 0;
}

static void put(text *t, const char *s, size_t len)
{
    for (size_t n; len; s += n, len -= n) {
        if (t->at == sizeof t->buf)
            flush(t);
        n = sizeof t->buf - t->at < len ? sizeof t->buf - t->at : len;
        memcpy(t->buf + t->at, s, n);
        t->at += n;
    }
}

static void say(text *t, const char *s)
{
    put(t, s, strlen(s));
}

/* ---- labels ---------------------------------------------------------------------------------- */
/* Bytes of a well-formed character (Unicode, table 3-7); 0: it is none. A path may hold anything, and one bad byte would
 * cost the whole scrape. */
static size_t utf8(const unsigned char *s)
{
    size_t n = *s < 0x80 ? 1 : *s >= 0xC2 && *s < 0xE0 ? 2 : *s >= 0xE0 && *s < 0xF0 ? 3 : *s >= 0xF0 && *s < 0xF5 ? 4 : 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xC0) != 0x80)
            return 0;
    bool odd = (*s == 0xE0 && s[1] < 0xA0) || (*s == 0xED && s[1] > 0x9F) || (*s == 0xF0 && s[1] < 0x90) ||
               (*s == 0xF4 && s[1] > 0x8F);
    return odd ? 0 : n;
}

static void quote(text *t, const char *s)
{
    say(t, "=\"");
    for (size_t n; *s; s += n ? n : 1) {
        n = utf8((const unsigned char *)s);
        if (*s == '\\' || *s == '"')
            say(t, "\\"), put(t, s, n);
        else if (*s == '\n')
            say(t, "\\n");
        else if (n)
            put(t, s, n);
        else
            say(t, "\xEF\xBF\xBD");
    }
    say(t, "\"");
}

/* Without a value there is no label. */
static void label(text *t, const char *name, const char *value)
{
    if (!value)
        return;
    say(t, t->mark), say(t, name), quote(t, value);
    t->mark = ",";
}

/* ---- samples ------------------------------------------------------------------------------------ */
static void name_of(text *t, const metric *m, const char *part)
{
    say(t, prefixes[m->of]), say(t, t->name), say(t, kinds[m->kind].suffix), say(t, part);
}

/* number: of the layer or device. */
static void sample(text *t, const metric *m, const char *part, const char *number, const char *path, const char *value)
{
    name_of(t, m, part);
    t->mark = "{";
    label(t, "engine", t->engine);
    if (m->of != ENGINE)
        label(t, m->of == LAYER ? "layer" : "device", number);
    label(t, "path", path);
    if (m->kind == INFO)
        label(t, "version", SETT_VERSION), label(t, "code_generator", SETT__CODEGEN_ID);
    say(t, *t->mark == ',' ? "} " : " "), say(t, value), say(t, "\n");
}

static void samples(text *t, const metric *m, int number, const char *path, const void *from)
{
    const char *at = (const char *)from + m->at;
    uint64_t n = 1, ns;
    char digits[12], value[48];
    memcpy(&n, at, m->kind == FLAG ? sizeof(bool) : sizeof n); /* little endian, and a pointer is as wide */
    n = m->kind == FLAG ? n & 0xFF : m->kind == IS_NULL ? !n : m->kind == INFO ? 1 : n;
    snprintf(digits, sizeof digits, "%d", number);
    snprintf(value, sizeof value, "%llu", (unsigned long long)n);
    sample(t, m, m->kind == SUMMARY ? "_count" : "", digits, path, value);
    if (m->kind != SUMMARY)
        return;
    memcpy(&ns, (const char *)from + m->ns, sizeof ns);
    snprintf(value, sizeof value, "%llu.%09llu", (unsigned long long)(ns / 1000000000), (unsigned long long)(ns % 1000000000));
    sample(t, m, "_sum", digits, path, value);
}

static void of_engine(text *t, const metric *m, const sett_engine *e)
{
    union {
        sett_stats engine;
        sett_cache_layer_info layer;
        sett_device_counts device;
    } of;
    int parts = m->of == LAYER ? sett__cache_layers(e->cache) : m->of == DEVICE ? sett_gpu_count(e) : 1;
    for (int i = 0; i < parts && !t->enough; i++) {
        memset(&of, 0, sizeof of);
        of.layer.size = sizeof of.layer;
        if (m->of == LAYER)
            sett__cache_layer(e->cache, i, &of.layer);
        else if (m->of == DEVICE)
            sett__cuda_counts(e->runtime->cuda, i, &of.device);
        else
            collect(e, &of.engine);
        samples(t, m, i, m->of == LAYER ? of.layer.path : NULL, &of);
    }
}

static bool same_label(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

static sett_status check(const sett_metrics_source *from, int n, sett_write_fn write, sett_error *err)
{
    sett_status s = SETT_OK;
    if (!from || !write || n < 1)
        return sett__error(err, SETT_E_ARGUMENT, "sett_metrics_write: there is no source, or write is NULL");
    for (int i = 0; i < n && !s; i++) {
        s = sett__engine_check(from[i].engine, "sett_metrics_write", err);
        for (int j = 0; j < i && !s; j++)
            if (same_label(from[i].label, from[j].label))
                s = sett__error(err, SETT_E_ARGUMENT, "sett_metrics_write: sources %d and %d have the same label", j, i);
    }
    return s;
}

sett_status sett_metrics_write(const sett_metrics_source *from, int n, sett_write_fn write, void *user, sett_error *err)
{
    int saved = errno;
    text t = {.write = write, .user = user, .name = texts};
    sett_status s = check(from, n, write, err);
    for (size_t i = 0; i < SETT__COUNT(metrics) && !s && !t.enough; i++) {
        const metric *m = &metrics[i];
        const char *help = t.name + strlen(t.name) + 1;
        say(&t, "# HELP "), name_of(&t, m, ""), say(&t, " "), say(&t, help);
        say(&t, "\n# TYPE "), name_of(&t, m, ""), say(&t, " "), say(&t, kinds[m->kind].type), say(&t, "\n");
        for (int j = 0; j < n && !t.enough; j++) {
            t.engine = from[j].label;
            of_engine(&t, m, from[j].engine);
        }
        t.name = help + strlen(help) + 1;
    }
    flush(&t);
    errno = saved;
    return s;
}
