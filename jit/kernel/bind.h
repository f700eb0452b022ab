/* SPDX-License-Identifier: Apache-2.0 */
/* META, and arguments bound to it. */
#ifndef SETT_JIT_KERNEL_BIND_H
#define SETT_JIT_KERNEL_BIND_H
#include "jit/cache/cache.h"
#include "jit/cuda/cuda.h"
#include "jit/sim/sim.h"
#include <sett/launch.h>

/* ---- meta.c: what a launch must know, beside the code ---------------------------------------------- */
enum { SETT__MAX_ARGS = 256 };
typedef struct sett__meta {
    sett__sig sig;
    const char *name, *target, *assembler, *compiler; /* who made the cubin and its PTX; "" of a CPU kernel */
    int min_driver, registers, spill_stores, spill_loads, stack;
    uint16_t ptx_isa;
    uint32_t params_len;
} sett__meta;
sett_status sett__meta_write(const sett__meta *, void **bytes, size_t *len, sett_error *);
/* The packed block's bytes, and whether a kernel of this signature can be launched at all: at most SETT__MAX_ARGS
 * parameters and symbols, SETT__PARAM_BYTES bytes. */
uint32_t sett__params_len(const sett__sig *);
sett_status sett__meta_check(const sett__meta *, sett_error *);
sett_status sett__meta_read(sett__meta *, sett__arena *, const void *bytes, size_t len, sett_error *);

/* ---- plan.c: what is the same at each launch of a signature -------------------------------------------- */
typedef struct sett__launch_rule {
    const char *what;
    int64_t least, most[3]; /* of x, y, z */
} sett__launch_rule;
enum { SETT__BLOCK_THREADS = 1024, SETT__SMEM_MAX = 227 * 1024 /* of any target so far; the compile has checked the kernel's own */ };
extern const sett__launch_rule sett__launch_rules[3]; /* of grid, block, cluster */

/* What gives a symbol its value: a mode's extent or stride, in one number. */
enum { SETT__UNBOUND = 0xFFFF, SETT__GIVEN = 0xFFFE /* by an entry behind the parameters */ };
#define SETT__PLACE(param, mode, stride) ((uint16_t)((param) << 5 | (unsigned)(mode) << 1 | (stride)))
#define SETT__PLACE_PARAM(place) ((place) >> 5)
#define SETT__PLACE_MODE(place) ((place) >> 1 & 15)

/* A plan lies in a few cache lines, as a launch in the driver leaves little of ours in the caches. at: in the packed block. */
typedef struct sett__arg_plan {
    uint8_t dtype, rank;
    uint8_t reach;  /* of a buffer: 2^reach elements either way, and past them the launch looks closer */
    uint8_t align;  /* of a buffer: address bits that are zero */
    uint16_t bytes; /* of what is passed by value; 0: a buffer */
    uint16_t at;
} sett__arg_plan;
typedef struct sett__sym_plan {
    uint16_t from;  /* the first extent that is this symbol alone, else the first such stride, else SETT__GIVEN */
    uint16_t at;
    uint8_t bits;   /* that it may have: 31 or 63 */
    bool odd;       /* its divisor is no power of two: the signature has it */
    bool only;      /* `from` is a stride, and the only one that is this symbol alone */
    uint32_t mask;  /* else that less one */
} sett__sym_plan;
/* What an extent or stride must be: this number; from SETT__WANT_SYM on a symbol; SETT__WANT_MORE: the signature says. */
typedef struct sett__mode_plan {
    uint32_t extent, stride;
} sett__mode_plan;
enum { SETT__WANT_SYM = 0x40000000, SETT__WANT_MORE = 0x60000000 };
typedef enum sett__dim_form { SETT__DIM_SYM, SETT__DIM_CEIL, SETT__DIM_EXPR } sett__dim_form;
typedef struct sett__dim_plan {
    uint8_t slot, form;   /* slot: in a sett__launch_dims as an array */
    uint16_t sym;
    uint32_t by;          /* of SETT__DIM_CEIL: ceil(sym / by) */
    uint32_t least, most; /* that the device takes */
} sett__dim_plan;
enum { SETT__DIMS = 9 };
sett__expr sett__dim_of(const sett__sig *, unsigned slot);

/* Behind it lie the arguments, the symbols (those that the launch computes are the last), the modes of all buffers, the
 * dimensions that are not constant, and, where there are tensor maps, where each parameter lies in the packed block. */
typedef struct sett__plan {
    const sett__sig *sig;
    const char *name;        /* the kernel's, for messages */
    uint16_t n_arg, n_sym, n_all_sym, n_mode, n_dim, params_len; /* n_sym: those that arguments give */
    bool gaps;               /* the packed block has bytes that nothing is written to */
    bool more;               /* there are checks, symbols that the launch computes, tensor maps, or shared memory to work out */
    uint8_t n_map;
    uint16_t map_at;         /* the first tensor map in the packed block; the others follow */
    uint16_t n_place;
    sett__launch_dims dims;  /* what is constant of them */
} sett__plan;
static inline const sett__arg_plan *sett__plan_args(const sett__plan *p)
{
    return (const void *)(p + 1);
}
static inline const sett__sym_plan *sett__plan_syms(const sett__plan *p)
{
    return (const void *)(sett__plan_args(p) + p->n_arg);
}
static inline const sett__mode_plan *sett__plan_modes(const sett__plan *p)
{
    return (const void *)(sett__plan_syms(p) + p->n_all_sym);
}
static inline const sett__dim_plan *sett__plan_dims(const sett__plan *p)
{
    return (const void *)(sett__plan_modes(p) + p->n_mode);
}
static inline const uint16_t *sett__plan_places(const sett__plan *p)
{
    return (const void *)(sett__plan_dims(p) + p->n_dim);
}
/* Of a signature that sett__meta_check took; it and the name live as long. gpu: a GPU's kernel. NULL: no memory. */
const sett__plan *sett__plan_make(sett__arena *, const sett__sig *, const char *name, bool gpu);

/* ---- bind.c: arguments to symbols, checks, packed block and dims ---------------------------------------- */
typedef struct sett__bound {
    sett__launch_dims dims;
    bool empty; /* a zero grid: nothing to launch */
    uint32_t params_len;
    alignas(16) unsigned char params[SETT__PARAM_BYTES];
    sett__map_facts map[SETT__MAX_MAPS]; /* plan->n_map of them, unless it is empty; params has room for what they become */
} sett__bound;
/* Binds arguments. Entries 0 to n_param - 1 are the parameters in order of declaration. Values of symbols may follow, in order:
 * entry n_param + i is symbol i, of kind SETT_LAUNCH_ARG_INT, or of kind 0 if buffers give it. A symbol takes its value from the
 * first top-level extent that is that symbol alone, else from the first such stride, else from its entry.
 * extents: one for each param, for the CPU engine, or NULL. SETT_E_BIND, SETT_E_DTYPE, SETT_E_RANK, SETT_E_SHAPE,
 * SETT_E_DIVIDE, SETT_E_ALIGN, SETT_E_RANGE or SETT_E_LIMIT. */
sett_status sett__bind(const sett__plan *, int n, const sett_launch_arg *, sett__bound *, sett__extent *extents, sett_error *);
/* What of the same is wrong of arguments whatever those of kind SETT_LAUNCH_ARG_NAME will be: kinds, types, ranks, ranges, extents that are numbers,
 * memory; without such names all that sett__bind checks. */
sett_status sett__bind_constants(const sett__plan *, int n, const sett_launch_arg *, sett_error *);
/* "k takes 2 arguments (X, a)", " and 1 number behind them (N)" where no argument gives N. */
enum { SETT__TAKES = 800 };
const char *sett__takes_text(const sett__plan *, char buf[SETT__TAKES]);
bool sett__int_fits(sett_dtype, int64_t); /* does a scalar of this integer type take it? */
bool sett__buf_span(const sett_buf *, int64_t *lo, int64_t *hi); /* lowest and highest offset in elements; false: past 64 bits */

/* ---- maps.c: tensor maps ------------------------------------------------------------------------------ */
/* What each recipe is, of the values of symbols and scalars: SETT_E_ALIGN, SETT_E_RANGE. name: the kernel's. */
sett_status sett__maps_bind(const sett__sig *, const char *name, const sett_launch_arg *, const int64_t *sym, const int64_t *scalar,
    sett__map_facts *, sett_error *);
/* Encodes them into the packed block: with a driver in a context of the device, without one as the CPU engine has them. was, from: what
 * was encoded before and the block that has it, from which equal maps are copied; or NULL. */
sett_status sett__maps_encode(const sett__plan *, sett__cuda *, int device, sett__bound *, const sett__map_facts *was, const void *from,
    sett_error *);

#endif
