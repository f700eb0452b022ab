/* SPDX-License-Identifier: Apache-2.0 */
#include "epilogue.h"
#include <stdio.h>
#include <string.h>

sett_tensor *sett_epilogue_partition_at(sett_site site, const sett_epilogue_tile *p, sett_tensor *whole)
{
    char shape[120], text[300];
    if (whole && sett_rank(whole) != 2) {
        sett_arg_str(sett_shape(whole), shape, sizeof shape);
        snprintf(text, sizeof text, "it takes an (M,N) tensor, and this one is %s: a vector by columns is sett_composition(t, sett_make_layout(b, T(M, N), T(0, 1))), "
            "by rows with T(1, 0)", shape);
        sett_fail_at(site, p->b, SETT_E_RANK, "sett_epilogue_partition", text);
    }
    return p->partition(site, p, whole);
}

sett_tensor *sett__by_row(sett_build *b, sett_tensor *vector, sett_val *M, sett_val *N)
{
    return sett_composition(vector, sett_make_layout(b, T(M, N), T(1, 0)));
}

sett_tensor *sett__by_column(sett_build *b, sett_tensor *vector, sett_val *M, sett_val *N)
{
    return sett_composition(vector, sett_make_layout(b, T(M, N), T(0, 1)));
}

/* What the caller's epilogue makes of the sums; where that is of no use, the build has an error of the caller's line. */
static sett_val *called(const terms *s, const sett_epilogue_tile *at, sett_val *sums)
{
    char gives[120] = "NULL", want[120], text[320];
    sett_val *x = s->then(at, sums, s->user);
    sett_arg_str(sett_shape(sums), want, sizeof want);
    if (x)
        sett_arg_str(sett_shape(x), gives, sizeof gives);
    if (x && !strcmp(gives, want))
        return x;
    snprintf(text, sizeof text, "the epilogue gives %s%s, and its sums have the shape %s: it returns one number for each of them", x ? "the shape " : "", gives, want);
    sett_fail_at(s->site, s->b, SETT_E_ARGUMENT, "sett_gemm_wgmma_with", text);
    return sums;
}

sett_val *sett__epilogue(const sett_epilogue_tile *at, sett_val *acc, void *user)
{
    const terms *s = user;
    sett_val *in = sett_elem_less(sett_epilogue_partition(at, s->crd), s->extent), *x = acc;
    if (s->by_row)
        x = sett_mul(sett_mul(sett_to(x, SETT_F32), sett_load(sett_epilogue_partition(at, s->by_row), .pred = in)), sett_load(sett_epilogue_partition(at, s->by_column), .pred = in));
    if (s->then)
        x = called(s, at, x);
    if (s->residual)
        x = sett_add(sett_to(x, SETT_F32), sett_to(sett_load(sett_epilogue_partition(at, s->residual), .pred = in), SETT_F32));
    return x;
}
