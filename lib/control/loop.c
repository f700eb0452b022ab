/* SPDX-License-Identifier: Apache-2.0 */
/* Loops. One that is unrolled by U becomes two: a loop over rounds of U copies of the body, as the C statement behind
 * sett_for runs once a copy, and one over what is left; or, unrolled in full, the copies alone. */
#include "control.h"

#define MOST_COPIES 4096 /* of one body */

struct sett__copies {
    sett_site site;
    sett_dtype dtype;
    int64_t lo, step;        /* lo: of one unrolled in full */
    sett_val *first;         /* the variable of copy 0; NULL: unrolled in full, without a region */
    sett_val *from, *to;     /* the loop over the rest, NULL: there is none */
    int64_t copy, n;
    const char *name;        /* of the variable; NULL: not known */
};

/* ---- what the body calls a variable ------------------------------------------------ */
static sett_region name_variable(sett_region r, const char *name)
{
    sett_build *b = r.b;
    const sett_val *v = b && !b->error.status ? r.iv : NULL;
    if (v && name)
        sett__name_loop(b, v->id, name);
    return r;
}

/* The type of a loop: that of its bounds, 32 bits unless one has 64. */
static bool loop_bounds(const sett__ctx *c, const sett_arg in[3], const sett_val *out[3], sett_dtype *dtype)
{
    static const char *const names[] = {"the first bound", "the second bound", "the step"};
    sett_build *b = c->b;
    *dtype = SETT_I32;
    for (int i = 0; i < 3; i++) {
        bool number = in[i].kind == SETT_INT;
        if (!sett__use_arg(b, c->site, c->func, in[i]))
            return false;
        SETT__FAIL_IF(b, c->site, c->func, !number && in[i].kind != SETT_VALUE && in[i].kind != SETT_POISON, false,
            SETT_E_ARGUMENT, "%s must be an integer, not %s%s", names[i], sett__arg_text(b, in[i]), sett__of_tuple(in[i]));
        out[i] = number ? sett__arg_val(b, c->site, in[i]) : sett__need_scalar(c, in[i].u.v, names[i], false);
        if (!out[i] || b->error.status)
            return false;
        if (sett_dtype_bits((sett_dtype)out[i]->dtype) == 64 || out[i]->dtype == SETT_U32)
            *dtype = SETT_I64;
    }
    SETT__FAIL_IF(b, c->site, c->func, out[2]->lo == out[2]->hi && out[2]->lo < 1, false, SETT_E_ARGUMENT,
        "the step is %lld, it must be positive", (long long)out[2]->lo);
    return true;
}

/* The region of lo, hi and step, which have its type. */
static sett_region open_for(sett_build *b, sett_site site, sett_dtype dtype, const sett_val *lo, const sett_val *hi, const sett_val *step)
{
    sett_region r = sett__open_region(b, site,
        &(sett__emit){.code = SETT__FOR, .dtype = dtype, .n = 1, .n_args = 3, .args = (const uint32_t[]){lo->id, hi->id, step->id}});
    if (b->error.status)
        return r;
    /* The induction variable lives inside, though its op stands outside. */
    uint32_t op = b->region[b->depth - 1].op;
    b->op[op].depth = (uint16_t)b->depth;
    b->op[op].other = b->serials;
    r.iv = sett__scalar_val(b, op);
    return r;
}

/* ---- copies of the body ----------------------------------------------------------------- */
static sett_val *copy_number(const struct sett__copies *u, sett_build *b, int64_t i)
{
    return sett__const_bits(b, u->site, u->dtype, (uint64_t)i);
}

/* No region: as a C loop. */
static sett_region copies_alone(sett_build *b, struct sett__copies *u)
{
    sett_region r = {.b = b, .open = true, .copies = u};
    if (!u->n)
        r.done = true, r.iv = &b->poison->val;
    else
        r.iv = copy_number(u, b, u->lo);
    return b->error.status ? sett__poisoned_region(b) : r;
}

/* What a scalar is known to be, though not by its operation; a constant stays what it is, also in a copy that never runs. */
static sett_val *with_range(sett_val *v, int64_t lo, int64_t hi)
{
    if (v->head.b->error.status || v->lo == v->hi || lo > v->hi || hi < v->lo)
        return v;
    v->lo = v->lo < lo ? lo : v->lo;
    v->hi = v->hi > hi ? hi : v->hi;
    return v;
}

/* lo + U step floor((hi - lo) / (U step)): the difference of hi > lo is exact without a sign. */
static sett_val *split_at(const struct sett__copies *u, sett_build *b, sett_val *lo, sett_val *hi)
{
    sett_dtype whole = u->dtype == SETT_I32 ? SETT_U32 : SETT_U64;
    sett_val *by = sett__const_bits(b, u->site, whole, (uint64_t)(u->n * u->step));
    sett_val *n = sett__to(b, u->site, sett__op2(b, u->site, SETT__SUB, 0, hi, lo), whole);
    n = sett__op2(b, u->site, SETT__MUL, 0, sett__op2(b, u->site, SETT__DIV, 0, n, by), by);
    sett_val *at = sett__op2(b, u->site, SETT__ADD, 0, lo, sett__to(b, u->site, n, u->dtype));
    sett_val *split = sett_where_at(u->site, sett__op2(b, u->site, SETT__LT, 0, lo, hi), sett_arg_v(at), sett_arg_v(lo));
    return with_range(split, lo->lo, hi->hi > lo->hi ? hi->hi : lo->hi);
}

static sett_region open_copies(sett_build *b, struct sett__copies *u, sett_val *lo, sett_val *hi)
{
    sett_val *split = split_at(u, b, lo, hi);
    uint64_t from, to;
    if (b->error.status)
        return sett__poisoned_region(b);
    bool whole = sett__val_const(split, &from) && sett__val_const(hi, &to) && from == to;
    u->from = whole ? NULL : split;
    u->to = hi;
    sett_region r = open_for(b, u->site, u->dtype, lo, split, copy_number(u, b, u->n * u->step));
    r = name_variable(r, u->name);
    u->first = r.iv;
    r.copies = u;
    return r;
}

/* How often the body runs; -1: not static. */
static int64_t trips(const sett_val *lo, const sett_val *hi, int64_t step)
{
    if (lo->lo != lo->hi || hi->lo != hi->hi)
        return -1;
    if (hi->lo <= lo->lo)
        return 0;
    uint64_t n = ((uint64_t)hi->lo - (uint64_t)lo->lo - 1) / (uint64_t)step + 1;
    return n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

static sett_region unrolled_loop(const sett__ctx *c, const sett_for_options *o, sett_dtype dtype, sett_val *const v[3])
{
    sett_build *b = c->b;
    sett_region none = sett__poisoned_region(b);
    SETT__FAIL_IF(b, c->site, c->func, v[2]->lo != v[2]->hi, none, SETT_E_STATIC, "a loop that is unrolled has a static step, a C integer");
    struct sett__copies *u = sett__new(b, sizeof *u);
    if (b->error.status)
        return none;
    int64_t n = trips(v[0], v[1], v[2]->lo), most = dtype == SETT_I32 ? INT32_MAX : INT64_MAX;
    bool full = o->unroll_full || (n >= 0 && n <= o->unroll);
    SETT__FAIL_IF(b, c->site, c->func, full && n < 0, none, SETT_E_STATIC, "a loop that is unrolled in full has static bounds, C integers: .unroll copies a body of others");
    SETT__FAIL_IF(b, c->site, c->func, (full && n > MOST_COPIES) || (!full && (o->unroll > MOST_COPIES || v[2]->lo > most / o->unroll)), none,
        SETT_E_LIMIT, "a body has up to %d copies, and a round of them ends within the variable's type", MOST_COPIES);
    *u = (struct sett__copies){.site = c->site, .name = o->name ? sett__arena_str(&b->arena, o->name) : NULL, .dtype = dtype, .step = v[2]->lo, .lo = v[0]->lo, .n = full ? n : o->unroll};
    return full ? copies_alone(b, u) : open_copies(b, u, v[0], v[1]);
}

sett_val *sett_region_next(sett_region *r)
{
    struct sett__copies *u = r ? r->copies : NULL;
    if (!r)
        return NULL;
    if ((r->b && !sett__lives("sett_region_next", r->b, SETT__K_REGION)) || !u || r->b->error.status || ++u->copy >= u->n) {
        r->done = true;
        return NULL;
    }
    /* the sum fits, the product alone need not: from INT64_MIN on */
    sett_val *by = copy_number(u, r->b, (int64_t)((uint64_t)u->copy * (uint64_t)u->step + (uint64_t)(u->first ? 0 : u->lo)));
    int64_t least;
    if (!u->first)
        return by;
    sett_val *v = sett__op2(r->b, u->site, SETT__ADD, 0, u->first, by);
    return __builtin_add_overflow(u->first->lo, by->lo, &least) ? v : with_range(v, least, u->first->hi); /* the round ends below the bound */
}

bool sett__copies_end(const sett_region *r)
{
    if (!r->copies || r->copies->first)
        return false;
    if (!r->done)
        sett__fail(r->b, r->copies->site, "sett_for", SETT_E_REGION, "this region was left by break");
    return true;
}

void sett__rest_begin(sett_region *r)
{
    struct sett__copies *u = r->copies;
    if (u && u->from && !r->b->error.status)
        *r = name_variable(open_for(r->b, u->site, u->dtype, u->from, u->to, copy_number(u, r->b, u->step)), u->name);
}

sett_region sett_for_begin(sett_site site, sett_build *b, sett_arg lo, sett_arg hi, sett_arg step, const sett_for_options *given)
{
    b = sett__given(b, site, "sett_for");
    sett__ctx c = {b, site, "sett_for"};
    const sett_val *bound[3];
    sett_val *v[3];
    sett_dtype dtype;
    sett_for_options o = {.size = sizeof o};
    if (!b || b->error.status || (given && !sett__take_args(&c, &o, sizeof o, given)))
        return sett__poisoned_region(b);
    SETT__FAIL_IF(b, site, c.func, o.unroll < 0 || (o.unroll && o.unroll_full), sett__poisoned_region(b), SETT_E_ARGUMENT,
        o.unroll < 0 ? ".unroll is %d, it must be positive" : ".unroll is %d and .unroll_full is true: one of them", o.unroll);
    if (!loop_bounds(&c, (const sett_arg[]){lo, hi, step}, bound, &dtype))
        return sett__poisoned_region(b);
    for (int i = 0; i < 3; i++)
        v[i] = sett__to(b, site, (sett_val *)(uintptr_t)bound[i], dtype);
    if (b->error.status)
        return sett__poisoned_region(b);
    if (o.unroll > 1 || o.unroll_full)
        return unrolled_loop(&c, &o, dtype, v);
    return name_variable(open_for(b, site, dtype, v[0], v[1], v[2]), o.name);
}

/* ---- while ------------------------------------------------------------------------ */
sett_region sett_while_begin(sett_site site, sett_build *b)
{
    b = sett__given(b, site, "sett_while");
    if (!b || b->error.status)
        return sett__poisoned_region(b);
    return sett__open_region(b, site, &(sett__emit){.code = SETT__LOOP});
}

/* A condition that cannot be one fails the build; the region ends as any does. */
void sett_while_test(sett_site site, sett_region *r, sett_val *cond)
{
    sett_build *b = r ? r->b : NULL;
    sett__ctx c = {b, site, "sett_while"};
    if (!sett__lives(c.func, b, SETT__K_REGION) || b->error.status)
        return;
    bool here = b->depth && b->region[b->depth - 1].serial == r->serial && b->op[b->region[b->depth - 1].op].code == SETT__LOOP;
    SETT__FAIL_IF(b, site, c.func, !here, , SETT_E_REGION, "the condition is not computed in its own loop");
    const sett_val *v = sett__need_scalar(&c, cond, "the condition", true);
    if (v)
        sett__record(b, site, &(sett__emit){.code = SETT__WHILE, .n_args = 1, .args = &v->id});
}
