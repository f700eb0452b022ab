/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold of mbarriers, of fences between proxies, and of how many registers a thread has. */
#include "verify.h"

/* The most that one counts: PTX, mbarrier. */
enum { MOST = (1 << 20) - 1 };

bool sett__check_mbarrier(sett__verifier *c)
{
    uint32_t kind = sett__root_kind(c, &c->t->op[sett__verified_arg(c, 0)]);
    bool init = c->op->code == SETT__MBINIT, expect = c->op->code == SETT__MBEXPECT;
    bool given = sett__verified_arg(c, 2) != SETT__NONE;
    if (given && !sett__bounded_arg(c, 2, expect ? 0 : 1, MOST, 1, expect ? "at most 1048575 bytes are expected" : "a count is 1 to 1048575"))
        return false;
    if (init || kind & SETT__F_MBAR)
        return true;
    int scope = sett__verified_attr(c, expect ? SETT__AT_EXPECT_SCOPE : SETT__AT_ARRIVE_SCOPE);
    return scope || sett__refuse(c, SETT_E_VERIFY, "what is done at a peer has scope=cluster");
}

bool sett__check_parity(sett__verifier *c)
{
    return sett__bounded_arg(c, 2, 0, 1, 1, "a parity is 0 or 1");
}

int sett__most_blocks(const sett__sig *s)
{
    int64_t n = 1, x = 1;
    bool known = false;
    for (int d = 0; d < 3; d++) {
        if (s->cluster[d].count && !sett__expr_const(s, s->cluster[d], &x))
            return SETT__BIG_CLUSTER_MOST;
        known |= s->cluster[d].count > 0;
        n *= s->cluster[d].count ? x : 1;
    }
    return known ? (int)n : SETT__BIG_CLUSTER_MOST;
}

/* A store through another root would go to an mbarrier unseen. */
bool sett__check_apart(sett__verifier *c)
{
    for (c->i = 0; c->n_mbar && c->i < c->t->n_op; c->i++) {
        const sett__op *op = c->op = &c->t->op[c->i];
        if (op->code != SETT__SMEM || !op->n || sett__verified_attr(c, SETT__AT_SMEM_MBARRIER))
            continue;
        for (uint32_t k = 0; k < c->n_mbar; k++) {
            const sett__op *m = &c->t->op[c->mbar[k]];
            if (op->imm < m->imm + (int64_t)m->n * 8 && m->imm < op->imm + (int64_t)sett__bytes_of(op->dtype, op->n))
                return sett__refuse(c, SETT_E_VERIFY, "it has bytes of %%%u, which are mbarriers", c->mbar[k]);
        }
    }
    return true;
}

bool sett__check_proxy(sett__verifier *c)
{
    enum { MAP_ALIGN = 64 };
    int kind = sett__verified_attr(c, SETT__AT_PROXY_KIND);
    bool of_map = kind >= 3, names = kind == 4, given = sett__verified_arg(c, 0) != SETT__NONE;
    if (names != given)
        return sett__refuse(c, SETT_E_VERIFY, names ? "it needs the map that it acquires" : "only tensormap.acquire names a map");
    if (!of_map && sett__verified_attr(c, SETT__AT_PROXY_SCOPE) != SETT_SCOPE_GPU)
        return sett__refuse(c, SETT_E_VERIFY, "only a tensor map's fence has a scope");
    if (!names)
        return true;
    const sett__op *root = &c->t->op[sett__verified_arg(c, 0)];
    sett__verified_place at = {root, 0, c->op->imm, (uint64_t)sett__dtype_bytes((sett_dtype)root->dtype), MAP_ALIGN};
    return sett__check_align(c, &at);
}

/* Registers are counted from what the kernel has at its entry. Where the signature leaves that open, ptxas ignores the operation (C7508). */
bool sett__check_maxnreg(sett__verifier *c)
{
    const sett__sig *s = &c->t->sig;
    if (sett__verified_attr(c, SETT__AT_MAXNREG_COUNT) % 8)
        return sett__refuse(c, SETT_E_RANGE, "count %d is not a multiple of 8", sett__verified_attr(c, SETT__AT_MAXNREG_COUNT));
    return s->max_registers || s->min_blocks || sett__refuse(c, SETT_E_VERIFY, "it needs `launch max_registers` or `launch min_blocks`");
}
