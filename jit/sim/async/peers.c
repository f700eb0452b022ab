/* SPDX-License-Identifier: Apache-2.0 */
/* Shared memory of a peer is there from the first wait of its cluster until it ends. What is told here is an error in whatever order
 * warps ran: an access before anything said that the peer has begun, and a block that ends after an access by a peer when nothing
 * that it waited for was later. A kernel that may learn of its peers from memory is taken at its word. */
#include "async.h"

/* Does the kernel read words that others may write to tell it something? */
bool sett__listens(const sett__tape *t)
{
    bool found = false;
    for (uint32_t v = 0; v < t->n_op && !found; v++) {
        const sett__op *o = &t->op[v];
        const uint8_t cls = sett__ops[o->code].cls;
        found = cls == SETT__C_ATOM || o->code == SETT__PTXV || (cls == SETT__C_LOAD && sett__attr(t->arg, o, SETT__AT_ACCESS_VOLATILE));
    }
    return found;
}

/* The block has waited for what was complete at that time: it knows of all accesses before. */
void sett__peers_known(sett__cta *b, uint64_t when)
{
    b->known = b->known > when ? b->known : when;
}

/* A block has ended: may it? */
bool sett__peers_left(sett__core *c, const sett__cta *b)
{
    const sett__touched *t = &b->touched;
    if (t->when <= b->known)
        return true;
    sett__cta *was = c->cta;
    sett__cta_turn_to(c, t->by);
    bool on = sett__object(c, t->warp, t->lane, t->op, SETT_CHECK_LIFETIME, "%s: block %u of the cluster ended, and had not waited for this access to its shared memory: "
        "cluster.arrive and cluster.wait at the end of the kernel keep it\n  fix    sett_cluster_sync(b) by all threads of the cluster behind this", sett__ops[c->program->given->op[t->op].code].text, b->rank);
    sett__cta_turn_to(c, was);
    return on;
}

/* ---- warp groups ----------------------------------------------------------------------------------------------- */
/* setmaxnreg, which all warps of a warp group execute. */
void sett__note_group(sett__warp *w, uint32_t op)
{
    w->apart.together = (w->apart.together + op + 1) * 0x9e3779b97f4a7c15u;
    w->apart.last = op + 1;
}

/* "setmaxnreg at op 12" */
static const char *last_of(const sett__core *c, const sett__warp *w, char *buf, size_t size)
{
    char where[96];
    if (!w->apart.last)
        return "none";
    const uint32_t op = w->apart.last - 1;
    snprintf(buf, size, "%s at %s", sett__ops[c->program->given->op[op].code].text, sett__where_noted(c, op, where, sizeof where));
    return buf;
}

/* The block has ended: have the warps of each group executed the same? */
bool sett__groups_left(sett__core *c, const sett__cta *b)
{
    char one[140], other[140];
    for (uint32_t i = 0; i < b->n_warps; i++) {
        const sett__warp *w = &b->warp[i], *first = &b->warp[i / SETT__GROUP * SETT__GROUP];
        if (w->apart.together == first->apart.together)
            continue;
        const sett__warp *at = w->apart.last ? w : first;
        return sett__object(c, at, 0, at->apart.last - 1, SETT_CHECK_REGISTERS, "warps %u and %u of a warp group executed different setmaxnreg, which is of all four: the last were %s, and %s",
            first->index, w->index, last_of(c, first, one, sizeof one), last_of(c, w, other, sizeof other));
    }
    return true;
}
