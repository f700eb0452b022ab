/* SPDX-License-Identifier: Apache-2.0 */
/* A product with an epilogue of the user's own, as a family: it calls libsett-kernels, with which nothing links it. */
#define SETT_SHORT
#include <sett/kernels.h>
#include <sett/sett.h>

static sett_val *squared(const sett_epilogue_tile *at, sett_val *sums, void *user)
{
    (void)at, (void)user;
    return sett_mul(sums, sums);
}

static void body(sett_build *b, const void *options)
{
    sett_gemm_few_rows_with(b, options, squared, NULL);
}

static const sett_gemm_few_rows_options defaults = {.size = sizeof defaults, .dtype = SETT_F32, .c = SETT_F32};
static const sett_family_param params[] = {SETT_FAMILY_PARAM(sett_gemm_few_rows_options, dtype), SETT_FAMILY_PARAM(sett_gemm_few_rows_options, rows)};
extern const sett_family squared_family;
const sett_family squared_family = {
    .size = sizeof(sett_family), .body = body, .name = "squared", .user_size = sizeof defaults, .defaults = &defaults, .params = params, .n_params = 2};
