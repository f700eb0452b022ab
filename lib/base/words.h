/* SPDX-License-Identifier: Apache-2.0 */
/* Words that people write. "; did you mean layout?": the known word that fewest edits lead to; and element types by the names that
 * frameworks have for them. It stands alone: the sett command has it too. */
#ifndef SETT_WORDS_H
#define SETT_WORDS_H
#include <sett/base.h>

enum { SETT__WORD_MOST = 48 };
typedef struct sett__guess { /* of a word that is none of those known */
    const char *word, *best;
    size_t len;
    int far; /* of best: how many edits */
    char text[80];
} sett__guess;
sett__guess sett__guess_of(const char *word, size_t len);
void sett__guess_add(sett__guess *, const char *known_or_null);
const char *sett__guess_text(sett__guess *); /* "": nothing is near */

/* "bf16", or a framework's "bfloat16"; 0: none. */
sett_dtype sett__dtype_named(const char *);
#endif
