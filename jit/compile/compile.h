/* SPDX-License-Identifier: Apache-2.0 */
/* From a body or a tape to a kernel: record, look in the cache, generate PTX, assemble, write the entry. */
#ifndef SETT_JIT_COMPILE_FACE_H
#define SETT_JIT_COMPILE_FACE_H
#include "jit/asm/asm.h"
#include "jit/kernel/kernel.h"
#include "plug/compiler.h"

/* ---- the engine: what sett_engine_close ends ------------------------------------------------------------ */
typedef struct sett__workers sett__workers; /* threads.h */
typedef struct sett__recordings sett__recordings; /* verify_user.c */
struct sett_engine {
    sett__runtime *runtime;            /* counted, by each kernel too */
    atomic_bool sealed;
    sett_engine_options opt;           /* its strings are owned */
    sett__asm *assembler;
    sett__cache *cache;
    sett__workers *workers;            /* plug-in and compiling threads */
    sett__kernels *kernels;            /* memory map, memo, compiles under way */
    sett__recordings *recordings;      /* what bodies recorded for their user bytes; NULL: .verify_user is not set */
    pthread_mutex_t identity_lock;     /* over identity */
    sett__identity identity;           /* the object of the last body that was recorded with user bytes */
    _Atomic(sett_build *) idle_build;  /* memory to record the next body in, or NULL */
    sett_asserts asserts;              /* as $SETT_ASSERTS said; DEFAULT: nothing */
    bool findings;                     /* files of findings can be written */
    unsigned dump;                     /* sett__dump_kind's that are wanted */
    char dump_to[3800];                /* a folder */
    const char *provoke;               /* tests: handed to the plug-in */
    sett__stripe stripe[1 << SETT__STRIPE_BITS];
};
/* The calling thread's. Threads' ids lie at equal distances, which the golden ratio spreads: stacks of 8 MiB and a
 * page for most. */
static inline sett__stripe *sett__stripe_of(sett_engine *e)
{
    return &e->stripe[((uint64_t)(uintptr_t)pthread_self() >> 12) * UINT64_C(0x9E3779B97F4A7C15) >> (64 - SETT__STRIPE_BITS)];
}
#define sett__log(e, ...) sett__say(&(e)->runtime->log, __VA_ARGS__) /* for who has an engine */
/* SETT_E_ARGUMENT: NULL. SETT_E_FORKED. The text begins with who asks, if somebody is named. */
static inline sett_status sett__engine_check(const sett_engine *e, const char *who, sett_error *err)
{
    return e ? sett__runtime_check(e->runtime, who, err) : sett__error(err, SETT_E_ARGUMENT, "%s%sthe engine is NULL", who ? who : "", who ? ": " : "");
}

/* ---- compile.c: what it has beside its public calls -------------------------------------------------------- */
/* As sett_key, of a tape. */
sett_status sett__key_of_tape(sett_engine *, const void *tape, size_t len, const sett_compile_options *or_null,
    sett__digest *key, sett_error *);
sett_status sett__environment_asserts(sett_asserts *, sett_error *); /* $SETT_ASSERTS; DEFAULT: it is not set */

/* ---- alias.c: what was recorded before is found without recording ------------------------------------------- */
/* Of a body that sett_compile would be given with these options. False: it has no alias. */
bool sett__alias_of_body(sett_engine *, sett_body, const sett_compile_options *, sett__digest *alias);

/* ---- verify_user.c: .verify_user --------------------------------------------------------------------------- */
sett_status sett__recordings_open(sett__recordings **, sett_error *);
void sett__recordings_close(sett__recordings *); /* NULL is ignored */

/* ---- dump.c: $SETT_DUMP --------------------------------------------------------------------------------- */
typedef enum sett__dump_kind { SETT__DUMP_TAPE = 1, SETT__DUMP_LLVM = 2, SETT__DUMP_PTX = 4, SETT__DUMP_CUBIN = 8 } sett__dump_kind;
sett_status sett__dump_open(sett_engine *, sett_error *); /* reads $SETT_DUMP */
/* Writes to FOLDER/NAME-KEY.kind, if that kind is wanted and there is anything to write. */
void sett__dump_write(const sett_engine *, sett__dump_kind, const char *name, const sett__digest *key, const void *, size_t);
void sett__dump_tape(const sett_engine *, const char *name, const sett__digest *key, const sett__tape *);

/* ---- read.c: kernels that the cache holds; sett_kernel_get -------------------------------------------------- */
typedef struct sett__reading {
    const sett__blob *material; /* key material; NULL: unknown */
    sett__ticket *ticket;       /* travels with an entry of a server that the folder gets; or NULL */
    double record_ms;           /* the caller's */
} sett__reading;
/* SETT_FROM_DISK: from this machine's layers; threads that want one key share one read. SETT_FROM_REMOTE: one request for each
 * caller. SETT_E_NOT_CACHED: there is no entry that may be used. */
sett_status sett__read(sett_engine *, const sett__digest *key, sett_origin, const sett__reading *, sett_kernel **, sett_error *);
/* From the folder that is written, for a caller that has the turn to compile the key. */
sett_status sett__read_again(sett_engine *, const sett__digest *key, const sett__reading *, sett_kernel **, sett_error *);
/* Adds the reasons of other layers for a miss, if they tell anything. */
void sett__miss_too(sett_error *why, const sett_error *more);
/* Waits for a flight that another thread leads, once for each find without lead. name: for profilers. */
sett_status sett__join_flight(sett_engine *, const char *name, sett__flight *, sett_kernel **, sett_error *);

/* ---- compiler.c: finding and opening the compiler plug-in -------------------------------------------- */
typedef struct sett__plugin {
    const sett__ptx_plugin *api;  /* NULL: not opened, or not fit */
    char path[SETT__SHARED_PATH]; /* the path that was tried */
} sett__plugin;
/* asked: sett_engine_options.plugin. SETT_E_NO_COMPILER, with the reason. */
sett_status sett__plugin_open(sett__plugin *, const char *asked, sett_error *);

/* ---- warmup.c: memory that a compiling thread keeps for its next compile ----------------------------- */
enum { SETT__SPARE_BLOCKS = 6 };
typedef struct sett__spare {
    void *block[SETT__SPARE_BLOCKS]; /* NULL: given back, or there was no memory */
    void *lid;                       /* a block above them, which keeps malloc from returning them to the system; NULL: nothing
                                      * is kept */
    atomic_int touched;              /* how many blocks, from the first */
} sett__spare;
void sett__spare_take(sett__spare *); /* by the thread that will compile; takes less if memory is short */
void sett__spare_touch(sett__spare *, const atomic_bool *until); /* by any thread; continues where the last call stopped */
void sett__spare_give(sett__spare *, bool all); /* frees all blocks, or the touched ones, to malloc, which keeps them */
void sett__spare_drop(sett__spare *); /* frees all of it to the system */

/* ---- blame.c ------------------------------------------------------------------------------------- */
/* If an assembler's error is about the text of a sett_inline_ptx, puts the line of that call in front. */
void sett__blame(const sett__tape *, const char *ptx, sett_error *);

/* ---- threads.c, codegen.c, write_back.c: the threads that compile -------------------------------------------------------- */
typedef struct sett__compile_job {
    const void *tape;         /* canonical bytes, with sites if line_info */
    size_t tape_len;
    const char *target, *name;
    int opt_level;            /* 0..3 */
    bool line_info, ptx_only;
    const sett__digest *key;  /* of the entry that is written after the call */
    sett__ticket *ticket;     /* NULL, or the turn of this key, given back after the entry is written */
    sett__blob key_material;
    const sett__sig *sig;     /* for META */
    const char *report;       /* what the layouts decided; may be "" */
    size_t guess;             /* bytes of its end that say that values may spill: left out where the assembler knows that none does */
    const sett__tape *recorded; /* with its sites */
    bool compare;             /* compare with the entry on disk, and write nothing */
} sett__compile_job;
typedef struct sett__compiled {
    sett__entry entry;        /* owns its blobs; with ptx_only only META and PTX */
    double codegen_ms, assemble_ms;
} sett__compiled;
/* Does the report have no lines of accesses (at most the assembler's)? */
bool sett__report_of_tape(const char *report);
sett_status sett__workers_open(sett__workers **, sett_engine *, sett_error *);
void sett__workers_close(sett__workers *); /* ends jobs in flight, after it has written all entries */
/* Runs a job on one of the threads, and waits for it. */
sett_status sett__workers_compile(sett__workers *, const sett__compile_job *, sett__compiled *, sett_error *);
/* Writes an entry from elsewhere to the folder, after the call has returned. Takes the entry, and the ticket (may be NULL). */
void sett__workers_keep(sett__workers *, const sett__digest *key, sett__entry *, sett__ticket *);
void sett__workers_flush(sett__workers *); /* waits until all entries are written */
bool sett__plugin_loaded(sett__workers *);
/* Would this machine use this compiler ("LLVM 22.1.0") and this assembler? May open both to ask. */
bool sett__workers_would_use(sett__workers *, const char *compiler, const char *assembler);
void sett__plugin_describe(sett__workers *, sett__sink *); /* may load the plug-in */

#endif
