/* SPDX-License-Identifier: Apache-2.0 */
/* Operands of a product, by atoms: their parts, loads and stores. */
#include "inside.h"

const char *sett__gemm_letter(int operand)
{
    return &"A\0B\0C\0D"[2 * operand];
}

int64_t sett__gemm_extent(const sett__ctx *c, const sett_tensor *t, int mode)
{
    return sett__product(c, sett__kid(t->layout->shape, mode)).u.i;
}

const sett_tensor *sett__gemm_part(const sett__gemm *g, int operand, int64_t v, int64_t i, int64_t j)
{
    const int64_t at[3] = {v, i, j};
    sett_arg *kid = sett__kids(&g->c, 3);
    for (int k = 0; k < 3; k++)
        kid[k] = at[k] < 0 ? SETT_ALL : sett_arg_i(at[k]);
    return sett__slice(&g->c, g->t[operand], sett_arg_n(3, kid));
}

/* ---- flat ones --------------------------------------------------------------------------------------- */
bool sett__gemm_is_flat(const sett__gemm *g, int operand)
{
    const sett_tensor *t = g->t[operand];
    if (t->space != SETT_RMEM || t->offset.kind != SETT_INT || t->layout->has_inner || !sett__is_static(t->layout->stride) || sett__is_packed(t))
        return false;
    sett_layout *v = sett__coalesce(&g->c, sett__mode(&g->c, t->layout, 0));
    return !sett__layout_poison(v) && v->shape.kind != SETT_NODE && (sett__is_int(v->stride, 1) || sett__is_int(v->shape, 1));
}

int64_t sett__gemm_place(const sett__gemm *g, int operand, int64_t i, int64_t j)
{
    const sett_tensor *t = g->t[operand];
    const sett_arg at[3] = {sett_arg_i(0), sett_arg_i(i), sett_arg_i(j)};
    return t->offset.u.i + sett__crd2idx(&g->c, sett_arg_n(3, at), t->layout->shape, t->layout->stride).u.i;
}

/* A load of a flat part; of a value: a store. */
static uint32_t touch(const sett__gemm *g, int operand, int64_t i, int64_t j, uint32_t val)
{
    const sett_tensor *t = g->t[operand];
    const sett_dtype dtype = (sett_dtype)t->dtype;
    const bool load = val == SETT__NONE;
    const int64_t at = sett__gemm_place(g, operand, i, j);
    const uint32_t args[4] = {t->root, SETT__NONE, SETT__NONE, val}, n = (uint32_t)sett__gemm_extent(&g->c, t, 0);
    const uint8_t align = (uint8_t)__builtin_ctz(sett__align_at(t, (uint32_t)sett__dtype_bytes(dtype), sett_arg_i(0), at));
    if (!sett__inside(&g->c, t, sett_arg_i(0), at, n, (uint32_t)sett__dtype_bytes(dtype)))
        return 0;
    return sett__record(g->c.b, g->c.site, &(sett__emit){.code = load ? SETT__LOAD : SETT__STORE, .dtype = load ? dtype : (sett_dtype)0, .n = load ? n : 0, .sub = align, .imm = at,
                                               .n_args = 4, .args = args});
}

uint32_t sett__gemm_load(const sett__gemm *g, int operand, int64_t i, int64_t j)
{
    return touch(g, operand, i, j, SETT__NONE);
}

void sett__gemm_store(const sett__gemm *g, int operand, int64_t i, int64_t j, uint32_t val)
{
    touch(g, operand, i, j, val);
}

/* ---- any tensor ----------------------------------------------------------------------------------------- */
uint32_t sett__gemm_loaded(const sett__gemm *g, const sett_tensor *t)
{
    return g->c.b->error.status || t->head.poison ? 0 : sett__access(&g->c, &(sett__move){.t = t});
}

void sett__gemm_stored(const sett__gemm *g, const sett_tensor *t, uint32_t val)
{
    if (!g->c.b->error.status)
        sett__access(&g->c, &(sett__move){.t = t, .val = sett__val(g->c.b, val, t->layout->shape, false)});
}

/* ---- what is added to ------------------------------------------------------------------------------------- */
uint32_t sett__gemm_zeros(const sett__gemm *g, uint32_t n)
{
    return sett__splat(g->c.b, g->c.site, sett__const_bits(g->c.b, g->c.site, (sett_dtype)g->atom->dtype[C], 0)->id, n);
}

uint32_t sett__gemm_chosen(const sett__gemm *g, uint32_t held, uint32_t n)
{
    const sett_dtype dtype = (sett_dtype)g->atom->dtype[C];
    const uint32_t args[3] = {g->accumulate ? g->accumulate->id : 0, held, g->accumulate && !g->c.b->error.status ? sett__gemm_zeros(g, n) : 0};
    return g->accumulate ? sett__record(g->c.b, g->c.site, &(sett__emit){.code = SETT__SELECT, .dtype = dtype, .n = n, .n_args = 3, .args = args}) : held;
}
