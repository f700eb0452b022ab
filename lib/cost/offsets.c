/* SPDX-License-Identifier: Apache-2.0 */
/* A static layout as the list of its offsets. */
#include "cost.h"
#include <inttypes.h>

/* shape:stride alone, digit by digit. False: an offset does not fit 63 bits. */
static bool outer_offsets(const sett__ctx *c, const sett_layout *l, int64_t n, int64_t *out)
{
    int leaves = sett__leaves(l->shape);
    sett_arg *extent = sett__kids(c, leaves), *stride = sett__kids(c, leaves);
    int64_t *digit = sett__new(c->b, (size_t)leaves * sizeof *digit + 1), at = 0;
    if (!extent || !stride || !digit)
        return false;
    sett__flat(l->shape, extent);
    sett__flat(l->stride, stride);
    for (int64_t i = 0; i < n; i++) {
        out[i] = at;
        for (int k = 0; k < leaves && i + 1 < n; k++) {
            if (++digit[k] < extent[k].u.i) {
                if (__builtin_add_overflow(at, stride[k].u.i, &at))
                    return false;
                break;
            }
            /* Takes away what was added before, modulo 2^64: back where this mode began. */
            at = (int64_t)((uint64_t)at - (uint64_t)stride[k].u.i * (uint64_t)(extent[k].u.i - 1));
            digit[k] = 0;
        }
    }
    return true;
}

bool sett__gives_coordinates(const sett_layout *l)
{
    return l->has_inner == 2 ? sett__gives_coordinates(l->inner) : sett__has_basis(l->stride);
}

/* What is around shape:stride, for one of its offsets. */
static sett_arg through_inner(const sett__ctx *c, const sett_layout *l, sett_arg at)
{
    at = sett__add(c, l->offset, at);
    if (at.kind != SETT_INT)
        return at;
    return l->has_inner == 1 ? sett__xor_shift(c, at, l->bits, l->base, l->shift) : sett__layout_at(c, l->inner, at);
}

bool sett__offsets(const sett__ctx *c, const sett_layout *l, int64_t n, int64_t *out)
{
    bool basis = sett__has_basis(l->stride); /* coordinates, which an inner layout may take */
    SETT__FAIL_IF(c->b, c->site, c->func, sett__gives_coordinates(l), false, SETT_E_SHAPE, "%s gives coordinates, not offsets",
        sett__layout_text(c->b, l));
    SETT__FAIL_IF(c->b, c->site, c->func, !basis && !outer_offsets(c, l, n, out), false, SETT_E_RANGE,
        "%s: an offset does not fit 64 bits", sett__layout_text(c->b, l));
    for (int64_t i = 0; l->has_inner && i < n; i++) {
        sett_arg at = basis ? sett__layout_at(c, l, sett_arg_i(i)) : through_inner(c, l, sett_arg_i(out[i]));
        SETT__FAIL_IF(c->b, c->site, c->func, at.kind != SETT_INT || at.path, false, SETT_E_SHAPE,
            "%s gives at %" PRId64 " no offset", sett__layout_text(c->b, l), i);
        out[i] = at.u.i;
    }
    return true;
}

bool sett__all_static(const sett_layout *l)
{
    return sett__is_static(l->shape) && sett__is_static(l->stride) &&
           (!l->has_inner || (sett__is_static(l->offset) && (l->has_inner == 1 || sett__all_static(l->inner))));
}
