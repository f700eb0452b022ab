/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/rig/sample.h"
#include <check.h>
#include <string.h>

void le(uint8_t *p, uint64_t v, int n)
{
    for (int i = 0; i < n; i++)
        p[i] = (uint8_t)(v >> 8 * i);
}

void fill_cubin(uint8_t cubin[CUBIN])
{
    memset(cubin, 0, CUBIN);
    memcpy(cubin, "\177ELF\2\1\1", 7);
    le(cubin + 18, 190, 2), le(cubin + 20, 1, 4), le(cubin + 52, 64, 2);
    for (int i = 64; i < CUBIN; i++)
        cubin[i] = (uint8_t)(i * 7);
}

void fill_whole_cubin(uint8_t p[WHOLE_CUBIN])
{
    enum { NAMES = 64, STRINGS = 128, SYMBOLS = 192, CODE = 256, RELA = 320, NOTES = 384, SECTIONS = 448, SEGMENTS = 448 + 7 * 64 };
    static const struct {
        uint32_t name, type, link, info;
        uint64_t off, size, align, entry;
    } section[] = {{0, 0, 0, 0, 0, 0, 0, 0}, {1, 3, 0, 0, NAMES, 40, 1, 0}, {2, 3, 0, 0, STRINGS, 16, 1, 0},
        {3, 2, 2, 1, SYMBOLS, 48, 8, 24}, {4, 1, 3, 1, CODE, 64, 64, 0}, {5, 4, 3, 4, RELA, 48, 8, 24}, {6, 7, 0, 0, NOTES, 36, 4, 0}};
    memset(p, 0, WHOLE_CUBIN);
    memcpy(p, "\177ELF\2\1\1", 7);
    le(p + 18, 190, 2), le(p + 20, 1, 4), le(p + 32, SEGMENTS, 8), le(p + 40, SECTIONS, 8), le(p + 52, 64, 2);
    le(p + 54, 56, 2), le(p + 56, 2, 2), le(p + 58, 64, 2), le(p + 60, 7, 2), le(p + 62, 1, 2);
    memcpy(p + NAMES, "\0.strings", 9), memcpy(p + STRINGS, "\0kernel", 7);
    le(p + SYMBOLS + 24, 1, 4), le(p + SYMBOLS + 24 + 6, 4, 2);
    le(p + RELA + 12, 1, 4), le(p + RELA + 24, 60, 8), le(p + RELA + 24 + 12, 1, 4);
    le(p + NOTES, 5, 4), le(p + NOTES + 4, 13, 4), memcpy(p + NOTES + 12, "NVID", 4);
    for (size_t i = 0; i < SETT__COUNT(section); i++) {
        uint8_t *s = p + SECTIONS + 64 * i;
        le(s, section[i].name, 4), le(s + 4, section[i].type, 4), le(s + 24, section[i].off, 8), le(s + 32, section[i].size, 8);
        le(s + 40, section[i].link, 4), le(s + 44, section[i].info, 4), le(s + 48, section[i].align, 8), le(s + 56, section[i].entry, 8);
    }
    le(p + SEGMENTS, 1, 4), le(p + SEGMENTS + 8, CODE, 8), le(p + SEGMENTS + 32, 64, 8), le(p + SEGMENTS + 40, 64, 8);
    le(p + SEGMENTS + 56, 4, 4), le(p + SEGMENTS + 56 + 8, NOTES, 8), le(p + SEGMENTS + 56 + 32, 36, 8);
}

const char sample_material[27] = "key material of the sample";

void fill_sample(sample *s)
{
    fill_cubin(s->cubin);
    s->entry = (sett__entry){.key_material = {sample_material, sizeof sample_material},
        .meta = {"some meta", 9},
        .cubin = {s->cubin, CUBIN},
        .notes = {"notes", 5}};
    sett__sha256(sample_material, sizeof sample_material, &s->key);
}

uint8_t *encode_sample(sample *s, size_t *len)
{
    void *file;
    sett_error err = {0};
    fill_sample(s);
    ck_assert_msg(!sett__entry_encode(&s->key, &s->entry, NULL, &file, len, &err), "%s", err.text);
    return file;
}
