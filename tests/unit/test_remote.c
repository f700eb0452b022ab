/* SPDX-License-Identifier: Apache-2.0 */
/* The remote tier: what an engine gives a server and takes from one, whom it believes, and what servers that are slow, dead
 * or hostile cost it, which is never a kernel. A server of our own stands in for all; tests/remote.sh runs the first half of
 * these tests also over nginx and Redis (SETT_TEST_REMOTES: URLs with blanks between). */
#include "jit/cache/inside.h"
#include "tests/rig/rig.h"
#include "tests/rig/server.h"
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { URLS = 16, CREW = 16 };
static server *own;
static char url[URLS][200]; /* of one folder or database each */
static int n_url;
static char said[1 << 16];
static pthread_mutex_t saying = PTHREAD_MUTEX_INITIALIZER;

/* ---- the rig ------------------------------------------------------------------------------ */
static void start(void)
{
    char *list = getenv("SETT_TEST_REMOTES"), *copy = list ? strdup(list) : NULL, *rest = copy;
    make_root();
    own = server_start();
    n_url = 0;
    snprintf(url[n_url++], sizeof *url, "http://127.0.0.1:%d/plain", server_port(own));
    snprintf(url[n_url++], sizeof *url, "http://127.0.0.1:%d/b/|layout=bazel", server_port(own));
    snprintf(url[n_url++], sizeof *url, "redis://127.0.0.1:%d", server_port(own));
    for (char *one; (one = strsep(&rest, " ")) && n_url < URLS;)
        if (*one)
            snprintf(url[n_url++], sizeof *url, "%s", one);
    free(copy);
    said[0] = 0;
    write_file(in_root("secret"), "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n", 65, 0600);
    write_file(in_root("other"), "ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n", 65, 0600);
}

static void stop(void)
{
    server_stop(own);
    drop_root();
}

static bool ready(void)
{
    char path[4096];
    if (sett__beside("libsett-remote.so", path, sizeof path))
        return have_compiler();
    fprintf(stderr, "skipped: libsett-remote.so was not built\n");
    return false;
}

static void note(void *user, sett_log_level level, const char *component, const char *text)
{
    (void)user;
    if (level > SETT_LOG_WARNING)
        return;
    pthread_mutex_lock(&saying);
    size_t n = strlen(said);
    snprintf(said + n, sizeof said - n, "%s: %s\n", component, text);
    pthread_mutex_unlock(&saying);
}

static bool was_said(const char *text)
{
    pthread_mutex_lock(&saying);
    bool found = strstr(said, text) != NULL;
    pthread_mutex_unlock(&saying);
    return found;
}

/* A machine of its own: a folder, and a remote. */
static sett_engine_options machine(const char *folder, const char *remote)
{
    sett_engine_options o = options();
    o.cache_dir = in_root(folder);
    o.cache_remote = remote;
    o.cache_secret = in_root("secret");
    o.log = note;
    return o;
}

static sett_engine *open_machine(const char *folder, const char *remote)
{
    sett_engine_options o = machine(folder, remote);
    return open_with(&o);
}

static const char *with(const char *remote, const char *attributes)
{
    static _Thread_local char text[4][600];
    static _Thread_local int next;
    next = (next + 1) % 4;
    snprintf(text[next], sizeof text[next], "%s%s", remote, attributes);
    return text[next];
}

static sett_cache_layer_info remote_of(const sett_engine *e)
{
    sett_cache_layer_info l = layer(e, sett_cache_layers(e) - 1);
    ck_assert(l.remote);
    return l;
}

/* Kernels of many keys: one name on all servers for each test and URL. */
static variant shape;
static sett_kernel *get_kernel(sett_engine *e)
{
    sett_compile_options o = sm90;
    o.user = &shape;
    return compile(e, &o);
}

static void new_shape(void)
{
    static int64_t next = 100;
    shape = (variant){next++ + (int64_t)getpid() % 100000 * 1000, 64, 2.0};
}

static void key_of(sett_engine *e, char name[65], sett__digest *key)
{
    sett_compile_options o = sm90;
    sett_error err = {0};
    o.user = &shape;
    ck_assert_msg(!sett_key(e, scale, &o, key->b, &err), "%s", err.text);
    sett__hex_write(key->b, name);
}

static sett_cache_layer_info last; /* what its remote did */

/* Which of the three it took its kernel from, once its writing is done; closes the engine. */
static sett_origin origin_on(sett_engine *e, sett_stats *out)
{
    sett_kernel_info info = {.size = sizeof info};
    sett_kernel *k = get_kernel(e);
    ck_assert_int_eq(sett_kernel_query(k, &info), SETT_OK);
    ck_assert_ptr_nonnull(info.cubin);
    sett__workers_flush(e->workers);
    if (out)
        *out = stats(e);
    last = (sett_cache_layer_info){.size = sizeof last};
    sett_cache_layer(e, sett_cache_layers(e) - 1, &last);
    last.writes = last.remote ? last.writes : 0;
    sett_kernel_release(k);
    sett_engine_close(e);
    return info.origin;
}

/* The plug-in itself, to put and get any bytes. */
static const sett__remote_plugin *raw;
static void sum(const void *data, size_t len, uint8_t out[32])
{
    sett__digest d;
    sett__sha256(data, len, &d);
    memcpy(out, d.b, sizeof d.b);
}

static sett__remote *raw_open(const char *text)
{
    static const sett__shared so = {"remote cache", "libsett-remote.so", "SETT_REMOTE_PLUGIN", SETT__REMOTE_SYMBOL};
    const sett__remote_host host = {sum};
    char path[SETT__SHARED_PATH];
    sett__remote_facts facts;
    sett_error err = {0};
    sett__remote *r;
    union {
        void *address;
        sett__remote_plugin_fn fn;
    } entry = {sett__shared_symbol(&so, NULL, path, SETT_E_IO, &err)};
    ck_assert_msg(entry.address != NULL, "%s", err.text);
    raw = entry.fn();
    ck_assert_msg(!raw->open(&r, text, &host, &facts, &err), "%s", err.text);
    return r;
}

static void raw_put(const char *text, const char *name, const void *data, size_t len)
{
    sett_error err = {0};
    bool sent;
    sett__remote *r = raw_open(text);
    raw->refuse(r, name, 0); /* what is there is replaced */
    ck_assert_msg(!raw->put(r, name, data, len, &sent, &err), "%s: %s", text, err.text);
    ck_assert(sent);
    raw->close(r);
}

/* malloc'ed; NULL: it has none. */
static void *raw_get(const char *text, const char *name, size_t *len)
{
    sett_error err = {0};
    void *data;
    sett__remote *r = raw_open(text);
    sett_status s = raw->get(r, name, &data, len, &err);
    ck_assert_msg(!s || s == SETT_E_NOT_CACHED, "%s: %s", text, err.text);
    raw->close(r);
    return data;
}

/* ---- over every server ------------------------------------------------------------------------ */
START_TEST(put_then_get)
{
    const char *u = url[_i];
    sett_stats st;
    if (_i >= n_url || !ready())
        return;
    new_shape();
    ck_assert_int_eq(origin_on(open_machine("a", u), &st), SETT_FROM_COMPILER);
    ck_assert_msg(last.writes == 1 && st.compiles == 1 && !st.remote_hits, "%s\n%s", u, said);
    ck_assert_uint_gt(last.written_bytes, 600);
    ck_assert_int_eq(origin_on(open_machine("b", u), &st), SETT_FROM_REMOTE);
    ck_assert(st.remote_hits == 1 && !st.compiles && !last.writes && !st.disk_hits && st.disk_writes == 1);
    ck_assert(!st.compiler_loaded);
    ck_assert_int_eq(origin_on(open_machine("b", u), &st), SETT_FROM_DISK); /* the next process of that machine */
    ck_assert_int_eq(st.remote_hits, 0);
    sett_engine_options o = machine("", u); /* with nowhere to write */
    o.cache_dir = "";
    ck_assert_int_eq(origin_on(open_with(&o), &st), SETT_FROM_REMOTE);
    sett_engine *e = open_machine("c", u); /* by key alone */
    sett_kernel *k = NULL;
    sett_error err = {0};
    sett__digest key;
    char name[65];
    key_of(e, name, &key);
    ck_assert_msg(!sett_kernel_get(e, key.b, &k, &err), "%s", err.text);
    ck_assert_uint_eq(remote_of(e).hits, 1);
    ck_assert(remote_of(e).read_bytes > 600 && remote_of(e).writable && !remote_of(e).written_bytes);
    sett_kernel_release(k);
    sett_engine_close(e);
    ck_assert_str_eq(said, "");
}
END_TEST

typedef struct spoilt {
    const char *what, *attributes, *said;
} spoilt;
static const spoilt spoils[] = {
    {"bit", "", "its digest does not match its bytes"},
    {"cut", "", "its digest does not match its bytes"},
    {"empty", "", "an entry of 0 bytes"},
    {"other key", "", "it belongs to another key"},
    {"no code", "", "it is not authenticated"},
    {"other secret", "", "it is authenticated by a secret that we do not have"},
    {"long", "|max-bytes=500", "was refused: an "},
};

/* The bytes that shall lie under this name, made of a sound entry's. */
static void *spoil(const spoilt *s, const sett__digest *key, const void *sound, size_t len, size_t *out_len)
{
    uint8_t *bytes = malloc(len);
    memcpy(bytes, sound, len);
    *out_len = !strcmp(s->what, "cut") ? len - 64 : !strcmp(s->what, "empty") ? 0 : len;
    if (!strcmp(s->what, "bit"))
        bytes[len / 2] ^= 4;
    bool recode = !strcmp(s->what, "no code") || !strcmp(s->what, "other secret") || !strcmp(s->what, "other key");
    if (!recode)
        return bytes;
    sett__entry e;
    sett__auth auth;
    sett__digest of = *key;
    sett_error err = {0};
    void *made;
    ck_assert_msg(!sett__entry_decode(sound, len, key, NULL, &e, &err), "%s", err.text);
    const char *secret = in_root(!strcmp(s->what, "other secret") ? "other" : "secret");
    ck_assert_msg(!sett__auth_read(&sett__os_libc, secret, &auth, &err), "%s", err.text);
    of.b[5] ^= !strcmp(s->what, "other key");
    ck_assert(!sett__entry_encode(&of, &e, strcmp(s->what, "no code") ? &auth : NULL, &made, out_len, &err));
    free(bytes);
    return made;
}

/* Refused, compiled, put anew: the next machine has it. */
START_TEST(refused_and_healed)
{
    if (_i >= n_url || !ready())
        return;
    for (size_t i = 0; i < SETT__COUNT(spoils); i++) {
        const char *u = url[_i], *asked = with(u, spoils[i].attributes);
        bool is_long = !strcmp(spoils[i].what, "long");
        char folder[40], name[65];
        size_t len, bad_len;
        sett_stats st;
        sett__digest key;
        new_shape();
        snprintf(folder, sizeof folder, "m%zu", i);
        sett_engine *e = open_machine(folder, u);
        key_of(e, name, &key);
        ck_assert_int_eq(origin_on(e, NULL), SETT_FROM_COMPILER);
        void *sound = raw_get(u, name, &len), *bad = spoil(&spoils[i], &key, sound, len, &bad_len);
        raw_put(u, name, bad, bad_len);
        said[0] = 0;
        snprintf(folder, sizeof folder, "n%zu", i);
        ck_assert_msg(origin_on(open_machine(folder, asked), &st) == SETT_FROM_COMPILER, "%s: %s", u, spoils[i].what);
        ck_assert_msg(was_said(spoils[i].said), "%s: %s: %s", u, spoils[i].what, said);
        ck_assert_uint_eq(st.refusals, 1);
        ck_assert_uint_eq(last.writes, 1);
        free(bad);
        bad = raw_get(u, name, &bad_len);
        ck_assert(bad_len == len && !memcmp(bad, sound, len)); /* equal kernels are equal bytes */
        snprintf(folder, sizeof folder, "o%zu", i);
        ck_assert_int_eq(origin_on(open_machine(folder, is_long ? u : asked), NULL), SETT_FROM_REMOTE);
        free(bad);
        free(sound);
    }
}
END_TEST

/* What carries no code is believed where the user says so; it is still verified. */
START_TEST(trusted)
{
    const char *u = with(url[_i], "|trusted");
    sett_stats st;
    char name[65];
    size_t len;
    sett__digest key;
    if (_i >= n_url || !ready())
        return;
    new_shape();
    sett_engine_options o = machine("a", u);
    o.cache_secret = NULL;
    sett_engine *e = open_with(&o);
    key_of(e, name, &key);
    ck_assert_int_eq(origin_on(e, NULL), SETT_FROM_COMPILER);
    o.cache_dir = in_root("b");
    ck_assert_int_eq(origin_on(open_with(&o), &st), SETT_FROM_REMOTE);
    uint8_t *bytes = raw_get(url[_i], name, &len);
    bytes[len - 40] ^= 1;
    raw_put(url[_i], name, bytes, len);
    free(bytes);
    o.cache_dir = in_root("c");
    ck_assert_int_eq(origin_on(open_with(&o), &st), SETT_FROM_COMPILER);
    ck_assert_uint_eq(st.refusals, 1);
}
END_TEST

START_TEST(read_only_and_sealed)
{
    const char *u = url[_i];
    sett_stats st;
    char name[65];
    size_t len;
    sett__digest key;
    sett_error err = {0};
    sett_kernel *k;
    if (_i >= n_url || !ready())
        return;
    new_shape();
    sett_engine *e = open_machine("a", with(u, "|read-only"));
    key_of(e, name, &key);
    ck_assert(!remote_of(e).writable);
    ck_assert_int_eq(origin_on(e, &st), SETT_FROM_COMPILER);
    ck_assert(!last.writes && !raw_get(u, name, &len));
    sett_engine_options o = machine("b", u);
    sett_compile_options co = sm90;
    co.user = &shape;
    o.sealed = true;
    e = open_with(&o);
    ck_assert_int_eq(sett_compile(e, scale, &co, &k, &err), SETT_E_NOT_CACHED);
    ck_assert_ptr_nonnull(strstr(err.text, "the engine is sealed"));
    sett_engine_close(e);
    ck_assert(!raw_get(u, name, &len));
    ck_assert_int_eq(origin_on(open_machine("c", u), NULL), SETT_FROM_COMPILER);
    ck_assert_int_eq(origin_on(open_with(&o), NULL), SETT_FROM_REMOTE);
    ck_assert_int_ne(access(o.cache_dir, F_OK), 0); /* a sealed engine keeps nothing of it */
}
END_TEST

/* An entry that is there is not sent again. */
START_TEST(looks_before_it_puts)
{
    char name[65] = "";
    bool sent;
    size_t len;
    if (_i >= n_url || !ready())
        return;
    for (int i = 0; i < 64; i++)
        name[i] = "0123456789abcdef"[(i * 7 + getpid() + _i) & 15];
    sett__remote *r = raw_open(url[_i]);
    sett_error err = {0};
    ck_assert_int_eq(raw->probe(r, &err), SETT_OK);
    for (int i = 0; i < 2; i++) {
        ck_assert_msg(!raw->put(r, name, i ? "two" : "one", 3, &sent, &err), "%s", err.text);
        ck_assert(sent == !i);
    }
    raw->close(r);
    char *data = raw_get(url[_i], name, &len);
    ck_assert(len == 3 && !memcmp(data, "one", 3));
    free(data);
}
END_TEST

/* ---- servers that do not serve ------------------------------------------------------------------ */
typedef struct odd {
    const char *says, *said; /* in the log; NULL: a miss like any other */
    bool redis, down;        /* it counts for the circuit breaker */
} odd;
#define HTTP(code) "HTTP/1.1 " code " x\r\nContent-Length: 0\r\n\r\n"
static const odd odds[] = {{HTTP("404"), NULL, false, false}, {HTTP("410"), NULL, false, false},
    {HTTP("500"), "HTTP 500", false, true}, {HTTP("503"), "HTTP 503", false, true}, {HTTP("429"), "HTTP 429", false, true},
    {HTTP("403"), "HTTP 403", false, false}, {HTTP("204"), "HTTP 204", false, false},
    {"HTTP/1.1 302 x\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n", "HTTP 302: a redirect, which is not followed", false,
        false},
    {"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\nx", "was refused: an answer of more than 16777216 bytes", false, false},
    {"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", "", false, true}, /* and then nothing: curl's own text */
    {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nshort", "was refused: an entry of 5 bytes", false, false},
    {"nonsense\r\n\r\n", "", false, true}, {"$-1\r\n", NULL, true, false}, {"-ERR no\r\n", "Redis: ERR no", true, false},
    {"-LOADING wait\r\n", "Redis: LOADING wait", true, true}, {"+OK\r\n", "Redis: a reply of type", true, false},
    {"-ERR x\nsett: error: forged \033]0;title\007\177\r\n", "Redis: ERR x\\nsett: error: forged \\x1b]0;title\\x07\\x7f", true, false},
    {"$99999999999\r\n", "was refused: an answer of more than 16777216 bytes", true, false},
    {"$3\r\nabc\r\n", "was refused: an entry of 3 bytes", true, false},
    {"*1000000000\r\n", "it does not speak as Redis does", true, true}, {"nonsense", "it does not speak as Redis does", true, true}};

START_TEST(odd_answers)
{
    const odd *o = &odds[_i];
    sett_stats st;
    if (!ready())
        return;
    new_shape();
    server_behave(own, SAYS, o->says, strlen(o->says));
    bool stops = strstr(o->says, "Content-Length: 100"); /* and says no more; who says all has the time that a busy machine needs */
    sett_engine *e = open_machine("a", with(url[o->redis ? 2 : 0], stops ? "|total-ms=400|read-only" : "|total-ms=60000|read-only"));
    sett_kernel *k = get_kernel(e);
    ck_assert_uint_eq(remote_of(e).errors, o->said && !strstr(o->said, "refused"));
    ck_assert_uint_eq(remote_of(e).refusals, o->said && strstr(o->said, "refused"));
    ck_assert_msg(o->said ? was_said(o->said) && *said : !*said, "%s: %s", o->says, said);
    sett_kernel_release(k);
    for (int i = 0; i < 4; i++) { /* three are enough for those that are down */
        new_shape();
        sett_kernel_release(get_kernel(e));
    }
    st = stats(e);
    ck_assert_uint_eq(st.compiles, 5);
    ck_assert_int_eq(remote_of(e).off, o->down);
    ck_assert_uint_eq(remote_of(e).skipped, o->down ? 2 : 0);
    sett_engine_close(e);
}
END_TEST

/* Silent, dripping or not there at all: three time-outs, and then it is left alone; when it is back it is used again. */
START_TEST(breaker)
{
    static const struct {
        manner manner;
        const char *scheme;
        bool dead;
    } t[] = {{SILENT, "http", false}, {DRIPS, "http", false}, {SERVES, "http", true}, {SILENT, "redis", false},
        {DRIPS, "redis", false}, {SERVES, "redis", true}, {SILENT, "rediss", false}, {DRIPS, "rediss", false}};
    char u[200];
    if (!ready())
        return;
    snprintf(u, sizeof u, "%s://127.0.0.1:%d/|total-ms=150|connect-ms=100|failures=3|retry-ms=600000", t[_i].scheme,
        t[_i].dead ? unused_port() : server_port(own));
    server_behave(own, t[_i].manner, NULL, 0);
    sett_engine *e = open_machine("a", u);
    for (int i = 0; i < 8; i++) { /* each ends, else the runner says so */
        new_shape();
        sett_kernel_release(get_kernel(e));
    }
    sett__workers_flush(e->workers);
    ck_assert_uint_eq(stats(e).compiles, 8);
    ck_assert(remote_of(e).off && remote_of(e).errors >= 3 && remote_of(e).errors <= 4); /* a put may be under way with the third get */
    ck_assert_uint_eq(remote_of(e).errors + remote_of(e).skipped, 16);
    ck_assert_msg(was_said("it is left alone for 600 s"), "%s", said);
    server_counts c = server_count(own);
    ck_assert_int_le(c.gets + c.looks + c.puts, 4);
    sett_engine_close(e);
}
END_TEST

/* Servers that always have more to say. Each costs at most its share of time and memory, and no kernel; those that say nothing of
 * use are left alone after three, whatever they say. */
typedef struct flood {
    const char *head, *more, *said;
    bool redis, down;
} flood;
#define OK200 "HTTP/1.1 200 OK\r\n"
#define BLOCK64 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
static const flood floods[] = {
    {"+", "a", "a line that does not end", true, true}, {"-ERR ", "a", "a line that does not end", true, true},
    {":", "1", "a line that does not end", true, true}, {"$", "9", "a line that does not end", true, true},
    {"$-", "1", "a line that does not end", true, true}, {"+OK\r\n+OK\r\n", "+OK\r\n", "more than it was asked for", true, true},
    {"$5\r\n", BLOCK64, "more than it was asked for", true, true}, {"*", "9", "it does not speak as Redis does", true, true},
    {"$16777000\r\n", BLOCK64, NULL, true, true}, {"$99999999\r\n", BLOCK64, "was refused: an answer of more than 16777216 bytes", true, false},
    {OK200 "X: ", "a", "a header line", false, true}, {OK200, "X: " BLOCK64 "\r\n", "headers of more than", false, true},
    {"", "HTTP/1.1 100 Continue\r\n\r\n", "headers of more than", false, true},
    {OK200 "\r\n", BLOCK64, "was refused: an answer of more than 16777216 bytes", false, true},
    {OK200 "Transfer-Encoding: chunked\r\n\r\n", "40\r\n" BLOCK64 "\r\n", "was refused: an answer of more than 16777216 bytes", false, true},
    {OK200 "Transfer-Encoding: chunked\r\n\r\n1;", BLOCK64, NULL, false, true},
    {OK200 "Transfer-Encoding: chunked\r\n\r\n0\r\n", "T: " BLOCK64 "\r\n", NULL, false, true},
    {OK200 "Content-Length: 16777000\r\n\r\n", BLOCK64, NULL, false, true},
    {OK200 "Content-Length: 99999999\r\n\r\n", BLOCK64, "was refused: an answer of more than 16777216 bytes", false, false},
    {"HTTP/1.1 404 x\r\n\r\n", BLOCK64, NULL, false, false}, {"HTTP/1.1 403 x\r\n\r\n", BLOCK64, "HTTP 403", false, false},
    {"HTTP/1.1 500 x\r\n\r\n", BLOCK64, "HTTP 500", false, true}};

/* How long an answer takes is what it costs its reader, and how often the server says more: a busy machine makes neither more. */
static void endure(const flood *f, int pace_us)
{
    size_t len;
    void *data = NULL;
    server_pour(own, f->head, strlen(f->head), f->more, strlen(f->more), pace_us);
    sett_engine *e = open_machine("a", with(url[f->redis ? 2 : 0], "|total-ms=300|read-only|retry-ms=600000"));
    sett__remote *r = raw_open(with(url[f->redis ? 2 : 0], "|total-ms=300"));
    long before = most_memory();
    for (int i = 0; i < 8; i++) {
        double start = thread_cpu_ms();
        unsigned long poured = server_poured(own);
        ck_assert_int_ne(raw->get(r, "ab", &data, &len, NULL), SETT_E_MEMORY);
        ck_assert_msg(thread_cpu_ms() - start < 10 * 300, "%s: %g ms of CPU time", f->head, thread_cpu_ms() - start);
        ck_assert_msg(!pace_us || server_poured(own) - poured < 15000, "%s: %lu times more", f->head, server_poured(own) - poured);
        free(data);
    }
    raw->close(r);
    for (int i = 0; i < 4; i++) {
        new_shape();
        sett_kernel_release(get_kernel(e));
    }
    ck_assert_msg(most_memory() - before < 160 << 10, "%s: %ld KiB", f->head, most_memory() - before);
    ck_assert_uint_eq(stats(e).compiles, 4);
    if (!pace_us) {
        ck_assert_msg(!f->said || was_said(f->said) || was_said("timed out"), "%s: %s", f->head, said); /* a slow machine's time ends first */
        ck_assert_msg(remote_of(e).off == f->down && remote_of(e).skipped == (f->down ? 1 : 0), "%s: %s", f->head, said);
    }
    sett_engine_close(e);
}

START_TEST(floods_end)
{
    ready() ? endure(&floods[_i / 2], _i % 2 * 2000 /* as fast as it goes, and slowly */) : (void)0;
}
END_TEST

/* The time for which it is left alone is scaled by what one kernel takes here: three must come in it. */
START_TEST(half_open)
{
    char attributes[60];
    sett_stats st;
    if (!ready())
        return;
    new_shape();
    double from = sett__now_ms();
    ck_assert_int_eq(origin_on(open_machine("a", url[0]), NULL), SETT_FROM_COMPILER);
    const unsigned retry_ms = 2000 + 15 * (unsigned)(sett__now_ms() - from);
    snprintf(attributes, sizeof attributes, "|failures=2|retry-ms=%u|read-only", retry_ms);
    variant there = shape;
    server_behave(own, SAYS, HTTP("500"), strlen(HTTP("500")));
    sett_engine *e = open_machine("b", with(url[0], attributes));
    for (int i = 0; i < 3; i++) {
        new_shape();
        sett_kernel_release(get_kernel(e));
    }
    ck_assert(remote_of(e).off && remote_of(e).skipped == 1);
    usleep((retry_ms + 100) * 1000);
    new_shape();
    sett_kernel_release(get_kernel(e)); /* the trial fails */
    ck_assert(remote_of(e).off && remote_of(e).errors == 3 && remote_of(e).skipped == 1);
    server_behave(own, SERVES, NULL, 0);
    usleep((retry_ms + 100) * 1000);
    shape = there;
    sett_kernel_release(get_kernel(e));
    st = stats(e);
    ck_assert(st.remote_hits == 1 && !remote_of(e).off);
    sett_engine_close(e);
}
END_TEST

/* It gives and does not take: it is not asked to take again, and goes on giving. */
START_TEST(takes_nothing)
{
    if (!ready())
        return;
    sett_engine *e = open_machine("a", url[0]);
    server_behave(own, SAYS, HTTP("404"), strlen(HTTP("404")));
    for (int i = 0; i < 3; i++) {
        new_shape();
        sett_kernel_release(get_kernel(e));
    }
    sett__workers_flush(e->workers);
    ck_assert(!remote_of(e).off && remote_of(e).skipped == 2 && remote_of(e).errors == 1);
    ck_assert_int_eq(server_count(own).puts, 1);
    ck_assert_int_eq(server_count(own).gets, 3);
    sett_engine_close(e);
}
END_TEST

typedef struct asker {
    sett_engine *e;
    sett__digest key;
    sett_kernel *k;
    sett_status status;
} asker;

static void *ask(void *user)
{
    asker *a = user;
    a->status = sett_kernel_get(a->e, a->key.b, &a->k, NULL);
    return NULL;
}

START_TEST(one_request_a_key)
{
    asker a[CREW];
    pthread_t t[CREW];
    char name[65];
    if (!ready())
        return;
    for (int there = 0; there < 2; there++) {
        new_shape();
        if (there)
            origin_on(open_machine("a", url[0]), NULL);
        server_delay(own, 300);
        int before = server_count(own).gets;
        sett_engine *e = open_machine("b", url[0]);
        for (int i = 0; i < CREW; i++) {
            a[i] = (asker){.e = e};
            key_of(e, name, &a[i].key);
            ck_assert(!pthread_create(&t[i], NULL, ask, &a[i]));
        }
        for (int i = 0; i < CREW; i++) {
            pthread_join(t[i], NULL);
            ck_assert_int_eq(a[i].status, there ? SETT_OK : SETT_E_NOT_CACHED);
            ck_assert(a[i].k == a[0].k);
            sett_kernel_release(a[i].k);
        }
        ck_assert_int_eq(server_count(own).gets - before, there ? 1 : CREW - (int)stats(e).joined); /* late ones ask again */
        sett_engine_close(e);
        server_delay(own, 0);
    }
}
END_TEST

/* Whatever lies under ac/ leads to no crash, and to no path of the server's choosing. */
START_TEST(any_action)
{
    char text[400];
    uint8_t body[160];
    size_t len;
    void *data;
    if (!ready())
        return;
    sett__remote *r = raw_open(with(url[1], "|failures=1000000|total-ms=500"));
    unsigned seed = 1;
    for (int i = 0; i < 400; i++) {
        int n = (int)(seed = seed * 1103515245 + 12345, seed >> 16) % (int)sizeof body;
        static const uint8_t head[] = {0x12, 88, 0x0A, 10, 'e', 'n', 't', 'r', 'y', '.', 's', 'e', 't', 't', 0x12, 69, 0x0A, 64};
        for (size_t j = 0; j < sizeof body; j++)
            body[j] = j < sizeof head ? head[j] : j < sizeof head + 64 ? '.' : (uint8_t)((seed = seed * 1103515245 + 12345) >> 16);
        if (i % 2)
            body[seed % sizeof head] ^= (uint8_t)(1 << seed % 8);
        int at = snprintf(text, sizeof text, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", n);
        memcpy(text + at, body, (size_t)n);
        server_behave(own, SAYS, text, (size_t)(at + n));
        ck_assert_int_eq(raw->get(r, "aa", &data, &len, NULL), SETT_E_IO);
    }
    raw->close(r);
    ck_assert_int_eq(server_count(own).gets, 400); /* none was followed */
}
END_TEST

/* ---- what is said of it ------------------------------------------------------------------------ */
START_TEST(malformed)
{
    static const char *const t[][2] = {{"ftp://host", "cache_remote is a URL of http, https, redis or rediss"},
        {"host", "cache_remote is a URL"}, {"http://", "cache_remote: http:// is no URL"},
        {"http://u:secret@host/?q", "cache_remote: http://host/?q has a query or a fragment"},
        {"http://h|frob", "cache_remote: \"frob\" is none of trusted read-only secret layout"},
        {"http://h|layout", "cache_remote: layout takes a value"}, {"http://h|trusted=1", "cache_remote: trusted takes no value"},
        {"http://h|total-ms=0", "cache_remote: total-ms takes a number from 1 to 1000000000"},
        {"http://h|total-ms=5s", "cache_remote: total-ms takes a number"},
        {"http://h|failures=99999999999999999999", "cache_remote: failures takes a number"},
        {"http://h|layout=flat", "cache_remote: layout is plain or bazel, not \"flat\""},
        {"redis://h|layout=bazel", "cache_remote: layout=bazel is one of paths, and Redis has none"},
        {"rediss://h|layout=bazel", "cache_remote: layout=bazel is one of paths, and Redis has none"},
        {"rediss://h/name", "cache_remote: redis://HOST:PORT/N: N is a database's number, not \"name\""},
        {"redis://h/name", "cache_remote: redis://HOST:PORT/N: N is a database's number, not \"name\""},
        {"http://h|secret=here", "cache_remote: secret is an absolute path, not \"here\""}};
    if (!ready())
        return;
    for (size_t i = 0; i < SETT__COUNT(t); i++) {
        sett_engine_options o = machine("a", t[i][0]);
        sett_engine *e;
        sett_error err = {0};
        ck_assert_int_eq(sett_engine_open(&e, &o, &err), SETT_E_ARGUMENT);
        ck_assert_msg(strstr(err.text, t[i][1]) == err.text, "%s: %s", t[i][0], err.text);
        said[0] = 0;
        setenv("SETT_CACHE_REMOTE", t[i][0], 1); /* there it costs the remote and no program */
        o.cache_remote = NULL;
        e = open_with(&o);
        ck_assert_msg(was_said(t[i][1]) && !was_said("u:secret@"), "%s: %s", t[i][0], said);
        ck_assert_ptr_nonnull(strstr(remote_of(e).why_not, t[i][1]));
        sett_engine_close(e);
        o.cache_remote = "";
        e = open_with(&o);
        ck_assert_int_eq(sett_cache_layers(e), 1);
        sett_engine_close(e);
        unsetenv("SETT_CACHE_REMOTE");
    }
}
END_TEST

START_TEST(by_trust)
{
    static const struct {
        sett_cache_trust trust;
        bool secret;
        const char *attributes, *why_not;
    } t[] = {{SETT_TRUST_PRIVATE, true, "", NULL}, {SETT_TRUST_PRIVATE, false, "|trusted", NULL},
        {SETT_TRUST_PRIVATE, false, "", "its entries must be authenticated: give a secret"},
        {SETT_TRUST_OFF, false, "", "its entries must be authenticated: give a secret"},
        {SETT_TRUST_OFF, false, "|trusted", NULL}, {SETT_TRUST_MAC, true, "", NULL},
        {SETT_TRUST_MAC, true, "|trusted", "|trusted is no choice under SETT_TRUST_MAC"},
        {SETT_TRUST_PRIVATE, false, "|secret=/nowhere/secret", "/nowhere"},
        {SETT_TRUST_SIGNED, true, "", "only signed packs are used"}};
    if (!ready())
        return;
    for (size_t i = 0; i < SETT__COUNT(t); i++) {
        sett_engine_options o = machine("a", with("http://u:pass@127.0.0.1:1/x", t[i].attributes));
        o.cache_trust = t[i].trust;
        o.cache_secret = t[i].secret ? o.cache_secret : NULL;
        o.cache_signers = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
        sett_engine *e = open_with(&o);
        const char *why = remote_of(e).why_not;
        ck_assert_msg(t[i].why_not ? why && strstr(why, t[i].why_not) : !why, "%zu: %s", i, why);
        ck_assert_str_eq(remote_of(e).path, "http://127.0.0.1:1/x");
        sett_engine_close(e);
    }
    ck_assert(!was_said("pass"));
}
END_TEST

/* The secret of the URL's attribute; a folder under a MAC of its own; the environment. */
START_TEST(secrets)
{
    char text[900];
    if (!ready())
        return;
    new_shape();
    snprintf(text, sizeof text, "%s|secret=%s", url[0], in_root("secret"));
    sett_engine_options o = machine("a", text);
    o.cache_secret = in_root("other");
    o.cache_trust = SETT_TRUST_MAC;
    ck_assert_int_eq(origin_on(open_with(&o), NULL), SETT_FROM_COMPILER);
    o.cache_dir = in_root("b");
    ck_assert_int_eq(origin_on(open_with(&o), NULL), SETT_FROM_REMOTE);
    o.cache_remote = "";
    ck_assert_int_eq(origin_on(open_with(&o), NULL), SETT_FROM_DISK); /* by the folder's own */
    setenv("SETT_CACHE_REMOTE", text, 1);
    o = machine("c", NULL);
    o.cache_secret = NULL;
    ck_assert_int_eq(origin_on(open_with(&o), NULL), SETT_FROM_REMOTE);
    unsetenv("SETT_CACHE_REMOTE");
    ck_assert_str_eq(said, "");
}
END_TEST

START_TEST(described)
{
    char text[8192], line[300];
    if (!ready())
        return;
    for (int dead = 0; dead < 2; dead++) {
        snprintf(line, sizeof line, "http://u:p@127.0.0.1:%d/x", dead ? unused_port() : server_port(own));
        sett_engine *e = open_machine("a", line);
        sett_engine_describe(e, text, sizeof text);
        snprintf(line, sizeof line, "remote cache: %s %s", remote_of(e).path, dead ? "does not answer: " : "answers\n");
        ck_assert_msg(strstr(text, line) != NULL, "%s", text);
        ck_assert_uint_eq(remote_of(e).errors, 0);
        sett_engine_close(e);
    }
}
END_TEST

Suite *remote_suite(void)
{
    Suite *s = suite_create("remote");
    TCase *all = tcase_create("over every server"), *bad = tcase_create("that do not serve"), *said_of = tcase_create("said");
    TCase *const cases[] = {all, bad, said_of};
    for (size_t i = 0; i < SETT__COUNT(cases); i++) {
        tcase_add_checked_fixture(cases[i], start, stop);
        tcase_set_timeout(cases[i], 60);
        suite_add_tcase(s, cases[i]);
    }
    tcase_add_loop_test(all, put_then_get, 0, URLS);
    tcase_add_loop_test(all, refused_and_healed, 0, URLS);
    tcase_add_loop_test(all, trusted, 0, URLS);
    tcase_add_loop_test(all, read_only_and_sealed, 0, URLS);
    tcase_add_loop_test(all, looks_before_it_puts, 0, URLS);
    tcase_add_loop_test(bad, odd_answers, 0, (int)SETT__COUNT(odds));
    tcase_add_loop_test(bad, breaker, 0, 8);
    tcase_add_loop_test(bad, floods_end, 0, 2 * (int)SETT__COUNT(floods));
    tcase_add_test(bad, half_open);
    tcase_add_test(bad, takes_nothing);
    tcase_add_test(bad, one_request_a_key);
    tcase_add_test(bad, any_action);
    tcase_add_test(said_of, malformed);
    tcase_add_test(said_of, by_trust);
    tcase_add_test(said_of, secrets);
    tcase_add_test(said_of, described);
    return s;
}
