/* SPDX-License-Identifier: Apache-2.0 */
/* Each block reads a row of the other one's shared memory and ends. The one that is faster takes its memory away: the barrier of the
 * cluster at the end is missing. */
#include "bug.cuh"
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

enum { N = 64 };

__global__ void __cluster_dims__(2) kernel(const float *X, float *Y)
{
    __shared__ float row[N];
    cg::cluster_group cluster = cg::this_cluster();
    const int t = threadIdx.x, rank = cluster.block_rank();
    row[t] = X[rank * N + t];
    cluster.sync();
    Y[rank * N + t] = cluster.map_shared_rank(row, 1 - rank)[N - 1 - t]; /* @1 read */
#ifdef TWIN
    cluster.sync();
#endif
}

int main()
{
    auto x = bug_in<float>(2 * N), y = bug_out<float>(2 * N);
    kernel<<<2, N>>>(x.device, y.device);
    bug_done(&y);
    for (int i = 0; i < 2 * N; i++)
        bug_expect(y, i, x[(i / N ^ 1) * N + N - 1 - i % N]);
    return bug_close();
}
