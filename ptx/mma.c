/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices, and matrices between shared memory and registers, and between registers. A register of theirs holds four bytes of elements, or
 * an f64. */
#include "ptx.h"

typedef struct registers {
    LLVMTypeRef element, type; /* of a value; of what LLVM's intrinsic takes */
    unsigned each;             /* elements in one */
} registers;

static registers of_matrix(const sett__lower *l, int dtype)
{
    unsigned bytes = (unsigned)sett__dtype_bytes((sett_dtype)dtype);
    return (registers){sett__ir_reg_type(l, dtype), l->i32, bytes < 4 ? 4 / bytes : 1};
}

static registers of_product(const sett__lower *l, int dtype)
{
    registers r = of_matrix(l, dtype);
    if (dtype == SETT_F16 || dtype == SETT_F32 || dtype == SETT_F64)
        r.type = sett__ir_vec_type(r.element, r.each);
    return r;
}

/* The registers of a value; how many. */
static unsigned take(sett__lower *l, uint32_t value, registers r, LLVMValueRef *to)
{
    unsigned n = l->tape->op[value].n / r.each;
    for (unsigned i = 0; i < n; i++) {
        LLVMValueRef part[4], whole;
        for (unsigned k = 0; k < r.each; k++)
            part[k] = sett__ir_element(l, value, i * r.each + k);
        sett__ir_collect(l, &whole, r.each, r.element, part);
        to[i] = LLVMBuildBitCast(l->b, whole, r.type, "");
    }
    return n;
}

/* A value of n elements, of the registers that a call gave. */
static void give(sett__lower *l, LLVMValueRef call, registers r, uint32_t n, LLVMValueRef *out)
{
    for (uint32_t i = 0; i < n; i++) {
        LLVMValueRef one = n == r.each ? call : LLVMBuildExtractValue(l->b, call, i / r.each, "");
        one = LLVMBuildBitCast(l->b, one, sett__ir_vec_type(r.element, r.each), "");
        l->scratch[i] = r.each == 1 ? one : LLVMBuildExtractElement(l->b, one, sett__ir_int(l->i32, i % r.each), "");
    }
    sett__ir_collect(l, out, n, r.element, l->scratch);
}

void sett__lower_mma(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    const sett__mma *x = &sett__mmas[sett__attr(l->tape->arg, op, SETT__AT_MMA_ROW)];
    const int dtype[3] = {x->a, x->b, x->c};
    LLVMValueRef in[16];
    unsigned n = 0;
    char name[64];
    for (int k = 0; k < 3; k++)
        n += take(l, sett__arg_op(l, op, k), of_product(l, dtype[k]), in + n);
    snprintf(name, sizeof name, "llvm.nvvm.mma.%s", x->lowered);
    LLVMValueRef call = sett__ir_convergent(l, sett__ir_intrinsic(l, name, NULL, in, n));
    give(l, call, of_product(l, x->c), op->n, out);
}

/* "ldmatrix.sync.aligned.m8n8.x4.trans.b16", of a value of so many matrices. */
static LLVMValueRef matrices(sett__lower *l, const sett__op *op, const char *what, unsigned n, LLVMValueRef *in, unsigned n_in)
{
    char name[80];
    bool trans = sett__attr(l->tape->arg, op, SETT__AT_MATRIX_TRANS);
    snprintf(name, sizeof name, "llvm.nvvm.%s.sync.aligned.m8n8.x%u%s.b16", what, n, trans ? ".trans" : "");
    return sett__ir_convergent(l, sett__ir_intrinsic(l, name, LLVMTypeOf(in[0]), in, n_in));
}

void sett__lower_ldmatrix(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    registers r = of_matrix(l, op->dtype);
    LLVMValueRef at = sett__ir_address(l, op, op->dtype);
    give(l, matrices(l, op, "ldmatrix", op->n / r.each, &at, 1), r, op->n, out);
}

void sett__lower_stmatrix(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    (void)out;
    uint32_t value = sett__arg_op(l, op, 2);
    int dtype = l->tape->op[value].dtype;
    LLVMValueRef in[5] = {sett__ir_address(l, op, dtype)};
    unsigned n = take(l, value, of_matrix(l, dtype), in + 1);
    matrices(l, op, "stmatrix", n, in, n + 1);
}

/* By asm: LLVM 22 has no such intrinsic. */
void sett__lower_movmatrix(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    const registers r = of_matrix(l, op->dtype);
    LLVMValueRef in;
    take(l, sett__arg_op(l, op, 0), r, &in);
    give(l, sett__ir_convergent(l, sett__ir_asm(l, l->i32, "movmatrix.sync.aligned.m8n8.trans.b16 $0, $1;", "=r,r", false, &in, 1)), r, op->n, out);
}

void sett__lower_dp4a(sett__lower *l, const sett__op *op, LLVMValueRef *out)
{
    LLVMValueRef in[3];
    char name[40], sign[2];
    for (int k = 0; k < 2; k++) {
        const int dtype = sett__arg_of(l, op, k)->dtype;
        sign[k] = dtype == SETT_I8 ? 's' : 'u';
        take(l, sett__arg_op(l, op, k), of_matrix(l, dtype), &in[k]);
    }
    in[2] = sett__ir_scalar(l, op, 2);
    snprintf(name, sizeof name, "llvm.nvvm.idp4a.%c.%c", sign[0], sign[1]);
    out[0] = sett__ir_intrinsic(l, name, NULL, in, 3);
}
