/* SPDX-License-Identifier: Apache-2.0 */
/* The places that an engine reads entries from, in order: layers that are only read, then the folder that is also
 * written. Memory, above them, is kernel/map.c. A place that cannot be used is left out and says why; with none at all the
 * engine goes on in memory. */
#include "inside.h"
#include "plug/remote.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct place {
    _Atomic(sett__layer *) layer; /* NULL: not usable; the folder of an engine that is unsealed may become so */
    char *path, *why;             /* why: NULL unless it was not usable when the cache was opened */
    bool folder;                  /* the last one: written */
    bool named;                   /* by an option or the environment, not by default */
} place;

struct sett__cache {
    int n;       /* of this machine */
    bool remote; /* one more place behind them */
    place *place;
    sett__auth auth;
    sett_error no_secret; /* why no folder is used, under SETT_TRUST_MAC */
    sett_cache_trust trust;
    uint64_t cap;
    char *nowhere; /* why there is no folder; NULL: it is not known */
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

/* A hint: what it is, and whose, is looked at when it is open. 0: there is no such thing. */
static mode_t kind_of(const sett__cache *c, const char *path)
{
    struct stat st;
    bool there = !c->os->fstatat(AT_FDCWD, path, &st, 0);
    return there ? st.st_mode & S_IFMT : errno == ENOENT ? 0 : S_IFDIR;
}

/* .cache_required is no leave to make a mistyped path, or one on a volume that is not mounted: a folder that was named is made, the
 * folders that lead to it are not. */
static sett_status check_parent(const sett__cache *c, const place *p, sett_error *why)
{
    char parent[4096];
    size_t n = strnlen(p->path, sizeof parent - 1);
    for (; n && p->path[n - 1] == '/'; n--)
        ;
    for (; n && p->path[n - 1] != '/'; n--)
        ;
    for (; n > 1 && p->path[n - 1] == '/'; n--)
        ;
    memcpy(parent, p->path, n);
    parent[n] = 0;
    if (!n || kind_of(c, parent))
        return SETT_OK;
    return sett__error(why, SETT_E_IO, "its parent %s does not exist: the path is mistyped, or its volume is not mounted", parent);
}

static sett_status open_folder(const sett__cache *c, const place *p, bool sealed, sett__layer **layer, sett_error *why)
{
    const sett__disk_options d = {.path = p->path,
        .trust = c->trust,
        .auth = c->trust == SETT_TRUST_MAC ? &c->auth : NULL,
        .cap = c->cap,
        .layer_only = !p->folder,
        .sealed = sealed,
        .os = c->os,
        .log = c->log};
    sett__disk *disk = NULL;
    if (c->trust == SETT_TRUST_SIGNED)
        return sett__error(why, SETT_E_IO, "it is a folder, and only signed packs are used");
    *why = c->no_secret;
    sett_status s = why->status ? why->status : sett__disk_open(&disk, &d, why);
    *layer = (sett__layer *)disk;
    return s;
}

static sett__remote_layer *remote_of(const sett__cache *c)
{
    return c->remote ? (sett__remote_layer *)c->place[c->n].layer : NULL;
}

void sett__cache_seal(sett__cache *c, bool sealed)
{
    place *p = c->n && c->place[c->n - 1].folder ? &c->place[c->n - 1] : NULL;
    sett__layer *l = p ? p->layer : NULL, *none = NULL;
    sett_error why = {0};
    if (l)
        sett__disk_seal((sett__disk *)l, sealed);
    else if (p && !sealed && !open_folder(c, p, false, &l, &why) && !atomic_compare_exchange_strong(&p->layer, &none, l))
        l->ops->close(l); /* another thread was first */
}

/* What cannot be read is not shown: it may hold a password. */
static sett_status open_remote(sett__cache *c, place *p, const sett__cache_options *o, sett__layer **layer, sett_error *why)
{
    sett_status s = sett__remote_open(layer, &p->path, o, c->os, why);
    if (!p->path)
        p->path = strdup("remote");
    return p->path ? s : SETT_E_MEMORY;
}

/* "what: PATH: reason" stands beside the path. */
static void cut_path(char *text, const char *path)
{
    const size_t len = path ? strlen(path) : 0;
    char *at = len ? strstr(text, path) : NULL;
    if (at && (at == text || (at - text > 1 && !memcmp(at - 2, ": ", 2))) && !strncmp(at + len, ": ", 2))
        memmove(at, at + len + 2, strlen(at + len + 2) + 1);
}

static sett_status open_place(sett__cache *c, place *p, const sett__cache_options *o, sett_error *err)
{
    const sett__pack_options pack = {p->path, o->trust, (const uint8_t (*)[32])c->signer, c->n_signers, o->os, c->log};
    sett__layer *layer = NULL;
    sett_error why = {0};
    sett_status s;
    const mode_t kind = p->path ? kind_of(c, p->path) : 0;
    if (c->remote && p == &c->place[c->n])
        s = open_remote(c, p, o, &layer, &why);
    else if (p->folder && o->folder_why)
        s = sett__error(&why, SETT_E_IO, "%s", o->folder_why);
    else if (!p->folder && *p->path == '/' && !kind)
        s = sett__error(&why, SETT_E_IO, "there is no such file or folder");
    else if (!p->folder && kind != S_IFDIR)
        s = sett__pack_open(&layer, &pack, &why);
    else {
        s = p->folder && p->named && o->required && !o->sealed ? check_parent(c, p, &why) : SETT_OK;
        s = s ? s : open_folder(c, p, o->sealed, &layer, &why);
    }
    p->layer = layer;
    if (!s)
        return SETT_OK;
    if (s == SETT_E_ARGUMENT && o->remote_asked)
        return sett__error(err, s, "%s", why.text);
    if (!p->path)
        return sett__error(err, SETT_E_MEMORY, "no memory for a cache");
    cut_path(why.text, p->path);
    sett__say(c->log, SETT_LOG_WARNING, "cache", "%s is not used: %s", p->path, why.text);
    p->why = strdup(why.text);
    return s != SETT_E_MEMORY && p->why ? SETT_OK : sett__error(err, SETT_E_MEMORY, "no memory for a cache");
}

static sett_status add_place(sett__cache *c, const char *path, size_t len, bool folder, bool named)
{
    place *more = realloc(c->place, (size_t)(c->n + 2) * sizeof *more); /* one for a remote */
    if (!more)
        return SETT_E_MEMORY;
    c->place = more;
    more[c->n] = (place){.path = strndup(path, len), .folder = folder, .named = named};
    return more[c->n++].path ? SETT_OK : SETT_E_MEMORY;
}

static sett_status list_places(sett__cache *c, const sett__cache_options *o)
{
    sett_status s = SETT_OK;
    for (const char *at = o->layers; at && *at && !s;) {
        size_t n = strcspn(at, ":");
        if (n)
            s = add_place(c, at, n, false, true);
        at += n + (at[n] == ':');
    }
    if (!s && o->folder && *o->folder)
        s = add_place(c, o->folder, strlen(o->folder), true, o->folder_named);
    else if (!s && o->folder_why)
        s = (c->nowhere = strdup(o->folder_why)) ? SETT_OK : SETT_E_MEMORY;
    if (s || !o->remote || !*o->remote)
        return s;
    if (!c->place && !(c->place = malloc(sizeof *c->place)))
        return SETT_E_MEMORY;
    c->place[c->n] = (place){.named = true};
    c->remote = true;
    return SETT_OK;
}

/* ---- why not --------------------------------------------------------------------------------- */
/* What is wrong with each layer, for an error's text, which is short: those that are not used come first, and each has a part of it. */
enum { REASONS = 8, REASON_LEN = 240, REASON_LEAST = 100, REASONS_LEN = 330 };
#define UNUSED " is not used: "
typedef struct reason {
    const char *path;
    bool unused;
    char why[REASON_LEN];
} reason;
typedef struct reasons {
    int n; /* may be more than REASONS, which are kept */
    reason of[REASONS];
} reasons;

static void add_reason(reasons *r, const place *p, bool unused, const char *why)
{
    if (r->n < REASONS) {
        r->of[r->n].path = p->path;
        r->of[r->n].unused = unused;
        snprintf(r->of[r->n].why, REASON_LEN, "%.*s", REASON_LEN - 1, why);
    }
    r->n++;
}

/* One reason in so many bytes and the NUL: of a path the end says more, of a reason the beginning. */
static size_t write_reason(char *to, size_t room, const reason *r)
{
    const char *path = r->path, *between = r->unused ? UNUSED : ": ", *more = "";
    size_t len = strlen(path), why = strlen(r->why), rest = strlen(between);
    size_t most = room - 1 > rest + why ? room - 1 - rest - why : 0;
    most = most < room / 3 ? room / 3 : most; /* of the path, where both are long */
    if (len > most)
        path += len - most + 3, more = "...";
    int n = snprintf(to, room, "%s%s%s%s", more, path, between, r->why);
    if ((size_t)n < room)
        return (size_t)n;
    memcpy(to + room - 4, "...", 4);
    return room - 1;
}

static size_t length(const reason *r)
{
    return strlen(r->path) + strlen(r->unused ? UNUSED : ": ") + strlen(r->why) + strlen("; ");
}

/* Of this room each that needs more than an equal share: what others leave of theirs goes to it. */
static size_t share_of(const reason *const *of, int n, size_t room)
{
    size_t share = n ? room / (size_t)n : 0;
    for (int turn = 0; turn < n; turn++) {
        size_t used = 0, more = 0;
        for (int i = 0; i < n; i++)
            length(of[i]) <= share ? (used += length(of[i])) : more++;
        share = more ? (room - used) / more : room;
    }
    return share;
}

/* So many of them are told that each is told what is wrong. */
static void write_reasons(char to[REASONS_LEN], const reasons *r)
{
    const reason *of[REASONS];
    int n = 0, kept = r->n < REASONS ? r->n : REASONS;
    size_t at = 0, share;
    for (int unused = 1; unused >= 0; unused--)
        for (int i = 0; i < kept; i++)
            if (r->of[i].unused == unused)
                of[n++] = &r->of[i];
    while ((share = share_of(of, n, REASONS_LEN - (r->n > n ? sizeof "; and 99999 others" : 1))) < REASON_LEAST && n > 1)
        n--;
    to[0] = 0;
    for (int i = 0; i < n; i++) {
        at += (size_t)snprintf(to + at, REASONS_LEN - at, "%s", at ? "; " : "");
        at += write_reason(to + at, share - strlen("; ") + 1, of[i]);
    }
    if (r->n > n)
        snprintf(to + at, REASONS_LEN - at, "; and %d other%s", r->n - n, r->n - n > 1 ? "s" : "");
}

static void unused_layers(const sett__cache *c, bool named, reasons *r)
{
    for (int i = 0; i < sett__cache_layers(c); i++)
        if (!c->place[i].layer && (!named || c->place[i].named))
            add_reason(r, &c->place[i], true, c->place[i].why ? c->place[i].why : "");
}

const char *sett__cache_nowhere(const sett__cache *c)
{
    return c->nowhere ? c->nowhere : "no folder and no pack is named";
}

/* What was named must be of use, and something must be. */
static sett_status check_required(const sett__cache *c, sett_error *err)
{
    reasons r = {.n = 0};
    char text[REASONS_LEN];
    bool any = false;
    for (int i = 0; i < sett__cache_layers(c); i++)
        any |= c->place[i].layer != NULL;
    unused_layers(c, any, &r);
    if (!r.n)
        return any ? SETT_OK : sett__error(err, SETT_E_IO, "cache_required: there is no cache: %s", sett__cache_nowhere(c));
    write_reasons(text, &r);
    return sett__error(err, SETT_E_IO, "cache_required: %s", text);
}

sett_status sett__cache_open(sett__cache **out, const sett__cache_options *o, sett_error *err)
{
    sett__cache *c = calloc(1, sizeof *c);
    *out = NULL;
    if (!c)
        return sett__error(err, SETT_E_MEMORY, "no memory for a cache");
    c->log = o->log;
    c->trust = o->trust;
    c->cap = o->cap;
    c->os = o->os ? o->os : &sett__os_libc;
    sett_status s = list_places(c, o);
    if (!s)
        s = sett__signers_read(o->signers, &c->signer, &c->n_signers, NULL);
    if (s)
        sett__error(err, s, "no memory for a cache");
    if (o->trust == SETT_TRUST_MAC)
        c->no_secret.status = sett__auth_read(c->os, o->secret, &c->auth, &c->no_secret);
    for (int i = 0; i < sett__cache_layers(c) && !s; i++)
        s = open_place(c, &c->place[i], o, err);
    if (!s && o->required)
        s = check_required(c, err);
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
    free(c->nowhere);
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
    char text[REASONS_LEN];
    reasons r;
    r.n = 0;
    for (int i = 0; i < c->n; i++) {
        if (!c->place[i].layer)
            continue;
        sett_status s = ask(c, i, key, material, false, use, user, &why);
        if (!s || s == SETT_E_MEMORY)
            return s ? sett__error(err, s, "%s", why.text) : SETT_OK;
        add_reason(&r, &c->place[i], false, why.text);
    }
    unused_layers(c, false, &r);
    if (!r.n)
        return sett__error(err, SETT_E_NOT_CACHED, "there is no cache: %s", sett__cache_nowhere(c));
    write_reasons(text, &r);
    return sett__error(err, SETT_E_NOT_CACHED, "%s", text);
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
    if (!remote_of(c))
        return SETT_E_NOT_CACHED;
    sett_status s = ask(c, c->n, key, material, false, use, user, &why);
    return !s ? s : sett__error(err, s == SETT_E_MEMORY ? s : SETT_E_NOT_CACHED, "%.100s: %s", c->place[c->n].path, why.text);
}

bool sett__cache_ask(sett__cache *c, const sett__digest *alias, sett__digest *key)
{
    for (int i = 0; i < c->n; i++) {
        sett__layer *l = c->place[i].layer;
        if (l && l->ops->ask(l, alias, key))
            return true;
    }
    return false;
}

void sett__cache_alias(sett__cache *c, const sett__alias *a)
{
    sett__disk *d = sett__cache_folder(c);
    if (d)
        sett__disk_alias(d, &a->alias, &a->key);
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
    const sett__layer *l = p->layer;
    sett_cache_layer_info info = {.size = out->size, .path = p->path, .why_not = l ? NULL : p->why};
    if (l) {
#define X(field, help) info.field = l->field;
        SETT__LAYER_COUNTERS(X)
#undef X
    }
    if (l && p->folder) {
        const sett__disk *d = (const sett__disk *)l;
        info.writable = !sett__disk_read_only(d) && !d->sealed;
        info.cap = d->cap;
    }
    info.remote = i == c->n;
    if (l && info.remote) {
        info.writable = sett__cache_sends(c);
        info.off = sett__remote_off(remote_of(c));
    } else if (l) {
        sett__pack_info(l, &info);
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
