/* SPDX-License-Identifier: Apache-2.0 */
/* Who of a cluster stands still for ever: where each warp waits, and what for. */
#include "async.h"

static void add_cause(const sett__core *c, const sett__cta *b, const sett__warp *w, sett__sink *t)
{
    char where[96];
    static const char *const for_what[] = {[SETT__FOR_BARRIER] = "the barrier", [SETT__FOR_TURN] = "its turn", [SETT__FOR_MEMORY] = "memory",
        [SETT__FOR_EVENTS] = "copies", [SETT__FOR_CLUSTER] = "the cluster", [SETT__FOR_REGISTERS] = "registers"};
    if (w->state == SETT__DONE) {
        sett__put(t, "ended");
        return;
    }
    sett__putf(t, "at %s: ", sett__where_noted(c, sett__wait_op(c, w), where, sizeof where));
    if (w->wait.what == SETT__FOR_MBARRIER || w->wait.what == SETT__FOR_POLL)
        sett__mbarrier_words(c, b, w->wait.id, t);
    else if (c->program->given->op[sett__wait_op(c, w)].code == SETT__WGWAIT)
        sett__putf(t, "a product that warp %u of its group has not begun", sett__wgmma_missing(b, w, w->wait.id)->index);
    else if (w->wait.what == SETT__FOR_BARRIER && w->wait.id)
        sett__putf(t, "barrier %u", w->wait.id);
    else
        sett__put(t, for_what[w->wait.what]);
}

static void add_block(const sett__core *c, const sett__cta *b, sett__sink *t)
{
    for (uint32_t i = 0, next; i < b->n_warps; i = next) {
        next = sett__put_alike(b, i, t);
        add_cause(c, b, &b->warp[i], t);
    }
}

/* Blocks that wait come first: the text may be too long for all. */
void sett__stand_still(sett__core *c)
{
    const sett__cluster *k = c->cta->cluster;
    char words[400];
    sett__sink text = {.buf = words, .cap = sizeof words};
    sett__warp *first = NULL;
    for (uint32_t r = 0; r < k->n && !first; r++)
        for (uint32_t i = 0; i < k->cta[r]->n_warps && !first; i++)
            if (k->cta[r]->warp[i].state != SETT__DONE) {
                first = &k->cta[r]->warp[i];
                sett__cta_turn_to(c, k->cta[r]);
            }
    for (int done = 0; done < 2; done++)
        for (uint32_t r = 0; r < k->n; r++)
            if (k->cta[r]->left == done)
                add_block(c, k->cta[r], &text);
    char what[440];
    snprintf(what, sizeof what, "a wait that never ends: %s", words);
    sett__fault_as(c, SETT_E_FAULT, NULL, 0, sett__wait_op(c, first), what);
}
