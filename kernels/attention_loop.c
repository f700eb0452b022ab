/* SPDX-License-Identifier: Apache-2.0 */
/* The warp groups that multiply. Each has 64 queries. While its S = Q K^T of the next keys and its O += P V of these are under way, it computes
 * the softmax of the S that has come first. P goes from the accumulator's registers to A of the second product as they are. */
#include "attention.h"

typedef struct flash {
    const attention_parts *t;
    attention_work w;
    attention_scores scores;
    sett_val *group;
    sett_val *pair; /* NULL: there are none */
    sett_tiled_mma *qk, *pv;
    sett_thr_mma *qk_mine, *pv_mine;
    sett_tensor *s, *p, *o, *max, *sum; /* registers; max in the unit of the scores */
    sett_pipeline_state *work, *query, *keys, *values;
} flash;

/* Two groups take turns to begin products, so that one's softmax lies under the other's products. Products of fp8 take half the time, so
 * exponents are what groups wait for: turns make them slower. */
static bool takes_turns(const attention_parts *t)
{
    return groups_of(t->o) == 2 && !is_f8(t->o);
}

static void turn(sett_build *b, const flash *f, bool mine)
{
    sett_val *whose = mine ? f->group : sett_sub(1, f->group);
    if (takes_turns(f->t) && mine)
        sett_barrier(b, sett_add(whose, BARRIER_TURN), 2 * GROUP);
    else if (takes_turns(f->t))
        sett_barrier_arrive(b, sett_add(whose, BARRIER_TURN), 2 * GROUP);
}

static void begin_scores(sett_build *b, const flash *f)
{
    sett_tensor *fq = sett_make_fragment_A(f->qk, sett_partition_A(f->qk_mine, f->t->q));
    sett_tensor *fk = sett_make_fragment_B(f->qk, sett_partition_B(f->qk_mine, sett_slice(f->t->k.ring, ALL, ALL, sett_pipeline_stage(f->keys))));
    sett_gemm(f->qk, f->s, fq, fk, f->s, .overwrite = true);
    sett_mma_commit(b);
}

static void begin_sums(sett_build *b, const flash *f)
{
    sett_tensor *fv = sett_make_fragment_B(f->pv, sett_partition_B(f->pv_mine, sett_slice(f->t->vt.ring, ALL, ALL, sett_pipeline_stage(f->values))));
    sett_gemm(f->pv, f->o, f->p, fv, f->o);
    sett_mma_commit(b);
}

static void release(sett_pipeline_state *s)
{
    sett_consumer_release(s), sett_pipeline_advance(s);
}

/* A stage that the group does not read: it comes together behind the wait, so that no warp is left behind. */
static void step_over(sett_build *b, const flash *f, sett_pipeline_state *s)
{
    sett_consumer_wait(s);
    sett_barrier(b, sett_add(f->group, BARRIER_GROUP), GROUP);
    release(s);
}

/* Of a pair: one that is the other head's. It is before the second group's own, behind the first one's. */
static void step_over_other(sett_build *b, const flash *f, int group, sett_pipeline_state *s)
{
    if (f->pair)
        sett_if (b, sett_and(f->pair, sett_eq(f->group, group)))
            step_over(b, f, s);
}

static sett_val *weights(sett_build *b, const flash *f, sett_val *tile, bool edge, sett_val **fade)
{
    return sett__attention_softmax(&f->scores, f->max, f->sum, sett__attention_score(b, &f->scores, sett_load(f->s), tile, edge), weight_exponent(f->t->o), fade);
}

/* The same registers in fewer bits, by their names in A. Of fp8 A has four keys of a row beside each other where S has two of one block of
 * eight and two of the next: V's keys were turned to that order (attention_turn.c). */
static sett_val *narrowed(sett_build *b, const flash *f, sett_val *p)
{
    const int keys = f->t->o->tuning.keys;
    if (is_f8(f->t->o)) {
        sett_tensor *ordered = sett_make_rmem_tensor(b, SETT_F32, 64 * keys / GROUP);
        sett_store(sett_composition(ordered, sett_make_layout(b, T(2, 2, 2, keys / 16), T(2, 4, 1, 8))), sett_reshape(p, T(2, 2, 2, keys / 16)));
        p = sett_load(ordered);
    }
    return sett_to(sett_reshape(p, sett_shape(sett_tensor_layout(f->p))), f->t->o->dtype);
}

/* Tiles from `from` on down to `to`, of which those behind have been counted. */
static void tiles(sett_build *b, const flash *f, sett_val *from, sett_val *to, bool edge)
{
    sett_for (b, i, 0, sett_sub(from, to), 1) {
        sett_val *fade, *tile = sett_sub(sett_sub(from, 1), i);
        step_over_other(b, f, 1, f->keys);
        sett_consumer_wait(f->keys), sett_consumer_wait(f->values);
        turn(b, f, true);
        begin_scores(b, f);   /* in flight: S of the next keys, */
        begin_sums(b, f);     /* and O += P V of these */
        turn(b, f, false);
        sett_mma_wait(b, 1);  /* S has come */
        release(f->keys);
        sett_val *p = narrowed(b, f, weights(b, f, tile, edge, &fade));
        /* Most maxima do not grow, and times 1 changes no bit. The branch holds the softmax in front of the wait: ptxas moves waits up, past all
         * exponents, to the next branch. */
        sett_val *fades = sett_ne(fade, 1.0);
        sett_if (b, sett_vote_any_sync(sett_or(sett_element(fades, 0), sett_element(fades, 1)))) {
            sett_mma_wait(b, 0);
            sett_store(f->o, sett_mul(sett_load(f->o), fade));
        }
        sett_mma_wait(b, 0);  /* O and P are free */
        release(f->values);
        sett_store(f->p, p);
        step_over_other(b, f, 0, f->keys);
        if (f->pair)
            sett_if (b, f->pair) /* V of these was the first group's own, that of the next is not the second's */
                step_over(b, f, f->values);
    }
}

/* Of the stage of V that has come, by so many threads. */
static void clear_by(sett_build *b, const flash *f, sett_val *tile, sett_val *thread, int threads, sett_val *barrier)
{
    const attention_parts *t = f->t;
    if (!is_f8(t->o)) /* of which the warps that turn V have made zeros */
        sett__attention_clear(b, t, sett_slice(t->v.ring, ALL, ALL, sett_pipeline_stage(f->values)), t->v.columns, sett_sub(f->w.keys, sett_mul(tile, t->o->tuning.keys)), thread, threads, barrier);
}

/* All groups read it, or of a pair one. */
static void clear_tail(sett_build *b, const flash *f, sett_val *tile)
{
    sett_val *thread = sett_thread_idx(b, 0), *all = sett_const(b, SETT_I32, BARRIER_ALL);
    if (!f->pair) {
        clear_by(b, f, tile, thread, groups_of(f->t->o) * GROUP, all);
        return;
    }
    sett_if (b, f->pair)
        clear_by(b, f, tile, sett_mod(thread, GROUP), GROUP, sett_add(f->group, BARRIER_GROUP));
    sett_else (b)
        clear_by(b, f, tile, thread, groups_of(f->t->o) * GROUP, all);
}

/* All tiles of a work that has some. */
static void loop(sett_build *b, const flash *f)
{
    const attention_work *w = &f->w;
    sett_val *fade, *last = sett_sub(w->to, 1);
    step_over_other(b, f, 1, f->keys);
    sett_consumer_wait(f->keys);
    begin_scores(b, f);
    sett_mma_wait(b, 0);
    release(f->keys);
    sett_store(f->p, narrowed(b, f, weights(b, f, last, true, &fade)));
    step_over_other(b, f, 0, f->keys), step_over_other(b, f, 1, f->values);
    sett_consumer_wait(f->values);
    clear_tail(b, f, last);
    if (sett__attention_masks_last(f->t))
        tiles(b, f, last, w->whole_to, true);
    tiles(b, f, sett_min(last, w->whole_to), w->whole_from, false);
    if (sett__attention_masks_first(f->t))
        tiles(b, f, w->whole_from, w->from, true);
    if (f->t->own_out)
        release(f->query);
    sett_consumer_wait(f->values);
    begin_sums(b, f);
    sett_mma_wait(b, 0);
    release(f->values);
    step_over_other(b, f, 0, f->values);
}

/* A group that has no rows does what others wait for. Behind each wait it comes together, so that no warp is left behind. */
static void skip(sett_build *b, const flash *f)
{
    const attention_work *w = &f->w;
    step_over(b, f, f->query);
    sett_for (b, i, 0, sett_sub(w->to, w->from), 1) {
        sett_val *again = sett_gt(i, 0);
        sett_if (b, again) {
            turn(b, f, true);
            turn(b, f, false);
        }
        step_over(b, f, f->keys);
        sett_consumer_wait(f->values);
        sett_if (b, sett_not(again))
            clear_tail(b, f, sett_sub(w->to, 1));
        sett_barrier(b, sett_add(f->group, BARRIER_GROUP), GROUP);
        release(f->values);
    }
}

static void make(sett_build *b, flash *f)
{
    const sett_attention_options *o = f->t->o;
    const int rows = o->tuning.rows, keys = o->tuning.keys;
    f->qk = sett_make_tiled_mma(sett_wgmma(b, .a = o->dtype, .b = o->dtype, .acc = SETT_F32, .n = keys), T(groups_of(o), 1, 1), ALL);
    f->pv = sett_make_tiled_mma(sett_wgmma(b, .a = o->dtype, .b = o->dtype, .acc = SETT_F32, .n = o->dv, .a_from = SETT_RMEM, .b_major = is_f8(o) ? SETT_K_MAJOR : SETT_MN_MAJOR), T(groups_of(o), 1, 1), ALL);
    f->qk_mine = sett_get_slice(f->qk, sett_mul(f->group, GROUP));
    f->pv_mine = sett_get_slice(f->pv, sett_mul(f->group, GROUP));
    f->s = sett_make_fragment_C(f->qk, sett_partition_shape_C(f->qk, T(rows, keys)));
    f->o = sett_make_fragment_C(f->pv, sett_partition_shape_C(f->pv, T(rows, o->dv)));
    f->p = sett_make_fragment_A(f->pv, sett_partition_shape_A(f->pv, T(rows, keys)));
    f->max = sett_make_rmem_tensor(b, SETT_F32, T(1, 2, 1), 1, 1);
    f->sum = sett_make_rmem_tensor(b, SETT_F32, T(1, 2, 1), 1, 1);
    f->work = sett_pipeline_consumer_state(f->t->work), f->query = sett_pipeline_consumer_state(f->t->query), f->keys = sett_pipeline_consumer_state(f->t->k.pipe), f->values = sett_pipeline_consumer_state(f->t->vt.pipe);
}

static void work_on(sett_build *b, flash *f)
{
    const attention_parts *t = f->t;
    sett__attention_scores_begin(b, &f->scores);
    sett__attention_begin(b, &f->scores, f->o, f->max, f->sum);
    sett_consumer_wait(f->query);
    sett_if (b, sett_gt(f->w.to, f->w.from))
        loop(b, f);
    sett_else (b)
        if (t->own_out) {
            sett_barrier(b, sett_add(f->group, BARRIER_GROUP), GROUP); /* all warps have waited for this phase, where no product brings them together */
            release(f->query);
        }
    attention_work again; /* it takes no registers in the loop */
    sett__attention_told(t, f->work, (sett_val **)&again, ATTENTION_WORK_INTS);
    sett__attention_own_work(t, &again, f->group);
    const attention_result r = {.pv = f->pv, .o = f->o, .sum = f->sum, .max = f->max, .scores = &f->scores};
    sett__attention_store(b, t, &again, &r, f->group);
    if (!t->own_out)
        release(f->query);
}

/* A tile of queries, of which a group has its own 64, or none. */
static void consume(sett_build *b, void *user)
{
    flash *f = user;
    sett__attention_own_work(f->t, &f->w, f->group);
    f->pair = sett__attention_pair(f->t, f->w.rows);
    if (groups_of(f->t->o) == 1) {
        work_on(b, f);
        return;
    }
    sett_if (b, sett_eq(sett__attention_left(f->t, &f->w, sett_add(f->w.row, sett_mul(f->group, GROUP_ROWS))), 0))
        skip(b, f);
    sett_else (b)
        work_on(b, f);
}

void sett__attention_consume(sett_build *b, const attention_parts *t, sett_val *group)
{
    flash f = {.t = t, .scores = {.b = b, .t = t, .w = &f.w, .heads = t->o->group ? &t->packed : NULL}, .group = group};
    make(b, &f);
    sett_tensor *tile = sett_identity_tensor(b, t->o->tuning.rows, t->o->tuning.keys);
    f.scores.crd = sett_partition_C(sett_get_slice(f.qk, sett_thread_idx(b, 0)), tile);
    f.scores.columns = sett_partition_C(sett_get_slice(f.qk, 0), tile);
    if (takes_turns(t))
        sett_if (b, sett_eq(group, 1))
            turn(b, &f, false); /* the first turn is the other group's */
    sett__attention_each(b, t, &(attention_units){sett_var(b, SETT_I32, 1), f.work}, (sett_val **)&f.w, ATTENTION_WORK_INTS, false, consume, &f);
    sett_tma_store_wait_read(b, 0);
}
