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
        sett__warp_weights(b, f, next_stage(&f->t->k, keys), sett_sub(sett_sub(from, 1), i), edge);
        release(keys);
        sett__warp_sums(b, f, next_stage(&f->t->v, values));
        release(values);
    }
}

/* Rows of the request alone. */
static void store(sett_build *b, const attention_warp *f)
{
    const attention_parts *t = f->t;
    const attention_work *w = &f->of;
    sett_thr_mma *mine = sett_get_slice(f->mma, f->lane);
    const sett_arg tile = T(WARP_ROWS, t->o->dv);
    sett_tensor *rows = t->offsets ? sett_slice(t->O, ALL, ALL, w->head) : sett_slice(t->O, ALL, ALL, w->head, w->request);
    sett_tensor *to = sett_partition_C(mine, sett_local_tile(sett_domain_offset(rows, sett_add(w->first_row, w->row), 0), tile, T(0, 0)));
    sett_val *sum = sett_warp_reduce(sett_load(f->sum), SETT_ADD, 4), *per_sum = sett_reshape(sett__attention_per_sum(t, sum), T(T(1, 2), 1, 1));
    sett_val *in = sett_elem_less(sett_partition_C(mine, sett_identity_tensor(b, WARP_ROWS, t->o->dv)), sett_tuple(b, sett_sub(w->rows, w->row), ALL));
    sett_store(to, sett_to(sett_mul(sett_load(f->o), per_sum), t->o->out), .pred = in);
    if (t->lse)
        sett__attention_store_logarithm(b, &f->scores, f->max, sum);
}

void sett__attention_consume_warps(sett_build *b, const attention_parts *t, sett_val *warp)
{
    attention_work w = {0};
    attention_warp f = {.t = t, .lane = sett_lane_idx(b), .row = sett_mul(warp, WARP_ROWS)};
    sett_tensor *more = sett_var(b, SETT_I32, 1);
    sett_pipeline_state *work = sett_pipeline_consumer_state(t->work), *query = sett_pipeline_consumer_state(t->query), *keys = sett_pipeline_consumer_state(t->k.pipe), *values = sett_pipeline_consumer_state(t->v.pipe);
    sett__warp_make(b, &f);
    sett_while (b, sett_ne(sett_at(more, 0), 0)) {
        sett_val *is_work = sett__attention_take(b, t, work, (sett_val **)&w, ATTENTION_WORK_INTS);
        sett_set(more, sett_to(is_work, SETT_I32), 0);
        sett_if (b, is_work) {
            f.of = w, f.of.row = sett_add(w.row, f.row);
            sett_consumer_wait(query);
            sett__warp_begin(b, &f);
            sett__attention_begin(b, &f.scores, f.o, f.max, f.sum);
            tiles(b, &f, keys, values, w.to, sett_min(w.to, w.whole_to), true);
            tiles(b, &f, keys, values, sett_min(w.to, w.whole_to), w.whole_from, false);
            if (sett__attention_masks_first(t))
                tiles(b, &f, keys, values, w.whole_from, w.from, true);
            release(query);
            store(b, &f);
        }
    }
}
