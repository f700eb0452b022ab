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

/* ---- a folder of findings -------------------------------------------------------------------------------------- */
/* What stands between the first `open` of a file and its last `close`. NULL: it has none; *text is malloc'ed. */
static char *inside(const char *path, const char *open, const char *close, char **text, size_t *len)
{
    char *from, *to = NULL;
    *text = regular_read(path, MOST_JSON, len);
    from = *text ? strstr(*text, open) : NULL;
    if (!from)
        return NULL;
    from += strlen(open);
    for (char *at = from; (at = strstr(at, close)); at++)
        to = at;
    if (!to)
        return NULL;
    *len = (size_t)(to - from);
    return from;
}

static int count_of(const char *text, const char *word)
{
    int n = 0;
    for (; (text = strstr(text, word)); text++)
        n++;
    return n;
}

/* Of one process; `open` and `close` are around the list. Its items go to `to`, if any. */
static void add_file(FILE *to, const char *path, const char *open, const char *close, bool *any, totals *t)
{
    char *text;
    size_t len;
    char *list = inside(path, open, close, &text, &len);
    while (list && len && (*list == '\n' || *list == ' '))
        list++, len--;
    if (list && len && to) {
        fputs(*any ? ",\n" : "\n", to);
        fwrite(list, 1, len, to);
        *any = true;
    }
    if (list && t) {
        t->lost += strstr(list + len, "\"lost\":") != NULL;
        list[len] = 0;
        t->errors += count_of(list, "\"level\":\"error\"");
        t->warnings += count_of(list, "\"level\":\"warning\"");
        t->costs += count_of(list, "\"level\":\"cost\"");
    }
    free(text);
}

static void add_folder(FILE *to, const char *folder, const char *ending, const char *open, const char *close, totals *t)
{
    struct dirent **list;
    char path[PATH_MAX];
    bool any = false;
    const int n = scandir(folder, &list, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        const size_t len = strlen(list[i]->d_name), end = strlen(ending);
        snprintf(path, sizeof path, "%s/%s", folder, list[i]->d_name);
        if (len > end && !strcmp(list[i]->d_name + len - end, ending))
            add_file(to, path, open, close, &any, t);
        free(list[i]);
    }
    if (n >= 0)
        free(list);
}

/* All processes' lists in one. path NULL: nowhere. An exit code. */
static int put_together(const char *path, const char *folder, const char *ending, const char *head, const char *open, const char *close, const char *tail, totals *t)
{
    FILE *to = path ? fopen(path, "we") : NULL;
    if (path && !to)
        return fail("%s: %s", path, strerror(errno));
    if (to)
        fputs(head, to);
    add_folder(to, folder, ending, open, close, t);
    if (to)
        fputs(tail, to);
    return to && fclose(to) ? fail("%s: %s", path, strerror(errno)) : EXIT_OK;
}

static int gather(const options *o, const char *folder, totals *t)
{
    int code = put_together(o->output, folder, ".json", "{\"findings\":[", "{\"findings\":[", "]", "]}\n", t);
    return code || !o->sarif ? code
                             : put_together(o->sarif, folder, ".sarif", "{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\"version\":\"2.1.0\",\"runs\":[",
                                   "\"runs\":[", "]}", "]}\n", NULL);
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

static void tell_proofs(const char *folder)
{
    struct dirent **list;
    char path[PATH_MAX];
    lines all = {NULL};
    const int n = scandir(folder, &list, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        const char *end = strrchr(list[i]->d_name, '.');
        snprintf(path, sizeof path, "%s/%s", folder, list[i]->d_name);
        if (end && !strcmp(end, ".proofs"))
            read_lines(&all, path);
        free(list[i]);
    }
    if (n >= 0)
        free(list);
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
    for (int n = 0; n < (o->orders ? o->orders : 1); n++) {
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
    for (int n = 0; n < (o->orders ? o->orders : 1); n++) {
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
