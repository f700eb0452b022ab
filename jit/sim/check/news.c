/* SPDX-License-Identifier: Apache-2.0 */
#include "news.h"
#include <stdlib.h>
#include <string.h>

void sett__past_drop(sett__past *p)
{
    if (p && !--p->refs)
        free(p);
}

void sett__news_drop(sett__news *k)
{
    if (!k || --k->refs)
        return;
    for (uint32_t i = 0; i < k->n; i++)
        sett__past_drop(k->item[i].past);
    free(k->item);
    free(k);
}

sett__news *sett__news_hold(sett__news *k)
{
    if (k)
        k->refs++;
    return k;
}

sett__news *sett__news_make(void)
{
    enum { FIRST = 2 };
    sett__news *k = calloc(1, sizeof *k);
    if (!k || !(k->item = malloc(FIRST * sizeof *k->item))) {
        free(k);
        return NULL;
    }
    k->refs = 1, k->cap = FIRST;
    return k;
}

const sett__item *sett__news_find(const sett__news *k, uint32_t domain)
{
    uint32_t lo = 0, hi = k ? k->n : 0;
    while (lo < hi) {
        const uint32_t mid = (lo + hi) / 2;
        if (k->item[mid].domain < domain)
            lo = mid + 1;
        else
            hi = mid;
    }
    return k && lo < k->n && k->item[lo].domain == domain ? &k->item[lo] : NULL;
}

static sett__past *past_of(const uint32_t *at, uint32_t stride, size_t part)
{
    const size_t n = 3 * part;
    sett__past *p = malloc(sizeof *p + n * sizeof *at);
    if (!p)
        return NULL;
    p->refs = 1, p->stride = stride, p->part = part;
    memcpy(p->at, at, n * sizeof *at);
    return p;
}

sett__past *sett__past_of(const near *n, const clocks *k)
{
    return past_of(k->at, n->stride, n->part);
}

/* Does b know all that a knows? */
static bool within(const sett__past *a, const sett__past *b)
{
    const size_t times = 2 * a->part, masks = a->part;
    uint32_t more = 0;
    for (size_t i = 0; i < times; i++)
        more |= a->at[i] > b->at[i];
    for (size_t i = times; i < times + masks; i++)
        more |= a->at[i] & ~b->at[i];
    return !more;
}

/* Both; NULL: out of memory. */
static sett__past *past_both(sett__past *a, sett__past *b)
{
    sett__past *p = within(b, a) ? a : within(a, b) ? b : NULL;
    const size_t times = 2 * a->part, masks = a->part;
    if (p) {
        p->refs++;
        return p;
    }
    if (!(p = past_of(a->at, a->stride, a->part)))
        return NULL;
    for (size_t i = 0; i < times; i++)
        p->at[i] = p->at[i] > b->at[i] ? p->at[i] : b->at[i];
    for (size_t i = times; i < times + masks; i++)
        p->at[i] |= b->at[i];
    return p;
}

static bool put_both(sett__item *at, const sett__item *x)
{
    sett__past *p = at->past == x->past ? x->past : past_both(at->past, x->past);
    if (!p)
        return false;
    if (at->weak.why && p == x->past)
        at->weak = x->weak;
    if (at->past != x->past) {
        sett__past_drop(at->past);
        at->past = p;
    }
    return true;
}

static bool reserve(sett__news *to, uint32_t cap)
{
    sett__item *more = to->cap >= cap ? to->item : realloc(to->item, cap * sizeof *more);
    if (!more)
        return false;
    to->item = more;
    to->cap = to->cap > cap ? to->cap : cap;
    return true;
}

bool sett__news_put(sett__news *to, const sett__item *x)
{
    sett__item *at = (sett__item *)(uintptr_t)sett__news_find(to, x->domain);
    if (at)
        return put_both(at, x);
    if (!reserve(to, to->n < to->cap ? to->cap : 2 * to->cap))
        return false;
    uint32_t i = to->n++;
    for (; i && to->item[i - 1].domain > x->domain; i--)
        to->item[i] = to->item[i - 1];
    to->item[i] = *x;
    x->past->refs++;
    return true;
}

/* A copy, from item `from` on, that nobody else has. */
static bool own(sett__news **to, uint32_t from)
{
    sett__news *k = *to, *mine = sett__news_make();
    if (!mine || !reserve(mine, k->n - from + 1)) {
        sett__news_drop(mine);
        return false;
    }
    mine->n = k->n - from;
    memcpy(mine->item, k->item + from, mine->n * sizeof *mine->item);
    for (uint32_t i = 0; i < mine->n; i++)
        mine->item[i].past->refs++;
    sett__news_drop(k);
    *to = mine;
    return true;
}

bool sett__news_cut(sett__news **to, uint32_t most)
{
    return (*to)->n <= most || own(to, (*to)->n - most / 2);
}

bool sett__news_join(sett__news **to, sett__news *from)
{
    sett__news *k = *to;
    if (!from || from == k)
        return true;
    if (!k) {
        *to = sett__news_hold(from);
        return true;
    }
    if (k->refs > 1 && !own(to, 0))
        return false;
    k = *to;
    for (uint32_t i = 0, at = 0; i < from->n; i++) {
        while (at < k->n && k->item[at].domain < from->item[i].domain)
            at++;
        const bool there = at < k->n && k->item[at].domain == from->item[i].domain;
        if (!(there ? put_both(&k->item[at], &from->item[i]) : sett__news_put(k, &from->item[i])))
            return false;
    }
    return true;
}

