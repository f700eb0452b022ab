/* SPDX-License-Identifier: Apache-2.0 */
/* V of fp8: its keys lie one below the other, and products take them beside each other. Three warps turn each tile, four keys and four columns at a
 * time. The order of the keys in a row is that in which a thread has weights of a row as the product that made them left it: of 16 keys those
 * of a thread t of four are 2t, 2t + 1, 2t + 8 and 2t + 9, and here they are numbers 4t to 4t + 3. */
#include "attention.h"

enum { WORD = 4 /* elements of 32 bits */, GROUP_KEYS = 16, WIDE = 8 /* words that lanes take beside each other */ };

/* Rows of so many elements lie in shared memory as sett_smem_layout has them: in panels of 128 bytes, or of 64 or 32, whose pieces of 16 bytes are
 * exchanged by the row. Addresses here are in words, and exchanged ones are made of a lane's and a number by xor and add, as the
 * bits of the two are apart. */
static int panel_words(int row)
{
    return row % 64 ? 8 : row % 128 ? 16 : 32;
}

static sett_val *exchanged(sett_val *word, int panel)
{
    return sett_xor(word, sett_shl(sett_and(sett_shr(word, 5), panel / WORD - 1), 2));
}

/* What a lane has of all of its four keys and four columns. */
typedef struct turn {
    const attention_parts *t;
    sett_tensor *from, *to;  /* words of all stages */
    sett_val *four;          /* which of the four that share a row of weights */
    sett_val *load[2];       /* where its first two keys are */
    sett_val *store[WORD];   /* where its rows are. Lanes that store at once go to different banks: each begins with another of its four */
    sett_val *by_one, *by_two; /* how far on it begins */
} turn;

static sett_tensor *words_of(sett_build *b, sett_tensor *ring, int words)
{
    return sett_smem_alias(ring, SETT_U32, sett_make_layout(b, words));
}

static turn begin(sett_build *b, const attention_parts *t)
{
    const int keys = t->o->tuning.keys, columns = t->v.columns, in = panel_words(columns), out = panel_words(keys), all = t->o->tuning.stages * keys * columns / WORD;
    sett_val *lane = sett_lane_idx(b), *x = sett_floordiv(lane, 4), *first = sett_floordiv(x, 2);
    turn y = {.t = t, .from = words_of(b, t->v.ring, all), .to = words_of(b, t->vt.ring, all), .four = sett_mod(lane, 4)};
    for (int i = 0; i < 2; i++)
        y.load[i] = exchanged(sett_add(sett_mul(sett_add(sett_mul(y.four, 2), i), in), x), in);
    for (int i = 0; i < WORD; i++)
        y.store[i] = exchanged(sett_add(sett_mul(sett_add(sett_mul(x, WORD), sett_mod(sett_add(first, i), WORD)), out), y.four), out);
    y.by_one = sett_ne(sett_mod(first, 2), 0), y.by_two = sett_ge(first, 2);
    return y;
}

/* The bits of x where the mask has ones, and of y elsewhere. */
static sett_val *merged(sett_val *x, sett_val *y, uint32_t mask)
{
    return sett_or(sett_and(x, mask), sett_and(y, ~mask));
}

/* Bytes of four words to four words of their bytes, from the lane's own on: by halves of words, then by bytes of halves. */
static void turn_words(const turn *y, sett_val *word[WORD])
{
    enum { HALVES = 0x0000ffff, BYTES = 0x00ff00ff };
    sett_val *half[WORD], *of[WORD], *on[WORD];
    for (int i = 0; i < 2; i++) {
        half[i] = merged(word[i], sett_shl(word[i + 2], 16), HALVES);
        half[i + 2] = merged(sett_shr(word[i], 16), word[i + 2], HALVES);
    }
    for (int i = 0; i < WORD; i += 2) {
        of[i] = merged(half[i], sett_shl(half[i + 1], 8), BYTES);
        of[i + 1] = merged(sett_shr(half[i], 8), half[i + 1], BYTES);
    }
    for (int i = 0; i < WORD; i++)
        on[i] = sett_where(y->by_one, of[(i + 1) % WORD], of[i]);
    for (int i = 0; i < WORD; i++)
        word[i] = sett_where(y->by_two, on[(i + 2) % WORD], on[i]);
}

/* The words of a lane at columns from word x on, of 16 keys. left: of them so many are the request's; what is behind may be NaN. */
static void load_words(const turn *y, int x, sett_val *at, sett_val *left, sett_val *word[WORD])
{
    const attention_parts *t = y->t;
    const int in = panel_words(t->v.columns);
    for (int i = 0; i < WORD; i++) {
        const int key = i % 2 + i / 2 * 8;
        word[i] = sett_at(y->from, sett_add(sett_add(at, sett_xor(y->load[i % 2], x % in)), i / 2 * 8 * in + x / in * t->o->tuning.keys * in));
        if (t->o->ragged || t->o->page)
            word[i] = sett_where(sett_lt(sett_add(sett_mul(y->four, 2), key), left), word[i], 0);
    }
}

/* 16 keys, from number 16 group on, of all columns: some are loaded before others are stored, as loads would wait for those. */
static void turn_keys(const turn *y, sett_val *group, sett_val *from, sett_val *to, sett_val *left)
{
    enum { AT_ONCE = 2 };
    const int columns = y->t->v.columns, in = panel_words(columns), out = panel_words(y->t->o->tuning.keys), n = columns / WORD / WIDE, at_once = n > 4 || y->t->o->ragged || y->t->o->page ? 1 : AT_ONCE /* registers */;
    sett_val *load = sett_add(from, sett_mul(group, GROUP_KEYS * in)), *word[AT_ONCE][WORD];
    sett_val *inside = sett_mod(sett_mul(group, WORD), out), *store = sett_add(to, sett_mul(sett_floordiv(sett_mul(group, WORD), out), columns * out));
    left = sett_sub(left, sett_mul(group, GROUP_KEYS));
    for (int first = 0; first < n; first += at_once) {
        for (int k = 0; k < at_once; k++)
            load_words(y, (first + k) * WIDE, load, left, word[k]);
        for (int k = 0; k < at_once; k++) {
            turn_words(y, word[k]);
            for (int i = 0; i < WORD; i++)
                sett_set(y->to, word[k][i], sett_add(sett_add(store, sett_xor(y->store[i], inside)), (first + k) * WIDE * WORD * out));
        }
    }
}

void sett__attention_turn(sett_build *b, const attention_parts *t, sett_val *number)
{
    sett_pipeline_state *work = sett_pipeline_consumer_state(t->work), *get = sett_pipeline_consumer_state(t->v.pipe), *put = sett_pipeline_producer_state(t->vt.pipe);
    const int keys = t->o->tuning.keys, words = keys * t->v.columns / WORD;
    const turn y = begin(b, t);
    sett_tensor *more = sett_var(b, SETT_I32, 1);
    attention_work w;
    sett_while (b, sett_ne(sett_at(more, 0), 0)) {
        sett_consumer_wait(work);
        sett_val *is_work = sett__attention_told(b, t, work, &w);
        sett_set(more, sett_to(is_work, SETT_I32), 0);
        sett_if (b, is_work)
            sett_for (b, i, 0, sett_sub(w.to, w.from), 1) {
                sett_val *left = sett_sub(w.keys, sett_mul(sett_sub(sett_sub(w.to, 1), i), keys));
                sett_consumer_wait(get);
                sett_producer_acquire(put);
                sett_val *from = sett_mul(sett_pipeline_stage(get), words), *to = sett_mul(sett_pipeline_stage(put), words);
                sett_for (b, group, number, keys / GROUP_KEYS, TURNING_WARPS)
                    turn_keys(&y, group, from, to, left);
                sett_consumer_release(get);
                sett_pipeline_advance(get);
                sett_fence_view_async_shared(b);
                sett_producer_commit(put);
                sett_pipeline_advance(put);
            }
        sett_consumer_release(work);
        sett_pipeline_advance(work);
    }
}
