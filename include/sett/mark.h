/* SPDX-License-Identifier: Apache-2.0 */
/* Marking: a parameter's layout that is taken from a buffer, and is static until parts of it are marked
 * dynamic. These are CuTe DSL's from_dlpack, mark_layout_dynamic and mark_compact_shape_dynamic; dlpack.h
 * starts from a DLPack tensor instead of a buffer.
 *
 *     sett_marked x;                                              x of (8,4,16,2):(2,16,64,1)
 *     sett_from_buf(&buf, 16, false, &x, &err);           as it is: (8,4,16,2):(2,16,64,1), 16-byte addresses
 *     sett_mark_compact_shape_dynamic(&x, 0, NULL, 2,
 *         &err);  (?{div=2},4,16,2):(2,?{i64 div=4},?{i64 div=16},1)
 *     sett_mark_layout_dynamic(&x, SETT_DEDUCE, &err);            (?,?,?,?):(?{i64},?{i64},?{i64},1)
 *
 * In the body sett_param_marked(b, "X", &x) declares the parameter. Each dynamic extent is a symbol (X_shape0
 * ...). A dynamic stride is a symbol of its own (X_stride0 ...) after mark_layout_dynamic, and a product of
 * extents after mark_compact_shape_dynamic. A launch takes any buffer that fits, and checks the extents and
 * strides that are still static, the leading stride, divisibility, that the strides are compact, the address,
 * and, with 32-bit strides, that no offset needs more.
 *
 * A mark that fails changes nothing. sett_marked is plain data without pointers: copy it by assignment, and
 * put it into the .user bytes of a compile. */
#ifndef SETT_MARK_H
#define SETT_MARK_H
#include <limits.h>
#include <sett/build.h>
#include <sett/launch.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Read its fields, but change them only by the calls below. */
typedef struct sett_marked {
    int32_t dtype, rank; /* sett_dtype; 0 to 8 */
    int32_t align;       /* bytes, of the address */
    uint8_t kind;        /* 0: no marks; 1: of mark_layout_dynamic; 2: of mark_compact_shape_dynamic */
    uint8_t narrow;      /* strides have 32 bits */
    uint8_t dynamic;     /* bit i: the extent of mode i is dynamic */
    uint8_t forgotten;   /* sett_forget_sizes was called: no more marks */
    int8_t order[8];     /* kind 1: the leading mode or -1; kind 2: all modes, the slowest first */
    int64_t shape[8], stride[8], div[8]; /* of the buffer; div: divisor of the extent, at least 1 */
} sett_marked;

/* Takes a buffer's element type, shape and strides, all static. Its address is not used. assumed_align:
 * alignment of addresses in bytes, a power of two up to 65536; 0, or less than an element's, means an
 * element's. use_32bit_stride: dynamic strides and offsets have 32 bits (default 64). SETT_E_ARGUMENT,
 * SETT_E_DTYPE, SETT_E_RANK, SETT_E_SHAPE (a negative extent), SETT_E_ALIGN. */
SETT_API sett_status sett_from_buf(
    const sett_buf *, int assumed_align, bool use_32bit_stride, sett_marked *, sett_error *or_null);

/* Makes every extent and stride dynamic, except for strides of 0 and the leading mode's stride, which is 1.
 * leading_dim: that mode; a negative number counts from the end. SETT_DEDUCE: the mode of stride 1, of
 * several the one with more than one element; if there is none, every stride is dynamic. Earlier marks, also
 * of divisibility, are replaced.
 * SETT_E_RANGE: leading_dim; an extent above 2^31 - 1; with 32-bit strides such a cosize. SETT_E_SHAPE: the
 * leading stride is not 1, or a stride is negative. SETT_E_ARGUMENT: several modes could lead. */
#define SETT_DEDUCE INT_MIN
SETT_API sett_status sett_mark_layout_dynamic(sett_marked *, int leading_dim, sett_error *or_null);

/* Makes the extent of one mode dynamic, and a multiple of `divisibility` (1: any). The tensor is compact and
 * must stay so: strides of slower modes become products of extents, and strides of modes of static extent 1
 * become 0. Marks of several modes add up; of one mode the last counts. After mark_layout_dynamic the other
 * extents stay dynamic.
 * stride_order: all modes, the slowest (of the greatest stride) first, as PyTorch's dim_order. NULL: that of
 * the strides, or of an earlier mark. Modes of one element whose stride is 1, or that of another mode, make
 * it ambiguous.
 * SETT_E_RANGE: mode; sizes as above. SETT_E_ARGUMENT: divisibility below 1; an order that is no permutation,
 * is ambiguous, or differs from an earlier one. SETT_E_DIVIDE: the extent is no multiple. SETT_E_SHAPE: the
 * tensor is not compact in that order. */
SETT_API sett_status sett_mark_compact_shape_dynamic(
    sett_marked *, int mode, const int *stride_order, int64_t divisibility, sett_error *or_null);

/* Forgets the dynamic extents and strides, so that two tensors that differ only in them have equal bytes and
 * .user_size of sett_compile recognises them. Call it last: later marks fail. NULL is ignored. */
SETT_API void sett_forget_sizes(sett_marked *);

#ifdef __cplusplus
}
#else

/* Declares the parameter, sett_param_marked(b, "X", &x, .restricted = true): as sett_param, with the layout
 * and alignment of x. SETT_E_SHAPE: a static extent is 0 (mark it dynamic). */
typedef struct sett_param_marked_args {
    size_t size;
    const sett_marked *marked;
    bool restricted;
} sett_param_marked_args;
SETT_API sett_tensor *sett_param_marked_at(sett_site, sett_build *, const char *name,
    const sett_param_marked_args *);
#define sett_param_marked(b, name, ...) \
    sett_param_marked_at(SETT_HERE, b, name, \
        &(sett_param_marked_args){.size = sizeof(sett_param_marked_args), .marked = __VA_ARGS__})

#endif /* __cplusplus */
#endif
