/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of groups, whose rows are read while the kernel runs. A work tile keeps its group and that group's rows; its number counts from the
 * first tile of the group. */
#include "scheduler.h"

/* Groups, the last mode of the tiles, each with rows of its own, which a kernel alone knows. */
bool sett__take_groups(const sett__ctx *c, sett_scheduler *s, const sett_scheduler_args *a)
{
    const sett_tensor *t = a->counts ? a->counts : a->offsets;
    if (!t && !a->rows)
        return true;
    if ((a->counts && !sett__use_tensor(c->b, c->site, c->func, a->counts)) || (a->offsets && !sett__use_tensor(c->b, c->site, c->func, a->offsets)))
        return false;
    SETT__FAIL_IF(c->b, c->site, c->func, !t, false, SETT_E_ARGUMENT, ".rows without .counts or .offsets, which say how many rows each group has");
    SETT__FAIL_IF(c->b, c->site, c->func, a->counts && a->offsets, false, SETT_E_ARGUMENT, ".counts and .offsets: one of them says how many rows each group has");
    const char *name = a->counts ? ".counts" : ".offsets";
    SETT__FAIL_IF(c->b, c->site, c->func, t->dtype != SETT_I32, false, SETT_E_DTYPE, "%s is %s, and is of i32", name, sett__tensor_text(c->b, t));
    SETT__FAIL_IF(c->b, c->site, c->func, sett__arity(t->layout->shape) != 1, false, SETT_E_RANK, "%s is %s, and has one mode, of groups", name, sett__tensor_text(c->b, t));
    SETT__FAIL_IF(c->b, c->site, c->func, a->rows < 1, false, SETT_E_RANGE, ".rows is %d: those of a tile, 1 or more", a->rows);
    SETT__FAIL_IF(c->b, c->site, c->func, sett__arity(a->tiles) != MODES, false, SETT_E_RANK, ".tiles %s: with %s T(m, n, groups)", sett__arg_text(c->b, a->tiles), name);
    SETT__FAIL_IF(c->b, c->site, c->func, s->streams, false, SETT_E_ARGUMENT, ".k_tiles with %s: tiles of groups are not streamed", name);
    s->counts = a->counts, s->offsets = a->offsets, s->rows = a->rows * s->cluster[M];
    return true;
}

sett_val *sett__is_group(const sett__ctx *c, const sett_work_tile *w)
{
    return sett_binary_at(c->site, c->func, SETT_LT, sett_arg_v(kept(c, w->group)), w->s->extent[L]);
}

/* Rows of tiles of a group with these rows, in clusters. */
static sett_arg tiles_of(const sett__ctx *c, const sett_scheduler *s, sett_arg first, sett_arg end)
{
    const sett_arg up = op(c, SETT_ADD, op(c, SETT_SUB, end, first), sett_arg_i(s->rows - 1));
    return op(c, SETT_FLOORDIV, op(c, SETT_MAX, up, sett_arg_i(0)), sett_arg_i(s->rows));
}

sett_arg sett__group_tiles(const sett__ctx *c, const sett_work_tile *w)
{
    return tiles_of(c, w->s, sett_arg_v(kept(c, w->first)), sett_arg_v(kept(c, w->end)));
}

/* The rows of its group, where there is one. Those of .offsets begin where the ones before end. */
static void read_group(const sett__ctx *c, const sett_work_tile *w)
{
    sett_region is = sett_if_begin(c->site, c->b, sett__is_group(c, w));
    const sett_arg g = sett_arg_v(kept(c, w->group)), zero = sett_arg_i(0);
    if (w->s->offsets)
        sett__set(c, w->first, sett_arg_v(kept(c, w->end)), zero);
    sett_val *end = w->s->offsets ? sett__get(c, w->s->offsets, op(c, SETT_ADD, g, sett_arg_i(1))) : sett__get(c, w->s->counts, g);
    if (!c->b->error.status)
        sett__set(c, w->end, sett_arg_v(end), zero);
    end_region(&is);
}

/* AT_ONCE groups, of which there may be fewer, whose rows are read side by side: passed while the number is behind all of their tiles. So
 * many groups without rows take little time. */
static void pass_groups(const sett__ctx *c, const sett_work_tile *w)
{
    enum { AT_ONCE = 4 };
    const sett_scheduler *s = w->s;
    const sett_arg zero = sett_arg_i(0);
    sett_region beyond = sett_while_begin(c->site, c->b);
    const sett_arg g = sett_arg_v(kept(c, w->group)), last = op(c, SETT_SUB, s->extent[L], sett_arg_i(1));
    sett_arg all = zero, first = s->offsets ? sett_arg_v(kept(c, w->first)) : zero;
    for (int i = 0; i < AT_ONCE; i++) {
        const sett_arg number = op(c, SETT_ADD, g, sett_arg_i(i)), near = op(c, SETT_MIN, number, last);
        sett_arg end = sett_arg_v(s->offsets ? sett__get(c, s->offsets, op(c, SETT_ADD, near, sett_arg_i(1))) : sett__get(c, s->counts, near));
        if (!s->offsets)
            end = where(c, sett_arg_v(sett_binary_at(c->site, c->func, SETT_LT, number, s->extent[L])), end, zero);
        all = op(c, SETT_ADD, all, tiles_of(c, s, first, end));
        first = s->offsets ? end : zero;
    }
    all = op(c, SETT_MUL, all, s->extent[N]);
    sett_val *later = sett_binary_at(c->site, c->func, SETT_GE, sett_arg_v(kept(c, w->at)), all);
    sett_while_test(c->site, &beyond, sett_binary_at(c->site, c->func, SETT_AND, sett_arg_v(sett__is_group(c, w)), sett_arg_v(later)));
    if (!c->b->error.status) {
        sett__set(c, w->at, op(c, SETT_SUB, sett_arg_v(kept(c, w->at)), all), zero);
        sett__set(c, w->group, op(c, SETT_ADD, g, sett_arg_i(AT_ONCE)), zero);
        sett__set(c, w->end, first, zero);
        read_group(c, w);
    }
    end_region(&beyond);
}

void sett__find_group(const sett__ctx *c, const sett_work_tile *w)
{
    const sett_arg zero = sett_arg_i(0);
    sett_region beyond = sett_while_begin(c->site, c->b);
    const sett_arg tiles = op(c, SETT_MUL, sett__group_tiles(c, w), w->s->extent[N]);
    sett_val *later = sett_binary_at(c->site, c->func, SETT_GE, sett_arg_v(kept(c, w->at)), tiles);
    sett_while_test(c->site, &beyond, sett_binary_at(c->site, c->func, SETT_AND, sett_arg_v(sett__is_group(c, w)), sett_arg_v(later)));
    if (!c->b->error.status) {
        sett__set(c, w->at, op(c, SETT_SUB, sett_arg_v(kept(c, w->at)), tiles), zero);
        sett__set(c, w->group, op(c, SETT_ADD, sett_arg_v(kept(c, w->group)), sett_arg_i(1)), zero);
        read_group(c, w);
        pass_groups(c, w);
    }
    end_region(&beyond);
}

void sett__begin_groups(const sett__ctx *c, sett_work_tile *w)
{
    const sett_arg zero = sett_arg_i(0);
    w->at = keep(c, sett_arg_v(sett_block_idx_at(c->site, c->b, 2)));
    w->group = keep(c, zero);
    w->first = keep(c, zero);
    w->end = keep(c, w->s->offsets ? sett_arg_v(sett__get(c, w->s->offsets, zero)) : zero);
    read_group(c, w);
    sett__find_group(c, w);
}
