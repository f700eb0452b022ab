/* SPDX-License-Identifier: Apache-2.0 */
/* What each CUDA C++ text of this folder needs and none is about: instructions that CUDA C++ has no name for, each by the name that PTX
 * gives it, and on the host buffers of small whole numbers and a comparison.
 *
 *     nvcc -std=c++17 -gencode arch=compute_90a,code=sm_90a NAME.cu -o bug          # -DTWIN: the right program
 *
 * The exit code is 0: it ran and the numbers are right; 1: they are wrong; 3: a launch failed; 4: the machine lacks something. */
#ifndef BUG_CUH
#define BUG_CUH
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <vector>

/* ---- instructions -------------------------------------------------------------------------------------------------------- */
#define PTX static __device__ __forceinline__

PTX uint32_t shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

/* An mbarrier is a word of 64 bits in shared memory. */
PTX void mbarrier_init(uint64_t *bar, uint32_t count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(bar)), "r"(count) : "memory");
}
PTX void fence_mbarrier_init()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
PTX void mbarrier_arrive(uint64_t *bar)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(bar)) : "memory");
}
PTX void mbarrier_arrive_expect_tx(uint64_t *bar, uint32_t bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(bar)), "r"(bytes) : "memory");
}
PTX void mbarrier_wait(uint64_t *bar, uint32_t parity)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "AGAIN:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra AGAIN;\n"
                 "}" ::"r"(shared_address(bar)), "r"(parity) : "memory");
}

PTX void fence_proxy_async()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* Copies in bulk: a multiple of 16 bytes, by one thread. */
PTX void bulk_load(void *to, const void *from, uint32_t bytes, uint64_t *bar)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared_address(to)), "l"(from),
        "r"(bytes), "r"(shared_address(bar)) : "memory");
}
PTX void bulk_store(void *to, const void *from, uint32_t bytes)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(shared_address(from)), "r"(bytes) : "memory");
}
PTX void tensor_store_2d(const CUtensorMap *map, int x, int y, const void *from)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map), "r"(x), "r"(y), "r"(shared_address(from))
                 : "memory");
}
PTX void bulk_commit_group()
{
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
template <int pending> PTX void bulk_wait_group()
{
    asm volatile("cp.async.bulk.wait_group %0;" ::"n"(pending) : "memory");
}
template <int pending> PTX void bulk_wait_group_read()
{
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory");
}

/* Copies of 4 or 16 bytes. */
template <int bytes> PTX void cp_async(void *to, const void *from)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared_address(to)), "l"(from), "n"(bytes) : "memory");
}
PTX void cp_async_commit_group()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int pending> PTX void cp_async_wait_group()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}
PTX void cp_async_wait_all()
{
    asm volatile("cp.async.wait_all;" ::: "memory");
}

PTX void bar_sync(int id, int threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/* Products of 64 x 16 by a warp group. A matrix of K-major rows lies without a swizzle: cores of 8 rows and 16 bytes, those of a row of
 * cores one behind the other. */
template <int columns> static __host__ __device__ __forceinline__ int core_index(int row, int k)
{
    return (row / 8 * (columns / 8) + k / 8) * 64 + row % 8 * 8 + k % 8;
}
template <int columns> PTX uint64_t wgmma_descriptor(const __half *at)
{
    return (uint64_t)(shared_address(at) >> 4 & 0x3FFF) | (uint64_t)(128 >> 4) << 16 | (uint64_t)(columns * 16 >> 4) << 32;
}
PTX void wgmma_fence()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
PTX void wgmma_m64n16k16(float (&d)[8], uint64_t a, uint64_t b, int add)
{
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "setp.ne.b32 p, %10, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, p, 1, 1, 0, 0;\n"
                 "}"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
                 : "l"(a), "l"(b), "r"(add));
}
PTX void wgmma_commit_group()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int pending> PTX void wgmma_wait_group()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

/* ---- the host -------------------------------------------------------------------------------------------------------------- */
static int bug_code, bug_buffers;

static inline void bug_fail(int code, const char *what)
{
    if (!bug_code)
        bug_code = code, printf("%s\n", what);
}
static inline void bug_ok(int code, cudaError_t e)
{
    if (e != cudaSuccess)
        bug_fail(code, cudaGetErrorString(e));
}

/* Memory of the GPU, and what the host put there or got from there. */
template <class T> struct Buffer {
    T *device;
    std::vector<T> host;
    double operator[](int i) const
    {
        return (double)host[i];
    }
};
template <class T> Buffer<T> bug_filled(std::vector<T> host)
{
    Buffer<T> b = {nullptr, host};
    bug_buffers++;
    bug_ok(4, cudaMalloc(&b.device, host.size() * sizeof(T)));
    bug_ok(4, cudaMemcpy(b.device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
    return b;
}
/* Of -4 to 4, in no order. */
template <class T> Buffer<T> bug_in(int n)
{
    std::vector<T> host(n);
    for (int i = 0; i < n; i++)
        host[i] = (T)(float)((i * 7 + i / 8 * 5 + i / 64 * 3 + bug_buffers) % 9 - 4);
    return bug_filled(host);
}
template <class T> Buffer<T> bug_full(T v, int n)
{
    return bug_filled(std::vector<T>(n, v));
}
/* Nobody has written it. */
template <class T> Buffer<T> bug_out(int n)
{
    Buffer<T> b = {nullptr, std::vector<T>(n)};
    bug_buffers++;
    bug_ok(4, cudaMalloc(&b.device, n * sizeof(T)));
    return b;
}
/* Waits for what was launched, and gets a buffer. */
template <class T> void bug_done(Buffer<T> *b)
{
    bug_ok(3, cudaGetLastError());
    bug_ok(3, cudaDeviceSynchronize());
    bug_ok(3, cudaMemcpy(b->host.data(), b->device, b->host.size() * sizeof(T), cudaMemcpyDeviceToHost));
}
template <class T> void bug_expect(const Buffer<T> &b, int i, double want)
{
    char text[120];
    snprintf(text, sizeof text, "element %d is %.9g, should be %.9g", i, b[i], want);
    if (b[i] != want)
        bug_fail(1, text);
}
/* Blocks that wait for each other. */
template <class... A> void bug_cooperative(void (*kernel)(A...), int grid, int block, A... args)
{
    void *at[] = {&args...};
    bug_ok(3, cudaLaunchCooperativeKernel((const void *)kernel, dim3(grid), dim3(block), at, 0, nullptr));
}
/* A map of a row-major matrix of f32, for tiles of rows x columns of it, without a swizzle. */
static inline CUtensorMap bug_map(float *matrix, int rows, int columns)
{
    CUtensorMap map = {};
    void *encode = nullptr;
    cudaDriverEntryPointQueryResult found;
    const cuuint64_t size[] = {(cuuint64_t)columns, (cuuint64_t)rows}, pitch[] = {columns * sizeof(float)};
    const cuuint32_t box[] = {(cuuint32_t)columns, (cuuint32_t)rows}, one[] = {1, 1};
    bug_ok(4, cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &encode, 12000, cudaEnableDefault, &found));
    if (!encode || ((decltype(&cuTensorMapEncodeTiled))encode)(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, matrix, size, pitch, box, one,
                       CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                       CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE))
        bug_fail(4, "no tensor map");
    return map;
}
static inline int bug_close()
{
    if (!bug_code)
        printf("right\n");
    return bug_code;
}
#endif
