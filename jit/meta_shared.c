/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels share: a fleet's many kernels are variants of few bodies, and META read is the larger part of what one takes
 * beside its code. Kernels whose META and layer are the same, but for what the assembler said, have one copy of it, and one
 * plan. Those whose META is their own still share its texts, and their reports, with others. */
#include "jit.h"
#include <search.h>
#include <stdlib.h>
#include <string.h>

/* ---- texts: kept once, until the engine ends ------------------------------------------- */
static int compare_texts(const void *a, const void *b)
{
    return strcmp(a, b);
}

static const char *keep(sett__commons *all, const char *text, size_t len)
{
    if (!len)
        return "";
    char *copy = malloc(len + 1), **found = NULL;
    if (copy) {
        memcpy(copy, text, len);
        copy[len] = 0;
        found = tsearch(copy, &all->texts, compare_texts);
    }
    if (!found || *found != copy)
        free(copy);
    return found ? *found : NULL;
}

const char *sett__commons_text(sett__commons *all, sett__blob text)
{
    pthread_mutex_lock(&all->lock);
    const char *kept = keep(all, text.data, text.len);
    pthread_mutex_unlock(&all->lock);
    return kept;
}

static bool keep_at(sett__commons *all, const char **text)
{
    return !*text || (*text = keep(all, *text, strlen(*text)));
}

/* Of all but the kernel's own name. */
static bool keep_texts(sett__commons *all, sett__meta *m)
{
    const sett__sig *s = &m->sig;
    bool ok = keep_at(all, &m->target) && keep_at(all, &m->assembler) && keep_at(all, &m->compiler);
    for (uint32_t i = 0; i < s->n_sym && ok; i++)
        ok = keep_at(all, &s->sym[i].name);
    for (uint32_t i = 0; i < s->n_param && ok; i++)
        ok = keep_at(all, &s->param[i].name);
    for (uint32_t i = 0; i < s->n_check && ok; i++)
        ok = keep_at(all, &s->check[i].text) && keep_at(all, &s->check[i].file);
    for (uint32_t i = 0; i < s->n_claim && ok; i++)
        ok = keep_at(all, &s->claim[i].text) && keep_at(all, &s->claim[i].file) && keep_at(all, &s->claim[i].types);
    return ok;
}

/* ---- one block of exactly what META says ------------------------------------------------- */
static size_t rounded(size_t bytes, size_t to)
{
    return (bytes + to - 1) / to * to;
}

static size_t arrays(const sett__sig *s)
{
    return s->n_sym * sizeof *s->sym + s->n_param * sizeof *s->param + s->n_code * sizeof *s->code + s->n_check * sizeof *s->check +
           s->n_claim * sizeof *s->claim + s->n_leaf * sizeof *s->leaf;
}

static void *move(char **at, const void *from, size_t bytes)
{
    void *to = bytes ? memcpy(*at, from, bytes) : NULL;
    *at += bytes;
    return to;
}

static void move_arrays(sett__sig *s, char *at)
{
    s->sym = move(&at, s->sym, s->n_sym * sizeof *s->sym);
    s->param = move(&at, s->param, s->n_param * sizeof *s->param);
    s->code = move(&at, s->code, s->n_code * sizeof *s->code);
    s->check = move(&at, s->check, s->n_check * sizeof *s->check);
    s->claim = move(&at, s->claim, s->n_claim * sizeof *s->claim);
    s->leaf = move(&at, s->leaf, s->n_leaf * sizeof *s->leaf); /* the last: of half words */
}
static_assert(alignof(sett__leaf) <= 8 && sizeof(sett__symbol) % 8 + sizeof(sett__param) % 8 + sizeof(sett__xop) % 8 +
                  sizeof(sett__check) % 8 + sizeof(sett__claim) % 8 == 0, "no gaps between them");

/* draft: read elsewhere, its plan of so many bytes. The kernel's name comes last. */
static sett__common *settle(const sett__common *draft, size_t plan)
{
    size_t head = rounded(sizeof *draft, 16), name = strlen(draft->meta.name) + 1;
    char *block = malloc(head + plan + arrays(&draft->meta.sig) + name);
    if (!block)
        return NULL;
    sett__common *c = (void *)block;
    sett__arena a = {.at = block + head, .end = block + head + plan};
    *c = *draft;
    move_arrays(&c->meta.sig, block + head + plan);
    c->meta.name = memcpy(block + head + plan + arrays(&c->meta.sig), draft->meta.name, name);
    c->plan = plan ? sett__plan_make(&a, &c->meta.sig) : NULL;
    return c;
}

/* Texts are kept even if it then fails: the next try finds them. */
static sett_status make(sett__commons *all, sett__blob meta, const sett__common *asked, sett__common **to, sett_error *err)
{
    sett__common draft = *asked;
    size_t room = 4096 + 64 * meta.len; /* a byte of META is never more */
    char *scratch = malloc(room);
    sett__arena a = {.at = scratch, .end = scratch ? scratch + room : NULL};
    if (!scratch)
        return sett__error(err, SETT_E_MEMORY, "no memory for a kernel");
    sett_status s = sett__meta_read(&draft.meta, &a, meta.data, meta.len, err);
    const char *read_to = a.at;
    size_t plan = !s && sett__plan_make(&a, &draft.meta.sig) ? (size_t)(a.at - read_to) : 0;
    if (!s && a.head)
        s = sett__error(err, SETT_E_LIMIT, "META of %zu bytes says too much", meta.len);
    else if (!s && (!keep_texts(all, &draft.meta) || !(*to = settle(&draft, plan))))
        s = sett__error(err, SETT_E_MEMORY, "no memory for a kernel");
    sett__arena_free(&a);
    free(scratch);
    return s;
}

/* ---- finding it --------------------------------------------------------------------------- */
static int compare(const void *a, const void *b)
{
    return memcmp(((const sett__common *)a)->id, ((const sett__common *)b)->id, sizeof ((const sett__common *)a)->id);
}

sett_status sett__common_get(sett__commons *all, sett__blob meta, const char *layer, sett__common **to, sett_error *err)
{
    sett__common asked = {.shared = true};
    sett_status s = SETT_OK;
    *to = NULL;
    pthread_mutex_lock(&all->lock);
    asked.layer = keep(all, layer, strlen(layer));
    sett__meta_id(meta, asked.layer, asked.id);
    sett__common **found = asked.layer ? tfind(&asked, &all->tree, compare) : NULL;
    if (found)
        *to = *found;
    else
        s = asked.layer ? make(all, meta, &asked, to, err) : sett__error(err, SETT_E_MEMORY, "no memory for a kernel");
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

void sett__commons_free(sett__commons *all)
{
    tdestroy(all->texts, free);
    pthread_mutex_destroy(&all->lock);
}
