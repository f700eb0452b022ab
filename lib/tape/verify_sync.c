/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold of mbarriers. */
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
    int scope = sett__verified_attr(c, expect ? SETT__AT_EXPECT_SCOPE : SETT__AT_MBAR_SCOPE);
    return scope || sett__refuse(c, SETT_E_VERIFY, "what is done at a peer has scope=cluster");
}
