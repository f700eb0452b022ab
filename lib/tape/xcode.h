/* SPDX-License-Identifier: Apache-2.0 */
/* A part of tape.h, which includes it: host expressions over symbols. */
#ifndef SETT_LIB_TAPE_XCODE_H
#define SETT_LIB_TAPE_XCODE_H
#include <stdint.h>

/* Host expressions over symbols: postfix, evaluated in 64 bits with overflow checks by expr.c. Grid, extents, strides, checks. */
typedef enum sett__xcode {
    SETT__X_CONST, SETT__X_SYM, SETT__X_ADD, SETT__X_SUB, SETT__X_MUL, SETT__X_DIV, SETT__X_REM, SETT__X_MIN,
    SETT__X_MAX, SETT__X_SHL, SETT__X_SHR, SETT__X_AND, SETT__X_SELECT, SETT__X_LT, SETT__X_SCALAR, SETT__X_LOG2 /* ceil_log2(x), of x > 0 */,
    SETT__N_XCODES
} sett__xcode;
typedef struct sett__xop {
    uint8_t code; /* sett__xcode */
    int64_t imm;  /* CONST: the number; SYM, SCALAR: index */
} sett__xop;
/* In sig->code; count 0: absent, which means 1 for grid, block, cluster. */
typedef struct sett__expr { uint32_t first, count; } sett__expr;

#endif
