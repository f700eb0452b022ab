/* SPDX-License-Identifier: Apache-2.0 */
/* Clusters of blocks, their shared memory, and what a launch is told of registers. */
#include "async.h"

/* ---- the launch ------------------------------------------------------------------------------- */
int64_t sett__cluster_size(const sett_build *b)
{
    int64_t n = 1;
    for (int d = 0; d < 3; d++)
        n *= b->cluster[d] ? b->cluster[d]->hi : 1;
    return n;
}

/* Extents from 1 on that are static. */
static bool check_extents(const sett__ctx *c, sett_arg a)
{
    int64_t n = 1;
    SETT__FAIL_IF(c->b, c->site, c->func, !sett__is_static(a), false, SETT_E_STATIC, "the cluster %s is not static: its extents are C integers", sett__arg_text(c->b, a));
    for (int i = 0; i < sett__arity(a); i++) {
        const sett_arg x = sett__kid(a, i);
        SETT__FAIL_IF(c->b, c->site, c->func, !sett__is_number(x) || x.u.i < 1 || x.u.i > SETT__BIG_CLUSTER_MOST || (n *= x.u.i) > SETT__BIG_CLUSTER_MOST, false, SETT_E_LIMIT,
            "a cluster of %s blocks: 1 to %d in all", sett__arg_text(c->b, a), SETT__BIG_CLUSTER_MOST);
    }
    return true;
}

void sett_cluster_at(sett_site site, sett_build *b, sett_arg a)
{
    enum { MOST = SETT__BIG_CLUSTER_MOST };
    b = sett__given(b, site, "sett_cluster");
    const sett__ctx c = {b, site, "sett_cluster"};
    if (!sett__in_kernel(b, site, c.func) || !sett__use_arg(b, site, c.func, a) || !check_extents(&c, a) ||
        !sett__launch_shape(&c, a, (const int64_t[]){MOST, MOST, MOST}, b->sig.cluster, b->cluster, &b->said[2]))
        return;
    b->sig.big_cluster = sett__cluster_size(b) > SETT__CLUSTER_MOST;
    sett__check_clusters(&c);
}

void sett_launch_hint_at(sett_site site, sett_build *b, const char *func, sett_launch_hint which, int64_t n)
{
    enum { REGISTERS = 255, BLOCKS = 32 };
    b = sett__given(b, site, func);
    if (!sett__in_kernel(b, site, func))
        return;
    const int64_t most = which == SETT_MAX_REGISTERS ? REGISTERS : BLOCKS;
    SETT__FAIL_IF(b, site, func, n < 1 || n > most, , SETT_E_RANGE, "%lld is not 1 to %lld", (long long)n, (long long)most);
    if (which == SETT_COOPERATIVE)
        b->sig.cooperative = 1;
    else
        *(which == SETT_MIN_BLOCKS ? &b->sig.min_blocks : &b->sig.max_registers) = (uint16_t)n;
}

void sett_setmaxregister_at(sett_site site, sett_build *b, const char *func, bool increase, int64_t n)
{
    enum { LEAST = 24, MOST = 256, STEP = 8 };
    b = sett__given(b, site, func);
    if (!sett__in_kernel(b, site, func))
        return;
    SETT__FAIL_IF(b, site, func, n < LEAST || n > MOST || n % STEP, , SETT_E_RANGE, "%lld registers: a multiple of %d from %d to %d", (long long)n, STEP, LEAST, MOST);
    if (!b->sig.max_registers && !b->sig.min_blocks)
        b->sig.min_blocks = 1; /* what a thread has at its entry must be known */
    sett__record(b, site, &(sett__emit){.code = SETT__MAXNREG, .n_attrs = 2, .attrs = (const int32_t[]){!increase, (int32_t)n}});
}

/* ---- who a block is ----------------------------------------------------------------------------- */
/* False: the kernel has no cluster yet, and the build has failed. */
static bool has_cluster(const sett__ctx *c)
{
    if (!sett__in_kernel(c->b, c->site, c->func))
        return false;
    SETT__FAIL_IF(c->b, c->site, c->func, !c->b->cluster[0], false, SETT_E_ARGUMENT, "the cluster was not said before: sett_cluster(b, ...), of 1 if there is none");
    return true;
}

sett_val *sett_cluster_id_at(sett_site site, sett_build *b, const char *func, sett_cluster_id which, int dim)
{
    static const sett__code code[] = {SETT__CLUSTERID, SETT__NCLUSTERID, SETT__CLUSTER_CTAID, SETT__CLUSTER_NCTAID, SETT__CLUSTER_CTARANK, SETT__CLUSTER_NCTARANK};
    b = sett__given(b, site, func);
    const sett__ctx c = {b, site, func};
    if (!has_cluster(&c))
        return sett__poison_val(b);
    SETT__FAIL_IF(b, site, func, (unsigned)which >= SETT__COUNT(code), &b->poison->val, SETT_E_ARGUMENT, "%d is no id of a cluster", (int)which);
    SETT__FAIL_IF(b, site, func, dim < 0 || dim > 2, &b->poison->val, SETT_E_RANGE, "dim is %d, it may be 0, 1 or 2", dim);
    const int n_attrs = which < SETT_BLOCK_IDX_IN_CLUSTER;
    sett_val *v = sett__scalar_val(b, sett__record(b, site, &(sett__emit){.code = code[which], .dtype = SETT_I32, .n = 1, .n_attrs = (uint8_t)n_attrs, .attrs = &dim}));
    bool known = !b->error.status && v->lo == v->hi && !b->no_fold;
    return known ? sett__const_bits(b, site, SETT_I32, (uint64_t)v->lo) : v;
}

/* ---- meeting -------------------------------------------------------------------------------------- */
void sett__arrive_cluster(const sett__ctx *c, bool relaxed)
{
    sett__record(c->b, c->site, &(sett__emit){.code = SETT__CLARRIVE, .n_attrs = 1, .attrs = &(const int32_t){relaxed}});
}

void sett_cluster_step_at(sett_site site, sett_build *b, const char *func, sett_cluster_step step)
{
    b = sett__given(b, site, func);
    const sett__ctx c = {b, site, func};
    if (!has_cluster(&c))
        return;
    if (step == SETT_CLUSTER_SYNC && sett__cluster_size(b) == 1) { /* for older targets too */
        sett_sync_threads_at(site, b);
        return;
    }
    if (step != SETT_CLUSTER_WAIT)
        sett__arrive_cluster(&c, step == SETT_CLUSTER_ARRIVE_RELAXED);
    if (step == SETT_CLUSTER_WAIT || step == SETT_CLUSTER_SYNC)
        sett__meet_cluster(&c);
}

void sett__meet_cluster(const sett__ctx *c)
{
    sett__record(c->b, c->site, &(sett__emit){.code = SETT__CLWAIT});
    for (sett__due *d = c->b->depth ? NULL : sett__async_of(c->b)->dues; d; d = d->older)
        d->done = true;
}

/* ---- a peer's memory -------------------------------------------------------------------------------- */
sett_tensor *sett_map_dsmem_at(sett_site site, const sett_tensor *t, sett_arg rank)
{
    const sett__ctx c = {SETT__HOME_OR(t, sett__build_of(rank)), site, "sett_map_dsmem"};
    if (!sett__use_tensor(c.b, site, c.func, t) || !sett__use_arg(c.b, site, c.func, rank) || !has_cluster(&c))
        return c.b ? &c.b->poison->tensor : NULL;
    sett_tensor *poison = &c.b->poison->tensor;
    SETT__FAIL_IF(c.b, site, c.func, t->space != SETT_SMEM, poison, SETT_E_SPACE, "%s is not in shared memory: a peer's is reached by the tensor of the block's own", sett__tensor_text(c.b, t));
    const int64_t blocks = sett__cluster_size(c.b);
    SETT__FAIL_IF(c.b, site, c.func, rank.kind == SETT_INT && (rank.u.i < 0 || rank.u.i >= blocks), poison, SETT_E_RANGE, "rank %lld: the cluster has %lld blocks", (long long)rank.u.i,
        (long long)blocks);
    uint32_t args[2] = {t->root, 0};
    if (!sett__int_operand(&c, rank, "the rank", &args[1]))
        return poison;
    const sett__op *root = &c.b->op[t->root];
    sett_tensor *r = sett__view(t, t->layout, t->offset);
    r->space = SETT_DSMEM;
    r->root = sett__record(c.b, site, &(sett__emit){.code = SETT__PEER, .dtype = (sett_dtype)root->dtype, .n = root->n, .n_args = 2, .args = args});
    return c.b->error.status ? poison : r;
}

/* ---- fences ------------------------------------------------------------------------------------------ */
void sett_fence_proxy_at(sett_site site, sett_build *b, sett_proxy kind)
{
    const uint32_t no_map[2] = {SETT__NONE, SETT__NONE};
    b = sett__given(b, site, "sett_fence_proxy");
    if (!sett__in_kernel(b, site, "sett_fence_proxy"))
        return;
    SETT__FAIL_IF(b, site, "sett_fence_proxy", kind < SETT_PROXY_ASYNC || kind > SETT_PROXY_ASYNC_GLOBAL, , SETT_E_ARGUMENT, "%d is no kind of a fence", (int)kind);
    sett__record(b, site, &(sett__emit){.code = SETT__PROXY, .n_args = 2, .args = no_map, .n_attrs = 1, .attrs = &(const int32_t){(int32_t)kind}});
}

void sett_fence_mbarrier_init_at(sett_site site, sett_build *b)
{
    b = sett__given(b, site, "sett_fence_mbarrier_init");
    if (sett__in_kernel(b, site, "sett_fence_mbarrier_init"))
        sett__record(b, site, &(sett__emit){.code = SETT__MBFENCE});
}
