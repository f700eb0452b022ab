/* SPDX-License-Identifier: Apache-2.0 */
/* How each machine's tensor cores compute: docs/runtime.md says what was measured, and what is from others. */
#include "rows.h"

/* From the machine `sm` on: bits kept, products of one sum for operands of 16 bits and of 32, and the floors. */
typedef struct generation {
    uint8_t sm, keep, group16, group32;
    int16_t floor, floor16;
} generation;
static const generation generations[] = {{90, 25, 16, 8, -133, -21}, {75, 24, 8, 4, -132, -20}};

const char *sett__sim_models(int sm)
{
    switch (sm) {
    case 90:
        return "measured";
    case 80:
    case 86:
    case 89:
    case 100:
        return "as public captures have them";
    case 75:
    case 120:
        return "as published, not verified";
    default:
        return NULL;
    }
}

/* The two that have a unit for floats of 8 bits. */
static void unit_of_8(sett__unit *u, const sett__mma *row, int sm)
{
    bool native = row->kind == SETT__MMA_GROUP || sm == 89 || sm >= 120;
    u->split = !native;
    u->group = row->k;
    if (u->split)
        u->group = row->k / 2;
    if (!native || sm >= 120)
        return;
    u->keep = u->fraction = 13;
    u->group = row->kind == SETT__MMA_GROUP ? 32 : 16;
    u->floor = sm == 89 ? -132 : u->floor;
}

bool sett__unit_of(sett__unit *u, const sett__mma *row, int sm)
{
    const generation *g = &generations[sm < 90];
    bool half = row->c == SETT_F16;
    bool exact = row->targets[0] == '=';
    *u = (sett__unit){.model = row->model == SETT__MMA_DOT8 ? SETT__MMA_DOT : row->model, .a = row->a, .b = row->b, .c = row->c, .k = row->k,
        .keep = g->keep, .fraction = 23, .floor = half ? g->floor16 : g->floor};
    u->group = row->a == SETT_TF32 ? g->group32 : g->group16;
    if (row->model == SETT__MMA_DOT8)
        unit_of_8(u, row, sm);
    u->group = u->group < row->k ? u->group : row->k;
    return exact ? sm == 90 : sm >= (row->targets[0] - '0') * 10 + row->targets[1] - '0';
}

uint32_t sett__special_sum(const sett__unit *u, uint32_t n, const int32_t *sig_a, const int32_t *exp_a, const int32_t *sig_b, const int32_t *exp_b, int32_t sig_c, int32_t exp_c)
{
    bool half = u->c == SETT_F16, nan = exp_c >= SETT__EXP_NAN, inf[2] = {false, false};
    if (exp_c == SETT__EXP_INF)
        inf[sig_c < 0] = true;
    for (uint32_t k = 0; k < n; k++) {
        int32_t x = exp_a[k], y = exp_b[k * SETT__COLUMNS];
        bool either = x == SETT__EXP_INF || y == SETT__EXP_INF;
        nan |= x == SETT__EXP_NAN || y == SETT__EXP_NAN || (either && (x == SETT__EXP_ZERO || y == SETT__EXP_ZERO));
        if (either)
            inf[(int16_t)sig_a[k] < 0 ? (int16_t)sig_b[k * SETT__COLUMNS] >= 0 : (int16_t)sig_b[k * SETT__COLUMNS] < 0] = true;
    }
    if (nan || (inf[0] && inf[1]))
        return half ? 0x7fff : 0x7fffffff;
    return half ? 0x7c00u | (uint32_t)inf[1] << 15 : 0x7f800000u | (uint32_t)inf[1] << 31;
}
