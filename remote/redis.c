/* SPDX-License-Identifier: Apache-2.0 */
/* GET, EXISTS and SET of a Redis server. The protocol is hiredis's; the socket is ours, as a deadline over a whole request
 * and a bound on an answer that has not arrived yet need one. */
#include "remote.h"
#include <errno.h>
#include <hiredis/hiredis.h>
#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CHUNK = 65536, LINE = 4096 /* bytes of one of the protocol's, and of any answer but an entry */ };

typedef struct line {
    int fd; /* -1: not connected */
    bool used; /* it has answered before */
    void *tls; /* over it, of rediss: */
} line;

static sett__answer fail(sett_error *err, const char *what, const char *why)
{
    sett__error(err, SETT_E_IO, "%s%s%s", what, why ? ": " : "", why ? why : "");
    return SETT__FAILED;
}

static void hang(line *l)
{
    sett__tls_end(l->tls);
    l->tls = NULL;
    if (l->fd >= 0)
        close(l->fd);
    l->fd = -1;
    l->used = false;
}

/* ---- connecting ------------------------------------------------------------------------- */
static int left_ms(double deadline)
{
    double ms = deadline - sett__clock_ms();
    return ms <= 0 ? 0 : ms < 1 ? 1 : (int)ms;
}

/* False: not in time. */
bool sett__await(int fd, short what, double deadline)
{
    struct pollfd p = {.fd = fd, .events = what};
    int n = 0;
    while (!sett__is_late(deadline) && (n = poll(&p, 1, left_ms(deadline))) < 0 && errno == EINTR)
        ;
    return n > 0;
}

/* A name may take its resolver longer than we wait: then the question is left to it, with its memory. */
static struct addrinfo *resolve(const char *host, const char *port, double deadline)
{
    struct question {
        struct gaicb cb;
        struct addrinfo hints;
        char host[256], port[8];
    } *q;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV}, *found = NULL;
    if (!getaddrinfo(host, port, &hints, &found))
        return found;
    if (strlen(host) >= sizeof q->host || strlen(port) >= sizeof q->port || !(q = calloc(1, sizeof *q)))
        return NULL;
    int ms = left_ms(deadline);
    const struct timespec wait = {ms / 1000, ms % 1000 * 1000000L};
    strcpy(q->host, host), strcpy(q->port, port);
    q->hints.ai_socktype = SOCK_STREAM;
    q->cb = (struct gaicb){.ar_name = q->host, .ar_service = q->port, .ar_request = &q->hints};
    struct gaicb *list[1] = {&q->cb};
    if (!getaddrinfo_a(GAI_NOWAIT, list, 1, NULL)) {
        const struct gaicb *const wanted[1] = {&q->cb};
        gai_suspend(wanted, 1, &wait);
        if (gai_error(&q->cb) == EAI_INPROGRESS && gai_cancel(&q->cb) == EAI_NOTCANCELED)
            return NULL;
        found = gai_error(&q->cb) ? NULL : q->cb.ar_result;
    }
    free(q);
    return found;
}

static int reach(const struct addrinfo *a, double deadline)
{
    int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol), why = 0;
    socklen_t n = sizeof why;
    if (fd < 0)
        return -1;
    if (!connect(fd, a->ai_addr, a->ai_addrlen))
        return fd;
    why = errno;
    if (why == EINPROGRESS && (!sett__await(fd, POLLOUT, deadline) || getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &n)))
        why = ETIMEDOUT;
    if (!why)
        return fd;
    close(fd);
    errno = why;
    return -1;
}

/* ---- one command --------------------------------------------------------------------------- */
/* One read into `in`, or, where that is NULL, one write from `out`, when it can be done. Bytes; 0: it was closed; -1: errno, and
 * EAGAIN is not in time. Who always has something to say is looked at no longer than who is silent. */
static ssize_t move(const line *l, char *in, const char *out, size_t len, double deadline)
{
    while (!sett__is_late(deadline)) {
        short what = in ? POLLIN : POLLOUT;
        ssize_t n = l->tls ? sett__tls_move(l->tls, in, out, len, deadline, &what)
                    : in   ? recv(l->fd, in, len, 0)
                           : send(l->fd, out, len, MSG_NOSIGNAL);
        if (n >= 0 || (errno == EAGAIN ? !sett__await(l->fd, what, deadline) && sett__is_late(deadline) : errno != EINTR))
            return n;
    }
    errno = EAGAIN;
    return -1;
}

static bool send_all(const line *l, const char *data, size_t len, double deadline)
{
    while (len) {
        ssize_t n = move(l, NULL, data, len, deadline);
        if (n <= 0)
            return false;
        data += n, len -= (size_t)n;
    }
    return true;
}

/* A reply that is coming in: its first line, which says how long it is. */
typedef struct incoming {
    char line[LINE + 1]; /* NUL-ended */
    size_t len;
    uint64_t got, all; /* bytes; all: 0 until the line has ended */
} incoming;

/* A string past `most` is not waited for. */
static sett__answer look(incoming *in, const char *data, size_t n, uint64_t most, sett_error *err)
{
    size_t part = n < LINE - in->len ? n : LINE - in->len;
    memcpy(in->line + in->len, data, part);
    in->len += part;
    if (!memchr("+-:$", in->line[0], 4))
        return fail(err, "it does not speak as Redis does", NULL);
    const char *end = memmem(in->line, in->len, "\r\n", 2);
    if (!end)
        return in->len < LINE ? SETT__YES : fail(err, "a line that does not end", NULL);
    in->all = (uint64_t)(end - in->line) + 2;
    if (in->line[0] != '$' || in->line[1] == '-')
        return SETT__YES;
    uint64_t string = strtoull(in->line + 1, NULL, 10);
    if (string > most)
        return sett__error(err, SETT_E_LIMIT, "an answer of more than %llu bytes", (unsigned long long)most), SETT__TOO_LONG;
    in->all += string + 2;
    return SETT__YES;
}

/* hiredis is asked once, when all has come: it would look through what there is each time. */
static sett__answer take(incoming *in, redisReader *reader, const char *data, size_t n, uint64_t most, redisReply **out, sett_error *err)
{
    sett__answer a = in->all ? SETT__YES : look(in, data, n, most, err);
    in->got += n;
    if (a == SETT__YES && in->all && in->got > in->all)
        a = fail(err, "it says more than it was asked for", NULL);
    if (a == SETT__YES && redisReaderFeed(reader, data, n) != REDIS_OK)
        a = SETT__NO_MEMORY;
    if (a == SETT__YES && in->got == in->all && (redisReaderGetReply(reader, (void **)out) != REDIS_OK || !*out))
        a = fail(err, "it does not speak as Redis does", reader->errstr[0] ? reader->errstr : NULL);
    return a;
}

/* lost: nothing came, so on a connection that was idle the command may be tried once more. */
static sett__answer receive(line *l, redisReader *reader, const sett__request *q, redisReply **out, bool *lost, sett_error *err)
{
    char *chunk = malloc(CHUNK);
    incoming in = {.len = 0};
    sett__answer a = chunk ? SETT__YES : SETT__NO_MEMORY;
    while (a == SETT__YES && !*out) {
        ssize_t n = move(l, chunk, NULL, CHUNK, q->deadline);
        *lost = !in.got && (!n || (n < 0 && errno != EAGAIN));
        a = n > 0 ? take(&in, reader, chunk, (size_t)n, q->most ? q->most : LINE, out, err)
                  : fail(err, "no answer", !n ? "it closed the connection" : errno == EAGAIN ? "not in time" : strerror(errno));
    }
    free(chunk);
    return a;
}

static sett__answer talk(
    line *l, const sett__request *q, int argc, const char **argv, const size_t *len, redisReply **out, bool *lost, sett_error *err)
{
    char *command = NULL;
    redisReader *reader = redisReaderCreate();
    int n = reader ? redisFormatCommandArgv(&command, argc, argv, len) : -1;
    *out = NULL;
    *lost = false;
    sett__answer a = SETT__NO_MEMORY;
    if (n >= 0 && !send_all(l, command, (size_t)n, q->deadline)) {
        *lost = errno != EAGAIN;
        a = fail(err, "it cannot be written to", errno == EAGAIN ? "not in time" : strerror(errno));
    } else if (n >= 0) {
        a = receive(l, reader, q, out, lost, err);
    }
    if (a != SETT__YES)
        hang(l);
    l->used |= a == SETT__YES;
    if (command)
        redisFreeCommand(command);
    if (reader)
        redisReaderFree(reader);
    return a;
}

/* An error of the server's own state is as if it were down; any other is its answer. */
static sett__answer refused(const redisReply *reply, sett_error *err)
{
    static const char *const down[] = {"LOADING", "BUSY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN"};
    bool failed = false;
    for (size_t i = 0; i < SETT__COUNT(down); i++)
        failed |= !strncmp(reply->str, down[i], strlen(down[i]));
    sett__error(err, SETT_E_IO, "Redis: %.200s", reply->str);
    return failed ? SETT__FAILED : SETT__DENIED;
}

/* A command that is answered with OK. */
static sett__answer order(line *l, const sett__request *q, int argc, const char **argv, sett_error *err)
{
    redisReply *reply;
    bool lost;
    size_t len[3];
    for (int i = 0; i < argc; i++)
        len[i] = strlen(argv[i]);
    sett__answer a = talk(l, q, argc, argv, len, &reply, &lost, err);
    if (a == SETT__YES && reply->type == REDIS_REPLY_ERROR)
        a = refused(reply, err);
    if (a != SETT__YES)
        hang(l);
    freeReplyObject(reply);
    return a;
}

static sett__answer enter(line *l, const sett__request *q, sett_error *err)
{
    const sett__remote_options *r = &q->remote->opt;
    const sett__request short_one = {q->remote, q->name, 0, q->deadline};
    const char *login[3] = {"AUTH", r->user, r->password}, *db = r->path ? r->path + 1 : "", *choose[2] = {"SELECT", db};
    bool named = r->user && *r->user;
    if (!named)
        login[1] = r->password;
    sett__answer a = r->password ? order(l, &short_one, named ? 3 : 2, login, err) : SETT__YES;
    return a == SETT__YES && *db ? order(l, &short_one, 2, choose, err) : a;
}

static sett__answer dial(line *l, const sett__request *q, sett_error *err)
{
    const sett__remote_options *r = &q->remote->opt;
    double until = sett__clock_ms() + r->connect_ms;
    until = until < q->deadline ? until : q->deadline;
    struct addrinfo *all = resolve(r->host, r->port ? r->port : "6379", until);
    if (!all)
        return fail(err, "its host cannot be resolved", r->host);
    for (const struct addrinfo *a = all; a && l->fd < 0; a = a->ai_next)
        l->fd = reach(a, until);
    const char *why = l->fd < 0 ? strerror(errno) : NULL;
    freeaddrinfo(all);
    if (why)
        return fail(err, "it cannot be reached", why);
    if (q->remote->tls && !(l->tls = sett__tls_start(q->remote, l->fd, until, err))) {
        hang(l);
        return SETT__FAILED;
    }
    return enter(l, q, err);
}

/* Connects where need be; a connection that the server has closed meanwhile is made again, once. */
static sett__answer command(
    line *l, const sett__request *q, const char *verb, const void *data, size_t size, redisReply **reply, sett_error *err)
{
    char key[512];
    int n = snprintf(key, sizeof key, "%s%s", q->remote->opt.prefix, q->name);
    const char *argv[3] = {verb, key, data};
    const size_t len[3] = {strlen(verb), (size_t)n, size};
    *reply = NULL;
    if (n >= (int)sizeof key)
        return sett__error(err, SETT_E_IO, "its prefix is too long"), SETT__DENIED;
    for (bool again = true;; again = false) {
        bool old = l->used, lost;
        sett__answer a = l->fd < 0 ? dial(l, q, err) : SETT__YES;
        if (a != SETT__YES)
            return a;
        a = talk(l, q, data ? 3 : 2, argv, len, reply, &lost, err);
        if (a == SETT__YES && (*reply)->type == REDIS_REPLY_ERROR)
            a = refused(*reply, err);
        if (!(lost && old && again))
            return a;
    }
}

/* ---- the transport ---------------------------------------------------------------------------- */
static sett__answer odd(int type, sett_error *err)
{
    sett__error(err, SETT_E_IO, "Redis: a reply of type %d", type);
    return SETT__DENIED;
}

static sett__answer redis_get(void *l, const sett__request *q, sett__bytes *out, sett_error *err)
{
    redisReply *reply;
    sett__answer a = command(l, q, "GET", NULL, 0, &reply, err);
    if (a == SETT__YES && reply->type == REDIS_REPLY_NIL)
        a = SETT__NO;
    else if (a == SETT__YES && reply->type != REDIS_REPLY_STRING)
        a = odd(reply->type, err);
    else if (a == SETT__YES && !sett__bytes_add(out, reply->str, (size_t)reply->len))
        a = SETT__NO_MEMORY;
    freeReplyObject(reply);
    return a;
}

static sett__answer redis_has(void *l, const sett__request *q, sett_error *err)
{
    redisReply *reply;
    sett__answer a = command(l, q, "EXISTS", NULL, 0, &reply, err);
    if (a == SETT__YES)
        a = reply->type != REDIS_REPLY_INTEGER ? odd(reply->type, err) : reply->integer ? SETT__YES : SETT__NO;
    freeReplyObject(reply);
    return a;
}

static sett__answer redis_put(void *l, const sett__request *q, const void *data, size_t len, sett_error *err)
{
    redisReply *reply;
    sett__answer a = command(l, q, "SET", data, len, &reply, err);
    if (a == SETT__YES && reply->type != REDIS_REPLY_STATUS)
        a = odd(reply->type, err);
    freeReplyObject(reply);
    return a;
}

static sett_status redis_open(sett__remote *r, sett_error *err)
{
    sett__remote_options *o = &r->opt;
    const char *db = o->path ? o->path + 1 : "";
    size_t n = strlen(o->host);
    if (o->host[0] == '[' && o->host[n - 1] == ']') { /* an address of IPv6 */
        memmove(o->host, o->host + 1, n - 2);
        o->host[n - 2] = 0;
    }
    if (db[strspn(db, "0123456789")])
        return sett__error(err, SETT_E_ARGUMENT, "cache_remote: redis://HOST:PORT/N: N is a database's number, not \"%.60s\"", db);
    return o->url[5] == 's' ? sett__tls_open(r, err) : SETT_OK;
}

static void *redis_line(void)
{
    line *l = malloc(sizeof *l);
    if (l)
        *l = (line){.fd = -1};
    return l;
}

static void redis_hang_up(void *l)
{
    hang(l);
    free(l);
}

const sett__transport sett__redis = {redis_open, redis_line, redis_hang_up, redis_get, redis_has, redis_put};
