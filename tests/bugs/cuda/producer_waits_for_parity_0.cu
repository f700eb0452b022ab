/* SPDX-License-Identifier: Apache-2.0 */
/* Both sides of a ring start at parity 0. The producer waits for a release of a stage that was never full, the consumer for a stage that is
 * never filled. */
#include "bug.cuh"

enum { N = 32, TILES = 4, STAGES = 2 };

__global__ void kernel(const float *X, float *Y)
{
    __shared__ float ring[STAGES][N];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    const int lane = threadIdx.x % 32;
    if (threadIdx.x == 0)
        for (int i = 0; i < STAGES; i++) {
            mbarrier_init(&full[i], N);
            mbarrier_init(&empty[i], N);
        }
    __syncthreads();
    for (int k = 0; k < TILES; k++) {
        const int stage = k % STAGES, parity = k / STAGES % 2;
        if (threadIdx.x < 32) {
#ifdef TWIN
            mbarrier_wait(&empty[stage], 1 - parity);
#else
            mbarrier_wait(&empty[stage], parity); /* @1 wait */
#endif
            ring[stage][lane] = X[k * N + lane];
            mbarrier_arrive(&full[stage]);
        } else {
            mbarrier_wait(&full[stage], parity); /* @wait */
            Y[k * N + lane] = ring[stage][N - 1 - lane];
            mbarrier_arrive(&empty[stage]); /* @arrive */
        }
    }
}

int main()
{
    auto x = bug_in<float>(TILES * N), y = bug_out<float>(TILES * N);
    kernel<<<1, 2 * N>>>(x.device, y.device);
    bug_done(&y);
    for (int i = 0; i < TILES * N; i++)
        bug_expect(y, i, x[i / N * N + N - 1 - i % N]);
    return bug_close();
}
