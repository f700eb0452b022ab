/* SPDX-License-Identifier: Apache-2.0 */
/* Accesses of global memory with a cache operator or a priority, which LLVM has no way to say: by inline asm, in chunks of
 * up to 16 bytes of 32-bit words, or of one byte or two. */
#include "ptx.h"

typedef struct chunks {
    unsigned bytes, words, n; /* of one chunk; of the whole: chunks */
    LLVMTypeRef word, all;    /* all: a vector of words, or one */
} chunks;

static chunks cut(const sett__lower *l, unsigned bytes, unsigned align)
{
    unsigned size = bytes < align ? bytes : align;
    size = size < 16 ? size : 16;
    LLVMTypeRef word = size == 1 ? l->i8 : size == 2 ? l->i16 : l->i32;
    unsigned word_bytes = size < 4 ? size : 4;
    return (chunks){size, size / word_bytes, bytes / size, word, sett__ir_vec_type(word, bytes / word_bytes)};
}

/* ".cs", or ".L1::evict_first". */
static const char *mode(const sett__op *op)
{
    static const char *const word[2][9] = {
        {"", ".ca", ".cg", ".cs", ".lu", ".cv", "", ".L1::evict_first", ".L1::evict_last"},
        {"", ".wb", ".cg", ".cs", "", "", ".wt", ".L1::evict_first", ".L1::evict_last"}};
    return word[op->code == SETT__STORE][(op->flags & SETT__F_CACHE) >> SETT__F_CACHE_AT];
}

/* "ld.global.cs.v4.b32 {$0,$1,$2,$3}, [$4];" or "st... [$0], {$1,$2,$3,$4};", and its constraints. */
static void spell(const sett__op *op, const chunks *c, char text[96], char regs[64])
{
    static const char *const list[2][5] = {{"", "$0", "{$0,$1}", "", "{$0,$1,$2,$3}"}, {"", "$1", "{$1,$2}", "", "{$1,$2,$3,$4}"}};
    static const char *const in[2][5] = {{"", "=r,l", "=r,=r,l", "", "=r,=r,=r,=r,l"}, {"", "l,r", "l,r,r", "", "l,r,r,r,r"}};
    bool store = op->code == SETT__STORE;
    const char *vec = c->words == 4 ? ".v4" : c->words == 2 ? ".v2" : "";
    int bits = c->bytes < 4 ? 8 * (int)c->bytes : 32;
    if (store)
        snprintf(text, 96, "st.global%s%s.b%d [$0], %s;", mode(op), vec, bits, list[1][c->words]);
    else
        snprintf(text, 96, "ld.global%s%s.b%d %s, [$%u];", mode(op), vec, bits, list[0][c->words], c->words);
    snprintf(regs, 64, "%s,~{memory}", in[store][c->words]);
}

static LLVMValueRef at(sett__lower *l, LLVMValueRef p, unsigned bytes)
{
    LLVMValueRef off = LLVMConstInt(l->i64, bytes, 0);
    return bytes ? LLVMBuildGEP2(l->b, l->i8, p, &off, 1, "") : p;
}

/* Registers of asm have 32 bits. */
LLVMValueRef sett__ir_cached_load(sett__lower *l, const sett__op *op, LLVMTypeRef type, unsigned bytes, unsigned align, LLVMValueRef p)
{
    chunks c = cut(l, bytes, align);
    char text[96], regs[64];
    LLVMTypeRef four[4] = {l->i32, l->i32, l->i32, l->i32};
    LLVMTypeRef result = c.words == 1 ? l->i32 : LLVMStructTypeInContext(l->ctx, four, c.words, 0);
    LLVMValueRef all = LLVMGetPoison(c.all);
    spell(op, &c, text, regs);
    for (unsigned k = 0; k < c.n; k++) {
        LLVMValueRef from = at(l, p, k * c.bytes), r = sett__ir_asm(l, result, text, regs, true, &from, 1);
        for (unsigned i = 0; i < c.words; i++) {
            LLVMValueRef w = c.words == 1 ? r : LLVMBuildExtractValue(l->b, r, i, "");
            w = c.bytes < 4 ? LLVMBuildTrunc(l->b, w, c.word, "") : w;
            all = c.n * c.words == 1 ? w : LLVMBuildInsertElement(l->b, all, w, sett__ir_int(l->i32, k * c.words + i), "");
        }
    }
    return LLVMBuildBitCast(l->b, all, type, "");
}

void sett__ir_cached_store(sett__lower *l, const sett__op *op, LLVMValueRef v, unsigned bytes, unsigned align, LLVMValueRef p)
{
    chunks c = cut(l, bytes, align);
    char text[96], regs[64];
    LLVMValueRef all = LLVMBuildBitCast(l->b, v, c.all, ""), in[5];
    spell(op, &c, text, regs);
    for (unsigned k = 0; k < c.n; k++) {
        in[0] = at(l, p, k * c.bytes);
        for (unsigned i = 0; i < c.words; i++) {
            LLVMValueRef w = c.n * c.words == 1 ? all : LLVMBuildExtractElement(l->b, all, sett__ir_int(l->i32, k * c.words + i), "");
            in[1 + i] = c.bytes < 4 ? LLVMBuildZExt(l->b, w, l->i32, "") : w;
        }
        sett__ir_asm(l, LLVMVoidTypeInContext(l->ctx), text, regs, true, in, 1 + c.words);
    }
}
