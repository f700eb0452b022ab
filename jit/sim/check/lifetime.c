/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a block: nobody may touch its shared memory any more. */
#include "shared_cells.h"

/* Accesses that the block's end must come behind: those of peers and of copies. */
static bool stays(uint32_t rank, uint32_t role, uint32_t block)
{
    return rank != block || role == OF_BULK_READ || role == OF_MBARRIER;
}

static bool left_behind(actor *x, uint32_t time, uint32_t lane, uint32_t at)
{
    uint32_t role, rank, index;
    if (time <= x->known->floor[0] || time == x->seen)
        return true;
    x->seen = time;
    const access *a = sett__access_at(x->n, time);
    if (a->op == SETT__NONE)
        return true;
    sett__agent_is(x->n, a->agent, &role, &rank, &index);
    return !stays(rank, role, x->where->rank) || sett__covers(x->n, x->known, BEFORE, a->agent, lane, time) || sett__tell_conflict(x, SETT_CHECK_LIFETIME, time, lane, lane, at);
}

/* Nobody of another block, and no copy, may still touch its memory: its warps have waited for those who did. */
bool sett__shared_left(sett__core *c, near *n, const sett__cta *b)
{
    struct cells *s = n->block[b->rank].cells;
    clocks *all = NULL;
    if (n->blocks == 1 && n->first[OF_BULK_READ] < 0 && n->first[OF_MBARRIER] < 0)
        return true;
    bool fine = true;
    for (uint32_t w = 0; w < n->warps; w++) {
        const walker *x = &n->walker[b->rank * n->warps + w];
        if (!all && !(all = sett__clocks_new(n, x->known)))
            return false;
        sett__clocks_join(n, all, x->known);
        if (x->more)
            sett__clocks_join(n, all, x->more);
    }
    bool some = false; /* of those who may have, has any an access that nobody waited for? */
    for (uint32_t k = 0, role, rank, index; k < n->agents && !some; k++) {
        sett__agent_is(n, k, &role, &rank, &index);
        some = !sett__covers_all(n, all, BEFORE, k, n->last[k]) && stays(rank, role, b->rank);
    }
    if (!some) {
        sett__clocks_drop(n, all);
        return true;
    }
    sett__floors(n, all);
    actor x = {.n = n, .c = c, .known = all, .where = n->block[b->rank].cta, .op = SETT__NONE};
    for (uint32_t k = 0; k < s->n_row && fine; k++)
        for (uint32_t i = s->row[k].at, end = i ? i + (ROW >> s->row[k].lg) : 0; i < end && fine; i++) {
            const uint32_t at = (k << ROW_LG) + ((i - s->row[k].at) << s->row[k].lg);
            fine = left_behind(&x, s->write[i], s->write_lane[i], at);
            for (uint32_t read = s->read[i], lane = s->read_lane[i]; read && fine; lane = MANY_LANES) {
                const reader *r = read & SET ? &n->readers->of[read & ~SET] : NULL;
                fine = left_behind(&x, r ? r->time : read, r ? r->lane : lane, at);
                read = r ? r->next : 0;
            }
        }
    sett__clocks_drop(n, all);
    return fine;
}
