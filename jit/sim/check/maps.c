/* SPDX-License-Identifier: Apache-2.0 */
#include "maps.h"
#include "global.h"
#include <stdlib.h>

/* A lane that acquires the map again replaces what it did before. */
bool sett__map_acquired(sett__map_acquire **all, const sett__actor *a, uintptr_t at, const sett__stamp *seen)
{
    sett__map_acquire *x = *all;
    while (x && (x->at != at || x->domain != a->domain || x->agent != a->agent || x->lanes & ~a->lanes))
        x = x->next;
    if (!x) {
        if (!(x = malloc(sizeof *x)))
            return false;
        x->next = *all;
        *all = x;
    }
    *x = (sett__map_acquire){x->next, at, a->domain, a->agent, a->lanes, a->n->time, seen ? seen->domain : 0, seen ? seen->epoch : 0};
    return true;
}

void sett__map_acquires_free(sett__map_acquire *all)
{
    for (sett__map_acquire *next; all; all = next) {
        next = all->next;
        free(all);
    }
}

/* By the thread itself, or another of its warp that it met, behind what was written last. */
static bool is_acquired(const sett__map_acquire *x, const sett__actor *a, uintptr_t at, const sett__stamp *by)
{
    for (; x; x = x->next)
        if (x->at == at && x->domain == a->domain && x->agent == a->agent && (!by || (x->by == by->domain && x->epoch == by->epoch)) &&
            (!(a->lanes & ~x->lanes) || sett__covers(a->n, a->known, BEFORE, x->agent, (uint32_t)__builtin_ctz(x->lanes), x->time)))
            return true;
    return false;
}

/* The argument that it lies in; SETT__NONE: none is known. */
static uint32_t root_around(const sett__core *c, uintptr_t at)
{
    const sett__program *p = c->program;
    for (uint32_t k = 0; k < p->n_root; k++) {
        const sett__root *r = &p->root[k];
        if (r->space == SETT__GLOBAL && at - (uintptr_t)c->launch->extent[r->param].data < c->launch->extent[r->param].bytes)
            return r->op;
    }
    return SETT__NONE;
}

static bool is_of_maps(const sett__tape *t, uint32_t op)
{
    return t->op[op].code == SETT__MAPCOPY || t->op[op].code == SETT__MAPREPLACE;
}

/* What this cluster changed by operations on maps, and nobody acquired since, is the engine's to tell (async/proxy.c). */
static bool is_told(const sett__map_acquire *x, const sett__actor *a, uintptr_t at, const sett__stamp *by)
{
    const sett__tape *t = a->c->program->given;
    if (!by || by->domain != a->domain || !is_of_maps(t, by->op))
        return false;
    while (x && (x->at != at || x->domain != a->domain || x->epoch < by->epoch))
        x = x->next;
    return !x;
}

/* What threads of this cluster stored there, as of operations on maps the engine asks. */
static bool is_released(const sett__actor *a, const sett__stamp *by)
{
    return !by || by->domain != a->domain || is_of_maps(a->c->program->given, by->op) || a->n->maps_released >= by->epoch;
}

void sett__map_used(const sett__map_acquire *all, const sett__before *before, const sett__stamp *by, const sett__actor *a, uintptr_t at)
{
    const sett__tape *t = a->c->program->given, *of = NULL;
    const uint32_t root = root_around(a->c, at), op = by ? by->op : sett__before_wrote(before, at, SETT__MAP_BYTES, &of);
    char words[600], line[160];
    sett__sink to = {.buf = words, .cap = sizeof words};
    const bool acquired = is_acquired(all, a, at, by);
    if ((acquired && is_released(a, by)) || is_told(all, a, at, by))
        return;
    sett__finding f = {.kind = SETT_CHECK_TENSORMAP, .level = SETT_CHECK_ERROR};
    sett__finding_site(&f, a->op, sett__role_of(&t->op[a->op]));
    sett__putf(&to, "%s copies by the map at ", sett__ops[t->op[a->op].code].text);
    sett__put_global(a->c, at, &to);
    if (op != SETT__NONE) {
        sett__finding_site(&f, op, SETT_CHECK_ROLE_WRITE);
        f.site[1].of = of;
        sett__putf(&to, ", which %s at %s wrote,", of ? "a launch before" : "this launch", sett__op_where(of ? of : t, op, line, sizeof line));
    } else if (root != SETT__NONE) {
        sett__finding_site(&f, root, SETT_CHECK_ROLE_ALLOC);
    }
    sett__put(&to, acquired ? " and no fence.proxy kind=tensormap.release came behind that: the copy may see what was there before"
        "\n  fix    sett_fence_tma_desc_release(b) by the threads that wrote the map, behind it" :
        " and this thread executed no fence.proxy kind=tensormap.acquire of it behind that: the copy may see what was there before"
        "\n  fix    sett_fence_tma_desc_acquire of the map, by the warp that copies");
    sett__report(a->c, &f, "%s", words);
}
