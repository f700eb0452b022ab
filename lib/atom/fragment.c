/* SPDX-License-Identifier: Apache-2.0 */
/* Fragments: registers of a thread for what it holds of a matrix, or views of shared memory that stand for descriptors. */
#include "atom.h"
#include <string.h>

/* ---- marks -------------------------------------------------------------------------------------- */
sett_tensor *sett__mark_operand(const sett__ctx *c, sett_tensor *t, const sett__fragment *is)
{
    sett__fragment *f = sett__new(c->b, sizeof *f);
    *f = *is;
    if (!t->head.poison)
        t->fragment = f;
    return t;
}

const char *sett__marked_at(sett_build *b, const sett__fragment *f)
{
    const sett__site_ref *s = &b->site[f->site];
    char text[120];
    snprintf(text, sizeof text, "%.100s:%u", b->string[s->file], s->line);
    const char *kept = sett__arena_str(&b->arena, text);
    return kept ? kept : "";
}

/* Have two atoms an operand in one place, in the same registers? Of registers that there are, the types count too. */
static bool same_operand(const sett_mma_atom *x, const sett_mma_atom *y, sett_operand which, bool typed)
{
    const sett_layout *l = x->tv[which], *m = y->tv[which];
    bool same = sett__same_shape(l->shape, m->shape) && sett__same_shape(l->stride, m->stride) && (!typed || x->dtype[which] == y->dtype[which]);
    for (int i = 0; i < 2; i++)
        same = same && x->mnk[sett__modes_of[which][i]] == y->mnk[sett__modes_of[which][i]];
    return same && (which == SETT_OPERAND_C || (x->shared[which] == y->shared[which] && x->major[which] == y->major[which]));
}

bool sett__check_mark(const sett__ctx *c, const sett_tensor *t, const sett_mma_atom *a, sett_operand which, const char *name)
{
    const sett__fragment *f = t->fragment;
    if (!f)
        return true;
    const char *what = f->is_partition ? "partition" : "fragment";
    SETT__FAIL_IF(c->b, c->site, c->func, f->which != which, false, SETT_E_ARGUMENT, "%s%s is a %s of %c, made at %s", name, sett__tensor_text(c->b, t), what,
        'A' + f->which, sett__marked_at(c->b, f));
    SETT__FAIL_IF(c->b, c->site, c->func, !same_operand(f->mma->atom, a, which, !f->is_partition), false, SETT_E_ARGUMENT, "%s%s is a %s of %s, made at %s, and the product is %s", name,
        sett__tensor_text(c->b, t), what, f->mma->atom->name, sett__marked_at(c->b, f), a->name);
    return true;
}

/* ---- fragments ---------------------------------------------------------------------------------- */
static const char *const name_of[] = {"sett_make_fragment_A", "sett_make_fragment_B", "sett_make_fragment_C"};

/* An atom's values in order; then the other modes, compact in the order of their strides (CuTe's make_fragment_like). */
static sett_layout *like(const sett__ctx *c, const sett_layout *l)
{
    int n = sett__arity(l->shape) - 1;
    sett_layout *plain = sett__own(c, l->shape, l->stride), *first = sett_filter_zeros_at(c->site, sett__mode(c, plain, 0));
    if (sett__layout_poison(first))
        return first;
    first = sett__own(c, sett__kid(l->shape, 0), sett__compact(c, first->shape, sett_arg_i(1), NULL));
    sett_arg *shape = sett__kids(c, n), *order = sett__kids(c, n);
    for (int i = 0; i < n; i++) {
        shape[i] = sett__kid(l->shape, i + 1);
        order[i] = sett__has_basis(sett__kid(l->stride, i + 1)) ? sett_arg_i(i) : sett__kid(l->stride, i + 1);
    }
    if (n < 1)
        return sett__own(c, sett__tuple_of(c, 1, &first->shape), sett__tuple_of(c, 1, &first->stride));
    sett_layout *rest = sett__ordered(c, sett__node(c, n, shape), sett__node(c, n, order));
    return sett__layout_poison(rest) ? rest : sett__tiled(c->site, c->func, first, sett_arg_l(rest), sett__logical_product, SETT__TILED);
}

static sett_tensor *registers(const sett__ctx *c, const sett_tiled_mma *m, sett_operand which, const sett_layout *l)
{
    SETT__FAIL_IF(c->b, c->site, c->func, !sett__is_static(l->shape), &c->b->poison->tensor, SETT_E_STATIC,
        "%s has extents that are not static: partition a tile of static shape", sett__layout_text(c->b, l));
    sett_layout *held = which == SETT_OPERAND_C ? sett__make(c, l->shape, SETT_ALL) : like(c, l);
    const sett__fragment f = {m, (uint8_t)which, false, sett__site(c->b, c->site)};
    return sett__mark_operand(c, sett__rmem_tensor(c, (sett_dtype)m->atom->dtype[which], held, which == 0 ? "fragment A" : which == 1 ? "fragment B" : "fragment C"), &f);
}

/* An operand of wgmma stays where it is. */
static sett_tensor *descriptors(const sett__ctx *c, const sett_tiled_mma *m, sett_operand which, const sett_tensor *t)
{
    const sett_mma_atom *a = m->atom;
    SETT__FAIL_IF(c->b, c->site, c->func, t->space != SETT_SMEM, &c->b->poison->tensor, SETT_E_SPACE, "%s reads %c from shared memory, and %s is in %s", a->name,
        'A' + (int)which, sett__tensor_text(c->b, t), sett__space_name((sett_space)t->space));
    SETT__FAIL_IF(c->b, c->site, c->func, t->dtype != a->dtype[which], &c->b->poison->tensor, SETT_E_DTYPE, "%s is of %s, and %s reads %s", sett__tensor_text(c->b, t),
        sett_dtype_name((sett_dtype)t->dtype), a->name, sett_dtype_name((sett_dtype)a->dtype[which]));
    if (sett__descriptor(c, sett__rewrap(c, t->layout, sett__mode(c, t->layout, 0)), (sett_dtype)t->dtype, (sett_major)a->major[which]).type < 0)
        return &c->b->poison->tensor;
    const sett__fragment f = {m, (uint8_t)which, false, sett__site(c->b, c->site)};
    return sett__mark_operand(c, sett__view(t, t->layout, t->offset), &f);
}

/* Is a tensor none of another operand or product, as far as it was noted? */
static bool check_source(const sett__ctx *c, const sett_tiled_mma *m, sett_operand which, const sett_tensor *t)
{
    const sett__fragment *f = t->fragment;
    if (!sett__check_mark(c, t, m->atom, which, ""))
        return false;
    for (int i = 0; f && i < 2; i++) {
        const int mode = sett__modes_of[which][i];
        SETT__FAIL_IF(c->b, c->site, c->func, !sett__same_split(c, f->mma, m, mode), false, SETT_E_ARGUMENT,
            "%s, made at %s, is of a tiled product that shares %c in another way: threads %s, and here %s", sett__tensor_text(c->b, t), sett__marked_at(c->b, f), "MNK"[mode],
            sett__split_text(c->b, f->mma, mode), sett__split_text(c->b, m, mode));
    }
    return true;
}

/* Is mode 0 an atom's values? */
static bool check_values(const sett__ctx *c, const sett_mma_atom *a, sett_operand which, sett_arg shape)
{
    sett_arg values = sett__kid(a->tv[which]->shape, 1), got = sett__kid(shape, 0);
    bool same = sett__is_static(got) && sett__is_int(sett__product(c, got), sett__product(c, values).u.i);
    SETT__FAIL_IF(c->b, c->site, c->func, !same, false, SETT_E_SHAPE, "%s is no partition of %c: its mode 0 must be the %s values of %s", sett__arg_text(c->b, shape),
        'A' + (int)which, sett__arg_text(c->b, values), a->name);
    return true;
}

sett_tensor *sett_make_fragment_at(sett_site site, const sett_tiled_mma *m, sett_operand which, const sett_tensor *t)
{
    sett__ctx c = {SETT__HOME_OR(m, sett__home(t)), site, name_of[(unsigned)which <= SETT_OPERAND_C ? which : 0]};
    if (!sett__use_atom(&c, (const sett__head *)m, SETT__K_TILED_MMA) || !sett__use_tensor(c.b, site, c.func, t))
        return c.b ? &c.b->poison->tensor : NULL;
    SETT__FAIL_IF(c.b, site, c.func, (unsigned)which > SETT_OPERAND_C, &c.b->poison->tensor, SETT_E_ARGUMENT, "%d is no operand: A, B or C", (int)which);
    if (!check_source(&c, m, which, t) || !check_values(&c, m->atom, which, t->layout->shape))
        return &c.b->poison->tensor;
    return which < SETT_OPERAND_C && m->atom->shared[which] ? descriptors(&c, m, which, t) : registers(&c, m, which, t->layout);
}

sett_tensor *sett_make_fragment_shape_at(sett_site site, const sett_tiled_mma *m, sett_operand which, sett_arg shape)
{
    sett__ctx c = {SETT__HOME_OR(m, sett__build_of(shape)), site, name_of[(unsigned)which <= SETT_OPERAND_C ? which : 0]};
    if (!sett__use_atom(&c, (const sett__head *)m, SETT__K_TILED_MMA) || !sett__use_arg(c.b, site, c.func, shape))
        return c.b ? &c.b->poison->tensor : NULL;
    SETT__FAIL_IF(c.b, site, c.func, (unsigned)which > SETT_OPERAND_C, &c.b->poison->tensor, SETT_E_ARGUMENT, "%d is no operand: A, B or C", (int)which);
    SETT__FAIL_IF(c.b, site, c.func, which < SETT_OPERAND_C && m->atom->shared[which], &c.b->poison->tensor, SETT_E_SPACE,
        "%s reads %c from shared memory: give the partition of a tensor there", m->atom->name, 'A' + (int)which);
    if (!sett__check_shape(&c, shape) || !check_values(&c, m->atom, which, shape))
        return &c.b->poison->tensor;
    return registers(&c, m, which, sett__make(&c, sett_arg_keep(c.b, shape), SETT_ALL));
}
