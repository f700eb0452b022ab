/* SPDX-License-Identifier: Apache-2.0 */
/* Where the elements of a view lie.
 *
 * Of an affine layout, element i lies at offset + sum of c_k(i) s_k. Modes with static
 * strides add to a constant; each combination of coordinates of the dynamic ones is a
 * group, whose elements share one address computed at run time. A swizzled layout with a
 * dynamic start is cut into groups that the swizzle maps affinely. */
#include "tensor.h"
#include <stdlib.h>
#include <string.h>

#define DIGITS 256 /* leaves of a layout; more are refused */
#define RECENT 64  /* bases that an element of a composed layout is compared with */

static uint64_t lowest_bit(uint64_t x)
{
    return x & (0 - x);
}

/* ---- swizzled places ----------------------------------------------------------------- */
static int64_t swizzle(const sett_layout *l, int64_t x)
{
    int64_t low = ((INT64_C(1) << l->bits) - 1) << l->base;
    if (l->shift >= 0)
        return x ^ ((x >> l->shift) & low);
    return x ^ ((x & low) << -l->shift);
}

/* The same of a value, as sett__layout_at forms it: x ^ ((x & mask) >> shift). */
static sett_arg swizzle_value(const sett__ctx *c, const sett_layout *l, sett_arg x)
{
    int by = l->shift < 0 ? -l->shift : l->shift;
    sett_arg from = sett_arg_i(((INT64_C(1) << l->bits) - 1) << (l->base + (l->shift < 0 ? 0 : by)));
    sett_arg y = sett_index_at(c->site, c->func, SETT_AND, x, from);
    y = sett_index_at(c->site, c->func, l->shift < 0 ? SETT_SHL : SETT_SHR, y, sett_arg_i(by));
    return sett_index_at(c->site, c->func, SETT_XOR, x, y);
}

typedef struct piece {
    uint32_t group, number;
    int64_t mid;
} piece; /* number: of the new group + 1; 0: free */

static uint32_t find_piece(const piece *table, uint32_t mask, uint32_t group, int64_t mid)
{
    uint64_t h = ((uint64_t)mid * 0x9e3779b97f4a7c15u) ^ (group * UINT64_C(0x85ebca77c2b2ae3d));
    uint32_t at = (uint32_t)(h >> 33) & mask;
    while (table[at].number && (table[at].group != group || table[at].mid != mid))
        at = (at + 1) & mask;
    return at;
}

/* What an access may have together: as many elements as the swizzle keeps in order, or as x is known to be a multiple of. */
static int64_t together(const sett_layout *l, sett_arg x)
{
    return (int64_t)lowest_bit((UINT64_C(1) << l->base) | (uint64_t)sett__leaf_div(x));
}

/* Pieces that follow one another within what the swizzle keeps in order would be one, were their start known better. */
static void note_parted(const sett_layout *l, const piece *table, uint32_t mask, sett__places *p)
{
    const int64_t unit = INT64_C(1) << l->base;
    for (uint32_t i = 0; i <= mask; i++) {
        const sett_arg x = p->base[table[i].group];
        const int64_t step = together(l, x);
        int64_t n = step;
        while (table[i].number && (table[i].mid + n) % unit && table[find_piece(table, mask, table[i].group, table[i].mid + n)].number)
            n += step;
        if (n >= 2 * step && n >= 2 * p->parted) {
            p->start = x;
            p->parted = UINT32_C(1) << (31 - __builtin_clz((uint32_t)n));
        }
    }
}

/* With x a multiple of n, a power of two up to 2^base: swz(x + hi + mid + low) = swz(x + mid) + hi + low, where low is below n,
 * mid a multiple of it, and hi a multiple of all that the swizzle reads or writes: bits below 2^base pass unchanged, and those
 * below n are 0 in x + mid. So one swizzle is computed for each (base, mid). */
static bool swizzle_places(const sett__ctx *c, const sett_tensor *t, sett__places *p)
{
    const sett_layout *l = t->layout;
    int64_t top = INT64_C(1) << (l->bits + l->base + (l->shift < 0 ? -l->shift : l->shift));
    uint32_t cap = 16, n = 0;
    while (cap < 2 * p->n)
        cap *= 2;
    piece *table = sett__new(c->b, cap * sizeof *table);
    sett_arg *base = sett__new(c->b, p->n * sizeof *base);
    int64_t *extra = sett__new(c->b, p->n * sizeof *extra);
    if (!table || !base || !extra)
        return false;
    for (uint32_t i = 0; i < p->n; i++) {
        sett_arg x = p->base[p->group[i]];
        bool is_static = x.kind == SETT_INT;
        int64_t k = p->imm[i], low = k & (together(l, x) - 1), mid = is_static ? 0 : (k & (top - 1)) - low;
        uint32_t at = find_piece(table, cap - 1, is_static ? 0 : p->group[i], mid);
        if (!table[at].number) {
            table[at] = (piece){is_static ? 0 : p->group[i], ++n, mid};
            sett_arg y = is_static ? sett_arg_i(0) : swizzle_value(c, l, sett__add(c, x, sett_arg_i(mid)));
            if (y.kind == SETT_VALUE) /* bits below 2^base pass unchanged */
                y.u.v = sett__assumed(y.u.v, (int64_t)lowest_bit((uint64_t)(together(l, x) | mid)));
            base[n - 1] = sett__peel(c->b, sett__add_offset(c, t->offset, y), &extra[n - 1]);
        }
        p->group[i] = table[at].number - 1;
        p->imm[i] = extra[table[at].number - 1] + (is_static ? swizzle(l, k) : k - mid);
    }
    note_parted(l, table, cap - 1, p);
    p->base = base;
    p->n_group = n;
    return !c->b->error.status;
}

/* ---- places of any layout --------------------------------------------------------------- */
static bool composed_places(const sett__ctx *c, const sett_tensor *t, const sett__axes *m, sett__places *p)
{
    if (!sett__make_places(c, m->size, p))
        return false;
    p->base = sett__new(c->b, p->n * sizeof *p->base);
    for (uint32_t i = 0; p->base && i < p->n; i++) {
        sett_arg at = sett__add_offset(c, t->offset, sett__layout_at(c, t->layout, sett_arg_i(i)));
        if (at.kind == SETT_POISON)
            return false;
        at = sett__peel(c->b, at, &p->imm[i]);
        uint32_t g = p->n_group, oldest = g > RECENT ? g - RECENT : 0;
        while (g > oldest && (p->base[g - 1].kind != at.kind || p->base[g - 1].u.v != at.u.v))
            g--;
        bool known = g > oldest;
        p->group[i] = known ? g - 1 : p->n_group;
        p->base[p->group[i]] = at;
        p->n_group += !known;
    }
    return p->base != NULL;
}

bool sett__tensor_places(const sett__ctx *c, const sett_tensor *t, sett__places *p)
{
    const sett_layout *l = t->layout;
    sett__axes m;
    if (!sett__axes_of(c, l->shape, l->stride, &m))
        return false;
    if (l->has_inner == 2)
        return composed_places(c, t, &m, p);
    if (!sett__places_of(c, &m, l->has_inner ? l->offset : t->offset, p))
        return false;
    return !l->has_inner || swizzle_places(c, t, p);
}

/* ---- order ----------------------------------------------------------------------- */
static int by_place(const void *a, const void *b)
{
    const sett__spot *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->layer != y->layer)
        return x->layer < y->layer ? -1 : 1;
    if (x->imm != y->imm)
        return x->imm < y->imm ? -1 : 1;
    return x->elem < y->elem ? -1 : x->elem > y->elem;
}

/* Rows that a stride of 0 lays on each other: the first element of a place goes to layer 0, the next of another kind to
 * layer 1. In place order they would part each other's neighbours. */
static bool take_layers(sett__spot *spot, uint32_t n)
{
    bool parted = false;
    for (uint32_t i = 1; i < n; i++) {
        const sett__spot *s = &spot[i - 1];
        if (s->group == spot[i].group && s->imm == spot[i].imm)
            spot[i].layer = s->layer + (s->kind != spot[i].kind);
        parted = parted || spot[i].layer;
    }
    return parted;
}

sett__spot *sett__spots(const sett__ctx *c, const sett__places *p, const uint32_t *kind)
{
    sett__spot *spot = sett__new(c->b, p->n * sizeof *spot);
    bool sorted = true;
    for (uint32_t i = 0; spot && i < p->n; i++) {
        spot[i] = (sett__spot){.group = p->group[i], .elem = i, .kind = kind ? kind[i] : 0, .imm = p->imm[i]};
        sorted = sorted && (!i || by_place(&spot[i - 1], &spot[i]) < 0);
    }
    if (spot && !sorted)
        qsort(spot, p->n, sizeof *spot, by_place);
    if (spot && take_layers(spot, p->n))
        qsort(spot, p->n, sizeof *spot, by_place);
    return spot;
}

bool sett__inside(const sett__ctx *c, const sett_tensor *t, sett_arg base, int64_t imm, uint32_t n, uint32_t bytes)
{
    if (base.kind != SETT_INT)
        return true;
    const sett__op *root = &c->b->op[t->root];
    uint32_t by_value = root->code == SETT__PARAM ? c->b->sig.param[root->imm].bytes : 0;
    int64_t room = by_value   ? (int64_t)(by_value / bytes)
                   : !root->n ? INT64_MAX /* the launch decides */
                              : (int64_t)root->n * sett__dtype_bytes((sett_dtype)root->dtype) / bytes;
    if (imm >= 0 && imm <= room - (int64_t)n)
        return true;
    sett__fail(c->b, c->site, c->func, SETT_E_RANGE, imm < 0 ? "%s reaches %s %lld, before its memory begins"
                                                              : "%s reaches %s %lld of its memory, which has %lld",
        sett__tensor_text(c->b, t), sett__is_packed(t) ? "byte" : "element", (long long)(imm < 0 ? imm : imm + (int64_t)n - 1), (long long)room);
    return false;
}
