/* SPDX-License-Identifier: Apache-2.0 */
/* A static persistent tile scheduler: the grid has as many clusters as the GPU runs at once, and each takes
 * tile after tile of a problem that may have any number of them (CuTe's StaticPersistentTileScheduler).
 *
 *     sett_cluster(b, 2, 1);
 *     sett_val *most = sett_sym(b, "clusters");         sett_max_active_clusters of the kernel, at the launch
 *     sett_scheduler *s = sett_tile_scheduler(b, .tiles = T(sett_ceil_div(M, 128), sett_ceil_div(N, 256)),
 *         .clusters = SETT_A(most), .swizzle = 8);
 *     sett_grid(b, sett_scheduler_grid(s));
 *     ...
 *     sett_work_tile *w = sett_initial_work_tile(s);
 *     sett_while (b, sett_is_valid_tile(w)) {
 *         sett_arg at = sett_tile_coord(w);                                  (m,n,l) of this block's tile
 *         ...
 *         sett_advance_to_next_work(w);
 *     }
 *
 * All warps of a block that need to know the tile have a work tile of their own, and go through the same
 * ones. */
#ifndef SETT_SCHEDULER_H
#define SETT_SCHEDULER_H
#include <sett/tensor.h>

#ifndef __cplusplus

/* .tiles: how many there are, T(m, n) or T(m, n, l), of C numbers, symbols and integer scalars. A cluster of
 * (x,y) blocks takes x by y tiles at a time. Where these do not divide the tiles, tiles past the end are
 * given out as well: a block whose tile is none loads zeros by TMA and stores nothing, as at the edge of a
 * tile. More than 2147418112 clusters of tiles are SETT_E_RANGE, here or at the launch.
 * .clusters: at most so many at once; a C number, or a symbol or scalar that each launch gives.
 * .raster: along which mode the tiles that follow each other lie: SETT_RASTER_M (the usual) or SETT_RASTER_N.
 * .swizzle: tiles of so many columns (rows, along N) are taken together before the next in that mode, so that
 * what blocks read at a time is near each other in L2; 0 or 1: one. The last columns may be fewer; they are
 * taken together.
 * Cluster i of the grid takes clusters of tiles i, i + n, i + 2n, of n in the grid.
 *
 * .k_tiles, .streamed: stream-K, and split K. A tile is cut along K into .k_tiles, and the first .streamed
 * tiles (clusters of tiles) are streamed: all their K tiles, tile behind tile, are dealt to the .clusters
 * workers in equal shares, so that a share may begin and end inside a tile. Each cluster takes its share
 * first, then whole tiles. .streamed 0: whole tiles alone. All tiles streamed to S times as many clusters:
 * each tile is split into S parts. Both may be symbols; .streamed times .k_tiles is at most 2147418112.
 * .together: so many tiles that follow each other are streamed side by side, each by a worker of its own, at
 * the same K tiles, as tiles that read the same rows of an operand should be: it is then read once. Of
 * .streamed as many are streamed as it divides; none where .clusters is less. 0: 1.
 *
 *     sett_arg k = sett_tile_k_range(w);              T(first, end) of this worker's K tiles of the tile
 *     sett_arg who = sett_tile_workers(w);            T(this worker, the last of the tile, step)
 *     sett_if (b, sett_gt(sett_value(b, sett_get(k, 0)), 0))    a part of a tuple is a sett_arg
 *
 * Workers are numbered from 0 to .clusters - 1, so memory for sums has .clusters places of a tile, for each
 * block of a cluster. "last" is a worker of the tile too. The last K tile may reach past K, as a tile may
 * past M and N. Whoever leaves sums says so by an atomic with SETT_SEM_RELEASE and SETT_SCOPE_GPU, and the
 * owner waits by one with SETT_SEM_ACQUIRE, which sets the word back for the next launch (tensor.h).
 *
 * A worker that begins at K tile 0 owns the tile: it adds what workers this + step ... last leave in memory,
 * in that order, and stores the tile. One that begins later leaves its sums in memory and says so; it does
 * that at most once a launch, before all else. Owners wait for clusters of smaller index alone, which a GPU
 * starts first: no cluster waits for one that has not begun.
 *
 * .counts, .offsets: groups, as of a mixture of experts, whose rows a kernel alone knows. .tiles is
 * T(m, n, groups) then, of which m is the most rows of tiles that a group may have, and .rows says how many
 * rows a tile has. One of two tensors of Int32 in memory tells each group's rows: .counts (groups), or
 * .offsets (groups + 1), where they begin among all, and where the last ones end. A group has
 * ceil(rows / .rows) x n tiles, of none where it has no rows, and the tiles of all groups follow each other.
 * They are read when a work tile is made and when it advances, all groups once by each work tile.
 *
 *     sett_arg rows = sett_tile_rows(w);              T(first, end) of the group; of .counts T(0, count)
 *
 * sett_tile_coord is (m,n,group), of which m counts from the group's first row. */
typedef enum sett_raster { SETT_RASTER_M, SETT_RASTER_N } sett_raster;
typedef struct sett_scheduler sett_scheduler;
typedef struct sett_work_tile sett_work_tile;
typedef struct sett_scheduler_args {
    size_t size;
    sett_arg tiles, clusters;
    int swizzle;
    sett_raster raster;
    sett_arg k_tiles, streamed, together;
    const sett_tensor *counts, *offsets;
    int rows, reserved; /* reserved: 0 */
} sett_scheduler_args;
SETT_API sett_scheduler *sett_tile_scheduler_at(sett_site, sett_build *, const sett_scheduler_args *);
#define sett_tile_scheduler(b, ...) \
    sett_tile_scheduler_at(SETT_HERE, b, &(sett_scheduler_args){.size = sizeof(sett_scheduler_args), \
        __VA_ARGS__})
/* (x, y, clusters): CuTe's get_grid_shape, for sett_grid. The least of the clusters of tiles and .clusters;
 * with .streamed tiles up to .clusters, as several share a tile. */
SETT_API sett_arg sett_scheduler_grid_at(sett_site, const sett_scheduler *);
#define sett_scheduler_grid(s) sett_scheduler_grid_at(SETT_HERE, s)

/* The cluster's first tile; the next. is_valid_tile: Boolean, is there one? tile_coord: the coordinates
 * (m,n,l) of the tile of this block, in the region of the call. */
SETT_API sett_work_tile *sett_initial_work_tile_at(sett_site, const sett_scheduler *);
#define sett_initial_work_tile(s) sett_initial_work_tile_at(SETT_HERE, s)
SETT_API void sett_advance_to_next_work_at(sett_site, sett_work_tile *);
#define sett_advance_to_next_work(w) sett_advance_to_next_work_at(SETT_HERE, w)
SETT_API sett_val *sett_is_valid_tile_at(sett_site, const sett_work_tile *);
#define sett_is_valid_tile(w) sett_is_valid_tile_at(SETT_HERE, w)
SETT_API sett_arg sett_tile_coord_at(sett_site, const sett_work_tile *);
#define sett_tile_coord(w) sett_tile_coord_at(SETT_HERE, w)
/* Of a scheduler with .k_tiles, see above; Int32 each. A tile that is not streamed has all K tiles, and one
 * worker. */
SETT_API sett_arg sett_tile_k_range_at(sett_site, const sett_work_tile *);
#define sett_tile_k_range(w) sett_tile_k_range_at(SETT_HERE, w)
SETT_API sett_arg sett_tile_workers_at(sett_site, const sett_work_tile *);
#define sett_tile_workers(w) sett_tile_workers_at(SETT_HERE, w)
/* Of a scheduler with .counts or .offsets, see above; Int32 each. */
SETT_API sett_arg sett_tile_rows_at(sett_site, const sett_work_tile *);
#define sett_tile_rows(w) sett_tile_rows_at(SETT_HERE, w)

#endif /* __cplusplus */
#endif
