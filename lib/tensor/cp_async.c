/* SPDX-License-Identifier: Apache-2.0 */
/* Copies in the background (cp.async), which are as wide as both sides allow.
 *
 * The elements, in order of their place in shared memory, fall into runs that are adjacent on both sides, and those into
 * pieces of 16, 8 or 4 bytes. A predicate must be one truth for a piece. Where it may not be, but the addresses would
 * allow more, one test decides for all such pieces: all inside, and each is one copy; else each is as many narrower ones
 * as have a truth of their own, those of less than 4 bytes through registers. */
#include "inside.h"

enum { WIDEST = 16, LEAST = 4, TO = 0, FROM = 1 }; /* bytes of one copy; sides */

typedef struct copies {
    sett__cut x; /* spots: elements in order of place in dst */
    const sett_cp_async_args *a;
} copies;

static uint32_t guard_of(const copies *x, uint32_t first, uint32_t n, bool stay)
{
    return sett__guard_all(&x->x.c, &x->x.guard, x->x.kind + first, n, stay);
}

/* Every element is a spot, of one kind. */
static bool take_spots(copies *x)
{
    sett__cut *cut = &x->x;
    const sett__guard *g = &cut->guard;
    cut->n = cut->side[TO].p.n;
    cut->spot = sett__spots(&cut->c, &cut->side[TO].p, NULL);
    cut->first = sett__new(cut->c.b, (cut->n + 1) * sizeof *cut->first);
    cut->kind = sett__new(cut->c.b, cut->n * sizeof *cut->kind);
    if (cut->c.b->error.status)
        return false;
    for (uint32_t i = 0; i < cut->n; i++) {
        cut->first[i + 1] = i + 1;
        cut->kind[i] = g->map ? g->map[cut->spot[i].elem] : 0;
    }
    return true;
}

static bool plan(copies *x)
{
    sett__cut *cut = &x->x;
    if (!sett__cut_plan(cut))
        return false;
    for (const sett__piece *p = cut->piece; p < cut->piece + cut->n_piece; p++)
        SETT__FAIL_IF(cut->c.b, cut->c.site, cut->c.func, p->n * cut->bytes < LEAST, false, SETT_E_ALIGN,
            "%s to %s: %u bytes are proven to lie together, %s; it copies 4 at least: sett_copy copies these", sett__tensor_text(cut->c.b, x->a->src),
            sett__tensor_text(cut->c.b, x->a->dst), p->n * cut->bytes,
            sett__cut_run(cut, p->first) * cut->bytes < LEAST ? "for the layouts" : "for the alignment");
    return true;
}

/* ---- recording -------------------------------------------------------------------------------- */
static uint32_t base_id(sett_arg base)
{
    return base.kind == SETT_VALUE ? base.u.v->id : SETT__NONE;
}

/* Fewer than 4 bytes: a load and a store. */
static void through_registers(const copies *x, uint32_t first, uint32_t n, uint32_t guard)
{
    const sett__spot *s = &x->x.spot[first];
    sett_dtype dtype = (sett_dtype)x->a->src->dtype;
    uint32_t zero = guard == SETT__NONE ? SETT__NONE : sett__const_bits(x->x.c.b, x->x.c.site, dtype, 0)->id;
    uint8_t align = (uint8_t)__builtin_ctz(x->x.bytes);
    const uint32_t load[4] = {x->a->src->root, base_id(sett__cut_base(&x->x, FROM, first)), guard, zero};
    uint32_t v = sett__record(x->x.c.b, x->x.c.site,
        &(sett__emit){.code = SETT__LOAD, .dtype = dtype, .sub = align, .n = n, .imm = sett__cut_imm(&x->x, FROM, first), .n_args = 4, .args = load});
    const uint32_t store[4] = {x->a->dst->root, base_id(sett__cut_base(&x->x, TO, first)), x->a->zfill ? SETT__NONE : guard, v};
    sett__record(x->x.c.b, x->x.c.site, &(sett__emit){.code = SETT__STORE, .sub = align, .imm = s->imm, .n_args = 4, .args = store});
}

static void record(const copies *x, uint32_t first, uint32_t n, uint32_t guard)
{
    sett_build *b = x->x.c.b;
    const sett__spot *s = &x->x.spot[first];
    uint32_t bytes = n * x->x.bytes;
    int64_t from = sett__cut_imm(&x->x, FROM, first);
    if (b->error.status || (guard == SETT__FALSE && !x->a->zfill) || !sett__inside(&x->x.c, x->a->dst, sett__cut_base(&x->x, TO, first), s->imm, n, x->x.bytes) ||
        !sett__inside(&x->x.c, x->a->src, sett__cut_base(&x->x, FROM, first), from, n, x->x.bytes))
        return;
    SETT__FAIL_IF(b, x->x.c.site, x->x.c.func, s->imm != (int32_t)s->imm || (from >> 48 != 0 && from >> 48 != -1), , SETT_E_RANGE,
        "an offset of %lld elements is too large", (long long)(s->imm != (int32_t)s->imm ? s->imm : from));
    if (guard == SETT__FALSE)
        guard = sett__const_bits(b, x->x.c.site, SETT_BOOL, 0)->id;
    else if (guard == SETT__TRUE)
        guard = SETT__NONE;
    if (bytes < LEAST) {
        through_registers(x, first, n, guard);
        return;
    }
    bool zfill = x->a->zfill, past_l1 = bytes == WIDEST && x->a->cache != SETT_CACHE_ALWAYS;
    const uint32_t args[6] = {x->a->dst->root, base_id(sett__cut_base(&x->x, TO, first)), zfill ? SETT__NONE : guard, x->a->src->root,
        base_id(sett__cut_base(&x->x, FROM, first)), zfill ? guard : SETT__NONE};
    const int32_t attrs[] = {(int32_t)bytes, (int32_t)x->x.bytes, (int32_t)s->imm, past_l1};
    sett__record(b, x->x.c.site, &(sett__emit){.code = SETT__CPASYNC, .imm = from, .n_args = 6, .args = args, .n_attrs = SETT__COUNT(attrs), .attrs = attrs});
}

/* The pieces that a test decides about, whole or in parts. */
static void split_pieces(void *user, bool whole)
{
    const copies *x = user;
    for (const sett__piece *p = x->x.piece; p < x->x.piece + x->x.n_piece; p++)
        for (uint32_t i = 0, n = whole ? p->n : p->narrow; p->test && i < p->n; i += n)
            record(x, p->first + i, n, whole ? SETT__TRUE : guard_of(x, p->first + i, n, true));
}

static void record_all(copies *x)
{
    uint32_t all = SETT__TRUE;
    for (const sett__piece *p = x->x.piece; p < x->x.piece + x->x.n_piece; p++)
        if (!p->test)
            record(x, p->first, p->n, guard_of(x, p->first, p->n, false));
        else
            all = sett__and(&x->x.c, all, guard_of(x, p->first, p->n, false), false);
    if (x->x.note.split && !x->x.c.b->error.status)
        sett__cut_branch(&x->x, all, split_pieces, x);
}

/* ---- the calls ---------------------------------------------------------------------------------- */
static bool check(const sett__ctx *c, const sett_cp_async_args *a)
{
    sett_dtype dtype = (sett_dtype)a->src->dtype;
    int bits = sett_dtype_bits(dtype);
    SETT__FAIL_IF(c->b, c->site, c->func, a->src->space != SETT_GMEM || a->dst->space != SETT_SMEM, false, SETT_E_SPACE,
        "%s to %s: it copies gmem to smem", sett__tensor_text(c->b, a->src), sett__tensor_text(c->b, a->dst));
    if (!sett__check_copy(c, a->src, a->dst))
        return false;
    SETT__FAIL_IF(c->b, c->site, c->func, a->dst->dtype != a->src->dtype, false, SETT_E_DTYPE, "%s of %s to %s of %s: bits are copied, none converted",
        sett__tensor_text(c->b, a->src), sett_dtype_name(dtype), sett__tensor_text(c->b, a->dst), sett_dtype_name((sett_dtype)a->dst->dtype));
    SETT__FAIL_IF(c->b, c->site, c->func, dtype != SETT_BOOL && bits != 8 && bits != 16 && bits != 32 && bits != 64, false, SETT_E_DTYPE,
        "%s: it copies bytes in place, and elements of %d bits may begin inside one: recast both tensors to u8 (sett_recast_tensor), or use sett_copy",
        sett_dtype_name(dtype), bits);
    SETT__FAIL_IF(c->b, c->site, c->func, a->cache < SETT_CACHE_DEFAULT || a->cache > SETT_CACHE_GLOBAL, false, SETT_E_ARGUMENT,
        ".cache is %d, it is no cache mode of a copy", (int)a->cache);
    SETT__FAIL_IF(c->b, c->site, c->func, a->zfill && !a->pred, false, SETT_E_ARGUMENT, ".zfill is for what a .pred leaves out");
    return true;
}

void sett__copy_async(const sett__ctx *c, const sett_cp_async_args *a, uint32_t widest)
{
    copies x = {.x = {.c = *c, .widest = widest}, .a = a};
    sett__cut *cut = &x.x;
    if (!check(c, a))
        return;
    cut->bytes = (uint32_t)sett__dtype_bytes((sett_dtype)a->src->dtype);
    cut->side[TO].t = a->dst, cut->side[FROM].t = cut->note.t = a->src;
    cut->note.bytes = (uint8_t)cut->bytes;
    if (!sett__tensor_places(c, a->dst, &cut->side[TO].p) || !sett__tensor_places(c, a->src, &cut->side[FROM].p) ||
        !sett__guard_take(c, &cut->guard, a->pred, cut->side[TO].p.n, a->src->layout->shape, true) || !take_spots(&x) || !plan(&x))
        return;
    if (a->dst->share && !a->pred)
        sett__share_access(c, a->dst->share);
    sett__note_add(c, &cut->note);
    record_all(&x);
}

void sett_cp_async_at(sett_site site, const sett_cp_async_args *given)
{
    sett__ctx c = {NULL, site, "sett_cp_async"};
    sett_cp_async_args a;
    if (!sett__take_args(&c, &a, sizeof a, given))
        return;
    c.b = SETT__HOME_OR(a.src, SETT__HOME_OR(a.dst, sett__home(a.pred)));
    if (sett__use_tensor(c.b, site, c.func, a.src) && sett__use_tensor(c.b, site, c.func, a.dst) && (!a.pred || sett__use_val(c.b, site, c.func, a.pred)))
        sett__copy_async(&c, &a, WIDEST);
}

void sett_cp_async_commit_group_at(sett_site site, sett_build *b)
{
    b = sett__given(b, site, "sett_cp_async_commit_group");
    if (b)
        sett__record(b, site, &(sett__emit){.code = SETT__CPCOMMIT});
}

void sett_cp_async_wait_group_at(sett_site site, sett_build *b, const char *func, int groups)
{
    b = sett__given(b, site, func);
    if (!b)
        return;
    bool all = groups == INT_MIN;
    SETT__FAIL_IF(b, site, func, !all && (groups < 0 || groups > SETT__MAX_GROUPS), , SETT_E_RANGE, "%d groups, 0 to %d may stay pending", groups, SETT__MAX_GROUPS);
    sett__record(b, site, &(sett__emit){.code = SETT__CPWAIT, .n_attrs = 1, .attrs = &(const int32_t){all ? -1 : groups}});
}
