/* SPDX-License-Identifier: Apache-2.0 */
/* kind: proxy-fence
 * missing: sett_bulk_peer reads by the async proxy what threads have just stored
 * fix: sett_fence_view_async_shared(b) behind the stores, in front of the barrier
 * A row goes from shared memory to shared memory of the peer. "It never leaves the chip" is no reason to leave out the fence. */
#include "bug.h"

enum { N = 64 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_cluster(b, 2);
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, 2, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 2, N));
    sett_grid(b, 2), sett_block(b, N);
    sett_tensor *out = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "out"), *in = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "in"), *came = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *t = sett_thread_idx(b, 0), *rank = sett_block_idx_in_cluster(b), *peer = sett_sub(1, rank);
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(came, 1);
        sett_fence_mbarrier_init(b);
        sett_mbarrier_arrive_and_expect_tx(came, N * 4);
    }
    sett_set(out, sett_mul(sett_at(X, rank, t), 2), t); /* @1 write */
    if (bug_twin)
        sett_fence_view_async_shared(b);
    sett_cluster_sync(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0))
        sett_bulk_peer(out, sett_map_dsmem(in, peer), sett_map_dsmem(came, peer)); /* @2 copy */
    sett_mbarrier_wait(came, 0, .cluster = true);
    sett_set(Y, sett_at(in, t), rank, t);
    sett_cluster_sync(b);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, 2, N), y = bug_out(SETT_F32, 2, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < 2 * N; i++)
        bug_expect(&y, i, 2 * bug_get(&x, (i + N) % (2 * N)));
    return bug_close();
}
