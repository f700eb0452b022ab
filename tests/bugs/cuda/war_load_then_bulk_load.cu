/* SPDX-License-Identifier: Apache-2.0 */
/* A ring of stages: a copy of the async proxy overwrites what consumers have read in the generic one. Their arrivals order the threads; the
 * fence of the proxies in front of each arrival is missing. */
#include "bug.cuh"

enum { N = 32, TILES = 8, STAGES = 2 };

__global__ void kernel(const float *X, float *Y)
{
    __shared__ __align__(128) float ring[STAGES][N];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    const int lane = threadIdx.x % 32;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            mbarrier_init(&full[i], 1);
            mbarrier_init(&empty[i], N);
        }
        fence_mbarrier_init();
    }
    __syncthreads();
    for (int k = 0; k < TILES; k++) {
        const int stage = k % STAGES, parity = k / STAGES % 2;
        if (threadIdx.x == 0) {
            mbarrier_wait(&empty[stage], 1 - parity);
            mbarrier_arrive_expect_tx(&full[stage], sizeof ring[0]);
            bulk_load(ring[stage], X + k * N, sizeof ring[0], &full[stage]); /* @2 copy */
        } else if (threadIdx.x >= 32) {
            mbarrier_wait(&full[stage], parity);
            Y[k * N + lane] = ring[stage][lane] * 2; /* @1 read */
#ifdef TWIN
            fence_proxy_async();
#endif
            mbarrier_arrive(&empty[stage]); /* @arrive */
        }
    }
}

int main()
{
    auto x = bug_in<float>(TILES * N), y = bug_out<float>(TILES * N);
    kernel<<<1, 64>>>(x.device, y.device);
    bug_done(&y);
    for (int i = 0; i < TILES * N; i++)
        bug_expect(y, i, 2 * x[i]);
    return bug_close();
}
