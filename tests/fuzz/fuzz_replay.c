/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-replay [-n N] [-s SEED] [target...]: every file of tests/fuzz/TARGET, then N random mutations of them, the same ones for
 * one seed. A file to be run alone is given as TARGET=FILE. 10^7 of tapes, in an hour of one core:
 *     fuzz-replay -n 5000000 tape_bytes tape_text */
#include "tests/fuzz/fuzz.h"
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct target {
    const char *name;
    void (*run)(const uint8_t *, size_t);
} targets[] = {
#define FUZZ_ENTRY(name) {#name, fuzz_##name},
    FUZZ_LIST(FUZZ_ENTRY)
};
enum { N_TARGETS = sizeof targets / sizeof *targets, MOST_FILES = 512, LONGEST = 1 << 16 };

typedef struct input {
    uint8_t *data;
    size_t len;
} input;

static uint64_t random_next(uint64_t *s)
{
    *s ^= *s << 13, *s ^= *s >> 7, *s ^= *s << 17;
    return *s;
}

static input read_file(const char *path)
{
    input in = {malloc(LONGEST), 0};
    FILE *f = fopen(path, "rb");
    if (!f || !in.data) {
        perror(path);
        exit(2);
    }
    in.len = fread(in.data, 1, LONGEST, f);
    fclose(f);
    return in;
}

static int read_corpus(const char *name, input *in)
{
    char path[512];
    int n = 0;
    snprintf(path, sizeof path, "tests/fuzz/%s", name);
    DIR *d = opendir(path);
    for (struct dirent *e; d && n < MOST_FILES && (e = readdir(d));)
        if (e->d_name[0] != '.') {
            snprintf(path, sizeof path, "tests/fuzz/%s/%s", name, e->d_name);
            in[n++] = read_file(path);
        }
    if (d)
        closedir(d);
    return n;
}

/* A piece of `from` over, into or out of `in`, and some bytes changed. */
static input mutated(const input *in, const input *from, uint64_t *s)
{
    input out = {malloc(2 * LONGEST), in->len};
    if (!out.data)
        exit(2);
    memcpy(out.data, in->data, in->len);
    size_t at = random_next(s) % (in->len + 1), piece = from->len ? random_next(s) % from->len : 0;
    size_t n = from->len ? random_next(s) % (from->len - piece) : 0;
    if (random_next(s) % 4 == 0) { /* from there on the other's rest */
        memcpy(out.data + at, from->data + piece, n);
        out.len = at + n;
    }
    for (uint64_t k = random_next(s) % 6; out.len && k; k--) {
        uint8_t *p = &out.data[random_next(s) % out.len];
        *p = (uint8_t)(random_next(s) % 2 ? random_next(s) : *p ^ 1u << random_next(s) % 8);
    }
    return out;
}

/* Up to six fields changed, one after another. */
static input mutated_fields(const input *in, uint64_t *s)
{
    input out = {malloc(2 * LONGEST), in->len};
    if (!out.data)
        exit(2);
    memcpy(out.data, in->data, in->len);
    for (uint64_t k = 1 + random_next(s) % 6; k; k--) {
        size_t n = fuzz_mutate_tape(out.data, out.len, 2 * LONGEST, random_next(s));
        out.len = n ? n : out.len;
    }
    return out;
}

/* In a block of its own size, as libFuzzer gives it, so that a sanitizer sees one byte too many. */
static void run_on(const struct target *t, const input *in)
{
    uint8_t *exact = malloc(in->len ? in->len : 1);
    if (!exact)
        exit(2);
    memcpy(exact, in->data, in->len);
    t->run(exact, in->len);
    free(exact);
}

static void replay(const struct target *t, long mutations, uint64_t seed)
{
    enum { REPORT_EACH = 1000000, SLOWER = 50 }; /* those that run: by so much than others */
    static input in[MOST_FILES];
    uint64_t s = seed;
    bool runs = !strcmp(t->name, "tape_runs") || !strcmp(t->name, "tape_checked"), fields = !strcmp(t->name, "tape_bytes") || !strcmp(t->name, "tape_checked");
    mutations = runs ? mutations / SLOWER : mutations;
    fuzz_tapes_run = runs;
    int n = read_corpus(t->name, in);
    if (!n) {
        fprintf(stderr, "tests/fuzz/%s is empty\n", t->name);
        exit(2);
    }
    for (int i = 0; i < n; i++)
        run_on(t, &in[i]);
    for (long i = 0; i < mutations; i++) {
        if (i && i % REPORT_EACH == 0)
            fprintf(stderr, "%s: %ld mutations so far\n", t->name, i);
        const input *from = &in[random_next(&s) % (uint64_t)n];
        input m = fields && i % 4 ? mutated_fields(from, &s) : mutated(&in[i % n], from, &s);
        run_on(t, &m);
        free(m.data);
    }
    for (int i = 0; i < n; i++)
        free(in[i].data);
    printf("%s: %d files, %ld mutations of seed %#llx", t->name, n, mutations, (unsigned long long)seed);
    if (fields)
        printf(", %lu tapes with a field changed, of which %lu verify", fuzz_tapes_changed, fuzz_tapes_sound);
    puts("");
}

int main(int argc, char **argv)
{
    int first = 1, found = 0;
    long mutations = 10000;
    uint64_t seed = 0x5e77;
    for (; first + 1 < argc && argv[first][0] == '-'; first += 2)
        if (!strcmp(argv[first], "-n"))
            mutations = atol(argv[first + 1]);
        else if (!strcmp(argv[first], "-s"))
            seed = strtoull(argv[first + 1], NULL, 0) | 1; /* 0 would stay 0 */
    for (int i = 0; i < N_TARGETS; i++)
        for (int a = first; a < argc || (a == first && first == argc); a++) {
            size_t n = strlen(targets[i].name);
            if (a < argc && strncmp(argv[a], targets[i].name, n))
                continue;
            found++;
            if (a < argc && argv[a][n] == '=') {
                input one = read_file(argv[a] + n + 1);
                run_on(&targets[i], &one);
                free(one.data);
            } else {
                replay(&targets[i], mutations, seed);
            }
        }
    for (int i = 0; i < N_TARGETS && !found; i++)
        fprintf(stderr, "%s%s", i ? ", " : "no such target; there are ", targets[i].name);
    return found ? 0 : 2;
}
