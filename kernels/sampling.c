/* SPDX-License-Identifier: Apache-2.0 */
/* The weights of a row stay in registers while thresholds are searched for: each round counts, or adds up, what is at least each of three weights between
 * two bounds. Weights are positive Float32 numbers, whose order is that of their bits, so that the bounds are halved twice a round, and a round or two before
 * they meet nothing lies between them any more. What is added up are integers: no order, and so no number of blocks, matters. */
#include "activation.h"
#include "logits.h"
#include <math.h>

enum {
    BITS = 40,              /* weights are multiples of 2^-BITS of the largest */
    PIVOTS = 3,
    LEAST = (127 - BITS - 1) << 23, /* the bits of 2^-(BITS + 1): what is below is never drawn */
    ONE = 127 << 23,        /* those of 1, the largest weight */
};

static void settle(void *options, choice *c)
{
    sett_sampling_options *o = options;
    sett__logits_settle(&o->tuning, c, o->dtype, o->cols, o->reserved);
    sett__in_range(c, "top_k", o->top_k, 0, 1);
    sett__in_range(c, "top_p", o->top_p, 0, 1);
    sett__in_range(c, "min_p", o->min_p, 0, 1);
    sett__in_range(c, "penalties", o->penalties, 0, 2);
    sett__in_range(c, "allowed", o->allowed, 0, 1);
}

enum { COUNTS, PROMPT, REPETITION, PRESENCE, FREQUENCY, ALLOWED, TEMPERATURE, SEED, OFFSET, TOP_K, TOP_P, MIN_P, TOKEN, PARAMS };

typedef struct work {
    const sett_sampling_options *o;
    sett_build *b;
    sett__logits row;
    sett_tensor *of[PARAMS]; /* NULL: there is none */
    sett_val *number[PARAMS]; /* of the row, where it has one */
    sett_val *logits, *held; /* logits and weights of the one step; NULL: there are several */
    sett_val *largest, *per_temperature;
} work;

static sett_tensor *param(sett_build *b, const sett_sampling_options *o, int i, sett_val *M)
{
    static const struct {
        const char *name;
        sett_dtype type;
    } is[PARAMS] = {{"counts", SETT_I32}, {"prompt", SETT_U32}, {"repetition", SETT_F32}, {"presence", SETT_F32}, {"frequency", SETT_F32}, {"allowed", SETT_U32},
        {"temperature", SETT_F32}, {"seed", SETT_U64}, {"offset", SETT_U64}, {"top_k", SETT_I32}, {"top_p", SETT_F32}, {"min_p", SETT_F32}, {"token", SETT_I32}};
    const bool has[PARAMS] = {[COUNTS] = o->penalties > 0, [PROMPT] = o->penalties == 2, [REPETITION] = o->penalties > 0, [PRESENCE] = o->penalties > 0, [FREQUENCY] = o->penalties > 0,
        [ALLOWED] = o->allowed, [TEMPERATURE] = true, [SEED] = true, [OFFSET] = true, [TOP_K] = o->top_k, [TOP_P] = o->top_p, [MIN_P] = o->min_p, [TOKEN] = true};
    if (!has[i])
        return NULL;
    if (i == COUNTS)
        return sett_param(b, is[i].name, is[i].type, sett_row_major(b, M, o->cols), .align = 16);
    const bool bits = i == PROMPT || i == ALLOWED;
    return sett_param(b, is[i].name, is[i].type, bits ? sett_row_major(b, M, (o->cols + 31) / 32) : sett_make_layout(b, T1(M)));
}

/* ---- logits ------------------------------------------------------------------------------------------------ */
/* Bit col % 32 of word col / 32 of the row's mask. */
static sett_val *bit_of(const work *w, int mask, sett_val *col, sett_val *in)
{
    sett_val *word = sett_gather(sett_slice(w->of[mask], w->row.row, ALL), sett_shr(col, 5), .pred = in);
    return sett_ne(sett_and(sett_shr(word, sett_bitcast(sett_and(col, 31), SETT_U32)), 1), 0);
}

/* Those of one of a thread's accesses. */
static sett_val *of_access(const work *w, sett_val *weight, int access)
{
    return sett_element(sett_reshape(weight, T(w->row.vec, w->row.rest)), ALL, access);
}

/* What penalties, and tokens that are not allowed, make of the logits of one access. */
static sett_val *changed(const work *w, sett_val *x, sett_arg step, int access)
{
    sett_val *in, *col = sett__logits_columns(&w->row, step, access, &in);
    if (w->o->penalties) {
        sett_val *count = sett_load(sett__logits_along(&w->row, sett_slice(w->of[COUNTS], w->row.row, ALL), step, access), .pred = in);
        sett_val *came = sett_gt(count, 0), *seen = w->o->penalties == 2 ? sett_or(came, bit_of(w, PROMPT, col, in)) : came;
        sett_val *by = w->number[REPETITION];
        x = sett_where(seen, sett_where(sett_gt(x, 0.0), sett_mul(x, sett_div(1.0, by)), sett_mul(x, by)), x);
        x = sett_fma(sett_to(count, SETT_F32), sett_neg(w->number[FREQUENCY]), x);
        x = sett_sub(x, sett_where(came, w->number[PRESENCE], 0.0));
    }
    if (w->o->allowed)
        x = sett_where(bit_of(w, ALLOWED, col, in), x, -INFINITY);
    return sett_where(in, x, -INFINITY);
}

static sett_val *compute_logits(const work *w, sett_arg step)
{
    sett_val *x = sett__logits_load(&w->row, step);
    if (!w->o->penalties && !w->o->allowed)
        return x;
    sett_tensor *all = sett_make_rmem_tensor(w->b, SETT_F32, T1(T(w->row.vec, w->row.rest)));
    for (int j = 0; j < w->row.rest; j++)
        sett_store(sett_slice(all, T1(T(ALL, j))), changed(w, of_access(w, x, j), step, j));
    return sett_load(all);
}

static sett_val *logits(const void *user, sett_arg step)
{
    const work *w = user;
    return w->logits ? w->logits : compute_logits(w, step);
}

/* ---- weights ------------------------------------------------------------------------------------------------ */
static sett_val *compute_weights(const work *w, sett_arg step)
{
    return sett__exp_below(sett_mul(sett_sub(w->largest, logits(w, step)), w->per_temperature));
}

static sett_val *weights(const work *w, sett_arg step)
{
    return w->held ? w->held : compute_weights(w, step);
}

/* As integers. */
static sett_val *parts(sett_val *weight)
{
    return sett_to(sett_mul(weight, (double)(1ull << BITS)), SETT_U64);
}

/* The same, 0 of those that are less than a bound. */
static sett_val *at_least(const work *w, sett_val *weight, sett_val *least)
{
    return sett_where(sett_ge(weight, least), parts(weight), sett_const(w->b, SETT_U64, 0));
}

typedef struct measured {
    sett_val *count, *sum, *before; /* before: the sum of the warps before */
    sett_val *own;                  /* the warp's */
} measured;

/* How many weights are at least each of n numbers, which do not fall, and what they come to; sums: without these, .sum and .before are NULL. */
static void measure(const work *w, int n, sett_val *const *least, bool sums, measured *to)
{
    sett_build *b = w->b;
    sett_tensor *count[PIVOTS], *sum[PIVOTS];
    sett_val *zero = sett_const(b, SETT_U64, 0);
    for (int i = 0; i < n; i++)
        count[i] = sett_var(b, SETT_I32, 0), sum[i] = sums ? sett_var(b, SETT_U64, 0) : NULL;
    sett_for (b, step, 0, w->row.steps, 1, .unroll_full = w->row.steps == 1) {
        sett_val *weight = weights(w, SETT_A(step));
        for (int j = 0; j < w->row.rest; j++) { /* an access at a time: integers of all of them have no room */
            sett_val *some = of_access(w, weight, j), *part = NULL;
            for (int i = 0; i < n; i++) {
                sett_val *in = sett_ge(some, least[i]);
                if (sums && !i) /* by the least of the numbers, so that the integers are of this round: those of all rounds would take all registers */
                    part = parts(sett_where(in, some, 0.0));
                sett_set(count[i], sett_add(sett_at(count[i], 0), sett_reduce(sett_to(in, SETT_I32), SETT_ADD, 0)), 0);
                if (sums)
                    sett_set(sum[i], sett_add(sett_at(sum[i], 0), sett_reduce(sett_where(in, part, zero), SETT_ADD, 0)), 0);
            }
        }
    }
    sett_val *of[2 * PIVOTS], *all[2 * PIVOTS], *before[2 * PIVOTS];
    for (int i = 0; i < n; i++) {
        of[i] = sett_to(sett_at(count[i], 0), SETT_U64);
        if (sums)
            of[n + i] = sett_at(sum[i], 0);
    }
    sett__logits_meet(&w->row, SETT_ADD, sums ? 2 * n : n, of, all, before);
    for (int i = 0; i < n; i++)
        to[i] = (measured){.count = all[i], .sum = sums ? all[n + i] : NULL, .before = sums ? before[n + i] : NULL, .own = sums ? of[n + i] : NULL};
}

static sett_val *as_float(sett_val *bits)
{
    return sett_bitcast(bits, SETT_F32);
}

/* ---- thresholds ------------------------------------------------------------------------------------------------ */
/* The largest weight of which `enough`, tokens or, with sums, parts, are at least as likely. *least, bits in a variable, has so many, and becomes it; count is that
 * of the tokens there. */
static void search(const work *w, bool sums, sett_val *enough, sett_tensor *least, sett_val *count)
{
    sett_build *b = w->b;
    sett_tensor *high = sett_var(b, SETT_U32, ONE + 1), *n_low = sett_var(b, SETT_U64, count), *n_high = sett_var(b, SETT_U64, 0), *more = sett_var(b, SETT_I32, 1);
    sett_while (b, sett_ne(sett_at(more, 0), 0)) {
        sett_val *low = sett_at(least, 0), *top = sett_at(high, 0), *room = sett_sub(top, low), *pivot[PIVOTS], *number[PIVOTS];
        measured m[PIVOTS];
        for (int i = 0; i < PIVOTS; i++) {
            pivot[i] = sett_add(low, sett_max(sett_shr(sett_mul(room, i + 1), 2), 1));
            number[i] = as_float(pivot[i]);
        }
        measure(w, PIVOTS, number, sums, m);
        for (int i = 0; i < PIVOTS; i++) {
            const int down = PIVOTS - 1 - i;
            sett_val *has = sett_ge(sums ? m[i].sum : m[i].count, enough), *lacks = sett_lt(sums ? m[down].sum : m[down].count, enough);
            sett_set(least, sett_where(has, pivot[i], sett_at(least, 0)), 0);
            sett_set(n_low, sett_where(has, m[i].count, sett_at(n_low, 0)), 0);
            sett_set(high, sett_where(lacks, pivot[down], sett_at(high, 0)), 0);
            sett_set(n_high, sett_where(lacks, m[down].count, sett_at(n_high, 0)), 0);
        }
        sett_val *apart = sett_gt(sett_sub(sett_at(high, 0), sett_at(least, 0)), 1), *between = sett_sub(sett_at(n_low, 0), sett_at(n_high, 0));
        sett_val *open = sums ? sett_gt(between, 1) : sett_ne(sett_at(n_low, 0), enough);
        sett_set(more, sett_to(sett_and(apart, open), SETT_I32), 0);
    }
}

/* The least weight that is left by min_p, top_k and top_p, as bits. */
static sett_tensor *threshold(const work *w)
{
    sett_build *b = w->b;
    sett_val *from = sett_const(b, SETT_U32, LEAST);
    if (w->o->min_p) /* of a NaN none */
        from = sett_max(from, sett_bitcast(sett_fmin(sett_fmax(w->number[MIN_P], 0.0), 1.0), SETT_U32));
    sett_tensor *least = sett_var(b, SETT_U32, from);
    if (w->o->top_k) {
        sett_val *k = w->number[TOP_K];
        sett_if (b, sett_and(sett_gt(k, 0), sett_lt(k, w->o->cols))) {
            sett_val *at = as_float(sett_at(least, 0)), *enough = sett_to(k, SETT_U64);
            measured now;
            measure(w, 1, &at, false, &now);
            sett_if (b, sett_gt(now.count, enough))
                search(w, false, enough, least, now.count);
        }
    }
    if (w->o->top_p)
        sett_if (b, sett_lt(w->number[TOP_P], 1.0)) {
            sett_val *at = as_float(sett_at(least, 0)), *p = sett_to(sett_mul(w->number[TOP_P], 0x1p64), SETT_U64);
            measured now;
            measure(w, 1, &at, true, &now);
            search(w, true, sett_max(sett_mul_hi(now.sum, p), 1), least, now.count);
        }
    return least;
}

/* ---- a random number, and its token ----------------------------------------------------------------------------------- */
static sett_val *lower(sett_val *x)
{
    return sett_to(x, SETT_U32);
}
static sett_val *upper(sett_val *x)
{
    return sett_to(sett_shr(x, 32), SETT_U32);
}

/* 64 bits of Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers, 2011). */
static sett_val *random_bits(const work *w)
{
    enum { ROUNDS = 10 };
    sett_build *b = w->b;
    sett_val *by[2] = {sett_const(b, SETT_U32, 0xD2511F53), sett_const(b, SETT_U32, 0xCD9E8D57)}, *step[2] = {sett_const(b, SETT_U32, 0x9E3779B9), sett_const(b, SETT_U32, 0xBB67AE85)};
    sett_val *key[2] = {lower(w->number[SEED]), upper(w->number[SEED])}, *zero = sett_const(b, SETT_U32, 0);
    sett_val *c[4] = {lower(w->number[OFFSET]), upper(w->number[OFFSET]), zero, zero};
    for (int round = 0; round < ROUNDS; round++) {
        sett_val *p = sett_mul_wide(by[0], c[0]), *q = sett_mul_wide(by[1], c[2]);
        c[0] = sett_xor(sett_xor(upper(q), c[1]), key[0]), c[1] = lower(q);
        c[2] = sett_xor(sett_xor(upper(p), c[3]), key[1]), c[3] = lower(p);
        for (int i = 0; i < 2; i++)
            key[i] = sett_add(key[i], step[i]);
    }
    return sett_or(sett_to(c[0], SETT_U64), sett_shl(sett_to(c[1], SETT_U64), 32));
}

/* The sums of this lane and those below it. */
static sett_val *up_to(const work *w, sett_val *x)
{
    for (int by = 1; by < 32; by *= 2)
        x = sett_add(x, sett_where(sett_ge(w->row.lane, by), sett_shuffle_sync_up(x, by, 32), sett_const(w->b, SETT_U64, 0)));
    return x;
}

/* In a warp that has the token: which of a step's accesses, of all lanes, has it; then which lane, and which of its elements. left: what the tokens before the step
 * leave of the random part; found: 1 from then on. */
static void find_in_step(const work *w, sett_val *least, sett_arg step, sett_tensor *left, sett_tensor *found)
{
    const sett__logits *r = &w->row;
    sett_build *b = w->b;
    sett_val *weight = weights(w, step), *zero = sett_const(b, SETT_U64, 0), *own = zero, *its = sett_full(b, SETT_F32, T1(r->vec), 0.0), *base = sett_const(b, SETT_I32, 0);
    for (int j = 0; j < r->rest; j++) {
        sett_val *some = of_access(w, weight, j), *lane_has = sett_reduce(at_least(w, some, least), SETT_ADD, 0);
        sett_val *all = sett_warp_reduce(lane_has, SETT_ADD, 32), *rest = sett_at(left, 0);
        sett_val *open = sett_eq(sett_at(found, 0), 0), *here = sett_and(open, sett_lt(rest, all));
        own = sett_where(here, lane_has, own), its = sett_where(here, some, its), base = sett_where(here, j * 32 * r->vec, base);
        sett_set(left, sett_where(sett_and(open, sett_not(here)), sett_sub(rest, all), rest), 0);
        sett_set(found, sett_or(sett_at(found, 0), sett_to(here, SETT_I32)), 0);
    }
    sett_val *with = up_to(w, own), *rest = sett_at(left, 0), *before = sett_sub(with, own), *sum = before, *past = sett_const(b, SETT_I32, 0);
    its = at_least(w, its, least);
    for (int i = 0; i + 1 < r->vec; i++) {
        sum = sett_add(sum, sett_element(its, i));
        past = sett_add(past, sett_to(sett_le(sum, rest), SETT_I32));
    }
    sett_val *first = sett_sub(sett_mul(sett_add(sett_mul(r->warp, r->steps), step), 32 * r->vec * r->rest), r->skip);
    sett_val *col = sett_add(sett_add(first, base), sett_add(sett_mul(r->lane, r->vec), past));
    sett_if (b, sett_and(sett_le(before, rest), sett_lt(rest, with)))
        sett_set(w->of[TOKEN], col, r->row);
}

static void draw(const work *w, sett_val *least)
{
    sett_build *b = w->b;
    measured m;
    measure(w, 1, &least, true, &m);
    sett_val *part = sett_mul_hi(random_bits(w), m.sum);
    sett_if (b, sett_and(sett_le(m.before, part), sett_lt(part, sett_add(m.before, m.own)))) {
        sett_tensor *left = sett_var(b, SETT_U64, sett_sub(part, m.before)), *found = sett_var(b, SETT_I32, 0);
        sett_for (b, step, 0, w->row.steps, 1, .unroll_full = w->row.steps == 1)
            sett_if (b, sett_eq(sett_at(found, 0), 0))
                find_in_step(w, least, SETT_A(step), left, found);
    }
}

/* ---- all of it -------------------------------------------------------------------------------------------------- */
void sett_sampling(sett_build *b, const void *user)
{
    sett_sampling_options o;
    if (!sett__kernel_options(b, &sett__sampling, user, &o))
        return;
    const double coldest = 1e-5, hottest = 1e9;
    sett_val *M = sett_sym(b, "M");
    sett_tensor *X = sett_param(b, "X", o.dtype, sett_row_major(b, M, o.cols), .align = 16);
    work w = {.o = &o, .b = b};
    for (int i = 0; i < PARAMS; i++)
        w.of[i] = param(b, &o, i, M);
    w.row = sett__logits_begin(b, &o.tuning, X, M, o.cols, o.top_p ? 2 * PIVOTS : o.top_k ? PIVOTS : 2, o.top_p || o.penalties ? 1 : 2, o.no_pdl);
    for (int i = 0; i < PARAMS; i++)
        if (w.of[i] && i != COUNTS && i != PROMPT && i != ALLOWED && i != TOKEN)
            w.number[i] = sett_at(w.of[i], w.row.row);
    w.logits = w.row.steps == 1 ? compute_logits(&w, sett_arg_i(0)) : NULL;
    const sett__largest most = sett__logits_largest(&w.row, logits, &w);
    w.largest = most.value;
    w.per_temperature = sett_rcp(sett_fmin(w.number[TEMPERATURE], hottest));
    sett_val *drawn = sett_and(sett_ge(w.number[TEMPERATURE], coldest), sett_gt(most.value, -INFINITY));
    sett_if (b, drawn) {
        w.held = w.row.steps == 1 ? compute_weights(&w, sett_arg_i(0)) : NULL;
        draw(&w, as_float(sett_at(threshold(&w), 0)));
    }
    sett_else (b)
        sett_if (b, sett_and(sett_eq(w.row.warp, 0), sett_eq(w.row.lane, 0)))
            sett_set(w.of[TOKEN], most.col, w.row.row);
}

#define P(member_) SETT_FAMILY_PARAM(sett_sampling_options, member_)
#define TUNED(member_) TUNING_PARAM(sett_sampling_options, member_)
static const sett_family_param params[] = {P(dtype), P(no_pdl), P(cols), P(top_k), P(top_p), P(min_p), P(penalties), P(allowed), TUNED(threads), TUNED(blocks), TUNED(values)};
FAMILY(sampling, params);
