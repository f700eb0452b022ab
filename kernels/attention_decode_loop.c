/* SPDX-License-Identifier: Apache-2.0 */
/* The warps that multiply. Each has 16 rows of Q, and its own keys of each tile, so that none waits for another before a split ends. Rows are
 * queries, each with the heads that share K and V. */
#include "attention_decode.h"
#include <math.h>

enum { PART = 8 /* elements of a store */ };

typedef struct warp {
    attention_warp base; /* of this warp's keys of a tile */
    const decode_parts *x;
    decode_work w;
    decode_units units;
    sett_val *part; /* which keys of a tile */
    sett_pipeline_state *keys, *queries, *put; /* put: of sums */
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

/* ---- queries -------------------------------------------------------------------------------------------------- */
/* The rows of a split to shared memory. Those behind the last are the last one, which is not stored twice. */
static void fetch_rows(sett_build *b, const decode_parts *x, const decode_work *w, sett_tensor *to)
{
    enum { AT_ONCE = 4 /* loads of a thread that do not wait for each other */ };
    const int parts = x->o->d / PART;
    sett_for (b, i, sett_lane_idx(b), x->o->rows * parts, AT_ONCE * WARP) {
        sett_val *row[AT_ONCE], *part[AT_ONCE], *of[AT_ONCE];
        for (int j = 0; j < AT_ONCE; j++) {
            sett_val *k = sett_add(i, j * WARP);
            row[j] = sett_floordiv(k, parts), part[j] = sett_mod(k, parts);
            const sett_quot_rem at = sett_divmod(sett_min(sett_add(w->row, row[j]), sett_sub(x->rows, 1)), x->group);
            sett_tensor *from = sett_slice(x->q, at.quotient, ALL, sett_add(sett_mul(w->head, x->group.divisor), at.remainder), w->request);
            of[j] = sett_load(sett_local_tile(from, T1(PART), T1(part[j])));
        }
        for (int j = 0; j < AT_ONCE; j++)
            sett_store(sett_local_tile(to, T(1, PART), T(row[j], part[j])), sett_to(of[j], decode_multiplied(x->o)));
    }
}

typedef struct fetcher {
    const decode_parts *x;
    decode_work w;
    sett_pipeline_state *put;
} fetcher;

static void fetch(sett_build *b, void *user)
{
    fetcher *f = user;
    sett_producer_acquire(f->put);
    fetch_rows(b, f->x, &f->w, sett__warp_query(b, &f->x->scores, sett_slice(f->x->t.q, ALL, ALL, sett_pipeline_stage(f->put))));
    sett_producer_commit(f->put);
    sett_pipeline_advance(f->put);
}

void sett__decode_fetch(sett_build *b, const decode_parts *x)
{
    const decode_units units = sett__decode_units(b, x);
    fetcher f = {.x = x, .put = sett_pipeline_producer_state(x->queries)};
    sett__decode_each(b, x, &units, &f.w, fetch, &f);
}

/* ---- products ------------------------------------------------------------------------------------------------- */
static sett_tensor *query_of(const warp *f)
{
    return sett_slice(f->x->t.q, ALL, ALL, sett_pipeline_stage(f->queries));
}

static void tile(sett_build *b, const warp *f, sett_val *number)
{
    const decode_parts *x = f->x;
    sett_val *mine = sett_add(sett_mul(number, decode_parts_of(x->o)), f->part), *stage = sett_pipeline_stage(f->keys);
    sett_consumer_wait(f->keys);
    sett__warp_weights(b, &f->base, query_of(f), mine_of(f, &x->t.k, stage), mine, true);
    sett_tensor *v = mine_of(f, &x->t.v, stage);
    sett__attention_clear(b, &x->scores, v, x->o->d, sett_sub(f->w.keys, sett_mul(mine, keys_of(f))), f->base.lane, WARP, NULL);
    sett__warp_sums(b, &f->base, v);
    sett_consumer_release(f->keys);
    sett_pipeline_advance(f->keys);
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

/* Of one unit. */
static void consume(sett_build *b, void *user)
{
    warp *f = user;
    const decode_parts *x = f->x;
    const decode_work *w = &f->w;
    const int tiles = x->o->tuning.split / x->o->tuning.keys;
    f->base.of = (attention_work){.row = sett_add(w->row, f->base.row), .head = sett_mul(w->head, x->group.divisor), .request = w->request, .rows = x->t.M, .keys = w->keys};
    f->base.k_scale = x->k_scale ? sett_at(x->k_scale, w->head) : NULL;
    sett_consumer_wait(f->queries);
    sett__warp_begin(&f->base, query_of(f));
    if (f->base.keeps_query)
        sett_consumer_release(f->queries);
    sett__attention_scores_begin(b, &f->base.scores);
    sett_for (b, i, 0, decode_n_splits(x, w), 1) {
        sett_val *begin = sett_mul(sett_add(decode_first_split(x, w), i), tiles);
        sett_fill(f->base.o, 0.0), sett_fill(f->base.sum, 0.0), sett_fill(f->base.max, -INFINITY);
        sett_for (b, number, sett_max(begin, w->from), sett_min(sett_add(begin, tiles), w->to), 1)
            tile(b, f, number);
        sett_producer_acquire(f->put);
        leave(b, f);
        sett_producer_commit(f->put);
        sett_pipeline_advance(f->put);
    }
    if (!f->base.keeps_query)
        sett_consumer_release(f->queries);
    sett_pipeline_advance(f->queries);
}

/* Long rows would take the registers that the rest needs, as those that stay over an exact tanh, and those of many rows, whose warps are more
 * than 4 and have 168 each. */
static bool keeps_query(const sett_attention_decode_options *o)
{
    return o->d <= (o->rows > WARP_ROWS && o->tuning.warps > 4 ? 64 : 128) && !(o->exact && o->softcap);
}

void sett__decode_consume(sett_build *b, const decode_parts *x)
{
    sett_val *number = sett_make_warp_uniform(sett_warp_idx(b));
    warp f = {.x = x, .part = sett_mod(number, decode_parts_of(x->o)), .base = {.t = &x->scores, .lane = sett_lane_idx(b), .row = sett_mul(sett_floordiv(number, decode_parts_of(x->o)), WARP_ROWS), .keeps_query = keeps_query(x->o)}};
    f.units = sett__decode_units(b, x);
    f.keys = sett_pipeline_consumer_state(x->keys), f.queries = sett_pipeline_consumer_state(x->queries), f.put = sett_pipeline_producer_state(x->left_sums);
    sett__warp_make(b, &f.base);
    f.base.scores.heads = &x->group;
    sett__decode_each(b, x, &f.units, &f.w, consume, &f);
}
