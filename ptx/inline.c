/* SPDX-License-Identifier: Apache-2.0 */
/* PTX that the user wrote. Its text goes to LLVM as it is: operands are named in LLVM's way, and braces and % mean nothing to
 * it. In front stands a comment with the op's number, by which the engine finds whose text an assembler refuses. */
#include "ptx.h"
#include <string.h>

/* The register of a type, and the letter that asks for it. */
static LLVMTypeRef register_of(const sett__lower *l, int dtype, char *letter)
{
    int bytes = sett__dtype_bytes((sett_dtype)dtype);
    *letter = dtype == SETT_BOOL  ? 'b'
              : dtype == SETT_F32 ? 'f'
              : dtype == SETT_F64 ? 'd'
              : bytes == 8        ? 'l'
              : bytes == 4        ? 'r'
                                  : 'h';
    return bytes < 4 && dtype != SETT_BOOL ? l->i16 : sett__ir_reg_type(l, dtype);
}

static LLVMValueRef to_register(sett__lower *l, int dtype, LLVMTypeRef type, LLVMValueRef v)
{
    if (dtype == SETT_BOOL || sett__dtype_bytes((sett_dtype)dtype) > 2)
        return v;
    if (sett__dtype_bytes((sett_dtype)dtype) == 2)
        return LLVMBuildBitCast(l->b, v, type, "");
    return dtype == SETT_I8 ? LLVMBuildSExt(l->b, v, type, "") : LLVMBuildZExt(l->b, v, type, "");
}

static LLVMValueRef from_register(sett__lower *l, int dtype, LLVMValueRef v)
{
    LLVMTypeRef type = sett__ir_reg_type(l, dtype);
    return dtype != SETT_BOOL && sett__dtype_bytes((sett_dtype)dtype) == 1 ? LLVMBuildTrunc(l->b, v, type, "") : LLVMBuildBitCast(l->b, v, type, "");
}

/* The bits of a result, low aligned in 64. */
static LLVMValueRef bits64(sett__lower *l, int dtype, LLVMValueRef v)
{
    unsigned bits = dtype == SETT_BOOL ? 1 : 8u * (unsigned)sett__dtype_bytes((sett_dtype)dtype);
    return LLVMBuildZExt(l->b, LLVMBuildBitCast(l->b, v, LLVMIntTypeInContext(l->ctx, bits), ""), l->i64, "");
}

static void take_results(sett__lower *l, const sett__op *op, const sett__inline *x, LLVMValueRef call, LLVMValueRef *out)
{
    for (uint32_t r = 0; r < x->n_result; r++) {
        LLVMValueRef v = x->n_result == 1 ? call : LLVMBuildExtractValue(l->b, call, r, "");
        v = from_register(l, x->result[r], v);
        l->scratch[r] = x->n_result == 1 ? v : bits64(l, x->result[r], v);
    }
    if (x->n_result)
        sett__ir_collect(l, out, op->n, sett__ir_reg_type(l, op->dtype), l->scratch);
}

void sett__lower_inline(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    char regs[5 * SETT__INLINE_RESULTS + 2 * SETT__INLINE_OPERANDS + 16], what[SETT__INLINE_WHAT], letter;
    LLVMTypeRef type[SETT__INLINE_RESULTS], result = LLVMVoidTypeInContext(l->ctx);
    LLVMValueRef in[SETT__INLINE_OPERANDS];
    sett__inline x;
    size_t n = 0;
    if (!sett__inline_read(l->tape->string[op->imm], op->n_args, &x, what)) {
        sett__lower_fail(l, SETT_E_VERIFY, "%s", what);
        return;
    }
    for (uint32_t r = 0; r < x.n_result; r++) { /* written before the operands are read, maybe */
        type[r] = register_of(l, x.result[r], &letter);
        n += (size_t)snprintf(regs + n, sizeof regs - n, "=&%c,", letter);
    }
    if (x.n_result)
        result = x.n_result == 1 ? type[0] : LLVMStructTypeInContext(l->ctx, type, x.n_result, 0);
    for (int k = 0; k < op->n_args; k++) {
        int dtype = sett__arg_of(l, op, k)->dtype;
        LLVMTypeRef reg = register_of(l, dtype, &letter);
        in[k] = to_register(l, dtype, reg, sett__ir_scalar(l, op, k));
        n += (size_t)snprintf(regs + n, sizeof regs - n, "%c,", letter);
    }
    bool memory = sett__attr(l->tape->arg, op, SETT__AT_INLINE_MEMORY);
    snprintf(regs + n, sizeof regs - n, "%s", memory ? "~{memory}" : "");
    regs[n && !memory ? n - 1 : sizeof regs - 1] = 0;
    char *text = (char *)sett__mem_alloc(NULL, strlen(x.text) + 40);
    if (!text) {
        sett__lower_fail(l, SETT_E_MEMORY, "out of memory");
        return;
    }
    sprintf(text, SETT__INLINE_MARK "%u\n\t%s", (unsigned)(op - l->tape->op), x.text);
    bool effect = op->code == SETT__PTXV;
    LLVMValueRef call = sett__ir_asm(l, result, text, regs, effect, in, op->n_args);
    sett__mem_free(NULL, text);
    if (effect) /* it may wait for other lanes */
        sett__ir_convergent(l, call);
    take_results(l, op, &x, call, out);
}
