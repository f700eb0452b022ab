/* SPDX-License-Identifier: Apache-2.0 */
/* What level 0 knows of shared memory, for each 16 bytes of it: which plain access wrote them last, and whether a fence.proxy came
 * since; or by which swizzle a box of a tensor map lies there. wgmma, and copies out of shared memory, ask. A fence of any warp of the
 * cluster counts for all that was written before it: so what is told is an error whoever waited for whom. */
#include "inside.h"
#include <stdlib.h>
#include <string.h>

enum { PIECE = 16 };

/* Bits 0 to 2: as bits of an address from 4 on are exchanged. */
static uint32_t exchanged(uint32_t bits, uint32_t at)
{
    return at >> 7 & bits;
}

/* ---- who asks ------------------------------------------------------------------------------------------- */
/* Does it read shared memory otherwise than by plain accesses? */
static bool asks(uint8_t code)
{
    return code == SETT__WGMMA || code == SETT__TMASTORE || code == SETT__TMAREDUCE || code == SETT__BULKSTORE || code == SETT__BULKREDUCE ||
        code == SETT__BULKPEER;
}

static bool marked_store(sett__core *, sett__warp *, const sett__insn *);
static bool marked_atom(sett__core *, sett__warp *, const sett__insn *);
static bool marked_copy(sett__core *, sett__warp *, const sett__insn *);
static bool marked_matrices(sett__core *, sett__warp *, const sett__insn *);

/* Instructions that write shared memory, the block's own or a peer's, note what they write. */
void sett__mark_writes(sett__program *p)
{
    for (uint32_t v = 0; v < p->given->n_op; v++)
        p->marks |= asks(p->given->op[v].code);
    for (uint32_t k = 0; k < p->n_code && p->marks; k++) {
        sett__insn *i = &p->code[k];
        const sett__place *at = i->step == SETT__S_STORE ? &i->access.at : i->step == SETT__S_ATOM ? &i->atom.at : i->step == SETT__S_CP_ASYNC ? &i->cp_async.to : NULL;
        const uint8_t space = at ? p->root[at->root].space : SETT__GLOBAL;
        if (space == SETT__SHARED || space == SETT__PEERS)
            i->run = i->step == SETT__S_STORE ? marked_store : i->step == SETT__S_ATOM ? marked_atom : marked_copy;
        else if (i->step == SETT__S_FORM && p->given->op[i->op].code == SETT__STMATRIX)
            i->run = marked_matrices;
    }
}

/* False: out of memory. */
bool sett__granules_make(sett__core *c, sett__cta *b)
{
    if (!b->program->marks)
        return true;
    b->n_granule = (b->program->tape->sig.smem + c->launch->smem_more + PIECE - 1) / PIECE;
    b->granule = calloc((size_t)b->n_granule + 1, sizeof *b->granule);
    return b->granule;
}

/* ---- what is written --------------------------------------------------------------------------------------- */
void sett__mark_plain(const sett__cta *b, uint32_t op, uint32_t at, uint32_t bytes)
{
    const sett__granule g = {.when = b->cluster->epoch, .op = op};
    for (uint32_t k = at / PIECE; k <= (at + bytes - 1) / PIECE && k < b->n_granule; k++)
        b->granule[k] = g;
}

/* Lanes that write so many bytes from a place on; they were found to be inside. */
static void mark_lanes(const sett__core *c, const sett__warp *w, const sett__insn *i, const sett__place *at, uint32_t lanes, uint32_t size, uint32_t bytes)
{
    const sett__root *r = &c->program->root[at->root];
    for (int l = 0; l < WARP; l++) {
        if (!(lanes >> l & 1))
            continue;
        const sett__cta *b = r->space == SETT__PEERS ? c->cta->cluster->cta[((const int32_t *)sett__at(w, r->from))[l]] : c->cta;
        sett__mark_plain(b, i->op, r->offset + (uint32_t)(sett__place_index(w, at, l) * size), bytes);
    }
}

static uint32_t lanes_of(const sett__warp *w, sett__ref predicate)
{
    return predicate == SETT__NONE ? w->active : w->active & sett__mask_of(sett__at(w, predicate));
}

static bool marked_store(sett__core *c, sett__warp *w, const sett__insn *i)
{
    if (!sett__store(c, w, i))
        return false;
    mark_lanes(c, w, i, &i->access.at, lanes_of(w, i->access.predicate), 1u << i->lg, i->n << i->lg);
    return true;
}

static bool marked_atom(sett__core *c, sett__warp *w, const sett__insn *i)
{
    if (!sett__atom(c, w, i))
        return false;
    mark_lanes(c, w, i, &i->atom.at, lanes_of(w, i->atom.predicate), 1u << i->lg, i->n << i->lg);
    return true;
}

/* cp.async is a plain access: its bytes are marked where it begins, and its wait comes before the fence. */
static bool marked_copy(sett__core *c, sett__warp *w, const sett__insn *i)
{
    if (!sett__cp_async(c, w, i))
        return false;
    mark_lanes(c, w, i, &i->cp_async.to, lanes_of(w, i->cp_async.predicate), 1u << i->lg, i->n << i->lg);
    return true;
}

static bool marked_matrices(sett__core *c, sett__warp *w, const sett__insn *i)
{
    enum { ROWS = 8, MATRIX_BYTES = 4 /* of a thread */ };
    const sett__op *value = &c->program->given->op[sett__arg(c->program->given, sett__form_op(c, i), 2)];
    const uint32_t size = (uint32_t)sett__dtype_bytes((sett_dtype)value->dtype), rows = value->n * size / MATRIX_BYTES * ROWS;
    if (!sett__stmatrix(c, w, i))
        return false;
    mark_lanes(c, w, i, &c->program->spot[i->form.places], rows < WARP ? (1u << rows) - 1 : UINT32_MAX, size, PIECE);
    return true;
}

/* Rows of one piece are in no swizzle: what lies in such a box lies there as its coordinates say. */
void sett__mark_box(const sett__cta *b, uint32_t op, uint32_t at, uint32_t swizzle, uint32_t row)
{
    if (at / PIECE < b->n_granule)
        b->granule[at / PIECE] = (sett__granule){.op = op, .boxed = swizzle || row > PIECE, .bits = (uint8_t)((1u << swizzle) - 1)};
}

void sett__mark_bytes(const sett__cta *b, uint32_t at, uint32_t bytes)
{
    for (uint32_t k = at / PIECE; k < (at + bytes) / PIECE && k < b->n_granule; k++)
        b->granule[k] = (sett__granule){.when = 0};
}

/* ---- what is read --------------------------------------------------------------------------------------------- */
static bool not_fenced(sett__core *c, const sett__warp *w, int lane, uint32_t op, uint32_t at, const sett__granule *g)
{
    char where[96];
    const sett__op *o = c->program->given->op;
    return sett__fault(c, w, lane, op, "%s reads byte %u of shared memory, which `%s` at %s wrote, and no fence.proxy kind=async.shared came in between: "
        "who writes executes it before the barrier", sett__ops[o[op].code].text, at, sett__ops[o[g->op].code].text, sett__where(c->program, g->op, where, sizeof where));
}

bool sett__ask_bytes(sett__core *c, const sett__warp *w, int lane, uint32_t op, uint32_t at, uint32_t bytes)
{
    const sett__cta *b = c->cta;
    for (uint32_t k = at / PIECE; k < (at + bytes) / PIECE && k < b->n_granule; k++)
        if (b->granule[k].when == b->cluster->epoch)
            return not_fenced(c, w, lane, op, k * PIECE, &b->granule[k]);
    return true;
}

/* 16 bytes that a descriptor names; bits: as of its swizzle. */
bool sett__ask_piece(sett__core *c, const sett__warp *w, uint32_t op, uint32_t at, uint32_t bits)
{
    const sett__granule *g = &c->cta->granule[at / PIECE];
    char where[96];
    if (g->when == c->cta->cluster->epoch)
        return not_fenced(c, w, 0, op, at, g);
    if (!g->boxed || exchanged(bits, at) == exchanged(g->bits, at))
        return true;
    return sett__fault(c, w, 0, op, "wgmma: the descriptor has a swizzle of %u bytes (0: none), and byte %u of shared memory lies there in one of %u, from tma.load at %s: "
        "both must have the same", bits ? PIECE * (bits + 1) : 0, at, g->bits ? PIECE * (g->bits + 1u) : 0, sett__where(c->program, g->op, where, sizeof where));
}

/* ---- tensor maps that the kernel changes ---------------------------------------------------------------------------- */
void sett__map_changed(sett__cluster *k, const void *at, uint32_t op)
{
    uint32_t n = 0;
    while (n < SETT__CHANGED - 1 && k->changed[n].at != at)
        n++;
    memmove(k->changed + 1, k->changed, n * sizeof *k->changed);
    k->changed[0] = (sett__changed){.at = at, .op = op};
}

static sett__changed *change_of(sett__cluster *k, const void *at)
{
    for (uint32_t n = 0; n < SETT__CHANGED; n++)
        if (k->changed[n].at == at)
            return &k->changed[n];
    return NULL;
}

bool sett__map_seen(sett__core *c, const sett__warp *w, int lane, uint32_t op, const void *at)
{
    char where[96];
    const sett__changed *x = change_of(c->cta->cluster, at);
    if (!x || (x->released && x->acquired))
        return true;
    return sett__fault(c, w, lane, op, "%s: the map was changed at %s, and no fence.proxy kind=%s came since", sett__ops[c->program->given->op[op].code].text,
        sett__where(c->program, x->op, where, sizeof where), x->released ? "tensormap.acquire of it" : "tensormap.release");
}

/* ---- fences --------------------------------------------------------------------------------------------------------- */
static bool acquire(sett__core *c, sett__warp *w, const sett__insn *i)
{
    sett__aim s;
    for (int l = 0; l < WARP; l++) {
        if (!(w->active >> l & 1))
            continue;
        if (!sett__form_place(c, w, i, 0, l, SETT__MAP_BYTES, 1, &s))
            return false;
        sett__changed *x = change_of(c->cta->cluster, s.p);
        if (x)
            x->acquired = x->released;
    }
    return true;
}

bool sett__proxy_fence(sett__core *c, sett__warp *w, const sett__insn *i)
{
    enum { ASYNC, SHARED, GLOBAL, RELEASE, ACQUIRE }; /* sett__proxy_word */
    sett__cluster *k = c->cta->cluster;
    const int kind = sett__form_attr(c, i, SETT__AT_PROXY_KIND);
    k->epoch += kind <= SHARED, k->fences += kind <= SHARED;
    for (uint32_t n = 0; n < SETT__CHANGED && kind == RELEASE; n++)
        k->changed[n].released = true;
    sett__full_fence();
    return kind != ACQUIRE || acquire(c, w, i);
}

bool sett__mbarrier_fence(sett__core *c, sett__warp *w, const sett__insn *i)
{
    (void)w, (void)i;
    c->cta->cluster->fences++;
    return true;
}
