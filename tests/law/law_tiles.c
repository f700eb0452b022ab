/* SPDX-License-Identifier: Apache-2.0 */
/* Laws of divides, products, slices, recasts and thread-value layouts: every element once, in its place. */
#include "tests/law/law.h"
#include <stdlib.h>

static sett_layout *mode(const sett_layout *l, int i)
{
    return sett_get(l, i);
}

static int64_t rank(const sett_layout *l)
{
    return sett_rank(l);
}

/* The same leaves in the same order. */
static void same_leaves(trial *t, const char *what, const sett_layout *x, const sett_layout *y)
{
    flat f = flat_of(t, x), g = flat_of(t, y);
    LAW(t, f.n == g.n, "%s has %d leaves, not %d", what, f.n, g.n);
    for (int i = 0; i < f.n; i++)
        LAW(t, f.s[i] == g.s[i] && f.d[i] == g.d[i], "%s: leaf %d is %" PRId64 ":%" PRId64, what, i, f.s[i], f.d[i]);
}

/* The offsets of x are those of y, each once. */
static void permutes(trial *t, const flat *x, const flat *y)
{
    LAW(t, flat_size(x) == flat_size(y) && law_is_injective(x), "it has not every element once");
    LAW(t, law_within(x, 1, y, 1), "it has an offset that A has not");
}

/* ---- divides ------------------------------------------------------------------------------------------- */

bool law_divides_evenly(const sett_layout *a, sett_arg tiler)
{
    if (tiler.kind == SETT_NODE) {
        bool even = true;
        for (int i = 0; i < tiler.rank && even; i++)
            even = law_divides_evenly(mode(a, i), tiler.u.kid[i]);
        return even;
    }
    sett_build *b = sett__build_new(NULL, false);
    sett_layout *x = law_copied(b, a), *part;
    part = tiler.kind == SETT_INT ? sett_make_layout(b, tiler) : law_copied(b, tiler.u.l);
    sett_layout *pair[2] = {part, sett_complement(part, sett_size(x))};
    sett__ctx c = law_ctx(b);
    sett_layout *both = sett__join(&c, 2, pair);
    sett_arg n = sett_size(both);
    bool same = n.kind == SETT_INT && sett__is_int(sett_size(x), n.u.i);
    sett_composition(x, both);
    return !sett_build_end(b, NULL) && same;
}

/* (tile, rest): the tile is A o T, and where T divides A every element is there once. */
static void is_divide(trial *t, const sett_layout *r, const sett_layout *a, const sett_layout *tiler)
{
    LAW(t, rank(r) == 2, "R has %d modes", (int)rank(r));
    flat f = flat_of(t, r), tile = flat_of(t, mode(r, 0)), whole = flat_of(t, a), by = flat_of(t, tiler);
    LAW(t, flat_size(&tile) == flat_size(&by), "the tile's size");
    for (int64_t k = 0; k < flat_size(&by); k++)
        LAW(t, flat_at(&tile, k) == flat_at(&whole, flat_at(&by, k)), "the tile at %" PRId64, k);
    if (law_divides_evenly(a, sett_arg_l(tiler)))
        permutes(t, &f, &whole);
    else
        t->refused = true;
}

static flat tile_of(trial *t, const flat *a)
{
    flat f = law_pick(t, 4) ? flat_along(t, a, 2) : flat_injective(t, 2, 2);
    int64_t reach = 1;
    for (int i = 0; i < f.n; i++) { /* no two coordinates of a tile are one element */
        f.d[i] = f.d[i] < reach ? reach : f.d[i];
        reach = f.d[i] * f.s[i];
    }
    return f;
}

void law_divides(trial *t)
{
    flat fa = flat_injective(t, 3, 2), ft = tile_of(t, &fa);
    sett_layout *a = law_layout(t, t->b, &fa), *tiler = law_layout(t, t->b, &ft), *r = sett_logical_divide(a, tiler);
    law_note_layout(t, "A", a);
    law_note_layout(t, "T", tiler);
    if (sett_build_status(t->b, NULL))
        return;
    law_note_layout(t, "R", r);
    is_divide(t, r, a, tiler);
}

/* The three other forms are the first one's modes in another order: tiles, then rests. */
static void forms(trial *t, sett_layout *logical, sett_layout *const form[3], int cut)
{
    sett_layout *part[2][4] = {{NULL}}, *both[2];
    sett__ctx c = law_ctx(t->b);
    int n = (int)rank(logical);
    for (int i = 0; i < n; i++) {
        part[0][i] = i < cut ? mode(mode(logical, i), 0) : NULL;
        part[1][i] = i < cut ? mode(mode(logical, i), 1) : mode(logical, i);
    }
    for (int k = 0; k < 2; k++)
        both[k] = sett__join(&c, k ? n : cut, part[k]);
    sett_layout *zipped = sett__join(&c, 2, both);
    LAW(t, sett_layout_equal(form[0], zipped), "zipped is not the tiles, then the rests");
    same_leaves(t, "tiled", form[1], zipped);
    same_leaves(t, "flat", form[2], zipped);
    LAW(t, rank(form[1]) == 1 + n && rank(form[2]) == cut + n, "tiled and flat have %d and %d modes", (int)rank(form[1]),
        (int)rank(form[2]));
}

/* A's modes one behind the other in memory, each in its own order. */
static sett_layout *matrix(trial *t, flat *f, int n)
{
    sett_layout *part[3];
    sett__ctx c = law_ctx(t->b);
    int64_t below = 1;
    for (int i = 0; i < n; i++) {
        f[i] = flat_compact(t, 2);
        if (below * flat_size(&f[i]) > LAW_OFFSETS / 4)
            f[i] = (flat){1, {1}, {1}};
        for (int k = 0; k < f[i].n; k++)
            f[i].d[k] *= below;
        below *= (int64_t)flat_size(&f[i]);
        part[i] = law_layout(t, t->b, &f[i]);
    }
    return sett__join(&c, n, part);
}

void law_divides_by_mode(trial *t)
{
    flat f[3], g[3];
    sett_layout *tile[3];
    sett_arg by[3];
    int n = 1 + law_pick(t, 3), cut = 1 + law_pick(t, n);
    sett_layout *a = matrix(t, f, n);
    for (int i = 0; i < cut; i++) {
        g[i] = flat_along(t, &f[i], 1);
        if (law_pick(t, 2) || g[i].s[0] == 1)
            g[i].d[0] = 1;
        tile[i] = law_layout(t, t->b, &g[i]);
        by[i] = g[i].d[0] == 1 ? sett_arg_i(g[i].s[0]) : sett_arg_l(tile[i]);
    }
    sett_arg tiler = sett_arg_n(cut, by);
    sett_layout *r = sett_logical_divide(a, tiler);
    sett_layout *form[3] = {sett_zipped_divide(a, tiler), sett_tiled_divide(a, tiler), sett_flat_divide(a, tiler)};
    law_note_layout(t, "A", a);
    law_note(t, "tiler", tiler);
    if (sett_build_status(t->b, NULL))
        return;
    law_note_layout(t, "R", r);
    for (int i = 0; i < cut; i++)
        is_divide(t, mode(r, i), mode(a, i), tile[i]);
    forms(t, r, form, cut);
}

/* ---- products --------------------------------------------------------------------------------------------- */

/* Mode 0 is the block, and every copy has its own elements. */
static void is_product(trial *t, const sett_layout *r, const flat *block, const flat *tiler)
{
    LAW(t, rank(r) == 2, "R has %d modes", (int)rank(r));
    flat f = flat_of(t, r), first = flat_of(t, mode(r, 0)), copies = flat_of(t, mode(r, 1));
    law_same(t, "the block", &first, block);
    LAW(t, flat_size(&copies) == flat_size(tiler), "%" PRId64 " copies", (int64_t)flat_size(&copies));
    LAW(t, law_is_injective(&f), "copies share an element");
}

void law_multiplies(trial *t)
{
    flat fa = flat_injective(t, 2, 2), ft = flat_compact(t, 2);
    sett_layout *a = law_layout(t, t->b, &fa), *tiler = law_layout(t, t->b, &ft), *r = sett_logical_product(a, tiler);
    law_note_layout(t, "block", a);
    law_note_layout(t, "tiler", tiler);
    if (sett_build_status(t->b, NULL))
        return;
    law_note_layout(t, "R", r);
    is_product(t, r, &fa, &ft);
}

/* Blocked and raked: mode by mode the product's leaves, the block's first or last. */
static void side_by_side(trial *t, const sett_layout *r, const sett_layout *product, int n, bool blocked)
{
    LAW(t, rank(r) == n, "%s has %d modes", blocked ? "blocked" : "raked", (int)rank(r));
    sett__ctx c = law_ctx(t->b);
    for (int i = 0; i < n; i++) {
        sett_layout *block = mode(mode(product, 0), i), *copies = mode(mode(product, 1), i);
        sett_layout *pair[2] = {blocked ? block : copies, blocked ? copies : block};
        same_leaves(t, blocked ? "blocked" : "raked", mode(r, i), sett__join(&c, 2, pair));
    }
}

void law_multiplies_by_mode(trial *t)
{
    flat f[3], g[3], whole = {0}, all = {0};
    int n = 2 + law_pick(t, 2);
    sett_layout *a = matrix(t, f, n), *b = matrix(t, g, n);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < f[i].n; k++, whole.n++)
            whole.s[whole.n] = f[i].s[k], whole.d[whole.n] = f[i].d[k];
    for (int i = 0; i < n; i++)
        for (int k = 0; k < g[i].n; k++, all.n++)
            all.s[all.n] = g[i].s[k], all.d[all.n] = g[i].d[k];
    law_note_layout(t, "block", a);
    law_note_layout(t, "tiler", b);
    if (flat_size(&whole) * flat_size(&all) > 8 * LAW_SIZE)
        return;
    sett_layout *r = sett_logical_product(a, b), *x = sett_blocked_product(a, b), *y = sett_raked_product(a, b);
    if (sett_build_status(t->b, NULL))
        return;
    is_product(t, r, &whole, &all);
    side_by_side(t, x, r, n, true);
    side_by_side(t, y, r, n, false);
}

/* A block repeated over a shape has that shape, begins with the block, and has every element once. */
void law_fills(trial *t)
{
    flat f[3], g = {0};
    sett_arg shape[3], order[3];
    int n = 1 + law_pick(t, 3), first = law_pick(t, n);
    int64_t times = 1;
    sett_layout *block = matrix(t, f, n);
    for (int i = 0; i < n; i++) {
        int64_t k = 1 + law_pick(t, 4);
        times *= k;
        shape[i] = sett_arg_i((int64_t)flat_size(&f[i]) * k);
        order[i] = sett_arg_i((i + first) % n);
        for (int j = 0; j < f[i].n; j++, g.n++)
            g.s[g.n] = f[i].s[j], g.d[g.n] = f[i].d[j];
    }
    if (flat_size(&g) * times > 8 * LAW_SIZE)
        return;
    sett_arg by = law_pick(t, 2) ? SETT_ALL : sett_arg_n(n, order);
    sett_layout *r = sett_tile_to_shape(block, sett_arg_n(n, shape), by);
    law_note_layout(t, "block", block);
    law_note(t, "shape", sett_arg_n(n, shape));
    law_note(t, "order", by);
    law_note_layout(t, "R", r);
    flat whole = flat_of(t, r);
    LAW(t, law_is_injective(&whole) && flat_size(&whole) == flat_size(&g) * times, "it has not every element once");
    for (int i = 0; i < n; i++) {
        flat m = flat_of(t, mode(r, i));
        LAW(t, flat_size(&m) == shape[i].u.i, "mode %d", i);
        for (int64_t k = 0; k < flat_size(&f[i]); k++)
            LAW(t, flat_at(&m, k) == flat_at(&f[i], k), "mode %d does not begin with the block's", i);
    }
}

/* ---- slices -------------------------------------------------------------------------------------------------- */

/* With some modes fixed the rest are as before, and the fixed ones are what dice gives. */
void law_slices(trial *t)
{
    flat f[3], kept = {0}, other = {0};
    sett_arg crd[3];
    int n = 1 + law_pick(t, 3), left = 0;
    sett_layout *l = matrix(t, f, n);
    int bits = law_pick(t, 3), base = law_pick(t, 3);
    law_wide moved = 0;
    for (int i = 0; i < n; i++) {
        bool all = law_pick(t, 2) == 0;
        flat *to = all ? &kept : &other;
        int64_t at = law_pick(t, (int)flat_size(&f[i]));
        crd[i] = all ? SETT_ALL : sett_arg_i(at);
        moved += all ? 0 : flat_at(&f[i], at);
        left += all;
        for (int k = 0; k < f[i].n; k++, to->n++)
            to->s[to->n] = f[i].s[k], to->d[to->n] = f[i].d[k];
    }
    law_note_layout(t, "L", l);
    law_note(t, "at", sett_arg_n(n, crd));
    if (!left || left == n)
        return;
    flat d = flat_of(t, sett_dice(l, sett_arg_n(n, crd))), s = flat_of(t, sett_slice(l, sett_arg_n(n, crd)));
    law_same(t, "slice", &s, &kept);
    law_same(t, "dice", &d, &other);
    sett_layout *plain = sett__own(&(sett__ctx){t->b, {0}, "law"}, sett_shape(l), sett_stride(l));
    sett_layout *swizzled = sett_make_swizzled(bits, base, 2, plain), *r = sett_slice(swizzled, sett_arg_n(n, crd));
    for (int64_t k = 0; k < flat_size(&kept); k++) {
        int64_t x = (int64_t)(moved + flat_at(&kept, k)), y = (x >> 2 & ((1 << bits) - 1) << base) ^ x;
        LAW(t, sett__is_int(sett_crd2idx(k, r), bits ? y : (int64_t)flat_at(&kept, k)), "swizzled S<%d,%d,2>, at %" PRId64, bits, base, k);
    }
}

/* ---- recasts ----------------------------------------------------------------------------------------------------- */

/* The bits are the same ones: counted in smaller units, in larger ones where those divide, and back. */
void law_recasts(trial *t)
{
    flat f = flat_compact(t, 3), g = {0};
    int n = 2 << law_pick(t, 3);
    for (int i = 0; i < f.n; i++)
        if (f.s[i] > 1)
            g.s[g.n] = f.s[i], g.d[g.n++] = f.d[i];
    if (!g.n)
        return;
    sett_layout *l = law_layout(t, t->b, &g), *down = sett_recast_layout(4, 4 * n, l), *back = sett_recast_layout(4 * n, 4, down);
    law_note_layout(t, "L", l);
    law_note_layout(t, "smaller", down);
    flat x = flat_of(t, down), y = flat_of(t, back);
    law_same(t, "back", &y, &g);
    LAW(t, flat_size(&x) == n * flat_size(&g) && law_is_injective(&x), "smaller units: each once");
    LAW(t, law_within(&x, n, &g, 1), "a smaller unit is not L's");
    sett_layout *up = sett_recast_layout(4 * n, 4, l);
    if (sett_build_status(t->b, NULL))
        return;
    law_note_layout(t, "larger", up);
    flat z = flat_of(t, up);
    LAW(t, law_within(&g, n, &z, 1), "an element of L is in no larger unit");
    LAW(t, law_within(&z, 1, &g, n), "a larger unit has nothing of L");
}

/* ---- threads and values --------------------------------------------------------------------------------------------- */

static flat plane(trial *t)
{
    flat f = {.n = 2};
    f.s[0] = 1 + law_pick(t, 8);
    f.s[1] = 1 + law_pick(t, 8);
    bool rows = law_pick(t, 2) == 0;
    f.d[0] = rows ? f.s[1] : 1;
    f.d[1] = rows ? 1 : f.s[0];
    return f;
}

/* Thread (i,j)'s value (k,l) is the tile's element (k + m i, l + n j). */
void law_covers(trial *t)
{
    flat thr = plane(t), val = plane(t);
    sett_arg s[2][2], d[2][2];
    for (int i = 0; i < 2; i++) {
        s[0][i] = sett_arg_i(thr.s[i]), d[0][i] = sett_arg_i(thr.d[i]);
        s[1][i] = sett_arg_i(val.s[i]), d[1][i] = sett_arg_i(val.d[i]);
    }
    sett_layout *a = sett__layout(t->b, sett_arg_n(2, s[0]), sett_arg_n(2, d[0]));
    sett_layout *b = sett__layout(t->b, sett_arg_n(2, s[1]), sett_arg_n(2, d[1]));
    sett_tv tv = sett_make_layout_tv(a, b);
    law_note_layout(t, "threads", a);
    law_note_layout(t, "values", b);
    law_note_layout(t, "tv", tv.tv);
    int64_t rows = thr.s[0] * val.s[0], threads = (int64_t)flat_size(&thr);
    LAW(t, sett__is_int(sett_size(tv.tiler), (int64_t)(flat_size(&thr) * flat_size(&val))), "the tile's size");
    LAW(t, sett__is_int(sett__kid(tv.tiler, 0), rows), "the tile's rows");
    flat f = flat_of(t, tv.tv);
    LAW(t, flat_size(&f) == flat_size(&thr) * flat_size(&val) && law_is_injective(&f), "not every element once");
    for (int64_t x = 0; x < flat_size(&thr); x++)
        for (int64_t y = 0; y < flat_size(&val); y++) {
            int64_t row = y % val.s[0] + val.s[0] * (x % thr.s[0]), col = y / val.s[0] + val.s[1] * (x / thr.s[0]);
            int64_t at = (int64_t)(flat_at(&thr, x) + threads * flat_at(&val, y));
            LAW(t, flat_at(&f, at) == row + rows * col, "thread %" PRId64 ", value %" PRId64, (int64_t)flat_at(&thr, x),
                (int64_t)flat_at(&val, y));
        }
}
