/* SPDX-License-Identifier: Apache-2.0 */
/* sett_print_tensor: loops of printf, as many ops for a large tensor as for a small one. The format is that of CuTe's
 * print_tensor, which its output shows. */
#include "print.h"

/* By mode count 1, 2, 3 and more. */
const sett__print_frame sett__print_frames[3] = {
    {"       [", "       [", "       [", "       ...\n", "],\n", "],\n", "])\n"},
    {"       [[", "       [[", "        [", "        ...\n", "],\n", "]],\n", "]])\n"},
    {"       [[[", "        [[", "         [", "         ...\n", "],\n", "]],\n\n", "]]])\n"},
};

typedef struct printer {
    sett__ctx c;
    const sett_tensor *t; /* what is asked for; of a value, and of registers, `from` is a copy in local memory */
    const sett_tensor *from;
} printer;

/* A region whose statement may not be left. */
#define LOOP(p, i, hi) \
    for (sett_region i##_region = sett_for_begin((p)->c.site, (p)->c.b, sett_arg_i(0), hi, sett_arg_i(1), \
             &(sett_for_options){.size = sizeof(sett_for_options)}); \
        i##_region.open; sett_region_end(&i##_region)) \
        for (sett_arg i = sett_arg_v(i##_region.iv); !i##_region.done; sett_region_next(&i##_region))
#define WHEN(p, cond) SETT_REGION(SETT_CAT(when_, __LINE__), sett_if_begin((p)->c.site, (p)->c.b, cond))
#define ELSE(p) SETT_REGION(SETT_CAT(else_, __LINE__), sett_else_begin((p)->c.site, (p)->c.b))

static bool say(const printer *p, const char *text)
{
    return sett__printf(&p->c, text, 0, NULL);
}

/* x OP y, of which one is dynamic: a Boolean value. */
static sett_val *record_compare(const printer *p, sett_binary_op op, sett_arg x, sett_arg y)
{
    return sett_binary_at(p->c.site, p->c.func, op, x, y);
}

/* raw_ptr(0x0123456789abcdef: f32, gmem, align<16>): the address of memory that the kernel was given, and how far its own
 * begins from the first byte. */
static bool say_pointer(const printer *p)
{
    const sett_tensor *t = p->t;
    sett_build *b = p->c.b;
    char format[128];
    bool packed = sett__is_packed(t);
    int64_t bytes = packed ? sett_dtype_bits((sett_dtype)t->dtype) : sett__dtype_bytes((sett_dtype)t->dtype); /* or bits */
    sett_val *at = sett_binary_at(p->c.site, p->c.func, SETT_MUL, sett_arg_v(sett_const_at(p->c.site, b, SETT_U64, sett_arg_i(bytes))),
        sett_arg_v(sett_to_at(p->c.site, sett__arg_val(b, p->c.site, t->offset), SETT_U64)));
    if (packed)
        at = sett_binary_at(p->c.site, p->c.func, SETT_SHR, sett_arg_v(at), sett_arg_i(3));
    if (t->space == SETT_GMEM)
        at = sett_binary_at(p->c.site, p->c.func, SETT_ADD, sett_arg_v(sett__gmem_base(&p->c, t)), sett_arg_v(at));
    snprintf(format, sizeof format, "raw_ptr(0x%%016llx: %s, %s, align<%u>)", sett__memory_type((sett_dtype)t->dtype),
        sett__space_name((sett_space)t->space), sett__start_align(t));
    return sett__printf(&p->c, format, 1, (const sett_arg[]){sett_arg_v(at)});
}

/* ---- one element ------------------------------------------------------------------------------- */
/* A number that `{}` or a C conversion prints, of whatever type. */
static sett_val *printable(const printer *p, sett_val *v)
{
    sett_dtype d = (sett_dtype)v->dtype;
    if (d == SETT_I4)
        return sett_to_at(p->c.site, v, SETT_I32);
    if (sett__dtype_kind(d) != 's' && !sett__dtype_is_float(d))
        return v;
    /* NaN has one sign on every engine. */
    sett_val *f = sett_to_at(p->c.site, sett__dtype_kind(d) == 's' ? sett_to_at(p->c.site, v, SETT_F32) : v, SETT_F64);
    sett_val *nan = sett__const_bits(p->c.b, p->c.site, SETT_F64, UINT64_C(0x7ff8000000000000));
    return sett_where_at(p->c.site, record_compare(p, SETT_NE, sett_arg_v(f), sett_arg_v(f)), sett_arg_v(nan), sett_arg_v(f));
}

/* The text of an element begins with a blank, unless it is below 0 or NaN. Around it stand a coordinate (or nothing) and
 * `=`, and what follows. */
static bool say_number(const printer *p, const sett_arg *coord, sett_val *v, const char *after)
{
    char format[2][32];
    const char *before = coord ? "\t{}=" : "";
    sett_arg arg[2] = {coord ? *coord : sett_arg_v(v), sett_arg_v(v)};
    int n = coord ? 2 : 1;
    sett_dtype d = (sett_dtype)v->dtype;
    if (sett__dtype_is_int(d) && sett__dtype_kind(d) == 'i')
        snprintf(format[0], 32, "%s%% %s%s", before, sett_dtype_bits(d) == 64 ? "lld" : "d", after);
    else
        snprintf(format[0], 32, "%s {}%s", before, after);
    if (!sett__dtype_is_float(d))
        return sett__printf(&p->c, format[0], n, arg);
    snprintf(format[1], 32, "%s{}%s", before, after);
    WHEN (p, record_compare(p, SETT_GE, sett_arg_v(v), sett_arg_f(0)))
        sett__printf(&p->c, format[0], n, arg);
    ELSE (p)
        sett__printf(&p->c, format[1], n, arg);
    return !p->c.b->error.status;
}

static bool say_element(const printer *p, sett_arg at, const sett_arg *coord, const char *after)
{
    char format[32];
    if (p->t->space == SETT_COORD) {
        sett_arg arg[2] = {coord ? *coord : at, sett_coord_at_at(p->c.site, p->t, at)};
        snprintf(format, sizeof format, "%s {}%s", coord ? "\t{}=" : "", after);
        return sett__printf(&p->c, format, coord ? 2 : 1, coord ? arg : arg + 1);
    }
    sett_val *v = sett_at_at(p->c.site, p->from, at);
    return !p->c.b->error.status && say_number(p, coord, printable(p, v), after);
}

/* ---- rows and columns ---------------------------------------------------------------------------- */
typedef struct side { sett_arg size, shown, left_out; } side; /* shown + left_out = size */

static side side_of(const printer *p, sett_arg shape)
{
    const sett_arg most = sett_arg_i(2 * SETT__SHOWN);
    side s = {.size = sett__product(&p->c, shape)};
    s.shown = sett__min(&p->c, s.size, most);
    s.left_out = sett__sub(&p->c, s.size, s.shown);
    return s;
}

/* The coordinate of what is shown at k. */
static sett_arg coord_of(const printer *p, const side *s, sett_arg k)
{
    if (sett__is_int(s->left_out, 0))
        return k;
    sett_val *late = record_compare(p, SETT_GE, k, sett_arg_i(SETT__SHOWN));
    return sett__add(&p->c, k, sett_arg_v(sett_where_at(p->c.site, late, s->left_out, sett_arg_i(0))));
}

/* Behind the last one of the first: says that some are left out, if they are. */
static bool say_mark(const printer *p, const side *s, sett_arg k, const char *mark)
{
    if (sett__is_int(s->left_out, 0))
        return true;
    sett_val *here = record_compare(p, SETT_EQ, k, sett_arg_i(SETT__SHOWN - 1));
    if (s->left_out.kind != SETT_INT)
        here = record_compare(p, SETT_AND, sett_arg_v(here), sett_arg_v(record_compare(p, SETT_GT, s->left_out, sett_arg_i(0))));
    WHEN (p, here)
        say(p, mark);
    return !p->c.b->error.status;
}

typedef struct grid {
    int modes;
    side row, col;
    sett_arg blocks, outer; /* how many; the extents that they go through */
    const sett__print_frame *frame;
} grid;

static grid grid_of(const printer *p)
{
    sett_arg shape = p->t->layout->shape;
    grid g = {.modes = shape.kind == SETT_NODE && shape.rank > 1 ? shape.rank : 1, .blocks = sett_arg_i(1)};
    g.row = side_of(p, g.modes > 1 ? shape.u.kid[0] : shape);
    if (g.modes > 1)
        g.col = side_of(p, shape.u.kid[1]);
    if (g.modes > 2) {
        g.outer = sett__product_each(&p->c, sett_arg_n(g.modes - 2, shape.u.kid + 2));
        g.blocks = sett__product(&p->c, g.outer);
    }
    g.frame = &sett__print_frames[g.modes > 3 ? 2 : g.modes - 1];
    return g;
}

/* (row, column, the block's coordinate): a mode that is nested takes an integer. */
static sett_arg coord_in_grid(const printer *p, const grid *g, sett_arg row, sett_arg col, sett_arg block)
{
    if (g->modes == 1)
        return row;
    sett_arg *kid = sett__kids(&p->c, g->modes), rest = {.kind = SETT_NODE};
    if (g->modes > 2)
        rest = sett__idx2crd(&p->c, block, g->outer);
    kid[0] = row;
    kid[1] = col;
    for (int i = 2; i < g->modes; i++)
        kid[i] = rest.kind == SETT_NODE ? rest.u.kid[i - 2] : rest;
    return sett__node(&p->c, g->modes, kid);
}

static bool say_row(const printer *p, const grid *g, sett_arg row, sett_arg block)
{
    if (g->modes == 1)
        return say_element(p, row, NULL, ", ");
    LOOP (p, j, g->col.shown) {
        say_element(p, coord_in_grid(p, g, row, coord_of(p, &g->col, j), block), NULL, ", ");
        say_mark(p, &g->col, j, "..., ");
    }
    return !p->c.b->error.status;
}

/* yes at the first (last) block, else no. */
static void say_by_block(const printer *p, const grid *g, sett_arg block, sett_arg which, const char *yes, const char *no)
{
    if (sett__is_int(g->blocks, 1)) {
        say(p, yes);
        return;
    }
    WHEN (p, record_compare(p, SETT_EQ, block, which))
        say(p, yes);
    ELSE (p)
        say(p, no);
}

static void say_block(const printer *p, const grid *g, sett_arg block)
{
    sett_arg one = sett_arg_i(1);
    LOOP (p, i, g->row.shown) {
        WHEN (p, record_compare(p, SETT_EQ, i, sett_arg_i(0)))
            say_by_block(p, g, block, sett_arg_i(0), g->frame->first, g->frame->block);
        ELSE (p)
            say(p, g->frame->row);
        say_row(p, g, coord_of(p, &g->row, i), block);
        WHEN (p, record_compare(p, SETT_EQ, i, sett__sub(&p->c, g->row.shown, one)))
            say_by_block(p, g, block, sett__sub(&p->c, g->blocks, one), g->frame->end, g->frame->block_end);
        ELSE (p)
            say(p, g->frame->row_end);
        say_mark(p, &g->row, i, g->frame->mark);
    }
}

static void say_blocks(const printer *p, const grid *g)
{
    if (sett__is_int(g->blocks, 1))
        say_block(p, g, sett_arg_i(0));
    else
        LOOP (p, k, g->blocks)
            say_block(p, g, k);
}

static void say_grid(const printer *p)
{
    grid g = grid_of(p);
    sett_arg size = sett__product(&p->c, p->t->layout->shape);
    if (p->c.b->error.status)
        return;
    if (size.kind == SETT_INT) {
        say_blocks(p, &g);
        return;
    }
    WHEN (p, record_compare(p, SETT_EQ, size, sett_arg_i(0)))
        say(p, SETT__PRINT_NONE);
    ELSE (p)
        say_blocks(p, &g);
}

static void say_all(const printer *p)
{
    LOOP (p, i, sett__product(&p->c, p->t->layout->shape)) {
        sett_arg coord = sett__idx2crd(&p->c, i, p->t->layout->shape);
        say_element(p, i, &coord, "\n");
    }
    say(p, ")\n");
}

/* ---- what is printed ------------------------------------------------------------------------------- */
/* Indexing registers at run time needs a copy in local memory; the registers themselves stay. (Of a view whose extents
 * are known only at run time they are in local memory themselves.) */
static bool prepare_printer(printer *p)
{
    sett_build *b = p->c.b;
    p->from = p->t;
    if (p->t->space == SETT_RMEM && sett__is_static(p->t->layout->shape) && sett__is_static(p->t->layout->stride)) {
        sett_tensor *copy = sett_make_fragment_like_at(p->c.site, p->t, (sett_dtype)0);
        sett__copy_elements(&p->c, p->t, copy, NULL, false);
        p->from = copy;
    }
    return !b->error.status;
}

static const sett_tensor *of_value(const sett__ctx *c, const sett_val *v)
{
    SETT__FAIL_IF(c->b, c->site, c->func, v->scalar, NULL, SETT_E_RANK, "a scalar of %s has no elements: sett_printf prints it",
        sett_dtype_name((sett_dtype)v->dtype));
    sett_tensor *t = sett_make_rmem_tensor_at(c->site, c->b, (sett_dtype)v->dtype, v->shape);
    sett_store_at(c->site, t, &(sett_store_args){.size = sizeof(sett_store_args), .val = sett_arg_v(v)});
    return c->b->error.status ? NULL : t;
}

/* NULL: the build has failed. */
static const sett_tensor *take_tensor(const sett__ctx *c, sett_arg a)
{
    if (a.kind == SETT_VALUE)
        return sett__use_val(c->b, c->site, c->func, a.u.v) ? of_value(c, sett__materialise(c->site, a.u.v)) : NULL;
    if (a.kind == SETT_TENSOR)
        return sett__use_tensor(c->b, c->site, c->func, a.u.t) ? a.u.t : NULL;
    if (sett__use_arg(c->b, c->site, c->func, a))
        sett__fail(c->b, c->site, c->func, SETT_E_ARGUMENT, "a tensor or a value with a shape is printed, not %s: use sett_printf",
            sett__arg_text(c->b, a));
    return NULL;
}

static sett_build *build_of(sett_arg a)
{
    return a.kind == SETT_TENSOR ? sett__home(a.u.t) : sett__build_of(a);
}

void sett_print_tensor_at(sett_site site, const sett_print_tensor_args *given)
{
    printer p = {.c = {NULL, site, "sett_print_tensor"}};
    sett_print_tensor_args a;
    if (!sett__take_args(&p.c, &a, sizeof a, given))
        return;
    p.c.b = build_of(a.what);
    if (!p.c.b || p.c.b->error.status || !(p.t = take_tensor(&p.c, a.what)))
        return;
    SETT__FAIL_IF(p.c.b, site, p.c.func, !p.c.b->in_kernel, , SETT_E_ARGUMENT, "is possible only in a kernel's body");
    if (!prepare_printer(&p) || !say(&p, "tensor("))
        return;
    bool ok = p.t->space == SETT_COORD ? sett__printf(&p.c, "{}", 1, &p.t->offset) : say_pointer(&p);
    ok = ok && sett__printf(&p.c, a.verbose ? " o {}, data= (\n" : " o {}, data=\n", 1, (const sett_arg[]){sett_arg_l(p.t->layout)});
    if (ok)
        (a.verbose ? say_all : say_grid)(&p);
}

bool sett__print_memory(const sett__ctx *c, const sett_tensor *t)
{
    printer p = {.c = *c, .t = t};
    SETT__FAIL_IF(c->b, c->site, c->func, t->space == SETT_COORD, false, SETT_E_SPACE,
        "the tensor of coordinates %s lies in no memory: sett_print_tensor prints it", sett__layout_text(c->b, t->layout));
    sett_arg size = sett__product(c, t->layout->shape), layout = sett_arg_l(t->layout);
    bool all = size.kind == SETT_INT && sett__is_static(t->layout->stride);
    if (!say_pointer(&p) || !sett__printf(c, " o {}", 1, &layout) || !all)
        return !c->b->error.status;
    if (!prepare_printer(&p) || !say(&p, " = \n  ("))
        return false;
    LOOP (&p, i, size) {
        sett_arg x = sett_arg_v(printable(&p, sett_at_at(c->site, p.from, i)));
        WHEN (&p, record_compare(&p, SETT_GT, i, sett_arg_i(0)))
            say(&p, ",");
        sett__printf(c, " {}", 1, &x);
    }
    return say(&p, " )");
}
