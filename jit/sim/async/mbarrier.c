/* SPDX-License-Identifier: Apache-2.0 */
/* Mbarriers: arrivals and bytes of a phase. They are no bytes of shared memory but entries of the block's table, one for each 8
 * bytes that the kernel calls mbarriers. */
#include "async.h"

enum { MOST = (1 << 20) - 1 }; /* arrivals, and bytes either way */

static uint32_t index_of(const sett__cta *of, const sett__mbarrier *m)
{
    return (uint32_t)(m - of->mbar);
}

static bool place_of(sett__core *c, const sett__warp *w, const sett__insn *i, uint32_t place, int lane, sett__cta **of, sett__mbarrier **to)
{
    sett__aim s;
    if (!sett__form_place(c, w, i, place, lane, 8, 8, &s))
        return false;
    *of = s.of;
    if ((s.offset - c->program->mbar_at) / 8 >= c->program->n_mbar)
        return sett__fault(c, w, lane, i->op, SETT_CHECK_INIT, "%s: shared memory that the launch adds has no mbarriers", sett__form_text(c, i));
    *to = &s.of->mbar[(s.offset - c->program->mbar_at) / 8];
    return true;
}

sett__mbarrier *sett__mbarrier_at(sett__core *c, const sett__warp *w, const sett__insn *i, uint32_t place, int lane, sett__cta **of)
{
    sett__mbarrier *m = NULL;
    if (!place_of(c, w, i, place, lane, of, &m))
        return NULL;
    if (m->count)
        return m;
    char where[96];
    const bool was = m->op && c->program->given->op[m->op].code == SETT__MBINVAL;
    sett__fault(c, w, lane, i->op, SETT_CHECK_INIT, "%s: the mbarrier at byte %u was %s%s", sett__form_text(c, i), c->program->mbar_at + 8 * index_of(*of, m),
        was ? "ended by mbarrier.inval at " : "not initialised", was ? sett__where_noted(c, m->op, where, sizeof where) : "");
    return NULL;
}

/* The block is that of the cluster whose table it is in. */
static bool tell(sett__core *c, enum sett__sync_what what, const sett__warp *w, uint32_t lanes, uint32_t op, const sett__mbarrier *m, int64_t n)
{
    const sett__cluster *k = c->cta->cluster;
    uint32_t r = 0;
    if (!sett__told_syncs(c))
        return true;
    while (r + 1 < k->n && !(m >= k->cta[r]->mbar && m < k->cta[r]->mbar + c->program->n_mbar))
        r++;
    return sett__tell_sync(c, (sett__sync){.what = (uint8_t)what, .warp = w, .lanes = lanes, .op = op, .of = k->cta[r], .id = index_of(k->cta[r], m), .n = n});
}

/* ---- a phase ---------------------------------------------------------------------------------- */
/* Two phases end, of other threads each, and no wait came between: more arrive for one than are counted, or some arrive again. (Those
 * who arrive in turns have a wait between their phases, or their arrivals could not be told apart.) */
static bool check_turns(sett__core *c, const sett__warp *w, int lane, uint32_t op, const sett__mbarrier *m)
{
    char where[96];
    if (!m->phase || m->seen == m->phase || m->came == m->before)
        return true;
    return sett__object(c, w, lane, op, SETT_CHECK_BARRIER_COUNT, "phase %u of the mbarrier ends, and nobody has waited for phase %u, in which other threads arrived: more arrive than its count of %u, from %s, or some arrive twice, or before their turn"
        "\n  fix    a count of all threads that arrive for one phase, at %s; or one thread of them that arrives", m->phase, m->phase - 1, m->count, sett__where_noted(c, m->op, where, sizeof where), where);
}

static bool settle(sett__core *c, const sett__warp *w, int lane, uint32_t op, sett__mbarrier *m)
{
    char where[96];
    c->cta->cluster->moves++;
    if (!m->pending && m->tx < 0) {
        if (!sett__object(c, w, lane, op, SETT_CHECK_BARRIER_COUNT, "phase %u of the mbarrier gets %d bytes more than were announced%s%s", m->phase, -m->tx,
                m->expects ? ", at " : "", m->expects ? sett__where_noted(c, m->expects - 1, where, sizeof where) : ""))
            return false;
        m->tx = 0;
    }
    if (m->pending || m->tx)
        return true;
    if (!check_turns(c, w, lane, op, m) || !tell(c, SETT__MBAR_PHASE, w, 1u << lane, op, m, m->phase))
        return false;
    m->phase++;
    m->pending = m->count;
    m->known = c->cta->cluster->touches;
    m->before = m->came;
    m->came = 0;
    m->waited = 0;
    return true;
}

/* Lanes of a warp have bits of their own, and so have the lanes that 32 warps elect. */
static uint64_t bit_of(const sett__core *c, const sett__warp *w, int lane)
{
    enum { PEER = 13, BITS = 64 };
    return UINT64_C(1) << (w->index + (uint32_t)lane + PEER * c->cta->rank) % BITS;
}

/* Of a wait that asked for a phase that had passed: who waits goes on too early. */
void sett__put_again(const sett__core *c, const sett__mbarrier *m, const char *before, sett__sink *to)
{
    char where[96];
    if (m->again)
        sett__putf(to, "%s%s at %s went through twice for one phase, by the same warp: its parity is not that of the phase that comes", before,
            sett__ops[c->program->given->op[m->again - 1].code].text, sett__where_noted(c, m->again - 1, where, sizeof where));
}

static bool too_many(sett__core *c, const sett__warp *w, int lane, uint32_t op, const sett__mbarrier *m, uint32_t arrivals)
{
    char words[500], where[96];
    sett__sink to = {.buf = words, .cap = sizeof words};
    sett__putf(&to, "%u arrival%s ", arrivals, arrivals == 1 ? "" : "s");
    if (m->pending)
        sett__putf(&to, "at an mbarrier whose phase %u waits for %u of %u, its count from %s", m->phase, m->pending, m->count, sett__where_noted(c, m->op, where, sizeof where));
    else
        sett__putf(&to, "too many: phase %u of the mbarrier has all that it counts, %u from %s, and waits for %d bytes", m->phase, m->count,
            sett__where_noted(c, m->op, where, sizeof where), m->tx);
    sett__put_again(c, m, "\n  path   ", &to);
    return sett__object(c, w, lane, op, SETT_CHECK_BARRIER_COUNT, "%s", words);
}

bool sett__mbarrier_come(sett__core *c, const sett__warp *w, int lane, uint32_t op, sett__mbarrier *m, uint32_t arrivals)
{
    if (arrivals > m->pending) {
        if (!too_many(c, w, lane, op, m, arrivals))
            return false;
        arrivals = m->pending;
    }
    if (!tell(c, SETT__MBAR_ARRIVE, w, 1u << lane, op, m, arrivals))
        return false;
    m->pending -= arrivals;
    m->came |= bit_of(c, w, lane);
    sett__note_order(c->cta->cluster, (uint64_t)w->index << 8 | c->cta->rank);
    return settle(c, w, lane, op, m);
}

bool sett__mbarrier_bytes(sett__core *c, const sett__warp *w, int lane, uint32_t op, sett__mbarrier *m, int64_t bytes)
{
    int64_t tx = m->tx + bytes;
    char where[96];
    if (!m->count)
        return sett__object(c, w, lane, op, SETT_CHECK_INIT, "bytes come to an mbarrier that was invalidated at %s", sett__where_noted(c, m->op, where, sizeof where));
    if (tx > MOST || tx < -MOST)
        return sett__fault(c, w, lane, op, SETT_CHECK_BARRIER_COUNT, "phase %u of the mbarrier %s %lld bytes, and at most %d are counted", m->phase,
            tx > 0 ? "waits for" : "gets ahead by", (long long)(tx > 0 ? tx : -tx), MOST);
    if (!tell(c, bytes < 0 ? SETT__MBAR_COMPLETE : SETT__MBAR_EXPECT, w, 1u << lane, op, m, bytes < 0 ? -bytes : bytes))
        return false;
    m->tx = (int32_t)tx;
    m->expects = bytes > 0 ? op + 1 : m->expects;
    return bytes > 0 || settle(c, w, lane, op, m);
}

/* ---- operations --------------------------------------------------------------------------------- */
bool sett__mbarrier_init(sett__core *c, sett__warp *w, const sett__insn *i)
{
    bool init = sett__form_op(c, i)->code == SETT__MBINIT;
    for (int l = 0; l < WARP; l++) {
        sett__mbarrier *m = NULL;
        sett__cta *of;
        if (!(w->active >> l & 1))
            continue;
        if (init ? !place_of(c, w, i, 0, l, &of, &m) : !(m = sett__mbarrier_at(c, w, i, 0, l, &of)))
            return false;
        int64_t count = init ? sett__form_value(c, w, i, 2, l, 1) : 0;
        char where[96];
        if (init && m->count && !sett__object(c, w, l, i->op, SETT_CHECK_INIT, "mbarrier.init: there is an mbarrier at byte %u already, from %s: mbarrier.inval ends it",
                c->program->mbar_at + 8 * index_of(of, m), sett__where_noted(c, m->op, where, sizeof where)))
            return false;
        if (init && (count < 1 || count > MOST)) {
            if (!sett__object(c, w, l, i->op, SETT_CHECK_BARRIER_COUNT, "mbarrier.init: a count of %lld is not 1 to %d", (long long)count, MOST))
                return false;
            count = count < 1 ? 1 : MOST;
        }
        *m = (sett__mbarrier){.count = (uint32_t)count, .pending = (uint32_t)count, .op = i->op, .made = c->cta->cluster->fences};
        c->cta->cluster->moves++;
        if (!tell(c, init ? SETT__MBAR_INIT : SETT__MBAR_INVAL, w, 1u << l, i->op, m, count))
            return false;
    }
    return true;
}

/* Of mbarrier.arrive and mbarrier.expect_tx: (place, base, count or bytes, predicate). */
static bool arrive_lane(sett__core *c, sett__warp *w, const sett__insn *i, int l)
{
    bool expect = sett__form_op(c, i)->code == SETT__MBEXPECT;
    bool arrives = !expect || sett__form_attr(c, i, SETT__AT_EXPECT_ARRIVE);
    int64_t n = sett__form_value(c, w, i, 2, l, 1);
    sett__cta *of;
    sett__mbarrier *m = sett__mbarrier_at(c, w, i, 0, l, &of);
    if (!m)
        return false;
    if (n < !expect || n > MOST) {
        if (!sett__object(c, w, l, i->op, SETT_CHECK_BARRIER_COUNT, "%s: %lld is not %d to %d", sett__form_text(c, i), (long long)n, !expect, MOST))
            return false;
        n = n < !expect ? !expect : MOST;
    }
    if (expect && !sett__mbarrier_bytes(c, w, l, i->op, m, n))
        return false;
    return !arrives || sett__mbarrier_come(c, w, l, i->op, m, expect ? 1 : (uint32_t)n);
}

/* After an arrival the other warps run first: always under "lazy", half of the time under "random"; "systematic" chooses who does. A warp that writes a stage after it
 * committed it, or reads one after it released it, may then give other results than a right kernel. */
static void give_turn(const sett__core *c, sett__warp *w)
{
    const bool random = c->launch->async.policy == SETT__ASYNC_RANDOM && sett__random(&c->cta->cluster->random) & 1;
    if (!random && c->launch->async.policy != SETT__ASYNC_LAZY && !c->launch->choices)
        return;
    w->state = SETT__PAUSED;
    w->wait = (sett__wait){SETT__FOR_TURN, 0};
}

bool sett__mbarrier_arrive(sett__core *c, sett__warp *w, const sett__insn *i)
{
    uint32_t lanes = sett__form_lanes(c, w, i, 3);
    for (int l = 0; l < WARP; l++)
        if (lanes >> l & 1 && !arrive_lane(c, w, i, l))
            return false;
    if (lanes)
        give_turn(c, w);
    return true;
}

static bool tell_waited(sett__core *c, const sett__warp *w, const sett__insn *i, uint32_t lanes, sett__mbarrier *m)
{
    const uint32_t bit = 1u << w->index % WARP;
    if (lanes == w->live) {
        m->again = m->waited & bit ? i->op + 1 : m->again;
        m->waited |= bit;
    }
    return tell(c, SETT__MBAR_WAITED, w, lanes, i->op, m, (int64_t)m->phase - 1);
}

/* Lanes whose phase has ended; *first: the mbarrier of the first other one. */
static bool ask(sett__core *c, sett__warp *w, const sett__insn *i, uint32_t *yes, uint32_t *first)
{
    sett__mbarrier *last = NULL;
    uint32_t lanes = 0; /* that found the phase of the last one ended */
    *yes = 0;
    for (int l = WARP; l-- > 0;) {
        sett__cta *of;
        int64_t parity = sett__form_value(c, w, i, 2, l, 0);
        if (!(w->active >> l & 1))
            continue;
        sett__mbarrier *m = sett__mbarrier_at(c, w, i, 0, l, &of);
        if (!m)
            return false;
        if (parity & ~1 && !sett__object(c, w, l, i->op, SETT_CHECK_BARRIER_COUNT, "%s: a parity is 0 or 1, not %lld", sett__form_text(c, i), (long long)parity))
            return false;
        parity &= 1;
        if ((m->phase & 1) != (uint32_t)parity) {
            if (last && last != m && !tell_waited(c, w, i, lanes, last))
                return false;
            lanes = (last == m ? lanes : 0) | 1u << l;
            last = m;
            sett__peers_known(c->cta, m->known);
            m->seen = m->phase;
            *yes |= 1u << l;
        } else {
            *first = index_of(of, m);
        }
    }
    return !last || tell_waited(c, w, i, lanes, last);
}

/* In a lazy order that is checked a try_wait waits for no time at all, so that a kernel that ignores its answer shows. */
static bool gives_up_at_once(const sett__core *c)
{
    return c->launch->check && c->launch->async.policy == SETT__ASYNC_LAZY;
}

/* Has a try_wait waited long enough? By a random policy at any time. */
static bool gives_up(const sett__core *c, const sett__warp *w)
{
    enum { ONE_IN = 8 };
    return w->apart.give_up || (c->launch->async.policy == SETT__ASYNC_RANDOM && sett__random(&c->cta->cluster->random) % ONE_IN == 0);
}

/* try_wait suspends the warp, until the phase ends or nothing else happens; test_wait lets others have their turn. */
bool sett__mbarrier_wait(sett__core *c, sett__warp *w, const sett__insn *i)
{
    uint32_t yes, first = 0;
    if (!ask(c, w, i, &yes, &first))
        return false;
    bool all = yes == w->active, try = sett__form_op(c, i)->code == SETT__MBTRY;
    if (!all && try && !gives_up_at_once(c) && !gives_up(c, w))
        return sett__try_again(w, SETT__FOR_MBARRIER, first);
    w->apart.give_up = false;
    uint8_t *d = sett__at(w, i->d);
    for (int l = 0; l < WARP; l++)
        d[l] = yes >> l & 1;
    if (!all) {
        w->state = try && !gives_up_at_once(c) ? w->state : SETT__PAUSED;
        w->wait = (sett__wait){SETT__FOR_POLL, first};
    }
    return true;
}
