/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of jit/asm share: the three assemblers. */
#ifndef SETT_ASM_H
#define SETT_ASM_H
#include "asm.h"
#include <limits.h>
#include <pthread.h>

/* ---- nvjitlink.c ------------------------------------------------------------- */
typedef struct sett__nvjitlink {
    void *lib; /* of dlopen; NULL: not there, `why` says so. Never closed: its threads and tables may be in use */
    unsigned major, minor;
    char name[256], why[256];
    int (*create)(void **handle, uint32_t n_options, const char **options);
    int (*destroy)(void **handle);
    int (*add_data)(void *handle, int type, const void *data, size_t size, const char *name);
    int (*complete)(void *handle);
    int (*cubin_size)(void *handle, size_t *);
    int (*cubin)(void *handle, void *);
    int (*error_log_size)(void *handle, size_t *);
    int (*error_log)(void *handle, char *);
    int (*info_log_size)(void *handle, size_t *);
    int (*info_log)(void *handle, char *);
} sett__nvjitlink;
/* wanted: the caller's own choice of a library, which nothing else replaces; NULL: the usual names. */
void sett__nvjitlink_find(sett__nvjitlink *, const char *wanted);
sett_status sett__nvjitlink_run(const sett__nvjitlink *, const sett__asm_job *, sett__asm_out *, sett_error *);

/* ---- ptxas.c -------------------------------------------------------------------- */
typedef struct sett__ptxas {
    char path[PATH_MAX]; /* "": not there, `why` says so */
    char version[32], why[256];
    int limit_ms; /* of one run */
} sett__ptxas;
/* SETT_E_MEMORY: ask again later; else it is known whether there is one. */
sett_status sett__ptxas_find(sett__ptxas *, const char *wanted);
sett_status sett__ptxas_run(const sett__ptxas *, const sett__asm_job *, sett__asm_out *, sett_error *);

/* ---- spawn.c: a program run in a folder, its output collected ---------------------- */
/* argv[0] is an absolute path; no shell, an environment of three fixed words, stdin empty, stdout and stderr in
 * *out, of malloc; past 4 MiB the rest is dropped: an assembler that talks without end costs time, not memory. Past limit_ms it and all of its process group are killed: SETT_E_ASSEMBLE. status: the exit status, 128 + N for signal N, -1 when the host program's SIGCHLD handling reaped the child
 * before we could. */
sett_status sett__spawn(
    const char *folder, char *const argv[], int limit_ms, sett__sink *out, int *status, sett_error *);

/* ---- log.c ------------------------------------------------------------------------- */
void sett__asm_trim_log(char *log);
/* The reason of a refusal: the assembler's own words, shortened to what an error holds. */
sett_status sett__asm_refused(sett_error *, const char *who, const sett__asm_job *, const char *log);

#endif
