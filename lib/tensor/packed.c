/* SPDX-License-Identifier: Apache-2.0 */
/* Elements narrower than a byte in memory: packed, the lowest bits first.
 *
 * Elements come in units of whole bytes: two of 4 bits in one byte, four of 6 bits in three. Offsets count elements; an
 * access is made of bytes, which access.c moves as wide as it can, and opened or closed in registers. Loads take the
 * bytes that hold what is asked for. Stores write whole units; part of one only to the thread's own registers, where
 * nobody else writes the rest meanwhile. */
#include "inside.h"

typedef struct unit {
    uint32_t group, elem[4]; /* by place in it; SETT__NONE: not asked for */
    int64_t at;              /* units from the group's base */
} unit;
typedef struct packed {
    const sett__ctx *c;
    const sett__move *m;
    const sett_tensor *t;
    const sett__expand_at *a;
    sett_dtype dtype;
    uint32_t bits, per, size; /* of an element; elements and bytes of a unit */
    const sett__places *p;    /* of elements */
    unit *unit;
    uint32_t n_unit, *slot;   /* element to place in all units */
    sett__guard guard;
    const sett_val *pred;     /* recorded, where it is needed by elements */
} packed;

bool sett__is_packed(const sett_tensor *t)
{
    return t->space != SETT_COORD && t->dtype != SETT_BOOL && sett_dtype_bits((sett_dtype)t->dtype) < 8;
}

uint64_t sett__packed_bytes(sett_dtype dtype, uint64_t n)
{
    uint64_t bits = dtype == SETT_BOOL ? 8 : (uint64_t)sett_dtype_bits(dtype);
    return bits % 8 == 0 ? n * (bits / 8) : bits == 4 ? (n + 1) / 2 : (n + 3) / 4 * 3;
}

static sett_val *poison(const packed *k)
{
    return &k->c->b->poison->val;
}

static bool failed(const packed *k)
{
    return k->c->b->error.status != SETT_OK;
}

static sett_val *byte(const packed *k, uint64_t x)
{
    return sett__const_bits(k->c->b, k->c->site, SETT_U8, x);
}

static sett_val *pick(const packed *k, const sett_val *v, const uint32_t *index, uint32_t n)
{
    uint32_t id = failed(k) ? 0 : v->n == 1 ? sett__splat(k->c->b, k->c->site, v->id, n) : sett__pick(k->c->b, k->c->site, v->id, index, n);
    return sett__val(k->c->b, id, sett_arg_i(n), false);
}

static sett_val *pack(const packed *k, sett_val *const *v, uint32_t n)
{
    uint32_t *id = sett__new(k->c->b, n * sizeof *id), all = 0;
    for (uint32_t i = 0; id && i < n; i++)
        id[i] = v[i]->id, all += v[i]->n;
    if (failed(k))
        return poison(k);
    uint32_t r = sett__record(k->c->b, k->c->site,
        &(sett__emit){.code = SETT__PACK, .dtype = (sett_dtype)v[0]->dtype, .n = all, .n_args = (int)n, .args = id});
    return sett__val(k->c->b, r, sett_arg_i(all), false);
}

/* ---- bytes ------------------------------------------------------------------------------- */
/* Moves bytes at places; which: the element whose predicate a byte has. */
static sett_val *move(const packed *k, const sett__places *p, const sett_val *val, const sett_val *pred, const uint32_t *which)
{
    sett_arg shape = which ? k->m->shape ? *k->m->shape : k->t->layout->shape : sett_arg_i(p->n);
    sett__move bytes = {.t = k->t, .val = val, .pred = pred, .shape = &shape, .bytes = p, .which = which, .elements = k->p->n, .cache = k->m->cache};
    uint32_t id = failed(k) ? 0 : sett__access(k->c, &bytes);
    return failed(k) || val ? poison(k) : sett__val(k->c->b, id, sett_arg_i(p->n), false);
}

static sett__places places(const packed *k, uint32_t n, uint32_t n_group)
{
    sett_build *b = k->c->b;
    return (sett__places){.n = n, .n_group = n_group, .group = sett__new(b, n * sizeof(uint32_t)),
        .base = sett__new(b, n_group * sizeof(sett_arg)), .imm = sett__new(b, n * sizeof(int64_t))};
}

/* ---- units --------------------------------------------------------------------------------- */
static bool find_units(packed *k)
{
    sett_build *b = k->c->b;
    sett__spot *spot = sett__spots(k->c, k->p, NULL);
    k->unit = sett__new(b, k->p->n * sizeof *k->unit);
    k->slot = sett__new(b, k->p->n * sizeof *k->slot);
    for (uint32_t i = 0; spot && !failed(k) && i < k->p->n; i++) {
        int64_t at = spot[i].imm >= 0 ? spot[i].imm / k->per : -((k->per - 1 - spot[i].imm) / k->per);
        unit *u = k->n_unit ? &k->unit[k->n_unit - 1] : NULL;
        if (!u || u->group != spot[i].group || u->at != at) {
            u = &k->unit[k->n_unit++];
            *u = (unit){spot[i].group, {SETT__NONE, SETT__NONE, SETT__NONE, SETT__NONE}, at};
        }
        uint32_t place = (uint32_t)(spot[i].imm - at * k->per);
        u->elem[place] = spot[i].elem; /* of several in one place the last one stays */
        k->slot[spot[i].elem] = (k->n_unit - 1) * k->per + place;
    }
    return !failed(k);
}

/* An element of the unit that has bits in byte `at` of it. */
static uint32_t element_in(const packed *k, const unit *u, uint32_t at)
{
    for (uint32_t e = 0; e < k->per; e++)
        if (u->elem[e] != SETT__NONE && (e + 1) * k->bits > at * 8 && e * k->bits < at * 8 + 8)
            return u->elem[e];
    return SETT__NONE;
}

static bool whole(const packed *k, const unit *u)
{
    for (uint32_t e = 0; e < k->per; e++)
        if (u->elem[e] == SETT__NONE)
            return false;
    return true;
}

/* The bytes of all units that are asked for, in order; all: those that are not, too. back: byte of a unit to byte moved. */
static sett__places bytes_of(const packed *k, bool all, uint32_t *which, uint32_t *back)
{
    uint32_t n = 0;
    sett__places p = places(k, k->n_unit * k->size, k->p->n_group);
    for (uint32_t g = 0; g < k->p->n_group && !failed(k); g++) {
        sett_arg base = k->p->base[g];
        if (base.kind == SETT_VALUE)
            base = sett__mul(k->c, sett__div(k->c, base, sett_arg_i(k->per)), sett_arg_i(k->size));
        p.base[g] = base;
    }
    for (uint32_t i = 0; i < k->n_unit * k->size && !failed(k); i++) {
        const unit *u = &k->unit[i / k->size];
        which[n] = element_in(k, u, i % k->size);
        back[i] = SETT__NONE;
        if (which[n] == SETT__NONE && !all)
            continue;
        back[i] = n;
        p.group[n] = u->group;
        p.imm[n++] = u->at * k->size + i % k->size;
    }
    p.n = n;
    return p;
}

/* ---- predicates ------------------------------------------------------------------------------ */
/* Has every unit one predicate for all that is asked of it? */
static bool alike(const packed *k)
{
    const sett_val *pred = k->m->pred;
    for (uint32_t i = 0; pred && pred->n > 1 && i < k->n_unit; i++) {
        uint32_t elem[4], n = 0;
        bool same = true;
        for (uint32_t e = 0; e < k->per; e++)
            if (k->unit[i].elem[e] != SETT__NONE)
                elem[n++] = k->guard.map[k->unit[i].elem[e]];
        for (uint32_t e = 1; e < n; e++)
            same = same && elem[e] == elem[0];
        if (!same && (pred->id != SETT__NONE || !sett__pred_alike(k->c, pred->pred, elem, n)))
            return false;
    }
    return true;
}

static sett_val *by_element(packed *k)
{
    if (!k->pred)
        k->pred = sett__materialise(k->c->site, k->m->pred);
    return failed(k) ? poison(k) : pick(k, k->pred, k->guard.map, k->p->n);
}

/* Of bytes whose elements have several: true where one of them is. */
static const sett_val *any_of(packed *k, const sett__places *p, const uint32_t *back)
{
    const sett__expand_at *a = k->a;
    sett_val *all = by_element(k), *any = NULL;
    uint32_t *index = sett__new(k->c->b, (p->n + 1) * sizeof *index);
    for (uint32_t e = 0; index && e < k->per && !failed(k); e++) {
        for (uint32_t i = 0; i < k->n_unit * k->size; i++) {
            const unit *u = &k->unit[i / k->size];
            uint32_t at = i % k->size;
            bool in = (e + 1) * k->bits > at * 8 && e * k->bits < at * 8 + 8 && u->elem[e] != SETT__NONE;
            if (back[i] != SETT__NONE)
                index[back[i]] = in ? u->elem[e] : element_in(k, u, at);
        }
        sett_val *part = pick(k, all, index, p->n);
        any = any ? X_OR(any, part) : part;
    }
    return any;
}

/* ---- elements at places that only the thread knows ---------------------------------------------- */
/* Of one element at base + imm: the places of its first and last byte, and the bits before it. */
static sett__places loose(const packed *k, uint32_t i, sett_val **shift)
{
    const sett__ctx *c = k->c;
    sett_arg e = sett__add(c, k->p->base[k->p->group[i]], sett_arg_i(k->p->imm[i])), per = sett_arg_i(k->per);
    sett_arg start = sett__mul(c, sett__div(c, e, per), sett_arg_i(k->size));
    sett_arg bit = sett__mul(c, sett__rem(c, e, per), sett_arg_i(k->bits));
    sett__places p = places(k, k->bits == 4 ? 1 : 2, 2);
    for (uint32_t n = 0; n < p.n && !failed(k); n++) {
        sett_arg last = n ? sett__add(c, bit, sett_arg_i(k->bits - 1)) : bit;
        p.base[n] = k->size == 1 ? start : sett__add(c, start, sett__div(c, last, sett_arg_i(8)));
        if (p.base[n].kind == SETT_INT) { /* a place that is known stands in imm alone */
            p.imm[n] = p.base[n].u.i;
            p.base[n] = sett_arg_i(0);
        }
        p.group[n] = n;
    }
    p.n_group = p.n;
    if (!failed(k))
        *shift = sett__to(c->b, c->site, sett__arg_val(c->b, c->site, sett__rem(c, bit, sett_arg_i(8))), k->size == 1 ? SETT_U8 : SETT_U16);
    return p;
}

static sett_val *load_loose(packed *k, uint32_t i)
{
    const sett__expand_at *a = k->a;
    sett_val *shift = NULL;
    sett__places p = loose(k, i, &shift);
    if (failed(k))
        return poison(k);
    sett_val *pred = k->m->pred && k->t->space != SETT_RMEM ? pick(k, by_element(k), &i, 1) : NULL;
    sett_val *v = move(k, &p, NULL, pred, NULL);
    if (failed(k))
        return poison(k);
    if (p.n == 2) {
        sett_val *low = X_TO(pick(k, v, (const uint32_t[]){0}, 1), SETT_U16), *high = X_TO(pick(k, v, (const uint32_t[]){1}, 1), SETT_U16);
        v = X_OR(low, X_SHL(high, sett__const_bits(k->c->b, k->c->site, SETT_U16, 8)));
    }
    v = X_SHR(v, shift);
    v = X_AND(p.n == 2 ? X_TO(v, SETT_U8) : v, byte(k, (1u << k->bits) - 1));
    return X_1(SETT__BITCAST, k->dtype, v);
}

/* The other half of the byte stays: only the thread's own memory. */
static void store_loose(packed *k, uint32_t i)
{
    const sett__expand_at *a = k->a;
    sett_val *shift = NULL;
    sett__places p = loose(k, i, &shift);
    sett_val *old = move(k, &p, NULL, NULL, NULL);
    if (failed(k))
        return;
    sett_val *bits = X_1(SETT__BITCAST, SETT_U8, pick(k, k->m->val, &i, 1));
    sett_val *keep = X_1(SETT__NOT, SETT_U8, X_SHL(byte(k, 15), shift));
    sett_val *kept = X_AND(old, keep);
    move(k, &p, X_OR(kept, X_SHL(bits, shift)), NULL, NULL);
}

/* ---- whole accesses ----------------------------------------------------------------------------------- */
/* All elements of the units: unasked bytes are 0. */
static sett_val *open_units(packed *k, bool all)
{
    uint32_t total = k->n_unit * k->size;
    uint32_t *which = sett__new(k->c->b, (total + 1) * sizeof *which), *back = sett__new(k->c->b, total * sizeof *back);
    if (failed(k))
        return poison(k);
    sett__places p = bytes_of(k, all, which, back);
    bool memory = k->t->space != SETT_RMEM && k->m->pred && !k->m->val, same = memory && alike(k);
    const sett_val *pred = !memory ? NULL : same ? k->m->pred : any_of(k, &p, back);
    sett_val *v = failed(k) ? poison(k) : move(k, &p, NULL, pred, same ? which : NULL);
    if (p.n < total && !failed(k)) {
        v = pack(k, (sett_val *[]){v, byte(k, 0)}, 2);
        for (uint32_t i = 0; i < total; i++)
            back[i] = back[i] == SETT__NONE ? p.n : back[i];
        v = pick(k, v, back, total);
    }
    return failed(k) ? poison(k) : sett__bitcast_packed(k->c->b, k->c->site, v, k->dtype, k->n_unit * k->per);
}

static sett_val *load_elements(packed *k, bool free)
{
    sett_val **one = free ? sett__new(k->c->b, k->p->n * sizeof *one) : NULL;
    if (failed(k))
        return poison(k);
    if (!free) {
        sett_val *all = find_units(k) ? open_units(k, false) : poison(k);
        return failed(k) ? poison(k) : pick(k, all, k->slot, k->p->n);
    }
    for (uint32_t i = 0; i < k->p->n; i++)
        one[i] = load_loose(k, i);
    return pack(k, one, k->p->n);
}

static bool check_store(const packed *k, bool free)
{
    const sett__ctx *c = k->c;
    bool own = k->t->space == SETT_RMEM;
    SETT__FAIL_IF(c->b, c->site, c->func, free && (!own || k->bits != 4), false, SETT_E_ALIGN,
        "elements of %s are stored %u together, in whole bytes: where %s begins is not known to be a multiple of %u elements: give its symbols .div = %u, or sett_assume it",
        sett_dtype_name(k->dtype), k->per, sett__tensor_text(c->b, k->t), k->per, k->per);
    for (uint32_t i = 0; i < k->n_unit && !own; i++)
        SETT__FAIL_IF(c->b, c->site, c->func, !whole(k, &k->unit[i]), false, SETT_E_ALIGN,
            "elements of %s are stored %u together, in whole bytes: %s has less of some, and another thread may write the rest: store %u neighbours at once",
            sett_dtype_name(k->dtype), k->per, sett__tensor_text(c->b, k->t), k->per);
    SETT__FAIL_IF(c->b, c->site, c->func, !own && k->m->pred && !alike(k), false, SETT_E_ALIGN,
        "elements of %s are stored %u together, in whole bytes: the predicate is not known to be the same for those of %s: give the symbols of its bound .div = %u",
        sett_dtype_name(k->dtype), k->per, sett__tensor_text(c->b, k->t), k->per);
    return true;
}

static void store_units(packed *k)
{
    uint32_t total = k->n_unit * k->per, n = k->p->n, kept = 0;
    const sett_val *val = k->m->val;
    uint32_t *index = sett__new(k->c->b, total * sizeof *index);
    uint32_t *which = sett__new(k->c->b, (k->n_unit * k->size + 1) * sizeof *which), *back = sett__new(k->c->b, k->n_unit * k->size * sizeof *back);
    for (uint32_t i = 0; !failed(k) && i < total; i++) {
        uint32_t elem = k->unit[i / k->per].elem[i % k->per];
        kept += elem == SETT__NONE;
        index[i] = elem == SETT__NONE ? n + i : elem;
    }
    sett__places p = bytes_of(k, true, which, back);
    if (failed(k))
        return;
    sett_val *full = val->n == n ? (sett_val *)(uintptr_t)val : pick(k, val, index, n);
    if (kept)
        full = pack(k, (sett_val *[]){full, open_units(k, true)}, 2);
    full = failed(k) ? poison(k) : pick(k, full, index, total);
    if (!failed(k))
        move(k, &p, sett__bitcast_packed(k->c->b, k->c->site, full, SETT_U8, k->n_unit * k->size), k->m->pred, k->m->pred ? which : NULL);
}

/* Is some base not known to be a multiple of a unit? */
static bool is_free(const packed *k)
{
    for (uint32_t g = 0; g < k->p->n_group; g++)
        if (k->p->base[g].kind == SETT_VALUE && sett__leaf_div(k->p->base[g]) % k->per)
            return true;
    return false;
}

/* Do elements of several predicates lie in one place? Each is loaded by its own. */
static bool is_shared(const packed *k)
{
    const bool apart = k->m->pred && k->m->pred->n > 1 && k->t->space != SETT_RMEM;
    const sett__spot *spot = apart ? sett__spots(k->c, k->p, NULL) : NULL;
    for (uint32_t i = 1; spot && i < k->p->n; i++)
        if (spot[i].group == spot[i - 1].group && spot[i].imm == spot[i - 1].imm)
            return true;
    return false;
}

static uint32_t loaded(packed *k, bool free)
{
    const sett__expand_at *a = k->a;
    sett_val *v = load_elements(k, free || is_shared(k));
    if (!k->m->pred || failed(k))
        return failed(k) ? 0 : v->id;
    double f = k->m->fill;
    bool whole_number = f > -1e9 && f < 1e9 && f == (double)(int)f;
    sett_val *fill = sett__number(k->c->b, k->c->site, k->c->func, whole_number ? sett_arg_i((int)f) : sett_arg_f(f), k->dtype);
    sett_val *cond = failed(k) ? poison(k) : by_element(k);
    return failed(k) ? 0 : X_IF(cond, v, fill)->id;
}

static void store_plain(packed *k, bool free)
{
    if (!free)
        store_units(k);
    for (uint32_t i = 0; free && i < k->p->n && !failed(k); i++)
        store_loose(k, i);
}

/* Under a predicate the thread's own registers take what they had: no memory can be missed. */
static void store(packed *k, bool free)
{
    if ((!free && !find_units(k)) || !check_store(k, free))
        return;
    if (!k->m->pred || k->t->space != SETT_RMEM) {
        store_plain(k, free);
        return;
    }
    const sett__expand_at *a = k->a;
    sett__move load = {.t = k->t}, plain = {.t = k->t};
    packed old = {.c = k->c, .m = &load, .t = k->t, .a = a, .dtype = k->dtype, .bits = k->bits, .per = k->per, .size = k->size, .p = k->p};
    sett_val *was = load_elements(&old, free), *cond = failed(k) ? poison(k) : by_element(k);
    packed now = *k;
    now.m = &plain;
    plain.val = failed(k) ? poison(k) : X_IF(cond, (sett_val *)(uintptr_t)k->m->val, was);
    store_plain(&now, free);
}

uint32_t sett__packed_access(const sett__ctx *c, const sett__move *m, const sett__places *p)
{
    const sett__expand_at at = sett__at_of(c->b, c->site, SETT_F32);
    sett_dtype dtype = (sett_dtype)m->t->dtype;
    uint32_t bits = (uint32_t)sett_dtype_bits(dtype);
    packed k = {.c = c, .m = m, .t = m->t, .a = &at, .dtype = dtype, .bits = bits, .per = bits == 4 ? 2 : 4, .size = bits == 4 ? 1 : 3, .p = p};
    if (!sett__guard_take(c, &k.guard, m->pred, p->n, m->shape ? *m->shape : m->t->layout->shape, true))
        return 0;
    if (!m->val)
        return loaded(&k, is_free(&k));
    store(&k, is_free(&k));
    return 0;
}
