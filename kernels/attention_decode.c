/* SPDX-License-Identifier: Apache-2.0 */
/* Few queries over many keys: rules, parameters, which split comes next, and the warp that loads; the latter for sett_attention_mla
 * too. */
#include "attention_decode.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const double LOG2_E = 1.4426950408889634;
enum { BARRIERS = 2048 /* bytes of shared memory, of mbarriers, slots and what alignment takes */ };

enum { QUERY_STAGES = 2 /* one is loaded */, LOADERS = 2 /* warps: of keys, of queries */, ENOUGH = 8 /* splits of a block: then it takes some at once */ };
enum { MOST_STAGES = 6, MOST_KEYS = 256, LEAST_KEYS = 16, WARP_KEYS = 32 /* that a warp has of a tile, at least and at most */, STAGE_BYTES = 32 << 10 /* of K and V, if so many */,
    SPLIT_BYTES = 256 << 10 /* of K and V: so much takes longer to come than what a split costs besides */, LEAST_SPLIT = 256, MOST_SPLIT = 1024 };

static int stage_bytes(const sett_attention_decode_options *o)
{
    return 2 * sett__bytes_of(o->kv) * o->tuning.keys * o->d;
}

static int bytes_besides(const sett_attention_decode_options *o)
{
    return QUERY_STAGES * sett__bytes_of(o->dtype) * o->rows * o->d + (int)sizeof(float) * o->tuning.warps * WARP_ROWS * decode_sums_columns(o) + BARRIERS;
}

/* Stages that shared memory has room for. */
static int room_for(const sett_attention_decode_options *o, const device *d)
{
    return (d->shared_memory_bytes - bytes_besides(o)) / stage_bytes(o);
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* A tile of K and V, and a split: as many keys as the warps have room for. */
static void choose_keys(sett_attention_decode_options *o)
{
    sett_attention_decode_tuning *tune = &o->tuning;
    const int parts = decode_parts_of(o), fit = STAGE_BYTES / (2 * sett__bytes_of(o->kv) * o->d), most = (o->exact && o->softcap ? LEAST_KEYS : WARP_KEYS) * parts;
    sett__either(&tune->keys, least(fit < LEAST_KEYS * parts ? LEAST_KEYS * parts : fit, most));
    const int split = SPLIT_BYTES / (2 * sett__bytes_of(o->kv) * o->d);
    sett__either(&tune->split, sett__round_up(split < LEAST_SPLIT ? LEAST_SPLIT : least(split, MOST_SPLIT), tune->keys));
}

/* Bits of results depend on .keys, .warps and .split, so these follow from the types, d, rows and the target alone: where shared memory has no
 * room for two stages there are fewer warps, and then fewer keys. */
static void choose(sett_attention_decode_options *o, const device *d)
{
    const sett_attention_decode_tuning given = o->tuning;
    sett_attention_decode_tuning *tune = &o->tuning;
    sett__either(&tune->blocks, sett__attention_blocks(d));
    const bool exact_cap = o->exact && o->softcap; /* its tanh takes registers, of which more than 4 warps have 168 each */
    sett__either(&tune->warps, tune->arch != 80 && o->d < 256 && !exact_cap && (o->rows > WARP_ROWS || decode_is_f8(o)) ? 8 : 4);
    if (tune->warps < o->rows / WARP_ROWS || tune->warps > MOST_WARPS || tune->keys < 0 || tune->keys > MOST_KEYS)
        return; /* they will be refused */
    choose_keys(o);
    while (!given.warps && tune->warps > o->rows / WARP_ROWS && room_for(o, d) < 2) {
        tune->warps /= 2, tune->keys = given.keys, tune->split = given.split;
        choose_keys(o);
    }
    while (!given.keys && tune->keys > LEAST_KEYS * decode_parts_of(o) && room_for(o, d) < 2)
        tune->keys /= 2;
    const int room = room_for(o, d);
    sett__either(&tune->stages, room < 2 ? 2 /* it will be refused */ : least(MOST_STAGES, room));
}

void sett__decode_check_split(choice *c, const sett_attention_decode_tuning *tune)
{
    if (!*c->why && (tune->split < tune->keys || tune->split % tune->keys || tune->split > 1 << 16))
        REFUSE(c, ".split is %d: a multiple of .keys %d, up to 65536", tune->split, tune->keys);
    sett__in_range(c, "blocks", tune->blocks, 1, 65535);
}

static void check_tile(const sett_attention_decode_options *o, const device *d, choice *c)
{
    const sett_attention_decode_tuning *tune = &o->tuning;
    const int high = o->rows / WARP_ROWS, parts = decode_parts_of(o);
    sett__in_range(c, "warps", tune->warps, 1, MOST_WARPS);
    if (tune->warps % high)
        REFUSE(c, ".warps is %d: a multiple of %d, .rows / 16", tune->warps, high);
    if (!*c->why && (tune->keys < 16 || tune->keys > MOST_KEYS || tune->keys % (LEAST_KEYS * parts)))
        REFUSE(c, ".keys is %d: a multiple of %d, 16 times .warps %d / (.rows %d / 16), up to 256", tune->keys, 16 * parts, tune->warps, o->rows);
    sett__decode_check_split(c, tune);
    sett__in_range(c, "stages", tune->stages, 2, 16);
    if (!*c->why && bytes_besides(o) + tune->stages * stage_bytes(o) > d->shared_memory_bytes)
        REFUSE(c, ".stages is %d: with .d %d, .rows %d and .keys %d more shared memory than a block has", tune->stages, o->d, o->rows, tune->keys);
}

static void settle(void *options, choice *c)
{
    sett_attention_decode_options *o = options;
    const device *d = sett__attention_device(c->sm);
    const struct { const char *name; int is; } flags[] = {{"exact", o->exact}, {"scaled", o->scaled}, {"lengths", o->lengths}, {"causal", o->causal}, {"window", o->window}, {"prefix", o->prefix}, {"softcap", o->softcap}, {"alibi", o->alibi}, {"scale", o->scale},
        {"sinks", o->sinks}, {"lse", o->lse}};
    if (o->dtype != SETT_F16 && o->dtype != SETT_BF16)
        REFUSE(c, ".dtype is %s: f16 or bf16", o->dtype ? sett_dtype_name(o->dtype) : "not given");
    sett__either(&o->d, 128);
    sett__either(&o->rows, WARP_ROWS);
    if (o->rows != 16 && o->rows != 32 && o->rows != 64)
        REFUSE(c, ".rows is %d: 16, 32 or 64", o->rows);
    if (!o->kv)
        o->kv = o->dtype;
    if (!*c->why && o->kv != o->dtype && o->kv != SETT_F8E4M3FN)
        REFUSE(c, ".kv is %s: %s, or f8E4M3FN", sett_dtype_name(o->kv), sett_dtype_name(o->dtype));
    if (!*c->why && o->scaled && !decode_is_f8(o))
        REFUSE(c, ".scaled is %d: of .kv f8E4M3FN alone", o->scaled);
    sett__attention_arch(c, &o->tuning.arch, "kv", o->kv);
    sett__is_zero(c, "reserved", o->tuning.reserved);
    if (o->d != 64 && o->d != 128 && o->d != 256)
        REFUSE(c, ".d is %d: 64, 128 or 256", o->d);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        sett__in_range(c, flags[i].name, flags[i].is, 0, 1);
    sett__attention_check(c, o->page, o->prefix && o->window, o->softcap && o->alibi);
    if (*c->why)
        return;
    o->lengths |= o->page != 0;
    o->causal |= o->prefix;
    choose(o, d);
    check_tile(o, d, c);
}

/* ---- parameters --------------------------------------------------------------------------------------------- */
static sett_attention_options options_of(const sett_attention_decode_options *o, int keys)
{
    return (sett_attention_options){.size = sizeof(sett_attention_options), .dtype = o->kv, .d = o->d, .dv = o->d, .exact = o->exact, .causal = o->causal, .window = o->window, .prefix = o->prefix,
        .softcap = o->softcap, .alibi = o->alibi, .scale = o->scale, .sinks = o->sinks, .lse = o->lse, .page = o->page, .tuning = {.rows = o->rows, .keys = keys, .stages = o->tuning.stages, .arch = o->tuning.arch}};
}

static void params(sett_build *b, decode_parts *x, sett_tensor *operand[3])
{
    const sett_attention_decode_options *o = x->o;
    attention_parts *t = &x->t;
    t->B = sett_sym(b, "B"), t->H = sett_sym(b, "H"), t->HK = sett_sym(b, "HK"), t->M = sett_sym(b, "M");
    t->N = o->page ? NULL : sett_sym(b, "N"), t->pool = o->page ? sett_sym(b, "P") : NULL;
    sett_val *of_keys = o->page ? t->pool : t->B;
    const sett_arg keys = o->page ? SETT_A(o->page) : SETT_A(t->N);
    const int columns = o->d + x->kind->latent;
    const bool wide = !by_tma(&x->all);
    t->group = SETT_A(sett_floordiv(t->H, t->HK));
    operand[0] = sett__attention_operand(b, "Q", o->dtype, t->B, SETT_A(t->H), SETT_A(t->M), columns, false);
    operand[1] = sett__attention_operand(b, "K", o->kv, of_keys, SETT_A(t->HK), keys, columns, wide);
    if (!x->kind->latent)
        operand[2] = sett__attention_operand(b, "V", o->kv, of_keys, SETT_A(t->HK), keys, o->d, wide);
    t->O = sett__attention_operand(b, "O", o->dtype, t->B, SETT_A(sett_mul(t->group, t->HK)), SETT_A(t->M), o->d, false); /* so launches check that HK divides H */
    if (o->scaled) {
        x->k_scale = sett_param(b, "KSCALES", SETT_F32, sett_make_layout(b, T1(t->HK), T1(sett_sym(b, "LKSCALES0"))));
        x->v_scale = sett_param(b, "VSCALES", SETT_F32, sett_make_layout(b, T1(t->HK), T1(sett_sym(b, "LVSCALES0"))));
    }
    t->source->params(b, t);
    sett__attention_mask_params(b, t);
    if (o->lse)
        t->lse = sett_param(b, "LSE", SETT_F32, sett_make_layout(b, T(t->B, t->H, t->M), T(sett_sym(b, "LLSE0"), sett_sym(b, "LLSE1"), 1)));
    x->floats = sett_sym(b, "partial");
    x->partial = sett_param(b, "PARTIAL", SETT_F32, sett_make_layout(b, T1(x->floats)), .align = 16);
    x->counters = sett_sym(b, "left");
    x->left = sett_param(b, "LEFT", SETT_U32, sett_make_layout(b, T1(x->counters)));
    x->q = operand[0];
}

static void places(sett_build *b, decode_parts *x, sett_tensor *const operand[3])
{
    const sett_attention_decode_options *o = x->o;
    attention_parts *t = &x->t;
    t->q = sett_make_smem_tensor(b, decode_multiplied(o), sett_smem_layout(b, decode_multiplied(o), SETT_K_MAJOR, o->rows, o->d, QUERY_STAGES), 1024);
    t->k = sett__attention_ring(b, &x->all, operand[1], o->d, false);
    t->v = sett__attention_ring(b, &x->all, operand[2], o->d, true);
    x->sums = sett_make_smem_tensor(b, SETT_F32, T(decode_sums_columns(o), o->rows, decode_parts_of(o)), 16, .name = "sums");
    x->keys = sett__attention_pipe(b, &x->all, o->tuning.stages, stage_bytes(o), SETT_WARPS(o->tuning.warps));
    x->work = sett_pipeline_async(b, .stages = WORK_STAGES, .producers = SETT_THREADS(1), .consumers = SETT_WARPS(o->tuning.warps + 1 + decode_crew_warps(o)), .defer_sync = true);
    x->queries = sett_pipeline_async(b, .stages = QUERY_STAGES, .producers = SETT_WARPS(1), .consumers = SETT_WARPS(o->tuning.warps), .defer_sync = true);
    x->left_sums = sett_pipeline_async(b, .stages = 1, .producers = SETT_WARPS(o->tuning.warps), .consumers = SETT_WARPS(decode_crew_warps(o))); /* the last one: here threads meet */
}

/* ---- which split comes next ------------------------------------------------------------------------------------ */
/* The splits of a request: at least one, so that its result is stored. If all requests are like it and there are many, a block takes some that
 * stand behind each other, and they are counted once. */
typedef struct request_splits {
    sett_val *keys;        /* of the request */
    sett_val *first;       /* the split with the first key that is seen */
    sett_val *folded;      /* splits of a unit */
    sett_val *units;       /* of each head and tile of rows */
    attention_seen seen;   /* by any query */
} request_splits;

static request_splits splits_of(sett_build *b, const decode_parts *x, sett_val *request)
{
    const attention_parts *t = &x->t;
    const int split = x->o->tuning.split;
    attention_work w = {.request = request, .rows = t->M, .keys = t->source->keys(t, request)};
    const attention_seen top = sett__attention_seen(b, t, &w, sett_const(b, SETT_I32, 0)), bottom = sett__attention_seen(b, t, &w, sett_sub(t->M, 1));
    request_splits s = {.keys = w.keys, .seen = {top.first ? top.first : sett_const(b, SETT_I32, 0), bottom.last}};
    s.first = sett_floordiv(s.seen.first, split);
    sett_val *n = sett_max(sett_sub(sett_floordiv(sett_add(s.seen.last, split - 1), split), s.first), 1);
    s.folded = sett_const(b, SETT_I32, 1), s.units = n;
    if (!x->kind->latent) { /* its parts are large */
        sett_val *many = sett_ge(sett_mul(sett_mul(n, t->B), sett_mul(SETT_A(t->HK), x->high)), sett_mul(sett_grid_dim(b, 0), ENOUGH));
        s.folded = sett_where(many, DECODE_FOLD, s.folded);
        s.units = sett_where(many, sett_floordiv(sett_add(n, DECODE_FOLD - 1), DECODE_FOLD), n);
    }
    return s;
}

/* A block's walk over the units of all requests, one behind the other. A block takes the next one that nobody has: those that combine take
 * fewer. Were they dealt by their numbers, a block that is late once would come last among those it shares a request with in each round,
 * and combine for all of them. */
typedef struct walk {
    sett_tensor *ticket, *request, *before; /* before: units of earlier requests */
} walk;

/* Asks for it, a unit ahead: nothing here waits for the answer. */
static void step(sett_build *b, const decode_parts *x, const walk *at)
{
    sett__attention_ticket(b, &x->t, x->left, sett_sub(x->counters, 2), at->ticket);
}

/* The first units are the blocks' own, and are no tickets. */
static sett_val *index_of(sett_build *b, const walk *at)
{
    return sett_add(sett_at(at->ticket, 0), sett_grid_dim(b, 0));
}

/* The last block to end leaves the counters as the next launch needs them. */
static void end_walk(sett_build *b, const decode_parts *x, const walk *at)
{
    sett_if (b, attention_once(b, &x->t)) {
        sett_val *ended = sett_atomic_ordered(x->left, SETT_ATOMIC_ADD, SETT_SEM_ACQ_REL, SETT_SCOPE_GPU, 1, sett_sub(x->counters, 1));
        sett_if (b, sett_eq(sett_to(ended, SETT_I32), sett_sub(sett_grid_dim(b, 0), 1))) {
            sett_assert(b, sett_eq(sett_to(sett_at(x->left, sett_sub(x->counters, 2)), SETT_I32), sett_at(at->before, 0)), "LEFT counts to {}, and units are {}: LEFT was not 0 before the launch", sett_at(x->left, sett_sub(x->counters, 2)), sett_at(at->before, 0));
            for (int i = 1; i <= 2; i++)
                sett_set(x->left, 0, sett_sub(x->counters, i));
        }
    }
}

/* Requests that end before the index are passed; then the request may be B, which is none. */
static void pass(sett_build *b, const decode_parts *x, const walk *at)
{
    sett_tensor *more = sett_var(b, SETT_I32, 1);
    sett_val *index = index_of(b, at);
    sett_while (b, sett_ne(sett_at(more, 0), 0)) {
        sett_val *request = sett_at(at->request, 0);
        sett_set(more, 0, 0);
        sett_if (b, sett_lt(request, x->t.B)) {
            sett_val *end = sett_add(sett_at(at->before, 0), sett_mul(splits_of(b, x, request).units, sett_mul(SETT_A(x->t.HK), x->high)));
            sett_if (b, sett_ge(index, end)) {
                sett_set(at->before, end, 0), sett_set(at->request, sett_add(request, 1), 0);
                sett_set(more, 1, 0);
            }
        }
    }
}

/* What a launch cannot know, on the CPU engine. */
static void check_request(sett_build *b, const attention_parts *t, sett_val *request, sett_val *keys)
{
    sett__attention_check_numbers(b, t);
    if (t->pages)
        sett_assert(b, sett_and(sett_ge(keys, 0), sett_le(keys, sett_mul(t->pages, t->o->page))), "KEYS[{}] is {}, and a row of TABLE has {} pages", request, keys, t->pages);
    else if (t->lengths)
        sett_assert(b, sett_and(sett_ge(keys, 0), sett_le(keys, t->N)), "KEYS[{}] is {}, and there is room for {}", request, keys, t->N);
}

static sett_val *wide(sett_build *b, sett_arg x)
{
    return sett_to(sett_value(b, x), SETT_I64);
}

/* Is the workspace as large as sett_attention_decode_workspace says? Splits may be more than an int32. */
static void check_workspace(sett_build *b, const decode_parts *x)
{
    sett_val *slots = sett_mul(sett_mul(wide(b, SETT_A(x->t.B)), wide(b, SETT_A(x->t.HK))), sett_mul(wide(b, x->high), wide(b, x->splits))), *floats = sett_mul(sett_mul(slots, sett_to(sett_min(x->rows, x->o->rows), SETT_I64)), decode_partial_columns(x->o)), *counters = sett_add(sett_mul(slots, 2), 2);
    sett_assert(b, sett_ge(sett_to(x->floats, SETT_I64), floats), "PARTIAL has {} elements, and the launch needs {}", x->floats, floats);
    sett_assert(b, sett_ge(sett_to(x->counters, SETT_I64), counters), "LEFT has {} elements, and the launch needs {}", x->counters, counters);
}

static decode_work work_at(sett_build *b, const decode_parts *x, const walk *at)
{
    const int split = x->o->tuning.split, tile = x->o->tuning.keys;
    const request_splits s = splits_of(b, x, sett_at(at->request, 0));
    check_request(b, &x->t, sett_at(at->request, 0), s.keys);
    decode_work w = {.request = sett_at(at->request, 0), .keys = s.keys, .slot = index_of(b, at), .units = s.units, .folded = s.folded};
    sett_val *within = sett_sub(w.slot, sett_at(at->before, 0)), *pair = sett_floordiv(within, s.units), *high = sett_value(b, x->high);
    w.unit = sett_sub(within, sett_mul(pair, s.units));
    w.head = sett_floordiv(pair, high);
    w.row = sett_mul(sett_sub(pair, sett_mul(w.head, high)), x->o->rows);
    sett_val *begin = sett_mul(sett_add(sett_mul(w.unit, s.folded), s.first), split), *end = sett_add(begin, sett_mul(s.folded, split));
    w.from = sett_floordiv(sett_max(begin, s.seen.first), tile);
    w.to = sett_floordiv(sett_add(sett_min(end, s.seen.last), tile - 1), tile);
    return w;
}

attention_units sett__decode_units(sett_build *b, const decode_parts *x)
{
    sett_tensor *more = sett_var(b, SETT_I32, 1);
    return (attention_units){more, sett_pipeline_consumer_state(x->work)};
}

void sett__decode_each(sett_build *b, const decode_parts *x, const attention_units *units, decode_work *w, void (*one)(sett_build *, void *user), void *user)
{
    sett__attention_each(b, &x->t, units, (sett_val **)w, DECODE_WORK_INTS, true, one, user);
}

static void load(sett_build *b, const decode_parts *x, const attention_work *of, sett_val *tile, sett_pipeline_state *put, sett_pipeline_state *more)
{
    (void)more;
    sett__attention_load(b, &x->t, (const attention_operand *const[]){&x->t.k, &x->t.v}, 2, of, tile, put);
}

void sett__decode_produce(sett_build *b, const decode_parts *x)
{
    sett_pipeline_state *keys = sett_pipeline_producer_state(x->keys), *more_keys = x->more ? sett_pipeline_producer_state(x->more) : NULL, *work = sett_pipeline_producer_state(x->work);
    const walk at = {sett_var(b, SETT_I32, sett_sub(sett_block_idx(b, 0), sett_grid_dim(b, 0))), sett_var(b, SETT_I32, 0), sett_var(b, SETT_I32, 0)};
    sett_tensor *more = sett_var(b, SETT_I32, 1);
    check_workspace(b, x);
    sett_while (b, sett_ne(sett_at(more, 0), 0)) {
        pass(b, x, &at);
        sett_val *is_work = sett_lt(sett_at(at.request, 0), x->t.B);
        sett_set(more, sett_to(is_work, SETT_I32), 0);
        sett_if (b, is_work) {
            const decode_work w = work_at(b, x, &at);
            step(b, x, &at);
            sett__attention_tell(b, &x->t, work, (sett_val *const *)&w, DECODE_WORK_INTS);
            attention_work of = {.request = w.request, .shared = w.head, .keys = w.keys};
            sett_for (b, tile, w.from, w.to, 1) {
                if (x->t.source->look)
                    x->t.source->look(&x->t, &of, tile);
                x->kind->load(b, x, &of, tile, keys, more_keys);
            }
        }
        sett_else (b) {
            sett__attention_tell(b, &x->t, work, NULL, DECODE_WORK_INTS);
            end_walk(b, x, &at);
        }
    }
}

/* ---- a block -------------------------------------------------------------------------------------------------- */
void sett__decode_body(sett_site site, sett_build *b, const sett_attention_decode_options *o, const decode_kind *kind, const sett_attention_functions *given)
{
    static const char call[] = "sett_attention_decode_with";
    sett_tensor *operand[3];
    decode_parts x = {.o = o, .kind = kind, .all = options_of(o, o->tuning.keys), .mine = options_of(o, o->tuning.keys / (kind->latent ? 1 : decode_parts_of(o)))};
    const sett_attention_functions *own = sett__attention_own(site, b, call, given, &x.all);
    if (!own)
        return;
    x.t = (attention_parts){.o = &x.all, .own = own, .site = site, .call = call, .packs = true, .source = o->page ? &sett__attention_paged : o->lengths ? &sett__attention_with_lengths : &sett__attention_in_order};
    params(b, &x, operand);
    x.group = sett_make_fast_divmod(b, x.t.group);
    x.rows = sett_mul(x.t.M, x.t.group);
    x.high = SETT_A(sett_ceil_div(x.rows, o->rows));
    x.unit = (attention_scores){.b = b, .t = &x.t};
    x.scale = sett__attention_unit(&x.unit, LOG2_E);
    const sett_arg keys = o->page ? SETT_A(sett_mul(x.t.pages, o->page)) : SETT_A(x.t.N);
    x.splits = SETT_A(sett_max(sett_ceil_div(keys, o->tuning.split), 1));
    sett_grid(b, sett_min(sett_mul(sett_mul(sett_mul(x.t.B, x.t.HK), x.high), x.splits), SETT_A(o->tuning.blocks)));
    sett_block(b, kind->threads ? kind->threads : (o->tuning.warps + LOADERS + decode_crew_warps(o)) * WARP);
    sett_min_blocks(b, 1); /* shared memory is full: registers may be */
    kind->places(b, &x, operand);
    x.t.slots = sett_make_smem_tensor(b, SETT_I32, T(DECODE_WORK_INTS + 1, WORK_STAGES), 16);
    x.last = sett_make_smem_tensor(b, SETT_U32, sett_make_layout(b, T1(1)), 4);
    x.t.lane = by_tma(&x.all) ? NULL : sett_lane_idx(b);
    x.scores = x.t, x.scores.o = &x.mine;
    (by_tma(&x.all) ? sett__begin_by_tma : sett__begin)(b, o->no_pdl);
    kind->run(b, &x);
}

static void run(sett_build *b, const decode_parts *x)
{
    const int warps = x->o->tuning.warps;
    sett_val *warp = sett_make_warp_uniform(sett_warp_idx(b));
    sett_if (b, sett_lt(warp, warps))
        sett__decode_consume(b, x);
    sett_else (b) {
        sett_if (b, sett_eq(warp, warps)) {
            sett_if (b, attention_loads(b, &x->t))
                sett__decode_produce(b, x);
        }
        sett_else (b) {
            sett_if (b, sett_eq(warp, warps + 1))
                sett__decode_fetch(b, x);
            sett_else (b)
                sett__decode_finish(b, x, sett_sub(sett_thread_idx(b, 0), (warps + LOADERS) * WARP));
        }
    }
}

void sett_attention_decode_with_at(sett_site site, sett_build *b, const sett_attention_decode_options *user, const sett_attention_functions *functions)
{
    static const decode_kind kind = {.places = places, .load = load, .run = run};
    sett_attention_decode_options o;
    if (sett__kernel_options(b, &sett__attention_decode, user, &o))
        sett__decode_body(site, b, &o, &kind, functions);
}

void sett_attention_decode(sett_build *b, const void *user)
{
    sett_attention_decode_with(b, user, NULL);
}

static sett_status cannot_be(sett_error *err, sett_status s, const char *call, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (err) {
        const int n = snprintf(err->text, sizeof err->text, "%s: ", call);
        err->status = s;
        vsnprintf(err->text + n, sizeof err->text - (size_t)n, format, args);
    }
    va_end(args);
    return s;
}

/* A product of what is at least 1; MANY: it is no int32. */
enum { MOST = INT32_MAX };
static const int64_t MANY = INT64_C(1) + MOST;
static int64_t times(int64_t a, int64_t b)
{
    return a > MOST / b ? MANY : a * b;
}

/* PARTIAL's elements, or MANY; then LEFT's are not too many either. */
static int64_t floats_of(const sett_attention_decode_options *o, const int counts[5], int64_t *slots)
{
    const int64_t rows = times(counts[3], counts[1] / counts[2]), splits = (counts[4] - 1) / o->tuning.split + 1;
    *slots = times(times(times(counts[0], counts[2]), (rows - 1) / o->rows + 1), splits);
    return times(times(*slots, rows < o->rows ? rows : o->rows), decode_partial_columns(o));
}

sett_status sett__decode_workspace(const sett_attention_decode_options *o, const char *call, const int counts[5], size_t *partial, size_t *left, sett_error *err)
{
    static const char *const names[] = {"requests", "heads", "heads_k", "queries", "keys"};
    int64_t slots;
    for (int i = 0; i < 5; i++)
        if (counts[i] < 1)
            return cannot_be(err, SETT_E_ARGUMENT, call, "%s is %d: 1 or more", names[i], counts[i]);
    if (counts[1] % counts[2])
        return cannot_be(err, SETT_E_ARGUMENT, call, "heads is %d: a multiple of heads_k", counts[1]);
    const int64_t floats = floats_of(o, counts, &slots);
    if (floats > MOST)
        return cannot_be(err, SETT_E_RANGE, call, "requests %d, heads %d, heads_k %d, queries %d, keys %d: PARTIAL would have more than 2^31 - 1 elements, which no launch takes", counts[0], counts[1], counts[2], counts[3], counts[4]);
    *partial = (size_t)floats, *left = 2 * (size_t)slots + 2;
    return SETT_OK;
}

sett_status sett_attention_decode_workspace(const sett_attention_decode_options *user, int requests, int heads, int heads_k, int queries, int keys, size_t *partial, size_t *left, sett_error *err)
{
    static const char call[] = "sett_attention_decode_workspace";
    sett_attention_decode_options o = {0};
    *partial = *left = 0;
    if (user && user->size <= sizeof o)
        memcpy(&o, user, user->size);
    const sett_status s = sett_kernels_choose(sett_attention_decode, user ? (void *)&o : NULL, NULL, err);
    return s ? sett__said_by(call, s, err) : sett__decode_workspace(&o, call, (const int[]){requests, heads, heads_k, queries, keys}, partial, left, err);
}

#define P(member_) SETT_FAMILY_PARAM(sett_attention_decode_options, member_)
#define TUNED(member_) TUNING_PARAM(sett_attention_decode_options, member_)
static const sett_family_param params_of[] = {P(dtype), P(no_pdl), P(d), P(exact), P(rows), P(kv), P(scaled), P(lengths), P(page), P(causal), P(window), P(prefix), P(softcap), P(alibi), P(scale), P(sinks), P(lse), TUNED(split), TUNED(keys),
    TUNED(stages), TUNED(warps), TUNED(blocks), TUNED(arch)};
FAMILY_OF(attention_decode, params_of, .least = "sm_80");
