/* SPDX-License-Identifier: Apache-2.0 */
/* GET, HEAD and PUT by libcurl. A redirect is not followed, a proxy not used and no file of the user's home read: the
 * server that was named is the one that is asked. */
#include "remote.h"
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { URL = 4096, REDIRECT = 300, CLIENT = 400, MISSING = 404, GONE = 410, TOO_MANY = 429, SERVER = 500,
    HEADERS = 65536 /* bytes of all of them */, TALK = 65536 /* of a body that is not wanted */ };

typedef struct transfer {
    CURL *curl;
    sett__bytes *out; /* NULL: the body is not wanted */
    const sett__request *q;
    size_t headers, body; /* bytes that came */
    bool too_long, no_memory, hung_up;
    char text[CURL_ERROR_SIZE];
} transfer;

/* ---- what curl calls -------------------------------------------------------------------- */
static size_t on_body(char *data, size_t size, size_t n, void *user)
{
    transfer *t = user;
    long code = 0;
    (void)size; /* 1 */
    curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &code);
    t->body += n;
    if (!t->out || code != 200) { /* the text of an error: read, so that the connection lives, if it is short */
        t->hung_up = t->body > TALK;
        return t->hung_up ? 0 : n;
    }
    t->too_long = n > t->q->most - t->out->len;
    t->no_memory = !t->too_long && !sett__bytes_add(t->out, data, n);
    return t->too_long || t->no_memory ? 0 : n;
}

/* Those of interim answers and behind a body too: there is no end to either. */
static size_t on_header(char *data, size_t size, size_t n, void *user)
{
    transfer *t = user;
    (void)data, (void)size; /* 1 */
    t->headers += n;
    return t->headers > HEADERS ? 0 : n;
}

static curl_socket_t on_socket(void *user, curlsocktype purpose, struct curl_sockaddr *a)
{
    (void)user, (void)purpose;
    return socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
}

/* ---- one request -------------------------------------------------------------------------- */
static bool prepare(transfer *t, const char *url)
{
    const sett__remote_options *c = &t->q->remote->opt;
    CURL *h = t->curl;
    double left = t->q->deadline - sett__clock_ms();
    long ms = left > 1 ? (long)left : 1;
    curl_easy_reset(h); /* keeps its connections */
    bool ok = !curl_easy_setopt(h, CURLOPT_URL, url);
    curl_easy_setopt(h, CURLOPT_ERRORBUFFER, t->text);
    curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(h, CURLOPT_PROXY, "");
    curl_easy_setopt(h, CURLOPT_USERAGENT, "sett/" SETT_VERSION);
    curl_easy_setopt(h, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(h, CURLOPT_CONNECTTIMEOUT_MS, ms < c->connect_ms ? ms : (long)c->connect_ms);
    curl_easy_setopt(h, CURLOPT_TIMEOUT_MS, ms);
    curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(h, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(h, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(h, CURLOPT_HEADERDATA, t);
    curl_easy_setopt(h, CURLOPT_OPENSOCKETFUNCTION, on_socket);
#if LIBCURL_VERSION_NUM >= 0x075500
    ok = ok && !curl_easy_setopt(h, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    ok = ok && !curl_easy_setopt(h, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
#if LIBCURL_VERSION_NUM >= 0x075700
    curl_easy_setopt(h, CURLOPT_QUICK_EXIT, 1L); /* a time-out does not wait for a resolver that hangs */
#endif
    return ok && (!c->ca || !curl_easy_setopt(h, CURLOPT_CAINFO, c->ca));
}

static CURLcode perform(CURL *h)
{
    sett__quiet was;
    sett__quiet_begin(&was);
    CURLcode rc = curl_easy_perform(h);
    sett__quiet_end(&was);
    return rc;
}

static sett__answer judge(const transfer *t, CURLcode rc, bool put, sett_error *err)
{
    long code = 0;
    curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &code);
    if (t->no_memory)
        return SETT__NO_MEMORY;
    if (t->too_long || (rc == CURLE_FILESIZE_EXCEEDED && code == 200))
        return sett__error(err, SETT_E_LIMIT, "an answer of more than %llu bytes", (unsigned long long)t->q->most),
               t->body ? SETT__ENDLESS : SETT__TOO_LONG;
    if (t->headers > HEADERS)
        return sett__error(err, SETT_E_IO, "headers of more than %d bytes", HEADERS), SETT__FAILED;
    if (rc == CURLE_OUT_OF_MEMORY) /* libcurl calls both so */
        return sett__error(err, SETT_E_IO, "a header line that is too long, or libcurl has no memory"), SETT__FAILED;
    if (rc && rc != CURLE_FILESIZE_EXCEEDED && !t->hung_up)
        return sett__error(err, SETT_E_IO, "%.200s", t->text[0] ? t->text : curl_easy_strerror(rc)), SETT__FAILED;
    if (code == 200 || (code > 200 && code < REDIRECT && !t->out))
        return SETT__YES;
    if ((code == MISSING || code == GONE) && !put)
        return SETT__NO;
    sett__error(err, SETT_E_IO, "HTTP %ld%s", code,
        code >= REDIRECT && code < CLIENT ? ": a redirect, which is not followed" : "");
    return code >= SERVER || code == TOO_MANY || code < 200 ? SETT__FAILED : SETT__DENIED;
}

typedef enum verb { GET, HEAD, PUT } verb;
static sett__answer ask(void *line, const sett__request *q, verb v, sett__bytes *out, const void *body, size_t len,
    sett_error *err)
{
    char url[URL];
    const char *base = q->remote->opt.url;
    size_t n = strlen(base);
    transfer t = {.curl = line, .out = out, .q = q};
    while (n && base[n - 1] == '/')
        n--;
    if (snprintf(url, sizeof url, "%.*s/%s", (int)n, base, q->name) >= (int)sizeof url)
        return sett__error(err, SETT_E_IO, "its URL is too long"), SETT__DENIED;
    if (!prepare(&t, url))
        return sett__error(err, SETT_E_IO, "this libcurl cannot do what is asked of it"), SETT__FAILED;
    struct curl_slist *type = curl_slist_append(NULL, "Content-Type: application/octet-stream"),
                      *headers = type ? curl_slist_append(type, "Expect:") : NULL; /* no round trip before the body */
    if (v == GET)
        curl_easy_setopt(line, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)q->most);
    if (v == HEAD)
        curl_easy_setopt(line, CURLOPT_NOBODY, 1L);
    if (v == PUT) {
        curl_easy_setopt(line, CURLOPT_CUSTOMREQUEST, "PUT");
        curl_easy_setopt(line, CURLOPT_POSTFIELDS, body);
        curl_easy_setopt(line, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)len);
        curl_easy_setopt(line, CURLOPT_HTTPHEADER, headers);
    }
    sett__answer a = headers ? judge(&t, perform(line), v == PUT, err) : SETT__NO_MEMORY;
    if (a != SETT__YES && out)
        sett__bytes_free(out);
    curl_easy_reset(line); /* it holds addresses of this frame */
    curl_slist_free_all(headers ? headers : type);
    return a;
}

/* ---- the transport --------------------------------------------------------------------------- */
static sett__answer http_get(void *line, const sett__request *q, sett__bytes *out, sett_error *err)
{
    return ask(line, q, GET, out, NULL, 0, err);
}

static sett__answer http_has(void *line, const sett__request *q, sett_error *err)
{
    return ask(line, q, HEAD, NULL, NULL, 0, err);
}

static sett__answer http_put(void *line, const sett__request *q, const void *data, size_t len, sett_error *err)
{
    return ask(line, q, PUT, NULL, data, len, err);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static CURLcode started;
static void start(void)
{
    started = curl_global_init(CURL_GLOBAL_DEFAULT);
}

static sett_status http_open(sett__remote *r, sett_error *err)
{
    (void)r;
    pthread_once(&once, start);
    return !started ? SETT_OK : sett__error(err, SETT_E_IO, "libcurl cannot be used: %s", curl_easy_strerror(started));
}

static void *http_line(void)
{
    return curl_easy_init();
}

const sett__transport sett__http = {http_open, http_line, curl_easy_cleanup, http_get, http_has, http_put};
