/* SPDX-License-Identifier: Apache-2.0 */
#include "before.h"
#include "global.h"
#include "phrase.h"
#include <stdlib.h>
#include <string.h>

/* The tape has what a finding's sites need: operations, lines and names. */
struct sett__before {
    struct sett__before *next;
    struct sett__before *older;  /* that may still run as well; NULL: none */
    struct sett__before *next_map; /* of launches that wrote maps */
    uint32_t refs;
    bool overlapped, maps, fences; /* the next launch may begin before its end; it wrote maps; it has fences between proxies of global memory */
    const void *handle;
    sett__cells *cells;
    sett__tape tape;
    char *kernel;
};

void sett__before_free(sett__before *b)
{
    if (!b || --b->refs)
        return;
    sett__before_free(b->older);
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

static sett__before *hold(sett__before *b)
{
    if (b)
        b->refs++;
    return b;
}

static bool has(const sett__tape *t, uint8_t one, uint8_t other)
{
    uint32_t v = 0;
    while (v < t->n_op && t->op[v].code != one && t->op[v].code != other)
        v++;
    return v < t->n_op;
}

/* A stream of launches of which each lets the next begin early: the oldest of them have ended long since. */
enum { OVERLAPS = 3 };
static void forget_old(sett__before *b, int most)
{
    while (b && most-- > 0)
        b = b->older;
    if (b) {
        sett__before_free(b->older);
        b->older = NULL;
    }
}

sett__before *sett__before_make(const sett__program *p, const sett__sim_launch *l, sett__cells *cells, bool early)
{
    const sett__tape *t = p->given;
    const bool overlapped = has(t, SETT__DEPLAUNCH, SETT__DEPLAUNCH), maps = has(t, SETT__MAPCOPY, SETT__MAPREPLACE);
    sett__before *b = overlapped || maps ? calloc(1, sizeof *b) : NULL;
    if (!b) {
        sett__cells_free(cells);
        return NULL;
    }
    b->refs = 1;
    b->overlapped = overlapped, b->maps = maps;
    for (uint32_t v = 0; v < t->n_op; v++)
        b->fences |= sett__fences_global(t, v);
    b->cells = cells;
    b->older = early ? hold(l->check->before) : NULL;
    forget_old(b, OVERLAPS);
    b->kernel = strdup(l->name ? l->name : "?");
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

/* The newest few. */
static void put_maps(sett__befores *all, sett__before *b)
{
    enum { MOST = 4 };
    sett__before **at = &all->maps;
    b->next_map = all->maps;
    all->maps = hold(b);
    for (int n = 0; *at && n < MOST; n++)
        at = &(*at)->next_map;
    sett__before *old = *at;
    *at = NULL;
    sett__before_free(old);
}

void sett__befores_put(sett__befores *all, sett__before *b, const void *handle)
{
    if (!b)
        return;
    sett__before_free(sett__befores_take(all, handle));
    b->handle = handle;
    pthread_mutex_lock(&all->lock);
    if (b->maps)
        put_maps(all, b);
    b->next = b->overlapped ? all->first : NULL;
    all->first = b->overlapped ? b : all->first;
    pthread_mutex_unlock(&all->lock);
    if (!b->overlapped)
        sett__before_free(b);
}

sett__before *sett__befores_maps(sett__befores *all)
{
    pthread_mutex_lock(&all->lock);
    sett__before *b = hold(all->maps);
    pthread_mutex_unlock(&all->lock);
    return b;
}

static void free_all(sett__before *b)
{
    for (sett__before *next; b; b = next) {
        next = b->next;
        sett__before_free(b);
    }
}

void sett__befores_clear(sett__befores *all)
{
    pthread_mutex_lock(&all->lock);
    sett__before *b = all->first;
    all->first = NULL;
    pthread_mutex_unlock(&all->lock);
    free_all(b);
}

void sett__befores_end(sett__befores *all)
{
    sett__befores_clear(all);
    for (sett__before *b = all->maps, *next; b; b = next) {
        next = b->next_map;
        sett__before_free(b);
    }
    all->maps = NULL;
}

uint32_t sett__before_wrote(const sett__before *b, uintptr_t at, uint64_t bytes, const sett__tape **of)
{
    uintptr_t where;
    for (; b; b = b->next_map) {
        const sett__stamp *x = sett__cells_used(b->cells, at, bytes, SETT__WRITE, &where);
        *of = &b->tape;
        if (x)
            return x->op;
    }
    *of = NULL;
    return SETT__NONE;
}

/* ---- waits, and what came without one ------------------------------------------------------------------------------------- */
bool sett__grid_waited(sett__grid_waits *all, const sett__actor *a)
{
    sett__grid_wait *w = malloc(sizeof *w), **to = &all->of[a->domain % SETT__WAIT_LISTS];
    if (!w)
        return false;
    *w = (sett__grid_wait){*to, a->domain, a->agent, a->lanes, a->n->time};
    *to = w;
    return true;
}

void sett__grid_waits_end(sett__grid_waits *all)
{
    for (int k = 0; k < SETT__WAIT_LISTS; k++)
        for (sett__grid_wait *w; (w = all->of[k]);) {
            all->of[k] = w->next;
            free(w);
        }
}

bool sett__grid_behind(const sett__grid_waits *all, const sett__actor *a)
{
    const uint32_t warp = sett__agent(a->n, OF_WARP, a->rank, a->w->index);
    for (const sett__grid_wait *w = all->of[a->domain % SETT__WAIT_LISTS]; w; w = w->next) {
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

/* Behind the wait, what a launch before stored through the generic proxy is read through the async one; that launch has no fence, and none is between
 * the wait and this. */
static void tell_fence(const sett__before *b, const sett__grid_waits *fenced, const sett__actor *a, const sett__stamp *now, uintptr_t at, uint64_t bytes, uint32_t wait)
{
    const sett__tape *t = a->c->program->given;
    const sett__stamp *old = NULL;
    char words[800], where[160];
    sett__sink to = {.buf = words, .cap = sizeof words};
    uintptr_t p = at;
    if (now->proxy != SETT__ASYNC_PROXY || now->how & SETT__WRITE || sett__grid_behind(fenced, a))
        return;
    for (; b && !old; b = old ? b : b->older)
        old = b->fences ? NULL : sett__cells_used(b->cells, at, bytes, SETT__WRITE | SETT__BY_THREAD, &p);
    if (!old)
        return;
    sett__finding f = {.kind = SETT_CHECK_PROXY_FENCE_SIDE, .level = SETT_CHECK_WARNING};
    sett__finding_site(&f, now->op, sett__role_of(&t->op[now->op]));
    sett__finding_site(&f, old->op, sett__role_of(&b->tape.op[old->op]));
    f.site[1].of = &b->tape;
    sett__finding_site(&f, wait, SETT_CHECK_ROLE_WAIT);
    sett__putf(&to, "%s reads ", sett__ops[t->op[now->op].code].text);
    sett__put_global(a->c, p, &to);
    sett__putf(&to, " by the async proxy, which %s at %s of a launch before (%s) writes by the generic one, and no fence.proxy.async is in that launch, nor between the wait and this: griddepcontrol.wait at ",
        sett__ops[b->tape.op[old->op].code].text, sett__op_where(&b->tape, old->op, where, sizeof where), b->kernel);
    sett__putf(&to, "%s is between the two, of which PTX does not say that it orders proxies\n  fix    sett_fence_proxy(b, SETT_PROXY_ASYNC) behind this write, or behind the wait", sett__where(a->c->program, wait, where, sizeof where));
    sett__report(a->c, &f, "%s", words);
}

/* Some of the block have waited, and the others are not behind them; or nobody has. */
static void put_wait(const sett__grid_waits *all, const sett__actor *a, const sett__stamp *now, uint32_t wait, sett__sink *to)
{
    const sett__core *c = a->c;
    const sett__grid_wait *w = all->of[a->domain % SETT__WAIT_LISTS];
    uint32_t role, rank = 0, index = 0;
    for (; w; w = w->next) {
        sett__agent_is(a->n, w->agent, &role, &rank, &index);
        if (w->domain == a->domain && rank == a->rank)
            break;
    }
    if (!w) {
        sett__put(to, "\n  fix    sett_griddepcontrol_wait before this");
        sett__put(to, wait < now->op ? ": that of this kernel, at " : ": that of this kernel comes later, at ");
        sett__put_where(c, wait, to);
        sett__put(to, wait < now->op ? ", is one that this thread did not come to" : "");
        return;
    }
    sett__putf(to, "\n  path   warp %u ", index);
    sett__put_lanes(to, w->lanes);
    sett__put(to, " alone waited, by ");
    sett__put_code(c, wait, to);
    sett__put(to, "; nothing orders this behind that\n  fix    ");
    sett__put_barrier(c, wait, now->op, false, to);
    sett__put(to, " between ");
    sett__put_code(c, wait, to);
    sett__put(to, " and this");
    sett__put_outside(c, wait, now->op, to);
    sett__put(to, "; or sett_griddepcontrol_wait by all threads");
}

void sett__before_meets(const sett__before *b, const sett__grid_waits *waits, const sett__grid_waits *fenced, const sett__actor *a, const sett__stamp *now, uintptr_t at, uint64_t bytes)
{
    const sett__tape *t = a->c->program->given;
    const uint32_t wait = wait_of(t);
    char words[800], where[160];
    sett__sink to = {.buf = words, .cap = sizeof words};
    uintptr_t p;
    if (wait == t->n_op)
        return;
    if (sett__grid_behind(waits, a)) {
        tell_fence(b, fenced, a, now, at, bytes, wait);
        return;
    }
    const sett__stamp *old = NULL;
    for (; b && !old; b = old ? b : b->older)
        old = sett__cells_used(b->cells, at, bytes, now->how & SETT__WRITE ? SETT__UPDATE : SETT__WRITE, &p);
    if (!old)
        return;
    sett__finding f = {.kind = SETT_CHECK_PDL, .level = SETT_CHECK_ERROR};
    sett__finding_site(&f, now->op, sett__role_of(&t->op[now->op]));
    sett__finding_site(&f, old->op, sett__role_of(&b->tape.op[old->op]));
    f.site[1].of = &b->tape;
    sett__finding_site(&f, wait, SETT_CHECK_ROLE_WAIT);
    sett__putf(&to, "%s %s ", sett__ops[t->op[now->op].code].text, now->how & SETT__WRITE ? "writes" : "reads");
    sett__put_global(a->c, p, &to);
    sett__putf(&to, ", which a launch before (%s, %s at %s) %s, and has not waited for it: that launch may still run", b->kernel, sett__ops[b->tape.op[old->op].code].text,
        sett__op_where(&b->tape, old->op, where, sizeof where), old->how & SETT__WRITE ? "writes" : "reads");
    put_wait(waits, a, now, wait, &to);
    sett__report(a->c, &f, "%s", words);
}
