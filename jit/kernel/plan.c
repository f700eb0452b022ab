/* SPDX-License-Identifier: Apache-2.0 */
/* What binding would find out at each launch and is the same at all of them, worked out once: which buffer gives each symbol,
 * what each extent and stride must be, where each argument lies in the packed block, and the dimensions that are constant. */
#include "kernel.h"
#include <stddef.h>

const sett__launch_rule sett__launch_rules[3] = {{"grid", 0, {INT32_MAX, 65535, 65535}}, {"block", 1, {1024, 1024, 64}},
    {"cluster", 1, {16, 16, 16}}};

static bool one_symbol(const sett__sig *sig, sett__expr e, int64_t *s)
{
    const sett__xop *x = e.count == 1 ? &sig->code[e.first] : NULL;
    return x && x->code == SETT__X_SYM && (*s = x->imm, true);
}

/* Is it the only leaf of its mode? */
static bool alone(const sett__sig *sig, const sett__param *p, uint32_t j)
{
    const sett__leaf *l = &sig->leaf[p->leaf];
    return (!j || l[j - 1].mode != l[j].mode) && (j + 1 == p->n_leaf || l[j + 1].mode != l[j].mode);
}

/* The first place but one that is the symbol alone. */
static uint16_t source_of(const sett__sig *sig, uint32_t s, uint16_t but)
{
    int64_t found;
    for (unsigned stride = 0; stride < 2; stride++)
        for (uint32_t i = 0; i < sig->n_param; i++)
            for (uint32_t j = 0; j < sig->param[i].n_leaf; j++) {
                const sett__leaf *l = &sig->leaf[sig->param[i].leaf + j];
                const uint16_t place = SETT__PLACE(i, l->mode, stride);
                if (place != but && alone(sig, &sig->param[i], j) && one_symbol(sig, stride ? l->stride : l->extent, &found) && found == s)
                    return place;
            }
    return SETT__GIVEN;
}

static void plan_symbols(const sett__sig *sig, sett__sym_plan *to)
{
    for (uint32_t s = 0; s < sig->n_sym; s++) {
        const sett__symbol *y = &sig->sym[s];
        const bool odd = (y->div & (y->div - 1)) != 0 || y->div > UINT32_MAX;
        const uint16_t from = source_of(sig, s, SETT__GIVEN);
        to[s] = (sett__sym_plan){.from = from, .only = from != SETT__GIVEN && from & 1 && source_of(sig, s, from) == SETT__GIVEN, .at = (uint16_t)sett__packed_at(sig, sig->n_param + s),
            .bits = y->wide ? 63 : 31, .odd = odd, .mask = odd ? 0 : (uint32_t)(y->div - 1)};
    }
}

static uint32_t want(const sett__sig *sig, sett__expr e)
{
    int64_t s;
    const sett__xop *x = &sig->code[e.first];
    if (one_symbol(sig, e, &s))
        return SETT__WANT_SYM + (uint32_t)s;
    return e.count == 1 && x->code == SETT__X_CONST && x->imm >= 0 && x->imm < SETT__WANT_SYM ? (uint32_t)x->imm : SETT__WANT_MORE;
}

static void plan_modes(const sett__sig *sig, const sett__param *p, sett__mode_plan *to)
{
    for (uint32_t j = 0; j < p->n_leaf; j++) {
        const sett__leaf *l = &sig->leaf[p->leaf + j];
        to[l->mode] = alone(sig, p, j) ? (sett__mode_plan){want(sig, l->extent), want(sig, l->stride)}
                                       : (sett__mode_plan){SETT__WANT_MORE, SETT__WANT_MORE};
    }
}

static void plan_arguments(const sett__sig *sig, sett__arg_plan *to, sett__mode_plan *mode)
{
    for (uint32_t i = 0; i < sig->n_param; i++) {
        const sett__param *p = &sig->param[i];
        to[i] = (sett__arg_plan){.dtype = p->dtype, .rank = p->rank, .at = (uint16_t)sett__packed_at(sig, i)};
        if (p->scalar) {
            to[i].bytes = (uint16_t)(p->bytes ? p->bytes : (uint32_t)sett__dtype_bytes((sett_dtype)p->dtype));
            continue;
        }
        to[i].reach = p->wide ? 54 : 31;
        to[i].align = (uint8_t)(p->align ? __builtin_ctz(p->align) : 0);
        plan_modes(sig, p, mode);
        mode += p->rank;
    }
}

/* ceil(symbol / number), as sett_ceil_div records it: min(s % d, 1) + s / d. */
static bool is_ceil(const sett__sig *sig, sett__expr e, sett__dim_plan *d)
{
    static const uint8_t form[] = {SETT__X_SYM, SETT__X_CONST, SETT__X_REM, SETT__X_CONST, SETT__X_MIN, SETT__X_SYM, SETT__X_CONST,
        SETT__X_DIV, SETT__X_ADD};
    const sett__xop *x = &sig->code[e.first];
    bool is = e.count == sizeof form;
    for (size_t i = 0; i < sizeof form && is; i++)
        is = x[i].code == form[i];
    if (!is || x[0].imm != x[5].imm || x[1].imm != x[6].imm || x[3].imm != 1 || x[1].imm < 1 || x[1].imm > INT32_MAX)
        return false;
    d->sym = (uint16_t)x[0].imm;
    d->by = (uint32_t)x[1].imm;
    return true;
}

sett__expr sett__dim_of(const sett__sig *sig, unsigned slot)
{
    const sett__expr *const of[3] = {sig->grid, sig->block, sig->cluster};
    return of[slot / 3][slot % 3];
}

/* Is it a constant that is right? */
static bool fixed_dim(const sett__sig *sig, unsigned slot, int64_t *v)
{
    const sett__expr e = sett__dim_of(sig, slot);
    *v = 1;
    return (!e.count || sett__expr_const(sig, e, v)) && *v >= 1 && *v <= sett__launch_rules[slot / 3].most[slot % 3];
}

static sett__dim_plan plan_dim(const sett__sig *sig, unsigned slot)
{
    const sett__launch_rule *rule = &sett__launch_rules[slot / 3];
    sett__dim_plan d = {.slot = (uint8_t)slot, .form = SETT__DIM_EXPR, .least = (uint32_t)rule->least, .most = (uint32_t)rule->most[slot % 3]};
    int64_t s;
    if (one_symbol(sig, sett__dim_of(sig, slot), &s))
        d.form = SETT__DIM_SYM, d.sym = (uint16_t)s;
    else if (is_ceil(sig, sett__dim_of(sig, slot), &d))
        d.form = SETT__DIM_CEIL;
    return d;
}
static_assert(offsetof(sett__launch_dims, cluster) == 24 && offsetof(sett__launch_dims, smem) == 4 * SETT__DIMS, "an array of three threes");

static void plan_dims(sett__plan *p, sett__dim_plan *d)
{
    int64_t v;
    for (unsigned slot = 0; slot < SETT__DIMS; slot++)
        if (fixed_dim(p->sig, slot, &v))
            ((uint32_t *)(void *)&p->dims)[slot] = (uint32_t)v;
        else
            *d++ = plan_dim(p->sig, slot);
    p->dims.smem = sett__smem_static(p->sig) ? 0 : p->sig->smem;
}

/* The page's address ends the block of a kernel with assertions. */
static void plan_places(const sett__plan *p, uint16_t *to)
{
    const uint32_t n = p->n_place ? sett__packed_places(p->sig, to) : 0;
    if (n < p->n_place)
        to[n] = (uint16_t)(p->params_len - sizeof(uint64_t));
}

/* Bytes of the packed block that something is written to. */
static uint32_t written(const sett__plan *p)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n_arg; i++)
        n += sett__plan_args(p)[i].bytes ? sett__plan_args(p)[i].bytes : 8;
    for (uint32_t s = 0; s < p->n_all_sym; s++)
        n += sett__plan_syms(p)[s].bits == 63 ? 8 : 4;
    n += p->n_map * SETT__MAP_BYTES;
    return n;
}

const sett__plan *sett__plan_make(sett__arena *a, const sett__sig *sig, const char *name, bool gpu)
{
    uint32_t modes = 0, dims = 0;
    const uint32_t places = sig->n_map ? sig->n_param + sig->n_sym + sig->n_map + (gpu && sig->n_claim) : 0;
    int64_t v;
    for (uint32_t i = 0; i < sig->n_param; i++)
        modes += sig->param[i].rank;
    for (unsigned slot = 0; slot < SETT__DIMS; slot++)
        dims += !fixed_dim(sig, slot, &v);
    sett__plan *p = sett__arena_alloc(a, sizeof *p + sig->n_param * sizeof(sett__arg_plan) + sig->n_sym * sizeof(sett__sym_plan) +
                                             modes * sizeof(sett__mode_plan) + dims * sizeof(sett__dim_plan) + places * sizeof(uint16_t));
    if (!p)
        return NULL;
    *p = (sett__plan){.sig = sig, .name = name, .n_arg = (uint16_t)sig->n_param, .n_sym = (uint16_t)(sig->n_sym - sig->n_derived),
        .n_all_sym = (uint16_t)sig->n_sym, .n_mode = (uint16_t)modes, .n_dim = (uint16_t)dims,
        .n_map = (uint8_t)sig->n_map, .map_at = (uint16_t)sett__packed_at(sig, sig->n_param + sig->n_sym), .n_place = (uint16_t)places};
    p->params_len = (uint16_t)(gpu ? sett__params_len(sig) : sett__packed_at(sig, SETT__NONE));
    plan_arguments(sig, (sett__arg_plan *)(uintptr_t)sett__plan_args(p), (sett__mode_plan *)(uintptr_t)sett__plan_modes(p));
    plan_symbols(sig, (sett__sym_plan *)(uintptr_t)sett__plan_syms(p));
    plan_dims(p, (sett__dim_plan *)(uintptr_t)sett__plan_dims(p));
    plan_places(p, (uint16_t *)(uintptr_t)sett__plan_places(p));
    p->gaps = written(p) != p->params_len;
    p->more = sig->n_check || sig->n_derived || sig->n_map || sig->smem_more.count || sig->smem > SETT__SMEM_MAX || sig->cluster[0].count || sig->cluster[1].count ||
              sig->cluster[2].count;
    return p;
}
