/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of bytes that go on by themselves: to shared memory, which complete at an mbarrier, and out of it, by groups. */
#include "async.h"
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 16, MOST = 1 << 20 };

/* ---- where loads land --------------------------------------------------------------------------------- */
static bool land_at(sett__core *c, const sett__warp *w, const sett__insn *i, int lane, sett__cta *b, uint32_t offset, uint32_t mbar, sett__landing *to)
{
    if (b->left && !sett__object(c, w, lane, i->op, SETT_CHECK_LIFETIME, "%s: block %u of the cluster has ended, and its memory is gone\n  fix    sett_cluster_sync(b) by all threads of the cluster behind the last access to a peer", sett__form_text(c, i), b->rank))
        return false;
    if (!b->mbar[mbar].count)
        return sett__fault(c, w, lane, i->op, SETT_CHECK_INIT, "%s: the mbarrier at byte %u of block %u was not initialised", sett__form_text(c, i),
            c->program->mbar_at + 8 * mbar, b->rank);
    char where[96], init[96];
    if (b->mbar[mbar].made == b->cluster->fences &&
        !sett__object(c, w, lane, i->op, SETT_CHECK_INIT, "%s: no fence.mbarrier_init came since the mbarrier at byte %u was made at %s: the copy may not see it\n  fix    sett_fence_mbarrier_init(b) by the thread of %s, behind it and before the barrier that the others wait at", sett__form_text(c, i),
            c->program->mbar_at + 8 * mbar, sett__where_noted(c, b->mbar[mbar].op, where, sizeof where), sett__where(c->program, b->mbar[mbar].op, init, sizeof init)))
        return false;
    to->offset = offset;
    to->to[to->n] = b;
    to->done[to->n++] = &b->mbar[mbar];
    to->ranks |= (uint16_t)(1u << b->rank);
    return true;
}

#define NO_MASK INT64_MIN /* a mask that a kernel gives has 32 bits */
bool sett__landing_of(sett__core *c, const sett__warp *w, const sett__insn *i, int lane, uint32_t done, uint32_t mask, uint64_t bytes, uint64_t align, sett__landing *to)
{
    const sett__cluster *k = c->cta->cluster;
    sett__aim s;
    sett__cta *of;
    *to = (sett__landing){.n = 0};
    if (!sett__form_place(c, w, i, 0, lane, bytes, align, &s))
        return false;
    const sett__mbarrier *m = sett__mbarrier_at(c, w, i, done, lane, &of);
    if (!m)
        return false;
    if (of != s.of)
        return sett__fault(c, w, lane, i->op, SETT_CHECK_BARRIER_COUNT, "%s: it writes block %u of the cluster, and its mbarrier is in block %u", sett__form_text(c, i), s.of->rank, of->rank);
    to->mbar = (uint32_t)(m - of->mbar);
    int64_t blocks = mask ? sett__form_value(c, w, i, mask, lane, NO_MASK) : NO_MASK;
    if (blocks == NO_MASK)
        return land_at(c, w, i, lane, of, s.offset, to->mbar, to);
    if (blocks <= 0 || blocks >> k->n)
        return sett__fault(c, w, lane, i->op, SETT_CHECK_BOUNDS, "%s: mask 0x%llx is none of the blocks of a cluster of %u", sett__form_text(c, i), (unsigned long long)blocks, k->n);
    for (uint32_t r = 0; r < k->n; r++)
        if (blocks >> r & 1 && !land_at(c, w, i, lane, k->cta[r], s.offset, to->mbar, to))
            return false;
    return true;
}

bool sett__landed(sett__core *c, sett__event *e, const sett__landing *at, uint64_t bytes)
{
    for (uint32_t k = 0; k < at->n; k++)
        if (!sett__peer_touched(c, e->warp, e->lane, e->op, at->to[k]) || !sett__mbarrier_bytes(c, e->warp, e->lane, e->op, at->done[k], -(int64_t)bytes))
            return false;
    return true;
}

/* ---- bytes -------------------------------------------------------------------------------------------- */
typedef struct bulk {
    const unsigned char *from;
    unsigned char *to; /* of a store */
    uint32_t bytes;
    uint8_t reduce, dtype; /* reduce: a code; SETT__CONST: none */
    sett__landing at;      /* of a load */
    _Alignas(16) unsigned char data[];
} bulk;

/* The source is read: of shared memory, what is seen there. */
static bool take_bytes(sett__core *c, sett__event *e)
{
    bulk *x = (void *)e->data;
    sett__effect read = sett__event_effect(e, SETT__READ, x->bytes);
    if (e->reads)
        read.of = c->cta, read.at = (uint32_t)(x->from - c->cta->shared);
    read.p = x->from;
    if (!sett__tell(c, &read))
        return false;
    if (x->to && c->program->follow)
        c->program->follow->stored(c, e->warp, e->lane, e->op, read.at, x->bytes);
    memcpy(x->data, x->from, x->bytes);
    return true;
}

static bool load_part(sett__core *c, sett__event *e, uint32_t part)
{
    bulk *x = (void *)e->data;
    if (!part)
        return take_bytes(c, e);
    for (uint32_t k = 0; k < x->at.n; k++) {
        sett__effect write = sett__event_effect(e, SETT__WRITE, x->bytes);
        write.of = x->at.to[k], write.at = x->at.offset;
        memcpy(x->at.to[k]->shared + x->at.offset, x->data, x->bytes);
        if (!sett__tell(c, &write))
            return false;
        if (c->program->follow && e->reads)
            sett__poison_moved(c, e->op, c->cta, (uint32_t)(x->from - c->cta->shared), x->at.to[k], x->at.offset, x->bytes);
        else if (c->program->follow)
            sett__poison_copied(c, e->op, sett__arg(c->program->given, &c->program->given->op[e->op], 1), x->at.to[k], x->at.offset, x->from, x->bytes);
    }
    return sett__landed(c, e, &x->at, x->bytes);
}

static bool store_part(sett__core *c, sett__event *e, uint32_t part)
{
    bulk *x = (void *)e->data;
    uint32_t size = (uint32_t)sett__dtype_bytes((sett_dtype)x->dtype);
    if (!part)
        return take_bytes(c, e);
    if (x->reduce == SETT__CONST)
        memcpy(x->to, x->data, x->bytes);
    else
        for (uint32_t at = 0; at < x->bytes; at += size)
            sett__reduce_into(c, x->reduce, x->dtype, x->to + at, x->data + at);
    sett__effect write = sett__event_effect(e, x->reduce == SETT__CONST ? SETT__WRITE : SETT__UPDATE, x->bytes);
    write.p = x->to;
    return sett__tell(c, &write);
}

/* Operand k; -1: faulted. */
static int64_t count_of(sett__core *c, const sett__warp *w, const sett__insn *i, uint32_t k, int lane)
{
    int64_t n = sett__form_value(c, w, i, k, lane, 0);
    if (n >= 0 && n < MOST && n % ALIGN == 0)
        return n;
    sett__fault(c, w, lane, i->op, SETT_CHECK_ALIGN, "%s: %lld bytes: it takes a multiple of 16, less than 2^20", sett__form_text(c, i), (long long)n);
    return -1;
}

static sett__event *make(sett__core *c, sett__warp *w, const sett__insn *i, int lane, sett__event_fn part, int64_t bytes, const sett__aim *from)
{
    sett__event *e = sett__event_make(c, w, i, lane, part, 2, sizeof(bulk) + (size_t)bytes);
    if (!e)
        return NULL;
    bulk *x = (void *)e->data;
    *x = (bulk){.from = from->p, .bytes = (uint32_t)bytes, .reduce = SETT__CONST};
    if (c->program->root[from->root].space == SETT__SHARED)
        e->reads = (uint16_t)(1u << from->of->rank);
    return e;
}

static bool load_lane(sett__core *c, sett__warp *w, const sett__insn *i, int lane)
{
    enum { BYTES = 6, MASK = 8, FROM = 1, DONE = 2 };
    sett__aim from;
    sett__landing at;
    int64_t bytes = count_of(c, w, i, BYTES, lane);
    const uint32_t mask = sett__form_op(c, i)->code == SETT__BULKLOAD ? MASK : 0;
    if (bytes < 0 || !sett__form_place(c, w, i, FROM, lane, (uint64_t)bytes, ALIGN, &from) ||
        !sett__landing_of(c, w, i, lane, DONE, mask, (uint64_t)bytes, ALIGN, &at))
        return false;
    sett__event *e = make(c, w, i, lane, load_part, bytes, &from);
    if (!e)
        return false;
    ((bulk *)(void *)e->data)->at = at;
    e->kind = SETT__EVENT_LOAD;
    e->waited = true;
    e->mbar = at.mbar;
    e->ranks = e->writes = at.ranks;
    return sett__event_begin(c, e);
}

bool sett__bulk_load(sett__core *c, sett__warp *w, const sett__insn *i)
{
    enum { PRED = 7 };
    uint32_t lanes = sett__form_lanes(c, w, i, PRED);
    for (int l = 0; l < WARP; l++)
        if (lanes >> l & 1 && !load_lane(c, w, i, l))
            return false;
    return true;
}

/* ---- stores to a peer -------------------------------------------------------------------------------------- */
/* A plain access, which comes later. */
static bool send_part(sett__core *c, sett__event *e, uint32_t part)
{
    bulk *x = (void *)e->data;
    (void)part;
    sett__effect write = sett__event_effect(e, SETT__WRITE, x->bytes);
    write.proxy = SETT__GENERIC_PROXY, write.of = x->at.to[0], write.at = x->at.offset;
    memcpy(x->at.to[0]->shared + x->at.offset, x->data, x->bytes);
    return sett__tell(c, &write) && sett__landed(c, e, &x->at, x->bytes);
}

static bool send_lane(sett__core *c, sett__warp *w, const sett__insn *i, int lane)
{
    enum { VALUE = 4, DONE = 1 };
    const sett__op *value = &c->program->given->op[sett__arg(c->program->given, sett__form_op(c, i), VALUE)];
    const uint32_t size = (uint32_t)sett__dtype_bytes((sett_dtype)value->dtype), bytes = value->n * size;
    const sett__ref at = sett__form_ref(c, i, VALUE);
    const unsigned char *from = sett__at(w, at);
    sett__landing to;
    if (!sett__landing_of(c, w, i, lane, DONE, 0, bytes, bytes, &to))
        return false;
    sett__event *e = sett__event_make(c, w, i, lane, send_part, 1, sizeof(bulk) + bytes);
    if (!e)
        return false;
    bulk *x = (void *)e->data;
    *x = (bulk){.bytes = bytes, .at = to};
    for (uint32_t k = 0; k < value->n; k++)
        memcpy(x->data + k * size, from + (at & SETT__REF_SPLAT ? 0 : k * WARP * size) + (uint32_t)lane * size, size);
    e->kind = SETT__EVENT_LOAD;
    e->waited = true;
    e->mbar = to.mbar;
    e->ranks = e->writes = to.ranks;
    return sett__event_begin(c, e);
}

bool sett__store_async(sett__core *c, sett__warp *w, const sett__insn *i)
{
    enum { PRED = 5 };
    uint32_t lanes = sett__form_lanes(c, w, i, PRED);
    for (int l = 0; l < WARP; l++)
        if (lanes >> l & 1 && !send_lane(c, w, i, l))
            return false;
    return true;
}

/* ---- out of shared memory ------------------------------------------------------------------------------------- */
static bool store_lane(sett__core *c, sett__warp *w, const sett__insn *i, int lane)
{
    static const uint8_t code[] = {SETT__ADD, SETT__MIN, SETT__MAX};
    enum { BYTES = 4, FROM = 1 };
    sett__aim from, to;
    int64_t bytes = count_of(c, w, i, BYTES, lane);
    if (bytes < 0 || !sett__form_place(c, w, i, 0, lane, (uint64_t)bytes, ALIGN, &to) ||
        !sett__form_place(c, w, i, FROM, lane, (uint64_t)bytes, ALIGN, &from))
        return false;
    sett__event *e = make(c, w, i, lane, store_part, bytes, &from);
    if (!e)
        return false;
    bulk *x = (void *)e->data;
    const sett__tape *t = c->program->given;
    x->to = to.p;
    x->dtype = t->op[sett__arg(t, sett__form_op(c, i), 0)].dtype;
    if (sett__form_op(c, i)->code == SETT__BULKREDUCE)
        x->reduce = code[sett__form_attr(c, i, SETT__AT_BULKREDUCE_OP)];
    e->kind = SETT__EVENT_STORE;
    e->group = w->apart.groups[lane];
    return sett__event_begin(c, e);
}

bool sett__bulk_store(sett__core *c, sett__warp *w, const sett__insn *i)
{
    enum { PRED = 5 };
    uint32_t lanes = sett__form_lanes(c, w, i, PRED);
    for (int l = 0; l < WARP; l++)
        if (lanes >> l & 1 && !store_lane(c, w, i, l))
            return false;
    return true;
}

/* Of caches, of which the engine has none. */
bool sett__policy(sett__core *c, sett__warp *w, const sett__insn *i)
{
    uint64_t none = 0;
    (void)c;
    sett__spread(sett__at(w, i->d), &none, sizeof none);
    return true;
}
