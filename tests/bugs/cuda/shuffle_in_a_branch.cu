/* SPDX-License-Identifier: Apache-2.0 */
/* The upper half of a warp gives its numbers to the lower half by a shuffle of all lanes, and it stands in the branch of the lower half. */
#include "bug.cuh"

enum { N = 32 };

__global__ void pairs(const float *X, float *Y)
{
    const int t = threadIdx.x;
    const float x = X[t];
#ifdef TWIN
    const float up = __shfl_down_sync(~0u, x, 16);
    if (t < N / 2)
        Y[t] = x + up;
#else
    if (t < N / 2)
        Y[t] = x + __shfl_down_sync(~0u, x, 16); /* @1 use */
#endif
}

int main()
{
    auto x = bug_in<float>(N), y = bug_out<float>(N / 2);
    pairs<<<1, N>>>(x.device, y.device);
    bug_done(&y);
    for (int i = 0; i < N / 2; i++)
        bug_expect(y, i, x[i] + x[i + N / 2]);
    return bug_close();
}
