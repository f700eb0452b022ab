/* SPDX-License-Identifier: Apache-2.0 */
/* From a body or a tape to a kernel: record, look in the cache, generate, assemble, write back. */
#ifndef SETT_JIT_COMPILE_FACE_H
#define SETT_JIT_COMPILE_FACE_H
#include "jit/asm/asm.h"
#include "jit/kernel/kernel.h"
#include "lib/tensor/tensor.h"
#include "plug/compiler.h"

/* ---- compile.c: what it has beside its public calls -------------------------------------------------------- */
/* As sett_key, of a tape. */
sett_status sett__key_of_tape(sett_engine *, const void *tape, size_t len, const sett_compile_options *or_null,
    sett__digest *key, sett_error *);
sett_asserts sett__environment_asserts(sett__logger *); /* DEFAULT: it says neither */

/* ---- dump.c: $SETT_DUMP --------------------------------------------------------------------------------- */
typedef enum sett__dump_kind { SETT__DUMP_TAPE = 1, SETT__DUMP_LLVM = 2, SETT__DUMP_PTX = 4, SETT__DUMP_CUBIN = 8 } sett__dump_kind;
void sett__dump_open(sett_engine *); /* reads it */
/* To FOLDER/NAME-KEY.kind, if it is wanted and there is something. */
void sett__dump_write(const sett_engine *, sett__dump_kind, const char *name, const sett__digest *key, const void *, size_t);
void sett__dump_tape(const sett_engine *, const char *name, const sett__digest *key, const sett__tape *);

/* ---- get.c: kernels that the cache holds; sett_kernel_get -------------------------------------------------- */
typedef struct sett__reading {
    const sett__blob *material; /* of the key; NULL: it is not known */
    sett__ticket *ticket;       /* goes with what the folder is given of a remote; or NULL */
    double record_ms;           /* of whoever reads it */
} sett__reading;
/* SETT_FROM_DISK: from the layers of this machine; one read for all threads that want the key at once. SETT_FROM_REMOTE: a request each.
 * SETT_E_NOT_CACHED: none that may be used. */
sett_status sett__read(sett_engine *, const sett__digest *key, sett_origin, const sett__reading *, sett_kernel **, sett_error *);
/* From the folder that is written, by who has waited for the turn to compile, or has it. */
sett_status sett__read_again(sett_engine *, const sett__digest *key, const sett__reading *, sett_kernel **, sett_error *);
void sett__miss_too(sett_error *why, const sett_error *more); /* adds why another layer has it not, if that says anything */
/* Waits for a flight that another leads, once for each find without lead. name: for profilers. */
sett_status sett__join_flight(sett_engine *, const char *name, sett__flight *, sett_kernel **, sett_error *);

/* ---- compiler.c: finding and opening what lies beside libsett.so --------------------------------------------- */
typedef struct sett__plugin {
    const sett__ptx_plugin *api;  /* NULL: not opened, or unfit */
    char path[SETT__SHARED_PATH]; /* what was tried */
} sett__plugin;
/* asked: sett_engine_options.plugin. SETT_E_NO_COMPILER with the reason. */
sett_status sett__plugin_open(sett__plugin *, const char *asked, sett_error *);

/* ---- warmup.c: memory that a compiling thread keeps at hand ------------------------------------------------- */
enum { SETT__SPARE_BLOCKS = 6 };
typedef struct sett__spare {
    void *block[SETT__SPARE_BLOCKS]; /* NULL: given back, or no memory */
    void *lid;                       /* NULL: nothing is kept */
    atomic_int touched;              /* blocks, from the first */
} sett__spare;
void sett__spare_take(sett__spare *); /* on the thread that will compile; less where there is no memory */
void sett__spare_touch(sett__spare *, const atomic_bool *until); /* on any thread, from where one was left */
void sett__spare_give(sett__spare *, bool all); /* blocks, or the touched ones, to malloc, which keeps them */
void sett__spare_drop(sett__spare *); /* all of it, to the system */

/* ---- blame.c ------------------------------------------------------------------------------------- */
/* Puts the line of the sett_inline_ptx in front, if an assembler's error is about its text. */
void sett__blame(const sett__tape *, const char *ptx, sett_error *);

/* ---- threads.c: the threads that compile -------------------------------------------------------- */
typedef struct sett__compile_job {
    const void *tape;         /* canonical bytes, with sites if line_info */
    size_t tape_len;
    const char *target, *name;
    int opt_level;            /* 0..3 */
    bool line_info, ptx_only;
    const sett__digest *key;  /* of the entry that is written behind */
    sett__ticket *ticket;     /* NULL, or what goes with the entry: it is given back once that is written */
    sett__blob key_material;
    const sett__sig *sig;     /* for META */
    const char *report;       /* what the layouts decided; "" */
    const sett__tape *recorded; /* with its sites */
    bool compare;             /* with what is on disk: nothing is written */
} sett__compile_job;
typedef struct sett__compiled {
    sett__entry entry;        /* owns its blobs; ptx_only: META and PTX alone */
    double codegen_ms, assemble_ms;
} sett__compiled;
/* Has it no lines of accesses, but at most the assembler's? */
bool sett__report_of_tape(const char *report);
sett_status sett__workers_open(sett__workers **, sett_engine *, sett_error *);
void sett__workers_close(sett__workers *); /* ends what is under way, and writes what is to be written */
/* Runs it on one of the threads and waits. */
sett_status sett__workers_compile(sett__workers *, const sett__compile_job *, sett__compiled *, sett_error *);
/* An entry from elsewhere into the folder, behind the caller's back; takes the entry, and the ticket unless NULL. */
void sett__workers_keep(sett__workers *, const sett__digest *key, sett__entry *, sett__ticket *);
void sett__workers_flush(sett__workers *); /* until nothing is left to be written */
bool sett__plugin_loaded(sett__workers *);
/* Would this compiler ("LLVM 22.1.0") and this assembler be used here? May open both to ask. */
bool sett__workers_would_use(sett__workers *, const char *compiler, const char *assembler);
int sett__plugin_describe(sett__workers *, char *buf, size_t size); /* may load it */

#endif
