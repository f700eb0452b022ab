/* SPDX-License-Identifier: Apache-2.0 */
/* `vectors_per_thread` times 16 bytes a thread of a tile; the coordinate tensor takes the same path. */
#include "kernels.h"

static void settle(void *options, choice *c)
{
    sett_axpy_options *o = options;
    sett_axpy_tuning *tune = &o->tuning;
    if (o->dtype != SETT_F64)
        sett__is_float(c, o->dtype);
    sett__either(&tune->threads, 256);
    sett__in_range(c, "threads", tune->threads, 1, 1024);
    sett__either(&tune->vectors_per_thread, 1);
    sett__in_range(c, "vectors_per_thread", tune->vectors_per_thread, 1, 16);
}

void sett_axpy(sett_build *b, const void *user)
{
    sett_axpy_options o;
    if (!sett__kernel_options(b, &sett__axpy, user, &o))
        return;
    const int vec = sett__vec(o.dtype), tile = o.tuning.threads * vec * o.tuning.vectors_per_thread;
    sett_val *N = sett_sym(b, "N");
    sett_layout *l = sett_make_layout(b, T1(N)), *wide = sett__wide(b, o.tuning.threads, vec, o.tuning.vectors_per_thread);
    sett_tensor *in[3] = {sett_param(b, "X", o.dtype, l, .align = 16), sett_param(b, "Y", o.dtype, l, .align = 16), sett_identity_tensor(b, T1(N))};
    sett_val *a = sett_scalar(b, "a", o.dtype);
    sett_grid(b, sett_ceil_div(N, tile));
    sett_block(b, o.tuning.threads);
    sett__begin(b, o.no_pdl);
    for (int i = 0; i < 3; i++)
        in[i] = sett__part(in[i], SETT_A(sett_block_idx(b, 0)), tile, wide, sett_thread_idx(b, 0));
    sett_val *inside = sett_elem_less(in[2], T1(N));
    sett_val *x = sett_load(in[0], .pred = inside), *y = sett_load(in[1], .pred = inside);
    sett_store(in[1], sett_fma(a, x, y), .pred = inside);
}

#define P(member_) SETT_FAMILY_PARAM(sett_axpy_options, member_)
#define TUNED(member_) TUNING_PARAM(sett_axpy_options, member_)
static const sett_family_param params[] = {P(dtype), P(no_pdl), TUNED(threads), TUNED(vectors_per_thread)};
FAMILY(axpy, params);
