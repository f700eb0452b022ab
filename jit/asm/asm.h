/* SPDX-License-Identifier: Apache-2.0 */
/* Assemblers: PTX to cubin, by nvJitLink, ptxas or the driver. */
#ifndef SETT_JIT_ASM_FACE_H
#define SETT_JIT_ASM_FACE_H
#include "jit/cuda/cuda.h"

/* ---- asm/: PTX to cubin ------------------------------------------------------------- */
typedef struct sett__asm sett__asm; /* the assemblers that were found; any thread may use it */
typedef struct sett__asm_config {
    sett_assembler choice;        /* AUTO: nvJitLink, else ptxas, else the driver */
    const char *ptxas, *nvjitlink; /* as in sett_engine_options; NULL: looked for */
    struct sett__cuda *cuda;      /* for the driver's JIT; NULL: there is none */
    int timeout_ms;               /* of one run of ptxas; 0: $SETT_JIT_TIMEOUT_MS, else two minutes */
} sett__asm_config;
typedef struct sett__asm_out {
    void *cubin; /* malloc'ed */
    size_t cubin_len;
    char *log;   /* malloc'ed, NUL-ended, never NULL on success */
    int registers, spill_stores, spill_loads, stack, smem; /* -1: unknown */
    bool serialized;      /* a C75xx "wgmma serialized" warning */
    char identity[64];    /* "nvJitLink 13.0", "ptxas 13.0.88", "driver-jit 13000" */
    double ms;
} sett__asm_out;
/* Looks for no assembler before the first use. */
sett_status sett__asm_open(sett__asm **, const sett__asm_config *, sett_error *);
void sett__asm_close(sett__asm *);
sett_status sett__assemble(sett__asm *, const sett__asm_job *, sett__asm_out *, sett_error *);
void sett__asm_out_free(sett__asm_out *);
void sett__asm_warm(sett__asm *); /* looks for the assembler that will be used, ahead of its first use */
/* May an assembler of this identity make a kernel's cubin here? Looks for it if need be. */
bool sett__asm_would_use(sett__asm *, const char *identity);
/* A line `name: value` for each assembler: where it was found and its version, or why not. snprintf-like. */
void sett__asm_describe(sett__asm *, sett__sink *);
/* Parses an assembler's log, for tests: fills registers to serialized. */
void sett__asm_parse_log(const char *log, sett__asm_out *);

#endif
