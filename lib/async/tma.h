/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of tensor maps and their copies share. */
#ifndef SETT_LIB_ASYNC_TMA_H
#define SETT_LIB_ASYNC_TMA_H
#include "async.h"
#include <sett/tma.h>

struct sett_tma {
    sett__head head;
    const sett_tensor *gmem; /* as it was given */
    uint32_t root;           /* TMAP; imm: its index in the signature */
    int64_t elements;        /* of one copy, for all blocks that share it */
    sett_layout *cut;        /* (TMA,Rest) -> element of the tile: which lie together in shared memory, in order */
    sett_layout *parts;      /* (TMA,Rest) -> coordinates of the map: ((64,128),2):((1@0,1@1),64@0) */
    int64_t tile;            /* elements of the tile */
    int multicast;
    sett_arg shape;          /* of the tile */
    sett_tensor *coords;
};

/* A place in memory as operations take it. */
typedef struct sett__spot_at {
    uint32_t root, base;
    int64_t imm;
} sett__spot_at;
/* The element `more` elements behind a tensor's first, before its swizzle, in elements of its root. False: the build has failed. */
bool sett__place_of(const sett__ctx *, const sett_tensor *, int64_t more, sett__spot_at *);
bool sett__use_tma(sett__ctx *, const sett_tma *); /* sets the context's build, if it has none; false: it has failed */
/* Is the box that a copy takes aligned as its swizzle needs? Else the build fails. */
bool sett__tma_aligned(const sett__ctx *, const sett_tensor *smem, int swizzle);
/* Opens an if around what one lane of the warp does, and where pred holds; inside of an elected lane and without pred it opens none. */
typedef struct sett__issue {
    sett_region region;
    bool open;
} sett__issue;
bool sett__issue_begin(const sett__ctx *, const sett_val *pred, sett__issue *);
void sett__issue_end(sett__issue *);
/* Operands of a copy that it may lack: SETT__NONE. False: the build has failed. */
bool sett__mask_operand(const sett__ctx *, const sett_val *, uint32_t *);
bool sett__policy_operand(const sett__ctx *, const sett_val *, uint32_t *);
/* The address of a map in memory: 16 u64. False: the build has failed. */
bool sett__map_operand(const sett__ctx *, const sett_tensor *, uint32_t *);
/* SETT_ADD, MIN or MAX as an attribute; -1: it is none, and the build has failed. */
int sett__reduce_operand(const sett__ctx *, sett_binary_op);

#endif
