/* SPDX-License-Identifier: Apache-2.0 */
/* Products of a warp group in the background. LLVM has no wgmma, so each is inline assembly whose results are the accumulator's
 * registers. A root is an alloca that LLVM promotes, so what it holds goes through the assembly of wgmma, of its fence and its wait, in
 * and out: nothing that uses a root moves across them. */
#include "ptx.h"
#include <stdlib.h>
#include <string.h>

enum { REGISTER = 4 }; /* bytes */

/* One piece of assembly: registers of roots that it gives, some of which it takes, then other operands. */
typedef struct call {
    sett__lower *l;
    unsigned n_out, n_in;
    LLVMValueRef *place, *in; /* of n_out, n_in */
    LLVMTypeRef *type;        /* of n_out; at the end of n_in */
    char *regs, *text;        /* constraints; the assembly */
    size_t regs_len;
} call;

static unsigned registers(const sett__op *root)
{
    return (unsigned)(sett__bytes_of(root->dtype, root->n) / REGISTER);
}

/* Room for so many registers, in and out, and so many instructions. */
static bool begin(call *c, sett__lower *l, unsigned n, unsigned n_ops)
{
    enum { OTHERS = 16, A_REGISTER = 8 };
    const unsigned others = OTHERS * n_ops;
    *c = (call){.l = l};
    c->place = (LLVMValueRef *)malloc((n + 1) * sizeof *c->place);
    c->in = (LLVMValueRef *)malloc((n + others) * sizeof *c->in);
    c->type = (LLVMTypeRef *)malloc((n + others) * sizeof *c->type);
    c->regs = (char *)malloc(A_REGISTER * (2 * (size_t)n + others) + 16);
    c->text = (char *)malloc((A_REGISTER * ((size_t)n + OTHERS) + 256) * n_ops);
    if (c->place && c->in && c->type && c->regs && c->text)
        return true;
    sett__lower_fail(l, SETT_E_MEMORY, "out of memory");
    return false;
}

static LLVMTypeRef register_type(const sett__lower *l, const sett__op *root)
{
    return root->dtype == SETT_F32 ? LLVMFloatTypeInContext(l->ctx) : l->i32;
}

/* Operand k of the op, n registers of a root from `first` on: results. */
static void give(call *c, const sett__op *op, int k, unsigned first, unsigned n)
{
    const sett__op *root = sett__arg_of(c->l, op, k);
    LLVMTypeRef type = register_type(c->l, root);
    for (unsigned i = 0; i < n; i++) {
        LLVMValueRef at = LLVMConstInt(c->l->i64, first + i, 0);
        c->place[c->n_out] = first + i ? LLVMBuildGEP2(c->l->b, type, sett__ir_scalar(c->l, op, k), &at, 1, "") : sett__ir_scalar(c->l, op, k);
        c->type[c->n_out++] = type;
        c->regs_len += (size_t)sprintf(c->regs + c->regs_len, root->dtype == SETT_F32 ? "=f," : "=r,");
    }
}

static void take(call *c, LLVMValueRef v, const char *letter)
{
    c->in[c->n_in++] = v;
    c->regs_len += (size_t)sprintf(c->regs + c->regs_len, "%s,", letter);
}

/* What it gives it takes too, in the same registers. */
static void tie(call *c)
{
    char letter[16];
    for (unsigned i = 0; i < c->n_out; i++) {
        LLVMValueRef v = LLVMBuildLoad2(c->l->b, c->type[i], c->place[i], "");
        LLVMSetAlignment(v, REGISTER);
        snprintf(letter, sizeof letter, "%u", i);
        take(c, v, letter);
    }
}

static void finish(call *c)
{
    sett__lower *l = c->l;
    LLVMTypeRef result = c->n_out == 1 ? c->type[0] : c->n_out ? LLVMStructTypeInContext(l->ctx, c->type, c->n_out, 0) : LLVMVoidTypeInContext(l->ctx);
    for (unsigned i = 0; i < c->n_in; i++)
        c->type[i] = LLVMTypeOf(c->in[i]);
    LLVMTypeRef type = LLVMFunctionType(result, c->type, c->n_in, 0);
    sprintf(c->regs + c->regs_len, "~{memory}");
    LLVMValueRef all = sett__ir_convergent(l, sett__ir_asm_of(l, type, c->text, c->regs, true, c->in, c->n_in));
    for (unsigned i = 0; i < c->n_out; i++) {
        LLVMValueRef one = c->n_out == 1 ? all : LLVMBuildExtractValue(l->b, all, i, "");
        LLVMSetAlignment(LLVMBuildStore(l->b, one, c->place[i]), REGISTER);
    }
}

static void end(call *c)
{
    free(c->place);
    free(c->in);
    free(c->type);
    free(c->regs);
    free(c->text);
}

/* ---- the product ------------------------------------------------------------------------- */
static int32_t attr(const call *c, const sett__op *op, int row)
{
    return sett__attr(c->l->tape->arg, op, row);
}

/* "{$0, $1}", of n operands from `first` on; with one, "$4" alone. */
static int put_operands(char *to, unsigned first, unsigned n, bool braces)
{
    int at = sprintf(to, braces ? "{" : "");
    for (unsigned i = 0; i < n; i++)
        at += sprintf(to + at, "%s$%u", i ? ", " : "", first + i);
    return at + sprintf(to + at, braces ? "}" : "");
}

/* Behind the descriptors: whether the accumulator counts, then of floats the signs, then of 16 bits what is transposed. */
static int put_flags(const call *c, const sett__op *op, const sett__mma *x, bool in_registers, char *to)
{
    const sett__op *adds = sett__arg_of(c->l, op, 3);
    int at = adds->code == SETT__CONST ? sprintf(to, ", %d", (int)adds->imm) : sprintf(to, ", $%u", c->n_out + c->n_in - 1);
    if (x->model != SETT__MMA_INT)
        at += sprintf(to + at, ", %d, %d", attr(c, op, SETT__AT_WGMMA_NEG_A) ? -1 : 1, attr(c, op, SETT__AT_WGMMA_NEG_B) ? -1 : 1);
    if (sett__dtype_bytes((sett_dtype)x->a) == 2 && !in_registers)
        at += sprintf(to + at, ", %d", attr(c, op, SETT__AT_WGMMA_TRANS_A));
    if (sett__dtype_bytes((sett_dtype)x->a) == 2)
        at += sprintf(to + at, ", %d", attr(c, op, SETT__AT_WGMMA_TRANS_B));
    return at;
}

/* The registers of A, or its descriptor; how many. */
static unsigned take_a(call *c, const sett__op *op, const sett__mma *x, bool in_registers)
{
    LLVMValueRef a = sett__ir_scalar(c->l, op, 1);
    unsigned per = REGISTER / (unsigned)sett__dtype_bytes((sett_dtype)x->a), n = (unsigned)(x->m * x->k) / SETT__WARP_GROUP / per;
    if (!in_registers) {
        take(c, a, "l");
        return 1;
    }
    for (unsigned i = 0; i < n; i++) {
        LLVMValueRef at = LLVMConstInt(c->l->i64, (unsigned)attr(c, op, SETT__AT_WGMMA_A_AT) / per + i, 0);
        LLVMValueRef v = LLVMBuildLoad2(c->l->b, c->l->i32, LLVMBuildGEP2(c->l->b, c->l->i32, a, &at, 1, ""), "");
        LLVMSetAlignment(v, REGISTER);
        take(c, v, "r");
    }
    return n;
}

/* One instruction behind what the text has. */
static size_t put_product(call *c, const sett__op *op, unsigned held, char *to)
{
    const int32_t row = attr(c, op, SETT__AT_WGMMA_ROW), columns = attr(c, op, SETT__AT_WGMMA_N);
    const char *word = sett__mma_word[row], *n = strchr(word, 'N');
    bool in_registers = sett__arg_of(c->l, op, 1)->code == SETT__RMEM;
    unsigned first = c->n_out + c->n_in, n_a = take_a(c, op, &sett__mmas[row], in_registers);
    take(c, sett__ir_scalar(c->l, op, 2), "l");
    if (sett__arg_of(c->l, op, 3)->code != SETT__CONST)
        take(c, sett__ir_scalar(c->l, op, 3), "b");
    int at = sprintf(to, "wgmma.mma_async.sync.aligned.%.*s%d%s ", (int)(n - word), word, (int)columns, n + 1);
    at += put_operands(to + at, 0, held, true);
    at += sprintf(to + at, ", ");
    at += put_operands(to + at, first, n_a, in_registers);
    at += sprintf(to + at, ", $%u", first + n_a);
    at += put_flags(c, op, &sett__mmas[row], in_registers, to + at);
    return (size_t)(at + sprintf(to + at, ";"));
}

/* ---- products that follow each other, decided before the walk ------------------------------------------------------- */
/* Does the next operation add to the same registers? One piece of assembly has them all then: each costs LLVM as much as many
 * instructions, since it takes and gives a whole accumulator. */
static bool goes_on(const sett__lower *l, const sett__op *op)
{
    const sett__op *next = op + 1, *adds;
    if (next == l->tape->op + l->tape->n_op || op->code != SETT__WGMMA || next->code != SETT__WGMMA)
        return false;
    adds = sett__arg_of(l, next, 3);
    for (int row = SETT__AT_WGMMA_ROW; row <= SETT__AT_WGMMA_ACC_AT; row++)
        if (sett__attr(l->tape->arg, op, row) != sett__attr(l->tape->arg, next, row))
            return false;
    return sett__arg_op(l, op, 0) == sett__arg_op(l, next, 0) && adds->code == SETT__CONST && adds->imm;
}

/* So many registers of an accumulator. */
static unsigned held_by(const sett__lower *l, const sett__op *op)
{
    const sett__mma *x = &sett__mmas[sett__attr(l->tape->arg, op, SETT__AT_WGMMA_ROW)];
    return (unsigned)(x->m * sett__attr(l->tape->arg, op, SETT__AT_WGMMA_N)) / SETT__WARP_GROUP * (unsigned)sett__dtype_bytes((sett_dtype)x->c) / REGISTER;
}

/* A fence of all registers of the product behind it, and of no others, is of its assembly. */
static bool is_fenced(const sett__lower *l, const sett__op *fence)
{
    const sett__op *next = fence + 1;
    return fence->code == SETT__WGFENCE && fence->n_args == 1 && next < l->tape->op + l->tape->n_op && next->code == SETT__WGMMA &&
           sett__arg_op(l, fence, 0) == sett__arg_op(l, next, 0) && registers(sett__arg_of(l, fence, 0)) == held_by(l, next);
}

void sett__join_wgmma(sett__lower *l)
{
    const sett__op *op = l->tape->op;
    for (uint32_t i = 0; i < l->tape->n_op; i++) {
        const bool fenced = is_fenced(l, &op[i]);
        l->piece[i].elsewhere = fenced;
        i += fenced;
        if (op[i].code != SETT__WGMMA)
            continue;
        sett__piece *piece = &l->piece[i];
        *piece = (sett__piece){.products = 1, .fenced = fenced};
        for (; goes_on(l, &op[i]); piece->products++)
            l->piece[++i].elsewhere = true;
    }
}

static void products(call *c, const sett__op *op, const sett__piece *piece)
{
    const sett__op *adds = sett__arg_of(c->l, op, 3);
    const unsigned held = held_by(c->l, op), per = REGISTER / (unsigned)sett__dtype_bytes((sett_dtype)sett__mmas[attr(c, op, SETT__AT_WGMMA_ROW)].c);
    give(c, op, 0, (unsigned)attr(c, op, SETT__AT_WGMMA_ACC_AT) / per, held);
    if (adds->code != SETT__CONST || adds->imm)
        tie(c);
    size_t at = (size_t)sprintf(c->text, piece->fenced ? "wgmma.fence.sync.aligned;\n\t" : "");
    for (uint32_t i = 0; i < piece->products; i++) {
        at += (size_t)sprintf(c->text + at, i ? "\n\t" : "");
        at += put_product(c, op + i, held, c->text + at);
    }
    finish(c);
}

/* ---- the operations ------------------------------------------------------------------------ */
void sett__lower_wgmma(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    (void)out;
    call c;
    unsigned all = 0;
    const sett__piece *piece = &l->piece[op - l->tape->op];
    if (piece->elsewhere)
        return;
    for (int k = 0; k < op->n_args; k++)
        all += sett__arg_of(l, op, k)->code == SETT__RMEM ? registers(sett__arg_of(l, op, k)) : 0;
    if (begin(&c, l, all, piece->products ? piece->products : 1)) {
        if (op->code == SETT__WGMMA) {
            products(&c, op, piece);
        } else {
            for (int k = 0; k < op->n_args; k++)
                give(&c, op, k, 0, registers(sett__arg_of(l, op, k)));
            tie(&c);
            if (op->code == SETT__WGWAIT)
                sprintf(c.text, "wgmma.wait_group.sync.aligned %d;", (int)attr(&c, op, SETT__AT_WGWAIT_PENDING));
            else
                sprintf(c.text, "wgmma.%s.sync.aligned;", op->code == SETT__WGCOMMIT ? "commit_group" : "fence");
            finish(&c);
        }
    }
    end(&c);
}

/* Bits 0 to 13 of the address, 16 to 29 of lead, 32 to 45 of stride, each without its low 4; 62 and 63 the swizzle. */
void sett__lower_desc(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    const uint32_t *arg = l->tape->arg;
    uint64_t swizzle = (uint64_t)sett__attr(arg, op, SETT__AT_DESC_SWIZZLE);
    uint64_t lead = (uint64_t)sett__attr(arg, op, SETT__AT_DESC_LEAD), stride = (uint64_t)sett__attr(arg, op, SETT__AT_DESC_STRIDE);
    LLVMValueRef at = LLVMBuildPtrToInt(l->b, sett__ir_form_place(l, op, 0), l->i64, "");
    at = LLVMBuildLShr(l->b, LLVMBuildAnd(l->b, at, sett__ir_int(l->i64, 0x3ffff), ""), sett__ir_int(l->i64, 4), "");
    out[0] = LLVMBuildOr(l->b, at, sett__ir_int(l->i64, lead >> 4 << 16 | stride >> 4 << 32 | (swizzle ? 4 - swizzle : 0) << 62), "");
}
