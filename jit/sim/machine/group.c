/* SPDX-License-Identifier: Apache-2.0 */
/* Warps that make an instruction together, and warps that try theirs again. */
#include "machine.h"

bool sett__try_again(sett__warp *w, int what, uint32_t id)
{
    w->pc--;
    w->state = SETT__WAITING;
    w->wait.what = what;
    w->wait.id = id;
    return true;
}

bool sett__full_warp(sett__core *c, const sett__warp *w, const sett__insn *i)
{
    const char *what = sett__form_text(c, i);
    if (!sett__whole_warp(c, w, i, what))
        return false;
    return w->live == UINT32_MAX || sett__object(c, w, __builtin_ctz(w->live), i->op, SETT_CHECK_DIVERGENCE, "%s: the block's last warp has %d threads, and it is of %d", what,
                                        __builtin_popcount(w->live), WARP);
}

bool sett__whole_group(sett__core *c, const sett__warp *w, const sett__insn *i)
{
    if (!sett__full_warp(c, w, i))
        return false;
    return w->index / SETT__GROUP * SETT__GROUP + SETT__GROUP <= c->cta->n_warps ||
           sett__fault(c, w, 0, i->op, SETT_CHECK_DIVERGENCE, "%s: warp %u is in a warp group of %u warps, and it is of 4", sett__form_text(c, i), w->index, c->cta->n_warps % SETT__GROUP);
}

const sett__warp *sett__wgmma_missing(const sett__cta *b, const sett__warp *w, uint32_t nth)
{
    const sett__warp *first = &b->warp[w->index / SETT__GROUP * SETT__GROUP];
    for (int n = 0; n < SETT__GROUP; n++)
        if (first[n].apart.products <= nth)
            return &first[n];
    return NULL;
}

int sett__source_lane(int how, int lane, int b, int width)
{
    int least = lane & ~(width - 1), most = least | (width - 1), j = lane;
    switch (how) {
    case SETT__SHFL_IDX:
        j = least | (b & (width - 1));
        break;
    case SETT__SHFL_UP:
        j = lane - b < least ? lane : lane - b;
        break;
    case SETT__SHFL_DOWN:
        j = lane + b;
        break;
    default:
        j = lane ^ b;
        break;
    }
    return j > most ? lane : j;
}
