/* SPDX-License-Identifier: Apache-2.0 */
/* Each warp permutes its 32 numbers by shared memory of its own, "so that no barrier is needed". Lanes are threads too: __syncwarp()
 * between the stores and the loads is missing. */
#include "bug.cuh"

enum { N = 128 };

__global__ void permute(const float *X, const int *P, float *Y)
{
    __shared__ float S[N / 32][32];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    S[warp][lane * 7 + P[lane] & 31] = X[t]; /* @1 write */
#ifdef TWIN
    __syncwarp();
#endif
    Y[t] = S[warp][lane]; /* @2 read */
}

int main()
{
    auto x = bug_in<float>(N), y = bug_out<float>(N);
    auto p = bug_full<int>(3, 32);
    permute<<<1, N>>>(x.device, p.device, y.device);
    bug_done(&y);
    for (int i = 0; i < N; i++)
        bug_expect(y, i / 32 * 32 + (i % 32 * 7 + 3) % 32, x[i]);
    return bug_close();
}
