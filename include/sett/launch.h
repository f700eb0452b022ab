/* SPDX-License-Identifier: Apache-2.0 */
/* Launching: buffers, single launches, prepared calls.
 *
 * Arguments are positional: tensors and scalars in the order in which the body declared them. A launch takes
 * each symbol from the first extent or stride that is that symbol alone. Every other extent and stride is an
 * expression that the buffer must match; strides of modes of extent 1 are ignored. A launch refuses wrong
 * counts, types, ranks, extents, divisibility and alignment, null pointers and overflows before the driver
 * sees them, and names the argument. The CPU engine also refuses a buffer that reaches past the sett_alloc
 * that its address lies in, or that was freed (SETT_E_RANGE); it cannot check memory from elsewhere. */
#ifndef SETT_LAUNCH_H
#define SETT_LAUNCH_H
#include <sett/compile.h>

#ifdef __cplusplus
#include <type_traits>
extern "C" {
#endif

/* Tells the compiler that the first argument's memory is not read here, so that it does not warn of an array
 * that a kernel is yet to fill. */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 11
#define SETT_KEEPS_ADDRESS __attribute__((access(none, 1)))
#else
#define SETT_KEEPS_ADDRESS
#endif

/* A buffer: address, element type, extents and strides in elements, rank 0 to 8. It describes memory of the
 * caller's and owns none: the memory must live until the launch has ended, the sett_buf itself only until the
 * call returns. DLPack tensors: see dlpack.h. */
typedef struct sett_buf {
    void *data;
    sett_dtype dtype;
    int rank;
    int64_t shape[8], stride[8];
} sett_buf;
/* Compact row-major buffers (the last mode is contiguous). They copy nothing. A rank outside 0 to 8 gives a
 * buffer of rank -1, which every launch refuses. */
SETT_API SETT_KEEPS_ADDRESS sett_buf sett_buf_1d(const void *data, sett_dtype, int64_t n);
SETT_API SETT_KEEPS_ADDRESS sett_buf sett_buf_2d(const void *data, sett_dtype, int64_t rows, int64_t cols);
SETT_API SETT_KEEPS_ADDRESS sett_buf sett_buf_nd(const void *data, sett_dtype, int rank,
    const int64_t *shape);

/* Prints the contents of a buffer, in memory of the host or of a device, as sett_print_tensor does in a
 * kernel. The stream tells the device, and the call waits until the work on that stream has ended. SETT_CPU
 * is for memory that the host can read; an address that it cannot read is SETT_E_RANGE, not a crash. NULL
 * options: all defaults. */
typedef struct sett_buf_print_options {
    size_t size;
    /* Shows the memory by another layout, in CuTe's notation: "((2,4),2):((1,2),8)", also swizzled. NULL: the
     * buffer's extents and strides. SETT_E_PARSE: it is no layout. SETT_E_STATIC: it has symbols.
     * SETT_E_RANGE: it reaches past the buffer. */
    const char *layout;
    /* every element, with its coordinate; else more than 6 rows or columns are cut to three at each end */
    bool verbose;
    sett_print_fn print; /* gets the whole text in one call; NULL: the engine's .print, else stdout of the
                          * process */
    void *user;          /* for print */
} sett_buf_print_options;
SETT_API sett_status sett_buf_print(
    sett_engine *, sett_stream, const sett_buf *, const sett_buf_print_options *or_null,
        sett_error *or_null2);

/* One argument of a launch. */
typedef enum sett_launch_arg_kind {
    SETT_LAUNCH_ARG_BUF = 1, SETT_LAUNCH_ARG_INT, SETT_LAUNCH_ARG_FLOAT, SETT_LAUNCH_ARG_STRUCT,
    SETT_LAUNCH_ARG_NAME, /* of a graph's argument, in sett_graph_add_n alone: graph.h */
} sett_launch_arg_kind;
typedef struct sett_launch_arg {
    int kind;       /* sett_launch_arg_kind */
    uint32_t bytes; /* of a struct */
    union {
        const sett_buf *t;
        int64_t i;
        double f;
        const void *p; /* a struct, or a name, which the call copies */
    } u;
} sett_launch_arg;

/* How many clusters of the kernel the device runs at once (CuTe's get_max_active_clusters), or blocks where
 * it has no clusters: as many as a persistent kernel needs (scheduler.h). It loads the kernel, as
 * sett_prepare does. On a GPU the driver counts them; 0: the device runs no such cluster. On the CPU: as many
 * as the modelled H200 has room for by threads, registers that sett_max_registers names, and shared memory. A
 * kernel for a GPU that is not here is SETT_E_NO_DEVICE: its grid is made at the launch, so none is needed to
 * compile it. SETT_E_ARGUMENT: its block or its shared memory depends on the arguments of a launch. */
SETT_API sett_status sett_max_active_clusters(sett_kernel *, int device, int *clusters, sett_error *or_null);

/* Checks and packs the arguments, and launches. On a GPU the launch is asynchronous; on the CPU it has ended
 * when the call returns, and sett_cancel ends it early. A grid with an extent of 0 succeeds without a launch.
 * Symbols that no buffer gives follow the arguments as integers, in order of declaration: pass every symbol
 * up to the last of those. One among them that a buffer gives too must agree with it. For a body that
 * declares M, alpha, K, of which buffers give M alone: (..., M, alpha, K).
 *
 * Contexts: a stream that the caller made runs in its own context. The default stream (handle NULL) is that
 * of the thread's current context if that belongs to the device, else of the device's primary context. The
 * current context is the same afterwards. A first launch loads the code; while its stream is captured, it
 * returns SETT_E_CAPTURING and changes nothing: call sett_prepare before. */
SETT_API sett_status sett_launch_n(sett_kernel *, sett_stream, int n, const sett_launch_arg *,
    sett_error *or_null);

typedef struct sett_prepared sett_prepared; /* for one thread at a time */
/* ---- checked launches (check.h) ---- */
typedef struct sett_check_result {
    uint64_t findings;       /* errors and warnings, as often as they came; costs do not count */
    sett_check_proof proof;
    sett_check_site because; /* .line: where the next proof ends, 0: nowhere. Its strings are the kernel's */
    uint64_t orders, others; /* order "systematic": that ran; that left other results than the first */
    bool all;                /* likewise: there are no more */
} sett_check_result;
typedef struct sett_check_options {
    size_t size;
    sett_checks checks;      /* DEFAULT: as the kernel was compiled, else ALL */
    const char *order;       /* as sett_engine_options.cpu_async; NULL: as the engine says */
    sett_finding_fn finding; /* gets each finding of this launch, whoever found it before; NULL: as the engine
                              * says */
    void *user;              /* for finding */
    sett_check_result *result; /* of a launch that ran to its end; NULL: nobody asks */
} sett_check_options;
/* Launches a kernel for the CPU with the checker on. sett_check(kernel, &options, &err, arguments...) takes
 * arguments as sett_launch does. SETT_OK: it ran to its end, whatever was found. SETT_E_FAULT: it could not
 * go on. SETT_E_TARGET: the kernel is for a GPU, and keeps no tape: compile it for "cpu". A kernel that was
 * compiled without .checks is made anew for the call. */
SETT_API sett_status sett_check_n(sett_kernel *, const sett_check_options *or_null, int n,
    const sett_launch_arg *, sett_error *or_null2);
/* The same with the arguments of the last commit. */
SETT_API sett_status sett_prepared_check(sett_prepared *, const sett_check_options *or_null,
    sett_error *or_null2);

/* ---- prepared calls: setters stage arguments, commit checks them together, run only launches ---- */
/* Prepares the kernel on the device, SETT_CPU too, stages the arguments and commits them. Given no arguments
 * for a kernel that has some, it commits nothing: stage each argument, then commit. The call keeps the kernel
 * alive; the caller frees it with sett_prepared_free. On failure *call is NULL. */
SETT_API sett_status sett_prepared_make_n(
    sett_kernel *, int device, int n, const sett_launch_arg *, sett_prepared **, sett_error *or_null);
/* The index of a tensor, scalar or symbol for the setters below; -1: there is none of that name. Tensors and
 * scalars have their place in order of declaration, as in sett_kernel_param; symbols come after them. If a
 * symbol shares a name with one of those, the call gives that one. */
SETT_API int sett_kernel_argument(const sett_kernel *, const char *name);
/* Stage an argument: a buffer (its pointer and extents are copied), an integer (a scalar, or a symbol that no
 * buffer gives), a floating scalar, a struct (which is copied). SETT_E_BIND: there is no such argument, or it
 * is a symbol and takes no buffer or struct; nothing is staged, and the next commit fails with the text. A
 * wrong kind is reported by the commit.
 * SETT_E_ARGUMENT: the call is NULL. */
SETT_API sett_status sett_prepared_buf(sett_prepared *, int arg, const sett_buf *);
SETT_API sett_status sett_prepared_int(sett_prepared *, int arg, int64_t);
SETT_API sett_status sett_prepared_float(sett_prepared *, int arg, double);
SETT_API sett_status sett_prepared_struct(sett_prepared *, int arg, const void *, size_t bytes);
/* Checks all that is staged, and computes the grid. On failure the call keeps its former arguments for
 * sett_prepared_run, and what was staged stays staged until it is staged again. */
SETT_API sett_status sett_prepared_commit(sett_prepared *, sett_error *or_null);
/* Launches with the arguments of the last commit: one cuLaunchKernelEx, without a lock, an allocation, or
 * another check of the arguments, in the context that sett_launch_n names. It asks the driver for the current
 * context only for the default stream, on a machine of several GPUs. A captured graph keeps the arguments of
 * the last commit before the run that it captured. Errors have no text here.
 * SETT_E_BIND: no commit yet. SETT_E_NO_DEVICE: a stream of another device. SETT_E_CLOSED. The driver's
 * errors. On the CPU also SETT_E_FAULT, SETT_E_CANCELLED (sett_cancel), and SETT_E_RANGE: memory that was
 * freed since. */
SETT_API sett_status sett_prepared_run(sett_prepared *, sett_stream);
SETT_API void sett_prepared_free(sett_prepared *); /* launches that it queued go on; NULL is ignored */

/* A kernel as a plain C function, bound to a stream: sett_status f(arguments in order of declaration). Many
 * threads may call it. Arguments: a tensor is const sett_buf *; a scalar is int8_t to uint64_t, bool, float
 * or double by its element type, and float for the 16-bit floats; a struct is const struct s *, whose size is
 * not checked. The function checks and launches as sett_launch does. Cast the address of a pointer of its
 * type:
 *
 *     sett_status (*axpy)(const sett_buf *x, const sett_buf *y, float a);
 *     sett_kernel_function(k, stream, &f, (void (**)(void))&axpy, &err); */
typedef struct sett_function sett_function;
SETT_API sett_status sett_kernel_function(
    sett_kernel *, sett_stream, sett_function **, void (**function)(void), sett_error *or_null);
/* The status and text of the last call of this C function by this thread that failed; SETT_OK, and nothing
 * written, if none has. A call that succeeds leaves the error as it is, so ask only after a call that failed.
 * Each function keeps one error for each thread that had one, until sett_function_free. If there is no memory
 * for it, the text is missing. (A thread may find the error of an ended thread, if the system gave it the
 * same number.) Any thread may ask at any time before sett_function_free. */
SETT_API sett_status sett_function_error(const sett_function *, sett_error *);
/* Frees the C function too, which no thread may be in; NULL is ignored */
SETT_API void sett_function_free(sett_function *);

/* Arguments for sett_launch_n and sett_prepared_make_n; the macros below make them by themselves. */
static inline sett_launch_arg sett_launch_arg_buf(const sett_buf *t)
{
    sett_launch_arg b = {SETT_LAUNCH_ARG_BUF, 0, {t}};
    return b;
}
static inline sett_launch_arg sett_launch_arg_int(long long i)
{
    sett_launch_arg b = {SETT_LAUNCH_ARG_INT, 0, {0}};
    b.u.i = i;
    return b;
}
static inline sett_launch_arg sett_launch_arg_float(double f)
{
    sett_launch_arg b = {SETT_LAUNCH_ARG_FLOAT, 0, {0}};
    b.u.f = f;
    return b;
}
static inline sett_launch_arg sett_launch_arg_struct(const void *p, size_t bytes)
{
    sett_launch_arg b = {SETT_LAUNCH_ARG_STRUCT, bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes, {0}};
    b.u.p = p;
    return b;
}
/* The argument of sett_scalar_struct: SETT_STRUCT(s), or SETT_STRUCT((struct knobs){1, 2}). */
#define SETT_STRUCT(...) sett_launch_arg_struct(&(__VA_ARGS__), sizeof(__VA_ARGS__))
#ifdef __cplusplus
}
/* The names that C has, as overloads instead of _Generic. */
inline sett_launch_arg sett_launch_arg_of(const sett_buf *t) { return sett_launch_arg_buf(t); }
inline sett_launch_arg sett_launch_arg_of(sett_buf *t) { return sett_launch_arg_buf(t); }
inline sett_launch_arg sett_launch_arg_of(sett_launch_arg b) { return b; }
inline sett_launch_arg sett_launch_arg_of(double f) { return sett_launch_arg_float(f); }
inline sett_launch_arg sett_launch_arg_of(float f) { return sett_launch_arg_float(f); }
template <typename integer> sett_launch_arg sett_launch_arg_of(integer i)
{
    static_assert(
        (std::is_integral<integer>::value || std::is_enum<integer>::value) &&
            sizeof(integer) <= sizeof(long long),
        "an argument is a number, the address of a sett_buf, SETT_STRUCT(x), or of a graph a name; "
        "convert a half to float");
    return sett_launch_arg_int(static_cast<long long>(i));
}
template <typename... args> sett_status sett_launch(sett_kernel *k, sett_stream stream, sett_error *or_null,
    args... arg)
{
    const sett_launch_arg bind[] = {sett_launch_arg_of(arg)..., sett_launch_arg()};
    return sett_launch_n(k, stream, sizeof...(arg), bind, or_null);
}
template <typename... args> sett_status sett_check(sett_kernel *k, const sett_check_options *options,
    sett_error *or_null, args... arg)
{
    const sett_launch_arg bind[] = {sett_launch_arg_of(arg)..., sett_launch_arg()};
    return sett_check_n(k, options, sizeof...(arg), bind, or_null);
}
template <typename... args> sett_status sett_prepared_make(sett_kernel *k, int device, sett_prepared **call,
    sett_error *or_null, args... arg)
{
    const sett_launch_arg bind[] = {sett_launch_arg_of(arg)..., sett_launch_arg()};
    return sett_prepared_make_n(k, device, sizeof...(arg), bind, call, or_null);
}
#else
static inline sett_launch_arg sett_launch_arg_self(sett_launch_arg b)
{
    return b;
}
#define SETT_LAUNCH_ARG(x) \
    ((void)__extension__({ _Static_assert(SETT_LAUNCH_ARG_AS_(x), \
        "an argument of a launch is a number, the address of a sett_buf, or SETT_STRUCT(x)"); 0; }), \
        _Generic((x), sett_buf *: sett_launch_arg_buf, const sett_buf *: sett_launch_arg_buf, \
            float: sett_launch_arg_float, double: sett_launch_arg_float, \
            sett_launch_arg: sett_launch_arg_self, default: sett_launch_arg_int)(x))
#define SETT_LAUNCH_ARG_AS_(x) \
    _Generic((x), sett_buf *: 1, const sett_buf *: 1, sett_launch_arg: 1, float: 1, double: 1, _Bool: 1, \
        char: 1, signed char: 1, unsigned char: 1, short: 1, \
        unsigned short: 1, int: 1, unsigned: 1, long: 1, unsigned long: 1, long long: 1, \
            unsigned long long: 1, default: 0)
#define SETT_LAUNCH_ARGS(...) \
    SETT_NARG(__VA_ARGS__) - 1, (const sett_launch_arg[]){SETT_EACH(SETT_LAUNCH_ARG, __VA_ARGS__)}
/* sett_launch(kernel, stream, &err, arguments...): 0 to 32 arguments, buffers by address, C numbers by value.
 *     sett_launch(k, sett_stream_of(0, s), &err, &x)
 * A comma between braces ends an argument of a macro, so a compound literal stands in parentheses:
 * (&(sett_buf){p, SETT_F32, 1, {n}, {1}}), ((sett_stream){0, s}). SETT_STRUCT has them already. */
#define sett_launch(k, ...) SETT_LAUNCH_(k, __VA_ARGS__, 0)
#define SETT_LAUNCH_(k, stream, err, ...) \
    sett_launch_n(k, SETT_STREAM_(#stream, stream), SETT_LAUNCH_ARGS(__VA_ARGS__), err)
#define SETT_STREAM_(spelled, x) \
    SETT_SAYS(!SETT_BEGINS_(spelled, "(sett_stream)"), \
        "a stream is sett_stream_of(device, handle) here: a comma between braces ends an argument", x)
/* sett_check(kernel, &options, &err, arguments...) */
#define sett_check(k, options, ...) SETT_CHECK_(k, options, __VA_ARGS__, 0)
#define SETT_CHECK_(k, options, err, ...) sett_check_n(k, options, SETT_LAUNCH_ARGS(__VA_ARGS__), err)
/* sett_prepared_make(kernel, device, &call, &err, arguments...) */
#define sett_prepared_make(k, device, ...) SETT_PREPARED_MAKE_(k, device, __VA_ARGS__, 0)
#define SETT_PREPARED_MAKE_(k, device, call, err, ...) \
    sett_prepared_make_n(k, device, SETT_LAUNCH_ARGS(__VA_ARGS__), call, err)
#endif
#endif
