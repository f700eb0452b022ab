/* SPDX-License-Identifier: Apache-2.0 */
/* Tiled copies: an atom over the threads of a block, and what a thread reads and writes of a tensor. */
#include "atom.h"

static int64_t mode_size(const sett__ctx *c, const sett_layout *l, int i)
{
    return sett__product(c, sett__kid(l->shape, i)).u.i;
}

/* A static tiler's shape. */
static sett_arg shape_of(const sett__ctx *c, sett_arg tiler)
{
    if (tiler.kind != SETT_NODE)
        return tiler.kind == SETT_LAYOUT ? tiler.u.l->shape : tiler;
    sett_arg *kid = sett__kids(c, tiler.rank);
    for (int i = 0; i < tiler.rank; i++)
        kid[i] = shape_of(c, tiler.u.kid[i]);
    return sett__node(c, tiler.rank, kid);
}

/* ---- making --------------------------------------------------------------------------------------- */
/* All elements lie in the tile. */
static bool check_reach(const sett__ctx *c, const sett_layout *tv, sett_arg tiler)
{
    const int n = sett__leaves(tv->shape);
    sett_arg *extent = sett__kids(c, n), *stride = sett__kids(c, n);
    int64_t low = 0, high = 0, all = sett__product(c, shape_of(c, tiler)).u.i;
    sett__flat(tv->shape, extent);
    sett__flat(tv->stride, stride);
    for (int i = 0; i < n; i++)
        *(stride[i].u.i < 0 ? &low : &high) += (extent[i].u.i - 1) * stride[i].u.i;
    SETT__FAIL_IF(c->b, c->site, c->func, low < 0 || high >= all, false, SETT_E_RANGE, "%s reaches element %lld, and the tile %s has 0 to %lld", sett__layout_text(c->b, tv),
        (long long)(low < 0 ? low : high), sett__arg_text(c->b, tiler), (long long)all - 1);
    return true;
}

static sett_tiled_copy *make(const sett__ctx *c, const sett_copy_atom *atom, sett_layout *tv, sett_arg tiler)
{
    if (sett__layout_poison(tv) || sett__is_poison(tiler))
        return sett__poison_atom(c->b);
    bool fixed = sett__is_static(tv->shape) && sett__is_static(tv->stride) && !tv->has_inner;
    SETT__FAIL_IF(c->b, c->site, c->func, !fixed || sett__arity(tv->shape) != 2, sett__poison_atom(c->b), SETT_E_STATIC,
        "%s is no static layout (thread, value) -> element", sett__layout_text(c->b, tv));
    const int64_t thr = mode_size(c, tv, 0), val = mode_size(c, tv, 1), a_thr = mode_size(c, atom->val[SETT__REF], 0), a_val = mode_size(c, atom->val[SETT__REF], 1);
    SETT__FAIL_IF(c->b, c->site, c->func, thr % a_thr, sett__poison_atom(c->b), SETT_E_DIVIDE,
        "too-few-threads: %s is of %lld threads, and the %lld of %s are no multiple", atom->name, (long long)a_thr, (long long)thr, sett__layout_text(c->b, tv));
    SETT__FAIL_IF(c->b, c->site, c->func, val % a_val, sett__poison_atom(c->b), SETT_E_DIVIDE,
        "too-few-values: %s moves %lld of %s a thread, and the %lld of %s are no multiple", atom->name, (long long)a_val,
        sett_dtype_name((sett_dtype)atom->dtype), (long long)val, sett__layout_text(c->b, tv));
    if (!check_reach(c, tv, tiler))
        return sett__poison_atom(c->b);
    sett_tiled_copy *r = sett__new_object(c->b, SETT__K_TILED_COPY, sizeof *r);
    r->atom = atom;
    r->tv = tv;
    r->tiler = tiler;
    return c->b->error.status ? sett__poison_atom(c->b) : r;
}

/* The leaves of a static tiler: extents and layouts. */
static bool check_tiler(const sett__ctx *c, sett_arg tiler)
{
    bool fine = true;
    for (int i = 0; i < sett__arity(tiler); i++) {
        sett_arg x = sett__kid(tiler, i);
        fine = fine && ((x.kind == SETT_INT && x.u.i > 0) || (x.kind == SETT_NODE && sett__is_static(x)) ||
                           (x.kind == SETT_LAYOUT && sett__is_static(x.u.l->shape) && sett__is_static(x.u.l->stride)));
    }
    SETT__FAIL_IF(c->b, c->site, c->func, !fine, false, SETT_E_STATIC, "the tiler %s is not of static extents and layouts", sett__arg_text(c->b, tiler));
    return true;
}

sett_tiled_copy *sett_make_tiled_copy_at(sett_site site, const sett_copy_atom *atom, const sett_layout *tv, sett_arg tiler)
{
    sett__ctx c = {SETT__HOME_OR(atom, sett__home(tv)), site, "sett_make_tiled_copy"};
    if (!sett__use_atom(&c, (const sett__head *)atom, SETT__K_COPY_ATOM) || !sett__use_layout(c.b, site, c.func, tv) ||
        !sett__use_arg(c.b, site, c.func, tiler) || !check_tiler(&c, tiler))
        return sett__poison_atom(c.b);
    return make(&c, atom, (sett_layout *)(uintptr_t)tv, sett_arg_keep(c.b, tiler));
}

sett_tiled_copy *sett_make_tiled_copy_tv_at(sett_site site, const sett_copy_atom *atom, const sett_layout *thr, const sett_layout *val)
{
    sett__ctx c = {SETT__HOME_OR(atom, sett__home(thr)), site, "sett_make_tiled_copy_tv"};
    if (!sett__use_atom(&c, (const sett__head *)atom, SETT__K_COPY_ATOM) || !sett__use_layout(c.b, site, c.func, thr) || !sett__use_layout(c.b, site, c.func, val))
        return sett__poison_atom(c.b);
    sett_tv tv = sett_make_layout_tv_at(site, thr, val);
    return c.b->error.status ? sett__poison_atom(c.b) : make(&c, atom, tv.tv, tv.tiler);
}

sett_tiled_copy *sett_make_tiled_copy_mma_at(sett_site site, const sett_copy_atom *atom, const sett_tiled_mma *mma, sett_operand which)
{
    static const char *const name[] = {"sett_make_tiled_copy_A", "sett_make_tiled_copy_B", "sett_make_tiled_copy_C"};
    sett__ctx c = {SETT__HOME_OR(atom, sett__home(mma)), site, name[(unsigned)which <= SETT_OPERAND_C ? which : 0]};
    if (!sett__use_atom(&c, (const sett__head *)atom, SETT__K_COPY_ATOM) || !sett__use_atom(&c, (const sett__head *)mma, SETT__K_TILED_MMA))
        return sett__poison_atom(c.b);
    SETT__FAIL_IF(c.b, site, c.func, (unsigned)which > SETT_OPERAND_C, sett__poison_atom(c.b), SETT_E_ARGUMENT, "%d is no operand: A, B or C", (int)which);
    return make(&c, atom, sett__tv_layout(&c, mma, which), sett__tile_of(&c, mma, which));
}

/* A tiler that picks from a whole of this shape the elements that tv reaches, and tv as (thread, value) -> element of what it
 * picks. */
static sett_tiled_copy *make_picking(const sett__ctx *c, const sett_copy_atom *atom, sett_arg whole, const sett_layout *tv)
{
    int n = sett__arity(whole);
    sett_arg *tiler = sett__kids(c, n);
    for (int i = 0; i < n && !sett__layout_poison(tv); i++) {
        sett_arg *one = sett__kids(c, n);
        for (int k = 0; k < n; k++)
            one[k] = sett_arg_i(k == i);
        sett_layout *mode = sett__compose(c, sett__own(c, whole, whole.kind == SETT_NODE ? sett__node(c, n, one) : one[0]), sett_arg_l(tv));
        tiler[i] = sett_arg_l(sett__layout_poison(mode) ? mode : sett__filter(c, mode));
    }
    if (c->b->error.status)
        return sett__poison_atom(c->b);
    sett_arg picked = whole.kind == SETT_NODE ? sett__node(c, n, tiler) : tiler[0];
    sett_layout *tile = sett__compose(c, sett__make(c, whole, SETT_ALL), picked);
    sett_layout *back = sett__layout_poison(tile) ? tile : sett_left_inverse_at(c->site, tile);
    return make(c, atom, sett__layout_poison(back) ? back : sett__compose(c, back, sett_arg_l(tv)), picked);
}

sett_tiled_copy *sett_make_tiled_copy_c_atom_at(sett_site site, const sett_copy_atom *atom, const sett_tiled_mma *mma)
{
    sett__ctx c = {SETT__HOME_OR(atom, sett__home(mma)), site, "sett_make_tiled_copy_C_atom"};
    if (!sett__use_atom(&c, (const sett__head *)atom, SETT__K_COPY_ATOM) || !sett__use_atom(&c, (const sett__head *)mma, SETT__K_TILED_MMA))
        return sett__poison_atom(c.b);
    sett_layout *tv = sett__tv_layout(&c, mma, SETT_OPERAND_C);
    if (sett__layout_poison(tv))
        return sett__poison_atom(c.b);
    const int64_t thr = mode_size(&c, tv, 0), val = mode_size(&c, tv, 1), one = mode_size(&c, atom->val[SETT__SRC], 1);
    SETT__FAIL_IF(c.b, site, c.func, one > val, sett__poison_atom(c.b), SETT_E_DIVIDE, "too-few-values: %s moves %lld a thread, and %s has %lld of C", atom->name,
        (long long)one, mma->atom->name, (long long)val);
    tv = sett__compose(&c, tv, sett_arg_l(sett__make(&c, sett__pair(&c, sett_arg_i(thr), sett_arg_i(one)), SETT_ALL)));
    return make_picking(&c, atom, sett__tile_of(&c, mma, SETT_OPERAND_C), tv);
}

static sett_layout *closed(const sett__ctx *c, const sett_layout *l) /* what lies past its end is its element 0 */
{
    sett_layout *one = sett__own(c, sett_arg_i(1), sett_arg_i(0));
    return sett__layout_poison(l) ? sett__poison_layout(c->b) : sett__join(c, 2, (sett_layout *[]){(sett_layout *)(uintptr_t)l, one});
}

sett_tiled_copy *sett_make_cotiled_copy_at(sett_site site, const sett_copy_atom *atom, const sett_layout *tv, const sett_layout *data)
{
    sett__ctx ctx = {SETT__HOME_OR(atom, sett__home(tv)), site, "sett_make_cotiled_copy"}, *c = &ctx;
    if (!sett__use_atom(c, (const sett__head *)atom, SETT__K_COPY_ATOM) || !sett__use_layout(c->b, site, c->func, tv) || !sett__use_layout(c->b, site, c->func, data))
        return sett__poison_atom(c->b);
    bool fixed = sett__is_static(tv->shape) && sett__is_static(tv->stride) && sett__is_static(data->shape) && sett__is_static(data->stride);
    SETT__FAIL_IF(c->b, site, c->func, !fixed || tv->has_inner || data->has_inner || sett__arity(tv->shape) != 2, sett__poison_atom(c->b), SETT_E_STATIC,
        "%s over %s: a static layout (thread, value) -> offset, and a static layout of the data, neither swizzled", sett__layout_text(c->b, tv),
        sett__layout_text(c->b, data));
    sett_layout *inverse = closed(c, sett_left_inverse_at(site, data));
    sett_layout *there = sett__layout_poison(inverse) ? inverse : sett__compose(c, inverse, sett_arg_l(tv)); /* (thread, value) -> coordinate */
    if (sett__layout_poison(there))
        return sett__poison_atom(c->b);
    for (int64_t i = 0, n = sett__static_size(tv); i < n; i++) {
        sett_arg want = sett__layout_at(c, tv, sett_arg_i(i)), at = sett__layout_at(c, there, sett_arg_i(i)), got = sett__layout_at(c, data, at);
        SETT__FAIL_IF(c->b, site, c->func, !sett__is_int(got, want.u.i), sett__poison_atom(c->b), SETT_E_RANGE, "the offset %lld of %s is none of %s",
            (long long)want.u.i, sett__layout_text(c->b, tv), sett__layout_text(c->b, data));
    }
    return make_picking(c, atom, sett__product_each(c, data->shape), there);
}

/* ---- layouts ------------------------------------------------------------------------------------------ */
/* A tile and the rest, ((TileM,TileN,...),(RestM,...)), as (thread, value, (RestM,...)) of source or destination. */
static sett_layout *tile_to_thread(const sett__ctx *c, const sett_tiled_copy *x, bool written, const sett_layout *tile)
{
    const sett_layout *ref = x->atom->val[SETT__REF];
    sett_layout *inverse = sett__right_inverse(c, ref);
    sett_layout *side = sett__layout_poison(inverse) ? inverse : sett__compose(c, inverse, sett_arg_l(x->atom->val[written ? SETT__DST : SETT__SRC]));
    sett_arg atom = sett__pair(c, sett_arg_i(mode_size(c, ref, 0)), sett_arg_i(mode_size(c, ref, 1))), ones = sett__pair(c, sett_arg_i(1), sett_arg_i(1));
    sett_layout *tv = sett__divided(c, x->tv, atom); /* ((atom's thread, value),(rest)) */
    if (sett__layout_poison(tv) || sett__layout_poison(side) || sett__layout_poison(tile))
        return sett__poison_layout(c->b);
    tv = sett__zip_tiles(c, sett__compose(c, tv, sett__pair(c, sett_arg_l(side), SETT_ALL)), ones);
    tv = sett__layout_poison(tv) ? tv : sett_coalesce_layout_at(c->site, tv, sett__pair(c, sett_arg_i(1), ones));
    if (sett__layout_poison(tv))
        return tv;
    return sett__sliced(c, sett__compose(c, tile, sett__pair(c, sett_arg_l(tv), SETT_ALL)), sett__pair(c, sett__all_but(c, NULL, 2), SETT_ALL));
}

static sett_layout *tidfrg(const sett__ctx *c, const sett_tiled_copy *x, bool written, const sett_layout *l)
{
    SETT__FAIL_IF(c->b, c->site, c->func, sett__arity(l->shape) < sett__arity(x->tiler), sett__poison_layout(c->b), SETT_E_RANK,
        "%s has fewer modes than the tile %s", sett__layout_text(c->b, l), sett__arg_text(c->b, x->tiler));
    return tile_to_thread(c, x, written, sett__divided(c, l, x->tiler));
}

static sett_layout *copy_tv(const sett__ctx *c, const sett_tiled_copy *x, bool written)
{
    sett_layout *tile = sett__make(c, sett__pair(c, shape_of(c, x->tiler), sett_arg_i(1)), SETT_ALL);
    sett_layout *l = tile_to_thread(c, x, written, tile);
    return sett__sliced(c, l, sett__tuple_of(c, 3, (sett_arg[]){SETT_ALL, SETT_ALL, sett_arg_i(0)}));
}

sett_tiled_copy *sett_make_tiled_copy_like_at(sett_site site, const sett_copy_atom *atom, const sett_tiled_copy *x, bool written)
{
    sett__ctx c = {SETT__HOME_OR(atom, sett__home(x)), site, written ? "sett_make_tiled_copy_D" : "sett_make_tiled_copy_S"};
    if (!sett__use_atom(&c, (const sett__head *)atom, SETT__K_COPY_ATOM) || !sett__use_atom(&c, (const sett__head *)x, SETT__K_TILED_COPY))
        return sett__poison_atom(c.b);
    return make(&c, atom, copy_tv(&c, x, written), x->tiler);
}

sett_tiled_copy_traits sett_tiled_copy_traits_at(sett_site site, const sett_tiled_copy *x)
{
    sett__ctx c = {NULL, site, "sett_tiled_copy_traits"};
    if (!sett__use_atom(&c, (const sett__head *)x, SETT__K_TILED_COPY)) {
        sett_layout *bad = c.b ? sett__poison_layout(c.b) : NULL;
        return (sett_tiled_copy_traits){sett__poison_arg(c.b), bad, bad, bad};
    }
    return (sett_tiled_copy_traits){x->tiler, x->tv, copy_tv(&c, x, false), copy_tv(&c, x, true)};
}

sett_layout *sett_tidfrg_at(sett_site site, const sett_tiled_copy *x, bool written, const sett_layout *l)
{
    sett__ctx c = {SETT__HOME_OR(x, sett__home(l)), site, written ? "sett_tidfrg_D" : "sett_tidfrg_S"};
    if (!sett__use_atom(&c, (const sett__head *)x, SETT__K_TILED_COPY) || !sett__use_layout(c.b, site, c.func, l))
        return c.b ? sett__poison_layout(c.b) : NULL;
    return tidfrg(&c, x, written, l);
}

/* Has each thread elements of the tile that no other one has? */
static bool covers_once(const sett__ctx *c, const sett_tiled_copy *x)
{
    return sett__static_size(x->tv) == sett__product(c, shape_of(c, x->tiler)).u.i;
}

/* ---- slices -------------------------------------------------------------------------------------------- */
sett_thr_copy *sett_get_slice_copy_at(sett_site site, const sett_tiled_copy *x, sett_arg thread)
{
    sett__ctx c = {SETT__HOME_OR(x, sett__build_of(thread)), site, "sett_get_slice"};
    if (!sett__use_atom(&c, (const sett__head *)x, SETT__K_TILED_COPY) || !sett__use_arg(c.b, site, c.func, thread))
        return sett__poison_atom(c.b);
    const char *of = sett__layout_text(c.b, x->tv);
    const int64_t threads = mode_size(&c, x->tv, 0);
    if (!sett__check_thread(&c, thread, threads, false, of))
        return sett__poison_atom(c.b);
    sett_thr_copy *r = sett__new_object(c.b, SETT__K_THR_COPY, sizeof *r);
    r->copy = x;
    r->thread = thread;
    r->share = sett__share_new(&c, &(sett__share){.of = of, .threads = threads, .thread = thread, .each = covers_once(&c, x)});
    return c.b->error.status ? sett__poison_atom(c.b) : r;
}

/* Past the end of shared memory lies what belongs to others; in gmem a predicate may leave it out. */
static bool check_whole(const sett__ctx *c, const sett_tiled_copy *x, const sett_tensor *t)
{
    for (int i = 0; t->space == SETT_SMEM && i < sett__arity(x->tiler) && i < sett__arity(t->layout->shape); i++) {
        sett_arg n = sett__product(c, sett__kid(t->layout->shape, i)), tile = sett__product(c, shape_of(c, sett__kid(x->tiler, i)));
        SETT__FAIL_IF(c->b, c->site, c->func, n.kind == SETT_INT && n.u.i % tile.u.i, false, SETT_E_DIVIDE, "the tile %s does not divide %s",
            sett__arg_text(c->b, x->tiler), sett__tensor_text(c->b, t));
    }
    return true;
}

sett_tensor *sett_partition_copy_at(sett_site site, const sett_thr_copy *s, bool written, const sett_tensor *t)
{
    sett__ctx c = {SETT__HOME_OR(s, sett__home(t)), site, written ? "sett_partition_D" : "sett_partition_S"};
    if (!sett__use_atom(&c, (const sett__head *)s, SETT__K_THR_COPY) || !sett__use_tensor(c.b, site, c.func, t) || !sett__use_arg(c.b, site, c.func, s->thread) ||
        !check_whole(&c, s->copy, t))
        return c.b ? &c.b->poison->tensor : NULL;
    sett_layout *l = tidfrg(&c, s->copy, written, t->layout);
    if (sett__layout_poison(l))
        return &c.b->poison->tensor;
    sett_arg all[3] = {s->thread, SETT_ALL, sett__all_but(&c, NULL, sett__arity(sett__kid(l->shape, 2)))};
    sett_tensor *r = sett__slice(&c, sett__view(t, l, t->offset), sett__tuple_of(&c, 3, all));
    if (!r->head.poison)
        r->share = s->share;
    return r;
}

/* (1,1,...), of so many modes. */
static sett_layout *ones(const sett__ctx *c, int rank)
{
    sett_arg *one = sett__kids(c, rank);
    for (int i = 0; i < rank; i++)
        one[i] = sett_arg_i(1);
    return sett__make(c, sett__node(c, rank, one), SETT_ALL);
}

/* (V,M,K,...) -> ((atom's values, rest of the tile's),M,K,...). A V of several tiles, as that of a copy of one atom's values: the rest counts
 * their parts too. */
static sett_layout *retiled(const sett__ctx *c, const sett_tiled_copy *x, const sett_layout *l)
{
    int n = sett__arity(l->shape), rank = sett__arity(x->tiler);
    int64_t v = mode_size(c, l, 0), thr = mode_size(c, x->tv, 0), one = mode_size(c, x->atom->val[SETT__REF], 1);
    sett_layout *mn = sett__right_inverse(c, x->tv);
    if (!sett__layout_poison(mn))
        mn = sett__compose(c, mn, sett_arg_l(sett__make(c, shape_of(c, x->tiler), SETT_ALL)));
    if (!sett__layout_poison(mn))
        mn = v > mode_size(c, x->tv, 1) ? ones(c, rank) : sett_recast_layout_at(c->site, (int)(thr * v), 1, mn); /* (m,n) -> which V */
    if (sett__layout_poison(mn))
        return mn;
    sett_layout *back = sett__right_inverse(c, mn), *first = sett__make(c, sett_arg_i(v), SETT_ALL);
    if (sett__layout_poison(back))
        return back;
    sett_layout *values = sett__divided(c, sett__logical_product(c, first, sett_arg_l(back)), sett_arg_l(sett__own(c, sett_arg_i(one), sett_arg_i(one > 1))));
    sett_arg *tile = sett__kids(c, rank + 1), each = sett__product_each(c, mn->shape), zero = sett_arg_i(0);
    tile[0] = sett_arg_i(v);
    for (int i = 0; i < rank; i++)
        tile[i + 1] = sett__kid(each, i);
    sett_layout *t = sett__divided(c, l, sett__node(c, rank + 1, tile)); /* ((V,M,K),(1,RestM,RestK,...)) */
    if (sett__layout_poison(t) || sett__layout_poison(values))
        return sett__poison_layout(c->b);
    t = sett__compose(c, t, sett__pair(c, sett_arg_l(values), SETT_ALL));
    return sett__sliced(c, t, sett__pair(c, SETT_ALL, sett__all_but(c, &zero, n - 1)));
}

sett_tensor *sett_retile_at(sett_site site, const sett_thr_copy *s, const sett_tensor *t)
{
    sett__ctx c = {SETT__HOME_OR(s, sett__home(t)), site, "sett_retile"};
    if (!sett__use_atom(&c, (const sett__head *)s, SETT__K_THR_COPY) || !sett__use_tensor(c.b, site, c.func, t))
        return c.b ? &c.b->poison->tensor : NULL;
    const sett_layout *l = t->layout;
    int rank = sett__arity(s->copy->tiler);
    SETT__FAIL_IF(c.b, site, c.func, !sett__is_static(l->shape) || l->has_inner || sett__arity(l->shape) < rank + 1, &c.b->poison->tensor, SETT_E_RANK,
        "%s is no fragment of static extents: (V,M,N) of a copy of tiles %s", sett__tensor_text(c.b, t), sett__arg_text(c.b, s->copy->tiler));
    int64_t v = mode_size(&c, l, 0), all = mode_size(&c, s->copy->tv, 1);
    SETT__FAIL_IF(c.b, site, c.func, all % v && v % all, &c.b->poison->tensor, SETT_E_DIVIDE, "the %lld values in mode 0 of %s do not divide the %lld that a thread of %s has, nor they these",
        (long long)v, sett__tensor_text(c.b, t), (long long)all, sett__layout_text(c.b, s->copy->tv));
    sett_layout *r = retiled(&c, s->copy, l);
    return sett__layout_poison(r) ? &c.b->poison->tensor : sett__view(t, r, t->offset);
}
