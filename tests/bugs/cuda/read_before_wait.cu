/* SPDX-License-Identifier: Apache-2.0 */
/* The second kernel begins while the first runs, and reads its numbers before it has waited for it. */
#include "bug.cuh"

enum { N = 64 };

__global__ void first(const float *X, float *M)
{
    const int t = threadIdx.x;
    cudaTriggerProgrammaticLaunchCompletion();
    M[t] = X[t] * 2; /* @1 write */
}

__global__ void second(const float *M, const float *W, float *Y)
{
    const int t = threadIdx.x;
    const float w = W[t];
#ifdef TWIN
    cudaGridDependencySynchronize();
#endif
    const float m = *(volatile const float *)&M[N - 1 - t]; /* @2 read */
#ifndef TWIN
    cudaGridDependencySynchronize(); /* @wait */
#endif
    Y[t] = m * w + w;
}

int main()
{
    auto x = bug_in<float>(N), m = bug_full<float>(0, N), w = bug_in<float>(N), y = bug_out<float>(N);
    cudaLaunchAttribute overlap = {};
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = 1, config.blockDim = N, config.attrs = &overlap, config.numAttrs = 1;
    first<<<1, N>>>(x.device, m.device);
    bug_ok(3, cudaLaunchKernelEx(&config, second, (const float *)m.device, (const float *)w.device, y.device));
    bug_done(&y);
    for (int i = 0; i < N; i++)
        bug_expect(y, i, 2 * x[N - 1 - i] * w[i] + w[i]);
    return bug_close();
}
