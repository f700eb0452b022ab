/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel function, and the walk over the tape. */
#include "ptx.h"
#include <stdlib.h>
#include <string.h>

void sett__lower_fail(sett__lower *l, sett_status status, const char *format, ...)
{
    if (l->status)
        return;
    char text[400], place[128] = "";
    va_list v;
    va_start(v, format);
    vsnprintf(text, sizeof(text), format, v);
    va_end(v);
    if (l->site < l->tape->n_site) {
        const sett__site_ref *s = &l->tape->site[l->site];
        snprintf(place, sizeof(place), "%.100s:%u: ", l->tape->string[s->file], s->line);
    }
    l->status = sett__error(l->error, status, "%s%s", place, text);
}

uint32_t sett__arg_op(const sett__lower *l, const sett__op *op, int k)
{
    return k < op->n_args ? l->tape->arg[op->args + (uint32_t)k] : SETT__NONE;
}

const sett__op *sett__arg_of(const sett__lower *l, const sett__op *op, int k)
{
    uint32_t i = sett__arg_op(l, op, k);
    return i == SETT__NONE ? NULL : &l->tape->op[i];
}

/* ---- the function ---------------------------------------------------------------------- */

static void fn_text(sett__lower *l, const char *name, const char *value)
{
    LLVMAttributeRef a =
        LLVMCreateStringAttribute(l->ctx, name, (unsigned)strlen(name), value, (unsigned)strlen(value));
    LLVMAddAttributeAtIndex(l->fn, LLVMAttributeFunctionIndex, a);
}

static void param_flag(sett__lower *l, unsigned param, const char *name)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(l->fn, param + 1, LLVMCreateEnumAttribute(l->ctx, kind, 0));
}

/* A block or cluster whose three extents are constants. */
static bool static_extents(const sett__sig *sig, const sett__expr *e, int64_t out[3])
{
    for (int i = 0; i < 3; i++) {
        out[i] = 1;
        for (uint32_t k = 0; k < e[i].count; k++)
            if (sig->code[e[i].first + k].code == SETT__X_SYM || sig->code[e[i].first + k].code == SETT__X_SCALAR)
                return false;
        if (e[i].count && (!sett__expr_eval(sig, e[i], NULL, NULL, &out[i]) || out[i] < 1))
            return false;
    }
    return true;
}

static void extents_attribute(sett__lower *l, const char *name, const int64_t n[3])
{
    char text[80];
    snprintf(text, sizeof(text), "%lld,%lld,%lld", (long long)n[0], (long long)n[1], (long long)n[2]);
    fn_text(l, name, text);
}

static void number_attribute(sett__lower *l, const char *name, uint32_t n)
{
    char text[16];
    snprintf(text, sizeof text, "%u", n);
    if (n)
        fn_text(l, name, text);
}

static void launch_attributes(sett__lower *l)
{
    const sett__sig *sig = &l->tape->sig;
    int64_t n[3];
    if (static_extents(sig, sig->block, n))
        extents_attribute(l, "nvvm.reqntid", n);
    if (l->sm >= 90 && static_extents(sig, sig->cluster, n) && n[0] * n[1] * n[2] > 1)
        extents_attribute(l, "nvvm.cluster_dim", n);
    number_attribute(l, "nvvm.maxnreg", sig->max_registers);
    number_attribute(l, "nvvm.minctasm", sig->min_blocks);
}

/* Its bytes are the parameter; what is only read of it is read from there. */
static void by_value(sett__lower *l, unsigned i, uint32_t bytes, uint32_t aligned)
{
    unsigned kind = LLVMGetEnumAttributeKindForName("byval", 5), align = LLVMGetEnumAttributeKindForName("align", 5);
    LLVMAttributeRef type = LLVMCreateTypeAttribute(l->ctx, kind, LLVMArrayType2(l->i8, bytes));
    LLVMAddAttributeAtIndex(l->fn, i + 1, type);
    LLVMAddAttributeAtIndex(l->fn, i + 1, LLVMCreateEnumAttribute(l->ctx, align, aligned));
    param_flag(l, i, "readonly");
}

/* Its address is taken, as instructions want: grid_constant lets it stay where it is. */
static void map_param(sett__lower *l, unsigned i, const sett__map *m)
{
    LLVMSetValueName2(LLVMGetParam(l->fn, i), m->name, strlen(m->name));
    by_value(l, i, SETT__MAP_BYTES, SETT__MAP_ALIGN);
    LLVMAddAttributeAtIndex(l->fn, i + 1, LLVMCreateStringAttribute(l->ctx, "nvvm.grid_constant", 18, "", 0));
}

/* `noalias readonly` makes LLVM load through the read-only path: not where the kernel begins while others still write. */
static void name_params(sett__lower *l)
{
    const sett__sig *sig = &l->tape->sig;
    for (uint32_t i = 0; i < sig->n_param; i++) {
        const sett__param *p = &sig->param[i];
        LLVMSetValueName2(LLVMGetParam(l->fn, i), p->name, strlen(p->name));
        if (p->bytes)
            by_value(l, i, p->bytes, p->align);
        if (p->scalar || sig->early)
            continue;
        if (p->restricted)
            param_flag(l, i, "noalias");
        if (!(p->access & SETT__ACCESS_WRITE))
            param_flag(l, i, "readonly");
    }
    for (uint32_t i = 0; i < sig->n_sym; i++)
        LLVMSetValueName2(LLVMGetParam(l->fn, sig->n_param + i), sig->sym[i].name, strlen(sig->sym[i].name));
    for (uint32_t i = 0; i < sig->n_map; i++)
        map_param(l, sig->n_param + sig->n_sym + i, &sig->map[i]);
}

static bool make_function(sett__lower *l)
{
    const sett__sig *sig = &l->tape->sig;
    uint32_t n = sig->n_param + sig->n_sym + sig->n_map + (sig->n_claim > 0);
    LLVMTypeRef *in = (LLVMTypeRef *)malloc((n + 1u) * sizeof(*in)), global = LLVMPointerTypeInContext(l->ctx, 1);
    if (!in)
        return false;
    for (uint32_t i = 0; i < sig->n_param; i++)
        in[i] = sig->param[i].bytes    ? LLVMPointerTypeInContext(l->ctx, 0)
                : sig->param[i].scalar ? sett__ir_mem_type(l, sig->param[i].dtype)
                                       : global;
    for (uint32_t i = 0; i < sig->n_sym; i++)
        in[sig->n_param + i] = sig->sym[i].wide ? l->i64 : l->i32;
    for (uint32_t i = 0; i < sig->n_map; i++)
        in[sig->n_param + sig->n_sym + i] = LLVMPointerTypeInContext(l->ctx, 0);
    if (sig->n_claim)
        in[n - 1] = global; /* of a sett__failure */
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(l->ctx), in, n, 0);
    free(in);
    l->fn = LLVMAddFunction(l->module, l->name, type);
    LLVMSetFunctionCallConv(l->fn, SETT__CC_PTX_KERNEL);
    name_params(l);
    launch_attributes(l);
    return true;
}

/* ---- the ops -------------------------------------------------------------------------------- */

LLVMValueRef sett__ir_sreg(sett__lower *l, const char *reg, uint32_t dim)
{
    char name[64];
    snprintf(name, sizeof(name), "llvm.nvvm.read.ptx.sreg.%s.%c", reg, "xyz"[dim % 3]);
    return sett__ir_intrinsic(l, name, NULL, NULL, 0);
}

static LLVMValueRef sreg(sett__lower *l, const sett__op *op)
{
    static const char *const reg[] = {"tid", "ctaid", "ntid", "nctaid"};
    if (op->code == SETT__LANE)
        return sett__ir_intrinsic(l, "llvm.nvvm.read.ptx.sreg.laneid", NULL, NULL, 0);
    return sett__ir_sreg(l, reg[op->code - SETT__TID], op->sub);
}

static LLVMValueRef scalar_param(sett__lower *l, const sett__op *op)
{
    LLVMValueRef v = LLVMGetParam(l->fn, (unsigned)op->imm);
    if (op->code == SETT__ADDR)
        return LLVMBuildPtrToInt(l->b, v, l->i64, "");
    return op->dtype == SETT_BOOL ? LLVMBuildICmp(l->b, LLVMIntNE, v, sett__ir_int(l->i8, 0), "") : v;
}

static void constant(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    LLVMValueRef v = sett__ir_bits_const(l, op->dtype, (uint64_t)op->imm);
    for (uint32_t first = 0, width; first < op->n; first += width) {
        width = sett__ir_piece_width(op->n, first);
        *out++ = sett__ir_splat(l, v, width);
    }
}

static void pick(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    for (uint32_t i = 0; i < op->n; i++)
        l->scratch[i] = sett__ir_element(l, sett__arg_op(l, op, 0), l->tape->index[(uint32_t)op->imm + i]);
    sett__ir_collect(l, out, op->n, sett__ir_reg_type(l, op->dtype), l->scratch);
}

static void pack(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    uint32_t n = 0;
    for (int k = 0; k < op->n_args; k++)
        for (uint32_t i = 0; i < sett__arg_of(l, op, k)->n; i++)
            l->scratch[n++] = sett__ir_element(l, sett__arg_op(l, op, k), i);
    sett__ir_collect(l, out, op->n, sett__ir_reg_type(l, op->dtype), l->scratch);
}

static void one_op(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    switch ((sett__class)sett__ops[op->code].cls) {
    case SETT__C_CONST:
        constant(l, op, out);
        break;
    case SETT__C_SREG:
        out[0] = sreg(l, op);
        break;
    case SETT__C_SYM:
        out[0] = LLVMGetParam(l->fn, l->tape->sig.n_param + (unsigned)op->imm);
        break;
    case SETT__C_SCALAR:
        out[0] = scalar_param(l, op);
        break;
    case SETT__C_ROOT:
        sett__lower_root(l, op, out);
        break;
    case SETT__C_BINARY:
    case SETT__C_COMPARE:
    case SETT__C_TERNARY:
    case SETT__C_SELECT:
    case SETT__C_UNARY:
        sett__lower_elementwise(l, op, out);
        break;
    case SETT__C_CONVERT:
        (op->code == SETT__BITCAST ? sett__lower_bitcast : sett__lower_elementwise)(l, op, out);
        break;
    case SETT__C_PICK:
        pick(l, op, out);
        break;
    case SETT__C_PACK:
        pack(l, op, out);
        break;
    case SETT__C_REDUCE:
        sett__lower_reduce(l, op, out);
        break;
    case SETT__C_LOAD:
        sett__lower_load(l, op, out);
        break;
    case SETT__C_STORE:
        sett__lower_store(l, op);
        break;
    case SETT__C_ATOM:
        sett__lower_atom(l, op, out);
        break;
    case SETT__C_BARRIER:
        sett__lower_barrier(l, op);
        break;
    case SETT__C_CPASYNC:
        sett__lower_cp_async(l, op);
        break;
    case SETT__C_WARP:
        sett__lower_warp(l, op, out);
        break;
    case SETT__C_INLINE:
        sett__lower_inline(l, op, out);
        break;
    case SETT__C_FORM:
        sett__lower_form(l, op, out);
        break;
    case SETT__C_SHFL:
        sett__lower_shfl(l, op, out);
        break;
    case SETT__C_IF:
        sett__lower_if(l, op);
        break;
    case SETT__C_LOOP:
        sett__lower_loop(l);
        break;
    case SETT__C_WHILE:
        sett__lower_while(l, op);
        break;
    case SETT__C_ELSE:
        sett__lower_else(l);
        break;
    case SETT__C_FOR:
        sett__lower_for(l, op, out);
        break;
    case SETT__C_END:
        sett__lower_end(l);
        break;
    case SETT__C_PRINTF:
        (op->code == SETT__ASSERT ? sett__lower_assert : sett__lower_printf)(l, op);
        break;
    }
}

/* Pieces that an op's result takes; a root is one pointer. */
static uint32_t slots(const sett__op *op)
{
    return sett__ops[op->code].cls == SETT__C_ROOT ? 1 : sett__ir_pieces(op->n);
}

/* Instruction selection takes a block at a time, and more than in proportion for a very long one. */
enum { BLOCK_OPS = 1024 };

static void split(sett__lower *l)
{
    LLVMBasicBlockRef next = sett__ir_block(l, "next");
    LLVMBuildBr(l->b, next);
    sett__ir_enter(l, next);
}

static void walk(sett__lower *l, LLVMValueRef *pool)
{
    const sett__tape *t = l->tape;
    l->allocas = sett__ir_block(l, "entry");
    LLVMBasicBlockRef start = sett__ir_block(l, "start");
    sett__ir_enter(l, start);
    for (uint32_t i = 0; i < t->n_op && !l->status; i++) {
        l->val[i] = pool;
        pool += slots(&t->op[i]);
        l->site = t->op[i].site;
        sett__debug_at(l, l->site);
        one_op(l, &t->op[i], l->val[i]);
        if (l->level == 0 && i % BLOCK_OPS == BLOCK_OPS - 1)
            split(l);
    }
    l->site = SETT__NONE;
    if (l->status)
        return;
    sett__debug_at(l, SETT__NONE);
    LLVMBuildRetVoid(l->b);
    sett__ir_enter(l, l->allocas);
    LLVMBuildBr(l->b, start);
}

static void types(sett__lower *l)
{
    l->i1 = LLVMInt1TypeInContext(l->ctx);
    l->i8 = LLVMInt8TypeInContext(l->ctx);
    l->i16 = LLVMInt16TypeInContext(l->ctx);
    l->i32 = LLVMInt32TypeInContext(l->ctx);
    l->i64 = LLVMInt64TypeInContext(l->ctx);
    l->ptr = LLVMPointerTypeInContext(l->ctx, 0);
}

static void note_uses(sett__lower *l)
{
    for (uint32_t i = 0; i < l->tape->n_op; i++)
        for (int k = 0; k < l->tape->op[i].n_args; k++) {
            uint32_t id = sett__arg_op(l, &l->tape->op[i], k);
            if (id != SETT__NONE)
                l->used[id] = 1;
        }
}

sett_status sett__lower_tape(sett__lower *l)
{
    const sett__tape *t = l->tape;
    size_t pool = 0, widest = 1;
    for (uint32_t i = 0; i < t->n_op; i++) {
        pool += slots(&t->op[i]);
        widest = t->op[i].n > widest ? t->op[i].n : widest;
        widest = t->op[i].n_args > widest ? t->op[i].n_args : widest;
    }
    types(l);
    l->site = SETT__NONE;
    l->val = (LLVMValueRef **)calloc(t->n_op + 1u, sizeof(*l->val));
    l->scratch = (LLVMValueRef *)calloc(pool + widest, sizeof(*l->scratch));
    l->used = (uint8_t *)calloc(t->n_op + 1u, 1);
    l->piece = (sett__piece *)calloc(t->n_op + 1u, sizeof *l->piece);
    if (l->val && l->scratch && l->used && l->piece && make_function(l)) {
        note_uses(l);
        sett__join_wgmma(l);
        l->b = LLVMCreateBuilderInContext(l->ctx);
        sett__debug_begin(l);
        walk(l, l->scratch + widest);
        sett__debug_end(l);
        LLVMDisposeBuilder(l->b);
    } else {
        sett__lower_fail(l, SETT_E_MEMORY, "out of memory");
    }
    free(l->val);
    free(l->scratch);
    free(l->used);
    free(l->piece);
    l->used = NULL;
    l->piece = NULL;
    l->val = NULL;
    l->scratch = NULL;
    return l->status;
}
