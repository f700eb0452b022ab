/* SPDX-License-Identifier: Apache-2.0 */
/* Persistent clusters that take tile after tile. Numbers of tiles are numbers of clusters of tiles here, until a block asks for its
 * own coordinates. */
#include "scheduler.h"

/* ---- making one --------------------------------------------------------------------------------------- */
static bool take_tiles(const sett__ctx *c, sett_scheduler *s, sett_arg tiles)
{
    if (!sett__use_arg(c->b, c->site, c->func, tiles))
        return false;
    SETT__FAIL_IF(c->b, c->site, c->func, tiles.kind == SETT_INT && !tiles.u.i, false, SETT_E_ARGUMENT, ".tiles is missing: how many there are, T(m, n) or T(m, n, l)");
    SETT__FAIL_IF(c->b, c->site, c->func, sett__arity(tiles) > MODES, false, SETT_E_RANK, ".tiles %s: T(m, n) or T(m, n, l)", sett__arg_text(c->b, tiles));
    s->all = sett_arg_i(1);
    for (int i = 0; i < MODES; i++) {
        sett__expr known;
        sett_arg n = i < sett__arity(tiles) ? sett__kid(tiles, i) : sett_arg_i(1);
        SETT__FAIL_IF(c->b, c->site, c->func, n.kind != SETT_VALUE && (!sett__is_number(n) || n.u.i < 0), false, SETT_E_ARGUMENT, ".tiles %s: integers, of 0 or more", sett__arg_text(c->b, tiles));
        if (!sett__need_expr(c, ".tiles, mode", i, n, &known))
            return false;
        s->extent[i] = i < L ? sett__ceil_div(c, n, sett_arg_i(s->cluster[i])) : n;
        s->all = sett__mul(c, s->all, s->extent[i]);
    }
    SETT__FAIL_IF(c->b, c->site, c->func, s->all.kind == SETT_INT && s->all.u.i > MOST_TILES, false, SETT_E_RANGE, ".tiles %s are at most %d, counted in clusters, and these are %lld",
        sett__arg_text(c->b, tiles), MOST_TILES, (long long)s->all.u.i);
    if (s->all.kind == SETT_VALUE)
        sett__rely(c, SETT__BELOW, (sett_arg[]){s->all, sett_arg_i((int64_t)MOST_TILES + 1)}, ".tiles %s are at most %d, counted in clusters", sett__arg_text(c->b, tiles), MOST_TILES);
    return !c->b->error.status;
}

static bool take_clusters(const sett__ctx *c, sett_scheduler *s, sett_arg n)
{
    sett__expr known;
    if (!sett__use_arg(c->b, c->site, c->func, n))
        return false;
    SETT__FAIL_IF(c->b, c->site, c->func, n.kind != SETT_VALUE && (!sett__is_number(n) || n.u.i < 1), false, SETT_E_ARGUMENT,
        ".clusters: how many run at once, 1 or more: a C number, or SETT_A(symbol) that the launch gives");
    s->clusters = n;
    return sett__need_expr(c, ".clusters", -1, n, &known);
}

/* Streamed tiles: their K tiles, one tile behind the other, are dealt to the clusters in equal shares. */
static bool take_stream(const sett__ctx *c, sett_scheduler *s, sett_arg k_tiles, sett_arg streamed, sett_arg together)
{
    const bool has_k = k_tiles.kind != SETT_INT || k_tiles.u.i, has_tiles = streamed.kind != SETT_INT || streamed.u.i, has_teams = together.kind != SETT_INT || together.u.i;
    SETT__FAIL_IF(c->b, c->site, c->func, (has_tiles || has_teams) && !has_k, false, SETT_E_ARGUMENT, "%s without .k_tiles: into how many K tiles a tile is cut", has_tiles ? ".streamed" : ".together");
    s->streams = has_k;
    if (!has_k)
        return true;
    const sett_arg given[] = {k_tiles, streamed, has_teams ? together : sett_arg_i(1)};
    static const char *const names[] = {".k_tiles", ".streamed", ".together"};
    for (int i = 0; i < 3; i++) {
        sett__expr known;
        const sett_arg x = given[i];
        const int least = i != 1;
        if (!sett__use_arg(c->b, c->site, c->func, x))
            return false;
        SETT__FAIL_IF(c->b, c->site, c->func, x.kind != SETT_VALUE && (!sett__is_number(x) || x.u.i < least), false, SETT_E_ARGUMENT,
            "%s: an integer of %d or more, or SETT_A(symbol) that the launch gives", names[i], least);
        if (!sett__need_expr(c, names[i], -1, x, &known))
            return false;
    }
    s->k_tiles = k_tiles, s->streamed = streamed, s->together = given[2];
    const sett_arg all = sett__mul(c, streamed, k_tiles);
    SETT__FAIL_IF(c->b, c->site, c->func, all.kind == SETT_INT && all.u.i > MOST_TILES, false, SETT_E_RANGE, ".streamed times .k_tiles is at most %d, and this is %lld", MOST_TILES, (long long)all.u.i);
    if (all.kind == SETT_VALUE)
        sett__rely(c, SETT__BELOW, (sett_arg[]){all, sett_arg_i((int64_t)MOST_TILES + 1)}, ".streamed times .k_tiles is at most %d", MOST_TILES);
    return !c->b->error.status;
}

sett_scheduler *sett_tile_scheduler_at(sett_site site, sett_build *b, const sett_scheduler_args *given)
{
    enum { WIDEST = 64 };
    sett__ctx c = {NULL, site, "sett_tile_scheduler"};
    sett_scheduler_args a;
    c.b = b = sett__given(b, site, c.func);
    if (!sett__in_kernel(b, site, c.func))
        return b ? (sett_scheduler *)&b->poison->atom : NULL;
    sett_scheduler *poison = (sett_scheduler *)&b->poison->atom, *s = sett__new_object(b, SETT__K_SCHEDULER, sizeof *s);
    if (!sett__take_args(&c, &a, sizeof a, given))
        return poison;
    SETT__FAIL_IF(b, site, c.func, b->cluster[2] && b->cluster[2]->hi != 1, poison, SETT_E_SHAPE, "the cluster has %lld blocks in z, and tiles lie in x and y", (long long)b->cluster[2]->hi);
    SETT__FAIL_IF(b, site, c.func, a.swizzle < 0 || a.swizzle > WIDEST, poison, SETT_E_RANGE, ".swizzle is %d: 0 to %d", a.swizzle, WIDEST);
    SETT__FAIL_IF(b, site, c.func, a.raster != SETT_RASTER_M && a.raster != SETT_RASTER_N, poison, SETT_E_ARGUMENT, ".raster is %d: SETT_RASTER_M or SETT_RASTER_N", (int)a.raster);
    for (int d = 0; d < 2; d++)
        s->cluster[d] = b->cluster[d] ? b->cluster[d]->hi : 1;
    s->swizzle = a.swizzle ? a.swizzle : 1;
    s->raster = a.raster;
    return take_tiles(&c, s, a.tiles) && take_clusters(&c, s, a.clusters) && take_stream(&c, s, a.k_tiles, a.streamed, a.together) && sett__take_groups(&c, s, &a) ? s : poison;
}

sett_arg sett_scheduler_grid_at(sett_site site, const sett_scheduler *s)
{
    sett__ctx c = {NULL, site, "sett_scheduler_grid"};
    if (!sett__use_async(&c, (const sett__head *)s, SETT__K_SCHEDULER))
        return sett__poison_arg(c.b);
    sett_arg *kid = sett__kids(&c, MODES);
    kid[M] = sett_arg_i(s->cluster[M]);
    kid[N] = sett_arg_i(s->cluster[N]);
    kid[L] = op(&c, SETT_MIN, s->all, s->clusters);
    if (s->streams) /* a tile may have several workers */
        kid[L] = op(&c, SETT_MAX, kid[L], op(&c, SETT_MIN, sett__mul(&c, s->streamed, s->k_tiles), s->clusters));
    return c.b->error.status ? sett__poison_arg(c.b) : sett__node(&c, MODES, kid);
}

/* ---- going through them ---------------------------------------------------------------------------------- */
/* Teams of .together workers go through .together tiles at the same K tiles. */
typedef struct share {
    sett_arg each, longer; /* K tiles of a team's share; how many teams have one more */
    sett_arg streamed;     /* tiles: those of whole columns, and none where there is no whole team */
    sett_arg worker;       /* this one; the first of its team's number is the team's times .together */
    sett_arg team, member, has; /* has: Boolean, it is in a team */
} share;

/* Workers are numbered from the last cluster on: the one that computes the first K tiles of a tile waits for those of larger numbers,
 * and these belong to clusters that a GPU starts before its own. So no cluster waits for one that has not begun. */
static share share_of(const sett__ctx *c, const sett_scheduler *s)
{
    share x;
    const sett_arg workers = sett_arg_v(sett_grid_dim_at(c->site, c->b, 2)), one = sett_arg_i(1);
    const sett_arg whole = divide(c, workers, s->together).quotient, teams = op(c, SETT_MAX, whole, one);
    const sett_arg some = sett_arg_v(sett_binary_at(c->site, c->func, SETT_GT, whole, sett_arg_i(0)));
    const sett_arg columns = where(c, some, divide(c, s->streamed, s->together).quotient, sett_arg_i(0));
    const sett_arg all = op(c, SETT_MUL, columns, s->k_tiles);
    x.streamed = op(c, SETT_MUL, columns, s->together);
    x.each = op(c, SETT_FLOORDIV, all, teams);
    x.longer = op(c, SETT_SUB, all, op(c, SETT_MUL, x.each, teams));
    x.worker = op(c, SETT_SUB, op(c, SETT_SUB, workers, one), sett_arg_v(sett_block_idx_at(c->site, c->b, 2)));
    const pair of = divide(c, x.worker, s->together);
    x.team = of.quotient, x.member = of.rest;
    x.has = sett_arg_v(sett_binary_at(c->site, c->func, SETT_LT, x.team, teams));
    return x;
}

static sett_arg first_whole(const sett__ctx *c, const share *x)
{
    return op(c, SETT_ADD, x->streamed, sett_arg_v(sett_block_idx_at(c->site, c->b, 2)));
}

/* The first of the K tiles of this worker's share, and how many; without a share its first whole tile. A launch that streams nothing
 * computes none of it. */
static void begin_stream(const sett__ctx *c, sett_work_tile *w)
{
    const sett_scheduler *s = w->s;
    const sett_arg zero = sett_arg_i(0);
    w->at = keep(c, sett_arg_v(sett_block_idx_at(c->site, c->b, 2)));
    w->from = keep(c, zero);
    w->rest = keep(c, zero);
    sett_region streams = sett_if_begin(c->site, c->b, sett_binary_at(c->site, c->func, SETT_GT, s->streamed, zero));
    const share x = share_of(c, s);
    const sett_arg lo = op(c, SETT_ADD, op(c, SETT_MUL, x.team, x.each), op(c, SETT_MIN, x.team, x.longer));
    const sett_arg more = sett_arg_v(sett_binary_at(c->site, c->func, SETT_LT, x.team, x.longer));
    const sett_arg n = where(c, x.has, op(c, SETT_ADD, x.each, where(c, more, sett_arg_i(1), zero)), zero);
    const sett_arg some = sett_arg_v(sett_binary_at(c->site, c->func, SETT_GT, n, zero));
    const pair at = divide(c, lo, s->k_tiles);
    const sett_arg tile = where(c, some, op(c, SETT_ADD, op(c, SETT_MUL, at.quotient, s->together), x.member), first_whole(c, &x));
    const sett_arg from = where(c, some, at.rest, zero);
    if (!c->b->error.status) {
        sett__set(c, w->at, tile, zero);
        sett__set(c, w->from, from, zero);
        sett__set(c, w->rest, n, zero);
    }
    end_region(&streams);
}

sett_work_tile *sett_initial_work_tile_at(sett_site site, const sett_scheduler *s)
{
    sett__ctx c = {NULL, site, "sett_initial_work_tile"};
    if (!sett__use_async(&c, (const sett__head *)s, SETT__K_SCHEDULER))
        return c.b ? (sett_work_tile *)&c.b->poison->atom : NULL;
    sett_work_tile *w = sett__new_object(c.b, SETT__K_WORK_TILE, sizeof *w);
    w->s = s;
    if (s->streams)
        begin_stream(&c, w);
    else if (s->counts || s->offsets)
        sett__begin_groups(&c, w);
    else
        w->at = keep(&c, sett_arg_v(sett_block_idx_at(site, c.b, 2)));
    return c.b->error.status ? (sett_work_tile *)&c.b->poison->atom : w;
}

static bool begin(sett__ctx *c, const sett_work_tile *w)
{
    return sett__use_async(c, (const sett__head *)w, SETT__K_WORK_TILE);
}

static sett_val *number_of(const sett__ctx *c, const sett_work_tile *w)
{
    return kept(c, w->at);
}

typedef struct stream {
    sett_arg at, from, rest, end; /* end of the K tiles */
} stream;
static stream stream_of(const sett__ctx *c, const sett_work_tile *w)
{
    const sett_arg kt = w->s->k_tiles;
    stream x = {.at = sett_arg_v(number_of(c, w)), .from = sett_arg_v(kept(c, w->from)), .rest = sett_arg_v(kept(c, w->rest))};
    const sett_arg shared = sett_arg_v(sett_binary_at(c->site, c->func, SETT_GT, x.rest, sett_arg_i(0)));
    x.end = where(c, shared, op(c, SETT_MIN, op(c, SETT_ADD, x.from, x.rest), kt), kt);
    return x;
}

static sett_arg after(const sett__ctx *c, const sett_work_tile *w)
{
    return op(c, SETT_ADD, sett_arg_v(number_of(c, w)), sett_arg_v(sett_grid_dim_at(c->site, c->b, 2)));
}

/* The next tile of the share, else the next whole one. */
static void advance_stream(const sett__ctx *c, sett_work_tile *w)
{
    const sett_arg zero = sett_arg_i(0), rest = sett_arg_v(kept(c, w->rest));
    sett_region shared = sett_if_begin(c->site, c->b, sett_binary_at(c->site, c->func, SETT_GT, rest, zero));
    const stream x = stream_of(c, w);
    const share of = share_of(c, w->s);
    const sett_arg left = op(c, SETT_MAX, op(c, SETT_SUB, x.rest, op(c, SETT_SUB, x.end, x.from)), zero);
    const sett_arg more = sett_arg_v(sett_binary_at(c->site, c->func, SETT_GT, left, zero));
    const sett_arg at = where(c, more, op(c, SETT_ADD, x.at, w->s->together), first_whole(c, &of));
    if (!c->b->error.status) {
        sett__set(c, w->at, at, zero);
        sett__set(c, w->from, zero, zero);
        sett__set(c, w->rest, left, zero);
    }
    end_region(&shared);
    sett_region whole = sett_else_begin(c->site, c->b);
    const sett_arg next = after(c, w);
    if (!c->b->error.status)
        sett__set(c, w->at, next, zero);
    end_region(&whole);
}

void sett_advance_to_next_work_at(sett_site site, sett_work_tile *w)
{
    sett__ctx c = {NULL, site, "sett_advance_to_next_work"};
    if (!begin(&c, w))
        return;
    if (w->s->streams) {
        advance_stream(&c, w);
        return;
    }
    sett_arg next = after(&c, w);
    if (!c.b->error.status)
        sett__set(&c, w->at, next, sett_arg_i(0));
    if (w->group)
        sett__find_group(&c, w);
}

sett_val *sett_is_valid_tile_at(sett_site site, const sett_work_tile *w)
{
    sett__ctx c = {NULL, site, "sett_is_valid_tile"};
    if (!begin(&c, w))
        return sett__poison_val(c.b);
    return w->group ? sett__is_group(&c, w) : sett_binary_at(site, c.func, SETT_LT, sett_arg_v(number_of(&c, w)), w->s->all);
}

/* The same of what a kernel alone knows. */
static pair divide_slowly(const sett__ctx *c, sett_arg x, sett_arg y)
{
    const sett_arg q = op(c, SETT_FLOORDIV, x, y);
    return (pair){q, op(c, SETT_SUB, x, op(c, SETT_MUL, q, y))};
}

/* Number i of a plane of `major` by `minor`: along major, `wide` columns of minor at a time, of which the last may be fewer. `by` divides by
 * what major tells. */
static pair place(const sett__ctx *c, sett_arg i, sett_arg major, sett_arg minor, int wide, pair (*by)(const sett__ctx *, sett_arg, sett_arg))
{
    const sett_arg width = sett_arg_i(wide);
    if (wide == 1) {
        pair p = by(c, i, major);
        return (pair){p.rest, p.quotient};
    }
    pair band = by(c, i, sett__mul(c, major, width));
    const sett_arg first = op(c, SETT_MUL, band.quotient, width);
    if (sett__leaf_div(minor) % wide == 0) {
        pair p = divide(c, band.rest, width);
        return (pair){p.quotient, op(c, SETT_ADD, first, p.rest)};
    }
    sett_arg have = op(c, SETT_MIN, op(c, SETT_SUB, minor, first), width), along = op(c, SETT_FLOORDIV, band.rest, have);
    return (pair){along, op(c, SETT_ADD, first, op(c, SETT_SUB, band.rest, op(c, SETT_MUL, along, have)))};
}

sett_arg sett_tile_coord_at(sett_site site, const sett_work_tile *w)
{
    sett__ctx c = {NULL, site, "sett_tile_coord"};
    if (!begin(&c, w))
        return sett__poison_arg(c.b);
    const sett_scheduler *s = w->s;
    const int along = s->raster == SETT_RASTER_M ? M : N, across = along == M ? N : M;
    sett_arg *kid = sett__kids(&c, MODES), i = sett_arg_v(number_of(&c, w));
    pair plane = {sett_arg_i(0), i};
    if (w->group)
        plane.quotient = sett_arg_v(kept(&c, w->group));
    else if (!sett__is_int(s->extent[L], 1))
        plane = divide(&c, i, sett__mul(&c, s->extent[M], s->extent[N]));
    const sett_arg extent[] = {w->group ? sett__group_tiles(&c, w) : s->extent[M], s->extent[N]};
    pair at = place(&c, plane.rest, extent[along], extent[across], s->swizzle, w->group && along == M ? divide_slowly : divide);
    kid[along] = at.quotient;
    kid[across] = at.rest;
    kid[L] = plane.quotient;
    for (int d = 0; d < L; d++)
        if (s->cluster[d] > 1)
            kid[d] = op(&c, SETT_ADD, op(&c, SETT_MUL, kid[d], sett_arg_i(s->cluster[d])), sett_arg_v(sett_cluster_id_at(site, c.b, c.func, SETT_BLOCK_IN_CLUSTER_IDX, d)));
    return c.b->error.status ? sett__poison_arg(c.b) : sett__node(&c, MODES, kid);
}

sett_arg sett_tile_rows_at(sett_site site, const sett_work_tile *w)
{
    sett__ctx c = {NULL, site, "sett_tile_rows"};
    if (!begin(&c, w))
        return sett__poison_arg(c.b);
    SETT__FAIL_IF(c.b, site, c.func, !w->group, sett__poison_arg(c.b), SETT_E_ARGUMENT, "the scheduler has neither .counts nor .offsets");
    sett_arg *kid = sett__kids(&c, 2);
    kid[0] = sett_arg_v(kept(&c, w->first)), kid[1] = sett_arg_v(kept(&c, w->end));
    return c.b->error.status ? sett__poison_arg(c.b) : sett__node(&c, 2, kid);
}

sett_arg sett_tile_k_range_at(sett_site site, const sett_work_tile *w)
{
    sett__ctx c = {NULL, site, "sett_tile_k_range"};
    if (!begin(&c, w))
        return sett__poison_arg(c.b);
    SETT__FAIL_IF(c.b, site, c.func, !w->s->streams, sett__poison_arg(c.b), SETT_E_ARGUMENT, "the scheduler has no .k_tiles");
    sett_arg *kid = sett__kids(&c, 2);
    const stream x = stream_of(&c, w);
    kid[0] = x.from, kid[1] = x.end;
    return c.b->error.status ? sett__poison_arg(c.b) : sett__node(&c, 2, kid);
}

sett_arg sett_tile_workers_at(sett_site site, const sett_work_tile *w)
{
    sett__ctx c = {NULL, site, "sett_tile_workers"};
    if (!begin(&c, w))
        return sett__poison_arg(c.b);
    SETT__FAIL_IF(c.b, site, c.func, !w->s->streams, sett__poison_arg(c.b), SETT_E_ARGUMENT, "the scheduler has no .k_tiles");
    const share x = share_of(&c, w->s);
    const sett_arg one = sett_arg_i(1), number = sett_arg_v(number_of(&c, w)), kt = w->s->k_tiles, together = w->s->together;
    /* The team that has the tile's last K tile: the first x.longer have one more than the others. */
    const sett_arg column = divide(&c, number, together).quotient, end = op(&c, SETT_SUB, op(&c, SETT_MUL, op(&c, SETT_ADD, column, one), kt), one);
    const sett_arg more = op(&c, SETT_ADD, x.each, one), inside = op(&c, SETT_MUL, x.longer, more);
    const sett_arg early = op(&c, SETT_FLOORDIV, end, more);
    const sett_arg late = op(&c, SETT_ADD, x.longer, op(&c, SETT_FLOORDIV, op(&c, SETT_MAX, op(&c, SETT_SUB, end, inside), sett_arg_i(0)), op(&c, SETT_MAX, x.each, one)));
    const sett_arg streamed = sett_arg_v(sett_binary_at(site, c.func, SETT_LT, number, x.streamed));
    const sett_arg is_early = sett_arg_v(sett_binary_at(site, c.func, SETT_LT, end, inside));
    sett_arg *kid = sett__kids(&c, MODES);
    kid[0] = x.worker, kid[2] = together;
    if (!c.b->error.status)
        kid[1] = where(&c, streamed, op(&c, SETT_ADD, op(&c, SETT_MUL, where(&c, is_early, early, late), together), x.member), x.worker);
    return c.b->error.status ? sett__poison_arg(c.b) : sett__node(&c, MODES, kid);
}
