/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of what shared memory shows: who, where, what is missing between the two, and the call that adds it. */
#include "agents.h"
#include "checker.h"

/* ---- words ------------------------------------------------------------------------------------------------------------- */
static const char *name_of(const sett__core *c, uint32_t op)
{
    return sett__ops[c->program->given->op[op].code].text;
}

void sett__put_agent(const sett__core *c, const near *n, uint32_t agent, uint32_t lanes, sett__sink *to)
{
    static const char *const by[ROLES] = {[OF_CP_ASYNC] = ", copied by cp.async", [OF_BULK_READ] = ", a bulk store", [OF_BULK_WRITE] = ", a bulk store", [OF_WGMMA] = ", a product"};
    uint32_t role, rank, index;
    sett__agent_is(n, agent, &role, &rank, &index);
    const sett__cta *b = n->cluster->cta[rank];
    sett__putf(to, "block (%u,%u,%u)", b->at[0], b->at[1], b->at[2]);
    if (role == OF_MBARRIER) {
        sett__putf(to, ", a copy that completes at the mbarrier at byte %u", c->program->mbar_at + 8 * n->mbar_id[index]);
        return;
    }
    sett__putf(to, " warp %u", index);
    if (lanes && lanes != UINT32_MAX && role != OF_WGMMA) {
        sett__put(to, " ");
        sett__put_lanes(to, lanes);
    }
    sett__put(to, by[role] ? by[role] : "");
}

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

static void put_line(const sett__core *c, const near *n, uint32_t op, uint8_t how, uint32_t agent, uint32_t lanes, uint32_t round, sett__sink *to)
{
    char where[160];
    sett__putf(to, "\n  %-6s %s  ", how == SETT__READ ? "read" : how == SETT__WRITE ? "write" : "atomic", sett__where(c->program, op, where, sizeof where));
    sett__put_agent(c, n, agent, lanes, to);
    if (round && n->loop[op])
        sett__putf(to, ", round %u of %s", round, sett__where(c->program, c->program->code[n->loop[op] - 1].op, where, sizeof where));
}

/* How far what the older one did got: who did it told of it at the first place behind it. */
static void put_path(const actor *x, uint32_t old, const access *a, sett__sink *to, sett__finding *f)
{
    char where[160];
    sett__core *c = x->c;
    uint32_t role, rank, index;
    sett__agent_is(x->n, a->agent, &role, &rank, &index);
    const walker *w = role == OF_WARP ? &x->n->walker[rank * x->n->warps + index] : NULL, *self = x->w ? sett__walker(x->n, c, x->w) : NULL;
    uint32_t first = SETT__NONE;
    for (uint32_t k = 0; w && k < 8 && k < w->tells; k++) {
        const uint32_t at = (w->tells - 1 - k) % 8;
        if (w->told[at].time < old)
            break;
        first = w->told[at].op;
    }
    if (first != SETT__NONE)
        sett__putf(to, "\n  path   %s at %s tells of the first", name_of(c, first), sett__where(c->program, first, where, sizeof where));
    else if (w)
        sett__put(to, "\n  path   the warp of the first has told nobody of it since");
    if (self && self->waited) {
        sett__putf(to, "%s the second has waited last by %s at %s", w ? ";" : "\n  path  ", name_of(c, self->waited - 1), sett__where(c->program, self->waited - 1, where, sizeof where));
        sett__finding_site(f, self->waited - 1, sett__role_of(&c->program->given->op[self->waited - 1]));
    }
    if (first != SETT__NONE)
        sett__finding_site(f, first, sett__role_of(&c->program->given->op[first]));
}

/* ---- what is missing ---------------------------------------------------------------------------------------------------- */
/* What the older one's end is, to who waits for it. */
static void put_fix(const actor *x, uint32_t time, const access *old, sett__sink *to)
{
    static const char *const done[ROLES] = {
        [OF_CP_ASYNC] = "sett_cp_async_wait_group by the thread that copies, then a barrier",
        [OF_BULK_READ] = "sett_tma_store_wait_read by the thread that committed the store, then a barrier",
        [OF_BULK_WRITE] = "sett_tma_store_wait by the thread that committed the store, then a barrier",
        [OF_WGMMA] = "sett_mma_wait for the product before the stage is released",
        [OF_MBARRIER] = "a wait for the phase in which the copy completes",
    };
    uint32_t role, rank, index, self_role, self_rank, self_index;
    sett__agent_is(x->n, old->agent, &role, &rank, &index);
    sett__agent_is(x->n, x->agent, &self_role, &self_rank, &self_index);
    if (done[self_role] && (self_role == OF_CP_ASYNC || time > x->began)) /* it came when this was under way */
        sett__put(to, done[self_role]);
    else if (done[role])
        sett__put(to, done[role]);
    else if (old->agent == x->self && x->agent == x->self)
        sett__put(to, "sett_sync_warp(b) between the two");
    else if (rank != self_rank)
        sett__put(to, "sett_cluster_sync(b) between the two, or an mbarrier of the other block");
    else if (self_role == OF_MBARRIER || self_role == OF_WGMMA || self_role == OF_BULK_READ)
        sett__put(to, "a barrier, or an arrival of those threads at an mbarrier, before this is issued");
    else
        sett__put(to, "sett_sync_threads(b), or a barrier of these warps, between the two");
}

static const char *const why[] = {
    [SETT_CHECK_RACE] = "nothing orders the two", [SETT_CHECK_ORDER] = "what comes between is relaxed, and orders nothing",
    [SETT_CHECK_PROXY_FENCE] = "no fence.proxy.async is on the way from there to here",
    [SETT_CHECK_PROXY_FENCE_SIDE] = "the only fence.proxy.async between the two is not one of that thread behind its access",
    [SETT_CHECK_SWIZZLE] = "it lies there in another swizzle than the descriptor says",
    [SETT_CHECK_LIFETIME] = "the block ended without waiting for it",
};

static void put_end(const actor *x, uint8_t kind, uint32_t time, const access *old, sett__sink *to)
{
    sett__put(to, "\n  fix    ");
    if (kind == SETT_CHECK_PROXY_FENCE || kind == SETT_CHECK_PROXY_FENCE_SIDE)
        sett__put(to, "sett_fence_view_async_shared(b) by the thread of the first, behind it and before the barrier or arrival that tells of it");
    else if (kind == SETT_CHECK_ORDER)
        sett__put(to, "release and acquire in place of relaxed");
    else if (kind == SETT_CHECK_SWIZZLE)
        sett__put(to, "one layout for the copy and the product");
    else if (kind == SETT_CHECK_LIFETIME)
        sett__put(to, "a wait for it, or sett_cluster_sync(b), at the end of the kernel");
    else
        put_fix(x, time, old, to);
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
    char words[1600], where[160];
    sett__sink to = {.buf = words, .cap = sizeof words};
    uint32_t alloc = SETT__NONE;
    if (is_known(c, kind, op, a.op))
        return true;
    const sett__tape *t = c->program->given;
    sett__finding f = {.kind = kind, .level = kind == SETT_CHECK_PROXY_FENCE_SIDE ? SETT_CHECK_WARNING : SETT_CHECK_ERROR};
    sett__finding_site(&f, op, sett__role_of(&t->op[op]));
    sett__putf(&to, "%s %s ", name_of(c, op), verb_of(alone ? a.how : x->how));
    put_place(c, x, op, at, &to, &alloc);
    if (!alone) {
        sett__finding_site(&f, a.op, sett__role_of(&t->op[a.op]));
        sett__putf(&to, ", which %s at %s %s", name_of(c, a.op), sett__where(c->program, a.op, where, sizeof where), verb_of(a.how));
    }
    sett__putf(&to, ", and %s", why[kind]);
    if (!alone)
        put_line(c, x->n, x->op, x->how, x->agent, lane < WARP ? 1u << lane : x->lanes, sett__access_at(x->n, x->time)->round, &to);
    put_line(c, x->n, a.op, a.how, a.agent, old_lane < WARP ? 1u << old_lane : a.lanes, a.round, &to);
    if (!alone)
        put_path(x, old, &a, &to, &f);
    put_end(x, kind, old, &a, &to);
    if (alloc != SETT__NONE)
        sett__finding_site(&f, alloc, SETT_CHECK_ROLE_ALLOC);
    sett__report(c, &f, "%s", words);
    return true;
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
    sett__putf(&to, "%s uses the mbarrier at byte %u, and %s its init at %s", name_of(c, s->op), c->program->mbar_at + 8 * id,
        copy ? "no fence by the thread that made it shows copies" : "nothing orders that behind", sett__where(c->program, m->op, where, sizeof where));
    put_line(c, n, s->op, SETT__UPDATE, sett__agent(n, OF_WARP, c->cta->rank, s->warp->index), s->lanes, 0, &to);
    put_line(c, n, m->op, SETT__WRITE, m->agent, 1u << m->lane, 0, &to);
    sett__put(&to, copy ? "\n  fix    sett_fence_mbarrier_init(b) by the thread that calls sett_mbarrier_init, behind it" : of == c->cta ? "\n  fix    sett_sync_threads(b) behind the init" : "\n  fix    sett_fence_mbarrier_init(b) and sett_cluster_sync(b) behind the init");
    sett__report(c, &f, "%s", words);
    return true;
}
