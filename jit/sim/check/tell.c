/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of what shared memory shows: who, where, what is missing between the two, and the call that adds it. */
#include "agents.h"
#include "checker.h"
#include "phrase.h"

/* ---- words ------------------------------------------------------------------------------------------------------------- */
/* The root that a byte of shared memory is in; roots may lie over each other: the one that the operation names, if any. */
static const sett__root *root_at(const sett__core *c, uint32_t op, uint32_t at)
{
    const sett__tape *t = c->program->given;
    const sett__root *found = NULL;
    for (uint32_t k = 0; k < c->program->n_root; k++) {
        const sett__root *r = &c->program->root[k];
        if (r->space != SETT__SHARED || at < r->offset || (r->bytes && at >= r->offset + r->bytes))
            continue;
        bool names = false;
        for (int i = 0; i < t->op[op].n_args; i++)
            names |= sett__arg(t, &t->op[op], i) == r->op;
        if (!found || names)
            found = r;
        if (names)
            break;
    }
    return found;
}

static void put_place(const sett__core *c, const actor *x, uint32_t op, uint32_t at, sett__sink *to, uint32_t *alloc)
{
    char where[160];
    const sett__root *r = root_at(c, op, at);
    sett__putf(to, "byte %u of shared memory", at);
    if (x->where->rank != c->cta->rank || x->n->blocks > 1)
        sett__putf(to, " of block %u of the cluster", x->where->rank);
    if (!r)
        return;
    const sett__op *o = &c->program->given->op[r->op];
    sett__putf(to, " (element %u of the %s tensor of %s)", (at - r->offset) >> r->lg, sett_dtype_name((sett_dtype)o->dtype), sett__where(c->program, r->op, where, sizeof where));
    *alloc = r->op;
}

static const char *verb_of(uint8_t how)
{
    return how == SETT__READ ? "reads" : how == SETT__WRITE ? "writes" : "updates";
}

static uint32_t domain_of(const near *n)
{
    return (uint32_t)n->cluster->cta[0]->number + 1;
}

static sett__party party_of(const actor *x, const access *a, uint32_t lane)
{
    return (sett__party){.op = a->op, .domain = domain_of(x->n), .agent = a->agent, .lanes = lane < WARP ? 1u << lane : a->lanes, .round = a->round, .how = a->how};
}

typedef struct conflict { /* the older access, and the one that is told now */
    const actor *x;
    const access *a;
    uint32_t old, role, rank, index, self_role, self_rank, self_index, is_index; /* old: its time; self_index: of the warp */
    const walker *teller, *self; /* whose accesses these are, or who began them; teller: NULL: what goes on by itself */
    sett__party was, is;
} conflict;

static conflict conflict_of(const actor *x, const access *a, uint32_t old, uint32_t old_lane, uint32_t lane)
{
    conflict p = {.x = x, .a = a, .old = old, .was = party_of(x, a, old_lane), .is = {.op = SETT__NONE}};
    if (x->op != SETT__NONE) {
        p.is = (sett__party){.op = x->op, .domain = domain_of(x->n), .agent = x->agent, .lanes = lane < WARP ? 1u << lane : x->lanes, .how = x->how, .later = true};
        p.is.round = x->time ? sett__access_at(x->n, x->time)->round : x->agent == x->self ? sett__round_of(x->n, x->c, x->w, x->op, __builtin_ctz(x->lanes)) : 0;
        sett__agent_is(x->n, x->agent, &p.self_role, &p.self_rank, &p.is_index);
    }
    sett__agent_is(x->n, a->agent, &p.role, &p.rank, &p.index);
    p.teller = p.role == OF_WARP ? &x->n->walker[p.rank * x->n->warps + p.index] : NULL;
    p.self = x->w ? sett__walker(x->n, x->c, x->w) : NULL;
    p.self_index = x->w ? x->w->index : p.is_index;
    return p;
}

static void put_the(const conflict *p, bool older, sett__sink *to)
{
    sett__put_the(p->x->c, p->x->n, older ? &p->was : &p->is, older ? &p->is : &p->was, to);
}

static void name_site(const conflict *p, uint32_t op, sett__finding *f)
{
    sett__finding_site(f, op, sett__role_of(&p->x->c->program->given->op[op]));
}

/* By which operation who did the older one told of it first; op: SETT__NONE: by none. round: 0: not known. */
typedef struct tell {
    uint32_t op, round, time;
    uint32_t lanes;
    bool early; /* the same arrival, in the round of the older one, had come before it */
    bool apart; /* other lanes than the older one's tell */
} tell;

static tell first_tell(const conflict *p, const walker *w)
{
    tell is = {.op = SETT__NONE};
    uint32_t k = 0;
    for (; w && k < TOLD && k < w->tells; k++) {
        const uint32_t at = (w->tells - 1 - k) % TOLD;
        if (w->told[at].time < p->old)
            break;
        is.op = w->told[at].op, is.round = w->told[at].round, is.lanes = w->told[at].lanes, is.time = w->told[at].time;
    }
    is.apart = is.op != SETT__NONE && !(is.lanes & p->was.lanes);
    if (k == TOLD)
        is.round = 0; /* there may have been others before it */
    for (; w && is.round && k < TOLD && k < w->tells; k++) {
        const uint32_t at = (w->tells - 1 - k) % TOLD;
        is.early |= w->told[at].op == is.op && p->a->round && w->told[at].round == p->a->round && sett__role_of(&p->x->c->program->given->op[is.op]) == SETT_CHECK_ROLE_ARRIVE;
    }
    return is;
}

static bool same_loop(const near *n, uint32_t op, uint32_t other)
{
    return n->loop[op] == n->loop[other];
}

/* Where a warp waited last; lanes: of them; 0: any. */
static void put_waited(const conflict *p, const walker *w, uint32_t index, uint32_t lanes, sett__sink *to, sett__finding *f)
{
    const sett__core *c = p->x->c;
    const uint32_t op = w->waited - 1;
    sett__putf(to, "warp %u ", index);
    if (lanes & ~w->waited_lanes && w->waited_lanes) {
        sett__put_lanes(to, w->waited_lanes);
        sett__put(to, " alone ");
    }
    sett__put(to, "waited last by ");
    sett__put_code(c, op, to);
    if (c->program->given->op[op].code == SETT__MBTRY || c->program->given->op[op].code == SETT__MBTEST) {
        sett__put(to, ", for the ");
        sett__put_mbarrier(c->program, p->x->n->mbar_id[w->waited_mbar], to);
    }
    name_site(p, op, f);
}

/* How far what the older one did got: who did it told of it at the first place behind it, and where the other waited last. */
static void put_path(const conflict *p, sett__sink *to, sett__finding *f)
{
    const sett__core *c = p->x->c;
    const near *n = p->x->n;
    const tell first = first_tell(p, p->teller);
    const char *between = "\n  path   ";
    if (p->teller && first.op == SETT__NONE) {
        sett__putf(to, "%swarp %u has told nobody of ", between, p->index);
        put_the(p, true, to);
        sett__put(to, " since");
        between = "; ";
    } else if (p->teller) {
        sett__put(to, between);
        sett__put_code(c, first.op, to);
        if (first.apart) {
            sett__put(to, " by ");
            sett__put_lanes(to, first.lanes);
            sett__put(to, " does not tell of ");
        } else {
            sett__put(to, " tells of ");
        }
        put_the(p, true, to);
        if (!first.apart && first.round && (first.round != p->a->round || !same_loop(n, first.op, p->a->op)))
            sett__putf(to, " in round %u", first.round);
        if (first.early && !first.apart)
            sett__putf(to, ", as that of round %u came before it", p->a->round);
        between = "; ";
    }
    if (p->self && p->self->waited) {
        sett__put(to, between);
        put_waited(p, p->self, p->self_index, p->x->agent == p->x->self ? p->is.lanes : 0, to, f);
    }
    if (first.op != SETT__NONE)
        name_site(p, first.op, f);
}

/* ---- what is missing ---------------------------------------------------------------------------------------------------- */
/* A warp that began the older one told others later, and the newer one is behind that: a wait before it is enough. */
static bool is_told(const conflict *p, tell *first)
{
    if (p->role != OF_CP_ASYNC && p->role != OF_BULK_READ && p->role != OF_BULK_WRITE)
        return false;
    const near *n = p->x->n;
    *first = first_tell(p, &n->walker[p->rank * n->warps + p->index]);
    return first->op != SETT__NONE && p->x->known && sett__covers(n, p->x->known, BEFORE, sett__agent(n, OF_WARP, p->rank, p->index), MANY_LANES, first->time);
}

/* The newer one goes on by itself, and had begun when the older one came. */
static bool is_under_way(const conflict *p)
{
    return p->is.op != SETT__NONE && p->self_role != OF_WARP && (p->self_role == OF_CP_ASYNC || p->old > p->x->began);
}

/* Where its thread waits for it now; SETT__NONE: it does not. */
static uint32_t awaited(const conflict *p)
{
    const sett__warp *w = p->x->w;
    const bool waits = is_under_way(p) && p->self_role != OF_MBARRIER && w && w->state == SETT__WAITING && w->wait.what == SETT__FOR_EVENTS;
    return waits ? sett__wait_op(p->x->c, w) : SETT__NONE;
}

/* What the older one's end is, to who waits for it. */
static const char *const done[ROLES] = {
    [OF_CP_ASYNC] = "sett_cp_async_wait_group by the thread that copies, then a barrier",
    [OF_BULK_READ] = "sett_tma_store_wait_read by the thread that committed the store, then a barrier",
    [OF_BULK_WRITE] = "sett_tma_store_wait by the thread that committed the store, then a barrier",
    [OF_WGMMA] = "sett_mma_wait for the product, then a barrier or the release of its stage",
    [OF_MBARRIER] = "a wait for the phase in which the copy completes",
};

static void put_order(const conflict *p, sett__sink *to)
{
    const actor *x = p->x;
    const bool meanwhile = is_under_way(p);
    const uint32_t wait = awaited(p);
    tell first = first_tell(p, p->teller);
    const uint32_t round = wait != SETT__NONE ? sett__round_of(x->n, x->c, x->w, wait, __builtin_ctz(x->lanes)) : 0;
    const bool same_warp = p->index == p->self_index && p->rank == p->self_rank;
    if (wait != SETT__NONE && wait < p->a->op && same_loop(x->n, wait, p->a->op) && same_warp && round > p->a->round) {
        sett__put(to, "fewer pending groups in ");
        sett__put_code(x->c, wait, to);
        sett__put(to, ": in the round of ");
        put_the(p, true, to);
        sett__put(to, " it left this one pending");
    } else if (wait != SETT__NONE && wait < p->a->op && (same_loop(x->n, wait, p->a->op) || !x->n->loop[p->a->op])) {
        sett__put_barrier(x->c, wait, p->a->op, same_warp, to);
        sett__put(to, " between ");
        sett__put_code(x->c, wait, to);
        sett__put(to, " and ");
        put_the(p, true, to);
        sett__put_outside(x->c, wait, p->a->op, to);
    } else if (done[p->role] && is_told(p, &first)) {
        sett__putf(to, "%.*s, before ", (int)strcspn(done[p->role], ","), done[p->role]);
        sett__put_code(x->c, first.op, to);
    } else if (meanwhile || done[p->role]) {
        sett__putf(to, "%s, before ", done[meanwhile ? p->self_role : p->role]);
        put_the(p, meanwhile, to);
    } else if (first.apart && !first.early && sett__role_of(&x->c->program->given->op[first.op]) == SETT_CHECK_ROLE_ARRIVE) {
        sett__put(to, "sett_sync_warp(b) between ");
        put_the(p, true, to);
        sett__put(to, " and ");
        sett__put_code(x->c, first.op, to);
    } else if (p->self_role == OF_MBARRIER && x->how & SETT__WRITE && p->a->how == SETT__READ && p->is.round <= p->a->round) {
        sett__put(to, done[OF_MBARRIER]); /* the read came too early */
        sett__put(to, ", before ");
        put_the(p, true, to);
    } else if (first.early && !first.apart) {
        sett__put_code(x->c, first.op, to);
        sett__put(to, " behind ");
        put_the(p, true, to);
    } else if (p->rank != p->self_rank) {
        sett__put(to, "sett_cluster_sync(b) between the two, or an mbarrier of the other block");
    } else if (p->self_role == OF_MBARRIER || p->self_role == OF_WGMMA || p->self_role == OF_BULK_READ) {
        sett__put(to, "a barrier, or an arrival of those threads at an mbarrier, behind ");
        put_the(p, true, to);
        sett__put(to, " and before ");
        put_the(p, false, to);
        sett__put(to, " is issued");
    } else if (x->n->loop[x->op] && x->n->loop[p->a->op] && !same_loop(x->n, x->op, p->a->op)) {
        sett__put(to, "an arrival behind ");
        put_the(p, true, to);
        sett__put(to, ", in each round, at an mbarrier or a named barrier at which the warps of ");
        put_the(p, false, to);
        sett__put(to, " wait before it");
    } else {
        sett__put_barrier(x->c, x->op, p->a->op, p->a->agent == x->self && x->agent == x->self, to);
        sett__put(to, " between the two");
        sett__put_outside(x->c, x->op, p->a->op, to);
        if (sett__same_line(x->c, x->op, p->a->op))
            sett__put(to, "; or an atomic, or places of their own, as both are of one line");
    }
}

/* The fence that there is: of who did the older one, behind what told of it; or of who did the other. SETT__NONE: none is known. */
static uint32_t late_fence(const conflict *p, bool *of_reader)
{
    *of_reader = !p->teller || !p->teller->fenced || p->teller->fenced_at < p->old;
    const walker *w = *of_reader ? p->self : p->teller;
    return w && w->fenced ? w->fenced - 1 : SETT__NONE;
}

static void put_fence(const conflict *p, sett__sink *to)
{
    bool of_reader;
    const uint32_t told = first_tell(p, p->teller).op, late = late_fence(p, &of_reader);
    sett__put(to, "sett_fence_view_async_shared(b) by the thread of ");
    put_the(p, true, to);
    sett__put(to, ", behind it and before ");
    if (told != SETT__NONE)
        sett__put_code(p->x->c, told, to);
    sett__put(to, told != SETT__NONE ? ", which tells of it" : "the barrier or arrival that tells of it");
    if (late != SETT__NONE && !of_reader) {
        sett__put(to, ": ");
        sett__put_code(p->x->c, late, to);
        sett__put(to, " comes too late");
    }
}

static void put_why(const conflict *p, uint8_t kind, sett__sink *to)
{
    static const char *const why[] = {
        [SETT_CHECK_RACE] = "nothing orders the two", [SETT_CHECK_ORDER] = "what comes between is relaxed, and orders nothing",
        [SETT_CHECK_PROXY_FENCE] = "no fence.proxy.async is on the way from there to here",
        [SETT_CHECK_SWIZZLE] = "it lies there in another swizzle than the descriptor says",
        [SETT_CHECK_LIFETIME] = "the block ended without waiting for it",
    };
    bool of_reader;
    const uint32_t late = kind == SETT_CHECK_PROXY_FENCE_SIDE ? late_fence(p, &of_reader) : SETT__NONE;
    if (kind != SETT_CHECK_PROXY_FENCE_SIDE) {
        sett__put(to, why[kind]);
    } else if (late == SETT__NONE) {
        sett__put(to, "no fence.proxy.async between the two is of that thread, behind its access");
    } else {
        sett__put_code(p->x->c, late, to);
        sett__put(to, of_reader ? " is not one of that thread behind its access" : " comes behind what told of it");
    }
}

/* What goes on by itself was not waited for: who does, and where the other waited instead. */
static void put_way(const conflict *p, sett__sink *to, sett__finding *f)
{
    const uint32_t wait = awaited(p);
    const char *between = "; ";
    sett__put(to, "\n  path   ");
    if (wait != SETT__NONE) {
        sett__putf(to, "warp %u waits for ", p->self_index);
        put_the(p, false, to);
        sett__put(to, " by ");
        sett__put_code(p->x->c, wait, to);
        name_site(p, wait, f);
    } else if (p->self_role != OF_MBARRIER || !p->teller || !p->teller->waited) {
        sett__put(to, "nobody has waited for ");
        put_the(p, false, to);
    } else {
        between = "";
    }
    if (p->teller && p->teller->waited) {
        sett__put(to, between);
        put_waited(p, p->teller, p->index, p->was.lanes, to, f);
    }
    if (p->self_role == OF_MBARRIER)
        sett__put_again(p->x->c, &p->x->n->block[p->self_rank].cta->mbar[p->x->n->mbar_id[p->is_index]], "; ", to);
}

static void put_end(const conflict *p, uint8_t kind, sett__sink *to, sett__finding *f)
{
    sett__knower k;
    const bool race = kind == SETT_CHECK_RACE && p->is.op != SETT__NONE && p->x->agent == p->x->self;
    const uint32_t lane = p->was.lanes & (p->was.lanes - 1) ? MANY_LANES : (uint32_t)__builtin_ctz(p->was.lanes | 1u << 31);
    if (race && sett__find_knower(p->x->n, p->a->agent, lane, p->old, p->x->self, &k)) {
        sett__put_knower(p->x->c, p->x->n, &k, &p->was, &p->is, to);
        name_site(p, k.op, f);
        return;
    }
    if (is_under_way(p) && p->self_role != OF_WARP)
        put_way(p, to, f);
    else if (p->is.op != SETT__NONE)
        put_path(p, to, f);
    sett__put(to, "\n  fix    ");
    if (kind == SETT_CHECK_PROXY_FENCE || kind == SETT_CHECK_PROXY_FENCE_SIDE)
        put_fence(p, to);
    else if (kind == SETT_CHECK_ORDER)
        sett__put(to, "release and acquire in place of relaxed");
    else if (kind == SETT_CHECK_SWIZZLE)
        sett__put(to, "one layout for the copy and the product");
    else if (kind == SETT_CHECK_LIFETIME)
        sett__put(to, "a wait for it, or sett_cluster_sync(b), at the end of the kernel");
    else
        put_order(p, to);
}

const char *sett__done_by(uint32_t role)
{
    return done[role];
}

void sett__put_pair(const actor *x, uint8_t kind, const access *old, uint32_t time, uint32_t old_lane, uint32_t lane, sett__sink *to, sett__finding *f)
{
    const conflict p = conflict_of(x, old, time, old_lane, lane);
    if (p.is.op != SETT__NONE)
        sett__put_party(x->c, x->n, &p.is, to);
    sett__put_party(x->c, x->n, &p.was, to);
    put_end(&p, kind, to, f);
}

/* Told before? Most conflicts come again and again. */
static bool is_known(sett__core *c, uint8_t kind, uint32_t op, uint32_t other)
{
    sett__checker *k = sett__checker_of(c);
    const uint64_t pair = ((uint64_t)kind + 1) << 56 | (uint64_t)op << 28 | other;
    if (!k)
        return true;
    uint64_t *at = &k->told[pair * 0x9e3779b97f4a7c15u >> 56];
    const bool known = *at == pair;
    *at = pair;
    return known;
}

bool sett__tell_conflict(actor *x, uint8_t kind, uint32_t old, uint32_t old_lane, uint32_t lane, uint32_t at)
{
    const access a = *sett__access_at(x->n, old);
    sett__core *c = x->c;
    const bool alone = x->op == SETT__NONE;
    const uint32_t op = alone ? a.op : x->op;
    char words[1600];
    sett__sink to = {.buf = words, .cap = sizeof words};
    uint32_t alloc = SETT__NONE;
    if (is_known(c, kind, op, a.op))
        return true;
    const conflict both = conflict_of(x, &a, old, old_lane, lane);
    sett__finding f = {.kind = kind, .level = kind == SETT_CHECK_PROXY_FENCE_SIDE ? SETT_CHECK_WARNING : SETT_CHECK_ERROR};
    name_site(&both, op, &f);
    sett__putf(&to, "%s %s ", sett__code_text(c, op), verb_of(alone ? a.how : x->how));
    put_place(c, x, op, at, &to, &alloc);
    if (!alone) {
        name_site(&both, a.op, &f);
        sett__put(&to, ", which ");
        sett__put_code(c, a.op, &to);
        sett__putf(&to, " %s", verb_of(a.how));
    }
    sett__put(&to, ", and ");
    put_why(&both, kind, &to);
    sett__put_pair(x, kind, &a, old, old_lane, lane, &to, &f);
    if (alloc != SETT__NONE)
        sett__finding_site(&f, alloc, SETT_CHECK_ROLE_ALLOC);
    sett__report(c, &f, "%s", words);
    return true;
}

/* ", before barrier at k.c:15": the first that tells of the init, if its warp has told of it. */
static void put_before_tell(const sett__core *c, const near *n, const mbar *m, sett__sink *to)
{
    uint32_t role, rank, index;
    sett__agent_is(n, m->agent, &role, &rank, &index);
    const conflict p = {.x = &(actor){.c = (sett__core *)(uintptr_t)c}, .a = &(access){.round = 0}, .old = m->init, .teller = &n->walker[rank * n->warps + index]};
    const tell first = first_tell(&p, p.teller);
    if (first.op == SETT__NONE)
        return;
    sett__put(to, " and before ");
    sett__put_code(c, first.op, to);
}

bool sett__tell_init(sett__core *c, near *n, const sett__sync *s, const sett__cta *of, uint32_t id, const mbar *m)
{
    const bool copy = s->event;
    char words[800], where[160];
    sett__sink to = {.buf = words, .cap = sizeof words};
    const sett__tape *t = c->program->given;
    if (is_known(c, SETT_CHECK_INIT, s->op, m->op))
        return true;
    sett__finding f = {.kind = SETT_CHECK_INIT, .level = SETT_CHECK_ERROR};
    sett__finding_site(&f, s->op, sett__role_of(&t->op[s->op]));
    sett__finding_site(&f, m->op, SETT_CHECK_ROLE_INIT);
    sett__putf(&to, "%s uses the ", sett__code_text(c, s->op));
    sett__put_mbarrier(c->program, id, &to);
    sett__putf(&to, ", and %s its init at %s", copy ? "no fence by the thread that made it shows copies" : "nothing orders that behind", sett__where(c->program, m->op, where, sizeof where));
    const uint32_t domain = domain_of(n);
    sett__put_party(c, n, &(sett__party){.op = s->op, .domain = domain, .how = SETT__UPDATE, .agent = sett__agent(n, OF_WARP, c->cta->rank, s->warp->index), .lanes = s->lanes}, &to);
    sett__put_party(c, n, &(sett__party){.op = m->op, .domain = domain, .how = SETT__WRITE, .agent = m->agent, .lanes = 1u << m->lane}, &to);
    sett__put(&to, "\n  fix    ");
    sett__put(&to, copy ? "sett_fence_mbarrier_init(b) by the thread that calls sett_mbarrier_init, behind it" : of == c->cta ? "sett_sync_threads(b) behind the init" : "sett_fence_mbarrier_init(b) and sett_cluster_sync(b) behind the init");
    if (copy)
        put_before_tell(c, n, m, &to);
    sett__report(c, &f, "%s", words);
    return true;
}
