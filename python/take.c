/* SPDX-License-Identifier: Apache-2.0 */
/* Python's arguments as those of a launch: tensors by DLPack, numbers, structs, names. */
#include "fast.h"
#include "lend.h"
#include <sett/graph.h>
#include <string.h>

/* ---- errors ------------------------------------------------------------------------- */
int fail(const state *st, sett_status status, const char *text)
{
    PyObject *said = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace"); /* it may end inside of a letter */
    PyObject *e = said ? PyObject_CallFunction(st->error, "iO", (int)status, said) : NULL;
    if (e)
        PyErr_SetObject(st->error, e);
    Py_XDECREF(said), Py_XDECREF(e);
    return -1;
}

/* The text of an error about argument i. That of a graph's argument ends as those of a commit do. */
static int fail_at(const taken *t, int i, sett_status status, const char *text)
{
    char more[508];
    if (!t->k)
        return fail(t->st, status, text);
    sett_param_info p = {.size = sizeof p};
    const bool named = !sett_kernel_param(t->k->kernel, i, &p);
    if (!t->as || (named && !strcmp(p.name, t->as)))
        return fail(t->st, status, text);
    if (named)
        PyOS_snprintf(more, sizeof more, "%.330s (%.60s is \"%.60s\")", text, p.name, t->as);
    else
        PyOS_snprintf(more, sizeof more, "%.330s (argument %d is \"%.60s\")", text, i, t->as);
    return fail(t->st, status, more);
}

int refuse(const taken *t, int i, sett_status status, const char *why)
{
    char text[508], name[128] = "";
    sett_param_info p = {.size = sizeof p};
    if (!t->k) {
        PyOS_snprintf(text, sizeof text, "sett.Product: %s: %.300s", t->names_of[i], why);
        return fail(t->st, status, text);
    }
    if (!sett_kernel_param(t->k->kernel, i, &p))
        PyOS_snprintf(name, sizeof name, "%.100s (", p.name);
    PyOS_snprintf(text, sizeof text, "%.100s: %sargument %d%s: %.200s", t->k->name, name, i, *name ? ")" : "", why);
    return fail_at(t, i, status, text);
}

const char *text_of(PyObject *s)
{
    Py_ssize_t n;
    const char *text = PyUnicode_AsUTF8AndSize(s, &n);
    if (text && (Py_ssize_t)strlen(text) == n)
        return text;
    if (text)
        PyErr_SetString(PyExc_ValueError, "embedded null character"); /* C would read what is before it */
    return NULL;
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

int find_stream(const state *st, PyObject *stream, origin from, int device, void **handle)
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

int know_stream(taken *t)
{
    if (!t->handle_known && find_stream(t->st, t->stream, t->from, t->device, &t->handle))
        return -1;
    t->handle_known = true;
    return 0;
}

static want want_of(const taken *t, int i)
{
    return t->want ? *t->want : !t->k ? (want){0, 0} : i < t->k->n_param ? t->k->want[i] : (want){0, 0};
}

/* ---- tensors ------------------------------------------------------------------------------ */
/* Stands for the table of a type whose tensors have no memory. */
static const DLPackExchangeAPI no_memory;

/* PyTorch's fake tensors, with which torch.compile traces, are of the type of tensors, and warn when they are asked for a pointer. */
static bool is_fake(PyTypeObject *type)
{
    PyObject *module = PyObject_GetAttrString((PyObject *)type, "__module__"), *name = PyObject_GetAttrString((PyObject *)type, "__name__");
    const char *where = module && PyUnicode_Check(module) ? text_of(module) : NULL, *what = name ? text_of(name) : NULL;
    const bool fake = where && what && !strncmp(where, "torch.", 6) && !strcmp(what, "FakeTensor");
    Py_XDECREF(module), Py_XDECREF(name);
    PyErr_Clear();
    return fake;
}

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
    if (is_fake(type))
        api = &no_memory;
    else if (api && (api->header.version.major != DLPACK_MAJOR_VERSION || !api->dltensor_from_py_object_no_sync))
        api = NULL;
    if (st->n_producers < PRODUCERS)
        st->producer[st->n_producers++] = (struct producer){(PyTypeObject *)Py_NewRef((PyObject *)type), api};
    return api;
}

/* The same for no kernel, but an operand of a product. */
static int bind_operand(taken *t, int i, const DLTensor *tensor, origin from)
{
    sett_error err;
    char why[120];
    int device;
    if (sett_buf_dltensor(tensor, &t->buf[i], &device, &err))
        return refuse(t, i, err.status, err.text);
    t->device = t->device == SETT_DEFAULT_DEVICE ? device : t->device;
    if (device != t->device) {
        PyOS_snprintf(why, sizeof why, "it is on device %d, and the product on %d (%d is the CPU)", device, t->device, SETT_CPU);
        return refuse(t, i, SETT_E_NO_DEVICE, why);
    }
    t->bind[i] = sett_launch_arg_buf(&t->buf[i]);
    if (device >= 0 && !t->from.type)
        t->from = from;
    return 0;
}

static int bind_tensor(taken *t, int i, const DLTensor *tensor, origin from)
{
    sett_error err;
    if (!t->k)
        return bind_operand(t, i, tensor, from);
    if (sett_launch_arg_dltensor(t->k->kernel, i, tensor, &t->buf[i], &t->bind[i], &t->device, &err))
        return fail_at(t, i, err.status, err.text);
    if (t->device >= 0 && !t->from.type)
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
    PyObject *where = PyObject_CallMethodObjArgs(arg, t->st->word[WORD___dlpack_device__], NULL);
    const bool known = where && PyTuple_Check(where) && PyArg_ParseTuple(where, "ii", &type, &device);
    if (where && !known && !PyErr_Occurred())
        refuse(t, i, SETT_E_BIND, "its __dlpack_device__ gave no device");
    Py_XDECREF(where);
    if (!known || type != kDLCUDA)
        return NULL;
    const origin from = t->from.type ? t->from : (origin){NULL, (PyObject *)Py_TYPE(arg)}; /* the first of a GPU: its framework tells the stream */
    if (!t->handle_known && find_stream(t->st, t->stream, from, t->device < 0 ? device : t->device, &t->handle))
        return NULL;
    t->handle_known = true;
    return t->handle ? PyLong_FromVoidPtr(t->handle) : PyLong_FromLong(1); /* 1: the default stream */
}

static int take_exported(taken *t, int i, PyObject *arg)
{
    sett_error err;
    sett_buf buf;
    bool read_only = false;
    PyObject *number = stream_number(t, i, arg), *capsule = PyErr_Occurred() ? NULL : export_tensor(t->st, arg, number);
    Py_XDECREF(number);
    if (!capsule)
        return -1;
    t->kept[i] = capsule;
    const origin from = {NULL, (PyObject *)Py_TYPE(arg)};
    if (PyCapsule_IsValid(capsule, "dltensor"))
        return bind_tensor(t, i, &((DLManagedTensor *)PyCapsule_GetPointer(capsule, "dltensor"))->dl_tensor, from);
    if (!PyCapsule_IsValid(capsule, "dltensor_versioned"))
        return refuse(t, i, SETT_E_BIND, "its __dlpack__ gave no DLPack tensor");
    const DLManagedTensorVersioned *m = PyCapsule_GetPointer(capsule, "dltensor_versioned");
    if (sett_buf_dlpack(m, &buf, NULL, &read_only, &err))
        return refuse(t, i, err.status, err.text);
    if (read_only && want_of(t, i).kind & WRITTEN)
        return refuse(t, i, SETT_E_ARGUMENT, "the kernel writes it, and the tensor is read-only");
    return bind_tensor(t, i, &m->dl_tensor, from);
}

/* ---- arguments ----------------------------------------------------------------------------------- */
/* The type of a number; 0: argument i is none. */
static sett_dtype number_type(const taken *t, int i)
{
    return (sett_dtype)want_of(t, i).dtype;
}

static int too_large(const taken *t, int i)
{
    const sett_dtype d = number_type(t, i);
    char why[80];
    PyErr_Clear();
    PyOS_snprintf(why, sizeof why, "the integer does not fit %s", sett_dtype_name(d ? d : SETT_I64));
    return refuse(t, i, SETT_E_RANGE, why);
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
    return n < 0 && want_of(t, i).kind & NATURAL ? too_large(t, i) : 0;
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
    if (want_of(t, i).kind & STRUCT)
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
    if (t->k)
        PyOS_snprintf(why, sizeof why, "%.100s is neither a tensor nor a number", name ? name : "it");
    else /* of a product, which takes no numbers here */
        PyOS_snprintf(why, sizeof why, arg == Py_None ? "it is None, and no tensor" : "it is a %.100s, and no tensor", name ? name : "thing");
    Py_XDECREF(type);
    return refuse(t, i, SETT_E_BIND, why);
}

static int take_name(taken *t, int i, PyObject *arg)
{
    const char *name = text_of(arg);
    if (!name)
        return -1;
    t->kept[i] = Py_NewRef(arg);
    t->bind[i] = sett_launch_arg_name(name);
    return 0;
}

int take(taken *t, int i, PyObject *arg)
{
    t->kept[i] = NULL;
    if (PyFloat_Check(arg)) {
        t->bind[i] = sett_launch_arg_float(PyFloat_AsDouble(arg));
        return 0;
    }
    if (PyLong_Check(arg))
        return take_integer(t, i, arg);
    if (t->names && PyUnicode_Check(arg))
        return take_name(t, i, arg);
    PyTypeObject *type = Py_TYPE(arg);
    if ((PyObject *)type == t->st->view_type) {
        const view *v = (const view *)arg;
        if (take(t, i, v->of))
            return -1;
        if (t->bind[i].kind != SETT_LAUNCH_ARG_BUF)
            return refuse(t, i, SETT_E_BIND, "a view of what is no tensor");
        const char *why = view_as(&t->buf[i], (sett_dtype)v->dtype);
        return why ? refuse(t, i, SETT_E_DTYPE, why) : 0;
    }
    const DLPackExchangeAPI *api = find_producer(t->st, type);
    if (api == &no_memory)
        return refuse(t, i, SETT_E_BIND, "a FakeTensor has no memory: torch.compile traces a kernel as an operation of sett.torch.custom_op");
    if (api) {
        DLTensor tensor;
        return api->dltensor_from_py_object_no_sync(arg, &tensor) ? -1 : bind_tensor(t, i, &tensor, (origin){api, (PyObject *)type});
    }
    if (PyErr_Occurred())
        return -1;
    return PyObject_HasAttr(arg, t->st->word[WORD___dlpack__]) ? take_exported(t, i, arg) : take_other(t, i, arg);
}

void drop(taken *t)
{
    for (int i = 0; i < t->n; i++)
        Py_CLEAR(t->kept[i]);
}

/* An argument given by its name; places between those given stay empty. */
static int take_named(taken *t, PyObject *key, PyObject *arg)
{
    const char *name = text_of(key);
    char text[300];
    if (!name)
        return -1;
    const int i = sett_kernel_argument(t->k->kernel, name);
    if (i < 0 || i >= ARGUMENTS || (i < t->n && t->bind[i].kind)) {
        PyOS_snprintf(text, sizeof text, i < 0 || i >= ARGUMENTS ? "%.100s has no argument %.100s" : "%.100s: %.100s was given twice", t->k->name, name);
        return fail(t->st, SETT_E_BIND, text);
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
        return fail(t->st, SETT_E_BIND, text);
    }
    while (t->n < n) {
        const int i = t->n++;
        if (take(t, i, PyTuple_GetItem(args, i)))
            return -1;
    }
    return 0;
}

void begin_taken(taken *t, kernel *k, int device)
{
    t->k = k, t->st = k ? k->st : NULL, t->names_of = NULL, t->want = NULL, t->as = NULL, t->names = false;
    t->stream = NULL, t->handle_known = false, t->n = 0, t->device = device, t->from = (origin){NULL, NULL};
}

int take_arguments(taken *t, kernel *k, int device, PyObject *args, PyObject *names, int how)
{
    PyObject *key, *arg;
    Py_ssize_t at = 0;
    begin_taken(t, k, device);
    t->names = how == RECORDED;
    if (names && how == LAUNCHED)
        t->stream = PyDict_GetItemWithError(names, k->st->word[WORD_stream]);
    int r = take_all(t, args);
    while (!r && names && PyDict_Next(names, &at, &key, &arg))
        if (!t->stream || arg != t->stream || PyUnicode_CompareWithASCIIString(key, "stream"))
            r = take_named(t, key, arg);
    if (r)
        drop(t);
    return r;
}
