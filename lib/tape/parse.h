/* SPDX-License-Identifier: Apache-2.0 */
/* What the two halves of the tape's parser share: parse.c the ops, parse_sig.c the signature. */
#ifndef SETT_PARSE_H
#define SETT_PARSE_H
#include "ops.h"

typedef struct sett__parser {
    sett__lex x;
    const sett__allocator *mem;
    sett__tape *t;
    int nest; /* of expressions */
    uint32_t cap_op, cap_arg, cap_index, cap_string, cap_site, cap_sym, cap_param, cap_leaf, cap_code, cap_check, cap_map, cap_def, cap_line;
    uint32_t *def; /* op of a value number, plus one */
    uint32_t n_line;
} sett__parser;
bool sett__parse_grow(sett__parser *, void **data, uint32_t *cap, uint32_t n, size_t item); /* room for one more than n */
bool sett__parse_place(sett__parser *, const char **file, uint32_t *line);                  /* file:line */
bool sett__parse_sig_line(sett__parser *, bool *found); /* false also where the line is none of the signature's, with nothing read */
#endif
