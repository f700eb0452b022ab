/* SPDX-License-Identifier: Apache-2.0 */
#include "signals.h"

/* The thread's state while it launches; NULL: it does not, or look_for_signals has the lock. polling: calls of that which have not
 * returned. */
static _Thread_local PyThreadState *launching;
static _Thread_local int polling;

void begin_launch(void)
{
    launching = PyEval_SaveThread();
}

void end_launch(void)
{
    PyThreadState *mine = launching;
    launching = NULL;
    PyEval_RestoreThread(mine);
}

bool look_for_signals(void *user)
{
    (void)user;
    if (!launching) /* not by this module */
        return false;
    end_launch();
    polling++;
    const bool raised = PyErr_CheckSignals() != 0;
    polling--;
    begin_launch();
    return raised;
}

PyObject *is_polling(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyBool_FromLong(polling);
}
