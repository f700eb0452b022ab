/* SPDX-License-Identifier: Apache-2.0 */
/* Coalesce and filter: the same function with fewer modes.
 *
 * Two neighbours merge if the second continues the first, (s0,s1):(d,s0*d), and all of it is
 * static: what only a run could confirm is left apart. */
#include "inside.h"
#include <string.h>

void sett__push(const sett__ctx *c, sett__mode_list *l, sett_arg extent, sett_arg stride)
{
    if (l->n == l->cap) {
        int cap = 2 * l->cap;
        sett_arg(*m)[2] = sett__new(c->b, sizeof *m * (size_t)cap);
        memcpy(m, l->m, sizeof *m * (size_t)l->n);
        l->m = m;
        l->cap = cap;
    }
    l->m[l->n][0] = extent;
    l->m[l->n++][1] = stride;
}

static bool continues(const sett_arg m[2], sett_arg d)
{
    int64_t next;
    return m[0].kind == SETT_INT && m[1].kind == SETT_INT && d.kind == SETT_INT && m[1].path == d.path &&
           !__builtin_mul_overflow(m[0].u.i, m[1].u.i, &next) && next == d.u.i;
}

static void add(const sett__ctx *c, sett__mode_list *l, sett_arg s, sett_arg d, bool open_here)
{
    if (s.kind == SETT_NODE) {
        for (int i = 0; i < s.rank; i++)
            add(c, l, s.u.kid[i], d.u.kid[i], open_here && i == s.rank - 1);
        return;
    }
    if (open_here && sett__is_int(s, 1))
        s = sett_arg_i(2); /* any extent above 1: it only keeps the stride alive */
    if (sett__is_int(s, 1))
        return;
    if (l->n && s.kind == SETT_INT && continues(l->m[l->n - 1], d))
        l->m[l->n - 1][0] = sett__mul(c, l->m[l->n - 1][0], s);
    else
        sett__push(c, l, s, d);
}

void sett__coalesced(const sett__ctx *c, sett__mode_list *l, sett_arg shape, sett_arg stride, bool open)
{
    sett__no_modes(l);
    add(c, l, shape, stride, open);
}

sett_layout *sett__from_modes(const sett__ctx *c, const sett__mode_list *l)
{
    if (!l->n)
        return sett__own(c, sett_arg_i(1), sett_arg_i(0));
    if (l->n == 1)
        return sett__own(c, l->m[0][0], l->m[0][1]);
    sett_arg *s = sett__kids(c, l->n), *d = sett__kids(c, l->n);
    for (int i = 0; i < l->n; i++) {
        s[i] = l->m[i][0];
        d[i] = l->m[i][1];
    }
    return sett__own(c, sett__node(c, l->n, s), sett__node(c, l->n, d));
}

sett_layout *sett__coalesce(const sett__ctx *c, const sett_layout *l)
{
    sett__mode_list m;
    if (sett__layout_poison(l))
        return sett__poison_layout(c->b);
    if (l->shape.kind == SETT_NODE && !l->shape.rank) /* of no coordinates but (), and stays so */
        return (sett_layout *)(uintptr_t)l;
    sett__coalesced(c, &m, l->shape, l->stride, false);
    return sett__rewrap(c, l, sett__from_modes(c, &m));
}

typedef sett_layout *unary(const sett__ctx *, const sett_layout *);

sett_layout *sett__by_mode(
    const sett__ctx *c, const sett_layout *l, const char *what, sett_arg tiler, sett__by_mode_fn *f, bool keep)
{
    int n = keep || tiler.rank > sett__arity(l->shape) ? sett__arity(l->shape) : tiler.rank;
    if (tiler.rank > n) {
        sett__bad(c, SETT_E_RANK, "invalid: %s %s has more modes than %s", what, sett__arg_text(c->b, tiler),
            sett__layout_text(c->b, l));
        return sett__poison_layout(c->b);
    }
    sett_layout **m = sett__new(c->b, sizeof *m * (size_t)(n ? n : 1));
    for (int i = 0; i < n; i++) {
        m[i] = sett__mode(c, l, i);
        if (i < tiler.rank)
            m[i] = f(c, m[i], tiler.u.kid[i]);
    }
    return sett__rewrap(c, l, sett__join(c, n, m));
}

/* By the modes of a profile; modes past it stay as they are. */
static sett_layout *apply_by_profile(const sett__ctx *c, const sett_layout *l, sett_arg profile, unary *f, sett__by_mode_fn *each)
{
    if (sett__layout_poison(l))
        return sett__poison_layout(c->b);
    return profile.kind == SETT_NODE ? sett__by_mode(c, l, "profile", profile, each, true) : f(c, l);
}

static sett_layout *coalesce_by(const sett__ctx *c, const sett_layout *l, sett_arg profile)
{
    return apply_by_profile(c, l, profile, sett__coalesce, coalesce_by);
}

static void zeros_out(const sett__ctx *c, sett_arg s, sett_arg d, sett_arg *shape)
{
    if (s.kind != SETT_NODE) {
        *shape = sett__is_int(d, 0) ? sett_arg_i(1) : s;
        return;
    }
    sett_arg *kid = sett__kids(c, s.rank);
    for (int i = 0; i < s.rank; i++)
        zeros_out(c, s.u.kid[i], d.u.kid[i], &kid[i]);
    *shape = sett_arg_n(s.rank, kid);
}

static sett_layout *filter_zeros(const sett__ctx *c, const sett_layout *l)
{
    sett_arg shape;
    zeros_out(c, l->shape, l->stride, &shape);
    return sett__rewrap(c, l, sett__own(c, shape, l->stride));
}

sett_layout *sett__filter(const sett__ctx *c, const sett_layout *l)
{
    return sett__coalesce(c, filter_zeros(c, l));
}

static sett_layout *filter_by(const sett__ctx *c, const sett_layout *l, sett_arg profile)
{
    return apply_by_profile(c, l, profile, sett__filter, filter_by);
}

static sett_layout *public_unary(sett_site site, const char *name, const sett_layout *l, unary *f)
{
    if (!sett__use_layout(NULL, site, name, l))
        return (sett_layout *)(uintptr_t)l;
    return f(&(sett__ctx){sett__home(l), site, name}, l);
}

static sett_layout *public_by(sett_site site, const char *name, const sett_layout *l, sett_arg profile, sett__by_mode_fn *f)
{
    if (!sett__use_layout(NULL, site, name, l))
        return (sett_layout *)(uintptr_t)l;
    const sett__ctx c = {sett__home(l), site, name};
    return sett__use_arg(c.b, site, name, profile) ? f(&c, l, profile) : sett__poison_layout(c.b);
}

sett_layout *sett_coalesce_layout_at(sett_site site, const sett_layout *l, sett_arg profile)
{
    return profile.kind == SETT_SLICE ? public_unary(site, "sett_coalesce", l, sett__coalesce)
                                      : public_by(site, "sett_coalesce", l, profile, coalesce_by);
}

sett_layout *sett_filter_at(sett_site site, const sett_layout *l)
{
    return public_unary(site, "sett_filter", l, sett__filter);
}

sett_layout *sett_filter_zeros_at(sett_site site, const sett_layout *l)
{
    return public_unary(site, "sett_filter_zeros", l, filter_zeros);
}

sett_layout *sett_filter_by_at(sett_site site, const sett_layout *l, sett_arg profile)
{
    return public_by(site, "sett_filter", l, profile, filter_by);
}
