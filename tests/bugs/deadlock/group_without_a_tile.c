/* SPDX-License-Identifier: Apache-2.0 */
/* kind: deadlock | barrier-count
 * missing: the second group at the barrier, which it reaches only with a tile of its own
 * fix: the barrier behind the branch of tiles
 * Two groups of warps meet at a named barrier before the epilogue. A group that has no tile skips the barrier with the rest. An H200
 * hangs for an odd number of tiles alone. */
#include "bug.h"

enum { GROUPS = 2, N = 64, TILES = 1 };

static void tiles(sett_build *b, const void *user)
{
    (void)user;
    sett_val *count = sett_sym(b, "T");
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, count, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, count, N));
    sett_block(b, GROUPS * N);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, GROUPS)), 16);
    sett_val *t = sett_thread_idx(b, 0), *group = sett_floordiv(t, N), *mine = sett_mod(t, N), *has = sett_lt(group, count);
    sett_if (b, has) {
        sett_set(S, sett_at(X, group, mine), mine, group);
        if (!bug_twin) {
            sett_barrier(b, 1, GROUPS * N); /* @1 wait */
            sett_set(Y, sett_at(S, sett_sub(N - 1, mine), group), group, mine);
        }
    }
    if (bug_twin) {
        sett_barrier(b, 1, GROUPS * N);
        sett_if (b, has)
            sett_set(Y, sett_at(S, sett_sub(N - 1, mine), group), group, mine);
    }
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, TILES, N), y = bug_out(SETT_F32, TILES, N);
    bug_launch(tiles, &x, &y);
    for (int i = 0; i < TILES * N; i++)
        bug_expect(&y, i, bug_get(&x, i / N * N + N - 1 - i % N));
    return bug_close();
}
