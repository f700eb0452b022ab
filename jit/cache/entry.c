/* SPDX-License-Identifier: Apache-2.0 */
/* One cached kernel as one file. Little endian, sections at multiples of 64:
 *
 *      0  magic 89 4B 4A 43 0D 0A 1A 0A (text and line-end damage show at once)
 *      8  u16 major, u16 minor, u32 header_len
 *     16  u64 file_len
 *     24  u32 flags, u32 n_sections
 *     32  key[32], the SHA-256 of the KEY section
 *     64  n_sections x {u32 type, u32 flags, u64 off, u64 len}, ascending, then zeros
 *    512  sections, gaps zero: 1 KEY, 2 META, 3 CUBIN, 4 PTX, 5 NOTES
 * end-96  with flag 2: an authentication block, see auth.c
 * end-32  SHA-256 of everything before
 *
 * Flags name what a reader must understand: 1 compressed, 2 MAC, 4 signed. This version understands the second and
 * refuses the others. A section of unknown type is passed over if its flag 1 (optional) is set. */
#include "inside.h"
#include <stdlib.h>
#include <string.h>

enum {
    MAJOR = 1,
    MINOR = 0,
    FIXED = 64,   /* before the section table */
    ROW = 24,     /* of the section table */
    HEADER = 512, /* what we write */
    HEADER_MAX = 65536,
    ALIGN = 64,
    COPY_GAP = 16, /* at most, behind each blob of a copy in memory, where it starts at a multiple of this */
    DIGEST = 32,
    OPTIONAL = 1, /* of a section */
    FLAG_MAC = 2, /* of the file */
};
enum section { KEY = 1, META, CUBIN, PTX, NOTES, N_SECTIONS };
static const uint8_t magic[8] = {0x89, 0x4B, 0x4A, 0x43, 0x0D, 0x0A, 0x1A, 0x0A};

static size_t align_up(size_t n)
{
    return (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

static sett__blob *blob_of(sett__entry *e, uint32_t type)
{
    sett__blob *of[N_SECTIONS] = {NULL, &e->key_material, &e->meta, &e->cubin, &e->ptx, &e->notes};
    return type < N_SECTIONS ? of[type] : NULL;
}

void sett__entry_free(sett__entry *e)
{
    free(e->owned);
    *e = (sett__entry){0};
}

/* Copies every blob into one block, one behind another. */
sett_status sett__entry_copy(const sett__entry *from, sett__entry *to, sett_error *err)
{
    sett__entry copy = *from;
    size_t total = 1;
    for (uint32_t t = KEY; t < N_SECTIONS; t++)
        total += blob_of(&copy, t)->len + COPY_GAP; /* PTX and notes end in a NUL */
    uint8_t *block = calloc(1, total), *at = block;
    if (!block)
        return sett__error(err, SETT_E_MEMORY, "no memory for a kernel of %zu bytes", total);
    for (uint32_t t = KEY; t < N_SECTIONS; t++) {
        sett__blob *b = blob_of(&copy, t);
        if (!b->len)
            continue;
        memcpy(at, b->data, b->len);
        b->data = at;
        at += (b->len + COPY_GAP) / COPY_GAP * COPY_GAP;
    }
    copy.owned = block;
    *to = copy;
    return SETT_OK;
}

static void seal(uint8_t *p, size_t total, const sett__auth *auth)
{
    sett__digest sum;
    if (auth)
        sett__auth_sign(auth, p, total - DIGEST - SETT__AUTH_BYTES, p + total - DIGEST - SETT__AUTH_BYTES);
    sett__sha256(p, total - DIGEST, &sum);
    memcpy(p + total - DIGEST, sum.b, DIGEST);
}

sett_status sett__entry_encode(
    const sett__digest *key, const sett__entry *e, const sett__auth *auth, void **file, size_t *len, sett_error *err)
{
    sett__entry copy = *e;
    size_t total = HEADER;
    uint32_t n = 0;
    for (uint32_t t = KEY; t < N_SECTIONS; t++) {
        size_t size = blob_of(&copy, t)->len;
        if (size > SETT__ENTRY_MAX - HEADER - DIGEST - SETT__AUTH_BYTES - ALIGN - total)
            return sett__error(err, SETT_E_LIMIT, "a kernel past %d MiB is not cached", SETT__ENTRY_MAX >> 20);
        total += align_up(size);
    }
    total += DIGEST + (auth ? SETT__AUTH_BYTES : 0);
    uint8_t *p = calloc(1, total);
    if (!p)
        return sett__error(err, SETT_E_MEMORY, "no memory for an entry of %zu bytes", total);
    size_t at = HEADER;
    for (uint32_t t = KEY; t < N_SECTIONS; t++) {
        const sett__blob *b = blob_of(&copy, t);
        if (!b->len)
            continue;
        uint8_t *row = p + FIXED + ROW * n++;
        sett__put_le(row, t, 4);
        sett__put_le(row + 8, at, 8);
        sett__put_le(row + 16, b->len, 8);
        memcpy(p + at, b->data, b->len);
        at += align_up(b->len);
    }
    memcpy(p, magic, sizeof magic);
    sett__put_le(p + 8, MAJOR, 2);
    sett__put_le(p + 10, MINOR, 2);
    sett__put_le(p + 12, HEADER, 4);
    sett__put_le(p + 16, total, 8);
    sett__put_le(p + 24, auth ? FLAG_MAC : 0, 4);
    sett__put_le(p + 28, n, 4);
    memcpy(p + 32, key->b, sizeof key->b);
    seal(p, total, auth);
    *file = p;
    *len = total;
    return SETT_OK;
}

static sett_status check_header(const uint8_t *p, size_t len, const sett__digest *key, sett_error *err)
{
    if (len < HEADER + DIGEST || len > SETT__ENTRY_MAX)
        return sett__error(err, SETT_E_PARSE, "an entry of %zu bytes", len);
    if (memcmp(p, magic, sizeof magic))
        return sett__error(err, SETT_E_PARSE, "it does not start as an entry does");
    if (sett__get_le(p + 8, 2) != MAJOR)
        return sett__error(err, SETT_E_PARSE, "it is of format %d, not %d", (int)sett__get_le(p + 8, 2), MAJOR);
    if (sett__get_le(p + 16, 8) != len)
        return sett__error(
            err, SETT_E_PARSE, "it has %zu bytes and says %llu", len, (unsigned long long)sett__get_le(p + 16, 8));
    if (sett__get_le(p + 24, 4) & ~(uint64_t)FLAG_MAC)
        return sett__error(err, SETT_E_PARSE, "it is compressed or signed (flags %#x), which this version cannot read",
            (unsigned)sett__get_le(p + 24, 4));
    if (key && memcmp(p + 32, key->b, sizeof key->b))
        return sett__error(err, SETT_E_PARSE, "it belongs to another key");
    return SETT_OK;
}

/* One row of the section table: inside the file, after `*end`, gap zero, type known or optional, not twice. */
static sett_status check_row(
    const uint8_t *p, size_t body_end, const uint8_t *row, size_t *end, sett__entry *e, sett_error *err)
{
    uint64_t type = sett__get_le(row, 4), flags = sett__get_le(row + 4, 4), off = sett__get_le(row + 8, 8), len = sett__get_le(row + 16, 8),
             last;
    if (flags & ~(uint64_t)OPTIONAL)
        return sett__error(err, SETT_E_PARSE, "section %u has unknown flags", (unsigned)type);
    if (off % ALIGN || off < *end || !len || __builtin_add_overflow(off, len, &last) || last > body_end)
        return sett__error(err, SETT_E_PARSE, "section %u lies outside the file or over another", (unsigned)type);
    if (!sett__all_zero(p + *end, (size_t)off - *end))
        return sett__error(err, SETT_E_PARSE, "there are bytes between its sections");
    *end = (size_t)last;
    sett__blob *b = blob_of(e, (uint32_t)type);
    if (!b)
        return flags & OPTIONAL ? SETT_OK
                                : sett__error(err, SETT_E_PARSE, "section type %u is not known", (unsigned)type);
    if (b->data)
        return sett__error(err, SETT_E_PARSE, "section %u stands in it twice", (unsigned)type);
    *b = (sett__blob){p + off, (size_t)len};
    return SETT_OK;
}

/* The block that a file with FLAG_MAC has before its digest; *body_end then lies before it. */
static sett_status check_auth(const uint8_t *p, size_t *body_end, const sett__auth *auth, sett_error *err)
{
    if (!(sett__get_le(p + 24, 4) & FLAG_MAC))
        return auth ? sett__error(err, SETT_E_PARSE, "it is not authenticated") : SETT_OK;
    if (*body_end < HEADER + SETT__AUTH_BYTES)
        return sett__error(err, SETT_E_PARSE, "it is too short to be authenticated");
    *body_end -= SETT__AUTH_BYTES;
    const uint8_t *block = p + *body_end;
    if (sett__get_le(block, 8) != (1 | SETT__AUTH_BYTES << 16) || !sett__all_zero(block + 56, 8))
        return sett__error(err, SETT_E_PARSE, "its authentication is of a kind that this version does not know");
    return auth ? sett__auth_verify(auth, p, *body_end, block, err) : SETT_OK;
}

static sett_status check_sections(const uint8_t *p, size_t body_end, sett__entry *e, sett_error *err)
{
    size_t header = sett__get_le(p + 12, 4), n = sett__get_le(p + 28, 4), end = header;
    if (header < HEADER || header > HEADER_MAX || header % ALIGN || header > body_end)
        return sett__error(err, SETT_E_PARSE, "its header is of %zu bytes", header);
    if (n > (header - FIXED) / ROW || !sett__all_zero(p + FIXED + ROW * n, header - FIXED - ROW * n))
        return sett__error(err, SETT_E_PARSE, "its section table is damaged");
    for (size_t i = 0; i < n; i++) {
        sett_status s = check_row(p, body_end, p + FIXED + ROW * i, &end, e, err);
        if (s)
            return s;
    }
    if (!sett__all_zero(p + end, body_end - end))
        return sett__error(err, SETT_E_PARSE, "there are bytes after its sections");
    for (uint32_t t = KEY; t <= CUBIN; t++)
        if (!blob_of(e, t)->len)
            return sett__error(err, SETT_E_PARSE, "section %u is missing", (unsigned)t);
    return SETT_OK;
}

sett_status sett__entry_parse(
    const void *file, size_t len, const sett__digest *key, const sett__auth *auth, sett__entry *out, sett_error *err)
{
    size_t body_end = len - DIGEST; /* meaningful once the header was checked */
    sett__entry e = {0};
    sett_status s = check_header(file, len, key, err);
    if (!s)
        s = check_auth(file, &body_end, auth, err);
    if (!s)
        s = check_sections(file, body_end, &e, err);
    if (!s)
        *out = e;
    return s;
}

/* What is damaged is not parsed: the digest of all bytes comes first. */
sett_status sett__entry_decode(
    const void *file, size_t len, const sett__digest *key, const sett__auth *auth, sett__entry *out, sett_error *err)
{
    const uint8_t *p = file;
    sett__entry e;
    sett__digest sum;
    if (len > DIGEST && len <= SETT__ENTRY_MAX) {
        sett__sha256(p, len - DIGEST, &sum);
        if (memcmp(sum.b, p + len - DIGEST, DIGEST))
            return sett__error(err, SETT_E_PARSE, "its digest does not match its bytes");
    }
    sett_status s = sett__entry_parse(p, len, key, auth, &e, err);
    if (s)
        return s;
    sett__sha256(e.key_material.data, e.key_material.len, &sum);
    if (memcmp(sum.b, p + 32, sizeof sum.b))
        return sett__error(err, SETT_E_PARSE, "its key is not that of its key section");
    *out = e;
    return SETT_OK;
}
