/* SPDX-License-Identifier: Apache-2.0 */
/* Rows and the elements that lanes have in them. */
#ifndef SETT_JIT_SIM_LANES_H
#define SETT_JIT_SIM_LANES_H
#include "rows.h"
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

static inline uint64_t sett__bits_at(const void *row, int lane, uint8_t lg) /* an element of 1 << lg bytes, up to 8 */
{
    uint64_t bits = 0;
    memcpy(&bits, (const char *)row + ((size_t)lane << lg), (size_t)1 << lg);
    return bits;
}
/* Of 32 Booleans. */
static inline uint32_t sett__mask_of(const uint8_t *row)
{
    uint32_t mask = 0;
#ifdef __SSE2__
    for (int i = 0; i < WARP; i += 16) {
        __m128i x = _mm_loadu_si128((const __m128i *)(const void *)(row + i));
        mask |= (uint32_t)_mm_movemask_epi8(_mm_slli_epi16(x, 7)) << i;
    }
#else /* eight at once: the product moves bit 0 of byte i to bit 56 + i */
    for (int i = 0; i < WARP; i += 8) {
        uint64_t x;
        memcpy(&x, row + i, sizeof x);
        mask |= (uint32_t)((x & 0x0101010101010101u) * 0x0102040810204080u >> 56) << i;
    }
#endif
    return mask;
}

/* Into all lanes. */
static inline void sett__spread(void *row, const void *element, uint32_t bytes)
{
    if (bytes == 4) { /* the usual one, without calls */
        uint32_t x, *d = row;
        memcpy(&x, element, sizeof x);
        for (int l = 0; l < WARP; l++)
            d[l] = x;
        return;
    }
    memcpy(row, element, bytes);
    for (uint32_t have = bytes; have < WARP * bytes; have *= 2)
        memcpy((char *)row + have, row, have);
}

#endif
