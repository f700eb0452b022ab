/* SPDX-License-Identifier: Apache-2.0 */
/* One warp, an instruction at a time. Arithmetic ignores the mask (lanes that are off compute
 * numbers that nobody reads); memory, collectives and control honour it. */
#include "inside.h"
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { TURN = 1024, SHORT_TURN = 64 }; /* rounds of while loops between turns of the other warps; of those that only wait */
#define MOST_ROUNDS (UINT64_C(1) << 31)

uint32_t sett__mask_of(const uint8_t *row)
{
    uint32_t mask = 0;
#ifdef __SSE2__
    for (int i = 0; i < WARP; i += 16) {
        __m128i x = _mm_loadu_si128((const __m128i *)(const void *)(row + i));
        mask |= (uint32_t)_mm_movemask_epi8(_mm_slli_epi16(x, 7)) << i;
    }
#else /* eight at once: the product moves bit 0 of byte i to bit 56 + i */
    for (int i = 0; i < WARP; i += 8) {
        uint64_t x;
        memcpy(&x, row + i, sizeof x);
        mask |= (uint32_t)((x & 0x0101010101010101u) * 0x0102040810204080u >> 56) << i;
    }
#endif
    return mask;
}

void sett__spread(void *row, const void *element, uint32_t bytes)
{
    if (bytes == 4) { /* the usual one, without calls */
        uint32_t x, *d = row;
        memcpy(&x, element, sizeof x);
        for (int l = 0; l < WARP; l++)
            d[l] = x;
        return;
    }
    memcpy(row, element, bytes);
    for (uint32_t have = bytes; have < WARP * bytes; have *= 2)
        memcpy((char *)row + have, row, have);
}

static void copy_rows(unsigned char *d, const unsigned char *a, uint32_t n, size_t bytes, bool splat)
{
    if (!splat) {
        memcpy(d, a, n * bytes);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        memcpy(d + i * bytes, a, bytes);
}

static void pick(const sett__core *c, const sett__warp *w, const sett__insn *i)
{
    unsigned char *d = sett__at(w, i->d);
    const unsigned char *a = sett__at(w, i->a);
    const uint32_t *index = c->program->tape->index + i->imm;
    size_t size = (size_t)1 << i->lg, bytes = WARP * size, wide = i->pieces;
    if (wide > 1) { /* one element of a value in memory's order */
        a += (index[0] / wide * wide * WARP + index[0] % wide) * size;
        for (size_t l = 0; l < WARP; l++)
            memcpy(d + l * size, a + l * wide * size, size);
        return;
    }
    for (uint32_t k = 0; k < i->n; k++)
        memcpy(d + k * bytes, a + index[k] * bytes, bytes);
}

/* The same bits in elements of another size, low bytes first. */
static void regroup(const sett__warp *w, const sett__insn *i)
{
    unsigned char *d = sett__at(w, i->d);
    const unsigned char *a = sett__at(w, i->a);
    uint32_t to = 1u << i->lg, from = 1u << i->sub;
    size_t a_row = i->a & SETT__REF_SPLAT ? 0 : (size_t)WARP * from;
    for (uint32_t byte = 0; byte < i->n * to; byte++) {
        const unsigned char *s = a + byte / from * a_row + byte % from;
        unsigned char *t = d + (size_t)(byte / to) * WARP * to + byte % to;
        for (uint32_t l = 0; l < WARP; l++)
            t[l * to] = s[l * from];
    }
}

static void reduce(const sett__warp *w, const sett__insn *i)
{
    _Alignas(64) unsigned char even[WARP * 16], odd[WARP * 16];
    const unsigned char *a = sett__at(w, i->a), *init = sett__at(w, i->b);
    size_t bytes = (size_t)WARP << i->lg, step = i->a & SETT__REF_SPLAT ? 0 : bytes;
    const unsigned char *acc = init;
    for (uint32_t k = 0; k < i->n; k++) {
        unsigned char *next = k & 1 ? odd : even;
        i->fn(next, acc, a + k * step, NULL, 1, 0);
        acc = next;
    }
    memcpy(sett__at(w, i->d), acc, bytes);
}

static void special(const sett__core *c, const sett__warp *w, const sett__insn *i)
{
    uint32_t *d = sett__at(w, i->d), x = c->launch->block[0], y = c->launch->block[1], whole;
    switch ((sett__code)i->imm) {
    case SETT__BID:
        whole = c->cta->at[i->sub];
        break;
    case SETT__BDIM:
        whole = c->launch->block[i->sub];
        break;
    case SETT__GDIM:
        whole = c->launch->grid[i->sub];
        break;
    default:
        for (uint32_t l = 0; l < WARP; l++) {
            uint32_t t = w->index * WARP + l;
            d[l] = i->imm == SETT__LANE ? l : i->sub == 0 ? t % x : i->sub == 1 ? t / x % y : t / x / y;
        }
        return;
    }
    sett__spread(d, &whole, sizeof whole);
}

/* As shfl.sync of the PTX ISA, whose lane operand has five bits. */
static int source_lane(int sub, int lane, int b, int width)
{
    int least = lane & ~(width - 1), most = least | (width - 1), j = lane;
    switch (sub) {
    case SETT__SHFL_IDX:
        j = least | (b & (width - 1));
        break;
    case SETT__SHFL_UP:
        j = lane - b < least ? lane : lane - b;
        break;
    case SETT__SHFL_DOWN:
        j = lane + b;
        break;
    default:
        j = lane ^ b;
        break;
    }
    return j > most ? lane : j;
}

static bool shuffle(sett__core *c, sett__warp *w, const sett__insn *i)
{
    uint8_t from[WARP];
    const uint32_t *lane = sett__at(w, i->b);
    if (w->active != w->live)
        return sett__missing_lanes(c, w, i, "shfl in a branch");
    for (int l = 0; l < WARP; l++) {
        from[l] = (uint8_t)source_lane(i->sub, l, (int)(lane[l] & 31), (int)i->imm);
        if (!(w->live >> from[l] & 1) && (w->live >> l & 1))
            return sett__fault(c, w, l, i->op, "shfl reads lane %d, which the block does not have", from[l]);
    }
    size_t size = (size_t)1 << i->lg, step = i->a & SETT__REF_SPLAT ? 0 : WARP * size;
    unsigned char *d = sett__at(w, i->d);
    const unsigned char *a = sett__at(w, i->a);
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
static uint32_t truth(const sett__core *c, const sett__warp *w, const sett__insn *i, const uint8_t *row)
{
    (void)c;
    if (i->flags & SETT__I_UNIFORM)
        return row[0] & 1 ? w->active : 0;
    return sett__mask_of(row) & w->active;
}

static void push(sett__warp *w, uint32_t other)
{
    w->stack[w->depth++] = (sett__mask){w->active, other};
}

static void open_if(sett__core *c, sett__warp *w, const sett__insn *i)
{
    uint32_t yes = truth(c, w, i, sett__at(w, i->a));
    push(w, w->active & ~yes);
    if (yes)
        w->active = yes;
    else
        w->pc = i->target; /* the ELSE or END, which reads the stack */
}

static void otherwise(sett__warp *w, const sett__insn *i)
{
    uint32_t no = w->stack[w->depth - 1].other;
    if (no)
        w->active = no;
    else
        w->pc = i->target;
}

/* While variable < hi; else the loop ends for the lane, for all: behind the END. */
static void enter_round(sett__warp *w, uint32_t yes, uint32_t go, uint32_t end)
{
    if (yes) {
        w->active = yes;
        w->pc = go;
    } else {
        w->active = w->stack[--w->depth].saved;
        w->pc = end;
    }
}

/* A loop that would be entered with a step of 0 or less, in the lanes of `in`? Then the launch has failed. */
static bool check_step(sett__core *c, const sett__warp *w, const sett__insn *i, uint32_t in)
{
    _Alignas(64) static const unsigned char zero[WARP * 8];
    uint8_t positive[WARP];
    const unsigned char *step = sett__at(w, i->c);
    i->fn(positive, zero, step, NULL, 1, 0);
    in &= ~truth(c, w, i, positive);
    if (!in)
        return true;
    int lane = __builtin_ctz(in), spare = 64 - (8 << i->lg);
    uint64_t bits = 0;
    memcpy(&bits, step + ((size_t)lane << i->lg), (size_t)1 << i->lg);
    return sett__fault(c, w, lane, i->op, "the step of a loop is %lld, it must be positive",
        (long long)((int64_t)(bits << spare) >> spare));
}

static bool open_for(sett__core *c, sett__warp *w, const sett__insn *i)
{
    uint8_t less[WARP];
    void *v = sett__at(w, i->d);
    memcpy(v, sett__at(w, i->a), (size_t)WARP << i->lg);
    i->fn(less, v, sett__at(w, i->b), NULL, 1, 0);
    uint32_t in = truth(c, w, i, less);
    if (!check_step(c, w, i, in))
        return false;
    push(w, 0);
    enter_round(w, in, w->pc, i->target);
    return true;
}

/* A variable that would wrap past the end of its type ends the loop. */
static bool next_round(sett__core *c, sett__warp *w, const sett__insn *i)
{
    _Alignas(64) unsigned char sum[WARP * 8];
    uint8_t less[WARP], grown[WARP];
    void *v = sett__at(w, i->d);
    if (sett__ended(c))
        return sett__halt(c, w, i);
    i->fn2(sum, v, sett__at(w, i->c), NULL, 1, 0);
    i->fn(less, sum, sett__at(w, i->b), NULL, 1, 0);
    i->fn(grown, v, sum, NULL, 1, 0);
    for (int l = 0; l < WARP; l++)
        less[l] &= grown[l];
    memcpy(v, sum, (size_t)WARP << i->lg);
    enter_round(w, truth(c, w, i, less), i->target, w->pc);
    return true;
}

/* Lanes leave where their condition is false; the stack has all that entered. */
static void test_round(sett__core *c, sett__warp *w, const sett__insn *i)
{
    enter_round(w, truth(c, w, i, sett__at(w, i->a)), w->pc, i->target);
}

/* Now and then other warps get their turn: the condition may wait for what they write. One that cannot become false is a
 * fault in the end, also of a launch without a limit of time. */
static bool end_round(sett__core *c, sett__warp *w, const sett__insn *i)
{
    if (sett__ended(c))
        return sett__halt(c, w, i);
    w->pc = i->target;
    w->rounds++;
    if (w->rounds % (i->sub ? SHORT_TURN : TURN) == 0) {
        w->state = SETT__PAUSED;
        w->wait = (sett__wait){i->sub ? SETT__FOR_MEMORY : SETT__FOR_TURN, 0};
    }
    if (w->rounds < (c->launch->most_rounds ? c->launch->most_rounds : MOST_ROUNDS))
        return true;
    return sett__fault(c, w, __builtin_ctz(w->active), i->op, "this warp has gone round its while loops %llu times: they do not end",
        (unsigned long long)w->rounds);
}

/* Lanes do not drift apart, so there is nothing to wait for. */
static bool sync_warp(sett__core *c, const sett__warp *w, const sett__insn *i)
{
    return w->active == w->live || sett__missing_lanes(c, w, i, "sync_warp in a branch");
}

static bool barrier(sett__core *c, sett__warp *w, const sett__insn *i)
{
    if (w->active != w->live)
        return sett__missing_lanes(c, w, i, "barrier in a branch");
    w->state = SETT__WAITING;
    w->wait = (sett__wait){SETT__FOR_BARRIER, 0};
    return true;
}

/* ---- the loop ------------------------------------------------------------------------------------ */
static void row(const sett__warp *w, const sett__insn *i)
{
    const void *b = i->n_args > 1 ? sett__at(w, i->b) : NULL, *z = i->n_args > 2 ? sett__at(w, i->c) : NULL;
    i->fn(sett__at(w, i->d), sett__at(w, i->a), b, z, i->n, i->splat);
}

/* Where the operands of a PIECES or LONG are that lie in a frame. */
static inline void in_frames(const sett__warp *w, const sett__insn *i, const unsigned char *in[3])
{
    const sett__ref ref[3] = {i->a, i->b, i->c};
    for (uint32_t k = 0; k < 3; k++)
        in[k] = k < i->n_args && i->lazy[k] == SETT__NONE ? sett__at(w, ref[k]) : NULL;
}

/* Where a piece of them is. */
static inline void piece(const sett__core *c, const sett__insn *i, const unsigned char *const in[3], uint32_t p, const unsigned char *x[3])
{
    for (uint32_t k = 0; k < 3; k++) {
        uint32_t at = i->splat >> k & 1 ? 0 : p;
        x[k] = in[k] || k >= i->n_args ? in[k] + ((size_t)at * i->n * WARP << i->lgs[k]) : c->lazy[i->lazy[k] + at];
    }
}

static void pieces(const sett__core *c, const sett__warp *w, const sett__insn *i)
{
    const unsigned char *in[3], *x[3];
    unsigned char *d = sett__at(w, i->d);
    in_frames(w, i, in);
    for (uint32_t p = 0; p < i->pieces; p++, d += (size_t)i->n * WARP << i->lg) {
        piece(c, i, in, p, x);
        i->fn(d, x[0], x[1], x[2], i->n, i->splat);
    }
}

/* Some rows at a time. False: the launch is to end. */
static bool many_rows(sett__core *c, const sett__warp *w, const sett__insn *i)
{
    enum { SOME = 1024 };
    const unsigned char *in[3], *x[3];
    unsigned char *d = sett__at(w, i->d);
    in_frames(w, i, in);
    for (uint32_t p = 0; p < i->pieces; p++) {
        piece(c, i, in, p, x);
        for (uint32_t left = i->n, n; left; left -= n, d += (size_t)n * WARP << i->lg) {
            if (sett__ended(c))
                return false;
            n = left < SOME ? left : SOME;
            i->fn(d, x[0], x[1], x[2], n, i->splat);
            for (uint32_t k = 0; k < i->n_args; k++)
                x[k] += i->splat >> k & 1 ? 0 : (size_t)n * WARP << i->lgs[k];
        }
    }
    return true;
}

/* What can neither fault nor change where the warp goes. False: it is none of that, or the launch is to end. */
static bool plain(sett__core *c, sett__warp *w, const sett__insn *i)
{
    switch ((sett__step)i->step) {
    case SETT__S_ROW:
        row(w, i);
        return true;
    case SETT__S_PIECES:
        pieces(c, w, i);
        return true;
    case SETT__S_COPY:
        copy_rows(sett__at(w, i->d), sett__at(w, i->a), i->n, (size_t)WARP << i->lg, i->a & SETT__REF_SPLAT);
        return true;
    case SETT__S_PICK:
        pick(c, w, i);
        return true;
    case SETT__S_REGROUP:
        regroup(w, i);
        return true;
    case SETT__S_REDUCE:
        reduce(w, i);
        return true;
    case SETT__S_CONST:
        sett__spread(sett__at(w, i->d), &i->imm, 1u << i->lg);
        return true;
    case SETT__S_VALUE:
        sett__spread(sett__at(w, i->d), (const char *)c->launch->params + i->imm, 1u << i->lg);
        return true;
    case SETT__S_SREG:
        special(c, w, i);
        return true;
    case SETT__S_LONG:
        return many_rows(c, w, i);
    case SETT__S_POLL:
        return !sett__ended(c);
    default:
        return false;
    }
}

static bool step(sett__core *c, sett__warp *w, const sett__insn *i)
{
    switch ((sett__step)i->step) {
    case SETT__S_LOAD:
        return sett__load(c, w, i);
    case SETT__S_STORE:
        return sett__store(c, w, i);
    case SETT__S_ATOM:
        return sett__atom(c, w, i);
    case SETT__S_BARRIER:
        return barrier(c, w, i);
    case SETT__S_SYNC_WARP:
        return sync_warp(c, w, i);
    case SETT__S_FENCE: /* blocks run on several threads */
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        return true;
    case SETT__S_NAMED:
        return sett__named_barrier(c, w, i);
    case SETT__S_SHFL:
        return shuffle(c, w, i);
    case SETT__S_WARP:
        return sett__ask_warp(c, w, i);
    case SETT__S_CP_ASYNC:
        return sett__cp_async(c, w, i);
    case SETT__S_CP_COMMIT:
        return sett__commit(w) || sett__fault(c, w, 0, i->op, "out of memory for copies in the background");
    case SETT__S_CP_WAIT:
        sett__complete(w, i->imm);
        return true;
    case SETT__S_INLINE:
        return sett__stand_in(c, w, i) || sett__halt(c, w, i);
    case SETT__S_IF:
        open_if(c, w, i);
        return true;
    case SETT__S_ELSE:
        otherwise(w, i);
        return true;
    case SETT__S_ENDIF:
        w->active = w->stack[--w->depth].saved;
        return true;
    case SETT__S_FOR:
        return open_for(c, w, i);
    case SETT__S_ENDFOR:
        return next_round(c, w, i);
    case SETT__S_LOOP:
        push(w, 0);
        return true;
    case SETT__S_WHILE:
        test_round(c, w, i);
        return true;
    case SETT__S_ENDLOOP:
        return end_round(c, w, i);
    case SETT__S_PRINTF:
        return sett__print(c, w, i);
    case SETT__S_ASSERT:
        return sett__check_assert(c, w, i);
    case SETT__S_STOP:
        w->state = SETT__DONE;
        return true;
    default:
        return plain(c, w, i) || sett__halt(c, w, i);
    }
}

sett__state sett__exec(sett__core *c, sett__warp *w)
{
    const sett__insn *code = c->program->code;
    w->state = SETT__RUNNING;
    while (w->state == SETT__RUNNING) {
        const sett__insn *i = &code[w->pc++];
        if (i->step == SETT__S_ROW)
            row(w, i);
        else if (i->step == SETT__S_PIECES)
            pieces(c, w, i);
        else if (!step(c, w, i))
            w->state = SETT__FAULTED;
    }
    return w->state;
}

void sett__exec_section(sett__core *c, sett__warp *w, int section)
{
    for (const sett__insn *i = c->program->code + c->program->section[section]; plain(c, w, i); i++)
        ;
}
