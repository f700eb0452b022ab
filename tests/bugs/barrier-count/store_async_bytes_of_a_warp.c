/* SPDX-License-Identifier: Apache-2.0 */
/* kind: barrier-count | race
 * missing: two warps of the peer send, and the mbarrier expects the bytes of one
 * fix: sett_mbarrier_arrive_and_expect_tx(came, THREADS * 4)
 * Each thread sends 4 bytes by st.async; the count of bytes is that of a warp. The phase ends with the first 128 bytes, whosever they
 * are. */
#include "bug.h"

enum { THREADS = 64 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_cluster(b, 2);
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 2, THREADS)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 2, THREADS));
    sett_grid(b, 2), sett_block(b, THREADS);
    sett_tensor *in = sett_make_smem_tensor(b, SETT_F32, THREADS, 16, .name = "in"), *came = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *t = sett_thread_idx(b, 0), *rank = sett_block_idx_in_cluster(b), *peer = sett_sub(1, rank);
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(came, 1);
        sett_fence_mbarrier_init(b);
        sett_mbarrier_arrive_and_expect_tx(came, bug_twin ? THREADS * 4 : 32 * 4); /* @1 arrive */
    }
    sett_cluster_sync(b);
    sett_store_async(sett_map_dsmem(sett_local_tile(in, T1(1), T1(t)), peer), sett_at(X, rank, t), sett_map_dsmem(came, peer)); /* @2 write */
    sett_mbarrier_wait(came, 0, .cluster = true);
    sett_set(Y, sett_at(in, sett_sub(THREADS - 1, t)), rank, t); /* @1 read */
    sett_cluster_sync(b);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, 2, THREADS), y = bug_out(SETT_F32, 2, THREADS);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < 2 * THREADS; i++)
        bug_expect(&y, i, bug_get(&x, (i / THREADS ^ 1) * THREADS + THREADS - 1 - i % THREADS));
    return bug_close();
}
