/* SPDX-License-Identifier: Apache-2.0 */
#include "epilogue.h"
#include <stdio.h>
#include <string.h>

sett_tensor *sett_epilogue_partition_at(sett_site site, const sett_epilogue_tile *p, sett_tensor *whole)
{
    char shape[120], text[300];
    if (whole && p->batch && sett_rank(whole) == 3)
        whole = sett_slice(whole, ALL, ALL, p->batch);
    if (whole && sett_rank(whole) != 2) {
        sett_arg_str(sett_shape(whole), shape, sizeof shape);
        snprintf(text, sizeof text, "it takes an (M,N) tensor, and this one is %s: a vector by columns is sett_composition(t, sett_make_layout(b, T(M, N), T(0, 1))), "
            "by rows with T(1, 0)", shape);
        sett_fail_at(site, p->b, SETT_E_RANK, "sett_epilogue_partition", text);
    }
    return p->partition(site, p, whole);
}

/* ---- parameters ------------------------------------------------------------------------------------ */
static sett_val *stride(const product *p, const char *name, const char *mode, int div)
{
    char symbol[16];
    snprintf(symbol, sizeof symbol, "L%s%s", name, mode);
    return sett_sym(p->b, symbol, .div = div, .wide = p->wide);
}

sett_tensor *sett__operand(const product *p, const char *name, sett_dtype t, int align, sett_val *rows, sett_val *cols, sett_major major)
{
    const int div = align * 8 / sett_dtype_bits(t);
    sett_val *apart = stride(p, name, "", div);
    const sett_arg row = major == SETT_K_MAJOR ? SETT_A(apart) : sett_arg_i(1), col = major == SETT_K_MAJOR ? sett_arg_i(1) : SETT_A(apart);
    sett_layout *l = p->L ? sett_make_layout(p->b, T(rows, cols, p->L), T(row, col, stride(p, name, "2", div))) : sett_make_layout(p->b, T(rows, cols), T(row, col));
    return sett_param(p->b, name, t, l, .align = align);
}

static sett_tensor *vector(const product *p, const char *name, sett_val *n)
{
    return sett_param(p->b, name, SETT_F32, p->L ? sett_make_layout(p->b, T(n, p->L), T(1, stride(p, name, "", 1))) : sett_make_layout(p->b, n));
}

outputs sett__outputs(const product *p)
{
    outputs o = {.R = p->residual ? sett__operand(p, "R", p->c, p->align_c, p->M, p->N, SETT_K_MAJOR) : NULL};
    o.C = sett__operand(p, "C", p->c, p->align_c, p->M, p->N, SETT_K_MAJOR);
    o.SA = p->scaled ? vector(p, "SA", p->M) : NULL;
    o.SB = p->scaled ? vector(p, "SB", p->N) : NULL;
    return o;
}

/* ---- what becomes of sums -------------------------------------------------------------------------- */
/* (M,N) of a vector, or of that of a batch; NULL of none. */
static sett_tensor *spread(const product *p, sett_tensor *v, sett_val *l, int by_row)
{
    return v ? sett_composition(l ? sett_slice(v, ALL, l) : v, sett_make_layout(p->b, T(p->M, p->N), T(by_row, 1 - by_row))) : NULL;
}

terms sett__terms(const product *p, const outputs *o, sett_val *l)
{
    return (terms){.by_row = spread(p, o->SA, l, 1), .by_column = spread(p, o->SB, l, 0), .residual = o->R && l ? sett_slice(o->R, ALL, ALL, l) : o->R,
        .extent = sett_tuple(p->b, p->M, p->N), .crd = sett_identity_tensor(p->b, p->M, p->N), .b = p->b};
}

/* What the caller's epilogue makes of the sums; where that is of no use, the build has an error of the caller's line. */
static sett_val *called(const terms *s, const sett_epilogue_tile *at, sett_val *sums)
{
    char gives[120] = "NULL", want[120], text[320];
    sett_val *x = s->then(at, sums, s->user);
    sett_arg_str(sett_shape(sums), want, sizeof want);
    if (x)
        sett_arg_str(sett_shape(x), gives, sizeof gives);
    if (x && !strcmp(gives, want))
        return x;
    snprintf(text, sizeof text, "the epilogue gives %s%s, and its sums have the shape %s: it returns one number for each of them", x ? "the shape " : "", gives, want);
    sett_fail_at(s->site, s->b, SETT_E_ARGUMENT, s->function, text);
    return sums;
}

static bool is_integer(const sett_tensor *t)
{
    return sett_tensor_dtype(t) == SETT_I32 || sett_tensor_dtype(t) == SETT_I8;
}

sett_val *sett__epilogue(const sett_epilogue_tile *at, sett_val *acc, void *user)
{
    const terms *s = user;
    sett_val *in = sett_elem_less(sett_epilogue_partition(at, s->crd), s->extent), *x = acc;
    if (s->by_row)
        x = sett_mul(sett_mul(sett_to(x, SETT_F32), sett_load(sett_epilogue_partition(at, s->by_row), .pred = in)), sett_load(sett_epilogue_partition(at, s->by_column), .pred = in));
    if (s->then)
        x = called(s, at, x);
    if (s->residual) {
        const sett_dtype in_which = is_integer(s->residual) && sett_val_dtype(x) == SETT_I32 ? SETT_I32 : SETT_F32;
        x = sett_add(sett_to(x, in_which), sett_to(sett_load(sett_epilogue_partition(at, s->residual), .pred = in), in_which));
    }
    return x;
}
