/* SPDX-License-Identifier: Apache-2.0 */
/* printf by the driver's vprintf(format, packed arguments), assert by its __assertfail:
 * both are symbols that every CUDA driver and assembler provide. */
#include "ptx.h"
#include <string.h>

typedef enum conversion { END, INT32, INT64, REAL, BAD } conversion;

/* The next conversion at or after *at; C's rules, less `*`, `n`, `s` and long double. */
static conversion next(const char **at)
{
    const char *s = *at;
    int longs = 0;
    while ((s = strchr(s, '%')) && s[1] == '%')
        s += 2;
    if (!s)
        return END;
    s++;
    s += strspn(s, "-+ #0");
    s += strspn(s, "0123456789");
    if (*s == '.')
        s += 1 + strspn(s + 1, "0123456789");
    for (; *s && strchr("hljzt", *s); s++)
        longs += *s != 'h';
    if (!*s)
        return BAD;
    *at = s + 1;
    if (strchr("fFeEgGaA", *s))
        return REAL;
    if (*s == 'p')
        return INT64;
    return strchr("diouxXc", *s) ? (longs ? INT64 : INT32) : BAD;
}

static LLVMValueRef text(sett__lower *l, const char *s)
{
    LLVMValueRef init = LLVMConstStringInContext2(l->ctx, s, strlen(s), 0);
    LLVMValueRef v = LLVMAddGlobalInAddressSpace(l->module, LLVMTypeOf(init), "text", 1);
    LLVMSetInitializer(v, init);
    LLVMSetGlobalConstant(v, 1);
    LLVMSetLinkage(v, LLVMPrivateLinkage);
    LLVMSetUnnamedAddress(v, LLVMGlobalUnnamedAddr);
    return LLVMBuildAddrSpaceCast(l->b, v, l->ptr, "");
}

static LLVMValueRef callee(sett__lower *l, const char *name, LLVMTypeRef type)
{
    LLVMValueRef f = LLVMGetNamedFunction(l->module, name);
    return f ? f : LLVMAddFunction(l->module, name, type);
}

/* As C promotes: floats to double, integers to what the conversion takes, by their sign. */
static LLVMValueRef promote(sett__lower *l, conversion c, sett_dtype t, LLVMValueRef v)
{
    if (c == REAL)
        return sett__ir_convert(l, t, SETT_F64, v);
    bool sign = sett__dtype_kind(t) == 'i';
    return sett__ir_convert(l, t, c == INT64 ? (sign ? SETT_I64 : SETT_U64) : (sign ? SETT_I32 : SETT_U32), v);
}

/* Packs the operands into out; false (and an error) where format and operands disagree. */
static bool pack(sett__lower *l, const sett__op *op, const char *format, LLVMValueRef *out)
{
    const char *at = format;
    for (int k = 0; k < op->n_args; k++) {
        sett_dtype t = (sett_dtype)sett__arg_of(l, op, k)->dtype;
        conversion c = next(&at);
        if (c == END || c == BAD || (c == REAL) != sett__dtype_is_float(t)) {
            sett__lower_fail(l, SETT_E_VERIFY, "printf: operand %d (%s) has no fitting conversion in \"%.100s\"", k,
                sett_dtype_name(t), format);
            return false;
        }
        out[k] = promote(l, c, t, sett__ir_scalar(l, op, k));
    }
    if (next(&at) != END) {
        sett__lower_fail(l, SETT_E_VERIFY, "printf: more conversions than operands in \"%.100s\"", format);
        return false;
    }
    return true;
}

void sett__lower_printf(sett__lower *l, const sett__op *op)
{
    const char *format = l->tape->string[op->imm];
    LLVMValueRef *v = l->scratch, buffer = LLVMConstNull(l->ptr);
    if (!pack(l, op, format, v))
        return;
    if (op->n_args) {
        LLVMTypeRef *field = (LLVMTypeRef *)sett__mem_alloc(NULL, op->n_args * sizeof(*field));
        if (!field) {
            sett__lower_fail(l, SETT_E_MEMORY, "out of memory");
            return;
        }
        for (int k = 0; k < op->n_args; k++)
            field[k] = LLVMTypeOf(v[k]);
        LLVMTypeRef type = LLVMStructTypeInContext(l->ctx, field, op->n_args, 0);
        sett__mem_free(NULL, field);
        LLVMBasicBlockRef here = LLVMGetInsertBlock(l->b);
        sett__ir_enter(l, l->allocas);
        buffer = LLVMBuildAlloca(l->b, type, "printf");
        LLVMSetAlignment(buffer, 8);
        sett__ir_enter(l, here);
        for (unsigned k = 0; k < op->n_args; k++)
            LLVMBuildStore(l->b, v[k], LLVMBuildStructGEP2(l->b, type, buffer, k, ""));
    }
    LLVMTypeRef sig = LLVMFunctionType(l->i32, (LLVMTypeRef[]){l->ptr, l->ptr}, 2, 0);
    LLVMBuildCall2(l->b, sig, callee(l, "vprintf", sig), (LLVMValueRef[]){text(l, format), buffer}, 2, "");
}

void sett__lower_assert(sett__lower *l, const sett__op *op)
{
    const sett__tape *t = l->tape;
    const sett__site_ref *site = op->site < t->n_site ? &t->site[op->site] : NULL;
    LLVMBasicBlockRef fail = sett__ir_block(l, "fail"), hold = sett__ir_block(l, "holds");
    LLVMBuildCondBr(l->b, sett__ir_scalar(l, op, 0), hold, fail);
    sett__ir_enter(l, fail);
    LLVMTypeRef in[5] = {l->ptr, l->ptr, l->i32, l->ptr, l->i64};
    LLVMTypeRef sig = LLVMFunctionType(LLVMVoidTypeInContext(l->ctx), in, 5, 0);
    LLVMValueRef args[5] = {text(l, t->string[op->imm]), text(l, site ? t->string[site->file] : "?"),
        sett__ir_int(l->i32, site ? site->line : 0), text(l, l->name), sett__ir_int(l->i64, 1)};
    LLVMBuildCall2(l->b, sig, callee(l, "__assertfail", sig), args, 5, "");
    LLVMBuildUnreachable(l->b);
    sett__ir_enter(l, hold);
}
