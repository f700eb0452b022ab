/* SPDX-License-Identifier: Apache-2.0 */
/* A suite of one case, whose tests have a folder of their own each (rig.h):
 *
 *     SUITE_IN_ROOT(warm, keys_of_a_family, misuse)      defines warm_suite() */
#ifndef SUITE_H
#define SUITE_H
#include <check.h>

Suite *suite_in_root(const char *name, const TTest *const *tests, size_t n);
#define SUITE_IN_ROOT(name, ...) \
    Suite *name##_suite(void); \
    Suite *name##_suite(void) \
    { \
        const TTest *const tests[] = {__VA_ARGS__}; \
        return suite_in_root(#name, tests, sizeof tests / sizeof *tests); \
    }
#endif
