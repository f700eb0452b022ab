/* SPDX-License-Identifier: Apache-2.0 */
/* Composition: R(c) = A(B(c)).
 *
 * A is coalesced. Each leaf s:d of B then walks over A's modes from the fastest: d steps are
 * divided out of a mode (what is left goes on), and up to s coordinates are taken from it.
 * That gives a layout only if every division on the way is exact. Static leaves are held to
 * that, and to one condition more that CuTe does not check: the leaves of B together must not
 * carry from one mode of A into the next. What run-time leaves leave open becomes a launch check
 * (promise.c); what a launch does not know is the caller's promise. */
#include "inside.h"
#include <string.h>

/* The largest coordinates that B reaches in one mode of A, forward and back: the sum over its leaves of (take - 1) * step. */
typedef struct reached {
    int64_t most, back; /* most -1: not known while building */
    int leaves;
    sett_arg take, step, sum; /* of the first leaf; of all, where there are several */
} reached;

/* Where a leaf s:d of B does not go over A exactly: the step and the coordinates left with which it comes to the mode, and
 * how many of them fit. */
typedef struct inexact {
    bool any, always; /* always: no layout at all comes of it, strict or not */
    int mode;
    sett_arg s, d, step, left, fit;
} inexact;

typedef struct lhs {
    const sett_layout *l;
    bool strict;
    inexact first; /* said only if no later leaf is refused for its shape, which is CuTe's condition */
    const char **why; /* where a refusal's reason goes instead of the build */
    uint32_t path;    /* of the mode that basis strides of B point to, 0 for the whole */
    struct lhs *next; /* of another such mode */
    sett__mode_list flat;
    reached *used, small[16]; /* one a mode of flat */
} lhs;

/* Fails the build for one leaf of B that does not go over A exactly, or only gives the reason as a word (a->why).
 * of_shape: the coordinates left do not fill a mode; else a step does not divide an extent. Always false. */
static bool refuse_inexact(const sett__ctx *c, const lhs *a, const inexact *x, bool of_shape)
{
    sett_arg n = a->flat.m[x->mode][0];
    char text[160];
    if (a->why) {
        *a->why = of_shape ? "shape-divisibility" : "stride-divisibility";
        return false;
    }
    if (of_shape)
        snprintf(text, sizeof text, "the %s coordinates left must be a multiple of the %s that fit extent %s in steps of %s",
            sett__arg_text(c->b, x->left), sett__arg_text(c->b, x->fit), sett__arg_text(c->b, n), sett__arg_text(c->b, x->step));
    else
        snprintf(text, sizeof text, "extent %s must divide or be divided by the stride %s that reaches it",
            sett__arg_text(c->b, n), sett__arg_text(c->b, x->step));
    sett__bad(c, SETT_E_DIVIDE, "%s: %s:%s over mode %d of coalesced %s: %s", of_shape ? "shape-divisibility" : "stride-divisibility",
        sett__arg_text(c->b, x->s), sett__arg_text(c->b, x->d), x->mode, sett__layout_text(c->b, a->l), text);
    return false;
}

/* Remembers the first step that is not exact. is_exact decides later, because a leaf that fails by its shape comes
 * first. */
static void not_exact(lhs *a, const inexact *x, bool always)
{
    if (!a->first.any)
        a->first = *x;
    a->first.any = true;
    a->first.always |= always;
}

/* |x|, and INT64_MAX for INT64_MIN. */
static int64_t size_of(int64_t x)
{
    return x < 0 ? (x == INT64_MIN ? INT64_MAX : -x) : x;
}

/* Where `take` coordinates in steps of `step` end: (take - 1) * step. */
static sett_arg last_step(const sett__ctx *c, sett_arg take, sett_arg step)
{
    return sett__mul(c, sett__sub(c, take, sett_arg_i(1)), step);
}

/* Adds a leaf s:d of B to what B reaches in one mode of A: as a number if all is static, else as a sum for a launch
 * check. */
static void note_reach(const sett__ctx *c, lhs *a, int mode, sett_arg s, sett_arg d)
{
    int64_t r;
    reached *u = &a->used[mode];
    bool fixed = s.kind == SETT_INT && d.kind == SETT_INT && u->most >= 0;
    int64_t *sum = fixed && d.u.i < 0 ? &u->back : &u->most;
    if (!fixed)
        u->most = -1;
    else if (__builtin_mul_overflow(s.u.i - 1, size_of(d.u.i), &r) || __builtin_add_overflow(r, *sum, sum))
        *sum = INT64_MAX;
    bool last = mode == a->flat.n - 1; /* it has no next mode to carry into */
    if (++u->leaves == 1)
        u->take = s, u->step = d;
    else if (!last && !a->why && (u->most < 0 || a->flat.m[mode][0].kind != SETT_INT))
        u->sum = sett__add(c, u->leaves == 2 ? last_step(c, u->take, u->step) : u->sum, last_step(c, s, d));
}

/* What the exactness of one step rests on where leaves are dynamic: x is stride, extent, coordinates to take, and how
 * many of them fit. */
static void rely_on_steps(const sett__ctx *c, const lhs *a, const sett_arg x[4], int mode)
{
    const sett_arg d = x[0], n = x[1];
    if ((d.kind == SETT_INT && n.kind == SETT_INT) || sett__is_int(x[2], 1) || sett__divides(d, n) || sett__divides(n, d))
        return;
    sett__rely(c, SETT__STEPS, x, "stride-divisibility: mode %d of coalesced %s: extent %s must divide or be divided by the stride %s that reaches it",
        mode, sett__layout_text(c->b, a->l), sett__arg_text(c->b, n), sett__arg_text(c->b, d));
}

/* Makes a launch check that s coordinates are a multiple of the `take` that fit, unless that is known. */
static void rely_on_fill(const sett__ctx *c, const lhs *a, sett_arg s, sett_arg take, int mode)
{
    bool fits = s.kind == SETT_INT && sett__leaf_div(take) >= s.u.i; /* if any do: of an extent of 0 none are taken */
    if ((s.kind == SETT_INT && take.kind == SETT_INT) || fits || sett__divides(take, s))
        return;
    sett__rely(c, SETT__FILLS, (sett_arg[]){s, take},
        "shape-divisibility: %s coordinates must be a multiple of the %s that fit mode %d of coalesced %s",
        sett__arg_text(c->b, s), sett__arg_text(c->b, take), mode, sett__layout_text(c->b, a->l));
}

/* Steps of x->step over an extent n: how many coordinates fit, and the step with which the next mode is reached. CuTe holds
 * a step back to no condition of strides, so that a later shape is to blame before it. */
static bool divide_out(const sett__ctx *c, lhs *a, const inexact *x, sett_arg n, sett_arg *fit, sett_arg *next)
{
    const sett_arg d = x->step, s = x->left;
    if (n.kind != SETT_INT || d.kind != SETT_INT) {
        sett_arg by = d.kind == SETT_INT ? sett_arg_i(size_of(d.u.i)) : d;
        *next = sett__ceil_div(c, by, n);
        *fit = sett__ceil_div(c, n, by);
        if (d.kind == SETT_INT && d.u.i < 0)
            *next = sett__sub(c, sett_arg_i(0), *next);
        return fit->kind != SETT_POISON && next->kind != SETT_POISON;
    }
    int64_t by = size_of(d.u.i);
    if (by % n.u.i && by > n.u.i && d.u.i > 0)
        return refuse_inexact(c, a, x, false);
    *next = sett_arg_i(by / n.u.i + (by % n.u.i != 0));
    *fit = sett_arg_i(n.u.i / by + (n.u.i % by != 0));
    if (d.u.i < 0)
        next->u.i = -next->u.i;
    if (by % n.u.i && by > n.u.i)
        not_exact(a, x, true);
    else if (n.u.i % by && by < n.u.i && s.kind == SETT_INT && s.u.i > fit->u.i)
        not_exact(a, x, false);
    return true;
}

/* One leaf s:d of B over A's modes, appended to out. */
static bool compose_leaf(const sett__ctx *c, lhs *a, sett_arg s, sett_arg d, sett__mode_list *out)
{
    int last = a->flat.n - 1;
    if (sett__is_int(d, 0) || last < 0) {
        sett__push(c, out, s, last < 0 ? sett_arg_i(0) : d);
        return true;
    }
    inexact x = {.s = s, .d = d};
    for (int i = 0; i < last; i++) {
        sett_arg n = a->flat.m[i][0], step = d, take;
        x.mode = i;
        x.step = d;
        x.left = s;
        if (!divide_out(c, a, &x, n, &take, &d))
            return false;
        if (!a->why)
            rely_on_steps(c, a, (sett_arg[]){step.kind == SETT_INT ? sett_arg_i(size_of(step.u.i)) : step, n, s, take}, i);
        if (sett__is_int(take, 1) || sett__is_int(s, 1))
            continue;
        if (!a->why)
            rely_on_fill(c, a, s, take, i);
        x.fit = take = sett__min(c, take, s);
        if (take.kind == SETT_POISON)
            return false;
        if (take.kind == SETT_INT && s.kind == SETT_INT && s.u.i % take.u.i)
            return refuse_inexact(c, a, &x, true);
        note_reach(c, a, i, take, step);
        sett__push(c, out, take, sett__mul(c, step, a->flat.m[i][1]));
        s = sett__div(c, s, take);
    }
    if (!out->n || !sett__is_int(s, 1)) {
        note_reach(c, a, last, s, d);
        sett__push(c, out, s, sett__mul(c, d, a->flat.m[last][1]));
    }
    return true;
}

/* A, coalesced, with nothing reached yet. The last mode stays open: coordinates may go past its extent. */
static void lhs_init(const sett__ctx *c, lhs *a, const sett_layout *l, bool strict, const char **why)
{
    a->l = l;
    a->strict = strict;
    a->why = why;
    a->path = 0;
    a->next = NULL;
    a->first = (inexact){0};
    sett__coalesced(c, &a->flat, l->shape, l->stride, true);
    a->used = a->flat.n <= (int)SETT__COUNT(a->small) ? a->small : sett__new(c->b, sizeof(reached) * (size_t)a->flat.n);
    memset(a->used, 0, sizeof(reached) * (size_t)a->flat.n);
}

/* Makes a launch check that the leaves of B together stay inside of a mode of A. */
static void rely_on_reach(const sett__ctx *c, const lhs *a, const sett_layout *b, int mode)
{
    sett__rely(c, SETT__BELOW, (sett_arg[]){a->used[mode].sum, a->flat.m[mode][0]},
        "stride-divisibility: the modes of %s together must stay in mode %d of coalesced %s", sett__layout_text(c->b, b), mode,
        sett__layout_text(c->b, a->l));
}

/* The leaves of B together reach past a mode of A, and would carry into the next. Always false. */
static bool refuse_carry(const sett__ctx *c, const lhs *a, const sett_layout *b, int mode)
{
    const reached *u = &a->used[mode];
    if (a->why)
        *a->why = "stride-divisibility";
    else
        sett__bad(c, SETT_E_DIVIDE,
            "stride-divisibility: the modes of %s together reach %lld in mode %d of coalesced %s, past its extent "
            "%lld",
            sett__layout_text(c->b, b), u->back > u->most ? -(long long)u->back : (long long)u->most, mode,
            sett__layout_text(c->b, a->l), (long long)a->flat.m[mode][0].u.i);
    return false;
}

/* A step back in one mode and one forward in another would borrow between them. */
static bool refuse_borrow(const sett__ctx *c, const lhs *a, const sett_layout *b)
{
    if (a->why)
        *a->why = "stride-divisibility";
    else
        sett__bad(c, SETT_E_DIVIDE,
            "stride-divisibility: %s steps both forward and back, through more than one mode of coalesced %s: strides of one "
            "sign, or that stay in one mode, are legal",
            sett__layout_text(c->b, b), sett__layout_text(c->b, a->l));
    return false;
}

/* No carry out of a mode but the last, and no borrow? */
static bool exact_mode(const sett__ctx *c, const lhs *a, const sett_layout *b)
{
    int modes = 0, last = a->flat.n - 1;
    bool forward = false, back = false;
    for (int i = 0; i <= last; i++) {
        sett_arg n = a->flat.m[i][0];
        const reached *u = &a->used[i];
        modes += u->most > 0 || u->back > 0;
        forward |= u->most > 0;
        back |= u->back > 0;
        if (i == last)
            break;
        if (u->sum.kind == SETT_VALUE || (u->sum.kind == SETT_INT && u->leaves > 1 && n.kind == SETT_VALUE))
            rely_on_reach(c, a, b, i);
        if (n.kind == SETT_INT && (u->most >= n.u.i || u->back >= n.u.i))
            return refuse_carry(c, a, b, i);
    }
    return !(forward && back && modes > 1) || refuse_borrow(c, a, b);
}

/* After all leaves: is A(B(c)) a layout? A step that was not exact fails a strict composition, and one from which no
 * layout comes fails any. */
static bool is_exact(const sett__ctx *c, const lhs *a, const sett_layout *b)
{
    for (const lhs *x = a; x; x = x->next)
        if (x->first.any && (x->strict || x->first.always))
            return refuse_inexact(c, x, &x->first, false);
    for (; a && a->strict; a = a->next)
        if (!exact_mode(c, a, b))
            return false;
    return true;
}

/* The mode that a basis stride of B points into. */
static bool descend(const sett__ctx *c, const sett_layout **l, uint32_t path)
{
    for (; path; path >>= 4) {
        int i = (int)(path & 15) - 1;
        if (i >= sett__arity((*l)->shape) || (*l)->shape.kind != SETT_NODE) {
            sett__bad(
                c, SETT_E_RANK, "invalid: a basis stride points to mode %d of %s", i, sett__layout_text(c->b, *l));
            return false;
        }
        *l = sett__mode(c, *l, i);
    }
    return true;
}

/* A, or the mode of it that a basis stride points to, with what B's earlier leaves reached there. */
static lhs *pointed_lhs(const sett__ctx *c, lhs *a, uint32_t path)
{
    const sett_layout *l = a->l;
    lhs **at = &a;
    for (; *at; at = &(*at)->next)
        if ((*at)->path == path)
            return *at;
    if (!descend(c, &l, path))
        return NULL;
    lhs *sub = *at = sett__new(c->b, sizeof *sub);
    lhs_init(c, sub, l, a->strict, a->why);
    sub->path = path;
    return sub;
}

/* One leaf of B: its modes over A, as a leaf if there is one, else as a tuple. */
static bool leaf(const sett__ctx *c, lhs *a, sett_arg s, sett_arg d, sett_arg *shape, sett_arg *stride)
{
    sett__mode_list out;
    sett__no_modes(&out);
    lhs *in = pointed_lhs(c, a, d.path);
    d.path = 0;
    if (!in || !compose_leaf(c, in, s, d, &out))
        return false;
    *shape = out.m[0][0];
    *stride = out.m[0][1];
    if (out.n == 1)
        return true;
    sett_arg *ks = sett__kids(c, out.n), *kd = sett__kids(c, out.n);
    for (int i = 0; i < out.n; i++) {
        ks[i] = out.m[i][0];
        kd[i] = out.m[i][1];
    }
    *shape = sett__node(c, out.n, ks);
    *stride = sett__node(c, out.n, kd);
    return true;
}

/* The profile of B, with the modes of each leaf in its place. */
static bool compose_tree(const sett__ctx *c, lhs *a, sett_arg s, sett_arg d, sett_arg *shape, sett_arg *stride)
{
    if (s.kind != SETT_NODE)
        return leaf(c, a, s, d, shape, stride);
    sett_arg *ks = sett__kids(c, s.rank), *kd = sett__kids(c, s.rank);
    for (int i = 0; i < s.rank; i++) {
        bool ok = compose_tree(c, a, s.u.kid[i], d.u.kid[i], &ks[i], &kd[i]);
        if (c->b->error.status)
            sett__name_mode(c, i, &s);
        if (!ok)
            return false;
    }
    *shape = sett_arg_n(s.rank, ks);
    *stride = sett_arg_n(s.rank, kd);
    return true;
}

static sett_layout *with_layout(const sett__ctx *c, const sett_layout *a, const sett_layout *b, bool strict);

/* A o (I o offset o L) is (A o I) o offset o L; what L reaches of I must be inside it, for A o I to be A(I(c)) there. */
static sett_layout *with_inner(const sett__ctx *c, const sett_layout *a, const sett_layout *b, bool strict)
{
    sett_arg size = sett_size_layout(b->inner), end = sett_arg_i(0);
    bool numbers = !sett__has_basis(b->stride) && b->offset.kind == SETT_INT;
    if (numbers)
        end = sett__add(c, b->offset, sett_cosize_layout(sett__own(c, b->shape, b->stride)));
    if (end.kind == SETT_INT && size.kind == SETT_INT && end.u.i > size.u.i) {
        sett__bad(c, SETT_E_RANGE, "invalid: %s reaches %lld, past the %lld coordinates of what is inside",
            sett__layout_text(c->b, b), (long long)end.u.i - 1, (long long)size.u.i);
        return sett__poison_layout(c->b);
    }
    sett_layout *inner = with_layout(c, a, b->inner, strict), *outer = sett__own(c, b->shape, b->stride);
    if (sett__layout_poison(inner) || sett__layout_poison(outer))
        return sett__poison_layout(c->b);
    return sett_make_composed_layout_at(c->site, inner, b->offset, outer);
}

/* Where A takes the bits of a number: out[i] for bit i, the last mode without an end. False: not bit by bit. */
static bool bit_map(const sett__mode_list *m, int8_t out[63])
{
    int bit = 0, from = 0;
    for (int i = 0; i < m->n; i++) {
        int n = m->m[i][0].kind == SETT_INT ? sett__log2_of(m->m[i][0].u.i) : -1;
        int d = m->m[i][1].kind == SETT_INT && !m->m[i][1].path ? sett__log2_of(m->m[i][1].u.i) : -1;
        bool last = i == m->n - 1;
        if ((n < 0 && !last) || d < 0)
            return false;
        for (from = bit; bit < 63 && (last || bit < from + n); bit++)
            out[bit] = (int8_t)(d + bit - from < 63 ? d + bit - from : 63);
    }
    return m->n > 0;
}

/* A o (S o offset o L): where A moves bits only, and those of S to neighbours, it is S' o A o offset o L. */
static sett_layout *with_swizzle(const sett__ctx *c, const sett_layout *a, const sett_layout *b)
{
    sett__mode_list m;
    int8_t at[63];
    uint64_t seen = 0;
    int to = b->base + (b->shift < 0 ? -b->shift : 0), from = b->base + (b->shift > 0 ? b->shift : 0);
    sett_arg size = sett_size_layout(a);
    sett_layout *plain = sett__own(c, b->shape, b->stride), *moved;
    sett__coalesced(c, &m, a->shape, a->stride, false);
    bool fits = size.kind == SETT_INT && bit_map(&m, at);
    for (int i = 0; fits && i < 63 && (i < to + b->bits || i < from + b->bits || (int64_t)1 << i < size.u.i); i++) {
        fits = at[i] < 63 && !(seen >> at[i] & 1);
        seen |= fits ? (uint64_t)1 << at[i] : 0;
    }
    for (int i = 1; fits && i < b->bits; i++)
        fits = at[to + i] == at[to] + i && at[from + i] == at[from] + i;
    if (a->has_inner) {
        sett__bad(c, SETT_E_ARGUMENT,
            "invalid: %s and %s each have an inner function, and a layout has one: compose what sett_get_nonswizzle_portion gives, "
            "and swizzle the result",
            sett__layout_text(c->b, a), sett__layout_text(c->b, b));
        return sett__poison_layout(c->b);
    }
    if (!fits) {
        sett__bad(c, SETT_E_ARGUMENT,
            "invalid: %s does not keep the swizzle of %s: its extents and strides must be powers of two, and keep the bits "
            "that are swizzled together",
            sett__layout_text(c->b, a), sett__layout_text(c->b, b));
        return sett__poison_layout(c->b);
    }
    int base = at[to] < at[from] ? at[to] : at[from], shift = at[from] - at[to];
    bool starts = sett__is_int(b->offset, 0);
    moved = sett_make_swizzled_at(c->site, b->bits, base, shift, starts ? with_layout(c, a, plain, true) : a);
    return starts || sett__layout_poison(moved) ? moved : sett_make_composed_layout_at(c->site, moved, b->offset, plain);
}

/* strict: R is A o B everywhere; else, where a leaf of B runs past what divides, it may be longer. */
static sett_layout *with_layout(const sett__ctx *c, const sett_layout *a, const sett_layout *b, bool strict)
{
    lhs left;
    sett_arg shape, stride;
    if (sett__layout_poison(a) || sett__layout_poison(b))
        return sett__poison_layout(c->b);
    if (b->has_inner)
        return b->has_inner == 1 ? with_swizzle(c, a, b) : with_inner(c, a, b, strict);
    lhs_init(c, &left, a, strict, NULL);
    if (!compose_tree(c, &left, b->shape, b->stride, &shape, &stride) || !is_exact(c, &left, b))
        return sett__poison_layout(c->b);
    return sett__rewrap(c, a, sett__own(c, shape, stride));
}

sett_layout *sett__compose_rest(const sett__ctx *c, const sett_layout *a, const sett_layout *b)
{
    return with_layout(c, a, b, false);
}

const char *sett__refusal(const sett__ctx *c, const sett_layout *a, const sett_layout *b, bool strict)
{
    lhs left;
    sett_arg shape, stride;
    const char *why = NULL;
    bool fixed = sett__is_static(a->shape) && sett__is_static(b->shape) && sett__is_static(b->stride);
    if (!fixed)
        return NULL;
    lhs_init(c, &left, a, strict, &why);
    if (compose_tree(c, &left, b->shape, b->stride, &shape, &stride))
        is_exact(c, &left, b);
    return why;
}

static sett_layout *compose_mode(const sett__ctx *c, const sett_layout *l, sett_arg tiler)
{
    return tiler.kind == SETT_SLICE ? (sett_layout *)(uintptr_t)l : sett__compose(c, l, tiler);
}

sett_layout *sett__tiler_layout(const sett__ctx *c, sett_arg t, int stride_of_one)
{
    if (t.kind == SETT_LAYOUT)
        return t.u.l;
    if ((t.kind == SETT_INT && t.u.i >= 1 && !t.path) || t.kind == SETT_VALUE)
        return sett__own(c, t, sett_arg_i(sett__is_int(t, 1) ? stride_of_one : 1));
    sett__bad(c, SETT_E_ARGUMENT, "invalid: %s is no tiler", sett__arg_text(c->b, t));
    return sett__poison_layout(c->b);
}

sett_layout *sett__compose(const sett__ctx *c, const sett_layout *a, sett_arg b)
{
    if (b.kind == SETT_NODE)
        return sett__by_mode(c, a, "tiler", b, compose_mode, false);
    return with_layout(c, a, sett__tiler_layout(c, b, 1), true);
}

sett_layout *sett_composition_layout_at(sett_site site, const sett_layout *a, sett_arg b)
{
    if (!sett__use_layout(SETT__HOME_OR(a, sett__build_of(b)), site, "sett_composition", a))
        return (sett_layout *)(uintptr_t)a;
    sett__ctx c = {sett__home(a), site, "sett_composition"};
    return sett__use_arg(c.b, site, c.func, b) ? sett__compose(&c, a, b) : sett__poison_layout(c.b);
}
