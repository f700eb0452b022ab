/* SPDX-License-Identifier: Apache-2.0 */
/* One warp, an instruction at a time. Arithmetic ignores the mask (lanes that are off compute
 * numbers that nobody reads); memory, collectives and control honour it. */
#include "steps.h"
#include <string.h>

enum { TURN = 1024, SHORT_TURN = 64 }; /* rounds of while loops between turns of the other warps; of those that only wait */
#define MOST_ROUNDS (UINT64_C(1) << 31)

/* ---- values -------------------------------------------------------------------------------------- */
static inline bool row(sett__core *c, sett__warp *w, const sett__insn *i)
{
    (void)c;
    const sett__arithmetic *m = &i->math;
    const void *y = m->n_args > 1 ? sett__at(w, m->arg[1]) : NULL, *z = m->n_args > 2 ? sett__at(w, m->arg[2]) : NULL;
    m->fn(sett__at(w, i->d), sett__at(w, m->arg[0]), y, z, i->n, m->splat);
    return true;
}

/* Where the operands of a PIECES or LONG are that lie in a frame. */
static inline void in_frames(const sett__warp *w, const sett__arithmetic *m, const unsigned char *in[3])
{
    for (uint32_t k = 0; k < 3; k++)
        in[k] = k < m->n_args && m->lazy[k] == SETT__NONE ? sett__at(w, m->arg[k]) : NULL;
}

/* Where piece p of them is. */
static inline void find_piece(
    const sett__core *c, const sett__arithmetic *m, const unsigned char *const in[3], uint32_t p, const unsigned char *x[3])
{
    for (uint32_t k = 0; k < 3; k++) {
        uint32_t at = m->splat >> k & 1 ? 0 : p;
        x[k] = in[k] || k >= m->n_args ? in[k] + ((size_t)at * m->piece * WARP << m->lg[k]) : c->lazy[m->lazy[k] + at];
    }
}

static bool pieces(sett__core *c, sett__warp *w, const sett__insn *i)
{
    const sett__arithmetic *m = &i->math;
    const unsigned char *in[3], *x[3];
    unsigned char *d = sett__at(w, i->d);
    in_frames(w, m, in);
    for (uint32_t p = 0; p < m->pieces; p++, d += (size_t)m->piece * WARP << i->lg) {
        find_piece(c, m, in, p, x);
        m->fn(d, x[0], x[1], x[2], m->piece, m->splat);
    }
    return true;
}

/* Some rows at a time. */
static bool many_rows(sett__core *c, sett__warp *w, const sett__insn *i)
{
    enum { SOME = 1024 };
    const sett__arithmetic *m = &i->math;
    const unsigned char *in[3], *x[3];
    unsigned char *d = sett__at(w, i->d);
    in_frames(w, m, in);
    for (uint32_t p = 0; p < m->pieces; p++) {
        find_piece(c, m, in, p, x);
        for (uint32_t left = m->piece, n; left; left -= n, d += (size_t)n * WARP << i->lg) {
            if (sett__ended(c))
                return sett__halt(c, w, i);
            n = left < SOME ? left : SOME;
            m->fn(d, x[0], x[1], x[2], n, m->splat);
            for (uint32_t k = 0; k < m->n_args; k++)
                x[k] += m->splat >> k & 1 ? 0 : (size_t)n * WARP << m->lg[k];
        }
    }
    return true;
}

static bool reduce(sett__core *c, sett__warp *w, const sett__insn *i)
{
    (void)c;
    _Alignas(64) unsigned char even[WARP * 16], odd[WARP * 16];
    const unsigned char *a = sett__at(w, i->math.arg[0]), *acc = sett__at(w, i->math.arg[1]);
    size_t bytes = (size_t)WARP << i->lg, step = i->math.splat & 1 ? 0 : bytes;
    for (uint32_t k = 0; k < i->n; k++) {
        unsigned char *next = k & 1 ? odd : even;
        i->math.fn(next, acc, a + k * step, NULL, 1, 0);
        acc = next;
    }
    memcpy(sett__at(w, i->d), acc, bytes);
    return true;
}

static bool poll(sett__core *c, sett__warp *w, const sett__insn *i)
{
    return !sett__ended(c) || sett__halt(c, w, i);
}

static bool copy(sett__core *c, sett__warp *w, const sett__insn *i)
{
    (void)c;
    unsigned char *d = sett__at(w, i->d);
    const unsigned char *a = sett__at(w, i->copy);
    size_t bytes = (size_t)WARP << i->lg;
    bool splat = i->copy & SETT__REF_SPLAT;
    for (uint32_t k = 0; k < (splat ? i->n : 1); k++)
        memcpy(d + k * bytes, a, splat ? bytes : i->n * bytes);
    return true;
}

static bool pick(sett__core *c, sett__warp *w, const sett__insn *i)
{
    (void)c;
    unsigned char *d = sett__at(w, i->d);
    const unsigned char *a = sett__at(w, i->pick.a);
    const uint32_t *index = i->pick.index;
    size_t size = (size_t)1 << i->lg, bytes = WARP * size, wide = i->pick.wide;
    if (wide > 1) { /* one element of a value in memory's order */
        a += (index[0] / wide * wide * WARP + index[0] % wide) * size;
        for (size_t l = 0; l < WARP; l++)
            memcpy(d + l * size, a + l * wide * size, size);
        return true;
    }
    for (uint32_t k = 0; k < i->n; k++)
        memcpy(d + k * bytes, a + index[k] * bytes, bytes);
    return true;
}

/* The same bits in elements of another size, low bytes first. */
static bool regroup(sett__core *c, sett__warp *w, const sett__insn *i)
{
    (void)c;
    unsigned char *d = sett__at(w, i->d);
    const unsigned char *a = sett__at(w, i->regroup.a);
    uint32_t to = 1u << i->lg, from = 1u << i->regroup.lg;
    size_t a_row = i->regroup.a & SETT__REF_SPLAT ? 0 : (size_t)WARP * from;
    for (uint32_t byte = 0; byte < i->n * to; byte++) {
        const unsigned char *s = a + byte / from * a_row + byte % from;
        unsigned char *t = d + (size_t)(byte / to) * WARP * to + byte % to;
        for (uint32_t l = 0; l < WARP; l++)
            t[l * to] = s[l * from];
    }
    return true;
}

static bool constant(sett__core *c, sett__warp *w, const sett__insn *i)
{
    (void)c;
    sett__spread(sett__at(w, i->d), &i->bits, 1u << i->lg);
    return true;
}

static bool parameter(sett__core *c, sett__warp *w, const sett__insn *i)
{
    sett__spread(sett__at(w, i->d), (const char *)c->launch->params + i->param, 1u << i->lg);
    return true;
}

static bool thread_index(sett__core *c, sett__warp *w, const sett__insn *i)
{
    const uint32_t *whole = i->index.code == SETT__BID    ? c->cta->at
                            : i->index.code == SETT__BDIM ? c->launch->block
                            : i->index.code == SETT__GDIM ? c->launch->grid
                                                          : NULL;
    uint32_t *d = sett__at(w, i->d), axis = i->index.axis;
    for (uint32_t l = 0; l < WARP; l++)
        d[l] = whole                           ? whole[axis]
               : i->index.code == SETT__LANE ? l
                                               : sett__thread_index(c->launch, w->index * WARP + l, axis);
    return true;
}

static bool shuffle(sett__core *c, sett__warp *w, const sett__insn *i)
{
    uint8_t from[WARP];
    const uint32_t *lane = sett__at(w, i->shfl.lane);
    if (!sett__whole_warp(c, w, i, "shfl in a branch"))
        return false;
    for (int l = 0; l < WARP; l++) {
        from[l] = (uint8_t)sett__source_lane(i->shfl.how, l, (int)(lane[l] & 31), i->shfl.width);
        if (!(w->live >> from[l] & 1) && (w->live >> l & 1) &&
            !sett__object(c, w, l, i->op, SETT_CHECK_DIVERGENCE, "shfl reads lane %d, which the block does not have", from[l]))
            return false;
    }
    size_t size = (size_t)1 << i->lg, step = i->shfl.value & SETT__REF_SPLAT ? 0 : WARP * size;
    unsigned char *d = sett__at(w, i->d);
    const unsigned char *a = sett__at(w, i->shfl.value);
    for (uint32_t k = 0; k < i->n; k++, d += WARP * size, a += step)
        if (i->lg == 2)
            for (int l = 0; l < WARP; l++)
                memcpy(d + l * 4, a + from[l] * 4, 4);
        else
            for (size_t l = 0; l < WARP; l++)
                memcpy(d + l * size, a + from[l] * size, size);
    return true;
}

/* ---- regions --------------------------------------------------------------------------------- */
/* Active lanes in which a row of Booleans is true. */
static uint32_t lanes_true(const sett__warp *w, const uint8_t *row, bool uniform)
{
    if (uniform)
        return row[0] & 1 ? w->active : 0;
    return sett__mask_of(row) & w->active;
}

static void open_region(sett__warp *w, uint32_t other)
{
    w->saved[w->depth] = w->active;
    w->other[w->depth++] = other;
}

static bool open_if(sett__core *c, sett__warp *w, const sett__insn *i)
{
    (void)c;
    uint32_t yes = lanes_true(w, sett__at(w, i->branch.condition), i->branch.uniform);
    open_region(w, w->active & ~yes);
    if (yes)
        w->active = yes;
    else
        w->pc = i->branch.target; /* the ELSE or END, which reads the stack */
    return true;
}

static bool turn_to_else(sett__core *c, sett__warp *w, const sett__insn *i)
{
    (void)c;
    uint32_t no = w->other[w->depth - 1];
    if (no)
        w->active = no;
    else
        w->pc = i->branch.target;
    return true;
}

static bool close_if(sett__core *c, sett__warp *w, const sett__insn *i)
{
    (void)c, (void)i;
    w->active = w->saved[--w->depth];
    return true;
}

/* While variable < hi; else the loop ends for the lane, for all: behind the END. */
static bool enter_round(sett__warp *w, uint32_t yes, uint32_t go, uint32_t end)
{
    if (yes) {
        w->active = yes;
        w->pc = go;
    } else {
        w->active = w->saved[--w->depth];
        w->pc = end;
    }
    return true;
}

/* A loop that would be entered with a step of 0 or less, in the lanes of `in`? Then the launch has failed. */
static bool check_step(sett__core *c, const sett__warp *w, const sett__insn *i, uint32_t in)
{
    _Alignas(64) static const unsigned char zero[WARP * 8];
    uint8_t positive[WARP];
    const unsigned char *step = sett__at(w, i->count.step);
    i->count.less(positive, zero, step, NULL, 1, 0);
    in &= ~lanes_true(w, positive, i->count.uniform);
    if (!in)
        return true;
    int lane = __builtin_ctz(in);
    return sett__fault(c, w, lane, i->op, SETT_CHECK_DEADLOCK, "the step of a loop is %lld, it must be positive", sett__int_at(w, i, i->count.step, lane));
}

static bool open_for(sett__core *c, sett__warp *w, const sett__insn *i)
{
    uint8_t less[WARP];
    void *v = sett__at(w, i->d);
    memcpy(v, sett__at(w, i->count.lo), (size_t)WARP << i->lg);
    i->count.less(less, v, sett__at(w, i->count.hi), NULL, 1, 0);
    uint32_t in = lanes_true(w, less, i->count.uniform);
    if (!check_step(c, w, i, in))
        return false;
    open_region(w, 0);
    return enter_round(w, in, w->pc, i->count.target);
}

/* A variable that would wrap past the end of its type ends the loop. */
static bool next_round(sett__core *c, sett__warp *w, const sett__insn *i)
{
    _Alignas(64) unsigned char sum[WARP * 8];
    uint8_t less[WARP], grown[WARP];
    void *v = sett__at(w, i->d);
    if (sett__ended(c))
        return sett__halt(c, w, i);
    i->count.add(sum, v, sett__at(w, i->count.step), NULL, 1, 0);
    i->count.less(less, sum, sett__at(w, i->count.hi), NULL, 1, 0);
    i->count.less(grown, v, sum, NULL, 1, 0);
    for (int l = 0; l < WARP; l++)
        less[l] &= grown[l];
    memcpy(v, sum, (size_t)WARP << i->lg);
    return enter_round(w, lanes_true(w, less, i->count.uniform), i->count.target, w->pc);
}

static bool open_loop(sett__core *c, sett__warp *w, const sett__insn *i)
{
    (void)c, (void)i;
    open_region(w, 0);
    return true;
}

/* Lanes leave where their condition is false; the stack has all that entered. */
static bool test_round(sett__core *c, sett__warp *w, const sett__insn *i)
{
    (void)c;
    return enter_round(w, lanes_true(w, sett__at(w, i->branch.condition), i->branch.uniform), w->pc, i->branch.target);
}

/* Now and then other warps get their turn: the condition may wait for what they write. One that cannot become false is a
 * fault in the end, also of a launch without a limit of time. */
static bool end_round(sett__core *c, sett__warp *w, const sett__insn *i)
{
    if (sett__ended(c))
        return sett__halt(c, w, i);
    w->pc = i->round.target;
    w->rounds++;
    if (w->rounds % (i->round.awaits ? SHORT_TURN : TURN) == 0) {
        w->state = SETT__PAUSED;
        w->wait = (sett__wait){i->round.awaits ? SETT__FOR_MEMORY : SETT__FOR_TURN, 0};
    }
    if (w->rounds < (c->launch->most_rounds ? c->launch->most_rounds : MOST_ROUNDS))
        return true;
    return sett__fault(c, w, __builtin_ctz(w->active), i->op, SETT_CHECK_DEADLOCK, "this warp has gone round its while loops %llu times: they do not end",
        (unsigned long long)w->rounds);
}

/* ---- waiting ------------------------------------------------------------------------------------- */
/* Lanes do not drift apart, so there is nothing to wait for. */
static bool sync_warp(sett__core *c, sett__warp *w, const sett__insn *i)
{
    return sett__whole_warp(c, w, i, "sync_warp in a branch") &&
           sett__tell_sync(c, (sett__sync){.what = SETT__LANES_SYNC, .warp = w, .lanes = w->active, .op = i->op});
}

static bool wait_at_barrier(sett__warp *w)
{
    w->state = SETT__WAITING;
    w->wait = (sett__wait){SETT__FOR_BARRIER, 0};
    return true;
}

/* Apart, and called last, so that others save no registers. */
static __attribute__((noinline)) bool watched_barrier(sett__core *c, sett__warp *w, const sett__insn *i)
{
    return sett__whole_warp(c, w, i, "barrier in a branch") &&
        sett__tell_sync(c, (sett__sync){.what = SETT__BARRIER_ARRIVE, .warp = w, .lanes = w->active, .op = i->op, .of = c->cta, .n = 1}) && wait_at_barrier(w);
}

static bool barrier(sett__core *c, sett__warp *w, const sett__insn *i)
{
    return w->active != w->live || c->program->watch ? watched_barrier(c, w, i) : wait_at_barrier(w);
}

/* Blocks run on several threads. */
static bool fence(sett__core *c, sett__warp *w, const sett__insn *i)
{
    sett__full_fence();
    return sett__tell_sync(c, (sett__sync){.what = SETT__MEMORY_FENCED, .warp = w, .lanes = w->active, .op = i->op});
}

/* griddepcontrol: a kernel begins when those before it have ended. Decoded for who listens. */
static bool grid(sett__core *c, sett__warp *w, const sett__insn *i)
{
    const bool waits = c->program->given->op[i->op].code == SETT__DEPWAIT;
    return sett__tell_sync(c, (sett__sync){.what = waits ? SETT__GRID_WAITED : SETT__GRID_RELEASES, .warp = w, .lanes = w->active, .op = i->op});
}

static bool stop(sett__core *c, sett__warp *w, const sett__insn *i)
{
    (void)c, (void)i;
    w->state = SETT__DONE;
    return true;
}

/* ---- all of them ----------------------------------------------------------------------------------- */
const sett__run_fn sett__steps[SETT__N_STEPS] = {
    [SETT__S_STOP] = stop,
    [SETT__S_ROW] = row,
    [SETT__S_PIECES] = pieces,
    [SETT__S_LONG] = many_rows,
    [SETT__S_REDUCE] = reduce,
    [SETT__S_POLL] = poll,
    [SETT__S_COPY] = copy,
    [SETT__S_PICK] = pick,
    [SETT__S_REGROUP] = regroup,
    [SETT__S_CONST] = constant,
    [SETT__S_VALUE] = parameter,
    [SETT__S_INDEX] = thread_index,
    [SETT__S_LOAD] = sett__load,
    [SETT__S_STORE] = sett__store,
    [SETT__S_ATOM] = sett__atom,
    [SETT__S_CP_ASYNC] = sett__cp_async,
    [SETT__S_CP_COMMIT] = sett__cp_commit,
    [SETT__S_CP_WAIT] = sett__cp_wait,
    [SETT__S_BARRIER] = barrier,
    [SETT__S_NAMED] = sett__named_barrier,
    [SETT__S_FENCE] = fence,
    [SETT__S_GRID] = grid,
    [SETT__S_SYNC_WARP] = sync_warp,
    [SETT__S_SHFL] = shuffle,
    [SETT__S_VOTE] = sett__vote,
    [SETT__S_MATCH] = sett__match,
    [SETT__S_REDUX] = sett__redux,
    [SETT__S_ELECT] = sett__elect,
    [SETT__S_SPECIAL] = sett__special,
    [SETT__S_IF] = open_if,
    [SETT__S_ELSE] = turn_to_else,
    [SETT__S_ENDIF] = close_if,
    [SETT__S_FOR] = open_for,
    [SETT__S_ENDFOR] = next_round,
    [SETT__S_LOOP] = open_loop,
    [SETT__S_WHILE] = test_round,
    [SETT__S_ENDLOOP] = end_round,
    [SETT__S_INLINE] = sett__stand_in,
    [SETT__S_PRINTF] = sett__print,
    [SETT__S_ASSERT] = sett__check_assert,
};
