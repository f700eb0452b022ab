/* SPDX-License-Identifier: Apache-2.0 */
/* The checker's rules: what orders accesses, and what does not. Its watch is told effects and what orders them; it reports by
 * sett__report() (machine/find.h), and what it knows of a launch is launch->check->checker. */
#ifndef SETT_JIT_SIM_CHECK_H
#define SETT_JIT_SIM_CHECK_H
#include "jit/sim/machine/machine.h"

/* The watch of a program that is checked, for ERRORS, ALL or STRICT. NULL: what any program has (async/proxy.c). */
const sett__watch *sett__check_watch(const sett__tape *, sett_checks);
/* costs.c: of a launch that looks for costs: an access counts; the launch has ended, and what cost too much is told. */
bool sett__count_cost(sett__core *, const sett__accesses *); /* false: out of memory */
void sett__costs_end(const sett__program *, const sett__sim_launch *);
bool sett__proof_begin(sett__program *); /* proof.c: of a program that will be checked; false: out of memory */
void sett__proof_end(const sett__program *, sett__checked *); /* a launch has ended well: what its findings, or that it has none, prove */
extern const sett__follow sett__check_follow; /* follow.c: of a program that is checked: what nobody has written, until it is used */

struct sett__checker;
void sett__checker_end(const sett__program *, const sett__sim_launch *); /* of a launch that has ended */

#endif
