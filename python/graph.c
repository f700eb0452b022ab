/* SPDX-License-Identifier: Apache-2.0 */
/* sett.Graph: sett/graph.h from Python. The C object is made by the first call that is added, which tells the device if nobody did. */
#include "fast.h"
#include "signals.h"
#include <sett/graph.h>
#include <stdatomic.h>
#include <string.h>

/* An argument. now, next: what keeps its value alive, as it was committed and as it is staged. */
typedef struct slot {
    PyObject *name, *now, *next;
    kernel *k; /* of its first use, which errors name */
    int arg;
    want want; /* of all its uses */
} slot;
typedef struct graph {
    PyObject_HEAD
    state *st;
    sett_graph *graph;             /* NULL: no call yet */
    PyObject *engine, *constant; /* constant: a list, what keeps arguments alive that calls have for good */
    slot *slot;
    int n_slot, device;
    bool launches, closed;
    origin from; /* type: owned */
    atomic_flag busy;
} graph;

/* ---- one thread at a time ---------------------------------------------------------------------- */
static int enter(graph *g)
{
    if (atomic_flag_test_and_set_explicit(&g->busy, memory_order_acquire))
        return fail(g->st, SETT_E_ARGUMENT, "a graph is for one thread at a time, and a call of this one has not returned");
    if (!g->closed)
        return 0;
    atomic_flag_clear_explicit(&g->busy, memory_order_release);
    return fail(g->st, SETT_E_CLOSED, "the graph was closed");
}

static PyObject *leave(graph *g, int failed)
{
    atomic_flag_clear_explicit(&g->busy, memory_order_release);
    return failed ? NULL : Py_NewRef(Py_None);
}

static int need_call(const graph *g)
{
    return g->graph ? 0 : fail(g->st, SETT_E_BIND, "the graph has no call yet");
}

/* ---- making and ending --------------------------------------------------------------------------- */
static PyObject *graph_new(PyTypeObject *type, PyObject *args, PyObject *names)
{
    PyObject *device = Py_None;
    int launches = 0, at = SETT_DEFAULT_DEVICE;
    static char *words[] = {"device", "launches", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, names, "|O$p:Graph", words, &device, &launches) || (device != Py_None && !PyArg_Parse(device, "i", &at)))
        return NULL;
    graph *g = new_object(type);
    if (!g)
        return NULL;
    g->st = PyType_GetModuleState(type);
    g->device = at, g->launches = launches;
    g->constant = PyList_New(0);
    if (!g->constant)
        Py_CLEAR(g);
    return (PyObject *)g;
}

static int graph_traverse(PyObject *o, visitproc visit, void *arg)
{
    graph *g = (graph *)o;
    Py_VISIT((PyObject *)Py_TYPE(o));
    Py_VISIT(g->engine);
    Py_VISIT(g->constant);
    Py_VISIT(g->from.type);
    for (int i = 0; i < g->n_slot; i++) {
        Py_VISIT((PyObject *)g->slot[i].k);
        Py_VISIT(g->slot[i].now);
        Py_VISIT(g->slot[i].next);
    }
    return 0;
}

/* Runs that are queued go on. */
static void end(graph *g)
{
    sett_graph *old = g->graph;
    slot *slots = g->slot;
    const int n = g->n_slot;
    g->graph = NULL, g->slot = NULL, g->n_slot = 0, g->closed = true;
    if (old) { /* a log function may want the lock that this thread holds */
        Py_BEGIN_ALLOW_THREADS
        sett_graph_free(old);
        Py_END_ALLOW_THREADS
    }
    for (int i = 0; i < n; i++) {
        Py_XDECREF(slots[i].now), Py_XDECREF(slots[i].next);
        Py_XDECREF(slots[i].name), Py_XDECREF((PyObject *)slots[i].k);
    }
    PyMem_Free(slots);
    Py_CLEAR(g->constant);
    Py_CLEAR(g->from.type);
    Py_CLEAR(g->engine);
}

static void graph_free(PyObject *o)
{
    PyObject_GC_UnTrack(o);
    end((graph *)o);
    free_object(o);
}

static PyObject *graph_close(PyObject *self, PyObject *unused)
{
    graph *g = (graph *)self;
    (void)unused;
    if (g->closed)
        return Py_NewRef(Py_None);
    if (enter(g))
        return NULL;
    end(g);
    return leave(g, 0);
}

static PyObject *graph_begin(PyObject *self, PyObject *unused)
{
    (void)unused;
    return Py_NewRef(self);
}

static PyObject *graph_end(PyObject *self, PyObject *args)
{
    (void)args;
    return graph_close(self, NULL);
}

/* ---- recording --------------------------------------------------------------------------------------- */
/* Room for the arguments that a call may bring, and what keeps those alive that it has for good. */
static int make_room(graph *g, const taken *t, PyObject *args, PyObject *names)
{
    slot *more = PyMem_Realloc(g->slot, (size_t)(g->n_slot + t->n + 1) * sizeof *more);
    if (!more)
        return PyErr_NoMemory(), -1;
    g->slot = more;
    PyObject *kept = PyList_New(0);
    int r = !kept || PyList_Append(kept, args) || (names && PyList_Append(kept, names)) ? -1 : 0;
    for (int i = 0; i < t->n && !r; i++)
        if (t->kept[i] && t->bind[i].kind != SETT_LAUNCH_ARG_NAME)
            r = PyList_Append(kept, t->kept[i]);
    if (!r)
        r = PyList_Append(g->constant, kept);
    Py_XDECREF(kept);
    return r;
}

static int record(graph *g, const taken *t, const char *label)
{
    sett_error err;
    sett_status s = SETT_OK;
    sett_graph *p = g->graph;
    sett_kernel *k = t->k->kernel;
    const int device = t->device == SETT_DEFAULT_DEVICE ? t->k->device : t->device;
    const sett_graph_options o = {.size = sizeof o, .launches = g->launches};
    Py_BEGIN_ALLOW_THREADS
    if (!p)
        s = sett_graph_make(device, &o, &p, &err);
    if (!s)
        s = sett_graph_add_n(p, k, label, t->n, t->bind, &err);
    if (s && !g->graph)
        sett_graph_free(p);
    Py_END_ALLOW_THREADS
    if (!s)
        g->graph = p;
    return s ? fail(g->st, s, err.text) : 0;
}

/* Takes over what the call that was added brought. */
static void learn(graph *g, taken *t)
{
    sett_graph_info info = {.size = sizeof info};
    for (int i = 0; i < t->n; i++) {
        if (t->bind[i].kind != SETT_LAUNCH_ARG_NAME)
            continue;
        const want w = i < t->k->n_param ? t->k->want[i] : (want){0, 0};
        slot *s = &g->slot[sett_graph_argument(g->graph, t->bind[i].u.p)];
        if (s == &g->slot[g->n_slot]) {
            *s = (slot){.name = Py_NewRef(t->kept[i]), .k = (kernel *)Py_NewRef((PyObject *)t->k), .arg = i, .want = w};
            g->n_slot++;
        }
        s->want.kind |= w.kind;
        s->want.dtype = s->want.dtype == w.dtype ? w.dtype : 0;
    }
    if (!g->engine)
        g->engine = Py_NewRef(t->k->engine);
    if (t->from.type && !g->from.type)
        g->from = (origin){t->from.api, Py_NewRef(t->from.type)};
    sett_graph_query(g->graph, &info);
    g->device = info.device;
}

static int add(graph *g, kernel *k, PyObject *args, PyObject *names, const char *label)
{
    taken t;
    if (take_arguments(&t, k, g->device, args, names, RECORDED))
        return -1;
    const Py_ssize_t n = PyList_Size(g->constant);
    int r = make_room(g, &t, args, names);
    if (!r && (r = record(g, &t, label))) {
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace);
        PyList_SetSlice(g->constant, n, n + 1, NULL);
        PyErr_Restore(type, value, trace);
    }
    if (!r)
        learn(g, &t);
    drop(&t);
    return r;
}

/* Takes the label out of the words of add(): *names becomes a copy without it. */
static int take_label(const state *st, PyObject **names, const char **label)
{
    PyObject *given = *names ? PyDict_GetItemWithError(*names, st->word[WORD_label]) : NULL;
    if (!given)
        return PyErr_Occurred() ? -1 : 0;
    if (given != Py_None && !PyUnicode_Check(given))
        return PyErr_SetString(PyExc_TypeError, "a label is a str"), -1;
    if (given != Py_None && !(*label = text_of(given)))
        return -1;
    *names = PyDict_Copy(*names);
    return *names && !PyDict_DelItem(*names, st->word[WORD_label]) ? 0 : -1;
}

static PyObject *graph_add(PyObject *self, PyObject *args, PyObject *names)
{
    graph *g = (graph *)self;
    PyObject *k = PyTuple_Size(args) ? PyTuple_GetItem(args, 0) : NULL, *others = names, *rest = NULL;
    const char *label = NULL;
    if (!k || !PyType_IsSubtype(Py_TYPE(k), (PyTypeObject *)g->st->kernel_type))
        return PyErr_SetString(PyExc_TypeError, "add takes a sett.Kernel, then its arguments"), NULL;
    if (enter(g))
        return NULL;
    int r = take_label(g->st, &others, &label);
    if (!r && !(rest = PyTuple_GetSlice(args, 1, PyTuple_Size(args))))
        r = -1;
    if (!r)
        r = add(g, (kernel *)k, rest, others, label);
    Py_XDECREF(rest);
    if (others != names)
        Py_XDECREF(others);
    return leave(g, r);
}

/* ---- setting --------------------------------------------------------------------------------------------- */
typedef struct staged {
    int at;
    sett_launch_arg bind;
    sett_buf buf;
    PyObject *alive;
    origin from; /* type: borrowed */
} staged;

static PyObject *names_of(const graph *g)
{
    PyObject *names = PyTuple_New(g->n_slot);
    for (int i = 0; names && i < g->n_slot; i++)
        if (PyTuple_SetItem(names, i, Py_NewRef(g->slot[i].name)))
            Py_CLEAR(names);
    return names;
}

static int no_argument(const graph *g, const char *name)
{
    char text[300];
    int n = PyOS_snprintf(text, sizeof text, "no call of the graph has an argument \"%.60s\"%s", name, g->n_slot ? "; it has " : "");
    for (int i = 0; i < g->n_slot && n < 200; i++)
        n += PyOS_snprintf(text + n, sizeof text - (size_t)n, "%s\"%.60s\"", i ? ", " : "", text_of(g->slot[i].name));
    return fail(g->st, SETT_E_BIND, text);
}

/* On failure nothing is left to drop. */
static int convert(const graph *g, PyObject *name, PyObject *value, staged *to)
{
    taken t;
    const char *text = text_of(name);
    const int at = text && g->graph ? sett_graph_argument(g->graph, text) : -1;
    if (at < 0)
        return text ? no_argument(g, text) : -1;
    const slot *s = &g->slot[at];
    begin_taken(&t, s->k, g->device);
    t.want = &s->want, t.as = text, t.from = g->from;
    if (take(&t, s->arg, value)) {
        Py_XDECREF(t.kept[s->arg]);
        return -1;
    }
    PyObject *kept = t.kept[s->arg];
    *to = (staged){at, t.bind[s->arg], t.buf[s->arg], kept ? kept : Py_NewRef(value), t.from};
    return 0;
}

static void stage(graph *g, staged *s)
{
    if (s->bind.kind == SETT_LAUNCH_ARG_BUF)
        s->bind.u.t = &s->buf;
    sett_graph_set_at(g->graph, s->at, s->bind);
    if (s->from.type && !g->from.type)
        g->from = (origin){s->from.api, Py_NewRef(s->from.type)};
    PyObject *was = g->slot[s->at].next;
    g->slot[s->at].next = s->alive;
    Py_XDECREF(was);
}

/* All or nothing. */
static int set_all(graph *g, PyObject *values)
{
    PyObject *name, *value;
    Py_ssize_t at = 0;
    int n = 0, r = 0;
    staged *all = PyMem_Malloc((size_t)(PyDict_Size(values) + 1) * sizeof *all);
    if (!all)
        return PyErr_NoMemory(), -1;
    while (!r && PyDict_Next(values, &at, &name, &value))
        if (!(r = convert(g, name, value, &all[n])))
            n++;
    for (int i = 0; i < n; i++)
        if (r)
            Py_DECREF(all[i].alive);
        else
            stage(g, &all[i]);
    PyMem_Free(all);
    return r;
}

static PyObject *graph_set(PyObject *self, PyObject *args, PyObject *names)
{
    graph *g = (graph *)self;
    if (PyTuple_Size(args))
        return PyErr_SetString(PyExc_TypeError, "set takes values by name"), NULL;
    if (enter(g))
        return NULL;
    return leave(g, names ? set_all(g, names) : 0);
}

static int graph_set_item(PyObject *self, PyObject *name, PyObject *value)
{
    graph *g = (graph *)self;
    staged one;
    if (!value || !PyUnicode_Check(name))
        return PyErr_SetString(PyExc_TypeError, value ? "an argument of a graph has a str as its name" : "an argument of a graph cannot be deleted"), -1;
    if (enter(g))
        return -1;
    const int r = convert(g, name, value, &one);
    if (!r)
        stage(g, &one);
    Py_XDECREF(leave(g, r));
    return r;
}

/* ---- committing and running ----------------------------------------------------------------------------------- */
static PyObject *graph_commit(PyObject *self, PyObject *unused)
{
    graph *g = (graph *)self;
    sett_error err;
    sett_status s;
    (void)unused;
    if (enter(g))
        return NULL;
    if (need_call(g))
        return leave(g, -1);
    Py_BEGIN_ALLOW_THREADS
    s = sett_graph_commit(g->graph, &err);
    Py_END_ALLOW_THREADS
    for (int i = 0; i < g->n_slot && !s; i++) {
        PyObject *was = g->slot[i].now;
        if (!g->slot[i].next)
            continue;
        g->slot[i].now = g->slot[i].next, g->slot[i].next = NULL;
        Py_XDECREF(was);
    }
    return leave(g, s ? fail(g->st, s, err.text) : 0);
}

static PyObject *graph_run(PyObject *self, PyObject *args, PyObject *names)
{
    graph *g = (graph *)self;
    PyObject *stream = NULL;
    void *handle;
    sett_error err;
    sett_status s;
    static char *words[] = {"stream", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, names, "|O:run", words, &stream) || enter(g))
        return NULL;
    if (need_call(g) || find_stream(g->st, stream, g->from, g->device, &handle))
        return leave(g, -1);
    WITHOUT_LOCK(s, g->engine, sett_graph_run(g->graph, (sett_stream){g->device, handle}, &err));
    int r = PyErr_Occurred() ? -1 : 0; /* a handler's or a print function's */
    if (s && !r)
        r = fail(g->st, s, err.text);
    return leave(g, r);
}

/* ---- what it tells --------------------------------------------------------------------------------------------- */
enum { CALLS, ARGUMENT_NAMES, DEVICE, IS_GRAPH, GRAPHS, UPDATES };

static PyObject *told(const graph *g, int what)
{
    sett_graph_info info = {.size = sizeof info};
    if (g->graph)
        sett_graph_query(g->graph, &info);
    if (what == ARGUMENT_NAMES)
        return names_of(g);
    if (what == DEVICE)
        return g->device == SETT_DEFAULT_DEVICE ? Py_NewRef(Py_None) : PyLong_FromLong(g->device);
    if (what == IS_GRAPH)
        return PyBool_FromLong(info.cuda_graph);
    return PyLong_FromUnsignedLongLong(what == CALLS ? (uint64_t)info.calls : what == GRAPHS ? info.cuda_graphs : info.updates);
}

static PyObject *graph_member(PyObject *self, void *what)
{
    graph *g = (graph *)self;
    if (enter(g))
        return NULL;
    PyObject *value = told(g, (int)(intptr_t)what);
    Py_XDECREF(leave(g, 0));
    return value;
}

static PyObject *graph_closed(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(((graph *)self)->closed);
}

static PyObject *graph_repr(PyObject *self)
{
    const graph *g = (graph *)self;
    PyObject *comma = PyUnicode_FromString(", "), *names = comma ? names_of(g) : NULL, *text = names ? PyUnicode_Join(comma, names) : NULL;
    PyObject *said = text ? PyUnicode_FromFormat(g->closed ? "<sett.Graph, closed>" : "<sett.Graph(%U)>", text) : NULL;
    Py_XDECREF(comma), Py_XDECREF(names), Py_XDECREF(text);
    return said;
}

#define MEMBER(name, what, doc) {name, graph_member, NULL, doc, (void *)what}
static PyGetSetDef members[] = {
    MEMBER("arguments", ARGUMENT_NAMES, "The names of its arguments, in the order in which they were first used."),
    MEMBER("calls", CALLS, "How many calls were added."),
    MEMBER("device", DEVICE, "The device that it runs on; None: the first call will tell."),
    MEMBER("cuda_graph", IS_GRAPH, "Whether runs launch a CUDA graph: there is a commit, and the driver has what it takes."),
    MEMBER("cuda_graphs", GRAPHS, "How many CUDA graphs were made."),
    MEMBER("updates", UPDATES, "How many nodes of CUDA graphs were updated."),
    {"closed", graph_closed, NULL, "Whether it was closed.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};
#define METHOD(f) (PyCFunction)(void (*)(void))f
static PyMethodDef methods[] = {
    {"add", METHOD(graph_add), METH_VARARGS | METH_KEYWORDS,
        "add(kernel, *arguments, label=None, **by_name)\n\nAdds a call of the kernel behind those that are there. Its arguments are those of a launch,\n"
        "which the call has for good; a str is the name of an argument of the graph, which any number of calls share. label names the call in\n"
        "errors. It takes part in runs from the next commit on. A call that is refused leaves the graph as it was."},
    {"set", METHOD(graph_set), METH_VARARGS | METH_KEYWORDS,
        "set(**values)\n\nStages values of the graph's arguments, as a launch takes them, for the next commit: all or none. graph[name] = value stages one."},
    {"commit", graph_commit, METH_NOARGS,
        "commit()\n\nChecks every call that a staged value is in, as a launch would, and makes the next runs use what is staged. All or nothing: if it\n"
        "raises, runs go on with the values before, and what was staged stays staged."},
    {"run", METHOD(graph_run), METH_VARARGS | METH_KEYWORDS,
        "run(stream=None)\n\nRuns the calls in order with the values of the last commit: on a GPU one cuGraphLaunch, on the stream that is current in the\n"
        "framework of the graph's first tensor, or on `stream`; on the CPU it returns when all has run."},
    {"close", graph_close, METH_NOARGS, "close()\n\nLets its kernels and values go. Runs that are queued go on."},
    {"__enter__", graph_begin, METH_NOARGS, NULL},
    {"__exit__", graph_end, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL}};
static PyType_Slot slots[] = {{Py_tp_new, (void *)graph_new}, {Py_tp_dealloc, (void *)graph_free}, {Py_tp_traverse, (void *)graph_traverse},
    {Py_tp_repr, (void *)graph_repr}, {Py_tp_getset, members}, {Py_tp_methods, methods}, {Py_mp_ass_subscript, (void *)graph_set_item},
    {Py_tp_doc, "Graph(device=None, *, launches=False)\n\nLaunches that are recorded once and run many times with other tensors and numbers. device: None is\n"
        "that of the first call's tensors, else of its kernel. launches: run by launches one by one, and never make a CUDA graph.\n"
        "It is for one thread at a time, and keeps alive what it was given: the arguments of its calls, the values of the last commit,\n"
        "and those that are staged."},
    {0, NULL}};
PyType_Spec graph_spec = {"sett.Graph", sizeof(graph), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};
