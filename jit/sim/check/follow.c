/* SPDX-License-Identifier: Apache-2.0 */
/* Follows poison through the instructions of a warp: what joins it, what passes it on, and what uses it. The first use of what an operation
 * has read that decides a branch, an address, a predicate or a store to global memory is told, and no later one. Until a warp has read
 * poison only its loads and stores are looked at. */
#include "check.h"
#include "follow.h"
#include "phrase.h"

/* ---- operands ---------------------------------------------------------------------------------------------- */
static bool is_clean(sett__ref r) /* what is computed outside the body has read no memory */
{
    return r == SETT__NONE || r & SETT__REF_UNIFORM;
}

uint32_t sett__poison_of(const follow *f, sett__ref r, uint32_t at, uint32_t bytes, uint32_t *read)
{
    uint32_t all = 0;
    if (is_clean(r))
        return 0;
    for (uint32_t k = r / SETT__ROW_ALIGN + at, end = k + bytes; k < end; k++)
        if (f->mask[k]) {
            all |= f->mask[k];
            *read = f->read[k];
        }
    return all;
}

uint32_t sett__poison_byte(const follow *f, sett__ref r, uint32_t k, uint8_t lg, uint32_t *read)
{
    return sett__poison_of(f, r, r & SETT__REF_SPLAT ? k & ((1u << lg) - 1) : k, 1, read);
}

void sett__poison_give(const follow *f, sett__ref r, uint32_t at, uint32_t bytes, uint32_t lanes, uint32_t read)
{
    const uint32_t first = r / SETT__ROW_ALIGN + at;
    if (r == SETT__NONE)
        return;
    for (uint32_t k = first; k < first + bytes; k++) {
        f->mask[k] = lanes;
        if (lanes)
            f->read[k] = read;
    }
}

/* ---- uses ------------------------------------------------------------------------------------------------------ */
/* "shared memory made at a.c:1" */
static const char *root_words(const sett__program *p, const sett__root *r, char buf[160])
{
    static const char *const what[] = {[SETT__GLOBAL] = "global memory", [SETT__SHARED] = "shared memory", [SETT__LOCAL] = "a register array",
        [SETT__ADDRESS] = "global memory", [SETT__PEERS] = "shared memory of a peer", [SETT__MAPS] = "global memory"};
    char where[128];
    snprintf(buf, 160, "%s made at %s", what[r->space], sett__where(p, r->op, where, sizeof where));
    return buf;
}

static const sett__root *own_root(const sett__program *p, const sett__root *r) /* of a peer's, the block's own, which has a line */
{
    const sett__op *o = &p->given->op[r->op];
    for (uint32_t k = 0; o->code == SETT__PEER && k < p->n_root; k++)
        if (p->root[k].op == sett__arg(p->given, o, 0))
            return &p->root[k];
    return r;
}

/* The first operation that is given a root, and writes alone; SETT__NONE: none is. */
static uint32_t writer_of(const sett__tape *t, uint32_t root)
{
    for (uint32_t v = 0; v < t->n_op; v++)
        for (int k = 0; k < t->op[v].n_args && (sett__ops[t->op[v].code].flags & (SETT__R | SETT__W)) == SETT__W; k++)
            if (sett__arg(t, &t->op[v], k) == root)
                return v;
    return SETT__NONE;
}

static void put_fix(const sett__core *c, const sett__root *r, sett__sink *to)
{
    const uint32_t writer = r ? writer_of(c->program->given, r->op) : SETT__NONE;
    sett__put(to, "\n  fix    ");
    if (writer == SETT__NONE) {
        sett__put(to, !r || r->space == SETT__GLOBAL || r->space == SETT__ADDRESS ? "what it should hold, by the host, a launch before or this kernel, before it is read" : "a store, or sett_fill, before it is read");
        return;
    }
    sett__put_code(c, writer, to);
    sett__put(to, " writes it");
    const bool apart = sett__put_branch(c, writer, to);
    if (apart && r->space == SETT__SHARED)
        sett__put(to, ": a barrier between that and the read, or, where no thread takes the branch, sett_fill before");
    else if (apart)
        sett__put(to, " alone: sett_fill before that, or a store in each case");
    else
        sett__put(to, r->space == SETT__SHARED ? ": a barrier or a wait behind that, before the read; or there are elements that it leaves out" : ": not before this, or not all of it");
}

void sett__poison_tell(sett__core *c, const sett__warp *w, uint32_t lanes, uint32_t op, uint32_t read, const char *how)
{
    const sett__program *p = c->program;
    sett__poison_read *first = c->cta->shadow->first && read != SETT__NONE ? &c->cta->shadow->first[read] : NULL;
    char where[128], root[160] = "memory", byte[32] = "", words[500];
    sett__sink fix = {.buf = words, .cap = sizeof words};
    const sett__root *r = NULL;
    sett__finding x = {.kind = SETT_CHECK_UNINIT, .level = SETT_CHECK_ERROR};
    if (read == SETT__NONE || (first && first->used && first->used != op + 1))
        return;
    if (first)
        first->used = op + 1;
    sett__finding_site(&x, read, SETT_CHECK_ROLE_READ);
    sett__finding_site(&x, op, SETT_CHECK_ROLE_USE);
    if (first && first->root && first->root - 1 < p->n_root) {
        r = own_root(p, &p->root[first->root - 1]);
        root_words(p, r, root);
        sett__finding_site(&x, r->op, SETT_CHECK_ROLE_ALLOC);
        snprintf(byte, sizeof byte, "byte %u of ", r->space == SETT__SHARED ? first->at - r->offset : first->at);
    }
    put_fix(c, r, &fix);
    const int lane = __builtin_ctz(lanes), more = __builtin_popcount(lanes) - 1;
    sett__report(c, &x, "%s reads %s%s, which nobody has written, and `%s` at %s %s\n  block (%u,%u,%u) warp %u lane %d%s%.0d%s%s", sett__ops[p->given->op[read].code].text,
        byte, root, sett__ops[p->given->op[op].code].text, sett__where(p, op, where, sizeof where), how, c->cta->at[0], c->cta->at[1], c->cta->at[2], w->index,
        lane, more ? " and " : "", more, more > 1 ? " others" : more ? " other" : "", words);
}

void sett__poison_use(const follow *f, sett__ref r, uint32_t n, uint8_t lg, uint32_t lanes, const char *how)
{
    uint32_t read = SETT__NONE;
    const uint32_t bad = f->w->follows ? lanes & sett__poison_of(f, r, 0, (r & SETT__REF_SPLAT ? 1u : n) << lg, &read) : 0;
    if (bad)
        sett__poison_tell(f->c, f->w, bad, f->i->op, read, how);
}

/* Operand k of what has its operands in program->place. */
static sett__ref talk_ref(const follow *f, uint32_t k)
{
    return f->c->program->place[f->i->talk.place + k];
}

static const sett__op *operand_op(const follow *f, uint32_t k)
{
    const sett__tape *t = f->c->program->given;
    const uint32_t v = sett__arg(t, &t->op[f->i->op], (int)k);
    return v == SETT__NONE ? NULL : &t->op[v];
}

static uint8_t lg_of(const sett__op *o)
{
    const uint32_t bytes = o && o->dtype ? (uint32_t)sett__dtype_bytes((sett_dtype)o->dtype) : 1;
    return (uint8_t)(31 - __builtin_clz(bytes ? bytes : 1));
}

static const char decides_branch[] = "decides a branch by it", decides_effect[] = "uses it";

/* ---- what has its operands in a list ------------------------------------------------------------------------------- */
static bool talk(const follow *f)
{
    const sett__op *o = &f->c->program->given->op[f->i->op];
    uint32_t all = 0, read = SETT__NONE;
    for (uint32_t k = 0; k < o->n_args; k++) {
        const sett__op *x = operand_op(f, k);
        if (!x)
            continue;
        if (f->i->step != SETT__S_INLINE || sett__ops[o->code].flags & SETT__W)
            sett__poison_use(f, talk_ref(f, k), x->n ? x->n : 1, lg_of(x), f->w->active, f->i->step == SETT__S_ASSERT ? decides_branch : decides_effect);
        else
            all |= sett__poison_of(f, talk_ref(f, k), 0, 1u << lg_of(x), &read);
    }
    if (!f->i->run(f->c, f->w, f->i))
        return false;
    if (f->i->step == SETT__S_INLINE)
        sett__poison_give(f, f->i->d, 0, f->i->n << f->i->lg, all, read);
    return true;
}

/* Operands of class FORM, as ops.def lists them: what an operation of an effect is given is used; of a pure one it joins. */
static bool form(const follow *f)
{
    const sett__insn *i = f->i;
    const sett__op *o = sett__form_op(f->c, i);
    const bool acts = sett__ops[o->code].flags & (SETT__R | SETT__W);
    uint32_t all = 0, read = SETT__NONE, lanes = f->w->active;
    for (sett__form at = sett__form_of(o->code); sett__form_next(&at) && at.k < o->n_args;)
        if (!strcmp(at.name, "pred")) {
            sett__poison_use(f, sett__form_ref(f->c, i, at.k), 1, 0, lanes, "decides by it");
            lanes = sett__form_lanes(f->c, f->w, i, at.k);
        }
    for (sett__form at = sett__form_of(o->code); sett__form_next(&at) && at.k < o->n_args;)
        for (uint32_t k = at.k; k < o->n_args && (k == at.k || at.repeated); k++) {
            const bool place = at.kinds & SETT__F_PLACE;
            const sett__op *x = operand_op(f, k + place);
            const sett__ref r = x && !(!place && sett__ops[x->code].cls == SETT__C_ROOT) ? sett__form_ref(f->c, i, k + place) : SETT__NONE;
            if (!strcmp(at.name, "pred") || r == SETT__NONE)
                continue;
            if (acts)
                sett__poison_use(f, r, x->n ? x->n : 1, lg_of(x), lanes, place ? "uses it as an address" : decides_effect);
            else
                all |= sett__poison_of(f, r, 0, (r & SETT__REF_SPLAT ? 1u : x->n ? x->n : 1) << lg_of(x), &read);
        }
    if (!i->run(f->c, f->w, i))
        return false;
    sett__poison_give(f, i->d, 0, i->d == SETT__NONE ? 0 : i->n << i->lg, all, read);
    return true;
}

static bool of_class_form(follow *f)
{
    switch (sett__form_op(f->c, f->i)->code) {
    case SETT__LDMATRIX: return sett__follow_matrix(f, false);
    case SETT__STMATRIX: return sett__follow_matrix(f, true);
    case SETT__MMA:
        if (!f->i->run(f->c, f->w, f->i))
            return false;
        if (f->w->follows)
            sett__mma_shadow(f->c, f->w, f->i);
        return true;
    case SETT__MOVMATRIX:
        if (!f->i->run(f->c, f->w, f->i))
            return false;
        if (f->w->follows)
            sett__movmatrix_shadow(f->c, f->w, f->i);
        return true;
    default: return f->w->follows ? form(f) : f->i->run(f->c, f->w, f->i);
    }
}

/* ---- what a warp asks ---------------------------------------------------------------------------------------------- */
/* What all lanes give becomes what each gets. */
static void from_all(const follow *f, sett__ref value, uint8_t lg)
{
    uint32_t read = SETT__NONE;
    const bool any = sett__poison_of(f, value, 0, 1u << lg, &read) & f->w->live;
    sett__poison_give(f, f->i->d, 0, f->i->n << f->i->lg, any ? UINT32_MAX : 0, read);
}

static void shuffle(const follow *f)
{
    const sett__insn *i = f->i;
    const uint32_t *lane = sett__at(f->w, i->shfl.lane);
    uint32_t read = SETT__NONE, by = sett__poison_of(f, i->shfl.lane, 0, 4, &read);
    for (uint32_t k = 0; k < i->n << i->lg; k++) {
        const uint32_t from = sett__poison_byte(f, i->shfl.value, k, i->lg, &read);
        uint32_t to = by;
        for (int l = 0; l < WARP && from; l++)
            to |= (from >> sett__source_lane(i->shfl.how, l, (int)(lane[l] & 31), i->shfl.width) & 1) << l;
        sett__poison_give(f, i->d, k, 1, to, read);
    }
}

/* ---- all of them --------------------------------------------------------------------------------------------------- */
/* Before a step: what it uses. */
static void uses(const follow *f)
{
    const sett__insn *i = f->i;
    const uint32_t active = f->w->active;
    switch (i->step) {
    case SETT__S_IF:
    case SETT__S_WHILE: sett__poison_use(f, i->branch.condition, 1, 0, active, decides_branch); break;
    case SETT__S_FOR:
        sett__poison_use(f, i->count.lo, 1, i->lg, active, decides_branch);
        sett__poison_use(f, i->count.hi, 1, i->lg, active, decides_branch);
        sett__poison_use(f, i->count.step, 1, i->lg, active, decides_branch);
        break;
    case SETT__S_NAMED:
        sett__poison_use(f, i->named.id, 1, 2, active, decides_effect);
        sett__poison_use(f, i->named.threads, 1, 2, active, decides_effect);
        break;
    default: break;
    }
}

/* Behind a step: what its result is made of. */
static void results(const follow *f)
{
    const sett__insn *i = f->i;
    uint32_t read = SETT__NONE, bytes = i->n << i->lg;
    switch (i->step) {
    case SETT__S_ROW:
    case SETT__S_PIECES:
    case SETT__S_LONG:
    case SETT__S_REDUCE: sett__follow_row(f); break;
    case SETT__S_COPY:
    case SETT__S_REGROUP:
        for (uint32_t k = 0; k < bytes; k++) {
            const uint32_t lanes = sett__poison_byte(f, i->step == SETT__S_COPY ? i->copy : i->regroup.a, k, i->step == SETT__S_COPY ? i->lg : i->regroup.lg, &read);
            sett__poison_give(f, i->d, k, 1, lanes, read);
        }
        break;
    case SETT__S_PICK:
        for (uint32_t k = 0; k < bytes; k++) {
            const uint32_t lanes = sett__poison_of(f, i->pick.a, (i->pick.index[k >> i->lg] << i->lg) + (k & ((1u << i->lg) - 1)), 1, &read);
            sett__poison_give(f, i->d, k, 1, lanes, read);
        }
        break;
    case SETT__S_SHFL: shuffle(f); break;
    case SETT__S_VOTE: from_all(f, i->vote.value, 0); break;
    case SETT__S_MATCH: from_all(f, i->match.value, i->match.lg); break;
    case SETT__S_REDUX: from_all(f, i->redux.value, 2); break;
    case SETT__S_CONST:
    case SETT__S_VALUE:
    case SETT__S_INDEX:
    case SETT__S_ELECT:
    case SETT__S_SPECIAL:
    case SETT__S_FOR: sett__poison_give(f, i->d, 0, bytes, 0, read); break;
    default: break;
    }
}

static bool step(sett__core *c, sett__warp *w, const sett__insn *i)
{
    sett__shadow *s = c->cta->shadow;
    if (!s) /* there was no memory for it when the block began */
        return sett__fault_as(c, SETT_E_MEMORY, w, w->active ? __builtin_ctz(w->active) : 0, i->op, "out of memory for the checker");
    const size_t at = sett__shadow_word(s, w, 0);
    follow f = {c, w, i, s, s->mask + at, s->read + at};
    switch (i->step) {
    case SETT__S_LOAD: return sett__follow_load(&f);
    case SETT__S_STORE: return sett__follow_store(&f);
    case SETT__S_ATOM: return sett__follow_atom(&f);
    case SETT__S_CP_ASYNC: return sett__follow_cp_async(&f);
    case SETT__S_FORM: return of_class_form(&f);
    case SETT__S_INLINE:
    case SETT__S_PRINTF:
    case SETT__S_ASSERT: return talk(&f);
    default:
        uses(&f);
        if (!i->run(c, w, i))
            return false;
        results(&f);
        return true;
    }
}

/* Without memory for it the block's first access ends the launch. */
static void begin(sett__core *c)
{
    sett__cta *b = c->cta;
    if (!b->shadow)
        b->shadow = sett__shadow_make(c);
    if (b->shadow)
        sett__shadow_begin(c);
    for (uint32_t k = 0; !b->shadow && k < b->n_warps; k++)
        b->warp[k].follows = false;
}

static void stored(sett__core *c, const sett__warp *w, int lane, uint32_t op, uint32_t at, uint32_t bytes)
{
    const sett__shadow *s = c->cta->shadow;
    if (!s || !sett__shadow_any(s, at, bytes))
        return;
    while (!sett__shadow_any(s, at, 1))
        at++;
    sett__poison_tell(c, w, 1u << lane, op, sett__poison_read_at(c, op, SETT__NONE, at), "stores it to global memory");
}

#define STEP(name) (UINT64_C(1) << SETT__S_##name)
const sett__follow sett__check_follow = {.step = step, .begin = begin, .stored = stored,
    .always = STEP(LOAD) | STEP(STORE) | STEP(ATOM) | STEP(CP_ASYNC) | STEP(FORM)};
