/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs of launches: a sequence of launches that is recorded once and replayed many times with other buffers
 * and numbers, such as the kernels of one step of a model. A graph's arguments have names, and calls share
 * them.
 *
 *     sett_graph *p;
 *     sett_graph_make(device, NULL, &p, &err);
 *     sett_graph_add(p, norm, "norm", &err, "x", "weight", "normed", 1e-5);
 *     sett_graph_add(p, scale, "scale", &err, "normed", "out", "factor");
 *     sett_graph_set(p, "x", &x), sett_graph_set(p, "weight", &w), ...
 *     sett_graph_set(p, "factor", 0.5);
 *     if (sett_graph_commit(p, &err))      // every check of every call
 *         puts(err.text);
 *     sett_graph_run(p, stream, &err);     // one cuGraphLaunch
 *     sett_graph_set(p, "x", &other);      // rebound in place: only the nodes that have it are updated
 *     sett_graph_commit(p, &err);
 *     sett_graph_run(p, stream, &err);
 *
 * On a GPU a graph is a CUDA graph, or launches one by one (.launches); on the CPU its calls run one after
 * another. The calls run in the order in which they were added, as if they were launched on one stream.
 *
 * A graph is for one thread at a time; different graphs may be used at once, also with the same kernels. A
 * graph keeps its kernels alive and copies names, numbers, structs and sett_buf's. The memory that buffers
 * name stays the caller's, and must live until the last run with it has ended. */
#ifndef SETT_GRAPH_H
#define SETT_GRAPH_H
#include <sett/launch.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sett_graph sett_graph;
typedef struct sett_graph_options {
    size_t size;
    bool launches; /* run by launches one by one, and never make a CUDA graph */
} sett_graph_options;

/* An empty graph for a device: SETT_CPU, a GPU's ordinal, or SETT_DEFAULT_DEVICE, which the first call's
 * engine resolves. The caller frees it with sett_graph_free. On failure *graph is NULL. SETT_E_MEMORY,
 * SETT_E_ARGUMENT. */
SETT_API sett_status sett_graph_make(int device, const sett_graph_options *or_null, sett_graph **graph,
    sett_error *or_null2);

/* Adds a call of the kernel behind those that are there, and prepares the kernel on the device
 * (sett_prepare). Each argument is a value, which it keeps for good, or SETT_LAUNCH_ARG_NAME: the name of an
 * argument of the graph, which is made when its name is first used and takes its value from sett_graph_set.
 * Order and number are those of sett_launch_n: tensors and scalars as declared, then symbols that no buffer
 * gives. label: names the call in errors; NULL: the kernel's name. It is copied.
 *
 * A call takes part in runs from the next commit on. On failure the graph is as it was. A value that is wrong
 * whatever the named arguments will be is refused here, with a launch's status and text: a kind, an element
 * type, a range, an extent that is a number.
 * SETT_E_BIND: a wrong number of arguments, or an argument that is a tensor in one call and a number in
 * another. SETT_E_DTYPE, SETT_E_RANK, SETT_E_SHAPE: two calls want different element types, ranks or sizes of
 * one argument. SETT_E_ARGUMENT: the kernel is another engine's than those before. Errors of sett_prepare. */
SETT_API sett_status sett_graph_add_n(
    sett_graph *, sett_kernel *, const char *label, int n, const sett_launch_arg *, sett_error *or_null);

/* The index of an argument, for sett_graph_set_at; -1: there is none of this name. Indices count from 0 in
 * the order in which names were first used, and do not change. */
SETT_API int sett_graph_argument(const sett_graph *, const char *name);
/* Stage an argument's value, by its index or its name. A buffer and a struct are copied. SETT_E_BIND: there
 * is no such argument; nothing is staged, and the next commit fails with the text. A wrong kind is reported
 * by the commit. SETT_E_ARGUMENT: the graph is NULL. */
SETT_API sett_status sett_graph_set_at(sett_graph *, int arg, sett_launch_arg);
SETT_API sett_status sett_graph_set_named(sett_graph *, const char *name, sett_launch_arg);
/* Checks every call that a staged argument is in, as a launch would, and makes the next runs use what is
 * staged. All of it or nothing: if it fails, the graph keeps its former arguments for sett_graph_run, and
 * what was staged stays staged. Texts name the call and the argument.
 *
 * On a GPU this makes the CUDA graph, or updates the nodes whose parameters changed
 * (cuGraphExecKernelNodeSetParams). It makes the CUDA graph anew if calls were added, if a grid that was
 * empty is not any more, or if a cluster has another size. Runs that are queued keep their arguments. It
 * waits for nothing, and may be called while any stream is captured. If the driver refuses an update, the
 * next runs launch the former arguments one by one.
 * SETT_E_BIND: an argument was never given; what a launch's binding says; the driver's errors; SETT_E_CLOSED,
 * SETT_E_FORKED. */
SETT_API sett_status sett_graph_commit(sett_graph *, sett_error *or_null);

/* Runs the calls on the stream with the arguments of the last commit: one cuGraphLaunch, without an
 * allocation or a check of arguments. On a GPU the run is asynchronous. While the stream is captured, the
 * calls are added to that capture instead, and the captured CUDA graph keeps the arguments that they have
 * now. A graph's kernels run in the context that was current at the commit, or in the device's primary one;
 * launches one by one run in the stream's. For the default stream (handle NULL) the rules are those of
 * sett_launch_n.
 *
 * Calls whose grid is empty are left out. On the CPU the call returns when all has run, or at the first call
 * that fails, whose label the text begins with; sett_cancel ends it early.
 * SETT_E_BIND: no commit yet. SETT_E_NO_DEVICE: a stream of another device. SETT_E_CLOSED, SETT_E_FORKED. The
 * driver's errors. On the CPU those of a launch. */
SETT_API sett_status sett_graph_run(sett_graph *, sett_stream, sett_error *or_null);
SETT_API void sett_graph_free(sett_graph *); /* runs that it queued go on; NULL is ignored */

/* The caller sets info->size = sizeof *info; the call fills the fields within it. SETT_E_ARGUMENT: NULL, or
 * no size. */
typedef struct sett_graph_info {
    size_t size;
    int device, calls, arguments;
    bool cuda_graph;               /* runs launch a CUDA graph: there is a commit, and the driver has what it
                                    * takes (12.0 or later) */
    uint64_t cuda_graphs, updates; /* made, and nodes updated, since the graph was made */
} sett_graph_info;
SETT_API sett_status sett_graph_query(const sett_graph *, sett_graph_info *info);

/* The name of an argument, for sett_graph_add_n; the macro makes it of a string by itself. */
static inline sett_launch_arg sett_launch_arg_name(const char *name)
{
    sett_launch_arg b = {SETT_LAUNCH_ARG_NAME, 0, {0}};
    b.u.p = name;
    return b;
}
#ifdef __cplusplus
}
/* The names that C has, as overloads instead of _Generic. */
inline sett_launch_arg sett_graph_arg_of(const char *name) { return sett_launch_arg_name(name); }
inline sett_launch_arg sett_graph_arg_of(char *name) { return sett_launch_arg_name(name); }
template <typename value> sett_launch_arg sett_graph_arg_of(value x) { return sett_launch_arg_of(x); }
template <typename... args>
sett_status sett_graph_add(sett_graph *p, sett_kernel *k, const char *label, sett_error *or_null, args... arg)
{
    const sett_launch_arg bind[] = {sett_graph_arg_of(arg)..., sett_launch_arg()};
    return sett_graph_add_n(p, k, label, sizeof...(arg), bind, or_null);
}
template <typename value> void sett_graph_set(sett_graph *p, const char *name,
    value x) { sett_graph_set_named(p, name, sett_launch_arg_of(x)); }
template <typename value> void sett_graph_set(sett_graph *p, int arg, value x) { sett_graph_set_at(p, arg,
    sett_launch_arg_of(x)); }
#else
#define SETT_GRAPH_ARG(x) \
    ((void)__extension__({ _Static_assert(SETT_LAUNCH_ARG_AS_(x) || SETT_NAMES_AS_(x), \
        "an argument of a call is a name, a number, the address of a sett_buf, or SETT_STRUCT(x)"); 0; }), \
        _Generic((x), char *: sett_launch_arg_name, const char *: sett_launch_arg_name, \
            sett_buf *: sett_launch_arg_buf, const sett_buf *: sett_launch_arg_buf, \
            float: sett_launch_arg_float, \
            double: sett_launch_arg_float, sett_launch_arg: sett_launch_arg_self, \
                default: sett_launch_arg_int)(x))
#define SETT_NAMES_AS_(x) _Generic((x), char *: 1, const char *: 1, default: 0)
/* sett_graph_add(graph, kernel, label, &err, arguments...): 0 to 32 arguments; a string is the name of an
 * argument of the graph. */
#define sett_graph_add(p, k, ...) SETT_GRAPH_ADD_(p, k, __VA_ARGS__, 0)
#define SETT_GRAPH_ADD_(p, k, label, err, ...) \
    sett_graph_add_n(p, k, label, SETT_NARG(__VA_ARGS__) - 1, \
        (const sett_launch_arg[]){SETT_EACH(SETT_GRAPH_ARG, __VA_ARGS__)}, err)
/* sett_graph_set(graph, name or index, value) */
#define sett_graph_set(p, arg, x) \
    _Generic((arg), char *: sett_graph_set_named, const char *: sett_graph_set_named, \
        default: sett_graph_set_at)(p, arg, SETT_LAUNCH_ARG(x))
#endif
#endif
