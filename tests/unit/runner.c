/* SPDX-License-Identifier: Apache-2.0 */
/* Runs every suite (tests/test_NAME.c defines NAME_suite), or those named on the
 * command line. SUITES comes from the Makefile: X(tape) X(eval) ... */
#include "tests/rig/limits.h"
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define X(name) Suite *name##_suite(void);
SUITES
#undef X

static const struct suite {
    const char *name;
    Suite *(*make)(void);
} suites[] = {
#define X(name) {#name, name##_suite},
    SUITES
#undef X
};

static int wanted(const char *name, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], name))
            return 1;
    return argc < 2;
}

int main(int argc, char **argv)
{
    SRunner *runner = srunner_create(NULL);
    int found = 0;
    for (size_t i = 0; i < sizeof suites / sizeof *suites; i++)
        if (wanted(suites[i].name, argc, argv)) {
            srunner_add_suite(runner, suites[i].make());
            found++;
        }
    if (!found) {
        fprintf(stderr, "runner: no such suite; there are:");
        for (size_t i = 0; i < sizeof suites / sizeof *suites; i++)
            fprintf(stderr, " %s", suites[i].name);
        fprintf(stderr, "\n");
        srunner_free(runner);
        return 2;
    }
    watch_begin();
    srunner_run_all(runner, CK_NORMAL);
    watch_end();
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
