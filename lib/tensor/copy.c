/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls that touch memory: load, store, copy, fill, one element, atomics. */
#include "tensor.h"
#include <string.h>

static sett_val *bad_val(const sett_tensor *t)
{
    return sett__poison_val_of(t);
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
const sett_val *sett__stored(const sett__ctx *c, const sett_tensor *t, const sett_val *v)
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

const sett_val *sett__stored_arg(const sett__ctx *c, const sett_tensor *t, sett_arg a)
{
    if (!sett__use_arg(c->b, c->site, c->func, a))
        return NULL;
    if (a.kind == SETT_VALUE)
        return sett__stored(c, t, a.u.v);
    sett_val *v = sett__number(c->b, c->site, c->func, a, (sett_dtype)t->dtype);
    return c->b->error.status ? NULL : v;
}

/* A scalar, or element i of the value for element i of the tensor. how: "into" or "for". */
static bool fits(const sett__ctx *c, const sett_tensor *t, const sett_val *v, const char *how)
{
    if (!v || v->scalar || sett__same_elements(v->shape, t->layout->shape))
        return true;
    const char *shape = sett__arg_text(c->b, v->shape), *tensor = sett__tensor_text(c->b, t);
    const sett_arg n = sett__product(c, t->layout->shape);
    SETT__FAIL_IF(c->b, c->site, c->func, n.kind != SETT_INT, false, SETT_E_SHAPE, "a value of shape %s %s %s", shape, how, tensor);
    SETT__FAIL_IF(c->b, c->site, c->func, n.u.i != v->n, false, SETT_E_SHAPE, "a value of shape %s %s %s: %u elements %s %lld", shape, how, tensor,
        v->n, how, (long long)n.u.i);
    sett__fail(c->b, c->site, c->func, SETT_E_SHAPE, "a value of shape %s %s %s, whose extents in order are others; "
        "sett_reshape(value, sett_shape(tensor)) takes it element by element all the same", shape, how, tensor);
    return false;
}

/* A number or a scalar value as one element of a tensor. */
static const sett_val *scalar_of(const sett__ctx *c, const sett_tensor *t, sett_arg a)
{
    if (!sett__use_arg(c->b, c->site, c->func, a))
        return NULL;
    SETT__FAIL_IF(c->b, c->site, c->func, a.kind == SETT_VALUE && a.u.v->n != 1, NULL, SETT_E_SHAPE,
        "a value of shape %s is no scalar", sett__arg_text(c->b, a.u.v->shape));
    return sett__stored_arg(c, t, a);
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

/* not: the mode that this direction lacks, with SETT_CACHE_NONE of stores. */
static bool take_cache(const sett__ctx *c, const sett_tensor *t, int cache, sett_cache not, sett__move *m)
{
    bool store = not == SETT_CACHE_LAST_USE;
    SETT__FAIL_IF(c->b, c->site, c->func, cache < 0 || cache > SETT_CACHE_L2_256B || cache == (int)not || (store && (cache == SETT_CACHE_NONE || cache >= SETT_CACHE_L2_64B)), false,
        SETT_E_ARGUMENT, ".cache is %d, which is no cache mode of a %s", cache, store ? "store" : "load");
    SETT__FAIL_IF(c->b, c->site, c->func, cache && t->space != SETT_GMEM, false, SETT_E_SPACE, "a cache mode for %s: it is for gmem", sett__tensor_text(c->b, t));
    m->cache = cache;
    return true;
}

sett_val *sett_load_at(sett_site site, const sett_load_args *given)
{
    sett__ctx c = {NULL, site, "sett_load"};
    sett_load_args a;
    if (!sett__take_args(&c, &a, sizeof a, given))
        return NULL;
    c.b = SETT__HOME_OR(a.src, sett__home(a.pred));
    if (!sett__use_tensor(c.b, site, c.func, a.src) || !use_pred(&c, a.pred))
        return c.b ? &c.b->poison->val : NULL;
    sett__move m = {.t = a.src, .pred = a.pred, .fill = a.fill};
    return take_cache(&c, a.src, (int)a.cache, SETT_CACHE_WRITE_THROUGH, &m) ? load(&c, &m) : bad_val(a.src);
}

void sett_store_at(sett_site site, const sett_tensor *t, const sett_store_args *given)
{
    sett__ctx c = {sett__home(t), site, "sett_store"};
    sett_store_args a;
    if (!sett__take_args(&c, &a, sizeof a, given))
        return;
    if (!t)
        c.b = sett__build_of(a.val);
    if (!sett__use_tensor(c.b, site, c.func, t) || !sett__use_arg(c.b, site, c.func, a.val) || !use_pred(&c, a.pred))
        return;
    SETT__FAIL_IF(c.b, site, c.func, t->space == SETT_COORD, , SETT_E_SPACE,
        "the tensor of coordinates %s cannot be written", sett__layout_text(c.b, t->layout));
    if (!fits(&c, t, a.val.kind == SETT_VALUE ? a.val.u.v : NULL, "into"))
        return;
    sett__move m = {.t = t, .pred = a.pred};
    m.val = take_cache(&c, t, (int)a.cache, SETT_CACHE_LAST_USE, &m) ? sett__stored_arg(&c, t, a.val) : NULL;
    if (m.val)
        sett__access(&c, &m);
}

/* ---- fill and copy ------------------------------------------------------------------------------ */
void sett_fill_at(sett_site site, const sett_tensor *t, sett_arg a)
{
    const sett__ctx c = {SETT__HOME_OR(t, sett__build_of(a)), site, "sett_fill"};
    if (!sett__use_tensor(c.b, site, c.func, t))
        return;
    const sett_val *v = scalar_of(&c, t, a);
    if (v)
        sett__access(&c, &(sett__move){.t = t, .val = v});
}

bool sett__check_copy(const sett__ctx *c, const sett_tensor *src, const sett_tensor *dst)
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

void sett__copy_elements(const sett__ctx *c, const sett_tensor *src, const sett_tensor *dst, const sett_val *pred, bool single)
{
    if (!sett__check_copy(c, src, dst))
        return;
    const sett_arg *shape = &src->layout->shape;
    const sett_val *v = load(c, &(sett__move){.t = src, .pred = pred, .shape = shape, .single = single});
    if (!v->head.poison)
        v = sett__stored(c, dst, v);
    if (v && !v->head.poison)
        sett__access(c, &(sett__move){.t = dst, .val = v, .pred = pred, .shape = shape, .single = single});
}

static bool use_both(const sett__ctx *c, const sett_tensor *src, const sett_tensor *dst, const sett_val *pred)
{
    return sett__use_tensor(c->b, c->site, c->func, src) && sett__use_tensor(c->b, c->site, c->func, dst) && use_pred(c, pred);
}

void sett_copy_at(sett_site site, const sett_tensor *src, const sett_copy_args *given)
{
    sett__ctx c = {NULL, site, "sett_copy"};
    sett_copy_args x;
    if (!sett__take_args(&c, &x, sizeof x, given))
        return;
    c.b = SETT__HOME_OR(src, sett__home(x.second));
    if (!use_both(&c, src, x.second, x.pred) || (x.third && !sett__use_tensor(c.b, site, c.func, x.third)))
        return;
    SETT__FAIL_IF(c.b, site, c.func, x.third, , SETT_E_ARGUMENT, "three tensors: in front of a source and a destination stands a tiled copy or a copy atom");
    SETT__FAIL_IF(c.b, site, c.func, x.zfill, , SETT_E_ARGUMENT, ".zfill is for sett_copy_async, and this copy has no atom");
    sett__copy_elements(&c, src, x.second, x.pred, false);
}

void sett_autovec_copy_at(sett_site site, const sett_tensor *src, const sett_tensor *dst)
{
    const sett__ctx c = {SETT__HOME_OR(src, sett__home(dst)), site, "sett_autovec_copy"};
    if (!use_both(&c, src, dst, NULL))
        return;
    SETT__FAIL_IF(c.b, site, c.func, src->dtype != dst->dtype, , SETT_E_DTYPE, "%s is of %s and %s of %s: it moves bits, and sett_copy converts", sett__tensor_text(c.b, src),
        sett_dtype_name((sett_dtype)src->dtype), sett__tensor_text(c.b, dst), sett_dtype_name((sett_dtype)dst->dtype));
    sett__copy_elements(&c, src, dst, NULL, false);
}

/* Of extents that are known at run time: element i of each, in a loop. */
static void copy_each(const sett__ctx *c, const sett_tensor *src, const sett_tensor *dst)
{
    sett_arg n = sett__product(c, src->layout->shape), m = sett__product(c, dst->layout->shape);
    bool differ = n.kind == SETT_INT && m.kind == SETT_INT && n.u.i != m.u.i;
    SETT__FAIL_IF(c->b, c->site, c->func, src->space == SETT_COORD || dst->space == SETT_COORD, , SETT_E_SPACE, "coordinates cannot be copied: %s to %s",
        sett__tensor_text(c->b, src), sett__tensor_text(c->b, dst));
    SETT__FAIL_IF(c->b, c->site, c->func, differ, , SETT_E_SHAPE, "%s elements of %s to %s of %s", sett__arg_text(c->b, n), sett__tensor_text(c->b, src), sett__arg_text(c->b, m),
        sett__tensor_text(c->b, dst));
    if (n.kind == SETT_POISON || m.kind == SETT_POISON)
        return;
    const sett_for_options o = {.size = sizeof o};
    sett_region r = sett_for_begin(c->site, c->b, sett_arg_i(0), n, sett_arg_i(1), &o);
    if (!r.open)
        return;
    sett__set(c, dst, sett_arg_v(sett__get(c, src, sett_arg_v(r.iv))), sett_arg_v(r.iv));
    r.done = true;
    sett_region_end(&r);
}

void sett_basic_copy_at(sett_site site, const sett_tensor *src, const sett_tensor *dst, sett_val *pred)
{
    const sett__ctx c = {SETT__HOME_OR(src, sett__home(dst)), site, pred ? "sett_basic_copy_if" : "sett_basic_copy"};
    if (!use_both(&c, src, dst, pred))
        return;
    bool fixed = sett__is_static(src->layout->shape) && sett__is_static(dst->layout->shape);
    SETT__FAIL_IF(c.b, site, c.func, !fixed && pred && !pred->scalar, , SETT_E_STATIC, "a predicate of shape %s, and the extents of %s and %s are not static: it is one Boolean for all",
        sett__arg_text(c.b, pred->shape), sett__tensor_text(c.b, src), sett__tensor_text(c.b, dst));
    sett_region r = {.open = false};
    if (fixed) {
        sett__copy_elements(&c, src, dst, pred, true);
        return;
    }
    if (pred)
        r = sett_if_begin(site, c.b, pred);
    copy_each(&c, src, dst);
    if (r.open) {
        r.done = true;
        sett_region_end(&r);
    }
}

/* ---- one element ------------------------------------------------------------------------------------ */
typedef struct spot {
    const sett_tensor *t;
    sett_arg base;
    int64_t imm;
} spot;

static bool find(const sett__ctx *c, const sett_tensor *t, sett_arg coord, bool written, spot *s)
{
    sett_arg at;
    SETT__FAIL_IF(c->b, c->site, c->func, t->space == SETT_COORD, false, SETT_E_SPACE,
        "the tensor of coordinates %s has no elements in memory: sett_coord_at gives one",
        sett__layout_text(c->b, t->layout));
    if (!sett__reached(c, t, written) || !sett__element_offset(c, t, coord, &at))
        return false;
    if (c->b->tests)
        sett__test_inside(c, sett__fixed_at(c->b, t, coord), NULL);
    s->t = t;
    s->base = sett__peel(c->b, at, &s->imm);
    if (t->space == SETT_RMEM && s->base.kind == SETT_VALUE)
        sett__note_add(c, &(sett__note){.t = t, .lost = SETT__LOST_RMEM});
    return true;
}

static uint32_t touch_packed(const sett__ctx *c, const spot *s, const sett_val *v)
{
    uint32_t group = 0;
    sett_arg base = s->base, one = sett_arg_n(0, NULL);
    int64_t imm = s->imm;
    const sett__places p = {.n = 1, .n_group = 1, .group = &group, .base = &base, .imm = &imm};
    return sett__packed_access(c, &(sett__move){.t = s->t, .val = v, .shape = &one}, &p);
}

static uint32_t touch(const sett__ctx *c, const spot *s, sett__emit e, uint32_t last)
{
    const sett_tensor *t = s->t;
    uint32_t base = s->base.kind == SETT_VALUE ? s->base.u.v->id : SETT__NONE;
    uint32_t bytes = (uint32_t)sett__dtype_bytes((sett_dtype)t->dtype);
    const uint32_t args[4] = {t->root, base, SETT__NONE, last};
    if (!sett__inside(c, t, s->base, s->imm, 1, bytes))
        return 0;
    if (t->space != SETT_RMEM)
        e.at = sett__note_element(c, t, bytes) + 1;
    e.sub = (uint8_t)__builtin_ctz(sett__align_at(t, bytes, s->base, s->imm));
    e.imm = s->imm;
    e.n_args = 4;
    e.args = args;
    return sett__record(c->b, c->site, &e);
}

sett_val *sett__get(const sett__ctx *c, const sett_tensor *t, sett_arg coord)
{
    spot s;
    if (!sett__use_tensor(c->b, c->site, c->func, t) || !find(c, t, coord, false, &s))
        return bad_val(t);
    const sett__emit load = {.code = SETT__LOAD, .dtype = (sett_dtype)t->dtype, .n = 1};
    uint32_t id = sett__is_packed(t) ? touch_packed(c, &s, NULL) : touch(c, &s, load, SETT__NONE);
    return sett__scalar_val(c->b, id);
}

sett_val *sett_at_at(sett_site site, const sett_tensor *t, sett_arg coord)
{
    return sett__get(&(sett__ctx){SETT__HOME_OR(t, sett__build_of(coord)), site, "sett_at"}, t, coord);
}

sett_arg sett_coord_at_at(sett_site site, const sett_tensor *t, sett_arg coord)
{
    const sett__ctx c = {SETT__HOME_OR(t, sett__build_of(coord)), site, "sett_coord_at"};
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
    if (!find(c, t, coord, true, &s))
        return;
    const sett_val *v = scalar_of(c, t, val);
    if (v && sett__is_packed(t))
        touch_packed(c, &s, v);
    else if (v)
        touch(c, &s, (sett__emit){.code = SETT__STORE}, v->id);
}

void sett_set_at(sett_site site, const sett_tensor *t, sett_arg val, sett_arg coord)
{
    const sett__ctx c = {SETT__HOME_OR(t, either(val, coord)), site, "sett_set"};
    if (!sett__use_tensor(c.b, site, c.func, t))
        return;
    SETT__FAIL_IF(c.b, site, c.func, t->space == SETT_COORD, , SETT_E_SPACE,
        "the tensor of coordinates %s cannot be written", sett__layout_text(c.b, t->layout));
    sett__set(&c, t, val, coord);
}

/* ---- atomics ------------------------------------------------------------------------------------------ */
typedef struct atomic_op {
    int op;
    uint8_t code;
    bool ints; /* integers alone */
    const char *name;
} atomic_op;

static const atomic_op *atomic_named(int op)
{
    static const atomic_op ops[] = {{SETT_ATOMIC_ADD, SETT__ADD, false, "ADD"}, {SETT_ATOMIC_MIN, SETT__MIN, false, "MIN"},
        {SETT_ATOMIC_MAX, SETT__MAX, false, "MAX"}, {SETT_ATOMIC_AND, SETT__AND, true, "AND"}, {SETT_ATOMIC_OR, SETT__OR, true, "OR"},
        {SETT_ATOMIC_XOR, SETT__XOR, true, "XOR"}, {SETT_ATOMIC_EXCH, SETT__XCHG, false, "EXCH"}, {SETT_ATOMIC_CAS, SETT__CAS, false, "CAS"}};
    for (size_t i = 0; i < SETT__COUNT(ops); i++)
        if (ops[i].op == op)
            return &ops[i];
    return NULL;
}

static bool check_atomic(const sett__ctx *c, const sett_tensor *t, const sett_atomic_how *how)
{
    sett_dtype dtype = (sett_dtype)t->dtype;
    const atomic_op *op = atomic_named((int)how->op);
    bool exchange = how->op >= SETT_ATOMIC_EXCH, is_float = sett__dtype_is_float(dtype);
    SETT__FAIL_IF(c->b, c->site, c->func, !op, false, SETT_E_ARGUMENT, "an atomic is ADD, MIN, MAX, AND, OR, XOR or EXCH");
    SETT__FAIL_IF(c->b, c->site, c->func, (unsigned)how->sem > SETT_SEM_ACQ_REL, false, SETT_E_ARGUMENT, "%d is not an order", (int)how->sem);
    SETT__FAIL_IF(c->b, c->site, c->func, (unsigned)how->scope > SETT_SCOPE_CLUSTER, false, SETT_E_ARGUMENT, "%d is not a scope", (int)how->scope);
    SETT__FAIL_IF(c->b, c->site, c->func, t->space == SETT_COORD, false, SETT_E_SPACE,
        "the tensor of coordinates %s has no elements in memory", sett__layout_text(c->b, t->layout));
    bool is_int = sett__dtype_is_int(dtype) || (exchange && sett__dtype_is_wide(dtype));
    SETT__FAIL_IF(c->b, c->site, c->func, !is_int && (op->ints || !is_float), false,
        SETT_E_DTYPE, "no atomic %s of %s", op->name, sett_dtype_name(dtype));
    SETT__FAIL_IF(c->b, c->site, c->func, t->space != SETT_GMEM && t->space != SETT_SMEM && t->space != SETT_DSMEM, false, SETT_E_SPACE,
        "an atomic on %s, which other threads do not see", sett__tensor_text(c->b, t));
    return true;
}

/* A number, a scalar or a value of the tensor's shape. */
static const sett_val *shaped(const sett__ctx *c, const sett_tensor *t, sett_arg a)
{
    const bool ok = sett__use_arg(c->b, c->site, c->func, a) && fits(c, t, a.kind == SETT_VALUE ? a.u.v : NULL, "for");
    return ok ? sett__stored_arg(c, t, a) : NULL;
}

/* Of every element of a view. */
static sett_val *atomic_view(const sett__ctx *c, const sett_tensor *t, sett__move *m, sett_arg val, const sett_arg *was, sett_arg coord)
{
    if (coord.kind != SETT_SLICE)
        t = sett__slice(c, t, coord);
    if (t->head.poison)
        return bad_val(t);
    m->t = t;
    m->val = shaped(c, t, val);
    m->was = was && m->val ? shaped(c, t, *was) : NULL;
    return m->val && (m->was || !was) ? load(c, m) : bad_val(t);
}

static sett_val *atomic(const sett__ctx *c, const sett_tensor *t, const sett_atomic_how *how, sett_arg val, const sett_arg *was, sett_arg coord)
{
    spot s;
    if (!check_atomic(c, t, how) || !use_pred(c, how->pred) || !sett__use_arg(c->b, c->site, c->func, coord))
        return bad_val(t);
    sett__move m = {.pred = how->pred, .atomic = atomic_named((int)how->op)->code,
        .how = {(int32_t)how->sem, (int32_t)how->scope}};
    if (sett__any_slice(coord))
        return atomic_view(c, t, &m, val, was, coord);
    if (!find(c, t, coord, true, &s))
        return bad_val(t);
    const sett_val *v = scalar_of(c, t, val), *w = was && v ? scalar_of(c, t, *was) : v, *p = how->pred;
    SETT__FAIL_IF(c->b, c->site, c->func, p && (p->dtype != SETT_BOOL || p->n != 1), bad_val(t), SETT_E_SHAPE,
        "a predicate of shape %s of %s for one element", sett__arg_text(c->b, p->shape), sett_dtype_name((sett_dtype)p->dtype));
    p = p ? sett__materialise(c->site, p) : NULL;
    if (!v || !w || c->b->error.status || !sett__inside(c, t, s.base, s.imm, 1, (uint32_t)sett__dtype_bytes((sett_dtype)t->dtype)))
        return bad_val(t);
    const uint32_t args[5] = {t->root, s.base.kind == SETT_VALUE ? s.base.u.v->id : SETT__NONE, p ? p->id : SETT__NONE, v->id, w->id};
    uint32_t id = sett__record(c->b, c->site, &(sett__emit){.code = SETT__ATOM, .dtype = (sett_dtype)t->dtype, .n = 1, .imm = s.imm,
        .sub = m.atomic, .n_attrs = SETT__COUNT(m.how), .attrs = m.how, .n_args = was ? 5 : 4, .args = args});
    return sett__scalar_val(c->b, id);
}

sett_val *sett_atomic_at(sett_site site, const sett_tensor *t, sett_binary_op op, sett_arg val, sett_arg coord)
{
    const sett__ctx c = {SETT__HOME_OR(t, either(val, coord)), site, "sett_atomic"};
    const sett_atomic_how how = {.op = (sett_atomic_op)op};
    if (!sett__use_tensor(c.b, site, c.func, t))
        return bad_val(t);
    SETT__FAIL_IF(c.b, site, c.func, !atomic_named((int)op) || how.op >= SETT_ATOMIC_EXCH, bad_val(t), SETT_E_ARGUMENT,
        "an atomic is ADD, MIN, MAX, AND, OR or XOR; to exchange there are sett_atomic_exch and sett_atomic_cas");
    return atomic(&c, t, &how, val, NULL, coord);
}

sett_val *sett_atomic_how_at(sett_site site, const char *func, const sett_tensor *t, sett_atomic_how how, sett_arg val, sett_arg coord)
{
    const sett__ctx c = {SETT__HOME_OR(t, either(val, coord)), site, func};
    if (!sett__use_tensor(c.b, site, c.func, t))
        return bad_val(t);
    SETT__FAIL_IF(c.b, site, func, how.op == SETT_ATOMIC_CAS, bad_val(t), SETT_E_ARGUMENT, "sett_atomic_cas takes what is compared");
    return atomic(&c, t, &how, val, NULL, coord);
}

sett_val *sett_atomic_cas_at(sett_site site, const sett_tensor *t, sett_arg was, sett_arg val, sett_sem sem, sett_scope scope, sett_arg coord)
{
    const sett__ctx c = {SETT__HOME_OR(t, either(val, coord)), site, "sett_atomic_cas"};
    const sett_atomic_how how = {SETT_ATOMIC_CAS, sem, scope, NULL};
    return sett__use_tensor(c.b, site, c.func, t) ? atomic(&c, t, &how, val, &was, coord) : bad_val(t);
}
