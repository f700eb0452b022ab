/* SPDX-License-Identifier: Apache-2.0 */
/* Laws of evaluation, coalesce, composition, complement and inverses. */
#include "tests/law/law.h"
#include <stdlib.h>

static int64_t number(trial *t, sett_arg a)
{
    if (a.kind != SETT_INT || a.path)
        law_fail(t, "a number is wanted");
    return a.kind == SETT_INT ? a.u.i : 0;
}

/* ---- evaluation ---------------------------------------------------------------------------------- */

static int64_t swizzle(int64_t x, int bits, int base, int shift)
{
    for (int i = 0; i < bits; i++) {
        int from = base + i + (shift > 0 ? shift : 0), to = base + i + (shift < 0 ? -shift : 0);
        x ^= (x >> from & 1) << to;
    }
    return x;
}

/* Numbers and nested coordinates give what the leaves say; size and cosize are theirs. */
void law_evaluates(trial *t)
{
    flat f = flat_any(t, 5);
    sett_layout *l = law_layout(t, t->b, &f);
    int bits = law_pick(t, 4), base = law_pick(t, 4), shift = bits + law_pick(t, 3);
    int64_t most = 0;
    shift = law_pick(t, 2) ? -shift : shift;
    l = sett_make_swizzled(bits, base, shift, l);
    law_note_layout(t, "L", l);
    LAW(t, number(t, sett_size(l)) == flat_size(&f), "size");
    for (int64_t c = 0; c < flat_size(&f); c++) {
        int64_t v = (int64_t)flat_at(&f, c), want = swizzle(v, bits, base, shift);
        most = v > most ? v : most;
        LAW(t, number(t, sett_crd2idx(c, l)) == want, "at %" PRId64 ": want %" PRId64, c, want);
        sett_arg crd = sett_idx2crd(t->b, c, sett_shape(l));
        LAW(t, number(t, sett_crd2idx(crd, l)) == want, "at the coordinate of %" PRId64 ": want %" PRId64, c, want);
    }
    LAW(t, bits || number(t, sett_cosize(l)) == most + 1, "cosize is not %" PRId64, most + 1);
}

/* Coalesce and flatten keep the function, and coalesce leaves nothing to merge; filter keeps the offsets. */
void law_coalesces(trial *t)
{
    flat f = flat_any(t, 6);
    sett_layout *l = law_layout(t, t->b, &f);
    law_note_layout(t, "L", l);
    flat c = flat_of(t, sett_coalesce(l)), g = flat_of(t, sett_flatten(l)), z = flat_of(t, sett_filter(l));
    law_same(t, "flatten", &g, &f);
    law_same(t, "coalesce", &c, &f);
    for (int i = 0; i < c.n; i++) {
        LAW(t, c.s[i] != 1 || (c.n == 1 && !c.d[i]), "coalesce: mode %d has extent 1", i);
        LAW(t, !i || c.d[i] != c.s[i - 1] * c.d[i - 1], "coalesce: modes %d and %d merge", i - 1, i);
    }
    sett_layout *by = sett_coalesce_by(l, sett_shape(l).kind == SETT_NODE ? SETT_T1(1) : SETT_A(1));
    flat b = flat_of(t, by);
    law_same(t, "coalesce_by", &b, &f);
    for (int i = 0; i < sett_rank(l) && !t->failed; i++)
        LAW(t, number(t, sett_size(sett_get(by, i))) == number(t, sett_size(sett_get(l, i))), "coalesce_by: mode %d", i);
    LAW(t, law_within(&f, 1, &z, 1), "filter lost an offset");
    LAW(t, law_within(&z, 1, &f, 1), "filter has an offset that L has not");
}

/* ---- composition -------------------------------------------------------------------------------------- */

static flat right_operand(trial *t, const flat *a)
{
    return law_pick(t, 3) ? flat_along(t, a, 4) : flat_any(t, 3);
}

static void is_composition(trial *t, const sett_layout *r, const flat *a, const flat *b)
{
    flat f = flat_of(t, r);
    LAW(t, flat_size(&f) == flat_size(b), "R has %" PRId64 " elements", (int64_t)flat_size(&f));
    for (int64_t c = 0; c < flat_size(b); c++)
        LAW(t, flat_at(&f, c) == flat_at(a, flat_at(b, c)), "R(%" PRId64 ") = %" PRId64 ", A(B) = %" PRId64, c,
            (int64_t)flat_at(&f, c), (int64_t)flat_at(a, flat_at(b, c)));
}

/* R(c) = A(B(c)), and R refines B's profile. */
void law_composes(trial *t)
{
    flat fa = law_pick(t, 2) ? flat_any(t, 4) : flat_compact(t, 4), fb = right_operand(t, &fa);
    sett_layout *a = law_layout(t, t->b, &fa), *b = law_layout(t, t->b, &fb), *r = sett_composition(a, b);
    law_note_layout(t, "A", a);
    law_note_layout(t, "B", b);
    if (sett_build_status(t->b, NULL))
        return;
    law_note_layout(t, "R", r);
    is_composition(t, r, &fa, &fb);
    LAW(t, sett__weakly_congruent(b->shape, r->shape), "R's profile does not refine B's");
}

/* A tiler's modes compose with A's, each with its own. */
void law_composes_by_mode(trial *t)
{
    sett_layout *mode[3];
    flat f[3], g[3];
    sett_arg tiler[3];
    int n = 1 + law_pick(t, 3), m = 1 + law_pick(t, n);
    sett__ctx c = law_ctx(t->b);
    for (int i = 0; i < n; i++) {
        f[i] = flat_compact(t, 2);
        mode[i] = law_layout(t, t->b, &f[i]);
        g[i] = flat_along(t, &f[i], 2);
        if (law_pick(t, 2) && g[i].n == 1 && g[i].s[0] > 1)
            g[i].d[0] = 1, tiler[i] = sett_arg_i(g[i].s[0]);
        else
            tiler[i] = sett_arg_l(law_layout(t, t->b, &g[i]));
    }
    sett_layout *a = sett__join(&c, n, mode), *r = sett_composition(a, sett_arg_n(m, tiler));
    law_note_layout(t, "A", a);
    law_note(t, "tiler", sett_arg_n(m, tiler));
    if (sett_build_status(t->b, NULL))
        return;
    law_note_layout(t, "R", r);
    LAW(t, sett_rank(r) == m, "R has %d modes", sett_rank(r));
    for (int i = 0; i < m; i++)
        is_composition(t, sett_get(r, i), &f[i], &g[i]);
}

/* ---- complement and inverses --------------------------------------------------------------------------------- */

/* Strides that are multiples of what is below them: with its complement L fills [0,n) once, n at least the target. */
void law_complements(trial *t)
{
    flat f = flat_injective(t, 3, 3);
    int64_t target = 1 + law_pick(t, 600);
    sett_layout *l = law_layout(t, t->b, &f), *r = sett_complement(l, target);
    law_note_layout(t, "L", l);
    law_note(t, "target", sett_arg_i(target));
    law_note_layout(t, "complement", r);
    flat g = flat_of(t, r), both = f;
    for (int i = 0; i < g.n; i++, both.n++) {
        both.s[both.n] = g.s[i];
        both.d[both.n] = g.d[i];
    }
    for (int64_t k = 1; k < flat_size(&g); k++)
        LAW(t, flat_at(&g, k) > flat_at(&g, k - 1), "it is not ordered at %" PRId64, k);
    LAW(t, law_is_injective(&both), "L and it share an offset");
    LAW(t, flat_at(&both, flat_size(&both) - 1) == flat_size(&both) - 1, "L and it leave a hole");
    LAW(t, flat_size(&both) >= target, "L and it do not reach the target");
}

void law_right_inverts(trial *t)
{
    int gap = law_pick(t, 4);
    flat f = flat_injective(t, 4, gap);
    sett_layout *l = law_layout(t, t->b, &f), *r = sett_right_inverse(l);
    law_note_layout(t, "L", l);
    law_note_layout(t, "R", r);
    flat g = flat_of(t, r);
    LAW(t, gap > 1 || flat_size(&g) == flat_size(&f), "R is shorter than compact L");
    for (int64_t k = 0; k < flat_size(&g); k++)
        LAW(t, flat_at(&f, flat_at(&g, k)) == k, "L(R(%" PRId64 ")) = %" PRId64, k, (int64_t)flat_at(&f, flat_at(&g, k)));
}

void law_left_inverts(trial *t)
{
    flat f = flat_injective(t, 4, law_pick(t, 4));
    sett_layout *l = law_layout(t, t->b, &f), *r = sett_left_inverse(l);
    law_note_layout(t, "L", l);
    if (sett_build_status(t->b, NULL))
        return;
    law_note_layout(t, "R", r);
    flat g = flat_of(t, r);
    for (int64_t k = 0; k < flat_size(&f); k++)
        LAW(t, flat_at(&g, flat_at(&f, k)) == k, "R(L(%" PRId64 ")) = %" PRId64, k, (int64_t)flat_at(&g, flat_at(&f, k)));
}

/* What two layouts have in common is 0, 1, 2, ... in both. */
void law_commons(trial *t)
{
    flat fa = flat_compact(t, 4), fb = law_pick(t, 2) ? fa : flat_compact(t, 4);
    if (law_pick(t, 2) && fb.n > 1)
        fb.d[fb.n - 1] *= 2;
    sett_layout *a = law_layout(t, t->b, &fa), *b = law_layout(t, t->b, &fb), *r = sett_max_common_layout(a, b);
    sett_arg size = sett_max_common_vector(a, b);
    law_note_layout(t, "A", a);
    law_note_layout(t, "B", b);
    if (sett_build_status(t->b, NULL))
        return;
    law_note_layout(t, "R", r);
    flat f = flat_of(t, r);
    LAW(t, number(t, size) == flat_size(&f), "max_common_vector is not R's size");
    for (int64_t k = 0; k < flat_size(&f); k++)
        LAW(t, flat_at(&fa, flat_at(&f, k)) == k && flat_at(&fb, flat_at(&f, k)) == k, "at %" PRId64, k);
}

void law_nulls(trial *t)
{
    flat f = flat_any(t, 5);
    int64_t size = 1;
    for (int i = 0; i < f.n; i++) {
        f.d[i] *= law_pick(t, 2);
        size *= f.d[i] ? 1 : f.s[i];
    }
    sett_layout *l = law_layout(t, t->b, &f), *r = sett_nullspace(l);
    law_note_layout(t, "L", l);
    law_note_layout(t, "nullspace", r);
    flat g = flat_of(t, r);
    LAW(t, flat_size(&g) == size && law_is_injective(&g), "it is not %" PRId64 " different coordinates", size);
    for (int64_t k = 0; k < size; k++)
        LAW(t, !flat_at(&f, flat_at(&g, k)), "L of its %" PRId64 " is not 0", k);
}

/* ---- orders -------------------------------------------------------------------------------------------------------- */

/* Ordered layouts count in the order that they are given, like ones in the order of another's strides. */
void law_orders(trial *t)
{
    flat f = flat_injective(t, 5, 3);
    sett_arg s[8], order[8];
    int64_t size = (int64_t)flat_size(&f);
    for (int i = 0; i < f.n; i++) {
        int rank = 0;
        for (int k = 0; k < f.n; k++)
            rank += f.d[k] < f.d[i] || (f.d[k] == f.d[i] && k < i);
        s[i] = sett_arg_i(f.s[i]);
        order[i] = sett_arg_i(rank);
    }
    sett_layout *l = law_layout(t, t->b, &f), *like = sett_make_layout_like(l);
    sett_layout *o = sett_make_ordered_layout(t->b, sett_arg_n(f.n, s), sett_arg_n(f.n, order));
    law_note_layout(t, "L", l);
    law_note_layout(t, "like", like);
    law_note_layout(t, "ordered", o);
    flat x = flat_of(t, like), y = flat_of(t, o);
    law_same(t, "like and ordered", &x, &y);
    LAW(t, law_is_injective(&x) && flat_at(&x, size - 1) == size - 1, "like is not compact");
    for (int64_t k = 0; k < size; k++) {
        int64_t j = law_pick(t, (int)size);
        LAW(t, (flat_at(&x, k) < flat_at(&x, j)) == (flat_at(&f, k) < flat_at(&f, j)), "the order of %" PRId64 " and %" PRId64, k, j);
    }
}
