/* SPDX-License-Identifier: Apache-2.0 */
/* kind: align
 * missing: rows at multiples of 16 bytes: the offset of the tile is of 4 elements of two bytes
 * fix: an offset of 8 elements
 * ldmatrix reads rows of 16 bytes that begin at multiples of 16. The tile begins behind a header of four halves, and the kernel
 * promises eight. An H200 ends the kernel with a misaligned address. */
#include "bug.h"

enum { N = 64 };

static void turn(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F16, sett_row_major(b, 2 * N)), *H = sett_param(b, "H", SETT_I32, sett_row_major(b, 1));
    sett_tensor *Y = sett_param(b, "Y", SETT_F16, sett_row_major(b, 32, 2));
    sett_block(b, 32);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F16, 2 * N, 16);
    sett_val *t = sett_thread_idx(b, 0), *header = sett_assume(sett_at(H, 0), 8); /* @use */
    sett_for (b, i, t, 2 * N, 32)
        sett_set(S, sett_at(X, i), i);
    sett_sync_warp(b);
    sett_tensor *rows = sett_local_tile(sett_domain_offset(S, header), T1(8), T1(sett_and(t, 7))), *r = sett_make_rmem_tensor(b, SETT_F16, 2);
    sett_copy(sett_ldmatrix(b, SETT_F16, 1, false), rows, r); /* @1 read */
    sett_store(sett_slice(Y, t, ALL), sett_load(r));
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F16, 2 * N), h = bug_list(SETT_I32, bug_twin ? 8 : 4), y = bug_out(SETT_F16, 32, 2);
    bug_launch(turn, &x, &h, &y);
    for (int i = 0; i < 64; i++)
        bug_expect(&y, i, bug_get(&x, 8 + i));
    return bug_close();
}
