/* SPDX-License-Identifier: Apache-2.0 */
/* The monotonic clock. */
#include "support.h"
#include <time.h>

double sett__now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

void sett__count_ms(atomic_uint_fast64_t *times, atomic_uint_fast64_t *ns, double ms)
{
    sett__count(times, 1);
    sett__count(ns, (uint64_t)(ms * 1e6));
}
