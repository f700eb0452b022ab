/* SPDX-License-Identifier: Apache-2.0 */
#include "epilogue.h"
#include "activation.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { LEAVES = 16 /* most modes beside each other of a thread's part of a tensor */ };

sett_tensor *sett_epilogue_partition_at(sett_site site, const sett_epilogue_tile *p, sett_tensor *whole)
{
    char shape[100], text[300];
    if (whole && p->batch && sett_rank(whole) == 3)
        whole = sett_slice(whole, ALL, ALL, p->batch);
    if (whole && sett_rank(whole) != 2) {
        sett_layout_str(sett_tensor_layout(whole), shape, sizeof shape);
        snprintf(text, sizeof text, "it takes an (M,N) tensor, and this one has %d mode%s, %s: a vector by columns is sett_composition(t, sett_make_layout(b, T(M, N), T(0, 1))), "
            "by rows with T(1, 0)", sett_rank(whole), sett_rank(whole) == 1 ? "" : "s", shape);
        sett_fail_at(site, p->b, SETT_E_RANK, "sett_epilogue_partition", text);
    }
    return p->partition(site, p, whole);
}

/* ---- options --------------------------------------------------------------------------------------- */
enum { GATED = 1, INTEGER = 2 /* what a term cannot be with: .swiglu; C of i32 */ };
typedef struct term {
    const char *name;
    int value, most, not_with;
} term;
enum { TERMS = 14 };

static void list_terms(const sett_gemm_terms *t, term list[TERMS])
{
    const term all[TERMS] = {{"alpha", t->alpha, 1, INTEGER}, {"scale", t->scale, 1, INTEGER}, {"bias", t->bias, 1, GATED | INTEGER}, {"softcap", t->softcap, 1, GATED | INTEGER},
        {"aux", t->aux, 1, GATED | INTEGER}, {"activation", (int)t->activation, SETT_ACTIVATION_SILU, GATED | INTEGER}, {"beta", t->beta, 1, INTEGER},
        {"clamp", t->clamp, 1, INTEGER}, {"quantise", t->quantise, 2, 0}, {"amax", t->amax, 2, INTEGER},
        {"row_sum", t->row_sum, 1, INTEGER}, {"column_sum", t->column_sum, 1, INTEGER}, {"row_max", t->row_max, 1, INTEGER}, {"column_max", t->column_max, 1, INTEGER}};
    memcpy(list, all, sizeof all);
}

bool sett__has_terms(const sett_gemm_terms *t)
{
    static const sett_gemm_terms none = {0};
    return memcmp(t, &none, sizeof none) != 0;
}

static bool is_byte(sett_dtype t)
{
    return sett_dtype_bits(t) == 8;
}

void sett__check_epilogue(const epilogue_options *o, choice *c)
{
    term list[TERMS];
    const char *c_name = o->c_name ? o->c_name : "c";
    list_terms(o->named, list);
    if (o->named->activation < 0 || o->named->activation > SETT_ACTIVATION_SILU)
        REFUSE(c, ".activation is %d: none, relu, gelu, gelu_tanh or silu (sett_activation)", (int)o->named->activation);
    sett__in_range(c, "scaled", o->scaled, 0, 1);
    sett__in_range(c, "swiglu", o->swiglu, 0, 1);
    sett__in_range(c, "residual", o->residual, 0, 1);
    for (int i = 0; i < TERMS; i++)
        sett__in_range(c, list[i].name, list[i].value, 0, list[i].most);
    if (o->swiglu && (o->scaled || o->sums == SETT_I32))
        REFUSE(c, ".swiglu is 1: %s", o->scaled ? "then .scaled is 0" : ".dtype is a float then");
    for (int i = 0; i < TERMS; i++) {
        if (list[i].value && o->swiglu && list[i].not_with & GATED)
            REFUSE(c, ".swiglu is 1: then .%s is 0", list[i].name);
        if (list[i].value && o->c == SETT_I32 && list[i].not_with & INTEGER)
            REFUSE(c, ".%s is i32: with .%s it is a float, or i8", c_name, list[i].name);
    }
    if (o->named->beta && !o->residual)
        REFUSE(c, ".beta is 1: .residual is 1 then, which is what it multiplies");
    if (o->named->quantise && !is_byte(o->c))
        REFUSE(c, ".quantise is %d: .%s is f8E4M3FN%s then, and not %s", o->named->quantise, c_name, in_blocks(o->named) ? " or f8E5M2" : ", f8E5M2 or i8", sett_dtype_name(o->c));
    if (in_blocks(o->named) && !sett__is_f8(o->c))
        REFUSE(c, ".quantise is 2: .%s is f8E4M3FN or f8E5M2 then, and not %s", c_name, sett_dtype_name(o->c));
    if (in_blocks(o->named) && o->narrow)
        REFUSE(c, ".quantise is 2: 0 or 1, as a block of %s has fewer than 128 columns", o->narrow);
}

static bool has_along(const sett_gemm_terms *t, int i)
{
    const int has[ALONG] = {t->row_sum, t->column_sum, t->row_max, t->column_max};
    return has[i] != 0;
}

/* ---- parameters ------------------------------------------------------------------------------------ */
static sett_val *stride(const product *p, const char *name, const char *mode, int div)
{
    char symbol[16];
    snprintf(symbol, sizeof symbol, "L%s%s", name, mode);
    return sett_sym(p->b, symbol, .div = div, .wide = p->wide);
}

/* The batch's own, of an array of pointers. */
static sett_tensor *pointed_at(const product *p, const char *name, sett_dtype t, sett_layout *l, int align)
{
    sett_tensor *array = sett_param(p->b, name, SETT_U64, sett_make_layout(p->b, p->L));
    return sett_make_gmem_tensor(p->b, t, sett_at(array, p->one_of), l, align, .name = name);
}

sett_tensor *sett__operand(const product *p, const char *name, sett_dtype t, int align, sett_val *rows, sett_val *cols, sett_major major)
{
    const int div = align * 8 / sett_dtype_bits(t);
    sett_val *apart = stride(p, name, "", div);
    const sett_arg row = major == SETT_K_MAJOR ? SETT_A(apart) : sett_arg_i(1), col = major == SETT_K_MAJOR ? sett_arg_i(1) : SETT_A(apart);
    const bool deep = p->L && !p->one_of;
    sett_layout *l = deep ? sett_make_layout(p->b, T(rows, cols, p->L), T(row, col, stride(p, name, "2", div))) : sett_make_layout(p->b, T(rows, cols), T(row, col));
    return p->one_of ? pointed_at(p, name, t, l, align) : sett_param(p->b, name, t, l, .align = align);
}

/* How many vectors by columns there are; NULL: one. */
static sett_val *kinds_of_columns(const product *p)
{
    return p->G ? p->G : p->L;
}

static sett_tensor *vector(const product *p, const char *name, sett_dtype t, sett_val *n, sett_val *kinds)
{
    if (kinds && p->one_of)
        return pointed_at(p, name, t, sett_make_layout(p->b, n), sett_dtype_bits(t) / 8);
    return sett_param(p->b, name, t, kinds ? sett_make_layout(p->b, T(n, kinds), T(1, stride(p, name, "", 1))) : sett_make_layout(p->b, n));
}

static sett_tensor *row_vector(const product *p, const char *name)
{
    return vector(p, name, SETT_F32, p->M, p->L);
}

static sett_tensor *column_vector(const product *p, const char *name, sett_dtype t)
{
    return vector(p, name, t, p->N, kinds_of_columns(p));
}

static sett_tensor *one(const product *p, const char *name)
{
    return sett_param(p->b, name, SETT_F32, sett_make_layout(p->b, T1(1)));
}

static sett_tensor *output(const product *p, const char *name, sett_dtype t)
{
    const int least = sett_dtype_bits(t) / 8;
    return sett__operand(p, name, t, p->align_c > least ? p->align_c : least, p->M, p->N, SETT_K_MAJOR);
}

sett_dtype sett__type_beside(sett_dtype c)
{
    return sett__is_small_float(c) ? c : SETT_F32;
}

/* A column of SA lies as A's rows of a tile do, so that TMA brings it. */
static void block_scales(const product *p, outputs *o)
{
    enum { BLOCK = 128, TMA = 16 };
    sett_val *k = sett_floordiv(sett_add(sett_sym(p->b, "K"), BLOCK - 1), BLOCK), *n = sett_floordiv(sett_add(p->N, BLOCK - 1), BLOCK);
    o->SA = sett__operand(p, "SA", SETT_F32, TMA, p->M, k, SETT_MN_MAJOR);
    product of_columns = *p;
    of_columns.L = kinds_of_columns(p);
    o->SB = sett__operand(&of_columns, "SB", SETT_F32, sett_dtype_bits(SETT_F32) / 8, p->of.swiglu ? sett_mul(n, 2) : n, k, SETT_K_MAJOR);
}

/* As SA of .block_scales lies, so that it is that of another product. */
static sett_tensor *scales_of_blocks(const product *p)
{
    sett_val *blocks = sett_floordiv(sett_add(p->N, EPILOGUE_BLOCK - 1), EPILOGUE_BLOCK);
    return sett__operand(p, "SD", SETT_F32, sett__bytes_of(SETT_F32), p->M, blocks, SETT_MN_MAJOR);
}

outputs sett__outputs(const product *p)
{
    const sett_gemm_terms *t = p->of.named;
    outputs o = {.R = p->of.residual ? output(p, "R", p->of.c) : NULL};
    o.C = output(p, "C", p->of.c);
    if (p->of.block_scales)
        block_scales(p, &o);
    o.SA = p->of.scaled ? row_vector(p, "SA") : o.SA;
    o.SB = p->of.scaled ? column_vector(p, "SB", SETT_F32) : o.SB;
    o.alpha = t->alpha ? sett_scalar(p->b, "alpha", SETT_F32) : NULL;
    o.S = t->scale ? one(p, "S") : NULL;
    o.BIAS = t->bias ? column_vector(p, "BIAS", sett__type_beside(p->of.c)) : NULL;
    o.cap = t->softcap ? sett_scalar(p->b, "cap", SETT_F32) : NULL;
    o.AUX = t->aux ? output(p, "AUX", sett__type_beside(p->of.c)) : NULL;
    o.beta = t->beta ? sett_scalar(p->b, "beta", SETT_F32) : NULL;
    o.low = t->clamp ? sett_scalar(p->b, "low", SETT_F32) : NULL;
    o.high = t->clamp ? sett_scalar(p->b, "high", SETT_F32) : NULL;
    o.AMAX = t->amax == 2 ? row_vector(p, "AMAX") : t->amax ? one(p, "AMAX") : NULL;
    o.QS = t->quantise && !in_blocks(t) ? one(p, "QS") : NULL;
    o.SD = in_blocks(t) ? scales_of_blocks(p) : NULL;
    for (int i = 0; i < ALONG; i++)
        o.along[i] = !has_along(t, i) ? NULL : sett__alongs[i].by_row ? row_vector(p, sett__alongs[i].name) : column_vector(p, sett__alongs[i].name, SETT_F32);
    return o;
}

/* (M,N) of a vector, or of that of a batch; NULL of none. */
static sett_tensor *spread(const product *p, sett_tensor *v, sett_val *l, int by_row)
{
    return v ? sett_composition(l ? sett_slice(v, ALL, l) : v, sett_make_layout(p->b, T(p->M, p->N), T(by_row, 1 - by_row))) : NULL;
}

static sett_tensor *of_batch(sett_tensor *t, sett_val *l)
{
    return t && l ? sett_slice(t, ALL, ALL, l) : t;
}

terms sett__terms(const product *p, const outputs *o, sett_val *l)
{
    terms s = {.of = p->of, .to = *o, .b = p->b, .extent = sett_tuple(p->b, p->M, p->N), .crd = sett_identity_tensor(p->b, p->M, p->N)};
    sett__terms_of(&s, p, l);
    return s;
}

void sett__terms_of(terms *s, const product *p, sett_val *l)
{
    const outputs *o = &s->to;
    sett_val *of_rows = p->L && !p->one_of ? l : NULL, *of_columns = kinds_of_columns(p) && !p->one_of ? l : NULL;
    s->by_row = p->of.scaled ? spread(p, o->SA, of_rows, 1) : NULL;
    s->by_column = p->of.scaled ? spread(p, o->SB, of_columns, 0) : NULL;
    s->bias = spread(p, o->BIAS, of_columns, 0);
    s->residual = of_batch(o->R, of_rows);
    s->aux = of_batch(o->AUX, of_rows);
    for (int i = 0; i < ALONG; i++)
        s->along[i] = spread(p, o->along[i], sett__alongs[i].by_row ? of_rows : of_columns, sett__alongs[i].by_row);
    s->amax = p->of.named->amax == 2 ? sett__as_bits(spread(p, o->AMAX, of_rows, 1)) : NULL;
}

/* ---- vectors -------------------------------------------------------------------------------------- */
sett_arg sett__distinct(sett_build *b, sett_arg stride)
{
    sett_arg kid[LEAVES];
    if (stride.kind != SETT_NODE)
        return stride.kind == SETT_INT && !stride.u.i ? sett_arg_i(0) : ALL;
    for (int i = 0; i < stride.rank && i < LEAVES; i++)
        kid[i] = sett__distinct(b, stride.u.kid[i]);
    return sett_arg_keep(b, sett_arg_n(stride.rank, kid));
}

/* Its shape with 1 where that is 0, so that it can be repeated to its shape. */
static sett_arg narrow(sett_build *b, sett_arg shape, sett_arg at)
{
    sett_arg kid[LEAVES];
    if (at.kind != SETT_NODE)
        return at.kind == SETT_INT ? sett_arg_i(1) : shape;
    for (int i = 0; i < at.rank && i < LEAVES; i++)
        kid[i] = narrow(b, shape.u.kid[i], at.u.kid[i]);
    return sett_arg_keep(b, sett_arg_n(at.rank, kid));
}

sett_val *sett__load_spread(sett_build *b, sett_tensor *part, sett_val *in)
{
    const sett_arg each = sett__distinct(b, sett_stride(part)), shape = sett_shape(part);
    sett_val *x = sett_to(sett_load(sett_slice(part, each), .pred = in), SETT_F32);
    return sett_rank(x) ? sett_broadcast_to(sett_reshape(x, narrow(b, shape, each)), shape) : x;
}

static sett_val *load_vector(const terms *s, const sett_epilogue_tile *at, sett_tensor *spread_out, sett_arg extent)
{
    sett_tensor *whole = sett_epilogue_partition(at, spread_out), *crd = sett_epilogue_partition(at, s->crd);
    return sett__load_spread(s->b, whole, sett_elem_less(sett_slice(crd, sett__distinct(s->b, sett_stride(whole))), extent));
}

static sett_val *load_row_vector(const terms *s, const sett_epilogue_tile *at, sett_tensor *spread_out)
{
    return load_vector(s, at, spread_out, sett_tuple(s->b, sett_get(s->extent, 0), INT_MAX));
}

/* *held: that of the call before. */
static sett_val *load_column_vector(const terms *s, const sett_epilogue_tile *at, sett_tensor *spread_out, sett_val **held)
{
    if (!at->same_columns)
        *held = load_vector(s, at, spread_out, sett_tuple(s->b, INT_MAX, sett_get(s->extent, 1)));
    return *held;
}

/* ---- what is the same for all elements ------------------------------------------------------------- */
void sett__epilogue_begin(terms *s)
{
    const outputs *to = &s->to;
    s->factor = to->alpha;
    if (to->S)
        s->factor = to->alpha ? sett_mul(to->alpha, sett_at(to->S, 0)) : sett_at(to->S, 0);
    s->per_cap = to->cap ? sett_rcp(to->cap) : NULL;
    s->quantum = to->QS ? sett_at(to->QS, 0) : NULL;
    s->most = to->AMAX && !s->amax ? sett_var(s->b, SETT_I32, 0) : NULL;
}

/* ---- terms ----------------------------------------------------------------------------------------- */
sett_val *sett__up(const terms *s, sett_val *x)
{
    return s->factor ? sett_mul(sett_to(x, SETT_F32), s->factor) : x;
}

sett_val *sett__gate(const terms *s, sett_val *sums)
{
    return sett__silu(sett__up(s, sums));
}

static sett_val *activated(const terms *s, sett_val *x)
{
    switch (s->of.named->activation) {
    case SETT_ACTIVATION_RELU:
        return sett_max(x, 0.0);
    case SETT_ACTIVATION_GELU:
        return sett__gelu(x, s->of.c);
    case SETT_ACTIVATION_GELU_TANH:
        return sett__gelu_tanh(x, s->of.c);
    case SETT_ACTIVATION_SILU:
        return sett__silu(x);
    default:
        return x;
    }
}

static sett_val *capped(const terms *s, sett_val *x)
{
    x = sett_mul(x, s->per_cap);
    return sett_mul(s->of.c == SETT_F32 ? sett_tanh(x) : sett__quick_tanh(x), s->to.cap);
}

/* Up to the activation. */
static sett_val *inner(terms *s, const sett_epilogue_tile *at, sett_val *x, sett_val *in)
{
    if (s->by_row)
        x = sett_mul(sett_mul(sett_to(x, SETT_F32), load_row_vector(s, at, s->by_row)), load_column_vector(s, at, s->by_column, &s->column_scale));
    if (!s->of.swiglu)
        x = sett__up(s, x);
    if (sett__has_terms(s->of.named))
        x = sett_to(x, SETT_F32);
    if (s->bias)
        x = sett_add(x, load_column_vector(s, at, s->bias, &s->column_bias));
    if (s->per_cap)
        x = capped(s, x);
    if (s->aux)
        sett_store(sett_epilogue_partition(at, s->aux), sett_to(x, sett_tensor_dtype(s->aux)), .pred = in);
    return activated(s, x);
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

static sett_val *with_residual(const terms *s, const sett_epilogue_tile *at, sett_val *x, sett_val *in)
{
    const sett_dtype in_which = is_integer(s->residual) && sett_val_dtype(x) == SETT_I32 ? SETT_I32 : SETT_F32;
    sett_val *given = s->residual_part ? sett_reshape(sett_load(s->residual_part), sett_shape(x)) : sett_load(sett_epilogue_partition(at, s->residual), .pred = in);
    sett_val *r = sett_to(given, in_which);
    return sett_add(sett_to(x, in_which), s->to.beta ? sett_mul(r, s->to.beta) : r);
}

/* ---- all together ---------------------------------------------------------------------------------- */
sett_val *sett__epilogue(const sett_epilogue_tile *at, sett_val *acc, terms *s)
{
    sett_val *in = sett_elem_less(sett_epilogue_partition(at, s->crd), s->extent), *x = inner(s, at, acc, in);
    if (s->then)
        x = called(s, at, x);
    if (s->residual)
        x = with_residual(s, at, x, in);
    if (s->to.low)
        x = sett_clamp(sett_to(x, SETT_F32), s->to.low, s->to.high);
    sett__epilogue_tell(s, at, x, in);
    return s->quantum ? sett_mul(sett_to(x, SETT_F32), s->quantum) : x;
}

sett_val *sett__rounded(sett_val *x, sett_dtype c)
{
    if (c != SETT_I8)
        return sett_to(x, c);
    return sett_val_dtype(x) == SETT_I32 ? sett_to(sett_max(sett_min(x, INT8_MAX), INT8_MIN), c) : sett_to(sett_roundeven(x), c);
}
