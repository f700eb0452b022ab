/* SPDX-License-Identifier: Apache-2.0 */
/* Tuples of leaves: profiles, products, and what CuTe's int-tuple functions compute. */
#include "layout.h"
#include <string.h>

bool sett__has_basis(sett_arg stride)
{
    if (stride.kind != SETT_NODE)
        return stride.path != 0;
    for (int i = 0; i < stride.rank; i++)
        if (sett__has_basis(stride.u.kid[i]))
            return true;
    return false;
}

bool sett__congruent(sett_arg a, sett_arg b)
{
    if (a.kind != SETT_NODE || b.kind != SETT_NODE)
        return a.kind != SETT_NODE && b.kind != SETT_NODE;
    if (a.rank != b.rank)
        return false;
    for (int i = 0; i < a.rank; i++)
        if (!sett__congruent(a.u.kid[i], b.u.kid[i]))
            return false;
    return true;
}

bool sett__weakly_congruent(sett_arg a, sett_arg b)
{
    if (a.kind != SETT_NODE)
        return true;
    if (b.kind != SETT_NODE || a.rank != b.rank)
        return false;
    for (int i = 0; i < a.rank; i++)
        if (!sett__weakly_congruent(a.u.kid[i], b.u.kid[i]))
            return false;
    return true;
}

int sett__leaves(sett_arg a)
{
    if (a.kind != SETT_NODE)
        return 1;
    int n = 0;
    for (int i = 0; i < a.rank; i++)
        n += sett__leaves(a.u.kid[i]);
    return n;
}

int sett__flat(sett_arg a, sett_arg *out)
{
    if (a.kind != SETT_NODE) {
        *out = a;
        return 1;
    }
    int n = 0;
    for (int i = 0; i < a.rank; i++)
        n += sett__flat(a.u.kid[i], out + n);
    return n;
}

sett_arg sett__flatten(const sett__ctx *c, sett_arg a)
{
    if (a.kind != SETT_NODE)
        return a;
    sett_arg *kid = sett__kids(c, sett__leaves(a));
    return sett__node(c, sett__flat(a, kid), kid);
}

sett_arg sett__product(const sett__ctx *c, sett_arg a)
{
    if (a.kind != SETT_NODE)
        return a;
    sett_arg p = sett_arg_i(1);
    for (int i = 0; i < a.rank; i++) {
        p = sett__mul(c, p, sett__product(c, a.u.kid[i]));
        SETT__OF_MODE(c, p, i, a);
    }
    return p;
}

sett_arg sett__product_each(const sett__ctx *c, sett_arg a)
{
    int n = sett__arity(a);
    sett_arg *kid = sett__kids(c, n);
    for (int i = 0; i < n; i++)
        kid[i] = sett__product(c, sett__kid(a, i));
    return sett__node(c, n, kid);
}

sett_arg sett__append(const sett__ctx *c, sett_arg a, sett_arg x)
{
    int n = sett__arity(a);
    sett_arg *kid = sett__kids(c, n + 1);
    for (int i = 0; i < n; i++)
        kid[i] = sett__kid(a, i);
    kid[n] = x;
    return sett__node(c, n + 1, kid);
}

/* ---- division of shapes ---------------------------------------------------------------- */

typedef sett_arg leaf_fn(const sett__ctx *, sett_arg, sett_arg);

static sett_arg by_leaf(const sett__ctx *c, const char *what, leaf_fn *f, sett_arg a, sett_arg b);

/* How many tiles of any form there are: the shape of what a divide of as many elements leaves. By the size: modes that the tile
 * does not divide, each rounded up, would count too few. */
static sett_arg count_tiles(const sett__ctx *c, sett_arg target, const sett_layout *tiler)
{
    sett_layout *rest = sett__check_shape(c, target) ? sett__complement(c, tiler, sett__product(c, target)) : NULL;
    return sett__layout_poison(rest) ? (sett_arg){.kind = SETT_POISON, .u = {.poisoned = c->b}} : rest->shape;
}

static sett_arg tiles_by_leaf(const sett__ctx *c, sett_arg a, sett_arg b)
{
    return b.kind == SETT_LAYOUT ? count_tiles(c, a, b.u.l) : sett__ceil_div(c, a, b);
}

/* A tuple by a number: the number is used up from mode 0 on. */
static sett_arg divide_through(const sett__ctx *c, leaf_fn *f, sett_arg a, sett_arg *n)
{
    if (a.kind != SETT_NODE) {
        sett_arg q = f(c, a, *n);
        *n = f(c, *n, a);
        return q;
    }
    sett_arg *kid = sett__kids(c, a.rank);
    for (int i = 0; i < a.rank; i++) {
        kid[i] = divide_through(c, f, a.u.kid[i], n);
        SETT__OF_MODE(c, kid[i], i, a);
    }
    return sett__node(c, a.rank, kid);
}

static sett_arg by_leaf(const sett__ctx *c, const char *what, leaf_fn *f, sett_arg a, sett_arg b)
{
    if (b.kind != SETT_NODE)
        return a.kind == SETT_NODE && !(b.kind == SETT_LAYOUT && f == tiles_by_leaf) ? divide_through(c, f, a, &b) : f(c, a, b);
    if (a.kind != SETT_NODE)
        return f(c, a, sett__product(c, b));
    if (b.rank > a.rank)
        return sett__bad(c, SETT_E_RANK, "invalid %s: %s has more modes than %s", what,
            c->b ? sett__arg_text(c->b, b) : "the divisor", c->b ? sett__arg_text(c->b, a) : "the dividend");
    if (!c->b)
        return sett__bad(c, SETT_E_ARGUMENT, "tuples need a build");
    sett_arg *kid = sett__kids(c, a.rank);
    for (int i = 0; i < a.rank; i++) {
        kid[i] = i < b.rank ? by_leaf(c, what, f, a.u.kid[i], b.u.kid[i]) : a.u.kid[i];
        SETT__OF_MODE(c, kid[i], i, a);
    }
    return sett__node(c, a.rank, kid);
}

sett_arg sett__ceil_div_tuple(const sett__ctx *c, sett_arg a, sett_arg b)
{
    if (a.kind == SETT_LAYOUT)
        a = a.u.l->shape;
    if ((a.kind == SETT_NODE || b.kind == SETT_NODE) && !c->b)
        return sett__bad(c, SETT_E_ARGUMENT, "tuples need a build");
    return by_leaf(c, "ceil_div", tiles_by_leaf, a, b);
}

static sett_arg round_up(const sett__ctx *c, sett_arg a, sett_arg b)
{
    return sett__mul(c, sett__ceil_div(c, a, b), b);
}

sett_arg sett__round_up_tuple(const sett__ctx *c, sett_arg a, sett_arg b)
{
    return by_leaf(c, "round_up", round_up, a, b);
}

/* a/b where b divides a, 1 where a divides b. */
static sett_arg shape_div(const sett__ctx *c, sett_arg a, sett_arg b)
{
    if (a.kind != SETT_INT || b.kind != SETT_INT) {
        if (c->b && !sett__divides(a, b) && !sett__divides(b, a))
            sett__rely(c, SETT__EITHER_WAY, (sett_arg[]){a, b}, "divisibility: one of %s and %s must divide the other",
                sett__arg_text(c->b, a), sett__arg_text(c->b, b));
        return sett__ceil_div(c, a, b);
    }
    if (!a.u.i || !b.u.i)
        return sett__bad(c, SETT_E_RANGE, "invalid: %lld by %lld", (long long)a.u.i, (long long)b.u.i);
    if (a.u.i == -1 || b.u.i == -1) /* INT64_MIN % -1 traps */
        return b.u.i == -1 ? sett__div(c, a, b) : sett_arg_i(b.u.i < 0 ? 1 : -1);
    if (a.u.i % b.u.i && b.u.i % a.u.i)
        return sett__bad(c, SETT_E_DIVIDE, "divisibility: neither of %lld and %lld divides the other; pad one of them",
            (long long)a.u.i, (long long)b.u.i);
    if (a.u.i % b.u.i == 0)
        return sett__div(c, a, b);
    return sett_arg_i((a.u.i < 0) != (b.u.i < 0) ? -1 : 1);
}

sett_arg sett__shape_div(const sett__ctx *c, sett_arg a, sett_arg b)
{
    return by_leaf(c, "shape_div", shape_div, a, b);
}

/* ---- choosing by coordinate --------------------------------------------------------------- */

static int sieve_room(sett_arg crd, sett_arg x)
{
    if (crd.kind != SETT_NODE || x.kind != SETT_NODE)
        return 1;
    int n = 0;
    for (int i = 0; i < crd.rank; i++)
        n += sieve_room(crd.u.kid[i], sett__kid(x, i));
    return n;
}

/* False: the profiles do not fit. */
static bool sieve(sett_arg crd, sett_arg x, bool slices, sett_arg *out, int *n)
{
    if (crd.kind != SETT_NODE) {
        if ((crd.kind == SETT_SLICE) == slices)
            out[(*n)++] = x;
        return true;
    }
    if (x.kind != SETT_NODE || x.rank != crd.rank)
        return false;
    for (int i = 0; i < crd.rank; i++)
        if (!sieve(crd.u.kid[i], x.u.kid[i], slices, out, n))
            return false;
    return true;
}

sett_arg sett__sieve(const sett__ctx *c, sett_arg crd, sett_arg x, bool slices)
{
    if (!sett__weakly_congruent(crd, x))
        return sett__bad(c, SETT_E_RANK, "invalid: coordinate %s does not fit %s", sett__arg_text(c->b, crd),
            sett__arg_text(c->b, x));
    if (crd.kind != SETT_NODE)
        return (crd.kind == SETT_SLICE) == slices ? x : sett__node(c, 0, NULL);
    sett_arg *kid = sett__kids(c, sieve_room(crd, x));
    int n = 0;
    sieve(crd, x, slices, kid, &n);
    return sett__node(c, n, kid);
}

/* ---- coordinates ---------------------------------------------------------------------------- */

static sett_arg compact(const sett__ctx *c, sett_arg shape, sett_arg *next)
{
    if (shape.kind == SETT_NODE) {
        sett_arg *kid = sett__kids(c, shape.rank);
        for (int i = 0; i < shape.rank; i++) {
            kid[i] = compact(c, shape.u.kid[i], next);
            SETT__OF_MODE(c, *next, i, shape);
        }
        return sett__node(c, shape.rank, kid);
    }
    if (sett__is_int(shape, 1))
        return sett_arg_i(0);
    sett_arg d = *next;
    *next = sett__mul(c, d, shape);
    return d;
}

sett_arg sett__compact(const sett__ctx *c, sett_arg shape, sett_arg start, sett_arg *next)
{
    sett_arg stride = compact(c, shape, &start);
    if (next)
        *next = start;
    return stride;
}

/* v@i@j as a coordinate: zeros, and v in mode j's mode i. */
static sett_arg unit_coordinate(const sett__ctx *c, sett_arg v)
{
    if (!v.path)
        return v;
    int at = (int)(v.path & 15) - 1;
    sett_arg *kid = sett__kids(c, at + 1);
    for (int i = 0; i < at; i++)
        kid[i] = sett_arg_i(0);
    v.path >>= 4;
    kid[at] = unit_coordinate(c, v);
    return sett__node(c, at + 1, kid);
}

/* Sum of numbers, or of coordinates; the shorter coordinate is padded with zeros. */
static sett_arg sum_padded(const sett__ctx *c, sett_arg a, sett_arg b)
{
    a = unit_coordinate(c, a);
    b = unit_coordinate(c, b);
    if (a.kind != SETT_NODE && b.kind != SETT_NODE)
        return sett__add(c, a, b);
    if (sett__is_int(a, 0))
        return b;
    if (sett__is_int(b, 0))
        return a;
    if (a.kind != SETT_NODE || b.kind != SETT_NODE)
        return sett__bad(c, SETT_E_RANK, "invalid: a number and a coordinate have no sum");
    int n = a.rank > b.rank ? a.rank : b.rank;
    sett_arg *kid = sett__kids(c, n);
    for (int i = 0; i < n; i++)
        kid[i] = i >= a.rank ? b.u.kid[i] : i >= b.rank ? a.u.kid[i] : sum_padded(c, a.u.kid[i], b.u.kid[i]);
    return sett__node(c, n, kid);
}

sett_arg sett__sum(const sett__ctx *c, sett_arg a, sett_arg b)
{
    return sum_padded(c, a, b);
}

/* Can a coordinate inside this mode, or what it moves by, be past 2^31? */
static bool is_far(sett_arg shape, sett_arg stride)
{
    int64_t far, step = stride.kind == SETT_INT ? stride.u.i : 1;
    if (shape.kind == SETT_VALUE)
        return sett_dtype_bits((sett_dtype)shape.u.v->dtype) == 64;
    if (shape.kind == SETT_INT)
        return __builtin_mul_overflow(shape.u.i, step, &far) || far > INT32_MAX || far < INT32_MIN;
    bool any = false;
    for (int i = 0; shape.kind == SETT_NODE && i < shape.rank && !any; i++)
        any = is_far(shape.u.kid[i], stride.kind == SETT_NODE ? stride.u.kid[i] : stride);
    return any;
}

sett_arg sett__crd2idx(const sett__ctx *c, sett_arg crd, sett_arg shape, sett_arg stride)
{
    if (crd.kind == SETT_POISON)
        return crd;
    if (stride.kind == SETT_POISON) /* compact strides of a shape whose product overflows */
        return stride;
    if (crd.kind == SETT_SLICE)
        crd = sett_arg_i(0);
    if (crd.kind == SETT_NODE) {
        if (shape.kind != SETT_NODE || shape.rank != crd.rank)
            return sett__bad(c, SETT_E_RANK, "invalid: coordinate %s does not fit shape %s", sett__arg_text(c->b, crd),
                sett__arg_text(c->b, shape));
        sett_arg s = sett_arg_i(0);
        for (int i = 0; i < crd.rank; i++) {
            s = sum_padded(c, s, sett__crd2idx(c, crd.u.kid[i], shape.u.kid[i], stride.u.kid[i]));
            SETT__OF_MODE(c, s, i, shape);
        }
        return s;
    }
    if (crd.kind == SETT_VALUE && is_far(shape, stride)) /* a tile's number times its size, say */
        crd = sett__widen(c, crd);
    if (shape.kind != SETT_NODE)
        return unit_coordinate(c, sett__mul(c, crd, stride));
    sett_arg s = sett_arg_i(0);
    for (int i = 0; i < shape.rank; i++) { /* an index: mode 0 varies fastest, the last takes what is left */
        bool last = i == shape.rank - 1;
        sett_arg size = last ? sett_arg_i(1) : sett__product(c, shape.u.kid[i]);
        s = sum_padded(c, s, sett__crd2idx(c, last ? crd : sett__rem(c, crd, size), shape.u.kid[i], stride.u.kid[i]));
        SETT__OF_MODE(c, s, i, shape);
        crd = sett__div(c, crd, size);
    }
    return s;
}

sett_arg sett__idx2crd(const sett__ctx *c, sett_arg idx, sett_arg shape)
{
    if (idx.kind == SETT_NODE) {
        if (shape.kind != SETT_NODE || shape.rank != idx.rank)
            return sett__bad(c, SETT_E_RANK, "invalid: coordinate %s does not fit shape %s", sett__arg_text(c->b, idx),
                sett__arg_text(c->b, shape));
        sett_arg *kid = sett__kids(c, idx.rank);
        for (int i = 0; i < idx.rank; i++)
            kid[i] = sett__idx2crd(c, idx.u.kid[i], shape.u.kid[i]);
        return sett__node(c, idx.rank, kid);
    }
    if (shape.kind != SETT_NODE)
        return idx;
    sett_arg *kid = sett__kids(c, shape.rank);
    for (int i = 0; i < shape.rank; i++) {
        bool last = i == shape.rank - 1;
        sett_arg size = last ? sett_arg_i(1) : sett__product(c, shape.u.kid[i]);
        kid[i] = sett__idx2crd(c, last ? idx : sett__rem(c, idx, size), shape.u.kid[i]);
        idx = sett__div(c, idx, size);
    }
    return sett__node(c, shape.rank, kid);
}
