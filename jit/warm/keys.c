/* SPDX-License-Identifier: Apache-2.0 */
/* Every kernel of a manifest with its key. A shard is every n-th of the sorted keys, so that shards are equal in size
 * and each is told by the manifest alone, wherever it runs. */
#include "warm.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct listing {
    sett_engine *engine;
    const sett__manifest *m;
    const sett_warm_options *o;
    sett__warm_list *list;
    sett_error *err;
} listing;

/* ---- listing ------------------------------------------------------------------------------- */
static sett_status add(listing *l, const sett__warm_item *item, const sett_error *why)
{
    sett__warm_list *list = l->list;
    if (list->n == list->cap) {
        size_t cap = list->cap ? 2 * list->cap : 64;
        sett__warm_item *more = realloc(list->at, cap * sizeof *more);
        if (!more)
            return sett__error(l->err, SETT_E_MEMORY, "no memory for %zu kernels", cap);
        list->at = more;
        list->cap = cap;
    }
    sett__warm_item *to = &list->at[list->n];
    *to = *item;
    to->order = list->n++;
    to->error = item->status ? strdup(why->text) : NULL;
    return item->status && !to->error ? sett__error(l->err, SETT_E_MEMORY, "no memory for a message") : SETT_OK;
}

static sett_status add_target(
    listing *l, sett__warm_item *item, const void *tape, size_t len, const char *target, size_t n)
{
    const sett__warm_block *b = &l->m->block[item->block];
    sett_compile_options o;
    sett_error why = {0};
    if (!sett__warm_target(&target, &n, item->target))
        return sett__error(l->err, SETT_E_ARGUMENT, SETT__WARM_NO_TARGET, (int)(n < 60 ? n : 60), target);
    sett__warm_compile_options(b, NULL, item->target, &o);
    if (!item->status &&
        (item->status = sett__key_of_tape(l->engine, tape, len, &o, &item->key, &why)) == SETT_E_MEMORY)
        return sett__error(l->err, SETT_E_MEMORY, "%s", why.text);
    sett_status s = add(l, item, &why);
    item->status = SETT_OK;
    return s;
}

/* Recorded once for all targets. */
static sett_status add_point(listing *l, uint32_t block, size_t point)
{
    const sett__warm_block *b = &l->m->block[block];
    const char *targets = b->targets ? b->targets : l->o->targets;
    char text[SETT__WARM_TEXT];
    void *user = sett__manifest_point(b, point, text), *tape = b->tape;
    size_t len = b->tape_len;
    sett_compile_options o;
    sett_error why = {0};
    sett__warm_item item = {.block = block, .point = (uint32_t)point};
    sett_status s = SETT_OK, recorded = SETT_OK;
    if (b->family && !user)
        return sett__error(l->err, SETT_E_MEMORY, "no memory for user data");
    if (!b->family || !b->family->wanted || b->family->wanted(user)) {
        sett__warm_compile_options(b, user, NULL, &o);
        recorded = b->family ? sett_record(b->family->body, &o, false, &tape, &len, &why) : SETT_OK;
        if (recorded == SETT_E_MEMORY)
            s = sett__error(l->err, recorded, "%s", why.text);
        for (const char *at = targets; at && !s;) {
            size_t n = strcspn(at, ",");
            if (recorded) {
                item.status = recorded;
                snprintf(item.target, sizeof item.target, "%.*s", (int)n, at);
                s = add(l, &item, &why);
            } else {
                s = add_target(l, &item, tape, len, at, n);
            }
            at = at[n] ? at + n + 1 : NULL;
        }
        if (b->family && !recorded)
            sett_text_free(tape);
    }
    free(user);
    return s;
}

/* ---- each once, and whose ------------------------------------------------------------------------- */
static int by_key(const void *a, const void *b)
{
    const sett__warm_item *x = a, *y = b;
    int c = memcmp(x->key.b, y->key.b, sizeof x->key.b);
    return c ? c : (x->order > y->order) - (x->order < y->order);
}

static int by_order(const void *a, const void *b)
{
    const sett__warm_item *x = a, *y = b;
    return (x->order > y->order) - (x->order < y->order);
}

/* What could not be recorded has no key, and stays with what it is: it sorts first, in order. */
static void keep_ours(sett__warm_list *list, const sett_warm_options *o)
{
    size_t n = 0, unique = 0;
    if (list->n)
        qsort(list->at, list->n, sizeof *list->at, by_key);
    sett__digest last = {{0}};
    for (size_t i = 0; i < list->n; i++) {
        sett__warm_item *it = &list->at[i];
        bool twice = i && !it->status && !memcmp(last.b, it->key.b, sizeof last.b);
        last = it->key;
        if (!twice && (!o->shards || unique % (size_t)o->shards == (size_t)o->shard))
            list->at[n++] = *it;
        else
            free(it->error);
        unique += !twice;
    }
    list->n = n;
    if (n)
        qsort(list->at, n, sizeof *list->at, by_order);
}

static sett_status list_make(
    sett_engine *e, const char *path, const sett__manifest *m, const sett_warm_options *o, sett__warm_list *list, sett_error *err)
{
    listing l = {e, m, o, list, err};
    sett_status s = SETT_OK;
    *list = (sett__warm_list){0};
    for (int b = 0; b < m->n && !s; b++) {
        if (!m->block[b].targets && !o->targets)
            s = sett__error(err, SETT_E_ARGUMENT, "%s:%d: no targets are given, and this block has no .targets", path,
                m->block[b].line);
        for (size_t p = 0; p < m->block[b].points && !s; p++)
            s = add_point(&l, (uint32_t)b, p);
    }
    if (s)
        sett__warm_list_free(list);
    else
        keep_ours(list, o);
    return s;
}

void sett__warm_list_free(sett__warm_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->at[i].error);
    free(l->at);
    *l = (sett__warm_list){0};
}

void sett__warm_describe(
    const sett__manifest *m, const sett__warm_item *it, char text[SETT__WARM_TEXT], sett_warm_event *e)
{
    const sett__warm_block *b = &m->block[it->block];
    free(sett__manifest_point(b, it->point, text));
    *e = (sett_warm_event){.size = sizeof *e,
        .name = b->name[0] ? b->name : "kernel",
        .target = it->target,
        .params = text,
        .status = it->status,
        .error = it->error ? it->error : ""};
    memcpy(e->key, it->key.b, sizeof e->key);
}

/* ---- public ------------------------------------------------------------------------------------------ */
static sett_status take_options(
    const char *manifest, const sett_warm_options *given, sett_warm_options *o, sett_error *err)
{
    sett_status s = sett__options(o, sizeof *o, given, "sett_warm_options", err);
    if (!s && (!manifest || !*manifest))
        s = sett__error(err, SETT_E_ARGUMENT, "the manifest's path is empty");
    if (!s && (o->shards < 0 || o->shard < 0 || (o->shards ? o->shard >= o->shards : o->shard)))
        s = sett__error(err, SETT_E_ARGUMENT, "shard %d of %d: they are numbered from 0", o->shard, o->shards);
    if (!s && (o->workers < 0 || o->workers > 1024))
        s = sett__error(err, SETT_E_ARGUMENT, "%d workers: 1 to 1024, or 0 for one a core", o->workers);
    return s;
}

static sett_status tell(const sett__manifest *m, const sett__warm_list *list, sett_warm_fn fn, void *user)
{
    sett_warm_event e;
    char text[SETT__WARM_TEXT];
    uint64_t failed = 0;
    for (size_t i = 0; i < list->n; i++) {
        sett__warm_describe(m, &list->at[i], text, &e);
        failed += e.status != SETT_OK;
        e.done = i + 1, e.failed = failed, e.total = list->n;
        if (!fn(user, &e))
            break;
    }
    return SETT_OK;
}

sett_status sett__warm_open(sett_engine *e, const char *manifest, const sett_warm_options *options, sett_warm_options *o,
    sett__manifest *m, sett__warm_list *list, sett_error *err)
{
    sett_status s = take_options(manifest, options, o, err);
    if (!s)
        s = sett__manifest_read(m, manifest, err);
    return s ? s : list_make(e, manifest, m, o, list, err);
}

sett_status sett_family_keys(sett_engine *e, const char *manifest, const sett_warm_options *options, sett_warm_fn fn,
    void *user, sett_error *err)
{
    sett__manifest m = {0};
    sett__warm_list list = {0};
    sett_warm_options o;
    sett_error why = {0};
    int saved = errno;
    sett_status s = fn ? sett__engine_check(e, &why) : sett__error(&why, SETT_E_ARGUMENT, "the function is NULL");
    if (!s)
        s = sett__warm_open(e, manifest, options, &o, &m, &list, &why);
    if (!s)
        s = tell(&m, &list, fn, user);
    if (s)
        sett__error(err, s, "sett_family_keys: %s", why.text);
    sett__warm_list_free(&list);
    sett__manifest_free(&m);
    errno = saved;
    return s;
}
