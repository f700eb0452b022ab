/* SPDX-License-Identifier: Apache-2.0 */
/* Families of matrix products. A family is a file that defines a sett__mma_family, and its row in mma.c, by
 * sett_mma_kind. gemm.c checks what holds of all of them, and calls the atom's family for the rest. */
#ifndef SETT_LIB_ATOM_INSIDE_H
#define SETT_LIB_ATOM_INSIDE_H
#include "atom.h"

/* ---- one product ---------------------------------------------------------------------------------- */
enum { A, B, C, D };
typedef struct sett__gemm {
    sett__ctx c;
    const sett_mma_atom *atom;
    const sett_tensor *t[4]; /* A, B, C, D, as (V,M,K), (V,N,K), (V,M,N) */
    int64_t m, n, k;         /* of atoms */
    bool overwrite;
    const sett_val *accumulate; /* NULL: always, or never where it overwrites */
} sett__gemm;

/* ---- families -------------------------------------------------------------------------------------- */
typedef struct sett__mma_family {
    const char *func; /* the public call that makes an atom */
    bool memory;      /* operands may lie in global and shared memory, and not only in registers */
    /* Makes an atom. NULL: the build has failed. The arguments are a copy that it may complete. */
    sett_mma_atom *(*atom)(const sett__ctx *, sett_mma_args *);
    /* Checks what holds of this family alone, when all else is checked. NULL: nothing does. False: the build has failed. */
    bool (*check)(const sett__gemm *);
    void (*record)(const sett__gemm *); /* the products */
} sett__mma_family;
extern const sett__mma_family sett__family_universal, sett__family_mma_sync, sett__family_dp4a, sett__family_wgmma;
extern const sett__mma_family *const sett__mma_families[]; /* mma.c: by sett_mma_kind */

/* ---- mma_atom.c: making an atom ---------------------------------------------------------------------- */
/* A row of mma.def of that kind, of these types: the largest that fits. -1: none does; *rows: those of these types, or
 * NULL, where there are none and the build has failed. */
int sett__find_mma_row(const sett__ctx *, const sett_mma_args *, int kind, const char **rows);
sett_layout *sett__mma_row_layout(const sett__ctx *, const char *text, int n); /* of mma.def, where N stands for n / 8 */
const char *sett__given_type(sett_dtype);                                      /* "(not given)" */
/* Fails the build where an argument is given that only wgmma takes. */
bool sett__check_plain_args(const sett__ctx *, const sett_mma_args *);

/* ---- operand.c: operands of a product, by atoms ------------------------------------------------------ */
const char *sett__gemm_letter(int operand); /* "A" */
int64_t sett__gemm_extent(const sett__ctx *, const sett_tensor *, int mode);
/* t(v, i, j) of an operand, where -1 is all. */
const sett_tensor *sett__gemm_part(const sett__gemm *, int operand, int64_t v, int64_t i, int64_t j);
/* Do an atom's values follow each other in registers, at constant places? As fragments have them. */
bool sett__gemm_is_flat(const sett__gemm *, int operand);
/* The element of its root where part (i, j) of a flat one begins; a load of it; a store of a value to it. */
int64_t sett__gemm_place(const sett__gemm *, int operand, int64_t i, int64_t j);
uint32_t sett__gemm_load(const sett__gemm *, int operand, int64_t i, int64_t j);
void sett__gemm_store(const sett__gemm *, int operand, int64_t i, int64_t j, uint32_t val);
/* The same of any tensor. */
uint32_t sett__gemm_loaded(const sett__gemm *, const sett_tensor *);
void sett__gemm_stored(const sett__gemm *, const sett_tensor *, uint32_t val);
/* What the first products add to: zeros, or what `held` loaded of C, or either, as .accumulate says. */
uint32_t sett__gemm_zeros(const sett__gemm *, uint32_t n);
uint32_t sett__gemm_chosen(const sett__gemm *, uint32_t held, uint32_t n);

#endif
