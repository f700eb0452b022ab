/* SPDX-License-Identifier: Apache-2.0 */
/* Compiling: from a kernel's body to a kernel, which lies in memory, in the cache on disk, or is compiled.
 *
 *     sett_compile_options o = {.size = sizeof o, .name = "scale"};
 *     sett_kernel *k;
 *     sett_error err;
 *     if (sett_compile(e, scale, &o, &k, &err))
 *         puts(err.text);
 *     ...
 *     sett_kernel_release(k);
 *
 * A kernel is compiled for one target; all threads may use it at once. */
#ifndef SETT_COMPILE_H
#define SETT_COMPILE_H
#include <sett/build.h>
#include <sett/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sett_kernel sett_kernel; /* compiled, for one target: retain/release */

/* ---- compiling ----------------------------------------------------------------- */
/* Are sett_assert's compiled in? DEFAULT: as $SETT_ASSERTS said when the engine was opened, 1 or 0 (sett_record, which has no
 * engine: as it says now); else on the CPU, which checks accesses and barriers too, and not for GPUs. A kernel with them is another kernel, with a key of its own. */
typedef enum sett_asserts { SETT_ASSERTS_DEFAULT, SETT_ASSERTS_OFF, SETT_ASSERTS_ON } sett_asserts;
typedef struct sett_compile_options {
    size_t size;
    const char *name;   /* of the kernel, for reports and profilers; letters, digits, _; not in the key. NULL: "kernel", which
                         * reports of the CPU engine leave out: the body's C name is not known to a function that gets its address */
    const char *target; /* "cpu", "sm_90a", ...; NULL: the default device's */
    const void *user;   /* handed to the body */
    size_t user_size;   /* given: (body, user bytes, target, options) is remembered, and the next call with the
                         * same does not record. The bytes must hold all that the body depends on, no pointers.
                         * Padding that differs costs the memo, and 4096 of them and 8 a kernel
                         * are kept: zero the struct first */
    int opt_level;      /* of the assembler, 1 to 4; 0: the default, 3. 4 is -O0 */
    bool line_info;     /* source lines in the cubin; call sites then join the key */
    bool no_fold;       /* tests: leave to the engines what the builder could fold */
    bool ptx_only;      /* stop at PTX: no assembler is needed, and the kernel cannot be launched */
    sett_asserts asserts; /* of sett_assert; a tape that is compiled has them or not */
} sett_compile_options;
/* Records the body, then looks its key up: memory, disk, compiler. The memory that it was recorded in, up to 64 MiB, stays
 * with the engine for the next body. The caller releases *kernel, which is NULL on
 * failure. A kernel that was found keeps the name that it was first compiled with. The entry is written to disk after
 * the call returns, by the engine's own thread. A failing compiler costs its kernel and later
 * compiles (SETT_E_COMPILE or SETT_E_MEMORY with its text, then SETT_E_NO_COMPILER), never the process. An assembler in process
 * is not so tame: what nvJitLink and the driver do when they get no memory is theirs, and may end the process. ptxas, a process of
 * its own, cannot (.assembler; docs/runtime.md, "Short of memory"). What .user_size remembers it
 * remembers by the body's address: a shared object with bodies stays loaded while the engine is open. */
SETT_API sett_status sett_compile(
    sett_engine *, sett_body, const sett_compile_options *or_null, sett_kernel **kernel, sett_error *or_null2);
/* The same from a tape's bytes or text. */
SETT_API sett_status sett_compile_tape(sett_engine *, const void *tape, size_t len,
    const sett_compile_options *or_null, sett_kernel **kernel, sett_error *or_null2);
/* The kernel of a key from memory, disk or remote; SETT_E_NOT_CACHED if it is in none. Never compiles. Threads that ask for
 * one key at once, or compile it, read it once; none waits for a compile here. */
SETT_API sett_status sett_kernel_get(sett_engine *, const uint8_t key[32], sett_kernel **kernel, sett_error *or_null);
SETT_API sett_kernel *sett_kernel_retain(sett_kernel *);
SETT_API void sett_kernel_release(sett_kernel *); /* NULL is ignored */
/* Records the body and writes its key, without compiling. */
SETT_API sett_status sett_key(
    sett_engine *, sett_body, const sett_compile_options *or_null, uint8_t key[32], sett_error *or_null2);
/* Records the body and gives its tape: text (NUL-ended) or bytes, and how many bytes, without the NUL; neither
 * pointer may be NULL. Free with sett_text_free. */
SETT_API sett_status sett_record(
    sett_body, const sett_compile_options *or_null, bool text, void **tape, size_t *len, sett_error *or_null2);
/* The tape of a CPU kernel (others keep none: SETT_E_ARGUMENT). Free with sett_text_free. */
SETT_API sett_status sett_kernel_tape(const sett_kernel *, bool text, void **tape, size_t *len, sett_error *or_null);
SETT_API void sett_text_free(void *);

/* What is known of a kernel. Strings live as long as the kernel. */
typedef enum sett_origin { SETT_FROM_COMPILER, SETT_FROM_MEMORY, SETT_FROM_DISK, SETT_FROM_REMOTE } sett_origin;
typedef struct sett_kernel_info {
    size_t size;
    const char *name, *target;
    uint8_t key[32];
    sett_origin origin;     /* of this handle's code when it was first got */
    int registers, spill_stores, spill_loads, stack; /* of the cubin, bytes but for registers; -1 unknown */
    int smem;               /* bytes of shared memory a block; what launches add is not among them */
    int block[3];           /* threads; 0 where not static */
    const void *cubin;      /* NULL for a CPU kernel or ptx_only */
    size_t cubin_size;
    const char *ptx;        /* NULL if it came from a cache */
    const char *report;     /* a line for each access: what the layouts decided and what made it narrower; then what the
                             * assembler said. Its source lines are those of the body that was compiled first under
                             * this key. Of a kernel that was made of a tape, the assembler's lines alone,
                             * unless the cache had it from its body; a body that is compiled and finds such an entry on disk adds its own */
    const char *assembler;  /* who made the cubin */
    double record_ms, codegen_ms, assemble_ms, load_ms; /* of this handle's making; 0 where not done */
    const char *compiler;   /* who made its PTX: "LLVM 22.1.0"; "" for a CPU kernel */
    const char *layer;      /* path of the cache layer that it was found in; "": in none */
} sett_kernel_info;
/* info->size tells which fields the caller knows. */
SETT_API sett_status sett_kernel_query(const sett_kernel *, sett_kernel_info *info);

/* The arguments of a kernel, in order of declaration; read, written: what the kernel does with a
 * tensor. Strings live as long as the kernel. SETT_E_ARGUMENT past the last; SETT_E_MEMORY: of a GPU's kernel, which keeps
 * small what only questions and refusals need, and finds no memory to spell it out the first time. */
typedef struct sett_param_info {
    size_t size;
    const char *name;
    sett_dtype dtype;
    int rank;    /* of a tensor's buffer */
    bool scalar; /* a number or a struct, not a tensor */
    bool read, written;
    uint32_t bytes; /* of a struct passed by value, else 0 */
} sett_param_info;
SETT_API int sett_kernel_params(const sett_kernel *);
SETT_API sett_status sett_kernel_param(const sett_kernel *, int index, sett_param_info *info);

/* Loads everything that a launch on this device needs (code, attributes), so that launches and captures
 * load nothing. Where the driver will not have code that came out of the cache, its entry goes to quarantine and the engine
 * forgets it: the error says so, and the next sett_compile makes the kernel anew, once. A launch that loads does the same. */
SETT_API sett_status sett_prepare(sett_kernel *, int device, sett_error *or_null);
/* Gives the code back to the driver, on every device. Nothing else ever does, a release neither: launches that are queued
 * and graphs hold code in ways that the driver does not tell. So the caller promises that every launch of this kernel has
 * ended (sett_sync), that no graph holds it, instantiated or not, that no other thread launches or prepares it
 * meanwhile, and that nothing in the process is being captured. A prepared call holds it too; those are counted:
 * SETT_E_ARGUMENT. The kernel stays usable: the next prepare or launch loads the code again. Of a CPU kernel there is
 * nothing to unload. */
SETT_API sett_status sett_unload(sett_kernel *, sett_error *or_null);

#ifdef __cplusplus
}
#endif
#endif
