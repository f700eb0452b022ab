/* SPDX-License-Identifier: Apache-2.0 */
/* Launches without the interpreter's lock; signals and print functions while one on the CPU runs. */
#ifndef SETT_PYTHON_SIGNALS_H
#define SETT_PYTHON_SIGNALS_H
#ifndef PY_SSIZE_T_CLEAN
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#endif
#include <Python.h>
#include <stdbool.h>

/* A launch of this module, or Python code that runs inside of one: a handler of signals, a print function. Each thread has a stack of
 * them, for such code may launch. */
typedef struct frame {
    const void *engine;       /* the Python object, by its address */
    PyThreadState *thread;    /* of a launch; NULL: Python code */
    PyObject *raised[3];      /* of a launch: what ends it, to be raised when it has returned */
    struct frame *outer;      /* of the same thread */
    struct frame *next;       /* of a launch: another, of any thread */
} frame;

/* Assigns a call's status. What a handler or a print function raised meanwhile is set as the exception then. */
#define WITHOUT_LOCK(status, engine, call) \
    do { \
        frame launch_; \
        begin_launch(&launch_, engine); \
        (status) = (call); \
        end_launch(&launch_); \
    } while (0)
void begin_launch(frame *, const void *engine);
void end_launch(frame *);
/* An engine's .cpu_poll: Python's handlers of signals run in the main thread alone, and a launch on the CPU may keep it for long. */
bool look_for_signals(void *user);
/* An engine's .print. user: a tuple (function, address of the engine's object) that lives as long as the engine. */
void print_text(void *user, const char *text, size_t n);
/* inside(address): is this thread in a launch of that engine, or in its print function? Closing it would wait for that. */
PyObject *is_inside(PyObject *module, PyObject *address);
/* forked(): the child of a fork has this thread alone. */
PyObject *forked(PyObject *module, PyObject *unused);
/* Adds the addresses of look_for_signals and print_text, as integers. */
int add_callbacks(PyObject *module);
#endif
