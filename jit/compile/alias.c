/* SPDX-License-Identifier: Apache-2.0 */
/* The memo that outlives a process. To record a large body takes a millisecond, and a server has a hundred of them to find. Who says
 * .pure says that the body depends on its user bytes alone; then the same code, of which the build is known, records the same
 * for the same bytes, options and target in every process, and has the same key. The alias is the SHA-256 of
 *
 *     "sett-alias\0v1", the build and the place of the body (support/identity.c), u8 {optimisation, line info, assertions, no_fold},
 *     {u32 length, bytes} of the target and of the user bytes
 *
 * so that any other build of any part of it, or any other option, is another alias, and an alias that is found is right. */
#include "inside.h"
#include <stdlib.h>
#include <string.h>

typedef struct sett__request request;

static const char domain[] = "sett-alias\0v1"; /* without the closing NUL */
enum { DOMAIN = sizeof domain - 1, OPTIONS = 4, HEAD = DOMAIN + 32 + 8 + OPTIONS, MOST_USER = 1 << 20 };

static void append(uint8_t **at, const void *bytes, size_t n)
{
    memcpy(*at, bytes, n);
    *at += n;
}

static void append_sized(uint8_t **at, const void *bytes, size_t n)
{
    sett__put_le(*at, n, 4);
    *at += 4;
    append(at, bytes, n);
}

bool sett__alias_of(const request *r, sett_body body, sett__digest *alias)
{
    sett_engine *e = r->e;
    union {
        sett_body body;
        const void *address;
    } code = {body};
    sett__digest build;
    uint64_t offset;
    const size_t target = strlen(r->target), user = r->opt.user_size;
    if (!r->opt.pure || r->cpu || r->opt.ptx_only || !user || user > MOST_USER)
        return false;
    pthread_mutex_lock(&e->identity_lock);
    const bool known = sett__identity_of(&e->identity, code.address, &build, &offset);
    pthread_mutex_unlock(&e->identity_lock);
    uint8_t *text = known ? malloc(HEAD + 4 + target + 4 + user) : NULL, *at = text;
    if (!text)
        return false;
    const uint8_t options[OPTIONS] = {(uint8_t)r->opt_level, r->opt.line_info, (uint8_t)r->opt.asserts, r->opt.no_fold};
    append(&at, domain, DOMAIN);
    append(&at, build.b, sizeof build.b);
    sett__put_le(at, offset, 8);
    at += 8;
    append(&at, options, sizeof options);
    append_sized(&at, r->target, target);
    append_sized(&at, r->opt.user, user);
    sett__sha256(text, (size_t)(at - text), alias);
    free(text);
    return true;
}

bool sett__alias_of_body(sett_engine *e, sett_body body, const sett_compile_options *options, sett__digest *alias)
{
    request r;
    return !sett__request_open(&r, e, "sett_compile", options, NULL) && sett__alias_of(&r, body, alias);
}

/* Who wants to see what is recorded, records. */
static bool may_skip_recording(const sett_engine *e)
{
    const bool verifies = e->opt.cache_verify && !atomic_load_explicit(&e->sealed, memory_order_relaxed);
    return !verifies && !e->recordings && !(e->dump & SETT__DUMP_TAPE);
}

bool sett__by_alias(const request *r, const sett__digest *alias, sett_kernel **out)
{
    sett_engine *e = r->e;
    const sett__reading how = {0};
    sett__digest key;
    if (!may_skip_recording(e) || !sett__cache_ask(e->cache, alias, &key))
        return false;
    sett_kernel *k = sett__kernels_peek(e->kernels, &key);
    if (k)
        sett__count(&sett__stripe_of(e)->memory_hits, 1);
    else if (sett__read(e, &key, SETT_FROM_DISK, &how, &k, NULL))
        return false; /* recorded, it is looked for once more, and its errors are told */
    if (strcmp(sett__meta_of(k)->target, r->target)) {
        sett__log(e, SETT_LOG_WARNING, "cache", "%s: an alias for %s names a kernel for %s, and is ignored", r->name, r->target, sett__meta_of(k)->target);
        sett_kernel_release(k);
        return false;
    }
    sett__count(&e->runtime->count.alias_hits, 1);
    sett__dump_write(e, SETT__DUMP_CUBIN, r->name, &key, sett__kernel_cubin(k), k->rest->cubin_len);
    *out = k;
    return true;
}
