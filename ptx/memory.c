/* SPDX-License-Identifier: Apache-2.0 */
/* Roots, loads and stores. An access is root + base + constant: the constant is its own
 * getelementptr, so that accesses which share a base share its address register. */
#include "ptx.h"

static LLVMValueRef smem_window(sett__lower *l)
{
    if (l->smem)
        return l->smem;
    uint32_t size = l->tape->sig.smem, align = l->tape->sig.smem_align;
    bool is_static = sett__smem_static(&l->tape->sig);
    l->smem = LLVMAddGlobalInAddressSpace(l->module, LLVMArrayType2(l->i8, is_static ? size : 0), "smem", 3);
    LLVMSetLinkage(l->smem, is_static ? LLVMInternalLinkage : LLVMExternalLinkage);
    if (is_static)
        LLVMSetInitializer(l->smem, LLVMGetPoison(LLVMArrayType2(l->i8, size)));
    LLVMSetAlignment(l->smem, align > 16 ? align : 16);
    return l->smem;
}

static LLVMValueRef offset(sett__lower *l, LLVMTypeRef element, LLVMValueRef p, int64_t n)
{
    LLVMValueRef at = LLVMConstInt(l->i64, (uint64_t)n, 1);
    return n ? LLVMBuildGEP2(l->b, element, p, &at, 1, "") : p;
}

static LLVMValueRef rmem(sett__lower *l, const sett__op *op)
{
    LLVMBasicBlockRef here = LLVMGetInsertBlock(l->b);
    sett__ir_enter(l, l->allocas);
    LLVMValueRef v = LLVMBuildAlloca(l->b, LLVMArrayType2(sett__ir_mem_type(l, op->dtype), op->n), "rmem");
    LLVMSetAlignment(v, 16); /* what align_at counts on */
    sett__ir_enter(l, here);
    return v;
}

void sett__lower_root(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    if (op->code == SETT__PARAM)
        out[0] = LLVMGetParam(l->fn, (unsigned)op->imm);
    else if (op->code == SETT__TMAP)
        out[0] = LLVMGetParam(l->fn, l->tape->sig.n_param + l->tape->sig.n_sym + (unsigned)op->imm);
    else if (op->code == SETT__SMEM)
        out[0] = offset(l, l->i8, smem_window(l), op->n ? op->imm : (int64_t)l->tape->sig.smem);
    else if (op->code == SETT__GMEM)
        out[0] = LLVMBuildIntToPtr(l->b, sett__ir_scalar(l, op, 0), LLVMPointerTypeInContext(l->ctx, 1), "");
    else if (op->code == SETT__PEER)
        out[0] = sett__ir_intrinsic(l, "llvm.nvvm.mapa.shared.cluster", NULL, (LLVMValueRef[]){sett__ir_scalar(l, op, 0), sett__ir_scalar(l, op, 1)}, 2);
    else
        out[0] = rmem(l, op);
}

LLVMValueRef sett__ir_place(sett__lower *l, const sett__op *op, int k, LLVMTypeRef element, int64_t imm)
{
    LLVMValueRef p = sett__ir_scalar(l, op, k);
    const sett__op *base = sett__arg_of(l, op, k + 1);
    if (base) {
        LLVMValueRef at = sett__ir_scalar(l, op, k + 1); /* getelementptr extends by the sign */
        if (sett__dtype_kind((sett_dtype)base->dtype) == 'u')
            at = LLVMBuildZExt(l->b, at, l->i64, "");
        p = LLVMBuildGEP2(l->b, element, p, &at, 1, "");
    }
    return offset(l, element, p, imm);
}

LLVMValueRef sett__ir_address(sett__lower *l, const sett__op *op, int dtype)
{
    return sett__ir_place(l, op, 0, sett__ir_mem_type(l, dtype), op->imm);
}

/* Alignment of element `first` of an access. More than 16 bytes is of no use, and more than
 * what an rmem root has. */
static unsigned align_at(const sett__op *op, int dtype, uint32_t first)
{
    uint64_t at = (uint64_t)first * (unsigned)sett__dtype_bytes((sett_dtype)dtype);
    unsigned align = 1u << (op->sub < 4 ? op->sub : 4);
    while (at % align)
        align /= 2;
    return align;
}

static LLVMValueRef load_piece(sett__lower *l, const sett__op *op, LLVMTypeRef type, uint32_t width, uint32_t first, LLVMValueRef p)
{
    unsigned align = align_at(op, op->dtype, first);
    if (sett__attr(l->tape->arg, op, SETT__AT_ACCESS_CACHE))
        return sett__ir_cached_load(l, op, type, width * (unsigned)sett__dtype_bytes((sett_dtype)op->dtype), align, p);
    LLVMValueRef v = LLVMBuildLoad2(l->b, type, p, "");
    LLVMSetAlignment(v, align);
    LLVMSetVolatile(v, sett__attr(l->tape->arg, op, SETT__AT_ACCESS_VOLATILE));
    return v;
}

static void load_pieces(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    LLVMTypeRef element = sett__ir_mem_type(l, op->dtype);
    LLVMValueRef p = sett__ir_address(l, op, op->dtype);
    for (uint32_t first = 0, width; first < op->n; first += width, out++) {
        width = sett__ir_piece_width(op->n, first);
        LLVMValueRef v = load_piece(l, op, sett__ir_vec_type(element, width), width, first, offset(l, element, p, first));
        *out = op->dtype == SETT_BOOL ? LLVMBuildICmp(l->b, LLVMIntNE, v, LLVMConstNull(LLVMTypeOf(v)), "") : v;
    }
}

/* What a false predicate leaves in piece i. */
static LLVMValueRef fill(sett__lower *l, const sett__op *op, uint32_t piece, uint32_t width)
{
    uint32_t arg = sett__arg_op(l, op, 3);
    if (arg == SETT__NONE)
        return LLVMConstNull(sett__ir_vec_type(sett__ir_reg_type(l, op->dtype), width));
    return sett__ir_piece(l, arg, piece, width);
}

void sett__lower_load(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    if (!sett__arg_of(l, op, 2)) {
        load_pieces(l, op, out);
        return;
    }
    uint32_t piece = 0;
    for (uint32_t first = 0, width; first < op->n; first += width) {
        width = sett__ir_piece_width(op->n, first);
        l->scratch[piece] = fill(l, op, piece, width);
        piece++;
    }
    LLVMBasicBlockRef from = LLVMGetInsertBlock(l->b), then = sett__ir_block(l, "load"),
                      done = sett__ir_block(l, "loaded");
    LLVMBuildCondBr(l->b, sett__ir_scalar(l, op, 2), then, done);
    sett__ir_enter(l, then);
    load_pieces(l, op, out);
    then = LLVMGetInsertBlock(l->b);
    LLVMBuildBr(l->b, done);
    sett__ir_enter(l, done);
    for (uint32_t i = 0; i < piece; i++) {
        LLVMValueRef phi = LLVMBuildPhi(l->b, LLVMTypeOf(out[i]), "");
        LLVMAddIncoming(phi, (LLVMValueRef[]){out[i], l->scratch[i]}, (LLVMBasicBlockRef[]){then, from}, 2);
        out[i] = phi;
    }
}

static void store_pieces(sett__lower *l, const sett__op *op)
{
    uint32_t value = sett__arg_op(l, op, 3), n = l->tape->op[value].n, piece = 0;
    int dtype = l->tape->op[value].dtype;
    LLVMTypeRef element = sett__ir_mem_type(l, dtype);
    LLVMValueRef p = sett__ir_address(l, op, dtype);
    for (uint32_t first = 0, width; first < n; first += width, piece++) {
        width = sett__ir_piece_width(n, first);
        LLVMValueRef v = l->val[value][piece];
        if (dtype == SETT_BOOL)
            v = LLVMBuildZExt(l->b, v, sett__ir_like(l->i8, v), "");
        unsigned align = align_at(op, dtype, first);
        if (sett__attr(l->tape->arg, op, SETT__AT_ACCESS_CACHE)) {
            sett__ir_cached_store(l, op, v, width * (unsigned)sett__dtype_bytes((sett_dtype)dtype), align, offset(l, element, p, first));
            continue;
        }
        LLVMValueRef s = LLVMBuildStore(l->b, v, offset(l, element, p, first));
        LLVMSetAlignment(s, align);
        LLVMSetVolatile(s, sett__attr(l->tape->arg, op, SETT__AT_ACCESS_VOLATILE));
    }
}

void sett__lower_store(sett__lower *l, const sett__op *op)
{
    LLVMBasicBlockRef done = sett__ir_when(l, op, 2, "store", "stored");
    store_pieces(l, op);
    sett__ir_done(l, done);
}
