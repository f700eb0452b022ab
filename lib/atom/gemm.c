/* SPDX-License-Identifier: Apache-2.0 */
/* D = A B + C of fragments: the products of an atom over M, N and K, K outermost. */
#include "atom.h"
#include <string.h>

typedef struct gemm {
    sett__ctx c;
    const sett_mma_atom *atom;
    const sett_tensor *t[4]; /* A, B, C, D, as (V,M,K), (V,N,K), (V,M,N) */
    int64_t m, n, k;
    bool overwrite;
    const sett_val *accumulate; /* NULL: always, or never where it is fresh */
} gemm;
enum { A, B, C, D };

static const char *letter_of(int i)
{
    return &"A\0B\0C\0D"[2 * i];
}

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

static int64_t extent(const sett__ctx *c, const sett_tensor *t, int i)
{
    return sett__product(c, sett__kid(t->layout->shape, i)).u.i;
}

/* By rank, as CuTe: (V)(V) -> (V); (M)(N) -> (M,N); (M,K)(N,K) -> (M,N); (V,M)(V,N) -> (V,M,N); (V,M,K)(V,N,K) -> (V,M,N). */
static bool take_modes(gemm *g)
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
static bool check_operand(const gemm *g, int k)
{
    const sett_tensor *t = g->t[k];
    const sett_mma_atom *a = g->atom;
    const int which = k == D ? C : k;
    sett_build *b = g->c.b;
    char name[4] = {letter_of(k)[0], ' '};
    if (!sett__check_mark(&g->c, t, a, (sett_operand)which, name))
        return false;
    bool shared = which < C && a->shared[which], memory = a->row == SETT__ROW_FMA && (t->space == SETT_SMEM || t->space == SETT_GMEM);
    SETT__FAIL_IF(b, g->c.site, g->c.func, shared ? t->space != SETT_SMEM : t->space != SETT_RMEM && !memory, false, SETT_E_SPACE,
        shared ? "%s %s is in %s, and %s reads it from smem" : "%s %s is in %s, and %s has it in registers: copy it to a fragment", letter_of(k), sett__tensor_text(b, t),
        sett__space_name((sett_space)t->space), a->name);
    SETT__FAIL_IF(b, g->c.site, g->c.func, t->dtype != a->dtype[which], false, SETT_E_DTYPE, "%s %s is of %s, and %s has it in %s", letter_of(k), sett__tensor_text(b, t),
        sett_dtype_name((sett_dtype)t->dtype), a->name, sett_dtype_name((sett_dtype)a->dtype[which]));
    SETT__FAIL_IF(b, g->c.site, g->c.func, !sett__is_static(t->layout->shape), false, SETT_E_STATIC, "%s %s has extents that are not static", letter_of(k), sett__tensor_text(b, t));
    int64_t values = sett__product(&g->c, sett__kid(a->tv[which]->shape, 1)).u.i;
    SETT__FAIL_IF(b, g->c.site, g->c.func, extent(&g->c, t, 0) != values, false, SETT_E_SHAPE, "mode 0 of %s %s must be the %lld values of %s", letter_of(k), sett__tensor_text(b, t),
        (long long)values, a->name);
    return true;
}

/* Which modes of two operands are one of M, N and K. */
static const struct {
    uint8_t x, mode_x, y, mode_y, mnk;
    char name;
} shared_modes[] = {{A, 1, C, 1, 0, 'M'}, {B, 1, C, 2, 1, 'N'}, {A, 2, B, 2, 2, 'K'}, {C, 1, D, 1, 0, 'M'}, {C, 2, D, 2, 1, 'N'}};

/* Operands of two tiled products fit where both give a thread the same rows, columns and depth. */
static bool check_fragments(const gemm *g)
{
    for (size_t i = 0; i < SETT__COUNT(shared_modes); i++) {
        const sett_tensor *x = g->t[shared_modes[i].x], *y = g->t[shared_modes[i].y];
        const sett__fragment *f = x->fragment, *h = y->fragment;
        SETT__FAIL_IF(g->c.b, g->c.site, g->c.func, f && h && !sett__same_split(&g->c, f->mma, h->mma, shared_modes[i].mnk), false, SETT_E_ARGUMENT,
            "%s %s, made at %s, and %s %s, made at %s, are of tiled products that share %c in other ways: threads %s and %s", letter_of(shared_modes[i].x),
            sett__tensor_text(g->c.b, x), sett__marked_at(g->c.b, f), letter_of(shared_modes[i].y), sett__tensor_text(g->c.b, y), sett__marked_at(g->c.b, h), shared_modes[i].name,
            sett__split_text(g->c.b, f->mma, shared_modes[i].mnk), sett__split_text(g->c.b, h->mma, shared_modes[i].mnk));
    }
    return true;
}

/* Each sum has a place of its own, as far as the build knows. */
static bool check_sums(const gemm *g)
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

static bool take_extents(gemm *g)
{
    for (size_t i = 0; i < SETT__COUNT(shared_modes); i++) {
        const sett_tensor *x = g->t[shared_modes[i].x], *y = g->t[shared_modes[i].y];
        SETT__FAIL_IF(g->c.b, g->c.site, g->c.func, extent(&g->c, x, shared_modes[i].mode_x) != extent(&g->c, y, shared_modes[i].mode_y), false, SETT_E_SHAPE, "%c is %lld in %s %s and %lld in %s %s",
            shared_modes[i].name, (long long)extent(&g->c, x, shared_modes[i].mode_x), letter_of(shared_modes[i].x), sett__tensor_text(g->c.b, x), (long long)extent(&g->c, y, shared_modes[i].mode_y),
            letter_of(shared_modes[i].y), sett__tensor_text(g->c.b, y));
    }
    g->m = extent(&g->c, g->t[A], 1);
    g->n = extent(&g->c, g->t[B], 1);
    g->k = extent(&g->c, g->t[A], 2);
    return true;
}

/* t(_, i, j), where -1 is all. */
static const sett_tensor *part(const gemm *g, int operand, int64_t v, int64_t i, int64_t j)
{
    const int64_t at[3] = {v, i, j};
    sett_arg *kid = sett__kids(&g->c, 3);
    for (int k = 0; k < 3; k++)
        kid[k] = at[k] < 0 ? SETT_ALL : sett_arg_i(at[k]);
    return sett__slice(&g->c, g->t[operand], sett_arg_n(3, kid));
}

/* ---- values of atoms ----------------------------------------------------------------------------------- */
/* Do an atom's values follow each other in registers, at constant places? As fragments have them. */
static bool is_flat(const gemm *g, int operand)
{
    const sett_tensor *t = g->t[operand];
    if (t->space != SETT_RMEM || t->offset.kind != SETT_INT || t->layout->has_inner || !sett__is_static(t->layout->stride) || sett__is_packed(t))
        return false;
    sett_layout *v = sett__coalesce(&g->c, sett__mode(&g->c, t->layout, 0));
    return !sett__layout_poison(v) && v->shape.kind != SETT_NODE && (sett__is_int(v->stride, 1) || sett__is_int(v->shape, 1));
}

/* The element of its root where a part of a flat one begins. */
static int64_t place_of(const gemm *g, int operand, int64_t i, int64_t j)
{
    const sett_tensor *t = g->t[operand];
    const sett_arg at[3] = {sett_arg_i(0), sett_arg_i(i), sett_arg_i(j)};
    return t->offset.u.i + sett__crd2idx(&g->c, sett_arg_n(3, at), t->layout->shape, t->layout->stride).u.i;
}

/* A load of a flat part, or a store of val. */
static uint32_t touch(const gemm *g, int operand, int64_t i, int64_t j, uint32_t val)
{
    const sett_tensor *t = g->t[operand];
    const sett_dtype dtype = (sett_dtype)t->dtype;
    const bool load = val == SETT__NONE;
    const int64_t at = place_of(g, operand, i, j);
    const uint32_t args[4] = {t->root, SETT__NONE, SETT__NONE, val}, n = (uint32_t)extent(&g->c, t, 0);
    const uint8_t align = (uint8_t)__builtin_ctz(sett__align_at(t, (uint32_t)sett__dtype_bytes(dtype), sett_arg_i(0), at));
    if (!sett__inside(&g->c, t, sett_arg_i(0), at, n, (uint32_t)sett__dtype_bytes(dtype)))
        return 0;
    return sett__record(g->c.b, g->c.site, &(sett__emit){.code = load ? SETT__LOAD : SETT__STORE, .dtype = load ? dtype : (sett_dtype)0, .n = load ? n : 0, .sub = align, .imm = at,
                                               .n_args = 4, .args = args});
}

static uint32_t loaded(const gemm *g, const sett_tensor *t)
{
    return g->c.b->error.status || t->head.poison ? 0 : sett__access(&g->c, &(sett__move){.t = t});
}

static void store(const gemm *g, const sett_tensor *t, uint32_t id)
{
    if (!g->c.b->error.status)
        sett__access(&g->c, &(sett__move){.t = t, .val = sett__val(g->c.b, id, t->layout->shape, false)});
}

static uint32_t zeros(const gemm *g, sett_dtype dtype, uint32_t n)
{
    return sett__splat(g->c.b, g->c.site, sett__const_bits(g->c.b, g->c.site, dtype, 0)->id, n);
}

/* What the first product adds to: what was loaded of C, or zeros, as `accumulate` says. */
static uint32_t chosen(const gemm *g, uint32_t held, uint32_t n)
{
    const sett_dtype dtype = (sett_dtype)g->atom->dtype[C];
    const uint32_t args[3] = {g->accumulate ? g->accumulate->id : 0, held, g->accumulate && !g->c.b->error.status ? zeros(g, dtype, n) : 0};
    return g->accumulate ? sett__record(g->c.b, g->c.site, &(sett__emit){.code = SETT__SELECT, .dtype = dtype, .n = n, .n_args = 3, .args = args}) : held;
}

/* ---- mma.sync, dp4a --------------------------------------------------------------------------------------- */
typedef struct parts {
    const gemm *g;
    bool flat[4];
    uint32_t held; /* values of C */
} parts;

static uint32_t load_part(const parts *p, int operand, int64_t i, int64_t j)
{
    return p->flat[operand] ? touch(p->g, operand, i, j, SETT__NONE) : loaded(p->g, part(p->g, operand, -1, i, j));
}

static void one_product(const parts *p, uint32_t x, uint32_t y, int64_t i, int64_t j, int64_t k)
{
    const gemm *g = p->g;
    const sett_dtype dtype = (sett_dtype)g->atom->dtype[C];
    const uint32_t sum = k ? load_part(p, D, i, j) : g->overwrite ? zeros(g, dtype, p->held) : chosen(g, load_part(p, C, i, j), p->held), args[3] = {x, y, sum};
    if (g->c.b->error.status)
        return;
    const bool of_warp = g->atom->row >= 0;
    uint32_t id = sett__record(g->c.b, g->c.site,
        &(sett__emit){.code = of_warp ? SETT__MMA : SETT__DP4A, .dtype = dtype, .n = p->held, .n_args = 3, .args = args, .n_attrs = of_warp, .attrs = &(const int32_t){g->atom->row}});
    if (p->flat[D])
        touch(g, D, i, j, id);
    else
        store(g, part(g, D, -1, i, j), id);
}

/* Neighbours in M and N share an operand: columns are gone through to and fro. */
static void products(const gemm *g)
{
    sett_build *b = g->c.b;
    parts p = {.g = g, .held = (uint32_t)extent(&g->c, g->t[C], 0)};
    uint32_t *x = sett__new(b, (size_t)(g->m + g->n) * sizeof *x), *y = x + g->m;
    for (int i = A; i <= D; i++)
        p.flat[i] = is_flat(g, i);
    for (int64_t k = 0; k < g->k && !b->error.status; k++) {
        for (int64_t i = 0; i < g->m; i++)
            x[i] = load_part(&p, A, i, k);
        for (int64_t j = 0; j < g->n; j++)
            y[j] = load_part(&p, B, j, k);
        for (int64_t i = 0; i < g->m * g->n && !b->error.status; i++) {
            int64_t row = i / g->n, column = row % 2 ? g->n - 1 - i % g->n : i % g->n;
            one_product(&p, x[row], y[column], row, column, k);
        }
    }
}

/* ---- one multiply-add a thread --------------------------------------------------------------------- */
static sett_val *column(const gemm *g, uint32_t id)
{
    return sett__val(g->c.b, id, sett__tuple_of(&g->c, 1, (sett_arg[]){sett_arg_i(g->m)}), false);
}

/* A column of C at a time: values of M elements. */
static void universal_products(const gemm *g)
{
    sett_build *b = g->c.b;
    const sett_dtype dtype = (sett_dtype)g->atom->dtype[C];
    sett_val **sum = sett__new(b, (size_t)g->n * sizeof(sett_val *));
    for (int64_t j = 0; j < g->n && !b->error.status; j++)
        sum[j] = column(g, g->overwrite ? zeros(g, dtype, (uint32_t)g->m) : chosen(g, loaded(g, part(g, C, 0, -1, j)), (uint32_t)g->m));
    for (int64_t k = 0; k < g->k && !b->error.status; k++) {
        const sett_tensor *a = part(g, A, 0, -1, k);
        sett_val *x = a->head.poison ? NULL : sett__to(b, g->c.site, column(g, loaded(g, a)), dtype);
        const uint32_t row = loaded(g, part(g, B, 0, -1, k));
        for (uint32_t j = 0; j < g->n && !b->error.status; j++) {
            sett_val *y = sett__scalar_val(b, g->n == 1 ? row : sett__pick(b, g->c.site, row, &j, 1));
            sum[j] = sett_fma_at(g->c.site, sett_arg_v(x), sett_arg_v(sett__to(b, g->c.site, y, dtype)), sett_arg_v(sum[j]));
        }
    }
    for (int64_t j = 0; j < g->n && !b->error.status; j++)
        store(g, part(g, D, 0, -1, j), sum[j]->id);
}

/* ---- wgmma --------------------------------------------------------------------------------------------- */
static bool check_flat(const gemm *g, int operand)
{
    SETT__FAIL_IF(g->c.b, g->c.site, g->c.func, !is_flat(g, operand), false, SETT_E_SHAPE, "the values of an atom in %s %s do not follow each other: sett_make_fragment_%s lays them so",
        letter_of(operand), sett__tensor_text(g->c.b, g->t[operand]), letter_of(operand == D ? C : operand));
    return true;
}

/* The descriptors of one operand: the first part's, to which distances are added. */
typedef struct described {
    int operand;
    int32_t attrs[3]; /* swizzle, lead, stride */
    uint32_t first;   /* DESC; NONE: none yet */
    sett_arg base;
    int64_t imm;
} described;

/* Where it starts, before the swizzle: at a row of 16 << swizzle bytes that is the first of 8. */
static bool find_start(const gemm *g, const described *d, const sett_tensor *t, sett_arg *base, int64_t *imm)
{
    enum { PIECE = 16 };
    int64_t bytes = sett__dtype_bytes((sett_dtype)t->dtype), pattern = INT64_C(128) << d->attrs[0], row = INT64_C(16) << d->attrs[0];
    bool swizzled = t->layout->has_inner == 1;
    sett_arg at = swizzled ? sett__add_offset(&g->c, t->offset, t->layout->offset) : t->offset;
    if (at.kind == SETT_POISON)
        return false;
    *base = sett__peel(g->c.b, at, imm);
    bool fine = d->attrs[0] ? sett__leaf_div(t->offset) * bytes % pattern == 0 && sett__leaf_div(*base) * bytes % pattern == 0 && *imm * bytes % pattern < row
                            : sett__leaf_div(*base) * bytes % PIECE == 0;
    SETT__FAIL_IF(g->c.b, g->c.site, g->c.func, !fine || *imm * bytes % PIECE, false, SETT_E_ALIGN,
        "%s %s does not start where its swizzle does: at a multiple of 8 rows of %lld bytes, and in pieces of 16 bytes", letter_of(d->operand), sett__tensor_text(g->c.b, t), (long long)row);
    return true;
}

static bool take_descriptor(const gemm *g, described *d, int operand)
{
    static const uint8_t swizzle[] = {0, 3, 2, 1};
    const sett_tensor *t = g->t[operand];
    sett_smem_descriptor x = sett__descriptor(&g->c, sett__rewrap(&g->c, t->layout, sett__mode(&g->c, t->layout, 0)), (sett_dtype)t->dtype, (sett_major)g->atom->major[operand]);
    *d = (described){.operand = operand, .first = SETT__NONE};
    if (x.type < 0)
        return false;
    d->attrs[0] = swizzle[x.type];
    d->attrs[1] = 16 * x.lead;
    d->attrs[2] = 16 * x.stride;
    return true;
}

/* The numbers that add up to a value, so many at most; more: the value itself. */
typedef struct terms {
    uint32_t id[8];
    int n, sums; /* sums: operations seen so far, one fewer than the numbers that they add */
} terms;

static bool find_terms(const sett_build *b, uint32_t id, terms *t)
{
    const sett__op *op = &b->op[id];
    if (op->code == SETT__ADD)
        return ++t->sums < (int)SETT__COUNT(t->id) && find_terms(b, b->arg[op->args], t) && find_terms(b, b->arg[op->args + 1], t);
    t->id[t->n++] = id;
    return true;
}

static sett_arg plus(const gemm *g, sett_arg sum, uint32_t id)
{
    return sett__add_offset(&g->c, sum, sett_arg_v(sett__scalar_val(g->c.b, id)));
}

/* A stage's place is known in the loop, the rest of an offset before it: takes from *base what is known only where all of it is,
 * and gives that in units of 16 bytes. */
static sett_arg take_late(const gemm *g, sett_arg *base, int64_t elements)
{
    sett_build *b = g->c.b;
    terms t = {.n = 0};
    sett_arg early = sett_arg_i(0), late = early;
    const int depth = base->kind == SETT_VALUE ? b->op[base->u.v->id].depth : 0;
    if (!depth || !find_terms(b, base->u.v->id, &t))
        return late;
    for (int i = 0; i < t.n && !b->error.status; i++) {
        const bool is_late = b->op[t.id[i]].depth == depth && sett__know(b, t.id[i]).div % elements == 0;
        *(is_late ? &late : &early) = plus(g, is_late ? late : early, t.id[i]);
    }
    *base = early;
    return sett__div(&g->c, late, sett_arg_i(elements));
}

static uint32_t add_pieces(const gemm *g, uint32_t desc, sett_val *pieces)
{
    const uint32_t args[2] = {desc, pieces->id};
    return sett__record(g->c.b, g->c.site, &(sett__emit){.code = SETT__ADD, .dtype = SETT_U64, .n = 1, .n_args = 2, .args = args});
}

/* The first part's. */
static uint32_t first_descriptor(const gemm *g, const described *d, const sett_tensor *t, sett_arg base, int64_t imm)
{
    sett_build *b = g->c.b;
    sett_arg late = take_late(g, &base, 16 / sett__dtype_bytes((sett_dtype)t->dtype));
    if (b->error.status)
        return SETT__NONE;
    char why[40] = "an operand of wgmma";
    if (d->attrs[0])
        snprintf(why, sizeof why, "a swizzle of %u bytes", 16u << d->attrs[0]);
    if (!sett__smem_aligned(&g->c, t, d->attrs[0] ? 128u << d->attrs[0] : 16, why))
        return SETT__NONE;
    const uint32_t args[2] = {t->root, base.kind == SETT_VALUE ? base.u.v->id : SETT__NONE};
    if (base.kind == SETT_INT)
        imm += base.u.i;
    uint32_t id = sett__record(b, g->c.site, &(sett__emit){.code = SETT__DESC, .dtype = SETT_U64, .n = 1, .imm = imm, .n_args = 2, .args = args, .n_attrs = 3, .attrs = d->attrs});
    return late.kind == SETT_VALUE && !b->error.status ? add_pieces(g, id, sett__to(b, g->c.site, late.u.v, SETT_U64)) : id;
}

static uint32_t descriptor_of(const gemm *g, described *d, int64_t i, int64_t k)
{
    const sett_tensor *t = part(g, d->operand, -1, i, k);
    sett_build *b = g->c.b;
    sett_arg base;
    int64_t imm;
    if (t->head.poison || !find_start(g, d, t, &base, &imm))
        return SETT__NONE;
    bool near = d->first != SETT__NONE && imm >= d->imm && base.kind == d->base.kind && (base.kind == SETT_INT || base.u.v == d->base.u.v);
    if (near) {
        int64_t pieces = (imm - d->imm) * sett__dtype_bytes((sett_dtype)t->dtype) / 16;
        return pieces ? add_pieces(g, d->first, sett__const_bits(b, g->c.site, SETT_U64, (uint64_t)pieces)) : d->first;
    }
    uint32_t id = first_descriptor(g, d, t, base, imm);
    if (d->first == SETT__NONE)
        *d = (described){d->operand, {d->attrs[0], d->attrs[1], d->attrs[2]}, id, base, imm};
    return id;
}

/* A root that wgmma holds from now on. */
static void take_off(sett_build *b, uint32_t root)
{
    sett__in_flight *f = b->flights;
    while (f && f->root != root)
        f = f->older;
    if (!f) {
        f = sett__new(b, sizeof *f);
        f->root = root;
        f->older = b->flights;
        b->flights = f;
    }
    f->flies = true;
    f->age = 0;
}

static bool in_place(const gemm *g)
{
    const sett_tensor *c = g->t[C], *d = g->t[D];
    bool same = c->root == d->root && sett__same_shape(c->layout->stride, d->layout->stride) && c->offset.kind == SETT_INT && sett__is_int(d->offset, c->offset.u.i);
    SETT__FAIL_IF(g->c.b, g->c.site, g->c.func, !same && !g->overwrite, false, SETT_E_ARGUMENT, "%s adds to its accumulator: C %s must be D %s, or .overwrite = true leaves C out", g->atom->name,
        sett__tensor_text(g->c.b, c), sett__tensor_text(g->c.b, d));
    return true;
}

/* Does this region tell that the root is fenced, and used by nothing since but products of this kind, as their operand `as`? */
static bool is_fenced(const gemm *g, uint32_t root, int as)
{
    const sett_build *b = g->c.b;
    for (uint32_t i = b->n_op; i-- > 0;) {
        const sett__op *op = &b->op[i];
        if (sett__opens(op->code) || sett__closes(op->code) || op->code == SETT__WHILE || op->code == SETT__WGWAIT)
            return false;
        for (int k = 0; k < op->n_args; k++)
            if (b->arg[op->args + (uint32_t)k] == root)
                return op->code == SETT__WGFENCE || (op->code == SETT__WGMMA && k == as && sett__attr(b->arg, op, SETT__AT_WGMMA_ROW) == g->atom->row &&
                                                        sett__attr(b->arg, op, SETT__AT_WGMMA_N) == g->atom->mnk[1]);
    }
    return false;
}

/* An assembler wants a fence in each round of a loop, so that it counts only where it is in this one. */
static void fence(const gemm *g, const uint32_t root[2], int n)
{
    bool fenced = true;
    for (int i = 0; i < n; i++)
        fenced = fenced && is_fenced(g, root[i], i);
    if (!fenced)
        sett__record(g->c.b, g->c.site, &(sett__emit){.code = SETT__WGFENCE, .n_args = n, .args = root});
}

static void group_product(const gemm *g, uint32_t first, uint32_t second, const int64_t at[3])
{
    const sett_mma_atom *a = g->atom;
    const int64_t acc = place_of(g, D, at[0], at[1]), from = a->shared[A] ? 0 : place_of(g, A, at[0], at[2]);
    const uint32_t adds = g->accumulate && !at[2] ? g->accumulate->id : sett__const_bits(g->c.b, g->c.site, SETT_BOOL, !g->overwrite || at[2])->id;
    const uint32_t args[4] = {g->t[D]->root, first, second, adds};
    const int32_t attrs[] = {a->row, a->mnk[1], (int32_t)acc, (int32_t)from, a->shared[A] && a->major[A], a->major[B], a->negate[A], a->negate[B]};
    sett__record(g->c.b, g->c.site, &(sett__emit){.code = SETT__WGMMA, .n_args = 4, .args = args, .n_attrs = SETT__COUNT(attrs), .attrs = attrs});
}

/* Of one operand: of part i of M or N at k, in place i + k extent. NULL: A is in registers, or the build has failed. */
static uint32_t *descriptors(const gemm *g, int operand, int64_t n)
{
    described d;
    if (!g->atom->shared[operand] || !take_descriptor(g, &d, operand))
        return NULL;
    uint32_t *id = sett__new(g->c.b, (size_t)(n * g->k) * sizeof *id);
    for (int64_t i = 0; i < n * g->k && !g->c.b->error.status; i++)
        id[i] = descriptor_of(g, &d, i % n, i / n);
    return g->c.b->error.status ? NULL : id;
}

/* All descriptors first, then a fence of the registers, so that nothing is between the products. */
static void group_products(const gemm *g)
{
    const bool held = !g->atom->shared[A];
    const uint32_t roots[2] = {g->t[D]->root, g->t[A]->root};
    if (!in_place(g) || !check_flat(g, D) || (held && !check_flat(g, A)))
        return;
    const uint32_t *x = descriptors(g, A, g->m), *y = descriptors(g, B, g->n);
    if ((!x && !held) || !y)
        return;
    fence(g, roots, held ? 2 : 1);
    for (int64_t k = 0; k < g->k; k++)
        for (int64_t j = 0; j < g->n; j++)
            for (int64_t i = 0; i < g->m && !g->c.b->error.status; i++)
                group_product(g, x ? x[i + k * g->m] : g->t[A]->root, y[j + k * g->n], (const int64_t[]){i, j, k});
    for (int i = 0; i <= held; i++)
        take_off(g->c.b, roots[i]);
}

/* ---- the calls ------------------------------------------------------------------------------------------- */
sett_mma_atom *sett_tiled_mma_atom(const sett_tiled_mma *m)
{
    bool fine = sett__lives("sett_tiled_mma_atom", m, SETT__K_TILED_MMA) && !((const sett__head *)m)->poison;
    return fine ? (sett_mma_atom *)(uintptr_t)m->atom : (sett_mma_atom *)(uintptr_t)m; /* poison is any kind's */
}

/* Of .overwrite and .accumulate one, the latter a Boolean. */
static bool take_fields(gemm *g, const sett_gemm_args *x)
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
    gemm g = {.c = {NULL, site, "sett_gemm"}, .atom = atom, .t = {a, b, NULL, d}};
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
    if (take_extents(&g) && check_fragments(&g) && check_sums(&g))
        (atom->row == SETT__ROW_FMA ? universal_products : atom->row >= 0 && sett__mmas[atom->row].kind == SETT__MMA_GROUP ? group_products : products)(&g);
}

void sett_mma_fence_at(sett_site site, const sett_tensor *const *t, int n)
{
    const sett__ctx c = {n > 0 ? sett__home(t[0]) : NULL, site, "sett_mma_fence"};
    for (int i = 0; i < n; i++)
        if (!sett__use_tensor(c.b, site, c.func, t[i]))
            return;
    if (!sett__in_kernel(c.b, site, c.func))
        return;
    uint32_t *root = sett__new(c.b, (size_t)n * sizeof *root);
    for (int i = 0; i < n; i++) {
        SETT__FAIL_IF(c.b, site, c.func, t[i]->space != SETT_RMEM, , SETT_E_SPACE, "%s is in %s: it fences registers; of shared memory sett_fence_view_async_shared is the fence",
            sett__tensor_text(c.b, t[i]), sett__space_name((sett_space)t[i]->space));
        root[i] = t[i]->root;
    }
    sett__record(c.b, site, &(sett__emit){.code = SETT__WGFENCE, .n_args = n, .args = root});
}

void sett_mma_commit_at(sett_site site, sett_build *b)
{
    b = sett__given(b, site, "sett_mma_commit");
    if (!b)
        return;
    sett__record(b, site, &(sett__emit){.code = SETT__WGCOMMIT});
    for (sett__in_flight *f = b->flights; f; f = f->older)
        f->age += f->flies;
}

void sett_mma_wait_at(sett_site site, sett_build *b, int pending)
{
    enum { MOST = 7 };
    b = sett__given(b, site, "sett_mma_wait");
    if (!b)
        return;
    SETT__FAIL_IF(b, site, "sett_mma_wait", pending < 0 || pending > MOST, , SETT_E_RANGE, "%d groups: 0 to %d may be left pending", pending, MOST);
    int n = 0;
    for (const sett__in_flight *f = b->flights; f; f = f->older)
        n += f->flies && f->age > pending;
    uint32_t *root = sett__new(b, (size_t)(n + 1) * sizeof *root);
    n = 0;
    for (sett__in_flight *f = b->flights; f; f = f->older)
        if (f->flies && f->age > pending) {
            root[n++] = f->root;
            f->flies = false;
        }
    sett__record(b, site, &(sett__emit){.code = SETT__WGWAIT, .n_args = n, .args = root, .n_attrs = 1, .attrs = &(const int32_t){pending}});
}

void sett_fence_view_async_shared_at(sett_site site, sett_build *b)
{
    enum { ASYNC_SHARED = 1 }; /* sett__proxy_word */
    const uint32_t no_map[2] = {SETT__NONE, SETT__NONE};
    b = sett__given(b, site, "sett_fence_view_async_shared");
    if (b)
        sett__record(b, site, &(sett__emit){.code = SETT__PROXY, .n_args = 2, .args = no_map, .n_attrs = 1, .attrs = &(const int32_t){ASYNC_SHARED}});
}
