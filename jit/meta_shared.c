/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels share: a fleet's many kernels are variants of few bodies, and META read is the larger part of what one takes
 * beside its code. Kernels whose META and layer are the same, but for what the assembler said, have one copy of it, and one
 * plan. */
#include "jit.h"
#include <search.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    const sett__common *x = a, *y = b;
    int order = sett__meta_compare(x->bytes, y->bytes);
    return order ? order : strcmp(x->layer, y->layer);
}

static void static_block(sett__common *c)
{
    const sett__sig *sig = &c->meta.sig;
    for (int i = 0; i < 3; i++) {
        const sett__xop *x = sig->block[i].count ? &sig->code[sig->block[i].first] : NULL;
        c->block[i] = !x ? 1 : sig->block[i].count == 1 && x->code == SETT__X_CONST ? (int)x->imm : 0;
    }
}

void sett__common_of_sig(sett__common *c, sett__arena *plan_in)
{
    c->plan = plan_in ? sett__plan_make(plan_in, &c->meta.sig) : NULL;
    static_block(c);
}

static sett_status read_into(sett__common *c, sett__arena *a, sett__blob meta, sett_error *err)
{
    sett_status s = sett__meta_read(&c->meta, a, meta.data, meta.len, err);
    if (!s)
        sett__common_of_sig(c, a);
    return s;
}

/* One block of exactly what it takes: how much that is, is told by reading it once elsewhere. */
static sett_status make(sett__blob meta, const char *layer, sett__common **to, sett_error *err)
{
    sett__common draft;
    size_t path = strlen(layer) + 1, room = 4096 + 64 * meta.len; /* a byte of META is never more */
    char *scratch = malloc(room);
    sett__arena a = {.at = scratch, .end = scratch ? scratch + room : NULL};
    if (!scratch)
        return sett__error(err, SETT_E_MEMORY, "no memory for a kernel");
    sett_status s = read_into(&draft, &a, meta, err);
    size_t used = (size_t)(a.at - scratch), head = (sizeof draft + 15) / 16 * 16;
    if (!s && a.head)
        s = sett__error(err, SETT_E_LIMIT, "META of %zu bytes says too much", meta.len);
    sett__arena_free(&a);
    free(scratch);
    if (s)
        return s;
    char *block = malloc(head + used + meta.len + path);
    if (!block)
        return sett__error(err, SETT_E_MEMORY, "no memory for a kernel");
    sett__common *c = (void *)block;
    char *bytes = block + head + used;
    *c = (sett__common){.shared = true, .bytes = {memcpy(bytes, meta.data, meta.len), meta.len},
        .layer = memcpy(bytes + meta.len, layer, path)};
    sett__arena exact = {.at = block + head, .end = bytes};
    s = read_into(c, &exact, meta, err);
    if (s)
        free(block);
    else
        *to = c;
    return s;
}

sett_status sett__common_get(sett__commons *all, sett__blob meta, const char *layer, sett__common **to, sett_error *err)
{
    const sett__common asked = {.bytes = meta, .layer = layer};
    sett_status s = SETT_OK;
    pthread_mutex_lock(&all->lock);
    sett__common **found = tfind(&asked, &all->tree, compare);
    *to = found ? *found : NULL;
    if (!found)
        s = make(meta, layer, to, err);
    if (!found && !s && !tsearch(*to, &all->tree, compare))
        (*to)->shared = false; /* without memory for its place it is this kernel's alone */
    if (!s)
        (*to)->refs++;
    pthread_mutex_unlock(&all->lock);
    return s;
}

void sett__common_drop(sett__commons *all, sett__common *c)
{
    if (!c)
        return;
    pthread_mutex_lock(&all->lock);
    bool last = !--c->refs;
    if (last && c->shared)
        tdelete(c, &all->tree, compare);
    pthread_mutex_unlock(&all->lock);
    if (last)
        free(c);
}
