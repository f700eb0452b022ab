/* SPDX-License-Identifier: Apache-2.0 */
/* What people write, for the fuzzers: manifests, and what the environment and options say. See fuzz.h. */
#include "tests/rig/faces.h"
#include "jit/cache/inside.h"
#include "tests/rig/faces.h"
#include "jit/warm/inside.h"
#include "tools/tools.h"
#include "tests/fuzz/fuzz.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *text_of(const uint8_t *data, size_t len)
{
    char *text = malloc(len + 1);
    if (!text)
        abort();
    memcpy(text, data, len);
    text[len] = 0;
    return text;
}

/* ---- manifests --------------------------------------------------------------------------------- */
typedef struct data {
    bool flag;
    short small;
    int64_t large;
    float factor;
    double more;
    sett_dtype dtype;
} data_of;
static void body(sett_build *b, const void *user)
{
    (void)b, (void)user;
}
static const data_of usual = {.small = 3, .dtype = SETT_F32};
static const sett_family_param params[] = {SETT_FAMILY_PARAM(data_of, flag), SETT_FAMILY_PARAM(data_of, small),
    SETT_FAMILY_PARAM(data_of, large), SETT_FAMILY_PARAM(data_of, factor), SETT_FAMILY_PARAM(data_of, more),
    SETT_FAMILY_PARAM(data_of, dtype)};
static const sett_family families[] = {
    {.size = sizeof(sett_family), .body = body, .name = "f", .user_size = sizeof usual, .defaults = &usual, .params = params, .n_params = 6},
    {.size = sizeof(sett_family), .body = body, .user_size = sizeof usual, .params = params, .n_params = 2}};

/* No path of a fuzzer's is opened: f and g are families, all else is not there; every tape has three bytes. */
static sett_status source(sett__warm_block *b, const char *symbol, sett_error *err)
{
    if (!symbol) {
        b->tape = strdup("abc");
        b->tape_len = 3;
        return SETT_OK;
    }
    b->family = !strcmp(symbol, "f") ? &families[0] : !strcmp(symbol, "g") ? &families[1] : NULL;
    return b->family ? SETT_OK : sett__error(err, SETT_E_IO, "%s has no symbol %s", b->path, symbol);
}

/* A range of thousands of values is no error, but what a run then spends its time on. */
static bool too_long(const char *text)
{
    enum { MOST = 100 };
    for (const char *at = text; (at = strstr(at, "..")); at += 2) {
        const char *first = at;
        while (first > text && strchr("+-0123456789", first[-1]))
            first--;
        char *end;
        long long from = strtoll(first, NULL, 10), to = strtoll(at + 2, &end, 10), step = *end == '+' ? strtoll(end, NULL, 10) : 1;
        if (*end != '*' && to > from && ((unsigned long long)to - (unsigned long long)from) / (step > 1 ? (unsigned long long)step : 1) > MOST)
            return true;
    }
    return false;
}

/* Each point of a block has user data and a name that ends; the first and the last stand for the others. */
static void look_at(const sett__warm_block *b)
{
    char text[SETT__WARM_TEXT];
    const size_t points[] = {0, b->points / 2, b->points - 1};
    if (!b->points || b->points > SETT__WARM_POINTS || (!b->family && !b->tape))
        abort();
    for (size_t i = 0; i < SETT__COUNT(points); i++) {
        sett_compile_options o;
        sett_error err = {0};
        sett__warm_kernel k;
        sett__manifest_point(b, points[i], text);
        if (sett__warm_kernel_of(b, points[i], 0, "sm_90a", &k, &err) || !b->family != !k.user || !memchr(text, 0, sizeof text))
            abort();
        sett__warm_compile_options(b, &k, "sm_90a", &o);
        if (o.opt_level < 0 || o.opt_level > 4)
            abort();
        free(k.user);
    }
}

void fuzz_manifest(const uint8_t *bytes, size_t len)
{
    sett__manifest m;
    sett_error err = {0};
    char *text = text_of(bytes, len);
    if (!too_long(text) && !sett__manifest_parse(&m, "fuzz.warm", text, len, source, &err)) {
        for (int i = 0; i < m.n; i++)
            look_at(&m.block[i]);
        sett__manifest_free(&m);
    }
    free(text);
}

/* ---- the environment, options -------------------------------------------------------------------- */
/* A file system in which every name is a folder of ours, and empty. */
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Woverride-init" /* the list first, then what differs */
#define X(result, failure, name, parameters, arguments) \
    static result none_##name parameters \
    { \
        errno = ENOENT; \
        return failure; \
    }
SETT__OS_CALLS(X)
#undef X
static int any_openat(int at, const char *path, int flags, mode_t mode)
{
    return 1000;
}
static int any_fstat(int fd, struct stat *st)
{
    *st = (struct stat){.st_mode = S_IFDIR | 0700, .st_uid = geteuid()};
    return 0;
}
static int any_close(int fd)
{
    return 0;
}
static const sett__os os_empty = {
#define X(result, failure, name, parameters, arguments) .name = none_##name,
    SETT__OS_CALLS(X)
#undef X
    .openat = any_openat,
    .fstat = any_fstat,
    .close = any_close,
};

static bool climbs(const char *path)
{
    for (const char *at = path; (at = strstr(at, "..")); at++)
        if ((at == path || at[-1] == '/') && (!at[2] || at[2] == '/'))
            return true;
    return false;
}

/* Absolute, without a way up, and what the first of the three that is set says. */
static void look_at_root(char *const set[])
{
    char path[4096], want[8192] = "";
    bool usable = sett__cache_root(NULL, path, sizeof path);
    static const char *const below[] = {"", "/sett", "/.cache/sett"};
    for (int i = 0; i < 3 && !*want; i++) {
        const char *said = set[i] ? strchr(set[i], '=') + 1 : NULL;
        if (said && said[0] == '/' && !climbs(said) && strlen(said) + strlen(below[i]) < sizeof path)
            snprintf(want, sizeof want, "%s%s", said, below[i]);
        if (said && !i)
            break;
    }
    if (usable != (want[0] != 0) || (usable && strcmp(path, want)))
        abort();
}

/* One place for each name between colons, each with what is wrong about it. */
static void look_at_layers(void)
{
    sett__cache *c;
    const char *layers = sett__cache_layer_paths(NULL), *path, *why;
    if (sett__cache_open(&c, &(sett__cache_options){.layers = layers, .os = &os_empty}, NULL))
        abort();
    const char *at = layers ? layers : "";
    for (int i = 0; i < sett__cache_layers(c); i++) {
        at += strspn(at, ":");
        size_t n = strcspn(at, ":");
        if (sett__cache_place(c, i, &path, &why) || !why || strlen(path) != n || memcmp(path, at, n))
            abort();
        at += n;
    }
    if (at[strspn(at, ":")])
        abort();
    sett__cache_close(c);
}

static void look_at_signers(const char *text)
{
    uint8_t(*key)[32];
    int n;
    char digits[65];
    if (sett__signers_read(text, &key, &n, NULL))
        return;
    if ((size_t)n != (strlen(text) + 1) / 65)
        abort();
    for (int i = 0; i < n; i++) {
        sett__hex_write(key[i], digits);
        if (strncasecmp(digits, text + 65 * i, 64))
            abort();
    }
    free(key);
}

/* By long division, so that no step can pass 64 bits. */
static void look_at_size(const char *text)
{
    uint64_t got = 0, n = 0;
    const char *at = text, *unit;
    bool fits = *at >= '0' && *at <= '9';
    for (; *at >= '0' && *at <= '9'; at++) {
        fits &= n <= (UINT64_MAX - (uint64_t)(*at - '0')) / 10;
        n = n * 10 + (uint64_t)(*at - '0');
    }
    if (*at && (unit = strchr("KMGTkmgt", *at))) {
        int shift = 10 * (int)((unit - "KMGTkmgt") % 4 + 1);
        fits &= n <= UINT64_MAX >> shift;
        n <<= shift;
        at++;
    }
    fits &= !*at;
    if (size_parse(text, &got) != fits || (fits && got != n))
        abort();
}

static void look_at_timeout(void)
{
    sett__asm *a;
    const char *text = getenv("SETT_JIT_TIMEOUT_MS");
    char *end = NULL;
    errno = 0;
    long n = text ? strtol(text, &end, 10) : 0;
    bool legal = !text || !*text || (strspn(text, "0123456789") == strlen(text) && !errno && n <= INT32_MAX);
    sett_status s = sett__asm_open(&a, &(sett__asm_config){.choice = SETT_ASM_AUTO}, NULL); /* it reads the number */
    if (s != (legal ? SETT_OK : SETT_E_ARGUMENT))
        abort();
    sett__asm_close(a);
}

static void look_at_dump(void)
{
    static sett__runtime runtime;
    static sett_engine e = {.runtime = &runtime};
    e.dump = 0;
    sett_status s = sett__dump_open(&e, NULL);
    if ((s && s != SETT_E_ARGUMENT) || e.dump > 15 || !memchr(e.dump_to, 0, sizeof e.dump_to))
        abort();
}

/* Lines; the first letter says what the rest of one is: see `names`, s signers, b bytes. */
void fuzz_environment(const uint8_t *bytes, size_t len)
{
    static const struct {
        char letter;
        const char *name;
    } names[] = {{'d', "SETT_CACHE_DIR="}, {'x', "XDG_CACHE_HOME="}, {'h', "HOME="}, {'l', "SETT_CACHE_LAYERS="},
        {'t', "SETT_JIT_TIMEOUT_MS="}, {'u', "SETT_DUMP="}};
    enum { NAMES = SETT__COUNT(names) };
    char *set[NAMES] = {NULL}, *own[NAMES + 1] = {NULL}, **before = environ, *text = text_of(bytes, len), *save = NULL;
    int n = 0;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        if (*line == 's')
            look_at_signers(line + 1);
        if (*line == 'b')
            look_at_size(line + 1);
        for (size_t i = 0; i < NAMES; i++)
            if (*line == names[i].letter && !set[i] && asprintf(&set[i], "%s%s", names[i].name, line + 1) > 0)
                own[n++] = set[i];
    }
    environ = own; /* not setenv, which keeps what was ever set */
    look_at_root(set);
    look_at_layers();
    look_at_timeout();
    look_at_dump();
    environ = before;
    for (size_t i = 0; i < NAMES; i++)
        free(set[i]);
    free(text);
}
