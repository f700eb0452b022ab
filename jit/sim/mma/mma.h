/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices by warps and warp groups, and the copies of matrices for them. */
#ifndef SETT_JIT_SIM_MMA_H
#define SETT_JIT_SIM_MMA_H
#include "jit/sim/async/async.h"

/* ---- mma.c ------------------------------------------------------------------------------------------------ */
/* Where an op's row is in program->matmul, if it is a product; op: in the given tape. False: out of memory. */
bool sett__matmul_find(sett__program *, uint32_t *cap, const uint32_t *arg, const sett__op *, uint32_t op, uint32_t *at);
bool sett__matmuls_check(const sett__program *, const sett__sim_launch *, sett_error *); /* SETT_E_TARGET: the modelled machine lacks one */
sett__unit sett__matmul_unit(const sett__core *, const sett__matmul *); /* of the machine that is modelled */
static inline int sett__modelled_sm(const sett__sim_launch *l)
{
    return l->sm ? l->sm : SETT__MODELLED_SM;
}
/* Between a matrix and a warp's rows of elements. splat: one row stands for all. */
void sett__fragment_take(const sett__fragment *, sett_dtype, void *matrix, const void *rows, bool splat);
void sett__fragment_give(const sett__fragment *, sett_dtype, const void *matrix, void *rows);
bool sett__mma_run(sett__core *, sett__warp *, const sett__insn *);
bool sett__ldmatrix(sett__core *, sett__warp *, const sett__insn *);
bool sett__stmatrix(sett__core *, sett__warp *, const sett__insn *);
bool sett__movmatrix(sett__core *, sett__warp *, const sett__insn *);
bool sett__dp4a(sett__core *, sett__warp *, const sett__insn *);

/* ---- poison.c: of a warp that is followed, what becomes of poison --------------------------------------------- */
void sett__mma_shadow(sett__core *, sett__warp *, const sett__insn *);
void sett__movmatrix_shadow(sett__core *, sett__warp *, const sett__insn *);
/* Rows of A in registers, from `offset` in the warp's frame on, that have poison; *read: who read it. */
uint32_t sett__wgmma_poison(sett__core *, const sett__warp *, const sett__matmul *, uint32_t offset, uint32_t size, uint32_t *read);
/* Eight columns of D, at `offset` in the warp's frame, by the rows of A and columns of B that have poison. root: D's, in program->root. */
void sett__wgmma_shadow(sett__core *, sett__warp *, const sett__matmul *, uint32_t root, uint32_t offset, uint32_t op, bool adds, uint32_t rows, uint32_t columns,
    uint32_t read);

/* ---- wgmma.c ---------------------------------------------------------------------------------------------- */
bool sett__desc(sett__core *, sett__warp *, const sett__insn *);
bool sett__wgmma(sett__core *, sett__warp *, const sett__insn *); /* begins it */
bool sett__wgmma_fence(sett__core *, sett__warp *, const sett__insn *);
bool sett__wgmma_commit(sett__core *, sett__warp *, const sett__insn *);

#endif
