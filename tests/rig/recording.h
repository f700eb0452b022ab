/* SPDX-License-Identifier: Apache-2.0 */
/* What suites share that record by hand, and that refuse. */
#ifndef RECORDING_H
#define RECORDING_H
#include "lib/print/print.h"
#include <check.h>

static inline sett_build *kernel(void)
{
    sett_build *b = sett__build_new(NULL, true);
    ck_assert_ptr_nonnull(b);
    return b;
}

static inline void expect_in(const char *file, sett_build *b, sett_status status, int line, const char *text)
{
    char want[600];
    snprintf(want, sizeof want, "%s:%d: %s", file, line, text);
    ck_assert_str_eq(b->error.text, want);
    ck_assert_int_eq(b->error.status, status);
    ck_assert_int_eq(sett_build_end(b, NULL), status);
}
/* The error of a build that failed at a line of this file; ends the build. */
#define expect(b, status, line, text) expect_in(__FILE__, b, status, line, text)

/* A call that takes &err, the suite's own, and what it says. */
#define REFUSED(call, status, message) \
    do { \
        err.text[0] = 0; \
        ck_assert_int_eq(call, status); \
        ck_assert_str_eq(err.text, message); \
    } while (0)
#endif
