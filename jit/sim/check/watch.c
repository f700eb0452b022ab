/* SPDX-License-Identifier: Apache-2.0 */
/* What the checker is told of. */
#include "checker.h"
#include "global.h"
#include <stdlib.h>

void sett__checker_end(const sett__program *p, const sett__sim_launch *l)
{
    sett__checker *k = l->check->checker;
    l->check->checker = NULL;
    if (!k)
        return;
    l->check->after = k->global ? sett__global_end(k->global, p, l) : NULL;
    for (near *n; (n = k->near);) {
        k->near = n->next;
        sett__near_free(n);
    }
    sett__global_free(k->global);
    free(k);
}

/* Both, of c->cta, whose cluster has begun; false: out of memory. */
static bool find(sett__core *c, bool begins, near **n, sett__global **g)
{
    sett__checker *k = c->launch->check->checker;
    if (k && k->global && k->near && k->near->cluster == c->cta->cluster) {
        *n = k->near, *g = k->global;
        return k->near->begun || begins;
    }
    k = sett__checker_of(c);
    if (k && !k->global)
        k->global = sett__global_make(c, c->program);
    *g = k ? k->global : NULL;
    *n = k && k->near && k->near->cluster == c->cta->cluster ? k->near : sett__near(c);
    return *n && *g && ((*n)->begun || begins);
}

static bool effect(sett__core *c, const sett__effect *e)
{
    near *n;
    sett__global *g;
    return !find(c, false, &n, &g) ? sett__no_memory(c, e->warp, e->op) : e->of ? sett__shared_effect(c, n, e) : sett__global_effect(c, n, g, e);
}

static bool accesses(sett__core *c, const sett__accesses *a)
{
    near *n;
    sett__global *g;
    if (!sett__count_cost(c, a) || !find(c, false, &n, &g))
        return sett__no_memory(c, a->warp, a->op);
    return (!a->of || sett__shared_accesses(c, n, a)) && sett__global_accesses(c, n, g, a);
}

static bool sync(sett__core *c, const sett__sync *s)
{
    near *n;
    sett__global *g;
    const bool begins = s->what == SETT__CLUSTER_BEGINS;
    const bool fine = find(c, begins, &n, &g) && (begins ? sett__near_begin(c) : sett__proof_sync(c, n, s) && sett__near_sync(c, n, s));
    return fine ? sett__global_sync(c, n, g, s) : sett__no_memory(c, s->warp, s->op);
}

const sett__watch *sett__check_watch(const sett__tape *t, sett_checks checks)
{
    static const sett__watch watch = {.effect = effect, .accesses = accesses, .sync = sync, .threads = SETT__READ | SETT__WRITE, .global = true};
    (void)t, (void)checks;
    return &watch;
}
