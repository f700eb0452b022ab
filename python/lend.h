/* SPDX-License-Identifier: Apache-2.0 */
/* What the module sett._fast takes of lend.c. */
#ifndef SETT_PYTHON_LEND_H
#define SETT_PYTHON_LEND_H
#ifndef PY_SSIZE_T_CLEAN
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#endif
#include <Python.h>
#include <dlpack/dlpack.h>
#include <sett/dlpack.h>

/* The same memory as elements of another type. NULL, or why that cannot be. */
const char *view_as(sett_buf *, sett_dtype);
/* A DLPack tensor in a capsule, as elements of another type: a capsule of the same kind, which keeps that one. It takes over the
 * capsule. NULL: *err says why, or has SETT_OK and an exception is set. */
PyObject *view_lend(PyObject *capsule, sett_dtype, sett_error *err);
/* tensor.__dlpack__(*args, **named), by its name; without the argument of the name `version` where the producer knows none. */
PyObject *call_dlpack(PyObject *tensor, PyObject *name, PyObject *version, PyObject *args, PyObject *named);
#endif
