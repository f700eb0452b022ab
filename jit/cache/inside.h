/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of cache/ share. cache.h has what the rest of the room may call.
 *
 *     layers.c  the stack: memory is above it, then layers that are only read, then one folder that is written
 *     disk.c    one folder: opening, claiming, made anew when it was deleted
 *     read.c    an entry out of it, verified; what is damaged goes to quarantine
 *     write.c   an entry into it: temp, fdatasync, rename
 *     lock.c    one compile a key among processes
 *     trim.c    the cap
 *     pack.c    a layer that is one file, only read; pack_write.c makes it
 *     remote.c  the layer behind them all: a server, by libsett-remote.so
 *     path.c    a folder whose ancestors nobody else may change
 *     auth.c    message authentication for folders that several users write; sign.c signatures of packs
 *     alias.c   what callers ask with, and the key that it was
 *     entry.c   an entry's bytes; key.c the key's; elf.c the gate before the driver */
#ifndef SETT_JIT_CACHE_H
#define SETT_JIT_CACHE_H
#include "os.h"
#include <unistd.h>

/* ---- layers ---------------------------------------------------------------------------------- */
/* One place that entries come from. Each kind embeds this as its first member. */
typedef struct sett__layer sett__layer;
typedef struct sett__layer_item { /* one entry, verified */
    const sett__digest *key;
    uint64_t bytes;
    int64_t used;         /* when last, seconds since 1970; 0: not known */
    const sett__entry *entry; /* NULL: refused, for `why` */
    const char *why;
} sett__layer_item;
typedef sett_status sett__layer_visit(void *user, const sett__layer_item *); /* anything but OK ends the walk */
typedef sett_status sett__alias_fn(void *user, const sett__alias *);
typedef struct sett__layer_ops {
    /* As sett__cache_find's layers: SETT_E_NOT_CACHED for a miss, SETT_E_PARSE for an entry that was refused (it is then
     * out of the way where that is possible), SETT_E_MEMORY. The entry's memory is the caller's. */
    sett_status (*get)(sett__layer *, const sett__digest *, const sett__blob *material_or_null, sett__entry *, sett_error *);
    bool (*refuse)(sett__layer *, const sett__digest *); /* what get gave is of no use: out of the way, if it can be */
    sett_status (*walk)(sett__layer *, sett__layer_visit *, void *user); /* every entry; nothing is healed or marked used */
    void (*close)(sett__layer *);
    /* Aliases; NULL: it has none. ask: false: not there. aliases: each, until one is not OK. */
    bool (*ask)(sett__layer *, const sett__digest *alias, sett__digest *key);
    sett_status (*aliases)(sett__layer *, sett__alias_fn *, void *user);
} sett__layer_ops;
struct sett__layer {
    const sett__layer_ops *ops;
    SETT__LAYER_COUNTERS(SETT__COUNT_FIELD)
};

/* ---- disk.c ------------------------------------------------------------------------------------- */
enum {
    SETT__ENTRY_MAX = 1 << 28, /* bytes of a file */
    SETT__QUARANTINE_SLOTS = 16,
};
#define SETT__MARKER "SETT1"
struct sett__disk {
    sett__layer layer;
    const sett__os *os;
    sett_cache_trust trust;
    const sett__auth *auth; /* NULL unless trust is SETT_TRUST_MAC */
    uint64_t cap;           /* bytes; 0: none */
    atomic_int root, v1, tmp; /* folders; -1: not there. What they are open on changes when the folder is made anew */
    mode_t mode;            /* of the root: of a folder that is shared, what its files are given */
    bool layer_only;        /* may not be written, whatever its mode */
    atomic_bool aliases_told; /* that their file is damaged or foreign */
    atomic_bool read_only, sealed;
    atomic_uint_fast64_t serial;
    pthread_mutex_t lock;   /* over remaking and the lock file */
    int locks;              /* the lock file; -1: not opened; -2: none can be had */
    pthread_mutex_t trimming;
    atomic_bool behind; /* entries were written that are not counted */
    atomic_uint_fast64_t uncounted; /* their bytes, since this process looked at all */
    sett__logger *log; /* or NULL */
    char path[4096];
};
typedef struct sett__entry_name {
    char dir[3], file[68]; /* "ab", "cdef....sett" */
} sett__entry_name;
void sett__entry_name_of(const sett__digest *, sett__entry_name *);
bool sett__entry_name_read(const char *dir, const char *file, sett__digest *); /* false: no name of ours */
/* Owned by us or by root; what the folder's trust has to say of others who may write. */
static inline bool sett__disk_owner(const struct stat *st)
{
    return st->st_uid == 0 || st->st_uid == geteuid();
}
static inline bool sett__disk_trusts(const sett__disk *d, const struct stat *st)
{
    return d->trust != SETT_TRUST_PRIVATE || (sett__disk_owner(st) && !(st->st_mode & (S_IWGRP | S_IWOTH)));
}
int sett__disk_subdir(sett__disk *, int at, const char *name, bool make); /* -1 with errno */
/* After EACCES: gives what we made the rights that a umask, or a crash between making and fchmod, kept from it. True: try
 * again. Only below a root whose mode gives us all rights; else a mode is its owner's word. errno stays if false. */
bool sett__disk_mend(const sett__disk *, int at, const char *name);
bool sett__disk_remake(sett__disk *); /* it was deleted under us: false if it cannot be made again */

/* Sealed: it is only read, and nothing is made, marked used, moved or locked; what was being put is. Unsealed, it makes what an
 * opening under seal has left. */
void sett__disk_seal(sett__disk *, bool sealed);

/* ---- path.c ------------------------------------------------------------------------------------- */
/* "; chmod u+rwx FOLDER, whose mode is 0500" where errno is EACCES because of the mode of this folder of ours, else "". */
enum { SETT__CHMOD_HINT = 512 };
const char *sett__chmod_hint(const sett__os *, int folder, const char *path, int len, char hint[SETT__CHMOD_HINT]);
/* A folder's descriptor (O_RDONLY), every step of its path opened below the one before. trusted: every step belongs to
 * us or root and can be changed by nobody else. make: as mkdir -p, 0700, whatever the umask. */
sett_status sett__path_open(const sett__os *, const char *path, bool make, bool trusted, int *fd, sett_error *);
/* A file of an absolute path, for reading, its folder opened so; a link or a pipe in its place is not followed, not
 * waited on. Whoever calls looks at what it is. */
sett_status sett__path_open_file(const sett__os *, const char *path, bool trusted, int *fd, sett_error *);

/* ---- read.c ------------------------------------------------------------------------------------- */
extern const sett__layer_ops sett__disk_ops;
bool sett__read_at(const sett__os *, int fd, void *to, size_t len, uint64_t at);
static inline bool sett__read_all(const sett__os *os, int fd, void *to, size_t len)
{
    return sett__read_at(os, fd, to, len, 0);
}
/* A whole entry's bytes to its parts: digest, key, material (NULL: not compared), ELF gate. */
sett_status sett__entry_verify(const void *file, size_t len, const sett__digest *key, const sett__blob *material,
    const sett__auth *, sett__entry *, sett_error *);
bool sett__disk_sound(sett__disk *, const sett__digest *); /* what lies there would be given */

/* ---- alias.c ------------------------------------------------------------------------------------ */
#define SETT__ALIASES "aliases"
enum { SETT__ALIASES_BYTES = 1 << 21 };
bool sett__disk_ask(sett__disk *, const sett__digest *alias, sett__digest *key);
void sett__disk_alias(sett__disk *, const sett__digest *alias, const sett__digest *key); /* writes it, if it can be */
sett_status sett__disk_aliases(sett__disk *, sett__alias_fn *, void *user);

/* ---- write.c ------------------------------------------------------------------------------------ */
bool sett__write_at(const sett__os *, int fd, const void *from, size_t len, uint64_t at);
static inline bool sett__write_all(const sett__os *os, int fd, const void *from, size_t len)
{
    return sett__write_at(os, fd, from, len, 0);
}
bool sett__temp_name_is(const char *);

/* ---- lock.c ------------------------------------------------------------------------------------- */
/* Byte `at` of the lock file. False: held by another, or no lock can be had (*none). */
bool sett__lock_try(sett__disk *, off_t at, bool *none);
void sett__lock_drop(sett__disk *, off_t at);
void sett__lock_close(sett__disk *);

/* ---- trim.c ------------------------------------------------------------------------------------- */
/* Every file with an entry's name, in no order. False with errno: not all could be seen. */
typedef void sett__disk_seen(void *user, const sett__digest *, const struct stat *);
bool sett__disk_each(sett__disk *, sett__disk_seen *, void *user);
/* Room for `bytes` more: counts them, and trims when that passes the cap. False: they are not counted, and sett__trim_later() is
 * called once they are written. */
bool sett__trim_for(sett__disk *, uint64_t bytes);
void sett__trim_later(sett__disk *, uint64_t bytes);
void sett__trim_settle(sett__disk *); /* counts what was left, if that can be done at once */

/* ---- auth.c ------------------------------------------------------------------------------------- */
enum { SETT__AUTH_BYTES = 64, SETT__AUTH_KEYS = 2 };
struct sett__auth {
    int n;
    uint8_t id[SETT__AUTH_KEYS][16], key[SETT__AUTH_KEYS][32]; /* the first signs, all verify */
};
sett_status sett__auth_read(const sett__os *, const char *path, sett__auth *, sett_error *);
bool sett__hex_read(const char *digits, uint8_t out[32]); /* 64 of them; what follows is not looked at */
void sett__auth_sign(const sett__auth *, const void *data, size_t len, uint8_t block[SETT__AUTH_BYTES]);
sett_status sett__auth_verify(const sett__auth *, const void *data, size_t len, const uint8_t *block, sett_error *);

/* ---- pack.c -------------------------------------------------------------------------------------- */
enum {
    SETT__PACK_HEAD = 256,   /* bytes before the index */
    SETT__PACK_ROW = 80,     /* of the index: key[32], u64 off, u64 len, digest[32] */
    SETT__PACK_ALIGN = 64,   /* of entries */
    SETT__PACK_COVERED = 96, /* bytes of the header that a signature covers, and where it lies */
    SETT__PACK_ALIAS = 40,   /* a row of its aliases: alias[32], u64 entry */
    SETT__PACK_MAX = 1 << 24, /* entries */
};
static inline uint64_t sett__pack_align(uint64_t n)
{
    return (n + SETT__PACK_ALIGN - 1) & ~(uint64_t)(SETT__PACK_ALIGN - 1);
}
typedef struct sett__pack_head {
    uint64_t file_len, count, aliases;
    bool is_signed;
    uint8_t index_sum[32], aliases_sum[32], signer[32], signature[64];
} sett__pack_head;
typedef struct sett__pack_row {
    sett__digest key, sum; /* sum: what the entry's bytes end in */
    uint64_t off, len;
} sett__pack_row;
/* Pure functions, fuzzed and tested alone. A header's bytes, of a file of this length; then its index, which says where
 * each entry lies: keys ascending, entries behind one another with nothing between. */
sett_status sett__pack_head_read(const uint8_t p[SETT__PACK_HEAD], uint64_t file_len, sett__pack_head *, sett_error *);
sett_status sett__pack_index_check(const uint8_t *index, const sett__pack_head *, sett_error *);
/* The same rules without the digests, for fuzzers. */
sett_status sett__pack_head_parse(const uint8_t p[SETT__PACK_HEAD], uint64_t file_len, sett__pack_head *, sett_error *);
sett_status sett__pack_index_parse(const uint8_t *index, const sett__pack_head *, sett_error *);
void sett__pack_row_read(const uint8_t *index, uint64_t i, sett__pack_row *);
/* Its aliases: ascending, each of an entry. parse: without the digest. */
sett_status sett__pack_aliases_check(const uint8_t *aliases, const sett__pack_head *, sett_error *);
sett_status sett__pack_aliases_parse(const uint8_t *aliases, const sett__pack_head *, sett_error *);
static inline uint64_t sett__pack_aliases_bytes(uint64_t n) /* with the zeros behind them */
{
    return sett__pack_align(n * SETT__PACK_ALIAS);
}
/* Writes index_sum and all that the header has; signs where sign is set. */
typedef struct sett__signer sett__signer;
sett_status sett__pack_head_write(uint8_t p[SETT__PACK_HEAD], sett__pack_head *, const sett__signer *sign, sett_error *);
typedef struct sett__pack_options {
    const char *path;
    sett_cache_trust trust; /* MAC, SIGNED: it must be signed by one of these */
    const uint8_t (*signers)[32];
    int n_signers;
    const sett__os *os; /* NULL: the C library's */
    sett__logger *log;  /* gets why aliases are ignored; may be NULL */
} sett__pack_options;
/* Damaged, untrusted or no pack: SETT_E_IO with the reason. */
sett_status sett__pack_open(sett__layer **, const sett__pack_options *, sett_error *);
void sett__pack_info(const sett__layer *, sett_cache_layer_info *); /* fills what a pack has */

/* ---- sign.c --------------------------------------------------------------------------------------- */
/* Ed25519 by libsodium, opened when it is needed and closed after. SETT_E_IO: it is not there. */
struct sett__signer {
    uint8_t public_key[32], secret_key[64];
};
sett_status sett__signer_read(const sett__os *, const char *path, sett__signer *, sett_error *);
sett_status sett__signature_make(const sett__signer *, const void *data, size_t len, uint8_t signature[64], sett_error *);
/* SETT_E_PARSE: it is not of these bytes. */
sett_status sett__signature_check(const uint8_t public_key[32], const void *data, size_t len, const uint8_t signature[64],
    sett_error *);

/* ---- remote.c --------------------------------------------------------------------------------------- */
typedef struct sett__remote_layer sett__remote_layer; /* a sett__layer first */
/* Connects to nothing yet. shown: its URL as anyone may read it, malloc'ed, or as it was. SETT_E_ARGUMENT: the text is
 * malformed; SETT_E_IO: it cannot be used, or must not be, as it is configured. */
sett_status sett__remote_open(sett__layer **, char **shown, const sett__cache_options *, const sett__os *, sett_error *);
bool sett__remote_sends(const sett__remote_layer *);
/* SETT_E_CANCELLED: it was not asked, as it failed too often. */
sett_status sett__remote_send(sett__remote_layer *, const sett__digest *, const sett__entry *, sett_error *);
sett_status sett__remote_probe(sett__remote_layer *, sett_error *);
bool sett__remote_off(const sett__remote_layer *); /* left alone, after failures */

/* ---- layers.c -------------------------------------------------------------------------------------- */
sett__layer *sett__cache_place(const sett__cache *, int i, const char **path, const char **why); /* NULL: not usable */
const sett__os *sett__cache_os(const sett__cache *);

#endif
