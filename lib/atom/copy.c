/* SPDX-License-Identifier: Apache-2.0 */
/* Copies by an atom: matrices between shared memory and registers, or between registers, cp.async, loads and stores. */
#include "atom.h"

typedef struct operands {
    const sett_tensor *src, *dst;
    sett_val *pred;
    bool zfill;
} operands;
typedef struct matrices {
    sett__ctx c;
    const sett_copy_atom *atom;
    const sett_tensor *smem, *held;
    sett__places p;        /* of smem */
    int64_t row, values, n; /* elements of a row and of a thread; instructions */
} matrices;

/* ---- matrices --------------------------------------------------------------------------------- */
static bool check_spaces(const sett__ctx *c, const sett_copy_atom *a, const sett_tensor *t, sett_space space, const char *what)
{
    SETT__FAIL_IF(c->b, c->site, c->func, t->space != space, false, SETT_E_SPACE, "%s %s %s, and %s is in %s", a->name, what, sett__space_name(space),
        sett__tensor_text(c->b, t), sett__space_name((sett_space)t->space));
    SETT__FAIL_IF(c->b, c->site, c->func, t->dtype != a->dtype, false, SETT_E_DTYPE, "%s is of %s, and the atom copies %s", sett__tensor_text(c->b, t),
        sett_dtype_name((sett_dtype)t->dtype), sett_dtype_name((sett_dtype)a->dtype));
    return true;
}

static int64_t values_of(const sett__ctx *c, const sett_layout *l)
{
    return sett__product(c, sett__kid(l->shape, 1)).u.i;
}

/* Both sides are whole atoms, as many of each. */
static bool take_sizes(matrices *x, bool store)
{
    const sett__ctx *c = &x->c;
    sett__axes s, h;
    x->row = values_of(c, x->atom->val[store ? SETT__DST : SETT__SRC]);
    x->values = values_of(c, x->atom->val[store ? SETT__SRC : SETT__DST]);
    if (!sett__axes_of(c, x->smem->layout->shape, x->smem->layout->stride, &s) || !sett__axes_of(c, x->held->layout->shape, x->held->layout->stride, &h))
        return false;
    x->n = s.size / x->row;
    SETT__FAIL_IF(c->b, c->site, c->func, s.size % x->row || h.size % x->values || h.size / x->values != x->n, false, SETT_E_SHAPE,
        "%s has rows of %lld elements in smem and %lld a thread in registers: %s and %s are not as many of them", x->atom->name, (long long)x->row, (long long)x->values,
        sett__tensor_text(c->b, x->smem), sett__tensor_text(c->b, x->held));
    return true;
}

/* Matrices of bytes are transposed in pairs of them. */
static bool take_units(matrices *x)
{
    if (!x->atom->transpose || sett_dtype_bits((sett_dtype)x->smem->dtype) != 8)
        return true;
    x->smem = sett_recast_tensor_at(x->c.site, x->smem, SETT_U16);
    x->held = sett_recast_tensor_at(x->c.site, x->held, SETT_U16);
    x->row /= 2;
    x->values /= 2;
    return !x->c.b->error.status;
}

/* Each row is 16 bytes that lie together, at a multiple of 16. */
static bool take_rows(matrices *x)
{
    enum { ROW = 16 };
    const sett__ctx *c = &x->c;
    const uint32_t bytes = (uint32_t)sett__dtype_bytes((sett_dtype)x->smem->dtype);
    if (!sett__smem_promised(c, x->smem, ROW, x->atom->name) || !sett__tensor_places(c, x->smem, &x->p))
        return false;
    for (int64_t i = 0; i < x->n * x->row; i++) {
        int64_t first = i - i % x->row;
        SETT__FAIL_IF(c->b, c->site, c->func, x->p.group[i] != x->p.group[first] || x->p.imm[i] != x->p.imm[first] + i % x->row, false, SETT_E_ALIGN,
            "%s needs rows of %d elements that lie together, and %s has them apart: it is for a matrix that is contiguous in %s; others are %stransposed", x->atom->name, (int)x->row,
            sett__tensor_text(c->b, x->smem), x->atom->transpose ? "M or N" : "K", x->atom->transpose ? "not " : "");
        uint32_t align = i == first + x->row - 1 ? sett__align_at(x->smem, bytes, x->p.base[x->p.group[first]], x->p.imm[first]) : ROW;
        SETT__FAIL_IF(c->b, c->site, c->func, align < ROW, false, SETT_E_ALIGN, "a row of %s is aligned to %u bytes, and %s needs %d", sett__tensor_text(c->b, x->smem), align,
            x->atom->name, ROW);
    }
    return true;
}

static sett__emit matrix_op(const matrices *x, int64_t i, uint32_t *args, const int32_t *trans)
{
    const int64_t at = i * x->row;
    sett_arg base = x->p.base[x->p.group[at]];
    args[0] = x->smem->root;
    args[1] = base.kind == SETT_VALUE ? base.u.v->id : SETT__NONE;
    return (sett__emit){.imm = x->p.imm[at], .n_args = 2, .args = args, .n_attrs = 1, .attrs = trans};
}

/* What n instructions gave, in registers. */
static void hold(const matrices *x, const uint32_t *id)
{
    sett_build *b = x->c.b;
    if (b->error.status)
        return;
    const uint32_t all = (uint32_t)(x->n * x->values);
    uint32_t v = x->n == 1 ? id[0]
                           : sett__record(b, x->c.site, &(sett__emit){.code = SETT__PACK, .dtype = (sett_dtype)x->held->dtype, .n = all, .n_args = (int)x->n, .args = id});
    sett__access(&x->c, &(sett__move){.t = x->held, .val = sett__val(b, v, x->held->layout->shape, false)});
}

/* The values of instruction i among all. */
static uint32_t values_at(const matrices *x, uint32_t all, int64_t i)
{
    uint32_t *idx = sett__new(x->c.b, (size_t)x->values * sizeof *idx);
    for (int64_t k = 0; k < x->values && !x->c.b->error.status; k++)
        idx[k] = (uint32_t)(i * x->values + k);
    return x->n == 1 || x->c.b->error.status ? all : sett__pick(x->c.b, x->c.site, all, idx, (uint32_t)x->values);
}

static void load_matrices(const matrices *x)
{
    sett_build *b = x->c.b;
    const int32_t trans = x->atom->transpose;
    uint32_t *id = sett__new(b, (size_t)x->n * sizeof *id), args[2];
    for (int64_t i = 0; i < x->n && !b->error.status; i++) {
        sett__emit e = matrix_op(x, i, args, &trans);
        e.code = SETT__LDMATRIX;
        e.dtype = (sett_dtype)x->smem->dtype;
        e.n = (uint32_t)x->values;
        id[i] = sett__record(b, x->c.site, &e);
    }
    hold(x, id);
}

static void store_matrices(const matrices *x)
{
    sett_build *b = x->c.b;
    const int32_t trans = x->atom->transpose;
    uint32_t all = sett__access(&x->c, &(sett__move){.t = x->held}), args[3];
    for (int64_t i = 0; i < x->n && !b->error.status; i++) {
        sett__emit e = matrix_op(x, i, args, &trans);
        args[2] = values_at(x, all, i);
        e.code = SETT__STMATRIX;
        e.n_args = 3;
        sett__record(b, x->c.site, &e);
    }
}

static void move_matrices(const sett__ctx *c, const sett_copy_atom *a, const operands *x)
{
    const bool store = a->kind == SETT_COPY_STMATRIX;
    matrices m = {.c = *c, .atom = a, .smem = store ? x->dst : x->src, .held = store ? x->src : x->dst};
    if (check_spaces(c, a, x->src, store ? SETT_RMEM : SETT_SMEM, "reads") && check_spaces(c, a, x->dst, store ? SETT_SMEM : SETT_RMEM, "writes") && take_sizes(&m, store) &&
        take_units(&m) && take_rows(&m))
        (store ? store_matrices : load_matrices)(&m);
}

/* ---- between registers ---------------------------------------------------------------------------- */
static void transpose_registers(const matrices *x, const sett_tensor *src)
{
    sett_build *b = x->c.b;
    const uint32_t all = sett__access(&x->c, &(sett__move){.t = src});
    uint32_t *id = sett__new(b, (size_t)x->n * sizeof *id);
    for (int64_t i = 0; i < x->n && !b->error.status; i++) {
        const uint32_t from = values_at(x, all, i);
        id[i] = sett__record(b, x->c.site, &(sett__emit){.code = SETT__MOVMATRIX, .dtype = (sett_dtype)x->held->dtype, .n = (uint32_t)x->values, .n_args = 1, .args = &from});
    }
    hold(x, id);
}

static void move_registers(const sett__ctx *c, const sett_copy_atom *a, const operands *x)
{
    matrices m = {.c = *c, .atom = a, .held = x->dst, .values = values_of(c, a->val[SETT__DST])};
    sett__axes s, d;
    if (!check_spaces(c, a, x->src, SETT_RMEM, "reads") || !check_spaces(c, a, x->dst, SETT_RMEM, "writes") || !sett__axes_of(c, x->src->layout->shape, x->src->layout->stride, &s) ||
        !sett__axes_of(c, x->dst->layout->shape, x->dst->layout->stride, &d))
        return;
    SETT__FAIL_IF(c->b, c->site, c->func, s.size != d.size || s.size % m.values, , SETT_E_SHAPE, "%s moves %lld elements of a thread at once: %s and %s are not as many of them", a->name,
        (long long)m.values, sett__tensor_text(c->b, x->src), sett__tensor_text(c->b, x->dst));
    m.n = s.size / m.values;
    transpose_registers(&m, x->src);
}

/* ---- the calls ------------------------------------------------------------------------------------ */
/* A product's fragment has its own modes: element by element it fits a partition of as many atoms and tiles. each: the elements
 * of an atom in `held` and in `other`. */
static bool check_modes(const sett__ctx *c, const sett_tensor *held, const sett_tensor *other, const int64_t each[2])
{
    const int n = sett__arity(held->layout->shape);
    if (!held->fragment || held->fragment->is_partition || held->space != SETT_RMEM || n < 2 || n != sett__arity(other->layout->shape))
        return true;
    for (int i = 0; i < n; i++) {
        const sett_arg x = sett__product(c, sett__kid(held->layout->shape, i)), y = sett__product(c, sett__kid(other->layout->shape, i));
        SETT__FAIL_IF(c->b, c->site, c->func, x.kind == SETT_INT && y.kind == SETT_INT && x.u.i * (i ? 1 : each[1]) != y.u.i * (i ? 1 : each[0]), false, SETT_E_SHAPE,
            "mode %d of %s has %lld elements, and of %s %lld: sett_retile gives a fragment the modes of a copy", i, sett__tensor_text(c->b, held), (long long)x.u.i,
            sett__tensor_text(c->b, other), (long long)y.u.i);
    }
    return true;
}

static int bits_of(int dtype)
{
    return dtype == SETT_BOOL ? 8 : sett_dtype_bits((sett_dtype)dtype);
}

/* An atom's values are of its type, or of another of as many bits, on one side at least: the other may have what they are converted to. */
static bool check_width(const sett__ctx *c, const sett_copy_atom *a, const sett_tensor *src, const sett_tensor *dst)
{
    const int bits = bits_of(a->dtype);
    bool fits = src->space == SETT_COORD || dst->space == SETT_COORD || bits_of(src->dtype) == bits || bits_of(dst->dtype) == bits;
    SETT__FAIL_IF(c->b, c->site, c->func, !fits, false, SETT_E_DTYPE, "%s is of %s, and the atom is a %s of %s, whose values have %d bits: make it of %s", sett__tensor_text(c->b, src),
        sett_dtype_name((sett_dtype)src->dtype), a->name, sett_dtype_name((sett_dtype)a->dtype), bits, sett_dtype_name((sett_dtype)src->dtype));
    return true;
}

sett_copy_atom *sett_tiled_copy_atom(const sett_tiled_copy *x)
{
    bool fine = sett__lives("sett_tiled_copy_atom", x, SETT__K_TILED_COPY) && !((const sett__head *)x)->poison;
    return fine ? (sett_copy_atom *)(uintptr_t)x->atom : (sett_copy_atom *)(uintptr_t)x;
}

void sett_copy_by_tiled_at(sett_site site, const sett_tiled_copy *copy, const sett_copy_args *given)
{
    sett_copy_by_atom_at(site, sett_tiled_copy_atom(copy), given);
}

void sett_copy_by_atom_at(sett_site site, const sett_copy_atom *atom, const sett_copy_args *given)
{
    sett__ctx c = {NULL, site, "sett_copy"};
    sett_copy_args args;
    if (!sett__take_args(&c, &args, sizeof args, given))
        return;
    const operands x = {args.second, args.third, args.pred, args.zfill};
    c.b = SETT__HOME_OR(atom, SETT__HOME_OR(x.src, sett__home(x.dst)));
    if (!sett__use_atom(&c, (const sett__head *)atom, SETT__K_COPY_ATOM) || !sett__use_tensor(c.b, site, c.func, x.src) || !sett__use_tensor(c.b, site, c.func, x.dst) ||
        (x.pred && !sett__use_val(c.b, site, c.func, x.pred)))
        return;
    SETT__FAIL_IF(c.b, site, c.func, x.zfill && atom->kind != SETT_COPY_ASYNC, , SETT_E_ARGUMENT, ".zfill is for sett_copy_async, and this is a %s", atom->name);
    const int64_t reads = values_of(&c, atom->val[SETT__SRC]), writes = values_of(&c, atom->val[SETT__DST]);
    if (!check_modes(&c, x.dst, x.src, (const int64_t[]){writes, reads}) || !check_modes(&c, x.src, x.dst, (const int64_t[]){reads, writes}))
        return;
    if (atom->kind < SETT_COPY_LDMATRIX && !check_width(&c, atom, x.src, x.dst))
        return;
    SETT__FAIL_IF(c.b, site, c.func, atom->kind >= SETT_COPY_LDMATRIX && x.pred, , SETT_E_ARGUMENT, "%s has no predicate: all lanes of a warp take part", atom->name);
    const sett_cp_async_args async = {.size = sizeof async, .src = x.src, .dst = x.dst, .pred = x.pred, .zfill = x.zfill};
    switch ((sett_copy_kind)atom->kind) {
    case SETT_COPY_UNIVERSAL: sett__copy_elements(&c, x.src, x.dst, x.pred, false); break;
    case SETT_COPY_ASYNC: sett__copy_async(&c, &async, (uint32_t)atom->n / 8); break;
    case SETT_COPY_LDMATRIX:
    case SETT_COPY_STMATRIX: move_matrices(&c, atom, &x); break;
    case SETT_COPY_MOVMATRIX: move_registers(&c, atom, &x); break;
    }
}
