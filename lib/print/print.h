/* SPDX-License-Identifier: Apache-2.0 */
/* What printing from a kernel (printf.c, print_tensor.c) and printing of a buffer by the host (jit/engine/buf_print.c) share. */
#ifndef SETT_LIB_PRINT_H
#define SETT_LIB_PRINT_H
#include "lib/tensor/tensor.h"

/* ---- printf.c: formats -------------------------------------------------------------------------- */
/* Turns a CuTe format into C's, with one conversion for each operand of the PRINTF, whose ops go to id. In the arena; NULL: the
 * build has failed. n negative: plain text. */
const char *sett__format(
    const sett__ctx *, const char *format, int n, const sett_arg *, uint32_t id[SETT__MAX_PRINT], int *n_id);
/* Records one printf, whose conversions fit its operands, without adding a line's end. False: the build has failed. */
bool sett__printf(const sett__ctx *, const char *format, int n, const sett_arg *);
/* What sett_printf prints of a tensor in memory: pointer and layout, and all elements if the layout is static. */
bool sett__print_memory(const sett__ctx *, const sett_tensor *);
/* The texts around elements, for 1, 2, and 3 or more modes. In front of the first row, of the first row of a later block, of
 * any other row; in place of rows left out; behind a row, the last row of a block, the last row. */
typedef struct sett__print_frame { const char *first, *block, *row, *mark, *row_end, *block_end, *end; } sett__print_frame;
extern const sett__print_frame sett__print_frames[3];
enum { SETT__SHOWN = 3 /* more than twice as many rows or columns are cut to this many at each end */ };
#define SETT__PRINT_NONE "       [])\n" /* of a tensor with an extent of 0 */

#endif
