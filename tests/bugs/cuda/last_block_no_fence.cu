/* SPDX-License-Identifier: Apache-2.0 */
/* Each block stores a part and counts itself; the last one to count adds up all parts. The counts are relaxed atomics, and the fence before
 * them is missing. */
#include "bug.cuh"

enum { BLOCKS = 4, N = 64 };

__global__ void sum(const float *X, float *P, int *C, float *Y)
{
    __shared__ float warps[N / 32];
    const int t = threadIdx.x;
    float part = X[blockIdx.x * N + t];
    for (int lanes = 16; lanes; lanes /= 2)
        part += __shfl_xor_sync(~0u, part, lanes);
    if (t % 32 == 0)
        warps[t / 32] = part;
    __syncthreads();
    if (t == 0) {
        P[blockIdx.x] = warps[0] + warps[1]; /* @1 write */
#ifdef TWIN
        __threadfence();
#endif
        if (atomicAdd(C, 1) == BLOCKS - 1) { /* @atomic */
            __threadfence();
            float all = 0;
            for (int i = 0; i < BLOCKS; i++)
                all += P[i]; /* @2 read */
            *Y = all;
        }
    }
}

int main()
{
    auto x = bug_in<float>(BLOCKS * N), p = bug_out<float>(BLOCKS), y = bug_out<float>(1);
    auto c = bug_full<int>(0, 1);
    sum<<<BLOCKS, N>>>(x.device, p.device, c.device, y.device);
    bug_done(&y);
    double all = 0;
    for (int i = 0; i < BLOCKS * N; i++)
        all += x[i];
    bug_expect(y, 0, all);
    return bug_close();
}
