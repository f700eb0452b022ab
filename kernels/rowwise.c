/* SPDX-License-Identifier: Apache-2.0 */
/* A row goes out as it is, by a scale that is given, by its own largest, or by that of each 128 columns. The threads that have such a block are
 * neighbours in one warp, so that its largest takes shuffles alone. */
#include "rowwise.h"

enum { BLOCK = 128 };

double sett__greatest(sett_dtype t)
{
    return t == SETT_F8E4M3FN ? 448 : t == SETT_F8E5M2 ? 57344 : 127;
}

/* ---- rows -------------------------------------------------------------------------------------------- */
static row_shape shape_of(sett_build *b, sett_dtype dtype, int cols, int threads, int rest, sett_arg piece, sett_val *thread)
{
    const int vec = sett__vec(dtype);
    return (row_shape){.b = b, .dtype = dtype, .cols = cols, .threads = threads, .vec = vec, .rest = rest, .all = vec * rest * threads, .piece = piece,
        .wide = sett__wide(b, threads, vec, rest), .thread = thread};
}

row_shape sett__row_shape(sett_build *b, sett_dtype dtype, int cols, int threads, sett_val *thread)
{
    return shape_of(b, dtype, cols, threads, sett__row_parts(dtype, cols, threads), sett_arg_i(0), thread);
}

static sett_tensor *part(const row_shape *s, sett_tensor *t)
{
    return sett__part(t, s->piece, s->all, s->wide, s->thread);
}

row_place sett__row_place(const row_shape *s, sett_tensor *row)
{
    const sett_arg skip = sett_peel(row, s->vec * sett__bytes_of(sett_tensor_dtype(row))).skip, end = sett_add(skip, s->cols);
    sett_tensor *at = part(s, sett_identity_tensor(s->b, T1(end)));
    return (row_place){.skip = skip, .in = sett_and(sett_elem_at_least(at, T1(skip)), sett_elem_less(at, T1(end)))};
}

sett_tensor *sett__row_part(const row_shape *s, sett_tensor *row)
{
    return part(s, sett_peel(row, s->vec * sett__bytes_of(sett_tensor_dtype(row))).tensor);
}

sett_val *sett__row_load(const row_shape *s, const row_place *p, sett_tensor *X, sett_tensor *R, sett_tensor *H, sett_val *row)
{
#define MINE(t_) sett__row_part(s, sett_slice(t_, row, ALL))
    sett_val *v = sett_to(sett_load(MINE(X), .pred = p->in), SETT_F32);
    if (!R)
        return v;
    sett_val *h = sett_to(sett_add(v, sett_to(sett_load(MINE(R), .pred = p->in), SETT_F32)), s->dtype);
    sett_store(MINE(H), h, .pred = p->in);
    return sett_to(h, SETT_F32);
#undef MINE
}

/* ---- vectors that begin elsewhere ---------------------------------------------------------------------- */
enum { WORDS = 4 /* of an access */ };

/* Words of each access, and of the one behind it, of which those from element `by` on are wanted: shifted by 2 words, by 1, and by half of one. */
static sett_val *between(const row_shape *s, sett_val *low, sett_val *high, sett_val *by)
{
    const bool halves = sett__bytes_of(s->dtype) == 2;
    const sett_arg words = sett_arg_keep(s->b, T(WORDS, s->rest)), shape = sett_arg_keep(s->b, sett_val_shape(low));
    sett_val *word[2 * WORDS], *from = halves ? sett_shr(by, 1) : by;
    low = sett_reshape(sett_bitcast(low, SETT_U32), words), high = sett_reshape(sett_bitcast(high, SETT_U32), words);
    for (int i = 0; i < WORDS; i++)
        word[i] = sett_element(low, i, ALL), word[WORDS + i] = sett_element(high, i, ALL);
    for (int step = 2, n = WORDS + 2; step; step /= 2, n--) {
        sett_val *on = sett_ne(sett_and(from, step), 0);
        for (int i = 0; i < n; i++)
            word[i] = sett_where(on, word[i + step], word[i]);
    }
    sett_tensor *to = sett_make_rmem_tensor(s->b, SETT_U32, WORDS, s->rest);
    for (int i = 0; i < WORDS; i++)
        sett_store(sett_slice(to, i, ALL), halves ? sett_shf_r(word[i], word[i + 1], sett_mul(sett_and(by, 1), 16)) : word[i]);
    return sett_reshape(sett_bitcast(sett_load(to), s->dtype), shape);
}

sett_val *sett__row_beside(const row_shape *s, const row_place *p, sett_tensor *vector)
{
    const sett_peeled own = sett_peel(vector, 16);
    if (p->skip.kind == SETT_INT && own.skip.kind == SETT_INT)
        return sett_load(part(s, own.tensor), .pred = p->in);
    /* Element k of an access is element k + off of the view; the access before it where that is negative. */
    sett_val *off = sett_value(s->b, sett_sub(own.skip, p->skip)), *by = sett_and(off, s->vec - 1), *whole = sett_sub(off, by);
    const sett_arg end = sett_add(own.skip, s->cols);
    sett_val *v[2];
    for (int i = 0; i < 2; i++) {
        const sett_arg from = SETT_A(sett_mul(sett_add(sett_floordiv(whole, s->vec), i), s->vec));
        sett_tensor *at = part(s, sett_domain_offset(sett_identity_tensor(s->b, T1(end)), T1(from)));
        sett_val *in = sett_and(sett_elem_at_least(at, T1(own.skip)), sett_elem_less(at, T1(end)));
        v[i] = sett_load(part(s, sett_domain_offset(own.tensor, T1(from))), .pred = in);
    }
    return between(s, v[0], v[1], by);
}

/* ---- quantised rows ------------------------------------------------------------------------------------ */
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
    if (o->how)
        sett__whole_warps(c, *threads);
    sett__in_range(c, "threads", *threads, 1, MOST_THREADS);
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
    return shape_of(b, q->of.dtype, q->of.cols, threads, vectors, SETT_A(sett_mod(sett_block_idx(b, 0), pieces)), sett_thread_idx(b, 0));
}

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

sett_val *sett__over_row(const row_shape *s, sett_val *x, sett_binary_op op)
{
    return s->threads > 32 ? sett_block_reduce(x, op) : sett_warp_reduce(x, op, 32);
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
    sett_store(sett__row_part(s, sett_slice(q->Y, row, ALL)), y, .pred = p->in);
}
