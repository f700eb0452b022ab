/* SPDX-License-Identifier: Apache-2.0 */
/* What level 0 knows of shared memory, for each 16 bytes of it: which plain access wrote them last, and whether a fence.proxy came
 * since; or by which swizzle a box of a tensor map lies there. wgmma, and copies out of shared memory, ask. A fence of any warp of the
 * cluster counts for all that was written before it: so what is told is an error whoever waited for whom. */
#include "async.h"
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

static bool seen(sett__core *, const sett__effect *);

const sett__watch *sett__proxy_watch(const sett__tape *t)
{
    static const sett__watch watch = {.effect = seen, .threads = SETT__WRITE, .granules = true};
    for (uint32_t v = 0; v < t->n_op; v++)
        if (asks(t->op[v].code))
            return &watch;
    return NULL;
}

/* False: out of memory. */
bool sett__granules_make(sett__core *c, sett__cta *b)
{
    if (!b->program->watch || !b->program->watch->granules)
        return true;
    b->n_granule = (b->program->tape->sig.smem + c->launch->smem_more + PIECE - 1) / PIECE;
    b->granule = calloc((size_t)b->n_granule + 1, sizeof *b->granule);
    return b->granule;
}

/* ---- what is written --------------------------------------------------------------------------------------- */
static void mark(const sett__effect *e, sett__granule g)
{
    const sett__cta *b = e->of;
    for (uint32_t k = e->at / PIECE; k <= (e->at + e->bytes - 1) / PIECE && k < b->n_granule; k++)
        b->granule[k] = g;
}

/* ---- what is read --------------------------------------------------------------------------------------------- */
static bool not_fenced(sett__core *c, const sett__warp *w, int lane, uint32_t op, uint32_t at, const sett__granule *g)
{
    char where[96];
    const sett__op *o = c->program->given->op;
    return sett__object(c, w, lane, op, SETT_CHECK_PROXY_FENCE, "%s reads byte %u of shared memory, which `%s` at %s wrote, and no fence.proxy kind=async.shared came in between: "
        "who writes executes it before the barrier", sett__ops[o[op].code].text, at, sett__ops[o[g->op].code].text, sett__where_noted(c, g->op, where, sizeof where));
}

/* Of what a descriptor names: does it lie there as the descriptor says? */
static bool lies_so(sett__core *c, const sett__effect *e, const sett__granule *g)
{
    char where[96];
    if (c->program->given->op[e->op].code != SETT__WGMMA || !e->boxed || !g->boxed || exchanged(e->bits, e->at) == exchanged(g->bits, e->at))
        return true;
    return sett__object(c, e->warp, e->lane, e->op, SETT_CHECK_SWIZZLE, "wgmma: the descriptor has a swizzle of %u bytes (0: none), and byte %u of shared memory lies there in one of %u, from tma.load at %s: "
        "both must have the same", e->bits ? PIECE * (e->bits + 1u) : 0, e->at, g->bits ? PIECE * (g->bits + 1u) : 0, sett__where_noted(c, g->op, where, sizeof where));
}

static bool ask(sett__core *c, const sett__effect *e)
{
    const sett__cta *b = e->of;
    const uint32_t end = sett__least(b->n_granule, (uint32_t)((e->at + e->bytes) / PIECE));
    for (uint32_t k = e->at / PIECE; k < end; k++) {
        const sett__granule *g = &b->granule[k];
        if (g->when == b->cluster->epoch)
            return not_fenced(c, e->warp, e->lane, e->op, k * PIECE, g);
        if (!lies_so(c, e, g))
            return false;
    }
    return true;
}

static bool seen(sett__core *c, const sett__effect *e)
{
    if (!e->of)
        return true;
    if (e->proxy == SETT__ASYNC_PROXY && e->how == SETT__READ)
        return ask(c, e);
    if (e->how & SETT__WRITE)
        mark(e, (sett__granule){.when = e->proxy == SETT__ASYNC_PROXY ? 0 : e->of->cluster->epoch, .op = e->op, .boxed = e->boxed, .bits = e->bits});
    return true;
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
    return sett__object(c, w, lane, op, SETT_CHECK_TENSORMAP, "%s: the map was changed at %s, and no fence.proxy kind=%s came since", sett__ops[c->program->given->op[op].code].text,
        sett__where_noted(c, x->op, where, sizeof where), x->released ? "tensormap.acquire of it" : "tensormap.release");
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
        if (!sett__tell(c, &(sett__effect){.warp = w, .lane = l, .proxy = SETT__TENSORMAP_PROXY, .op = i->op, .p = s.p, .bytes = SETT__MAP_BYTES}))
            return false;
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
    return (kind != ACQUIRE || acquire(c, w, i)) && sett__tell_sync(c, (sett__sync){.what = SETT__PROXY_FENCED, .warp = w, .lanes = w->active, .op = i->op, .n = kind});
}

bool sett__mbarrier_fence(sett__core *c, sett__warp *w, const sett__insn *i)
{
    c->cta->cluster->fences++;
    return sett__tell_sync(c, (sett__sync){.what = SETT__MBAR_FENCED, .warp = w, .lanes = w->active, .op = i->op});
}
