/* SPDX-License-Identifier: Apache-2.0 */
/* sett cache explain KEY: what an entry is, or a kernel of a manifest, which entry is nearest to it, and what differs. */
#include "tools.h"
#include <stdlib.h>
#include <string.h>

typedef struct candidate {
    named_key k;
    sett_cache_entry entry; /* its texts are malloc'ed; size 0: the cache has none */
} candidate;

typedef struct candidates {
    candidate *at;
    size_t n, cap;
} candidates;

static candidate *add(candidates *all)
{
    if (all->n == all->cap) {
        all->cap = all->cap ? 2 * all->cap : 64;
        candidate *more = realloc(all->at, all->cap * sizeof *more);
        if (!more)
            exit(fail("out of memory"));
        all->at = more;
    }
    return memset(&all->at[all->n++], 0, sizeof *all->at);
}

static void free_all(candidates *all)
{
    for (size_t i = 0; i < all->n; i++) {
        const sett_cache_entry *e = &all->at[i].entry;
        named_key_free(&all->at[i].k);
        free((void *)(uintptr_t)e->damage), free((void *)(uintptr_t)e->compiler), free((void *)(uintptr_t)e->assembler);
    }
    free(all->at);
}

static candidate *of_key(const candidates *all, const uint8_t key[32])
{
    for (size_t i = 0; i < all->n; i++)
        if (!memcmp(all->at[i].k.key, key, sizeof all->at[i].k.key))
            return &all->at[i];
    return NULL;
}

/* The first layer's entry that is sound, as a launch finds it. */
static void keep_entry(candidate *c, const sett_cache_entry *e)
{
    if (c->entry.size && (e->damage || !c->entry.damage))
        return;
    free((void *)(uintptr_t)c->entry.damage);
    c->entry = *e;
    c->entry.damage = e->damage ? copy_of(e->damage) : NULL;
    if (e->damage)
        return;
    if (!c->k.name)
        c->k.name = copy_of(e->name), c->k.target = copy_of(e->target);
    c->entry.name = c->k.name, c->entry.target = c->k.target;
    c->entry.compiler = copy_of(e->compiler), c->entry.assembler = copy_of(e->assembler);
}

static bool take_entry(void *user, const sett_cache_entry *e)
{
    candidates *all = user;
    candidate *c = of_key(all, e->key);
    if (!c)
        memcpy((c = add(all))->k.key, e->key, sizeof c->k.key);
    keep_entry(c, e);
    return true;
}

static bool take_entry_of_manifest(void *user, const sett_cache_entry *e)
{
    candidate *c = of_key(user, e->key);
    if (c)
        keep_entry(c, e);
    return true;
}

static bool take_kernel(void *user, const sett_warm_event *e)
{
    if (!e->status && !of_key(user, e->key))
        add(user)->k = named_key_of(e);
    return true;
}

static int collect(sett_engine *e, const options *o, candidates *all)
{
    const sett_warm_options w = {.size = sizeof w, .command = self_path(), .targets = o->targets};
    sett_error err = {0};
    if (o->manifest && sett_family_keys(e, o->manifest, &w, take_kernel, all, &err))
        return fail("%s", err.text);
    return sett_cache_walk(e, o->manifest ? take_entry_of_manifest : take_entry, all, &err) ? fail("%s", err.text) : EXIT_OK;
}

/* ---- what is looked for -------------------------------------------------------------------------- */
static int none(const options *o)
{
    const char *digits = o->argv[1];
    if (o->manifest)
        return fail("%s: no such key in %s for %s", digits, o->manifest, o->targets ? o->targets : "its targets");
    return fail("%s: no such key in the cache; a key is a hash, and which entry is nearest to it cannot be told from it alone. If a manifest "
                "names the kernel, sett cache explain %s --manifest FILE can tell; the line of a log that names a missing key names the "
                "kernel and its target too", digits, digits);
}

static int find(const candidates *all, const options *o, const candidate **to)
{
    const char *digits = o->argv[1];
    char key[65];
    *to = NULL;
    for (size_t i = 0; i < all->n; i++) {
        hex(all->at[i].k.key, key);
        if (strncmp(key, digits, strlen(digits)))
            continue;
        if (*to)
            return fail("%s: more than one key starts so", digits);
        *to = &all->at[i];
    }
    return *to ? EXIT_OK : none(o);
}

/* ---- what is nearest ------------------------------------------------------------------------------ */
static bool is_cached(const candidate *c)
{
    return c->entry.size && !c->entry.damage;
}

/* *same_tape: both are in the cache and of one tape. */
static void differ(sett_engine *e, telling *t, const candidate *a, const candidate *b, bool *same_tape)
{
    char text[2048] = "";
    int n = is_cached(a) && is_cached(b) ? sett_cache_explain(e, a->k.key, b->k.key, text, sizeof text, NULL) : 0;
    if (a->k.params)
        tell_named(t, &a->k, &b->k);
    else
        tell(t, "kernel", a->k.name, b->k.name);
    if (n > 0)
        tell_lines(t, text);
    *same_tape = n > 0 && strncmp(text, "tape: ", 6) != 0;
}

/* Is one as near as the other, what was used last comes first. */
static bool is_before(const candidate *a, const candidate *b)
{
    return a->entry.used != b->entry.used ? a->entry.used > b->entry.used : memcmp(a->k.key, b->k.key, sizeof a->k.key) < 0;
}

/* Of the same name, else of the same tape, the one of which the least differs. NULL: there is none. */
static const candidate *nearest_to(sett_engine *e, const candidates *all, const candidate *c)
{
    enum { OF_TAPE = 1 << 16 };
    const candidate *best = NULL;
    int least = 0;
    for (size_t i = 0; i < all->n; i++) {
        const candidate *x = &all->at[i];
        telling t = {.mute = true};
        bool tape;
        if (x == c || !is_cached(x))
            continue;
        differ(e, &t, c, x, &tape);
        bool named = !strcmp(c->k.name, x->k.name);
        int distance = t.n + (named ? 0 : OF_TAPE);
        if ((named || tape) && (!best || distance < least || (distance == least && is_before(x, best))))
            best = x, least = distance;
    }
    return best;
}

/* ---- telling --------------------------------------------------------------------------------------- */
static void print_row(const candidate *c)
{
    char key[65];
    hex(c->k.key, key);
    if (c->k.params)
        printf("%.16s  %s  %s %s  %s\n", key, is_cached(c) ? "in the cache" : "not in the cache", c->k.target, c->k.name, c->k.params);
    else
        entry_print(&c->entry);
}

static void print_json_head(const candidate *c, const candidate *nearest)
{
    char key[65], other[65];
    hex(c->k.key, key);
    printf("{\"schema_version\": 1, \"key\": \"%s\", \"cached\": %s, \"nearest\": ", key, is_cached(c) ? "true" : "false");
    if (nearest)
        hex(nearest->k.key, other), json_string(stdout, other);
    else
        fputs("null", stdout);
    fputs(", \"differs\": [", stdout);
}

static void print(sett_engine *e, const options *o, const candidate *c, const candidate *nearest)
{
    telling t = {.json = o->json};
    bool tape;
    if (o->json) {
        print_json_head(c, nearest);
    } else {
        print_row(c);
        if (nearest)
            puts("nearest in the cache:"), print_row(nearest);
        else
            puts(o->manifest ? "no other kernel of its name in the manifest is in the cache" : "no other entry has its name or its tape");
    }
    if (nearest)
        differ(e, &t, c, nearest, &tape);
    if (o->json)
        puts("]}");
}

int explain_nearest(sett_engine *e, const options *o)
{
    candidates all = {0};
    const candidate *c;
    int code = is_key(o->argv[1]) ? collect(e, o, &all) : no_key(o->argv[1]);
    if (!code)
        code = find(&all, o, &c);
    if (!code && !o->manifest && c->entry.damage)
        code = fail("%s: its entry is damaged: %s", o->argv[1], c->entry.damage);
    if (!code)
        print(e, o, c, nearest_to(e, &all, c));
    free_all(&all);
    return code;
}
