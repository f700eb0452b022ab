/* SPDX-License-Identifier: Apache-2.0 */
/* Families of kernels, as a shared object for `sett warm`: one of your own, and one of the library's with a say in what there is.
 * kernels.warm says which of them are wanted.
 *
 *     sett warm examples/kernels.warm --targets sm_80,sm_90a --pack kernels.settpack */
#define SETT_SHORT
#include <sett/kernels.h>
#include <sett/sett.h>

extern const sett_family softmax_family, saxpy_family;

typedef struct saxpy_options {
    int threads;
} saxpy_options;

/* y = a x + y, an element a thread. */
static void saxpy(sett_build *b, const void *user)
{
    const int threads = ((const saxpy_options *)user)->threads;
    sett_val *N = sett_sym(b, "N");
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, T1(N))), *Y = sett_param(b, "Y", SETT_F32, sett_make_layout(b, T1(N)));
    sett_val *a = sett_scalar(b, "a", SETT_F32);
    sett_grid(b, sett_ceil_div(N, threads));
    sett_block(b, threads);
    sett_val *i = sett_add(sett_mul(sett_block_idx(b, 0), threads), sett_thread_idx(b, 0));
    sett_if (b, sett_lt(i, N))
        sett_set(Y, sett_fma(a, sett_at(X, i), sett_at(Y, i)), i);
}

static const saxpy_options saxpy_defaults = {256}; /* unless the manifest says otherwise */
static const sett_family_param saxpy_params[] = {SETT_FAMILY_PARAM(saxpy_options, threads)};
const sett_family saxpy_family = {.size = sizeof(sett_family),
    .body = saxpy,
    .name = "saxpy",
    .user_size = sizeof(saxpy_options),
    .defaults = &saxpy_defaults,
    .params = saxpy_params,
    .n_params = 1};

static const sett_softmax_options softmax_defaults = {.size = sizeof(sett_softmax_options)};
static const sett_family_param softmax_params[] = {SETT_FAMILY_PARAM(sett_softmax_options, dtype),
    SETT_FAMILY_PARAM(sett_softmax_options, cols), SETT_FAMILY_PARAM_NAMED("threads", sett_softmax_options, tuning.threads)};

/* Rows that 16 bytes of each thread divide: this server has no others. */
static bool softmax_exists(const void *user)
{
    const sett_softmax_options *p = user;
    return p->cols % (p->tuning.threads * 128 / sett_dtype_bits(p->dtype)) == 0;
}

const sett_family softmax_family = {.size = sizeof(sett_family),
    .body = sett_softmax,
    .name = "softmax",
    .user_size = sizeof(sett_softmax_options),
    .defaults = &softmax_defaults,
    .params = softmax_params,
    .n_params = 3,
    .wanted = softmax_exists,
    .choose = sett_kernels_choose};
