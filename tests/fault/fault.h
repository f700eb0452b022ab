/* SPDX-License-Identifier: Apache-2.0 */
/* The fault campaign on the disk cache: what its rows share. A row is a claim, tried in every way that it names; it
 * gives the number of failures and a line of figures. */
#ifndef FAULT_H
#define FAULT_H
#include "tests/rig/faces.h"
#include "jit/cache/inside.h"
#include "tests/rig/limits.h"
#include "tests/rig/rig.h"

typedef struct row {
    const char *id, *claim;
    long (*run)(bool full, char *figures, size_t size);
} row;
long complain(const char *format, ...) SETT_PRINTF(1, 2); /* one line to stderr; 1 */
uint64_t dice(uint64_t *state);

/* ---- fault_os.c: a table of calls that miscarry ------------------------------------------------ */
enum {
#define X(result, failure, name, parameters, arguments) CALL_##name,
    SETT__OS_CALLS(X)
#undef X
    N_CALLS
};
typedef enum mishap { MISHAP_NONE, MISHAP_ERROR, MISHAP_SHORT, MISHAP_KILL_BEFORE, MISHAP_KILL_AFTER, MISHAP_REMOVAL } mishap;
typedef struct plan { /* of this process */
    mishap what;
    int call;      /* -1: any */
    long at;       /* the at-th such call, from 1 */
    bool for_ever; /* and all after it */
    int error;
    int64_t clock; /* seconds that its clock is wrong */
    int chance;    /* of 1000: dishonest() strikes */
} plan;
extern plan planned;
extern void (*removal_planned)(void); /* what MISHAP_REMOVAL does before the call */
extern atomic_long calls[N_CALLS], calls_in_all;
extern const char *const call_names[N_CALLS];
long calls_that_write(void); /* since plan_set */
void plan_set(const plan *); /* NULL: nothing; counts start anew */
extern const sett__os os_faulty; /* does what was planned */
extern const sett__os os_dishonest; /* locks are granted to all; names appear late; handles go stale; names are busy */

/* ---- fault_rig.c: entries, processes ---------------------------------------------------------------- */
enum { CUBIN_MAX = 64 << 10 };
typedef struct made { /* an entry that follows from its number: who reads it knows what it has to hold */
    sett__digest key;
    char material[32];
    size_t cubin_len;
    sett__entry entry;
    uint8_t *cubin;
} made;
void made_new(made *, unsigned number, size_t cubin_len);
void made_free(made *);
bool made_is(const made *, const sett__entry *);
sett_status made_get(sett__disk *, const made *); /* SETT_E_INTERNAL: got something else */
sett__disk *disk_open(const char *path, const sett__os *, uint64_t cap); /* NULL: the reason was printed */
int open_files(void); /* of this process */

/* Runs n processes at once, 64 at most: each is forked, prepares, says that it is ready, waits for all to be, runs,
 * exits. The number that gave false or died; ms[i]: how long process i ran. */
typedef bool crew_fn(int index, void *user);
int crew_run(int n, crew_fn *prepare_or_null, crew_fn *, void *user, double *ms);

/* A row of many tries that need nothing of each other: fn runs in a process a core, each in a root of its own, and makes
 * those of its tries for which my_turn() is true there: it is so in one of them each time that all ask. Gives the sum of
 * what fn gave, and 1 for each process that died; *tried: the sum of theirs. */
typedef long tries_fn(bool full, long *tried);
long by_turns(tries_fn *, bool full, long *tried);
bool my_turn(void);

/* An engine with the fake compiler and a script for an assembler; its cache uses `os`. */
sett_engine *engine_with(const sett__os *os, int wait_ms);
/* Kernel number `number`: its columns follow from it, and so does its key. */
sett_status engine_kernel(sett_engine *, int number, sett_kernel **, sett_error *);
sett_status engine_key(sett_engine *, int number, sett__digest *);
bool kernel_right(sett_kernel *); /* it has the cubin that the assembler gives; releases it */

long f1_bits(bool, char *, size_t), f2_lengths(bool, char *, size_t), f2_pages(bool, char *, size_t);
long f3_kills(bool, char *, size_t), f4_errors(bool, char *, size_t);
long f6_full(bool, char *, size_t), f6_read_only(bool, char *, size_t), f6_homeless(bool, char *, size_t);
long f7_one_key(bool, char *, size_t), f7_many_keys(bool, char *, size_t), f7_threads(bool, char *, size_t);
long f8_killed(bool, char *, size_t), f8_stopped(bool, char *, size_t), f8_forked(bool, char *, size_t);
long f8_herd(bool, char *, size_t);
long f9_lies(bool, char *, size_t), f10_lru(bool, char *, size_t), f11_clocks(bool, char *, size_t);
long f12_attacks(bool, char *, size_t), f13_removed(bool, char *, size_t);
long f15_verify(bool, char *, size_t);
long t_threads(bool, char *, size_t);
long p1_bits(bool, char *, size_t), p2_lengths(bool, char *, size_t), p3_writes(bool, char *, size_t);
long p4_many(bool, char *, size_t);
long p5_reads(bool, char *, size_t), r1_folder(bool, char *, size_t), f16_other_user(bool, char *, size_t);
long l_command(bool, char *, size_t);
long fuzz_packs(bool, char *, size_t);
long fuzz_entry(bool, char *, size_t), fuzz_elf(bool, char *, size_t);
#endif
