/* SPDX-License-Identifier: Apache-2.0 */
/* What a build notes while it records, for the report and the log: how wide each access became, and which threads a tiled
 * operation gives parts to. */
#ifndef SETT_LIB_BUILD_NOTES_H
#define SETT_LIB_BUILD_NOTES_H
#include "objects.h"

/* ---- note.c: what the layouts decided, for the report ----------------------------------------- */
enum { SETT__LOST_NOTHING, SETT__LOST_ADJACENCY, SETT__LOST_ROOT, SETT__LOST_CONSTANT, SETT__LOST_BASE, SETT__LOST_BOUND,
    SETT__LOST_PRED, SETT__LOST_RMEM };
typedef struct sett__note {
    struct sett__note *older;
    const char *func;
    const char *text;      /* no access: what the line says; NULL: an access */
    bool warns;            /* the log says it too */
    const sett_tensor *t;
    uint32_t site, call;   /* site: index in b->site; call: as in sett_site */
    uint32_t count[32];    /* accesses of 2^k bytes; of split ones those of the wide arm */
    uint32_t split;        /* how many of them are wide only if a test at run time allows it */
    uint32_t have, need;   /* bytes, of the first access that lost width */
    uint8_t lost, bytes;   /* SETT__LOST_*; bytes of an element */
    uint32_t places;       /* distinct addresses of a load, if they are fewer than its elements by a stride of 0; else 0 */
    uint32_t elements;     /* of that load */
    bool element, tests_align; /* of sett__note_element; a test of a split one is of its address too */
    sett_arg base;         /* LOST_BASE: its offset */
    int64_t imm;           /* LOST_CONSTANT: the constant */
} sett__note;
void sett__note_add(const sett__ctx *, sett__note *); /* copies it, and fills site and func */
/* Notes an access of one element, whose width nothing reduced. Returns the index of its site. */
uint32_t sett__note_element(const sett__ctx *, const sett_tensor *, uint32_t bytes);

/* ---- share.c: threads of tiled operations ------------------------------------------------------- */
typedef struct sett__share {
    struct sett__share *older;
    sett_site site, open_site;
    const char *func, *of, *open_func; /* of: the layout whose threads these are */
    int64_t threads;
    sett_arg thread;
    bool wraps; /* an index past the last thread goes round to the first; else it names what lies behind the tile */
    bool each; /* what a thread does is done by no other one */
    bool open; /* threads access what they have of it, at open_site, and nothing says which */
} sett__share;
/* Copies it, and fills site and func; NULL: there is nothing to check. */
sett__share *sett__share_new(const sett__ctx *, const sett__share *);
void sett__share_access(const sett__ctx *, sett__share *); /* without a predicate */
/* Once the body has ended: a block of fewer threads than a share is of fails the build, of more is noted. */
void sett__check_shares(sett_build *);

#endif
