/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU engine: a tape as a program for the interpreter, and what a launch on the CPU checks. */
#ifndef SETT_JIT_SIM_FACE_H
#define SETT_JIT_SIM_FACE_H
#include "jit/support/support.h"

/* ---- sim/: the CPU engine --------------------------------------------------------------------- */
typedef struct sett__program sett__program; /* a tape decoded for the interpreter; immutable */
typedef struct sett__extent {
    const void *data; /* lowest address that the argument may touch */
    size_t bytes;
} sett__extent;
enum sett__halt_why { SETT__GO_ON, SETT__HALT_CANCELLED, SETT__HALT_CLOSED, SETT__HALT_LATE };
typedef struct sett__sim_launch {
    uint32_t grid[3], block[3];
    const void *params; /* the packed block */
    size_t params_len;
    const sett__extent *extent; /* one a sig.param (scalars: {0,0}) */
    int threads;        /* OS threads at most */
    uint32_t smem_more; /* bytes of shared memory behind the signature's */
    uint64_t most_rounds; /* of while loops, by one warp in a block: more are a fault; 0: 2^31 */
    int timeout_ms;     /* longer is a fault; 0: no limit */
    atomic_uint *halt;  /* set by any thread to what but SETT__GO_ON: the launch ends soon. NULL: nobody does */
    const char *name;   /* of the kernel, for reports */
    sett_print_fn print; /* NULL: stdout */
    void *user;
    void (*const *stand_in)(void); /* by sett__call */
} sett__sim_launch;
/* What a program calls in place of inline PTX, by index; NULL: past the last. */
typedef struct sett__call sett__call;
const sett__call *sett__program_call(const sett__program *, uint32_t index);
/* SETT_E_TARGET, SETT_E_DTYPE: why a call cannot be made by a function of these types (NULL: there is none); else SETT_OK. */
sett_status sett__call_check(const sett__program *, const sett__call *, const char *kernel, const char *types, sett_error *);
/* Its stand-in's name, of so many bytes; 0: none. */
const char *sett__call_name(const sett__call *, size_t *len);
/* The program keeps a pointer to the tape, which must outlive it. */
sett_status sett__program_make(const sett__tape *, sett__program **, sett_error *);
void sett__program_free(sett__program *);
/* Runs the whole grid before it returns. SETT_E_FAULT with a report that names the kernel's C line; SETT_E_CANCELLED, SETT_E_CLOSED
 * where it was ended so. */
sett_status sett__sim_run(const sett__program *, const sett__sim_launch *, sett_error *);


#include "on_cpu.h"

#endif
