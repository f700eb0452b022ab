/* SPDX-License-Identifier: Apache-2.0 */
/* Follows the roots of registers that wgmma reads and writes in the background (flight.h), over all ways that lead through a tape:
 * what is known at the head of a loop grows by what its end knows, and the ops are gone over until none grows. */
#include "verify.h"

enum { MOST_STATES = 1 << 22 }; /* roots times loops */
typedef sett__root_state state;

typedef struct flights {
    sett__verifier *c;
    uint32_t n;                   /* roots */
    uint32_t root[SETT__MAX_FLIGHTS];
    state *now;                   /* one a root; NULL where no way leads */
    state *head;                  /* of loop after loop, what is known at its head */
    state *saved;                 /* of each open region: of a loop, its WHILE; of an IF, the start of the other arm, then this one's end */
    bool *seen;                   /* was this head reached? */
    uint32_t loop, open[SETT__MAX_DEPTH]; /* loops so far; those that are open */
    int depth;
    bool grew;
} flights;

/* ---- words ----------------------------------------------------------------------------- */
typedef struct place_text { char s[80]; } place_text;

static place_text where(const sett__tape *t, uint32_t op)
{
    place_text p;
    sett__op_where(t, op, p.s, sizeof p.s);
    return p;
}

/* A caller of C is told of its line and its calls, the author of a text of its operations. */
static const char *either(const flights *f, const char *call, const char *op)
{
    return sett__is_recorded(f->c) ? call : op;
}

static SETT_PRINTF(2, 3) bool refuse(flights *f, const char *format, ...)
{
    sett__verifier *c = f->c;
    char what[300];
    va_list ap;
    va_start(ap, format);
    vsnprintf(what, sizeof what, format, ap);
    va_end(ap);
    if (!sett__is_recorded(c) || sett__op_call(c->t, c->i))
        return sett__refuse(c, SETT_E_VERIFY, "%s", what);
    c->status = sett__error(c->err, SETT_E_VERIFY, "%s: %s", where(c->t, c->i).s, what);
    return false;
}

static bool refuse_flight(flights *f, uint32_t r, const char *what)
{
    const state *s = &f->now[r];
    return refuse(f, "%%%u is %s flight since %s%s: %s", f->root[r], s->flags & SETT__SUM ? "in" : either(f, "A of a sett_gemm in", "A of a wgmma in"),
        where(f->c->t, s->by).s, s->age ? "" : either(f, ", which no sett_mma_commit follows", ", which no wgmma.commit follows"), what);
}

static bool refuse_touched(flights *f, uint32_t r)
{
    const state *s = &f->now[r];
    uint32_t by = s->touched != SETT__NONE ? s->touched : s->by;
    const char *fence = either(f, "sett_mma_fence of", "wgmma.fence");
    if (by == f->root[r])
        return refuse(f, "it needs %s %%%u: none has named it yet, made at %s", fence, by, where(f->c->t, by).s);
    return refuse(f, "it needs %s %%%u, which %s used since the last", fence, f->root[r], where(f->c->t, by).s);
}

/* ---- ops ------------------------------------------------------------------------------- */
/* The place of a root among those that are followed; n: it is none. */
static uint32_t find(const flights *f, uint32_t root)
{
    uint32_t lo = 0, hi = f->n;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if (f->root[mid] < root)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < f->n && f->root[lo] == root ? lo : f->n;
}

static sett__op_list ops_of(const flights *f)
{
    return (sett__op_list){f->c->t->op, f->c->t->arg};
}

static bool step_sum(flights *f, uint32_t r)
{
    state *s = &f->now[r];
    const int may = sett__flight_may_begin(ops_of(f), s, f->c->i, SETT__SUM);
    if (may == SETT__FLIGHT_NEEDS_WAIT)
        return refuse_flight(f, r, s->flags & SETT__SUM ? either(f, "an accumulator of another shape, or of other registers, needs a sett_mma_wait before",
                                                              "an accumulator of another shape, or of other registers, needs a wgmma.wait before")
                                                        : either(f, "sett_mma_wait must come before it is an accumulator", "wgmma.wait must name it before it is an accumulator"));
    if (may == SETT__FLIGHT_NEEDS_FENCE)
        return refuse_touched(f, r);
    sett__flight_begin(s, f->c->i, SETT__SUM);
    return true;
}

static bool step_factor(flights *f, uint32_t r)
{
    state *s = &f->now[r];
    const int may = sett__flight_may_begin(ops_of(f), s, f->c->i, SETT__FACTOR);
    if (may == SETT__FLIGHT_NEEDS_WAIT)
        return refuse_flight(f, r, either(f, "sett_mma_wait must come before it is A", "wgmma.wait must name it before it is A"));
    if (may == SETT__FLIGHT_NEEDS_FENCE)
        return refuse_touched(f, r);
    sett__flight_begin(s, f->c->i, SETT__FACTOR);
    return true;
}

static bool step_wgmma(flights *f)
{
    uint32_t a = find(f, sett__verified_arg(f->c, 1));
    return step_sum(f, find(f, sett__verified_arg(f->c, 0))) && (a == f->n || step_factor(f, a));
}

static bool step_wait(flights *f, uint32_t r, int32_t pending)
{
    state *s = &f->now[r];
    if (s->flags & SETT__FLIES && !sett__flight_lands(s, pending))
        return refuse_flight(f, r, s->age ? "it may be of a group that is still pending: let fewer be" : "a wait is for groups that are committed");
    sett__flight_wait(s);
    return true;
}

static bool step_product(flights *f)
{
    sett__verifier *c = f->c;
    if (c->op->code == SETT__WGMMA)
        return step_wgmma(f);
    for (uint32_t r = 0; c->op->code == SETT__WGCOMMIT && r < f->n; r++)
        sett__flight_commit(&f->now[r]);
    for (uint32_t k = 0; k < c->op->n_args; k++) {
        uint32_t r = find(f, sett__verified_arg(c, k));
        if (c->op->code == SETT__WGWAIT && !step_wait(f, r, sett__verified_attr(c, SETT__AT_WGWAIT_PENDING)))
            return false;
        if (c->op->code == SETT__WGFENCE)
            sett__flight_fence(&f->now[r]);
    }
    return true;
}

static bool step_access(flights *f)
{
    sett__verifier *c = f->c;
    uint32_t r = find(f, sett__verified_arg(c, 0));
    if (r == f->n)
        return true;
    if (sett__verified_arg(c, 1) != SETT__NONE || sett__verified_attr(c, SETT__AT_ACCESS_VOLATILE))
        return refuse(f, "%%%u is a root that wgmma holds in registers: it has constant offsets, and nothing is volatile", f->root[r]);
    if (!sett__flight_may_touch(&f->now[r]))
        return refuse_flight(f, r, either(f, "sett_mma_wait must come before it is read or written", "wgmma.wait must name it before it is read or written"));
    sett__flight_touch(&f->now[r], c->i);
    return true;
}

/* ---- regions --------------------------------------------------------------------------- */
static state *saved(const flights *f, int depth)
{
    return f->saved + (size_t)depth * f->n;
}

static void keep(const flights *f, state *to)
{
    for (uint32_t r = 0; r < f->n; r++)
        to[r] = f->now[r];
}

static bool join_all(const flights *f, state *to, const state *from)
{
    bool grew = false;
    for (uint32_t r = 0; r < f->n; r++)
        grew |= sett__flight_join(ops_of(f), &to[r], &from[r]);
    return grew;
}

static state *head_of(const flights *f, uint32_t loop)
{
    return f->head + (size_t)loop * f->n;
}

static void open_loop(flights *f)
{
    uint32_t loop = f->loop++;
    f->open[f->depth] = loop;
    if (f->seen[loop])
        join_all(f, head_of(f, loop), f->now);
    else
        keep(f, head_of(f, loop));
    f->seen[loop] = true;
    for (uint32_t r = 0; r < f->n; r++)
        f->now[r] = head_of(f, loop)[r];
    keep(f, saved(f, f->depth));
}

static void step_region(flights *f)
{
    const sett__op *op = f->c->op;
    const sett__tape *t = f->c->t;
    if (op->code == SETT__WHILE)
        keep(f, saved(f, f->depth - 1));
    if (op->code == SETT__END) {
        f->depth--;
        state *other = saved(f, f->depth);
        if (t->op[op->other].code == SETT__FOR || t->op[op->other].code == SETT__LOOP) {
            state *head = head_of(f, f->open[f->depth]);
            f->grew |= join_all(f, head, f->now);
            for (uint32_t r = 0; r < f->n; r++)
                f->now[r] = t->op[op->other].code == SETT__FOR ? head[r] : other[r];
        } else {
            join_all(f, f->now, other);
        }
    } else if (op->code == SETT__ELSE) {
        for (uint32_t r = 0; r < f->n; r++) {
            state end = f->now[r];
            f->now[r] = saved(f, f->depth - 1)[r];
            saved(f, f->depth - 1)[r] = end;
        }
    } else if (op->code == SETT__FOR || op->code == SETT__LOOP) {
        open_loop(f);
        f->depth++;
    } else if (op->code == SETT__IF) {
        keep(f, saved(f, f->depth++));
    }
}

/* ---- the whole ------------------------------------------------------------------------- */
static bool sweep(flights *f)
{
    sett__verifier *c = f->c;
    f->depth = 0;
    f->loop = 0;
    f->grew = false;
    for (uint32_t r = 0; r < f->n; r++)
        f->now[r] = sett__flight_new(f->root[r]);
    for (c->i = 0; c->i < c->t->n_op; c->i++) {
        c->op = &c->t->op[c->i];
        int cls = sett__ops[c->op->code].cls;
        bool fine = sett__of_wgmma(c->op->code) ? step_product(f) : cls == SETT__C_LOAD || cls == SETT__C_STORE ? step_access(f) : true;
        if (!fine)
            return false;
        if (sett__opens(c->op->code) || sett__closes(c->op->code) || cls == SETT__C_WHILE)
            step_region(f);
    }
    for (uint32_t r = 0; r < f->n; r++)
        if (f->now[r].flags & SETT__FLIES) {
            c->i = f->now[r].by;
            c->op = &c->t->op[c->i];
            return refuse(f, "the kernel ends while %%%u is in flight: %s", f->root[r], either(f, "a sett_mma_wait must come behind it", "wgmma.wait must name it"));
        }
    return true;
}

static bool enlist(flights *f, uint32_t root)
{
    if (f->c->t->op[root].code != SETT__RMEM || find(f, root) < f->n)
        return true;
    if (f->n == SETT__MAX_FLIGHTS)
        return sett__refuse(f->c, SETT_E_LIMIT, "wgmma holds at most %d roots in registers", SETT__MAX_FLIGHTS);
    uint32_t r = f->n++;
    for (; r && f->root[r - 1] > root; r--)
        f->root[r] = f->root[r - 1];
    f->root[r] = root;
    return true;
}

/* Which roots there are, and how many loops. */
static bool enlist_all(flights *f, uint32_t *loops)
{
    sett__verifier *c = f->c;
    for (c->i = 0; c->i < c->t->n_op; c->i++) {
        c->op = &c->t->op[c->i];
        *loops += c->op->code == SETT__FOR || c->op->code == SETT__LOOP;
        for (uint32_t k = 0; sett__of_wgmma(c->op->code) && k < c->op->n_args; k++)
            if (!enlist(f, sett__verified_arg(c, k)))
                return false;
    }
    return (uint64_t)*loops * f->n <= MOST_STATES ||
           (c->status = sett__error(c->err, SETT_E_LIMIT, "%u loops, and %u roots that wgmma holds: more than are followed", *loops, f->n), false);
}

bool sett__check_flights(sett__verifier *c)
{
    flights f = {.c = c};
    uint32_t loops = 0;
    if (!enlist_all(&f, &loops))
        return false;
    const sett__allocator *mem = c->t->arena.mem;
    f.now = sett__mem_alloc(mem, (f.n + 1) * sizeof *f.now);
    f.head = sett__mem_alloc(mem, ((size_t)loops * f.n + 1) * sizeof *f.head);
    f.saved = sett__mem_alloc(mem, ((size_t)SETT__MAX_DEPTH * f.n + 1) * sizeof *f.saved);
    f.seen = sett__mem_zeroed(mem, loops + 1);
    bool fine = f.now && f.head && f.saved && f.seen;
    if (!fine)
        c->status = sett__error(c->err, SETT_E_MEMORY, "out of memory while checking a tape");
    while (fine && (fine = sweep(&f)) && f.grew)
        ;
    sett__mem_free(mem, f.now);
    sett__mem_free(mem, f.head);
    sett__mem_free(mem, f.saved);
    sett__mem_free(mem, f.seen);
    return fine;
}
