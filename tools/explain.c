/* SPDX-License-Identifier: Apache-2.0 */
/* sett cache explain: two keys by their digits, what their keys' fields say of them, and what a manifest does. */
#include "tools.h"
#include <stdlib.h>
#include <string.h>

typedef struct wanted {
    const char *digits;
    size_t n;
    int found;
    uint8_t key[32];
} wanted;

static bool match(void *user, const sett_cache_entry *e)
{
    wanted *w = user;
    char key[65];
    hex(e->key, key);
    if (strncmp(key, w->digits, w->n) || (w->found && !memcmp(w->key, e->key, sizeof w->key)))
        return true;
    memcpy(w->key, e->key, sizeof w->key);
    return ++w->found < 2;
}

static bool is_key(const char *digits)
{
    size_t n = strlen(digits);
    return n >= 4 && n <= 64 && strspn(digits, "0123456789abcdef") == n;
}

static int no_key(const char *digits)
{
    return usage("%s is no key: 4 to 64 hexadecimal digits, as sett cache ls prints them", digits);
}

int key_find(sett_engine *e, const char *digits, uint8_t out[32])
{
    sett_error err = {0};
    wanted w = {digits, strlen(digits), 0, {0}};
    if (!is_key(digits))
        return no_key(digits);
    if (sett_cache_walk(e, match, &w, &err))
        return fail("%s", err.text);
    memcpy(out, w.key, sizeof w.key);
    return w.found == 1
               ? EXIT_OK
               : fail("%s: %s", digits, w.found ? "more than one key starts so" : "no such key in the cache");
}

/* ---- what a manifest says ------------------------------------------------------------------------ */
typedef struct assigned { /* a kernel of the manifest whose key starts with these digits */
    const char *digits;
    int found;
    bool twice; /* so do others */
    uint8_t key[32];
    char *name, *target, *params;
} assigned;

static char *copy_of(const char *text)
{
    char *copy = strdup(text);
    if (!copy)
        exit(fail("out of memory"));
    return copy;
}

static bool take(void *user, const sett_warm_event *e)
{
    char key[65];
    hex(e->key, key);
    for (assigned *a = user; a < (assigned *)user + 2 && !e->status; a++) {
        if (strncmp(key, a->digits, strlen(a->digits)))
            continue;
        a->twice |= a->found && memcmp(a->key, e->key, sizeof a->key) != 0;
        if (a->found++)
            continue;
        memcpy(a->key, e->key, sizeof a->key);
        a->name = copy_of(e->name), a->target = copy_of(e->target), a->params = copy_of(e->params);
    }
    return true;
}

/* The value of a parameter among "dtype=f16 cols=1024", with its length; "-": it has none. */
static const char *value_in(const char *params, const char *name, int name_len, int *len)
{
    for (const char *at = params; *at; at += strcspn(at, " "), at += *at == ' ')
        if (!strncmp(at, name, (size_t)name_len) && at[name_len] == '=') {
            *len = (int)strcspn(at + name_len + 1, " ");
            return at + name_len + 1;
        }
    *len = 1;
    return "-";
}

/* Parameters of a, or those that b alone has, whose values differ; how many. */
static int tell_params(const assigned *a, const assigned *b, bool of_b)
{
    const char *from = (of_b ? b : a)->params;
    int n = 0;
    for (const char *at = from; *at; at += strcspn(at, " "), at += *at == ' ') {
        int name = (int)strcspn(at, "= "), x_len, y_len;
        const char *x = value_in(a->params, at, name, &x_len), *y = value_in(b->params, at, name, &y_len);
        if (at[name] != '=' || (of_b && strcmp(x, "-")) || (x_len == y_len && !strncmp(x, y, (size_t)x_len)))
            continue;
        printf("%.*s: %.*s | %.*s\n", name, at, x_len, x, y_len, y);
        n++;
    }
    return n;
}

static int tell(const char *what, const char *a, const char *b)
{
    return strcmp(a, b) ? printf("%s: %s | %s\n", what, a, b) > 0 : 0;
}

static void tell_assigned(const assigned *a, const assigned *b)
{
    bool tapes = !strchr(a->params, '=') && !strchr(b->params, '=') && *a->params && *b->params;
    int n = tell("kernel", a->name, b->name) + tell("target", a->target, b->target);
    n += tapes ? tell("tape", a->params, b->params) : tell_params(a, b, false) + tell_params(a, b, true);
    if (!n)
        puts("no parameter differs: the options of their blocks, or their tapes, do");
}

static int find_assigned(sett_engine *e, const options *o, assigned two[2])
{
    const sett_warm_options w = {.size = sizeof w, .targets = o->targets};
    sett_error err = {0};
    for (int i = 0; i < 2; i++)
        if (!is_key(two[i].digits = o->argv[1 + i]))
            return no_key(o->argv[1 + i]);
    if (sett_family_keys(e, o->manifest, &w, take, two, &err))
        return fail("%s", err.text);
    for (int i = 0; i < 2; i++)
        if (!two[i].found || two[i].twice)
            return fail("%s: %s in %s", two[i].digits, two[i].twice ? "more than one key starts so" : "no such key", o->manifest);
    return EXIT_OK;
}

static int explain(sett_engine *e, const options *o, assigned two[2])
{
    char text[2048];
    sett_error err = {0};
    if (o->argc < 3)
        return usage("cache explain needs two keys");
    int code = o->manifest ? find_assigned(e, o, two) : key_find(e, o->argv[1], two[0].key);
    code = code || o->manifest ? code : key_find(e, o->argv[2], two[1].key);
    if (code)
        return code;
    if (!memcmp(two[0].key, two[1].key, sizeof two[0].key)) {
        puts("they are the same key");
        return EXIT_OK;
    }
    if (o->manifest)
        tell_assigned(&two[0], &two[1]);
    int n = sett_cache_explain(e, two[0].key, two[1].key, text, sizeof text, &err);
    if (n > 0)
        fputs(text, stdout);
    return n > 0 || o->manifest ? EXIT_OK : fail("%s", err.text); /* the manifest's kernels need not be in the cache */
}

int cache_explain(sett_engine *e, const options *o)
{
    assigned two[2] = {{0}};
    int code = explain(e, o, two);
    for (int i = 0; i < 2; i++)
        free(two[i].name), free(two[i].target), free(two[i].params);
    return code;
}
