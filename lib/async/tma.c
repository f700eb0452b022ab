/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor maps: the box, the swizzle and the order of modes, as they follow from a tile and its layout in shared memory.
 *
 * The right inverse of that layout, composed with the tile, says of each place in shared memory which element of the tensor lies
 * there: a mode for each run, as (64,128,2):(1@1,1@0,64@1). Its first modes, as long as they step by one element, are the box.
 * What remains is further boxes. The map's modes are those of the box, then the others of the tensor. */
#include "tma.h"

enum { PIECE = 16, MOST_LEAVES = 64, NO_MODE = -1 };

typedef struct leaf { /* of the tensor: an extent, a stride, and which it is */
    sett_arg extent, stride;
    uint32_t path;
} leaf;

typedef struct maker {
    sett__ctx c;
    const sett_tma_args *a;
    const sett_tensor *gmem;
    sett_dtype dtype;
    leaf leaf[MOST_LEAVES];
    int n_leaf;
    int mode[SETT__MAP_RANK]; /* leaves, in the map's order */
    int64_t box[SETT__MAP_RANK];
    int rank, n_box;
    int64_t elements, tile;
    int swizzle;
    const sett_layout *whole; /* of the tile: its elements -> the tensor's coordinates */
} maker;

static const char *text_of(const maker *m)
{
    return sett__tensor_text(m->c.b, m->gmem);
}

#define REFUSE_IF(m, cond, status, ...) SETT__FAIL_IF((m)->c.b, (m)->c.site, (m)->c.func, cond, false, status, __VA_ARGS__)

/* ---- the tensor -------------------------------------------------------------------------------- */
static bool take_leaves(maker *m, sett_arg shape, sett_arg stride, uint32_t path, int depth)
{
    if (shape.kind != SETT_NODE) {
        REFUSE_IF(m, m->n_leaf == MOST_LEAVES, SETT_E_RANK, "%s has more than %d modes", text_of(m), MOST_LEAVES);
        m->leaf[m->n_leaf++] = (leaf){shape, stride, path};
        return true;
    }
    REFUSE_IF(m, depth == 8 || shape.rank > 15, SETT_E_LIMIT, "%s nests too deep", text_of(m));
    for (int i = 0; i < shape.rank; i++)
        if (!take_leaves(m, shape.u.kid[i], stride.u.kid[i], path | (uint32_t)(i + 1) << (4 * depth), depth + 1))
            return false;
    return true;
}

static bool take_gmem(maker *m)
{
    const sett_tensor *t = m->gmem = m->a->gmem;
    m->dtype = (sett_dtype)t->dtype;
    REFUSE_IF(m, t->space != SETT_GMEM || t->param < 0, SETT_E_SPACE, "%s is no tensor argument: a map is made of one, when the kernel is launched", text_of(m));
    REFUSE_IF(m, !sett__is_int(t->offset, 0), SETT_E_ARGUMENT, "%s does not begin where the argument does: the map is of all of it, and sett_tma_tensor is tiled in its place", text_of(m));
    REFUSE_IF(m, t->layout->has_inner, SETT_E_ARGUMENT, "%s is no shape:stride", text_of(m));
    REFUSE_IF(m, sett__map_type(m->dtype) < 0, SETT_E_DTYPE, "there are no tensor maps of %s: recast it to u8 (sett_recast_tensor)", sett_dtype_name(m->dtype));
    REFUSE_IF(m, t->dtype != m->c.b->sig.param[t->param].dtype, SETT_E_DTYPE, "%s was recast: the map is of the argument's own type, %s", text_of(m),
        sett_dtype_name((sett_dtype)m->c.b->sig.param[t->param].dtype));
    return take_leaves(m, t->layout->shape, t->layout->stride, 0, 0);
}

/* ---- the tile in shared memory -------------------------------------------------------------------- */
static const sett_layout *smem_layout(const maker *m)
{
    return m->a->smem ? m->a->smem->layout : m->a->layout;
}

static bool take_swizzle(maker *m, const sett_layout *l)
{
    const int bits = sett_dtype_bits(m->dtype), base = __builtin_ctz((unsigned)(PIECE * 8 / bits));
    const bool fine = !l->has_inner || (l->has_inner == 1 && l->bits <= 3 && l->base == base && l->shift == 3);
    REFUSE_IF(m, !fine, SETT_E_ARGUMENT, "%s is swizzled as no map of %s is: S<0..3,%d,3> exchanges pieces of 16 bytes", sett__layout_text(m->c.b, l), sett_dtype_name(m->dtype), base);
    m->swizzle = l->has_inner ? l->bits : 0;
    return true;
}

/* The layout of one tile: as many modes of the given one as the tile has, without the swizzle. NULL: the build has failed. */
static sett_layout *tile_layout(maker *m)
{
    const sett_layout *l = smem_layout(m);
    const int n = sett__arity(m->a->tile);
    sett__ctx *c = &m->c;
    sett_arg *shape = sett__kids(c, n), *stride = sett__kids(c, n);
    if (!take_swizzle(m, l))
        return NULL;
    SETT__FAIL_IF(c->b, c->site, c->func, sett__arity(l->shape) < n, NULL, SETT_E_RANK, "%s has fewer modes than the tile %s", sett__layout_text(c->b, l), sett__arg_text(c->b, m->a->tile));
    for (int i = 0; i < n; i++) {
        shape[i] = sett__kid(l->shape, i), stride[i] = sett__kid(l->stride, i);
        const sett_arg tile = sett__kid(m->a->tile, i), extent = sett__product(c, tile.kind == SETT_LAYOUT ? tile.u.l->shape : tile), has = sett__product(c, shape[i]);
        SETT__FAIL_IF(c->b, c->site, c->func, !sett__is_static(shape[i]) || !sett__is_static(stride[i]) || !sett__is_number(extent), NULL, SETT_E_STATIC,
            "the tile %s and its layout %s are C numbers", sett__arg_text(c->b, m->a->tile), sett__layout_text(c->b, l));
        SETT__FAIL_IF(c->b, c->site, c->func, has.u.i != extent.u.i, NULL, SETT_E_SHAPE, "mode %d of the tile %s has %lld elements, and of the shared memory %s %lld", i,
            sett__arg_text(c->b, m->a->tile), (long long)extent.u.i, sett__layout_text(c->b, l), (long long)has.u.i);
    }
    return sett__own(c, sett__node(c, n, shape), sett__node(c, n, stride));
}

/* ---- the box ------------------------------------------------------------------------------------------ */
static int leaf_of(const maker *m, uint32_t path)
{
    for (int i = 0; i < m->n_leaf; i++)
        if (m->leaf[i].path == path)
            return i;
    return NO_MODE;
}

static bool add_mode(maker *m, int at, int64_t extent)
{
    REFUSE_IF(m, m->rank == SETT__MAP_RANK, SETT_E_RANK, "%s: a map has at most %d modes of more than one element, and this needs more: sett_group_modes and sett_coalesce make one of those that lie behind each other",
        text_of(m), SETT__MAP_RANK);
    m->mode[m->rank] = at;
    m->box[m->rank++] = extent;
    return true;
}

/* The tensor's shape. A tile reaches past a mode of one element, whose stride composition takes for nothing: such modes are given room. */
static sett_arg roomy_shape(const maker *m)
{
    const sett_arg shape = m->gmem->layout->shape;
    const int n = sett__arity(shape);
    sett_arg *kid = sett__kids(&m->c, n);
    for (int i = 0; i < n; i++) {
        kid[i] = sett__kid(shape, i);
        kid[i] = sett__is_int(kid[i], 1) ? sett_arg_i(SETT__MAP_BOX + 1) : kid[i];
    }
    return shape.kind == SETT_NODE ? sett_arg_n(n, kid) : kid[0];
}

/* What the places of shared memory hold, as far as they lie together: extents, and strides that are coordinates. */
static sett_layout *places(maker *m, const sett_layout *smem)
{
    sett__ctx *c = &m->c;
    sett_layout *whole = sett_make_identity_layout_at(c->site, c->b, roomy_shape(m));
    if (sett__layout_poison(whole))
        return whole;
    sett_layout *tile = sett__compose(c, whole, m->a->tile), *inverse = sett__layout_poison(tile) ? tile : sett__right_inverse(c, smem);
    m->tile = sett__product(c, smem->shape).u.i;
    m->whole = tile;
    return sett__layout_poison(inverse) ? inverse : sett__coalesce(c, sett__compose(c, tile, sett_arg_l(inverse)));
}

static bool take_box(maker *m, const sett_layout *code)
{
    const int n = sett__leaves(code->shape);
    sett_arg *extent = sett__kids(&m->c, n), *step = sett__kids(&m->c, n);
    sett__flat(code->shape, extent);
    sett__flat(code->stride, step);
    m->elements = 1;
    for (int i = 0; i < n && step[i].kind == SETT_INT && step[i].u.i == 1; i++) {
        const int at = leaf_of(m, step[i].path);
        REFUSE_IF(m, at == NO_MODE || extent[i].kind != SETT_INT, SETT_E_ARGUMENT, "the tile %s takes no whole modes of %s", sett__arg_text(m->c.b, m->a->tile), text_of(m));
        REFUSE_IF(m, extent[i].u.i > SETT__MAP_BOX, SETT_E_LIMIT, "a box of %lld elements of mode %d of %s: it has at most %d", (long long)extent[i].u.i,
            (int)(step[i].path & 15) - 1, text_of(m), SETT__MAP_BOX);
        if (!add_mode(m, at, extent[i].u.i))
            return false;
        m->elements *= extent[i].u.i;
    }
    m->n_box = m->rank;
    const leaf *first = m->n_box ? &m->leaf[m->mode[0]] : NULL;
    REFUSE_IF(m, !first || !sett__is_int(first->stride, 1), SETT_E_ARGUMENT,
        "what lies together in the shared memory %s does not in %s: the mode of stride 1 must be the same", sett__layout_text(m->c.b, smem_layout(m)), text_of(m));
    return true;
}

/* Modes that have one element, or no stride, need none of the map. */
static bool counts(const leaf *x)
{
    return !sett__is_int(x->extent, 1) && !sett__is_int(x->stride, 0);
}

static int mode_of(const maker *m, int at)
{
    for (int i = 0; i < m->rank; i++)
        if (m->mode[i] == at)
            return i;
    return NO_MODE;
}

/* Those that further boxes of a tile go along, and those of other tiles. */
static bool take_rest(maker *m)
{
    const int n = sett__leaves(m->whole->stride);
    sett_arg *extent = sett__kids(&m->c, n), *step = sett__kids(&m->c, n);
    sett__flat(m->whole->shape, extent);
    sett__flat(m->whole->stride, step);
    for (int i = 0; i < n; i++) {
        const int at = leaf_of(m, step[i].path);
        if (at != NO_MODE && !sett__is_int(extent[i], 1) && mode_of(m, at) == NO_MODE && !add_mode(m, at, 1))
            return false;
    }
    for (int i = 0; i < m->n_leaf; i++)
        if (counts(&m->leaf[i]) && mode_of(m, i) == NO_MODE && !add_mode(m, i, 1))
            return false;
    return true;
}

/* Each block that shares the box copies a part of it: its last modes are cut. */
static bool share_box(maker *m, sett__map *map)
{
    int blocks = m->a->multicast;
    const int64_t part = m->elements / blocks * sett__dtype_bytes(m->dtype), align = INT64_C(128) << m->swizzle;
    for (int i = m->n_box - 1; i >= 0 && blocks > 1; i--) {
        const int box = map->box[i], less = box < blocks ? box : blocks;
        REFUSE_IF(m, box % blocks && blocks % box, SETT_E_DIVIDE, "%d blocks do not share a box of %d elements", m->a->multicast, box);
        map->box[i] = (uint16_t)(box / less);
        blocks /= less;
    }
    REFUSE_IF(m, blocks > 1 || (m->a->multicast > 1 && part % align), SETT_E_DIVIDE, "%d blocks share the tile %s: a part of %lld bytes is no multiple of %lld, where its swizzle begins again",
        m->a->multicast, sett__arg_text(m->c.b, m->a->tile), (long long)part, (long long)align);
    return true;
}

/* ---- the map ---------------------------------------------------------------------------------------- */
static const char *map_name(const maker *m)
{
    const sett__sig *s = &m->c.b->sig;
    const char *of = s->param[m->gmem->param].name;
    char text[300];
    int n = snprintf(text, sizeof text, "tma_%.240s", of);
    for (int number = 2; sett__name_taken(m->c.b, text); number++)
        snprintf(text + n, sizeof text - (size_t)n, "_%d", number);
    return sett__keep_name(m->c.b, text);
}

static bool fill_map(maker *m, sett__map *map)
{
    for (int i = 0; i < m->rank; i++) {
        const leaf *x = &m->leaf[m->mode[i]];
        map->step[i] = 1;
        map->box[i] = (uint16_t)m->box[i];
        if (!sett__need_expr(&m->c, "the extent of mode", m->mode[i], x->extent, &map->extent[i]))
            return false;
        const sett_arg one = sett_arg_i(16 / sett__dtype_bytes(m->dtype)), stride = sett__is_int(x->extent, 1) ? one : x->stride; /* nothing uses that of one element */
        const sett_arg bytes = sett__mul(&m->c, stride, sett_arg_i(sett__dtype_bytes(m->dtype)));
        if (i && !sett__need_expr(&m->c, "the stride of mode", m->mode[i], bytes, &map->stride[i]))
            return false;
    }
    return share_box(m, map);
}

static bool promotion_of(const maker *m, uint8_t *to)
{
    static const int bytes[] = {-1, 64, 128, 256};
    const int given = m->a->l2 ? m->a->l2 : 128;
    for (uint8_t i = 0; i < SETT__COUNT(bytes); i++)
        if (bytes[i] == given) {
            *to = i;
            return true;
        }
    REFUSE_IF(m, true, SETT_E_ARGUMENT, ".l2 is %d: a miss fetches 64, 128 or 256 bytes, or -1 as few as needed", given);
}

static bool add_map(maker *m, uint32_t *root)
{
    sett_build *b = m->c.b;
    sett__sig *s = &b->sig;
    sett__map map = {.param = (uint32_t)m->gmem->param, .dtype = (uint8_t)m->dtype, .rank = (uint8_t)m->rank, .swizzle = (uint8_t)m->swizzle, .nan = m->a->nan, .empty = m->a->empty};
    sett_error why;
    REFUSE_IF(m, s->n_map == SETT__MAX_MAPS, SETT_E_LIMIT, "a kernel has at most %d tensor maps", SETT__MAX_MAPS);
    if (m->a->name && !sett__new_name(&m->c, m->a->name))
        return false;
    map.name = m->a->name ? sett__keep_name(b, m->a->name) : map_name(m);
    if (!promotion_of(m, &map.promotion) || !fill_map(m, &map) || b->error.status)
        return false;
    const sett_status wrong = sett__map_verify(s, &map, &why);
    REFUSE_IF(m, wrong, wrong, "%s by tiles %s of %s: %s", text_of(m), sett__arg_text(b, m->a->tile), sett__layout_text(b, smem_layout(m)), why.text);
    if (!sett__grow_in(b, (void **)&s->map, &b->cap_map, s->n_map + 1, sizeof map))
        return false;
    s->map[s->n_map] = map;
    *root = sett__record(b, m->c.site, &(sett__emit){.code = SETT__TMAP, .dtype = m->dtype, .imm = s->n_map});
    s->n_map++;
    return !b->error.status;
}

/* ---- coordinates --------------------------------------------------------------------------------------- */
/* Mode j of the map is 1@j. */
static sett_arg basis(const maker *m, sett_arg shape, int *at)
{
    if (shape.kind != SETT_NODE) {
        const int mode = mode_of(m, (*at)++);
        return (sett_arg){.kind = SETT_INT, .path = (uint32_t)(mode + 1), .u = {.i = mode != NO_MODE}};
    }
    sett_arg *kid = sett__kids(&m->c, shape.rank);
    for (int i = 0; i < shape.rank; i++)
        kid[i] = basis(m, shape.u.kid[i], at);
    return sett_arg_n(shape.rank, kid);
}

static sett_tensor *coordinates(maker *m, const sett_tma *of)
{
    sett_build *b = m->c.b;
    int at = 0;
    sett_arg *zero = sett__kids(&m->c, m->rank), shape = m->gmem->layout->shape;
    for (int i = 0; i < m->rank; i++)
        zero[i] = sett_arg_i(0);
    sett_tensor *t = sett_identity_tensor_at(m->c.site, b, shape);
    if (t->head.poison)
        return t;
    t->layout = sett__own(&m->c, shape, basis(m, shape, &at));
    t->offset = sett__node(&m->c, m->rank, zero);
    t->tma = of;
    return t;
}

/* A tree of strides in coordinates of the tensor, as coordinates of the map. */
static sett_arg mapped(const maker *m, sett_arg stride)
{
    if (stride.kind != SETT_NODE) {
        const int at = stride.path ? leaf_of(m, stride.path) : NO_MODE, mode = at == NO_MODE ? NO_MODE : mode_of(m, at);
        stride.path = (uint32_t)(mode + 1);
        stride.u.i = mode == NO_MODE ? 0 : stride.u.i;
        return stride;
    }
    sett_arg *kid = sett__kids(&m->c, stride.rank);
    for (int i = 0; i < stride.rank; i++)
        kid[i] = mapped(m, stride.u.kid[i]);
    return sett_arg_n(stride.rank, kid);
}

/* The elements of the tile in the order of their places in shared memory, repeated where they do not lie together, in groups of one copy. */
static sett_layout *cut_tile(maker *m, const sett_layout *smem)
{
    sett__ctx *c = &m->c;
    const sett_arg size = sett_arg_i(m->tile);
    sett_layout *inverse = sett__coalesce(c, sett__right_inverse(c, smem));
    if (!sett__layout_poison(inverse) && sett__product(c, inverse->shape).u.i != m->tile)
        inverse = sett_tile_to_shape_at(c->site, sett__own(c, sett__node(c, 1, &inverse->shape), sett__node(c, 1, &inverse->stride)), sett__node(c, 1, &size), SETT_ALL);
    return sett__layout_poison(inverse) ? inverse : sett__logical_divide(c, sett__coalesce(c, inverse), sett_arg_i(m->elements));
}

/* ---- the calls -------------------------------------------------------------------------------------------- */
static bool take_args(maker *m, sett_tma_args *a, const sett_tma_args *given)
{
    if (!sett__take_args(&m->c, a, sizeof *a, given))
        return false;
    m->c.b = SETT__HOME_OR(a->gmem, SETT__HOME_OR(a->smem, sett__home(a->layout)));
    sett_build *b = m->c.b;
    if (!sett__use_tensor(b, m->c.site, m->c.func, a->gmem) || !sett__in_kernel(b, m->c.site, m->c.func) || !sett__use_arg(b, m->c.site, m->c.func, a->tile))
        return false;
    if ((a->smem && !sett__use_tensor(b, m->c.site, m->c.func, a->smem)) || (a->layout && !sett__use_layout(b, m->c.site, m->c.func, a->layout)))
        return false;
    REFUSE_IF(m, !a->smem == !a->layout, SETT_E_ARGUMENT, "how a tile lies in shared memory is said by .smem, a tensor, or by .layout: give one of them");
    REFUSE_IF(m, a->smem && a->smem->space != SETT_SMEM, SETT_E_SPACE, ".smem is %s, which is not in shared memory", sett__tensor_text(b, a->smem));
    REFUSE_IF(m, a->smem && a->smem->dtype != a->gmem->dtype, SETT_E_DTYPE, ".smem is %s of %s, and %s has %s: copies convert nothing", sett__tensor_text(b, a->smem),
        sett_dtype_name((sett_dtype)a->smem->dtype), sett__tensor_text(b, a->gmem), sett_dtype_name((sett_dtype)a->gmem->dtype));
    REFUSE_IF(m, a->tile.kind == SETT_SLICE || (a->tile.kind == SETT_INT && !a->tile.u.i), SETT_E_ARGUMENT, ".tile is missing: T(128, 64), or T1(256) of a vector");
    REFUSE_IF(m, a->multicast < 0 || a->multicast > 16, SETT_E_RANGE, ".multicast is %d: 1 to 16 blocks share a tile", a->multicast);
    a->multicast = a->multicast ? a->multicast : 1;
    return true;
}

static sett_tma *keep(maker *m, const sett_layout *smem, uint32_t root)
{
    sett_tma *t = sett__new_object(m->c.b, SETT__K_TMA, sizeof *t);
    t->gmem = m->gmem;
    t->root = root;
    t->elements = m->elements;
    t->tile = m->tile;
    t->multicast = m->a->multicast;
    t->shape = sett_arg_keep(m->c.b, m->a->tile);
    t->cut = cut_tile(m, smem);
    t->parts = sett__layout_poison(t->cut) ? t->cut : sett__compose(&m->c, sett__own(&m->c, m->whole->shape, mapped(m, m->whole->stride)), sett_arg_l(t->cut));
    t->coords = coordinates(m, t);
    return m->c.b->error.status ? NULL : t;
}

sett_tma *sett_make_tma_at(sett_site site, const sett_tma_args *given)
{
    maker m = {.c = {NULL, site, "sett_make_tma"}};
    sett_tma_args a;
    uint32_t root;
    m.a = &a;
    sett_tma *made = NULL;
    if (take_args(&m, &a, given) && take_gmem(&m)) {
        const sett_layout *smem = tile_layout(&m), *code = smem && !sett__layout_poison(smem) ? places(&m, smem) : NULL;
        if (code && !sett__layout_poison(code) && take_box(&m, code) && take_rest(&m) && (!a.smem || sett__tma_aligned(&m.c, a.smem, m.swizzle)) && add_map(&m, &root))
            made = keep(&m, smem, root);
    }
    return made ? made : m.c.b ? (sett_tma *)(void *)&m.c.b->poison->atom : NULL;
}

bool sett__use_tma(sett__ctx *c, const sett_tma *t)
{
    const sett__head *head = (const sett__head *)(const void *)t;
    c->b = c->b ? c->b : sett__home(head);
    return sett__use_object(c->b, c->site, c->func, head, SETT__K_TMA);
}

sett_tensor *sett_tma_tensor_at(sett_site site, const sett_tma *t)
{
    sett__ctx c = {NULL, site, "sett_tma_tensor"};
    return sett__use_tma(&c, t) ? t->coords : c.b ? &c.b->poison->tensor : NULL;
}

int sett_tma_bytes(const sett_tma *t)
{
    const bool fine = sett__lives("sett_tma_bytes", t, SETT__K_TMA) && !((const sett__head *)(const void *)t)->poison;
    return fine ? (int)(t->tile * sett__dtype_bytes((sett_dtype)t->gmem->dtype)) : 1;
}
