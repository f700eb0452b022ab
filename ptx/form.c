/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of class FORM: which function lowers each, and what they share. */
#include "ptx.h"

static sett__lower_fn *const lower[SETT__N_CODES] = {
    [SETT__MMA] = sett__lower_mma,
    [SETT__LDMATRIX] = sett__lower_ldmatrix,
    [SETT__STMATRIX] = sett__lower_stmatrix,
    [SETT__MOVMATRIX] = sett__lower_movmatrix,
    [SETT__DP4A] = sett__lower_dp4a,
    [SETT__DESC] = sett__lower_desc,
    [SETT__WGMMA] = sett__lower_wgmma,
    [SETT__WGFENCE] = sett__lower_wgmma,
    [SETT__WGCOMMIT] = sett__lower_wgmma,
    [SETT__WGWAIT] = sett__lower_wgmma,
    [SETT__MBINIT] = sett__lower_mbarrier,
    [SETT__MBARRIVE] = sett__lower_mbarrier,
    [SETT__MBEXPECT] = sett__lower_mbarrier,
    [SETT__MBTRY] = sett__lower_mbarrier_wait,
    [SETT__MBTEST] = sett__lower_mbarrier_wait,
    [SETT__MBINVAL] = sett__lower_mbarrier_alone,
    [SETT__CPARRIVE] = sett__lower_mbarrier_alone,
    [SETT__CLUSTER_CTAID] = sett__lower_cluster_sreg,
    [SETT__CLUSTER_NCTAID] = sett__lower_cluster_sreg,
    [SETT__CLUSTERID] = sett__lower_cluster_sreg,
    [SETT__NCLUSTERID] = sett__lower_cluster_sreg,
    [SETT__CLUSTER_CTARANK] = sett__lower_cluster_sreg,
    [SETT__CLUSTER_NCTARANK] = sett__lower_cluster_sreg,
    [SETT__CLARRIVE] = sett__lower_cluster_barrier,
    [SETT__CLWAIT] = sett__lower_cluster_barrier,
    [SETT__PROXY] = sett__lower_proxy,
    [SETT__MBFENCE] = sett__lower_mbarrier_fence,
    [SETT__MAXNREG] = sett__lower_maxnreg,
    [SETT__TMAPAT] = sett__lower_map_at,
    [SETT__TMALOAD] = sett__lower_tma_load,
    [SETT__TMASTORE] = sett__lower_tma_store,
    [SETT__TMAREDUCE] = sett__lower_tma_store,
    [SETT__TMAFETCH] = sett__lower_tma_prefetch,
    [SETT__MAPFETCH] = sett__lower_map_prefetch,
    [SETT__BULKLOAD] = sett__lower_bulk_load,
    [SETT__BULKPEER] = sett__lower_bulk_peer,
    [SETT__BULKSTORE] = sett__lower_bulk_store,
    [SETT__BULKREDUCE] = sett__lower_bulk_store,
    [SETT__BULKCOMMIT] = sett__lower_bulk_group,
    [SETT__BULKWAIT] = sett__lower_bulk_group,
    [SETT__POLICY] = sett__lower_policy,
    [SETT__MAPREPLACE] = sett__lower_map_replace,
    [SETT__MAPCOPY] = sett__lower_map_copy,
    [SETT__STASYNC] = sett__lower_store_async,
};

void sett__lower_form(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    if (lower[op->code])
        lower[op->code](l, op, out);
    else
        sett__lower_fail(l, SETT_E_INTERNAL, "nothing lowers %s", sett__ops[op->code].text);
}

LLVMValueRef sett__ir_form_place(sett__lower *l, const sett__op *op, int k)
{
    sett__form f = sett__form_of(op->code);
    while (sett__form_next(&f) && f.k < (uint32_t)k)
        ;
    LLVMTypeRef element = sett__ir_mem_type(l, sett__arg_of(l, op, k)->dtype);
    return sett__ir_place(l, op, k, element, sett__form_offset(l->tape->arg, op, f.place));
}
