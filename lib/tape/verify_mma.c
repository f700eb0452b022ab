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

/* The op's row. NULL, and refused: it is of the other kind. */
static const sett__mma *row_of(sett__verifier *c, int attr, int kind)
{
    int32_t row = sett__verified_attr(c, attr);
    if (sett__mmas[row].kind == kind)
        return &sett__mmas[row];
    return sett__refuse(c, SETT_E_VERIFY, "%s is of %s", sett__mma_word[row], kind == SETT__MMA_WARP ? "wgmma" : "mma"), NULL;
}

/* A block of known size has so many threads, and no part of a warp: where lanes are missing the result is undefined. */
static bool check_block(sett__verifier *c, int64_t least)
{
    const sett__sig *s = &c->t->sig;
    int64_t n = 1, x;
    for (int d = 0; d < 3; d++)
        if (s->block[d].count && !sett__expr_const(s, s->block[d], &x))
            return true;
        else
            n *= s->block[d].count ? x : 1;
    if (n < least)
        return sett__refuse(c, SETT_E_VERIFY, "it is of %lld threads, and a block has %lld", (long long)least, (long long)n);
    return n % SETT__WARP == 0 || sett__refuse(c, SETT_E_VERIFY, "it is of whole warps, and a block has %lld threads, no multiple of %d", (long long)n, SETT__WARP);
}

bool sett__check_mma(sett__verifier *c)
{
    const sett__mma *x = row_of(c, SETT__AT_MMA_ROW, SETT__MMA_WARP);
    if (!x)
        return false;
    uint32_t a = (uint32_t)x->m * x->k, b = (uint32_t)x->n * x->k, d = (uint32_t)x->m * x->n;
    return check_part(c, 0, x->a, a) && check_part(c, 1, x->b, b) && check_part(c, 2, x->c, d) && sett__result_is(c, x->c, d / SETT__WARP) &&
           check_block(c, SETT__WARP);
}

/* Operand k is a factor of dp4a. */
static bool check_factor(sett__verifier *c, uint32_t k)
{
    const sett__op *v = &c->t->op[sett__verified_arg(c, k)];
    if (v->n == 4 && (v->dtype == SETT_I8 || v->dtype == SETT_U8))
        return true;
    return sett__refuse(c, SETT_E_SHAPE, "operand %u is %u of %s: it needs 4 of i8 or u8", k, v->n, sett_dtype_name((sett_dtype)v->dtype));
}

bool sett__check_dp4a(sett__verifier *c)
{
    const sett__op *sum = &c->t->op[sett__verified_arg(c, 2)];
    if (!check_factor(c, 0) || !check_factor(c, 1))
        return false;
    if (sum->n != 1 || sum->dtype != SETT_I32)
        return sett__refuse(c, SETT_E_SHAPE, "operand 2 is %u of %s: it needs one i32", sum->n, sett_dtype_name((sett_dtype)sum->dtype));
    return sett__result_is(c, SETT_I32, 1);
}

bool sett__check_movmatrix(sett__verifier *c)
{
    const sett__op *v = &c->t->op[sett__verified_arg(c, 0)];
    const int bits = sett_dtype_bits((sett_dtype)v->dtype);
    if ((bits != 8 && bits != 16 && bits != 32) || bits * v->n != 32)
        return sett__refuse(c, SETT_E_SHAPE, "operand 0 is %u of %s: it needs 4 bytes, of elements of 8, 16 or 32 bits", v->n, sett_dtype_name((sett_dtype)v->dtype));
    return sett__result_is(c, v->dtype, v->n) && check_block(c, SETT__WARP);
}

/* Eight rows of 16 bytes are a matrix, of which a thread holds 4 bytes. */
bool sett__check_matrix(sett__verifier *c)
{
    enum { ROW = 16, PART = 4 };
    bool store = c->op->code == SETT__STMATRIX;
    const sett__op *x = store ? &c->t->op[sett__verified_arg(c, 2)] : c->op;
    sett__verified_place at = {.root = &c->t->op[sett__verified_arg(c, 0)], .imm = c->op->imm, .align = ROW};
    at.element = (uint64_t)sett__dtype_bytes((sett_dtype)x->dtype);
    uint64_t bytes = sett__bytes_of(x->dtype, x->n);
    if (sett_dtype_bits((sett_dtype)x->dtype) < 8 || at.element > PART)
        return sett__refuse(c, SETT_E_DTYPE, "a matrix has elements of 8, 16 or 32 bits, not %s", sett_dtype_name((sett_dtype)x->dtype));
    if (bytes != PART && bytes != 2 * PART && bytes != 4 * PART)
        return sett__refuse(c, SETT_E_SHAPE, "%llu bytes a thread: 1, 2 or 4 matrices are 4, 8 or 16", (unsigned long long)bytes);
    if (sett__verified_attr(c, SETT__AT_MATRIX_TRANS) && at.element != 2)
        return sett__refuse(c, SETT_E_DTYPE, "only elements of 16 bits are transposed, not %s", sett_dtype_name((sett_dtype)x->dtype));
    return sett__check_offset(c, &at, ROW / (uint32_t)at.element) && sett__check_align(c, &at) && check_block(c, SETT__WARP);
}

/* ---- products of a warp group -------------------------------------------------------------- */
/* An address of 14 bits, and how the matrix lies there. */
bool sett__check_desc(sett__verifier *c)
{
    enum { PIECE = 16, ROWS = 8 };
    int32_t swizzle = sett__verified_attr(c, SETT__AT_DESC_SWIZZLE);
    int32_t lead = sett__verified_attr(c, SETT__AT_DESC_LEAD), stride = sett__verified_attr(c, SETT__AT_DESC_STRIDE);
    sett__verified_place at = {.root = &c->t->op[sett__verified_arg(c, 0)], .imm = c->op->imm, .align = PIECE};
    uint64_t need = swizzle ? UINT64_C(128) << swizzle : PIECE, have = sett__root_align(c, at.root);
    at.element = (uint64_t)sett__dtype_bytes((sett_dtype)at.root->dtype);
    if (need > have)
        return sett__refuse(c, SETT_E_ALIGN, "%%%u is aligned to %llu bytes: swizzle=%s needs %llu", sett__verified_arg(c, 0),
            (unsigned long long)have, sett__swizzle_word[swizzle], (unsigned long long)need);
    if (lead % PIECE || stride % PIECE)
        return sett__refuse(c, SETT_E_ALIGN, "lead and stride are multiples of %d bytes", PIECE);
    /* Whatever reads it, reads 8 rows of a piece, each a swizzle further. */
    const uint64_t bytes = (ROWS - 1) * ((uint64_t)PIECE << swizzle) + PIECE;
    return sett__check_offset(c, &at, (uint32_t)(bytes / at.element)) && sett__check_align(c, &at);
}

enum { HELD = 4, MOST_HELD = 255 }; /* bytes of a register; registers of a thread */

/* Operand k is a root of whole registers. */
static bool held(sett__verifier *c, uint32_t k)
{
    const sett__op *root = &c->t->op[sett__verified_arg(c, k)];
    bool fits = sett_dtype_bits((sett_dtype)root->dtype) >= 8 && sett__dtype_bytes((sett_dtype)root->dtype) <= 4;
    if (!fits || sett__bytes_of(root->dtype, root->n) % HELD)
        return sett__refuse(c, SETT_E_DTYPE, "%%%u is %u of %s: wgmma takes registers of 32 bits", sett__verified_arg(c, k), root->n,
            sett_dtype_name((sett_dtype)root->dtype));
    uint64_t n = sett__bytes_of(root->dtype, root->n) / HELD;
    return n <= MOST_HELD || sett__refuse(c, SETT_E_LIMIT, "%%%u is %llu registers: a thread has %d", sett__verified_arg(c, k), (unsigned long long)n, MOST_HELD);
}

/* Operand k holds a thread's n elements of a matrix from element `at` on. */
static bool check_held(sett__verifier *c, uint32_t k, const char *what, int dtype, int32_t at, uint32_t n)
{
    const sett__op *root = &c->t->op[sett__verified_arg(c, k)];
    if (!held(c, k))
        return false;
    if (root->dtype != dtype)
        return sett__refuse(c, SETT_E_DTYPE, "%s is of %s, and %%%u of %s", what, sett_dtype_name((sett_dtype)dtype),
            sett__verified_arg(c, k), sett_dtype_name((sett_dtype)root->dtype));
    if (at * sett__dtype_bytes((sett_dtype)dtype) % HELD)
        return sett__refuse(c, SETT_E_ALIGN, "%s begins at element %d, not with a register", what, at);
    return (uint32_t)at + n <= root->n || sett__refuse(c, SETT_E_RANGE, "%s is %u elements: elements %d to %u are not in %%%u", what, n, at,
                                              (uint32_t)at + n - 1, sett__verified_arg(c, k));
}

/* What a row has not: matrices that lie the other way are of 16 bits, and in shared memory; signs are of floats. */
static bool check_flags(sett__verifier *c, const sett__mma *x, bool in_registers)
{
    bool trans_a = sett__verified_attr(c, SETT__AT_WGMMA_TRANS_A), trans_b = sett__verified_attr(c, SETT__AT_WGMMA_TRANS_B);
    if ((trans_a || trans_b) && sett__dtype_bytes((sett_dtype)x->a) != 2)
        return sett__refuse(c, SETT_E_DTYPE, "only matrices of 16 bits are transposed, not %s", sett_dtype_name((sett_dtype)x->a));
    if (trans_a && in_registers)
        return sett__refuse(c, SETT_E_VERIFY, "A in registers is not transposed");
    if (x->model == SETT__MMA_INT && (sett__verified_attr(c, SETT__AT_WGMMA_NEG_A) || sett__verified_attr(c, SETT__AT_WGMMA_NEG_B)))
        return sett__refuse(c, SETT_E_DTYPE, "only floats are negated");
    if (sett__verified_attr(c, SETT__AT_WGMMA_A_AT) && !in_registers)
        return sett__refuse(c, SETT_E_VERIFY, "a_at is of A in registers");
    return true;
}

bool sett__check_wgmma(sett__verifier *c)
{
    c->flies = true;
    const sett__mma *x = row_of(c, SETT__AT_WGMMA_ROW, SETT__MMA_GROUP);
    if (!x)
        return false;
    int32_t n = sett__verified_attr(c, SETT__AT_WGMMA_N);
    const char *set = x->model == SETT__MMA_INT ? "8, 16, 24, 32, and multiples of 16 from 48 on" : "multiples of 8";
    if (!sett__wgmma_has(x, (uint32_t)n))
        return sett__refuse(c, SETT_E_RANGE, "n %d: %s has %s, up to 256", n, sett__mma_word[x - sett__mmas], set);
    bool in_registers = c->t->op[sett__verified_arg(c, 1)].code == SETT__RMEM;
    if (!check_held(c, 0, "the accumulator", x->c, sett__verified_attr(c, SETT__AT_WGMMA_ACC_AT), (uint32_t)(x->m * n / SETT__WARP_GROUP)))
        return false;
    if (in_registers && !check_held(c, 1, "A", x->a, sett__verified_attr(c, SETT__AT_WGMMA_A_AT), (uint32_t)(x->m * x->k / SETT__WARP_GROUP)))
        return false;
    if (sett__verified_arg(c, 0) == sett__verified_arg(c, 1))
        return sett__refuse(c, SETT_E_VERIFY, "the accumulator is A too");
    return check_flags(c, x, in_registers) && check_block(c, SETT__WARP_GROUP);
}

bool sett__check_held(sett__verifier *c)
{
    const sett__op *op = c->op;
    uint64_t all = 0;
    c->flies = true;
    for (uint32_t k = 0; k < op->n_args; k++) {
        if (!held(c, k))
            return false;
        for (uint32_t j = 0; j < k; j++)
            if (sett__verified_arg(c, j) == sett__verified_arg(c, k))
                return sett__refuse(c, SETT_E_VERIFY, "%%%u is named twice", sett__verified_arg(c, k));
        const sett__op *root = &c->t->op[sett__verified_arg(c, k)];
        all += sett__bytes_of(root->dtype, root->n) / HELD;
        if (all > MOST_HELD)
            return sett__refuse(c, SETT_E_LIMIT, "it names more than %d registers, which a thread has", MOST_HELD);
    }
    return true;
}
