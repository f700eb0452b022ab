/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors: parameters, views, how wide an access is, loads, stores and copies, and the report of them. */
#ifndef SETT_LIB_TENSOR_H
#define SETT_LIB_TENSOR_H
#include "lib/control/control.h"
#include <sett/inline_ptx.h>
#include <sett/struct.h>

/* ---- params.c: the signature ----------------------------------------------------------------------- */
/* As sett_param. wide: offsets have 64 bits, whatever its layout. */
sett_tensor *sett__declare_param(const sett__ctx *, const char *name, sett_dtype, const sett_param_args *, bool wide);
/* A parameter: a struct by value, as its bytes, (bytes):(1). */
sett_tensor *sett__declare_struct(const sett__ctx *, const char *name, int64_t bytes, int align);
/* The extents of a grid, block or cluster, each at most `most`, as the launch computes them. where: 1 + the site of the call that
 * gave them, 0 before. False: the build has failed. */
bool sett__launch_shape(const sett__ctx *, sett_arg, const int64_t most[3], sett__expr expr[3], sett_val *val[3], uint32_t *where);
void sett__check_clusters(const sett__ctx *); /* behind sett_grid, and behind sett_cluster */
/* Refuses static shared memory that does not begin at a multiple of `need` bytes, as `why` needs it; the tape is verified for the rest. */
bool sett__smem_aligned(const sett__ctx *, const sett_tensor *, uint32_t need, const char *why);
/* The same where what counts is the alignment that sett_make_smem_tensor was given, not where the tensor happens to lie. */
bool sett__smem_promised(const sett__ctx *, const sett_tensor *, uint32_t need, const char *why);
/* Takes bytes of the block's shared window. Returns their offset. */
uint32_t sett__smem_alloc(sett_build *, sett_site, const char *func, uint64_t bytes, uint32_t align);
/* The same for bytes that the launch computes. *at: their offset from the first such byte, a multiple of step; *root: the root of
 * all of them. False: the build has failed. */
bool sett__smem_more(const sett__ctx *, sett_arg bytes, uint32_t align, uint32_t step, sett_arg *at, uint32_t *root);
/* ---- view.c, make.c -------------------------------------------------------------------------------------- */
bool sett__has_value(sett_arg); /* any leaf */
/* inside.c. What is to be tested of a slice of t, or of its element, at coord; and the tests, where pred (NULL: always; scalar) is true. */
const struct sett__fixed *sett__fixed_at(const sett_build *, const sett_tensor *t, sett_arg coord);
void sett__test_inside(const sett__ctx *, const struct sett__fixed *, const sett_val *pred);
sett_tensor *sett__view(const sett_tensor *, sett_layout *, sett_arg offset); /* the same memory through another layout */
sett_tensor *sett__slice(const sett__ctx *, const sett_tensor *, sett_arg coord);
/* A view's offset in elements of `to` bits in place of `from`. SETT_E_DIVIDE: it may be no whole number of them. */
sett_arg sett__recast_offset(const sett__ctx *, const sett_tensor *, int from, int to);
sett_tensor *sett__rmem_tensor(const sett__ctx *, sett_dtype, sett_layout *, const char *name);
/* Records the root of a parameter and makes its tensor, which sett_param_at returns. Strides of a wide one become 64-bit. */
sett_tensor *sett__param_tensor(const sett__ctx *, const char *name, sett_dtype, int param, sett_layout *, uint32_t align);
bool sett__check_element(const sett__ctx *, sett_dtype); /* may a tensor in memory have this type? Else the build fails */
/* Elements from the root to the element at coord, whose profile, types and range are checked. False: the build has failed. */
bool sett__element_offset(const sett__ctx *, const sett_tensor *, sett_arg coord, sett_arg *out);

/* ---- places.c: where the elements of a view lie; width.c: how wide an access may be ------------------------------------ */
bool sett__tensor_places(const sett__ctx *, const sett_tensor *, sett__places *); /* offsets from the root */
/* The elements of each group sorted by offset, in layers. In one layer each offset has elements of one kind. The offsets of a
 * layer are among those of the layer below. */
typedef struct sett__spot { uint32_t group, elem, kind, layer; int64_t imm; } sett__spot;
sett__spot *sett__spots(const sett__ctx *, const sett__places *, const uint32_t *kind_or_null);
/* Do n elements of `bytes` at base + imm lie in the tensor's memory, as far as a build knows? Else the build fails. */
bool sett__inside(const sett__ctx *, const sett_tensor *, sett_arg base, int64_t imm, uint32_t n, uint32_t bytes);
/* The greatest power of two, in bytes up to SETT__MAX_ALIGN, that is known to divide the address base + imm elements after the root. */
uint32_t sett__align_at(const sett_tensor *, uint32_t bytes, sett_arg base, int64_t imm);

/* ---- access.c, copy.c ------------------------------------------------------------------------------------------- */
/* One access of a whole view. A load has val NULL; a store ignores fill. pred NULL: none. shape: what pred broadcasts to (NULL:
 * the tensor's). */
typedef struct sett__move {
    const sett_tensor *t;
    const sett_val *val, *pred;
    const sett_arg *shape;
    double fill;
    const sett__places *bytes; /* packed.c: access these bytes instead of t's elements */
    const uint32_t *which;     /* the element of t whose predicate each of these bytes has (or NULL) */
    uint32_t elements;
    int32_t cache; /* a sett_cache */
    int32_t how[2]; /* of ATOM: order and scope */
    bool single;    /* an access for each element */
    uint8_t atomic; /* not 0: what an ATOM does. It has a value, and gives one */
    const sett_val *was;   /* of CAS */
} sett__move;
/* Is it memory, and may it be written or read so? A coordinate tensor is not. */
bool sett__reached(const sett__ctx *, const sett_tensor *, bool written);
uint32_t sett__access(const sett__ctx *, const sett__move *); /* the op of a load; 0 for a store, or after a failure */
/* inline_ptx.c: the address, Uint64, that the memory of t, of gmem, begins at: of an argument, or what the kernel computed. */
sett_val *sett__gmem_base(const sett__ctx *, const sett_tensor *t);
/* ---- packed.c: elements narrower than a byte (but Booleans) ---- */
bool sett__is_packed(const sett_tensor *);
uint64_t sett__packed_bytes(sett_dtype, uint64_t n); /* of n elements of any type, rounded up to whole units */
/* sett__access of elements at these offsets. */
uint32_t sett__packed_access(const sett__ctx *, const sett__move *, const sett__places *);
/* copy.c: are sizes equal, and do types fit? */
bool sett__check_copy(const sett__ctx *, const sett_tensor *src, const sett_tensor *dst);
/* sett_copy_at, its operands checked. single: an access for each element. */
void sett__copy_elements(const sett__ctx *, const sett_tensor *src, const sett_tensor *dst, const sett_val *pred, bool single);
void sett__copy_async(const sett__ctx *, const sett_cp_async_args *, uint32_t widest); /* the same of sett_cp_async_at, in pieces of so many bytes at most */
const sett_val *sett__stored(const sett__ctx *, const sett_tensor *, const sett_val *); /* the value in t's type; NULL: failed */
/* The same; a number becomes a scalar of t's type. */
const sett_val *sett__stored_arg(const sett__ctx *, const sett_tensor *, sett_arg);
/* Are both static, with the same extents in the same order? Nesting and extents of 1 do not count, and an extent of either may be several
 * of the other, whose product it is: (12,5) and ((4,3),1,5), but not (2,4) and (4,2). */
bool sett__same_elements(sett_arg shape, sett_arg other);
sett_val *sett__get(const sett__ctx *, const sett_tensor *, sett_arg coord);
void sett__set(const sett__ctx *, const sett_tensor *, sett_arg val, sett_arg coord);
/* warp.c: an integer, as an i32 that an operation takes. False: it is none, and the build has failed. */
bool sett__int_operand(const sett__ctx *, sett_arg, const char *what, uint32_t *id);
/* gather.c: an element of a value at a dynamic coordinate. */
sett_val *sett__dynamic_element(const sett__ctx *, const sett_val *, sett_arg coord);

/* ---- report.c: what the layouts decided ------------------------------------------------------------------------ */
/* A line for each access, in order of recording: its widths, and what made some narrower. NUL-ended, "" for none; it lives as
 * long as the build. If memory runs out the build fails, and lines may be missing. */
const char *sett__report_text(sett_build *);
const char *sett__report_warnings(sett_build *); /* the lines of it that the log says too */
/* An access that would be twice as wide, or more, if its alignment was promised. */
typedef struct sett__narrow {
    const sett__note *note; /* NULL: before the first, which is the last that was recorded */
    const char *text;       /* "A: 8 x 4 bytes; have 4 bytes, need 16: ..." */
    const sett__site_ref *site, *root; /* the access; where its tensor is made. NULL: not known */
} sett__narrow;
bool sett__narrow_next(sett_build *, sett__narrow *); /* false: there is none, or no memory */

#endif
