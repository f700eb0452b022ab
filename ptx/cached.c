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

static int cache_of(const sett__lower *l, const sett__op *op)
{
    return sett__attr(l->tape->arg, op, SETT__AT_ACCESS_CACHE);
}

static bool has_policy(const sett__lower *l, const sett__op *op)
{
    return l->sm >= 80 && (cache_of(l, op) == SETT_CACHE_L2_EVICT_FIRST || cache_of(l, op) == SETT_CACHE_L2_EVICT_LAST);
}

/* ".cs", or ".L1::evict_first"; nothing where the target lacks it. */
static const char *mode(const sett__lower *l, const sett__op *op)
{
    static const struct { const char *load, *store; int sm; } word[] = {{"", "", 0}, {".ca", ".wb", 0}, {".cg", ".cg", 0}, {".cs", ".cs", 0},
        {".lu", "", 0}, {".cv", "", 0}, {"", ".wt", 0}, {".L1::evict_first", ".L1::evict_first", 0}, {".L1::evict_last", ".L1::evict_last", 0},
        {".L2::cache_hint", ".L2::cache_hint", 80}, {".L2::cache_hint", ".L2::cache_hint", 80}, {".L2::64B", "", 75}, {".L2::128B", "", 75},
        {".L2::256B", "", 80}};
    int c = cache_of(l, op);
    return l->sm < word[c].sm ? "" : op->code == SETT__STORE ? word[c].store : word[c].load;
}

/* Made once, where the kernel begins. */
static LLVMValueRef policy(sett__lower *l, const sett__op *op)
{
    bool last = cache_of(l, op) == SETT_CACHE_L2_EVICT_LAST;
    if (!l->policy[last]) {
        LLVMBasicBlockRef here = LLVMGetInsertBlock(l->b);
        sett__ir_enter(l, l->allocas);
        l->policy[last] = sett__ir_asm(l, l->i64, last ? "createpolicy.fractional.L2::evict_last.b64 $0, 1.0;" : "createpolicy.fractional.L2::evict_first.b64 $0, 1.0;",
            "=l", false, NULL, 0);
        sett__ir_enter(l, here);
    }
    return l->policy[last];
}

/* "ld.global.cs.v4.b32 {$0,$1,$2,$3}, [$4];" or "st... [$0], {$1,$2,$3,$4};", a policy behind, and its constraints. */
static void spell(const sett__lower *l, const sett__op *op, const chunks *c, char text[96], char regs[64])
{
    static const char *const list[2][5] = {{"", "$0", "{$0,$1}", "", "{$0,$1,$2,$3}"}, {"", "$1", "{$1,$2}", "", "{$1,$2,$3,$4}"}};
    static const char *const in[2][5] = {{"", "=r,l", "=r,=r,l", "", "=r,=r,=r,=r,l"}, {"", "l,r", "l,r,r", "", "l,r,r,r,r"}};
    bool store = op->code == SETT__STORE, hint = has_policy(l, op);
    const char *vec = c->words == 4 ? ".v4" : c->words == 2 ? ".v2" : "";
    int bits = c->bytes < 4 ? 8 * (int)c->bytes : 32;
    char behind[8] = "";
    if (hint)
        snprintf(behind, sizeof behind, ", $%u", c->words + 1);
    if (store)
        snprintf(text, 96, "st.global%s%s.b%d [$0], %s%s;", mode(l, op), vec, bits, list[1][c->words], behind);
    else
        snprintf(text, 96, "ld.global%s%s.b%d %s, [$%u]%s;", mode(l, op), vec, bits, list[0][c->words], c->words, behind);
    snprintf(regs, 64, "%s%s,~{memory}", in[store][c->words], hint ? ",l" : "");
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
    LLVMValueRef all = LLVMGetPoison(c.all), hint = has_policy(l, op) ? policy(l, op) : NULL;
    spell(l, op, &c, text, regs);
    for (unsigned k = 0; k < c.n; k++) {
        LLVMValueRef from[2] = {at(l, p, k * c.bytes), hint};
        LLVMValueRef r = sett__ir_asm(l, result, text, regs, true, from, hint ? 2 : 1);
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
    LLVMValueRef all = LLVMBuildBitCast(l->b, v, c.all, ""), hint = has_policy(l, op) ? policy(l, op) : NULL, in[6];
    spell(l, op, &c, text, regs);
    for (unsigned k = 0; k < c.n; k++) {
        in[0] = at(l, p, k * c.bytes);
        for (unsigned i = 0; i < c.words; i++) {
            LLVMValueRef w = c.n * c.words == 1 ? all : LLVMBuildExtractElement(l->b, all, sett__ir_int(l->i32, k * c.words + i), "");
            in[1 + i] = c.bytes < 4 ? LLVMBuildZExt(l->b, w, l->i32, "") : w;
        }
        in[1 + c.words] = hint;
        sett__ir_asm(l, LLVMVoidTypeInContext(l->ctx), text, regs, true, in, 1 + c.words + (hint != NULL));
    }
}
