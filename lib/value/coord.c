/* SPDX-License-Identifier: Apache-2.0 */
/* Coordinates as values: one number of every element's coordinate, for masks and scores by position. */
#include "value.h"

/* The number of a coordinate like `origin` that `mode` names, and its path as basis strides have it. A tuple of one stands for
 * its number, and a coordinate that is a number is its own mode 0. */
static bool find_number(const sett__ctx *c, sett_arg origin, sett_arg mode, sett_arg *number, uint32_t *path)
{
    const int given = mode.kind == SETT_NODE ? mode.rank : 1;
    *number = origin;
    *path = 0;
    for (int level = 0; level < given || (number->kind == SETT_NODE && number->rank == 1); level++) {
        sett_arg i = level >= given ? sett_arg_i(0) : mode.kind == SETT_NODE ? mode.u.kid[level] : mode;
        const int rank = number->kind == SETT_NODE ? number->rank : level ? 0 : 1;
        SETT__FAIL_IF(c->b, c->site, c->func, i.kind != SETT_INT || i.u.i < 0 || i.u.i >= rank || level >= 8, false, SETT_E_RANK,
            "coordinates like %s have no mode %s", sett__arg_text(c->b, origin), sett__arg_text(c->b, mode));
        if (number->kind != SETT_NODE)
            continue;
        *number = number->u.kid[i.u.i];
        *path |= (uint32_t)(i.u.i + 1) << (4 * level);
    }
    SETT__FAIL_IF(c->b, c->site, c->func, number->kind == SETT_NODE, false, SETT_E_RANK,
        "mode %s of coordinates like %s is the tuple %s: name one of its numbers", sett__arg_text(c->b, mode),
        sett__arg_text(c->b, origin), sett__arg_text(c->b, *number));
    return true;
}

/* The type that holds every element: Int32, if bases and steps have no more bits. */
static sett_dtype type_of(const sett__ctx *c, const sett__places *at)
{
    for (uint32_t g = 0; g < at->n_group; g++) {
        at->base[g] = sett__as_signed(c, at->base[g]);
        if (at->base[g].kind == SETT_VALUE ? at->base[g].u.v->dtype == SETT_I64 : at->base[g].u.i != (int32_t)at->base[g].u.i)
            return SETT_I64;
    }
    for (uint32_t i = 0; i < at->n; i++)
        if (at->imm[i] != (int32_t)at->imm[i])
            return SETT_I64;
    return SETT_I32;
}

static sett_val *packed(const sett__ctx *c, sett_dtype dtype, const uint32_t *id, uint32_t n, sett_arg shape)
{
    return sett__val(c->b, sett__pack(c, dtype, id, n), shape, shape.kind == SETT_NODE && !shape.rank);
}

/* The steps of all elements from the one base that they have. */
static sett_val *steps(const sett__ctx *c, sett_dtype dtype, const sett__places *at, sett_arg shape)
{
    uint32_t *id = sett__new(c->b, at->n * sizeof *id);
    for (uint32_t i = 0; id && i < at->n; i++)
        id[i] = sett__const_bits(c->b, c->site, dtype, sett__bits_of_int(dtype, at->imm[i]))->id;
    return id ? packed(c, dtype, id, at->n, shape) : sett__poison_val(c->b);
}

static sett_val *by_groups(const sett__ctx *c, sett_dtype dtype, const sett__places *at, sett_arg shape)
{
    uint32_t *id = sett__new(c->b, at->n * sizeof *id);
    for (uint32_t i = 0; id && i < at->n && !c->b->error.status; i++) {
        const sett_val *base = sett__element(c, at->base[at->group[i]], dtype);
        id[i] = at->imm[i] ? sett_binary_at(c->site, c->func, SETT_ADD, SETT_A(base), SETT_A(at->imm[i]))->id : base->id;
    }
    return id && !c->b->error.status ? packed(c, dtype, id, at->n, shape) : sett__poison_val(c->b);
}

sett_val *sett__coord_value(const sett__ctx *c, const sett_layout *crd, sett_arg origin, sett_arg mode)
{
    sett__axes m;
    sett__places at;
    sett_arg number;
    uint32_t path;
    if (!sett__axes_of(c, crd->shape, crd->stride, &m) || !find_number(c, origin, mode, &number, &path) ||
        !sett__leaf_places(c, &m, path, number, &at))
        return sett__poison_val(c->b);
    SETT__FAIL_IF(c->b, c->site, c->func, at.n < 1 || at.n > SETT__MAX_WIDTH, sett__poison_val(c->b), SETT_E_LIMIT,
        "a value has from 1 to %d elements, not %u", SETT__MAX_WIDTH, at.n);
    sett_dtype dtype = type_of(c, &at);
    if (at.n_group > 1)
        return by_groups(c, dtype, &at, crd->shape);
    sett_val *step = steps(c, dtype, &at, crd->shape);
    return sett__is_int(at.base[0], 0) ? step : sett_binary_at(c->site, c->func, SETT_ADD, SETT_A(sett__element(c, at.base[0], dtype)), SETT_A(step));
}
