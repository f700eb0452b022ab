/* SPDX-License-Identifier: Apache-2.0 */
/* Divides: a layout split into a tile and the rest, A o (T, complement(T, size A)). */
#include "inside.h"

static sett_layout *plain(const sett__ctx *c, const sett_layout *l)
{
    return l->has_inner ? sett__own(c, l->shape, l->stride) : (sett_layout *)(uintptr_t)l;
}

/* Says all that is wrong where the tile and the rest fail for different reasons. */
static bool refused(const sett__ctx *c, const sett_layout *l, sett_layout *const t[2])
{
    const char *tile = sett__refusal(c, l, t[0], false), *rest = tile ? sett__refusal(c, l, t[1], false) : NULL;
    if (!rest || tile == rest)
        return false;
    sett__bad(c, SETT_E_DIVIDE, "%s of the tile %s, and %s of the rest %s, over %s", tile,
        sett__layout_text(c->b, t[0]), rest, sett__layout_text(c->b, t[1]), sett__layout_text(c->b, l));
    return true;
}

/* L / T = L o (T, complement of T in the size of L): the tile, then which tile. The number of tiles may be rounded up. */
sett_layout *sett__logical_divide(const sett__ctx *c, const sett_layout *l, sett_arg tiler)
{
    sett_layout *t[2];
    if (tiler.kind == SETT_SLICE)
        return (sett_layout *)(uintptr_t)l;
    if (tiler.kind == SETT_NODE)
        return sett__by_mode(c, l, "tiler", tiler, sett__logical_divide, true);
    t[0] = sett__tiler_layout(c, tiler, 0);
    if (sett__layout_poison(t[0]))
        return t[0];
    sett_layout *whole = sett__coalesce(c, l);
    if (sett__layout_poison(whole))
        return whole;
    t[1] = sett__complement(c, t[0], sett__has_basis(t[0]->stride) ? l->shape : whole->shape);
    if (sett__layout_poison(t[1]))
        return t[1];
    if (refused(c, l, t))
        return sett__poison_layout(c->b);
    t[0] = sett__compose(c, plain(c, l), sett_arg_l(t[0]));
    t[1] = sett__layout_poison(t[0]) ? t[0] : sett__compose_rest(c, plain(c, l), t[1]);
    return sett__rewrap(c, l, sett__join(c, 2, t));
}

/* One of shape or stride: modes named by the tiler split into first and second parts. */
static sett_arg zip_modes(const sett__ctx *c, sett_arg x, sett_arg tiler)
{
    if (tiler.kind != SETT_NODE) {
        if (x.kind == SETT_NODE && x.rank == 2) /* also of `_`: a mode that is a pair already */
            return x;
        return sett__bad(c, SETT_E_RANK, "invalid: `_` leaves a mode undivided; only sett_logical_divide can");
    }
    int n = tiler.rank, m = sett__arity(x);
    sett_arg *first = sett__kids(c, n), *second = sett__kids(c, m > n ? m : n), *pair = sett__kids(c, 2);
    for (int i = 0; i < m; i++) {
        sett_arg k = sett__kid(x, i), z = i < n ? zip_modes(c, k, tiler.u.kid[i]) : k;
        if (z.kind == SETT_POISON)
            return z;
        if (i < n)
            first[i] = z.u.kid[0];
        second[i] = i < n ? z.u.kid[1] : k;
    }
    pair[0] = sett__node(c, n, first);
    pair[1] = sett__node(c, m, second);
    return sett__node(c, 2, pair);
}

sett_layout *sett__zip_tiles(const sett__ctx *c, const sett_layout *l, sett_arg tiler)
{
    if (sett__layout_poison(l))
        return sett__poison_layout(c->b);
    return sett__rewrap(c, l, sett__own(c, zip_modes(c, l->shape, tiler), zip_modes(c, l->stride, tiler)));
}

/* (a, b) with the modes of a, of b, or of both beside each other. */
static sett_arg open_pair(const sett__ctx *c, sett_arg pair, bool tile, bool rest)
{
    sett_arg a = pair.u.kid[0], b = pair.u.kid[1];
    int na = tile ? sett__arity(a) : 1, nb = rest ? sett__arity(b) : 1, n = 0;
    sett_arg *kid = sett__kids(c, na + nb);
    for (int i = 0; i < na; i++)
        kid[n++] = tile ? sett__kid(a, i) : a;
    for (int i = 0; i < nb; i++)
        kid[n++] = rest ? sett__kid(b, i) : b;
    return sett__node(c, n, kid);
}

/* ((tile),(rest)) to ((tile),r0,r1,...) or (t0,t1,...,r0,r1,...). */
static sett_layout *open_tiles(const sett__ctx *c, const sett_layout *l, bool tile)
{
    if (sett__layout_poison(l))
        return sett__poison_layout(c->b);
    return sett__rewrap(c, l, sett__own(c, open_pair(c, l->shape, tile, true), open_pair(c, l->stride, tile, true)));
}

sett_layout *sett__tiled(sett_site site, const char *name, const sett_layout *l, sett_arg tiler, sett__tile_fn *f,
    sett__tile_form form)
{
    if (!sett__use_layout(SETT__HOME_OR(l, sett__build_of(tiler)), site, name, l))
        return (sett_layout *)(uintptr_t)l;
    sett__ctx ctx = {sett__home(l), site, name}, *c = &ctx;
    if (!sett__use_arg(c->b, site, name, tiler))
        return sett__poison_layout(c->b);
    sett_layout *r = f(c, l, tiler);
    if (form == SETT__LOGICAL)
        return r;
    r = sett__zip_tiles(c, r, tiler);
    return form == SETT__ZIPPED ? r : open_tiles(c, r, form == SETT__FLAT);
}

#define DIVIDE(name, form) \
    sett_layout *sett_##name##_layout_at(sett_site site, const sett_layout *l, sett_arg tiler) \
    { \
        return sett__tiled(site, "sett_" #name, l, tiler, sett__logical_divide, SETT__##form); \
    }
DIVIDE(logical_divide, LOGICAL)
DIVIDE(zipped_divide, ZIPPED)
DIVIDE(tiled_divide, TILED)
DIVIDE(flat_divide, FLAT)
