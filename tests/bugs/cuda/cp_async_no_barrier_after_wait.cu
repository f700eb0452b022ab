/* SPDX-License-Identifier: Apache-2.0 */
/* A row comes by cp.async, and each thread reads the element of its mirror image, which a thread of another warp has copied. The wait is of
 * each thread's own copies; the barrier that tells the others is missing. */
#include "bug.cuh"

enum { THREADS = 128 };

__global__ void kernel(const float *X, float *Y)
{
    __shared__ float row[THREADS];
    const int t = threadIdx.x, m = blockIdx.x;
    cp_async<4>(&row[t], X + m * THREADS + t); /* @1 copy */
    cp_async_wait_all(); /* @wait */
#ifdef TWIN
    __syncthreads();
#endif
    Y[m * THREADS + t] = row[THREADS - 1 - t]; /* @2 read */
}

int main()
{
    auto x = bug_in<float>(4 * THREADS), y = bug_out<float>(4 * THREADS);
    kernel<<<4, THREADS>>>(x.device, y.device);
    bug_done(&y);
    for (int i = 0; i < 4 * THREADS; i++)
        bug_expect(y, i, x[i / THREADS * THREADS + THREADS - 1 - i % THREADS]);
    return bug_close();
}
