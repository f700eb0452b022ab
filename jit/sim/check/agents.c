/* SPDX-License-Identifier: Apache-2.0 */
/* Clusters under the checker: who acts in them, and their accesses by time. */
#include "agents.h"
#include "checker.h"
#include <stddef.h>
#include <stdlib.h>

bool sett__no_memory(sett__core *c, const sett__warp *w, uint32_t op)
{
    return sett__fault_as(c, SETT_E_MEMORY, w, 0, op, "out of memory for the checker");
}

/* ---- who is who ---------------------------------------------------------------------------------------------------- */
/* The program's table has an entry for each 8 bytes from the first mbarrier to the last. */
static bool count_mbarriers(near *n, const sett__program *p)
{
    const sett__tape *t = p->given;
    n->mbar_number = calloc((size_t)p->n_mbar + 1, sizeof *n->mbar_number);
    n->mbar_id = calloc((size_t)p->n_mbar + 1, sizeof *n->mbar_id);
    if (!n->mbar_number || !n->mbar_id)
        return false;
    for (uint32_t k = 0; k < p->n_root; k++) {
        const sett__root *r = &p->root[k];
        if (r->space == SETT__SHARED && t->op[r->op].code == SETT__SMEM && sett__attr(t->arg, &t->op[r->op], SETT__AT_SMEM_MBARRIER))
            for (uint32_t i = (r->offset - p->mbar_at) / 8; i < p->n_mbar && i < (r->offset - p->mbar_at + r->bytes) / 8; i++)
                n->mbar_number[i] = 1;
    }
    for (uint32_t i = 0; i < p->n_mbar; i++)
        if (n->mbar_number[i]) {
            n->mbar_id[n->n_mbar] = i;
            n->mbar_number[i] = (uint16_t)n->n_mbar++;
        }
    return true;
}

/* Agents of a block: of each role as many as the tape can have. */
static void count_agents(near *n, const sett__program *p)
{
    enum { OF_ANY = 1, OF_SHARED = 2, OF_GLOBAL = 4 }; /* sett__proxy_word, as bits */
    bool has[ROLES] = {[OF_WARP] = true}, named = false;
    const sett__tape *t = p->given;
    uint32_t fences = 0;
    for (uint32_t v = 0; v < t->n_op; v++) {
        const uint8_t code = t->op[v].code;
        has[OF_CP_ASYNC] |= code == SETT__CPASYNC;
        has[OF_BULK_READ] |= code == SETT__BULKSTORE || code == SETT__BULKREDUCE || code == SETT__TMASTORE || code == SETT__TMAREDUCE;
        has[OF_WGMMA] |= code == SETT__WGMMA;
        named |= code == SETT__BARARRIVE;
        if (code == SETT__PROXY && !sett__fences_before(t, v))
            fences |= 1u << sett__attr(t->arg, &t->op[v], SETT__AT_PROXY_KIND);
    }
    n->fences[0] = fences & (OF_ANY | OF_SHARED);
    n->fences[1] = fences & (OF_ANY | OF_GLOBAL);
    n->clocks = n->fences[0] && n->fences[1] && fences & (OF_SHARED | OF_GLOBAL) ? MOST_CLOCKS : CLOCKS;
    has[OF_BULK_WRITE] = has[OF_BULK_READ];
    has[OF_MBARRIER] = n->n_mbar > 0;
    n->phases = n->n_mbar + (named ? SETT__BARRIERS : 0);
    has[OF_PHASE] = n->phases > 0;
    for (int r = 0; r < ROLES; r++) {
        n->first[r] = has[r] ? (int32_t)n->per_block : -1;
        n->per_block += !has[r] ? 0 : r == OF_MBARRIER ? n->n_mbar : r == OF_PHASE ? n->phases : n->warps;
    }
    n->agents = n->per_block * n->blocks;
    n->stride = (n->agents + 3) & ~3u;
    n->part = (size_t)n->clocks * n->stride;
}

/* ---- accesses by time ---------------------------------------------------------------------------------------------- */
static bool make_chunk(near *n, uint32_t k)
{
    if (k >= n->cap_chunk) {
        const uint32_t cap = 2 * k + 16;
        access **to = realloc(n->chunk, cap * sizeof *to);
        if (!to)
            return false;
        memset(to + n->cap_chunk, 0, (cap - n->cap_chunk) * sizeof *to);
        n->chunk = to;
        n->cap_chunk = cap;
    }
    access *a = n->spare;
    if (a)
        memcpy(&n->spare, a, sizeof n->spare);
    else
        a = malloc(CHUNK * sizeof *a);
    n->n_chunk = k >= n->n_chunk ? k + 1 : n->n_chunk;
    n->live++;
    return (n->chunk[k] = a);
}

void sett__chunk_drop(near *n, uint32_t k)
{
    access *a = n->chunk[k];
    n->chunk[k] = NULL;
    if (a) {
        memcpy(a, &n->spare, sizeof n->spare);
        n->spare = a;
    }
}

uint32_t sett__access_new(near *n, const access *a)
{
    enum { FEW = 64, MOST_TIME = 0x7fff0000 };
    uint32_t k = (n->time + 1) / CHUNK;
    if (n->time >= MOST_TIME) {
        n->full = true;
        return 0;
    }
    if (k >= n->n_chunk || !n->chunk[k]) {
        if (n->live > 2 * n->swept + FEW)
            sett__sweep(n);
        if (!make_chunk(n, k)) {
            n->full = true;
            return 0;
        }
    }
    n->chunk[k][++n->time % CHUNK] = *a;
    n->last[a->agent] = n->time;
    return n->time;
}

/* ---- loops ---------------------------------------------------------------------------------------------------------- */
/* The FOR around each operation, by the code. */
static bool find_loops(near *n, const sett__program *p)
{
    uint32_t open[SETT__MAX_DEPTH], depth = 0;
    if (!(n->loop = calloc((size_t)p->given->n_op + 1, sizeof *n->loop)))
        return false;
    for (uint32_t k = p->section[SETT__BODY]; k < p->n_code && p->code[k].step != SETT__S_STOP; k++) {
        const uint8_t step = p->code[k].step;
        depth -= step == SETT__S_ENDFOR && depth;
        if (depth && depth <= SETT__MAX_DEPTH && p->code[k].op < p->given->n_op)
            n->loop[p->code[k].op] = open[depth - 1];
        if (step == SETT__S_FOR && depth < SETT__MAX_DEPTH)
            open[depth++] = k + 1;
    }
    return true;
}

/* ---- a cluster ------------------------------------------------------------------------------------------------------ */
void sett__mbar_clear(near *n, mbar *m)
{
    for (int far = 0; far < 2; far++)
        sett__clocks_drop(n, m->coming[far]), sett__clocks_drop(n, m->ended[far]);
}

static void forget(near *n)
{
    for (uint32_t k = 0; k < n->n_chunk; k++)
        sett__chunk_drop(n, k);
    for (uint32_t i = 0; i < n->warps * n->blocks; i++) {
        walker *x = &n->walker[i];
        sett__clocks_drop(n, x->known);
        sett__clocks_drop(n, x->more);
        sett__clocks_drop(n, x->behind[0]);
        sett__clocks_drop(n, x->behind[1]);
        for (int k = 0; k <= SETT__GROUP; k++)
            sett__clocks_drop(n, x->met[k]);
    }
    for (uint32_t r = 0; r < n->blocks; r++) {
        near_block *b = &n->block[r];
        for (uint32_t k = 0; b->mbar && k < n->n_mbar; k++)
            sett__mbar_clear(n, &b->mbar[k]);
        for (int k = 0; k < SETT__BARRIERS; k++)
            sett__clocks_drop(n, b->barrier[k]);
        memset(b->barrier, 0, sizeof b->barrier);
        memset(b->waiting, 0, sizeof b->waiting);
    }
    for (product *p; (p = n->product);) {
        n->product = p->next;
        sett__product_free(n, p);
    }
    for (flight *f; (f = n->flight);) {
        n->flight = f->next;
        sett__clocks_drop(n, f->known);
        free(f);
    }
    sett__clocks_drop(n, n->coming);
    sett__clocks_drop(n, n->met);
    n->coming = n->met = NULL;
    n->last_event = NULL;
    n->time = n->n_chunk = n->live = n->swept = 0;
}

void sett__near_free(near *n)
{
    if (!n)
        return;
    if (n->walker)
        forget(n);
    for (clocks *k; (k = n->free);) {
        n->free = k->next;
        free(k);
    }
    for (uint32_t r = 0; r < n->blocks; r++)
        free(n->block[r].mbar), free(n->block[r].waits);
    for (access *a; (a = n->spare);) {
        memcpy(&n->spare, a, sizeof n->spare);
        free(a);
    }
    sett__shared_free(n);
    free(n->loop);
    free(n->mbar_number);
    free(n->mbar_id);
    free(n->chunk);
    free(n->walker);
    free(n->last);
    free(n);
}

static near *make(const sett__core *c)
{
    near *n = calloc(1, sizeof *n);
    const sett__cluster *k = c->cta->cluster;
    if (!n)
        return NULL;
    n->warps = c->cta->n_warps;
    n->blocks = k->n;
    n->cluster = k;
    bool fine = count_mbarriers(n, c->program);
    count_agents(n, c->program);
    n->walker = calloc((size_t)n->warps * n->blocks, sizeof *n->walker);
    n->last = calloc(n->stride, sizeof *n->last);
    fine = fine && n->walker && n->last && find_loops(n, c->program) && n->agents < NO_AGENT;
    for (uint32_t r = 0; r < n->blocks; r++)
        fine &= (n->block[r].mbar = calloc((size_t)n->n_mbar + 1, sizeof(mbar))) && (n->block[r].waits = calloc((size_t)n->n_mbar * n->warps + 1, sizeof(uint32_t)));
    if (fine)
        return n;
    sett__near_free(n);
    return NULL;
}

near *sett__near(sett__core *c)
{
    sett__checker *all = sett__checker_of(c);
    const sett__cluster *k = c->cta->cluster;
    near **at = all ? &all->near : NULL, *n;
    while (at && (n = *at)) {
        if (n->cluster == k) { /* to the front: it is asked for again */
            *at = n->next;
            n->next = all->near;
            all->near = n;
            return n;
        }
        at = &n->next;
    }
    n = all ? make(c) : NULL;
    if (n) {
        n->next = all->near;
        all->near = n;
    }
    return n;
}

/* As a fresh one: of a cluster that ended before, or never was. */
bool sett__near_begin(sett__core *c)
{
    near *n = sett__near(c);
    if (!n)
        return false;
    forget(n);
    n->begun = false;
    n->maps_released = 0;
    n->time = 1; /* of what nobody knows yet; 0 is known to all */
    for (uint32_t i = 0; i < n->warps * n->blocks; i++) {
        walker *x = &n->walker[i];
        memset(x, 0, offsetof(walker, told));
        x->cp.n = x->bulk.n = 0;
    }
    memset(n->last, 0, n->stride * sizeof *n->last);
    for (uint32_t r = 0; r < n->blocks; r++) {
        near_block *b = &n->block[r];
        b->cta = n->cluster->cta[r];
        memset(b->mbar, 0, n->n_mbar * sizeof *b->mbar);
        memset(b->waits, 0, (size_t)n->n_mbar * n->warps * sizeof *b->waits);
        memset(b->end, 0, sizeof b->end);
        if (!sett__shared_begin(n, b, c))
            return false;
    }
    for (uint32_t i = 0; i < n->warps * n->blocks; i++)
        if (!(n->walker[i].known = sett__clocks_new(n, NULL)))
            return false;
    n->begun = true;
    return true;
}
