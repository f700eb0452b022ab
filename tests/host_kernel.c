/* SPDX-License-Identifier: Apache-2.0 */
/* y += 1, for the C++ host. */
#define SETT_SHORT
#include <sett/sett.h>
#include "host_kernel.h"

void host_kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_val *N = sett_sym(b, "N");
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_make_layout(b, T1(N)));
    sett_grid(b, sett_ceil_div(N, 64));
    sett_block(b, 64);
    sett_val *i = sett_add(sett_mul(sett_block_idx(b, 0), 64), sett_thread_idx(b, 0));
    sett_if (b, sett_lt(i, N))
        sett_set(Y, sett_add(sett_at(Y, i), 1.0), i);
}
