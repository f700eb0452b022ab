/* SPDX-License-Identifier: Apache-2.0 */
/* What stands of a launch and of a cluster: who an agent is, which access a time is, in which round of a loop a warp is. */
#include "agents.h"
#include "checker.h"
#include <stdlib.h>

sett__checker *sett__checker_of(sett__core *c)
{
    sett__checked *k = c->launch->check;
    if (!k->checker)
        k->checker = calloc(1, sizeof *k->checker);
    return k->checker;
}

void sett__agent_is(const near *n, uint32_t agent, uint32_t *role, uint32_t *rank, uint32_t *index)
{
    *rank = agent / n->per_block;
    *role = ROLES - 1;
    while (n->first[*role] < 0 || agent % n->per_block < (uint32_t)n->first[*role])
        --*role;
    *index = agent % n->per_block - (uint32_t)n->first[*role];
}

access *sett__access_at(const near *n, uint32_t time)
{
    static access gone = {.op = SETT__NONE};
    access *chunk = time / CHUNK < n->n_chunk ? n->chunk[time / CHUNK] : NULL;
    return chunk ? &chunk[time % CHUNK] : &gone;
}

uint32_t sett__round_of(const near *n, const sett__core *c, const sett__warp *w, uint32_t op, int lane)
{
    if (op >= c->program->given->n_op || !n->loop[op])
        return 0;
    const sett__insn *i = &c->program->code[n->loop[op] - 1];
    const long long lo = sett__int_at(w, i, i->count.lo, lane), step = sett__int_at(w, i, i->count.step, lane), at = sett__int_at(w, i, i->d, lane);
    return step > 0 && at >= lo && (at - lo) / step < INT32_MAX ? (uint32_t)((at - lo) / step + 1) : 0;
}
