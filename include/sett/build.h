/* SPDX-License-Identifier: Apache-2.0 */
/* A build: one kernel while it is recorded, and the memory of all its layouts, tensors and values. A kernel's
 * body is a C function; the library calls it, and each call in it records:
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
 * A build belongs to one thread at a time; a process may have many open builds. A build keeps its first
 * error, with the caller's file and line. The call that fails returns poison, an object of the right type
 * that stands for the error. A call that is given poison returns poison and does nothing else, so a body
 * needs no checks. */
#ifndef SETT_BUILD_H
#define SETT_BUILD_H
#include <sett/arg.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A kernel's body: it declares parameters, grid and block, and records the rest. The library may call it
 * again for another build, so a body keeps no object that it made. */
typedef void (*sett_body)(sett_build *, const void *user);

/* Layouts, tensors, values, structs, and tuples that a build made, end with their build; nothing else frees
 * them. A call that is given an object of another build fails with SETT_E_STALE, and so does one that is
 * given an object of an ended build, or an ended build.
 * The error becomes the status of one build, which is the first of these that there is:
 * - the build that the call is given as an argument, if it is open;
 * - the build of the call's first operand whose build is open, if the call takes no build;
 * - the open build that this thread began last: in a body that is being compiled, the body's.
 * If there is none of them, the error is lost. Whichever build has the error, the call returns NULL or
 * poison, or does nothing.
 * The library recognises every pointer that a build of this process ever gave, until 16 GiB were recorded
 * after it (a body of 400 operations records about 280 KiB). Builds take their addresses from a range of that
 * size, and no address is given out twice before all others were. Later an old pointer may be taken for a new
 * object. Under RLIMIT_AS the range is an eighth of the limit, and at least 16 MiB; all builds that are open
 * at one time must fit into the range (SETT_E_MEMORY). The range is address space, not memory. */

/* A build without a kernel, for layout algebra on the host. NULL when out of memory.
 * sett_build_end frees all that was made in the build. It returns the first error, and writes its text to
 * *err. The caller of sett_build_begin calls it once: a second call returns SETT_E_STALE, and so does
 * sett_build_status after it. A body that ends the build that it was given gets SETT_E_ARGUMENT, and its
 * compile fails. A call that is given NULL for a build returns NULL or poison, or does nothing; the first
 * build that this result reaches then fails. */
SETT_API sett_build *sett_build_begin(void);
SETT_API sett_status sett_build_end(sett_build *, sett_error *err_or_null);
/* The first error so far; SETT_OK: none. The text lives in the build. */
SETT_API sett_status sett_build_status(const sett_build *, const char **text_or_null);
/* Fails the build, as a call of sett does that refuses its operands: for functions of your own that record a
 * part of a kernel. The error's text is "FILE:LINE: function: text", of the site that is given; the first
 * error of a build is kept. A status of SETT_OK becomes SETT_E_ARGUMENT.
 *
 *     #define scale_rows(b, x, s) scale_rows_at(SETT_HERE, b, x, s)  its body: if (!s) sett_fail_at(site, b,
 *         SETT_E_ARGUMENT,
 *                                                                        "scale_rows",
 *                                                                            "there is no scale") */
SETT_API void sett_fail_at(sett_site, sett_build *, sett_status, const char *function, const char *text);
#define sett_fail(b, status, text) sett_fail_at(SETT_HERE, b, status, __func__, text)

#ifdef __cplusplus
}
#else

/* ---- the signature: what a launch must bind, in order of declaration --------- */
/* A symbol: an extent or stride that the launch supplies, never negative. Symbols of one name are one symbol:
 * two tensors that use "K" must agree at launch.
 * .div: the symbol is a multiple of it; every launch checks that. Where it is given several times, the symbol
 * is a multiple of each: a kernel's part may need more than its caller declared.
 * .wide: the symbol has 64 bits in the kernel, and so have the coordinates of tiles along it. Default: 32
 * bits, and a launch with a larger number is refused. Block and thread indices stay Int32, and products of
 * them wrap: begin an index of your own with sett_to(sett_block_idx(b, 0), SETT_I64). */
typedef struct sett_sym_args {
    size_t size;
    const char *name;
    int64_t div;
    bool wide;
} sett_sym_args;
SETT_API sett_val *sett_sym_at(sett_site, sett_build *, const sett_sym_args *);
#define sett_sym(b, ...) \
    sett_sym_at(SETT_HERE, b, &(sett_sym_args){.size = sizeof(sett_sym_args), .name = __VA_ARGS__})

/* A tensor in global memory, of 0 to 8 modes: sett_param(b, "A", SETT_F16, layout, .align = 16). The layout
 * of a single number is sett_make_layout(b, sett_arg_n(0, NULL)).
 * .align: alignment of the address in bytes, a power of two; default: that of an element. Every launch checks
 * it.
 * .restricted: the caller promises that no other buffer of the launch overlaps this one. */
typedef struct sett_param_args {
    size_t size;
    sett_layout *layout;
    int align;
    bool restricted;
} sett_param_args;
SETT_API sett_tensor *sett_param_at(sett_site, sett_build *, const char *name, sett_dtype,
    const sett_param_args *);
#define sett_param(b, name, dtype, ...) \
    sett_param_at(SETT_HERE, b, name, dtype, &(sett_param_args){.size = sizeof(sett_param_args), \
        .layout = __VA_ARGS__})

/* A number passed by value. Its place among a launch's arguments is that of this call among the declarations.
 * */
SETT_API sett_val *sett_scalar_at(sett_site, sett_build *, const char *name, sett_dtype);
#define sett_scalar(b, name, dtype) sett_scalar_at(SETT_HERE, b, name, dtype)

/* The launch shape: one to three extents each, made of C numbers, symbols and integer scalars; extents that
 * are not given are 1. A kernel without sett_grid has one block, without sett_block one thread. A body that
 * asks for a block's or a thread's index must give the matching shape: SETT_E_ARGUMENT, at the line that
 * asks. Prefer static extents for the block, which give thread indices known bounds. */
SETT_API void sett_grid_at(sett_site, sett_build *, sett_arg);
SETT_API void sett_block_at(sett_site, sett_build *, sett_arg);
#define sett_grid(b, ...) sett_grid_at(SETT_HERE_OF(#__VA_ARGS__), b, SETT_TUPLE(__VA_ARGS__))
#define sett_block(b, ...) sett_block_at(SETT_HERE_OF(#__VA_ARGS__), b, SETT_TUPLE(__VA_ARGS__))

#endif /* __cplusplus */
#endif
