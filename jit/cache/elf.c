/* SPDX-License-Identifier: Apache-2.0 */
/* A gate before the driver: it takes a cubin without a length, so whatever it will follow must lie inside. ELF64,
 * little endian: the header, each segment and section, string tables and the names that point into them, symbols,
 * relocations and the places that they change, notes. What sections of NVIDIA's own types mean is not documented, and
 * not judged. */
#include "inside.h"
#include <string.h>

enum { EHDR = 64, PHDR = 56, SHDR = 64, SYM = 24, REL = 16, RELA = 24, NOTE_HEAD = 12, MACHINE_CUDA = 190 };
enum { NULL_SECTION = 0, SYMTAB = 2, STRTAB = 3, RELA_SECTION = 4, NOTE = 7, NOBITS = 8, REL_SECTION = 9, DYNSYM = 11 };
/* NVIDIA's global, local and shared memory, as ptxas 13.0 writes them in relocatable cubins: a size and no bytes. */
enum { CUDA_GLOBAL = 0x70000007, CUDA_LOCAL = 0x70000009, CUDA_SHARED = 0x7000000A };
enum { SHN_LORESERVE = 0xFF00, PT_LOAD = 1, PT_NOTE = 4 };

typedef struct elf {
    const uint8_t *p;
    size_t len;
    uint64_t sections, segments, n_section, n_segment, names;
} elf;

typedef struct section {
    uint64_t name, type, off, size, link, info, align, entry;
} section;

static bool inside(uint64_t off, uint64_t len, uint64_t total)
{
    return off <= total && len <= total - off;
}

static sett_status bad(sett_error *err, const char *what)
{
    return sett__error(err, SETT_E_PARSE, "not a sound cubin: %s", what);
}

static section section_at(const elf *e, uint64_t i)
{
    const uint8_t *s = e->p + e->sections + i * SHDR;
    return (section){sett__get_le(s, 4), sett__get_le(s + 4, 4), sett__get_le(s + 24, 8), sett__get_le(s + 32, 8), sett__get_le(s + 40, 4),
        sett__get_le(s + 44, 4), sett__get_le(s + 48, 8), sett__get_le(s + 56, 8)};
}

/* ---- what sections hold -------------------------------------------------------------------------- */
static sett_status check_strings(const elf *e, const section *s, sett_error *err)
{
    return s->size && e->p[s->off + s->size - 1] ? bad(err, "a string table has no end") : SETT_OK;
}

/* A symbol's value is not judged: what it counts from is the section's own affair. */
static sett_status check_symbols(const elf *e, const section *s, sett_error *err)
{
    section strings = s->link < e->n_section ? section_at(e, s->link) : (section){0};
    if (s->entry != SYM || s->size % SYM || strings.type != STRTAB)
        return bad(err, "a symbol table is damaged");
    for (uint64_t at = s->off; at < s->off + s->size; at += SYM) {
        uint64_t name = sett__get_le(e->p + at, 4), where = sett__get_le(e->p + at + 6, 2);
        if (name >= strings.size)
            return bad(err, "a symbol's name lies outside");
        if (where >= e->n_section && where < SHN_LORESERVE)
            return bad(err, "a symbol is in no section");
    }
    return SETT_OK;
}

static sett_status check_relocations(const elf *e, const section *s, sett_error *err)
{
    section symbols = s->link < e->n_section ? section_at(e, s->link) : (section){0};
    section target = s->info < e->n_section ? section_at(e, s->info) : (section){0};
    uint64_t entry = s->type == RELA_SECTION ? RELA : REL;
    if (s->entry != entry || s->size % entry || (symbols.type != SYMTAB && symbols.type != DYNSYM))
        return bad(err, "a table of relocations is damaged");
    for (uint64_t at = s->off; at < s->off + s->size; at += entry) {
        if (sett__get_le(e->p + at, 8) >= target.size)
            return bad(err, "a relocation lies outside its section");
        if (sett__get_le(e->p + at + 12, 4) >= symbols.size / SYM)
            return bad(err, "a relocation's symbol lies outside");
    }
    return SETT_OK;
}

static sett_status check_notes(const elf *e, uint64_t off, uint64_t size, sett_error *err)
{
    sett__cursor c = {e->p + off, (size_t)size, false};
    while (c.left >= NOTE_HEAD && !c.bad) {
        uint64_t name = sett__cursor_le(&c, 4), text = sett__cursor_le(&c, 4);
        sett__cursor_take(&c, 4);
        sett__cursor_take(&c, (size_t)((name + 3) & ~(uint64_t)3));
        /* The last one's padding may be left out. */
        sett__cursor_take(&c, (size_t)(text <= c.left && text + 3 >= c.left ? c.left : (text + 3) & ~(uint64_t)3));
    }
    return c.bad ? bad(err, "a note lies outside") : SETT_OK;
}

static bool holds_nothing(const section *s)
{
    return s->type == NOBITS || s->type == CUDA_GLOBAL || s->type == CUDA_LOCAL || s->type == CUDA_SHARED;
}

static sett_status check_section(const elf *e, const section *s, sett_error *err)
{
    section names = section_at(e, e->names);
    if (s->name >= names.size && e->names)
        return bad(err, "a section's name lies outside");
    if (s->align & (s->align - 1))
        return bad(err, "a section's alignment is no power of two");
    if (s->type != NULL_SECTION && !holds_nothing(s) && !inside(s->off, s->size, e->len))
        return bad(err, "a section lies outside");
    switch (s->type) {
    case STRTAB:
        return check_strings(e, s, err);
    case NOTE:
        return check_notes(e, s->off, s->size, err);
    default:
        return SETT_OK;
    }
}

/* What refers to other sections comes after each lies inside. */
static sett_status check_references(const elf *e, const section *s, sett_error *err)
{
    if (s->type == SYMTAB || s->type == DYNSYM)
        return check_symbols(e, s, err);
    return s->type == RELA_SECTION || s->type == REL_SECTION ? check_relocations(e, s, err) : SETT_OK;
}

/* ---- tables ---------------------------------------------------------------------------------------- */
static sett_status check_sections(const elf *e, sett_error *err)
{
    sett_status (*const passes[])(const elf *, const section *, sett_error *) = {check_section, check_references};
    if (!e->n_section)
        return e->sections ? bad(err, "a section table without sections") : SETT_OK;
    if (sett__get_le(e->p + 58, 2) != SHDR || !inside(e->sections, e->n_section * SHDR, e->len) || e->names >= e->n_section ||
        (e->names && section_at(e, e->names).type != STRTAB))
        return bad(err, "its section table lies outside");
    for (size_t pass = 0; pass < SETT__COUNT(passes); pass++)
        for (uint64_t i = 0; i < e->n_section; i++) {
            section s = section_at(e, i);
            sett_status status = passes[pass](e, &s, err);
            if (status)
                return status;
        }
    return SETT_OK;
}

static sett_status check_segments(const elf *e, sett_error *err)
{
    if (e->n_segment && (sett__get_le(e->p + 54, 2) != PHDR || !inside(e->segments, e->n_segment * PHDR, e->len)))
        return bad(err, "its program headers lie outside");
    for (uint64_t i = 0; i < e->n_segment; i++) {
        const uint8_t *s = e->p + e->segments + i * PHDR;
        uint64_t type = sett__get_le(s, 4), off = sett__get_le(s + 8, 8), in_file = sett__get_le(s + 32, 8), align = sett__get_le(s + 48, 8);
        if (!inside(off, in_file, e->len))
            return bad(err, "a segment lies outside");
        if ((type == PT_LOAD && sett__get_le(s + 40, 8) < in_file) || (align & (align - 1)))
            return bad(err, "a segment's size or alignment is damaged");
        sett_status status = type == PT_NOTE ? check_notes(e, off, in_file, err) : SETT_OK;
        if (status)
            return status;
    }
    return SETT_OK;
}

sett_status sett__elf_check(const void *cubin, size_t len, sett_error *err)
{
    static const uint8_t ident[7] = {0x7F, 'E', 'L', 'F', 2, 1, 1};
    const uint8_t *p = cubin;
    if (len < EHDR || memcmp(p, ident, sizeof ident))
        return bad(err, "no ELF64 header");
    if (sett__get_le(p + 18, 2) != MACHINE_CUDA)
        return bad(err, "made for another machine");
    if (sett__get_le(p + 20, 4) != 1 || sett__get_le(p + 52, 2) != EHDR)
        return bad(err, "its header is of another version or size");
    const elf e = {
        p, len, sett__get_le(p + 40, 8), sett__get_le(p + 32, 8), sett__get_le(p + 60, 2), sett__get_le(p + 56, 2), sett__get_le(p + 62, 2)};
    sett_status s = check_sections(&e, err);
    return s ? s : check_segments(&e, err);
}
