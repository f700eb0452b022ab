/* SPDX-License-Identifier: Apache-2.0 */
/* Tiled products: an atom over the threads of a block, and what a thread has of a matrix. */
#include "atom.h"
#include <string.h>

enum { MOST_THREADS = 1024, MOST_OF_TILE = 4096 };

const uint8_t sett__modes_of[3][2] = {{0, 2}, {1, 2}, {0, 1}};

static const char *name_of(const char *const name[3], sett_operand which)
{
    return name[(unsigned)which <= SETT_OPERAND_C ? which : 0];
}

static bool check_operand(const sett__ctx *c, sett_operand which)
{
    SETT__FAIL_IF(c->b, c->site, c->func, (unsigned)which > SETT_OPERAND_C, false, SETT_E_ARGUMENT, "%d is no operand: A, B or C", (int)which);
    return true;
}

/* ---- layouts --------------------------------------------------------------------------------------- */
sett_arg sett__all_but(const sett__ctx *c, const sett_arg *first, int n)
{
    int k = first ? 1 : 0;
    sett_arg *kid = sett__kids(c, n + k);
    if (first)
        kid[0] = *first;
    for (int i = 0; i < n; i++)
        kid[i + k] = SETT_ALL;
    return sett__node(c, n + k, kid);
}

sett_layout *sett__divided(const sett__ctx *c, const sett_layout *l, sett_arg tiler)
{
    if (sett__layout_poison(l) || tiler.kind == SETT_POISON)
        return sett__poison_layout(c->b);
    return sett__zip_tiles(c, sett__logical_divide(c, l, tiler), tiler);
}

sett_layout *sett__sliced(const sett__ctx *c, const sett_layout *l, sett_arg coord)
{
    return sett__layout_poison(l) || coord.kind == SETT_POISON ? sett__poison_layout(c->b) : sett_slice_layout_at(c->site, l, coord);
}

int64_t sett__static_size(const sett_layout *l)
{
    if (sett__layout_poison(l))
        return 0;
    sett_arg n = sett_size_layout(l);
    return n.kind == SETT_INT ? n.u.i : 0;
}

/* The extent of mode i of (M,N,K) that the atoms cover without a permutation. */
static int64_t core_of(const sett_tiled_mma *m, int i)
{
    return (int64_t)m->atom->mnk[i] * m->thrs[i];
}

static sett_arg perm_of(const sett_tiled_mma *m, int i)
{
    return m->perm[i].kind == SETT_SLICE ? sett_arg_i(core_of(m, i)) : m->perm[i];
}

static int64_t tile_of(const sett_tiled_mma *m, int i)
{
    int64_t core = core_of(m, i), perm = m->perm[i].kind == SETT_LAYOUT ? sett__static_size(m->perm[i].u.l) : m->perm[i].kind == SETT_INT ? m->perm[i].u.i : 0;
    return core > perm ? core : perm;
}

sett_arg sett__tile_of(const sett__ctx *c, const sett_tiled_mma *m, sett_operand which)
{
    return sett__pair(c, sett_arg_i(tile_of(m, sett__modes_of[which][0])), sett_arg_i(tile_of(m, sett__modes_of[which][1])));
}

/* ((ThrV,(ThrM,ThrK)),(FrgV,(RestM,RestK,...))) */
static sett_layout *thrfrg(const sett__ctx *c, const sett_tiled_mma *m, sett_operand which, const sett_layout *l)
{
    const int x = sett__modes_of[which][0], y = sett__modes_of[which][1];
    sett_arg perm = sett__pair(c, perm_of(m, x), perm_of(m, y)), atom = sett__pair(c, sett_arg_i(m->atom->mnk[x]), sett_arg_i(m->atom->mnk[y]));
    sett_arg thr = sett__pair(c, sett_arg_i(m->thrs[x]), sett_arg_i(m->thrs[y]));
    sett_layout *r = sett__divided(c, sett__logical_divide(c, l, perm), atom); /* ((AtomM,AtomK),(RestM,RestK)) */
    if (!sett__layout_poison(r))
        r = sett__compose(c, r, sett__pair(c, sett_arg_l(m->atom->tv[which]), SETT_ALL)); /* ((ThrV,FrgV),(RestM,RestK)) */
    return sett__divided(c, r, sett__pair(c, SETT_ALL, thr));
}

/* What is to be partitioned has two modes or more, and whole tiles. */
static bool check_matrix(const sett__ctx *c, const sett_tiled_mma *m, sett_operand which, const sett_layout *l)
{
    static const char *const modes[] = {"(M,K)", "(N,K)", "(M,N)"};
    SETT__FAIL_IF(c->b, c->site, c->func, sett_rank_layout(l) < 2, false, SETT_E_RANK, "%s has too few modes: %c is %s", sett__layout_text(c->b, l),
        'A' + (int)which, modes[which]);
    for (int i = 0; i < 2; i++) {
        sett_arg n = sett__product(c, sett__kid(l->shape, i));
        int64_t tile = tile_of(m, sett__modes_of[which][i]), core = core_of(m, sett__modes_of[which][i]);
        SETT__FAIL_IF(c->b, c->site, c->func, n.kind == SETT_INT && (n.u.i % tile || n.u.i % core), false, SETT_E_DIVIDE,
            "the extent %lld of mode %d of %s is no multiple of %lld, which %s covers in %c", (long long)n.u.i, i, sett__layout_text(c->b, l),
            (long long)(n.u.i % tile ? tile : core), m->atom->name, "MNK"[sett__modes_of[which][i]]);
    }
    return true;
}

/* Thread -> its place in (V,M,N,K). Where an atom takes some threads of a warp alone, those between have the place of the one
 * before: a mode of stride 0 for each gap. */
static sett_layout *thread_places(const sett__ctx *c, const sett_layout *thr)
{
    sett__mode_list from, sorted, out;
    int64_t reached = 1;
    sett__no_modes(&sorted);
    sett__no_modes(&out);
    sett__coalesced(c, &from, thr->shape, thr->stride, false);
    sett_arg place = sett_arg_i(1);
    for (int i = 0; i < from.n; place = sett__mul(c, place, from.m[i++][0]))
        sett__push(c, &sorted, place, from.m[i][1]);
    for (int i = 0; i < from.n; i++) { /* the least stride that is left */
        int least = -1;
        for (int k = 0; k < from.n; k++)
            if (from.m[k][1].u.i >= reached && (least < 0 || from.m[k][1].u.i < from.m[least][1].u.i))
                least = k;
        if (least < 0)
            break;
        if (from.m[least][1].u.i > reached)
            sett__push(c, &out, sett_arg_i(from.m[least][1].u.i / reached), sett_arg_i(0));
        sett__push(c, &out, from.m[least][0], sorted.m[least][0]);
        reached = from.m[least][1].u.i * from.m[least][0].u.i;
    }
    return c->b->error.status ? sett__poison_layout(c->b) : sett__coalesce(c, sett__from_modes(c, &out));
}

sett_layout *sett__tv_layout(const sett__ctx *c, const sett_tiled_mma *m, sett_operand which)
{
    sett_layout *l = thrfrg(c, m, which, sett__make(c, sett__tile_of(c, m, which), SETT_ALL)), *thread = thread_places(c, m->thr);
    if (which != SETT_OPERAND_C && !sett__layout_poison(l)) { /* threads that differ in the third mode alone have the same */
        bool a = which == SETT_OPERAND_A;
        sett_layout *mn = sett__own(c, sett__pair(c, sett_arg_i(m->thrs[0]), sett_arg_i(m->thrs[1])), sett__pair(c, sett_arg_i(a), sett_arg_i(!a)));
        l = sett__compose(c, l, sett__pair(c, sett__pair(c, SETT_ALL, sett__pair(c, sett_arg_l(mn), SETT_ALL)), SETT_ALL));
    }
    return sett__layout_poison(l) || sett__layout_poison(thread) ? sett__poison_layout(c->b)
                                                                 : sett__compose(c, l, sett__pair(c, sett_arg_l(thread), SETT_ALL));
}

/* Extents follow the order of the tile, whatever they are: only a layout is a permutation. */
static bool same_permutation(const sett__ctx *c, sett_arg x, sett_arg y)
{
    const sett_layout *l[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++) {
        sett_arg p = i ? y : x;
        l[i] = p.kind == SETT_LAYOUT ? sett__coalesce(c, p.u.l) : NULL;
        l[i] = l[i] && l[i]->shape.kind != SETT_NODE ? NULL : l[i]; /* n:1 */
    }
    return !l[0] && !l[1] ? true : l[0] && l[1] && sett__same_shape(l[0]->shape, l[1]->shape) && sett__same_shape(l[0]->stride, l[1]->stride);
}

/* Is the thread of each place along the mode the same, however the layouts write it? */
static bool same_threads(const sett__ctx *c, const sett_tiled_mma *x, const sett_tiled_mma *y, int mode)
{
    const sett_layout *l[2];
    for (int i = 0; i < 2; i++) {
        const sett_layout *thr = (i ? y : x)->thr;
        l[i] = sett__coalesce(c, sett__make(c, sett__kid(thr->shape, mode + 1), sett__kid(thr->stride, mode + 1))); /* of vmnk */
        if (sett__layout_poison(l[i]))
            return true; /* said already */
    }
    return sett__same_shape(l[0]->shape, l[1]->shape) && sett__same_shape(l[0]->stride, l[1]->stride);
}

bool sett__same_split(const sett__ctx *c, const sett_tiled_mma *x, const sett_tiled_mma *y, int mode)
{
    if (x == y)
        return true;
    const bool threads = x->thrs[mode] == y->thrs[mode] && (x->thrs[mode] == 1 || same_threads(c, x, y, mode));
    return threads && same_permutation(c, x->perm[mode], y->perm[mode]);
}

const char *sett__split_text(sett_build *b, const sett_tiled_mma *m, int mode)
{
    const sett_arg perm = m->perm[mode];
    const bool permuted = perm.kind == SETT_LAYOUT;
    char text[200];
    snprintf(text, sizeof text, "%.100s%s%.80s", sett__layout_text(b, m->thr), permuted ? " permuted by " : "", permuted ? sett__layout_text(b, perm.u.l) : "");
    const char *kept = sett__arena_str(&b->arena, text);
    return kept ? kept : "";
}

/* ---- making --------------------------------------------------------------------------------------------- */
/* Does a static layout give each number from 0 on to one coordinate, and, if it is to be full, each below its size? */
static bool is_injective(const sett__ctx *c, const sett_layout *l, bool full)
{
    const int64_t n = sett__static_size(l), end = full ? n : INT64_MAX;
    int64_t *seen = sett__new(c->b, (size_t)(n + 1) * sizeof *seen);
    for (int64_t i = 0; i < n && !c->b->error.status; i++) {
        seen[i] = sett__layout_at(c, l, sett_arg_i(i)).u.i;
        if (seen[i] < 0 || seen[i] >= end)
            return false;
        for (int64_t k = 0; k < i; k++)
            if (seen[k] == seen[i])
                return false;
    }
    return true;
}

static bool check_permutation(const sett__ctx *c, sett_arg perm)
{
    if (perm.kind == SETT_SLICE)
        return true;
    SETT__FAIL_IF(c->b, c->site, c->func, perm.kind != SETT_NODE || perm.rank != 3, false, SETT_E_RANK,
        "the permutation %s is not ALL, nor a tiler of three: for each of M, N and K an extent, a layout, or ALL", sett__arg_text(c->b, perm));
    for (int i = 0; i < 3; i++) {
        sett_arg p = perm.u.kid[i];
        bool fine = p.kind == SETT_SLICE || (p.kind == SETT_INT && p.u.i > 0 && !p.path) ||
                    (p.kind == SETT_LAYOUT && !p.u.l->has_inner && sett__is_static(p.u.l->shape) && sett__is_static(p.u.l->stride));
        SETT__FAIL_IF(c->b, c->site, c->func, !fine, false, SETT_E_STATIC, "%s in the permutation %s: a static extent, a static layout, or ALL",
            sett__arg_text(c->b, p), sett__arg_text(c->b, perm));
        SETT__FAIL_IF(c->b, c->site, c->func, p.kind == SETT_LAYOUT && (sett__static_size(p.u.l) > MOST_OF_TILE || !is_injective(c, p.u.l, true)), false, SETT_E_ARGUMENT,
            "%s in the permutation %s is none: it takes each of 0 to %lld once", sett__arg_text(c->b, p), sett__arg_text(c->b, perm), (long long)sett__static_size(p.u.l) - 1);
    }
    return true;
}

/* A tile is whole atoms of all threads, or a part of those that divides them. */
static bool check_tile(const sett__ctx *c, const sett_tiled_mma *m)
{
    for (int i = 0; i < 3; i++) {
        const sett_arg p = perm_of(m, i);
        const int64_t core = core_of(m, i), size = p.kind == SETT_LAYOUT ? sett__static_size(p.u.l) : p.u.i;
        SETT__FAIL_IF(c->b, c->site, c->func, size % core && core % size, false, SETT_E_DIVIDE, "%s in the permutation is no multiple of the %lld that %s covers in %c by threads %s, nor they of it",
            sett__arg_text(c->b, p), (long long)core, m->atom->name, "MNK"[i], sett__layout_text(c->b, m->thr));
    }
    return true;
}

static const sett_layout *atom_layout(const sett__ctx *c, sett_arg atoms)
{
    const sett_layout *l = atoms.kind == SETT_LAYOUT ? atoms.u.l : NULL;
    bool fixed = l ? sett__is_static(l->shape) && sett__is_static(l->stride) && !l->has_inner : sett__is_static(atoms);
    SETT__FAIL_IF(c->b, c->site, c->func, !fixed, NULL, SETT_E_STATIC, "the atoms %s are not static", sett__arg_text(c->b, atoms));
    SETT__FAIL_IF(c->b, c->site, c->func, sett__arity(l ? l->shape : atoms) != 3, NULL, SETT_E_RANK, "the atoms %s have not three modes: (M,N,K)",
        sett__arg_text(c->b, atoms));
    if (!l)
        return sett__check_shape(c, atoms) ? sett__make(c, sett_arg_keep(c->b, atoms), SETT_ALL) : NULL;
    SETT__FAIL_IF(c->b, c->site, c->func, sett__static_size(l) > MOST_THREADS || !is_injective(c, l, false), NULL, SETT_E_ARGUMENT,
        "the atoms %s: each has threads of its own, and two of these have the same, or some below 0", sett__arg_text(c->b, atoms));
    return l;
}

sett_tiled_mma *sett_make_tiled_mma_at(sett_site site, const sett_mma_atom *atom, sett_arg atoms, sett_arg permutation)
{
    sett__ctx c = {SETT__HOME_OR(atom, sett__build_of(atoms)), site, "sett_make_tiled_mma"};
    if (!sett__use_atom(&c, (const sett__head *)atom, SETT__K_MMA_ATOM) || !sett__use_arg(c.b, site, c.func, atoms) ||
        !sett__use_arg(c.b, site, c.func, permutation))
        return sett__poison_atom(c.b);
    const sett_layout *l = check_permutation(&c, permutation) ? atom_layout(&c, atoms) : NULL;
    sett_layout *thr = l ? sett__tiled(site, c.func, atom->thr_id, sett_arg_l(l), sett__logical_product, SETT__TILED) : NULL;
    if (!thr || sett__layout_poison(thr))
        return sett__poison_atom(c.b);
    sett_tiled_mma *r = sett__new_object(c.b, SETT__K_TILED_MMA, sizeof *r);
    permutation = sett_arg_keep(c.b, permutation);
    r->atom = atom;
    r->thr = thr;
    for (int i = 0; i < 3; i++) {
        r->thrs[i] = (int)sett__product(&c, sett__kid(l->shape, i)).u.i;
        r->perm[i] = permutation.kind == SETT_NODE ? permutation.u.kid[i] : SETT_ALL;
    }
    return c.b->error.status || !check_tile(&c, r) ? sett__poison_atom(c.b) : r;
}

sett_tiled_mma_traits sett_tiled_mma_traits_at(sett_site site, const sett_tiled_mma *m)
{
    sett__ctx c = {NULL, site, "sett_tiled_mma_traits"};
    if (!sett__use_atom(&c, (const sett__head *)m, SETT__K_TILED_MMA)) {
        sett_layout *bad = c.b ? sett__poison_layout(c.b) : NULL;
        return (sett_tiled_mma_traits){bad, bad, bad, bad, sett__poison_arg(c.b)};
    }
    sett_arg tile = sett__tuple_of(&c, 3, (sett_arg[]){sett_arg_i(tile_of(m, 0)), sett_arg_i(tile_of(m, 1)), sett_arg_i(tile_of(m, 2))});
    return (sett_tiled_mma_traits){m->thr, sett__tv_layout(&c, m, SETT_OPERAND_A), sett__tv_layout(&c, m, SETT_OPERAND_B),
        sett__tv_layout(&c, m, SETT_OPERAND_C), tile};
}

sett_layout *sett_thrfrg_at(sett_site site, const sett_tiled_mma *m, sett_operand which, const sett_layout *l)
{
    static const char *const name[] = {"sett_thrfrg_A", "sett_thrfrg_B", "sett_thrfrg_C"};
    sett__ctx c = {SETT__HOME_OR(m, sett__home(l)), site, name_of(name, which)};
    if (!sett__use_atom(&c, (const sett__head *)m, SETT__K_TILED_MMA) || !sett__use_layout(c.b, site, c.func, l) || !check_operand(&c, which) ||
        !check_matrix(&c, m, which, l))
        return c.b ? sett__poison_layout(c.b) : NULL;
    return thrfrg(&c, m, which, l);
}

/* ---- slices -------------------------------------------------------------------------------------------------- */
bool sett__check_thread(const sett__ctx *c, sett_arg thread, int64_t threads, bool wraps, const char *of)
{
    const bool known = thread.kind == SETT_INT, dynamic = thread.kind == SETT_VALUE && thread.u.v->scalar && sett__dtype_is_int((sett_dtype)thread.u.v->dtype);
    SETT__FAIL_IF(c->b, c->site, c->func, known ? thread.u.i < 0 : !dynamic, false, SETT_E_ARGUMENT, "the thread's index is no integer of at least 0");
    const int64_t least = known ? thread.u.i : wraps ? 0 : thread.u.v->lo;
    SETT__FAIL_IF(c->b, c->site, c->func, least >= threads, false, SETT_E_RANGE, "the thread's index is %s%lld, and the threads of %s are 0 to %lld",
        known ? "" : "at least ", (long long)least, of, (long long)threads - 1);
    return true;
}

sett_thr_mma *sett_get_slice_mma_at(sett_site site, const sett_tiled_mma *m, sett_arg thread)
{
    sett__ctx c = {SETT__HOME_OR(m, sett__build_of(thread)), site, "sett_get_slice"};
    if (!sett__use_atom(&c, (const sett__head *)m, SETT__K_TILED_MMA) || !sett__use_arg(c.b, site, c.func, thread))
        return sett__poison_atom(c.b);
    const sett_arg threads = sett_cosize_layout(m->thr);
    const char *of = sett__layout_text(c.b, m->thr);
    if (!sett__check_thread(&c, thread, threads.u.i, true, of))
        return sett__poison_atom(c.b);
    sett_arg at = sett_get_flat_coord_at(site, m->thr, thread);
    sett_thr_mma *r = sett__new_object(c.b, SETT__K_THR_MMA, sizeof *r);
    r->mma = m;
    r->share = sett__share_new(&c, &(sett__share){.of = of, .threads = threads.u.i, .thread = thread, .wraps = true, .each = true});
    for (int i = 0; i < 4 && at.kind == SETT_NODE; i++)
        r->at[i] = at.u.kid[i];
    return c.b->error.status ? sett__poison_atom(c.b) : r;
}

sett_tensor *sett_partition_at(sett_site site, const sett_thr_mma *s, sett_operand which, const sett_tensor *t)
{
    static const char *const name[] = {"sett_partition_A", "sett_partition_B", "sett_partition_C"};
    sett__ctx c = {SETT__HOME_OR(s, sett__home(t)), site, name_of(name, which)};
    if (!sett__use_atom(&c, (const sett__head *)s, SETT__K_THR_MMA) || !sett__use_tensor(c.b, site, c.func, t) || !check_operand(&c, which) ||
        !sett__use_arg(c.b, site, c.func, sett_arg_n(4, s->at)) || !check_matrix(&c, s->mma, which, t->layout))
        return c.b ? &c.b->poison->tensor : NULL;
    sett_layout *l = thrfrg(&c, s->mma, which, t->layout);
    if (sett__layout_poison(l))
        return &c.b->poison->tensor;
    sett_arg at = sett__pair(&c, s->at[0], sett__pair(&c, s->at[1 + sett__modes_of[which][0]], s->at[1 + sett__modes_of[which][1]]));
    sett_arg all = sett__pair(&c, SETT_ALL, sett__all_but(&c, NULL, sett__arity(sett__kid(sett__kid(l->shape, 1), 1))));
    const sett__fragment f = {s->mma, (uint8_t)which, true, sett__site(c.b, site)};
    sett_tensor *r = sett__mark_operand(&c, sett__slice(&c, sett__view(t, l, t->offset), sett__pair(&c, at, all)), &f);
    if (!r->head.poison)
        r->share = s->share;
    return r;
}

sett_arg sett_partition_shape_at(sett_site site, const sett_tiled_mma *m, sett_operand which, sett_arg shape)
{
    static const char *const name[] = {"sett_partition_shape_A", "sett_partition_shape_B", "sett_partition_shape_C"};
    sett__ctx c = {SETT__HOME_OR(m, sett__build_of(shape)), site, name_of(name, which)};
    if (!sett__use_atom(&c, (const sett__head *)m, SETT__K_TILED_MMA) || !sett__use_arg(c.b, site, c.func, shape) || !check_operand(&c, which) ||
        !sett__check_shape(&c, shape))
        return sett__poison_arg(c.b);
    shape = sett_arg_keep(c.b, shape);
    sett_layout *whole = sett__make(&c, shape, SETT_ALL);
    if (!check_matrix(&c, m, which, whole))
        return sett__poison_arg(c.b);
    sett_layout *l = thrfrg(&c, m, which, whole);
    if (sett__layout_poison(l))
        return sett__poison_arg(c.b);
    sett_arg values = sett__kid(l->shape, 1), rest = sett__kid(values, 1), *kid = sett__kids(&c, sett__arity(rest) + 1);
    kid[0] = sett__kid(values, 0);
    for (int i = 0; i < sett__arity(rest); i++)
        kid[i + 1] = sett__kid(rest, i);
    return sett__node(&c, sett__arity(rest) + 1, kid);
}
