/* SPDX-License-Identifier: Apache-2.0 */
/* Follows poison through loads, stores and atomics: of shared memory a bit a byte, of registers one for each byte and lane. */
#include "follow.h"

static const char as_address[] = "uses it as an address", as_predicate[] = "decides by it whether to access memory", to_global[] = "stores it to global memory";

/* ---- where lanes point ------------------------------------------------------------------------------------------ */
/* Where each lane's access begins: a byte of the window of block of[lane], or of its own array. */
typedef struct places {
    const sett__root *root;
    uint32_t lanes, bytes; /* of an access */
    bool one;              /* all at at[0] */
    uint32_t at[WARP], low, high; /* of all: from low to high */
} places;

static bool is_shared(const sett__root *r)
{
    return r->space == SETT__SHARED || r->space == SETT__PEERS;
}

/* The access was found to be inside. */
static void aim(const follow *f, const sett__place *at, uint32_t lanes, uint32_t size, uint32_t n, places *p)
{
    const sett__root *r = p->root = &f->c->program->root[at->root];
    const uint32_t from = is_shared(r) ? r->offset : 0;
    p->lanes = lanes;
    p->bytes = n * size;
    p->one = at->base == SETT__NONE || at->uniform;
    p->low = UINT32_MAX, p->high = 0;
    const void *base = at->base == SETT__NONE ? NULL : sett__at(f->w, at->base);
    const uint32_t offset = (uint32_t)at->offset;
    if (p->one || !at->base64)
        for (int l = 0; l < (p->one ? 1 : WARP); l++)
            p->at[l] = from + ((base ? ((const uint32_t *)base)[at->base64 ? 2 * l : l] : 0) + offset) * size;
    else
        for (int l = 0; l < WARP; l++)
            p->at[l] = from + ((uint32_t)((const uint64_t *)base)[l] + offset) * size;
    uint32_t high = 0;
    for (int l = 0; l < (p->one ? 1 : WARP); l++) {
        const bool in = p->one || lanes >> l & 1;
        const uint32_t least = in ? p->at[l] : UINT32_MAX, most = in ? p->at[l] : 0;
        p->low = least < p->low ? least : p->low;
        high = most > high ? most : high;
    }
    p->high = high + p->bytes;
}

static uint32_t place_of(const places *p, int lane)
{
    return p->at[p->one ? 0 : lane];
}

static sett__shadow *shadow_of(const follow *f, const places *p, int lane) /* may be NULL */
{
    if (p->root->space != SETT__PEERS)
        return f->s;
    return f->c->cta->cluster->cta[((const int32_t *)sett__at(f->w, p->root->from))[lane]]->shadow;
}

/* Tells what decides where and whether lanes access memory. Gives those that do. */
static uint32_t lanes_that_do(const follow *f, const sett__place *at, sett__ref predicate)
{
    const sett__root *r = &f->c->program->root[at->root];
    const uint32_t lanes = predicate == SETT__NONE ? f->w->active : f->w->active & sett__mask_of(sett__at(f->w, predicate));
    if (!f->w->follows)
        return lanes;
    sett__poison_use(f, predicate, 1, 0, f->w->active, as_predicate);
    sett__poison_use(f, at->base, 1, at->base64 ? 3 : 2, lanes, as_address);
    if (r->space == SETT__ADDRESS || r->space == SETT__PEERS)
        sett__poison_use(f, r->from, 1, r->space == SETT__ADDRESS ? 3 : 2, lanes, as_address);
    return lanes;
}

/* The first poison of a warp: it is followed from here on. */
static void begin_following(const follow *f)
{
    f->w->follows = true;
}

/* ---- registers ---------------------------------------------------------------------------------------------------- */
/* Byte k of lanes' arrays: which of them are poison; *read: who read it, SETT__NONE: nobody has. */
static uint32_t array_byte(const follow *f, const places *p, uint32_t k, uint32_t *read, uint32_t *at)
{
    const uint32_t first = p->root->offset / SETT__ROW_ALIGN + k;
    uint32_t lanes = 0;
    for (uint32_t left = p->lanes, take; left; left &= ~take) {
        const int l = __builtin_ctz(left);
        const uint32_t word = first + place_of(p, l);
        take = p->one ? left : 1u << l;
        if (!(f->mask[word] & take))
            continue;
        lanes |= f->mask[word] & take;
        *read = f->read[word];
        *at = word - p->root->offset / SETT__ROW_ALIGN;
    }
    return lanes;
}

static bool array_has(const follow *f, const places *p)
{
    uint32_t any = 0;
    for (uint32_t k = p->root->offset / SETT__ROW_ALIGN + p->low, end = k + p->high - p->low; k < end; k++)
        any |= f->mask[k];
    return any & p->lanes;
}

static void load_array(const follow *f, const places *p)
{
    const sett__insn *i = f->i;
    for (uint32_t k = 0; k < p->bytes; k++) {
        uint32_t read = SETT__NONE, at = 0, lanes = array_byte(f, p, k, &read, &at);
        if (!lanes)
            continue;
        if (read == SETT__NONE)
            read = sett__poison_read_at(f->c, i->op, i->access.at.root, at);
        begin_following(f);
        f->mask[i->d / SETT__ROW_ALIGN + k] |= lanes;
        f->read[i->d / SETT__ROW_ALIGN + k] = read;
    }
}

static void store_array(const follow *f, const places *p)
{
    const sett__insn *i = f->i;
    for (uint32_t k = 0; k < p->bytes; k++) {
        uint32_t read = SETT__NONE;
        const uint32_t poison = f->w->follows ? sett__poison_byte(f, i->access.value, k, i->lg, &read) : 0;
        for (uint32_t left = p->lanes, take; left; left &= ~take) {
            const int l = __builtin_ctz(left);
            const uint32_t word = p->root->offset / SETT__ROW_ALIGN + place_of(p, l) + k;
            take = p->one ? left : 1u << l;
            f->mask[word] = (f->mask[word] & ~take) | (poison & take);
            if (poison & take)
                f->read[word] = read;
        }
    }
}

/* ---- shared memory -------------------------------------------------------------------------------------------------- */
/* Is any of what the lanes touch poison, as far as one look tells? */
static bool window_has(const follow *f, const places *p)
{
    if (p->root->space == SETT__PEERS)
        return true;
    return sett__shadow_any(f->s, p->low, p->high - p->low);
}

static void take_bytes(const follow *f, const places *p, int l, uint32_t word)
{
    const sett__shadow *s = shadow_of(f, p, l);
    for (uint32_t k = 0; s && k < p->bytes; k += 32) {
        const uint32_t at = place_of(p, l) + k, some = p->bytes - k < 32 ? p->bytes - k : 32;
        uint32_t bits = sett__shadow_bits(s, at, some);
        for (; bits; bits &= bits - 1) {
            const uint32_t b = (uint32_t)__builtin_ctz(bits);
            begin_following(f);
            f->mask[word + k + b] |= 1u << l;
            f->read[word + k + b] = sett__poison_read_at(f->c, f->i->op, p->root->space == SETT__PEERS ? SETT__NONE : (uint32_t)(p->root - f->c->program->root), at + b);
        }
    }
}

static void load_window(const follow *f, const places *p)
{
    if (window_has(f, p))
        for (uint32_t left = p->lanes; left; left &= left - 1)
            take_bytes(f, p, __builtin_ctz(left), f->i->d / SETT__ROW_ALIGN);
}

/* Do lanes that follow each other write bytes that follow each other? */
static bool is_run(const places *p)
{
    const uint32_t run = p->lanes >> __builtin_ctz(p->lanes);
    if (p->one || run & (run + 1))
        return false;
    const int first = __builtin_ctz(p->lanes), n = __builtin_popcount(run);
    uint32_t apart = 0;
    for (int l = first; l < first + n; l++)
        apart |= p->at[l] - p->at[first] - (uint32_t)(l - first) * p->bytes;
    return !apart;
}

/* One lane's bytes of `value`, which is followed. */
static void put_bytes(const follow *f, const places *p, int l, sett__ref value, uint8_t lg)
{
    sett__shadow *s = shadow_of(f, p, l);
    for (uint32_t k = 0; s && k < p->bytes; k++) {
        uint32_t read = SETT__NONE;
        const bool poison = sett__poison_byte(f, value, k, lg, &read) >> l & 1;
        sett__shadow_put(s, place_of(p, l) + k, 1, poison);
        if (poison || s->from)
            sett__shadow_from(s, place_of(p, l) + k, 1, read);
    }
}

static void store_window(const follow *f, const places *p, sett__ref value, uint32_t n, uint8_t lg)
{
    uint32_t read = SETT__NONE;
    const bool poison = f->w->follows && sett__poison_of(f, value, 0, (value & SETT__REF_SPLAT ? 1 : n) << lg, &read) & p->lanes;
    if (!poison && !window_has(f, p))
        return;
    if (!poison && p->root->space == SETT__SHARED && is_run(p)) {
        sett__shadow_put(f->s, p->low, p->high - p->low, false);
        return;
    }
    for (uint32_t left = p->lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        sett__shadow *s = shadow_of(f, p, l);
        if (poison)
            put_bytes(f, p, l, value, lg);
        else if (s)
            sett__shadow_put(s, place_of(p, l), p->bytes, false);
    }
}

/* ---- global memory: what sett_alloc gave, and nobody has written ---------------------------------------------------------- */
static const unsigned char *global_at(const follow *f, const sett__place *at, int lane)
{
    const sett__root *r = &f->c->program->root[at->root];
    const uint64_t byte = (uint64_t)sett__place_index(f->w, at, lane) << f->i->lg;
    if (r->space == SETT__ADDRESS)
        return (const unsigned char *)(uintptr_t)(((const uint64_t *)sett__at(f->w, r->from))[lane] + byte);
    return (const unsigned char *)((uintptr_t)f->c->cta->window[at->root].p + (uintptr_t)byte); /* it may be outside */
}

static bool may_be_unwritten(const follow *f, const sett__place *at)
{
    const uint8_t space = f->c->program->root[at->root].space;
    return f->c->launch->blocks && f->c->launch->blocks->marks && (space == SETT__GLOBAL || space == SETT__ADDRESS);
}

/* Does anything that was loaded look as what nobody has written? Elements of a byte do not tell. */
static bool looks_marked(const follow *f)
{
    const sett__insn *i = f->i;
    const void *d = sett__at(f->w, i->d);
    const size_t n = ((size_t)i->n * WARP << i->lg) / 4;
    uint32_t any = i->lg == 0;
    for (size_t k = 0; k < n && i->lg > 1; k++)
        any |= ((const uint32_t *)d)[k] >> SETT__MARK_LG == SETT__MARK;
    for (size_t k = 0; k < 2 * n && i->lg == 1; k++)
        any |= ((const uint16_t *)d)[k] >> (SETT__MARK_LG - 16) == SETT__MARK;
    return any;
}

/* Do lanes without a gap read bytes without a gap, all of which somebody wrote? */
static bool row_is_written(const follow *f, const sett__place *at, uint32_t lanes, uint32_t bytes)
{
    const unsigned char *first = global_at(f, at, 0);
    bool row = lanes == UINT32_MAX && f->i->step == SETT__S_LOAD;
    for (int l = 1; l < WARP && row; l++)
        row = global_at(f, at, l) == first + (size_t)l * bytes;
    return row && sett__unwritten(f->c->launch->blocks, first, (size_t)WARP * bytes) < 0;
}

static void load_global(const follow *f, const sett__place *at, uint32_t lanes)
{
    const sett__insn *i = f->i;
    const uint32_t bytes = i->n << i->lg, word = i->d / SETT__ROW_ALIGN;
    for (uint32_t left = !looks_marked(f) || row_is_written(f, at, lanes, bytes) ? 0 : lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        const unsigned char *p = global_at(f, at, l);
        for (uint32_t k = 0; k < bytes; k++) {
            const int64_t next = sett__unwritten(f->c->launch->blocks, p + k, bytes - k);
            if (next < 0)
                break;
            k += (uint32_t)next;
            begin_following(f);
            f->mask[word + k] |= 1u << l;
            f->read[word + k] = sett__poison_read_at(f->c, i->op, at->root, (uint32_t)(p + k - f->c->cta->window[at->root].p));
        }
    }
}

/* ---- loads and stores ------------------------------------------------------------------------------------------------- */
/* What lanes get whose predicate is false. */
static void fill(const follow *f, uint32_t lanes)
{
    const sett__insn *i = f->i;
    for (uint32_t k = 0; k < i->n << i->lg; k++) {
        uint32_t read = SETT__NONE;
        const uint32_t poison = lanes ? sett__poison_byte(f, i->access.value, k, i->lg, &read) & lanes : 0;
        sett__poison_give(f, i->d, k, 1, poison, read);
    }
}

/* Is all of a root of shared memory written? Asked at once of those that are small. */
static bool is_written(const follow *f, const sett__root *r)
{
    enum { SMALL = 64 << 10 };
    return r->space == SETT__SHARED && !f->w->follows && r->bytes && r->bytes <= SMALL && !sett__shadow_any(f->s, r->offset, r->bytes);
}

bool sett__follow_load(follow *f)
{
    const sett__insn *i = f->i;
    const sett__place *at = &i->access.at;
    const uint32_t lanes = lanes_that_do(f, at, i->access.predicate);
    places p;
    if (!i->run(f->c, f->w, i))
        return false;
    if (f->w->follows)
        fill(f, f->w->active & ~lanes);
    const sett__root *r = &f->c->program->root[at->root];
    if (lanes && may_be_unwritten(f, at))
        load_global(f, at, lanes);
    if (!lanes || (!is_shared(r) && r->space != SETT__LOCAL) || is_written(f, r))
        return true;
    aim(f, at, lanes, 1u << i->lg, i->n, &p);
    if (r->space != SETT__LOCAL)
        load_window(f, &p);
    else if (array_has(f, &p))
        load_array(f, &p);
    return true;
}

bool sett__follow_store(follow *f)
{
    const sett__insn *i = f->i;
    const sett__place *at = &i->access.at;
    const sett__root *r = &f->c->program->root[at->root];
    const uint32_t lanes = lanes_that_do(f, at, i->access.predicate);
    places p;
    if (!is_shared(r) && r->space != SETT__LOCAL)
        sett__poison_use(f, i->access.value, i->n, i->lg, lanes, to_global);
    if (!i->run(f->c, f->w, i))
        return false;
    if (!lanes || (!is_shared(r) && r->space != SETT__LOCAL) || is_written(f, r))
        return true;
    aim(f, at, lanes, 1u << i->lg, i->n, &p);
    if (r->space != SETT__LOCAL)
        store_window(f, &p, i->access.value, i->n, i->lg);
    else if (f->w->follows || array_has(f, &p))
        store_array(f, &p);
    return true;
}

/* ---- atomics ---------------------------------------------------------------------------------------------------------- */
/* What an atomic made of poison has been read by it. */
static void keep_read(const follow *f, const places *p, int l)
{
    sett__shadow *s = shadow_of(f, p, l);
    const uint32_t at = place_of(p, l);
    if (s && sett__shadow_any(s, at, p->bytes))
        sett__shadow_from(s, at, p->bytes, sett__poison_read_at(f->c, f->i->op, (uint32_t)(p->root - f->c->program->root), at));
}

/* It is asked for before the atomic has found its place: is there memory, words of 4 bytes? */
static bool is_inside(const follow *f, const sett__place *at, const unsigned char *p, size_t bytes)
{
    const sett__window *w = &f->c->cta->window[at->root];
    if (bytes % 4 == 0 && f->c->program->root[at->root].space != SETT__ADDRESS)
        return (int64_t)((uintptr_t)p - (uintptr_t)w->p) >= w->lo && (int64_t)((uintptr_t)p - (uintptr_t)w->p) <= w->hi - (int64_t)bytes;
    sett__extent in;
    bool freed;
    const unsigned char *word = p - (uintptr_t)p % 4;
    return sett__allocations_around(f->c->launch->blocks, p, &in, &freed) && !freed && word >= (const unsigned char *)in.data &&
        (size_t)(word - (const unsigned char *)in.data) + (bytes + (uintptr_t)p % 4 + 3) / 4 * 4 <= in.bytes;
}

/* What an atomic makes of global memory it stores there. */
static void atom_global(const follow *f, const sett__place *at, uint32_t lanes)
{
    const sett__insn *i = f->i;
    for (uint32_t left = i->atom.code != SETT__XCHG && may_be_unwritten(f, at) ? lanes : 0; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        const unsigned char *p = global_at(f, at, l);
        const int64_t bad = is_inside(f, at, p, (size_t)i->n << i->lg) ? sett__unwritten(f->c->launch->blocks, p, (size_t)i->n << i->lg) : -1;
        if (bad >= 0)
            sett__poison_tell(f->c, f->w, 1u << l, i->op, sett__poison_read_at(f->c, i->op, at->root, (uint32_t)(p + bad - f->c->cta->window[at->root].p)), to_global);
    }
}

/* Exchanges write what they are given; the others make it of what was there. */
bool sett__follow_atom(follow *f)
{
    const sett__insn *i = f->i;
    const sett__place *at = &i->atom.at;
    const sett__root *r = &f->c->program->root[at->root];
    const uint32_t lanes = lanes_that_do(f, at, i->atom.predicate);
    const bool shared = is_shared(r);
    places p;
    if (!shared) {
        sett__poison_use(f, i->atom.value, i->n, i->lg, lanes, to_global);
        sett__poison_use(f, i->atom.was, i->n, i->lg, lanes, "compares global memory with it");
        atom_global(f, at, lanes);
    }
    if (!i->run(f->c, f->w, i))
        return false;
    if (f->w->follows && i->d != SETT__NONE)
        sett__poison_give(f, i->d, 0, i->n << i->lg, 0, SETT__NONE);
    if (!lanes || !shared)
        return true;
    aim(f, at, lanes, 1u << i->lg, i->n, &p);
    if (window_has(f, &p) && i->d != SETT__NONE)
        load_window(f, &p);
    for (uint32_t left = window_has(f, &p) && i->atom.code != SETT__XCHG ? lanes : 0; left; left &= left - 1)
        keep_read(f, &p, __builtin_ctz(left));
    uint32_t read = SETT__NONE;
    const bool poison = f->w->follows && sett__poison_of(f, i->atom.value, 0, i->n << i->lg, &read) & lanes;
    if (i->atom.code == SETT__XCHG || poison)
        store_window(f, &p, i->atom.value, i->n, i->lg);
    return true;
}

/* ---- copies in the background ----------------------------------------------------------------------------------------- */
static void copy_global(const follow *f, const places *to, uint32_t lanes)
{
    const sett__copy *x = &f->i->cp_async;
    const uint32_t made = f->c->program->root[x->from.root].op;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        sett__poison_copied(f->c, f->i->op, made, f->c->cta, place_of(to, l), global_at(f, &x->from, l), to->bytes);
    }
}

/* Who reads before it has come races with it: that is told as what it is. */
bool sett__follow_cp_async(follow *f)
{
    const sett__insn *i = f->i;
    const sett__copy *x = &i->cp_async;
    const uint32_t lanes = lanes_that_do(f, &x->to, x->predicate);
    places p;
    if (f->w->follows) {
        sett__poison_use(f, x->keep, 1, 0, lanes, as_predicate);
        sett__poison_use(f, x->from.base, 1, x->from.base64 ? 3 : 2, lanes, as_address);
    }
    if (!i->run(f->c, f->w, i))
        return false;
    if (!lanes)
        return true;
    aim(f, &x->to, lanes, 1u << i->lg, i->n, &p);
    store_window(f, &p, SETT__NONE, i->n, i->lg);
    if (may_be_unwritten(f, &x->from))
        copy_global(f, &p, x->keep == SETT__NONE ? lanes : lanes & sett__mask_of(sett__at(f->w, x->keep)));
    return true;
}

/* ---- ldmatrix, stmatrix ------------------------------------------------------------------------------------------------ */
/* Each of n matrices is 8 rows of 16 bytes, which lanes name; a lane holds 4 bytes of each. */
bool sett__follow_matrix(follow *f, bool store)
{
    enum { ROWS = 8, PIECE = 16, OWN = 4 };
    const sett__insn *i = f->i;
    const sett__op *o = sett__form_op(f->c, i), *value = store ? &f->c->program->given->op[sett__arg(f->c->program->given, o, 2)] : o;
    const sett__place *at = &f->c->program->spot[i->form.places];
    const uint32_t size = (uint32_t)sett__dtype_bytes((sett_dtype)value->dtype), n = value->n * size / OWN;
    const bool trans = sett__form_attr(f->c, i, SETT__AT_MATRIX_TRANS);
    const sett__ref held = store ? sett__form_ref(f->c, i, 2) : i->d;
    sett__poison_use(f, at->base, 1, at->base64 ? 3 : 2, f->w->active, as_address);
    if (!i->run(f->c, f->w, i))
        return false;
    places p;
    aim(f, at, n * ROWS == WARP ? UINT32_MAX : (1u << n * ROWS) - 1, size, PIECE / size, &p);
    if (f->w->follows && !store)
        sett__poison_give(f, held, 0, n * OWN, 0, SETT__NONE);
    uint32_t poison_read = SETT__NONE;
    const bool poison = store && f->w->follows && sett__poison_of(f, held, 0, held & SETT__REF_SPLAT ? size : n * OWN, &poison_read);
    if (!poison && !window_has(f, &p))
        return true;
    for (uint32_t row = 0; store && !poison && row < n * ROWS; row++)
        sett__shadow_put(f->s, place_of(&p, (int)row), PIECE, false);
    for (uint32_t m = 0; (poison || !store) && m < n; m++)
        for (int l = 0; l < WARP; l++)
            for (uint32_t k = 0; k < OWN; k++) {
                const int row = (int)(m * ROWS) + (trans ? 2 * (l % 4) + (int)k / 2 : l / 4);
                const uint32_t byte = place_of(&p, row) + (trans ? 2 * (uint32_t)(l / 4) + k % 2 : OWN * (uint32_t)(l % 4) + k);
                uint32_t read = SETT__NONE;
                if (store) {
                    const bool here = sett__poison_byte(f, held, m * OWN + k, (uint8_t)__builtin_ctz(size), &read) >> l & 1;
                    sett__shadow_put(f->s, byte, 1, here);
                    if (here || f->s->from)
                        sett__shadow_from(f->s, byte, 1, read);
                } else if (sett__shadow_any(f->s, byte, 1)) {
                    begin_following(f);
                    f->mask[held / SETT__ROW_ALIGN + m * OWN + k] |= 1u << l;
                    f->read[held / SETT__ROW_ALIGN + m * OWN + k] = sett__poison_read_at(f->c, i->op, SETT__NONE, byte);
                }
            }
    return true;
}
