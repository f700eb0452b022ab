/* SPDX-License-Identifier: Apache-2.0 */
/* What printing from a kernel (printf.c, print_tensor.c) and from the host (jit/print.c) share, beside lib.h. */
#ifndef SETT_LIB_PRINT_H
#define SETT_LIB_PRINT_H
#include "lib.h"

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
const char *sett__memory_type(sett_dtype); /* "i8": CuTe's name of what lies in memory, which has no sign; Booleans are bytes */
bool sett__has_layout(sett_arg);                 /* is it a tiler, which prints in brackets of its own? layout_text.c */
uint32_t sett__start_align(const sett_tensor *); /* bytes that the address of element 0 is known to be a multiple of; tensor_make.c */
const char *sett__space_name(sett_space);        /* "gmem"; tensor_make.c */

#endif
