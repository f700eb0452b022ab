/* SPDX-License-Identifier: Apache-2.0 */
/* A build: one kernel being written, and the arena that all its layouts, tensors and
 * values live in. A kernel's body is a C function that is called once and records:
 *
 *     static void scale(sett_build *b, const void *user)
 *     {
 *         sett_val *N = sett_sym(b, "N");
 *         sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N));
 *         sett_val *a = sett_scalar(b, "a", SETT_F32);
 *         sett_grid(b, sett_ceil_div(N, 256));
 *         sett_block(b, 256);
 *         ...
 *     }
 *
 * One thread uses a build at a time; many builds may be open. The first error is kept
 * with the caller's file and line; the failing call returns the build's poison object,
 * and calls given poison return poison, so a body needs no checks. */
#ifndef SETT_BUILD_H
#define SETT_BUILD_H
#include <sett/arg.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a kernel's body is: it declares parameters, grid and block, and records. It may
 * be called again for another build; it must not keep what it makes. */
typedef void (*sett_body)(sett_build *, const void *user);

/* Layouts, tensors, values, structs and tuples die with their build; nothing else frees them. One that is used in another
 * build gives SETT_E_STALE, in every call, also after its own build has ended; so does a build that has ended where a call
 * takes a build. A tuple of numbers that a build made is one of its objects too.
 * Which build fails: the one that the call is given, else that of the first operand whose build is open. Where the build that
 * the call is given has ended, or those of all operands, the build that this thread began last and that is open, as a kernel's
 * body has one; where there is none, the call gives NULL, poison or nothing.
 * This holds for any pointer that a build of this process gave, until 16 GiB were recorded since (a body of 400 operations
 * takes about 280 KiB): builds lie in so many addresses, and none is given out again before the others were. After that
 * an old pointer may be taken for a new object. With RLIMIT_AS the addresses are at most an eighth of it, and 16 MiB at
 * least; what builds hold at one time must fit (SETT_E_MEMORY). Addresses cost no memory. */

/* A build without a kernel, for layout algebra on the host. NULL when out of memory.
 * end frees all that was made in it; it returns the first error, and its text in *err. It is called once, by who began the
 * build: a second call gives SETT_E_STALE, and so does sett_build_status then. A body that ends the build it was
 * given gets SETT_E_ARGUMENT, and the compile fails. Given NULL for a build, calls give NULL, poison or nothing, which
 * fails the first build that it reaches. */
SETT_API sett_build *sett_build_begin(void);
SETT_API sett_status sett_build_end(sett_build *, sett_error *err_or_null);
/* The first error so far (SETT_OK: none). The text lives in the build. */
SETT_API sett_status sett_build_status(const sett_build *, const char **text_or_null);

#ifdef __cplusplus
}
#else

/* ---- the signature: what a launch must bind, in order of declaration --------- */
/* A symbol: an extent or stride that the launch supplies, shared by name and never negative. Two tensors
 * that use "K" must agree. .div: it is a multiple of this, checked by every launch.
 * .wide: 64 bits in the kernel (default 32: a launch with a larger value is refused), and so are the coordinates of
 * tiles along it. Block and thread indices stay Int32, and products of them wrap: for an index of your own start from
 * sett_to(sett_block_idx(b, 0), SETT_I64). */
typedef struct sett_sym_args {
    size_t size;
    const char *name;
    int64_t div;
    bool wide;
} sett_sym_args;
SETT_API sett_val *sett_sym_at(sett_site, sett_build *, const sett_sym_args *);
#define sett_sym(b, ...) sett_sym_at(SETT_HERE, b, &(sett_sym_args){.size = sizeof(sett_sym_args), .name = __VA_ARGS__})

/* A tensor in global memory: sett_param(b, "A", SETT_F16, layout, .align = 16), of 0 to 8 modes; the layout of one number
 * is sett_make_layout(b, sett_arg_n(0, NULL)).
 * .align: bytes, a power of two, default the element's; checked by every launch.
 * .restricted: nothing else that the kernel is given overlaps it. */
typedef struct sett_param_args {
    size_t size;
    sett_layout *layout;
    int align;
    bool restricted;
} sett_param_args;
SETT_API sett_tensor *sett_param_at(sett_site, sett_build *, const char *name, sett_dtype, const sett_param_args *);
#define sett_param(b, name, dtype, ...) \
    sett_param_at(SETT_HERE, b, name, dtype, &(sett_param_args){.size = sizeof(sett_param_args), .layout = __VA_ARGS__})

/* A number passed by value, positional among the tensors. */
SETT_API sett_val *sett_scalar_at(sett_site, sett_build *, const char *name, sett_dtype);
#define sett_scalar(b, name, dtype) sett_scalar_at(SETT_HERE, b, name, dtype)

/* Launch shape: up to three extents, expressions of symbols and integer scalars; the
 * rest 1. Without sett_grid one block; without sett_block one thread: a body that asks for a block's index, or a
 * thread's, must say them (SETT_E_ARGUMENT at the line that asks). The block's extents
 * are best static: then thread indices have known bounds. */
SETT_API void sett_grid_at(sett_site, sett_build *, sett_arg);
SETT_API void sett_block_at(sett_site, sett_build *, sett_arg);
#define sett_grid(b, ...) sett_grid_at(SETT_HERE_OF(#__VA_ARGS__), b, SETT_TUPLE(__VA_ARGS__))
#define sett_block(b, ...) sett_block_at(SETT_HERE_OF(#__VA_ARGS__), b, SETT_TUPLE(__VA_ARGS__))

#endif /* __cplusplus */
#endif
