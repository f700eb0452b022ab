/* SPDX-License-Identifier: Apache-2.0 */
/* Places in a pipeline's ring, and the steps of its producers and consumers. */
#include "async.h"

/* ---- states ------------------------------------------------------------------------------------------ */
static const char *made_at(const sett_pipeline *p, char *buf, size_t size)
{
    const sett_build *b = p->head.b;
    const sett__site_ref *s = &b->site[p->site];
    snprintf(buf, size, "%s of %s:%u", sett__pipeline_name[p->kind], p->site < b->n_site ? b->string[s->file] : "?", p->site < b->n_site ? s->line : 0);
    return buf;
}

static const char *const side_word[] = {"producer's state", "consumer's state", "state of turns"};

static sett_arg zero(void)
{
    return sett_arg_i(0);
}

/* A register of the state; what it holds lies below n. */
static sett_val *held(const sett__ctx *c, const sett_tensor *var, int64_t n)
{
    sett_val *v = sett__get(c, var, zero());
    if (!c->b->error.status) {
        v->lo = 0;
        v->hi = n - 1;
    }
    return v;
}

static void hold(const sett__ctx *c, const sett_tensor *var, sett_val *v)
{
    if (!c->b->error.status)
        sett__set(c, var, sett_arg_v(v), zero());
}

static sett_val *number(const sett__ctx *c, int64_t n)
{
    return sett__const_bits(c->b, c->site, SETT_I32, (uint64_t)n);
}

static sett_val *choose(const sett__ctx *c, const sett_val *cond, const sett_val *x, const sett_val *y)
{
    const uint32_t args[3] = {cond->id, x->id, y->id};
    return sett__scalar_val(c->b, sett__record(c->b, c->site, &(sett__emit){.code = SETT__SELECT, .dtype = SETT_I32, .n = 1, .n_args = 3, .args = args}));
}

static sett_pipeline_state *poison_of(sett_build *b)
{
    return b ? (sett_pipeline_state *)&b->poison->atom : NULL;
}

static sett_pipeline_state *new_state(const sett__ctx *c, const sett_pipeline *p, int side, sett_arg phase)
{
    sett_pipeline_state *s = sett__new_object(c->b, SETT__K_PIPELINE_STATE, sizeof *s);
    s->pipe = p;
    s->side = (uint8_t)side;
    s->stage = sett_var_at(c->site, c->b, SETT_I32, zero());
    s->phase = sett_var_at(c->site, c->b, SETT_I32, phase);
    return s;
}

sett_pipeline_state *sett_pipeline_state_at(sett_site site, const sett_pipeline *p, const char *func, bool producer)
{
    sett__ctx c = {NULL, site, func};
    if (!sett__use_async(&c, (const sett__head *)p, SETT__K_PIPELINE))
        return poison_of(c.b);
    SETT__FAIL_IF(c.b, site, func, p->kind == SETT_PIPELINE_ORDER || (!producer && p->kind == SETT_PIPELINE_TMA_STORE), poison_of(c.b), SETT_E_ARGUMENT, "%s has no %s: %s",
        sett__pipeline_name[p->kind], producer ? "producers" : "consumers", p->kind == SETT_PIPELINE_ORDER ? "sett_order_state" : "its producer's acquire waits for the copies");
    sett_pipeline_state *s = new_state(&c, p, producer ? SETT__FULL : SETT__EMPTY, sett_arg_i(producer));
    const bool elects = producer && p->kind == SETT_PIPELINE_TMA_ASYNC;
    if (elects && !sett__electing(c.b))
        sett__one_lane(&c); /* once, and not in each round */
    if (!elects && p->kind != SETT_PIPELINE_TMA_STORE)
        sett__pick_arrivals(&c, s);
    return c.b->error.status ? poison_of(c.b) : s;
}

/* Group 0 waits first for the phase before the first, which counts as ended. */
sett_pipeline_state *sett_order_state_at(sett_site site, const sett_pipeline *p, sett_arg group)
{
    sett__ctx c = {NULL, site, "sett_order_state"};
    uint32_t id;
    if (!sett__use_async(&c, (const sett__head *)p, SETT__K_PIPELINE) || !sett__use_arg(c.b, site, c.func, group))
        return poison_of(c.b);
    SETT__FAIL_IF(c.b, site, c.func, p->kind != SETT_PIPELINE_ORDER, poison_of(c.b), SETT_E_ARGUMENT, "%s has no turns", sett__pipeline_name[p->kind]);
    SETT__FAIL_IF(c.b, site, c.func, group.kind == SETT_INT && (group.u.i < 0 || group.u.i >= p->turns), poison_of(c.b), SETT_E_RANGE, "group %lld: 0 to %d take turns", (long long)group.u.i,
        p->turns - 1);
    if (!sett__int_operand(&c, group, "the group", &id))
        return poison_of(c.b);
    sett_val *turn = sett__scalar_val(c.b, id), *zeroth = number(&c, 0), *one = number(&c, 1);
    if (c.b->error.status)
        return poison_of(c.b);
    sett_val *first = sett__op2(c.b, site, SETT__EQ, 0, turn, zeroth), *last = sett__op2(c.b, site, SETT__EQ, 0, turn, number(&c, p->turns - 1));
    sett_pipeline_state *s = new_state(&c, p, SETT__TURN, sett_arg_v(choose(&c, first, one, zeroth)));
    s->turn = turn;
    s->next = choose(&c, last, zeroth, sett__op2(c.b, site, SETT__ADD, 0, turn, one));
    sett__pick_arrivals(&c, s);
    return c.b->error.status ? poison_of(c.b) : s;
}

sett_participants sett_make_participants_at(sett_site site, const sett_pipeline *p)
{
    static const char func[] = "sett_make_participants";
    sett_pipeline_state *producer = sett_pipeline_state_at(site, p, func, true);
    return (sett_participants){producer, sett_pipeline_state_at(site, p, func, false)};
}

/* The call's build; false: the state is none that may be used. */
static bool begin(sett__ctx *c, const sett_pipeline_state *s)
{
    return sett__use_async(c, (const sett__head *)s, SETT__K_PIPELINE_STATE);
}

static const char *const take_name[] = {"sett_producer_acquire_and_advance", "sett_consumer_wait_and_advance"};

/* The same of a call that moves the state, or waits. */
static bool begin_move(sett__ctx *c, const sett_pipeline_state *s)
{
    if (!begin(c, s))
        return false;
    SETT__FAIL_IF(c->b, c->site, c->func, s->stays, false, SETT_E_ARGUMENT, "this is one stage of %s, which is %s: the state that %s took goes on",
        sett__pipeline_name[s->pipe->kind], s->side == SETT__FULL ? "filled and committed" : "read and released", take_name[s->side]);
    return true;
}

sett_val *sett_pipeline_stage_at(sett_site site, const sett_pipeline_state *s, bool phase)
{
    sett__ctx c = {NULL, site, phase ? "sett_pipeline_phase" : "sett_pipeline_stage"};
    if (!begin(&c, s))
        return sett__poison_val(c.b);
    return phase ? held(&c, s->phase, 2) : held(&c, s->stage, s->pipe->stages);
}

/* The next stage; behind the last one the first, with the other parity. */
void sett_pipeline_advance_at(sett_site site, sett_pipeline_state *s)
{
    sett__ctx c = {NULL, site, "sett_pipeline_advance"};
    if (!begin_move(&c, s))
        return;
    sett_val *stage = held(&c, s->stage, s->pipe->stages), *phase = held(&c, s->phase, 2), *one = number(&c, 1);
    if (c.b->error.status)
        return;
    sett_val *next = sett__op2(c.b, site, SETT__ADD, 0, stage, one), *last = sett__op2(c.b, site, SETT__EQ, 0, next, number(&c, s->pipe->stages));
    hold(&c, s->stage, choose(&c, last, number(&c, 0), next));
    hold(&c, s->phase, sett__op2(c.b, site, SETT__XOR, 0, phase, choose(&c, last, one, number(&c, 0))));
}

void sett_pipeline_state_set_at(sett_site site, sett_pipeline_state *s, sett_arg count)
{
    sett__ctx c = {NULL, site, "sett_pipeline_state_set"};
    uint32_t id;
    if (!begin_move(&c, s))
        return;
    SETT__FAIL_IF(c.b, site, c.func, count.kind == SETT_INT && count.u.i < 0, , SETT_E_RANGE, "%lld advances: 0 or more", (long long)count.u.i);
    if (!sett__int_operand(&c, count, "the number of advances", &id))
        return;
    sett_val *n = sett__scalar_val(c.b, id), *stages = number(&c, s->pipe->stages);
    sett_val *rounds = sett__op2(c.b, site, SETT__DIV, true, n, stages);
    sett_val *phase = sett__op2(c.b, site, SETT__AND, 0, rounds, number(&c, 1));
    hold(&c, s->stage, sett__op2(c.b, site, SETT__SUB, 0, n, sett__op2(c.b, site, SETT__MUL, 0, rounds, stages)));
    if (s->turn) /* group 0 began with the other parity */
        phase = sett__op2(c.b, site, SETT__XOR, 0, phase, choose(&c, sett__op2(c.b, site, SETT__EQ, 0, s->turn, number(&c, 0)), number(&c, 1), number(&c, 0)));
    hold(&c, s->phase, s->side == SETT__FULL ? sett__op2(c.b, site, SETT__XOR, 0, phase, number(&c, 1)) : phase);
}

void sett_pipeline_state_copy_at(sett_site site, const sett_pipeline_state *src, sett_pipeline_state *dst)
{
    sett__ctx c = {NULL, site, "sett_pipeline_state_copy"};
    char from[200], to[200];
    if (!begin(&c, src) || !begin_move(&c, dst))
        return;
    SETT__FAIL_IF(c.b, site, c.func, src->pipe != dst->pipe || src->side != dst->side, , SETT_E_ARGUMENT, "a %s of %s, and a %s of %s: both must be one side of one pipeline",
        side_word[src->side], made_at(src->pipe, from, sizeof from), side_word[dst->side], made_at(dst->pipe, to, sizeof to));
    hold(&c, dst->stage, held(&c, src->stage, src->pipe->stages));
    hold(&c, dst->phase, held(&c, src->phase, 2));
}

/* ---- mbarriers of a stage ------------------------------------------------------------------------------- */
/* The stage's one of these mbarriers; turn: of those of an order, that of a group. */
static sett_tensor *stage_of(const sett__ctx *c, const sett_pipeline_state *s, const sett_tensor *bars, const sett_val *turn)
{
    sett_val *at = held(c, s->stage, s->pipe->stages);
    if (turn && sett__use_val(c->b, c->site, c->func, turn)) {
        at = sett__op2(c->b, c->site, SETT__MUL, 0, at, number(c, s->pipe->turns));
        at = sett__op2(c->b, c->site, SETT__ADD, 0, at, (sett_val *)(uintptr_t)turn);
    }
    return c->b->error.status ? &c->b->poison->tensor : sett__slice(c, bars, sett_arg_v(at));
}

static bool take_stage(const sett__ctx *c, const sett_pipeline_state *s, const sett_tensor *bars, const sett_val *turn, sett__bar *bar)
{
    const sett_tensor *t = stage_of(c, s, bars, turn);
    return !t->head.poison && sett__take_bar(c, t, true, bar);
}

sett_tensor *sett_pipeline_barrier_at(sett_site site, const sett_pipeline_state *s)
{
    sett__ctx c = {NULL, site, "sett_pipeline_barrier"};
    if (!begin(&c, s))
        return c.b ? &c.b->poison->tensor : NULL;
    SETT__FAIL_IF(c.b, site, c.func, s->pipe->kind == SETT_PIPELINE_TMA_STORE, &c.b->poison->tensor, SETT_E_ARGUMENT, "sett_pipeline_tma_store has no mbarriers");
    return stage_of(&c, s, s->pipe->bar[SETT__FULL], s->turn);
}

/* ---- waiting ---------------------------------------------------------------------------------------------- */
/* What a side waits for is what the other one arrives at. Do arrivals come from other blocks, which release memory? */
static bool from_cluster(const sett_pipeline *p, int side)
{
    return !p->relaxed && (p->to[side] || (side == SETT__EMPTY && p->targets > 1));
}

static bool check_token(const sett__ctx *c, const sett_val *token, const sett_tensor *bars)
{
    const sett__op *op = &c->b->op[token->id];
    char text[160] = "?";
    if (op->code != SETT__MBTRY || c->b->arg[op->args] == bars->root)
        return true;
    if (op->site < c->b->n_site)
        snprintf(text, sizeof text, "%.120s:%u", c->b->string[c->b->site[op->site].file], c->b->site[op->site].line);
    sett__fail(c->b, c->site, c->func, SETT_E_ARGUMENT, "the token is the answer of %s, about another pipeline, or its other side", text);
    return false;
}

static void wait_for(const sett__ctx *c, const sett_pipeline_state *s, int side)
{
    sett__bar bar;
    if (take_stage(c, s, s->pipe->bar[side], s->turn, &bar))
        sett__wait_bar(c, &bar, held(c, s->phase, 2)->id, from_cluster(s->pipe, side));
}

/* Where the token is true the phase has ended. */
static void wait_unless(const sett__ctx *c, const sett_pipeline_state *s, int side, sett_val *token)
{
    const sett_val *v = token ? sett__need_scalar(c, token, "the token", true) : NULL;
    if (!token) {
        wait_for(c, s, side);
        return;
    }
    if (!v || !check_token(c, v, s->pipe->bar[side]))
        return;
    const uint32_t again = sett__record(c->b, c->site, &(sett__emit){.code = SETT__NOT, .dtype = SETT_BOOL, .n = 1, .n_args = 1, .args = &v->id});
    sett_region r = sett__open_region(c->b, c->site, &(sett__emit){.code = SETT__IF, .n_args = 1, .args = &again});
    wait_for(c, s, side);
    r.done = true;
    sett_region_end(&r);
}

static sett_val *ask(const sett__ctx *c, const sett_pipeline_state *s, int side)
{
    sett__bar bar;
    if (!take_stage(c, s, s->pipe->bar[side], NULL, &bar))
        return sett__poison_val(c->b);
    const uint32_t phase = held(c, s->phase, 2)->id;
    return sett__scalar_val(c->b, sett__record_bar(c, &bar, SETT__MBTRY, 1, &phase, 1, &(const int32_t){from_cluster(s->pipe, side)}));
}

/* ---- arriving ----------------------------------------------------------------------------------------------- */
/* Have the consumer's threads loaded what a copy will overwrite? A copy is of another proxy than loads, and an mbarrier does not order
 * the two. Warp groups read by wgmma, which is of the copy's. */
static bool loaded_before_copies(const sett_pipeline *p, int side)
{
    return side == SETT__EMPTY && p->kind == SETT_PIPELINE_TMA_ASYNC && p->group[side].threads != SETT__WARP_GROUP;
}

static void arrive(const sett__ctx *c, const sett_pipeline_state *s)
{
    const sett_pipeline *p = s->pipe;
    const sett_group *g = &p->group[s->side == SETT__EMPTY ? SETT__EMPTY : SETT__FULL];
    uint32_t args[2] = {SETT__NONE, SETT__NONE};
    sett__bar bar;
    if (s->arrives && !sett__use_val(c->b, c->site, c->func, s->arrives))
        return;
    if (s->arrives)
        args[1] = s->arrives->id;
    if (loaded_before_copies(p, s->side))
        sett_fence_proxy_at(c->site, c->b, SETT_PROXY_ASYNC_SHARED);
    if (g->threads == SETT__WARP)
        sett_sync_warp_at(c->site, c->b);
    if (take_stage(c, s, s->at, s->next, &bar))
        sett__record_bar(c, &bar, SETT__MBARRIVE, 2, args, 2, (const int32_t[]){bar.peer, bar.peer && p->relaxed});
}

static void commit(const sett__ctx *c, const sett_pipeline_state *s)
{
    sett__bar bar;
    if (s->pipe->kind == SETT_PIPELINE_ASYNC)
        arrive(c, s);
    if (s->pipe->kind == SETT_PIPELINE_CP_ASYNC && take_stage(c, s, s->at, NULL, &bar))
        sett__record_bar(c, &bar, SETT__CPARRIVE, 0, NULL, 1, &(const int32_t){1});
}

/* A lane expects so many bytes of the stage, and arrives. */
static void expect(const sett__ctx *c, const sett_pipeline_state *s, uint32_t bytes)
{
    sett__bar bar;
    const uint32_t lane = sett__electing(c->b) ? SETT__NONE : sett__one_lane(c);
    if (!take_stage(c, s, s->pipe->bar[SETT__FULL], NULL, &bar))
        return;
    const uint32_t args[2] = {bytes, lane};
    sett__record_bar(c, &bar, SETT__MBEXPECT, 2, args, 2, (const int32_t[]){0, 1});
}

/* ---- what is due ------------------------------------------------------------------------------------------------ */
static void check_dues(sett_build *b, const void *kept)
{
    const sett__due *first = NULL;
    for (const sett__due *d = ((const sett__async_kept *)kept)->dues; d; d = d->older)
        first = d->done ? first : d;
    if (first)
        sett__fail(b, first->site, first->func, SETT_E_REGION, "%s", first->text);
}

sett__async_kept *sett__async_of(sett_build *b)
{
    static const sett__build_slot slot = {.size = sizeof(sett__async_kept), .ends = check_dues};
    return sett__in_slot(b, &slot);
}

/* ---- a producer's end ------------------------------------------------------------------------------------------ */
/* Other blocks arrive here: a block that ends before they do is gone. */
static void owe_tail(const sett__ctx *c, sett_pipeline_state *s)
{
    if (s->pipe->targets == 1 && !s->pipe->to[SETT__EMPTY])
        return;
    if (!s->due) {
        sett__async_kept *kept = sett__async_of(c->b);
        s->due = sett__new(c->b, sizeof *s->due);
        *s->due = (sett__due){.older = kept->dues, .site = c->site, .func = c->func,
            .text = "neither sett_producer_tail nor sett_cluster_wait follows: the block could end while others still release stages to it"};
        kept->dues = s->due;
    }
    s->due->done = false;
}

static void tail(const sett__ctx *c, sett_pipeline_state *s)
{
    sett_region r = sett_for_begin(c->site, c->b, zero(), sett_arg_i(s->pipe->stages), sett_arg_i(1), NULL);
    wait_for(c, s, SETT__EMPTY);
    sett_pipeline_advance_at(c->site, s);
    r.done = true;
    sett_region_end(&r);
    if (s->due)
        s->due->done = true;
}

/* ---- stores by TMA: a thread's groups --------------------------------------------------------------------------- */
static void store_step(const sett__ctx *c, const sett_pipeline_state *s, sett_pipeline_step step)
{
    const int32_t wait[2] = {step == SETT_PIPELINE_ACQUIRE ? s->pipe->stages - 1 : 0, 1};
    if (step == SETT_PIPELINE_COMMIT)
        sett__record(c->b, c->site, &(sett__emit){.code = SETT__BULKCOMMIT});
    else
        sett__record(c->b, c->site, &(sett__emit){.code = SETT__BULKWAIT, .n_attrs = 2, .attrs = wait});
}

/* ---- the steps ------------------------------------------------------------------------------------------------------ */
static const struct {
    const char *func;
    uint8_t side;
    bool stores; /* may it be of stores? */
} steps[] = {
    [SETT_PIPELINE_ACQUIRE] = {"sett_producer_acquire", SETT__FULL, true},
    [SETT_PIPELINE_TRY_ACQUIRE] = {"sett_producer_try_acquire", SETT__FULL, false},
    [SETT_PIPELINE_COMMIT] = {"sett_producer_commit", SETT__FULL, true},
    [SETT_PIPELINE_TAIL] = {"sett_producer_tail", SETT__FULL, true},
    [SETT_PIPELINE_WAIT] = {"sett_consumer_wait", SETT__EMPTY, false},
    [SETT_PIPELINE_TRY_WAIT] = {"sett_consumer_try_wait", SETT__EMPTY, false},
    [SETT_PIPELINE_RELEASE] = {"sett_consumer_release", SETT__EMPTY, false},
    [SETT_PIPELINE_ORDER_WAIT] = {"sett_order_wait", SETT__TURN, false},
    [SETT_PIPELINE_ORDER_ARRIVE] = {"sett_order_arrive", SETT__TURN, false},
};

static bool check_step(const sett__ctx *c, const sett_pipeline_state *s, sett_pipeline_step step, const sett_val *token)
{
    char made[200];
    const bool store = s->pipe->kind == SETT_PIPELINE_TMA_STORE;
    SETT__FAIL_IF(c->b, c->site, c->func, s->side != steps[step].side, false, SETT_E_ARGUMENT, "this is a %s, of %s", side_word[s->side], made_at(s->pipe, made, sizeof made));
    SETT__FAIL_IF(c->b, c->site, c->func, store && (token || !steps[step].stores), false, SETT_E_ARGUMENT, "nothing can be asked of %s: its acquire waits", made_at(s->pipe, made, sizeof made));
    return true;
}

/* bytes: of tma_async, that the stage expects; SETT__NONE: .tx_bytes. */
static void acquire(const sett__ctx *c, sett_pipeline_state *s, sett_val *token, uint32_t bytes)
{
    wait_unless(c, s, SETT__EMPTY, token);
    if (s->pipe->kind == SETT_PIPELINE_TMA_ASYNC)
        expect(c, s, bytes == SETT__NONE ? number(c, s->pipe->tx_bytes)->id : bytes);
    owe_tail(c, s);
}

static void do_step(const sett__ctx *c, sett_pipeline_state *s, sett_pipeline_step step, sett_val *token)
{
    if (s->pipe->kind == SETT_PIPELINE_TMA_STORE) {
        store_step(c, s, step);
        return;
    }
    switch (step) {
    case SETT_PIPELINE_ACQUIRE: acquire(c, s, token, SETT__NONE); break;
    case SETT_PIPELINE_COMMIT: commit(c, s); break;
    case SETT_PIPELINE_TAIL: tail(c, s); break;
    case SETT_PIPELINE_RELEASE: arrive(c, s); break;
    case SETT_PIPELINE_ORDER_ARRIVE:
        arrive(c, s);
        sett_pipeline_advance_at(c->site, s);
        break;
    default: wait_unless(c, s, SETT__FULL, token); break; /* a consumer's, or a turn's */
    }
}

sett_val *sett_pipeline_step_at(sett_site site, sett_pipeline_state *s, sett_pipeline_step step, sett_val *token)
{
    sett__ctx c = {NULL, site, (unsigned)step < SETT__COUNT(steps) ? steps[step].func : "sett_pipeline_step"};
    if (!(step == SETT_PIPELINE_COMMIT || step == SETT_PIPELINE_RELEASE ? begin(&c, s) : begin_move(&c, s)))
        return sett__poison_val(c.b);
    SETT__FAIL_IF(c.b, site, c.func, (unsigned)step >= SETT__COUNT(steps), sett__poison_val(c.b), SETT_E_ARGUMENT, "%d is no step", (int)step);
    if (!check_step(&c, s, step, token))
        return sett__poison_val(c.b);
    if (step == SETT_PIPELINE_TRY_ACQUIRE || step == SETT_PIPELINE_TRY_WAIT)
        return ask(&c, s, s->side == SETT__FULL ? SETT__EMPTY : SETT__FULL);
    do_step(&c, s, step, token);
    return NULL;
}

void sett_producer_acquire_tx_at(sett_site site, sett_pipeline_state *s, sett_arg bytes)
{
    sett__ctx c = {NULL, site, "sett_producer_acquire_tx"};
    char made[200];
    uint32_t n;
    if (!begin_move(&c, s) || !sett__use_arg(c.b, site, c.func, bytes) || !check_step(&c, s, SETT_PIPELINE_ACQUIRE, NULL))
        return;
    SETT__FAIL_IF(c.b, site, c.func, s->pipe->kind != SETT_PIPELINE_TMA_ASYNC, , SETT_E_ARGUMENT, "nothing expects bytes of %s: sett_producer_acquire", made_at(s->pipe, made, sizeof made));
    SETT__FAIL_IF(c.b, site, c.func, bytes.kind == SETT_INT && (bytes.u.i < 0 || bytes.u.i > s->pipe->tx_bytes), , SETT_E_RANGE, "%lld bytes: 0 to %lld, the .tx_bytes of %s", (long long)bytes.u.i,
        (long long)s->pipe->tx_bytes, made_at(s->pipe, made, sizeof made));
    if (sett__int_operand(&c, bytes, "the number of bytes", &n))
        acquire(&c, s, NULL, n);
}

/* Its stage now, as a state of its own. */
static sett_pipeline_state *stage_now(const sett__ctx *c, const sett_pipeline_state *s)
{
    sett_pipeline_state *x = sett__new_object(c->b, SETT__K_PIPELINE_STATE, sizeof *x);
    const sett__head head = x->head;
    *x = *s;
    x->head = head;
    x->due = NULL;
    x->stays = true;
    x->stage = sett_var_at(c->site, c->b, SETT_I32, sett_arg_v(held(c, s->stage, s->pipe->stages)));
    x->phase = sett_var_at(c->site, c->b, SETT_I32, sett_arg_v(held(c, s->phase, 2)));
    return x;
}

sett_pipeline_state *sett_pipeline_take_at(sett_site site, sett_pipeline_state *s, sett_pipeline_step step, sett_val *token)
{
    sett__ctx c = {NULL, site, take_name[step != SETT_PIPELINE_ACQUIRE]};
    step = step == SETT_PIPELINE_ACQUIRE ? step : SETT_PIPELINE_WAIT;
    if (!begin_move(&c, s) || !check_step(&c, s, step, token))
        return poison_of(c.b);
    do_step(&c, s, step, token);
    sett_pipeline_state *x = stage_now(&c, s);
    sett_pipeline_advance_at(site, s);
    return c.b->error.status ? poison_of(c.b) : x;
}
