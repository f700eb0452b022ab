/* SPDX-License-Identifier: Apache-2.0 */
#include "sample.h"
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
