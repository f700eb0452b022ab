/* SPDX-License-Identifier: Apache-2.0 */
/* Compiling: from a kernel's body, or from its tape, to a kernel. A kernel is found by its key in memory or
 * in the cache, and compiled on a miss.
 *
 *     sett_compile_options o = {.size = sizeof o, .name = "scale"};
 *     sett_kernel *k;
 *     sett_error err;
 *     if (sett_compile(e, scale, &o, &k, &err))
 *         puts(err.text);
 *     ...
 *     sett_kernel_release(k);
 *
 * A kernel is for one target. Any number of threads may use it at once. Each call that gives a kernel gives a
 * reference, which the caller releases.
 *
 * Tape: what a body recorded, as data. Key: SHA-256 of tape, target and options. Remote: a cache on a server
 * (sett_engine_options.cache_remote; docs/cache.md). */
#ifndef SETT_COMPILE_H
#define SETT_COMPILE_H
#include <sett/build.h>
#include <sett/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sett_kernel sett_kernel; /* counted by sett_kernel_retain and sett_kernel_release */

/* Whether sett_assert's are compiled in; a kernel with them has a key of its own. DEFAULT: as $SETT_ASSERTS,
 * 1 or 0, said when the engine was opened (for sett_record, which has no engine: as it says now). Without
 * that variable the CPU has them, since it checks accesses and barriers too, and GPUs have not. */
typedef enum sett_asserts { SETT_ASSERTS_DEFAULT, SETT_ASSERTS_OFF, SETT_ASSERTS_ON } sett_asserts;
typedef struct sett_compile_options {
    size_t size;
    /* Name of the kernel in reports and profilers: letters, digits and _; not part of the key. NULL:
     * "kernel", which the CPU engine's reports leave out. */
    const char *name;
    const char *target; /* "cpu", "sm_90a", ...; NULL: the default device's */
    const void *user;   /* handed to the body */
    /* Given: the engine remembers (body, user bytes, target, options), and the next call with the same four
     * does not record. The bytes must hold all that the body depends on, and no pointers. Zero the struct
     * first: bytes of padding that differ miss. The engine remembers 4096 such calls, and 8 more for each
     * kernel in memory. sett_engine_options.verify_user finds bodies that depend on more. */
    size_t user_size;
    int opt_level;      /* of the assembler, 1 to 4; 0: the default, 3. 1 to 3: ptxas -O1 to -O3; 4: ptxas
                         * -O0, no optimisation */
    bool line_info;     /* source lines in the cubin; the lines of calls then are part of the key */
    bool no_fold;       /* for tests: leave to the engines what the builder could fold */
    bool ptx_only;      /* stop at PTX: needs no assembler, and the kernel cannot be launched */
    bool ready_made;    /* the body is a library's, which the caller cannot change: advice about its registers
                         * is logged at SETT_LOG_INFO, not as a warning. Not part of the key */
    sett_asserts asserts; /* not for sett_compile_tape: a tape has its assertions or has none */
    bool pure;            /* with .user_size: what the body records depends on these bytes and on its code
                           * alone, in every process: on no global, variable of the environment or number that
                           * a process gave. Then a process finds the kernel in a pack or folder, as another
                           * recorded it with the same build of the body, without recording it: docs/cache.md,
                           * "Aliases". Not part of the key */
    sett_checks checks;   /* for the CPU: launches are checked (check.h). A kernel that is checked has a key
                           * of its own. Other targets check nothing */
} sett_compile_options;
/* Calls the body on this thread, which records it, then looks for its key: in memory, on disk, on the remote;
 * compiles on a miss. The caller releases *kernel, which is NULL on failure. A kernel that was found keeps
 * the name that it was first compiled with. The engine's own thread writes the entry to disk, after the call
 * has returned.
 * If the compiler fails for good, this call returns SETT_E_COMPILE or SETT_E_MEMORY with its text, later
 * compiles in this process return SETT_E_NO_COMPILER, and the process goes on. An assembler in process,
 * nvJitLink or the driver's, may end the process when it gets no memory. ptxas, a process of its own, cannot
 * (.assembler; docs/runtime.md, "Short of memory").
 * The engine keeps the memory of the recording, up to 64 MiB, for the next body. .user_size remembers a body
 * by its address. A shared object that holds bodies may be unloaded when no call has one of them: what the
 * engine remembers of bodies that can be unloaded, it forgets when the process unloads any object. Code that
 * lies in no object (made at run time) must keep its place while the engine is open. */
SETT_API sett_status sett_compile(
    sett_engine *, sett_body, const sett_compile_options *or_null, sett_kernel **kernel,
        sett_error *or_null2);
/* The same from a tape, its bytes or its text; len: without a NUL at the end. .user is not used. */
SETT_API sett_status sett_compile_tape(sett_engine *, const void *tape, size_t len,
    const sett_compile_options *or_null, sett_kernel **kernel, sett_error *or_null2);
/* The kernel of a key, from memory, disk or remote. SETT_E_NOT_CACHED: it is in none of them. Never compiles,
 * and never waits for a compile. Threads that ask for one key at once share one read. */
SETT_API sett_status sett_kernel_get(sett_engine *, const uint8_t key[32], sett_kernel **kernel,
    sett_error *or_null);
SETT_API sett_kernel *sett_kernel_retain(sett_kernel *);
SETT_API void sett_kernel_release(sett_kernel *); /* NULL is ignored */
/* Records the body and writes its key. Compiles nothing. */
SETT_API sett_status sett_key(
    sett_engine *, sett_body, const sett_compile_options *or_null, uint8_t key[32], sett_error *or_null2);
/* Records the body and gives its tape, as text (NUL-ended) or bytes. *len: how many bytes, without the NUL.
 * tape and len must not be NULL. Free the tape with sett_text_free. */
SETT_API sett_status sett_record(
    sett_body, const sett_compile_options *or_null, bool text, void **tape, size_t *len,
        sett_error *or_null2);
/* The tape of a CPU kernel; other kernels keep none (SETT_E_ARGUMENT). Free it with sett_text_free. */
SETT_API sett_status sett_kernel_tape(const sett_kernel *, bool text, void **tape, size_t *len,
    sett_error *or_null);
SETT_API void sett_text_free(void *);

/* What is known of a kernel. Strings live as long as the kernel. */
typedef enum sett_origin { SETT_FROM_COMPILER, SETT_FROM_MEMORY, SETT_FROM_DISK,
    SETT_FROM_REMOTE } sett_origin;
typedef struct sett_kernel_info {
    size_t size;
    const char *name, *target;
    uint8_t key[32];
    sett_origin origin;     /* where this handle's code came from when it was first got */
    int registers, spill_stores, spill_loads, stack; /* of the cubin; all but registers in bytes; -1: unknown
                                                      * */
    int smem;               /* bytes of shared memory a block, without those that a launch adds */
    int block[3];           /* threads; 0 where the extent is dynamic */
    const void *cubin;      /* NULL for a CPU kernel or ptx_only */
    size_t cubin_size;
    const char *ptx;        /* NULL if it came from a cache */
    /* A line for each access: what the layouts decided, and what made it narrower; then the assembler's
     * output. Source lines are those of the body that was first compiled under this key. A kernel of a tape
     * has the assembler's lines alone, unless the cache had it from its body. A body that is compiled and
     * finds an entry of a tape on disk adds its own lines. */
    const char *report;
    const char *assembler;  /* who made the cubin */
    double record_ms, codegen_ms, assemble_ms, load_ms; /* what making this handle took; 0: not done */
    const char *compiler;   /* who made its PTX: "LLVM 22.1.0"; "" for a CPU kernel */
    const char *layer;      /* path of the cache layer that gave it; "": none did */
} sett_kernel_info;
/* The caller sets info->size = sizeof *info; the call fills the fields within it. */
SETT_API sett_status sett_kernel_query(const sett_kernel *, sett_kernel_info *info);

/* The arguments of a kernel, in order of declaration. read, written: what the kernel does with a tensor.
 * Strings live as long as the kernel. The caller sets info->size. SETT_E_ARGUMENT: index is past the last. */
typedef struct sett_param_info {
    size_t size;
    const char *name;
    sett_dtype dtype;
    int rank;    /* of a tensor's buffer */
    bool scalar; /* a number or a struct, not a tensor */
    bool read, written;
    uint32_t bytes; /* of a struct passed by value, else 0 */
    int64_t extent[8]; /* of a tensor's modes; -1 where the launch decides */
} sett_param_info;
/* How many tensors, numbers and structs it takes; symbols not among them */
SETT_API int sett_kernel_params(const sett_kernel *);
SETT_API sett_status sett_kernel_param(const sett_kernel *, int index, sett_param_info *info);

/* Loads all that launches on this device need (code, attributes), so that later launches and captures load
 * nothing. If the driver refuses code that came from the cache, the engine moves its entry to quarantine and
 * forgets the kernel: the error says so, and the next sett_compile compiles the kernel again, once. A launch
 * that loads code does the same. */
SETT_API sett_status sett_prepare(sett_kernel *, int device, sett_error *or_null);
/* Unloads the code from every device. Nothing else does, not even the last release, since queued launches and
 * graphs hold code in ways that the driver does not tell. The caller promises that every launch of the kernel
 * has ended (sett_sync), that no graph holds it, instantiated or not, that no other thread launches or
 * prepares it meanwhile, and that the process captures nothing. SETT_E_ARGUMENT: a prepared call still holds
 * the kernel. The kernel stays usable: the next prepare or launch loads its code again. A CPU kernel has
 * nothing to unload. */
SETT_API sett_status sett_unload(sett_kernel *, sett_error *or_null);

#ifdef __cplusplus
}
#endif
#endif
