/* SPDX-License-Identifier: Apache-2.0 */
/* One printed line while it is recorded: what its expression's reader (golden_read.c) and its judge (golden_print.c) share. */
#ifndef SETT_TESTS_GOLDEN_PRINT_H
#define SETT_TESTS_GOLDEN_PRINT_H
#include "tests/golden/golden_value.h"
#include "tests/golden/golden.h"
#include <sett/launch.h>

enum { ELEMENTS = 4096, MOST_BINDS = 16, PRINTED = 1 << 16 };
typedef enum what { ARG, TENSOR, WORD, SWIZZLE, NOTHING } what;
typedef struct thing {
    what is;
    sett_arg a;
    const sett_tensor *t;
    int s[3];
    char word[40];
} thing;
typedef struct print_case {
    const char *kind, *expr, *args;
    sett_launch_arg bind[MOST_BINDS];
    sett_buf buf[MOST_BINDS];
    char *data[MOST_BINDS];
    int n_bind;
    char traced[PRINTED], printed[PRINTED];
    size_t n_printed;
    const char *unknown; /* what of the expression has no reading here */
} print_case;
extern print_case golden_now;
extern const char golden_other_type[], golden_no_word[];

/* An expression of the host language, recorded; NOTHING where golden_now.unknown says why it has no reading. */
thing golden_read(sett_build *, const char *text);
thing golden_unknown(const char *why);
sett_arg golden_shown(thing);
#endif
