/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/rig/server.h"
#include "tests/rig/faces.h"
#include <arpa/inet.h>
#include <check.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST = 64, NAME = 200, HEAD = 4096, BODY = 1 << 20 };

typedef struct thing {
    char name[NAME];
    char *data;
    size_t len;
} thing;

struct server {
    int fd, port;
    pthread_t thread;
    pthread_mutex_t lock; /* over all below */
    bool stop;
    int conn[MOST];
    pthread_t worker[MOST];
    int n_conn;
    manner manner;
    char *says, *more;
    size_t says_len, more_len;
    int delay, pace_us;
    thing thing[MOST];
    int n_thing;
    server_counts count;
    atomic_ulong poured;
};
typedef struct client {
    server *s;
    int fd;
} client;

/* ---- what it keeps -------------------------------------------------------------------- */
static thing *find(server *s, const char *name)
{
    for (int i = 0; i < s->n_thing; i++)
        if (!strcmp(s->thing[i].name, name))
            return &s->thing[i];
    return NULL;
}

static void keep(server *s, const char *name, const char *data, size_t len)
{
    thing *t = find(s, name);
    if (!t) {
        ck_assert_int_lt(s->n_thing, MOST);
        t = &s->thing[s->n_thing++];
        snprintf(t->name, sizeof t->name, "%s", name);
    }
    free(t->data);
    t->data = malloc(len + 1);
    memcpy(t->data, data, len);
    t->len = len;
}

/* ---- the wire ------------------------------------------------------------------------- */
static bool send_all(int fd, const void *data, size_t len)
{
    for (const char *p = data; len;) {
        ssize_t n = send(fd, p, len, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        p += n, len -= (size_t)n;
    }
    return true;
}

/* A line without its \r\n. */
static bool read_line(int fd, char *to, size_t size)
{
    size_t n = 0;
    for (char c; recv(fd, &c, 1, 0) == 1;) {
        if (c == '\n') {
            to[n - (n && to[n - 1] == '\r')] = 0;
            return true;
        }
        if (n + 1 < size)
            to[n++] = c;
    }
    return false;
}

static bool read_exact(int fd, char *to, size_t len)
{
    return !len || recv(fd, to, len, MSG_WAITALL) == (ssize_t)len;
}

static bool answer(const client *c, const char *head, const void *body, size_t len)
{
    return send_all(c->fd, head, strlen(head)) && send_all(c->fd, body, len);
}

/* Without a pause as fast as it goes, some 64 KiB at a time. */
static bool pour(const client *c)
{
    enum { BLOCK = 65536 };
    char *block = malloc(BLOCK);
    size_t n = 0;
    pthread_mutex_lock(&c->s->lock);
    size_t one = c->s->more_len;
    int pace = c->s->pace_us;
    do
        memcpy(block + n, c->s->more, one), n += one;
    while (!pace && n + one <= BLOCK);
    pthread_mutex_unlock(&c->s->lock);
    while (send_all(c->fd, block, n)) {
        atomic_fetch_add(&c->s->poured, 1);
        usleep((useconds_t)pace);
    }
    free(block);
    return false;
}

/* As it was told to, instead of what was asked. False: hang up. */
static bool misbehave(const client *c, manner m)
{
    char byte = '1';
    while (m == DRIPS && send_all(c->fd, &byte, 1))
        usleep(5000);
    while (m == SILENT && recv(c->fd, &byte, 1, 0) == 1)
        ;
    pthread_mutex_lock(&c->s->lock);
    char *says = c->s->says ? malloc(c->s->says_len + 1) : NULL;
    size_t len = c->s->says_len;
    if (says)
        memcpy(says, c->s->says, len);
    pthread_mutex_unlock(&c->s->lock);
    bool ok = says && m >= SAYS && send_all(c->fd, says, len);
    free(says);
    return ok && (m == SAYS || pour(c));
}

static manner begin(server *s, int *counter)
{
    pthread_mutex_lock(&s->lock);
    ++*counter;
    manner m = s->manner;
    int delay = s->delay;
    pthread_mutex_unlock(&s->lock);
    usleep((unsigned)delay * 1000);
    return m;
}

/* ---- HTTP ------------------------------------------------------------------------------- */
/* As bazel-remote: a blob's name is its digest; an ActionResult must hold one of an OutputFile with path and digest, and
 * is only given while its blob is there. Enough of it to tell ours from none. */
static bool bazel_refuses(const char *name, const char *data, size_t len)
{
    const char *cas = strstr(name, "/cas/"), *ac = strstr(name, "/ac/");
    sett__digest d;
    char sum[65];
    sett__sha256(data, len, &d);
    for (int i = 0; i < 32; i++)
        snprintf(sum + 2 * i, 3, "%02x", d.b[i]);
    if (cas)
        return strcmp(cas + 5, sum) != 0;
    return ac && (len < 80 || data[0] != 0x12 || (size_t)data[1] + 2 != len || data[2] != 0x0A);
}

static bool blob_is_gone(server *s, const char *name, const thing *t)
{
    char blob[NAME];
    const char *ac = strstr(name, "/ac/");
    if (!ac)
        return false;
    int at = 2 + 2 + t->data[3] + 2 + 2;
    snprintf(blob, sizeof blob, "%.*s/cas/%.64s", (int)(ac - name), name, t->data + at);
    return !find(s, blob);
}

static bool http_give(const client *c, const char *path, bool body)
{
    char head[200], *copy = NULL;
    pthread_mutex_lock(&c->s->lock);
    thing *t = find(c->s, path);
    size_t len = t ? t->len : 0;
    if (t && !blob_is_gone(c->s, path, t)) {
        copy = malloc(len + 1);
        memcpy(copy, t->data, len);
    }
    pthread_mutex_unlock(&c->s->lock);
    snprintf(head, sizeof head, "HTTP/1.1 %s\r\nContent-Length: %zu\r\n\r\n", copy ? "200 OK" : "404 Not Found",
        copy ? len : 0);
    bool ok = answer(c, head, copy, body && copy ? len : 0);
    free(copy);
    return ok;
}

static bool http_take(const client *c, const char *path, const char *body, size_t len)
{
    bool refused = bazel_refuses(path, body, len);
    pthread_mutex_lock(&c->s->lock);
    if (!refused)
        keep(c->s, path, body, len);
    pthread_mutex_unlock(&c->s->lock);
    return answer(c, refused ? "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"
                             : "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n", NULL, 0);
}

static bool http_request(const client *c, const char *first)
{
    char verb[8], path[NAME], line[HEAD];
    size_t len = 0;
    if (sscanf(first, "%7s %199s", verb, path) != 2)
        return false;
    do {
        if (!read_line(c->fd, line, sizeof line))
            return false;
        if (!strncasecmp(line, "content-length:", 15))
            len = (size_t)atol(line + 15);
    } while (*line);
    char *body = len <= BODY ? malloc(len + 1) : NULL;
    bool get = !strcmp(verb, "GET"), head = !strcmp(verb, "HEAD"), ok = body && read_exact(c->fd, body, len);
    if (ok) {
        manner m = begin(c->s, get ? &c->s->count.gets : head ? &c->s->count.looks : &c->s->count.puts);
        ok = m != SERVES ? misbehave(c, m) : get || head ? http_give(c, path, get) : http_take(c, path, body, len);
    }
    free(body);
    return ok;
}

/* ---- Redis ------------------------------------------------------------------------------- */
static bool redis_do(const client *c, const char *verb, const char *name, const char *data, size_t len)
{
    server *s = c->s;
    char head[64];
    bool get = !strcmp(verb, "GET"), exists = !strcmp(verb, "EXISTS"), put = !strcmp(verb, "SET");
    static int other;
    manner m = begin(s, get ? &s->count.gets : exists ? &s->count.looks : put ? &s->count.puts : &other);
    if (m != SERVES)
        return misbehave(c, m);
    if (!get && !exists && !put)
        return answer(c, "+OK\r\n", NULL, 0);
    pthread_mutex_lock(&s->lock);
    if (put)
        keep(s, name, data, len);
    thing *t = find(s, name);
    size_t n = t ? t->len : 0;
    char *copy = malloc(n + 3);
    if (t)
        memcpy(copy, t->data, n), memcpy(copy + n, "\r\n", 3);
    pthread_mutex_unlock(&s->lock);
    snprintf(head, sizeof head, "$%zu\r\n", n);
    bool ok = put || exists ? answer(c, put ? "+OK\r\n" : t ? ":1\r\n" : ":0\r\n", NULL, 0)
              : t           ? answer(c, head, copy, n + 2)
                            : answer(c, "$-1\r\n", NULL, 0);
    free(copy);
    return ok;
}

static bool redis_request(const client *c, const char *first)
{
    char *arg[3] = {NULL, NULL, NULL}, line[HEAD];
    size_t len[3] = {0, 0, 0};
    int n = atoi(first + 1);
    bool ok = n >= 1 && n <= 3;
    for (int i = 0; i < n && ok; i++) {
        ok = read_line(c->fd, line, sizeof line) && *line == '$' && (len[i] = (size_t)atol(line + 1)) <= BODY;
        arg[i] = calloc(1, len[i] + 3);
        ok = ok && read_exact(c->fd, arg[i], len[i] + 2);
        arg[i][ok ? len[i] : 0] = 0;
    }
    ok = ok && redis_do(c, arg[0], arg[1] ? arg[1] : "", arg[2], len[2]);
    for (int i = 0; i < 3; i++)
        free(arg[i]);
    return ok;
}

/* ---- threads ------------------------------------------------------------------------------ */
static void *serve(void *user)
{
    client c = *(client *)user;
    char line[HEAD];
    free(user);
    while (read_line(c.fd, line, sizeof line) && (*line == '*' ? redis_request(&c, line) : http_request(&c, line)))
        ;
    shutdown(c.fd, SHUT_RDWR); /* it is closed when the server stops: until then nobody else has its number */
    return NULL;
}

static void *listen_on(void *user)
{
    server *s = user;
    for (int fd; (fd = accept(s->fd, NULL, NULL)) >= 0;) {
        client *c = malloc(sizeof *c);
        *c = (client){s, fd};
        pthread_mutex_lock(&s->lock);
        ck_assert_int_lt(s->n_conn, MOST);
        s->count.connections++;
        s->conn[s->n_conn] = fd;
        pthread_create(&s->worker[s->n_conn++], NULL, serve, c);
        pthread_mutex_unlock(&s->lock);
    }
    return NULL;
}

static int loopback(int *port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert(fd >= 0 && !bind(fd, (struct sockaddr *)&a, sizeof a) && !getsockname(fd, (struct sockaddr *)&a, &n));
    *port = ntohs(a.sin_port);
    return fd;
}

int unused_port(void)
{
    int port;
    close(loopback(&port));
    return port;
}

server *server_start(void)
{
    server *s = calloc(1, sizeof *s);
    pthread_mutex_init(&s->lock, NULL);
    s->fd = loopback(&s->port);
    ck_assert(!listen(s->fd, 64));
    ck_assert(!pthread_create(&s->thread, NULL, listen_on, s));
    return s;
}

void server_stop(server *s)
{
    shutdown(s->fd, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->fd);
    for (int i = 0; i < s->n_conn; i++) {
        shutdown(s->conn[i], SHUT_RDWR);
        pthread_join(s->worker[i], NULL);
        close(s->conn[i]);
    }
    for (int i = 0; i < s->n_thing; i++)
        free(s->thing[i].data);
    free(s->says);
    free(s->more);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

int server_port(const server *s)
{
    return s->port;
}

void server_behave(server *s, manner m, const void *says, size_t len)
{
    pthread_mutex_lock(&s->lock);
    s->manner = m;
    free(s->says);
    s->says = says ? malloc(len + 1) : NULL;
    if (says)
        memcpy(s->says, says, len);
    s->says_len = len;
    pthread_mutex_unlock(&s->lock);
}

void server_pour(server *s, const void *says, size_t len, const void *more, size_t more_len, int pace_us)
{
    char *copy = malloc(more_len);
    memcpy(copy, more, more_len);
    pthread_mutex_lock(&s->lock);
    free(s->more);
    s->more = copy;
    s->more_len = more_len;
    s->pace_us = pace_us;
    pthread_mutex_unlock(&s->lock);
    server_behave(s, POURS, says, len);
}

void server_delay(server *s, int ms)
{
    pthread_mutex_lock(&s->lock);
    s->delay = ms;
    pthread_mutex_unlock(&s->lock);
}

unsigned long server_poured(server *s)
{
    return atomic_load(&s->poured);
}

server_counts server_count(server *s)
{
    pthread_mutex_lock(&s->lock);
    server_counts c = s->count;
    pthread_mutex_unlock(&s->lock);
    return c;
}
