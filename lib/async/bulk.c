/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of stores, policies of L2, copies in bulk. */
#include "tma.h"

void sett_tma_store_commit_at(sett_site site, sett_build *b)
{
    b = sett__given(b, site, "sett_tma_store_commit");
    if (sett__in_kernel(b, site, "sett_tma_store_commit"))
        sett__record(b, site, &(sett__emit){.code = SETT__BULKCOMMIT});
}

void sett_tma_store_wait_at(sett_site site, sett_build *b, int pending, bool read)
{
    const char *func = read ? "sett_tma_store_wait_read" : "sett_tma_store_wait";
    b = sett__given(b, site, func);
    if (!sett__in_kernel(b, site, func))
        return;
    SETT__FAIL_IF(b, site, func, pending < 0 || pending > SETT__MAX_GROUPS, , SETT_E_RANGE, "%d groups, 0 to %d may stay under way", pending, SETT__MAX_GROUPS);
    sett__record(b, site, &(sett__emit){.code = SETT__BULKWAIT, .n_attrs = 2, .attrs = (const int32_t[]){pending, read}});
}

sett_val *sett_cache_policy_at(sett_site site, sett_build *b, sett_evict evict, int percent)
{
    b = sett__given(b, site, "sett_cache_policy");
    if (!sett__in_kernel(b, site, "sett_cache_policy"))
        return sett__poison_val(b);
    SETT__FAIL_IF(b, site, "sett_cache_policy", (unsigned)evict > SETT_EVICT_UNCHANGED, &b->poison->val, SETT_E_ARGUMENT, "%d is no kind of a policy", (int)evict);
    SETT__FAIL_IF(b, site, "sett_cache_policy", percent < 1 || percent > 100, &b->poison->val, SETT_E_RANGE, "%d of a hundred accesses: 1 to 100", percent);
    return sett__scalar_val(b, sett__record(b, site, &(sett__emit){.code = SETT__POLICY, .dtype = SETT_U64, .n = 1, .n_attrs = 2, .attrs = (const int32_t[]){(int32_t)evict, percent}}));
}

/* ---- copies in bulk ------------------------------------------------------------------------------ */
enum { PIECE = 16, MOST = 1 << 20 };

typedef struct bulk {
    sett__ctx c;
    sett_bulk_kind kind;
    const sett_bulk_args *a;
    sett__spot_at src, dst;
    sett__bar bar;
    uint32_t bytes, mask, policy;
    int reduce;
} bulk;

static const struct {
    const char *name;
    uint8_t src, dst;
} bulks[] = {{"sett_bulk_load", SETT_GMEM, SETT_SMEM}, {"sett_bulk_store", SETT_SMEM, SETT_GMEM}, {"sett_bulk_reduce", SETT_SMEM, SETT_GMEM}, {"sett_bulk_peer", SETT_SMEM, SETT_DSMEM}};

static bool use_operands(const sett__ctx *c, const sett_bulk_args *a)
{
    const sett_tensor *const t[] = {a->src, a->dst, a->barrier};
    const sett_val *const v[] = {a->mask, a->policy, a->pred, a->bytes};
    for (size_t i = 0; i < SETT__COUNT(t); i++)
        if ((t[i] || i < 2) && !sett__use_tensor(c->b, c->site, c->func, t[i]))
            return false;
    for (size_t i = 0; i < SETT__COUNT(v); i++)
        if (v[i] && !sett__use_val(c->b, c->site, c->func, v[i]))
            return false;
    return sett__in_kernel(c->b, c->site, c->func);
}

static sett_layout *plain(const sett__ctx *c, const sett_layout *l)
{
    return sett__own(c, l->shape, l->stride);
}

static bool take_side(const bulk *x, const sett_tensor *t, uint8_t space, sett__spot_at *to)
{
    const sett__ctx *c = &x->c;
    SETT__FAIL_IF(c->b, c->site, c->func, t->space != space || t->mbarrier, false, SETT_E_SPACE, "%s is not in %s", sett__tensor_text(c->b, t), sett__space_name((sett_space)space));
    SETT__FAIL_IF(c->b, c->site, c->func, !sett__is_static(t->layout->shape), false, SETT_E_STATIC, "the extents of %s are not static: take a part with sett_local_tile", sett__tensor_text(c->b, t));
    if (!sett__smem_promised(c, t, PIECE, "a copy in bulk"))
        return false;
    const uint32_t align = sett__start_align(t);
    SETT__FAIL_IF(c->b, c->site, c->func, align % PIECE, false, SETT_E_ALIGN, "%s is known to begin at a multiple of %u bytes, and copies in bulk begin at 16: .align and .div say so",
        sett__tensor_text(c->b, t), align);
    return sett__place_of(c, t, 0, to);
}

/* Elements lie beside each other, on both sides in one order, with one swizzle or none. */
static bool check_order(const bulk *x)
{
    const sett__ctx *c = &x->c;
    const sett_tensor *s = x->a->src, *d = x->a->dst;
    const sett_layout *from = s->layout, *to = d->layout;
    const bool alike = from->has_inner == to->has_inner && (!from->has_inner || (from->has_inner == 1 && from->bits == to->bits && from->base == to->base && from->shift == to->shift));
    SETT__FAIL_IF(c->b, c->site, c->func, !alike, false, SETT_E_ARGUMENT, "%s and %s are not swizzled alike, and bytes are copied in their order", sett__tensor_text(c->b, s),
        sett__tensor_text(c->b, d));
    const sett_layout *inverse = sett__right_inverse(c, plain(c, from));
    const sett_arg size = sett__product(c, from->shape);
    bool beside = !sett__layout_poison(inverse) && sett__is_int(sett__product(c, inverse->shape), size.u.i);
    if (beside) {
        const sett_layout *there = sett__coalesce(c, sett__compose(c, plain(c, to), sett_arg_l(inverse)));
        beside = sett__is_int(there->shape, size.u.i) && (size.u.i == 1 || sett__is_int(there->stride, 1));
    }
    SETT__FAIL_IF(c->b, c->site, c->func, !beside, false, SETT_E_SHAPE, "the elements of %s and %s do not lie beside each other in one order: a copy by a map takes such (sett_make_tma)",
        sett__tensor_text(c->b, s), sett__tensor_text(c->b, d));
    return true;
}

static bool take_bytes(bulk *x)
{
    const sett__ctx *c = &x->c;
    const sett_tensor *t = x->a->src;
    const uint64_t all = sett__packed_bytes((sett_dtype)t->dtype, (uint64_t)sett__product(c, t->layout->shape).u.i);
    SETT__FAIL_IF(c->b, c->site, c->func, t->dtype != x->a->dst->dtype, false, SETT_E_DTYPE, "%s to %s: copies convert nothing", sett_dtype_name((sett_dtype)t->dtype),
        sett_dtype_name((sett_dtype)x->a->dst->dtype));
    SETT__FAIL_IF(c->b, c->site, c->func, sett__product(c, x->a->dst->layout->shape).u.i != sett__product(c, t->layout->shape).u.i, false, SETT_E_SHAPE, "%s and %s differ in size",
        sett__tensor_text(c->b, t), sett__tensor_text(c->b, x->a->dst));
    if (x->a->bytes)
        return sett__int_operand(c, sett_arg_v(x->a->bytes), ".bytes", &x->bytes);
    SETT__FAIL_IF(c->b, c->site, c->func, all % PIECE || all >= MOST, false, SETT_E_SHAPE, "%s has %llu bytes: a copy in bulk takes a multiple of 16, less than 2^20", sett__tensor_text(c->b, t),
        (unsigned long long)all);
    x->bytes = sett__const_bits(c->b, c->site, SETT_I32, all)->id;
    return true;
}

static bool take_options(bulk *x)
{
    const sett__ctx *c = &x->c;
    const sett_bulk_args *a = x->a;
    const bool load = x->kind == SETT_BULK_LOAD, peer = x->kind == SETT_BULK_PEER;
    SETT__FAIL_IF(c->b, c->site, c->func, (load || peer) && !a->barrier, false, SETT_E_ARGUMENT, "where its bytes complete is missing: .barrier, an mbarrier%s", peer ? " of the peer" : "");
    SETT__FAIL_IF(c->b, c->site, c->func, !load && !peer && a->barrier, false, SETT_E_ARGUMENT, ".barrier is for loads: this completes with its group (sett_tma_store_commit)");
    SETT__FAIL_IF(c->b, c->site, c->func, !load && a->mask, false, SETT_E_ARGUMENT, ".mask is for loads");
    SETT__FAIL_IF(c->b, c->site, c->func, peer && a->policy, false, SETT_E_ARGUMENT, ".policy is of L2, which a copy to a peer does not use");
    x->reduce = x->kind == SETT_BULK_REDUCE ? sett__reduce_operand(c, (sett_binary_op)x->reduce) : 0;
    if (x->reduce < 0 || ((load || peer) && !sett__take_bar(c, a->barrier, peer, &x->bar)))
        return false;
    SETT__FAIL_IF(c->b, c->site, c->func, peer && !x->bar.peer, false, SETT_E_SPACE, "the mbarrier is this block's: the bytes complete at the peer's, sett_map_dsmem of it");
    return sett__mask_operand(c, a->mask, &x->mask) && sett__policy_operand(c, a->policy, &x->policy);
}

static void record_bulk(const bulk *x)
{
    static const uint8_t code[] = {SETT__BULKLOAD, SETT__BULKSTORE, SETT__BULKREDUCE, SETT__BULKPEER};
    const bool load = x->kind == SETT_BULK_LOAD, done = load || x->kind == SETT_BULK_PEER;
    uint32_t args[10] = {x->dst.root, x->dst.base, x->src.root, x->src.base};
    int32_t attrs[2] = {(int32_t)x->src.imm, done ? (int32_t)x->bar.imm : x->reduce};
    int n = 4;
    if (done)
        args[n++] = x->bar.root, args[n++] = x->bar.base;
    args[n++] = x->bytes;
    args[n++] = SETT__NONE; /* the lane is chosen around it */
    if (load)
        args[n++] = x->mask;
    if (x->kind != SETT_BULK_PEER)
        args[n++] = x->policy;
    SETT__FAIL_IF(x->c.b, x->c.site, x->c.func, attrs[0] != x->src.imm, , SETT_E_RANGE, "an offset of %lld elements is too large", (long long)x->src.imm);
    sett__record(x->c.b, x->c.site,
        &(sett__emit){.code = (sett__code)code[x->kind], .imm = x->dst.imm, .n_args = n, .args = args, .n_attrs = (uint8_t)(x->kind == SETT_BULK_STORE ? 1 : 2), .attrs = attrs});
}

void sett_bulk_copy_at(sett_site site, sett_bulk_kind kind, sett_binary_op op, const sett_bulk_args *given)
{
    sett_bulk_args a;
    const unsigned k = (unsigned)kind < SETT__COUNT(bulks) ? (unsigned)kind : 0;
    bulk x = {.c = {NULL, site, bulks[k].name}, .kind = (sett_bulk_kind)k, .a = &a, .reduce = (int)op};
    sett__issue one;
    if (!sett__take_args(&x.c, &a, sizeof a, given))
        return;
    x.c.b = SETT__HOME_OR(a.src, sett__home(a.dst));
    if (!use_operands(&x.c, &a) || !take_side(&x, a.src, bulks[k].src, &x.src) || !take_side(&x, a.dst, bulks[k].dst, &x.dst) || !take_bytes(&x) || !check_order(&x) || !take_options(&x) ||
        !sett__issue_begin(&x.c, a.pred, &one))
        return;
    record_bulk(&x);
    sett__issue_end(&one);
}

/* ---- stores to a peer ----------------------------------------------------------------------------------- */
/* As many elements at once as are known to lie together, up to 16 bytes: 1, 2 or 4. */
static uint32_t at_once(const sett__ctx *c, const sett_tensor *t, uint32_t n)
{
    const uint32_t bytes = (uint32_t)sett__dtype_bytes((sett_dtype)t->dtype), align = sett__start_align(t);
    const sett_layout *flat = sett__coalesce(c, t->layout);
    uint32_t k = PIECE / bytes;
    while (k > 1 && (n % k || align % (k * bytes) || !sett__is_int(flat->stride, 1)))
        k /= 2;
    return k;
}

static bool take_value(const sett__ctx *c, const sett_tensor *dst, sett_arg val, const sett_val **v)
{
    const int bytes = sett__dtype_bytes((sett_dtype)dst->dtype);
    SETT__FAIL_IF(c->b, c->site, c->func, dst->space != SETT_DSMEM || dst->mbarrier, false, SETT_E_SPACE, "%s is no shared memory of a peer: sett_map_dsmem gives it", sett__tensor_text(c->b, dst));
    SETT__FAIL_IF(c->b, c->site, c->func, dst->dtype == SETT_BOOL || (bytes != 4 && bytes != 8), false, SETT_E_DTYPE, "%s of %s: it stores elements of 4 or 8 bytes", sett__tensor_text(c->b, dst),
        sett_dtype_name((sett_dtype)dst->dtype));
    SETT__FAIL_IF(c->b, c->site, c->func, !sett__is_static(dst->layout->shape) || dst->layout->has_inner, false, SETT_E_STATIC, "%s has no static, plain layout", sett__tensor_text(c->b, dst));
    if (!(*v = sett__stored_arg(c, dst, val)))
        return false;
    const int64_t n = sett__product(c, dst->layout->shape).u.i;
    SETT__FAIL_IF(c->b, c->site, c->func, (*v)->n != 1 && (*v)->n != n, false, SETT_E_SHAPE, "a value of shape %s to %s", sett__arg_text(c->b, (*v)->shape), sett__tensor_text(c->b, dst));
    return true;
}

static bool take_store(const sett__ctx *c, const sett_tensor *dst, const sett_store_async_args *a, const sett_val **v, sett__bar *bar, uint32_t *pred)
{
    *pred = SETT__NONE;
    SETT__FAIL_IF(c->b, c->site, c->func, !a->barrier, false, SETT_E_ARGUMENT, "where its bytes complete is missing: an mbarrier of the peer");
    if (!sett__use_tensor(c->b, c->site, c->func, a->barrier) || (a->pred && !sett__use_val(c->b, c->site, c->func, a->pred)) ||
        !sett__use_arg(c->b, c->site, c->func, a->val) || !take_value(c, dst, a->val, v) || !sett__take_bar(c, a->barrier, true, bar))
        return false;
    const uint32_t *of = c->b->arg + c->b->op[dst->root].args;
    SETT__FAIL_IF(c->b, c->site, c->func, !bar->peer, false, SETT_E_SPACE, "the mbarrier is this block's: the bytes complete at the peer's, sett_map_dsmem of it");
    SETT__FAIL_IF(c->b, c->site, c->func, of[1] != c->b->arg[c->b->op[bar->root].args + 1], false, SETT_E_ARGUMENT, "%s and the mbarrier are of different peers: both are sett_map_dsmem of one rank",
        sett__tensor_text(c->b, dst));
    if (!a->pred)
        return true;
    const sett_val *p = sett__need_scalar(c, a->pred, ".pred", true);
    *pred = p ? p->id : SETT__NONE;
    return p != NULL;
}

void sett_store_async_at(sett_site site, const sett_tensor *dst, const sett_store_async_args *given)
{
    sett__ctx c = {NULL, site, "sett_store_async"};
    sett_store_async_args a;
    const sett_val *v;
    sett__bar bar;
    sett__spot_at at;
    uint32_t pred;
    if (!sett__take_args(&c, &a, sizeof a, given))
        return;
    c.b = SETT__HOME_OR(dst, sett__home(a.barrier));
    if (!sett__use_tensor(c.b, site, c.func, dst) || !sett__in_kernel(c.b, site, c.func) || !take_store(&c, dst, &a, &v, &bar, &pred))
        return;
    const uint32_t n = (uint32_t)sett__product(&c, dst->layout->shape).u.i, k = at_once(&c, dst, n);
    for (uint32_t i = 0; i < n && !c.b->error.status; i += k) {
        const uint32_t each[4] = {i, i + 1, i + 2, i + 3}, first[4] = {0};
        if (!sett__place_of(&c, dst, sett__crd2idx(&c, sett_arg_i(i), dst->layout->shape, dst->layout->stride).u.i, &at))
            return;
        const uint32_t part = v->n == k && k == n ? v->id : sett__pick(c.b, site, v->id, v->n == 1 ? first : each, k);
        const uint32_t args[6] = {at.root, at.base, bar.root, bar.base, part, pred};
        sett__record(c.b, site, &(sett__emit){.code = SETT__STASYNC, .imm = at.imm, .n_args = 6, .args = args, .n_attrs = 1, .attrs = &(const int32_t){(int32_t)bar.imm}});
    }
}
