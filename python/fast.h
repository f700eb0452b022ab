/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the module sett._fast share: kernels, and the arguments of a call as they are taken from Python (take.c). */
#ifndef SETT_PYTHON_FAST_H
#define SETT_PYTHON_FAST_H
#ifndef PY_SSIZE_T_CLEAN
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#endif
#include <Python.h>
#include <dlpack/dlpack.h>
#include <sett/dlpack.h>
#include <stdbool.h>

enum { ARGUMENTS = 256 /* of any kernel */, PRODUCERS = 16 };

/* Names that are looked up in tensors and among the words of a call. */
#define WORDS(X) X(__dlpack__) X(__dlpack_device__) X(__dlpack_c_exchange_api__) X(max_version) X(stream) X(label)
#define WORD_ENUM(w) WORD_##w,
enum { WORDS(WORD_ENUM) N_WORDS };

/* The state of the Python module. A producer is a type of tensors; api: DLPack's table of C functions, if the type has one. */
typedef struct state {
    PyObject *word[N_WORDS], *version; /* version: of DLPack, as __dlpack__ takes it */
    PyObject *kernel_type, *call_type, *view_type, *graph_type, *product_type;
    PyObject *error;   /* sett.Error(status, text) */
    PyObject *current; /* (type of a tensor, device) -> handle of the stream that its framework works on */
    PyObject *handle;  /* (stream) -> its handle */
    struct producer { PyTypeObject *type; const DLPackExchangeAPI *api; } producer[PRODUCERS];
    int n_producers;
} state;

/* What is wanted of an argument. dtype: of a number, else 0. */
enum { WRITTEN = 1, STRUCT = 2, NATURAL = 4 /* no number below 0 */ };
typedef struct want {
    unsigned char kind, dtype;
} want;
typedef struct kernel {
    PyObject_HEAD
    PyObject *module, *engine, *options; /* options: of its family, by name */
    state *st; /* the module's */
    sett_kernel *kernel;
    const char *name;
    int n_param, device; /* device: of launches without a tensor */
    want want[ARGUMENTS]; /* of each parameter */
} kernel;

/* The memory of a tensor as elements of another type. */
typedef struct view {
    PyObject_HEAD
    PyObject *of;
    int dtype;
} view;

/* What tells the current stream: the table of a producer, else the type of a tensor. */
typedef struct origin {
    const DLPackExchangeAPI *api;
    PyObject *type; /* borrowed in `taken`, owned by what keeps it */
} origin;

/* The arguments of one call, as far as they were given. kept: what keeps memory valid that `bind` and `buf` point to. */
typedef struct taken {
    kernel *k;        /* NULL: operands of a product are taken */
    state *st;
    const char *const *names_of; /* of those operands */
    const want *want; /* of the one argument of a graph that is taken; NULL: the kernel's */
    const char *as;   /* its name */
    bool names;       /* a str is the name of an argument of a graph */
    PyObject *stream; /* as it was given; NULL or None: the current one */
    void *handle;     /* of the stream, if it is known */
    bool handle_known;
    int n, device;
    origin from;
    sett_launch_arg bind[ARGUMENTS];
    sett_buf buf[ARGUMENTS];
    PyObject *kept[ARGUMENTS]; /* also the name of an argument of a graph */
} taken;

/* ---- fast.c ---------------------------------------------------------------------------------- */
void *new_object(PyTypeObject *);
void free_object(PyObject *);

/* ---- take.c ---------------------------------------------------------------------------------- */
/* Raises a sett.Error; -1. */
int fail(const state *, sett_status, const char *text);
/* The UTF-8 of a str without a NUL; NULL: an exception is set. */
const char *text_of(PyObject *);
/* stream: NULL or None, an integer, or an object of a framework's. */
int find_stream(const state *, PyObject *stream, origin, int device, void **handle);
int know_stream(taken *);
/* Raises what is wrong with argument i; -1. */
int refuse(const taken *, int i, sett_status, const char *why);
/* Argument i of the kernel. On failure kept[i] may be set. */
int take(taken *, int i, PyObject *arg);
void begin_taken(taken *, kernel *, int device);
/* The arguments of a call. LAUNCHED: an argument of the name `stream` is the stream; RECORDED: a str is a name. On failure what was
 * kept is dropped. */
enum { LAUNCHED = 1, PREPARED, RECORDED };
int take_arguments(taken *, kernel *, int device, PyObject *args, PyObject *names, int how);
void drop(taken *);

/* ---- product.c ------------------------------------------------------------------------------- */
extern PyType_Spec product_spec;
/* -> (element type, shape, strides, device). name: of errors */
PyObject *shape_of(PyObject *module, PyObject *tensor, const char *name);

/* ---- graph.c --------------------------------------------------------------------------------- */
extern PyType_Spec graph_spec;
#endif
