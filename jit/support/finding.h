/* SPDX-License-Identifier: Apache-2.0 */
/* A part of support.h, which includes it: the findings of the checker in this process. */
#ifndef SETT_JIT_FINDING_H
#define SETT_JIT_FINDING_H
#include "lib/tape/tape.h"
#include <sett/check.h>

struct sett__logger;
sett_check_site sett__site_at(const sett__tape *, uint32_t op, sett_check_role); /* its strings are the tape's */
/* ---- finding.c: the process's store. Any thread may call these ------------------------------------------------ */
/* What somebody was told already. Zeros at first. */
typedef struct sett__told {
    const void **kept;
    uint32_t n, cap;
} sett__told;
/* Copies it; reason: it is suppressed, and none. True: a new one, of this kind and pair of lines; false: its count grew. Without memory for the copy it is counted as lost,
 * and is a new one too, so that it is told. */
bool sett__finding_add(const sett_finding *, const char *reason, sett__told *or_null); /* with the last: a new one to them */
uint64_t sett__findings_lost(void);
/* Who is told of findings. */
typedef struct sett__listener {
    sett_checks checks;      /* which: ERRORS, ALL or STRICT */
    sett_finding_fn fn;      /* NULL: the log, or stderr where nobody listens to it */
    void *user;
    struct sett__logger *log; /* may be NULL */
    bool later;               /* of a compile: the log gets warnings and costs when the next checked launch has ended, or the engine closes */
    sett__told *told;         /* what fn got: it gets what others were told too. NULL: it gets what is new to the process */
} sett__listener;
/* Adds a finding, unless its level is not looked for or the source suppresses it, and tells a new one. True: it counts. */
bool sett__finding_tell(const sett__listener *, const sett_finding *);
bool sett__finding_at(sett_check_kind, const sett_check_site *); /* is there one of this kind, whose first site it is? */
void sett__findings_say_rest(const sett__listener *); /* those that were to come later */
void sett__findings_sum(const sett__listener *); /* a line that counts this process's findings, if there are new ones */

/* ---- suppress.c: findings that the source, or $SETT_CHECK_SUPPRESS, says are known ----------------------------------- */
/* A kernel is launched whose sites have this function; others than those in a sett_race_ok are none of it. */
void sett__suppress_seen(const char *file, const char *function);
/* The reason, which lives as long as the process; NULL: it is not suppressed. */
const char *sett__suppressed(const sett_finding *);
/* Reads $SETT_CHECK_SUPPRESS, once a process. SETT_E_IO, SETT_E_PARSE: the text says why. */
sett_status sett__suppress_open(sett_error *);
void sett__suppress_unneeded(const sett__listener *); /* tells, as a warning, those that nothing needed so far */

/* ---- proofs.c: what launches in which nothing was found have proved ------------------------------------------------- */
/* Copies. because: NULL, or where the next proof ends. */
void sett__proof_tell(const char *kernel, sett_check_proof, const sett_check_site *because);
/* Calls fn with each line of the text, in the order in which they came. */
void sett__orders_tell(const char *kernel, uint64_t orders, bool all, uint64_t others); /* a line: in which orders it ran */
void sett__proofs_each(void (*fn)(void *user, const char *line), void *user);
uint64_t sett__proofs_many(void); /* lines */

/* ---- finding_file.c: $SETT_CHECK_JSON, $SETT_CHECK_SARIF and $SETT_CHECK_PROOFS ------------------------------------------------------- */
/* Replaces the files that these name, whole, by all that was found so far. again: also where they say that already. SETT_E_IO: the text
 * says which file, and why not. */
sett_status sett__findings_write(bool again, sett_error *);
sett_status sett__findings_open(sett_error *);        /* an engine opens: SETT_E_IO, a file that the environment names is of no use */
void sett__findings_told(const sett__listener *);     /* a launch has ended that may have found something */
void sett__findings_close(const sett__listener *);    /* an engine closes */

#endif
