/* SPDX-License-Identifier: Apache-2.0 */
/* kind: uninit
 * missing: a value of the maximum of a block without rows, which it sends to its peer
 * fix: sett_var(b, SETT_F32, -INFINITY)
 * Each block sends its maximum to the first one by st.async. The second block has no rows and has set none. */
#include "bug.h"

enum { N = 32 };

static void kernel(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_cluster(b, 2), sett_grid(b, 2), sett_block(b, N);
    sett_tensor *in = sett_make_smem_tensor(b, SETT_F32, N, 16, .name = "in"), *came = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_val *t = sett_thread_idx(b, 0), *rank = sett_block_idx_in_cluster(b);
    sett_tensor *x = bug_twin ? sett_var(b, SETT_F32, -100) : sett_make_rmem_tensor(b, SETT_F32, 1); /* @alloc */
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(came, 1);
        sett_fence_mbarrier_init(b);
        sett_mbarrier_arrive_and_expect_tx(came, N * 4);
    }
    sett_cluster_sync(b);
    sett_if (b, sett_eq(rank, 0))
        sett_set(x, sett_at(X, t), 0);
    sett_if (b, sett_eq(rank, 1))
        sett_store_async(sett_map_dsmem(sett_local_tile(in, T1(1), T1(t)), 0), sett_at(x, 0), sett_map_dsmem(came, 0)); /* @1 read */
    sett_else (b) {
        sett_mbarrier_wait(came, 0, .cluster = true);
        sett_set(Y, sett_max(sett_at(x, 0), sett_at(in, t)), t); /* @1 use */
    }
    sett_cluster_sync(b);
}

int main(int argc, char **argv)
{
    bug_open(argc, argv);
    sett_buf x = bug_in(SETT_F32, N), y = bug_out(SETT_F32, N);
    bug_launch(kernel, &x, &y);
    for (int i = 0; i < N; i++)
        bug_expect(&y, i, bug_get(&x, i));
    return bug_close();
}
