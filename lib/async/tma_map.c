/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor maps in memory: copied from an argument's, changed, fenced, fetched. */
#include "tma.h"

enum { WORDS = SETT__MAP_BYTES / 8 };

/* 128 bytes of global memory, or of shared memory if that will do. */
static bool map_at(const sett__ctx *c, const sett_tensor *t, bool shared, sett__spot_at *at)
{
    if (!sett__use_tensor(c->b, c->site, c->func, t) || !sett__in_kernel(c->b, c->site, c->func))
        return false;
    const bool there = t->space == SETT_GMEM || (shared && t->space == SETT_SMEM && !t->mbarrier);
    SETT__FAIL_IF(c->b, c->site, c->func, !there, false, SETT_E_SPACE, "the map %s is not in global%s memory", sett__tensor_text(c->b, t), shared ? " or shared" : "");
    const bool fits = sett__dtype_bytes((sett_dtype)t->dtype) == 8 && sett__is_int(sett__product(c, t->layout->shape), WORDS) && !t->layout->has_inner;
    const sett_layout *flat = fits ? sett__coalesce(c, t->layout) : NULL;
    SETT__FAIL_IF(c->b, c->site, c->func, !fits || !sett__is_int(flat->stride, 1), false, SETT_E_SHAPE, "the map %s is not %d Uint64 beside each other, 128 bytes", sett__tensor_text(c->b, t), WORDS);
    return sett__place_of(c, t, 0, at);
}

bool sett__map_operand(const sett__ctx *c, const sett_tensor *t, uint32_t *id)
{
    sett__spot_at at;
    if (!map_at(c, t, false, &at))
        return false;
    const uint32_t args[2] = {at.root, at.base};
    *id = sett__record(c->b, c->site, &(sett__emit){.code = SETT__TMAPAT, .dtype = SETT_U64, .n = 1, .imm = at.imm, .n_args = 2, .args = args});
    return !c->b->error.status;
}

void sett_copy_tensormap_at(sett_site site, const sett_tma *tma, const sett_tensor *map)
{
    sett__ctx c = {NULL, site, "sett_copy_tensormap"};
    sett__spot_at at;
    sett__issue one;
    if (!sett__use_tma(&c, tma) || !map_at(&c, map, true, &at) || !sett__issue_begin(&c, NULL, &one))
        return;
    const uint32_t args[3] = {at.root, at.base, tma->root};
    sett__record(c.b, site, &(sett__emit){.code = SETT__MAPCOPY, .imm = at.imm, .n_args = 3, .args = args});
    sett__issue_end(&one);
}

/* ---- changes ------------------------------------------------------------------------------------ */
typedef struct change {
    sett__ctx c;
    const sett_tma *tma;
    sett__spot_at at;
} change;

static void replace(const change *x, int field, int ordinal, const sett_val *v)
{
    const uint32_t args[3] = {x->at.root, x->at.base, v->id};
    sett__record(x->c.b, x->c.site, &(sett__emit){.code = SETT__MAPREPLACE, .imm = x->at.imm, .n_args = 3, .args = args, .n_attrs = 2, .attrs = (const int32_t[]){field, ordinal}});
}

/* An extent in elements, or a stride that becomes bytes. */
static void replace_number(const change *x, bool stride, int mode, sett_arg leaf)
{
    const sett__ctx *c = &x->c;
    const int bytes = sett__dtype_bytes((sett_dtype)x->tma->gmem->dtype);
    if (stride && (!mode || sett__is_int(leaf, 0)))
        return; /* of the first mode it is one element */
    sett_val *v = sett__arg_val(c->b, c->site, leaf);
    if (c->b->error.status)
        return;
    if (!stride) {
        replace(x, SETT__FIELD_EXTENT, mode, sett__to(c->b, c->site, v, SETT_I32));
        return;
    }
    SETT__FAIL_IF(c->b, c->site, c->func, leaf.kind == SETT_INT && leaf.u.i * bytes % 16, , SETT_E_ALIGN, "stride %lld is %lld bytes, and a map takes multiples of 16", (long long)leaf.u.i,
        (long long)leaf.u.i * bytes);
    v = sett__op2(c->b, c->site, SETT__MUL, 0, sett__to(c->b, c->site, v, SETT_I64), sett__const_bits(c->b, c->site, SETT_I64, (uint64_t)bytes));
    replace(x, SETT__FIELD_STRIDE, mode - 1, sett__to(c->b, c->site, v, SETT_U64));
}

/* Through the profile of the map's tensor, whose coordinates say which mode of the map a leaf is. */
static void replace_leaves(const change *x, bool stride, sett_arg new, sett_arg basis)
{
    for (int i = 0; basis.kind == SETT_NODE && i < basis.rank; i++)
        replace_leaves(x, stride, new.u.kid[i], basis.u.kid[i]);
    if (basis.kind != SETT_NODE && basis.path)
        replace_number(x, stride, (int)basis.path - 1, new);
}

static bool replace_all(const change *x, bool stride, sett_arg new)
{
    const sett_layout *l = x->tma->coords->layout;
    if (new.kind == SETT_INT && !new.u.i)
        return true;
    SETT__FAIL_IF(x->c.b, x->c.site, x->c.func, !sett__congruent(new, l->shape), false, SETT_E_RANK, "%s %s has not the profile of %s, of which the map is", stride ? ".stride" : ".shape",
        sett__arg_text(x->c.b, new), sett__tensor_text(x->c.b, x->tma->gmem));
    replace_leaves(x, stride, new, l->stride);
    return !x->c.b->error.status;
}

void sett_update_tma_descriptor_at(sett_site site, const sett_tma *tma, const sett_tma_descriptor_args *given)
{
    change x = {.c = {NULL, site, "sett_update_tma_descriptor"}, .tma = tma};
    sett_tma_descriptor_args a;
    sett__issue one;
    if (!sett__take_args(&x.c, &a, sizeof a, given) || !sett__use_tma(&x.c, tma) || (a.address && !sett__use_val(x.c.b, site, x.c.func, a.address)) ||
        !sett__use_arg(x.c.b, site, x.c.func, a.shape) || !sett__use_arg(x.c.b, site, x.c.func, a.stride) || !map_at(&x.c, a.map, true, &x.at))
        return;
    const sett_val *address = a.address ? sett__need_scalar(&x.c, a.address, ".address", false) : NULL;
    SETT__FAIL_IF(x.c.b, site, x.c.func, address && address->dtype != SETT_U64, , SETT_E_DTYPE, ".address is one %s, not a Uint64 (sett_address)", sett_dtype_name((sett_dtype)address->dtype));
    if (x.c.b->error.status || !sett__issue_begin(&x.c, NULL, &one))
        return;
    if (address)
        replace(&x, SETT__FIELD_ADDRESS, 0, address);
    if (replace_all(&x, false, a.shape))
        replace_all(&x, true, a.stride);
    sett__issue_end(&one);
}

/* ---- fences, fetches ------------------------------------------------------------------------------ */
enum { RELEASE = 3, ACQUIRE = 4 }; /* sett__proxy_word */

static void fence(const sett__ctx *c, int kind, const sett__spot_at *at)
{
    const uint32_t args[2] = {at->root, at->base};
    sett__record(c->b, c->site, &(sett__emit){.code = SETT__PROXY, .imm = at->imm, .n_args = 2, .args = args, .n_attrs = 1, .attrs = &(const int32_t){kind}});
}

void sett_fence_tma_desc_release_at(sett_site site, sett_build *b)
{
    const sett__ctx c = {sett__given(b, site, "sett_fence_tma_desc_release"), site, "sett_fence_tma_desc_release"};
    if (sett__in_kernel(c.b, site, c.func))
        fence(&c, RELEASE, &(const sett__spot_at){SETT__NONE, SETT__NONE, 0});
}

void sett_fence_tma_desc_acquire_at(sett_site site, const sett_tensor *map)
{
    const sett__ctx c = {sett__home(map), site, "sett_fence_tma_desc_acquire"};
    sett__spot_at at;
    if (map_at(&c, map, false, &at))
        fence(&c, ACQUIRE, &at);
}

void sett_prefetch_descriptor_at(sett_site site, const sett_tma *tma, const sett_tensor *map)
{
    sett__ctx c = {NULL, site, "sett_prefetch_descriptor"};
    sett__issue one;
    if (!sett__use_tma(&c, tma) || (map && !sett__use_tensor(c.b, site, c.func, map)))
        return;
    uint32_t args[2] = {tma->root, SETT__NONE};
    if ((map && !sett__map_operand(&c, map, &args[0])) || !sett__issue_begin(&c, NULL, &one))
        return;
    sett__record(c.b, site, &(sett__emit){.code = SETT__MAPFETCH, .n_args = 2, .args = args});
    sett__issue_end(&one);
}
