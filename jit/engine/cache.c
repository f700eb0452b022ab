/* SPDX-License-Identifier: Apache-2.0 */
/* The cache on disk as people look at it: layers, entries, why two keys differ, trimming. */
#include "jit/compile/compile.h"
#include "jit/launch/launch.h"
#include <errno.h>
#include <string.h>

int sett_cache_layers(const sett_engine *e)
{
    return sett__engine_check(e, NULL, NULL) ? 0 : sett__cache_layers(e->cache);
}

sett_status sett_cache_layer(const sett_engine *e, int index, sett_cache_layer_info *info)
{
    sett_status s = sett__engine_check(e, NULL, NULL);
    return s ? s : !info || !sett__known_size(info->size) ? SETT_E_ARGUMENT : sett__cache_layer(e->cache, index, info);
}

sett_status sett_cache_trim(sett_engine *e, uint64_t bytes, uint64_t *left, sett_error *err)
{
    uint64_t stays;
    sett_status s = sett__engine_check(e, __func__, err);
    if (!s && atomic_load(&e->sealed))
        s = sett__error(err, SETT_E_IO, "sett_cache_trim: " SETT__SEALED);
    sett__disk *d = s ? NULL : sett__cache_folder(e->cache);
    if (!s)
        s = d ? sett__disk_trim(d, bytes, &stays, err)
              : sett__error(err, SETT_E_IO, "sett_cache_trim: the engine has no cache folder to write to");
    if (!s && left)
        *left = stays;
    return s;
}

/* ---- packs ------------------------------------------------------------------------------ */
sett_status sett_pack_write(
    sett_engine *e, const char *path, const sett_pack_options *options, uint64_t *entries, sett_error *err)
{
    sett_pack_options o;
    uint64_t n = 0;
    sett_error why = {0};
    int saved = errno;
    sett_status s = path && *path ? sett__engine_check(e, NULL, &why) : sett__error(&why, SETT_E_ARGUMENT, "the path is empty");
    if (!s)
        s = sett__options(&o, sizeof o, options, "sett_pack_options", &why);
    if (!s)
        s = sett__pack_write(e->cache, path, &o, &n, &why);
    if (s)
        sett__error(err, s, "sett_pack_write: %s", why.text);
    if (entries)
        *entries = n;
    errno = saved;
    return s;
}

sett_status sett_pack_unpack(sett_engine *e, uint64_t *entries, sett_error *err)
{
    uint64_t n = 0;
    sett_error why = {0};
    int saved = errno;
    sett_status s = sett__engine_check(e, NULL, &why);
    if (!s && atomic_load(&e->sealed))
        s = sett__error(&why, SETT_E_IO, SETT__SEALED);
    if (!s)
        s = sett__unpack(e->cache, &n, &why);
    if (s)
        sett__error(err, s, "sett_pack_unpack: %s", why.text);
    if (entries)
        *entries = n;
    errno = saved;
    return s;
}

sett_status sett_pack_public_key(const char *secret_key, uint8_t public_key[32], sett_error *err)
{
    int saved = errno;
    sett_status s = public_key ? sett__public_key(secret_key, public_key, err)
                               : sett__error(err, SETT_E_ARGUMENT, "sett_pack_public_key: the place for the key is NULL");
    errno = saved;
    return s;
}

/* ---- entries ---------------------------------------------------------------------------- */
typedef struct walk {
    sett_cache_entry_fn fn;
    void *user;
    bool enough;
} walk;

static sett_status visit(void *user, int layer, const sett__digest *key, sett__blob meta, sett__blob material,
    uint64_t bytes, int64_t used, const char *why)
{
    walk *w = user;
    sett__arena arena = {0};
    sett__meta m = {0};
    sett_error err = {0};
    (void)material;
    sett_cache_entry e = {.size = sizeof e, .layer = layer, .bytes = bytes, .used = used, .damage = why};
    memcpy(e.key, key->b, sizeof e.key);
    sett_status s = why ? SETT_OK : sett__meta_read(&m, &arena, meta.data, meta.len, &err);
    if (s && s != SETT_E_MEMORY)
        e.damage = err.text;
    else if (!why)
        e.name = m.name, e.target = m.target, e.compiler = m.compiler, e.assembler = m.assembler;
    if (s != SETT_E_MEMORY)
        w->enough = !w->fn(w->user, &e);
    sett__arena_free(&arena);
    return s == SETT_E_MEMORY ? s : w->enough ? SETT_E_CLOSED : SETT_OK;
}

sett_status sett_cache_walk(sett_engine *e, sett_cache_entry_fn fn, void *user, sett_error *err)
{
    walk w = {fn, user, false};
    if (!e || !fn)
        return sett__error(err, SETT_E_ARGUMENT, "sett_cache_walk: the engine or the function is NULL");
    sett_status s = sett__engine_check(e, __func__, err);
    if (s)
        return s;
    s = sett__cache_walk(e->cache, visit, &w);
    return !s || w.enough
               ? SETT_OK
               : sett__error(err, s,
                     s == SETT_E_MEMORY ? "no memory to look at the cache" : "a folder of the cache cannot be read");
}

/* ---- two keys ------------------------------------------------------------------------------ */
static sett_status keep_material(void *user, sett__entry *entry, int layer, sett_error *err)
{
    (void)layer, (void)err;
    *(sett__entry *)user = *entry;
    return SETT_OK;
}

/* What a kernel was compiled from: in memory, where it was compiled here, or on disk. A CPU kernel has neither. */
static sett_status find_material(sett_engine *e, const char *which, const uint8_t bytes[32], sett__entry *to, sett_error *err)
{
    sett__digest key;
    sett_error why = {0};
    char hex[65];
    memcpy(key.b, bytes, sizeof key.b);
    sett_kernel *k = sett__kernels_peek(e->kernels, &key);
    sett_status s = k && k->rest->made ? sett__entry_copy(k->rest->made, to, err) : SETT_E_NOT_CACHED;
    sett_kernel_release(k);
    if (s != SETT_E_NOT_CACHED)
        return s;
    s = sett__cache_find(e->cache, &key, NULL, keep_material, to, &why);
    sett__hex_write(key.b, hex);
    return !s ? s
              : sett__error(err, s, "sett_cache_explain: the %s key, %s, is of no kernel that was compiled here for a GPU or cached "
                                    "(a CPU kernel never is): %s", which, hex, why.text);
}

int sett_cache_explain(
    sett_engine *e, const uint8_t a[32], const uint8_t b[32], char *buf, size_t size, sett_error *err)
{
    const uint8_t *const keys[2] = {a, b};
    sett__entry found[2] = {{.owned = NULL}, {.owned = NULL}};
    int n = -1;
    sett_status s =
        a && b ? sett__engine_check(e, __func__, err) : sett__error(err, SETT_E_ARGUMENT, "sett_cache_explain: a key is NULL");
    for (int i = 0; i < 2 && !s; i++)
        s = find_material(e, i ? "second" : "first", keys[i], &found[i], err);
    if (size && buf)
        buf[0] = 0;
    if (!s)
        n = sett__key_compare(found[0].key_material, found[1].key_material, buf, buf ? size : 0);
    sett__entry_free(&found[0]);
    sett__entry_free(&found[1]);
    return n;
}
