/* SPDX-License-Identifier: Apache-2.0 */
/* The module sett._fast: what stands on the path of a launch. It turns Python's arguments into those of a launch (tensors by DLPack),
 * releases the interpreter's lock, and calls libsett. All else of the package is Python over ctypes. It is written for the stable
 * ABI of Python 3.10, so one build serves every later Python. */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#include <Python.h>
#include <dlpack/dlpack.h>
#include <sett/dlpack.h>
#include "lend.h"
#include "signals.h"
#include <stdatomic.h>
#include <string.h>

enum { ARGUMENTS = 256 /* of any kernel */, PRODUCERS = 16 };

/* Names that are looked up in tensors. */
#define WORDS(X) X(__dlpack__) X(__dlpack_device__) X(__dlpack_c_exchange_api__) X(max_version) X(stream)
#define WORD_ENUM(w) WORD_##w,
enum { WORDS(WORD_ENUM) N_WORDS };
#define WORD_TEXT(w) #w,
static const char *const word_text[] = {WORDS(WORD_TEXT)};

/* One of a module. A producer is a type of tensors; api: DLPack's table of C functions, if it has one. */
typedef struct state {
    PyObject *word[N_WORDS], *version; /* version: of DLPack, as __dlpack__ takes it */
    PyObject *kernel_type, *call_type, *view_type;
    PyObject *error;   /* sett.Error(status, text) */
    PyObject *current; /* (type of a tensor, device) -> handle of the stream that its framework works on */
    PyObject *handle;  /* (stream) -> its handle */
    struct producer { PyTypeObject *type; const DLPackExchangeAPI *api; } producer[PRODUCERS];
    int n_producers;
} state;

typedef struct kernel {
    PyObject_HEAD
    PyObject *module, *engine;
    state *st; /* the module's */
    sett_kernel *kernel;
    const char *name;
    int n_param, device; /* device: of launches without a tensor */
    unsigned char kind[ARGUMENTS], dtype[ARGUMENTS]; /* of each parameter; dtype: of a number, else 0 */
} kernel;
enum { WRITTEN = 1, STRUCT = 2 };

/* What tells the current stream: the table of a producer, else the type of a tensor. */
typedef struct origin {
    const DLPackExchangeAPI *api;
    PyObject *type; /* borrowed in `taken`, owned in `call` */
} origin;

/* The arguments of one call, as far as they were given. kept: what keeps memory valid that `bind` and `buf` point to. */
typedef struct taken {
    kernel *k;
    PyObject *stream; /* as it was given; NULL or None: the current one */
    void *handle;     /* of the stream, if it is known */
    bool handle_known;
    int n, device;
    origin from;
    sett_launch_arg bind[ARGUMENTS];
    sett_buf buf[ARGUMENTS];
    PyObject *kept[ARGUMENTS];
} taken;

/* ---- errors ------------------------------------------------------------------------- */
static int fail(const state *st, sett_status status, const char *text)
{
    PyObject *said = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace"); /* it may end inside of a letter */
    PyObject *e = said ? PyObject_CallFunction(st->error, "iO", (int)status, said) : NULL;
    if (e)
        PyErr_SetObject(st->error, e);
    Py_XDECREF(said), Py_XDECREF(e);
    return -1;
}

static int refuse(const kernel *k, int i, sett_status status, const char *why)
{
    char text[508], name[128] = "";
    sett_param_info p = {.size = sizeof p};
    if (!sett_kernel_param(k->kernel, i, &p))
        PyOS_snprintf(name, sizeof name, "%.100s (", p.name);
    PyOS_snprintf(text, sizeof text, "%.100s: %sargument %d%s: %.200s", k->name, name, i, *name ? ")" : "", why);
    return fail(k->st, status, text);
}

/* ---- streams ---------------------------------------------------------------------------- */
static int handle_of(PyObject *number, void **handle)
{
    if (!number)
        return -1;
    *handle = PyLong_AsVoidPtr(number);
    Py_DECREF(number);
    return PyErr_Occurred() ? -1 : 0;
}

/* stream: NULL or None, an integer, or an object of a framework's. */
static int find_stream(const state *st, PyObject *stream, origin from, int device, void **handle)
{
    *handle = NULL;
    if (stream && stream != Py_None)
        return handle_of(PyLong_Check(stream) ? Py_NewRef(stream) : PyObject_CallFunctionObjArgs(st->handle, stream, NULL), handle);
    if (device < 0)
        return 0;
    if (from.api)
        return from.api->current_work_stream ? from.api->current_work_stream(kDLCUDA, device, handle) : 0;
    return from.type ? handle_of(PyObject_CallFunction(st->current, "Oi", from.type, device), handle) : 0;
}

static int know_stream(taken *t)
{
    if (!t->handle_known && find_stream(t->k->st, t->stream, t->from, t->device, &t->handle))
        return -1;
    t->handle_known = true;
    return 0;
}

/* ---- tensors ------------------------------------------------------------------------------ */
/* The table of a type, asked once a type. NULL: it has none, or an error is set. */
static const DLPackExchangeAPI *find_producer(state *st, PyTypeObject *type)
{
    for (int i = 0; i < st->n_producers; i++)
        if (st->producer[i].type == type)
            return st->producer[i].api;
    PyObject *capsule = PyObject_GetAttr((PyObject *)type, st->word[WORD___dlpack_c_exchange_api__]);
    const DLPackExchangeAPI *api = NULL;
    if (!capsule && !PyErr_ExceptionMatches(PyExc_AttributeError))
        return NULL;
    PyErr_Clear();
    if (capsule && PyCapsule_IsValid(capsule, "dlpack_exchange_api"))
        api = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    Py_XDECREF(capsule);
    if (api && (api->header.version.major != DLPACK_MAJOR_VERSION || !api->dltensor_from_py_object_no_sync))
        api = NULL;
    if (st->n_producers < PRODUCERS)
        st->producer[st->n_producers++] = (struct producer){(PyTypeObject *)Py_NewRef((PyObject *)type), api};
    return api;
}

static int bind_tensor(taken *t, int i, const DLTensor *tensor, origin from)
{
    sett_error err;
    const bool first = t->device < 0;
    if (sett_launch_arg_dltensor(t->k->kernel, i, tensor, &t->buf[i], &t->bind[i], &t->device, &err))
        return fail(t->k->st, err.status, err.text);
    if (first && t->device >= 0 && !t->from.type)
        t->from = from;
    return 0;
}

/* tensor.__dlpack__(), of DLPack 1 where the producer knows it. */
static PyObject *export_tensor(const state *st, PyObject *arg, PyObject *stream)
{
    PyObject *none = PyTuple_New(0), *named = PyDict_New(), *capsule = NULL;
    if (none && named && !PyDict_SetItem(named, st->word[WORD_max_version], st->version) &&
        !(stream && PyDict_SetItem(named, st->word[WORD_stream], stream)))
        capsule = call_dlpack(arg, st->word[WORD___dlpack__], st->word[WORD_max_version], none, named);
    Py_XDECREF(none), Py_XDECREF(named);
    return capsule;
}

/* The number that `__dlpack__` knows the stream of this call by; NULL: no stream, or an error is set. The producer orders its own
 * work before that stream. */
static PyObject *stream_number(taken *t, int i, PyObject *arg)
{
    int type = 0, device = 0;
    PyObject *where = PyObject_CallMethodObjArgs(arg, t->k->st->word[WORD___dlpack_device__], NULL);
    const bool known = where && PyTuple_Check(where) && PyArg_ParseTuple(where, "ii", &type, &device);
    if (where && !known && !PyErr_Occurred())
        refuse(t->k, i, SETT_E_BIND, "its __dlpack_device__ gave no device");
    Py_XDECREF(where);
    if (!known || type != kDLCUDA)
        return NULL;
    if (t->device < 0) { /* the first of a GPU: its framework tells the stream */
        origin from = t->from.type ? t->from : (origin){NULL, (PyObject *)Py_TYPE(arg)};
        if (!t->handle_known && find_stream(t->k->st, t->stream, from, device, &t->handle))
            return NULL;
        t->handle_known = true;
    } else if (know_stream(t)) {
        return NULL;
    }
    return t->handle ? PyLong_FromVoidPtr(t->handle) : PyLong_FromLong(1); /* 1: the default stream */
}

static int take_exported(taken *t, int i, PyObject *arg)
{
    sett_error err;
    sett_buf buf;
    bool read_only = false;
    PyObject *number = stream_number(t, i, arg), *capsule = PyErr_Occurred() ? NULL : export_tensor(t->k->st, arg, number);
    Py_XDECREF(number);
    if (!capsule)
        return -1;
    t->kept[i] = capsule;
    const origin from = {NULL, (PyObject *)Py_TYPE(arg)};
    if (PyCapsule_IsValid(capsule, "dltensor"))
        return bind_tensor(t, i, &((DLManagedTensor *)PyCapsule_GetPointer(capsule, "dltensor"))->dl_tensor, from);
    if (!PyCapsule_IsValid(capsule, "dltensor_versioned"))
        return refuse(t->k, i, SETT_E_BIND, "its __dlpack__ gave no DLPack tensor");
    const DLManagedTensorVersioned *m = PyCapsule_GetPointer(capsule, "dltensor_versioned");
    if (sett_buf_dlpack(m, &buf, NULL, &read_only, &err))
        return refuse(t->k, i, err.status, err.text);
    if (read_only && i < t->k->n_param && t->k->kind[i] & WRITTEN)
        return refuse(t->k, i, SETT_E_ARGUMENT, "the kernel writes it, and the tensor is read-only");
    return bind_tensor(t, i, &m->dl_tensor, from);
}

/* ---- views: the memory of a tensor as elements of another type ------------------------------- */
typedef struct view {
    PyObject_HEAD
    PyObject *of;
    int dtype;
} view;

/* ---- arguments ----------------------------------------------------------------------------------- */
static int take(taken *t, int i, PyObject *arg);

/* The type of a number; 0: argument i is none. */
static sett_dtype number_type(const taken *t, int i)
{
    return i < t->k->n_param ? (sett_dtype)t->k->dtype[i] : (sett_dtype)0;
}

static int too_large(const taken *t, int i)
{
    const sett_dtype d = number_type(t, i);
    char why[80];
    PyErr_Clear();
    PyOS_snprintf(why, sizeof why, "the integer does not fit %s", sett_dtype_name(d ? d : SETT_I64));
    return refuse(t->k, i, SETT_E_RANGE, why);
}

/* One that is no int64_t: the upper half of UInt64, or a floating number. */
static int take_large(taken *t, int i, PyObject *arg)
{
    const sett_dtype d = number_type(t, i);
    if (d == SETT_U64) { /* a launch takes the pattern */
        t->bind[i] = sett_launch_arg_int((long long)PyLong_AsUnsignedLongLong(arg));
    } else if (d == SETT_F16 || d == SETT_BF16 || d == SETT_TF32 || d == SETT_F32 || d == SETT_F64) {
        t->bind[i] = sett_launch_arg_float(PyLong_AsDouble(arg));
    } else {
        return too_large(t, i);
    }
    return PyErr_Occurred() ? too_large(t, i) : 0;
}

static int take_integer(taken *t, int i, PyObject *arg)
{
    int overflow;
    const long long n = PyLong_AsLongLongAndOverflow(arg, &overflow);
    if (n == -1 && !overflow && PyErr_Occurred())
        return -1;
    if (overflow)
        return take_large(t, i, arg);
    t->bind[i] = sett_launch_arg_int(n);
    return n < 0 && number_type(t, i) == SETT_U64 ? too_large(t, i) : 0;
}

static int take_struct(taken *t, int i, PyObject *arg)
{
    char *bytes;
    Py_ssize_t len;
    if (!(t->kept[i] = PyBytes_FromObject(arg)) || PyBytes_AsStringAndSize(t->kept[i], &bytes, &len))
        return -1;
    t->bind[i] = sett_launch_arg_struct(bytes, (size_t)len);
    return 0;
}

/* Numbers of other types, such as NumPy's. */
static int take_other(taken *t, int i, PyObject *arg)
{
    char why[200];
    if (i < t->k->n_param && t->k->kind[i] & STRUCT)
        return take_struct(t, i, arg);
    if (PyIndex_Check(arg)) {
        PyObject *n = PyNumber_Index(arg);
        const int r = n ? take_integer(t, i, n) : -1;
        Py_XDECREF(n);
        return r;
    }
    const double f = PyFloat_AsDouble(arg);
    const bool number = f != -1 || !PyErr_Occurred();
    if (!number && !PyErr_ExceptionMatches(PyExc_TypeError))
        return -1;
    PyErr_Clear();
    PyObject *type = PyObject_GetAttrString((PyObject *)Py_TYPE(arg), "__name__");
    const char *name = type ? PyUnicode_AsUTF8AndSize(type, NULL) : NULL;
    if (number) { /* NumPy's Boolean is no integer */
        const bool truth = name && !strncmp(name, "bool", 4) && number_type(t, i) == SETT_BOOL;
        t->bind[i] = truth ? sett_launch_arg_int(f != 0) : sett_launch_arg_float(f);
        Py_XDECREF(type);
        return 0;
    }
    PyOS_snprintf(why, sizeof why, "%.100s is neither a tensor nor a number", name ? name : "it");
    Py_XDECREF(type);
    return refuse(t->k, i, SETT_E_BIND, why);
}

static int take(taken *t, int i, PyObject *arg)
{
    t->kept[i] = NULL;
    if (PyFloat_Check(arg)) {
        t->bind[i] = sett_launch_arg_float(PyFloat_AsDouble(arg));
        return 0;
    }
    if (PyLong_Check(arg))
        return take_integer(t, i, arg);
    PyTypeObject *type = Py_TYPE(arg);
    if ((PyObject *)type == t->k->st->view_type) {
        const view *v = (const view *)arg;
        if (take(t, i, v->of))
            return -1;
        if (t->bind[i].kind != SETT_LAUNCH_ARG_BUF)
            return refuse(t->k, i, SETT_E_BIND, "a view of what is no tensor");
        const char *why = view_as(&t->buf[i], (sett_dtype)v->dtype);
        return why ? refuse(t->k, i, SETT_E_DTYPE, why) : 0;
    }
    const DLPackExchangeAPI *api = find_producer(t->k->st, type);
    if (api) {
        DLTensor tensor;
        return api->dltensor_from_py_object_no_sync(arg, &tensor) ? -1 : bind_tensor(t, i, &tensor, (origin){api, (PyObject *)type});
    }
    if (PyErr_Occurred())
        return -1;
    return PyObject_HasAttr(arg, t->k->st->word[WORD___dlpack__]) ? take_exported(t, i, arg) : take_other(t, i, arg);
}

static void drop(taken *t)
{
    for (int i = 0; i < t->n; i++)
        Py_CLEAR(t->kept[i]);
}

/* An argument given by its name; places between those given stay empty. */
static int take_named(taken *t, PyObject *key, PyObject *arg)
{
    const char *name = PyUnicode_AsUTF8AndSize(key, NULL);
    char text[300];
    if (!name)
        return -1;
    const int i = sett_kernel_argument(t->k->kernel, name);
    if (i < 0 || i >= ARGUMENTS || (i < t->n && t->bind[i].kind)) {
        PyOS_snprintf(text, sizeof text, i < 0 || i >= ARGUMENTS ? "%.100s has no argument %.100s" : "%.100s: %.100s was given twice", t->k->name, name);
        return fail(t->k->st, SETT_E_BIND, text);
    }
    for (; t->n <= i; t->n++)
        t->kept[t->n] = NULL, t->bind[t->n] = (sett_launch_arg){.kind = 0};
    return take(t, i, arg);
}

static int take_all(taken *t, PyObject *args)
{
    const Py_ssize_t n = PyTuple_Size(args);
    char text[200];
    if (n > ARGUMENTS) {
        PyOS_snprintf(text, sizeof text, "%.100s: %zd arguments were given; no kernel has more than %d", t->k->name, n, ARGUMENTS);
        return fail(t->k->st, SETT_E_BIND, text);
    }
    while (t->n < n) {
        const int i = t->n++;
        if (take(t, i, PyTuple_GetItem(args, i)))
            return -1;
    }
    return 0;
}

/* The arguments of a call; stream: an argument of that name is the stream. On failure what was kept is dropped. */
static int take_arguments(taken *t, kernel *k, int device, PyObject *args, PyObject *names, bool stream)
{
    PyObject *key, *arg;
    Py_ssize_t at = 0;
    t->k = k, t->stream = NULL, t->handle_known = false, t->n = 0, t->device = device, t->from = (origin){NULL, NULL};
    if (names && stream)
        t->stream = PyDict_GetItemWithError(names, k->st->word[WORD_stream]);
    int r = take_all(t, args);
    while (!r && names && PyDict_Next(names, &at, &key, &arg))
        if (!t->stream || arg != t->stream || PyUnicode_CompareWithASCIIString(key, "stream"))
            r = take_named(t, key, arg);
    if (r)
        drop(t);
    return r;
}

static void *new_object(PyTypeObject *type)
{
    return ((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
}

static void free_object(PyObject *o)
{
    PyTypeObject *type = Py_TYPE(o);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(o);
    Py_DECREF(type);
}

/* ---- kernels ------------------------------------------------------------------------------------------ */
/* Kernel(module, address, engine): takes over the reference. */
static PyObject *kernel_new(PyTypeObject *type, PyObject *args, PyObject *names)
{
    PyObject *module, *address, *engine;
    (void)names;
    if (!PyArg_ParseTuple(args, "OOO", &module, &address, &engine))
        return NULL;
    sett_kernel *handle = PyLong_AsVoidPtr(address);
    state *st = PyModule_GetState(module);
    if (!handle || !st)
        return PyErr_Occurred() ? NULL : (PyErr_SetString(PyExc_ValueError, "no kernel"), NULL);
    const int n = sett_kernel_params(handle);
    kernel *k = new_object(type);
    if (!k)
        return NULL;
    sett_kernel_info info = {.size = sizeof info};
    sett_kernel_query(handle, &info);
    k->module = Py_NewRef(module), k->engine = Py_NewRef(engine);
    k->st = st, k->kernel = handle, k->name = info.name, k->n_param = n;
    k->device = strcmp(info.target, "cpu") ? SETT_DEFAULT_DEVICE : SETT_CPU;
    for (int i = 0; i < n && i < ARGUMENTS; i++) {
        sett_param_info p = {.size = sizeof p};
        sett_kernel_param(handle, i, &p);
        k->kind[i] = (p.written ? WRITTEN : 0) | (p.bytes && p.scalar ? STRUCT : 0);
        k->dtype[i] = p.scalar && !p.bytes ? (unsigned char)p.dtype : 0;
    }
    return (PyObject *)k;
}

/* An engine may have its kernels as attributes. The engine breaks such a cycle: a kernel stays one that may be called. */
static int kernel_traverse(PyObject *o, visitproc visit, void *arg)
{
    Py_VISIT((PyObject *)Py_TYPE(o));
    Py_VISIT(((kernel *)o)->module);
    Py_VISIT(((kernel *)o)->engine);
    return 0;
}

static void kernel_free(PyObject *o)
{
    kernel *k = (kernel *)o;
    PyObject_GC_UnTrack(o);
    if (k->kernel) { /* a log function may want the lock that this thread holds */
        Py_BEGIN_ALLOW_THREADS
        sett_kernel_release(k->kernel);
        Py_END_ALLOW_THREADS
    }
    Py_CLEAR(k->engine);
    Py_CLEAR(k->module);
    free_object(o);
}

static PyObject *kernel_call(PyObject *self, PyObject *args, PyObject *names)
{
    taken t;
    kernel *k = (kernel *)self;
    sett_error err;
    sett_status s = SETT_OK;
    if (take_arguments(&t, k, SETT_DEFAULT_DEVICE, args, names, true))
        return NULL;
    if (t.device == SETT_DEFAULT_DEVICE)
        t.device = k->device;
    int r = know_stream(&t);
    if (!r) {
        WITHOUT_LOCK(s, k->engine, sett_launch_n(k->kernel, (sett_stream){t.device, t.handle}, t.n, t.bind, &err));
        r = PyErr_Occurred() ? -1 : 0; /* a handler's or a print function's */
    }
    drop(&t);
    if (s && !r)
        r = fail(k->st, s, err.text);
    return r ? NULL : Py_NewRef(Py_None);
}

static PyObject *kernel_address(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromVoidPtr(((kernel *)self)->kernel);
}

static PyObject *kernel_engine(PyObject *self, void *unused)
{
    (void)unused;
    return Py_NewRef(((kernel *)self)->engine);
}

/* ---- prepared calls -------------------------------------------------------------------------------------- */
/* One argument as it was committed, and what keeps it alive. */
typedef struct held {
    sett_launch_arg bind;
    sett_buf buf;
    PyObject *alive;
} held;
typedef struct call {
    PyObject_HEAD
    kernel *k;
    sett_prepared *call;
    origin from; /* type: owned */
    int device, n;
    held *arg;
    atomic_flag busy;
} call;

static void stage(sett_prepared *c, int i, const sett_launch_arg *b)
{
    if (b->kind == SETT_LAUNCH_ARG_BUF)
        sett_prepared_buf(c, i, b->u.t);
    else if (b->kind == SETT_LAUNCH_ARG_INT)
        sett_prepared_int(c, i, b->u.i);
    else if (b->kind == SETT_LAUNCH_ARG_FLOAT)
        sett_prepared_float(c, i, b->u.f);
    else if (b->kind == SETT_LAUNCH_ARG_STRUCT)
        sett_prepared_struct(c, i, b->u.p, b->bytes);
}

/* Takes over what was committed. alive: the capsule of a tensor or the bytes of a struct, else the argument itself. */
static int hold(call *c, taken *t, PyObject *args, PyObject *names)
{
    PyObject *key, *arg;
    Py_ssize_t at = 0;
    if (t->n > c->n) {
        held *more = PyMem_Realloc(c->arg, (size_t)t->n * sizeof *more);
        if (!more)
            return PyErr_NoMemory(), -1;
        memset(more + c->n, 0, (size_t)(t->n - c->n) * sizeof *more);
        c->arg = more, c->n = t->n;
    }
    for (int i = 0; i < t->n; i++) {
        if (!t->bind[i].kind)
            continue;
        PyObject *was = c->arg[i].alive, *alive = t->kept[i];
        if (!alive && i < PyTuple_Size(args))
            alive = Py_NewRef(PyTuple_GetItem(args, i));
        t->kept[i] = NULL;
        c->arg[i] = (held){t->bind[i], t->buf[i], alive};
        Py_XDECREF(was);
    }
    while (names && PyDict_Next(names, &at, &key, &arg)) {
        const char *name = PyUnicode_AsUTF8AndSize(key, NULL);
        const int i = name ? sett_kernel_argument(c->k->kernel, name) : -1;
        if (i >= 0 && i < c->n && !c->arg[i].alive)
            c->arg[i].alive = Py_NewRef(arg);
    }
    if (t->from.type && !c->from.type)
        c->from = (origin){t->from.api, Py_NewRef(t->from.type)};
    return 0;
}

static int call_traverse(PyObject *o, visitproc visit, void *arg)
{
    call *c = (call *)o;
    Py_VISIT((PyObject *)Py_TYPE(o));
    Py_VISIT((PyObject *)c->k);
    Py_VISIT(c->from.type);
    for (int i = 0; i < c->n; i++)
        Py_VISIT(c->arg[i].alive);
    return 0;
}

static void call_free(PyObject *o)
{
    call *c = (call *)o;
    PyObject_GC_UnTrack(o);
    Py_BEGIN_ALLOW_THREADS
    sett_prepared_free(c->call);
    Py_END_ALLOW_THREADS
    for (int i = 0; i < c->n; i++)
        Py_XDECREF(c->arg[i].alive);
    PyMem_Free(c->arg);
    Py_XDECREF(c->from.type), Py_XDECREF((PyObject *)c->k);
    free_object(o);
}

static PyObject *kernel_prepare(PyObject *self, PyObject *args, PyObject *names)
{
    taken t;
    kernel *k = (kernel *)self;
    sett_error err;
    sett_status s;
    sett_prepared *made = NULL;
    if (take_arguments(&t, k, SETT_DEFAULT_DEVICE, args, names, false))
        return NULL;
    if (t.device == SETT_DEFAULT_DEVICE)
        t.device = k->device;
    Py_BEGIN_ALLOW_THREADS
    s = sett_prepared_make_n(k->kernel, t.device, t.n, t.bind, &made, &err);
    Py_END_ALLOW_THREADS
    call *c = NULL;
    if (s)
        fail(k->st, s, err.text);
    else if ((c = new_object((PyTypeObject *)k->st->call_type))) {
        c->k = (kernel *)Py_NewRef(self), c->call = made, c->device = t.device;
        if (hold(c, &t, args, names))
            Py_CLEAR(c);
    } else {
        sett_prepared_free(made);
    }
    drop(&t);
    return (PyObject *)c;
}

static int enter(call *c)
{
    if (atomic_flag_test_and_set_explicit(&c->busy, memory_order_acquire))
        return fail(c->k->st, SETT_E_ARGUMENT, "a prepared call is for one thread at a time, and another thread is in this one");
    return 0;
}

static PyObject *leave(call *c, sett_status s, const char *text)
{
    atomic_flag_clear_explicit(&c->busy, memory_order_release);
    if (PyErr_Occurred()) /* a handler's or a print function's */
        return NULL;
    if (s)
        fail(c->k->st, s, text);
    return s ? NULL : Py_NewRef(Py_None);
}

static PyObject *call_run(PyObject *self, PyObject *args, PyObject *names)
{
    call *c = (call *)self;
    PyObject *stream = NULL;
    void *handle;
    char text[300];
    static char *words[] = {"stream", NULL};
    if ((names || PyTuple_Size(args)) && !PyArg_ParseTupleAndKeywords(args, names, "|O:Call", words, &stream))
        return NULL;
    if (find_stream(c->k->st, stream, c->from, c->device, &handle) || enter(c))
        return NULL;
    sett_status s;
    WITHOUT_LOCK(s, c->k->engine, sett_prepared_run(c->call, (sett_stream){c->device, handle}));
    if (s)
        PyOS_snprintf(text, sizeof text, "%.100s: %s", c->k->name, sett_status_text(s));
    return leave(c, s, text);
}

/* Stages what is given and commits; after a failure the arguments are those before. */
static PyObject *call_bind(PyObject *self, PyObject *args, PyObject *names)
{
    taken t;
    call *c = (call *)self;
    sett_error err;
    sett_status s;
    if (take_arguments(&t, c->k, c->device, args, names, false))
        return NULL;
    if (enter(c)) {
        drop(&t);
        return NULL;
    }
    for (int i = 0; i < t.n; i++)
        stage(c->call, i, &t.bind[i]);
    Py_BEGIN_ALLOW_THREADS
    s = sett_prepared_commit(c->call, &err);
    Py_END_ALLOW_THREADS
    for (int i = 0; i < c->n && s; i++) {
        if (c->arg[i].bind.kind == SETT_LAUNCH_ARG_BUF)
            c->arg[i].bind.u.t = &c->arg[i].buf;
        stage(c->call, i, &c->arg[i].bind);
    }
    const int r = s ? 0 : hold(c, &t, args, names);
    drop(&t);
    PyObject *done = leave(c, s, err.text);
    if (r)
        Py_CLEAR(done);
    return done;
}

static PyObject *call_kernel(PyObject *self, void *unused)
{
    (void)unused;
    return Py_NewRef((PyObject *)((call *)self)->k);
}

/* ---- views and the module ----------------------------------------------------------------------------------- */
static PyObject *view_new(PyTypeObject *type, PyObject *args, PyObject *names)
{
    PyObject *of;
    int dtype;
    (void)names;
    if (!PyArg_ParseTuple(args, "Oi", &of, &dtype))
        return NULL;
    view *v = new_object(type);
    if (v)
        v->of = Py_NewRef(of), v->dtype = dtype;
    return (PyObject *)v;
}

static int view_traverse(PyObject *o, visitproc visit, void *arg)
{
    Py_VISIT((PyObject *)Py_TYPE(o));
    Py_VISIT(((view *)o)->of);
    return 0;
}

static void view_free(PyObject *o)
{
    PyObject_GC_UnTrack(o);
    Py_XDECREF(((view *)o)->of);
    free_object(o);
}

static PyObject *view_dlpack(PyObject *self, PyObject *args, PyObject *names)
{
    const view *v = (const view *)self;
    const state *st = PyType_GetModuleState(Py_TYPE(self));
    PyObject *capsule = call_dlpack(v->of, st->word[WORD___dlpack__], st->word[WORD_max_version], args, names);
    sett_error err = {.status = SETT_OK};
    PyObject *lent = capsule ? view_lend(capsule, (sett_dtype)v->dtype, &err) : NULL;
    if (capsule && !lent && err.status)
        fail(st, err.status, err.text);
    return lent;
}

static PyObject *view_dlpack_device(PyObject *self, PyObject *unused)
{
    const state *st = PyType_GetModuleState(Py_TYPE(self));
    (void)unused;
    return PyObject_CallMethodObjArgs(((view *)self)->of, st->word[WORD___dlpack_device__], NULL);
}

/* setup(error, current, handle): what Python has for this module. */
static PyObject *setup(PyObject *module, PyObject *args)
{
    state *st = PyModule_GetState(module);
    PyObject *error, *current, *handle;
    if (!PyArg_ParseTuple(args, "OOO", &error, &current, &handle))
        return NULL;
    st->error = Py_NewRef(error), st->current = Py_NewRef(current), st->handle = Py_NewRef(handle);
    return Py_NewRef(Py_None);
}

static PyGetSetDef kernel_members[] = {
    {"address", kernel_address, NULL, "The sett_kernel *, as an integer, for calls of the C library.", NULL},
    {"engine", kernel_engine, NULL, "The engine that it is of.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};
#define METHOD(f) (PyCFunction)(void (*)(void))f
static PyMethodDef kernel_methods[] = {
    {"prepare", METHOD(kernel_prepare), METH_VARARGS | METH_KEYWORDS,
        "prepare(*arguments, **by_name) -> Call\n\nChecks the arguments once and loads the kernel; calls of the result only launch."},
    {NULL, NULL, 0, NULL}};
static PyType_Slot kernel_slots[] = {{Py_tp_new, (void *)kernel_new}, {Py_tp_dealloc, (void *)kernel_free}, {Py_tp_traverse, (void *)kernel_traverse}, {Py_tp_call, (void *)kernel_call},
    {Py_tp_getset, kernel_members}, {Py_tp_methods, kernel_methods},
    {Py_tp_doc, "kernel(*arguments, stream=None, **by_name): checks the arguments and launches."}, {0, NULL}};
static PyGetSetDef call_members[] = {{"kernel", call_kernel, NULL, "Its kernel.", NULL}, {NULL, NULL, NULL, NULL, NULL}};
static PyMethodDef call_methods[] = {
    {"bind", METHOD(call_bind), METH_VARARGS | METH_KEYWORDS,
        "bind(*arguments, **by_name)\n\nReplaces arguments, the first ones or those named, and checks all together. After an error the\n"
        "call has the arguments that it had before."},
    {NULL, NULL, 0, NULL}};
static PyType_Slot call_slots[] = {{Py_tp_dealloc, (void *)call_free}, {Py_tp_traverse, (void *)call_traverse}, {Py_tp_call, (void *)call_run}, {Py_tp_getset, call_members},
    {Py_tp_methods, call_methods},
    {Py_tp_doc, "A prepared launch, of Kernel.prepare. call(stream=None) launches; one thread at a time. It keeps its tensors alive."}, {0, NULL}};
static PyMethodDef view_methods[] = {
    {"__dlpack__", METHOD(view_dlpack), METH_VARARGS | METH_KEYWORDS, "The tensor's, as elements of the view's type."},
    {"__dlpack_device__", view_dlpack_device, METH_NOARGS, "The tensor's."}, {NULL, NULL, 0, NULL}};
static PyType_Slot view_slots[] = {{Py_tp_methods, view_methods}, {Py_tp_new, (void *)view_new}, {Py_tp_dealloc, (void *)view_free}, {Py_tp_traverse, (void *)view_traverse}, {Py_tp_doc, "Of sett.view."}, {0, NULL}};
static PyType_Spec kernel_spec = {"sett._fast.Kernel", sizeof(kernel), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE, kernel_slots};
static PyType_Spec call_spec = {"sett.Call", sizeof(call), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, call_slots};
static PyType_Spec view_spec = {"sett.View", sizeof(view), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, view_slots};

static int add_type(PyObject *module, PyType_Spec *spec, const char *name, PyObject **to)
{
    *to = PyType_FromModuleAndSpec(module, spec, NULL);
    return *to ? PyModule_AddObjectRef(module, name, *to) : -1;
}

static int start(PyObject *module)
{
    state *st = PyModule_GetState(module);
    for (int i = 0; i < N_WORDS; i++)
        if (!(st->word[i] = PyUnicode_InternFromString(word_text[i])))
            return -1;
    st->version = Py_BuildValue("ii", DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION);
    return add_callbacks(module) || !st->version || add_type(module, &kernel_spec, "Kernel", &st->kernel_type) || add_type(module, &call_spec, "Call", &st->call_type) ||
            add_type(module, &view_spec, "View", &st->view_type) ? -1 : 0;
}

static void finish(void *module)
{
    state *st = PyModule_GetState(module);
    for (int i = 0; i < st->n_producers; i++)
        Py_DECREF((PyObject *)st->producer[i].type);
    PyObject **const all[] = {&st->kernel_type, &st->call_type, &st->view_type, &st->error, &st->current, &st->handle,
        &st->version};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        Py_CLEAR(*all[i]);
    for (int i = 0; i < N_WORDS; i++)
        Py_CLEAR(st->word[i]);
}

static PyMethodDef functions[] = {{"setup", setup, METH_VARARGS, NULL}, {"inside", is_inside, METH_O, NULL}, {"forked", forked, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)start}, {0, NULL}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "sett._fast", NULL, sizeof(state), functions, slots, NULL, NULL, finish};

PyMODINIT_FUNC PyInit__fast(void);
PyMODINIT_FUNC PyInit__fast(void)
{
    return PyModuleDef_Init(&definition);
}
