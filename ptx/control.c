/* SPDX-License-Identifier: Apache-2.0 */
/* Regions to basic blocks, and shuffles. */
#include "ptx.h"

static sett__frame *push(sett__lower *l, sett__code code)
{
    sett__frame *f = &l->frame[l->depth++]; /* the verifier bounds the depth */
    *f = (sett__frame){.code = code};
    return f;
}

LLVMBasicBlockRef sett__ir_when(sett__lower *l, const sett__op *op, int k, const char *then_name, const char *done_name)
{
    if (!sett__arg_of(l, op, k))
        return NULL;
    LLVMBasicBlockRef then = sett__ir_block(l, then_name), done = sett__ir_block(l, done_name);
    LLVMBuildCondBr(l->b, sett__ir_scalar(l, op, k), then, done);
    sett__ir_enter(l, then);
    return done;
}

void sett__ir_done(sett__lower *l, LLVMBasicBlockRef done)
{
    if (!done)
        return;
    LLVMBuildBr(l->b, done);
    sett__ir_enter(l, done);
}

void sett__lower_if(sett__lower *l, const sett__op *op)
{
    sett__frame *f = push(l, SETT__IF);
    LLVMBasicBlockRef then = sett__ir_block(l, "then");
    f->head = sett__ir_block(l, "else");
    f->after = sett__ir_block(l, "endif");
    LLVMBuildCondBr(l->b, sett__ir_scalar(l, op, 0), then, f->head);
    sett__ir_enter(l, then);
}

void sett__lower_else(sett__lower *l)
{
    sett__frame *f = &l->frame[l->depth - 1];
    f->code = SETT__ELSE;
    LLVMBuildBr(l->b, f->after);
    sett__ir_enter(l, f->head);
}

/* A test before and a test after, so that neither LLVM nor the assembler need rotate it. */
void sett__lower_for(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    sett__frame *f = push(l, SETT__FOR);
    LLVMValueRef lo = sett__ir_scalar(l, op, 0);
    bool sign = sett__dtype_kind((sett_dtype)op->dtype) == 'i';
    LLVMBasicBlockRef from = LLVMGetInsertBlock(l->b);
    f->hi = sett__ir_scalar(l, op, 1);
    f->step = sett__ir_scalar(l, op, 2);
    f->head = sett__ir_block(l, "for");
    f->after = sett__ir_block(l, "endfor");
    LLVMBuildCondBr(l->b, LLVMBuildICmp(l->b, sign ? LLVMIntSLT : LLVMIntULT, lo, f->hi, ""), f->head, f->after);
    sett__ir_enter(l, f->head);
    f->phi = LLVMBuildPhi(l->b, LLVMTypeOf(lo), "i");
    LLVMAddIncoming(f->phi, &lo, &from, 1);
    out[0] = f->phi;
    f->sign = sign;
}

void sett__lower_loop(sett__lower *l)
{
    sett__frame *f = push(l, SETT__LOOP);
    f->head = sett__ir_block(l, "loop");
    f->after = sett__ir_block(l, "endloop");
    LLVMBuildBr(l->b, f->head);
    sett__ir_enter(l, f->head);
}

void sett__lower_while(sett__lower *l, const sett__op *op)
{
    LLVMBasicBlockRef body = sett__ir_block(l, "while");
    LLVMBuildCondBr(l->b, sett__ir_scalar(l, op, 0), body, l->frame[l->depth - 1].after);
    sett__ir_enter(l, body);
}

/* ptxas would unroll, and takes several times as long over it: the builder unrolls what
 * is to be unrolled. The node must be its own first operand, to be unlike all others. */
static void no_unroll(sett__lower *l, LLVMValueRef branch)
{
    static const char text[] = "llvm.loop.unroll.disable";
    LLVMMetadataRef name = LLVMMDStringInContext2(l->ctx, text, sizeof(text) - 1);
    LLVMMetadataRef self = LLVMTemporaryMDNode(l->ctx, NULL, 0);
    LLVMMetadataRef node =
        LLVMMDNodeInContext2(l->ctx, (LLVMMetadataRef[]){self, LLVMMDNodeInContext2(l->ctx, &name, 1)}, 2);
    LLVMMetadataReplaceAllUsesWith(self, node);
    LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(l->ctx, "llvm.loop", 9), LLVMMetadataAsValue(l->ctx, node));
}

/* Can variable + step pass the end of the type? The variable is below hi. */
static bool may_wrap(const sett__frame *f)
{
    unsigned bits = LLVMGetIntTypeWidth(LLVMTypeOf(f->phi));
    uint64_t most = (f->sign ? (uint64_t)1 << (bits - 1) : bits == 64 ? 0 : (uint64_t)1 << bits) - 1;
    if (!LLVMIsAConstantInt(f->step))
        return true;
    uint64_t past = LLVMConstIntGetZExtValue(f->step) - 1; /* what next may have beyond hi */
    if (!past)
        return false;
    if (!LLVMIsAConstantInt(f->hi))
        return true;
    if (f->sign && LLVMConstIntGetSExtValue(f->hi) < 0)
        return false; /* a step is below half the range */
    return LLVMConstIntGetZExtValue(f->hi) > most - past;
}

/* A variable that would pass the end of its type ends the loop, as on the CPU: what is left tells, as it never wraps. */
static LLVMValueRef goes_on(sett__lower *l, const sett__frame *f, LLVMValueRef next)
{
    if (!may_wrap(f))
        return LLVMBuildICmp(l->b, f->sign ? LLVMIntSLT : LLVMIntULT, next, f->hi, "");
    LLVMValueRef left = LLVMBuildSub(l->b, f->hi, f->phi, ""), step = f->step;
    if (!LLVMIsAConstantInt(step)) { /* less one on both sides: then a step of 0 is the longest, and ends the loop too */
        LLVMValueRef one = LLVMConstInt(LLVMTypeOf(step), 1, 0);
        left = LLVMBuildSub(l->b, left, one, "");
        step = LLVMBuildSub(l->b, step, one, "");
    }
    return LLVMBuildICmp(l->b, LLVMIntUGT, left, step, "");
}

static void end_for(sett__lower *l, sett__frame *f)
{
    LLVMValueRef next = LLVMBuildAdd(l->b, f->phi, f->step, "");
    LLVMBasicBlockRef latch = LLVMGetInsertBlock(l->b);
    LLVMAddIncoming(f->phi, &next, &latch, 1);
    no_unroll(l, LLVMBuildCondBr(l->b, goes_on(l, f, next), f->head, f->after));
}

void sett__lower_end(sett__lower *l)
{
    sett__frame *f = &l->frame[--l->depth];
    if (f->phi) {
        end_for(l, f);
    } else if (f->code == SETT__LOOP) {
        no_unroll(l, LLVMBuildBr(l->b, f->head));
    } else {
        LLVMBuildBr(l->b, f->after);
        if (f->code == SETT__IF) { /* no else: the other arm is empty */
            sett__ir_enter(l, f->head);
            LLVMBuildBr(l->b, f->after);
        }
    }
    sett__ir_enter(l, f->after);
}

static LLVMValueRef shfl32(sett__lower *l, const sett__op *op, LLVMValueRef v, LLVMValueRef lane)
{
    static const char *const name[] = {"llvm.nvvm.shfl.sync.idx.i32", "llvm.nvvm.shfl.sync.up.i32",
        "llvm.nvvm.shfl.sync.down.i32", "llvm.nvvm.shfl.sync.bfly.i32"};
    uint64_t clamp = (32 - (uint64_t)sett__attr(l->tape->arg, op, SETT__AT_SHFL_WIDTH)) << 8 | (op->sub == SETT__SHFL_UP ? 0 : 31);
    LLVMValueRef in[4] = {sett__ir_int(l->i32, 0xffffffff), v, lane, sett__ir_int(l->i32, clamp)};
    return sett__ir_intrinsic(l, name[op->sub & 3], NULL, in, 4);
}

/* Any scalar as 32-bit words. */
static LLVMValueRef shfl(sett__lower *l, const sett__op *op, LLVMValueRef v, LLVMValueRef lane)
{
    LLVMTypeRef type = LLVMTypeOf(v);
    unsigned bits = 8u * (unsigned)sett__dtype_bytes((sett_dtype)op->dtype);
    LLVMTypeRef whole = LLVMIntTypeInContext(l->ctx, bits), pair = LLVMVectorType(l->i32, 2);
    if (bits <= 32) {
        v = LLVMBuildZExt(l->b, LLVMBuildBitCast(l->b, v, whole, ""), l->i32, "");
        return LLVMBuildBitCast(l->b, LLVMBuildTrunc(l->b, shfl32(l, op, v, lane), whole, ""), type, "");
    }
    LLVMValueRef in = LLVMBuildBitCast(l->b, v, pair, ""), out = LLVMGetPoison(pair);
    for (unsigned i = 0; i < 2; i++) {
        LLVMValueRef at = sett__ir_int(l->i32, i), w = LLVMBuildExtractElement(l->b, in, at, "");
        out = LLVMBuildInsertElement(l->b, out, shfl32(l, op, w, lane), at, "");
    }
    return LLVMBuildBitCast(l->b, out, type, "");
}

/* 16-bit elements travel in pairs. */
static void shfl_pairs(sett__lower *l, const sett__op *op, uint32_t value, LLVMValueRef lane)
{
    LLVMTypeRef pair = LLVMVectorType(sett__ir_reg_type(l, op->dtype), 2);
    for (uint32_t i = 0; i + 1 < op->n; i += 2) {
        LLVMValueRef v = LLVMGetPoison(pair);
        for (uint32_t k = 0; k < 2; k++)
            v = LLVMBuildInsertElement(l->b, v, sett__ir_element(l, value, i + k), sett__ir_int(l->i32, k), "");
        v = LLVMBuildBitCast(l->b, shfl32(l, op, LLVMBuildBitCast(l->b, v, l->i32, ""), lane), pair, "");
        for (uint32_t k = 0; k < 2; k++)
            l->scratch[i + k] = LLVMBuildExtractElement(l->b, v, sett__ir_int(l->i32, k), "");
    }
}

void sett__lower_shfl(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    uint32_t value = sett__arg_op(l, op, 0), i = 0;
    LLVMValueRef lane = sett__ir_scalar(l, op, 1); /* the instruction takes its low five bits */
    if (sett__dtype_bytes((sett_dtype)op->dtype) == 2) {
        shfl_pairs(l, op, value, lane);
        i = op->n & ~1u;
    }
    for (; i < op->n; i++)
        l->scratch[i] = shfl(l, op, sett__ir_element(l, value, i), lane);
    sett__ir_collect(l, out, op->n, sett__ir_reg_type(l, op->dtype), l->scratch);
}
