/* SPDX-License-Identifier: Apache-2.0 */
/* Time of static compositions: the golden cases, each on its own. No GPU is needed.
 *     bench/algebra [tests/golden/layout/composition.tsv] */
#include "common.h"

enum { MOST = 1024, LINE = 4096, WARM = 2000, TIMES = 64, ROUNDS = 15 };

/* Every allocation of the process goes through here: composing takes memory of the build's arena alone. */
extern void *__libc_malloc(size_t);
static long mallocs;
void *malloc(size_t n)
{
    mallocs++;
    return __libc_malloc(n);
}

typedef struct result {
    double us;
    long mallocs;
} result;

/* One case in a build whose arena has grown already. False: it is not static, or not a composition of layouts. */
static bool measure(const char *a_text, const char *b_text, result *r)
{
    double round[ROUNDS];
    sett_build *b = sett_build_begin();
    sett_layout *a = sett_layout_parse(b, a_text), *out = NULL;
    sett_arg rhs = sett_arg_parse(b, b_text);
    for (int i = 0; i < WARM; i++)
        out = sett_composition(a, rhs);
    bool ok = out && !sett_build_status(b, NULL);
    long before = mallocs;
    for (int k = 0; ok && k < ROUNDS; k++) {
        double t = now_us();
        for (int i = 0; i < TIMES; i++)
            sett_composition(a, rhs);
        round[k] = (now_us() - t) / TIMES;
    }
    r->mallocs = mallocs - before;
    sett_build_end(b, NULL);
    if (ok)
        r->us = quantile(round, ROUNDS, 0.5);
    return ok;
}

int main(int argc, char **argv)
{
    static double us[MOST];
    static char line[LINE];
    const char *path = argc > 1 ? argv[1] : "tests/golden/layout/composition.tsv";
    FILE *f = fopen(path, "r");
    int n = 0;
    long calls = 0;
    if (!f) {
        perror(path);
        return 1;
    }
    while (n < MOST && fgets(line, sizeof line, f)) {
        char *at = line, *field[4] = {NULL};
        for (int i = 0; at && i < 4; i++) {
            field[i] = at;
            at = strchr(at, '\t');
            if (at)
                *at++ = 0;
        }
        result r;
        if (field[3] && !strcmp(field[0], "composition") && measure(field[2], field[3], &r)) {
            us[n++] = r.us;
            calls += r.mallocs;
        }
    }
    fclose(f);
    if (!n) {
        fprintf(stderr, "%s has no composition\n", path);
        return 1;
    }
    double p50 = quantile(us, n, 0.5), p10 = quantile(us, n, 0.1), p90 = quantile(us, n, 0.9);
    puts("| static composition | cases | median us | p10 | p90 | slowest | malloc calls in all of them, for the arena |");
    puts("| --- | --- | --- | --- | --- | --- | --- |");
    printf("| sett_composition | %d | %.3f | %.3f | %.3f | %.3f | %ld in %d |\n", n, p50, p10, p90, us[n - 1], calls, n * TIMES * ROUNDS);
    return 0;
}
