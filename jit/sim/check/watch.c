/* SPDX-License-Identifier: Apache-2.0 */
/* What the checker is told of. */
#include "clocks.h"
#include "global.h"

static sett__global *g_of(sett__core *c)
{
    if (!c->launch->check->checker)
        c->launch->check->checker = (void *)sett__global_make(c, c->program);
    return (void *)c->launch->check->checker;
}
static bool effect(sett__core *c, const sett__effect *e)
{
    return e->of || sett__global_effect(c, g_of(c), e);
}
static bool accesses(sett__core *c, const sett__accesses *a)
{
    return sett__global_accesses(c, g_of(c), a);
}
static bool sync(sett__core *c, const sett__sync *s)
{
    return sett__clocks_sync(c, s) && sett__global_sync(c, g_of(c), s);
}

const sett__watch *sett__check_watch(const sett__tape *t, sett_checks checks)
{
    static const sett__watch watch = {.effect = effect, .accesses = accesses, .sync = sync, .threads = SETT__READ | SETT__WRITE, .global = true};
    (void)t, (void)checks;
    return &watch;
}
