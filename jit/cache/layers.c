/* SPDX-License-Identifier: Apache-2.0 */
/* The places that an engine reads entries from, in order: layers that are only read, then the folder that is also
 * written. Memory, above them, is store.c. A place that cannot be used is left out and says why; with none at all the
 * engine goes on in memory. */
#include "cache.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct place {
    sett__layer *layer; /* NULL: not usable */
    char *path, *why;   /* why: NULL unless not usable */
    bool folder;        /* the last one: written */
} place;

struct sett__cache {
    int n;       /* of this machine */
    bool remote; /* one more place behind them */
    place *place;
    sett__auth auth;
    uint8_t (*signer)[32]; /* who may sign packs */
    int n_signers;
    const sett__os *os;
    sett__logger *log;
};

/* ---- opening ----------------------------------------------------------------------------- */
sett_status sett__signers_read(const char *text, uint8_t (**keys)[32], int *n, sett_error *err)
{
    size_t most = text ? (strlen(text) + 1) / 65 : 0;
    *keys = NULL;
    *n = 0;
    if (!text || !*text)
        return SETT_OK;
    uint8_t(*out)[32] = calloc(most + 1, sizeof *out);
    if (!out)
        return sett__error(err, SETT_E_MEMORY, "no memory for public keys");
    for (const char *at = text;; at += 65) {
        if (!sett__hex_read(at, out[*n]) || (at[64] && at[64] != ':')) {
            free(out);
            return sett__error(err, SETT_E_ARGUMENT,
                "cache_signers are public keys of 64 hexadecimal digits with ':' between, not \"%.80s\"", at);
        }
        ++*n;
        if (!at[64])
            break;
    }
    *keys = out;
    return SETT_OK;
}

/* A hint: what it is, and whose, is looked at when it is open. */
static bool is_file(const sett__cache *c, const char *path)
{
    struct stat st;
    return !c->os->fstatat(AT_FDCWD, path, &st, 0) && !S_ISDIR(st.st_mode);
}

static sett_status open_folder(
    sett__cache *c, place *p, const sett__cache_options *o, const sett_error *no_secret, sett_error *why)
{
    const sett__disk_options d = {.path = p->path,
        .trust = o->trust,
        .auth = o->trust == SETT_TRUST_MAC ? &c->auth : NULL,
        .cap = o->cap,
        .layer_only = !p->folder,
        .os = c->os,
        .log = c->log};
    sett__disk *disk = NULL;
    *why = *no_secret;
    sett_status s = why->status ? why->status : sett__disk_open(&disk, &d, why);
    p->layer = (sett__layer *)disk;
    return s;
}

static sett__remote_layer *remote_of(const sett__cache *c)
{
    return c->remote ? (sett__remote_layer *)c->place[c->n].layer : NULL;
}

/* What cannot be read is not shown: it may hold a password. */
static sett_status open_remote(sett__cache *c, place *p, const sett__cache_options *o, sett_error *why)
{
    sett_status s = sett__remote_open(&p->layer, &p->path, o, c->os, why);
    if (!p->path)
        p->path = strdup("remote");
    return p->path ? s : SETT_E_MEMORY;
}

static sett_status open_place(
    sett__cache *c, place *p, const sett__cache_options *o, const sett_error *no_secret, sett_error *err)
{
    const sett__pack_options pack = {p->path, o->trust, (const uint8_t (*)[32])c->signer, c->n_signers, o->os};
    sett_error why = {0};
    sett_status s;
    if (c->remote && p == &c->place[c->n])
        s = open_remote(c, p, o, &why);
    else if (!p->folder && is_file(c, p->path))
        s = sett__pack_open(&p->layer, &pack, &why);
    else if (o->trust == SETT_TRUST_SIGNED)
        s = sett__error(&why, SETT_E_IO, "it is a folder, and only signed packs are used");
    else
        s = open_folder(c, p, o, no_secret, &why);
    if (!s)
        return SETT_OK;
    if (s == SETT_E_ARGUMENT && o->remote_asked)
        return sett__error(err, s, "%s", why.text);
    const size_t len = !p->path || *p->path == '/' ? 0 : strlen(p->path); /* what refuses a relative path begins with it */
    const char *text = why.text + (len && !strncmp(why.text, p->path, len) && !strncmp(why.text + len, ": ", 2) ? len + 2 : 0);
    sett__say(c->log, SETT_LOG_WARNING, "cache", "%s is not used: %s", p->path, text);
    p->why = strdup(text);
    return s != SETT_E_MEMORY && p->why ? SETT_OK : sett__error(err, SETT_E_MEMORY, "no memory for a cache");
}

static sett_status add_place(sett__cache *c, const char *path, size_t len, bool folder)
{
    place *more = realloc(c->place, (size_t)(c->n + 2) * sizeof *more); /* one for a remote */
    if (!more)
        return SETT_E_MEMORY;
    c->place = more;
    more[c->n] = (place){.path = strndup(path, len), .folder = folder};
    return more[c->n++].path ? SETT_OK : SETT_E_MEMORY;
}

static sett_status list_places(sett__cache *c, const sett__cache_options *o)
{
    sett_status s = SETT_OK;
    for (const char *at = o->layers; at && *at && !s;) {
        size_t n = strcspn(at, ":");
        if (n)
            s = add_place(c, at, n, false);
        at += n + (at[n] == ':');
    }
    if (!s && o->folder && *o->folder)
        s = add_place(c, o->folder, strlen(o->folder), true);
    if (s || !o->remote || !*o->remote)
        return s;
    if (!c->place && !(c->place = malloc(sizeof *c->place)))
        return SETT_E_MEMORY;
    c->place[c->n] = (place){.layer = NULL};
    c->remote = true;
    return SETT_OK;
}

sett_status sett__cache_open(sett__cache **out, const sett__cache_options *o, sett_error *err)
{
    sett_error no_secret = {0};
    sett__cache *c = calloc(1, sizeof *c);
    *out = NULL;
    if (!c)
        return sett__error(err, SETT_E_MEMORY, "no memory for a cache");
    c->log = o->log;
    c->os = o->os ? o->os : &sett__os_libc;
    sett_status s = list_places(c, o);
    if (!s)
        s = sett__signers_read(o->signers, &c->signer, &c->n_signers, NULL);
    if (s)
        sett__error(err, s, "no memory for a cache");
    if (o->trust == SETT_TRUST_MAC)
        no_secret.status = sett__auth_read(c->os, o->secret, &c->auth, &no_secret);
    for (int i = 0; i < sett__cache_layers(c) && !s; i++)
        s = open_place(c, &c->place[i], o, &no_secret, err);
    if (s) {
        sett__cache_close(c);
        return s;
    }
    *out = c;
    return SETT_OK;
}

void sett__cache_close(sett__cache *c)
{
    if (!c)
        return;
    for (int i = 0; i < sett__cache_layers(c); i++) {
        if (c->place[i].layer)
            c->place[i].layer->ops->close(c->place[i].layer);
        free(c->place[i].path);
        free(c->place[i].why);
    }
    free(c->signer);
    free(c->place);
    free(c);
}

sett__layer *sett__cache_place(const sett__cache *c, int i, const char **path, const char **why)
{
    *path = c->place[i].path;
    *why = c->place[i].why;
    return c->place[i].layer;
}

const sett__os *sett__cache_os(const sett__cache *c)
{
    return c->os;
}

sett__disk *sett__cache_folder(const sett__cache *c)
{
    const place *last = c->n ? &c->place[c->n - 1] : NULL;
    return last && last->folder ? (sett__disk *)last->layer : NULL;
}

/* ---- finding --------------------------------------------------------------------------------- */
static sett_status ask(sett__cache *c, int i, const sett__digest *key, const sett__blob *material, bool again,
    sett__cache_use *use, void *user, sett_error *why)
{
    sett__layer *l = c->place[i].layer;
    sett__entry entry;
    sett_status s = l->ops->get(l, key, material, &entry, why);
    if (s) {
        if (s == SETT_E_CANCELLED) { /* a remote that is left alone was not asked */
            sett__count(&l->skipped, 1);
            return s;
        }
        sett__count(&l->misses, !again);
        sett__count(&l->errors, s == SETT_E_IO); /* of a remote; else it is a miss like any other */
        if (s == SETT_E_PARSE || s == SETT_E_IO)
            sett__say(c->log, SETT_LOG_WARNING, "cache", "%s: %s", c->place[i].path, why->text);
        return s;
    }
    s = use(user, &entry, i, why);
    sett__count(s ? &l->misses : &l->hits, !s || !again); /* a counter never goes back: what is no use was no hit */
    if (s == SETT_E_PARSE || s == SETT_E_LIMIT) {
        bool moved = l->ops->refuse(l, key);
        sett__say(c->log, SETT_LOG_WARNING, "cache", "%s: an entry was refused%s: %s", c->place[i].path,
            moved ? " and moved to quarantine" : "", why->text);
    }
    return s;
}

sett_status sett__cache_find(sett__cache *c, const sett__digest *key, const sett__blob *material, sett__cache_use *use,
    void *user, sett_error *err)
{
    sett_error why = {0};
    int asked = 0, last = 0;
    for (int i = 0; i < c->n; i++) {
        if (!c->place[i].layer)
            continue;
        sett_status s = ask(c, i, key, material, false, use, user, &why);
        asked++, last = i;
        if (!s || s == SETT_E_MEMORY)
            return s ? sett__error(err, s, "%s", why.text) : SETT_OK;
    }
    if (!asked)
        return sett__error(err, SETT_E_NOT_CACHED, "no folder and no pack is in use as a cache");
    if (asked == 1)
        return sett__error(err, SETT_E_NOT_CACHED, "%.260s: %s", c->place[last].path, why.text);
    return sett__error(err, SETT_E_NOT_CACHED, "it is in none of %d cache layers", asked);
}

sett_status sett__cache_find_again(sett__cache *c, const sett__digest *key, const sett__blob *material,
    sett__cache_use *use, void *user, sett_error *err)
{
    sett_error why = {0};
    sett_status s = sett__cache_folder(c) ? ask(c, c->n - 1, key, material, true, use, user, &why) : SETT_E_NOT_CACHED;
    return !s ? s : sett__error(err, s == SETT_E_MEMORY ? s : SETT_E_NOT_CACHED, "%s", why.text);
}

sett_status sett__cache_fetch(sett__cache *c, const sett__digest *key, const sett__blob *material, sett__cache_use *use,
    void *user, sett_error *err)
{
    sett_error why = {0};
    sett_status s = remote_of(c) ? ask(c, c->n, key, material, false, use, user, &why) : SETT_E_NOT_CACHED;
    return !s ? s : sett__error(err, s == SETT_E_MEMORY ? s : SETT_E_NOT_CACHED, "%s", why.text);
}

bool sett__cache_sends(const sett__cache *c)
{
    return remote_of(c) && sett__remote_sends(remote_of(c));
}

/* No failure of a server is anyone's problem but its operator's. */
void sett__cache_send(sett__cache *c, const sett__digest *key, const sett__entry *entry)
{
    sett_error why = {0};
    sett_status s = sett__remote_send(remote_of(c), key, entry, &why);
    sett__layer *l = c->place[c->n].layer;
    sett__count(&l->skipped, s == SETT_E_CANCELLED);
    sett__count(&l->errors, s == SETT_E_IO);
    if (s && s != SETT_E_CANCELLED)
        sett__say(c->log, SETT_LOG_WARNING, "cache", "%s: an entry was not sent: %s", c->place[c->n].path, why.text);
}

sett_status sett__cache_probe(sett__cache *c, sett_error *err)
{
    return remote_of(c) ? sett__remote_probe(remote_of(c), err) : SETT_E_NOT_CACHED;
}

void sett__cache_refuse(sett__cache *c, const char *layer, const sett__digest *key, const char *why)
{
    for (int i = 0; i < c->n; i++) {
        sett__layer *l = c->place[i].layer;
        if (!l || strcmp(c->place[i].path, layer))
            continue;
        bool moved = l->ops->refuse(l, key);
        sett__say(c->log, SETT_LOG_WARNING, "cache", "%s: an entry was refused%s: %s", layer, moved ? " and moved to quarantine" : "", why);
    }
}

typedef struct walker {
    int layer;
    sett__cache_visit *fn;
    void *user;
} walker;

static sett_status step(void *user, const sett__layer_item *item)
{
    const walker *w = user;
    const sett__blob none = {NULL, 0};
    return w->fn(w->user, w->layer, item->key, item->entry ? item->entry->meta : none,
        item->entry ? item->entry->key_material : none, item->bytes, item->used, item->entry ? NULL : item->why);
}

sett_status sett__cache_walk(sett__cache *c, sett__cache_visit *fn, void *user)
{
    sett_status s = SETT_OK;
    for (int i = 0; i < c->n && !s; i++) {
        walker w = {i, fn, user};
        if (c->place[i].layer)
            s = c->place[i].layer->ops->walk(c->place[i].layer, step, &w);
    }
    return s;
}

/* ---- telling ------------------------------------------------------------------------------------ */
int sett__cache_layers(const sett__cache *c)
{
    return c->n + c->remote;
}

int sett__cache_local(const sett__cache *c)
{
    return c->n;
}

sett_status sett__cache_layer(const sett__cache *c, int i, sett_cache_layer_info *out)
{
    if (i < 0 || i >= sett__cache_layers(c))
        return SETT_E_ARGUMENT;
    const place *p = &c->place[i];
    sett_cache_layer_info info = {.size = out->size, .path = p->path, .why_not = p->why};
    if (p->layer) {
        const sett__layer *l = p->layer;
#define X(field, help) info.field = l->field;
        SETT__LAYER_COUNTERS(X)
#undef X
    }
    if (p->layer && p->folder) {
        info.writable = !sett__disk_read_only((const sett__disk *)p->layer);
        info.cap = ((const sett__disk *)p->layer)->cap;
    }
    info.remote = i == c->n;
    if (p->layer && info.remote) {
        info.writable = sett__cache_sends(c);
        info.off = sett__remote_off(remote_of(c));
    } else if (p->layer) {
        sett__pack_info(p->layer, &info);
    }
    memcpy(out, &info, out->size < sizeof info ? out->size : sizeof info);
    return SETT_OK;
}

void sett__cache_totals(const sett__cache *c, sett_stats *s)
{
    for (int i = 0; i < c->n; i++) {
        const sett__layer *l = c->place[i].layer;
        if (!l)
            continue;
        s->refusals += l->refusals;
        s->heals += l->heals;
        s->disk_writes += l->writes;
        s->evictions += l->evictions;
        s->duplicates += l->duplicates;
    }
    if (remote_of(c))
        s->refusals += c->place[c->n].layer->refusals;
}
