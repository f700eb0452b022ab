/* SPDX-License-Identifier: Apache-2.0 */
/* What finding.c keeps, for who writes it down. */
#ifndef SETT_JIT_FINDING_STORE_H
#define SETT_JIT_FINDING_STORE_H
#include "finding.h"

typedef struct sett__kept {
    sett_finding is;
    const char *reason; /* it is suppressed; NULL: it is not */
    bool stale;         /* a graver one of its kind and lines came, which has its count */
    bool unsaid;        /* of a compile: it is said behind the findings of a launch */
    struct sett__kept *next, *beside; /* in the order in which they came; of the same hash */
    char strings[];
} sett__kept;
/* The first of all; they stay as they are until it is unlocked. */
const sett__kept *sett__findings_lock(uint64_t *n_lost, uint64_t *n_changes);
void sett__findings_unlock(void);
void sett__findings_forget(void); /* of tests, which count what is given back */
void sett__proofs_forget(void);   /* a part of it: proofs.c */

#endif
