/* SPDX-License-Identifier: Apache-2.0 */
/* The map of jit/: what its files share, grouped by the file that defines it.
 *
 * engine.c opens devices, cache and compiler; compile.c takes a body or a tape to a
 * kernel (memo, memory, disk, plug-in, assembler); bind.c checks arguments and packs them;
 * launch.c and call.c run a kernel on a GPU (cuda/) or on the CPU (sim/); warm/ fills a cache ahead of time, by processes.
 *
 * This header is all that one folder shows to another. asm/asm.h, cache/cache.h, cache/bytes.h, cuda/cuda.h, sim/sim.h,
 * sim/wide.h and warm/warm.h hold what the files of that one folder share; meta.c alone borrows bytes.h. counters.h is its list
 * of all that is counted; on_cpu.h what an engine keeps of memory and launches of the CPU; identity.h what compile.c and identity.c
 * share. */
#ifndef SETT_JIT_H
#define SETT_JIT_H
#include "../lib/lib.h"
#include "counters.h"
#include <pthread.h>
#include <sett/cache.h>
#include <sett/metrics.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/types.h>

/* What a launch runs through: side by side in the code, as it comes from memory each time. */
#define SETT__HOT __attribute__((hot))

/* ---- log.c: lines for whoever listens ------------------------------------------------------ */
enum { SETT__LOG_KINDS = 16, SETT__LOG_BURST = 10, SETT__LOG_MS = 60000 };
typedef struct sett__log_kind {
    const char *format;
    double since; /* ms */
    unsigned said, held;
} sett__log_kind;
typedef struct sett__logger {
    sett_log_fn fn; /* NULL: nobody listens */
    void *user;
    sett_log_level level; /* the last one that is told */
    atomic_uint_fast64_t *drops;
    pthread_mutex_t lock; /* over kinds; not held while fn runs */
    sett__log_kind kind[SETT__LOG_KINDS];
} sett__logger;
void sett__logger_open(sett__logger *, const sett_engine_options *, atomic_uint_fast64_t *drops);
/* NULL: nobody listens. component: one of those that engine.h lists; format: a literal, which is what kinds are told by. */
void sett__say(sett__logger *, sett_log_level, const char *component, const char *format, ...) SETT_PRINTF(4, 5);
#define sett__log(e, ...) sett__say(sett__logger_of(e), __VA_ARGS__) /* for who has an engine, also a const one */

/* ---- nvtx.c: ranges for profilers ----------------------------------------------------------- */
void sett__ranges_open(void); /* once a process: looks who listens */
/* "record saxpy" on this thread until sett__range_end(): the last one that was begun ends first. */
void sett__range_begin(const char *what, const char *name);
void sett__range_end(void);

/* ---- asm/: PTX to cubin ------------------------------------------------------------- */
typedef struct sett__asm sett__asm; /* what was found: nvJitLink, ptxas, driver; safe for many threads */
typedef struct sett__asm_config {
    sett_assembler choice;        /* AUTO: nvJitLink, else ptxas, else the driver */
    const char *ptxas, *nvjitlink; /* as in sett_engine_options; NULL: looked for */
    struct sett__cuda *cuda;      /* for the driver's JIT; NULL: not there */
    int timeout_ms;               /* of one run of ptxas; 0: $SETT_JIT_TIMEOUT_MS, else two minutes */
} sett__asm_config;
typedef struct sett__asm_job {
    const char *ptx;
    size_t ptx_len;
    const char *target;
    int opt_level;      /* 0..3, of ptxas */
    bool line_info;
    bool needs_ptxas;   /* setmaxnreg: nvJitLink drops it */
} sett__asm_job;
typedef struct sett__asm_out {
    void *cubin; /* malloc'ed */
    size_t cubin_len;
    char *log;   /* malloc'ed, NUL-ended, never NULL on success */
    int registers, spill_stores, spill_loads, stack, smem; /* -1 unknown */
    bool serialized;      /* a C75xx "wgmma serialized" warning */
    char identity[64];    /* "nvJitLink 13.0", "ptxas 13.0.88", "driver-jit 13000" */
    double ms;
} sett__asm_out;
/* Nothing is searched for before the first use. */
sett_status sett__asm_open(sett__asm **, const sett__asm_config *, sett_error *);
void sett__asm_close(sett__asm *);
sett_status sett__assemble(sett__asm *, const sett__asm_job *, sett__asm_out *, sett_error *);
void sett__asm_out_free(sett__asm_out *);
void sett__asm_warm(sett__asm *); /* looks for the one that will be used, ahead of its first use */
/* May it be asked here for a kernel's cubin, and is it of this identity? Looks for it if need be. */
bool sett__asm_would_use(sett__asm *, const char *identity);
/* One `name: value` line for each assembler: found where, version, or why not. snprintf-like. */
int sett__asm_describe(sett__asm *, char *buf, size_t size);
/* The parser of assembler logs, for tests: fills registers to serialized. */
void sett__asm_parse_log(const char *log, sett__asm_out *);

/* ---- cuda/: the driver ------------------------------------------------------------------ */
typedef struct sett__cuda sett__cuda;
typedef struct sett__gpu_kernel sett__gpu_kernel; /* loaded code: a CUlibrary and CUkernel, or CUmodules per context */
typedef struct sett__launch_dims {
    uint32_t grid[3], block[3], cluster[3]; /* cluster 1,1,1: none */
    uint32_t smem; /* of the block's window, where it is not in the code: sett__smem_static */
} sett__launch_dims;
/* SETT_E_NO_DEVICE when there is no libcuda.so.1 or no GPU; the text says which. Of the engine, which outlives it. */
sett_status sett__cuda_open(sett__cuda **, const atomic_uint *gate, sett__logger *, sett_error *);
void sett__cuda_close(sett__cuda *);
int sett__cuda_count(const sett__cuda *);
sett_status sett__cuda_target(sett__cuda *, int device, char target[16], sett_error *); /* "sm_90a" */
int sett__cuda_driver_version(const sett__cuda *); /* 13000 */
bool sett__cuda_faulted(const sett__cuda *); /* what only the end of the process mends */
sett_status sett__cuda_counts(const sett__cuda *, int device, sett_device_counts *); /* adds them; SETT_E_NO_DEVICE */
int sett__cuda_describe(sett__cuda *, char *buf, size_t size);
void *sett__cuda_alloc(sett__cuda *, int device, size_t);
void sett__cuda_free(sett__cuda *, int device, void *);
sett_status sett__cuda_memcpy(sett__cuda *, sett_stream, void *dst, const void *src, size_t, sett_error *);
sett_status sett__cuda_sync(sett__cuda *, sett_stream, sett_error *);
/* PTX to cubin by cuLink, for the job's target, whatever the devices here are; *cubin and *log are malloc'ed. The log is
 * empty when the driver's own cache ($CUDA_CACHE_PATH) had it. */
sett_status sett__cuda_link(sett__cuda *, const sett__asm_job *, void **cubin, size_t *cubin_len, char **log, sett_error *);
/* In memory of the caller's. symbol: the kernel's name in the cubin. Nothing is loaded until prepare or launch; symbol and the
 * cubin's bytes must live as long as the handle. */
enum { SETT__GPU_KERNEL_BYTES = 72 };
sett_status sett__gpu_kernel_make(sett__cuda *, const void *cubin, size_t len, const char *symbol, uint32_t smem,
    bool module_api, sett__gpu_kernel *, sett_error *);
/* Of a kernel with assertions: the signature lives as long as the handle. What fails is found by sett__cuda_failed, also
 * after the handle is gone. */
sett_status sett__gpu_claims(sett__gpu_kernel *, const sett__sig *, sett_error *);
void sett__gpu_early(sett__gpu_kernel *); /* it waits for the grids before it by itself, and may begin before they end */
void sett__gpu_more_smem(sett__gpu_kernel *); /* launches may add to its shared memory; before it is prepared */
sett_status sett__gpu_fits(const sett__gpu_kernel *, int device, const sett__launch_dims *, sett_error *); /* does that? */
/* The end of a packed block, if the kernel has assertions: where it writes what failed. After prepare. */
void sett__gpu_address(const sett__gpu_kernel *, int device, void *params, size_t params_len);
/* SETT_E_FAULT with the report of an assertion that failed on the device, once; waits for nothing. */
sett_status sett__cuda_failed(sett__cuda *, int device, sett_error *);
/* Unloads nothing while the process may still use it. */
void sett__gpu_kernel_end(sett__gpu_kernel *);
/* Loads code and sets attributes for a device, in the caller's current context (else the primary one). */
sett_status sett__gpu_prepare(sett__gpu_kernel *, int device, sett_error *);
bool sett__gpu_prepared(const sett__gpu_kernel *, int device);
bool sett__gpu_refused(sett__gpu_kernel *); /* the last try to load it failed for its bytes; told once */
/* From every device and context; whoever calls knows that nothing runs or holds it. */
sett_status sett__gpu_unload(sett__gpu_kernel *, sett_error *);
/* cuLaunchKernelEx with a packed parameter block. A kernel not prepared on a stream under capture:
 * SETT_E_CAPTURING. The caller's current context is left as found. */
sett_status sett__gpu_launch(sett__gpu_kernel *, sett_stream, const sett__launch_dims *, void *params, size_t params_len, sett_error *);
void *sett__gpu_function(sett__gpu_kernel *, int device); /* to launch there, after prepare; NULL: not loaded */
/* The way of most launches by sett_launch, in two steps: what to launch there, if all of it is loaded; and go. */
void *sett__gpu_ready(const sett__gpu_kernel *, int device);
sett_status sett__gpu_go(const sett__gpu_kernel *, void *function, sett_stream, const sett__launch_dims *, void *params, size_t params_len,
    sett_error *);
/* A launch of which all but the stream and the packed block is known, in one cache line: what the driver leaves of ours in
 * the caches is little, and each line is another wait for memory. */
struct sett__cu_config;
typedef struct sett__shot {
    sett__cuda *cuda;
    int (*launch)(const struct sett__cu_config *, void *, void **, void **);
    void *function;
    uint32_t dims[7];        /* grid, block, shared memory to be asked for: as a sett__cu_config begins */
    uint16_t params_len;
    int8_t device;
    uint8_t state;           /* SETT__SHOT_*; 0: the shot is none yet */
    const atomic_uint *gate; /* the engine's; whoever has the shot sets it */
    uint8_t cluster[3];      /* behind the line: of CLUSTERED alone */
} sett__shot;
enum { SETT__SHOT_LOADED = 1, SETT__SHOT_CLUSTERED = 2, SETT__SHOT_EARLY = 4 };
static_assert(offsetof(sett__shot, cluster) == 64, "one line");
void sett__gpu_load(sett__shot *, const sett__gpu_kernel *, void *function, int device, const sett__launch_dims *, size_t params_len);
/* errno is left as found. */
sett_status sett__gpu_shoot(const sett__shot *, void *stream, void *params);

/* cuda/clock.c: microseconds of each iteration by events. once issues an iteration's work on the stream that it is given; graph:
 * it is called once, captured, and replayed on a stream of its own. Nothing is in flight when it returns. */
typedef struct sett__timing {
    bool graph;
    int warmup, iterations;
    sett_status (*once)(void *user, sett_stream, sett_error *);
    void *user;
} sett__timing;
sett_status sett__cuda_time(sett__cuda *, sett_stream, const sett__timing *, double *us, sett_error *);
uint64_t sett__cuda_cache(const sett__cuda *, int device); /* bytes of its L2; 0: not known */
const char *sett__cuda_name(const sett__cuda *, int device); /* of a device that is there */

/* ---- sim/: the CPU engine --------------------------------------------------------------------- */
typedef struct sett__program sett__program; /* a tape decoded for the interpreter; immutable */
typedef struct sett__extent {
    const void *data; /* lowest address that the argument may touch */
    size_t bytes;
} sett__extent;
enum sett__halt_why { SETT__GO_ON, SETT__HALT_CANCELLED, SETT__HALT_CLOSED, SETT__HALT_LATE };
typedef struct sett__sim_launch {
    uint32_t grid[3], block[3];
    const void *params; /* the packed block */
    size_t params_len;
    const sett__extent *extent; /* one a sig.param (scalars: {0,0}) */
    int threads;        /* OS threads at most */
    uint32_t smem_more; /* bytes of shared memory behind the signature's */
    uint64_t most_rounds; /* of while loops, by one warp in a block: more are a fault; 0: 2^31 */
    int timeout_ms;     /* longer is a fault; 0: no limit */
    atomic_uint *halt;  /* set by any thread to what but SETT__GO_ON: the launch ends soon. NULL: nobody does */
    const char *name;   /* of the kernel, for reports */
    sett_print_fn print; /* NULL: stdout */
    void *user;
    void (*const *stand_in)(void); /* by sett__call */
} sett__sim_launch;
/* What a program calls in place of inline PTX, by index; NULL: past the last. */
typedef struct sett__call sett__call;
const sett__call *sett__program_call(const sett__program *, uint32_t index);
/* SETT_E_TARGET, SETT_E_DTYPE: why a call cannot be made by a function of these types (NULL: there is none); else SETT_OK. */
sett_status sett__call_check(const sett__program *, const sett__call *, const char *kernel, const char *types, sett_error *);
/* Its stand-in's name, of so many bytes; 0: none. */
const char *sett__call_name(const sett__call *, size_t *len);
/* The program keeps a pointer to the tape, which must outlive it. */
sett_status sett__program_make(const sett__tape *, sett__program **, sett_error *);
void sett__program_free(sett__program *);
/* The report of an assertion that failed: SETT_E_FAULT. operand: the bits of each. */
sett_status sett__claim_error(sett_error *, const sett__claim *, const uint64_t *operand, const uint32_t block[3],
    const uint32_t thread[3], const char *kernel);
/* Runs the whole grid before it returns. SETT_E_FAULT with a report that names the kernel's C line; SETT_E_CANCELLED, SETT_E_CLOSED
 * where it was ended so. */
sett_status sett__sim_run(const sett__program *, const sett__sim_launch *, sett_error *);

/* ---- cache/: entries on disk -------------------------------------------------------------------- */
typedef struct sett__digest { uint8_t b[32]; } sett__digest;
void sett__sha256(const void *, size_t, sett__digest *);
typedef struct sett__blob { const void *data; size_t len; } sett__blob;
/* What one entry holds; its form is in cache/entry.c. */
typedef struct sett__entry {
    sett__blob key_material, meta, cubin, ptx, notes; /* ptx and notes may be empty */
    void *owned; /* the file's bytes, when read; free with sett__entry_free */
} sett__entry;
/* All that decides the code; cache/key.c encodes it. */
typedef struct sett__key_parts {
    sett__blob tape;           /* canonical bytes */
    const char *target;        /* full suffix */
    int ptx_isa;               /* e.g. 80 */
    int opt_level;
    bool line_info;
} sett__key_parts;
sett_status sett__key_encode(const sett__key_parts *, void **material, size_t *len, sett__digest *key, sett_error *);
/* What decides two kernels' codes, a line each: "target: sm_80 | sm_90a" for a field that differs. snprintf-like; 0: no
 * difference; negative: one is no key material. */
int sett__key_compare(sett__blob a, sett__blob b, char *buf, size_t size);
typedef struct sett__os sett__os;     /* every call to the file system, replaced by tests: cache/cache.h */
typedef struct sett__auth sett__auth; /* secrets of a folder that several users write */
typedef struct sett__disk sett__disk; /* one folder; safe for many threads */
typedef struct sett__disk_options {
    const char *path;       /* absolute; made if missing (0700), unless it is a layer */
    sett_cache_trust trust;
    const sett__auth *auth; /* outlives the folder; with SETT_TRUST_MAC, else NULL */
    uint64_t cap;           /* bytes; 0: the default */
    bool layer_only;        /* only read */
    bool sealed;            /* the same, until sett__disk_seal(): of a sealed engine */
    const sett__os *os;     /* NULL: the C library's */
    sett__logger *log;      /* outlives the folder; or NULL */
} sett__disk_options;
/* Unusable or untrusted: SETT_E_IO with the reason. */
sett_status sett__disk_open(sett__disk **, const sett__disk_options *, sett_error *);
void sett__disk_close(sett__disk *);
/* SETT_E_NOT_CACHED on a miss, SETT_E_PARSE on any damaged or foreign entry (which is moved to quarantine and counted);
 * material NULL: by key alone. */
sett_status sett__disk_get(sett__disk *, const sett__digest *key, const sett__blob *material, sett__entry *, sett_error *);
/* temp, fdatasync, rename. Any failure is a status and a counter, never fatal. replace: also a sound entry. */
sett_status sett__disk_put(sett__disk *, const sett__digest *key, const sett__entry *, bool replace, sett_error *);
bool sett__disk_read_only(const sett__disk *); /* a warmed folder that we may not write: it serves, put fails */
void sett__disk_default_cap(sett__disk *);
/* Removes what was used longest ago until at most this many bytes are left, and what crashes left. */
sett_status sett__disk_trim(sett__disk *, uint64_t most, uint64_t *left, sett_error *);
/* The right to compile a key, among the processes that write the folder. */
enum { SETT__TURNS = 3 }; /* of a key: the first, and those of who has waited for the one before in vain */
typedef struct sett__ticket { /* of zeros before the first sett__disk_lock */
    sett__disk *disk; /* NULL: not held */
    off_t at;
    double waited_ms; /* by all calls that had a wait */
    int late;         /* turns that were waited for in vain */
} sett__ticket;
typedef enum sett__turn {
    SETT__TURN_NONE,    /* no lock can be had: compile without */
    SETT__TURN_AT_ONCE, /* held */
    SETT__TURN_WAITED,  /* held, after another process had it: look again */
    SETT__TURN_THERE,   /* not held: who had it has written an entry, which may be one for us */
    SETT__TURN_LATE,    /* held, and who had an earlier turn has not given it back: look again, then compile beside it */
    SETT__TURN_TIMEOUT, /* all turns are held for too long: compile without */
} sett__turn;
/* wait_ms: for each turn that is left, over all calls with one ticket; 0: one try. look: SETT__TURN_THERE as soon as the entry
 * has its name. */
sett__turn sett__disk_lock(sett__disk *, const sett__digest *key, double wait_ms, bool look, sett__ticket *);
void sett__disk_unlock(sett__ticket *); /* of a ticket that is not held: nothing */

void sett__hex_write(const uint8_t in[32], char digits[65]); /* NUL-ended */

/* layers.c: all the places that an engine reads entries from, and the one that it writes */
typedef struct sett__cache sett__cache;
typedef struct sett__cache_options {
    const char *layers;  /* folders and packs that are only read: absolute paths with ':' between; NULL, "": none */
    const char *folder;  /* the one that is written; NULL, "": none */
    const char *folder_why; /* it cannot be used, or there is none, for this reason; NULL: none is known */
    bool folder_named;   /* by the option or the environment */
    bool sealed, required; /* nothing is made or changed until sett__cache_seal(); see sett_engine_options.cache_required */
    const char *remote;  /* as sett_engine_options.cache_remote; NULL, "": none */
    bool remote_asked;   /* by the option: a malformed one is an error, and not left out */
    sett_cache_trust trust;
    const char *secret;  /* path, for SETT_TRUST_MAC */
    const char *signers; /* as in sett_engine_options, and well-formed */
    uint64_t cap;
    const sett__os *os;
    sett__logger *log;   /* each place that cannot be used, each entry that is refused; or NULL */
} sett__cache_options;
/* Public keys of 64 digits with ':' between: SETT_E_ARGUMENT where they are not. keys is malloc'ed; NULL: none. */
sett_status sett__signers_read(const char *text, uint8_t (**keys)[32], int *n, sett_error *);
/* SETT_E_MEMORY, SETT_E_ARGUMENT, with .required SETT_E_IO: what else cannot be used is left out, and sett__cache_layer tells why. */
sett_status sett__cache_open(sett__cache **, const sett__cache_options *, sett_error *);
#define SETT__SEALED "the engine is sealed, and writes nothing"
void sett__cache_seal(sett__cache *, bool sealed); /* unsealed: a folder that could not be used is tried again */
void sett__cache_close(sett__cache *);
/* What becomes of an entry that a layer has. It takes the entry. SETT_E_NOT_CACHED: not wanted, ask the next layer;
 * SETT_E_PARSE, SETT_E_LIMIT: of no use to anyone, out of the way with it, ask the next. */
typedef sett_status sett__cache_use(void *user, sett__entry *, int layer, sett_error *);
/* Layer by layer of this machine until one is used. SETT_E_NOT_CACHED: none, and why, of each layer. */
sett_status sett__cache_find(sett__cache *, const sett__digest *key, const sett__blob *material, sett__cache_use *,
    void *user, sett_error *);
/* The same of the folder that is written, alone: by who has waited for a key's turn, or got it at once, as only that folder can
 * hold now what it did not. Such a miss is the one that was counted before. */
sett_status sett__cache_find_again(sett__cache *, const sett__digest *key, const sett__blob *material, sett__cache_use *,
    void *user, sett_error *);
/* The same of the remote alone, if there is one; any failure of it is SETT_E_NOT_CACHED, and told to the log. */
sett_status sett__cache_fetch(sett__cache *, const sett__digest *key, const sett__blob *material, sett__cache_use *,
    void *user, sett_error *);
bool sett__cache_sends(const sett__cache *); /* there is a remote, and entries are sent to it */
void sett__cache_send(sett__cache *, const sett__digest *key, const sett__entry *); /* only then */
sett_status sett__cache_probe(sett__cache *, sett_error *); /* does the remote answer? SETT_E_NOT_CACHED: there is none */
/* Every entry of every layer, verified: why is NULL for those that are sound. Anything but SETT_OK ends the walk. */
typedef sett_status sett__cache_visit(void *user, int layer, const sett__digest *key, sett__blob meta,
    sett__blob key_material, uint64_t bytes, int64_t used, const char *why);
sett_status sett__cache_walk(sett__cache *, sett__cache_visit *, void *user);
/* What the layer of this path gave is of no use after all: out of the way with it, where it can be. */
void sett__cache_refuse(sett__cache *, const char *layer, const sett__digest *key, const char *why);
sett__disk *sett__cache_folder(const sett__cache *); /* that entries are written to; NULL: none */
int sett__cache_layers(const sett__cache *); /* usable or not, in the order they are asked; a remote is the last */
int sett__cache_local(const sett__cache *);  /* without it; the folder is the last */
sett_status sett__cache_layer(const sett__cache *, int index, sett_cache_layer_info *);
/* pack_write.c: cache.h's calls behind their checks. entries: how many. */
sett_status sett__pack_write(sett__cache *, const char *path, const sett_pack_options *, uint64_t *entries, sett_error *);
sett_status sett__pack_check(const sett__cache *, const char *path, sett_error *); /* can one be written there? no link, FIFO, device is replaced */
sett_status sett__unpack(sett__cache *, uint64_t *entries, sett_error *);
sett_status sett__public_key(const char *secret_path, uint8_t key[32], sett_error *);
void sett__cache_totals(const sett__cache *, sett_stats *); /* adds what the layers counted */

void sett__entry_free(sett__entry *);
/* Pure functions, fuzzed and tested alone: whole file to entry (its blobs point into the file), and back. auth: what
 * is read must be, and what is written is, authenticated. */
sett_status sett__entry_decode(const void *file, size_t len, const sett__digest *key, const sett__auth *auth, sett__entry *, sett_error *);
/* The same rules without the two digests, for fuzzers, to which a digest is a wall. */
sett_status sett__entry_parse(const void *file, size_t len, const sett__digest *key, const sett__auth *auth, sett__entry *, sett_error *);
sett_status sett__entry_encode(const sett__digest *key, const sett__entry *, const sett__auth *auth, void **file,
    size_t *len, sett_error *);
/* One block that owns copies of all blobs. */
sett_status sett__entry_copy(const sett__entry *from, sett__entry *to, sett_error *);
/* Every offset in a cubin lies inside it: the driver takes no length. */
sett_status sett__elf_check(const void *cubin, size_t len, sett_error *);
/* cache_dir, cache_layers and cache_remote as in sett_engine_options; the first to an absolute path, false: there is none. */
const char *sett__cache_layer_paths(const char *cache_layers);
const char *sett__cache_remote_text(const char *cache_remote);
bool sett__cache_root(const char *cache_dir, char *path, size_t size);

/* ---- meta.c: what a launch must know, beside the code ---------------------------------------------- */
enum { SETT__MAX_ARGS = 256 };
typedef struct sett__meta {
    sett__sig sig;
    const char *name, *target, *assembler, *compiler; /* who made the cubin and its PTX; "" of a CPU kernel */
    int min_driver, registers, spill_stores, spill_loads, stack;
    uint16_t ptx_isa;
    uint32_t params_len;
} sett__meta;
sett_status sett__meta_write(const sett__meta *, void **bytes, size_t *len, sett_error *);
/* The packed block's bytes, and whether a kernel of this signature can be launched at all: at most SETT__MAX_ARGS
 * parameters and symbols, SETT__PARAM_BYTES bytes. */
uint32_t sett__params_len(const sett__sig *);
sett_status sett__meta_check(const sett__meta *, sett_error *);
sett_status sett__meta_read(sett__meta *, sett__arena *, const void *bytes, size_t len, sett_error *);
/* What the assembler said of the code: each kernel's own, where else META is that of many kernels. */
typedef struct sett__said { int registers, spill_stores, spill_loads, stack; } sett__said;
sett__said sett__meta_said(sett__blob meta); /* of META that can be read */
/* What META and its layer are known by, but for that: of META that can be read, and the one address of the layer's path. */
enum { SETT__META_ID = 16 };
void sett__meta_id(sett__blob meta, const char *layer, uint8_t id[SETT__META_ID]);

/* ---- bind.c: arguments to symbols, checks, packed block and dims ---------------------------------------- */
typedef struct sett__bound {
    sett__launch_dims dims;
    bool empty; /* a zero grid: nothing to launch */
    uint32_t params_len;
    alignas(16) unsigned char params[SETT__PARAM_BYTES];
} sett__bound;
/* Arguments 0 to n_param - 1 are the parameters in order of declaration. After them may stand values for the
 * symbols, in order: entry n_param + i is symbol i, of kind SETT_BIND_INT, or of kind 0 where the buffers give it. A
 * symbol takes the value of the first top-level extent that is that symbol alone, else of the first such stride,
 * else of its entry.
 * extents: NULL, or one a param for the CPU engine. name: the kernel's, for messages. Fails with SETT_E_BIND,
 * SETT_E_DTYPE, SETT_E_RANK, SETT_E_SHAPE, SETT_E_DIVIDE, SETT_E_ALIGN, SETT_E_RANGE or SETT_E_LIMIT. */
sett_status sett__bind(const sett__sig *, const char *name, int n, const sett_bind *, bool gpu, sett__bound *,
    sett__extent *extents, sett_error *);

/* Of grid, block, cluster: x, y, z. */
enum { SETT__BLOCK_THREADS = 1024, SETT__SMEM_MAX = 227 * 1024 /* of any target so far; the compile has checked the kernel's own */ };
typedef struct sett__dim_rule {
    const char *what;
    int64_t least, most[3];
} sett__dim_rule;
extern const sett__dim_rule sett__dim_rules[3];
bool sett__int_fits(sett_dtype, int64_t); /* does a scalar of this integer type take it? */

/* ---- plan.c: the same for a GPU's kernel, where all is as usual --------------------------------------------- */
typedef struct sett__plan sett__plan;
/* NULL: not of a kind that can be planned, or no memory. It can be copied to wherever words may lie, and all of the signature but
 * the names is in it: texts by their addresses. */
const sett__plan *sett__plan_make(sett__arena *, const sett__sig *);
size_t sett__plan_bytes(const sett__plan *);
/* malloc'ed, without names; it binds as the one that the plan was made of. NULL: no memory. */
sett__sig *sett__plan_sig(const sett__plan *);
uint32_t sett__plan_struct(const sett__plan *, size_t arg); /* bytes of a parameter that is a struct; 0: it is none */
/* True: the arguments are right, and *out is what sett__bind would make of them for a GPU; nothing is empty. False: ask
 * sett__bind. */
bool sett__plan_follow(const sett__plan *, int n, const sett_bind *, sett__bound *);

#include "on_cpu.h"

/* ---- launch.c, call.c: running ----------------------------------------------------------------------------- */
/* One launch of a CPU kernel that was bound; returns when it has run. handle: of its stream. */
sett_status sett__launch_cpu(const sett_kernel *, void *handle, const sett__launch_dims *, const void *params, size_t params_len,
    const sett__extent *, sett_error *);
/* sett__bind of a kernel: by its plan, if it has one. */
sett_status sett__bind_kernel(const sett_kernel *, int n, const sett_bind *, sett__bound *, sett__extent *, sett_error *);
/* What every launch asks first, in a few loads when all is well: the engine lives, the kernel can run there.
 * Resolves SETT_DEFAULT_DEVICE. */
sett_status sett__launch_check(const sett_kernel *, int *device, sett_error *);

/* ---- compile.c: what it has beside its public calls -------------------------------------------------------- */
/* As sett_key, of a tape. */
sett_status sett__key_of_tape(sett_engine *, const void *tape, size_t len, const sett_compile_options *or_null,
    sett__digest *key, sett_error *);
sett_asserts sett__environment_asserts(void); /* DEFAULT: it says neither */

/* ---- cache_info.c: what is in the cache, for people: no prototypes, all of it is public ------------------- */

/* ---- meta_shared.c: what kernels share ---------------------------------------------------------------------------- */
/* What many kernels of an engine have in common, kept once. */
typedef struct sett__maker {
    const char *target, *assembler, *compiler, *layer; /* assembler: of the cubin; compiler: of its PTX. "" of a CPU kernel */
    const char *names; /* of parameters, then of symbols, each with its zero */
    uint64_t min_driver;
} sett__maker;
/* What kernels of equal META from one layer share: what META says but for what the assembler said of the code. Of its signature
 * there is the plan of launches, right behind; who needs a sett__sig has it made of that, once for all. */
typedef struct sett__common {
    uint8_t id[SETT__META_ID];
    uint32_t refs;            /* under the lock of the engine's commons */
    bool shared;              /* it is in their tree */
    bool early, more, claims; /* of the signature: early, smem_more, n_claim */
    uint16_t n_param, n_sym;  /* n_sym: those that arguments give */
    uint16_t params_len, block[3]; /* block: 0 what a launch says */
    bool planned;             /* else bind.c alone, and sig is there */
    uint32_t smem;
    const char *name;
    const sett__maker *by;
    _Atomic(const sett__sig *) sig; /* NULL: nobody has asked */
} sett__common;
static inline const sett__plan *sett__common_plan(const sett__common *c) /* NULL: bind.c alone */
{
    return c->planned ? (const void *)(c + 1) : NULL;
}
void sett__common_facts(sett__common *, const sett__sig *); /* what can be said without it */
size_t sett__names_put(const sett__sig *, char *to);          /* bytes; to NULL: counted alone */
/* Of any kernel; made by who asks first, and kept. NULL: SETT_E_MEMORY. */
const sett__sig *sett__sig_of(const sett_kernel *, sett_error *);
typedef struct sett__commons {
    pthread_mutex_t lock;
    void *tree, *texts, *names, *makers; /* of tsearch() */
} sett__commons;
/* Of META's bytes, of a kernel from this layer. What is each kernel's own in its meta is of whoever asked first. */
sett_status sett__common_get(sett__commons *, sett__blob meta, const char *layer, sett__common **, sett_error *);
void sett__common_drop(sett__commons *, sett__common *); /* or NULL */
const char *sett__commons_text(sett__commons *, sett__blob); /* the one copy of it, which lives as long; NULL: no memory */
void sett__commons_free(sett__commons *); /* all were dropped */

/* ---- heads.c: kernels' handles, side by side ---------------------------------------------------------------- */
/* So that one word names a kernel, and a million of them lie in few pages. None moves; a chunk has as many places as all
 * before. Where in a chunk a handle lies, its digest says: whoever looks for a digest can ask for the lines where its handle
 * likely is before it knows. NEAR: places of a chunk, side by side, that are likely; AHEAD: chunks, the newest. */
enum { SETT__HEADS_FIRST = 64, SETT__HEAD_BITS = 26, SETT__HEAD_CHUNKS = SETT__HEAD_BITS - 5, SETT__HEADS_NEAR = 2, SETT__HEADS_AHEAD = 4 };
typedef struct sett__heads {
    pthread_mutex_t lock;
    atomic_uint chunks;
    sett_kernel *chunk[SETT__HEAD_CHUNKS]; /* those are set before they are counted */
    uint32_t used[SETT__HEAD_CHUNKS];
} sett__heads;
/* Zeros but for the gate, which is NULL in places that are free; NULL: no memory. */
sett_kernel *sett__head_take(sett__heads *, const sett__digest *, const atomic_uint *gate);
void sett__head_give(sett__heads *, sett_kernel *);
uint32_t sett__head_index(sett__heads *, const sett_kernel *);
static inline sett_kernel *sett__head_at(const sett__heads *, uint32_t i);
static inline void sett__heads_expect(const sett__heads *, const sett__digest *); /* brings those lines nearer */
void sett__heads_free(sett__heads *); /* none is in use */

/* ---- engine.c: the engine; kernels keep it alive -------------------------------------------------------- */
typedef struct sett__workers sett__workers; /* worker.c */
typedef struct sett__kernels sett__kernels; /* store.c */
struct sett_engine {
    atomic_uint refs;                  /* the user's, each kernel's, each call's that is under way */
    atomic_bool closed, sealed;
    atomic_uint *gate;                 /* sett__gate: in a page that a fork wipes, or own_gate */
    atomic_uint own_gate;
    pid_t pid;
    sett_engine_options opt;           /* its strings are owned */
    sett__cuda *cuda;                  /* NULL: no driver or no GPU; lives until the last kernel is gone */
    sett__asm *assembler;
    sett__cache *cache;                /* NULL once closed */
    sett__workers *workers;            /* plug-in and compiling threads; NULL once closed */
    sett__heads heads;                 /* of its kernels, which keep the engine */
    sett__commons commons;
    sett__kernels *kernels;            /* memory map, memo, compiles under way; NULL once closed */
    sett__logger log;
    sett__blocks blocks;
    sett__stand_ins stand_ins;
    sett__runnings runnings;
    _Atomic(sett_build *) idle_build;  /* memory to record the next body in, or NULL */
    _Atomic(uint64_t *) identity_key;  /* identity.h; malloc'ed; NULL: nothing was recorded yet */
    sett_asserts asserts;              /* as $SETT_ASSERTS said; DEFAULT: nothing */
    unsigned dump;                     /* sett__dump_kind's that are wanted */
    char dump_to[3800];                /* a folder */
    sett__counters count;              /* between what hits do not read: each of them writes here */
    const char *provoke;               /* tests: handed to the plug-in */
    char no_cuda[256];                 /* why */
    sett__stripe stripe[1 << SETT__STRIPE_BITS];
};
/* The calling thread's. Threads' ids lie at equal distances, which the golden ratio spreads: stacks of 8 MiB and a
 * page for most. */
static inline sett__stripe *sett__stripe_of(sett_engine *e)
{
    return &e->stripe[((uint64_t)(uintptr_t)pthread_self() >> 12) * UINT64_C(0x9E3779B97F4A7C15) >> (64 - SETT__STRIPE_BITS)];
}
static inline sett__logger *sett__logger_of(const sett_engine *e)
{
    return (sett__logger *)(uintptr_t)&e->log;
}

/* ---- dump.c: $SETT_DUMP --------------------------------------------------------------------------------- */
typedef enum sett__dump_kind { SETT__DUMP_TAPE = 1, SETT__DUMP_LLVM = 2, SETT__DUMP_PTX = 4, SETT__DUMP_CUBIN = 8 } sett__dump_kind;
void sett__dump_open(sett_engine *); /* reads it */
/* To FOLDER/NAME-KEY.kind, if it is wanted and there is something. */
void sett__dump_write(const sett_engine *, sett__dump_kind, const char *name, const sett__digest *key, const void *, size_t);
void sett__dump_tape(const sett_engine *, const char *name, const sett__digest *key, const sett__tape *);

bool sett__same_process(const sett_engine *); /* asks the kernel */
/* Whether an engine's kernels may be launched: every launch asks, by one load. */
enum { SETT__GATE_FORKED, SETT__GATE_OPEN, SETT__GATE_CLOSED, SETT__GATE_ASK /* no page that a fork wipes: compare the pid */ };
static inline bool sett__gate_open(const atomic_uint *gate) /* false: maybe */
{
    return atomic_load_explicit(gate, memory_order_relaxed) == SETT__GATE_OPEN;
}
static inline bool sett__engine_live(const sett_engine *e)
{
    return sett__gate_open(e->gate) ||
           (atomic_load_explicit(e->gate, memory_order_relaxed) == SETT__GATE_ASK && sett__same_process(e));
}
/* SETT_E_CLOSED, SETT_E_FORKED, or OK. */
sett_status sett__engine_check(const sett_engine *, sett_error *);
sett_engine *sett__engine_retain(sett_engine *);
void sett__engine_release(sett_engine *);
/* SETT_DEFAULT_DEVICE resolved; false and SETT_E_NO_DEVICE: there is none of this number. */
bool sett__device(const sett_engine *, int *device, sett_error *);
double sett__now_ms(void);
/* Milliseconds: as asked, else as this variable of the environment says, else usual. One that is no number above 0 counts as
 * not given. */
int sett__milliseconds(int asked, const char *variable, int usual);
/* Of a caller's size-first struct: one that was set, and that no struct of any version passes. */
static inline bool sett__known_size(size_t size)
{
    return size >= sizeof size && size <= 4096;
}
/* Copies a caller's size-first struct of an older or newer header: what it lacks is zero, what we do not know must
 * be zero. src NULL: all zero. */
sett_status sett__options(void *dst, size_t size, const void *src, const char *what, sett_error *);

/* ---- kernel.c ---------------------------------------------------------------------------------------------- */
/* What a hit in memory and a launch read of a kernel: one line. */
struct sett_kernel {
    alignas(64) sett__digest slot; /* in the memory map: of a CPU kernel with call sites, which its reports name */
    const atomic_uint *gate; /* the engine's */
    const sett__plan *plan;  /* of a GPU's launches; NULL: bind.c alone */
    struct sett__rest *rest; /* NULL only while it is made */
    atomic_uint refs;
    bool cpu, ptx_only;
    bool on_gpu;             /* there is a driver to load it: sett__kernel_gpu */
    atomic_bool refused;     /* the driver would not load its code: the engine's maps pass it over */
};
static_assert(sizeof(struct sett_kernel) == 64, "one line");

/* What a kernel of the CPU has beside. */
typedef struct sett__cpu_kernel {
    sett__digest key;       /* public: without call sites unless line_info */
    sett__tape *tape;       /* program points into it */
    sett__program *program;
    char *report;           /* malloc'ed; NULL: none */
    sett__arena arena;      /* of its name */
    sett__common common;    /* of its tape: not shared, nor what is `by` */
    sett__maker by;
} sett__cpu_kernel;

/* The rest of a kernel, in one block with what loads it on a GPU and its cubin behind. */
typedef struct sett__rest {
    sett_engine *engine;    /* counted */
    sett__common *common;
    sett__cpu_kernel *cpu;  /* NULL: a GPU's */
    sett__entry *made;      /* of who compiled it: PTX and key material, which no cache has to give; or NULL */
    const char *report;
    atomic_uint_fast64_t load_ns; /* of the first prepare */
    float record_ms, codegen_ms, assemble_ms;
    uint32_t cubin_len;     /* 0: none */
    sett__said said;
    atomic_uint calls;      /* prepared ones that hold its code */
    sett_origin origin;
} sett__rest;
static inline const sett__common *sett__common_of(const sett_kernel *k)
{
    return k->rest->common;
}
static inline sett__gpu_kernel *sett__kernel_gpu(const sett_kernel *k) /* NULL: no driver, ptx_only, or a CPU's */
{
    return k->on_gpu ? (sett__gpu_kernel *)(void *)(k->rest + 1) : NULL;
}
static inline const void *sett__kernel_cubin(const sett_kernel *k)
{
    return k->rest->cubin_len ? (const char *)(k->rest + 1) + (k->rest->engine->cuda ? SETT__GPU_KERNEL_BYTES : 0) : NULL;
}
static inline const sett__digest *sett__kernel_key(const sett_kernel *k) /* public */
{
    return k->cpu ? &k->rest->cpu->key : &k->slot;
}
/* The chunk that an index is in, and its place there. */
static inline unsigned sett__head_chunk(uint32_t i, uint32_t *place)
{
    unsigned top = 31 - (unsigned)__builtin_clz(i | (SETT__HEADS_FIRST - 1));
    *place = i - ((1u << top) & ~(SETT__HEADS_FIRST - 1u));
    return top - 5;
}
static inline sett_kernel *sett__head_at(const sett__heads *h, uint32_t i)
{
    uint32_t place;
    unsigned c = sett__head_chunk(i, &place);
    return h->chunk[c] + place;
}
static inline size_t sett__heads_in(unsigned chunk)
{
    return (size_t)SETT__HEADS_FIRST << (chunk ? chunk - 1 : 0);
}
/* Where the digest would have its handle. The first eight bytes say where its place is in a map. */
static inline size_t sett__head_home(unsigned chunk, const sett__digest *d)
{
    uint64_t h;
    memcpy(&h, d->b + 8, sizeof h);
    return h & (sett__heads_in(chunk) - 1);
}
static inline void sett__heads_expect(const sett__heads *h, const sett__digest *d)
{
    unsigned n = atomic_load_explicit(&h->chunks, memory_order_acquire);
    for (unsigned c = n; c-- && c + SETT__HEADS_AHEAD >= n;)
        for (size_t i = 0; i < SETT__HEADS_NEAR; i++)
            __builtin_prefetch(h->chunk[c] + (sett__head_home(c, d) ^ i));
}

/* A device that this kernel can run on: SETT_OK; else SETT_E_NO_DEVICE, SETT_E_TARGET, SETT_E_ARGUMENT. */
sett_status sett__kernel_device(const sett_kernel *, int device, sett_error *);
/* Takes the entry (also on failure) / the tape (also on failure). layer: where it is from; "" */
sett_status sett__kernel_of_entry(sett_engine *, const sett__digest *key, sett__entry *, sett_origin, const char *layer,
    sett_kernel **, sett_error *);
sett_status sett__kernel_of_tape(sett_engine *, const sett__digest *key, const sett__digest *slot, const char *name,
    sett__tape *, sett_kernel **, sett_error *);

/* What a failed try to load it, or to launch it, gave. Where the driver will not have the code and it is the cache's: the
 * entry goes, and the engine's maps forget the kernel, once; so the next compile makes it anew. */
sett_status sett__kernel_not_loaded(sett_kernel *, sett_status, sett_error *);

/* ---- store.c: kernels by key, the memo, compiles under way ------------------------------------------------- */
/* One compile of one key; whoever asks for it meanwhile waits for it. */
typedef struct sett__flight sett__flight;
sett_status sett__kernels_open(sett__kernels **, sett__heads *, sett_error *);
void sett__kernels_close(sett__kernels *); /* releases every kernel that it holds */
/* A kernel of the slot (retained), or a flight: *lead is set if the caller must fly it and then land it. */
typedef struct sett__found { sett_kernel *kernel; sett__flight *flight; bool lead; } sett__found;
sett_status sett__kernels_find(sett__kernels *, const sett__digest *slot, bool ptx_only, sett__found *, sett_error *);
uint64_t sett__kernels_held(sett__kernels *); /* how many the map has */
sett_kernel *sett__kernels_peek(sett__kernels *, const sett__digest *key); /* by public key; retained; or NULL */
/* The maps pass it over from now on, and no entry of its key is used again. False: that is so already. */
bool sett__kernels_refuse(sett_kernel *);
bool sett__kernels_refused(sett__kernels *, const sett__digest *key);
/* For all waiters, and puts the kernel in the map, if there is one. Where its slot has another, which was read and made by
 * flights of different names, all get that one, and this is released. Takes the flight, not the reference to the kernel. */
void sett__kernels_land(sett__kernels *, sett__flight *, sett_kernel **, sett_status, const sett_error *);
/* Once for each find without lead. */
sett_status sett__kernels_wait(sett__kernels *, sett__flight *, sett_kernel **, sett_error *);
/* What a caller asked with, as it asked: options that were accepted once are accepted again. */
typedef struct sett__memo_head {
    uint64_t body, options, target;
} sett__memo_head;
typedef struct sett__memo_key {
    sett__memo_head head;
    const void *user;
    size_t user_size;
} sett__memo_key;
uint64_t sett__memo_hash(const sett__memo_key *);
sett_kernel *sett__memo_get(sett__kernels *, const sett__memo_key *);             /* retained; or NULL */
void sett__memo_put(sett__kernels *, const sett__memo_key *, sett_kernel *); /* failure to remember is no error */

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

/* ---- plugin.c: finding and opening what lies beside libsett.so --------------------------------------------- */
enum { SETT__SHARED_PATH = 4096 };
typedef struct sett__shared { /* a shared object of ours */
    const char *what, *file, *env, *symbol; /* env: names its path where it does not lie beside */
} sett__shared;
/* Its symbol; path: what was tried. NULL: `status` with the reason. asked: this path and no other; NULL, "": looked for. */
void *sett__shared_symbol(
    const sett__shared *, const char *asked, char path[SETT__SHARED_PATH], sett_status status, sett_error *);
typedef struct sett__plugin {
    const sett__ptx_plugin *api;  /* NULL: not opened, or unfit */
    char path[SETT__SHARED_PATH]; /* what was tried */
} sett__plugin;
/* A file of this name in the folder of the object that this code is in: libsett.so, or a program that has it linked in. */
bool sett__beside(const char *name, char *path, size_t size);
/* asked: sett_engine_options.plugin. SETT_E_NO_COMPILER with the reason. */
sett_status sett__plugin_open(sett__plugin *, const char *asked, sett_error *);

/* ---- spare.c: memory that a compiling thread keeps at hand ------------------------------------------------- */
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

/* ---- worker.c: the threads that compile -------------------------------------------------------- */
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

/* ---- metrics.c: what is counted, for monitoring: sett__count_ms above; the rest is public ------------------------ */

#endif
