/* SPDX-License-Identifier: Apache-2.0 */
/* Mbarriers. */
#include "ptx.h"

static const char *scope(const sett__lower *l, const sett__op *op)
{
    bool expect = op->code == SETT__MBEXPECT;
    return sett__near_word[sett__attr(l->tape->arg, op, expect ? SETT__AT_EXPECT_SCOPE : SETT__AT_MBAR_SCOPE)];
}

/* Of sm_90 on, with its scope, and where the barrier lies. */
static void scoped(sett__lower *l, const sett__op *op, const char *what, LLVMValueRef *in)
{
    char name[80];
    bool peer = LLVMGetPointerAddressSpace(LLVMTypeOf(in[0])) == 7;
    snprintf(name, sizeof name, "llvm.nvvm.mbarrier.%s.scope.%s.space.%s", what, scope(l, op), sett__near_word[peer]);
    sett__ir_intrinsic(l, name, NULL, in, 2);
}

void sett__lower_mbarrier(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    (void)out;
    bool count = sett__arg_of(l, op, 2) != NULL;
    LLVMBasicBlockRef done = sett__ir_when(l, op, 3, "arrive", "arrived");
    LLVMValueRef in[2] = {sett__ir_form_place(l, op, 0), count ? sett__ir_scalar(l, op, 2) : sett__ir_int(l->i32, 1)};
    if (op->code == SETT__MBINIT)
        sett__ir_intrinsic(l, "llvm.nvvm.mbarrier.init.shared", NULL, in, 2);
    else if (op->code == SETT__MBEXPECT)
        scoped(l, op, sett__attr(l->tape->arg, op, SETT__AT_EXPECT_ARRIVE) ? "arrive.expect.tx" : "expect.tx", in);
    else if (l->sm >= 90)
        scoped(l, op, "arrive", in);
    else
        sett__ir_intrinsic(l, "llvm.nvvm.mbarrier.arrive.shared", NULL, in, 1);
    sett__ir_done(l, done);
}

void sett__lower_mbarrier_wait(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    char name[80];
    LLVMValueRef in[2] = {sett__ir_form_place(l, op, 0), sett__ir_scalar(l, op, 2)};
    snprintf(name, sizeof name, "llvm.nvvm.mbarrier.try.wait.parity.scope.%s.space.cta", scope(l, op));
    out[0] = sett__ir_intrinsic(l, name, NULL, in, 2);
}
