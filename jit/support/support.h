/* SPDX-License-Identifier: Apache-2.0 */
/* What every room of the engine uses: log, ranges for profilers, counters, digests, environment, clock, shared objects,
 * files. */
#ifndef SETT_JIT_SUPPORT_FACE_H
#define SETT_JIT_SUPPORT_FACE_H
#include "lib/tape/tape.h"
#include "bytes.h"
#include "counters.h"
#include "finding.h"
#include <pthread.h>
#include <sett/cache.h>
#include <sett/compile.h>
#include <sett/metrics.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/types.h>

/* ---- log.c: messages -------------------------------------------------------------------- */
enum { SETT__LOG_KINDS = 16, SETT__LOG_BURST = 10, SETT__LOG_MS = 60000 };
typedef struct sett__log_kind {
    const char *format;
    double since; /* ms */
    unsigned said, held;
} sett__log_kind;
typedef struct sett__logger {
    _Atomic(sett_log_fn) fn; /* NULL: nobody listens, or no longer */
    void *user;
    sett_log_level level; /* the last level that is logged */
    atomic_uint_fast64_t *drops;
    pthread_mutex_t lock; /* over kinds; not held while fn runs */
    sett__log_kind kind[SETT__LOG_KINDS];
} sett__logger;
/* SETT_E_ARGUMENT: $SETT_LOG, which is read where .log is NULL. The logger can be used all the same. */
sett_status sett__logger_open(sett__logger *, const sett_engine_options *, atomic_uint_fast64_t *drops, sett_error *);
/* logger NULL: nothing happens. component: one of those in engine.h. format: a literal, which also identifies the message's
 * kind. */
void sett__say(sett__logger *, sett_log_level, const char *component, const char *format, ...) SETT_PRINTF(4, 5);

/* Whole, however many there are: to the caller's function, else to stderr, whether $SETT_LOG asks for it or not. */
void sett__say_whole(sett__logger *, sett_log_level, const char *component, const char *text);

/* ---- profile.c: ranges for profilers ----------------------------------------------------------- */
void sett__ranges_open(void); /* once a process: finds out whether a profiler listens */
/* Begins a range "record saxpy" on this thread, up to sett__range_end(), which ends the range that was begun last. */
void sett__range_begin(const char *what, const char *name);
void sett__range_end(void);

/* ---- digest.c: SHA-256 --------------------------------------------------------------------- */
typedef struct sett__digest { uint8_t b[32]; } sett__digest;
void sett__sha256(const void *, size_t, sett__digest *);
void sett__hmac_sha256(const uint8_t key[32], const void *data, size_t len, uint8_t mac[32]);
typedef struct sett__blob { const void *data; size_t len; } sett__blob;
void sett__hex_write(const uint8_t in[32], char digits[65]); /* NUL-ended */
/* ---- environment.c: variables. A value that is none of the legal ones is SETT_E_ARGUMENT, which names them ---- */
const char *sett__environment_text(const char *variable); /* NULL: not set, or "" */
sett_status sett__environment_bad(sett_error *, const char *variable, const char *text, const char *legal); /* SETT_E_ARGUMENT */
sett_status sett__environment_word(const char *variable, const char *const *words, int n, int *at, sett_error *); /* at: -1: not set */
sett_status sett__environment_flag(const char *variable, int *on, sett_error *); /* on: 1, 0; -1: not set */
sett_status sett__environment_number(const char *variable, int *number, sett_error *); /* number: 0: not set */
/* ---- clock.c, options.c ------------------------------------------------------------------------ */
double sett__now_ms(void);
/* Of a caller's struct that begins with its size: was the size set, and is it possible for any version? */
static inline bool sett__known_size(size_t size)
{
    return size >= sizeof size && size <= 4096;
}
/* Copies a caller's struct that begins with its size, of an older or newer header. Members that it lacks are zero; members that
 * we do not know must be zero. src NULL: all zero. */
sett_status sett__options(void *dst, size_t size, const void *src, const char *what, sett_error *);

/* ---- shared.c: shared objects beside libsett.so ------------------------------------------------- */
enum { SETT__SHARED_PATH = 4096 };
typedef struct sett__shared { /* a shared object of ours */
    const char *what, *file, *env, *symbol; /* env: a variable with its path, if it is not beside libsett.so */
} sett__shared;
/* Its symbol. path: the path that was tried. NULL: `status`, with the reason. asked: only this path; NULL, "": look for it. */
void *sett__shared_symbol(
    const sett__shared *, const char *asked, char path[SETT__SHARED_PATH], sett_status status, sett_error *);
/* The path of a file in the folder of the object that has this code: libsett.so, or a program that is linked statically. */
bool sett__beside(const char *name, char *path, size_t size);
/* ---- identity.c: what identifies the code behind a function ------------------------------------------------- */
typedef struct sett__identity { /* what was told last, zeros at first; callers take turns */
    uintptr_t from, to, base; /* of the object */
    uint64_t unloads;
    bool known, stays; /* stays: it cannot be unloaded while sett runs */
    sett__digest build;
} sett__identity;
/* The build of all that the function may run (libsett, its own object, those that this one needs), and where it lies in its object: two
 * processes that have the same of both have the same function. False: it cannot be told. */
bool sett__identity_of(sett__identity *last, const void *function, sett__digest *build, uint64_t *offset);
/* How long an address stands for the same code: SETT__ALWAYS, or until sett__unloads is another number, as what lies in an object that was
 * unloaded may be followed there by anything. */
#define SETT__ALWAYS UINT64_MAX
uint64_t sett__code_holds(sett__identity *last, const void *function);
uint64_t sett__unloads(void); /* how many objects this process has unloaded; some 15 ns, and a lock of the loader */
/* ---- file.c: files that a caller names; no call waits for one ----------------------------------------- */
const char *sett__file_kind(mode_t); /* "a folder", "a FIFO" */
int sett__file_open(const char *path, sett_error *); /* opens a regular file, O_RDONLY; -1: the error says why not */
/* As dlopen, but NULL for a path that is no regular file. why: the reason of a NULL. */
void *sett__library_open(const char *path_or_name, int flags, char *why, size_t size);

/* ---- the gate ------------------------------------------------------------------------------- */
/* Says whether an engine's kernels may be launched. Every launch reads it, by one load. */
/* ASK: there is no page that a fork wipes, so compare the pid. */
enum { SETT__GATE_FORKED, SETT__GATE_OPEN, SETT__GATE_CLOSED, SETT__GATE_ASK };
static inline bool sett__gate_open(const atomic_uint *gate) /* false: it may be open still */
{
    return atomic_load_explicit(gate, memory_order_relaxed) == SETT__GATE_OPEN;
}

#endif
