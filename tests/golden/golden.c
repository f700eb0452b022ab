/* SPDX-License-Identifier: Apache-2.0 */
/* golden [-q] [-a] [-m N] [folder...]: runs every *.tsv below the folders (default: tests/golden), prints each line that fails
 * with what we gave, and closes with how many lines were skipped for which reason, and "N passed, N failed". No line may crash
 * it: -m N changes each line at random, N times over, and only reads the results. */
#include "tests/golden/golden.h"
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
        "nested", "mma_atom", "gmma", "copy_atom", "tiled_mma", "tiled_copy", "tiled"};
    static const char *const value[] = {"binary", "unary", "convert"};
    static const char *const mma[] = {"f16", "bf16", "tf32", "fp8_wgmma", "fp8_mma", "int", "f64", "matrices", "V100", "A100", "A2", "Ada", "H100", "H200", "B200"};
    char stem[64];
    snprintf(stem, sizeof stem, "%.*s", (int)strcspn(name, "."), name);
    *why = "a file of this name has no reader";
    for (size_t i = 0; i < SETT__COUNT(layout); i++)
        if (!strcmp(stem, layout[i]))
            return golden_layout_line;
    for (size_t i = 0; i < SETT__COUNT(value); i++)
        if (!strcmp(stem, value[i]))
            return golden_value_line;
    for (size_t i = 0; i < SETT__COUNT(mma); i++)
        if (!strcmp(stem, mma[i]))
            return golden_mma_line;
    if (!strcmp(stem, "tensorssa"))
        return golden_ssa_line;
    if (!strcmp(stem, "argument"))
        return golden_argument_line;
    if (!strcmp(stem, "construct"))
        return golden_construct_line;
    if (!strcmp(stem, "dynamic_layout"))
        return golden_dynamic_line;
    if (!strcmp(stem, "print") || !strcmp(stem, "samples") || !strcmp(stem, "forms"))
        return golden_print_line;
    if (!strcmp(stem, "dlpack"))
        return golden_dlpack_line;
    return !strcmp(stem, "divergent") ? golden_divergent_line : NULL;
}

static int fields_of(char *line, char **field)
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
    if (t->mutations)
        return;
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
    while (i + 1 < SETT__COUNT(t->aside) && t->aside[i].why && strcmp(t->aside[i].why, why))
        i++;
    t->aside[i].why = why;
    t->aside[i].n++;
    t->aside[i].here++;
    t->skipped++;
}

static void tell_aside(tally *t, const char *path)
{
    for (size_t i = 0; i < SETT__COUNT(t->aside) && t->aside[i].why; i++) {
        if (t->aside[i].here && !t->print_answers && !t->mutations)
            printf("%s: %d lines aside: %s\n", path, t->aside[i].here, t->aside[i].why);
        t->aside[i].here = 0;
    }
}

/* By how many, and where as many by the text. */
static int by_count(const void *a, const void *b)
{
    const struct aside *x = a, *y = b;
    return x->n != y->n ? (x->n < y->n ? 1 : -1) : strcmp(x->why, y->why);
}

static void tell_reasons(tally *t)
{
    size_t n = 0;
    while (n < SETT__COUNT(t->aside) && t->aside[n].why)
        n++;
    qsort(t->aside, n, sizeof *t->aside, by_count);
    for (size_t i = 0; i < n; i++)
        printf("%6d skipped: %s\n", t->aside[i].n, t->aside[i].why);
}

/* ---- lines that no system wrote --------------------------------------------------------------------- */

static uint64_t dice(tally *t, uint64_t below)
{
    t->seed = t->seed * 6364136223846793005u + 1442695040888963407u;
    return (t->seed >> 33) % below;
}

/* One to four bytes put in, taken out or changed, or a part of another line put in. */
static void mutate(tally *t, char *line, const char *other)
{
    static const char letters[] = "()(),,::??0123456789_-<>{}[]@;o. '~!\tSNoneInt32assume";
    for (int k = 1 + (int)dice(t, 4); k > 0; k--) {
        size_t n = strlen(line), at = dice(t, n + 1), m = strlen(other), from = dice(t, m + 1), len = dice(t, 12);
        switch (dice(t, 4)) {
        case 0: /* out */
            memmove(line + at, line + (at + len < n ? at + len : n), n - (at + len < n ? at + len : n) + 1);
            break;
        case 1: /* in */
            memmove(line + at + 1, line + at, n - at + 1);
            line[at] = letters[dice(t, sizeof letters - 1)];
            break;
        case 2:
            if (at < n)
                line[at] = letters[dice(t, sizeof letters - 1)];
            break;
        default:
            len = from + len < m ? len : m - from;
            memmove(line + at + len, line + at, n - at + 1);
            memcpy(line + at, other + from, len);
        }
    }
    for (int digits = 0; *line; line++) /* extents that end soon */
        if ((digits = *line >= '0' && *line <= '9' ? digits + 1 : 0) > 3)
            *line = ',';
}

/* Readers call themselves for each pair of brackets. */
static void read_line(tally *t, reader *read, const char *path, int n, char *line)
{
    enum { DEEPEST = 60 };
    char *field[MOST_FIELDS];
    int depth = 0, deepest = 0;
    for (const char *c = line; *c; c++) {
        depth += *c == '(' || *c == '[' || *c == '<' ? 1 : *c == ')' || *c == ']' || *c == '>' ? -1 : 0;
        deepest = depth > deepest ? depth : deepest;
    }
    if (deepest > DEEPEST)
        golden_aside(t, "nested deeper than the runner reads");
    else
        read(t, path, n, field, fields_of(line, field));
}

static void run_mutated(tally *t, reader *read, const char *path, int n, const char *line)
{
    static char now[TEXT + 256], before[TEXT];
    for (int i = 0; i < t->mutations && strlen(line) < TEXT - 256; i++) {
        snprintf(now, sizeof now, "%s", line);
        mutate(t, now, before);
        if (getenv("SETT_GOLDEN_SHOW")) /* the last one is the one that crashed */
            fprintf(stderr, "%s:%d: %s\n", path, n, now);
        read_line(t, read, path, n, now);
        golden_flush(t);
        t->passed++;
    }
    snprintf(before, sizeof before, "%s", line);
}

/* ---- folders ---------------------------------------------------------------------------------------- */

static void run_file(tally *t, const char *path)
{
    static char line[TEXT];
    const char *why;
    reader *read = reader_of(base_of(path), &why);
    FILE *f = fopen(path, "r");
    if (!f) {
        printf("FAIL %s: cannot be read\n", path);
        t->failed++;
        return;
    }
    for (int n = 1; fgets(line, sizeof line, f); n++) {
        if (line[0] == '#' || line[0] == '\n')
            continue;
        if (!read)
            golden_aside(t, why);
        else if (t->mutations)
            run_mutated(t, read, path, n, line);
        else
            read_line(t, read, path, n, line);
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
        if (!strcmp(argv[i], "-m") && i + 1 < argc) {
            t.mutations = atoi(argv[++i]);
            continue;
        }
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
    if (t.mutations) {
        printf("%d changed lines read\n", t.passed);
        return !t.passed;
    }
    tell_reasons(&t);
    printf("%d passed, %d failed", t.passed, t.failed);
    printf(t.skipped ? ", %d skipped\n" : "\n", t.skipped);
    return t.failed || !t.passed;
}
