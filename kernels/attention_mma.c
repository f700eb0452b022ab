/* SPDX-License-Identifier: Apache-2.0 */
/* The warps that multiply with .arch 80: each has 16 queries, all keys of a tile, and writes its rows of O itself. */
#include "attention.h"

typedef struct warp {
    attention_warp base;
    attention_work w; /* of the block */
    sett_pipeline_state *query, *keys, *values;
} warp;

static sett_tensor *next_stage(const attention_operand *x, sett_pipeline_state *get)
{
    sett_consumer_wait(get);
    return sett_slice(x->ring, ALL, ALL, sett_pipeline_stage(get));
}

static void release(sett_pipeline_state *get)
{
    sett_consumer_release(get), sett_pipeline_advance(get);
}

/* Tiles from `from` on down to `to`, of which those behind have been counted. */
static void tiles(sett_build *b, const warp *x, sett_val *from, sett_val *to, bool edge)
{
    const attention_parts *t = x->base.t;
    sett_for (b, i, 0, sett_sub(from, to), 1) {
        sett__warp_weights(b, &x->base, t->q, next_stage(&t->k, x->keys), sett_sub(sett_sub(from, 1), i), edge);
        release(x->keys);
        sett__warp_sums(b, &x->base, next_stage(&t->v, x->values));
        release(x->values);
    }
}

/* Rows of the request alone. w: the tile's. */
static void store(sett_build *b, const attention_warp *f, const attention_work *w)
{
    const attention_parts *t = f->t;
    sett_thr_mma *mine = sett_get_slice(f->mma, f->lane);
    sett_tensor *to = sett_local_tile(sett__attention_rows(t, w, t->O, w->row), T(WARP_ROWS, t->o->dv), T(sett_floordiv(f->row, WARP_ROWS), 0));
    sett_val *sum = sett_warp_reduce(sett_load(f->sum), SETT_ADD, 4), *per_sum = sett_reshape(sett__attention_per_sum(t, sum), T(T(1, 2), 1, 1));
    sett_val *in = sett_elem_less(sett_partition_C(mine, sett_identity_tensor(b, WARP_ROWS, t->o->dv)), sett_tuple(b, sett__attention_left(t, w, f->of.row), ALL));
    sett_store(sett_partition_C(mine, to), sett_to(sett_mul(sett_load(f->o), per_sum), t->o->out), .pred = in);
    if (t->lse)
        sett__attention_store_logarithm(b, &f->scores, &f->of, f->max, sum);
}

/* Where a thread has 168 registers, rows of more columns are read again for each tile; so are those that stay over an exact tanh. */
static bool keeps_query(const sett_attention_options *o)
{
    return o->d <= 96 && !(o->exact && o->softcap);
}

/* A tile of queries. */
static void work_on(sett_build *b, void *user)
{
    warp *x = user;
    attention_warp *f = &x->base;
    const attention_work *w = &x->w;
    f->of = *w, f->of.row = sett_add(w->row, f->row);
    sett_consumer_wait(x->query);
    sett__warp_begin(f, f->t->q);
    sett__attention_scores_begin(b, &f->scores);
    sett__attention_begin(b, &f->scores, f->o, f->max, f->sum);
    tiles(b, x, w->to, sett_min(w->to, w->whole_to), true);
    tiles(b, x, sett_min(w->to, w->whole_to), w->whole_from, false);
    if (sett__attention_masks_first(f->t))
        tiles(b, x, w->whole_from, w->from, true);
    release(x->query);
    store(b, f, w);
}

void sett__attention_consume_warps(sett_build *b, const attention_parts *t, sett_val *number)
{
    warp x = {.base = {.t = t, .lane = sett_lane_idx(b), .row = sett_mul(number, WARP_ROWS), .keeps_query = keeps_query(t->o)}};
    const attention_units units = {sett_var(b, SETT_I32, 1), sett_pipeline_consumer_state(t->work)};
    x.query = sett_pipeline_consumer_state(t->query), x.keys = sett_pipeline_consumer_state(t->k.pipe), x.values = sett_pipeline_consumer_state(t->v.pipe);
    sett__warp_make(b, &x.base);
    x.base.scores.heads = t->o->group ? &t->packed : NULL;
    sett__attention_each(b, t, &units, (sett_val **)&x.w, ATTENTION_WORK_INTS, true, work_on, &x);
}
