/* SPDX-License-Identifier: Apache-2.0 */
/* Products that a warp makes at once, mma.sync, or a thread, dp4a: A and B are loaded by atoms, and each product's sum is a value. */
#include "inside.h"

/* ---- atoms ------------------------------------------------------------------------------------------- */
static sett_mma_atom *mma_sync(const sett__ctx *c, sett_mma_args *a)
{
    const char *rows = NULL;
    int row = sett__check_plain_args(c, a) ? sett__find_mma_row(c, a, SETT__MMA_WARP, &rows) : -1;
    SETT__FAIL_IF(c->b, c->site, c->func, rows, NULL, SETT_E_SHAPE, "m %d, n %d, k %d: of %s there are %s", a->m, a->n, a->k, sett_dtype_name(a->a), rows);
    if (row < 0)
        return NULL;
    const sett__mma *x = &sett__mmas[row];
    char name[96];
    snprintf(name, sizeof name, "mma %s", sett__mma_word[row]);
    sett_mma_atom r = {.name = name, .row = row, .dtype = {x->a, x->b, x->c}, .mnk = {x->m, x->n, x->k}};
    r.thr_id = sett__layout_of(c, "32:1");
    for (int i = 0; i < 3; i++)
        r.tv[i] = sett__mma_row_layout(c, x->layout[i], x->n);
    return sett__keep_mma_atom(c, &r);
}

static bool is_byte(sett_dtype d)
{
    return d == SETT_I8 || d == SETT_U8;
}

static sett_mma_atom *dp4a(const sett__ctx *c, sett_mma_args *a)
{
    enum { DEPTH = 4 };
    char name[32];
    a->acc = a->acc ? a->acc : SETT_I32;
    SETT__FAIL_IF(c->b, c->site, c->func, !is_byte(a->a) || !is_byte(a->b) || a->acc != SETT_I32, NULL, SETT_E_DTYPE,
        "there is no product of %s and %s that adds up in %s; there are those of i8 and u8 in i32", sett__given_type(a->a), sett__given_type(a->b), sett_dtype_name(a->acc));
    SETT__FAIL_IF(c->b, c->site, c->func, (a->m && a->m != 1) || (a->n && a->n != 1) || (a->k && a->k != DEPTH), NULL, SETT_E_SHAPE, "m %d, n %d, k %d: it is 1 x 1 x %d", a->m,
        a->n, a->k, DEPTH);
    snprintf(name, sizeof name, "dp4a %s %s", sett_dtype_name(a->a), sett_dtype_name(a->b));
    sett_mma_atom r = {.name = name, .dtype = {(uint8_t)a->a, (uint8_t)a->b, (uint8_t)a->acc}, .mnk = {1, 1, DEPTH}};
    r.thr_id = sett__layout_of(c, "1:0");
    r.tv[0] = r.tv[1] = sett__layout_of(c, "(1,4):(0,1)");
    r.tv[2] = sett__layout_of(c, "(1,1):(0,0)");
    return sett__check_plain_args(c, a) ? sett__keep_mma_atom(c, &r) : NULL;
}

/* ---- products ---------------------------------------------------------------------------------------- */
typedef struct parts {
    const sett__gemm *g;
    bool flat[4];
    uint32_t held; /* values of C */
} parts;

static uint32_t load_part(const parts *p, int operand, int64_t i, int64_t j)
{
    return p->flat[operand] ? sett__gemm_load(p->g, operand, i, j) : sett__gemm_loaded(p->g, sett__gemm_part(p->g, operand, -1, i, j));
}

static void one_product(const parts *p, uint32_t x, uint32_t y, int64_t i, int64_t j, int64_t k)
{
    const sett__gemm *g = p->g;
    const sett_dtype dtype = (sett_dtype)g->atom->dtype[C];
    const uint32_t sum = k ? load_part(p, D, i, j) : g->overwrite ? sett__gemm_zeros(g, p->held) : sett__gemm_chosen(g, load_part(p, C, i, j), p->held), args[3] = {x, y, sum};
    if (g->c.b->error.status)
        return;
    const bool of_warp = g->atom->kind == SETT_MMA_SYNC;
    uint32_t id = sett__record(g->c.b, g->c.site,
        &(sett__emit){.code = of_warp ? SETT__MMA : SETT__DP4A, .dtype = dtype, .n = p->held, .n_args = 3, .args = args, .n_attrs = of_warp, .attrs = &(const int32_t){g->atom->row}});
    if (p->flat[D])
        sett__gemm_store(g, D, i, j, id);
    else
        sett__gemm_stored(g, sett__gemm_part(g, D, -1, i, j), id);
}

/* Neighbours in M and N share an operand: columns are gone through to and fro. */
static void products(const sett__gemm *g)
{
    sett_build *b = g->c.b;
    parts p = {.g = g, .held = (uint32_t)sett__gemm_extent(&g->c, g->t[C], 0)};
    uint32_t *x = sett__new(b, (size_t)(g->m + g->n) * sizeof *x), *y = x + g->m;
    for (int i = A; i <= D; i++)
        p.flat[i] = sett__gemm_is_flat(g, i);
    for (int64_t k = 0; k < g->k && !b->error.status; k++) {
        for (int64_t i = 0; i < g->m; i++)
            x[i] = load_part(&p, A, i, k);
        for (int64_t j = 0; j < g->n; j++)
            y[j] = load_part(&p, B, j, k);
        for (int64_t i = 0; i < g->m * g->n && !b->error.status; i++) {
            int64_t row = i / g->n, column = row % 2 ? g->n - 1 - i % g->n : i % g->n;
            one_product(&p, x[row], y[column], row, column, k);
        }
    }
}

const sett__mma_family sett__family_mma_sync = {.func = "sett_mma_sync", .atom = mma_sync, .record = products};
const sett__mma_family sett__family_dp4a = {.func = "sett_dp4a", .atom = dp4a, .record = products};
