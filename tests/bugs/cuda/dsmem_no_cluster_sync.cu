/* SPDX-License-Identifier: Apache-2.0 */
/* Each block of a cluster writes its sum to both blocks, and reads both. The block's own barrier stands where the cluster's should. */
#include "bug.cuh"
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

enum { BLOCKS = 2, THREADS = 32 };

__global__ void __cluster_dims__(BLOCKS) kernel(const float *X, float *Y)
{
    __shared__ float sums[BLOCKS];
    cg::cluster_group cluster = cg::this_cluster();
    const int t = threadIdx.x, rank = cluster.block_rank();
    cluster.sync();
    float sum = X[rank * THREADS + t];
    for (int lanes = 16; lanes; lanes /= 2)
        sum += __shfl_xor_sync(~0u, sum, lanes);
    if (t < BLOCKS)
        cluster.map_shared_rank(sums, t)[rank] = sum; /* @1 write */
#ifdef TWIN
    cluster.sync();
#else
    __syncthreads(); /* @barrier */
#endif
    if (t == 0)
        Y[rank] = sums[0] - sums[1]; /* @2 read */
    cluster.sync();
}

int main()
{
    auto x = bug_in<float>(BLOCKS * THREADS), y = bug_out<float>(BLOCKS);
    kernel<<<BLOCKS, THREADS>>>(x.device, y.device);
    bug_done(&y);
    double sum[BLOCKS] = {};
    for (int i = 0; i < BLOCKS * THREADS; i++)
        sum[i / THREADS] += x[i];
    for (int i = 0; i < BLOCKS; i++)
        bug_expect(y, i, sum[0] - sum[1]);
    return bug_close();
}
