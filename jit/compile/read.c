/* SPDX-License-Identifier: Apache-2.0 */
/* From a key to a kernel without a compiler: what the cache holds, read once for all who want it, and kernels by key. */
#include "compile.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- reading ----------------------------------------------------------------------------------- */
typedef struct lookup {
    sett_engine *e;
    const sett__digest *key;
    const sett__reading *how;
    sett_kernel **out;
    sett_origin origin;
} lookup;

/* What it refuses is a miss, not damage; the kernel is then released. */
static sett_status check_toolchain(sett_engine *e, sett_kernel **k, sett_error *err)
{
    const sett__meta *m = sett__meta_of(*k);
    if (e->opt.toolchain == SETT_TOOLCHAIN_ANY || sett__workers_would_use(e->workers, m->compiler, m->assembler))
        return SETT_OK;
    sett__error(err, SETT_E_NOT_CACHED, "%s was made by %s and %s, which this machine would not use", m->name, m->compiler,
        m->assembler);
    sett_kernel_release(*k);
    *k = NULL;
    return SETT_E_NOT_CACHED;
}

/* A verified entry that this version cannot use after all (a META of another version) is damaged for us: it goes,
 * or it would stand in the way of the one that replaces it. */
static sett_status use_entry(void *user, sett__entry *entry, int layer, sett_error *err)
{
    const lookup *l = user;
    sett_cache_layer_info info = {.size = sizeof info};
    if (sett__kernels_refused(l->e->kernels, l->key)) {
        sett__entry_free(entry);
        return sett__error(err, SETT_E_NOT_CACHED, "the driver did not load its code before");
    }
    sett__disk *folder = l->origin == SETT_FROM_REMOTE ? sett__cache_folder(l->e->cache) : NULL;
    sett__entry copy = {0};
    if (folder && !sett__disk_read_only(folder) && !atomic_load_explicit(&l->e->sealed, memory_order_relaxed))
        sett__entry_copy(entry, &copy, NULL); /* without memory for it, it is fetched again another time */
    sett__cache_layer(l->e->cache, layer, &info);
    sett_status s = sett__kernel_of_entry(l->e->runtime, l->key, entry, l->origin, info.path ? info.path : "", l->out, err);
    if (!s)
        s = check_toolchain(l->e, l->out, err);
    if (s) {
        sett__entry_free(&copy);
        return s;
    }
    (*l->out)->rest->record_ms = (float)l->how->record_ms;
    if (copy.owned)
        sett__workers_keep(l->e->workers, l->key, &copy, l->how->ticket);
    sett__count(l->origin == SETT_FROM_DISK ? &l->e->runtime->count.disk_hits : &l->e->runtime->count.remote_hits, 1);
    return SETT_OK;
}

static sett_status read_one(
    sett_engine *e, const sett__digest *key, sett_origin from, const sett__reading *how, sett_kernel **out, sett_error *err)
{
    lookup l = {e, key, how, out, from};
    return (from == SETT_FROM_DISK ? sett__cache_find : sett__cache_fetch)(e->cache, key, how->material, use_entry, &l, err);
}

sett_status sett__read_again(
    sett_engine *e, const sett__digest *key, const sett__reading *how, sett_kernel **out, sett_error *err)
{
    lookup l = {e, key, how, out, SETT_FROM_DISK};
    return sett__cache_find_again(e->cache, key, how->material, use_entry, &l, err);
}

/* Flights of a key that are no compiles. */
static sett_status find_flight(sett_engine *e, const char *what, const sett__digest *key, sett__found *found, sett_error *err)
{
    struct {
        char what[8];
        sett__digest key;
    } flight = {"", *key};
    sett__digest name;
    snprintf(flight.what, sizeof flight.what, "%s", what);
    sett__sha256(&flight, sizeof flight, &name);
    return sett__kernels_find(e->kernels, &name, false, found, err);
}

sett_status sett__join_flight(
    sett_engine *e, const char *name, sett__flight *flight, sett_kernel **out, sett_error *err)
{
    double start = sett__now_ms();
    sett__range_begin("join", name);
    sett_status s = sett__kernels_wait(e->kernels, flight, out, err);
    sett__range_end();
    sett__count_ms(&e->runtime->count.joined, &e->runtime->count.join_ns, sett__now_ms() - start);
    return s;
}

/* One read of this machine's layers for all who want an entry at once, whether they compile or ask by key: it waits for nothing
 * else, so that none of them waits for a compile here. What is found is in memory when the flight is over. What is not found by
 * another may have come since that one began to look, and what else its read failed of need not be in the way of ours. Who has
 * the turn to compile asks the remote by itself: it gives the turn back when the folder has what came. */
sett_status sett__read(
    sett_engine *e, const sett__digest *key, sett_origin from, const sett__reading *how, sett_kernel **out, sett_error *err)
{
    sett__found found;
    sett_error why = {0};
    if (from == SETT_FROM_REMOTE) /* of those who ask by key one does */
        return read_one(e, key, from, how, out, err);
    sett_status s = find_flight(e, "disk", key, &found, err);
    if (s)
        return s;
    if (!found.lead)
        return sett__join_flight(e, "a read", found.flight, out, err) ? read_one(e, key, from, how, out, err) : SETT_OK;
    *out = sett__kernels_peek(e->kernels, key); /* it may have landed since we looked */
    sett__count(&sett__stripe_of(e)->memory_hits, *out != NULL);
    s = *out ? SETT_OK : read_one(e, key, from, how, out, &why);
    if (s && err)
        *err = why;
    sett__kernels_land(e->kernels, found.flight, out, s, &why);
    return s;
}

void sett__miss_too(sett_error *why, const sett_error *more)
{
    size_t at = strlen(why->text);
    if (more->text[0] && at + 3 < sizeof why->text)
        snprintf(why->text + at, sizeof why->text - at, "%s%.*s", at ? "; " : "", (int)(sizeof why->text - 3 - at), more->text);
}

/* ---- by key ---------------------------------------------------------------------------------- */
/* err: why. */
static sett_status missed_key(sett_engine *e, const sett__digest *key, sett_error *err)
{
    char hex[65];
    const sett_error why = *err;
    bool sealed = atomic_load_explicit(&e->sealed, memory_order_relaxed);
    sett__hex_write(key->b, hex);
    sett__count(&e->runtime->count.misses, 1);
    sett__count(&e->runtime->count.sealed_misses, sealed);
    if (sealed)
        sett__log(e, SETT_LOG_WARNING, "cache", "a kernel of key %s is missed, and the engine is sealed: %s", hex, why.text);
    return sett__error(err, SETT_E_NOT_CACHED, "no kernel of key %s: %s", hex, why.text);
}

static sett_status read_key(sett_engine *e, const sett__digest *key, sett_kernel **out, sett_error *err)
{
    const sett__reading how = {0};
    sett_error why = {0};
    sett_status s = sett__read(e, key, SETT_FROM_DISK, &how, out, err);
    if (s == SETT_E_NOT_CACHED && (s = sett__read(e, key, SETT_FROM_REMOTE, &how, out, &why)) == SETT_E_MEMORY)
        sett__error(err, s, "%s", why.text);
    if (s == SETT_E_NOT_CACHED)
        sett__miss_too(err, &why);
    return s == SETT_E_NOT_CACHED ? missed_key(e, key, err) : s;
}

/* One looks for all who miss a key. Its flight is no compile's: who compiles that key must not end as this may, and this waits
 * for none. What another landed meanwhile, by either way, is in memory at the end. */
static __attribute__((noinline)) sett_status get_missed(
    sett_engine *e, const sett__digest *key, sett_kernel **out, sett_error *err)
{
    sett__found found;
    sett_error why = {0};
    sett_status s = find_flight(e, "get", key, &found, err);
    if (s)
        return s;
    if (!found.lead) {
        s = sett__join_flight(e, "a key", found.flight, out, &why);
    } else {
        s = read_key(e, key, out, &why);
        sett__kernels_land(e->kernels, found.flight, out, s, &why);
    }
    sett_kernel *held = sett__kernels_peek(e->kernels, key);
    if (held) {
        sett_kernel_release(*out);
        *out = held;
        return SETT_OK;
    }
    if (s && err)
        *err = why;
    return s;
}

sett_status sett_kernel_get(sett_engine *e, const uint8_t key[32], sett_kernel **out, sett_error *err)
{
    sett__digest digest;
    if (!e || !key || !out)
        return sett__error(
            err, SETT_E_ARGUMENT, "sett_kernel_get: the engine, the key or the place for the kernel is NULL");
    memcpy(digest.b, key, sizeof digest.b);
    *out = NULL;
    sett_status s = sett__engine_check(e, __func__, err);
    if (s)
        return s;
    if ((*out = sett__kernels_peek(e->kernels, &digest))) {
        sett__count(&sett__stripe_of(e)->memory_hits, 1);
        return SETT_OK;
    }
    int saved = errno;
    s = get_missed(e, &digest, out, err);
    errno = saved;
    return s;
}
