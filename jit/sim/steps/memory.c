/* SPDX-License-Identifier: Apache-2.0 */
/* Loads, stores and atomics of a warp, with the checks that are always on: every lane's access lies
 * inside what was bound at launch, the window of shared memory or the thread's array, and is aligned as
 * the kernel claims. Lanes that lie one after another become one copy. */
#include "steps.h"
#include <string.h>

enum { PREFETCH_MOST = 512 };
#define FAR ((int64_t)1 << 48)

typedef struct touch {
    sett__core *core;
    sett__warp *warp;
    const sett__insn *insn;
    const sett__place *at;
    const sett__root *root;
    sett__window window;
    uint32_t mask;       /* lanes that take part */
    uint32_t n, op;      /* the instruction's, or those of a part of it */
    bool one;            /* all at index[0] */
    unsigned char *far[WARP]; /* where each lane's first element is, of roots past SETT__LOCAL */
    int64_t index[WARP]; /* elements from the root */
} touch;

static const char *const verb[] = {
    [SETT__S_LOAD] = "load of", [SETT__S_STORE] = "store to", [SETT__S_ATOM] = "atomic on", [SETT__S_CP_ASYNC] = "cp.async of"};

/* "A" of an argument; "shared memory made at a.c:1" of a tensor in it, of which one line says where it is made: all that a launch adds is
 * one root, whatever the tensors in it. */
static const char *root_name(const touch *a, char buf[192])
{
    const sett__program *p = a->core->program;
    const sett__root *r = a->root;
    const sett__op *op = &p->given->op[r->op];
    char where[160];
    if (r->space == SETT__GLOBAL)
        return p->tape->sig.param[r->param].name ? p->tape->sig.param[r->param].name : "an argument";
    const bool known = op->site < p->given->n_site && op->n;
    snprintf(buf, 192, "%s%s%s", r->space == SETT__SHARED ? "shared memory" : "a register array", known ? " made at " : "",
        known ? sett__where_noted(a->core, r->op, where, sizeof where) : "");
    return buf;
}

static int64_t index_at(const sett__place *at, const void *base, int lane)
{
    if (at->base64)
        return ((const int64_t *)base)[lane];
    if (at->base_unsigned)
        return ((const uint32_t *)base)[lane];
    return ((const int32_t *)base)[lane];
}

/* ---- faults ---------------------------------------------------------------------------- */
static bool fault_outside(touch *a, int lane)
{
    const sett__insn *i = a->insn;
    int64_t first = a->index[a->one ? 0 : lane], count = a->window.hi >> i->lg;
    char to[32] = "", name[192];
    if (a->n > 1)
        snprintf(to, sizeof to, "s %lld to %lld", (long long)first, (long long)(first + a->n - 1));
    else
        snprintf(to, sizeof to, " %lld", (long long)first);
    return sett__fault(a->core, a->warp, lane, a->op, SETT_CHECK_BOUNDS, "%s %s: element%s of %lld (byte %lld) is outside", verb[i->step],
        root_name(a, name), to, (long long)count, (long long)((uint64_t)first << i->lg));
}

static bool fault_misaligned(touch *a, int lane)
{
    const sett__insn *i = a->insn;
    int64_t first = a->index[a->one ? 0 : lane];
    char name[192];
    return (i->step == SETT__S_ATOM ? sett__fault : sett__object)(a->core, a->warp, lane, a->op, SETT_CHECK_ALIGN, "%s %s: element %lld (byte %lld) is not aligned to %llu bytes",
        verb[i->step], root_name(a, name), (long long)first, (long long)((uint64_t)first << i->lg), 1ull << (a->at->align & 63));
}

/* ---- where the lanes point --------------------------------------------------------------------- */
/* Elements that may be the first of an access: [*least, *least + *span]; false: none. */
static bool first_allowed(const touch *a, int64_t *least, uint64_t *span)
{
    uint8_t lg = a->insn->lg;
    int64_t most = (a->window.hi >> lg) - (int64_t)a->n;
    *least = -(-a->window.lo >> lg);
    *span = (uint64_t)most - (uint64_t)*least;
    return most >= *least;
}

static bool is_aligned(const touch *a, int64_t index)
{
    uint64_t place = a->root->space == SETT__LOCAL ? 0 : (uint64_t)(uintptr_t)a->window.p;
    return !((place + ((uint64_t)index << a->insn->lg)) & (((uint64_t)1 << (a->at->align & 63)) - 1));
}

/* Of roots past SETT__LOCAL: at an address, or a peer's. */
static bool check_far(touch *a)
{
    const char *words = verb[a->insn->step];
    for (int l = 0; l < WARP; l++) {
        sett__aim s = {.lane = l, .op = a->op, .root = a->at->root, .verb = words, .at = a->index[l] * ((int64_t)1 << a->insn->lg),
            .bytes = (uint64_t)a->n << a->insn->lg, .align = (uint64_t)1 << (a->at->align & 63)};
        if (!(a->mask >> l & 1))
            continue;
        if (a->index[l] < -FAR || a->index[l] > FAR)
            return sett__fault(a->core, a->warp, l, a->op, SETT_CHECK_BOUNDS, "%s element %lld is past 2^48", words, (long long)a->index[l]);
        if (!sett__reach(a->core, a->warp, &s))
            return false;
        a->far[l] = s.p;
    }
    return true;
}

static bool check_lanes(touch *a)
{
    if (a->root->space > SETT__LOCAL)
        return check_far(a);
    int64_t least;
    uint64_t span;
    bool any = first_allowed(a, &least, &span);
    uint32_t lanes = a->one ? a->mask & -a->mask : a->mask, bad = 0, skew = 0;
    if (a->one) {
        bad = any && (uint64_t)a->index[0] - (uint64_t)least <= span ? 0 : lanes;
        skew = is_aligned(a, a->index[0]) ? 0 : lanes;
    } else {
        for (int l = 0; l < WARP; l++)
            bad |= (uint32_t)((uint64_t)a->index[l] - (uint64_t)least > span) << l;
        bad = any ? bad & lanes : lanes;
        for (int l = 0; l < WARP; l++)
            skew |= (uint32_t)!is_aligned(a, a->index[l]) << l;
        skew &= lanes;
    }
    if (bad)
        return fault_outside(a, __builtin_ctz(bad));
    return !skew || fault_misaligned(a, __builtin_ctz(skew));
}

static void aim(touch *a)
{
    const sett__place *at = a->at;
    const void *base = at->base == SETT__NONE ? NULL : sett__at(a->warp, at->base);
    a->one = !base || at->uniform;
    if (a->one)
        a->index[0] = (int64_t)((base ? (uint64_t)index_at(at, base, 0) : 0) + (uint64_t)at->offset);
    else if (at->base64)
        for (int l = 0; l < WARP; l++)
            a->index[l] = (int64_t)((uint64_t)((const int64_t *)base)[l] + (uint64_t)at->offset);
    else
        for (int l = 0; l < WARP; l++)
            a->index[l] = index_at(at, base, l) + at->offset;
    if (a->one && a->root->space > SETT__LOCAL) { /* but of roots that may differ */
        a->one = false;
        for (int l = 1; l < WARP; l++)
            a->index[l] = a->index[0];
    }
}

static uint32_t lanes_where(const sett__warp *w, sett__ref predicate, uint32_t lanes)
{
    return predicate == SETT__NONE ? lanes : lanes & sett__mask_of(sett__at(w, predicate));
}

/* Leaves the indices alone: most accesses never need them. */
static void begin(touch *a, sett__core *c, sett__warp *w, const sett__insn *i, const sett__place *at, sett__ref predicate)
{
    a->core = c;
    a->warp = w;
    a->insn = i;
    a->at = at;
    a->root = &c->program->root[at->root];
    a->window = c->cta->window[at->root];
    a->one = false;
    a->n = i->n;
    a->op = i->op;
    if (!at->same)
        c->in_order = 2;
    if (a->root->space == SETT__LOCAL)
        a->window.p = w->frame[0] + a->root->offset;
    a->mask = lanes_where(w, predicate, w->active);
}

/* Do the base's lanes lie one after another? Sums may wrap, which shows in the last lane. */
static bool in_order(const touch *a, const void *base, int64_t first)
{
    const sett__place *at = a->at;
    uint8_t *known = &a->core->in_order;
    if (at->order < SETT__MAX_ORDER)
        return a->warp->in_order >> at->order & 1 && index_at(at, base, WARP - 1) - first == (WARP - 1) * (int64_t)a->n;
    if (*known == 2)
        *known = a->core->program->wide->affine[at->base64](base, a->n);
    return *known;
}

/* Do the lanes that take part lie one after another, none of them missing, all inside, and aligned? Gives the place of
 * the first; which it is, and how many they are. */
static unsigned char *block_of(touch *a, uint32_t *lane, uint32_t *count)
{
    const sett__insn *i = a->insn;
    const sett__place *at = a->at;
    *lane = a->mask ? (uint32_t)__builtin_ctz(a->mask) : 0;
    uint32_t run = a->mask >> *lane;
    if (!run || run & (run + 1) || at->base == SETT__NONE || at->uniform || i->lg > 3 ||
        a->root->space >= SETT__LOCAL)
        return NULL;
    *count = (uint32_t)__builtin_popcount(run);
    const void *base = sett__at(a->warp, at->base);
    int64_t least, lane0 = index_at(at, base, 0);
    uint64_t span, first = (uint64_t)lane0 + (uint64_t)at->offset + *lane * (uint64_t)i->n;
    if (!in_order(a, base, lane0) || !first_allowed(a, &least, &span) || first - (uint64_t)least > span)
        return NULL;
    uint64_t align = ((uint64_t)1 << (at->align & 63)) - 1;
    uint64_t last = first - (uint64_t)least + (*count - 1) * (uint64_t)i->n;
    if (last > span || !is_aligned(a, (int64_t)first) || ((uint64_t)i->n << i->lg & align))
        return NULL;
    return a->window.p + (first << i->lg);
}

/* The same in short, for the accesses that a kernel has most of: a whole warp, no predicate, and a base of which
 * the order is known, or a thread's array. NULL: ask block_of. */
static inline unsigned char *straight(const sett__core *c, const sett__warp *w, const sett__insn *i, uint32_t blocks)
{
    const sett__place *x = &i->access.at;
    const sett__window *m = &c->cta->window[x->root];
    int64_t first, last;
    if (!i->access.straight || w->active != UINT32_MAX)
        return NULL;
    if (x->base == SETT__NONE)
        return w->frame[0] + c->program->root[x->root].offset + ((uint64_t)x->offset * WARP << i->lg);
    if (!(w->in_order >> x->order & 1))
        return NULL;
    const void *base = sett__at(w, x->base);
    first = index_at(x, base, 0);
    last = index_at(x, base, WARP - 1);
    if (first < -FAR || first > FAR || last - first != (WARP - 1) * (int64_t)i->n)
        return NULL;
    int64_t at = (first + x->offset) * ((int64_t)1 << i->lg);
    unsigned char *p = m->p + at;
    bool good = at >= m->lo && at + (int64_t)i->access.bytes * blocks <= m->hi && !((uintptr_t)p & (((uintptr_t)1 << x->align) - 1));
    return good ? p : NULL;
}

/* The same of `blocks` blocks, whose lanes lie one after another if their index does not wrap. */
unsigned char *sett__straight(const sett__core *c, const sett__warp *w, const sett__insn *i, uint32_t blocks)
{
    unsigned char *p = straight(c, w, i, blocks);
    const sett__place *at = &i->access.at;
    int64_t most = at->base_unsigned ? (int64_t)UINT32_MAX : INT32_MAX;
    return p && !at->base64 && index_at(at, sett__at(w, at->base), 0) + (int64_t)WARP * i->n * blocks > most ? NULL : p;
}

/* The next warp is likely to go on where this one ends. A wrong guess costs little, and a prefetch never faults. Into the
 * second level: tensors that start at pages share the sets of the first. Only for accesses that are too short for the
 * processor to see where they lead: beside its own prefetching this one is in the way. */
static void expect_next(const sett__insn *i, const unsigned char *block)
{
    uint32_t bytes = i->access.bytes;
    for (uint32_t k = 0; k < bytes && bytes <= PREFETCH_MOST; k += 64)
        __builtin_prefetch(block + bytes + k, 0, 2);
}

/* Of lanes whose elements lie side by side in registers too. */
static void copy_run(const sett__insn *i, void *to, const void *from, uint32_t lanes)
{
    memcpy(to, from, lanes == WARP ? i->access.bytes : (size_t)lanes * i->n << i->lg);
}

static int turn_of(uint32_t n)
{
    return n == 2 ? 1 : n == 4 ? 2 : n == 8 ? 3 : 0;
}

/* Elements of a thread's array lie a row apart, or those of an access together. */
static unsigned char *element_apart(const touch *a, int lane, uint32_t e)
{
    uint64_t i = (uint64_t)a->index[a->one ? 0 : lane] + e, wide = a->root->width;
    if (a->root->space > SETT__LOCAL)
        return a->far[lane] + ((uint64_t)e << a->insn->lg);
    if (wide > 1)
        return a->window.p + (((i / wide * WARP + (uint64_t)lane) * wide + i % wide) << a->insn->lg);
    return a->window.p + ((i * WARP + (uint64_t)lane) << a->insn->lg);
}

/* Those of global and shared memory side by side. It is to be where it is called: each lane of a scattered access asks. */
static inline unsigned char *element(const touch *a, int lane, uint32_t e)
{
    const uint64_t i = (uint64_t)a->index[a->one ? 0 : lane] + e;
    return a->root->space < SETT__LOCAL ? a->window.p + (i << a->insn->lg) : element_apart(a, lane, e);
}

/* Does an access to a thread's array take whole rows, one after another? */
static bool whole_rows(const touch *a)
{
    return a->one && a->root->lg == a->insn->lg && a->n % a->root->width == 0;
}

/* An array of a thread that is read or written in elements of another size than its own: to a row, or from one. */
static void move_bytes(const touch *a, int lane, const unsigned char *from, unsigned char *to, bool splat)
{
    uint32_t size = 1u << a->insn->lg;
    uint64_t start = (uint64_t)a->index[a->one ? 0 : lane] << a->insn->lg;
    for (uint32_t k = 0; k < a->n * size; k++) {
        uint64_t at = start + k, own = (uint64_t)1 << a->root->lg;
        unsigned char *m = a->window.p + ((at / own * WARP + (uint64_t)lane) * own + at % own);
        size_t r = (splat ? 0 : (size_t)(k / size) * WARP * size) + (size_t)lane * size + k % size;
        if (to)
            to[r] = *m;
        else
            *m = from[r];
    }
}

/* ---- lane by lane ------------------------------------------------------------------------------ */
/* Between memory and a value: to d, or, where that is NULL, from s. */
static inline void move_lanes(const touch *a, unsigned char *d, const unsigned char *s, bool splat, size_t size)
{
    const uint32_t width = a->insn->access.width;
    const size_t lane = width * size, next = splat ? 0 : size, skip = splat ? 0 : (WARP - 1) * lane;
    size_t at = 0;
    uint32_t left = width; /* elements that the access still has; counted down, since a division by width takes as long as a lane */
    for (uint32_t e = 0; e < a->n; e++, at += --left ? next : (left = width, next + skip))
        for (int l = 0; l < WARP; l++)
            if (!(a->mask >> l & 1))
                continue;
            else if (d)
                memcpy(d + at + (size_t)l * lane, element(a, l, e), size);
            else
                memcpy(element(a, l, e), s + at + (size_t)l * lane, size);
}

/* Whole warps of lanes that lie anywhere, each with its 16 bytes side by side: as those that lie one after another are turned. */
static bool move_pieces(const touch *a, unsigned char *d, const unsigned char *s)
{
    enum { PIECE = 16 };
    _Alignas(64) unsigned char piece[WARP * PIECE];
    const sett__insn *i = a->insn;
    const sett__wide *wide = a->core->program->wide;
    if (a->mask != UINT32_MAX || a->root->space == SETT__LOCAL || i->access.width > 1 || !turn_of(a->n) || (size_t)a->n << i->lg != PIECE)
        return false;
    if (!d)
        wide->scatter[i->lg][turn_of(a->n)](piece, s, a->n);
    for (int l = 0; l < WARP; l++)
        if (d)
            memcpy(piece + l * PIECE, element(a, l, 0), PIECE);
        else
            memcpy(element(a, l, 0), piece + l * PIECE, PIECE);
    if (d)
        wide->gather[i->lg][turn_of(a->n)](d, piece, a->n);
    return true;
}

static void move_each(const touch *a, unsigned char *d, const unsigned char *s, bool splat)
{
    if (a->root->space == SETT__LOCAL && a->root->lg != a->insn->lg) {
        for (int l = 0; l < WARP; l++)
            if (a->mask >> l & 1)
                move_bytes(a, l, s, d, splat);
        return;
    }
    if (!splat && move_pieces(a, d, s))
        return;
    switch (a->insn->lg) { /* a constant size makes the copies single instructions */
    case 0:
        move_lanes(a, d, s, splat, 1);
        break;
    case 1:
        move_lanes(a, d, s, splat, 2);
        break;
    case 2:
        move_lanes(a, d, s, splat, 4);
        break;
    case 3:
        move_lanes(a, d, s, splat, 8);
        break;
    default:
        move_lanes(a, d, s, splat, (size_t)1 << a->insn->lg);
        break;
    }
}

/* Accesses that were joined, and after all do not lie together: one after another, as the kernel has them. One of d and s. */
static bool move_parts(const touch *whole, unsigned char *d, const unsigned char *s, bool splat)
{
    const sett__insn *i = whole->insn;
    size_t row = (i->access.width > 1 ? 1 : (size_t)WARP) << i->lg, done = 0;
    const sett__part *part = whole->core->program->rewritten.part + i->access.parts.first;
    sett__place at = i->access.at;
    touch a = *whole;
    a.at = &at;
    for (uint32_t k = 0; k < i->access.parts.n; k++, at.offset += a.n) {
        a.n = part[k].n, a.op = part[k].op, at.align = part[k].align;
        aim(&a);
        if (!check_lanes(&a))
            return false;
        size_t from = splat ? 0 : done;
        move_each(&a, d ? d + done : NULL, d ? NULL : s + from, splat);
        done += a.n * row;
    }
    return true;
}

/* ---- load ------------------------------------------------------------------------------------ */
/* All lanes at one place, or at one element of their arrays. */
static void load_one(const touch *a, unsigned char *d)
{
    const sett__insn *i = a->insn;
    size_t size = (size_t)1 << i->lg;
    if (a->root->space == SETT__LOCAL)
        memcpy(d, element(a, 0, 0), i->n * WARP * size);
    else if (i->access.width > 1)
        sett__spread(d, element(a, 0, 0), (uint32_t)(i->n * size));
    else
        for (uint32_t e = 0; e < i->n; e++)
            sett__spread(d + e * WARP * size, element(a, 0, e), (uint32_t)size);
}

static void fill_rows(sett__warp *w, const sett__insn *i, unsigned char *d)
{
    size_t bytes = (size_t)WARP << i->lg;
    sett__ref value = i->access.value;
    if (value == SETT__NONE) {
        memset(d, 0, i->n * bytes);
        return;
    }
    const unsigned char *s = sett__at(w, value);
    for (uint32_t e = 0; e < i->n; e++)
        memcpy(d + e * bytes, s + (value & SETT__REF_SPLAT ? 0 : e * bytes), bytes);
}

/* What is loaded is used where it lies. */
static bool leave_in_place(const sett__core *c, const sett__insn *i, const unsigned char *at)
{
    for (uint32_t k = 0; k < i->access.pieces; k++, at += i->access.piece)
        c->lazy[i->access.lazy + k] = at;
    return true;
}

static bool load(sett__core *c, sett__warp *w, const sett__insn *i)
{
    touch a;
    begin(&a, c, w, i, &i->access.at, i->access.predicate);
    unsigned char *d = sett__at(w, i->d);
    uint32_t lane, count;
    const unsigned char *block = block_of(&a, &lane, &count);
    bool whole = block && count == WARP, same = i->access.width == i->n;
    if (whole && a.window.ahead)
        expect_next(i, block);
    if (whole && i->access.pieces)
        return leave_in_place(c, i, block);
    if (whole && !same) {
        c->program->wide->gather[i->lg][turn_of(i->n)](d, block, i->n);
        return true;
    }
    leave_in_place(c, i, d);
    if (a.mask != w->active)
        fill_rows(w, i, d);
    if (!a.mask)
        return true;
    if (block && same) {
        copy_run(i, d + ((size_t)lane * i->n << i->lg), block, count);
        return true;
    }
    if (i->access.parts.n)
        return move_parts(&a, d, NULL, false);
    aim(&a);
    if (!check_lanes(&a))
        return false;
    if (i->access.pieces && a.mask == w->active && a.root->space == SETT__LOCAL && whole_rows(&a))
        return leave_in_place(c, i, element(&a, 0, 0));
    if (a.one && a.mask == w->active && (a.root->space != SETT__LOCAL || whole_rows(&a)))
        load_one(&a, d);
    else
        move_each(&a, d, NULL, false);
    return true;
}

/* Any byte but 0 is true: registers hold 0 or 1. */
bool sett__load(sett__core *c, sett__warp *w, const sett__insn *i)
{
    const unsigned char *block = i->access.pieces ? straight(c, w, i, 1) : NULL;
    if (block) {
        if (c->cta->window[i->access.at.root].ahead)
            expect_next(i, block);
        return leave_in_place(c, i, block);
    }
    bool ok = load(c, w, i);
    if (i->dtype != SETT_BOOL)
        return ok;
    uint8_t *d = sett__at(w, i->d);
    for (uint32_t k = 0; k < i->n * WARP; k++)
        d[k] = d[k] != 0;
    return ok;
}

/* ---- store ------------------------------------------------------------------------------------- */
/* Whole rows: lanes that the block does not have may be written too. */
static bool store_rows(const touch *a, const unsigned char *s, bool splat)
{
    const sett__insn *i = a->insn;
    size_t bytes = (size_t)WARP << i->lg;
    if (a->root->space != SETT__LOCAL || !whole_rows(a) || (a->mask | ~a->warp->live) != UINT32_MAX)
        return false;
    if (!splat) {
        memcpy(element(a, 0, 0), s, i->n * bytes);
        return true;
    }
    if (a->root->width > 1 && !(i->access.value & SETT__REF_UNIFORM))
        return false; /* one row, but lanes lie elsewhere there than in it */
    for (uint32_t e = 0; e < i->n; e++) /* the same in all lanes: any order will do */
        memcpy(a->root->width > 1 ? a->window.p + ((uint64_t)a->index[0] + e) * bytes : element(a, 0, e), s, bytes);
    return true;
}

void sett__store_whole(const sett__core *c, const sett__insn *i, unsigned char *to, const unsigned char *from, size_t bytes)
{
    if (c->cta->window[i->access.at.root].stream) {
        c->program->wide->stream(to, from, bytes);
    } else {
        if (c->cta->window[i->access.at.root].ahead)
            expect_next(i, to);
        memcpy(to, from, bytes);
    }
}

static bool store_block(const sett__core *c, const sett__insn *i, unsigned char *block, const unsigned char *s)
{
    sett__store_whole(c, i, block, s, i->access.bytes);
    return true;
}

bool sett__store_fits(sett__core *c, sett__warp *w, const sett__insn *i)
{
    uint32_t lane, count;
    touch a;
    begin(&a, c, w, i, &i->access.at, i->access.predicate);
    if (!a.mask || block_of(&a, &lane, &count))
        return true;
    aim(&a);
    return check_lanes(&a);
}

bool sett__store(sett__core *c, sett__warp *w, const sett__insn *i)
{
    const sett__transfer *x = &i->access;
    bool splat = x->value & SETT__REF_SPLAT && i->n > 1;
    unsigned char *block = x->width == i->n || x->at.base == SETT__NONE ? straight(c, w, i, 1) : NULL;
    if (block && !splat)
        return store_block(c, i, block, x->pieces ? c->lazy[x->lazy] : sett__at(w, x->value));
    touch a;
    begin(&a, c, w, i, &x->at, x->predicate);
    if (!a.mask)
        return true;
    uint32_t lane, count;
    block = block_of(&a, &lane, &count);
    bool whole = block && count == WARP, same = i->access.width == i->n;
    const unsigned char *s = x->pieces ? c->lazy[x->lazy] : sett__at(w, x->value);
    if (whole && same)
        return store_block(c, i, block, s);
    if (block && same) {
        copy_run(i, block, s + ((size_t)lane * i->n << i->lg), count);
        return true;
    }
    if (whole && !splat) {
        c->program->wide->scatter[i->lg][turn_of(i->n)](block, s, i->n);
        return true;
    }
    if (i->access.parts.n)
        return move_parts(&a, NULL, s, splat);
    aim(&a);
    if (!check_lanes(&a))
        return false;
    if (!store_rows(&a, s, splat))
        move_each(&a, NULL, s, splat);
    return true;
}

/* ---- atomics ---------------------------------------------------------------------------------------- */
/* Element e's lane in an operand of n rows, or of one for all. */
static unsigned char *lane_of(const touch *a, sett__ref r, uint32_t e, int lane)
{
    uint32_t row = r & SETT__REF_SPLAT ? 0 : e;
    return r == SETT__NONE ? NULL : (unsigned char *)sett__at(a->warp, r) + (((size_t)row * WARP + (size_t)lane) << a->insn->lg);
}

bool sett__atom(sett__core *c, sett__warp *w, const sett__insn *i)
{
    touch a;
    begin(&a, c, w, i, &i->atom.at, i->atom.predicate);
    if (i->d != SETT__NONE)
        memset(sett__at(w, i->d), 0, (size_t)i->n * WARP << i->lg);
    if (!a.mask)
        return true;
    aim(&a);
    if (!check_lanes(&a))
        return false;
    for (int l = 0; l < WARP; l++)
        for (uint32_t e = 0; e < i->n && a.mask >> l & 1; e++)
            sett__exchange(c, i, element(&a, l, e), lane_of(&a, i->atom.was, e, l), lane_of(&a, i->atom.value, e, l),
                lane_of(&a, i->d, e, l));
    return true;
}

/* ---- copies in the background ------------------------------------------------------------------------ */
/* One end of a copy, as an access of its own. */
static bool aim_end(touch *a, sett__core *c, sett__warp *w, const sett__insn *i, const sett__place *at, uint32_t mask)
{
    begin(a, c, w, i, at, SETT__NONE);
    a->mask = mask;
    if (!mask)
        return true;
    aim(a);
    return check_lanes(a);
}

/* Unless the policy is eager the source is read, and written, later: who reads before that sees what was there. */
bool sett__cp_async(sett__core *c, sett__warp *w, const sett__insn *i)
{
    static const unsigned char zeros[16];
    const sett__copy *x = &i->cp_async;
    touch d, s;
    uint32_t lanes = lanes_where(w, x->predicate, w->active), kept = lanes_where(w, x->keep, lanes), bytes = i->n << i->lg;
    if (!aim_end(&d, c, w, i, &x->to, lanes) || !aim_end(&s, c, w, i, &x->from, kept))
        return false;
    for (int l = 0; l < WARP; l++) {
        if (!(lanes >> l & 1))
            continue;
        if (!sett__pend(c, w, l, element(&d, l, 0), kept >> l & 1 ? element(&s, l, 0) : zeros, bytes))
            return sett__fault_as(c, SETT_E_MEMORY, w, l, i->op, "out of memory for copies in the background");
    }
    return true;
}
