/* SPDX-License-Identifier: Apache-2.0 */
/* The flag has release and acquire, at the scope of a block, copied from code that synchronised warps. Between blocks that orders
 * nothing. */
#include "bug.cuh"
#include <cuda/atomic>

enum { N = 64 };
#ifdef TWIN
using flag = cuda::atomic_ref<int, cuda::thread_scope_device>;
#else
using flag = cuda::atomic_ref<int, cuda::thread_scope_block>;
#endif

__global__ void pass_on(const float *X, float *D, int *F, float *Y)
{
    const int t = threadIdx.x;
    if (blockIdx.x == 0) {
        D[t] = X[t] * 2; /* @1 write */
        __syncthreads();
        if (t == 0)
            flag(*F).store(1, cuda::memory_order_release); /* @release */
    } else {
        if (t == 0)
            while (!flag(*F).load(cuda::memory_order_acquire)) /* @wait */
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
