/* SPDX-License-Identifier: Apache-2.0 */
/* Modes of a layout: choosing, slicing, grouping and adding them. */
#include "layout.h"

#define ENTER(l, name) \
    if (!sett__use_layout(NULL, site, name, l)) \
        return (sett_layout *)(uintptr_t)(l); \
    const sett__ctx ctx = {sett__home(l), site, name}, *c = &ctx
#define ENTER_ARG(l, name, arg) \
    if (!(l)) \
        sett__use_layout(sett__build_of(arg), site, name, NULL); \
    ENTER(l, name); \
    if (!sett__use_arg(c->b, site, name, arg)) \
    return sett__poison_layout(c->b)

/* ---- one mode ----------------------------------------------------------------------- */
/* x at a path of modes. */
static sett_arg walk_down(const sett__ctx *c, sett_arg x, sett_arg path)
{
    for (int i = 0; i < sett__arity(path); i++) {
        sett_arg m = sett__kid(path, i);
        if (m.kind != SETT_INT || m.path)
            return sett__bad(c, SETT_E_STATIC, "invalid: mode %s is not a static integer: modes are named by C integers",
                c->b ? sett__arg_text(c->b, m) : "given");
        if (m.u.i < 0 || m.u.i >= sett__arity(x))
            return sett__bad(c, SETT_E_RANK, "invalid: no mode %lld in %s", (long long)m.u.i,
                c->b ? sett__arg_text(c->b, x) : "the tuple");
        x = sett__kid(x, (int)m.u.i);
    }
    return x;
}

sett_arg sett_get_arg_at(sett_site site, sett_arg a, sett_arg path)
{
    sett__ctx c = {sett__build_of(a), site, "sett_get"};
    if (a.kind == SETT_POISON)
        return a;
    if (!sett__arg_lives(site, c.func, a) || !sett__arg_lives(site, c.func, path) || !sett__well_formed(a) || !sett__well_formed(path))
        return (sett_arg){.kind = SETT_POISON, .reserved = SETT__FROM_TUPLE};
    return walk_down(&c, a, path);
}

sett_layout *sett_get_layout_at(sett_site site, const sett_layout *l, sett_arg path)
{
    ENTER_ARG(l, "sett_get", path);
    sett_arg s = walk_down(c, l->shape, path);
    return s.kind == SETT_POISON ? sett__poison_layout(c->b)
                                 : sett__rewrap(c, l, sett__own(c, s, walk_down(c, l->stride, path)));
}

static bool runs_on(sett_arg leaf, void *user)
{
    const sett_arg **extent = user;
    const sett_arg s = *(*extent)++;
    return sett__is_int(leaf, 1) && !sett__is_int(s, 1);
}

sett_arg sett_leading_dim_at(sett_site site, const sett_layout *l)
{
    if (!sett__use_layout(NULL, site, "sett_leading_dim", l))
        return sett__poison_arg(NULL);
    sett__ctx c = {sett__home(l), site, "sett_leading_dim"};
    sett_arg *extents = sett__kids(&c, sett__leaves(l->shape));
    const sett_arg *next = extents;
    sett__flat(l->shape, extents);
    return sett__find(&c, l->stride, runs_on, &next);
}

/* ---- several ----------------------------------------------------------------------------- */

static bool all_slices(sett_arg crd)
{
    if (crd.kind != SETT_NODE)
        return crd.kind == SETT_SLICE;
    for (int i = 0; i < crd.rank; i++)
        if (!all_slices(crd.u.kid[i]))
            return false;
    return true;
}

/* A slice of a composed layout starts elsewhere: the offset must go inside the swizzle. */
static sett_layout *sliced(const sett__ctx *c, const sett_layout *l, sett_arg crd, bool slices)
{
    sett_arg s = sett__sieve(c, crd, l->shape, slices);
    sett_arg d = sett__sieve(c, crd, l->stride, slices);
    if (l->has_inner && s.kind == SETT_NODE && !s.rank) {
        sett__bad(c, SETT_E_ARGUMENT, "invalid: nothing of %s is left at %s; use sett_crd2idx",
            sett__layout_text(c->b, l), sett__arg_text(c->b, crd));
        return sett__poison_layout(c->b);
    }
    return sett__rewrap(c, l, sett__own(c, s, d));
}

static sett_layout *slice(const sett__ctx *c, const sett_layout *l, sett_arg crd)
{
    sett_layout *r = sliced(c, l, crd, true);
    if (!l->has_inner || sett__layout_poison(r) || all_slices(crd))
        return r;
    r->offset = sett__sum(c, l->offset, sett__crd2idx(c, crd, l->shape, l->stride));
    return sett__is_poison(r->offset) ? sett__poison_layout(c->b) : r;
}

sett_layout *sett_slice_layout_at(sett_site site, const sett_layout *l, sett_arg crd)
{
    ENTER_ARG(l, "sett_slice", crd);
    return slice(c, l, crd);
}

sett_layout_offset sett_slice_and_offset_at(sett_site site, const sett_layout *l, sett_arg crd)
{
    sett_layout_offset r = {(sett_layout *)(uintptr_t)l, sett__poison_arg(NULL)};
    if (!l)
        sett__use_layout(sett__build_of(crd), site, "sett_slice_and_offset", NULL);
    if (!sett__use_layout(NULL, site, "sett_slice_and_offset", l))
        return r;
    sett__ctx c = {sett__home(l), site, "sett_slice_and_offset"};
    r = (sett_layout_offset){sett__poison_layout(c.b), sett__poison_arg(c.b)};
    if (!sett__use_arg(c.b, site, c.func, crd))
        return r;
    sett_layout *s = slice(&c, l, crd);
    sett_arg offset = l->has_inner ? sett_arg_i(0) : sett__crd2idx(&c, crd, l->shape, l->stride);
    return sett__layout_poison(s) || sett__is_poison(offset) ? r : (sett_layout_offset){s, offset};
}

sett_layout *sett_dice_layout_at(sett_site site, const sett_layout *l, sett_arg crd)
{
    ENTER_ARG(l, "sett_dice", crd);
    return sliced(c, l, crd, false);
}

sett_arg sett__select(const sett__ctx *c, sett_arg x, sett_arg modes)
{
    int n = sett__arity(modes);
    sett_arg *kid = sett__kids(c, n);
    for (int i = 0; i < n; i++) {
        sett_arg m = sett__kid(modes, i);
        if (m.kind != SETT_INT || m.path)
            return sett__bad(c, SETT_E_STATIC, "invalid: mode %s is not a static integer: modes are named by C integers", sett__arg_text(c->b, m));
        if (m.u.i < 0 || m.u.i >= sett__arity(x))
            return sett__bad(c, SETT_E_RANK, "invalid: no mode %lld in %s", (long long)m.u.i, sett__arg_text(c->b, x));
        kid[i] = sett__kid(x, (int)m.u.i);
    }
    return sett__node(c, n, kid);
}

sett_layout *sett_select_layout_at(sett_site site, const sett_layout *l, sett_arg modes)
{
    ENTER_ARG(l, "sett_select", modes);
    sett_arg shape = sett__select(c, l->shape, modes);
    return sett__rewrap(c, l, sett__own(c, shape, sett__select(c, l->stride, modes)));
}

sett_arg sett__group(const sett__ctx *c, sett_arg x, int begin, int end)
{
    int n = sett__arity(x);
    if (begin < 0 || begin >= end || end > n)
        return sett__bad(
            c, SETT_E_RANK, "invalid: modes [%d,%d) of %s, which has %d", begin, end, sett__arg_text(c->b, x), n);
    sett_arg *kid = sett__kids(c, n), *in = sett__kids(c, end - begin);
    for (int i = 0; i < n; i++) {
        if (i >= begin && i < end)
            in[i - begin] = sett__kid(x, i);
        else
            kid[i < begin ? i : i - (end - begin) + 1] = sett__kid(x, i);
    }
    kid[begin] = sett_arg_n(end - begin, in);
    return sett__node(c, n - (end - begin) + 1, kid);
}

sett_layout *sett_group_modes_at(sett_site site, const sett_layout *l, int begin, int end)
{
    ENTER(l, "sett_group_modes");
    sett_arg shape = sett__group(c, l->shape, begin, end);
    return sett__rewrap(c, l, sett__own(c, shape, sett__group(c, l->stride, begin, end)));
}

sett_layout *sett_flatten_at(sett_site site, const sett_layout *l)
{
    ENTER(l, "sett_flatten");
    return sett__rewrap(c, l, sett__own(c, sett__flatten(c, l->shape), sett__flatten(c, l->stride)));
}

/* more: how many times the new mode is put there. */
static sett_layout *extended(const sett__ctx *c, const sett_layout *l, const sett_layout *m, bool front, int more)
{
    if (m->has_inner) {
        sett__bad(c, SETT_E_ARGUMENT, "invalid: the new mode %s is composed", sett__layout_text(c->b, m));
        return sett__poison_layout(c->b);
    }
    int n = sett__arity(l->shape);
    sett_arg *s = sett__kids(c, n + more), *d = sett__kids(c, n + more);
    for (int i = 0; i < n + more; i++) {
        int old = front ? i - more : i;
        bool is_old = old >= 0 && old < n;
        s[i] = is_old ? sett__kid(l->shape, old) : m->shape;
        d[i] = is_old ? sett__kid(l->stride, old) : m->stride;
    }
    return sett__rewrap(c, l, sett__own(c, sett__node(c, n + more, s), sett__node(c, n + more, d)));
}

static sett_layout *extend_by_mode(sett_site site, const char *name, const sett_layout *l, const sett_layout *m, bool front)
{
    ENTER(l, name);
    return sett__use_layout(c->b, site, name, m) ? extended(c, l, m, front, 1) : sett__poison_layout(c->b);
}

sett_layout *sett_append_at(sett_site site, const sett_layout *l, const sett_layout *mode)
{
    return extend_by_mode(site, "sett_append", l, mode, false);
}

sett_layout *sett_prepend_at(sett_site site, const sett_layout *l, const sett_layout *mode)
{
    return extend_by_mode(site, "sett_prepend", l, mode, true);
}

static sett_layout *extend_to_rank(sett_site site, const char *name, const sett_layout *l, sett_arg mode, sett_arg rank, bool front)
{
    ENTER_ARG(l, name, mode);
    if (!sett__use_arg(c->b, site, name, rank))
        return sett__poison_layout(c->b);
    int n = sett__arity(l->shape);
    if (mode.kind == SETT_SLICE)
        mode = sett_arg_l(sett__own(c, sett_arg_i(1), sett_arg_i(0)));
    bool fits = mode.kind == SETT_LAYOUT && rank.kind == SETT_INT && rank.u.i >= n && rank.u.i <= UINT8_MAX;
    if (!fits) {
        sett__bad(c, SETT_E_RANK, "invalid: %s cannot get %s modes of %s: a layout, and a number from %d to %d are needed",
            sett__layout_text(c->b, l), sett__arg_text(c->b, rank), sett__arg_text(c->b, mode), n, UINT8_MAX);
        return sett__poison_layout(c->b);
    }
    return rank.u.i == n ? (sett_layout *)(uintptr_t)l : extended(c, l, mode.u.l, front, (int)rank.u.i - n);
}

sett_layout *sett_append_upto_at(sett_site site, const sett_layout *l, sett_arg mode, sett_arg rank)
{
    return extend_to_rank(site, "sett_append", l, mode, rank, false);
}

sett_layout *sett_prepend_upto_at(sett_site site, const sett_layout *l, sett_arg mode, sett_arg rank)
{
    return extend_to_rank(site, "sett_prepend", l, mode, rank, true);
}

/* ---- parts, and images ------------------------------------------------------------------ */
sett_layout *sett_get_swizzle_portion_at(sett_site site, const sett_layout *l)
{
    ENTER(l, "sett_get_swizzle_portion");
    if (l->has_inner == 2) {
        sett__bad(c, SETT_E_ARGUMENT, "invalid: %s is composed, not swizzled", sett__layout_text(c->b, l));
        return sett__poison_layout(c->b);
    }
    int bits = l->has_inner ? l->base + l->bits + (l->shift < 0 ? -l->shift : l->shift) : 0;
    sett_layout *all = sett__own(c, sett_arg_i(INT64_C(1) << bits), sett_arg_i(1));
    return l->has_inner ? sett_make_swizzled_at(site, l->bits, l->base, l->shift, all) : all;
}

sett_layout *sett_get_nonswizzle_portion_at(sett_site site, const sett_layout *l)
{
    ENTER(l, "sett_get_nonswizzle_portion");
    return l->has_inner ? sett__own(c, l->shape, l->stride) : (sett_layout *)(uintptr_t)l;
}
