/* SPDX-License-Identifier: Apache-2.0 */
/* Persistent clusters that take tile after tile. Numbers of tiles are numbers of clusters of tiles here, until a block asks for its
 * own coordinates. */
#include "async.h"
#include <sett/divmod.h>
#include <sett/tuple.h>

enum { M, N, L, MODES, MOST_TILES = INT32_MAX - 65535 }; /* and as many again as a grid has in z are an Int32 */
struct sett_scheduler {
    sett__head head;
    sett_arg extent[MODES], all; /* of the problem, in clusters; all of them */
    sett_arg clusters;
    int64_t cluster[2];
    int swizzle;
    sett_raster raster;
};
struct sett_work_tile {
    sett__head head;
    const sett_scheduler *s;
    sett_tensor *at; /* which, of all; in registers */
};

static sett_arg op(const sett__ctx *c, sett_binary_op what, sett_arg x, sett_arg y)
{
    return sett_index_at(c->site, c->func, what, x, y);
}

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
    return take_tiles(&c, s, a.tiles) && take_clusters(&c, s, a.clusters) ? s : poison;
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
    return c.b->error.status ? sett__poison_arg(c.b) : sett__node(&c, MODES, kid);
}

/* ---- going through them ---------------------------------------------------------------------------------- */
sett_work_tile *sett_initial_work_tile_at(sett_site site, const sett_scheduler *s)
{
    sett__ctx c = {NULL, site, "sett_initial_work_tile"};
    if (!sett__use_async(&c, (const sett__head *)s, SETT__K_SCHEDULER))
        return c.b ? (sett_work_tile *)&c.b->poison->atom : NULL;
    sett_work_tile *w = sett__new_object(c.b, SETT__K_WORK_TILE, sizeof *w);
    w->s = s;
    w->at = sett_var_at(site, c.b, SETT_I32, sett_arg_v(sett_block_idx_at(site, c.b, 2)));
    return c.b->error.status ? (sett_work_tile *)&c.b->poison->atom : w;
}

static bool begin(sett__ctx *c, const sett_work_tile *w)
{
    return sett__use_async(c, (const sett__head *)w, SETT__K_WORK_TILE);
}

static sett_val *number_of(const sett__ctx *c, const sett_work_tile *w)
{
    sett_val *v = sett__get(c, w->at, sett_arg_i(0));
    if (!c->b->error.status)
        v->lo = 0;
    return v;
}

void sett_advance_to_next_work_at(sett_site site, sett_work_tile *w)
{
    sett__ctx c = {NULL, site, "sett_advance_to_next_work"};
    if (!begin(&c, w))
        return;
    sett_arg next = op(&c, SETT_ADD, sett_arg_v(number_of(&c, w)), sett_arg_v(sett_grid_dim_at(site, c.b, 2)));
    if (!c.b->error.status)
        sett__set(&c, w->at, next, sett_arg_i(0));
}

sett_val *sett_is_valid_tile_at(sett_site site, const sett_work_tile *w)
{
    sett__ctx c = {NULL, site, "sett_is_valid_tile"};
    if (!begin(&c, w))
        return sett__poison_val(c.b);
    return sett_binary_at(site, c.func, SETT_LT, sett_arg_v(number_of(&c, w)), w->s->all);
}

typedef struct pair { sett_arg quotient, rest; } pair;
/* x / y and what is left; y is known at the launch. */
static pair divide(const sett__ctx *c, sett_arg x, sett_arg y)
{
    sett_quot_rem r = sett_divmod_at(c->site, x, sett_fast_divmod_at(c->site, c->b, y));
    return (pair){r.quotient, r.remainder};
}

/* Number i of a plane of `major` by `minor`: along major, `wide` columns of minor at a time, of which the last may be fewer. */
static pair place(const sett__ctx *c, sett_arg i, sett_arg major, sett_arg minor, int wide)
{
    const sett_arg width = sett_arg_i(wide);
    if (wide == 1) {
        pair p = divide(c, i, major);
        return (pair){p.rest, p.quotient};
    }
    pair band = divide(c, i, sett__mul(c, major, width));
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
    if (!sett__is_int(s->extent[L], 1))
        plane = divide(&c, i, sett__mul(&c, s->extent[M], s->extent[N]));
    pair at = place(&c, plane.rest, s->extent[along], s->extent[across], s->swizzle);
    kid[along] = at.quotient;
    kid[across] = at.rest;
    kid[L] = plane.quotient;
    for (int d = 0; d < L; d++)
        if (s->cluster[d] > 1)
            kid[d] = op(&c, SETT_ADD, op(&c, SETT_MUL, kid[d], sett_arg_i(s->cluster[d])), sett_arg_v(sett_cluster_id_at(site, c.b, c.func, SETT_BLOCK_IN_CLUSTER_IDX, d)));
    return c.b->error.status ? sett__poison_arg(c.b) : sett__node(&c, MODES, kid);
}
