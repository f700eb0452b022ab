/* SPDX-License-Identifier: Apache-2.0 */
/* Products by name: the members of a problem, in manifests, in Python and on the command line, and the kernels of each. */
#include "epilogue.h"
#include "product.h"
#include <stdio.h>
#include <string.h>

#define P(member_) SETT_FAMILY_PARAM(sett_product_problem, member_)
static const sett_family_param params[] = {P(dtype), P(no_pdl), P(b), P(d), P(n), P(k), P(a_major), P(b_major), P(scaled), P(swiglu), P(residual), P(tf32), P(promote), P(block_scales), P(batch),
    P(batch_invariant), P(grouped), P(groups), P(align), P(lda), P(ldb), P(ldr), P(ldd), P(ldaux), P(ldsb), P(batch_a), P(batch_b), P(batch_r), P(batch_d), P(group), P(zeros), P(sw), P(pointer_array), TERM_PARAMS(sett_product_problem)};
static const sett_product_problem defaults = {.size = sizeof(sett_product_problem)};

static sett_status kernel_at(const void *user, const char *target, int index, const sett_family **of, void *options, sett_error *err)
{
    sett_product_kernel list[SETT_PRODUCT_KERNELS];
    sett_error none;
    err = err ? err : &none;
    const sett_product_problem *p = user;
    *of = NULL;
    if (!p->n || !p->k) {
        err->status = SETT_E_ARGUMENT;
        snprintf(err->text, sizeof err->text, "product: .%s is 0: the extents of B, .n and .k, say which product", p->n ? "k" : "n");
        return SETT_E_ARGUMENT;
    }
    const int n = sett_product_kernels(p, target, list, err);
    *of = index < n ? list[index].family : NULL;
    if (*of)
        memcpy(options, &list[index].options, (*of)->user_size);
    return n < 0 ? err->status : SETT_OK;
}

const sett_family sett_product_family = {.size = sizeof(sett_family),
    .name = "product",
    .user_size = sizeof(sett_product_problem),
    .defaults = &defaults,
    .params = params,
    .n_params = sizeof params / sizeof *params,
    .renamed = sett__renamed,
    .n_renamed = SETT__N_RENAMED,
    .words = sett__words,
    .n_words = SETT__N_WORDS,
    .kernel = kernel_at,
    .kernel_size = sizeof((sett_product_kernel *)0)->options};
