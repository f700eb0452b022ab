/* SPDX-License-Identifier: Apache-2.0 */
/* The cache on disk: keys, entries, layers, packs, locks. */
#ifndef SETT_JIT_CACHE_FACE_H
#define SETT_JIT_CACHE_FACE_H
#include "jit/support/support.h"

/* ---- cache/: entries on disk -------------------------------------------------------------------- */
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
/* pack_write.c: the calls of <sett/cache.h> behind their checks. entries: how many. */
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

#endif
