/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of a warp or of the machine, barriers and fences, and copies in the background. */
#include "ptx.h"

/* ---- barriers, fences, groups of copies ------------------------------------------------ */
static void nullary(sett__lower *l, const char *text)
{
    sett__ir_asm(l, LLVMVoidTypeInContext(l->ctx), text, "~{memory}", true, NULL, 0);
}

static void wait(sett__lower *l, int groups)
{
    char text[48];
    snprintf(text, sizeof text, "cp.async.wait_group %d;", groups);
    nullary(l, groups < 0 ? "cp.async.wait_all;" : text);
}

static void named(sett__lower *l, const sett__op *op)
{
    const char *name = op->code == SETT__BARSYNC ? "llvm.nvvm.barrier.cta.sync.aligned.count" : "llvm.nvvm.barrier.cta.arrive.aligned.count";
    LLVMValueRef in[2] = {sett__ir_scalar(l, op, 0), sett__ir_scalar(l, op, 1)};
    sett__ir_intrinsic(l, name, NULL, in, 2);
}

void sett__lower_barrier(sett__lower *l, const sett__op *op)
{
    char fence[32];
    LLVMValueRef all = sett__ir_int(l->i32, op->code == SETT__SYNCWARP ? 0xffffffff : 0);
    switch (op->code) {
    case SETT__FENCE:
        snprintf(fence, sizeof fence, "fence.acq_rel.%s;", sett__scope_word[sett__attr(l->tape->arg, op, SETT__AT_FENCE_SCOPE)]);
        nullary(l, fence);
        break;
    case SETT__CPCOMMIT:
        nullary(l, "cp.async.commit_group;");
        break;
    case SETT__CPWAIT:
        wait(l, sett__attr(l->tape->arg, op, SETT__AT_CPWAIT_PENDING));
        break;
    case SETT__BARSYNC:
    case SETT__BARARRIVE:
        named(l, op);
        break;
    case SETT__DEPWAIT:
    case SETT__DEPLAUNCH: /* older machines begin a grid when those before it have ended */
        if (l->sm >= 90)
            nullary(l, op->code == SETT__DEPWAIT ? "griddepcontrol.wait;" : "griddepcontrol.launch_dependents;");
        break;
    case SETT__SYNCWARP:
        sett__ir_intrinsic(l, "llvm.nvvm.bar.warp.sync", NULL, &all, 1);
        break;
    default:
        sett__ir_intrinsic(l, "llvm.nvvm.barrier.cta.sync.aligned.all", NULL, &all, 1);
    }
}

/* ---- copies ---------------------------------------------------------------------------- */
/* A predicate guards the instruction; a false `keep` makes the source 0 bytes long, and zeros are written. */
void sett__lower_cp_async(sett__lower *l, const sett__op *op)
{
    const uint32_t *arg = l->tape->arg;
    unsigned bytes = (unsigned)sett__attr(arg, op, SETT__AT_CPASYNC_BYTES), n = 2;
    LLVMTypeRef element = LLVMIntTypeInContext(l->ctx, 8 * (unsigned)sett__attr(arg, op, SETT__AT_CPASYNC_OF));
    LLVMValueRef to = sett__ir_place(l, op, 0, element, sett__attr(arg, op, SETT__AT_CPASYNC_TO));
    LLVMValueRef in[4] = {LLVMBuildPtrToInt(l->b, to, l->i32, ""), sett__ir_place(l, op, 3, element, op->imm)};
    bool pred = sett__arg_of(l, op, 2) != NULL, keep = sett__arg_of(l, op, 5) != NULL;
    char copy[64], text[160];
    if (keep)
        in[n++] = LLVMBuildSelect(l->b, sett__ir_scalar(l, op, 5), sett__ir_int(l->i32, bytes), sett__ir_int(l->i32, 0), "");
    if (pred)
        in[n++] = LLVMBuildZExt(l->b, sett__ir_scalar(l, op, 2), l->i32, "");
    snprintf(copy, sizeof copy, "cp.async.%s.shared.global [$0], [$1], %u%s;", sett__attr(arg, op, SETT__AT_CPASYNC_CG) ? "cg" : "ca", bytes, keep ? ", $2" : "");
    snprintf(text, sizeof text, "{ .reg .pred p; setp.ne.b32 p, $%u, 0; @p %s }", n - 1, copy);
    sett__ir_asm(l, LLVMVoidTypeInContext(l->ctx), pred ? text : copy, n == 4 ? "r,l,r,r,~{memory}" : n == 3 ? "r,l,r,~{memory}" : "r,l,~{memory}", true, in, n);
}

/* ---- votes ------------------------------------------------------------------------------- */
static LLVMValueRef vote(sett__lower *l, const sett__op *op)
{
    static const char *const name[] = {"llvm.nvvm.vote.all.sync", "llvm.nvvm.vote.any.sync", "llvm.nvvm.vote.uni.sync", "llvm.nvvm.vote.ballot.sync"};
    LLVMValueRef in[2] = {sett__ir_int(l->i32, 0xffffffff), sett__ir_scalar(l, op, 0)};
    return sett__ir_intrinsic(l, name[op->sub & 3], NULL, in, 2);
}

static LLVMValueRef match(sett__lower *l, const sett__op *op)
{
    static const char *const name[2][2] = {{"llvm.nvvm.match.all.sync.i32p", "llvm.nvvm.match.any.sync.i32"},
        {"llvm.nvvm.match.all.sync.i64p", "llvm.nvvm.match.any.sync.i64"}};
    bool wide = sett__dtype_bytes((sett_dtype)sett__arg_of(l, op, 0)->dtype) == 8, any = op->sub == SETT__VOTE_ANY;
    LLVMValueRef v = LLVMBuildBitCast(l->b, sett__ir_scalar(l, op, 0), wide ? l->i64 : l->i32, "");
    LLVMValueRef in[2] = {sett__ir_int(l->i32, 0xffffffff), v};
    v = sett__ir_intrinsic(l, name[wide][any], NULL, in, 2);
    return any ? v : LLVMBuildExtractValue(l->b, v, 0, "");
}

static LLVMValueRef redux(sett__lower *l, const sett__op *op)
{
    bool sign = sett__dtype_kind((sett_dtype)op->dtype) == 'i';
    const char *name = op->sub == SETT__ADD   ? "add"
                       : op->sub == SETT__MIN ? (sign ? "min" : "umin")
                       : op->sub == SETT__MAX ? (sign ? "max" : "umax")
                       : op->sub == SETT__AND ? "and"
                       : op->sub == SETT__OR  ? "or"
                                              : "xor";
    char text[40];
    snprintf(text, sizeof text, "llvm.nvvm.redux.sync.%s", name);
    LLVMValueRef in[2] = {sett__ir_scalar(l, op, 0), sett__ir_int(l->i32, 0xffffffff)};
    return sett__ir_intrinsic(l, text, NULL, in, 2);
}

/* Lane 0, which every warp has, where there is no instruction. */
static LLVMValueRef elect(sett__lower *l)
{
    LLVMValueRef all = sett__ir_int(l->i32, 0xffffffff);
    if (l->sm >= 90)
        return LLVMBuildExtractValue(l->b, sett__ir_intrinsic(l, "llvm.nvvm.elect.sync", NULL, &all, 1), 1, "");
    LLVMValueRef lane = sett__ir_intrinsic(l, "llvm.nvvm.read.ptx.sreg.laneid", NULL, NULL, 0);
    return LLVMBuildICmp(l->b, LLVMIntEQ, lane, sett__ir_int(l->i32, 0), "");
}

/* By asm, which has an effect: clocks are read where they stand, and each time. */
static LLVMValueRef special(sett__lower *l, const sett__op *op)
{
    bool wide = op->dtype == SETT_U64;
    char text[64];
    if (op->sub == SETT__SREG_ACTIVEMASK)
        return sett__ir_asm(l, l->i32, "activemask.b32 $0;", "=r", true, NULL, 0);
    snprintf(text, sizeof text, "mov.u%d $0, %%%s;", wide ? 64 : 32, sett__sub_word(SETT__SPECIAL, op->sub));
    return sett__ir_asm(l, wide ? l->i64 : l->i32, text, wide ? "=l,~{memory}" : "=r,~{memory}", true, NULL, 0);
}

void sett__lower_warp(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    out[0] = op->code == SETT__VOTE    ? vote(l, op)
             : op->code == SETT__MATCH ? match(l, op)
             : op->code == SETT__REDUX ? redux(l, op)
             : op->code == SETT__ELECT ? elect(l)
                                       : special(l, op);
}
