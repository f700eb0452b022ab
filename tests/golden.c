/* SPDX-License-Identifier: Apache-2.0 */
/* golden [-q] [-a] [folder...]: runs every *.tsv below the folders (default: tests/golden), prints each
 * line that fails with what we gave, and closes with "N passed, N failed". */
#include "golden.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef void reader(tally *, const char *file, int line, char **field, int n);

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The layout format is told by its file names; what each other name means is listed here. */
static reader *reader_of(const char *name, const char **why)
{
    static const char *const layout[] = {"basic", "coalesce", "composition", "complement", "inverse", "divide", "product",
        "coord", "slice", "modes", "recast", "tuple", "swizzle", "basis", "dynamic", "reject", "inexact", "dsl_only",
        "nested"};
    static const char *const value[] = {"binary", "unary", "convert"};
    static const char *const later[] = {"mma_atom", "gmma", "copy_atom", "tiled_mma", "tiled_copy"};
    char stem[64];
    snprintf(stem, sizeof stem, "%.*s", (int)strcspn(name, "."), name);
    *why = "no reader yet";
    for (size_t i = 0; i < SETT__COUNT(layout); i++)
        if (!strcmp(stem, layout[i]))
            return golden_layout_line;
    for (size_t i = 0; i < SETT__COUNT(value); i++)
        if (!strcmp(stem, value[i]))
            return golden_value_line;
    if (!strcmp(stem, "tensorssa"))
        return golden_ssa_line;
    if (!strcmp(stem, "argument"))
        return golden_argument_line;
    if (!strcmp(stem, "construct"))
        return golden_construct_line;
    if (!strcmp(stem, "dynamic_layout"))
        return golden_dynamic_line;
    if (!strcmp(stem, "print") || !strcmp(stem, "samples"))
        return golden_print_line;
    if (!strcmp(stem, "dlpack"))
        return golden_dlpack_line;
    for (size_t i = 0; i < SETT__COUNT(later); i++)
        if (!strcmp(stem, later[i]))
            *why = "tensor-core atoms are not there yet";
    return !strcmp(stem, "divergent") ? golden_divergent_line : NULL;
}

int golden_fields(char *line, char **field)
{
    int n = 0;
    line[strcspn(line, "\r\n")] = 0;
    while (n < MOST_FIELDS) {
        field[n++] = line;
        line = strchr(line, '\t');
        if (!line)
            break;
        *line++ = 0;
    }
    return n;
}

void golden_verdict(tally *t, bool ok, const char *file, int line, char **field, int n, const char *got)
{
    if (ok) {
        t->passed++;
        return;
    }
    t->failed++;
    if (t->quiet)
        return;
    printf("FAIL %s:%d:", base_of(file), line);
    for (int i = 0; i < n; i++)
        printf(" %s", field[i]);
    printf("\n     gave %s\n", got);
}

void golden_aside(tally *t, const char *why)
{
    size_t i = 0;
    while (i + 1 < SETT__COUNT(t->aside) && t->aside[i].why && t->aside[i].why != why)
        i++;
    t->aside[i].why = why;
    t->aside[i].n++;
    t->skipped++;
}

static void tell_aside(tally *t, const char *path)
{
    for (size_t i = 0; i < SETT__COUNT(t->aside) && t->aside[i].why; i++)
        if (!t->print_answers)
            printf("%s: %d lines aside: %s\n", path, t->aside[i].n, t->aside[i].why);
    memset(t->aside, 0, sizeof t->aside);
}

static int count_lines(FILE *f)
{
    int n = 0, c;
    while ((c = getc(f)) != EOF)
        n += c == '\n';
    return n;
}

static void run_file(tally *t, const char *path)
{
    static char line[TEXT];
    char *field[MOST_FIELDS];
    const char *why;
    reader *read = reader_of(base_of(path), &why);
    FILE *f = fopen(path, "r");
    if (!f) {
        printf("FAIL %s: cannot be read\n", path);
        t->failed++;
        return;
    }
    if (!read) {
        int n = count_lines(f);
        printf("%s: %d lines skipped: %s\n", path, n, why);
        t->skipped += n;
    }
    for (int n = 1; read && fgets(line, sizeof line, f); n++) {
        if (line[0] == '#' || line[0] == '\n')
            continue;
        int fields = golden_fields(line, field);
        read(t, path, n, field, fields);
    }
    golden_flush(t);
    tell_aside(t, path);
    fclose(f);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool ends(const char *s, const char *tail)
{
    size_t n = strlen(s), k = strlen(tail);
    return n >= k && !strcmp(s + n - k, tail);
}

static void run_path(tally *t, const char *path, int depth)
{
    struct stat st;
    char *name[512], below[4096];
    int n = 0;
    if (stat(path, &st) || (!S_ISDIR(st.st_mode) && !ends(path, ".tsv"))) {
        printf("FAIL %s: no folder and no .tsv file\n", path);
        t->failed++;
        return;
    }
    if (!S_ISDIR(st.st_mode)) {
        run_file(t, path);
        return;
    }
    DIR *d = opendir(path);
    for (struct dirent *e; d && n < (int)SETT__COUNT(name) && (e = readdir(d));)
        if (e->d_name[0] != '.')
            name[n++] = strdup(e->d_name);
    if (d)
        closedir(d);
    qsort(name, (size_t)n, sizeof *name, by_name);
    for (int i = 0; i < n; i++) {
        snprintf(below, sizeof below, "%s/%s", path, name[i]);
        bool folder = !stat(below, &st) && S_ISDIR(st.st_mode);
        if (folder ? depth < 4 : ends(below, ".tsv"))
            run_path(t, below, depth + 1);
        free(name[i]);
    }
}

int main(int argc, char **argv)
{
    tally t = {0};
    int folders = 0;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "-q") || !strcmp(argv[i], "-a")) {
            *(argv[i][1] == 'q' ? &t.quiet : &t.print_answers) = true;
            continue;
        }
        run_path(&t, argv[i], 0);
        folders++;
    }
    if (!folders)
        run_path(&t, "tests/golden", 0);
    if (t.print_answers)
        return 0;
    printf("%d passed, %d failed", t.passed, t.failed);
    printf(t.skipped ? ", %d skipped\n" : "\n", t.skipped);
    return t.failed || !t.passed;
}
