/* SPDX-License-Identifier: Apache-2.0 */
/* A process that records or compiles for another. They talk over a socket of whole messages: first what the engine is to be opened
 * with and the manifest, which is answered; then a job and its answer, one at a time, until the socket is closed. It
 * has an engine of its own; what it made is on disk before it answers. After a failure it ends, as its compiler may
 * have: who asked starts another. */
#include "inside.h"
#include "plug/compiler.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SOCKET = 0, N_STRINGS = 10 };
/* Both have to be of one build: it goes first, and what follows may change with it. */
#define VERSION SETT_VERSION ", code generator " SETT__CODEGEN_ID ", aliases"
typedef struct hello { /* strings follow, each with its NUL; one that starts with '-' is NULL, others start with '+' */
    int32_t assembler, trust, toolchain, timeout_ms, wait_ms, log; /* every byte is sent: no padding; log: the last level, 0: none */
    uint64_t cap;
} hello;

static bool put_string(char *out, size_t *at, const char *s)
{
    int n = snprintf(out + *at, SETT__WARM_MESSAGE - *at, "%c%s", s ? '+' : '-', s ? s : "");
    bool fits = n > 0 && (size_t)n < SETT__WARM_MESSAGE - *at;
    *at += fits ? (size_t)n + 1 : 0;
    return fits;
}

size_t sett__warm_hello(const sett_engine *e, const char *folder, const char *manifest, char out[SETT__WARM_MESSAGE])
{
    const sett_engine_options *o = &e->opt;
    const hello h = {(int32_t)o->assembler, (int32_t)o->cache_trust, (int32_t)o->toolchain, o->compile_timeout_ms,
        o->compile_wait_ms, !o->log ? 0 : o->log_level ? (int32_t)o->log_level : SETT_LOG_DEBUG, o->cache_cap};
    const char *layers = sett__cache_layer_paths(o->cache_layers), *remote = sett__cache_remote_text(o->cache_remote);
    const char *const strings[N_STRINGS] = {VERSION, manifest, folder ? folder : "", folder && layers ? layers : "", o->plugin,
        o->ptxas, o->nvjitlink, o->cache_secret, o->cache_signers, folder && remote ? remote : ""};
    size_t at = sizeof h;
    memcpy(out, &h, sizeof h);
    for (int i = 0; i < N_STRINGS; i++)
        if (!put_string(out, &at, strings[i]))
            return 0;
    return at;
}

/* To who listens there; on any thread. A message is sent whole. */
static void send_log(void *user, sett_log_level level, const char *component, const char *message)
{
    char out[sizeof(sett__warm_reply) + 1100];
    const sett__warm_reply r = {.status = (int32_t)level, .what = SETT__WARM_LOG};
    (void)user;
    memcpy(out, &r, sizeof r);
    int n = snprintf(out + sizeof r, sizeof out - sizeof r, "%s%c%s", component, 0, message);
    send(SOCKET, out, sizeof r + (size_t)(n < 1100 ? n : 1099), MSG_NOSIGNAL);
}

static bool read_hello(const char *in, size_t len, const char **version, const char **manifest, sett_engine_options *o)
{
    hello h;
    const char **strings[N_STRINGS] = {version, manifest, &o->cache_dir, &o->cache_layers, &o->plugin, &o->ptxas,
        &o->nvjitlink, &o->cache_secret, &o->cache_signers, &o->cache_remote};
    size_t at = sizeof h;
    if (len < sizeof h || in[len - 1])
        return false;
    memcpy(&h, in, sizeof h);
    *o = (sett_engine_options){.size = sizeof *o,
        .assembler = (sett_assembler)h.assembler,
        .cache_trust = (sett_cache_trust)h.trust,
        .toolchain = (sett_toolchain)h.toolchain,
        .compile_timeout_ms = h.timeout_ms,
        .compile_wait_ms = h.wait_ms,
        .cache_cap = h.cap,
        .cpu_threads = 1,
        .log = h.log ? send_log : NULL,
        .log_level = (sett_log_level)h.log,
        .no_gpu = h.assembler != SETT_ASM_DRIVER};
    for (int i = 0; i < N_STRINGS && at < len; i++) {
        *strings[i] = in[at] == '+' ? in + at + 1 : NULL;
        at += strlen(in + at) + 1;
    }
    return *version && *manifest && o->cache_dir;
}

/* ---- jobs ------------------------------------------------------------------------------------ */
static bool answer(const sett__warm_reply *r, const char *text)
{
    char out[sizeof *r + sizeof((sett_error *)0)->text];
    size_t n = strlen(text);
    memcpy(out, r, sizeof *r);
    memcpy(out + sizeof *r, text, n);
    return send(SOCKET, out, sizeof *r + n, MSG_NOSIGNAL) == (ssize_t)(sizeof *r + n);
}

/* Where its code came from. */
static int origin(const sett_kernel *k)
{
    sett_kernel_info i = {.size = sizeof i};
    sett_kernel_query(k, &i);
    return i.origin == SETT_FROM_REMOTE ? SETT__WARM_FETCHED : i.origin == SETT_FROM_DISK ? SETT__WARM_FOUND : SETT__WARM_DONE;
}

static sett_status compile(sett_engine *e, const sett__warm_block *b, const sett__warm_job *j, int32_t *what, sett_error *err)
{
    sett_kernel *k = NULL;
    sett_compile_options o;
    sett__warm_kernel which;
    sett_status s = sett__warm_kernel_of(b, j->point, (int)j->index, j->target, &which, err);
    if (!s && b->family && !which.user)
        s = sett__error(err, SETT_E_ARGUMENT, "the family does not give the same kernels twice");
    if (s)
        return s;
    sett__warm_compile_options(b, &which, j->target, &o);
    s = b->family ? sett_compile(e, which.family->body, &o, &k, err)
                  : sett_compile_tape(e, b->tape, b->tape_len, &o, &k, err);
    free(which.user);
    if (!s)
        *what = origin(k);
    sett_kernel_release(k);
    if (!s)
        sett__workers_flush(e->workers);
    return s;
}

static int serve(sett_engine *e, const sett__manifest *m)
{
    sett__warm_job j;
    sett__warm_recorder recorder = {0};
    sett_status s = SETT_OK;
    while (!s && recv(SOCKET, &j, sizeof j, 0) == (ssize_t)sizeof j) {
        sett_error err = {0};
        sett__warm_reply r = {.what = SETT__WARM_DONE};
        sett__warm_item item = {.point = j.point, .index = j.index};
        double start = sett__now_ms();
        bool known = j.block < (uint32_t)m->n && j.point < m->block[j.block].points;
        j.target[sizeof j.target - 1] = 0;
        memcpy(item.target, j.target, sizeof item.target);
        if (!known) {
            s = r.status = sett__error(&err, SETT_E_ARGUMENT, "the manifest has changed");
        } else if (j.keyed) { /* that a body cannot be recorded is no fault of the process */
            sett__warm_key(&recorder, e, &m->block[j.block], &item, &r.what, &err);
            r.status = item.status, r.key = item.key, r.alias = item.alias;
        } else {
            s = r.status = compile(e, &m->block[j.block], &j, &r.what, &err);
        }
        r.ms = sett__now_ms() - start;
        const bool more = answer(&r, item.kernel ? item.kernel : err.text);
        free(item.kernel);
        if (!more)
            break;
    }
    sett__warm_recorder_free(&recorder);
    return s != SETT_OK;
}

int sett_warm_worker(void)
{
    char *in = malloc(SETT__WARM_MESSAGE);
    const char *version = NULL, *manifest = NULL;
    sett_engine_options o;
    sett_engine *e = NULL;
    sett__manifest m = {0};
    sett_error err = {0};
    ssize_t n = in ? recv(SOCKET, in, SETT__WARM_MESSAGE, 0) : -1;
    if (n <= 0 || !read_hello(in, (size_t)n, &version, &manifest, &o)) {
        free(in);
        return 2;
    }
    sett_status s = strcmp(version, VERSION)
                        ? sett__error(&err, SETT_E_NO_COMPILER, "it is sett %s, and not %s", VERSION, version)
                        : sett_engine_open(&e, &o, &err);
    if (!s)
        s = sett__manifest_read(&m, manifest, &err);
    const sett__warm_reply ready = {.status = s, .what = SETT__WARM_DONE};
    int code = answer(&ready, err.text) && !s ? serve(e, &m) : 1;
    sett__manifest_free(&m);
    sett_engine_close(e);
    free(in);
    return code;
}
