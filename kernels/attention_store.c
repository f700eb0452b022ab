/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of rows, by warps that have 16 rows each, four threads a row: how they begin, what a tile of keys adds, and the way out: the logarithm,
 * and O through shared memory. */
#include "attention.h"
#include <math.h>

enum { PART = 8 /* elements of 16 bytes */ };
static const double LN_2 = 0.6931471805599453, LOG2_E = 1.4426950408889634;

/* Of what a thread has of an accumulator, ((2,2,n/8),1,1), mode (0,1) is the row: one number each, of this thread's columns. */
static sett_val *by_rows(sett_val *x, sett_binary_op op, double init)
{
    return sett_reshape(sett_reduce_by(x, op, init, T(T(1, ALL, 1), 1, 1)), T(T(1, 2, 1), 1, 1));
}

/* 2^x. */
static sett_val *power(const attention_parts *t, sett_val *x)
{
    return t->o->exact ? sett_exp2(x) : sett_exp2_approx_ftz(x);
}

sett_val *sett__attention_softmax(const attention_scores *x, sett_tensor *max, sett_tensor *sum, sett_val *s, int exponent, sett_val **fade)
{
    sett_val *was = sett_load(max), *now = sett_max(was, sett_warp_reduce(by_rows(s, SETT_MAX, -INFINITY), SETT_MAX, 4));
    sett_val *level = sett_where(sett_eq(now, -INFINITY), 0.0, now);
    const sett_arg scale = sett__attention_unit(x, LOG2_E);
    sett_val *base = sett_neg(sett_mul(level, scale));
    if (exponent)
        base = sett_add(base, exponent);
    sett_val *p = power(x->t, sett_fma(s, scale, base));
    *fade = power(x->t, sett_mul(sett_sub(was, level), scale));
    sett_store(sum, sett_fma(sett_load(sum), *fade, by_rows(p, SETT_ADD, 0.0)));
    sett_store(max, now);
    return p;
}

/* One of the four threads of a row counts its sink. */
void sett__attention_begin(sett_build *b, const attention_scores *x, sett_tensor *o, sett_tensor *max, sett_tensor *sum)
{
    const attention_parts *t = x->t;
    sett_fill(o, 0.0);
    sett_fill(max, -INFINITY), sett_fill(sum, 0.0);
    if (t->sinks) {
        for (int r = 0; r < 2; r++)
            sett_set(max, sett_at(t->sinks, sett__attention_head(b, x, r)), r);
        sett_store(max, sett_div(sett_load(max), sett__attention_unit(x, 1)));
        sett_fill(sum, sett_where(sett_eq(sett_mod(sett_thread_idx(b, 0), 4), 0), sett_const(b, SETT_F32, 1 << weight_exponent(t->o)), 0.0));
    }
}

sett_val *sett__attention_per_sum(const attention_parts *t, sett_val *sum)
{
    return sett_where(sett_eq(sum, 0.0), 0.0, t->o->exact ? sett_rcp(sum) : sett_rcp_approx(sum));
}

void sett__attention_store_logarithm(sett_build *b, const attention_scores *x, const attention_work *w, sett_tensor *max, sett_val *sum)
{
    const attention_parts *t = x->t;
    sett_val *log2 = sett_sub(sett_add(sett_mul(sett_load(max), sett__attention_unit(x, LOG2_E)), t->o->exact ? sett_log2(sum) : sett_log2_approx(sum)), (double)weight_exponent(t->o));
    sett_val *ln = sett_where(sett_eq(sum, 0.0), -INFINITY, sett_mul(log2, LN_2));
    sett_if (b, sett_eq(sett_mod(sett_thread_idx(b, 0), 4), 0))
        for (int i = 0; i < 2; i++) {
            sett_val *row = sett_add(w->row, sett_value(b, sett_get(sett_coord_at(x->crd, sett_tuple(b, sett_tuple(b, 0, i, 0), 0, 0)), 0)));
            sett_val *query = sett_value(b, sett_divmod(row, t->packed).quotient), *head = sett_add(w->head, sett_divmod(row, t->packed).remainder);
            sett_tensor *rows = t->offsets ? sett_slice(t->lse, head, ALL) : sett_slice(t->lse, w->request, head, ALL);
            sett_if (b, sett_lt(query, w->rows))
                sett_set(rows, sett_element(ln, i), sett_add(w->first_row, query));
        }
}

/* ---- O, by warp groups -------------------------------------------------------------------------------------- */
/* Columns of O that a TMA box stores. */
int sett__attention_panel(const sett_attention_options *o)
{
    return o->dv % 64 ? 32 : 64;
}

/* The rows of a warp group, (64,dv), where all of them are the request's, or where boxes leave out those that are not. */
static void store_boxes(const attention_parts *t, const attention_work *w, sett_tensor *from, sett_val *first)
{
    const int panel = sett__attention_panel(t->o);
    sett_tensor *to = sett__attention_rows(t, w, sett_tma_tensor(t->to), first);
    for (int i = 0; i < t->o->dv / panel; i++)
        sett_tma_store(t->to, sett_local_tile(from, T(GROUP_ROWS, panel), T(0, i)), sett_local_tile(to, T(GROUP_ROWS, panel), T(0, i)));
}

/* The same where the next request's follow, by the threads of the group. */
static void store_rows(sett_build *b, const attention_parts *t, const attention_work *w, sett_tensor *from, sett_val *first)
{
    const int parts = t->o->dv / PART;
    sett_tensor *to = sett__attention_rows(t, w, t->O, first);
    sett_for (b, i, sett_mod(sett_thread_idx(b, 0), GROUP), sett_mul(sett__attention_left(t, w, first), parts), GROUP) {
        sett_val *row = sett_floordiv(i, parts), *part = sett_mod(i, parts);
        sett_store(sett_local_tile(to, T(1, PART), T(row, part)), sett_load(sett_local_tile(from, T(1, PART), T(row, part))));
    }
}

void sett__attention_store(sett_build *b, const attention_parts *t, const attention_work *w, const attention_result *r, sett_val *group)
{
    const sett_dtype type = t->o->out;
    const sett_arg barrier = SETT_A(sett_add(group, BARRIER_GROUP));
    sett_tensor *out = sett_make_fragment_like(r->o, type);
    sett_tiled_copy *r2s = sett_make_tiled_copy_C(sett_stmatrix(b, type, 4, false), r->pv);
    sett_thr_copy *mine = sett_get_slice(r2s, sett_thread_idx(b, 0));
    sett_val *sum = sett_warp_reduce(sett_load(r->sum), SETT_ADD, 4), *first = sett_add(w->row, sett_mul(group, GROUP_ROWS));
    sett_val *per_sum = sett__attention_per_sum(t, sum);
    if (t->o->scaled)
        per_sum = sett_mul(per_sum, sett_at(t->scales[2], sett__attention_shared(b, t, w->head)));
    sett_store(out, sett_to(sett_mul(sett_load(r->o), per_sum), type));
    sett_tma_store_wait_read(b, 0);
    sett_barrier(b, barrier, GROUP); /* the boxes of the tile before have been read, or the group's products have read its queries */
    sett_copy(r2s, sett_retile(mine, out), sett_partition_D(mine, t->out));
    sett_fence_view_async_shared(b);
    sett_barrier(b, barrier, GROUP);
    sett_tensor *from = sett_local_tile(t->out, T(GROUP_ROWS, t->o->dv), T(group, 0));
    sett_val *stores = sett_eq(sett_mod(sett_make_warp_uniform(sett_warp_idx(b)), GROUP / 32), 0);
    sett_val *whole = t->offsets ? sett_ge(sett__attention_left(t, w, first), GROUP_ROWS) : NULL;
    sett_if (b, whole ? sett_and(stores, whole) : stores)
        store_boxes(t, w, from, first);
    sett_tma_store_commit(b);
    if (whole)
        sett_if (b, sett_not(whole)) {
            store_rows(b, t, w, from, first);
            if (!t->own_out)
                sett_fence_view_async_shared(b); /* boxes of Q may come to where threads have read */
        }
    if (t->lse)
        sett__attention_store_logarithm(b, r->scores, w, r->max, sum);
    if (t->own_out)
        return;
    sett_tma_store_wait_read(b, 0);
    sett_barrier(b, barrier, GROUP); /* Q may come to where O was */
}
