/* SPDX-License-Identifier: Apache-2.0 */
/* Inverses, and what is made with them: the nullspace, the longest common run. Strides that are scaled basis vectors make
 * one inverse for each coordinate that they point into. */
#include "inside.h"

/* The longest chain of modes that starts at stride 1 and goes on without a gap. A negative stride is in none: the place of
 * a positive number in it would be a negative coordinate. */
static sett_layout *chain_inverse(const sett__ctx *c, const sett__mode_list *m, uint32_t path)
{
    sett__mode_list out;
    int64_t next = 1;
    sett__no_modes(&out);
    for (bool found = true, ends = false; found && !ends;) { /* past 2^63 no stride can go on */
        sett_arg before = sett_arg_i(1);
        found = false;
        for (int i = 0; i < m->n && !found; i++) {
            sett_arg d = m->m[i][1];
            found = d.kind == SETT_INT && d.path == path && d.u.i == next;
            if (found) {
                sett__push(c, &out, m->m[i][0], before);
                ends = __builtin_mul_overflow(next, m->m[i][0].u.i, &next);
            }
            before = sett__mul(c, before, m->m[i][0]);
        }
    }
    return sett__coalesce(c, sett__from_modes(c, &out));
}

static sett_layout *refuse_unclear(const sett__ctx *c, const sett_layout *l)
{
    return sett__bad_layout(c, SETT_E_ARGUMENT, "invalid: a coordinate is used as a number and as a tuple", l);
}

/* The position of the lowest bit that is 1; 62 for none. */
static int low_bit(int64_t x)
{
    int n = 0;
    while (n < 62 && !(x >> n & 1))
        n++;
    return n;
}

static int64_t static_at(const sett__ctx *c, const sett_layout *l, int64_t x)
{
    sett_arg v = sett__crd2idx(c, sett_arg_i(x), l->shape, l->stride);
    return v.kind == SETT_INT && v.u.i > 0 ? v.u.i : 0;
}

/* The bits that S moves of numbers below n; -1: it moves some of them past n. */
static int bits_below(const sett_layout *l, int64_t n)
{
    int to = l->base + (l->shift < 0 ? -l->shift : 0), from = l->base + (l->shift > 0 ? l->shift : 0), bits = 0;
    while (bits < l->bits && (int64_t)1 << (from + bits) < n)
        bits++;
    return bits && n % ((int64_t)1 << (to + bits)) ? -1 : bits;
}

/* (S o L)^-1 = L^-1 o S: S is its own inverse, and where L^-1 maps its bits to neighbouring bits again,
 * that is another swizzle around L^-1. */
static sett_layout *unswizzled(
    const sett__ctx *c, const sett_layout *l, sett_layout *(*inverse)(const sett__ctx *, const sett_layout *))
{
    sett_layout *inv = inverse(c, sett__own(c, l->shape, l->stride));
    if (sett__layout_poison(inv))
        return inv;
    int to = l->base + (l->shift < 0 ? -l->shift : 0), from = l->base + (l->shift > 0 ? l->shift : 0);
    int bits = inverse == sett__right_inverse ? bits_below(l, sett__product(c, inv->shape).u.i) : l->bits;
    if (!bits && sett__is_int(l->offset, 0)) /* it moves nothing that is inverted */
        return inv;
    int64_t z = static_at(c, inv, (int64_t)1 << to), y = static_at(c, inv, (int64_t)1 << from);
    bool fits = z && y && bits > 0 && sett__is_int(l->offset, 0);
    if (bits < l->bits) /* the others are never set: nor may they meet bits that are */
        fits = fits && y << bits >= sett_cosize_layout(inv).u.i;
    for (int i = 0; fits && i < l->bits; i++)
        fits = static_at(c, inv, (int64_t)1 << (to + i)) == z << i &&
               static_at(c, inv, (int64_t)1 << (from + i)) == y << i;
    fits = fits && z == (int64_t)1 << low_bit(z) && y == (int64_t)1 << low_bit(y);
    if (!fits)
        return sett__bad_layout(c, SETT_E_DIVIDE,
            "invalid: the inverse does not map the swizzle's bits to neighbouring bits, or the offset is not 0", l);
    int zb = low_bit(z), yb = low_bit(y);
    return sett_make_swizzled_at(c->site, l->bits, zb < yb ? zb : yb, yb - zb, inv);
}

/* The modes of L in order of their strides, as long as each stride is what the smaller modes cover, map an offset back to
 * its coordinate. */
sett_layout *sett__right_inverse(const sett__ctx *c, const sett_layout *l)
{
    sett__mode_list m;
    if (sett__layout_poison(l))
        return sett__poison_layout(c->b);
    if (l->has_inner == 1)
        return unswizzled(c, l, sett__right_inverse);
    if (l->has_inner)
        return sett__bad_layout(c, SETT_E_ARGUMENT, "invalid: a composed layout has no inverse layout", l);
    sett__coalesced(c, &m, l->shape, l->stride, false);
    for (int i = 0; i < m.n; i++)
        if (m.m[i][0].kind != SETT_INT) {
            sett__bad(c, SETT_E_STATIC, "invalid: extents must be static, C integers, to invert, and mode %d of coalesced %s is %s:%s", i,
                sett__layout_text(c->b, l), sett__arg_text(c->b, m.m[i][0]), sett__arg_text(c->b, m.m[i][1]));
            return sett__poison_layout(c->b);
        }
    sett_layout *r = sett__by_coordinate(c, &m, chain_inverse);
    return r ? r : refuse_unclear(c, l);
}

/* In the order of strides; coordinates between images go nowhere in particular (stride 0). NULL: a stride is no multiple of
 * the next smaller one. */
static sett_layout *refined_inverse(const sett__ctx *c, const sett__mode_list *m, uint32_t path)
{
    sett__mode_list sorted, out;
    sett_arg *at = sett__kids(c, m->n), before = sett_arg_i(1);
    sett__no_modes(&sorted);
    sett__no_modes(&out);
    for (int i = 0; i < m->n; i++) {
        at[i] = before;
        before = sett__mul(c, before, m->m[i][0]);
        if (m->m[i][1].path == path && m->m[i][1].u.i) /* extent's place holds the mode's number while sorting */
            sett__push(c, &sorted, sett_arg_i(i), m->m[i][1]);
    }
    sett__sort_modes(&sorted);
    sett_arg extent = sett_arg_i(1), place = sett_arg_i(0);
    for (int i = 0; i < sorted.n; i++) {
        int64_t d = sorted.m[i][1].u.i, step = i ? sorted.m[i - 1][1].u.i : 1;
        if (d % step)
            return NULL;
        sett__push(c, &out, sett_arg_i(d / step), place);
        place = at[sorted.m[i][0].u.i];
        extent = m->m[sorted.m[i][0].u.i][0];
    }
    sett__push(c, &out, extent, place);
    return sett__coalesce(c, sett__from_modes(c, &out));
}

/* What undoes l on its image. */
static sett_layout *left_inverse(const sett__ctx *c, const sett_layout *l)
{
    sett__mode_list m;
    if (sett__layout_poison(l))
        return sett__poison_layout(c->b);
    if (l->has_inner == 1)
        return unswizzled(c, l, left_inverse);
    if (l->has_inner)
        return sett__bad_layout(c, SETT_E_ARGUMENT, "invalid: a composed layout has no inverse layout", l);
    if (!sett__is_static(l->shape) || !sett__is_static(l->stride))
        return sett__bad_layout(c, SETT_E_STATIC, "invalid: extents and strides must be static, C integers, to invert", l);
    sett__coalesced(c, &m, l->shape, l->stride, false);
    for (int i = 0; i < m.n; i++)
        if (m.m[i][1].u.i < 0)
            return sett__bad_layout(c, SETT_E_RANGE, "invalid: a negative stride has no left inverse", l);
    sett_layout *r = sett__by_coordinate(c, &m, refined_inverse);
    return r ? r
             : sett__bad_layout(c, SETT_E_DIVIDE,
                   "left-inverse-divisibility: a stride is no multiple of the next smaller one of its coordinate", l);
}

/* Modes of stride 0 are those that L maps to 0; their strides here are those of a compact layout of the shape. */
static sett_layout *nullspace(const sett__ctx *c, const sett_layout *l)
{
    sett_arg s[64], d[64], before = sett_arg_i(1);
    sett__mode_list out;
    int n = sett__leaves(l->shape);
    sett__no_modes(&out);
    if (n > 64)
        return sett__bad_layout(c, SETT_E_LIMIT, "more than 64 modes", l);
    sett__flat(l->shape, s);
    sett__flat(l->stride, d);
    for (int i = 0; i < n; i++) {
        if (sett__is_int(d[i], 0))
            sett__push(c, &out, s[i], before);
        before = sett__mul(c, before, s[i]);
    }
    return sett__from_modes(c, &out);
}

/* b inverted maps an offset to b's coordinate; where a after that is the identity, both agree: its first mode of stride
 * 1. */
static sett_layout *max_common(const sett__ctx *c, const sett_layout *a, const sett_layout *b, sett_arg *size)
{
    sett_layout *inv = sett__right_inverse(c, b);
    *size = sett_arg_i(1);
    if (sett__layout_poison(inv))
        return inv;
    sett_layout *common = sett__coalesce(c, sett__compose(c, a, sett_arg_l(inv)));
    if (sett__layout_poison(common))
        return common;
    sett_arg n = sett__kid(common->shape, 0);
    if (!sett__is_int(sett__kid(common->stride, 0), 1) || n.kind != SETT_INT)
        return sett__own(c, sett_arg_i(1), sett_arg_i(0));
    *size = n;
    return sett__compose(c, inv, sett_arg_l(sett__mode(c, common, 0)));
}

/* ---- public ------------------------------------------------------------------------------ */

#define ENTER(l, name) \
    if (!sett__use_layout(NULL, site, name, l)) \
        return (sett_layout *)(uintptr_t)(l); \
    const sett__ctx ctx = {sett__home(l), site, name}, *c = &ctx

sett_layout *sett_right_inverse_at(sett_site site, const sett_layout *l)
{
    ENTER(l, "sett_right_inverse");
    return sett__right_inverse(c, l);
}

sett_layout *sett_left_inverse_at(sett_site site, const sett_layout *l)
{
    ENTER(l, "sett_left_inverse");
    return left_inverse(c, l);
}

sett_layout *sett_nullspace_at(sett_site site, const sett_layout *l)
{
    ENTER(l, "sett_nullspace");
    return nullspace(c, l);
}

sett_layout *sett_max_common_layout_at(sett_site site, const sett_layout *a, const sett_layout *b)
{
    sett_arg size;
    ENTER(a, "sett_max_common_layout");
    return sett__use_layout(c->b, site, c->func, b) ? max_common(c, a, b, &size) : sett__poison_layout(c->b);
}

sett_arg sett_max_common_vector_at(sett_site site, const sett_layout *a, const sett_layout *b)
{
    sett_arg size = {.kind = SETT_POISON};
    if (!sett__use_layout(NULL, site, "sett_max_common_vector", a))
        return size;
    sett__ctx c = {sett__home(a), site, "sett_max_common_vector"};
    if (!sett__use_layout(c.b, site, c.func, b) || sett__layout_poison(max_common(&c, a, b, &size)))
        return (sett_arg){.kind = SETT_POISON, .u = {.poisoned = c.b}};
    return size;
}
