/* SPDX-License-Identifier: Apache-2.0 */
#include "before.h"
#include "global.h"
#include <stdlib.h>
#include <string.h>

/* The tape has what a finding's sites need: operations, lines and names. */
struct sett__before {
    struct sett__before *next;
    const void *handle;
    sett__cells *cells;
    sett__tape tape;
    char *kernel;
};

void sett__before_free(sett__before *b)
{
    if (!b)
        return;
    for (uint32_t i = 0; b->tape.string && i < b->tape.n_string; i++)
        free((char *)(uintptr_t)b->tape.string[i]);
    free(b->tape.string);
    free(b->tape.op);
    free(b->tape.site);
    sett__cells_free(b->cells);
    free(b->kernel);
    free(b);
}

static void *copy_of(const void *from, size_t bytes)
{
    void *to = malloc(bytes + 1);
    if (to && bytes)
        memcpy(to, from, bytes);
    return to;
}

sett__before *sett__before_make(const sett__program *p, const char *kernel, sett__cells *cells)
{
    const sett__tape *t = p->given;
    bool releases = false;
    for (uint32_t v = 0; v < t->n_op; v++)
        releases |= t->op[v].code == SETT__DEPLAUNCH;
    sett__before *b = releases ? calloc(1, sizeof *b) : NULL;
    if (!b) {
        sett__cells_free(cells);
        return NULL;
    }
    b->cells = cells;
    b->kernel = strdup(kernel ? kernel : "?");
    b->tape = (sett__tape){.n_op = t->n_op, .n_site = t->n_site, .n_string = t->n_string, .op = copy_of(t->op, t->n_op * sizeof *t->op),
        .site = copy_of(t->site, t->n_site * sizeof *t->site), .string = calloc((size_t)t->n_string + 1, sizeof *t->string)};
    bool fine = b->kernel && b->tape.op && b->tape.site && b->tape.string;
    for (uint32_t i = 0; i < t->n_string && fine; i++)
        fine = (b->tape.string[i] = strdup(t->string[i]));
    if (fine)
        return b;
    sett__before_free(b);
    return NULL;
}

/* ---- by streams ------------------------------------------------------------------------------------------------------ */
sett__before *sett__befores_take(sett__befores *all, const void *handle)
{
    pthread_mutex_lock(&all->lock);
    sett__before **at = &all->first, *b;
    while ((b = *at) && b->handle != handle)
        at = &b->next;
    if (b)
        *at = b->next;
    pthread_mutex_unlock(&all->lock);
    return b;
}

void sett__befores_put(sett__befores *all, sett__before *b, const void *handle)
{
    if (!b)
        return;
    sett__before_free(sett__befores_take(all, handle));
    b->handle = handle;
    pthread_mutex_lock(&all->lock);
    b->next = all->first;
    all->first = b;
    pthread_mutex_unlock(&all->lock);
}

void sett__befores_clear(sett__befores *all)
{
    pthread_mutex_lock(&all->lock);
    sett__before *b = all->first;
    all->first = NULL;
    pthread_mutex_unlock(&all->lock);
    for (sett__before *next; b; b = next) {
        next = b->next;
        sett__before_free(b);
    }
}

/* ---- waits, and what came without one ------------------------------------------------------------------------------------- */
bool sett__grid_waited(sett__grid_wait **all, const sett__actor *a)
{
    sett__grid_wait *w = malloc(sizeof *w);
    if (!w)
        return false;
    *w = (sett__grid_wait){*all, a->domain, a->agent, a->lanes, a->n->time};
    *all = w;
    return true;
}

static bool is_behind(const sett__grid_wait *w, const sett__actor *a)
{
    const uint32_t warp = sett__agent(a->n, OF_WARP, a->rank, a->w->index);
    for (; w; w = w->next) {
        const bool own = w->agent == warp && !(a->lanes & ~w->lanes) && (a->agent == warp || w->time < a->time); /* a copy began before its time */
        if (w->domain == a->domain && (own || sett__covers(a->n, a->known, BEFORE, w->agent, (uint32_t)__builtin_ctz(w->lanes), w->time)))
            return true;
    }
    return false;
}

static uint32_t wait_of(const sett__tape *t)
{
    uint32_t v = 0;
    while (v < t->n_op && t->op[v].code != SETT__DEPWAIT)
        v++;
    return v;
}

void sett__before_meets(const sett__before *b, const sett__grid_wait *waits, const sett__actor *a, const sett__stamp *now, uintptr_t at, uint64_t bytes)
{
    const sett__tape *t = a->c->program->given;
    const uint32_t wait = wait_of(t);
    char words[800], where[160];
    sett__sink to = {.buf = words, .cap = sizeof words};
    uintptr_t p;
    if (wait == t->n_op || is_behind(waits, a))
        return;
    const sett__stamp *old = sett__cells_used(b->cells, at, bytes, now->how & SETT__WRITE ? SETT__UPDATE : SETT__WRITE, &p);
    if (!old)
        return;
    sett__finding f = {.kind = SETT_CHECK_PDL, .level = SETT_CHECK_ERROR};
    sett__finding_site(&f, now->op, sett__role_of(&t->op[now->op]));
    sett__finding_site(&f, old->op, sett__role_of(&b->tape.op[old->op]));
    f.site[1].of = &b->tape;
    sett__finding_site(&f, wait, SETT_CHECK_ROLE_WAIT);
    sett__putf(&to, "%s %s ", sett__ops[t->op[now->op].code].text, now->how & SETT__WRITE ? "writes" : "reads");
    sett__put_global(a->c, p, &to);
    sett__putf(&to, ", which the launch before (%s, %s at %s) %s, and has not waited for it: that launch may still run", b->kernel, sett__ops[b->tape.op[old->op].code].text,
        sett__op_where(&b->tape, old->op, where, sizeof where), old->how & SETT__WRITE ? "writes" : "reads");
    sett__putf(&to, "\n  fix    sett_griddepcontrol_wait, at %s, before this", sett__where(a->c->program, wait, where, sizeof where));
    sett__report(a->c, &f, "%s", words);
}
