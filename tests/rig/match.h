/* SPDX-License-Identifier: Apache-2.0 */
/* Ordered matching of generated text. Lines of `checks`:
 *
 *     CHECK: text   stands somewhere after what the CHECK before it matched
 *     NOT: text     does not stand between the CHECKs around it
 *
 * Blanks match any run of blanks, `{{*}}` anything within a line; other lines are comments.
 * NULL when all hold, else what does not, malloc'ed. */
#ifndef SETT_TESTS_MATCH_H
#define SETT_TESTS_MATCH_H
char *match(const char *text, const char *checks);
int count_in(const char *text, const char *what); /* how often it stands there */
#endif
