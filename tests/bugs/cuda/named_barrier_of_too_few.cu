/* SPDX-License-Identifier: Apache-2.0 */
/* Four warps meet at a named barrier whose count is of two. It ends when the first two have come, before the others have stored. */
#include "bug.cuh"

enum { N = 128 };

__global__ void reverse(const float *X, float *Y)
{
    __shared__ float S[N];
    const int t = threadIdx.x;
    S[t] = X[t]; /* @1 write */
#ifdef TWIN
    bar_sync(1, N);
#else
    bar_sync(1, N / 2); /* @1 barrier @2 barrier */
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
