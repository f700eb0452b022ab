/* SPDX-License-Identifier: Apache-2.0 */
/* sett check: a kernel, or any program, with the checker on. Each process of a program writes its findings to files of its own in a
 * folder, which are put together when it has ended. */
#include "tools.h"
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_JSON = 1 << 28 };
typedef struct totals {
    int errors, warnings, costs, lost;
} totals;

static int tell_totals(const totals *t)
{
    const char *also = t->lost ? ", and more that were lost for lack of memory" : "";
    fprintf(stderr, "sett check: %d error%s, %d warning%s, %d cost%s%s\n", t->errors, t->errors == 1 ? "" : "s", t->warnings, t->warnings == 1 ? "" : "s",
        t->costs, t->costs == 1 ? "" : "s", also);
    return t->errors || t->lost ? EXIT_FAILED : EXIT_OK;
}

/* ---- findings of several processes ------------------------------------------------------------------------------- */
/* One of a list, as its process wrote it. A quote in a string of JSON has a backslash before it, so a name with its quotes is where it seems. */
typedef struct item {
    char *text, *key; /* key: of kind, level and pair of lines */
    unsigned long long count;
} item;
typedef struct items {
    item *at;
    int n, cap;
    bool full; /* out of memory */
} items;
typedef struct part { const char *at; size_t len; } part;

/* What stands between two names; empty: they are not there. */
static part between(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from), *end = at ? strstr(at + strlen(from), to) : NULL;
    return end ? (part){at + strlen(from), (size_t)(end - at) - strlen(from)} : (part){"", 0};
}

static int compare(part a, part b)
{
    const int order = memcmp(a.at, b.at, a.len < b.len ? a.len : b.len);
    return order ? order : a.len < b.len ? -1 : a.len > b.len;
}

/* As the process that found it tells findings apart. NULL: out of memory. */
static char *key_of(const char *text)
{
    const char *sites = strstr(text, "\"sites\":["), *next = sites ? strstr(sites, "},{") : NULL;
    part site[2] = {between(sites ? sites : "", "\"file\":", ",\"role\"")};
    site[1] = next ? between(next, "\"file\":", ",\"role\"") : site[0];
    const bool turned = compare(site[0], site[1]) > 0, nowhere = site[0].len < sizeof "\"\",\"line\":" || !memcmp(site[0].at, "\"\"", 2);
    const part of[] = {between(text, "\"kind\":", ",\"level\""), between(text, "\"level\":", ",\"kernel\""), site[turned], site[!turned],
        nowhere ? between(text, "\"kernel\":", ",\"count\"") : (part){"", 0}, site[0].len ? (part){"", 0} : between(text, "\"text\":", ",\"sites\"")};
    char *key = NULL;
    size_t len;
    FILE *f = open_memstream(&key, &len);
    for (size_t i = 0; f && i < sizeof of / sizeof *of; i++)
        fprintf(f, "%.*s|", (int)of[i].len, of[i].at);
    return f && !fclose(f) ? key : NULL;
}

static void keep(items *to, const char *text, size_t len)
{
    item i = {.text = strndup(text, len)};
    i.key = i.text ? key_of(i.text) : NULL;
    i.count = i.text ? strtoull(between(i.text, "\"count\":", ",").at, NULL, 10) : 0;
    for (int k = 0; i.key && k < to->n; k++)
        if (!strcmp(to->at[k].key, i.key)) {
            to->at[k].count += i.count;
            free(i.text), free(i.key);
            return;
        }
    item *grown = to->n < to->cap ? to->at : realloc(to->at, (size_t)(2 * to->cap + 16) * sizeof *grown);
    if (!i.key || !grown) {
        to->full = true;
        free(i.text), free(i.key);
        return;
    }
    to->cap = to->n < to->cap ? to->cap : 2 * to->cap + 16;
    to->at = grown;
    to->at[to->n++] = i;
}

/* The items of a list, a line each, from behind its name on; what stands behind the list. */
static const char *keep_list(items *to, const char *at)
{
    while (*at == '\n') {
        const size_t len = strcspn(at + 1, "\n");
        const bool last = at[len] != ',';
        const char *end = at + 1 + len; /* of the last one: behind its sites is the end of the list */
        if (last && (!(end = strstr(at, "\"sites\":[")) || !(end = strstr(end, "]}]"))))
            return "";
        end += last ? 2 : -1;
        keep(to, at + 1, (size_t)(end - at - 1));
        at = last ? end : end + 1;
    }
    return at;
}

static void add_file(items *found, items *suppressed, const char *path, totals *t)
{
    size_t len;
    char *text = regular_read(path, MOST_JSON, &len);
    const char *open = "{\"findings\":[", *also = "],\"suppressed\":[";
    if (text && !strncmp(text, open, strlen(open))) {
        const char *at = keep_list(found, text + strlen(open));
        if (!strncmp(at, also, strlen(also)))
            at = keep_list(suppressed, at + strlen(also));
        t->lost += strstr(at, "\"lost\":") != NULL;
    }
    free(text);
}

static void put_items(FILE *to, const items *x)
{
    for (int i = 0; i < x->n; i++) {
        const char *text = x->at[i].text, *count = between(text, "\"count\":", ",").at;
        if (*count)
            fprintf(to, "%s%.*s%llu%s", i ? ",\n" : "\n", (int)(count - text), text, x->at[i].count, count + strspn(count, "0123456789"));
    }
}

static void free_items(items *x)
{
    for (int i = 0; i < x->n; i++)
        free(x->at[i].text), free(x->at[i].key);
    free(x->at);
}

static void count_items(const items *x, totals *t)
{
    for (int i = 0; i < x->n; i++) {
        const part level = between(x->at[i].text, "\"level\":\"", "\"");
        ++*(*level.at == 'e' ? &t->errors : *level.at == 'w' ? &t->warnings : &t->costs);
    }
    t->lost += x->full;
}

/* Calls fn with each file of the folder that ends so, in one order. */
static void each_file(const char *folder, const char *ending, void (*fn)(void *, const char *path), void *user)
{
    struct dirent **list;
    char path[PATH_MAX];
    const int n = scandir(folder, &list, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        const size_t len = strlen(list[i]->d_name), end = strlen(ending);
        snprintf(path, sizeof path, "%s/%s", folder, list[i]->d_name);
        if (len > end && !strcmp(list[i]->d_name + len - end, ending))
            fn(user, path);
        free(list[i]);
    }
    if (n >= 0)
        free(list);
}

typedef struct gathered {
    items found, suppressed;
    totals *totals;
    FILE *sarif;
    bool any;
} gathered;

static void add_json(void *user, const char *path)
{
    gathered *g = user;
    add_file(&g->found, &g->suppressed, path, g->totals);
}

/* A run of SARIF for each process. */
static void add_sarif(void *user, const char *path)
{
    gathered *g = user;
    static const char open[] = "\"runs\":[";
    size_t len;
    char *text = regular_read(path, MOST_JSON, &len), *from = text ? strstr(text, open) : NULL, *to = text ? strrchr(text, ']') : NULL;
    if (from && to > from) {
        from += strlen(open);
        fputs(g->any ? ",\n" : "\n", g->sarif);
        fwrite(from, 1, (size_t)(to - from), g->sarif);
        g->any = true;
    }
    free(text);
}

static int write_json(const char *path, const gathered *g)
{
    FILE *to = fopen(path, "we");
    if (!to)
        return fail("%s: %s", path, strerror(errno));
    fputs("{\"findings\":[", to);
    put_items(to, &g->found);
    if (g->suppressed.n) {
        fputs("],\"suppressed\":[", to);
        put_items(to, &g->suppressed);
    }
    fputs("]}\n", to);
    return fclose(to) ? fail("%s: %s", path, strerror(errno)) : EXIT_OK;
}

static int write_sarif(const char *path, const char *folder, gathered *g)
{
    if (!(g->sarif = fopen(path, "we")))
        return fail("%s: %s", path, strerror(errno));
    fputs("{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\"version\":\"2.1.0\",\"runs\":[", g->sarif);
    each_file(folder, ".sarif", add_sarif, g);
    fputs("]}\n", g->sarif);
    return fclose(g->sarif) ? fail("%s: %s", path, strerror(errno)) : EXIT_OK;
}

/* What several processes found, or one in several orders, is one finding, with the sum of their counts. */
static int gather(const options *o, const char *folder, totals *t)
{
    gathered g = {.totals = t};
    each_file(folder, ".json", add_json, &g);
    count_items(&g.found, t);
    t->lost += g.suppressed.full;
    int code = o->output ? write_json(o->output, &g) : EXIT_OK;
    if (!code && o->sarif)
        code = write_sarif(o->sarif, folder, &g);
    free_items(&g.found), free_items(&g.suppressed);
    return code;
}

/* ---- what was proved ---------------------------------------------------------------------------------------------- */
typedef struct lines {
    char **at;
    int n, cap;
} lines;

/* A line of another process, or of another launch, is said once. */
static void keep_line(lines *to, const char *line)
{
    char **grown = to->at;
    for (int i = 0; i < to->n; i++)
        if (!strcmp(to->at[i], line))
            return;
    if (to->n == to->cap && (grown = realloc(to->at, (size_t)(2 * to->cap + 16) * sizeof *grown))) {
        to->at = grown;
        to->cap = 2 * to->cap + 16;
    }
    char *copy = grown ? strdup(line) : NULL;
    if (copy)
        to->at[to->n++] = copy;
}

static void read_lines(lines *to, const char *path)
{
    char line[1200];
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f))
        keep_line(to, line);
    if (f)
        fclose(f);
}

static void read_proofs(void *user, const char *path)
{
    read_lines(user, path);
}

static void tell_proofs(const char *folder)
{
    lines all = {NULL};
    each_file(folder, ".proofs", read_proofs, &all);
    for (int i = 0; i < all.n; i++) {
        fprintf(stderr, "sett check: %s", all.at[i]);
        free(all.at[i]);
    }
    free(all.at);
}

static void remove_folder(const char *folder)
{
    struct dirent **list;
    char path[PATH_MAX];
    const int n = scandir(folder, &list, NULL, NULL);
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, list[i]->d_name);
        if (list[i]->d_name[0] != '.')
            unlink(path);
        free(list[i]);
    }
    if (n >= 0)
        free(list);
    rmdir(folder);
}

/* ---- the environment of what is run ------------------------------------------------------------------------------ */
static void set_environment(const options *o, const char *folder)
{
    char path[PATH_MAX];
    setenv("SETT_CHECK", o->strict ? "strict" : o->errors ? "errors" : "1", o->strict || o->errors);
    setenv("SETT_DEVICE", "cpu", 0);
    setenv("SETT_LOG", "warning", 0); /* of a kernel: findings go to standard error whole */
    snprintf(path, sizeof path, "%s/%%p.json", folder);
    setenv("SETT_CHECK_JSON", path, 1);
    snprintf(path, sizeof path, "%s/%%p.sarif", folder);
    setenv("SETT_CHECK_SARIF", path, 1);
    snprintf(path, sizeof path, "%s/%%p.proofs", folder);
    setenv("SETT_CHECK_PROOFS", path, 1);
}

/* Order n of sett check --orders: lazy, eager, then seeds. */
static void set_order(const options *o, int n)
{
    char text[32];
    if (!o->orders)
        return;
    if (o->orders == ORDERS_ALL) {
        setenv("SETT_CPU_ASYNC", "systematic", 1);
        return;
    }
    snprintf(text, sizeof text, n > 1 ? "random:%d" : n ? "eager" : "lazy", n - 1);
    setenv("SETT_CPU_ASYNC", text, 1);
}

/* ---- a program ------------------------------------------------------------------------------------------------------- */
/* Its exit code; as a shell, 128 more than the signal that ended it. */
static int run_program(char **argv)
{
    int status;
    fflush(NULL);
    const pid_t child = fork();
    if (!child) {
        execvp(argv[0], argv);
        fprintf(stderr, "sett: %s: %s\n", argv[0], strerror(errno));
        _exit(127);
    }
    if (child < 0)
        return fail("fork: %s", strerror(errno));
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return fail("waitpid: %s", strerror(errno));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int check_program(const options *o)
{
    int code = EXIT_OK;
    for (int n = 0; n < (o->orders > 0 ? o->orders : 1); n++) {
        set_order(o, n);
        const int one = run_program(o->argv);
        code = code ? code : one;
    }
    return code;
}

/* ---- a kernel ---------------------------------------------------------------------------------------------------------- */
static int launch_kernel(const options *o, sett_engine *e, sett_stream s, sett_kernel *k)
{
    argument args[ARGUMENTS_MOST] = {0};
    sett_launch_arg bind[ARGUMENTS_MOST];
    sett_error err = {0};
    int n, code = arguments_parse(o, k, true, args, &n);
    for (int i = 0; i < n; i++) /* as bench_kernel */
        if (!args[i].info.scalar && !args[i].in && !args[i].extents && args[i].info.written && !args[i].info.read)
            args[i].out = "";
    if (!code)
        code = arguments_upload(e, s, args, n);
    if (!code)
        code = arguments_bind(args, n, bind);
    if (!code && sett_launch_n(k, s, n, bind, &err))
        code = launch_refused(o, &err);
    arguments_free(e, s, args, n);
    return code;
}

static int check_kernel(const options *o)
{
    int code = EXIT_OK;
    options cpu = *o;
    char **argv = calloc((size_t)o->argc + 1, sizeof *argv); /* whoever parses them cuts them up */
    if (!argv)
        return fail("out of memory");
    cpu.device = cpu.target = "cpu";
    cpu.argv = argv;
    for (int n = 0; n < (o->orders > 0 ? o->orders : 1); n++) {
        set_order(o, n);
        for (int i = 0; i < o->argc; i++)
            argv[i] = copy_of(o->argv[i]);
        const int one = kernel_command(&cpu, "check", launch_kernel);
        for (int i = 0; i < o->argc; i++)
            free(argv[i]);
        code = code ? code : one;
    }
    free(argv);
    return code;
}

int check_command(const options *o)
{
    char folder[] = "/tmp/sett-check-XXXXXX";
    totals t = {0};
    if (!o->argc)
        return usage("check: which kernel or program? sett check -- PROGRAM ARGUMENTS");
    if (!mkdtemp(folder))
        return fail("%s: %s", folder, strerror(errno));
    set_environment(o, folder);
    const bool kernel = !o->program;
    int code = kernel ? check_kernel(o) : check_program(o), more = gather(o, folder, &t);
    code = code ? code : more;
    more = tell_totals(&t);
    tell_proofs(folder);
    remove_folder(folder);
    return more ? more : code;
}
