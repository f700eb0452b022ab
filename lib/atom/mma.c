/* SPDX-License-Identifier: Apache-2.0 */
/* The families of matrix products, by kind, and the calls that make an atom and tell of it. */
#include "inside.h"

const sett__mma_family *const sett__mma_families[] = {
    [SETT_MMA_SYNC] = &sett__family_mma_sync,
    [SETT_MMA_WGMMA] = &sett__family_wgmma,
    [SETT_MMA_UNIVERSAL] = &sett__family_universal,
    [SETT_MMA_DP4A] = &sett__family_dp4a,
};
enum { N_FAMILIES = SETT__COUNT(sett__mma_families) };

sett_mma_atom *sett_mma_atom_at(sett_site site, sett_build *b, sett_mma_kind kind, const sett_mma_args *given)
{
    const char *func = (unsigned)kind < N_FAMILIES ? sett__mma_families[kind]->func : "sett_mma_atom";
    b = sett__given(b, site, func);
    const sett__ctx c = {b, site, func};
    sett_mma_args a;
    if (!b)
        return NULL;
    if (b->error.status || !sett__take_args(&c, &a, sizeof a, given))
        return sett__poison_atom(b);
    SETT__FAIL_IF(b, site, func, (unsigned)kind >= N_FAMILIES, sett__poison_atom(b), SETT_E_ARGUMENT, "%d is no kind of product", (int)kind);
    sett_mma_atom *r = sett__mma_families[kind]->atom(&c, &a);
    if (!r)
        return sett__poison_atom(b);
    r->kind = (uint8_t)kind;
    return r;
}

sett_mma_traits sett_mma_atom_traits_at(sett_site site, const sett_mma_atom *a)
{
    sett__ctx c = {NULL, site, "sett_mma_atom_traits"};
    if (!sett__use_atom(&c, (const sett__head *)a, SETT__K_MMA_ATOM)) {
        sett_layout *bad = c.b ? sett__poison_layout(c.b) : NULL;
        return (sett_mma_traits){sett__poison_arg(c.b), bad, bad, bad, bad};
    }
    sett_arg shape = sett__tuple_of(&c, 3, (sett_arg[]){sett_arg_i(a->mnk[0]), sett_arg_i(a->mnk[1]), sett_arg_i(a->mnk[2])});
    return (sett_mma_traits){shape, a->thr_id, a->tv[0], a->tv[1], a->tv[2]};
}
