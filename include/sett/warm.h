/* SPDX-License-Identifier: Apache-2.0 */
/* Filling a cache ahead of time, on machines without a GPU. A family is a kernel's body in a shared object,
 * with names for the members of its user data. A manifest lists the values that are wanted:
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
 * A manifest is lines of text; # starts a comment; paths are relative to the manifest's folder. An OBJECT
 * that ends in .so may also have the version behind it (libsett-kernels.so.0, as a wheel has it); one
 * without a slash is looked for beside libsett.so too, as libsett-kernels.so is. An error names all places.
 * `family OBJECT SYMBOL` or `tape FILE` begins a block. The block's kernels are all combinations of the
 * values in the lines that follow. A value is an integer, a number with a point (for float and double; they
 * take integers too: `scale = 2` is 2.0), an element type (its id, for a sett_dtype), true or false, or a
 * name that the family has for a value of the parameter (activation = relu). FROM..TO is all integers between
 * them; +N or *N at its end gives the step.
 * A name that begins with a dot is an option of the compile: .name, .targets (instead of those of the call),
 * .opt_level, .line_info. A block may come again with other values; a kernel that two blocks give counts
 * once.
 *
 * `model NAME NAME=VALUE,... targets=LIST` gives the blocks of NAME.model, in the manifest's folder or among
 * those that lie in models/ beside libsett.so, or in share/sett/models: all that a server of that model
 * launches. sett-manifest(5) says how such a file is written. */
#ifndef SETT_WARM_H
#define SETT_WARM_H
#include <sett/compile.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A member of the user data: an integer of 1, 2, 4 or 8 bytes (also bool and enumerations), a float or a
 * double. */
typedef struct sett_family_param {
    const char *name;
    size_t offset, bytes;
    bool floating;
    bool number; /* no sett_dtype: a value that names an element type is refused. SETT_FAMILY_PARAM knows it
                  * in C, not in C++ */
    bool is_signed; /* an integer that may be negative: a value past what it holds is refused, where one of
                     * another kind has that of its bits. SETT_FAMILY_PARAM knows it in C, not in C++ */
} sett_family_param;
#ifdef __cplusplus
#define SETT_FAMILY_NUMBER_(type, member) false
#define SETT_FAMILY_SIGNED_(type, member) false
#else
#define SETT_FAMILY_NUMBER_(type, member) \
    !__builtin_types_compatible_p(__typeof__(((type *)0)->member), sett_dtype)
#define SETT_FAMILY_SIGNED_(type, member) \
    ((__typeof__(((type *)0)->member))-1 < (__typeof__(((type *)0)->member))1)
#endif
/* Positional, because C++ has no designated initializers. */
#define SETT_FAMILY_PARAM(type, member) SETT_FAMILY_PARAM_NAMED(#member, type, member)
/* The same by a name of its own, as a member of a member needs:
 * SETT_FAMILY_PARAM_NAMED("threads", options, tuning.threads). */
#define SETT_FAMILY_PARAM_NAMED(name, type, member) \
    {name, offsetof(type, member), sizeof(((type *)0)->member), \
        sizeof(((type *)0)->member) > 1 && (__typeof__(((type *)0)->member))0.5 > 0, \
            SETT_FAMILY_NUMBER_(type, member), SETT_FAMILY_SIGNED_(type, member)}
/* A parameter that had another name before. */
typedef struct sett_family_renamed {
    const char *was, *now;
} sett_family_renamed;
/* A name of a parameter's value, as {"activation", "relu", 1}: manifests, sett export and Python take it in
 * the place of the integer. */
typedef struct sett_family_word {
    const char *param, *word;
    int64_t value;
} sett_family_word;
typedef struct sett_family {
    size_t size;
    sett_body body;       /* pure (sett_compile_options.pure): one process records it, and another finds it */
    const char *name;     /* of its kernels, as sett_compile_options.name; NULL: the default */
    size_t user_size;     /* bytes of the user data; those that no parameter covers are taken from defaults */
    const void *defaults; /* user_size bytes; NULL: zeros, and the manifest must give every parameter */
    const sett_family_param *params;
    int n_params;
    bool (*wanted)(const void *user); /* false: leave this combination out; NULL: none is left out */
    /* Fills in what the manifest leaves open and the target decides ("sm_75"), before the body is recorded
     * for it: it gets the family's body and a combination that is wanted. Without it (NULL) the body is the
     * same for every target. An error is that of this kernel for this target. sett_kernels_choose is one, for
     * the bodies of sett/kernels.h. */
    sett_status (*choose)(sett_body, void *user, const char *target, sett_error *);
    /* Former names of parameters. A manifest that gives one is refused, and told the present name. */
    const sett_family_renamed *renamed;
    int n_renamed;
    const sett_family_word *words;
    int n_words;
    /* A family of which each combination is several kernels: what number `index`, from 0, of a combination
     * that is wanted is on a target. It gives the family whose body, name and user_size that kernel has, and
     * writes its user data, chosen for the target, to .kernel_size bytes, which are zeros. *of NULL: there is
     * no such kernel, and none after it. An error is that of the combination for this target. .body and
     * .choose are not looked at. NULL: a combination is one kernel, of .body. sett_product_family has one. */
    sett_status (*kernel)(const void *user, const char *target, int index, const struct sett_family **of,
        void *kernel_user, sett_error *);
    size_t kernel_size; /* bytes of the largest user data that .kernel writes */
    bool ready_made;    /* as sett_compile_options.ready_made, of its kernels */
} sett_family;

/* The parameter's present name, where `name` is a former one; else NULL. */
SETT_API const char *sett_family_present_name(const sett_family *, const char *name);
/* Writes the value that a word names; false: it is none of the parameter's. */
SETT_API bool sett_family_word_value(
    const sett_family *, const char *param, const char *word, int64_t *value);
/* "none, relu, gelu": a parameter's words, cut where they do not fit, with 0 at the end. Gives the length of
 * all of them, as snprintf. */
SETT_API int sett_family_words(const sett_family *, const char *param, char *buf, size_t size);

/* One kernel of a manifest for one target. Strings live until the callback returns. */
typedef struct sett_warm_event {
    size_t size;
    /* params: "dtype=f16 cols=1024", or a tape's path. Of a family with .kernel: the name and the user data
     * of the one kernel, without what is 0, once it is recorded. */
    const char *name, *target, *params;
    uint8_t key[32];
    sett_status status; /* of this kernel. If not SETT_OK, error says why, and key is zeros if the kernel was
                         * not even recorded */
    const char *error;  /* "" without an error */
    bool cached;        /* the cache had it before */
    double ms;          /* duration of its compile */
    uint64_t done, failed, total; /* kernels so far, this one included; of them failed; of all */
    bool fetched; /* a server gave it, so that it was neither cached nor compiled */
} sett_warm_event;
typedef bool (*sett_warm_fn)(void *user, const sett_warm_event *); /* returns false to stop */

typedef struct sett_warm_options {
    size_t size;
    const char *targets; /* "sm_80,sm_90a"; NULL if every block of the manifest has .targets */
    /* This call makes part `shard` of `shards` parts: 0 to shards - 1. shards 0: everything. Parts have equal
     * sizes, give or take one, and depend on the manifest alone, so that parts made on several machines merge
     * to what one call makes. */
    int shard, shards;
    int workers;         /* worker processes; 0: the engine's .cpu_threads, or one a core if that is 0 */
    /* Path of the sett command, which the workers run. NULL: the one beside libsett.so, or in ../bin from
     * there; and sett_family_keys records on its own thread. */
    const char *command;
    const char *pack;    /* path of a pack to write with the kernels; NULL: none */
    const char *secret_key; /* to sign the pack with, as sett_pack_options.secret_key */
    sett_warm_fn progress;  /* called once for each kernel, on the calling thread; returns false to cancel */
    void *user;             /* for progress */
} sett_warm_options;

/* Lists the kernels of a manifest, or of a shard, in the manifest's order, and compiles nothing. Bodies are
 * recorded on this thread; if .command is set, a process of it records them, and a body that crashes costs
 * only its kernel. Shared objects of the manifest stay loaded. The manifest and the files that it names must
 * be regular files. A kernel that cannot be recorded has its own status in the callback. SETT_E_PARSE, with
 * "MANIFEST:LINE: ...". SETT_E_IO: a file cannot be read or opened. SETT_E_ARGUMENT, SETT_E_LIMIT,
 * SETT_E_MEMORY. */
SETT_API sett_status sett_family_keys(sett_engine *, const char *manifest, const sett_warm_options *,
    sett_warm_fn,
    void *user, sett_error *or_null);

typedef struct sett_warm_result {
    size_t size;
    uint64_t total, cached, compiled, failed; /* the others were not done, after a cancel */
    uint64_t fetched; /* from a server; not among those compiled */
} sett_warm_result;
/* Records the kernels of a manifest, and compiles those that the engine's cache lacks, in worker processes: a
 * body or a compiler that crashes costs only its kernel. Each kernel is written to the engine's cache folder
 * at once, so that a later call continues an interrupted one. It needs no GPU and launches nothing. The
 * workers' log goes to this engine's .log, on the calling thread. result may be NULL; else its .size is set.
 * SETT_E_COMPILE: some kernels failed, all others are done, and the pack is written; the text has the first
 * reason, progress got each.
 * SETT_E_CANCELLED. SETT_E_IO: the engine has no folder to write to, or a worker cannot be started. Else as
 * sett_family_keys and sett_pack_write. */
SETT_API sett_status sett_warm(sett_engine *, const char *manifest, const sett_warm_options *,
    sett_warm_result *or_null,
    sett_error *or_null2);
/* What a worker process runs (`sett warm --worker`): it serves the socket that is its standard input, until
 * that is closed. Returns an exit code; 2: there is no such socket. */
SETT_API int sett_warm_worker(void);

#ifdef __cplusplus
}
#endif
#endif
