/* SPDX-License-Identifier: Apache-2.0 */
/* A row goes out as it is, by a scale that is given, by its own largest, or by that of each 128 columns. The threads that have such a block are
 * neighbours in one warp, so that its largest takes shuffles alone. */
#include "rowwise.h"

enum { BLOCK = 128 };

double sett__greatest(sett_dtype t)
{
    return t == SETT_F8E4M3FN ? 448 : t == SETT_F8E5M2 ? 57344 : 127;
}

/* ---- options ------------------------------------------------------------------------------------------- */
void sett__quantised_options(choice *c, const quantised_options *o, sett_dtype *out)
{
    const bool blocks = o->how == SETT_QUANTISED_BLOCKS;
    sett__in_range(c, "quantise", o->how, 0, SETT_QUANTISED_ROWS);
    if (!*out)
        *out = o->how ? SETT_F8E4M3FN : o->dtype;
    if (!o->how && *out != o->dtype)
        REFUSE(c, ".out is %s: without .quantise it is .dtype", sett_dtype_name(*out));
    if (o->how && !sett__is_f8(*out) && (blocks || *out != SETT_I8))
        REFUSE(c, ".out is %s: with .quantise f8E4M3FN%s", sett_dtype_name(*out), blocks ? " or f8E5M2" : ", f8E5M2 or i8");
    if (blocks && o->cols % sett__vec(o->dtype))
        REFUSE(c, ".quantise is 2: .cols is a multiple of %d then, and not %d", sett__vec(o->dtype), o->cols);
}

/* Registers of a block's threads have room for so many elements of each. */
enum { HELD = 32, MOST_THREADS = 1024 };

static void settle_rows(choice *c, const quantised_options *o, int *threads, int *vectors)
{
    const int vec = sett__vec(o->dtype), most = MOST_THREADS * HELD, fit = sett__round_up((o->cols + HELD - 1) / HELD, 32), all = sett__round_up((o->cols + vec - 1) / vec, 32);
    if (o->cols > most)
        REFUSE(c, ".cols is %d: with .quantise 3 at most %d, the row that a block holds", o->cols, most);
    if (*c->why)
        return;
    sett__either(threads, fit > 128 ? fit : all < 128 ? all : 128);
    sett__whole_warps(c, *threads);
    const int parts = *c->why ? 1 : sett__row_parts(o->dtype, o->cols, *threads);
    sett__either(vectors, parts);
    if (*vectors != parts)
        REFUSE(c, ".vectors_per_thread is %d: with .quantise 3 a block has a whole row, and %d threads make %d", *vectors, *threads, parts);
}

void sett__settle_pieces(choice *c, const quantised_options *o, int *threads, int *vectors)
{
    enum { USUAL = 256 };
    const int accesses = *c->why ? 1 : (o->cols + sett__vec(o->dtype) - 1) / sett__vec(o->dtype);
    if (*c->why)
        return;
    if (o->how == SETT_QUANTISED_ROWS) {
        settle_rows(c, o, threads, vectors);
        return;
    }
    sett__either(threads, accesses < USUAL ? sett__round_up(accesses, 32) : USUAL);
    sett__whole_warps(c, *threads);
    sett__either(vectors, 1);
    sett__in_range(c, "vectors_per_thread", *vectors, 1, 16);
}

row_shape sett__begin_pieces(sett_build *b, const quantised *q, sett_val *M, int threads, int vectors, int no_pdl, sett_val **row)
{
    const int pieces = sett__row_parts(q->of.dtype, q->of.cols, threads * vectors);
    sett_grid(b, sett_mul(M, pieces));
    sett_block(b, threads);
    sett__begin(b, no_pdl);
    *row = sett_floordiv(sett_block_idx(b, 0), pieces);
    return sett__row_piece(b, q->of.dtype, q->of.cols, threads, vectors, pieces > 1 ? SETT_A(sett_mod(sett_block_idx(b, 0), pieces)) : sett_arg_i(0), sett_thread_idx(b, 0));
}

/* ---- what goes out -------------------------------------------------------------------------------------- */
quantised sett__quantised(const quantised_options *o, sett_build *b, sett_val *M)
{
    quantised q = {.of = *o, .Y = sett_param(b, "Y", o->out, sett_row_major(b, M, o->cols), .align = 16)};
    if (o->how == SETT_QUANTISED_TENSOR)
        q.QS = sett_param(b, "QS", SETT_F32, sett_make_layout(b, T1(1)));
    else if (o->how == SETT_QUANTISED_ROWS)
        q.SD = sett_param(b, "SD", SETT_F32, sett_make_layout(b, T1(M)));
    else if (o->how == SETT_QUANTISED_BLOCKS)
        q.SD = sett_param(b, "SD", SETT_F32, sett_make_layout(b, T(M, (o->cols + BLOCK - 1) / BLOCK), T(1, sett_sym(b, "LSD"))));
    return q;
}

/* What a row's elements are multiplied by, and its scale. */
static sett_val *by_row(const quantised *q, const row_shape *s, sett_val *row, sett_val *x)
{
    const double greatest = sett__greatest(q->of.out);
    sett_val *most = sett_max(sett__over_row(s, sett_reduce(sett_abs(x), SETT_MAX, 0.0), SETT_MAX), SETT__LEAST_BLOCK);
    sett_if (s->b, sett_eq(s->thread, 0))
        sett_set(q->SD, sett_div(most, greatest), row);
    return sett_mul(x, sett_div(greatest, most));
}

/* The same of each 128 columns, which so many lanes have. */
static sett_val *by_block(const quantised *q, const row_shape *s, sett_val *row, sett_val *x)
{
    const double greatest = sett__greatest(q->of.out);
    const int lanes = BLOCK / s->vec, blocks = s->threads / lanes;
    const sett_arg shape = sett_arg_keep(s->b, sett_val_shape(x));
    sett_val *each = sett_reshape(x, T(s->vec, s->rest));
    sett_val *most = sett_max(sett_warp_reduce(sett_reduce_by(sett_abs(each), SETT_MAX, 0.0, T(1, ALL)), SETT_MAX, lanes), SETT__LEAST_BLOCK);
    sett_layout *apart = sett_make_layout(s->b, T(blocks, s->rest), T(1, blocks));
    sett_tensor *scales = sett_slice(q->SD, row, ALL), *at = sett_identity_tensor(s->b, T1((s->cols + BLOCK - 1) / BLOCK)), *of[] = {scales, at};
    for (int i = 0; i < 2; i++)
        of[i] = sett__part(of[i], s->piece, blocks * s->rest, apart, sett_floordiv(s->thread, lanes));
    sett_store(of[0], sett_div(most, greatest), .pred = sett_and(sett_elem_less(of[1], T1((s->cols + BLOCK - 1) / BLOCK)), sett_eq(sett_mod(s->thread, lanes), 0)));
    return sett_reshape(sett_mul(each, sett_reshape(sett_div(greatest, most), T(1, s->rest))), shape);
}

void sett__store_row(const quantised *q, const row_shape *s, const row_place *p, sett_val *row, sett_val *x)
{
    switch (q->of.how) {
    case SETT_QUANTISED_TENSOR:
        x = sett_mul(x, sett_at(q->QS, 0));
        break;
    case SETT_QUANTISED_BLOCKS:
        x = by_block(q, s, row, x);
        break;
    case SETT_QUANTISED_ROWS:
        x = by_row(q, s, row, x);
        break;
    default:
        break;
    }
    sett_val *y = q->of.out == SETT_I8 ? sett_to(sett_roundeven(x), SETT_I8) : sett_to(x, q->of.out);
    sett__row_put(s, p, sett_slice(q->Y, row, ALL), y);
}
