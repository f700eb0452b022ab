/* SPDX-License-Identifier: Apache-2.0 */
/* Block 0 stores a row, its threads meet, and thread 0 sets a flag by a relaxed store. Block 1 acquires the flag; nothing was released
 * there. */
#include "bug.cuh"
#include <cuda/atomic>

enum { N = 64 };
using flag = cuda::atomic_ref<int, cuda::thread_scope_device>;

__global__ void pass_on(const float *X, float *D, int *F, float *Y)
{
    const int t = threadIdx.x;
    if (blockIdx.x == 0) {
        D[t] = X[t] * 2; /* @1 write */
        __syncthreads();
        if (t == 0)
#ifdef TWIN
            flag(*F).store(1, cuda::memory_order_release);
#else
            flag(*F).store(1, cuda::memory_order_relaxed); /* @release */
#endif
    } else {
        if (t == 0)
            while (!flag(*F).load(cuda::memory_order_acquire))
                ;
        __syncthreads();
        Y[t] = D[t]; /* @2 read */
    }
}

int main()
{
    auto x = bug_in<float>(N), d = bug_out<float>(N), y = bug_out<float>(N);
    auto f = bug_full<int>(0, 1);
    bug_cooperative<const float *, float *, int *, float *>(pass_on, 2, N, x.device, d.device, f.device, y.device);
    bug_done(&y);
    for (int i = 0; i < N; i++)
        bug_expect(y, i, 2 * x[i]);
    return bug_close();
}
