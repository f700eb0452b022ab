/* SPDX-License-Identifier: Apache-2.0 */
/* The warps that multiply. Each has 16 rows of Q in registers, and its own keys of each tile, so that none waits for another before a split
 * ends: S = Q K^T of 16 keys or more, their weights, O += P V. Rows are queries, each with the heads that share K and V. */
#include "attention_decode.h"
#include <math.h>

enum { PART = 8 /* elements of a store */ };

typedef struct warp {
    const decode_parts *x;
    const decode_work *w;
    sett_val *lane, *part, *row, *k_scale; /* which keys, and the first row, of a tile */
    attention_work of; /* the same as masks ask */
    attention_scores scores;
    sett_tiled_mma *qk, *pv;
    sett_tiled_copy *read_q, *read_k, *read_v;
    sett_tensor *q, *s, *p, *o, *max, *sum; /* registers; max in the unit of scores */
    sett_pipeline_state *keys, *queries, *put; /* put: of sums */
} warp;

static int keys_of(const warp *f)
{
    return f->x->mine.tuning.keys;
}

static void make(sett_build *b, warp *f)
{
    const sett_attention_decode_options *o = f->x->o;
    const int keys = keys_of(f);
    const sett_dtype t = decode_multiplied(o);
    sett_mma_atom *atom = sett_mma_sync(b, .a = t, .b = t, .acc = SETT_F32, .m = 16, .n = 8, .k = 16);
    f->qk = sett_make_tiled_mma(atom, T(1, 1, 1), T(16, 16, 16)), f->pv = f->qk; /* one ldmatrix x4 fills B of two */
    f->read_q = sett_make_tiled_copy_A(sett_ldmatrix(b, t, 4, false), f->qk);
    f->read_k = sett_make_tiled_copy_B(sett_ldmatrix(b, t, 4, false), f->qk);
    f->read_v = sett_make_tiled_copy_B(sett_ldmatrix(b, t, 4, true), f->pv);
    f->q = sett_make_fragment_A(f->qk, sett_partition_shape_A(f->qk, T(WARP_ROWS, o->d)));
    f->s = sett_make_fragment_C(f->qk, sett_partition_shape_C(f->qk, T(WARP_ROWS, keys)));
    f->p = sett_make_fragment_A(f->pv, sett_partition_shape_A(f->pv, T(WARP_ROWS, keys)));
    f->o = sett_make_fragment_C(f->pv, sett_partition_shape_C(f->pv, T(WARP_ROWS, o->d)));
    f->max = sett_make_rmem_tensor(b, SETT_F32, T(1, 2), 1, 1);
    f->sum = sett_make_rmem_tensor(b, SETT_F32, T(1, 2), 1, 1);
}

/* As attention_mask.c has them: elements ((2,2,keys/8),1,1) of a thread. */
static sett_tensor *as_scores(sett_build *b, const warp *f, sett_tensor *crd)
{
    return sett_composition(crd, sett_make_layout(b, T(T(2, 2, keys_of(f) / 8), 1, 1), T(T(1, 2, 4), 0, 0)));
}

static void make_scores(sett_build *b, warp *f)
{
    sett_tensor *tile = sett_identity_tensor(b, WARP_ROWS, keys_of(f));
    f->scores = (attention_scores){.b = b, .t = &f->x->scores, .w = &f->of, .heads = &f->x->group};
    f->scores.crd = as_scores(b, f, sett_partition_C(sett_get_slice(f->qk, f->lane), tile));
    f->scores.columns = as_scores(b, f, sett_partition_C(sett_get_slice(f->qk, 0), tile));
}

/* This warp's keys of a stage, (keys,d) of K or (d,keys) of V. */
static sett_tensor *mine_of(const warp *f, const attention_operand *x, sett_val *stage)
{
    sett_tensor *tile = sett_slice(x->ring, ALL, ALL, stage);
    return x->across ? sett_local_tile(tile, T(x->columns, keys_of(f)), T(0, f->part)) : sett_local_tile(tile, T(keys_of(f), x->columns), T(f->part, 0));
}

/* ---- operands of 8 bits -------------------------------------------------------------------------------------- */
/* They are read as units of 16 bits, two elements beside each other, and become f16 in registers. A product does not mind the order of k, nor
 * O that of its columns, as long as both sides have one: of K, whose pairs are along k, a lane has 4 elements beside each other, those of two
 * pairs of the instruction, and Q lies so in shared memory; of V, whose pairs are columns, a unit is of two products, of even columns and of
 * odd ones. */
static sett_tensor *as_pairs(const warp *f, sett_tensor *t)
{
    return decode_is_f8(f->x->o) ? sett_recast_tensor(t, SETT_F16) : t;
}

/* Where column c of a tile of Q lies. */
static sett_tensor *query_columns(sett_build *b, const decode_parts *x, sett_tensor *q)
{
    const int steps = x->o->d / 16;
    return decode_is_f8(x->o) ? sett_composition(q, T(x->o->rows, sett_make_layout(b, T(2, 2, 4, steps), T(1, 8, 2, 16)))) : q;
}

/* And column c of O, of (rows,d). */
static sett_tensor *sums_columns(sett_build *b, const warp *f, sett_tensor *t)
{
    const int pairs = f->x->o->d / 16;
    return decode_is_f8(f->x->o) ? sett_composition(t, T(WARP_ROWS, sett_make_layout(b, T(8, 2, pairs), T(2, 1, 16)))) : t;
}

/* B of n columns and `steps` of k, of units in registers. */
static sett_tensor *from_pairs(sett_build *b, const warp *f, sett_tensor *units, int n, int steps, bool of_v)
{
    if (!decode_is_f8(f->x->o))
        return units;
    sett_tensor *narrow = sett_recast_tensor(units, f->x->o->kv), *wide = sett_make_fragment_like(narrow, SETT_F16);
    sett_store(wide, sett_to(sett_load(narrow), SETT_F16));
    return sett_composition(wide, of_v ? sett_make_layout(b, T(T(2, 2), T(2, n / 16), steps), T(T(2, 4), T(1, 8), n / 2)) : sett_make_layout(b, T(T(2, 2), n / 8, T(2, steps / 2)), T(T(1, 2), 8, T(4, n))));
}

/* ---- queries -------------------------------------------------------------------------------------------------- */
/* The rows of a split to shared memory. Those behind the last are the last one, which is not stored twice. */
static void fetch(sett_build *b, const decode_parts *x, const decode_work *w, sett_tensor *to)
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

void sett__decode_fetch(sett_build *b, const decode_parts *x)
{
    decode_work w;
    sett_tensor *more = sett_var(b, SETT_I32, 1);
    sett_pipeline_state *work = sett_pipeline_consumer_state(x->work), *put = sett_pipeline_producer_state(x->queries);
    sett_while (b, sett_ne(sett_at(more, 0), 0)) {
        sett_val *is_work = sett__decode_take(x, work, &w);
        sett_set(more, sett_to(is_work, SETT_I32), 0);
        sett_if (b, is_work) {
            sett_producer_acquire(put);
            fetch(b, x, &w, query_columns(b, x, sett_slice(x->t.q, ALL, ALL, sett_pipeline_stage(put))));
            sett_producer_commit(put);
            sett_pipeline_advance(put);
        }
    }
}

static void read_query(const warp *f)
{
    sett_thr_copy *copy = sett_get_slice(f->read_q, f->lane);
    sett_tensor *tile = sett_slice(f->x->t.q, ALL, ALL, sett_pipeline_stage(f->queries)), *mine = sett_local_tile(tile, T(WARP_ROWS, f->x->o->d), T(sett_floordiv(f->row, WARP_ROWS), 0));
    sett_copy(f->read_q, sett_partition_S(copy, mine), sett_retile(copy, f->q));
}

/* Long rows would take the registers that the rest needs, as those that stay over an exact tanh, and those of many
 * rows, whose warps are more than 4 and have 168 each: they are read again for each tile. */
static bool keeps_query(const warp *f)
{
    const sett_attention_decode_options *o = f->x->o;
    return o->d <= (o->rows > WARP_ROWS && o->tuning.warps > 4 ? 64 : 128) && !(o->exact && o->softcap);
}

/* ---- products ------------------------------------------------------------------------------------------------- */
/* acc += A B, B (n,k) read from shared memory. */
static void multiply(sett_build *b, const warp *f, sett_tensor *acc, sett_tensor *a, sett_tensor *from, bool of_v)
{
    sett_tiled_copy *read = of_v ? f->read_v : f->read_k;
    sett_thr_copy *copy = sett_get_slice(read, f->lane);
    sett_tensor *pairs = as_pairs(f, from), *frag = sett_make_fragment_B(f->qk, sett_partition_B(sett_get_slice(f->qk, f->lane), pairs));
    sett_copy(read, sett_partition_S(copy, pairs), sett_retile(copy, frag));
    const int d = f->x->o->d, keys = keys_of(f);
    sett_gemm(f->qk, acc, a, from_pairs(b, f, frag, of_v ? d : keys, (of_v ? keys : d) / 16, of_v), acc, .overwrite = !of_v);
}

/* Of ((2,2,n),1,1) of a thread, mode (0,1) is the row: one number each, of this thread's columns. */
static sett_val *by_rows(sett_val *x, sett_binary_op op, double init)
{
    return sett_reshape(sett_reduce_by(x, op, init, T(T(1, ALL, 1), 1, 1)), T(T(1, 2), 1, 1));
}

/* P of S, and sums and O so far times what the new maximum makes of them. */
static void softmax(const warp *f, sett_val *s)
{
    const decode_parts *x = f->x;
    const sett_arg scale = x->scale;
    sett_val *was = sett_load(f->max), *now = sett_max(was, sett_warp_reduce(by_rows(s, SETT_MAX, -INFINITY), SETT_MAX, 4));
    sett_val *level = sett_where(sett_eq(now, -INFINITY), 0.0, now), *fade = sett__decode_power(x, sett_mul(sett_sub(was, level), scale));
    sett_val *below = sett_reshape(sett_neg(sett_mul(level, scale)), T(T(1, 2, 1), 1, 1));
    sett_val *p = sett__decode_power(x, sett_fma(s, scale, below));
    sett_store(f->sum, sett_fma(sett_load(f->sum), fade, by_rows(p, SETT_ADD, 0.0)));
    sett_store(f->max, now);
    sett_store(f->o, sett_mul(sett_load(f->o), fade));
    sett_store(f->p, sett_to(sett_reshape(p, sett_shape(sett_tensor_layout(f->p))), decode_multiplied(x->o)));
}

static void tile(sett_build *b, const warp *f, sett_pipeline_state *get, sett_val *number)
{
    const decode_parts *x = f->x;
    sett_val *mine = sett_add(sett_mul(number, decode_parts_of(x->o)), f->part), *stage = sett_pipeline_stage(get);
    sett_consumer_wait(get);
    if (!keeps_query(f))
        read_query(f);
    multiply(b, f, f->s, f->q, mine_of(f, &x->t.k, stage), false);
    sett_val *s = sett_reshape(sett_load(f->s), T(T(2, 2, keys_of(f) / 8), 1, 1));
    if (x->k_scale)
        s = sett_mul(s, f->k_scale);
    softmax(f, sett__attention_score(b, &f->scores, s, mine, true));
    sett_tensor *v = mine_of(f, &x->t.v, stage);
    sett__attention_clear(b, &x->scores, v, x->o->d, sett_sub(f->w->keys, sett_mul(mine, keys_of(f))), f->lane, WARP, NULL);
    multiply(b, f, f->o, f->p, v, true);
    sett_consumer_release(get);
    sett_pipeline_advance(get);
}

/* Sums, largest score and sum of weights of this warp, for the others. */
static void leave(sett_build *b, const warp *f)
{
    const int d = f->x->o->d;
    sett_tensor *mine = sett_slice(sett_domain_offset(f->x->sums, 0, f->row, f->part), ALL, ALL, 0), *across = sett_select(mine, 1, 0); /* (rows,columns) */
    sett_tensor *to = sett_partition_C(sett_get_slice(f->pv, f->lane), sums_columns(b, f, sett_local_tile(across, T(WARP_ROWS, d), T(0, 0))));
    sett_val *sum = sett_warp_reduce(sett_load(f->sum), SETT_ADD, 4), *max = sett_load(f->max);
    sett_store(to, sett_load(f->o));
    sett_if (b, sett_eq(sett_mod(f->lane, 4), 0))
        for (int i = 0; i < 2; i++) {
            sett_val *row = sett_add(sett_floordiv(f->lane, 4), 8 * i);
            sett_set(across, sett_element(max, i), row, d), sett_set(across, sett_element(sum, i), row, d + 1);
        }
}

/* Of one unit. */
static void consume(sett_build *b, warp *f)
{
    const decode_parts *x = f->x;
    const decode_work *w = f->w;
    const int tiles = x->o->tuning.split / x->o->tuning.keys;
    f->of = (attention_work){.row = sett_add(w->row, f->row), .head = sett_mul(w->head, x->group.divisor), .request = w->request, .rows = x->t.M, .keys = w->keys};
    f->k_scale = x->k_scale ? sett_at(x->k_scale, w->head) : NULL;
    sett_consumer_wait(f->queries);
    if (keeps_query(f)) {
        read_query(f);
        sett_consumer_release(f->queries);
    }
    sett__attention_scores_begin(b, &f->scores);
    sett_for (b, i, 0, decode_n_splits(x, w), 1) {
        sett_val *begin = sett_mul(sett_add(decode_first_split(x, w), i), tiles);
        sett_fill(f->o, 0.0), sett_fill(f->sum, 0.0), sett_fill(f->max, -INFINITY);
        sett_for (b, number, sett_max(begin, w->from), sett_min(sett_add(begin, tiles), w->to), 1)
            tile(b, f, f->keys, number);
        sett_producer_acquire(f->put);
        leave(b, f);
        sett_producer_commit(f->put);
        sett_pipeline_advance(f->put);
    }
    if (!keeps_query(f))
        sett_consumer_release(f->queries);
    sett_pipeline_advance(f->queries);
}

void sett__decode_consume(sett_build *b, const decode_parts *x)
{
    decode_work w;
    sett_val *number = sett_make_warp_uniform(sett_warp_idx(b));
    warp f = {.x = x, .w = &w, .lane = sett_lane_idx(b), .part = sett_mod(number, decode_parts_of(x->o)), .row = sett_mul(sett_floordiv(number, decode_parts_of(x->o)), WARP_ROWS)};
    sett_tensor *more = sett_var(b, SETT_I32, 1);
    sett_pipeline_state *work = sett_pipeline_consumer_state(x->work);
    f.keys = sett_pipeline_consumer_state(x->keys), f.queries = sett_pipeline_consumer_state(x->queries), f.put = sett_pipeline_producer_state(x->left_sums);
    make(b, &f);
    make_scores(b, &f);
    sett_while (b, sett_ne(sett_at(more, 0), 0)) {
        sett_val *is_work = sett__decode_take(x, work, &w);
        sett_set(more, sett_to(is_work, SETT_I32), 0);
        sett_if (b, is_work)
            consume(b, &f);
    }
}
