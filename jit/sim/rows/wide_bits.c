/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of integers of which single bits count: popc, clz, brev. Compiled once, and small: no kernel spends its time here. */
#include "rows.h"
#include <string.h>

static uint64_t reverse(uint64_t x)
{
    x = (x >> 1 & 0x5555555555555555u) | (x & 0x5555555555555555u) << 1;
    x = (x >> 2 & 0x3333333333333333u) | (x & 0x3333333333333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0f0f0f0f0fu) | (x & 0x0f0f0f0f0f0f0f0fu) << 4;
    return __builtin_bswap64(x);
}

static uint64_t one(sett__code code, uint64_t x, int width)
{
    if (code == SETT__POPC)
        return (uint64_t)__builtin_popcountll(x);
    if (code == SETT__BREV)
        return reverse(x) >> (64 - width);
    return (uint64_t)(x ? __builtin_clzll(x) - (64 - width) : width);
}

static void rows_of(sett__code code, uint8_t lg, void *d, const void *a, uint32_t rows)
{
    for (size_t i = 0; i < (size_t)rows * WARP; i++) {
        uint64_t x = 0;
        memcpy(&x, (const char *)a + (i << lg), (size_t)1 << lg);
        x = one(code, x, 8 << lg);
        memcpy((char *)d + (i << lg), &x, (size_t)1 << lg);
    }
}

#define BITS(code, lg) \
    static void code##_##lg(void *restrict d, const void *a, const void *b, const void *c, uint32_t rows, uint32_t splat) \
    { \
        (void)b, (void)c, (void)splat; \
        rows_of(SETT__##code, lg, d, a, rows); \
    }
#define SIZES(code) BITS(code, 0) BITS(code, 1) BITS(code, 2) BITS(code, 3)
SIZES(POPC)
SIZES(CLZ)
SIZES(BREV)

sett__row_fn sett__row_bits(sett__code code, uint8_t lg)
{
    static const sett__row_fn fn[3][4] = {
        {POPC_0, POPC_1, POPC_2, POPC_3}, {CLZ_0, CLZ_1, CLZ_2, CLZ_3}, {BREV_0, BREV_1, BREV_2, BREV_3}};
    return code >= SETT__POPC && code <= SETT__BREV && lg < 4 ? fn[code - SETT__POPC][lg] : NULL;
}
