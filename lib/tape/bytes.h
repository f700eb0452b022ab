/* SPDX-License-Identifier: Apache-2.0 */
/* The tape as bytes.
 *
 *     "sett" version flags signature
 *     strings ops                        formats in the order in which ops name them
 *     [strings sites]                    when flags has bit 0
 *     [checks]                           when flags has bit 1; with their places when it has bit 0
 *
 * All numbers are LEB128 in their shortest form, signed ones zigzag. Everything that a tape may hold
 * in more than one way (order and sharing of strings, expressions, pick lists) is written in the one
 * order in which it is used, so equal tapes give equal bytes.
 *
 * write.c writes them, read.c reads them back and trusts nothing. Here is what both must agree on. */
#ifndef SETT_TAPE_BYTES_H
#define SETT_TAPE_BYTES_H
#include "ops.h"

#define SETT__MAGIC "sett" /* without the closing NUL */
enum { SETT__MAGIC_LEN = 4 };
enum { HAS_SUB = 1, HAS_ATTRS = 2, HAS_IMM = 4, HAS_N = 8, ARGS_SHIFT = 4, ARGS_MANY = 15 };
enum { S_WIDE = 1, S_DERIVED = 2 };
#define P_BITS(second) (sizeof(second) > 1 ? 3 : 1) /* of an option of sig.def; all of them, and what a scalar says: */
enum {
    P_SCALAR = 1, P_STRUCT = 3,
    P_ALL = P_SCALAR
#define PARAM_OPTION(name, bit, first, second) | P_BITS(second) << bit
#include "sig.def"
};
static_assert(P_ALL == P_SCALAR
#define PARAM_OPTION(name, bit, first, second) + (P_BITS(second) << bit)
#include "sig.def"
, "options of a parameter share bits");
enum { SMEM_MORE = 1 << 16, EARLY = 1 << 17, HINTS = 1 << 18, MAPS = 1 << 19 }; /* in the alignment of shared memory: an expression follows; the
                                                              * kernel begins early; how it is launched follows; tensor maps follow */
enum { L_COOPERATIVE = 1, L_BIG_CLUSTER = 2 };
#define M_BITS(most) ((most) < 2 ? 1 : (most) < 4 ? 3 : 7) /* of an option of map.def; all of them: */
enum {
    M_ALL = 0
#define MAP_OPTION(name, word, bit, most, first) | M_BITS(most) << bit
#include "map.def"
};
static_assert(M_ALL == 0
#define MAP_OPTION(name, word, bit, most, first) + (M_BITS(most) << bit)
#include "map.def"
, "options of a tensor map share bits");
enum { SITE_NONE, SITE_SAME, SITE_NEW /* + file */, WITH_SITES = 1, WITH_CHECKS = 2 };

#endif
