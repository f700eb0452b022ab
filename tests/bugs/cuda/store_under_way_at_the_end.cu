/* SPDX-License-Identifier: Apache-2.0 */
/* The wait for stores in bulk stands in the loop, in front of the next round's writes, and is missing behind the loop. The block may end,
 * and the next one write the same shared memory, while the last store reads it. */
#include "bug.cuh"

enum { N = 64, ROUNDS = 3 };

__global__ void kernel(const float *X, float *Y)
{
    __shared__ __align__(16) float s[N];
    const int t = threadIdx.x;
    for (int k = 0; k < ROUNDS; k++) {
        if (t == 0)
            bulk_wait_group_read<0>(); /* @wait */
        __syncthreads();
        s[t] = X[k * N + t] * 2;
        fence_proxy_async();
        __syncthreads();
        if (t == 0) {
            bulk_store(Y + k * N, s, sizeof s); /* @1 copy */
            bulk_commit_group();
        }
    }
#ifdef TWIN
    if (t == 0)
        bulk_wait_group_read<0>();
#endif
}

int main()
{
    auto x = bug_in<float>(ROUNDS * N), y = bug_out<float>(ROUNDS * N);
    kernel<<<1, N>>>(x.device, y.device);
    bug_done(&y);
    for (int i = 0; i < ROUNDS * N; i++)
        bug_expect(y, i, 2 * x[i]);
    return bug_close();
}
