/* SPDX-License-Identifier: Apache-2.0 */
/* A part of machine.h, which includes it: findings of a launch that is checked. */
#ifndef SETT_JIT_SIM_FIND_H
#define SETT_JIT_SIM_FIND_H
#include "block.h"

/* ---- find.c ------------------------------------------------------------------------------------------------------- */
typedef struct sett__finding {
    uint8_t kind, level; /* sett_check_kind, sett_check_level */
    int n_site;
    struct { uint32_t op; uint8_t role; const sett__tape *of; } site[SETT_CHECK_SITES]; /* of: NULL: the program's given tape */
} sett__finding;
/* Only of a launch that is checked: c->launch->check. text: behind "file:line: kind: ". The first two sites are the two accesses, or who
 * waits and what for. */
void sett__report(sett__core *, const sett__finding *, const char *format, ...) SETT_PRINTF(3, 4);
static inline void sett__finding_site(sett__finding *f, uint32_t op, sett_check_role role)
{
    for (int k = 0; k < f->n_site && f->n_site > 1; k++)
        if (f->site[k].op == op && !f->site[k].of)
            return; /* it is there */
    if (f->n_site < SETT_CHECK_SITES)
        f->site[f->n_site].op = op, f->site[f->n_site].role = (uint8_t)role, f->site[f->n_site++].of = NULL;
}
sett_check_role sett__role_of(const sett__op *); /* what an operation does where it is named */

#endif
