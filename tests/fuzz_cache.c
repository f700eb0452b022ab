/* SPDX-License-Identifier: Apache-2.0 */
/* What the cache reads from files, for the fuzzers: see fuzz.h. Each in a block of its own size, so that a sanitizer sees
 * one byte too many. */
#include "../jit/cache/cache.h"
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

/* Every row that an accepted index has lies inside, behind the one before, and its entry is read as one. */
static void pack_rows(const uint8_t *file, size_t len, const sett__pack_head *h)
{
    uint64_t end = SETT__PACK_HEAD + h->count * SETT__PACK_ROW;
    for (uint64_t i = 0; i < h->count; i++) {
        sett__pack_row r;
        sett__entry e;
        sett__pack_row_read(file + SETT__PACK_HEAD, i, &r);
        if (r.off < end || r.len > len - r.off)
            abort();
        end = r.off + r.len;
        void *entry = copied(file + r.off, (size_t)r.len);
        sett__entry_verify(entry, (size_t)r.len, &r.key, NULL, NULL, &e, NULL);
        free(entry);
    }
}

/* Both digests made good first, as in fuzz_cache_entry. */
void fuzz_pack(const uint8_t *data, size_t len)
{
    sett__digest sum;
    sett__pack_head h;
    if (len < SETT__PACK_HEAD)
        return;
    uint8_t *file = copied(data, len);
    uint64_t most = (len - SETT__PACK_HEAD) / SETT__PACK_ROW, n = file[24] | (uint64_t)file[25] << 8;
    sett__sha256(file + SETT__PACK_HEAD, (size_t)((n < most ? n : most) * SETT__PACK_ROW), &sum);
    memcpy(file + 32, sum.b, sizeof sum.b);
    sett__sha256(file, 224, &sum);
    memcpy(file + 224, sum.b, sizeof sum.b);
    if (!sett__pack_head_read(file, len, &h, NULL) && !sett__pack_index_check(file + SETT__PACK_HEAD, &h, NULL))
        pack_rows(file, len, &h);
    free(file);
}
