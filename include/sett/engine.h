/* SPDX-License-Identifier: Apache-2.0 */
/* The engine: the devices of this machine, the cache, and the threads that compile. Plain functions, also for
 * C++17 and foreign-function interfaces.
 *
 *     sett_engine *e;
 *     sett_kernel *k;
 *     sett_error err;
 *     if (sett_engine_open(&e, NULL, &err) || sett_compile(e, body, NULL, &k, &err))
 *         puts(err.text);
 *
 * Any number of threads may use an engine and its kernels. Compiles run on threads that the engine owns; two
 * threads that ask for one key share one compile. Do not cancel a thread (pthread_cancel) inside a call: it
 * may hold a lock, or do the work that other threads wait for. */
#ifndef SETT_ENGINE_H
#define SETT_ENGINE_H
#include <sett/check.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sett_engine sett_engine; /* made by sett_engine_open, ended by sett_engine_close */

/* A device: SETT_CPU, or the ordinal of a GPU. SETT_DEFAULT_DEVICE is what $SETT_DEVICE said when the engine
 * was opened: "cpu", "gpu" or the ordinal of a GPU. Without it, it is GPU 0, or the CPU on a machine without
 * GPUs. In an engine opened with .no_gpu it is the CPU. */
enum { SETT_CPU = -1, SETT_DEFAULT_DEVICE = -2 };
/* handle: the caller's CUstream; NULL is the default stream. The CPU has no streams: a launch has ended when
 * its call returns, and the handle only names the launches that sett_cancel ends. */
typedef struct sett_stream {
    int device;
    void *handle;
} sett_stream;
/* Makes a stream. Use it in the argument of a macro, where the comma of a compound literal would split the
 * argument: sett_launch(k, sett_stream_of(0, s), &err, &x). */
SETT_API sett_stream sett_stream_of(int device, void *handle);

typedef enum sett_assembler { SETT_ASM_AUTO, SETT_ASM_NVJITLINK, SETT_ASM_PTXAS,
    SETT_ASM_DRIVER } sett_assembler;
/* Which files of a disk cache an engine uses. Whoever can write a file that is used can put code into every
 * process that reads it; see docs/cache.md.
 * PRIVATE: this user or root owns the file and each folder on its path, and nobody else may write any of
 * them.
 * MAC: the file's writer knew the secret of .cache_secret, whatever its owner and mode; a pack must be
 * signed.
 * OFF: every file.
 * SIGNED: only packs signed with one of .cache_signers. No folder is used, so nothing is written.
 * A damaged file is found and refused under all four. */
typedef enum sett_cache_trust { SETT_TRUST_PRIVATE, SETT_TRUST_MAC, SETT_TRUST_OFF,
    SETT_TRUST_SIGNED } sett_cache_trust;
/* Which entries of a disk cache an engine uses, by the compiler and the assembler that made them. ANY: all,
 * since the key already names the version of sett's own code generator. EXACT: only those that this machine
 * would make itself, for runs that must not depend on when an entry was made. EXACT opens compiler and
 * assembler to compare; without them it finds nothing. */
typedef enum sett_toolchain { SETT_TOOLCHAIN_ANY, SETT_TOOLCHAIN_EXACT } sett_toolchain;
/* ERROR: something is lost. WARNING: the work goes on, slower or without what was asked for. INFO: what was
 * found.
 * DEBUG: why a kernel was not in the cache. component names the part: "cache", "compile", "compiler" (the
 * plug-in), "assembler", "cuda", "memory", "check" (findings) or "dump" ($SETT_DUMP). The strings live until
 * the function returns. Any thread may call it, several at once; it must not call sett. At most ten warnings
 * and errors of one kind are logged in a minute, but findings, which all are. sett_stats.log_drops counts the
 * rest, and the next one that is logged ends in "(N more like it)". */
typedef enum sett_log_level { SETT_LOG_ERROR = 1, SETT_LOG_WARNING, SETT_LOG_INFO,
    SETT_LOG_DEBUG } sett_log_level;
typedef void (*sett_log_fn)(void *user, sett_log_level, const char *component, const char *message);
typedef void (*sett_print_fn)(void *user, const char *text, size_t len);
typedef bool (*sett_poll_fn)(void *user);

/* Zero means the default of every field: sett_engine_options o = {.size = sizeof o}. */
typedef struct sett_engine_options {
    size_t size;
    /* Folder of the disk cache, which new entries are written to. NULL: $SETT_CACHE_DIR, else
     * $XDG_CACHE_HOME/sett, else $HOME/.cache/sett, else none. "": none. A set-uid program ignores the
     * environment. */
    const char *cache_dir;
    /* A miss is SETT_E_NOT_CACHED, never a compile, and the text says of each layer why it did not give the
     * kernel. The engine writes nothing: it makes no folder, moves no damaged entry, keeps no time of use.
     * Kernels for "cpu" are made as ever: they are their tape, and no disk cache holds them. */
    bool sealed;
    bool no_gpu;            /* do not look for a driver: the CPU only */
    int cpu_threads;        /* threads of the CPU engine; 0: one a core */
    sett_assembler assembler;
    const char *plugin;     /* path of libsett-ptx.so; NULL or "": beside libsett.so, then the path in
                             * $SETT_PTX_PLUGIN, then the loader's paths */
    const char *ptxas;      /* absolute path; NULL: $SETT_PTXAS, then the usual places */
    const char *nvjitlink;  /* path or name for dlopen; NULL: $SETT_NVJITLINK, then the usual names */
    bool module_api;        /* load code by cuModuleLoadData, once a context, not by cuLibraryLoadData */
    /* NULL: to stderr, from the level in $SETT_LOG (error, warning, info, debug) on; without it nowhere. */
    sett_log_fn log;
    /* Gets what sett_printf prints on the CPU engine. NULL: the process's stdout. */
    sett_print_fn print;
    void *user;             /* for log, print, cpu_poll and finding */
    /* Limit of one run of ptxas, which is then killed (SETT_E_ASSEMBLE). 0: $SETT_JIT_TIMEOUT_MS, else two
     * minutes. An assembler in process cannot be stopped. */
    int compile_timeout_ms;
    /* Folders and packs that are only read, asked in this order before cache_dir: absolute paths with ':'
     * between.
     * NULL: $SETT_CACHE_LAYERS. "": none. */
    const char *cache_layers;
    sett_cache_trust cache_trust; /* of cache_dir and cache_layers */
    /* For SETT_TRUST_MAC and .cache_remote: absolute path of a file that only its owner may read, with one or
     * two lines of 64 hexadecimal digits. The first line is the secret that new entries are authenticated
     * with; either line verifies. */
    const char *cache_secret;
    sett_toolchain toolchain; /* which entries are used */
    /* Most bytes that cache_dir may hold. 0: a tenth of its file system, at most 4 GiB. */
    uint64_t cache_cap;
    /* How long a compile waits for another process that compiles the same kernel. After it one of the waiting
     * processes compiles the kernel too, and the others wait for that one. After three such waits each
     * process compiles for itself. 0: ten seconds, or three times the longest compile so far, whichever is
     * more. */
    int compile_wait_ms;
    /* For SETT_TRUST_SIGNED, and for packs under SETT_TRUST_MAC: the public keys (Ed25519) whose signatures
     * are accepted, 64 hexadecimal digits each with ':' between. NULL, "": none. */
    const char *cache_signers;
    sett_log_level log_level; /* the last level that .log is called with; 0: all */
    /* A server that is asked for kernels that this machine lacks, and sent those that it compiles:
     * "https://host/prefix", "http://host:port/prefix" or "redis://host:port/db" (rediss: over TLS), then
     * attributes: "http://host/sett|layout=bazel|read-only". NULL: $SETT_CACHE_REMOTE. "": none. Whatever
     * .cache_trust says, its entries must carry the authentication code of .cache_secret, or of |secret=FILE;
     * |trusted accepts entries without one. docs/cache.md has the attributes and the rules. The engine loads
     * libsett-remote.so for it, from beside libsett.so or $SETT_REMOTE_PLUGIN. No failure of a server fails a
     * call. */
    const char *cache_remote;
    /* Compiles each kernel that is found on disk all the same, and compares cubin and META byte by byte:
     * sett_stats.verified and .differences count, and the log names each that differs. The entry that was
     * found is used either way. A sealed engine does not do this. Also set by $SETT_CACHE_VERIFY=1. */
    bool cache_verify;
    /* Opening fails with SETT_E_IO if a named layer cannot be used, or if there is none that can. Named are
     * those of .cache_layers, .cache_dir and .cache_remote or of their environment variables, not the folder
     * below $HOME. The text names each one and why. A folder that .cache_dir or $SETT_CACHE_DIR names is then
     * made only if its parent exists: else its path is mistyped or its volume is not mounted. A server that
     * does not answer is no such failure. Also set by $SETT_CACHE_REQUIRED=1. */
    bool cache_required;
    /* Limit of one launch on the CPU engine. After it the launch is SETT_E_FAULT, with the line that it was
     * at and what it did there. 0: $SETT_CPU_TIMEOUT_MS, else no limit but that of sett_while. */
    int cpu_timeout_ms;
    /* The CPU engine runs each kernel operation by operation, as its tape has it, without what makes it
     * faster. The results are the same: this is for comparing. Also set by $SETT_CPU_PLAIN=1. */
    bool cpu_plain;
    /* When the CPU engine carries out what goes on by itself in a kernel, such as cp.async and copies by
     * tensor maps: "lazy", when nothing goes on without, which shows missing waits; "eager", at once, which
     * shows what is overwritten too early; "random:7", at any moment, by a sequence that the number chooses.
     * Under "lazy" and "random" other warps also get their turn where one arrives at an mbarrier, which shows
     * what is written or read behind its arrival. A kernel that waits as it must gives the same bits under
     * all. "systematic": a checked launch runs in all its orders, 10000 at most (docs/checking.md); another
     * one is lazy. NULL: $SETT_CPU_ASYNC, else lazy. */
    const char *cpu_async;
    /* The machine whose tensor cores the CPU engine models, bit for bit: 75 (sm_75), 80, 86, 89, 90, 100 or
     * 120. A launch of a kernel with a product of matrices that it lacks is SETT_E_TARGET. docs/runtime.md
     * has what was measured of each. 0: $SETT_CPU_SM, else 90. */
    int cpu_sm;
    /* Products of matrices of floats are one fma after another in f32 on the CPU engine, several times as
     * fast and not as any machine computes them. Also set by $SETT_CPU_FAST_MMA=1. */
    bool cpu_fast_mma;
    /* Asked some twenty times a second while a launch runs on the CPU engine, by the thread that launches:
     * true ends the launch with SETT_E_CANCELLED. A host whose signals wait until its thread is back, such as
     * an interpreter, looks for them here. It may call sett, but not close the engine. NULL: nobody is asked.
     * */
    sett_poll_fn cpu_poll;
    /* For tests. A body that reads something that is not in its user bytes, a global or what a pointer in
     * them points to, is remembered with .user_size (compile.h) as what it recorded first. With this option
     * the engine records a body again at each sett_compile that it would answer from what it remembers, and
     * compares the keys. A difference is SETT_E_ARGUMENT: the text names the kernel and, if it can be told,
     * the first operation that differs with its file:line. sett_stats.memo_checks and .memo_differences
     * count. It costs a recording for each such compile, microseconds to milliseconds in place of some 30 ns,
     * and the memory of a tape for each body with its user bytes. Also set by $SETT_VERIFY_USER=1. */
    bool verify_user;
    /* Which findings of the checker the engine's CPU kernels look for, where their compile does not say
     * (check.h). DEFAULT: $SETT_CHECK, else none. Where there are some, the CPU is the default device, unless
     * $SETT_DEVICE says otherwise. $SETT_CHECK_JSON and $SETT_CHECK_SARIF name files that hold all findings
     * of the process so far: they are replaced when an engine is opened, before a launch that found something
     * new returns, and when an engine is closed; %p in them is the process's number. $SETT_CHECK_SUPPRESS
     * names a file with findings that are known, $SETT_CHECK_PROOFS one that gets, as lines of text, what
     * launches without findings have proved (docs/checking.md). */
    sett_checks checks;
    sett_finding_fn finding; /* gets each finding, with .user; NULL: .log does, else stderr */
} sett_engine_options;

/* Opens an engine. That there is no driver, assembler, compiler or writable cache is no error here: the calls
 * that need one report it, and sett_engine_describe() tells. SETT_E_ARGUMENT: an option is out of range, or a
 * variable $SETT_... of the environment is none of the words or numbers that it may be: the text names
 * variable, value and what is legal. Paths and addresses are no such variables: those of the cache are
 * reported by the log, or by .cache_required.
 * SETT_E_NO_DEVICE: $SETT_DEVICE names a GPU that is not here. SETT_E_IO: by .cache_required, or a file that
 * $SETT_CHECK_JSON, $SETT_CHECK_SARIF or $SETT_CHECK_SUPPRESS names.
 * SETT_E_MEMORY. */
SETT_API sett_status sett_engine_open(sett_engine **, const sett_engine_options *or_null,
    sett_error *or_null2);
/* Closes an engine, after entries that are still being written to the disk cache were written. It ends the
 * launches that run on the CPU engine, as sett_cancel does but with SETT_E_CLOSED, and waits for them; so
 * .print and stand-ins must not call it. Kernels and calls that outlive the engine stay valid memory, and
 * launching them is SETT_E_CLOSED. No other call on the engine itself may run meanwhile. In a forked child it
 * does nothing, since every other call there is SETT_E_FORKED. NULL is ignored. */
SETT_API void sett_engine_close(sett_engine *);

/* Seals an engine, as .sealed of the options does, or unseals it: for a server that warms up first. In a
 * sealed engine a miss is SETT_E_NOT_CACHED and a line in the log, never a compile. A compile that runs
 * already goes on, and its result is still written. An engine that is unsealed makes its cache folder, if
 * there is none. sett_cache_trim, sett_pack_unpack and sett_warm are SETT_E_IO while an engine is sealed.
 * NULL is ignored. */
SETT_API void sett_engine_seal(sett_engine *, bool sealed);

/* What calls give for an engine of NULL: the default device is the CPU, there is no GPU and no target, the
 * description is empty, memory is NULL, and a call that returns a status returns SETT_E_ARGUMENT. In calls
 * that write text, a buffer of NULL only asks for the length. */
SETT_API int sett_default_device(const sett_engine *);
SETT_API int sett_gpu_count(const sett_engine *);
/* The target that kernels for this device are compiled for: "sm_90a", or "cpu". snprintf-like; negative:
 * there is no such device. */
SETT_API int sett_device_target(const sett_engine *, int device, char *buf, size_t size);
/* What the engine found and where, as lines `name: value`: driver, devices, the default one, plug-in,
 * assemblers, cache folder, remote.
 * snprintf-like. The call opens the compiler and asks the remote whether it answers, so it may take a while.
 * */
SETT_API int sett_engine_describe(sett_engine *, char *buf, size_t size);

/* Registers the C function that does on the CPU engine what a piece of inline PTX does on a GPU
 * (sett_inline_ptx, .stand_in), for one thread at a time. types: "u32(u32, u32)", the result and the operands
 * as the PTX has them, by the names of sett_dtype_name; void for no result. In C they are the integers of
 * that size, float (f32), double (f64) and bool (i1); other floats are their bits, as uint8_t, uint16_t or
 * uint32_t. A function of several results, "u32,u32(u32, u32)", returns void in C, and its first arguments
 * are pointers to the results:
 *
 *     static uint32_t xor3(uint32_t x, uint32_t y, uint32_t z) { return x ^ y ^ z; }
 *     sett_engine_stand_in(e, "xor3", "u32(u32,u32,u32)", (void (*)(void))xor3, &err);
 *
 * Launches that begin later call it, also of kernels that are compiled already. Another function of the same
 * name replaces it, NULL removes it. Its shared object stays loaded until the last launch that calls it has
 * ended. Any thread may register one at any time.
 * Worker threads call it, several at once, on stacks of 256 KiB. They call it for each thread of a warp in
 * order, but not for threads that a branch or a predicate leaves out. It must not launch, and must return (no
 * longjmp).
 * SETT_E_ARGUMENT: name is NULL or is no name. A launch whose PTX has other types is SETT_E_DTYPE, with both
 * lists. */
SETT_API sett_status sett_engine_stand_in(
    sett_engine *, const char *name, const char *types, void (*function)(void), sett_error *or_null);

/* Counters since the engine was opened.
 * memo_hits: compiles that recorded nothing, by .user_size; memory_hits, disk_hits, remote_hits: kernels
 * found there by key; alias_hits: those of them that were not recorded, as another process had recorded the
 * same (docs/cache.md, "Aliases"); misses: found nowhere on this machine; joined: calls that waited for
 * another thread's compile or read.
 * refusals: entries on disk that were damaged, foreign or not trusted; heals: refused entries that were moved
 * out of the way, so that a compile replaces them; evictions: entries removed to keep under the cap.
 * waits: compiles that waited for another process, most of which then are disk hits; late: those that waited
 * in vain and compiled all the same; duplicates: compiles whose entry another process had written meanwhile.
 * memo_checks: bodies that were recorded again for the same user bytes, by .verify_user, and count as no
 * memo_hits; memo_differences: those of them that recorded another kernel.
 * cache.h has the same for each layer, metrics.h has all of it for monitoring. */
typedef struct sett_stats {
    size_t size;
    uint64_t memo_hits, memory_hits, disk_hits, misses, compiles, joined, heals, refusals, disk_writes,
        records;
    bool compiler_loaded; /* libsett-ptx.so is mapped */
    bool sealed;
    bool faulted; /* the driver reported a fault that only the end of the process mends */
    uint64_t waits, late, evictions;
    uint64_t duplicates, failures, sealed_misses, write_failures, log_drops;
    uint64_t verified, differences; /* by .cache_verify */
    uint64_t kernels; /* kernels in memory now */
    /* How often each phase was done, and its nanoseconds in all. How often recording and the two waits were
     * done is counted above: records, waits, joined. */
    uint64_t codegens, assembles, record_ns, codegen_ns, assemble_ns, wait_ns, join_ns;
    uint64_t remote_hits;
    uint64_t memo_checks, memo_differences;
    uint64_t alias_hits;
} sett_stats;
/* Any thread may call it at any time; no launch waits for it. Counters are read one by one: of a compile that
 * ends meanwhile some are new and some old. In a forked child it writes nothing. */
SETT_API void sett_engine_stats(const sett_engine *, sett_stats *);

#ifdef __cplusplus
}
#endif
#endif
