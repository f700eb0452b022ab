/* SPDX-License-Identifier: Apache-2.0 */
/* fmod, exact. LLVM's frem for NVPTX is x - y*trunc(x/y), wrong from the first rounding on.
 *
 * |x| = mx * 2^ex and |y| = my * 2^ey with integers mx, my; then x mod y is (mx * 2^(ex-ey) mod my) * 2^ey. The power
 * is folded in S bits at a time, S being what 64 bits leave beside my, and the result has at most my's bits, so the
 * last conversion and scaling are exact. One function of the module a type, so that an op costs a call. */
#include "ptx.h"

typedef struct parts { /* of one format */
    LLVMTypeRef type, bits;
    unsigned width, mant, step; /* stored mantissa bits; bits folded in a round */
    uint64_t mant_mask, exp_mask;
} parts;

static LLVMValueRef k64(sett__lower *l, uint64_t x)
{
    return LLVMConstInt(l->i64, x, 0);
}

/* The integer mantissa; *exp is the biased exponent, 1 for subnormals. All 64-bit. */
static LLVMValueRef split(sett__lower *l, const parts *p, LLVMValueRef abs_bits, LLVMValueRef *exp)
{
    LLVMValueRef raw = LLVMBuildLShr(l->b, abs_bits, k64(l, p->mant), "");
    LLVMValueRef mant = LLVMBuildAnd(l->b, abs_bits, k64(l, p->mant_mask), "");
    LLVMValueRef sub = LLVMBuildICmp(l->b, LLVMIntEQ, raw, k64(l, 0), "");
    *exp = LLVMBuildSelect(l->b, sub, k64(l, 1), raw, "");
    LLVMValueRef hidden = LLVMBuildSelect(l->b, sub, k64(l, 0), k64(l, p->mant_mask + 1), "");
    return LLVMBuildOr(l->b, mant, hidden, "");
}

/* r = mx mod my; for (d = ex - ey; d > 0; d -= s) r = (r << (s = min(d, S))) mod my. */
static LLVMValueRef fold(
    sett__lower *l, const parts *p, LLVMValueRef fn, LLVMValueRef mx, LLVMValueRef my, LLVMValueRef d)
{
    LLVMValueRef r0 = LLVMBuildURem(l->b, mx, my, "");
    LLVMBasicBlockRef from = LLVMGetInsertBlock(l->b);
    LLVMBasicBlockRef head = LLVMAppendBasicBlockInContext(l->ctx, fn, "head");
    LLVMBasicBlockRef body = LLVMAppendBasicBlockInContext(l->ctx, fn, "body");
    LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(l->ctx, fn, "done");
    LLVMBuildBr(l->b, head);
    sett__ir_enter(l, head);
    LLVMValueRef r = LLVMBuildPhi(l->b, l->i64, "r"), left = LLVMBuildPhi(l->b, l->i64, "left");
    LLVMBuildCondBr(l->b, LLVMBuildICmp(l->b, LLVMIntSGT, left, k64(l, 0), ""), body, done);
    sett__ir_enter(l, body);
    LLVMValueRef in[2] = {left, k64(l, p->step)};
    LLVMValueRef s = sett__ir_intrinsic(l, "llvm.umin", l->i64, in, 2);
    LLVMValueRef next = LLVMBuildURem(l->b, LLVMBuildShl(l->b, r, s, ""), my, "");
    LLVMValueRef rest = LLVMBuildSub(l->b, left, s, "");
    LLVMBuildBr(l->b, head);
    LLVMAddIncoming(r, (LLVMValueRef[]){r0, next}, (LLVMBasicBlockRef[]){from, body}, 2);
    LLVMAddIncoming(left, (LLVMValueRef[]){d, rest}, (LLVMBasicBlockRef[]){from, body}, 2);
    sett__ir_enter(l, done);
    return r;
}

/* 2^(e - bias - mant) as a float: below e = mant + 1 it is a subnormal. */
static LLVMValueRef scale(sett__lower *l, const parts *p, LLVMValueRef e)
{
    LLVMValueRef normal = LLVMBuildICmp(l->b, LLVMIntUGT, e, k64(l, p->mant), "");
    LLVMValueRef over = LLVMBuildSub(l->b, e, k64(l, p->mant), ""), below = LLVMBuildSub(l->b, e, k64(l, 1), "");
    LLVMValueRef high = LLVMBuildShl(l->b, over, k64(l, p->mant), "");
    LLVMValueRef at = LLVMBuildSelect(l->b, normal, k64(l, 0), below, "");
    LLVMValueRef v = LLVMBuildSelect(l->b, normal, high, LLVMBuildShl(l->b, k64(l, 1), at, ""), "");
    return LLVMBuildBitCast(l->b, LLVMBuildTrunc(l->b, v, p->bits, ""), p->type, "");
}

static void body(sett__lower *l, const parts *p, LLVMValueRef fn)
{
    LLVMValueRef x = LLVMGetParam(fn, 0), y = LLVMGetParam(fn, 1);
    LLVMValueRef bx = LLVMBuildZExt(l->b, LLVMBuildBitCast(l->b, x, p->bits, ""), l->i64, "");
    LLVMValueRef by = LLVMBuildZExt(l->b, LLVMBuildBitCast(l->b, y, p->bits, ""), l->i64, "");
    LLVMValueRef magnitude = k64(l, (1ull << (p->width - 1)) - 1);
    LLVMValueRef ax = LLVMBuildAnd(l->b, bx, magnitude, ""), ay = LLVMBuildAnd(l->b, by, magnitude, "");
    LLVMValueRef ex, ey, mx = split(l, p, ax, &ex), my = split(l, p, ay, &ey);
    LLVMValueRef is_zero = LLVMBuildICmp(l->b, LLVMIntEQ, ay, k64(l, 0), "");
    my = LLVMBuildSelect(l->b, is_zero, k64(l, 1), my, "");
    LLVMValueRef r = fold(l, p, fn, mx, my, LLVMBuildSub(l->b, ex, ey, ""));
    LLVMValueRef in[2] = {LLVMBuildFMul(l->b, LLVMBuildUIToFP(l->b, r, p->type, ""), scale(l, p, ey), ""), x};
    LLVMValueRef v = sett__ir_intrinsic(l, "llvm.copysign", p->type, in, 2);
    v = LLVMBuildSelect(l->b, LLVMBuildICmp(l->b, LLVMIntULT, ax, ay, ""), x, v, "");
    /* x infinite or NaN, y zero or NaN */
    LLVMValueRef bad = LLVMBuildOr(l->b, is_zero, LLVMBuildICmp(l->b, LLVMIntUGE, ax, k64(l, p->exp_mask), ""), "");
    bad = LLVMBuildOr(l->b, bad, LLVMBuildICmp(l->b, LLVMIntUGT, ay, k64(l, p->exp_mask), ""), "");
    uint64_t nan = p->exp_mask | (p->mant_mask + 1) >> 1;
    LLVMBuildRet(l->b, LLVMBuildSelect(l->b, bad, LLVMConstFPFromBits(p->type, &nan), v, ""));
}

static void attribute(sett__lower *l, LLVMValueRef fn, const char *name, size_t len, uint64_t value)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, len);
    LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(l->ctx, kind, value));
}

static LLVMValueRef make(sett__lower *l, const char *name, LLVMTypeRef sig, LLVMTypeRef type)
{
    bool f64 = LLVMGetTypeKind(type) == LLVMDoubleTypeKind;
    parts p = {.type = type, .bits = f64 ? l->i64 : l->i32, .width = f64 ? 64 : 32, .mant = f64 ? 52 : 23};
    p.step = 63 - p.mant;
    p.mant_mask = (1ull << p.mant) - 1;
    p.exp_mask = (f64 ? 0x7ffull : 0xffull) << p.mant;
    LLVMValueRef fn = LLVMAddFunction(l->module, name, sig);
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    attribute(l, fn, "memory", 6, 0); /* none */
    attribute(l, fn, "nounwind", 8, 0);
    attribute(l, fn, "willreturn", 10, 0);
    attribute(l, fn, "noinline", 8, 0);
    LLVMBasicBlockRef here = LLVMGetInsertBlock(l->b);
    LLVMMetadataRef line = LLVMGetCurrentDebugLocation2(l->b);
    LLVMSetCurrentDebugLocation2(l->b, NULL);
    sett__ir_enter(l, LLVMAppendBasicBlockInContext(l->ctx, fn, "entry"));
    body(l, &p, fn);
    sett__ir_enter(l, here);
    LLVMSetCurrentDebugLocation2(l->b, line);
    return fn;
}

LLVMValueRef sett__ir_fmod(sett__lower *l, LLVMValueRef x, LLVMValueRef y)
{
    LLVMTypeRef type = LLVMTypeOf(x), sig = LLVMFunctionType(type, (LLVMTypeRef[]){type, type}, 2, 0);
    const char *name = LLVMGetTypeKind(type) == LLVMDoubleTypeKind ? "sett__fmod64" : "sett__fmod32";
    LLVMValueRef fn = LLVMGetNamedFunction(l->module, name);
    if (!fn)
        fn = make(l, name, sig, type);
    return LLVMBuildCall2(l->b, sig, fn, (LLVMValueRef[]){x, y}, 2, "");
}
