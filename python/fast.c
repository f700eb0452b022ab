/* SPDX-License-Identifier: Apache-2.0 */
/* The module sett._fast: what stands on the path of a launch. It turns Python's arguments into those of a launch (take.c),
 * releases the interpreter's lock, and calls libsett; graph.c does so for graphs, product.c for products. All else of the package is Python over ctypes. It is written for the stable
 * ABI of Python 3.10, so one build serves every later Python. */
#include "fast.h"
#include "lend.h"
#include "signals.h"
#include <stdatomic.h>
#include <string.h>

#define WORD_TEXT(w) #w,
static const char *const word_text[] = {WORDS(WORD_TEXT)};

void *new_object(PyTypeObject *type)
{
    return ((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
}

void free_object(PyObject *o)
{
    PyTypeObject *type = Py_TYPE(o);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(o);
    Py_DECREF(type);
}

/* ---- kernels ------------------------------------------------------------------------------------------ */
/* Kernel(module, address, engine, options): takes over the reference. */
static PyObject *kernel_new(PyTypeObject *type, PyObject *args, PyObject *names)
{
    PyObject *module, *address, *engine, *options;
    (void)names;
    if (!PyArg_ParseTuple(args, "OOOO", &module, &address, &engine, &options))
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
    k->module = Py_NewRef(module), k->engine = Py_NewRef(engine), k->options = Py_NewRef(options);
    k->st = st, k->kernel = handle, k->name = info.name, k->n_param = n;
    k->device = strcmp(info.target, "cpu") ? SETT_DEFAULT_DEVICE : SETT_CPU;
    for (int i = 0; i < n && i < ARGUMENTS; i++) {
        sett_param_info p = {.size = sizeof p};
        sett_kernel_param(handle, i, &p);
        const bool number = p.scalar && !p.bytes;
        k->want[i].kind = (p.written ? WRITTEN : 0) | (p.bytes && p.scalar ? STRUCT : 0) | (number && p.dtype == SETT_U64 ? NATURAL : 0);
        k->want[i].dtype = number ? (unsigned char)p.dtype : 0;
    }
    return (PyObject *)k;
}

/* An engine may have its kernels as attributes. The engine breaks such a cycle: a kernel stays one that may be called. */
static int kernel_traverse(PyObject *o, visitproc visit, void *arg)
{
    Py_VISIT((PyObject *)Py_TYPE(o));
    Py_VISIT(((kernel *)o)->module);
    Py_VISIT(((kernel *)o)->engine);
    Py_VISIT(((kernel *)o)->options);
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
    Py_CLEAR(k->options);
    Py_CLEAR(k->module);
    free_object(o);
}

static PyObject *kernel_call(PyObject *self, PyObject *args, PyObject *names)
{
    taken t;
    kernel *k = (kernel *)self;
    sett_error err;
    sett_status s = SETT_OK;
    if (take_arguments(&t, k, SETT_DEFAULT_DEVICE, args, names, LAUNCHED))
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

static PyObject *kernel_options(PyObject *self, void *unused)
{
    (void)unused;
    return Py_NewRef(((kernel *)self)->options);
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
        const char *name = text_of(key);
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
    if (take_arguments(&t, k, SETT_DEFAULT_DEVICE, args, names, PREPARED))
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
    if (take_arguments(&t, c->k, c->device, args, names, PREPARED))
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

static PyObject *view_shape(PyObject *self, void *unused)
{
    PyObject *all = shape_of(PyType_GetModule(Py_TYPE(self)), self, "the tensor"), *shape = all ? PyTuple_GetItem(all, 1) : NULL;
    (void)unused;
    Py_XINCREF(shape);
    Py_XDECREF(all);
    return shape;
}

/* shape_of(tensor, name) -> (dtype, shape, strides, device); name: of errors. */
static PyObject *module_shape_of(PyObject *module, PyObject *args)
{
    PyObject *tensor;
    const char *name;
    return PyArg_ParseTuple(args, "Os:shape_of", &tensor, &name) ? shape_of(module, tensor, name) : NULL;
}

static PyObject *view_dtype(PyObject *self, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(sett_dtype_name((sett_dtype)((view *)self)->dtype));
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
    {"_options", kernel_options, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL}};
#define METHOD(f) (PyCFunction)(void (*)(void))f
/* A method of that name has a docstring; Py_tp_call is what runs. */
#define CALL(f, doc) {"__call__", METHOD(f), METH_VARARGS | METH_KEYWORDS | METH_COEXIST, doc}
#define SIGNALS_DOC \
    "What a handler of signals or a print function of the engine raises meanwhile, such as KeyboardInterrupt, ends a launch on the CPU and is\n" \
    "raised here.\n"
static PyMethodDef kernel_methods[] = {
    CALL(kernel_call,
        "__call__($self, /, *arguments, stream=None, **by_name)\n--\n\nChecks the arguments and launches the kernel.\n\n"
        "arguments, by_name: in order of declaration or by name, as .params lists them; behind them the symbols that no tensor gives, as integers.\n"
        "    A tensor is whatever has DLPack (PyTorch, NumPy, CuPy, JAX, sett.view); extents and strides count elements. All lie on one device, and\n"
        "    nothing is copied. A number is an int, a float, or what converts to one. A struct is bytes, or what bytes() takes.\n"
        "stream: a handle as an integer, or a stream of PyTorch, CuPy or cuda.core; None: the one that the framework of the first tensor works on.\n\n"
        "On a GPU the launch is asynchronous, and memory must stay valid until the stream has come that far. On the CPU it has ended when the call\n"
        "returns.\n\n"
        "Raises sett.Error, whose .status says what is wrong: E_BIND (too few, too many, unknown names), E_DTYPE, E_RANK, E_SHAPE, E_DIVIDE, E_ALIGN,\n"
        "E_RANGE (a number that its type cannot hold, memory that the engine knows to end before), E_ARGUMENT (a read-only tensor that the\n"
        "kernel writes), E_NO_DEVICE, E_TARGET, E_CAPTURING (call .load() before), E_CANCELLED, E_FAULT, E_CLOSED; TypeError: what is no stream.\n" SIGNALS_DOC),
    {"prepare", METHOD(kernel_prepare), METH_VARARGS | METH_KEYWORDS,
        "prepare(*arguments, **by_name) -> Call\n\nChecks the arguments once and loads the kernel; calls of the result only launch."},
    {NULL, NULL, 0, NULL}};
static PyType_Slot kernel_slots[] = {{Py_tp_new, (void *)kernel_new}, {Py_tp_dealloc, (void *)kernel_free}, {Py_tp_traverse, (void *)kernel_traverse}, {Py_tp_call, (void *)kernel_call},
    {Py_tp_getset, kernel_members}, {Py_tp_methods, kernel_methods}, {0, NULL}};
static PyGetSetDef call_members[] = {{"kernel", call_kernel, NULL, "Its kernel.", NULL}, {NULL, NULL, NULL, NULL, NULL}};
static PyMethodDef call_methods[] = {
    CALL(call_run,
        "__call__($self, /, stream=None)\n--\n\nLaunches with the arguments of the last bind, without another check of them.\n\n"
        "stream: a handle as an integer, or a stream of PyTorch, CuPy or cuda.core, of the device that the call was prepared for; None: the one that\n"
        "    the framework of the first tensor works on.\n\n"
        "On a GPU the launch is asynchronous; on the CPU it has ended when the call returns.\n\n"
        "Raises sett.Error: E_ARGUMENT (another thread is in this call), E_NO_DEVICE (a stream of another device), E_CLOSED, E_DRIVER, and on the CPU\n"
        "E_FAULT, E_CANCELLED, E_RANGE (memory that was freed since); TypeError: what is no stream.\n" SIGNALS_DOC),
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
static PyGetSetDef view_members[] = {{"shape", view_shape, NULL, "Its extents, in elements of its type.", NULL},
    {"dtype", view_dtype, NULL, "Its element type by its name in sett, as \"bf16\".", NULL}, {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot view_slots[] = {{Py_tp_methods, view_methods}, {Py_tp_getset, view_members}, {Py_tp_new, (void *)view_new}, {Py_tp_dealloc, (void *)view_free}, {Py_tp_traverse, (void *)view_traverse}, {Py_tp_doc, "Of sett.view."}, {0, NULL}};
/* Python adds the rest of its members (_engine.py). */
static PyType_Spec kernel_spec = {"sett.Kernel", sizeof(kernel), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE, kernel_slots};
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
            add_type(module, &view_spec, "View", &st->view_type) || add_type(module, &graph_spec, "Graph", &st->graph_type) ||
            add_type(module, &product_spec, "Product", &st->product_type) ? -1 : 0;
}

static void finish(void *module)
{
    state *st = PyModule_GetState(module);
    for (int i = 0; i < st->n_producers; i++)
        Py_DECREF((PyObject *)st->producer[i].type);
    PyObject **const all[] = {&st->kernel_type, &st->call_type, &st->view_type, &st->graph_type, &st->product_type, &st->error, &st->current, &st->handle,
        &st->version};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        Py_CLEAR(*all[i]);
    for (int i = 0; i < N_WORDS; i++)
        Py_CLEAR(st->word[i]);
}

static PyMethodDef functions[] = {{"setup", setup, METH_VARARGS, NULL}, {"inside", is_inside, METH_O, NULL}, {"forked", forked, METH_NOARGS, NULL}, {"shape_of", module_shape_of, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};
static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)start}, {0, NULL}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "sett._fast", NULL, sizeof(state), functions, slots, NULL, NULL, finish};

PyMODINIT_FUNC PyInit__fast(void);
PyMODINIT_FUNC PyInit__fast(void)
{
    return PyModuleDef_Init(&definition);
}
