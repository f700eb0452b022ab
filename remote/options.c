/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of a remote, in one text, so that an option, the environment and a worker process say the same:
 *
 *     URL[|NAME=VALUE|NAME...] */
#include "remote.h"
#include <curl/curl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_MOST = 1000000000, MOST = 1 << 28, DEFAULT_MOST = 16 << 20 };

/* ---- the URL --------------------------------------------------------------------------- */
static char *part(CURLU *u, CURLUPart which, unsigned flags)
{
    char *text = NULL;
    return curl_url_get(u, which, &text, flags) ? NULL : text;
}

/* What stands before the host's @ is nobody's to read. */
static char *without_user(const char *url)
{
    const char *host = strstr(url, "://") + 3, *at = memrchr(host, '@', strcspn(host, "/?#"));
    char *shown;
    return asprintf(&shown, "%.*s%s", (int)(host - url), url, at ? at + 1 : host) < 0 ? NULL : shown;
}

static sett_status split_url(sett__remote_options *o, sett_error *err)
{
    CURLU *u = curl_url();
    CURLUcode bad = u ? curl_url_set(u, CURLUPART_URL, o->url, CURLU_NON_SUPPORT_SCHEME) : CURLUE_OUT_OF_MEMORY;
    char *query = bad ? NULL : part(u, CURLUPART_QUERY, 0), *fragment = bad ? NULL : part(u, CURLUPART_FRAGMENT, 0);
    o->shown = without_user(o->url);
    if (!bad) {
        o->host = part(u, CURLUPART_HOST, 0);
        o->port = part(u, CURLUPART_PORT, 0);
        o->user = part(u, CURLUPART_USER, CURLU_URLDECODE);
        o->password = part(u, CURLUPART_PASSWORD, CURLU_URLDECODE);
        o->path = part(u, CURLUPART_PATH, 0);
    }
    bool odd = query || fragment;
    curl_free(query);
    curl_free(fragment);
    curl_url_cleanup(u);
    if (bad == CURLUE_OUT_OF_MEMORY || !o->shown)
        return sett__error(err, SETT_E_MEMORY, "no memory for a URL");
    if (bad || !o->host || !*o->host)
        return sett__error(err, SETT_E_ARGUMENT, "cache_remote: %.200s is no URL: %s", o->shown,
            bad ? curl_url_strerror(bad) : "it has no host");
    return odd ? sett__error(err, SETT_E_ARGUMENT, "cache_remote: %.200s has a query or a fragment", o->shown) : SETT_OK;
}

/* ---- the text -------------------------------------------------------------------------- */
typedef enum kind { FLAG, COUNT, TEXT } kind;
#define ROW(name, kind, field) {name, kind, offsetof(sett__remote_options, field)}
static const struct {
    const char *name;
    kind kind;
    size_t at;
} attributes[] = {ROW("trusted", FLAG, trusted), ROW("read-only", FLAG, read_only), ROW("secret", TEXT, secret),
    ROW("layout", TEXT, layout), ROW("prefix", TEXT, prefix), ROW("ca", TEXT, ca), ROW("connect-ms", COUNT, connect_ms),
    ROW("total-ms", COUNT, total_ms), ROW("failures", COUNT, failures), ROW("retry-ms", COUNT, retry_ms),
    ROW("max-bytes", COUNT, most)};
#undef ROW

static bool set(sett__remote_options *o, size_t i, const char *value)
{
    char *to = (char *)o + attributes[i].at, *end;
    if (attributes[i].kind == FLAG)
        return !value && (*(bool *)to = true);
    if (!value || !*value)
        return false;
    if (attributes[i].kind == TEXT)
        return *(const char **)to = value, true;
    errno = 0;
    long n = strtol(value, &end, 10);
    if (errno || *end || *value < '0' || *value > '9' || n < 1 || n > NUMBER_MOST)
        return false;
    return *(int *)to = (int)n, true;
}

static sett_status parse_attribute(sett__remote_options *o, char *text, sett_error *err)
{
    static const char *const takes[] = {
        [FLAG] = "no value", [COUNT] = "a number from 1 to 1000000000", [TEXT] = "a value"};
    char *value = strchr(text, '='), all[200] = "";
    if (value)
        *value++ = 0;
    for (size_t i = 0; i < SETT__COUNT(attributes); i++) {
        if (!strcmp(text, attributes[i].name))
            return set(o, i, value)
                       ? SETT_OK
                       : sett__error(err, SETT_E_ARGUMENT, "cache_remote: %s takes %s", text, takes[attributes[i].kind]);
        snprintf(all + strlen(all), sizeof all - strlen(all), " %s", attributes[i].name);
    }
    return sett__error(err, SETT_E_ARGUMENT, "cache_remote: \"%.60s\" is none of%s", text, all);
}

static sett_status check(const sett__remote_options *o, sett_error *err)
{
    bool redis = !strncmp(o->url, "redis://", 8) || !strncmp(o->url, "rediss://", 9), bazel = !strcmp(o->layout, "bazel");
    if (!redis && strncmp(o->url, "http://", 7) && strncmp(o->url, "https://", 8))
        return sett__error(err, SETT_E_ARGUMENT, "cache_remote is a URL of http, https, redis or rediss, then |NAME=VALUE");
    if (!bazel && strcmp(o->layout, "plain"))
        return sett__error(err, SETT_E_ARGUMENT, "cache_remote: layout is plain or bazel, not \"%.60s\"", o->layout);
    if (redis && bazel)
        return sett__error(err, SETT_E_ARGUMENT, "cache_remote: layout=bazel is one of paths, and Redis has none");
    if (o->secret && o->secret[0] != '/')
        return sett__error(err, SETT_E_ARGUMENT, "cache_remote: secret is an absolute path, not \"%.60s\"", o->secret);
    return SETT_OK;
}

sett_status sett__remote_parse(const char *text, sett__remote_options *o, sett_error *err)
{
    *o = (sett__remote_options){.layout = "plain",
        .prefix = "sett:",
        .most = DEFAULT_MOST,
        .connect_ms = 250,
        .total_ms = 2000,
        .failures = 3,
        .retry_ms = 30000};
    sett_status s = SETT_OK;
    char *at = o->text = strdup(text), *next;
    if (!at)
        return sett__error(err, SETT_E_MEMORY, "no memory for a remote");
    o->url = strsep(&at, "|");
    while (!s && (next = strsep(&at, "|")))
        s = parse_attribute(o, next, err);
    if (!s)
        s = check(o, err);
    o->most = o->most < MOST ? o->most : MOST;
    return s ? s : split_url(o, err);
}

void sett__remote_options_free(sett__remote_options *o)
{
    curl_free(o->host);
    curl_free(o->port);
    curl_free(o->user);
    curl_free(o->password);
    curl_free(o->path);
    free(o->shown);
    free(o->text);
}
