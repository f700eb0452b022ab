/* SPDX-License-Identifier: Apache-2.0 */
/* Integers. */
#include "base.h"

uint64_t sett__magnitude(int64_t x)
{
    return x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
}

int64_t sett__gcd(int64_t a, int64_t b)
{
    uint64_t x = sett__magnitude(a), y = sett__magnitude(b);
    if (x == 1 || y == 1) /* most often */
        return 1;
    while (y) {
        uint64_t r = x % y;
        x = y;
        y = r;
    }
    return x > INT64_MAX ? INT64_MAX / 2 + 1 : (int64_t)x; /* only INT64_MIN: 2^63 is a multiple of 2^62 */
}

int sett__log2_of(int64_t x)
{
    return x > 0 && !(x & (x - 1)) ? __builtin_ctzll((uint64_t)x) : -1;
}
