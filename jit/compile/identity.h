/* SPDX-License-Identifier: Apache-2.0 */
/* What compile.c, which takes a body or a tape to a kernel, and identity.c, which says what that is known by, share beside compile.h. */
#ifndef SETT_IDENTITY_H
#define SETT_IDENTITY_H
#include "compile.h"

/* What is asked for, checked and with every default filled in. */
typedef struct sett__request {
    sett_engine *e;
    sett_compile_options opt;
    const char *name;
    char target[32];
    bool cpu;
    int opt_level; /* of the assembler, 0..3 */
} sett__request;

/* A recorded kernel on its way. */
typedef struct sett__recorded {
    sett__tape tape;
    char *report; /* malloc'ed; NULL: none */
    double ms;
    void *bytes; /* canonical; with sites if line_info */
    size_t len;
    void *material;
    size_t material_len;
    sett__digest key, slot;
} sett__recorded;

/* The bytes, the material, the public key and the slot; for a target that the tape fits, else its error. */
sett_status sett__keys_make(const sett__request *, sett__recorded *, sett_error *);

/* By which a kernel in memory is found without any of these: tapes of one identity are one slot, but for a chance of 2^-63. One
 * slot's may differ in it, and are then found by their keys. Good for one engine's life, and nowhere else. */
enum { SETT__IDENTITY_BYTES = 16, SETT__IDENTITY_BLOCK = 512, SETT__IDENTITY_LIST = 64, /* words */
    SETT__IDENTITY_KEY = SETT__IDENTITY_BLOCK + SETT__IDENTITY_LIST };
/* key: random words that nobody knows. sites: call sites are part of the slot. False: its signature is too large for one. */
bool sett__tape_identity(
    const uint64_t key[SETT__IDENTITY_KEY], const sett__tape *, bool sites, unsigned char id[SETT__IDENTITY_BYTES]);
/* The tape's and all else that is asked for, as a memo. */
typedef struct sett__identity {
    sett__memo_key memo; /* of user below */
    unsigned char user[SETT__IDENTITY_BYTES];
} sett__identity;
/* Of a tape that was verified; *memo points into it. False: it has none, or there are no random numbers, or no memory. */
bool sett__identify(const sett__request *, const sett__tape *, sett__identity *);

/* A target as a memo's head has it. False: no kernel was ever made for such a one. */
static inline bool sett__memo_target(const char *text, uint64_t *word)
{
    uint64_t n = 0;
    *word = 0;
    for (const unsigned char *c = (const unsigned char *)text; c && c[n]; n++) {
        if (n == sizeof *word)
            return false;
        *word |= (uint64_t)c[n] << 8 * n;
    }
    return true;
}
#endif
