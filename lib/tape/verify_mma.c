/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold of matrix products, and of matrices between shared memory and registers. */
#include "verify.h"

/* Operand k, a thread's part of a matrix of so many elements in all. */
static bool check_part(sett__verifier *c, uint32_t k, int dtype, uint32_t all)
{
    const sett__op *v = &c->t->op[sett__verified_arg(c, k)];
    if (v->dtype == dtype && v->n == all / SETT__WARP)
        return true;
    return sett__refuse(c, SETT_E_SHAPE, "operand %u is %u of %s: it needs %u of %s", k, v->n, sett_dtype_name((sett_dtype)v->dtype),
        all / SETT__WARP, sett_dtype_name((sett_dtype)dtype));
}

bool sett__check_mma(sett__verifier *c)
{
    const sett__mma *x = &sett__mmas[sett__verified_attr(c, SETT__AT_MMA_ROW)];
    uint32_t a = (uint32_t)x->m * x->k, b = (uint32_t)x->n * x->k, d = (uint32_t)x->m * x->n;
    return check_part(c, 0, x->a, a) && check_part(c, 1, x->b, b) && check_part(c, 2, x->c, d) && sett__result_is(c, x->c, d / SETT__WARP);
}

/* Eight rows of 16 bytes are a matrix, of which a thread holds 4 bytes. */
bool sett__check_matrix(sett__verifier *c)
{
    enum { ROW = 16, HELD = 4 };
    bool store = c->op->code == SETT__STMATRIX;
    const sett__op *x = store ? &c->t->op[sett__verified_arg(c, 2)] : c->op;
    sett__verified_place at = {.root = &c->t->op[sett__verified_arg(c, 0)], .imm = c->op->imm, .align = ROW};
    at.element = (uint64_t)sett__dtype_bytes((sett_dtype)x->dtype);
    uint64_t bytes = sett__bytes_of(x->dtype, x->n);
    if (sett_dtype_bits((sett_dtype)x->dtype) < 8 || at.element > HELD)
        return sett__refuse(c, SETT_E_DTYPE, "a matrix has elements of 8, 16 or 32 bits, not %s", sett_dtype_name((sett_dtype)x->dtype));
    if (bytes != HELD && bytes != 2 * HELD && bytes != 4 * HELD)
        return sett__refuse(c, SETT_E_SHAPE, "%llu bytes a thread: 1, 2 or 4 matrices are 4, 8 or 16", (unsigned long long)bytes);
    if (sett__verified_attr(c, SETT__AT_MATRIX_TRANS) && at.element != 2)
        return sett__refuse(c, SETT_E_DTYPE, "only elements of 16 bits are transposed, not %s", sett_dtype_name((sett_dtype)x->dtype));
    return sett__check_offset(c, &at, ROW / (uint32_t)at.element) && sett__check_align(c, &at);
}
