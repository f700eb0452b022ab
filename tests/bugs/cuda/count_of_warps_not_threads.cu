/* SPDX-License-Identifier: Apache-2.0 */
/* The count of an mbarrier is of warps, and all their threads arrive. The first four lanes that come end phase 0, and 32 phases go by where
 * one should. */
#include "bug.cuh"

enum { THREADS = 128 };

__global__ void kernel(const float *X, float *Y)
{
    __shared__ float s[THREADS];
    __shared__ uint64_t bar;
    const int t = threadIdx.x;
    if (t == 0)
#ifdef TWIN
        mbarrier_init(&bar, THREADS);
#else
        mbarrier_init(&bar, THREADS / 32); /* @2 init */
#endif
    __syncthreads();
    s[t] = X[t];
    mbarrier_arrive(&bar); /* @1 arrive */
    mbarrier_wait(&bar, 0); /* @1 wait */
    Y[t] = s[THREADS - 1 - t];
}

int main()
{
    auto x = bug_in<float>(THREADS), y = bug_out<float>(THREADS);
    kernel<<<1, THREADS>>>(x.device, y.device);
    bug_done(&y);
    for (int i = 0; i < THREADS; i++)
        bug_expect(y, i, x[THREADS - 1 - i]);
    return bug_close();
}
