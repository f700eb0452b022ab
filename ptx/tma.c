/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of the bulk engine: boxes by tensor maps, and bytes; maps that the device changes. A box to shared memory goes by inline
 * PTX: LLVM's intrinsic wants the cluster's address space, and pays two conversions of addresses for it. Bytes to a peer do too:
 * its intrinsic takes no barrier of a peer. So do maps that are fetched: of a parameter's LLVM 22 leaves its intrinsic twice, by each
 * of the parameter's addresses. */
#include "ptx.h"
#include <string.h>

/* In shared memory, as PTX takes it in a register of 32 bits. */
static LLVMValueRef shared_at(sett__lower *l, const sett__op *op, int k)
{
    return LLVMBuildPtrToInt(l->b, sett__ir_form_place(l, op, k), l->i32, "");
}

/* A parameter's address, or one that is given. */
static LLVMValueRef map_of(sett__lower *l, const sett__op *op, int k)
{
    LLVMValueRef v = sett__ir_scalar(l, op, k);
    return sett__arg_of(l, op, k)->code == SETT__TMAP ? v : LLVMBuildIntToPtr(l->b, v, l->ptr, "");
}

static unsigned coordinates(sett__lower *l, const sett__op *op, int first, LLVMValueRef *in)
{
    for (int k = first; k < op->n_args; k++)
        in[k - first] = sett__ir_scalar(l, op, k);
    return op->n_args - (unsigned)first;
}

/* The last two of an intrinsic: a policy, and whether there is one. */
static unsigned hint(sett__lower *l, const sett__op *op, int k, LLVMValueRef *in)
{
    const bool there = sett__arg_of(l, op, k) != NULL;
    in[0] = there ? sett__ir_scalar(l, op, k) : sett__ir_int(l->i64, 0);
    in[1] = sett__ir_int(l->i1, there);
    return 2;
}

/* What an asm is made of: text and constraints grow together. */
typedef struct spelled {
    char text[300], regs[60];
    LLVMValueRef in[16];
    unsigned n;
} spelled;

static void say(spelled *s, const char *text)
{
    size_t at = strlen(s->text);
    snprintf(s->text + at, sizeof s->text - at, "%s", text);
}

static void say_operand(spelled *s, const char *before, char reg, LLVMValueRef v)
{
    char text[40];
    size_t at = strlen(s->regs);
    snprintf(text, sizeof text, "%s$%u", before, s->n);
    say(s, text);
    snprintf(s->regs + at, sizeof s->regs - at, "%c,", reg);
    s->in[s->n++] = v;
}

static void issue(sett__lower *l, spelled *s)
{
    say(s, ";");
    snprintf(s->regs + strlen(s->regs), sizeof s->regs - strlen(s->regs), "~{memory}");
    sett__ir_asm(l, LLVMVoidTypeInContext(l->ctx), s->text, s->regs, true, s->in, s->n);
}

/* "...mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint", of a mask and a policy that are there. */
static void say_options(sett__lower *l, const sett__op *op, spelled *s, int mask, int policy)
{
    say(s, sett__arg_of(l, op, mask) ? ".multicast::cluster" : "");
    say(s, sett__arg_of(l, op, policy) ? ".L2::cache_hint" : "");
}

static void say_last(sett__lower *l, const sett__op *op, spelled *s, int mask, int policy)
{
    if (sett__arg_of(l, op, mask))
        say_operand(s, ", ", 'h', LLVMBuildTrunc(l->b, sett__ir_scalar(l, op, mask), l->i16, ""));
    if (sett__arg_of(l, op, policy))
        say_operand(s, ", ", 'l', sett__ir_scalar(l, op, policy));
}

void sett__lower_tma_load(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    enum { MAP = 2, DONE = 3, PRED = 5, MASK = 6, HINT = 7, AT = 8 };
    spelled s = {.n = 0};
    (void)out;
    LLVMBasicBlockRef done = sett__ir_when(l, op, PRED, "load", "loaded");
    snprintf(s.text, sizeof s.text, "cp.async.bulk.tensor.%ud.shared::cluster.global.mbarrier::complete_tx::bytes", op->n_args - (unsigned)AT);
    say_options(l, op, &s, MASK, HINT);
    say_operand(&s, " [", 'r', shared_at(l, op, 0));
    say_operand(&s, "], [", 'l', map_of(l, op, MAP));
    for (int k = AT; k < op->n_args; k++)
        say_operand(&s, k > AT ? ", " : ", {", 'r', sett__ir_scalar(l, op, k));
    say_operand(&s, "}], [", 'r', shared_at(l, op, DONE));
    say(&s, "]");
    say_last(l, op, &s, MASK, HINT);
    issue(l, &s);
    sett__ir_done(l, done);
}

void sett__lower_tma_store(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    enum { MAP = 2, PRED = 3, HINT = 4, AT = 5 };
    char name[80];
    LLVMValueRef in[9];
    (void)out;
    LLVMBasicBlockRef done = sett__ir_when(l, op, PRED, "store", "stored");
    in[0] = sett__ir_form_place(l, op, 0), in[1] = map_of(l, op, MAP);
    unsigned n = coordinates(l, op, AT, in + 2);
    if (op->code == SETT__TMAREDUCE)
        snprintf(name, sizeof name, "llvm.nvvm.cp.async.bulk.tensor.reduce.%s.tile.%ud", sett__reduce_word[sett__attr(l->tape->arg, op, SETT__AT_TMAREDUCE_OP)], n);
    else
        snprintf(name, sizeof name, "llvm.nvvm.cp.async.bulk.tensor.s2g.tile.%ud", n);
    n += 2;
    n += hint(l, op, HINT, in + n);
    sett__ir_intrinsic(l, name, NULL, in, n);
    sett__ir_done(l, done);
}

void sett__lower_tma_prefetch(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    enum { PRED = 1, HINT = 2, AT = 3 };
    char name[80];
    LLVMValueRef in[8];
    (void)out;
    LLVMBasicBlockRef done = sett__ir_when(l, op, PRED, "fetch", "fetched");
    in[0] = map_of(l, op, 0);
    unsigned n = coordinates(l, op, AT, in + 1);
    snprintf(name, sizeof name, "llvm.nvvm.cp.async.bulk.tensor.prefetch.tile.%ud", n++);
    n += hint(l, op, HINT, in + n);
    sett__ir_intrinsic(l, name, NULL, in, n);
    sett__ir_done(l, done);
}

void sett__lower_map_prefetch(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    spelled s = {.text = "prefetch.tensormap"};
    (void)out;
    LLVMBasicBlockRef done = sett__ir_when(l, op, 1, "fetch", "fetched");
    say_operand(&s, " [", 'l', map_of(l, op, 0));
    say(&s, "]");
    issue(l, &s);
    sett__ir_done(l, done);
}

/* ---- bytes --------------------------------------------------------------------------- */
/* " [to], [from], bytes, [mbarrier]": the copies that complete on a barrier have their operands in the same places. */
enum { COPY_FROM = 2, COPY_DONE = 4, COPY_BYTES = 6 };
static void say_copy(sett__lower *l, const sett__op *op, spelled *s, char reg, LLVMValueRef from)
{
    say_operand(s, " [", 'r', shared_at(l, op, 0));
    say_operand(s, "], [", reg, from);
    say_operand(s, "], ", 'r', sett__ir_scalar(l, op, COPY_BYTES));
    say_operand(s, ", [", 'r', shared_at(l, op, COPY_DONE));
    say(s, "]");
}

void sett__lower_bulk_load(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    enum { PRED = 7, MASK = 8, HINT = 9 };
    spelled s = {.text = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"};
    (void)out;
    LLVMBasicBlockRef done = sett__ir_when(l, op, PRED, "load", "loaded");
    say_options(l, op, &s, MASK, HINT);
    say_copy(l, op, &s, 'l', sett__ir_form_place(l, op, COPY_FROM));
    say_last(l, op, &s, MASK, HINT);
    issue(l, &s);
    sett__ir_done(l, done);
}

void sett__lower_bulk_peer(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    enum { PRED = 7 };
    (void)out;
    LLVMBasicBlockRef done = sett__ir_when(l, op, PRED, "send", "sent");
    spelled s = {.text = "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"};
    say_copy(l, op, &s, 'r', shared_at(l, op, COPY_FROM));
    issue(l, &s);
    sett__ir_done(l, done);
}

void sett__lower_store_async(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    enum { DONE = 2, VALUE = 4, PRED = 5 };
    const sett__op *x = sett__arg_of(l, op, VALUE);
    const bool wide = sett__dtype_bytes((sett_dtype)x->dtype) == 8;
    const LLVMTypeRef word = wide ? l->i64 : l->i32;
    spelled s = {.n = 0};
    (void)out;
    LLVMBasicBlockRef done = sett__ir_when(l, op, PRED, "send", "sent");
    snprintf(s.text, sizeof s.text, "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes%s.%s", x->n == 4 ? ".v4" : x->n == 2 ? ".v2" : "", wide ? "b64" : "b32");
    say_operand(&s, " [", 'r', shared_at(l, op, 0));
    for (uint32_t k = 0; k < x->n; k++)
        say_operand(&s, k ? ", " : x->n > 1 ? "], {" : "], ", wide ? 'l' : 'r', LLVMBuildBitCast(l->b, sett__ir_element(l, sett__arg_op(l, op, VALUE), k), word, ""));
    say_operand(&s, x->n > 1 ? "}, [" : ", [", 'r', shared_at(l, op, DONE));
    say(&s, "]");
    issue(l, &s);
    sett__ir_done(l, done);
}

/* "add.noftz.f16" */
static void say_reduction(const sett__lower *l, const sett__op *op, spelled *s)
{
    const sett_dtype dtype = (sett_dtype)sett__arg_of(l, op, 0)->dtype;
    const int which = sett__attr(l->tape->arg, op, SETT__AT_BULKREDUCE_OP);
    const bool half = dtype == SETT_F16 || dtype == SETT_BF16;
    char text[40];
    snprintf(text, sizeof text, ".%s%s.%c%s", sett__reduce_word[which], half && !which ? ".noftz" : "",
        dtype == SETT_BF16 ? 'b' : sett__dtype_kind(dtype) == 'i' ? 's' : sett__dtype_kind(dtype) == 'u' ? 'u' : 'f',
        dtype == SETT_BF16 ? "f16" : half ? "16" : sett_dtype_bits(dtype) == 32 ? "32" : "64");
    say(s, text);
}

void sett__lower_bulk_store(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    enum { FROM = 2, BYTES = 4, PRED = 5, HINT = 6, NONE = 99 };
    spelled s = {.n = 0};
    (void)out;
    LLVMBasicBlockRef done = sett__ir_when(l, op, PRED, "store", "stored");
    if (op->code == SETT__BULKSTORE) {
        LLVMValueRef in[5] = {sett__ir_form_place(l, op, 0), sett__ir_form_place(l, op, FROM), sett__ir_scalar(l, op, BYTES)};
        hint(l, op, HINT, in + 3);
        sett__ir_intrinsic(l, "llvm.nvvm.cp.async.bulk.shared.cta.to.global", NULL, in, 5);
    } else {
        say(&s, "cp.reduce.async.bulk.global.shared::cta.bulk_group");
        say_options(l, op, &s, NONE, HINT);
        say_reduction(l, op, &s);
        say_operand(&s, " [", 'l', sett__ir_form_place(l, op, 0));
        say_operand(&s, "], [", 'r', shared_at(l, op, FROM));
        say_operand(&s, "], ", 'r', sett__ir_scalar(l, op, BYTES));
        say_last(l, op, &s, NONE, HINT);
        issue(l, &s);
    }
    sett__ir_done(l, done);
}

void sett__lower_bulk_group(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    const bool wait = op->code == SETT__BULKWAIT;
    (void)out;
    LLVMValueRef pending = sett__ir_int(l->i32, wait ? (uint64_t)sett__attr(l->tape->arg, op, SETT__AT_BULKWAIT_PENDING) : 0);
    const char *read = wait && sett__attr(l->tape->arg, op, SETT__AT_BULKWAIT_READ) ? ".read" : "";
    char name[60];
    snprintf(name, sizeof name, wait ? "llvm.nvvm.cp.async.bulk.wait.group%s" : "llvm.nvvm.cp.async.bulk.commit.group%s", read);
    sett__ir_intrinsic(l, name, NULL, &pending, wait);
}

void sett__lower_policy(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    char text[100];
    int percent = sett__attr(l->tape->arg, op, SETT__AT_POLICY_PERCENT);
    snprintf(text, sizeof text, "createpolicy.fractional.L2::%s.b64 $0, %d.%02d;", sett__evict_word[sett__attr(l->tape->arg, op, SETT__AT_POLICY_KIND)],
        percent / 100, percent % 100);
    out[0] = sett__ir_asm(l, l->i64, text, "=l", false, NULL, 0);
}

/* ---- maps in memory ------------------------------------------------------------------------ */
static LLVMValueRef generic_at(sett__lower *l, const sett__op *op, int k)
{
    return LLVMBuildAddrSpaceCast(l->b, sett__ir_form_place(l, op, k), l->ptr, "");
}

void sett__lower_map_at(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    out[0] = LLVMBuildPtrToInt(l->b, generic_at(l, op, 0), l->i64, "");
}

void sett__lower_map_replace(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    static const char *const fields[] = {"global.address", "rank", "box.dim", "global.dim", "global.stride", "element.stride", "elemtype", "swizzle.mode", "fill.mode"};
    const int field = sett__attr(l->tape->arg, op, SETT__AT_REPLACE_FIELD);
    const bool whole = field == SETT__FIELD_ADDRESS || field == SETT__FIELD_RANK || field >= SETT__FIELD_TYPE;
    char name[60];
    (void)out;
    LLVMValueRef at = sett__ir_form_place(l, op, 0), value = sett__ir_scalar(l, op, 2);
    LLVMValueRef ordinal = sett__ir_int(l->i32, (uint64_t)sett__attr(l->tape->arg, op, SETT__AT_REPLACE_ORDINAL));
    if (field == SETT__FIELD_RANK) /* of which the field has one less */
        value = LLVMBuildSub(l->b, value, sett__ir_int(l->i32, 1), "");
    LLVMValueRef in[3] = {at, whole ? value : ordinal, value};
    snprintf(name, sizeof name, "llvm.nvvm.tensormap.replace.%s", fields[field]);
    sett__ir_intrinsic(l, name, LLVMTypeOf(at), in, whole ? 2 : 3);
}

void sett__lower_map_copy(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    enum { FROM = 2, PIECE = 16 };
    LLVMTypeRef piece = LLVMVectorType(l->i64, 2), byte = LLVMInt8TypeInContext(l->ctx);
    LLVMValueRef to = sett__ir_form_place(l, op, 0), from = map_of(l, op, FROM);
    (void)out;
    for (uint64_t at = 0; at < SETT__MAP_BYTES; at += PIECE) {
        LLVMValueRef i = sett__ir_int(l->i64, at);
        LLVMValueRef v = LLVMBuildLoad2(l->b, piece, LLVMBuildGEP2(l->b, byte, from, &i, 1, ""), "");
        LLVMSetAlignment(v, PIECE);
        LLVMSetAlignment(LLVMBuildStore(l->b, v, LLVMBuildGEP2(l->b, byte, to, &i, 1, "")), PIECE);
    }
}
