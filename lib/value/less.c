/* SPDX-License-Identifier: Apache-2.0 */
/* Tuples compared leaf by leaf: is a coordinate inside a bound? */
#include "value.h"

static bool counts(sett_arg a)
{
    return a.kind == SETT_INT || (a.kind == SETT_VALUE && sett__dtype_is_int((sett_dtype)a.u.v->dtype));
}

static sett_arg all_less(const sett__ctx *c, sett_arg a, sett_arg b)
{
    sett_arg all = sett_arg_i(1);
    if (b.kind == SETT_SLICE)
        return all;
    if (a.kind != SETT_NODE && (!counts(a) || (b.kind != SETT_NODE && !counts(b))))
        return sett__bad(c, SETT_E_DTYPE, "a coordinate or its bound is no integer");
    if (a.kind != SETT_NODE)
        return sett_index_at(c->site, c->func, SETT_LT, a, sett__product(c, b));
    if (b.kind != SETT_NODE || a.rank > b.rank)
        return sett__bad(c, SETT_E_RANK, "invalid: %s is not of the profile of %s", c->b ? sett__arg_text(c->b, a) : "the left tuple",
            c->b ? sett__arg_text(c->b, b) : "the right one");
    for (int i = 0; i < a.rank; i++) {
        sett_arg one = all_less(c, a.u.kid[i], b.u.kid[i]);
        if (one.kind == SETT_POISON || sett__is_int(one, 0))
            return one;
        all = sett__is_int(all, 1) ? one : sett__is_int(one, 1) ? all : sett_index_at(c->site, c->func, SETT_AND, all, one);
    }
    return all;
}

sett_arg sett_elem_less_tuple_at(sett_site site, sett_arg a, sett_arg b)
{
    sett__ctx c = {NULL, site, "sett_elem_less"};
    if (!sett__use_alone(&c, b))
        return b.kind == SETT_POISON ? b : sett__poison_arg(c.b);
    sett_build *other = c.b;
    if (!sett__use_alone(&c, a))
        return a.kind == SETT_POISON ? a : sett__poison_arg(c.b);
    c.b = c.b ? c.b : other;
    return all_less(&c, a, b);
}
