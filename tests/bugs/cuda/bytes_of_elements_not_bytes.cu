/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel was of float once. The copy brings 2 bytes an element, and 4 are expected: the wait never ends. */
#include "bug.cuh"

enum { N = 64 };

__global__ void kernel(const __half *X, __half *Y)
{
    __shared__ __align__(16) __half s[N];
    __shared__ uint64_t full;
    const int t = threadIdx.x;
    if (t == 0) {
        mbarrier_init(&full, 1);
        fence_mbarrier_init();
#ifdef TWIN
        mbarrier_arrive_expect_tx(&full, N * sizeof(__half));
#else
        mbarrier_arrive_expect_tx(&full, N * sizeof(float)); /* @2 arrive */
#endif
        bulk_load(s, X, sizeof s, &full); /* @copy */
    }
    __syncthreads();
    mbarrier_wait(&full, 0); /* @1 wait */
    Y[t] = s[t];
}

int main()
{
    auto x = bug_in<__half>(N), y = bug_out<__half>(N);
    kernel<<<1, N>>>(x.device, y.device);
    bug_done(&y);
    for (int i = 0; i < N; i++)
        bug_expect(y, i, x[i]);
    return bug_close();
}
