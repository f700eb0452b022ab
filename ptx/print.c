/* SPDX-License-Identifier: Apache-2.0 */
/* printf by the driver's vprintf(format, packed arguments), a symbol that every CUDA driver and assembler provide. Not
 * assert by its __assertfail, which ends the context: what failed is written to memory that the host reads. */
#include "ptx.h"
#include <string.h>

typedef enum conversion { END, INT8, INT16, INT32, INT64, REAL, BAD } conversion;

/* The next conversion at or after *at, and whether it is of a sign; C's rules, less `*`, `n`, `s` and long double. */
static conversion next(const char **at, bool *sign)
{
    const char *s = *at;
    int longs = 0, shorts = 0;
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
        longs += *s != 'h', shorts += *s == 'h';
    if (!*s)
        return BAD;
    *at = s + 1;
    if (strchr("fFeEgGaA", *s))
        return REAL;
    if (*s == 'p')
        return INT64;
    *sign = *s == 'd' || *s == 'i';
    return !strchr("diouxXc", *s) ? BAD : longs ? INT64 : shorts == 2 ? INT8 : shorts ? INT16 : INT32;
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

/* As C promotes: floats to double, integers to what the conversion takes, by their sign. The driver knows no `h`: such a
 * number is cut here, and printed as an int. */
static LLVMValueRef promote(sett__lower *l, conversion c, bool cut_sign, sett_dtype t, LLVMValueRef v)
{
    static const sett_dtype cut[2][2] = {{SETT_U8, SETT_I8}, {SETT_U16, SETT_I16}};
    if (c == REAL)
        return sett__ir_convert(l, t, SETT_F64, v);
    bool sign = sett__dtype_kind(t) == 'i';
    if (c < INT32) {
        sett_dtype to = cut[c == INT16][cut_sign];
        return sett__ir_convert(l, to, SETT_I32, sett__ir_convert(l, t, to, v));
    }
    return sett__ir_convert(l, t, c == INT64 ? (sign ? SETT_I64 : SETT_U64) : (sign ? SETT_I32 : SETT_U32), v);
}

/* Packs the operands into out; false (and an error) where format and operands disagree. */
static bool pack(sett__lower *l, const sett__op *op, const char *format, LLVMValueRef *out)
{
    const char *at = format;
    for (int k = 0; k < op->n_args; k++) {
        sett_dtype t = (sett_dtype)sett__arg_of(l, op, k)->dtype;
        bool sign = false;
        conversion c = next(&at, &sign);
        if (c == END || c == BAD || (c == REAL) != sett__dtype_is_float(t)) {
            sett__lower_fail(l, SETT_E_VERIFY, "printf: operand %d (%s) has no fitting conversion in \"%.100s\"", k,
                sett_dtype_name(t), format);
            return false;
        }
        out[k] = promote(l, c, sign, t, sett__ir_scalar(l, op, k));
    }
    if (next(&at, &(bool){false}) != END) {
        sett__lower_fail(l, SETT_E_VERIFY, "printf: more conversions than operands in \"%.100s\"", format);
        return false;
    }
    return true;
}

/* Without the `h` of conversions; the same number of conversions, and no longer. */
static void drop_shorts(char *format)
{
    char *to = format;
    for (const char *s = format; *s;) {
        *to++ = *s;
        if (*s++ != '%')
            continue;
        size_t head = strspn(s, "-+ #0123456789.");
        memmove(to, s, head);
        to += head, s += head;
        s += strspn(s, "h");
        if (*s) /* the conversion, or the second of %% */
            *to++ = *s++;
    }
    *to = 0;
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
    char *plain = sett__mem_alloc(NULL, strlen(format) + 1);
    if (!plain) {
        sett__lower_fail(l, SETT_E_MEMORY, "out of memory");
        return;
    }
    drop_shorts(strcpy(plain, format));
    LLVMTypeRef sig = LLVMFunctionType(l->i32, (LLVMTypeRef[]){l->ptr, l->ptr}, 2, 0);
    LLVMBuildCall2(l->b, sig, callee(l, "vprintf", sig), (LLVMValueRef[]){text(l, plain), buffer}, 2, "");
    sett__mem_free(NULL, plain);
}

/* ---- assertions: a sett__failure in memory ------------------------------------------------- */
static LLVMValueRef field(sett__lower *l, size_t at)
{
    LLVMValueRef n = sett__ir_int(l->i64, at);
    return LLVMBuildGEP2(l->b, l->i8, LLVMGetParam(l->fn, LLVMCountParams(l->fn) - 1), &n, 1, "");
}

static void write_field(sett__lower *l, size_t at, LLVMValueRef v)
{
    LLVMValueRef s = LLVMBuildStore(l->b, v, field(l, at));
    LLVMSetVolatile(s, 1);
}

/* The bits of a scalar, low aligned in 64. */
static LLVMValueRef bits64(sett__lower *l, const sett__op *op, int k)
{
    int dtype = sett__arg_of(l, op, k)->dtype;
    unsigned bits = dtype == SETT_BOOL ? 1 : (unsigned)sett__dtype_bytes((sett_dtype)dtype) * 8;
    LLVMValueRef v = LLVMBuildBitCast(l->b, sett__ir_scalar(l, op, k), LLVMIntTypeInContext(l->ctx, bits), "");
    return LLVMBuildZExt(l->b, v, l->i64, "");
}

static void write_failure(sett__lower *l, const sett__op *op, uint32_t claim)
{
    write_field(l, offsetof(sett__failure, claim), sett__ir_int(l->i32, claim));
    for (uint32_t d = 0; d < 3; d++) {
        write_field(l, offsetof(sett__failure, block) + 4 * d, sett__ir_sreg(l, "ctaid", d));
        write_field(l, offsetof(sett__failure, thread) + 4 * d, sett__ir_sreg(l, "tid", d));
    }
    for (int k = 1; k < op->n_args; k++)
        write_field(l, offsetof(sett__failure, operand) + 8 * (size_t)(k - 1), bits64(l, op, k));
    LLVMValueRef p = LLVMGetParam(l->fn, LLVMCountParams(l->fn) - 1);
    char text[64];
    snprintf(text, sizeof text, "st.release.sys.global.b32 [$0], %d;", SETT__FAILURE_TOLD);
    sett__ir_asm(l, LLVMVoidTypeInContext(l->ctx), text, "l,~{memory}", true, &p, 1);
}

/* The first thread of the launch says what failed; each that fails leaves. */
void sett__lower_assert(sett__lower *l, const sett__op *op)
{
    LLVMBasicBlockRef fail = sett__ir_block(l, "fail"), first = sett__ir_block(l, "first"), leave = sett__ir_block(l, "leave"),
                      hold = sett__ir_block(l, "holds");
    LLVMBuildCondBr(l->b, sett__ir_scalar(l, op, 0), hold, fail);
    sett__ir_enter(l, fail);
    LLVMValueRef p = LLVMGetParam(l->fn, LLVMCountParams(l->fn) - 1);
    char text[80];
    snprintf(text, sizeof text, "atom.relaxed.gpu.global.cas.b32 $0, [$1], %d, %d;", SETT__FAILURE_FREE, SETT__FAILURE_TAKEN);
    LLVMValueRef was = sett__ir_asm(l, l->i32, text, "=r,l,~{memory}", true, &p, 1);
    LLVMBuildCondBr(
        l->b, LLVMBuildICmp(l->b, LLVMIntEQ, was, sett__ir_int(l->i32, SETT__FAILURE_FREE), ""), first, leave);
    sett__ir_enter(l, first);
    write_failure(l, op, l->claims++);
    LLVMBuildBr(l->b, leave);
    sett__ir_enter(l, leave);
    /* Not a return: the assembler would have the thread meet those of its warp that go on, which may wait for it in a
     * barrier. */
    sett__ir_asm(l, LLVMVoidTypeInContext(l->ctx), "exit;", "", true, NULL, 0);
    LLVMBuildUnreachable(l->b);
    sett__ir_enter(l, hold);
}
