/* SPDX-License-Identifier: Apache-2.0 */
/* Warps that go round a loop until memory changes. Where the launch itself is what changes it, nobody else runs, and no block goes on,
 * they do so for ever. */
#include "async.h"

static const sett__place *place_of(const sett__insn *i)
{
    return i->step == SETT__S_LOAD || i->step == SETT__S_STORE ? &i->access.at : i->step == SETT__S_ATOM ? &i->atom.at : NULL;
}

static bool spins(const sett__warp *w)
{
    return w->state == SETT__PAUSED && w->wait.what == SETT__FOR_MEMORY;
}

/* The load or atomic of its loop that others may answer; NULL: none. */
const sett__insn *sett__spun_on(const sett__core *c, const sett__warp *w)
{
    const sett__program *p = c->program;
    const uint32_t end = sett__end_of(p, w->pc - 1);
    for (uint32_t k = w->pc; spins(w) && k < end; k++) {
        const sett__place *at = p->code[k].step == SETT__S_STORE ? NULL : place_of(&p->code[k]);
        if (at && p->root[at->root].space != SETT__LOCAL)
            return &p->code[k];
    }
    return NULL;
}

/* Is it memory of the same tensor? Addresses in registers are compared by where they come from. */
static bool same_root(const sett__root *a, const sett__root *b)
{
    return a->space == b->space && (a->space == SETT__GLOBAL ? a->param == b->param : a->space == SETT__ADDRESS ? a->from == b->from : a->offset == b->offset);
}

bool sett__answers(const sett__core *c, const sett__insn *i, const sett__insn *spun)
{
    const sett__program *p = c->program;
    const sett__place *at = i == spun || i->step == SETT__S_LOAD ? NULL : place_of(i);
    return at && same_root(&p->root[at->root], &p->root[place_of(spun)->root]);
}

static const sett__insn *answer_to(const sett__core *c, const sett__insn *spun)
{
    const sett__program *p = c->program;
    for (uint32_t k = p->section[SETT__BODY]; spun && p->code[k].step != SETT__S_STOP; k++)
        if (sett__answers(c, &p->code[k], spun))
            return &p->code[k];
    return spun && spun->step == SETT__S_ATOM ? spun : NULL;
}

/* Of the clusters that are resident it is the first; not_begun: blocks. False: the host or another launch may end the loop. */
bool sett__spins_for_ever(sett__core *c, uint64_t not_begun)
{
    const sett__cluster *k = c->cta->cluster;
    const sett__insn *spun = NULL, *by = NULL;
    const sett__warp *w = NULL;
    sett__cta *of = NULL;
    for (uint32_t r = 0; r < k->n && !by; r++)
        for (uint32_t i = 0; i < k->cta[r]->n_warps && !by; i++) {
            w = &k->cta[r]->warp[i], of = k->cta[r];
            spun = sett__spun_on(c, w);
            by = answer_to(c, spun);
        }
    if (!by)
        return false;
    char words[2400], where[96], what[400];
    sett__sink text = {.buf = words, .cap = sizeof words};
    sett__finding f = {.kind = SETT_CHECK_DEADLOCK, .level = SETT_CHECK_ERROR};
    sett__cta_turn_to(c, of);
    c->notes->n = 0;
    sett__finding_site(&f, spun->op, spun->step == SETT__S_ATOM ? SETT_CHECK_ROLE_ATOMIC : SETT_CHECK_ROLE_READ);
    sett__finding_site(&f, by->op, sett__role_of(&c->program->given->op[by->op]));
    const int many = snprintf(what, sizeof what, "%s waits for ever for memory that %s at %s writes", sett__ops[c->program->given->op[spun->op].code].text,
        sett__ops[c->program->given->op[by->op].code].text, sett__where_noted(c, by->op, where, sizeof where));
    if (not_begun)
        snprintf(what + many, sizeof what - (size_t)many, ": %llu blocks have not begun, and need not begin before this one ends, unless the kernel is a sett_cooperative one",
            (unsigned long long)not_begun);
    else
        snprintf(what + many, sizeof what - (size_t)many, ": all blocks have ended or wait");
    sett__put_graph(c, &text);
    sett__put(&text, not_begun ? "\n  fix    sett_cooperative(b) beside sett_grid, so that all blocks run at the same time" : "\n  fix    a thread that writes what the loop waits for, and does not wait for this one");
    sett__report(c, &f, "%s%s", what, words);
    sett__fault_as(c, SETT_E_FAULT, w, __builtin_ctz(w->active ? w->active : 1), spun->op, what);
    return true;
}
