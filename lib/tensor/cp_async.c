/* SPDX-License-Identifier: Apache-2.0 */
/* Copies in the background (cp.async), which are as wide as both sides allow.
 *
 * The elements, in order of their place in shared memory, fall into runs that are adjacent on both sides, and those into
 * pieces of 16, 8 or 4 bytes. A predicate must be one truth for a piece. Where it may not be, but the addresses would
 * allow more, one test decides for all such pieces: all inside, and each is one copy; else each is as many narrower ones
 * as have a truth of their own, those of less than 4 bytes through registers. */
#include "tensor.h"

enum { WIDEST = 16, LEAST = 4, MOST = 16 }; /* bytes of one copy; elements of one */

typedef struct piece { uint32_t first, n, narrow; } piece; /* spots; narrow < n: one copy if a test allows */
typedef struct copies {
    sett__ctx c;
    const sett_cp_async_args *a;
    uint32_t bytes, n, n_piece, split; /* bytes: of an element */
    sett__places to, from;
    sett__spot *spot; /* in order of place in dst */
    const struct sett__pred *less;
    uint32_t pred, *map; /* op of another predicate, SETT__TRUE: none */
    piece *piece;
} copies;

/* ---- predicates ------------------------------------------------------------------------- */
static void elements_of(const copies *x, uint32_t first, uint32_t n, uint32_t *elem)
{
    for (uint32_t i = 0; i < n; i++)
        elem[i] = x->map[x->spot[first + i].elem];
}

static bool alike(const copies *x, uint32_t first, uint32_t n)
{
    uint32_t elem[MOST];
    if (n == 1 || !x->map)
        return true;
    elements_of(x, first, n, elem);
    if (x->less)
        return sett__pred_alike(&x->c, x->less, elem, n);
    for (uint32_t i = 1; i < n; i++)
        if (elem[i] != elem[0])
            return false;
    return true;
}

static bool parts_alike(const copies *x, uint32_t first, uint32_t n, uint32_t part)
{
    for (uint32_t i = 0; i < n; i += part)
        if (!alike(x, first + i, part))
            return false;
    return true;
}

/* Are n elements all to be copied? A Boolean op, SETT__TRUE or SETT__FALSE. */
static uint32_t guard_of(const copies *x, uint32_t first, uint32_t n, bool stay)
{
    uint32_t elem[MOST], all = SETT__TRUE;
    if (!x->map || x->c.b->error.status)
        return SETT__TRUE;
    elements_of(x, first, n, elem);
    if (x->less)
        return sett__pred_all(&x->c, x->less, elem, n, stay);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t one = x->c.b->op[x->pred].n == 1 ? x->pred : sett__pick(x->c.b, x->c.site, x->pred, &elem[i], 1);
        all = sett__and(&x->c, all, one, stay);
    }
    return all;
}

static bool take_pred(copies *x)
{
    const sett_val *pred = x->a->pred;
    x->pred = SETT__TRUE;
    if (!pred)
        return true;
    SETT__FAIL_IF(x->c.b, x->c.site, x->c.func, pred->dtype != SETT_BOOL, false, SETT_E_DTYPE, "a predicate is Boolean, not %s",
        sett_dtype_name((sett_dtype)pred->dtype));
    x->map = sett__pred_map(&x->c, x->n, x->a->src->layout->shape, pred);
    if (pred->id == SETT__NONE)
        x->less = pred->pred;
    else
        x->pred = pred->id;
    return x->map != NULL;
}

/* ---- widths -------------------------------------------------------------------------------- */
static sett_arg to_base(const copies *x, uint32_t spot)
{
    return x->to.base[x->spot[spot].group];
}
static sett_arg from_base(const copies *x, uint32_t spot)
{
    return x->from.base[x->from.group[x->spot[spot].elem]];
}
static int64_t from_imm(const copies *x, uint32_t spot)
{
    return x->from.imm[x->spot[spot].elem];
}

/* Spots from the first that are adjacent on both sides. */
static uint32_t run_at(const copies *x, uint32_t first)
{
    uint32_t n = 1, group = x->from.group[x->spot[first].elem];
    while (first + n < x->n && x->spot[first + n].group == x->spot[first].group && x->spot[first + n].imm == x->spot[first].imm + n &&
           x->from.group[x->spot[first + n].elem] == group && from_imm(x, first + n) == from_imm(x, first) + n)
        n++;
    return n;
}

static piece choose(const copies *x, sett__note *note, uint32_t first, uint32_t left)
{
    uint32_t most = 1, n = 1, sure;
    uint32_t to = sett__align_at(x->a->dst, x->bytes, to_base(x, first), x->spot[first].imm);
    uint32_t from = sett__align_at(x->a->src, x->bytes, from_base(x, first), from_imm(x, first));
    while (most * 2 <= left && most * 2 * x->bytes <= WIDEST)
        most *= 2;
    while (n * 2 <= most && n * 2 * x->bytes <= (to < from ? to : from))
        n *= 2;
    if (n < most && !note->lost) {
        note->t = to < from ? x->a->dst : x->a->src;
        sett__note_lost(note, note->t, to < from ? to_base(x, first) : from_base(x, first),
            to < from ? x->spot[first].imm : from_imm(x, first), x->bytes, n, most);
    }
    for (sure = n; !parts_alike(x, first, n, sure);)
        sure /= 2;
    return (piece){first, n, sure};
}

static bool plan(copies *x, sett__note *note)
{
    for (uint32_t at = 0; at < x->n;) {
        uint32_t end = at + run_at(x, at), run = end - at;
        while (at < end) {
            piece p = choose(x, note, at, end - at);
            SETT__FAIL_IF(x->c.b, x->c.site, x->c.func, p.n * x->bytes < LEAST, false, SETT_E_ALIGN,
                "%s to %s: %u bytes are proven to lie together, %s; it copies 4 at least: sett_copy copies these", sett__tensor_text(x->c.b, x->a->src),
                sett__tensor_text(x->c.b, x->a->dst), p.n * x->bytes, run * x->bytes < LEAST ? "for the layouts" : "for the alignment");
            x->piece[x->n_piece++] = p;
            x->split += p.narrow < p.n;
            note->count[31 - __builtin_clz(p.n * x->bytes)]++;
            at += p.n;
        }
    }
    note->split = x->split;
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
    const sett__spot *s = &x->spot[first];
    sett_dtype dtype = (sett_dtype)x->a->src->dtype;
    uint32_t zero = guard == SETT__NONE ? SETT__NONE : sett__const_bits(x->c.b, x->c.site, dtype, 0)->id;
    uint8_t align = (uint8_t)__builtin_ctz(x->bytes);
    const uint32_t load[4] = {x->a->src->root, base_id(from_base(x, first)), guard, zero};
    uint32_t v = sett__record(x->c.b, x->c.site,
        &(sett__emit){.code = SETT__LOAD, .dtype = dtype, .sub = align, .n = n, .imm = from_imm(x, first), .n_args = 4, .args = load});
    const uint32_t store[4] = {x->a->dst->root, base_id(to_base(x, first)), x->a->zfill ? SETT__NONE : guard, v};
    sett__record(x->c.b, x->c.site, &(sett__emit){.code = SETT__STORE, .sub = align, .imm = s->imm, .n_args = 4, .args = store});
}

static void record(const copies *x, uint32_t first, uint32_t n, uint32_t guard)
{
    sett_build *b = x->c.b;
    const sett__spot *s = &x->spot[first];
    uint32_t bytes = n * x->bytes;
    int64_t from = from_imm(x, first);
    if (b->error.status || (guard == SETT__FALSE && !x->a->zfill) || !sett__inside(&x->c, x->a->dst, to_base(x, first), s->imm, n, x->bytes) ||
        !sett__inside(&x->c, x->a->src, from_base(x, first), from, n, x->bytes))
        return;
    SETT__FAIL_IF(b, x->c.site, x->c.func, !SETT__CP_FITS(s->imm, from), , SETT_E_RANGE,
        "an offset of %lld elements is too large", (long long)(SETT__CP_TO(s->imm) != s->imm ? s->imm : from));
    if (guard == SETT__FALSE)
        guard = sett__const_bits(b, x->c.site, SETT_BOOL, 0)->id;
    else if (guard == SETT__TRUE)
        guard = SETT__NONE;
    if (bytes < LEAST) {
        through_registers(x, first, n, guard);
        return;
    }
    bool zfill = x->a->zfill, past_l1 = bytes == WIDEST && x->a->cache != SETT_CACHE_ALWAYS;
    const uint32_t args[6] = {x->a->dst->root, base_id(to_base(x, first)), zfill ? SETT__NONE : guard, x->a->src->root,
        base_id(from_base(x, first)), zfill ? guard : SETT__NONE};
    unsigned sub = ((unsigned)__builtin_ctz(bytes) - 2) | (unsigned)__builtin_ctz(x->bytes) << SETT__CP_ELEMENT_AT | (past_l1 ? SETT__CP_CG : 0);
    sett__record(b, x->c.site, &(sett__emit){.code = SETT__CPASYNC, .sub = (uint8_t)sub, .imm = SETT__CP_IMM(s->imm, from), .n_args = 6, .args = args});
}

/* The pieces that a test decides about, whole or in parts. */
static void split_pieces(const copies *x, bool whole)
{
    for (const piece *p = x->piece; p < x->piece + x->n_piece; p++)
        for (uint32_t i = 0, n = whole ? p->n : p->narrow; p->narrow < p->n && i < p->n; i += n)
            record(x, p->first + i, n, whole ? SETT__TRUE : guard_of(x, p->first + i, n, true));
}

static void record_all(const copies *x)
{
    sett_build *b = x->c.b;
    uint32_t all = SETT__TRUE;
    for (const piece *p = x->piece; p < x->piece + x->n_piece; p++)
        if (p->narrow == p->n)
            record(x, p->first, p->n, guard_of(x, p->first, p->n, false));
        else
            all = sett__and(&x->c, all, guard_of(x, p->first, p->n, false), false);
    if (!x->split || b->error.status)
        return;
    if (all == SETT__TRUE || all == SETT__FALSE) {
        split_pieces(x, all == SETT__TRUE);
        return;
    }
    sett_region r = sett_if_begin(x->c.site, b, sett__scalar_val(b, all));
    split_pieces(x, true);
    r.done = true;
    sett_region_end(&r);
    r = sett_else_begin(x->c.site, b);
    split_pieces(x, false);
    r.done = true;
    sett_region_end(&r);
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

void sett_cp_async_at(sett_site site, const sett_cp_async_args *given)
{
    copies x = {.c = {NULL, site, "sett_cp_async"}};
    sett_cp_async_args a;
    sett__note note = {.lost = SETT__LOST_NOTHING};
    if (!sett__take_args(&x.c, &a, sizeof a, given))
        return;
    sett_build *b = x.c.b = SETT__HOME_OR(a.src, SETT__HOME_OR(a.dst, sett__home(a.pred)));
    if (!sett__use_tensor(b, site, x.c.func, a.src) || !sett__use_tensor(b, site, x.c.func, a.dst) ||
        (a.pred && !sett__use_val(b, site, x.c.func, a.pred)) || !check(&x.c, &a))
        return;
    x.a = &a;
    x.bytes = (uint32_t)sett__dtype_bytes((sett_dtype)a.src->dtype);
    if (!sett__tensor_places(&x.c, a.dst, &x.to) || !sett__tensor_places(&x.c, a.src, &x.from))
        return;
    x.n = x.to.n;
    x.spot = sett__spots(&x.c, &x.to, NULL);
    x.piece = sett__new(b, x.n * sizeof *x.piece);
    note.t = a.src;
    note.bytes = (uint8_t)x.bytes;
    if (!x.spot || !x.piece || !take_pred(&x) || !plan(&x, &note))
        return;
    sett__note_add(&x.c, &note);
    record_all(&x);
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
    sett__record(b, site, &(sett__emit){.code = SETT__CPWAIT, .imm = all ? -1 : groups});
}
