/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that begin at multiples of 16 bytes are tiles like any other. Others are cut where those multiples lie: threads have accesses of 16 bytes inside of
 * the row, and of the elements before the first and behind the last of these one each, a lane an element. So no access goes element by element, and
 * none waits in a branch of its own for what it loads. */
#include "rowwise.h"

row_shape sett__row_piece(sett_build *b, sett_dtype dtype, int cols, int threads, int rest, sett_arg piece, sett_val *thread)
{
    const int vec = sett__vec(dtype);
    return (row_shape){.b = b, .dtype = dtype, .cols = cols, .threads = threads, .vec = vec, .rest = rest, .all = vec * rest * threads, .piece = piece,
        .even = cols % vec == 0, .wide = sett__wide(b, threads, vec, rest), .thread = thread};
}

row_shape sett__row_shape(sett_build *b, sett_dtype dtype, int cols, int threads, sett_val *thread)
{
    return sett__row_piece(b, dtype, cols, threads, sett__row_parts(dtype, cols, threads), sett_arg_i(0), thread);
}

static sett_tensor *part(const row_shape *s, sett_tensor *t)
{
    return sett__part(t, s->piece, s->all, s->wide, s->thread);
}

sett_tensor *sett__row_part(const row_shape *s, sett_tensor *row)
{
    return part(s, row);
}

/* ---- where a row begins -------------------------------------------------------------------------------- */
/* The view from the multiple of an access's bytes on that is at or below the row's first element. */
static sett_peeled peeled(const row_shape *s, sett_tensor *row)
{
    return sett_peel(row, s->vec * sett__bytes_of(sett_tensor_dtype(row)));
}

/* The access that a thread has as its `i`th, counted from the first that lies inside of the row. */
static sett_val *number_of(const row_shape *s, int i)
{
    sett_val *first = sett_add(s->thread, i * s->threads);
    return s->piece.kind == SETT_INT ? first : sett_add(sett_value(s->b, sett_mul(s->piece, s->rest * s->threads)), first);
}

/* Elements of the access that the row begins in, where it begins inside of one, and of the one that it ends in: each of a thread of its own. */
static void find_edge(const row_shape *s, row_place *p, sett_val *skip, sett_val *end)
{
    sett_val *t = s->thread, *tail = sett_sub(end, sett_and(end, s->vec - 1)), *first = sett_lt(t, s->vec);
    sett_val *of_head = sett_and(sett_and(sett_gt(skip, 0), sett_ge(t, skip)), sett_lt(t, end));
    sett_val *at_tail = sett_add(sett_sub(t, s->vec), tail), *in_tail = sett_and(sett_lt(at_tail, end), sett_or(sett_gt(tail, 0), sett_eq(skip, 0)));
    p->edge = sett_where(first, t, at_tail);
    p->on_edge = sett_and(sett_where(first, of_head, in_tail), sett_lt(t, 2 * s->vec));
    if (s->piece.kind != SETT_INT)
        p->on_edge = sett_and(p->on_edge, sett_eq(sett_value(s->b, s->piece), 0));
}

row_place sett__row_place(const row_shape *s, sett_tensor *row)
{
    row_place p = {.skip = peeled(s, row).skip};
    if (s->even) {
        p.in = sett_elem_less(part(s, sett_identity_tensor(s->b, T1(s->cols))), T1(s->cols));
        return p;
    }
    sett_val *skip = sett_value(s->b, p.skip), *end = sett_add(skip, s->cols), *before = sett_where(sett_gt(skip, 0), 1, 0);
    p.first = sett_mul(before, s->vec);
    p.accesses = sett_sub(sett_floordiv(end, s->vec), before);
    find_edge(s, &p, skip, end);
    return p;
}

/* Whether an access lies inside; NULL: it does wherever the row begins. */
static sett_val *inside(const row_shape *s, const row_place *p, int i)
{
    const bool always = s->piece.kind == SETT_INT && (i + 1) * s->threads <= (s->cols - s->vec + 1) / s->vec;
    return always ? NULL : sett_lt(number_of(s, i), p->accesses);
}

static sett_tensor *access(const row_shape *s, sett_tensor *from_first, int i)
{
    return sett_local_tile(from_first, T1(s->vec), T1(number_of(s, i)));
}

/* ---- loads, stores ---------------------------------------------------------------------------------------- */
/* A thread's elements of a row that begins anywhere: those of its accesses, then that of an edge. */
static sett_tensor *elements(const row_shape *s, sett_dtype t)
{
    return sett_make_rmem_tensor(s->b, t, s->rest * s->vec + 1);
}

static sett_tensor *of_access(const row_shape *s, sett_tensor *elements_, int i)
{
    return sett_local_tile(elements_, T1(i < s->rest ? s->vec : 1), T1(i < s->rest ? i : s->rest * s->vec));
}

sett_val *sett__row_get(const row_shape *s, const row_place *p, sett_tensor *row, double fill)
{
    if (s->even)
        return sett_load(part(s, row), .pred = p->in, .fill = fill);
    sett_tensor *x = elements(s, sett_tensor_dtype(row)), *view = peeled(s, row).tensor, *from = sett_domain_offset(view, T1(p->first));
    for (int i = 0; i < s->rest; i++)
        sett_store(of_access(s, x, i), sett_load(access(s, from, i), .pred = inside(s, p, i), .fill = fill));
    sett_store(of_access(s, x, s->rest), sett_load(sett_local_tile(view, T1(1), T1(p->edge)), .pred = p->on_edge, .fill = fill));
    return sett_load(x);
}

void sett__row_put(const row_shape *s, const row_place *p, sett_tensor *row, sett_val *v)
{
    if (s->even) {
        sett_store(part(s, row), v, .pred = p->in);
        return;
    }
    sett_tensor *x = elements(s, sett_val_dtype(v)), *view = peeled(s, row).tensor, *from = sett_domain_offset(view, T1(p->first));
    sett_store(x, v);
    for (int i = 0; i < s->rest; i++)
        sett_store(access(s, from, i), sett_load(of_access(s, x, i)), .pred = inside(s, p, i));
    sett_store(sett_local_tile(view, T1(1), T1(p->edge)), sett_load(of_access(s, x, s->rest)), .pred = p->on_edge);
}

sett_val *sett__row_only(const row_shape *s, const row_place *p, sett_val *v)
{
    if (s->even)
        return s->cols < s->all ? sett_where(p->in, v, 0.0) : v;
    sett_tensor *x = elements(s, sett_val_dtype(v));
    sett_store(x, v);
    for (int i = 0; i <= s->rest; i++) {
        sett_val *in = i < s->rest ? inside(s, p, i) : p->on_edge;
        if (in)
            sett_store(of_access(s, x, i), sett_where(in, sett_load(of_access(s, x, i)), 0.0));
    }
    return sett_load(x);
}

sett_val *sett__row_load(const row_shape *s, const row_place *p, sett_tensor *X, sett_tensor *R, sett_tensor *H, sett_val *row)
{
    sett_val *v = sett_to(sett__row_get(s, p, sett_slice(X, row, ALL), 0), SETT_F32);
    if (!R)
        return v;
    sett_val *h = sett_to(sett_add(v, sett_to(sett__row_get(s, p, sett_slice(R, row, ALL), 0), SETT_F32)), s->dtype);
    sett__row_put(s, p, sett_slice(H, row, ALL), h);
    return sett_to(h, SETT_F32);
}

/* ---- vectors that begin elsewhere ---------------------------------------------------------------------- */
enum { WORDS = 4 /* of an access */ };

/* Of the elements of an access and the one behind it those from element `by` on: by steps of 2 words, of 1, and of half of one. */
static sett_val *between(const row_shape *s, sett_val *low, sett_val *high, sett_val *by)
{
    const bool halves = sett__bytes_of(s->dtype) == 2;
    sett_val *word[2 * WORDS], *from = halves ? sett_shr(by, 1) : by;
    low = sett_bitcast(low, SETT_U32), high = sett_bitcast(high, SETT_U32);
    for (int i = 0; i < WORDS; i++)
        word[i] = sett_element(low, i), word[WORDS + i] = sett_element(high, i);
    for (int step = 2, n = WORDS + 2; step; step /= 2, n--) {
        sett_val *on = sett_ne(sett_and(from, step), 0);
        for (int i = 0; i < n; i++)
            word[i] = sett_where(on, word[i + step], word[i]);
    }
    sett_tensor *to = sett_make_rmem_tensor(s->b, SETT_U32, WORDS);
    for (int i = 0; i < WORDS; i++)
        sett_set(to, halves ? sett_shf_r(word[i], word[i + 1], sett_mul(sett_and(by, 1), 16)) : word[i], i);
    return sett_bitcast(sett_load(to), s->dtype);
}

/* The access behind: the last of a vector is not whole, and is loaded by element. */
static sett_val *load_behind(const row_shape *s, const row_place *p, sett_peeled own, sett_val *number, int i)
{
    const bool whole = s->piece.kind == SETT_INT && ((i + 1) * s->threads + 2) * s->vec <= s->cols;
    const sett_arg end = sett_add(own.skip, s->cols);
    sett_val *in = inside(s, p, i), *less = sett_elem_less(sett_local_tile(sett_identity_tensor(s->b, T1(end)), T1(s->vec), T1(number)), T1(end));
    return sett_load(sett_local_tile(own.tensor, T1(s->vec), T1(number)), .pred = whole ? in : in ? sett_and(less, in) : less);
}

sett_val *sett__row_beside(const row_shape *s, const row_place *p, sett_tensor *vector)
{
    if (s->even)
        return sett_load(part(s, vector), .pred = p->in);
    const sett_peeled own = sett_peel(vector, 16);
    sett_val *skip = sett_value(s->b, p->skip), *off = sett_sub(sett_add(sett_value(s->b, own.skip), p->first), skip), *by = sett_and(off, s->vec - 1), *from = sett_floordiv(off, s->vec);
    sett_tensor *x = elements(s, s->dtype);
    for (int i = 0; i < s->rest; i++) {
        sett_val *number = sett_add(number_of(s, i), from), *low = sett_load(sett_local_tile(own.tensor, T1(s->vec), T1(number)), .pred = inside(s, p, i));
        sett_store(of_access(s, x, i), between(s, low, load_behind(s, p, own, sett_add(number, 1), i), by));
    }
    sett_store(of_access(s, x, s->rest), sett_load(sett_local_tile(vector, T1(1), T1(sett_sub(p->edge, skip))), .pred = p->on_edge));
    return sett_load(x);
}

sett_val *sett__over_row(const row_shape *s, sett_val *x, sett_binary_op op)
{
    return s->threads > 32 ? sett_block_reduce(x, op) : sett_warp_reduce(x, op, 32);
}
