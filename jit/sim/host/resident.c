/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker turns to: a block, or, of an async program, a cluster of them, by its block of rank 0. */
#include "inside.h"

sett__cta *sett__cta_make(sett__core *c, const sett__program *p)
{
    return p->async ? sett__cluster_make(c, p) : sett__block_make(c, p);
}

void sett__cta_free(sett__cta *b)
{
    if (b && b->cluster)
        sett__cluster_free(b->cluster);
    else
        sett__block_free(b);
}

void sett__cta_place(sett__core *c, uint64_t number)
{
    if (c->cta->cluster)
        sett__cluster_place(c, number);
    else
        sett__block_place(c, number);
}

/* All of it, unless the launch is to end: arrays of all warps may take long to fill. */
bool sett__cta_begin(sett__core *c)
{
    if (c->cta->cluster)
        sett__cluster_begin(c);
    else
        sett__block_begin(c);
    return !sett__ended(c) || sett__halt(c, NULL, NULL);
}

sett__turn_end sett__cta_go_on(sett__core *c)
{
    return c->cta->cluster ? sett__cluster_go_on(c) : sett__block_go_on(c);
}
