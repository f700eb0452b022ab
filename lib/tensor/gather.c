/* SPDX-License-Identifier: Apache-2.0 */
/* Elements chosen by values: gather, scatter, and the element of a value at a run-time coordinate. One access an
 * element: what a value says is not known to be adjacent to anything. */
#include "tensor.h"

static const sett_arg scalar_shape = {.kind = SETT_NODE};

typedef struct chosen {
    sett__ctx c;
    const sett_val *idx, *pred, *val; /* val NULL: gather */
    sett_tensor *at;                  /* one element of the tensor, moved from place to place */
    const sett_tensor *t;
    double fill;
} chosen;

/* Element i of a value; of one element, that. */
static uint32_t part(const chosen *g, const sett_val *v, uint32_t i)
{
    return v->n == 1 ? v->id : sett__pick(g->c.b, g->c.site, v->id, &i, 1);
}

static sett_val *number(const chosen *g, const sett_val *v, uint32_t i)
{
    return sett__val(g->c.b, part(g, v, i), scalar_shape, true);
}

static bool like_idx(const chosen *g, const sett_val *v, const char *what)
{
    SETT__FAIL_IF(g->c.b, g->c.site, g->c.func, !v->scalar && !sett__same_elements(v->shape, g->idx->shape), false, SETT_E_SHAPE,
        "the %s has shape %s, the indices %s", what, sett__arg_text(g->c.b, v->shape), sett__arg_text(g->c.b, g->idx->shape));
    return true;
}

static bool check(chosen *g)
{
    const sett__ctx *c = &g->c;
    sett_build *b = c->b;
    if (!sett__use_tensor(b, c->site, c->func, g->t) || !sett__use_val(b, c->site, c->func, g->idx) ||
        (g->pred && !sett__use_val(b, c->site, c->func, g->pred)))
        return false;
    SETT__FAIL_IF(b, c->site, c->func, g->t->space == SETT_COORD, false, SETT_E_SPACE,
        "the tensor of coordinates %s has no elements in memory", sett__layout_text(b, g->t->layout));
    SETT__FAIL_IF(b, c->site, c->func, !sett__dtype_is_int((sett_dtype)g->idx->dtype), false, SETT_E_DTYPE,
        "the indices are %s, they must be integers of up to 64 bits", sett_dtype_name((sett_dtype)g->idx->dtype));
    SETT__FAIL_IF(b, c->site, c->func, g->pred && g->pred->dtype != SETT_BOOL, false, SETT_E_DTYPE,
        "a predicate is Boolean, not %s", sett_dtype_name((sett_dtype)g->pred->dtype));
    if (g->pred)
        g->pred = sett__materialise(c->site, g->pred);
    if (b->error.status || (g->pred && !like_idx(g, g->pred, "predicate")) || (g->val && !like_idx(g, g->val, "value")))
        return false;
    g->at = sett__new_object(b, SETT__K_TENSOR, sizeof *g->at);
    sett__head head = g->at->head;
    *g->at = *g->t;
    g->at->head = head;
    g->at->layout = sett__layout(b, sett_arg_i(1), sett_arg_i(0));
    return !b->error.status;
}

/* The loaded op, or 0 of a store. */
static uint32_t touch(chosen *g, uint32_t i)
{
    sett_val *at = number(g, g->idx, i);
    uint64_t bits;
    bool known = !g->pred && sett__val_const(at, &bits); /* then its range is checked here */
    sett_arg coord = known ? sett_arg_i(sett__int_of_bits((sett_dtype)at->dtype, bits)) : sett_arg_v(at);
    if (!sett__element_offset(&g->c, g->t, coord, &g->at->offset))
        return 0;
    return sett__access(&g->c, &(sett__move){.t = g->at,
        .val = g->val ? number(g, g->val, i) : NULL,
        .pred = g->pred ? number(g, g->pred, i) : NULL,
        .fill = g->fill});
}

sett_val *sett_gather_at(sett_site site, const sett_gather_args *given)
{
    sett_gather_args a;
    chosen g = {.c = {NULL, site, "sett_gather"}};
    if (!sett__take_args(&g.c, &a, sizeof a, given))
        return NULL;
    sett_build *b = g.c.b = SETT__HOME_OR(a.src, sett__home(a.idx));
    g.t = a.src, g.idx = a.idx, g.pred = a.pred, g.fill = a.fill;
    if (!check(&g))
        return b ? &b->poison->val : NULL;
    uint32_t n = g.idx->n, *part_of = sett__mem_alloc(b->mem, n * sizeof *part_of), id = 0;
    SETT__FAIL_IF(b, site, g.c.func, !part_of, &b->poison->val, SETT_E_MEMORY, "out of memory");
    for (uint32_t i = 0; i < n && !b->error.status; i++)
        part_of[i] = id = touch(&g, i);
    if (n > 1)
        id = sett__record(b, site,
            &(sett__emit){.code = SETT__PACK, .dtype = (sett_dtype)g.t->dtype, .n = n, .n_args = (int)n, .args = part_of});
    sett__mem_free(b->mem, part_of);
    return sett__val(b, id, g.idx->shape, g.idx->scalar);
}

void sett_scatter_at(sett_site site, const sett_tensor *t, const sett_scatter_args *given)
{
    sett_scatter_args a;
    chosen g = {.c = {NULL, site, "sett_scatter"}, .t = t};
    if (!sett__take_args(&g.c, &a, sizeof a, given))
        return;
    sett_build *b = g.c.b = SETT__HOME_OR(t, sett__home(a.idx));
    g.idx = a.idx, g.pred = a.pred;
    if (!sett__use_tensor(b, site, g.c.func, t) || !sett__use_arg(b, site, g.c.func, a.val))
        return;
    g.val = a.val.kind == SETT_VALUE ? a.val.u.v : NULL;
    if (!check(&g) || !(g.val = sett__stored_arg(&g.c, t, a.val)))
        return;
    for (uint32_t i = 0; i < g.idx->n && !b->error.status; i++)
        touch(&g, i);
}

/* Through registers: an index that is not known while building puts them in local memory, and the report says so. */
sett_val *sett__dynamic_element(const sett__ctx *c, const sett_val *v, sett_arg coord)
{
    sett_tensor *t = sett__rmem_tensor(c, (sett_dtype)v->dtype, sett__make(c, v->shape, SETT_ALL), "the value");
    if (c->b->error.status)
        return &c->b->poison->val;
    sett__access(c, &(sett__move){.t = t, .val = v});
    const sett_tensor *picked = sett__slice(c, t, coord);
    if (c->b->error.status)
        return &c->b->poison->val;
    sett_arg shape = picked->layout->shape;
    return sett__val(c->b, sett__access(c, &(sett__move){.t = picked}), shape, shape.kind == SETT_NODE && !shape.rank);
}

sett_val *sett_element_at(sett_site site, const sett_val *x, sett_arg coord)
{
    sett__ctx c = {SETT__HOME_OR(x, sett__build_of(coord)), site, "sett_element"};
    if (!sett__use_val(c.b, site, c.func, x))
        return c.b ? &c.b->poison->val : NULL;
    sett_val *v = (sett_val *)(uintptr_t)sett__materialise(site, x);
    SETT__FAIL_IF(c.b, site, c.func, v->scalar, &c.b->poison->val, SETT_E_RANK, "a scalar has no elements");
    if (!sett__use_arg(c.b, site, c.func, coord))
        return &c.b->poison->val;
    return sett__has_value(coord) ? sett__dynamic_element(&c, v, coord) : sett__element_at(&c, v, coord);
}
