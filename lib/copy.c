/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls that touch memory: load, store, copy, fill, one element, atomics. */
#include "lib.h"
#include <string.h>

static sett_val *bad_val(const sett_tensor *t)
{
    return t ? &t->head.b->poison->val : NULL;
}

static sett_build *either(sett_arg x, sett_arg y)
{
    sett_build *b = sett__build_of(x);
    return b ? b : sett__build_of(y);
}

static bool use_pred(const sett__ctx *c, const sett_val *pred)
{
    return !pred || sett__use_val(c->b, c->site, c->func, pred);
}

/* ---- values that fit --------------------------------------------------------------------- */
static const sett_val *stored(const sett__ctx *c, const sett_tensor *t, const sett_val *v)
{
    sett_dtype from = (sett_dtype)v->dtype, to = (sett_dtype)t->dtype;
    bool widens = sett__dtype_kind(from) == sett__dtype_kind(to) && sett__dtype_kind(to) != 's' && sett_dtype_bits(from) < sett_dtype_bits(to);
    v = sett__materialise(c->site, v);
    if (c->b->error.status)
        return NULL;
    if (from == to)
        return v;
    SETT__FAIL_IF(c->b, c->site, c->func, !widens && !v->weak, NULL, SETT_E_DTYPE,
        "a value of %s into %s of %s: convert it with sett_to", sett_dtype_name(from), sett__tensor_text(c->b, t),
        sett_dtype_name(to));
    v = sett_to_at(c->site, v, to);
    return c->b->error.status ? NULL : v;
}

/* A number or a scalar value as one element of a tensor. */
static const sett_val *scalar_of(const sett__ctx *c, const sett_tensor *t, sett_arg a)
{
    if (!sett__use_arg(c->b, c->site, c->func, a))
        return NULL;
    SETT__FAIL_IF(c->b, c->site, c->func, !sett__dtype_has_values((sett_dtype)t->dtype), NULL, SETT_E_DTYPE,
        "%s has no elements that a value can have", sett__tensor_text(c->b, t));
    if (a.kind == SETT_VALUE) {
        SETT__FAIL_IF(c->b, c->site, c->func, a.u.v->n != 1, NULL, SETT_E_SHAPE, "a value of shape %s is no scalar",
            sett__arg_text(c->b, a.u.v->shape));
        return stored(c, t, a.u.v);
    }
    sett_val *v = sett__number(c->b, c->site, c->func, a, (sett_dtype)t->dtype);
    return c->b->error.status ? NULL : v;
}

/* ---- load and store -------------------------------------------------------------------------- */
static sett_val *load(const sett__ctx *c, const sett__move *m)
{
    uint32_t id = sett__access(c, m);
    sett_arg shape = m->t->layout->shape;
    if (c->b->error.status)
        return bad_val(m->t);
    return sett__val(c->b, id, shape, shape.kind == SETT_NODE && !shape.rank);
}

sett_val *sett_load_at(sett_site site, const sett_load_args *given)
{
    sett__ctx c = {NULL, site, "sett_load"};
    sett_load_args a;
    if (!sett__take_args(&c, &a, sizeof a, given))
        return NULL;
    c.b = a.src ? a.src->head.b : a.pred ? a.pred->head.b : NULL;
    if (!sett__use_tensor(c.b, site, c.func, a.src) || !use_pred(&c, a.pred))
        return c.b ? &c.b->poison->val : NULL;
    SETT__FAIL_IF(
        c.b, site, c.func, a.cache, bad_val(a.src), SETT_E_ARGUMENT, ".cache is %d, it is reserved: 0", a.cache);
    return load(&c, &(sett__move){.t = a.src, .pred = a.pred, .fill = a.fill});
}

void sett_store_at(sett_site site, const sett_tensor *t, const sett_store_args *given)
{
    sett__ctx c = {t ? t->head.b : NULL, site, "sett_store"};
    sett_store_args a;
    if (!sett__take_args(&c, &a, sizeof a, given))
        return;
    if (!t && a.val)
        c.b = a.val->head.b;
    if (!sett__use_tensor(c.b, site, c.func, t) || !sett__use_val(c.b, site, c.func, a.val) || !use_pred(&c, a.pred))
        return;
    SETT__FAIL_IF(c.b, site, c.func, a.cache, , SETT_E_ARGUMENT, ".cache is %d, it is reserved: 0", a.cache);
    SETT__FAIL_IF(c.b, site, c.func, t->space == SETT_COORD, , SETT_E_SPACE,
        "the tensor of coordinates %s cannot be written", sett__layout_text(c.b, t->layout));
    SETT__FAIL_IF(c.b, site, c.func, !a.val->scalar && !sett__same_elements(a.val->shape, t->layout->shape), ,
        SETT_E_SHAPE, "a value of shape %s into %s", sett__arg_text(c.b, a.val->shape), sett__tensor_text(c.b, t));
    const sett_val *v = stored(&c, t, a.val);
    if (v)
        sett__access(&c, &(sett__move){.t = t, .val = v, .pred = a.pred});
}

/* ---- fill and copy ------------------------------------------------------------------------------ */
void sett_fill_at(sett_site site, const sett_tensor *t, sett_arg a)
{
    const sett__ctx c = {t ? t->head.b : sett__build_of(a), site, "sett_fill"};
    if (!sett__use_tensor(c.b, site, c.func, t))
        return;
    const sett_val *v = scalar_of(&c, t, a);
    if (v)
        sett__access(&c, &(sett__move){.t = t, .val = v});
}

static bool check_copy(const sett__ctx *c, const sett_tensor *src, const sett_tensor *dst)
{
    sett_build *b = c->b;
    sett__axes m, k;
    SETT__FAIL_IF(b, c->site, c->func, src->space == SETT_COORD || dst->space == SETT_COORD, false, SETT_E_SPACE,
        "coordinates cannot be copied: %s to %s", sett__tensor_text(b, src), sett__tensor_text(b, dst));
    if (!sett__axes_of(c, src->layout->shape, src->layout->stride, &m) ||
        !sett__axes_of(c, dst->layout->shape, dst->layout->stride, &k))
        return false;
    SETT__FAIL_IF(b, c->site, c->func, m.size != k.size, false, SETT_E_SHAPE, "%lld elements of %s to %lld of %s",
        (long long)m.size, sett__tensor_text(b, src), (long long)k.size, sett__tensor_text(b, dst));
    SETT__FAIL_IF(b, c->site, c->func, sett__dtype_class((sett_dtype)src->dtype) == 's' && src->dtype != dst->dtype,
        false, SETT_E_DTYPE, "%s of %s to %s of %s", sett__tensor_text(b, src), sett_dtype_name((sett_dtype)src->dtype),
        sett__tensor_text(b, dst), sett_dtype_name((sett_dtype)dst->dtype));
    return true;
}

void sett_copy_at(sett_site site, const sett_tensor *src, const sett_tensor *dst, sett_val *pred)
{
    const sett__ctx c = {src ? src->head.b : dst ? dst->head.b : NULL, site, "sett_copy"};
    if (!sett__use_tensor(c.b, site, c.func, src) || !sett__use_tensor(c.b, site, c.func, dst) ||
        !use_pred(&c, pred) || !check_copy(&c, src, dst))
        return;
    const sett_arg *shape = &src->layout->shape;
    const sett_val *v = load(&c, &(sett__move){.t = src, .pred = pred, .shape = shape});
    if (!v->head.poison)
        v = stored(&c, dst, v);
    if (v && !v->head.poison)
        sett__access(&c, &(sett__move){.t = dst, .val = v, .pred = pred, .shape = shape});
}

/* ---- one element ------------------------------------------------------------------------------------ */
typedef struct spot {
    const sett_tensor *t;
    sett_arg base;
    int64_t imm;
} spot;

static bool find(const sett__ctx *c, const sett_tensor *t, sett_arg coord, spot *s)
{
    sett_arg at;
    SETT__FAIL_IF(c->b, c->site, c->func, t->space == SETT_COORD, false, SETT_E_SPACE,
        "the tensor of coordinates %s has no elements in memory: sett_coord_at gives one",
        sett__layout_text(c->b, t->layout));
    SETT__FAIL_IF(c->b, c->site, c->func, t->space > SETT_RMEM, false, SETT_E_SPACE,
        "%s lies where loads and stores do not reach", sett__tensor_text(c->b, t));
    SETT__FAIL_IF(c->b, c->site, c->func, !sett__dtype_has_values((sett_dtype)t->dtype), false, SETT_E_DTYPE,
        "elements of %s cannot be loaded or stored: recast %s to an integer type",
        sett_dtype_name((sett_dtype)t->dtype), t->name);
    if (!sett__element_offset(c, t, coord, &at))
        return false;
    s->t = t;
    s->base = sett__peel(c->b, at, &s->imm);
    if (t->space == SETT_RMEM && s->base.kind == SETT_VALUE)
        sett__note_add(c, &(sett__note){.t = t, .lost = SETT__LOST_RMEM});
    return true;
}

static uint32_t touch(const sett__ctx *c, const spot *s, sett__emit e, uint32_t last)
{
    const sett_tensor *t = s->t;
    uint32_t base = s->base.kind == SETT_VALUE ? s->base.u.v->id : SETT__NONE;
    uint32_t bytes = (uint32_t)sett__dtype_bytes((sett_dtype)t->dtype);
    const uint32_t args[4] = {t->root, base, SETT__NONE, last};
    if (!sett__inside(c, t, s->base, s->imm, 1, bytes))
        return 0;
    if (e.code != SETT__ATOM)
        e.sub = (uint8_t)__builtin_ctz(sett__align_at(t, bytes, s->base, s->imm));
    e.imm = s->imm;
    e.n_args = 4;
    e.args = args;
    return sett__record(c->b, c->site, &e);
}

sett_val *sett_at_at(sett_site site, const sett_tensor *t, sett_arg coord)
{
    const sett__ctx c = {t ? t->head.b : sett__build_of(coord), site, "sett_at"};
    spot s;
    if (!sett__use_tensor(c.b, site, c.func, t) || !find(&c, t, coord, &s))
        return bad_val(t);
    uint32_t id = touch(&c, &s, (sett__emit){.code = SETT__LOAD, .dtype = (sett_dtype)t->dtype, .n = 1}, SETT__NONE);
    return sett__val(c.b, id, (sett_arg){.kind = SETT_NODE}, true);
}

sett_arg sett_coord_at_at(sett_site site, const sett_tensor *t, sett_arg coord)
{
    const sett__ctx c = {t ? t->head.b : sett__build_of(coord), site, "sett_coord_at"};
    const sett_arg poison = {.kind = SETT_POISON, .u = {.poisoned = c.b}};
    sett_arg at;
    if (!sett__use_tensor(c.b, site, c.func, t))
        return poison;
    SETT__FAIL_IF(c.b, site, c.func, t->space != SETT_COORD, poison, SETT_E_SPACE,
        "%s is no tensor of coordinates: sett_at reads it", sett__tensor_text(c.b, t));
    return sett__element_offset(&c, t, coord, &at) ? at : poison;
}

void sett__set(const sett__ctx *c, const sett_tensor *t, sett_arg val, sett_arg coord)
{
    spot s;
    if (!find(c, t, coord, &s))
        return;
    const sett_val *v = scalar_of(c, t, val);
    if (v)
        touch(c, &s, (sett__emit){.code = SETT__STORE}, v->id);
}

void sett_set_at(sett_site site, const sett_tensor *t, sett_arg val, sett_arg coord)
{
    const sett__ctx c = {t ? t->head.b : either(val, coord), site, "sett_set"};
    if (!sett__use_tensor(c.b, site, c.func, t))
        return;
    SETT__FAIL_IF(c.b, site, c.func, t->space == SETT_COORD, , SETT_E_SPACE,
        "the tensor of coordinates %s cannot be written", sett__layout_text(c.b, t->layout));
    sett__set(&c, t, val, coord);
}

/* ---- atomics ------------------------------------------------------------------------------------------ */
static const struct {
    sett_binary_op op;
    sett__code code;
    const char *name;
    bool ints;
} atomic_ops[] = {
    {SETT_ADD, SETT__ADD, "ADD", false},
    {SETT_MIN, SETT__MIN, "MIN", true},
    {SETT_MAX, SETT__MAX, "MAX", true},
    {SETT_AND, SETT__AND, "AND", true},
    {SETT_OR, SETT__OR, "OR", true},
    {SETT_XOR, SETT__XOR, "XOR", true},
};

static int atomic_op(const sett__ctx *c, const sett_tensor *t, sett_binary_op op)
{
    sett_dtype dtype = (sett_dtype)t->dtype;
    unsigned i = 0;
    while (i < SETT__COUNT(atomic_ops) && atomic_ops[i].op != op)
        i++;
    SETT__FAIL_IF(c->b, c->site, c->func, i == SETT__COUNT(atomic_ops), -1, SETT_E_ARGUMENT,
        "an atomic is ADD, MIN, MAX, AND, OR or XOR");
    bool is_int = sett__dtype_is_int(dtype) && sett_dtype_bits(dtype) >= 32;
    SETT__FAIL_IF(c->b, c->site, c->func, !is_int && (atomic_ops[i].ints || !sett__dtype_is_float(dtype)), -1,
        SETT_E_DTYPE, "no atomic %s of %s", atomic_ops[i].name, sett_dtype_name(dtype));
    SETT__FAIL_IF(c->b, c->site, c->func, t->space != SETT_GMEM && t->space != SETT_SMEM, -1, SETT_E_SPACE,
        "an atomic on %s, which other threads do not see", sett__tensor_text(c->b, t));
    return (int)i;
}

sett_val *sett_atomic_at(sett_site site, const sett_tensor *t, sett_binary_op op, sett_arg val, sett_arg coord)
{
    const sett__ctx c = {t ? t->head.b : either(val, coord), site, "sett_atomic"};
    spot s;
    if (!sett__use_tensor(c.b, site, c.func, t))
        return bad_val(t);
    int i = atomic_op(&c, t, op);
    if (i < 0 || !find(&c, t, coord, &s))
        return bad_val(t);
    const sett_val *v = scalar_of(&c, t, val);
    if (!v)
        return bad_val(t);
    sett__emit e = {.code = SETT__ATOM, .dtype = (sett_dtype)t->dtype, .n = 1, .sub = (uint8_t)atomic_ops[i].code};
    uint32_t id = touch(&c, &s, e, v->id);
    return sett__val(c.b, id, (sett_arg){.kind = SETT_NODE}, true);
}
