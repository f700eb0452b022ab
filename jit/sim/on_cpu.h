/* SPDX-License-Identifier: Apache-2.0 */
/* A part of sim.h, which includes it: what an engine keeps of memory, stand-ins and launches of the CPU. */
#ifndef SETT_JIT_ON_CPU_H
#define SETT_JIT_ON_CPU_H

/* ---- machine/allocations.c: what sett_alloc gave on the CPU --------------------------------------------------------------- */
typedef struct sett__allocations {
    pthread_mutex_t lock;
    void *tree; /* of tsearch() */
    struct sett__allocation *oldest, *newest; /* of those that were freed, and are kept for a while */
    size_t freed_blocks, freed_bytes;
    bool marks; /* what nobody has written yet holds words that tell */
} sett__allocations;
bool sett__allocation_add(sett__allocations *, const void *, size_t bytes); /* false: no memory */
bool sett__allocation_free(sett__allocations *, const void *); /* its memory too, sooner or later; false: no block starts there */
bool sett__allocations_drain(sett__allocations *);             /* sooner; false: there is nothing */
/* Unless the address lies in a block that was freed, or ends before these bytes do. */
bool sett__allocations_hold(sett__allocations *, const void *, size_t bytes);
/* The block that the address lies in, and whether it was freed; false: none. */
bool sett__allocations_around(sett__allocations *, const void *, sett__extent *, bool *freed);
/* Bound arguments against the blocks that their addresses lie in: SETT_E_RANGE. The second asks again of what was bound before
 * whether it was freed. */
sett_status sett__allocations_check(
    sett__allocations *, const sett__sig *, const char *kernel, const sett_launch_arg *, const sett__extent *, sett_error *);
sett_status sett__allocations_alive(sett__allocations *, const sett__sig *, const char *kernel, const sett__extent *, sett_error *);
enum { SETT__MARK = 0xffa, SETT__MARK_LG = 20 }; /* the upper bits of a word that nobody has written */
/* Of a block that was just made, if `marks`: each word gets a value that nobody writes by chance. */
void sett__allocation_mark(const sett__allocations *, void *, size_t bytes);
/* The first of these bytes that still holds such a value, -1: none does. The kernel may read them. */
int64_t sett__unwritten(sett__allocations *, const void *, size_t bytes);
void sett__allocations_clear(sett__allocations *); /* forgets them; the memory stays the caller's */

/* ---- host/stand_in.c: C functions in place of inline PTX ---------------------------------------------------------- */
typedef struct sett__stand_ins {
    pthread_mutex_t lock;
    struct sett__named *first;
} sett__stand_ins;
/* As sett_engine_stand_in. */
sett_status sett__stand_in_set(sett__stand_ins *, const char *name, const char *types, void (*function)(void), sett_error *);
void sett__stand_ins_clear(sett__stand_ins *);
/* One a call of the program, which the caller frees; NULL: it has no calls, or a failure. */
sett_status sett__stand_ins_of(sett__stand_ins *, const sett__program *, const char *kernel, void (***to)(void), sett_error *);

/* ---- check/before.c: the launch before, on each stream, where the next one may begin before it ends ------------- */
typedef struct sett__befores {
    pthread_mutex_t lock;
    struct sett__before *first, *maps; /* maps: launches that wrote tensor maps, the last ones */
} sett__befores;
struct sett__before *sett__befores_take(sett__befores *, const void *handle); /* NULL: what comes next on that stream begins when it has ended */
void sett__befores_put(sett__befores *, struct sett__before *, const void *handle); /* takes it over */
struct sett__before *sett__befores_maps(sett__befores *); /* held: sett__before_free lets it go */
void sett__befores_clear(sett__befores *); /* the host has waited */
void sett__befores_end(sett__befores *);
void sett__before_free(struct sett__before *); /* NULL is ignored */

/* ---- host/running.c: launches of the CPU engine that are under way ------------------------------------------------ */
typedef struct sett__running {
    struct sett__running *next, **link;
    void *handle;     /* of its stream */
    atomic_uint halt; /* sett__halt_why */
} sett__running;
typedef struct sett__runnings {
    pthread_mutex_t lock;
    pthread_cond_t none;
    sett__running *first;
    bool closed;
} sett__runnings;
bool sett__running_enter(sett__runnings *, sett__running *, void *handle); /* false: closed */
bool sett__running_alone(sett__runnings *); /* is there one alone? */
void sett__running_leave(sett__runnings *, sett__running *);
void sett__running_cancel(sett__runnings *, const void *handle); /* as sett_cancel; waits for none */
void sett__running_close(sett__runnings *); /* ends all, and returns when they have left */

#endif
