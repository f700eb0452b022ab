/* SPDX-License-Identifier: Apache-2.0 */
/* kind: race
 * missing: the order of the lanes' zeros and ldmatrix with .trans of their warp
 * fix: sett_sync_warp(b) between them
 * A warp of attention clears the rows of V behind the last key, as they may be NaN, and loads V turned. Each lane clears a whole row, of which
 * it gets two elements; the others are other lanes'. ldmatrix waits for the lanes of its warp, and orders none of their stores. */
#include "bug.h"

enum { KEYS = 8, COLUMNS = 8, LAST = 5 };

static void turned(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *V = sett_param(b, "V", SETT_F16, sett_row_major(b, KEYS, COLUMNS), .align = 16), *Y = sett_param(b, "Y", SETT_F16, sett_row_major(b, 32, 2), .align = 4);
    sett_block(b, 32);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F16, sett_make_layout(b, T(KEYS, COLUMNS), T(COLUMNS, 1)), 16), *r = sett_make_rmem_tensor(b, SETT_F16, 2);
    sett_val *lane = sett_lane_idx(b);
    sett_if (b, sett_lt(lane, KEYS))
        sett_copy(sett_slice(V, lane, ALL), sett_slice(S, lane, ALL));
    sett_sync_warp(b);
    sett_if (b, sett_lt(lane, KEYS - LAST))
        sett_fill(sett_slice(S, sett_add(lane, LAST), ALL), 0); /* @1 write */
    if (bug_twin)
        sett_sync_warp(b);
    sett_copy(sett_ldmatrix(b, SETT_F16, 1, true), sett_slice(S, sett_mod(lane, KEYS), ALL), r); /* @2 read */
    sett_store(sett_slice(Y, lane, ALL), sett_load(r));
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf v = bug_in(SETT_F16, KEYS, COLUMNS), y = bug_out(SETT_F16, 32, 2);
    bug_launch(turned, &v, &y);
    for (int i = 0; i < 64; i++) { /* lane l has keys 2 (l % 4) and the next of column l / 4 */
        const int key = i / 2 % 4 * 2 + i % 2, column = i / 8;
        bug_expect(&y, i, key < LAST ? bug_get(&v, key * COLUMNS + column) : 0);
    }
    return bug_close();
}
