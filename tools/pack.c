/* SPDX-License-Identifier: Apache-2.0 */
/* sett cache pack, merge, sign, unpack, keygen: packs, which are one file of many entries. */
#include "tools.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEY = 32, DIGITS = 2 * KEY, KEY_FILE_MOST = 4096 };

/* ---- sources ------------------------------------------------------------------------------- */
/* 64 digits, or the first 64 of a file. */
static int read_public_key(const char *text, char digits[DIGITS + 1])
{
    size_t len = strlen(text);
    char *file = NULL;
    if (len != DIGITS || strspn(text, "0123456789abcdef") != DIGITS) {
        file = regular_read(text, KEY_FILE_MOST, &len);
        if (!file)
            return EXIT_FAILED;
        text = file;
    }
    bool ok = len >= DIGITS && strspn(text, "0123456789abcdef") == DIGITS && (!text[DIGITS] || text[DIGITS] == '\n');
    if (ok)
        snprintf(digits, DIGITS + 1, "%.*s", DIGITS, text);
    free(file);
    return ok ? EXIT_OK : fail("--signed-by: a public key is %d hexadecimal digits, or a file with them", DIGITS);
}

/* malloc'ed: absolute paths with ':' between. */
static char *join_sources(int argc, char **argv)
{
    char *all = calloc(1, 1), *more;
    for (int i = 0; i < argc && all; i++) {
        char path[PATH_MAX];
        if (!realpath(argv[i], path) || strchr(path, ':')) {
            fail("%s: %s", argv[i], strchr(path, ':') ? "a path with ':' cannot be a source" : strerror(errno));
            break;
        }
        size_t n = strlen(all);
        if ((more = realloc(all, n + strlen(path) + 2))) {
            all = more;
            sprintf(all + n, "%s%s", n ? ":" : "", path);
        }
        if (i + 1 == argc)
            return all;
    }
    free(all);
    return NULL;
}

/* A layer that an engine goes on without is an error of who named it. */
static bool all_open(sett_engine *e)
{
    int bad = 0;
    for (int i = 0; i < sett_cache_layers(e); i++) {
        sett_cache_layer_info l = {.size = sizeof l};
        sett_cache_layer(e, i, &l);
        if (l.why_not)
            bad += fail("%s: %s", l.path, l.why_not);
    }
    return !bad;
}

sett_engine *sources_open(const options *o, int argc, char **argv, bool folder)
{
    char digits[DIGITS + 1];
    options here = *o;
    if (o->signed_by) {
        if (read_public_key(o->signed_by, digits))
            return NULL;
        here.trust = SETT_TRUST_SIGNED;
        here.signed_by = digits;
    }
    char *layers = join_sources(argc, argv);
    if (!layers)
        return NULL;
    here.layers = layers;
    here.cache_dir = folder ? o->cache_dir : "";
    sett_engine *e = engine_open(&here);
    free(layers);
    if (e && !all_open(e)) {
        sett_engine_close(e);
        e = NULL;
    }
    return e;
}

/* ---- writing --------------------------------------------------------------------------------- */
int no_file(const char *option, const char *path)
{
    return strcmp(path, "-") ? EXIT_OK : usage("%s -: this is written as a file, not to standard output; ./- is a file of that name", option);
}

static int write_pack(sett_engine *e, const options *o, const uint8_t (*keys)[32], size_t n_keys)
{
    char secret[PATH_MAX];
    uint64_t n;
    sett_error err = {0};
    if (o->secret_key && !realpath(o->secret_key, secret))
        return fail("%s: %s", o->secret_key, strerror(errno));
    const sett_pack_options p = {
        .size = sizeof p, .keys = keys, .n_keys = n_keys, .secret_key = o->secret_key ? secret : NULL};
    if (sett_pack_write(e, o->output, &p, &n, &err))
        return fail("%s", err.text);
    printf("%s: %llu entries\n", o->output, (unsigned long long)n);
    return EXIT_OK;
}

static int pack_keys(sett_engine *e, const options *o)
{
    size_t n = (size_t)o->argc;
    uint8_t(*keys)[32] = calloc(n + 1, sizeof *keys);
    int code = keys ? EXIT_OK : fail("out of memory");
    for (size_t i = 0; i < n && !code; i++)
        code = key_find(e, o->argv[i], keys[i]);
    if (!code)
        code = write_pack(e, o, (const uint8_t(*)[32])(n ? keys : NULL), n);
    free(keys);
    return code;
}

static int pack(const options *o)
{
    if (!o->output)
        return usage("cache pack needs -o FILE");
    if (no_file("-o", o->output))
        return EXIT_USAGE;
    sett_engine *e = engine_open(o);
    if (!e)
        return EXIT_FAILED;
    int code = pack_keys(e, o);
    sett_engine_close(e);
    return code;
}

static int merge(const options *o)
{
    if (!o->argc || !o->output)
        return usage("cache merge needs packs or folders, and -o FILE");
    if (no_file("-o", o->output))
        return EXIT_USAGE;
    sett_engine *e = sources_open(o, o->argc, o->argv, false);
    if (!e)
        return EXIT_FAILED;
    int code = write_pack(e, o, NULL, 0);
    sett_engine_close(e);
    return code;
}

static int sign(const options *o)
{
    if (o->argc != 1 || !o->output || !o->secret_key)
        return usage("cache sign needs a pack, --secret-key FILE and -o FILE");
    return merge(o);
}

static int unpack(const options *o)
{
    uint64_t n;
    sett_error err = {0};
    if (!o->argc || o->output)
        return usage("cache unpack needs packs or folders, and writes to --cache-dir");
    options plain = *o;
    if (o->signed_by) { /* once for the signatures; an engine that believes nothing else writes no folder */
        sett_engine *e = sources_open(o, o->argc, o->argv, false);
        if (!e)
            return EXIT_FAILED;
        sett_engine_close(e);
        plain.signed_by = NULL;
    }
    sett_engine *e = sources_open(&plain, o->argc, o->argv, true);
    if (!e)
        return EXIT_FAILED;
    int code = sett_pack_unpack(e, &n, &err) ? fail("%s", err.text) : EXIT_OK;
    if (!code)
        printf("%llu entries\n", (unsigned long long)n);
    sett_engine_close(e);
    return code;
}

/* ---- keys ---------------------------------------------------------------------------------------- */
static int write_secret(const char *path)
{
    uint8_t seed[KEY];
    char text[DIGITS + 2];
    if (getrandom(seed, sizeof seed, 0) != sizeof seed)
        return fail("no random bytes: %s", strerror(errno));
    hex(seed, text);
    strcpy(text + DIGITS, "\n");
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return fail("%s: %s", path, strerror(errno));
    bool ok = !fchmod(fd, 0600) && write(fd, text, DIGITS + 1) == DIGITS + 1;
    int why = errno;
    if (close(fd) && ok)
        ok = false, why = errno;
    if (!ok)
        unlink(path);
    return ok ? EXIT_OK : fail("%s: %s", path, strerror(why));
}

static int keygen(const options *o)
{
    uint8_t key[KEY];
    char secret[PATH_MAX], text[DIGITS + 1];
    sett_error err = {0};
    if (o->argc || !o->output)
        return usage("cache keygen needs -o FILE for the secret key; the public one goes to standard output");
    int code = no_file("-o", o->output);
    if (!code)
        code = write_secret(o->output);
    if (code)
        return code;
    if (!realpath(o->output, secret) || sett_pack_public_key(secret, key, &err)) {
        unlink(o->output);
        return fail("%s", err.text[0] ? err.text : strerror(errno));
    }
    hex(key, text);
    puts(text);
    if (fflush(stdout)) /* a secret key whose public one was lost is of no use, and would be in the way */
        unlink(o->output);
    return EXIT_OK;
}

static const struct {
    const char *name;
    cache_verb *run;
} verbs[] = {{"pack", pack}, {"merge", merge}, {"sign", sign}, {"unpack", unpack}, {"keygen", keygen}};

cache_verb *pack_verb(const char *name)
{
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (!strcmp(name, verbs[i].name))
            return verbs[i].run;
    return NULL;
}

void pack_verbs(sett__guess *g)
{
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        sett__guess_add(g, verbs[i].name);
}
