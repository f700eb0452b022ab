/* SPDX-License-Identifier: Apache-2.0 */
/* Global memory that nobody has written. An engine that checks gives memory out that is filled by a pattern of its address; what still has
 * it was never written, by whomever: by kernels, copies, or by the host through its pointer. What is copied elsewhere has no pattern of
 * its new place. Each 4 bytes are a signalling NaN, which no arithmetic gives, so that they are not there by accident; other data may have
 * 4 such bytes, once in 2^32, so 4 alone between others count in small blocks only, and fewer never. */
#include "machine.h"
#include <string.h>

enum { UNIT = 8, HALF = 4, SMALL = 64 << 10 };

/* Of 8 bytes at a multiple of 8. Additions alone, so that rows are compared by vectors. */
static inline uint64_t pattern(uintptr_t at)
{
    return ((UINT64_C(0xb5c9f2d36a87e41d) ^ ((uint64_t)at + ((uint64_t)at << 29))) & UINT64_C(0x803fffff803fffff)) | UINT64_C(0x7f8000017f800001);
}

static inline uint8_t pattern_byte(uintptr_t at)
{
    return (uint8_t)(pattern(at / UNIT * UNIT) >> at % UNIT * 8);
}

void sett__unwritten_fill(void *to, size_t bytes)
{
    unsigned char *p = to;
    for (size_t k = 0; k < bytes; k += UNIT) {
        const uint64_t x = pattern((uintptr_t)p + k);
        memcpy(p + k, &x, bytes - k < UNIT ? bytes - k : UNIT);
    }
}

bool sett__unwritten_row(const void *from, size_t bytes)
{
    const uintptr_t at = (uintptr_t)from, first = sett__round_up(at, UNIT), end = at + bytes;
    uint64_t found = 0;
    for (uintptr_t k = first; k + UNIT <= end; k += UNIT) {
        uint64_t x;
        memcpy(&x, (const void *)k, sizeof x);
        x ^= pattern(k);
        found |= !(uint32_t)x | !(x >> 32);
    }
    return found || first != at || end % UNIT;
}

/* What a copy has read. */
static bool unit_copied(const unsigned char *data, uintptr_t from)
{
    uint64_t x;
    memcpy(&x, data, sizeof x);
    return x == pattern(from);
}

void sett__unwritten_copied(uint32_t op, uint32_t made, sett__cta *of, uint32_t at, const void *data, const void *from, size_t bytes)
{
    const unsigned char *p = data;
    for (uintptr_t k = 0; of->shadow && (uintptr_t)from % UNIT == 0 && k + UNIT <= bytes; k += UNIT)
        if (unit_copied(p + k, (uintptr_t)from + k))
            sett__poison_came(op, made, of, at + (uint32_t)k, UNIT);
}

bool sett__unwritten_start(const void *from, uint32_t bytes)
{
    return *(const uint8_t *)from == pattern_byte((uintptr_t)from) && ((const uint8_t *)from)[bytes - 1] == pattern_byte((uintptr_t)from + bytes - 1);
}

static bool has_pattern(uintptr_t at, uintptr_t end)
{
    for (; at < end; at++)
        if (*(const uint8_t *)at != pattern_byte(at))
            return false;
    return true;
}

/* The block of memory that was given out around these bytes. */
static bool is_given(sett__core *c, uintptr_t at, uintptr_t end)
{
    sett__extent *x = &c->around;
    bool freed = false;
    const bool known = (x->bytes && at - (uintptr_t)x->data < x->bytes) || (c->launch->blocks && sett__allocations_around(c->launch->blocks, (const void *)at, x, &freed));
    return known && !freed && end - (uintptr_t)x->data <= x->bytes;
}

/* Those around the bytes that are asked for are looked at where they are of a block that was given out. */
uint32_t sett__unwritten_bytes(sett__core *c, const void *from, uint32_t bytes)
{
    const uintptr_t at = (uintptr_t)from, end = at + bytes;
    uint32_t found = 0;
    for (uintptr_t half = at / HALF * HALF; half < end; half += HALF) {
        const uintptr_t low = half < at ? at : half, high = half + HALF < end ? half + HALF : end, other = half ^ HALF;
        if (!has_pattern(low, high) || !is_given(c, low, high))
            continue;
        const bool whole = is_given(c, half, half + HALF) && has_pattern(half, half + HALF);
        const bool both = whole && is_given(c, other, other + HALF) && has_pattern(other, other + HALF);
        for (uintptr_t k = low; k < high && (both || (whole && c->around.bytes <= SMALL)); k++)
            found |= 1u << (k - at);
    }
    return found;
}
