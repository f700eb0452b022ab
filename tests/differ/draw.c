/* SPDX-License-Identifier: Apache-2.0 */
/* Choices, from a seed or from bytes: see differ.h. */
#include "tests/differ/differ.h"

uint64_t draw_bits(draw *d)
{
    uint64_t x = 0;
    if (d->data) {
        for (int i = 0; i < 8 && d->len; i++, d->len--)
            x = x << 8 | *d->data++;
        return x;
    }
    x = d->state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

int draw_below(draw *d, int n)
{
    if (!d->data)
        return (int)((draw_bits(d) >> 33) % (uint64_t)n);
    if (!d->len)
        return 0;
    d->len--;
    return *d->data++ % n;
}
