/* SPDX-License-Identifier: Apache-2.0 */
/* The warps that multiply. Each has 16 rows of Q, and its own keys of each tile, so that none waits for another before a split ends. Rows are
 * queries, each with the heads that share K and V. */
#include "attention_decode.h"
#include <math.h>

enum { PART = 8 /* elements of a store */ };

typedef struct warp {
    attention_warp base; /* of this warp's keys of a tile */
    const decode_parts *x;
    const decode_work *w;
    sett_val *part; /* which keys of a tile */
} warp;

static int keys_of(const warp *f)
{
    return f->x->mine.tuning.keys;
}

/* This warp's keys of a stage, (keys,d) of K or (d,keys) of V. */
static sett_tensor *mine_of(const warp *f, const attention_operand *x, sett_val *stage)
{
    sett_tensor *tile = sett_slice(x->ring, ALL, ALL, stage);
    return x->across ? sett_local_tile(tile, T(x->columns, keys_of(f)), T(0, f->part)) : sett_local_tile(tile, T(keys_of(f), x->columns), T(f->part, 0));
}

/* The rows of Q to shared memory, by all that multiply. Those behind the last are the last one, which is not stored twice. */
static void load_query(sett_build *b, const warp *f)
{
    const decode_parts *x = f->x;
    const int parts = x->o->d / PART;
    sett_tensor *to = sett__warp_query(b, &x->scores);
    sett_for (b, i, sett_thread_idx(b, 0), x->o->rows * parts, decode_threads(x)) {
        sett_val *row = sett_floordiv(i, parts), *part = sett_mod(i, parts);
        const sett_quot_rem at = sett_divmod(sett_min(sett_add(f->w->row, row), sett_sub(x->rows, 1)), x->group);
        sett_tensor *from = sett_slice(x->q, at.quotient, ALL, sett_add(sett_mul(f->w->head, x->group.divisor), at.remainder), f->w->request);
        sett_store(sett_local_tile(to, T(1, PART), T(row, part)), sett_to(sett_load(sett_local_tile(from, T1(PART), T1(part))), decode_multiplied(x->o)));
    }
    sett_barrier(b, DECODE_BARRIER, decode_threads(x));
}

/* Zeros for keys of V that are not the request's, as what lies there may be NaN. */
static void clear_tail(sett_build *b, const warp *f, sett_tensor *v, sett_val *first_key)
{
    const int keys = keys_of(f), part = sett__vec(f->x->o->kv), parts = f->x->o->d / part;
    if (!f->x->o->lengths || !by_tma(&f->x->all))
        return; /* copies write zeros there */
    sett_val *first = sett_max(sett_sub(f->w->keys, first_key), 0);
    sett_if (b, sett_lt(first, keys)) {
        sett_for (b, i, f->base.lane, sett_mul(sett_sub(keys, first), parts), WARP)
            sett_fill(sett_local_tile(v, T(part, 1), T(sett_mod(i, parts), sett_add(first, sett_floordiv(i, parts)))), 0);
        sett_sync_warp(b);
    }
}

static void tile(sett_build *b, const warp *f, sett_pipeline_state *get, sett_val *number)
{
    const decode_parts *x = f->x;
    sett_val *mine = sett_add(sett_mul(number, decode_parts_of(x->o)), f->part), *stage = sett_pipeline_stage(get);
    sett_consumer_wait(get);
    sett__warp_weights(b, &f->base, mine_of(f, &x->t.k, stage), mine, true);
    sett_tensor *v = mine_of(f, &x->t.v, stage);
    clear_tail(b, f, v, sett_mul(mine, keys_of(f)));
    sett__warp_sums(b, &f->base, v);
    sett_consumer_release(get);
    sett_pipeline_advance(get);
}

/* Sums, largest score and sum of weights of this warp, for the others. */
static void leave(sett_build *b, const warp *f)
{
    const int d = f->x->o->d;
    sett_tensor *mine = sett_slice(sett_domain_offset(f->x->sums, 0, f->base.row, f->part), ALL, ALL, 0), *across = sett_select(mine, 1, 0); /* (rows,columns) */
    sett_tensor *to = sett_partition_C(sett_get_slice(f->base.mma, f->base.lane), sett__warp_columns(b, &f->base, sett_local_tile(across, T(WARP_ROWS, d), T(0, 0))));
    sett_val *sum = sett_warp_reduce(sett_load(f->base.sum), SETT_ADD, 4), *max = sett_load(f->base.max);
    sett_store(to, sett_load(f->base.o));
    sett_if (b, sett_eq(sett_mod(f->base.lane, 4), 0))
        for (int i = 0; i < 2; i++) {
            sett_val *row = sett_add(sett_floordiv(f->base.lane, 4), 8 * i);
            sett_set(across, sett_element(max, i), row, d), sett_set(across, sett_element(sum, i), row, d + 1);
        }
}

void sett__decode_consume(sett_build *b, const decode_parts *x)
{
    decode_work w;
    sett_val *number = sett_make_warp_uniform(sett_warp_idx(b));
    warp f = {.x = x, .w = &w, .part = sett_mod(number, decode_parts_of(x->o)), .base = {.t = &x->scores, .lane = sett_lane_idx(b), .row = sett_mul(sett_floordiv(number, decode_parts_of(x->o)), WARP_ROWS)}};
    sett_tensor *more = sett_var(b, SETT_I32, 1);
    sett_pipeline_state *work = sett_pipeline_consumer_state(x->t.work), *keys = sett_pipeline_consumer_state(x->keys);
    sett__warp_make(b, &f.base);
    f.base.scores.heads = &x->group;
    sett_while (b, sett_ne(sett_at(more, 0), 0)) {
        sett_val *is_work = sett__attention_take(b, &x->t, work, (sett_val **)&w, DECODE_WORK_INTS);
        sett_set(more, sett_to(is_work, SETT_I32), 0);
        sett_if (b, is_work) {
            f.base.of = (attention_work){.row = sett_add(w.row, f.base.row), .head = sett_mul(w.head, x->group.divisor), .request = w.request, .rows = x->t.M, .keys = w.keys};
            f.base.k_scale = x->k_scale ? sett_at(x->k_scale, w.head) : NULL;
            sett_fill(f.base.o, 0.0), sett_fill(f.base.sum, 0.0), sett_fill(f.base.max, -INFINITY);
            load_query(b, &f);
            sett__warp_begin(b, &f.base);
            sett_for (b, i, w.from, w.to, 1)
                tile(b, &f, keys, i);
            leave(b, &f);
            sett__decode_finish(b, x, &w);
        }
    }
}
