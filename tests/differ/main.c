/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-tapes [-n CASES] [-s SEED] [-j JOBS]: random tapes on the CPU engine in each of its ways, against a model. What differs
 * is printed, by its seed and as the smallest tape like it. */
#include "tests/differ/differ.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_JOBS = 64, SHOWN = 3 };
typedef struct tally {
    uint64_t seed, ran, differ, no_case, too_long;
} tally;

static void generate(tape_case *c, uint64_t seed)
{
    draw d = {.state = seed};
    c->seed = seed;
    case_generate(c, &d);
}

static void show(const tape_case *c, const char *title, const char *why)
{
    static char text[CASE_TEXT];
    case_text(c, text, sizeof text);
    printf("; %s of seed %" PRIu64 " (again: fuzz-tapes -n 1 -s %" PRIu64 ")\n; %s\n%s\n", title, c->seed, c->seed, why, text);
    fflush(stdout);
}

static void differs(tape_case *c, const char *why)
{
    char now[1024] = "";
    printf("seed %" PRIu64 " differs: %s\n", c->seed, why);
    fflush(stdout);
    case_shrink(c);
    case_check(c, now, sizeof now);
    show(c, "the smallest tape like that", now);
}

static void work(tally *t, uint64_t seed, uint64_t cases, int job, int jobs)
{
    static tape_case c;
    char why[1024];
    for (uint64_t i = (uint64_t)job; i < cases; i += (uint64_t)jobs) {
        t->seed = seed + i;
        generate(&c, t->seed);
        const int verdict = case_check(&c, why, sizeof why);
        t->ran++;
        if (verdict == VERDICT_NO_CASE && !strcmp(why, "too long")) {
            t->too_long++;
        } else if (verdict == VERDICT_NO_CASE) {
            if (t->no_case++ < SHOWN)
                show(&c, "no case", why);
        } else if (verdict == VERDICT_DIFFERS && t->differ++ < SHOWN) {
            differs(&c, why);
        }
        if (job == 0 && t->ran % 100000 == 0)
            fprintf(stderr, "%" PRIu64 " of %" PRIu64 " tapes so far\n", t->ran * (uint64_t)jobs, cases);
    }
}

int main(int argc, char **argv)
{
    static tape_case c;
    uint64_t cases = 5000, seed = 20261124;
    int jobs = 1, failed = 0;
    for (int a = 1; a + 1 < argc; a += 2)
        if (!strcmp(argv[a], "-n"))
            cases = strtoull(argv[a + 1], NULL, 0);
        else if (!strcmp(argv[a], "-s"))
            seed = strtoull(argv[a + 1], NULL, 0);
        else if (!strcmp(argv[a], "-j"))
            jobs = atoi(argv[a + 1]);
    jobs = jobs < 1 ? 1 : jobs > MOST_JOBS ? MOST_JOBS : jobs;
    tally *t = mmap(NULL, MOST_JOBS * sizeof *t, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), all = {0};
    pid_t pid[MOST_JOBS];
    if (t == MAP_FAILED)
        return 2;
    for (int j = 0; j < jobs; j++)
        if (!(pid[j] = fork())) {
            work(&t[j], seed, cases, j, jobs);
            return 0;
        }
    for (int j = 0; j < jobs; j++) {
        int status = 0;
        if (pid[j] < 0 || waitpid(pid[j], &status, 0) < 0 || status) {
            generate(&c, t[j].seed);
            show(&c, "the process ends with the tape", "it crashes");
            failed++;
        }
        all.ran += t[j].ran, all.differ += t[j].differ, all.no_case += t[j].no_case, all.too_long += t[j].too_long;
    }
    printf("%" PRIu64 " tapes of seed %" PRIu64 " on, by default, plain, eager and at random: %" PRIu64 " differ, %" PRIu64 " invalid, %" PRIu64 " too long\n", all.ran,
        seed, all.differ, all.no_case, all.too_long);
    return failed || all.differ || all.no_case || all.ran != cases;
}
