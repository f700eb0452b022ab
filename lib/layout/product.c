/* SPDX-License-Identifier: Apache-2.0 */
/* Products: a block repeated as a tiler says, and what is built from them. */
#include "inside.h"

/* Static layouts that share no offset but by strides of 0: in order of strides, each beyond what
 * the smaller ones cover. */
static bool are_apart(const sett__ctx *c, sett_layout *block, sett_layout *rest)
{
    sett_layout *both = sett__join(c, 2, (sett_layout *[]){block, rest});
    sett__mode_list m;
    int64_t below = 0, cover = 1;
    if (sett__layout_poison(both) || !sett__is_static(both->stride))
        return false;
    both = sett__filter(c, both);
    sett__coalesced(c, &m, both->shape, both->stride, false);
    for (int k = 0; k < m.n; k++) {
        int least = -1;
        for (int i = 0; i < m.n; i++)
            if (m.m[i][1].u.i > below && (least < 0 || m.m[i][1].u.i < m.m[least][1].u.i))
                least = i;
        if (least < 0 || m.m[least][1].path || m.m[least][1].u.i < cover)
            return false;
        below = m.m[least][1].u.i;
        if (__builtin_mul_overflow(below, m.m[least][0].u.i, &cover))
            return false;
    }
    return true;
}

/* Where the tiler does not compose exactly with what the block leaves free, the copies may still be
 * apart, only not in the tiler's own places: that is what CuTe gives. */
static sett_layout *place_copies(const sett__ctx *c, sett_layout *block, const sett_layout *rest, const sett_layout *tiler)
{
    if (sett__layout_poison(rest))
        return sett__poison_layout(c->b);
    if (sett__refusal(c, rest, tiler, true) && !sett__refusal(c, rest, tiler, false)) {
        sett_layout *near = sett__compose_rest(c, rest, tiler);
        if (sett__layout_poison(near) || are_apart(c, block, near))
            return near;
    }
    return sett__compose(c, rest, sett_arg_l(tiler));
}

/* A x B = (A, complement(A) o B): copies lie where the block leaves room. The room for copies ends at size(A) *
 * cosize(B). */
sett_layout *sett__logical_product(const sett__ctx *c, const sett_layout *block, sett_arg tiler)
{
    if (sett__layout_poison(block))
        return sett__poison_layout(c->b);
    if (tiler.kind == SETT_SLICE)
        return (sett_layout *)(uintptr_t)block;
    if (tiler.kind == SETT_NODE)
        return sett__by_mode(c, block, "tiler", tiler, sett__logical_product, true);
    const sett_layout *t = sett__tiler_layout(c, tiler, 0);
    if (sett__layout_poison(t))
        return sett__poison_layout(c->b);
    sett_layout *outer = sett__own(c, block->shape, block->stride); /* the swizzle stays around the whole */
    sett_layout *rest;
    if (sett__has_basis(block->stride)) { /* coordinates have no end that a size could say */
        rest = sett__open_complement(c, outer);
    } else {
        sett_arg room = sett__mul(c, sett__product(c, block->shape), sett_cosize_layout(t));
        rest = sett__is_poison(room) ? NULL : sett__complement(c, outer, room);
    }
    sett_layout *pair[2] = {outer, place_copies(c, outer, rest, t)};
    bool placed = sett__has_basis(t->stride) && !sett__has_basis(block->stride); /* at coordinates of the complement */
    if (placed && !sett__layout_poison(pair[1]) && sett__is_static(pair[1]->shape) && sett__is_static(outer->shape) &&
        sett__is_static(outer->stride) && !are_apart(c, outer, pair[1])) {
        sett__bad(c, SETT_E_DIVIDE,
            "non-injective: the copies of %s at the coordinates %s of its complement %s overlap: they must "
            "stay inside its extents",
            sett__layout_text(c->b, block), sett__layout_text(c->b, t), sett__layout_text(c->b, rest));
        return sett__poison_layout(c->b);
    }
    return sett__rewrap(c, block, sett__join(c, 2, pair));
}

/* Modes 1:0 are added, so that block and tiler have as many. */
static sett_layout *padded_to_rank(const sett__ctx *c, const sett_layout *l, int rank)
{
    sett_arg s = l->shape, d = l->stride;
    while (sett__arity(s) < rank) {
        s = sett__append(c, s, sett_arg_i(1));
        d = sett__append(c, d, sett_arg_i(0));
    }
    return sett__rewrap(c, l, sett__own(c, s, d));
}

/* n modes of each, or (whole) one mode of all of either. */
static sett_arg interleave(const sett__ctx *c, int n, sett_arg pairs, bool whole, bool blocked)
{
    sett_arg a = pairs.u.kid[0], b = pairs.u.kid[1];
    sett_arg *kid = sett__kids(c, n);
    for (int i = 0; i < n; i++) {
        sett_arg *pair = sett__kids(c, 2);
        pair[!blocked] = whole ? a : sett__kid(a, i);
        pair[blocked] = whole ? b : sett__kid(b, i);
        kid[i] = sett_arg_n(2, pair);
    }
    return sett__node(c, n, kid);
}

static sett_layout *no_pairs(const sett__ctx *c, const sett_layout *block, const sett_layout *tiler, const char *why)
{
    sett__bad(c, SETT_E_RANK, "invalid: block %s and tiler %s %s: make both tuples, of one mode each", sett__layout_text(c->b, block),
        sett__layout_text(c->b, tiler), why);
    return sett__poison_layout(c->b);
}

/* Mode by mode, the block's and the tiler's side by side: the block's first (blocked) or last (raked). Where the one that
 * comes first is a leaf there is one pair, and the other keeps its nesting in it: 4:1 blocked by (8):(1) is ((4,(8))):((1,(4))). */
static sett_layout *raked(const sett__ctx *c, const sett_layout *block, const sett_layout *tiler, bool blocked)
{
    if (sett__layout_poison(block) || sett__layout_poison(tiler))
        return sett__poison_layout(c->b);
    int n = sett__arity(block->shape), m = sett__arity(tiler->shape), rank = n > m ? n : m;
    bool leaf[2] = {block->shape.kind != SETT_NODE, tiler->shape.kind != SETT_NODE};
    if (rank == 1 && leaf[blocked] && !leaf[!blocked])
        return no_pairs(c, block, tiler, "differ in profile");
    sett_layout *r = sett__logical_product(c, padded_to_rank(c, block, rank), sett_arg_l(padded_to_rank(c, tiler, rank)));
    if (sett__layout_poison(r))
        return r;
    bool whole = rank == 1 && leaf[!blocked];
    if (whole && r->shape.u.kid[!blocked].kind == SETT_NODE)
        return no_pairs(c, block, tiler, "do not pair, since the copies lie in several modes");
    return sett__rewrap(c, r,
        sett__own(c, interleave(c, rank, r->shape, whole, blocked), interleave(c, rank, r->stride, whole, blocked)));
}

/* The number of copies in each mode is rounded up; the copies are a blocked product of the block. */
static sett_layout *tile_to_shape(const sett__ctx *c, const sett_layout *block, sett_arg shape, sett_arg order)
{
    int n = sett__arity(block->shape), rank = sett__arity(shape);
    if (n > rank) {
        sett__bad(c, SETT_E_RANK, "invalid: block %s has more modes than shape %s", sett__layout_text(c->b, block),
            sett__arg_text(c->b, shape));
        return sett__poison_layout(c->b);
    }
    sett_layout *pad = padded_to_rank(c, block, rank);
    sett_arg times = sett__ceil_div_tuple(c, sett__product_each(c, shape), sett__product_each(c, pad->shape));
    if (sett__is_poison(times))
        return sett__poison_layout(c->b);
    sett_layout *tiler = order.kind == SETT_SLICE ? sett__own(c, times, sett__compact(c, times, sett_arg_i(1), NULL))
                                                  : sett__ordered(c, times, order);
    return raked(c, pad, tiler, true);
}

/* Static layouts of threads and values that leave holes, or meet, have no inverse to number the tile by. */
static bool fills_tile(
    const sett__ctx *c, const sett_layout *thr, const sett_layout *val, const sett_layout *inv, sett_arg size)
{
    sett_arg given = sett__product(c, size), reached = sett__product(c, inv->shape);
    if (given.kind != SETT_INT || reached.kind != SETT_INT || given.u.i == reached.u.i)
        return true;
    sett__bad(c, SETT_E_ARGUMENT,
        "non-bijective: threads %s and values %s reach %lld of the tile's %lld elements once, in a row from the first: "
        "compact "
        "strides, each the product of the extents of the smaller ones, as (4,8):(8,1), reach them all",
        sett__layout_text(c->b, thr), sett__layout_text(c->b, val), (long long)reached.u.i, (long long)given.u.i);
    return false;
}

/* The raked product of thread and value layouts numbers the tile by (thread, value); its right inverse, with the profile
 * of the two, is the TV layout. */
sett_tv sett_make_layout_tv_at(sett_site site, const sett_layout *thr, const sett_layout *val)
{
    sett_tv poison = {{.kind = SETT_POISON}, (sett_layout *)(uintptr_t)thr};
    if (!sett__use_layout(SETT__HOME_OR(thr, sett__build_of(sett_arg_l(val))), site, "sett_make_layout_tv", thr))
        return poison;
    sett__ctx ctx = {sett__home(thr), site, "sett_make_layout_tv"}, *c = &ctx;
    poison = (sett_tv){{.kind = SETT_POISON, .u = {.poisoned = c->b}}, sett__poison_layout(c->b)};
    if (!sett__use_layout(c->b, site, c->func, val))
        return poison;
    sett_layout *tile = raked(c, thr, val, false), *inv = sett__right_inverse(c, tile);
    if (sett__layout_poison(inv))
        return poison;
    sett_arg *size = sett__kids(c, 2);
    size[0] = sett__product(c, thr->shape);
    size[1] = sett__product(c, val->shape);
    sett_arg both = sett__node(c, 2, size);
    if (!fills_tile(c, thr, val, inv, both))
        return poison;
    sett_layout *tv =
        sett__compose(c, inv, sett_arg_l(sett__own(c, both, sett__compact(c, both, sett_arg_i(1), NULL))));
    return sett__layout_poison(tv) ? poison : (sett_tv){sett__product_each(c, tile->shape), tv};
}

/* ---- public ------------------------------------------------------------------------------- */

#define PRODUCT(name, form) \
    sett_layout *sett_##name##_at(sett_site site, const sett_layout *l, sett_arg tiler) \
    { \
        return sett__tiled(site, "sett_" #name, l, tiler, sett__logical_product, SETT__##form); \
    }
PRODUCT(logical_product, LOGICAL)
PRODUCT(zipped_product, ZIPPED)
PRODUCT(tiled_product, TILED)
PRODUCT(flat_product, FLAT)

static sett_layout *side_by_side(
    sett_site site, const char *name, const sett_layout *block, const sett_layout *tiler, bool blocked)
{
    if (!sett__use_layout(SETT__HOME_OR(block, sett__build_of(sett_arg_l(tiler))), site, name, block))
        return (sett_layout *)(uintptr_t)block;
    sett__ctx c = {sett__home(block), site, name};
    return sett__use_layout(c.b, site, name, tiler) ? raked(&c, block, tiler, blocked) : sett__poison_layout(c.b);
}

sett_layout *sett_blocked_product_at(sett_site site, const sett_layout *block, const sett_layout *tiler)
{
    return side_by_side(site, "sett_blocked_product", block, tiler, true);
}

sett_layout *sett_raked_product_at(sett_site site, const sett_layout *block, const sett_layout *tiler)
{
    return side_by_side(site, "sett_raked_product", block, tiler, false);
}

sett_layout *sett_tile_to_shape_at(sett_site site, const sett_layout *block, sett_arg shape, sett_arg order)
{
    if (!sett__use_layout(NULL, site, "sett_tile_to_shape", block))
        return (sett_layout *)(uintptr_t)block;
    sett__ctx c = {sett__home(block), site, "sett_tile_to_shape"};
    if (!sett__use_arg(c.b, site, c.func, shape) || !sett__use_arg(c.b, site, c.func, order) ||
        !sett__check_shape(&c, shape))
        return sett__poison_layout(c.b);
    return tile_to_shape(&c, block, shape, order);
}
