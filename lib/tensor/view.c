/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors as views: a root (memory, or a coordinate origin), an offset and a layout.
 *
 * A view never moves data. Slicing a plain layout adds the fixed modes to the tensor's
 * offset; slicing a swizzled or composed layout adds them to the layout's own offset,
 * since only there they pass through the inner function. */
#include "tensor.h"
#include <string.h>

static sett_tensor *bad(const sett_tensor *t)
{
    sett_build *b = sett__home(t);
    return b ? &b->poison->tensor : NULL;
}

sett_tensor *sett__view(const sett_tensor *t, sett_layout *l, sett_arg offset)
{
    if (!l || l->head.poison || offset.kind == SETT_POISON)
        return bad(t);
    sett_tensor *r = sett__new_object(t->head.b, SETT__K_TENSOR, sizeof *r);
    sett__head head = r->head;
    *r = *t;
    r->head = head;
    r->layout = l;
    r->offset = offset;
    r->logical = false;
    return r;
}

/* coord with its dynamic leaves, or all others, replaced by 0. */
static sett_arg part(sett_build *b, sett_arg a, bool dynamic)
{
    if (a.kind != SETT_NODE)
        return (a.kind == SETT_VALUE) == dynamic && a.kind != SETT_SLICE ? a : sett_arg_i(0);
    sett_arg *kid = sett__new(b, a.rank * sizeof *kid);
    for (int i = 0; i < a.rank; i++)
        kid[i] = part(b, a.u.kid[i], dynamic);
    return sett_arg_n(a.rank, kid);
}

bool sett__has_value(sett_arg a)
{
    bool any = a.kind == SETT_VALUE;
    for (int i = 0; a.kind == SETT_NODE && i < a.rank && !any; i++)
        any = sett__has_value(a.u.kid[i]);
    return any;
}

static int64_t size_of(sett_arg shape) /* of a static shape; 0: dynamic, or past 2^63 */
{
    int64_t n = 1;
    if (shape.kind != SETT_NODE)
        return shape.kind == SETT_INT ? shape.u.i : 0;
    for (int i = 0; i < shape.rank; i++)
        if (__builtin_mul_overflow(n, size_of(shape.u.kid[i]), &n))
            return 0;
    return n;
}

/* Sum of the static strides: coordinate c < 2^31 moves by at most c times this. */
static double stride_sum(sett_arg stride)
{
    double sum = stride.kind == SETT_INT ? (stride.u.i < 0 ? -(double)stride.u.i : (double)stride.u.i) : 0;
    for (int i = 0; stride.kind == SETT_NODE && i < stride.rank; i++)
        sum += stride_sum(stride.u.kid[i]);
    return sum;
}

/* Coordinates into a wide parameter whose static strides can carry them past 2^31 become
 * 64-bit; the others stay 32-bit and are added to the 64-bit part by themselves. (Dynamic
 * strides of a wide parameter are 64-bit already: sett__param_tensor.) */
static sett_arg widen(const sett__ctx *c, sett_arg coord, sett_arg stride)
{
    if (coord.kind == SETT_NODE) {
        sett_arg *kid = sett__new(c->b, coord.rank * sizeof *kid);
        for (int i = 0; i < coord.rank; i++)
            kid[i] = widen(c, coord.u.kid[i], stride.kind == SETT_NODE && i < stride.rank ? stride.u.kid[i] : stride);
        return sett_arg_n(coord.rank, kid);
    }
    if (coord.kind != SETT_VALUE || sett__dtype_bytes((sett_dtype)coord.u.v->dtype) == 8)
        return coord;
    double most = coord.u.v->lo < 0 ? 2147483648.0 : (double)coord.u.v->hi;
    if (most * stride_sum(stride) < 2147483648.0)
        return coord;
    return sett_arg_v(sett_to_at(c->site, coord.u.v, SETT_I64));
}

/* Are its offsets 64-bit? */
static bool tensor_wide(const sett_tensor *t)
{
    return t->wide || (t->param >= 0 && t->head.b->sig.param[t->param].wide);
}

/* Leaf by leaf: *constant takes what is static, the return value sums the rest. False in *ok: an integer
 * coordinate of a nested mode or a basis stride, which crd2idx knows about. */
static sett_arg leafwise(
    const sett__ctx *c, sett_arg coord, sett_arg shape, sett_arg stride, sett_arg sum, int64_t *constant, bool *ok)
{
    int64_t k;
    if (coord.kind == SETT_SLICE || !*ok)
        return sum;
    if (coord.kind == SETT_NODE) {
        for (int i = 0; i < coord.rank; i++)
            sum = leafwise(c, coord.u.kid[i], shape.u.kid[i], stride.u.kid[i], sum, constant, ok);
        return sum;
    }
    while (shape.kind == SETT_NODE && shape.rank == 1 && stride.kind == SETT_NODE) {
        shape = shape.u.kid[0];
        stride = stride.u.kid[0];
    }
    if (shape.kind == SETT_NODE || stride.kind == SETT_NODE || stride.path) {
        *ok = false;
        return sum;
    }
    if (coord.kind != SETT_INT || stride.kind != SETT_INT)
        return sett__add_offset(c, sum, sett__mul(c, coord, stride));
    *ok = !__builtin_mul_overflow(coord.u.i, stride.u.i, &k) && !__builtin_add_overflow(*constant, k, constant);
    return sum;
}

/* How far coord (ALL counts as 0) lies from the tensor's start; of a layout with an inner
 * function, before that function. */
static sett_arg distance(const sett__ctx *c, const sett_tensor *t, sett_arg coord)
{
    const sett_layout *l = t->layout;
    int64_t constant = 0;
    bool ok = true;
    if (tensor_wide(t))
        coord = widen(c, coord, l->stride);
    sett_arg sum = leafwise(c, coord, l->shape, l->stride, sett_arg_i(0), &constant, &ok);
    if (ok)
        return sett__add_offset(c, sum, sett_arg_i(constant));
    sett_arg still = sett__crd2idx(c, part(c->b, coord, false), l->shape, l->stride);
    if (!sett__has_value(coord))
        return still;
    return sett__add_offset(c, sett__crd2idx(c, part(c->b, coord, true), l->shape, l->stride), still);
}

/* coord against shape: profile, and static leaves against static extents. */
static bool check_coord(
    const sett__ctx *c, const sett_tensor *t, sett_arg coord, sett_arg shape, bool slices, bool ranges)
{
    sett_build *b = c->b;
    if (coord.kind == SETT_NODE) {
        SETT__FAIL_IF(b, c->site, c->func, shape.kind != SETT_NODE || shape.rank != coord.rank, false, SETT_E_RANK,
            "coordinate %s does not fit mode %s of %s", sett__arg_text(b, coord), sett__arg_text(b, shape),
            sett__tensor_text(b, t));
        for (int i = 0; i < coord.rank; i++)
            if (!check_coord(c, t, coord.u.kid[i], shape.u.kid[i], slices, ranges))
                return false;
        return true;
    }
    SETT__FAIL_IF(b, c->site, c->func, coord.kind == SETT_SLICE && !slices, false, SETT_E_ARGUMENT,
        "the coordinate of one element of %s has no _: sett_slice gives the tensor of the modes where _ stands", sett__tensor_text(b, t));
    if (coord.kind == SETT_INT && ranges) {
        int64_t n = size_of(shape);
        SETT__FAIL_IF(b, c->site, c->func, coord.u.i < 0 || (n && coord.u.i >= n), false, SETT_E_RANGE,
            "coordinate %lld is outside extent %s of %s", (long long)coord.u.i, sett__arg_text(b, shape),
            sett__tensor_text(b, t));
        return true;
    }
    bool integer = coord.kind == SETT_INT || coord.kind == SETT_SLICE ||
                   (coord.kind == SETT_VALUE && coord.u.v->n == 1 && sett__dtype_is_int((sett_dtype)coord.u.v->dtype));
    const bool number = coord.kind == SETT_VALUE && coord.u.v->n == 1 && sett__dtype_is_float((sett_dtype)coord.u.v->dtype);
    SETT__FAIL_IF(b, c->site, c->func, !integer, false, SETT_E_DTYPE, "a coordinate of %s is no integer%s%s%s", sett__tensor_text(b, t),
        number ? ": it is " : "", number ? sett_dtype_name((sett_dtype)coord.u.v->dtype) : "", number ? ", as sett_div gives it; sett_floordiv divides integers" : "");
    return true;
}

/* A value along a mode of stride 1, from the tensor's start: most often of what is a row of elements. It is the offset. */
static bool is_offset(const sett__ctx *c, const sett_tensor *t, sett_arg coord)
{
    sett_arg shape = t->layout->shape, stride = t->layout->stride;
    if (coord.kind != SETT_VALUE || coord.path || t->layout->has_inner || !sett__is_int(t->offset, 0) || tensor_wide(t) ||
        !coord.u.v || !sett__fine_val(c->b, coord.u.v))
        return false;
    while (shape.kind == SETT_NODE && shape.rank == 1 && stride.kind == SETT_NODE)
        shape = shape.u.kid[0], stride = stride.u.kid[0];
    const sett_val *v = coord.u.v;
    return shape.kind != SETT_NODE && sett__is_int(stride, 1) && v->scalar && (v->dtype == SETT_I32 || v->dtype == SETT_I64);
}

/* Offset of one element, inner function included. */
bool sett__element_offset(const sett__ctx *c, const sett_tensor *t, sett_arg coord, sett_arg *out)
{
    *out = coord;
    if (is_offset(c, t, coord))
        return true;
    if (!sett__use_arg(c->b, c->site, c->func, coord) || !check_coord(c, t, coord, t->layout->shape, false, true))
        return false;
    sett_arg at = t->layout->has_inner ? sett__layout_at(c, t->layout, coord) : distance(c, t, coord);
    *out = sett__add_offset(c, t->offset, at);
    return out->kind != SETT_POISON;
}

/* ---- the layout operations on tensors --------------------------------------------- */
/* Modes of its author's making: what it was of a product is no longer known. */
static sett_tensor *laid_anew(const sett_tensor *t, sett_layout *l)
{
    sett_tensor *r = sett__view(t, l, t->offset);
    if (r && !r->head.poison)
        r->fragment = NULL;
    return r;
}

#define TENSOR_OP(op) \
    sett_tensor *sett_##op##_tensor_at(sett_site site, const sett_tensor *t, sett_arg rhs) \
    { \
        if (!sett__use_tensor(SETT__HOME_OR(t, sett__build_of(rhs)), site, "sett_" #op, t)) \
            return bad(t); \
        return laid_anew(t, sett_##op##_layout_at(site, t->layout, rhs)); \
    }
TENSOR_OP(composition)
TENSOR_OP(logical_divide)
TENSOR_OP(zipped_divide)
TENSOR_OP(tiled_divide)
TENSOR_OP(flat_divide)
TENSOR_OP(dice)
TENSOR_OP(select)
TENSOR_OP(coalesce)

sett_tensor *sett_group_modes_tensor_at(sett_site site, const sett_tensor *t, int begin, int end)
{
    bool ok = sett__use_tensor(NULL, site, "sett_group_modes", t);
    return ok ? sett__view(t, sett_group_modes_at(site, t->layout, begin, end), t->offset) : bad(t);
}

sett_tensor *sett_flatten_tensor_at(sett_site site, const sett_tensor *t)
{
    bool ok = sett__use_tensor(NULL, site, "sett_flatten", t);
    return ok ? sett__view(t, sett_flatten_at(site, t->layout), t->offset) : bad(t);
}

sett_tensor *sett__slice(const sett__ctx *c, const sett_tensor *t, sett_arg coord)
{
    if (!check_coord(c, t, coord, t->layout->shape, true, true))
        return bad(t);
    sett_layout *l = sett_slice_layout_at(c->site, t->layout, coord);
    if (t->layout->has_inner)
        return sett__view(t, l, t->offset);
    sett_tensor *r = sett__view(t, l, sett__add_offset(c, t->offset, distance(c, t, coord)));
    if (c->b && c->b->tests && r && !r->head.poison) {
        r->logical = t->logical;
        r->fixed = sett__fixed_at(c->b, t, coord);
    }
    return r;
}

sett_tensor *sett_slice_tensor_at(sett_site site, const sett_tensor *t, sett_arg coord)
{
    if (!sett__use_tensor(SETT__HOME_OR(t, sett__build_of(coord)), site, "sett_slice", t) || !sett__use_arg(t->head.b, site, "sett_slice", coord))
        return bad(t);
    return sett__slice(&(sett__ctx){sett__home(t), site, "sett_slice"}, t, coord);
}

/* (a, b, _, _...): tuple of n, the first taken from coord. */
static sett_arg padded(sett_build *b, sett_arg coord, int n)
{
    sett_arg *kid = sett__new(b, (size_t)n * sizeof *kid);
    int given = coord.kind == SETT_NODE ? coord.rank : 0;
    for (int i = 0; i < n; i++)
        kid[i] = i < given ? coord.u.kid[i] : SETT_ALL;
    return sett_arg_n(n, kid);
}

/* Modes of mode i of a divided layout as a coordinate of that many ALLs. */
static sett_arg all_of(sett_build *b, sett_arg mode)
{
    return mode.kind == SETT_NODE ? padded(b, sett_arg_n(0, NULL), mode.rank) : SETT_ALL;
}

static sett_tensor *slice_pair(const sett__ctx *c, const sett_tensor *t, sett_arg first, sett_arg second)
{
    sett_arg *pair = sett__new(c->b, 2 * sizeof *pair);
    pair[0] = first;
    pair[1] = second;
    return sett__slice(c, t, sett_arg_n(2, pair));
}

/* sett_zipped_divide, with the caller's name in its errors. */
static sett_tensor *tiles_of(const sett__ctx *c, const sett_tensor *t, sett_arg tiler)
{
    return sett__view(t, sett__tiled(c->site, c->func, t->layout, tiler, sett__logical_divide, SETT__ZIPPED), t->offset);
}

sett_tensor *sett_local_tile_at(sett_site site, const sett_tensor *t, sett_arg tiler, sett_arg coord)
{
    const sett__ctx c = {SETT__HOME_OR(t, sett__build_of(coord)), site, "sett_local_tile"};
    if (!sett__use_tensor(c.b, site, c.func, t) || !sett__use_arg(c.b, site, c.func, tiler) ||
        !sett__use_arg(c.b, site, c.func, coord))
        return bad(t);
    sett_tensor *z = tiles_of(&c, t, tiler);
    if (z->head.poison)
        return z;
    sett_arg tile = z->layout->shape.u.kid[0], rest = z->layout->shape.u.kid[1];
    if (coord.kind == SETT_NODE && rest.kind == SETT_NODE) {
        SETT__FAIL_IF(c.b, site, c.func, coord.rank > rest.rank, bad(t), SETT_E_RANK,
            "coordinate %s has more modes than the tiles %s", sett__arg_text(c.b, coord), sett__arg_text(c.b, rest));
        coord = padded(c.b, coord, rest.rank);
    }
    return slice_pair(&c, z, all_of(c.b, tile), coord);
}

/* ---- projections: CuTe's Step, 1 or _ for each mode ----------------------------------------------- */
static bool marks(const sett__ctx *c, sett_arg all, sett_arg proj)
{
    for (int i = 0; proj.kind == SETT_NODE && i < proj.rank; i++)
        if (!marks(c, all, proj.u.kid[i]))
            return false;
    SETT__FAIL_IF(c->b, c->site, c->func, proj.kind != SETT_NODE && proj.kind != SETT_INT && proj.kind != SETT_SLICE, false,
        SETT_E_ARGUMENT, "%s in the projection %s: each mode is 1, which keeps it, or ALL", sett__arg_text(c->b, proj),
        sett__arg_text(c->b, all));
    return true;
}

/* A mode that is itself a tuple may have one mark. */
static bool projects(sett_arg proj, sett_arg x)
{
    bool ok = proj.kind != SETT_NODE || (x.kind == SETT_NODE && x.rank == proj.rank);
    for (int i = 0; ok && proj.kind == SETT_NODE && i < proj.rank; i++)
        ok = projects(proj.u.kid[i], x.u.kid[i]);
    return ok;
}

static int rank_of(sett_arg a)
{
    return a.kind == SETT_NODE ? a.rank : 1;
}

/* hint: what is to be written, where a number stands in the projection's place. */
static bool check_projection(const sett__ctx *c, sett_arg proj, const char *what, sett_arg x, const char *hint)
{
    bool number = proj.kind != SETT_NODE && rank_of(x) > 1;
    SETT__FAIL_IF(c->b, c->site, c->func, number || !projects(proj, x), false, SETT_E_RANK,
        "the projection %s has not the profile of the %s %s%s", sett__arg_text(c->b, proj), what, sett__arg_text(c->b, x),
        number ? hint : "");
    return marks(c, proj, proj);
}

/* ": the coordinate is T(0, 1)", of two arguments. */
static const char *one_coordinate(const sett__ctx *c, sett_arg coord, sett_arg next)
{
    char text[160];
    if (coord.kind == SETT_NODE)
        return "";
    snprintf(text, sizeof text, ": the coordinate is T(%.64s, %.64s)", sett__arg_text(c->b, coord), sett__arg_text(c->b, next));
    const char *kept = sett__arena_str(&c->b->arena, text);
    return kept ? kept : "";
}

sett_tensor *sett_local_tile_proj_at(sett_site site, const sett_tensor *t, sett_arg tiler, sett_arg coord, sett_arg proj)
{
    const sett__ctx c = {SETT__HOME_OR(t, sett__build_of(coord)), site, "sett_local_tile"};
    if (!sett__use_tensor(c.b, site, c.func, t) || !sett__use_arg(c.b, site, c.func, tiler) ||
        !sett__use_arg(c.b, site, c.func, coord) || !sett__use_arg(c.b, site, c.func, proj))
        return bad(t);
    if (!check_projection(&c, proj, "tiler", tiler, proj.kind == SETT_NODE ? "" : one_coordinate(&c, coord, proj)) ||
        !check_projection(&c, proj, "coordinate", coord, ""))
        return bad(t);
    sett_arg tile = sett__sieve(&c, proj, tiler, false), at = sett__sieve(&c, proj, coord, false);
    return sett__is_poison(tile) || sett__is_poison(at) ? bad(t) : sett_local_tile_at(site, t, tile, at);
}

/* One top mode of a thread layout: the colexicographic coordinate in it of thread idx. */
static sett_arg thread_coord(const sett__ctx *c, sett_arg shape, sett_arg stride, sett_arg idx, int64_t *size)
{
    sett_arg sum = sett_arg_i(0);
    if (shape.kind == SETT_NODE) {
        for (int i = 0; i < shape.rank; i++) {
            sett_arg kid = thread_coord(c, shape.u.kid[i], stride.u.kid[i], idx, size);
            sum = sett__add(c, sum, kid);
        }
        return sum;
    }
    int64_t scale = *size, d = shape.u.i, s = stride.u.i;
    *size *= d;
    if (s == 0 || d == 1)
        return sum;
    sett_arg q = sett__div(c, idx, sett_arg_i(s));
    bool bounded = idx.kind == SETT_VALUE && idx.u.v->lo >= 0 && idx.u.v->hi / s < d;
    return sett__mul(c, bounded ? q : sett__rem(c, q, sett_arg_i(d)), sett_arg_i(scale));
}

static bool check_threads(const sett__ctx *c, const sett_layout *threads, sett_arg idx)
{
    sett_build *b = c->b;
    SETT__FAIL_IF(b, c->site, c->func, threads->has_inner, false, SETT_E_ARGUMENT, "the thread layout %s is swizzled",
        sett__layout_text(b, threads));
    SETT__FAIL_IF(b, c->site, c->func, !sett__is_static(threads->shape) || !sett__is_static(threads->stride), false,
        SETT_E_STATIC, "the thread layout %s is not static: it says how many threads take part, in C integers",
        sett__layout_text(b, threads));
    bool integer = idx.kind == SETT_INT
                       ? idx.u.i >= 0
                       : idx.kind == SETT_VALUE && idx.u.v->n == 1 && sett__dtype_is_int((sett_dtype)idx.u.v->dtype);
    SETT__FAIL_IF(
        b, c->site, c->func, !integer, false, SETT_E_ARGUMENT, "the thread's index is no integer of at least 0");
    return true;
}

sett_tensor *sett_local_partition_at(sett_site site, const sett_tensor *t, const sett_layout *threads, sett_arg idx)
{
    const sett__ctx c = {SETT__HOME_OR(t, sett__build_of(sett_arg_l(threads))), site, "sett_local_partition"};
    if (!sett__use_tensor(c.b, site, c.func, t) || !sett__use_layout(c.b, site, c.func, threads) ||
        !sett__use_arg(c.b, site, c.func, idx) || !check_threads(&c, threads, idx))
        return bad(t);
    bool tuple = threads->shape.kind == SETT_NODE;
    int rank = tuple ? threads->shape.rank : 1;
    sett_arg *tiler = sett__new(c.b, (size_t)rank * sizeof *tiler),
             *coord = sett__new(c.b, (size_t)rank * sizeof *coord);
    for (int i = 0; i < rank; i++) {
        int64_t size = 1;
        coord[i] = thread_coord(&c, tuple ? threads->shape.u.kid[i] : threads->shape,
            tuple ? threads->stride.u.kid[i] : threads->stride, idx, &size);
        tiler[i] = sett_arg_i(size);
    }
    sett_tensor *z = tiles_of(&c, t, sett_arg_n(rank, tiler));
    if (z->head.poison)
        return z;
    sett_arg tile = z->layout->shape.u.kid[0], rest = z->layout->shape.u.kid[1];
    sett_arg at = tile.kind == SETT_NODE ? padded(c.b, sett_arg_n(rank, coord), tile.rank) : coord[0];
    return slice_pair(&c, z, at, all_of(c.b, rest));
}

sett_tensor *sett_local_partition_proj_at(
    sett_site site, const sett_tensor *t, const sett_layout *threads, sett_arg idx, sett_arg proj)
{
    const sett__ctx c = {SETT__HOME_OR(t, sett__build_of(sett_arg_l(threads))), site, "sett_local_partition"};
    if (!sett__use_tensor(c.b, site, c.func, t) || !sett__use_layout(c.b, site, c.func, threads) ||
        !sett__use_arg(c.b, site, c.func, idx) || !sett__use_arg(c.b, site, c.func, proj) ||
        !check_projection(&c, proj, "thread layout's shape", threads->shape, ""))
        return bad(t);
    return sett_local_partition_at(site, t, sett_dice_layout_at(site, threads, proj), idx);
}

sett_tensor *sett_domain_offset_at(sett_site site, const sett_tensor *t, sett_arg coord)
{
    const sett__ctx c = {SETT__HOME_OR(t, sett__build_of(coord)), site, "sett_domain_offset"};
    if (!sett__use_tensor(c.b, site, c.func, t) || !sett__use_arg(c.b, site, c.func, coord) ||
        !check_coord(&c, t, coord, t->layout->shape, false, false))
        return bad(t);
    sett_arg by = distance(&c, t, coord);
    if (!t->layout->has_inner)
        return sett__view(t, t->layout, sett__add_offset(&c, t->offset, by));
    sett_layout *l = sett__new_object(c.b, SETT__K_LAYOUT, sizeof *l);
    sett__head head = l->head;
    *l = *t->layout;
    l->head = head;
    l->seen = 0;
    l->offset = sett__add_offset(&c, t->layout->offset, by);
    return l->offset.kind == SETT_POISON ? bad(t) : sett__view(t, l, t->offset);
}

sett_arg sett__recast_offset(const sett__ctx *c, const sett_tensor *t, int from, int to)
{
    int64_t both = sett__gcd(from, to);
    int ratio = (int)(to / both);
    if (ratio == 1)
        return sett__mul(c, t->offset, sett_arg_i(from / to));
    SETT__FAIL_IF(c->b, c->site, c->func, sett__leaf_div(t->offset) % ratio, c->b->poison->arg, SETT_E_DIVIDE,
        "the offset %s of %s is not known to be a multiple of %d elements", sett__arg_text(c->b, t->offset),
        sett__tensor_text(c->b, t), ratio);
    return sett__mul(c, sett__div(c, t->offset, sett_arg_i(ratio)), sett_arg_i(from / both));
}

/* A launch checks that 32 bits count a parameter's elements, not those that they are cut into. */
static const sett_tensor *widened(const sett__ctx *c, const sett_tensor *t)
{
    if (t->layout->has_inner || t->space != SETT_GMEM || tensor_wide(t))
        return t;
    sett_layout *l = sett__layout(c->b, t->layout->shape, sett__widen(c, t->layout->stride));
    sett_tensor *r = sett__view(t, l, sett__widen(c, t->offset));
    if (!r->head.poison)
        r->wide = true;
    return r;
}

sett_tensor *sett_recast_tensor_at(sett_site site, const sett_tensor *t, sett_dtype dtype)
{
    const sett__ctx c = {sett__home(t), site, "sett_recast_tensor"};
    if (!sett__use_tensor(NULL, site, c.func, t) || !sett__check_element(&c, dtype))
        return bad(t);
    SETT__FAIL_IF(c.b, site, c.func, t->mbarrier, bad(t), SETT_E_SPACE, "%s are mbarriers, which no other type sees", t->name);
    SETT__FAIL_IF(c.b, site, c.func, t->space == SETT_COORD, bad(t), SETT_E_SPACE, "%s has no memory to recast",
        sett__tensor_text(c.b, t));
    int from = t->dtype == SETT_BOOL ? 8 : sett_dtype_bits((sett_dtype)t->dtype), to = dtype == SETT_BOOL ? 8 : sett_dtype_bits(dtype);
    if (from > to)
        t = widened(&c, t);
    if (t->head.poison)
        return bad(t);
    sett_tensor *r = sett__view(t, from == to ? t->layout : sett_recast_layout_at(site, to, from, t->layout),
        from == to ? t->offset : sett__recast_offset(&c, t, from, to));
    if (!r->head.poison)
        r->dtype = (uint8_t)dtype;
    return r;
}

/* ---- rows whose alignment only a launch knows ----------------------------------------------- */
static bool peelable(const sett__ctx *c, const sett_tensor *t, int bytes)
{
    sett_build *b = c->b;
    const sett_layout *l = t->layout;
    bool node = l->shape.kind == SETT_NODE, one = !l->has_inner && (!node || l->shape.rank == 1);
    sett_arg extent = node && one ? l->shape.u.kid[0] : l->shape, stride = node && one ? l->stride.u.kid[0] : l->stride;
    const bool single = extent.kind == SETT_INT && extent.u.i == 1; /* its stride says nothing, and make_layout has 0 there */
    one = one && extent.kind != SETT_NODE && stride.kind == SETT_INT && !stride.path && (stride.u.i == 1 || single);
    SETT__FAIL_IF(b, c->site, c->func, t->space == SETT_COORD || !one, false, SETT_E_SHAPE,
        "%s is no row of one mode with stride 1", sett__tensor_text(b, t));
    SETT__FAIL_IF(b, c->site, c->func, bytes < 1 || bytes > 16 || (bytes & (bytes - 1)), false, SETT_E_ARGUMENT,
        "%d bytes: a power of two up to 16", bytes);
    SETT__FAIL_IF(b, c->site, c->func, sett__is_packed(t), false, SETT_E_DTYPE, "elements of %s are no whole bytes",
        sett_dtype_name((sett_dtype)t->dtype));
    SETT__FAIL_IF(b, c->site, c->func, (int)t->align < bytes, false, SETT_E_ALIGN,
        "the alignment of %s is %u bytes: give it .align = %d", t->name, t->align, bytes);
    return true;
}

/* How far past a multiple of `width` elements the row begins. */
static sett_arg skip_of(const sett__ctx *c, const sett_tensor *t, int width)
{
    if (sett__leaf_div(t->offset) % width == 0)
        return sett_arg_i(0);
    sett_arg skip = sett_index_at(c->site, c->func, SETT_AND, t->offset, sett_arg_i(width - 1));
    if (skip.kind == SETT_VALUE)
        skip.u.v = sett_to_at(c->site, skip.u.v, SETT_I32);
    return skip;
}

sett_peeled sett_peel_at(sett_site site, const sett_tensor *t, int bytes)
{
    const sett__ctx c = {sett__home(t), site, "sett_peel"};
    sett_peeled none = {bad(t), c.b ? c.b->poison->arg : (sett_arg){0}};
    if (!sett__use_tensor(c.b, site, c.func, t) || !peelable(&c, t, bytes))
        return none;
    int element = sett__dtype_bytes((sett_dtype)t->dtype), width = bytes / element > 1 ? bytes / element : 1;
    bool node = t->layout->shape.kind == SETT_NODE;
    sett_arg skip = skip_of(&c, t, width), from = sett__sub(&c, t->offset, skip), *shape = sett__new(c.b, 2 * sizeof *shape);
    shape[0] = sett__add(&c, node ? t->layout->shape.u.kid[0] : t->layout->shape, skip);
    shape[1] = sett_arg_i(1);
    if (c.b->error.status)
        return none;
    if (from.kind == SETT_VALUE)
        from.u.v = sett__assumed(from.u.v, width);
    sett_layout *l = sett__make(&c, node ? sett_arg_n(1, shape) : shape[0], node ? sett_arg_n(1, shape + 1) : shape[1]);
    return (sett_peeled){sett__view(t, l, from), skip};
}

/* Only coordinates of a plain layout can be compared and read. */
static bool use_coords(const sett__ctx *c, const sett_tensor *crd, sett_arg with)
{
    if (!sett__use_tensor(c->b, c->site, c->func, crd) || !sett__use_arg(c->b, c->site, c->func, with))
        return false;
    SETT__FAIL_IF(c->b, c->site, c->func, crd->space != SETT_COORD || crd->layout->has_inner, false, SETT_E_SPACE,
        "%s is no tensor of coordinates", sett__tensor_text(c->b, crd));
    return true;
}

static sett_val *compared(sett_site site, const char *func, const sett_tensor *crd, sett_arg limit, bool least)
{
    const sett__ctx c = {SETT__HOME_OR(crd, sett__build_of(limit)), site, func};
    return use_coords(&c, crd, limit) ? sett__compare_coords(&c, crd->layout, crd->offset, limit, least) : sett__poison_val(c.b);
}

sett_val *sett_elem_less_at(sett_site site, const sett_tensor *crd, sett_arg limit)
{
    return compared(site, "sett_elem_less", crd, limit, false);
}

sett_val *sett_elem_at_least_at(sett_site site, const sett_tensor *crd, sett_arg limit)
{
    return compared(site, "sett_elem_at_least", crd, limit, true);
}

sett_val *sett_coord_value_at(sett_site site, const sett_tensor *crd, sett_arg mode)
{
    const sett__ctx c = {SETT__HOME_OR(crd, sett__build_of(mode)), site, "sett_coord_value"};
    return use_coords(&c, crd, mode) ? sett__coord_value(&c, crd->layout, crd->offset, mode) : sett__poison_val(c.b);
}
