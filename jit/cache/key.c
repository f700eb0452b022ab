/* SPDX-License-Identifier: Apache-2.0 */
/* The key of a kernel: SHA-256 of a canonical encoding of all that decides its code.
 *
 *     "sett-key\0v1"  then fields {tag u16, len u32, bytes}, little endian, tags ascending
 *
 * Lengths make it injective: no two sets of fields share an encoding. A field that does
 * not apply is left out, so a new option leaves old keys as they are. Nothing that a serving
 * machine lacks (LLVM, assembler) is in it, and nothing of a place or a time. */
#include "cache.h"
#include "plug/compiler.h"
#include <stdlib.h>
#include <string.h>

static const char domain[] = "sett-key\0v1"; /* without the closing NUL */

enum tag { TAG_TAPE = 1, TAG_TAPE_VERSION, TAG_CODEGEN, TAG_TARGET, TAG_PTX_ISA, TAG_OPT_LEVEL, TAG_LINE_INFO, N_TAGS };

typedef struct field {
    uint16_t tag;
    const void *data;
    size_t len;
} field;

static size_t append(uint8_t *to, size_t at, const field *f)
{
    sett__put_le(to + at, f->tag, 2);
    sett__put_le(to + at + 2, f->len, 4);
    memcpy(to + at + 6, f->data, f->len);
    return at + 6 + f->len;
}

sett_status sett__key_encode(const sett__key_parts *k, void **material, size_t *len, sett__digest *key, sett_error *err)
{
    sett__digest tape;
    uint8_t version[4], isa[4], opt[4], line[1] = {k->line_info};
    sett__sha256(k->tape.data, k->tape.len, &tape); /* by its digest, so that the material stays small */
    sett__put_le(version, SETT__TAPE_VERSION, 4);
    sett__put_le(isa, (uint32_t)k->ptx_isa, 4);
    sett__put_le(opt, (uint32_t)k->opt_level, 4);
    const field fields[] = {
        {TAG_TAPE, tape.b, sizeof tape.b},
        {TAG_TAPE_VERSION, version, sizeof version},
        {TAG_CODEGEN, SETT__CODEGEN_ID, strlen(SETT__CODEGEN_ID)},
        {TAG_TARGET, k->target, strlen(k->target)},
        {TAG_PTX_ISA, isa, sizeof isa},
        {TAG_OPT_LEVEL, opt, sizeof opt},
        {TAG_LINE_INFO, line, sizeof line},
    };
    static_assert(SETT__COUNT(fields) == N_TAGS - 1, "a field for every tag");
    size_t total = sizeof domain - 1;
    for (size_t i = 0; i < SETT__COUNT(fields); i++)
        total += 6 + fields[i].len;
    uint8_t *bytes = malloc(total);
    if (!bytes)
        return sett__error(err, SETT_E_MEMORY, "no memory for a key of %zu bytes", total);
    memcpy(bytes, domain, sizeof domain - 1);
    size_t at = sizeof domain - 1;
    for (size_t i = 0; i < SETT__COUNT(fields); i++)
        at = append(bytes, at, &fields[i]);
    sett__sha256(bytes, total, key);
    *material = bytes;
    *len = total;
    return SETT_OK;
}

/* ---- reading it ------------------------------------------------------------------------- */
static const struct {
    uint16_t tag;
    bool number;
    const char *name;
} names[] = {{TAG_TAPE, false, "tape"}, {TAG_TAPE_VERSION, true, "tape version"},
    {TAG_CODEGEN, false, "code generator"}, {TAG_TARGET, false, "target"}, {TAG_PTX_ISA, true, "PTX version"},
    {TAG_OPT_LEVEL, true, "optimisation"}, {TAG_LINE_INFO, true, "line info"}};
static_assert(SETT__COUNT(names) == N_TAGS - 1, "a name for every tag");

/* The field's bytes, or none. */
static sett__blob find(sett__blob material, uint16_t tag, bool *sound)
{
    sett__cursor c = {material.data, material.len, false};
    const uint8_t *start = sett__cursor_take(&c, sizeof domain - 1);
    sett__blob found = {NULL, 0};
    while (start && c.left && !c.bad) {
        uint16_t at = (uint16_t)sett__cursor_le(&c, 2);
        size_t len = (size_t)sett__cursor_le(&c, 4);
        const uint8_t *p = sett__cursor_take(&c, len);
        if (p && at == tag)
            found = (sett__blob){p, len};
    }
    *sound &= start && !memcmp(start, domain, sizeof domain - 1) && !c.bad;
    return found;
}

static void print(sett__blob b, int i, char text[80])
{
    const uint8_t *p = b.data;
    if (!p)
        strcpy(text, "none");
    else if (names[i].number)
        snprintf(text, 80, "%llu", (unsigned long long)sett__get_le(p, b.len < 8 ? (int)b.len : 8));
    else if (names[i].tag == TAG_TAPE)
        for (size_t k = 0; k < 8 && k < b.len; k++)
            snprintf(text + 2 * k, 3, "%02x", p[k]);
    else
        snprintf(text, 80, "%.*s", (int)(b.len < 79 ? b.len : 79), (const char *)p);
}

int sett__key_compare(sett__blob a, sett__blob b, char *buf, size_t size)
{
    bool sound = true;
    size_t at = 0;
    for (int i = 0; i < N_TAGS - 1; i++) {
        char one[80], other[80];
        sett__blob x = find(a, names[i].tag, &sound), y = find(b, names[i].tag, &sound);
        if (x.len == y.len && (!x.len || !memcmp(x.data, y.data, x.len)))
            continue;
        print(x, i, one), print(y, i, other);
        int n = snprintf(
            at < size ? buf + at : NULL, at < size ? size - at : 0, "%s: %s | %s\n", names[i].name, one, other);
        at += n > 0 ? (size_t)n : 0;
    }
    return sound ? (int)at : -1;
}
