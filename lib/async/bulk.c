/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of stores, policies of L2, copies in bulk. */
#include "tma.h"

void sett_tma_store_commit_at(sett_site site, sett_build *b)
{
    b = sett__given(b, site, "sett_tma_store_commit");
    if (sett__in_kernel(b, site, "sett_tma_store_commit"))
        sett__record(b, site, &(sett__emit){.code = SETT__BULKCOMMIT});
}

void sett_tma_store_wait_at(sett_site site, sett_build *b, int pending, bool read)
{
    const char *func = read ? "sett_tma_store_wait_read" : "sett_tma_store_wait";
    b = sett__given(b, site, func);
    if (!sett__in_kernel(b, site, func))
        return;
    SETT__FAIL_IF(b, site, func, pending < 0 || pending > SETT__MAX_GROUPS, , SETT_E_RANGE, "%d groups, 0 to %d may stay under way", pending, SETT__MAX_GROUPS);
    sett__record(b, site, &(sett__emit){.code = SETT__BULKWAIT, .n_attrs = 2, .attrs = (const int32_t[]){pending, read}});
}

sett_val *sett_cache_policy_at(sett_site site, sett_build *b, sett_evict evict, int percent)
{
    b = sett__given(b, site, "sett_cache_policy");
    if (!sett__in_kernel(b, site, "sett_cache_policy"))
        return sett__poison_val(b);
    SETT__FAIL_IF(b, site, "sett_cache_policy", (unsigned)evict > SETT_EVICT_UNCHANGED, &b->poison->val, SETT_E_ARGUMENT, "%d is no kind of a policy", (int)evict);
    SETT__FAIL_IF(b, site, "sett_cache_policy", percent < 1 || percent > 100, &b->poison->val, SETT_E_RANGE, "%d of a hundred accesses: 1 to 100", percent);
    return sett__scalar_val(b, sett__record(b, site, &(sett__emit){.code = SETT__POLICY, .dtype = SETT_U64, .n = 1, .n_attrs = 2, .attrs = (const int32_t[]){(int32_t)evict, percent}}));
}
