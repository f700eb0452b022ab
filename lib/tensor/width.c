/* SPDX-License-Identifier: Apache-2.0 */
/* How wide an access may be.
 *
 * The elements, in order of place, fall into runs that are adjacent on every side of a move; a run is cut into pieces as wide as
 * the proven alignment allows. A predicate must be one truth for a piece. Where that is not known, or a run-time offset may be
 * aligned better than is proven, one test can decide for a wider piece, which is narrow pieces where it fails. */
#include "inside.h"
#include <string.h>

#define WORTH 8 /* bytes of one access that need no branch to be made wider */

static uint64_t lowest_bit(uint64_t x)
{
    return x & (0 - x);
}

uint32_t sett__align_at(const sett_tensor *t, uint32_t bytes, sett_arg base, int64_t imm)
{
    uint64_t elements = (uint64_t)imm | (uint64_t)sett__leaf_div(base);
    return (uint32_t)lowest_bit(SETT__MAX_ALIGN | t->align | lowest_bit(elements) * bytes);
}

static uint32_t width_hope(const sett_tensor *t, uint32_t bytes, sett_arg base, int64_t imm, uint32_t n)
{
    uint64_t known = lowest_bit((uint64_t)sett__leaf_div(base)), fixed = lowest_bit((uint64_t)imm), width = 1;
    uint64_t most = fixed && (!known || fixed < known) ? fixed : UINT64_MAX;
    if (known && base.kind == SETT_INT)
        most = known < most ? known : most;
    while (width * 2 <= n && width * 2 * bytes <= t->align && width * 2 <= most)
        width *= 2;
    return (uint32_t)width;
}

/* ---- runs --------------------------------------------------------------------------------- */
static const uint32_t *kinds(const sett__cut *x, uint32_t first)
{
    return x->kind + x->first[first];
}

static bool same_kinds(const sett__cut *x, uint32_t i, uint32_t j)
{
    uint32_t n = sett__cut_kinds(x, i, 1);
    return n == sett__cut_kinds(x, j, 1) && !memcmp(kinds(x, i), kinds(x, j), n * sizeof *x->kind);
}

static bool adjacent(const sett__cut *x, uint32_t i)
{
    for (int s = 0; s < 2 && x->side[s].t; s++) {
        const uint32_t *group = x->side[s].p.group;
        if (group[x->spot[i].elem] != group[x->spot[i + 1].elem] || sett__cut_imm(x, s, i + 1) != sett__cut_imm(x, s, i) + 1)
            return false;
    }
    return true;
}

/* One side takes under a predicate that is no lazy one what its first spot does. */
uint32_t sett__cut_run(const sett__cut *x, uint32_t first)
{
    uint32_t last = first;
    while (last + 1 < x->n && adjacent(x, last) && (x->guard.less || x->side[1].t || same_kinds(x, first, last + 1)))
        last++;
    return last + 1 - first;
}

bool sett__cut_alike(const sett__cut *x, uint32_t first, uint32_t n)
{
    return sett__guard_alike(&x->c, &x->guard, kinds(x, first), sett__cut_kinds(x, first, n));
}

/* The widest parts of n spots, up to so many, that have a truth each. */
static uint32_t alike_parts(const sett__cut *x, uint32_t first, uint32_t n, uint32_t part)
{
    for (uint32_t i = 0; i < n && part > 1; i += part)
        while (part > 1 && !sett__cut_alike(x, first + i, part))
            part /= 2, i = 0;
    return part;
}

/* ---- width --------------------------------------------------------------------------------- */
static void note_lost(sett__note *note, const sett_tensor *t, sett_arg base, int64_t imm, uint32_t bytes, uint32_t have, uint32_t need)
{
    note->lost = t->align < need * bytes                                                        ? SETT__LOST_ROOT
                 : base.kind == SETT_VALUE && (uint64_t)sett__leaf_div(base) % need               ? SETT__LOST_BASE
                 : (uint64_t)imm * bytes % (need * bytes)                                         ? SETT__LOST_CONSTANT
                                                                                                  : SETT__LOST_BASE;
    note->have = have * bytes;
    note->need = need * bytes;
    note->base = base;
    note->imm = imm;
}

static void lose(sett__cut *x, int side, uint32_t spot, uint32_t have, uint32_t need, bool by_bound)
{
    if (x->note.lost)
        return;
    x->note.t = x->side[side].t;
    note_lost(&x->note, x->note.t, sett__cut_base(x, side, spot), sett__cut_imm(x, side, spot), x->bytes, have, need);
    if (by_bound)
        x->note.lost = SETT__LOST_BOUND;
}

/* Where a test may allow more than is proven, of one side under a lazy predicate. sure: the elements that one truth is known for. */
static sett__piece with_test(sett__cut *x, uint32_t first, uint32_t most, uint32_t proven, uint32_t sure)
{
    uint32_t hope = width_hope(x->side[0].t, x->bytes, sett__cut_base(x, 0, first), sett__cut_imm(x, 0, first), most);
    if (hope < proven)
        hope = proven;
    if (hope > sure && proven >= hope)
        lose(x, 0, first, sure, hope, true);
    if (hope < sure)
        hope = sure;
    sure = alike_parts(x, first, hope, sure); /* one that straddles two rows has two tests */
    return (sett__piece){first, hope, sure, sure < hope || !sett__cut_alike(x, first, 1)};
}

/* The access that starts at a spot with `left` spots of its run to go. */
static sett__piece choose(sett__cut *x, uint32_t first, uint32_t left)
{
    const bool two = x->side[1].t != NULL;
    if (x->side[0].t->space == SETT_RMEM && sett__cut_base(x, 0, first).kind == SETT_INT && x->guard.op == SETT__TRUE)
        return (sett__piece){first, left, left, false}; /* registers: no address, no limit */
    uint32_t most = 1, proven = 1, align = sett__cut_align(x, 0, first), other = two ? sett__cut_align(x, 1, first) : align;
    const int least = two && other <= align;
    while (most * 2 <= left && most * 2 * x->bytes <= x->widest)
        most *= 2;
    while (proven * 2 <= most && proven * 2 * x->bytes <= (least ? other : align))
        proven *= 2;
    if (proven < most)
        lose(x, least, first, proven, most, false);
    uint32_t sure = two ? alike_parts(x, first, proven, proven) : proven;
    if (two || !x->guard.less)
        return (sett__piece){first, proven, sure, sure < proven};
    while (sure > 1 && !sett__cut_alike(x, first, sure))
        sure /= 2;
    if ((sure == most && sett__cut_alike(x, first, sure)) || (sure > 1 && sure * x->bytes >= WORTH))
        return (sett__piece){first, sure, sure, false};
    return with_test(x, first, most, proven, sure);
}

/* Is it only the predicate that parts adjacent elements? */
static bool parted_by_pred(const sett__cut *x)
{
    for (uint32_t i = 0; i + 1 < x->n; i++)
        if (adjacent(x, i) && !same_kinds(x, i, i + 1))
            return true;
    return false;
}

/* A swizzle may have parted neighbours since the view's start is not known well enough. */
static void note_parted(sett__cut *x)
{
    const sett__places *p = &x->side[0].p;
    const uint32_t need = p->parted * x->bytes < x->widest ? p->parted * x->bytes : x->widest;
    if (x->note.lost != SETT__LOST_ADJACENCY || need <= x->note.have)
        return;
    x->note.lost = SETT__LOST_BASE;
    x->note.need = need;
    x->note.base = p->start;
}

bool sett__cut_plan(sett__cut *x)
{
    uint32_t longest = 0;
    x->piece = sett__new(x->c.b, x->n * sizeof *x->piece);
    if (!x->piece)
        return false;
    for (uint32_t at = 0; at < x->n;) {
        uint32_t end = at + sett__cut_run(x, at);
        longest = end - at > longest ? end - at : longest;
        while (at < end) {
            sett__piece p = choose(x, at, end - at);
            x->piece[x->n_piece++] = p;
            x->note.split += p.test;
            x->note.tests_align |= p.test && sett__cut_align(x, 0, at) < p.n * x->bytes;
            x->note.count[31 - __builtin_clz(p.n * x->bytes)]++;
            at += p.n;
        }
    }
    if (!x->side[1].t && longest * x->bytes < x->widest && longest < x->n && !x->note.lost) {
        x->note.lost = !x->guard.less && parted_by_pred(x) ? SETT__LOST_PRED : SETT__LOST_ADJACENCY;
        x->note.have = longest * x->bytes;
        note_parted(x);
    }
    return true;
}

void sett__cut_branch(const sett__cut *x, uint32_t cond, void (*arm)(void *, bool holds), void *user)
{
    sett_build *b = x->c.b;
    if (cond == SETT__TRUE || cond == SETT__FALSE) {
        arm(user, cond == SETT__TRUE);
        return;
    }
    if (b->error.status)
        return;
    sett_region r = sett_if_begin(x->c.site, b, sett__scalar_val(b, cond));
    arm(user, true);
    r.done = true;
    sett_region_end(&r);
    r = sett_else_begin(x->c.site, b);
    arm(user, false);
    r.done = true;
    sett_region_end(&r);
}
