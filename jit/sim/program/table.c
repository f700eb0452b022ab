/* SPDX-License-Identifier: Apache-2.0 */
/* Which function carries an instruction out. */
#include "program.h"

/* Operations of class FORM. */
static const sett__run_fn of_form[SETT__N_CODES] = {
    [SETT__MMA] = sett__mma_run,
    [SETT__LDMATRIX] = sett__ldmatrix,
    [SETT__STMATRIX] = sett__stmatrix,
    [SETT__MOVMATRIX] = sett__movmatrix,
    [SETT__DP4A] = sett__dp4a,
    [SETT__DESC] = sett__desc,
    [SETT__WGMMA] = sett__wgmma,
    [SETT__WGFENCE] = sett__wgmma_fence,
    [SETT__WGCOMMIT] = sett__wgmma_commit,
    [SETT__WGWAIT] = sett__wgmma_wait,
    [SETT__MBINIT] = sett__mbarrier_init,
    [SETT__MBINVAL] = sett__mbarrier_init,
    [SETT__MBARRIVE] = sett__mbarrier_arrive,
    [SETT__MBEXPECT] = sett__mbarrier_arrive,
    [SETT__MBTRY] = sett__mbarrier_wait,
    [SETT__MBTEST] = sett__mbarrier_wait,
    [SETT__CPARRIVE] = sett__cp_arrive,
    [SETT__CLUSTER_CTAID] = sett__cluster_register,
    [SETT__CLUSTER_NCTAID] = sett__cluster_register,
    [SETT__CLUSTERID] = sett__cluster_register,
    [SETT__NCLUSTERID] = sett__cluster_register,
    [SETT__CLUSTER_CTARANK] = sett__cluster_register,
    [SETT__CLUSTER_NCTARANK] = sett__cluster_register,
    [SETT__CLARRIVE] = sett__cluster_arrive,
    [SETT__CLWAIT] = sett__cluster_wait,
    [SETT__PROXY] = sett__proxy_fence,
    [SETT__MBFENCE] = sett__mbarrier_fence,
    [SETT__MAXNREG] = sett__set_registers,
    [SETT__TMAPAT] = sett__map_address,
    [SETT__TMALOAD] = sett__tma_load,
    [SETT__TMASTORE] = sett__tma_store,
    [SETT__TMAREDUCE] = sett__tma_store,
    [SETT__TMAFETCH] = sett__tma_prefetch,
    [SETT__MAPFETCH] = sett__tma_prefetch,
    [SETT__BULKLOAD] = sett__bulk_load,
    [SETT__BULKPEER] = sett__bulk_load,
    [SETT__BULKSTORE] = sett__bulk_store,
    [SETT__BULKREDUCE] = sett__bulk_store,
    [SETT__BULKCOMMIT] = sett__bulk_commit,
    [SETT__BULKWAIT] = sett__bulk_wait,
    [SETT__POLICY] = sett__policy,
    [SETT__MAPREPLACE] = sett__map_write,
    [SETT__MAPCOPY] = sett__map_write,
    [SETT__STASYNC] = sett__store_async,
};

bool sett__runs(uint8_t code)
{
    return of_form[code];
}

sett__run_fn sett__run_of(const sett__program *p, const sett__insn *i)
{
    const sett__run_fn told = sett__told_step(p, i);
    return i->step == SETT__S_FORM ? of_form[p->given->op[i->op].code] : told ? told : sett__steps[i->step];
}
