/* SPDX-License-Identifier: Apache-2.0 */
/* Complement and inverses: layouts that fill what another leaves free. All of them put
 * the modes in order of their strides, so strides must be static where there are several. */
#include "lib.h"
#include <string.h>

/* Static extents are multiplied together, dynamic ones too: a cotarget's modes that stand
 * for one range. */
static sett_arg join_extents(const sett__ctx *c, sett_arg shape)
{
    int n = sett__leaves(shape), out = 0;
    sett_arg *kid = sett__kids(c, n);
    sett__flat(shape, kid);
    for (int i = 0; i < n; i++) {
        if (out && (kid[out - 1].kind == SETT_INT) == (kid[i].kind == SETT_INT))
            kid[out - 1] = sett__mul(c, kid[out - 1], kid[i]);
        else
            kid[out++] = kid[i];
    }
    return out == 1 ? kid[0] : sett__node(c, out, kid);
}

/* By stride; stable, so that equal strides keep their order. */
static void sort(sett__mode_list *l)
{
    for (int i = 1; i < l->n; i++)
        for (int k = i; k > 0 && l->m[k][1].u.i < l->m[k - 1][1].u.i; k--) {
            sett_arg t[2] = {l->m[k][0], l->m[k][1]};
            memcpy(l->m[k], l->m[k - 1], sizeof t);
            memcpy(l->m[k - 1], t, sizeof t);
        }
}

static bool dynamic_stride(const sett__mode_list *l)
{
    for (int i = 0; i < l->n; i++)
        if (l->m[i][1].kind != SETT_INT || l->m[i][1].path)
            return true;
    return false;
}

static void list_init(sett__mode_list *l)
{
    l->m = l->small;
    l->n = 0;
    l->cap = (int)SETT__COUNT(l->small);
}

static sett_layout *bad(const sett__ctx *c, sett_status status, const char *text, const sett_layout *l)
{
    sett__bad(c, status, "%s: %s", text, sett__layout_text(c->b, l));
    return sett__poison_layout(c->b);
}

/* What modes of one basis path leave free, without an end: gaps, then an extent of 1 where it would
 * go on. The list is static and sorted by stride. */
static bool open_end(const sett__ctx *c, const sett__mode_list *m, uint32_t path, sett_arg *shape, sett_arg *stride)
{
    sett__mode_list out;
    sett_arg next = sett_arg_i(1);
    list_init(&out);
    for (int i = 0; i < m->n; i++) {
        sett_arg d = m->m[i][1];
        if (d.path != path)
            continue;
        d.path = 0;
        if (d.kind != SETT_INT || next.kind != SETT_INT || d.u.i < next.u.i)
            return false;
        if (d.u.i / next.u.i > 1)
            sett__push(c, &out, sett__div(c, d, next), next);
        next = sett__mul(c, m->m[i][0], d);
    }
    sett__push(c, &out, sett_arg_i(1), next);
    for (int i = 0; i < out.n; i++)
        out.m[i][1].path = path;
    sett_layout *r = sett__from_modes(c, &out);
    if (sett__layout_poison(r))
        return false;
    *shape = r->shape;
    *stride = r->stride;
    return true;
}

/* By the profile of the coordinates that basis strides point into. */
static bool open_tree(
    const sett__ctx *c, const sett__mode_list *m, uint32_t path, int depth, sett_arg *shape, sett_arg *stride)
{
    uint32_t below = depth < 8 ? ((uint32_t)1 << (4 * depth)) - 1 : UINT32_MAX;
    int n = 0;
    for (int i = 0; i < m->n && depth < 8; i++) {
        int k = (int)(m->m[i][1].path >> (4 * depth) & 15);
        if ((m->m[i][1].path & below) == path && k > n)
            n = k;
    }
    if (!n)
        return open_end(c, m, path, shape, stride);
    sett_arg *s = sett__kids(c, n), *d = sett__kids(c, n);
    for (int i = 0; i < n; i++)
        if (!open_tree(c, m, path | (uint32_t)(i + 1) << (4 * depth), depth + 1, &s[i], &d[i]))
            return false;
    *shape = sett_arg_n(n, s);
    *stride = sett_arg_n(n, d);
    return true;
}

static sett_layout *open_complement(const sett__ctx *c, const sett_layout *l)
{
    sett__mode_list m;
    sett_arg shape, stride;
    const sett_layout *flat = sett__filter(c, l);
    if (l->has_inner || !sett__is_static(l->stride))
        return bad(c, SETT_E_STATIC, "invalid: a complement without an end needs static strides and no swizzle", l);
    sett__coalesced(c, &m, flat->shape, flat->stride, false);
    sort(&m);
    if (!open_tree(c, &m, 0, 0, &shape, &stride))
        return bad(c, SETT_E_DIVIDE, "non-injective: a stride is below what the smaller strides cover", l);
    return sett__own(c, shape, stride);
}

sett_layout *sett__complement(const sett__ctx *c, const sett_layout *l, sett_arg cotarget)
{
    sett__mode_list m, out;
    if (sett__layout_poison(l))
        return sett__poison_layout(c->b);
    if (l->has_inner)
        return bad(c, SETT_E_ARGUMENT, "invalid: a composed layout has no complement", l);
    const sett_layout *flat = sett__filter(c, l);
    sett__coalesced(c, &m, flat->shape, flat->stride, false);
    list_init(&out);
    if (m.n > 1 && dynamic_stride(&m))
        return bad(c, SETT_E_STATIC, "invalid: strides must be static to complement several modes", l);
    if (m.n == 1 && m.m[0][1].path)
        return bad(c, SETT_E_ARGUMENT, "invalid: basis strides have no complement", l);
    sort(&m);
    sett_arg next = sett_arg_i(1);
    for (int i = 0; i < m.n; i++) {
        sett_arg s = m.m[i][0], d = m.m[i][1];
        if (d.kind == SETT_INT && d.u.i < 0)
            return bad(c, SETT_E_RANGE, "invalid: a negative stride has no complement", l);
        if (d.kind == SETT_INT && next.kind == SETT_INT && d.u.i < next.u.i)
            return bad(c, SETT_E_DIVIDE, "non-injective: a stride is below what the smaller strides cover", l);
        if (d.kind == SETT_VALUE || next.kind == SETT_VALUE)
            sett__rely(c, SETT__BELOW, (sett_arg[]){sett__sub(c, next, sett_arg_i(1)), d},
                "non-injective: stride %s of %s must be at least %s, which the smaller strides cover", sett__arg_text(c->b, d),
                sett__layout_text(c->b, l), sett__arg_text(c->b, next));
        sett__push(c, &out, sett__div(c, d, next), next);
        next = sett__mul(c, s, d);
    }
    sett_arg rest = join_extents(c, sett__ceil_div_tuple(c, cotarget, next));
    if (sett__is_poison(rest))
        return sett__poison_layout(c->b);
    sett_arg stride = sett__compact(c, rest, next, NULL);
    for (int i = 0; i < sett__arity(rest); i++)
        sett__push(c, &out, sett__kid(rest, i), sett__kid(stride, i));
    return sett__coalesce(c, sett__from_modes(c, &out));
}

/* The longest chain of modes that starts at stride 1 and goes on without a gap. */
sett_layout *sett__right_inverse(const sett__ctx *c, const sett_layout *l)
{
    sett__mode_list m, out;
    int64_t next = 1;
    if (sett__layout_poison(l))
        return sett__poison_layout(c->b);
    if (l->has_inner)
        return bad(c, SETT_E_ARGUMENT, "invalid: a composed layout has no inverse layout", l);
    sett__coalesced(c, &m, l->shape, l->stride, false);
    list_init(&out);
    for (int i = 0; i < m.n; i++)
        if (m.m[i][0].kind != SETT_INT)
            return bad(c, SETT_E_STATIC, "invalid: extents must be static to invert", l);
    for (bool found = true; found;) {
        sett_arg before = sett_arg_i(1);
        found = false;
        for (int i = 0; i < m.n && !found; i++) {
            sett_arg d = m.m[i][1];
            found = d.kind == SETT_INT && !d.path && (d.u.i == next || d.u.i == -next);
            if (found) {
                sett__push(c, &out, m.m[i][0], d.u.i < 0 ? sett__sub(c, sett_arg_i(0), before) : before);
                found = !__builtin_mul_overflow(next, m.m[i][0].u.i, &next);
            }
            before = sett__mul(c, before, m.m[i][0]);
        }
    }
    return sett__coalesce(c, sett__from_modes(c, &out));
}

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

static sett_layout *left_inverse(const sett__ctx *, const sett_layout *);

/* (S o L)^-1 = L^-1 o S: S is its own inverse, and where L^-1 maps its bits to neighbouring bits again,
 * that is another swizzle around L^-1. */
static sett_layout *swizzled_left_inverse(const sett__ctx *c, const sett_layout *l)
{
    sett_layout *inv = left_inverse(c, sett__own(c, l->shape, l->stride));
    if (sett__layout_poison(inv))
        return inv;
    int to = l->base + (l->shift < 0 ? -l->shift : 0), from = l->base + (l->shift > 0 ? l->shift : 0);
    int64_t z = static_at(c, inv, (int64_t)1 << to), y = static_at(c, inv, (int64_t)1 << from);
    bool fits = z && y && sett__is_int(l->offset, 0);
    for (int i = 0; fits && i < l->bits; i++)
        fits = static_at(c, inv, (int64_t)1 << (to + i)) == z << i &&
               static_at(c, inv, (int64_t)1 << (from + i)) == y << i;
    fits = fits && z == (int64_t)1 << low_bit(z) && y == (int64_t)1 << low_bit(y);
    if (!fits)
        return bad(c, SETT_E_DIVIDE, "invalid: the inverse does not map the swizzle's bits to neighbouring bits", l);
    int zb = low_bit(z), yb = low_bit(y);
    return sett_make_swizzled_at(c->site, l->bits, zb < yb ? zb : yb, yb - zb, inv);
}

/* What undoes l on its image: coordinates between images go nowhere in particular (stride 0). */
static sett_layout *left_inverse(const sett__ctx *c, const sett_layout *l)
{
    sett__mode_list m, sorted, out;
    if (sett__layout_poison(l))
        return sett__poison_layout(c->b);
    if (l->has_inner == 1)
        return swizzled_left_inverse(c, l);
    if (l->has_inner)
        return bad(c, SETT_E_ARGUMENT, "invalid: a composed layout has no inverse layout", l);
    if (!sett__is_static(l->shape) || !sett__is_static(l->stride))
        return bad(c, SETT_E_STATIC, "invalid: extents and strides must be static to invert", l);
    sett__coalesced(c, &m, l->shape, l->stride, false);
    list_init(&sorted);
    list_init(&out);
    if (dynamic_stride(&m))
        return bad(c, SETT_E_ARGUMENT, "invalid: basis strides have no left inverse", l);
    sett_arg before = sett_arg_i(1);
    int64_t *prefix = sett__new(c->b, sizeof *prefix * (size_t)(m.n + 1));
    for (int i = 0; i < m.n; i++) {
        prefix[i] = before.u.i;
        before = sett__mul(c, before, m.m[i][0]);
        if (before.kind != SETT_INT)
            return sett__poison_layout(c->b);
        if (m.m[i][1].u.i < 0)
            return bad(c, SETT_E_RANGE, "invalid: a negative stride has no left inverse", l);
        if (m.m[i][1].u.i) /* extent's place holds the mode's number while sorting */
            sett__push(c, &sorted, sett_arg_i(i), m.m[i][1]);
    }
    sort(&sorted);
    int64_t extent = 1, at = 0;
    for (int i = 0; i < sorted.n; i++) {
        int64_t d = sorted.m[i][1].u.i, step = i ? sorted.m[i - 1][1].u.i : 1;
        if (d % step)
            return bad(
                c, SETT_E_DIVIDE, "left-inverse-divisibility: a stride is no multiple of the next smaller one", l);
        sett__push(c, &out, sett_arg_i(d / step), sett_arg_i(at));
        at = prefix[sorted.m[i][0].u.i];
        extent = m.m[sorted.m[i][0].u.i][0].u.i;
    }
    sett__push(c, &out, sett_arg_i(extent), sett_arg_i(at));
    return sett__coalesce(c, sett__from_modes(c, &out));
}

static sett_layout *nullspace(const sett__ctx *c, const sett_layout *l)
{
    sett_arg s[64], d[64], before = sett_arg_i(1);
    sett__mode_list out;
    int n = sett__leaves(l->shape);
    list_init(&out);
    if (n > 64)
        return bad(c, SETT_E_LIMIT, "more than 64 modes", l);
    sett__flat(l->shape, s);
    sett__flat(l->stride, d);
    for (int i = 0; i < n; i++) {
        if (sett__is_int(d[i], 0))
            sett__push(c, &out, s[i], before);
        before = sett__mul(c, before, s[i]);
    }
    return sett__from_modes(c, &out);
}

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
    const sett__ctx ctx = {(l)->head.b, site, name}, *c = &ctx

sett_layout *sett_complement_at(sett_site site, const sett_layout *l, sett_arg cotarget)
{
    ENTER(l, "sett_complement");
    if (!sett__use_arg(c->b, site, c->func, cotarget))
        return sett__poison_layout(c->b);
    if (cotarget.kind == SETT_LAYOUT)
        cotarget = cotarget.u.l->shape;
    if (cotarget.kind == SETT_SLICE)
        return open_complement(c, l);
    return sett__check_shape(c, cotarget) ? sett__complement(c, l, cotarget) : sett__poison_layout(c->b);
}

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
    sett__ctx c = {a->head.b, site, "sett_max_common_vector"};
    if (!sett__use_layout(c.b, site, c.func, b) || sett__layout_poison(max_common(&c, a, b, &size)))
        return (sett_arg){.kind = SETT_POISON, .u = {.poisoned = c.b}};
    return size;
}
