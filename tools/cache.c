/* SPDX-License-Identifier: Apache-2.0 */
/* sett cache: the layers of the disk cache, what lies in them, why two keys differ, and trimming; packs are in pack.c. */
#include "tools.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SHORT = 16 }; /* digits of a key that a list shows */

void hex(const uint8_t key[32], char text[65])
{
    for (int i = 0; i < 32; i++)
        snprintf(text + 2 * i, 3, "%02x", key[i]);
}

/* ---- layers ------------------------------------------------------------------------------ */
static int layers(sett_engine *e, const options *o)
{
    int n = sett_cache_layers(e);
    if (o->json)
        fputs("{\"schema_version\": 1, \"layers\": [", stdout);
    for (int i = 0; i < n; i++) {
        sett_cache_layer_info l = {.size = sizeof l};
        sett_cache_layer(e, i, &l);
        char signer[65] = "";
        if (l.is_signed)
            hex(l.signer, signer);
        if (o->json) {
            fputs(i ? ", {\"path\": " : "{\"path\": ", stdout), json_string(stdout, l.path);
            if (l.pack)
                printf(", \"entries\": %llu, \"aliases\": %llu, \"signer\": \"%s\"", (unsigned long long)l.entries, (unsigned long long)l.aliases, signer);
            printf(", \"remote\": %s, \"writable\": %s, \"cap\": %llu, \"why_not\": ", l.remote ? "true" : "false",
                l.writable ? "true" : "false", (unsigned long long)l.cap);
            json_string(stdout, l.why_not ? l.why_not : ""), putchar('}');
        } else if (l.why_not) {
            printf("%d  %s: not used: %s\n", i, l.path, l.why_not);
        } else if (l.remote) {
            printf("%d  %s: a server, %s\n", i, l.path, l.writable ? "read and written" : "only read");
        } else if (l.pack) {
            printf("%d  %s: a pack of %llu entries, %llu aliases, %s%s\n", i, l.path, (unsigned long long)l.entries, (unsigned long long)l.aliases,
                l.is_signed ? "signed by " : "not signed", signer);
        } else {
            printf("%d  %s: %s", i, l.path, l.writable ? "written" : "only read");
            printf(l.writable ? ", up to %llu MiB\n" : "\n", (unsigned long long)(l.cap >> 20));
        }
    }
    if (o->json)
        puts("]}");
    return EXIT_OK;
}

/* ---- entries ------------------------------------------------------------------------------- */
typedef struct listing {
    const options *o;
    bool damaged_only;
    int n, damaged;
    uint64_t bytes;
} listing;

void entry_print(const sett_cache_entry *e)
{
    char key[65], used[32] = "";
    time_t t = (time_t)e->used;
    struct tm tm;
    hex(e->key, key);
    if (e->used && gmtime_r(&t, &tm))
        strftime(used, sizeof used, "%Y-%m-%dT%H:%MZ", &tm);
    printf("%.*s  %d  %8llu  %-17s  ", SHORT, key, e->layer, (unsigned long long)e->bytes, used);
    if (e->damage)
        printf("damaged: %s\n", e->damage);
    else
        printf("%s %s  %s, %s\n", e->target, e->name, e->compiler, e->assembler);
}

static void print_entry_json(const sett_cache_entry *e)
{
    const char *const text[][2] = {{"name", e->name}, {"target", e->target}, {"compiler", e->compiler},
        {"assembler", e->assembler}, {"damage", e->damage}};
    char key[65];
    hex(e->key, key);
    printf("{\"schema_version\": 1, \"key\": \"%s\", \"layer\": %d, \"bytes\": %llu, \"used\": %lld", key, e->layer,
        (unsigned long long)e->bytes, (long long)e->used);
    for (size_t i = 0; i < sizeof text / sizeof *text; i++)
        if (text[i][1])
            printf(", \"%s\": ", text[i][0]), json_string(stdout, text[i][1]);
    puts("}");
}

static bool list_one(void *user, const sett_cache_entry *e)
{
    listing *l = user;
    l->n++;
    l->damaged += e->damage != NULL;
    l->bytes += e->bytes;
    if (!l->damaged_only || e->damage)
        (l->o->json ? print_entry_json : entry_print)(e);
    return true;
}

/* A cache that cannot be looked at is not sound; why was told when it was opened. */
static bool any_unusable(sett_engine *e)
{
    int n = sett_cache_layers(e);
    bool bad = n == 0;
    for (int i = 0; i < n; i++) {
        sett_cache_layer_info l = {.size = sizeof l};
        sett_cache_layer(e, i, &l);
        bad |= l.why_not != NULL;
    }
    return bad;
}

static int list(sett_engine *e, const options *o, bool damaged_only)
{
    listing l = {o, damaged_only, 0, 0, 0};
    sett_error err = {0};
    bool looked_at = !o->json && isatty(STDOUT_FILENO); /* what is piped has rows alone */
    if (looked_at)
        printf("%-*s  %s  %8s  %-17s  %s\n", SHORT, "KEY", "L", "BYTES", "LAST USED (UTC)", "TARGET KERNEL  COMPILER, ASSEMBLER");
    if (sett_cache_walk(e, list_one, &l, &err))
        return fail("%s", err.text);
    if (looked_at || (!o->json && damaged_only))
        printf("%d entries, %llu bytes, %d damaged\n", l.n, (unsigned long long)l.bytes, l.damaged);
    return damaged_only && (l.damaged || any_unusable(e)) ? EXIT_FAILED : EXIT_OK;
}

/* ---- trimming --------------------------------------------------------------------------------------- */
static int trim(sett_engine *e, const options *o)
{
    uint64_t bytes, left;
    sett_error err = {0};
    if (o->argc > 2)
        return usage("cache trim takes a size alone, and not %s: it trims the folder of --cache-dir; a pack cannot be trimmed", o->argv[2]);
    if (o->argc != 2 || !size_parse(o->argv[1], &bytes))
        return usage("cache trim needs a size: bytes, or 500M, 4G");
    if (sett_cache_trim(e, bytes, &left, &err))
        return fail("%s", err.text);
    printf("%llu bytes are left, in whole blocks of the disk\n", (unsigned long long)left);
    return EXIT_OK;
}

static int ask(sett_engine *e, const options *o, const char *what)
{
    if (!strcmp(what, "layers"))
        return layers(e, o);
    if (!strcmp(what, "ls") || !strcmp(what, "verify"))
        return list(e, o, *what == 'v');
    return !strcmp(what, "explain") ? cache_explain(e, o) : trim(e, o);
}

static const struct {
    const char *name;
    int sources; /* how many words stand before them; -1: it has none */
} verbs[] = {{"layers", -1}, {"ls", 1}, {"verify", 1}, {"explain", 2}, {"trim", -1}}; /* explain: with one key */

static int no_verb(const char *what)
{
    sett__guess g = sett__guess_of(what, strlen(what));
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        sett__guess_add(&g, verbs[i].name);
    pack_verbs(&g);
    return usage("%s: cache takes layers, ls, verify, explain KEY [B], trim SIZE, pack, merge, sign, unpack or keygen%s", what,
        sett__guess_text(&g));
}

int cache_command(const options *o)
{
    const char *what = o->argc ? o->argv[0] : "layers";
    options here = *o;
    here.device = "cpu"; /* nobody asks for a GPU here */
    cache_verb *pack = pack_verb(what);
    if (pack) {
        here.argc--, here.argv++;
        return pack(&here);
    }
    size_t i = 0, n = sizeof verbs / sizeof *verbs;
    while (i < n && strcmp(what, verbs[i].name))
        i++;
    if (i == n)
        return no_verb(what);
    if (!strcmp(what, "layers") && o->argc > 1)
        return usage("cache layers: %s: it takes no operand: --cache-dir and SETT_CACHE_LAYERS say what is asked", o->argv[1]);
    int own = verbs[i].sources + (!strcmp(what, "explain") && explains_two(o));
    bool sources = own > 0 && o->argc > own;
    if (sources)
        here.trust = SETT_TRUST_OFF; /* they are looked at, and nothing of them is run */
    sett_engine *e = sources ? sources_open(&here, o->argc - own, o->argv + own, false) : engine_open(&here);
    if (!e)
        return EXIT_FAILED;
    int code = ask(e, o, what);
    sett_engine_close(e);
    return code;
}
