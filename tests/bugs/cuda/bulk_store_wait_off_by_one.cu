/* SPDX-License-Identifier: Apache-2.0 */
/* In front of the writes of round k, the store of round k - STAGES must have read its stage. STAGES - 1 newer ones may be under way; the
 * wait lets STAGES be. */
#include "bug.cuh"

enum { THREADS = 32, ROUNDS = 9, STAGES = 3 };

__global__ void kernel(const float *X, float *Y)
{
    __shared__ __align__(16) float ring[STAGES][THREADS];
    const int t = threadIdx.x;
    for (int k = 0; k < ROUNDS; k++) {
        if (t == 0)
#ifdef TWIN
            bulk_wait_group_read<STAGES - 1>();
#else
            bulk_wait_group_read<STAGES>(); /* @wait */
#endif
        __syncwarp();
        ring[k % STAGES][t] = X[k * THREADS + t] + 1; /* @2 write */
        fence_proxy_async();
        __syncwarp();
        if (t == 0) {
            bulk_store(Y + k * THREADS, ring[k % STAGES], sizeof ring[0]); /* @1 copy */
            bulk_commit_group();
        }
    }
    if (t == 0)
        bulk_wait_group<0>();
}

int main()
{
    auto x = bug_in<float>(ROUNDS * THREADS), y = bug_out<float>(ROUNDS * THREADS);
    kernel<<<1, THREADS>>>(x.device, y.device);
    bug_done(&y);
    for (int i = 0; i < ROUNDS * THREADS; i++)
        bug_expect(y, i, x[i] + 1);
    return bug_close();
}
