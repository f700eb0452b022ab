/* SPDX-License-Identifier: Apache-2.0 */
/* V of fp8: its keys lie one below the other, and products take them beside each other. Three warps turn each tile, 32 keys and 16 columns at a
 * time: ldmatrix gives a lane two columns of two keys, and bytes of two such words are two columns of four keys. The order of the keys in a row
 * is that in which a thread has weights of a row as the product that made them left it: of 16 keys those of a thread t of four are 2t, 2t + 8,
 * 2t + 1 and 2t + 9, and here they are numbers 4t to 4t + 3. */
#include "attention.h"

enum { PIECE = 16 /* bytes that lie together in any case */, MATRICES = 4 /* of an instruction: two of columns by two of keys */, KEYS = 32, TOGETHER = 4 /* instructions */ };

/* Rows of so many bytes lie in shared memory as sett_smem_layout has them: in panels of 128 bytes, or of 64 or 32, whose pieces of 16 are
 * exchanged by the row. Addresses here are in pieces; exchanged ones are made of a lane's and a number by xor and add, as the bits of the two are
 * apart. */
static int panel_pieces(int row)
{
    return (row % 64 ? 32 : row % 128 ? 64 : 128) / PIECE;
}

static sett_val *exchanged(sett_val *piece, int panel)
{
    return sett_xor(piece, sett_and(sett_shr(piece, 3), panel - 1));
}

/* A number that is not negative, by a power of two. */
typedef struct two {
    sett_val *whole, *rest;
} two;

static two parts_of(sett_val *i, int by)
{
    int bits = 0;
    while (by >> bits > 1)
        bits++;
    return (two){sett_shr(i, bits), sett_and(i, by - 1)};
}

/* What a lane has of all tiles. */
typedef struct turn {
    sett_build *b;
    const attention_parts *t;
    sett_tensor *from, *to;      /* (bytes of a piece, pieces) of all stages */
    sett_copy_atom *get, *put;
    sett_val *load, *store;      /* which row of 16 bytes it names, of the first 32 keys and 16 columns */
    sett_val *four;              /* which of the four that share a row of weights */
    sett_val *upper;             /* of four lanes each: rows that are stored at once are of different banks if the upper four are odd columns where the lower are even */
    sett_val *number;            /* of the warp */
    attention_work w;
    sett_pipeline_state *v, *vt;
} turn;

static sett_tensor *pieces_of(sett_build *b, sett_tensor *ring, int bytes)
{
    return sett_smem_alias(ring, SETT_U16, sett_make_layout(b, T(PIECE / 2, bytes / PIECE), T(1, PIECE / 2)));
}

static turn begin(sett_build *b, const attention_parts *t)
{
    const int keys = t->o->tuning.keys, columns = t->v.columns, in = panel_pieces(columns), out = panel_pieces(keys), all = t->o->tuning.stages * keys * columns;
    sett_val *lane = sett_lane_idx(b), *row = sett_mod(lane, 8), *second = sett_mod(sett_floordiv(lane, 8), 2), *last = sett_floordiv(lane, 16);
    sett_val *key = sett_add(row, sett_add(sett_mul(second, 8), sett_mul(last, KEYS / 2)));
    sett_val *column = sett_add(sett_mul(row, 2), sett_xor(sett_floordiv(row, 4), second));
    turn y = {.b = b, .t = t, .from = pieces_of(b, t->v.ring, all), .to = pieces_of(b, t->vt.ring, all), .four = sett_mod(lane, 4)};
    y.get = sett_ldmatrix(b, SETT_U16, MATRICES, true), y.put = sett_stmatrix(b, SETT_U16, MATRICES, false);
    y.load = exchanged(sett_mul(key, in), in);
    y.store = sett_xor(exchanged(sett_mul(column, out), out), last);
    y.upper = sett_ge(lane, 16);
    return y;
}

/* Of the four keys of each half of 32 that a lane has: ones in the bytes of those that are the request's. What is behind may be NaN. */
static void seen_bytes(const turn *y, sett_val *left, sett_val *mask[2])
{
    for (int half = 0; half < 2; half++) {
        mask[half] = sett_const(y->b, SETT_U32, 0);
        for (int i = 0; i < 4; i++) {
            const int key = half * KEYS / 2 + i / 2 + i % 2 * 8;
            mask[half] = sett_or(mask[half], sett_where(sett_lt(sett_add(sett_mul(y->four, 2), key), left), sett_const(y->b, SETT_U32, 0xffu << 8 * i), sett_const(y->b, SETT_U32, 0)));
        }
    }
}

/* The lower byte of each half of x, and the upper ones of y. */
static sett_val *merged(sett_val *x, sett_val *y)
{
    const uint32_t lower = 0x00ff00ff;
    return sett_or(sett_and(x, lower), sett_and(y, ~lower));
}

/* Of each half of 32 keys, two words of two columns of two keys to two of a column of four; those of keys that the mask has. */
static void turn_words(const turn *y, sett_tensor *word, sett_val *const mask[2])
{
    for (int half = 0; half < 2; half++) {
        sett_val *x = sett_at(word, 2 * half), *z = sett_at(word, 2 * half + 1);
        sett_val *even = merged(x, sett_shl(z, 8)), *odd = merged(sett_shr(x, 8), z);
        if (mask[half])
            even = sett_and(even, mask[half]), odd = sett_and(odd, mask[half]);
        sett_set(word, sett_where(y->upper, odd, even), 2 * half);
        sett_set(word, sett_where(y->upper, even, odd), 2 * half + 1);
    }
}

/* Item i of a tile: 32 keys of 64 columns. Some are loaded before others are stored, as loads would wait for those. */
static void turn_item(const turn *y, sett_val *i, sett_val *from, sett_val *to, sett_val *left)
{
    const attention_parts *t = y->t;
    const int columns = t->v.columns, keys = t->o->tuning.keys, in = panel_pieces(columns), out = panel_pieces(keys), items = columns / PIECE / TOGETHER;
    const two group = parts_of(i, items), first = parts_of(sett_mul(group.rest, TOGETHER), in), piece = parts_of(sett_mul(group.whole, KEYS / PIECE), out);
    sett_val *load = sett_add(sett_add(from, sett_mul(group.whole, KEYS * in)), sett_mul(first.whole, keys * in)), *mine = sett_xor(y->load, first.rest);
    sett_val *store = sett_add(sett_add(to, sett_mul(piece.whole, columns * out)), sett_add(sett_xor(y->store, piece.rest), sett_mul(group.rest, TOGETHER * PIECE * out)));
    sett_val *mask[2] = {NULL};
    if (t->o->ragged || t->o->page)
        seen_bytes(y, sett_sub(left, sett_mul(group.whole, KEYS)), mask);
    const int at_once = *mask ? TOGETHER / 2 : TOGETHER; /* registers */
    for (int n = 0; n < TOGETHER; n += at_once) {
        sett_tensor *word[TOGETHER];
        for (int k = 0; k < at_once; k++) {
            word[k] = sett_make_rmem_tensor(y->b, SETT_U32, MATRICES);
            sett_copy(y->get, sett_slice(y->from, ALL, sett_add(load, sett_xor(mine, n + k))), sett_recast_tensor(word[k], SETT_U16));
        }
        for (int k = 0; k < at_once; k++) {
            turn_words(y, word[k], mask);
            sett_copy(y->put, sett_recast_tensor(word[k], SETT_U16), sett_slice(y->to, ALL, sett_add(store, (n + k) * PIECE * out)));
        }
    }
}

/* The tiles of V of a work. */
static void turn_tiles(sett_build *b, void *user)
{
    const turn *y = user;
    const int keys = y->t->o->tuning.keys, pieces = keys * y->t->v.columns / PIECE, items = pieces / KEYS / TOGETHER;
    sett_for (b, i, 0, sett_sub(y->w.to, y->w.from), 1) {
        sett_val *left = sett_sub(y->w.keys, sett_mul(sett_sub(sett_sub(y->w.to, 1), i), keys));
        sett_consumer_wait(y->v);
        sett_producer_acquire(y->vt);
        sett_val *from = sett_mul(sett_pipeline_stage(y->v), pieces), *to = sett_mul(sett_pipeline_stage(y->vt), pieces);
        sett_for (b, item, y->number, items, TURNING_WARPS)
            turn_item(y, item, from, to, left);
        sett_consumer_release(y->v); /* behind a fence of each thread, which products with what is stored need as well */
        sett_pipeline_advance(y->v);
        sett_producer_commit(y->vt);
        sett_pipeline_advance(y->vt);
    }
}

void sett__attention_turn(sett_build *b, const attention_parts *t, sett_val *number)
{
    sett_pipeline_state *work = sett_pipeline_consumer_state(t->work), *v = sett_pipeline_consumer_state(t->v.pipe), *vt = sett_pipeline_producer_state(t->vt.pipe);
    turn y = begin(b, t);
    y.number = number, y.v = v, y.vt = vt;
    sett__attention_each(b, t, &(attention_units){sett_var(b, SETT_I32, 1), work}, (sett_val **)&y.w, ATTENTION_WORK_INTS, false, turn_tiles, &y);
}
