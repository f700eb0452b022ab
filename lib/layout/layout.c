/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts: making them, asking them, evaluating them, choosing modes. */
#include "layout.h"
#include <stdlib.h>
#include <string.h>

/* ---- objects --------------------------------------------------------------------- */

sett_layout *sett__poison_layout(const sett_build *b)
{
    return b ? (sett_layout *)&b->poison->layout : NULL;
}

bool sett__layout_poison(const sett_layout *l)
{
    return !l || l->head.poison;
}

sett_layout *sett__own(const sett__ctx *c, sett_arg shape, sett_arg stride)
{
    if (sett__is_poison(shape) || sett__is_poison(stride))
        return sett__poison_layout(c->b);
    sett_layout *l = sett__new_object(c->b, SETT__K_LAYOUT, sizeof *l);
    l->shape = shape;
    l->stride = stride;
    l->offset = sett_arg_i(0);
    return l;
}

sett_layout *sett__layout(sett_build *b, sett_arg shape, sett_arg stride)
{
    sett__ctx c = {b, {0}, "sett_make_layout"};
    return sett__own(&c, sett_arg_keep(b, shape), sett_arg_keep(b, stride));
}

sett_layout *sett__rewrap(const sett__ctx *c, const sett_layout *like, const sett_layout *outer)
{
    if (sett__layout_poison(outer))
        return sett__poison_layout(c->b);
    if (!like->has_inner)
        return (sett_layout *)(uintptr_t)outer;
    sett_layout *l = sett__own(c, outer->shape, outer->stride);
    l->has_inner = like->has_inner;
    l->bits = like->bits;
    l->base = like->base;
    l->shift = like->shift;
    l->offset = like->offset;
    l->inner = like->inner;
    return l;
}

sett_layout *sett__mode(const sett__ctx *c, const sett_layout *l, int i)
{
    return sett__own(c, sett__kid(l->shape, i), sett__kid(l->stride, i));
}

sett_layout *sett__join(const sett__ctx *c, int n, sett_layout *const *l)
{
    sett_arg *s = sett__kids(c, n), *d = sett__kids(c, n);
    for (int i = 0; i < n; i++) {
        if (sett__layout_poison(l[i]))
            return sett__poison_layout(c->b);
        if (l[i]->has_inner) {
            sett__bad(c, SETT_E_ARGUMENT, "invalid: mode %d would be %s, and one mode alone cannot be composed", i,
                sett__layout_text(c->b, l[i]));
            return sett__poison_layout(c->b);
        }
        s[i] = l[i]->shape;
        d[i] = l[i]->stride;
    }
    return sett__own(c, sett__node(c, n, s), sett__node(c, n, d));
}

/* What a public call gives back when its operand is of no use: the operand's own build is
 * known to be alive only if the operand is. */
static sett_layout *unusable(const sett_layout *l)
{
    return (sett_layout *)(uintptr_t)l;
}

#define ENTER(l, name) \
    if (!sett__use_layout(NULL, site, name, l)) \
        return unusable(l); \
    const sett__ctx ctx = {sett__home(l), site, name}, *c = &ctx
#define ENTER_ARG(l, name, arg) \
    if (!l) \
        sett__use_layout(sett__build_of(arg), site, name, NULL); \
    ENTER(l, name); \
    if (!sett__use_arg(c->b, site, name, arg)) \
    return sett__poison_layout(c->b)

/* ---- making ------------------------------------------------------------------------ */

static bool good_leaf(sett_arg a)
{
    return a.kind == SETT_INT ||
           (a.kind == SETT_VALUE && a.u.v->scalar && sett__dtype_is_int((sett_dtype)a.u.v->dtype));
}

bool sett__check_shape(const sett__ctx *c, sett_arg s)
{
    if (s.kind == SETT_NODE) {
        for (int i = 0; i < s.rank; i++)
            if (!sett__check_shape(c, s.u.kid[i]))
                return false;
        return true;
    }
    if (!good_leaf(s) || s.path) {
        sett__bad(c, SETT_E_ARGUMENT, "invalid: %s is not an extent; an integer is needed", sett__arg_text(c->b, s));
        return false;
    }
    if (s.kind == SETT_INT && s.u.i < 1) {
        sett__bad(c, SETT_E_SHAPE, "invalid: extent %lld is not positive", (long long)s.u.i);
        return false;
    }
    return true;
}

static bool check_stride(const sett__ctx *c, sett_arg d)
{
    if (d.kind == SETT_NODE) {
        for (int i = 0; i < d.rank; i++)
            if (!check_stride(c, d.u.kid[i]))
                return false;
        return true;
    }
    if (!good_leaf(d))
        sett__bad(c, SETT_E_ARGUMENT, "invalid: %s is not a stride; an integer is needed", sett__arg_text(c->b, d));
    return good_leaf(d);
}

sett_layout *sett__make(const sett__ctx *c, sett_arg shape, sett_arg stride)
{
    if (!sett__check_shape(c, shape))
        return sett__poison_layout(c->b);
    if (stride.kind == SETT_SLICE) {
        shape = sett_arg_keep(c->b, shape);
        return sett__own(c, shape, sett__compact(c, shape, sett_arg_i(1), NULL));
    }
    if (!check_stride(c, stride))
        return sett__poison_layout(c->b);
    if (!sett__congruent(shape, stride)) {
        sett__bad(c, SETT_E_RANK, "shape %s and stride %s differ in profile", sett__arg_text(c->b, shape),
            sett__arg_text(c->b, stride));
        return sett__poison_layout(c->b);
    }
    return sett__layout(c->b, shape, stride);
}

static bool use_arg(const sett__ctx *c, sett_arg a)
{
    return sett__use_arg(c->b, c->site, c->func, a);
}

/* (a, b, ...) of layouts: a mode each. */
static sett_layout *concatenated(const sett__ctx *c, sett_arg parts)
{
    sett_layout **l = sett__new(c->b, sizeof *l * parts.rank);
    for (int i = 0; i < parts.rank; i++) {
        sett_arg part = parts.u.kid[i];
        if (part.kind != SETT_LAYOUT || part.u.l->has_inner) {
            sett__bad(c, SETT_E_ARGUMENT, "invalid: mode %d is %s; layouts are joined only with shape:stride", i,
                sett__arg_text(c->b, part));
            return sett__poison_layout(c->b);
        }
        l[i] = part.u.l;
    }
    return sett__join(c, parts.rank, l);
}

sett_layout *sett_make_layout_at(sett_site site, sett_build *b, sett_arg shape, sett_arg stride)
{
    b = sett__given(b, site, "sett_make_layout");
    sett__ctx c = {b, site, "sett_make_layout"};
    if (!b)
        return NULL;
    if (!use_arg(&c, shape))
        return sett__poison_layout(b);
    bool layouts = shape.kind == SETT_NODE && shape.rank && shape.u.kid && shape.u.kid[0].kind == SETT_LAYOUT;
    if (layouts && stride.kind == SETT_SLICE)
        return concatenated(&c, shape);
    return use_arg(&c, stride) ? sett__make(&c, shape, stride) : sett__poison_layout(b);
}

/* A leaf of an order, with all of the shape that stands below it. */
typedef struct ranked {
    int64_t order;
    int late;              /* its place among all leaves, from 1, where the order is known only when it runs; else 0 */
    sett_arg size, stride; /* extents together, and the stride of the first */
} ranked;

/* The leaves of an order, from left to right. False: one of them is no integer. */
static bool rank_leaves(const sett__ctx *c, sett_arg shape, sett_arg order, ranked *leaf, int *n)
{
    for (int i = 0; order.kind == SETT_NODE && i < order.rank; i++)
        if (!rank_leaves(c, shape.u.kid[i], order.u.kid[i], leaf, n))
            return false;
    if (order.kind == SETT_NODE)
        return true;
    if (!good_leaf(order) || order.path) {
        sett__bad(c, SETT_E_ARGUMENT, "invalid: %s in an order: an order is of integers, the least for the mode whose elements lie closest",
            sett__arg_text(c->b, order));
        return false;
    }
    bool known = order.kind == SETT_INT;
    leaf[*n] = (ranked){.order = known ? order.u.i : 0, .late = known ? 0 : *n + 1, .size = sett__product(c, shape)};
    ++*n;
    return true;
}

static int compare_orders(const void *a, const void *b)
{
    const ranked *x = *(ranked *const *)a, *y = *(ranked *const *)b;
    if (x->late != y->late)
        return x->late < y->late ? -1 : 1;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Each leaf of the order starts beyond all that come before it; equal ones start at the same stride. */
static void start_leaves(const sett__ctx *c, ranked *leaf, int n)
{
    ranked **sorted = sett__new(c->b, sizeof *sorted * (size_t)n);
    sett_arg next = sett_arg_i(1);
    for (int i = 0; i < n; i++)
        sorted[i] = &leaf[i];
    qsort(sorted, (size_t)n, sizeof *sorted, compare_orders);
    for (int i = 0; i < n; i++) {
        bool tie = i && sorted[i]->late == sorted[i - 1]->late && sorted[i]->order == sorted[i - 1]->order;
        sorted[i]->stride = tie ? sorted[i - 1]->stride : next;
        next = sett__mul(c, next, sorted[i]->size);
    }
}

/* The strides of one mode; below a leaf of the order it is colexicographic. */
static sett_arg in_order(const sett__ctx *c, sett_arg shape, sett_arg order, const ranked **leaf)
{
    if (order.kind != SETT_NODE)
        return sett__compact(c, shape, (*leaf)++->stride, NULL);
    sett_arg *kid = sett__kids(c, order.rank);
    for (int i = 0; i < order.rank; i++)
        kid[i] = in_order(c, shape.u.kid[i], order.u.kid[i], leaf);
    return sett__node(c, order.rank, kid);
}

sett_layout *sett__ordered(const sett__ctx *c, sett_arg shape, sett_arg order)
{
    if (!sett__check_shape(c, shape))
        return sett__poison_layout(c->b);
    bool empty = order.kind == SETT_NODE && !order.rank && shape.kind == SETT_NODE && shape.rank;
    if (empty || !sett__weakly_congruent(order, shape)) {
        sett__bad(c, SETT_E_RANK, "invalid: order %s does not fit shape %s: it has an integer for each mode, or for each mode within one",
            sett__arg_text(c->b, order), sett__arg_text(c->b, shape));
        return sett__poison_layout(c->b);
    }
    shape = sett_arg_keep(c->b, shape);
    int n = 0;
    ranked *leaf = sett__new(c->b, sizeof *leaf * (size_t)sett__leaves(order));
    if (!rank_leaves(c, shape, order, leaf, &n))
        return sett__poison_layout(c->b);
    start_leaves(c, leaf, n);
    const ranked *at = leaf;
    return sett__own(c, shape, in_order(c, shape, order, &at));
}

sett_layout *sett_make_ordered_layout_at(sett_site site, sett_build *b, sett_arg shape, sett_arg order)
{
    b = sett__given(b, site, "sett_make_ordered_layout");
    sett__ctx c = {b, site, "sett_make_ordered_layout"};
    if (!b)
        return NULL;
    return use_arg(&c, shape) && use_arg(&c, order) ? sett__ordered(&c, shape, order) : sett__poison_layout(b);
}

static sett_arg row_stride(const sett__ctx *c, sett_arg shape, sett_arg *next)
{
    if (shape.kind != SETT_NODE)
        return sett__compact(c, shape, *next, next);
    sett_arg *kid = sett__kids(c, shape.rank);
    for (int i = shape.rank - 1; i >= 0; i--)
        kid[i] = row_stride(c, shape.u.kid[i], next);
    return sett__node(c, shape.rank, kid);
}

sett_layout *sett_row_major_at(sett_site site, sett_build *b, sett_arg shape)
{
    b = sett__given(b, site, "sett_row_major");
    sett__ctx c = {b, site, "sett_row_major"};
    sett_arg next = sett_arg_i(1);
    if (!b || !use_arg(&c, shape) || !sett__check_shape(&c, shape))
        return sett__poison_layout(b);
    shape = sett_arg_keep(b, shape);
    return sett__own(&c, shape, row_stride(&c, shape, &next));
}

static sett_arg basis_strides(const sett__ctx *c, sett_arg shape, uint32_t path, int depth)
{
    if (shape.kind != SETT_NODE) {
        sett_arg one = sett_arg_i(1);
        one.path = path;
        return one;
    }
    if (depth == 8 || shape.rank > 15)
        return sett__bad(
            c, SETT_E_LIMIT, "%s is nested or wide beyond 8 levels of 15 modes", sett__arg_text(c->b, shape));
    sett_arg *kid = sett__kids(c, shape.rank);
    for (int i = 0; i < shape.rank; i++)
        kid[i] = basis_strides(c, shape.u.kid[i], path | (uint32_t)(i + 1) << (4 * depth), depth + 1);
    return sett__node(c, shape.rank, kid);
}

sett_layout *sett_make_identity_layout_at(sett_site site, sett_build *b, sett_arg shape)
{
    b = sett__given(b, site, "sett_make_identity_layout");
    sett__ctx c = {b, site, "sett_make_identity_layout"};
    if (!b || !use_arg(&c, shape) || !sett__check_shape(&c, shape))
        return sett__poison_layout(b);
    shape = sett_arg_keep(b, shape);
    return sett__own(&c, shape, basis_strides(&c, shape, 0, 0));
}

sett_layout *sett_make_swizzled_at(sett_site site, int bits, int base, int shift, const sett_layout *l)
{
    ENTER(l, "sett_make_swizzled");
    if (bits < 0 || base < 0 || abs(shift) < bits || bits + base + abs(shift) > 30) {
        sett__bad(c, SETT_E_RANGE,
            "S<%d,%d,%d> is no swizzle: bits at least 0, base at least 0, |shift| at least bits, sum at most 30", bits,
            base, shift);
        return sett__poison_layout(c->b);
    }
    if (l->has_inner) {
        sett__bad(c, SETT_E_ARGUMENT, "invalid: %s is composed already", sett__layout_text(c->b, l));
        return sett__poison_layout(c->b);
    }
    sett_layout *r = sett__own(c, l->shape, l->stride);
    if (bits) {
        r->has_inner = 1;
        r->bits = (uint8_t)bits;
        r->base = (uint8_t)base;
        r->shift = (int8_t)shift;
    }
    return r;
}

sett_layout *sett_make_composed_layout_at(
    sett_site site, const sett_layout *inner, sett_arg offset, const sett_layout *outer)
{
    ENTER_ARG(inner, "sett_make_composed_layout", offset);
    if (!sett__use_layout(c->b, site, c->func, outer))
        return sett__poison_layout(c->b);
    if (outer->has_inner) {
        sett__bad(
            c, SETT_E_ARGUMENT, "invalid: the outer layout %s is composed already", sett__layout_text(c->b, outer));
        return sett__poison_layout(c->b);
    }
    int nested = 1;
    for (const sett_layout *l = inner; l->has_inner == 2; l = l->inner)
        nested++;
    if (nested > SETT__MAX_NEST) {
        sett__bad(c, SETT_E_LIMIT, "more than %d layouts are composed", SETT__MAX_NEST);
        return sett__poison_layout(c->b);
    }
    sett_layout *r = sett__own(c, outer->shape, outer->stride);
    r->has_inner = 2;
    r->inner = unusable(inner);
    r->offset = sett_arg_keep(c->b, offset);
    return r;
}

/* ---- asking --------------------------------------------------------------------------- */

static const sett_site nowhere;

static bool usable_layout(const sett_layout *l, const char *name)
{
    return sett__use_layout(NULL, nowhere, name, l);
}

sett_arg sett_shape_layout(const sett_layout *l)
{
    return usable_layout(l, "sett_shape") ? l->shape : (sett_arg){.kind = SETT_POISON};
}

sett_arg sett_stride_layout(const sett_layout *l)
{
    return usable_layout(l, "sett_stride") ? l->stride : (sett_arg){.kind = SETT_POISON};
}

sett_arg sett_size_layout(const sett_layout *l)
{
    if (!usable_layout(l, "sett_size"))
        return (sett_arg){.kind = SETT_POISON};
    return sett__product(&(sett__ctx){sett__home(l), nowhere, "sett_size"}, l->shape);
}

static sett_arg last_offset(const sett__ctx *c, sett_arg s, sett_arg d)
{
    sett_arg sum = sett_arg_i(0);
    if (s.kind == SETT_NODE) {
        for (int i = 0; i < s.rank; i++) {
            sum = sett__sum(c, sum, last_offset(c, s.u.kid[i], d.u.kid[i]));
            SETT__OF_MODE(c, sum, i, s);
        }
        return sum;
    }
    if (d.kind == SETT_INT && d.u.i < 0) /* the highest offset is what a buffer must hold beyond its start */
        d.u.i = d.u.i == INT64_MIN ? INT64_MAX : -d.u.i;
    return sett__crd2idx(c, sett__sub(c, s, sett_arg_i(1)), s, d);
}

/* Of a coordinate: each extent. */
static sett_arg plus_one(const sett__ctx *c, sett_arg x)
{
    if (x.kind != SETT_NODE)
        return sett__add(c, x, sett_arg_i(1));
    sett_arg *kid = sett__kids(c, x.rank);
    for (int i = 0; i < x.rank; i++)
        kid[i] = plus_one(c, x.u.kid[i]);
    return sett__node(c, x.rank, kid);
}

sett_arg sett_cosize_layout(const sett_layout *l)
{
    if (!usable_layout(l, "sett_cosize"))
        return (sett_arg){.kind = SETT_POISON};
    sett__ctx c = {sett__home(l), nowhere, "sett_cosize"};
    return sett__product(&c, plus_one(&c, last_offset(&c, l->shape, l->stride)));
}

sett_arg sett_shape_arg(sett_arg a)
{
    sett__arg_lives(nowhere, "sett_shape", a);
    return a;
}

sett_arg sett_stride_arg(sett_arg a)
{
    sett__ctx c = {sett__build_of(a), nowhere, "sett_stride"};
    sett__use_arg(c.b, nowhere, c.func, a);
    return sett__bad(&c, SETT_E_ARGUMENT, "a tuple has no strides");
}

sett_arg sett_size_arg(sett_arg a)
{
    sett__ctx c = {sett__build_of(a), nowhere, "sett_size"};
    if (!sett__use_arg(c.b, nowhere, c.func, a))
        return (sett_arg){.kind = SETT_POISON, .u = {.poisoned = c.b}};
    return sett__product(&c, a);
}

sett_arg sett_cosize_arg(sett_arg a)
{
    return sett_size_arg(a);
}

/* A value is an array of its shape, compact: as a tuple, but for the strides' message. */
sett_arg sett_shape_val(const sett_val *v)
{
    return sett__use_val(NULL, nowhere, "sett_shape", v) ? v->shape : (sett_arg){.kind = SETT_POISON};
}

sett_arg sett_stride_val(const sett_val *v)
{
    if (!sett__use_val(NULL, nowhere, "sett_stride", v))
        return (sett_arg){.kind = SETT_POISON};
    return sett__bad(&(sett__ctx){sett__home(v), nowhere, "sett_stride"}, SETT_E_ARGUMENT, "a value has no strides");
}

sett_arg sett_size_val(const sett_val *v)
{
    return sett__use_val(NULL, nowhere, "sett_size", v) ? sett_arg_i(v->n) : (sett_arg){.kind = SETT_POISON};
}

sett_arg sett_cosize_val(const sett_val *v)
{
    return sett__use_val(NULL, nowhere, "sett_cosize", v) ? sett_arg_i(v->n) : (sett_arg){.kind = SETT_POISON};
}

int sett_rank_val(const sett_val *v)
{
    return sett__use_val(NULL, nowhere, "sett_rank", v) ? sett_rank_arg(v->shape) : 1;
}

int sett_depth_val(const sett_val *v)
{
    return sett__use_val(NULL, nowhere, "sett_depth", v) ? sett_depth_arg(v->shape) : 1;
}

int sett_rank_arg(sett_arg a)
{
    return sett__arg_lives(nowhere, "sett_rank", a) && a.kind == SETT_NODE ? a.rank : 1;
}

int sett_rank_layout(const sett_layout *l)
{
    return usable_layout(l, "sett_rank") ? sett_rank_arg(l->shape) : 1;
}

static int depth_below(sett_arg a, int level)
{
    int most = 0;
    if (a.kind != SETT_NODE)
        return a.kind == SETT_POISON ? 1 : 0;
    if (level > SETT__MAX_NEST || !a.u.kid)
        return 1;
    for (int i = 0; i < a.rank; i++) {
        int d = depth_below(a.u.kid[i], level + 1);
        most = d > most ? d : most;
    }
    return most + 1;
}

int sett_depth_arg(sett_arg a)
{
    return sett__arg_lives(nowhere, "sett_depth", a) ? depth_below(a, 0) : 1;
}

int sett_depth_layout(const sett_layout *l)
{
    return usable_layout(l, "sett_depth") ? sett_depth_arg(l->shape) : 1;
}

int64_t sett_static_at(sett_site site, sett_build *b, sett_arg a)
{
    b = sett__given(b, site, "sett_static");
    sett__ctx c = {b, site, "sett_static"};
    if (a.kind == SETT_INT && !a.path)
        return a.u.i;
    if (use_arg(&c, a))
        sett__bad(&c, SETT_E_STATIC, "%s is not a static integer: it is known when the kernel runs, not while building", sett__arg_text(b, a));
    return 1;
}

static bool same_arg(sett_arg a, sett_arg b)
{
    if (a.kind != b.kind || a.path != b.path)
        return false;
    switch (a.kind) {
    case SETT_NODE:
        if (a.rank != b.rank)
            return false;
        for (int i = 0; i < a.rank; i++)
            if (!same_arg(a.u.kid[i], b.u.kid[i]))
                return false;
        return true;
    case SETT_INT:
        return a.u.i == b.u.i;
    case SETT_VALUE:
        return a.u.v == b.u.v;
    case SETT_LAYOUT:
        return sett_layout_equal(a.u.l, b.u.l);
    default:
        return a.kind == SETT_SLICE;
    }
}

bool sett_layout_equal(const sett_layout *a, const sett_layout *b)
{
    if (!usable_layout(a, "sett_layout_equal") || !usable_layout(b, "sett_layout_equal") || a->has_inner != b->has_inner)
        return false;
    if (!same_arg(a->shape, b->shape) || !same_arg(a->stride, b->stride))
        return false;
    if (a->has_inner && !same_arg(a->offset, b->offset))
        return false;
    if (a->has_inner == 1)
        return a->bits == b->bits && a->base == b->base && a->shift == b->shift;
    return !a->has_inner || sett_layout_equal(a->inner, b->inner);
}

/* ---- evaluating ----------------------------------------------------------------------------- */

sett_arg sett__layout_at(const sett__ctx *c, const sett_layout *l, sett_arg crd)
{
    sett_arg x = sett__crd2idx(c, crd, l->shape, l->stride);
    if (!l->has_inner)
        return x;
    x = sett__sum(c, l->offset, x);
    if (x.kind == SETT_POISON)
        return x;
    return l->has_inner == 1 ? sett__xor_shift(c, x, l->bits, l->base, l->shift) : sett__layout_at(c, l->inner, x);
}

sett_arg sett_crd2idx_at(sett_site site, const sett_layout *l, sett_arg crd)
{
    if (!sett__use_layout(SETT__HOME_OR(l, sett__build_of(crd)), site, "sett_crd2idx", l))
        return (sett_arg){.kind = SETT_POISON};
    sett__ctx c = {sett__home(l), site, "sett_crd2idx"};
    if (!use_arg(&c, crd))
        return (sett_arg){.kind = SETT_POISON, .u = {.poisoned = c.b}};
    return sett__layout_at(&c, l, crd);
}
