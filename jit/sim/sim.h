/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU engine: a tape as a program for an interpreter, and what a launch on the CPU checks. */
#ifndef SETT_JIT_SIM_FACE_H
#define SETT_JIT_SIM_FACE_H
#include "jit/support/support.h"
#include <sett/launch.h>

/* ---- sim/: the CPU engine --------------------------------------------------------------------- */
typedef struct sett__program sett__program; /* a tape decoded for the interpreter; immutable */
typedef struct sett__extent {
    const void *data; /* lowest address that the kernel may access by this argument */
    size_t bytes;
} sett__extent;
enum { SETT__MODELLED_SM = 90 };
enum sett__halt_why { SETT__GO_ON, SETT__HALT_CANCELLED, SETT__HALT_CLOSED, SETT__HALT_LATE, SETT__HALT_POLLED };
/* When what goes on by itself happens: at once; when nothing goes on without; at any moment, by a sequence of the seed. SYSTEMATIC: a launch
 * that is checked runs in one order after the other; another one is LAZY. */
enum sett__async_policy { SETT__ASYNC_LAZY, SETT__ASYNC_EAGER, SETT__ASYNC_RANDOM, SETT__ASYNC_SYSTEMATIC };
typedef struct sett__async {
    int policy;
    uint64_t seed;
} sett__async;
bool sett__async_parse(sett__async *, const char *); /* policy.c: "eager", "lazy", "random:7", "systematic"; false: none of these */
/* One order: which of those that might go on did, at each step. async/cluster.c takes what is there, and adds what comes behind. */
typedef struct sett__choices {
    struct { uint16_t taken, of; } *choice;
    uint32_t n, cap, at; /* at: how many of them this run has made */
    bool full;           /* there was no memory for one */
} sett__choices;
struct sett__allocations;
/* A launch that is checked: who is told of what is found, and what the checker knows. */
typedef struct sett__checked {
    sett__listener to;
    uint64_t found;   /* findings, not counted by lines */
    bool any;         /* errors, or findings that were told: those too that are suppressed */
    struct sett__costs *costs;     /* what accesses cost: jit/sim/check/costs.c; NULL: nothing yet */
    struct sett__checker *checker; /* of jit/sim/check; NULL: none yet */
    struct sett__before *before, *after; /* check/before.c: the launch before, whose end this one need not wait for; this one, for the next. NULL: none */
    sett_check_proof proof;
    sett_check_site because; /* of what stands in the way of the next proof; line 0: a finding, or nothing does */
    struct sett__before *maps; /* launches that wrote tensor maps */
    uint64_t orders, others; /* SYSTEMATIC: that have run, and that left other results than the first */
    bool all;                /* there are no more */
} sett__checked;
typedef struct sett__sim_launch {
    uint32_t grid[3], block[3];
    uint32_t cluster[3]; /* blocks of a cluster; 0: 1 */
    sett__async async;
    sett__choices *choices;      /* SYSTEMATIC: of this run; NULL: nobody chooses */
    _Atomic uint64_t *order;     /* gets a digest of what completed when, summed over clusters; NULL: nobody asks */
    struct sett__runnings *runnings; /* launches of the engine that are under way; NULL: this one alone */
    sett__checked *check; /* NULL: it is not checked. The program was made for it */
    struct sett__allocations *blocks; /* allocations that addresses are checked against; NULL: none are known */
    const void *params; /* the packed block */
    size_t params_len;
    const sett__extent *extent; /* one for each sig.param (scalars: {0,0}) */
    int threads;        /* OS threads, at most */
    uint32_t smem_more; /* bytes of shared memory after the signature's */
    uint64_t most_rounds; /* limit of rounds of while loops, for one warp in a block; more is a fault; 0: 2^31 */
    int timeout_ms;     /* limit of the launch, after which it is a fault; 0: none */
    atomic_uint *halt;  /* any thread may set it to a value other than SETT__GO_ON, which ends the launch soon. NULL: nobody
                         * does */
    int sm;             /* of the machine whose tensor cores are modelled; 0: SETT__MODELLED_SM */
    bool fast_mma;      /* products of floats by one fma after another, not as that machine computes them */
    const char *name;   /* of the kernel, for reports */
    sett_print_fn print; /* NULL: stdout */
    sett_poll_fn poll;   /* asked by the calling thread from time to time; true ends the launch. NULL: nobody is */
    void *user;
    void (*const *stand_in)(void); /* one for each sett__call */
} sett__sim_launch;
uint64_t sett__model_blocks(const sett__program *, const sett__sim_launch *); /* cluster.c: that the modelled device has room for at once */
/* tma.c: 128 bytes that are a tensor map of the CPU engine: a recipe, and what it is at one launch. stride: in bytes, of mode 1 on. */
void sett__sim_map(const sett__map *, const void *address, const uint64_t *extent, const uint64_t *stride, void *to);
const char *sett__sim_models(int sm); /* how the tensor cores of such a machine are known, in words; NULL: they are not */
/* The program keeps a pointer to the tape, which must outlive it. plain: an instruction for an operation, without anything of fast/. */
sett_status sett__program_make(const sett__tape *, bool plain, sett__program **, sett_error *);
/* The same for launches that are checked, each of which has a .check. checks: ERRORS, ALL or STRICT. */
sett_status sett__program_check(const sett__tape *, sett_checks, sett__program **, sett_error *);
void sett__program_free(sett__program *);
/* Runs the whole grid before it returns. SETT_E_FAULT: with a report that names the kernel's C line. SETT_E_CANCELLED,
 * SETT_E_CLOSED: halt ended it. */
sett_status sett__sim_run(const sett__program *, const sett__sim_launch *, sett_error *);
/* orders.c: the same; SYSTEMATIC: in all orders, or in the first of many. Memory is left as by the first, or by the first that leaves it
 * otherwise. */
sett_status sett__sim_orders(const sett__program *, const sett__sim_launch *, sett_error *);


#include "on_cpu.h"

#endif
