/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts of shared memory that wgmma, TMA and ldmatrix read, and the descriptors of such matrices. */
#include "atom.h"
#include <sett/cost.h>

enum { PIECE = 16, ROWS = 8, WIDEST = 128 }; /* bytes; rows of an atom; bytes of a row */

static int log2_of(int n)
{
    int k = 0;
    while (1 << k < n)
        k++;
    return k;
}

static bool check_type(const sett__ctx *c, sett_dtype dtype, sett_major major)
{
    int bits = sett__dtype_valid(dtype) ? sett_dtype_bits(dtype) : 0;
    SETT__FAIL_IF(c->b, c->site, c->func, bits < 8 || bits > 64 || bits & (bits - 1), false, SETT_E_DTYPE, "%s: a matrix there has elements of 8, 16, 32 or 64 bits",
        bits ? sett_dtype_name(dtype) : "no type");
    SETT__FAIL_IF(c->b, c->site, c->func, major != SETT_K_MAJOR && major != SETT_MN_MAJOR, false, SETT_E_ARGUMENT, "%d is no major mode", (int)major);
    return true;
}

static sett_layout *layout_atom(const sett__ctx *c, sett_dtype dtype, sett_major major, int bytes)
{
    int element = sett_dtype_bits(dtype) / 8, n = bytes / element;
    bool k = major == SETT_K_MAJOR;
    sett_arg shape = sett__pair(c, sett_arg_i(k ? ROWS : n), sett_arg_i(k ? n : ROWS)), stride = sett__pair(c, sett_arg_i(k ? n : 1), sett_arg_i(k ? 1 : n));
    return sett_make_swizzled_at(c->site, log2_of(bytes / PIECE), log2_of(PIECE / element), 3, sett__own(c, shape, stride));
}

sett_layout *sett_smem_layout_atom_at(sett_site site, sett_build *b, sett_dtype dtype, sett_major major, int bytes)
{
    b = sett__given(b, site, "sett_smem_layout_atom");
    const sett__ctx c = {b, site, "sett_smem_layout_atom"};
    if (!b)
        return NULL;
    if (b->error.status || !check_type(&c, dtype, major))
        return sett__poison_layout(b);
    SETT__FAIL_IF(b, site, c.func, bytes != 16 && bytes != 32 && bytes != 64 && bytes != 128, sett__poison_layout(b), SETT_E_ARGUMENT,
        "%d bytes: 128, 64, 32 or 16", bytes);
    return layout_atom(&c, dtype, major, bytes);
}

sett_layout *sett_smem_layout_at(sett_site site, sett_build *b, sett_dtype dtype, sett_major major, sett_arg tile)
{
    b = sett__given(b, site, "sett_smem_layout");
    const sett__ctx c = {b, site, "sett_smem_layout"};
    if (!b)
        return NULL;
    if (!sett__use_arg(b, site, c.func, tile) || !check_type(&c, dtype, major))
        return sett__poison_layout(b);
    SETT__FAIL_IF(b, site, c.func, !sett__is_static(tile) || sett__arity(tile) < 2, sett__poison_layout(b), SETT_E_STATIC,
        "the tile %s is not static extents (M or N, K, stages...)", sett__arg_text(b, tile));
    if (!sett__check_shape(&c, tile))
        return sett__poison_layout(b);
    bool k = major == SETT_K_MAJOR;
    sett_arg row = sett__product(&c, tile.u.kid[k]), rest = sett__product(&c, tile.u.kid[!k]);
    int64_t bytes = row.u.i * sett_dtype_bits(dtype) / 8;
    int widest = WIDEST;
    while (widest > PIECE && bytes % widest)
        widest /= 2;
    SETT__FAIL_IF(b, site, c.func, bytes % widest, sett__poison_layout(b), SETT_E_DIVIDE, "a row of %s in %s is %lld bytes, no multiple of %d", sett__arg_text(b, tile),
        sett_dtype_name(dtype), (long long)bytes, PIECE);
    SETT__FAIL_IF(b, site, c.func, rest.u.i % ROWS, sett__poison_layout(b), SETT_E_DIVIDE, "the extent %lld of mode %d of %s is no multiple of %d",
        (long long)rest.u.i, k ? 0 : 1, sett__arg_text(b, tile), ROWS);
    int n = sett__arity(tile);
    sett_arg *order = sett__kids(&c, n); /* atoms beside each other first where rows are */
    for (int i = 0; i < n; i++)
        order[i] = sett_arg_i(i > 1 ? i : k ? i : !i);
    return sett_tile_to_shape_at(site, layout_atom(&c, dtype, major, widest), sett_arg_keep(b, tile), sett__node(&c, n, order));
}

/* ---- what its accesses cost ------------------------------------------------------------------------ */
/* (thread, elements of a piece) -> element of the tile: threads go along the contiguous mode first, or down the other. */
static sett_layout *pieces_tv(const sett__ctx *c, int64_t rows, int64_t columns, int64_t each, bool k, bool down)
{
    const int64_t run = k ? columns : rows, other = k ? rows : columns, step = k ? rows : 1, far = k ? 1 : rows;
    sett_arg along = sett_arg_i(run / each), across = sett_arg_i(other), one = sett_arg_i(each * step), next = sett_arg_i(far);
    sett_arg extent = down ? sett__pair(c, across, along) : sett__pair(c, along, across), stride = down ? sett__pair(c, next, one) : sett__pair(c, one, next);
    return sett__own(c, sett__pair(c, extent, sett_arg_i(each)), sett__pair(c, stride, sett_arg_i(step)));
}

static void study_tile(const sett__ctx *c, const sett_layout *l, sett_dtype dtype, bool k, sett_smem_cost *f)
{
    const int64_t rows = sett__product(c, sett__kid(l->shape, 0)).u.i, columns = sett__product(c, sett__kid(l->shape, 1)).u.i, each = 8 * PIECE / sett_dtype_bits(dtype);
    SETT__FAIL_IF(c->b, c->site, c->func, (k ? columns : rows) % each, , SETT_E_DIVIDE, "a row of %s in %s is no multiple of %d bytes", sett__layout_text(c->b, l),
        sett_dtype_name(dtype), PIECE);
    const sett_layout *tile = sett__rewrap(c, l, sett__join(c, 2, (sett_layout *[]){sett__mode(c, l, 0), sett__mode(c, l, 1)}));
    f->writers_tv = pieces_tv(c, rows, columns, each, k, false);
    f->readers_tv = pieces_tv(c, rows, columns, each, k, true);
    f->writers = sett_access_cost_at(c->site, &(sett_access_cost_args){.size = sizeof(sett_access_cost_args), .layout = f->writers_tv, .tensor = tile, .dtype = dtype});
    f->readers = sett_access_cost_at(c->site, &(sett_access_cost_args){.size = sizeof(sett_access_cost_args), .layout = f->readers_tv, .tensor = tile, .dtype = dtype});
    f->swizzle = l->has_inner == 1 ? PIECE << l->bits : 0;
}

sett_smem_cost sett_smem_access_cost_at(sett_site site, const sett_layout *l, sett_dtype dtype, sett_major major)
{
    static const sett_cost none = {.alignment = ""};
    const sett__ctx c = {sett__home(l), site, "sett_smem_access_cost"};
    sett_layout *bad = c.b ? sett__poison_layout(c.b) : NULL;
    sett_smem_cost f = {.writers = &none, .readers = &none, .writers_tv = bad, .readers_tv = bad};
    if (!sett__use_layout(c.b, site, c.func, l) || !check_type(&c, dtype, major))
        return f;
    SETT__FAIL_IF(c.b, site, c.func, !sett__is_static(l->shape) || !sett__is_static(l->stride) || sett__arity(l->shape) < 2, f, SETT_E_STATIC,
        "%s is no static layout of a tile (M or N, K, stages...)", sett__layout_text(c.b, l));
    study_tile(&c, l, dtype, major == SETT_K_MAJOR, &f);
    return f;
}

/* ---- descriptors ------------------------------------------------------------------------------------ */
/* The swizzle's bits; -1: the build has failed. */
static int swizzle_of(const sett__ctx *c, const sett_layout *l, sett_dtype dtype)
{
    int base = log2_of(PIECE * 8 / sett_dtype_bits(dtype));
    bool fine = !l->has_inner || (l->has_inner == 1 && l->bits <= 3 && l->base == base && l->shift == 3);
    SETT__FAIL_IF(c->b, c->site, c->func, !fine, -1, SETT_E_ARGUMENT, "%s is swizzled as wgmma does not read %s: S<0..3,%d,3> exchanges pieces of 16 bytes",
        sett__layout_text(c->b, l), sett_dtype_name(dtype), base);
    return l->has_inner ? l->bits : 0;
}

static int64_t stride_at(const sett_layout *l, int i, int k)
{
    sett_arg d = sett__kid(sett__kid(l->stride, i), k);
    return d.kind == SETT_INT && !d.path ? d.u.i : -1;
}

/* In pieces of 16 bytes: ((8,m),(2,k)) of a K-major matrix, ((W,m),(8,k)) of the other. NULL: the build has failed. */
static sett_layout *canonical(const sett__ctx *c, const sett_layout *l, sett_dtype dtype, bool k, int w)
{
    static const char *const name[] = {"MN", "K"};
    sett_layout *plain = sett__own(c, l->shape, l->stride), *row = sett__coalesce(c, sett__mode(c, plain, k)), *other = sett__coalesce(c, sett__mode(c, plain, !k));
    if (sett__layout_poison(row) || sett__layout_poison(other))
        return NULL;
    sett_arg extent = sett__kid(row->shape, 0), run = sett__kid(row->stride, 0);
    SETT__FAIL_IF(c->b, c->site, c->func, !sett__is_int(run, 1) && sett__is_int(sett__kid(other->stride, 0), 1), NULL, SETT_E_ARGUMENT,
        "%s is %s-major, and is read as %s-major", sett__layout_text(c->b, l), name[!k], name[k]);
    int64_t elements = 8 * PIECE / sett_dtype_bits(dtype);
    SETT__FAIL_IF(c->b, c->site, c->func, !sett__is_int(run, 1) || extent.u.i % elements, NULL, SETT_E_ARGUMENT, "%s has no rows of 16 contiguous bytes along mode %d",
        sett__layout_text(c->b, l), k);
    plain = sett_recast_layout_at(c->site, 8 * PIECE, sett_dtype_bits(dtype), plain);
    if (sett__layout_poison(plain))
        return NULL;
    int64_t m = sett__product(c, sett__kid(plain->shape, 0)).u.i, n = sett__product(c, sett__kid(plain->shape, 1)).u.i;
    SETT__FAIL_IF(c->b, c->site, c->func, m % (k ? ROWS : w) || n % (k ? 2 : ROWS), NULL, SETT_E_DIVIDE, "%s is no multiple of %d by %lld elements",
        sett__layout_text(c->b, l), k ? ROWS : (int)(w * elements), (long long)(k ? 2 * elements : ROWS));
    plain = sett__logical_divide(c, plain, sett__pair(c, sett_arg_i(k ? ROWS : w), sett_arg_i(k ? 2 : ROWS)));
    return sett__layout_poison(plain) ? NULL : plain;
}

sett_smem_descriptor sett__descriptor(const sett__ctx *c, const sett_layout *l, sett_dtype dtype, sett_major major)
{
    static const uint8_t type[] = {0, 3, 2, 1};
    const sett_smem_descriptor none = {-1, 0, 0};
    SETT__FAIL_IF(c->b, c->site, c->func, sett__arity(l->shape) != 2 || !sett__is_static(l->shape) || !sett__is_static(l->stride), none, SETT_E_STATIC,
        "%s is no static layout of a matrix (M or N, K)", sett__layout_text(c->b, l));
    const bool k = major == SETT_K_MAJOR;
    int bits = swizzle_of(c, l, dtype), w = 1 << (bits < 0 ? 0 : bits);
    sett_layout *r = bits < 0 ? NULL : canonical(c, l, dtype, k, w);
    if (!r)
        return none;
    int64_t row = stride_at(r, 0, 0), piece = stride_at(r, 1, 0), far = stride_at(r, 0, 1), next = stride_at(r, 1, 1);
    bool rows = k ? row == w && (!bits || piece == 1) : (w == 1 || row == 1) && piece == w;
    SETT__FAIL_IF(c->b, c->site, c->func, !rows || far < 0 || next < 0, none, SETT_E_ARGUMENT,
        "%s is no matrix that wgmma reads: use sett_smem_layout, or tiles of sett_smem_layout_atom", sett__layout_text(c->b, l));
    int64_t lead = k ? piece : bits ? far : next, stride = k || !bits ? far : next;
    SETT__FAIL_IF(c->b, c->site, c->func, lead > 16383 || stride > 16383, none, SETT_E_RANGE, "%s: %lld bytes are more than a descriptor holds",
        sett__layout_text(c->b, l), (long long)(lead > stride ? lead : stride) * PIECE);
    return (sett_smem_descriptor){type[bits], (int)lead, (int)stride};
}

sett_smem_descriptor sett_smem_descriptor_at(sett_site site, const sett_layout *l, sett_dtype dtype, sett_major major)
{
    const sett__ctx c = {sett__home(l), site, "sett_make_smem_descriptor"};
    if (!sett__use_layout(c.b, site, c.func, l) || !check_type(&c, dtype, major))
        return (sett_smem_descriptor){-1, 0, 0};
    return sett__descriptor(&c, l, dtype, major);
}
