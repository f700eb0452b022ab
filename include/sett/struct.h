/* SPDX-License-Identifier: Apache-2.0 */
/* Structs: C structs of the host, as kernels read and write them in global or shared memory (CuTe's
 * cute.struct) or get them by value (cute.native_struct).
 *
 *     struct item { float scale; int16_t q[6]; double sum; };         the host's
 *     sett_struct *Item = sett_make_struct(b, "item", SETT_FIELD("scale", SETT_F32), SETT_FIELD("q",
 *         SETT_I16, .count = 6),
 *         SETT_FIELD("sum", SETT_F64));
 *     sett_tensor *P = sett_param_struct(b, "P", Item, N);            N of them; bound as
 *     sett_launch(k, s, &err, &(sett_buf){...})           sett_buf_2d(items, SETT_U8, n, sizeof(struct item))
 *     sett_at(sett_field_tensor(P, Item, "q"), i, 2)                  P[i].q[2]
 *
 * Offsets, size and alignment are those that C gives equal declarations, on x86-64 and in CUDA. Each field
 * lies at the next multiple of its alignment: that of its element, or more by .align (C's _Alignas). The size
 * is a multiple of the largest alignment. Memory that holds structs is a tensor of bytes (SETT_U8), whose
 * last mode is the bytes of one struct. */
#ifndef SETT_STRUCT_H
#define SETT_STRUCT_H
#include <sett/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sett_struct sett_struct; /* lives in its build */
typedef struct sett_field {
    const char *name;
    sett_dtype dtype;      /* type of a number, or of an array's elements; whole bytes only */
    int64_t count;         /* elements of an array; 0: no array */
    int align;             /* least alignment in bytes, a power of two up to 1024; 0: the type's */
    const sett_struct *of; /* a struct or union, instead of dtype */
} sett_field;

/* Bytes of one struct (the distance of two in an array), and the alignment of its address. 0 of NULL or
 * poison. */
SETT_API int64_t sett_struct_size(const sett_struct *);
SETT_API int sett_struct_align(const sett_struct *);
/* Bytes from the start of the struct to a field: "sum", or "head.sum" of a struct inside (of an array, its
 * first element). -1: there is no such field. */
SETT_API int64_t sett_struct_offset(const sett_struct *, const char *path);
/* "item {scale: f32 at 0, q: i16[6] at 4, sum: f64 at 16} 24 bytes, align 8". snprintf-like. */
SETT_API int sett_struct_str(const sett_struct *, char *buf, size_t size);

#ifdef __cplusplus
}
#else

/* SETT_FIELD("x", SETT_F32), SETT_FIELD("a", SETT_F16, .count = 4096, .align = 128); SETT_FIELD_OF("head",
 * Head), also with .count and .align. */
#define SETT_FIELD(name_, ...) {.name = name_, .dtype = __VA_ARGS__}
#define SETT_FIELD_OF(name_, ...) {.name = name_, .of = __VA_ARGS__}
/* Makes a struct, or a union, whose fields all lie at 0. Up to 1024 fields. SETT_E_ARGUMENT: a name is
 * missing or used twice. SETT_E_LIMIT: more than 2^30 bytes. */
SETT_API sett_struct *sett_make_struct_at(sett_site, sett_build *, const char *name, bool is_union, int n,
    const sett_field *);
#define sett_make_struct(b, name, ...) SETT_STRUCT_(b, name, false, __VA_ARGS__)
#define sett_make_union(b, name, ...) SETT_STRUCT_(b, name, true, __VA_ARGS__)
#define SETT_STRUCT_(b, name, is_union, ...) \
    sett_make_struct_at(SETT_HERE, b, name, is_union, \
        (int)(sizeof((const sett_field[]){__VA_ARGS__}) / sizeof(sett_field)), \
        (const sett_field[]){__VA_ARGS__})

/* A parameter: n structs in global memory, as bytes (n,size):(size,1). n is a C number or made of symbols. A
 * launch checks size and alignment. */
SETT_API sett_tensor *sett_param_struct_at(sett_site, sett_build *, const char *name, const sett_struct *,
    sett_arg n);
#define sett_param_struct(b, name, s, n) sett_param_struct_at(SETT_HERE, b, name, s, SETT_A(n))
/* A parameter: one struct by value, as bytes (size):(1) that are only read. It lies in the memory of the
 * kernel's parameters, so that a dynamic index into one of its arrays costs no more than a load. All
 * parameters of a kernel together take at most 4096 bytes (SETT_E_LIMIT). A launch takes SETT_STRUCT(x) for
 * it, whose size must be the struct's:
 *
 *     sett_tensor *P = sett_scalar_struct(b, "p", Item);   sett_mul(x, sett_field(P, Item, "scale"))
 *     sett_launch(k, s, &err, &X, SETT_STRUCT(item))       with struct item item = {...} */
SETT_API sett_tensor *sett_scalar_struct_at(sett_site, sett_build *, const char *name, const sett_struct *);
#define sett_scalar_struct(b, name, s) sett_scalar_struct_at(SETT_HERE, b, name, s)
/* One struct in shared memory, as bytes (size):(1), aligned as the struct. Use a union to give two uses the
 * same bytes. */
SETT_API sett_tensor *sett_make_smem_struct_at(sett_site, sett_build *, const sett_struct *);
#define sett_make_smem_struct(b, s) sett_make_smem_struct_at(SETT_HERE, b, s)
/* A field of every struct in t, a tensor of one of the three calls above or a slice of it. The result has t's
 * other modes, then one mode for each array on the path, outermost first. P of N items, "q": (N,6); sliced at
 * an item: (6). If no mode is left it is 1:0, read by sett_at(x, 0). A field that is a struct gives its
 * bytes. To give an array another layout, also a swizzled one, use sett_composition(x, layout). */
SETT_API sett_tensor *sett_field_tensor_at(sett_site, const sett_tensor *t, const sett_struct *,
    const char *path);
#define sett_field_tensor(t, s, path) sett_field_tensor_at(SETT_HERE, t, s, path)
/* The contents of a field: sett_load(sett_field_tensor(t, s, path)), where a single number is a scalar. An
 * array has the array's shape. */
SETT_API sett_val *sett_field_at(sett_site, const sett_tensor *t, const sett_struct *, const char *path);
#define sett_field(t, s, path) sett_field_at(SETT_HERE, t, s, path)

#endif /* __cplusplus */
#endif
