/* SPDX-License-Identifier: Apache-2.0 */
/* Ready kernels: libsett-kernels.so, built on the public headers alone.
 *
 *     sett_rms_norm_options o = {.size = sizeof o, .dtype = SETT_BF16, .cols = 4096, .residual = 1};
 *     sett_kernel *k;
 *     if (sett_kernels_compile(e, sett_rms_norm, &o, NULL, &k, &err))
 *         puts(err.text);
 *     else
 *         sett_launch(k, stream, &err, &X, &R, &W, &H, &Y, 1e-5);
 *
 * A kernel is a body and a struct of options, its user data. The options say the problem: .size, .dtype
 * and, where there are such, .cols and the flags. The members of .tuning (threads, rows, stages ...) say
 * how the kernel goes about it. Each may stay 0: the library then chooses it by element type, columns and
 * target. By name, in manifests, `sett export` and Python, all options stand side by side: cols=4096
 * threads=128.
 *
 * The body is one like any other: sett_compile takes it, and so does sett_record; `sett warm` takes its
 * family, by the object libsett-kernels.so and the symbol sett_rms_norm_family, and chooses for each
 * target as sett_kernels_compile does.
 *
 * Tensors are row-major and begin at multiples of 16 bytes. Rows lie beside each other; those of
 * sett_gemm_wgmma, sett_rope and attention may also lie apart, and operands of sett_gemm_mma as its options
 * say. M and N are extents that a launch gives; `cols` is known when the kernel is compiled. Rows may have
 * any length. Where nothing else is said, arithmetic is in Float32, and a result is rounded once, when it
 * is stored.
 *
 * A kernel may start before the kernel ahead of it in a stream or graph has ended; it waits for that
 * kernel before it touches memory (sett_griddepcontrol_wait). .no_pdl = 1 turns this off. Options that
 * cannot be are SETT_E_ARGUMENT, when the body is recorded and from the calls below, with a text that
 * names the option and what it may be. */
#ifndef SETT_KERNELS_H
#define SETT_KERNELS_H
#include <sett/engine.h>

#include <sett/kernels/rows.h>        /* softmax, rms_norm, layer_norm, silu_mul, row_reduce */
#include <sett/kernels/elementwise.h> /* elementwise, axpy, vector_reduce, transpose */
#include <sett/kernels/quantise.h>    /* quantised rows; quantise, dequantise */
#include <sett/kernels/rope.h>        /* rope, with append to a cache; tables */
#include <sett/kernels/embedding.h>   /* embedding, embedding_grad */
#include <sett/kernels/gemm.h>        /* gemm_wgmma, epilogues */
#include <sett/kernels/gemm_mma.h>    /* gemm_mma */
#include <sett/kernels/gemm_mixed.h>  /* gemm_mixed */
#include <sett/kernels/product.h>     /* a product at any M, of several kernels */
#include <sett/kernels/attention.h>   /* attention, attention_decode, attention_mla */
#include <sett/kernels/sampling.h>    /* argmax, sampling */
#include <sett/kernels/moe.h>         /* moe_topk, moe_permute, moe_unpermute */
#include <sett/kernels/cache.h>       /* copy_pages, gather_pages */

#ifdef __cplusplus
extern "C" {
#endif

/* Fills in the members of .tuning that are 0, and those of the problem that have a default, for a target
 * ("sm_90a", "cpu"); NULL: sm_90, for which a body that sett_compile is given by itself chooses too.
 * SETT_E_ARGUMENT: the body is none of this library's, the options cannot be, or the target is no such
 * name. SETT_E_TARGET: a body of one target alone, as sett_attention_mla of sm_90a, for another GPU. Two
 * versions of the library may choose differently. */
SETT_API sett_status sett_kernels_choose(
    sett_body, void *options, const char *target_or_null, sett_error *or_null);
/* The bytes of the workspace that a launch takes (`part` of sett_vector_reduce); 0: it takes none. Options
 * that are 0 count as sett_kernels_choose fills them in for the target; errors: the same, and then bytes 0.
 * */
SETT_API sett_status sett_kernels_workspace(
    sett_body, const void *options, const char *target_or_null, size_t *bytes, sett_error *or_null);
/* The least target of a GPU that a body of this library runs on; NULL: any. "sm_90a" is also the only one, as
 * no later GPU has its instructions. The CPU engine runs every body. */
SETT_API const char *sett_kernels_least_target(sett_body);
/* Chooses and compiles; target NULL: that of the engine's default device. The kernel is named as its
 * family is. The options are copied. Errors: of sett_kernels_choose and sett_compile. The kernel is NULL
 * then. */
SETT_API sett_status sett_kernels_compile(sett_engine *, sett_body, const void *options,
    const char *target_or_null, sett_kernel **, sett_error *or_null);
/* The family at an index, counted from 0; NULL past the last. The library owns it. It has .body, .name
 * ("softmax"), .user_size of its options, and .params by name. */
SETT_API const sett_family *sett_kernels_family(int index);

#ifdef __cplusplus
}
#endif
#endif
