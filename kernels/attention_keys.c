/* SPDX-License-Identifier: Apache-2.0 */
/* The warp that loads: which tile of queries comes next, and where its keys are. */
#include "attention.h"

enum { L2_BYTES = 32 << 20 /* of K and V that blocks at work may share */, PART = 8 /* elements of a copy */, ROWS = 16 /* that a warp copies at once; a page has whole ones */ };

/* ---- sources of keys ---------------------------------------------------------------------------------------- */
/* A tile of so many keys, at number i, of (keys,columns), or (columns,keys); columns: of as many as there are, number 0 in shared memory. */
static sett_tensor *keys_at(const attention_operand *x, sett_tensor *t, int keys, sett_arg i, int columns)
{
    return x->across ? sett_local_tile(t, T(x->columns, keys), T(columns, i)) : sett_local_tile(t, T(keys, x->columns), T(i, columns));
}

static sett_tensor *stage_of(const attention_operand *x, sett_pipeline_state *s)
{
    return sett_slice(x->ring, ALL, ALL, sett_pipeline_stage(s));
}

static void no_params(sett_build *b, attention_parts *t)
{
    (void)b, (void)t;
}

static sett_val *same_keys(const attention_parts *t, sett_val *request)
{
    (void)request;
    return t->N;
}

static sett_tensor *of_batch(const attention_operand *x, const attention_work *w, sett_val *page)
{
    (void)page;
    return sett_slice(x->all, ALL, ALL, w->shared, w->request);
}

const attention_source sett__attention_in_order = {no_params, same_keys, NULL, NULL, of_batch};

static void offset_params(sett_build *b, attention_parts *t)
{
    t->key_offsets = sett_param(b, "KOFFSETS", SETT_I32, sett_make_layout(b, T1(sett_add(t->B, 1))));
}

static sett_val *keys_between(const attention_parts *t, sett_val *request)
{
    return sett_sub(sett_at(t->key_offsets, sett_add(request, 1)), sett_at(t->key_offsets, request));
}

static sett_val *first_of(const attention_parts *t, sett_val *request)
{
    return sett_at(t->key_offsets, request);
}

static sett_tensor *of_request(const attention_operand *x, const attention_work *w, sett_val *page)
{
    (void)page;
    sett_tensor *keys = sett_slice(x->all, ALL, ALL, w->shared);
    return x->across ? sett_domain_offset(keys, 0, w->first_key) : sett_domain_offset(keys, w->first_key, 0);
}

const attention_source sett__attention_ragged = {offset_params, keys_between, first_of, NULL, of_request};

static void length_params(sett_build *b, attention_parts *t)
{
    t->lengths = sett_param(b, "KEYS", SETT_I32, sett_make_layout(b, T1(t->B)));
}

static void page_params(sett_build *b, attention_parts *t)
{
    t->pages = sett_sym(b, "pages");
    t->table = sett_param(b, "TABLE", SETT_I32, sett_make_layout(b, T(t->B, t->pages), T(sett_sym(b, "LTABLE0"), 1)));
    length_params(b, t);
}

static sett_val *keys_told(const attention_parts *t, sett_val *request)
{
    return sett_at(t->lengths, request);
}

const attention_source sett__attention_with_lengths = {length_params, keys_told, NULL, NULL, of_batch};

/* The first key of box i. */
static sett_val *key_of_box(const attention_parts *t, sett_val *tile, int i)
{
    return sett_add(sett_mul(tile, t->o->tuning.keys), i * sett__attention_box(t->o));
}

static int boxes_of(const attention_parts *t)
{
    return t->o->tuning.keys / sett__attention_box(t->o);
}

/* Boxes of a page. */
static int boxes_of_page(const attention_parts *t)
{
    return t->o->page / sett__attention_box(t->o);
}

/* Which of all boxes of the pool each is. Behind the last key the table is not read, nor are boxes loaded. */
static void look_up_pages(const attention_parts *t, attention_work *w, sett_val *tile)
{
    const int page = t->o->page;
    sett_tensor *table = sett_slice(t->table, w->request, ALL);
    for (int i = 0; i < boxes_of(t); i++) {
        sett_val *first = key_of_box(t, tile, i), *inside = sett_floordiv(sett_mod(first, page), sett__attention_box(t->o));
        sett_val *number = sett_element(sett_load(sett_local_tile(table, T1(1), T1(sett_floordiv(first, page))), .pred = sett_lt(first, w->keys)), 0);
        w->box[i] = sett_add(sett_mul(number, boxes_of_page(t)), inside);
    }
}

static sett_tensor *of_page(const attention_operand *x, const attention_work *w, sett_val *page)
{
    return sett_slice(x->all, ALL, ALL, w->shared, page);
}

const attention_source sett__attention_paged = {page_params, keys_told, NULL, look_up_pages, of_page};

/* The largest that fills pages and tiles alike. */
int sett__attention_box(const sett_attention_options *o)
{
    int a = o->tuning.keys, c = o->page ? o->page : a;
    while (c) {
        const int rest = a % c;
        a = c, c = rest;
    }
    return a;
}

/* Bytes that come to a stage of a tile. */
static sett_val *bytes_of(sett_build *b, const attention_parts *t, const attention_operand *x, const attention_work *w, sett_val *tile)
{
    const int keys = t->o->tuning.keys, box = sett__attention_box(t->o), bytes = sett_tma_bytes(x->map);
    if (!t->o->page)
        return sett_const(b, SETT_I32, bytes);
    return sett_mul(sett_floordiv(sett_add(sett_min(sett_sub(w->keys, sett_mul(tile, keys)), keys), box - 1), box), bytes);
}

/* ROWS rows of (rows,columns) to shared memory, by a warp; of those from `inside` on zeros. More would take registers for their places. */
static void copy_rows(sett_build *b, const attention_parts *t, sett_tensor *from, sett_tensor *to, int columns, sett_val *inside)
{
    sett_tiled_copy *copy = sett_make_tiled_copy_tv(sett_copy_async(b, t->o->dtype, 128), sett_make_layout(b, T(8, 4), T(4, 1)), sett_make_layout(b, T(1, PART)));
    sett_thr_copy *mine = sett_get_slice(copy, t->lane);
    sett_val *in = sett_elem_less(sett_partition_S(mine, sett_identity_tensor(b, ROWS, columns)), sett_tuple(b, inside, ALL));
    sett_copy(copy, sett_partition_S(mine, from), sett_partition_D(mine, to), .pred = in, .zfill = true);
}

/* A piece of n keys, number `at` of its page, or of all, to number i of a tile; inside: keys of the request from its first one on. */
static void load_piece(sett_build *b, const attention_parts *t, const attention_operand *x, const attention_work *w, sett_val *page, sett_val *at, sett_arg i, int n, sett_val *inside, sett_pipeline_state *to)
{
    sett_tensor *from = keys_at(x, t->source->of(x, w, page), n, SETT_A(at), x->first), *piece = keys_at(x, stage_of(x, to), n, i, 0);
    if (by_tma(t->o))
        sett_tma_load(x->map, from, piece, sett_pipeline_barrier(to));
    else
        copy_rows(b, t, x->across ? sett_select(from, 1, 0) : from, x->across ? sett_select(piece, 1, 0) : piece, x->columns, inside);
}

/* Each box lies in one page, if there are such. */
static void load_tile(sett_build *b, const attention_parts *t, const attention_operand *x, const attention_work *w, sett_val *tile, sett_pipeline_state *to)
{
    const int box = sett__attention_box(t->o), pieces = box / ROWS;
    for (int i = 0; i < boxes_of(t); i++) {
        sett_val *first = key_of_box(t, tile, i), *inside = sett_sub(w->keys, first), *page = NULL, *at;
        if (t->o->page) {
            page = sett_floordiv(w->box[i], boxes_of_page(t)), at = sett_mod(w->box[i], boxes_of_page(t));
            sett_assert(b, sett_or(sett_ge(first, w->keys), sett_and(sett_ge(page, 0), sett_lt(page, t->pool))), "TABLE[{},{}] is {}, and there are {} pages", w->request, sett_floordiv(first, t->o->page), page, t->pool);
        } else
            at = sett_floordiv(first, box);
        if (!by_tma(t->o))
            sett_for (b, j, 0, pieces, 1)
                load_piece(b, t, x, w, page, sett_add(sett_mul(at, pieces), j), SETT_A(sett_add(j, i * pieces)), ROWS, sett_sub(inside, sett_mul(j, ROWS)), to);
        else if (page)
            sett_if (b, sett_gt(inside, 0))
                load_piece(b, t, x, w, page, at, SETT_A(i), box, inside, to);
        else
            load_piece(b, t, x, w, NULL, at, SETT_A(i), box, inside, to);
    }
}

void sett__attention_load(sett_build *b, const attention_parts *t, const attention_operand *const *x, int n, const attention_work *w, sett_val *tile, sett_pipeline_state *put)
{
    if (by_tma(t->o)) {
        sett_val *bytes = bytes_of(b, t, x[0], w, tile);
        for (int i = 1; i < n; i++)
            bytes = sett_add(bytes, bytes_of(b, t, x[i], w, tile));
        sett_producer_acquire_tx(put, bytes);
    } else
        sett_producer_acquire(put);
    for (int i = 0; i < n; i++)
        load_tile(b, t, x[i], w, tile, put);
    sett_producer_commit(put);
    sett_pipeline_advance(put);
}

void sett__attention_clear(sett_build *b, const attention_parts *t, sett_tensor *v, int columns, sett_val *left, sett_val *thread, int threads, sett_val *barrier)
{
    const int keys = t->o->tuning.keys, part = sett__vec(t->o->dtype), parts = columns / part;
    if ((!t->key_offsets && !t->lengths) || !by_tma(t->o))
        return; /* copies write zeros there */
    left = sett_max(left, 0);
    sett_if (b, sett_lt(left, keys)) {
        sett_for (b, i, thread, sett_mul(sett_sub(keys, left), parts), threads)
            sett_fill(sett_local_tile(v, T(part, 1), T(sett_mod(i, parts), sett_add(left, sett_floordiv(i, parts)))), 0);
        if (barrier) {
            sett_fence_view_async_shared(b);
            sett_barrier(b, barrier, threads);
        } else
            sett_sync_warp(b);
    }
}

/* ---- which tile comes next ------------------------------------------------------------------------------------ */
/* A block's walk over all tiles: those of a request behind those of the one before it. Where requests differ in length and blocks ask for tiles,
 * there are two lists, of requests of many rows and of those of one tile: products bound the first, which share keys, and memory the second.
 * Half of the blocks begin with each, so that both are at work at once; a block goes to the other list behind its own. */
typedef struct walk {
    sett_tensor *index, *round, *request, *before; /* before: tiles of earlier requests */
    sett_tensor *list, *lists_left;                /* list: 0, or of one tile 1; two lists alone */
    sett_val *own[2];                              /* how many blocks begin with a list: they have its first tiles */
} walk;

static bool has_lists(const attention_parts *t)
{
    return t->next && t->offsets;
}

static walk begin_walk(sett_build *b, const attention_parts *t)
{
    sett_val *i = sett_block_idx(b, 0), *n = sett_grid_dim(b, 0);
    walk x = {.own = {n, n}};
    if (has_lists(t)) {
        x.list = sett_var(b, SETT_I32, sett_mod(i, 2)), x.lists_left = sett_var(b, SETT_I32, 2);
        x.own[0] = sett_floordiv(sett_add(n, 1), 2), x.own[1] = sett_floordiv(n, 2);
        i = sett_floordiv(i, 2);
    }
    x.index = sett_var(b, SETT_I32, i), x.round = sett_var(b, SETT_I32, 0), x.request = sett_var(b, SETT_I32, 0), x.before = sett_var(b, SETT_I32, 0);
    return x;
}

static sett_val *list_of(sett_build *b, const walk *x)
{
    return x->list ? sett_at(x->list, 0) : sett_const(b, SETT_I32, 0);
}

void sett__attention_ticket(sett_build *b, const attention_parts *t, sett_tensor *counters, sett_val *which, sett_tensor *to)
{
    sett_if (b, attention_once(b, t))
        sett_set(to, sett_to(sett_atomic_add(counters, 1, which), SETT_I32), 0);
    if (t->lane)
        sett_set(to, sett_make_warp_uniform(sett_at(to, 0)), 0);
}

/* Block i of n takes tiles i, 2n - 1 - i, 2n + i ..., so that what a round gives it too much of the next one takes back. With .dynamic it
 * takes the next that nobody has, which is asked for a tile ahead. */
static void step(sett_build *b, const attention_parts *t, const walk *x)
{
    sett_val *n = sett_grid_dim(b, 0), *i = sett_block_idx(b, 0), *list = list_of(b, x);
    if (t->next) {
        sett__attention_ticket(b, t, t->next, list, x->index);
        sett_set(x->index, sett_add(sett_at(x->index, 0), sett_where(sett_eq(list, 0), x->own[0], x->own[1])), 0);
        return;
    }
    sett_val *round = sett_add(sett_at(x->round, 0), 1);
    sett_set(x->round, round, 0);
    sett_set(x->index, sett_add(sett_mul(round, n), sett_where(sett_eq(sett_mod(round, 2), 0), i, sett_sub(sett_sub(n, 1), i))), 0);
}

/* A list has no tile `index`, of `before`. Each of n blocks comes here once for each list, so the one that asked for the greatest index is the last
 * to ask, and leaves the counter as the next launch needs it. False: there is no other list. */
static void end_list(sett_build *b, const attention_parts *t, const walk *x, sett_tensor *more)
{
    if (t->next)
        sett_if (b, attention_once(b, t)) {
            sett_val *greatest = sett_sub(sett_add(sett_at(x->before, 0), sett_grid_dim(b, 0)), 1);
            sett_assert(b, sett_le(sett_at(x->index, 0), greatest), "NEXT gave {}, and {} is the most: NEXT was not 0 before the launch", sett_at(x->index, 0), greatest);
            sett_if (b, sett_eq(sett_at(x->index, 0), greatest))
                sett_set(t->next, 0, list_of(b, x));
        }
    if (!has_lists(t)) {
        sett_set(more, 0, 0);
        return;
    }
    sett_val *left = sett_sub(sett_at(x->lists_left, 0), 1);
    sett_set(x->lists_left, left, 0), sett_set(more, left, 0);
    sett_if (b, sett_ne(left, 0)) {
        sett_set(x->list, sett_sub(1, sett_at(x->list, 0)), 0), sett_set(x->request, 0, 0), sett_set(x->before, 0, 0);
        step(b, t, x);
    }
}

static sett_val *rows_of(const attention_parts *t, sett_val *request)
{
    return t->offsets ? sett_sub(sett_at(t->offsets, sett_add(request, 1)), sett_at(t->offsets, request)) : t->M;
}

/* Tiles of a head, or of those that are packed. */
static sett_val *high_of(const attention_parts *t, sett_val *rows)
{
    return sett_floordiv(sett_add(sett_mul(rows, heads_of(t->o)), t->o->tuning.rows - 1), t->o->tuning.rows);
}

/* Heads, or those that are packed, or pairs of them: each is a column of the request's tiles. */
static sett_val *columns_of(const attention_parts *t, sett_val *rows)
{
    sett_val *pair = sett__attention_pair(t, rows);
    return pair ? sett_where(pair, sett_floordiv(t->HK, 2), t->columns) : t->columns;
}

/* What only the memory of the CPU engine tells without cost: assertions are compiled in there. */
static void check_request(sett_build *b, const attention_parts *t, sett_val *request)
{
    sett_val *keys = t->source->keys(t, request);
    if (t->offsets)
        sett_assert(b, sett_and(sett_and(sett_ge(sett_at(t->offsets, request), 0), sett_ge(rows_of(t, request), 0)), sett_le(sett_at(t->offsets, sett_add(request, 1)), t->M)), "QOFFSETS[{}] and the next are {}, {}: they do not fall, from 0 on, and end within {} rows", request,
            sett_at(t->offsets, request), sett_at(t->offsets, sett_add(request, 1)), t->M);
    if (t->key_offsets)
        sett_assert(b, sett_and(sett_and(sett_ge(sett_at(t->key_offsets, request), 0), sett_ge(keys, 0)), sett_le(sett_at(t->key_offsets, sett_add(request, 1)), t->N)), "KOFFSETS[{}] and the next are {}, {}: they do not fall, from 0 on, and end within {} keys", request,
            sett_at(t->key_offsets, request), sett_at(t->key_offsets, sett_add(request, 1)), t->N);
    if (t->lengths)
        sett_assert(b, sett_and(sett_ge(keys, 0), sett_le(keys, sett_mul(t->pages, t->o->page))), "KEYS[{}] is {}, and a row of TABLE has {} pages", request, keys, t->pages);
}

/* Requests whose tiles end before the index are passed; then the walk's request may be B, which is none. */
static void pass(sett_build *b, const attention_parts *t, const walk *x, sett_val *index)
{
    if (!t->offsets) {
        sett_val *tiles = sett_mul(high_of(t, t->M), columns_of(t, t->M)), *request = sett_min(sett_floordiv(index, tiles), t->B);
        sett_set(x->request, request, 0), sett_set(x->before, sett_mul(request, tiles), 0);
        return;
    }
    sett_tensor *more = sett_var(b, SETT_I32, 1);
    sett_while (b, sett_ne(sett_at(more, 0), 0)) {
        sett_val *request = sett_at(x->request, 0);
        sett_set(more, 0, 0);
        sett_if (b, sett_lt(request, t->B)) {
            check_request(b, t, request);
            sett_val *rows = rows_of(t, request), *high = high_of(t, rows);
            if (x->list)
                high = sett_where(sett_eq(sett_to(sett_eq(high, 1), SETT_I32), sett_at(x->list, 0)), high, 0);
            sett_val *end = sett_add(sett_at(x->before, 0), sett_mul(high, columns_of(t, rows)));
            sett_if (b, sett_ge(index, end)) {
                sett_set(x->before, end, 0), sett_set(x->request, sett_add(request, 1), 0);
                sett_set(more, 1, 0);
            }
        }
    }
}

/* Tile `index` of the walk's request. Heads go by sections whose K and V L2 has room for; in a section the last queries, which may see the
 * most keys, come first, each of all heads. */
static attention_work work_at(sett_build *b, const attention_parts *t, const walk *x, sett_val *index)
{
    attention_work w = {.request = sett_at(x->request, 0)};
    if (!t->offsets)
        check_request(b, t, w.request);
    w.rows = rows_of(t, w.request), w.keys = t->source->keys(t, w.request);
    w.first_row = t->offsets ? sett_at(t->offsets, w.request) : sett_const(b, SETT_I32, 0);
    const int bytes = (t->k.columns + t->v.columns) * sett__bytes_of(t->o->dtype);
    sett_val *high = high_of(t, w.rows), *group = t->o->group ? sett_const(b, SETT_I32, 1) : sett_value(b, t->group);
    sett_val *together = sett__attention_masks_last(t) ? sett_clamp(sett_floordiv(L2_BYTES / bytes, sett_max(w.keys, 1)), 1, t->HK) : sett_const(b, SETT_I32, 1);
    sett_val *columns = columns_of(t, w.rows), *pair = sett__attention_pair(t, w.rows), *heads = sett_mul(together, group), *within = sett_sub(index, sett_at(x->before, 0));
    sett_val *section = sett_floordiv(within, sett_mul(heads, high)), *rest = sett_sub(within, sett_mul(section, sett_mul(heads, high)));
    sett_val *first = sett_mul(section, heads), *here = sett_min(heads, sett_sub(columns, first)), *up = sett_floordiv(rest, here);
    w.head = sett_mul(sett_add(first, sett_sub(rest, sett_mul(up, here))), heads_of(t->o));
    w.head = pair ? sett_where(pair, sett_mul(w.head, 2), w.head) : w.head;
    w.row = sett_mul(sett_sub(sett_sub(high, 1), up), t->o->tuning.rows);
    sett__attention_bounds(b, t, &w);
    return w;
}

void sett__attention_tell(sett_build *b, const attention_parts *t, sett_pipeline_state *put, sett_val *const *work, int n)
{
    sett_producer_acquire(put);
    sett_tensor *slot = sett_slice(t->slots, ALL, sett_pipeline_stage(put));
    sett_if (b, attention_once(b, t)) {
        for (int i = 0; work && i < n; i++)
            sett_set(slot, work[i], i);
        sett_set(slot, work != NULL, n);
        sett_producer_commit(put);
    }
    sett_pipeline_advance(put);
}

void sett__attention_told(const attention_parts *t, const sett_pipeline_state *get, sett_val **work, int n)
{
    sett_tensor *slot = sett_slice(t->slots, ALL, sett_pipeline_stage(get));
    for (int i = 0; i < n; i++)
        work[i] = sett_make_warp_uniform(sett_at(slot, i));
}

static void release(sett_pipeline_state *get)
{
    sett_consumer_release(get), sett_pipeline_advance(get);
}

void sett__attention_each(sett_build *b, const attention_parts *t, const attention_units *units, sett_val **work, int n, bool early, void (*one)(sett_build *, void *user), void *user)
{
    sett_while (b, sett_ne(sett_at(units->more, 0), 0)) {
        sett_consumer_wait(units->get);
        sett__attention_told(t, units->get, work, n);
        sett_val *is_work = sett_ne(sett_make_warp_uniform(sett_at(sett_slice(t->slots, ALL, sett_pipeline_stage(units->get)), n)), 0);
        if (early)
            release(units->get);
        sett_set(units->more, sett_to(is_work, SETT_I32), 0);
        sett_if (b, is_work)
            one(b, user);
        if (!early)
            release(units->get);
    }
}

static void load_query(sett_build *b, const attention_parts *t, const attention_work *w, sett_pipeline_state *put)
{
    const sett_attention_options *o = t->o;
    const int box = query_box(o);
    sett_tensor *rows = t->tq ? NULL : sett__attention_rows(t, w, t->in, w->row);
    sett_producer_acquire(put);
    if (t->tq)
        for (int i = 0; i < o->tuning.rows / box; i++) {
            attention_work own = *w;
            sett__attention_own_work(t, &own, sett_const(b, SETT_I32, i));
            rows = sett__attention_rows(t, &own, sett_tma_tensor(t->tq), sett_add(own.row, i * box));
            sett_tma_load(t->tq, sett_local_tile(rows, T(box, o->d), T(0, 0)), sett_local_tile(t->q, T(box, o->d), T(i, 0)), sett_pipeline_barrier(put));
        }
    else
        sett_for (b, i, 0, o->tuning.rows / ROWS, 1)
            copy_rows(b, t, sett_local_tile(rows, T(ROWS, o->d), T(i, 0)), sett_local_tile(t->q, T(ROWS, o->d), T(i, 0)), o->d, sett_sub(sett__attention_left(t, w, w->row), sett_mul(i, ROWS)));
    sett_producer_commit(put);
    sett_pipeline_advance(put);
}

/* A tile of keys to a stage, of a pair each head's to one. */
static void load_keys(sett_build *b, const attention_parts *t, const attention_operand *x, const attention_work *w, sett_val *tile, sett_pipeline_state *put)
{
    sett_val *pair = sett__attention_pair(t, w->rows);
    attention_work second = *w;
    sett__attention_load(b, t, &x, 1, w, tile, put);
    if (!pair)
        return;
    second.shared = sett_add(w->shared, 1);
    sett_if (b, pair)
        sett__attention_load(b, t, &x, 1, &second, tile, put);
}

/* The first K comes before Q, whose place may be taken for longer. The tile with the last keys comes first. */
void sett__attention_produce(sett_build *b, const attention_parts *t)
{
    sett_pipeline_state *query = sett_pipeline_producer_state(t->query), *keys = sett_pipeline_producer_state(t->k.pipe), *values = loads_apart(t->o) ? NULL : sett_pipeline_producer_state(t->v.pipe), *work = sett_pipeline_producer_state(t->work);
    const walk x = begin_walk(b, t);
    sett_tensor *more = sett_var(b, SETT_I32, 1);
    sett_while (b, sett_ne(sett_at(more, 0), 0)) {
        sett_val *index = sett_at(x.index, 0);
        pass(b, t, &x, index);
        sett_if (b, sett_lt(sett_at(x.request, 0), t->B)) {
            attention_work w = work_at(b, t, &x, index);
            step(b, t, &x);
            w.shared = sett__attention_shared(b, t, w.head);
            w.first_key = t->source->first_key ? t->source->first_key(t, w.request) : NULL;
            sett__attention_tell(b, t, work, (sett_val *const *)&w, ATTENTION_WORK_INTS);
            sett_for (b, i, 0, sett_sub(w.to, w.from), 1) {
                sett_val *tile = sett_sub(sett_sub(w.to, 1), i);
                if (t->source->look)
                    t->source->look(t, &w, tile);
                load_keys(b, t, &t->k, &w, tile, keys);
                sett_if (b, sett_eq(i, 0))
                    load_query(b, t, &w, query);
                if (values)
                    load_keys(b, t, &t->v, &w, tile, values);
            }
            sett_if (b, sett_le(w.to, w.from)) /* as O may come to where Q is */
                load_query(b, t, &w, query);
        }
        sett_else (b)
            end_list(b, t, &x, more);
    }
    sett__attention_tell(b, t, work, NULL, ATTENTION_WORK_INTS);
}

typedef struct value_loader {
    const attention_parts *t;
    attention_work w;
    sett_pipeline_state *put;
} value_loader;

static void load_values(sett_build *b, void *user)
{
    value_loader *f = user;
    const attention_parts *t = f->t;
    sett_if (b, sett_elect_one(b)) {
        f->w.shared = sett__attention_shared(b, t, f->w.head);
        sett_for (b, i, 0, sett_sub(f->w.to, f->w.from), 1) {
            sett_val *tile = sett_sub(sett_sub(f->w.to, 1), i);
            t->source->look(t, &f->w, tile);
            load_keys(b, t, &t->v, &f->w, tile, f->put);
        }
    }
}

void sett__attention_produce_values(sett_build *b, const attention_parts *t)
{
    const attention_units units = {sett_var(b, SETT_I32, 1), sett_pipeline_consumer_state(t->work)};
    value_loader f = {.t = t, .put = sett_pipeline_producer_state(t->v.pipe)};
    sett__attention_each(b, t, &units, (sett_val **)&f.w, ATTENTION_WORK_INTS, false, load_values, &f);
}
