/* SPDX-License-Identifier: Apache-2.0 */
/* A layout in units of another width: (32,4):(1,32) of 8-bit elements is (8,4):(1,8) of 32-bit ones. */
#include "layout.h"

typedef struct leaf {
    sett_arg s, d;
} leaf;

/* |x|; of INT64_MIN, whose size has no 64 bits, half of it, which the same unit widths divide. */
static int64_t size_of(int64_t x)
{
    return sett__gcd(x, 0);
}

/* n elements become one. */
static leaf to_wider(const sett__ctx *c, leaf x, int64_t n)
{
    if (sett__is_int(x.d, 0))
        return x;
    if (x.d.kind != SETT_INT) { /* a dynamic stride is at least a unit, and whole units */
        if (!sett__divides(sett_arg_i(n), x.d))
            sett__rely(c, SETT__DIVIDES, (sett_arg[]){x.d, sett_arg_i(n)},
                "divisibility: stride %s must be whole units of %lld elements", sett__arg_text(c->b, x.d), (long long)n);
        return (leaf){x.s, sett__div(c, x.d, sett_arg_i(n))};
    }
    if (x.d.path) {
        sett_arg bad = sett__bad(c, SETT_E_ARGUMENT, "invalid: basis strides are coordinates, not elements");
        return (leaf){bad, bad};
    }
    sett_arg per = sett__shape_div(c, sett_arg_i(n), sett_arg_i(size_of(x.d.u.i)));
    return (leaf){sett__shape_div(c, x.s, per), sett__shape_div(c, x.d, sett_arg_i(n))};
}

/* Is there a mode to hold the parts of an element, which lie beside each other? A dynamic stride may be 1. */
static bool has_adjacent(const sett_layout *l)
{
    sett_arg d[64];
    int n = sett__leaves(l->stride);
    bool found = n > 64;
    if (!found)
        sett__flat(l->stride, d);
    for (int i = 0; i < n && !found; i++)
        found = d[i].kind != SETT_INT || d[i].path || d[i].u.i == 1 || d[i].u.i == -1;
    return found;
}

/* One element becomes n. */
static leaf to_narrower(const sett__ctx *c, leaf x, int64_t n)
{
    if (sett__is_int(x.d, 0))
        return x;
    if (x.d.kind == SETT_INT && (x.d.u.i == 1 || x.d.u.i == -1))
        return (leaf){sett__mul(c, x.s, sett_arg_i(n)), x.d};
    return (leaf){x.s, sett__mul(c, x.d, sett_arg_i(n))};
}

static leaf each_leaf(const sett__ctx *c, leaf x, int64_t n, leaf (*f)(const sett__ctx *, leaf, int64_t))
{
    if (x.s.kind != SETT_NODE)
        return f(c, x, n);
    sett_arg *s = sett__kids(c, x.s.rank), *d = sett__kids(c, x.s.rank);
    for (int i = 0; i < x.s.rank; i++) {
        leaf r = each_leaf(c, (leaf){x.s.u.kid[i], x.d.u.kid[i]}, n, f);
        s[i] = r.s;
        d[i] = r.d;
    }
    return (leaf){sett__node(c, x.s.rank, s), sett__node(c, x.s.rank, d)};
}

/* S<b,m,s> moves bits of offsets: wider units drop low bits, so m shifts. */
static bool scale_swizzle(const sett__ctx *c, sett_layout *l, int64_t n, bool wider)
{
    int log2 = 0;
    while (log2 < 31 && (int64_t)1 << log2 < n)
        log2++;
    int base = wider ? l->base - log2 : l->base + log2;
    if ((int64_t)1 << log2 == n && base >= 0 && base <= 30)
        l->base = (uint8_t)base;
    else
        sett__bad(c, SETT_E_DIVIDE, "divisibility: swizzle %s does not move whole units of %lld elements",
            sett__layout_text(c->b, l), (long long)n);
    return (int64_t)1 << log2 == n && base >= 0 && base <= 30;
}

/* n units become one, or one n. */
static sett_layout *rescale(const sett__ctx *c, const sett_layout *l, int64_t n, bool wider)
{
    if (sett__layout_poison(l) || n == 1)
        return (sett_layout *)(uintptr_t)l;
    bool swizzled = l->has_inner == 1;
    if (l->has_inner == 2) { /* the inner layout counts the units; the outer one only coordinates of it */
        for (int i = 0; i < sett__arity(l->offset); i++)
            if (wider && sett__kid(l->offset, i).kind == SETT_INT && sett__kid(l->offset, i).u.i % n) {
                sett__bad(c, SETT_E_DIVIDE, "divisibility: offset %s is no multiple of %lld",
                    sett__arg_text(c->b, l->offset), (long long)n);
                return sett__poison_layout(c->b);
            }
    }
    sett_layout *inner = l->has_inner == 2 ? rescale(c, l->inner, n, wider) : NULL;
    if (inner && sett__layout_poison(inner))
        return inner;
    SETT__FAIL_IF(c->b, c->site, c->func, !wider && l->has_inner != 2 && !has_adjacent(l), sett__poison_layout(c->b), SETT_E_DIVIDE,
        "divisibility: no mode of %s has stride 1, to hold the %lld units of an element: append a mode 1:1", sett__layout_text(c->b, l), (long long)n);
    leaf r = each_leaf(c, (leaf){l->shape, l->stride}, n, wider ? to_wider : to_narrower);
    sett_layout *out = sett__rewrap(c, l, sett__own(c, r.s, r.d));
    if (sett__layout_poison(out) || !l->has_inner)
        return out;
    out->offset = wider ? sett__div(c, l->offset, sett_arg_i(n)) : sett__mul(c, l->offset, sett_arg_i(n));
    if (sett__is_poison(out->offset) || (swizzled && !scale_swizzle(c, out, n, wider)))
        return sett__poison_layout(c->b);
    out->inner = inner;
    return out;
}

sett_layout *sett_recast_layout_at(sett_site site, int new_bits, int old_bits, const sett_layout *l)
{
    if (!sett__use_layout(NULL, site, "sett_recast_layout", l))
        return (sett_layout *)(uintptr_t)l;
    sett__ctx ctx = {sett__home(l), site, "sett_recast_layout"}, *c = &ctx;
    if (new_bits < 1 || old_bits < 1) {
        sett__bad(c, SETT_E_ARGUMENT, "invalid: widths %d and %d must be positive", new_bits, old_bits);
        return sett__poison_layout(c->b);
    }
    int a = new_bits, b = old_bits;
    while (b) {
        int r = a % b;
        a = b;
        b = r;
    }
    return rescale(c, rescale(c, l, old_bits / a, false), new_bits / a, true);
}
