/* SPDX-License-Identifier: Apache-2.0 */
/* Questions about static tuples. */
#include "layout.h"

static const sett__ctx nowhere;

static bool static_product(sett_arg a, int64_t *n)
{
    sett_arg p = sett__product(&nowhere, a);
    *n = p.u.i;
    return p.kind == SETT_INT;
}

static bool both_formed(sett_site site, const char *func, sett_arg a, sett_arg b)
{
    return sett__arg_lives(site, func, a) && sett__arg_lives(site, func, b) && sett__well_formed(a) && sett__well_formed(b);
}

/* By leaf; -1 where a is deeper than b, or a rank differs. */
static int compare_leaves(sett_arg a, sett_arg b)
{
    int all = 1;
    if (a.kind == SETT_INT && b.kind == SETT_INT)
        return a.u.i < b.u.i;
    if (a.kind != SETT_NODE || b.kind != SETT_NODE || a.rank > b.rank)
        return -1;
    for (int i = 0; i < a.rank; i++) {
        int r = compare_leaves(a.u.kid[i], b.u.kid[i]);
        if (r < 0)
            return r;
        all = all && r;
    }
    return all;
}

int sett_tuple_less_at(sett_site site, sett_arg a, sett_arg b)
{
    return both_formed(site, "sett_tuple_less", a, b) ? compare_leaves(a, b) : -1;
}

int sett_tuple_leq_at(sett_site site, sett_arg a, sett_arg b)
{
    int r = both_formed(site, "sett_tuple_leq", a, b) ? compare_leaves(b, a) : -1;
    return r < 0 ? r : !r;
}

int sett_congruent_at(sett_site site, sett_arg a, sett_arg b)
{
    return both_formed(site, "sett_congruent", a, b) ? sett__congruent(a, b) : -1;
}

int sett_weakly_congruent_at(sett_site site, sett_arg a, sett_arg b)
{
    return !both_formed(site, "sett_weakly_congruent", a, b) ? -1 : sett__weakly_congruent(a, b);
}

/* 1: so are the first n modes of both; else what the first says that is not. */
static int of_modes(sett_site site, sett_arg a, sett_arg b, int n, int (*f)(sett_site, sett_arg, sett_arg))
{
    int r = 1;
    for (int i = 0; i < n && r == 1; i++)
        r = f(site, a.u.kid[i], b.u.kid[i]);
    return r;
}

int sett_compatible_at(sett_site site, sett_arg a, sett_arg b)
{
    int64_t x, y;
    if (!both_formed(site, "sett_compatible", a, b))
        return -1;
    if (a.kind != SETT_NODE)
        return !static_product(a, &x) || !static_product(b, &y) ? -1 : x == y;
    if (b.kind != SETT_NODE || a.rank != b.rank)
        return 0;
    return of_modes(site, a, b, a.rank, sett_compatible_at);
}

int sett_evenly_divides_at(sett_site site, sett_arg a, sett_arg b)
{
    int64_t x, y;
    if (!both_formed(site, "sett_evenly_divides", a, b))
        return -1;
    if (b.kind != SETT_NODE)
        return !static_product(a, &x) || !static_product(b, &y) || !y ? -1 : x % y == 0;
    if (a.kind != SETT_NODE || b.rank > a.rank)
        return 0;
    return of_modes(site, a, b, b.rank, sett_evenly_divides_at);
}
