/* SPDX-License-Identifier: Apache-2.0 */
/* The threads see the init of an mbarrier by the block's barrier. A copy that completes there does not go by way of the threads: the fence
 * of the init is missing. */
#include "bug.cuh"

enum { N = 64 };

__global__ void kernel(const float *X, float *Y)
{
    __shared__ __align__(16) float s[N];
    __shared__ uint64_t full;
    const int t = threadIdx.x;
    if (t == 0) {
        mbarrier_init(&full, 1); /* @1 init */
#ifdef TWIN
        fence_mbarrier_init();
#endif
    }
    __syncthreads();
    if (t == 0) {
        mbarrier_arrive_expect_tx(&full, sizeof s);
        bulk_load(s, X, sizeof s, &full); /* @2 copy */
    }
    mbarrier_wait(&full, 0);
    Y[t] = s[t];
}

int main()
{
    auto x = bug_in<float>(N), y = bug_out<float>(N);
    kernel<<<1, N>>>(x.device, y.device);
    bug_done(&y);
    for (int i = 0; i < N; i++)
        bug_expect(y, i, x[i]);
    return bug_close();
}
