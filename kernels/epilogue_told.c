/* SPDX-License-Identifier: Apache-2.0 */
/* What an epilogue tells of all values: the greatest, and sums and maxima of rows and columns, by atomics. */
#include "epilogue.h"
#include <limits.h>
#include <math.h>

enum { WARP = 32 };

const along sett__alongs[ALONG] = {{"ROWSUM", true, SETT_ADD}, {"COLSUM", false, SETT_ADD}, {"ROWMAX", true, SETT_MAX}, {"COLMAX", false, SETT_MAX}};

sett_tensor *sett__as_bits(sett_tensor *t)
{
    return sett_recast_tensor(t, SETT_I32);
}

void sett__epilogue_end(const terms *s)
{
    if (!s->most)
        return;
    sett_val *x = sett_warp_reduce(sett_at(s->most, 0), SETT_MAX, WARP);
    sett_if (s->b, sett_and(sett_eq(sett_lane_idx(s->b), 0), sett_gt(x, 0)))
        sett_atomic_max(sett__as_bits(s->to.AMAX), x, 0);
}

/* A number for each row, or column, that a thread has, and where it goes. */
typedef struct told {
    sett_tensor *to;
    sett_val *x;
    sett_arg each; /* the coordinate, in the thread's part of the tile, by which `to` is a slice of the whole vector */
} told;

/* Of the values x; whole: of a vector that is spread over (M,N), or over the tile, this thread's part; lanes: those that have the same of its elements. */
static told gather(const terms *s, sett_tensor *whole, sett_val *x, sett_binary_op op, sett_arg least, int lanes)
{
    told t = {.each = sett__distinct(s->b, sett_stride(whole))};
    t.to = sett_slice(whole, t.each), t.x = sett_reduce_by(x, op, least, t.each);
    for (int bit = 1; bit < WARP; bit *= 2)
        if (lanes & bit) {
            sett_val *other = sett_shuffle_sync_bfly(t.x, bit, WARP);
            t.x = op == SETT_ADD ? sett_add(t.x, other) : sett_max(t.x, other);
        }
    return t;
}

/* One of the lanes does. */
static void tell_by(const terms *s, sett_tensor *to, sett_atomic_op op, sett_val *x, sett_val *tells, int lanes)
{
    if (lanes)
        tells = sett_and(tells, sett_eq(sett_and(sett_lane_idx(s->b), lanes), 0));
    if (sett_rank(x))
        sett_atomic_if(sett_reshape(tells, sett_shape(to)), to, op, sett_reshape(x, sett_shape(to)), ALL);
    else
        sett_atomic_if(tells, to, op, x, 0);
}

/* Of |x|; 0, which is below all, past the edges. */
static sett_val *bits_of(sett_val *x, sett_val *in)
{
    return sett_where(in, sett_and(sett_bitcast(x, SETT_I32), INT_MAX), 0);
}

/* part: this thread's of Int32 that are spread by rows. */
static void tell_rows_amax(const terms *s, const sett_epilogue_tile *at, sett_tensor *part, sett_val *bits)
{
    const told t = gather(s, part, bits, SETT_MAX, sett_arg_i(0), at->same_rows);
    tell_by(s, t.to, SETT_ATOMIC_MAX, t.x, sett_gt(t.x, 0), at->same_rows);
}

static void tell_amax(const terms *s, const sett_epilogue_tile *at, sett_val *x, sett_val *in)
{
    sett_val *bits = bits_of(x, in);
    if (s->most)
        sett_set(s->most, sett_max(sett_at(s->most, 0), sett_reduce(bits, SETT_MAX, 0)), 0);
    else
        tell_rows_amax(s, at, sett_epilogue_partition(at, s->amax), bits);
}

/* Floats of one sign are in the order of their bits, negative ones in the other one; as Int32 those are below these, as Uint32 above. */
static void tell_greatest(const terms *s, const told *t, sett_val *inside, int lanes)
{
    sett_val *bits = sett_where(sett_eq(t->x, t->x), sett_bitcast(t->x, SETT_I32), INT_MAX), *negative = sett_lt(bits, 0);
    tell_by(s, sett__as_bits(t->to), SETT_ATOMIC_MAX, bits, sett_and(inside, sett_not(negative)), lanes);
    tell_by(s, sett_recast_tensor(t->to, SETT_U32), SETT_ATOMIC_MIN, sett_bitcast(bits, SETT_U32), sett_and(inside, negative), lanes);
}

static void tell_along(const terms *s, const sett_epilogue_tile *at, int i, sett_val *x, sett_val *in)
{
    const bool sum = sett__alongs[i].op == SETT_ADD;
    const int lanes = sett__alongs[i].by_row ? at->same_rows : at->column_lanes;
    const double least = sum ? 0 : -INFINITY;
    const told t = gather(s, sett_epilogue_partition(at, s->along[i]), sett_where(in, x, least), sett__alongs[i].op, sett_arg_f(least), lanes);
    const sett_arg m = sett__alongs[i].by_row ? sett_get(s->extent, 0) : sett_arg_i(INT_MAX), n = sett__alongs[i].by_row ? sett_arg_i(INT_MAX) : sett_get(s->extent, 1);
    sett_val *inside = sett_elem_less(sett_slice(sett_epilogue_partition(at, s->crd), t.each), sett_tuple(s->b, m, n));
    inside = sett_rank(t.x) ? sett_reshape(inside, sett_shape(t.x)) : inside;
    if (sum)
        tell_by(s, t.to, SETT_ATOMIC_ADD, t.x, inside, lanes);
    else
        tell_greatest(s, &t, inside, lanes);
}

void sett__epilogue_tell(const terms *s, const sett_epilogue_tile *at, sett_val *x, sett_val *in)
{
    if (s->to.AMAX)
        tell_amax(s, at, sett_to(x, SETT_F32), in);
    if (s->block_most)
        tell_rows_amax(s, at, at->partition_tile(at, s->block_most), bits_of(sett_to(x, SETT_F32), in));
    for (int i = 0; i < ALONG; i++)
        if (s->along[i])
            tell_along(s, at, i, sett_to(x, SETT_F32), in);
}
