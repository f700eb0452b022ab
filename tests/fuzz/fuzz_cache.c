/* SPDX-License-Identifier: Apache-2.0 */
/* What the cache reads from files, for the fuzzers: see fuzz.h. No digest is looked at, which would be a wall to them and
 * most of the time of a run; no bytes are copied, as they already lie in a block of their own size, so that a sanitizer sees
 * one too many. */
#include "tests/rig/faces.h"
#include "jit/cache/inside.h"
#include "tests/fuzz/fuzz.h"
#include <stdlib.h>
#include <string.h>

void fuzz_cubin(const uint8_t *data, size_t len)
{
    sett__elf_check(data, len, NULL);
}

static bool same(const sett__blob *a, const sett__blob *b)
{
    return a->len == b->len && (!a->len || !memcmp(a->data, b->data, a->len));
}

static bool within(const sett__blob *b, const uint8_t *file, size_t len)
{
    const uint8_t *p = b->data;
    return !b->len || (p >= file && p <= file + len && b->len <= len - (size_t)(p - file));
}

static void written_again(const sett__digest *key, const sett__entry *e)
{
    void *file;
    size_t len;
    sett__entry again;
    if (sett__entry_encode(key, e, NULL, &file, &len, NULL))
        abort();
    if (sett__entry_parse(file, len, key, NULL, &again, NULL) || !same(&e->key_material, &again.key_material) ||
        !same(&e->meta, &again.meta) || !same(&e->cubin, &again.cubin) || !same(&e->ptx, &again.ptx) ||
        !same(&e->notes, &again.notes))
        abort();
    free(file);
}

void fuzz_cache_entry(const uint8_t *data, size_t len)
{
    sett__digest key;
    sett__entry e;
    if (sett__entry_parse(data, len, NULL, NULL, &e, NULL))
        return;
    if (!within(&e.key_material, data, len) || !within(&e.meta, data, len) || !within(&e.cubin, data, len) ||
        !within(&e.ptx, data, len) || !within(&e.notes, data, len))
        abort();
    memcpy(key.b, data + 32, sizeof key.b);
    written_again(&key, &e);
}

void fuzz_meta(const uint8_t *data, size_t len)
{
    void *bytes;
    sett__arena arena = {0}, other = {0};
    sett__meta m, again;
    size_t n;
    if (!sett__meta_read(&m, &arena, data, len, NULL)) {
        if (sett__meta_write(&m, &bytes, &n, NULL) || sett__meta_read(&again, &other, bytes, n, NULL))
            abort();
        free(bytes);
    }
    sett__arena_free(&arena);
    sett__arena_free(&other);
}

/* Of a pack whose header and index are accepted. */
static void fuzz_aliases(const uint8_t *data, size_t len, const sett__pack_head *h)
{
    const uint8_t *at = data + len - sett__pack_aliases_bytes(h->aliases);
    if (sett__pack_aliases_parse(at, h, NULL))
        return;
    for (uint64_t i = 0; i < h->aliases; i++, at += SETT__PACK_ALIAS)
        if (sett__get_le(at + 32, 8) >= h->count || (i && memcmp(at - SETT__PACK_ALIAS, at, 32) >= 0))
            abort();
}

/* Every row that an accepted index has lies inside, behind the one before, its key above it; likewise the aliases. */
void fuzz_pack(const uint8_t *data, size_t len)
{
    sett__pack_head h;
    sett__pack_row r, before;
    if (len < SETT__PACK_HEAD || sett__pack_head_parse(data, len, &h, NULL) ||
        sett__pack_index_parse(data + SETT__PACK_HEAD, &h, NULL))
        return;
    uint64_t end = SETT__PACK_HEAD + h.count * SETT__PACK_ROW;
    for (uint64_t i = 0; i < h.count; i++) {
        sett__pack_row_read(data + SETT__PACK_HEAD, i, &r);
        if (r.off < end || r.len > len - r.off || (i && memcmp(before.key.b, r.key.b, sizeof r.key.b) >= 0))
            abort();
        end = r.off + r.len;
        before = r;
    }
    if (end + sett__pack_aliases_bytes(h.aliases) > len)
        abort();
    fuzz_aliases(data, len, &h);
}
