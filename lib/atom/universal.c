/* SPDX-License-Identifier: Apache-2.0 */
/* One multiply-add a thread, on operands of any memory. */
#include "inside.h"

static bool is_arithmetic(sett_dtype d)
{
    return sett__dtype_valid(d) && (sett__dtype_is_int(d) || sett__dtype_is_float(d)) && d != SETT_BOOL;
}

static sett_mma_atom *universal(const sett__ctx *c, sett_mma_args *a)
{
    char name[96];
    a->a = a->a ? a->a : a->acc;
    a->b = a->b ? a->b : a->acc;
    SETT__FAIL_IF(c->b, c->site, c->func, !is_arithmetic(a->acc), NULL, SETT_E_DTYPE, ".acc is %s: it adds in types of arithmetic",
        sett__dtype_valid(a->acc) ? sett_dtype_name(a->acc) : "not given");
    SETT__FAIL_IF(c->b, c->site, c->func, !sett__dtype_valid(a->a) || !sett__dtype_valid(a->b) || a->a == SETT_BOOL || a->b == SETT_BOOL, NULL, SETT_E_DTYPE,
        "%s times %s: it multiplies numbers", sett_dtype_name(a->a), sett_dtype_name(a->b));
    SETT__FAIL_IF(c->b, c->site, c->func, a->m > 1 || a->n > 1 || a->k > 1, NULL, SETT_E_SHAPE, "m %d, n %d, k %d: it is 1 x 1 x 1", a->m, a->n, a->k);
    snprintf(name, sizeof name, "fma %s", sett_dtype_name(a->acc));
    sett_mma_atom r = {.name = name, .dtype = {(uint8_t)a->a, (uint8_t)a->b, (uint8_t)a->acc}, .mnk = {1, 1, 1}};
    r.thr_id = sett__layout_of(c, "1:0");
    r.tv[0] = r.tv[1] = r.tv[2] = sett__layout_of(c, "(1,1):(0,0)");
    return sett__check_plain_args(c, a) ? sett__keep_mma_atom(c, &r) : NULL;
}

/* ---- products -------------------------------------------------------------------------------------- */
static sett_val *column(const sett__gemm *g, uint32_t id)
{
    return sett__val(g->c.b, id, sett__tuple_of(&g->c, 1, (sett_arg[]){sett_arg_i(g->m)}), false);
}

/* A column of C at a time: values of M elements. */
static void products(const sett__gemm *g)
{
    sett_build *b = g->c.b;
    const sett_dtype dtype = (sett_dtype)g->atom->dtype[C];
    sett_val **sum = sett__new(b, (size_t)g->n * sizeof(sett_val *));
    for (int64_t j = 0; j < g->n && !b->error.status; j++)
        sum[j] = column(g, g->overwrite ? sett__gemm_zeros(g, (uint32_t)g->m) : sett__gemm_chosen(g, sett__gemm_loaded(g, sett__gemm_part(g, C, 0, -1, j)), (uint32_t)g->m));
    for (int64_t k = 0; k < g->k && !b->error.status; k++) {
        const sett_tensor *a = sett__gemm_part(g, A, 0, -1, k);
        sett_val *x = a->head.poison ? NULL : sett__to(b, g->c.site, column(g, sett__gemm_loaded(g, a)), dtype);
        const uint32_t row = sett__gemm_loaded(g, sett__gemm_part(g, B, 0, -1, k));
        for (uint32_t j = 0; j < g->n && !b->error.status; j++) {
            sett_val *y = sett__scalar_val(b, g->n == 1 ? row : sett__pick(b, g->c.site, row, &j, 1));
            sum[j] = sett_fma_at(g->c.site, sett_arg_v(x), sett_arg_v(sett__to(b, g->c.site, y, dtype)), sett_arg_v(sum[j]));
        }
    }
    for (int64_t j = 0; j < g->n && !b->error.status; j++)
        sett__gemm_stored(g, sett__gemm_part(g, D, 0, -1, j), sum[j]->id);
}

const sett__mma_family sett__family_universal = {.func = "sett_mma_universal", .memory = true, .atom = universal, .record = products};
