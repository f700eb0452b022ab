/* SPDX-License-Identifier: Apache-2.0 */
/* From parts to a result. A part of a row is a sum of V, the largest score and the sum of weights. Parts are of a warp (shared memory), of a
 * split, or of some splits (PARTIAL); they are combined in the order of the keys, by whoever comes last. A thread has 4 columns of a row, or, of
 * long rows, several times 4, so that a warp has a row. */
#include "attention_decode.h"
#include <math.h>

enum { WIDE = 4, MOST_AT_ONCE = 12 /* parts that are loaded together */ };
static const double LN_2 = 0.6931471805599453, LOG2_E = 1.4426950408889634;

typedef decode_part part;
typedef decode_place place;

/* How many times 4 columns a thread has. */
static int runs_of(const decode_parts *x)
{
    return x->o->d > WARP * WIDE * 2 ? x->o->d / (WARP * WIDE) : 1;
}

static sett_tensor *mine_of(sett_tensor *row, const place *at)
{
    return sett_composition(sett_domain_offset(row, T1(at->column)), at->columns);
}

sett_val *sett__decode_power(const decode_parts *x, sett_val *y)
{
    return x->o->exact ? sett_exp2(y) : sett_exp2_approx_ftz(y);
}

static sett_val *fade(const decode_parts *x, sett_val *max, sett_val *level)
{
    return sett__decode_power(x, sett_mul(sett_sub(max, level), x->scale));
}

/* What exponents count from: of nothing so far, as its maximum is -infinity, 0. */
static sett_val *level_of(sett_val *max)
{
    return sett_where(sett_eq(max, -INFINITY), 0.0, max);
}

static part combine(const decode_parts *x, part all, const part *p, int n)
{
    sett_val *most = all.max;
    for (int i = 0; i < n; i++)
        most = sett_max(most, p[i].max);
    sett_val *level = level_of(most), *f = fade(x, all.max, level);
    part sum = {sett_mul(all.o, f), most, sett_mul(all.sum, f)};
    for (int i = 0; i < n; i++) {
        f = fade(x, p[i].max, level);
        sum.o = sett_fma(p[i].o, f, sum.o);
        sum.sum = sett_fma(p[i].sum, f, sum.sum);
    }
    return sum;
}

/* row: of sums, the largest score and the sum of weights. in: NULL, or is there such a part? */
static part load(const decode_parts *x, sett_tensor *row, const place *at, sett_val *in)
{
    const int pairs = x->o->d / 2;
    sett_val *rest = sett_load(sett_local_tile(row, T1(2), T1(at->second ? SETT_A(sett_add(at->second, pairs)) : SETT_A(pairs))), .pred = in), *max = sett_element(rest, 0);
    part p = {sett_load(mine_of(row, at), .pred = in), max, sett_element(rest, 1)};
    if (in)
        p.max = sett_where(in, max, -INFINITY);
    return p;
}

static sett_tensor *partial_row(sett_build *b, const decode_parts *x, sett_val *slot, sett_val *row)
{
    const int columns = decode_partial_columns(x->o);
    sett_val *rows = sett_min(x->rows, x->o->rows), *first = sett_mul(sett_to(sett_add(sett_mul(slot, rows), row), SETT_I64), columns);
    return sett_composition(sett_domain_offset(x->partial, T1(sett_assume(first, WIDE))), sett_make_layout(b, T1(columns)));
}

/* ---- ways out ------------------------------------------------------------------------------------------------- */
static void store_part(sett_build *b, const decode_parts *x, sett_val *slot, const place *at, const part *p)
{
    sett_tensor *row = partial_row(b, x, slot, at->row);
    sett_store(mine_of(row, at), p->o);
    sett_if (b, sett_eq(at->column, 0)) {
        sett_val *to = sett_add(at->second ? sett_mul(at->second, 2) : sett_const(b, SETT_I32, 0), x->o->d);
        sett_set(row, p->max, to), sett_set(row, p->sum, sett_add(to, 1));
    }
}

/* Adds that of the sink; what sums of V are then multiplied by. */
static sett_val *count_sink(const decode_parts *x, part *p, sett_val *head)
{
    sett_val *sink = sett_div(sett_at(x->t.sinks, head), sett__attention_unit(&x->unit, 1)), *most = sett_max(p->max, sink), *level = level_of(most), *f = fade(x, p->max, level);
    p->sum = sett_fma(p->sum, f, fade(x, sink, level)), p->max = most;
    return f;
}

/* The logarithm goes first, as it takes registers beside a thread's columns. */
static void store_result(sett_build *b, const decode_parts *x, const decode_work *w, const place *at, part p)
{
    const attention_parts *t = &x->t;
    const sett_quot_rem row = sett_divmod(sett_add(w->row, at->row), x->group);
    sett_val *query = sett_value(b, row.quotient), *head = sett_add(sett_mul(w->head, x->group.divisor), row.remainder);
    sett_val *faded = t->sinks ? count_sink(x, &p, head) : NULL;
    sett_val *none = sett_eq(p.sum, 0.0), *per_sum = sett_where(none, 0.0, x->o->exact ? sett_rcp(p.sum) : sett_rcp_approx(p.sum));
    if (faded)
        per_sum = sett_mul(per_sum, faded);
    if (t->lse)
        sett_if (b, sett_eq(at->column, 0)) {
            sett_val *log2 = sett_add(sett_mul(p.max, sett__attention_unit(&x->unit, LOG2_E)), x->o->exact ? sett_log2(p.sum) : sett_log2_approx(p.sum));
            sett_set(t->lse, sett_where(none, -INFINITY, sett_mul(log2, LN_2)), w->request, head, query);
        }
    sett_store(mine_of(sett_slice(t->O, query, ALL, head, w->request), at), sett_to(sett_mul(p.o, per_sum), x->o->dtype));
}

/* whole: is it all of the request's? */
static void store(sett_build *b, const decode_parts *x, const decode_work *w, sett_val *slot, sett_val *whole, const place *at, const part *p)
{
    sett_if (b, whole)
        store_result(b, x, w, at, *p);
    sett_else (b)
        store_part(b, x, slot, at, p);
}

/* ---- levels ----------------------------------------------------------------------------------------------------- */
static part of_warps(const decode_parts *x, const place *at)
{
    part p[MOST_WARPS];
    const int n = decode_parts_of(x->o);
    for (int i = 0; i < n; i++)
        p[i] = load(x, sett_slice(x->sums, ALL, at->row, i), at, NULL);
    return n > 1 ? combine(x, p[0], p + 1, n - 1) : p[0];
}

static part nothing(sett_build *b, const decode_parts *x)
{
    return (part){sett_full(b, SETT_F32, T(WIDE, runs_of(x)), 0.0), sett_const(b, SETT_F32, -INFINITY), sett_const(b, SETT_F32, 0.0)};
}

/* Slots whose parts become one: n, `step` apart, of which `fold` are folded one by one, 1 to DECODE_FOLD. second: as of a place. */
typedef struct run {
    sett_val *slot, *n, *step, *fold, *second;
} run;

/* Those that are folded from number k on, if they are there. */
static part folded(sett_build *b, const decode_parts *x, const place *at, const run *r, sett_val *k)
{
    part p[DECODE_FOLD], all = nothing(b, x);
    for (int i = 0; i < DECODE_FOLD; i++) {
        sett_val *one = sett_add(k, i), *in = sett_and(sett_lt(sett_const(b, SETT_I32, i), r->fold), sett_lt(one, r->n));
        p[i] = load(x, partial_row(b, x, sett_add(r->slot, sett_mul(one, r->step)), at->row), at, in);
    }
    for (int i = 0; i < DECODE_FOLD; i++)
        all = combine(x, all, &p[i], 1);
    return all;
}

static part of_run(sett_build *b, const decode_parts *x, const place *at, const run *r)
{
    const int at_once = runs_of(x) == 1 ? MOST_AT_ONCE / DECODE_FOLD : 1;
    sett_tensor *o = sett_make_rmem_tensor(b, SETT_F32, T(WIDE, runs_of(x))), *max = sett_var(b, SETT_F32, -INFINITY), *sum = sett_var(b, SETT_F32, 0.0), *at_k = sett_var(b, SETT_I32, 0);
    sett_fill(o, 0.0);
    sett_while (b, sett_lt(sett_at(at_k, 0), r->n)) {
        part p[MOST_AT_ONCE];
        for (int i = 0; i < at_once; i++)
            p[i] = folded(b, x, at, r, sett_add(sett_at(at_k, 0), sett_mul(r->fold, i)));
        const part all = combine(x, (part){sett_load(o), sett_at(max, 0), sett_at(sum, 0)}, p, at_once);
        sett_store(o, all.o), sett_set(max, all.max, 0), sett_set(sum, all.sum, 0);
        sett_set(at_k, sett_add(sett_at(at_k, 0), sett_mul(r->fold, at_once)), 0);
    }
    return (part){sett_load(o), sett_at(max, 0), sett_at(sum, 0)};
}

/* Is this block the last of n to come to a counter? Then it is 0 again. What the others wrote before is seen. */
static sett_val *comes_last(sett_build *b, const decode_parts *x, const decode_crew *crew, sett_val *counter, sett_val *n)
{
    sett_barrier(b, DECODE_BARRIER, crew->threads); /* all have written, before one says so */
    sett_if (b, sett_eq(crew->thread, 0)) {
        sett_val *before = sett_atomic_ordered(x->left, SETT_ATOMIC_ADD, SETT_SEM_ACQ_REL, SETT_SCOPE_GPU, 1, counter);
        sett_val *last = sett_eq(sett_to(before, SETT_I32), sett_sub(n, 1));
        sett_assert(b, sett_lt(sett_to(before, SETT_I32), n), "LEFT[{}] is {} where {} come: LEFT was not 0 before the launch", counter, before, n);
        sett_set(x->last, sett_to(last, SETT_U32), 0);
        sett_if (b, last)
            sett_set(x->left, 0, counter);
    }
    sett_barrier(b, DECODE_BARRIER, crew->threads);
    return sett_ne(sett_at(x->last, 0), 0);
}

/* Of a thread: i, and those as many as there are threads further on. */
static int threads_of_row(const decode_parts *x)
{
    return x->o->d / WIDE / runs_of(x);
}

static sett_arg places_of(const decode_parts *x, const decode_work *w)
{
    return SETT_A(sett_mul(sett_min(sett_sub(x->rows, w->row), x->o->rows), threads_of_row(x)));
}

static place place_of(sett_build *b, const decode_parts *x, sett_val *i)
{
    const int threads = threads_of_row(x);
    return (place){sett_floordiv(i, threads), sett_mul(sett_mod(i, threads), WIDE), sett_make_layout(b, T(WIDE, runs_of(x)), T(1, threads * WIDE)), NULL};
}

/* Slots whose last part has come. What becomes of them goes to the first one's sums, which the same thread has read, and to its second numbers,
 * as other threads of the row still read those of the part. */
static void gather(sett_build *b, const decode_parts *x, const decode_work *w, const decode_crew *crew, const run *r, sett_val *whole)
{
    sett_for (b, i, crew->thread, places_of(x, w), crew->threads) {
        place at = place_of(b, x, i);
        at.second = r->second;
        const part p = of_run(b, x, &at, r);
        at.second = sett_const(b, SETT_I32, 1);
        store(b, x, w, r->slot, whole, &at, &p);
    }
}

void sett__decode_store(sett_build *b, const decode_parts *x, const decode_work *w, const place *at, const part *p, bool direct)
{
    if (direct)
        store(b, x, w, w->slot, sett_eq(w->units, 1), at, p);
    else
        store_part(b, x, w->slot, at, p);
}

void sett__decode_combine(sett_build *b, const decode_parts *x, const decode_work *w, const decode_crew *crew)
{
    sett_val *is_folded = sett_ne(w->folded, 1), *one = sett_const(b, SETT_I32, 1);
    sett_val *most = sett_where(is_folded, DECODE_TOGETHER / DECODE_FOLD, sett_const(b, SETT_I32, DECODE_TOGETHER)), *groups = sett_floordiv(sett_sub(sett_add(w->units, most), 1), most);
    sett_val *first = sett_sub(w->slot, w->unit), *before = sett_mul(sett_floordiv(w->unit, most), most), *half = sett_floordiv(sett_sub(x->counters, 2), 2);
    const run some = {sett_add(first, before), sett_min(sett_sub(w->units, before), most), one, sett_where(is_folded, one, DECODE_FOLD), NULL}, all = {first, groups, most, one, one};
    sett_if (b, comes_last(b, x, crew, some.slot, some.n)) {
        gather(b, x, w, crew, &some, sett_eq(groups, 1));
        sett_if (b, sett_gt(groups, 1))
            sett_if (b, comes_last(b, x, crew, sett_add(first, half), groups))
                gather(b, x, w, crew, &all, sett_const(b, SETT_BOOL, 1));
    }
}

/* Folds what the warps have left of a split into what PARTIAL has of those of its unit before it: sums that the same thread has stored, and
 * numbers of a row that one thread stores while others read those of before, so that there are two of each. What was stored of the split
 * before is seen: .left_sums has one stage, which is full again only when all of the crew have released it. left: splits behind it. */
static void fold(sett_build *b, const decode_parts *x, const decode_work *w, const decode_crew *crew, sett_val *split, sett_val *left)
{
    sett_val *whole = sett_and(sett_eq(w->units, 1), sett_eq(left, 0)), *second = sett_and(left, 1);
    sett_for (b, i, crew->thread, places_of(x, w), crew->threads) {
        place at = place_of(b, x, i);
        part p = of_warps(x, &at);
        at.second = sett_sub(1, second);
        if (x->v_scale)
            p.o = sett_mul(p.o, sett_at(x->v_scale, w->head));
        p = combine(x, load(x, partial_row(b, x, w->slot, at.row), &at, sett_gt(split, 0)), &p, 1);
        at.second = second;
        store(b, x, w, w->slot, whole, &at, &p);
    }
}

typedef struct finisher {
    const decode_parts *x;
    decode_work w;
    decode_crew crew;
    sett_pipeline_state *get; /* of .left_sums */
} finisher;

static void finish(sett_build *b, void *user)
{
    finisher *f = user;
    sett_val *one = sett_eq(f->w.units, 1), *n = decode_n_splits(f->x, &f->w);
    sett_for (b, split, 0, n, 1) {
        sett_consumer_wait(f->get);
        fold(b, f->x, &f->w, &f->crew, split, sett_sub(sett_sub(n, 1), split));
        sett_consumer_release(f->get);
        sett_pipeline_advance(f->get);
    }
    sett_if (b, sett_not(one))
        sett__decode_combine(b, f->x, &f->w, &f->crew);
}

void sett__decode_finish(sett_build *b, const decode_parts *x, sett_val *thread)
{
    const attention_units units = sett__decode_units(b, x);
    finisher f = {.x = x, .crew = {thread, decode_crew_warps(x->o) * WARP}, .get = sett_pipeline_consumer_state(x->left_sums)};
    sett__decode_each(b, x, &units, &f.w, finish, &f);
}
