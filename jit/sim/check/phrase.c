/* SPDX-License-Identifier: Apache-2.0 */
#include "phrase.h"

const char *sett__code_text(const sett__core *c, uint32_t op)
{
    return sett__ops[c->program->given->op[op].code].text;
}

void sett__put_where(const sett__core *c, uint32_t op, sett__sink *to)
{
    char where[160];
    sett__put(to, sett__where(c->program, op, where, sizeof where));
}

void sett__put_code(const sett__core *c, uint32_t op, sett__sink *to)
{
    sett__putf(to, "%s at ", sett__code_text(c, op));
    sett__put_where(c, op, to);
}

bool sett__same_line(const sett__core *c, uint32_t op, uint32_t other)
{
    char where[160], elsewhere[160];
    return !strcmp(sett__where(c->program, op, where, sizeof where), sett__where(c->program, other, elsewhere, sizeof elsewhere));
}

/* ---- who ---------------------------------------------------------------------------------------------------------------- */
void sett__put_block(const sett__core *c, uint32_t domain, uint32_t rank, sett__sink *to)
{
    const sett__cluster *k = c->cta->cluster;
    uint32_t rest = domain - 1, at[3];
    for (int d = 0; d < 3; d++) {
        const uint32_t many = c->launch->grid[d] / k->dim[d];
        at[d] = rest % many * k->dim[d] + rank % k->dim[d];
        rest /= many, rank /= k->dim[d];
    }
    sett__putf(to, "block (%u,%u,%u)", at[0], at[1], at[2]);
}

void sett__put_round(const sett__core *c, const near *n, uint32_t op, uint32_t round, sett__sink *to)
{
    char where[160];
    if (round && n->loop[op])
        sett__putf(to, ", round %u of %s", round, sett__where(c->program, c->program->code[n->loop[op] - 1].op, where, sizeof where));
}

static const struct { const char *noun, *line; } by_itself[ROLES] = {[OF_CP_ASYNC] = {"copy", ", copied by cp.async"}, [OF_BULK_READ] = {"bulk store", ", a bulk store"},
    [OF_BULK_WRITE] = {"bulk store", ", a bulk store"}, [OF_WGMMA] = {"product", ", a product"}, [OF_MBARRIER] = {"copy", ""}};

void sett__put_party(const sett__core *c, const near *n, const sett__party *x, sett__sink *to)
{
    char where[160];
    uint32_t role, rank, index;
    sett__agent_is(n, x->agent, &role, &rank, &index);
    sett__putf(to, "\n  %-6s %s  ", x->strong || x->how == SETT__UPDATE ? "atomic" : x->how & SETT__WRITE ? "write" : "read", sett__where(c->program, x->op, where, sizeof where));
    sett__put_block(c, x->domain, rank, to);
    if (role == OF_MBARRIER) {
        sett__put(to, ", a copy that completes at the ");
        sett__put_mbarrier(c->program, n->mbar_id[index], to);
    } else {
        sett__putf(to, " warp %u", index);
        if (x->lanes && x->lanes != UINT32_MAX && role != OF_WGMMA) {
            sett__put(to, " ");
            sett__put_lanes(to, x->lanes);
        }
        sett__put(to, by_itself[role].line ? by_itself[role].line : "");
    }
    sett__put_round(c, n, x->op, x->round, to);
}

static const char *noun(const near *n, const sett__party *x)
{
    uint32_t role, rank, index;
    sett__agent_is(n, x->agent, &role, &rank, &index);
    return by_itself[role].noun ? by_itself[role].noun : x->how == SETT__UPDATE ? "atomic" : x->how & SETT__WRITE ? "write" : "read";
}

void sett__put_the(const sett__core *c, const near *n, const sett__party *x, const sett__party *other, sett__sink *to)
{
    const char *name = noun(n, x);
    char where[160];
    if (strcmp(name, noun(n, other)))
        sett__putf(to, "the %s", name);
    else if (!sett__same_line(c, x->op, other->op))
        sett__putf(to, "the %s at %s", name, sett__where(c->program, x->op, where, sizeof where));
    else
        sett__putf(to, "the %s %s", x->later ? "later" : "earlier", name);
}

/* ---- barriers, and the branches that they would stand in ---------------------------------------------------------------------- */
typedef struct branches {
    uint32_t n, op[SETT__MAX_DEPTH]; /* outermost first */
} branches;

static bool opens(uint8_t step)
{
    return step == SETT__S_IF || step == SETT__S_FOR || step == SETT__S_LOOP;
}

/* The branches around an operation that some threads may not take; an arm is known by the operation that begins it. */
static branches around(const sett__program *p, uint32_t op)
{
    uint32_t open[SETT__MAX_DEPTH], depth = 0;
    branches b = {.n = 0};
    for (uint32_t k = p->section[SETT__BODY]; k < p->n_code && p->code[k].step != SETT__S_STOP; k++) {
        const sett__insn *i = &p->code[k];
        const bool closes = i->step == SETT__S_ENDIF || i->step == SETT__S_ENDFOR || i->step == SETT__S_ENDLOOP;
        if (closes) {
            depth -= depth > 0;
        } else if (i->step == SETT__S_ELSE && depth) {
            open[depth - 1] = open[depth - 1] == SETT__NONE ? SETT__NONE : i->op;
        } else if (opens(i->step) && depth < SETT__MAX_DEPTH) {
            const bool parts = i->step == SETT__S_IF && i->branch.condition != SETT__NONE && !(i->branch.condition & SETT__REF_UNIFORM);
            open[depth++] = parts ? i->op : SETT__NONE;
        } else if (i->op == op) {
            for (uint32_t d = 0; d < depth; d++)
                if (open[d] != SETT__NONE)
                    b.op[b.n++] = open[d];
            return b;
        }
    }
    return b;
}

static uint32_t shared_by(const branches *a, const branches *b)
{
    uint32_t n = 0;
    while (n < a->n && n < b->n && a->op[n] == b->op[n])
        n++;
    return n;
}

bool sett__put_branch(const sett__core *c, uint32_t op, sett__sink *to)
{
    const branches b = around(c->program, op);
    if (!b.n)
        return false;
    sett__put(to, " in the branch at ");
    sett__put_where(c, b.op[b.n - 1], to);
    return true;
}

void sett__put_barrier(const sett__core *c, uint32_t op, uint32_t other, bool one_warp, sett__sink *to)
{
    const branches a = around(c->program, op), b = around(c->program, other);
    const uint32_t both = shared_by(&a, &b);
    char where[160];
    if (c->cta->n_warps == 1)
        sett__put(to, "sett_sync_warp(b)");
    else if (both)
        sett__putf(to, one_warp ? "sett_sync_warp(b), or sett_barrier(b, id, threads) if other warps in the branch at %s access this," :
            "sett_barrier(b, id, threads) of the warps in the branch at %s, or sett_sync_threads(b) if the whole block takes it,", sett__where(c->program, a.op[both - 1], where, sizeof where));
    else
        sett__put(to, one_warp ? "sett_sync_threads(b), or sett_sync_warp(b) if no other warp accesses this," : "sett_sync_threads(b), or a barrier of these warps,");
}

void sett__put_outside(const sett__core *c, uint32_t op, uint32_t other, sett__sink *to)
{
    const branches a = around(c->program, op), b = around(c->program, other);
    const uint32_t both = shared_by(&a, &b);
    char where[160];
    if (a.n == both && b.n == both)
        return;
    sett__putf(to, ", outside the branch%s at ", a.n > both && b.n > both ? "es" : "");
    if (a.n > both)
        sett__put(to, sett__where(c->program, a.op[both], where, sizeof where));
    if (b.n > both)
        sett__putf(to, "%s%s", a.n > both ? " and " : "", sett__where(c->program, b.op[both], where, sizeof where));
}

/* ---- who else knows --------------------------------------------------------------------------------------------------------------- */
bool sett__find_knower(const near *n, uint32_t agent, uint32_t lane, uint32_t time, uint32_t self, sett__knower *to)
{
    uint32_t role, rank, index, self_role, self_rank, self_index;
    sett__agent_is(n, agent, &role, &rank, &index);
    sett__agent_is(n, self, &self_role, &self_rank, &self_index);
    for (uint32_t k = 0; k < n->warps; k++) {
        const uint32_t warp = (self_index + k) % n->warps, by = sett__agent(n, OF_WARP, self_rank, warp);
        const walker *w = &n->walker[self_rank * n->warps + warp];
        const uint32_t op = w->waits[role] ? w->waits[role] : w->waited, live = n->block[self_rank].cta->warp[warp].live;
        if (by == agent || !op)
            continue;
        for (int more = 1; more >= 0; more--) {
            const clocks *known = more ? w->more : w->known;
            if (!known || !sett__covers(n, known, BEFORE, agent, lane, time))
                continue;
            *to = (sett__knower){.agent = by, .lanes = more ? w->more_lanes : live & ~(w->more ? w->more_lanes : 0), .op = op - 1};
            return true;
        }
    }
    return false;
}

void sett__put_knower(const sett__core *c, const near *n, const sett__knower *k, const sett__party *old, const sett__party *now, sett__sink *to)
{
    uint32_t role, rank, index, warp;
    sett__agent_is(n, now->agent, &role, &rank, &warp);
    sett__agent_is(n, k->agent, &role, &rank, &index);
    sett__putf(to, "\n  path   warp %u ", index);
    if (k->lanes != UINT32_MAX) {
        sett__put_lanes(to, k->lanes);
        sett__put(to, " ");
    }
    sett__put(to, "is ordered behind ");
    sett__put_the(c, n, old, now, to);
    sett__put(to, ", by ");
    sett__put_code(c, k->op, to);
    sett__put(to, "; ");
    sett__put_the(c, n, now, old, to);
    sett__put(to, " is not\n  fix    ");
    const uint8_t code = c->program->given->op[k->op].code;
    if (code == SETT__MBTRY || code == SETT__MBTEST) {
        sett__put_code(c, k->op, to);
        sett__put(to, " by each thread that needs it; or ");
    }
    sett__put_barrier(c, k->op, now->op, index == warp, to);
    sett__put(to, " between ");
    sett__put_code(c, k->op, to);
    sett__put(to, " and ");
    sett__put_the(c, n, now, old, to);
    sett__put_outside(c, k->op, now->op, to);
}

/* ---- what is weak ------------------------------------------------------------------------------------------------------------------ */
static int sem_of(const sett__core *c, const sett__op *o) /* below 0: it is no atomic */
{
    return o->code == SETT__ATOM ? (int)sett__attr(c->program->given->arg, o, SETT__AT_ATOM_ORDER) : -1;
}

static const char *const sems[] = {"SETT_SEM_RELAXED", "SETT_SEM_ACQUIRE", "SETT_SEM_RELEASE", "SETT_SEM_ACQ_REL"};

void sett__put_weak(const sett__core *c, const sett__weak *w, sett__sink *to)
{
    static const char *const why[] = {[SETT__NO_RELEASE] = "releases nothing", [SETT__NO_ACQUIRE] = "acquires nothing", [SETT__NARROW_RELEASE] = "releases to a scope that the other thread is not in",
        [SETT__NARROW_ACQUIRE] = "acquires at a scope that the other thread is not in", [SETT__EARLY_FENCE] = "releases what came before its fence, and this came behind it"};
    const int sem = sem_of(c, &c->program->given->op[w->op]);
    sett__put_code(c, w->op, to);
    sett__putf(to, " %s", why[w->why]);
    if (w->why == SETT__NO_RELEASE || w->why == SETT__NO_ACQUIRE)
        sett__putf(to, ": it is %s, and no fence is %s it", sem < 0 ? "volatile, which is relaxed" : sems[sem], w->why == SETT__NO_RELEASE ? "before" : "behind");
}

static bool releases(const sett__weak *w)
{
    return w->why == SETT__NO_RELEASE || w->why == SETT__NARROW_RELEASE || w->why == SETT__EARLY_FENCE;
}

/* "sett_atomic_ordered(C, SETT_ATOMIC_ADD, SETT_SEM_ACQ_REL, SETT_SCOPE_GPU, ...) at k.c:15, or a fence". */
static void put_call(const sett__core *c, uint32_t op, int lacks, bool narrow, sett__sink *to)
{
    static const char *const scopes[] = {[SETT_SCOPE_SYS] = "SETT_SCOPE_SYS", [SETT_SCOPE_CLUSTER] = "SETT_SCOPE_CLUSTER"};
    const sett__tape *t = c->program->given;
    const sett__op *o = &t->op[op];
    const int sem = sem_of(c, o);
    char where[160];
    if (sem >= 0) {
        const sett__op *root = &t->op[sett__arg(t, o, 0)];
        const char *name = root->code == SETT__PARAM && t->sig.param[root->imm].name ? t->sig.param[root->imm].name : "tensor";
        const int scope = (int)sett__attr(t->arg, o, SETT__AT_ATOM_SCOPE);
        sett__put(to, o->sub == SETT__CAS ? "sett_atomic_cas_ordered(" : "sett_atomic_ordered(");
        sett__putf(to, "%s, ", name);
        if (o->sub != SETT__CAS)
            sett__put(to, o->sub == SETT__XCHG ? "SETT_ATOMIC_EXCH, " : "SETT_ATOMIC_");
        for (const char *p = o->sub < SETT__N_CODES ? sett__ops[o->sub].text : ""; *p; p++)
            sett__putf(to, "%c", *p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p);
        sett__putf(to, "%s%s, %s, ...) at %s", o->sub < SETT__N_CODES ? ", " : "", sems[sem | lacks], scope == SETT_SCOPE_SYS ? scopes[scope] : "SETT_SCOPE_GPU",
            sett__where(c->program, op, where, sizeof where));
        if (narrow)
            return;
        sett__put(to, ", or ");
    }
    sett__put(to, "sett_fence_acq_rel_gpu(b) ");
    sett__put(to, lacks == SETT_SEM_ACQ_REL ? "before and behind " : lacks == SETT_SEM_RELEASE ? "before " : "behind ");
    if (sem >= 0)
        sett__put(to, "it");
    else
        sett__put_code(c, op, to);
}

void sett__put_stronger(const sett__core *c, const sett__weak weak[SETT__SIDES], sett__sink *to)
{
    int lacks[SETT__SIDES] = {0};
    for (int k = 0; k < SETT__SIDES; k++)
        if (weak[k].why)
            lacks[k] = releases(&weak[k]) ? SETT_SEM_RELEASE : SETT_SEM_ACQUIRE;
    if (lacks[0] && lacks[1] && weak[0].op == weak[1].op)
        lacks[0] |= lacks[1], lacks[1] = 0;
    for (int k = 0; k < SETT__SIDES; k++)
        if (lacks[k]) {
            sett__put(to, k && lacks[0] ? "; and " : "");
            put_call(c, weak[k].op, lacks[k], weak[k].why == SETT__NARROW_RELEASE || weak[k].why == SETT__NARROW_ACQUIRE, to);
        }
}
