/* SPDX-License-Identifier: Apache-2.0 */
/* Values with a shape: broadcasting, repeating, reshaping, elements and reductions. All are
 * static rearrangements: PICKs of element numbers in colexicographic order. */
#include "value.h"
#include <string.h>

#define MAX_LEAF 64

static int rank_of(sett_arg a)
{
    return a.kind == SETT_NODE ? a.rank : 1;
}

static sett_arg mode_of(sett_arg a, int i)
{
    return a.kind == SETT_NODE ? a.u.kid[i] : a;
}

static uint64_t product(sett_arg a)
{
    uint64_t n = 1;
    if (a.kind == SETT_INT)
        return (uint64_t)a.u.i;
    for (int i = 0; a.kind == SETT_NODE && i < a.rank; i++)
        n *= product(a.u.kid[i]);
    return n;
}

static bool count_leaves(const sett__ctx *c, sett_arg a, uint64_t *n, int *leaves)
{
    if (a.kind == SETT_NODE) {
        for (int i = 0; i < a.rank; i++)
            if (!count_leaves(c, a.u.kid[i], n, leaves))
                return false;
        return true;
    }
    SETT__FAIL_IF(c->b, c->site, c->func, a.kind != SETT_INT || a.path, false, SETT_E_STATIC,
        "a value's shape is static integers, not %s", sett__arg_text(c->b, a));
    SETT__FAIL_IF(c->b, c->site, c->func, a.u.i < 1, false, SETT_E_SHAPE, "a value's extents are positive, not %lld", (long long)a.u.i);
    *n = a.u.i > SETT__MAX_WIDTH ? SETT__MAX_WIDTH + 1 : *n * (uint64_t)a.u.i;
    SETT__FAIL_IF(c->b, c->site, c->func, *n > SETT__MAX_WIDTH || ++*leaves > MAX_LEAF, false, SETT_E_LIMIT,
        "a value has up to %d elements and %d modes", SETT__MAX_WIDTH, MAX_LEAF);
    return true;
}

/* A static shape of 1 to SETT__MAX_WIDTH elements, else an error. */
static bool value_shape(const sett__ctx *c, sett_arg shape, uint32_t *n)
{
    uint64_t size = 1;
    int leaves = 0;
    if (!sett__use_arg(c->b, c->site, c->func, shape) || !count_leaves(c, shape, &size, &leaves))
        return false;
    SETT__FAIL_IF(c->b, c->site, c->func, !leaves, false, SETT_E_SHAPE, "a value's shape is not empty");
    *n = (uint32_t)size;
    return true;
}

/* ---- which element goes where ------------------------------------------------------- */
typedef struct walk { /* leaves in colexicographic order: extent, and stride in the source */
    uint32_t extent[MAX_LEAF], stride[MAX_LEAF];
    int n;
} walk;

static uint32_t *new_indices(const sett__ctx *c, uint32_t n)
{
    uint32_t *idx = sett__mem_alloc(c->b->mem, n * sizeof *idx);
    if (!idx)
        sett__fail(c->b, (sett_site){0}, NULL, SETT_E_MEMORY, "out of memory");
    return idx;
}

/* idx[i]: where the i-th coordinate of the extents lies. */
static void spread_indices(const walk *w, uint32_t n, uint32_t *idx)
{
    uint32_t filled = 1;
    idx[0] = 0;
    for (int k = 0; k < w->n && filled < n; k++) {
        for (uint32_t j = 1; j < w->extent[k]; j++)
            for (uint32_t i = 0; i < filled; i++)
                idx[j * filled + i] = idx[i] + j * w->stride[k];
        filled *= w->extent[k];
    }
}

static sett_val *pick_val(const sett__ctx *c, uint32_t from, const uint32_t *idx, uint32_t n, sett_arg shape, bool scalar)
{
    return sett__val(c->b, sett__pick(c->b, c->site, from, idx, n), shape, scalar);
}

/* ---- broadcasting ---------------------------------------------------------------------- */
/* One mode of the result; nested modes only against the same nesting. */
static bool join_modes(const sett__ctx *c, sett_arg x, sett_arg y, sett_arg *out, bool *own)
{
    if (x.kind == SETT_INT && y.kind == SETT_INT) {
        *out = y.u.i > x.u.i ? y : x;
        *own &= out->u.i == x.u.i;
        return x.u.i == y.u.i || x.u.i == 1 || y.u.i == 1;
    }
    if (x.kind != SETT_NODE || y.kind != SETT_NODE || x.rank != y.rank)
        return false;
    sett_arg *kid = sett__new(c->b, (x.rank + 1u) * sizeof *kid);
    for (int i = 0; i < x.rank; i++)
        if (!join_modes(c, x.u.kid[i], y.u.kid[i], &kid[i], own))
            return false;
    *out = sett_arg_n(x.rank, kid);
    return true;
}

static bool joined_shape(const sett__ctx *c, sett_arg x, sett_arg y, sett_arg *out)
{
    int rx = rank_of(x), ry = rank_of(y), rank = rx > ry ? rx : ry;
    sett_arg *kid = sett__new(c->b, (rank + 1u) * sizeof *kid), one = sett_arg_i(1);
    bool own = true;
    for (int i = 0; i < rank; i++) {
        bool ok = join_modes(c, i < rx ? mode_of(x, i) : one, i < ry ? mode_of(y, i) : one, &kid[i], &own);
        SETT__FAIL_IF(c->b, c->site, c->func, !ok, false, SETT_E_SHAPE, "shapes %s and %s do not broadcast",
            sett__arg_text(c->b, x), sett__arg_text(c->b, y));
    }
    /* CuTe keeps the left operand's own shape where only modes of extent 1 would be added. */
    *out = own ? x : sett_arg_n(rank, kid);
    return true;
}

/* from may have fewer modes than to, which then are new ones. */
static void broadcast_walk(walk *w, sett_arg to, sett_arg from, uint32_t *stride)
{
    if (to.kind == SETT_INT) {
        uint32_t extent = (uint32_t)from.u.i;
        w->extent[w->n] = (uint32_t)to.u.i;
        w->stride[w->n++] = extent == 1 ? 0 : *stride;
        *stride *= extent;
        return;
    }
    for (int i = 0; i < to.rank; i++)
        broadcast_walk(w, to.u.kid[i], i < rank_of(from) ? mode_of(from, i) : sett_arg_i(1), stride);
}

static sett_val *expand(const sett__ctx *c, sett_val *v, sett_arg shape, uint32_t n)
{
    walk w = {.n = 0};
    uint32_t stride = 1;
    if (v->n == n)
        return sett__val(c->b, v->id, shape, false);
    uint32_t *idx = new_indices(c, n);
    if (!idx)
        return sett__poison_val(c->b);
    broadcast_walk(&w, shape, v->shape, &stride);
    spread_indices(&w, n, idx);
    sett_val *r = pick_val(c, v->id, idx, n, shape, false);
    sett__mem_free(c->b->mem, idx);
    return r;
}

bool sett__broadcast(const sett__ctx *c, sett_val **v, int n)
{
    const sett_val *shaped = NULL;
    bool same = true;
    for (int i = 0; i < n; i++) {
        if (v[i]->scalar)
            continue;
        same &= !shaped || sett__same_shape(shaped->shape, v[i]->shape);
        shaped = shaped ? shaped : v[i];
    }
    if (!shaped || same)
        return true;
    sett_arg shape = shaped->shape;
    for (int i = 0; i < n; i++)
        if (!v[i]->scalar && !joined_shape(c, shape, v[i]->shape, &shape))
            return false;
    uint64_t size = product(shape);
    SETT__FAIL_IF(c->b, c->site, c->func, size > SETT__MAX_WIDTH, false, SETT_E_LIMIT, "a value has up to %d elements, not %llu",
        SETT__MAX_WIDTH, (unsigned long long)size);
    for (int i = 0; i < n; i++)
        if (!v[i]->scalar && (v[i]->n != 1 || size == 1))
            v[i] = expand(c, v[i], shape, (uint32_t)size);
    return !c->b->error.status;
}

static sett_val *use_shaped(sett__ctx *c, const sett_val *x)
{
    c->b = sett__home(x);
    if (!sett__use_val(NULL, c->site, c->func, x))
        return NULL;
    x = sett__materialise(c->site, x);
    return c->b->error.status ? NULL : (sett_val *)(uintptr_t)x;
}

static sett_val *repeat_to(const sett__ctx *c, sett_val *v, sett_arg shape, uint32_t n)
{
    return sett__val(c->b, c->b->error.status ? 0 : sett__splat(c->b, c->site, v->id, n), shape, false);
}

sett_val *sett_broadcast_to_at(sett_site site, const sett_val *x, sett_arg shape)
{
    sett__ctx c = {NULL, site, "sett_broadcast_to"};
    sett_val *v = use_shaped(&c, x);
    uint32_t n;
    sett_arg joined;
    if (!v || !value_shape(&c, shape, &n))
        return sett__poison_val(c.b);
    if (v->scalar)
        return repeat_to(&c, v, shape, n);
    bool fits = rank_of(shape) >= rank_of(v->shape) && (shape.kind == SETT_NODE || v->shape.kind != SETT_NODE);
    SETT__FAIL_IF(c.b, site, c.func, !fits, sett__poison_val(c.b), SETT_E_RANK, "%s has more modes than %s",
        sett__arg_text(c.b, v->shape), sett__arg_text(c.b, shape));
    if (!joined_shape(&c, v->shape, shape, &joined))
        return sett__poison_val(c.b);
    SETT__FAIL_IF(c.b, site, c.func, product(joined) != n, sett__poison_val(c.b), SETT_E_SHAPE, "%s does not broadcast to %s",
        sett__arg_text(c.b, v->shape), sett__arg_text(c.b, shape));
    return v->n == 1 ? repeat_to(&c, v, joined, n) : expand(&c, v, joined, n);
}

/* ---- making and viewing -------------------------------------------------------------------- */
static sett_val *full_of(sett__ctx *c, sett_dtype dtype, sett_arg shape, bool scalar, sett_arg number)
{
    uint32_t n = 1;
    if (c->b->error.status || (!scalar && !value_shape(c, shape, &n)))
        return sett__poison_val(c->b);
    sett_val *v = sett__element(c, number, dtype);
    return scalar || c->b->error.status ? v : repeat_to(c, v, shape, n);
}

sett_val *sett_full_at(sett_site site, sett_build *b, sett_dtype dtype, sett_arg shape, sett_arg number)
{
    b = sett__given(b, site, "sett_full");
    sett__ctx c = {b, site, "sett_full"};
    return b ? full_of(&c, dtype, shape, false, number) : NULL;
}

sett_val *sett_full_like_at(sett_site site, const char *func, const sett_val *x, sett_arg number)
{
    sett__ctx c = {sett__home(x), site, func};
    if (!sett__use_val(NULL, site, func, x)) /* a lazy predicate has a shape, and need not be recorded */
        return sett__poison_val(c.b);
    return full_of(&c, (sett_dtype)x->dtype, x->shape, x->scalar, number);
}

sett_val *sett_reshape_at(sett_site site, const sett_val *x, sett_arg shape)
{
    sett__ctx c = {NULL, site, "sett_reshape"};
    sett_val *v = use_shaped(&c, x);
    uint32_t n;
    if (!v || !value_shape(&c, shape, &n))
        return sett__poison_val(c.b);
    SETT__FAIL_IF(c.b, site, c.func, n != v->n, sett__poison_val(c.b), SETT_E_SHAPE, "%s has %u elements, %s has %u",
        sett__arg_text(c.b, v->shape), v->n, sett__arg_text(c.b, shape), n);
    return sett__val(c.b, v->id, shape, false);
}

/* The shape with the first leaf replaced. */
static sett_arg with_first(sett_build *b, sett_arg shape, int64_t extent)
{
    if (shape.kind == SETT_INT)
        return sett_arg_i(extent);
    sett_arg *kid = sett__new(b, (shape.rank + 1u) * sizeof *kid);
    memcpy(kid, shape.u.kid, shape.rank * sizeof *kid);
    if (shape.rank)
        kid[0] = with_first(b, kid[0], extent);
    return sett_arg_n(shape.rank, kid);
}

sett_val *sett_bitcast_at(sett_site site, const sett_val *x, sett_dtype dtype)
{
    sett__ctx c = {NULL, site, "sett_bitcast"};
    sett_val *v = use_shaped(&c, x);
    if (!v)
        return sett__poison_val(c.b);
    sett_dtype from = (sett_dtype)v->dtype;
    bool valid = sett__dtype_valid((int)dtype) && dtype != SETT_BOOL && from != SETT_BOOL;
    SETT__FAIL_IF(c.b, site, c.func, !valid, sett__poison_val(c.b), SETT_E_DTYPE, "%s has no bits to read as %s",
        sett_dtype_name(from), sett_dtype_name(dtype));
    if (from == dtype)
        return v;
    int old = sett_dtype_bits(from), bits = sett_dtype_bits(dtype);
    sett_arg first = v->shape;
    while (first.kind == SETT_NODE && first.rank)
        first = first.u.kid[0];
    int64_t extent = first.kind == SETT_INT ? first.u.i : 1;
    bool packed = (old < 8 || bits < 8) && old != bits; /* whole bytes, then */
    SETT__FAIL_IF(c.b, site, c.func, extent * old % bits || (packed && extent * old % 8) || (v->scalar && old != bits), sett__poison_val(c.b), SETT_E_DIVIDE,
        "%d bits do not divide the first mode of %s: %lld of %d bits", bits, sett__arg_text(c.b, v->shape), (long long)extent, old);
    uint32_t n = (uint32_t)((uint64_t)v->n * (unsigned)old / (unsigned)bits);
    SETT__FAIL_IF(c.b, site, c.func, n > SETT__MAX_WIDTH, sett__poison_val(c.b), SETT_E_LIMIT, "a value has up to %d elements, not %u",
        SETT__MAX_WIDTH, n);
    uint32_t id = old < 8 || bits < 8 ? sett__bitcast_packed(c.b, site, v, dtype, n)->id
                                      : sett__record(c.b, site, &(sett__emit){.code = SETT__BITCAST, .dtype = dtype, .n = n, .n_args = 1, .args = &v->id});
    return sett__val(c.b, id, v->scalar ? v->shape : with_first(c.b, v->shape, extent * old / bits), v->scalar);
}

/* ---- choosing modes: elements and reductions --------------------------------------------------- */
typedef struct choice {
    const sett__ctx *c;
    walk kept, rest;          /* leaves that stay; leaves that are indexed or reduced */
    sett_arg mode[MAX_LEAF];  /* of the result: one a leaf ALL of the profile */
    int modes;
    uint32_t stride, first;   /* of the next leaf; the element where the kept ones start */
    bool index;               /* numbers of the profile are coordinates, else marks */
    bool bad;                 /* the profile does not fit the shape */
} choice;

static void take_leaves(choice *ch, walk *w, sett_arg shape)
{
    if (shape.kind != SETT_INT) {
        for (int i = 0; i < shape.rank; i++)
            take_leaves(ch, w, shape.u.kid[i]);
        return;
    }
    w->extent[w->n] = (uint32_t)shape.u.i;
    w->stride[w->n++] = ch->stride;
    ch->stride *= (uint32_t)shape.u.i;
}

static bool choose_number(choice *ch, sett_arg at, sett_arg shape)
{
    const sett__ctx *c = ch->c;
    uint64_t size = product(shape);
    SETT__FAIL_IF(c->b, c->site, c->func, at.kind != SETT_INT, false, at.kind == SETT_VALUE ? SETT_E_STATIC : SETT_E_ARGUMENT,
        "%s is not a static integer or ALL", sett__arg_text(c->b, at));
    bool outside = ch->index && (at.u.i < 0 || (uint64_t)at.u.i >= size);
    SETT__FAIL_IF(c->b, c->site, c->func, outside, false, SETT_E_RANGE, "coordinate %lld is outside of %s", (long long)at.u.i,
        sett__arg_text(c->b, shape));
    ch->first += ch->index ? (uint32_t)at.u.i * ch->stride : 0;
    take_leaves(ch, &ch->rest, shape);
    return true;
}

static bool choose_elements(choice *ch, sett_arg at, sett_arg shape)
{
    if (at.kind == SETT_SLICE) {
        ch->mode[ch->modes++] = shape;
        take_leaves(ch, &ch->kept, shape);
        return true;
    }
    if (at.kind != SETT_NODE)
        return choose_number(ch, at, shape);
    ch->bad = shape.kind != SETT_NODE || at.rank != shape.rank;
    for (int i = 0; !ch->bad && i < at.rank; i++)
        if (!choose_elements(ch, at.u.kid[i], shape.u.kid[i]))
            return false;
    return !ch->bad;
}

/* at against the shape of v; a bare extent is one mode. */
static bool choose_all(choice *ch, const sett_val *v, sett_arg at)
{
    const sett__ctx *c = ch->c;
    sett_arg shape = v->shape;
    if (!sett__use_arg(c->b, c->site, c->func, at))
        return false;
    if (at.kind == SETT_NODE && shape.kind == SETT_INT && !ch->index)
        shape = sett_arg_n(1, &v->shape);
    ch->stride = 1;
    bool ok = choose_elements(ch, at, shape);
    SETT__FAIL_IF(c->b, c->site, c->func, ch->bad, false, SETT_E_RANK, "%s does not fit the shape %s", sett__arg_text(c->b, at),
        sett__arg_text(c->b, shape));
    return ok;
}

static uint32_t size_of(const walk *w)
{
    uint32_t n = 1;
    for (int i = 0; i < w->n; i++)
        n *= w->extent[i];
    return n;
}

/* Booleans are numbers of one bit: their sum wraps, as in CuTe. */
static sett__code fold_code(sett_binary_op op, sett_dtype dtype)
{
    bool boolean = dtype == SETT_BOOL;
    switch (op) {
    case SETT_ADD: return boolean ? SETT__XOR : SETT__ADD;
    case SETT_MUL: return boolean ? SETT__AND : SETT__MUL;
    case SETT_MIN: return boolean ? SETT__AND : SETT__MIN;
    case SETT_MAX: return boolean ? SETT__OR : SETT__MAX;
    case SETT_AND: return sett__dtype_is_float(dtype) ? SETT__N_CODES : SETT__AND;
    case SETT_OR: return sett__dtype_is_float(dtype) ? SETT__N_CODES : SETT__OR;
    case SETT_XOR: return sett__dtype_is_float(dtype) ? SETT__N_CODES : SETT__XOR;
    default: return SETT__N_CODES;
    }
}

/* One REDUCE for each of n results, whose elements lie at kept[i] + rest[j]. */
static uint32_t reduce_ops(const choice *ch, const sett_val *v, uint32_t init, sett__code code, uint32_t *scratch)
{
    const sett__ctx *c = ch->c;
    uint32_t n = size_of(&ch->kept), m = size_of(&ch->rest);
    uint32_t *kept = scratch, *rest = kept + n, *idx = rest + m, *out = idx + m;
    spread_indices(&ch->kept, n, kept);
    spread_indices(&ch->rest, m, rest);
    for (uint32_t i = 0; i < n && !c->b->error.status; i++) {
        for (uint32_t j = 0; j < m; j++)
            idx[j] = kept[i] + rest[j];
        uint32_t part = n == 1 ? v->id : sett__pick(c->b, c->site, v->id, idx, m);
        out[i] = sett__record(c->b, c->site,
            &(sett__emit){.code = SETT__REDUCE, .dtype = (sett_dtype)v->dtype, .sub = (uint8_t)code, .n = 1, .n_args = 2,
                .args = (const uint32_t[]){part, init}});
    }
    if (n == 1 || c->b->error.status)
        return c->b->error.status ? 0 : out[0];
    return sett__record(c->b, c->site,
        &(sett__emit){.code = SETT__PACK, .dtype = (sett_dtype)v->dtype, .n = n, .n_args = (int)n, .args = out});
}

sett_val *sett_reduce_at(sett_site site, const sett_val *x, sett_binary_op op, sett_arg init, sett_arg profile)
{
    sett__ctx c = {NULL, site, "sett_reduce"};
    sett_val *v = use_shaped(&c, x);
    choice ch = {.c = &c};
    if (!v)
        return sett__poison_val(c.b);
    sett__code code = fold_code(op, (sett_dtype)v->dtype);
    SETT__FAIL_IF(c.b, site, c.func, code == SETT__N_CODES, sett__poison_val(c.b), SETT_E_ARGUMENT,
        "%s reduces by ADD, MUL, MIN or MAX, integers and Booleans also by AND, OR or XOR", sett_dtype_name((sett_dtype)v->dtype));
    SETT__FAIL_IF(c.b, site, c.func, v->scalar, sett__poison_val(c.b), SETT_E_RANK, "a scalar has nothing to reduce");
    if (!choose_all(&ch, v, profile))
        return sett__poison_val(c.b);
    if (!ch.rest.n) /* as in CuTe, init does not enter */
        return profile.kind == SETT_SLICE ? v : sett__val(c.b, v->id, sett_arg_n(ch.modes, ch.mode), false);
    sett_val *start = sett__exact_element(&c, init, (sett_dtype)v->dtype);
    uint32_t n = size_of(&ch.kept), m = size_of(&ch.rest);
    uint32_t *scratch = c.b->error.status ? NULL : new_indices(&c, 2 * n + 2 * m);
    if (!scratch)
        return sett__poison_val(c.b);
    uint32_t id = reduce_ops(&ch, v, start->id, code, scratch);
    sett__mem_free(c.b->mem, scratch);
    return sett__val(c.b, id, sett_arg_n(ch.modes, ch.mode), !ch.modes);
}

/* Of numbers: whether they are not 0, as for sett_to; a NaN is not. */
sett_val *sett_test_at(sett_site site, const char *func, const sett_val *x, bool all)
{
    sett__ctx c = {NULL, site, func};
    sett_val *v = use_shaped(&c, x);
    if (!v)
        return sett__poison_val(c.b);
    v = sett__to(c.b, site, v, SETT_BOOL);
    if (c.b->error.status || v->scalar)
        return v;
    sett__code code = all ? SETT__AND : SETT__OR;
    uint32_t start = sett__const_bits(c.b, site, SETT_BOOL, all)->id;
    uint32_t id = sett__record(c.b, site,
        &(sett__emit){.code = SETT__REDUCE, .dtype = SETT_BOOL, .sub = (uint8_t)code, .n = 1, .n_args = 2,
            .args = (const uint32_t[]){v->id, start}});
    return sett__scalar_val(c.b, id);
}

sett_val *sett__element_at(const sett__ctx *c, sett_val *v, sett_arg coord)
{
    choice ch = {.c = c, .index = true};
    if (!choose_all(&ch, v, coord))
        return sett__poison_val(c->b);
    if (ch.modes && !ch.rest.n)
        return v;
    uint32_t n = size_of(&ch.kept), *idx = new_indices(c, n);
    if (!idx)
        return sett__poison_val(c->b);
    spread_indices(&ch.kept, n, idx);
    for (uint32_t i = 0; i < n; i++)
        idx[i] += ch.first;
    sett_val *r = pick_val(c, v->id, idx, n, sett_arg_n(ch.modes, ch.mode), !ch.modes);
    sett__mem_free(c->b->mem, idx);
    return r;
}
