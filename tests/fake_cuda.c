/* SPDX-License-Identifier: Apache-2.0 */
/* A CUDA driver of two devices (sm_90) that runs nothing, for tests of what sett asks of one: its name is libcuda.so.1, so
 * that who opens that after this was opened has this one. Entries that it is not asked for are not there. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#define EXPORT __attribute__((visibility("default")))

enum { DEVICES = 2, CONTEXTS = 4, INVALID = 1 };
/* Primary contexts are 1 and 2 plus a base, so that they are told from NULL. */
static char contexts[CONTEXTS];
static _Thread_local void *stack[8];
static _Thread_local int depth;
EXPORT int fake_cuda_result; /* of the next loads: 0, or an error */

#define OK(name, ...) \
    EXPORT int name(__VA_ARGS__); \
    EXPORT int name(__VA_ARGS__)
OK(cuInit, unsigned flags) { return (int)flags; }
OK(cuDeviceGetCount, int *n) { return *n = DEVICES, 0; }
OK(cuDeviceGet, int *to, int i) { return *to = i, 0; }
OK(cuDeviceGetName, char *to, int n, int d) { return snprintf(to, (size_t)n, "fake %d", d) < 0; }
OK(cuDeviceGetAttribute, int *to, int what, int d)
{
    *to = what == 75 ? 9 : what == 76 ? 0 : what == 97 ? 232448 : 1 + d - d;
    return 0;
}
OK(cuDriverGetVersion, int *to) { return *to = 13000, 0; }
OK(cuGetErrorName, int r, const char **to) { return *to = r == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR", 0; }
OK(cuGetErrorString, int r, const char **to) { return *to = r ? "something" : "nothing", 0; }
OK(cuDevicePrimaryCtxRetain, void **to, int d) { return *to = &contexts[d], 0; }
OK(cuCtxGetCurrent, void **to) { return *to = depth ? stack[depth - 1] : NULL, 0; }
OK(cuCtxGetDevice, int *to)
{
    *to = depth ? (int)((char *)stack[depth - 1] - contexts) : 0;
    return depth ? 0 : 201;
}
OK(cuCtxPushCurrent_v2, void *c) { return stack[depth++] = c, 0; }
OK(cuCtxPopCurrent_v2, void **to) { return *to = stack[--depth], 0; }
OK(cuMemAlloc_v2, uint64_t *to, size_t n) { return *to = 0x1000 + n, 0; }
OK(cuMemFree_v2, uint64_t p) { return p == 0; }
OK(cuMemcpyAsync, uint64_t to, uint64_t from, size_t n, void *s) { return to == from && n && s == &contexts; }
OK(cuMemHostRegister_v2, void *p, size_t n, unsigned flags) { return !p || !n || !flags; }
OK(cuMemHostUnregister, void *p) { return !p; }
OK(cuMemHostGetDevicePointer_v2, uint64_t *to, void *p, unsigned flags) { return *to = (uintptr_t)p + flags, 0; }
OK(cuStreamSynchronize, void *s) { return s ? INVALID : fake_cuda_result; }
OK(cuStreamIsCapturing, void *s, int *to) { return *to = 0, s == &contexts; }
OK(cuModuleLoadData, void **to, const void *p) { return *to = (void *)(uintptr_t)p, fake_cuda_result; }
OK(cuModuleUnload, void *m) { return !m; }
OK(cuModuleGetFunction, void **to, void *m, const char *name) { return *to = m, !*name; }
OK(cuFuncSetAttribute, void *f, int what, int value) { return !f || !what || !value; }
OK(cuLibraryLoadData, void **to, const void *p, int *o, void **ov, unsigned no, int *l, void **lv, unsigned nl)
{
    *to = (void *)(uintptr_t)p;
    return o || ov || no || l || lv || nl ? INVALID : fake_cuda_result;
}
OK(cuLibraryUnload, void *m) { return !m; }
OK(cuLibraryGetKernel, void **to, void *m, const char *name) { return *to = m, !*name; }
OK(cuKernelGetFunction, void **to, void *k) { return *to = k, 0; }
OK(cuKernelSetAttribute, int what, int value, void *k, int d) { return !what || !value || !k || d >= DEVICES; }
/* An assembler to which every PTX is the smallest cubin. */
static const unsigned char elf[64] = {0x7F, 'E', 'L', 'F', 2, 1, 1, [18] = 190, [20] = 1, [52] = 64};
OK(cuLinkCreate_v2, unsigned n, int *options, void **values, void **to)
{
    return *to = contexts, n && options && values ? 0 : INVALID;
}
OK(cuLinkAddData_v2, void *s, int type, void *p, size_t len, const char *name, unsigned n, int *options, void **values)
{
    return !s || !p || !len || !name || type != 1 || n || options || values;
}
OK(cuLinkComplete, void *s, void **to, size_t *len) { return *to = (void *)(uintptr_t)elf, *len = sizeof elf, !s; }
OK(cuLinkDestroy, void *s) { return !s; }
OK(cuLaunchKernelEx, const void *config, void *f, void **params, void **extra)
{
    return !config || !f || (params && extra) ? INVALID : 0;
}
