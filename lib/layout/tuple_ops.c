/* SPDX-License-Identifier: Apache-2.0 */
/* The public functions on tuples, and scaled basis vectors. */
#include "layout.h"

static bool use_tuple(const sett__ctx *c, sett_arg x)
{
    return c->b && sett__use_arg(c->b, c->site, c->func, x);
}

/* Children that are the caller's move into the build. */
static sett_arg keep_children(const sett__ctx *c, sett_arg x)
{
    return x.kind == SETT_NODE ? sett_arg_keep(c->b, x) : x;
}

/* ---- numbers --------------------------------------------------------------------------- */
typedef sett_arg two_fn(const sett__ctx *, sett_arg, sett_arg);

static sett_arg apply_to_two(sett_site site, sett_build *b, const char *func, two_fn *f, sett_arg x, sett_arg y)
{
    b = sett__given(b, site, func);
    sett__ctx c = {b, site, func};
    return use_tuple(&c, x) && use_tuple(&c, y) ? keep_children(&c, f(&c, x, y)) : sett__poison_arg(b);
}

#define ON_TWO(name, f) \
    sett_arg sett_##name##_at(sett_site site, sett_build *b, sett_arg x, sett_arg y) \
    { \
        return apply_to_two(site, b, "sett_" #name, f, x, y); \
    }

static sett_arg product_like(const sett__ctx *c, sett_arg x, sett_arg profile)
{
    if (profile.kind != SETT_NODE)
        return sett__product(c, x);
    if (x.kind != SETT_NODE || x.rank != profile.rank)
        return sett__bad(c, SETT_E_RANK, "invalid: profile %s does not fit %s", sett__arg_text(c->b, profile),
            sett__arg_text(c->b, x));
    sett_arg *kid = sett__kids(c, x.rank);
    for (int i = 0; i < x.rank; i++) {
        kid[i] = product_like(c, x.u.kid[i], profile.u.kid[i]);
        SETT__OF_MODE(c, kid[i], i, x);
    }
    return sett__node(c, x.rank, kid);
}
ON_TWO(product_like, product_like)

static sett_arg increment(const sett__ctx *c, sett_arg crd, sett_arg shape)
{
    sett_arg at = sett__crd2idx(c, crd, shape, sett__compact(c, shape, sett_arg_i(1), NULL));
    return sett__idx2crd(c, sett__add(c, at, sett_arg_i(1)), shape);
}
ON_TWO(increment_coord, increment)

/* Without a build there is no room for tuples, and no error to tell: the next call with a build says it. */
static sett_arg division(sett_site site, sett_build *b, const char *func, two_fn *f, uint16_t from, sett_arg x, sett_arg d)
{
    sett__ctx c = {b, site, func};
    if (b)
        return apply_to_two(site, b, func, f, x, d);
    if (x.kind == SETT_POISON || d.kind == SETT_POISON)
        return x.kind == SETT_POISON ? x : d;
    if (!sett__use_arg(NULL, site, func, x) || !sett__use_arg(NULL, site, func, d))
        return sett__poison_arg(NULL);
    bool plain = x.kind != SETT_NODE && d.kind != SETT_NODE;
    sett_arg r = plain ? f(&c, x, d) : sett__poison_arg(NULL);
    if (r.kind == SETT_POISON)
        r.reserved = from;
    return r;
}

#define DIVISION(name, f, from) \
    sett_arg sett_##name##_at(sett_site site, sett_arg x, sett_arg d) \
    { \
        sett_build *b = sett__build_of(x); \
        return division(site, b ? b : sett__build_of(d), "sett_" #name, f, from, x, d); \
    } \
    sett_arg sett_##name##_in_at(sett_site site, sett_build *b, sett_arg x, sett_arg d) \
    { \
        return b ? division(site, b, "sett_" #name, f, from, x, d) : sett__poison_arg(NULL); \
    }
DIVISION(ceil_div, sett__ceil_div_tuple, SETT__FROM_CEIL_DIV)
DIVISION(round_up, sett__round_up_tuple, SETT__FROM_ROUND_UP)
DIVISION(shape_div, sett__shape_div, SETT__FROM_SHAPE_DIV)

/* ---- of one tuple ---------------------------------------------------------------------------- */
typedef sett_arg one_fn(const sett__ctx *, sett_arg);

static sett_arg apply_to_one(sett_site site, sett_build *b, const char *func, one_fn *f, sett_arg x)
{
    b = sett__given(b, site, func);
    sett__ctx c = {b, site, func};
    return use_tuple(&c, x) ? keep_children(&c, f(&c, x)) : sett__poison_arg(b);
}

#define ON_ONE(name, func, f) \
    sett_arg sett_##name##_at(sett_site site, sett_build *b, sett_arg x) \
    { \
        return apply_to_one(site, b, func, f, x); \
    }

static sett_arg wrap_leaf(const sett__ctx *c, sett_arg x)
{
    sett_arg *kid = sett__kids(c, 1);
    kid[0] = x;
    return x.kind == SETT_NODE ? x : sett_arg_n(1, kid);
}

static sett_arg flatten_to_tuple(const sett__ctx *c, sett_arg x)
{
    return wrap_leaf(c, sett__flatten(c, x));
}

static sett_arg cat_operands(const sett__ctx *c, sett_arg operands)
{
    int n = 0, at = 0;
    for (int i = 0; i < operands.rank; i++)
        n += sett__arity(operands.u.kid[i]);
    sett_arg *kid = sett__kids(c, n);
    for (int i = 0; i < operands.rank; i++)
        for (int k = 0; k < sett__arity(operands.u.kid[i]); k++)
            kid[at++] = sett__kid(operands.u.kid[i], k);
    return sett__node(c, n, kid);
}

ON_ONE(product_each, "sett_product_each", sett__product_each)
ON_ONE(wrap, "sett_wrap", wrap_leaf)
ON_ONE(flatten_tuple, "sett_flatten", sett__flatten)
ON_ONE(flatten_to_tuple, "sett_flatten_to_tuple", flatten_to_tuple)
ON_ONE(tuple_cat, "sett_tuple_cat", cat_operands)

/* What needs no room: the operand's own build, if it has one, is told of errors. */
bool sett__use_alone(sett__ctx *c, sett_arg x)
{
    c->b = sett__build_of(x);
    return c->b ? use_tuple(c, x) : x.kind != SETT_POISON && sett__well_formed(x);
}

sett_arg sett_product_at(sett_site site, sett_arg x)
{
    sett__ctx c = {NULL, site, "sett_product"};
    return x.kind == SETT_POISON ? x : sett__use_alone(&c, x) ? sett__product(&c, x) : sett__poison_arg(c.b);
}

sett_arg sett_unwrap_at(sett_site site, sett_arg x)
{
    sett__ctx c = {NULL, site, "sett_unwrap"};
    if (!sett__use_alone(&c, x))
        return x.kind == SETT_POISON ? x : sett__poison_arg(c.b);
    while (x.kind == SETT_NODE && x.rank == 1)
        x = x.u.kid[0];
    return x;
}

sett_arg sett_front_at(sett_site site, sett_arg x)
{
    sett__ctx c = {NULL, site, "sett_front"};
    if (!sett__use_alone(&c, x))
        return x.kind == SETT_POISON ? x : sett__poison_arg(c.b);
    while (x.kind == SETT_NODE && x.rank)
        x = x.u.kid[0];
    return x.kind == SETT_NODE ? sett__bad(&c, SETT_E_RANK, "invalid: () has no leaf") : x;
}

/* ---- by profile -------------------------------------------------------------------------------- */
static sett_arg fill_profile(const sett__ctx *c, sett_arg seq, sett_arg profile, int *at)
{
    if (profile.kind != SETT_NODE)
        return *at < sett__arity(seq) ? sett__kid(seq, (*at)++) : (++*at, sett_arg_i(0));
    sett_arg *kid = sett__kids(c, profile.rank);
    for (int i = 0; i < profile.rank; i++)
        kid[i] = fill_profile(c, seq, profile.u.kid[i], at);
    return sett__node(c, profile.rank, kid);
}

static sett_arg unflatten(const sett__ctx *c, sett_arg seq, sett_arg profile)
{
    int n = 0;
    sett_arg r = fill_profile(c, seq, profile, &n);
    if (n == sett__arity(seq))
        return r;
    return sett__bad(c, SETT_E_RANK, "invalid: %s has %d parts, profile %s has %d leaves", sett__arg_text(c->b, seq),
        sett__arity(seq), sett__arg_text(c->b, profile), n);
}
ON_TWO(unflatten, unflatten)

static sett_arg repeat_like(const sett__ctx *c, sett_arg x, sett_arg profile)
{
    if (profile.kind != SETT_NODE)
        return x;
    sett_arg *kid = sett__kids(c, profile.rank);
    for (int i = 0; i < profile.rank; i++)
        kid[i] = repeat_like(c, x, profile.u.kid[i]);
    return sett__node(c, profile.rank, kid);
}
ON_TWO(repeat_like, repeat_like)

static sett_arg repeat(sett_site site, sett_build *b, const char *func, sett_arg x, int n)
{
    b = sett__given(b, site, func);
    sett__ctx c = {b, site, func};
    if (!use_tuple(&c, x))
        return sett__poison_arg(b);
    if (n < 0 || n > UINT8_MAX)
        return sett__bad(&c, SETT_E_LIMIT, "a tuple has 0 to %d children, not %d", UINT8_MAX, n);
    sett_arg *kid = sett__kids(&c, n);
    for (int i = 0; i < n; i++)
        kid[i] = x;
    return keep_children(&c, sett__node(&c, n, kid));
}

sett_arg sett_repeat_as_tuple_at(sett_site site, sett_build *b, sett_arg x, int n)
{
    return repeat(site, b, "sett_repeat_as_tuple", x, n);
}

sett_arg sett_repeat_at(sett_site site, sett_build *b, sett_arg x, int n)
{
    sett_arg r = repeat(site, b, "sett_repeat", x, n);
    return r.kind == SETT_NODE && n == 1 ? r.u.kid[0] : r;
}

/* ---- by a function of the caller's -------------------------------------------------------------------- */
/* It may record in the build, but not end it. */
static sett_arg call_leaf_fn(const sett__ctx *c, sett_arg x, sett_leaf_fn f, void *user)
{
    bool lent = c->b && c->b->lent;
    if (c->b)
        c->b->lent = true;
    sett_arg r = f(x, user);
    if (c->b)
        c->b->lent = lent;
    return r;
}

static sett_arg transform_leaves(const sett__ctx *c, sett_arg x, sett_leaf_fn f, void *user)
{
    if (x.kind != SETT_NODE) {
        sett_arg r = call_leaf_fn(c, x, f, user);
        return use_tuple(c, r) ? keep_children(c, r) : sett__poison_arg(c->b);
    }
    sett_arg *kid = sett__kids(c, x.rank);
    for (int i = 0; i < x.rank; i++)
        kid[i] = transform_leaves(c, x.u.kid[i], f, user);
    return sett__node(c, x.rank, kid);
}

sett_arg sett_transform_leaf_at(sett_site site, sett_build *b, sett_arg x, sett_leaf_fn f, void *user)
{
    b = sett__given(b, site, "sett_transform_leaf");
    sett__ctx c = {b, site, "sett_transform_leaf"};
    if (!use_tuple(&c, x))
        return sett__poison_arg(b);
    return f ? transform_leaves(&c, x, f, user) : sett__bad(&c, SETT_E_ARGUMENT, "the function is NULL");
}

sett_arg sett_filter_tuple_at(sett_site site, sett_build *b, sett_arg x, sett_leaf_fn f, void *user)
{
    b = sett__given(b, site, "sett_filter_tuple");
    sett__ctx c = {b, site, "sett_filter_tuple"};
    if (!use_tuple(&c, x))
        return sett__poison_arg(b);
    if (!f)
        return sett__bad(&c, SETT_E_ARGUMENT, "the function is NULL");
    int n = sett__arity(x);
    sett_arg *kid = sett__kids(&c, n);
    for (int i = 0; i < n; i++) {
        sett_arg r = call_leaf_fn(&c, sett__kid(x, i), f, user);
        if (!use_tuple(&c, r))
            return sett__poison_arg(b);
        if (r.kind != SETT_NODE)
            return sett__bad(&c, SETT_E_ARGUMENT, "the function gave %s, which is no tuple", sett__arg_text(b, r));
        kid[i] = keep_children(&c, r);
    }
    return cat_operands(&c, sett_arg_n(n, kid));
}

/* ---- modes -------------------------------------------------------------------------------------------- */
sett_arg sett_group_modes_tuple_at(sett_site site, sett_build *b, sett_arg x, int begin, int end)
{
    b = sett__given(b, site, "sett_group_modes");
    sett__ctx c = {b, site, "sett_group_modes"};
    return use_tuple(&c, x) ? keep_children(&c, sett__group(&c, x, begin, end)) : sett__poison_arg(b);
}

/* (x, a) as x and a; (x, a, b...) as x and (a,b...). */
static bool split_parts(const sett__ctx *c, sett_arg parts, bool always_tuple, sett_arg *x, sett_arg *rest)
{
    if (!use_tuple(c, parts))
        return false;
    if (parts.kind != SETT_NODE || parts.rank < 2) {
        sett__bad(c, SETT_E_ARGUMENT, "a build, a tuple and its modes are needed, not %s alone", sett__arg_text(c->b, parts));
        return false;
    }
    *x = parts.u.kid[0];
    *rest = parts.rank == 2 && !always_tuple ? parts.u.kid[1] : sett_arg_n(parts.rank - 1, parts.u.kid + 1);
    return true;
}

static sett_arg sieved(sett_site site, sett_build *b, const char *func, sett_arg parts, bool slices)
{
    b = sett__given(b, site, func);
    sett__ctx c = {b, site, func};
    sett_arg x, crd;
    return split_parts(&c, parts, false, &x, &crd) ? keep_children(&c, sett__sieve(&c, crd, x, slices)) : sett__poison_arg(b);
}

sett_arg sett_slice_tuple_at(sett_site site, sett_build *b, sett_arg parts)
{
    return sieved(site, b, "sett_slice", parts, true);
}

sett_arg sett_dice_tuple_at(sett_site site, sett_build *b, sett_arg parts)
{
    return sieved(site, b, "sett_dice", parts, false);
}

sett_arg sett_select_tuple_at(sett_site site, sett_build *b, sett_arg parts)
{
    b = sett__given(b, site, "sett_select");
    sett__ctx c = {b, site, "sett_select"};
    sett_arg x, modes;
    return split_parts(&c, parts, true, &x, &modes) ? keep_children(&c, sett__select(&c, x, modes)) : sett__poison_arg(b);
}

static sett_arg extended(sett_site site, sett_build *b, bool front, sett_arg x, sett_arg mode, int rank)
{
    b = sett__given(b, site, front ? "sett_prepend" : "sett_append");
    sett__ctx c = {b, site, front ? "sett_prepend" : "sett_append"};
    if (!use_tuple(&c, x) || !use_tuple(&c, mode))
        return sett__poison_arg(b);
    int n = sett__arity(x), more = rank ? rank - n : 1;
    if (more < 0)
        return sett__bad(&c, SETT_E_RANK, "invalid: %s has more than %d modes already", sett__arg_text(b, x), rank);
    sett_arg *kid = sett__kids(&c, n + more);
    for (int i = 0; i < n + more; i++) {
        int old = front ? i - more : i;
        kid[i] = old >= 0 && old < n ? sett__kid(x, old) : mode;
    }
    return keep_children(&c, more ? sett__node(&c, n + more, kid) : x);
}

sett_arg sett_append_tuple_at(sett_site site, sett_build *b, sett_arg x, sett_arg mode)
{
    return extended(site, b, false, x, mode, 0);
}

sett_arg sett_prepend_tuple_at(sett_site site, sett_build *b, sett_arg x, sett_arg mode)
{
    return extended(site, b, true, x, mode, 0);
}

sett_arg sett_append_tuple_upto_at(sett_site site, sett_build *b, sett_arg x, sett_arg mode, int rank)
{
    return extended(site, b, false, x, mode, rank);
}

sett_arg sett_prepend_tuple_upto_at(sett_site site, sett_build *b, sett_arg x, sett_arg mode, int rank)
{
    return extended(site, b, true, x, mode, rank);
}

/* ---- asking ---------------------------------------------------------------------------------------------- */
static bool layout_is_static(const sett_layout *l)
{
    return sett__is_static(l->shape) && sett__is_static(l->stride) && (!l->has_inner || sett__is_static(l->offset)) &&
           (l->has_inner != 2 || layout_is_static(l->inner));
}

bool sett_is_static_at(sett_site site, sett_arg x)
{
    sett__ctx c = {NULL, site, "sett_is_static"};
    return sett__use_alone(&c, x) && (x.kind == SETT_LAYOUT ? layout_is_static(x.u.l) : sett__is_static(x));
}

bool sett__any_slice(sett_arg x)
{
    for (int i = 0; x.kind == SETT_NODE && i < x.rank; i++)
        if (sett__any_slice(x.u.kid[i]))
            return true;
    return x.kind == SETT_SLICE;
}

bool sett_has_underscore_at(sett_site site, sett_arg x)
{
    sett__ctx c = {NULL, site, "sett_has_underscore"};
    return sett__use_alone(&c, x) && sett__any_slice(x);
}

static bool is_integer(sett_arg x)
{
    return !x.path && (x.kind == SETT_INT || (x.kind == SETT_VALUE && x.u.v->scalar && sett__dtype_is_int((sett_dtype)x.u.v->dtype)));
}

bool sett_is_integer_at(sett_site site, sett_arg x)
{
    sett__ctx c = {NULL, site, "sett_is_integer"};
    return sett__use_alone(&c, x) && is_integer(x);
}

/* The modes that lead to the first leaf that passes; their number, 0: none does. */
static int path_to(sett_arg x, sett_test_fn test, void *user, sett_arg *path, int level)
{
    for (int i = 0; x.kind == SETT_NODE && i < x.rank; i++) {
        path[level] = sett_arg_i(i);
        int n = x.u.kid[i].kind == SETT_NODE ? path_to(x.u.kid[i], test, user, path, level + 1)
                : test(x.u.kid[i], user)     ? level + 1
                                             : 0;
        if (n)
            return n;
    }
    return 0;
}

sett_arg sett__find(const sett__ctx *c, sett_arg x, sett_test_fn test, void *user)
{
    sett_arg path[SETT__MAX_NEST + 1];
    if (x.kind != SETT_NODE)
        return test(x, user) ? sett_arg_i(0) : SETT_ALL;
    int n = path_to(x, test, user, path, 0);
    return n < 2 ? (n ? path[0] : SETT_ALL) : keep_children(c, sett_arg_n(n, path));
}

sett_arg sett_find_if_at(sett_site site, sett_build *b, sett_arg x, sett_test_fn test, void *user)
{
    b = sett__given(b, site, "sett_find_if");
    sett__ctx c = {b, site, "sett_find_if"};
    if (!use_tuple(&c, x))
        return sett__poison_arg(b);
    return test ? sett__find(&c, x, test, user) : sett__bad(&c, SETT_E_ARGUMENT, "the function is NULL");
}

static bool leaf_equals(sett_arg leaf, void *user)
{
    const sett_arg *to = user;
    bool same = leaf.kind == to->kind && leaf.path == to->path;
    return same && (leaf.kind == SETT_INT ? leaf.u.i == to->u.i : leaf.kind == SETT_VALUE && leaf.u.v->id == to->u.v->id);
}

sett_arg sett_find_at(sett_site site, sett_build *b, sett_arg x, sett_arg leaf)
{
    b = sett__given(b, site, "sett_find");
    sett__ctx c = {b, site, "sett_find"};
    return use_tuple(&c, x) && use_tuple(&c, leaf) ? sett__find(&c, x, leaf_equals, &leaf) : sett__poison_arg(b);
}

bool sett_is_major_at(sett_site site, int mode, sett_arg stride)
{
    sett__ctx c = {NULL, site, "sett_is_major"};
    if (!sett__use_alone(&c, stride) || mode < 0 || mode >= sett__arity(stride))
        return false;
    sett_arg d = sett__kid(stride, mode);
    while (d.kind == SETT_NODE && d.rank)
        d = d.u.kid[0];
    return sett__is_int(d, 1);
}

/* ---- scaled basis vectors ------------------------------------------------------------------------------------ */
sett_arg sett_scaled_basis_at(sett_site site, sett_arg value, sett_arg modes)
{
    sett__ctx c = {NULL, site, "sett_scaled_basis"};
    if (!sett__arg_lives(site, c.func, modes) || !sett__use_alone(&c, value))
        return value.kind == SETT_POISON ? value : sett__poison_arg(c.b);
    bool fits = is_integer(value) && modes.kind == SETT_NODE && modes.rank >= 1 && modes.rank <= 8;
    for (int i = 0; fits && i < modes.rank; i++) {
        sett_arg m = modes.u.kid[i];
        fits = m.kind == SETT_INT && m.u.i >= 0 && m.u.i < 15;
        value.path |= fits ? (uint32_t)(m.u.i + 1) << (4 * i) : 0;
    }
    return fits ? value : (sett_arg){.kind = SETT_POISON, .reserved = SETT__FROM_BASIS};
}

sett_arg sett_basis_value_at(sett_site site, sett_arg basis)
{
    sett__ctx c = {NULL, site, "sett_basis_value"};
    if (!sett__use_alone(&c, basis))
        return basis.kind == SETT_POISON ? basis : sett__poison_arg(c.b);
    basis.path = 0;
    return basis;
}

sett_arg sett_basis_get_at(sett_site site, sett_arg basis, sett_arg x)
{
    sett__ctx c = {NULL, site, "sett_basis_get"};
    if (!sett__arg_lives(site, c.func, basis) || !sett__use_alone(&c, x))
        return x.kind == SETT_POISON ? x : sett__poison_arg(c.b);
    for (uint32_t path = basis.path; path; path >>= 4) {
        int i = (int)(path & 15) - 1;
        if (x.kind != SETT_NODE || i >= x.rank)
            return sett__bad(&c, SETT_E_RANK, "invalid: %s has no mode %d", c.b ? sett__arg_text(c.b, x) : "the tuple", i);
        x = x.u.kid[i];
    }
    return x;
}
