/* SPDX-License-Identifier: Apache-2.0 */
/* What an engine's disk cache consists of and what became of it: layers that are only read (folders and packs of an image
 * or a share), asked in order, then the one folder that new entries are written to, then a server. docs/cache.md has the formats, the
 * protocol between processes, and what is trusted.
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

/* One place, with what it did since the engine was opened. Strings live as long as the engine. */
typedef struct sett_cache_layer_info {
    size_t size;
    const char *path;
    const char *why_not; /* it cannot be used; NULL: it is in use */
    bool writable;       /* new entries go here: at most one folder, and a remote */
    uint64_t cap;        /* bytes that it may hold, where it is written */
    uint64_t hits, misses; /* a compile's second look, with the turn in hand, is no second miss */
    uint64_t refusals;   /* entries that were damaged, foreign or not trusted */
    uint64_t heals;      /* refused entries that were moved out of the way */
    uint64_t writes, evictions;
    bool pack, is_signed; /* one file; signed, which only SETT_TRUST_SIGNED and SETT_TRUST_MAC verify */
    bool remote, off;     /* a server, path being its URL without user and password; left alone for a while, after failures */
    uint64_t entries;     /* of a pack */
    uint8_t signer[32];   /* of a signed pack: the public key that it names */
    uint64_t duplicates;  /* entries that another process had written when this one had compiled them */
    uint64_t read_bytes, written_bytes;
    uint64_t errors, skipped; /* requests of a remote that failed; that were not made, while it was off */
} sett_cache_layer_info;
/* How many, usable or not, in the order that they are asked; 0 with no cache but memory. */
SETT_API int sett_cache_layers(const sett_engine *);
/* info->size tells which fields the caller knows. SETT_E_ARGUMENT past the last; SETT_E_CLOSED, SETT_E_FORKED. */
SETT_API sett_status sett_cache_layer(const sett_engine *, int index, sett_cache_layer_info *info);

/* One entry as it lies there. Strings live until the callback returns. */
typedef struct sett_cache_entry {
    size_t size;
    int layer;           /* index of its layer */
    uint8_t key[32];
    uint64_t bytes;      /* of the file */
    int64_t used;        /* when it was last used, to the hour: seconds since 1970; 0: not known */
    const char *damage;  /* why it would be refused; NULL: it is sound, and what follows is known */
    const char *name, *target, *compiler, *assembler;
} sett_cache_entry;
typedef bool (*sett_cache_entry_fn)(void *user, const sett_cache_entry *); /* false: enough */
/* Reads and verifies every entry of every layer but a remote, in no order; nothing is changed. SETT_E_MEMORY; SETT_E_IO: a
 * folder cannot be read. */
SETT_API sett_status sett_cache_walk(sett_engine *, sett_cache_entry_fn, void *user, sett_error *or_null);
/* Why two kernels have two keys: a line for each thing that decides the code and differs, "target: sm_80 | sm_90a".
 * snprintf-like: the length of the text, 0 for equal keys. Negative, with SETT_E_NOT_CACHED in the error: one of them is
 * neither in memory, where only a GPU's kernel that was compiled here keeps such a thing, nor in a layer. */
SETT_API int sett_cache_explain(sett_engine *, const uint8_t a[32], const uint8_t b[32], char *buf, size_t size,
    sett_error *or_null);

/* ---- packs: many entries as one file, a layer that is only read ------------------------------- */
typedef struct sett_pack_options {
    size_t size;
    const uint8_t (*keys)[32]; /* which entries, as a launch would find them; NULL: all of every layer */
    size_t n_keys;
    const char *secret_key; /* signs: absolute path of a file that only its owner may read, with one line of 64
                             * hexadecimal digits (an Ed25519 seed). NULL: unsigned. Needs libsodium */
} sett_pack_options;
/* Writes a pack of what the engine's layers hold: temp, fdatasync, rename. Of layers that are packs it is their merge. Only a
 * regular file is replaced: a link, a device, a FIFO or a folder at the path is SETT_E_IO, and stays. The
 * same kernels give the same bytes, wherever and whenever; their reports (sett_kernel_info.report), which name source
 * files, stay behind. entries: how many it has, or NULL. SETT_E_ARGUMENT: one key stands for two kernels, in two layers;
 * SETT_E_PARSE: an entry is damaged; SETT_E_NOT_CACHED: one of .keys is in no layer; SETT_E_IO: a layer cannot be read,
 * the file cannot be written, no signature can be made. */
SETT_API sett_status sett_pack_write(
    sett_engine *, const char *path, const sett_pack_options *or_null, uint64_t *entries, sett_error *or_null2);
/* Copies every entry of the layers that are only read into the folder that is written; what is there and sound stays.
 * entries: how many were looked at, or NULL. SETT_E_IO: there is no such folder, a layer cannot be read or the folder
 * not written; SETT_E_PARSE: an entry is damaged. */
SETT_API sett_status sett_pack_unpack(sett_engine *, uint64_t *entries, sett_error *or_null);
/* The public key of .secret_key, for .cache_signers of who reads the pack. */
SETT_API sett_status sett_pack_public_key(const char *secret_key, uint8_t public_key[32], sett_error *or_null);

/* Removes from the folder that is written what was used longest ago, until at most `bytes` are left, and what
 * crashed writers left behind. *left: bytes that stay, or NULL. Bytes here and of the cap are the disk's blocks, as du
 * counts them; sett_cache_entry has an entry's own, which are fewer. Safe while other processes read and write: a reader
 * has the bytes or the open file. This also happens by itself when a new entry would pass the cap. SETT_E_IO: there is
 * no such folder, it cannot be read, or another process is trimming it for longer than 0.1 s. */
SETT_API sett_status sett_cache_trim(sett_engine *, uint64_t bytes, uint64_t *left, sett_error *or_null);

#ifdef __cplusplus
}
#endif
#endif
