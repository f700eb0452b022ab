/* SPDX-License-Identifier: Apache-2.0 */
/* The layers of an engine's disk cache: what they are and what they did. A lookup asks the layers that are
 * only read (folders and packs of an image or a share) in order, then the one folder that new entries are
 * written to, then a server. docs/cache.md has the formats, the protocol between processes, and what is
 * trusted.
 *
 *     for (int i = 0; i < sett_cache_layers(e); i++) {
 *         sett_cache_layer_info l = {.size = sizeof l};
 *         sett_cache_layer(e, i, &l);
 *         printf("%s: %s\n", l.path, l.why_not ? l.why_not : "in use");
 *     } */
#ifndef SETT_CACHE_H
#define SETT_CACHE_H
#include <sett/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One layer, with its counts since the engine was opened. Strings live as long as the engine. */
typedef struct sett_cache_layer_info {
    size_t size;
    const char *path;
    const char *why_not; /* why it cannot be used; NULL: it is in use */
    bool writable;       /* new entries are written here: one folder at most, and one server */
    uint64_t cap;        /* most bytes that it may hold, if it is written */
    uint64_t hits, misses; /* a compile that looks again after it waited for its turn does not count a second
                            * miss */
    uint64_t refusals;   /* entries that were damaged, foreign or not trusted */
    uint64_t heals;      /* refused entries that were moved out of the way */
    uint64_t writes, evictions;
    bool pack, is_signed; /* a pack is one file; only SETT_TRUST_SIGNED and SETT_TRUST_MAC verify its
                           * signature */
    bool remote, off;     /* remote: a server, and path is its URL without user and password; off: not asked
                           * for a while, after failures */
    uint64_t entries;     /* of a pack */
    uint8_t signer[32];   /* of a signed pack: the public key that it names */
    uint64_t duplicates;  /* entries that another process had written before this one finished compiling them
                           * */
    uint64_t read_bytes, written_bytes;
    uint64_t errors, skipped; /* of a server: requests that failed; requests not made while it was off */
    uint64_t aliases;     /* of a pack: by so many a kernel is found without recording its body */
} sett_cache_layer_info;
/* How many layers there are, in use or not. Their index is the order in which they are asked. 0: memory is
 * the only cache. */
SETT_API int sett_cache_layers(const sett_engine *);
/* The caller sets info->size, which tells which fields it knows. SETT_E_ARGUMENT: index is past the last.
 * SETT_E_CLOSED, SETT_E_FORKED. */
SETT_API sett_status sett_cache_layer(const sett_engine *, int index, sett_cache_layer_info *info);

/* One entry of a layer. Strings live until the callback returns. */
typedef struct sett_cache_entry {
    size_t size;
    int layer;           /* index of the layer */
    uint8_t key[32];
    uint64_t bytes;      /* size of the file */
    int64_t used;        /* when it was last used, in seconds since 1970, to the hour; 0: unknown */
    const char *damage;  /* why a lookup would refuse it; NULL: it is sound, and the fields below are set */
    const char *name, *target, *compiler, *assembler;
} sett_cache_entry;
typedef bool (*sett_cache_entry_fn)(void *user, const sett_cache_entry *); /* returns false to stop */
/* Reads and verifies every entry of every layer but a server, in no order, and changes nothing.
 * SETT_E_MEMORY.
 * SETT_E_IO: a folder cannot be read. */
SETT_API sett_status sett_cache_walk(sett_engine *, sett_cache_entry_fn, void *user, sett_error *or_null);
/* Says why two kernels have two keys: a line for each field that differs, "target: sm_80 | sm_90a".
 * snprintf-like; 0: the keys are equal. Negative, with SETT_E_NOT_CACHED in the error: a key is in no layer,
 * and not in memory, where only a GPU's kernel that this engine compiled keeps these fields. */
SETT_API int sett_cache_explain(sett_engine *, const uint8_t a[32], const uint8_t b[32], char *buf,
    size_t size,
    sett_error *or_null);

/* ---- packs: many entries in one file, a layer that is only read -------------------------------- */
typedef struct sett_pack_options {
    size_t size;
    const uint8_t (*keys)[32]; /* the keys of the entries, found as a launch would find them; NULL: all
                                * entries of every layer */
    size_t n_keys;
    const char *secret_key; /* absolute path of a file that only its owner may read, with one line of 64
                             * hexadecimal digits (an Ed25519 seed), to sign with; needs libsodium. NULL:
                             * unsigned */
} sett_pack_options;
/* Writes a pack of the entries in the engine's layers, by a temporary file, fdatasync and rename. Given
 * layers that are packs, this merges them. Only a regular file is replaced: a link, a device, a FIFO or a
 * folder at the path stays, and is SETT_E_IO. The same kernels always give the same bytes; reports
 * (sett_kernel_info.report) are left out, because they name source files. *entries: how many the pack has;
 * may be NULL. SETT_E_ARGUMENT: two layers have different kernels for one key. SETT_E_PARSE: an entry is
 * damaged. SETT_E_NOT_CACHED: one of .keys is in no layer. SETT_E_IO: a layer cannot be read, or the file
 * cannot be written or signed. */
SETT_API sett_status sett_pack_write(
    sett_engine *, const char *path, const sett_pack_options *or_null, uint64_t *entries,
        sett_error *or_null2);
/* Copies every entry of the layers that are only read into the folder that is written. A sound entry that is
 * there stays. *entries: how many were read; may be NULL. SETT_E_IO: there is no such folder, it cannot be
 * written, or a layer cannot be read. SETT_E_PARSE: an entry is damaged. */
SETT_API sett_status sett_pack_unpack(sett_engine *, uint64_t *entries, sett_error *or_null);
/* The public key of .secret_key. Whoever reads the pack lists it in .cache_signers. */
SETT_API sett_status sett_pack_public_key(const char *secret_key, uint8_t public_key[32],
    sett_error *or_null);

/* Removes the least recently used entries from the folder that is written, until it takes at most `bytes`,
 * and files that crashed writers left behind. The engine does the same when a new entry would pass the cap.
 * *left: bytes that stay; may be NULL. Bytes are the disk's blocks, as du counts them; an entry's own size
 * (sett_cache_entry) is less. Other processes may read and write meanwhile: a reader has the bytes, or the
 * open file. SETT_E_IO: there is no such folder, it cannot be read, or another process has been trimming it
 * for more than 0.1 s. */
SETT_API sett_status sett_cache_trim(sett_engine *, uint64_t bytes, uint64_t *left, sett_error *or_null);

#ifdef __cplusplus
}
#endif
#endif
