/* SPDX-License-Identifier: Apache-2.0 */
/* Who of a cluster stands still for ever: where each warp waits, and what for. Of a launch that is checked also who could still bring it. */
#include "async.h"

/* ---- what a warp waits for ------------------------------------------------------------------------------------- */
static bool for_mbarrier(const sett__warp *w)
{
    return w->wait.what == SETT__FOR_MBARRIER || w->wait.what == SETT__FOR_POLL;
}

static bool for_product(const sett__core *c, const sett__warp *w)
{
    return w->wait.what == SETT__FOR_EVENTS && c->program->given->op[sett__wait_op(c, w)].code == SETT__WGWAIT;
}

/* Who has not come to the block's barrier: "warps 2-3, which have ended". */
static void add_absent(const sett__core *c, const sett__cta *b, const sett__warp *w, sett__sink *t)
{
    char who[40], where[96];
    const char *between = "";
    for (uint32_t i = 0, next; i < b->n_warps; i = next) {
        const sett__warp *x = &b->warp[i];
        sett__sink words = {.buf = who, .cap = sizeof who};
        next = sett__put_alike(b, i, &words);
        if (x->state != SETT__DONE && x->wait.what == SETT__FOR_BARRIER && x->wait.id == w->wait.id)
            continue;
        who[strlen(who) - 1] = 0; /* a blank */
        sett__putf(t, "%s%s, which %s", between, who, x->state == SETT__DONE ? next > i + 1 ? "have ended" : "has ended" : next > i + 1 ? "wait at " : "waits at ");
        if (x->state != SETT__DONE)
            sett__put(t, sett__where_noted(c, sett__wait_op(c, x), where, sizeof where));
        between = ", and ";
    }
    sett__put(t, *between ? "" : "the barrier");
}

static void add_cause(const sett__core *c, const sett__cta *b, const sett__warp *w, sett__sink *t)
{
    static const char *const for_what[] = {[SETT__FOR_BARRIER] = "the barrier", [SETT__FOR_TURN] = "its turn", [SETT__FOR_MEMORY] = "memory",
        [SETT__FOR_EVENTS] = "copies", [SETT__FOR_CLUSTER] = "the cluster", [SETT__FOR_REGISTERS] = "registers"};
    if (for_mbarrier(w))
        sett__mbarrier_words(c, b, w->wait.id, t);
    else if (for_product(c, w))
        sett__putf(t, "a product that warp %u of its group has not begun", sett__wgmma_missing(b, w, w->wait.id)->index);
    else if (w->wait.what == SETT__FOR_BARRIER && w->wait.id && c->launch->check)
        sett__putf(t, "barrier %u: %u of %u threads have come", w->wait.id, b->barrier[w->wait.id].come, b->barrier[w->wait.id].want);
    else if (w->wait.what == SETT__FOR_BARRIER && w->wait.id)
        sett__putf(t, "barrier %u", w->wait.id);
    else if (w->wait.what == SETT__FOR_BARRIER && c->launch->check)
        add_absent(c, b, w, t);
    else
        sett__put(t, for_what[w->wait.what]);
}

static void add_warp(const sett__core *c, const sett__cta *b, const sett__warp *w, sett__sink *t)
{
    char where[96];
    if (w->state == SETT__DONE) {
        sett__put(t, "ended");
        return;
    }
    sett__putf(t, "at %s: ", sett__where(c->program, sett__wait_op(c, w), where, sizeof where));
    add_cause(c, b, w, t);
}

static void add_block(const sett__core *c, const sett__cta *b, sett__sink *t)
{
    for (uint32_t i = 0, next; i < b->n_warps; i = next) {
        next = sett__put_alike(b, i, t);
        add_warp(c, b, &b->warp[i], t);
    }
}

/* ---- who could still bring it ------------------------------------------------------------------------------------- */
typedef struct need {
    const sett__warp *w; /* who waits */
    const sett__cta *b;
    bool arrivals, bytes; /* of an mbarrier */
} need;

static need need_of(const sett__cta *b, const sett__warp *w)
{
    need n = {.w = w, .b = b};
    if (for_mbarrier(w)) {
        n.arrivals = b->mbar[w->wait.id].pending > 0;
        n.bytes = b->mbar[w->wait.id].tx > 0;
    }
    return n;
}

/* Which of an operation's places is its mbarrier; -1: it has none. *bytes: it brings bytes. */
static int mbarrier_place(uint8_t code, bool *bytes)
{
    *bytes = code == SETT__TMALOAD || code == SETT__BULKLOAD || code == SETT__BULKPEER || code == SETT__STASYNC;
    switch (code) {
    case SETT__MBARRIVE:
    case SETT__MBEXPECT:
    case SETT__CPARRIVE: return 0;
    case SETT__TMALOAD:
    case SETT__STASYNC: return 1;
    case SETT__BULKLOAD:
    case SETT__BULKPEER: return 2;
    default: return -1;
    }
}

static bool brings_to_mbarrier(const sett__core *c, const sett__insn *i, const need *n)
{
    bool bytes;
    const uint8_t code = i->step == SETT__S_FORM ? c->program->given->op[i->op].code : SETT__CONST;
    const int place = mbarrier_place(code, &bytes);
    if (place < 0 || !(bytes ? n->bytes : n->arrivals))
        return false;
    if (code == SETT__MBEXPECT && !sett__form_attr(c, i, SETT__AT_EXPECT_ARRIVE))
        return false;
    const sett__root *r = &c->program->root[c->program->spot[i->form.places + (uint32_t)place].root];
    const uint32_t at = c->program->mbar_at + 8 * n->w->wait.id;
    return at >= r->offset && at < r->offset + r->bytes;
}

static bool brings(const sett__core *c, const sett__insn *i, const void *what)
{
    const need *n = what;
    const sett__op *o = &c->program->given->op[i->op];
    switch (n->w->wait.what) {
    case SETT__FOR_MBARRIER:
    case SETT__FOR_POLL: return brings_to_mbarrier(c, i, n);
    case SETT__FOR_MEMORY: return sett__spun_on(c, n->w) && sett__answers(c, i, sett__spun_on(c, n->w));
    case SETT__FOR_BARRIER: return n->w->wait.id ? i->step == SETT__S_NAMED : i->step == SETT__S_BARRIER;
    case SETT__FOR_CLUSTER: return i->step == SETT__S_FORM && o->code == SETT__CLARRIVE;
    case SETT__FOR_REGISTERS: return i->step == SETT__S_FORM && o->code == SETT__MAXNREG && sett__form_attr(c, i, SETT__AT_MAXNREG_WAY);
    default: return i->step == SETT__S_FORM && o->code == SETT__WGMMA;
    }
}

/* May this one bring what the other waits for? Only warps of its own block do, but to an mbarrier and the cluster's barrier. */
static bool may_bring(const sett__core *c, const need *n, const sett__cta *b, const sett__warp *w, uint32_t *op)
{
    const bool far = for_mbarrier(n->w) || n->w->wait.what == SETT__FOR_CLUSTER || n->w->wait.what == SETT__FOR_MEMORY;
    if (w->state == SETT__DONE || (b != n->b && !far) || (w == n->w && n->w->wait.what != SETT__FOR_MBARRIER && n->w->wait.what != SETT__FOR_POLL))
        return false;
    if (n->w->wait.what == SETT__FOR_BARRIER && w->state == SETT__WAITING && w->wait.what == SETT__FOR_BARRIER && w->wait.id == n->w->wait.id &&
        w->pc == n->w->pc)
        return false; /* it has */
    *op = sett__ahead(c, w, brings, n);
    return *op != SETT__NONE;
}

/* The lines of the program that do, each once: "mbarrier.arrive at k.c:52, k.c:60". */
static void add_lines(const sett__core *c, const need *n, sett__sink *t)
{
    enum { MOST = 4 };
    const sett__program *p = c->program;
    char where[96], last[96] = "";
    uint8_t code = SETT__CONST;
    int many = 0;
    for (uint32_t k = p->section[SETT__BODY]; p->code[k].step != SETT__S_STOP && many < MOST; k++) {
        const uint32_t op = p->code[k].op;
        if (!brings(c, &p->code[k], n) || !strcmp(sett__where(p, op, where, sizeof where), last))
            continue;
        sett__put(t, many++ ? ", " : "it comes by ");
        if (p->given->op[op].code != code)
            sett__putf(t, "%s at ", sett__ops[p->given->op[op].code].text);
        code = p->given->op[op].code;
        sett__put(t, sett__where_noted(c, op, last, sizeof last));
    }
    sett__put(t, many ? "; " : "");
}

/* The warps that may, as "warps 1-3, which wait at k.c:40, by mbarrier.arrive at k.c:52". How many sorts of them. */
static uint32_t add_bringers(const sett__core *c, const need *n, sett__sink *t)
{
    const sett__cluster *k = n->b->cluster;
    char where[96], by[96];
    uint32_t many = 0, op;
    for (uint32_t r = 0; r < k->n; r++)
        for (uint32_t i = 0, next; i < k->cta[r]->n_warps; i = next) {
            const sett__cta *b = k->cta[r];
            const sett__warp *w = &b->warp[i];
            sett__sink words = {.buf = where, .cap = sizeof where};
            next = sett__put_alike(b, i, &words);
            if (!may_bring(c, n, b, w, &op))
                continue;
            sett__putf(t, "%s%scould, by %s at %s", many++ ? ", " : "", where, sett__ops[c->program->given->op[op].code].text, sett__where_noted(c, op, by, sizeof by));
            sett__putf(t, w == n->w ? " behind this wait" : ", and wait%s at %s", next - i > 1 ? "" : "s", sett__where_noted(c, sett__wait_op(c, w), by, sizeof by));
        }
    return many;
}

/* ---- the finding ------------------------------------------------------------------------------------------------------- */
/* Whose wait is the reason of the others: nobody could end it, whoever went on. */
static bool is_dead_end(const sett__core *c, const sett__cta *b, const sett__warp *w)
{
    char none[1];
    sett__sink t = {.buf = none, .cap = sizeof none};
    const need n = need_of(b, w);
    const uint32_t noted = c->notes->n;
    const bool end = !add_bringers(c, &n, &t);
    c->notes->n = noted;
    return end;
}

/* A phase that some have come to and others have not tells more than one that nobody has come to yet. */
static bool is_begun(const sett__cta *b, const sett__warp *w)
{
    const sett__mbarrier *m = for_mbarrier(w) ? &b->mbar[w->wait.id] : NULL;
    return m && (m->tx || (m->pending && m->pending < m->count));
}

/* Of its first product that has not ended. */
static uint32_t product_op(const sett__cluster *k, const sett__warp *w)
{
    for (uint32_t n = 0; n < k->n_event; n++)
        if (k->event[n]->kind == SETT__EVENT_WGMMA && k->event[n]->warp == w)
            return k->event[n]->op;
    return SETT__NONE;
}

/* Count, bytes or init of what it waits for. SETT__NONE: it has none. */
static uint32_t cause_op(const sett__core *c, const sett__cta *b, const sett__warp *w)
{
    if (for_mbarrier(w)) {
        const sett__mbarrier *m = &b->mbar[w->wait.id];
        return !m->pending && m->expects ? m->expects - 1 : m->op;
    }
    if (for_product(c, w)) {
        const sett__warp *missing = sett__wgmma_missing(b, w, w->wait.id);
        return missing->state == SETT__DONE ? product_op(b->cluster, w) : sett__wait_op(c, missing);
    }
    for (uint32_t i = 0; i < b->n_warps; i++) /* who is somewhere else */
        if (b->warp[i].state != SETT__DONE && sett__wait_op(c, &b->warp[i]) != sett__wait_op(c, w))
            return sett__wait_op(c, &b->warp[i]);
    return SETT__NONE;
}

void sett__put_graph(const sett__core *c, sett__sink *t)
{
    const sett__cluster *k = c->cta->cluster;
    char where[96];
    for (uint32_t r = 0; r < k->n; r++)
        for (uint32_t i = 0, next; i < k->cta[r]->n_warps; i = next) {
            const sett__cta *b = k->cta[r];
            const sett__warp *w = &b->warp[i];
            sett__sink words = {.buf = where, .cap = sizeof where};
            next = sett__put_alike(b, i, &words);
            where[strlen(where) - 1] = 0; /* a blank */
            sett__putf(t, "\n  %s  block (%u,%u,%u) %s", w->state == SETT__DONE ? "ended" : "waits", b->at[0], b->at[1], b->at[2], where);
            if (w->state == SETT__DONE)
                continue;
            sett__put(t, " ");
            add_warp(c, b, w, t);
            sett__where_noted(c, sett__wait_op(c, w), where, sizeof where);
            const need n = need_of(b, w);
            sett__put(t, "\n         ");
            add_lines(c, &n, t);
            if (!add_bringers(c, &n, t))
                sett__put(t, "nobody can still bring it");
        }
}

static void put_mbarrier_fix(const sett__core *c, const sett__warp *w, const sett__mbarrier *m, bool dead_end, sett__sink *t)
{
    char where[96];
    const bool fresh = m->pending == m->count && !m->tx;
    if (fresh && !m->phase && !dead_end && !(m->waited >> w->index & 1))
        sett__put(t, "parity 1, if this is a producer's first wait for a stage that is free: on a fresh mbarrier it goes through at once");
    else if (fresh && dead_end)
        sett__putf(t, "as many rounds on both sides: nobody arrives for phase %u", m->phase);
    else if (fresh)
        sett__putf(t, "an arrival for phase %u by a thread that does not wait for this one", m->phase);
    else if (m->pending)
        sett__putf(t, "as many arrivals as the count of %s says: %u of %u have come for phase %u", sett__where(c->program, m->op, where, sizeof where), m->count - m->pending, m->count, m->phase);
    else
        sett__putf(t, "as many bytes as its copies bring to it where they are announced, at %s", m->expects ? sett__where(c->program, m->expects - 1, where, sizeof where) : "no line yet");
}

static void put_fix(const sett__core *c, const sett__cta *b, const sett__warp *w, bool dead_end, sett__sink *t)
{
    static const char *const fix[] = {[SETT__FOR_BARRIER] = "the barrier where all threads of the block come to it, or sett_barrier(b, id, threads) of those that do",
        [SETT__FOR_CLUSTER] = "an arrival of each thread of the cluster", [SETT__FOR_EVENTS] = "the product by all four warps of the group",
        [SETT__FOR_REGISTERS] = "sett_setmaxregister_decrease by the warps that give them", [SETT__FOR_MEMORY] = "what it waits for, written by a thread that does not wait for this one"};
    sett__put(t, "\n  fix    ");
    if (c->launch->check->any)
        sett__put(t, "the errors that were told before this one, which it may follow from");
    else if (for_mbarrier(w))
        put_mbarrier_fix(c, w, &b->mbar[w->wait.id], dead_end, t);
    else if (w->wait.what == SETT__FOR_BARRIER && w->wait.id)
        sett__putf(t, "a count of the threads that come, or the barrier where all %u that it counts come to it", b->barrier[w->wait.id].want);
    else
        sett__put(t, w->wait.what < SETT__COUNT(fix) && fix[w->wait.what] ? fix[w->wait.what] : fix[SETT__FOR_MEMORY]);
}

static void find(sett__core *c, const sett__cta *b, const sett__warp *w)
{
    char words[3000], cause[300];
    sett__sink text = {.buf = words, .cap = sizeof words}, why = {.buf = cause, .cap = sizeof cause};
    sett__finding f = {.kind = SETT_CHECK_DEADLOCK, .level = SETT_CHECK_ERROR};
    const uint32_t at = sett__wait_op(c, w), by = cause_op(c, b, w);
    c->notes->n = 0;
    sett__finding_site(&f, at, sett__role_of(&c->program->given->op[at]));
    if (by != SETT__NONE)
        sett__finding_site(&f, by, sett__role_of(&c->program->given->op[by]));
    add_cause(c, b, w, &why);
    sett__put_graph(c, &text);
    put_fix(c, b, w, is_dead_end(c, b, w), &text);
    const uint8_t other = w->wait.what == SETT__FOR_REGISTERS ? SETT_CHECK_REGISTERS : for_product(c, w) && is_dead_end(c, b, w) ? SETT_CHECK_DIVERGENCE : SETT_CHECK_DEADLOCK;
    for (int k = other == SETT_CHECK_DEADLOCK; k < 2; k++) { /* what it is a deadlock of has a kind of its own */
        f.kind = k ? SETT_CHECK_DEADLOCK : other;
        sett__report(c, &f, "%s waits for ever for %s%s", sett__ops[c->program->given->op[at].code].text, cause, words);
    }
}

/* ---- all of them --------------------------------------------------------------------------------------------------------- */
/* The first whose wait nobody could end, else the first for a phase that has begun, else the first that waits. */
enum { DEAD_END, BEGUN, ANY };
static const sett__warp *choose(const sett__core *c, const sett__cluster *k, int sort, sett__cta **of)
{
    for (uint32_t r = 0; r < k->n; r++)
        for (uint32_t i = 0; i < k->cta[r]->n_warps; i++) {
            const sett__warp *w = &k->cta[r]->warp[i];
            *of = k->cta[r];
            if (w->state != SETT__DONE && (sort == ANY || (sort == BEGUN ? is_begun(*of, w) : is_dead_end(c, *of, w))))
                return w;
        }
    return NULL;
}

/* Blocks that wait come first: the text may be too long for all. */
void sett__stand_still(sett__core *c)
{
    const sett__cluster *k = c->cta->cluster;
    char words[400];
    sett__sink text = {.buf = words, .cap = sizeof words};
    sett__cta *of = k->cta[0];
    const sett__warp *first = NULL;
    for (int sort = c->launch->check ? DEAD_END : ANY; !first; sort++)
        first = choose(c, k, sort, &of);
    sett__cta_turn_to(c, of);
    if (c->launch->check)
        find(c, of, first);
    for (int done = 0; done < 2; done++)
        for (uint32_t r = 0; r < k->n; r++)
            if (k->cta[r]->left == done)
                add_block(c, k->cta[r], &text);
    char what[440];
    snprintf(what, sizeof what, "a wait that never ends: %s", words);
    sett__fault_as(c, SETT_E_FAULT, NULL, 0, sett__wait_op(c, first), what);
}
