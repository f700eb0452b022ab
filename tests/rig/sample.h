/* SPDX-License-Identifier: Apache-2.0 */
/* One entry of the disk cache, made by hand. */
#ifndef SAMPLE_H
#define SAMPLE_H
#include "tests/rig/faces.h"

enum { CUBIN = 200 };
typedef struct sample {
    uint8_t cubin[CUBIN];
    sett__digest key;
    sett__entry entry;
} sample;
extern const char sample_material[27];
void fill_sample(sample *);
uint8_t *encode_sample(sample *, size_t *len); /* the file of it; malloc'ed */
void fill_cubin(uint8_t cubin[CUBIN]);         /* the least ELF that the gate lets through, with bytes behind it */
/* A cubin as an assembler makes it, small, with one of each thing that the gate looks at; a byte less is too few. */
enum { WHOLE_CUBIN = 448 + 7 * 64 + 2 * 56 };
void fill_whole_cubin(uint8_t cubin[WHOLE_CUBIN]);
void le(uint8_t *, uint64_t, int n);           /* n bytes, little endian */
#endif
