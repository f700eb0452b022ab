/* SPDX-License-Identifier: Apache-2.0 */
/* For suites of kernels around a model: arrays of any type on the device beside their copies on the host, and launches by a list. */
#ifndef MODEL_RIG_H
#define MODEL_RIG_H
#include "tests/rig/kernels_rig.h"

/* The host's copy is filled by the test, then sent; after the launch it is fetched. */
typedef struct cells {
    sett_buf buf;
    void *host;
    size_t n, bytes;
} cells;

static inline cells cells_make(sett_dtype t, int rank, const int64_t *shape)
{
    cells c = {.n = 1};
    for (int i = 0; i < rank; i++)
        c.n *= (size_t)shape[i];
    c.bytes = c.n * (size_t)sett_dtype_bits(t) / 8;
    c.host = calloc(1, c.bytes + !c.bytes);
    c.buf = sett_buf_nd(sett_alloc(r.e, r.stream.device, c.bytes + !c.bytes), t, rank, shape);
    ck_assert(c.host && c.buf.data);
    return c;
}
#define CELLS(t, ...) cells_make(t, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (const int64_t[]){__VA_ARGS__})

static inline void cells_send(const cells *c)
{
    ck_assert(!sett_memcpy(r.e, r.stream, c->buf.data, c->host, c->bytes));
}
static inline void cells_fetch(const cells *c)
{
    ck_assert(!sett_memcpy(r.e, r.stream, c->host, c->buf.data, c->bytes));
    ck_assert_msg(!sett_sync_error(r.e, r.stream, &err), "%s", err.text);
}
static inline void cells_drop(int n, cells *c)
{
    for (int i = 0; i < n; i++)
        sett_free(r.e, r.stream.device, c[i].buf.data), free(c[i].host);
}

/* A launch with the arrays as arguments. */
static inline void launch_cells(sett_body body, const void *options, int n, cells *const *args)
{
    sett_launch_arg at[24];
    for (int i = 0; i < n; i++)
        at[i] = sett_launch_arg_buf(&args[i]->buf);
    sett_kernel *k = compiled(body, options);
    ck_assert_msg(!sett_launch_n(k, r.stream, n, at, &err), "%s", err.text);
    ck_assert_msg(!sett_sync_error(r.e, r.stream, &err), "%s", err.text);
    sett_kernel_release(k);
}
#define LAUNCH_CELLS(body, options, ...) \
    launch_cells(body, options, sizeof((cells *[]){__VA_ARGS__}) / sizeof(cells *), (cells *[]){__VA_ARGS__})

static inline int32_t *ints(const cells *c)
{
    return c->host;
}
static inline float *reals(const cells *c)
{
    return c->host;
}
static inline double cell(const cells *c, size_t i)
{
    return get(c->buf.dtype, c->host, i);
}
#endif
