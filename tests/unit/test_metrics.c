/* SPDX-License-Identifier: Apache-2.0 */
/* What is counted: Prometheus' text against its grammar and against counts that are known by construction, for engines,
 * layers and devices. */
#include "tests/rig/rig.h"
#include <check.h>
#include <sett/memory.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- a reader of the format, by its description and not by our writer ------------------------ */
enum { FAMILIES = 100, SAMPLES = 400 };
typedef struct family {
    char name[80], type[16];
    bool help, ended; /* samples of another have followed */
} family;
typedef struct scrape {
    family f[FAMILIES];
    int n_f, n_s;
    char sample[SAMPLES][300]; /* name and labels as written */
    char value[SAMPLES][40];
} scrape;

static bool is_name(const char *s, size_t n, bool colon)
{
    for (size_t i = 0; i < n; i++)
        if (!(s[i] == '_' || (s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z') || (colon && s[i] == ':') ||
                (i && s[i] >= '0' && s[i] <= '9')))
            return false;
    return n > 0;
}

static family *family_of(scrape *s, const char *name, size_t n, bool make)
{
    for (int i = 0; i < s->n_f; i++)
        if (strlen(s->f[i].name) == n && !memcmp(s->f[i].name, name, n))
            return &s->f[i];
    if (!make || s->n_f == FAMILIES)
        return NULL;
    family *f = &s->f[s->n_f++];
    *f = (family){.help = false};
    snprintf(f->name, sizeof f->name, "%.*s", (int)n, name);
    return f;
}

/* "# HELP name text", "# TYPE name type": once each, before the first sample. NULL: sound. */
static const char *read_comment(scrape *s, const char *line)
{
    char what[8], name[80], rest[200];
    if (sscanf(line, "# %7s %79s %199[^\n]", what, name, rest) != 3)
        return "a comment that is none of HELP and TYPE";
    if (!is_name(name, strlen(name), true))
        return "no name";
    family *f = family_of(s, name, strlen(name), true);
    if (!strcmp(what, "HELP")) {
        for (const char *c = rest; *c; c++)
            if (*c == '\\' && *++c != '\\' && *c != 'n')
                return "a backslash in HELP";
        return f->help || f->type[0] ? "HELP twice, or after TYPE" : (f->help = true, NULL);
    }
    if (strcmp(what, "TYPE") || f->type[0] || f->ended)
        return "TYPE twice";
    snprintf(f->type, sizeof f->type, "%.15s", rest);
    if (strcmp(rest, "counter") && strcmp(rest, "gauge") && strcmp(rest, "summary"))
        return "no type";
    bool total = strlen(name) > 6 && !strcmp(name + strlen(name) - 6, "_total");
    return total == !strcmp(rest, "counter") ? NULL : "a counter ends in _total, and nothing else does";
}

/* {name="value",...}: where it ends, or NULL. */
static const char *read_labels(const char *at)
{
    const char *names[8];
    size_t lengths[8];
    int n = 0;
    do {
        size_t len = strcspn(++at, "=");
        for (int i = 0; i < n; i++)
            if (lengths[i] == len && !memcmp(names[i], at, len))
                return NULL;
        names[n] = at, lengths[n++] = len;
        if (n == 8 || !is_name(at, len, false) || at[len + 1] != '"')
            return NULL;
        for (at += len + 2; *at != '"'; at++)
            if (!*at || *at == '\n' || (*at == '\\' && !strchr("\\\"n", *++at)))
                return NULL;
    } while (*++at == ',');
    return *at == '}' ? at + 1 : NULL;
}

static const char *read_sample(scrape *s, const char *line)
{
    size_t n = strcspn(line, "{ ");
    const char *end = line[n] == '{' ? read_labels(line + n) : line + n;
    char value[40], more;
    if (!is_name(line, n, true) || !end)
        return "no name, or bad labels";
    if (sscanf(end, " %39[0-9.]%c", value, &more) != 2 || more != '\n' || strspn(value, "0123456789") == 0)
        return "no value";
    size_t own = n;
    family *f = family_of(s, line, n, false);
    for (int i = 0; i < 2 && !f; i++) { /* a summary's parts */
        const char *part = i ? "_sum" : "_count";
        own = n - strlen(part);
        f = n > strlen(part) && !memcmp(line + own, part, strlen(part)) ? family_of(s, line, own, false) : NULL;
        if (f && strcmp(f->type, "summary"))
            return "a part of what is no summary";
    }
    if (!f || !f->type[0] || !f->help || f->ended)
        return "a sample without its TYPE and HELP, or away from its kin";
    if (!strcmp(f->type, "summary") && own == n)
        return "a quantile of a summary that has none";
    for (family *other = s->f; other < s->f + s->n_f; other++)
        other->ended |= other != f && other->type[0];
    for (int i = 0; i < s->n_s; i++)
        if (strlen(s->sample[i]) == (size_t)(end - line) && !memcmp(s->sample[i], line, (size_t)(end - line)))
            return "the same series twice";
    ck_assert_int_lt(s->n_s, SAMPLES);
    snprintf(s->sample[s->n_s], sizeof s->sample[0], "%.*s", (int)(end - line), line);
    snprintf(s->value[s->n_s++], sizeof s->value[0], "%s", value);
    return NULL;
}

static bool is_utf8(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    while (*s) {
        int more = *s < 0x80 ? 0 : *s < 0xC2 ? -1 : *s < 0xE0 ? 1 : *s < 0xF0 ? 2 : *s < 0xF5 ? 3 : -1;
        unsigned v = more > 0 ? *s & (0x3Fu >> more) : 0;
        for (int i = 0; i < more; i++) {
            if ((s[i + 1] & 0xC0) != 0x80)
                return false;
            v = v << 6 | (s[i + 1] & 0x3F);
        }
        if (more < 0 || (more == 2 && (v < 0x800 || (v >= 0xD800 && v < 0xE000))) || (more == 3 && (v < 0x10000 || v > 0x10FFFF)))
            return false;
        s += more + 1;
    }
    return true;
}

static const char *read_text(scrape *s, const char *text)
{
    static char why[400];
    *s = (scrape){.n_f = 0};
    if (!is_utf8(text))
        return "not UTF-8";
    for (const char *line = text, *next; *line; line = next) {
        next = strchr(line, '\n');
        if (!next++)
            return "the last line does not end";
        const char *bad = *line == '#' ? read_comment(s, line) : read_sample(s, line);
        if (bad) {
            snprintf(why, sizeof why, "%s: %.*s", bad, (int)(next - line), line);
            return why;
        }
    }
    return NULL;
}

/* The reader knows what is wrong. */
START_TEST(the_reader_refuses)
{
    static const char *const bad[] = {"# HELP a_total x\n# TYPE a_total counter\na_total 1", "a_total 1\n",
        "# HELP a x\n# TYPE a counter\na 1\n", "# HELP a_total x\n# TYPE a_total gauge\na_total 1\n",
        "# HELP a x\n# TYPE a gauge\na 1\na 2\n", "# HELP a x\n# TYPE a gauge\na{b=\"c\"} 1\na{b=\"c\"} 2\n",
        "# HELP a x\n# TYPE a gauge\na{b=\"\\c\"} 1\n", "# HELP a x\n# TYPE a gauge\na{b=\"c} 1\n",
        "# HELP a x\n# TYPE a gauge\na{b=\"c\",b=\"d\"} 1\n", "# HELP a x\n# TYPE a gauge\na{1b=\"c\"} 1\n",
        "# HELP a x\n# TYPE a gauge\na\n", "# HELP a x\n# TYPE a gauge\na one\n", "# HELP a x\n# HELP a x\n# TYPE a gauge\na 1\n",
        "# HELP a x\n# TYPE a gauge\n# HELP b x\n# TYPE b gauge\na 1\nb 1\na{c=\"d\"} 1\n",
        "# HELP a x\n# TYPE a gauge\na{b=\"\xC0\x80\"} 1\n", "# HELP a x\n# TYPE a gauge\na{b=\"\xED\xA0\x80\"} 1\n",
        "# HELP a x\n# TYPE a gauge\na_sum 1\n", "# HELP a x\n# TYPE a summary\na 1\n", "# HELP a x\\y\n# TYPE a gauge\na 1\n"};
    static scrape s;
    for (size_t i = 0; i < SETT__COUNT(bad); i++)
        ck_assert_msg(read_text(&s, bad[i]) != NULL, "%s", bad[i]);
    ck_assert_ptr_null(read_text(&s, "# HELP a x \\\\ \\n\n# TYPE a summary\na_sum{b=\"\\\\\\\"\\n{},\"} 1.5\na_count{b=\"\"} 2\n"));
}
END_TEST

/* ---- scraping --------------------------------------------------------------------------------- */
typedef struct page {
    char text[1 << 17];
    size_t len, longest;
    int calls, most; /* calls that are taken; 0: any number */
} page;

static bool keep(void *user, const char *text, size_t len)
{
    page *p = user;
    ck_assert_uint_lt(p->len + len, sizeof p->text);
    memcpy(p->text + p->len, text, len);
    p->len += len;
    p->text[p->len] = 0;
    p->longest = len > p->longest ? len : p->longest;
    return ++p->calls != p->most;
}

static void scrape_all(const sett_metrics_source *from, int n, scrape *s)
{
    static page p;
    sett_error err = {0};
    p = (page){.len = 0};
    ck_assert_msg(!sett_metrics_write(from, n, keep, &p, &err), "%s", err.text);
    ck_assert_uint_le(p.longest, 512);
    const char *why = read_text(s, p.text);
    ck_assert_msg(!why, "%s", why);
}

static const scrape *scrape_one(const sett_engine *e)
{
    static scrape s;
    scrape_all(&(sett_metrics_source){e, NULL}, 1, &s);
    return &s;
}

static const char *text_of(const scrape *s, const char *series)
{
    for (int i = 0; i < s->n_s; i++)
        if (!strcmp(s->sample[i], series))
            return s->value[i];
    ck_abort_msg("there is no %s", series);
    return "";
}

static double value_of(const scrape *s, const char *series)
{
    return strtod(text_of(s, series), NULL);
}

/* Every family has a sample for each engine, layer and device, and every number of the structs is there. */
static const scrape *compare(const sett_engine *e)
{
    sett__workers_flush(e->workers); /* what is written behind is counted when it is written */
    const scrape *s = scrape_one(e);
    const sett_stats st = stats(e);
    char series[400];
#define C(field, help) ck_assert_double_eq(value_of(s, "sett_" #field "_total"), (double)st.field);
#define T(times, ns, name, help) \
    ck_assert_double_eq(value_of(s, "sett_" name "_seconds_count"), (double)st.times); \
    ck_assert_double_eq_tol(value_of(s, "sett_" name "_seconds_sum"), (double)st.ns * 1e-9, 1e-9);
    SETT__HITS(C)
    SETT__COUNTERS(C, T)
#undef C
#undef T
    ck_assert_double_eq(value_of(s, "sett_kernels"), (double)st.kernels);
    ck_assert_double_eq(value_of(s, "sett_sealed"), st.sealed);
    ck_assert_double_eq(value_of(s, "sett_compiler_loaded"), st.compiler_loaded);
    ck_assert_double_eq(value_of(s, "sett_faulted"), st.faulted);
    uint64_t sums[5] = {0};
    for (int i = 0; i < sett_cache_layers(e); i++) {
        sett_cache_layer_info l = {.size = sizeof l};
        ck_assert_int_eq(sett_cache_layer(e, i, &l), SETT_OK);
#define C(field, help) \
    snprintf(series, sizeof series, "sett_layer_" #field "_total{layer=\"%d\",path=\"%s\"}", i, l.path); \
    ck_assert_double_eq(value_of(s, series), (double)l.field);
        SETT__LAYER_COUNTERS(C)
#undef C
        snprintf(series, sizeof series, "sett_layer_cap_bytes{layer=\"%d\",path=\"%s\"}", i, l.path);
        ck_assert_double_eq(value_of(s, series), (double)l.cap);
        snprintf(series, sizeof series, "sett_layer_usable{layer=\"%d\",path=\"%s\"}", i, l.path);
        ck_assert_double_eq(value_of(s, series), !l.why_not);
        sums[0] += l.heals, sums[1] += l.refusals, sums[2] += l.writes, sums[3] += l.evictions, sums[4] += l.duplicates;
    }
    ck_assert_uint_eq(st.heals, sums[0]);
    ck_assert_uint_eq(st.refusals, sums[1]);
    ck_assert_uint_eq(st.disk_writes, sums[2]);
    ck_assert_uint_eq(st.evictions, sums[3]);
    ck_assert_uint_eq(st.duplicates, sums[4]);
    return s;
}

static void entry_path(sett_engine *e, const sett_compile_options *o, char path[300])
{
    uint8_t key[32];
    char hex[65];
    ck_assert_int_eq(sett_key(e, scale, o, key, NULL), SETT_OK);
    for (int i = 0; i < 32; i++)
        snprintf(hex + 2 * i, 3, "%02x", key[i]);
    snprintf(path, 300, "%s/v1/%.2s/%s.sett", in_root("cache"), hex, hex + 2);
}

static void get(sett_engine *e, const sett_compile_options *o)
{
    sett_kernel_release(compile(e, o));
}

/* A miss, a hit of each kind, damage that is healed, a sealed miss: each where it belongs, by construction. */
START_TEST(known_counts)
{
    static const variant v = {0, 64, 2.0};
    sett_compile_options memo = sm90, other = sm90;
    char path[300];
    sett_kernel *k;
    if (!have_compiler())
        return;
    sett_engine_options o = options();
    mkdir(in_root("empty"), 0700);
    o.cache_layers = in_root("empty"); /* not marked as ours: not usable */
    sett_engine *e = open_with(&o);
    memo.user = &v, memo.user_size = sizeof v;
    get(e, &sm90); /* a miss, compiled */
    get(e, &sm90); /* in memory */
    get(e, &memo); /* the same key, in memory; then remembered */
    get(e, &memo);
    const scrape *s = compare(e);
    ck_assert_str_eq(text_of(s, "sett_misses_total"), "1");
    ck_assert_str_eq(text_of(s, "sett_compiles_total"), "1");
    ck_assert_str_eq(text_of(s, "sett_memory_hits_total"), "2");
    ck_assert_str_eq(text_of(s, "sett_memo_hits_total"), "1");
    ck_assert_str_eq(text_of(s, "sett_record_seconds_count"), "3");
    ck_assert_str_eq(text_of(s, "sett_codegen_seconds_count"), "1");
    ck_assert_str_eq(text_of(s, "sett_assemble_seconds_count"), "1");
    ck_assert_double_gt(value_of(s, "sett_record_seconds_sum"), 0);
    ck_assert_double_gt(value_of(s, "sett_codegen_seconds_sum"), 0);
    ck_assert_double_gt(value_of(s, "sett_assemble_seconds_sum"), 0);
    ck_assert_double_lt(value_of(s, "sett_codegen_seconds_sum"), 60);
    ck_assert_str_eq(text_of(s, "sett_kernels"), "1");
    ck_assert_str_eq(text_of(s, "sett_compiler_loaded"), "1");
    entry_path(e, &sm90, path);
    sett_engine_close(e);

    const size_t bytes = file_size(path);
    e = open_with(&o); /* from disk, but for one that is damaged */
    get(e, &sm90);
    other.target = "sm_80";
    ck_assert_int_eq(truncate(path, 700), 0);
    get(e, &other);
    sett_engine_close(e);
    e = open_with(&o);
    get(e, &sm90);
    get(e, &other);
    sett_engine_seal(e, true);
    other.opt_level = 1;
    ck_assert_int_eq(sett_compile(e, scale, &other, &k, NULL), SETT_E_NOT_CACHED);
    char name[300];
    s = compare(e);
    snprintf(name, sizeof name, "sett_layer_refusals_total{layer=\"1\",path=\"%s\"}", in_root("cache"));
    ck_assert_str_eq(text_of(s, name), "1");
    snprintf(name, sizeof name, "sett_layer_heals_total{layer=\"1\",path=\"%s\"}", in_root("cache"));
    ck_assert_str_eq(text_of(s, name), "1");
    snprintf(name, sizeof name, "sett_layer_hits_total{layer=\"1\",path=\"%s\"}", in_root("cache"));
    ck_assert_str_eq(text_of(s, name), "1");
    snprintf(name, sizeof name, "sett_layer_read_bytes_total{layer=\"1\",path=\"%s\"}", in_root("cache"));
    ck_assert_double_eq_tol(value_of(s, name), (double)bytes, 64); /* the other target's */
    snprintf(name, sizeof name, "sett_layer_usable{layer=\"0\",path=\"%s\"}", in_root("empty"));
    ck_assert_str_eq(text_of(s, name), "0");
    ck_assert_str_eq(text_of(s, "sett_disk_hits_total"), "1");
    ck_assert_str_eq(text_of(s, "sett_sealed_misses_total"), "1");
    ck_assert_str_eq(text_of(s, "sett_misses_total"), "2");
    ck_assert_str_eq(text_of(s, "sett_sealed"), "1");
    sett_engine_close(e);
}
END_TEST

/* Two that compile one kernel without a lock between them: who writes second finds it there. An assembler that fails is a
 * failure, a folder that is gone for good is a write that failed. */
START_TEST(duplicates_and_failures)
{
    sett_kernel *k;
    if (!have_compiler())
        return;
    sett_engine *one = open_engine(), *two;
    sett_engine_options o = options();
    o.compile_wait_ms = 30;
    two = open_with(&o);
    sett__digest key;
    sett__ticket t = {0};
    ck_assert_int_eq(sett_key(two, scale, &sm90, key.b, NULL), SETT_OK);
    ck_assert_int_eq(sett__disk_lock(sett__cache_folder(one->cache), &key, 0, false, &t), SETT__TURN_AT_ONCE);
    get(two, &sm90); /* waits in vain, and compiles */
    sett__workers_flush(two->workers);
    sett__disk_unlock(&t);
    ck_assert_uint_eq(stats(two).waits, 1);
    ck_assert_uint_eq(stats(two).late, 1);
    ck_assert_uint_ge(stats(two).wait_ns, 29000000);
    ck_assert_uint_eq(stats(two).duplicates, 0);
    sett__entry entry = {.owned = NULL};
    ck_assert_int_eq(sett__disk_get(sett__cache_folder(one->cache), &key, NULL, &entry, NULL), SETT_OK);
    ck_assert_int_eq(sett__disk_put(sett__cache_folder(one->cache), &key, &entry, false, NULL), SETT_OK);
    sett__entry_free(&entry);
    ck_assert_uint_eq(stats(one).duplicates, 1);
    compare(one);
    compare(two);
    sett_engine_close(one);
    sett_engine_close(two);

    write_file(in_root("ptxas"), "#!/bin/sh\nexit 1\n", 17, 0700);
    sett_compile_options other = sm90;
    other.target = "sm_80";
    one = open_engine();
    ck_assert_int_ne(sett_compile(one, scale, &other, &k, NULL), SETT_OK);
    ck_assert_uint_eq(stats(one).failures, 1);
    ck_assert_uint_eq(stats(one).compiles, 1);
    compare(one);
    sett_engine_close(one);
}
END_TEST

typedef struct arrival {
    sett_engine *from, *to;
    sett__digest key;
    bool damaged;
    int ms; /* after the wait has begun */
    atomic_bool *put;
} arrival;

/* Puts the entry into the folder of who waits for it, once he does. */
static void *arrive(void *user)
{
    arrival *a = user;
    sett__entry entry = {.owned = NULL};
    while (atomic_load(&a->to->runtime->count.misses) == 0)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    nanosleep(&(struct timespec){a->ms / 1000, a->ms % 1000 * 1000000}, NULL);
    if (sett__disk_get(sett__cache_folder(a->from->cache), &a->key, NULL, &entry, NULL))
        return NULL;
    if (a->damaged)
        ((uint8_t *)(uintptr_t)entry.cubin.data)[0] ^= 1; /* its digest will be right, the ELF gate refuses it */
    atomic_store(a->put, !sett__disk_put(sett__cache_folder(a->to->cache), &a->key, &entry, false, NULL));
    sett__entry_free(&entry);
    return NULL;
}

/* How long one waited whose limit is wait_ms, and for whom the entry came so many ms after the wait had begun. */
static uint64_t waited(sett_engine *from, bool damaged, int wait_ms, int ms)
{
    atomic_bool put = false;
    arrival a = {.from = from, .damaged = damaged, .ms = ms, .put = &put};
    pthread_t t;
    sett__ticket ticket = {0};
    char folder[40];
    sett_engine_options o = options();
    snprintf(folder, sizeof folder, "%s%d", damaged ? "damaged" : "whole", wait_ms);
    o.cache_dir = in_root(folder);
    o.compile_wait_ms = wait_ms;
    sett_engine *holder = open_with(&o);
    a.to = open_with(&o);
    ck_assert_int_eq(sett_key(a.to, scale, &sm90, a.key.b, NULL), SETT_OK);
    ck_assert_int_eq(sett__disk_lock(sett__cache_folder(holder->cache), &a.key, 0, false, &ticket), SETT__TURN_AT_ONCE);
    ck_assert_int_eq(pthread_create(&t, NULL, arrive, &a), 0);
    get(a.to, &sm90);
    pthread_join(t, NULL);
    ck_assert(put);
    const sett_stats st = stats(a.to);
    ck_assert_uint_eq(st.compiles, damaged ? 1 : 0);
    ck_assert_uint_eq(st.late, damaged ? 1 : 0);
    ck_assert_uint_eq(st.disk_hits, damaged ? 0 : 1);
    ck_assert_uint_eq(st.waits, 1);
    sett__disk_unlock(&ticket);
    sett_engine_close(a.to);
    sett_engine_close(holder);
    return st.wait_ns;
}

/* Who waits for another process has its entry as soon as that is written, though the turn is still the other's; one that is of
 * no use is waited over, and the limit is of the time before the entry and after it. A busy machine adds to the time, and does not
 * multiply it. */
START_TEST(waiting_for_an_entry)
{
    if (!have_compiler())
        return;
    sett_engine *from = open_engine();
    get(from, &sm90);
    sett__workers_flush(from->workers);
    waited(from, false, 600000, 20);
    int wait_ms = 400;
    while (waited(from, true, wait_ms, wait_ms * 7 / 8) >= (uint64_t)wait_ms * 1625000 && wait_ms < 30000)
        wait_ms *= 4;
    ck_assert_int_lt(wait_ms, 30000);
    sett_engine_close(from);
}
END_TEST

START_TEST(write_failures)
{
    if (!have_compiler())
        return;
    sett_engine_options o = options();
    o.cache_cap = 100; /* no entry is so small */
    sett_engine *e = open_with(&o);
    get(e, &sm90);
    sett__workers_flush(e->workers);
    ck_assert_uint_eq(stats(e).write_failures, 1);
    ck_assert_uint_eq(stats(e).disk_writes, 0);
    compare(e);
    sett_engine_close(e);
}
END_TEST

/* ---- several engines, labels --------------------------------------------------------------------- */
START_TEST(labels)
{
    static scrape s;
    sett_engine_options o = options();
    mkdir(in_root("a\"b\\c\nd"), 0700); /* what a label must quote, and what is no UTF-8 */
    mkdir(in_root("\xFF\xC3\xA9\xED\xA0\x80"), 0700);
    o.cache_layers = in_root("a\"b\\c\nd");
    o.cache_dir = in_root("\xFF\xC3\xA9\xED\xA0\x80");
    sett_engine *a = open_with(&o), *b = open_engine();
    get(b, NULL);
    const sett_metrics_source both[] = {{a, "decode \"1\"\n\\"}, {b, "pr\xC3\xA9" "fill"}};
    scrape_all(both, 2, &s);
    ck_assert_str_eq(text_of(&s, "sett_misses_total{engine=\"decode \\\"1\\\"\\n\\\\\"}"), "0");
    ck_assert_str_eq(text_of(&s, "sett_misses_total{engine=\"pr\xC3\xA9" "fill\"}"), "1");
    char series[600], path[200];
    snprintf(path, sizeof path, "%s", in_root(""));
    snprintf(series, sizeof series, "sett_layer_usable{engine=\"decode \\\"1\\\"\\n\\\\\",layer=\"0\",path=\"%sa\\\"b\\\\c\\nd\"}", path);
    ck_assert_str_eq(text_of(&s, series), "0");
    snprintf(series, sizeof series,
        "sett_layer_usable{engine=\"decode \\\"1\\\"\\n\\\\\",layer=\"1\",path=\"%s\xEF\xBF\xBD\xC3\xA9\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"}", path);
    ck_assert_str_eq(text_of(&s, series), "1");
    snprintf(series, sizeof series, "sett_info{engine=\"pr\xC3\xA9" "fill\",version=\"%s\",code_generator=\"%s\"}", SETT_VERSION,
        SETT__CODEGEN_ID);
    ck_assert_str_eq(text_of(&s, series), "1");
    sett_engine_close(a);
    sett_engine_close(b);
}
END_TEST

START_TEST(refusals)
{
    static page p;
    sett_error err = {0};
    sett_engine *e = open_engine();
    const sett_metrics_source one[] = {{e, NULL}, {e, NULL}}, named[] = {{e, "a"}, {e, "b"}, {e, "a"}}, none = {NULL, "x"};
    ck_assert_int_eq(sett_metrics_write(NULL, 1, keep, &p, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "sett_metrics_write: there is no source, or write is NULL");
    ck_assert_int_eq(sett_metrics_write(one, 0, keep, &p, NULL), SETT_E_ARGUMENT);
    ck_assert_int_eq(sett_metrics_write(one, 1, NULL, &p, NULL), SETT_E_ARGUMENT);
    ck_assert_int_eq(sett_metrics_write(&none, 1, keep, &p, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "sett_metrics_write: the engine is NULL");
    ck_assert_int_eq(sett_metrics_write(one, 2, keep, &p, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "sett_metrics_write: sources 0 and 1 have the same label");
    ck_assert_int_eq(sett_metrics_write(named, 3, keep, &p, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "sett_metrics_write: sources 0 and 2 have the same label");
    ck_assert_int_eq(p.calls, 0);
    p.most = 2; /* enough is enough */
    ck_assert_int_eq(sett_metrics_write(named, 2, keep, &p, NULL), SETT_OK);
    ck_assert_int_eq(p.calls, 2);
    sett_device_counts c = {.size = sizeof c, .loads = 7};
    ck_assert_int_eq(sett_device_stats(e, SETT_CPU, &c), SETT_OK);
    ck_assert_uint_eq(c.loads, 0);
    ck_assert_int_eq(sett_device_stats(e, 0, &c), SETT_E_NO_DEVICE);
    ck_assert_int_eq(sett_device_stats(e, SETT_CPU, NULL), SETT_E_ARGUMENT);
    ck_assert_int_eq(sett_device_stats(NULL, SETT_CPU, &c), SETT_E_ARGUMENT);
    c.size = 3;
    ck_assert_int_eq(sett_device_stats(e, SETT_CPU, &c), SETT_E_ARGUMENT);
    pid_t child = fork();
    if (!child) {
        sett_stats st = {.size = sizeof st, .misses = 7};
        sett_engine_stats(e, &st);
        _exit(sett_metrics_write(one, 1, keep, &p, NULL) == SETT_E_FORKED && p.calls == 2 && st.misses == 7 ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    ck_assert(WIFEXITED(status) && !WEXITSTATUS(status));
    sett_engine_close(e);
}
END_TEST

/* An older program's struct is shorter: what lies behind it stays. */
START_TEST(older_struct)
{
    sett_engine *e = open_engine();
    sett_stats st = {.size = offsetof(sett_stats, duplicates), .duplicates = 77};
    get(e, NULL);
    sett_engine_stats(e, &st);
    ck_assert_uint_eq(st.misses, 1);
    ck_assert_uint_eq(st.duplicates, 77);
    sett_engine_close(e);
}
END_TEST

/* ---- why a kernel is another ----------------------------------------------------------------------- */
static void key_of(sett_engine *e, const sett_compile_options *o, uint8_t key[32])
{
    ck_assert_int_eq(sett_key(e, scale, o, key, NULL), SETT_OK);
    get(e, o);
}

static const char *where_not(const char *folder)
{
    static char text[400];
    snprintf(text, sizeof text, "%s: it is not in the folder", folder);
    return text;
}

/* Each field by name; on disk, and in the memory of an engine that has no disk. */
START_TEST(explain)
{
    static const variant v = {0, 64, 3.0};
    sett_compile_options o[5] = {sm90, sm90, sm90, sm90, sm90};
    static const char *const want[] = {"", "target: sm_90a | sm_80\n", "optimisation: 3 | 1\n", "line info: 0 | 1\n", "tape: "};
    uint8_t key[5][32];
    char text[400], hex[65];
    sett_error err = {0};
    if (!have_compiler())
        return;
    o[1].target = "sm_80", o[2].opt_level = 1, o[3].line_info = true, o[4].user = &v;
    sett_engine_options eo = options();
    eo.cache_dir = _i ? "" : eo.cache_dir;
    sett_engine *e = open_with(&eo);
    for (int i = 0; i < 5; i++)
        key_of(e, &o[i], key[i]);
    if (!_i) { /* another engine, which has them on disk alone */
        sett_engine_close(e);
        e = open_with(&eo);
    }
    for (int i = 0; i < 5; i++) {
        int n = sett_cache_explain(e, key[0], key[i], text, sizeof text, &err);
        ck_assert_int_eq(n, (int)strlen(text));
        ck_assert_msg(strstr(text, want[i]) && !i == !n, "%d: %s", i, text);
        /* Another target may have another PTX version, and line information is another tape. */
        ck_assert_msg(i % 2 || !n || strchr(text, '\n') == text + n - 1, "%s", text);
        ck_assert_int_eq(sett_cache_explain(e, key[0], key[i], NULL, 0, NULL), n);
    }
    key[1][0] ^= 1;
    ck_assert_int_eq(sett_cache_explain(e, key[0], key[1], text, sizeof text, &err), -1);
    ck_assert_int_eq(err.status, SETT_E_NOT_CACHED);
    sett__hex_write(key[1], hex);
    snprintf(text, sizeof text, "sett_cache_explain: the second key, %s, is of no kernel that was compiled here for a GPU or cached "
                                "(a CPU kernel never is): ", hex);
    ck_assert_msg(!strncmp(err.text, text, strlen(text)), "%s", err.text);
    ck_assert_str_eq(err.text + strlen(text), _i ? "there is no cache: cache_dir is \"\", and no layer is named" : where_not(eo.cache_dir));
    ck_assert_int_eq(sett_cache_explain(e, key[1], key[0], text, sizeof text, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "the first key, "));
    ck_assert_int_eq(sett_cache_explain(e, key[0], NULL, text, sizeof text, &err), -1);
    ck_assert_str_eq(err.text, "sett_cache_explain: a key is NULL");
    sett_engine_close(e);
}
END_TEST

/* ---- devices ------------------------------------------------------------------------------------- */
static void device_is(sett_engine *e, int device, uint64_t loads, uint64_t bytes)
{
    sett_device_counts c = {.size = sizeof c};
    char series[80];
    ck_assert_int_eq(sett_device_stats(e, device, &c), SETT_OK);
    ck_assert_uint_eq(c.loads, loads);
    ck_assert_uint_eq(c.loaded_bytes, bytes);
    ck_assert(!loads == !c.load_ns);
    const scrape *s = scrape_one(e);
    snprintf(series, sizeof series, "sett_device_loaded_bytes_total{device=\"%d\"}", device);
    ck_assert_double_eq(value_of(s, series), (double)bytes);
    snprintf(series, sizeof series, "sett_device_load_seconds_count{device=\"%d\"}", device);
    ck_assert_double_eq(value_of(s, series), (double)loads);
}

START_TEST(devices)
{
    int *result = have_compiler() ? fake_driver() : NULL;
    if (!result)
        return;
    sett_engine_options o = options();
    o.no_gpu = false;
    o.module_api = _i;
    sett_engine *e = open_with(&o);
    ck_assert_int_eq(sett_gpu_count(e), 2);
    sett_kernel *k = compile(e, &sm90);
    sett_kernel_info info = {.size = sizeof info};
    sett_kernel_query(k, &info);
    device_is(e, 0, 0, 0);
    ck_assert_int_eq(sett_prepare(k, 1, NULL), SETT_OK);
    ck_assert_int_eq(sett_prepare(k, 1, NULL), SETT_OK); /* it is there */
    device_is(e, 0, 0, 0);
    device_is(e, 1, 1, info.cubin_size);
    ck_assert_int_eq(sett_prepare(k, 0, NULL), SETT_OK);
    device_is(e, 0, 1, info.cubin_size);
    ck_assert_int_eq(sett_unload(k, NULL), SETT_OK);
    *result = 2; /* no memory: nothing is loaded, nothing counted */
    ck_assert_int_eq(sett_prepare(k, 0, NULL), SETT_E_MEMORY);
    device_is(e, 0, 1, info.cubin_size);
    *result = 0;
    ck_assert_int_eq(sett_prepare(k, 0, NULL), SETT_OK);
    device_is(e, 0, 2, 2 * info.cubin_size);
    ck_assert(!stats(e).faulted);
    *result = 700;
    ck_assert_int_eq(sett_sync(e, ((sett_stream){0, NULL})), SETT_E_FAULT);
    ck_assert(stats(e).faulted);
    compare(e);
    sett_kernel_release(k);
    sett_engine_close(e);
    *result = 0;
}
END_TEST

/* ---- while others work ------------------------------------------------------------------------------ */
static void *work(void *user)
{
    sett_engine *e = user;
    for (int i = 0; i < 20; i++) {
        variant v = {0, 64, 2.0 + i};
        const sett_compile_options o = {.size = sizeof o, .target = "cpu", .user = &v, .user_size = sizeof v};
        get(e, &o);
    }
    return NULL;
}

START_TEST(while_others_work)
{
    enum { CREW = 4 };
    pthread_t t[CREW];
    sett_engine *e = open_engine();
    for (int i = 0; i < CREW; i++)
        ck_assert_int_eq(pthread_create(&t[i], NULL, work, e), 0);
    double last = 0;
    for (int i = 0; i < 20; i++) {
        double now = value_of(scrape_one(e), "sett_record_seconds_count");
        ck_assert_double_ge(now, last); /* a counter never falls */
        last = now;
    }
    for (int i = 0; i < CREW; i++)
        pthread_join(t[i], NULL);
    const scrape *s = compare(e);
    ck_assert_str_eq(text_of(s, "sett_kernels"), "20");
    sett_engine_close(e);
}
END_TEST

Suite *metrics_suite(void);
Suite *metrics_suite(void)
{
    Suite *s = suite_create("metrics");
    TCase *t = tcase_create("all");
    const TTest *const tests[] = {the_reader_refuses, known_counts, duplicates_and_failures, waiting_for_an_entry, write_failures, labels,
        refusals, older_struct, while_others_work};
    tcase_add_checked_fixture(t, make_root, drop_root);
    for (size_t i = 0; i < SETT__COUNT(tests); i++)
        tcase_add_test(t, tests[i]);
    tcase_add_loop_test(t, devices, 0, 2);
    tcase_add_loop_test(t, explain, 0, 2);
    suite_add_tcase(s, t);
    return s;
}
