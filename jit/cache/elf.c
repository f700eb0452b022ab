/* SPDX-License-Identifier: Apache-2.0 */
/* A gate before the driver: it takes a cubin without a length, so every offset that it will
 * follow must lie inside. ELF64, little endian. */
#include "cache.h"
#include "bytes.h"
#include <string.h>

enum { EHDR = 64, PHDR = 56, SHDR = 64, MACHINE_CUDA = 190, SHT_STRTAB = 3, SHT_NOBITS = 8 };

static bool inside(uint64_t off, uint64_t len, size_t total)
{
    return off <= total && len <= total - off;
}

static sett_status bad(sett_error *err, const char *what)
{
    return sett__error(err, SETT_E_PARSE, "not a sound cubin: %s", what);
}

static sett_status check_sections(const uint8_t *p, size_t len, sett_error *err)
{
    uint64_t off = get_le(p + 40, 8), size = get_le(p + 58, 2), n = get_le(p + 60, 2), names = get_le(p + 62, 2);
    if (!n)
        return off ? bad(err, "a section table without sections") : SETT_OK;
    if (size != SHDR || !inside(off, n * SHDR, len) || names >= n)
        return bad(err, "its section table lies outside");
    for (uint64_t i = 0; i < n; i++) {
        const uint8_t *s = p + off + i * SHDR;
        uint64_t type = get_le(s + 4, 4), at = get_le(s + 24, 8), bytes = get_le(s + 32, 8);
        if (type == SHT_NOBITS || !type)
            continue;
        if (!inside(at, bytes, len))
            return bad(err, "a section lies outside");
        if (type == SHT_STRTAB && bytes && p[at + bytes - 1])
            return bad(err, "a string table has no end");
    }
    return SETT_OK;
}

static sett_status check_segments(const uint8_t *p, size_t len, sett_error *err)
{
    uint64_t off = get_le(p + 32, 8), size = get_le(p + 54, 2), n = get_le(p + 56, 2);
    if (n && (size != PHDR || !inside(off, n * PHDR, len)))
        return bad(err, "its program headers lie outside");
    for (uint64_t i = 0; i < n; i++) {
        const uint8_t *s = p + off + i * PHDR;
        if (!inside(get_le(s + 8, 8), get_le(s + 32, 8), len))
            return bad(err, "a segment lies outside");
    }
    return SETT_OK;
}

sett_status sett__elf_check(const void *cubin, size_t len, sett_error *err)
{
    static const uint8_t ident[6] = {0x7F, 'E', 'L', 'F', 2, 1};
    const uint8_t *p = cubin;
    if (len < EHDR || memcmp(p, ident, sizeof ident))
        return bad(err, "no ELF64 header");
    if (get_le(p + 18, 2) != MACHINE_CUDA)
        return bad(err, "made for another machine");
    sett_status s = check_sections(p, len, err);
    return s ? s : check_segments(p, len, err);
}
