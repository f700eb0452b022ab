/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on rows: one element of a value for all lanes. */
#ifndef SETT_JIT_SIM_ROWS_H
#define SETT_JIT_SIM_ROWS_H
#include "lib/tape/ops.h"
#include "tensor_core.h"

#define WARP 32
#define SETT__ROW_ALIGN 32u
#define SETT__N_DTYPES (SETT_F8E4M3B11FNUZ + 1)
#define SETT__ROW_CODES (SETT__TANHA + 1) /* what has functions on rows comes first in ops.def */
#define SETT__ROW_TYPES (SETT_F8E5M2 + 1) /* and their types: past them are those that are only moved, and of 128 bits */

/* ---- wide.h: arithmetic on rows ------------------------------------------------------ */
typedef void (*sett__row_fn)(void *restrict d, const void *a, const void *b, const void *c, uint32_t rows,
                             uint32_t splat);
typedef void (*sett__turn_fn)(void *restrict d, const void *s, uint32_t n);
typedef struct sett__wide {
    sett__row_fn op[SETT__ROW_CODES][SETT__ROW_TYPES];
    sett__row_fn convert[SETT__ROW_TYPES][SETT__ROW_TYPES];
    sett__row_fn exp2_flushed;                     /* of f32 */
    sett__row_fn select[4];                        /* by log2 of the element's bytes */
    bool (*affine[2])(const void *row, int64_t step); /* 32-bit, 64-bit: row[l] == row[0] + l * step, all l */
    /* [log2 bytes][0: any n; 1, 2, 3: n = 2, 4, 8]: lanes of n elements to rows, and back */
    sett__turn_fn gather[4][4], scatter[4][4];
    /* Whole cache lines past the caches, to memory that is too large for them; drain: before others may look. */
    void (*stream)(void *restrict d, const void *s, size_t bytes);
    void (*drain)(void);
    sett__left_fn *left; /* matrix products: tensor_core.h */
    sett__columns_fn *columns;
} sett__wide;
extern const sett__wide sett__wide_base, sett__wide_avx2;
const sett__wide *sett__wide_best(void); /* for the machine that runs this */
/* ---- wide_128.c: the same for i128 and u128, on every machine --------------------------- */
sett__row_fn sett__row_bits(sett__code, uint8_t lg); /* POPC, CLZ, BREV of integers of 1 << lg bytes */
sett__row_fn sett__row_128(sett__code, sett_dtype operands, sett_dtype to); /* NULL: there is none */

#include "lanes.h"

#endif
