/* SPDX-License-Identifier: Apache-2.0 */
/* A part of tape.h: what is known of a root of registers that wgmma reads and writes in the background. Included there alone.
 * A root is idle or in flight, and apart from that fenced or not. The builder and the verifier follow each root by the same
 * events: the verifier refuses an event that may not come, the builder records a fence before one that needs it. */
#ifndef SETT_TAPE_FLIGHT_H
#define SETT_TAPE_FLIGHT_H

enum { SETT__FLIES = 1, SETT__SUM = 2, SETT__FACTOR = 4, SETT__MIXED = 8, SETT__FENCED = 16 };
typedef struct sett__root_state {
    uint32_t touched; /* the operation that used it since the last fence; NONE: none */
    uint32_t by;      /* the newest product since then; NONE: none */
    uint8_t flags;    /* in flight; as an accumulator; as A; in more than one shape; a fence is the newest operation on it */
    uint8_t age;      /* of one in flight: commits since its newest product, counted to 255 */
} sett__root_state;
typedef struct sett__op_list { const sett__op *op; const uint32_t *arg; } sett__op_list; /* of a tape or a build */

/* ---- flight.c: events ----------------------------------------------------------------------- */
sett__root_state sett__flight_new(uint32_t root); /* made, and never fenced */
void sett__flight_begin(sett__root_state *, uint32_t product, int as); /* as: SUM or FACTOR */
void sett__flight_commit(sett__root_state *);
void sett__flight_wait(sett__root_state *);
void sett__flight_fence(sett__root_state *);
void sett__flight_touch(sett__root_state *, uint32_t op); /* a load, a store, or what else ends a fence's effect */
/* Where ways join, a root is what it may be: touched if on one way, in flight if on one, and there as young as on any. Did the
 * first grow? */
bool sett__flight_join(sett__op_list, sett__root_state *, const sett__root_state *);

/* ---- what may come next -------------------------------------------------------------------- */
enum { SETT__FLIGHT_FINE, SETT__FLIGHT_NEEDS_WAIT, SETT__FLIGHT_NEEDS_FENCE };
int sett__flight_may_begin(sett__op_list, const sett__root_state *, uint32_t product, int as);
static inline bool sett__flight_may_touch(const sett__root_state *s)
{
    return !(s->flags & SETT__FLIES);
}
/* Does a wait that leaves so many groups pending end its flight? */
static inline bool sett__flight_lands(const sett__root_state *s, int pending)
{
    return s->flags & SETT__FLIES && s->age > pending;
}
#endif
