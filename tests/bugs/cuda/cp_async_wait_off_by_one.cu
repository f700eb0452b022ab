/* SPDX-License-Identifier: Apache-2.0 */
/* A ring of cp.async stages with one group a tile. STAGES - 1 groups are sent before the loop, so at most STAGES - 2 may be pending when a
 * tile is read; the loop waits for one less. */
#include "bug.cuh"

enum { THREADS = 64, TILE = 4 * THREADS, TILES = 8, STAGES = 3 };

__device__ void send_for(const float *X, float (*ring)[TILE], int t, int k)
{
    if (k < TILES)
        cp_async<16>(&ring[k % STAGES][4 * t], X + k * TILE + 4 * t); /* @1 copy */
    cp_async_commit_group();
}

__global__ void kernel(const float *X, float *Y)
{
    __shared__ __align__(16) float ring[STAGES][TILE];
    const int t = threadIdx.x;
    for (int k = 0; k < STAGES - 1; k++)
        send_for(X, ring, t, k);
    for (int k = 0; k < TILES; k++) {
#ifdef TWIN
        cp_async_wait_group<STAGES - 2>();
#else
        cp_async_wait_group<STAGES - 1>(); /* @wait */
#endif
        __syncthreads();
        send_for(X, ring, t, k + STAGES - 1);
        Y[k * THREADS + t] = ring[k % STAGES][TILE - 1 - 4 * t]; /* @2 read */
    }
}

int main()
{
    auto x = bug_in<float>(TILES * TILE), y = bug_out<float>(TILES * THREADS);
    kernel<<<1, THREADS>>>(x.device, y.device);
    bug_done(&y);
    for (int i = 0; i < TILES * THREADS; i++)
        bug_expect(y, i, x[i / THREADS * TILE + TILE - 1 - i % THREADS * 4]);
    return bug_close();
}
