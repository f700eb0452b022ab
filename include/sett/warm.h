/* SPDX-License-Identifier: Apache-2.0 */
/* Filling a cache ahead of time, on machines without a GPU. A family is a kernel's body with the parameters of its user data
 * named, in a shared object; a manifest says which values are wanted:
 *
 *     const sett_family_param softmax_params[] = {
 *         SETT_FAMILY_PARAM(struct softmax, dtype), SETT_FAMILY_PARAM(struct softmax, cols), ...};
 *     const sett_family softmax_family = {.size = sizeof(sett_family), .body = softmax, .name = "softmax",
 *         .user_size = sizeof(struct softmax), .params = softmax_params, .n_params = 3};
 *
 *     # kernels.warm
 *     family ./libkernels.so softmax_family
 *         dtype = f16, bf16
 *         cols = 1024..8192*2
 *         threads = 128, 256
 *     tape saxpy.tape
 *         .name = saxpy
 *
 * A manifest is lines; # starts a comment, paths are relative to its folder. `family OBJECT SYMBOL` or `tape FILE` begins a
 * block, whose kernels are all combinations of the values that follow. A value is an integer (a float or
 * double takes one too: `scale = 2` is 2.0), a number with a point (of float and double), an element type (of integers: its
 * id) or true, false; FROM..TO are integers, each 1 more than the one before, or with +N, *N at the end by so much. What
 * begins with a dot is of the compile: .name, .targets (instead of those of the call), .opt_level, .line_info. A block may
 * be given again with other values; a kernel that comes twice is one. */
#ifndef SETT_WARM_H
#define SETT_WARM_H
#include <sett/compile.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A member of the body's user data: an integer of 1, 2, 4 or 8 bytes (bool and enumerations too), a float or a double. */
typedef struct sett_family_param {
    const char *name;
    size_t offset, bytes;
    bool floating;
} sett_family_param;
/* Positional, so that it serves C++ too. */
#define SETT_FAMILY_PARAM(type, member) \
    {#member, offsetof(type, member), sizeof(((type *)0)->member), \
        sizeof(((type *)0)->member) > 1 && (__typeof__(((type *)0)->member))0.5 > 0}
typedef struct sett_family {
    size_t size;
    sett_body body;
    const char *name;     /* of its kernels, as sett_compile_options.name; NULL: the default */
    size_t user_size;     /* of its user data; what no parameter covers is as in defaults */
    const void *defaults; /* user_size bytes; NULL: zeros, and the manifest must give every parameter */
    const sett_family_param *params;
    int n_params;
    bool (*wanted)(const void *user); /* false: there is no such kernel; NULL: there is every combination */
} sett_family;

/* One kernel of a manifest for one target. Strings live until the callback returns. */
typedef struct sett_warm_event {
    size_t size;
    const char *name, *target, *params; /* params: "dtype=f16 cols=1024", or the path of a tape */
    uint8_t key[32];
    sett_status status; /* of this kernel; not SETT_OK: error says why, and where it was not even recorded key is zeros */
    const char *error;  /* "" */
    bool cached;        /* it was in the cache before */
    double ms;          /* that its compile took */
    uint64_t done, failed, total; /* so far, this one counted; of all */
    bool fetched; /* the remote gave it; neither cached nor compiled */
} sett_warm_event;
typedef bool (*sett_warm_fn)(void *user, const sett_warm_event *); /* false: enough */

typedef struct sett_warm_options {
    size_t size;
    const char *targets; /* with ',' between: "sm_80,sm_90a"; NULL where every block of the manifest has .targets */
    /* This call makes part `shard` of `shards`, 0 to shards - 1; shards 0: all. Parts are of equal size, to one, and depend
     * on the manifest alone: parts that are made anywhere merge to what one call makes. */
    int shard, shards;
    int workers;         /* processes; 0: as many as .cpu_threads of the engine, one a core where that was 0 */
    /* Path of the sett command, which they run; NULL: beside libsett.so, or in ../bin from there, and sett_family_keys records
     * on its own thread. */
    const char *command;
    const char *pack;    /* path of a pack to write of what was made; NULL: none */
    const char *secret_key; /* signs it, as sett_pack_options.secret_key */
    sett_warm_fn progress;  /* once for each kernel, on the calling thread; false cancels */
    void *user;             /* for progress */
} sett_warm_options;

/* The kernels of a manifest, or of a shard, in its order; nothing is compiled. Bodies are recorded on this thread, or, where
 * .command is set, by a process of it: one that crashes there costs its kernel. Shared objects that are named stay loaded. The manifest, and what it names,
 * are regular files: no FIFO is waited on. SETT_E_PARSE with "MANIFEST:LINE: ..."; SETT_E_IO: a file cannot be read or opened;
 * SETT_E_ARGUMENT; SETT_E_LIMIT; SETT_E_MEMORY. That a kernel cannot be recorded is its own status. */
SETT_API sett_status sett_family_keys(sett_engine *, const char *manifest, const sett_warm_options *, sett_warm_fn,
    void *user, sett_error *or_null);

typedef struct sett_warm_result {
    size_t size;
    uint64_t total, cached, compiled, failed; /* the rest was left when it was cancelled */
    uint64_t fetched; /* from the remote; they are not among those compiled */
} sett_warm_result;
/* Records, and compiles what of it the engine's cache lacks, in processes of their own, so that a body or a compiler that
 * crashes costs its kernel alone, and writes it to the engine's cache folder: what was made stays, and the next call goes on
 * from there. No GPU is needed, and nothing is launched. What the processes log goes to this engine's .log, on the calling
 * thread. SETT_E_COMPILE: some kernels were not made, and the rest was (the pack too; progress has told why); SETT_E_CANCELLED; else as sett_family_keys and sett_pack_write, and SETT_E_IO where the engine has no folder to
 * write to or a process cannot be started. result: NULL, or its .size is set. */
SETT_API sett_status sett_warm(sett_engine *, const char *manifest, const sett_warm_options *, sett_warm_result *or_null,
    sett_error *or_null2);
/* What such a process runs, `sett warm --worker`: it serves the socket that it was started with as standard input, until
 * that is closed. An exit code; 2: there is no such socket. */
SETT_API int sett_warm_worker(void);

#ifdef __cplusplus
}
#endif
#endif
