/* SPDX-License-Identifier: Apache-2.0 */
/* F15: what is cached is what would be compiled. Every kernel that the examples record, and in full the benchmarks, the
 * suites and the goldens too, goes into a folder; it is then found there, compiled again (.cache_verify) and compared. */
#include "tests/fault/fault.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CREW = 64, OF_A_FILE = 400 /* random cases of one source file differ little: of 15000 so many */ };
static const char *const targets[] = {"sm_90a", "sm_100a", "sm_120a", "sm_80"}; /* the first that takes it */
#define TARGETS SETT__COUNT(targets)

typedef struct tally { /* shared by the processes */
    atomic_long refused, found, verified, differences, of_target[TARGETS];
} tally;
typedef struct work {
    char **tape; /* the files that were recorded, by name; each process has every crew-th */
    long n;
    int crew;
    tally *t;
} work;

/* Beside this program: its folder, or NULL. */
static const char *beside(char *path, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", path, size - 1);
    path[n > 0 ? n : 0] = 0;
    char *slash = strrchr(path, '/');
    if (slash)
        *slash = 0;
    return slash ? path : NULL;
}

/* SETT_DUMP has every kernel that a program compiles, on the CPU too, written down as a tape. What a program says, and
 * whether it fails, is no matter here; what hangs is stopped. */
static bool record(bool full, int crew)
{
    char folder[4000], line[9000], dump[300];
    const char *b = beside(folder, sizeof folder);
    const char *more = full ? "ls -d %s/bench/* %s/sett; ls tests/unit/test_*.c | sed 's|tests/unit/test_|%s/runner |; s|\\.c$||'; "
                              "echo %s/golden tests/golden; "
                            : "";
    if (!b)
        return false;
    int n = snprintf(line, sizeof line, "{ ls -d %s/examples/*; ", b);
    n += snprintf(line + n, sizeof line - (size_t)n, more, b, b, b, b);
    snprintf(line + n, sizeof line - (size_t)n,
        "} 2>/dev/null | xargs -P %d -I{} sh -c 'timeout -k 5 300 {} >/dev/null 2>&1 </dev/null; true'", crew);
    snprintf(dump, sizeof dump, "tape:%s", in_root("tapes"));
    setenv("SETT_DUMP", dump, 1), setenv("SETT_CACHE_DIR", in_root("theirs"), 1);
    bool ok = !system(line);
    unsetenv("SETT_DUMP"), unsetenv("SETT_CACHE_DIR");
    return ok;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void list(work *w, const char *folder)
{
    DIR *dir = opendir(folder);
    for (struct dirent *d; dir && (d = readdir(dir));) {
        if (d->d_name[0] == '.')
            continue;
        if (!(w->n & (w->n - 1)))
            w->tape = realloc(w->tape, (size_t)(w->n ? 2 * w->n : 1) * sizeof *w->tape);
        if (!w->tape || asprintf(&w->tape[w->n], "%s/%s", folder, d->d_name) < 0)
            abort();
        w->n++;
    }
    if (dir)
        closedir(dir);
    if (w->n)
        qsort(w->tape, (size_t)w->n, sizeof *w->tape, by_name);
}

static char *text_of(const char *path)
{
    size_t len = file_size(path);
    char *text = calloc(1, len + 1);
    FILE *f = fopen(path, "rb");
    if (!text || !f || fread(text, 1, len, f) != len)
        abort();
    fclose(f);
    return text;
}

/* Which of many source files it was recorded in first, as a number of 16 bits; names of tapes are hashes, so what is kept of a
 * file is any of it. */
static uint16_t origin(const char *text)
{
    uint16_t sum = 0;
    const char *at = strstr(text, " @ ");
    for (at = at ? at + 3 : ""; *at && *at != ':' && *at != '\n'; at++)
        sum = (uint16_t)(sum * 31 + (unsigned char)*at);
    return sum;
}

static void keep_some(work *w)
{
    static unsigned short seen[1 << 16];
    long kept = 0;
    for (long i = 0; i < w->n; i++) {
        char *text = text_of(w->tape[i]);
        if (seen[origin(text)]++ < OF_A_FILE)
            w->tape[kept++] = w->tape[i];
        else
            free(w->tape[i]);
        free(text);
    }
    w->n = kept;
}

static sett_engine *real_engine(bool verify)
{
    sett_engine *e = NULL;
    sett_error err = {0};
    sett_engine_options o = options();
    o.assembler = SETT_ASM_AUTO, o.ptxas = NULL;
    o.cache_verify = verify;
    o.cpu_threads = 1;
    if (sett_engine_open(&e, &o, &err))
        complain("%s", err.text);
    return e;
}

static bool one(sett_engine *e, const char *text, const char *target, sett_error *err)
{
    sett_kernel *k = NULL;
    const sett_compile_options o = {.size = sizeof o, .target = target};
    sett_status s = sett_compile_tape(e, text, strlen(text), &o, &k, err);
    sett_kernel_release(k);
    return !s;
}

static bool verify(int index, void *user)
{
    const work *w = user;
    sett_error err = {0};
    bool ok = true;
    signed char *at = calloc((size_t)w->n + 1, 1); /* which target, from 1; 0: none */
    sett_engine *first = real_engine(false);
    for (long i = index; first && at && i < w->n; i += w->crew) {
        char *text = text_of(w->tape[i]);
        for (size_t t = 0; t < TARGETS && !at[i]; t++)
            if (one(first, text, targets[t], &err))
                at[i] = (signed char)(t + 1), atomic_fetch_add(&w->t->of_target[t], 1);
        if (!at[i]) { /* as its suite wants it, mostly */
            atomic_fetch_add(&w->t->refused, 1);
            if (getenv("FAULT_VERBOSE"))
                fprintf(stderr, "%s: %s\n", w->tape[i], err.text);
        }
        free(text);
    }
    sett_engine_close(first);
    sett_engine *second = real_engine(true);
    for (long i = index; second && at && i < w->n; i += w->crew) {
        uint64_t before = stats(second).differences;
        char *text = at[i] ? text_of(w->tape[i]) : NULL;
        if (text && !one(second, text, targets[at[i] - 1], &err))
            ok = !complain("%s: %s", w->tape[i], err.text);
        if (stats(second).differences > before)
            complain("%s for %s differs", w->tape[i], targets[at[i] - 1]);
        free(text);
    }
    if (first && second) {
        sett_stats s = stats(second);
        atomic_fetch_add(&w->t->found, (long)(s.disk_hits + s.memory_hits));
        atomic_fetch_add(&w->t->verified, (long)s.verified);
        atomic_fetch_add(&w->t->differences, (long)s.differences);
        ok &= s.verified == s.disk_hits && !s.misses;
    }
    sett_engine_close(second);
    free(at);
    return ok && first && second;
}

long f15_verify(bool full, char *figures, size_t size)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN), bad = 0, kernels = 0, recorded;
    const char *given = getenv("FAULT_TAPES"); /* a folder that $SETT_DUMP filled elsewhere */
    work w = {.crew = (int)(cores < 1 ? 1 : cores > CREW ? CREW : cores)};
    sett_error err = {0};
    sett_engine *e = real_engine(false);
    sett_kernel *k = NULL;
    if (!e || sett_compile(e, scale, &sm90, &k, &err)) {
        sett_engine_close(e);
        snprintf(figures, size, "skipped: nothing can be compiled here: %s", err.text);
        return 0;
    }
    sett_kernel_release(k);
    sett_engine_close(e);
    w.t = mmap(NULL, sizeof *w.t, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (w.t == MAP_FAILED || (!given && !record(full, w.crew)))
        return complain("no kernels can be recorded");
    list(&w, given ? given : in_root("tapes"));
    recorded = w.n;
    keep_some(&w);
    bad += crew_run(w.crew, NULL, verify, &w, NULL);
    for (size_t t = 0; t < TARGETS; t++)
        kernels += w.t->of_target[t];
    if (!w.t->verified || w.t->found != kernels)
        bad += complain("%ld kernels were made, %ld found, %ld verified", kernels, (long)w.t->found, (long)w.t->verified);
    bad += w.t->differences;
    snprintf(figures, size, "%ld kernels recorded, %ld of them taken, %ld compiled, %ld for %s; %ld found on disk, compiled again and compared; %ld compile for no target",
        recorded, w.n, kernels, (long)w.t->of_target[0], targets[0], (long)w.t->verified, (long)w.t->refused);
    for (long i = 0; i < w.n; i++)
        free(w.tape[i]);
    free(w.tape);
    munmap(w.t, sizeof *w.t);
    return bad;
}
