/* SPDX-License-Identifier: Apache-2.0 */
/* Gives every value of the tape a place. Values that do not change from block to block are computed
 * once and keep their place; the rest share the warp's frame by linear scan, so that a tape of
 * thousands of ops works in a few cache lines. A pick of neighbours is a view, and the parts of a
 * pack are written where the pack wants them. */
#include "program.h"
#include <stdlib.h>

/* What may be kept in place of being computed again: beyond this the frames would leave the cache. */
#define KEEP_UNIFORM (32u << 10)
#define KEEP_THREAD (4u << 10)

typedef struct hole {
    uint64_t at, size;
} hole;
typedef struct scan {
    const sett__tape *tape;
    sett__slot *slot;
    hole *hole;
    uint32_t n_hole, cap_hole;
    uint32_t *expire; /* by position: the first home that dies there; by home: the next one */
    uint64_t top, uniform_top, kept, kept_thread;
} scan;

static uint64_t bytes_of(const sett__slot *s)
{
    return (uint64_t)s->rows * WARP << s->lg;
}

/* ---- views and packs ---------------------------------------------------------------------- */
/* The elements of a pick, if they lie together: *first, and whether they are all the same one. */
static bool neighbours(const sett__tape *t, const sett__op *o, uint32_t *first, bool *same)
{
    const uint32_t *index = t->index + o->imm;
    bool run = true;
    *same = true;
    *first = index[0];
    for (uint32_t i = 1; i < o->n; i++) {
        run &= index[i] == index[0] + i;
        *same &= index[i] == index[0];
    }
    return run || *same;
}

static void make_view(scan *s, uint32_t v, uint32_t of, uint32_t rows, uint32_t off)
{
    s->slot[v].view = true;
    s->slot[v].home = of;
    s->slot[v].off = off;
    s->slot[v].rows = rows;
}

/* Is v the same rows as an operand of it, or some of them? */
static void find_view(scan *s, uint32_t v, const sett__op *o)
{
    uint32_t a = sett__arg(s->tape, o, 0), first;
    const sett__slot *from = &s->slot[a];
    bool same = true;
    if (o->code == SETT__PICK) {
        if (from->rows == 1)
            make_view(s, v, a, 1, 0);
        else if (neighbours(s->tape, o, &first, &same))
            make_view(s, v, a, same ? 1 : o->n, first * (WARP << from->lg));
    } else if (o->code == SETT__PACK) {
        for (int i = 1; i < o->n_args; i++)
            same &= sett__arg(s->tape, o, i) == a;
        if (same && from->rows == 1)
            make_view(s, v, a, 1, 0);
    } else if (o->code == SETT__BITCAST && from->lg == s->slot[v].lg) {
        make_view(s, v, a, from->rows, 0);
    }
}

/* Backwards, so that a pack knows its own place before its parts ask for theirs. */
static void place_parts(scan *s)
{
    for (uint32_t v = s->tape->n_op; v-- > 0;) {
        const sett__op *o = &s->tape->op[v];
        const sett__slot *p = &s->slot[v];
        if (o->code != SETT__PACK || p->view || p->section != SETT__BODY)
            continue;
        uint32_t off = p->off;
        for (int i = 0; i < o->n_args; i++) {
            uint32_t a = sett__arg(s->tape, o, i), n = s->tape->op[a].n;
            sett__slot *part = &s->slot[a];
            if (part->uses == 1 && !part->view && part->section == SETT__BODY && part->rows == n &&
                s->tape->op[a].code != SETT__FOR) {
                part->home = p->home;
                part->off = off;
            }
            off += n * (WARP << p->lg);
        }
    }
}

/* ---- what a value depends on ------------------------------------------------------------------- */
static uint8_t section_of(uint32_t seen)
{
    uint32_t both = 1u << SETT__PER_BLOCK | 1u << SETT__PER_THREAD;
    if (seen >> SETT__BODY || (seen & both) == both)
        return SETT__BODY;
    return seen & 1u << SETT__PER_THREAD  ? SETT__PER_THREAD
           : seen & 1u << SETT__PER_BLOCK ? SETT__PER_BLOCK
                                          : SETT__ONCE;
}

static void classify_pure(scan *s, uint32_t v, const sett__op *o)
{
    sett__slot *slot = &s->slot[v];
    uint32_t seen = 0, rows = 1;
    slot->uniform = true;
    for (int i = 0; i < o->n_args; i++) {
        const sett__slot *a = &s->slot[sett__arg(s->tape, o, i)];
        seen |= 1u << a->section;
        slot->uniform &= a->uniform;
        rows = a->rows > rows ? a->rows : rows;
    }
    slot->section = section_of(seen);
    uint8_t cls = sett__ops[o->code].cls;
    bool moves = cls == SETT__C_PICK || cls == SETT__C_PACK || o->code == SETT__BITCAST;
    slot->rows = cls == SETT__C_REDUCE ? 1 : moves || rows > 1 ? o->n : 1;
    find_view(s, v, o);
    if (slot->view)
        return;
    uint64_t *kept = slot->section == SETT__PER_THREAD ? &s->kept_thread : &s->kept;
    uint64_t budget = slot->section == SETT__PER_THREAD ? KEEP_THREAD : KEEP_UNIFORM;
    if (slot->section == SETT__BODY)
        return;
    if (*kept + bytes_of(slot) > budget)
        slot->section = SETT__BODY;
    else
        *kept += bytes_of(slot);
}

static void classify(scan *s, uint32_t v)
{
    const sett__op *o = &s->tape->op[v];
    sett__slot *slot = &s->slot[v];
    uint8_t cls = sett__ops[o->code].cls;
    *slot = (sett__slot){.home = v, .width = 1, .lazy = SETT__NONE, .rows = o->n ? o->n : 1, .section = SETT__BODY, .first = v, .last = v};
    slot->lg = o->dtype ? (uint8_t)sett__log2_of(sett__dtype_bytes(o->dtype)) : 0;
    if (cls == SETT__C_CONST || cls == SETT__C_SYM || cls == SETT__C_SCALAR || cls == SETT__C_SREG) {
        bool thread = o->code == SETT__TID || o->code == SETT__LANE;
        slot->rows = 1;
        slot->section = thread ? SETT__PER_THREAD : o->code == SETT__BID ? SETT__PER_BLOCK : SETT__ONCE;
        slot->uniform = !thread;
    } else if (cls == SETT__C_FOR) {
        slot->uniform = true;
        for (int i = 0; i < o->n_args; i++)
            slot->uniform &= s->slot[sett__arg(s->tape, o, i)].uniform;
    } else if (o->code >= SETT__CLUSTER_CTAID && o->code <= SETT__CLUSTER_NCTARANK) {
        slot->rows = 1;
        slot->section = SETT__PER_BLOCK;
        slot->uniform = true;
    } else if (sett__ops[o->code].flags & SETT__P && cls != SETT__C_ROOT && cls != SETT__C_INLINE && cls != SETT__C_FORM) {
        classify_pure(s, v, o);
    }
    for (int i = 0; i < o->n_args; i++)
        if (sett__arg(s->tape, o, i) != SETT__NONE)
            s->slot[sett__arg(s->tape, o, i)].uses++;
}

/* ---- how long it lives ---------------------------------------------------------------------------- */
typedef struct loops {
    uint32_t at[SETT__MAX_DEPTH];
    int depth;
} loops;

/* A use inside a loop of what was made before it: the next round wants it again. */
static void extend_life(scan *s, const loops *open, uint32_t v, uint32_t pos)
{
    sett__slot *home = &s->slot[s->slot[v].home];
    if (home->section != SETT__BODY)
        return;
    for (int i = 0; i < open->depth; i++)
        if (open->at[i] > home->first) {
            pos = s->tape->op[open->at[i]].other;
            break;
        }
    home->last = pos > home->last ? pos : home->last;
}

static bool live_ranges(scan *s)
{
    loops open = {.depth = 0};
    const sett__tape *t = s->tape;
    for (uint32_t v = 0; v < t->n_op; v++) {
        const sett__op *o = &t->op[v];
        sett__slot *slot = &s->slot[v];
        if (slot->view) {
            const sett__slot *of = &s->slot[slot->home];
            slot->off += of->off;
            slot->section = of->section;
            slot->home = of->home;
        } else if (slot->home != v && s->slot[slot->home].first > v) {
            s->slot[slot->home].first = v;
        }
        if (o->code == SETT__FOR || o->code == SETT__LOOP) {
            if (open.depth == SETT__MAX_DEPTH)
                return false;
            if (o->code == SETT__FOR)
                extend_life(s, &open, sett__arg(t, o, 0), v);
            open.at[open.depth++] = v;
            slot->last = o->other;
        } else if (o->code == SETT__END && (t->op[o->other].code == SETT__FOR || t->op[o->other].code == SETT__LOOP)) {
            open.depth--;
        }
        for (int i = o->code == SETT__FOR; i < o->n_args; i++) {
            uint32_t a = sett__arg(t, o, i);
            if (a == SETT__NONE)
                continue;
            extend_life(s, &open, a, v);
            if (t->op[a].code == SETT__GMEM || t->op[a].code == SETT__PEER) /* its address, its rank */
                extend_life(s, &open, sett__arg(t, &t->op[a], t->op[a].code == SETT__PEER), v);
            if (o->code == SETT__FOR && s->slot[a].section == SETT__BODY && s->slot[s->slot[a].home].last < o->other)
                s->slot[s->slot[a].home].last = o->other;
        }
    }
    return true;
}

/* ---- places --------------------------------------------------------------------------------------------- */
static void remove_hole(scan *s, uint32_t i)
{
    s->n_hole--;
    memmove(&s->hole[i], &s->hole[i + 1], (s->n_hole - i) * sizeof *s->hole);
}

static uint64_t take_room(scan *s, uint64_t size)
{
    for (uint32_t i = 0; i < s->n_hole; i++)
        if (s->hole[i].size >= size) {
            uint64_t at = s->hole[i].at;
            s->hole[i].at += size;
            s->hole[i].size -= size;
            if (!s->hole[i].size)
                remove_hole(s, i);
            return at;
        }
    uint64_t at = s->top;
    s->top += size;
    return at;
}

static bool give_room_back(scan *s, uint64_t at, uint64_t size)
{
    uint32_t i = 0;
    while (i < s->n_hole && s->hole[i].at < at)
        i++;
    bool joins_left = i && s->hole[i - 1].at + s->hole[i - 1].size == at;
    bool joins_right = i < s->n_hole && at + size == s->hole[i].at;
    if (joins_left) {
        s->hole[i - 1].size += size + (joins_right ? s->hole[i].size : 0);
        if (joins_right)
            remove_hole(s, i);
        return true;
    }
    if (joins_right) {
        s->hole[i].at = at;
        s->hole[i].size += size;
        return true;
    }
    if (!sett__grow(NULL, (void **)&s->hole, &s->cap_hole, s->n_hole + 1, sizeof *s->hole))
        return false;
    memmove(&s->hole[i + 1], &s->hole[i], (s->n_hole - i) * sizeof *s->hole);
    s->hole[i] = (hole){at, size};
    s->n_hole++;
    return true;
}

static bool has_rows(const sett__op *o)
{
    return o->dtype && o->n && sett__ops[o->code].cls != SETT__C_ROOT;
}

/* What is computed outside the body never moves. */
static bool place_kept(scan *s)
{
    for (uint32_t v = 0; v < s->tape->n_op; v++) {
        const sett__op *o = &s->tape->op[v];
        sett__slot *slot = &s->slot[v];
        if (slot->home != v || slot->section == SETT__BODY || !has_rows(o))
            continue;
        uint64_t *top = slot->section == SETT__PER_THREAD ? &s->top : &s->uniform_top;
        slot->at = (uint32_t)*top;
        slot->placed = true;
        *top += sett__round_up(bytes_of(slot), 64);
        if (*top > UINT32_MAX)
            return false;
    }
    return true;
}

static bool place_local(scan *s, sett__program *p)
{
    p->local_at = (uint32_t)s->top;
    for (uint32_t v = 0; v < s->tape->n_op; v++) {
        const sett__op *o = &s->tape->op[v];
        if (o->code != SETT__RMEM)
            continue;
        s->slot[v].at = (uint32_t)s->top;
        s->slot[v].placed = true;
        s->top += sett__round_up((uint64_t)o->n * WARP << s->slot[v].lg, 64);
        if (s->top > UINT32_MAX)
            return false;
    }
    p->local_bytes = (uint32_t)(s->top - p->local_at);
    return true;
}

/* A result gets its place before its operands give theirs back, so that they never overlap. */
static sett_status place_body(scan *s, sett_error *e)
{
    uint32_t n = s->tape->n_op, *next = s->expire + n;
    for (uint32_t v = 0; v < n; v++)
        s->expire[v] = SETT__NONE;
    for (uint32_t v = 0; v < n; v++) {
        uint32_t home = s->slot[v].home;
        sett__slot *h = &s->slot[home];
        if (has_rows(&s->tape->op[v]) && h->section == SETT__BODY && !h->placed) {
            uint64_t at = take_room(s, sett__round_up(bytes_of(h), 64));
            if (s->top > UINT32_MAX)
                return sett__error(e, SETT_E_LIMIT, "values of more than 4 GiB a warp are alive at once");
            h->at = (uint32_t)at;
            h->placed = true;
            next[home] = s->expire[h->last];
            s->expire[h->last] = home;
        }
        for (uint32_t i = s->expire[v]; i != SETT__NONE; i = next[i])
            if (!give_room_back(s, s->slot[i].at, sett__round_up(bytes_of(&s->slot[i]), 64)))
                return sett__no_room(e);
    }
    return SETT_OK;
}

static sett_status place_all(scan *s, sett__program *p, sett_error *e)
{
    for (uint32_t v = 0; v < s->tape->n_op; v++)
        classify(s, v);
    if (!p->plain && !sett__find_flat(s->tape, s->slot))
        return sett__no_room(e);
    place_parts(s);
    if (!live_ranges(s))
        return sett__error(e, SETT_E_LIMIT, "regions nest deeper than %d", SETT__MAX_DEPTH);
    if (!p->plain && !sett__find_lazy(s->tape, s->slot, &p->n_lazy))
        return sett__no_room(e);
    if (!place_kept(s) || !place_local(s, p))
        return sett__error(e, SETT_E_LIMIT, "values and arrays of more than 4 GiB a warp");
    sett_status status = place_body(s, e);
    p->warp_bytes = s->top;
    p->uniform_bytes = s->uniform_top;
    return status;
}

sett_status sett__slots(sett__program *p, sett__slot *slot, sett_error *e)
{
    uint32_t n = p->tape->n_op;
    scan s = {.tape = p->tape, .slot = slot};
    s.expire = malloc(((size_t)n * 2 + 1) * sizeof *s.expire);
    sett_status status =
        s.expire ? place_all(&s, p, e) : sett__no_room(e);
    free(s.expire);
    sett__mem_free(NULL, s.hole);
    return status;
}
