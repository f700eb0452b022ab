/* SPDX-License-Identifier: Apache-2.0 */
/* The ABI of the compiler plug-in: what libsett-ptx.so gives the engine. */
#ifndef SETT_PLUG_COMPILER_H
#define SETT_PLUG_COMPILER_H
#include <sett/sett.h>

/* ---- the plug-in: what libsett-ptx.so gives jit/ ------------------------------------- */
/* Raised by every change that can alter the code of a kernel: it is in every key. A test
 * hashes the sources that decide and fails when the id was not raised. */
#define SETT__CODEGEN_ID "0.1.0-18"
#define SETT__PLUGIN_ABI 4
#define SETT__PLUGIN_SYMBOL "sett_ptx_plugin"
#define SETT__PLUGIN_DEAD "the compiler failed earlier in this process and is not used again: %.400s"
typedef struct sett__ptx_job {
    const void *tape; /* canonical bytes, with sites when line_info */
    size_t tape_len;
    const char *target, *name; /* "sm_90a"; the kernel's symbol in the PTX */
    bool line_info, keep_ir;
    /* LLVM failed in a way that it cannot return from (SETT_E_COMPILE, or SETT_E_MEMORY): called once on the compiling
     * thread with the text, which then never returns. The plug-in is dead after it. */
    void (*fatal)(void *user, sett_status, const char *text);
    void *user;
    const char *provoke; /* tests: "fatal" makes LLVM report one */
} sett__ptx_job;
typedef struct sett__ptx_out {
    char *ptx, *ir; /* NUL-ended, malloc'ed by the plug-in, freed by its release */
    size_t ptx_len;
    int codegen_level; /* 2, or 0 for very long straight-line code */
} sett__ptx_out;
typedef struct sett__ptx_plugin {
    size_t size;
    int abi;
    const char *codegen_id, *llvm_version;
    sett_status (*compile)(const sett__ptx_job *, sett__ptx_out *, sett_error *); /* any thread with 8 MiB of stack */
    void (*release)(sett__ptx_out *);
    const char *(*failed)(void); /* LLVM's last words in this process, for all engines in it; NULL: it lives */
} sett__ptx_plugin;
typedef const sett__ptx_plugin *(*sett__ptx_plugin_fn)(void);

#endif
