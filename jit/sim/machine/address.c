/* SPDX-License-Identifier: Apache-2.0 */
/* Operands of operations of class FORM, and where a lane's places lie: in the block's memory, in a peer's, or at an address. */
#include "machine.h"

/* ---- what a tape has ------------------------------------------------------------------------------ */
uint8_t sett__space_of(const sett__op *o)
{
    static const uint8_t space[SETT__N_CODES] = {[SETT__PARAM] = SETT__GLOBAL, [SETT__SMEM] = SETT__SHARED, [SETT__RMEM] = SETT__LOCAL,
        [SETT__GMEM] = SETT__ADDRESS, [SETT__PEER] = SETT__PEERS, [SETT__TMAP] = SETT__MAPS};
    return space[o->code];
}

void sett__note_mbarriers(sett__program *p, const sett__root *r)
{
    uint32_t from = r->offset / 8 * 8, to = r->offset + (uint32_t)r->bytes;
    if (p->n_mbar) {
        from = from < p->mbar_at ? from : p->mbar_at;
        to = to > p->mbar_at + 8 * p->n_mbar ? to : p->mbar_at + 8 * p->n_mbar;
    }
    p->mbar_at = from, p->n_mbar = (to - from + 7) / 8;
}

/* Has it what waits for others, or goes on by itself? Nothing of fast/ knows such operations. */
bool sett__is_async(const sett__tape *t)
{
    bool found = t->sig.n_map > 0;
    for (uint32_t v = 0; v < t->n_op && !found; v++) {
        const sett__op *o = &t->op[v];
        bool at_once = o->code == SETT__MMA || o->code == SETT__LDMATRIX || o->code == SETT__STMATRIX || o->code == SETT__MOVMATRIX || o->code == SETT__DP4A;
        found = (sett__ops[o->code].cls == SETT__C_FORM && !at_once) || o->code == SETT__GMEM || o->code == SETT__PEER;
    }
    return found;
}

/* ---- operands ------------------------------------------------------------------------------------ */
int64_t sett__form_value(const sett__core *c, const sett__warp *w, const sett__insn *i, uint32_t k, int lane, int64_t absent)
{
    sett__ref r = k < sett__form_op(c, i)->n_args ? sett__form_ref(c, i, k) : SETT__NONE;
    if (r == SETT__NONE)
        return absent;
    const sett__tape *t = c->program->given;
    sett_dtype dtype = (sett_dtype)t->op[sett__arg(t, sett__form_op(c, i), (int)k)].dtype;
    const void *row = sett__at(w, r);
    return dtype == SETT_U64   ? ((const int64_t *)row)[lane]
           : dtype == SETT_I32 ? ((const int32_t *)row)[lane]
                               : ((const uint8_t *)row)[lane] & 1;
}

uint32_t sett__form_lanes(const sett__core *c, const sett__warp *w, const sett__insn *i, uint32_t predicate)
{
    sett__ref r = predicate < sett__form_op(c, i)->n_args ? sett__form_ref(c, i, predicate) : SETT__NONE;
    return r == SETT__NONE ? w->active : w->active & sett__mask_of(sett__at(w, r));
}

/* ---- places ------------------------------------------------------------------------------------------ */
static bool outside(sett__core *c, const sett__warp *w, const sett__aim *s, const char *what, int64_t room)
{
    return sett__fault(c, w, s->lane, s->op, SETT_CHECK_BOUNDS, "%s %s: bytes %lld to %lld of %lld are outside", s->verb, what, (long long)s->at,
        (long long)(s->at + (int64_t)s->bytes - 1), (long long)room);
}

/* "global memory that B points to", of a tensor whose address was loaded from an argument; else "global memory". */
static const char *memory_of(const sett__core *c, const sett__root *r, char buf[100])
{
    const sett__tape *t = c->program->given;
    const sett__op *address = r ? &t->op[sett__arg(t, &t->op[r->op], 0)] : NULL;
    const sett__op *from = address && address->code == SETT__LOAD ? &t->op[sett__arg(t, address, 0)] : NULL;
    const char *name = from && from->code == SETT__PARAM ? t->sig.param[from->imm].name : NULL;
    snprintf(buf, 100, name ? "global memory that %.60s points to" : "global memory", name);
    return buf;
}

/* The allocation around the last address is remembered. What lies in none is taken at its word. */
bool sett__check_address(sett__core *c, const sett__warp *w, int lane, uint32_t op, const char *verb, const sett__root *r, uint64_t base, uint64_t address, uint64_t bytes)
{
    enum { LEAST = 4096 };
    char memory[100];
    sett__extent *x = &c->around;
    bool freed = false;
    if (address < LEAST || address + bytes < address)
        return sett__fault(c, w, lane, op, SETT_CHECK_BOUNDS, "%s %s: 0x%llx is no address of it", verb, memory_of(c, r, memory), (unsigned long long)address);
    bool known = x->bytes && base - (uintptr_t)x->data < x->bytes;
    known = known || (c->launch->blocks && sett__allocations_around(c->launch->blocks, (const void *)(uintptr_t)base, x, &freed));
    int64_t at = (int64_t)(address - (uintptr_t)x->data), has = (int64_t)x->bytes;
    if (known && !freed && at >= 0 && (int64_t)bytes <= has - at)
        return true;
    x->bytes = 0;
    if (!known)
        return true;
    return sett__fault(c, w, lane, op, freed ? SETT_CHECK_UNINIT : SETT_CHECK_BOUNDS, "%s %s: bytes %lld to %lld of %s of %lld%s", verb, memory_of(c, r, memory), (long long)at, (long long)(at + (int64_t)bytes - 1),
        freed ? "an allocation that sett_free took back," : "an allocation", (long long)has, freed ? "" : " are outside");
}

static bool reach_address(sett__core *c, const sett__warp *w, const sett__root *r, sett__aim *s)
{
    uint64_t base = ((const uint64_t *)sett__at(w, r->from))[s->lane];
    char memory[100];
    if (base & (r->align - 1) &&
        !sett__object(c, w, s->lane, s->op, SETT_CHECK_ALIGN, "%s %s: it begins %u bytes behind a multiple of %u, and gmem promises such a multiple", s->verb,
            memory_of(c, r, memory), (uint32_t)(base & (r->align - 1)), r->align))
        return false;
    if (r->bytes && (s->at < 0 || (uint64_t)s->at > r->bytes || s->bytes > r->bytes - (uint64_t)s->at))
        return outside(c, w, s, memory_of(c, r, memory), (int64_t)r->bytes);
    s->p = (unsigned char *)(uintptr_t)(base + (uint64_t)s->at);
    return sett__check_address(c, w, s->lane, s->op, s->verb, r, base, base + (uint64_t)s->at, s->bytes);
}

static bool reach_peer(sett__core *c, const sett__warp *w, const sett__root *r, sett__aim *s)
{
    const sett__cluster *k = c->cta->cluster;
    int32_t rank = ((const int32_t *)sett__at(w, r->from))[s->lane];
    if (rank < 0 || (uint32_t)rank >= k->n)
        return sett__fault(c, w, s->lane, s->op, SETT_CHECK_BOUNDS, "%s shared memory of a peer: there is no block %d in a cluster of %u", s->verb, rank, k->n);
    s->of = k->cta[rank];
    if (s->of->left)
        return sett__object(c, w, s->lane, s->op, SETT_CHECK_LIFETIME, "%s shared memory of a peer: block %d of the cluster has ended, and its memory is gone\n  fix    sett_cluster_sync(b) by all threads of the cluster behind the last access to a peer", s->verb, rank);
    return true;
}

/* A warp of c->cta touches memory of block `of`. False: faulted. */
bool sett__peer_touched(sett__core *c, const sett__warp *w, int lane, uint32_t op, sett__cta *of)
{
    sett__cluster *k = of->cluster;
    if (of == c->cta || c->program->listens)
        return true;
    of->touched = (sett__touched){.when = ++k->touches, .op = op, .lane = lane, .warp = w, .by = c->cta};
    return k->met || sett__object(c, w, lane, op, SETT_CHECK_LIFETIME, "%s touches shared memory of block %u of the cluster, and nothing says that it has begun: "
                         "cluster.arrive and cluster.wait come before\n  fix    sett_cluster_sync(b) by all threads of the cluster before the first access to a peer", sett__ops[c->program->given->op[op].code].text, of->rank);
}

static bool reach_shared(sett__core *c, const sett__warp *w, const sett__root *r, sett__aim *s)
{
    uint64_t room = r->bytes ? r->bytes : c->launch->smem_more;
    if (s->at < 0 || (uint64_t)s->at > room || s->bytes > room - (uint64_t)s->at)
        return outside(c, w, s, s->of == c->cta ? "shared memory" : "shared memory of a peer", (int64_t)room);
    s->offset = r->offset + (uint32_t)s->at;
    s->p = s->of->shared + s->offset;
    return true;
}

static const char *param_name(const sett__core *c, const sett__root *r)
{
    const char *name = c->program->given->sig.param[r->param].name;
    return name ? name : "an argument";
}

bool sett__reach(sett__core *c, const sett__warp *w, sett__aim *s)
{
    const sett__root *r = &c->program->root[s->root];
    const sett__window *m = &c->cta->window[s->root];
    bool there = true;
    s->of = c->cta;
    if (r->space == SETT__ADDRESS)
        there = reach_address(c, w, r, s);
    else if (r->space == SETT__PEERS)
        there = reach_peer(c, w, r, s) && reach_shared(c, w, r, s) && sett__peer_touched(c, w, s->lane, s->op, s->of);
    else if (r->space == SETT__SHARED)
        there = reach_shared(c, w, r, s);
    else if (s->at < m->lo || s->at > m->hi || (int64_t)s->bytes > m->hi - s->at)
        there = outside(c, w, s, param_name(c, r), m->hi);
    else
        s->p = m->p + s->at;
    if (there && (uintptr_t)s->p & (s->align - 1))
        return sett__object(c, w, s->lane, s->op, SETT_CHECK_ALIGN, "%s %s: byte %lld is not aligned to %llu bytes", s->verb,
            r->space == SETT__GLOBAL ? param_name(c, r) : r->space == SETT__ADDRESS ? "global memory" : "shared memory", (long long)s->at,
            (unsigned long long)s->align);
    return there;
}

bool sett__form_place(sett__core *c, const sett__warp *w, const sett__insn *i, uint32_t place, int lane, uint64_t bytes, uint64_t align, sett__aim *to)
{
    enum { FAR = 48 };
    const sett__place *at = &c->program->spot[i->form.places + place];
    const void *base = at->base == SETT__NONE ? NULL : sett__at(w, at->base);
    int64_t index = !base ? 0 : at->base64 ? ((const int64_t *)base)[lane] : at->base_unsigned ? (int64_t)((const uint32_t *)base)[lane] : ((const int32_t *)base)[lane];
    const char *verb = sett__ops[sett__form_op(c, i)->code].colon;
    *to = (sett__aim){.lane = lane, .op = i->op, .root = at->root, .verb = verb, .bytes = bytes, .align = align};
    if (index >> FAR != 0 && index >> FAR != -1)
        return sett__fault(c, w, lane, i->op, SETT_CHECK_BOUNDS, "%s offset %lld is past 2^48", verb, (long long)index);
    to->at = (index + at->offset) * ((int64_t)1 << c->program->root[at->root].lg);
    return sett__reach(c, w, to);
}
