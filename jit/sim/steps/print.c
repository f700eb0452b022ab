/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels print, and their assertions. */
#include "steps.h"
#include <stdlib.h>
#include <string.h>

/* The operands of a lane from the `first` on. */
static void take_operands(const sett__core *c, const sett__warp *w, const sett__insn *i, int lane, int first,
    char types[SETT__MAX_PRINT + 1], uint64_t operand[SETT__MAX_PRINT])
{
    const sett__tape *tape = c->program->given;
    const sett__op *o = &tape->op[i->op];
    int n = 0;
    for (int k = first; k < o->n_args; k++, n++) {
        uint8_t dtype = tape->op[tape->arg[o->args + (uint32_t)k]].dtype;
        types[n] = (char)dtype;
        operand[n] = sett__bits_at(sett__at(w, c->program->place[i->talk.place + (uint32_t)k]), lane, (uint8_t)sett__log2_of(sett__dtype_bytes(dtype)));
    }
    types[n] = 0;
}

static void format_lane(const sett__core *c, const sett__warp *w, const sett__insn *i, int lane, sett__sink *t)
{
    char types[SETT__MAX_PRINT + 1];
    uint64_t operand[SETT__MAX_PRINT];
    take_operands(c, w, i, lane, 0, types, operand);
    sett__put_format(t, c->program->given->string[c->program->given->op[i->op].imm], types, operand);
}

/* To the callback or stdout, one writer at a time. */
static void emit_text(sett__core *c, const char *s, size_t len)
{
    pthread_mutex_lock(c->lock);
    if (sett__ended_now(c))
        ; /* while another printed */
    else if (c->launch->print)
        c->launch->print(c->launch->user, s, len);
    else
        fwrite(s, 1, len, stdout);
    pthread_mutex_unlock(c->lock);
}

/* One write for all lanes of the instruction, in their order: lines of other workers do not cut in. */
bool sett__print(sett__core *c, sett__warp *w, const sett__insn *i)
{
    sett__sink t = {.grow = true};
    for (int l = 0; l < WARP; l++)
        if (w->active >> l & 1)
            format_lane(c, w, i, l, &t);
    if (t.failed)
        sett__fault(c, w, __builtin_ctz(w->active), i->op, SETT__NO_KIND, "out of memory for printed text");
    else if (t.len)
        emit_text(c, t.buf, t.len);
    bool ok = !t.failed;
    sett__mem_free(t.mem, t.buf);
    return ok && (!sett__ended_now(c) || sett__halt(c, w, i));
}

bool sett__check_assert(sett__core *c, sett__warp *w, const sett__insn *i)
{
    const sett__sig *sig = &c->program->given->sig;
    uint32_t held = sett__mask_of(sett__at(w, c->program->place[i->talk.place])), broken = w->active & ~held;
    if (!broken || c->fault.status)
        return !broken;
    char types[SETT__MAX_PRINT + 1];
    uint64_t operand[SETT__MAX_PRINT];
    const sett__claim *k = sig->claim;
    while (k->op != i->op)
        k++;
    int lane = __builtin_ctz(broken);
    if (!strncmp(k->text, SETT__OUTSIDE, sizeof SETT__OUTSIDE - 1)) {
        take_operands(c, w, i, lane, 1, types, operand);
        return sett__object(c, w, lane, i->op, SETT_CHECK_BOUNDS, SETT__OUTSIDE "%lld", (long long)(types[0] == SETT_I32 ? (int32_t)operand[0] : (int64_t)operand[0]));
    }
    uint32_t t = w->index * WARP + (uint32_t)lane, thread[3];
    for (uint32_t axis = 0; axis < 3; axis++)
        thread[axis] = sett__thread_index(c->launch, t, axis);
    take_operands(c, w, i, lane, 1, types, operand);
    sett__claim_error(&c->fault, k, operand, c->cta->at, thread, c->launch->name ? c->launch->name : "?");
    return false;
}
