/* SPDX-License-Identifier: Apache-2.0 */
/* The operations that golden files name, on parsed inputs. */
#include "tests/golden/golden.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const sett_site here = {"golden", "golden", 1, 0};


static sett_layout *lay(run *r, int i)
{
    sett__ctx c = {r->b, here, "golden"};
    if (i < r->n && r->in[i].kind == SETT_LAYOUT)
        return r->in[i].u.l;
    sett__bad(&c, SETT_E_ARGUMENT, "input %d is no layout", i);
    return sett__poison_layout(r->b);
}

static int num(run *r, int i)
{
    return i < r->n && r->in[i].kind == SETT_INT ? (int)r->in[i].u.i : -1;
}

static void give(run *r, sett_arg a)
{
    r->out[r->n_out++] = a;
}

static void give_layout(run *r, sett_layout *l)
{
    give(r, sett_arg_l(l));
}

/* ---- operations of one form -------------------------------------------------------------- */

typedef sett_layout *unary_fn(sett_site, const sett_layout *);
typedef sett_layout *with_arg_fn(sett_site, const sett_layout *, sett_arg);
typedef sett_layout *binary_fn(sett_site, const sett_layout *, const sett_layout *);

static sett_layout *coalesce(sett_site site, const sett_layout *l)
{
    return sett_coalesce_layout_at(site, l, SETT_ALL);
}

static const struct {
    const char *name;
    unary_fn *f;
} unary[] = {{"coalesce", coalesce}, {"filter", sett_filter_at}, {"filter_zeros", sett_filter_zeros_at},
    {"flatten", sett_flatten_at}, {"right_inverse", sett_right_inverse_at}, {"left_inverse", sett_left_inverse_at},
    {"nullspace", sett_nullspace_at}, {"make_layout_like", sett_make_layout_like_at}};

static const struct {
    const char *name;
    with_arg_fn *f;
} with_arg[] = {{"coalesce_by", sett_coalesce_layout_at}, {"filter_by", sett_filter_by_at},
    {"coalesce_prof", sett_coalesce_layout_at}, {"composition", sett_composition_layout_at},
    {"complement", sett_complement_at}, {"logical_divide", sett_logical_divide_layout_at},
    {"zipped_divide", sett_zipped_divide_layout_at}, {"tiled_divide", sett_tiled_divide_layout_at},
    {"flat_divide", sett_flat_divide_layout_at}, {"logical_product", sett_logical_product_at},
    {"zipped_product", sett_zipped_product_at}, {"tiled_product", sett_tiled_product_at},
    {"flat_product", sett_flat_product_at}, {"select", sett_select_layout_at}};

static const struct {
    const char *name;
    binary_fn *f;
} binary[] = {{"blocked_product", sett_blocked_product_at}, {"raked_product", sett_raked_product_at},
    {"append", sett_append_at}, {"prepend", sett_prepend_at}, {"max_common_layout", sett_max_common_layout_at}};

/* ---- the others ----------------------------------------------------------------------------- */

static void op_size(run *r, const char *op)
{
    (void)op;
    give(r, r->in[0].kind == SETT_LAYOUT ? sett_size(lay(r, 0)) : sett_size_arg(r->in[0]));
}

static void op_cosize(run *r, const char *op)
{
    (void)op;
    give(r, sett_cosize(lay(r, 0)));
}

static void op_rank(run *r, const char *op)
{
    give(r, sett_arg_i(*op == 'r' ? sett_rank(lay(r, 0)) : sett_depth(lay(r, 0))));
}

static void op_size_mode(run *r, const char *op)
{
    const sett_layout *l = r->in[0].kind == SETT_LAYOUT ? lay(r, 0) : sett_make_layout_at(here, r->b, r->in[0], SETT_ALL);
    l = sett_get_layout_at(here, l, r->in[1]);
    give(r, *op == 's' ? sett_size_layout(l) : sett_cosize_layout(l));
}

static void op_leading_dim(run *r, const char *op)
{
    (void)op;
    give(r, sett_leading_dim_at(here, lay(r, 0)));
}

static void op_all_less(run *r, const char *op)
{
    (void)op;
    give(r, sett_elem_less_tuple_at(here, r->in[0], r->in[1]));
}

static void op_max_alignment(run *r, const char *op)
{
    (void)op;
    give(r, sett_max_alignment_at(here, lay(r, 0)));
}

static void op_complement0(run *r, const char *op)
{
    (void)op;
    give_layout(r, sett_complement_at(here, lay(r, 0), sett_cosize(lay(r, 0))));
}

static void op_complement_open(run *r, const char *op)
{
    (void)op;
    give_layout(r, sett_complement_at(here, lay(r, 0), SETT_ALL));
}

static void op_tile_to_shape(run *r, const char *op)
{
    (void)op;
    give_layout(r, sett_tile_to_shape_at(here, lay(r, 0), r->in[1], r->n > 2 ? r->in[2] : SETT_ALL));
}

static void op_eval(run *r, const char *op)
{
    (void)op;
    give(r, sett_crd2idx_at(here, lay(r, 0), r->in[1]));
}

static void op_crd2idx(run *r, const char *op)
{
    (void)op;
    give(r, sett_crd2idx_at(here, sett_make_layout_at(here, r->b, r->in[1], SETT_ALL), r->in[0]));
}

/* The compact order of a stride is the only one that the files hold. */
static void op_idx2crd(run *r, const char *op)
{
    (void)op;
    give(r, sett_idx2crd_at(here, r->b, r->in[0], r->in[1]));
}

static void op_increment(run *r, const char *op)
{
    (void)op;
    give(r, sett_increment_coord_at(here, r->b, r->in[0], r->in[1]));
}

static void put_value(run *r, size_t *n, sett_arg a)
{
    char text[256];
    golden_show(r, a, SHOW_PLAIN, text, sizeof text);
    *n += (size_t)snprintf(r->spoken + *n, TEXT - *n, "%s%s", *n ? "," : "", text);
}

static void op_table(run *r, const char *op)
{
    sett_arg size = sett_size(lay(r, 0));
    size_t n = 0;
    (void)op;
    r->spoken = calloc(1, TEXT);
    for (int64_t i = 0; size.kind == SETT_INT && i < size.u.i && n + 256 < TEXT; i++)
        put_value(r, &n, sett_crd2idx_at(here, lay(r, 0), sett_arg_i(i)));
}

/* No offset of l sets a bit that the swizzle would move. */
static bool swizzle_is_idle(const sett_layout *l)
{
    sett_arg n = sett_cosize(l);
    return n.kind == SETT_INT && sett__is_int(l->offset, 0) && n.u.i <= (int64_t)1 << (l->base + (l->shift > 0 ? l->shift : 0));
}

static void op_slice(run *r, const char *op)
{
    int l = r->in[0].kind == SETT_LAYOUT ? 0 : 1;
    sett_arg crd = r->in[!l];
    if (!strncmp(op, "slice", 5)) {
        sett_layout *s = sett_slice_layout_at(here, lay(r, l), crd);
        /* Their slice of a swizzled layout has no start, and no swizzle where it moves nothing. */
        bool idle = !sett__layout_poison(s) && s->has_inner == 1 && swizzle_is_idle(lay(r, l));
        give_layout(r, idle ? sett__layout(r->b, s->shape, s->stride) : s);
    }
    else
        give_layout(r, sett_dice_layout_at(here, lay(r, l), crd));
}

static sett_arg offset_of(const sett_layout *l, sett_arg crd)
{
    return sett_crd2idx_at(here, l, crd);
}

static void op_slice_offset(run *r, const char *op)
{
    if (!strcmp(op, "slice_tensor")) {
        give_layout(r, sett_slice_layout_at(here, lay(r, 1), r->in[0]));
    }
    give(r, offset_of(lay(r, 1), r->in[0]));
}

/* A tuple of C numbers has no build to tell why it has no such mode: the layout of that shape has one, and says it. */
static sett_arg mode_of(run *r)
{
    sett_arg a = sett_get_arg_at(here, r->in[0], r->in[1]);
    if (a.kind == SETT_POISON && !r->b->error.status)
        sett_get_layout_at(here, sett__layout(r->b, r->in[0], r->in[0]), r->in[1]);
    return a;
}

static void op_tuple(run *r, const char *op)
{
    const sett_arg crd_first[2] = {r->in[1], r->in[0]};
    if (!strcmp(op, "slice_tuple"))
        give(r, sett_slice_tuple_at(here, r->b, sett_arg_n(2, crd_first)));
    else if (!strcmp(op, "dice_tuple"))
        give(r, sett_dice_tuple_at(here, r->b, sett_arg_n(2, crd_first)));
    else if (!strcmp(op, "get_tuple"))
        give(r, mode_of(r));
    else if (!strcmp(op, "select_tuple"))
        give(r, sett_select_tuple_at(here, r->b, sett_tuple_cat_at(here, r->b, SETT_T(SETT_T1(r->in[0]), r->in[1]))));
    else
        give(r, sett_flatten_tuple_at(here, r->b, r->in[0]));
}

/* The modes of a tiler or coordinate where the projection is not `_`. */
static sett_arg projected(run *r, sett_arg proj, sett_arg x)
{
    sett__ctx c = {r->b, here, "local_tile"};
    sett_arg *kid = sett__kids(&c, proj.rank);
    int n = 0;
    for (int i = 0; i < proj.rank && i < sett__arity(x); i++)
        if (proj.u.kid[i].kind != SETT_SLICE)
            kid[n++] = sett__kid(x, i);
    return sett_arg_n(n, kid);
}

static sett_arg pair(run *r, sett_arg a, sett_arg b)
{
    sett__ctx c = {r->b, here, "pair"};
    sett_arg *kid = sett__kids(&c, 2);
    kid[0] = a;
    kid[1] = b;
    return sett_arg_n(2, kid);
}

/* `_` for every top mode of x. */
static sett_arg all_of(run *r, sett_arg x)
{
    sett__ctx c = {r->b, here, "all"};
    sett_arg *kid = sett__kids(&c, sett__arity(x));
    for (int i = 0; i < sett__arity(x); i++)
        kid[i] = SETT_ALL;
    return sett_arg_n(sett__arity(x), kid);
}

static void op_local_tile(run *r, const char *op)
{
    sett_arg tiler = r->in[1], crd = r->in[2];
    if (!strcmp(op, "local_tile_proj")) {
        tiler = projected(r, r->in[3], tiler);
        crd = projected(r, r->in[3], crd);
    }
    sett_layout *z = sett_zipped_divide_layout_at(here, lay(r, 0), tiler);
    if (sett__layout_poison(z)) {
        give_layout(r, z);
        return;
    }
    sett_arg at = pair(r, all_of(r, sett__kid(z->shape, 0)), crd);
    give_layout(r, sett_slice_layout_at(here, z, at));
    give(r, offset_of(z, at));
}

static void op_local_partition(run *r, const char *op)
{
    sett__ctx c = {r->b, here, op};
    sett_layout *thr = lay(r, 1);
    sett_layout *z = sett_zipped_divide_layout_at(here, lay(r, 0), sett__product_each(&c, thr->shape));
    sett_arg crd = sett_get_flat_coord_at(here, thr, r->in[2]);
    if (sett__layout_poison(z) || sett__is_poison(crd)) {
        give_layout(r, sett__poison_layout(r->b));
        return;
    }
    sett_arg at = pair(r, crd, all_of(r, sett__kid(z->shape, 1)));
    give_layout(r, sett_slice_layout_at(here, z, at));
    give(r, offset_of(z, at));
}

static void op_get(run *r, const char *op)
{
    (void)op;
    give_layout(r, sett_get_layout_at(here, lay(r, 0), r->in[1]));
}

static void op_modes(run *r, const char *op)
{
    sett__ctx c = {r->b, here, op};
    int begin = num(r, 1), end = num(r, 2);
    if (*op == 'g') {
        give_layout(r, sett_group_modes_at(here, lay(r, 0), begin, end));
        return;
    }
    sett_arg *kid = sett__kids(&c, 16);
    for (int i = begin; i < end && i - begin < 16; i++)
        kid[i - begin] = sett_arg_i(i);
    give_layout(r, sett_select_layout_at(here, lay(r, 0), sett_arg_n(end - begin, kid)));
}

static void op_pad(run *r, const char *op)
{
    bool back = *op == 'a';
    give_layout(r, (back ? sett_append_upto_at : sett_prepend_upto_at)(here, lay(r, 0), SETT_ALL, r->in[1]));
}

static void op_rescale(run *r, const char *op)
{
    if (*op == 'r')
        give_layout(r, sett_recast_layout_at(here, num(r, 0), num(r, 1), lay(r, 2)));
    else
        give_layout(r, sett_recast_layout_at(here, *op == 'u' ? num(r, 0) : 1, *op == 'u' ? 1 : num(r, 0), lay(r, 1)));
}

static void op_make(run *r, const char *op)
{
    if (!strcmp(op, "make_layout"))
        give_layout(r, sett_make_layout_at(here, r->b, r->in[0], SETT_ALL));
    else if (!strcmp(op, "make_layout_row"))
        give_layout(r, sett_row_major_at(here, r->b, r->in[0]));
    else if (!strcmp(op, "make_ordered_layout"))
        give_layout(r, sett_make_ordered_layout_at(here, r->b, r->in[0], r->in[1]));
    else
        give_layout(r, sett_make_identity_layout_at(here, r->b, r->in[0]));
}

static void op_tv(run *r, const char *op)
{
    sett_tv tv = sett_make_layout_tv_at(here, lay(r, 0), lay(r, 1));
    (void)op;
    give(r, tv.tiler);
    give_layout(r, tv.tv);
}

static void op_vector(run *r, const char *op)
{
    (void)op;
    give(r, sett_max_common_vector_at(here, lay(r, 0), lay(r, 1)));
}

static void op_divide_shapes(run *r, const char *op)
{
    give(r, (*op == 's' ? sett_shape_div_in_at : *op == 'c' ? sett_ceil_div_in_at : sett_round_up_in_at)(
                here, r->b, r->in[0], r->in[1]));
}

static void op_relation(run *r, const char *op)
{
    sett_arg a = r->in[0], b = r->in[1];
    static const struct {
        const char *name;
        int (*f)(sett_site, sett_arg, sett_arg);
    } relation[] = {{"elem_less", sett_tuple_less_at}, {"elem_leq", sett_tuple_leq_at}, {"congruent", sett_congruent_at},
        {"weakly_congruent", sett_weakly_congruent_at}, {"compatible", sett_compatible_at},
        {"evenly_divides", sett_evenly_divides_at}};
    for (size_t i = 0; i < SETT__COUNT(relation); i++) {
        if (strcmp(relation[i].name, op))
            continue;
        int yes = relation[i].f(here, a, b);
        sett__ctx c = {r->b, here, op};
        give(r, yes < 0 ? sett__bad(&c, SETT_E_RANK, "invalid: profiles differ") : sett_arg_i(yes));
    }
}

static void op_product(run *r, const char *op)
{
    give(r, !strcmp(op, "product") ? sett_product_at(here, r->in[0]) : sett_product_each_at(here, r->b, r->in[0]));
}

static void op_swizzle(run *r, const char *op)
{
    sett__ctx c = {r->b, here, op};
    int bits = 0, base = 0, shift = 0;
    bool read = sscanf(r->text[0], "S<%d,%d,%d>", &bits, &base, &shift) == 3;
    const sett_layout *l = sett_make_swizzled_at(here, bits, base, shift, sett__layout(r->b, sett_arg_i(1), sett_arg_i(0)));
    if (!read || sett__layout_poison(l)) /* such as no swizzle is */
        give(r, sett__bad(&c, SETT_E_RANGE, "invalid: %s is no swizzle", r->text[0]));
    else
        give(r, sett__xor_shift(&c, r->in[1], bits, base, shift));
}

static const struct {
    const char *name;
    void (*f)(run *, const char *op);
    int least; /* inputs */
} others[] = {{"size", op_size, 1}, {"cosize", op_cosize, 1}, {"rank", op_rank, 1}, {"depth", op_rank, 1},
    {"size_mode", op_size_mode, 2}, {"cosize_mode", op_size_mode, 2},
    {"leading_dim", op_leading_dim, 1}, {"all_less", op_all_less, 2}, {"max_alignment", op_max_alignment, 1}, {"complement0", op_complement0, 1},
    {"tile_to_shape", op_tile_to_shape, 2}, {"eval", op_eval, 2}, {"crd2idx", op_crd2idx, 2}, {"idx2crd", op_idx2crd, 2},
    {"increment_coord", op_increment, 2}, {"table", op_table, 1}, {"slice", op_slice, 2}, {"dice", op_slice, 2},
    {"slice_offset", op_slice_offset, 2}, {"slice_tensor", op_slice_offset, 2}, {"slice_tuple", op_tuple, 2},
    {"dice_tuple", op_tuple, 2}, {"get_tuple", op_tuple, 2}, {"select_tuple", op_tuple, 2}, {"flatten_tuple", op_tuple, 1},
    {"local_tile", op_local_tile, 3}, {"local_tile_proj", op_local_tile, 4}, {"local_partition", op_local_partition, 3},
    {"get", op_get, 2}, {"take", op_modes, 3}, {"group_modes", op_modes, 3}, {"complement", op_complement_open, 1}, {"append_n", op_pad, 2},
    {"prepend_n", op_pad, 2}, {"upcast", op_rescale, 2}, {"downcast", op_rescale, 2}, {"recast_layout", op_rescale, 3},
    {"make_layout", op_make, 1}, {"make_layout_row", op_make, 1}, {"make_ordered_layout", op_make, 2},
    {"make_identity_layout", op_make, 1}, {"make_layout_tv", op_tv, 2}, {"max_common_vector", op_vector, 2},
    {"shape_div", op_divide_shapes, 2}, {"ceil_div", op_divide_shapes, 2}, {"round_up", op_divide_shapes, 2},
    {"elem_less", op_relation, 2}, {"elem_leq", op_relation, 2}, {"congruent", op_relation, 2},
    {"weakly_congruent", op_relation, 2}, {"compatible", op_relation, 2}, {"evenly_divides", op_relation, 2},
    {"product", op_product, 1}, {"product_each", op_product, 1}, {"swizzle", op_swizzle, 2}};

bool golden_op(run *r, const char *op)
{
    for (size_t i = 0; i < SETT__COUNT(unary); i++)
        if (!strcmp(unary[i].name, op) && r->n >= 1) {
            give_layout(r, unary[i].f(here, lay(r, 0)));
            return true;
        }
    for (size_t i = 0; i < SETT__COUNT(with_arg); i++)
        if (!strcmp(with_arg[i].name, op) && r->n >= 2) {
            give_layout(r, with_arg[i].f(here, lay(r, 0), r->in[1]));
            return true;
        }
    for (size_t i = 0; i < SETT__COUNT(binary); i++)
        if (!strcmp(binary[i].name, op) && r->n >= 2) {
            give_layout(r, binary[i].f(here, lay(r, 0), lay(r, 1)));
            return true;
        }
    for (size_t i = 0; i < SETT__COUNT(others); i++)
        if (!strcmp(others[i].name, op) && r->n >= others[i].least) {
            others[i].f(r, op);
            return true;
        }
    return false;
}
