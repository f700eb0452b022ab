/* SPDX-License-Identifier: Apache-2.0 */
/* What goes on beside the threads: clusters, mbarriers, pipelines, schedulers of tiles. */
#ifndef SETT_LIB_ASYNC_H
#define SETT_LIB_ASYNC_H
#include "lib/tensor/tensor.h"
#include <sett/cluster.h>
#include <sett/pipeline.h>
#include <sett/scheduler.h>

/* ---- objects ------------------------------------------------------------------------------------ */
#define SETT__K_PIPELINE SETT__KIND(ASYNC, 0, "pipeline")
#define SETT__K_PIPELINE_STATE SETT__KIND(ASYNC, 1, "state of a pipeline")
#define SETT__K_SCHEDULER SETT__KIND(ASYNC, 2, "scheduler")
#define SETT__K_WORK_TILE SETT__KIND(ASYNC, 3, "work tile")
#define SETT__K_TMA SETT__KIND(ASYNC, 4, "tensor map")

/* ---- state.c: what the room keeps in a build ------------------------------------------------------ */
typedef struct sett__due { /* what a call needs to be recorded behind it */
    struct sett__due *older;
    sett_site site;
    const char *func, *text;
    bool done;
} sett__due;
typedef struct sett__async_kept {
    sett__due *dues;    /* the newest; a body that ends before all are done has failed */
    sett_val *one_lane; /* the newest Boolean that elects a lane of each warp */
} sett__async_kept;
sett__async_kept *sett__async_of(sett_build *);

/* ---- cluster.c ---------------------------------------------------------------------------------- */
int64_t sett__cluster_size(const sett_build *); /* of a cluster; 1: sett_cluster was not called */

void sett__arrive_cluster(const sett__ctx *, bool relaxed);
void sett__meet_cluster(const sett__ctx *); /* cluster.wait: no block ends before its peers come here */

/* ---- mbarrier.c --------------------------------------------------------------------------------- */
/* One mbarrier, as operations take it: root, base (or SETT__NONE) and a constant. */
typedef struct sett__bar {
    uint32_t root, base;
    int64_t imm;
    bool peer;
} sett__bar;
sett_tensor *sett__make_mbarriers(const sett__ctx *, int64_t n, const char *name);
/* Of a tensor of one element. peer: it may be a peer's. False: the build has failed. */
bool sett__take_bar(const sett__ctx *, const sett_tensor *, bool peer, sett__bar *);
/* Records an operation on an mbarrier. Its other operands follow the two of the place. */
uint32_t sett__record_bar(const sett__ctx *, const sett__bar *, sett__code, int n_args, const uint32_t *args, int n_attrs, const int32_t *attrs);
/* Waits until the phase of this parity has ended. cluster: what threads of other blocks released is then seen. */
void sett__wait_bar(const sett__ctx *, const sett__bar *, uint32_t parity, bool cluster);
/* A Boolean that is true in one lane of the warp, as operations take it: the same one as before, where that is visible. All lanes
 * of the warp reach the call; SETT_E_REGION: an enclosing sett_if elects one lane already. SETT__NONE: the build has failed. */
uint32_t sett__one_lane(const sett__ctx *);
const sett__region *sett__electing(const sett_build *); /* the open sett_if that elects one lane; NULL: there is none */

/* ---- pipeline.c --------------------------------------------------------------------------------- */
enum { SETT__FULL, SETT__EMPTY, SETT__TURN }; /* sides: who arrives there are producers, and consumers */
struct sett_pipeline {
    sett__head head;
    uint8_t kind;           /* a sett_pipeline_kind */
    bool relaxed;
    int stages, turns;      /* turns: mbarriers of a stage, 1 unless groups take turns */
    int targets;            /* blocks to which a consumer releases a stage */
    sett_group group[2];
    int64_t tx_bytes;
    sett_tensor *bar[2];    /* one a stage */
    sett_val *to[2];        /* the rank of the block that has the barriers; NULL: the own */
    unsigned modes;         /* of the cluster's layout, along which copies are multicast */
    const sett_layout *cluster;
    uint32_t site;          /* in the build's list */
};
struct sett_pipeline_state {
    sett__head head;
    const sett_pipeline *pipe;
    uint8_t side;               /* SETT__FULL: a producer. SETT__EMPTY. SETT__TURN */
    sett_tensor *stage, *phase; /* one element each, of registers */
    sett_tensor *at;            /* the barriers at which it arrives, the own or a peer's; NULL: none */
    sett_val *arrives;          /* does the thread? NULL: each does */
    sett_val *turn, *next;      /* of an order: the group's mbarrier in a stage, and that of the next */
    bool stays;                 /* one stage that a step gave, which is committed or released, and no more */
    sett__due *due;
};
extern const char *const sett__pipeline_name[]; /* by kind */
/* Has a state, or a pipeline, of this build? */
bool sett__use_async(sett__ctx *, const sett__head *, sett__kind);
/* Blocks that release to a block, which is as many as it releases to. 0: the build has failed. */
int sett__pipeline_targets(const sett__ctx *, const sett_pipeline *);
/* Which thread of a group arrives, and where: of a cluster, the first threads, one for each block. */
bool sett__pick_arrivals(const sett__ctx *, sett_pipeline_state *);

#endif
