/* SPDX-License-Identifier: Apache-2.0 */
/* Engines of the CPU alone, each with a policy of when that happens which goes on by itself: eager, lazy, then seeds. With
 * SETT_TEST_GPU=1 one engine instead, whose GPU 0 runs the same programs. */
#ifndef POLICIES_H
#define POLICIES_H
#include "tests/rig/recording.h"
#include <sett/launch.h>
#include <sett/memory.h>
#include <stdlib.h>

enum { POLICIES = 12, MOST_ARGS = 8 };

static inline bool on_gpu(void)
{
    return getenv("SETT_TEST_GPU") != NULL;
}

static inline int policies(int n)
{
    return on_gpu() ? 1 : n;
}

static inline sett_engine *engine_of(int policy)
{
    char text[32];
    sett_engine_options o = {.size = sizeof o, .cache_dir = "", .no_gpu = !on_gpu(), .cpu_async = text};
    sett_error err;
    sett_engine *e;
    snprintf(text, sizeof text, policy == 0 ? "eager" : policy == 1 ? "lazy" : "random:%d", policy);
    ck_assert_msg(!sett_engine_open(&e, &o, &err), "%s", err.text);
    return e;
}

static inline sett_kernel *kernel_of(sett_engine *e, sett_body body, const void *user, size_t user_size)
{
    const sett_compile_options o = {.size = sizeof o, .target = on_gpu() ? NULL : "cpu", .user = user, .user_size = user_size};
    sett_error err = {0};
    sett_kernel *k = NULL;
    ck_assert_msg(!sett_compile(e, body, &o, &k, &err), "%s", err.text);
    return k;
}

static inline size_t span_bytes(const sett_buf *x)
{
    int64_t n = 1;
    for (int i = 0; i < x->rank; i++)
        n += (x->shape[i] - 1) * x->stride[i];
    return (size_t)(n * sett_dtype_bits(x->dtype) + 7) / 8;
}

/* A launch with buffers in host memory: a GPU gets copies of them, and what it wrote is copied back. */
static inline sett_status launch_here(sett_engine *e, sett_kernel *k, int n, const sett_launch_arg *arg, sett_error *err)
{
    const sett_stream stream = {on_gpu() ? 0 : SETT_CPU, NULL};
    sett_buf there[MOST_ARGS];
    sett_launch_arg bind[MOST_ARGS];
    sett_status s = SETT_OK;
    ck_assert_int_le(n, MOST_ARGS);
    if (!on_gpu())
        return sett_launch_n(k, stream, n, arg, err);
    for (int i = 0; i < n; i++) {
        bind[i] = arg[i];
        if (arg[i].kind != SETT_LAUNCH_ARG_BUF)
            continue;
        there[i] = *arg[i].u.t;
        bind[i].u.t = &there[i];
        there[i].data = sett_alloc(e, 0, span_bytes(&there[i]));
        ck_assert_ptr_nonnull(there[i].data);
        ck_assert(!sett_memcpy(e, stream, there[i].data, arg[i].u.t->data, span_bytes(&there[i])));
    }
    s = sett_launch_n(k, stream, n, bind, err);
    s = s ? s : sett_sync_error(e, stream, err);
    for (int i = 0; i < n; i++)
        if (arg[i].kind == SETT_LAUNCH_ARG_BUF) {
            ck_assert(s || !sett_memcpy(e, stream, arg[i].u.t->data, there[i].data, span_bytes(&there[i])));
            sett_free(e, 0, there[i].data);
        }
    return s;
}
#define LAUNCH_HERE(e, k, err, ...) launch_here(e, k, (int)(sizeof((const sett_buf *[]){__VA_ARGS__}) / sizeof(void *)), bufs((const sett_buf *[]){__VA_ARGS__}, \
    (int)(sizeof((const sett_buf *[]){__VA_ARGS__}) / sizeof(void *)), (sett_launch_arg[MOST_ARGS]){{0}}), err)
static inline const sett_launch_arg *bufs(const sett_buf *const *x, int n, sett_launch_arg *to)
{
    for (int i = 0; i < n; i++)
        to[i] = (sett_launch_arg){SETT_LAUNCH_ARG_BUF, .u = {.t = x[i]}};
    return to;
}
#endif
