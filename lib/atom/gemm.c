/* SPDX-License-Identifier: Apache-2.0 */
/* D = A B + C of fragments: the modes, and what holds of every family of atoms. The family records its products over M, N and K,
 * K outermost. */
#include "inside.h"

/* ---- operands ------------------------------------------------------------------------------------ */
/* With modes of extent 1 before and behind, so that it has three. */
static const sett_tensor *three_modes(const sett__ctx *c, const sett_tensor *t, bool values, int behind)
{
    const sett_layout *l = t->layout;
    int n = sett__arity(l->shape), all = n + values + behind;
    sett_arg *s = sett__kids(c, all), *d = sett__kids(c, all);
    for (int i = 0; i < all; i++) {
        bool is = i >= values && i < n + values;
        s[i] = is ? sett__kid(l->shape, i - values) : sett_arg_i(1);
        d[i] = is ? sett__kid(l->stride, i - values) : sett_arg_i(0);
    }
    return sett__view(t, sett__rewrap(c, l, sett__own(c, sett__node(c, all, s), sett__node(c, all, d))), t->offset);
}

static int rank(const sett_tensor *t)
{
    return sett__arity(t->layout->shape);
}

/* By rank, as CuTe: (V)(V) -> (V); (M)(N) -> (M,N); (M,K)(N,K) -> (M,N); (V,M)(V,N) -> (V,M,N); (V,M,K)(V,N,K) -> (V,M,N). */
static bool take_modes(sett__gemm *g)
{
    static const struct {
        uint8_t ab, c;   /* ranks */
        bool values;     /* V is not written */
        uint8_t behind, behind_c;
    } forms[] = {{1, 1, false, 2, 2}, {1, 2, true, 1, 0}, {2, 2, true, 0, 0}, {2, 3, false, 1, 0}, {3, 3, false, 0, 0}};
    sett_build *b = g->c.b;
    for (size_t i = 0; i < SETT__COUNT(forms); i++) {
        bool fits = rank(g->t[A]) == forms[i].ab && rank(g->t[B]) == forms[i].ab && rank(g->t[C]) == forms[i].c && rank(g->t[D]) == forms[i].c;
        for (int k = A; fits && k <= D; k++)
            g->t[k] = three_modes(&g->c, g->t[k], forms[i].values, k < C ? forms[i].behind : forms[i].behind_c);
        if (fits)
            return !b->error.status;
    }
    sett__fail(b, g->c.site, g->c.func, SETT_E_RANK, "A %s, B %s, C %s: (V,M,K), (V,N,K) and (V,M,N) of partitions; slice further modes", sett__arg_text(b, g->t[A]->layout->shape),
        sett__arg_text(b, g->t[B]->layout->shape), sett__arg_text(b, g->t[C]->layout->shape));
    return false;
}

/* Is t operand k of the atom? */
static bool check_operand(const sett__gemm *g, int k)
{
    const sett_tensor *t = g->t[k];
    const sett_mma_atom *a = g->atom;
    const int which = k == D ? C : k;
    sett_build *b = g->c.b;
    char name[4] = {sett__gemm_letter(k)[0], ' '};
    if (!sett__check_mark(&g->c, t, a, (sett_operand)which, name))
        return false;
    bool shared = which < C && a->shared[which], memory = sett__mma_families[a->kind]->memory && (t->space == SETT_SMEM || t->space == SETT_GMEM);
    SETT__FAIL_IF(b, g->c.site, g->c.func, shared ? t->space != SETT_SMEM : t->space != SETT_RMEM && !memory, false, SETT_E_SPACE,
        shared ? "%s %s is in %s, and %s reads it from smem" : "%s %s is in %s, and %s has it in registers: copy it to a fragment", sett__gemm_letter(k), sett__tensor_text(b, t),
        sett__space_name((sett_space)t->space), a->name);
    SETT__FAIL_IF(b, g->c.site, g->c.func, t->dtype != a->dtype[which], false, SETT_E_DTYPE, "%s %s is of %s, and %s has it in %s", sett__gemm_letter(k), sett__tensor_text(b, t),
        sett_dtype_name((sett_dtype)t->dtype), a->name, sett_dtype_name((sett_dtype)a->dtype[which]));
    SETT__FAIL_IF(b, g->c.site, g->c.func, !sett__is_static(t->layout->shape), false, SETT_E_STATIC, "%s %s has extents that are not static", sett__gemm_letter(k), sett__tensor_text(b, t));
    int64_t values = sett__product(&g->c, sett__kid(a->tv[which]->shape, 1)).u.i;
    SETT__FAIL_IF(b, g->c.site, g->c.func, sett__gemm_extent(&g->c, t, 0) != values, false, SETT_E_SHAPE, "mode 0 of %s %s must be the %lld values of %s", sett__gemm_letter(k), sett__tensor_text(b, t),
        (long long)values, a->name);
    return true;
}

/* Which modes of two operands are one of M, N and K. */
static const struct {
    uint8_t x, mode_x, y, mode_y, mnk;
    char name;
} shared_modes[] = {{A, 1, C, 1, 0, 'M'}, {B, 1, C, 2, 1, 'N'}, {A, 2, B, 2, 2, 'K'}, {C, 1, D, 1, 0, 'M'}, {C, 2, D, 2, 1, 'N'}};

/* Operands of two tiled products fit where both give a thread the same rows, columns and depth. */
static bool check_fragments(const sett__gemm *g)
{
    for (size_t i = 0; i < SETT__COUNT(shared_modes); i++) {
        const sett_tensor *x = g->t[shared_modes[i].x], *y = g->t[shared_modes[i].y];
        const sett__fragment *f = x->fragment, *h = y->fragment;
        SETT__FAIL_IF(g->c.b, g->c.site, g->c.func, f && h && !sett__same_split(&g->c, f->mma, h->mma, shared_modes[i].mnk), false, SETT_E_ARGUMENT,
            "%s %s, made at %s, and %s %s, made at %s, are of tiled products that share %c in other ways: threads %s and %s", sett__gemm_letter(shared_modes[i].x),
            sett__tensor_text(g->c.b, x), sett__marked_at(g->c.b, f), sett__gemm_letter(shared_modes[i].y), sett__tensor_text(g->c.b, y), sett__marked_at(g->c.b, h), shared_modes[i].name,
            sett__split_text(g->c.b, f->mma, shared_modes[i].mnk), sett__split_text(g->c.b, h->mma, shared_modes[i].mnk));
    }
    return true;
}

/* Each sum has a place of its own, as far as the build knows. */
static bool check_sums(const sett__gemm *g)
{
    sett__places p;
    if (!sett__tensor_places(&g->c, g->t[D], &p))
        return false;
    const sett__spot *s = sett__spots(&g->c, &p, NULL);
    for (uint32_t i = 1; s && i < p.n; i++)
        SETT__FAIL_IF(g->c.b, g->c.site, g->c.func, s[i].group == s[i - 1].group && s[i].imm == s[i - 1].imm, false, SETT_E_ARGUMENT,
            "elements %u and %u of D %s lie in one place: each sum needs its own", s[i - 1].elem, s[i].elem, sett__tensor_text(g->c.b, g->t[D]));
    return s;
}

static bool take_extents(sett__gemm *g)
{
    for (size_t i = 0; i < SETT__COUNT(shared_modes); i++) {
        const sett_tensor *x = g->t[shared_modes[i].x], *y = g->t[shared_modes[i].y];
        SETT__FAIL_IF(g->c.b, g->c.site, g->c.func, sett__gemm_extent(&g->c, x, shared_modes[i].mode_x) != sett__gemm_extent(&g->c, y, shared_modes[i].mode_y), false, SETT_E_SHAPE, "%c is %lld in %s %s and %lld in %s %s",
            shared_modes[i].name, (long long)sett__gemm_extent(&g->c, x, shared_modes[i].mode_x), sett__gemm_letter(shared_modes[i].x), sett__tensor_text(g->c.b, x), (long long)sett__gemm_extent(&g->c, y, shared_modes[i].mode_y),
            sett__gemm_letter(shared_modes[i].y), sett__tensor_text(g->c.b, y));
    }
    g->m = sett__gemm_extent(&g->c, g->t[A], 1);
    g->n = sett__gemm_extent(&g->c, g->t[B], 1);
    g->k = sett__gemm_extent(&g->c, g->t[A], 2);
    return true;
}

/* ---- the calls ------------------------------------------------------------------------------------------- */
sett_mma_atom *sett_tiled_mma_atom(const sett_tiled_mma *m)
{
    bool fine = sett__lives("sett_tiled_mma_atom", m, SETT__K_TILED_MMA) && !((const sett__head *)m)->poison;
    return fine ? (sett_mma_atom *)(uintptr_t)m->atom : (sett_mma_atom *)(uintptr_t)m; /* poison is any kind's */
}

/* Of .overwrite and .accumulate one, the latter a Boolean. */
static bool take_fields(sett__gemm *g, const sett_gemm_args *x)
{
    const sett_val *v = x->accumulate;
    sett_build *b = g->c.b;
    g->overwrite = x->overwrite;
    if (!v)
        return true;
    SETT__FAIL_IF(b, g->c.site, g->c.func, x->overwrite, false, SETT_E_ARGUMENT, "both .overwrite and .accumulate: give one");
    if (!sett__use_val(b, g->c.site, g->c.func, v))
        return false;
    SETT__FAIL_IF(b, g->c.site, g->c.func, v->dtype != SETT_BOOL || v->n != 1, false, SETT_E_SHAPE, ".accumulate is a value of shape %s of %s: it is one Boolean",
        sett__arg_text(b, v->shape), sett_dtype_name((sett_dtype)v->dtype));
    uint64_t bits;
    g->accumulate = sett__materialise(g->c.site, v);
    if (sett__val_const(g->accumulate, &bits)) {
        g->overwrite = !bits;
        g->accumulate = NULL;
    }
    return !b->error.status;
}

void sett_gemm_at(sett_site site, const sett_mma_atom *atom, const sett_tensor *d, const sett_tensor *a, const sett_tensor *b, const sett_gemm_args *given)
{
    sett__gemm g = {.c = {NULL, site, "sett_gemm"}, .atom = atom, .t = {a, b, NULL, d}};
    sett_gemm_args x;
    if (!sett__take_args(&g.c, &x, sizeof x, given))
        return;
    g.c.b = SETT__HOME_OR(atom, SETT__HOME_OR(d, sett__home(a)));
    g.t[C] = x.C ? x.C : d;
    if (!sett__use_atom(&g.c, (const sett__head *)atom, SETT__K_MMA_ATOM))
        return;
    for (int k = A; k <= D; k++)
        if (!sett__use_tensor(g.c.b, site, g.c.func, g.t[k]))
            return;
    if (!sett__in_kernel(g.c.b, site, g.c.func) || !take_fields(&g, &x) || !take_modes(&g))
        return;
    for (int k = A; k <= D; k++)
        if (!check_operand(&g, k))
            return;
    const sett__mma_family *family = sett__mma_families[atom->kind];
    if (take_extents(&g) && check_fragments(&g) && check_sums(&g) && (!family->check || family->check(&g)))
        family->record(&g);
}
