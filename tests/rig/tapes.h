/* SPDX-License-Identifier: Apache-2.0 */
/* Tapes as text, for the suites of tensor cores and of what runs beside them. */
#ifndef SETT_TESTS_TAPES_H
#define SETT_TESTS_TAPES_H
#include "tests/rig/faces.h"

/* All that code can be generated for, as sm_90 and sm_90a; how many. */
enum { TAPE_TARGETS = 64 };
int tape_targets(char to[TAPE_TARGETS][16]);
/* One without a GPU and a cache. */
sett_engine *tapes_engine(void);
/* Assembled where that can be, else as far as PTX; the caller frees the kernel. */
sett_status tape_compiled(sett_engine *, const char *text, const char *target, sett_kernel **, sett_error *);
/* The PTX of a text, for a target; checks as match() has them. */
void tape_gives(sett_engine *, const char *text, const char *target, const char *checks);
/* Text, bytes and text again are the same. */
void tape_comes_back(const char *text);
/* A file, for free(). */
char *tape_file(const char *name);

#endif
