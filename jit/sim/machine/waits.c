/* SPDX-License-Identifier: Apache-2.0 */
/* Words for warps that wait: which, where, and what an mbarrier lacks. */
#include "machine.h"

/* What brought it here: a barrier is behind it, all else is tried again. */
uint32_t sett__wait_op(const sett__core *c, const sett__warp *w)
{
    return c->program->code[w->pc - (w->wait.what < SETT__FOR_MBARRIER)].op;
}

static bool alike(const sett__warp *a, const sett__warp *b)
{
    return a->state == b->state && (a->state == SETT__DONE || (a->pc == b->pc && a->wait.what == b->wait.what && a->wait.id == b->wait.id));
}

/* "; block 1 warps 2-3 " of warp i and those behind it that wait as it does. */
uint32_t sett__put_alike(const sett__cta *b, uint32_t i, sett__sink *t)
{
    uint32_t end = i + 1;
    while (end < b->n_warps && alike(&b->warp[i], &b->warp[end]))
        end++;
    sett__putf(t, t->len ? "; " : "");
    if (b->cluster->n > 1)
        sett__putf(t, "block %u ", b->rank);
    sett__putf(t, end == i + 1 ? "warp %u " : "warps %u-%u ", i, end - 1);
    return end;
}

void sett__put_mbarrier(const sett__program *p, uint32_t index, sett__sink *t)
{
    const uint32_t at = p->mbar_at + 8 * index;
    char where[96];
    sett__putf(t, "mbarrier at byte %u", at);
    for (uint32_t k = 0; k < p->n_root; k++) {
        const sett__root *r = &p->root[k];
        if (r->space != SETT__SHARED || at < r->offset || at >= r->offset + r->bytes || !sett__attr(p->given->arg, &p->given->op[r->op], SETT__AT_SMEM_MBARRIER))
            continue;
        sett__put(t, " (");
        if (r->bytes > 8)
            sett__putf(t, "number %u of the %u ", (at - r->offset) / 8, (unsigned)(r->bytes / 8));
        sett__putf(t, "of %s)", sett__where(p, r->op, where, sizeof where));
        return;
    }
}

/* "the mbarrier at byte 32 (made at k.c:12): phase 0, of 8 arrivals 1 is missing, and 4096 bytes" */
void sett__mbarrier_words(const sett__core *c, const sett__cta *of, uint32_t index, sett__sink *t)
{
    const sett__mbarrier *m = &of->mbar[index];
    if (c->launch->check)
        sett__put_mbarrier(c->program, index, t);
    else
        sett__putf(t, "mbarrier at byte %u", c->program->mbar_at + 8 * index);
    sett__putf(t, ", phase %u: %u of %u arrivals", m->phase, m->pending, m->count);
    if (m->tx > 0)
        sett__putf(t, " and %d bytes", m->tx);
    sett__put(t, " missing");
    if (!c->launch->check)
        return;
    char where[96];
    sett__putf(t, ", its count from %s", sett__where_noted(c, m->op, where, sizeof where));
    if (m->expects)
        sett__putf(t, ", bytes announced at %s", sett__where_noted(c, m->expects - 1, where, sizeof where));
}

static bool asks(const sett__warp *w)
{
    return w->state != SETT__DONE && w->state != SETT__RUNNING && (w->wait.what == SETT__FOR_MBARRIER || w->wait.what == SETT__FOR_POLL);
}

void sett__put_waits(const sett__core *c, sett__sink *t)
{
    const sett__cluster *k = c->cta->cluster;
    char where[96];
    for (uint32_t r = 0; k && r < k->n; r++)
        for (uint32_t i = 0, next; i < k->cta[r]->n_warps; i = next) {
            next = i + 1;
            if (!asks(&k->cta[r]->warp[i]))
                continue;
            next = sett__put_alike(k->cta[r], i, t);
            sett__putf(t, "at %s: ", sett__where_noted(c, sett__wait_op(c, &k->cta[r]->warp[i]), where, sizeof where));
            sett__mbarrier_words(c, k->cta[r], k->cta[r]->warp[i].wait.id, t);
        }
}
