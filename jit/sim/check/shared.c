/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of shared memory: each access against those before it that its cells know of. */
#include "shared_cells.h"

/* ---- stores of equal values --------------------------------------------------------------------------------------------- */
/* What a lane of a store writes to byte k of its place. */
static unsigned char stored(const sett__accesses *a, uint32_t lane, uint32_t k)
{
    const sett__insn *i = a->insn;
    const uint32_t size = 1u << i->lg, element = i->access.value & SETT__REF_SPLAT ? 0 : k / size;
    return ((const unsigned char *)sett__at(a->warp, i->access.value))[((size_t)element * WARP + lane) * size + k % size];
}

/* Lanes of one store at one place: all of them write the same, or they race. */
static bool one_value(const sett__accesses *a, uint32_t lanes)
{
    const uint32_t first = (uint32_t)__builtin_ctz(lanes);
    bool same = a->insn->step == SETT__S_STORE;
    for (uint32_t m = lanes & (lanes - 1); m && same; m &= m - 1)
        for (uint32_t k = 0; k < a->bytes && same; k++)
            same = stored(a, (uint32_t)__builtin_ctz(m), k) == stored(a, first, k);
    return same;
}

static uint32_t cell_at(const struct cells *s, uint32_t at)
{
    const row *r = &s->row[at >> ROW_LG];
    return r->at + ((at & (ROW - 1)) >> r->lg);
}

/* Does one store write what it has written there already? Then those who read it in between have read the same. The store that is told
 * has not happened yet. What is now there, nobody knows of whom. */
static bool stores_the_same(const actor *x, const access *old, uint32_t lane, uint32_t at)
{
    const sett__accesses *a = x->of;
    if (!a || x->how != SETT__WRITE || a->insn->step != SETT__S_STORE || old->how == SETT__UPDATE)
        return false;
    struct cells *s = x->n->block[x->where->rank].cells;
    const uint32_t cell = cell_at(s, at), writer = s->write[cell];
    lane = lane < WARP ? lane : (uint32_t)__builtin_ctz(a->lanes);
    const uint32_t from = (uint32_t)(at - a->at[lane]), unit = 1u << s->row[at >> ROW_LG].lg;
    const access *by = sett__access_at(x->n, writer);
    bool same = old->op == x->op || (old->how == SETT__READ && old->proxy == SETT__GENERIC_PROXY && (!writer || by->agent != x->agent)); /* several warps fill one place */
    same &= !writer || by->op == x->op;
    for (uint32_t k = 0; k < unit && same; k++)
        same = from + k < a->bytes && stored(a, lane, from + k) == a->of->shared[at + k];
    return same;
}

/* Are two atomics such for each other: of one width, and of scopes that include the other thread? (PTX: morally strong.) */
static bool is_strong(const actor *x, const access *a, bool by_scope)
{
    const sett__tape *t = x->c->program->given;
    if (x->how != SETT__UPDATE || a->how != SETT__UPDATE || x->proxy != a->proxy)
        return false;
    const sett__op *o[] = {&t->op[x->op], &t->op[a->op]};
    if (sett__dtype_bytes((sett_dtype)o[0]->dtype) != sett__dtype_bytes((sett_dtype)o[1]->dtype))
        return false;
    for (int k = 0; k < 2 && by_scope && x->self / x->n->per_block != a->agent / x->n->per_block; k++)
        if (sett__attr(t->arg, o[k], SETT__AT_ATOM_SCOPE) == SETT_SCOPE_CTA)
            return false;
    return true;
}

/* ---- rules: two accesses ----------------------------------------------------------------------------------------------- */
/* Is the older access, by this lane, before what the actor's lane does? If not, it is told. What a thread did is before what it does,
 * and before what it begins; what it began is not. */
static bool is_before(actor *x, uint32_t old, uint32_t old_lane, uint32_t lane, uint32_t at)
{
    const access *a = sett__access_at(x->n, old);
    const bool own = a->agent == x->self && old_lane == lane && lane != MANY_LANES && (x->agent == x->self || old <= x->began);
    if (a->op == SETT__NONE)
        return true;
    if (!own && !sett__knows(x->n, x->known, BEFORE, x->self, lane, a->agent, old_lane, old)) {
        if (!x->strict && stores_the_same(x, a, lane, at)) {
            x->same = true;
            return true;
        }
        const bool order = is_strong(x, a, false) || sett__knows(x->n, x->known, STRONGER, x->self, lane, a->agent, old_lane, old);
        return sett__tell_conflict(x, order ? SETT_CHECK_ORDER : SETT_CHECK_RACE, old, old_lane, lane, at);
    }
    if (x->proxy != SETT__ASYNC_PROXY || a->proxy == SETT__ASYNC_PROXY || (x->n->fences[0] && sett__covers(x->n, x->known, OWN_FENCE, a->agent, old_lane, old)))
        return true;
    const bool fenced = x->n->fences[0] && sett__covers(x->n, x->known, FENCED, a->agent, old_lane, old);
    return sett__tell_conflict(x, fenced ? SETT_CHECK_PROXY_FENCE_SIDE : SETT_CHECK_PROXY_FENCE, old, old_lane, lane, at);
}

/* Which lane a cell is of. Of a row of a transposed matrix each fourth lane has two bytes, beginning with TURNED's. */
static uint32_t lane_in(const actor *x, uint32_t lane, uint32_t at)
{
    if (lane < TURNED)
        return lane;
    return x->n->block[x->where->rank].cells->row[at >> ROW_LG].lg > 1 ? MANY_LANES : lane - TURNED + (at >> 1 & 7) * 4;
}

static bool ask(actor *x, uint32_t old, uint32_t old_lane, uint32_t lane, uint32_t at)
{
    if (old <= x->known->floor[x->proxy])
        return true;
    old_lane = lane_in(x, old_lane, at), lane = lane_in(x, lane, at);
    const uint32_t lanes = old_lane << 8 | lane;
    if (old == x->seen && lanes == x->seen_lane)
        return x->seen_fine;
    x->seen = old;
    x->seen_lane = lanes;
    x->seen_fine = is_before(x, old, old_lane, lane, at);
    x->seen = x->same ? 0 : old; /* the next cell may have another value */
    return x->seen_fine;
}

/* Everybody who has read the cell, or changed it: those who did so as an atomic alone, or the others, or all. */
static bool ask_readers(actor *x, uint32_t read, uint32_t read_lane, uint32_t lane, uint32_t at, bool atomics, bool others)
{
    for (bool fine = true;;) {
        const reader *r = read & SET ? &x->n->readers->of[read & ~SET] : NULL;
        const uint32_t time = r ? r->time : read, by = r ? r->lane : read_lane;
        const bool atomic = time && sett__access_at(x->n, time)->how == SETT__UPDATE;
        if (time && (atomic ? atomics || !is_strong(x, sett__access_at(x->n, time), true) : others))
            fine = ask(x, time, by, lane, at);
        if (!r || !fine)
            return fine;
        read = r->next;
        read_lane = MANY_LANES;
    }
}

/* ---- readers --------------------------------------------------------------------------------------------------------------- */
/* Does the new access stand for the older one? Who is after it is then after both. */
static bool replaces(const actor *x, uint32_t old)
{
    const access *a = sett__access_at(x->n, old);
    if (a->op == SETT__NONE || old <= x->known->floor[x->proxy])
        return true;
    if (a->how != x->how)
        return false;
    return a->agent == x->agent || (a->proxy == x->proxy && sett__covers(x->n, x->known, BEFORE, a->agent, MANY_LANES, old));
}

static uint8_t both_lanes(uint8_t a, uint8_t b)
{
    return a == b ? a : MANY_LANES;
}

/* The cell's readers with the actor's lane among them; *lane: of the newest. */
static uint32_t readers_with(actor *x, uint32_t read, uint8_t read_lane, uint8_t *lane)
{
    struct readers *s = x->n->readers;
    uint32_t kept = 0;
    if (!(read & SET)) {
        if (!read || replaces(x, read)) {
            const access *a = sett__access_at(x->n, read);
            const bool now = read && a->agent == x->agent && read > x->known->at[(size_t)BEFORE * x->n->stride + x->agent];
            *lane = now ? both_lanes(read_lane, *lane) : *lane;
            return x->time;
        }
        kept = sett__add_reader(x->n, read, read_lane, 0);
        return kept ? sett__add_reader(x->n, x->time, *lane, kept) : 0;
    }
    if (s->was == read && s->of[s->is & ~SET].time == x->time && s->of[s->is & ~SET].lane == *lane)
        return s->is;
    const uint32_t was = read;
    bool cut = false;
    uint32_t node[64], k = 0;
    for (; read & SET && k < 64; read = s->of[read & ~SET].next) {
        if (replaces(x, s->of[read & ~SET].time))
            cut = true;
        else
            node[k++] = read;
    }
    if (read & SET)
        return was; /* more of them than anybody tells apart */
    if (!cut) {
        kept = was;
    } else {
        while (k && !x->n->full) {
            const reader r = s->of[node[--k] & ~SET];
            kept = r.next == kept ? node[k] : sett__add_reader(x->n, r.time, r.lane, kept);
        }
    }
    s->is = kept ? sett__add_reader(x->n, x->time, *lane, kept) : x->time;
    s->was = was;
    return s->is;
}

/* ---- an access -------------------------------------------------------------------------------------------------------------- */
/* Bytes from `from` to `to` of a window, which lane after lane touches, `each` of them, or one alone (each 0). */
typedef struct span {
    uint32_t from, to, each;
    uint32_t lane;
} span;

static uint8_t lane_of(const span *p, uint32_t byte)
{
    return (uint8_t)(p->each ? p->lane + (byte - p->from) / p->each : p->lane);
}

static uint32_t newest(const uint32_t *at, uint32_t n)
{
    int32_t most = 0, any = 0; /* a SET is below 0 */
    for (uint32_t k = 0; k < n; k++) {
        const int32_t t = (int32_t)at[k];
        most = t > most ? t : most;
        any |= t;
    }
    return any < 0 ? UINT32_MAX : (uint32_t)most;
}

static void put_lanes(uint8_t *to, const span *p, uint32_t at, uint32_t lg, uint32_t n)
{
    if (!p->each)
        memset(to, (int)p->lane, n);
    else if (p->each == 1u << lg)
        for (uint32_t k = 0, l = lane_of(p, at); k < n; k++)
            to[k] = (uint8_t)(l + k);
    else
        for (uint32_t k = 0; k < n; k++)
            to[k] = lane_of(p, at + (k << lg));
}

/* By one lane, or all of them at once. Neighbours are mostly alike: what became of the last cell becomes of the next, where lane_in() is the same. */
static bool read_alike(actor *x, struct cells *s, uint8_t lg, uint8_t lane, uint32_t i, uint32_t n, uint32_t at)
{
    const uint32_t floor = x->known->floor[x->proxy];
    struct alike *m = &x->alike;
    for (uint32_t k = 0; k < n; k++, i++, at += 1u << lg) {
        if (s->write[i] != m->write || s->read[i] != m->read || s->write_lane[i] != m->write_lane || s->read_lane[i] != m->read_lane || lane != m->lane || !m->becomes ||
            (lg < 2 && (lane >= TURNED || m->write_lane >= TURNED))) {
            *m = (struct alike){.write = s->write[i], .read = s->read[i], .write_lane = s->write_lane[i], .read_lane = s->read_lane[i], .lane = lane, .new_lane = lane};
            if (m->write > floor)
                ask(x, m->write, m->write_lane, lane, at);
            if (m->read == x->time)
                m->new_lane = both_lanes(m->read_lane, lane);
            m->becomes = m->read <= floor || m->read == x->time ? x->time : readers_with(x, m->read, m->read_lane, &m->new_lane);
        }
        s->read[i] = m->becomes;
        s->read_lane[i] = m->new_lane;
    }
    return !x->n->full;
}

static bool read_cells(actor *x, struct cells *s, const row *r, const span *p, uint32_t i, uint32_t n, uint32_t at)
{
    const uint32_t floor = x->known->floor[x->proxy];
    if (!p->each && !r->atomics)
        return read_alike(x, s, r->lg, (uint8_t)p->lane, i, n, at);
    if (newest(s->write + i, n) > floor || r->atomics)
        for (uint32_t k = 0; k < n; k++) {
            const uint32_t b = at + (k << r->lg);
            if (s->write[i + k] > floor)
                ask(x, s->write[i + k], s->write_lane[i + k], lane_of(p, b), b);
            if (r->atomics)
                ask_readers(x, s->read[i + k], s->read_lane[i + k], lane_of(p, b), b, true, false);
        }
    if (newest(s->read + i, n) <= floor) {
        for (uint32_t k = 0; k < n; k++)
            s->read[i + k] = x->time;
        put_lanes(s->read_lane + i, p, at, r->lg, n);
        return true;
    }
    for (uint32_t k = 0; k < n; k++) {
        uint8_t lane = lane_of(p, at + (k << r->lg));
        if (s->read[i + k] == x->time) {
            s->read_lane[i + k] = both_lanes(s->read_lane[i + k], lane);
            continue;
        }
        s->read[i + k] = readers_with(x, s->read[i + k], s->read_lane[i + k], &lane);
        s->read_lane[i + k] = lane;
    }
    return !x->n->full;
}

static bool are_alike(const struct cells *s, uint32_t a, uint32_t b)
{
    return s->write[a] == s->write[b] && s->read[a] == s->read[b] && s->write_lane[a] == s->write_lane[b] && s->read_lane[a] == s->read_lane[b];
}

/* Was the last reader of each of them, at one time, the very lane that comes now? */
static bool are_own(const actor *x, const struct cells *s, const span *p, uint32_t i, uint32_t n, uint32_t at, uint32_t lg)
{
    const uint32_t read = s->read[i], first = lane_of(p, at);
    uint32_t other = x->proxy != SETT__GENERIC_PROXY || x->agent != x->self || read & SET || p->each != 1u << lg;
    for (uint32_t k = 0; k < n; k++)
        other |= (s->read[i + k] ^ read) | (s->read_lane[i + k] ^ (uint8_t)(first + k));
    return !other && sett__access_at(x->n, read)->agent == x->self;
}

static bool write_cells(actor *x, struct cells *s, const row *r, const span *p, uint32_t i, uint32_t n, uint32_t at)
{
    const uint32_t floor = x->known->floor[x->proxy];
    uint64_t unknown[ROW / 64] = {0}; /* cells of which nobody knows any more who wrote them */
    const bool unread = newest(s->read + i, n) <= floor || are_own(x, s, p, i, n, at, r->lg);
    if (newest(s->write + i, n) > floor || !unread)
        for (uint32_t k = 0; k < n; k++) {
            const uint32_t b = at + (k << r->lg), lane = lane_of(p, b);
            if (k && !p->each && !(unknown[0] | unknown[1]) && are_alike(s, i + k - 1, i + k))
                continue;
            x->same = false;
            if (s->write[i + k] > floor)
                ask(x, s->write[i + k], s->write_lane[i + k], lane, b);
            if (s->read[i + k] > floor && !unread)
                ask_readers(x, s->read[i + k], s->read_lane[i + k], lane, b, true, true);
            unknown[k / 64] |= (uint64_t)x->same << k % 64;
            x->same = false;
        }
    for (uint32_t k = 0; k < n; k++)
        s->write[i + k] = x->time, s->read[i + k] = 0;
    for (uint32_t k = 0; unknown[0] | unknown[1] && k < n; k++)
        s->write[i + k] = unknown[k / 64] >> k % 64 & 1 ? 0 : x->time;
    put_lanes(s->write_lane + i, p, at, r->lg, n);
    return true;
}

static bool update_cells(actor *x, struct cells *s, row *r, const span *p, uint32_t i, uint32_t n, uint32_t at)
{
    r->atomics = true;
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t b = at + (k << r->lg);
        uint8_t lane = lane_of(p, b);
        ask(x, s->write[i + k], s->write_lane[i + k], lane, b);
        ask_readers(x, s->read[i + k], s->read_lane[i + k], lane, b, false, true);
        if (s->read[i + k] == x->time) {
            s->read_lane[i + k] = both_lanes(s->read_lane[i + k], lane);
            continue;
        }
        s->read[i + k] = readers_with(x, s->read[i + k], s->read_lane[i + k], &lane);
        s->read_lane[i + k] = lane;
    }
    return !x->n->full;
}

static bool touch(actor *x, struct cells *s, const span *p)
{
    bool fine = true;
    for (uint32_t at = p->from, end; at < p->to && fine; at = end) {
        row *r = &s->row[at >> ROW_LG];
        end = sett__least((at | (ROW - 1)) + 1, p->to);
        if (at >> ROW_LG >= s->n_row)
            return true;
        if (!sett__make_row(s, r, at | end | p->each)) {
            x->n->full = true;
            return false;
        }
        const uint32_t i = r->at + ((at & (ROW - 1)) >> r->lg), n = (end - at) >> r->lg;
        fine = x->how == SETT__READ ? read_cells(x, s, r, p, i, n, at) : x->how == SETT__WRITE ? write_cells(x, s, r, p, i, n, at) : update_cells(x, s, r, p, i, n, at);
    }
    return fine;
}

/* ---- threads ------------------------------------------------------------------------------------------------------------------ */
/* The lanes from `first` on that lie one after another, or all those at its place. */
static uint32_t span_of(const sett__accesses *a, uint32_t left, span *p)
{
    const int first = __builtin_ctz(left);
    uint32_t lanes = 1u << first;
    if (a->row && left == UINT32_MAX) {
        *p = (span){.from = (uint32_t)a->at[0], .to = (uint32_t)a->at[0] + a->bytes * WARP, .each = a->bytes};
        return left;
    }
    int l = first + 1;
    while (l < WARP && left >> l & 1 && a->at[l] == a->at[l - 1] + a->bytes)
        lanes |= 1u << l++;
    *p = (span){.from = (uint32_t)a->at[first], .to = (uint32_t)a->at[first] + a->bytes * (uint32_t)(l - first), .each = l > first + 1 ? a->bytes : 0, .lane = (uint32_t)first};
    if (p->each)
        return lanes;
    for (uint32_t m = left & (left - 1); m; m &= m - 1)
        lanes |= a->at[__builtin_ctz(m)] == a->at[first] ? m & -m : 0;
    if (lanes & (lanes - 1))
        p->lane = MANY_LANES;
    return lanes;
}

/* ldmatrix and stmatrix: row r of a matrix is what lanes 4 r to 4 r + 3 hold. Of one that is transposed lanes r / 2, r / 2 + 4 ... do. */
static bool touch_rows(actor *x, struct cells *s, const sett__accesses *a)
{
    enum { PIECE = 16, EACH = 4, ROWS = 8 };
    const bool turned = sett__attr(x->c->program->given->arg, &x->c->program->given->op[a->op], SETT__AT_MATRIX_TRANS);
    bool fine = true;
    for (uint32_t m = a->lanes; m && fine; m &= m - 1) {
        const uint32_t l = (uint32_t)__builtin_ctz(m), from = (uint32_t)a->at[l];
        fine = touch(x, s, &(span){.from = from, .to = from + PIECE, .each = turned ? 0 : EACH, .lane = turned ? TURNED + l % ROWS / 2 : l % ROWS * EACH});
    }
    return fine;
}

static bool touch_lanes(actor *x, struct cells *s, const sett__accesses *a, uint32_t lanes)
{
    bool fine = true;
    while (lanes && fine) {
        span p;
        const uint32_t now = span_of(a, lanes, &p);
        lanes &= ~now;
        if (x->how == SETT__WRITE && p.lane == MANY_LANES && (x->strict || !one_value(a, now)))
            fine = sett__tell_conflict(x, SETT_CHECK_RACE, x->time, MANY_LANES, MANY_LANES, p.from);
        fine = fine && touch(x, s, &p);
    }
    return fine;
}

bool sett__shared_accesses(sett__core *c, near *n, const sett__accesses *a)
{
    const bool copies = a->insn->step == SETT__S_CP_ASYNC;
    walker *w = sett__walker(n, c, a->warp);
    struct cells *s = n->block[a->of->rank].cells;
    const uint32_t self = sett__agent(n, OF_WARP, c->cta->rank, a->warp->index);
    actor x = {.n = n, .c = c, .w = a->warp, .of = a, .where = a->of, .self = self, .agent = copies ? sett__agent(n, OF_CP_ASYNC, c->cta->rank, a->warp->index) : self,
        .lanes = a->lanes, .op = a->op, .how = a->how, .began = n->time, .strict = c->launch->check->to.checks == SETT_CHECKS_STRICT};
    bool fine = (x.time = sett__access_new(n, &(access){.op = a->op, .lanes = a->lanes, .agent = (uint16_t)x.agent, .how = a->how,
        .round = sett__round_of(n, c, a->warp, a->op, __builtin_ctz(a->lanes))}));
    for (uint32_t left = a->lanes, lanes; left && fine; left &= ~lanes) {
        const bool more = w->more && left & w->more_lanes && a->insn->step != SETT__S_FORM;
        lanes = more ? left & w->more_lanes : left;
        clocks *k = more ? w->more : w->known;
        if (!k->has_floors)
            sett__floors(n, k);
        x.known = k;
        x.seen = 0;
        fine = a->insn->step == SETT__S_FORM ? touch_rows(&x, s, a) : touch_lanes(&x, s, a, lanes);
    }
    return fine || (n->full && sett__no_memory(c, a->warp, a->op));
}

/* ---- what goes on by itself ------------------------------------------------------------------------------------------------------ */
/* What a descriptor names must lie there as it says. */
static void lies_so(actor *x, const struct cells *s, const sett__effect *e)
{
    enum { PATTERN = 128 };
    for (uint32_t at = e->at; e->boxed && at < e->at + e->bytes; at = (at | (PATTERN - 1)) + 1) {
        const row *r = &s->row[at >> ROW_LG];
        const uint32_t write = r->at ? s->write[r->at + ((at & (ROW - 1)) >> r->lg)] : 0;
        const access *a = sett__access_at(x->n, write);
        if (a->bits == e->bits)
            x->boxed_so = write;
        if (write && a->boxed && ((at >> 7 & e->bits) != (at >> 7 & a->bits))) {
            sett__tell_conflict(x, SETT_CHECK_SWIZZLE, write, 0, 0, at);
            return;
        }
    }
}

static bool actor_of(sett__core *c, near *n, const sett__effect *e, actor *x)
{
    const flight *f = c->event ? c->event->told : NULL;
    const bool store = f && c->event->kind == SETT__EVENT_STORE, multiplies = f && f->product;
    *x = (actor){.n = n, .c = c, .w = e->warp, .where = e->of, .self = sett__agent(n, OF_WARP, c->cta->rank, e->warp->index), .lanes = 1u << e->lane, .op = e->op, .how = e->how,
        .proxy = e->proxy, .lane = multiplies ? MANY_LANES : (uint8_t)e->lane, .began = f ? f->began : n->time};
    x->time = !f ? sett__access_new(n, &(access){.op = e->op, .lanes = x->lanes, .agent = (uint16_t)x->self}) : store || multiplies ? f->time[0] : f->time[e->of->rank];
    for (uint32_t r = 0; r < n->blocks && !x->time && f; r++) /* of a copy to a peer: its source */
        x->time = f->time[r];
    access *a = sett__access_at(n, x->time);
    a->how = e->how, a->proxy = e->proxy;
    if (e->how & SETT__WRITE)
        a->boxed = e->boxed, a->bits = e->bits;
    x->agent = a->agent;
    clocks *k = multiplies ? sett__product_known(n, f->product) : f ? f->known : sett__known_by(n, c, e->warp, (uint32_t)e->lane);
    if (k && !k->has_floors)
        sett__floors(n, k);
    x->known = k;
    n->last_event = c->event;
    n->last_time = n->time;
    return k && !n->full;
}

/* Whole cells of one row, as a product reads them: a piece, or two beside each other. */
static bool is_piece(const struct cells *s, const sett__effect *e)
{
    const row *r = &s->row[e->at >> ROW_LG];
    return e->how == SETT__READ && r->at && r->lg == UNIT_LG && !r->atomics && !((e->at | e->bytes) & ((1u << UNIT_LG) - 1)) && e->bytes <= 2 << UNIT_LG &&
        (e->at & (ROW - 1)) + e->bytes <= ROW;
}

/* Most are one of many by one event. */
bool sett__shared_effect(sett__core *c, near *n, const sett__effect *e)
{
    struct cells *s = n->block[e->of->rank].cells;
    actor *x = &n->last_one;
    if (c->event && !c->event->told)
        return true;
    const bool again = c->event && n->last_event == c->event && n->last_time == n->time && x->how == e->how && x->where == e->of;
    if (!again && !actor_of(c, n, e, x))
        return sett__no_memory(c, e->warp, e->op);
    const bool piece = is_piece(s, e);
    const uint32_t i = piece ? cell_at(s, e->at) : 0, n_cells = (uint32_t)(e->bytes >> UNIT_LG);
    if (e->boxed && e->how == SETT__READ && s->row[e->at >> ROW_LG].at && (!piece || s->write[i] != x->boxed_so || s->write[i + n_cells - 1] != x->boxed_so))
        lies_so(x, s, e);
    if (piece)
        return read_alike(x, s, UNIT_LG, x->lane, i, n_cells, e->at) || sett__no_memory(c, e->warp, e->op);
    return touch(x, s, &(span){.from = e->at, .to = e->at + (uint32_t)e->bytes, .lane = x->lane}) || (n->full && sett__no_memory(c, e->warp, e->op));
}
