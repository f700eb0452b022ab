/* SPDX-License-Identifier: Apache-2.0 */
/* The last layer: a server that many machines share. What speaks to it is libsett-remote.so; here is what an entry from it
 * must be, and what is sent. It is asked when a kernel is missed and before it is compiled, never while it is launched.
 *
 * Whoever may write to the server, or stands on the way there, could put code into every process that reads from it, and
 * nobody's file modes say who that is. So an entry must carry the authentication code of a secret (auth.c), whatever the
 * folders' trust, unless the user says that the server and the way there are trusted. */
#include "inside.h"
#include "plug/remote.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct sett__remote_layer {
    sett__layer layer;
    const sett__remote_plugin *api;
    sett__remote *server;
    sett__remote_facts facts;
    sett__auth auth;
    bool signs; /* auth is set */
};

/* ---- asking --------------------------------------------------------------------------------- */
static void refuse(sett__remote_layer *r, const char *name, size_t len)
{
    r->api->refuse(r->server, name, len);
    sett__count(&r->layer.refusals, 1);
}

static bool remote_refuse(sett__layer *l, const sett__digest *key)
{
    char name[65];
    sett__hex_write(key->b, name);
    refuse((sett__remote_layer *)l, name, 0); /* it was sound, and is of another version's */
    return false;
}

/* SETT_E_CANCELLED: it was not asked. SETT_E_IO: it could not be, or did not answer as it should. */
static sett_status remote_get(
    sett__layer *l, const sett__digest *key, const sett__blob *material, sett__entry *out, sett_error *err)
{
    sett__remote_layer *r = (sett__remote_layer *)l;
    char name[65];
    void *file;
    size_t len;
    int saved = errno;
    sett__hex_write(key->b, name);
    *out = (sett__entry){0};
    sett_status s = r->api->get(r->server, name, &file, &len, err);
    if (!s)
        s = sett__entry_verify(file, len, key, material, r->facts.trusted ? NULL : &r->auth, out, err);
    if (s == SETT_E_PARSE || s == SETT_E_LIMIT) {
        sett_error why = *err;
        refuse(r, name, len);
        s = sett__error(err, SETT_E_PARSE, "%.16s was refused: %s", name, why.text);
    }
    if (s)
        free(file), *out = (sett__entry){0};
    else
        out->owned = file, sett__count(&l->read_bytes, len);
    errno = saved;
    return s;
}

sett_status sett__remote_send(sett__remote_layer *r, const sett__digest *key, const sett__entry *entry, sett_error *err)
{
    char name[65];
    void *file;
    size_t len;
    bool sent = false;
    sett__entry e = *entry;
    e.ptx = e.notes = (sett__blob){NULL, 0}; /* equal kernels are equal bytes, and name no source file of ours */
    sett__hex_write(key->b, name);
    sett_status s = sett__entry_encode(key, &e, r->signs ? &r->auth : NULL, &file, &len, err);
    if (s)
        return s;
    s = r->api->put(r->server, name, file, len, &sent, err);
    sett__count(&r->layer.writes, sent);
    sett__count(&r->layer.written_bytes, sent ? len : 0);
    free(file);
    return s;
}

sett_status sett__remote_probe(sett__remote_layer *r, sett_error *err)
{
    return r->api->probe(r->server, err);
}

bool sett__remote_off(const sett__remote_layer *r)
{
    return r->api->off(r->server);
}

bool sett__remote_sends(const sett__remote_layer *r)
{
    return !r->facts.read_only;
}

/* ---- the layer ---------------------------------------------------------------------------------- */
static sett_status remote_walk(sett__layer *l, sett__layer_visit *fn, void *user) /* a server is not listed */
{
    return (void)l, (void)fn, (void)user, SETT_OK;
}

static void remote_close(sett__layer *l)
{
    sett__remote_layer *r = (sett__remote_layer *)l;
    if (r->server)
        r->api->close(r->server);
    free(r);
}

static const sett__layer_ops ops = {.get = remote_get, .refuse = remote_refuse, .walk = remote_walk, .close = remote_close};

static void sum(const void *data, size_t len, uint8_t out[32])
{
    sett__digest d;
    sett__sha256(data, len, &d);
    memcpy(out, d.b, sizeof d.b);
}

static sett_status open_server(sett__remote_layer *r, const char *text, sett_error *err)
{
    static const sett__shared remote = {
        "remote cache", "libsett-remote.so", "SETT_REMOTE_PLUGIN", SETT__REMOTE_SYMBOL};
    const sett__remote_host host = {sum};
    char path[SETT__SHARED_PATH];
    union {
        void *address;
        sett__remote_plugin_fn fn;
    } entry = {sett__shared_symbol(&remote, NULL, path, SETT_E_IO, err)};
    if (!entry.address)
        return SETT_E_IO;
    r->api = entry.fn();
    if (r->api->abi != SETT__REMOTE_ABI || r->api->size < sizeof *r->api)
        return sett__error(err, SETT_E_IO, "%s: its interface is not that of this libsett.so", path);
    return r->api->open(&r->server, text, &host, &r->facts, err);
}

/* What an entry must carry, by the folders' trust. */
static sett_status settle_trust(sett__remote_layer *r, const sett__cache_options *o, const sett__os *os, sett_error *err)
{
    const char *secret = r->facts.secret ? r->facts.secret : o->secret;
    if (o->trust == SETT_TRUST_SIGNED)
        return sett__error(err, SETT_E_IO, "only signed packs are used");
    if (r->facts.trusted && o->trust == SETT_TRUST_MAC)
        return sett__error(err, SETT_E_IO, "|trusted is no choice under SETT_TRUST_MAC");
    r->signs = secret != NULL;
    if (r->signs)
        return sett__auth_read(os, secret, &r->auth, err);
    return r->facts.trusted ? SETT_OK
                            : sett__error(err, SETT_E_IO,
                                  "its entries must be authenticated: give a secret (.cache_secret, |secret=FILE), or |trusted");
}

sett_status sett__remote_open(sett__layer **out, char **shown, const sett__cache_options *o, const sett__os *os, sett_error *err)
{
    sett__remote_layer *r = calloc(1, sizeof *r);
    *out = NULL;
    if (!r)
        return sett__error(err, SETT_E_MEMORY, "no memory for a remote");
    r->layer.ops = &ops;
    sett_status s = open_server(r, o->remote, err);
    if (!s && !(*shown = strdup(r->facts.shown)))
        s = SETT_E_MEMORY;
    if (!s)
        s = settle_trust(r, o, os, err);
    if (s)
        remote_close(&r->layer);
    else
        *out = &r->layer;
    return s;
}
