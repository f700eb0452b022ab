/* SPDX-License-Identifier: Apache-2.0 */
/* META, and arguments bound to it. */
#ifndef SETT_JIT_KERNEL_BIND_H
#define SETT_JIT_KERNEL_BIND_H
#include "jit/cache/cache.h"
#include "jit/cuda/cuda.h"
#include "jit/sim/sim.h"
#include "lib/build/build.h"

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
/* What the assembler said of the code: each kernel's own, where else META is that of many kernels. */
typedef struct sett__said { int registers, spill_stores, spill_loads, stack; } sett__said;
sett__said sett__meta_said(sett__blob meta); /* of META that can be read */
/* What META and its layer are known by, but for that: of META that can be read, and the one address of the layer's path. */
enum { SETT__META_ID = 16 };
void sett__meta_id(sett__blob meta, const char *layer, uint8_t id[SETT__META_ID]);

/* ---- bind.c: arguments to symbols, checks, packed block and dims ---------------------------------------- */
typedef struct sett__bound {
    sett__launch_dims dims;
    bool empty; /* a zero grid: nothing to launch */
    uint32_t params_len;
    alignas(16) unsigned char params[SETT__PARAM_BYTES];
} sett__bound;
/* Arguments 0 to n_param - 1 are the parameters in order of declaration. After them may stand values for the
 * symbols, in order: entry n_param + i is symbol i, of kind SETT_BIND_INT, or of kind 0 where the buffers give it. A
 * symbol takes the value of the first top-level extent that is that symbol alone, else of the first such stride,
 * else of its entry.
 * extents: NULL, or one a param for the CPU engine. name: the kernel's, for messages. Fails with SETT_E_BIND,
 * SETT_E_DTYPE, SETT_E_RANK, SETT_E_SHAPE, SETT_E_DIVIDE, SETT_E_ALIGN, SETT_E_RANGE or SETT_E_LIMIT. */
sett_status sett__bind(const sett__sig *, const char *name, int n, const sett_bind *, bool gpu, sett__bound *,
    sett__extent *extents, sett_error *);

/* Of grid, block, cluster: x, y, z. */
enum { SETT__BLOCK_THREADS = 1024, SETT__SMEM_MAX = 227 * 1024 /* of any target so far; the compile has checked the kernel's own */ };
typedef struct sett__dim_rule {
    const char *what;
    int64_t least, most[3];
} sett__dim_rule;
extern const sett__dim_rule sett__dim_rules[3];
bool sett__int_fits(sett_dtype, int64_t); /* does a scalar of this integer type take it? */

/* ---- plan.c: the same for a GPU's kernel, where all is as usual --------------------------------------------- */
typedef struct sett__plan sett__plan;
/* NULL: not of a kind that can be planned, or no memory. It can be copied to wherever words may lie, and all of the signature but
 * the names is in it: texts by their addresses. */
const sett__plan *sett__plan_make(sett__arena *, const sett__sig *);
size_t sett__plan_bytes(const sett__plan *);
/* malloc'ed, without names; it binds as the one that the plan was made of. NULL: no memory. */
sett__sig *sett__plan_sig(const sett__plan *);
uint32_t sett__plan_struct(const sett__plan *, size_t arg); /* bytes of a parameter that is a struct; 0: it is none */
/* True: the arguments are right, and *out is what sett__bind would make of them for a GPU; nothing is empty. False: ask
 * sett__bind. */
bool sett__plan_follow(const sett__plan *, int n, const sett_bind *, sett__bound *);

#endif
