/* SPDX-License-Identifier: Apache-2.0 */
/* The warps that multiply with .arch 80: each has 16 queries, all keys of a tile, and writes its rows of O itself. */
#include "attention.h"

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
static void tiles(sett_build *b, const attention_warp *f, sett_pipeline_state *keys, sett_pipeline_state *values, sett_val *from, sett_val *to, bool edge)
{
    sett_for (b, i, 0, sett_sub(from, to), 1) {
        sett__warp_weights(b, f, f->t->q, next_stage(&f->t->k, keys), sett_sub(sett_sub(from, 1), i), edge);
        release(keys);
        sett__warp_sums(b, f, next_stage(&f->t->v, values));
        release(values);
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

void sett__attention_consume_warps(sett_build *b, const attention_parts *t, sett_val *warp)
{
    attention_work w = {0};
    attention_warp f = {.t = t, .lane = sett_lane_idx(b), .row = sett_mul(warp, WARP_ROWS), .keeps_query = keeps_query(t->o)};
    sett_tensor *more = sett_var(b, SETT_I32, 1);
    sett_pipeline_state *work = sett_pipeline_consumer_state(t->work), *query = sett_pipeline_consumer_state(t->query), *keys = sett_pipeline_consumer_state(t->k.pipe), *values = sett_pipeline_consumer_state(t->v.pipe);
    sett__warp_make(b, &f);
    f.scores.heads = t->o->group ? &t->packed : NULL;
    sett_while (b, sett_ne(sett_at(more, 0), 0)) {
        sett_consumer_wait(work);
        sett_val *is_work = sett__attention_told(t, work, (sett_val **)&w, ATTENTION_WORK_INTS);
        sett_set(more, sett_to(is_work, SETT_I32), 0);
        release(work);
        sett_if (b, is_work) {
            f.of = w, f.of.row = sett_add(w.row, f.row);
            sett_consumer_wait(query);
            sett__warp_begin(&f, t->q);
            sett__attention_scores_begin(b, &f.scores);
            sett__attention_begin(b, &f.scores, f.o, f.max, f.sum);
            tiles(b, &f, keys, values, w.to, sett_min(w.to, w.whole_to), true);
            tiles(b, &f, keys, values, sett_min(w.to, w.whole_to), w.whole_from, false);
            if (sett__attention_masks_first(t))
                tiles(b, &f, keys, values, w.whole_from, w.from, true);
            release(query);
            store(b, &f, &w);
        }
    }
}
