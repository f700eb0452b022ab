/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels share: a fleet's many kernels are variants of few bodies, and META is the larger part of what one takes
 * beside its code. Kernels whose META and layer are the same, but for what the assembler said, have one copy of it, and one
 * plan. Those whose META is their own still share its texts, and their reports, with others. */
#include "kernel.h"
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

/* Of all but names. */
static bool keep_texts(sett__commons *all, sett__meta *m)
{
    const sett__sig *s = &m->sig;
    bool ok = keep_at(all, &m->target) && keep_at(all, &m->assembler) && keep_at(all, &m->compiler);
    for (uint32_t i = 0; i < s->n_check && ok; i++)
        ok = keep_at(all, &s->check[i].text) && keep_at(all, &s->check[i].file);
    for (uint32_t i = 0; i < s->n_claim && ok; i++)
        ok = keep_at(all, &s->claim[i].text) && keep_at(all, &s->claim[i].file) && keep_at(all, &s->claim[i].types);
    return ok;
}

static int compare_makers(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(sett__maker)); /* texts that are kept once have one address */
}

static const sett__maker *keep_maker(sett__commons *all, const sett__maker *m)
{
    sett__maker *copy = malloc(sizeof *copy), **found = NULL;
    if (copy) {
        *copy = *m;
        found = tsearch(copy, &all->makers, compare_makers);
    }
    if (!found || *found != copy)
        free(copy);
    return found ? *found : NULL;
}
static_assert(sizeof(sett__maker) == 5 * sizeof(char *) + 8, "no padding: it is compared as bytes");

/* ---- names: those of all parameters and symbols, as one ------------------------------------------------- */
typedef struct names {
    size_t len;
    char text[];
} names;

static int compare_names(const void *a, const void *b)
{
    const names *x = a, *y = b;
    return x->len != y->len ? (x->len < y->len ? -1 : 1) : memcmp(x->text, y->text, x->len);
}

static const char **name_at(const sett__sig *s, uint32_t i)
{
    return i < s->n_param ? &s->param[i].name : &s->sym[i - s->n_param].name;
}

size_t sett__names_put(const sett__sig *s, char *to)
{
    size_t at = 0;
    for (uint32_t i = 0; i < s->n_param + s->n_sym; i++) {
        size_t len = strlen(*name_at(s, i)) + 1;
        if (to)
            memcpy(to + at, *name_at(s, i), len);
        at += len;
    }
    return at;
}

/* Into a signature from where they lie. */
static void take_names(sett__sig *s, const char *from)
{
    for (uint32_t i = 0; i < s->n_param + s->n_sym; i++) {
        *name_at(s, i) = from;
        from += strlen(from) + 1;
    }
}

static const char *keep_names(sett__commons *all, const sett__sig *s)
{
    const size_t len = sett__names_put(s, NULL);
    names *copy = malloc(sizeof *copy + len), **found = NULL;
    if (copy) {
        copy->len = len;
        sett__names_put(s, copy->text);
        found = tsearch(copy, &all->names, compare_names);
    }
    if (!found || *found != copy)
        free(copy);
    return found ? (*found)->text : NULL;
}

/* ---- what is known at once, and the signature when it is asked for ------------------------------------------- */
void sett__common_facts(sett__common *c, const sett__sig *s)
{
    c->n_param = (uint16_t)s->n_param;
    c->n_sym = (uint16_t)(s->n_sym - s->n_derived);
    c->params_len = (uint16_t)sett__params_len(s);
    c->smem = s->smem;
    c->early = s->early, c->more = s->smem_more.count != 0, c->claims = s->n_claim != 0;
    for (int i = 0; i < 3; i++) {
        int64_t v = 1;
        bool known = !s->block[i].count || sett__expr_const(s, s->block[i], &v);
        c->block[i] = (uint16_t)(known ? v : 0);
    }
}

const sett__sig *sett__sig_of(const sett_kernel *k, sett_error *err)
{
    sett__common *c = k->rest->common;
    const sett__sig *known = atomic_load_explicit(&c->sig, memory_order_acquire);
    if (known)
        return known;
    sett__sig *made = sett__plan_sig(sett__common_plan(c));
    if (!made) {
        sett__error(err, SETT_E_MEMORY, "%s: no memory for what its arguments must be", c->name);
        return NULL;
    }
    take_names(made, c->by->names);
    if (atomic_compare_exchange_strong(&c->sig, &known, made))
        return made;
    free(made);
    return known;
}

/* ---- one block: the plan, or the signature where there is none; then the name ------------------------------- */
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

static sett__sig *move_sig(const sett__sig *from, char *at, const char *texts)
{
    sett__sig *s = move(&at, from, sizeof *s);
    s->sym = move(&at, s->sym, s->n_sym * sizeof *s->sym);
    s->param = move(&at, s->param, s->n_param * sizeof *s->param);
    s->code = move(&at, s->code, s->n_code * sizeof *s->code);
    s->check = move(&at, s->check, s->n_check * sizeof *s->check);
    s->claim = move(&at, s->claim, s->n_claim * sizeof *s->claim);
    s->leaf = move(&at, s->leaf, s->n_leaf * sizeof *s->leaf); /* the last: of half words */
    take_names(s, texts);
    return s;
}

static sett__common *settle(const sett__common *asked, const sett__meta *m, const sett__plan *plan)
{
    size_t room = plan ? sett__plan_bytes(plan) : sizeof m->sig + arrays(&m->sig);
    const size_t name = strlen(m->name) + 1;
    sett__common *c = malloc(sizeof *c + room + name);
    if (!c)
        return NULL;
    char *at = (char *)(c + 1);
    *c = *asked;
    c->planned = plan != NULL;
    c->name = memcpy(at + room, m->name, name);
    sett__common_facts(c, &m->sig);
    if (plan)
        memcpy(at, plan, room);
    atomic_init(&c->sig, plan ? NULL : move_sig(&m->sig, at, c->by->names));
    return c;
}
static_assert(sizeof(sett__common) % 8 == 0, "what lies behind it is aligned");

/* Texts are kept even if it then fails: the next try finds them. */
static sett_status make(sett__commons *all, sett__blob meta, const char *layer, sett__common *asked, sett__common **to, sett_error *err)
{
    size_t room = 4096 + 96 * meta.len; /* a byte of META is never more, with its share of a plan */
    char *scratch = malloc(room);
    sett__arena a = {.at = scratch, .end = scratch ? scratch + room : NULL};
    sett__meta m;
    if (!scratch)
        return sett__error(err, SETT_E_MEMORY, "no memory for a kernel");
    sett_status s = sett__meta_read(&m, &a, meta.data, meta.len, err);
    bool kept = !s && keep_texts(all, &m);
    if (kept) {
        const sett__maker by = {m.target, m.assembler, m.compiler, layer, keep_names(all, &m.sig), (uint64_t)m.min_driver};
        asked->by = by.names ? keep_maker(all, &by) : NULL;
    }
    const sett__plan *plan = kept ? sett__plan_make(&a, &m.sig) : NULL;
    if (!s && a.head)
        s = sett__error(err, SETT_E_LIMIT, "META of %zu bytes says too much", meta.len);
    else if (!s && (!kept || !asked->by || !(*to = settle(asked, &m, plan))))
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
    const char *path = keep(all, layer, strlen(layer));
    sett__meta_id(meta, path, asked.id);
    sett__common **found = path ? tfind(&asked, &all->tree, compare) : NULL;
    if (found)
        *to = *found;
    else
        s = path ? make(all, meta, path, &asked, to, err) : sett__error(err, SETT_E_MEMORY, "no memory for a kernel");
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
    if (!last)
        return;
    if (c->planned)
        free((void *)(uintptr_t)atomic_load_explicit(&c->sig, memory_order_relaxed));
    free(c);
}

void sett__commons_free(sett__commons *all)
{
    tdestroy(all->makers, free);
    tdestroy(all->names, free);
    tdestroy(all->texts, free);
    pthread_mutex_destroy(&all->lock);
}
