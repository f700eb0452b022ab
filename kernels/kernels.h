/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels of this folder share. */
#ifndef KERNELS_H
#define KERNELS_H
#define SETT_SHORT
#include "devices.h"
#include <sett/async.h>
#include <sett/build.h>
#include <sett/cluster.h>
#include <sett/control.h>
#include <sett/divmod.h>
#include <sett/kernels.h>
#include <sett/layout.h>
#include <sett/mma.h>
#include <sett/pipeline.h>
#include <sett/print.h>
#include <sett/scheduler.h>
#include <sett/struct.h>
#include <sett/tensor.h>
#include <sett/tma.h>
#include <sett/tuple.h>
#include <sett/value.h>
#include <sett/warp.h>
#include <sett/arg.h> /* again, for SETT_SHORT */

/* What is settled before a kernel is recorded. sm: 90, 75 ...; 0 is the CPU engine. wgmma: sm_90a and the CPU engine have it. why: empty until
 * an option cannot be. */
typedef struct choice {
    int sm;
    bool wgmma;
    char why[200];
} choice;

/* A kernel: its family, and the function that fills in the options that are 0 and refuses those that cannot be. */
typedef struct kernel {
    const sett_family *family;
    void (*settle)(void *options, choice *);
    const char *only; /* the one target of a GPU that it runs on; NULL: any */
    const char *least; /* the least of those that it runs on; NULL: any */
    size_t (*workspace)(const void *settled); /* bytes; NULL: it has none */
} kernel;
extern const kernel sett__softmax, sett__rms_norm, sett__layer_norm, sett__silu_mul, sett__elementwise, sett__axpy, sett__vector_reduce, sett__row_reduce,
    sett__transpose, sett__quantise, sett__rope, sett__dequantise, sett__embedding_grad, sett__gemm_wgmma, sett__gemm_mma, sett__gemm_few_rows, sett__gemm_mixed, sett__attention, sett__attention_decode, sett__attention_mla;
extern const kernel sett__argmax, sett__sampling, sett__cumsum, sett__embedding, sett__copy_pages, sett__gather_pages, sett__moe_topk, sett__moe_permute, sett__moe_unpermute;

/* Former names of options, of all families: a row is of those that have the present one. */
enum { SETT__N_RENAMED = 4 };
extern const sett_family_renamed sett__renamed[SETT__N_RENAMED];

/* Names of options' values, of all families likewise. */
enum { SETT__N_WORDS = 30 };
extern const sett_family_word sett__words[SETT__N_WORDS];

/* A member of .tuning, which manifests know by its own name alone. */
#define TUNING_PARAM(type_, member_) SETT_FAMILY_PARAM_NAMED(#member_, type_, tuning.member_)
/* A family by the name of the kernel, with all members of its options but .size as parameters; `params` is their list. */
#define FAMILY(kernel_, params_) FAMILY_OF(kernel_, params_, .only = NULL)
/* The same, with members of `kernel` that most leave out. */
#define FAMILY_OF(kernel_, params_, ...) \
    static const sett_##kernel_##_options kernel_##_defaults = {.size = sizeof(sett_##kernel_##_options)}; \
    const sett_family sett_##kernel_##_family = {.size = sizeof(sett_family), \
        .body = sett_##kernel_, \
        .name = #kernel_, \
        .user_size = sizeof(sett_##kernel_##_options), \
        .defaults = &kernel_##_defaults, \
        .params = params_, \
        .n_params = sizeof params_ / sizeof *params_, \
        .choose = sett_kernels_choose, \
        .renamed = sett__renamed, \
        .n_renamed = SETT__N_RENAMED, \
        .words = sett__words, \
        .n_words = SETT__N_WORDS, \
        .ready_made = true}; \
    const kernel sett__##kernel_ = {.family = &sett_##kernel_##_family, .settle = settle, __VA_ARGS__}

/* The first lines of a body: a copy of its options, settled; false: it cannot be, and the build has the error. */
bool sett__kernel_options(sett_build *, const kernel *, const void *user, void *options);
/* What sett_kernels_choose said, as the call that the caller made. */
sett_status sett__said_by(const char *function, sett_status, sett_error *);
/* What each begins with after it has declared its parameters. */
void sett__begin(sett_build *, int no_pdl);
/* The same of one that reads by TMA: what the kernel before stored is of another proxy, and PTX does not say that the wait orders proxies. */
void sett__begin_by_tma(sett_build *, int no_pdl);

/* Of an element of 8 bits and more. */
static inline int sett__bytes_of(sett_dtype t)
{
    return sett_dtype_bits(t) / 8;
}

/* ---- rules of options ---------------------------------------------------------------------------- */
#define REFUSE(c, ...) sett__kernel_refuse(c, __VA_ARGS__)
void sett__kernel_refuse(choice *, const char *format, ...) SETT_PRINTF(2, 3); /* the first one counts */
void sett__either(int *option, int chosen);                             /* what is 0 becomes that */
void sett__in_range(choice *, const char *name, int value, int from, int to);
void sett__is_zero(choice *, const char *name, int value);
bool sett__is_small_float(sett_dtype);             /* f16, bf16, f32 */
void sett__is_copied(choice *, sett_dtype);        /* a type of 8, 16 or 32 bits, or it is refused */
bool sett__is_f8(sett_dtype);                      /* f8E4M3FN, f8E5M2 */
void sett__is_float(choice *, sett_dtype);         /* the same, or it is refused */
/* Of a normalization: what all of them have. False: an option is refused. */
bool sett__norm_options(choice *, sett_dtype, int cols, int most_cols, int residual, int reserved);
void sett__whole_warps(choice *, int threads);     /* 32 to 1024, in steps of 32 */
void sett__is_reduction(choice *, sett_binary_op); /* a sum, a least or a largest */
int sett__vec(sett_dtype);                         /* elements of 16 bytes */
int sett__round_up(int n, int to);
/* Threads of a block that holds a row: 128, each with up to 8 accesses of 16 bytes; fewer where the row is shorter, more where it is longer. */
int sett__row_threads(sett_dtype, int cols);

/* ---- parts of kernels ------------------------------------------------------------------------------ */
/* A row of `cols` elements cut into accesses of 16 bytes, those that lie inside wherever it begins: as many a thread, of `threads`. */
int sett__row_parts(sett_dtype, int cols, int threads);
/* (threads, (vec, rest)) over a tile: each access 16 bytes, neighbours adjacent. */
sett_layout *sett__wide(sett_build *, int threads, int vec, int rest);
/* This thread's part of the tile at `at`, of `all` elements. */
sett_tensor *sett__part(sett_tensor *, sett_arg at, int all, sett_layout *wide, sett_val *thread);
double sett__initial(sett_binary_op); /* of a reduction of nothing */
#endif
