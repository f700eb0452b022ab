/* SPDX-License-Identifier: Apache-2.0 */
/* An epilogue through shared memory: threads turn a tile around, meet, and one of them stores it by TMA. The stores are of the generic
 * proxy, and TMA reads by the async proxy; the fence of the proxies is missing. */
#include "bug.cuh"

enum { TILE = 32, THREADS = 128 };

__global__ void kernel(const float *X, const __grid_constant__ CUtensorMap map)
{
    __shared__ __align__(128) float out[TILE][TILE];
    const int t = threadIdx.x;
    for (int i = t; i < TILE * TILE; i += THREADS)
        out[i % TILE][i / TILE] = X[i]; /* @1 write */
#ifdef TWIN
    fence_proxy_async();
#endif
    __syncthreads();
    if (t == 0) {
        tensor_store_2d(&map, 0, 0, out); /* @2 copy */
        bulk_commit_group();
        bulk_wait_group<0>();
    }
}

int main()
{
    auto x = bug_in<float>(TILE * TILE), y = bug_out<float>(TILE * TILE);
    const CUtensorMap map = bug_map(y.device, TILE, TILE);
    if (!bug_code)
        kernel<<<1, THREADS>>>(x.device, map);
    bug_done(&y);
    for (int i = 0; i < TILE * TILE; i++)
        bug_expect(y, i, x[i % TILE * TILE + i / TILE]);
    return bug_close();
}
