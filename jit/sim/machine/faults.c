/* SPDX-License-Identifier: Apache-2.0 */
/* Faults, with the kernel's C line, and deadlocks. */
#include "machine.h"
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
    c->notes->n = 0;
    if (!c->fault.status)
        fault_text(c, status, op, what, w ? thread_text(c, w->index * WARP + (uint32_t)lane, thread) : thread);
    return false;
}

/* The same as a finding. Lines behind the first of the text are the finding's alone. */
static void find(sett__core *c, const sett__warp *w, int lane, uint32_t op, int kind, const char *what)
{
    char thread[48] = "";
    sett__finding f = {.kind = (uint8_t)kind, .level = SETT_CHECK_ERROR};
    const char *name = c->launch->name ? c->launch->name : "?", *words = sett__kernel_words(&name);
    sett__finding_site(&f, op, sett__role_of(&c->program->given->op[op]));
    const int first = (int)strcspn(what, "\n");
    sett__report(c, &f, "%.*s, block (%u,%u,%u)%s%s%s%s%s", first, what, c->cta->at[0], c->cta->at[1], c->cta->at[2], w ? " thread " : "",
        w ? thread_text(c, w->index * WARP + (uint32_t)lane, thread) : "", words, name, what + first);
}

static bool fault(sett__core *c, const sett__warp *w, int lane, uint32_t op, int kind, bool goes_on, const char *format, va_list ap)
{
    char what[800];
    const bool checked = c->launch->check && kind != SETT__NO_KIND && !c->fault.status;
    vsnprintf(what, sizeof what, format, ap);
    if (checked)
        find(c, w, lane, op, kind, what);
    what[strcspn(what, "\n")] = 0;
    return (checked && goes_on) || sett__fault_as(c, SETT_E_FAULT, w, lane, op, what);
}

bool sett__fault(sett__core *c, const sett__warp *w, int lane, uint32_t op, int kind, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    fault(c, w, lane, op, kind, false, format, ap);
    va_end(ap);
    return false;
}

bool sett__object(sett__core *c, const sett__warp *w, int lane, uint32_t op, int kind, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    bool on = fault(c, w, lane, op, kind, true, format, ap);
    va_end(ap);
    return on;
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
            sett__putf(&text, "wait%s at %s", j == i + 1 ? "s" : "", sett__where_noted(c, code[w->pc - 1].op, where, sizeof where));
    }
    if (!c->fault.status)
        fault_text(c, SETT_E_FAULT, code[c->cta->warp[first_waiting].pc - 1].op, what, "");
}
