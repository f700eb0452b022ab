/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines: their mbarriers, who arrives at them, and to which blocks of a cluster a stage is released. */
#include "async.h"

const char *const sett__pipeline_name[] = {"sett_pipeline_async", "sett_pipeline_cp_async", "sett_pipeline_tma_async", "sett_pipeline_tma_store", "sett_pipeline_order"};

bool sett__use_async(sett__ctx *c, const sett__head *head, sett__kind kind)
{
    c->b = c->b ? c->b : sett__home(head);
    return sett__use_object(c->b, c->site, c->func, head, kind) && sett__in_kernel(c->b, c->site, c->func);
}

/* ---- arithmetic on numbers that are known, or not ------------------------------------------------------- */
static sett_arg op(const sett__ctx *c, sett_binary_op what, sett_arg x, sett_arg y)
{
    return sett_arg_v(sett_binary_at(c->site, c->func, what, x, y));
}

/* ---- blocks of a cluster -------------------------------------------------------------------------------- */
enum { LEAVES = 8, MODES = 3 };
typedef struct ranks { /* of the cluster's layout: its leaves, and the mode of each */
    int n, mode[LEAVES];
    int64_t extent[LEAVES], stride[LEAVES];
} ranks;

static bool add_leaves(const sett__ctx *c, ranks *r, int mode, sett_arg shape, sett_arg stride)
{
    if (shape.kind == SETT_NODE) {
        for (int i = 0; i < shape.rank; i++)
            if (!add_leaves(c, r, mode, shape.u.kid[i], stride.u.kid[i]))
                return false;
        return true;
    }
    SETT__FAIL_IF(c->b, c->site, c->func, r->n == LEAVES || !sett__is_number(shape) || !sett__is_number(stride) || stride.u.i < 0, false, SETT_E_STATIC,
        ".cluster_layout is no static layout of ranks, of up to %d modes", LEAVES);
    r->mode[r->n] = mode;
    r->extent[r->n] = shape.u.i;
    r->stride[r->n++] = stride.u.i;
    return true;
}

static bool take_ranks(const sett__ctx *c, const sett_layout *l, ranks *r)
{
    int64_t size = 1;
    *r = (ranks){0};
    for (int d = 0; d < 3 && !l; d++) {
        const int64_t extent = c->b->cluster[d] ? c->b->cluster[d]->hi : 1;
        r->mode[r->n] = d, r->extent[r->n] = extent, r->stride[r->n++] = size;
        size *= extent;
    }
    if (!l)
        return true;
    for (int i = 0; i < sett__arity(l->shape); i++)
        if (!add_leaves(c, r, i, sett__kid(l->shape, i), sett__kid(l->stride, i)))
            return false;
    for (int i = 0; i < r->n; i++)
        size *= r->extent[i];
    SETT__FAIL_IF(c->b, c->site, c->func, size != sett__cluster_size(c->b), false, SETT_E_SHAPE, ".cluster_layout %s has %lld ranks, and the cluster %lld blocks", sett__layout_text(c->b, l),
        (long long)size, (long long)sett__cluster_size(c->b));
    return true;
}

/* The ranks along one mode from its first block on, as bits. */
static uint32_t along(const ranks *r, int mode)
{
    uint32_t bits = 1;
    for (int i = 0; i < r->n; i++)
        for (int64_t k = 1, one = r->mode[i] == mode ? bits : 0; one && k < r->extent[i]; k++)
            bits |= (uint32_t)one << (k * r->stride[i]);
    return bits;
}

int sett__pipeline_targets(const sett__ctx *c, const sett_pipeline *p)
{
    ranks r;
    int n = 1;
    if (!take_ranks(c, p->cluster, &r))
        return 0;
    for (int m = 0; m < 32; m++)
        n += p->modes >> m & 1 ? __builtin_popcount(along(&r, m)) - 1 : 0;
    SETT__FAIL_IF(c->b, c->site, c->func, p->modes && n == 1, 0, SETT_E_ARGUMENT, ".multicast = %u names no mode along which the cluster has more than one block", p->modes);
    return n;
}

/* The blocks that differ from this one in a multicast mode alone, itself too, as bits of an Int32; 0: all. */
static sett_arg target_mask(const sett__ctx *c, const sett_pipeline *p, const ranks *r, sett_arg rank)
{
    sett_arg mask = sett_arg_i(0);
    if (p->targets == sett__cluster_size(c->b))
        return mask;
    for (int m = 0; m < 32; m++) {
        if (!(p->modes >> m & 1))
            continue;
        sett_arg first = rank; /* the rank of the mode's first block */
        for (int i = 0; i < r->n; i++)
            if (r->mode[i] == m && r->extent[i] > 1) {
                const sett_arg stride = sett_arg_i(r->stride[i]);
                const sett_arg at = op(c, SETT_MOD, op(c, SETT_FLOORDIV, rank, stride), sett_arg_i(r->extent[i]));
                first = op(c, SETT_SUB, first, op(c, SETT_MUL, at, stride));
            }
        mask = op(c, SETT_OR, mask, op(c, SETT_SHL, sett_arg_v(sett__const_bits(c->b, c->site, SETT_I32, along(r, m))), first));
    }
    return mask;
}

/* ---- who arrives, and where -------------------------------------------------------------------------------- */
/* The thread's number in its group. */
static sett_arg place_in_group(const sett__ctx *c, int threads)
{
    if (threads == SETT__WARP)
        return sett_arg_v(sett__lane_idx(c->site, c->b, c->func));
    return op(c, SETT_MOD, sett_arg_v(sett__thread_number(c->site, c->b, c->func)), sett_arg_i(threads));
}

bool sett__pick_arrivals(const sett__ctx *c, sett_pipeline_state *s)
{
    const sett_pipeline *p = s->pipe;
    const int side = s->side == SETT__EMPTY ? SETT__EMPTY : SETT__FULL;
    const sett_group *g = &p->group[side];
    s->at = p->bar[side];
    if (p->to[side])
        s->at = sett_map_dsmem_at(c->site, s->at, sett_arg_v(p->to[side]));
    if (g->threads == 1)
        return !c->b->error.status;
    const sett_arg place = place_in_group(c, g->threads);
    if (side == SETT__FULL || p->targets == 1) {
        s->arrives = sett_binary_at(c->site, c->func, SETT_EQ, place, sett_arg_i(0));
        return !c->b->error.status;
    }
    const int64_t blocks = sett__cluster_size(c->b);
    ranks r;
    if (!take_ranks(c, p->cluster, &r))
        return false;
    s->arrives = sett_binary_at(c->site, c->func, SETT_LT, place, sett_arg_i(blocks));
    sett_arg own = sett_arg_v(sett_cluster_id_at(c->site, c->b, c->func, SETT_BLOCK_IDX_IN_CLUSTER, 0)), mask = target_mask(c, p, &r, own);
    sett_arg rank = op(c, SETT_MOD, place, sett_arg_i(blocks));
    if (mask.kind == SETT_VALUE) {
        sett_arg bit = op(c, SETT_AND, op(c, SETT_SHR, mask, rank), sett_arg_i(1));
        s->arrives = sett_binary_at(c->site, c->func, SETT_AND, sett_arg_v(s->arrives), op(c, SETT_NE, bit, sett_arg_i(0)));
    }
    s->at = sett_map_dsmem_at(c->site, s->at, rank);
    return !c->b->error.status;
}

/* ---- making one ------------------------------------------------------------------------------------------------ */
enum { MOST_STAGES = 64, MOST_TURNS = 16, MOST_BYTES = (1 << 20) - 1 };

static bool check_group(const sett__ctx *c, const sett_group *g, const char *what, bool wanted)
{
    SETT__FAIL_IF(c->b, c->site, c->func, !wanted && (g->count || g->threads), false, SETT_E_ARGUMENT, "it has no .%s", what);
    SETT__FAIL_IF(c->b, c->site, c->func, wanted && !g->count, false, SETT_E_ARGUMENT, "who arrives? .%s = SETT_THREADS(n), SETT_WARPS(n) or SETT_WARP_GROUPS(n)", what);
    const bool fine = g->threads == 1 || g->threads == SETT__WARP || g->threads == SETT__WARP_GROUP;
    SETT__FAIL_IF(c->b, c->site, c->func, wanted && (!fine || g->count < 1 || (int64_t)g->count * g->threads > 1024), false, SETT_E_RANGE,
        ".%s is %d times %d threads: 1 to 1024 threads, in units of 1, 32 or 128", what, g->count, g->threads);
    return true;
}

static bool check_rank(const sett__ctx *c, const sett_val *v, const char *what, bool allowed)
{
    if (v && !sett__need_scalar(c, v, "the rank", false))
        return false;
    SETT__FAIL_IF(c->b, c->site, c->func, v && !allowed, false, SETT_E_ARGUMENT, ".%s is for sett_pipeline_async", what);
    return true;
}

static bool check(const sett__ctx *c, const sett_pipeline_args *a, sett_pipeline_kind kind)
{
    sett_build *b = c->b;
    const bool tma = kind == SETT_PIPELINE_TMA_ASYNC, store = kind == SETT_PIPELINE_TMA_STORE, plain = kind == SETT_PIPELINE_ASYNC, order = kind == SETT_PIPELINE_ORDER;
    if ((a->cluster_layout && !sett__use_layout(b, c->site, c->func, a->cluster_layout)) || !check_rank(c, a->commit_to, "commit_to", plain) ||
        !check_rank(c, a->release_to, "release_to", plain))
        return false;
    SETT__FAIL_IF(b, c->site, c->func, a->stages < 1 || a->stages > MOST_STAGES, false, SETT_E_RANGE, ".stages is %d: 1 to %d", a->stages, MOST_STAGES);
    if (!check_group(c, &a->producers, "producers", !tma && !store) || !check_group(c, &a->consumers, "consumers", !store && !order))
        return false;
    SETT__FAIL_IF(b, c->site, c->func, order ? a->turns < 2 || a->turns > MOST_TURNS : a->turns != 0, false, SETT_E_RANGE, ".turns is %d: 2 to %d, of sett_pipeline_order alone", a->turns,
        MOST_TURNS);
    SETT__FAIL_IF(b, c->site, c->func, kind == SETT_PIPELINE_CP_ASYNC && a->producers.threads != 1, false, SETT_E_ARGUMENT,
        ".producers: each thread that copies arrives for its own copies, SETT_THREADS(n)");
    SETT__FAIL_IF(b, c->site, c->func, (plain || order) && a->producers.threads == SETT__WARP_GROUP, false, SETT_E_ARGUMENT,
        ".producers: the threads of a warp group have not met when one of them arrives: SETT_WARPS or SETT_THREADS");
    SETT__FAIL_IF(b, c->site, c->func, tma && (a->tx_bytes < 1 || a->tx_bytes > MOST_BYTES), false, SETT_E_RANGE, ".tx_bytes is %lld: the bytes of all copies to a stage, 1 to %d",
        (long long)a->tx_bytes, MOST_BYTES);
    SETT__FAIL_IF(b, c->site, c->func, !tma && (a->tx_bytes || a->multicast || a->cluster_layout), false, SETT_E_ARGUMENT,
        ".tx_bytes, .multicast and .cluster_layout are for sett_pipeline_tma_async");
    SETT__FAIL_IF(b, c->site, c->func, a->multicast && a->consumers.threads == 1, false, SETT_E_ARGUMENT,
        ".consumers: a stage that several blocks write is released by SETT_WARPS or SETT_WARP_GROUPS, a thread for each block");
    return true;
}

/* One thread initialises the mbarriers. */
static void initialise(const sett__ctx *c, const sett_pipeline *p)
{
    const int counts[2] = {p->kind == SETT_PIPELINE_TMA_ASYNC ? 1 : p->group[SETT__FULL].count, p->group[SETT__EMPTY].count * p->targets};
    sett_val *number = sett__thread_number(c->site, c->b, c->func);
    sett_region r = sett_if_begin(c->site, c->b, sett_binary_at(c->site, c->func, SETT_EQ, sett_arg_v(number), sett_arg_i(0)));
    for (int side = 0; side < 2 && p->bar[side]; side++)
        for (int i = 0; i < p->stages * p->turns && !c->b->error.status; i++) {
            const uint32_t args[3] = {p->bar[side]->root, SETT__NONE, sett__const_bits(c->b, c->site, SETT_I32, (uint64_t)counts[side])->id};
            sett__record(c->b, c->site, &(sett__emit){.code = SETT__MBINIT, .imm = i, .n_args = 3, .args = args});
        }
    if (p->kind == SETT_PIPELINE_TMA_ASYNC || sett__cluster_size(c->b) > 1)
        sett__record(c->b, c->site, &(sett__emit){.code = SETT__MBFENCE});
    r.done = true;
    sett_region_end(&r);
}

static void meet(const sett__ctx *c, bool arrives, bool waits)
{
    if (sett__cluster_size(c->b) == 1) {
        if (waits)
            sett_sync_threads_at(c->site, c->b);
        return;
    }
    if (arrives)
        sett_sync_warp_at(c->site, c->b);
    if (arrives)
        sett__arrive_cluster(c, false);
    if (waits)
        sett__meet_cluster(c);
}

static void *poison_of(sett_build *b)
{
    return b ? &b->poison->atom : NULL;
}

sett_pipeline *sett_pipeline_at(sett_site site, sett_build *b, sett_pipeline_kind kind, const sett_pipeline_args *given)
{
    const bool known = kind >= SETT_PIPELINE_ASYNC && kind <= SETT_PIPELINE_ORDER;
    sett__ctx c = {NULL, site, known ? sett__pipeline_name[kind] : "sett_pipeline"};
    sett_pipeline_args a;
    c.b = b = sett__given(b, site, c.func);
    if (!sett__in_kernel(b, site, c.func) || !sett__take_args(&c, &a, sizeof a, given) || !check(&c, &a, kind))
        return poison_of(b);
    sett_pipeline *p = sett__new_object(b, SETT__K_PIPELINE, sizeof *p);
    const sett__head head = p->head;
    *p = (sett_pipeline){.head = head, .kind = (uint8_t)kind, .relaxed = a.relaxed, .stages = a.stages, .turns = a.turns ? a.turns : 1, .targets = 1, .group = {a.producers, a.consumers}, .tx_bytes = a.tx_bytes,
        .to = {a.commit_to, a.release_to}, .modes = a.multicast, .cluster = a.cluster_layout, .site = sett__site(b, site)};
    if (a.multicast && !(p->targets = sett__pipeline_targets(&c, p)))
        return poison_of(b);
    if (kind == SETT_PIPELINE_TMA_STORE)
        return b->error.status ? poison_of(b) : p;
    p->bar[SETT__FULL] = sett__make_mbarriers(&c, (int64_t)p->stages * p->turns, a.turns ? "turns" : "full");
    if (!a.turns)
        p->bar[SETT__EMPTY] = sett__make_mbarriers(&c, p->stages, "empty");
    if (!b->error.status)
        initialise(&c, p);
    if (!a.defer_sync && !b->error.status)
        meet(&c, true, true);
    return b->error.status ? poison_of(b) : p;
}

void sett_pipeline_init_at(sett_site site, sett_build *b, bool wait)
{
    const sett__ctx c = {sett__given(b, site, wait ? "sett_pipeline_init_wait" : "sett_pipeline_init_arrive"), site, wait ? "sett_pipeline_init_wait" : "sett_pipeline_init_arrive"};
    if (sett__in_kernel(c.b, site, c.func))
        meet(&c, !wait, wait);
}
