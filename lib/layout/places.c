/* SPDX-License-Identifier: Apache-2.0 */
/* Where the elements of a layout lie.
 *
 * Of an affine layout, element i lies at offset + sum of c_k(i) s_k. Modes with static strides add to a constant; each
 * combination of coordinates of the dynamic ones is a group, whose elements share one address computed at run time. */
#include "layout.h"

#define DIGITS 256 /* leaves of a layout; more are refused */

/* ---- modes ------------------------------------------------------------------------ */
static int leaves(sett_arg a)
{
    int n = a.kind != SETT_NODE;
    for (int i = 0; a.kind == SETT_NODE && i < a.rank; i++)
        n += leaves(a.u.kid[i]);
    return n;
}

static bool flatten(const sett__ctx *c, sett_arg shape, sett_arg stride, int top, sett__axes *m)
{
    for (int i = 0; shape.kind == SETT_NODE && i < shape.rank; i++)
        if (!flatten(c, shape.u.kid[i], stride.u.kid[i], top < 0 ? i : top, m))
            return false;
    if (shape.kind == SETT_NODE)
        return true;
    SETT__FAIL_IF(c->b, c->site, c->func, shape.kind != SETT_INT, false, SETT_E_STATIC,
        "the extent %s of mode %d is not static: take a tile of static shape with sett_local_tile, or an element with sett_at (of coordinates sett_coord_at)",
        sett__arg_text(c->b, shape), top < 0 ? 0 : top);
    m->mode[m->n++] = (sett__axis){shape.u.i, stride};
    SETT__FAIL_IF(c->b, c->site, c->func, __builtin_mul_overflow(m->size, shape.u.i, &m->size), false, SETT_E_RANGE,
        "the size is past 2^63-1");
    return true;
}

bool sett__axes_of(const sett__ctx *c, sett_arg shape, sett_arg stride, sett__axes *m)
{
    int n = leaves(shape);
    SETT__FAIL_IF(
        c->b, c->site, c->func, n > DIGITS, false, SETT_E_LIMIT, "a layout of %d modes, of at most %d", n, DIGITS);
    *m = (sett__axes){.size = 1, .mode = sett__new(c->b, (size_t)(n + 1) * sizeof *m->mode)};
    return m->mode && flatten(c, shape, stride, -1, m);
}

/* ---- places ------------------------------------------------------------------------ */
bool sett__make_places(const sett__ctx *c, int64_t size, sett__places *p)
{
    SETT__FAIL_IF(c->b, c->site, c->func, size < 1 || size > SETT__MAX_WIDTH, false,
        size < 1 ? SETT_E_SHAPE : SETT_E_LIMIT, "a value has from 1 to %d elements, not %lld", SETT__MAX_WIDTH,
        (long long)size);
    uint32_t n = (uint32_t)size;
    *p = (sett__places){
        .n = n, .group = sett__new(c->b, n * sizeof *p->group), .imm = sett__new(c->b, n * sizeof *p->imm)};
    return p->group && p->imm;
}

/* The bases: origin plus each combination of the dynamic modes, counted in their order. */
static bool make_bases(const sett__ctx *c, const sett__axes *m, sett_arg origin, int64_t *extra, sett__places *p)
{
    for (uint32_t g = 0; g < p->n_group; g++) {
        sett_arg sum = origin;
        uint32_t rest = g;
        for (int i = 0; i < m->n; i++) {
            if (m->mode[i].stride.kind == SETT_INT)
                continue;
            int64_t at = rest % (uint64_t)m->mode[i].extent;
            rest /= (uint32_t)m->mode[i].extent;
            sett_arg stride = m->mode[i].stride;
            stride.path = 0;
            if (at)
                sum = sett__add_offset(c, sum, sett__mul(c, stride, sett_arg_i(at)));
        }
        if (sum.kind == SETT_POISON)
            return false;
        p->base[g] = sett__peel(c->b, sum, &extra[g]);
    }
    return !c->b->error.status;
}

bool sett__places_of(const sett__ctx *c, const sett__axes *m, sett_arg origin, sett__places *p)
{
    uint32_t digit[DIGITS] = {0}, weight[DIGITS];
    if (!sett__make_places(c, m->size, p))
        return false;
    p->n_group = 1;
    for (int i = 0; i < m->n; i++) {
        weight[i] = m->mode[i].stride.kind == SETT_INT ? 0 : p->n_group;
        p->n_group *= weight[i] ? (uint32_t)m->mode[i].extent : 1;
    }
    p->base = sett__new(c->b, p->n_group * sizeof *p->base);
    int64_t *extra = sett__new(c->b, p->n_group * sizeof *extra), imm = 0;
    if (!p->base || !extra || !make_bases(c, m, origin, extra, p))
        return false;
    for (uint32_t i = 0, group = 0; i < p->n; i++) {
        p->group[i] = group;
        p->imm[i] = imm + extra[group];
        for (int k = 0; k < m->n; k++) { /* the next coordinate */
            int64_t extent = m->mode[k].extent, stride = weight[k] ? 0 : m->mode[k].stride.u.i;
            group += weight[k];
            imm = (int64_t)((uint64_t)imm + (uint64_t)stride);
            if (++digit[k] < extent)
                break;
            group -= weight[k] * digit[k];
            imm = (int64_t)((uint64_t)imm - (uint64_t)stride * digit[k]);
            digit[k] = 0;
        }
    }
    return true;
}
