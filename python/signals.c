/* SPDX-License-Identifier: Apache-2.0 */
#include "signals.h"
#include <stdint.h>

static _Thread_local frame *innermost;
static frame *launches; /* of all threads; guarded by the interpreter's lock */

static void push(frame *f, const void *engine)
{
    *f = (frame){.engine = engine, .outer = innermost};
    innermost = f;
}

static void pop(void)
{
    innermost = innermost->outer;
}

static void add_launch(frame *f)
{
    f->next = launches;
    launches = f;
}

void begin_launch(frame *f, const void *engine)
{
    push(f, engine);
    add_launch(f);
    f->thread = PyEval_SaveThread();
}

void end_launch(frame *f)
{
    PyEval_RestoreThread(f->thread);
    pop();
    frame **at = &launches;
    while (*at != f)
        at = &(*at)->next;
    *at = f->next;
    if (f->raised[0])
        PyErr_Restore(f->raised[0], f->raised[1], f->raised[2]);
}

/* The exception that is set ends the launch. A second one, or one of no launch, is reported as Python does where none can be raised. */
static void keep(frame *launch, PyObject *where)
{
    if (launch && !launch->raised[0])
        PyErr_Fetch(&launch->raised[0], &launch->raised[1], &launch->raised[2]);
    else
        PyErr_WriteUnraisable(where);
}

bool look_for_signals(void *user)
{
    (void)user;
    frame *launch = innermost, handler;
    if (!launch || !launch->thread) /* not launched by this module */
        return false;
    PyEval_RestoreThread(launch->thread);
    push(&handler, launch->engine);
    if (!launch->raised[0] && PyErr_CheckSignals())
        keep(launch, NULL);
    pop();
    const bool ends = launch->raised[0];
    launch->thread = PyEval_SaveThread();
    return ends;
}

/* The launch that prints. A thread that Python does not know is one of the library's: then it is the engine's launch, if there is one
 * alone. NULL: not known. */
static frame *printing(const void *engine, bool of_library)
{
    frame *found = innermost;
    if (!of_library)
        return found && found->thread && found->engine == engine ? found : NULL;
    for (frame *f = found = NULL; (f = f ? f->next : launches);)
        if (f->engine == engine) {
            if (found)
                return NULL;
            found = f;
        }
    return found;
}

static void print_to(PyObject *to, const char *text, size_t n, bool of_library)
{
    PyObject *function = PyTuple_GetItem(to, 0);
    const void *engine = PyLong_AsVoidPtr(PyTuple_GetItem(to, 1));
    frame *launch = printing(engine, of_library), code;
    if (launch && launch->raised[0]) /* it is about to end */
        return;
    push(&code, engine);
    PyObject *said = PyUnicode_DecodeUTF8(text, (Py_ssize_t)n, "replace");
    PyObject *done = said ? PyObject_CallFunctionObjArgs(function, said, NULL) : NULL;
    pop();
    if (!done)
        keep(launch, function);
    Py_XDECREF(said), Py_XDECREF(done);
}

void print_text(void *user, const char *text, size_t n)
{
    const bool of_library = !PyGILState_GetThisThreadState();
    const PyGILState_STATE was = PyGILState_Ensure();
    print_to(user, text, n, of_library);
    PyGILState_Release(was);
}

PyObject *is_inside(PyObject *module, PyObject *address)
{
    (void)module;
    const void *engine = PyLong_AsVoidPtr(address);
    const frame *f = innermost;
    if (PyErr_Occurred())
        return NULL;
    while (f && f->engine != engine)
        f = f->outer;
    return PyBool_FromLong(f != NULL);
}

PyObject *forked(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    launches = NULL;
    for (frame *f = innermost; f; f = f->outer)
        if (f->thread)
            add_launch(f);
    return Py_NewRef(Py_None);
}

static int add_address(PyObject *module, const char *name, uintptr_t function)
{
    PyObject *address = PyLong_FromVoidPtr((void *)function);
    const int failed = address ? PyModule_AddObjectRef(module, name, address) : -1;
    Py_XDECREF(address);
    return failed;
}

int add_callbacks(PyObject *module)
{
    return add_address(module, "look_for_signals", (uintptr_t)look_for_signals) || add_address(module, "print_text", (uintptr_t)print_text) ? -1 : 0;
}
