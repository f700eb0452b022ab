/* SPDX-License-Identifier: Apache-2.0 */
/* Making tensors, asking about them, and their text. */
#include "tensor.h"
#include <string.h>

#define RMEM_ALIGN 32 /* CuTe's, of a register tensor */
#define SMEM_ALIGN 16
#define SMEM_MOST (1u << 30)

static sett_tensor *make(sett_build *b, sett_space space, sett_dtype dtype, sett_layout *l, const char *name)
{
    sett_tensor *t = sett__new_object(b, SETT__K_TENSOR, sizeof *t);
    t->space = (uint8_t)space;
    t->dtype = (uint8_t)dtype;
    t->root = SETT__NONE;
    t->param = -1;
    t->align = 1;
    t->layout = l;
    t->offset = sett_arg_i(0);
    t->name = name;
    return b->error.status ? &b->poison->tensor : t;
}

bool sett__check_element(const sett__ctx *c, sett_dtype dtype)
{
    SETT__FAIL_IF(
        c->b, c->site, c->func, !sett__dtype_valid(dtype), false, SETT_E_DTYPE, "%d is no element type", (int)dtype);
    return true;
}

static bool check_kernel(const sett__ctx *c)
{
    SETT__FAIL_IF(
        c->b, c->site, c->func, !c->b->in_kernel, false, SETT_E_ARGUMENT, "is possible only in a kernel's body");
    return true;
}

sett_tensor *sett__param_tensor(
    const sett__ctx *c, const char *name, sett_dtype dtype, int param, sett_layout *l, uint32_t align)
{
    sett_build *b = c->b;
    if (b->sig.param[param].wide && !l->has_inner)
        l = sett__layout(b, l->shape, sett__widen(c, l->stride));
    sett_tensor *t = make(b, b->sig.param[param].scalar ? SETT_GENERIC : SETT_GMEM, dtype, l, name);
    if (t->head.poison || l->head.poison)
        return &b->poison->tensor;
    t->param = param;
    t->align = align;
    t->logical = true;
    t->root = sett__record(b, c->site, &(sett__emit){.code = SETT__PARAM, .dtype = dtype, .imm = param});
    return b->error.status ? &b->poison->tensor : t;
}

/* ---- coordinates ------------------------------------------------------------------------ */
static sett_arg zeros(sett_build *b, sett_arg shape)
{
    if (shape.kind != SETT_NODE)
        return sett_arg_i(0);
    sett_arg *kid = sett__new(b, shape.rank * sizeof *kid);
    for (int i = 0; i < shape.rank; i++)
        kid[i] = zeros(b, shape.u.kid[i]);
    return sett_arg_n(shape.rank, kid);
}

sett_tensor *sett_identity_tensor_at(sett_site site, sett_build *b, sett_arg shape)
{
    b = sett__given(b, site, "sett_identity_tensor");
    const char *func = "sett_identity_tensor";
    if (!b)
        return NULL;
    if (!sett__use_arg(b, site, func, shape))
        return &b->poison->tensor;
    sett_layout *l = sett_make_identity_layout_at(site, b, shape);
    if (l->head.poison)
        return &b->poison->tensor;
    sett_tensor *t = make(b, SETT_COORD, (sett_dtype)0, l, "coordinates");
    t->offset = zeros(b, l->shape);
    return t;
}

/* ---- registers and shared memory --------------------------------------------------------- */
/* Elements that a static layout reaches, from 0: its largest index + 1; -1: below 0, or too many. */
static int64_t reach(const sett__ctx *c, const sett_layout *l)
{
    sett__axes m;
    if (!sett__axes_of(c, l->shape, l->stride, &m) || m.size > SMEM_MOST)
        return -1;
    int64_t lo = 0, hi = 0;
    for (int i = 0; i < m.n; i++) {
        int64_t far;
        if (__builtin_mul_overflow(m.mode[i].extent - 1, m.mode[i].stride.u.i, &far) ||
            __builtin_add_overflow(far < 0 ? lo : hi, far, far < 0 ? &lo : &hi))
            return -1;
    }
    if (!l->has_inner)
        return lo < 0 ? -1 : hi + 1;
    int top = l->base + l->bits + (l->shift < 0 ? -l->shift : l->shift);
    if (l->has_inner == 1 && !lo && sett__is_int(l->offset, 0) && (hi + 1) % (INT64_C(1) << top) == 0)
        return hi + 1; /* whole blocks, within which a swizzle moves */
    for (int64_t i = hi = 0; i < m.size; i++) {
        sett_arg at = sett__layout_at(c, l, sett_arg_i(i));
        if (at.kind != SETT_INT || at.u.i < 0)
            return -1;
        hi = at.u.i > hi ? at.u.i : hi;
    }
    return hi + 1;
}

static bool is_static(const sett_layout *l)
{
    return sett__is_static(l->shape) && sett__is_static(l->stride) && (!l->has_inner || sett__is_static(l->offset));
}

/* Elements to allocate for a static layout; 0: the build has failed. */
static uint32_t room(const sett__ctx *c, const sett_layout *l, int64_t most)
{
    SETT__FAIL_IF(c->b, c->site, c->func, !is_static(l), 0, SETT_E_STATIC, "the layout %s is not static: its "
        "elements are allocated while building, so its extents and strides must be C integers",
        sett__layout_text(c->b, l));
    int64_t n = reach(c, l);
    SETT__FAIL_IF(c->b, c->site, c->func, n < 1, 0, SETT_E_RANGE, "the layout %s reaches below 0 or past 2^31",
        sett__layout_text(c->b, l));
    SETT__FAIL_IF(c->b, c->site, c->func, n > most, 0, SETT_E_LIMIT,
        "the layout %s needs %lld elements, of at most %lld", sett__layout_text(c->b, l), (long long)n,
        (long long)most);
    return (uint32_t)n;
}

static void note_name(sett_build *b, const sett_tensor *t)
{
    sett__root_name *n = sett__new(b, sizeof *n);
    *n = (sett__root_name){b->root_names, t->root, t->name};
    b->root_names = n;
}

sett_tensor *sett__rmem_tensor(const sett__ctx *c, sett_dtype dtype, sett_layout *l, const char *name)
{
    sett_build *b = c->b;
    if (l->head.poison || !check_kernel(c) || !sett__check_element(c, dtype))
        return &b->poison->tensor;
    uint32_t n = room(c, l, SETT__MAX_WIDTH);
    sett_tensor *t = make(b, SETT_RMEM, dtype, l, name);
    if (!n || t->head.poison)
        return &b->poison->tensor;
    t->align = RMEM_ALIGN;
    bool bytes = sett__is_packed(t);
    t->root = sett__record(b, c->site,
        &(sett__emit){.code = SETT__RMEM, .dtype = bytes ? SETT_U8 : dtype, .n = bytes ? (uint32_t)sett__packed_bytes(dtype, n) : n});
    note_name(b, t);
    return b->error.status ? &b->poison->tensor : t;
}

sett_tensor *sett_make_rmem_tensor_at(sett_site site, sett_build *b, sett_dtype dtype, sett_arg shape)
{
    b = sett__given(b, site, "sett_make_rmem_tensor");
    const sett__ctx c = {b, site, "sett_make_rmem_tensor"};
    if (!b)
        return NULL;
    if (!sett__use_arg(b, site, c.func, shape))
        return &b->poison->tensor;
    SETT__FAIL_IF(b, site, c.func, shape.kind != SETT_LAYOUT && !sett__is_static(shape), &b->poison->tensor,
        SETT_E_STATIC, "the shape %s is not static: registers are allocated while building, so it must be of C integers",
        sett__arg_text(b, shape));
    return sett__rmem_tensor(
        &c, dtype, shape.kind == SETT_LAYOUT ? shape.u.l : sett_make_layout_at(site, b, shape, SETT_ALL), "rmem");
}

/* Elements that a layout of dynamic size reaches. A swizzle moves them within blocks of 2^top, so it may use all of the last. */
static sett_arg reach_dynamic(const sett__ctx *c, const sett_layout *l, bool compact)
{
    sett_arg n = compact ? sett__product(c, l->shape) : sett_cosize_layout(l);
    if (!l->has_inner)
        return n;
    int top = l->base + l->bits + (l->shift < 0 ? -l->shift : 0);
    const sett_arg block = sett_arg_i(INT64_C(1) << top);
    return sett__mul(c, sett__ceil_div(c, sett__add(c, n, l->offset), block), block);
}

/* A name that was given, else where it is made. */
static const char *memory_name(const sett__ctx *c, const char *space, const char *given)
{
    const char *file = c->site.file ? c->site.file : "", *last = strrchr(file, '/');
    char text[100];
    if (given)
        snprintf(text, sizeof text, "%.90s", given);
    else if (*file)
        snprintf(text, sizeof text, "%s@%.80s:%d", space, last ? last + 1 : file, c->site.line);
    else
        return space;
    const char *name = sett__arena_str(&c->b->arena, text);
    return name ? name : space;
}

/* Of a size that the launch computes: behind what is static, in order. Elements narrower than a byte come in whole units:
 * two of 4 bits, four of 6, which begin where 3 divides the place too, so that it is a number of elements. */
static sett_tensor *more_smem(const sett__ctx *c, sett_dtype dtype, sett_layout *l, bool compact, uint32_t align, const char *name)
{
    sett_build *b = c->b;
    sett_tensor *t = make(b, SETT_SMEM, dtype, l, name);
    SETT__FAIL_IF(b, c->site, c->func, l->has_inner == 2, &b->poison->tensor, SETT_E_STATIC,
        "the layout %s is not static: one within another must be of C integers to be shared memory; shape:stride, swizzled or not, may "
        "be made of symbols", sett__layout_text(b, l));
    bool packed = sett__is_packed(t);
    const uint32_t bits = (uint32_t)sett_dtype_bits(dtype);
    const int64_t elements = !packed ? 1 : bits == 6 ? 4 : 2, bytes = !packed ? sett__dtype_bytes(dtype) : bits == 6 ? 3 : 1;
    sett_arg at, units = reach_dynamic(c, l, compact);
    if (packed)
        units = sett__ceil_div(c, units, sett_arg_i(elements));
    if (b->error.status || !sett__smem_more(c, sett__mul(c, units, sett_arg_i(bytes)), align, bytes == 3 ? 3 * align : align, &at, &t->root))
        return &b->poison->tensor;
    t->align = align;
    t->offset = sett__mul(c, sett__div(c, at, sett_arg_i(bytes)), sett_arg_i(elements));
    return b->error.status ? &b->poison->tensor : t;
}

sett_tensor *sett_make_smem_tensor_at(
    sett_site site, sett_build *b, sett_dtype dtype, sett_arg shape, const sett_smem_options *given)
{
    b = sett__given(b, site, "sett_make_smem_tensor");
    const sett__ctx c = {b, site, "sett_make_smem_tensor"};
    sett_smem_options o = {.size = sizeof o};
    if (!b)
        return NULL;
    if ((given && !sett__take_args(&c, &o, sizeof o, given)) || !sett__use_arg(b, site, c.func, shape) || !check_kernel(&c) || !sett__check_element(&c, dtype))
        return &b->poison->tensor;
    sett_layout *l = shape.kind == SETT_LAYOUT ? shape.u.l : sett_make_layout_at(site, b, shape, SETT_ALL);
    const char *name = memory_name(&c, "smem", o.name);
    uint32_t bytes = (uint32_t)sett__dtype_bytes(dtype), to = o.align ? (uint32_t)o.align : SMEM_ALIGN;
    SETT__FAIL_IF(b, site, c.func, o.align < 0 || (to & (to - 1)) || to > 1024, &b->poison->tensor, SETT_E_ALIGN,
        "an alignment of %d is no power of two up to 1024", o.align);
    to = to < bytes ? bytes : to;
    if (!l->head.poison && !is_static(l))
        return more_smem(&c, dtype, l, shape.kind != SETT_LAYOUT, to, name);
    uint32_t n = l->head.poison ? 0 : room(&c, l, SMEM_MOST / bytes);
    sett_tensor *t = make(b, SETT_SMEM, dtype, l, name);
    if (!n || t->head.poison)
        return &b->poison->tensor;
    uint64_t all = sett__packed_bytes(dtype, n);
    uint32_t at = sett__smem_alloc(b, site, c.func, all, to);
    t->align = to;
    bool packed = sett__is_packed(t);
    t->root = sett__record(b, site,
        &(sett__emit){.code = SETT__SMEM, .dtype = packed ? SETT_U8 : dtype, .n = packed ? (uint32_t)all : n, .imm = at});
    note_name(b, t);
    return b->error.status ? &b->poison->tensor : t;
}

/* ---- global memory at an address ------------------------------------------------------------- */
static bool has_basis(sett_arg stride)
{
    bool found = stride.path != 0;
    for (int i = 0; stride.kind == SETT_NODE && i < stride.rank; i++)
        found = found || has_basis(stride.u.kid[i]);
    return found;
}

/* What a parameter's layout must be too. */
static bool check_plain(const sett__ctx *c, const char *name, const sett_layout *l)
{
    if (l->head.poison)
        return false;
    SETT__FAIL_IF(c->b, c->site, c->func, l->has_inner || has_basis(l->stride), false, SETT_E_ARGUMENT,
        "%s: a layout of global memory is shape:stride of integers, not %s", name, sett__layout_text(c->b, l));
    return true;
}

/* An address of 64 bits without a sign; NULL: it is none. */
static const sett_val *take_address(const sett__ctx *c, const char *name, const sett_val *address)
{
    const sett_val *at = sett__need_scalar(c, (sett_val *)(uintptr_t)address, "the address", false);
    SETT__FAIL_IF(c->b, c->site, c->func, at && at->dtype != SETT_U64, NULL, SETT_E_DTYPE, "%s: the address is of %s: a u64, as arrays of addresses have them, or sett_address gives",
        name, sett_dtype_name((sett_dtype)at->dtype));
    return at;
}

/* Nothing bounds it before it is reached, so that offsets have 64 bits. */
sett_tensor *sett_make_gmem_tensor_at(sett_site site, sett_build *b, sett_dtype dtype, const sett_val *address, sett_arg shape, const sett_gmem_options *given)
{
    b = sett__given(b, site, "sett_make_gmem_tensor");
    const sett__ctx c = {b, site, "sett_make_gmem_tensor"};
    sett_gmem_options o = {.size = sizeof o};
    if (!b)
        return NULL;
    sett_tensor *poison = &b->poison->tensor;
    if ((given && !sett__take_args(&c, &o, sizeof o, given)) || !sett__use_arg(b, site, c.func, shape) || !check_kernel(&c) || !sett__check_element(&c, dtype))
        return poison;
    const char *name = memory_name(&c, "gmem", o.name);
    SETT__FAIL_IF(b, site, c.func, o.align < 0 || (o.align & (o.align - 1)) || o.align > SETT__MAX_PARAM_ALIGN, poison, SETT_E_ALIGN,
        "%s: an alignment of %d is no power of two up to %d", name, o.align, SETT__MAX_PARAM_ALIGN);
    const sett_val *at = take_address(&c, name, address);
    sett_layout *l = shape.kind == SETT_LAYOUT ? shape.u.l : sett_make_layout_at(site, b, shape, SETT_ALL);
    if (!at || !check_plain(&c, name, l))
        return poison;
    sett_tensor *t = make(b, SETT_GMEM, dtype, sett__layout(b, l->shape, sett__widen(&c, l->stride)), name);
    if (t->head.poison)
        return poison;
    const int bytes = sett__dtype_bytes(dtype), align = o.align > bytes ? o.align : bytes;
    t->align = (uint32_t)align, t->wide = true;
    t->root = sett__record(b, site,
        &(sett__emit){.code = SETT__GMEM, .dtype = sett__is_packed(t) ? SETT_U8 : dtype, .n_args = 1, .args = &at->id, .n_attrs = 2, .attrs = (const int32_t[]){align, SETT__ACCESS_READ | SETT__ACCESS_WRITE}});
    note_name(b, t);
    return b->error.status ? poison : t;
}

/* ---- other elements in the same bytes ------------------------------------------------------- */
/* Where a swizzle repeats itself, in elements; 1: there is none. */
static int64_t pattern(const sett_layout *l)
{
    return l->has_inner == 1 ? INT64_C(1) << (l->base + l->bits + (l->shift < 0 ? -l->shift : l->shift)) : 1;
}

/* t without what is swizzled of its offset: it begins where its swizzle does, and its layout at 0. */
static const sett_tensor *from_start(const sett__ctx *c, const sett_tensor *t)
{
    const sett_layout *l = t->layout;
    if (!l->has_inner)
        return t;
    bool whole = l->has_inner == 1 && sett__leaf_div(l->offset) % pattern(l) == 0;
    SETT__FAIL_IF(c->b, c->site, c->func, !whole, &c->b->poison->tensor, SETT_E_ALIGN, "%s does not begin where its swizzle does", sett__tensor_text(c->b, t));
    sett_layout *bare = sett__rewrap(c, l, sett__own(c, l->shape, l->stride));
    if (!bare->head.poison)
        bare->offset = sett_arg_i(0);
    return sett__view(t, bare, sett__add_offset(c, t->offset, l->offset));
}

static bool check_alias(const sett__ctx *c, const sett_tensor *t)
{
    const sett__op *root = &c->b->op[t->root];
    bool barriers = root->code == SETT__SMEM && sett__attr(c->b->arg, root, SETT__AT_SMEM_MBARRIER);
    SETT__FAIL_IF(c->b, c->site, c->func, t->space != SETT_SMEM, false, SETT_E_SPACE, "%s is in %s: only shared memory of the block has aliases", sett__tensor_text(c->b, t),
        sett__space_name((sett_space)t->space));
    SETT__FAIL_IF(c->b, c->site, c->func, barriers, false, SETT_E_SPACE, "%s holds mbarriers, which have no other elements", sett__tensor_text(c->b, t));
    return true;
}

static int bits_of(sett_dtype d)
{
    return d == SETT_BOOL ? 8 : sett_dtype_bits(d);
}

static bool check_fit(const sett__ctx *c, const sett_tensor *t, sett_dtype dtype, const sett_layout *l)
{
    uint32_t have = room(c, t->layout, SMEM_MOST), want = have ? room(c, l, SMEM_MOST) : 0;
    if (!want)
        return false;
    uint64_t bytes = sett__packed_bytes(dtype, want), all = sett__packed_bytes((sett_dtype)t->dtype, have);
    SETT__FAIL_IF(c->b, c->site, c->func, bytes > all, false, SETT_E_LIMIT, "%s of %s is %llu bytes, and %s has %llu", sett__layout_text(c->b, l), sett_dtype_name(dtype),
        (unsigned long long)bytes, sett__tensor_text(c->b, t), (unsigned long long)all);
    const uint32_t swizzle = (uint32_t)(pattern(l) * bits_of(dtype) / 8), element = (uint32_t)sett__dtype_bytes(dtype), need = swizzle > element ? swizzle : element;
    const uint32_t at = sett__start_align(t);
    char why[300];
    snprintf(why, sizeof why, "%s of %s", sett__layout_text(c->b, l), sett_dtype_name(dtype));
    if (!sett__smem_promised(c, t, need, why))
        return false;
    SETT__FAIL_IF(c->b, c->site, c->func, at < need, false, SETT_E_ALIGN, "%s is known to begin at a multiple of %u bytes, and %s begins at one of %u",
        sett__tensor_text(c->b, t), at, why, need);
    return true;
}

sett_tensor *sett_smem_alias_at(sett_site site, const sett_tensor *t, sett_dtype dtype, sett_arg shape)
{
    const sett__ctx c = {sett__home(t), site, "sett_smem_alias"};
    if (!sett__use_tensor(NULL, site, c.func, t) || !sett__use_arg(c.b, site, c.func, shape) || !sett__check_element(&c, dtype) || !check_alias(&c, t))
        return c.b ? &c.b->poison->tensor : NULL;
    sett_layout *l = shape.kind == SETT_LAYOUT ? shape.u.l : sett_make_layout_at(site, c.b, shape, SETT_ALL);
    t = from_start(&c, t);
    if (t->head.poison || l->head.poison || !check_fit(&c, t, dtype, l))
        return &c.b->poison->tensor;
    sett_tensor *r = sett__view(t, l, sett__recast_offset(&c, t, bits_of((sett_dtype)t->dtype), bits_of(dtype)));
    if (!r->head.poison) {
        r->dtype = (uint8_t)dtype;
        r->fragment = NULL;
    }
    return r;
}

/* ---- fragments ------------------------------------------------------------------------------- */
/* Sorts after: dynamic strides last, basis strides and ties in their order. */
static bool after(const sett__axis *x, const sett__axis *y)
{
    if (x->stride.path || y->stride.path || y->stride.kind != SETT_INT)
        return false;
    if (x->stride.kind != SETT_INT)
        return true;
    int64_t a = x->stride.u.i, b = y->stride.u.i;
    return (a < 0 ? -a : a) > (b < 0 ? -b : b);
}

/* The strides that make a layout compact in the order that it has. Modes of extent 1 or
 * stride 0 get 0: CuTe's make_layout_like. */
static void like(const sett__axes *m, int64_t *stride, int *order)
{
    int n = 0;
    for (int i = 0; i < m->n; i++) {
        const sett__axis *x = &m->mode[i];
        stride[i] = 0;
        if (x->extent == 1 || sett__is_int(x->stride, 0))
            continue;
        int at = n++;
        for (; at && after(&m->mode[order[at - 1]], x); at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    int64_t size = 1;
    for (int i = 0; i < n; i++) {
        stride[order[i]] = size;
        size *= m->mode[order[i]].extent;
    }
}

static sett_arg unflatten(sett_build *b, sett_arg shape, const int64_t **leaf)
{
    if (shape.kind != SETT_NODE)
        return sett_arg_i(*(*leaf)++);
    sett_arg *kid = sett__new(b, shape.rank * sizeof *kid);
    for (int i = 0; i < shape.rank; i++)
        kid[i] = unflatten(b, shape.u.kid[i], leaf);
    return sett_arg_n(shape.rank, kid);
}

sett_tensor *sett_make_fragment_like_at(sett_site site, const sett_tensor *t, sett_dtype dtype)
{
    const sett__ctx c = {sett__home(t), site, "sett_make_fragment_like"};
    sett__axes m;
    if (!sett__use_tensor(NULL, site, c.func, t))
        return t ? &c.b->poison->tensor : NULL;
    SETT__FAIL_IF(c.b, site, c.func, t->space == SETT_COORD && !dtype, &c.b->poison->tensor, SETT_E_DTYPE,
        "a fragment like a coordinate tensor needs an element type");
    if (!sett__axes_of(&c, t->layout->shape, t->layout->stride, &m))
        return &c.b->poison->tensor;
    int64_t *stride = sett__new(c.b, (size_t)m.n * sizeof *stride + 1);
    int *order = sett__new(c.b, (size_t)m.n * sizeof *order + 1);
    like(&m, stride, order);
    const int64_t *leaf = stride;
    sett_layout *l = sett__layout(c.b, t->layout->shape, unflatten(c.b, t->layout->shape, &leaf));
    return sett__rmem_tensor(&c, dtype ? dtype : (sett_dtype)t->dtype, l, "fragment");
}

sett_tensor *sett_var_at(sett_site site, sett_build *b, sett_dtype dtype, sett_arg init)
{
    b = sett__given(b, site, "sett_var");
    const sett__ctx c = {b, site, "sett_var"};
    if (!b)
        return NULL;
    if (!sett__use_arg(b, site, c.func, init))
        return &b->poison->tensor;
    sett_tensor *t = sett__rmem_tensor(&c, dtype, sett__layout(b, sett_arg_i(1), sett_arg_i(0)), "var");
    if (!t->head.poison)
        sett__set(&c, t, init, sett_arg_i(0));
    return b->error.status ? &b->poison->tensor : t;
}

/* ---- asking ------------------------------------------------------------------------------------ */
#define TENSOR_GETTER(op) \
    sett_arg sett_##op##_tensor(const sett_tensor *t) \
    { \
        return sett_##op##_layout(sett__lives("sett_" #op, t, SETT__K_TENSOR) ? t->layout : NULL); \
    }
SETT_GETTERS(TENSOR_GETTER)

int sett_rank_tensor(const sett_tensor *t)
{
    return sett_rank_layout(sett__lives("sett_rank", t, SETT__K_TENSOR) ? t->layout : NULL);
}

int sett_depth_tensor(const sett_tensor *t)
{
    return sett_depth_layout(sett__lives("sett_depth", t, SETT__K_TENSOR) ? t->layout : NULL);
}

sett_dtype sett_tensor_dtype(const sett_tensor *t)
{
    return sett__lives("sett_tensor_dtype", t, SETT__K_TENSOR) ? (sett_dtype)t->dtype : (sett_dtype)0;
}

sett_space sett_tensor_space(const sett_tensor *t)
{
    return sett__lives("sett_tensor_space", t, SETT__K_TENSOR) ? (sett_space)t->space : SETT_GENERIC;
}

sett_layout *sett_tensor_layout(const sett_tensor *t)
{
    return sett__lives("sett_tensor_layout", t, SETT__K_TENSOR) ? t->layout : NULL;
}
