/* SPDX-License-Identifier: Apache-2.0 */
/* Launching: buffers, one-off launches, prepared calls.
 *
 * Arguments are positional: tensors and scalars in the order in which the body declared them.
 * A launch binds every symbol from the first extent or stride that is that symbol alone; every other
 * leaf is an expression that must agree. Strides of extent-1 modes are ignored. Wrong counts, types,
 * ranks, extents, divisibility, alignment, null pointers and overflows are refused before
 * the driver sees them, naming the argument. */
#ifndef SETT_LAUNCH_H
#define SETT_LAUNCH_H
#include <sett/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A buffer: address, element type, extents and strides in elements, rank 0 to 8. */
typedef struct sett_buf {
    void *data;
    sett_dtype dtype;
    int rank;
    int64_t shape[8], stride[8];
} sett_buf;
/* Compact row-major buffers (the last mode is contiguous). */
SETT_API sett_buf sett_buf_1d(const void *data, sett_dtype, int64_t n);
SETT_API sett_buf sett_buf_2d(const void *data, sett_dtype, int64_t rows, int64_t cols);
SETT_API sett_buf sett_buf_nd(const void *data, sett_dtype, int rank, const int64_t *shape);

/* One argument of a launch. */
typedef enum sett_bind_kind { SETT_BIND_BUF = 1, SETT_BIND_INT, SETT_BIND_FLOAT } sett_bind_kind;
typedef struct sett_bind {
    int kind; /* sett_bind_kind */
    union {
        const sett_buf *t;
        int64_t i;
        double f;
    } u;
} sett_bind;

/* Checks, packs and launches on a stream; asynchronous on a GPU. A zero grid succeeds without a launch. */
SETT_API sett_status sett_launch_n(sett_kernel *, sett_stream, int n, const sett_bind *, sett_error *or_null);

/* ---- prepared calls: setters stage, commit checks all of it together, run only launches ------- */
typedef struct sett_call sett_call; /* one thread at a time */
SETT_API sett_status sett_call_make_n(sett_kernel *, int device, int n, const sett_bind *, sett_call **, sett_error *or_null);
/* The index of a tensor, scalar or symbol for the setters; -1 if there is none of that name. */
SETT_API int sett_kernel_argument(const sett_kernel *, const char *name);
/* Stage a buffer (its pointer and extents), an integer (a scalar, or a symbol that no buffer binds), a
 * floating scalar. A wrong index or kind is reported by the commit. */
SETT_API void sett_call_buf(sett_call *, int arg, const sett_buf *);
SETT_API void sett_call_int(sett_call *, int arg, int64_t);
SETT_API void sett_call_float(sett_call *, int arg, double);
/* Evaluates every check and the grid with what is staged; on failure the call keeps what it had. */
SETT_API sett_status sett_call_commit(sett_call *, sett_error *or_null);
/* One cuLaunchKernelEx: no check, lock, allocation or query. A captured graph keeps the arguments of
 * the last commit before the capture. */
SETT_API sett_status sett_call_run(sett_call *, sett_stream);
SETT_API void sett_call_free(sett_call *); /* NULL is ignored */

/* A kernel as a plain C function: sett_status f(arguments by their natural C types), tensors
 * as const sett_buf *, bound to a stream (a libffi closure). Cast *function to its type. */
typedef struct sett_function sett_function;
SETT_API sett_status sett_kernel_function(sett_kernel *, sett_stream, sett_function **, void (**function)(void), sett_error *or_null);
SETT_API void sett_function_free(sett_function *);

#ifdef __cplusplus
}
#else
static inline sett_bind sett_bind_t(const sett_buf *t)
{
    return (sett_bind){SETT_BIND_BUF, {.t = t}};
}
static inline sett_bind sett_bind_i(long long i)
{
    return (sett_bind){SETT_BIND_INT, {.i = i}};
}
static inline sett_bind sett_bind_f(double f)
{
    return (sett_bind){SETT_BIND_FLOAT, {.f = f}};
}
#define SETT_BIND(x) \
    _Generic((x), sett_buf *: sett_bind_t, const sett_buf *: sett_bind_t, float: sett_bind_f, double: sett_bind_f, default: sett_bind_i)(x)
#define SETT_BINDS(...) SETT_NARG(__VA_ARGS__) - 1, (const sett_bind[]){SETT_EACH(SETT_BIND, __VA_ARGS__)}
/* sett_launch(kernel, stream, &err, arguments...): 0 to 32 of them, buffers by address. */
#define sett_launch(k, ...) SETT_LAUNCH_(k, __VA_ARGS__, 0)
#define SETT_LAUNCH_(k, stream, err, ...) sett_launch_n(k, stream, SETT_BINDS(__VA_ARGS__), err)
/* sett_call_make(kernel, device, &call, &err, arguments...) */
#define sett_call_make(k, device, ...) SETT_CALL_MAKE_(k, device, __VA_ARGS__, 0)
#define SETT_CALL_MAKE_(k, device, call, err, ...) sett_call_make_n(k, device, SETT_BINDS(__VA_ARGS__), call, err)
#endif
#endif
