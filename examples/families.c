/* SPDX-License-Identifier: Apache-2.0 */
/* Families of the examples' kernels, as a shared object for `sett warm`; kernels.warm says which of them are wanted.
 *
 *     sett warm examples/kernels.warm --targets sm_80,sm_90a --pack kernels.settpack */
#include "kernels.h"

extern const sett_family softmax_family, add_tv_family, saxpy_family;

static const sett_family_param softmax_params[] = {SETT_FAMILY_PARAM(struct softmax, dtype),
    SETT_FAMILY_PARAM(struct softmax, cols), SETT_FAMILY_PARAM(struct softmax, threads)};

/* A thread moves 16 bytes at once, and a row is a multiple of that. */
static bool softmax_exists(const void *user)
{
    const struct softmax *p = user;
    return p->cols % (p->threads * 128 / sett_dtype_bits(p->dtype)) == 0;
}

const sett_family softmax_family = {.size = sizeof(sett_family),
    .body = softmax,
    .name = "softmax",
    .user_size = sizeof(struct softmax),
    .params = softmax_params,
    .n_params = 3,
    .wanted = softmax_exists};

/* What the manifest leaves out is zero, which add_tv takes as 8, 32 and 1. */
static const struct add_tv add_tv_defaults = {0};
static const sett_family_param add_tv_params[] = {SETT_FAMILY_PARAM(struct add_tv, remap),
    SETT_FAMILY_PARAM(struct add_tv, thr_m), SETT_FAMILY_PARAM(struct add_tv, thr_n),
    SETT_FAMILY_PARAM(struct add_tv, val_m)};
const sett_family add_tv_family = {.size = sizeof(sett_family),
    .body = add_tv,
    .name = "add_tv",
    .user_size = sizeof(struct add_tv),
    .defaults = &add_tv_defaults,
    .params = add_tv_params,
    .n_params = 4};

const sett_family saxpy_family = {.size = sizeof(sett_family), .body = saxpy, .name = "saxpy"};
