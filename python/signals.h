/* SPDX-License-Identifier: Apache-2.0 */
/* Launches without the interpreter's lock, and signals while one on the CPU runs. */
#ifndef SETT_PYTHON_SIGNALS_H
#define SETT_PYTHON_SIGNALS_H
#ifndef PY_SSIZE_T_CLEAN
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#endif
#include <Python.h>
#include <stdbool.h>

#define WITHOUT_LOCK(status, call) (begin_launch(), (status) = (call), end_launch())
void begin_launch(void);
void end_launch(void);
/* An engine's .cpu_poll: Python's handlers of signals run in the main thread alone, and a launch on the CPU may keep it for long. What one
 * raises ends the launch, and is raised where that was called. */
bool look_for_signals(void *user);
/* polling(): does a handler of signals run inside of a launch? Closing an engine would wait for that launch. */
PyObject *is_polling(PyObject *module, PyObject *unused);
#endif
