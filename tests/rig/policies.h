/* SPDX-License-Identifier: Apache-2.0 */
/* Engines of the CPU alone, each with a policy of when that happens which goes on by itself: eager, lazy, then seeds. */
#ifndef POLICIES_H
#define POLICIES_H
#include "tests/rig/recording.h"
#include <sett/sett.h>

enum { POLICIES = 12 };

static inline sett_engine *engine_of(int policy)
{
    char text[32];
    sett_engine_options o = {.size = sizeof o, .cache_dir = "", .no_gpu = true, .cpu_async = text};
    sett_error err;
    sett_engine *e;
    snprintf(text, sizeof text, policy == 0 ? "eager" : policy == 1 ? "lazy" : "random:%d", policy);
    ck_assert_msg(!sett_engine_open(&e, &o, &err), "%s", err.text);
    return e;
}
#endif
