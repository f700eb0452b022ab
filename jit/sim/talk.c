/* SPDX-License-Identifier: Apache-2.0 */
/* What the CPU engine says: faults with the kernel's C line, deadlocks, and what kernels print. */
#include "inside.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *sett__where(const sett__program *p, uint32_t op, char *buf, size_t size)
{
    return sett__op_where(p->given, op, buf, size);
}

sett_status sett__no_room(sett_error *e)
{
    return sett__error(e, SETT_E_MEMORY, "out of memory while decoding a kernel");
}

/* "(1,2,3)" of a thread's number in its block. */
static const char *thread_text(const sett__core *c, uint32_t t, char buf[48])
{
    const sett__sim_launch *l = c->launch;
    snprintf(buf, 48, "(%u,%u,%u)", sett__thread_index(l, t, 0), sett__thread_index(l, t, 1), sett__thread_index(l, t, 2));
    return buf;
}

/* op: SETT__NONE: at no line. */
static void fault_text(sett__core *c, sett_status status, uint32_t op, const char *what, const char *thread)
{
    char where[160] = "";
    const char *name = c->launch->name ? c->launch->name : "?", *words = sett__kernel_words(&name), *of = "";
    if (op != SETT__NONE)
        sett__where(c->program, op, where, sizeof where), of = sett__op_where_tape(c->program->given, op);
    sett__error(&c->fault, status, "%s%s%s%s, block (%u,%u,%u)%s%s%s%s", where, of, *where ? ": " : "", what, c->cta->at[0], c->cta->at[1],
        c->cta->at[2], *thread ? " thread " : "", thread, words, name);
}

bool sett__fault_as(sett__core *c, sett_status status, const sett__warp *w, int lane, uint32_t op, const char *what)
{
    char thread[48] = "";
    if (!c->fault.status)
        fault_text(c, status, op, what, w ? thread_text(c, w->index * WARP + (uint32_t)lane, thread) : thread);
    return false;
}

bool sett__fault(sett__core *c, const sett__warp *w, int lane, uint32_t op, const char *format, ...)
{
    char what[400];
    va_list ap;
    va_start(ap, format);
    vsnprintf(what, sizeof what, format, ap);
    va_end(ap);
    return sett__fault_as(c, SETT_E_FAULT, w, lane, op, what);
}

/* No warp of the block can go on: who waits where, and who has ended. Warps in the same state are told together. */
void sett__deadlock(sett__core *c, uint32_t first_waiting)
{
    const sett__insn *code = c->program->code;
    const sett__cta *b = c->cta;
    char what[288], where[96];
    sett__sink text = {.buf = what, .cap = sizeof what};
    sett__put(&text, "barrier that not all threads reach:");
    for (uint32_t i = 0, j; i < b->n_warps; i = j) {
        const sett__warp *w = &b->warp[i];
        for (j = i + 1; j < b->n_warps && b->warp[j].state == w->state && (w->state == SETT__DONE || b->warp[j].pc == w->pc); j++)
            ;
        sett__putf(&text, j == i + 1 ? "%s warp %u " : "%s warps %u-%u ", i ? ";" : "", i, j - 1);
        if (w->state == SETT__DONE)
            sett__put(&text, "ended");
        else
            sett__putf(&text, "wait%s at %s", j == i + 1 ? "s" : "", sett__where(c->program, code[w->pc - 1].op, where, sizeof where));
    }
    if (!c->fault.status)
        fault_text(c, SETT_E_FAULT, code[c->cta->warp[first_waiting].pc - 1].op, what, "");
}

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
        sett__fault(c, w, __builtin_ctz(w->active), i->op, "out of memory for printed text");
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
    uint32_t t = w->index * WARP + (uint32_t)lane, thread[3];
    for (uint32_t axis = 0; axis < 3; axis++)
        thread[axis] = sett__thread_index(c->launch, t, axis);
    take_operands(c, w, i, lane, 1, types, operand);
    sett__claim_error(&c->fault, k, operand, c->cta->at, thread, c->launch->name ? c->launch->name : "?");
    return false;
}
