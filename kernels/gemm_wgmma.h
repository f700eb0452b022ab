/* SPDX-License-Identifier: Apache-2.0 */
/* sett_gemm_wgmma: what its rules (gemm_wgmma.c), its main loop (gemm_wgmma_loop.c) and its way out (gemm_wgmma_store.c) share. */
#ifndef GEMM_WGMMA_H
#define GEMM_WGMMA_H
#include "epilogue.h"
#include "stream_k.h"
#include "weights.h"

enum { GROUP = 128, WARP = 32, LINE = 128, ROWS = 64 /* of B, of an instruction */, RASTER = 8, BARRIERS = 1024, CHUNKS = 8, PACKED_STAGES = 16, BOXES = 32 /* at most */, BOXES_OF_A = 10, SUMS = 128 /* most of a thread */, PACKED_SUMS = 112, PROMOTED = 72, SHARED = 56 /* with as many of a K tile beside them; of .stream_k in two instructions */, SCALED = 128 /* columns of B with one scale */, SCALES_K = 8, SCALES_STAGES = 2 /* of SA: K tiles of a stage, and stages */ };

/* Of C, of a tile. */
static inline int columns(const sett_gemm_wgmma_options *o)
{
    return o->swiglu ? o->tuning.bn / 2 : o->tuning.bn;
}

/* Blocks, beside each other, that share A. */
static inline int cluster_of(const sett_gemm_wgmma_options *o)
{
    return o->tuning.cluster;
}

/* With .block_scales a tile of 128 x 128 is not turned: the rows of an instruction are A's, so that a thread has two of them, and two scales.
 * Turned it would have 32, and took 1.5 times as long on an H200. */
static inline bool upright(const sett_gemm_wgmma_options *o)
{
    return o->block_scales && o->tuning.bm == 2 * ROWS && o->tuning.bn == 2 * ROWS;
}

/* Warp groups that multiply. */
static inline int groups_of(const sett_gemm_wgmma_options *o)
{
    return columns(o) > ROWS || o->tuning.ping_pong || upright(o) ? 2 : 1;
}

/* Of these, how many share a tile. With .ping_pong each has a tile of its own: while one multiplies the other one stores. */
static inline int sharing(const sett_gemm_wgmma_options *o)
{
    return o->tuning.ping_pong ? 1 : groups_of(o);
}

/* Instructions of a warp group that lie below each other, in M of the instruction. */
static inline int high_of(const sett_gemm_wgmma_options *o)
{
    return o->tuning.bn / ROWS / sharing(o);
}

/* Rows of C that a warp group has of a tile; columns, of an instruction, of a part that it stores. */
static inline int rows_of_group(const sett_gemm_wgmma_options *o)
{
    return upright(o) ? ROWS : o->tuning.bm;
}

static inline int sums_of(const sett_gemm_wgmma_options *o)
{
    return high_of(o) * o->tuning.bm / 2;
}

/* Bits of a weight that is packed and decoded to A's type; 0: B is as A is. */
static inline int packed_bits(const sett_gemm_wgmma_options *o)
{
    return weights_bits(o->dtype, o->b);
}

/* Of packed weights: scales of a row that a K tile has. */
static inline int groups_of_tile(const sett_gemm_wgmma_options *o)
{
    return o->group > 0 && o->group < WEIGHTS_PIECE ? WEIGHTS_PIECE / o->group : 1;
}

/* Blocks of 64 rows of B, of a gate or of up, that a tile has; and how many times. */
static inline int row_blocks(const sett_gemm_wgmma_options *o)
{
    return columns(o) / ROWS;
}

static inline int halves_of(const sett_gemm_wgmma_options *o)
{
    return 1 + o->swiglu;
}

/* Of tiles within it ptxas spills nothing, but 4 to 24 bytes where SiLU, GELU, SwiGLU or a soft cap take registers too, 8 bytes of one of 136 rows with .stream_k and a long epilogue, of 128 and 144 rows with .promote,
 * .batched, .scaled and .residual, 24 bytes of 56 x 256 with .block_scales, .stream_k and .swiglu, and with .quantise 2 more: 116 bytes of 144 x 128 with .promote and .stream_k, 32 of 128 x 128 with .block_scales, 24 of i8. */
static inline int most_sums(const sett_gemm_wgmma_options *o)
{
    if (packed_bits(o)) /* beside two K tiles of weights, 16 registers each */
        return PACKED_SUMS - 32 * high_of(o);
    if (!o->promote)
        return SUMS;
    const bool wide = o->stream_k && groups_of(o) * high_of(o) == 4, scales = o->block_scales && groups_of(o) == 2; /* those take registers too */
    return upright(o) ? ROWS : wide || scales ? SHARED : PROMOTED;
}

/* Rows of A that one TMA box brings; it divides `rows`, those that a block loads. A box has few rows, as those that lie outside the tensor take long where
 * many blocks load them at once; but at least 16, and a tile at most BOXES_OF_A boxes, as one thread starts each copy. Boxes of 8 rows, where no other divides,
 * took 1.4 times as long on an H200. */
static inline int box_of(int rows)
{
    int box = 16;
    while (box < rows && box < 64 && (rows % box || rows / box > BOXES_OF_A))
        box += 8;
    return rows % box ? 8 : box;
}

static inline int box_of_a(const sett_gemm_wgmma_options *o)
{
    return box_of(o->tuning.bm / cluster_of(o));
}

/* Columns of C that one TMA box stores: of 64, as many as have 128 bytes. */
static inline int panel_of(const sett_gemm_wgmma_options *o)
{
    return sett__bytes_of(o->c) == 4 ? LINE / 4 : ROWS;
}

/* Blocks of 64 columns of C that lie in shared memory, of a warp group with .ping_pong: one, whose store it waits for before it fills the next,
 * as the other group multiplies meanwhile, and stages gain more; but all of a tile where R comes there. */
static inline int staged_blocks(const sett_gemm_wgmma_options *o)
{
    return o->tuning.ping_pong && !o->residual ? 1 : columns(o) / ROWS;
}

/* Stages that the block memory has room for. */
int sett__wgmma_most_stages(const sett_gemm_wgmma_options *);

/* Of .quantise 2: has a warp group all columns of its rows? */
static inline bool has_rows_alone(const sett_gemm_wgmma_options *o)
{
    return upright(o) || o->tuning.ping_pong;
}

typedef struct wgmma_parts {
    const sett_gemm_wgmma_options *o;
    const product *product;
    int bk;
    sett_tensor *a, *b, *c; /* shared memory: (bm,bk,stages), (bn,bk,stages), (bm,64,staged_blocks of each tile) */
    sett_tensor *sw;      /* of packed weights: (64 or 128,scales of a K tile,blocks of 64 rows,stages); b is (256,bits / 4,blocks,stages) of Uint64 */
    sett_tensor *sa, *SB; /* of .block_scales: (rows_of_sa,SCALES_K,SCALES_STAGES) of shared memory; the parameter */
    sett_tma *ta, *tb, *tc, *tsa, *tr, *tsw; /* tr: of .residual */
    sett_tensor *came; /* of .residual, an mbarrier for each warp group: R of a tile lies where C will */
    sett_pipeline *pipe, *turns, *scales; /* turns: of .ping_pong; scales: those of A, which threads read */
    sett_scheduler *tiles;
    sett_val *ktiles, *M, *N, *K;
    stream_k stream;
    terms *terms;
} wgmma_parts;

/* Rows of SA that a stage has. A box of TMA begins at 16 bytes, and rows of a group anywhere: then at up to 3 before the tile's. */
static inline int rows_of_sa(const sett_gemm_wgmma_options *o)
{
    return o->tuning.bm + (o->grouped == SETT_GROUPED_CONTIGUOUS ? 4 : 0);
}

/* A warp group's main loop. */
typedef struct wgmma_group {
    sett_val *number;
    sett_tiled_mma *mma;
    sett_thr_mma *mine;
    sett_tensor *acc, *part[2], *weights[2], *stages; /* registers: sums; of .promote those of a K tile, or of two in turn; of packed weights two K tiles of them; how many stages there were before */
    sett_tensor *residuals; /* of .residual: how many tiles had one before */
    sett_pipeline_state *get, *done, *scales;
} wgmma_group;
/* Where a work tile lies: (m,n) among the tiles of its rows. */
typedef struct wgmma_place {
    sett_arg at;
    sett_val *batch; /* or group; NULL: there is one */
    sett_val *first; /* of its rows among all; NULL: 0 */
    sett_val *rows;  /* how many there are */
} wgmma_place;
wgmma_place sett__wgmma_place(sett_build *, const wgmma_parts *, const sett_work_tile *);
/* Of a tensor (M,..), or (M,..,L), the rows among which the tile lies. */
sett_tensor *sett__wgmma_rows(const wgmma_place *, sett_tensor *);

/* How many scales of other rows stand before those of a tile in a stage of SA, as a box of TMA begins at 16 bytes; NULL: none. */
sett_val *sett__wgmma_scales_begin_after(const wgmma_place *);

/* Of one warp group, or of so many; n: columns of the instruction. */
sett_tiled_mma *sett__wgmma_product(sett_build *, const sett_gemm_wgmma_options *, int groups, int n);
/* A warp group's registers for the sums of a tile. */
sett_tensor *sett__wgmma_sums(const wgmma_parts *, const wgmma_group *);
/* What a warp group has of a tile is converted and stored. */
void sett__wgmma_store(sett_build *, const wgmma_parts *, const wgmma_group *, const wgmma_place *);
/* Which of its sums are of boxes that were loaded. */
sums_inside sett__wgmma_inside(sett_build *, const wgmma_parts *, const wgmma_group *, const wgmma_place *);
/* R of a tile that the warp group will store goes to where it will store it, while the main loop goes on. */
void sett__wgmma_request_residual(sett_build *, const wgmma_parts *, const wgmma_group *, const wgmma_place *);
/* What one thread does, which loads, and what a warp group does, which multiplies. */
void sett__wgmma_produce(sett_build *, const wgmma_parts *);
void sett__wgmma_consume(sett_build *, const wgmma_parts *, sett_val *group);
/* sums = or += the product of the stage that has come, in the background. */
void sett__wgmma_products(sett_build *, const wgmma_parts *, const wgmma_group *, sett_tensor *sums, bool first);
/* .promote: the registers that it needs; the sums of K tiles [from, to) of the tile at (m,n). */
void sett__wgmma_begin_promoted(const wgmma_parts *, wgmma_group *);
void sett__wgmma_promoted(sett_build *, const wgmma_parts *, const wgmma_group *, const wgmma_place *, sett_val *from, sett_val *n);

/* ---- packed weights: gemm_wgmma_mixed.c ---- */
/* Is there a way to decode them? Refuses what cannot be. */
void sett__wgmma_check_packed(sett_gemm_wgmma_options *, choice *);
/* Bytes of a stage. */
int sett__wgmma_packed_bytes(const sett_gemm_wgmma_options *);
/* Bytes that copies bring to a stage. */
int sett__wgmma_packed_tx(const wgmma_parts *);
/* The places of B and SW in shared memory, and what brings them. */
void sett__wgmma_packed_places(sett_build *, wgmma_parts *, sett_tensor *const from[2]);
/* The loader's: those of K tile k of a tile to the stage. */
typedef struct packed_loads {
    sett_tensor *b[2], *sw[2]; /* of each half; (.., .., .., k) */
} packed_loads;
packed_loads sett__wgmma_packed_loads(const wgmma_parts *, const wgmma_place *);
void sett__wgmma_load_packed(const wgmma_parts *, const packed_loads *, sett_pipeline_state *, sett_val *k);
/* acc = the product of n K tiles. */
void sett__wgmma_begin_packed(sett_build *, const wgmma_parts *, wgmma_group *);
void sett__wgmma_packed(sett_build *, const wgmma_parts *, const wgmma_group *, sett_val *from, sett_val *n);
#endif
