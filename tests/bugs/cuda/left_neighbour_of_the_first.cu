/* SPDX-License-Identifier: Apache-2.0 */
/* Differences along rows. The left neighbour of column 0 is at -1: inside of the buffer, and outside of the row. */
#include "bug.cuh"

enum { M = 4, N = 32 };

__global__ void differences(const float (*X)[N], float (*Y)[N])
{
    const int row = threadIdx.x / 32, column = threadIdx.x % 32;
#ifdef TWIN
    const float left = column > 0 ? X[row + 1][column - 1] : 0;
#else
    const float left = X[row + 1][column - 1]; /* @1 read */
#endif
    Y[row][column] = X[row + 1][column] - left;
}

int main()
{
    auto x = bug_in<float>((M + 1) * N), y = bug_out<float>(M * N);
    differences<<<1, M * N>>>((const float(*)[N])x.device, (float(*)[N])y.device);
    bug_done(&y);
    for (int i = 0; i < M * N; i++)
        bug_expect(y, i, x[N + i] - (i % N ? x[N + i - 1] : 0));
    return bug_close();
}
