/* SPDX-License-Identifier: Apache-2.0 */
/* Complement: what a layout leaves free. The modes are put in order of their strides, so strides must be static where
 * there are several. Strides that are scaled basis vectors point into coordinates: then it is one complement for each. */
#include "inside.h"
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
void sett__sort_modes(sett__mode_list *l)
{
    for (int i = 1; i < l->n; i++)
        for (int k = i; k > 0 && l->m[k][1].u.i < l->m[k - 1][1].u.i; k--) {
            sett_arg t[2] = {l->m[k][0], l->m[k][1]};
            memcpy(l->m[k], l->m[k - 1], sizeof t);
            memcpy(l->m[k - 1], t, sizeof t);
        }
}

/* Several modes must be sorted by stride, which dynamic strides do not allow. */
static bool dynamic_stride(const sett__mode_list *l)
{
    for (int i = 0; i < l->n; i++)
        if (l->m[i][1].kind != SETT_INT)
            return true;
    return false;
}

sett_layout *sett__bad_layout(const sett__ctx *c, sett_status status, const char *text, const sett_layout *l)
{
    sett__bad(c, status, "%s: %s", text, sett__layout_text(c->b, l));
    return sett__poison_layout(c->b);
}

/* ---- scaled basis vectors: one layout a coordinate --------------------------------------- */

/* The modes that point into one coordinate, as numbers. */
static void modes_of(const sett__ctx *c, const sett__mode_list *m, uint32_t path, sett__mode_list *out)
{
    sett__no_modes(out);
    for (int i = 0; i < m->n; i++)
        if (m->m[i][1].path == path) {
            sett_arg d = m->m[i][1];
            d.path = 0;
            sett__push(c, out, m->m[i][0], d);
        }
}

static uint32_t path_mask(int depth)
{
    return depth < 8 ? ((uint32_t)1 << (4 * depth)) - 1 : UINT32_MAX;
}

/* How many parts the coordinate at a path has: 0, it is a number; -1, it is both. */
static int parts_of(const sett__mode_list *m, uint32_t path, int depth)
{
    int n = 0;
    bool number = false;
    for (int i = 0; i < m->n; i++) {
        uint32_t p = m->m[i][1].path;
        int k = depth < 8 ? (int)(p >> (4 * depth) & 15) : 0;
        if ((p & path_mask(depth)) != path || sett__is_int(m->m[i][1], 0))
            continue;
        number |= !k;
        n = k > n ? k : n;
    }
    return n && number ? -1 : n;
}

static sett_layout *by_coordinate(
    const sett__ctx *c, const sett__mode_list *m, uint32_t path, int depth, sett__coordinate_fn *f)
{
    int n = parts_of(m, path, depth);
    if (n <= 0)
        return n ? NULL : f(c, m, path);
    sett_layout **part = sett__new(c->b, sizeof *part * (size_t)n);
    for (int i = 0; i < n; i++)
        if (!(part[i] = by_coordinate(c, m, path | (uint32_t)(i + 1) << (4 * depth), depth + 1, f)))
            return NULL;
    return sett__join(c, n, part);
}

sett_layout *sett__by_coordinate(const sett__ctx *c, const sett__mode_list *m, sett__coordinate_fn *f)
{
    return by_coordinate(c, m, 0, 0, f);
}

/* Strides of modes in one coordinate as vectors of it again. */
static sett_layout *in_coordinate(const sett__ctx *c, sett__mode_list *m, uint32_t path)
{
    for (int i = 0; i < m->n; i++)
        m->m[i][1].path = path;
    return sett__from_modes(c, m);
}

/* Without an end: gaps, then an extent of 1 where it would go on. The list is static and sorted by stride. */
static sett_layout *open_end(const sett__ctx *c, const sett__mode_list *m, uint32_t path)
{
    sett__mode_list out;
    sett_arg next = sett_arg_i(1);
    sett__no_modes(&out);
    for (int i = 0; i < m->n; i++) {
        sett_arg d = m->m[i][1];
        if (d.path != path)
            continue;
        d.path = 0;
        if (d.kind != SETT_INT || next.kind != SETT_INT || d.u.i < next.u.i)
            return NULL;
        if (d.u.i / next.u.i > 1)
            sett__push(c, &out, sett__div(c, d, next), next);
        next = sett__mul(c, m->m[i][0], d);
    }
    sett__push(c, &out, sett_arg_i(1), next);
    return in_coordinate(c, &out, path);
}

/* By the coordinates of the cotarget, whose profile may go on below them. */
static sett_layout *below_cotarget(
    const sett__ctx *c, const sett__mode_list *m, sett_arg cotarget, uint32_t path, int depth, const sett_layout *l)
{
    sett__mode_list own, out;
    int n = parts_of(m, path, depth);
    if (n < 0 || n > sett__arity(cotarget) || (n && cotarget.kind != SETT_NODE))
        return sett__bad_layout(c, SETT_E_RANK, "invalid: the basis strides point outside the cotarget's coordinates", l);
    modes_of(c, m, path, &own);
    if (n || (!own.n && cotarget.kind == SETT_NODE && depth < 8)) {
        sett_layout **part = sett__new(c->b, sizeof *part * (size_t)(cotarget.rank ? cotarget.rank : 1));
        for (int i = 0; i < cotarget.rank; i++)
            part[i] = below_cotarget(c, m, cotarget.u.kid[i], path | (uint32_t)(i + 1) << (4 * depth), depth + 1, l);
        return sett__join(c, cotarget.rank, part);
    }
    const sett_layout *r = sett__complement(c, sett__from_modes(c, &own), sett__product(c, cotarget));
    if (sett__layout_poison(r))
        return sett__poison_layout(c->b);
    sett__coalesced(c, &out, r->shape, r->stride, false);
    return in_coordinate(c, &out, path);
}

sett_layout *sett__open_complement(const sett__ctx *c, const sett_layout *l)
{
    sett__mode_list m;
    const sett_layout *flat = sett__filter(c, l);
    if (l->has_inner || !sett__is_static(l->stride))
        return sett__bad_layout(c, SETT_E_STATIC, "invalid: a complement without an end needs strides that are C integers, and no swizzle", l);
    sett__coalesced(c, &m, flat->shape, flat->stride, false);
    sett__sort_modes(&m);
    sett_layout *r = sett__by_coordinate(c, &m, open_end);
    return r ? r : sett__bad_layout(c, SETT_E_DIVIDE, "non-injective: a stride is below what the smaller strides cover, or a coordinate is used as a number and as a tuple", l);
}

/* Modes sorted by stride leave gaps: one mode for each gap, and one for what follows the last mode up to the cotarget. */
sett_layout *sett__complement(const sett__ctx *c, const sett_layout *l, sett_arg cotarget)
{
    sett__mode_list m, out;
    if (sett__layout_poison(l))
        return sett__poison_layout(c->b);
    if (l->has_inner)
        return sett__bad_layout(c, SETT_E_ARGUMENT, "invalid: a composed layout has no complement", l);
    const sett_layout *flat = sett__filter(c, l);
    sett__coalesced(c, &m, flat->shape, flat->stride, false);
    sett__no_modes(&out);
    if (sett__has_basis(l->stride))
        return below_cotarget(c, &m, cotarget, 0, 0, l);
    if (m.n > 1 && dynamic_stride(&m))
        return sett__bad_layout(c, SETT_E_STATIC, "invalid: strides must be static, C integers, to complement several modes", l);
    sett__sort_modes(&m);
    sett_arg next = sett_arg_i(1);
    for (int i = 0; i < m.n; i++) {
        sett_arg s = m.m[i][0], d = m.m[i][1];
        if (d.kind == SETT_INT && d.u.i < 0)
            return sett__bad_layout(c, SETT_E_RANGE, "invalid: a negative stride has no complement", l);
        if (d.kind == SETT_INT && next.kind == SETT_INT && d.u.i < next.u.i) {
            sett__bad(c, SETT_E_DIVIDE, "non-injective: the mode %s:%s of %s needs a stride of at least %s, which the smaller strides cover",
                sett__arg_text(c->b, s), sett__arg_text(c->b, d), sett__layout_text(c->b, l), sett__arg_text(c->b, next));
            return sett__poison_layout(c->b);
        }
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

/* ---- public ------------------------------------------------------------------------------ */

sett_layout *sett_complement_at(sett_site site, const sett_layout *l, sett_arg cotarget)
{
    if (!sett__use_layout(SETT__HOME_OR(l, sett__build_of(cotarget)), site, "sett_complement", l))
        return (sett_layout *)(uintptr_t)l;
    const sett__ctx ctx = {sett__home(l), site, "sett_complement"}, *c = &ctx;
    if (!sett__use_arg(c->b, site, c->func, cotarget))
        return sett__poison_layout(c->b);
    if (cotarget.kind == SETT_LAYOUT)
        cotarget = cotarget.u.l->shape;
    if (cotarget.kind == SETT_SLICE)
        return sett__open_complement(c, l);
    return sett__check_shape(c, cotarget) ? sett__complement(c, l, cotarget) : sett__poison_layout(c->b);
}
