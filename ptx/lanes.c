/* SPDX-License-Identifier: Apache-2.0 */
/* Types, pieces and elements of values: see ptx.h. */
#include "ptx.h"
#include <string.h>

uint32_t sett__ir_piece_width(uint32_t n, uint32_t first)
{
    uint32_t rest = n - first, width = SETT__PIECE;
    while (width > rest)
        width /= 2;
    return width;
}

uint32_t sett__ir_pieces(uint32_t n)
{
    return n / SETT__PIECE + (uint32_t)__builtin_popcount(n % SETT__PIECE);
}

LLVMTypeRef sett__ir_reg_type(const sett__lower *l, int dtype)
{
    switch (dtype) {
    case SETT_BOOL:
        return l->i1;
    case SETT_F16:
        return LLVMHalfTypeInContext(l->ctx);
    case SETT_BF16:
        return LLVMBFloatTypeInContext(l->ctx);
    case SETT_F32:
        return LLVMFloatTypeInContext(l->ctx);
    case SETT_F64:
        return LLVMDoubleTypeInContext(l->ctx);
    default:
        return LLVMIntTypeInContext(l->ctx, 8u * (unsigned)sett__dtype_bytes((sett_dtype)dtype));
    }
}

LLVMTypeRef sett__ir_mem_type(const sett__lower *l, int dtype)
{
    return dtype == SETT_BOOL ? l->i8 : sett__ir_reg_type(l, dtype);
}

LLVMTypeRef sett__ir_vec_type(LLVMTypeRef element, uint32_t width)
{
    return width == 1 ? element : LLVMVectorType(element, width);
}

static uint32_t width_of(LLVMValueRef v)
{
    LLVMTypeRef t = LLVMTypeOf(v);
    return LLVMGetTypeKind(t) == LLVMVectorTypeKind ? LLVMGetVectorSize(t) : 1;
}

LLVMTypeRef sett__ir_like(LLVMTypeRef element, LLVMValueRef v)
{
    return sett__ir_vec_type(element, width_of(v));
}

LLVMValueRef sett__ir_splat(sett__lower *l, LLVMValueRef scalar, uint32_t width)
{
    if (width == 1)
        return scalar;
    LLVMValueRef all[SETT__PIECE];
    if (LLVMIsConstant(scalar)) {
        for (uint32_t i = 0; i < width; i++)
            all[i] = scalar;
        return LLVMConstVector(all, width);
    }
    LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(scalar), width);
    LLVMValueRef one = LLVMBuildInsertElement(l->b, LLVMGetPoison(type), scalar, sett__ir_int(l->i32, 0), "");
    LLVMTypeRef mask = LLVMVectorType(l->i32, width);
    return LLVMBuildShuffleVector(l->b, one, LLVMGetPoison(type), LLVMConstNull(mask), "");
}

LLVMValueRef sett__ir_int(LLVMTypeRef type, uint64_t x)
{
    if (LLVMGetTypeKind(type) != LLVMVectorTypeKind)
        return LLVMConstInt(type, x, 0);
    LLVMValueRef all[SETT__PIECE], one = LLVMConstInt(LLVMGetElementType(type), x, 0);
    for (unsigned i = 0; i < LLVMGetVectorSize(type); i++)
        all[i] = one;
    return LLVMConstVector(all, LLVMGetVectorSize(type));
}

LLVMValueRef sett__ir_bits_const(sett__lower *l, int dtype, uint64_t bits)
{
    LLVMTypeRef type = sett__ir_reg_type(l, dtype);
    if (dtype == SETT_BOOL)
        return LLVMConstInt(type, bits & 1, 0);
    if (sett__dtype_bytes((sett_dtype)dtype) < 8)
        bits &= (1ull << (8 * sett__dtype_bytes((sett_dtype)dtype))) - 1;
    if (sett__dtype_is_float((sett_dtype)dtype))
        return LLVMConstFPFromBits(type, &bits);
    return LLVMConstInt(type, bits, 0);
}

LLVMValueRef sett__ir_piece(sett__lower *l, uint32_t op, uint32_t piece, uint32_t width)
{
    if (l->tape->op[op].n == 1)
        return sett__ir_splat(l, l->val[op][0], width);
    return l->val[op][piece];
}

LLVMValueRef sett__ir_scalar(sett__lower *l, const sett__op *op, int k)
{
    return l->val[sett__arg_op(l, op, k)][0];
}

LLVMValueRef sett__ir_element(sett__lower *l, uint32_t op, uint32_t i)
{
    uint32_t n = l->tape->op[op].n, full = n / SETT__PIECE * SETT__PIECE;
    uint32_t piece = i / SETT__PIECE, first = piece * SETT__PIECE;
    if (n == 1)
        return l->val[op][0];
    if (i >= full) /* the tail: at most four pieces */
        while (i >= first + sett__ir_piece_width(n, first))
            first += sett__ir_piece_width(n, first), piece++;
    LLVMValueRef v = l->val[op][piece];
    return width_of(v) == 1 ? v : LLVMBuildExtractElement(l->b, v, sett__ir_int(l->i32, i - first), "");
}

/* Taken apart and put together again in place: the vector itself. */
static LLVMValueRef whole(LLVMTypeRef type, LLVMValueRef *from, uint32_t width)
{
    LLVMValueRef v = NULL;
    for (uint32_t i = 0; i < width; i++) {
        if (!LLVMIsAExtractElementInst(from[i]) || !LLVMIsAConstantInt(LLVMGetOperand(from[i], 1)))
            return NULL;
        if (LLVMConstIntGetZExtValue(LLVMGetOperand(from[i], 1)) != i || (v && v != LLVMGetOperand(from[i], 0)))
            return NULL;
        v = LLVMGetOperand(from[i], 0);
    }
    return LLVMTypeOf(v) == type ? v : NULL;
}

static LLVMValueRef gather(sett__lower *l, LLVMTypeRef element, LLVMValueRef *from, uint32_t width)
{
    if (width == 1)
        return from[0];
    LLVMTypeRef type = LLVMVectorType(element, width);
    LLVMValueRef v = whole(type, from, width);
    uint32_t same = 1;
    while (same < width && from[same] == from[0])
        same++;
    if (v || same == width)
        return v ? v : sett__ir_splat(l, from[0], width);
    v = LLVMGetPoison(type);
    for (uint32_t i = 0; i < width; i++)
        v = LLVMBuildInsertElement(l->b, v, from[i], sett__ir_int(l->i32, i), "");
    return v;
}

void sett__ir_collect(sett__lower *l, LLVMValueRef *out, uint32_t n, LLVMTypeRef element, LLVMValueRef *from)
{
    for (uint32_t first = 0, width; first < n; first += width) {
        width = sett__ir_piece_width(n, first);
        *out++ = gather(l, element, from + first, width);
    }
}

LLVMValueRef sett__ir_by_lane(
    sett__lower *l, sett__ir_lane_fn f, const void *user, LLVMTypeRef result, LLVMValueRef *operands, int n)
{
    uint32_t width = width_of(operands[0]);
    if (width == 1)
        return f(l, user, operands);
    LLVMValueRef lane[SETT__PIECE], in[3];
    for (uint32_t i = 0; i < width; i++) {
        for (int k = 0; k < n; k++)
            in[k] = LLVMBuildExtractElement(l->b, operands[k], sett__ir_int(l->i32, i), "");
        lane[i] = f(l, user, in);
    }
    return gather(l, result, lane, width);
}

LLVMValueRef sett__ir_intrinsic(sett__lower *l, const char *name, LLVMTypeRef overload, LLVMValueRef *args, unsigned n)
{
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    if (!id) {
        sett__lower_fail(l, SETT_E_INTERNAL, "LLVM has no %s", name);
        return LLVMGetPoison(overload ? overload : l->i32);
    }
    size_t types = overload ? 1 : 0;
    LLVMValueRef f = LLVMGetIntrinsicDeclaration(l->module, id, &overload, types);
    return LLVMBuildCall2(l->b, LLVMIntrinsicGetType(l->ctx, id, &overload, types), f, args, n, "");
}

LLVMValueRef sett__ir_asm(sett__lower *l, LLVMTypeRef result, const char *text, const char *constraints, bool effect,
    LLVMValueRef *args, unsigned n)
{
    LLVMTypeRef in[SETT__INLINE_OPERANDS];
    for (unsigned i = 0; i < n; i++)
        in[i] = LLVMTypeOf(args[i]);
    return sett__ir_asm_of(l, LLVMFunctionType(result, in, n, 0), text, constraints, effect, args, n);
}

LLVMValueRef sett__ir_asm_of(sett__lower *l, LLVMTypeRef type, const char *text, const char *constraints, bool effect,
    LLVMValueRef *args, unsigned n)
{
    LLVMValueRef f = LLVMGetInlineAsm(
        type, text, strlen(text), constraints, strlen(constraints), effect, 0, LLVMInlineAsmDialectATT, 0);
    return LLVMBuildCall2(l->b, type, f, args, n, "");
}

LLVMValueRef sett__ir_convergent(sett__lower *l, LLVMValueRef call)
{
    static const char name[] = "convergent";
    LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(l->ctx, LLVMGetEnumAttributeKindForName(name, sizeof name - 1), 0));
    return call;
}

LLVMBasicBlockRef sett__ir_block(sett__lower *l, const char *name)
{
    return LLVMAppendBasicBlockInContext(l->ctx, l->fn, name);
}

void sett__ir_enter(sett__lower *l, LLVMBasicBlockRef block)
{
    LLVMPositionBuilderAtEnd(l->b, block);
}
