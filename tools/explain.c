/* SPDX-License-Identifier: Apache-2.0 */
/* sett cache explain A B: two keys by their digits, what their keys' fields say of them, and what a manifest does. */
#include "tools.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

bool is_key(const char *digits)
{
    size_t n = strlen(digits);
    return n >= 4 && n <= 64 && strspn(digits, "0123456789abcdef") == n;
}

int no_key(const char *digits)
{
    return usage("%s is no key: 4 to 64 hexadecimal digits, as sett cache ls prints them", digits);
}

/* What is neither a key nor there is told as no key. */
bool explains_two(const options *o)
{
    return o->argc > 2 && (is_key(o->argv[2]) || access(o->argv[2], F_OK));
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
    named_key k;
} assigned;

char *copy_of(const char *text)
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
        a->twice |= a->found && memcmp(a->k.key, e->key, sizeof a->k.key) != 0;
        if (!a->found++)
            a->k = named_key_of(e);
    }
    return true;
}

named_key named_key_of(const sett_warm_event *e)
{
    named_key k = {.name = copy_of(e->name), .target = copy_of(e->target), .params = copy_of(e->params)};
    memcpy(k.key, e->key, sizeof k.key);
    return k;
}

void named_key_free(named_key *k)
{
    free(k->name), free(k->target), free(k->params);
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

static void json_part(const char *s, int len)
{
    char *part = strndup(s, (size_t)len);
    if (!part)
        exit(fail("out of memory"));
    json_string(stdout, part);
    free(part);
}

static void tell_one(telling *t, const char *what, int what_len, const char *x, int x_len, const char *y, int y_len)
{
    const char *const values[] = {x, y};
    const int lens[] = {x_len, y_len};
    bool first = !t->n++;
    if (t->mute)
        return;
    if (!t->json) {
        printf("%.*s: %.*s | %.*s\n", what_len, what, x_len, x, y_len, y);
        return;
    }
    fputs(first ? "{\"what\": " : ", {\"what\": ", stdout), json_part(what, what_len);
    for (int i = 0; i < 2; i++) {
        fputs(i ? ", \"b\": " : ", \"a\": ", stdout);
        if (lens[i] == 1 && *values[i] == '-') /* it has none */
            fputs("null", stdout);
        else
            json_part(values[i], lens[i]);
    }
    putchar('}');
}

/* Parameters of a, or those that b alone has, whose values differ. */
static void tell_params(telling *t, const named_key *a, const named_key *b, bool of_b)
{
    const char *from = (of_b ? b : a)->params;
    for (const char *at = from; *at; at += strcspn(at, " "), at += *at == ' ') {
        int name = (int)strcspn(at, "= "), x_len, y_len;
        const char *x = value_in(a->params, at, name, &x_len), *y = value_in(b->params, at, name, &y_len);
        if (at[name] != '=' || (of_b && strcmp(x, "-")) || (x_len == y_len && !strncmp(x, y, (size_t)x_len)))
            continue;
        tell_one(t, at, name, x, x_len, y, y_len);
    }
}

void tell(telling *t, const char *what, const char *a, const char *b)
{
    if (strcmp(a, b))
        tell_one(t, what, (int)strlen(what), a, (int)strlen(a), b, (int)strlen(b));
}

void tell_named(telling *t, const named_key *a, const named_key *b)
{
    bool tapes = !strchr(a->params, '=') && !strchr(b->params, '=') && *a->params && *b->params;
    tell(t, "kernel", a->name, b->name), tell(t, "target", a->target, b->target);
    if (tapes)
        tell(t, "tape", a->params, b->params);
    else
        tell_params(t, a, b, false), tell_params(t, a, b, true);
    if (!t->n && !t->json && !t->mute)
        puts("no parameter differs: the options of their blocks, or their tapes, do");
}

/* Lines of sett_cache_explain, "what: A | B". */
void tell_lines(telling *t, const char *text)
{
    for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        const char *x = strstr(at, ": "), *y = strstr(at, " | ");
        if (x && y)
            tell_one(t, at, (int)(x - at), x + 2, (int)(y - x - 2), y + 3, (int)strcspn(y + 3, "\n"));
    }
}

static int find_assigned(sett_engine *e, const options *o, assigned two[2])
{
    const sett_warm_options w = {.size = sizeof w, .command = self_path(), .targets = o->targets};
    sett_error err = {0};
    for (int i = 0; i < 2; i++)
        if (!is_key(two[i].digits = o->argv[1 + i]))
            return no_key(o->argv[1 + i]);
    if (sett_family_keys(e, o->manifest, &w, take, two, &err))
        return fail("%s", err.text);
    for (int i = 0; i < 2; i++)
        if (!two[i].found || two[i].twice)
            return fail("%s: %s in %s for %s", two[i].digits, two[i].twice ? "more than one key starts so" : "no such key",
                o->manifest, o->targets ? o->targets : "its targets");
    return EXIT_OK;
}

static void json_head(const assigned two[2], bool same)
{
    char a[65], b[65];
    hex(two[0].k.key, a), hex(two[1].k.key, b);
    printf("{\"schema_version\": 1, \"a\": \"%s\", \"b\": \"%s\", \"same\": %s, \"differs\": [", a, b, same ? "true" : "false");
}

static int explain(sett_engine *e, const options *o, assigned two[2])
{
    char text[2048];
    sett_error err = {0};
    int code = o->manifest ? find_assigned(e, o, two) : key_find(e, o->argv[1], two[0].k.key);
    code = code || o->manifest ? code : key_find(e, o->argv[2], two[1].k.key);
    if (code)
        return code;
    bool same = !memcmp(two[0].k.key, two[1].k.key, sizeof two[0].k.key);
    int n = same ? 0 : sett_cache_explain(e, two[0].k.key, two[1].k.key, text, sizeof text, &err);
    if (!same && n <= 0 && !o->manifest) /* the manifest's kernels need not be in the cache */
        return fail("%s", err.text);
    telling t = {.json = o->json};
    if (o->json)
        json_head(two, same);
    else if (same)
        puts("they are the same key");
    if (!same && o->manifest)
        tell_named(&t, &two[0].k, &two[1].k);
    if (n > 0)
        tell_lines(&t, text);
    if (o->json)
        puts("]}");
    return EXIT_OK;
}

int cache_explain(sett_engine *e, const options *o)
{
    assigned two[2] = {{0}};
    if (o->argc < 2)
        return usage("cache explain needs a key, or two");
    if (!explains_two(o))
        return explain_nearest(e, o);
    int code = explain(e, o, two);
    for (int i = 0; i < 2; i++)
        named_key_free(&two[i].k);
    return code;
}
