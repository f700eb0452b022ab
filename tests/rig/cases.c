/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of Check whose limit is CPU time. */
#include "tests/rig/limits.h"
#include <check.h>

static void limit_30(void) { limit_cpu(30); }
static void limit_60(void) { limit_cpu(60); }
static void limit_120(void) { limit_cpu(120); }
static void limit_300(void) { limit_cpu(300); }
static void limit_600(void) { limit_cpu(600); }

TCase *limited_case(const char *name)
{
    TCase *t = (tcase_create)(name);
    (tcase_set_timeout)(t, 0); /* Check's own limit is one of the wall's clock */
    tcase_add_checked_fixture(t, limit_30, NULL);
    return t;
}

void limit_case(TCase *t, int seconds)
{
    tcase_add_checked_fixture(t, seconds <= 60 ? limit_60 : seconds <= 120 ? limit_120 : seconds <= 300 ? limit_300 : limit_600, NULL);
}
