/* SPDX-License-Identifier: Apache-2.0 */
/* Which kernel a product takes, and how it deals K to the multiprocessors: by a model of cycles. docs/products.md explains it, and shows what
 * it predicts beside what was measured. */
#include "gemm_wgmma.h"
#include "product.h"
#include <math.h>

/* What the model knows besides the device: fitted to the times of bench/products.py sweep, of bf16 on an H200, in cycles of a multiprocessor.
 * Tensor cores slow down by power as more of them work: by POWER where all do. */
static const double LAUNCH_US = 2.74, TENSOR = 1.46, POWER = 0.78, SLOWER = 0.18 /* of what is not the bound */, K_TILE = 157, K_TILE_ROW = 0.69 /* of A and B, at least */, TILE = 175, TILE_EACH = 0.0332 /* a sum */,
                    MEET = 4340, MEET_EACH = 0.106 /* a sum */, OVERLAP = 0.213, NARROW = 0.955 /* of the time of tiles of 64 columns */, FEW_READ = 0.95 /* of the speed of memory */, FEW_BLOCK = 11.6 /* bytes a cycle, of a block of few rows of B at most */, SURER = 1.1 /* how much longer few rows take before a tile is taken */, DECODE = 1.5 /* of a row of packed weights and a K tile, by 3 instructions a weight */;
/* How much longer a row of a K tile takes to load where rows lie at odd multiples of 16 bytes, and of 32, than at multiples of 64, as most of those
 * pieces of rows lie in two lines of L2. */
static const double STRADDLE[] = {1.91, 1.54};
enum { SIDE = 8 /* tiles of the same rows of B that are streamed side by side, at most */, LEAST = 4 /* K tiles of a share */, FEW = 64, FEW_PACKED = 256, EVEN = 64 /* bytes */ };

/* Eight tiles that together come nearest to the best of all, over products of models and drawn ones on an H200, where rows of A and B lie at multiples of
 * 64 bytes, and where they do not. The first one is left out where few rows have a kernel of their own. */
static const struct product_tile usual[] = {{16, 64, 64, 1, false}, {32, 64, 64, 1, false}, {64, 64, 64, 1, false}, {64, 128, 128, 1, false}, {80, 128, 128, 1, false}, {96, 128, 128, 1, false}, {128, 128, 128, 1, true}, {144, 128, 128, 1, false}};
static const struct product_tile straddling[] = {{48, 64, 64, 1, false}, {16, 64, 64, 1, false}, {32, 64, 64, 1, false}, {64, 64, 64, 1, false}, {80, 128, 128, 1, false}, {112, 128, 128, 1, false}, {160, 128, 128, 2, false}, {192, 128, 128, 2, false}};
/* Of groups. They have no kernel of few rows, so that there is room for one tile more: 112 rows, as their rows are any. */
static const struct product_tile of_groups[] = {{32, 64, 64, 1, false}, {64, 64, 64, 1, false}, {64, 128, 128, 1, false}, {80, 128, 128, 1, false}, {96, 128, 128, 1, false}, {112, 128, 128, 1, false}, {128, 128, 128, 1, true}, {144, 128, 128, 1, false}};
/* Of packed weights, chosen without a sweep: what counts is few instructions beside those that decode a weight. */
static const struct product_tile packed[] = {{16, 128, 128, 1, false}, {16, 256, 256, 1, false}, {32, 256, 256, 1, false}, {64, 128, 128, 1, false}, {96, 128, 128, 1, false}, {128, 128, 128, 1, false}, {160, 128, 128, 1, false}};
static const struct product_tile gated_packed[] = {{16, 128, 64, 1, false}, {16, 256, 128, 1, false}, {32, 256, 128, 1, false}, {48, 256, 128, 1, false}};
static const struct product_tile gated[] = {{32, 128, 64, 1, false}, {64, 128, 64, 1, false}, {64, 256, 128, 1, false}, {80, 256, 128, 1, false}, {96, 256, 128, 1, false}, {112, 256, 128, 1, false},
    {128, 256, 128, 1, false}};
static const struct product_tile gated_promoted[] = {{32, 128, 64, 1, false}, {64, 128, 64, 1, false}, {56, 256, 128, 1, false}};
static const struct product_tile blocks[] = {{32, 64, 64, 1, false}, {64, 64, 64, 1, false}, {64, 128, 128, 1, false}, {128, 128, 128, 1, false}},
    gated_blocks[] = {{32, 128, 64, 1, false}, {48, 128, 64, 1, false}, {128, 128, 64, 1, false}};
/* What a thread sums: as it is, also where rows straddle lines of L2, and of groups; in two levels (.promote), or those times scales (.block_scales), or of packed weights. */
enum { SUMMED, STRADDLED, GROUPED, IN_LEVELS, IN_BLOCKS, PACKED };
#define TILES(of_) {of_, sizeof of_ / sizeof *of_}
typedef struct tiles {
    const struct product_tile *tile;
    size_t n;
} tile_set;
static const tile_set tiles_by[][2] = {[SUMMED] = {TILES(usual), TILES(gated)}, [STRADDLED] = {TILES(straddling), TILES(gated)}, [GROUPED] = {TILES(of_groups), TILES(gated)}, [IN_LEVELS] = {TILES(usual), TILES(gated_promoted)}, [IN_BLOCKS] = {TILES(blocks), TILES(gated_blocks)},
    [PACKED] = {TILES(packed), TILES(gated_packed)}};

/* The same of .quantise 2, for whole blocks of 128 columns of D. No such product has a kernel of few rows, so that low tiles are here.
 * These heights are left out, as ptxas spills them: 112 and 128 rows of gated products, 56 rows of gated ones summed in two levels, 160 rows of packed
 * weights, and 128 and 144 rows of sums in two levels. */
static const struct product_tile whole[] = {{16, 128, 128, 1, false}, {32, 128, 128, 1, false}, {48, 128, 128, 1, false}, {64, 128, 128, 1, false}, {80, 128, 128, 1, false}, {96, 128, 128, 1, false}, {128, 128, 128, 1, true}, {144, 128, 128, 1, false}},
    whole_straddling[] = {{16, 128, 128, 1, false}, {32, 128, 128, 1, false}, {64, 128, 128, 1, false}, {80, 128, 128, 1, false}, {112, 128, 128, 1, false}, {128, 128, 128, 1, true}, {160, 128, 128, 2, false}, {192, 128, 128, 2, false}},
    whole_gated[] = {{16, 256, 128, 1, false}, {32, 256, 128, 1, false}, {48, 256, 128, 1, false}, {64, 256, 128, 1, false}, {80, 256, 128, 1, false}, {96, 256, 128, 1, false}, {104, 256, 128, 1, false}, {120, 256, 128, 1, false}},
    whole_levels[] = {{16, 128, 128, 1, false}, {32, 128, 128, 1, false}, {48, 128, 128, 1, false}, {64, 128, 128, 1, false}, {80, 128, 128, 1, false}, {96, 128, 128, 1, false}},
    whole_gated_levels[] = {{16, 256, 128, 1, false}, {32, 256, 128, 1, false}, {48, 256, 128, 1, false}},
    whole_packed[] = {{16, 128, 128, 1, false}, {16, 256, 256, 1, false}, {32, 256, 256, 1, false}, {64, 128, 128, 1, false}, {96, 128, 128, 1, false}, {128, 128, 128, 1, false}, {144, 128, 128, 1, false}},
    whole_gated_packed[] = {{16, 256, 128, 1, false}, {32, 256, 128, 1, false}, {48, 256, 128, 1, false}},
    whole_blocks[] = {{16, 128, 128, 1, false}, {32, 128, 128, 1, false}, {64, 128, 128, 1, false}, {128, 128, 128, 1, false}};
static const tile_set whole_by[][2] = {[SUMMED] = {TILES(whole), TILES(whole_gated)}, [STRADDLED] = {TILES(whole_straddling), TILES(whole_gated)}, [GROUPED] = {TILES(whole), TILES(whole_gated)}, [IN_LEVELS] = {TILES(whole_levels), TILES(whole_gated_levels)},
    [IN_BLOCKS] = {TILES(whole_blocks), TILES(whole_gated_levels)}, [PACKED] = {TILES(whole_packed), TILES(whole_gated_packed)}};

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

/* How many tiles one batch has along M, in the mean. The rows of uneven batches are normally distributed about m, with the standard deviation sqrt(m), as routes
 * that are drawn at random leave them. Tile j is there where a batch has more than j bm rows; the logistic function of 1.702 x is near that probability. */
static double tiles_high(const product_facts *f, const struct product_tile *t, int64_t m)
{
    enum { FAR = 4 /* standard deviations */ };
    const double spread = sqrt((double)m), certain = floor(most((double)m - FAR * spread, 0) / t->bm) + 1;
    double high = certain;
    if (!f->uneven)
        return (double)ceil_div(m, t->bm);
    for (double at = certain * t->bm; at < (double)m + FAR * spread; at += t->bm)
        high += 1 / (1 + exp(1.702 * (at - (double)m) / spread));
    return high;
}

/* Of all batches, counted in clusters. */
static int64_t tiles_of(const product_facts *f, const struct product_tile *t, int64_t m)
{
    return (int64_t)ceil((double)f->batches * tiles_high(f, t, m)) * ceil_div(f->n, (int64_t)t->columns * t->cluster);
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

/* How much longer than at multiples of 64 bytes. */
static double straddle(int64_t bytes)
{
    return bytes % EVEN ? STRADDLE[bytes % (EVEN / 2) == 0] : 1;
}

/* Cycles of a K tile of m rows, where so many multiprocessors are at work. Boxes of A's rows that lie outside are not loaded. */
static double k_tile_cycles(const product_facts *f, const struct product_tile *t, int64_t m, double active)
{
    const double share = least(active / f->multiprocessors, 1), of_a = straddle(f->lda) / t->cluster, of_b = straddle(f->ldb);
    const double bytes = LINE * (least(t->bm, (double)m) * of_a + t->bn * (f->packed_bits ? f->packed_bits / 16.0 : of_b));
    const double decode = f->packed_bits ? DECODE * t->bn : 0;
    const double tensor = t->bm * t->bn / 32.0 / TENSOR * (1 + POWER * share), load = bytes * active / f->device->l2;
    return most(most(most(tensor, decode), load), K_TILE + K_TILE_ROW * (t->bm * of_a + t->bn * of_b)) + SLOWER * least(tensor, load);
}

double sett__product_us(const product_facts *f, const product_way *w, int64_t m)
{
    const struct product_tile *t = &f->tile[w->kernel];
    const int64_t together = together_of(t, m), teams = w->streamed ? w->workers / together : 1;
    const double share = w->streamed ? (double)(w->streamed / together) * (double)f->k_tiles / (double)teams : 0;
    const double rounds = (double)ceil_div(w->tiles - w->streamed, w->workers), k_tiles = rounds * (double)f->k_tiles + share;
    const double active = t->cluster * (double)w->tiles * (double)f->k_tiles / k_tiles, others = most(0, (double)(teams * together) / most((double)w->streamed, 1) - 1);
    const double meet = w->streamed ? TILE + MEET + MEET_EACH * t->bm * t->bn * (1 + others) : 0;
    const double k_cycles = k_tile_cycles(f, t, m, active), tile = TILE + TILE_EACH * t->bm * t->bn, ways_out = t->ping_pong ? tile + (rounds - 1) * most(0, tile - (double)f->k_tiles * k_cycles) : rounds * tile, compute = k_tiles * k_cycles + ways_out + meet;
    const double memory = ((double)f->bytes_b + (double)m * (double)(f->bytes_a + f->bytes_d)) / f->device->memory;
    const double longer = most(compute, memory), shorter = least(compute, memory);
    const double us = LAUNCH_US + (longer + OVERLAP * shorter * shorter / longer) / f->device->mhz;
    return t->bn == ROWS ? us * NARROW : us;
}

/* The better one of both. */
static void consider(const product_facts *f, int64_t m, product_way w, product_way *best)
{
    w.us = sett__product_us(f, &w, m);
    if (w.us < best->us)
        *best = w;
}

/* Of few rows of packed weights what counts is that B is decoded by many blocks: the height of the lowest tile that has room for all rows; 0: there is none,
 * or rows are many. */
static int lowest(const product_facts *f, int64_t m)
{
    int low = 0;
    for (int i = 0; f->packed_bits && i < f->n_tiles && m <= FEW; i++)
        if (f->tile[i].bm >= m && f->tile[i].columns <= FEW_PACKED && is_countable(f, &f->tile[i]) && (!low || f->tile[i].bm < low))
            low = f->tile[i].bm;
    return low;
}

/* By one of the tiles. */
static void consider_tile(const product_facts *f, int64_t m, int i, product_way *best)
{
    const struct product_tile *t = &f->tile[i];
    const int64_t tiles = tiles_of(f, t, m), at_once = f->multiprocessors / t->cluster, together = together_of(t, m), teams = at_once / together * together;
    const int workers = (int)(tiles < at_once ? tiles : at_once);
    consider(f, m, (product_way){.kernel = i, .tiles = tiles, .workers = workers}, best);
    if (!f->streams || t->ping_pong)
        return;
    const int64_t room = at_once / tiles, shares = f->k_tiles / LEAST, parts = room < shares ? room : shares;
    if (parts >= 2 && tiles % together == 0) /* each tile by as many as there are, or as K has shares */
        consider(f, m, (product_way){.kernel = i, .tiles = tiles, .workers = (int)(parts * tiles), .streamed = (int)tiles}, best);
    const int64_t tail = ceil_div(tiles % at_once, together) * together; /* the last round, and the one before it, evenly */
    if (tiles > at_once + together && tail && teams)
        consider(f, m, (product_way){.kernel = i, .tiles = tiles, .workers = (int)at_once, .streamed = (int)(tail + teams < tiles ? tail + teams : tiles / together * together)}, best);
}

/* Of few rows of A by their own kernel, whose blocks have few rows of B each: of a small N they are too few for the speed of memory. */
static product_way few_rows(const product_facts *f)
{
    enum { ROWS_OF_B = 8 };
    const double all = (double)ceil_div(f->n_b, ROWS_OF_B), rate = least(f->device->memory * FEW_READ, all * FEW_BLOCK);
    return (product_way){.kernel = f->n_tiles, .us = LAUNCH_US + (double)f->bytes_b / rate / f->device->mhz};
}

product_way sett__product_choose(const product_facts *f, int64_t m)
{
    product_way best = {.us = HUGE_VAL}, few = best;
    if (f->few && m <= f->few) {
        few = few_rows(f);
        if (f->packed_bits)
            return few;
    }
    const int low = lowest(f, m);
    for (int i = 0; i < f->n_tiles; i++)
        if (is_countable(f, &f->tile[i]) && (!low || (f->tile[i].bm == low && f->tile[i].columns <= FEW_PACKED)))
            consider_tile(f, m, i, &best);
    return few.us < best.us * SURER ? few : best;
}

/* ---- tiles ---------------------------------------------------------------------------------------------- */
/* Has a thread registers for its sums, and the block memory for stages? */
static bool fits(const sett_gemm_wgmma_options *o, const struct product_tile *t)
{
    enum { STAGES = 3 /* at least */ };
    sett_gemm_wgmma_options x = *o;
    x.tuning.bm = t->bm, x.tuning.bn = t->bn, x.tuning.cluster = t->cluster, x.tuning.ping_pong |= t->ping_pong;
    return sums_of(&x) <= most_sums(&x) && sett__wgmma_most_stages(&x) >= STAGES;
}

/* Has a warp group registers, and the block memory, for a tile of its own? */
static bool may_ping_pong(const sett_gemm_wgmma_options *o)
{
    return !o->promote && o->terms.amax != 2 && !(sett__bytes_of(o->c) == 4 && (o->residual || o->terms.softcap));
}

void sett__product_tiles(product_facts *f, const sett_gemm_wgmma_options *o)
{
    const int by = packed_bits(o) ? PACKED : o->block_scales ? IN_BLOCKS : o->promote ? IN_LEVELS : o->grouped ? GROUPED : f->lda % EVEN || f->ldb % EVEN ? STRADDLED : SUMMED;
    const tile_set *set = &(in_blocks(&o->terms) ? whole_by : tiles_by)[by][o->swiglu];
    const struct product_tile *of = set->tile;
    const size_t n = set->n, most_tiles = (size_t)SETT_PRODUCT_KERNELS - (f->few > 0);
    f->n_tiles = 0;
    for (size_t i = n > most_tiles ? n - most_tiles : 0; i < n; i++) {
        struct product_tile t = of[i];
        t.ping_pong &= may_ping_pong(o);
        if (fits(o, &t))
            f->tile[f->n_tiles++] = t;
    }
}
