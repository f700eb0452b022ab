/* SPDX-License-Identifier: Apache-2.0 */
/* A block turns 256 numbers around by shared memory. The block's barrier between the stores and the loads of what other threads stored
 * is missing. */
#include "bug.cuh"

enum { N = 256 };

__global__ void reverse(const float *X, float *Y)
{
    __shared__ float S[N];
    const int t = threadIdx.x;
    S[t] = X[t]; /* @1 write */
#ifdef TWIN
    __syncthreads();
#endif
    Y[t] = S[N - 1 - t]; /* @2 read */
}

int main()
{
    auto x = bug_in<float>(N), y = bug_out<float>(N);
    reverse<<<1, N>>>(x.device, y.device);
    bug_done(&y);
    for (int i = 0; i < N; i++)
        bug_expect(y, i, x[N - 1 - i]);
    return bug_close();
}
