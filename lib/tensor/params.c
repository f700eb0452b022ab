/* SPDX-License-Identifier: Apache-2.0 */
/* The signature: symbols, parameters, scalars, the launch's shape, shared memory. All that a
 * launch must know is turned into host expressions here, where the caller's line is known. */
#include "tensor.h"
#include <string.h>

/* ---- parameters ---------------------------------------------------------------------------- */
typedef struct declare {
    const sett__ctx *c;
    sett__param *param; /* being made; not in the signature yet */
    int64_t reach;      /* static (extent-1)*|stride| summed, saturated */
} declare;

static bool declare_leaf(declare *d, int mode, sett_arg extent, sett_arg stride)
{
    sett_build *b = d->c->b;
    sett__leaf leaf = {.mode = (uint8_t)mode};
    SETT__FAIL_IF(b, d->c->site, d->c->func, extent.path || stride.path, false, SETT_E_ARGUMENT,
        "%s: a parameter's strides are integers, not basis vectors", d->param->name);
    if (!sett__need_expr(d->c, "the extent of mode", mode, extent, &leaf.extent) ||
        !sett__need_expr(d->c, "the stride of mode", mode, stride, &leaf.stride) ||
        !sett__grow_in(b, (void **)&b->sig.leaf, &b->cap_leaf, b->sig.n_leaf + 1, sizeof leaf))
        return false;
    b->sig.leaf[b->sig.n_leaf++] = leaf;
    int64_t span;
    d->param->wide |= sett__is_64(extent) || sett__is_64(stride);
    if (extent.kind != SETT_INT || stride.kind != SETT_INT || extent.u.i < 1)
        return true;
    if (__builtin_mul_overflow(extent.u.i - 1, stride.u.i < 0 ? -stride.u.i : stride.u.i, &span) ||
        __builtin_add_overflow(d->reach, span, &d->reach))
        d->reach = INT64_MAX;
    return true;
}

/* Leaves in colexicographic order: mode 0 first, depth first. */
static bool declare_mode(declare *d, int mode, sett_arg shape, sett_arg stride)
{
    if (shape.kind != SETT_NODE)
        return declare_leaf(d, mode, shape, stride);
    for (int i = 0; i < shape.rank; i++)
        if (!declare_mode(d, mode, shape.u.kid[i], stride.u.kid[i]))
            return false;
    return true;
}

static bool declare_layout(declare *d, const sett_layout *l)
{
    sett_build *b = d->c->b;
    int rank = l->shape.kind == SETT_NODE ? l->shape.rank : 1;
    SETT__FAIL_IF(b, d->c->site, d->c->func, l->has_inner, false, SETT_E_ARGUMENT,
        "%s: a parameter's layout is shape:stride, not %s", d->param->name, sett__layout_text(b, l));
    SETT__FAIL_IF(b, d->c->site, d->c->func, rank > SETT__MAX_RANK, false, SETT_E_RANK,
        "%s: a parameter has 0 to %d modes, not %d", d->param->name, SETT__MAX_RANK, rank);
    d->param->rank = (uint8_t)rank;
    d->param->leaf = b->sig.n_leaf;
    for (int i = 0; i < rank; i++) {
        bool tuple = l->shape.kind == SETT_NODE;
        if (!declare_mode(d, i, tuple ? l->shape.u.kid[i] : l->shape, tuple ? l->stride.u.kid[i] : l->stride))
            return false;
    }
    d->param->n_leaf = b->sig.n_leaf - d->param->leaf;
    d->param->wide |= d->reach >= INT64_C(1) << 31;
    return true;
}

static bool add_param(const sett__ctx *c, const sett__param *p)
{
    sett_build *b = c->b;
    if (!sett__has_room(c, b->sig.n_param) || !sett__grow_in(b, (void **)&b->sig.param, &b->cap_param, b->sig.n_param + 1, sizeof *p))
        return false;
    b->sig.param[b->sig.n_param++] = *p;
    return true;
}

sett_tensor *sett__declare_param(
    const sett__ctx *c, const char *name, sett_dtype dtype, const sett_param_args *a, bool wide)
{
    sett_build *b = c->b;
    sett_tensor *poison = &b->poison->tensor;
    if (!sett__recording(c))
        return poison;
    SETT__FAIL_IF(b, c->site, c->func, !sett__dtype_valid((int)dtype), poison, SETT_E_DTYPE, "%d is not an element type",
        (int)dtype);
    SETT__FAIL_IF(b, c->site, c->func, a->align < 0 || (a->align & (a->align - 1)) || a->align > SETT__MAX_PARAM_ALIGN, poison, SETT_E_ALIGN,
        "%s: .align is %d, it must be a power of two up to %d", name ? name : "(null)", a->align, SETT__MAX_PARAM_ALIGN);
    if (!sett__use_layout(b, c->site, c->func, a->layout) || !sett__new_name(c, name))
        return poison;
    int bytes = sett__dtype_bytes(dtype);
    uint32_t align = (uint32_t)(a->align > bytes ? a->align : bytes);
    sett__param p = {.name = sett__keep_name(b, name), .dtype = (uint8_t)dtype, .align = align,
        .restricted = a->restricted, .wide = wide};
    declare d = {.c = c, .param = &p};
    if (b->error.status || !declare_layout(&d, a->layout) || !add_param(c, &p))
        return poison;
    return sett__param_tensor(c, p.name, dtype, (int)b->sig.n_param - 1, a->layout, align);
}

sett_tensor *sett_param_at(sett_site site, sett_build *b, const char *name, sett_dtype dtype, const sett_param_args *args)
{
    b = sett__given(b, site, "sett_param");
    sett__ctx c = {b, site, "sett_param"};
    sett_param_args a;
    if (!sett__recording(&c))
        return b ? &b->poison->tensor : NULL;
    return sett__take_args(&c, &a, sizeof a, args) ? sett__declare_param(&c, name, dtype, &a, false) : &b->poison->tensor;
}

sett_tensor *sett__declare_struct(const sett__ctx *c, const char *name, int64_t bytes, int align)
{
    sett_build *b = c->b;
    sett_tensor *poison = &b->poison->tensor;
    if (!sett__recording(c) || !sett__new_name(c, name))
        return poison;
    SETT__FAIL_IF(b, c->site, c->func, bytes > SETT__PARAM_BYTES, poison, SETT_E_LIMIT,
        "%s has %lld bytes: what a kernel is passed by value has at most %d in all; sett_param_struct reads it from memory",
        name, (long long)bytes, SETT__PARAM_BYTES);
    uint32_t to = (uint32_t)(align > SETT__VALUE_ALIGN ? SETT__VALUE_ALIGN : align);
    sett__param p = {.name = sett__keep_name(b, name), .scalar = SETT__BY_STRUCT, .dtype = SETT_U8, .align = to,
        .bytes = (uint32_t)bytes};
    if (b->error.status || !add_param(c, &p))
        return poison;
    const sett_arg size = sett_arg_i(bytes), one = sett_arg_i(1);
    sett_layout *l = sett__layout(b, sett_arg_n(1, &size), sett_arg_n(1, &one));
    return sett__param_tensor(c, p.name, SETT_U8, (int)b->sig.n_param - 1, l, to);
}

sett_val *sett_scalar_at(sett_site site, sett_build *b, const char *name, sett_dtype dtype)
{
    b = sett__given(b, site, "sett_scalar");
    sett__ctx c = {b, site, "sett_scalar"};
    if (!sett__recording(&c))
        return b ? &b->poison->val : NULL;
    bool valid = sett__dtype_valid((int)dtype) && sett__dtype_kind(dtype) != 's' && !sett__dtype_is_wide(dtype);
    SETT__FAIL_IF(b, site, c.func, !valid, &b->poison->val, SETT_E_DTYPE, "%s: a scalar cannot be %s",
        name ? name : "(null)", sett_dtype_name(dtype));
    if (!sett__new_name(&c, name))
        return &b->poison->val;
    uint32_t align = (uint32_t)sett__dtype_bytes(dtype);
    sett__param p = {.name = sett__keep_name(b, name), .scalar = SETT__BY_NUMBER, .dtype = (uint8_t)dtype, .align = align};
    if (b->error.status || !add_param(&c, &p))
        return &b->poison->val;
    uint32_t id = sett__record(b, site,
        &(sett__emit){.code = SETT__SCALAR, .dtype = dtype, .n = 1, .imm = (int64_t)b->sig.n_param - 1});
    return sett__scalar_val(b, id);
}

/* ---- the launch's shape ------------------------------------------------------------------- */
static bool launch_extent(const sett__ctx *c, int i, sett_arg a, int64_t most, sett__expr *expr, sett_val **val)
{
    sett_build *b = c->b;
    bool integer = a.kind == SETT_INT || (a.kind == SETT_VALUE && a.u.v->scalar && sett__dtype_is_int((sett_dtype)a.u.v->dtype));
    SETT__FAIL_IF(b, c->site, c->func, !integer || a.path, false, SETT_E_ARGUMENT, "extent %d must be an integer, not %s", i,
        sett__arg_text(b, a));
    SETT__FAIL_IF(b, c->site, c->func, a.kind == SETT_INT && (a.u.i < 0 || a.u.i > most), false, SETT_E_LIMIT,
        "extent %d is %lld, it may be up to %lld", i, (long long)a.u.i, (long long)most);
    *val = sett__arg_val(b, c->site, a);
    return sett__need_expr(c, "extent", i, a, expr);
}

static bool said_before(const sett__ctx *c, uint32_t where)
{
    const sett__site_ref *s = where ? &c->b->site[where - 1] : NULL;
    if (s)
        sett__fail(c->b, c->site, c->func, SETT_E_ARGUMENT, "this was said before, at %s:%u", c->b->string[s->file], s->line);
    else
        sett__fail(c->b, c->site, c->func, SETT_E_ARGUMENT, "this was said before");
    return false;
}

bool sett__launch_shape(const sett__ctx *c, sett_arg a, const int64_t most[3], sett__expr expr[3], sett_val *val[3], uint32_t *where)
{
    if (!sett__recording(c) || !sett__use_arg(c->b, c->site, c->func, a))
        return false;
    int rank = a.kind == SETT_NODE ? a.rank : 1;
    if (val[0])
        return said_before(c, *where);
    *where = sett__site(c->b, c->site) + 1; /* of none: 0 */
    SETT__FAIL_IF(c->b, c->site, c->func, rank < 1 || rank > 3, false, SETT_E_RANK, "1 to 3 extents are needed, not %s",
        sett__arg_text(c->b, a));
    for (int i = 0; i < rank; i++)
        if (!launch_extent(c, i, a.kind == SETT_NODE ? a.u.kid[i] : a, most[i], &expr[i], &val[i]))
            return false;
    return true;
}

/* What is constant, when both have been said; a launch checks the rest. */
void sett__check_clusters(const sett__ctx *c)
{
    const sett_build *b = c->b;
    for (int d = 0; d < 3 && b->grid[0] && b->cluster[0] && !b->error.status; d++) {
        const int64_t cluster = b->cluster[d] ? b->cluster[d]->hi : 1, grid = b->grid[d] ? b->grid[d]->hi : 1;
        const bool known = !b->grid[d] || b->grid[d]->lo == grid;
        SETT__FAIL_IF(c->b, c->site, c->func, known && grid % cluster, , SETT_E_DIVIDE, "extent %d of the grid is %lld, which is not a multiple of the cluster's, %lld", d, (long long)grid,
            (long long)cluster);
    }
}

void sett_grid_at(sett_site site, sett_build *b, sett_arg a)
{
    b = sett__given(b, site, "sett_grid");
    sett__ctx c = {b, site, "sett_grid"};
    if (b && sett__launch_shape(&c, a, (const int64_t[]){INT32_MAX, 65535, 65535}, b->sig.grid, b->grid, &b->said[0]))
        sett__check_clusters(&c);
}

/* Indices that were asked for before the block was given have its bounds from here on. */
static void bound_indices(sett_build *b)
{
    for (uint32_t i = 0; i < b->n_op; i++)
        if ((b->op[i].code == SETT__TID || b->op[i].code == SETT__BDIM) && b->val_of[i])
            sett__facts(b, b->val_of[i], NULL);
}

void sett_block_at(sett_site site, sett_build *b, sett_arg a)
{
    b = sett__given(b, site, "sett_block");
    sett__ctx c = {b, site, "sett_block"};
    if (!b || !sett__launch_shape(&c, a, (const int64_t[]){1024, 1024, 64}, b->sig.block, b->block, &b->said[1]))
        return;
    int64_t threads = 1;
    for (int i = 0; i < 3; i++) {
        int64_t n = 0;
        if (!b->block[i])
            n = 1;
        else if (b->block[i]->lo == b->block[i]->hi)
            n = b->block[i]->lo;
        if (n > 0) {
            b->block_size[i] = n;
            threads *= n;
        }
        if (b->block[i] && b->block[i]->lo == b->block[i]->hi && n < 1)
            threads = 0;
    }
    if (threads < 1 || threads > 1024)
        sett__fail(b, site, c.func, SETT_E_LIMIT, "a block has 1 to 1024 threads; %s are %lld", sett__arg_text(b, a),
            (long long)threads);
    bound_indices(b);
}

typedef struct smem_more { /* that a launch adds */
    sett_arg bytes; /* so far */
    uint32_t root;  /* of all of them */
} smem_more;

bool sett__smem_more(const sett__ctx *c, sett_arg bytes, uint32_t align, uint32_t step, sett_arg *at, uint32_t *root)
{
    static const sett__build_slot slot = {.size = sizeof(smem_more)};
    sett_build *b = c->b;
    smem_more *more = sett__in_slot(b, &slot);
    const sett_arg to = sett_arg_i(step);
    bool first = !b->more_align;
    *at = first ? sett_arg_i(0) : sett__mul(c, sett__ceil_div(c, more->bytes, to), to);
    more->bytes = sett__add(c, *at, bytes);
    if (b->error.status || !sett__need_expr(c, "the layout's size", -1, more->bytes, &b->sig.smem_more))
        return false;
    b->more_align = align > b->more_align ? align : b->more_align;
    b->smem_align = align > b->smem_align ? align : b->smem_align;
    if (first)
        more->root = sett__record(b, c->site, &(sett__emit){.code = SETT__SMEM, .dtype = SETT_U8});
    *root = more->root;
    return !b->error.status;
}

static bool check_begin(const sett__ctx *c, const sett_tensor *t, uint32_t have, uint32_t need, const char *why)
{
    SETT__FAIL_IF(c->b, c->site, c->func, have < need, false, SETT_E_ALIGN,
        "%s begins at a multiple of %u bytes, and %s needs %u: sett_make_smem_tensor takes the alignment behind the layout", sett__tensor_text(c->b, t), have, why, need);
    return true;
}

bool sett__smem_aligned(const sett__ctx *c, const sett_tensor *t, uint32_t need, const char *why)
{
    const sett__op *root = t->space == SETT_SMEM && t->root != SETT__NONE ? &c->b->op[t->root] : NULL;
    if (!root || root->code != SETT__SMEM || !root->n)
        return true;
    const uint32_t at = (uint32_t)root->imm | c->b->smem_align;
    return check_begin(c, t, at & (0 - at), need, why);
}

bool sett__smem_promised(const sett__ctx *c, const sett_tensor *t, uint32_t need, const char *why)
{
    return t->space != SETT_SMEM || check_begin(c, t, t->align, need, why);
}

uint32_t sett__smem_alloc(sett_build *b, sett_site site, const char *func, uint64_t bytes, uint32_t align)
{
    uint64_t at = ((uint64_t)b->smem_used + align - 1) & ~(uint64_t)(align - 1);
    SETT__FAIL_IF(b, site, func, bytes > SETT__MAX_SMEM || at + bytes > SETT__MAX_SMEM, 0, SETT_E_LIMIT,
        "%llu bytes of shared memory and %u before them; no device gives a block as much as %d", (unsigned long long)bytes,
        b->smem_used, SETT__MAX_SMEM);
    b->smem_used = (uint32_t)(at + bytes);
    if (align > b->smem_align)
        b->smem_align = align;
    return (uint32_t)at;
}
