/* SPDX-License-Identifier: Apache-2.0 */
/* Words that reports on shared and on global memory share: who, which of the two, and what would order them. */
#ifndef SETT_JIT_SIM_CHECK_PHRASE_H
#define SETT_JIT_SIM_CHECK_PHRASE_H
#include "agents.h"
#include "words.h"

/* One of two accesses. */
typedef struct sett__party {
    uint32_t op, domain, agent, lanes, round; /* lanes: UINT32_MAX: not known, or all. round: of the loop around it; 0: not known */
    uint8_t how;
    bool strong, later; /* strong: atomic, or volatile; later: of the two, in this order */
} sett__party;
const char *sett__code_text(const sett__core *, uint32_t op);             /* "store" */
void sett__put_where(const sett__core *, uint32_t op, sett__sink *);      /* "k.c:12" */
void sett__put_code(const sett__core *, uint32_t op, sett__sink *);       /* "store at k.c:12" */
void sett__put_block(const sett__core *, uint32_t domain, uint32_t rank, sett__sink *); /* of a cluster that may have ended: "block (0,1,0)" */
void sett__put_party(const sett__core *, const near *, const sett__party *, sett__sink *); /* a line: "write  k.c:12  block (0,0,0) warp 1 lane 3" */
void sett__put_the(const sett__core *, const near *, const sett__party *, const sett__party *other, sett__sink *); /* "the write", so that it is told from the other */
void sett__put_barrier(const sett__core *, uint32_t op, uint32_t other, bool one_warp, sett__sink *); /* "sett_sync_threads(b)": that both can have between them */
bool sett__put_branch(const sett__core *, uint32_t op, sett__sink *); /* " in the branch at k.c:9"; false: it is in none */
void sett__put_outside(const sett__core *, uint32_t op, uint32_t other, sett__sink *); /* ", outside the branch at k.c:9", where that barrier stands; or nothing */
void sett__put_round(const sett__core *, const near *, uint32_t op, uint32_t round, sett__sink *); /* ", round 2 of k.c:7"; or nothing */

/* Who else the older access is before. */
typedef struct sett__knower {
    uint32_t agent, lanes, op; /* a warp's; op: by which it learned */
} sett__knower;
bool sett__find_knower(const near *, uint32_t agent, uint32_t lane, uint32_t time, uint32_t self, sett__knower *); /* of its own cluster; self: the warp that is asked first */
void sett__put_knower(const sett__core *, const near *, const sett__knower *, const sett__party *old, const sett__party *now, sett__sink *); /* a path, and a fix */
/* Why what an operation released, or acquired, orders nothing; and the call that would. */
void sett__put_weak(const sett__core *, const sett__weak *, sett__sink *);
void sett__put_stronger(const sett__core *, const sett__weak weak[SETT__SIDES], sett__sink *);
const char *sett__done_by(uint32_t role); /* tell.c: the call that waits for what goes on by itself; NULL: of OF_WARP */
bool sett__same_line(const sett__core *, uint32_t op, uint32_t other);
/* tell.c: the lines of two accesses of one cluster, the path and the fix. time, lane: of the older one. */
void sett__put_pair(const actor *, uint8_t kind, const access *old, uint32_t time, uint32_t old_lane, uint32_t lane, sett__sink *, sett__finding *);

#endif
