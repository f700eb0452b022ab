/* SPDX-License-Identifier: Apache-2.0 */
/* The image of one mode of a layout as a bit mask: who is sent a copy by a multicast. */
#include "tensor.h"

enum { MASK_BITS = 16 };

/* The static numbers of a coordinate against the extents; its profile is crd2idx's to judge. */
static bool inside(const sett__ctx *c, const sett_layout *l, sett_arg crd, sett_arg shape)
{
    if (crd.kind == SETT_NODE) {
        for (int i = 0; shape.kind == SETT_NODE && i < crd.rank && i < shape.rank; i++)
            if (!inside(c, l, crd.u.kid[i], shape.u.kid[i]))
                return false;
        return true;
    }
    sett_arg size = sett__product(c, shape);
    bool ok = crd.kind != SETT_INT || size.kind != SETT_INT || (crd.u.i >= 0 && crd.u.i < size.u.i);
    if (!ok)
        sett__bad(c, SETT_E_RANGE, "invalid: coordinate %lld is outside extent %s of %s", (long long)crd.u.i,
            sett__arg_text(c->b, shape), sett__layout_text(c->b, l));
    return ok;
}

static sett_arg image_mask(const sett__ctx *c, const sett_layout *l, sett_arg crd, int mode)
{
    int n = sett__arity(l->shape);
    sett_arg end = sett_cosize_layout(l), *at = sett__kids(c, n), bits = sett_arg_i(0);
    if (crd.kind != SETT_NODE || crd.rank != n || mode < 0 || mode >= n)
        return sett__bad(c, SETT_E_RANK, "invalid: mode %d at coordinate %s of %s", mode, sett__arg_text(c->b, crd),
            sett__layout_text(c->b, l));
    if (end.kind != SETT_INT || end.u.i > MASK_BITS || l->has_inner)
        return sett__bad(c, SETT_E_RANGE, "invalid: %s is not static with values below %d", sett__layout_text(c->b, l), MASK_BITS);
    sett_arg count = sett__product(c, sett__kid(l->shape, mode));
    for (int64_t i = 0; i < count.u.i; i++) {
        sett_arg v = sett__crd2idx(c, sett_arg_i(i), sett__kid(l->shape, mode), sett__kid(l->stride, mode));
        if (v.kind != SETT_INT || v.u.i < 0)
            return sett__bad(c, SETT_E_ARGUMENT, "invalid: %s takes values that are no bits", sett__layout_text(c->b, l));
        bits.u.i |= INT64_C(1) << v.u.i;
    }
    for (int i = 0; i < n; i++) {
        at[i] = i == mode ? sett_arg_i(0) : crd.u.kid[i];
        if (!inside(c, l, at[i], sett__kid(l->shape, i)))
            return sett__poison_arg(c->b);
    }
    sett_arg base = sett__crd2idx(c, sett_arg_n(n, at), l->shape, l->stride);
    return base.kind == SETT_POISON ? base : sett_index_at(c->site, c->func, SETT_SHL, bits, base);
}

sett_arg sett_make_layout_image_mask_at(sett_site site, const sett_layout *l, sett_arg crd, int mode)
{
    if (!sett__use_layout(SETT__HOME_OR(l, sett__build_of(crd)), site, "sett_make_layout_image_mask", l))
        return sett__poison_arg(NULL);
    sett__ctx c = {sett__home(l), site, "sett_make_layout_image_mask"};
    return sett__use_arg(c.b, site, c.func, crd) ? image_mask(&c, l, crd, mode) : sett__poison_arg(c.b);
}
