/* SPDX-License-Identifier: Apache-2.0 */
/* The engine: devices, memory, compiling and the cache. Plain functions, also for
 * C++17 and foreign-function interfaces.
 *
 *     sett_engine *e;
 *     sett_kernel *k;
 *     sett_error err;
 *     if (sett_engine_open(&e, NULL, &err) || sett_compile(e, body, NULL, &k, &err))
 *         puts(err.text);
 *
 * An engine and its kernels may be used by many threads. Compiles run on threads that the
 * engine owns; two threads that want one key wait for one compile. No thread is to be cancelled (pthread_cancel) inside a
 * call: it may hold a lock, or be the one that others wait for. */
#ifndef SETT_ENGINE_H
#define SETT_ENGINE_H
#include <sett/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sett_engine sett_engine; /* devices, cache layers, compiler: open/close */

/* A device: SETT_CPU, or the ordinal of a GPU. SETT_DEFAULT_DEVICE is GPU 0, or the CPU
 * where there is none. */
enum { SETT_CPU = -1, SETT_DEFAULT_DEVICE = -2 };
/* handle: the caller's CUstream; NULL is the default stream. The CPU has no streams: its launches
 * have ended when the call returns, and the handle only says which of them sett_cancel means. */
typedef struct sett_stream {
    int device;
    void *handle;
} sett_stream;
/* As an argument of a macro, which a compound literal would be split in at its comma:
 * sett_launch(k, sett_stream_of(0, s), &err, &x). */
SETT_API sett_stream sett_stream_of(int device, void *handle);

typedef enum sett_assembler { SETT_ASM_AUTO, SETT_ASM_NVJITLINK, SETT_ASM_PTXAS, SETT_ASM_DRIVER } sett_assembler;
/* Whose files a disk cache believes. Who may write it may put code into every process that reads it; see docs/cache.md.
 * PRIVATE: each folder on the way there and each file belongs to this user or root, and nobody else may write it. MAC:
 * whoever wrote it knows the secret of .cache_secret, whatever the owner and mode; a pack must be signed. OFF: no such
 * check. SIGNED: packs that one of .cache_signers has signed, and no folder, so that nothing is written. Damage is found
 * under all four. */
typedef enum sett_cache_trust { SETT_TRUST_PRIVATE, SETT_TRUST_MAC, SETT_TRUST_OFF, SETT_TRUST_SIGNED } sett_cache_trust;
/* Which entries of a disk cache are used, by the compiler and assembler that made them: ANY, as the key already tells what
 * sett's own code generator did; EXACT, those alone that this machine would make itself, for runs that must not depend on
 * what was cached when. EXACT opens both to ask, so without them it finds nothing. */
typedef enum sett_toolchain { SETT_TOOLCHAIN_ANY, SETT_TOOLCHAIN_EXACT } sett_toolchain;
/* ERROR: something is lost; WARNING: it goes on, slower or without what was asked for; INFO: what was found; DEBUG: why a
 * kernel was not in the cache. component, which part it is about: "cache", "compiler" (the plug-in), "assembler", "cuda",
 * "memory", "dump" ($SETT_DUMP), "log". The strings live until the function returns. It is called on any thread, also on
 * several at once, and calls nothing of sett itself. Of the warnings and errors of one kind ten a minute
 * are told, and the next one after that says "(N more like it)"; sett_stats.log_drops counts the others. */
typedef enum sett_log_level { SETT_LOG_ERROR = 1, SETT_LOG_WARNING, SETT_LOG_INFO, SETT_LOG_DEBUG } sett_log_level;
typedef void (*sett_log_fn)(void *user, sett_log_level, const char *component, const char *message);
typedef void (*sett_print_fn)(void *user, const char *text, size_t len);

/* Zero means default everywhere: sett_engine_options o = {.size = sizeof o}. */
typedef struct sett_engine_options {
    size_t size;
    /* The folder of the disk cache, which new entries are written to. NULL: $SETT_CACHE_DIR, else
     * $XDG_CACHE_HOME/sett, else $HOME/.cache/sett, else none. "": none. The environment is ignored in set-uid
     * programs. */
    const char *cache_dir;
    bool sealed;            /* a miss is SETT_E_NOT_CACHED, never a compile, and its text says of each layer why it did not give
                             * the kernel. Nothing is written: no folder is made, nothing damaged moved, no time of use kept. A kernel for "cpu" needs no compile: it is its
                             * tape, in no disk cache, and is made as ever */
    bool no_gpu;            /* do not look for a driver: the CPU only */
    int cpu_threads;        /* of the CPU engine; 0: one a core */
    sett_assembler assembler;
    const char *plugin;     /* path of libsett-ptx.so; NULL or "": beside libsett.so, then $SETT_PTX_PLUGIN's path, then
                             * the loader's */
    const char *ptxas;      /* absolute path; NULL: $SETT_PTXAS, then the usual places */
    const char *nvjitlink;  /* path or name for dlopen; NULL: $SETT_NVJITLINK, then the usual names */
    bool module_api;        /* load by cuModuleLoadData per context, not cuLibraryLoadData */
    sett_log_fn log;        /* NULL: to stderr from the level that $SETT_LOG names (error, warning, info, debug), else nowhere */
    sett_print_fn print;    /* sett_printf of the CPU engine; NULL: stdout of the process */
    void *user;             /* for log and print */
    int compile_timeout_ms; /* of one run of ptxas, which is killed after it (SETT_E_ASSEMBLE); 0:
                             * $SETT_JIT_TIMEOUT_MS, else two minutes. Assemblers in process cannot be stopped */
    /* Folders and packs that are only read, asked in this order before cache_dir: absolute paths with ':' between. NULL:
     * $SETT_CACHE_LAYERS. "": none. */
    const char *cache_layers;
    sett_cache_trust cache_trust; /* of cache_dir and cache_layers */
    const char *cache_secret; /* for SETT_TRUST_MAC and .cache_remote: absolute path of a file that only its owner may read, with one or two
                               * lines of 64 hexadecimal digits: the first signs, both are believed */
    sett_toolchain toolchain; /* of entries that are used */
    uint64_t cache_cap;     /* bytes that cache_dir may take; 0: a tenth of its file system, 4 GiB at most */
    int compile_wait_ms;    /* how long a compile waits for another process that compiles the same kernel; then one of those
                             * who wait compiles it too, and the others wait for that one, three times in all, before each
                             * does so itself; 0: ten seconds, or three times the longest compile so far */
    const char *cache_signers; /* for SETT_TRUST_SIGNED, and packs under SETT_TRUST_MAC: the public keys (Ed25519) that are
                                * believed, 64 hexadecimal digits each with ':' between. NULL, "": none */
    sett_log_level log_level; /* the last one that .log is called with; 0: all */
    /* A server that is asked for what this machine lacks, and sent what it compiles: "https://host/prefix",
     * "http://host:port/prefix" or "redis://host:port/db" (rediss: over TLS), then attributes: "http://host/sett|layout=bazel|read-only".
     * NULL: $SETT_CACHE_REMOTE. "": none. Its entries must carry the authentication code of .cache_secret, or of
     * |secret=FILE, whatever .cache_trust says, unless |trusted says that it and the way there are trusted. docs/cache.md
     * has the attributes and the rules. It needs libsett-remote.so, beside libsett.so or in $SETT_REMOTE_PLUGIN, and no failure
     * of it is an error */
    const char *cache_remote;
    bool cache_verify;      /* what is found on disk is compiled all the same and compared, cubin and META byte by byte:
                             * sett_stats.verified and .differences, a line to the log for each that differs. What was found is
                             * used either way; a sealed engine does not. Also set by $SETT_CACHE_VERIFY=1 */
    bool cache_required;    /* opening fails, SETT_E_IO, where a layer that is named cannot be used, or no layer can: those of .cache_layers,
                             * .cache_dir and .cache_remote or of their environment, not the folder below $HOME. The text names
                             * each, and why. A folder that .cache_dir or $SETT_CACHE_DIR names is made only where its parent exists:
                             * else the path is mistyped, or its volume is not mounted. A server that is down is no such failure.
                             * Also set by $SETT_CACHE_REQUIRED=1 */
    int cpu_timeout_ms;     /* of one launch on the CPU engine, which is a fault after it: SETT_E_FAULT, with the line that it
                             * was at and what it did there. 0: $SETT_CPU_TIMEOUT_MS, else no limit but that of sett_while */
} sett_engine_options;

/* No driver, no assembler, no compiler and no writable cache are no errors here: what needs them says so when
 * it is asked for, and sett_engine_describe() tells. SETT_E_ARGUMENT for an option out of range; SETT_E_IO by .cache_required alone;
 * SETT_E_MEMORY. */
SETT_API sett_status sett_engine_open(sett_engine **, const sett_engine_options *or_null, sett_error *or_null2);
/* Waits for entries that are still being written to the disk cache. Launches that run on the CPU engine are ended, as by
 * sett_cancel but with SETT_E_CLOSED, and waited for: not to be called by what they call. Kernels and calls that outlive the
 * engine stay valid memory; launching them gives SETT_E_CLOSED. No other call on the engine itself may be under way. In a forked
 * child it does nothing, as every other call there returns SETT_E_FORKED. NULL is ignored. */
SETT_API void sett_engine_close(sett_engine *);

/* From now on a miss is SETT_E_NOT_CACHED and a line to the log, never a compile; or compiles again. As .sealed of the
 * options, for a server that warms up first. A compile that is under way ends as it would have, and what was compiled is still
 * written. Unsealed, an engine makes its cache folder if it has none. sett_cache_trim, sett_pack_unpack and sett_warm are SETT_E_IO
 * while it is sealed. NULL is ignored. */
SETT_API void sett_engine_seal(sett_engine *, bool sealed);

/* Without an engine (NULL): the CPU, no GPU, no target, nothing to describe; memory is NULL, and what returns a status
 * gives SETT_E_ARGUMENT. A buffer of NULL only asks for the length. */
SETT_API int sett_default_device(const sett_engine *);
SETT_API int sett_gpu_count(const sett_engine *);
/* The target that kernels for this device are compiled for: "sm_90a", or "cpu". snprintf-like; negative: no such
 * device. */
SETT_API int sett_device_target(const sett_engine *, int device, char *buf, size_t size);
/* What was found and where, one `name: value` line each: driver, devices, plug-in, assemblers, cache
 * folder, remote. snprintf-like. It opens the compiler to ask it, and asks the remote whether it answers. */
SETT_API int sett_engine_describe(sett_engine *, char *buf, size_t size);

/* The C function that does on the CPU engine what inline PTX does on a GPU (sett_inline_ptx, .stand_in): for one thread at a time.
 * types: "u32(u32, u32)", the result and the operands by the names of sett_dtype_name, as the PTX has them, and void where
 * there is none. Integers and f32, f64 are what C has; i1 is bool, other floats are their bits, uint8_t, uint16_t and
 * uint32_t. Several results, "u32,u32(u32, u32)", are void in C, and pointers to them are the first arguments:
 *
 *     static uint32_t xor3(uint32_t x, uint32_t y, uint32_t z) { return x ^ y ^ z; }
 *     sett_engine_stand_in(e, "xor3", "u32(u32,u32,u32)", (void (*)(void))xor3, &err);
 *
 * Launches that begin later use it, also of kernels that are compiled already; another one of the name replaces it, NULL takes
 * it away. Worker threads call it, several at once, on stacks of 256 KiB, for the threads of a warp in order and, where a
 * branch or a predicate has threads left out, not for those; it must not launch, nor leave by longjmp. Its shared object stays
 * loaded until the last such launch has ended. Any thread may give one at any time. A launch whose PTX has other types is SETT_E_DTYPE, with both;
 * a name that is none, or NULL, SETT_E_ARGUMENT. */
SETT_API sett_status sett_engine_stand_in(
    sett_engine *, const char *name, const char *types, void (*function)(void), sett_error *or_null);

/* Counters since the engine was opened. memo_hits: nothing was recorded; memory_hits, disk_hits: found by key; misses:
 * found nowhere on this machine; joined: waited for another thread's compile or read; refusals: entries on disk that were damaged, foreign or
 * not trusted; heals: those that were moved out of the way, so that the compile which follows replaces them; waits:
 * compiles that waited for another process, which then mostly are disk hits; late: those that waited in vain and compiled
 * all the same; duplicates: compiled, and then another process had written it; evictions: entries removed to keep under
 * the cap; remote_hits: found on the remote, after a miss. cache.h has the same of each layer, metrics.h all of it for
 * monitoring. */
typedef struct sett_stats {
    size_t size;
    uint64_t memo_hits, memory_hits, disk_hits, misses, compiles, joined, heals, refusals, disk_writes, records;
    bool compiler_loaded; /* libsett-ptx.so is mapped */
    bool sealed;
    bool faulted; /* the driver has told of a fault that only the end of the process mends */
    uint64_t waits, late, evictions;
    uint64_t duplicates, failures, sealed_misses, write_failures, log_drops;
    uint64_t verified, differences; /* .cache_verify */
    uint64_t kernels; /* held in memory now */
    /* How often each phase was done, and the nanoseconds that it took in all. Recording, waiting for another process and
     * for another thread are counted above: records, waits, joined. */
    uint64_t codegens, assembles, record_ns, codegen_ns, assemble_ns, wait_ns, join_ns;
    uint64_t remote_hits;
} sett_stats;
/* From any thread, at any time; no launch waits for it. Each is read by itself: of a compile that ends meanwhile some are
 * new and some old. In a forked child nothing is written. */
SETT_API void sett_engine_stats(const sett_engine *, sett_stats *);

#ifdef __cplusplus
}
#endif
#endif
