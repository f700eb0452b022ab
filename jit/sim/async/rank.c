/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel asks of its cluster, the cluster's barrier, and registers that warps give each other. */
#include "async.h"

/* ---- the cluster's barrier ------------------------------------------------------------------------ */
bool sett__cluster_arrive(sett__core *c, sett__warp *w, const sett__insn *i)
{
    uint32_t twice = w->active & (w->apart.arrived | w->apart.released);
    if (twice && !sett__object(c, w, __builtin_ctz(twice), i->op, SETT_CHECK_BARRIER_COUNT, "cluster.arrive: the thread has arrived already, and not waited since"))
        return false;
    if (!sett__tell_sync(c, (sett__sync){.what = SETT__CLUSTER_ARRIVE, .warp = w, .lanes = w->active, .op = i->op}))
        return false;
    w->apart.arrived |= w->active;
    c->cta->cluster->arrived = true;
    c->cta->cluster->moves++;
    return true;
}

bool sett__cluster_wait(sett__core *c, sett__warp *w, const sett__insn *i)
{
    uint32_t never = w->active & ~(w->apart.arrived | w->apart.released);
    if (never && !sett__object(c, w, __builtin_ctz(never), i->op, SETT_CHECK_BARRIER_COUNT, "cluster.wait: the thread has not arrived"))
        return false;
    if (w->active & ~never & ~w->apart.released)
        return sett__try_again(w, SETT__FOR_CLUSTER, 0);
    w->apart.released &= ~w->active;
    sett__peers_known(c->cta, c->cta->cluster->gathered);
    return sett__tell_sync(c, (sett__sync){.what = SETT__CLUSTER_WAITED, .warp = w, .lanes = w->active, .op = i->op});
}

/* ---- where the block is ------------------------------------------------------------------------------ */
bool sett__cluster_register(sett__core *c, sett__warp *w, const sett__insn *i)
{
    const sett__cluster *k = c->cta->cluster;
    const int code = sett__form_op(c, i)->code;
    const int d = code < SETT__CLUSTER_CTARANK ? sett__form_attr(c, i, SETT__AT_CLUSTER_DIM) : 0;
    const uint32_t at = c->cta->at[d], grid = c->launch->grid[d], dim = k->dim[d];
    uint32_t x = code == SETT__CLUSTER_CTAID      ? at % dim
                 : code == SETT__CLUSTER_NCTAID   ? dim
                 : code == SETT__CLUSTERID        ? at / dim
                 : code == SETT__NCLUSTERID       ? grid / dim
                 : code == SETT__CLUSTER_CTARANK  ? c->cta->rank
                                                  : k->n;
    sett__spread(sett__at(w, i->d), &x, 4);
    return true;
}

/* A warp gives registers back, or takes what others gave: then it waits for them. */
bool sett__set_registers(sett__core *c, sett__warp *w, const sett__insn *i)
{
    uint32_t want = (uint32_t)sett__form_attr(c, i, SETT__AT_MAXNREG_COUNT), has = w->apart.registers;
    bool up = sett__form_attr(c, i, SETT__AT_MAXNREG_WAY) == 0;
    if (!sett__whole_warp(c, w, i, "setmaxnreg"))
        return false;
    if (up ? want < has : want > has)
        return sett__object(c, w, 0, i->op, SETT_CHECK_REGISTERS, "setmaxnreg: %s to %u registers, and the thread has %u", up ? "up" : "down", want, has);
    if (up && want - has > c->cta->registers)
        return sett__try_again(w, SETT__FOR_REGISTERS, 0);
    c->cta->registers += has - want;
    c->cta->cluster->moves++;
    w->apart.registers = want;
    sett__note_group(w, i->op);
    return true;
}
