/* SPDX-License-Identifier: Apache-2.0 */
/* Read-modify-writes, of any order and scope. By inline asm, because LLVM 22 drops the scope of an atomicrmw; what the
 * target has no instruction for is a compare-and-swap loop. Of several elements by the widest instruction that it has,
 * else one after another. Where nobody reads what was there it is a red: ptxas makes one of an atom, nvJitLink 13.0
 * does not. */
#include "ptx.h"
#include <string.h>

typedef struct place {
    const char *sem, *scope, *space; /* "relaxed", "gpu", "global" */
    LLVMValueRef address;
    uint32_t first; /* element of the op's values that lies there */
    bool quiet;     /* nobody reads what was there, and a red can do it */
} place;

/* "op.type" of the instruction, and the first sm that has it. NULL: none. */
static const char *native(const sett__lower *l, int code, int dtype)
{
    static const struct {
        int code;
        const char *dtypes; /* letter and bytes; bf16 as H */
        const char *text;
        int sm;
    } table[] = {
        {SETT__ADD, "i4u4", "add.u32", 70},
        {SETT__ADD, "i8u8", "add.u64", 70},
        {SETT__ADD, "f4", "add.f32", 70},
        {SETT__ADD, "d8", "add.f64", 70},
        {SETT__ADD, "h2", "add.noftz.f16", 70},
        {SETT__ADD, "H2", "add.noftz.bf16", 90},
        {SETT__MIN, "i4", "min.s32", 70},
        {SETT__MIN, "u4", "min.u32", 70},
        {SETT__MIN, "i8", "min.s64", 70},
        {SETT__MIN, "u8", "min.u64", 70},
        {SETT__MAX, "i4", "max.s32", 70},
        {SETT__MAX, "u4", "max.u32", 70},
        {SETT__MAX, "i8", "max.s64", 70},
        {SETT__MAX, "u8", "max.u64", 70},
        {SETT__AND, "i4u4", "and.b32", 70},
        {SETT__AND, "i8u8", "and.b64", 70},
        {SETT__OR, "i4u4", "or.b32", 70},
        {SETT__OR, "i8u8", "or.b64", 70},
        {SETT__XOR, "i4u4", "xor.b32", 70},
        {SETT__XOR, "i8u8", "xor.b64", 70},
        {SETT__XCHG, "i4u4f4", "exch.b32", 70},
        {SETT__XCHG, "i8u8d8", "exch.b64", 70},
        {SETT__CAS, "i2u2h2H2", "cas.b16", 70},
        {SETT__CAS, "i4u4f4", "cas.b32", 70},
        {SETT__CAS, "i8u8d8", "cas.b64", 70},
        {SETT__XCHG, "w@", "exch.b128", 90}, /* @: 16 bytes */
        {SETT__CAS, "w@", "cas.b128", 90},
    };
    char key[3] = {dtype == SETT_BF16 ? 'H' : sett__dtype_class((sett_dtype)dtype),
        (char)('0' + sett__dtype_bytes((sett_dtype)dtype)), 0};
    for (size_t i = 0; i < SETT__COUNT(table); i++)
        if (table[i].code == code && strstr(table[i].dtypes, key))
            return l->sm >= table[i].sm ? table[i].text : NULL;
    return NULL;
}

/* The letter of an asm constraint for values of so many bits; floats of 32 and 64 differ. */
static char constraint(LLVMTypeRef t)
{
    switch (LLVMGetTypeKind(t)) {
    case LLVMFloatTypeKind:
        return 'f';
    case LLVMDoubleTypeKind:
        return 'd';
    default:
        return LLVMGetIntTypeWidth(t) == 16 ? 'h' : LLVMGetIntTypeWidth(t) == 32 ? 'r' : LLVMGetIntTypeWidth(t) == 64 ? 'l' : 'q';
    }
}

static LLVMValueRef instruction(
    sett__lower *l, const place *at, const char *what, LLVMTypeRef type, LLVMValueRef *in, unsigned n)
{
    char text[96], regs[32], c = constraint(type);
    if (at->quiet && n == 2) {
        snprintf(text, sizeof(text), "red.%s.%s.%s.%s [$0], $1;", at->sem, at->scope, at->space, what);
        snprintf(regs, sizeof(regs), "l,%c,~{memory}", c);
        sett__ir_asm(l, LLVMVoidTypeInContext(l->ctx), text, regs, true, in, n);
        return LLVMConstNull(type);
    }
    const char *operands[] = {"[$1]", "[$1], $2", "[$1], $2, $3"};
    snprintf(text, sizeof(text), "%s.%s.%s.%s.%s $0, %s;", n == 1 ? "ld" : "atom", n == 1 ? "relaxed" : at->sem, at->scope, at->space,
        what, operands[n - 1]);
    int len = snprintf(regs, sizeof(regs), "=%c,l", c);
    for (unsigned i = 1; i < n; i++)
        len += snprintf(regs + len, sizeof(regs) - (size_t)len, ",%c", c);
    snprintf(regs + len, sizeof(regs) - (size_t)len, ",~{memory}");
    return sett__ir_asm(l, type, text, regs, true, in, n);
}

static LLVMValueRef combine(sett__lower *l, const sett__op *op, LLVMValueRef old, LLVMValueRef v, LLVMValueRef was)
{
    if (op->sub == SETT__CAS)
        return LLVMBuildSelect(l->b, LLVMBuildICmp(l->b, LLVMIntEQ, old, was, ""), v, old, "");
    return op->sub == SETT__XCHG ? v : sett__ir_binary(l, (sett__code)op->sub, (sett_dtype)op->dtype, 0, old, v);
}

/* A byte is a part of the aligned word around it: its place there in bits, and the word's address in place of its own. */
static LLVMValueRef word_around(sett__lower *l, LLVMValueRef *address)
{
    LLVMTypeRef pointer = LLVMTypeOf(*address);
    LLVMValueRef at = LLVMBuildPtrToInt(l->b, *address, l->i64, ""), three = sett__ir_int(l->i64, 3);
    LLVMValueRef byte = LLVMBuildTrunc(l->b, LLVMBuildAnd(l->b, at, three, ""), l->i32, "");
    *address = LLVMBuildIntToPtr(l->b, LLVMBuildAnd(l->b, at, LLVMBuildNot(l->b, three, ""), ""), pointer, "");
    return LLVMBuildShl(l->b, byte, sett__ir_int(l->i32, 3), "");
}

/* The word with an element in it, at `shift` (NULL: it is the whole of it). */
static LLVMValueRef put(sett__lower *l, LLVMValueRef was, LLVMValueRef v, LLVMValueRef shift)
{
    if (!shift)
        return LLVMBuildBitCast(l->b, v, LLVMTypeOf(was), "");
    LLVMValueRef mask = LLVMBuildShl(l->b, sett__ir_int(l->i32, 0xff), shift, "");
    v = LLVMBuildShl(l->b, LLVMBuildZExt(l->b, v, l->i32, ""), shift, "");
    return LLVMBuildOr(l->b, LLVMBuildAnd(l->b, was, LLVMBuildNot(l->b, mask, ""), ""), v, "");
}

static LLVMValueRef get(sett__lower *l, LLVMTypeRef element, LLVMValueRef word, LLVMValueRef shift)
{
    return shift ? LLVMBuildTrunc(l->b, LLVMBuildLShr(l->b, word, shift, ""), element, "") : LLVMBuildBitCast(l->b, word, element, "");
}

static LLVMValueRef cas_loop(sett__lower *l, const sett__op *op, const place *at, LLVMValueRef v, LLVMValueRef with)
{
    LLVMTypeRef element = sett__ir_reg_type(l, op->dtype);
    unsigned bits = 8u * (unsigned)sett__dtype_bytes((sett_dtype)op->dtype); /* the verifier: 8, 16, 32 or 64 */
    LLVMValueRef address = at->address, shift = bits == 8 ? word_around(l, &address) : NULL;
    bits = bits == 8 ? 32 : bits;
    LLVMTypeRef word = LLVMIntTypeInContext(l->ctx, bits);
    char ld[8], cas[12];
    snprintf(ld, sizeof(ld), "b%u", bits);
    snprintf(cas, sizeof(cas), "cas.b%u", bits);
    LLVMValueRef seen = instruction(l, at, ld, word, &address, 1);
    LLVMBasicBlockRef from = LLVMGetInsertBlock(l->b), head = sett__ir_block(l, "swap"),
                      done = sett__ir_block(l, "swapped");
    LLVMBuildBr(l->b, head);
    sett__ir_enter(l, head);
    LLVMValueRef was = LLVMBuildPhi(l->b, word, ""), old = get(l, element, was, shift);
    LLVMValueRef in[3] = {address, was, put(l, was, combine(l, op, old, v, with), shift)};
    LLVMValueRef now = instruction(l, at, cas, word, in, 3);
    LLVMBasicBlockRef latch = LLVMGetInsertBlock(l->b);
    LLVMAddIncoming(was, (LLVMValueRef[]){seen, now}, (LLVMBasicBlockRef[]){from, latch}, 2);
    LLVMBuildCondBr(l->b, LLVMBuildICmp(l->b, LLVMIntEQ, now, was, ""), done, head);
    sett__ir_enter(l, done);
    return old;
}

/* ---- several at once ------------------------------------------------------------------------------------- */
typedef struct form {
    const char *text;
    uint32_t n, regs; /* elements that it takes, in so many registers */
} form;

/* The widest for at most `left` elements; n of 1: none takes two. PTX ISA: vectors are for global memory alone. */
static form form_of(const sett__lower *l, const sett__op *op, bool shared, uint32_t left)
{
    static const struct {
        int dtype;
        form form;
        int sm;
        bool shared;
    } table[] = {
        {SETT_F32, {"add.v4.f32", 4, 4}, 90, false},
        {SETT_F32, {"add.v2.f32", 2, 2}, 90, false},
        {SETT_F16, {"add.noftz.v4.f16x2", 8, 4}, 90, false},
        {SETT_F16, {"add.noftz.v2.f16x2", 4, 2}, 90, false},
        {SETT_F16, {"add.noftz.f16x2", 2, 1}, 70, true},
        {SETT_BF16, {"add.noftz.v4.bf16x2", 8, 4}, 90, false},
        {SETT_BF16, {"add.noftz.v2.bf16x2", 4, 2}, 90, false},
        {SETT_BF16, {"add.noftz.bf16x2", 2, 1}, 90, true},
    };
    for (size_t i = 0; i < SETT__COUNT(table) && op->sub == SETT__ADD; i++)
        if (table[i].dtype == op->dtype && table[i].form.n <= left && l->sm >= table[i].sm && (table[i].shared || !shared))
            return table[i].form;
    return (form){NULL, 1, 1};
}

/* "{$0,$1}", or "$0" of one: registers from k on. */
static int print_regs(char *to, size_t size, uint32_t k, uint32_t n)
{
    int len = snprintf(to, size, n > 1 ? "{$%u" : "$%u", k);
    for (uint32_t i = 1; i < n; i++)
        len += snprintf(to + len, size - (size_t)len, ",$%u", k + i);
    return len + snprintf(to + len, size - (size_t)len, "%s", n > 1 ? "}" : "");
}

/* old[0..n) of one instruction for them all. */
static void vector(sett__lower *l, const sett__op *op, const place *at, const form *f, LLVMValueRef *old)
{
    char text[128], regs[64];
    uint32_t per = f->n / f->regs, n = f->regs;
    LLVMTypeRef element = sett__ir_reg_type(l, op->dtype), lanes = sett__ir_vec_type(element, per), reg = per > 1 ? l->i32 : element, all[4];
    LLVMValueRef in[5] = {at->address};
    const uint32_t out = at->quiet ? 0 : n;
    int len = snprintf(text, sizeof text, "%s.%s.%s.%s.%s ", out ? "atom" : "red", at->sem, at->scope, at->space, f->text), r = 0;
    if (out) {
        len += print_regs(text + len, sizeof text - (size_t)len, 0, n);
        len += snprintf(text + len, sizeof text - (size_t)len, ", ");
    }
    len += snprintf(text + len, sizeof text - (size_t)len, "[$%u], ", out);
    len += print_regs(text + len, sizeof text - (size_t)len, out + 1, n);
    snprintf(text + len, sizeof text - (size_t)len, ";");
    char c = constraint(reg);
    for (uint32_t i = 0; i < n; i++) {
        LLVMValueRef part[2];
        for (uint32_t k = 0; k < per; k++)
            part[k] = sett__ir_element(l, sett__arg_op(l, op, 3), at->first + i * per + k);
        LLVMValueRef v = LLVMGetPoison(lanes);
        for (uint32_t k = 0; k < per && per > 1; k++)
            v = LLVMBuildInsertElement(l->b, v, part[k], sett__ir_int(l->i32, k), "");
        in[i + 1] = per > 1 ? LLVMBuildBitCast(l->b, v, reg, "") : part[0];
        all[i] = reg;
        if (out)
            r += snprintf(regs + r, sizeof regs - (size_t)r, "=%c,", c);
    }
    r += snprintf(regs + r, sizeof regs - (size_t)r, "l");
    for (uint32_t i = 0; i < n; i++)
        r += snprintf(regs + r, sizeof regs - (size_t)r, ",%c", c);
    snprintf(regs + r, sizeof regs - (size_t)r, ",~{memory}");
    LLVMTypeRef result = n > 1 ? LLVMStructTypeInContext(l->ctx, all, n, 0) : reg;
    LLVMValueRef got = sett__ir_asm(l, out ? result : LLVMVoidTypeInContext(l->ctx), text, regs, true, in, n + 1);
    got = out ? got : LLVMConstNull(result);
    for (uint32_t i = 0; i < n; i++) {
        LLVMValueRef v = LLVMBuildBitCast(l->b, n > 1 ? LLVMBuildExtractValue(l->b, got, i, "") : got, lanes, "");
        for (uint32_t k = 0; k < per; k++)
            *old++ = per > 1 ? LLVMBuildExtractElement(l->b, v, sett__ir_int(l->i32, k), "") : v;
    }
}

static LLVMValueRef one(sett__lower *l, const sett__op *op, const place *at)
{
    bool cas = op->sub == SETT__CAS;
    LLVMValueRef v = sett__ir_element(l, sett__arg_op(l, op, 3), at->first);
    LLVMValueRef was = cas ? sett__ir_element(l, sett__arg_op(l, op, 4), at->first) : NULL;
    LLVMTypeRef type = LLVMTypeOf(v);
    const char *what = native(l, op->sub, op->dtype);
    if (!what)
        return cas_loop(l, op, at, v, was);
    bool half = sett__dtype_class((sett_dtype)op->dtype) == 'h'; /* asm takes 16 bits as an integer */
    LLVMTypeRef asm_type = half ? l->i16 : cas ? LLVMIntTypeInContext(l->ctx, 8u * (unsigned)sett__dtype_bytes((sett_dtype)op->dtype)) : type;
    LLVMValueRef in[3] = {at->address, LLVMBuildBitCast(l->b, v, asm_type, "")};
    if (cas) { /* [address], was, value */
        in[2] = in[1];
        in[1] = LLVMBuildBitCast(l->b, was, asm_type, "");
    }
    return LLVMBuildBitCast(l->b, instruction(l, at, what, asm_type, in, cas ? 3 : 2), type, "");
}

static void atom(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    bool peer = sett__arg_of(l, op, 0)->code == SETT__PEER, shared = peer || sett__arg_of(l, op, 0)->code == SETT__SMEM;
    int scope = sett__attr(l->tape->arg, op, SETT__AT_ATOM_SCOPE);
    place at = {.sem = sett__sem_word[sett__attr(l->tape->arg, op, SETT__AT_ATOM_ORDER)], .space = peer ? "shared::cluster" : shared ? "shared" : "global",
        .scope = scope ? sett__scope_word[scope] : peer ? "cluster" : shared ? "cta" : "gpu",
        .quiet = !l->used[op - l->tape->op] && op->sub != SETT__XCHG && op->sub != SETT__CAS};
    at.quiet &= !strcmp(at.sem, "relaxed") || !strcmp(at.sem, "release"); /* of a red */
    LLVMValueRef start = sett__ir_address(l, op, op->dtype), old[SETT__ATOM_WIDEST];
    LLVMTypeRef element = sett__ir_mem_type(l, op->dtype);
    for (uint32_t n = 1; at.first < op->n; at.first += n) {
        form f = form_of(l, op, shared, op->n - at.first);
        LLVMValueRef by = sett__ir_int(l->i64, at.first);
        at.address = at.first ? LLVMBuildInBoundsGEP2(l->b, element, start, &by, 1, "") : start;
        if ((n = f.n) > 1)
            vector(l, op, &at, &f, old + at.first);
        else
            old[at.first] = one(l, op, &at);
    }
    sett__ir_collect(l, out, op->n, sett__ir_reg_type(l, op->dtype), old);
}

void sett__lower_atom(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    if (sett__arg_of(l, op, 0)->code == SETT__RMEM) {
        sett__lower_fail(l, SETT_E_SPACE, "atomics work on global and shared memory only");
        return;
    }
    if (!sett__arg_of(l, op, 2)) {
        atom(l, op, out);
        return;
    }
    LLVMBasicBlockRef from = LLVMGetInsertBlock(l->b), then = sett__ir_block(l, "atom"),
                      done = sett__ir_block(l, "atom.done");
    LLVMBuildCondBr(l->b, sett__ir_scalar(l, op, 2), then, done);
    sett__ir_enter(l, then);
    LLVMValueRef v;
    atom(l, op, &v); /* at most 16 elements: one piece */
    then = LLVMGetInsertBlock(l->b);
    LLVMBuildBr(l->b, done);
    sett__ir_enter(l, done);
    out[0] = LLVMBuildPhi(l->b, LLVMTypeOf(v), "");
    LLVMAddIncoming(out[0], (LLVMValueRef[]){v, LLVMConstNull(LLVMTypeOf(v))}, (LLVMBasicBlockRef[]){then, from}, 2);
}
