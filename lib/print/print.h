/* SPDX-License-Identifier: Apache-2.0 */
/* What printing from a kernel (printf.c, print_tensor.c) and printing of a buffer by the host (jit/engine/buf_print.c) share. */
#ifndef SETT_LIB_PRINT_H
#define SETT_LIB_PRINT_H
#include "lib/tensor/tensor.h"
#include <sett/print.h>

/* ---- printf.c: formats -------------------------------------------------------------------------- */
/* The C format of a CuTe format, in the build's arena. `id` gets the PRINTF's operands, `n_id` of them: the format has one conversion
 * for each. Operands known while building are written into the format instead. n < 0: the format is plain text, of no operands, in
 * which braces mean nothing. NULL: the build has failed. */
const char *sett__format(
    const sett__ctx *, const char *format, int n, const sett_arg *, uint32_t id[SETT__MAX_PRINT], int *n_id);
/* Records one printf, whose conversions fit its operands, without adding a line's end. False: the build has failed. */
bool sett__printf(const sett__ctx *, const char *format, int n, const sett_arg *);
/* What sett_printf prints of a tensor in memory: pointer and layout, and all elements if the layout is static. */
bool sett__print_memory(const sett__ctx *, const sett_tensor *);
/* The texts that a printed tensor has around its rows. Mode 0 counts the rows of a block and mode 1 the elements of a row; each
 * coordinate of the modes from 2 on is a block. */
typedef struct sett__print_frame {
    const char *first;     /* before the first row of the first block: "       [[[" */
    const char *block;     /* before the first row of each later block */
    const char *row;       /* before each other row */
    const char *mark;      /* a line in place of the rows that are left out */
    const char *row_end;   /* behind each row that is not the last of its block */
    const char *block_end; /* behind the last row of each block but the last */
    const char *end;       /* behind the last row of the last block */
} sett__print_frame;
extern const sett__print_frame sett__print_frames[3]; /* of tensors of 1 mode, of 2, of 3 and more */
enum { SETT__SHOWN = 3 /* more than twice as many rows or columns are cut to this many at each end */ };
#define SETT__PRINT_NONE "       [])\n" /* of a tensor with an extent of 0 */

#endif
