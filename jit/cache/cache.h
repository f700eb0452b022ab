/* SPDX-License-Identifier: Apache-2.0 */
/* The cache on disk: keys, entries, layers, packs, locks. */
#ifndef SETT_JIT_CACHE_FACE_H
#define SETT_JIT_CACHE_FACE_H
#include "jit/support/support.h"

/* ---- cache/: entries on disk -------------------------------------------------------------------- */
/* The contents of one entry; entry.c has its format. */
typedef struct sett__entry {
    sett__blob key_material, meta, cubin, ptx, notes; /* ptx and notes may be empty */
    void *owned; /* the file's bytes, if it was read; sett__entry_free frees them */
} sett__entry;
/* All that decides a kernel's code; key.c encodes it. */
typedef struct sett__key_parts {
    sett__blob tape;           /* canonical bytes */
    const char *target;        /* full suffix */
    int ptx_isa;               /* e.g. 80 */
    int opt_level;
    bool line_info;
} sett__key_parts;
sett_status sett__key_encode(const sett__key_parts *, void **material, size_t *len, sett__digest *key, sett_error *);
/* Compares two kernels' key material: a line for each field that differs, "target: sm_80 | sm_90a". snprintf-like; 0: none
 * differs; negative: one of them is no key material. */
int sett__key_compare(sett__blob a, sett__blob b, char *buf, size_t size);
typedef struct sett__os sett__os;     /* every call to the file system, which tests replace: os.h */
typedef struct sett__auth sett__auth; /* secrets of a folder that several users write */
typedef struct sett__disk sett__disk; /* one folder; safe for many threads */
typedef struct sett__disk_options {
    const char *path;       /* absolute; made if missing (0700), unless it is a layer */
    sett_cache_trust trust;
    const sett__auth *auth; /* with SETT_TRUST_MAC, else NULL; outlives the folder */
    uint64_t cap;           /* bytes; 0: the default */
    bool layer_only;        /* never written */
    bool sealed;            /* not written until sett__disk_seal(): the engine is sealed */
    const sett__os *os;     /* NULL: the C library's */
    sett__logger *log;      /* may be NULL; outlives the folder */
} sett__disk_options;
/* SETT_E_IO, with the reason: the folder is unusable or not trusted. */
sett_status sett__disk_open(sett__disk **, const sett__disk_options *, sett_error *);
void sett__disk_close(sett__disk *);
/* Reads an entry. SETT_E_NOT_CACHED: a miss. SETT_E_PARSE: the entry is damaged or foreign, was moved to quarantine and
 * counted. material NULL: look by key alone. */
sett_status sett__disk_get(sett__disk *, const sett__digest *key, const sett__blob *material, sett__entry *, sett_error *);
/* Writes an entry: temporary file, fdatasync, rename. A failure is a status and a counter, never fatal. replace: even if a
 * sound entry is there. */
sett_status sett__disk_put(sett__disk *, const sett__digest *key, const sett__entry *, bool replace, sett_error *);
bool sett__disk_read_only(const sett__disk *); /* a folder that this process may only read: put fails */
void sett__disk_default_cap(sett__disk *);
/* Removes the least recently used entries until at most this many bytes are left, and files that crashed writers left. */
sett_status sett__disk_trim(sett__disk *, uint64_t most, uint64_t *left, sett_error *);
/* Turns: the right to compile a key, among all processes that write the folder. */
enum { SETT__TURNS = 3 }; /* turns of a key: the first, and two for processes that waited for an earlier one in vain */
typedef struct sett__ticket { /* zeros before the first sett__disk_lock */
    sett__disk *disk; /* NULL: no turn is held */
    off_t at;
    double waited_ms; /* by all calls with this ticket */
    int late;         /* turns that it waited for in vain */
} sett__ticket;
typedef enum sett__turn {
    SETT__TURN_NONE,    /* no lock is possible: compile without a turn */
    SETT__TURN_AT_ONCE, /* held, without a wait */
    SETT__TURN_WAITED,  /* held, after another process gave it back: look again */
    SETT__TURN_THERE,   /* not held: the holder has written an entry, which may be the wanted one */
    SETT__TURN_LATE,    /* held, but the holder of an earlier turn has not given it back: look again, then compile too */
    SETT__TURN_TIMEOUT, /* all turns have been held for too long: compile without one */
} sett__turn;
/* wait_ms: for each turn that is left, over all calls with one ticket; 0: one try. look: return SETT__TURN_THERE as soon as a
 * file of the entry's name is there. */
sett__turn sett__disk_lock(sett__disk *, const sett__digest *key, double wait_ms, bool look, sett__ticket *);
void sett__disk_unlock(sett__ticket *); /* nothing, if no turn is held */


/* alias.c: an alias is the digest of what a caller asks with, and names the key that this was when it was recorded. */
typedef struct sett__alias {
    sett__digest alias, key;
} sett__alias;

/* layers.c: all layers that an engine reads, and the folder that it writes */
typedef struct sett__cache sett__cache;
typedef struct sett__cache_options {
    const char *layers;  /* folders and packs that are only read: absolute paths with ':' between; NULL, "": none */
    const char *folder;  /* the folder that is written; NULL, "": none */
    const char *folder_why; /* why it cannot be used, or why there is none; NULL: unknown */
    bool folder_named;   /* the option or the environment names it */
    bool sealed, required; /* sealed: nothing is made or changed until sett__cache_seal(); required: as
                            * sett_engine_options.cache_required */
    const char *remote;  /* as sett_engine_options.cache_remote; NULL, "": none */
    bool remote_asked;   /* the option names it: a malformed one is an error, and not ignored */
    sett_cache_trust trust;
    const char *secret;  /* path, for SETT_TRUST_MAC */
    const char *signers; /* as in sett_engine_options; already checked */
    uint64_t cap;
    const sett__os *os;
    sett__logger *log;   /* gets each layer that cannot be used, and each entry that is refused; may be NULL */
} sett__cache_options;
/* Reads public keys, 64 digits each with ':' between. SETT_E_ARGUMENT: they are malformed. *keys is malloc'ed; NULL: none. */
sett_status sett__signers_read(const char *text, uint8_t (**keys)[32], int *n, sett_error *);
/* SETT_E_MEMORY, SETT_E_ARGUMENT; with .required SETT_E_IO. Any other layer that cannot be used is left out, and
 * sett__cache_layer tells why. */
sett_status sett__cache_open(sett__cache **, const sett__cache_options *, sett_error *);
#define SETT__SEALED "the engine is sealed, and writes nothing"
void sett__cache_seal(sett__cache *, bool sealed); /* unsealing tries again a folder that could not be used */
void sett__cache_close(sett__cache *);
/* Decides about an entry that a layer has, and takes it. SETT_E_NOT_CACHED: not wanted, ask the next layer. SETT_E_PARSE,
 * SETT_E_LIMIT: of no use to anyone; move it out of the way, then ask the next layer. */
typedef sett_status sett__cache_use(void *user, sett__entry *, int layer, sett_error *);
/* Asks the layers of this machine in order until `use` accepts an entry. SETT_E_NOT_CACHED, with the reason of each layer: none
 * did. */
sett_status sett__cache_find(sett__cache *, const sett__digest *key, const sett__blob *material, sett__cache_use *,
    void *user, sett_error *);
/* The same, of the folder that is written only. Callers have the turn of the key, after a wait or at once: only that folder can
 * have changed since their first look. Its misses do not count again. */
sett_status sett__cache_find_again(sett__cache *, const sett__digest *key, const sett__blob *material, sett__cache_use *,
    void *user, sett_error *);
/* The same, of the server only, if there is one. Any failure of it is SETT_E_NOT_CACHED, and a line in the log. */
sett_status sett__cache_fetch(sett__cache *, const sett__digest *key, const sett__blob *material, sett__cache_use *,
    void *user, sett_error *);
/* The key of an alias, from the first layer of this machine that has it. */
bool sett__cache_ask(sett__cache *, const sett__digest *alias, sett__digest *key);
void sett__cache_alias(sett__cache *, const sett__alias *); /* into the folder that is written; nothing, if it cannot be */
bool sett__cache_sends(const sett__cache *); /* there is a server, and entries are sent to it */
void sett__cache_send(sett__cache *, const sett__digest *key, const sett__entry *); /* only if sett__cache_sends */
sett_status sett__cache_probe(sett__cache *, sett_error *); /* does the server answer? SETT_E_NOT_CACHED: there is none */
/* Visits and verifies every entry of every layer. why: NULL for a sound entry. A visit that does not return SETT_OK ends the
 * walk. */
typedef sett_status sett__cache_visit(void *user, int layer, const sett__digest *key, sett__blob meta,
    sett__blob key_material, uint64_t bytes, int64_t used, const char *why);
sett_status sett__cache_walk(sett__cache *, sett__cache_visit *, void *user);
/* Moves an entry that turned out to be useless out of the way, if its layer (of this path) can be written. */
void sett__cache_refuse(sett__cache *, const char *layer, const sett__digest *key, const char *why);
sett__disk *sett__cache_folder(const sett__cache *); /* the folder that is written; NULL: none */
int sett__cache_layers(const sett__cache *); /* layers in use or not, in the order in which they are asked; a server is the
                                              * last */
int sett__cache_local(const sett__cache *);  /* the same without the server; the folder is the last */
sett_status sett__cache_layer(const sett__cache *, int index, sett_cache_layer_info *);
const char *sett__cache_nowhere(const sett__cache *); /* of one without layers: why there are none */
/* pack_write.c: what <sett/cache.h> calls after its checks. entries: how many. */
sett_status sett__pack_write(sett__cache *, const char *path, const sett_pack_options *, uint64_t *entries, sett_error *);
/* The same with these aliases, of which those of other keys are left out, in place of all that the layers have. */
sett_status sett__pack_write_with(sett__cache *, const char *path, const sett_pack_options *, const sett__alias *, size_t n_aliases,
    uint64_t *entries, sett_error *);
/* Can a pack be written there? Links, FIFOs and devices are not replaced. */
sett_status sett__pack_check(const sett__cache *, const char *path, sett_error *);
sett_status sett__unpack(sett__cache *, uint64_t *entries, sett_error *);
sett_status sett__public_key(const char *secret_path, uint8_t key[32], sett_error *);
void sett__cache_totals(const sett__cache *, sett_stats *); /* adds the layers' counts */

void sett__entry_free(sett__entry *);
/* Pure functions, which are fuzzed alone: a file's bytes to an entry, whose blobs point into them, and back. auth: entries are
 * authenticated when written, and must be when read. */
sett_status sett__entry_decode(const void *file, size_t len, const sett__digest *key, const sett__auth *auth, sett__entry *, sett_error *);
/* Decodes by the same rules, but ignores the two digests, which a fuzzer cannot get right. */
sett_status sett__entry_parse(const void *file, size_t len, const sett__digest *key, const sett__auth *auth, sett__entry *, sett_error *);
sett_status sett__entry_encode(const sett__digest *key, const sett__entry *, const sett__auth *auth, void **file,
    size_t *len, sett_error *);
/* Copies all blobs into one block. */
sett_status sett__entry_copy(const sett__entry *from, sett__entry *to, sett_error *);
/* Do all offsets in a cubin lie inside of it? The driver takes no length, so nobody else checks. */
sett_status sett__elf_check(const void *cubin, size_t len, sett_error *);
/* The layers, the server's text and the folder's absolute path, from sett_engine_options or the environment. False: there is no
 * folder. */
const char *sett__cache_layer_paths(const char *cache_layers);
const char *sett__cache_remote_text(const char *cache_remote);
bool sett__cache_root(const char *cache_dir, char *path, size_t size);

#endif
