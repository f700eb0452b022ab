/* SPDX-License-Identifier: Apache-2.0 */
/* What the cache reads from files, for the fuzzers: see fuzz.h. Each in a block of its own size, so that a sanitizer sees
 * one byte too many. */
#include "../jit/jit.h"
#include "fuzz.h"
#include <stdlib.h>
#include <string.h>

enum { DIGEST = 32 };

static void *copied(const void *data, size_t len)
{
    void *p = malloc(len ? len : 1);
    if (!p)
        abort();
    return memcpy(p, data, len);
}

void fuzz_cubin(const uint8_t *data, size_t len)
{
    void *p = copied(data, len);
    sett__elf_check(p, len, NULL);
    free(p);
}

static bool same(const sett__blob *a, const sett__blob *b)
{
    return a->len == b->len && (!a->len || !memcmp(a->data, b->data, a->len));
}

static void written_again(const sett__digest *key, const sett__entry *e)
{
    void *file;
    size_t len;
    sett__entry again;
    if (sett__entry_encode(key, e, NULL, &file, &len, NULL))
        abort();
    if (sett__entry_decode(file, len, key, NULL, &again, NULL) || !same(&e->key_material, &again.key_material) ||
        !same(&e->meta, &again.meta) || !same(&e->cubin, &again.cubin) || !same(&e->ptx, &again.ptx) ||
        !same(&e->notes, &again.notes))
        abort();
    free(file);
}

/* The digest made good first: else no other rule is ever reached. */
void fuzz_cache_entry(const uint8_t *data, size_t len)
{
    uint8_t *file = copied(data, len);
    sett__digest sum, key;
    sett__entry e;
    if (len >= 64 + DIGEST) {
        sett__sha256(file, len - DIGEST, &sum);
        memcpy(file + len - DIGEST, sum.b, DIGEST);
        memcpy(key.b, file + 32, sizeof key.b);
    }
    if (!sett__entry_decode(file, len, NULL, NULL, &e, NULL))
        written_again(&key, &e);
    free(file);
}

void fuzz_meta(const uint8_t *data, size_t len)
{
    void *p = copied(data, len), *bytes;
    sett__arena arena = {0}, other = {0};
    sett__meta m, again;
    size_t n;
    if (!sett__meta_read(&m, &arena, p, len, NULL)) {
        if (sett__meta_write(&m, &bytes, &n, NULL) || sett__meta_read(&again, &other, bytes, n, NULL))
            abort();
        free(bytes);
    }
    sett__arena_free(&arena);
    sett__arena_free(&other);
    free(p);
}
