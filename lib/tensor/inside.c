/* SPDX-License-Identifier: Apache-2.0 */
/* A build for a launch that is checked tests coordinates of a parameter against its extents where it is accessed: an element may lie inside
 * of the buffer and outside of the tensor. A slice keeps the coordinates that it fixed; views by other layouts are not tested further. */
#include "tensor.h"

struct sett__fixed { /* by slices: the last one first */
    const struct sett__fixed *next;
    sett_val *at;
    sett_arg extent;
};

static bool is_tested(const sett_build *b, const sett_tensor *t)
{
    return b->tests && t->space == SETT_GMEM && t->param >= 0 && t->logical && !t->layout->has_inner;
}

/* Modes that are one extent, with a stride, at a coordinate that is not known. */
static const struct sett__fixed *add(sett_build *b, const struct sett__fixed *to, sett_arg coord, sett_arg shape, sett_arg stride)
{
    if (coord.kind == SETT_NODE && shape.kind == SETT_NODE && stride.kind == SETT_NODE && coord.rank == shape.rank) {
        for (int i = 0; i < coord.rank; i++)
            to = add(b, to, coord.u.kid[i], shape.u.kid[i], stride.u.kid[i]);
        return to;
    }
    const bool plain = coord.kind == SETT_VALUE && !coord.path && (shape.kind == SETT_INT || (shape.kind == SETT_VALUE && !shape.path)) && !sett__is_int(stride, 0);
    const int dtype = plain ? coord.u.v->dtype : 0;
    if (!plain || stride.kind == SETT_NODE || coord.u.v->n != 1 || (dtype != SETT_I32 && dtype != SETT_I64))
        return to;
    struct sett__fixed *f = sett__new(b, sizeof *f);
    if (!f)
        return to;
    *f = (struct sett__fixed){to, coord.u.v, shape};
    return f;
}

const struct sett__fixed *sett__fixed_at(const sett_build *b, const sett_tensor *t, sett_arg coord)
{
    return is_tested(b, t) ? add((sett_build *)(uintptr_t)b, t->fixed, coord, t->layout->shape, t->layout->stride) : t->fixed;
}

void sett__test_inside(const sett__ctx *c, const struct sett__fixed *f, const sett_val *pred)
{
    sett_build *b = c->b;
    for (; f && b->tests && !b->error.status; f = f->next) {
        uint64_t bits;
        const sett_arg at = sett_arg_v(f->at);
        sett_val *low = sett_binary_at(c->site, c->func, SETT_GE, at, sett_arg_i(0)), *high = sett_binary_at(c->site, c->func, SETT_LT, at, f->extent);
        sett_val *in = sett_binary_at(c->site, c->func, SETT_AND, sett_arg_v(low), sett_arg_v(high));
        if (pred)
            in = sett_binary_at(c->site, c->func, SETT_OR, sett_arg_v(in), sett_arg_v(sett_unary_at(c->site, c->func, SETT_NOT, (sett_val *)(uintptr_t)pred)));
        in->used = true; /* where it holds always, too: nobody asked for it (value/asked.c) */
        const sett_val *holds = sett__materialise(c->site, in), *coord = sett__materialise(c->site, f->at);
        if (b->error.status || holds->head.poison || coord->head.poison || (sett__val_const(holds, &bits) && bits))
            continue;
        const uint32_t args[] = {holds->id, coord->id};
        sett__record(b, c->site, &(sett__emit){.code = SETT__ASSERT, .imm = sett__intern(b, f->at->dtype == SETT_I64 ? SETT__OUTSIDE "%lld" : SETT__OUTSIDE "%d"), .n_args = 2, .args = args});
    }
}
