/* SPDX-License-Identifier: Apache-2.0 */
/* The checker's rules: what orders accesses, and what does not. Its watch is told effects and what orders them; it reports by
 * sett__report() (machine/find.h), and what it knows of a launch is launch->check->checker. */
#ifndef SETT_JIT_SIM_CHECK_H
#define SETT_JIT_SIM_CHECK_H
#include "jit/sim/machine/machine.h"

/* The watch of a program that is checked, for ERRORS, ALL or STRICT. NULL: what any program has (async/proxy.c). */
const sett__watch *sett__check_watch(const sett__tape *, sett_checks);
extern const sett__follow sett__check_follow; /* follow.c: of a program that is checked: what nobody has written, until it is used */

#endif
