/* SPDX-License-Identifier: Apache-2.0 */
/* A part of inside.h, which includes it: products of matrices by warps and warp groups. */
#ifndef SETT_JIT_SIM_MATRIX_H
#define SETT_JIT_SIM_MATRIX_H

/* Where a lane's place is: elements from its root. */
static inline int64_t sett__place_index(const sett__warp *w, const sett__place *at, int lane)
{
    const void *base = at->base == SETT__NONE ? NULL : sett__at(w, at->base);
    uint64_t index = 0;
    if (base)
        index = at->base64 ? ((const uint64_t *)base)[lane] : at->base_unsigned ? ((const uint32_t *)base)[lane] : (uint64_t)((const int32_t *)base)[lane];
    return (int64_t)(index + (uint64_t)at->offset);
}

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
bool sett__full_warp(sett__core *, const sett__warp *, const sett__insn *); /* false: lanes are missing, and it has faulted */
bool sett__mma_run(sett__core *, sett__warp *, const sett__insn *);
bool sett__ldmatrix(sett__core *, sett__warp *, const sett__insn *);
bool sett__stmatrix(sett__core *, sett__warp *, const sett__insn *);
bool sett__movmatrix(sett__core *, sett__warp *, const sett__insn *);
bool sett__dp4a(sett__core *, sett__warp *, const sett__insn *);

/* ---- wgmma.c ---------------------------------------------------------------------------------------------- */
bool sett__desc(sett__core *, sett__warp *, const sett__insn *);
bool sett__wgmma(sett__core *, sett__warp *, const sett__insn *); /* begins it */
bool sett__wgmma_fence(sett__core *, sett__warp *, const sett__insn *);
bool sett__wgmma_commit(sett__core *, sett__warp *, const sett__insn *);
bool sett__whole_group(sett__core *, const sett__warp *, const sett__insn *); /* false: it is not of four whole warps, and has faulted */
/* The first of its group's warps that has not begun product number nth; NULL: all have. */
const sett__warp *sett__wgmma_missing(const sett__cta *, const sett__warp *, uint32_t nth);

#endif
