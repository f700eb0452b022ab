/* SPDX-License-Identifier: Apache-2.0 */
/* Mbarriers, clusters, fences between proxies. */
#include "ptx.h"

static const char *scope(const sett__lower *l, const sett__op *op)
{
    int row = op->code == SETT__MBEXPECT ? SETT__AT_EXPECT_SCOPE : op->code == SETT__MBARRIVE ? SETT__AT_ARRIVE_SCOPE : SETT__AT_MBAR_SCOPE;
    return sett__near_word[sett__attr(l->tape->arg, op, row)];
}

/* LLVM may hold that it touches the barrier alone; other memory is ordered by it. */
static LLVMValueRef ordered(sett__lower *l, const char *name, LLVMValueRef *in, unsigned n)
{
    static const char memory[] = "memory";
    LLVMValueRef call = sett__ir_intrinsic(l, name, NULL, in, n);
    if (!l->status)
        LLVMRemoveEnumAttributeAtIndex(LLVMGetCalledValue(call), LLVMAttributeFunctionIndex, LLVMGetEnumAttributeKindForName(memory, sizeof memory - 1));
    return call;
}

/* Of sm_90 on, with its scope, and where the barrier lies. */
static void scoped(sett__lower *l, const sett__op *op, const char *what, LLVMValueRef *in)
{
    char name[80];
    bool peer = LLVMGetPointerAddressSpace(LLVMTypeOf(in[0])) == 7;
    snprintf(name, sizeof name, "llvm.nvvm.mbarrier.%s.scope.%s.space.%s", what, scope(l, op), sett__near_word[peer]);
    ordered(l, name, in, 2);
}

void sett__lower_mbarrier(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    (void)out;
    bool count = sett__arg_of(l, op, 2) != NULL;
    LLVMBasicBlockRef done = sett__ir_when(l, op, 3, "arrive", "arrived");
    LLVMValueRef in[2] = {sett__ir_form_place(l, op, 0), count ? sett__ir_scalar(l, op, 2) : sett__ir_int(l->i32, 1)};
    if (op->code == SETT__MBINIT)
        ordered(l, "llvm.nvvm.mbarrier.init.shared", in, 2);
    else if (op->code == SETT__MBEXPECT)
        scoped(l, op, sett__attr(l->tape->arg, op, SETT__AT_EXPECT_ARRIVE) ? "arrive.expect.tx" : "expect.tx", in);
    else if (l->sm >= 90)
        scoped(l, op, sett__attr(l->tape->arg, op, SETT__AT_ARRIVE_ORDER) ? "arrive.relaxed" : "arrive", in);
    else
        ordered(l, "llvm.nvvm.mbarrier.arrive.shared", in, 1);
    sett__ir_done(l, done);
}

/* LLVM has no test by parity before sm_90. */
void sett__lower_mbarrier_wait(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    char name[80];
    LLVMValueRef in[2] = {sett__ir_form_place(l, op, 0), sett__ir_scalar(l, op, 2)};
    snprintf(name, sizeof name, "llvm.nvvm.mbarrier.%s.wait.parity.scope.%s.space.cta", op->code == SETT__MBTRY ? "try" : "test", scope(l, op));
    if (l->sm >= 90) {
        out[0] = ordered(l, name, in, 2);
        return;
    }
    in[0] = LLVMBuildPtrToInt(l->b, in[0], l->i32, "");
    LLVMValueRef is = sett__ir_asm(l, l->i32, "{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [$1], $2; selp.u32 $0, 1, 0, p; }",
        "=r,r,r,~{memory}", true, in, 2);
    out[0] = LLVMBuildICmp(l->b, LLVMIntNE, is, sett__ir_int(l->i32, 0), "");
}

void sett__lower_mbarrier_alone(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    (void)out;
    bool inval = op->code == SETT__MBINVAL;
    LLVMValueRef at = sett__ir_form_place(l, op, 0);
    const char *arrive = inval ? "" : sett__attr(l->tape->arg, op, SETT__AT_CPARRIVE_NOINC) ? "cp.async.mbarrier.arrive.noinc.shared" : "cp.async.mbarrier.arrive.shared";
    char name[64];
    snprintf(name, sizeof name, "llvm.nvvm.%s", inval ? "mbarrier.inval.shared" : arrive);
    ordered(l, name, &at, 1);
}

void sett__lower_mbarrier_fence(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    (void)op, (void)out;
    ordered(l, "llvm.nvvm.fence.mbarrier_init.release.cluster", NULL, 0);
}

/* ---- clusters ------------------------------------------------------------------------------ */
void sett__lower_cluster_sreg(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    static const char *const reg[] = {"cluster.ctaid", "cluster.nctaid", "clusterid", "nclusterid", "cluster.ctarank", "cluster.nctarank"};
    const char *name = reg[op->code - SETT__CLUSTER_CTAID];
    char text[64];
    snprintf(text, sizeof text, "llvm.nvvm.read.ptx.sreg.%s", name);
    out[0] = op->code >= SETT__CLUSTER_CTARANK ? sett__ir_intrinsic(l, text, NULL, NULL, 0)
                                               : sett__ir_sreg(l, name, (uint32_t)sett__attr(l->tape->arg, op, SETT__AT_CLUSTER_DIM));
}

void sett__lower_cluster_barrier(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    (void)out;
    const char *arrive = op->code == SETT__CLWAIT || !sett__attr(l->tape->arg, op, SETT__AT_CLARRIVE_ORDER) ? "llvm.nvvm.barrier.cluster.arrive"
                                                                                                            : "llvm.nvvm.barrier.cluster.arrive.relaxed";
    const char *name = op->code == SETT__CLWAIT ? "llvm.nvvm.barrier.cluster.wait" : arrive;
    sett__ir_convergent(l, ordered(l, name, NULL, 0));
}

/* ---- proxies, registers ----------------------------------------------------------------------- */
void sett__lower_proxy(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    static const char *const fence[] = {"async", "async.shared_cta", "async.global", "tensormap_generic.release", "tensormap_generic.acquire"};
    (void)out;
    int kind = sett__attr(l->tape->arg, op, SETT__AT_PROXY_KIND);
    const char *of = sett__scope_word[sett__attr(l->tape->arg, op, SETT__AT_PROXY_SCOPE)];
    LLVMValueRef in[2] = {NULL, sett__ir_int(l->i32, 128)};
    char name[80];
    snprintf(name, sizeof name, "llvm.nvvm.fence.proxy.%s%s%s", fence[kind], kind < 3 ? "" : ".", kind < 3 ? "" : of);
    if (kind == 4)
        in[0] = LLVMBuildAddrSpaceCast(l->b, sett__ir_form_place(l, op, 0), l->ptr, "");
    ordered(l, name, in, kind == 4 ? 2 : 0);
}

void sett__lower_maxnreg(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    char name[64];
    (void)out;
    LLVMValueRef n = sett__ir_int(l->i32, (uint64_t)sett__attr(l->tape->arg, op, SETT__AT_MAXNREG_COUNT));
    snprintf(name, sizeof name, "llvm.nvvm.setmaxnreg.%s.sync.aligned.u32", sett__way_word[sett__attr(l->tape->arg, op, SETT__AT_MAXNREG_WAY)]);
    sett__ir_convergent(l, ordered(l, name, &n, 1));
}
