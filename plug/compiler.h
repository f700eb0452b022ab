/* SPDX-License-Identifier: Apache-2.0 */
/* The ABI of the compiler plug-in: what libsett-ptx.so gives the engine. */
#ifndef SETT_PLUG_COMPILER_H
#define SETT_PLUG_COMPILER_H
#include <sett/base.h>

/* ---- the plug-in: what libsett-ptx.so gives jit/ ------------------------------------- */
/* Part of every key. Raise it with every change that can alter a kernel's code: a test hashes the sources that decide, and
 * fails if they changed and the id did not. */
#define SETT__CODEGEN_ID "0.1.0-24"
#define SETT__PLUGIN_ABI 4
#define SETT__PLUGIN_SYMBOL "sett_ptx_plugin"
#define SETT__PLUGIN_DEAD "the compiler failed earlier in this process and is not used again: %.400s"
typedef struct sett__ptx_job {
    const void *tape; /* canonical bytes, with sites when line_info */
    size_t tape_len;
    const char *target, *name; /* target: "sm_90a"; name: the kernel's symbol in the PTX */
    bool line_info, keep_ir;
    /* Called once, on the compiling thread, if LLVM fails in a way that it cannot return from (SETT_E_COMPILE or
     * SETT_E_MEMORY). The thread never returns after it, and the plug-in cannot be used again. */
    void (*fatal)(void *user, sett_status, const char *text);
    void *user;
    const char *provoke; /* for tests: "fatal" makes LLVM fail so */
} sett__ptx_job;
typedef struct sett__ptx_out {
    char *ptx, *ir; /* end in a NUL; malloc'ed by the plug-in, freed by its release */
    size_t ptx_len;
    int codegen_level; /* 2, or 0 for very long straight-line code */
} sett__ptx_out;
typedef struct sett__ptx_plugin {
    size_t size;
    int abi;
    const char *codegen_id, *llvm_version;
    sett_status (*compile)(const sett__ptx_job *, sett__ptx_out *, sett_error *); /* on any thread with 8 MiB of stack */
    void (*release)(sett__ptx_out *);
    const char *(*failed)(void); /* LLVM's last message in this process, for all engines; NULL: it has not failed */
} sett__ptx_plugin;
typedef const sett__ptx_plugin *(*sett__ptx_plugin_fn)(void);

#endif
