/* SPDX-License-Identifier: Apache-2.0 */
/* A block sums a row of 100 numbers by a tile of 128 in shared memory. Threads past the end of the row store nothing, and the sum goes over
 * all 128. */
#include "bug.cuh"

enum { N = 100, TILE = 128 };

__global__ void sum(const float *X, float *Y)
{
    __shared__ float tile[TILE]; /* @alloc */
    const int t = threadIdx.x;
#ifdef TWIN
    tile[t] = t < N ? X[t] : 0;
#else
    if (t < N)
        tile[t] = X[t]; /* @write */
#endif
    __syncthreads();
    if (t < 32) {
        float all = 0;
        for (int i = t; i < TILE; i += 32)
            all += tile[i]; /* @1 read */
        for (int lanes = 16; lanes; lanes /= 2)
            all += __shfl_xor_sync(~0u, all, lanes);
        if (t == 0)
            *Y = all; /* @2 use */
    }
}

int main()
{
    auto x = bug_in<float>(N), y = bug_out<float>(1);
    sum<<<1, TILE>>>(x.device, y.device);
    bug_done(&y);
    double all = 0;
    for (int i = 0; i < N; i++)
        all += x[i];
    bug_expect(y, 0, all);
    return bug_close();
}
