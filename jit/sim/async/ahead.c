/* SPDX-License-Identifier: Apache-2.0 */
/* What a warp may still run: the code ahead of it, and the rounds to come of the loops around it. Arms of branches that it is not in are
 * left out; whether a branch or a loop to come is taken is not known. */
#include "async.h"

static bool ends_loop(uint8_t step)
{
    return step == SETT__S_ENDFOR || step == SETT__S_ENDLOOP;
}

static bool opens(uint8_t step)
{
    return step == SETT__S_IF || step == SETT__S_FOR || step == SETT__S_LOOP;
}

static bool closes(uint8_t step)
{
    return step == SETT__S_ENDIF || ends_loop(step);
}

uint32_t sett__end_of(const sett__program *p, uint32_t k)
{
    uint32_t depth = 0;
    for (k++; p->code[k].step != SETT__S_STOP; k++) {
        if (closes(p->code[k].step) && !depth--)
            break;
        depth += opens(p->code[k].step);
    }
    return k;
}

/* The opener of what instruction k ends. */
static uint32_t begin_of(const sett__program *p, uint32_t k)
{
    uint32_t depth = 0;
    while (k-- > p->section[SETT__BODY]) {
        if (opens(p->code[k].step) && !depth--)
            break;
        depth += closes(p->code[k].step);
    }
    return k;
}

static uint32_t first_in(const sett__core *c, uint32_t from, uint32_t to, sett__brings_fn is, const void *what)
{
    for (uint32_t k = from; k < to; k++)
        if (is(c, &c->program->code[k], what))
            return c->program->code[k].op;
    return SETT__NONE;
}

uint32_t sett__ahead(const sett__core *c, const sett__warp *w, sett__brings_fn is, const void *what)
{
    const sett__program *p = c->program;
    uint32_t depth = 0, found = SETT__NONE;
    for (uint32_t k = w->pc; w->state != SETT__DONE && found == SETT__NONE && p->code[k].step != SETT__S_STOP; k++) {
        const uint8_t step = p->code[k].step;
        if (is(c, &p->code[k], what))
            return p->code[k].op;
        if (!depth && step == SETT__S_ELSE)
            k = sett__end_of(p, k); /* of the arm that is not ours */
        else if (!depth && ends_loop(step))
            found = first_in(c, begin_of(p, k), w->pc, is, what);
        else
            depth = opens(step) ? depth + 1 : closes(step) && depth ? depth - 1 : depth;
    }
    return found;
}
