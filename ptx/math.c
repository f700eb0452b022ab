/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise arithmetic, by piece. No fast-math flag is ever set, and LLVM fuses nothing
 * without one. */
#include "ptx.h"

static bool is_signed(sett_dtype t)
{
    return sett__dtype_kind(t) == 'i';
}

/* A 16-bit float's operation done in f32 and rounded back; exact f32 operations only. */
static LLVMValueRef narrow(sett__lower *l, LLVMTypeRef type, LLVMValueRef x)
{
    return LLVMTypeOf(x) == type ? x : LLVMBuildFPTrunc(l->b, x, type, "");
}

static LLVMValueRef rem_lane(sett__lower *l, const void *user, LLVMValueRef *in)
{
    (void)user;
    LLVMTypeRef type = LLVMTypeOf(in[0]), f32 = LLVMFloatTypeInContext(l->ctx);
    if (LLVMGetTypeKind(type) == LLVMDoubleTypeKind || type == f32)
        return sett__ir_fmod(l, in[0], in[1]);
    LLVMValueRef x = LLVMBuildFPExt(l->b, in[0], f32, ""), y = LLVMBuildFPExt(l->b, in[1], f32, "");
    return narrow(l, type, sett__ir_fmod(l, x, y));
}

static LLVMValueRef float_binary(sett__lower *l, sett__code code, LLVMValueRef x, LLVMValueRef y)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    LLVMValueRef in[2] = {x, y};
    switch (code) {
    case SETT__ADD:
        return LLVMBuildFAdd(l->b, x, y, "");
    case SETT__SUB:
        return LLVMBuildFSub(l->b, x, y, "");
    case SETT__MUL:
        return LLVMBuildFMul(l->b, x, y, "");
    case SETT__DIV:
        return LLVMBuildFDiv(l->b, x, y, "");
    case SETT__MIN:
        return sett__ir_intrinsic(l, "llvm.minimum", type, in, 2);
    case SETT__MAX:
        return sett__ir_intrinsic(l, "llvm.maximum", type, in, 2);
    case SETT__REM: {
        LLVMTypeRef element = LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type;
        return sett__ir_by_lane(l, rem_lane, NULL, element, in, 2);
    }
    default:
        sett__lower_fail(l, SETT_E_INTERNAL, "%s has no form for floats", sett__ops[code].text);
        return x;
    }
}

/* Every element of y a constant that is neither 0 nor -1: LLVM's division is defined. */
static bool safe_divisor(LLVMValueRef y)
{
    if (!LLVMIsConstant(y))
        return false;
    LLVMTypeRef type = LLVMTypeOf(y);
    if (LLVMGetTypeKind(type) == LLVMVectorTypeKind) /* splats only: the first element speaks for all */
        y = LLVMGetAggregateElement(y, 0);
    return y && LLVMIsAConstantInt(y) && !LLVMIsNull(y) && LLVMConstIntGetSExtValue(y) != -1;
}

/* ptxas takes the results of neg.s16 and abs.s16 to fit 16 bits, those of -32768 too: a later widening keeps 32768. Seen on
 * an H200, ptxas 13.0. LLVM would narrow 32-bit arithmetic to them again, so it must not see what this is. */
static LLVMValueRef in_32_bits(sett__lower *l, const void *text, LLVMValueRef *in)
{
    LLVMValueRef wide = LLVMBuildSExt(l->b, in[0], l->i32, "");
    return LLVMBuildTrunc(l->b, sett__ir_asm(l, l->i32, text, "=r,r", false, &wide, 1), LLVMTypeOf(in[0]), "");
}

static bool is_16_bits(LLVMValueRef x)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    return LLVMGetIntTypeWidth(LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type) == 16;
}

static LLVMValueRef negate(sett__lower *l, LLVMValueRef x)
{
    if (is_16_bits(x))
        return sett__ir_by_lane(l, in_32_bits, "neg.s32 $0, $1;", LLVMIntTypeInContext(l->ctx, 16), &x, 1);
    return LLVMBuildNeg(l->b, x, "");
}

/* x/0 = all ones, x%0 = x, MIN/-1 = MIN, MIN%-1 = 0: LLVM leaves all four undefined, so the
 * divisor is replaced by 1 there and the answer chosen. */
static LLVMValueRef int_divide(sett__lower *l, bool rem, bool sign, bool nonneg, LLVMValueRef x, LLVMValueRef y)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    bool is_safe = safe_divisor(y);
    LLVMValueRef safe = y, zero = NULL, minus = NULL;
    sign = sign && !nonneg;
    if (!is_safe) {
        zero = LLVMBuildICmp(l->b, LLVMIntEQ, y, LLVMConstNull(type), "");
        LLVMValueRef bad = zero;
        if (sign) {
            minus = LLVMBuildICmp(l->b, LLVMIntEQ, y, LLVMConstAllOnes(type), "");
            bad = LLVMBuildOr(l->b, zero, minus, "");
        }
        safe = LLVMBuildSelect(l->b, bad, sett__ir_int(type, 1), y, "");
    }
    LLVMValueRef q = rem ? (sign ? LLVMBuildSRem : LLVMBuildURem)(l->b, x, safe, "")
                         : (sign ? LLVMBuildSDiv : LLVMBuildUDiv)(l->b, x, safe, "");
    if (is_safe)
        return q;
    if (minus && !rem) /* x % 1 is 0 already */
        q = LLVMBuildSelect(l->b, minus, negate(l, x), q, "");
    return LLVMBuildSelect(l->b, zero, rem ? x : LLVMConstAllOnes(type), q, "");
}

/* Past the width LLVM's shifts are undefined; the tape's give 0 or the sign. */
static LLVMValueRef shift(sett__lower *l, bool left, bool sign, LLVMValueRef x, LLVMValueRef y)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    LLVMTypeRef element = LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type;
    uint64_t width = LLVMGetIntTypeWidth(element);
    if (!left && sign) {
        LLVMValueRef in[2] = {y, sett__ir_int(type, width - 1)};
        return LLVMBuildAShr(l->b, x, sett__ir_intrinsic(l, "llvm.umin", type, in, 2), "");
    }
    LLVMValueRef inside = LLVMBuildICmp(l->b, LLVMIntULT, y, sett__ir_int(type, width), "");
    LLVMValueRef amount = LLVMBuildSelect(l->b, inside, y, LLVMConstNull(type), "");
    LLVMValueRef v = left ? LLVMBuildShl(l->b, x, amount, "") : LLVMBuildLShr(l->b, x, amount, "");
    return LLVMBuildSelect(l->b, inside, v, LLVMConstNull(type), "");
}

static LLVMValueRef int_min_max(sett__lower *l, bool max, bool sign, LLVMValueRef x, LLVMValueRef y)
{
    static const char *const name[2][2] = {{"llvm.umin", "llvm.smin"}, {"llvm.umax", "llvm.smax"}};
    LLVMValueRef in[2] = {x, y};
    return sett__ir_intrinsic(l, name[max][sign], LLVMTypeOf(x), in, 2);
}

LLVMValueRef sett__ir_binary(sett__lower *l, sett__code code, sett_dtype t, bool nonneg, LLVMValueRef x, LLVMValueRef y)
{
    if (sett__dtype_is_float(t))
        return float_binary(l, code, x, y);
    bool sign = is_signed(t);
    switch (code) {
    case SETT__ADD:
        return LLVMBuildAdd(l->b, x, y, "");
    case SETT__SUB:
        return LLVMIsNull(x) ? negate(l, y) : LLVMBuildSub(l->b, x, y, "");
    case SETT__MUL: /* by -1 LLVM would make it a neg */
        if (LLVMIsConstant(y) && y == LLVMConstAllOnes(LLVMTypeOf(y)))
            return negate(l, x);
        return LLVMBuildMul(l->b, x, y, "");
    case SETT__AND:
        return LLVMBuildAnd(l->b, x, y, "");
    case SETT__OR:
        return LLVMBuildOr(l->b, x, y, "");
    case SETT__XOR:
        return LLVMBuildXor(l->b, x, y, "");
    case SETT__DIV:
    case SETT__REM:
        return int_divide(l, code == SETT__REM, sign, nonneg, x, y);
    case SETT__MIN:
    case SETT__MAX:
        return int_min_max(l, code == SETT__MAX, sign, x, y);
    case SETT__SHL:
    case SETT__SHR:
        return shift(l, code == SETT__SHL, sign && !nonneg, x, y);
    default:
        sett__lower_fail(l, SETT_E_INTERNAL, "%s is not a binary operation", sett__ops[code].text);
        return x;
    }
}

static LLVMValueRef compare(sett__lower *l, sett__code code, sett_dtype t, LLVMValueRef x, LLVMValueRef y)
{
    static const LLVMIntPredicate ints[][2] = {{LLVMIntULT, LLVMIntSLT}, {LLVMIntULE, LLVMIntSLE},
        {LLVMIntUGT, LLVMIntSGT}, {LLVMIntUGE, LLVMIntSGE}, {LLVMIntEQ, LLVMIntEQ}, {LLVMIntNE, LLVMIntNE}};
    static const LLVMRealPredicate reals[] = {
        LLVMRealOLT, LLVMRealOLE, LLVMRealOGT, LLVMRealOGE, LLVMRealOEQ, LLVMRealUNE};
    int i = (int)code - SETT__LT;
    if (sett__dtype_is_float(t))
        return LLVMBuildFCmp(l->b, reals[i], x, y, "");
    return LLVMBuildICmp(l->b, ints[i][is_signed(t)], x, y, "");
}

/* rcp has no form in LLVM that keeps subnormals; the others are intrinsics without ftz. */
static LLVMValueRef approx_lane(sett__lower *l, const void *user, LLVMValueRef *in)
{
    static const char *const name[] = {"llvm.nvvm.ex2.approx", "llvm.nvvm.lg2.approx.f", NULL,
        "llvm.nvvm.rsqrt.approx.f", "llvm.nvvm.sin.approx.f", "llvm.nvvm.cos.approx.f", NULL};
    sett__code code = *(const sett__code *)user;
    LLVMTypeRef f32 = LLVMTypeOf(in[0]);
    if (code == SETT__RCPA)
        return sett__ir_asm(l, f32, "rcp.approx.f32 $0, $1;", "=f,f", false, in, 1);
    if (code == SETT__EX2F)
        return sett__ir_asm(l, f32, "ex2.approx.ftz.f32 $0, $1;", "=f,f", false, in, 1);
    if (code == SETT__TANHA)
        return sett__ir_asm(l, f32, "tanh.approx.f32 $0, $1;", "=f,f", false, in, 1);
    return sett__ir_intrinsic(l, name[code - SETT__EX2A], code == SETT__EX2A ? f32 : NULL, in, 1);
}

static LLVMValueRef unary(sett__lower *l, sett__code code, sett_dtype t, LLVMValueRef x)
{
    static const char *const rounding[] = {"llvm.sqrt", "llvm.floor", "llvm.ceil", "llvm.trunc", "llvm.roundeven"};
    LLVMTypeRef type = LLVMTypeOf(x);
    bool is_float = sett__dtype_is_float(t);
    LLVMValueRef in[2] = {x, LLVMConstNull(l->i1)};
    switch (code) {
    case SETT__NEG:
        return is_float ? LLVMBuildFNeg(l->b, x, "") : negate(l, x);
    case SETT__ABS:
        if (!is_float && is_16_bits(x))
            return sett__ir_by_lane(l, in_32_bits, "abs.s32 $0, $1;", LLVMIntTypeInContext(l->ctx, 16), in, 1);
        return sett__ir_intrinsic(l, is_float ? "llvm.fabs" : "llvm.abs", type, in, is_float ? 1 : 2);
    case SETT__NOT:
        return LLVMBuildNot(l->b, x, "");
    case SETT__POPC:
        return sett__ir_intrinsic(l, "llvm.ctpop", type, in, 1);
    case SETT__CLZ: /* in[1]: of 0 it is defined */
        return sett__ir_intrinsic(l, "llvm.ctlz", type, in, 2);
    case SETT__BREV:
        return sett__ir_intrinsic(l, "llvm.bitreverse", type, in, 1);
    case SETT__SQRT:
    case SETT__FLOOR:
    case SETT__CEIL:
    case SETT__TRUNC:
    case SETT__RINT:
        return sett__ir_intrinsic(l, rounding[code - SETT__SQRT], type, in, 1);
    default:
        return sett__ir_by_lane(l, approx_lane, &code, sett__ir_reg_type(l, t), in, 1);
    }
}

static LLVMValueRef one_piece(sett__lower *l, const sett__op *op, sett_dtype t, LLVMValueRef *in)
{
    switch (sett__ops[op->code].cls) {
    case SETT__C_BINARY:
        return sett__ir_binary(l, (sett__code)op->code, t, op->n_attrs > 0, in[0], in[1]);
    case SETT__C_COMPARE:
        return compare(l, (sett__code)op->code, t, in[0], in[1]);
    case SETT__C_TERNARY:
        return sett__ir_intrinsic(l, "llvm.fma", LLVMTypeOf(in[0]), in, 3);
    case SETT__C_SELECT:
        return LLVMBuildSelect(l->b, in[0], in[1], in[2], "");
    case SETT__C_UNARY:
        return unary(l, (sett__code)op->code, t, in[0]);
    default:
        return sett__ir_convert(l, t, (sett_dtype)op->dtype, in[0]);
    }
}

void sett__lower_elementwise(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    uint32_t piece = 0;
    sett_dtype t = (sett_dtype)sett__arg_of(l, op, op->code == SETT__SELECT ? 1 : 0)->dtype;
    if (op->code == SETT__FMA && t == SETT_BF16 && l->sm < 80) {
        sett__lower_fail(l, SETT_E_TARGET, "fma of bf16 needs sm_80");
        return;
    }
    for (uint32_t first = 0, width; first < op->n; first += width, piece++) {
        LLVMValueRef in[3] = {NULL, NULL, NULL};
        width = sett__ir_piece_width(op->n, first);
        for (int k = 0; k < op->n_args && k < 3; k++)
            in[k] = sett__ir_piece(l, sett__arg_op(l, op, k), piece, width);
        out[piece] = one_piece(l, op, t, in);
    }
}

void sett__lower_reduce(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    uint32_t value = sett__arg_op(l, op, 0), n = l->tape->op[value].n;
    LLVMValueRef acc = sett__ir_scalar(l, op, 1);
    for (uint32_t i = 0; i < n; i++)
        acc = sett__ir_binary(
            l, (sett__code)op->sub, (sett_dtype)op->dtype, false, acc, sett__ir_element(l, value, i));
    out[0] = acc;
}
