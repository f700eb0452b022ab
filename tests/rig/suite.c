/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/rig/suite.h"
#include "tests/rig/rig.h"

Suite *suite_in_root(const char *name, const TTest *const *tests, size_t n)
{
    Suite *s = suite_create(name);
    TCase *t = tcase_create(name);
    tcase_add_checked_fixture(t, make_root, drop_root);
    for (size_t i = 0; i < n; i++)
        tcase_add_test(t, tests[i]);
    tcase_set_timeout(t, 60);
    suite_add_tcase(s, t);
    return s;
}
