/* SPDX-License-Identifier: Apache-2.0 */
/* Every order of a launch, one after the other: it is run again from the same memory, and at the last choice with another answer left it
 * takes the next one. */
#include "jit/sim/async/async.h"
#include "jit/sim/check/check.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_ORDERS = 10000 };

/* What the launch's arguments may touch. */
typedef struct image {
    uint32_t n;
    const sett__extent *extent;
    size_t bytes;
    unsigned char *first; /* as it was; behind it as the first order left it, and as the one did that left it otherwise */
} image;

static size_t size_of(const image *m)
{
    size_t n = 0;
    for (uint32_t i = 0; i < m->n; i++)
        n += m->extent[i].bytes;
    return n;
}
static unsigned char *nth(const image *m, int which)
{
    return m->first + (size_t)which * m->bytes;
}
static void save(const image *m, int which)
{
    unsigned char *to = nth(m, which);
    for (uint32_t i = 0; i < m->n; to += m->extent[i++].bytes)
        if (m->extent[i].bytes)
            memcpy(to, m->extent[i].data, m->extent[i].bytes);
}
static bool is_same(const image *m, int which)
{
    const unsigned char *as = nth(m, which);
    bool same = true;
    for (uint32_t i = 0; i < m->n; as += m->extent[i++].bytes)
        same &= !m->extent[i].bytes || !memcmp(as, m->extent[i].data, m->extent[i].bytes);
    return same;
}
/* What the kernel does not write may lie where nobody can. */
static void restore(const image *m, int which)
{
    const unsigned char *from = nth(m, which);
    for (uint32_t i = 0; i < m->n; from += m->extent[i++].bytes)
        if (m->extent[i].bytes && memcmp(from, m->extent[i].data, m->extent[i].bytes))
            memcpy((void *)(uintptr_t)m->extent[i].data, from, m->extent[i].bytes);
}

/* The next order. False: all have been. */
static bool another(sett__choices *c)
{
    c->n = c->at;
    while (c->n && c->choice[c->n - 1].taken + 1 >= c->choice[c->n - 1].of)
        c->n--;
    c->at = 0;
    if (c->n)
        c->choice[c->n - 1].taken++;
    return c->n != 0;
}

static sett_status run_orders(const sett__program *p, sett__sim_launch *l, const image *m, sett_error *e)
{
    enum { BEFORE, FIRST, OTHER };
    sett__checked *k = l->check;
    sett_status s = SETT_OK;
    save(m, BEFORE);
    do {
        if (k->orders) {
            restore(m, BEFORE);
            sett__before_free(k->after);
            k->after = NULL;
        }
        if ((s = sett__sim_run(p, l, e)))
            return s;
        if (l->choices->full)
            return sett__error(e, SETT_E_MEMORY, "%s: out of memory for its orders", l->name);
        if (!k->orders++)
            save(m, FIRST);
        else if (!is_same(m, FIRST) && !k->others++)
            save(m, OTHER);
        k->all = !another(l->choices);
    } while (!k->all && k->orders < MOST_ORDERS);
    restore(m, k->others ? OTHER : FIRST);
    return s;
}

sett_status sett__sim_orders(const sett__program *p, const sett__sim_launch *given, sett_error *e)
{
    sett__choices choices = {0};
    sett__sim_launch l = *given;
    image m = {.n = p->tape->sig.n_param, .extent = l.extent};
    if (l.async.policy != SETT__ASYNC_SYSTEMATIC || !l.check)
        return sett__sim_run(p, given, e);
    l.choices = &choices;
    m.bytes = m.extent ? size_of(&m) : 0;
    m.first = malloc(3 * m.bytes + 1);
    sett_status s = m.first ? run_orders(p, &l, &m, e) : sett__error(e, SETT_E_MEMORY, "%s: out of memory for its orders", l.name);
    free(m.first);
    free(choices.choice);
    return s;
}
