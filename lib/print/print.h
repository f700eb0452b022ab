/* SPDX-License-Identifier: Apache-2.0 */
/* What printing from a kernel (printf.c, print_tensor.c) and from the host (jit/engine/buf_print.c) share, beside tensor.h. */
#ifndef SETT_LIB_PRINT_H
#define SETT_LIB_PRINT_H
#include "lib/tensor/tensor.h"

/* ---- printf.c: formats -------------------------------------------------------------------------- */
/* A CuTe format as C's, with one conversion an operand that travels: in the arena, and the operands' ops; NULL: the build
 * has failed. n negative: plain text. */
const char *sett__format(
    const sett__ctx *, const char *format, int n, const sett_arg *, uint32_t id[SETT__MAX_PRINT], int *n_id);
/* One printf whose marks fit its operands; no line end is added. False: the build has failed. */
bool sett__printf(const sett__ctx *, const char *format, int n, const sett_arg *);
/* What sett_printf says of a tensor in memory: pointer and layout, and all elements where the layout is static. */
bool sett__print_memory(const sett__ctx *, const sett_tensor *);
/* The texts around the elements of 1, 2, and 3 or more modes: lead of the first row, of a later block's first row, and of
 * every other row; what stands for rows left out; ends of a row, of a block's last row, and of the last one. */
typedef struct sett__print_frame { const char *first, *block, *row, *mark, *row_end, *block_end, *end; } sett__print_frame;
extern const sett__print_frame sett__print_frames[3];
enum { SETT__SHOWN = 3 /* first and last rows and columns of more than twice as many */ };
#define SETT__PRINT_NONE "       [])\n" /* of an extent of 0 */

#endif
