/* SPDX-License-Identifier: Apache-2.0 */
/* Static and dynamic: an operation on leaves that only a launch knows gives, for their values, what it gives on
 * the values themselves. */
#include "tests/law/law.h"

typedef struct operands {
    sett_layout *a, *b;
    sett_layout *c; /* another one, without extents of 1, whose strides stay static */
    sett_arg tiler; /* b, or numbers and layouts mode by mode */
} operands;

static sett_layout *pair(trial *t, sett_build *b, const flat *x, const flat *y)
{
    sett__ctx c = law_ctx(b);
    sett_layout *both[2] = {law_layout(t, b, x), law_layout(t, b, y)};
    return sett__join(&c, 2, both);
}

/* At run time an extent of 1 is one like others, of which a complement cannot know that it takes no room. */
static flat without_ones(flat f)
{
    flat r = {0};
    for (int i = 0; i < f.n; i++)
        if (f.s[i] > 1)
            r.s[r.n] = f.s[i], r.d[r.n++] = f.d[i];
    return r.n ? r : (flat){1, {1}, {0}};
}

/* A matrix, and what may cut or repeat it. */
static operands draw(trial *t, sett_build *b)
{
    sett__ctx c = law_ctx(b);
    flat x = flat_compact(t, 2), y = flat_compact(t, 2);
    for (int i = 0; i < y.n; i++)
        y.d[i] *= (int64_t)flat_size(&x);
    flat whole = x;
    for (int i = 0; i < y.n; i++, whole.n++)
        whole.s[whole.n] = y.s[i], whole.d[whole.n] = y.d[i];
    flat walk = without_ones(flat_along(t, &whole, 3)), p = flat_along(t, &x, 1), q = flat_along(t, &y, 1);
    flat u = without_ones(x), v = without_ones(y);
    operands o = {.a = pair(t, b, &x, &y), .b = law_layout(t, b, &walk), .c = pair(t, b, &u, &v)};
    sett_arg *kid = sett__kids(&c, 2);
    kid[0] = law_pick(t, 2) ? sett_arg_l(law_layout(t, b, &p)) : sett_arg_i(p.s[0]);
    kid[1] = law_pick(t, 2) ? sett_arg_l(law_layout(t, b, &q)) : sett_arg_i(q.s[0]);
    o.tiler = sett_arg_n(2, kid);
    return o;
}

#define OPERATIONS(X) \
    X(composition, sett_composition(o->a, o->b), 0) \
    X(composition_by_mode, sett_composition(o->a, o->tiler), 0) \
    X(coalesce, sett_coalesce(o->a), 0) \
    X(coalesce_by, sett_coalesce_by(o->a, SETT_T(1, 1)), 0) \
    X(filter, sett_filter(o->a), 0) \
    X(logical_divide, sett_logical_divide(o->a, o->b), 'b') \
    X(zipped_divide, sett_zipped_divide(o->a, o->tiler), 't') \
    X(tiled_divide, sett_tiled_divide(o->a, o->tiler), 't') \
    X(flat_divide, sett_flat_divide(o->a, o->tiler), 't') \
    X(complement, sett_complement(o->b, sett_size(o->a)), 0) \
    X(logical_product, sett_logical_product(o->b, o->a), 0) \
    X(blocked_product, sett_blocked_product(o->c, o->c), 0) \
    X(raked_product, sett_raked_product(o->c, o->c), 0) \
    X(recast_wider, sett_recast_layout(32, 8, o->c), 0) \
    X(recast_narrower, sett_recast_layout(4, 16, o->c), 0) \
    X(row_major, sett_row_major_at(SETT_HERE, o->a->head.b, sett_shape(o->a)), 0) \
    X(compact, sett_make_layout_at(SETT_HERE, o->a->head.b, sett_shape(o->a), SETT_ALL), 0) \
    X(slice, sett_slice(o->a, SETT_ALL, 0), 0) \
    X(append, sett_append(o->a, o->b), 0) \
    X(nullspace, sett_nullspace(o->b), 0)
#define OPERATION(name, call, divisor) \
    static sett_layout *do_##name(const operands *o) \
    { \
        return call; \
    }
OPERATIONS(OPERATION)
typedef struct operation {
    const char *name;
    sett_layout *(*run)(const operands *);
    char divisor; /* 'b' or 't': a is divided by that */
} operation;
static const operation operations[] = {
#define OPERATION_ENTRY(name, call, divisor) {#name, do_##name, divisor},
    OPERATIONS(OPERATION_ENTRY)
};

static sett_arg unlike(const sett__ctx *c, sett_arg stride, int64_t *next)
{
    if (stride.kind != SETT_NODE)
        return sett_arg_i(*next *= 31);
    sett_arg *kid = sett__kids(c, stride.rank);
    for (int i = 0; i < stride.rank; i++)
        kid[i] = unlike(c, stride.u.kid[i], next);
    return sett_arg_n(stride.rank, kid);
}

/* A divide rounds up where a tile does not divide a mode. Modes that merge when they are static stay apart when they are
 * not, so the two agree only where A's modes are divided evenly without merging, too. */
static bool comparable(const operation *op, const operands *o)
{
    if (!op->divisor)
        return true;
    sett_build *b = sett__build_new(NULL, false);
    sett__ctx c = law_ctx(b);
    int64_t next = 1;
    sett_layout *twin = sett__layout(b, law_copy(b, o->a->shape), unlike(&c, o->a->stride, &next));
    bool even = law_divides_evenly(twin, op->divisor == 'b' ? sett_arg_l(o->b) : o->tiler);
    sett_build_end(b, NULL);
    return even;
}

bool law_launches(const trial *t)
{
    const sett__sig *s = &t->b->sig;
    for (uint32_t i = 0; i < s->n_check; i++) {
        int64_t x;
        if (!sett__expr_eval(s, s->check[i].expr, t->value, NULL, &x) || x)
            return false;
    }
    return true;
}

bool law_both(trial *t, law_pair *p)
{
    const char *text;
    int op = law_pick(t, (int)SETT__COUNT(operations));
    operands o = draw(t, p->fixed);
    law_note_layout(t, operations[op].name, o.a);
    law_note_layout(t, "B", o.b);
    law_note_layout(t, "C", o.c);
    law_note(t, "tiler", o.tiler);
    p->want = operations[op].run(&o);
    sett_status s = sett_build_status(p->fixed, &text);
    t->refused = s != SETT_OK;
    if (s && s != SETT_E_DIVIDE)
        law_fail(t, "%s", text);
    t->refused |= !s && !comparable(&operations[op], &o);
    if (t->refused)
        return false;
    law_note_layout(t, "static", p->want);
    operands h = {.a = law_hidden(t, o.a), .b = law_hidden(t, o.b), .tiler = law_hide(t, o.tiler)};
    h.c = sett__layout(t->b, law_hide(t, o.c->shape), law_copy(t->b, o.c->stride));
    law_note_layout(t, "dynamic A", h.a);
    law_note_layout(t, "dynamic B", h.b);
    law_note_layout(t, "dynamic C", h.c);
    law_note(t, "dynamic tiler", h.tiler);
    p->got = operations[op].run(&h);
    if (sett_build_status(t->b, NULL))
        return false;
    law_note_layout(t, "dynamic", p->got);
    return true;
}

void law_dynamic(trial *t)
{
    law_pair p = {.fixed = sett__build_new(NULL, true)};
    bool made = law_both(t, &p);
    t->refused |= made && !law_launches(t);
    if (made && !t->refused) {
        flat want = flat_of(t, p.want), got = flat_of(t, p.got);
        law_same(t, "dynamic", &got, &want);
    }
    sett_build_end(p.fixed, NULL);
}

/* What cannot be proven is left out: the inverse may be shorter than the static one, and still is one. */
void law_dynamic_inverts(trial *t)
{
    sett_build *fixed = sett__build_new(NULL, true);
    flat f = flat_injective(t, 4, law_pick(t, 3));
    sett_layout *l = law_layout(t, fixed, &f), *r;
    l = sett__layout(t->b, law_copy(t->b, l->shape), law_hide(t, l->stride));
    r = sett_right_inverse(l);
    law_note_layout(t, "L", l);
    sett_build_end(fixed, NULL);
    if (sett_build_status(t->b, NULL))
        return;
    law_note_layout(t, "R", r);
    flat g = flat_of(t, r);
    for (int64_t k = 0; k < flat_size(&g); k++)
        LAW(t, flat_at(&f, flat_at(&g, k)) == k, "L(R(%" PRId64 ")) = %" PRId64, k, (int64_t)flat_at(&f, flat_at(&g, k)));
}
