/* SPDX-License-Identifier: Apache-2.0 */
/* One warp, an instruction at a time. */
#include "machine.h"

sett__state sett__exec_followed(sett__core *c, sett__warp *w)
{
    const sett__follow *f = c->program->follow;
    const sett__insn *code = c->program->code;
    w->state = SETT__RUNNING;
    while (w->state == SETT__RUNNING) {
        const sett__insn *i = &code[w->pc++];
        if (!(w->follows || f->always >> i->step & 1 ? f->step(c, w, i) : i->run(c, w, i)))
            w->state = SETT__FAULTED;
    }
    return w->state;
}

sett__state sett__exec(sett__core *c, sett__warp *w)
{
    const sett__insn *code = c->program->code;
    w->state = SETT__RUNNING;
    while (w->state == SETT__RUNNING) {
        const sett__insn *i = &code[w->pc++];
        if (!i->run(c, w, i))
            w->state = SETT__FAULTED;
    }
    return w->state;
}

/* What is computed there can neither fault nor take long. */
void sett__exec_section(sett__core *c, sett__warp *w, int section)
{
    for (const sett__insn *i = c->program->code + c->program->section[section]; i->step != SETT__S_STOP; i++)
        i->run(c, w, i);
}
