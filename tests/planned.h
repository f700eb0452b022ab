/* SPDX-License-Identifier: Apache-2.0 */
/* jit/kernel/plan.c beside jit/kernel/bind.c. */
#ifndef PLANNED_H
#define PLANNED_H
#include "faces.h"

/* Does a plan of the signature say yes to these arguments? Then bind.c does, with the same block and dims. And the signature that
 * is made of the plan binds, or refuses them, as the given one: the same status, text, block and extents. */
bool planned(const sett__sig *, const char *name, int n, const sett_bind *);
#endif
