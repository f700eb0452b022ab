/* SPDX-License-Identifier: Apache-2.0 */
/* What compile.c and record.c share beside compile.h. */
#ifndef SETT_JIT_COMPILE_INSIDE_H
#define SETT_JIT_COMPILE_INSIDE_H
#include "compile.h"

/* What is asked for, checked and with every default filled in. */
typedef struct sett__request {
    sett_engine *e;
    sett_compile_options opt;
    const char *name;
    char target[32];
    bool cpu;
    int opt_level; /* of the assembler, 0..3 */
    const sett__memo_key *memo; /* what the engine remembers the caller's request by; NULL: it does not */
} sett__request;

/* A recorded kernel on its way. */
typedef struct sett__recorded {
    sett__tape tape;
    char *report; /* malloc'ed; NULL: none */
    char *warnings; /* malloc'ed lines of it; NULL: none */
    bool finished; /* it ends with what sett__report_finish adds */
    const char *spill; /* then its last line, where a thread has more values than registers; NULL: not so */
    double ms;
    void *bytes; /* canonical; with sites if line_info */
    size_t len;
    void *material;
    size_t material_len;
    sett__digest key, slot;
} sett__recorded;

/* ---- record.c ---- */
sett_status sett__check_options(const char *func, const sett_compile_options *, sett_error *); /* of this version's size */
sett_status sett__request_open(sett__request *, sett_engine *, const char *func, const sett_compile_options *, sett_error *);
/* engine NULL: no memory is kept for the next. */
sett_status sett__record_body(
    sett_engine *, sett_body, const sett_compile_options *, bool report, sett__recorded *, sett_error *);
/* Adds to the report what takes as long to find as to record, and is not needed where the kernel is found with its report. */
sett_status sett__report_finish(sett__recorded *, sett_error *);
sett_status sett__read_any_tape(const void *data, size_t len, sett__tape *, sett_error *); /* bytes or text */
void sett__recorded_free(sett__recorded *);
/* The bytes, the material, the public key and the slot; for a target that the tape fits, else its error. */
sett_status sett__keys_make(const sett__request *, sett__recorded *, sett_error *);

/* ---- alias.c ---- */
/* What is asked for, as a digest that every process of the same builds forms. False: there is none, and the body is recorded. */
bool sett__alias_of(const sett__request *, sett_body, sett__digest *alias);
/* The kernel whose key an alias is known to be, from memory or disk. False: there is none. */
bool sett__by_alias(const sett__request *, const sett__digest *alias, sett_kernel **);

/* ---- refusal.c ---- */
/* What was refused, while it was recorded or when it was verified, is a finding of an engine that checks. cpu: for the CPU. */
void sett__refusal_told(sett_engine *, const char *name, bool cpu, sett_status, const sett_error *);

/* ---- verify_user.c ---- */
/* Has the body of this memo recorded the same key each time? SETT_E_ARGUMENT, with what differs: it has not. */
sett_status sett__recording_check(const sett__request *, const sett__recorded *, sett_error *);

/* ---- suspect.c ---- */
/* What a checked compile finds in a tape, as warnings. */
void sett__suspect(const sett__tape *, const sett__listener *, sett_checks, const char *kernel);
#endif
