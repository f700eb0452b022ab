/* SPDX-License-Identifier: Apache-2.0 */
/* jit/kernel/bind.c beside a binder without a plan. */
#ifndef PLANNED_H
#define PLANNED_H
#include "tests/rig/faces.h"

/* Binding of a signature alone, as slow as it may be: what sett__bind must say and make of the same. */
sett_status reference_bind(const sett__sig *, const char *name, int n, const sett_launch_arg *, bool gpu, sett__bound *, sett__extent *, sett_error *);
/* sett__bind by a plan of its own; it and the reference must agree in all that they give. */
sett_status bind_beside(const sett__sig *, const char *name, int n, const sett_launch_arg *, bool gpu, sett__bound *, sett__extent *, sett_error *);
#endif
