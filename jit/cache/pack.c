/* SPDX-License-Identifier: Apache-2.0 */
/* Many entries as one file that is only read: for images and for handing a warmed cache on. Equal entries give equal
 * bytes: sorted by key, no time, no path, no name of a machine. Little endian:
 *
 *      0  magic 89 53 50 4B 0D 0A 1A 0A
 *      8  u16 major, u16 minor, u32 flags: 1 signed, 2 aliases
 *     16  u64 file length, u64 number of entries
 *     32  SHA-256 of the index
 *     64  public key of who signed; zeros where nobody did
 *     96  Ed25519 signature over "sett-pack\0v1", bytes 0 to 95 and, with flag 2, 160 to 199
 *    160  with flag 2: u64 number of aliases, SHA-256 of these; zeros
 *    224  SHA-256 of bytes 0 to 223
 *    256  the index: {key[32], u64 offset, u64 length, digest[32]} an entry, keys ascending; zeros to a multiple of 64
 *    ...  entries as in entry.c, each at the next multiple of 64, zeros between and at the end
 *    ...  with flag 2: {alias[32], u64 number of an entry} each (alias.c), ascending; zeros to a multiple of 64
 *
 * The digest of an entry is the one that its bytes end in, so one hash of them is checked against both. Header and
 * index are read into memory and verified when the pack is opened, an entry when it is asked for; nothing is mapped, as
 * a mapped file changes under its reader. Aliases that are damaged are ignored, and the entries serve. What is replaced by rename while it is open goes on being the old one. */
#include "inside.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAJOR = 1,
    MINOR = 0,
    SIGNED = 1, ALIASED = 2, /* flags */
    HEAD_SUM = 224,
    ALIASES = 160,
    ALIASES_LEN = 40,
    DIGEST = 32,
    DOMAIN = 12,
};
static const uint8_t magic[8] = {0x89, 0x53, 0x50, 0x4B, 0x0D, 0x0A, 0x1A, 0x0A};
static const char domain[] = "sett-pack\0v1"; /* without the closing NUL */
static_assert(sizeof domain == DOMAIN + 1, "the domain of signatures");

typedef struct pack {
    sett__layer layer;
    const sett__os *os;
    int fd;
    sett__pack_head head;
    uint8_t *index, *aliases; /* aliases: NULL: none that are used */
    char path[4096];
} pack;

/* ---- the bytes ----------------------------------------------------------------------------------- */
enum { MOST_COVERED = DOMAIN + SETT__PACK_COVERED + ALIASES_LEN };

static size_t covered(const uint8_t *p, uint8_t out[MOST_COVERED])
{
    const size_t more = sett__get_le(p + 12, 4) & ALIASED ? ALIASES_LEN : 0;
    memcpy(out, domain, DOMAIN);
    memcpy(out + DOMAIN, p, SETT__PACK_COVERED);
    memcpy(out + DOMAIN + SETT__PACK_COVERED, p + ALIASES, more);
    return DOMAIN + SETT__PACK_COVERED + more;
}

sett_status sett__pack_head_write(
    uint8_t p[SETT__PACK_HEAD], sett__pack_head *h, const sett__signer *sign, sett_error *err)
{
    uint8_t text[MOST_COVERED];
    sett__digest sum;
    sett_status s = SETT_OK;
    const int flags = (sign ? SIGNED : 0) | (h->aliases ? ALIASED : 0);
    memset(p, 0, SETT__PACK_HEAD);
    memcpy(p, magic, sizeof magic);
    sett__put_le(p + 8, MAJOR, 2), sett__put_le(p + 10, MINOR, 2), sett__put_le(p + 12, (uint64_t)flags, 4);
    sett__put_le(p + 16, h->file_len, 8), sett__put_le(p + 24, h->count, 8);
    memcpy(p + 32, h->index_sum, DIGEST);
    if (h->aliases)
        sett__put_le(p + ALIASES, h->aliases, 8), memcpy(p + ALIASES + 8, h->aliases_sum, DIGEST);
    if (sign) {
        memcpy(p + 64, sign->public_key, 32);
        s = sett__signature_make(sign, text, covered(p, text), p + SETT__PACK_COVERED, err);
    }
    sett__sha256(p, HEAD_SUM, &sum);
    memcpy(p + HEAD_SUM, sum.b, DIGEST);
    return s;
}

sett_status sett__pack_head_parse(
    const uint8_t p[SETT__PACK_HEAD], uint64_t file_len, sett__pack_head *h, sett_error *err)
{
    const uint64_t flags = sett__get_le(p + 12, 4);
    const size_t known = flags & ALIASED ? ALIASES + ALIASES_LEN : ALIASES;
    *h = (sett__pack_head){.file_len = sett__get_le(p + 16, 8), .count = sett__get_le(p + 24, 8), .is_signed = flags & SIGNED,
        .aliases = flags & ALIASED ? sett__get_le(p + ALIASES, 8) : 0};
    memcpy(h->index_sum, p + 32, DIGEST);
    memcpy(h->aliases_sum, p + ALIASES + 8, DIGEST);
    memcpy(h->signer, p + 64, sizeof h->signer);
    memcpy(h->signature, p + 96, sizeof h->signature);
    if (sett__get_le(p + 8, 2) != MAJOR)
        return sett__error(err, SETT_E_PARSE, "it is a pack of format %d, not %d", (int)sett__get_le(p + 8, 2), MAJOR);
    if (flags > (SIGNED | ALIASED) || (flags & ALIASED && !h->aliases) || !sett__all_zero(p + known, HEAD_SUM - known) || (!h->is_signed && !sett__all_zero(p + 64, 96)))
        return sett__error(err, SETT_E_PARSE, "its header has fields that this version does not know");
    if (h->file_len != file_len)
        return sett__error(err, SETT_E_PARSE, "it has %llu bytes and says %llu", (unsigned long long)file_len,
            (unsigned long long)h->file_len);
    if (h->count > SETT__PACK_MAX || sett__pack_align(SETT__PACK_HEAD + h->count * SETT__PACK_ROW) > file_len)
        return sett__error(
            err, SETT_E_PARSE, "its index of %llu entries does not fit into it", (unsigned long long)h->count);
    if (h->aliases > SETT__PACK_MAX || sett__pack_aliases_bytes(h->aliases) > file_len)
        return sett__error(err, SETT_E_PARSE, "its %llu aliases do not fit into it", (unsigned long long)h->aliases);
    return SETT_OK;
}

sett_status sett__pack_head_read(
    const uint8_t p[SETT__PACK_HEAD], uint64_t file_len, sett__pack_head *h, sett_error *err)
{
    sett__digest sum;
    sett__sha256(p, HEAD_SUM, &sum);
    if (memcmp(p, magic, sizeof magic))
        return sett__error(err, SETT_E_PARSE, "it does not start as a pack does");
    if (memcmp(sum.b, p + HEAD_SUM, DIGEST))
        return sett__error(err, SETT_E_PARSE, "its header's digest does not match its bytes");
    return sett__pack_head_parse(p, file_len, h, err);
}

void sett__pack_row_read(const uint8_t *index, uint64_t i, sett__pack_row *r)
{
    const uint8_t *p = index + i * SETT__PACK_ROW;
    memcpy(r->key.b, p, 32);
    r->off = sett__get_le(p + 32, 8), r->len = sett__get_le(p + 40, 8);
    memcpy(r->sum.b, p + 48, DIGEST);
}

sett_status sett__pack_index_parse(const uint8_t *index, const sett__pack_head *h, sett_error *err)
{
    uint64_t at = sett__pack_align(SETT__PACK_HEAD + h->count * SETT__PACK_ROW);
    const uint64_t end = h->file_len - sett__pack_aliases_bytes(h->aliases);
    for (uint64_t i = 0; i < h->count; i++) {
        sett__pack_row r;
        sett__pack_row_read(index, i, &r);
        if (r.off != at || r.len <= DIGEST || r.len > SETT__ENTRY_MAX || sett__pack_align(at + r.len) > end)
            return sett__error(
                err, SETT_E_PARSE, "entry %llu of its index lies outside it or over another", (unsigned long long)i);
        if (i && memcmp(index + (i - 1) * SETT__PACK_ROW, r.key.b, 32) >= 0)
            return sett__error(
                err, SETT_E_PARSE, "the keys of its index do not ascend at entry %llu", (unsigned long long)i);
        at = sett__pack_align(at + r.len);
    }
    return at == end ? SETT_OK : sett__error(err, SETT_E_PARSE, "there are bytes after its entries");
}

sett_status sett__pack_aliases_parse(const uint8_t *aliases, const sett__pack_head *h, sett_error *err)
{
    const size_t bytes = (size_t)h->aliases * SETT__PACK_ALIAS;
    for (uint64_t i = 0; i < h->aliases; i++) {
        const uint8_t *row = aliases + i * SETT__PACK_ALIAS;
        if (sett__get_le(row + 32, 8) >= h->count || (i && memcmp(row - SETT__PACK_ALIAS, row, 32) >= 0))
            return sett__error(err, SETT_E_PARSE, "alias %llu names no entry or does not ascend", (unsigned long long)i);
    }
    return sett__all_zero(aliases + bytes, (size_t)sett__pack_aliases_bytes(h->aliases) - bytes)
               ? SETT_OK
               : sett__error(err, SETT_E_PARSE, "there are bytes behind its aliases");
}

sett_status sett__pack_aliases_check(const uint8_t *aliases, const sett__pack_head *h, sett_error *err)
{
    sett__digest sum;
    sett__sha256(aliases, (size_t)h->aliases * SETT__PACK_ALIAS, &sum);
    if (memcmp(sum.b, h->aliases_sum, DIGEST))
        return sett__error(err, SETT_E_PARSE, "the digest of its aliases does not match their bytes");
    return sett__pack_aliases_parse(aliases, h, err);
}

sett_status sett__pack_index_check(const uint8_t *index, const sett__pack_head *h, sett_error *err)
{
    sett__digest sum;
    sett__sha256(index, h->count * SETT__PACK_ROW, &sum);
    if (memcmp(sum.b, h->index_sum, DIGEST))
        return sett__error(err, SETT_E_PARSE, "its index's digest does not match its bytes");
    return sett__pack_index_parse(index, h, err);
}

/* ---- opening -------------------------------------------------------------------------------------- */
static sett_status check_signer(const pack *p, const sett__pack_options *o, const uint8_t *head, sett_error *err)
{
    uint8_t text[MOST_COVERED];
    char name[65];
    if (o->trust != SETT_TRUST_MAC && o->trust != SETT_TRUST_SIGNED)
        return SETT_OK;
    if (!p->head.is_signed)
        return sett__error(err, SETT_E_PARSE, "it is not signed, and only signed packs are used");
    bool known = false;
    for (int i = 0; i < o->n_signers; i++)
        known |= !memcmp(o->signers[i], p->head.signer, 32);
    sett__hex_write(p->head.signer, name);
    if (!known)
        return sett__error(err, SETT_E_PARSE, "it is signed by %s, which is none of .cache_signers", name);
    return sett__signature_check(p->head.signer, text, covered(head, text), p->head.signature, err);
}

/* The zeros behind the index are read with it. */
static sett_status read_index(pack *p, sett_error *err)
{
    size_t bytes = (size_t)p->head.count * SETT__PACK_ROW,
           all = (size_t)sett__pack_align(SETT__PACK_HEAD + bytes) - SETT__PACK_HEAD;
    p->index = malloc(all + 1);
    if (!p->index)
        return sett__error(err, SETT_E_MEMORY, "no memory for an index of %zu bytes", all);
    if (!sett__read_at(p->os, p->fd, p->index, all, SETT__PACK_HEAD))
        return sett__error(err, SETT_E_IO, "read: %s", strerror(errno));
    if (!sett__all_zero(p->index + bytes, all - bytes))
        return sett__error(err, SETT_E_PARSE, "there are bytes behind its index");
    return sett__pack_index_check(p->index, &p->head, err);
}

/* Nobody needs them: without them bodies are recorded. */
static void read_aliases(pack *p, const sett__pack_options *o)
{
    const size_t bytes = (size_t)sett__pack_aliases_bytes(p->head.aliases);
    sett_error why = {0};
    if (!bytes || !(p->aliases = malloc(bytes)))
        return;
    sett_status s = sett__read_at(p->os, p->fd, p->aliases, bytes, p->head.file_len - bytes)
                        ? sett__pack_aliases_check(p->aliases, &p->head, &why)
                        : sett__error(&why, SETT_E_IO, "read: %s", strerror(errno));
    if (!s)
        return;
    sett__say(o->log, SETT_LOG_WARNING, "cache", "%s: its aliases are ignored: %s", p->path, why.text);
    free(p->aliases);
    p->aliases = NULL;
}

static sett_status read_pack(pack *p, const sett__pack_options *o, sett_error *err)
{
    struct stat st;
    uint8_t head[SETT__PACK_HEAD];
    if (p->os->fstat(p->fd, &st))
        return sett__error(err, SETT_E_IO, "fstat: %s", strerror(errno));
    if (!S_ISREG(st.st_mode))
        return sett__error(err, SETT_E_PARSE, "it is no plain file");
    if (o->trust == SETT_TRUST_PRIVATE && (!sett__disk_owner(&st) || (st.st_mode & (S_IWGRP | S_IWOTH))))
        return sett__error(err, SETT_E_IO, "it is not trusted: it %s",
            sett__disk_owner(&st) ? "may be written by others" : "belongs to another user");
    if (st.st_size < SETT__PACK_HEAD)
        return sett__error(err, SETT_E_PARSE, "a pack of %lld bytes", (long long)st.st_size);
    if (!sett__read_all(p->os, p->fd, head, sizeof head))
        return sett__error(err, SETT_E_IO, "read: %s", strerror(errno));
    sett_status s = sett__pack_head_read(head, (uint64_t)st.st_size, &p->head, err);
    if (!s)
        s = check_signer(p, o, head, err);
    if (!s)
        s = read_index(p, err);
    if (!s)
        read_aliases(p, o);
    return s;
}

static void pack_close(sett__layer *l)
{
    pack *p = (pack *)l;
    if (p->fd >= 0)
        p->os->close(p->fd);
    free(p->aliases);
    free(p->index);
    free(p);
}

static const sett__layer_ops pack_ops;

sett_status sett__pack_open(sett__layer **out, const sett__pack_options *o, sett_error *err)
{
    pack *p = calloc(1, sizeof *p);
    sett_error why = {0};
    *out = NULL;
    if (!p)
        return sett__error(err, SETT_E_MEMORY, "no memory for a pack");
    p->layer.ops = &pack_ops;
    p->os = o->os ? o->os : &sett__os_libc;
    snprintf(p->path, sizeof p->path, "%s", o->path);
    sett_status s = sett__path_open_file(p->os, o->path, o->trust == SETT_TRUST_PRIVATE, &p->fd, err);
    if (!s && (s = read_pack(p, o, &why)))
        sett__error(err, s, "the pack cannot be used: %s", why.text);
    if (s)
        pack_close(&p->layer);
    else
        *out = &p->layer;
    return s == SETT_E_PARSE ? SETT_E_IO : s;
}

/* ---- the layer ------------------------------------------------------------------------------------- */
static bool find(const pack *p, const sett__digest *key, sett__pack_row *r)
{
    uint64_t from = 0, to = p->head.count;
    while (from < to) {
        uint64_t mid = from + (to - from) / 2;
        int c = memcmp(p->index + mid * SETT__PACK_ROW, key->b, sizeof key->b);
        if (!c) {
            sett__pack_row_read(p->index, mid, r);
            return true;
        }
        *(c < 0 ? &from : &to) = c < 0 ? mid + 1 : mid;
    }
    return false;
}

/* With the zeros that follow it, so that no bit of the file goes unread. */
static sett_status load(
    const pack *p, const sett__pack_row *r, const sett__blob *material, sett__entry *e, sett_error *err)
{
    size_t len = (size_t)r->len, gap = (size_t)(sett__pack_align(r->off + r->len) - r->off) - len;
    uint8_t *data = malloc(len + gap);
    if (!data)
        return sett__error(err, SETT_E_MEMORY, "no memory for an entry of %zu bytes", len);
    sett_status s = sett__read_at(p->os, p->fd, data, len + gap, r->off)
                        ? SETT_OK
                        : sett__error(err, SETT_E_IO, "read: %s", strerror(errno));
    if (!s && (memcmp(data + len - DIGEST, r->sum.b, DIGEST) || !sett__all_zero(data + len, gap)))
        s = sett__error(err, SETT_E_PARSE, "it is not the entry that the index names");
    if (!s)
        s = sett__entry_verify(data, len, &r->key, material, NULL, e, err);
    if (s)
        free(data);
    else
        e->owned = data;
    return s;
}

static sett_status pack_get(
    sett__layer *l, const sett__digest *key, const sett__blob *material, sett__entry *out, sett_error *err)
{
    pack *p = (pack *)l;
    sett__pack_row r;
    sett_error why = {0};
    char name[65];
    int saved = errno;
    *out = (sett__entry){0};
    sett_status s = find(p, key, &r) ? load(p, &r, material, out, &why) : SETT_E_NOT_CACHED;
    sett__count(&l->read_bytes, s ? 0 : r.len);
    sett__count(&l->refusals, s == SETT_E_PARSE);
    if (s) {
        *out = (sett__entry){0};
        sett__hex_write(key->b, name);
        s = s == SETT_E_IO ? SETT_E_NOT_CACHED : s;
        if (s == SETT_E_PARSE)
            sett__error(err, s, "its entry was refused: %s (%s)", why.text, name);
        else
            sett__error(err, s, "%s", why.text[0] ? why.text : "it is not in the pack");
    }
    errno = saved;
    return s;
}

static bool pack_refuse(sett__layer *l, const sett__digest *key)
{
    (void)key;
    sett__count(&l->refusals, 1);
    return false;
}

static sett_status pack_walk(sett__layer *l, sett__layer_visit *fn, void *user)
{
    const pack *p = (const pack *)l;
    sett_status s = SETT_OK;
    int saved = errno;
    for (uint64_t i = 0; i < p->head.count && !s; i++) {
        sett__pack_row r;
        sett__entry e = {0};
        sett_error why = {0};
        sett__pack_row_read(p->index, i, &r);
        sett_status got = load(p, &r, NULL, &e, &why);
        const sett__layer_item item = {&r.key, r.len, 0, got ? NULL : &e, why.text};
        s = got == SETT_E_MEMORY ? got : fn(user, &item);
        sett__entry_free(&e);
    }
    errno = saved;
    return s;
}

static uint64_t pack_aliases_n(const pack *p)
{
    return p->aliases ? p->head.aliases : 0;
}

static void alias_read(const pack *p, uint64_t i, sett__alias *a)
{
    const uint8_t *row = p->aliases + i * SETT__PACK_ALIAS;
    sett__pack_row r;
    sett__pack_row_read(p->index, sett__get_le(row + 32, 8), &r);
    memcpy(a->alias.b, row, 32);
    a->key = r.key;
}

static bool pack_ask(sett__layer *l, const sett__digest *alias, sett__digest *key)
{
    const pack *p = (const pack *)l;
    uint64_t from = 0, to = pack_aliases_n(p);
    while (from < to) {
        const uint64_t mid = from + (to - from) / 2;
        sett__alias a;
        const int c = memcmp(p->aliases + mid * SETT__PACK_ALIAS, alias->b, sizeof alias->b);
        if (!c) {
            alias_read(p, mid, &a);
            *key = a.key;
            return true;
        }
        *(c < 0 ? &from : &to) = c < 0 ? mid + 1 : mid;
    }
    return false;
}

static sett_status pack_aliases(sett__layer *l, sett__alias_fn *fn, void *user)
{
    const pack *p = (const pack *)l;
    sett_status s = SETT_OK;
    for (uint64_t i = 0; i < pack_aliases_n(p) && !s; i++) {
        sett__alias a;
        alias_read(p, i, &a);
        s = fn(user, &a);
    }
    return s;
}

static const sett__layer_ops pack_ops = {pack_get, pack_refuse, pack_walk, pack_close, pack_ask, pack_aliases};

void sett__pack_info(const sett__layer *l, sett_cache_layer_info *info)
{
    const pack *p = (const pack *)l;
    if (l->ops != &pack_ops)
        return;
    info->pack = true;
    info->entries = p->head.count;
    info->aliases = pack_aliases_n(p);
    info->is_signed = p->head.is_signed;
    memcpy(info->signer, p->head.signer, sizeof info->signer);
}
