/* SPDX-License-Identifier: Apache-2.0 */
/* Structs: what a C struct looks like to a kernel, in global or in shared memory (CuTe's cute.struct) or passed by value
 * (cute.native_struct).
 *
 *     struct item { float scale; int16_t q[6]; double sum; };         the host's
 *     sett_struct *Item = sett_make_struct(b, "item", SETT_FIELD("scale", SETT_F32), SETT_FIELD("q", SETT_I16, .count = 6),
 *         SETT_FIELD("sum", SETT_F64));
 *     sett_tensor *P = sett_param_struct(b, "P", Item, N);            N of them; bound as
 *     sett_launch(k, s, &err, &(sett_buf){...})                       sett_buf_2d(items, SETT_U8, n, sizeof(struct item))
 *     sett_at(sett_field_tensor(P, Item, "q"), i, 2)                  P[i].q[2]
 *
 * Offsets, size and alignment are those of C on x86-64 and in CUDA for equal declarations: each field at the next
 * multiple of its alignment, which is its element's size, or more by .align (C's _Alignas); the size a multiple of the
 * largest alignment. Memory that holds a struct is a tensor of bytes (SETT_U8) whose last mode is the bytes of one. */
#ifndef SETT_STRUCT_H
#define SETT_STRUCT_H
#include <sett/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sett_struct sett_struct; /* lives in its build */
typedef struct sett_field {
    const char *name;
    sett_dtype dtype;      /* of a number or of an array's elements; of whole bytes */
    int64_t count;         /* of an array; 0: no array */
    int align;             /* at least, in bytes: a power of two up to 1024; 0: the type's */
    const sett_struct *of; /* a struct or union in place of dtype */
} sett_field;

/* Bytes of one, in an array of them too, and what its address must be a multiple of. 0 of NULL or poison. */
SETT_API int64_t sett_struct_size(const sett_struct *);
SETT_API int sett_struct_align(const sett_struct *);
/* Bytes from the start to a field: "sum", or through structs that hold it, "head.sum" (of an array: its first). -1: there
 * is none. */
SETT_API int64_t sett_struct_offset(const sett_struct *, const char *path);
/* "item {scale: f32 at 0, q: i16[6] at 4, sum: f64 at 16} 24 bytes, align 8". snprintf-like. */
SETT_API int sett_struct_str(const sett_struct *, char *buf, size_t size);

#ifdef __cplusplus
}
#else

/* SETT_FIELD("x", SETT_F32), SETT_FIELD("a", SETT_F16, .count = 4096, .align = 128); SETT_FIELD_OF("head", Head), also with
 * .count and .align. */
#define SETT_FIELD(name_, ...) {.name = name_, .dtype = __VA_ARGS__}
#define SETT_FIELD_OF(name_, ...) {.name = name_, .of = __VA_ARGS__}
/* Up to 1024 fields; SETT_E_ARGUMENT for names that are missing or used twice, SETT_E_LIMIT past 2^30 bytes. In a union all begin at 0. */
SETT_API sett_struct *sett_make_struct_at(sett_site, sett_build *, const char *name, bool is_union, int n, const sett_field *);
#define sett_make_struct(b, name, ...) SETT_STRUCT_(b, name, false, __VA_ARGS__)
#define sett_make_union(b, name, ...) SETT_STRUCT_(b, name, true, __VA_ARGS__)
#define SETT_STRUCT_(b, name, is_union, ...) \
    sett_make_struct_at(SETT_HERE, b, name, is_union, (int)(sizeof((const sett_field[]){__VA_ARGS__}) / sizeof(sett_field)), \
        (const sett_field[]){__VA_ARGS__})

/* n structs in global memory, n a number or a symbol's expression: the bytes as a tensor (n,size):(size,1). A launch
 * checks size and alignment. */
SETT_API sett_tensor *sett_param_struct_at(sett_site, sett_build *, const char *name, const sett_struct *, sett_arg n);
#define sett_param_struct(b, name, s, n) sett_param_struct_at(SETT_HERE, b, name, s, SETT_A(n))
/* One struct passed by value: (size):(1) of bytes that are only read, in the memory of the kernel's parameters, so that a
 * dynamic index into an array of it costs no more than a load. All parameters of a kernel together have at most 4096 bytes
 * (SETT_E_LIMIT). A launch takes SETT_STRUCT(x) in its place, of which the size must be the struct's:
 *
 *     sett_tensor *P = sett_scalar_struct(b, "p", Item);   sett_mul(x, sett_field(P, Item, "scale"))
 *     sett_launch(k, s, &err, &X, SETT_STRUCT(item))       with struct item item = {...} */
SETT_API sett_tensor *sett_scalar_struct_at(sett_site, sett_build *, const char *name, const sett_struct *);
#define sett_scalar_struct(b, name, s) sett_scalar_struct_at(SETT_HERE, b, name, s)
/* One struct in shared memory: (size):(1), aligned as it needs. Members of a union share their bytes: what is no longer
 * needed is used again. */
SETT_API sett_tensor *sett_make_smem_struct_at(sett_site, sett_build *, const sett_struct *);
#define sett_make_smem_struct(b, s) sett_make_smem_struct_at(SETT_HERE, b, s)
/* A field of every struct in t, which is what the two above give or a slice of it: a tensor with t's other modes, then one
 * for each array on the path, outermost first. P of N items, "q": (N,6); sliced at an item: (6). A number that no mode is
 * left for is 1:0, read by sett_at(x, 0). A field that is a struct gives its bytes. A layout is put over an array by
 * sett_composition(x, layout), a swizzled one too. */
SETT_API sett_tensor *sett_field_tensor_at(sett_site, const sett_tensor *t, const sett_struct *, const char *path);
#define sett_field_tensor(t, s, path) sett_field_tensor_at(SETT_HERE, t, s, path)
/* What is in a field: of one struct a number's value, or of an array all of it, with the array's shape. As
 * sett_load(sett_field_tensor(t, s, path)), where a number is a scalar. */
SETT_API sett_val *sett_field_at(sett_site, const sett_tensor *t, const sett_struct *, const char *path);
#define sett_field(t, s, path) sett_field_at(SETT_HERE, t, s, path)

#endif /* __cplusplus */
#endif
