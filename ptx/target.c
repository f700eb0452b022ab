/* SPDX-License-Identifier: Apache-2.0 */
/* What a target needs: the lowest PTX ISA, and the codegen level. */
#include "ptx.h"

typedef struct row {
    int sm, plain, a, f; /* PTX ISA that introduced sm_N, sm_Na, sm_Nf; 0: there is none */
} row;

int sett__ptx_version(const sett__tape *t, const char *target)
{
    static const row rows[] = {{70, 60, 0, 0},   {72, 61, 0, 0},   {75, 63, 0, 0},    {80, 70, 0, 0},
                               {86, 71, 0, 0},   {87, 74, 0, 0},   {88, 90, 0, 0},    {89, 78, 0, 0},
                               {90, 78, 80, 0},  {100, 86, 86, 88}, {103, 88, 88, 88}, {110, 90, 90, 90},
                               {120, 87, 87, 88}, {121, 88, 88, 88}};
    int sm, need = 0;
    char suffix;
    if (!sett__target_parse(target, &sm, &suffix))
        return 0;
    for (size_t i = 0; i < SETT__COUNT(rows); i++)
        if (rows[i].sm == sm)
            need = suffix == 'a' ? rows[i].a : suffix == 'f' ? rows[i].f : rows[i].plain;
    return need && t->min_ptx > need ? t->min_ptx : need;
}

static bool is_region(int code)
{
    return code == SETT__IF || code == SETT__ELSE || code == SETT__FOR || code == SETT__END;
}

int sett__codegen_level(const sett__tape *t)
{
    uint32_t run = 0, most = 0;
    for (uint32_t i = 0; i < t->n_op; i++) {
        const sett__op *op = &t->op[i];
        int cls = sett__ops[op->code].cls;
        if (is_region(op->code))
            run = 0;
        if (cls == SETT__C_LOAD || cls == SETT__C_STORE || cls == SETT__C_ATOM)
            run += op->n_args > 1 && t->arg[op->args + 1] != SETT__NONE;
        most = run > most ? run : most;
    }
    return most > SETT__MANY_ACCESSES ? 0 : 2;
}
