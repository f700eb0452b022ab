/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts that keep another one's order, and coordinates of what a layout yields. */
#include "layout.h"
#include <string.h>

/* Strides in ascending order, dynamic ones last and in their own order; 0 and extent 1 take no part. */
static bool stride_before(const sett_arg a, const sett_arg b)
{
    if (a.kind != SETT_INT || b.kind != SETT_INT)
        return a.kind == SETT_INT && b.kind != SETT_INT;
    return a.u.i < b.u.i;
}

static sett_arg rebuild_profile(const sett__ctx *c, sett_arg profile, const sett_arg **leaf)
{
    if (profile.kind != SETT_NODE)
        return *(*leaf)++;
    sett_arg *kid = sett__kids(c, profile.rank);
    for (int i = 0; i < profile.rank; i++)
        kid[i] = rebuild_profile(c, profile.u.kid[i], leaf);
    return sett_arg_n(profile.rank, kid);
}

static sett_layout *like(const sett__ctx *c, const sett_layout *l)
{
    int n = sett__leaves(l->shape);
    if (n > 1024) {
        sett__bad(c, SETT_E_LIMIT, "more than 1024 modes");
        return sett__poison_layout(c->b);
    }
    sett_arg *s = sett__kids(c, n), *d = sett__kids(c, n), *out = sett__kids(c, n), next = sett_arg_i(1);
    bool done[1024] = {0};
    sett__flat(l->shape, s);
    sett__flat(l->stride, d);
    for (int i = 0; i < n; i++) {
        if (d[i].path || d[i].kind == SETT_NODE) {
            sett__bad(
                c, SETT_E_ARGUMENT, "invalid: %s has basis strides, which have no order", sett__layout_text(c->b, l));
            return sett__poison_layout(c->b);
        }
        if (d[i].kind == SETT_INT && d[i].u.i < 0)
            d[i].u.i = d[i].u.i == INT64_MIN ? INT64_MAX : -d[i].u.i;
        out[i] = sett_arg_i(0);
        done[i] = sett__is_int(d[i], 0) || sett__is_int(s[i], 1);
    }
    for (;;) {
        int least = -1;
        for (int i = 0; i < n; i++)
            if (!done[i] && (least < 0 || stride_before(d[i], d[least])))
                least = i;
        if (least < 0)
            break;
        done[least] = true;
        out[least] = next;
        next = sett__mul(c, next, s[least]);
    }
    const sett_arg *leaf = out;
    return sett__own(c, l->shape, rebuild_profile(c, l->shape, &leaf));
}

/* The coordinate, one number a top mode, that l maps to idx: by compact l's order, idx / d % s. */
static sett_arg flat_coord(const sett__ctx *c, sett_arg idx, sett_arg s, sett_arg d)
{
    if (s.kind != SETT_NODE) {
        if (sett__is_int(s, 1) || sett__is_int(d, 0))
            return sett_arg_i(0);
        return sett__rem(c, sett__div(c, idx, d), s);
    }
    sett_arg sum = sett_arg_i(0), size = sett_arg_i(1);
    for (int i = 0; i < s.rank; i++) {
        sum = sett__add(c, sum, sett__mul(c, size, flat_coord(c, idx, s.u.kid[i], d.u.kid[i])));
        size = sett__mul(c, size, sett__product(c, s.u.kid[i]));
    }
    return sum;
}

sett_arg sett_get_flat_coord_at(sett_site site, const sett_layout *l, sett_arg idx)
{
    if (!sett__use_layout(NULL, site, "sett_get_flat_coord", l))
        return (sett_arg){.kind = SETT_POISON};
    sett__ctx ctx = {sett__home(l), site, "sett_get_flat_coord"}, *c = &ctx;
    if (!sett__use_arg(c->b, site, c->func, idx))
        return (sett_arg){.kind = SETT_POISON, .u = {.poisoned = c->b}};
    int n = sett__arity(l->shape);
    sett_arg *kid = sett__kids(c, n);
    for (int i = 0; i < n; i++)
        kid[i] = flat_coord(c, idx, sett__kid(l->shape, i), sett__kid(l->stride, i));
    return l->shape.kind == SETT_NODE ? sett__node(c, n, kid) : kid[0];
}

sett_arg sett_idx2crd_at(sett_site site, sett_build *b, sett_arg idx, sett_arg shape)
{
    b = sett__given(b, site, "sett_idx2crd");
    if (!b)
        return (sett_arg){.kind = SETT_POISON};
    sett__ctx c = {b, site, "sett_idx2crd"};
    if (!sett__use_arg(b, site, c.func, idx) || !sett__use_arg(b, site, c.func, shape))
        return (sett_arg){.kind = SETT_POISON, .u = {.poisoned = b}};
    return sett__idx2crd(&c, idx, shape);
}

sett_layout *sett_make_layout_like_at(sett_site site, const sett_layout *l)
{
    if (!sett__use_layout(NULL, site, "sett_make_layout_like", l))
        return (sett_layout *)(uintptr_t)l;
    return like(&(sett__ctx){sett__home(l), site, "sett_make_layout_like"}, l);
}

/* The run of elements that follow each other from stride 1 on, cut so that every other stride is a
 * multiple of it. */
sett_arg sett_max_alignment_at(sett_site site, const sett_layout *l)
{
    sett__mode_list m;
    if (!sett__use_layout(NULL, site, "sett_max_alignment", l))
        return (sett_arg){.kind = SETT_POISON};
    sett__ctx ctx = {sett__home(l), site, "sett_max_alignment"}, *c = &ctx;
    sett_layout *f = sett__filter(c, l);
    int64_t run = 1;
    sett__coalesced(c, &m, f->shape, f->stride, false);
    for (int i = 0, from = 0; i < m.n; i++) {
        int64_t longer;
        bool next = sett__is_int(m.m[i][1], run) && m.m[i][0].kind == SETT_INT;
        if (next && !__builtin_mul_overflow(run, m.m[i][0].u.i, &longer)) {
            run = longer;
            m.m[i][1] = sett_arg_i(0); /* taken */
            i = from - 1;
        }
    }
    for (int i = 0; i < m.n; i++)
        run = m.m[i][1].path ? 1 : sett__gcd(run, sett__leaf_div(m.m[i][1]));
    return sett_arg_i(run);
}
