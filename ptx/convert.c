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

static LLVMValueRef element(sett__lower *l, LLVMValueRef v, unsigned i)
{
    return LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMVectorTypeKind ? LLVMBuildExtractElement(l->b, v, sett__ir_int(l->i32, i), "") : v;
}

/* Elements i and i + 1 of r are those of a pair. */
static LLVMValueRef put_pair(sett__lower *l, LLVMValueRef r, unsigned i, LLVMValueRef pair)
{
    for (unsigned k = 0; k < 2; k++)
        r = LLVMBuildInsertElement(l->b, r, element(l, pair, k), sett__ir_int(l->i32, i + k), "");
    return r;
}

/* Float32 to 16 bits. From sm_80 on one instruction converts two. LLVM would convert one at a time where an element of the
 * result is also used by itself, so its own conversion of a vector will not do. */
static LLVMValueRef round_to_16(sett__lower *l, sett_dtype to, LLVMValueRef x)
{
    LLVMTypeRef scalar = sett__ir_reg_type(l, to), type = sett__ir_like(scalar, x);
    bool vector = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
    if (!vector || l->sm < 80)
        return LLVMBuildFPTrunc(l->b, x, type, "");
    const char *name = to == SETT_BF16 ? "llvm.nvvm.ff2bf16x2.rn" : "llvm.nvvm.ff2f16x2.rn";
    LLVMValueRef r = LLVMGetPoison(type);
    for (unsigned i = 0; i < LLVMGetVectorSize(type); i += 2) { /* pieces are powers of two */
        LLVMValueRef in[2] = {element(l, x, i + 1), element(l, x, i)}; /* the first operand is the upper one */
        r = put_pair(l, r, i, sett__ir_intrinsic(l, name, NULL, in, 2));
    }
    return r;
}

static LLVMValueRef float_to_float(sett__lower *l, sett_dtype from, sett_dtype to, LLVMValueRef x)
{
    int have = sett_dtype_bits(from), want = sett_dtype_bits(to);
    LLVMTypeRef type = sett__ir_like(sett__ir_reg_type(l, to), x);
    if (from == to)
        return x;
    if (have == want) /* f16 and bf16: up exactly, then one rounding */
        return round_to_16(l, to, LLVMBuildFPExt(l->b, x, sett__ir_like(LLVMFloatTypeInContext(l->ctx), x), ""));
    if (from == SETT_F32 && want == 16)
        return round_to_16(l, to, x);
    return have < want ? LLVMBuildFPExt(l->b, x, type, "") : LLVMBuildFPTrunc(l->b, x, type, "");
}

/* ---- floats of 8 bits ------------------------------------------------------------------ */
static const struct f8 { const char *to, *from; int mant, bias, most; } f8s[] = {
    {"llvm.nvvm.ff.to.e4m3x2.rn", "llvm.nvvm.e4m3x2.to.f16x2.rn", 3, 7, 0x7e},
    {"llvm.nvvm.ff.to.e5m2x2.rn", "llvm.nvvm.e5m2x2.to.f16x2.rn", 2, 15, 0x7b}};

/* To nearest even, at most the greatest number, NaN 0x7f. Before sm_90 on the bits: what is below the normal numbers
 * rounds in a sum with a number whose last place is their step. */
static LLVMValueRef f8_by_bits(sett__lower *l, const struct f8 *f, LLVMValueRef x)
{
    LLVMTypeRef i32 = sett__ir_like(l->i32, x), f32 = LLVMTypeOf(x);
    LLVMValueRef u = LLVMBuildBitCast(l->b, x, i32, ""), m = LLVMBuildAnd(l->b, u, sett__ir_int(i32, 0x7fffffff), "");
    LLVMValueRef shift = sett__ir_int(i32, (uint64_t)(23 - f->mant)), one = sett__ir_int(i32, 1);
    LLVMValueRef r = LLVMBuildAdd(l->b, m, sett__ir_int(i32, (1u << (22 - f->mant)) - 1), "");
    r = LLVMBuildAdd(l->b, r, LLVMBuildAnd(l->b, LLVMBuildLShr(l->b, m, shift, ""), one, ""), "");
    r = LLVMBuildSub(l->b, LLVMBuildLShr(l->b, r, shift, ""), sett__ir_int(i32, (uint64_t)(127 - f->bias) << f->mant), "");
    LLVMValueRef magic = sett__ir_int(i32, (uint64_t)(127 + 24 - f->bias - f->mant) << 23);
    LLVMValueRef sum = LLVMBuildFAdd(l->b, LLVMBuildBitCast(l->b, m, f32, ""), LLVMBuildBitCast(l->b, magic, f32, ""), "");
    LLVMValueRef tiny = LLVMBuildSub(l->b, LLVMBuildBitCast(l->b, sum, i32, ""), magic, "");
    LLVMValueRef small = LLVMBuildICmp(l->b, LLVMIntULT, m, sett__ir_int(i32, (uint64_t)(128 - f->bias) << 23), "");
    LLVMValueRef least[2] = {LLVMBuildSelect(l->b, small, tiny, r, ""), sett__ir_int(i32, (uint64_t)f->most)};
    LLVMValueRef sign = LLVMBuildAnd(l->b, LLVMBuildLShr(l->b, u, sett__ir_int(i32, 24), ""), sett__ir_int(i32, 0x80), "");
    r = LLVMBuildOr(l->b, sett__ir_intrinsic(l, "llvm.umin", i32, least, 2), sign, "");
    LLVMValueRef nan = LLVMBuildICmp(l->b, LLVMIntUGT, m, sett__ir_int(i32, 0x7f800000), "");
    r = LLVMBuildSelect(l->b, nan, sett__ir_int(i32, 0x7f), r, "");
    return LLVMBuildTrunc(l->b, r, sett__ir_like(LLVMInt8TypeInContext(l->ctx), x), "");
}

/* f16 has e5m2's exponents, and e4m3's times 2^8. */
static LLVMValueRef f16_by_bits(sett__lower *l, const struct f8 *f, LLVMValueRef x)
{
    LLVMTypeRef i16 = sett__ir_like(LLVMIntTypeInContext(l->ctx, 16), x), f16 = sett__ir_like(LLVMHalfTypeInContext(l->ctx), x);
    LLVMValueRef h = LLVMBuildZExt(l->b, x, i16, ""), m = LLVMBuildAnd(l->b, h, sett__ir_int(i16, 0x7f), "");
    LLVMValueRef sign = LLVMBuildShl(l->b, LLVMBuildAnd(l->b, h, sett__ir_int(i16, 0x80), ""), sett__ir_int(i16, 8), "");
    LLVMValueRef r = LLVMBuildShl(l->b, m, sett__ir_int(i16, (uint64_t)(10 - f->mant)), "");
    if (f->mant == 3) {
        LLVMValueRef scale = LLVMConstReal(f16, 256);
        if (LLVMGetTypeKind(f16) == LLVMVectorTypeKind)
            scale = sett__ir_splat(l, LLVMConstReal(LLVMGetElementType(f16), 256), LLVMGetVectorSize(f16));
        r = LLVMBuildBitCast(l->b, LLVMBuildFMul(l->b, LLVMBuildBitCast(l->b, r, f16, ""), scale, ""), i16, "");
    }
    r = LLVMBuildOr(l->b, r, sign, "");
    LLVMValueRef nan = LLVMBuildICmp(l->b, LLVMIntUGT, m, sett__ir_int(i16, f->mant == 3 ? 0x7e : 0x7c), "");
    return LLVMBuildBitCast(l->b, LLVMBuildSelect(l->b, nan, sett__ir_int(i16, 0x7fff), r, ""), f16, "");
}

/* The hardware does two at a time; the first operand is the upper one. */
static LLVMValueRef f8_by_pairs(sett__lower *l, const struct f8 *f, bool widen, LLVMValueRef x)
{
    bool vector = LLVMGetTypeKind(LLVMTypeOf(x)) == LLVMVectorTypeKind;
    unsigned n = vector ? LLVMGetVectorSize(LLVMTypeOf(x)) : 1;
    LLVMTypeRef i8 = LLVMInt8TypeInContext(l->ctx), i16 = LLVMIntTypeInContext(l->ctx, 16);
    LLVMTypeRef to = widen ? LLVMHalfTypeInContext(l->ctx) : i8, pair = LLVMVectorType(i8, 2);
    LLVMValueRef r = LLVMGetPoison(sett__ir_like(to, x));
    for (unsigned i = 0; i < n; i += 2) {
        LLVMValueRef low = element(l, x, i), high = i + 1 < n ? element(l, x, i + 1) : low, in[2] = {high, low}, both;
        if (widen) {
            LLVMValueRef v = LLVMBuildInsertElement(l->b, LLVMGetPoison(pair), low, sett__ir_int(l->i32, 0), "");
            v = LLVMBuildInsertElement(l->b, v, high, sett__ir_int(l->i32, 1), "");
            v = LLVMBuildBitCast(l->b, v, i16, "");
            both = sett__ir_intrinsic(l, f->from, NULL, &v, 1);
        } else {
            both = LLVMBuildBitCast(l->b, sett__ir_intrinsic(l, f->to, NULL, in, 2), pair, "");
        }
        if (!vector)
            return LLVMBuildExtractElement(l->b, both, sett__ir_int(l->i32, 0), "");
        for (unsigned k = i; k < i + 2 && k < n; k++)
            r = LLVMBuildInsertElement(l->b, r, LLVMBuildExtractElement(l->b, both, sett__ir_int(l->i32, k - i), ""), sett__ir_int(l->i32, k), "");
    }
    return r;
}

static LLVMValueRef f8_convert(sett__lower *l, sett_dtype from, sett_dtype to, LLVMValueRef x)
{
    bool widen = to == SETT_F16;
    const struct f8 *f = &f8s[(widen ? from : to) == SETT_F8E5M2];
    if (l->sm >= 90)
        return f8_by_pairs(l, f, widen, x);
    return widen ? f16_by_bits(l, f, x) : f8_by_bits(l, f, x);
}

LLVMValueRef sett__ir_convert(sett__lower *l, sett_dtype from, sett_dtype to, LLVMValueRef x)
{
    bool float_in = sett__dtype_is_float(from), float_out = sett__dtype_is_float(to);
    if (to == SETT_BOOL) {
        LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(x));
        return float_in ? LLVMBuildFCmp(l->b, LLVMRealUNE, x, zero, "") : LLVMBuildICmp(l->b, LLVMIntNE, x, zero, "");
    }
    if (sett__dtype_kind(from) == 's' || sett__dtype_kind(to) == 's')
        return f8_convert(l, from, to, x);
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
