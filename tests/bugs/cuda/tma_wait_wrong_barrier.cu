/* SPDX-License-Identifier: Apache-2.0 */
/* Two tiles come to two mbarriers, as K and V of attention do. The second wait names the first one again: it ends at once, and V is read
 * while it comes. */
#include "bug.cuh"

enum { N = 64 };

__global__ void kernel(const float *X, float *Y)
{
    __shared__ __align__(16) float K[N], V[N];
    __shared__ uint64_t bar[2];
    const int t = threadIdx.x;
    if (t == 0) {
        for (int i = 0; i < 2; i++)
            mbarrier_init(&bar[i], 1);
        fence_mbarrier_init();
        for (int i = 0; i < 2; i++)
            mbarrier_arrive_expect_tx(&bar[i], sizeof K);
        bulk_load(K, X, sizeof K, &bar[0]);
        bulk_load(V, X + N, sizeof V, &bar[1]); /* @1 copy */
    }
    __syncthreads();
    mbarrier_wait(&bar[0], 0);
    Y[t] = K[t] * 2;
#ifdef TWIN
    mbarrier_wait(&bar[1], 0);
#else
    mbarrier_wait(&bar[0], 0); /* @wait */
#endif
    Y[N + t] = V[t] + K[t]; /* @2 read */
    mbarrier_wait(&bar[1], 0);
}

int main()
{
    auto x = bug_in<float>(2 * N), y = bug_out<float>(2 * N);
    kernel<<<1, N>>>(x.device, y.device);
    bug_done(&y);
    for (int i = 0; i < N; i++) {
        bug_expect(y, i, 2 * x[i]);
        bug_expect(y, N + i, x[N + i] + x[i]);
    }
    return bug_close();
}
