/* SPDX-License-Identifier: Apache-2.0 */
/* Threads store the operands to shared memory, in the generic proxy, and wgmma reads them by the async proxy. The fence of the proxies is
 * missing: a barrier does not order them. */
#include "bug.cuh"

enum { BM = 64, BN = 16, BK = 64 };

__global__ void __launch_bounds__(128) kernel(const __half *A, const __half *B, float *C)
{
    __shared__ __align__(128) __half sA[BM * BK], sB[BN * BK];
    const int t = threadIdx.x;
    for (int i = t; i < BM * BK; i += 128)
        sA[core_index<BK>(i / BK, i % BK)] = A[i]; /* @1 write */
    for (int i = t; i < BN * BK; i += 128)
        sB[core_index<BK>(i / BK, i % BK)] = B[i]; /* @1 write */
#ifdef TWIN
    fence_proxy_async();
#endif
    __syncthreads();
    float d[8];
    wgmma_fence();
    for (int k = 0; k < BK; k += 16)
        wgmma_m64n16k16(d, wgmma_descriptor<BK>(sA + k * 8), wgmma_descriptor<BK>(sB + k * 8), k > 0); /* @2 read */
    wgmma_commit_group();
    wgmma_wait_group<0>();
    const int row = t / 32 * 16 + t % 32 / 4, column = t % 4 * 2;
    for (int i = 0; i < 8; i++)
        C[(row + i % 4 / 2 * 8) * BN + i / 4 * 8 + column + i % 2] = d[i];
}

int main()
{
    auto A = bug_in<__half>(BM * BK), B = bug_in<__half>(BN * BK);
    auto C = bug_out<float>(BM * BN);
    kernel<<<1, 128>>>(A.device, B.device, C.device);
    bug_done(&C);
    for (int i = 0; i < BM * BN; i++) {
        double sum = 0;
        for (int k = 0; k < BK; k++)
            sum += A[i / BN * BK + k] * B[i % BN * BK + k];
        bug_expect(C, i, sum);
    }
    return bug_close();
}
