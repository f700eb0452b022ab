/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the scheduler share: scheduler.c, and scheduler_groups.c, of groups whose rows a kernel alone knows. Functions that
 * record take the context of the public call. */
#ifndef SETT_LIB_SCHEDULER_H
#define SETT_LIB_SCHEDULER_H
#include "async.h"
#include <sett/divmod.h>
#include <sett/tuple.h>

enum { M, N, L, MODES, MOST_TILES = INT32_MAX - 65535 }; /* and as many again as a grid has in z are an Int32 */
struct sett_scheduler {
    sett__head head;
    sett_arg extent[MODES], all; /* of the problem, in clusters; all of them */
    sett_arg clusters;
    sett_arg k_tiles, streamed, together; /* of .streams alone */
    bool streams;
    const sett_tensor *counts, *offsets; /* one of them, of groups; else NULL */
    int64_t rows;                        /* of a cluster's tiles, of groups */
    int64_t cluster[2];
    int swizzle;
    sett_raster raster;
};
struct sett_work_tile {
    sett__head head;
    const sett_scheduler *s;
    sett_tensor *at; /* which, of all; in registers, as what follows */
    sett_tensor *from; /* its first K tile; NULL unless tiles are streamed */
    sett_tensor *rest; /* K tiles of this worker's share from there on; 0: it is a whole tile */
    sett_tensor *group; /* of groups: which, and .at counts from its first tile on; else NULL */
    sett_tensor *first, *end; /* its rows */
};

static inline sett_arg op(const sett__ctx *c, sett_binary_op what, sett_arg x, sett_arg y)
{
    return sett_index_at(c->site, c->func, what, x, y);
}

static inline sett_arg where(const sett__ctx *c, sett_arg test, sett_arg x, sett_arg y)
{
    return sett_arg_v(sett_where_at(c->site, test.u.v, x, y));
}

typedef struct pair { sett_arg quotient, rest; } pair;
/* x / y and what is left; y is known at the launch. */
static inline pair divide(const sett__ctx *c, sett_arg x, sett_arg y)
{
    sett_quot_rem r = sett_divmod_at(c->site, x, sett_fast_divmod_at(c->site, c->b, y));
    return (pair){r.quotient, r.remainder};
}

static inline sett_tensor *keep(const sett__ctx *c, sett_arg x)
{
    return sett_var_at(c->site, c->b, SETT_I32, x);
}

static inline sett_val *kept(const sett__ctx *c, sett_tensor *t)
{
    sett_val *v = sett__get(c, t, sett_arg_i(0));
    if (!c->b->error.status)
        v->lo = 0;
    return v;
}

static inline void end_region(sett_region *r)
{
    r->done = true; /* it was recorded */
    sett_region_end(r);
}

/* ---- scheduler_groups.c ----------------------------------------------------------------------------- */
bool sett__take_groups(const sett__ctx *, sett_scheduler *, const sett_scheduler_args *);
void sett__begin_groups(const sett__ctx *, sett_work_tile *);
/* From a number that counts from the first tile of its group on to the same tile's group, which may be a later one. */
void sett__find_group(const sett__ctx *, const sett_work_tile *);
sett_val *sett__is_group(const sett__ctx *, const sett_work_tile *);
/* Rows of tiles of its group, in clusters. */
sett_arg sett__group_tiles(const sett__ctx *, const sett_work_tile *);
#endif
