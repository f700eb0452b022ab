/* SPDX-License-Identifier: Apache-2.0 */
/* What a query sees, and what becomes of its scores. */
#include "attention.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

void sett__attention_check(choice *c, int page, bool two_masks, bool two_scores)
{
    if (page && (page < 16 || page > 256 || page % 16))
        REFUSE(c, ".page is %d: 0, or a multiple of 16, up to 256", page);
    if (two_masks)
        REFUSE(c, ".prefix is 1: then .window is 0");
    if (two_scores)
        REFUSE(c, ".softcap is 1: then .alibi is 0");
}

void sett__attention_arch(choice *c, int *arch, const char *option, sett_dtype t)
{
    sett__either(arch, c->wgmma ? 90 : 80);
    if (*arch != 80 && *arch != 90)
        REFUSE(c, ".arch is %d: 80 or 90", *arch);
    if (*arch == 90 && !c->wgmma)
        REFUSE(c, ".arch is 90: on sm_90a and the CPU engine; on other targets 80");
    if (*arch == 80 && sett__is_f8(t))
        REFUSE(c, ".%s is %s: on sm_90a alone, and not with .arch 80", option, sett_dtype_name(t));
}

const device *sett__attention_device(int sm)
{
    return sett__device_of(sm && sm < 80 ? 80 : sm);
}

int sett__attention_blocks(const device *d)
{
    return d->multiprocessors ? d->multiprocessors : 100;
}

const sett_attention_functions *sett__attention_own(sett_site site, sett_build *b, const char *call, const sett_attention_functions *f, const sett_attention_options *o)
{
    static const sett_attention_functions none = {.size = sizeof none};
    choice c = {0};
    f = f ? f : &none;
    if (f->size != sizeof none)
        REFUSE(&c, "the functions' .size is %zu: sizeof(sett_attention_functions), %zu", f->size, sizeof none);
    else if ((f->bounds || f->predicate) && (o->causal || o->window))
        REFUSE(&c, ".%s is given: then .%s is 0", f->bounds ? "bounds" : "predicate", o->prefix ? "prefix" : o->causal ? "causal" : "window");
    else if (f->score && (o->softcap || o->alibi))
        REFUSE(&c, ".score is given: then .%s is 0", o->softcap ? "softcap" : "alibi");
    if (*c.why)
        sett_fail_at(site, b, SETT_E_ARGUMENT, call, c.why);
    return *c.why ? NULL : f;
}

/* ---- parameters ------------------------------------------------------------------------------------------- */
void sett__attention_mask_params(sett_build *b, attention_parts *t)
{
    const sett_attention_options *o = t->o;
    static const char *const scales[][2] = {{"QSCALES", "LQSCALES0"}, {"KSCALES", "LKSCALES0"}, {"VSCALES", "LVSCALES0"}};
    for (int i = 0; o->scaled && i < 3; i++)
        t->scales[i] = sett_param(b, scales[i][0], SETT_F32, sett_make_layout(b, T1(i ? t->HK : t->H), T1(sett_sym(b, scales[i][1]))));
    if (o->scale)
        t->scale = sett_scalar(b, "scale", SETT_F32);
    if (o->window)
        t->window = sett_scalar(b, "window", SETT_I32);
    if (o->prefix)
        t->prefix = sett_param(b, "PREFIX", SETT_I32, sett_make_layout(b, T1(t->B)));
    if (o->softcap)
        t->cap = sett_scalar(b, "cap", SETT_F32);
    if (o->alibi)
        t->slopes = sett_param(b, "SLOPES", SETT_F32, sett_make_layout(b, T1(t->H)));
    if (o->sinks)
        t->sinks = sett_param(b, "SINKS", SETT_F32, sett_make_layout(b, T1(t->H)));
}

/* ---- bounds ------------------------------------------------------------------------------------------------- */
/* The key that stands where the query does: the last ones are beside each other. */
static sett_val *own_key(const attention_work *w, sett_val *query)
{
    return sett_add(query, sett_sub(w->keys, w->rows));
}

/* Those of .causal, .window and .prefix. */
static sett_attention_keys by_options(const attention_parts *t, const attention_work *w, sett_val *query)
{
    const sett_attention_options *o = t->o;
    sett_val *own = own_key(w, query);
    sett_attention_keys k = {SETT_A(0), SETT_A(w->keys)};
    if (o->window) {
        sett_val *window = sett_min(t->window, INT32_MAX / 2); /* no sum overflows */
        k.first = SETT_A(sett_sub(sett_add(own, 1), window));
        k.last = SETT_A(sett_add(own, window));
    }
    if (o->causal)
        k.last = SETT_A(sett_add(own, 1));
    if (o->prefix)
        k.last = SETT_A(sett_max(sett_add(own, 1), sett_at(t->prefix, w->request)));
    return k;
}

static sett_attention_at at_of(sett_build *b, const attention_work *w)
{
    return (sett_attention_at){.b = b, .batch = w->request, .head = w->head, .queries = w->rows, .keys = w->keys};
}

/* A bound of the caller's as a value; it fails the build where it is none. */
static sett_val *checked(sett_build *b, const attention_parts *t, const char *name, sett_arg bound)
{
    char text[120];
    const sett_arg shape = bound.kind == SETT_VALUE ? sett_val_shape(bound.u.v) : (sett_arg){.kind = SETT_NODE};
    const bool is_int = bound.kind == SETT_INT || (bound.kind == SETT_VALUE && sett_val_dtype(bound.u.v) == SETT_I32 && shape.kind == SETT_NODE && !shape.rank);
    if (!is_int && bound.kind != SETT_POISON) {
        snprintf(text, sizeof text, ".bounds gives a .%s that is no scalar of i32", name);
        sett_fail_at(t->site, b, SETT_E_ARGUMENT, t->call, text);
    }
    return sett_value(b, is_int ? bound : sett_arg_i(0));
}

attention_seen sett__attention_seen(sett_build *b, const attention_parts *t, const attention_work *w, sett_val *query)
{
    sett_attention_at at = at_of(b, w);
    at.head = t->packs ? NULL : at.head;
    const sett_attention_keys k = t->own->bounds ? t->own->bounds(&at, query, t->own->user) : by_options(t, w, query);
    attention_seen x = {.last = sett_clamp(checked(b, t, "last", k.last), 0, w->keys)};
    if (k.first.kind != SETT_INT || k.first.u.i > 0)
        x.first = sett_max(checked(b, t, "first", k.first), 0);
    return x;
}

bool sett__attention_masks_last(const attention_parts *t)
{
    return t->own->bounds || t->own->predicate || t->o->causal || t->o->window;
}

bool sett__attention_masks_first(const attention_parts *t)
{
    return t->own->bounds || t->o->window;
}

/* What a launch cannot know, on the CPU engine. NaN is not above 0 either. */
void sett__attention_check_numbers(sett_build *b, const attention_parts *t)
{
    const struct { const char *text; sett_val *is; } above[] = {{"scale is {}: above 0, and finite", t->scale}, {"cap is {}: above 0, and finite", t->cap}};
    if (t->window)
        sett_assert(b, sett_ge(t->window, 1), "window is {}: 1 or more", t->window);
    for (int i = 0; i < 2; i++)
        if (above[i].is)
            sett_assert(b, sett_and(sett_gt(above[i].is, 0.0), sett_lt(above[i].is, INFINITY)), above[i].text, above[i].is);
}

/* Bounds do not fall from query to query, so those of the first and the last one are enough. */
void sett__attention_bounds(sett_build *b, const attention_parts *t, attention_work *w)
{
    const int keys = t->o->tuning.keys;
    sett_val *first = sett_floordiv(w->row, heads_of(t->o)), *behind = sett_min(sett_add(first, t->o->tuning.rows / heads_of(t->o)), w->rows);
    const attention_seen top = sett__attention_seen(b, t, w, first), bottom = sett__attention_seen(b, t, w, sett_sub(behind, 1));
    if (t->own->bounds)
        sett_assert(b, sett_and(sett_le(top.last, bottom.last), sett_le(top.first ? top.first : first, bottom.first ? bottom.first : first)), ".bounds: from query {} on they fall", first);
    sett__attention_check_numbers(b, t);
    w->from = top.first ? sett_floordiv(top.first, keys) : sett_const(b, SETT_I32, 0);
    w->to = sett_floordiv(sett_add(bottom.last, keys - 1), keys);
    sett_val *last = sett_max(sett_sub(w->to, 1), w->from);
    w->whole_to = t->own->predicate ? w->from : sett_clamp(sett_floordiv(top.last, keys), w->from, last);
    w->whole_from = bottom.first ? sett_clamp(sett_floordiv(sett_add(bottom.first, keys - 1), keys), w->from, w->whole_to) : w->from;
}

/* ---- scores ------------------------------------------------------------------------------------------------- */
/* Of a thread's elements, ((2,2,keys/8),1,1), mode (0,1) is the row. */
static sett_arg element_of_row(sett_build *b, int row)
{
    return sett_tuple(b, sett_tuple(b, 0, row, 0), 0, 0);
}

/* Of the product of a query and a key, times a factor. */
static sett_arg plain_unit(const attention_scores *x, double factor)
{
    const attention_parts *t = x->t;
    if (x->unit)
        return SETT_A(sett_mul(sett_load(x->unit), factor));
    return t->scale ? SETT_A(sett_mul(t->scale, factor)) : SETT_A(factor / sqrt(t->o->d));
}

/* The same of a head, where each has its own. A head whose scales are 0 has scores of 0: its unit is a small one, as keys that are not seen have
 * -infinity in its place, and sinks are divided by it. */
static sett_arg unit_of(sett_build *b, attention_scores *x, sett_val *head)
{
    const double LEAST = 0x1p-100;
    const attention_parts *t = x->t;
    sett_tensor *const unit = x->unit;
    x->unit = NULL;
    const sett_arg all = plain_unit(x, 1);
    x->unit = unit;
    if (!t->o->scaled)
        return all;
    sett_val *scale = sett_mul(sett_at(t->scales[0], head), sett_at(t->scales[1], sett__attention_shared(b, t, head)));
    sett_assert(b, sett_ge(scale, 0.0), "QSCALES times KSCALES of head {} is {}: 0 or more", head, scale);
    return SETT_A(sett_max(sett_mul(scale, all), LEAST));
}

static sett_quot_rem query_of_row(sett_build *b, const attention_scores *x, int r)
{
    sett_val *row = sett_add(sett_value(b, sett_get(sett_coord_at(x->crd, element_of_row(b, r)), 0)), x->w->row);
    return x->heads ? sett_divmod(row, *x->heads) : (sett_quot_rem){SETT_A(row), SETT_A(0)};
}

sett_val *sett__attention_head(sett_build *b, const attention_scores *x, int r)
{
    return sett_add(x->w->head, query_of_row(b, x, r).remainder);
}

void sett__attention_scores_begin(sett_build *b, attention_scores *x)
{
    const attention_parts *t = x->t;
    sett_tensor **const to[] = {&x->first, &x->last, &x->own};
    sett_val *column = sett_value(b, sett_get(sett_coord_at(x->crd, element_of_row(b, 0)), 1));
    const int own_heads = x->heads ? 2 : 1;
    x->unit = t->o->scaled ? sett_make_rmem_tensor(b, SETT_F32, T(1, own_heads, 1), 1, 1) : NULL;
    if (t->o->alibi)
        x->slope = sett_make_rmem_tensor(b, SETT_F32, T(1, own_heads, 1), 1, 1);
    for (int r = 0; r < 2; r++) {
        const sett_quot_rem of = query_of_row(b, x, r);
        sett_val *query = sett_min(of.quotient, sett_sub(x->w->rows, 1)), *head = sett_add(x->w->head, of.remainder);
        if (r < own_heads && t->o->scaled)
            sett_set(x->unit, unit_of(b, x, head), r);
        if (r < own_heads && t->o->alibi)
            sett_set(x->slope, sett_neg(sett_div(sett_at(t->slopes, head), unit_of(b, x, head))), r);
        const attention_seen s = sett__attention_seen(b, t, x->w, query);
        sett_val *const is[] = {s.first, s.last, t->o->alibi ? own_key(x->w, query) : NULL};
        for (int i = 0; i < 3; i++) {
            if (is[i] && !r)
                *to[i] = sett_make_rmem_tensor(b, SETT_I32, T(1, 2, 1), 1, 1);
            if (is[i])
                sett_set(*to[i], sett_sub(is[i], column), r);
        }
    }
}

static sett_val *plain_score(const attention_scores *x, sett_val *s, sett_val *first_key)
{
    (void)x, (void)first_key;
    return s;
}

static sett_arg cap_unit(const attention_scores *x, double factor)
{
    return SETT_A(sett_mul(x->t->cap, factor));
}

static sett_val *cap_score(const attention_scores *x, sett_val *s, sett_val *first_key)
{
    const attention_parts *t = x->t;
    (void)first_key;
    sett_val *y = sett_mul(s, sett_mul(sett_rcp(t->cap), plain_unit(x, 1)));
    return t->o->exact ? sett_tanh(y) : sett_tanh_approx(y);
}

/* The distance is that of the row to the tile, less a number. Where keys are causal it is not negative, or the key is masked. */
static sett_val *alibi_score(const attention_scores *x, sett_val *s, sett_val *first_key)
{
    const attention_parts *t = x->t;
    sett_val *distance = sett_sub(sett_to(sett_sub(sett_load(x->own), first_key), SETT_F32), sett_to(sett_coord_value(x->columns, 1), SETT_F32));
    if (!t->o->causal || t->o->prefix)
        distance = sett_abs(distance);
    return sett_fma(distance, sett_load(x->slope), s);
}

static sett_arg own_unit(const attention_scores *x, double factor)
{
    (void)x;
    return SETT_A(factor);
}

/* What a function of the caller's gives, if it is as S is. */
static sett_val *as_scores(sett_build *b, const attention_parts *t, const char *name, sett_val *gives, sett_val *s, sett_dtype type)
{
    char is[120] = "NULL", want[120], text[400];
    sett_arg_str(sett_shape(s), want, sizeof want);
    if (gives)
        sett_arg_str(sett_shape(gives), is, sizeof is);
    if (gives && !strcmp(is, want) && sett_val_dtype(gives) == type)
        return gives;
    snprintf(text, sizeof text, ".%s gives %s%s%s, and it is asked about %s: it gives %s of that shape", name, gives ? sett_dtype_name(sett_val_dtype(gives)) : "", gives ? " of shape " : "", is, want, sett_dtype_name(type));
    sett_fail_at(t->site, b, SETT_E_ARGUMENT, t->call, text);
    return type == SETT_BOOL ? sett_ge(s, 0.0) : s;
}

/* What predicates and scores are asked about: of elements, as S has them. */
static sett_val *query_of(const attention_scores *x, sett_attention_at *at)
{
    sett_val *row = sett_add(sett_coord_value(x->crd, 0), x->w->row);
    *at = at_of(x->b, x->w);
    if (!x->heads)
        return row;
    const sett_quot_rem of = sett_divmod(row, *x->heads);
    at->head = sett_add(at->head, of.remainder);
    return sett_value(x->b, of.quotient);
}

static sett_val *key_of(const attention_scores *x, sett_val *first_key)
{
    return sett_add(sett_coord_value(x->crd, 1), first_key);
}

static sett_val *own_score(const attention_scores *x, sett_val *s, sett_val *first_key)
{
    const attention_parts *t = x->t;
    sett_attention_at at;
    sett_val *scaled = sett_mul(s, plain_unit(x, 1)), *query = query_of(x, &at);
    return as_scores(x->b, t, "score", t->own->score(&at, scaled, query, key_of(x, first_key), t->own->user), s, SETT_F32);
}

/* What becomes of a score, in a unit in which that is least work, and the unit times a number. */
typedef struct score {
    sett_val *(*of)(const attention_scores *, sett_val *s, sett_val *first_key);
    sett_arg (*unit)(const attention_scores *, double factor);
} score;

static const score *score_of(const attention_parts *t)
{
    static const score plain = {plain_score, plain_unit}, cap = {cap_score, cap_unit}, alibi = {alibi_score, plain_unit}, own = {own_score, own_unit};
    return t->own->score ? &own : t->o->softcap ? &cap : t->o->alibi ? &alibi : &plain;
}

sett_arg sett__attention_unit(const attention_scores *x, double factor)
{
    return score_of(x->t)->unit(x, factor);
}

sett_val *sett__attention_score(sett_build *b, const attention_scores *x, sett_val *s, sett_val *tile, bool edge)
{
    sett_val *first_key = sett_mul(tile, x->t->o->tuning.keys), *column = edge ? sett_coord_value(x->columns, 1) : NULL;
    s = score_of(x->t)->of(x, s, first_key);
    if (edge)
        s = sett_where(sett_lt(column, sett_sub(sett_load(x->last), first_key)), s, -INFINITY);
    if (edge && x->first)
        s = sett_where(sett_ge(column, sett_sub(sett_load(x->first), first_key)), s, -INFINITY);
    if (!x->t->own->predicate)
        return s;
    sett_attention_at at;
    sett_val *query = query_of(x, &at);
    return sett_where(as_scores(b, x->t, "predicate", x->t->own->predicate(&at, query, key_of(x, first_key), x->t->own->user), s, SETT_BOOL), s, -INFINITY);
}
