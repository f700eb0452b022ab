/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions between numbers, and the same bits as another type. */
#include "ptx.h"

static unsigned bits_of(LLVMTypeRef t)
{
    return LLVMGetTypeKind(t) == LLVMVectorTypeKind ? LLVMGetIntTypeWidth(LLVMGetElementType(t))
                                                    : LLVMGetIntTypeWidth(t);
}

static LLVMValueRef resize(sett__lower *l, LLVMValueRef x, LLVMTypeRef to, bool sign)
{
    unsigned have = bits_of(LLVMTypeOf(x)), want = bits_of(to);
    if (have == want)
        return x;
    if (have > want)
        return LLVMBuildTrunc(l->b, x, to, "");
    return sign ? LLVMBuildSExt(l->b, x, to, "") : LLVMBuildZExt(l->b, x, to, "");
}

/* 32- and 64-bit integers to bf16 before sm_90: LLVM would round twice, through f32. Round
 * toward zero and keep in the last bit whether anything was lost: f32 has more than two bits
 * to spare, so the second rounding is then the only one. */
static LLVMValueRef int_to_odd(sett__lower *l, const void *user, LLVMValueRef *in)
{
    static const char *const name[2][2][2] = {
        {{"llvm.nvvm.ui2f.rz", "llvm.nvvm.f2ui.rz"}, {"llvm.nvvm.i2f.rz", "llvm.nvvm.f2i.rz"}},
        {{"llvm.nvvm.ull2f.rz", "llvm.nvvm.f2ull.rz"}, {"llvm.nvvm.ll2f.rz", "llvm.nvvm.f2ll.rz"}}};
    const char *const *f = name[bits_of(LLVMTypeOf(in[0])) == 64][*(const bool *)user];
    LLVMTypeRef f32 = LLVMFloatTypeInContext(l->ctx);
    LLVMValueRef x = sett__ir_intrinsic(l, f[0], NULL, in, 1), back = sett__ir_intrinsic(l, f[1], NULL, &x, 1);
    LLVMValueRef lost = LLVMBuildICmp(l->b, LLVMIntNE, back, in[0], "");
    LLVMValueRef odd =
        LLVMBuildOr(l->b, LLVMBuildBitCast(l->b, x, l->i32, ""), LLVMBuildZExt(l->b, lost, l->i32, ""), "");
    return LLVMBuildFPTrunc(l->b, LLVMBuildBitCast(l->b, odd, f32, ""), LLVMBFloatTypeInContext(l->ctx), "");
}

static LLVMValueRef from_int(sett__lower *l, sett_dtype to, bool sign, LLVMValueRef x)
{
    LLVMTypeRef scalar = sett__ir_reg_type(l, to), type = sett__ir_like(scalar, x);
    if (to == SETT_BF16 && l->sm < 90) {
        if (bits_of(LLVMTypeOf(x)) >= 32)
            return sett__ir_by_lane(l, int_to_odd, &sign, scalar, &x, 1);
        LLVMTypeRef f32 = sett__ir_like(LLVMFloatTypeInContext(l->ctx), x); /* holds 16 bits exactly */
        x = sign ? LLVMBuildSIToFP(l->b, x, f32, "") : LLVMBuildUIToFP(l->b, x, f32, "");
        return LLVMBuildFPTrunc(l->b, x, type, "");
    }
    return sign ? LLVMBuildSIToFP(l->b, x, type, "") : LLVMBuildUIToFP(l->b, x, type, "");
}

/* The hardware truncates and saturates at 32 and 64 bits, and gives 0 for a NaN unless
 * 64 bits are on either side. Narrower results are clamped from 32 bits. */
static LLVMValueRef to_int(sett__lower *l, const void *user, LLVMValueRef *in)
{
    static const char *const name[2][2][2] = {
        {{"llvm.nvvm.f2ui.rz", "llvm.nvvm.f2i.rz"}, {"llvm.nvvm.f2ull.rz", "llvm.nvvm.f2ll.rz"}},
        {{"llvm.nvvm.d2ui.rz", "llvm.nvvm.d2i.rz"}, {"llvm.nvvm.d2ull.rz", "llvm.nvvm.d2ll.rz"}}};
    sett_dtype to = *(const sett_dtype *)user;
    bool sign = sett__dtype_kind(to) == 'i';
    unsigned bits = (unsigned)sett_dtype_bits(to);
    bool f64 = LLVMGetTypeKind(LLVMTypeOf(in[0])) == LLVMDoubleTypeKind, wide = bits == 64;
    LLVMValueRef v = sett__ir_intrinsic(l, name[f64][wide][sign], NULL, in, 1);
    if (f64 || wide) {
        LLVMValueRef nan = LLVMBuildFCmp(l->b, LLVMRealUNO, in[0], in[0], "");
        v = LLVMBuildSelect(l->b, nan, LLVMConstNull(LLVMTypeOf(v)), v, "");
    }
    if (bits >= 32)
        return v;
    LLVMValueRef most[2] = {v, sett__ir_int(l->i32, (1ull << (sign ? bits - 1 : bits)) - 1)};
    v = sett__ir_intrinsic(l, sign ? "llvm.smin" : "llvm.umin", l->i32, most, 2);
    LLVMValueRef least[2] = {v, LLVMConstInt(l->i32, (unsigned long long)-(1ll << (bits - 1)), 1)};
    if (sign)
        v = sett__ir_intrinsic(l, "llvm.smax", l->i32, least, 2);
    return LLVMBuildTrunc(l->b, v, sett__ir_reg_type(l, to), "");
}

static LLVMValueRef float_to_float(sett__lower *l, sett_dtype from, sett_dtype to, LLVMValueRef x)
{
    int have = sett_dtype_bits(from), want = sett_dtype_bits(to);
    LLVMTypeRef type = sett__ir_like(sett__ir_reg_type(l, to), x);
    if (from == to)
        return x;
    if (have == want) /* f16 and bf16: up exactly, then one rounding */
        return LLVMBuildFPTrunc(
            l->b, LLVMBuildFPExt(l->b, x, sett__ir_like(LLVMFloatTypeInContext(l->ctx), x), ""), type, "");
    return have < want ? LLVMBuildFPExt(l->b, x, type, "") : LLVMBuildFPTrunc(l->b, x, type, "");
}

LLVMValueRef sett__ir_convert(sett__lower *l, sett_dtype from, sett_dtype to, LLVMValueRef x)
{
    bool float_in = sett__dtype_is_float(from), float_out = sett__dtype_is_float(to);
    if (to == SETT_BOOL) {
        LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(x));
        return float_in ? LLVMBuildFCmp(l->b, LLVMRealUNE, x, zero, "") : LLVMBuildICmp(l->b, LLVMIntNE, x, zero, "");
    }
    if (float_in && float_out)
        return float_to_float(l, from, to, x);
    if (float_out)
        return from_int(l, to, sett__dtype_kind(from) == 'i', x);
    if (!float_in)
        return resize(l, x, sett__ir_like(sett__ir_reg_type(l, to), x), sett__dtype_kind(from) == 'i');
    if (sett_dtype_bits(from) == 16)
        x = LLVMBuildFPExt(l->b, x, sett__ir_like(LLVMFloatTypeInContext(l->ctx), x), "");
    return sett__ir_by_lane(l, to_int, &to, sett__ir_reg_type(l, to), &x, 1);
}

/* Elements first..first+count of a value as one vector. */
static LLVMValueRef some(sett__lower *l, uint32_t op, uint32_t first, uint32_t count)
{
    LLVMValueRef from[SETT__PIECE], out[SETT__PIECE];
    for (uint32_t i = 0; i < count; i++)
        from[i] = sett__ir_element(l, op, first + i);
    sett__ir_collect(l, out, count, LLVMTypeOf(from[0]), from);
    return out[0];
}

/* Widths differ by a power of two, at most 8: `ratio` narrow elements are one wide one. */
void sett__lower_bitcast(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    uint32_t in = sett__arg_op(l, op, 0), n = l->tape->op[in].n;
    LLVMTypeRef to = sett__ir_reg_type(l, op->dtype);
    if (n == op->n) {
        for (uint32_t i = 0; i < sett__ir_pieces(n); i++)
            out[i] = LLVMBuildBitCast(l->b, l->val[in][i], sett__ir_like(to, l->val[in][i]), "");
        return;
    }
    uint32_t ratio = n > op->n ? n / op->n : op->n / n;
    for (uint32_t i = 0; i < (n > op->n ? op->n : n); i++) {
        if (n > op->n) {
            l->scratch[i] = LLVMBuildBitCast(l->b, some(l, in, i * ratio, ratio), to, "");
            continue;
        }
        LLVMValueRef v = LLVMBuildBitCast(l->b, sett__ir_element(l, in, i), LLVMVectorType(to, ratio), "");
        for (uint32_t k = 0; k < ratio; k++)
            l->scratch[i * ratio + k] = LLVMBuildExtractElement(l->b, v, sett__ir_int(l->i32, k), "");
    }
    sett__ir_collect(l, out, op->n, to, l->scratch);
}
