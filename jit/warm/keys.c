/* SPDX-License-Identifier: Apache-2.0 */
/* Every kernel of a manifest with its key. A shard is every n-th of the sorted keys, so that shards are equal in size
 * and each is told by the manifest alone, wherever it runs. */
#include "inside.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct listing {
    sett_engine *engine;
    const sett__manifest *m;
    const sett_warm_options *o;
    sett__warm_list *list;
    sett_error *err;
    const char *manifest;
    bool apart; /* bodies are recorded by a process */
    sett__warm_recorder recorder;
    sett__warm_command *command;
    sett__warm_process process;
} listing;

/* ---- listing ------------------------------------------------------------------------------- */
static sett_status add_alias(sett__warm_list *list, const sett__warm_item *item)
{
    size_t cap = list->alias_cap ? 2 * list->alias_cap : 64;
    if (item->status || sett__all_zero(item->alias.b, sizeof item->alias.b))
        return SETT_OK;
    sett__alias *more = list->n_alias < list->alias_cap ? list->alias : realloc(list->alias, cap * sizeof *more);
    if (!more)
        return SETT_E_MEMORY;
    list->alias_cap = list->n_alias < list->alias_cap ? list->alias_cap : cap;
    list->alias = more;
    more[list->n_alias++] = (sett__alias){item->alias, item->key};
    return SETT_OK;
}

/* Takes over the item's texts. */
static sett_status add(listing *l, const sett__warm_item *item, const sett_error *why)
{
    sett__warm_list *list = l->list;
    if (list->n == list->cap) {
        size_t cap = list->cap ? 2 * list->cap : 64;
        sett__warm_item *more = realloc(list->at, cap * sizeof *more);
        if (!more)
            return free(item->kernel), sett__error(l->err, SETT_E_MEMORY, "no memory for %zu kernels", cap);
        list->at = more;
        list->cap = cap;
    }
    sett__warm_item *to = &list->at[list->n];
    *to = *item;
    to->order = list->n++;
    if (add_alias(list, to))
        return sett__error(l->err, SETT_E_MEMORY, "no memory for %zu kernels", list->n);
    to->error = item->status ? strdup(why->text) : NULL;
    return item->status && !to->error ? sett__error(l->err, SETT_E_MEMORY, "no memory for a message") : SETT_OK;
}

static void item_free(sett__warm_item *it)
{
    free(it->error), free(it->kernel);
}

/* ---- recording ------------------------------------------------------------------------------ */
/* Keeps the user data. */
static void record(sett__warm_recorder *r, const sett__warm_block *b, const sett__warm_kernel *k)
{
    sett_compile_options o;
    if (r->block == b && r->kernel.family == k->family && !memcmp(r->kernel.user, k->user, k->family->user_size)) {
        free(k->user);
        return;
    }
    sett__warm_recorder_free(r);
    r->block = b, r->kernel = *k;
    sett__warm_compile_options(b, k, NULL, &o);
    r->status = sett_record(k->family->body, &o, false, &r->tape, &r->len, &r->why);
}

void sett__warm_recorder_free(sett__warm_recorder *r)
{
    free(r->kernel.user);
    sett_text_free(r->tape);
    *r = (sett__warm_recorder){0};
}

static sett_status key_of(sett__warm_recorder *r, sett_engine *e, const sett__warm_block *b, sett__warm_item *it, int32_t *what, sett_error *err)
{
    sett_compile_options o;
    sett__warm_kernel k = {0};
    char text[SETT__WARM_TEXT];
    sett__warm_compile_options(b, &k, it->target, &o);
    *what = SETT__WARM_DONE;
    if (!b->family)
        return sett__key_of_tape(e, b->tape, b->tape_len, &o, &it->key, err);
    sett_status s = sett__warm_kernel_of(b, it->point, (int)it->index, it->target, &k, err);
    if (s || !k.user) {
        *what = s ? SETT__WARM_LAST : SETT__WARM_UNWANTED;
        return s;
    }
    sett__warm_compile_options(b, &k, it->target, &o);
    if (sett__warm_several(b)) {
        sett__warm_kernel_text(b, &k, text);
        it->kernel = strdup(text);
    }
    record(r, b, &k);
    o.user_size = k.family->user_size, o.user = r->kernel.user, o.pure = true;
    if (!r->status && !sett__alias_of_body(e, k.family->body, &o, &it->alias))
        it->alias = (sett__digest){{0}};
    return sett__warm_several(b) && !it->kernel ? sett__error(err, SETT_E_MEMORY, "no memory for a name")
           : r->status                           ? sett__error(err, r->status, "%s", r->why.text)
                                                 : sett__key_of_tape(e, r->tape, r->len, &o, &it->key, err);
}

void sett__warm_key(sett__warm_recorder *r, sett_engine *e, const sett__warm_block *b, sett__warm_item *it, int32_t *what, sett_error *err)
{
    it->status = key_of(r, e, b, it, what, err);
    if (it->status) /* it is called as the point is, as where a process was asked */
        free(it->kernel), it->kernel = NULL;
}

/* One that waits for a job. */
static sett_status have_process(listing *l)
{
    sett__warm_process *p = &l->process;
    sett__warm_reply r;
    char text[SETT__WARM_REPLY_TEXT], why[64];
    int got = 0;
    if (p->pid)
        return SETT_OK;
    sett_status s = l->command ? SETT_OK : sett__warm_command_make(l->engine, l->o, NULL, l->manifest, &l->command, l->err);
    if (!s)
        s = sett__warm_start(l->command, p, l->err);
    while (!s && !got)
        got = sett__warm_hear(l->engine, p, &r, text);
    if (!s && got > 0 && !r.status)
        return SETT_OK;
    if (p->pid)
        sett__warm_end(p, why);
    return s         ? s
           : got > 0 ? sett__error(l->err, (sett_status)r.status, "%s: %s", l->command->path, text)
                     : sett__error(l->err, SETT_E_IO, "%s ended before it began: %s", l->command->path, why);
}

/* The same as sett__warm_key of a process, with which a body that crashes ends: *died. */
static sett_status ask(listing *l, sett__warm_item *it, int32_t *what, bool *died, sett_error *why)
{
    sett__warm_reply r = {0};
    char text[SETT__WARM_REPLY_TEXT], how[64];
    sett_status s = have_process(l);
    if (s)
        return s;
    int got = sett__warm_send(&l->process, it, true) ? 0 : -1;
    while (!got)
        got = sett__warm_hear(l->engine, &l->process, &r, text);
    *died = got < 0;
    *what = *died ? SETT__WARM_LAST : r.what;
    it->key = r.key, it->alias = r.alias;
    it->status = (sett_status)r.status;
    if (it->status)
        sett__error(why, it->status, "%s", text);
    else if (!*died && *text && !(it->kernel = strdup(text)))
        it->status = sett__error(why, SETT_E_MEMORY, "no memory for a name");
    if (*died) {
        sett__warm_end(&l->process, how);
        it->status = sett__error(why, SETT_E_COMPILE, "the process that recorded it died: %s", how);
    }
    return SETT_OK;
}

/* One kernel of a point for a target. */
static sett_status add_kernel(listing *l, sett__warm_item item, int32_t *what, bool *died, sett_error *why)
{
    const sett__warm_block *b = &l->m->block[item.block];
    sett_status s = SETT_OK;
    if (*died)
        item.status = SETT_E_COMPILE, *what = SETT__WARM_LAST;
    else if (l->apart && b->family)
        s = ask(l, &item, what, died, why);
    else
        sett__warm_key(&l->recorder, l->engine, b, &item, what, why);
    if (!s && item.status == SETT_E_MEMORY)
        s = sett__error(l->err, SETT_E_MEMORY, "%s", why->text);
    if (!s && *what != SETT__WARM_UNWANTED)
        return add(l, &item, why);
    free(item.kernel);
    return s;
}

/* Recorded once for all targets where each point is one kernel; what died once is not tried for the others. */
static sett_status add_point(listing *l, uint32_t block, size_t point)
{
    const sett__warm_block *b = &l->m->block[block];
    const bool several = sett__warm_several(b);
    sett_error why = {0};
    char fault[SETT__TARGET_FAULT];
    int32_t what = SETT__WARM_DONE;
    bool died = false;
    sett_status s = SETT_OK;
    for (const char *at = b->targets ? b->targets : l->o->targets; at && !s && (several || what != SETT__WARM_UNWANTED);) {
        const char *target = at;
        size_t all = strcspn(at, ","), n = all;
        sett__warm_item item = {.block = block, .point = (uint32_t)point};
        if (!sett__warm_target(&target, &n, item.target))
            return sett__error(l->err, SETT_E_ARGUMENT, "%s", sett__target_fault(target, n, false, fault, sizeof fault));
        do {
            s = add_kernel(l, item, &what, &died, &why);
        } while (several && !s && what == SETT__WARM_DONE && ++item.index < SETT__WARM_KERNELS);
        at = at[all] ? at + all + 1 : NULL;
    }
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
            item_free(it);
        unique += !twice;
    }
    list->n = n;
    if (n)
        qsort(list->at, n, sizeof *list->at, by_order);
}

static sett_status list_make(sett_engine *e, const char *path, const sett__manifest *m, const sett_warm_options *o, bool apart,
    sett__warm_list *list, sett_error *err)
{
    listing l = {.engine = e, .m = m, .o = o, .list = list, .err = err, .manifest = path, .apart = apart};
    char why[64];
    sett_status s = SETT_OK;
    *list = (sett__warm_list){0};
    for (int b = 0; b < m->n && !s; b++) {
        if (!m->block[b].targets && !o->targets)
            s = sett__error(err, SETT_E_ARGUMENT, "%s:%d: no targets are given, by .targets of this block or for all (--targets sm_90a)", path,
                m->block[b].line);
        for (size_t p = 0; p < m->block[b].points && !s; p++)
            s = add_point(&l, (uint32_t)b, p);
    }
    if (l.process.pid)
        sett__warm_end(&l.process, why);
    sett__warm_recorder_free(&l.recorder);
    free(l.command);
    if (s)
        sett__warm_list_free(list);
    else
        keep_ours(list, o);
    return s;
}

void sett__warm_list_free(sett__warm_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        item_free(&l->at[i]);
    free(l->alias);
    free(l->at);
    *l = (sett__warm_list){0};
}

void sett__warm_describe(
    const sett__manifest *m, const sett__warm_item *it, char text[SETT__WARM_TEXT], sett_warm_event *e)
{
    const sett__warm_block *b = &m->block[it->block];
    const char *line = it->kernel ? strchr(it->kernel, '\n') : NULL, *name = b->name[0] ? b->name : "kernel";
    sett__manifest_point(b, it->point, text);
    if (line) { /* the name ends where the parameters begin */
        snprintf(text, SETT__WARM_TEXT, "%s%c%.*s", line + 1, 0, (int)(line - it->kernel), it->kernel);
        name = text + strlen(text) + 1;
    }
    *e = (sett_warm_event){.size = sizeof *e,
        .name = name,
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

sett_status sett__warm_open(sett_engine *e, const char *manifest, const sett_warm_options *options, bool apart,
    sett_warm_options *o, sett__manifest *m, sett__warm_list *list, sett_error *err)
{
    sett_status s = take_options(manifest, options, o, err);
    if (!s)
        s = sett__manifest_read(m, manifest, err);
    return s ? s : list_make(e, manifest, m, o, apart || o->command, list, err);
}

sett_status sett_family_keys(sett_engine *e, const char *manifest, const sett_warm_options *options, sett_warm_fn fn,
    void *user, sett_error *err)
{
    sett__manifest m = {0};
    sett__warm_list list = {0};
    sett_warm_options o;
    sett_error why = {0};
    int saved = errno;
    sett_status s = fn ? sett__engine_check(e, NULL, &why) : sett__error(&why, SETT_E_ARGUMENT, "the function is NULL");
    if (!s)
        s = sett__warm_open(e, manifest, options, false, &o, &m, &list, &why);
    if (!s)
        s = tell(&m, &list, fn, user);
    if (s)
        sett__error(err, s, "sett_family_keys: %s", why.text);
    sett__warm_list_free(&list);
    sett__manifest_free(&m);
    errno = saved;
    return s;
}
