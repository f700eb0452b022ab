/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors: parameters, views, how wide an access is, loads, stores and copies, and the report of them. */
#ifndef SETT_LIB_TENSOR_H
#define SETT_LIB_TENSOR_H
#include "lib/control/control.h"

/* ---- params.c: the signature ----------------------------------------------------------------------- */
/* sett_param; wide: 64-bit offsets, whatever its layout shows. */
sett_tensor *sett__declare_param(const sett__ctx *, const char *name, sett_dtype, const sett_param_args *, bool wide);
/* A struct passed by value: its bytes, (bytes):(1). */
sett_tensor *sett__declare_struct(const sett__ctx *, const char *name, int64_t bytes, int align);
/* Byte offset of a new piece of the block's shared window. */
uint32_t sett__smem_alloc(sett_build *, sett_site, const char *func, uint64_t bytes, uint32_t align);
/* The same of bytes that the launch computes, from where those begin; false: the build has failed. */
bool sett__smem_more(const sett__ctx *, sett_arg bytes, uint32_t align, uint32_t step, sett_arg *at); /* at a multiple of step */
/* ---- view.c, make.c -------------------------------------------------------------------------------------- */
sett_tensor *sett__slice(const sett__ctx *, const sett_tensor *, sett_arg coord);
sett_tensor *sett__rmem_tensor(const sett__ctx *, sett_dtype, sett_layout *, const char *name);
/* The tensor of a parameter, which sett_param_at returns: records its root. Strides of a wide one become 64-bit. */
sett_tensor *sett__param_tensor(const sett__ctx *, const char *name, sett_dtype, int param, sett_layout *, uint32_t align);
bool sett__check_element(const sett__ctx *, sett_dtype); /* may a tensor in memory have it? Else fails the build */
/* Elements from the root to the element at coord (checked: profile, integers, range); false: the build has failed. */
bool sett__element_offset(const sett__ctx *, const sett_tensor *, sett_arg coord, sett_arg *out);

/* ---- places.c: where the elements of a view lie; width.c: how wide an access may be ------------------------------------ */
bool sett__tensor_places(const sett__ctx *, const sett_tensor *, sett__places *); /* offsets from the root */
/* Elements in order of place, of each group layer by layer: in one, a place has elements of one kind. A layer's places
 * are among those of the layer below. */
typedef struct sett__spot { uint32_t group, elem, kind, layer; int64_t imm; } sett__spot;
sett__spot *sett__spots(const sett__ctx *, const sett__places *, const uint32_t *kind_or_null);
/* Do n elements of `bytes` at base + imm lie in the tensor's memory, as far as a build can know? Else it fails. */
bool sett__inside(const sett__ctx *, const sett_tensor *, sett_arg base, int64_t imm, uint32_t n, uint32_t bytes);
/* The power of two that base + imm elements from the root is known to be a multiple of, in bytes. */
uint32_t sett__align_at(const sett_tensor *, uint32_t bytes, sett_arg base, int64_t imm);

/* ---- access.c, copy.c ------------------------------------------------------------------------------------------- */
/* One load or store of a whole view. Loads: val NULL; stores: fill unused. pred may be NULL. shape: what pred broadcasts over (the tensor's where it is absent: NULL). */
typedef struct sett__move {
    const sett_tensor *t;
    const sett_val *val, *pred;
    const sett_arg *shape;
    double fill;
    const sett__places *bytes; /* packed.c: of bytes, in place of t's elements; and, of each, which of t's elements (or NULL) */
    const uint32_t *which;     /* has its predicate */
    uint32_t elements;
    uint8_t cache; /* a sett_cache */
    uint8_t atomic, flags; /* not 0: of ATOM what it does, and in which order and scope. It has a value, and gives one */
    const sett_val *was;   /* of CAS */
} sett__move;
bool sett__reached(const sett__ctx *, const sett_tensor *, bool written); /* of none of coordinates: is it memory that can be? */
uint32_t sett__access(const sett__ctx *, const sett__move *); /* the loaded op; of a store, or after a failure, 0 */
/* ---- packed.c: elements narrower than a byte, but no Booleans */
bool sett__is_packed(const sett_tensor *);
uint64_t sett__packed_bytes(sett_dtype, uint64_t n); /* of n elements of any type, in whole units */
uint32_t sett__packed_access(const sett__ctx *, const sett__move *, const sett__places *); /* as sett__access; of elements at places */
bool sett__check_copy(const sett__ctx *, const sett_tensor *src, const sett_tensor *dst); /* copy.c: as many elements, of types that go */
const sett_val *sett__stored(const sett__ctx *, const sett_tensor *, const sett_val *); /* as t's type; NULL: failed */
const sett_val *sett__stored_arg(const sett__ctx *, const sett_tensor *, sett_arg); /* a number is a scalar of t's type */
bool sett__same_elements(sett_arg shape, sett_arg other); /* static, the same extents in the same order */
sett_val *sett__get(const sett__ctx *, const sett_tensor *, sett_arg coord);
void sett__set(const sett__ctx *, const sett_tensor *, sett_arg val, sett_arg coord);
sett_val *sett__dynamic_element(const sett__ctx *, const sett_val *, sett_arg coord); /* gather.c: of a value, by values */

/* ---- report.c: what the layouts decided ------------------------------------------------------------------------ */
/* One line an access: its widths, and what lost some; in order of recording, NUL-ended, in the arena; "" for
 * none. Valid until the build ends. Without memory the build fails, and lines may be missing. */
const char *sett__report_text(sett_build *);

#endif
