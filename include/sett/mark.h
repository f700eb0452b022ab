/* SPDX-License-Identifier: Apache-2.0 */
/* Marking: a parameter's layout taken from a buffer, static until some of it is marked dynamic. CuTe DSL's from_dlpack,
 * mark_layout_dynamic and mark_compact_shape_dynamic; dlpack.h begins from a DLPack tensor instead of a buffer.
 *
 *     sett_marked x;                                              x of (8,4,16,2):(2,16,64,1)
 *     sett_from_buf(&buf, 16, false, &x, &err);                   as it is: (8,4,16,2):(2,16,64,1), 16-byte addresses
 *     sett_mark_compact_shape_dynamic(&x, 0, NULL, 2, &err);      (?{div=2},4,16,2):(2,?{i64 div=4},?{i64 div=16},1)
 *     sett_mark_layout_dynamic(&x, SETT_DEDUCE, &err);            (?,?,?,?):(?{i64},?{i64},?{i64},1)
 *
 * In the body sett_param_marked(b, "X", &x) declares the parameter: each dynamic extent is a symbol (X_shape0...), each
 * dynamic stride one of its own (X_stride0...) after mark_layout_dynamic, a product of extents after
 * mark_compact_shape_dynamic. A launch then takes any buffer of that kind and checks all that was marked: the
 * extents and strides that are still static, the leading stride, divisibility, that the strides are compact, the address,
 * and with 32-bit strides that no offset passes them.
 *
 * A mark that is refused leaves everything as it was. All of it is plain data, without pointers: sett_marked is copied by
 * assignment, and belongs into the .user bytes of a compile. */
#ifndef SETT_MARK_H
#define SETT_MARK_H
#include <limits.h>
#include <sett/build.h>
#include <sett/launch.h>

#ifdef __cplusplus
extern "C" {
#endif

/* To be read, and changed by the calls below alone. */
typedef struct sett_marked {
    int32_t dtype, rank; /* sett_dtype; 0 to 8 */
    int32_t align;       /* bytes that the address is a multiple of */
    uint8_t kind;        /* 0: nothing marked, 1: by mark_layout_dynamic, 2: by mark_compact_shape_dynamic */
    uint8_t narrow;      /* strides of 32 bits */
    uint8_t dynamic;     /* bit i: the extent of mode i */
    uint8_t forgotten;   /* by sett_forget_sizes: no more marks */
    int8_t order[8];     /* kind 1: the leading mode or -1; kind 2: the modes, the slowest first */
    int64_t shape[8], stride[8], div[8]; /* of the buffer; what the extent is a multiple of, 1 or more */
} sett_marked;

/* A buffer's element type, shape and strides, all static; the address is not looked at. assumed_align: bytes, a power of two
 * up to 65536; 0, and what is less than an element, is the element's. use_32bit_stride: dynamic strides have 32 bits (default
 * 64), and offsets with them. Errors: SETT_E_ARGUMENT, SETT_E_DTYPE, SETT_E_RANK, SETT_E_SHAPE (a negative extent),
 * SETT_E_ALIGN. */
SETT_API sett_status sett_from_buf(
    const sett_buf *, int assumed_align, bool use_32bit_stride, sett_marked *, sett_error *or_null);

/* Every extent and stride dynamic, but for strides of 0 and that of the leading mode, which is 1. leading_dim: that mode,
 * negative ones count from the end; SETT_DEDUCE: the one of stride 1 (of several the one with more than one element),
 * and if there is none, every stride is dynamic. What was marked before, divisibility too, is replaced.
 * Errors: SETT_E_RANGE (leading_dim, an extent past 2^31 - 1, with 32-bit strides a cosize past it), SETT_E_SHAPE (the
 * leading stride is not 1; a stride is negative), SETT_E_ARGUMENT (several modes could lead). */
#define SETT_DEDUCE INT_MIN
SETT_API sett_status sett_mark_layout_dynamic(sett_marked *, int leading_dim, sett_error *or_null);

/* The extent of one mode dynamic and a multiple of `divisibility` (1: of nothing). The tensor is compact, and stays so: the
 * strides of slower modes are products of extents, those of static extents of 1 become 0. Marks of several modes add up;
 * the last one of a mode counts. After mark_layout_dynamic the other extents stay dynamic.
 * stride_order: all modes, the slowest (the greatest stride) first, as PyTorch's dim_order; NULL: that of the strides, or of
 * an earlier mark. Modes of one element make it ambiguous where their stride is 1, or another's.
 * Errors: SETT_E_RANGE (mode, sizes as above), SETT_E_ARGUMENT (divisibility below 1, an order that is no permutation, is
 * ambiguous, or another than before), SETT_E_DIVIDE (the extent is no multiple), SETT_E_SHAPE (not compact in that order). */
SETT_API sett_status sett_mark_compact_shape_dynamic(
    sett_marked *, int mode, const int *stride_order, int64_t divisibility, sett_error *or_null);

/* Forgets the extents and strides that are dynamic, so that two tensors of one kind have equal bytes, which .user_size of
 * sett_compile needs to know them as one. The last call: marks are refused afterwards. NULL is ignored. */
SETT_API void sett_forget_sizes(sett_marked *);

#ifdef __cplusplus
}
#else

/* The parameter: sett_param_marked(b, "X", &x, .restricted = true), as sett_param with the layout and alignment that x says.
 * SETT_E_SHAPE: a static extent is 0 (mark it dynamic). */
typedef struct sett_param_marked_args {
    size_t size;
    const sett_marked *marked;
    bool restricted;
} sett_param_marked_args;
SETT_API sett_tensor *sett_param_marked_at(sett_site, sett_build *, const char *name, const sett_param_marked_args *);
#define sett_param_marked(b, name, ...) \
    sett_param_marked_at(SETT_HERE, b, name, &(sett_param_marked_args){.size = sizeof(sett_param_marked_args), .marked = __VA_ARGS__})

#endif /* __cplusplus */
#endif
