/* SPDX-License-Identifier: Apache-2.0 */
/* Copies by tensor maps: which parts of a tile are one copy, and what is recorded for each. */
#include "tma.h"

/* ---- operands ------------------------------------------------------------------------------------ */
bool sett__place_of(const sett__ctx *c, const sett_tensor *t, int64_t more, sett__spot_at *to)
{
    const sett__op *root = &c->b->op[t->root];
    const int64_t unit = sett__dtype_bytes((sett_dtype)root->dtype), bytes = sett__dtype_bytes((sett_dtype)t->dtype);
    sett_arg at = t->layout->has_inner == 1 ? sett__add_offset(c, t->offset, t->layout->offset) : t->offset;
    at = sett__add_offset(c, at, sett_arg_i(more));
    if (at.kind == SETT_POISON)
        return false;
    SETT__FAIL_IF(c->b, c->site, c->func, sett__leaf_div(at) * bytes % unit, false, SETT_E_ALIGN, "%s does not begin at a whole element of the %s that were allocated",
        sett__tensor_text(c->b, t), sett_dtype_name((sett_dtype)root->dtype));
    if (unit != bytes)
        at = sett__div(c, sett__mul(c, at, sett_arg_i(bytes)), sett_arg_i(unit));
    at = sett__peel(c->b, at, &to->imm);
    to->root = t->root;
    to->base = at.kind == SETT_VALUE ? at.u.v->id : SETT__NONE;
    return at.kind != SETT_POISON && !c->b->error.status;
}

bool sett__mask_operand(const sett__ctx *c, const sett_val *mask, uint32_t *id)
{
    *id = SETT__NONE;
    return !mask || sett__int_operand(c, sett_arg_v(mask), ".mask", id);
}

bool sett__policy_operand(const sett__ctx *c, const sett_val *policy, uint32_t *id)
{
    *id = SETT__NONE;
    if (!policy)
        return true;
    const sett_val *v = sett__need_scalar(c, policy, ".policy", false);
    SETT__FAIL_IF(c->b, c->site, c->func, v && v->dtype != SETT_U64, false, SETT_E_DTYPE, ".policy is one %s: sett_cache_policy gives a Uint64", sett_dtype_name((sett_dtype)v->dtype));
    *id = v ? v->id : SETT__NONE;
    return v != NULL;
}

int sett__reduce_operand(const sett__ctx *c, sett_binary_op op)
{
    static const sett_binary_op all[] = {SETT_ADD, SETT_MIN, SETT_MAX};
    for (int i = 0; i < (int)SETT__COUNT(all); i++)
        if (all[i] == op)
            return i;
    SETT__FAIL_IF(c->b, c->site, c->func, true, -1, SETT_E_ARGUMENT, "the hardware adds, or takes the least or the greatest: SETT_ADD, SETT_MIN or SETT_MAX");
}

/* ---- who issues ------------------------------------------------------------------------------------- */
bool sett__issue_begin(const sett__ctx *c, const sett_val *pred, sett__issue *x)
{
    sett_build *b = c->b;
    uint32_t cond = sett__electing(b) ? SETT__NONE : sett__one_lane(c);
    x->open = false;
    if (pred) {
        const sett_val *v = sett__need_scalar(c, pred, ".pred", true);
        const uint32_t both[2] = {cond, v ? v->id : SETT__NONE};
        if (!v)
            return false;
        cond = cond == SETT__NONE ? v->id : sett__record(b, c->site, &(sett__emit){.code = SETT__AND, .dtype = SETT_BOOL, .n = 1, .n_args = 2, .args = both, .stay = true});
    }
    if (b->error.status)
        return false;
    if (cond != SETT__NONE) {
        x->region = sett_if_begin(c->site, b, sett__scalar_val(b, cond));
        x->open = true;
    }
    return !b->error.status;
}

void sett__issue_end(sett__issue *x)
{
    x->region.done = true;
    if (x->open)
        sett_region_end(&x->region);
}

/* ---- the parts of a tile ------------------------------------------------------------------------------ */
static const sett__map *map_of(const sett__ctx *c, const sett_tma *tma)
{
    return &c->b->sig.map[c->b->op[tma->root].imm];
}

static sett_layout *plain(const sett__ctx *c, const sett_layout *l)
{
    return sett__own(c, l->shape, l->stride);
}

static bool check_coords(const sett__ctx *c, const sett_tma *tma, const sett_tensor *coords)
{
    if (!sett__use_tensor(c->b, c->site, c->func, coords))
        return false;
    const char *why = coords->space != SETT_COORD ? "a copy by a map takes coordinates" : coords->tma ? "these are coordinates of another map" : "these are coordinates of no map";
    SETT__FAIL_IF(c->b, c->site, c->func, coords->space != SETT_COORD || coords->tma != tma, false, SETT_E_SPACE, "%s: %s: tiles of what sett_tma_tensor gives for map %s are its own",
        sett__tensor_text(c->b, coords), why, map_of(c, tma)->name);
    return true;
}

/* A box begins where its swizzle does. */
bool sett__tma_aligned(const sett__ctx *c, const sett_tensor *smem, int swizzle)
{
    char why[40] = "a box";
    if (swizzle)
        snprintf(why, sizeof why, "a swizzle of %u bytes", 16u << swizzle);
    return sett__smem_aligned(c, smem, 128u << swizzle, why);
}

static bool check_memory(const sett__ctx *c, const sett_tma *tma, const sett_tensor *t)
{
    sett_build *b = c->b;
    if (!sett__use_tensor(b, c->site, c->func, t))
        return false;
    const sett__map *map = map_of(c, tma);
    SETT__FAIL_IF(b, c->site, c->func, t->space != SETT_SMEM || t->mbarrier, false, SETT_E_SPACE, "%s is not shared memory, which map %s copies", sett__tensor_text(b, t), map->name);
    SETT__FAIL_IF(b, c->site, c->func, t->dtype != map->dtype, false, SETT_E_DTYPE, "%s of %s: map %s copies %s", sett__tensor_text(b, t), sett_dtype_name((sett_dtype)t->dtype), map->name,
        sett_dtype_name((sett_dtype)map->dtype));
    const int swizzle = t->layout->has_inner == 1 ? t->layout->bits : t->layout->has_inner ? -1 : 0;
    SETT__FAIL_IF(b, c->site, c->func, swizzle != map->swizzle, false, SETT_E_SHAPE, "%s has another swizzle than map %s, which has that of its .smem", sett__tensor_text(b, t), map->name);
    return sett__tma_aligned(c, t, swizzle);
}

/* Number j of a coordinate, which may be one scaled basis vector. */
static int64_t number_at(sett_arg at, int j)
{
    if (at.kind != SETT_NODE)
        return at.kind == SETT_INT && at.path == (uint32_t)(j + 1) ? at.u.i : 0;
    return j < at.rank && at.u.kid[j].kind == SETT_INT ? at.u.kid[j].u.i : 0;
}

/* Are element i of two layouts the same coordinate? Where a mode of the tensor has one element, a tile's coordinates may stay at it. */
static bool same_place(const sett__ctx *c, const sett_tma *tma, const sett_layout *have, const sett_layout *need, int64_t i)
{
    const sett__map *map = map_of(c, tma);
    const sett_arg x = sett__crd2idx(c, sett_arg_i(i), have->shape, have->stride), y = sett__crd2idx(c, sett_arg_i(i), need->shape, need->stride);
    for (int j = 0; j < map->rank; j++) {
        int64_t extent;
        const bool single = sett__expr_const(&c->b->sig, map->extent[j], &extent) && extent == 1;
        if (number_at(x, j) != number_at(y, j) && !(single && !number_at(x, j)))
            return false;
    }
    return true;
}

/* Do two layouts of one size have the same coordinates? Both are linear between the powers of two within their modes. */
static bool same_coords(const sett__ctx *c, const sett_tma *tma, const sett_layout *have, const sett_layout *need)
{
    const sett_layout *x = sett__coalesce(c, have), *y = sett__coalesce(c, need);
    if (sett__same_shape(x->shape, y->shape) && sett__same_shape(x->stride, y->stride))
        return true;
    int64_t before = 1;
    for (int k = 0; k < sett__arity(y->shape); k++) {
        const int64_t extent = sett__kid(y->shape, k).u.i;
        for (int64_t i = 1; i < extent; i *= 2)
            if (!same_place(c, tma, x, y, before * i))
                return false;
        before *= extent;
    }
    return true;
}

/* Do the elements of one copy, mode 0, lie together in shared memory? */
static bool lies_together(const sett__ctx *c, const sett_tma *tma, const sett_layout *l)
{
    const sett_layout *one = sett__coalesce(c, sett__mode(c, l, 0));
    return sett__is_int(one->shape, tma->elements) && sett__is_int(one->stride, 1);
}

typedef struct parts {
    const sett_layout *coords, *memory; /* (TMA,Rest) of each */
} parts;

static bool check_sizes(const sett__ctx *c, const sett_layout *coords, const sett_layout *memory)
{
    const bool fixed = sett__is_static(coords->shape);
    SETT__FAIL_IF(c->b, c->site, c->func, !fixed || (memory && (!sett__is_static(memory->shape) || !sett__is_static(memory->stride))), false, SETT_E_STATIC,
        "%s has no static extents: take a tile with sett_local_tile, or one of several with sett_slice", sett__layout_text(c->b, fixed ? memory : coords));
    const int64_t n = sett__product(c, coords->shape).u.i, of = memory ? sett__product(c, memory->shape).u.i : n;
    SETT__FAIL_IF(c->b, c->site, c->func, n != of, false, SETT_E_SHAPE, "coordinates %s have %lld elements, and shared memory %s has %lld", sett__layout_text(c->b, coords), (long long)n,
        sett__layout_text(c->b, memory), (long long)of);
    return true;
}

/* A tile, all that sett_tma_partition made of one, or some of the copies in that. */
static bool take_parts(const sett__ctx *c, const sett_tma *tma, const sett_layout *coords, const sett_layout *memory, parts *x)
{
    if (!check_sizes(c, coords, memory))
        return false;
    const int64_t size = sett__product(c, coords->shape).u.i;
    const bool all = size == tma->tile, some = !all && size % tma->elements == 0;
    const sett_layout *one = sett__mode(c, tma->parts, 0), *cut = sett__own(c, sett_arg_i(size), sett_arg_i(1)); /* partitioned already */
    cut = all || some ? sett__logical_divide(c, cut, sett_arg_i(tma->elements)) : tma->cut;
    bool fits = all || some;
    if (all && !same_coords(c, tma, coords, tma->parts)) {
        cut = tma->cut;
        fits = same_coords(c, tma, sett__compose(c, coords, sett_arg_l(cut)), tma->parts);
    } else if (some) {
        x->coords = sett__compose(c, coords, sett_arg_l(cut));
        fits = same_coords(c, tma, sett__mode(c, x->coords, 0), one);
    }
    SETT__FAIL_IF(c->b, c->site, c->func, !fits, false, SETT_E_SHAPE, "coordinates %s are no tile %s of map %s, and no parts of one", sett__layout_text(c->b, coords),
        sett__arg_text(c->b, tma->shape), map_of(c, tma)->name);
    x->coords = all ? tma->parts : x->coords;
    x->memory = memory ? sett__compose(c, memory, sett_arg_l(cut)) : NULL;
    SETT__FAIL_IF(c->b, c->site, c->func, memory && (sett__layout_poison(x->memory) || !lies_together(c, tma, x->memory)), false, SETT_E_SHAPE,
        "shared memory %s does not lie as the .smem of map %s: the %lld elements of one copy lie together", sett__layout_text(c->b, memory), map_of(c, tma)->name, (long long)tma->elements);
    return true;
}

/* ---- sett_tma_partition --------------------------------------------------------------------------------- */
/* As many modes as the tile has as one, where they are not one already. */
static sett_tensor *group_tile(const sett__ctx *c, const sett_tma *tma, const sett_tensor *t)
{
    const int n = sett__arity(tma->shape);
    sett_arg first = sett__product(c, sett__kid(t->layout->shape, 0));
    if (t->layout->shape.kind != SETT_NODE || sett__is_int(first, tma->tile) || t->layout->shape.rank < n)
        return (sett_tensor *)(uintptr_t)t;
    return sett_group_modes_tensor_at(c->site, t, 0, n);
}

static sett_arg pair(const sett__ctx *c, sett_arg x, sett_arg y)
{
    sett_arg *kid = sett__kids(c, 2);
    kid[0] = x, kid[1] = y;
    return sett_arg_n(2, kid);
}

/* Mode 0 as (TMA,Rest), each coalesced, and the others as they are. */
static sett_tensor *with_parts(const sett__ctx *c, const sett_tensor *t, const sett_layout *of, sett_arg origin)
{
    const int n = sett__arity(t->layout->shape);
    sett_arg *shape = sett__kids(c, n), *stride = sett__kids(c, n), *at = sett__kids(c, n);
    const sett_layout *one = sett__coalesce(c, sett__mode(c, of, 0)), *rest = sett__coalesce(c, sett__mode(c, of, 1));
    for (int i = 0; i < n; i++) {
        shape[i] = sett__kid(t->layout->shape, i);
        stride[i] = sett__kid(t->layout->stride, i);
        at[i] = sett_arg_i(0);
    }
    shape[0] = pair(c, one->shape, rest->shape), stride[0] = pair(c, one->stride, rest->stride), at[0] = pair(c, origin, sett_arg_i(0));
    sett_tensor *r = sett__view(t, sett__rewrap(c, t->layout, sett__own(c, sett_arg_n(n, shape), sett_arg_n(n, stride))), t->offset);
    return r->head.poison || sett__is_int(origin, 0) ? r : sett_domain_offset_at(c->site, r, sett_arg_n(n, at));
}

/* Where in the elements of a copy the block's part begins. */
static bool part_of_block(const sett__ctx *c, const sett_tma *tma, sett_arg crd, const sett_layout *blocks, sett_arg *to)
{
    *to = sett_arg_i(0);
    const sett_arg n = blocks ? sett_size_layout(blocks) : sett_arg_i(1), end = blocks ? sett_cosize_layout(blocks) : n;
    SETT__FAIL_IF(c->b, c->site, c->func, n.kind != SETT_INT || n.u.i != tma->multicast || !sett__is_int(end, n.u.i), false, SETT_E_SHAPE,
        "the blocks that share a tile, %s, are not the %d of .multicast", blocks ? sett__layout_text(c->b, blocks) : "1:0", tma->multicast);
    if (tma->multicast == 1)
        return true;
    *to = sett__mul(c, sett__layout_at(c, blocks, crd), sett_arg_i(tma->elements / tma->multicast));
    return to->kind != SETT_POISON;
}

/* Mode 0 of a tensor with modes; else all of it. */
static sett_layout *first_mode(const sett__ctx *c, const sett_tensor *t)
{
    sett_layout *l = plain(c, t->layout);
    return l->shape.kind == SETT_NODE ? sett__mode(c, l, 0) : l;
}

static bool partition(const sett__ctx *c, const sett_tma *tma, sett_arg crd, const sett_layout *blocks, const sett_tensor *smem, const sett_tensor *gmem, sett_tensor *to[2])
{
    sett_arg origin;
    parts x;
    if (!sett__use_tensor(c->b, c->site, c->func, smem) || !check_coords(c, tma, gmem) || !check_memory(c, tma, smem) || !part_of_block(c, tma, crd, blocks, &origin))
        return false;
    const sett_tensor *t[2] = {group_tile(c, tma, smem), group_tile(c, tma, gmem)};
    if (t[0]->head.poison || t[1]->head.poison || !take_parts(c, tma, first_mode(c, t[1]), first_mode(c, t[0]), &x))
        return false;
    to[0] = with_parts(c, t[0], x.memory, origin);
    to[1] = with_parts(c, t[1], x.coords, origin);
    if (to[0]->head.poison || to[1]->head.poison)
        return false;
    to[0] = sett__view(to[0], to[0]->layout, to[0]->offset);
    to[0]->tma = tma;
    return true;
}

void sett_tma_partition_at(sett_site site, const sett_tma *tma, sett_arg crd, const sett_layout *blocks, const sett_tensor *smem, const sett_tensor *gmem, sett_tensor **s, sett_tensor **g)
{
    sett__ctx c = {NULL, site, "sett_tma_partition"};
    sett_tensor *to[2];
    const bool fine = sett__use_tma(&c, tma) && sett__use_arg(c.b, site, c.func, crd) && (!blocks || sett__use_layout(c.b, site, c.func, blocks));
    if (!fine || !partition(&c, tma, crd, blocks, smem, gmem, to))
        to[0] = to[1] = c.b ? &c.b->poison->tensor : NULL;
    if (s)
        *s = to[0];
    if (g)
        *g = to[1];
}

sett_val *sett_create_tma_multicast_mask_at(sett_site site, sett_build *b, const sett_layout *blocks, sett_arg crd, int mode)
{
    b = sett__given(b, site, "sett_create_tma_multicast_mask");
    if (!sett__in_kernel(b, site, "sett_create_tma_multicast_mask") || !sett__use_layout(b, site, "sett_create_tma_multicast_mask", blocks) ||
        !sett__use_arg(b, site, "sett_create_tma_multicast_mask", crd))
        return sett__poison_val(b);
    const sett_arg mask = sett_make_layout_image_mask_at(site, blocks, crd, mode);
    return mask.kind == SETT_POISON ? sett__poison_val(b) : sett__arg_val(b, site, mask);
}

/* ---- copies ------------------------------------------------------------------------------------------- */
typedef struct copy {
    sett__ctx c;
    sett_tma_kind kind;
    const sett_tma *tma;
    const sett_tensor *memory, *coords;
    sett__bar bar;
    uint32_t map, mask, policy;
    int reduce;
} copy;

/* An element of a coordinate as an i32. */
static bool coordinate(const copy *x, sett_arg at, uint32_t *id)
{
    sett_val *v = sett__arg_val(x->c.b, x->c.site, at);
    if (!v || v->head.poison)
        return false;
    *id = sett__to(x->c.b, x->c.site, v, SETT_I32)->id;
    return !x->c.b->error.status;
}

static bool coordinates(const copy *x, sett_arg at, uint32_t *args)
{
    const int rank = sett__arity(x->tma->coords->offset);
    for (int i = 0; i < rank; i++)
        if (!coordinate(x, i < sett__arity(at) ? sett__kid(at, i) : sett_arg_i(0), &args[i]))
            return false;
    return true;
}

/* One copy, at these coordinates and so many elements behind the shared memory's first. */
static void record_copy(const copy *x, sett_arg at, int64_t more)
{
    sett_build *b = x->c.b;
    sett__spot_at to = {.root = SETT__NONE, .base = SETT__NONE};
    uint32_t args[8 + SETT__MAP_RANK];
    int n = 0;
    if (x->memory && !sett__place_of(&x->c, x->memory, more, &to))
        return;
    if (x->memory)
        args[n++] = to.root, args[n++] = to.base;
    args[n++] = x->map;
    if (x->kind == SETT_TMA_LOAD)
        args[n++] = x->bar.root, args[n++] = x->bar.base;
    args[n++] = SETT__NONE;
    if (x->kind == SETT_TMA_LOAD)
        args[n++] = x->mask;
    args[n++] = x->policy;
    if (!coordinates(x, at, args + n))
        return;
    n += sett__arity(x->tma->coords->offset);
    static const uint8_t code[] = {SETT__TMALOAD, SETT__TMASTORE, SETT__TMAREDUCE, SETT__TMAFETCH};
    const bool said = x->kind == SETT_TMA_LOAD || x->kind == SETT_TMA_REDUCE;
    const int32_t attr = x->kind == SETT_TMA_LOAD ? (int32_t)x->bar.imm : x->reduce;
    sett__record(b, x->c.site, &(sett__emit){.code = (sett__code)code[x->kind], .imm = to.imm, .n_args = n, .args = args, .n_attrs = said, .attrs = &attr});
}

static void record_all(const copy *x)
{
    const sett__ctx *c = &x->c;
    parts p;
    if (!take_parts(c, x->tma, plain(c, x->coords->layout), x->memory ? plain(c, x->memory->layout) : NULL, &p))
        return;
    const sett_arg copies = sett__kid(p.coords->shape, 1), n = sett__arity(p.coords->shape) > 1 ? sett__product(c, copies) : sett_arg_i(1);
    for (int64_t i = 0; i < n.u.i && !c->b->error.status; i++) {
        const sett_arg at = sett_arg_i(i), by = sett__crd2idx(c, at, copies, sett__kid(p.coords->stride, 1));
        const sett_arg more = x->memory ? sett__crd2idx(c, at, sett__kid(p.memory->shape, 1), sett__kid(p.memory->stride, 1)) : at;
        record_copy(x, sett__add_offset(c, x->coords->offset, by), more.u.i);
    }
}

/* ---- the calls ------------------------------------------------------------------------------------------ */
static bool take_options(copy *x, const sett_tma_copy_args *a)
{
    const sett__ctx *c = &x->c;
    const bool load = x->kind == SETT_TMA_LOAD;
    SETT__FAIL_IF(c->b, c->site, c->func, load && !a->barrier, false, SETT_E_ARGUMENT, "where its bytes complete is missing: .barrier, an mbarrier");
    SETT__FAIL_IF(c->b, c->site, c->func, !load && (a->barrier || a->mask), false, SETT_E_ARGUMENT, "%s is for loads: %s", a->barrier ? ".barrier" : ".mask",
        x->kind == SETT_TMA_PREFETCH ? "nothing waits for a prefetch" : "this completes with its group (sett_tma_store_commit)");
    SETT__FAIL_IF(c->b, c->site, c->func, load && x->tma->multicast > 1 && (!a->mask || x->memory->tma != x->tma), false, SETT_E_ARGUMENT, "%d blocks share the tile of map %s: %s", x->tma->multicast,
        map_of(c, x->tma)->name, a->mask ? "each copies its part, which sett_tma_partition gives" : ".mask says which blocks get it (sett_create_tma_multicast_mask)");
    x->map = x->tma->root;
    x->reduce = x->kind == SETT_TMA_REDUCE ? sett__reduce_operand(c, x->reduce) : 0;
    return x->reduce >= 0 && (!load || sett__take_bar(c, a->barrier, false, &x->bar)) && sett__mask_operand(c, a->mask, &x->mask) && sett__policy_operand(c, a->policy, &x->policy);
}

/* Each operand that is given is of this build. */
static bool use_operands(const sett__ctx *c, const sett_tma_copy_args *a)
{
    const sett_tensor *const t[] = {a->src, a->dst, a->barrier, a->map};
    const sett_val *const v[] = {a->mask, a->policy, a->pred};
    for (size_t i = 0; i < SETT__COUNT(t); i++)
        if ((t[i] || !i) && !sett__use_tensor(c->b, c->site, c->func, t[i]))
            return false;
    for (size_t i = 0; i < SETT__COUNT(v); i++)
        if (v[i] && !sett__use_val(c->b, c->site, c->func, v[i]))
            return false;
    return sett__in_kernel(c->b, c->site, c->func);
}

static const char *const name_of[] = {"sett_tma_load", "sett_tma_store", "sett_tma_reduce", "sett_tma_prefetch"};

void sett_tma_copy_at(sett_site site, sett_tma_kind kind, const sett_tma *tma, sett_binary_op op, const sett_tma_copy_args *given)
{
    copy x = {.c = {NULL, site, name_of[(unsigned)kind <= SETT_TMA_PREFETCH ? kind : 0]}, .kind = kind, .tma = tma, .reduce = (int)op};
    sett_tma_copy_args a;
    sett__issue one;
    if (!sett__take_args(&x.c, &a, sizeof a, given) || !sett__use_tma(&x.c, tma) || !use_operands(&x.c, &a))
        return;
    const bool loads = kind == SETT_TMA_LOAD || kind == SETT_TMA_PREFETCH;
    x.coords = loads ? a.src : a.dst;
    x.memory = kind == SETT_TMA_PREFETCH ? NULL : loads ? a.dst : a.src;
    if (!check_coords(&x.c, tma, x.coords) || (kind != SETT_TMA_PREFETCH && !check_memory(&x.c, tma, x.memory)) || !take_options(&x, &a))
        return;
    if (!sett__issue_begin(&x.c, a.pred, &one))
        return;
    if (!a.map || sett__map_operand(&x.c, a.map, &x.map))
        record_all(&x);
    sett__issue_end(&one);
}
