/* SPDX-License-Identifier: Apache-2.0 */
/* Where an entry lies. Plainly: under its name. As bazel-remote and other servers of the Remote Execution API keep things
 * over HTTP: its bytes as a blob, cas/SHA256, and under ac/NAME an ActionResult that names the blob as its only output
 * file. Such servers check both, and drop an ActionResult whose blob is gone. Of that message (protobuf) no more is known
 * here than this:
 *
 *     ActionResult { 2: OutputFile }    OutputFile { 1: path, 2: Digest }    Digest { 1: hash, 2: size_bytes } */
#include "remote.h"
#include <stdio.h>
#include <string.h>

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5, RESULT_MOST = 65536, NAME = 72 };
static const char path[] = "entry.sett";

/* ---- the message ---------------------------------------------------------------------- */
typedef struct span {
    const uint8_t *at, *end;
} span;
typedef struct field {
    uint64_t number, kind, value; /* value: of a number; of bytes their length */
    span bytes;
} field;

static bool varint(span *s, uint64_t *out)
{
    *out = 0;
    for (int shift = 0; shift < 64 && s->at < s->end; shift += 7) {
        uint8_t b = *s->at++;
        *out |= (uint64_t)(b & 0x7F) << shift;
        if (!(b & 0x80))
            return true;
    }
    return false;
}

static bool next(span *s, field *f)
{
    uint64_t tag;
    if (!varint(s, &tag))
        return false;
    f->number = tag >> 3;
    f->kind = tag & 7;
    f->value = f->kind == FIXED64 ? 8 : 4;
    if ((f->kind == VARINT || f->kind == BYTES) && !varint(s, &f->value))
        return false;
    if (f->kind == VARINT)
        return true;
    if ((f->kind != BYTES && f->kind != FIXED64 && f->kind != FIXED32) || f->value > (uint64_t)(s->end - s->at))
        return false;
    f->bytes = (span){s->at, s->at + f->value};
    s->at += f->value;
    return true;
}

/* The first field of this number and kind. */
static bool find(span s, uint64_t number, uint64_t kind, field *f)
{
    while (next(&s, f))
        if (f->number == number && f->kind == kind)
            return true;
    return false;
}

bool sett__action_read(const void *data, size_t len, char sum[65], uint64_t *size)
{
    const span all = {data, (const uint8_t *)data + len};
    field file, digest, hash, bytes;
    if (!find(all, 2, BYTES, &file) || !find(file.bytes, 2, BYTES, &digest) || !find(digest.bytes, 1, BYTES, &hash) ||
        !find(digest.bytes, 2, VARINT, &bytes) || hash.value != 64)
        return false;
    for (int i = 0; i < 64; i++) { /* it becomes part of a path */
        char c = (char)hash.bytes.at[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return false;
        sum[i] = c;
    }
    sum[64] = 0;
    *size = bytes.value;
    return true;
}

/* At most 127 bytes a message, so that every length is one byte. */
size_t sett__action_write(uint8_t out[SETT__ACTION_BYTES], const char sum[65], uint64_t size)
{
    uint8_t number[10], n = 0, path_len = sizeof path - 1;
    do
        number[n++] = (uint8_t)(size & 0x7F) | (size > 0x7F ? 0x80 : 0);
    while (size >>= 7);
    uint8_t digest = (uint8_t)(2 + 64 + 1 + n), file = (uint8_t)(2 + path_len + 2 + digest), *at = out;
    *at++ = 2 << 3 | BYTES, *at++ = file;
    *at++ = 1 << 3 | BYTES, *at++ = path_len;
    memcpy(at, path, path_len), at += path_len;
    *at++ = 2 << 3 | BYTES, *at++ = digest;
    *at++ = 1 << 3 | BYTES, *at++ = 64;
    memcpy(at, sum, 64), at += 64;
    *at++ = 2 << 3 | VARINT;
    memcpy(at, number, n), at += n;
    return (size_t)(at - out);
}

/* ---- entries ------------------------------------------------------------------------------ */
static void name_of(char out[NAME], const char *folder, const char *name)
{
    snprintf(out, NAME, "%s/%s", folder, name);
}

sett__answer sett__fetch_entry(
    sett__remote *r, void *line, const char *name, double deadline, sett__bytes *out, sett_error *err)
{
    char at[NAME], sum[65];
    uint64_t size;
    sett__request q = {r, name, (uint64_t)r->opt.most, deadline};
    if (!r->bazel)
        return r->transport->get(line, &q, out, err);
    name_of(at, "ac", name);
    q.name = at;
    q.most = RESULT_MOST;
    sett__answer a = r->transport->get(line, &q, out, err);
    if (a != SETT__YES)
        return a;
    bool ok = sett__action_read(out->data, out->len, sum, &size);
    sett__bytes_free(out);
    if (!ok)
        return sett__error(err, SETT_E_IO, "what lies under ac/ names no entry"), SETT__DENIED;
    if (size > (uint64_t)r->opt.most)
        return sett__error(err, SETT_E_LIMIT, "an entry of %llu bytes; %llu are allowed", (unsigned long long)size,
                   (unsigned long long)r->opt.most),
               SETT__TOO_LONG;
    name_of(at, "cas", sum);
    q.most = (uint64_t)r->opt.most;
    return r->transport->get(line, &q, out, err);
}

sett__answer sett__has_entry(sett__remote *r, void *line, const char *name, double deadline, sett_error *err)
{
    char at[NAME];
    const sett__request q = {r, r->bazel ? at : name, 0, deadline};
    name_of(at, "ac", name);
    return r->transport->has(line, &q, err);
}

sett__answer sett__send_entry(
    sett__remote *r, void *line, const char *name, const void *data, size_t len, double deadline, sett_error *err)
{
    char at[NAME], sum[65];
    uint8_t digest[32], result[SETT__ACTION_BYTES];
    sett__request q = {r, name, 0, deadline};
    if (!r->bazel)
        return r->transport->put(line, &q, data, len, err);
    r->host.sha256(data, len, digest);
    for (int i = 0; i < 32; i++)
        snprintf(sum + 2 * i, 3, "%02x", digest[i]);
    name_of(at, "cas", sum);
    q.name = at;
    sett__answer a = r->transport->put(line, &q, data, len, err);
    if (a != SETT__YES)
        return a;
    name_of(at, "ac", name);
    return r->transport->put(line, &q, result, sett__action_write(result, sum, len), err);
}
