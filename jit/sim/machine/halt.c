/* SPDX-License-Identifier: Apache-2.0 */
/* Ending a launch from outside or by its limit of time: what is said of where it was. And of a warp whose lanes are not all
 * at one place, where the others went. Both read the regions around an instruction, which the code has in order. */
#include "machine.h"
#include <string.h>

enum { LOOKS = 64 }; /* questions from one look at the clock to the next */

static bool set_halt(atomic_uint *halt, enum sett__halt_why why)
{
    unsigned none = SETT__GO_ON;
    atomic_compare_exchange_strong(halt, &none, why);
    return true;
}

bool sett__polled(const sett__sim_launch *l, atomic_uint *halt)
{
    return l->poll(l->user) && set_halt(halt, SETT__HALT_POLLED);
}

bool sett__late(sett__core *c)
{
    const bool timed = c->deadline > 0, polls = c->poll_at > 0;
    const double now = timed || polls ? sett__now_ms() : 0;
    c->looks = timed || polls ? LOOKS : 0;
    if (timed && now >= c->deadline)
        return set_halt(c->halt, SETT__HALT_LATE);
    if (!polls || now < c->poll_at)
        return false;
    const bool ends = sett__polled(c->launch, c->halt);
    c->poll_at = sett__now_ms() + SETT__POLL_MS;
    return ends;
}

/* ---- the regions around an instruction ------------------------------------------------------------- */
typedef struct region {
    uint32_t at;   /* its opener, in the code; SETT__NONE: there is none */
    bool other;    /* in its ELSE */
} region;

/* Around instruction k, or, of an END, the one that it ends. */
static region around(const sett__program *p, uint32_t k)
{
    uint32_t closed = 0;
    region r = {SETT__NONE, false};
    while (k-- > p->section[SETT__BODY]) {
        uint8_t step = p->code[k].step;
        if (step == SETT__S_ENDIF || step == SETT__S_ENDLOOP || step == SETT__S_ENDFOR) {
            closed++;
        } else if (step == SETT__S_ELSE) {
            r.other |= !closed;
        } else if (step == SETT__S_IF || step == SETT__S_LOOP || step == SETT__S_FOR) {
            if (!closed) {
                r.at = k;
                return r;
            }
            closed--;
        }
    }
    return r;
}

/* ---- lanes that are not here --------------------------------------------------------------------------- */
void sett__put_lanes(sett__sink *w, uint32_t mask)
{
    sett__putf(w, mask & (mask - 1) ? "lanes" : "lane");
    for (int l = 0, end, first = 1; l < WARP; l = end + 1) {
        for (end = l; end < WARP && mask >> end & 1; end++)
            ;
        if (end > l)
            sett__putf(w, end - l > 1 ? "%s %d-%d" : "%s %d", first ? "" : ",", l, end - 1);
        first &= end == l;
    }
}

/* From the innermost region outwards, those whom each of them left behind. */
bool sett__missing_lanes(sett__core *c, const sett__warp *w, const sett__insn *i, const char *what)
{
    char where[96], words[256];
    sett__sink text = {.buf = words, .cap = sizeof words};
    uint32_t inside = w->active, k = w->pc - 1;
    sett__putf(&text, "%s: only %d of the warp's %d threads are here", what, __builtin_popcount(w->active), __builtin_popcount(w->live));
    for (uint32_t d = w->depth; d-- > 0; inside = w->saved[d]) {
        region r = around(c->program, k);
        uint32_t gone = w->saved[d] & ~inside;
        if (r.at == SETT__NONE)
            break;
        k = r.at;
        if (!gone)
            continue;
        sett__putf(&text, "; ");
        sett__put_lanes(&text, gone);
        sett__putf(&text, "%s at %s",
            c->program->code[k].step != SETT__S_IF ? " left the loop"
            : r.other                              ? " took the first arm of the branch"
                                                   : " did not take the branch",
            sett__where_noted(c, c->program->code[k].op, where, sizeof where));
    }
    return sett__object(c, w, __builtin_ctz(w->live & ~w->active), i->op, SETT_CHECK_DIVERGENCE, "%s", words);
}

static bool in_loop(const sett__core *c, const sett__insn *i)
{
    region r = around(c->program, (uint32_t)(i - c->program->code));
    while (r.at != SETT__NONE && c->program->code[r.at].step == SETT__S_IF)
        r = around(c->program, r.at);
    return r.at != SETT__NONE;
}

/* ---- why, and what the warp was doing ---------------------------------------------------------------------- */
static void add_doing(sett__sink *t, const sett__core *c, const sett__warp *w, const sett__insn *i)
{
    int lane = __builtin_ctz(w->active);
    sett__putf(t, ": it was ");
    switch ((sett__step)i->step) {
    case SETT__S_ENDFOR:
        sett__putf(t, "in a for loop at %lld, which ends at %lld", sett__int_at(w, i, i->d, lane), sett__int_at(w, i, i->count.hi, lane));
        break;
    case SETT__S_ENDLOOP:
        sett__putf(t, "in a while loop, after %llu rounds", (unsigned long long)w->rounds);
        break;
    case SETT__S_PRINTF:
        sett__putf(t, "in sett_printf");
        break;
    case SETT__S_INLINE:
        sett__putf(t, "in a stand-in of inline PTX");
        break;
    default:
        sett__putf(t, in_loop(c, i) ? "on its way" : "in code without loops");
        break;
    }
}

/* Loops around the one that the warp is in, which may be the one without end. */
static void add_loops(sett__sink *t, const sett__core *c, uint32_t k)
{
    const sett__insn *code = c->program->code;
    char where[96];
    if (code[k].step == SETT__S_ENDFOR || code[k].step == SETT__S_ENDLOOP)
        k = around(c->program, k).at;
    for (region r = around(c->program, k); r.at != SETT__NONE; r = around(c->program, r.at))
        if (code[r.at].step != SETT__S_IF)
            sett__putf(t, ", inside the loop at %s", sett__where(c->program, code[r.at].op, where, sizeof where));
}

bool sett__halt(sett__core *c, const sett__warp *w, const sett__insn *i)
{
    static const struct { sett_status status; const char *why; } end[] = {
        [SETT__GO_ON] = {SETT_E_INTERNAL, "ended"},
        [SETT__HALT_CANCELLED] = {SETT_E_CANCELLED, "cancelled by sett_cancel"},
        [SETT__HALT_CLOSED] = {SETT_E_CLOSED, "ended as the engine was closed"},
        [SETT__HALT_LATE] = {SETT_E_FAULT, "not done after"},
        [SETT__HALT_POLLED] = {SETT_E_CANCELLED, "cancelled by .cpu_poll"},
    };
    unsigned why = atomic_load(c->halt);
    char words[400];
    sett__sink text = {.buf = words, .cap = sizeof words};
    sett__putf(&text, "%s", end[why].why);
    if (why == SETT__HALT_LATE)
        sett__putf(&text, " %d ms, the limit of a launch", c->launch->timeout_ms);
    if (w) {
        add_doing(&text, c, w, i);
        add_loops(&text, c, (uint32_t)(i - c->program->code));
        sett__put_waits(c, &text);
    } else {
        sett__putf(&text, "%s before this block began", why == SETT__HALT_LATE ? ": it ended" : "");
    }
    c->halted = true;
    return sett__fault_as(c, end[why].status, w, w ? __builtin_ctz(w->active) : 0, w ? i->op : SETT__NONE, words);
}
