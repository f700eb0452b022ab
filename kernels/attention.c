/* SPDX-License-Identifier: Apache-2.0 */
/* O = softmax(Q K^T / sqrt(d)) V, for each head: rules, parameters, and the parts of a block. */
#include "attention.h"
#include <limits.h>
#include <math.h>

/* The tile of heads of d and dv columns. Bits of results depend on .keys, so it follows from d, dv, dtype and .arch alone. */
static const struct tile {
    int arch, d, dv, rows, keys, stages;
    bool f8;
} tiles[] = {{90, 64, 64, 128, 128, 3, true}, {90, 128, 128, 128, 192, 2, true}, {90, 256, 256, 128, 64, 2, true}, {90, 64, 64, 192, 128, 4, false}, {90, 96, 96, 128, 160, 2, false},
    {90, 128, 128, 128, 128, 2, false}, {90, 192, 128, 128, 128, 2, false}, {90, 192, 192, 128, 112, 2, false}, {90, 256, 256, 128, 80, 2, false},
    {80, 64, 64, 128, 64, 3, false}, {80, 96, 96, 128, 32, 3, false}, {80, 128, 128, 128, 32, 3, false}, {80, 192, 128, 64, 32, 2, false}, {80, 192, 192, 64, 32, 2, false}, {80, 256, 256, 64, 32, 2, false}}; /* of 80 they fit 99 KB */

static const struct tile *tile_of(const sett_attention_options *o)
{
    for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++)
        if (tiles[i].arch == o->tuning.arch && tiles[i].d == o->d && tiles[i].dv == o->dv && tiles[i].f8 == is_f8(o))
            return &tiles[i];
    return NULL;
}

static size_t workspace(const void *settled)
{
    return ((const sett_attention_options *)settled)->dynamic ? NEXT_INTS * sizeof(int32_t) : 0;
}

enum { BARRIERS = 2048 /* bytes of shared memory, of mbarriers, slots and what alignment takes */, MOST_STAGES = 8 };

static int stage_bytes(const sett_attention_options *o)
{
    return sett__bytes_of(o->dtype) * o->tuning.keys * (o->d + o->dv * (1 + is_f8(o)));
}

static int out_bytes(const sett_attention_options *o)
{
    return sett__bytes_of(o->out) * o->tuning.rows * o->dv;
}

/* O may lie where Q was, if that is as large. */
static int least_bytes(const sett_attention_options *o)
{
    const int query = sett__bytes_of(o->dtype) * o->tuning.rows * o->d;
    return query + (out_bytes(o) > query ? out_bytes(o) : 0) + o->tuning.stages * stage_bytes(o) + BARRIERS;
}

/* Has O a place of its own, so that the next Q comes while it is stored? */
static bool has_own_out(const sett_attention_options *o)
{
    return is_f8(o) || least_bytes(o) + out_bytes(o) <= sett__device_of(90)->shared_memory_bytes;
}

/* Rows and keys, by the registers of a thread that multiplies: sums, S, P and what else there is. */
static void check_tile(const sett_attention_options *o, const device *d, choice *c)
{
    const sett_attention_tuning *tune = &o->tuning;
    const int of_weights = is_f8(o) ? 8 : 4, sums = tune->keys / 2 + tune->keys / of_weights + o->dv / 2, most = tune->rows > 128 ? 128 : 216, step = is_f8(o) ? 32 : 16;
    if (tune->arch == 80 ? tune->rows < WARP_ROWS || tune->rows > 128 || tune->rows % WARP_ROWS : tune->rows != 64 && tune->rows != 128 && tune->rows != 192)
        REFUSE(c, ".rows is %d: %s", tune->rows, tune->arch == 80 ? "a multiple of 16, up to 128" : "64, 128 or 192");
    if (tune->rows % heads_of(o))
        REFUSE(c, ".rows is %d: a multiple of .group %d", tune->rows, o->group);
    if (tune->keys < step || tune->keys > 256 || tune->keys % step)
        REFUSE(c, ".keys is %d: a multiple of %d, up to 256", tune->keys, step);
    if (sums > most)
        REFUSE(c, ".keys is %d: of .dv %d and .rows %d at most %d", tune->keys, o->dv, tune->rows, (most - o->dv / 2) * 2 * of_weights / (of_weights + 2) / step * step);
    sett__in_range(c, "stages", tune->stages, 2, MOST_STAGES);
    sett__in_range(c, "blocks", tune->blocks, 1, INT_MAX);
    if (!*c->why && least_bytes(o) > d->shared_memory_bytes)
        REFUSE(c, ".keys is %d: with .d %d, .rows %d and .stages %d more shared memory than a block has", tune->keys, o->d, tune->rows, tune->stages);
}

/* Where heads are packed, tiles may have few rows, and their time is that of keys to come: all stages that there is room for. */
static void choose_stages(sett_attention_options *o, const struct tile *x, const device *d)
{
    const int fit = o->tuning.keys > 0 && o->tuning.rows > 0 ? (d->shared_memory_bytes - least_bytes(o)) / stage_bytes(o) : 0;
    if (!o->tuning.stages)
        o->tuning.stages = o->group && fit > x->stages ? (fit < MOST_STAGES ? fit : MOST_STAGES) : x->stages;
}

/* Without masks and scores that take registers. */
static bool is_plain(const sett_attention_options *o)
{
    return !(o->exact || o->causal || o->window || o->softcap || o->alibi);
}

static void settle(void *options, choice *c)
{
    sett_attention_options *o = options;
    const device *d = sett__attention_device(c->sm);
    const struct { const char *name; int is; } flags[] = {{"exact", o->exact}, {"causal", o->causal}, {"window", o->window}, {"prefix", o->prefix}, {"softcap", o->softcap},
        {"alibi", o->alibi}, {"sinks", o->sinks}, {"lse", o->lse}, {"ragged", o->ragged}, {"scale", o->scale}, {"dynamic", o->dynamic}, {"scaled", o->scaled}};
    if (o->dtype != SETT_F16 && o->dtype != SETT_BF16 && !is_f8(o))
        REFUSE(c, ".dtype is %s: f16, bf16 or f8E4M3FN", o->dtype ? sett_dtype_name(o->dtype) : "not given");
    sett__attention_arch(c, &o->tuning.arch, "dtype", o->dtype);
    o->out = o->out ? o->out : is_f8(o) ? SETT_BF16 : o->dtype;
    if (is_f8(o) ? o->out != SETT_F16 && o->out != SETT_BF16 : o->out != o->dtype)
        REFUSE(c, ".out is %s: %s", sett_dtype_name(o->out), is_f8(o) ? "f16 or bf16" : "as .dtype");
    if (o->scaled && !is_f8(o))
        REFUSE(c, ".scaled is 1: .dtype is f8E4M3FN then, and not %s", sett_dtype_name(o->dtype));
    sett__either(&o->d, 128);
    sett__either(&o->dv, o->d);
    if (o->d != 64 && o->d != 96 && o->d != 128 && o->d != 192 && o->d != 256)
        REFUSE(c, ".d is %d: 64, 96, 128, 192 or 256", o->d);
    if (is_f8(o) && o->d != 64 && o->d != 128 && o->d != 256)
        REFUSE(c, ".d is %d: of f8E4M3FN 64, 128 or 256", o->d);
    const struct tile *x = tile_of(o);
    if (!x)
        REFUSE(c, ".dv is %d: with .d %d it is %s", o->dv, o->d, o->d == 192 ? "192 or 128" : "the same");
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        sett__in_range(c, flags[i].name, flags[i].is, 0, 1);
    sett__attention_check(c, o->page, o->prefix && o->window, o->softcap && o->alibi);
    const bool exact_cap = o->exact && o->softcap; /* its tanh takes many registers for each score */
    if (exact_cap && is_f8(o) && o->d == 256)
        REFUSE(c, ".exact is 1: of f8E4M3FN with .d 256 then .softcap is 0"); /* the least tile of keys would spill */
    if (o->group < 0 || o->group > GROUP_ROWS || (o->group & (o->group - 1)))
        REFUSE(c, ".group is %d: 0, or 1, 2, 4 ... 64, H / HK", o->group);
    if (*c->why)
        return;
    o->causal |= o->prefix;
    o->group = o->group > 1 ? o->group : 0;
    const bool many_pages = o->page == 16 && (o->window || o->exact), busy = x->rows > 2 * GROUP_ROWS && (many_pages || divides(o)); /* the thread that loads has 8 pages at hand, or divides by .page: beside three groups it has few registers */
    sett__either(&o->tuning.rows, exact_cap && (is_f8(o) || o->dv > 128 || !by_tma(o)) ? GROUP_ROWS : exact_cap || busy ? 2 * GROUP_ROWS : x->rows);
    sett__either(&o->tuning.keys, exact_cap ? (o->dv > 128 || !by_tma(o) ? 16 : 32) : o->exact && x->keys == 112 ? 80 : x->keys == 80 && !is_plain(o) ? 64 : x->keys); /* others spill */
    choose_stages(o, x, d);
    const bool uneven = (o->causal || o->window) && !o->dynamic; /* then the device deals the tiles, each to a block of its own: 1.10 to 1.15 times as fast on an H200 */
    sett__either(&o->tuning.blocks, uneven ? INT_MAX : sett__attention_blocks(d));
    check_tile(o, d, c);
}

/* ---- parameters --------------------------------------------------------------------------------------------- */
/* Rows, heads and batches lie anywhere, at multiples of symbols. */
sett_tensor *sett__attention_operand(sett_build *b, const char *name, sett_dtype type, sett_val *batch, sett_arg heads, sett_arg rows, int d, bool wide)
{
    sett_val *apart[3];
    for (int i = 0; i < 2 + !!batch; i++)
        apart[i] = sett_sym(b, (const char[]){'L', *name, (char)('0' + i), 0}, .div = 16 / sett__bytes_of(type), .wide = wide);
    if (!batch)
        return sett_select(sett_param(b, name, type, sett_make_layout(b, T(heads, rows, d), T(apart[0], apart[1], 1)), .align = 16), 1, 2, 0);
    return sett_select(sett_param(b, name, type, sett_make_layout(b, T(batch, heads, rows, d), T(apart[0], apart[1], apart[2], 1)), .align = 16), 2, 3, 1, 0);
}

/* ((group,rows),d,HK,batch) of (rows,d,heads,batch), or both without batch. */
static sett_tensor *packed_heads(const sett_attention_options *o, sett_tensor *x)
{
    if (!o->group)
        return x;
    const bool flat = sett_rank(x) == 3;
    x = sett_flatten(flat ? sett_logical_divide(x, T(ALL, ALL, o->group)) : sett_logical_divide(x, T(ALL, ALL, o->group, ALL))); /* (rows,d,group,HK,batch) */
    return sett_group_modes(flat ? sett_select(x, 2, 0, 1, 3) : sett_select(x, 2, 0, 1, 3, 4), 0, 2);
}

sett_tensor *sett__attention_rows(const attention_parts *t, const attention_work *w, sett_tensor *of, sett_val *row)
{
    const int heads = heads_of(t->o);
    sett_val *column = sett_floordiv(w->head, heads), *query = sett_add(w->first_row, sett_floordiv(row, heads));
    sett_tensor *rows = t->offsets ? sett_slice(of, ALL, ALL, column) : sett_slice(of, ALL, ALL, column, w->request);
    return t->o->group ? sett_domain_offset(rows, T(0, query), 0) : sett_domain_offset(rows, query, 0);
}

sett_val *sett__attention_shared(sett_build *b, const attention_parts *t, sett_val *head)
{
    return sett_value(b, sett_divmod(head, sett_make_fast_divmod(b, t->group)).quotient);
}

sett_val *sett__attention_pair(const attention_parts *t, sett_val *rows)
{
    return has_pairs(t->o) ? sett_and(sett_le(sett_mul(rows, t->o->group), GROUP_ROWS), sett_eq(sett_mod(t->HK, 2), 0)) : NULL;
}

void sett__attention_own_work(const attention_parts *t, attention_work *w, sett_val *group)
{
    sett_val *pair = sett__attention_pair(t, w->rows), *second = pair ? sett_where(pair, group, 0) : NULL;
    if (!pair)
        return;
    w->head = sett_add(w->head, sett_mul(second, t->o->group));
    w->row = sett_sub(w->row, sett_mul(second, GROUP_ROWS));
}

sett_val *sett__attention_left(const attention_parts *t, const attention_work *w, sett_val *row)
{
    return sett_max(sett_sub(sett_mul(w->rows, heads_of(t->o)), row), 0);
}

static void logarithm(sett_build *b, attention_parts *t, sett_val *rows)
{
    sett_val *head = sett_sym(b, "LLSE0"), *next = t->offsets ? NULL : sett_sym(b, "LLSE1");
    t->lse = sett_param(b, "LSE", SETT_F32, t->offsets ? sett_make_layout(b, T(t->H, rows), T(head, 1)) : sett_make_layout(b, T(t->B, t->H, rows), T(head, next, 1)));
}

static void params(sett_build *b, attention_parts *t, sett_tensor *x[4])
{
    const sett_attention_options *o = t->o;
    sett_val *offsets = o->ragged ? sett_sym(b, "B1") : NULL; /* B + 1, as an extent of its own supplies it */
    t->B = offsets ? sett_sub(offsets, 1) : sett_sym(b, "B"), t->H = sett_sym(b, "H"), t->HK = sett_sym(b, "HK"), t->M = sett_sym(b, o->ragged ? "TQ" : "M");
    t->pool = o->page ? sett_sym(b, "P") : NULL;
    t->N = o->page ? NULL : sett_sym(b, o->ragged ? "TK" : "N");
    t->group = o->group ? SETT_A(o->group) : SETT_A(sett_floordiv(t->H, t->HK));
    t->columns = o->group ? t->HK : t->H;
    t->packed = sett_make_fast_divmod(b, heads_of(o));
    const sett_arg rows = SETT_A(t->M), keys = o->page ? SETT_A(o->page) : SETT_A(t->N);
    sett_val *requests = o->ragged ? NULL : t->B, *of_keys = o->page ? t->pool : requests;
    const bool wide = !by_tma(o);
    x[0] = sett__attention_operand(b, "Q", o->dtype, requests, SETT_A(t->H), rows, o->d, wide);
    x[1] = sett__attention_operand(b, "K", o->dtype, of_keys, SETT_A(t->HK), keys, o->d, wide);
    x[2] = sett__attention_operand(b, "V", o->dtype, of_keys, SETT_A(t->HK), keys, o->dv, wide);
    x[3] = sett__attention_operand(b, "O", o->out, requests, SETT_A(sett_mul(t->group, t->HK)), rows, o->dv, wide || o->ragged); /* so launches check that HK divides H, or that .group is H / HK; threads store where requests end */
    for (int i = 0; i < 4; i += 3)
        x[i] = packed_heads(o, x[i]);
    t->O = x[3];
    if (o->ragged)
        t->offsets = sett_param(b, "QOFFSETS", SETT_I32, sett_make_layout(b, T1(offsets)));
    t->source->params(b, t);
    sett__attention_mask_params(b, t);
    if (o->lse)
        logarithm(b, t, t->M);
    if (o->dynamic)
        t->next = sett_param(b, "NEXT", SETT_I32, sett_make_layout(b, T1(NEXT_INTS)));
}

/* ---- a block -------------------------------------------------------------------------------------------------- */
attention_operand sett__attention_ring(sett_build *b, const sett_attention_options *o, sett_tensor *from, int columns, bool across)
{
    const int keys = o->tuning.keys, box = sett__attention_box(o), n = o->tuning.stages;
    sett_tensor *turned = !across ? from : sett_rank(from) == 3 ? sett_select(from, 1, 0, 2) : sett_select(from, 1, 0, 2, 3);
    attention_operand x = {.all = turned, .columns = columns, .across = across};
    const sett_arg tile = across ? T(columns, box) : T(box, columns);
    const sett_major major = across ? SETT_MN_MAJOR : SETT_K_MAJOR;
    x.ring = sett_make_smem_tensor(b, o->dtype, across ? sett_smem_layout(b, o->dtype, major, columns, keys, n) : sett_smem_layout(b, o->dtype, major, keys, columns, n), 1024);
    if (by_tma(o)) {
        x.map = sett_make_tma(turned, .layout = sett_smem_layout(b, o->dtype, major, tile), .tile = tile, .empty = true);
        x.all = sett_tma_tensor(x.map);
    }
    return x;
}

sett_pipeline *sett__attention_pipe(sett_build *b, const sett_attention_options *o, int stages, int64_t bytes, sett_group readers)
{
    return by_tma(o) ? sett_pipeline_tma_async(b, .stages = stages, .tx_bytes = bytes, .consumers = readers, .defer_sync = true)
                     : sett_pipeline_cp_async(b, .stages = stages, .producers = SETT_THREADS(WARP), .consumers = readers, .defer_sync = true);
}

static attention_operand stages(sett_build *b, const attention_parts *t, sett_tensor *from, int columns, bool across, sett_group readers)
{
    const sett_attention_options *o = t->o;
    attention_operand x = sett__attention_ring(b, o, from, columns, across);
    x.pipe = sett__attention_pipe(b, o, o->tuning.stages, (int64_t)sett__bytes_of(o->dtype) * o->tuning.keys * columns, readers);
    return x;
}

/* Of fp8: V as products take it. */
static attention_operand turned(sett_build *b, const attention_parts *t)
{
    const sett_attention_options *o = t->o;
    attention_operand x = {.columns = o->dv, .across = true};
    x.ring = sett_make_smem_tensor(b, o->dtype, sett_smem_layout(b, o->dtype, SETT_K_MAJOR, o->dv, o->tuning.keys, o->tuning.stages), 1024);
    x.pipe = sett_pipeline_async(b, .stages = o->tuning.stages, .producers = SETT_WARPS(TURNING_WARPS), .consumers = SETT_WARP_GROUPS(groups_of(o)), .defer_sync = true);
    return x;
}

/* Of the ways in and out by TMA, which warp groups multiply between. */
static void boxes(sett_build *b, attention_parts *t, sett_tensor *const x[4])
{
    const sett_attention_options *o = t->o;
    const int rows = o->tuning.rows, box = query_box(o), panel = sett__attention_panel(o);
    sett_layout *of_out = sett_smem_layout(b, o->out, SETT_K_MAJOR, rows, o->dv);
    t->own_out = has_own_out(o);
    t->out = t->own_out ? sett_make_smem_tensor(b, o->out, of_out, 1024) : sett_smem_alias(t->q, o->out, of_out);
    t->tq = sett_make_tma(x[0], .layout = sett_smem_layout(b, o->dtype, SETT_K_MAJOR, box, o->d), .tile = T(box, o->d));
    t->to = sett_make_tma(x[3], .layout = sett_smem_layout(b, o->out, SETT_K_MAJOR, GROUP_ROWS, panel), .tile = T(GROUP_ROWS, panel));
}

static void places(sett_build *b, attention_parts *t, sett_tensor *const x[4])
{
    const sett_attention_options *o = t->o;
    const int rows = o->tuning.rows;
    const sett_group multiply = by_tma(o) ? SETT_WARP_GROUPS(groups_of(o)) : SETT_WARPS(rows / WARP_ROWS), turn = SETT_WARPS(TURNING_WARPS);
    t->q = sett_make_smem_tensor(b, o->dtype, sett_smem_layout(b, o->dtype, SETT_K_MAJOR, rows, o->d), 1024);
    t->in = x[0];
    if (by_tma(o))
        boxes(b, t, x);
    t->k = stages(b, t, x[1], o->d, false, multiply);
    t->v = stages(b, t, x[2], o->dv, !is_f8(o), is_f8(o) ? turn : multiply);
    t->vt = is_f8(o) ? turned(b, t) : t->v;
    t->slots = sett_make_smem_tensor(b, SETT_I32, T(ATTENTION_WORK_INTS + 1, WORK_STAGES), 16);
    t->query = sett__attention_pipe(b, o, 1, (int64_t)sett__bytes_of(o->dtype) * rows * o->d, multiply);
    t->work = sett_pipeline_async(b, .stages = WORK_STAGES, .producers = SETT_THREADS(1), .consumers = SETT_WARPS(multiply.count * multiply.threads / WARP + (is_f8(o) ? TURNING_WARPS : loads_apart(o)))); /* the last one: here threads meet */
}

/* By mma.sync: the last warp loads. */
static void run_warps(sett_build *b, const attention_parts *t)
{
    sett_val *warp = sett_make_warp_uniform(sett_warp_idx(b));
    sett_if (b, sett_eq(warp, t->o->tuning.rows / WARP_ROWS))
        sett__attention_produce(b, t);
    sett_else (b)
        sett__attention_consume_warps(b, t, warp);
}

static void run(sett_build *b, const attention_parts *t)
{
    const int groups = groups_of(t->o);
    static const int two[] = {40, 232}, paging[] = {56, 224}, turning[] = {72, 216}, three[] = {32, 160}; /* registers of a thread that loads, and of one that multiplies */
    const int *registers = groups == 1 ? NULL : groups == 3 ? three : is_f8(t->o) && (t->o->dv > 128 || t->o->ragged || t->o->page) ? turning : loads_apart(t->o) || (divides(t->o) && !is_f8(t->o)) ? paging : two; /* of one group there are enough */
    sett_val *warp = sett_make_warp_uniform(sett_warp_idx(b)), *group = sett_floordiv(warp, 4);
    sett_if (b, sett_ge(group, groups)) {
        if (registers)
            sett_setmaxregister_decrease(b, registers[0]);
        sett_if (b, sett_eq(warp, groups * 4))
            sett_if (b, sett_elect_one(b))
                sett__attention_produce(b, t);
        if (loads_apart(t->o))
            sett_if (b, sett_eq(warp, groups * 4 + 1))
                sett__attention_produce_values(b, t);
        if (is_f8(t->o))
            sett_if (b, sett_gt(warp, groups * 4))
                sett__attention_turn(b, t, sett_sub(warp, groups * 4 + 1));
    }
    sett_else (b) {
        if (registers)
            sett_setmaxregister_increase(b, registers[1]);
        sett__attention_consume(b, t, group);
    }
}

void sett_attention_with_at(sett_site site, sett_build *b, const sett_attention_options *user, const sett_attention_functions *given)
{
    static const char call[] = "sett_attention_with";
    sett_attention_options o;
    sett_tensor *x[4];
    if (!sett__kernel_options(b, &sett__attention, user, &o))
        return;
    const sett_attention_functions *own = sett__attention_own(site, b, call, given, &o);
    if (!own)
        return;
    attention_parts t = {.o = &o, .own = own, .site = site, .call = call, .packs = o.group, .source = o.page ? &sett__attention_paged : o.ragged ? &sett__attention_ragged : &sett__attention_in_order};
    params(b, &t, x);
    const int queries = o.tuning.rows / heads_of(&o); /* of a tile */
    const sett_arg high = o.ragged ? SETT_A(sett_add(sett_floordiv(t.M, queries), sett_min(t.B, t.M))) : SETT_A(sett_mul(sett_ceil_div(t.M, queries), SETT_A(t.B)));
    sett_grid(b, sett_min(sett_mul(high, SETT_A(t.columns)), SETT_A(o.tuning.blocks)));
    sett_block(b, by_tma(&o) ? (groups_of(&o) + 1) * GROUP : (o.tuning.rows / WARP_ROWS + 1) * WARP);
    if (!by_tma(&o))
        sett_min_blocks(b, 1); /* a second one would cost registers */
    places(b, &t, x);
    t.lane = by_tma(&o) ? NULL : sett_lane_idx(b);
    (by_tma(&o) ? sett__begin_by_tma : sett__begin)(b, o.no_pdl);
    (by_tma(&o) ? run : run_warps)(b, &t);
}

void sett_attention(sett_build *b, const void *user)
{
    sett_attention_with(b, user, NULL);
}

#define P(member_) SETT_FAMILY_PARAM(sett_attention_options, member_)
#define TUNED(member_) TUNING_PARAM(sett_attention_options, member_)
static const sett_family_param params_of[] = {P(dtype), P(no_pdl), P(d), P(exact), P(dv), P(causal), P(window), P(prefix), P(softcap), P(alibi), P(sinks), P(lse), P(ragged), P(page), P(scale), P(dynamic), P(out), P(scaled), P(group),
    TUNED(rows), TUNED(keys), TUNED(stages), TUNED(blocks), TUNED(arch)};
FAMILY_OF(attention, params_of, .least = "sm_80", .workspace = workspace);
