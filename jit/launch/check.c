/* SPDX-License-Identifier: Apache-2.0 */
/* One launch with the checker on, however the kernel was compiled. */
#include "launch.h"
#include <errno.h>
#include <stdlib.h>

static sett_status read_options(const char *func, const sett_check_options *given, sett_check_options *o, const sett_kernel *k, sett__how *how, sett_error *err)
{
    const sett__runtime *r = k->rest->runtime;
    sett_status s = sett__options(o, sizeof *o, given, "sett_check_options", err);
    if (s)
        return s;
    if ((unsigned)o->checks > SETT_CHECKS_STRICT || o->checks == SETT_CHECKS_OFF)
        return sett__error(err, SETT_E_ARGUMENT, "%s: checks %d is none of ERRORS, ALL and STRICT", func, (int)o->checks);
    *how = (sett__how){.to = r->finding, .async = r->cpu_async, .result = o->result};
    if (o->order && !sett__async_parse(&how->async, o->order))
        return sett__error(err, SETT_E_ARGUMENT, "%s: order is %.60s: it is eager, lazy, systematic or random:SEED", func, o->order);
    if (!k->cpu)
        return sett__error(err, SETT_E_TARGET, "%s: %s is for %s, and a kernel for a GPU keeps no tape: compile it for \"cpu\"", func, k->plan->name, sett__meta_of(k)->target);
    const sett_checks own = k->rest->cpu->checks;
    how->to.checks = o->checks ? o->checks : own > SETT_CHECKS_OFF ? own : SETT_CHECKS_ALL;
    return SETT_OK;
}

sett_status sett__launch_check_options(const sett_kernel *k, const char *func, const sett_check_options *options, const sett__launch_dims *d, const void *params,
    size_t params_len, const sett__extent *extent, sett_error *err)
{
    sett_check_options o;
    sett__how how;
    sett__told told = {.n = 0};
    sett__program *made = NULL;
    const sett__cpu_kernel *c = k->cpu ? k->rest->cpu : NULL;
    sett_status s = read_options(func, options, &o, k, &how, err);
    if (!s && d && how.to.checks != c->checks)
        s = sett__program_check(c->tape, how.to.checks, &made, err);
    if (s || !d)
        return s;
    how.program = made ? made : c->program;
    if (o.finding)
        how.to.fn = o.finding, how.to.user = o.user, how.to.told = &told;
    s = sett__launch_how(k, &how, NULL, d, params, params_len, extent, err);
    sett__program_free(made);
    free(told.kept);
    return s;
}

sett_status sett_check_n(sett_kernel *k, const sett_check_options *options, int n, const sett_launch_arg *args, sett_error *err)
{
    int saved = errno, device = SETT_CPU;
    sett__bound b;
    sett__extent extent[SETT__MAX_ARGS];
    if (!k)
        return sett__error(err, SETT_E_ARGUMENT, "sett_check: the kernel is NULL");
    sett_status s = sett__launch_check_options(k, "sett_check", options, NULL, NULL, 0, NULL, err);
    if (!s)
        s = sett__launch_check(k, &device, err);
    if (!s)
        s = sett__launch_aim(k, (sett_stream){SETT_CPU, NULL}, NULL, n, args, &b, extent, NULL, NULL, NULL, err);
    if (!s && !b.empty)
        s = sett__launch_check_options(k, "sett_check", options, &b.dims, b.params, b.params_len, extent, err);
    errno = saved;
    return s;
}
