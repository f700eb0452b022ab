/* SPDX-License-Identifier: Apache-2.0 */
/* Which kernel a product takes, and how it deals K to the multiprocessors: by a model of cycles. docs/products.md explains it, and shows what
 * it predicts beside what was measured. */
#include "gemm_wgmma.h"
#include "product.h"
#include <math.h>
#include <string.h>

/* What the model knows besides the device: fitted to the times of bench/products.py sweep, of bf16 on an H200, in cycles of a multiprocessor.
 * Tensor cores slow down by power as more of them work: by POWER where all do. */
static const double LAUNCH_US = 2.207, TENSOR = 1.4805, POWER = 0.742, SLOWER = 0.196 /* of what is not the bound */, K_TILE = 244 /* at least */, TILE = 600,
                    MEET = 3238, MEET_EACH = 0.1047 /* a sum */, OVERLAP = 0.231, STREAMED = 1.03 /* as it is less certain */, FEW_READ = 0.95 /* of the speed of memory */, DECODE = 1.5 /* of a row of packed weights and a K tile, by 3 instructions a weight */;
enum { SIDE = 8 /* tiles of the same rows of B that are streamed side by side, at most */, LEAST = 4 /* K tiles of a share */, FEW = 64, FEW_BN = 64, FEW_PACKED = 256 };

/* Tiles that together come nearest to the best of all, over 264 products of models on an H200; of .swiglu bn has both halves. */
static const struct product_tile usual[] = {{32, 64, 64, false}, {64, 64, 64, false}, {64, 128, 128, false}, {80, 128, 128, false}, {96, 128, 128, false}, {128, 128, 128, false},
    {128, 128, 128, true}, {144, 128, 128, false}, {160, 128, 128, false}};
/* Of packed weights, chosen without a sweep: what counts is few instructions beside those that decode a weight. */
static const struct product_tile packed[] = {{16, 128, 128, false}, {16, 256, 256, false}, {32, 256, 256, false}, {64, 128, 128, false}, {96, 128, 128, false}, {128, 128, 128, false}, {160, 128, 128, false}};
static const struct product_tile gated_packed[] = {{16, 128, 64, false}, {16, 256, 128, false}, {32, 256, 128, false}, {48, 256, 128, false}};
static const struct product_tile gated[] = {{32, 128, 64, false}, {64, 128, 64, false}, {64, 256, 128, false}, {80, 256, 128, false}, {96, 256, 128, false}, {112, 256, 128, false},
    {128, 256, 128, false}};
static const struct product_tile gated_promoted[] = {{32, 128, 64, false}, {64, 128, 64, false}, {56, 256, 128, false}};
static const struct product_tile blocks[] = {{32, 64, 64, false}, {64, 64, 64, false}, {64, 128, 128, false}, {128, 128, 128, false}},
    gated_blocks[] = {{32, 128, 64, false}, {48, 128, 64, false}, {128, 128, 64, false}};
/* What a thread sums: as it is, in two levels (.promote), or those times scales (.block_scales), or of packed weights. */
enum { SUMMED, IN_LEVELS, IN_BLOCKS, PACKED };
#define TILES(of_) {of_, sizeof of_ / sizeof *of_}
static const struct {
    const struct product_tile *tile;
    size_t n;
} tiles_by[][2] = {[SUMMED] = {TILES(usual), TILES(gated)}, [IN_LEVELS] = {TILES(usual), TILES(gated_promoted)}, [IN_BLOCKS] = {TILES(blocks), TILES(gated_blocks)}, [PACKED] = {TILES(packed), TILES(gated_packed)}};

static double least(double x, double y)
{
    return x < y ? x : y;
}

static double most(double x, double y)
{
    return x > y ? x : y;
}

static int64_t ceil_div(int64_t x, int64_t y)
{
    return (x + y - 1) / y;
}

/* How far the rows of groups are from their mean, as routes that are drawn at random leave them: a standard deviation, which is its root. */
static int64_t spread_of(const product_facts *f, int64_t m)
{
    return f->uneven ? (int64_t)sqrt((double)m) : 0;
}

/* Of all batches, of uneven ones in the mean: of as many with the least, the usual and the most rows. */
static int64_t tiles_of(const product_facts *f, const struct product_tile *t, int64_t m)
{
    const int64_t spread = spread_of(f, m), high = ceil_div(m - spread, t->bm) + ceil_div(m, t->bm) + ceil_div(m + spread, t->bm);
    return ceil_div(f->batches * high, 3) * ceil_div(f->n, t->columns);
}

static int64_t together_of(const struct product_tile *t, int64_t m)
{
    const int64_t high = ceil_div(m, t->bm);
    return high < SIDE ? high : SIDE;
}

/* A launch counts tiles of groups as if each had all rows. */
static bool is_countable(const product_facts *f, const struct product_tile *t)
{
    const int64_t across = f->batches * ceil_div(f->n, t->columns);
    return ceil_div(f->rows, t->bm) <= PRODUCT_COUNTED / across;
}

bool sett__product_countable(const product_facts *f)
{
    int i = 0;
    while (i < f->n_tiles && !is_countable(f, &f->tile[i]))
        i++;
    return i < f->n_tiles;
}

/* Cycles of a K tile, where so many multiprocessors are at work. */
static double k_tile_cycles(const product_facts *f, const struct product_tile *t, double active)
{
    const double share = least(active / f->multiprocessors, 1), bytes = 128.0 * (t->bm + t->bn * (f->packed_bits ? f->packed_bits / 16.0 : 1));
    const double decode = f->packed_bits ? DECODE * t->bn : 0;
    const double tensor = t->bm * t->bn / 32.0 / TENSOR * (1 + POWER * share), load = bytes * active / f->device->l2;
    return most(most(most(tensor, decode), load), K_TILE) + SLOWER * least(tensor, load);
}

double sett__product_us(const product_facts *f, const product_way *w, int64_t m)
{
    const struct product_tile *t = &f->tile[w->kernel];
    const int64_t together = together_of(t, m), teams = w->streamed ? w->workers / together : 1;
    const double share = w->streamed ? (double)(w->streamed / together) * (double)f->k_tiles / (double)teams : 0;
    const double rounds = (double)ceil_div(w->tiles - w->streamed, w->workers), k_tiles = rounds * (double)f->k_tiles + share;
    const double active = (double)w->tiles * (double)f->k_tiles / k_tiles, others = most(0, (double)(teams * together) / most((double)w->streamed, 1) - 1);
    const double meet = w->streamed ? TILE + MEET + MEET_EACH * t->bm * t->bn * (1 + others) : 0;
    const double compute = k_tiles * k_tile_cycles(f, t, active) + TILE * (t->ping_pong ? 1 : rounds) + meet;
    const double memory = ((double)f->bytes_b + (double)m * (double)(f->bytes_a + f->bytes_d)) / f->device->memory;
    const double longer = most(compute, memory), shorter = least(compute, memory);
    const double us = LAUNCH_US + (longer + OVERLAP * shorter * shorter / longer) / f->device->mhz;
    return w->streamed && w->tiles > w->workers ? us * STREAMED : us;
}

/* The better one of both. */
static void consider(const product_facts *f, int64_t m, product_way w, product_way *best)
{
    w.us = sett__product_us(f, &w, m);
    if (w.us < best->us)
        *best = w;
}

/* Columns of the tiles that few rows have. */
static int few_columns(const product_facts *f)
{
    return f->packed_bits ? FEW_PACKED : FEW_BN;
}

/* Of few rows what counts is that B is read once, by many blocks: the height of the lowest tile that has room for all of them and few columns;
 * 0: there is none, or rows are many. */
static int lowest(const product_facts *f, int64_t m)
{
    const int64_t rows = m + spread_of(f, m);
    int low = 0;
    for (int i = 0; i < f->n_tiles && m <= FEW; i++)
        if (f->tile[i].bm >= rows && f->tile[i].columns <= few_columns(f) && is_countable(f, &f->tile[i]) && (!low || f->tile[i].bm < low))
            low = f->tile[i].bm;
    return low;
}

product_way sett__product_choose(const product_facts *f, int64_t m)
{
    product_way best = {.us = 1e30};
    if (f->few && m <= f->few) {
        best = (product_way){.kernel = f->n_tiles};
        best.us = LAUNCH_US + (double)f->bytes_b / f->device->memory / FEW_READ / f->device->mhz;
        return best;
    }
    const int low = lowest(f, m);
    for (int i = 0; i < f->n_tiles; i++) {
        const struct product_tile *t = &f->tile[i];
        if (!is_countable(f, t) || (low && (t->bm != low || t->columns > few_columns(f))))
            continue;
        const int64_t tiles = tiles_of(f, t, m), at_once = f->multiprocessors, together = together_of(t, m), teams = at_once / together * together;
        const int workers = (int)(tiles < at_once ? tiles : at_once);
        consider(f, m, (product_way){.kernel = i, .tiles = tiles, .workers = workers}, &best);
        if (!f->streams || t->ping_pong)
            continue;
        const int64_t room = at_once / tiles, shares = f->k_tiles / LEAST, parts = room < shares ? room : shares;
        if (parts >= 2 && tiles % together == 0) /* each tile by as many as there are, or as K has shares */
            consider(f, m, (product_way){.kernel = i, .tiles = tiles, .workers = (int)(parts * tiles), .streamed = (int)tiles}, &best);
        const int64_t tail = ceil_div(tiles % at_once, together) * together; /* the last round, and the one before it, evenly */
        if (tiles > at_once + together && tail && teams)
            consider(f, m, (product_way){.kernel = i, .tiles = tiles, .workers = (int)at_once, .streamed = (int)(tail + teams < tiles ? tail + teams : tiles / together * together)}, &best);
    }
    return best;
}

/* ---- tiles ---------------------------------------------------------------------------------------------- */
/* The sum, over numbers of rows from 1 to 8192, each a sixth more than the one before, of the logarithms of their best times. */
static double worth(const product_facts *f)
{
    double sum = 0;
    for (int64_t m = 1; m <= 8192; m += m / 6 + 1)
        sum += log(sett__product_choose(f, m).us);
    return sum;
}

static void without(product_facts *f, int i)
{
    f->n_tiles--;
    memmove(&f->tile[i], &f->tile[i + 1], sizeof *f->tile * (size_t)(f->n_tiles - i));
}

/* Has a thread registers for its sums; and a warp group, for a tile of its own, registers and the block memory? */
static bool fits(const sett_gemm_wgmma_options *o, const struct product_tile *t)
{
    sett_gemm_wgmma_options x = *o;
    x.tuning.bm = t->bm, x.tuning.bn = t->bn, x.tuning.ping_pong |= t->ping_pong;
    const bool aside = !o->promote && o->terms.amax != 2 && !(sett__bytes_of(o->c) == 4 && (o->residual || o->terms.softcap));
    return sums_of(&x) <= most_sums(&x) && (aside || !t->ping_pong);
}

void sett__product_tiles(product_facts *f, const sett_gemm_wgmma_options *o, int most_tiles)
{
    const int by = packed_bits(o) ? PACKED : o->block_scales ? IN_BLOCKS : o->promote ? IN_LEVELS : SUMMED;
    f->n_tiles = 0;
    for (size_t i = 0; i < tiles_by[by][o->swiglu].n; i++)
        if (fits(o, &tiles_by[by][o->swiglu].tile[i]))
            f->tile[f->n_tiles++] = tiles_by[by][o->swiglu].tile[i];
    while (f->n_tiles > most_tiles) {
        int least_needed = 0;
        double best = HUGE_VAL;
        for (int i = 0; i < f->n_tiles; i++) {
            product_facts rest = *f;
            if (f->tile[i].bm <= FEW) /* few rows have no other, and two of them 128 rows */
                continue;
            without(&rest, i);
            const double w = worth(&rest);
            if (w < best)
                best = w, least_needed = i;
        }
        without(f, least_needed);
    }
}
